"""Counts: Poisson, binomial, geometric and multinomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ShapeError
from fgrad.numpy._support import ArrayLike, DTypeLike
from fgrad.primitives.elementwise import (
    convert,
    div,
    equal,
    floor,
    greater,
    less,
    log,
    log1p,
    logical_and,
    select,
)
from fgrad.primitives.families import add, broadcast_to, neg
from fgrad.primitives.random_samplers import RandomBinomial, RandomMultinomial, RandomPoisson
from fgrad.random.arguments import (
    check_fits,
    float_dtype,
    int_dtype,
    parameters,
    refuse_below,
    shape_of_draw,
    stretched,
)
from fgrad.random.key_arguments import single_key
from fgrad.random.uniform import units


def poisson(
    key: Any,
    lam: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw Poisson counts.

    Parameters
    ----------
    key : key
        A single key.
    lam : array_like
        The mean, not negative.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        An integer dtype; int64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Of integers; -1 where the mean is NaN. Counts beyond the dtype are its greatest number.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.poisson(fgrad.random.key(0), 4.0, (3,)).shape
    (3,)
    """
    _, words = single_key(key, "poisson")
    wanted = int_dtype(dtype, "poisson")
    size, (mean,) = parameters("poisson", shape, float_dtype(None, "poisson"), lam=lam)
    refuse_below("poisson", "lam", mean, 0.0)
    return wrap(RandomPoisson(size, wanted)(words, stretched(mean, size)))  # type: ignore[no-any-return]


def binomial(
    key: Any,
    n: ArrayLike,
    p: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
) -> Array:
    """Draw binomial counts.

    Parameters
    ----------
    key : key
        A single key.
    n : array_like
        The number of trials.
    p : array_like
        The probability of success.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.

    Returns
    -------
    Array
        Of floats, as in JAX; NaN where n is negative, or p is not between 0 and 1.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or a parameter does not fit.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.binomial(fgrad.random.key(0), 10, 0.3, (3,)).shape
    (3,)
    """
    _, words = single_key(key, "binomial")
    wanted = float_dtype(dtype, "binomial")
    size, (trials, chance) = parameters("binomial", shape, wanted, n=n, p=p)
    draw = RandomBinomial(size)
    return wrap(draw(words, stretched(trials, size), stretched(chance, size)))  # type: ignore[no-any-return]


def geometric(
    key: Any,
    p: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw the number of trials up to the first success.

    Parameters
    ----------
    key : key
        A single key.
    p : array_like
        The probability of success.
    shape : int or sequence of int, optional
        The parameters broadcast to it; their common shape by default.
    dtype : dtype-like, optional
        An integer dtype; int64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Of integers, 1 at least; the greatest number of the dtype where p is 0, and 0 where p is no
        probability.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or p does not fit.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.geometric(fgrad.random.key(0), 0.3, (3,)).shape
    (3,)
    """
    implementation, words = single_key(key, "geometric")
    wanted = int_dtype(dtype, "geometric")
    working = float_dtype(None, "geometric")
    size, (chance,) = parameters("geometric", shape, working, p=p)
    u = units(implementation, words, size, working)
    u = select(equal(u, 0.0), 1.0, u)
    inside = logical_and(greater(chance, 0.0), less(chance, 1.0))
    rate = log1p(neg(select(inside, chance, 0.5)))
    count = add(floor(div(log(u), rate)), 1.0)
    # Integers have no infinity.
    greatest = wanted.type(np.iinfo(wanted).max)
    small = less(count, float(greatest))
    found = select(small, convert(select(small, count, 0.0), wanted), greatest)
    never, always = equal(chance, 0.0), equal(chance, 1.0)
    at_ends = select(never, greatest, select(always, wanted.type(1), wanted.type(0)))
    return wrap(broadcast_to(select(inside, found, at_ends), size))  # type: ignore[no-any-return]


def multinomial(
    key: Any,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    unroll: int | bool = 1,
) -> Array:
    """Draw how often each of several categories occurs.

    Parameters
    ----------
    key : key
        A single key.
    n : array_like
        The number of trials.
    p : array_like
        The probabilities of the categories along the last axis, up to a factor.
    shape : int or sequence of int, optional
        The shape of the result, which ends in the number of categories; by default, n and the other
        axes of p broadcast together.
    dtype : dtype-like, optional
        A floating-point dtype, as in JAX; float64 by default.
    unroll : int or bool
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        The counts along the last axis add to n.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or a parameter does not fit or is negative.

    Examples
    --------
    >>> import fgrad
    >>> import numpy as np
    >>> float(fgrad.random.multinomial(fgrad.random.key(0), 10, np.array([0.2, 0.8])).sum())
    10.0
    """
    _, words = single_key(key, "multinomial")
    wanted = float_dtype(dtype, "multinomial")
    _, (chances,) = parameters("multinomial", None, wanted, p=p)
    _, (trials,) = parameters("multinomial", None, wanted, n=n)
    own, count = aval_of(chances).shape, aval_of(trials).shape
    if not own:
        raise ShapeError("multinomial: p must have an axis of categories, got a single number")
    refuse_below("multinomial", "every entry of p", chances, 0.0)
    refuse_below("multinomial", "n", trials, 0.0)
    if shape is None:
        size, _ = parameters(
            "multinomial",
            None,
            wanted,
            n=np.broadcast_to(0.0, count),
            p=np.broadcast_to(0.0, own[:-1]),
        )
        size = (*size, own[-1])
    else:
        size = shape_of_draw(shape, "multinomial")
        check_fits("multinomial", "p", own, size)
        check_fits("multinomial", "n", count, size[:-1])
    draw = RandomMultinomial(size)
    return wrap(draw(words, stretched(trials, size[:-1]), stretched(chances, size)))  # type: ignore[no-any-return]
