"""Reversing, rotating and rolling arrays, and repeating their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._direct import called
from fgrad.numpy._support import (
    ArrayLike,
    normal_axes,
    normal_axis,
    operand,
    static_int,
    static_shape,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.cumulative import Cumsum
from fgrad.primitives.families import broadcast_to, reshape, shape_of, zeros_of
from fgrad.primitives.indexing import Gather
from fgrad.primitives.shape import Concatenate, iota, static_index, transpose
from fgrad.primitives.shape import flip as flipped
from fgrad.primitives.sorting import Searchsorted
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown


def taken(x: Any, positions: Any, axis: int) -> Any:
    """Elements of an inside value at positions in bounds along an axis."""
    return Gather((axis,), mode="promise_in_bounds", place=axis)(x, positions)


def along(axis: int, item: Any) -> tuple[Any, ...]:
    """A static index that takes `item` along one axis."""
    return (*(slice(None),) * axis, item)


def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Reverse the order of elements.

    Parameters
    ----------
    m : array_like
    axis : int or sequence of int, optional
        Along which axes; None means all of them.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.flip(fnp.arange(3))
    Array([2, 1, 0], dtype=int64)
    """
    if axis is None or type(axis) is int:
        answer = called(np.flip, m, axis)
        if answer is not None:
            return answer
    x = operand(m, "flip")
    rank = len(shape_of(x))
    axes = normal_axes(axis, rank, "flip")
    return wrap(flipped(x, axes) if rank else x)  # type: ignore[no-any-return]


def _flip_one(m: Any, axis: int, name: str) -> Any:
    x = operand(m, name)
    if len(shape_of(x)) <= axis:
        raise ShapeError(f"{name}: an array of shape {shape_of(x)} has no axis {axis}")
    return wrap(flipped(x, (axis,)))


def fliplr(m: ArrayLike) -> Array:
    """Reverse the order along axis 1.

    Parameters
    ----------
    m : array_like

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fliplr([[1, 2]])
    Array([[2, 1]], dtype=int64)
    """
    return _flip_one(m, 1, "fliplr")  # type: ignore[no-any-return]


def flipud(m: ArrayLike) -> Array:
    """Reverse the order along axis 0.

    Parameters
    ----------
    m : array_like

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.flipud([1, 2])
    Array([2, 1], dtype=int64)
    """
    return _flip_one(m, 0, "flipud")  # type: ignore[no-any-return]


def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """Rotate by quarter turns in the plane of two axes.

    Parameters
    ----------
    m : array_like
    k : int
        How many turns, from the first axis towards the second.
    axes : pair of int

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.rot90([[1, 2], [3, 4]])
    Array([[2, 4],
           [1, 3]], dtype=int64)
    """
    x = operand(m, "rot90")
    rank = len(shape_of(x))
    plane = [normal_axis(axis, rank, "rot90") for axis in axes]
    if len(plane) != 2 or plane[0] == plane[1]:
        raise AxisError(f"rot90: axes={tuple(axes)} do not span a plane; give two different axes")
    first, second = plane
    turns = static_int(k, "rot90: k") % 4
    if turns == 0:
        return wrap(x)  # type: ignore[no-any-return]
    if turns == 2:
        return wrap(flipped(x, plane))  # type: ignore[no-any-return]
    order = list(range(rank))
    order[first], order[second] = second, first
    if turns == 1:
        return wrap(transpose(flipped(x, (second,)), order))  # type: ignore[no-any-return]
    return wrap(flipped(transpose(x, order), (second,)))  # type: ignore[no-any-return]


def roll(a: ArrayLike, shift: Any, axis: int | Sequence[int] | None = None) -> Array:
    """Shift elements around the ends of axes.

    Parameters
    ----------
    a : array_like
    shift : int or sequence of int
        By how much; it may be traced.
    axis : int or sequence of int, optional
        Along which axes; None rolls all elements as one line.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.roll(fnp.arange(4), 1)
    Array([3, 0, 1, 2], dtype=int64)
    """
    if type(shift) is int and (axis is None or type(axis) is int):
        answer = called(np.roll, a, shift, axis)
        if answer is not None:
            return answer
    x = operand(a, "roll")
    shape = shape_of(x)
    shifts = shift if isinstance(shift, (tuple, list)) else _items(operand(shift, "roll"))
    if axis is None:
        x = reshape(x, (aval_of(x).size,))
        for one in shifts:
            x = rolled(x, one, 0)
        return wrap(reshape(x, shape))  # type: ignore[no-any-return]
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    if not axes or not shifts:
        return wrap(x)  # type: ignore[no-any-return]
    if len(shifts) != len(axes):
        if len(shifts) != 1 and len(axes) != 1:
            raise ShapeError(
                f"roll: {len(shifts)} shifts for {len(axes)} axes; give one shift per axis"
            )
        count = max(len(shifts), len(axes))
        shifts, axes = [*shifts] * (count // len(shifts)), axes * (count // len(axes))
    for one, position in zip(shifts, axes, strict=True):
        x = rolled(x, one, normal_axis(position, len(shape), "roll"))
    return wrap(x)  # type: ignore[no-any-return]


def _items(x: Any) -> list[Any]:
    shape = shape_of(x)
    if not shape:
        return [x]
    if len(shape) > 1:
        raise ShapeError(f"roll: shift has shape {shape}; give a number, or one for each axis")
    return [static_index(x, (i,)) for i in range(shape[0])]


def rolled(x: Any, shift: Any, axis: int) -> Any:
    """An inside value shifted around the end of one axis."""
    size = shape_of(x)[axis]
    shift = operand(shift, "roll")
    if not size:
        return x
    if isinstance(shift, Tracer) and concrete(shift) is None:
        positions = p.remainder(p.sub(iota(size), shift), size)
        return taken(x, positions, axis)
    offset = static_int(shift, "roll: shift") % size
    if not offset:
        return x
    head = static_index(x, along(axis, slice(0, size - offset)))
    tail = static_index(x, along(axis, slice(size - offset, size)))
    return Concatenate(axis)(tail, head)


# ---- repeating ---------------------------------------------------------------------------------


def tile(A: ArrayLike, reps: Any) -> Array:
    """Repeat a whole array along axes.

    Parameters
    ----------
    A : array_like
    reps : int or sequence of int
        How often along each of the last axes.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.tile(fnp.arange(2), (2, 2))
    Array([[0, 1, 0, 1],
           [0, 1, 0, 1]], dtype=int64)
    """
    x = operand(A, "tile")
    return wrap(tiled(x, static_shape(reps, "tile")))  # type: ignore[no-any-return]


def tiled(x: Any, reps: Sequence[int]) -> Any:
    """An inside value repeated as a whole along its last axes."""
    shape = shape_of(x)
    rank = max(len(shape), len(reps))
    sizes = (1,) * (rank - len(shape)) + shape
    counts = (1,) * (rank - len(reps)) + tuple(reps)
    if all(count == 1 for count in counts):
        return reshape(x, sizes)
    apart = tuple(n for size in sizes for n in (1, size))
    repeated = tuple(n for pair in zip(counts, sizes, strict=True) for n in pair)
    total = tuple(count * size for count, size in zip(counts, sizes, strict=True))
    return reshape(broadcast_to(reshape(x, apart), repeated), total)


def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Repeat each element.

    Parameters
    ----------
    a : array_like
    repeats : int or array_like of int
        How often, for all elements or for each one along the axis.
    axis : int, optional
        Along which axis; None repeats along one line of all elements.
    total_repeat_length : int, optional
        The size of the result along the axis, needed where `repeats` is unknown while tracing. What is
        beyond is cut; what is missing is filled with the last element.
    out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If there are not as many repeats as elements.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.repeat(fnp.arange(3), fnp.array([2, 0, 1]))
    Array([0, 0, 2], dtype=int64)
    """
    counted = type(repeats) is int and repeats >= 0 and total_repeat_length is None
    if counted and (axis is None or type(axis) is int):
        answer = called(np.ndarray.repeat, a, repeats, axis)
        if answer is not None:
            return answer
    x = operand(a, "repeat")
    if axis is None:
        x = reshape(x, (aval_of(x).size,))
    shape = shape_of(x)
    position = normal_axis(0 if axis is None else axis, len(shape), "repeat")
    size = shape[position]
    if type(repeats) is int and repeats >= 0 and total_repeat_length is None:
        return wrap(_repeated(x, repeats, position))  # type: ignore[no-any-return]
    counts = operand(repeats, "repeat")
    aval = aval_of(counts)
    if isinstance(repeats, (list, tuple)) and not repeats:
        # An empty list has no type of its own.
        counts, aval = p.convert(counts, dtypes.INT64), aval.with_dtype(dtypes.INT64)
    if dtypes.kind_of(aval.dtype) not in "iub":
        raise ArgumentError(f"repeat: repeats has dtype {aval.dtype}; give integers")
    if len(aval.shape) > 1 or (aval.shape and aval.shape[0] not in (1, size)):
        raise ShapeError(
            f"repeat: repeats has shape {aval.shape}, but axis {position} of shape {shape} has {size} "
            "elements; give one number, or one for each"
        )
    length = (
        None
        if total_repeat_length is None
        else static_int(total_repeat_length, "repeat: total_repeat_length")
    )
    known = concrete(counts)
    if known is not None and np.any(np.less(known, 0)):
        raise ArgumentError("repeat: a number of repeats is negative")
    if known is not None and aval.size == 1:
        return wrap(_fitted(_repeated(x, int(np.reshape(known, ())), position), length, position))  # type: ignore[no-any-return]
    if known is not None:
        positions = np.repeat(np.arange(size), known)
        if length is not None:
            missing = max(length - len(positions), 0)
            positions = np.append(positions, np.full(missing, size - 1))[:length]
        positions.setflags(write=False)
        return wrap(taken(x, positions, position))  # type: ignore[no-any-return]
    if length is None:
        raise ArgumentError(
            f"repeat: repeats must be known while tracing, but is {describe_unknown(counts)}; give "
            f"total_repeat_length, the size of the result ({here()})"
        )
    wide = p.convert(counts, dtypes.canonical(dtypes.INT64))
    ends = Cumsum(0)(broadcast_to(wide, (size,)))
    found = Searchsorted("right")(ends, iota(length))
    return wrap(taken(x, p.minimum(found, size - 1), position))  # type: ignore[no-any-return]


def _repeated(x: Any, count: int, axis: int) -> Any:
    shape = shape_of(x)
    apart = (*shape[: axis + 1], 1, *shape[axis + 1 :])
    repeated = (*shape[: axis + 1], count, *shape[axis + 1 :])
    total = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
    return reshape(broadcast_to(reshape(x, apart), repeated), total)


def _fitted(x: Any, length: int | None, axis: int) -> Any:
    """Cut or fill with the last element to a size along an axis."""
    size = shape_of(x)[axis]
    if length is None or length == size:
        return x
    if length < size:
        return static_index(x, along(axis, slice(0, length)))
    if not size:
        raise ShapeError("repeat: there is no last element to fill total_repeat_length with")
    last = static_index(x, along(axis, slice(size - 1, size)))
    return Concatenate(axis)(x, _repeated(last, length - size, axis))


def resize(a: ArrayLike, new_shape: Any) -> Array:
    """All elements, repeated as often as a shape needs.

    Parameters
    ----------
    a : array_like
    new_shape : int or sequence of int

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.resize(fnp.arange(3), (2, 2))
    Array([[0, 1],
           [2, 0]], dtype=int64)
    """
    x = operand(a, "resize")
    target = static_shape(new_shape, "resize")
    total, own = int(np.prod(target, dtype=np.int64)), aval_of(x).size
    line = reshape(x, (own,))
    if not total:
        return wrap(reshape(static_index(line, (slice(0, 0),)), target))  # type: ignore[no-any-return]
    if not own:
        return wrap(zeros_of(Aval(target, aval_of(x).dtype)))  # type: ignore[no-any-return]
    line = tiled(line, (-(-total // own),))
    return wrap(reshape(static_index(line, (slice(0, total),)), target))  # type: ignore[no-any-return]
