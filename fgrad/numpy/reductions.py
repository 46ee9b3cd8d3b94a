"""Reductions over axes: sums, products, extrema and their places, truth, means and deviations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError
from fgrad.numpy._direct import called, reduced_array
from fgrad.numpy._reducing import Axis, extremum, in_dtype, masked, over_axes, place
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    DTypeLike,
    dtype_of,
    given_dtype,
    operand,
    refuse_out,
    wrap,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Sum
from fgrad.primitives.reduction import All, Any_, Argmax, Argmin, Max, Min, Prod
from fgrad.primitives.sums import sum_over_axis
from fgrad.tracing import Tracer

_multiply = np.multiply.reduce
_maximum, _minimum = np.maximum.reduce, np.minimum.reduce
_logical_or, _logical_and = np.logical_or.reduce, np.logical_and.reduce

# ---- sums and products -------------------------------------------------------------------------


def _accumulated(
    primitive: Callable[[tuple[int, ...]], Any],
    combine: Callable[[Any, Any], Any],
    neutral: int,
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool,
) -> Any:
    x = operand(a, name, "a")
    if dtype is None and initial is None and where is None and promote_integers:
        return over_axes(primitive, x, axis, keepdims, name)
    wanted = given_dtype(dtype, name)
    if wanted is None and not promote_integers:
        wanted = dtype_of(x) if not aval_of(x).weak else None
    x = masked(in_dtype(x, wanted), where, neutral, name)
    # Integers are accumulated in 64 bits: cut to fewer, the result is that of fewer throughout.
    answer = in_dtype(over_axes(primitive, x, axis, keepdims, name), wanted)
    if initial is None:
        return answer
    aval = aval_of(answer)
    return combine(answer, p.convert(operand(initial, name, "initial"), aval.dtype, aval.weak))


def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Sum of elements over axes.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to sum over; negative ones count from the end. None means all.
    dtype : dtype, optional
        The dtype to sum in. By default that of `a`; integers and booleans are summed in 64 bits.
    keepdims : bool
        Whether the axes stay, with size one.
    initial : scalar, optional
        Added to each sum.
    where : array_like of bool, optional
        Which elements count; broadcast to the shape of `a`.
    promote_integers : bool
        False sums integers in their own dtype.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.
    InPlaceError
        If `out` is given.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.sum(fnp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    Array([4., 6.], dtype=float64)
    """
    if dtype is out is initial is where is None and promote_integers:
        answer = reduced_array(sum_over_axis, a, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "sum")
    return wrap(  # type: ignore[no-any-return]
        _accumulated(
            Sum, p.add, 0, "sum", a, axis, dtype, keepdims, initial, where, promote_integers
        )
    )


def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Product of elements over axes.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to multiply over; negative ones count from the end. None means all.
    dtype : dtype, optional
        The dtype to multiply in. By default that of `a`; integers and booleans use 64 bits.
    keepdims : bool
        Whether the axes stay, with size one.
    initial : scalar, optional
        Multiplied into each product.
    where : array_like of bool, optional
        Which elements count; broadcast to the shape of `a`.
    promote_integers : bool
        False multiplies integers in their own dtype.

    Returns
    -------
    Array
        The product of nothing is 1. Differentiable in both modes, to every order also where
        elements are zero: no derivative divides by an element.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.
    InPlaceError
        If `out` is given.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> fgrad.grad(fnp.prod)(fnp.asarray([2.0, 0.0, 3.0]))
    Array([0., 6., 0.], dtype=float64)
    """
    if dtype is out is initial is where is None and promote_integers:
        answer = reduced_array(_multiply, a, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "prod")
    return wrap(  # type: ignore[no-any-return]
        _accumulated(
            Prod, p.mul, 1, "prod", a, axis, dtype, keepdims, initial, where, promote_integers
        )
    )


def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements over axes are not zero.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to count over; None means all.
    keepdims : bool
        Whether the axes stay, with size one.

    Returns
    -------
    Array of int64

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> int(fnp.count_nonzero(fnp.asarray([0, 3, 4])))
    2
    """
    nonzero = p.not_equal(operand(a, "count_nonzero", "a"), 0)
    answer = over_axes(Sum, nonzero, axis, keepdims, "count_nonzero")
    return wrap(answer)  # type: ignore[no-any-return]


# ---- extrema -----------------------------------------------------------------------------------


def _refuse_second(axis: Any, name: str, of_two: str) -> None:
    """Python's functions of these names take several numbers."""
    if isinstance(axis, float) or (isinstance(axis, (np.ndarray, Tracer)) and axis.ndim):
        raise ArgumentError(
            f"{name}: axis is {axis!r}; give an integer, or use fnp.{of_two}(x, y) for the {name}imum of two arrays"
        )


def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum of elements over axes; NaN wins.

    Parameters
    ----------
    a : array_like
        Complex numbers are ordered by real part, then by imaginary part.
    axis : int or sequence of int, optional
        The axes to reduce; negative ones count from the end. None means all.
    keepdims : bool
        Whether the axes stay, with size one.
    initial : scalar, optional
        The least possible result, and the result for no elements.
    where : array_like of bool, optional
        Which elements count; needs `initial`.

    Returns
    -------
    Array
        Of the dtype of `a`. Differentiable in both modes; equal maxima share the slope evenly.

    Raises
    ------
    ShapeError
        If there are no elements and no `initial`.
    AxisError
        If `a` does not have an axis, or it is named twice.
    ArgumentError
        If `where` is given without `initial`.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> fgrad.grad(fnp.max)(fnp.asarray([1.0, 3.0, 3.0]))
    Array([0. , 0.5, 0.5], dtype=float64)
    """
    if out is initial is where is None:
        answer = reduced_array(_maximum, a, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "max")
    _refuse_second(axis, "max", "maximum")
    x = operand(a, "max", "a")
    return wrap(extremum(Max, p.maximum, "max", x, axis, keepdims, initial, where))  # type: ignore[no-any-return]


def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum of elements over axes; NaN wins.

    Parameters
    ----------
    a : array_like
        Complex numbers are ordered by real part, then by imaginary part.
    axis : int or sequence of int, optional
        The axes to reduce; negative ones count from the end. None means all.
    keepdims : bool
        Whether the axes stay, with size one.
    initial : scalar, optional
        The largest possible result, and the result for no elements.
    where : array_like of bool, optional
        Which elements count; needs `initial`.

    Returns
    -------
    Array
        Of the dtype of `a`. Differentiable in both modes; equal minima share the slope evenly.

    Raises
    ------
    ShapeError
        If there are no elements and no `initial`.
    AxisError
        If `a` does not have an axis, or it is named twice.
    ArgumentError
        If `where` is given without `initial`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.min(fnp.asarray([[3.0, 1.0], [2.0, 4.0]]), axis=1)
    Array([1., 2.], dtype=float64)
    """
    if out is initial is where is None:
        answer = reduced_array(_minimum, a, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "min")
    _refuse_second(axis, "min", "minimum")
    x = operand(a, "min", "a")
    return wrap(extremum(Min, p.minimum, "min", x, axis, keepdims, initial, where))  # type: ignore[no-any-return]


amax = max
amin = min


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """Difference of maximum and minimum over axes.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Whether the axes stay, with size one.

    Returns
    -------
    Array
        Of the dtype of `a`. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If there are no elements.
    DTypeError
        If `a` holds booleans.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.ptp(fnp.asarray([4.0, 9.0, 2.0])))
    7.0
    """
    refuse_out(out, "ptp")
    x = operand(a, "ptp", "a")
    if dtype_of(x) == dtypes.BOOL:
        raise DTypeError("ptp: booleans cannot be subtracted; convert them first with .astype(int)")
    high = extremum(Max, p.maximum, "ptp", x, axis, keepdims, None, None)
    low = extremum(Min, p.minimum, "ptp", x, axis, keepdims, None, None)
    return wrap(p.sub(high, low))  # type: ignore[no-any-return]


def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first maximum along an axis; NaN counts as the maximum.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        None searches the flattened array.
    keepdims : bool
        Whether the axes stay, with size one.

    Returns
    -------
    Array of int64
        Piecewise constant: its derivative is zero wherever it exists.

    Raises
    ------
    ShapeError
        If there are no elements.
    AxisError
        If `a` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> int(fnp.argmax(fnp.asarray([1.0, 5.0, 5.0])))
    1
    """
    if out is None and not keepdims and (axis is None or type(axis) is int):
        answer = called(np.ndarray.argmax, a, axis)
        if answer is not None:
            return answer
    refuse_out(out, "argmax")
    return wrap(place(Argmax, operand(a, "argmax", "a"), axis, keepdims, "argmax"))  # type: ignore[no-any-return]


def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first minimum along an axis; NaN counts as the minimum.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        None searches the flattened array.
    keepdims : bool
        Whether the axes stay, with size one.

    Returns
    -------
    Array of int64
        Piecewise constant: its derivative is zero wherever it exists.

    Raises
    ------
    ShapeError
        If there are no elements.
    AxisError
        If `a` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.argmin(fnp.asarray([[3.0, 1.0], [2.0, 4.0]]), axis=1)
    Array([1, 0], dtype=int64)
    """
    if out is None and not keepdims and (axis is None or type(axis) is int):
        answer = called(np.ndarray.argmin, a, axis)
        if answer is not None:
            return answer
    refuse_out(out, "argmin")
    return wrap(place(Argmin, operand(a, "argmin", "a"), axis, keepdims, "argmin"))  # type: ignore[no-any-return]


# ---- truth -------------------------------------------------------------------------------------


def any(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether any element over axes is true, that is, not zero.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Whether the axes stay, with size one.
    where : array_like of bool, optional
        Which elements count; broadcast to the shape of `a`.

    Returns
    -------
    Array of bool
        False for no elements.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.any(fnp.asarray([[0, 1], [0, 0]]), axis=1)
    Array([ True, False], dtype=bool)
    """
    if out is where is None:
        answer = reduced_array(_logical_or, a, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "any")
    x = masked(operand(a, "any", "a"), where, False, "any")
    return wrap(over_axes(Any_, x, axis, keepdims, "any"))  # type: ignore[no-any-return]


def all(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether all elements over axes are true, that is, not zero.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Whether the axes stay, with size one.
    where : array_like of bool, optional
        Which elements count; broadcast to the shape of `a`.

    Returns
    -------
    Array of bool
        True for no elements.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.all(fnp.asarray([[1, 1], [0, 1]]), axis=1)
    Array([ True, False], dtype=bool)
    """
    if out is where is None:
        answer = reduced_array(_logical_and, a, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "all")
    x = masked(operand(a, "all", "a"), where, True, "all")
    return wrap(over_axes(All, x, axis, keepdims, "all"))  # type: ignore[no-any-return]
