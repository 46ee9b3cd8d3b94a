"""Reductions of the rows of an array by segments."""

from __future__ import annotations

import sys as _sys
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ConcretizationTypeError, DTypeError, ShapeError
from fgrad.errors import MissingNameError as _MissingNameError
from fgrad.numpy._support import ArrayLike, operand, static_int, strong
from fgrad.numpy.at import IndexRef
from fgrad.primitives.families import Full
from fgrad.primitives.reduction import Max
from fgrad.source_info import guard as _guard
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown, make_known

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def _segments(
    name: str,
    method: str,
    start: Any,
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: Any,
    unique_indices: bool,
    mode: Any,
) -> Array:
    x = strong(operand(data, name, "data"))
    ids = operand(segment_ids, name, "segment_ids")
    shape, found = aval_of(x).shape, aval_of(ids)
    if found.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: segment_ids have dtype {found.dtype}, expected integers; convert them with .astype(int)"
        )
    if not shape or found.shape != shape[:1]:
        raise ShapeError(
            f"{name}: segment_ids of shape {found.shape} do not fit data of shape {shape}; give one segment for "
            "each row, that is for each element of the first axis"
        )
    count = _count(name, ids) if num_segments is None else _given(name, num_segments)
    dtype = aval_of(x).dtype
    empty = wrap(Full((count, *shape[1:]), start(dtype), dtype)())
    reference = IndexRef(empty, wrap(ids))
    chosen = "drop" if mode is None else mode
    update = getattr(reference, method)
    return update(  # type: ignore[no-any-return]
        wrap(x), mode=chosen, unique_indices=unique_indices, wrap_negative_indices=False
    )


def _given(name: str, num_segments: Any) -> int:
    count = static_int(num_segments, f"{name}: num_segments")
    if count < 0:
        raise ArgumentError(f"{name}: num_segments is {count}; give a number of segments")
    return count


def _count(name: str, ids: Any) -> int:
    if not aval_of(ids).size:
        return 0
    largest = Max((0,))(ids)
    known = concrete(largest) if isinstance(largest, Tracer) else largest
    if known is None:
        raise ConcretizationTypeError(
            f"{name}: without num_segments, segment_ids must be known while tracing, but they are "
            f"{describe_unknown(ids)}; give num_segments, or {make_known(ids)} ({here()})"
        )
    return max(int(known) + 1, 0)


def _zero(dtype: np.dtype[Any]) -> Any:
    return False if dtype == dtypes.BOOL else 0


def _one(dtype: np.dtype[Any]) -> Any:
    return True if dtype == dtypes.BOOL else 1


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min)
    return False if dtype == dtypes.BOOL else -np.inf


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    return True if dtype == dtypes.BOOL else np.inf


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Array:
    """The sum of the rows of each segment; 0 for a segment without rows.

    Parameters
    ----------
    data : array_like
        Whose first axis is divided into segments.
    segment_ids : array_like of int
        One-dimensional, as long as that axis: the segment of each row, in any order. Rows of
        segments below 0 or from `num_segments` on are left out.
    num_segments : int, optional
        How many segments there are; by default one more than the largest of `segment_ids`, which
        then must be known.
    indices_are_sorted : bool
        Accepted; of no effect.
    unique_indices : bool
        A promise that no segment has two rows.
    bucket_size : int, optional
        Accepted; of no effect.
    mode : str, optional
        What happens to a segment out of range, as in ``x.at[...]``; by default it is left out.

    Returns
    -------
    Array
        Of shape ``(num_segments, *data.shape[1:])``. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If `segment_ids` is not as long as the first axis of `data`.
    DTypeError
        If `segment_ids` are not integers.
    ConcretizationTypeError
        If `num_segments` is not given and `segment_ids` are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.ops import segment_sum
    >>> segment_sum(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2)
    Array([3., 4.], dtype=float64)
    """
    return _segments(
        "segment_sum", "add", _zero, data, segment_ids, num_segments, unique_indices, mode
    )


def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Array:
    """The product of the rows of each segment; 1 for a segment without rows.

    Parameters
    ----------
    data : array_like
        Whose first axis is divided into segments.
    segment_ids : array_like of int
        One-dimensional, as long as that axis: the segment of each row, in any order. Rows of
        segments below 0 or from `num_segments` on are left out.
    num_segments : int, optional
        How many segments there are; by default one more than the largest of `segment_ids`, which
        then must be known.
    indices_are_sorted : bool
        Accepted; of no effect.
    unique_indices : bool
        A promise that no segment has two rows.
    bucket_size : int, optional
        Accepted; of no effect.
    mode : str, optional
        What happens to a segment out of range, as in ``x.at[...]``; by default it is left out.

    Returns
    -------
    Array
        Of shape ``(num_segments, *data.shape[1:])``. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If `segment_ids` is not as long as the first axis of `data`.
    DTypeError
        If `segment_ids` are not integers.
    ConcretizationTypeError
        If `num_segments` is not given and `segment_ids` are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.ops import segment_prod
    >>> segment_prod(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2)
    Array([2., 4.], dtype=float64)
    """
    return _segments(
        "segment_prod", "multiply", _one, data, segment_ids, num_segments, unique_indices, mode
    )


def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Array:
    """The largest row element of each segment; the least number for a segment without rows.

    Parameters
    ----------
    data : array_like
        Whose first axis is divided into segments.
    segment_ids : array_like of int
        One-dimensional, as long as that axis: the segment of each row, in any order. Rows of
        segments below 0 or from `num_segments` on are left out.
    num_segments : int, optional
        How many segments there are; by default one more than the largest of `segment_ids`, which
        then must be known.
    indices_are_sorted : bool
        Accepted; of no effect.
    unique_indices : bool
        A promise that no segment has two rows.
    bucket_size : int, optional
        Accepted; of no effect.
    mode : str, optional
        What happens to a segment out of range, as in ``x.at[...]``; by default it is left out.

    Returns
    -------
    Array
        Of shape ``(num_segments, *data.shape[1:])``. Differentiable in both modes; ties share
        the slope evenly.

    Raises
    ------
    ShapeError
        If `segment_ids` is not as long as the first axis of `data`.
    DTypeError
        If `segment_ids` are not integers.
    ConcretizationTypeError
        If `num_segments` is not given and `segment_ids` are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.ops import segment_max
    >>> segment_max(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2)
    Array([2., 4.], dtype=float64)
    """
    return _segments(
        "segment_max", "max", _lowest, data, segment_ids, num_segments, unique_indices, mode
    )


def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Array:
    """The smallest row element of each segment; the greatest number for a segment without rows.

    Parameters
    ----------
    data : array_like
        Whose first axis is divided into segments.
    segment_ids : array_like of int
        One-dimensional, as long as that axis: the segment of each row, in any order. Rows of
        segments below 0 or from `num_segments` on are left out.
    num_segments : int, optional
        How many segments there are; by default one more than the largest of `segment_ids`, which
        then must be known.
    indices_are_sorted : bool
        Accepted; of no effect.
    unique_indices : bool
        A promise that no segment has two rows.
    bucket_size : int, optional
        Accepted; of no effect.
    mode : str, optional
        What happens to a segment out of range, as in ``x.at[...]``; by default it is left out.

    Returns
    -------
    Array
        Of shape ``(num_segments, *data.shape[1:])``. Differentiable in both modes; ties share
        the slope evenly.

    Raises
    ------
    ShapeError
        If `segment_ids` is not as long as the first axis of `data`.
    DTypeError
        If `segment_ids` are not integers.
    ConcretizationTypeError
        If `num_segments` is not given and `segment_ids` are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.ops import segment_min
    >>> segment_min(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2)
    Array([1., 4.], dtype=float64)
    """
    return _segments(
        "segment_min", "min", _highest, data, segment_ids, num_segments, unique_indices, mode
    )


#: The functions that x.at[...] has taken the place of, and its methods.
_UPDATES = {
    "index_update": "set(values)",
    "index_add": "add(values)",
    "index_mul": "multiply(values)",
    "index_min": "min(values)",
    "index_max": "max(values)",
}


def __getattr__(name: str) -> Any:
    if name in _UPDATES:
        raise AttributeError(
            f"fgrad.ops.{name}(x, index, values) does not exist, as it no longer does in JAX; write "
            f"x.at[index].{_UPDATES[name]}"
        )
    if name == "index":
        raise AttributeError(
            "fgrad.ops.index[...] does not exist, as it no longer does in JAX; write the index itself, as in "
            "x.at[1:, 0].set(values)"
        )
    raise _MissingNameError(__name__, name)


_guard(_sys.modules[__name__])
