"""Gamma numbers, and what is made of them: beta, Dirichlet, chi-square, F, t, generalized normal.

The draws are differentiable towards their parameters, by the implicit derivative of the quantile
function of gamma numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.array import Array, wrap
from fgrad.avals import Shape, aval_of
from fgrad.errors import ShapeError
from fgrad.numpy._support import ArrayLike, DTypeLike
from fgrad.primitives.elementwise import div, exp, maximum, power, sqrt, stop_gradient, sub
from fgrad.primitives.families import Sum, add, mul, reshape
from fgrad.primitives.random_samplers import RandomGamma
from fgrad.primitives.reduction import Max
from fgrad.random.arguments import (
    check_fits,
    float_dtype,
    parameters,
    refuse_below,
    shape_of_draw,
    stretched,
)
from fgrad.random.key_arguments import single_key, split_words
from fgrad.random.normal import normals
from fgrad.random.uniform import signs


def gammas(words: Any, shape: Shape, a: Any, logarithms: bool = False) -> Any:
    """Gamma numbers of scale 1, or their logarithms, of the dtype of a."""
    return RandomGamma(shape, logarithms)(words, stretched(a, shape))


def gamma(
    key: Any,
    a: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw gamma numbers of scale 1.

    Parameters
    ----------
    key : key
        A single key.
    a : array_like
        The shape parameter of the distribution, positive.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable twice towards a.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.gamma(fgrad.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    _, words = single_key(key, "gamma")
    wanted = float_dtype(dtype, "gamma")
    size, (form,) = parameters("gamma", shape, wanted, a=a)
    refuse_below("gamma", "a", form, 0.0)
    return wrap(gammas(words, size, form))  # type: ignore[no-any-return]


def loggamma(
    key: Any,
    a: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw logarithms of gamma numbers, which are exact where the numbers are too small.

    Parameters
    ----------
    key : key
        A single key.
    a : array_like
        The shape parameter of the distribution, positive.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable twice towards a.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.loggamma(fgrad.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    _, words = single_key(key, "loggamma")
    wanted = float_dtype(dtype, "loggamma")
    size, (form,) = parameters("loggamma", shape, wanted, a=a)
    refuse_below("loggamma", "a", form, 0.0)
    return wrap(gammas(words, size, form, logarithms=True))  # type: ignore[no-any-return]


def beta(
    key: Any,
    a: ArrayLike,
    b: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw beta numbers, between 0 and 1.

    Parameters
    ----------
    key : key
        A single key.
    a, b : array_like
        The parameters of the distribution, positive.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable twice towards a and b.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.beta(fgrad.random.key(0), 2.0, 3.0, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "beta")
    wanted = float_dtype(dtype, "beta")
    size, (left, right) = parameters("beta", shape, wanted, a=a, b=b)
    refuse_below("beta", "a", left, 0.0)
    refuse_below("beta", "b", right, 0.0)
    first, second = split_words(implementation, words)
    log_x = gammas(first, size, left, logarithms=True)
    log_y = gammas(second, size, right, logarithms=True)
    # Their difference counts, so that both may be shifted.
    largest = stop_gradient(maximum(log_x, log_y))
    x, y = exp(sub(log_x, largest)), exp(sub(log_y, largest))
    return wrap(div(x, add(x, y)))  # type: ignore[no-any-return]


def dirichlet(
    key: Any,
    alpha: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw probabilities that add to one.

    Parameters
    ----------
    key : key
        A single key.
    alpha : array_like
        The parameters, positive, along the last axis.
    shape : int or sequence of int, optional
        The shape of the draws without the last axis; that of alpha by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Of shape ``(*shape, alpha.shape[-1])``. Differentiable twice towards alpha.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> import numpy as np
    >>> fgrad.random.dirichlet(fgrad.random.key(0), np.ones(3), (2,)).shape
    (2, 3)
    """
    _, words = single_key(key, "dirichlet")
    wanted = float_dtype(dtype, "dirichlet")
    _, (forms,) = parameters("dirichlet", None, wanted, alpha=alpha)
    own = aval_of(forms).shape
    if not own:
        raise ShapeError("dirichlet: alpha must have an axis of parameters, got a single number")
    refuse_below("dirichlet", "every entry of alpha", forms, 0.0)
    size = own[:-1] if shape is None else shape_of_draw(shape, "dirichlet")
    check_fits("dirichlet", "alpha without its last axis,", own[:-1], size)
    logs = gammas(words, (*size, own[-1]), forms, logarithms=True)
    if not own[-1]:
        return wrap(logs)  # type: ignore[no-any-return]
    last = (len(size),)
    shifted = exp(sub(logs, stop_gradient(reshape(Max(last)(logs), (*size, 1)))))
    return wrap(div(shifted, reshape(Sum(last)(shifted), (*size, 1))))  # type: ignore[no-any-return]


def chisquare(
    key: Any,
    df: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw chi-square numbers.

    Parameters
    ----------
    key : key
        A single key.
    df : array_like
        The degrees of freedom, positive.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable twice towards df.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.chisquare(fgrad.random.key(0), 3.0, (3,)).shape
    (3,)
    """
    _, words = single_key(key, "chisquare")
    wanted = float_dtype(dtype, "chisquare")
    size, (freedom,) = parameters("chisquare", shape, wanted, df=df)
    refuse_below("chisquare", "df", freedom, 0.0)
    return wrap(_chisquares(words, size, freedom))  # type: ignore[no-any-return]


def _chisquares(words: Any, shape: Shape, freedom: Any) -> Any:
    two = aval_of(freedom).dtype.type(2)
    return mul(exp(gammas(words, shape, div(freedom, two), logarithms=True)), two)


def f(
    key: Any,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw F numbers: ratios of chi-square numbers over their degrees of freedom.

    Parameters
    ----------
    key : key
        A single key.
    dfnum, dfden : array_like
        The degrees of freedom of numerator and denominator, positive.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable twice towards dfnum and dfden.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.f(fgrad.random.key(0), 3.0, 5.0, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "f")
    wanted = float_dtype(dtype, "f")
    size, (above, below) = parameters("f", shape, wanted, dfnum=dfnum, dfden=dfden)
    refuse_below("f", "dfnum", above, 0.0)
    refuse_below("f", "dfden", below, 0.0)
    first, second = split_words(implementation, words)
    numerator = div(_chisquares(first, size, above), above)
    return wrap(div(numerator, div(_chisquares(second, size, below), below)))  # type: ignore[no-any-return]


def t(
    key: Any,
    df: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw numbers of Student's t distribution.

    Parameters
    ----------
    key : key
        A single key.
    df : array_like
        The degrees of freedom, positive.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable twice towards df.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.t(fgrad.random.key(0), 3.0, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "t")
    wanted = float_dtype(dtype, "t")
    size, (freedom,) = parameters("t", shape, wanted, df=df)
    refuse_below("t", "df", freedom, 0.0)
    first, second = split_words(implementation, words)
    half = div(freedom, wanted.type(2))
    spread = sqrt(div(half, gammas(second, size, half)))
    return wrap(mul(normals(implementation, first, size, wanted), spread))  # type: ignore[no-any-return]


def generalized_normal(
    key: Any,
    p: float,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw numbers of density proportional to ``exp(-abs(x) ** p)``.

    Parameters
    ----------
    key : key
        A single key.
    p : float
        The exponent, positive; 1 gives Laplace numbers, 2 normal ones of variance 1/2.
    shape : int or sequence of int
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable twice towards p.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.generalized_normal(fgrad.random.key(0), 1.5, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "generalized_normal")
    wanted = float_dtype(dtype, "generalized_normal")
    size, (exponent,) = parameters("generalized_normal", shape, wanted, p=p)
    refuse_below("generalized_normal", "p", exponent, 0.0, strict=True)
    return wrap(generalized_normals(implementation, words, size, exponent))  # type: ignore[no-any-return]


def generalized_normals(implementation: str, words: Any, shape: Shape, exponent: Any) -> Any:
    """Numbers of density proportional to ``exp(-abs(x) ** exponent)``."""
    dtype = aval_of(exponent).dtype
    first, second = split_words(implementation, words)
    inverse = div(dtype.type(1), exponent)
    return mul(
        signs(implementation, second, shape, dtype), power(gammas(first, shape, inverse), inverse)
    )
