"""Special functions, computed by SciPy, which is imported when one is first used.

Results have the floating dtype that the operands promote to; integers count as float64. float16 is
computed in float32. Slopes are written with special functions again, so that they hold to every
order; towards an argument for which no closed form exists (the order of a Bessel function, for one)
there is an error that says so.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import value
from fgrad.avals import Aval, aval_of
from fgrad.errors import DTypeError, NonDifferentiableError
from fgrad.primitives import elementwise as p
from fgrad.primitives import incomplete_gamma as kernels
from fgrad.primitives.elementwise import (
    abs_,
    convert,
    cos,
    div,
    equal,
    exp,
    greater_equal,
    less,
    log,
    log1p,
    logical_and,
    logistic,
    real,
    select,
    sign,
    sin,
    square,
    sub,
)
from fgrad.primitives.families import Partial, Ufunc, add, mul, neg
from fgrad.primitives.incomplete_gamma_curvature import gammainc_curvature
from fgrad.primitives.promotion import common_dtype

_PYTHON = (float, int, bool, complex)


class SpecialFunction(Ufunc, abstract=True):
    """An elementwise primitive over a function of ``scipy.special``.

    ``kinds`` has one letter for each operand: "f" takes real numbers only, "z" complex ones too,
    and "c" makes complex ones of them.
    """

    lowers_in_32_bits = True

    def __init__(
        self,
        name: str,
        kinds: str,
        partials: Sequence[Partial] | None,
        function: Callable[..., Any] | None = None,
        scipy_name: str = "",
    ) -> None:
        self.scipy_name = scipy_name or name
        self._function = function
        source = f"scipy.special.{self.scipy_name}"
        super().__init__(name, self.apply, partials, self.dtype_of, source, len(kinds))
        self.kinds = kinds
        self._computed: dict[tuple[np.dtype[Any], ...], np.dtype[Any]] = {}

    @functools.cached_property
    def resolved(self) -> Callable[..., Any]:
        """The function that computes, on operands of one precision."""
        if self._function is not None:
            return self._function
        import scipy.special

        return getattr(scipy.special, self.scipy_name)  # type: ignore[no-any-return]

    def dtype_of(self, avals: Sequence[Aval]) -> np.dtype[Any]:
        """The dtype of the result for operands of these types."""
        for position, (aval, kind) in enumerate(zip(avals, self.kinds, strict=True)):
            if aval.dtype.kind == "c" and kind == "f":
                raise DTypeError(
                    f"{self.name}: argument {position} is complex ({aval.dtype}), but the function is defined "
                    "for real numbers there"
                )
        dtype = common_dtype(avals)
        if dtype.kind not in "fc":
            dtype = dtypes.canonical(dtypes.FLOAT64)
        return np.result_type(dtype, np.complex64) if "c" in self.kinds else dtype

    def apply(self, *values: Any) -> Any:
        """Compute on operands of any dtypes."""
        dtype = self.result_dtype([aval_of(v) for v in values])
        wide: np.dtype[Any] = dtypes.FLOAT32 if dtype == np.float16 else dtype
        narrow: np.dtype[Any] = wide if wide.kind == "f" else _REAL[wide]
        cast = [
            _cast(v, narrow if kind == "f" else wide)
            for v, kind in zip(values, self.kinds, strict=True)
        ]
        answer = self.resolved(*cast)
        return answer if answer.dtype == dtype else answer.astype(dtype)

    def lower(self, emit: Any, *names: str) -> str:
        avals = emit.operands
        dtype = self.result_dtype(avals)
        wide: np.dtype[Any] = dtypes.FLOAT32 if dtype == np.float16 else dtype
        narrow: np.dtype[Any] = wide if wide.kind == "f" else _REAL[wide]
        types = [narrow if kind == "f" else wide for kind in self.kinds]
        operands = []
        for name, aval, wanted in zip(names, avals, types, strict=True):
            if aval.weak or (aval.dtype != wanted and not aval.shape):
                name = f"{emit.dtype(wanted)}({name})"
            elif aval.dtype != wanted:
                name = f"{name}.astype({emit.dtype(wanted)})"
            operands.append(name)
        text = f"{emit.constant(self.resolved, self.name)}({', '.join(operands)})"
        if self._computed_dtype(tuple(types)) != dtype:
            text = f"{text}.astype({emit.dtype(dtype)})"
        return f"{text}.item()" if all([a.weak for a in avals]) else text

    def _computed_dtype(self, types: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
        """The dtype that the function of SciPy gives for operands of these dtypes."""
        known = self._computed.get(types)
        if known is None:
            with np.errstate(all="ignore"):
                answer = self.resolved(*[np.ones(1, dtype) for dtype in types])
            known = self._computed[types] = answer.dtype
        return known


_REAL: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype, copy=False) if isinstance(x, np.ndarray) else dtype.type(x)


def _unknown(name: str, argument: str) -> Partial:
    def slope(z: Any, *xs: Any) -> Any:
        raise NonDifferentiableError(
            f"{name}: no derivative towards {argument} is known in closed form; differentiate towards other "
            f"arguments only, or pass fgrad.lax.stop_gradient({argument})"
        )

    return slope


_SQRT_PI = math.sqrt(math.pi)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


# ---- error functions and the normal distribution -------------------------------------------------


def _gauss(x: Any, scale: float) -> Any:
    return mul(scale, exp(neg(square(x))))


erf: SpecialFunction = SpecialFunction("erf", "z", [lambda z, x: _gauss(x, 2.0 / _SQRT_PI)])
erfc: SpecialFunction = SpecialFunction("erfc", "z", [lambda z, x: _gauss(x, -2.0 / _SQRT_PI)])


def _far_out(x: Any, direct: Any, side: Any, sign_of_terms: float) -> Any:
    """The slope of a function that falls as 1 / x: where a difference has no digits left, by its series.

    With u for 1 / (2 x**2), its terms are 1, 3 u, 15 u**2 and so on, of one sign or of turns.
    """
    if aval_of(x).dtype.kind == "c":
        return direct
    u = div(0.5, square(x))
    series: Any = 945.0
    for coefficient in (105.0, 15.0, 3.0, 1.0):
        series = add(coefficient, mul(mul(sign_of_terms, u), series))
    return select(less(side, 100.0), direct, neg(mul(u, series)))


def _erfcx_slope(z: Any, x: Any) -> Any:
    direct = sub(mul(mul(_SQRT_PI, x), z), 1.0)
    return mul(2.0 / _SQRT_PI, _far_out(x, direct, x, -1.0))


def _dawsn_slope(z: Any, x: Any) -> Any:
    return _far_out(x, sub(1.0, mul(mul(2.0, x), z)), abs_(x), 1.0)


erfcx: SpecialFunction = SpecialFunction("erfcx", "z", [_erfcx_slope])
erfi: SpecialFunction = SpecialFunction(
    "erfi", "z", [lambda z, x: mul(2.0 / _SQRT_PI, exp(square(x)))]
)
erfinv: SpecialFunction = SpecialFunction(
    "erfinv", "f", [lambda z, x: mul(_SQRT_PI / 2.0, exp(square(z)))]
)
erfcinv: SpecialFunction = SpecialFunction(
    "erfcinv", "f", [lambda z, x: mul(-_SQRT_PI / 2.0, exp(square(z)))]
)

dawsn: SpecialFunction = SpecialFunction("dawsn", "z", [_dawsn_slope])
wofz: SpecialFunction = SpecialFunction(
    "wofz", "c", [lambda z, x: sub(2j / _SQRT_PI, mul(mul(2.0, x), z))]
)


def _log_ndtr_slope(z: Any, x: Any) -> Any:
    # The density over the distribution function, neither of which the far tail can hold.
    return div(math.sqrt(2.0 / math.pi), erfcx(mul(x, -math.sqrt(0.5))))


ndtr: SpecialFunction = SpecialFunction(
    "ndtr", "z", [lambda z, x: mul(1.0 / _SQRT_2PI, exp(mul(-0.5, square(x))))]
)
log_ndtr: SpecialFunction = SpecialFunction("log_ndtr", "f", [_log_ndtr_slope])
ndtri: SpecialFunction = SpecialFunction(
    "ndtri", "f", [lambda z, x: mul(_SQRT_2PI, exp(mul(0.5, square(z))))]
)
ndtri_exp: SpecialFunction = SpecialFunction(
    "ndtri_exp", "f", [lambda z, x: div(1.0, _log_ndtr_slope(x, z))]
)


# ---- gamma and beta functions --------------------------------------------------------------------


def _rgamma_slope(z: Any, x: Any) -> Any:
    # By reflection, 1/Gamma(x) = sin(pi x) Gamma(1-x) / pi, which is smooth at the poles of Gamma.
    angle, mirrored = mul(math.pi, x), sub(1.0, x)
    wave = sub(mul(math.pi, cos(angle)), mul(sin(angle), digamma(mirrored)))
    reflected = mul(mul(1.0 / math.pi, gamma(mirrored)), wave)
    return select(less(real(x), 0.5), reflected, neg(mul(z, digamma(x))))


_SMALL_ORDERS = (1, 2, 3)
# Bernoulli numbers B_2, B_4, ... over (2k)!.
_BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)


def hurwitz_zeta(s: int, q: Any) -> Any:
    """The sum of ``(q + k) ** -s`` over all k from 0 on, for an integer s > 1 and positive q.

    Ten terms are added as they are; Euler's and Maclaurin's formula gives the rest. This is ten times
    as fast as SciPy's function, which is for any s.
    """
    total = np.zeros(np.shape(q))
    with np.errstate(all="ignore"):
        for k in range(10):
            total += _power(np.reciprocal(q + float(k)), s)
        inverse = np.reciprocal(q + 10.0)
        square_of_inverse = inverse * inverse
        rest = np.zeros(np.shape(q))
        for k in reversed(range(len(_BERNOULLI))):
            rising = math.prod(range(s, s + 2 * k + 1))
            rest = rest * square_of_inverse + _BERNOULLI[k] * rising
        # The power alone may be too small for a number where the product is not.
        tail = ((q + 10.0) / (s - 1) + 0.5 + rest * inverse) * inverse
        return total + np.where(np.isinf(q), 0.0, tail * _power(inverse, s - 1))


def _power(x: Any, n: int) -> Any:
    # By products, whose rounding does not depend on how many elements there are.
    return functools.reduce(np.multiply, [x] * n)


def _polygamma(n: Any, x: Any) -> Any:
    from scipy.special import gamma, psi, zeta

    wide_n, wide_x = np.asarray(n, np.float64), np.asarray(x, np.float64)
    dtype = np.result_type(n, x)
    answer = np.empty(np.broadcast_shapes(wide_n.shape, wide_x.shape))
    orders, points = np.broadcast_to(wide_n, answer.shape), np.broadcast_to(wide_x, answer.shape)
    left = np.ones(answer.shape, bool)
    for order in _SMALL_ORDERS:
        chosen = (orders == order) & (points > 0)
        scale = (1.0 if order % 2 else -1.0) * math.factorial(order)
        if chosen.all():
            return (scale * hurwitz_zeta(order + 1, points)).astype(dtype)[()]
        if chosen.any():
            answer[chosen] = scale * hurwitz_zeta(order + 1, points[chosen])
            left &= ~chosen
    if left.any():
        rest, at = orders[left], points[left]
        with np.errstate(all="ignore"):
            # SciPy's function adds a term for each step from a negative number up to zero.
            reflected = (rest == 1) & (at < 0)
            sine = np.sin(np.pi * (at - np.round(at)))
            sums = zeta(rest + 1.0, np.where(reflected, 1.0 - at, at))
            found = np.where(rest % 2 == 1, 1.0, -1.0) * gamma(rest + 1.0) * sums
            found = np.where(reflected, np.square(np.pi / sine) - sums, found)
            found = np.where(rest == 0, psi(at), found)
            answer[left] = np.where((rest < 0) | (rest != np.floor(rest)), np.nan, found)
    return answer.astype(dtype)[()]


gammaln: SpecialFunction = SpecialFunction("gammaln", "f", [lambda z, x: digamma(x)])
loggamma: SpecialFunction = SpecialFunction("loggamma", "z", [lambda z, x: digamma(x)])
gamma: SpecialFunction = SpecialFunction("gamma", "z", [lambda z, x: mul(z, digamma(x))])
rgamma: SpecialFunction = SpecialFunction("rgamma", "z", [_rgamma_slope])
gammasgn: SpecialFunction = SpecialFunction("gammasgn", "f", None)
digamma: SpecialFunction = SpecialFunction(
    "digamma", "z", [lambda z, x: polygamma(1.0, x)], scipy_name="psi"
)
polygamma: SpecialFunction = SpecialFunction(
    "polygamma",
    "ff",
    [_unknown("polygamma", "n"), lambda z, n, x: polygamma(add(n, 1.0), x)],
    _polygamma,
)
zeta: SpecialFunction = SpecialFunction(
    "zeta", "ff", [_unknown("zeta", "x"), lambda z, x, q: neg(mul(x, zeta(add(x, 1.0), q)))]
)


def _excess(a: Any, b: Any) -> Any:
    return sub(digamma(a), digamma(add(a, b)))


beta: SpecialFunction = SpecialFunction(
    "beta", "ff", [lambda z, a, b: mul(z, _excess(a, b)), lambda z, a, b: mul(z, _excess(b, a))]
)
betaln: SpecialFunction = SpecialFunction(
    "betaln", "ff", [lambda z, a, b: _excess(a, b), lambda z, a, b: _excess(b, a)]
)
poch: SpecialFunction = SpecialFunction(
    "poch",
    "ff",
    [
        lambda z, x, m: mul(z, sub(digamma(add(x, m)), digamma(x))),
        lambda z, x, m: mul(z, digamma(add(x, m))),
    ],
)


# ---- incomplete gamma and beta functions ---------------------------------------------------------


def _in_dtype(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def function(*values: Any) -> Any:
        wide = [np.asarray(v, np.float64) for v in values]
        return kernel(*wide).astype(np.result_type(*values))[()]

    return function


def _gamma_density_by_a(z: Any, a: Any, x: Any) -> Any:
    return mul(z, select(equal(z, 0.0), 0.0, sub(log(x), digamma(a))))


def _gamma_density_by_aa(z: Any, a: Any, x: Any) -> Any:
    bend = sub(square(sub(log(x), digamma(a))), polygamma(1.0, a))
    return mul(z, select(equal(z, 0.0), 0.0, bend))


def _beta_density_by_x(z: Any, a: Any, b: Any, x: Any) -> Any:
    neighbours = sub(beta_density(sub(a, 1.0), b, x), beta_density(a, sub(b, 1.0), x))
    return mul(sub(add(a, b), 1.0), neighbours)


# The slopes of the densities are densities of neighbouring shapes: finite at the ends of the
# interval.
gamma_density: SpecialFunction = SpecialFunction(
    "gamma_density",
    "ff",
    [
        _gamma_density_by_a,
        lambda z, a, x: sub(gamma_density(sub(a, 1.0), x), z),
    ],
    _in_dtype(kernels.gamma_density),
)
beta_density: SpecialFunction = SpecialFunction(
    "beta_density",
    "fff",
    [
        lambda z, a, b, x: mul(z, sub(log(x), _excess(a, b))),
        lambda z, a, b, x: mul(z, sub(log1p(neg(x)), _excess(b, a))),
        _beta_density_by_x,
    ],
    _in_dtype(kernels.beta_density),
)
gammainc: SpecialFunction = SpecialFunction(
    "gammainc", "ff", [lambda z, a, x: gammainc_by_a(a, x), lambda z, a, x: gamma_density(a, x)]
)
gammaincc: SpecialFunction = SpecialFunction(
    "gammaincc",
    "ff",
    [lambda z, a, x: neg(gammainc_by_a(a, x)), lambda z, a, x: neg(gamma_density(a, x))],
)
#: The slope of `gammainc` towards a.
gammainc_by_a: SpecialFunction = SpecialFunction(
    "gammainc_by_a",
    "ff",
    [
        lambda z, a, x: gammainc_by_aa(a, x),
        lambda z, a, x: _gamma_density_by_a(gamma_density(a, x), a, x),
    ],
    _in_dtype(kernels.gammainc_slope),
)
#: The second derivative of `gammainc` towards a.
gammainc_by_aa: SpecialFunction = SpecialFunction(
    "gammainc_by_aa",
    "ff",
    [
        _unknown("the third derivative of gammainc", "a"),
        lambda z, a, x: _gamma_density_by_aa(gamma_density(a, x), a, x),
    ],
    _in_dtype(gammainc_curvature),
)
gammaincinv: SpecialFunction = SpecialFunction(
    "gammaincinv",
    "ff",
    [
        lambda z, a, y: neg(div(gammainc_by_a(a, z), gamma_density(a, z))),
        lambda z, a, y: div(1.0, gamma_density(a, z)),
    ],
)
gammainccinv: SpecialFunction = SpecialFunction(
    "gammainccinv",
    "ff",
    [
        lambda z, a, y: neg(div(gammainc_by_a(a, z), gamma_density(a, z))),
        lambda z, a, y: div(-1.0, gamma_density(a, z)),
    ],
)
betainc: SpecialFunction = SpecialFunction(
    "betainc",
    "fff",
    [_unknown("betainc", "a"), _unknown("betainc", "b"), lambda z, a, b, x: beta_density(a, b, x)],
)
betaincc: SpecialFunction = SpecialFunction(
    "betaincc",
    "fff",
    [
        _unknown("betaincc", "a"),
        _unknown("betaincc", "b"),
        lambda z, a, b, x: neg(beta_density(a, b, x)),
    ],
)
betaincinv: SpecialFunction = SpecialFunction(
    "betaincinv",
    "fff",
    [
        _unknown("betaincinv", "a"),
        _unknown("betaincinv", "b"),
        lambda z, a, b, y: div(1.0, beta_density(a, b, z)),
    ],
)


# ---- logarithms and entropies --------------------------------------------------------------------


def _ratio(x: Any, y: Any, shifted: Any) -> Any:
    # x / shifted, and 0 where the function is zero for every y.
    return div(x, select(logical_and(equal(x, 0.0), equal(shifted, 0.0)), 1.0, shifted))


def _log_ratio(a: Any, b: Any) -> Any:
    return log(div(a, select(logical_and(equal(a, 0.0), equal(b, 0.0)), 1.0, b)))


xlogy: SpecialFunction = SpecialFunction(
    "xlogy", "zz", [lambda z, x, y: log(y), lambda z, x, y: _ratio(x, y, y)]
)
xlog1py: SpecialFunction = SpecialFunction(
    "xlog1py", "zz", [lambda z, x, y: log1p(y), lambda z, x, y: _ratio(x, y, add(y, 1.0))]
)
entr: SpecialFunction = SpecialFunction("entr", "f", [lambda z, x: sub(-1.0, log(x))])
rel_entr: SpecialFunction = SpecialFunction(
    "rel_entr",
    "ff",
    [lambda z, a, b: add(_log_ratio(a, b), 1.0), lambda z, a, b: neg(_ratio(a, b, b))],
)
kl_div: SpecialFunction = SpecialFunction(
    "kl_div", "ff", [lambda z, a, b: _log_ratio(a, b), lambda z, a, b: sub(1.0, _ratio(a, b, b))]
)
logit: SpecialFunction = SpecialFunction("logit", "f", [lambda z, x: div(1.0, mul(x, sub(1.0, x)))])
log_expit: SpecialFunction = SpecialFunction("log_expit", "f", [lambda z, x: logistic(neg(x))])


# ---- exponential integrals and hypergeometric functions ------------------------------------------


def _expn_slope(z: Any, n: Any, x: Any) -> Any:
    # E_0 is exp(-x)/x; below it, SciPy has none.
    lowest = div(mul(exp(neg(x)), add(x, 1.0)), square(x))
    return neg(select(greater_equal(n, 1.0), expn(sub(n, 1.0), x), lowest))


exp1: SpecialFunction = SpecialFunction("exp1", "z", [lambda z, x: neg(div(exp(neg(x)), x))])
expi: SpecialFunction = SpecialFunction("expi", "z", [lambda z, x: div(exp(x), x)])
expn: SpecialFunction = SpecialFunction("expn", "ff", [_unknown("expn", "n"), _expn_slope])
hyp0f1: SpecialFunction = SpecialFunction(
    "hyp0f1", "fz", [_unknown("hyp0f1", "v"), lambda z, v, x: div(hyp0f1(add(v, 1.0), x), v)]
)
hyp1f1: SpecialFunction = SpecialFunction(
    "hyp1f1",
    "ffz",
    [
        _unknown("hyp1f1", "a"),
        _unknown("hyp1f1", "b"),
        lambda z, a, b, x: mul(div(a, b), hyp1f1(add(a, 1.0), add(b, 1.0), x)),
    ],
)
hyp2f1: SpecialFunction = SpecialFunction(
    "hyp2f1",
    "fffz",
    [
        *(_unknown("hyp2f1", argument) for argument in "abc"),
        lambda z, a, b, c, x: mul(
            div(mul(a, b), c), hyp2f1(add(a, 1.0), add(b, 1.0), add(c, 1.0), x)
        ),
    ],
)


# ---- Bessel functions ----------------------------------------------------------------------------

# The slope of each is a combination of its neighbours in the order, which, unlike f_v(x) v/x, is
# finite at the origin. So is every further derivative.


def _neighbours(function: SpecialFunction, v: Any, x: Any, sign_above: float) -> Any:
    above = function(add(v, 1.0), x)
    pair = function(sub(v, 1.0), x)
    return mul(0.5, add(pair, above) if sign_above > 0 else sub(pair, above))


i0: SpecialFunction = SpecialFunction("i0", "f", [lambda z, x: i1(x)])
i1: SpecialFunction = SpecialFunction("i1", "f", [lambda z, x: mul(0.5, add(i0(x), iv(2.0, x)))])
iv: SpecialFunction = SpecialFunction(
    "iv", "fz", [_unknown("iv", "v"), lambda z, v, x: _neighbours(iv, v, x, 1.0)]
)


def _far_slope(z: Any, x: Any, direct: Any, coefficient: float) -> Any:
    # Far out, the difference of two such functions has no digits left; SciPy knows none from 1e10 on.
    u = div(1.0, abs_(x))
    factor = add(-0.5, mul(mul(coefficient, u), add(1.0, u)))
    return select(less(abs_(x), 1e5), direct, mul(mul(sign(x), z), mul(u, factor)))


def _i0e_slope(z: Any, x: Any) -> Any:
    return _far_slope(z, x, sub(i1e(x), mul(sign(x), z)), -0.125)


def _i1e_slope(z: Any, x: Any) -> Any:
    direct = sub(mul(0.5, add(i0e(x), ive(2.0, x))), mul(sign(x), z))
    return _far_slope(z, x, direct, 0.375)


i0e: SpecialFunction = SpecialFunction("i0e", "f", [_i0e_slope])
i1e: SpecialFunction = SpecialFunction("i1e", "f", [_i1e_slope])
ive: SpecialFunction = SpecialFunction(
    "ive",
    "ff",
    [_unknown("ive", "v"), lambda z, v, x: sub(_neighbours(ive, v, x, 1.0), mul(sign(x), z))],
)
j0: SpecialFunction = SpecialFunction("j0", "f", [lambda z, x: neg(j1(x))])
j1: SpecialFunction = SpecialFunction("j1", "f", [lambda z, x: mul(0.5, sub(j0(x), jv(2.0, x)))])
jv: SpecialFunction = SpecialFunction(
    "jv", "fz", [_unknown("jv", "v"), lambda z, v, x: _neighbours(jv, v, x, -1.0)]
)
y0: SpecialFunction = SpecialFunction("y0", "f", [lambda z, x: neg(y1(x))])
y1: SpecialFunction = SpecialFunction("y1", "f", [lambda z, x: mul(0.5, sub(y0(x), yv(2.0, x)))])
yv: SpecialFunction = SpecialFunction(
    "yv", "fz", [_unknown("yv", "v"), lambda z, v, x: _neighbours(yv, v, x, -1.0)]
)
k0: SpecialFunction = SpecialFunction("k0", "f", [lambda z, x: neg(k1(x))])
k1: SpecialFunction = SpecialFunction("k1", "f", [lambda z, x: mul(-0.5, add(k0(x), kv(2.0, x)))])
kv: SpecialFunction = SpecialFunction(
    "kv", "fz", [_unknown("kv", "v"), lambda z, v, x: neg(_neighbours(kv, v, x, 1.0))]
)
k0e: SpecialFunction = SpecialFunction("k0e", "f", [lambda z, x: sub(z, k1e(x))])
k1e: SpecialFunction = SpecialFunction(
    "k1e", "f", [lambda z, x: sub(z, mul(0.5, add(k0e(x), kve(2.0, x))))]
)
kve: SpecialFunction = SpecialFunction(
    "kve", "fz", [_unknown("kve", "v"), lambda z, v, x: sub(z, _neighbours(kve, v, x, 1.0))]
)


# ---- SciPy's ufuncs, called by users on traced values --------------------------------------------


def _as_scipy(name: str, primitive: Ufunc) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        import scipy.special

        values = [value(x, f"scipy.special.{name}: an argument") for x in args]
        ufunc = getattr(scipy.special, name)
        types = [_operand_type(aval_of(v)) for v in values]
        try:
            loop = ufunc.resolve_dtypes((*types, None))
        except TypeError:
            listed = " and ".join(str(aval_of(v).dtype) for v in values)
            raise DTypeError(f"scipy.special.{name} is not defined for {listed}") from None
        # An integer order stays one: the primitive takes it in any dtype.
        cast = [
            convert(v, dtypes.canonical(d)) if d.kind in "fc" else v
            for v, d in zip(values, loop[:-1], strict=True)
        ]
        return primitive(*cast)

    function.__name__ = function.__qualname__ = name
    return function


def _operand_type(aval: Aval) -> Any:
    return dtypes.python_type(aval.dtype) if aval.weak and aval.dtype != dtypes.BOOL else aval.dtype


_OWN_NAMES = (
    "erf erfc erfcx erfi erfinv erfcinv dawsn wofz ndtr log_ndtr ndtri ndtri_exp gammaln loggamma gamma "
    "rgamma gammasgn beta betaln poch gammainc gammaincc gammaincinv gammainccinv betainc betaincc betaincinv "
    "xlogy xlog1py entr rel_entr kl_div logit log_expit exp1 expi expn hyp0f1 hyp1f1 hyp2f1 i0 i1 iv i0e i1e "
    "ive j0 j1 jv y0 y1 yv k0 k1 kv k0e k1e kve"
).split()

#: For the name of a ufunc of ``scipy.special``, a function that takes arrays and traced values and
#: computes in the dtype that SciPy would use; it returns an inside value.
SCIPY_UFUNCS: dict[str, Callable[..., Any]] = {
    name: _as_scipy(name, globals()[name]) for name in _OWN_NAMES
} | {
    name: _as_scipy(name, primitive)
    for name, primitive in {
        "psi": digamma,
        "yn": yv,
        "kn": kv,
        "expit": logistic,
        "expm1": p.expm1,
        "log1p": p.log1p,
        "exp2": p.exp2,
        "cbrt": p.cbrt,
    }.items()
}
