"""Slices at fixed and at computed positions under the names of ``jax.lax``."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError, IndexOutOfRangeError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis, shape_of, static_int, static_shape, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.dynamic_blocks import BlockStart, DynamicSlice, DynamicUpdate
from fgrad.primitives.families import reshape
from fgrad.primitives.shape import static_index


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """A block of an array, between fixed positions.

    Parameters
    ----------
    operand : array_like
    start_indices, limit_indices : sequence of int
        For each axis the first position, and the one behind the last.
    strides : sequence of int, optional
        For each axis the step, 1 by default.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ArgumentError
        If there is not one number for each axis, or a step is not positive.
    IndexOutOfRangeError
        If a position is outside of the array.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.slice(np.arange(5), (1,), (5,), (2,))
    Array([1, 3], dtype=int64)
    """
    x = _operand(operand, "slice")
    shape = shape_of(x)
    starts, limits = (
        static_shape(start_indices, "slice: start_indices"),
        static_shape(limit_indices, "slice: limit_indices"),
    )
    steps = (1,) * len(shape) if strides is None else static_shape(strides, "slice: strides")
    if not len(starts) == len(limits) == len(steps) == len(shape) or 0 in steps:
        raise ArgumentError(
            f"slice: start_indices {starts}, limit_indices {limits} and strides {steps} must have one number "
            f"for each of {len(shape)} axes, the strides positive"
        )
    for start, limit, n in zip(starts, limits, shape, strict=True):
        if not start <= limit <= n:
            raise IndexOutOfRangeError(
                f"slice: start_indices {starts} and limit_indices {limits} do not lie in order within shape "
                f"{shape}"
            )
    return wrap(  # type: ignore[no-any-return]
        static_index(x, [builtins.slice(*item) for item in zip(starts, limits, steps, strict=True)])
    )


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """A part of an array along one axis, between fixed positions.

    Parameters
    ----------
    operand : array_like
    start_index, limit_index : int or None
        The first position, and the one behind the last; negative ones count from the end.
    stride : int
    axis : int

    Returns
    -------
    Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.slice_in_dim(np.arange(5), 1, -1)
    Array([1, 2, 3], dtype=int64)
    """
    x = _operand(operand, "slice_in_dim")
    position = normal_axis(axis, len(shape_of(x)), "slice_in_dim")
    step = static_int(stride, "slice_in_dim: stride")
    if step < 1:
        raise ArgumentError(f"slice_in_dim: stride is {step}; give a positive one")
    first, last = (
        None if i is None else static_int(i, "slice_in_dim") for i in (start_index, limit_index)
    )
    index = (*(builtins.slice(None),) * position, builtins.slice(first, last, step))
    return wrap(static_index(x, index))  # type: ignore[no-any-return]


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One position along an axis.

    Parameters
    ----------
    operand : array_like
    index : int
        Negative ones count from the end.
    axis : int
    keepdims : bool
        Whether the axis stays, with size one.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    IndexOutOfRangeError
        If the axis has not this position.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.index_in_dim(np.arange(3), -1)
    Array([2], dtype=int64)
    """
    x = _operand(operand, "index_in_dim")
    position = normal_axis(axis, len(shape_of(x)), "index_in_dim")
    size, place = shape_of(x)[position], static_int(index, "index_in_dim: index")
    if not -size <= place < size:
        raise IndexOutOfRangeError(
            f"index_in_dim: index {place} is out of range for axis {axis}, which has {size} elements"
        )
    place %= size
    item: Any = builtins.slice(place, place + 1) if keepdims else place
    return wrap(static_index(x, (*(builtins.slice(None),) * position, item)))  # type: ignore[no-any-return]


# ---- computed positions --------------------------------------------------------------------------


def _start(index: ArrayLike, size: int, length: int, name: str, from_end: bool) -> Any:
    """The first position of a block, moved so that the block lies inside of the axis."""
    start = _operand(index, name, "a start index")
    aval = aval_of(start)
    if aval.shape:
        raise ShapeError(
            f"{name}: a start index has shape {aval.shape}; give one scalar for each axis"
        )
    if aval.dtype.kind not in "iu":
        raise DTypeError(f"{name}: a start index has dtype {aval.dtype}, expected an integer")
    if type(start) is int:
        return max(0, min(start + size if start < 0 and from_end else start, size - length))
    return BlockStart(size, size - length, from_end)(start)


def _starts(
    indices: Any, shape: Sequence[int], sizes: Sequence[int], name: str, allow_negative: Any
) -> list[Any]:
    listed = [indices[i] for i in range(len(shape))] if hasattr(indices, "shape") else list(indices)
    if len(listed) != len(shape):
        raise ArgumentError(
            f"{name}: {len(listed)} start indices for {len(shape)} axes; give one for each"
        )
    allowed = (
        [allow_negative] * len(shape) if isinstance(allow_negative, bool) else list(allow_negative)
    )
    for n, size in zip(shape, sizes, strict=True):
        if size > n:
            raise ShapeError(
                f"{name}: a block of shape {tuple(sizes)} does not fit into shape {tuple(shape)}"
            )
    return [
        _start(i, n, size, name, from_end)
        for i, n, size, from_end in zip(listed, shape, sizes, allowed, strict=True)
    ]


def _block(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    shape = shape_of(x)
    known = [
        builtins.slice(start, start + size) if type(start) is int else builtins.slice(None)
        for start, size in zip(starts, sizes, strict=True)
    ]
    x = static_index(x, known)
    axes = [a for a, n in enumerate(shape) if type(starts[a]) is not int and sizes[a] != n]
    if not axes:
        return x
    return DynamicSlice(tuple(axes), tuple([sizes[a] for a in axes]))(x, *[starts[a] for a in axes])


def dynamic_slice(
    operand: ArrayLike,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: Any = True,
) -> Array:
    """A block of fixed shape at a computed position.

    Parameters
    ----------
    operand : array_like
    start_indices : sequence of int, or array of int
        The first position along each axis. A block that would stick out is moved inside.
    slice_sizes : sequence of int
        The shape of the block.
    allow_negative_indices : bool or sequence of bool
        Whether negative positions count from the end.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If there is not one integer for each axis, or the block is larger than the array.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.dynamic_slice(np.arange(5), (9,), (2,))
    Array([3, 4], dtype=int64)
    """
    x = _operand(operand, "dynamic_slice")
    sizes = static_shape(slice_sizes, "dynamic_slice: slice_sizes")
    if len(sizes) != len(shape_of(x)):
        raise ArgumentError(
            f"dynamic_slice: slice_sizes {sizes} must have one number for each of {len(shape_of(x))} axes"
        )
    starts = _starts(start_indices, shape_of(x), sizes, "dynamic_slice", allow_negative_indices)
    return wrap(_block(x, starts, sizes))  # type: ignore[no-any-return]


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """A part of fixed size along one axis, at a computed position.

    Parameters
    ----------
    operand : array_like
    start_index : array_like of int
        A scalar. A part that would stick out is moved inside.
    slice_size : int
    axis : int
    allow_negative_indices : bool
        Whether a negative position counts from the end.

    Returns
    -------
    Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.dynamic_slice_in_dim(np.arange(5), 1, 2)
    Array([1, 2], dtype=int64)
    """
    x = _operand(operand, "dynamic_slice_in_dim")
    shape = shape_of(x)
    position = normal_axis(axis, len(shape), "dynamic_slice_in_dim")
    sizes, indices = list(shape), [0] * len(shape)
    sizes[position] = static_int(slice_size, "dynamic_slice_in_dim: slice_size")
    indices[position] = start_index
    starts = _starts(indices, shape, sizes, "dynamic_slice_in_dim", allow_negative_indices)
    return wrap(_block(x, starts, sizes))  # type: ignore[no-any-return]


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """One computed position along an axis.

    Parameters
    ----------
    operand : array_like
    index : array_like of int
        A scalar; one out of range takes the nearest position.
    axis : int
    keepdims : bool
        Whether the axis stays, with size one.
    allow_negative_indices : bool
        Whether a negative position counts from the end.

    Returns
    -------
    Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.dynamic_index_in_dim(np.arange(3), 1, keepdims=False)
    Array(1, dtype=int64)
    """
    part = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    if keepdims:
        return part
    x = _operand(part, "dynamic_index_in_dim")
    shape = shape_of(x)
    position = normal_axis(axis, len(shape), "dynamic_index_in_dim")
    return wrap(reshape(x, (*shape[:position], *shape[position + 1 :])))  # type: ignore[no-any-return]


def dynamic_update_slice(
    operand: ArrayLike, update: ArrayLike, start_indices: Any, *, allow_negative_indices: Any = True
) -> Array:
    """An array with a block at a computed position replaced.

    Parameters
    ----------
    operand : array_like
    update : array_like
        The block, with as many axes as the operand.
    start_indices : sequence of int, or array of int
        Its first position along each axis. A block that would stick out is moved inside.
    allow_negative_indices : bool or sequence of bool
        Whether negative positions count from the end.

    Returns
    -------
    Array
        Differentiable towards both arrays.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If dtypes differ, there is not one integer for each axis, or the block is larger than the
        array.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.dynamic_update_slice(np.zeros(4), np.ones(2), (1,))
    Array([0., 1., 1., 0.], dtype=float64)
    """
    return _updated(operand, update, start_indices, "dynamic_update_slice", allow_negative_indices)


def _updated(
    operand: Any, update: Any, start_indices: Any, name: str, allow_negative: Any
) -> Array:
    x, block = _operand(operand, name), _operand(update, name, "update")
    shape, sizes = shape_of(x), shape_of(block)
    if len(sizes) != len(shape):
        raise ShapeError(
            f"{name}: the update has shape {sizes}, the array {shape}; give it as many axes"
        )
    own, given = aval_of(x), aval_of(block)
    if given.dtype != own.dtype and not given.weak:
        raise DTypeError(
            f"{name}: the update has dtype {given.dtype}, the array {own.dtype}; convert one"
        )
    starts = _starts(start_indices, shape, sizes, name, allow_negative)
    block = p.convert(block, own.dtype)
    partial = [axis for axis, n in enumerate(shape) if sizes[axis] != n]
    if not partial:
        return wrap(block)  # type: ignore[no-any-return]
    put = DynamicUpdate(tuple(partial))
    return wrap(put(x, block, *[starts[axis] for axis in partial]))  # type: ignore[no-any-return]


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """An array with a part along one axis, at a computed position, replaced.

    Parameters
    ----------
    operand : array_like
    update : array_like
        The part; its sizes along the other axes are those of the operand, or less.
    start_index : array_like of int
        A scalar. A part that would stick out is moved inside.
    axis : int
    allow_negative_indices : bool
        Whether a negative position counts from the end.

    Returns
    -------
    Array
        Differentiable towards both arrays.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.dynamic_update_slice_in_dim(np.zeros(3), np.ones(1), 1, 0)
    Array([0., 1., 0.], dtype=float64)
    """
    name = "dynamic_update_slice_in_dim"
    ndim = len(shape_of(_operand(operand, name)))
    indices: list[Any] = [0] * ndim
    indices[normal_axis(axis, ndim, name)] = start_index
    return _updated(operand, update, indices, name, allow_negative_indices)


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """An array with one computed position along an axis replaced.

    Parameters
    ----------
    operand : array_like
    update : array_like
        With the axis at size one, or without it.
    index : array_like of int
        A scalar; one out of range takes the nearest position.
    axis : int
    allow_negative_indices : bool
        Whether a negative position counts from the end.

    Returns
    -------
    Array
        Differentiable towards both arrays.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.dynamic_update_index_in_dim(np.zeros(3), 1.0, 1, 0)
    Array([0., 1., 0.], dtype=float64)
    """
    name = "dynamic_update_index_in_dim"
    block = _operand(update, name, "update")
    ndim = len(shape_of(_operand(operand, name)))
    position = normal_axis(axis, ndim, name)
    shape = shape_of(block)
    if len(shape) == ndim - 1:
        block = reshape(
            p.convert(block, aval_of(block).dtype), (*shape[:position], 1, *shape[position:])
        )
    return dynamic_update_slice_in_dim(
        operand, wrap(block), index, axis, allow_negative_indices=allow_negative_indices
    )
