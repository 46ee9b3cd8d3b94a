"""Counting: occurrences of integers, and values between edges."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    dtype_of,
    operand,
    shape_of,
    static_int,
    strong,
    wrap,
)
from fgrad.numpy.searching import known_value
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Sum, reshape
from fgrad.primitives.indexing import AddAt
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.reduction import Max, Min
from fgrad.primitives.shape import iota, static_index
from fgrad.primitives.sorting import Bincount, Searchsorted
from fgrad.tracing import Tracer, concrete

# ---- integers ------------------------------------------------------------------------------------


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
) -> Array:
    """How often each of the numbers 0, 1, 2, ... occurs.

    Parameters
    ----------
    x : array_like of int
        One-dimensional.
    weights : array_like, optional
        What each occurrence counts, instead of 1.
    minlength : int
        The least number of counts.
    length : int, optional
        The number of counts. Needed where `x` is unknown while tracing. With it, negative numbers
        count as 0, and those beyond are not counted.

    Returns
    -------
    Array
        int64; with weights, float64, and differentiable in both modes towards them.

    Raises
    ------
    ShapeError
        If `x` is not one-dimensional, or the weights differ from it in shape.
    DTypeError
        If `x` does not hold integers.
    ArgumentError
        If, without `length`, a number is negative.
    NonConcreteBooleanIndexError
        If `x` is unknown while tracing and there is no `length`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.bincount(fnp.asarray([1, 2, 2]))
    Array([0, 1, 2], dtype=int64)
    """
    numbers = operand(x, "bincount", "x")
    if len(shape_of(numbers)) != 1:
        raise ShapeError(f"bincount: x has shape {shape_of(numbers)}, expected one axis")
    if dtypes.kind_of(dtype_of(numbers)) not in "biu" and shape_of(numbers) != (0,):
        raise DTypeError(f"bincount: x has dtype {dtype_of(numbers)}, expected integers")
    numbers = p.convert(numbers, dtypes.canonical(dtypes.INT64))
    least = static_int(minlength, "bincount: minlength")
    if least < 0:
        raise ArgumentError(f"bincount: minlength={least} is negative")
    if length is None:
        known = known_value(numbers, "bincount", "give length=, the number of counts")
        if known.size and known.min() < 0:
            raise ArgumentError(
                f"bincount: x holds the negative number {known.min()}; only 0 and above are counted"
            )
        size = builtins.max(least, int(known.max()) + 1 if known.size else 0)
    else:
        size = builtins.max(static_int(length, "bincount: length"), least)
        numbers = p.maximum(numbers, 0)
    if weights is None:
        return wrap(Bincount(size)(numbers))  # type: ignore[no-any-return]
    w = operand(weights, "bincount", "weights")
    if shape_of(w) != shape_of(numbers):
        raise ShapeError(f"bincount: weights of shape {shape_of(w)} for x of {shape_of(numbers)}")
    if dtype_of(w).kind == "c":
        raise DTypeError("bincount: complex weights; count real and imaginary parts apart")
    w = p.convert(w, dtypes.canonical(dtypes.FLOAT64))
    return wrap(AddAt((0,), (size,), "fill")(w, numbers))  # type: ignore[no-any-return]


# ---- edges ---------------------------------------------------------------------------------------

Range = tuple[ArrayLike, ArrayLike] | None


def _edges(a: Any, bins: Any, range: Any, weights: Any, name: str) -> Any:
    """The edges of the bins that a user asks for, as an inside value."""
    if isinstance(bins, str):
        known = known_value(a, name, "give the number of bins or their edges instead of a rule")
        if weights is not None:
            raise ArgumentError(f"{name}: bins={bins!r} cannot take weights= into account")
        limits = None if range is None else (float(range[0]), float(range[1]))
        return np.histogram_bin_edges(known, bins, limits)
    given = operand(bins, name, "bins")
    if len(shape_of(given)) == 1:
        if not shape_of(given)[0]:
            raise ArgumentError(
                f"{name}: bins= has no edges; give the number of bins, or their edges"
            )
        known = concrete(given) if isinstance(given, Tracer) else given
        if known is not None and (np.diff(known) < 0).any():
            raise ArgumentError(f"{name}: the edges in bins= must increase; sort them first")
        return given
    if shape_of(given):
        raise ShapeError(f"{name}: bins has shape {shape_of(given)}; give a number, or edges")
    count = static_int(bins, f"{name}: bins")
    if count < 1:
        raise ArgumentError(f"{name}: bins={count}; give at least one")
    low, high = _limits(a, range, name)
    pair = [aval_of(p.cast_to_float(v)) for v in (low, high)]
    dtype = dtypes.canonical(common_dtype([*pair, aval_of(a).strong()]))
    dtype = dtype if dtypes.is_inexact(dtype) else dtypes.canonical(dtypes.FLOAT64)
    low, high = p.convert(low, dtype), p.convert(high, dtype)
    flat = p.equal(low, high)
    low = p.select(flat, p.sub(low, 0.5), low)
    high = p.select(flat, p.add(high, 0.5), high)
    steps = p.convert(iota(count + 1), dtype)
    between = p.add(p.mul(steps, p.div(p.sub(high, low), float(count))), low)
    # Rounding must not leave out the greatest element.
    return p.select(p.equal(steps, float(count)), high, between)


def _limits(a: Any, range: Any, name: str) -> tuple[Any, Any]:
    if range is None:
        if not shape_of(a)[0]:
            return 0.0, 1.0
        return Min((0,))(a), Max((0,))(a)
    low, high = [operand(limit, name, "range") for limit in range]
    known = [concrete(v) if isinstance(v, Tracer) else v for v in (low, high)]
    if None not in known and not known[0] <= known[1]:
        raise ArgumentError(f"{name}: range=({known[0]}, {known[1]}); the second must not be less")
    return low, high


def _bins_of(values: Any, edges: Any) -> Any:
    """The bin of each value, the last edge being in the last one; outside, the number of bins."""
    count = shape_of(edges)[0] - 1
    bins = p.sub(Searchsorted("right")(edges, values), 1)
    bins = p.select(p.equal(values, static_index(edges, (count,))), count - 1, bins)
    return p.select(p.less(bins, 0), count, bins)


def _flat(a: Any, name: str, argument: str) -> Any:
    x = strong(operand(a, name, argument))
    if dtype_of(x) == dtypes.BOOL:
        x = p.convert(x, np.dtype(np.uint8))
    elif dtype_of(x) in dtypes.NARROW_INTEGERS:
        x = p.cast_to_float(x)
    return reshape(x, (math.prod(shape_of(x)),))


def _counted(bins: Any, count: int, weights: Any, name: str) -> Any:
    if weights is None:
        return Bincount(count)(bins)
    if shape_of(weights) != shape_of(bins):
        raise ShapeError(f"{name}: weights and values differ in shape")
    return AddAt((0,), (count,), "fill")(weights, bins)


def histogram(
    a: ArrayLike,
    bins: Any = 10,
    range: Range = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """How many values lie between edges.

    Parameters
    ----------
    a : array_like
        Of any shape.
    bins : int, array_like or str
        The number of bins of equal width, or their edges, or the name of one of NumPy's rules,
        which needs known values.
    range : tuple of two numbers, optional
        The outer edges; by default the least and the greatest value.
    weights : array_like, optional
        What each value counts, instead of 1.
    density : bool
        Whether to scale the counts so that their integral is 1.

    Returns
    -------
    tuple of Array
        The counts, and the edges, of which there is one more. The last edge belongs to the last
        bin. Counts are differentiable in both modes towards the weights.

    Raises
    ------
    ArgumentError
        If edges do not increase, or there are none.
    ShapeError
        If the weights differ from `a` in shape.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.histogram(fnp.asarray([1.0, 2.0, 2.5]), bins=2, range=(1.0, 3.0))
    (Array([1, 2], dtype=int64), Array([1., 2., 3.], dtype=float64))
    """
    values = _flat(a, "histogram", "a")
    w = None if weights is None else _flat(weights, "histogram", "weights")
    edges = _edges(values, bins, range, w, "histogram")
    counts = _counted(_bins_of(values, edges), shape_of(edges)[0] - 1, w, "histogram")
    if density:
        total = p.convert(Sum((0,))(counts), dtypes.canonical(dtypes.FLOAT64))
        counts = p.div(p.div(counts, _widths(edges)), total)
    return wrap(counts), wrap(edges)


def _widths(edges: Any) -> Any:
    count = shape_of(edges)[0]
    return p.sub(
        static_index(edges, (slice(1, count),)), static_index(edges, (slice(0, count - 1),))
    )


def histogram_bin_edges(
    a: ArrayLike, bins: Any = 10, range: Range = None, weights: ArrayLike | None = None
) -> Array:
    """The edges that `histogram` would use.

    Parameters
    ----------
    a : array_like
    bins, range, weights
        As in `histogram`.

    Returns
    -------
    Array
        One more than there are bins.

    Raises
    ------
    ArgumentError
        If edges do not increase.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.histogram_bin_edges(fnp.asarray([0.0, 4.0]), bins=2)
    Array([0., 2., 4.], dtype=float64)
    """
    values = _flat(a, "histogram_bin_edges", "a")
    edges: Array = wrap(_edges(values, bins, range, weights, "histogram_bin_edges"))
    return edges


# ---- several dimensions --------------------------------------------------------------------------


def histogramdd(
    sample: ArrayLike,
    bins: Any = 10,
    range: Sequence[Range] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """How many points lie in the boxes of a grid.

    Parameters
    ----------
    sample : array_like or sequence of array_like
        Points as the rows of an array, or a sequence of their coordinates.
    bins : int or sequence
        The number of bins, or for each dimension their number or their edges.
    range : sequence of tuples, optional
        The outer edges of each dimension, or None for the least and the greatest coordinate.
    weights : array_like, optional
        What each point counts, instead of 1.
    density : bool
        Whether to scale the counts so that their integral is 1.

    Returns
    -------
    tuple
        The counts, as float64, with one axis a dimension, and the list of the edges of each.
        Counts are differentiable in both modes towards the weights.

    Raises
    ------
    ArgumentError
        If `bins` or `range` do not have one entry for each dimension, or edges do not increase.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> points = fnp.asarray([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]])
    >>> fnp.histogramdd(points, bins=2)[0]
    Array([[1., 0.],
           [0., 2.]], dtype=float64)
    """
    counts, edges = _histogramdd("histogramdd", sample, bins, range, weights, density)
    return wrap(counts), list(map(wrap, edges))


def _histogramdd(
    name: str, sample: Any, bins: Any, range: Any, weights: Any, density: Any
) -> tuple[Any, list[Any]]:
    columns = _columns(sample, name)
    dimensions = len(columns)
    by_column = list(bins) if isinstance(bins, (list, tuple)) else [bins] * dimensions
    ranges = [None] * dimensions if range is None else list(range)
    for entries, what in ((by_column, "bins"), (ranges, "range")):
        if len(entries) != dimensions:
            raise ArgumentError(
                f"{name}: {what} has {len(entries)} entries for {dimensions} dimensions"
            )
    float64 = dtypes.canonical(dtypes.FLOAT64)
    edges = [
        _edges(column, each, limits, weights, name)
        for column, each, limits in zip(columns, by_column, ranges, strict=True)
    ]
    shape = tuple([shape_of(e)[0] - 1 for e in edges])
    total = math.prod(shape)
    box: Any = 0
    inside: Any = True
    for column, edge, count in zip(columns, edges, shape, strict=True):
        position = _bins_of(column, edge)
        inside = p.logical_and(inside, p.less(position, count))
        box = p.add(p.mul(box, count), position)
    w = None if weights is None else _flat(weights, name, "weights")
    counts = p.convert(_counted(p.select(inside, box, total), total, w, name), float64)
    counts = reshape(counts, shape)
    if density:
        whole = Sum(tuple(builtins.range(dimensions)))(counts)
        for axis, edge in enumerate(edges):
            widths = reshape(
                _widths(edge), (-1 + shape_of(edge)[0], *(1,) * (dimensions - axis - 1))
            )
            counts = p.div(counts, widths)
        counts = p.div(counts, whole)
    return counts, edges


def _columns(sample: Any, name: str) -> list[Any]:
    if isinstance(sample, (list, tuple)):
        return [_flat(column, name, "sample") for column in sample]
    points = operand(sample, name, "sample")
    if len(shape_of(points)) == 1:
        return [strong(points)]
    if len(shape_of(points)) != 2:
        raise ShapeError(
            f"{name}: sample has shape {shape_of(points)}, expected (points, dimensions)"
        )
    count = shape_of(points)[1]
    return [static_index(points, (slice(None), i)) for i in builtins.range(count)]


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Sequence[Range] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """How many points of the plane lie in the boxes of a grid.

    Parameters
    ----------
    x, y : array_like
        The coordinates.
    bins : int, array_like, or a pair of them
        The number of bins or their edges, for both coordinates or for each.
    range : pair of tuples, optional
        The outer edges of each coordinate.
    weights : array_like, optional
        What each point counts, instead of 1.
    density : bool
        Whether to scale the counts so that their integral is 1.

    Returns
    -------
    tuple of Array
        The counts, as float64, the edges in x, and the edges in y. Counts are differentiable in
        both modes towards the weights.

    Raises
    ------
    ShapeError
        If x and y differ in length.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> counts, _, _ = fnp.histogram2d([0.0, 1.0, 1.0], [0.0, 1.0, 0.9], bins=2)
    >>> counts
    Array([[1., 0.],
           [0., 2.]], dtype=float64)
    """
    pair = [_flat(v, "histogram2d", what) for v, what in ((x, "x"), (y, "y"))]
    if shape_of(pair[0]) != shape_of(pair[1]):
        raise ShapeError(
            f"histogram2d: x has {shape_of(pair[0])[0]} elements, y has {shape_of(pair[1])[0]}"
        )
    if not isinstance(bins, (list, tuple)) or len(bins) not in (1, 2):
        # Edges for both coordinates.
        bins = [bins, bins]
    counts, edges = _histogramdd(
        "histogram2d", [*map(wrap, pair)], list(bins) * (2 // len(bins)), range, weights, density
    )
    return wrap(counts), wrap(edges[0]), wrap(edges[1])
