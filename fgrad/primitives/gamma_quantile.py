"""How gamma numbers, and their logarithms, change with their shape at a fixed level of the distribution.

That is the derivative, and the second one, of a draw: the level is what chance decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.primitives.incomplete_gamma import LARGE, NDArray, gammainc_slope
from fgrad.primitives.incomplete_gamma_curvature import gammainc_curvature

# Below this, two terms of the power series of the distribution function are exact.
_SMALL = 1e-8
# Above this shape terms of the second derivative cancel each other, above LARGE the first one is a
# difference. A series takes their place, that of Cornish and Fisher: a gamma number is a plus the sum
# of a**(1 - k/2) times a polynomial of a normal number.
_CANCELLING = 500.0
_POLYNOMIALS: tuple[tuple[float, ...], ...] = (
    (0, 1),
    (-1 / 3, 0, 1 / 3),
    (0, -7 / 36, 0, 1 / 36),
    (8 / 405, 0, -7 / 810, 0, -1 / 270),
    (0, -433 / 38880, 0, 8 / 1215, 0, 1 / 4320),
    (184 / 25515, 0, -923 / 204120, 0, -1 / 840, 0, 1 / 17010),
    (0, 289717 / 146966400, 0, 289517 / 146966400, 0, -1451 / 48988800, 0, -139 / 5443200),
    (
        2248 / 3444525, 0, -104989 / 55112400, 0, -151 / 874800, 0, 769 / 9185400, 0, 1 / 204120,
    ),
    (
        0, 1500053 / 846526464, 0, 219257 / 661348800, 0, -30469 / 235146240, 0,
        -1087 / 41990400, 0, -571 / 2351462400,
    ),
    (
        -19006408 / 15345358875, 0, -96026707 / 280600848000, 0, 101251277 / 654735312000, 0,
        997903 / 15588936000, 0, 49271 / 15588936000, 0, -281 / 1515591000,
    ),
)  # fmt: skip


def _log_weight(a: NDArray, y: NDArray) -> NDArray:
    """The logarithm of the density of the logarithm y of a gamma number."""
    from scipy.special import gammaln

    return np.asarray(a * y - np.exp(y) - gammaln(a))


def log_slope(a: Any, y: Any) -> NDArray:
    """The slope of ``y = log(x)`` towards a, where ``gammainc(a, x)`` stays what it is."""
    from scipy.special import psi

    a, y = _float64(a, y)
    with np.errstate(all="ignore"):
        x = np.exp(y)
        near = (psi(a + 1) - y + x / (a + 1) ** 2) / (a - x + x / (a + 1))
        far = -gammainc_slope(np.minimum(a, LARGE), x) / np.exp(_log_weight(a, y))
        if (large := a > LARGE).any():
            far = np.where(large, _series(np.maximum(a, LARGE), x, 1) / x, far)
        return np.asarray(np.where(x < _SMALL, near, far))


def slope(a: Any, x: Any) -> NDArray:
    """The slope of x towards a, where ``gammainc(a, x)`` stays what it is."""
    a, x = _float64(a, x)
    with np.errstate(all="ignore"):
        # A draw that is zero, since its true value has no number, stays so.
        return np.where(x == 0, 0.0, x * log_slope(a, np.log(x)))


def log_curve(a: Any, y: Any) -> NDArray:
    """The second derivative of ``y = log(x)`` towards a, where ``gammainc(a, x)`` stays what it is."""
    from scipy.special import polygamma

    a, y = _float64(a, y)
    with np.errstate(all="ignore"):
        x, first = np.exp(y), log_slope(a, y)
        by_a = -polygamma(1, a + 1) + 2 * x / (a + 1) ** 3
        mixed, by_y, by_yy = _of_small(a, x)
        near = -(by_a + 2 * mixed * first + by_yy * first**2) / by_y
        far = _curve(a, x, x * first) / x - first**2
        return np.asarray(np.where(x < _SMALL, near, far))


def curve(a: Any, x: Any) -> NDArray:
    """The second derivative of x towards a, where ``gammainc(a, x)`` stays what it is."""
    a, x = _float64(a, x)
    with np.errstate(all="ignore"):
        y = np.log(x)
        first = log_slope(a, y)
        near = x * (log_curve(a, y) + first**2)
        found = np.where(x < _SMALL, near, _curve(a, x, x * first))
        return np.where(x == 0, 0.0, found)


def log_slope_by_y(a: Any, y: Any) -> NDArray:
    """The partial derivative of `log_slope` towards y."""
    from scipy.special import psi

    a, y = _float64(a, y)
    with np.errstate(all="ignore"):
        x, first = np.exp(y), log_slope(a, y)
        mixed, by_y, by_yy = _of_small(a, x)
        near = -(mixed + by_yy * first) / by_y
        far = psi(a) - y - first * (a - x)
        return np.asarray(np.where(x < _SMALL, near, far))


def slope_by_x(a: Any, x: Any) -> NDArray:
    """The partial derivative of `slope` towards x."""
    a, x = _float64(a, x)
    with np.errstate(all="ignore"):
        y = np.log(x)
        return np.where(x == 0, 0.0, log_slope(a, y) + log_slope_by_y(a, y))


def log_slope_by_a(a: Any, y: Any) -> NDArray:
    """The partial derivative of `log_slope` towards a."""
    with np.errstate(all="ignore"):
        return np.asarray(log_curve(a, y) - log_slope(a, y) * log_slope_by_y(a, y))


def slope_by_a(a: Any, x: Any) -> NDArray:
    """The partial derivative of `slope` towards a."""
    with np.errstate(all="ignore"):
        return np.asarray(curve(a, x) - slope(a, x) * slope_by_x(a, x))


def _float64(a: Any, x: Any) -> tuple[NDArray, NDArray]:
    pair = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    return pair[0], pair[1]


def _of_small(a: NDArray, x: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Derivatives of log(P) = a y - log(Gamma(a + 1)) - a x / (a + 1): towards a and y, y, and y twice."""
    return 1 - x / (a + 1) ** 2, a - a * x / (a + 1), -a * x / (a + 1)


def _curve(a: NDArray, x: NDArray, first: NDArray) -> NDArray:
    # Of P(a, x) = u, differentiated twice: P_aa / p + 2 x' (log p)_a + x'^2 (log p)_x + x'' = 0.
    from scipy.special import psi

    y = np.log(x)
    density = np.exp(_log_weight(a, y) - y)
    by_a, by_x = y - psi(a), (a - 1) / x - 1
    bend = gammainc_curvature(np.minimum(a, _CANCELLING), x)
    direct = -bend / density - 2 * first * by_a - first**2 * by_x
    if not (large := a > _CANCELLING).any():
        return np.asarray(direct)
    return np.where(large, _series(np.maximum(a, _CANCELLING), x, 2), direct)


def _series(a: NDArray, x: NDArray, order: int) -> NDArray:
    """The first or second derivative of x for large a."""
    from scipy.special import gammainc, gammaincc, ndtri

    below, above = gammainc(a, x), gammaincc(a, x)
    z = np.where(below < above, ndtri(below), -ndtri(above))
    total, root = np.zeros_like(z), np.sqrt(a)
    for k in range(len(_POLYNOMIALS), 0, -1):
        factor = (1 - k / 2) * (1.0 if order == 1 else -k / 2)
        term = np.polynomial.polynomial.polyval(z, _POLYNOMIALS[k - 1])
        total = total / root + factor * term
    return np.asarray(1 + total / root if order == 1 else total / (a * root))
