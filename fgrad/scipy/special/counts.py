"""Factorials, binomial coefficients and Bernoulli numbers."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError
from fgrad.numpy._support import ArrayLike, operand, static_int
from fgrad.primitives.elementwise import (
    cast_to_float,
    greater_equal,
    less,
    less_equal,
    logical_and,
    select,
    sub,
)
from fgrad.primitives.families import add
from fgrad.primitives.power_transforms import binom
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.special import gamma


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """``gamma(n + 1)``, and 0 for negative numbers.

    Parameters
    ----------
    n : array_like
    exact : bool
        Only False: results are floating.

    Returns
    -------
    Array
        In the dtype of n; integers count as float64. Differentiable to every order.

    Raises
    ------
    ArgumentError
        If `exact` is set.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> float(special.factorial(5))
    120.0
    """
    if exact:
        raise ArgumentError(
            "factorial: exact=True is not supported; use math.factorial for an exact integer"
        )
    x = cast_to_float(operand(n, "factorial", "n"))
    negative = less(x, 0.0)
    return wrap(select(negative, 0.0, gamma(add(select(negative, 0.0, x), 1.0))))  # type: ignore[no-any-return]


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """How many ways there are to choose k of N things.

    Parameters
    ----------
    N, k : array_like
        Broadcast together; real numbers between integers count as in binomial series.
    repetition : bool
        Whether a thing may be chosen more than once.

    Returns
    -------
    Array
        Floating; 0 where k is negative or above N, or N is negative. Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> float(special.comb(5, 2)), float(special.comb(5, 2, repetition=True))
    (10.0, 15.0)
    """
    total, chosen = operand(N, "comb", "N"), operand(k, "comb", "k")
    dtype = common_dtype([aval_of(total), aval_of(chosen)])
    if dtype.kind != "f":
        # Integers are counted in floats, since their ways soon overflow.
        total, chosen = cast_to_float(total), cast_to_float(chosen)
    if repetition:
        total = sub(add(total, chosen), 1.0)
    possible = logical_and(
        logical_and(less_equal(chosen, total), greater_equal(total, 0.0)),
        greater_equal(chosen, 0.0),
    )
    ways = binom(select(possible, total, 1.0), select(possible, chosen, 1.0))
    return wrap(select(possible, ways, 0.0))  # type: ignore[no-any-return]


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers B0 to Bn, of which B1 is -1/2.

    Parameters
    ----------
    n : int
        Known while tracing, at least 0.

    Returns
    -------
    Array
        Of n + 1 numbers.

    Raises
    ------
    ArgumentError
        If n is negative.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> special.bernoulli(4)
    Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333333],
          dtype=float64)
    """
    last = static_int(n, "bernoulli: n")
    if last < 0:
        raise ArgumentError(f"bernoulli: n is {last}; give an integer of at least 0")
    numbers = [_as_float(number) for number in _bernoulli_numbers(last)]
    return wrap(np.asarray(numbers, dtypes.canonical(dtypes.FLOAT64)))  # type: ignore[no-any-return]


@functools.cache
def _bernoulli_numbers(last: int) -> list[Fraction]:
    """Exact, since the recurrence cancels."""
    numbers = [Fraction(1)]
    for m in range(1, last + 1):
        if m > 1 and m % 2:
            numbers.append(Fraction(0))
            continue
        terms = sum(math.comb(m + 1, j) * number for j, number in enumerate(numbers) if number)
        numbers.append(-terms / Fraction(m + 1))
    return numbers


def _as_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
