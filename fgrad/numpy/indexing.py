"""Taking elements from arrays, and putting them in, at positions or where a mask holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.array import plain
from fgrad.avals import Shape, aval_of
from fgrad.errors import (
    ArgumentError,
    ShapeError,
)
from fgrad.numpy._direct import called
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    normal_axis,
    operand,
    refuse_out,
    stretched,
    wrap,
)
from fgrad.numpy._support import wrap as as_array
from fgrad.numpy.at import IndexRef, IndexUpdater, cast, fill_constant
from fgrad.numpy.index_expressions import check_range, getitem
from fgrad.numpy.masking import compress, extract, place
from fgrad.numpy.positions import cycled, flat_values, index_operand, moded, refuse_inplace
from fgrad.primitives.elementwise import less, select
from fgrad.primitives.families import reshape, shape_of
from fgrad.primitives.index_kernels import refuses
from fgrad.primitives.indexing import Gather, StaticUpdate
from fgrad.primitives.scatter import ScatterSet
from fgrad.primitives.shape import iota
from fgrad.tracing import Tracer

__all__ = [
    "IndexRef",
    "IndexUpdater",
    "compress",
    "extract",
    "fill_diagonal",
    "getitem",
    "place",
    "put",
    "put_along_axis",
    "take",
    "take_along_axis",
]


def _taken(values: Any, index: Any, axis: Any) -> Any:
    """The elements of an array at positions that are in bounds."""
    if type(index) is not np.ndarray or index.dtype.kind not in "iu":
        raise TypeError("not an array of positions")
    return values.take(index, axis)


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: Any = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """Take elements at positions along an axis.

    Parameters
    ----------
    a : array_like
    indices : array_like of int
        Positions; negative ones count from the end.
    axis : int, optional
        The axis; by default the flattened array is indexed.
    mode : {"raise", "wrap", "clip", "fill", "promise_in_bounds"}, optional
        What happens out of range: an error, which is the default; counting modulo the size; the
        nearest element, where negative ones are out of range too; or `fill_value`.
    unique_indices, indices_are_sorted : bool
        Accepted; of no effect.
    fill_value : scalar, optional
        For mode "fill"; by default NaN, the least signed integer, the greatest unsigned one, or
        True.

    Returns
    -------
    Array
        The axis is replaced by the shape of `indices`. Linear in a, differentiable in both modes.

    Raises
    ------
    IndexOutOfRangeError
        If a position is out of range and the mode is "raise", also in compiled functions.
    DTypeError
        If the positions are not integers.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.take(fnp.array([4, 3, 5]), fnp.array([0, -1]))
    Array([4, 5], dtype=int64)
    """
    if out is mode is fill_value is None and type(indices) is Array:
        answer = called(_taken, a, plain(indices), axis)
        if answer is not None:
            return answer
    refuse_out(out, "take")
    x = operand(a, "take", "a")
    index = index_operand(indices, "take")
    shape = shape_of(x)
    if axis is None:
        x, axis, shape = reshape(x, (aval_of(x).size,)), 0, (aval_of(x).size,)
    axis = normal_axis(axis, len(shape), "take")
    index, chosen = moded(index, shape[axis], mode, "take")
    if refuses(chosen) and isinstance(x, Tracer) and not isinstance(index, Tracer):
        check_range(index, axis, shape)
    fill = fill_constant(fill_value, aval_of(x).dtype, "take") if chosen == "fill" else None
    return wrap(Gather((axis,), chosen, fill, axis)(x, index))  # type: ignore[no-any-return]


def _along(x: Any, indices: Any, axis: int, name: str) -> tuple[list[Any], Shape]:
    """Index arrays for every axis: `indices` along one, and its own place along the others."""
    shape, index_shape = shape_of(x), shape_of(indices)
    if len(shape) != len(index_shape):
        raise ShapeError(
            f"{name}: arr has {len(shape)} axes and indices {len(index_shape)}; give both as many (shapes "
            f"{shape} and {index_shape})"
        )
    found = []
    broadcast = []
    for k, (size, index_size) in enumerate(zip(shape, index_shape, strict=True)):
        if k == axis:
            found.append(indices)
            broadcast.append(index_size)
            continue
        if size != index_size and 1 not in (size, index_size):
            raise ShapeError(
                f"{name}: arr of shape {shape} and indices of shape {index_shape} do not broadcast along axis "
                f"{k}"
            )
        broadcast.append(size if index_size == 1 else index_size)
        lined_up = tuple([size if other == k else 1 for other in range(len(shape))])
        found.append(reshape(iota(size), lined_up))
    return found, tuple(broadcast)


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Take, in each row along an axis, the elements at positions of its own.

    Parameters
    ----------
    arr : array_like
    indices : array_like of int
        With as many axes as `arr`; apart from `axis` they broadcast together.
    axis : int or None
        The axis of the positions; None takes both arguments flattened.
    mode, fill_value
        As in `take`.
    wrap_negative_indices : bool, optional
        False takes negative positions to be out of range; by default they count from the end.

    Returns
    -------
    Array
        Linear in arr, differentiable in both modes.

    Raises
    ------
    IndexOutOfRangeError
        If a position is out of range and the mode is "raise", also in compiled functions.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x = fnp.array([[3.0, 1.0], [2.0, 5.0]])
    >>> fnp.take_along_axis(x, fnp.argmax(x, axis=1, keepdims=True), axis=1)
    Array([[3.],
           [5.]], dtype=float64)
    """
    name = "take_along_axis"
    x = operand(arr, name, "arr")
    index = index_operand(indices, name)
    x, index, axis = _flat_without_axis(x, index, axis, name)
    shape = shape_of(x)
    index, chosen = moded(index, shape[axis], mode, name)
    if wrap_negative_indices is False:
        index = select(less(index, 0), shape[axis], index)
    fill = fill_constant(fill_value, aval_of(x).dtype, name) if chosen == "fill" else None
    found, _ = _along(x, index, axis, name)
    index_shape = shape_of(index)
    if all([n == 1 for k, n in enumerate(index_shape) if k != axis]):
        # The same positions for every row.
        flat = reshape(index, (index_shape[axis],))
        return wrap(Gather((axis,), chosen, fill, axis)(x, flat))  # type: ignore[no-any-return]
    return wrap(Gather(tuple(range(len(shape))), chosen, fill)(x, *found))  # type: ignore[no-any-return]


def _flat_without_axis(x: Any, index: Any, axis: int | None, name: str) -> tuple[Any, Any, int]:
    if axis is None:
        if len(shape_of(index)) != 1:
            raise ShapeError(
                f"{name}: with axis=None, indices must have one axis, got shape {shape_of(index)}"
            )
        return reshape(x, (aval_of(x).size,)), index, 0
    return x, index, normal_axis(axis, len(shape_of(x)), name)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: Any = None,
) -> Array:
    """Put, in each row along an axis, values at positions of its own, into a new array.

    Parameters
    ----------
    arr : array_like
    indices : array_like of int
        With as many axes as `arr`; apart from `axis` they broadcast together.
    values : array_like
        Broadcast to the positions, in the dtype of arr. Where a position repeats, the last one
        counts.
    axis : int or None
        The axis of the positions; None takes `arr` flattened, and the result has its shape again.
    inplace : bool
        Must be False.
    mode : str, optional
        As in `take`, where "fill" and "drop" leave out positions out of range.

    Returns
    -------
    Array
        Differentiable towards arr and values in both modes.

    Raises
    ------
    InPlaceError
        If `inplace` is not False.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.put_along_axis(fnp.zeros((2, 2)), fnp.array([[0], [1]]), 3.0, axis=1, inplace=False)
    Array([[3., 0.],
           [0., 3.]], dtype=float64)
    """
    name = "put_along_axis"
    refuse_inplace(inplace, name)
    original = operand(arr, name, "arr")
    own = aval_of(original)
    index = index_operand(indices, name)
    x, index, axis = _flat_without_axis(original, index, axis, name)
    index, chosen = moded(index, shape_of(x)[axis], mode, name)
    found, shape = _along(x, index, axis, name)
    updates = stretched(cast(operand(values, name, "values"), own.dtype, name), shape, name)
    axes = tuple(range(len(shape_of(x))))
    return wrap(reshape(ScatterSet(axes, chosen)(x, updates, *found), own.shape))  # type: ignore[no-any-return]


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: Any = None, *, inplace: bool = True
) -> Array:
    """Put values at positions of the flattened array, into a new array.

    Parameters
    ----------
    a : array_like
    ind : array_like of int
        Positions; negative ones count from the end.
    v : array_like
        Repeated as often as needed. Where a position repeats, the last value counts.
    mode : str, optional
        As in `take`, where "fill" and "drop" leave out positions out of range.
    inplace : bool
        Must be False.

    Returns
    -------
    Array
        Differentiable towards a and v in both modes.

    Raises
    ------
    InPlaceError
        If `inplace` is not False.
    IndexOutOfRangeError
        If a position is out of range and the mode is "raise".

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.put(fnp.zeros((2, 2)), [0, 3], [5.0, 6.0], inplace=False)
    Array([[5., 0.],
           [0., 6.]], dtype=float64)
    """
    refuse_inplace(inplace, "put")
    x = operand(a, "put", "a")
    own = aval_of(x)
    index = index_operand(ind, "put", "ind")
    count = aval_of(index).size
    values = flat_values(v, own.dtype, "put", "v")
    if not count or not aval_of(values).size:
        return wrap(x)  # type: ignore[no-any-return]
    index, chosen = moded(reshape(index, (count,)), own.size, mode, "put")
    flat = reshape(x, (own.size,))
    changed = ScatterSet((0,), chosen)(flat, cycled(values, count), index)
    return wrap(reshape(changed, own.shape))  # type: ignore[no-any-return]


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """Put values on the main diagonal, into a new array.

    Parameters
    ----------
    a : array_like
        With two axes or more; with more than two, they must have one size.
    val : array_like
        Flattened, and repeated as often as needed.
    wrap : bool
        Whether the diagonal of a tall matrix goes on after each block of columns, with a row left
        out.
    inplace : bool
        Must be False.

    Returns
    -------
    Array
        Differentiable towards a and val in both modes.

    Raises
    ------
    InPlaceError
        If `inplace` is not False.
    ShapeError
        If `a` has fewer than two axes, or more of several sizes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fill_diagonal(fnp.zeros((2, 2)), 3.0, inplace=False)
    Array([[3., 0.],
           [0., 3.]], dtype=float64)
    """
    refuse_inplace(inplace, "fill_diagonal")
    x = operand(a, "fill_diagonal", "a")
    own = aval_of(x)
    if len(own.shape) < 2:
        raise ShapeError(f"fill_diagonal: a has shape {own.shape}; a diagonal needs two axes")
    end = own.size
    if len(own.shape) == 2:
        step = own.shape[1] + 1
        if not wrap:
            end = min(end, own.shape[1] * own.shape[1])
    elif len(set(own.shape)) > 1:
        raise ShapeError(
            f"fill_diagonal: a has shape {own.shape}; with more than two axes, all need one size"
        )
    else:
        step = sum([own.shape[0] ** k for k in range(len(own.shape))])
    values = flat_values(val, own.dtype, "fill_diagonal", "val")
    count = len(range(0, end, step))
    if not count:
        return as_array(x)  # type: ignore[no-any-return]
    if not aval_of(values).size:
        raise ArgumentError("fill_diagonal: val is empty, but there is a diagonal to fill")
    update = StaticUpdate((slice(0, end, step),), "set")
    changed = update(reshape(x, (own.size,)), cycled(values, count))
    return as_array(reshape(changed, own.shape))  # type: ignore[no-any-return]
