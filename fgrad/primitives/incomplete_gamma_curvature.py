"""The second derivative of the regularised incomplete gamma function towards its shape.

The series and the continued fraction of `incomplete_gamma`, differentiated once more, and for large
shapes a difference quotient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.primitives.incomplete_gamma import LARGE, NDArray, prefactor

_TERMS = 2000
_EPS = float(np.finfo(np.float64).eps)
# Weights of the central second difference at distances 0 to 4, and its step in units of the scale.
_WEIGHTS = (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560)
_STEP = 0.03


def gammainc_curvature(a: Any, x: Any) -> NDArray:
    """``d^2/da^2 gammainc(a, x)`` in float64.

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


def _series(a: NDArray, x: NDArray) -> NDArray:
    # Each term of P is exp(c(a)): its second derivative is the term times c'^2 + c''.
    from scipy.special import polygamma, psi

    term = 1.0 / a
    slope, curve = np.log(x) - psi(a + 1), -polygamma(1, a + 1)
    total = term * (slope * slope + curve)
    active = np.ones(a.shape, bool)
    for n in range(1, _TERMS):
        term = term * x / (a + n)
        slope, curve = slope - 1.0 / (a + n), curve + 1.0 / (a + n) ** 2
        change = term * (slope * slope + curve)
        # Not by the change alone, which passes through zero where its sign changes.
        active &= np.abs(change) + term * np.abs(curve) > _EPS * np.abs(total)
        if not active.any():
            break
        # What has converged stays: a result does not depend on its neighbours.
        total = np.where(active, total + change, total)
    return np.asarray(prefactor(a, x) * total)


def _fraction(a: NDArray, x: NDArray) -> NDArray:
    # Numerator and denominator of a convergent, each with its first and second derivative towards a.
    from scipy.special import polygamma, psi

    b = x + 1 - a
    one, none = np.ones_like(b), np.zeros_like(b)
    older = [(1.0 / b, none), (none, none), (none, none)]
    now = [(one, 1.0 / b), (-1.0 / b, none), (none, none)]

    def convergent() -> tuple[NDArray, NDArray, NDArray]:
        (_, v), (du, dv), (ddu, ddv) = now
        slope = dv - v * du
        return v, slope, ddv - 2.0 * dv * du - v * ddu + 2.0 * v * du * du

    value, slope, curve = convergent()
    active = np.ones(b.shape, bool)
    for n in range(1, _TERMS):
        b = b + 2.0
        c = -n * (n - a)
        rows = []
        for order in range(3):
            pair = []
            for part in range(2):
                found = b * now[order][part] + c * older[order][part]
                if order:
                    found = found + order * (n * older[order - 1][part] - now[order - 1][part])
                pair.append(found)
            rows.append(tuple(pair))
        scale = 1.0 / rows[0][0]
        older = [(u * scale, v * scale) for u, v in now]
        now = [(u * scale, v * scale) for u, v in rows]
        following = convergent()
        active &= np.abs(following[2] - curve) + np.abs(following[1] - slope) > _EPS * (
            np.abs(curve) + np.abs(slope)
        )
        if not active.any():
            break
        value, slope, curve = (
            np.where(active, new, old)
            for new, old in zip(following, (value, slope, curve), strict=True)
        )
    log = np.log(x) - psi(a)
    inner = curve + 2.0 * slope * log + value * (log * log - polygamma(1, a))
    return np.asarray(-prefactor(a, x) * inner)


def _difference(a: NDArray, x: NDArray) -> NDArray:
    from scipy.special import gammainc, gammaincc

    step = _STEP / (1.0 / np.sqrt(a) + np.abs(x - a) / a)
    # Of the small one of P and Q: its relative accuracy is the whole accuracy of the quotient.
    lower = x < a
    p, q = (_WEIGHTS[0] * function(a, x) for function in (gammainc, gammaincc))
    for distance, weight in enumerate(_WEIGHTS[1:], 1):
        ends = a + distance * step, a - distance * step
        p = p + weight * (gammainc(ends[0], x) + gammainc(ends[1], x))
        q = q + weight * (gammaincc(ends[0], x) + gammaincc(ends[1], x))
    return np.asarray(np.where(lower, p, -q) / step**2)
