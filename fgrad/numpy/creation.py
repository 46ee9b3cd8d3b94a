"""Making arrays from data, or of one value.

Arrays above some size are primitives of their own, so that a compiled function makes them rather
than carrying them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, shares_writable, snapshot, value, wrap
from fgrad.avals import Shape, ShapeDtypeStruct, aval_of
from fgrad.errors import ArgumentError, DTypeError
from fgrad.numpy._direct import called, created_array
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    nested,
    operand,
    static_int,
    static_shape,
    stretched,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import broadcast_to, full_of, reshape, shape_of
from fgrad.primitives.shape import Eye
from fgrad.tracing import Tracer

_PYTHON = (float, int, bool, complex)


# ---- from data ---------------------------------------------------------------------------------


def imported(x: Any, what: str) -> Any:
    """Anything that an array can be made from, as an inside value."""
    if isinstance(x, (list, tuple)):
        return nested(x, what)
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes)):
        return nested(list(x), what)
    return value(x, what)


def array(
    object: ArrayLike,
    dtype: DTypeLike = None,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Make an array from numbers, arrays and nested lists of them.

    Parameters
    ----------
    object : array_like
        Lists may hold traced arrays. Python numbers in them take the dtype of the arrays beside them.
    dtype : dtype-like, optional
        None keeps the dtype of the data.
    copy, order
        Accepted for compatibility: an array of fgrad never shares memory that somebody can write to.
    ndmin : int
        Axes of size one are put in front until there are that many.
    device, out_sharding
        Accepted for compatibility with JAX; there is one device.

    Returns
    -------
    Array
        Differentiable in both modes. A single Python number stays one that takes the dtype of what it
        meets, unless a dtype is given.

    Raises
    ------
    NonArrayError, UnsupportedArrayError
        If the data is not of numbers.
    ShapeError
        If nested lists do not form an array.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> fnp.array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int64)
    >>> fgrad.grad(lambda x: fnp.array([x, 2.0 * x, 1.0]).sum())(1.0)
    Array(3., dtype=float64, weak_type=True)
    """
    return _made(object, dtype, ndmin, "array")  # type: ignore[no-any-return]


def _made(data: Any, dtype: Any, ndmin: int, name: str) -> Any:
    inside = imported(data, f"{name}: the data")
    wanted = given_dtype(dtype, name)
    if wanted is not None:
        inside = p.convert(inside, wanted)
    if ndmin:
        shape = shape_of(inside)
        if ndmin > len(shape):
            inside = reshape(inside, (1,) * (ndmin - len(shape)) + shape)
    return wrap(snapshot(inside))


def asarray(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Take anything array-like as an array of fgrad.

    Parameters
    ----------
    a : array_like
        Lists may hold traced arrays. Python numbers in them take the dtype of the arrays beside them.
    dtype : dtype-like, optional
        None keeps the dtype of the data.
    order
        Accepted for compatibility.
    copy : bool, optional
        Memory that somebody can write to is always copied; False refuses to.
    device, out_sharding
        Accepted for compatibility with JAX; there is one device.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    NonArrayError, UnsupportedArrayError
        If the data is not of numbers.
    ShapeError
        If nested lists do not form an array.
    ArgumentError
        If ``copy=False`` and a copy is needed.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.asarray([1, 2.5])
    Array([1. , 2.5], dtype=float64)
    """
    if copy is False and (type(a) in (list, tuple) or _needs_copy(a, dtype)):
        raise ArgumentError(
            "asarray: copy=False, but the data must be copied: it is not an array, has another dtype, or can "
            "be written to; leave copy out"
        )
    return _made(a, dtype, 0, "asarray")  # type: ignore[no-any-return]


def _needs_copy(a: Any, dtype: Any) -> bool:
    if isinstance(a, np.ndarray) and shares_writable(a):
        return True
    return dtype is not None and getattr(a, "dtype", None) != given_dtype(dtype, "asarray")


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """An array of the same elements.

    Parameters
    ----------
    a : array_like
    order
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.copy(fnp.arange(3))
    Array([0, 1, 2], dtype=int64)
    """
    return _made(a, None, 0, "copy")  # type: ignore[no-any-return]


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Array:
    """Convert to another dtype.

    Parameters
    ----------
    x : array_like
    dtype : dtype-like
        None means float64.
    copy, device
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes between floating-point dtypes; from complex to real, it takes the
        real part.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.astype(fnp.ones(2), fnp.int32)
    Array([1, 1], dtype=int32)
    """
    wanted = given_dtype(dtype, "astype") or dtypes.canonical(dtypes.FLOAT64)
    if wanted.kind in "biuf":
        answer = called(_converted, x, wanted)
        if answer is not None:
            return answer
    return wrap(p.convert(operand(x, "astype"), wanted))  # type: ignore[no-any-return]


def _converted(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Any:
    """Real values in another dtype."""
    if values.dtype.kind == "c":
        raise TypeError("of complex numbers, the real part is taken")
    return values.view() if values.dtype == dtype else values.astype(dtype)


# ---- of one value ------------------------------------------------------------------------------


def filled(shape: Shape, fill: Any, dtype: np.dtype[Any]) -> Any:
    """An inside array of one known number."""
    if fill == 0 and type(fill) is int:
        return full_of(shape, 0, dtype)()
    scalar = p.convert(fill, dtype)
    number = scalar.item()
    if _has_negative_zero(number):
        # Zeros of either sign are equal, so that as parameters they could be taken for one another.
        return broadcast_to(scalar, shape)
    return full_of(shape, number, dtype)()


def _has_negative_zero(number: Any) -> bool:
    parts = (number.real, number.imag) if isinstance(number, complex) else (number,)
    return any(part == 0 and math.copysign(1.0, part) < 0 for part in parts)


def _default(dtype: Any, name: str) -> np.dtype[Any]:
    if dtype is None:
        return dtypes.canonical(dtypes.FLOAT64)
    if type(dtype) is int:
        raise DTypeError(
            f"{name}: dtype={dtype} is not a dtype; give the sizes of a shape as one tuple, as in "
            f"fnp.{name}((2, {dtype}))"
        )
    return dtypes.as_dtype(dtype, f"{name}: dtype")


def _constant(create: Callable[..., Any], number: int, shape: Any, dtype: Any, name: str) -> Array:
    wanted = None if dtype is None else _default(dtype, name)
    answer = created_array(create, shape, wanted)
    if answer is not None:
        return answer
    return wrap(full_of(static_shape(shape, name), number, wanted or _default(None, name))())  # type: ignore[no-any-return]


def zeros(
    shape: Any,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of zeros.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype-like, optional
        None means float64.
    order, device, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.zeros(3)
    Array([0., 0., 0.], dtype=float64)
    """
    return _constant(np.zeros, 0, shape, dtype, "zeros")


def ones(
    shape: Any,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of ones.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype-like, optional
        None means float64.
    order, device, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.ones((1, 2))
    Array([[1., 1.]], dtype=float64)
    """
    return _constant(np.ones, 1, shape, dtype, "ones")


def empty(
    shape: Any,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of zeros: since arrays do not change, there is nothing to fill in later.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype-like, optional
        None means float64.
    order, device, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.empty(2)
    Array([0., 0.], dtype=float64)
    """
    return _constant(np.zeros, 0, shape, dtype, "empty")


def full(
    shape: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of one value.

    Parameters
    ----------
    shape : int or sequence of int
    fill_value : array_like
        A number, or an array that is broadcast.
    dtype : dtype-like, optional
        None means that of `fill_value`.
    order, device, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes towards `fill_value`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.full(2, 7)
    Array([7, 7], dtype=int64)
    """
    wanted = given_dtype(dtype, "full")
    if type(fill_value) is float or type(fill_value) is int:
        own = wanted or dtypes.PYTHON_DTYPES[type(fill_value)]
        answer = created_array(lambda sizes, kind: np.full(sizes, fill_value, kind), shape, own)
        if answer is not None:
            return answer
    return wrap(  # type: ignore[no-any-return]
        _full(
            static_shape(shape, "full"),
            operand(fill_value, "full"),
            wanted,
            "full",
        )
    )


def _full(shape: Shape, fill: Any, dtype: np.dtype[Any] | None, name: str) -> Any:
    aval = aval_of(fill)
    if not shape and dtype is None:
        return stretched(fill, shape, name)
    dtype = dtype or aval.dtype
    if isinstance(fill, (np.generic, *_PYTHON)):
        return filled(shape, fill, dtype)
    return stretched(p.convert(fill, dtype), shape, name)


def _prototype(a: Any, dtype: Any, shape: Any, name: str) -> tuple[Shape, np.dtype[Any], bool]:
    """The shape, dtype and weakness of an array like another one."""
    own = a.aval if isinstance(a, (ShapeDtypeStruct, Tracer)) else aval_of(operand(a, name))
    new_shape = own.shape if shape is None else static_shape(shape, name)
    wanted = given_dtype(dtype, name)
    return new_shape, wanted or own.dtype, own.weak and wanted is None and not new_shape


def _constant_like(a: Any, number: int, dtype: Any, shape: Any, name: str) -> Any:
    new_shape, new_dtype, weak = _prototype(a, dtype, shape, name)
    if weak:
        return wrap(dtypes.python_type(new_dtype)(number))
    return wrap(full_of(new_shape, number, new_dtype)())


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    order: str | None = "K",
    subok: bool = True,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Zeros with the shape and dtype of another array.

    Parameters
    ----------
    a : array_like
    dtype : dtype-like, optional
    shape : int or sequence of int, optional
    order, subok, device, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.zeros_like(fnp.arange(2))
    Array([0, 0], dtype=int64)
    """
    return _constant_like(a, 0, dtype, shape, "zeros_like")  # type: ignore[no-any-return]


def ones_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    order: str | None = "K",
    subok: bool = True,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Ones with the shape and dtype of another array.

    Parameters
    ----------
    a : array_like
    dtype : dtype-like, optional
    shape : int or sequence of int, optional
    order, subok, device, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.ones_like(fnp.arange(2))
    Array([1, 1], dtype=int64)
    """
    return _constant_like(a, 1, dtype, shape, "ones_like")  # type: ignore[no-any-return]


def empty_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    order: str | None = "K",
    subok: bool = True,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Zeros with the shape and dtype of another array, as `empty`.

    Parameters
    ----------
    a : array_like
    dtype : dtype-like, optional
    shape : int or sequence of int, optional
    order, subok, device, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.empty_like(fnp.arange(2))
    Array([0, 0], dtype=int64)
    """
    return _constant_like(a, 0, dtype, shape, "empty_like")  # type: ignore[no-any-return]


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    order: str | None = "K",
    subok: bool = True,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of one value with the shape and dtype of another array.

    Parameters
    ----------
    a : array_like
    fill_value : array_like
        A number, or an array that is broadcast; it is converted to the dtype.
    dtype : dtype-like, optional
    shape : int or sequence of int, optional
    order, subok, device, out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes towards `fill_value`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.full_like(fnp.arange(2), 7)
    Array([7, 7], dtype=int64)
    """
    new_shape, new_dtype, weak = _prototype(a, dtype, shape, "full_like")
    fill = operand(fill_value, "full_like")
    if weak and not shape_of(fill):
        return wrap(p.convert(fill, new_dtype, weak=True))  # type: ignore[no-any-return]
    return wrap(_full(new_shape, fill, new_dtype, "full_like"))  # type: ignore[no-any-return]


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = None,
    order: str | None = "C",
    *,
    device: Any = None,
) -> Array:
    """A matrix with ones on a diagonal.

    Parameters
    ----------
    N, M : int
        Rows and columns; M is N where it is not given.
    k : int
        Which diagonal: positive ones lie above the main diagonal.
    dtype : dtype-like, optional
        None means float64.
    order, device
        Accepted for compatibility.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    rows = static_shape(N, "eye")[0]
    columns = rows if M is None else static_shape(M, "eye")[0]
    return wrap(Eye(rows, columns, static_int(k, "eye: k"), _default(dtype, "eye"))())  # type: ignore[no-any-return]


def identity(n: int, dtype: DTypeLike = None) -> Array:
    """The square identity matrix.

    Parameters
    ----------
    n : int
    dtype : dtype-like, optional
        None means float64.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    return eye(n, dtype=dtype)
