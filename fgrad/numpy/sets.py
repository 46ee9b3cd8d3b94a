"""Arrays as sets: membership, unions, intersections and differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.avals import aval_of
from fgrad.numpy._support import Array, ArrayLike, dtype_of, operand, shape_of, strong, wrap
from fgrad.numpy.searching import true_positions
from fgrad.numpy.uniques import different_rows, fixed_size, flattened, rows_at
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Full
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, iota, static_index
from fgrad.primitives.sorting import Argsort, Searchsorted, Sort, Unique

# ---- membership ------------------------------------------------------------------------------


def _is_member(x: Any, members: Any) -> Any:
    """Whether each element of `x` equals one of `members`, a flat array."""
    shape = shape_of(x)
    count = shape_of(members)[0]
    if not count:
        return Full(shape, False, np.dtype(np.bool_))()
    dtype = common_dtype([aval_of(x).strong(), aval_of(members)])
    # Membership is piecewise constant: derivatives need not be sorted along.
    x, members = [p.stop_gradient(p.convert(v, dtype)) for v in (x, members)]
    ordered = Sort(0)(members)
    place = p.minimum(Searchsorted("left")(ordered, x), count - 1)
    return p.equal(rows_at(ordered, place), x)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
    method: str = "auto",
) -> Array:
    """Whether each element of one array occurs in another.

    Parameters
    ----------
    element : array_like
    test_elements : array_like
        The set, of any shape.
    assume_unique, kind, method
        Accepted for compatibility.
    invert : bool
        Whether to answer the opposite.

    Returns
    -------
    Array of bool
        Of the shape of `element`. NaN equals nothing.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.isin(fnp.asarray([1, 2, 3]), fnp.asarray([2, 3]))
    Array([False,  True,  True], dtype=bool)
    """
    x = strong(operand(element, "isin", "element"))
    found = _is_member(x, flattened(operand(test_elements, "isin", "test_elements")))
    return wrap(p.logical_not(found) if invert else found)  # type: ignore[no-any-return]


# ---- two sets ------------------------------------------------------------------------------


def _two(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    """Two flat arrays of one dtype."""
    pair = [flattened(operand(ar, name, what)) for ar, what in ((ar1, "ar1"), (ar2, "ar2"))]
    dtype = common_dtype([aval_of(x) for x in pair])
    return p.convert(pair[0], dtype), p.convert(pair[1], dtype)


def _selected(
    values: Any, mask: Any, size: Any, fill_value: Any, name: str
) -> tuple[Any, Any, Any]:
    """The values where a mask holds, filled up to a size; their positions; which are not fill."""
    positions, found = true_positions(mask, fixed_size(size, name), name)
    if not shape_of(values)[0]:
        return Full(shape_of(positions), 0, dtype_of(values))(), positions, found
    chosen = rows_at(values, positions)
    if fill_value is None:
        least = static_index(chosen, (slice(0, 1),)) if shape_of(chosen)[0] else chosen
        return p.select(found, chosen, least), positions, found
    fill = operand(fill_value, name, "fill_value")
    chosen = p.convert(p.select(found, chosen, fill), dtype_of(values))
    return chosen, positions, found


def _as_set(x: Any) -> tuple[Any, Any, Any]:
    """The different elements of a flat array, filled up; which are not; where each comes first."""
    size = shape_of(x)[0]
    first, _, _, count = Unique(size)(x)
    return (rows_at(x, first) if size else x), p.less(iota(size), count), first


def union1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The different elements of two arrays together, in order.

    Parameters
    ----------
    ar1, ar2 : array_like
    size : int, optional
        How many elements to return; needed where an array is unknown while tracing.
    fill_value : scalar, optional
        What to fill up with; the least element by default.

    Returns
    -------
    Array
        One-dimensional.

    Raises
    ------
    NonConcreteBooleanIndexError
        If an array is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.union1d(fnp.asarray([1, 2]), fnp.asarray([2, 3]))
    Array([1, 2, 3], dtype=int64)
    """
    both = Concatenate(0)(*_two("union1d", ar1, ar2))
    found = different_rows(both, fixed_size(size, "union1d"), fill_value, True, "union1d")
    return wrap(found.values)  # type: ignore[no-any-return]


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """The different elements that occur in both of two arrays, in order.

    Parameters
    ----------
    ar1, ar2 : array_like
    assume_unique : bool
        Accepted for compatibility.
    return_indices : bool
        Whether to return where the elements come first in each array.
    size : int, optional
        How many elements to return; needed where an array is unknown while tracing.
    fill_value : scalar, optional
        What to fill up with; the least element by default.

    Returns
    -------
    Array, or tuple of Array
        One-dimensional; with `return_indices`, the indices in `ar1` and in `ar2` too.

    Raises
    ------
    NonConcreteBooleanIndexError
        If an array is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.intersect1d(fnp.asarray([1, 2, 3]), fnp.asarray([3, 2]))
    Array([2, 3], dtype=int64)
    """
    left, right = _two("intersect1d", ar1, ar2)
    values, real, first = _as_set(left)
    mask = p.logical_and(real, _is_member(values, right))
    common, positions, found = _selected(values, mask, size, fill_value, "intersect1d")
    if not return_indices:
        return wrap(common)
    counts = [shape_of(x)[0] for x in (left, right)]
    if 0 in counts:
        return wrap(common), *[wrap(p.add(positions, n)) for n in counts]
    order = Argsort(0)(right)
    rank = Searchsorted("left")(
        p.stop_gradient(rows_at(right, order)), p.stop_gradient(rows_at(values, positions))
    )
    places = rows_at(first, positions), rows_at(order, p.minimum(rank, counts[1] - 1))
    return wrap(common), *[
        wrap(p.select(found, place, n)) for place, n in zip(places, counts, strict=True)
    ]


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The different elements of one array that do not occur in another, in order.

    Parameters
    ----------
    ar1, ar2 : array_like
    assume_unique : bool
        Whether to take the elements of `ar1` as they come, neither ordered nor made different.
    size : int, optional
        How many elements to return; needed where an array is unknown while tracing.
    fill_value : scalar, optional
        What to fill up with; 0 by default.

    Returns
    -------
    Array
        One-dimensional, of the dtype of `ar1`.

    Raises
    ------
    NonConcreteBooleanIndexError
        If an array is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.setdiff1d(fnp.asarray([1, 2, 3]), fnp.asarray([2]))
    Array([1, 3], dtype=int64)
    """
    left, right = [flattened(operand(ar, "setdiff1d", "an argument")) for ar in (ar1, ar2)]
    mask = p.logical_not(_is_member(left, right))
    if not assume_unique:
        left, real, _ = _as_set(left)
        mask = p.logical_and(real, p.logical_not(_is_member(left, right)))
    fill = 0 if fill_value is None else fill_value
    return wrap(_selected(left, mask, size, fill, "setdiff1d")[0])  # type: ignore[no-any-return]


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The different elements that occur in exactly one of two arrays, in order.

    Parameters
    ----------
    ar1, ar2 : array_like
    assume_unique : bool
        Accepted for compatibility.
    size : int, optional
        How many elements to return; needed where an array is unknown while tracing.
    fill_value : scalar, optional
        What to fill up with; the least element by default.

    Returns
    -------
    Array
        One-dimensional.

    Raises
    ------
    NonConcreteBooleanIndexError
        If an array is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.setxor1d(fnp.asarray([1, 2]), fnp.asarray([2, 3]))
    Array([1, 3], dtype=int64)
    """
    left, right = _two("setxor1d", ar1, ar2)
    values, real, _ = _as_set(Concatenate(0)(left, right))
    in_one = p.logical_not(p.logical_and(_is_member(values, left), _is_member(values, right)))
    mask = p.logical_and(real, in_one)
    return wrap(_selected(values, mask, size, fill_value, "setxor1d")[0])  # type: ignore[no-any-return]
