"""The NumPy code below gathering and scattering: one normal form of an index, and loops over it.

The indexed axes of an array, where they are adjacent, are seen as one axis of size N between those
before and those after: an array ``[before, N, after]``. The index arrays, brought into bounds by
the mode, are then one flat array of positions along it, in the order of the index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from fgrad.avals import Shape
from fgrad.errors import IndexOutOfRangeError
from fgrad.source_info import here

Mode = Literal["raise", "promise_in_bounds", "clip", "wrap", "fill"]

#: What happens to an index outside of its axis, once negative ones have been counted from the end.
MODES: tuple[str, ...] = get_args(Mode)

# Rows of fewer elements in all are added one by one; from the second size on a sparse product pays.
_FLATTENED_ADDITION = 512
# Up to this many, finding flat positions costs more than it saves.
_FEW_UPDATES = 256
_SPARSE_ADDITION = 32_768
_SPARSE_DTYPES = "fdFD"


def refuses(mode: Mode) -> bool:
    """Whether an index out of range is an error."""
    return mode in ("raise", "promise_in_bounds")


def as_positions(index: Any) -> Any:
    """An index array as NumPy's own index type; no value comes into bounds by that."""
    index = np.asarray(index)
    if index.dtype == np.uint64:
        index = np.minimum(index, np.uint64(np.iinfo(np.intp).max))
    return index.astype(np.intp, copy=False)


def normal_index(index: Any, size: int, mode: Mode) -> tuple[Any, Any]:
    """Positions in bounds along one axis, and where the index was in range (None: everywhere)."""
    index = as_positions(index)
    if not index.size:
        return index, None
    if not size:
        return np.zeros_like(index), np.zeros(index.shape, bool)
    if mode == "wrap":
        return np.remainder(index, size), None
    low, high = index.min(), index.max()
    if low < 0:
        index = np.where(index < 0, index + size, index)
        low = index.min()
    if low >= 0 and high < size:
        return index, None
    if mode == "clip":
        return np.minimum(np.maximum(index, 0), size - 1), None
    in_range = (index >= 0) & (index < size)
    return np.where(in_range, index, 0), in_range


def normal_indices(
    indices: Sequence[Any], axes: Sequence[int], shape: Shape, mode: Mode
) -> tuple[list[Any], Any]:
    """The normal form of the index arrays of several axes.

    Raises
    ------
    IndexOutOfRangeError
        If an index is out of range and the mode is one that refuses it.
    """
    positions = []
    in_range = None
    for index, axis in zip(indices, axes, strict=True):
        position, ok = normal_index(index, shape[axis], mode)
        positions.append(position)
        if ok is not None:
            in_range = ok if in_range is None else in_range & ok
    if in_range is not None and refuses(mode):
        raise out_of_range(indices, axes, shape)
    return positions, in_range


def out_of_range(indices: Sequence[Any], axes: Sequence[int], shape: Shape) -> IndexOutOfRangeError:
    """The error for the first index that its axis does not have."""
    for index, axis in zip(indices, axes, strict=True):
        index, size = as_positions(index), shape[axis]
        outside = index[(index < -size) | (index >= size)]
        if outside.size:
            return IndexOutOfRangeError(
                f"index {outside.flat[0]} is out of range for axis {axis} with size {size}, in an array of "
                f"shape {tuple(shape)}, at {here()}; give a mode such as 'clip' or 'fill' where this is meant"
            )
    raise AssertionError("every index is in range")


def adjacent(axes: Sequence[int]) -> bool:
    """Whether the axes follow one another in order."""
    return all([axis == axes[0] + k for k, axis in enumerate(axes)])


def scalar_key(indices: Sequence[Any], axes: Sequence[int], shape: Shape, mode: Mode) -> Any:
    """The key of NumPy's basic indexing for scalar indices; None where there is no such element."""
    key: list[Any] = [slice(None)] * (max(axes) + 1)
    for index, axis in zip(indices, axes, strict=True):
        position, size = int(index), shape[axis]
        if mode == "wrap" and size:
            position %= size
        elif not -size <= position < size:
            if refuses(mode):
                raise out_of_range(indices, axes, shape)
            if mode == "fill" or not size:
                return None
            position = 0 if position < 0 else size - 1
        key[axis] = position
    return tuple(key)


def flat_positions(
    indices: Sequence[Any], axes: Sequence[int], shape: Shape, mode: Mode
) -> tuple[Any, Any]:
    """Positions along the indexed axes seen as one, in index order, and which are in range."""
    positions, in_range = normal_indices(indices, axes, shape, mode)
    flat = positions[0]
    if len(positions) == 1:
        return flat.ravel(), None if in_range is None else in_range.ravel()
    index_shape = np.broadcast_shapes(*[p.shape for p in positions])
    for position, axis in zip(positions[1:], axes[1:], strict=True):
        flat = flat * shape[axis] + position
    flat = np.broadcast_to(flat, index_shape).ravel()
    return flat, None if in_range is None else np.broadcast_to(in_range, index_shape).ravel()


def distinct_rounds(
    indices: Sequence[Any], axes: Sequence[int], shape: Shape, mode: Mode
) -> list[list[Any]]:
    """Index arrays without repetitions; the k-th has what the given ones select k times or more."""
    flat, kept = flat_positions(indices, axes, shape, mode)
    selected, counts = np.unique(flat if kept is None else flat[kept], return_counts=True)
    sizes = [shape[axis] for axis in axes]
    rounds = range(1, 1 + int(counts.max(initial=0)))
    return [list(np.unravel_index(selected[counts >= k], sizes)) for k in rounds]


def are_scalars(indices: Sequence[Any]) -> bool:
    """Whether the index is one position."""
    return not any([isinstance(index, np.ndarray) and index.ndim for index in indices])


def gather(
    x: Any, axes: tuple[int, ...], indices: Sequence[Any], mode: Mode, fill: Any, place: int
) -> Any:
    """The elements of `x` at an index, whose axes start at `place` among the others."""
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    if are_scalars(indices):
        key = scalar_key(indices, axes, x.shape, mode)
        return (
            np.full([x.shape[axis] for axis in rest], fill, x.dtype)[()] if key is None else x[key]
        )
    positions, in_range = normal_indices(indices, axes, x.shape, mode)
    shape = np.broadcast_shapes(*[p.shape for p in positions])
    if any([x.shape[axis] == 0 for axis in axes]):
        sizes = [x.shape[axis] for axis in rest]
        return np.full((*sizes[:place], *shape, *sizes[place:]), fill, x.dtype)
    if len(axes) == 1:
        answer = np.take(x, positions[0], axes[0])
        found_at = axes[0]
    else:
        answer = x.transpose(*axes, *rest)[tuple(positions)]
        found_at = 0
    if in_range is not None:
        outside = ~np.broadcast_to(in_range, shape)
        answer[(slice(None),) * found_at + (outside,)] = fill
    return placed(answer, found_at, place, len(shape))


def taken(x: Any, index: Any, axis: int) -> Any:
    """The elements at an index array along one axis of an array that has some."""
    try:
        if x.flags.c_contiguous:
            return x.take(index, axis)
        return x[(*(slice(None),) * axis, index)]
    except IndexError:
        raise out_of_range((index,), (axis,), x.shape) from None


def picked(x: Any, *indices: Any) -> Any:
    """The elements at an index into the first axes."""
    try:
        return x[indices]
    except IndexError:
        raise out_of_range(indices, range(len(indices)), x.shape) from None


def placed(x: Any, source: int, destination: int, count: int) -> Any:
    """A fresh array with `count` adjacent axes moved to where they belong."""
    moved = move_block(x, source, destination, count)
    # A view of memory that looks writable would be copied at the border.
    return moved if moved is x else np.array(moved, order="C")


def move_block(x: Any, source: int, destination: int, count: int) -> Any:
    """`x` with `count` adjacent axes moved so that they start at `destination` among the others."""
    if source == destination or not count:
        return x
    order = [axis for axis in range(x.ndim) if not source <= axis < source + count]
    order[destination:destination] = range(source, source + count)
    return x.transpose(order)


def scatter(
    kind: str,
    x: Any,
    updates: Any,
    axes: tuple[int, ...],
    indices: Sequence[Any],
    mode: Mode,
    place: int,
    fresh: bool = False,
) -> Any:
    """A copy of `x` with updates combined into it, in the order of the index.

    If `x` is fresh, it is changed itself where that is possible.
    """
    if are_scalars(indices):
        owner = x if fresh else np.array(x, order="C")
        key = scalar_key(indices, axes, x.shape, mode)
        if key is not None:
            owner[key] = updates if kind == "set" else _COMBINE[kind](owner[key], updates)
        return owner
    if refuses(mode) and not place and x.size and axes == tuple(range(len(axes))):
        one_axis = len(axes) == x.ndim == 1
        if updates.size <= _FEW_UPDATES or (one_axis and kind != "set"):
            # NumPy looks for positions out of range itself.
            return _native(kind, x if fresh else np.array(x, order="C"), updates, indices, one_axis)
    flat, kept = flat_positions(indices, axes, x.shape, mode)
    index_rank = max([np.ndim(index) for index in indices])
    if adjacent(axes):
        lead = axes[0]
        owner = x if fresh else np.array(x, order="C")
        whole = owner
    else:
        lead = 0
        rest = [axis for axis in range(x.ndim) if axis not in axes]
        owner = np.array(x.transpose(*axes, *rest), order="C")
        whole = owner.transpose(np.argsort([*axes, *rest]))
    if updates.size and owner.size:
        before = math.prod(owner.shape[:lead])
        after = math.prod(owner.shape[lead + len(axes) :])
        target = owner.reshape(before, -1, after)
        rows = move_block(updates, place, lead, index_rank).reshape(before, len(flat), after)
        if kept is not None:
            flat, rows = flat[kept], rows[:, kept]
        _combine(kind, target, flat, rows)
    if whole is not owner:
        # Its memory belongs to the result alone, and is frozen with it.
        owner.setflags(write=False)
        whole = owner.transpose(np.argsort([*axes, *rest]))
    return whole


def _native(kind: str, owner: Any, updates: Any, indices: Sequence[Any], one_axis: bool) -> Any:
    """Combine updates at an index into the first axes."""
    key: Any = tuple([as_positions(index) for index in indices])
    if one_axis:
        # One axis is what ufunc.at is fast for.
        (key,), updates = [key[0].reshape(-1)], updates.reshape(-1)
    try:
        if kind == "set":
            owner[key] = updates
        else:
            _COMBINE[kind].at(owner, key, updates)
    except IndexError:
        raise out_of_range(indices, range(len(indices)), owner.shape) from None
    return owner


_COMBINE = {
    "add": np.add,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def _combine(kind: str, target: Any, flat: Any, rows: Any) -> None:
    """Combine ``rows[before, K, after]`` into ``target[before, N, after]`` at K positions."""
    before, size, after = target.shape
    if kind == "set":
        if before == 1 and after == 1:
            target.reshape(size)[flat] = rows.reshape(-1)
        else:
            target[:, flat] = rows
        return
    if before > 1:
        flat = (np.arange(before)[:, np.newaxis] * size + flat).ravel()
    target = target.reshape(before * size, after)
    rows = rows.reshape(len(flat), after)
    is_sum = kind == "add" and target.dtype.char in _SPARSE_DTYPES
    if is_sum and after > 1 and rows.size >= _SPARSE_ADDITION:
        target += _sparse_sum(len(target), flat, rows)
        return
    ufunc = _COMBINE[kind]
    if after == 1 or rows.size >= _FLATTENED_ADDITION:
        # One axis is what ufunc.at is fast for.
        if after > 1:
            flat = (flat[:, np.newaxis] * after + np.arange(after)).ravel()
        ufunc.at(target.reshape(-1), flat, rows.reshape(-1))
    else:
        ufunc.at(target, flat, rows)


def _sparse_sum(size: int, flat: Any, rows: Any) -> Any:
    # As the product with a 0-1 matrix that has a column for each row to add.
    from scipy.sparse import csc_array

    ones = np.ones(len(flat), rows.dtype)
    selector = csc_array((ones, flat, np.arange(len(flat) + 1)), shape=(size, len(flat)))
    return selector @ rows


def products_of_others(rows: Any, groups: Any) -> Any:
    """For each of ``rows[K, *rest]``, the product of the other rows of its group."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    answer = np.ones(rows.shape, rows.dtype)
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return answer
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    longest = int(np.diff(np.append(starts, len(ordered))).max())
    values = rows[order]
    before = _running_products(values, ordered, longest)
    after = _running_products(values[::-1], ordered[::-1], longest)[::-1]
    answer[order] = before * after
    return answer


def _running_products(values: Any, groups: Any, longest: int) -> Any:
    """The products of the earlier values of each group of neighbours, in log2(longest) steps."""
    within = groups[1:] == groups[:-1]
    spread = (slice(None), *(np.newaxis,) * (values.ndim - 1))
    products = np.ones_like(values)
    products[1:] = np.where(within[spread], values[:-1], 1)
    step = 1
    while step < longest:
        within = groups[step:] == groups[:-step]
        factor = np.where(within[spread], products[:-step], 1)
        products[step:] = products[step:] * factor
        step *= 2
    return products
