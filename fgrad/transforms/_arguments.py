"""What all transforms share: argnums, trees of arguments, auxiliary outputs, the user's names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from fgrad import _tree
from fgrad.array import value
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import float0, is_inexact
from fgrad.errors import ArgnumsError, ArgumentError, NonArrayError, TangentError
from fgrad.source_info import filter_traceback, function_name, function_text
from fgrad.tracing import Tracer

F = TypeVar("F", bound=Callable[..., Any])


def boundary(f: F) -> F:
    """A public function whose errors show the user's frames only."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return f(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    return cast(F, call)


def transformed(f: Callable[..., Any], transform: str) -> Callable[[F], F]:
    """Make a wrapper look like the user's function, named after transform and function."""

    def decorate(wrapper: F) -> F:
        result = functools.wraps(f)(boundary(wrapper))
        result.__name__ = f"{transform}({function_name(f)})"
        return cast(F, result)

    return decorate


def check_callable(f: Any, transform: str) -> None:
    if not callable(f):
        raise ArgumentError(f"{transform} takes a function, got {f!r} of type {type(f).__name__}")


def signature_names(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` positional parameters of `f`."""
    names: list[str] = []
    try:
        for parameter in inspect.signature(f).parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                names.extend(f"{parameter.name}[{i}]" for i in range(count - len(names)))
    except (TypeError, ValueError):
        pass
    names = names[:count]
    return names + [f"argument {i}" for i in range(len(names), count)]


def argument_leaf_names(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> list[str]:
    """A name such as ``params['w']`` for each leaf of the arguments of a call of `f`."""
    names = []
    for name, arg in zip(signature_names(f, len(args)), args, strict=True):
        names.extend(_tree.leaf_names(arg, name))
    for name in sorted(kwargs or {}):
        names.extend(_tree.leaf_names((kwargs or {})[name], name))
    return names


def normal_argnums(
    f: Callable[..., Any], argnums: Any, count: int, transform: str
) -> tuple[int, ...]:
    """Non-negative positions of arguments.

    Raises
    ------
    ArgnumsError
        If a position is out of range, given twice or not an integer.
    """
    listed = (argnums,) if not isinstance(argnums, (tuple, list)) else tuple(argnums)
    result = []
    for number in listed:
        try:
            position = number.__index__()
        except AttributeError:
            raise ArgnumsError(
                f"{transform} of {function_text(f)}: argnums is {argnums!r}; give an integer or a tuple of them"
            ) from None
        if not -count <= position < count:
            raise ArgnumsError(
                f"{transform} of {function_text(f)}: argnums={argnums!r} asks for argument {position}, but the "
                f"call has {count} positional argument{'s' * (count != 1)}; pass it by position"
            )
        result.append(position % count)
    if len(set(result)) != len(result):
        raise ArgnumsError(
            f"{transform} of {function_text(f)}: argnums={argnums!r} names an argument twice"
        )
    return tuple(result)


def leaf_value(leaf: Any, transform: str, f: Callable[..., Any], name: Callable[[], str]) -> Any:
    """A leaf of a traced argument as an internal value, or an error that names the argument."""
    try:
        return value(leaf)
    except NonArrayError as error:
        where = f"{transform} of {function_text(f)}: argument {name()}"
        if _tree.is_unregistered_dataclass(leaf):
            raise NonArrayError(
                f"{where} is a dataclass {type(leaf).__name__} that is not registered as a pytree; decorate it with "
                "fgrad.tree_util.register_dataclass"
            ) from None
        detail = str(error).removeprefix("an argument ")
        raise NonArrayError(f"{where} {detail}") from None
    except TypeError as error:
        detail = str(error).removeprefix("an argument ")
        raise type(error)(
            f"{transform} of {function_text(f)}: argument {name()} {detail}"
        ) from None


def leaf_values(
    leaves: Sequence[Any],
    transform: str,
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Any = None,
) -> list[Any]:
    """Every leaf of the traced arguments as an internal value."""
    return [
        leaf_value(leaf, transform, f, lambda i=i: argument_leaf_names(f, args, kwargs)[i])  # type: ignore[misc]
        for i, leaf in enumerate(leaves)
    ]


def output_values(
    leaves: Sequence[Any], transform: str, f: Callable[..., Any], tree: Any = None
) -> list[Any]:
    """Every leaf of a function's result as an internal value."""
    results = []
    for i, leaf in enumerate(leaves):
        try:
            results.append(value(leaf))
        except TypeError as error:
            name = _tree.leaf_names(tree, "the result")[i] if tree is not None else "the result"
            detail = str(error).removeprefix("an argument ")
            raise type(error)(f"{transform} of {function_text(f)}: {name} {detail}") from None
    return results


def split_aux(f: Callable[..., Any], result: Any, transform: str) -> tuple[Any, Any]:
    """The pair that a function with has_aux=True returns."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ArgumentError(
            f"{transform} of {function_text(f)} with has_aux=True: expected a pair (result, auxiliary data), got "
            f"{type(result).__name__}"
        )
    return result[0], result[1]


def untraced(trace: Any, tree: Any) -> Any:
    """A tree of auxiliary data, with the tracers of an ended trace replaced by their values."""
    leaves, treedef = _tree.flatten(tree)
    return _tree.unflatten(treedef, [trace.untrace(leaf) for leaf in leaves])


def check_direction(
    direction: Any, aval: Aval, what: str, of: str, transform: str, f: Callable[..., Any], name: str
) -> None:
    """Check that a tangent or cotangent has the type that its primal asks for."""
    own = aval_of(direction)
    where = f"{transform} of {function_text(f)}: the {what} of {name}"
    if own.shape != aval.shape:
        raise TangentError(
            f"{where} has shape {own.shape}, but its {of} has shape {aval.shape}; give them one shape"
        )
    wanted = aval.dtype if is_inexact(aval.dtype) else float0
    if own.dtype != wanted and not (
        own.weak and is_inexact(wanted) and own.dtype.kind in _accepted(wanted)
    ):
        advice = (
            f"convert it with .astype({aval.dtype.name!r})"
            if is_inexact(aval.dtype)
            else f"integers and booleans have tangents np.zeros({aval.shape}, fgrad.dtypes.float0)"
        )
        raise TangentError(
            f"{where} has dtype {own.dtype.name if own.dtype != float0 else 'float0'}, but its {of} has dtype "
            f"{aval.dtype.name}; {advice}"
        )


def _accepted(dtype: Any) -> str:
    return "biufc" if dtype.kind == "c" else "biuf"


def is_tracer_of(trace: Any, x: Any) -> bool:
    return isinstance(x, Tracer) and x._trace is trace
