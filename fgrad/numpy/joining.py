"""Joining arrays, splitting them, and putting in or taking out elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, IndexOutOfRangeError, IndexTypeError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axes,
    normal_axis,
    operand,
    static_int,
    stretched,
)
from fgrad.numpy.reordering import along, taken
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import common_dtype, reshape
from fgrad.primitives.shape import Concatenate, expand_dims, iota, moveaxis, static_index
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown


def items_of(arrays: Any, name: str) -> list[Any]:
    """The arrays to join: those of a sequence, or the rows of an array."""
    if isinstance(arrays, (list, tuple)):
        items = [operand(x, name) for x in arrays]
    elif isinstance(arrays, (np.ndarray, Tracer)):
        x = operand(arrays, name)
        if not aval_of(x).shape:
            raise ShapeError(f"{name}: a number cannot be joined to anything; give a sequence of arrays")
        items = [static_index(x, (i,)) for i in range(aval_of(x).shape[0])]
    else:
        raise ArgumentError(
            f"{name}: got {type(arrays).__name__}; give a list or tuple of arrays, or one array"
        )
    if not items:
        raise ArgumentError(f"{name}: need at least one array")
    return items


def joined(items: Sequence[Any], axis: int, dtype: Any, name: str) -> Any:
    """Inside values joined along an axis that they have, in their common dtype."""
    avals = [aval_of(x) for x in items]
    rank = len(avals[0].shape)
    for aval in avals:
        if not aval.shape:
            raise ShapeError(
                f"{name}: an array without axes cannot be joined; use fnp.stack, or fnp.atleast_1d first"
            )
        if len(aval.shape) != rank:
            listed = ", ".join(str(a.shape) for a in avals)
            raise ShapeError(f"{name}: shapes {listed} differ in their number of axes")
    position = normal_axis(axis, rank, name)
    rest = {aval.shape[:position] + aval.shape[position + 1 :] for aval in avals}
    if len(rest) > 1:
        listed = ", ".join(str(a.shape) for a in avals)
        raise ShapeError(
            f"{name}: shapes {listed} differ in more than axis {position}, along which they are joined"
        )
    wanted = given_dtype(dtype, name) or common_dtype(avals)
    return Concatenate(position)(*[p.convert(x, wanted) for x in items])


def concatenate(arrays: Any, axis: int | None = 0, dtype: DTypeLike = None) -> Array:
    """Join arrays along an axis that they have.

    Parameters
    ----------
    arrays : sequence of array_like
        Of one shape but for the axis. The rows of a single array are joined.
    axis : int or None
        None joins all elements along one line.
    dtype : dtype-like, optional
        None means that to which the arrays promote.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If shapes differ in another axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.concatenate([fnp.arange(2), fnp.arange(3)])
    Array([0, 1, 0, 1, 2], dtype=int64)
    """
    items = items_of(arrays, "concatenate")
    if axis is None:
        # Lines of numbers may be joined too.
        items, axis = [reshape(x, (aval_of(x).size,)) for x in items], 0
    return wrap(joined(items, axis, dtype, "concatenate"))  # type: ignore[no-any-return]


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis that they have, as `concatenate`.

    Parameters
    ----------
    arrays : sequence of array_like
    axis : int or None
        None joins all elements along one line.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.concat([fnp.arange(2), fnp.arange(3)])
    Array([0, 1, 0, 1, 2], dtype=int64)
    """
    return concatenate(arrays, axis)


def _stacked(items: Sequence[Any], axis: Any, dtype: Any, name: str) -> Any:
    shapes = [aval_of(x).shape for x in items]
    for shape in shapes:
        if shape != shapes[0]:
            raise ShapeError(
                f"{name}: all arrays must have one shape, but got {shapes[0]} and {shape}"
            )
    position = normal_axis(axis, len(shapes[0]) + 1, name)
    wanted = given_dtype(dtype, name) or common_dtype([aval_of(x) for x in items])
    return Concatenate(position)(*[expand_dims(p.convert(x, wanted), (position,)) for x in items])


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: DTypeLike = None) -> Array:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like
    axis : int
        Where the new axis is in the result.
    dtype : dtype-like, optional
        None means that to which the arrays promote.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If shapes differ.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.stack([1.0, 2.0])
    Array([1., 2.], dtype=float64)
    """
    _no_out(out, "stack")
    return wrap(_stacked(items_of(arrays, "stack"), axis, dtype, "stack"))  # type: ignore[no-any-return]


def _no_out(out: Any, name: str) -> None:
    if out is not None:
        raise ArgumentError(f"{name}: out= is not supported, since arrays do not change; use the result")


def _with_rank(x: Any, rank: int) -> Any:
    shape = aval_of(x).shape
    return x if len(shape) >= rank else reshape(x, (1,) * (rank - len(shape)) + shape)


def vstack(tup: Any, dtype: DTypeLike = None) -> Array:
    """Join arrays along the first axis; those with one axis are rows.

    Parameters
    ----------
    tup : sequence of array_like
    dtype : dtype-like, optional

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.vstack([fnp.arange(2), fnp.arange(2)])
    Array([[0, 1],
           [0, 1]], dtype=int64)
    """
    return wrap(joined([_with_rank(x, 2) for x in items_of(tup, "vstack")], 0, dtype, "vstack"))  # type: ignore[no-any-return]


def hstack(tup: Any, dtype: DTypeLike = None) -> Array:
    """Join arrays along the second axis, or along the only one.

    Parameters
    ----------
    tup : sequence of array_like
    dtype : dtype-like, optional

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.hstack([fnp.arange(2), fnp.arange(2)])
    Array([0, 1, 0, 1], dtype=int64)
    """
    items = [_with_rank(x, 1) for x in items_of(tup, "hstack")]
    axis = 0 if len(aval_of(items[0]).shape) == 1 else 1
    return wrap(joined(items, axis, dtype, "hstack"))  # type: ignore[no-any-return]


def dstack(tup: Any, dtype: DTypeLike = None) -> Array:
    """Join arrays along the third axis; (N,) counts as (1, N, 1) and (M, N) as (M, N, 1).

    Parameters
    ----------
    tup : sequence of array_like
    dtype : dtype-like, optional

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.dstack([fnp.arange(2), fnp.arange(2)]).shape
    (1, 2, 2)
    """
    items = []
    for x in items_of(tup, "dstack"):
        x = _with_rank(x, 2)
        shape = aval_of(x).shape
        items.append(reshape(x, (*shape, 1)) if len(shape) == 2 else x)
    return wrap(joined(items, 2, dtype, "dstack"))  # type: ignore[no-any-return]


def column_stack(tup: Any) -> Array:
    """Join vectors as the columns of a matrix; matrices are joined along the second axis.

    Parameters
    ----------
    tup : sequence of array_like

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.column_stack([fnp.arange(2), fnp.ones(2)])
    Array([[0., 1.],
           [1., 1.]], dtype=float64)
    """
    items = []
    for x in items_of(tup, "column_stack"):
        shape = aval_of(x).shape
        items.append(x if len(shape) >= 2 else reshape(x, (*shape, 1)[-1:] if not shape else (*shape, 1)))
    items = [_with_rank(x, 2) for x in items]
    return wrap(joined(items, 1, None, "column_stack"))  # type: ignore[no-any-return]


def block(arrays: Any) -> Array:
    """Join arrays laid out in nested lists: the innermost lists along the last axis, and so on outwards.

    Parameters
    ----------
    arrays : nested list of array_like

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.block([[fnp.ones((1, 1)), fnp.zeros((1, 1))]])
    Array([[1., 0.]], dtype=float64)
    """
    if isinstance(arrays, tuple):
        raise ArgumentError("block: got a tuple; lay the arrays out in lists")
    depth = _depth(arrays)
    leaves: list[Any] = []
    _collect(arrays, leaves)
    rank = max(depth, *(len(aval_of(x).shape) for x in leaves))
    return wrap(_assembled(arrays, 1, depth, rank, iter(leaves)))  # type: ignore[no-any-return]


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ArgumentError("block: a list is empty")
    depths = {_depth(item) for item in arrays}
    if len(depths) > 1:
        raise ArgumentError("block: lists are nested to different depths")
    return 1 + depths.pop()


def _collect(arrays: Any, leaves: list[Any]) -> None:
    if isinstance(arrays, list):
        for item in arrays:
            _collect(item, leaves)
    else:
        leaves.append(operand(arrays, "block"))


def _assembled(arrays: Any, level: int, depth: int, rank: int, leaves: Any) -> Any:
    if not isinstance(arrays, list):
        return _with_rank(next(leaves), rank)
    items = [_assembled(item, level + 1, depth, rank, leaves) for item in arrays]
    return joined(items, rank - (depth - level + 1), None, "block")


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Join two arrays.

    Parameters
    ----------
    arr, values : array_like
    axis : int, optional
        None joins all elements of both along one line.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.append(fnp.arange(2), 5)
    Array([0, 1, 5], dtype=int64)
    """
    items = [operand(arr, "append"), operand(values, "append")]
    if axis is None:
        items, axis = [reshape(x, (aval_of(x).size,)) for x in items], 0
    return wrap(joined(items, axis, None, "append"))  # type: ignore[no-any-return]


# ---- splitting -----------------------------------------------------------------------------------


def _pieces(x: Any, sections: Any, axis: int, even: bool, name: str) -> list[Any]:
    size = aval_of(x).shape[axis]
    if isinstance(sections, (list, tuple)) or (hasattr(sections, "ndim") and sections.ndim):
        cuts = [static_int(i, f"{name}: an index") for i in sections]
        edges = [0, *cuts, size]
    else:
        count = static_int(sections, f"{name}: indices_or_sections")
        if count <= 0:
            raise ArgumentError(f"{name}: cannot make {count} pieces; give a positive number")
        if even and size % count:
            raise ShapeError(
                f"{name}: axis {axis} of shape {aval_of(x).shape} has {size} elements, which do not make {count} "
                "equal pieces; use fnp.array_split for unequal ones"
            )
        short, longer = divmod(size, count)
        edges = [0]
        for i in range(count):
            edges.append(edges[-1] + short + (i < longer))
    return [
        wrap(static_index(x, along(axis, slice(start, stop))))
        for start, stop in zip(edges[:-1], edges[1:], strict=True)
    ]


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Split an array into equal pieces, or before given positions.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        The number of pieces, or where to cut.
    axis : int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the axis cannot be divided evenly.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.tolist() for piece in fnp.split(fnp.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    x = operand(ary, "split")
    position = normal_axis(axis, len(aval_of(x).shape), "split")
    return _pieces(x, indices_or_sections, position, True, "split")


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Split an array into pieces whose sizes differ by at most one, or before given positions.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        The number of pieces, or where to cut.
    axis : int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.tolist() for piece in fnp.array_split(fnp.arange(3), 2)]
    [[0, 1], [2]]
    """
    x = operand(ary, "array_split")
    position = normal_axis(axis, len(aval_of(x).shape), "array_split")
    return _pieces(x, indices_or_sections, position, False, "array_split")


def _split_along(ary: Any, sections: Any, axis: int, least: int, name: str) -> list[Any]:
    x = operand(ary, name)
    rank = len(aval_of(x).shape)
    if rank < least:
        raise ShapeError(f"{name}: an array of shape {aval_of(x).shape} needs at least {least} axes")
    return _pieces(x, sections, min(axis, rank - 1), True, name)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split an array along the first axis.

    Parameters
    ----------
    ary : array_like
        With at least two axes.
    indices_or_sections : int or sequence of int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.shape for piece in fnp.vsplit(fnp.ones((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    return _split_along(ary, indices_or_sections, 0, 2, "vsplit")


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split an array along the second axis, or along the only one.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.shape for piece in fnp.hsplit(fnp.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_along(ary, indices_or_sections, 1, 1, "hsplit")


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split an array along the third axis.

    Parameters
    ----------
    ary : array_like
        With at least three axes.
    indices_or_sections : int or sequence of int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.shape for piece in fnp.dsplit(fnp.ones((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return _split_along(ary, indices_or_sections, 2, 3, "dsplit")


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The arrays that lie along an axis.

    Parameters
    ----------
    x : array_like
    axis : int

    Returns
    -------
    tuple of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [row.tolist() for row in fnp.unstack(fnp.eye(2))]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    inside = operand(x, "unstack")
    shape = aval_of(inside).shape
    if not shape:
        raise ShapeError("unstack: a number has no axis to take apart")
    position = normal_axis(axis, len(shape), "unstack")
    return tuple(wrap(static_index(inside, along(position, i))) for i in range(shape[position]))


# ---- putting in and taking out -----------------------------------------------------------------


def _line(arr: Any, axis: Any, name: str) -> tuple[Any, int]:
    """An array with the axis to work along; None stands for one line of all elements."""
    x = operand(arr, name)
    if axis is None:
        return reshape(x, (aval_of(x).size,)), 0
    return x, normal_axis(axis, len(aval_of(x).shape), name)


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
    if found.dtype.kind not in "iu":
        raise IndexTypeError(f"{name}: obj has dtype {found.dtype}; give integers, a mask or a slice")
    return found


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
    size = aval_of(x).shape[position]
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
    return isinstance(obj, Tracer) and not obj.shape and obj.dtype.kind in "iu" and concrete(obj) is None


def _check_bounds(found: Any, size: int, axis: int, name: str) -> None:
    outside = found[(found < -size) | (found >= size)] if found.ndim else found
    if np.size(outside) and (found.ndim or not -size <= int(found) < size):
        position = int(np.ravel(outside)[0])
        raise IndexOutOfRangeError(f"{name}: position {position} is out of range for axis {axis} with size {size}")


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
    shape = aval_of(x).shape
    size = shape[axis]
    found = _known_positions(obj, size, "insert")
    outside = (found < -size) | (found > size)
    if np.any(outside):
        position = int(np.ravel(found[outside])[0]) if found.ndim else int(found)
        raise IndexOutOfRangeError(f"insert: position {position} is out of range for axis {axis} with size {size}")
    new = p.convert(operand(values, "insert"), aval_of(x).dtype)
    if found.size == 1:
        # At one place, the values may have any number of rows along the axis.
        place = int(found.reshape(()))
        place += size if place < 0 else 0
        rank = len(shape)
        own = aval_of(new).shape
        new = reshape(new, (1,) * (rank - len(own)) + own) if len(own) < rank else new
        if not found.ndim:
            # One integer takes the values along the axis from their first axis, as in arr[obj] = values.
            new = moveaxis(new, 0, axis)
        rows = aval_of(new).shape[axis]
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
    shape = aval_of(x).shape
    axes = normal_axes(axis, len(shape), "trim_zeros")
    index = [slice(0, size) for size in shape]
    for position, found in enumerate(np.nonzero(np.atleast_1d(known))):
        if position in axes:
            first = int(found.min()) if len(found) and "f" in sides else 0
            last = int(found.max()) + 1 if len(found) and "b" in sides else shape[position]
            index[position] = slice(first, last) if len(found) else slice(0, 0)
    return wrap(static_index(x, index))  # type: ignore[no-any-return]
