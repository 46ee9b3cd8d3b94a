"""Differences of neighbours, slopes from samples, and sums over samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._direct import called
from fgrad.numpy._support import ArrayLike, fit, normal_axes, normal_axis, operand, static_int
from fgrad.numpy.joining import joined
from fgrad.numpy.reordering import along
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Sum, broadcast_to, reshape, shape_of
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.tracing import Tracer


def _part(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return static_index(x, along(axis, slice(start, stop)))


def neighbour_steps(x: Any, axis: int) -> Any:
    """Each element minus the one before."""
    later, earlier = _part(x, axis, 1, None), _part(x, axis, None, -1)
    return (p.not_equal if aval_of(x).dtype == dtypes.BOOL else p.sub)(later, earlier)


def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Differences of neighbours along an axis.

    Parameters
    ----------
    a : array_like
    n : int
        How often to take differences.
    axis : int
    prepend, append : array_like, optional
        What comes before and behind first; a number is stretched.

    Returns
    -------
    Array
        Of booleans, whether neighbours differ. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If `a` has no axes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.diff(fnp.array([1, 2, 4]))
    Array([1, 2], dtype=int64)
    """
    if prepend is append is None and type(n) is int and type(axis) is int:
        answer = called(np.diff, a, n, axis)
        if answer is not None:
            return answer
    x = operand(a, "diff")
    shape = shape_of(x)
    if not shape:
        raise ShapeError("diff: a number has no neighbours; give an array with an axis")
    times = static_int(n, "diff: n")
    if times < 0:
        raise ArgumentError(f"diff: n is {times}; give a number of times that is not negative")
    if times == 0:
        return wrap(x)  # type: ignore[no-any-return]
    position = normal_axis(axis, len(shape), "diff")
    pieces = [x]
    for place, extra in ((0, prepend), (2, append)):
        if extra is not None:
            piece = operand(extra, "diff")
            if not shape_of(piece):
                piece = broadcast_to(piece, (*shape[:position], 1, *shape[position + 1 :]))
            pieces.insert(place, piece)
    if len(pieces) > 1:
        x = joined(pieces, position, None, "diff")
    for _ in range(times):
        x = neighbour_steps(x, position)
    return wrap(x)  # type: ignore[no-any-return]


def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Differences of neighbours in the line of all elements.

    Parameters
    ----------
    ary : array_like
    to_end, to_begin : array_like, optional
        What comes behind and before the differences; converted to the dtype of `ary`.

    Returns
    -------
    Array
        With one axis. Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.ediff1d(fnp.array([1, 2, 4]), to_begin=0)
    Array([0, 1, 2], dtype=int64)
    """
    x = operand(ary, "ediff1d")
    aval = aval_of(x)
    steps = neighbour_steps(reshape(x, (aval.size,)), 0) if aval.size else reshape(x, (0,))
    pieces = []
    for piece in (to_begin, steps, to_end):
        if piece is not None:
            inside = p.convert(operand(piece, "ediff1d"), aval.dtype)
            pieces.append(reshape(inside, (aval_of(inside).size,)))
    return wrap(joined(pieces, 0, None, "ediff1d"))  # type: ignore[no-any-return]


def _distances(given: Any, size: int) -> tuple[Any, bool]:
    """The distance of neighbouring samples, or one for each pair, and whether it is one for all."""
    x = operand(given, "gradient")
    shape = shape_of(x)
    if not shape:
        return p.cast_to_float(x), True
    if len(shape) != 1 or shape[0] != size:
        raise ShapeError(
            f"gradient: coordinates have shape {shape}, but the axis has {size} samples; give a distance, or "
            "one coordinate for each"
        )
    steps = p.cast_to_float(neighbour_steps(x, 0))
    if not isinstance(steps, Tracer) and np.all(np.equal(steps, steps[0])):
        return steps[0], True
    return steps, False


def _uniform_slopes(f: Any, axis: int, h: Any, order: int) -> list[Any]:
    def at(start: int, stop: int | None) -> Any:
        return _part(f, axis, start, stop)

    inner = p.div(p.sub(at(2, None), _part(f, axis, None, -2)), p.mul(2.0, h))
    if order == 1:
        first = p.div(p.sub(at(1, 2), at(0, 1)), h)
        last = p.div(p.sub(at(-1, None), at(-2, -1)), h)
        return [first, inner, last]
    low = [p.div(c, h) for c in (-1.5, 2.0, -0.5)]
    high = [p.div(c, h) for c in (0.5, -2.0, 1.5)]
    first = _combined(low, [at(0, 1), at(1, 2), at(2, 3)])
    last = _combined(high, [at(-3, -2), at(-2, -1), at(-1, None)])
    return [first, inner, last]


def _combined(weights: Sequence[Any], values: Sequence[Any]) -> Any:
    total = p.mul(weights[0], values[0])
    for weight, v in zip(weights[1:], values[1:], strict=True):
        total = p.add(total, p.mul(weight, v))
    return total


def _slopes(f: Any, axis: int, steps: Any, order: int) -> list[Any]:
    """Slopes of the parabolas through three neighbours at uneven distances."""

    def at(start: int | None, stop: int | None) -> Any:
        return _part(f, axis, start, stop)

    def step(i: int) -> Any:
        return static_index(steps, (aval_of(steps).size + i if i < 0 else i,))

    trailing = (1,) * (len(shape_of(f)) - axis - 1)
    before, behind = _part(steps, 0, None, -1), _part(steps, 0, 1, None)
    before, behind = (reshape(s, (*shape_of(s), *trailing)) for s in (before, behind))
    both = p.add(before, behind)
    weights = [
        p.div(p.neg(behind), p.mul(before, both)),
        p.div(p.sub(behind, before), p.mul(before, behind)),
        p.div(before, p.mul(behind, both)),
    ]
    inner = _combined(weights, [at(None, -2), at(1, -1), at(2, None)])
    if order == 1:
        first = p.div(p.sub(at(1, 2), at(0, 1)), step(0))
        last = p.div(p.sub(at(-1, None), at(-2, -1)), step(-1))
        return [first, inner, last]
    d1, d2 = step(0), step(1)
    both = p.add(d1, d2)
    low = [
        p.neg(p.div(p.add(p.mul(2.0, d1), d2), p.mul(d1, both))),
        p.div(both, p.mul(d1, d2)),
        p.neg(p.div(d1, p.mul(d2, both))),
    ]
    d1, d2 = step(-2), step(-1)
    both = p.add(d1, d2)
    high = [
        p.div(d2, p.mul(d1, both)),
        p.neg(p.div(both, p.mul(d1, d2))),
        p.div(p.add(p.mul(2.0, d2), d1), p.mul(d2, both)),
    ]
    first = _combined(low, [at(0, 1), at(1, 2), at(2, 3)])
    last = _combined(high, [at(-3, -2), at(-2, -1), at(-1, None)])
    return [first, inner, last]


def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Any:
    """Slopes of a sampled function, by central differences inside and one-sided ones at the ends.

    Parameters
    ----------
    f : array_like
        Samples.
    *varargs : array_like
        One distance for all axes, or for each axis a distance or the coordinates of its samples.
    axis : int or sequence of int, optional
        Along which axes; None means all of them.
    edge_order : {1, 2}
        How many neighbours the slopes at the ends use.

    Returns
    -------
    Array, or list of Array if there are several axes
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If an axis has too few samples, or coordinates do not fit it.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.gradient(fnp.array([1.0, 2.0, 4.0]))
    Array([1. , 1.5, 2. ], dtype=float64)
    """
    x = p.cast_to_float(operand(f, "gradient"))
    shape = shape_of(x)
    axes = (
        normal_axes(axis, len(shape), "gradient") if not isinstance(axis, (tuple, list)) else None
    )
    places = [normal_axis(a, len(shape), "gradient") for a in axis] if axes is None else list(axes)  # type: ignore[union-attr]
    order = static_int(edge_order, "gradient: edge_order")
    if order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order is {order}; give 1 or 2")
    if len(varargs) not in (0, 1, len(places)):
        raise ArgumentError(
            f"gradient: {len(varargs)} distances for {len(places)} axes; give one for all, or one for each"
        )
    given = list(varargs or (1.0,))
    if len(given) == 1:
        if len(places) > 1 and len(aval_of(operand(given[0], "gradient")).shape):
            raise ArgumentError("gradient: coordinates must be given for each axis")
        given = given * len(places)
    results = []
    for place, spacing in zip(places, given, strict=True):
        if shape[place] < order + 1:
            raise ShapeError(
                f"gradient: axis {place} of shape {shape} has {shape[place]} samples, but needs at least {order + 1}"
            )
        h, uniform = _distances(spacing, shape[place])
        rule = _uniform_slopes if uniform else _slopes
        parts = rule(x, place, h, order)
        results.append(wrap(Concatenate(place)(*[_like(part, x, parts) for part in parts])))
    return results[0] if len(results) == 1 else results


def _like(part: Any, x: Any, parts: Sequence[Any]) -> Any:
    """All parts in one dtype: the distances may be wider than the samples."""
    return p.convert(part, dtypes.canonical(np.result_type(*[aval_of(v).dtype for v in parts])))


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrals of sampled functions by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        Samples.
    x : array_like, optional
        Their coordinates, along one axis or like `y`.
    dx : array_like
        The distance of samples, where there are no coordinates.
    axis : int

    Returns
    -------
    Array
        The other axes. Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.trapezoid(fnp.array([1.0, 2.0, 3.0])))
    4.0
    """
    samples = operand(y, "trapezoid")
    shape = shape_of(samples)
    position = normal_axis(axis, len(shape), "trapezoid")
    if x is None:
        width = operand(dx, "trapezoid")
    else:
        places = operand(x, "trapezoid")
        own = shape_of(places)
        if len(own) == 1:
            steps = neighbour_steps(places, 0)
            trailing = (1,) * (len(shape) - position - 1)
            width = reshape(steps, (*shape_of(steps), *trailing))
        else:
            width = neighbour_steps(places, normal_axis(axis, len(own), "trapezoid"))
    heights = p.add(_part(samples, position, 1, None), _part(samples, position, None, -1))
    fit("trapezoid", width, heights)
    areas = p.div(p.mul(width, heights), 2.0)
    rank = len(shape_of(areas))
    return wrap(Sum((normal_axis(axis, rank, "trapezoid"),))(areas))  # type: ignore[no-any-return]
