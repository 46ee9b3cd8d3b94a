"""Putting elements into arrays, and leaving some out."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, IndexOutOfRangeError, IndexTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axes, normal_axis, operand, stretched
from fgrad.numpy.reordering import along, taken
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import reshape, shape_of
from fgrad.primitives.shape import Concatenate, iota, moveaxis, static_index
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown


def _line(arr: Any, axis: Any, name: str) -> tuple[Any, int]:
    """An array with the axis to work along; None stands for one line of all elements."""
    x = operand(arr, name)
    if axis is None:
        return reshape(x, (aval_of(x).size,)), 0
    return x, normal_axis(axis, len(shape_of(x)), name)


def _known_positions(obj: Any, size: int, name: str) -> Any:
    """Positions given by an integer, a slice, a mask or a list of integers."""
    if isinstance(obj, slice):
        return np.arange(size)[obj]
    inside = operand(obj, name, "obj")
    known = concrete(inside)
    if known is None:
        raise ArgumentError(
            f"{name}: obj must be known while tracing, but is {describe_unknown(inside)}; the shape of the result "
            f"depends on it ({here()})"
        )
    found = np.asarray(known)
    if found.dtype == bool:
        if found.shape != (size,):
            raise ShapeError(f"{name}: a mask of shape {found.shape} does not fit {size} elements")
        return np.flatnonzero(found)
    if not found.size:
        return found.astype(np.intp).reshape(-1)
    if dtypes.kind_of(found.dtype) not in "iu":
        raise IndexTypeError(
            f"{name}: obj has dtype {found.dtype}; give integers, a mask or a slice"
        )
    return found.astype(np.int64) if found.dtype in dtypes.NARROW else found


def delete(
    arr: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """Leave elements out.

    Parameters
    ----------
    arr : array_like
    obj : int, slice, mask or sequence of int
        Which ones; it must be known while tracing, but for a single integer.
    axis : int, optional
        Along which axis; None leaves out of one line of all elements.
    assume_unique_indices : bool
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    IndexOutOfRangeError
        If a known position is out of range.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.delete(fnp.arange(4), [0, 2])
    Array([1, 3], dtype=int64)
    """
    x, position = _line(arr, axis, "delete")
    size = shape_of(x)[position]
    if _is_unknown_integer(obj):
        where = operand(obj, "delete")
        start = p.select(p.less(where, 0), p.add(where, size), where)
        counts = iota(max(size - 1, 0))
        step = p.convert(p.greater_equal(counts, start), aval_of(counts).dtype)
        return wrap(taken(x, p.add(counts, step), position))  # type: ignore[no-any-return]
    found = _known_positions(obj, size, "delete")
    _check_bounds(found, size, position, "delete")
    keep = np.ones(size, bool)
    keep[found] = False
    return wrap(_kept(x, keep, position))  # type: ignore[no-any-return]


def _is_unknown_integer(obj: Any) -> bool:
    return (
        isinstance(obj, Tracer)
        and not obj.shape
        and obj.dtype.kind in "iu"
        and concrete(obj) is None
    )


def _check_bounds(found: Any, size: int, axis: int, name: str) -> None:
    outside = found[(found < -size) | (found >= size)] if found.ndim else found
    if np.size(outside) and (found.ndim or not -size <= int(found) < size):
        position = int(np.ravel(outside)[0])
        raise IndexOutOfRangeError(
            f"{name}: position {position} is out of range for axis {axis} with size {size}"
        )


def _kept(x: Any, keep: Any, axis: int) -> Any:
    """The elements under a known mask; runs of them are slices, which copy faster than single ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]])))
    runs = edges.reshape(-1, 2)
    if len(runs) > 8:
        positions = np.flatnonzero(keep)
        positions.setflags(write=False)
        return taken(x, positions, axis)
    pieces = [static_index(x, along(axis, slice(int(i), int(j)))) for i, j in runs]
    if not pieces:
        return static_index(x, along(axis, slice(0, 0)))
    return Concatenate(axis)(*pieces) if len(pieces) > 1 else pieces[0]


def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Array:
    """Put elements in before given positions.

    Parameters
    ----------
    arr : array_like
    obj : int, slice, mask or sequence of int
        Before which positions of `arr`; it must be known while tracing.
    values : array_like
        Converted to the dtype of `arr`, and broadcast.
    axis : int, optional
        Along which axis; None puts into one line of all elements.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    IndexOutOfRangeError
        If a position is out of range.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.insert(fnp.arange(3), 1, 9)
    Array([0, 9, 1, 2], dtype=int64)
    """
    x, axis = _line(arr, axis, "insert")
    shape = shape_of(x)
    size = shape[axis]
    found = _known_positions(obj, size, "insert")
    outside = (found < -size) | (found > size)
    if np.any(outside):
        position = int(np.ravel(found[outside])[0]) if found.ndim else int(found)
        raise IndexOutOfRangeError(
            f"insert: position {position} is out of range for axis {axis} with size {size}"
        )
    new = p.convert(operand(values, "insert"), aval_of(x).dtype)
    if found.size == 1:
        # At one place, the values may have any number of rows along the axis.
        place = int(found.reshape(()))
        place += size if place < 0 else 0
        rank = len(shape)
        own = shape_of(new)
        new = reshape(new, (1,) * (rank - len(own)) + own) if len(own) < rank else new
        if not found.ndim:
            # One integer takes the values along the axis from their first axis, as in arr[obj] = values.
            new = moveaxis(new, 0, axis)
        rows = shape_of(new)[axis]
        new = stretched(new, (*shape[:axis], rows, *shape[axis + 1 :]), "insert")
        head = static_index(x, along(axis, slice(0, place)))
        tail = static_index(x, along(axis, slice(place, size)))
        return wrap(Concatenate(axis)(head, new, tail))  # type: ignore[no-any-return]
    positions = np.where(found < 0, found + size, found).astype(np.intp)
    new = stretched(new, (*shape[:axis], len(positions), *shape[axis + 1 :]), "insert")
    order = np.argsort(positions, kind="stable")
    places = positions[order] + np.arange(len(order))
    source = np.full(size + len(order), -1, np.intp)
    source[places] = size + order
    source[source < 0] = np.arange(size)
    source.setflags(write=False)
    return wrap(taken(Concatenate(axis)(x, new), source, axis))  # type: ignore[no-any-return]


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Any = None) -> Array:
    """Leave out the zeros at the ends.

    Parameters
    ----------
    filt : array_like
        Of known value: the shape of the result depends on it.
    trim : str
        'f' for the front, 'b' for the back, or both.
    axis : int or sequence of int, optional
        Along which axes; None means all of them.

    Returns
    -------
    Array
        The smallest box that holds all other elements. Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.trim_zeros([0, 1, 0, 2, 0])
    Array([1, 0, 2], dtype=int64)
    """
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ArgumentError(f"trim_zeros: trim is {trim!r}; give 'f', 'b' or 'fb'")
    x = operand(filt, "trim_zeros")
    known = concrete(x)
    if known is None:
        raise ArgumentError(
            f"trim_zeros: the values must be known while tracing, but are {describe_unknown(x)}; the shape of the "
            f"result depends on them ({here()})"
        )
    shape = shape_of(x)
    axes = normal_axes(axis, len(shape), "trim_zeros")
    index = [slice(0, size) for size in shape]
    for position, found in enumerate(np.nonzero(np.atleast_1d(known))):
        if position in axes:
            first = int(found.min()) if len(found) and "f" in sides else 0
            last = int(found.max()) + 1 if len(found) and "b" in sides else shape[position]
            index[position] = slice(first, last) if len(found) else slice(0, 0)
    return wrap(static_index(x, index))  # type: ignore[no-any-return]
