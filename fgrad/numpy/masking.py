"""Taking and putting elements where a condition holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.avals import aval_of
from fgrad.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRangeError,
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
from fgrad.numpy.positions import cycled, flat_values, refuse_inplace
from fgrad.primitives.cumulative import Cumsum
from fgrad.primitives.elementwise import convert, less, logical_not, not_equal, select, sub
from fgrad.primitives.families import Sum, reshape, shape_of
from fgrad.primitives.indexing import Gather
from fgrad.primitives.scatter import StableOrder
from fgrad.primitives.shape import Concatenate, expand_dims, iota, static_index
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown


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
        With one axis, not longer than that of `a`; where it is shorter, the rest is not kept. Its
        value must be known, unless `size` is given.
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
    axis = normal_axis(axis, len(shape_of(x)), name)
    own = aval_of(mask)
    if len(own.shape) != 1:
        raise ShapeError(f"{name}: condition must have one axis, got shape {own.shape}")
    if own.dtype.kind != "b":
        mask = not_equal(mask, 0)
    length = shape_of(x)[axis]
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
    missing = wanted - shape_of(order)[0]
    if missing:
        beyond = np.full(missing, length, aval_of(order).dtype)
        order = Concatenate(0)(order, beyond)
    kept = Gather((axis,), "fill", 0, axis)(x, order)
    others = tuple(range(1, len(shape_of(x)) - axis))
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
    refuse_inplace(inplace, "place")
    x = operand(arr, "place", "arr")
    own = aval_of(x)
    chosen = operand(mask, "place", "mask")
    if aval_of(chosen).size != own.size:
        raise ShapeError(
            f"place: mask of shape {shape_of(chosen)} and arr of shape {own.shape} need as many elements"
        )
    if aval_of(chosen).dtype.kind != "b":
        chosen = not_equal(chosen, 0)
    chosen = reshape(chosen, (own.size,))
    values = flat_values(vals, own.dtype, "place", "vals")
    count = aval_of(values).size
    known = concrete(chosen) if isinstance(chosen, Tracer) else chosen
    if not count:
        if known is not None and not np.any(known):
            return wrap(x)  # type: ignore[no-any-return]
        raise ArgumentError("place: vals is empty, but the mask asks for values")
    number = sub(Cumsum(0)(chosen), 1)
    spread = Gather((0,), "wrap")(values, number)
    return wrap(reshape(select(chosen, spread, reshape(x, (own.size,))), own.shape))  # type: ignore[no-any-return]


def putmask(a: ArrayLike, mask: ArrayLike, values: ArrayLike, *, inplace: bool = True) -> Array:
    """Put values where a mask holds, each at its own place, into a new array.

    Parameters
    ----------
    a : array_like
    mask : array_like of bool
        As many elements as `a`; it need not be known.
    values : array_like
        Element n of the result is ``values[n]`` where the mask holds; they are repeated as often as needed.
    inplace : bool
        Must be False.

    Returns
    -------
    Array
        Differentiable towards a and values in both modes.

    Raises
    ------
    InPlaceError
        If `inplace` is not False.
    ShapeError
        If the mask has another number of elements.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.putmask(fnp.zeros(3), fnp.array([True, False, True]), [7.0, 8.0, 9.0], inplace=False)
    Array([7., 0., 9.], dtype=float64)
    """
    refuse_inplace(inplace, "putmask")
    x = operand(a, "putmask", "a")
    own = aval_of(x)
    chosen = operand(mask, "putmask", "mask")
    if aval_of(chosen).size != own.size:
        raise ShapeError(
            f"putmask: mask of shape {shape_of(chosen)} and a of shape {own.shape} need as many elements"
        )
    if aval_of(chosen).dtype.kind != "b":
        chosen = not_equal(chosen, 0)
    given = flat_values(values, own.dtype, "putmask", "values")
    if not own.size or not aval_of(given).size:
        return wrap(x)  # type: ignore[no-any-return]
    whole = reshape(cycled(given, own.size), own.shape)
    return wrap(select(reshape(chosen, own.shape), whole, x))  # type: ignore[no-any-return]


def copyto(
    dst: ArrayLike,
    src: ArrayLike,
    casting: str = "same_kind",
    where: ArrayLike = True,
    *,
    inplace: bool = True,
) -> Array:
    """Copy one array over another, where a mask holds, into a new array.

    Parameters
    ----------
    dst : array_like
    src : array_like
        Broadcast to the shape of `dst`, in its dtype.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        Which changes of dtype are allowed.
    where : array_like of bool
        Broadcast to the shape of `dst`.
    inplace : bool
        Must be False.

    Returns
    -------
    Array
        Differentiable towards dst and src in both modes.

    Raises
    ------
    DTypeError
        If the dtype changes in a way that is not allowed.
    InPlaceError
        If `inplace` is not False.
    ShapeError
        If a shape does not broadcast to that of `dst`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.copyto(fnp.zeros(3), 2.0, where=fnp.array([True, False, True]), inplace=False)
    Array([2., 0., 2.], dtype=float64)
    """
    refuse_inplace(inplace, "copyto")
    x, other = operand(dst, "copyto", "dst"), operand(src, "copyto", "src")
    own, given = aval_of(x), aval_of(other)
    kind_fits = given.weak and np.result_type(own.dtype, given.dtype.type(0).item()) == own.dtype
    if not kind_fits and not np.can_cast(given.dtype, own.dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"copyto: src has dtype {given.dtype}, which casting={casting!r} does not take to {own.dtype}; "
            "convert it with .astype"
        )
    whole = stretched(convert(other, own.dtype), own.shape, "copyto")
    if where is True:
        return wrap(whole)  # type: ignore[no-any-return]
    mask = stretched(operand(where, "copyto", "where"), own.shape, "copyto")
    mask = mask if aval_of(mask).dtype.kind == "b" else not_equal(mask, 0)
    return wrap(convert(select(mask, whole, x), own.dtype))  # type: ignore[no-any-return]
