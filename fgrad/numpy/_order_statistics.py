"""How quantiles are found.

A quantile lies at a position among the sorted elements: a number, with a fraction where it is
interpolated between two neighbours. Each method is a formula for the position. Elements are sorted
in lanes: along the last axis, into which the reduced ones are merged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Shape, aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import dtype_of, normal_axes, operand, shape_of
from fgrad.numpy.averages import fitting_weights
from fgrad.primitives import elementwise as p
from fgrad.primitives.cumulative import Cumsum
from fgrad.primitives.families import Full, Sum, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import iota, static_index, transpose
from fgrad.primitives.sorting import Argsort, Sort, take_along
from fgrad.tracing import Tracer, concrete

# ---- positions -----------------------------------------------------------------------------------


def _continuous(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    def position(n: Any, q: Any) -> Any:
        offset = p.add(alpha - 1.0, p.mul(q, 1.0 - alpha - beta))
        return p.add(p.mul(n, q), offset)

    return position


def _spread(n: Any, q: Any) -> Any:
    return p.mul(p.sub(n, 1.0), q)


def _between(low: Any, high: Any) -> Any:
    return p.mul(0.5, p.add(low, high))


#: The position of the quantile q among n sorted elements, counted from 0, before it is cut to
#: their range; and whether the element at a position is the result as it is.
_METHODS: dict[str, tuple[Callable[[Any, Any], Any], bool]] = {
    "linear": (_spread, False),
    "lower": (lambda n, q: p.floor(_spread(n, q)), True),
    "higher": (lambda n, q: p.ceil(_spread(n, q)), True),
    "nearest": (lambda n, q: p.rint(_spread(n, q)), True),
    "midpoint": (lambda n, q: _between(p.floor(_spread(n, q)), p.ceil(_spread(n, q))), False),
    "inverted_cdf": (lambda n, q: p.sub(p.ceil(p.mul(n, q)), 1.0), True),
    "averaged_inverted_cdf": (
        lambda n, q: _between(p.sub(p.ceil(p.mul(n, q)), 1.0), p.floor(p.mul(n, q))),
        False,
    ),
    "closest_observation": (lambda n, q: p.sub(p.rint(p.mul(n, q)), 1.0), True),
    "interpolated_inverted_cdf": (_continuous(0.0, 1.0), False),
    "hazen": (_continuous(0.5, 0.5), False),
    "weibull": (_continuous(0.0, 0.0), False),
    "median_unbiased": (_continuous(1 / 3, 1 / 3), False),
    "normal_unbiased": (_continuous(3 / 8, 3 / 8), False),
}


def _neighbours(n: Any, q: Any, method: str) -> tuple[Any, Any, Any]:
    """The positions between which a quantile lies, and how far it is from the first."""
    exact = p.convert(q, dtypes.canonical(dtypes.FLOAT64), aval_of(q).weak)
    position = p.maximum(p.minimum(_METHODS[method][0](n, exact), p.sub(n, 1.0)), 0.0)
    low = p.floor(position)
    index = dtypes.canonical(dtypes.INT64)
    return p.convert(low, index), p.convert(p.ceil(position), index), p.sub(position, low)


def _interpolated(low: Any, high: Any, fraction: Any, dtype: np.dtype[Any]) -> Any:
    low, high, fraction = [p.convert(v, dtype) for v in (low, high, fraction)]
    # Equal infinities differ by 0.
    same = p.logical_and(p.equal(low, high), p.isinf(low))
    step = p.sub(p.select(same, 0.0, high), p.select(same, 0.0, low))
    # From the nearer neighbour, so that a fraction of 1 gives exactly the second one.
    upward = p.add(low, p.mul(step, fraction))
    downward = p.sub(high, p.mul(step, p.sub(1.0, fraction)))
    return p.select(p.less(fraction, 0.5), upward, downward)


# ---- lanes ---------------------------------------------------------------------------------------


def merged_lanes(x: Any, axes: tuple[int, ...]) -> Any:
    """`x` with the reduced axes merged into the last one."""
    shape = shape_of(x)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    size = math.prod([shape[axis] for axis in axes])
    return reshape(transpose(x, [*kept, *axes]), (*[shape[axis] for axis in kept], size))


def _at(ordered: Any, index: Any, per_lane: bool) -> Any:
    """The elements of each lane at positions that are the same for all lanes, or its own."""
    lanes = shape_of(ordered)[:-1]
    last = len(lanes)
    if not per_lane:
        return Gather((last,), "promise_in_bounds")(ordered, index)
    grid = [reshape(iota(n), (n, *(1,) * (last - i - 1))) for i, n in enumerate(lanes)]
    return Gather(tuple(range(last + 1)), "promise_in_bounds")(ordered, *grid, index)


def real_operand(a: Any, name: str) -> Any:
    """A user's array whose elements have an order."""
    x = operand(a, name, "a")
    if dtype_of(x).kind == "c":
        raise DTypeError(f"{name}: complex numbers have no order; take real parts or magnitudes")
    dtype = dtype_of(x)
    return p.cast_to_float(x) if dtype.kind == "b" or dtype in dtypes.NARROW_INTEGERS else x


def checked_q(q: Any, name: str, scale: float) -> Any:
    """The fractions asked for, in their range as far as they are known."""
    inside = p.cast_to_float(operand(q, name, "q"))
    known = concrete(inside) if isinstance(inside, Tracer) else inside
    if known is not None and not np.all((np.asarray(known) >= 0) & (np.asarray(known) <= scale)):
        raise ArgumentError(f"{name}: q={known} has to lie between 0 and {scale:g}")
    return inside if scale == 1 else p.div(inside, scale)


def checked_method(method: Any, interpolation: Any, weights: Any, name: str) -> str:
    """The name of the method that a user chose."""
    method = method if interpolation is None else interpolation
    if method not in _METHODS:
        raise ArgumentError(f"{name}: method={method!r}; choose one of {', '.join(_METHODS)}")
    if weights is not None and method != "inverted_cdf":
        raise ArgumentError(f"{name}: weights= need method='inverted_cdf', got {method!r}")
    return str(method)


def finished(answer: Any, axes: tuple[int, ...], shape: Shape, keepdims: bool) -> Any:
    """A result over lanes, with the reduced axes back at size one if they are to be kept."""
    if not keepdims:
        return answer
    ones = tuple([1 if axis in axes else n for axis, n in enumerate(shape)])
    lead = len(shape_of(answer)) - (len(shape) - len(axes))
    return reshape(answer, (*shape_of(answer)[:lead], *ones))


def quantile_of(
    name: str,
    x: Any,
    q: Any,
    axis: Any,
    method: str,
    keepdims: bool,
    weights: Any,
    skip_nan: bool,
) -> Any:
    """The quantiles q of an inside value, without NaN if `skip_nan`."""
    shape = shape_of(x)
    axes = normal_axes(axis, len(shape), name)
    if 0 in [shape[axis] for axis in axes]:
        if not skip_nan:
            raise ShapeError(f"{name}: an array of shape {shape} has no elements to order")
        rest = shape_of(merged_lanes(x, axes))[:-1]
        dtype = aval_of(p.cast_to_float(x)).dtype
        return finished(Full((*shape_of(q), *rest), np.nan, dtype)(), axes, shape, keepdims)
    lanes = merged_lanes(x, axes)
    last = len(shape_of(lanes)) - 1
    spread_q = reshape(q, (*shape_of(q), *(1,) * last))
    is_float = dtypes.is_inexact(dtype_of(x))
    per_lane = weights is not None or (skip_nan and is_float)
    if weights is not None:
        order = Argsort(last)(lanes)
        ordered = take_along(lanes, order, last)
        w = operand(weights, name, "weights")
        by_lane = merged_lanes(fitting_weights(w, shape, axis, axes, name), axes)
        if skip_nan and is_float:
            by_lane = p.select(p.isnan(lanes), 0, by_lane)
        low = high = _weighted_position(take_along(by_lane, order, last), spread_q)
        fraction = 0.0
    else:
        ordered = Sort(last)(lanes)
        if per_lane:
            count = Sum((last,))(p.logical_not(p.isnan(lanes)))
            low, high, fraction = _neighbours(p.cast_to_float(count), spread_q, method)
        else:
            low, high, fraction = _neighbours(float(shape_of(lanes)[-1]), q, method)
            fraction = reshape(fraction, (*shape_of(fraction), *(1,) * last))
    if _METHODS[method][1]:
        answer = _at(ordered, low, per_lane)
        answer = p.convert(answer, dtype_of(x), aval_of(x).weak and not shape_of(answer))
    else:
        pair = [aval_of(x), aval_of(q)]
        dtype = dtypes.canonical(common_dtype(pair))
        answer = _interpolated(
            _at(ordered, low, per_lane), _at(ordered, high, per_lane), fraction, dtype
        )
        answer = p.convert(answer, dtype, pair[0].weak and pair[1].weak and not shape_of(answer))
    if is_float and not skip_nan:
        # NaN is sorted to the end.
        greatest = static_index(ordered, (*[slice(None)] * last, shape_of(lanes)[-1] - 1))
        answer = p.select(p.isnan(greatest), np.nan, answer)
    return finished(answer, axes, shape, keepdims)


def _weighted_position(weights: Any, q: Any) -> Any:
    """Where, along the last axis, the sum of weights reaches the fraction q of the whole."""
    last = len(shape_of(weights)) - 1
    sums = Cumsum(last)(p.cast_to_float(weights))
    size = shape_of(sums)[-1]
    whole = static_index(sums, (*[slice(None)] * last, slice(size - 1, size)))
    fractions = p.div(sums, whole)
    before = p.logical_or(p.less(fractions, reshape(q, (*shape_of(q), 1))), p.equal(fractions, 0.0))
    count = Sum((len(shape_of(before)) - 1,))(before)
    return p.minimum(count, size - 1)
