"""What the reductions share: axes, masks, initial values and counts, on inside values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError
from fgrad.numpy._support import dtype_of, normal_axes, normal_axis, operand, shape_of, stretched
from fgrad.numpy.ufuncs import chosen
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Sum, broadcast_to, reshape
from fgrad.primitives.reduction import Argmax, Max, keep_axes, kept_shape, refuse_empty

Axis = int | Sequence[int] | None


def over_axes(
    primitive: Callable[[tuple[int, ...]], Any], x: Any, axis: Any, keepdims: bool, name: str
) -> Any:
    """`x` reduced over the axes that a user names."""
    shape = shape_of(x)
    if axis is None or type(axis) is int:
        axes, reduction = _known_reduction(primitive, axis, len(shape), name)
    else:
        axes = normal_axes(axis, len(shape), name)
        reduction = primitive(axes)
    answer = reduction(x)
    return keep_axes(answer, axes, shape) if keepdims else answer


@functools.lru_cache(1024)
def _known_reduction(
    primitive: Callable[[tuple[int, ...]], Any], axis: int | None, rank: int, name: str
) -> tuple[tuple[int, ...], Any]:
    """Normal axes and the reduction over them, made once: that costs as much as NumPy takes to run it."""
    axes = normal_axes(axis, rank, name)
    return axes, primitive(axes)


def masked(x: Any, where: Any, fill: Any, name: str) -> Any:
    """`x` with `fill` wherever the mask that a user gave is false."""
    if where is None or where is True:
        return x
    return chosen(mask_of(x, where, name), x, fill)


def mask_of(x: Any, where: Any, name: str) -> Any:
    """The mask that a user gave, of the shape of `x`."""
    mask = stretched(operand(where, name, "where"), shape_of(x), f"{name}: where=")
    return mask if dtype_of(mask) == dtypes.BOOL else p.not_equal(mask, 0)


def count_of(x: Any, axes: tuple[int, ...], where: Any, name: str) -> Any:
    """How many elements each reduction of `x` over `axes` counts."""
    if where is None or where is True:
        shape = shape_of(x)
        if len(axes) == len(shape):
            return math.prod(shape)
        return math.prod([shape[axis] for axis in axes])
    return Sum(axes)(mask_of(x, where, name))


def in_dtype(x: Any, dtype: np.dtype[Any] | None) -> Any:
    """`x` in a dtype, if one is given."""
    return x if dtype is None else p.convert(x, dtype)


def extremum(
    primitive: Callable[[tuple[int, ...]], Any],
    combine: Callable[[Any, Any], Any],
    name: str,
    x: Any,
    axis: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    """`max` or `min` of an inside value."""
    if initial is None:
        if where is not None and where is not True:
            raise ArgumentError(
                f"{name}: where= may leave out all elements; give initial= too, the result then"
            )
        shape = shape_of(x)
        if 0 in shape:
            refuse_empty(name, shape, normal_axes(axis, len(shape), name), Max.fix)
        return over_axes(primitive, x, axis, keepdims, name)
    aval = aval_of(x)
    start = p.convert(operand(initial, name, "initial"), aval.dtype, aval.weak)
    x = masked(x, where, start, name)
    axes = normal_axes(axis, len(aval.shape), name)
    if 0 in [aval.shape[axis] for axis in axes]:
        answer = broadcast_to(p.convert(start, aval.dtype), kept_shape(aval.shape, axes))
    else:
        answer = combine(primitive(axes)(x), start)
    return keep_axes(answer, axes, aval.shape) if keepdims else answer


def place(
    primitive: Callable[[int], Any], x: Any, axis: Any, keepdims: bool | None, name: str
) -> Any:
    """`argmax` or `argmin` of an inside value."""
    shape = shape_of(x)
    if 0 in shape:
        axes = normal_axes(axis, len(shape), name)
        refuse_empty(name, shape, axes, Argmax.fix)
    if axis is None or not shape:
        if axis is not None and axis not in (0, -1):
            normal_axis(axis, 0, name)
        answer = _known_place(primitive, 0)(reshape(x, (math.prod(shape),)))
        return reshape(answer, (1,) * len(shape)) if keepdims else answer
    position = normal_axis(axis, len(shape), name)
    answer = _known_place(primitive, position)(x)
    return keep_axes(answer, (position,), shape) if keepdims else answer


@functools.lru_cache(256)
def _known_place(primitive: Callable[[int], Any], axis: int) -> Any:
    return primitive(axis)
