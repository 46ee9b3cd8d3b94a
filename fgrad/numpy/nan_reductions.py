"""Reductions that leave out NaN. Of numbers that cannot be NaN, they are the plain reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.numpy._reducing import Axis, extremum, in_dtype, over_axes, place
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    DTypeLike,
    dtype_of,
    operand,
    refuse_out,
    wrap,
)
from fgrad.numpy.averages import averaged, root, variance
from fgrad.numpy.cumulative import without_nan
from fgrad.numpy.reductions import prod, sum
from fgrad.primitives import elementwise as p
from fgrad.primitives.reduction import All, Argmax, Argmin, Max, Min


def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Sum of elements over axes, with NaN counted as 0.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to sum over; None means all.
    dtype, keepdims, initial, where
        As in `sum`.

    Returns
    -------
    Array
        Differentiable in both modes; the slope towards NaN is 0.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nansum(fnp.asarray([1.0, fnp.nan, 3.0])))
    4.0
    """
    refuse_out(out, "nansum")
    x = without_nan(operand(a, "nansum", "a"), 0)
    return sum(wrap(x), axis, dtype, None, keepdims, initial, where)


def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Product of elements over axes, with NaN counted as 1.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to multiply over; None means all.
    dtype, keepdims, initial, where
        As in `prod`.

    Returns
    -------
    Array
        Differentiable in both modes; the slope towards NaN is 0.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanprod(fnp.asarray([2.0, fnp.nan, 3.0])))
    6.0
    """
    refuse_out(out, "nanprod")
    x = without_nan(operand(a, "nanprod", "a"), 1)
    return prod(wrap(x), axis, dtype, None, keepdims, initial, where)


# ---- extrema -----------------------------------------------------------------------------------


def _nan_extremum(
    primitive: Callable[[tuple[int, ...]], Any],
    combine: Callable[[Any, Any], Any],
    worst: float,
    name: str,
    a: Any,
    axis: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    x = operand(a, name, "a")
    answer = extremum(
        primitive, combine, name, without_nan(x, worst), axis, keepdims, initial, where
    )
    if not dtypes.is_inexact(dtype_of(x)) or initial is not None:
        return answer
    # Nothing but NaN has no extremum.
    return p.select(over_axes(All, p.isnan(x), axis, keepdims, name), np.nan, answer)


def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum of elements over axes, leaving out NaN.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    keepdims, initial, where
        As in `max`.

    Returns
    -------
    Array
        NaN where there is nothing else. Differentiable in both modes; equal maxima share the slope
        evenly.

    Raises
    ------
    ShapeError
        If there are no elements and no `initial`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanmax(fnp.asarray([1.0, fnp.nan, 3.0])))
    3.0
    """
    refuse_out(out, "nanmax")
    return wrap(  # type: ignore[no-any-return]
        _nan_extremum(Max, p.maximum, -np.inf, "nanmax", a, axis, keepdims, initial, where)
    )


def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum of elements over axes, leaving out NaN.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    keepdims, initial, where
        As in `min`.

    Returns
    -------
    Array
        NaN where there is nothing else. Differentiable in both modes; equal minima share the slope
        evenly.

    Raises
    ------
    ShapeError
        If there are no elements and no `initial`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanmin(fnp.asarray([1.0, fnp.nan, 3.0])))
    1.0
    """
    refuse_out(out, "nanmin")
    return wrap(  # type: ignore[no-any-return]
        _nan_extremum(Min, p.minimum, np.inf, "nanmin", a, axis, keepdims, initial, where)
    )


def _nan_place(
    primitive: Callable[[int], Any], worst: float, name: str, a: Any, axis: Any, keepdims: Any
) -> Any:
    x = operand(a, name, "a")
    answer = place(primitive, without_nan(x, worst), axis, keepdims, name)
    if not dtypes.is_inexact(dtype_of(x)):
        return answer
    nothing = over_axes(All, p.isnan(x), axis, bool(keepdims), name)
    return p.select(nothing, -1, answer)


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first maximum along an axis, leaving out NaN.

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
        -1 where there is nothing but NaN. Its derivative is zero wherever it exists.

    Raises
    ------
    ShapeError
        If there are no elements.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> int(fnp.nanargmax(fnp.asarray([fnp.nan, 1.0, 3.0])))
    2
    """
    refuse_out(out, "nanargmax")
    answer: Array = wrap(_nan_place(Argmax, -np.inf, "nanargmax", a, axis, keepdims))
    return answer


def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first minimum along an axis, leaving out NaN.

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
        -1 where there is nothing but NaN. Its derivative is zero wherever it exists.

    Raises
    ------
    ShapeError
        If there are no elements.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> int(fnp.nanargmin(fnp.asarray([fnp.nan, 1.0, 3.0])))
    1
    """
    refuse_out(out, "nanargmin")
    answer: Array = wrap(_nan_place(Argmin, np.inf, "nanargmin", a, axis, keepdims))
    return answer


# ---- means and deviations ----------------------------------------------------------------------


def _present(x: Any, where: Any, name: str) -> Any:
    """Which elements are not NaN, among those that a user asks for."""
    if not dtypes.is_inexact(dtype_of(x)):
        return where
    present = p.logical_not(p.isnan(x))
    if where is None or where is True:
        return wrap(present)
    return wrap(p.logical_and(present, p.not_equal(operand(where, name, "where"), 0)))


def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Arithmetic mean over axes, leaving out NaN.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to average over; None means all.
    dtype, keepdims, where
        As in `mean`.

    Returns
    -------
    Array
        NaN where there is nothing else. Differentiable in both modes; the slope towards NaN is 0.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanmean(fnp.asarray([1.0, fnp.nan, 3.0])))
    2.0
    """
    refuse_out(out, "nanmean")
    x = operand(a, "nanmean", "a")
    present = _present(x, where, "nanmean")
    answer: Array = wrap(averaged("nanmean", wrap(x), axis, dtype, keepdims, present))
    return answer


def _nan_variance(
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    ddof: Any,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: Any,
) -> tuple[Any, np.dtype[Any] | None]:
    x = operand(a, name, "a")
    present = _present(x, where, name)
    # Of numbers that cannot be NaN, it is the plain variance, here too.
    no_freedom = 0.0 if present is where else np.nan
    return variance(
        name, wrap(x), axis, dtype, ddof, keepdims, present, mean, correction, no_freedom
    )


def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """Variance over axes, leaving out NaN.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    dtype, ddof, keepdims, where, mean, correction
        As in `var`.

    Returns
    -------
    Array
        NaN where no degrees of freedom are left. Differentiable in both modes; the slope towards
        NaN is 0.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanvar(fnp.asarray([1.0, fnp.nan, 3.0])))
    1.0
    """
    refuse_out(out, "nanvar")
    answer, narrow = _nan_variance(
        "nanvar", a, axis, dtype, ddof, keepdims, where, mean, correction
    )
    return wrap(in_dtype(answer, narrow))  # type: ignore[no-any-return]


def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """Standard deviation over axes, leaving out NaN.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    dtype, ddof, keepdims, where, mean, correction
        As in `std`.

    Returns
    -------
    Array
        NaN where no degrees of freedom are left. Differentiable in both modes; the slope towards
        NaN is 0, and so is that where all elements are equal.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanstd(fnp.asarray([1.0, fnp.nan, 3.0])))
    1.0
    """
    refuse_out(out, "nanstd")
    answer, narrow = _nan_variance(
        "nanstd", a, axis, dtype, ddof, keepdims, where, mean, correction
    )
    return wrap(in_dtype(root(answer), narrow))  # type: ignore[no-any-return]
