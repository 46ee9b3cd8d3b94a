"""Medians, quantiles and percentiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import aval_of
from fgrad.numpy._order_statistics import (
    checked_method,
    checked_q,
    finished,
    merged_lanes,
    quantile_of,
    real_operand,
)
from fgrad.numpy._reducing import Axis
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    dtype_of,
    normal_axes,
    operand,
    refuse_out,
    shape_of,
    wrap,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Full
from fgrad.primitives.shape import static_index
from fgrad.primitives.sorting import Sort

# ---- quantiles -----------------------------------------------------------------------------------


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    interpolation: str | None = None,
) -> Array:
    """Quantiles over axes: the values below which a fraction of the elements lies.

    Parameters
    ----------
    a : array_like
        Real numbers.
    q : array_like
        Fractions between 0 and 1.
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    overwrite_input : bool
        Accepted for compatibility: arrays do not change.
    method : str
        How a quantile between two elements is found: one of NumPy's thirteen methods.
    keepdims : bool
        Whether the axes stay, with size one.
    weights : array_like, optional
        Of the shape of `a`, or of its shape along `axis`; for the method ``"inverted_cdf"``.
    interpolation : str, optional
        The older name of `method`.

    Returns
    -------
    Array
        Of the shape of `q`, followed by what is left of that of `a`; NaN where there is NaN.
        Differentiable in both modes towards `a` and, where interpolated, towards `q`.

    Raises
    ------
    ArgumentError
        If `q` is out of range, or there is no such method.
    ShapeError
        If there are no elements.
    DTypeError
        If `a` is complex.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.quantile(fnp.asarray([1.0, 2.0, 3.0, 4.0]), fnp.asarray([0.0, 0.5]))
    Array([1. , 2.5], dtype=float64)
    """
    refuse_out(out, "quantile")
    chosen = checked_method(method, interpolation, weights, "quantile")
    x, fractions = real_operand(a, "quantile"), checked_q(q, "quantile", 1.0)
    answer = quantile_of("quantile", x, fractions, axis, chosen, keepdims, weights, False)
    return wrap(answer)  # type: ignore[no-any-return]


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    interpolation: str | None = None,
) -> Array:
    """Percentiles over axes: quantiles of hundredths.

    Parameters
    ----------
    a : array_like
        Real numbers.
    q : array_like
        Percentages between 0 and 100.
    axis, overwrite_input, method, keepdims, weights, interpolation
        As in `quantile`.

    Returns
    -------
    Array
        Of the shape of `q`, followed by what is left of that of `a`; NaN where there is NaN.
        Differentiable in both modes towards `a` and, where interpolated, towards `q`.

    Raises
    ------
    ArgumentError
        If `q` is out of range, or there is no such method.
    ShapeError
        If there are no elements.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.percentile(fnp.asarray([1.0, 2.0, 3.0]), 25))
    1.5
    """
    refuse_out(out, "percentile")
    chosen = checked_method(method, interpolation, weights, "percentile")
    x, fractions = real_operand(a, "percentile"), checked_q(q, "percentile", 100.0)
    answer = quantile_of("percentile", x, fractions, axis, chosen, keepdims, weights, False)
    return wrap(answer)  # type: ignore[no-any-return]


def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    interpolation: str | None = None,
) -> Array:
    """Quantiles over axes, leaving out NaN.

    Parameters
    ----------
    a : array_like
        Real numbers.
    q : array_like
        Fractions between 0 and 1.
    axis, overwrite_input, method, keepdims, weights, interpolation
        As in `quantile`.

    Returns
    -------
    Array
        NaN where there is nothing else. Differentiable in both modes, as `quantile`.

    Raises
    ------
    ArgumentError
        If `q` is out of range, or there is no such method.
    ShapeError
        If there are no elements.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanquantile(fnp.asarray([1.0, fnp.nan, 3.0]), 0.5))
    2.0
    """
    refuse_out(out, "nanquantile")
    chosen = checked_method(method, interpolation, weights, "nanquantile")
    x, fractions = real_operand(a, "nanquantile"), checked_q(q, "nanquantile", 1.0)
    answer = quantile_of("nanquantile", x, fractions, axis, chosen, keepdims, weights, True)
    return wrap(answer)  # type: ignore[no-any-return]


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    interpolation: str | None = None,
) -> Array:
    """Percentiles over axes, leaving out NaN.

    Parameters
    ----------
    a : array_like
        Real numbers.
    q : array_like
        Percentages between 0 and 100.
    axis, overwrite_input, method, keepdims, weights, interpolation
        As in `quantile`.

    Returns
    -------
    Array
        NaN where there is nothing else. Differentiable in both modes, as `quantile`.

    Raises
    ------
    ArgumentError
        If `q` is out of range, or there is no such method.
    ShapeError
        If there are no elements.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanpercentile(fnp.asarray([1.0, fnp.nan, 3.0]), 50))
    2.0
    """
    refuse_out(out, "nanpercentile")
    chosen = checked_method(method, interpolation, weights, "nanpercentile")
    x, fractions = real_operand(a, "nanpercentile"), checked_q(q, "nanpercentile", 100.0)
    answer = quantile_of("nanpercentile", x, fractions, axis, chosen, keepdims, weights, True)
    return wrap(answer)  # type: ignore[no-any-return]


# ---- medians -------------------------------------------------------------------------------------


def median(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Median over axes: the middle element, or the mean of the two in the middle.

    Parameters
    ----------
    a : array_like
        Complex numbers are ordered by real part, then by imaginary part.
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    overwrite_input : bool
        Accepted for compatibility: arrays do not change.
    keepdims : bool
        Whether the axes stay, with size one.

    Returns
    -------
    Array
        Integers give float64. NaN where there is NaN, or nothing. Differentiable in both modes.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.median(fnp.asarray([3.0, 1.0, 2.0, 10.0])))
    2.5
    """
    refuse_out(out, "median")
    x = operand(a, "median", "a")
    shape, floating = shape_of(x), aval_of(p.cast_to_float(x))
    axes = normal_axes(axis, len(shape), "median")
    lanes = merged_lanes(x, axes)
    *rest, size = shape_of(lanes)
    if not size:
        nothing = Full(tuple(rest), np.nan, floating.dtype)()
        return wrap(finished(nothing, axes, shape, keepdims))  # type: ignore[no-any-return]
    ordered = Sort(len(rest))(lanes)
    low, high, greatest = [
        p.cast_to_float(static_index(ordered, (*[slice(None)] * len(rest), position)))
        for position in ((size - 1) // 2, size // 2, size - 1)
    ]
    middle = low if size % 2 else _mean_of_two(low, high)
    answer = p.select(p.isnan(greatest), np.nan, middle)
    answer = p.convert(answer, floating.dtype, floating.weak and not rest)
    return wrap(finished(answer, axes, shape, keepdims))  # type: ignore[no-any-return]


def _mean_of_two(low: Any, high: Any) -> Any:
    dtype = dtype_of(low)
    if dtype == np.float16:
        low, high = p.convert(low, dtypes.FLOAT32), p.convert(high, dtypes.FLOAT32)
    return p.convert(p.mul(0.5, p.add(low, high)), dtype)


def nanmedian(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Median over axes, leaving out NaN.

    Parameters
    ----------
    a : array_like
        Real numbers.
    axis : int or sequence of int, optional
        The axes to reduce; None means all.
    overwrite_input : bool
        Accepted for compatibility: arrays do not change.
    keepdims : bool
        Whether the axes stay, with size one.

    Returns
    -------
    Array
        Integers give float64. NaN where there is nothing else. Differentiable in both modes.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nanmedian(fnp.asarray([3.0, fnp.nan, 1.0])))
    2.0
    """
    refuse_out(out, "nanmedian")
    x = real_operand(a, "nanmedian")
    shape = shape_of(x)
    axes = normal_axes(axis, len(shape), "nanmedian")
    if 0 in [shape[axis] for axis in axes]:
        return median(wrap(x), axis, keepdims=keepdims)
    answer = quantile_of("nanmedian", x, 0.5, axis, "linear", keepdims, None, True)
    return wrap(answer)  # type: ignore[no-any-return]
