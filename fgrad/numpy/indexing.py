"""Functions that take elements from arrays, or put them in, at positions given by integers or masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Shape, aval_of
from fgrad.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRangeError,
    InPlaceError,
    NonConcreteBooleanIndexError,
    ShapeError,
)
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    normal_axis,
    operand,
    refuse_out,
    static_int,
    stretched,
    wrap,
)
from fgrad.numpy._support import wrap as as_array
from fgrad.numpy.at import IndexRef, IndexUpdater, cast, fill_constant, index_mode
from fgrad.numpy.index_expressions import getitem
from fgrad.primitives.cumulative import Cumsum
from fgrad.primitives.elementwise import convert, less, logical_not, maximum, not_equal, select, sub
from fgrad.primitives.families import Sum, reshape
from fgrad.primitives.indexing import Gather, StaticUpdate
from fgrad.primitives.scatter import ScatterSet, StableOrder
from fgrad.primitives.shape import Concatenate, expand_dims, iota, static_index
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown

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


def index_operand(indices: Any, name: str, argument: str = "indices") -> Any:
    """An argument that holds positions, as an inside value of integer dtype."""
    index = operand(indices, name, argument)
    own = aval_of(index)
    if isinstance(indices, (list, tuple)) and not own.size and own.dtype == dtypes.FLOAT64:
        # An empty list has no type of its own.
        return convert(index, dtypes.canonical(dtypes.INT64))
    if own.dtype.kind == "b":
        return convert(index, dtypes.canonical(dtypes.INT64))
    if own.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: {argument} has dtype {own.dtype}; positions are integers, as {argument}.astype(int) "
            "makes them"
        )
    return index


def _moded(index: Any, size: int, mode: Any, name: str, fill: str = "fill") -> tuple[Any, Any]:
    """An index and the mode of the primitive for one of NumPy's; "clip" takes negative ones for 0."""
    chosen = index_mode(mode, name, "raise")
    if chosen in ("clip", "wrap") and not size and aval_of(index).size:
        raise IndexOutOfRangeError(
            f"{name}: an axis without elements is indexed; mode={mode!r} finds none there ({here()})"
        )
    return (maximum(index, 0) if chosen == "clip" else index), chosen


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
        What happens out of range: an error, which is the default; counting modulo the size; the nearest
        element, where negative ones are out of range too; or `fill_value`.
    unique_indices, indices_are_sorted : bool
        Accepted; of no effect.
    fill_value : scalar, optional
        For mode "fill"; by default NaN, the least signed integer, the greatest unsigned one, or True.

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
    refuse_out(out, "take")
    x = operand(a, "take", "a")
    index = index_operand(indices, "take")
    shape = aval_of(x).shape
    if axis is None:
        x, axis, shape = reshape(x, (aval_of(x).size,)), 0, (aval_of(x).size,)
    axis = normal_axis(axis, len(shape), "take")
    index, chosen = _moded(index, shape[axis], mode, "take")
    fill = fill_constant(fill_value, aval_of(x).dtype, "take") if chosen == "fill" else None
    return wrap(Gather((axis,), chosen, fill, axis)(x, index))  # type: ignore[no-any-return]


def _along(x: Any, indices: Any, axis: int, name: str) -> tuple[list[Any], Shape]:
    """Index arrays for every axis: `indices` along one, and its own place along the others."""
    shape, index_shape = aval_of(x).shape, aval_of(indices).shape
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
                f"{name}: arr of shape {shape} and indices of shape {index_shape} do not broadcast along "
                f"axis {k}"
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
    shape = aval_of(x).shape
    index, chosen = _moded(index, shape[axis], mode, name)
    if wrap_negative_indices is False:
        index = select(less(index, 0), shape[axis], index)
    fill = fill_constant(fill_value, aval_of(x).dtype, name) if chosen == "fill" else None
    found, _ = _along(x, index, axis, name)
    index_shape = aval_of(index).shape
    if all([n == 1 for k, n in enumerate(index_shape) if k != axis]):
        # The same positions for every row.
        flat = reshape(index, (index_shape[axis],))
        return wrap(Gather((axis,), chosen, fill, axis)(x, flat))  # type: ignore[no-any-return]
    return wrap(Gather(tuple(range(len(shape))), chosen, fill)(x, *found))  # type: ignore[no-any-return]


def _flat_without_axis(x: Any, index: Any, axis: int | None, name: str) -> tuple[Any, Any, int]:
    if axis is None:
        if len(aval_of(index).shape) != 1:
            raise ShapeError(
                f"{name}: with axis=None, indices must have one axis, got shape {aval_of(index).shape}"
            )
        return reshape(x, (aval_of(x).size,)), index, 0
    return x, index, normal_axis(axis, len(aval_of(x).shape), name)


def _refuse_inplace(inplace: bool, name: str) -> None:
    if inplace:
        raise InPlaceError(
            f"{name}: arrays do not change; call {name}(..., inplace=False) and use the array it returns"
        )


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
        Broadcast to the positions, in the dtype of arr. Where a position repeats, the last one counts.
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
    _refuse_inplace(inplace, name)
    original = operand(arr, name, "arr")
    own = aval_of(original)
    index = index_operand(indices, name)
    x, index, axis = _flat_without_axis(original, index, axis, name)
    index, chosen = _moded(index, aval_of(x).shape[axis], mode, name)
    found, shape = _along(x, index, axis, name)
    updates = stretched(cast(operand(values, name, "values"), own.dtype, name), shape, name)
    axes = tuple(range(len(aval_of(x).shape)))
    return wrap(reshape(ScatterSet(axes, chosen)(x, updates, *found), own.shape))  # type: ignore[no-any-return]


# ---- by conditions -------------------------------------------------------------------------------


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Array:
    """Keep the slices along an axis where a condition holds.

    Parameters
    ----------
    condition : array_like of bool
        With one axis, not longer than that of `a`; where it is shorter, the rest is not kept. Its value
        must be known, unless `size` is given.
    a : array_like
    axis : int, optional
        The axis; by default `a` is flattened.
    size : int, optional
        How many slices the result has: further ones are cut off, missing ones are `fill_value`.
    fill_value : scalar
        For `size`.

    Returns
    -------
    Array
        Linear in a, differentiable in both modes.

    Raises
    ------
    NonConcreteBooleanIndexError
        If the condition is unknown and no `size` is given.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.compress(fnp.array([True, False, True]), fnp.array([5.0, 6.0, 7.0]))
    Array([5., 7.], dtype=float64)
    """
    return _compress("compress", condition, a, axis, size, fill_value, out)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: Any = 0
) -> Array:
    """Keep the elements where a condition holds, in one axis.

    Parameters
    ----------
    condition : array_like of bool
        As many elements as `arr`. Its value must be known, unless `size` is given.
    arr : array_like
    size, fill_value
        As in `compress`.

    Returns
    -------
    Array
        Linear in arr, differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x = fnp.array([[1.0, -2.0], [3.0, -4.0]])
    >>> fnp.extract(x > 0, x)
    Array([1., 3.], dtype=float64)
    """
    mask = operand(condition, "extract", "condition")
    mask = reshape(mask, (aval_of(mask).size,))
    return _compress("extract", mask, arr, None, size, fill_value, None)


def _compress(
    name: str, condition: Any, a: Any, axis: int | None, size: int | None, fill: Any, out: None
) -> Array:
    refuse_out(out, name)
    mask = operand(condition, name, "condition")
    x = operand(a, name, "a")
    if axis is None:
        x, axis = reshape(x, (aval_of(x).size,)), 0
    axis = normal_axis(axis, len(aval_of(x).shape), name)
    own = aval_of(mask)
    if len(own.shape) != 1:
        raise ShapeError(f"{name}: condition must have one axis, got shape {own.shape}")
    if own.dtype.kind != "b":
        mask = not_equal(mask, 0)
    length = aval_of(x).shape[axis]
    known = concrete(mask) if isinstance(mask, Tracer) else mask
    if known is not None:
        (index,) = np.nonzero(known)
        if index.size and index[-1] >= length:
            raise IndexOutOfRangeError(
                f"{name}: the condition holds at {index[-1]}, beyond the {length} elements that it chooses "
                f"from ({here()})"
            )
    if size is None:
        if known is None:
            raise NonConcreteBooleanIndexError(
                f"{name}: the condition is unknown while tracing, so that the number of elements is too: "
                f"{describe_unknown(mask)} ({here()}); give size=, or use fnp.where"
            )
        return wrap(Gather((axis,), place=axis)(x, index))  # type: ignore[no-any-return]
    wanted = static_int(size, f"{name}: size")
    mask = static_index(mask, [slice(0, length)])
    # Where the condition holds comes first, in order.
    order = static_index(StableOrder()(logical_not(mask)), [slice(0, wanted)])
    found = less(iota(wanted), Sum((0,))(mask))
    missing = wanted - aval_of(order).shape[0]
    if missing:
        beyond = np.full(missing, length, aval_of(order).dtype)
        order = Concatenate(0)(order, beyond)
    kept = Gather((axis,), "fill", 0, axis)(x, order)
    others = tuple(range(1, len(aval_of(x).shape) - axis))
    fill = convert(operand(fill, name, "fill_value"), aval_of(x).dtype)
    return wrap(select(expand_dims(found, others), kept, fill))  # type: ignore[no-any-return]


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Put values where a mask holds, one after the other, into a new array.

    Parameters
    ----------
    arr : array_like
    mask : array_like of bool
        As many elements as `arr`; it need not be known.
    vals : array_like
        Repeated as often as needed.
    inplace : bool
        Must be False.

    Returns
    -------
    Array
        Differentiable towards arr and vals in both modes.

    Raises
    ------
    InPlaceError
        If `inplace` is not False.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.place(fnp.arange(4.0), fnp.array([True, False, True, True]), [7.0, 8.0], inplace=False)
    Array([7., 1., 8., 7.], dtype=float64)
    """
    _refuse_inplace(inplace, "place")
    x = operand(arr, "place", "arr")
    own = aval_of(x)
    chosen = operand(mask, "place", "mask")
    if aval_of(chosen).size != own.size:
        raise ShapeError(
            f"place: mask of shape {aval_of(chosen).shape} and arr of shape {own.shape} need as many "
            "elements"
        )
    if aval_of(chosen).dtype.kind != "b":
        chosen = not_equal(chosen, 0)
    chosen = reshape(chosen, (own.size,))
    values = _flat_values(vals, own.dtype, "place", "vals")
    count = aval_of(values).size
    known = concrete(chosen) if isinstance(chosen, Tracer) else chosen
    if not count:
        if known is not None and not np.any(known):
            return wrap(x)  # type: ignore[no-any-return]
        raise ArgumentError("place: vals is empty, but the mask asks for values")
    number = sub(Cumsum(0)(chosen), 1)
    spread = Gather((0,), "wrap")(values, number)
    return wrap(reshape(select(chosen, spread, reshape(x, (own.size,))), own.shape))  # type: ignore[no-any-return]


def _flat_values(values: Any, dtype: np.dtype[Any], name: str, argument: str) -> Any:
    inside = cast(operand(values, name, argument), dtype, name)
    return reshape(inside, (aval_of(inside).size,))


def _cycled(values: Any, count: int) -> Any:
    """The first `count` of values that are repeated without end."""
    size = aval_of(values).size
    if size == count:
        return values
    if size > count:
        return static_index(values, [slice(0, count)])
    return Gather((0,), "wrap")(values, iota(count))


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
    _refuse_inplace(inplace, "put")
    x = operand(a, "put", "a")
    own = aval_of(x)
    index = index_operand(ind, "put", "ind")
    count = aval_of(index).size
    values = _flat_values(v, own.dtype, "put", "v")
    if not count or not aval_of(values).size:
        return wrap(x)  # type: ignore[no-any-return]
    index, chosen = _moded(reshape(index, (count,)), own.size, mode, "put")
    flat = reshape(x, (own.size,))
    changed = ScatterSet((0,), chosen)(flat, _cycled(values, count), index)
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
        Whether the diagonal of a tall matrix goes on after each block of columns, with a row left out.
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
    _refuse_inplace(inplace, "fill_diagonal")
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
    values = _flat_values(val, own.dtype, "fill_diagonal", "val")
    count = len(range(0, end, step))
    if not count:
        return as_array(x)  # type: ignore[no-any-return]
    if not aval_of(values).size:
        raise ArgumentError("fill_diagonal: val is empty, but there is a diagonal to fill")
    update = StaticUpdate((slice(0, end, step),), "set")
    changed = update(reshape(x, (own.size,)), _cycled(values, count))
    return as_array(reshape(changed, own.shape))  # type: ignore[no-any-return]
