"""Spherical harmonics of integer degree and order, as functions of two angles."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.primitives.elementwise import abs_ as magnitude
from fgrad.primitives.elementwise import complex_, cos, less_equal, maximum, select, sin, sqrt, sub
from fgrad.primitives.families import add, mul, neg
from fgrad.primitives.special import SpecialFunction, _unknown

_NAME = "sph_harm_y"


def _values(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    import scipy.special

    degree, order = np.rint(np.real(n)).astype(int), np.rint(np.real(m)).astype(int)
    polar, azimuth = np.real(theta), np.real(phi)
    dtype = np.result_type(polar, azimuth, np.complex64)
    with np.errstate(all="ignore"):
        # Older releases of SciPy have it under another name, with its arguments in another order.
        older: Any = getattr(scipy.special, "sph_harm", None)
        if hasattr(scipy.special, "sph_harm_y"):
            found = scipy.special.sph_harm_y(degree, order, polar, azimuth)
        else:
            found = older(order, degree, azimuth, polar)
    within = (np.abs(order) <= degree) & (degree >= 0)
    return np.where(within, found, 0.0).astype(dtype)[()]


def _raised(n: Any, m: Any, theta: Any, phi: Any, step: float) -> Any:
    """The harmonic of a neighbouring order, turned back to this one."""
    weight = sqrt(maximum(mul(sub(n, mul(step, m)), add(add(n, mul(step, m)), 1.0)), 0.0))
    turn = complex_(cos(phi), neg(mul(step, sin(phi))))
    neighbour = sph_harm_y(n, add(m, step), theta, phi)
    inside = less_equal(magnitude(m), n)
    return mul(select(inside, mul(weight, turn), 0.0), neighbour)


def _by_polar(z: Any, n: Any, m: Any, theta: Any, phi: Any) -> Any:
    # Unlike cot(theta), both neighbours are smooth at the poles.
    return mul(0.5, sub(_raised(n, m, theta, phi, 1.0), _raised(n, m, theta, phi, -1.0)))


sph_harm_y: SpecialFunction = SpecialFunction(
    _NAME,
    "cfff",
    [
        _unknown(_NAME, "n"),
        _unknown(_NAME, "m"),
        _by_polar,
        lambda z, n, m, theta, phi: mul(1j, mul(m, z)),
    ],
    _values,
)
