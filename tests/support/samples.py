"""One maker of examples for each primitive without parameters, and the elementwise ones with some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.draws import (
    FLOATS,
    INEXACT,
    Domain,
    Draw,
    NotApplicable,
    Sample,
    either_sign,
    normal,
    number,
    numbers,
    spaced,
    uniform,
)

from fgrad.avals import Aval
from fgrad.errors import DTypeError
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import SINGLETONS, Convert
from fgrad.primitives.special import SpecialFunction

Maker = Callable[[Draw], Sample]
MAKERS: dict[str, Maker] = {}


def sample(name: str) -> Callable[[Maker], Maker]:
    """Make a function the maker of the examples of a primitive."""

    def enter(maker: Maker) -> Maker:
        assert name not in MAKERS, name
        MAKERS[name] = maker
        return maker

    return enter


positive = uniform(0.3, 3.0)
unit = uniform(-0.9, 0.9)
share = uniform(0.1, 0.9)
above = uniform(1.2, 3.0)
away = either_sign(0.4, 2.5)

#: The domain of each operand, where it is not all of the real line.
DOMAINS: dict[str, tuple[Domain, ...]] = {
    "div": (normal, away),
    "reciprocal": (away,),
    "sqrt": (positive,),
    "cbrt": (away,),
    "power": (positive, normal),
    "log": (positive,),
    "log2": (positive,),
    "log10": (positive,),
    "log1p": (positive,),
    "arcsin": (unit,),
    "arccos": (unit,),
    "arccosh": (above,),
    "arctanh": (unit,),
    "arctan2": (away, away),
    "hypot": (away, away),
    "tan": (unit,),
    "abs": (away,),
    "fabs": (away,),
    "copysign": (away, away),
    "heaviside": (away, normal),
    "relu": (away,),
    # Quotients away from integers, where remainders jump.
    "remainder": (uniform(5.1, 5.4), uniform(1.9, 2.1)),
    "fmod": (uniform(5.1, 5.4), uniform(1.9, 2.1)),
    "logaddexp": (normal, normal),
    # Away from powers of two, where mantissas jump.
    "mantissa": (uniform(2.1, 3.9),),
    "erfinv": (unit,),
    "erfcinv": (uniform(0.2, 1.8),),
    "ndtri": (share,),
    "ndtri_exp": (uniform(-3.0, -0.2),),
    "gammaln": (positive,),
    "loggamma": (positive,),
    "gamma": (positive,),
    "digamma": (positive,),
    "polygamma": (normal, positive),
    "zeta": (uniform(1.5, 4.0), positive),
    "beta": (positive, positive),
    "betaln": (positive, positive),
    "poch": (positive, positive),
    "gammainc": (positive, positive),
    "gammaincc": (positive, positive),
    "gammainc_by_a": (positive, positive),
    "gammainc_by_aa": (positive, positive),
    "gamma_draw_slope": (positive, positive),
    "gamma_draw_slope_by_a": (positive, positive),
    "gamma_draw_slope_by_x": (positive, positive),
    "log_gamma_draw_slope": (positive, normal),
    "log_gamma_draw_slope_by_a": (positive, normal),
    "log_gamma_draw_slope_by_x": (positive, normal),
    "gammaincinv": (positive, share),
    "gammainccinv": (positive, share),
    "gamma_density": (positive, positive),
    "beta_density": (positive, positive, share),
    "betainc": (positive, positive, share),
    "betaincc": (positive, positive, share),
    "betaincinv": (positive, positive, share),
    "xlogy": (normal, positive),
    "xlog1py": (normal, positive),
    "entr": (positive,),
    "rel_entr": (positive, positive),
    "kl_div": (positive, positive),
    "logit": (share,),
    "exp1": (positive,),
    "expi": (positive,),
    "expn": (normal, positive),
    "hyp0f1": (positive, normal),
    "hyp1f1": (positive, positive, normal),
    "hyp2f1": (positive, positive, positive, uniform(-0.6, 0.6)),
    "i0e": (away,),
    "i1e": (away,),
    "ive": (normal, away),
    "y0": (positive,),
    "y1": (positive,),
    "yv": (normal, positive),
    "k0": (positive,),
    "k1": (positive,),
    "kv": (normal, positive),
    "k0e": (positive,),
    "k1e": (positive,),
    "kve": (normal, positive),
    "cosine_integral": (positive,),
    "spence": (positive,),
    "boxcox": (positive, normal),
    "boxcox1p": (positive, normal),
    "binom": (uniform(3.1, 4.9), uniform(0.2, 2.9)),
    "sph_harm_y": (normal, normal, positive, normal),
}
#: Operands that the function is no smooth function of, or has no known slope towards: small
#: integers.
ORDERS: dict[str, tuple[int, ...]] = {
    "polygamma": (0,),
    "expn": (0,),
    "iv": (0,),
    "ive": (0,),
    "jv": (0,),
    "yv": (0,),
    "kv": (0,),
    "kve": (0,),
    "sph_harm_y": (0, 1),
}
#: Operands without a known slope: they are passed as integers, which are not differentiated.
UNKNOWN: dict[str, tuple[int, ...]] = {
    "zeta": (0,),
    "log_gamma_draw_slope_by_a": (0, 1),
    "log_gamma_draw_slope_by_x": (0, 1),
    "gamma_draw_slope_by_a": (0, 1),
    "gamma_draw_slope_by_x": (0, 1),
    "gammainc_by_aa": (0,),
    "betainc": (0, 1),
    "betaincc": (0, 1),
    "betaincinv": (0, 1),
    "hyp0f1": (0,),
    "hyp1f1": (0, 1),
    "hyp2f1": (0, 1, 2),
}
#: Functions whose differences of high order, or single precision, lose digits; SciPy's own values of
#: some, near zeros and at higher orders, are off by several tens of units in the last place.
SLACK = {
    "beta_density": 10.0,
    # Its slope is a difference of digamma functions, which cancel.
    "binom": 10.0,
    "yv": 10.0,
    "kve": 10.0,
    "hyp2f1": 100.0,
    "betaincinv": 30.0,
    "gammaincinv": 30.0,
    "gammainccinv": 30.0,
    "power": 10.0,
}
#: How many derivatives are known, of real and of complex numbers.
REAL_ORDER = {
    "HouseholderQr": 0,
    "Hessenberg": 0,
    "Schur": 0,
    "RandomGamma": 2,
    "gammainc_by_a": 1,
    "gamma_draw_slope": 1,
    "log_gamma_draw_slope": 1,
    "gamma_draw_slope_by_a": 0,
    "gamma_draw_slope_by_x": 0,
    "log_gamma_draw_slope_by_a": 0,
    "log_gamma_draw_slope_by_x": 0,
}
COMPLEX_ORDER = {"digamma": 0, "gamma": 1, "loggamma": 1, "rgamma": 1}
#: Operands that must not be close to each other, as the function bends where they are equal.
COMPARING = ("maximum", "minimum", "fmax", "fmin", "clamp")
#: No difference shows the slope that is declared: it is that of the rounded-off function.
ROUGH = ("nextafter",)


def accepts(primitive: Any, dtypes: tuple[str, ...]) -> bool:
    try:
        primitive.abstract_eval(*[Aval((), np.dtype(d)) for d in dtypes])
    except DTypeError:
        return False
    return True


def usual_dtypes(primitive: Any) -> list[str]:
    """Dtypes that random examples use, float64 first; integers where no float is taken."""
    if primitive.name in ("complex", "ldexp"):
        return ["float64", "float32"]
    floats = INEXACT if isinstance(primitive, SpecialFunction) else (*INEXACT, "float16")
    for names in (floats, ("int64", "bool", "uint8", "int32")):
        found = [name for name in names if accepts(primitive, (name,) * primitive.arity)]
        if found:
            return found
    raise NotApplicable


def ufunc_maker(name: str) -> Maker:
    primitive = SINGLETONS[name]

    def make(d: Draw) -> Sample:
        count = primitive.arity
        main = np.dtype(d.forced or d.choice(usual_dtypes(primitive)))
        integers = {*ORDERS.get(name, ()), *UNKNOWN.get(name, ())}
        dtypes = [
            np.dtype("int64") if n in integers and main.kind in "fc" else main for n in range(count)
        ]
        if name == "ldexp":
            dtypes[1] = np.dtype("int32")
        if main.kind == "c" and name in ("logaddexp",):
            raise NotApplicable
        shape = d.shape()
        shapes = [shape if n == 0 or count == 1 else d.stretched(shape) for n in range(count)]
        domains = DOMAINS.get(name, (normal,) * count)

        def values(rng: np.random.Generator) -> tuple[Any, ...]:
            if name in COMPARING and main.kind in "fc":
                return apart(rng, shapes, main)
            drawn = [
                numbers(rng, s, t, domain)
                for s, t, domain in zip(shapes, dtypes, domains, strict=True)
            ]
            for n in range(count):
                if dtypes[n].kind == "i" and (n in integers or name in POSITIVE_INTEGERS):
                    drawn[n] = number(np.abs(drawn[n]) + (name == "zeta"), dtypes[n])
            return tuple(drawn)

        return Sample(
            primitive,
            values,
            smooth=name not in ROUGH and main.kind in "fc",
            slack=SLACK.get(name, 1.0),
            order=COMPLEX_ORDER.get(name, 2) if main.kind == "c" else REAL_ORDER.get(name, 2),
        )

    return make


#: Of integers: shifts and exponents are not negative, differences of a small unsigned type do not
#: wrap.
POSITIVE_INTEGERS = ("power", "left_shift", "right_shift", "ldexp", "gcd", "lcm")


def apart(rng: np.random.Generator, shapes: list[tuple[int, ...]], dtype: Any) -> tuple[Any, ...]:
    """Operands of which no two elements are close, whichever way they broadcast."""
    sizes = [int(np.prod(s, dtype=int)) for s in shapes]
    pool = spaced(rng, (sum(sizes),))
    ends = np.cumsum(sizes)[:-1]
    return tuple(
        number(part.reshape(s), dtype) for part, s in zip(np.split(pool, ends), shapes, strict=True)
    )


def enter_ufuncs() -> None:
    """Makers for all primitives without parameters that are declared by now."""
    for name in SINGLETONS:
        if name not in MAKERS:
            MAKERS[name] = ufunc_maker(name)


# ---- elementwise, with parameters ----------------------------------------------------------------


@sample("Convert")
def _convert(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    targets = ("complex128", "complex64") if dtype.kind == "c" and d.boolean() else FLOATS[:2]
    target = np.dtype(d.choice(targets))
    return Sample(
        Convert(target),
        lambda rng: (numbers(rng, shape, dtype),),
        # The values have the digits of the narrower dtype: too few for differences.
        smooth=target.itemsize >= 8 * (1 + (target.kind == "c")),
    )


@sample("IntegerPower")
def _integer_power(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    n = d.integer(0 if dtype.kind in "biu" else -3, 6)
    return Sample(
        p.IntegerPower(n), lambda rng: (numbers(rng, shape, dtype, away),), slack=1 + 10.0 * abs(n)
    )


@sample("Sinc")
def _sinc(d: Draw) -> Sample:
    shape, dtype, order = d.shape(), d.dtype(INEXACT), d.integer(0, 3)
    return Sample(
        p.Sinc(order), lambda rng: (numbers(rng, shape, dtype),), slack=10.0 * np.pi ** (order + 2)
    )


@sample("Select")
def _select(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    shapes = [d.stretched(shape) for _ in range(3)]
    other = dtype if d.boolean() else np.dtype("float64")

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return (
            numbers(rng, shapes[0], dtype),
            numbers(rng, shapes[1], other),
            numbers(rng, shapes[2], bool),
        )

    return Sample(p.Select(), values)


@sample("Round")
def _round(d: Draw) -> Sample:
    shape, dtype, decimals = d.shape(), d.dtype(), d.integer(-1, 2)
    return Sample(p.Round(decimals), lambda rng: (numbers(rng, shape, dtype),))


@sample("Conj")
def _conj(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    return Sample(p.Conj(), lambda rng: (numbers(rng, shape, dtype),))


@sample("StopGradient")
def _stop_gradient(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    return Sample(p.StopGradient(), lambda rng: (numbers(rng, shape, dtype),))
