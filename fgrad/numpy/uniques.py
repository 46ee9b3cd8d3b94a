"""The different elements of arrays, in order."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fgrad import dtypes
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    dtype_of,
    normal_axis,
    operand,
    shape_of,
    static_int,
    strong,
    wrap,
)
from fgrad.numpy.searching import known_value
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Full, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.shape import iota, moveaxis
from fgrad.primitives.sorting import Unique, unique_rows
from fgrad.tracing import Tracer


def flattened(x: Any) -> Any:
    """An inside value as a strong one with one axis."""
    return reshape(strong(x), (math.prod(shape_of(x)),))


def fixed_size(size: Any, name: str) -> int | None:
    """The size of a result that a user asks for, if any."""
    return None if size is None else static_int(size, f"{name}: size")


def rows_at(rows: Any, indices: Any) -> Any:
    """Rows at positions that are in bounds."""
    return Gather((0,), "promise_in_bounds")(rows, indices)


class Different(NamedTuple):
    """The different rows of an array, their first positions, the inverse, and counts."""

    values: Any
    first: Any
    inverse: Any
    counts: Any


def different_rows(
    rows: Any, size: int | None, fill_value: Any, equal_nan: bool, name: str
) -> Different:
    """The different rows of an inside value, in order, filled up to `size`."""
    if size is None:
        known = known_value(rows, name, "give size=, the number of different elements to return")
        size = len(unique_rows(known, equal_nan)[0])
    first, inverse, counts, count = Unique(size, equal_nan)(rows)
    rest = shape_of(rows)[1:]
    dtype = dtype_of(rows)
    if not shape_of(rows)[0]:
        fill = 0 if fill_value is None else operand(fill_value, name, "fill_value")
        values = p.convert(p.add(Full((size, *rest), 0, dtype)(), fill), dtype)
        return Different(values, first, inverse, counts)
    values = rows_at(rows, first)
    if fill_value is not None:
        found = reshape(p.less(iota(size), count), (size, *(1,) * len(rest)))
        fill = operand(fill_value, name, "fill_value")
        values = p.convert(p.select(found, values, fill), dtype)
    return Different(values, first, inverse, counts)


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any:
    """The different elements of an array, in order.

    Parameters
    ----------
    ar : array_like
    return_index : bool
        Whether to return where each element comes first.
    return_inverse : bool
        Whether to return which of the results each element of `ar` is.
    return_counts : bool
        Whether to return how often each element occurs.
    axis : int, optional
        Compare what lies along this axis; None compares the elements of the flattened array.
    equal_nan : bool
        Whether all NaN count as one element.
    size : int, optional
        How many elements to return. Needed where `ar` is unknown while tracing: its number of
        different elements then is too. Fewer are filled up, more are cut off.
    fill_value : scalar, optional
        What to fill up with; the least element by default. The indices then repeat that of the
        least element, and the counts are 0.
    sorted : bool
        Accepted for compatibility: elements are always in order.

    Returns
    -------
    Array, or tuple of Array
        The elements, then what was asked for. The elements are differentiable in both modes: the
        derivative goes to the first of each.

    Raises
    ------
    NonConcreteBooleanIndexError
        If `ar` is unknown while tracing and there is no `size`.
    AxisError
        If `ar` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.unique(fnp.asarray([3, 1, 3]), return_counts=True)
    (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64))
    """
    x = operand(ar, "unique", "ar")
    shape = shape_of(x)
    flags = (return_index, return_inverse, return_counts)
    plain = size is None and not any(flags) and axis is None
    if plain and not isinstance(x, Tracer) and dtype_of(x) not in dtypes.NARROW:
        return wrap(np.unique(np.asarray(strong(x)), equal_nan=equal_nan))
    if axis is None:
        rows = flattened(x)
    else:
        position = normal_axis(axis, len(shape), "unique")
        rows = moveaxis(x, position, 0)
    found = different_rows(rows, fixed_size(size, "unique"), fill_value, equal_nan, "unique")
    values = found.values if axis is None else moveaxis(found.values, 0, position)
    inverse = reshape(found.inverse, shape) if axis is None else found.inverse
    extra = [v for v, flag in zip((found.first, inverse, found.counts), flags, strict=True) if flag]
    return tuple(map(wrap, (values, *extra))) if extra else wrap(values)


class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    inverse_indices: Array


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAllResult:
    """The different elements of an array, in order, with first indices, inverse and counts.

    Parameters
    ----------
    x : array_like
    size, fill_value
        As in `unique`.

    Returns
    -------
    UniqueAllResult
        A named tuple of ``values``, ``indices``, ``inverse_indices`` and ``counts``. Each NaN
        counts as an element of its own.

    Raises
    ------
    NonConcreteBooleanIndexError
        If `x` is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.unique_all(fnp.asarray([3, 1, 3])).counts
    Array([1, 2], dtype=int64)
    """
    return UniqueAllResult(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCountsResult:
    """The different elements of an array, in order, with how often each occurs.

    Parameters
    ----------
    x : array_like
    size, fill_value
        As in `unique`.

    Returns
    -------
    UniqueCountsResult
        A named tuple of ``values`` and ``counts``. Each NaN counts as an element of its own.

    Raises
    ------
    NonConcreteBooleanIndexError
        If `x` is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.unique_counts(fnp.asarray([3, 1, 3])).values
    Array([1, 3], dtype=int64)
    """
    return UniqueCountsResult(
        *unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverseResult:
    """The different elements of an array, in order, with which of them each element is.

    Parameters
    ----------
    x : array_like
    size, fill_value
        As in `unique`.

    Returns
    -------
    UniqueInverseResult
        A named tuple of ``values`` and ``inverse_indices``. Each NaN counts as an element of
        its own.

    Raises
    ------
    NonConcreteBooleanIndexError
        If `x` is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.unique_inverse(fnp.asarray([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int64)
    """
    return UniqueInverseResult(
        *unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The different elements of an array, in order.

    Parameters
    ----------
    x : array_like
    size, fill_value
        As in `unique`.

    Returns
    -------
    Array
        Each NaN counts as an element of its own.

    Raises
    ------
    NonConcreteBooleanIndexError
        If `x` is unknown while tracing and there is no `size`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.unique_values(fnp.asarray([3, 1, 3]))
    Array([1, 3], dtype=int64)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)  # type: ignore[no-any-return]
