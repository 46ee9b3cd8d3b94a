"""Shapes, creation and joining under the names of ``jax.lax``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.avals import broadcast_shapes as _broadcast_shapes
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axis,
    shape_of,
    static_int,
    static_shape,
    stretched,
    wrap,
)
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import elementwise as p
from fgrad.primitives import shape as s
from fgrad.primitives.families import Full, broadcast_to
from fgrad.primitives.families import reshape as _reshape
from fgrad.primitives.promotion import common_dtype


def _axes(dimensions: Any, ndim: int, name: str) -> tuple[int, ...]:
    """Non-negative axes in the order given, each named once."""
    listed = dimensions if isinstance(dimensions, (tuple, list, np.ndarray)) else (dimensions,)
    axes = tuple(normal_axis(d, ndim, name) for d in listed)
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: {tuple(listed)} names an axis twice")
    return axes


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape of arrays that broadcast together.

    Parameters
    ----------
    *shapes : sequence of int

    Returns
    -------
    tuple of int

    Raises
    ------
    ShapeError
        If there is none.

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return _broadcast_shapes("broadcast_shapes", (), *[tuple(shape) for shape in shapes])


def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """The same elements in another shape.

    Parameters
    ----------
    operand : array_like
    new_sizes : sequence of int
    dimensions : sequence of int, optional
        An order of the axes in which elements are taken.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError
        If the numbers of elements differ.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.reshape(np.arange(4), (2, 2), dimensions=(0,)).shape
    (2, 2)
    """
    x = _operand(operand, "reshape")
    shape = static_shape(new_sizes, "reshape: new_sizes")
    if math.prod(shape) != math.prod(shape_of(x)):
        raise ShapeError(
            f"reshape: an array of shape {shape_of(x)} does not have the elements for shape {shape}"
        )
    if dimensions is not None:
        x = s.transpose(x, _axes(dimensions, len(shape_of(x)), "reshape: dimensions"))
    return wrap(s.reshape(x, shape))  # type: ignore[no-any-return]


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """The axes in another order.

    Parameters
    ----------
    operand : array_like
    permutation : sequence of int
        Which axis of the operand each axis of the result is.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    AxisError
        If `permutation` is not a permutation of all axes.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.transpose(np.zeros((2, 3)), (1, 0)).shape
    (3, 2)
    """
    x = _operand(operand, "transpose")
    ndim = len(shape_of(x))
    axes = _axes(permutation, ndim, "transpose")
    if len(axes) != ndim:
        raise AxisError(
            f"transpose: permutation {tuple(permutation)} has {len(axes)} entries for {ndim} axes"
        )
    return wrap(s.transpose(x, axes))  # type: ignore[no-any-return]


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Repeat along new leading axes.

    Parameters
    ----------
    operand : array_like
    sizes : sequence of int
        Of the new axes.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.broadcast(np.zeros(3), (2,)).shape
    (2, 3)
    """
    x = _operand(operand, "broadcast")
    return wrap(broadcast_to(x, (*static_shape(sizes, "broadcast: sizes"), *shape_of(x))))  # type: ignore[no-any-return]


def broadcast_in_dim(
    operand: ArrayLike,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Array:
    """Put the axes at given places of a shape and repeat along all others.

    Parameters
    ----------
    operand : array_like
    shape : sequence of int
        Of the result.
    broadcast_dimensions : sequence of int
        For each axis of the operand its place in the result, ascending. Axes of size one are
        stretched.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError, AxisError
        If places or sizes do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.broadcast_in_dim(np.arange(2), (2, 3), (0,)).shape
    (2, 3)
    """
    x = _operand(operand, "broadcast_in_dim")
    own, wanted = shape_of(x), static_shape(shape, "broadcast_in_dim: shape")
    places = _axes(
        tuple(broadcast_dimensions), len(wanted), "broadcast_in_dim: broadcast_dimensions"
    )
    if len(places) != len(own) or list(places) != sorted(places):
        raise AxisError(
            f"broadcast_in_dim: broadcast_dimensions {places} must give each of the {len(own)} axes its place, "
            "ascending"
        )
    for axis, place in enumerate(places):
        if own[axis] not in (1, wanted[place]):
            raise ShapeError(
                f"broadcast_in_dim: axis {axis} of the operand, of shape {own}, cannot become axis {place} of "
                f"shape {wanted}"
            )
    spread = [1] * len(wanted)
    for axis, place in enumerate(places):
        spread[place] = own[axis]
    return wrap(broadcast_to(s.reshape(x, tuple(spread)), wanted))  # type: ignore[no-any-return]


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Axes of size one at given places.

    Parameters
    ----------
    array : array_like
    dimensions : sequence of int
        Places in the result; negative ones count from its end.

    Returns
    -------
    Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.expand_dims(np.zeros(3), (0, -1)).shape
    (1, 3, 1)
    """
    x = _operand(array, "expand_dims")
    listed = tuple(dimensions) if isinstance(dimensions, (tuple, list)) else (dimensions,)
    return wrap(s.expand_dims(x, _axes(listed, len(shape_of(x)) + len(listed), "expand_dims")))  # type: ignore[no-any-return]


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Drop axes of size one.

    Parameters
    ----------
    array : array_like
    dimensions : sequence of int

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError
        If an axis has another size.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.squeeze(np.zeros((1, 3)), (0,)).shape
    (3,)
    """
    x = _operand(array, "squeeze")
    shape = shape_of(x)
    axes = _axes(dimensions, len(shape), "squeeze")
    for axis in axes:
        if shape[axis] != 1:
            raise ShapeError(f"squeeze: axis {axis} of shape {shape} has size {shape[axis]}, not 1")
    return wrap(s.reshape(x, tuple(n for axis, n in enumerate(shape) if axis not in axes)))  # type: ignore[no-any-return]


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merge neighbouring axes into one.

    Parameters
    ----------
    operand : array_like
    start_dimension, stop_dimension : int
        The first axis, and the one behind the last; None means the end.

    Returns
    -------
    Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.collapse(np.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    x = _operand(operand, "collapse")
    shape = shape_of(x)
    start, stop, _ = _slice_of(start_dimension, stop_dimension).indices(len(shape))
    merged = math.prod(shape[start:stop])
    return wrap(s.reshape(x, (*shape[:start], merged, *shape[stop:])))  # type: ignore[no-any-return]


def _slice_of(start: Any, stop: Any) -> Any:
    """A Python slice of static integers."""
    first = static_int(start, "collapse: start_dimension")
    return np.s_[first : None if stop is None else static_int(stop, "collapse: stop_dimension")]


# ---- creation ------------------------------------------------------------------------------------


def full(
    shape: int | Sequence[int],
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    *,
    sharding: Any = None,
) -> Array:
    """An array of one value.

    Parameters
    ----------
    shape : int or sequence of int
    fill_value : array_like
    dtype : dtype-like, optional
        That of the value by default.
    sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable towards `fill_value`.

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.full((2,), 7.0)
    Array([7., 7.], dtype=float64)
    """
    value = _operand(fill_value, "full")
    wanted = given_dtype(dtype, "full") or aval_of(value).dtype
    sizes = static_shape(shape, "full")
    if type(value) in (bool, int, float, complex):
        return wrap(Full(sizes, value, wanted)())  # type: ignore[no-any-return]
    return wrap(stretched(p.convert(value, wanted), sizes, "full"))  # type: ignore[no-any-return]


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Sequence[int] | None = None,
    sharding: Any = None,
) -> Array:
    """An array of one value, with the shape and dtype of another.

    Parameters
    ----------
    x : array_like, or anything with shape and dtype
    fill_value : array_like
    dtype : dtype-like, optional
    shape : sequence of int, optional
    sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable towards `fill_value`.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.full_like(np.zeros(2), 7)
    Array([7., 7.], dtype=float64)
    """
    own = x if hasattr(x, "shape") and hasattr(x, "dtype") else aval_of(_operand(x, "full_like"))
    return full(
        own.shape if shape is None else shape, fill_value, own.dtype if dtype is None else dtype
    )


def iota(dtype: DTypeLike, size: int) -> Array:
    """0, 1, 2 and so on.

    Parameters
    ----------
    dtype : dtype-like
    size : int

    Returns
    -------
    Array

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.iota("int32", 3)
    Array([0, 1, 2], dtype=int32)
    """
    return wrap(s.iota(static_int(size, "iota: size"), dtypes.as_dtype(dtype, "iota: dtype")))  # type: ignore[no-any-return]


def broadcasted_iota(
    dtype: DTypeLike, shape: Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Array:
    """Positions along one axis, repeated along all others.

    Parameters
    ----------
    dtype : dtype-like
    shape : sequence of int
    dimension : int
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.broadcasted_iota("int64", (2, 2), 0)
    Array([[0, 0],
           [1, 1]], dtype=int64)
    """
    sizes = static_shape(shape, "broadcasted_iota")
    axis = normal_axis(dimension, len(sizes), "broadcasted_iota")
    counts = s.iota(sizes[axis], dtypes.as_dtype(dtype, "broadcasted_iota: dtype"))
    line = tuple(n if i == axis else 1 for i, n in enumerate(sizes))
    return wrap(broadcast_to(s.reshape(counts, line), sizes))  # type: ignore[no-any-return]


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Change the dtype; from complex to real, the real part is taken.

    Parameters
    ----------
    operand : array_like
    new_dtype : dtype-like

    Returns
    -------
    Array
        Differentiable between floating dtypes.

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.convert_element_type(1.5, "int32")
    Array(1, dtype=int32)
    """
    wanted = dtypes.as_dtype(new_dtype, "convert_element_type: new_dtype")
    return wrap(p.convert(_operand(operand, "convert_element_type"), wanted))  # type: ignore[no-any-return]


# ---- joining and splitting -----------------------------------------------------------------------


def concatenate(operands: Sequence[ArrayLike], dimension: int) -> Array:
    """Join arrays along an axis.

    Parameters
    ----------
    operands : sequence of array_like
    dimension : int

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError, ArgumentError
        If shapes differ along other axes, or there is nothing to join.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.concatenate([np.zeros(1), np.ones(1)], 0)
    Array([0., 1.], dtype=float64)
    """
    xs = [_operand(x, "concatenate") for x in operands]
    if not xs:
        raise ArgumentError("concatenate: need at least one array")
    join = s.Concatenate(normal_axis(dimension, len(shape_of(xs[0])), "concatenate"))
    join.abstract_eval(*map(aval_of, xs))
    return wrap(join(*xs))  # type: ignore[no-any-return]


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Cut an array along an axis into pieces of given sizes.

    Parameters
    ----------
    operand : array_like
    sizes : sequence of int
        They add up to the size of the axis.
    axis : int

    Returns
    -------
    list of Array
        Differentiable.

    Raises
    ------
    ShapeError
        If the sizes do not add up.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> [piece.shape for piece in lax.split(np.zeros(5), (2, 3))]
    [(2,), (3,)]
    """
    x = _operand(operand, "split")
    position = normal_axis(axis, len(shape_of(x)), "split")
    counts = static_shape(sizes, "split: sizes")
    if sum(counts) != shape_of(x)[position]:
        raise ShapeError(
            f"split: sizes {counts} add up to {sum(counts)}, but axis {axis} has {shape_of(x)[position]}"
        )
    ends = np.cumsum((0, *counts)).tolist()
    whole = (np.s_[:],) * position
    return [
        wrap(s.static_index(x, (*whole, np.s_[start:stop])))
        for start, stop in itertools.pairwise(ends)
    ]


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeat a whole array along its axes.

    Parameters
    ----------
    operand : array_like
    reps : sequence of int
        One number for each axis.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ArgumentError
        If there is not one number for each axis.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.tile(np.arange(2), (2,))
    Array([0, 1, 0, 1], dtype=int64)
    """
    x = _operand(operand, "tile")
    shape, times = shape_of(x), static_shape(reps, "tile: reps")
    if len(times) != len(shape):
        raise ArgumentError(f"tile: reps has {len(times)} entries for {len(shape)} axes")
    paired = [n for pair in zip(times, shape, strict=True) for n in pair]
    spread = [n for size in shape for n in (1, size)]
    repeated = broadcast_to(s.reshape(x, tuple(spread)), tuple(paired))
    return wrap(s.reshape(repeated, tuple(r * n for r, n in zip(times, shape, strict=True))))  # type: ignore[no-any-return]


def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> Array:
    """Put a value around and between the elements.

    Parameters
    ----------
    operand : array_like
    padding_value : array_like
        A scalar.
    padding_config : sequence of (int, int, int)
        For each axis how much comes before, after and between the elements. Negative numbers before
        and after cut.

    Returns
    -------
    Array
        Differentiable towards both arrays.

    Raises
    ------
    ShapeError, ArgumentError
        If the value is not a scalar, or the configuration does not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.pad(np.ones(2), 0.0, [(1, 0, 1)])
    Array([0., 1., 0., 1.], dtype=float64)
    """
    x, value = _operand(operand, "pad"), _operand(padding_value, "pad", "padding_value")
    if shape_of(value):
        raise ShapeError(f"pad: padding_value has shape {shape_of(value)}; give a scalar")
    config = [
        tuple(static_int(n, "pad: padding_config") for n in entry) for entry in padding_config
    ]
    ndim = len(shape_of(x))
    if len(config) != ndim or any(len(entry) != 3 or entry[2] < 0 for entry in config):
        raise ArgumentError(
            f"pad: padding_config {config} must hold (low, high, interior >= 0) for each of {ndim} axes"
        )
    low, high, interior = (tuple(entry[i] for entry in config) for i in range(3))
    dtype = common_dtype([aval_of(x), aval_of(value)])
    padding = s.Pad(low, high, interior)
    padded = padding(p.convert(x, dtype))
    if type(value) in (bool, int, float) and value == 0:
        return wrap(padded)  # type: ignore[no-any-return]
    inside = padding(Full(shape_of(x), True, dtypes.BOOL)())
    return wrap(p.select(inside, padded, p.convert(value, dtype)))  # type: ignore[no-any-return]


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The elements in reverse order along axes.

    Parameters
    ----------
    operand : array_like
    dimensions : sequence of int

    Returns
    -------
    Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.rev(np.arange(3), (0,))
    Array([2, 1, 0], dtype=int64)
    """
    x = _operand(operand, "rev")
    return wrap(s.flip(x, _axes(dimensions, len(shape_of(x)), "rev")))  # type: ignore[no-any-return]


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """An array with axes of size one in front, until it has so many.

    Parameters
    ----------
    x : array_like
    rank : int
        An array with more axes stays as it is.

    Returns
    -------
    Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.broadcast_to_rank(np.ones(3), 2).shape
    (1, 3)
    """
    inside = _operand(x, "broadcast_to_rank")
    shape = shape_of(inside)
    missing = max(0, static_int(rank, "broadcast_to_rank: rank") - len(shape))
    return wrap(_reshape(inside, (*(1,) * missing, *shape)))  # type: ignore[no-any-return]


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """An array stretched to the shape of another one.

    Parameters
    ----------
    arr : array_like
    like_arr : array_like
        Only its shape counts.

    Returns
    -------
    Array
        Differentiable with respect to `arr`.

    Raises
    ------
    ShapeError
        If it cannot be stretched to that shape.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.broadcast_like(1.0, np.zeros(2))
    Array([1., 1.], dtype=float64)
    """
    name = "broadcast_like"
    wanted = shape_of(_operand(like_arr, name, "like_arr"))
    return wrap(stretched(_operand(arr, name, "arr"), wanted, name))  # type: ignore[no-any-return]


def empty(shape: Any, dtype: DTypeLike, *, out_sharding: Any = None) -> Array:
    """An array of zeros: there are no arrays without values.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype-like
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.empty((2,), float)
    Array([0., 0.], dtype=float64)
    """
    return full(shape, 0, dtype)


def dtype(x: Any) -> Any:
    """The dtype of an array, a number or a traced value; or the one that a dtype stands for.

    Parameters
    ----------
    x : array_like or dtype-like

    Returns
    -------
    dtype

    Raises
    ------
    DTypeError
        If it is neither.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.dtype(np.float32(1.0)), lax.dtype(2.0)
    (dtype('float32'), dtype('float64'))
    """
    if isinstance(x, (type, str, np.dtype)):
        return dtypes.as_dtype(x, "dtype")
    return aval_of(_operand(x, "dtype")).dtype


def shape_as_value(shape: Sequence[int]) -> Array:
    """A shape as an array of integers.

    Parameters
    ----------
    shape : sequence of int

    Returns
    -------
    Array of int32

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.shape_as_value((2, 3))
    Array([2, 3], dtype=int32)
    """
    sizes = np.array(static_shape(tuple(shape), "shape_as_value"), np.int32)
    return wrap(_operand(sizes, "shape_as_value"))  # type: ignore[no-any-return]
