"""Messages of fgrad.numpy name the function that the user called, and the fix that fits the transform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import (
    ConcretizationTypeError,
    FgradError,
    ShapeError,
    TracerIntegerConversionError,
)

A, B = np.ones((2, 3)), np.ones((4, 5))

# Several names of one function answer by the first of them.
ALIASES = {
    "atan2": "arctan2",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "mod": "remainder",
    "pow": "power",
    "true_divide": "divide",
}
BINARY = [n for n in fnp.__all__ if getattr(getattr(fnp, n), "nin", 0) == 2]
CALLS: dict[str, Any] = {
    **{name: (lambda x, y, name=name: getattr(fnp, name)(x, y)) for name in BINARY},
    "allclose": lambda x, y: fnp.allclose(x, y),
    "clip": lambda x, y: fnp.clip(x, y),
    "clip above": lambda x, y: fnp.clip(x, 0.0, y),
    "divmod": lambda x, y: fnp.divmod(x, y),
    "float_power": lambda x, y: fnp.float_power(x, y),
    "isclose": lambda x, y: fnp.isclose(x, y),
    "isclose with atol": lambda x, y: fnp.isclose(x, x, atol=y),
    "linspace": lambda x, y: fnp.linspace(x, y),
    "geomspace": lambda x, y: fnp.geomspace(x, y),
    "logspace": lambda x, y: fnp.logspace(x, y),
    "nan_to_num": lambda x, y: fnp.nan_to_num(x, nan=y),
    "polyval": lambda x, y: fnp.polyval(x, y),
    "select": lambda x, y: fnp.select([x > 0], [y]),
    "trapezoid": lambda x, y: fnp.trapezoid(x, y),
    "unwrap": lambda x, y: fnp.unwrap(x, period=y),
    "where": lambda x, y: fnp.where(x > 0, x, y),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("traced", [False, True])
def test_a_shape_error_names_the_function(name: str, traced: bool) -> None:
    integers = name.startswith(("bitwise", "left", "right", "gcd", "lcm", "ldexp"))
    x, y = (A.astype(int), B.astype(int)) if integers else (A, B)
    first = name.split()[0]
    with pytest.raises(ShapeError, match=f"^{ALIASES.get(first, first)}: .*shape"):
        (fgrad.jit(CALLS[name]) if traced else CALLS[name])(x, y)


@pytest.mark.parametrize(
    ("call", "x"),
    [
        (lambda x: fnp.arange(x), 3),
        (lambda x: fnp.linalg.lstsq(np.eye(2), np.ones(2), rcond=x)[0], 0.5),
        (lambda x: fnp.bartlett(x), 3),
        (lambda x: fnp.fft.fftfreq(x), 3),
    ],
)
def test_what_must_be_known_says_how_under_each_transform(call: Any, x: Any) -> None:
    known = (ConcretizationTypeError, TracerIntegerConversionError)
    with pytest.raises(known, match="static_argnums"):
        fgrad.jit(call)(x)
    with pytest.raises(known, match="None in in_axes"):
        fgrad.vmap(call)(np.array([x, x]))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fnp.sum([x, 2.0]),
        lambda x: fnp.add([x, 0.5], x),
        lambda x: fnp.array([[x, 1], [2.5, x]]),
        lambda x: fnp.maximum(x, [[0.5], [x]]),
        lambda x: fnp.concatenate([[x, 1.0], [x]]),
        lambda x: fnp.mean([(x, 1), (2.0, x)]),
        lambda x: fnp.asarray(x).__add__([x, 1.0]),
    ],
)
def test_python_numbers_in_lists_take_the_dtype_of_what_is_beside_them(call: Any) -> None:
    x = np.float32(1.5)
    assert call(x).dtype == np.float32
    assert fgrad.jit(call)(x).dtype == np.float32
    np.testing.assert_array_equal(call(x), fgrad.jit(call)(x))


def lossf(w: Any) -> Any:
    return fnp.sum(w) if w > 0 else -fnp.sum(w)


ADVICE: dict[str, tuple[Any, str]] = {
    "concatenate two": (lambda: fnp.concatenate(A, A), r"concatenate: .* one list.*concatenate\("),
    "concatenate with an axis": (lambda: fnp.concatenate([A], A), r"one list"),
    "stack two": (lambda: fnp.stack(A, A), r"fnp.stack\(\[x, y\]\)"),
    "vstack two": (lambda: fnp.vstack(A, A), r"fnp.vstack\(\[x, y\]\)"),
    "hstack two": (lambda: fnp.hstack(A, A), r"fnp.hstack\(\[x, y\]\)"),
    "dstack two": (lambda: fnp.dstack(A, A), r"fnp.dstack\(\[x, y\]\)"),
    "max of two": (lambda: fnp.max(1.0, 2.0), r"fnp.maximum\(x, y\)"),
    "min of two": (lambda: fnp.min(A, A), r"fnp.minimum\(x, y\)"),
    "sizes apart": (lambda: fnp.zeros(2, 3), r"one tuple, as in fnp.zeros\(\(2, 3\)\)"),
    "ones apart": (lambda: fnp.ones(2, 3), r"fnp.ones\(\(2, 3\)\)"),
    "objects": (lambda: fnp.ones(2).astype(object), r"np.array\(x\).astype\(object\)"),
    "strings": (lambda: fnp.ones(2).astype(str), r"strings are NumPy's.*astype\(str\)"),
    "int of a float": (
        lambda: fgrad.jit(lambda n: int(n))(1.0),
        r"argument n.*x.astype\(int\).*as a size.*static_argnums",
    ),
    "int of an integer": (
        lambda: fgrad.jit(lambda n: int(n))(1),
        r"leave int\(\) out.*static_argnums",
    ),
    "a function into jit": (
        lambda: fgrad.jit(lambda f, x: f(x))(fnp.sin, 1.0),
        r"argument f is .*function.*static_argnums.*functools.partial",
    ),
    "a function into vmap": (
        lambda: fgrad.vmap(lambda f, x: f(x))(fnp.sin, A),
        r"argument f .*None in in_axes",
    ),
    "a function into grad": (
        lambda: fgrad.grad(lambda f, x: f(x))(fnp.sin, 1.0),
        r"argument f .*out of argnums",
    ),
    "a function in a dict": (
        lambda: fgrad.jit(lambda d: d["x"])({"f": fnp.sin, "x": 1.0}),
        r"argument d\['f'\] is .*number; close over it",
    ),
    "a static array": (
        lambda: fgrad.jit(lambda n, x: x, static_argnums=0)(A, 1.0),
        r"argument n is an array of shape \(2, 3\).*out of static_argnums",
    ),
    "a static tracer": (
        lambda: fgrad.grad(lambda y: fgrad.jit(lambda n, x: x, static_argnums=0)(y, 1.0))(1.0),
        r"argument n is a traced Python float, in grad of .*out of static_argnums",
    ),
    "a static list": (
        lambda: fgrad.jit(lambda n, x: x, static_argnums=0)([1], 1.0),
        r"argument n is the list \[1\].*pass a tuple",
    ),
    "a static dict": (
        lambda: fgrad.jit(lambda n, x: x, static_argnames="n")(n={"a": 1}, x=1.0),
        r"argument n is the dict .*tuple\(d.items\(\)\)",
    ),
    "axes of keywords": (
        lambda: fgrad.vmap(lambda x, y: x + y, in_axes=(0, None))(A, y=2.0),
        r"2 entries for 1 positional argument; .*keyword \(y\).*by position",
    ),
    "a keyword without axes": (
        lambda: fgrad.vmap(lambda x, y: x + y)(A, y=2.0),
        r"y has shape \(\); pass it by position, with None in in_axes",
    ),
    "truth in grad": (
        lambda: fgrad.grad(lossf)(A),
        r"ambiguous, in grad of lossf .* at test_numpy_messages.py:\d+ \(lossf\); use .any\(\)",
    ),
    "truth in jit": (lambda: fgrad.jit(lossf)(A), r"in jit of lossf .*argument w.*use .any\(\)"),
    "truth in vmap": (lambda: fgrad.vmap(lossf)(A), r"in vmap of lossf .*argument w.*\.where"),
}


@pytest.mark.parametrize("case", ADVICE)
def test_a_message_says_what_to_do(case: str) -> None:
    call, words = ADVICE[case]
    with pytest.raises(FgradError, match=words):
        call()


def test_warnings_of_updates_name_the_line_of_the_user() -> None:
    x = fnp.arange(3)
    for call in (
        lambda: x.at[0].set(1.5),
        lambda: fgrad.jit(lambda a: a.at[0].set(1.5))(x),
        lambda: fgrad.vmap(lambda a: a.at[0].set(1.5))(fnp.ones((2, 3), int)),
        lambda: fnp.put(x, [0], 1.5, inplace=False),
    ):
        with pytest.warns(FutureWarning) as heard:
            call()
        assert [w.filename for w in heard] == [__file__]


def test_an_error_of_floats_shows_the_line_of_the_user() -> None:
    for call in (lambda: fnp.log(fnp.zeros(2)), lambda: 1 / fnp.zeros(2)):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError) as raised:
            call()
        assert str(raised.traceback[-1].path) == __file__
