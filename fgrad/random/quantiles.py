"""Distributions whose quantile function turns uniform numbers into draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.array import Array, wrap
from fgrad.avals import Shape
from fgrad.numpy._support import ArrayLike, DTypeLike
from fgrad.numpy.types import finfo
from fgrad.primitives.elementwise import (
    abs_,
    div,
    exp,
    greater_equal,
    less,
    log,
    log1p,
    power,
    select,
    sign,
    sqrt,
    sub,
    tan,
)
from fgrad.primitives.families import add, mul, neg
from fgrad.random.arguments import (
    float_dtype,
    parameters,
    refuse_below,
    shape_of_draw,
)
from fgrad.random.key_arguments import single_key
from fgrad.random.uniform import between, choose_mode, two_rows, units


def exponential(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Array:
    """Draw exponential numbers of mean 1.

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or the dtype not floating-point.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.exponential(fgrad.random.key(0), (2,), "float32").shape
    (2,)
    """
    implementation, words = single_key(key, "exponential")
    size, wanted = shape_of_draw(shape, "exponential"), float_dtype(dtype, "exponential")
    return wrap(exponentials(implementation, words, size, wanted))  # type: ignore[no-any-return]


def exponentials(implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Exponential numbers of mean 1."""
    return neg(log1p(neg(units(implementation, words, shape, dtype))))


def laplace(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Array:
    """Draw Laplace numbers of mean 0 and scale 1.

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or the dtype not floating-point.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.laplace(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    implementation, words = single_key(key, "laplace")
    size, wanted = shape_of_draw(shape, "laplace"), float_dtype(dtype, "laplace")
    number = wanted.type
    low = np.nextafter(number(-1), number(0))
    u = between(implementation, words, size, wanted, low, number(1))
    return wrap(mul(sign(u), log1p(neg(abs_(u)))))  # type: ignore[no-any-return]


def cauchy(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Array:
    """Draw Cauchy numbers of location 0 and scale 1.

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or the dtype not floating-point.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.cauchy(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    implementation, words = single_key(key, "cauchy")
    size, wanted = shape_of_draw(shape, "cauchy"), float_dtype(dtype, "cauchy")
    number = wanted.type
    u = between(implementation, words, size, wanted, number(finfo(wanted).eps), number(1))
    return wrap(tan(mul(number(math.pi), sub(u, number(0.5)))))  # type: ignore[no-any-return]


def logistic(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Array:
    """Draw logistic numbers of mean 0 and scale 1.

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or the dtype not floating-point.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.logistic(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    implementation, words = single_key(key, "logistic")
    size, wanted = shape_of_draw(shape, "logistic"), float_dtype(dtype, "logistic")
    u = between(implementation, words, size, wanted, _tiny(wanted), wanted.type(1))
    return wrap(sub(log(u), log1p(neg(u))))  # type: ignore[no-any-return]


def _tiny(dtype: np.dtype[Any]) -> Any:
    """The least normal number: the logarithm of what is drawn above it is finite."""
    return dtype.type(finfo(dtype).tiny)


def gumbel(
    key: Any,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw Gumbel numbers of location 0 and scale 1.

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    mode : {"low", "high"}, optional
        "high" draws twice as many bits, for the far tails; "low" by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, the dtype not floating-point, or the mode not known.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.gumbel(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    implementation, words = single_key(key, "gumbel")
    size, wanted = shape_of_draw(shape, "gumbel"), float_dtype(dtype, "gumbel")
    return wrap(gumbels(implementation, words, size, wanted, choose_mode(mode, "gumbel")))  # type: ignore[no-any-return]


def gumbels(
    implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any], mode: str = "low"
) -> Any:
    """Gumbel numbers of location 0 and scale 1."""
    number, tiny = dtype.type, _tiny(dtype)
    if mode == "low":
        u = between(implementation, words, shape, dtype, tiny, number(1))
        return neg(log(neg(log(u))))
    coarse, fine = two_rows(units(implementation, words, (2, *shape), dtype))
    # Below one half there is room for more bits.
    finer = add(add(coarse, mul(number(finfo(dtype).eps), fine)), tiny)
    u = select(greater_equal(coarse, number(0.5)), coarse, finer)
    return neg(log(neg(log1p(neg(u)))))


def rayleigh(
    key: Any,
    scale: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw Rayleigh numbers.

    Parameters
    ----------
    key : key
        A single key.
    scale : array_like
        The scale, which is not negative.
    shape : int or sequence of int, optional
        The scale broadcasts to it; its shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable towards the scale.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or the scale does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.rayleigh(fgrad.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "rayleigh")
    wanted = float_dtype(dtype, "rayleigh")
    size, (spread,) = parameters("rayleigh", shape, wanted, scale=scale)
    refuse_below("rayleigh", "scale", spread, 0.0)
    u = units(implementation, words, size, wanted)
    return wrap(mul(spread, sqrt(mul(log(u), wanted.type(-2)))))  # type: ignore[no-any-return]


def weibull_min(
    key: Any,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Array:
    """Draw Weibull numbers.

    Parameters
    ----------
    key : key
        A single key.
    scale, concentration : array_like
        Positive; they broadcast to `shape`.
    shape : int or sequence of int
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.

    Returns
    -------
    Array
        Differentiable towards scale and concentration.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.weibull_min(fgrad.random.key(0), 2.0, 1.5, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "weibull_min")
    wanted = float_dtype(dtype, "weibull_min")
    size, (spread, exponent) = parameters(
        "weibull_min", shape, wanted, scale=scale, concentration=concentration
    )
    refuse_below("weibull_min", "scale", spread, 0.0)
    refuse_below("weibull_min", "concentration", exponent, 0.0, strict=True)
    steps = exponentials(implementation, words, size, wanted)
    return wrap(mul(power(steps, div(wanted.type(1), exponent)), spread))  # type: ignore[no-any-return]


def pareto(
    key: Any,
    b: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw Pareto numbers, of [1, inf).

    Parameters
    ----------
    key : key
        A single key.
    b : array_like
        The exponent of the tail, positive.
    shape : int or sequence of int, optional
        b broadcasts to it; the shape of b by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable towards b.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or b does not fit or is not positive.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.pareto(fgrad.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "pareto")
    wanted = float_dtype(dtype, "pareto")
    size, (tail,) = parameters("pareto", shape, wanted, b=b)
    refuse_below("pareto", "b", tail, 0.0, strict=True)
    return wrap(exp(div(exponentials(implementation, words, size, wanted), tail)))  # type: ignore[no-any-return]


def triangular(
    key: Any,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw triangular numbers: the density rises from `left` to `mode` and falls to `right`.

    Parameters
    ----------
    key : key
        A single key.
    left, mode, right : array_like
        In this order, ``left <= mode <= right`` and ``left < right``.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable towards the parameters.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or the parameters do not fit or are not in order.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.triangular(fgrad.random.key(0), 0.0, 1.0, 2.0, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "triangular")
    wanted = float_dtype(dtype, "triangular")
    size, (low, peak, high) = parameters(
        "triangular", shape, wanted, left=left, mode=mode, right=right
    )
    refuse_below("triangular", "mode - left", sub(peak, low), 0.0)
    refuse_below("triangular", "right - mode", sub(high, peak), 0.0)
    u = units(implementation, words, size, wanted)
    width = sub(high, low)
    rising = add(low, sqrt(mul(mul(u, width), sub(peak, low))))
    falling = sub(high, sqrt(mul(mul(sub(wanted.type(1), u), width), sub(high, peak))))
    return wrap(select(less(u, div(sub(peak, low), width)), rising, falling))  # type: ignore[no-any-return]
