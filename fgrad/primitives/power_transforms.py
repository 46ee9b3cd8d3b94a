"""The transforms of Box and Cox, ``(x**l - 1) / l``, and binomial coefficients of real numbers."""

from __future__ import annotations

from typing import Any

from fgrad.primitives.elementwise import (
    div,
    equal,
    greater,
    log,
    log1p,
    logical_and,
    power,
    select,
    square,
    sub,
)
from fgrad.primitives.families import add, mul, neg
from fgrad.primitives.special import SpecialFunction, digamma, hyp1f1


def _by_exponent(logarithm: Any, base: Any, exponent: Any) -> Any:
    """The slope of ``expm1(l t) / l`` towards l, for the logarithm t of the base."""
    # At a base of zero the function is -1 / l.
    at_zero = logical_and(equal(base, 0.0), greater(exponent, 0.0))
    t = select(at_zero, 0.0, logarithm)
    slope = mul(mul(0.5, square(t)), hyp1f1(2.0, 3.0, mul(exponent, t)))
    inverse = div(1.0, select(at_zero, exponent, 1.0))
    return select(at_zero, square(inverse), slope)


boxcox: SpecialFunction = SpecialFunction(
    "boxcox",
    "ff",
    [
        lambda z, x, exponent: power(x, sub(exponent, 1.0)),
        lambda z, x, exponent: _by_exponent(log(x), x, exponent),
    ],
)
boxcox1p: SpecialFunction = SpecialFunction(
    "boxcox1p",
    "ff",
    [
        lambda z, x, exponent: power(add(x, 1.0), sub(exponent, 1.0)),
        lambda z, x, exponent: _by_exponent(log1p(x), add(x, 1.0), exponent),
    ],
)


def _by_choices(z: Any, n: Any, k: Any) -> Any:
    return mul(z, sub(digamma(add(sub(n, k), 1.0)), digamma(add(k, 1.0))))


binom: SpecialFunction = SpecialFunction(
    "binom",
    "ff",
    [
        lambda z, n, k: neg(mul(z, sub(digamma(add(sub(n, k), 1.0)), digamma(add(n, 1.0))))),
        _by_choices,
    ],
)
