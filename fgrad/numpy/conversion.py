"""NumPy's other ways to say `asarray`, which ask something of memory or of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ConcretizationTypeError
from fgrad.numpy._support import ArrayLike, DTypeLike, operand
from fgrad.numpy.creation import asarray
from fgrad.primitives.elementwise import imag, real
from fgrad.primitives.families import reshape, shape_of
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown


def _known(x: Any, what: str, instead: str) -> Any:
    known = concrete(x) if isinstance(x, Tracer) else x
    if known is None:
        raise ConcretizationTypeError(
            f"{what}: the result depends on values that are unknown while tracing, of {describe_unknown(x)}; "
            f"use {instead} ({here()})"
        )
    return known


def asanyarray(a: ArrayLike, dtype: DTypeLike = None, order: str | None = None) -> Array:
    """Take anything array-like as an array of fgrad, as `asarray`.

    Parameters
    ----------
    a : array_like
    dtype : dtype-like, optional
        None keeps the dtype of the data.
    order
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.asanyarray([1, 2])
    Array([1, 2], dtype=int64)
    """
    return asarray(a, dtype)


def _with_an_axis(a: ArrayLike, dtype: DTypeLike) -> Array:
    x = operand(asarray(a, dtype), "ascontiguousarray")
    return wrap(x if shape_of(x) else reshape(x, (1,)))  # type: ignore[no-any-return]


def ascontiguousarray(a: ArrayLike, dtype: DTypeLike = None) -> Array:
    """An array with one axis or more; how it lies in memory is up to fgrad.

    Parameters
    ----------
    a : array_like
    dtype : dtype-like, optional
        None keeps the dtype of the data.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.ascontiguousarray(2.5)
    Array([2.5], dtype=float64)
    """
    return _with_an_axis(a, dtype)


def asfortranarray(a: ArrayLike, dtype: DTypeLike = None) -> Array:
    """Take anything array-like as an array; how it lies in memory is up to fgrad.

    Parameters
    ----------
    a : array_like
    dtype : dtype-like, optional
        None keeps the dtype of the data.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.asfortranarray([1, 2])
    Array([1, 2], dtype=int64)
    """
    return asarray(a, dtype)


def require(
    a: ArrayLike, dtype: DTypeLike = None, requirements: str | Sequence[str] | None = None
) -> Array:
    """Take anything array-like as an array that meets requirements.

    Parameters
    ----------
    a : array_like
    dtype : dtype-like, optional
        None keeps the dtype of the data.
    requirements : str or sequence of str, optional
        As in ``np.require``. Those about the order in memory have no effect.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If the array is required to be writable, which arrays of fgrad are not.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.require([1, 2], dtype="float64", requirements=["A", "C"])
    Array([1., 2.], dtype=float64)
    """
    asked = {str(name).upper() for name in requirements or ()}
    if asked & {"W", "WRITEABLE"}:
        raise ArgumentError(
            "require: arrays of fgrad are not writable; np.array(x) is a writable copy, and x.at[i].set(v) a "
            "changed array"
        )
    return asarray(a, dtype)


def asarray_chkfinite(a: ArrayLike, dtype: DTypeLike = None, order: str | None = None) -> Array:
    """Take anything array-like as an array, and refuse infinities and NaN.

    Parameters
    ----------
    a : array_like
        Its values must be known.
    dtype : dtype-like, optional
        None keeps the dtype of the data.
    order
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If a number is infinite or NaN.
    ConcretizationTypeError
        If the values are unknown while tracing.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.asarray_chkfinite([1.0, 2.0])
    Array([1., 2.], dtype=float64)
    """
    result = asarray(a, dtype)
    inside = operand(result, "asarray_chkfinite")
    if not np.isfinite(_known(inside, "asarray_chkfinite", "fnp.asarray")).all():
        raise ArgumentError(
            "asarray_chkfinite: the array has infinities or NaN; use fnp.nan_to_num"
        )
    return result


def real_if_close(a: ArrayLike, tol: float = 100) -> Array:
    """The real part, if all imaginary parts are zero or close to it; else the array as it is.

    Parameters
    ----------
    a : array_like
        If complex, its values must be known.
    tol : float
        In spacings of the dtype if above 1, else absolute.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ConcretizationTypeError
        If the values are unknown while tracing.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.real_if_close(fnp.array([1.0 + 1e-16j, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    x = operand(a, "real_if_close")
    dtype = aval_of(x).dtype
    if dtype.kind != "c":
        return wrap(x)  # type: ignore[no-any-return]
    largest = tol * float(np.finfo(dtype).eps) if tol > 1 else tol
    parts = _known(imag(x), "real_if_close", "fnp.real")
    return wrap(real(x) if np.all(np.abs(parts) < largest) else x)  # type: ignore[no-any-return]


def ndenumerate(arr: ArrayLike) -> Any:
    """The elements of an array with their indices, one after the other.

    Parameters
    ----------
    arr : array_like

    Returns
    -------
    iterator of (tuple of int, Array)
        Each element is differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [(index, float(x)) for index, x in fnp.ndenumerate([[1.0, 2.0]])]
    [((0, 0), 1.0), ((0, 1), 2.0)]
    """
    array = asarray(arr)
    return ((index, array[index]) for index in np.ndindex(array.shape))


#: NumPy's iterator over the indices of a shape.
ndindex: Callable[..., Any] = np.ndindex
