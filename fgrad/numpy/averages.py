"""Means, variances and standard deviations, weighted ones and those that leave out NaN included."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._direct import averaged_array, called
from fgrad.numpy._reducing import Axis, count_of, in_dtype, masked
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    DTypeLike,
    dtype_of,
    given_dtype,
    normal_axes,
    operand,
    refuse_out,
    shape_of,
    wrap,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Sum, broadcast_to, reshape, sum_over
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.reduction import keep_axes
from fgrad.primitives.shape import transpose
from fgrad.tracing import Tracer

_FLOAT16 = np.dtype(np.float16)
_FLOATS = frozenset(map(np.dtype, "fdFD"))


def _float16_in_32(x: Any, dtype: np.dtype[Any] | None) -> tuple[Any, np.dtype[Any] | None]:
    """An operand in the dtype to average in, and the dtype of the result where that differs."""
    if dtype is not None:
        return p.convert(x, dtype), None
    if type(x) is np.ndarray and x.dtype == dtypes.FLOAT64:
        return x, None
    x = p.cast_to_float(x)
    if dtype_of(x) == _FLOAT16:
        return p.convert(x, dtypes.FLOAT32), _FLOAT16
    return x, None


def average_over(x: Any, axes: tuple[int, ...], where: Any, name: str) -> Any:
    """The mean of an inside value, in its dtype."""
    total = sum_over(axes)(x if where is None else masked(x, where, 0, name))
    count = count_of(x, axes, where, name)
    if type(count) is int:
        count = float(count)
        if dtype_of(x).kind in "fc":
            # Sums keep this dtype, and so do quotients by a Python number.
            return p.div(total, count)
    aval = aval_of(x)
    total = p.convert(total, aval.dtype, aval.weak)
    return p.convert(p.div(total, count), aval.dtype, aval.weak)


def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Arithmetic mean over axes.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to average over; negative ones count from the end. None means all.
    dtype : dtype, optional
        The dtype to compute in. By default that of `a`; integers are averaged as float64, float16
        is summed in float32.
    keepdims : bool
        Whether the axes stay, with size one.
    where : array_like of bool, optional
        Which elements count; broadcast to the shape of `a`.

    Returns
    -------
    Array
        NaN for no elements. Differentiable in both modes.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.mean(fnp.asarray([[1, 2], [3, 4]]), axis=0)
    Array([2., 3.], dtype=float64)
    """
    if dtype is out is where is None:
        answer = averaged_array(a, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "mean")
    return wrap(averaged("mean", a, axis, dtype, keepdims, where))  # type: ignore[no-any-return]


def averaged(name: str, a: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    """`mean` of a user's argument, as an inside value."""
    x, narrow = _float16_in_32(operand(a, name, "a"), given_dtype(dtype, name))
    shape = shape_of(x)
    axes = normal_axes(axis, len(shape), name)
    answer = in_dtype(average_over(x, axes, where, name), narrow)
    return keep_axes(answer, axes, shape) if keepdims else answer


def _spread_of(values: np.ndarray[Any, Any], spread: Any, axis: Any, keepdims: Any) -> Any:
    """NumPy's variance or deviation of floats."""
    if not values.size or values.dtype not in _FLOATS:
        raise TypeError("narrow floats are widened, and nothing has no variance")
    return spread(values, axis, None, None, 0, keepdims)


# ---- deviations --------------------------------------------------------------------------------


def variance(
    name: str,
    a: Any,
    axis: Any,
    dtype: Any,
    ddof: Any,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: Any,
    no_freedom: float = 0.0,
) -> tuple[Any, np.dtype[Any] | None]:
    """`var` of a user's argument as an inside value, before it is cut to the dtype given second.

    Where no degrees of freedom are left, squares are divided by `no_freedom`.
    """
    if correction is not None:
        if ddof != 0:
            raise ArgumentError(
                f"{name}: ddof={ddof!r} and correction={correction!r} name one thing; give one"
            )
        ddof = correction
    x, narrow = _float16_in_32(operand(a, name, "a"), given_dtype(dtype, name))
    shape = shape_of(x)
    axes = normal_axes(axis, len(shape), name)
    if mean is None:
        center = keep_axes(average_over(x, axes, where, name), axes, shape)
    else:
        center = in_dtype(operand(mean, name, "mean"), dtype_of(x))
        _check_mean(center, axes, shape, name)
    deviation = p.sub(x, center)
    if dtype_of(deviation).kind == "c":
        squares = p.add(p.square(p.real(deviation)), p.square(p.imag(deviation)))
    else:
        squares = p.square(deviation)
    total = Sum(axes)(masked(squares, where, 0, name))
    count = count_of(x, axes, where, name)
    if type(count) is int and isinstance(ddof, (int, float)):
        freedom: Any = count - ddof if count > ddof else no_freedom
        freedom = float(freedom)
    else:
        freedom = p.sub(count, operand(ddof, name, "ddof"))
        freedom = p.select(p.less_equal(freedom, 0), no_freedom, freedom)
    aval = aval_of(total)
    answer = p.convert(p.div(total, freedom), aval.dtype, aval.weak)
    return (keep_axes(answer, axes, shape) if keepdims else answer), narrow


def _check_mean(center: Any, axes: tuple[int, ...], shape: tuple[int, ...], name: str) -> None:
    expected = tuple([1 if axis in axes else n for axis, n in enumerate(shape)])
    if shape_of(center) != expected:
        raise ShapeError(
            f"{name}: mean= has shape {shape_of(center)}, expected {expected}; compute it with keepdims=True"
        )


def root(v: Any) -> Any:
    """The square root of a variance, with slope 0 at 0."""
    if not isinstance(v, Tracer):
        return p.sqrt(v)
    flat = p.equal(v, 0.0)
    return p.select(flat, 0.0, p.sqrt(p.select(flat, 1.0, v)))


def var(
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
    """Variance over axes: the mean squared distance from the mean.

    Parameters
    ----------
    a : array_like
        For complex numbers, squared magnitudes are averaged.
    axis : int or sequence of int, optional
        The axes to reduce; negative ones count from the end. None means all.
    dtype : dtype, optional
        The dtype to compute in. By default that of `a`; integers are taken as float64, float16 is
        computed in float32.
    ddof, correction : float
        What is subtracted from the count of elements in the divisor: 1 gives the unbiased estimate.
    keepdims : bool
        Whether the axes stay, with size one.
    where : array_like of bool, optional
        Which elements count; broadcast to the shape of `a`.
    mean : array_like, optional
        The mean, if known, with the axes kept.

    Returns
    -------
    Array
        Real. Differentiable in both modes.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.
    ArgumentError
        If both `ddof` and `correction` are given.
    ShapeError
        If `mean` does not have the shape of a mean with the axes kept.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.var(fnp.asarray([1.0, 3.0]), ddof=1))
    2.0
    """
    if dtype is out is where is mean is correction is None and ddof == 0:
        answer = called(_spread_of, a, np.var, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "var")
    answer, narrow = variance("var", a, axis, dtype, ddof, keepdims, where, mean, correction)
    return wrap(in_dtype(answer, narrow))  # type: ignore[no-any-return]


def std(
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
    """Standard deviation over axes: the square root of the variance.

    Parameters
    ----------
    a : array_like
        For complex numbers, squared magnitudes are averaged.
    axis : int or sequence of int, optional
        The axes to reduce; negative ones count from the end. None means all.
    dtype : dtype, optional
        The dtype to compute in. By default that of `a`; integers are taken as float64, float16 is
        computed in float32.
    ddof, correction : float
        What is subtracted from the count of elements in the divisor: 1 gives the unbiased variance.
    keepdims : bool
        Whether the axes stay, with size one.
    where : array_like of bool, optional
        Which elements count; broadcast to the shape of `a`.
    mean : array_like, optional
        The mean, if known, with the axes kept.

    Returns
    -------
    Array
        Real. Differentiable in both modes; where all elements are equal, the slope is 0.

    Raises
    ------
    AxisError
        If `a` does not have an axis, or it is named twice.
    ArgumentError
        If both `ddof` and `correction` are given.
    ShapeError
        If `mean` does not have the shape of a mean with the axes kept.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> float(fnp.std(fnp.asarray([1.0, 3.0])))
    1.0
    >>> fgrad.grad(fnp.std)(fnp.ones(2))
    Array([0., 0.], dtype=float64)
    """
    if dtype is out is where is mean is correction is None and ddof == 0:
        answer = called(_spread_of, a, np.std, axis, keepdims)
        if answer is not None:
            return answer
    refuse_out(out, "std")
    answer, narrow = variance("std", a, axis, dtype, ddof, keepdims, where, mean, correction)
    return wrap(in_dtype(root(answer), narrow))  # type: ignore[no-any-return]


# ---- weights -----------------------------------------------------------------------------------


def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Weighted average over axes.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        The axes to average over; None means all.
    weights : array_like, optional
        Of the shape of `a`, or of its shape along `axis`. None weighs all elements alike.
    returned : bool
        Whether to return the sum of the weights too.
    keepdims : bool
        Whether the axes stay, with size one.

    Returns
    -------
    Array, or tuple of Array
        The average; with `returned`, the sums of weights second. Differentiable in both modes,
        towards the weights too.

    Raises
    ------
    ShapeError
        If the weights do not fit.
    AxisError
        If `a` does not have an axis, or it is named twice.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.average(fnp.asarray([1.0, 2.0]), weights=fnp.asarray([3.0, 1.0])))
    1.25
    """
    x = operand(a, "average", "a")
    shape = shape_of(x)
    axes = normal_axes(axis, len(shape), "average")
    if weights is None:
        answer = averaged("average", x, axis, None, keepdims, None)
        aval = aval_of(answer)
        total = float(count_of(x, axes, None, "average"))
        if not returned:
            return wrap(answer)
        counts = broadcast_to(p.convert(total, aval.dtype, aval.weak), aval.shape)
        return wrap(answer), wrap(counts)
    w = operand(weights, "average", "weights")
    pair = [
        aval_of(p.cast_to_float(x)) if dtypes.kind_of(dtype_of(x)) in "bui" else aval_of(x),
        aval_of(w),
    ]
    dtype = dtypes.canonical(common_dtype(pair))
    weak = pair[0].weak and pair[1].weak
    w = p.convert(fitting_weights(w, shape, axis, axes, "average"), dtype, weak)
    total = Sum(axes)(w)
    answer = p.div(Sum(axes)(p.mul(p.convert(x, dtype, weak), w)), total)
    results = [keep_axes(v, axes, shape) if keepdims else v for v in (answer, total)]
    return tuple(map(wrap, results)) if returned else wrap(results[0])


def fitting_weights(w: Any, shape: Any, axis: Any, axes: tuple[int, ...], name: str) -> Any:
    """Weights of the shape of the array, from weights along axes in the order of their names."""
    own = shape_of(w)
    if own == shape:
        return w
    if axis is None:
        raise ShapeError(
            f"{name}: weights of shape {own} for an array of shape {shape}; give axis=, along which they run"
        )
    named = [axis] if isinstance(axis, int) else list(axis)
    order = [a % len(shape) for a in named]
    expected = tuple([shape[a] for a in order])
    if own != expected:
        raise ShapeError(
            f"{name}: weights of shape {own}, expected {shape}, or {expected} along axis {axis}"
        )
    sorted_weights = transpose(w, sorted(range(len(order)), key=order.__getitem__))
    kept = tuple([n if a in axes else 1 for a, n in enumerate(shape)])
    return broadcast_to(reshape(sorted_weights, kept), shape)
