"""What SciPy lacks of incomplete gamma and beta functions: densities, and a slope towards the shape.

The slope of P(a, x) towards a: below the mean the power series of P is differentiated term by term,
above it the continued fraction of Q = 1 - P, so that neither tail loses relative accuracy. Both
need some sqrt(a) terms: for large a, where P is smooth, a difference quotient of eighth order takes
their place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NDArray = np.ndarray[Any, Any]

LARGE = 1e3
_TERMS = 2000
_EPS = float(np.finfo(np.float64).eps)
# Weights of the central difference at distances 1 to 4, and its step in units of the scale of P.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_STEP = 0.05


def gamma_density(a: Any, x: Any) -> NDArray:
    """``x**(a - 1) * exp(-x) / Gamma(a)``, for negative a too, and 0 where Gamma has a pole."""
    from scipy.special import gammaln, gammasgn, xlogy

    with np.errstate(all="ignore"):
        exponent = np.where(np.isinf(x), -np.inf, xlogy(a - 1.0, x) - x - gammaln(a))
        return np.where(_at_pole(a), 0.0, gammasgn(a) * np.exp(exponent))


def beta_density(a: Any, b: Any, x: Any) -> NDArray:
    """``x**(a - 1) * (1 - x)**(b - 1) / Beta(a, b)``, and 0 where Beta(a, b) is infinite."""
    from scipy.special import betaln, gammasgn, xlog1py, xlogy

    with np.errstate(all="ignore"):
        sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
        exponent = xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b)
        return np.where(_at_pole(a) | _at_pole(b), 0.0, sign * np.exp(exponent))


def _at_pole(a: Any) -> Any:
    return (a <= 0) & (a == np.floor(a))


def gammainc_slope(a: Any, x: Any) -> NDArray:
    """``d/da gammainc(a, x)`` in float64.

    NaN outside of ``a > 0, x >= 0``; zero at the ends x = 0 and x = inf.
    """
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    answer = np.full(a.shape, np.nan)
    valid = (a > 0) & (x >= 0) & np.isfinite(a)
    answer[valid & ((x == 0) | np.isinf(x))] = 0.0
    inside = valid & (x > 0) & np.isfinite(x)
    large = inside & (a > LARGE)
    below = inside & ~large & (x < a + 1)
    above = inside & ~large & ~below
    with np.errstate(all="ignore"):
        for where, method in ((below, _series), (above, _fraction), (large, _difference)):
            if where.any():
                answer[where] = method(a[where], x[where])
    return answer


def prefactor(a: NDArray, x: NDArray) -> NDArray:
    """``x**a exp(-x) / Gamma(a)``."""
    from scipy.special import gammaln

    return np.exp(a * np.log(x) - x - gammaln(a))


def _series(a: NDArray, x: NDArray) -> NDArray:
    # P = sum over n of x^(a+n) exp(-x) / Gamma(a+n+1).
    from scipy.special import psi

    term = 1.0 / a
    slope = np.log(x) - psi(a + 1)
    total = term * slope
    active = np.ones(a.shape, bool)
    for n in range(1, _TERMS):
        term = term * x / (a + n)
        slope = slope - 1.0 / (a + n)
        change = term * slope
        # Not by the change alone, which passes through zero where its sign changes.
        active &= np.abs(change) + term / (a + n) > _EPS * np.abs(total)
        if not active.any():
            break
        # What has converged stays: a result does not depend on its neighbours.
        total = np.where(active, total + change, total)
    return prefactor(a, x) * total  # type: ignore[no-any-return]


def _fraction(a: NDArray, x: NDArray) -> NDArray:
    # Q = prefactor * B/A with A/B = b0 + c1/(b1 + c2/(b2 + ...)), b_n = x + 2n + 1 - a, c_n = -n (n
    # - a). Each is carried with its slope towards a, and all are divided by A to stay in range.
    from scipy.special import psi

    b = x + 1 - a
    older, older_slope = (1.0 / b, 0.0 / b), (0.0 / b, 0.0 / b)
    now, now_slope = (np.ones_like(b), 1.0 / b), (-1.0 / b, 0.0 / b)
    value, slope = now[1], -now[1] * now_slope[0]
    active = np.ones(b.shape, bool)
    for n in range(1, _TERMS):
        b = b + 2.0
        c = -n * (n - a)
        new = [b * u + c * v for u, v in zip(now, older, strict=True)]
        new_slope = [
            b * du - u + c * dv + n * v
            for u, v, du, dv in zip(now, older, now_slope, older_slope, strict=True)
        ]
        scale = 1.0 / new[0]
        older, older_slope = (
            (now[0] * scale, now[1] * scale),
            (now_slope[0] * scale, now_slope[1] * scale),
        )
        now, now_slope = (
            (new[0] * scale, new[1] * scale),
            (new_slope[0] * scale, new_slope[1] * scale),
        )
        next_slope = now_slope[1] - now[1] * now_slope[0]
        active &= np.abs(next_slope - slope) > _EPS * np.abs(slope)
        if not active.any():
            break
        value, slope = np.where(active, now[1], value), np.where(active, next_slope, slope)
    return -prefactor(a, x) * (value * (np.log(x) - psi(a)) + slope)  # type: ignore[no-any-return]


def _difference(a: NDArray, x: NDArray) -> NDArray:
    from scipy.special import gammainc, gammaincc

    # P varies on the scale sqrt(a) about its mean, and by a factor e per a / |x - a| in its tails.
    step = _STEP / (1.0 / np.sqrt(a) + np.abs(x - a) / a)
    lower = x < a
    total = np.zeros_like(a)
    for distance, weight in enumerate(_WEIGHTS, 1):
        ends = [a + distance * step, a - distance * step]
        # Of the small one of P and Q: its relative accuracy is the whole accuracy of the slope.
        p, q = (function(ends[0], x) - function(ends[1], x) for function in (gammainc, gammaincc))
        total += weight * np.where(lower, p, -q)
    return total / step  # type: ignore[no-any-return]
