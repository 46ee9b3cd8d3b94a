"""Finding elements: in sorted arrays, and those that are not zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import plain
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, NonConcreteBooleanIndexError, ShapeError
from fgrad.numpy._direct import called
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
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Full, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.shape import Concatenate, expand_dims, flip, iota, static_index
from fgrad.primitives.sorting import Nonzero, Searchsorted
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown

# ---- sorted arrays ------------------------------------------------------------------------------


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str | None = None,
) -> Array:
    """Where to insert values into a sorted array so that it stays sorted.

    Parameters
    ----------
    a : array_like
        One-dimensional and sorted, or with the `sorter` that sorts it.
    v : array_like
        The values.
    side : {"left", "right"}
        Before or behind elements that are equal.
    sorter : array_like of int, optional
        The indices that sort `a`.
    method : str, optional
        Accepted for compatibility.

    Returns
    -------
    Array of int64
        Of the shape of `v`. Its derivative is zero wherever it exists.

    Raises
    ------
    ShapeError
        If `a` is not one-dimensional.
    ArgumentError
        If `side` is another word.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.searchsorted(fnp.asarray([1.0, 2.0, 3.0]), fnp.asarray([0.5, 2.0]))
    Array([0, 1], dtype=int64)
    """
    if sorter is None and (type(v) is Array or type(v) is float or type(v) is int):
        answer = called(np.ndarray.searchsorted, a, plain(v) if type(v) is Array else v, side)
        if answer is not None:
            return answer
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side={side!r}; give 'left' or 'right'")
    ordered, values = operand(a, "searchsorted", "a"), strong(operand(v, "searchsorted", "v"))
    if len(shape_of(ordered)) != 1:
        raise ShapeError(f"searchsorted: a has shape {shape_of(ordered)}, expected one axis")
    if sorter is not None:
        ordered = Gather((0,))(ordered, operand(sorter, "searchsorted", "sorter"))
    return wrap(Searchsorted("left" if side == "left" else "right")(ordered, values))  # type: ignore[no-any-return]


def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """The bins that values fall into.

    Parameters
    ----------
    x : array_like
    bins : array_like
        The edges, one-dimensional, increasing or decreasing.
    right : bool
        Whether the right edge of an interval belongs to it, instead of the left one.
    method : str, optional
        Accepted for compatibility.

    Returns
    -------
    Array of int64
        0 before the first edge, and the number of edges behind the last. Its derivative is zero
        wherever it exists.

    Raises
    ------
    ShapeError
        If `bins` is not one-dimensional.
    ArgumentError
        If known `bins` neither increase nor decrease.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.digitize(fnp.asarray([0.5, 1.0, 7.0]), fnp.asarray([0.0, 1.0, 2.0]))
    Array([1, 2, 3], dtype=int64)
    """
    values, edges = strong(operand(x, "digitize", "x")), operand(bins, "digitize", "bins")
    if len(shape_of(edges)) != 1:
        raise ShapeError(f"digitize: bins has shape {shape_of(edges)}, expected one axis")
    search = Searchsorted("left" if right else "right")
    count = shape_of(edges)[0]
    rising = search(edges, values)
    if count < 2:
        return wrap(rising)  # type: ignore[no-any-return]
    known = concrete(edges)
    if known is not None:
        steps = np.diff(known)
        if (steps >= 0).all():
            return wrap(rising)  # type: ignore[no-any-return]
        if not (steps <= 0).all():
            raise ArgumentError(
                "digitize: bins must increase or decrease throughout; sort them first"
            )
    falling = p.sub(count, search(flip(edges, (0,)), values))
    increases = p.less_equal(static_index(edges, (0,)), static_index(edges, (count - 1,)))
    return wrap(p.select(increases, rising, falling))  # type: ignore[no-any-return]


# ---- nonzero -------------------------------------------------------------------------------------


def known_value(x: Any, name: str, fix: str) -> Any:
    """The NumPy value of an inside value on which the shape of a result depends.

    Raises
    ------
    NonConcreteBooleanIndexError
        If it is unknown while tracing.
    """
    known = concrete(x) if isinstance(x, Tracer) else x
    if known is None:
        raise NonConcreteBooleanIndexError(
            f"{name}: the shape of the result depends on {describe_unknown(x)}; {fix} ({here()})"
        )
    return known


def true_positions(mask: Any, size: int | None, name: str) -> tuple[Any, Any]:
    """Positions of true elements in a flat mask, followed by 0 up to `size`, and which ones are."""
    if size is None:
        known = known_value(mask, name, "give size=, the number of elements to return")
        size = int(np.count_nonzero(known))
    positions, count = Nonzero(size)(mask)
    found = p.less(iota(size), count)
    return p.select(found, positions, 0), found


def _nonzero(a: Any, size: Any, fill_value: Any, name: str) -> list[Any]:
    """The indices of nonzero elements, by axis."""
    x = operand(a, name, "a")
    shape = shape_of(x)
    flat = reshape(p.not_equal(x, 0), (math.prod(shape),))
    wanted = None if size is None else static_int(size, f"{name}: size")
    positions, found = true_positions(flat, wanted, name)
    fills = fill_value if isinstance(fill_value, (tuple, list)) else [fill_value] * len(shape)
    if len(fills) != len(shape):
        raise ArgumentError(
            f"{name}: fill_value has {len(fills)} entries for {len(shape)} axes; give one each"
        )
    indices = []
    stride = math.prod(shape)
    for n, fill in zip(shape, fills, strict=True):
        stride //= max(n, 1)
        index = p.remainder(p.floor_divide(positions, max(stride, 1)), max(n, 1))
        start = 0 if fill is None else operand(fill, name, "fill_value")
        indices.append(p.convert(p.select(found, index, start), dtype_of(index)))
    return indices


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The indices of the elements that are not zero.

    Parameters
    ----------
    a : array_like
        With one axis or more.
    size : int, optional
        How many indices to return. Needed where `a` is unknown while tracing: its number of nonzero
        elements then is too. Fewer are filled up, more are cut off.
    fill_value : scalar or tuple of scalars, optional
        The indices to fill up with, for all axes or for each; 0 by default.

    Returns
    -------
    tuple of Array of int64
        One array of indices for each axis of `a`.

    Raises
    ------
    ShapeError
        If `a` is a scalar.
    NonConcreteBooleanIndexError
        If `a` is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.nonzero(fnp.asarray([0.0, 5.0, 7.0]))
    (Array([1, 2], dtype=int64),)
    """
    if not aval_of(operand(a, "nonzero", "a")).shape:
        raise ShapeError("nonzero: a scalar has no axes; use fnp.atleast_1d first")
    return tuple(map(wrap, _nonzero(a, size, fill_value, "nonzero")))


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The indices, in the flattened array, of the elements that are not zero.

    Parameters
    ----------
    a : array_like
    size, fill_value
        As in `nonzero`.

    Returns
    -------
    Array of int64

    Raises
    ------
    NonConcreteBooleanIndexError
        If `a` is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.flatnonzero(fnp.asarray([[0, 5], [7, 0]]))
    Array([1, 2], dtype=int64)
    """
    x = operand(a, "flatnonzero", "a")
    flat = reshape(strong(x), (math.prod(shape_of(x)),))
    return wrap(_nonzero(wrap(flat), size, fill_value, "flatnonzero")[0])  # type: ignore[no-any-return]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The indices of the elements that are not zero, one row for each.

    Parameters
    ----------
    a : array_like
    size, fill_value
        As in `nonzero`.

    Returns
    -------
    Array of int64
        Of shape (number of elements found, number of axes).

    Raises
    ------
    NonConcreteBooleanIndexError
        If `a` is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.argwhere(fnp.asarray([[0, 5], [7, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int64)
    """
    x = operand(a, "argwhere", "a")
    if not shape_of(x):
        rows = flatnonzero(wrap(x), size=size, fill_value=0)
        return wrap(Full((len(rows), 0), 0, dtypes.canonical(dtypes.INT64))())  # type: ignore[no-any-return]
    columns = [expand_dims(i, (1,)) for i in _nonzero(wrap(x), size, fill_value, "argwhere")]
    return wrap(Concatenate(1)(*columns))  # type: ignore[no-any-return]
