"""What exported code gets in the place of fgrad's own machinery.

Each definition stands for one of the same name, and is copied into the module that is written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad.config import switches
from fgrad.dtypes import canonical

#: The modules whose definitions have a plain form here.
PLAIN_FORMS: dict[tuple[str, str], str] = {
    ("fgrad.avals", "Aval"): "Aval",
    ("fgrad.avals", "aval_of"): "aval_of",
    ("fgrad.array", "value"): "value",
    ("fgrad.source_info", "here"): "here",
    ("fgrad.ir.jaxpr", "derivative_rules"): "derivative_rules",
    ("fgrad.transforms.bodies", "runner"): "runner",
    ("fgrad.compiler.compile", "compiled"): "runner",
}
#: Methods whose plain form is the method of the same name of a class here.
PLAIN_METHODS: dict[tuple[str, str, str], str] = {
    ("fgrad.primitives.families", "Elementwise", "impl"): "Elementwise",
    ("fgrad.transforms.call", "Call", "impl"): "Call",
}


class Aval(NamedTuple):
    """The shape and dtype of a value, and whether it is a Python number."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak: bool = False

    def with_dtype(self, dtype: np.dtype[Any]) -> Aval:
        """The same shape with another dtype."""
        return Aval(self.shape, dtype)

    def with_shape(self, shape: tuple[int, ...]) -> Aval:
        """The same dtype with another shape."""
        return Aval(shape, self.dtype, self.weak and not shape)


class Program(NamedTuple):
    """The function of a loop's body or a branch, and the types of its results."""

    run: Callable[..., Any]
    out_avals: tuple[Aval, ...]


def aval_of(x: Any) -> Aval:
    """The type of a value."""
    return Aval(np.shape(x), np.asarray(x).dtype, type(x) in (bool, int, float, complex))


def value(x: Any) -> Any:
    """The value itself."""
    return x


def here() -> str:
    """Where an index was out of range."""
    return "exported code"


def derivative_rules() -> contextlib.AbstractContextManager[Any]:
    """The scope of derivative rules, which never warn."""
    return np.errstate(all="ignore")


def result_dtype(function: np.ufunc, avals: Sequence[Aval]) -> np.dtype[Any]:
    """The dtype that a function gives operands of these types."""
    samples = [np.zeros((), a.dtype).item() if a.weak else np.empty(0, a.dtype) for a in avals]
    answer = function(*samples).dtype
    return answer if switches.enable_x64 else canonical(answer)


class Elementwise:
    """A function of each element."""

    compute: Callable[..., Any]

    def impl(self, *values: Any) -> Any:
        """Apply it; to Python numbers it gives one."""
        answer = self.compute(*values)
        if all(type(v) in (bool, int, float, complex) for v in values):
            return answer.item() if isinstance(answer, np.generic) else answer
        return answer if switches.enable_x64 else answer.astype(canonical(answer.dtype))


class Call:
    """The application of a program."""

    jaxpr: Any

    def impl(self, *values: Any) -> Sequence[Any]:
        """Run the program."""
        return self.jaxpr.run(*values)  # type: ignore[no-any-return]


def runner(program: Program) -> Callable[..., Any]:
    """The function that computes a body on values."""
    return program.run


# ---- arguments and results -----------------------------------------------------------------------


class Leaf(NamedTuple):
    """The type that an array or number among the arguments must have; ``kind`` for Python's numbers."""

    shape: tuple[int, ...]
    dtype: str
    kind: type | None = None


def flat_arguments(given: Any, expected: Any, name: str) -> list[Any]:
    """The arrays and numbers of a tree, in order, after their types are checked."""
    if isinstance(expected, Leaf):
        return [checked_argument(given, expected, name)]
    if expected is None:
        if given is not None:
            raise TypeError(f"{name}: expected None, got {type(given).__name__}")
        return []
    if isinstance(expected, dict):
        if not isinstance(given, dict) or given.keys() != expected.keys():
            found = sorted(map(str, given)) if isinstance(given, dict) else type(given).__name__
            raise TypeError(f"{name}: expected a dict with keys {[*expected]}, got {found}")
        return [
            x for k, e in expected.items() for x in flat_arguments(given[k], e, f"{name}[{k!r}]")
        ]
    kind = list if isinstance(expected, list) else tuple
    if not isinstance(given, kind) or len(given) != len(expected):
        found = f" of {len(given)}" if isinstance(given, kind) else ""
        raise TypeError(
            f"{name}: expected a {kind.__name__} of {len(expected)}, got a {type(given).__name__}{found}"
        )
    return [
        x
        for i, (g, e) in enumerate(zip(given, expected, strict=True))
        for x in flat_arguments(g, e, f"{name}[{i}]")
    ]


def checked_argument(given: Any, expected: Leaf, name: str) -> Any:
    """An argument as a NumPy value, or a TypeError that says what was expected."""
    if expected.kind is not None:
        if type(given) is not expected.kind:
            raise TypeError(
                f"{name}: expected a Python {expected.kind.__name__}, got {type(given).__name__}"
            )
        return given
    array = np.asarray(given)
    if array.shape != expected.shape or array.dtype.name != expected.dtype:
        raise TypeError(
            f"{name}: expected an array of shape {expected.shape} and dtype {expected.dtype}, "
            f"got shape {array.shape} and dtype {array.dtype}"
        )
    return array if array.ndim else array[()]


def sealed(result: Any) -> Any:
    """A result that nobody can write to."""
    if isinstance(result, np.ndarray):
        if result.base is not None:
            result = result.copy()
        result.setflags(write=False)
    return result
