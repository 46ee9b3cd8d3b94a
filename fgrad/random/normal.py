"""Normal numbers, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.array import Array, wrap
from fgrad.avals import Shape
from fgrad.errors import DTypeError
from fgrad.numpy._support import ArrayLike, DTypeLike, given_dtype
from fgrad.primitives.elementwise import (
    complex_,
    div,
    exp,
    less_equal,
    maximum,
    minimum,
    nextafter,
    select,
    sqrt,
    square,
    stop_gradient,
    sub,
)
from fgrad.primitives.families import Sum, add, mul
from fgrad.primitives.random import RandomNormals
from fgrad.primitives.special import erf, erfinv
from fgrad.random.arguments import float_dtype, kind_of, parameters, refuse_below, shape_of_draw
from fgrad.random.key_arguments import single_key, split_words
from fgrad.random.uniform import between, signs, units


def normal(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Array:
    """Draw standard normal numbers; ``mean + sd * normal(key, shape)`` has another mean and scale.

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        float64 by default. Complex numbers have independent parts of variance 1/2.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or the dtype an integer.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.normal(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    implementation, words = single_key(key, "normal")
    size = shape_of_draw(shape, "normal")
    wanted = given_dtype(dtype, "normal")
    if wanted is not None and kind_of(wanted) not in "fc":
        raise DTypeError(f"normal: dtype must be a floating-point or complex dtype, got {wanted}")
    wanted = wanted or float_dtype(None, "normal")
    return wrap(normals_of_dtype(implementation, words, size, wanted))  # type: ignore[no-any-return]


def normals_of_dtype(implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Standard normal numbers, real or complex."""
    if dtype.kind != "c":
        return normals(implementation, words, shape, dtype)
    parts = np.zeros((), dtype).real.dtype
    real, imaginary = [
        normals(implementation, half, shape, parts) for half in split_words(implementation, words)
    ]
    return div(complex_(real, imaginary), parts.type(math.sqrt(2.0)))


def normals(implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Standard normal numbers."""
    return RandomNormals(implementation, shape, dtype)(words)


def truncated_normal(
    key: Any,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw standard normal numbers between two bounds.

    Parameters
    ----------
    key : key
        A single key.
    lower, upper : array_like
        The bounds, ``lower < upper``.
    shape : int or sequence of int, optional
        The bounds broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Strictly between the bounds; differentiable towards them.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or the bounds do not fit.

    Examples
    --------
    >>> import fgrad
    >>> x = fgrad.random.truncated_normal(fgrad.random.key(0), -1.0, 2.0, (1000,))
    >>> bool(x.min() > -1.0), bool(x.max() < 2.0)
    (True, True)
    """
    implementation, words = single_key(key, "truncated_normal")
    wanted = float_dtype(dtype, "truncated_normal")
    size, (low, high) = parameters("truncated_normal", shape, wanted, lower=lower, upper=upper)
    return wrap(truncated_normals(implementation, words, size, wanted, low, high))  # type: ignore[no-any-return]


def truncated_normals(
    implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any], low: Any, high: Any
) -> Any:
    """Standard normal numbers between two bounds of the dtype."""
    root = dtype.type(math.sqrt(2.0))
    u = between(implementation, words, shape, dtype, erf(div(low, root)), erf(div(high, root)))
    draws = mul(root, erfinv(u))
    # Rounding may lead to a bound or over it.
    least = nextafter(stop_gradient(low), dtype.type(np.inf))
    greatest = nextafter(stop_gradient(high), dtype.type(-np.inf))
    return minimum(greatest, maximum(least, draws))


def lognormal(
    key: Any,
    sigma: ArrayLike = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw numbers whose logarithms are normal, of mean 0.

    Parameters
    ----------
    key : key
        A single key.
    sigma : array_like
        The standard deviation of the logarithms.
    shape : int or sequence of int, optional
        sigma broadcasts to it; its shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable towards sigma.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or sigma does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.lognormal(fgrad.random.key(0), 0.5, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "lognormal")
    wanted = float_dtype(dtype, "lognormal")
    size, (spread,) = parameters("lognormal", shape, wanted, sigma=sigma)
    refuse_below("lognormal", "sigma", spread, 0.0)
    return wrap(exp(mul(normals(implementation, words, size, wanted), spread)))  # type: ignore[no-any-return]


def maxwell(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Array:
    """Draw lengths of vectors of three standard normal numbers.

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
    >>> fgrad.random.maxwell(fgrad.random.key(0), (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "maxwell")
    size, wanted = shape_of_draw(shape, "maxwell"), float_dtype(dtype, "maxwell")
    return wrap(_lengths(implementation, words, size, wanted))  # type: ignore[no-any-return]


def _lengths(implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    vectors = normals(implementation, words, (*shape, 3), dtype)
    return sqrt(Sum((len(shape),))(square(vectors)))


def double_sided_maxwell(
    key: Any,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
) -> Array:
    """Draw Maxwell numbers of either sign.

    Parameters
    ----------
    key : key
        A single key.
    loc, scale : array_like
        Where the distribution has its middle, and how wide it is; they broadcast with `shape`.
    shape : int or sequence of int
        The shape of the draws before they meet loc and scale.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.

    Returns
    -------
    Array
        Differentiable towards loc and scale.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit, or the scale is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.double_sided_maxwell(fgrad.random.key(0), 0.0, 1.0, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "double_sided_maxwell")
    wanted = float_dtype(dtype, "double_sided_maxwell")
    size, (middle, spread) = parameters("double_sided_maxwell", shape, wanted, loc=loc, scale=scale)
    refuse_below("double_sided_maxwell", "scale", spread, 0.0)
    first, second = split_words(implementation, words)
    lengths = _lengths(implementation, first, size, wanted)
    directed = mul(signs(implementation, second, size, wanted), lengths)
    return wrap(add(mul(directed, spread), middle))  # type: ignore[no-any-return]


def wald(
    key: Any,
    mean: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw numbers of Wald's distribution, the inverse Gaussian, of scale 1.

    Parameters
    ----------
    key : key
        A single key.
    mean : array_like
        The mean, positive.
    shape : int or sequence of int, optional
        The mean broadcasts to it; its shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable towards the mean, but for the choice between two roots.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or the mean does not fit or is not positive.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.wald(fgrad.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "wald")
    wanted = float_dtype(dtype, "wald")
    size, (middle,) = parameters("wald", shape, wanted, mean=mean)
    refuse_below("wald", "mean", middle, 0.0, strict=True)
    first, second = split_words(implementation, words)
    y = square(normals(implementation, first, size, wanted))
    middle_square = square(middle)
    root = sqrt(add(mul(mul(4.0, middle), y), mul(middle_square, square(y))))
    x = sub(add(middle, div(mul(middle_square, y), 2.0)), mul(div(middle, 2.0), root))
    u = units(implementation, second, size, wanted)
    return wrap(select(less_equal(u, div(middle, add(middle, x))), x, div(middle_square, x)))  # type: ignore[no-any-return]
