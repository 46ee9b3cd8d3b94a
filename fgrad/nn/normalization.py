"""Functions that normalise along axes: softmax and its kin, standardisation, one-hot coding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fgrad import dtypes
from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axes,
    normal_axis,
    operand,
    static_int,
    stretched,
    wrap,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Sum
from fgrad.primitives.reduction import LogSumExp, Max, keep_axes
from fgrad.primitives.shape import expand_dims, iota

Axis = int | Sequence[int] | None


def _prepared(
    x: ArrayLike, axis: Axis, where: ArrayLike | None, name: str
) -> tuple[Any, tuple[int, ...], Any]:
    """A float array, axes, and the mask stretched to the shape of the array."""
    inside = p.cast_to_float(operand(x, name))
    shape = aval_of(inside).shape
    axes = normal_axes(axis, len(shape), name)
    if where is None:
        return inside, axes, None
    mask = operand(where, name, "where")
    if aval_of(mask).dtype != dtypes.BOOL:
        raise DTypeError(
            f"{name}: where has dtype {aval_of(mask).dtype}, expected bool; compare it first"
        )
    return inside, axes, stretched(mask, shape, name)


def _masked(x: Any, mask: Any, fill: float) -> Any:
    return x if mask is None else p.select(mask, x, fill)


def _top(x: Any, axes: tuple[int, ...]) -> Any:
    """The maximum along axes, which stay at size one, as a constant to shift exponents by; 0 if infinite."""
    shape = aval_of(x).shape
    if not math.prod(shape[axis] for axis in axes):
        return 0.0
    top = Max(axes)(p.stop_gradient(p.real(x)))
    return keep_axes(p.select(p.isfinite(top), top, 0.0), axes, shape)


def _total(x: Any, axes: tuple[int, ...]) -> Any:
    return keep_axes(Sum(axes)(x), axes, aval_of(x).shape)


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Exponentials divided by their sum along axes.

    Parameters
    ----------
    x : array_like
    axis : int, sequence of int or None
        The axes along which the result sums to one; None means all.
    where : array_like of bool, optional
        Which elements take part; the others are 0 in the result.

    Returns
    -------
    Array
        Of the shape of x, floating. Differentiable to every order. NaN where no element is finite.

    Raises
    ------
    AxisError
        If x has not these axes.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.softmax(np.array([1000.0, 1000.0, -np.inf]))
    Array([0.5, 0.5, 0. ], dtype=float64)
    """
    inside, axes, mask = _prepared(x, axis, where, "softmax")
    kept = _masked(inside, mask, -math.inf)
    powers = p.exp(p.sub(kept, _top(kept, axes)))
    total = _total(powers, axes)
    if mask is not None:
        # Where nothing takes part, nothing is divided by this.
        total = p.select(p.equal(total, 0.0), 1.0, total)
    return wrap(p.div(powers, total))  # type: ignore[no-any-return]


def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Logarithms of `softmax`, without overflow or cancellation.

    Parameters
    ----------
    x : array_like
    axis : int, sequence of int or None
        The axes along which the exponentials of the result sum to one; None means all.
    where : array_like of bool, optional
        Which elements take part; the others are -inf in the result.

    Returns
    -------
    Array
        Of the shape of x, floating. Differentiable to every order.

    Raises
    ------
    AxisError
        If x has not these axes.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.log_softmax(np.array([0.0, -1000.0]))
    Array([    0., -1000.], dtype=float64)
    """
    inside, axes, mask = _prepared(x, axis, where, "log_softmax")
    kept = _masked(inside, mask, -math.inf)
    shifted = p.sub(kept, _top(kept, axes))
    total = _total(p.exp(shifted), axes)
    if mask is not None:
        total = p.select(p.equal(total, 0.0), 1.0, total)
    return wrap(p.sub(shifted, p.log(total)))  # type: ignore[no-any-return]


def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """``log(sum(b * exp(a)))`` along axes, without overflow.

    Parameters
    ----------
    a : array_like
    axis : int, sequence of int or None
        The axes to sum over; None means all.
    b : array_like, optional
        Factors of the exponentials, which may be negative.
    keepdims : bool
        Whether the axes stay, with size one.
    return_sign : bool
        Whether to return the sign of the sum as well, and the logarithm of its magnitude.
    where : array_like of bool, optional
        Which elements take part.

    Returns
    -------
    Array, or a pair of Array if `return_sign`
        Floating; -inf where nothing takes part. Differentiable to every order: the slopes are those
        of `softmax`, and where all of `a` is -inf they are equal and add to one.

    Raises
    ------
    AxisError
        If a has not these axes.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> float(fgrad.nn.logsumexp(np.array([1000.0, -np.inf])))
    1000.0
    """
    inside = p.cast_to_float(operand(a, "logsumexp"))
    factors = None
    if b is not None:
        factors = operand(b, "logsumexp", "b")
        inside, factors = p.broadcast_together("logsumexp", inside, factors)
    inside, axes, mask = _prepared(wrap(inside), axis, where, "logsumexp")
    shape = aval_of(inside).shape
    if factors is None:
        result = LogSumExp(axes)(_masked(inside, mask, -math.inf))
        sign: Any = p.sign(p.exp(p.stop_gradient(result))) if return_sign else None
    else:
        # A factor of zero takes its exponential, infinite perhaps, out of the sum.
        present = p.not_equal(factors, 0)
        mask = present if mask is None else p.logical_and(mask, present)
        kept = _masked(inside, mask, -math.inf)
        top = _top(kept, axes)
        total = Sum(axes)(_masked(p.mul(factors, p.exp(p.sub(kept, top))), mask, 0.0))
        sign = p.sign(p.stop_gradient(total))
        magnitude = p.abs_(total) if return_sign else total
        flat = top if type(top) is float else Sum(axes)(top)
        result = p.add(p.log(magnitude), flat)
    if keepdims:
        result = keep_axes(result, axes, shape)
        sign = None if sign is None else keep_axes(sign, axes, shape)
    return (wrap(result), wrap(sign)) if return_sign else wrap(result)


def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """``log(mean(exp(x)))`` along axes, without overflow.

    Parameters
    ----------
    x : array_like
    axis : int, sequence of int or None
        The axes to average over; None means all.
    where : array_like of bool, optional
        Which elements take part.
    keepdims : bool
        Whether the axes stay, with size one.

    Returns
    -------
    Array
        Floating. Differentiable to every order.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> float(fgrad.nn.logmeanexp(np.array([1000.0, 1000.0])))
    1000.0
    """
    inside, axes, mask = _prepared(x, axis, where, "logmeanexp")
    result = LogSumExp(axes)(_masked(inside, mask, -math.inf))
    answer = p.sub(result, p.log(_count(inside, axes, mask)))
    return wrap(keep_axes(answer, axes, aval_of(inside).shape) if keepdims else answer)  # type: ignore[no-any-return]


def _count(x: Any, axes: tuple[int, ...], mask: Any) -> Any:
    """How many elements take part, as a number of the dtype of `x`."""
    if mask is None:
        return float(math.prod(aval_of(x).shape[axis] for axis in axes))
    return p.convert(Sum(axes)(mask), aval_of(x).dtype)


def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "two_pass",
) -> Array:
    """Shift and scale to mean 0 and variance 1 along axes.

    Parameters
    ----------
    x : array_like
    axis : int, sequence of int or None
        The axes over which mean and variance are taken; None means all.
    mean, variance : array_like, optional
        Used in place of those of x.
    epsilon : array_like
        Added to the variance, against division by zero.
    where : array_like of bool, optional
        Which elements mean and variance are taken of.
    algorithm : str
        Accepted for compatibility: the variance is always that of the deviations from the mean.

    Returns
    -------
    Array
        Of the shape of x, floating. Differentiable to every order.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.standardize(np.array([1.0, 3.0]), epsilon=0.0)
    Array([-1.,  1.], dtype=float64)
    """
    inside, axes, mask = _prepared(x, axis, where, "standardize")
    shape = aval_of(inside).shape
    count = _count(inside, axes, mask)

    def averaged(values: Any) -> Any:
        return keep_axes(p.div(Sum(axes)(_masked(values, mask, 0.0)), count), axes, shape)

    center = averaged(inside) if mean is None else operand(mean, "standardize", "mean")
    deviations = p.sub(inside, center)
    if variance is None:
        spread = averaged(p.real(p.mul(deviations, p.conj(deviations))))
    else:
        spread = operand(variance, "standardize", "variance")
    return wrap(  # type: ignore[no-any-return]
        p.div(deviations, p.sqrt(p.add(spread, operand(epsilon, "standardize", "epsilon"))))
    )


def one_hot(x: ArrayLike, num_classes: int, *, dtype: DTypeLike = None, axis: int = -1) -> Array:
    """Code integers as vectors with a one at their place.

    Parameters
    ----------
    x : array_like
        Classes, from 0. Others, such as -1, are coded as zeros.
    num_classes : int
        The length of the vectors.
    dtype : dtype-like, optional
        Of the result; float64 by default.
    axis : int
        Where the new axis goes in the result.

    Returns
    -------
    Array
        With one axis more than x. Its derivative is zero.

    Raises
    ------
    ArgumentError
        If `num_classes` is negative.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.one_hot(np.array([1, 0]), 3)
    Array([[0., 1., 0.],
           [1., 0., 0.]], dtype=float64)
    """
    inside = operand(x, "one_hot")
    count = static_int(num_classes, "one_hot: num_classes")
    if count < 0:
        raise ArgumentError(f"one_hot: num_classes is {count}; give a number that is not negative")
    wanted = given_dtype(dtype, "one_hot") or dtypes.canonical(dtypes.FLOAT64)
    if dtypes.kind_of(aval_of(inside).dtype) in "iu":
        # Places may be of fewer bits than the number of classes.
        inside = p.convert(inside, dtypes.canonical(dtypes.INT64))
    ndim = len(aval_of(inside).shape) + 1
    position = normal_axis(axis, ndim, "one_hot")
    classes = expand_dims(iota(count), [n for n in range(ndim) if n != position])
    return wrap(p.convert(p.equal(expand_dims(inside, [position]), classes), wanted))  # type: ignore[no-any-return]


def normalize(x: ArrayLike, axis: Axis = -1, epsilon: ArrayLike = 1e-12, ord: float = 2) -> Array:
    """Scale to length one along axes.

    Parameters
    ----------
    x : array_like
    axis : int, sequence of int or None
        The axes along which the length is measured; None means all.
    epsilon : array_like
        Lengths below this one are raised to it, against division by zero.
    ord : 1, 2 or inf
        Which norm is the length: the sum of magnitudes, the Euclidean one, or the largest
        magnitude.

    Returns
    -------
    Array
        Of the shape of x, floating. Differentiable to every order; a vector of zeros stays one,
        with slope ``1 / epsilon``.

    Raises
    ------
    ArgumentError
        If `ord` is another number.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.normalize(np.array([3.0, 4.0]))
    Array([0.6, 0.8], dtype=float64)
    """
    inside, axes, _ = _prepared(x, axis, None, "normalize")
    shape = aval_of(inside).shape
    least = operand(epsilon, "normalize", "epsilon")
    if ord == 2:
        # The root is taken of what is already above zero, so that its slope is finite.
        total = _total(p.real(p.mul(inside, p.conj(inside))), axes)
        length = p.sqrt(p.maximum(total, p.square(least)))
    elif ord == 1:
        length = p.maximum(_total(p.abs_(inside), axes), least)
    elif ord == math.inf:
        length = p.maximum(keep_axes(Max(axes)(p.abs_(inside)), axes, shape), least)
    else:
        raise ArgumentError(f"normalize: ord is {ord!r}; give 1, 2 or inf")
    return wrap(p.div(inside, length))  # type: ignore[no-any-return]
