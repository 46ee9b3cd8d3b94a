"""Joining arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.array import Array, frozen, wrap
from fgrad.avals import aval_of
from fgrad.config import switches
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._direct import joined_arrays
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axis,
    operand,
    shape_of,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import reshape
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import concatenation, static_index
from fgrad.tracing import Tracer


def items_of(arrays: Any, name: str, second: Any = None) -> list[Any]:
    """The arrays to join: those of a sequence, or the rows of an array.

    `second` is the argument behind them, which is taken for another array where it is one.
    """
    if isinstance(second, (np.ndarray, Tracer)) and second.ndim:
        raise ArgumentError(
            f"{name}: the second argument is an array of shape {second.shape}; give all arrays as one list, as in "
            f"fnp.{name}([x, y])"
        )
    if isinstance(arrays, (list, tuple)):
        items = [operand(x, name) for x in arrays]
    elif isinstance(arrays, (np.ndarray, Tracer)):
        x = operand(arrays, name)
        if not shape_of(x):
            raise ShapeError(
                f"{name}: a number cannot be joined to anything; give a sequence of arrays"
            )
        items = [static_index(x, (i,)) for i in range(shape_of(x)[0])]
    else:
        raise ArgumentError(
            f"{name}: got {type(arrays).__name__}; give a list or tuple of arrays, or one array"
        )
    if not items:
        raise ArgumentError(f"{name}: need at least one array")
    return items


def _are_arrays(items: Sequence[Any]) -> bool:
    """Whether all values are known arrays."""
    for x in items:
        if type(x) is not np.ndarray:
            return False
    return True


def joined(items: Sequence[Any], axis: int, dtype: Any, name: str) -> Any:
    """Inside values joined along an axis that they have, in their common dtype."""
    if dtype is None and switches.as_numpy and _are_arrays(items):
        try:
            return frozen(np.concatenate(items, axis))
        except (TypeError, ValueError):
            # What does not fit is said below in better words.
            pass
    shapes = [shape_of(x) for x in items]
    rank = len(shapes[0])
    for shape in set(shapes):
        if not shape:
            raise ShapeError(
                f"{name}: an array without axes cannot be joined; use fnp.stack, or fnp.atleast_1d first"
            )
        if len(shape) != rank:
            listed = ", ".join(map(str, shapes))
            raise ShapeError(f"{name}: shapes {listed} differ in their number of axes")
    position = normal_axis(axis, rank, name)
    rest = {shape[:position] + shape[position + 1 :] for shape in set(shapes)}
    if len(rest) > 1:
        listed = ", ".join(map(str, shapes))
        raise ShapeError(
            f"{name}: shapes {listed} differ in more than axis {position}, along which they are joined"
        )
    if dtype is not None or len({x.dtype for x in items}) > 1:
        wanted = given_dtype(dtype, name) or common_dtype([aval_of(x) for x in items])
        items = [p.convert(x, wanted) for x in items]
    return concatenation(position)(*items)


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
    if dtype is None and axis is not None:
        answer = joined_arrays(arrays, axis)
        if answer is not None:
            return answer
    items = items_of(arrays, "concatenate", axis)
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
    shapes = [shape_of(x) for x in items]
    for shape in shapes:
        if shape != shapes[0]:
            raise ShapeError(
                f"{name}: all arrays must have one shape, but got {shapes[0]} and {shape}"
            )
    position = normal_axis(axis, len(shapes[0]) + 1, name)
    expanded = (*shapes[0][:position], 1, *shapes[0][position:])
    if dtype is None and switches.as_numpy and _are_arrays(items):
        return frozen(np.concatenate([x.reshape(expanded) for x in items], position))
    wanted = given_dtype(dtype, name) or common_dtype([aval_of(x) for x in items])
    return concatenation(position)(*[reshape(p.convert(x, wanted), expanded) for x in items])


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
    if out is dtype is None:
        answer = joined_arrays(arrays, axis, new=True)
        if answer is not None:
            return answer
    _no_out(out, "stack")
    return wrap(_stacked(items_of(arrays, "stack", axis), axis, dtype, "stack"))  # type: ignore[no-any-return]


def _no_out(out: Any, name: str) -> None:
    if out is not None:
        raise ArgumentError(
            f"{name}: out= is not supported, since arrays do not change; use the result"
        )


def _with_rank(x: Any, rank: int) -> Any:
    shape = shape_of(x)
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
    items = [_with_rank(x, 2) for x in items_of(tup, "vstack", dtype)]
    return wrap(joined(items, 0, dtype, "vstack"))  # type: ignore[no-any-return]


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
    items = [_with_rank(x, 1) for x in items_of(tup, "hstack", dtype)]
    axis = 0 if len(shape_of(items[0])) == 1 else 1
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
    for x in items_of(tup, "dstack", dtype):
        x = _with_rank(x, 2)
        shape = shape_of(x)
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
        shape = shape_of(x)
        items.append(
            x if len(shape) >= 2 else reshape(x, (*shape, 1)[-1:] if not shape else (*shape, 1))
        )
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
    rank = max(depth, *(len(shape_of(x)) for x in leaves))
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
