"""Arrays of numbers that are counted or evenly spaced."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, frozen, wrap
from fgrad.avals import Shape, aval_of
from fgrad.errors import ArgumentError, ConcretizationTypeError, DerivativeCutError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    fit,
    given_dtype,
    normal_axis,
    operand,
    static_int,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import creation_is_staged, reshape, shape_of
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, Iota, iota, moveaxis, static_index
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown, has_tracers, make_known

_REAL = (int, float)


def known_number(x: Any, what: str) -> Any:
    """A number on which the size of an array depends."""
    inside = operand(x, what)
    if isinstance(inside, Tracer):
        known = concrete(inside)
        if known is None:
            raise ConcretizationTypeError(
                f"{what} must be known while tracing, but is {describe_unknown(inside)}; {make_known(inside)}, or "
                f"write start + step * fnp.arange(n) with a fixed n ({here()})"
            )
        if dtypes.is_inexact(inside.dtype):
            raise DerivativeCutError(
                f"{what} is differentiated, but a number of elements has no derivative; write start + step * "
                f"fnp.arange(n), or use fnp.linspace ({here()})"
            )
        inside = known
    if shape_of(inside):
        raise ShapeError(f"{what} is an array of shape {shape_of(inside)}; give a number")
    return inside


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Numbers counted from `start` in steps, below `stop`.

    Parameters
    ----------
    start, stop, step : number
        As in ``range``: with one number, it is `stop`. All must be known while tracing.
    dtype : dtype-like, optional
        None means that to which the numbers promote.
    device, out_sharding
        Accepted for compatibility with JAX; there is one device.

    Returns
    -------
    Array

    Raises
    ------
    ConcretizationTypeError
        If a number is unknown while tracing, or differentiated.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.arange(1, 7, 2)
    Array([1, 3, 5], dtype=int64)
    """
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    kinds = {type(start), type(stop), type(step)}
    if kinds.issubset(_REAL):
        numbers = [start, stop, step]
        promoted = dtypes.canonical(dtypes.FLOAT64 if float in kinds else dtypes.INT64)
    else:
        given = [("start", start), ("stop", stop), ("step", step)]
        numbers = [known_number(x, f"arange: {name}") for name, x in given]
        promoted = common_dtype([aval_of(x) for x in numbers])
    wanted = given_dtype(dtype, "arange") or promoted
    if numbers[2] == 0:
        raise ArgumentError("arange: step is 0; give a step that reaches stop")
    first, last, by = (x.item() if isinstance(x, np.generic) else x for x in numbers)
    if not isinstance(first, complex) and not isinstance(last, complex):
        count = max(0, math.ceil((last - first) / by))
        if creation_is_staged((count,)) and wanted.kind in "iuf":
            return wrap(Iota(count, wanted, first, by)())  # type: ignore[no-any-return]
    return wrap(frozen(np.arange(first, last, by, dtype=wanted)))  # type: ignore[no-any-return]


def spaced(
    first: Any, last: Any, num: int, endpoint: bool, dtype: np.dtype[Any] | None, axis: int
) -> tuple[Any, Any]:
    """Evenly spaced inside values along a new axis, and their distance."""
    if type(first) in _REAL and type(last) in _REAL and not creation_is_staged((num,)):
        working = dtypes.canonical(dtypes.FLOAT64)
        axis = normal_axis(axis, 1, "linspace")
        values, step = np.linspace(
            first, last, num, endpoint=endpoint, retstep=True, dtype=dtype or working, axis=axis
        )
        return frozen(values), working.type(step)
    first, last = p.cast_to_float(first), p.cast_to_float(last)
    working = common_dtype([aval_of(first), aval_of(last)])
    wanted = dtype or working
    first, last = p.broadcast_together(
        "linspace", p.convert(first, working), p.convert(last, working)
    )
    shape = shape_of(first)
    axis = normal_axis(axis, len(shape) + 1, "linspace")
    intervals = num - 1 if endpoint else num
    if not has_tracers((first, last)) and not creation_is_staged((num, *shape)):
        ends = np.asarray(first), np.asarray(last)
        values, step = np.linspace(
            *ends, num, endpoint=endpoint, retstep=True, dtype=wanted, axis=axis
        )
        return frozen(values), step if shape and intervals > 0 else working.type(step)
    delta = p.sub(last, first)
    if intervals > 0:
        step = p.div(delta, float(intervals))
    else:
        step = working.type(math.nan)
    counts = reshape(p.convert(iota(num), working), (num, *(1,) * len(shape)))
    rows = p.add(p.mul(counts, step if intervals > 0 else delta), first)
    if endpoint and num > 1:
        rows = Concatenate(0)(static_index(rows, (slice(0, num - 1),)), reshape(last, (1, *shape)))
    if dtypes.kind_of(wanted) in "iu":
        rows = p.floor(rows)
    return p.convert(moveaxis(rows, 0, axis), wanted), step


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers over an interval.

    Parameters
    ----------
    start, stop : array_like
        The ends; arrays are broadcast together.
    num : int
        How many numbers, known while tracing.
    endpoint : bool
        Whether the last number is exactly `stop`.
    retstep : bool
        Whether to return the distance of the numbers too.
    dtype : dtype-like, optional
        None means the floating-point dtype of the ends; integers are rounded down.
    axis : int
        Where the numbers run in the result.
    device
        Accepted for compatibility with JAX; there is one device.

    Returns
    -------
    Array, or (Array, Array) with ``retstep=True``
        Differentiable in both modes towards the ends.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linspace(0.0, 1.0, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float64)
    """
    values, step = spaced(
        operand(start, "linspace"),
        operand(stop, "linspace"),
        _count(num, "linspace"),
        bool(endpoint),
        given_dtype(dtype, "linspace"),
        axis,
    )
    return (wrap(values), wrap(step)) if retstep else wrap(values)


def _count(num: Any, name: str) -> int:
    count = static_int(num, f"{name}: num")
    if count < 0:
        raise ArgumentError(
            f"{name}: num is {count}; give a number of elements that is not negative"
        )
    return count


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Array:
    """Numbers spaced evenly on a logarithmic scale, given exponents.

    Parameters
    ----------
    start, stop : array_like
        Exponents of the ends, which are ``base**start`` and ``base**stop``.
    num : int
        How many numbers, known while tracing.
    endpoint : bool
        Whether the last number is ``base**stop``.
    base : array_like
        The base of the exponents.
    dtype : dtype-like, optional
    axis : int
        Where the numbers run in the result.

    Returns
    -------
    Array
        Differentiable in both modes towards ends and base.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.logspace(0.0, 2.0, 3)
    Array([  1.,  10., 100.], dtype=float64)
    """
    ends = [operand(start, "logspace"), operand(stop, "logspace")]
    factor = operand(base, "logspace")
    if shape_of(factor):
        *ends, factor = p.broadcast_together("logspace", *ends, factor)
        factor = reshape(factor, _with_axis(shape_of(factor), axis))
    first, last = ends
    fit("logspace", first, last)
    exponents, _ = spaced(first, last, _count(num, "logspace"), bool(endpoint), None, axis)
    result = p.power(p.cast_to_float(factor), exponents)
    return wrap(p.convert(result, given_dtype(dtype, "logspace") or aval_of(result).dtype))  # type: ignore[no-any-return]


def _with_axis(shape: Shape, axis: int) -> Shape:
    position = normal_axis(axis, len(shape) + 1, "logspace")
    return (*shape[:position], 1, *shape[position:])


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Array:
    """Numbers in geometric progression.

    Parameters
    ----------
    start, stop : array_like
        The ends, not zero and of one sign; complex numbers follow a spiral.
    num : int
        How many numbers, known while tracing.
    endpoint : bool
        Whether the last number is exactly `stop`.
    dtype : dtype-like, optional
    axis : int
        Where the numbers run in the result.

    Returns
    -------
    Array
        Differentiable in both modes towards the ends.

    Raises
    ------
    ArgumentError
        If an end of known value is zero.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.geomspace(1.0, 8.0, 4)
    Array([1., 2., 4., 8.], dtype=float64)
    """
    first, last = (p.cast_to_float(operand(x, "geomspace")) for x in (start, stop))
    for end in (first, last):
        if not isinstance(end, Tracer) and np.any(np.equal(end, 0)):
            raise ArgumentError("geomspace: an end is 0, which no geometric progression reaches")
    count = _count(num, "geomspace")
    first, last = p.broadcast_together("geomspace", first, last)
    working = common_dtype([aval_of(first), aval_of(last)])
    first, last = p.convert(first, working), p.convert(last, working)
    shape = shape_of(first)
    direction = p.sign(first)
    low, high = (p.log10(p.div(end, direction)) for end in (first, last))
    exponents, _ = spaced(low, high, count, bool(endpoint), None, 0)
    rows = p.mul(p.power(10.0, exponents), direction)
    # The ends are given exactly, not by way of their logarithms.
    pieces = [reshape(first, (1, *shape))] if count else []
    stop_row = count - 1 if endpoint and count > 1 else count
    pieces.append(static_index(rows, (slice(min(1, count), stop_row),)))
    if endpoint and count > 1:
        pieces.append(reshape(last, (1, *shape)))
    result = Concatenate(0)(*pieces) if len(pieces) > 1 else pieces[0]
    result = moveaxis(result, 0, normal_axis(axis, len(shape) + 1, "geomspace"))
    return wrap(p.convert(result, given_dtype(dtype, "geomspace") or working))  # type: ignore[no-any-return]
