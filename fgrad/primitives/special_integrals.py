"""Special functions that are integrals: Fresnel's, sine and cosine, the dilogarithm, Owen's T."""

from __future__ import annotations

import math
from typing import Any

from fgrad.primitives.elementwise import (
    Sinc,
    abs_,
    cos,
    div,
    exp,
    less,
    select,
    sin,
    square,
)
from fgrad.primitives.families import add, mul, neg
from fgrad.primitives.special import SpecialFunction, erf, hyp2f1

_SINC = Sinc()


def _part(name: str, index: int) -> Any:
    """One of the results of a function of SciPy that has two."""

    def function(x: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(x)[index]

    return function


def _sine_over_x(z: Any, x: Any) -> Any:
    near = less(abs_(x), 1.0)
    far = select(near, 1.0, x)
    return select(near, _SINC(mul(x, 1.0 / math.pi)), div(sin(far), far))


def _dilogarithm_slope(z: Any, x: Any) -> Any:
    # log(x) / (1 - x), which is smooth at 1.
    return neg(hyp2f1(1.0, 1.0, 2.0, add(1.0, neg(x))))


def _owens_t_by_h(z: Any, h: Any, a: Any) -> Any:
    density = mul(-0.5 / math.sqrt(2.0 * math.pi), exp(mul(-0.5, square(h))))
    return mul(density, erf(mul(mul(math.sqrt(0.5), a), h)))


def _owens_t_by_a(z: Any, h: Any, a: Any) -> Any:
    stretch = add(1.0, square(a))
    return div(exp(mul(mul(-0.5, square(h)), stretch)), mul(2.0 * math.pi, stretch))


fresnel_sine: SpecialFunction = SpecialFunction(
    "fresnel_sine",
    "f",
    [lambda z, x: sin(mul(0.5 * math.pi, square(x)))],
    _part("fresnel", 0),
)
fresnel_cosine: SpecialFunction = SpecialFunction(
    "fresnel_cosine",
    "f",
    [lambda z, x: cos(mul(0.5 * math.pi, square(x)))],
    _part("fresnel", 1),
)
sine_integral: SpecialFunction = SpecialFunction(
    "sine_integral", "f", [_sine_over_x], _part("sici", 0)
)
cosine_integral: SpecialFunction = SpecialFunction(
    "cosine_integral", "f", [lambda z, x: div(cos(x), x)], _part("sici", 1)
)
spence: SpecialFunction = SpecialFunction("spence", "f", [_dilogarithm_slope])
owens_t: SpecialFunction = SpecialFunction("owens_t", "ff", [_owens_t_by_h, _owens_t_by_a])
