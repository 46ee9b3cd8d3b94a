"""Shapes and axes: reshaping and permuting."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.array import Array, wrap
from fgrad.avals import Shape
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._direct import called, reshaped_array
from fgrad.numpy._support import (
    ArrayLike,
    normal_axes,
    normal_axis,
    operand,
    shape_of,
    static_int,
)
from fgrad.primitives import shape as primitives
from fgrad.primitives.families import reshape as reshaped


def inferred_shape(shape: Any, size: int, own: Shape, name: str) -> Shape:
    """A shape given by the user, with the one size written as -1 worked out."""
    if type(shape) is tuple:
        known = 1
        for n in shape:
            if type(n) is not int or n < 0:
                break
            known *= n
        else:
            if known == size:
                return shape
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = [n if type(n) is int else static_int(n, f"{name}: a size in shape") for n in items]
    known = 1
    unknown = None
    for place, n in enumerate(sizes):
        if n >= 0:
            known *= n
        elif n == -1 and unknown is None:
            unknown = place
        else:
            why = "two sizes are -1" if n == -1 else f"{n} is negative"
            raise ShapeError(
                f"{name}: shape {tuple(sizes)} is not allowed: {why}; at most one size may be -1"
            )
    if unknown is not None and known and size % known == 0:
        sizes[unknown] = size // known
        return tuple(sizes)
    if unknown is not None or known != size:
        raise ShapeError(
            f"{name}: an array of shape {own}, which has {size} element{'s' * (size != 1)}, cannot take shape "
            f"{tuple(sizes)}"
        )
    return tuple(sizes)


def _order(order: Any, name: str) -> bool:
    """Whether elements are read with the first axis fastest."""
    if order == "C" or order in ("c", None):
        return False
    if order in ("F", "f"):
        return True
    raise ArgumentError(
        f"{name}: order={order!r} depends on how an array lies in memory, which traced arrays do not have; "
        "give 'C' or 'F'"
    )


def _reversed_axes(x: Any) -> Any:
    rank = len(shape_of(x))
    return primitives.permuted(_reversed_order(rank))(x) if rank > 1 else x


@functools.lru_cache
def _reversed_order(rank: int) -> tuple[int, ...]:
    return tuple(range(rank - 1, -1, -1))


def reshape(
    a: ArrayLike,
    shape: Any,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Array:
    """The same elements in another shape.

    Parameters
    ----------
    a : array_like
    shape : int or sequence of int
        One size may be -1, which stands for what is left.
    order : {'C', 'F'}
        Whether the last or the first axis runs fastest.
    copy, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the sizes do not give the same number of elements.
    ArgumentError
        If `order` is neither, as where the sizes are given as arguments of their own.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.reshape(fnp.arange(4), (2, -1))
    Array([[0, 1],
           [2, 3]], dtype=int64)
    """
    if type(shape) is int:
        shape = (shape,)
    if type(shape) is tuple and order == "C":
        answer = reshaped_array(a, shape)
        if answer is not None:
            return answer
    if order != "C" and not isinstance(order, str):
        raise ArgumentError(
            f"reshape: order is {order!r}, expected 'C' or 'F'; give the shape as one tuple, as in "
            "reshape(x, (2, 3))"
        )
    x = operand(a, "reshape")
    own = shape_of(x)
    new_shape = inferred_shape(shape, math.prod(own), own, "reshape")
    if order != "C" and _order(order, "reshape"):
        return wrap(_reversed_axes(reshaped(_reversed_axes(x), new_shape[::-1])))  # type: ignore[no-any-return]
    return wrap(reshaped(x, new_shape))  # type: ignore[no-any-return]


def ravel(a: ArrayLike, order: str = "C", *, out_sharding: Any = None) -> Array:
    """All elements along one axis.

    Parameters
    ----------
    a : array_like
    order : {'C', 'F'}
        Whether the last or the first axis runs fastest.
    out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.ravel([[1, 2], [3, 4]])
    Array([1, 2, 3, 4], dtype=int64)
    """
    x = operand(a, "ravel")
    if order != "C" and _order(order, "ravel"):
        x = _reversed_axes(x)
    return wrap(reshaped(x, (math.prod(shape_of(x)),)))  # type: ignore[no-any-return]


# ---- axes --------------------------------------------------------------------------------------


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Permute the axes.

    Parameters
    ----------
    a : array_like
    axes : sequence of int, optional
        The axis of `a` that each axis of the result is; None reverses them.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    AxisError
        If `axes` is not a permutation of the axes of `a`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.transpose(fnp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    if axes is None:
        answer = called(np.ndarray.transpose, a)
        if answer is not None:
            return answer
    x = operand(a, "transpose")
    if axes is None:
        return wrap(_reversed_axes(x))  # type: ignore[no-any-return]
    return wrap(_permuted(x, axes, "transpose"))  # type: ignore[no-any-return]


def _permuted(x: Any, axes: Any, name: str) -> Any:
    rank = len(shape_of(x))
    order = tuple(normal_axis(axis, rank, name) for axis in _listed(axes))
    if sorted(order) != list(range(rank)):
        raise AxisError(
            f"{name}: axes {tuple(_listed(axes))} are not a permutation of the {rank} axes of an array of "
            f"shape {shape_of(x)}"
        )
    return primitives.transpose(x, order)


def _listed(axes: Any) -> Sequence[Any]:
    if isinstance(axes, (tuple, list, range)):
        return axes
    return tuple(axes.tolist()) if isinstance(axes, np.ndarray) and axes.ndim else (axes,)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """Permute the axes, as `transpose`.

    Parameters
    ----------
    a : array_like
    axes : sequence of int
        The axis of `a` that each axis of the result is.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.permute_dims(fnp.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return wrap(_permuted(operand(a, "permute_dims"), axes, "permute_dims"))  # type: ignore[no-any-return]


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Exchange the last two axes.

    Parameters
    ----------
    x : array_like
        With at least two axes.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.matrix_transpose(fnp.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    inside = operand(x, "matrix_transpose")
    rank = len(shape_of(inside))
    if rank < 2:
        raise ShapeError(
            f"matrix_transpose: an array of shape {shape_of(inside)} is no matrix; it needs two axes"
        )
    return wrap(_swapped(inside, rank - 2, rank - 1))  # type: ignore[no-any-return]


def _swapped(x: Any, first: int, second: int) -> Any:
    if first == second:
        return x
    order = list(range(len(shape_of(x))))
    order[first], order[second] = second, first
    return primitives.permuted(tuple(order))(x)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Exchange two axes.

    Parameters
    ----------
    a : array_like
    axis1, axis2 : int

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.swapaxes(fnp.ones((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    x = operand(a, "swapaxes")
    rank = len(shape_of(x))
    first, second = normal_axis(axis1, rank, "swapaxes"), normal_axis(axis2, rank, "swapaxes")
    return wrap(_swapped(x, first, second))  # type: ignore[no-any-return]


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Move axes to other positions; the others keep their order.

    Parameters
    ----------
    a : array_like
    source, destination : int or sequence of int
        Where axes are, and where each goes.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.moveaxis(fnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = operand(a, "moveaxis")
    rank = len(shape_of(x))
    sources = _distinct(source, rank, "source")
    destinations = _distinct(destination, rank, "destination")
    if len(sources) != len(destinations):
        raise AxisError(
            f"moveaxis: source {source} and destination {destination} have different numbers of axes"
        )
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return wrap(primitives.transpose(x, order))  # type: ignore[no-any-return]


def _distinct(axes: Any, rank: int, what: str) -> list[int]:
    found = [normal_axis(axis, rank, "moveaxis") for axis in _listed(axes)]
    if len(set(found)) != len(found):
        raise AxisError(f"moveaxis: {what} {axes} names an axis twice")
    return found


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move an axis to before another one.

    Parameters
    ----------
    a : array_like
    axis : int
        The axis to move.
    start : int
        The axis before which it comes; the number of axes stands for the end.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.rollaxis(fnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = operand(a, "rollaxis")
    rank = len(shape_of(x))
    source = normal_axis(axis, rank, "rollaxis")
    before = static_int(start, "rollaxis: start")
    if not -rank <= before <= rank:
        raise AxisError(f"rollaxis: start {before} is out of range for an array with {rank} axes")
    before += rank if before < 0 else 0
    return wrap(primitives.moveaxis(x, source, before - (source < before)))  # type: ignore[no-any-return]


def expand_dims(a: ArrayLike, axis: int | Sequence[int] = 0) -> Array:
    """Insert axes of size one.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int
        Their positions in the result.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.expand_dims(fnp.ones(3), (0, -1)).shape
    (1, 3, 1)
    """
    x = operand(a, "expand_dims")
    if type(axis) is int:
        own = shape_of(x)
        place = normal_axis(axis, len(own) + 1, "expand_dims")
        return wrap(reshaped(x, (*own[:place], 1, *own[place:])))  # type: ignore[no-any-return]
    rank = len(shape_of(x)) + len(_listed(axis))
    return wrap(primitives.expand_dims(x, normal_axes(tuple(_listed(axis)), rank, "expand_dims")))  # type: ignore[no-any-return]


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Remove axes of size one.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        Which ones; None means all of them.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If a given axis does not have size one.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.squeeze(fnp.ones((1, 3, 1))).shape
    (3,)
    """
    x = operand(a, "squeeze")
    shape = shape_of(x)
    if axis is None:
        return wrap(reshaped(x, tuple([n for n in shape if n != 1])))  # type: ignore[no-any-return]
    axes = normal_axes(tuple(_listed(axis)), len(shape), "squeeze")
    for position in axes:
        if shape[position] != 1:
            raise ShapeError(
                f"squeeze: axis {position} of shape {shape} has size {shape[position]}, not 1"
            )
    return wrap(reshaped(x, tuple(n for i, n in enumerate(shape) if i not in axes)))  # type: ignore[no-any-return]
