"""Choosing among several arrays or functions, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import aval_of, broadcast_shapes
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import Array, ArrayLike, fit, operand, refuse_out, stretched, wrap
from fgrad.numpy.at import index_mode
from fgrad.numpy.positions import index_operand
from fgrad.primitives.elementwise import (
    convert,
    less,
    logical_not,
    logical_or,
    maximum,
    not_equal,
)
from fgrad.primitives.elementwise import (
    select as select_primitive,
)
from fgrad.primitives.families import broadcast_to, reshape, shape_of
from fgrad.primitives.indexing import Gather
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.scatter import ScatterSet
from fgrad.primitives.shape import Concatenate, iota
from fgrad.tracing import Tracer, concrete, derivative_rules


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Array:
    """Choose each element from the first array whose condition holds.

    Parameters
    ----------
    condlist : sequence of array_like of bool
    choicelist : sequence of array_like
        As many arrays. All are broadcast together.
    default : array_like
        Where no condition holds.

    Returns
    -------
    Array
        Of the dtype that the choices and the default promote to. Differentiable towards all of
        them in both modes; what is not chosen gets a cotangent of zero.

    Raises
    ------
    ArgumentError
        If there are no conditions, or not as many choices.
    DTypeError
        If a condition is not boolean.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x = fnp.arange(5.0)
    >>> fnp.select([x < 2, x < 4], [-x, x * x], default=9.0)
    Array([-0., -1.,  4.,  9.,  9.], dtype=float64)
    """
    if len(condlist) != len(choicelist):
        raise ArgumentError(
            f"select: {len(condlist)} conditions for {len(choicelist)} choices; give one for each"
        )
    if not len(condlist):
        raise ArgumentError("select: needs at least one condition")
    conditions = [operand(c, "select", "a condition") for c in condlist]
    choices = [operand(c, "select", "a choice") for c in (*choicelist, default)]
    fit("select", *conditions, *choices)
    for condition in conditions:
        own = aval_of(condition)
        if own.dtype.kind != "b":
            raise DTypeError(
                f"select: a condition has dtype {own.dtype}, expected bool; compare it first"
            )
    avals = [aval_of(c) for c in choices]
    weak = all([a.weak for a in avals])
    dtype = common_dtype(avals)
    chosen = convert(choices[-1], dtype, weak and aval_of(choices[-1]).weak)
    for condition, choice in zip(reversed(conditions), reversed(choices[:-1]), strict=True):
        chosen = select_primitive(condition, choice, chosen)
    shape = broadcast_shapes("select", *[shape_of(v) for v in (*conditions, *choices)])
    return wrap(broadcast_to(chosen, shape))  # type: ignore[no-any-return]


def piecewise(
    x: ArrayLike,
    condlist: Any,
    funclist: Sequence[Any],
    *args: Any,
    **kw: Any,
) -> Array:
    """Compute a function that is given by cases.

    Parameters
    ----------
    x : array_like
    condlist : sequence of array_like of bool, or one of them
        Where several hold, the last one counts.
    funclist : sequence of callables or scalars
        One for each condition, and possibly one more for where none holds; by default 0.
    *args, **kw
        Passed on to the functions.

    Returns
    -------
    Array
        Of the dtype of x. Differentiable as the functions are. A function is given the elements
        of its own case where the conditions are known, and all of x while they are unknown, as
        under `jit`: it must act on each element alone.

    Raises
    ------
    ArgumentError
        If the numbers of conditions and functions do not fit.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> f = lambda x: fnp.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t * t])
    >>> fgrad.vmap(fgrad.grad(f))(fnp.array([-2.0, 3.0]))
    Array([-1.,  6.], dtype=float64)
    """
    inside = operand(x, "piecewise", "x")
    own = aval_of(inside)
    conditions = [_condition(c, own.shape) for c in _conditions(condlist, len(own.shape))]
    count = len(conditions)
    if len(funclist) not in (count, count + 1):
        raise ArgumentError(
            f"piecewise: {len(funclist)} functions for {count} conditions; give {count}, or {count + 1} with "
            "one for where none holds"
        )
    otherwise = funclist[count] if len(funclist) > count else 0
    none_holds = _none_of(conditions, own.shape)
    result = broadcast_to(convert(0, own.dtype, own.weak), own.shape)
    cases = [(none_holds, otherwise), *zip(conditions, funclist[:count], strict=True)]
    for condition, function in cases:
        result = _one_case(inside, condition, function, result, args, kw)
    return wrap(convert(result, own.dtype, own.weak))  # type: ignore[no-any-return]


def _conditions(condlist: Any, rank: int) -> list[Any]:
    # A plain list of booleans is one condition, unless x is a scalar.
    if isinstance(condlist, (bool, np.bool_)):
        return [condlist]
    items = list(condlist)
    if isinstance(condlist, (np.ndarray, Tracer)) and len(condlist.shape) > rank:
        return items
    nested = items and (
        isinstance(items[0], (list, tuple)) or len(getattr(items[0], "shape", ())) > 0
    )
    return items if nested or not rank else [condlist]


def _condition(condition: Any, shape: tuple[int, ...]) -> Any:
    inside = operand(condition, "piecewise", "a condition")
    own = aval_of(inside)
    if own.dtype.kind != "b":
        inside = not_equal(inside, 0)
    if own.shape != shape:
        raise ShapeError(f"piecewise: a condition has shape {own.shape}, x has {shape}")
    return inside


def _none_of(conditions: Sequence[Any], shape: tuple[int, ...]) -> Any:
    some: Any = False
    for condition in conditions:
        some = logical_or(some, condition)
    return broadcast_to(logical_not(some), shape)


def _one_case(
    x: Any, condition: Any, function: Any, result: Any, args: Any, kw: dict[str, Any]
) -> Any:
    own = aval_of(x)
    known = concrete(condition) if isinstance(condition, Tracer) else condition
    if known is not None and not np.any(known):
        return result
    if not callable(function):
        value = operand(function, "piecewise", "a function")
        return select_primitive(condition, convert(value, own.dtype, own.weak), result)
    if known is not None and not own.shape:
        return _of_dtype(function(wrap(x), *args, **kw), x)
    if known is not None:
        positions = np.nonzero(known)
        axes = tuple(range(len(own.shape)))
        part = Gather(axes)(x, *positions)
        values = _of_dtype(function(wrap(part), *args, **kw), part)
        return ScatterSet(axes, unique=True)(result, values, *positions)
    with derivative_rules():
        # Elements of other cases may be outside of the domain of this one: it does not warn.
        values = _of_dtype(function(wrap(x), *args, **kw), x)
    return select_primitive(condition, values, result)


def _of_dtype(values: Any, x: Any) -> Any:
    own = aval_of(x)
    inside = operand(values, "piecewise", "the result of a function")
    return convert(stretched(inside, own.shape, "piecewise"), own.dtype, own.weak)


def choose(
    a: ArrayLike,
    choices: ArrayLike | Sequence[ArrayLike],
    out: None = None,
    mode: str = "raise",
) -> Array:
    """Choose each element from the array that a number names.

    Parameters
    ----------
    a : array_like of int
        The number of the choice, for each element.
    choices : sequence of array_like
        Arrays that are broadcast with `a` and with one another.
    mode : {"raise", "wrap", "clip"}
        What happens to a number out of range: an error, counting modulo the number of choices, or
        the nearest one.

    Returns
    -------
    Array
        Linear in the choices, differentiable in both modes.

    Raises
    ------
    IndexOutOfRangeError
        If a number is out of range and the mode is "raise", also in compiled functions.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.choose(fnp.array([1, 0, 1]), [fnp.array([1, 2, 3]), fnp.array([10, 20, 30])])
    Array([10,  2, 30], dtype=int64)
    """
    refuse_out(out, "choose")
    index = index_operand(a, "choose", "a")
    if isinstance(choices, (list, tuple)):
        options = [operand(c, "choose", "a choice") for c in choices]
    else:
        stack = operand(choices, "choose", "choices")
        if not shape_of(stack):
            raise ArgumentError("choose: choices is a scalar; give a sequence of arrays")
        options = [Gather((0,))(stack, k) for k in range(shape_of(stack)[0])]
    if not options:
        raise ArgumentError("choose: needs at least one choice")
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"choose: mode={mode!r} is not one of 'raise', 'wrap' and 'clip'")
    chosen = index_mode(mode, "choose", "raise")
    # No number counts from the end here: negative ones are out of range.
    if chosen == "clip":
        index = maximum(index, 0)
    elif chosen == "raise":
        index = select_primitive(less(index, 0), len(options), index)
    shape = broadcast_shapes("choose", *[shape_of(v) for v in (index, *options)])
    dtype = common_dtype([aval_of(o) for o in options])
    layers = [reshape(broadcast_to(convert(o, dtype), shape), (1, *shape)) for o in options]
    stacked = Concatenate(0)(*layers)
    places = [reshape(iota(n), (n, *(1,) * (len(shape) - 1 - k))) for k, n in enumerate(shape)]
    gather = Gather(tuple(range(len(shape) + 1)), chosen)
    return wrap(gather(stacked, broadcast_to(index, shape), *places))  # type: ignore[no-any-return]
