"""Sums over axes of arrays by products with ones, which are several times faster than NumPy's reductions.

NumPy's reduction pays for each short row, and walks along columns one row at a time; a matrix-vector product
of BLAS does neither. Rows are cut into lengths that a product sums at least as accurately as NumPy's
pairwise sums, and products are kept small enough for BLAS to use one thread: the order of a sum
depends on the shape alone, and so do its bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_reduce: Callable[..., Any] = np.add.reduce
#: The longest row that one product sums.
LONGEST = 64
#: Matrices of fewer elements are multiplied by one thread.
ONE_THREAD = 9216
# Sums in parts pay for many rows only, and NumPy handles very long or wide ones as fast.
_MANY_ROWS, _LONGEST_IN_PARTS, _WIDEST = 256, 512, 128


class Way(NamedTuple):
    """How an array is summed: as a matrix of so many rows or columns of this length."""

    are_rows: bool
    how_many: int
    length: int
    kept: tuple[int, ...]
    #: Whether one product does it.
    at_once: bool


@functools.cache
def _most_ones(dtype: np.dtype[Any]) -> Any:
    made = np.ones(ONE_THREAD, dtype)
    made.setflags(write=False)
    return made


@functools.lru_cache(1024)
def ones(length: int, dtype: np.dtype[Any]) -> Any:
    """Fewer than `ONE_THREAD` ones, read-only, in memory that all of them share."""
    return _most_ones(dtype)[:length]


@functools.lru_cache(4096)
def way_to_sum(shape: tuple[int, ...], axes: tuple[int, ...]) -> Way | None:
    """How to sum float32 or float64 numbers over sorted axes by products; None where they gain nothing."""
    rank, number = len(shape), len(axes)
    if not number:
        return None
    if number == rank:
        size = math.prod(shape)
        return Way(True, 1, size, (), True) if rank == 1 and 0 < size <= LONGEST else None
    if axes[0] == rank - number and axes[-1] == rank - 1:
        kept = shape[: axes[0]]
        count, length = math.prod(kept), math.prod(shape[axes[0] :])
        if not count * length:
            return None
        short = length <= LONGEST
        in_parts = count >= _MANY_ROWS and length <= _LONGEST_IN_PARTS and _equal_part(length)
        if not (short or in_parts):
            return None
        return Way(True, count, length, kept, short and count * length < ONE_THREAD)
    if axes[0] == 0 and axes[-1] == number - 1:
        kept = shape[number:]
        count, length = math.prod(kept), math.prod(shape[:number])
        in_parts = length >= _MANY_ROWS and 1 < count <= _WIDEST
        # NumPy sums a single column pairwise.
        at_once = count * length < ONE_THREAD and (count > 1 or length <= LONGEST)
        if not count * length or not (at_once or in_parts):
            return None
        return Way(False, count, length, kept, at_once)
    return None


def _equal_part(length: int) -> int:
    """The longest equal part of a row that one product sums; 0 if all are short."""
    for parts in range(-(-length // LONGEST), length // 8 + 1):
        if length % parts == 0:
            return length // parts
    return 0


class _Plan(NamedTuple):
    way: Way
    #: What one product multiplies by.
    one: Any
    #: The shape of the result with the axes kept.
    stretched: tuple[int, ...]


@functools.lru_cache(4096)
def _plan(shape: tuple[int, ...], axis: Any, dtype: np.dtype[Any]) -> _Plan | None:
    """How to sum over the axes that are named; None where NumPy does, and says what is wrong."""
    rank = len(shape)
    named = range(rank) if axis is None else axis if type(axis) is tuple else (axis,)
    if not all([-rank <= a < rank for a in named]):
        return None
    axes = tuple(sorted({a % rank for a in named}))
    way = way_to_sum(shape, axes) if len(axes) == len(named) else None
    if way is None:
        return None
    stretched = tuple([1 if a in axes else n for a, n in enumerate(shape)])
    return _Plan(way, ones(way.length, dtype), stretched)


def summed(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """The sum of an array of float32 or float64 numbers over named axes, by products where these are faster."""
    plan = _plan(x.shape, axis, x.dtype)
    if plan is None or not x.flags.c_contiguous:
        return _reduce(x, axis, None, None, keepdims)
    (are_rows, count, length, kept, at_once), one, stretched = plan
    if at_once:
        if are_rows:
            if x.ndim > 2:
                x = x.reshape(count, length)
            sums = x.dot(one)
        else:
            sums = one.dot(x if x.ndim == 2 else x.reshape(length, count))
    else:
        matrix = x.reshape((count, length) if are_rows else (length, count))
        sums = _row_sums(matrix) if are_rows else _column_sums(matrix)
    if keepdims:
        return sums.reshape(stretched)
    return sums if len(kept) < 2 else sums.reshape(kept)


def sum_over_axis(x: Any, axis: Any, dtype: None, out: None, keepdims: bool) -> Any:
    """``np.add.reduce``, by products where these are faster."""
    if x.dtype.char in "fd" and x.ndim and (axis is None or type(axis) in (int, tuple)):
        return summed(x, axis, keepdims)
    return _reduce(x, axis, None, None, keepdims)


def _row_sums(matrix: Any) -> Any:
    count, length = matrix.shape
    if length > LONGEST:
        return _row_sums(_row_sums(matrix.reshape(-1, _equal_part(length))).reshape(count, -1))
    one = ones(length, matrix.dtype)
    share = (ONE_THREAD - 1) // length
    sums = np.empty(count, matrix.dtype)
    whole = count - count % share
    if whole:
        parts = matrix[:whole].reshape(-1, share, length)
        np.matmul(parts, one, out=sums[:whole].reshape(-1, share))
    if whole < count:
        np.dot(matrix[whole:], one, out=sums[whole:])
    return sums


def _column_sums(matrix: Any) -> Any:
    length, count = matrix.shape
    share = (ONE_THREAD - 1) // count
    if length <= share:
        return ones(length, matrix.dtype).dot(matrix)
    whole = length - length % share
    sums = np.empty((-(-length // share), count), matrix.dtype)
    parts = matrix[:whole].reshape(-1, share, count)
    np.matmul(ones(share, matrix.dtype), parts, out=sums[: whole // share])
    if whole < length:
        np.dot(ones(length - whole, matrix.dtype), matrix[whole:], out=sums[-1])
    return _column_sums(sums)
