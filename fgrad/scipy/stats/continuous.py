"""Distributions with densities, under the names of SciPy."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from typing import Any

from fgrad import numpy as fnp
from fgrad.nn import log1mexp
from fgrad.scipy import special
from fgrad.scipy.stats.distributions import Continuous

_LOG_2PI = math.log(2.0 * math.pi)
_HALF_LINE = lambda *shapes: (0.0, fnp.inf)  # noqa: E731
_UNIT = lambda *shapes: (0.0, 1.0)  # noqa: E731


def _log_gauss(y: Any) -> Any:
    return -0.5 * y * y - 0.5 * _LOG_2PI


norm: Continuous = Continuous(
    "norm",
    "",
    "loc scale",
    {
        "log": _log_gauss,
        "cdf": special.ndtr,
        "sf": lambda y: special.ndtr(-y),
        "logcdf": special.log_ndtr,
        "logsf": lambda y: special.log_ndtr(-y),
        "ppf": special.ndtri,
        "isf": lambda q: -special.ndtri(q),
    },
)


# ---- on the half line and the unit interval ------------------------------------------------------


def _log_beta(y: Any, a: Any, b: Any) -> Any:
    powers = special.xlogy(a - 1.0, y) + special.xlog1py(b - 1.0, -y)
    return powers - special.betaln(a, b)


beta: Continuous = Continuous(
    "beta",
    "a b",
    "loc scale",
    {
        "log": _log_beta,
        "cdf": lambda y, a, b: special.betainc(a, b, y),
        "sf": lambda y, a, b: special.betainc(b, a, 1.0 - y),
        "ppf": lambda q, a, b: special.betaincinv(a, b, q),
        "isf": lambda q, a, b: 1.0 - special.betaincinv(b, a, q),
    },
    _UNIT,
)


def _log_gamma(y: Any, a: Any) -> Any:
    return special.xlogy(a - 1.0, y) - y - special.gammaln(a)


gamma: Continuous = Continuous(
    "gamma",
    "a",
    "loc scale",
    {
        "log": _log_gamma,
        "cdf": lambda y, a: special.gammainc(a, y),
        "sf": lambda y, a: special.gammaincc(a, y),
        "ppf": lambda q, a: special.gammaincinv(a, q),
        "isf": lambda q, a: special.gammainccinv(a, q),
    },
    _HALF_LINE,
)
chi2: Continuous = Continuous(
    "chi2",
    "df",
    "loc scale",
    {
        "log": lambda y, df: _log_gamma(0.5 * y, 0.5 * df) - math.log(2.0),
        "cdf": lambda y, df: special.gammainc(0.5 * df, 0.5 * y),
        "sf": lambda y, df: special.gammaincc(0.5 * df, 0.5 * y),
        "ppf": lambda q, df: 2.0 * special.gammaincinv(0.5 * df, q),
        "isf": lambda q, df: 2.0 * special.gammainccinv(0.5 * df, q),
    },
    _HALF_LINE,
)
expon: Continuous = Continuous(
    "expon",
    "",
    "loc scale",
    {
        "log": lambda y: -y,
        "cdf": lambda y: -fnp.expm1(-y),
        "sf": lambda y: fnp.exp(-y),
        "logcdf": log1mexp,
        "logsf": lambda y: -y,
        "ppf": lambda q: -fnp.log1p(-q),
        "isf": lambda q: -fnp.log(q),
    },
    _HALF_LINE,
)
pareto: Continuous = Continuous(
    "pareto",
    "b",
    "loc scale",
    {
        "log": lambda y, b: fnp.log(b) - (b + 1.0) * fnp.log(y),
        "cdf": lambda y, b: -fnp.expm1(-b * fnp.log(y)),
        "sf": lambda y, b: fnp.exp(-b * fnp.log(y)),
        "logcdf": lambda y, b: log1mexp(b * fnp.log(y)),
        "logsf": lambda y, b: -b * fnp.log(y),
        "ppf": lambda q, b: fnp.exp(-fnp.log1p(-q) / b),
        "isf": lambda q, b: fnp.exp(-fnp.log(q) / b),
    },
    lambda b: (1.0, fnp.inf),
    lambda b: 2.0,
)
uniform: Continuous = Continuous(
    "uniform",
    "",
    "loc scale",
    {
        "log": lambda y: 0.0 * y,
        "cdf": lambda y: y,
        "sf": lambda y: 1.0 - y,
        "ppf": lambda q: q,
        "isf": lambda q: 1.0 - q,
    },
    _UNIT,
)


# ---- on the whole line ---------------------------------------------------------------------------

cauchy: Continuous = Continuous(
    "cauchy",
    "",
    "loc scale",
    {
        "log": lambda y: -math.log(math.pi) - fnp.log1p(y * y),
        "cdf": lambda y: fnp.arctan2(1.0, -y) / math.pi,
        "sf": lambda y: fnp.arctan2(1.0, y) / math.pi,
        "ppf": lambda q: fnp.tan(math.pi * (q - 0.5)),
        "isf": lambda q: fnp.tan(math.pi * (0.5 - q)),
    },
)


def _laplace_below(y: Any) -> Any:
    far = fnp.exp(-fnp.abs(y))
    return fnp.where(y < 0.0, 0.5 * far, 1.0 - 0.5 * far)


def _laplace_log_below(y: Any) -> Any:
    return fnp.where(y < 0.0, y - math.log(2.0), fnp.log1p(-0.5 * fnp.exp(-fnp.abs(y))))


def _laplace_quantile(q: Any) -> Any:
    low = q < 0.5
    return fnp.where(
        low, fnp.log(2.0 * fnp.where(low, q, 0.5)), -fnp.log(2.0 * (1.0 - fnp.where(low, 0.5, q)))
    )


laplace: Continuous = Continuous(
    "laplace",
    "",
    "loc scale",
    {
        "log": lambda y: -fnp.abs(y) - math.log(2.0),
        "cdf": _laplace_below,
        "sf": lambda y: _laplace_below(-y),
        "logcdf": _laplace_log_below,
        "logsf": lambda y: _laplace_log_below(-y),
        "ppf": _laplace_quantile,
        "isf": lambda q: -_laplace_quantile(q),
    },
)
logistic: Continuous = Continuous(
    "logistic",
    "",
    "loc scale",
    {
        "log": lambda y: special.log_expit(y) + special.log_expit(-y),
        "cdf": special.expit,
        "sf": lambda y: special.expit(-y),
        "logcdf": special.log_expit,
        "logsf": lambda y: special.log_expit(-y),
        "ppf": special.logit,
        "isf": lambda q: -special.logit(q),
    },
)
gumbel_r: Continuous = Continuous(
    "gumbel_r",
    "",
    "loc scale",
    {
        "log": lambda y: -y - fnp.exp(-y),
        "cdf": lambda y: fnp.exp(-fnp.exp(-y)),
        "sf": lambda y: -fnp.expm1(-fnp.exp(-y)),
        "logcdf": lambda y: -fnp.exp(-y),
        "logsf": lambda y: log1mexp(fnp.exp(-y)),
        "ppf": lambda q: -fnp.log(-fnp.log(q)),
        "isf": lambda q: -fnp.log(-fnp.log1p(-q)),
    },
)
gumbel_l: Continuous = Continuous(
    "gumbel_l",
    "",
    "loc scale",
    {
        "log": lambda y: y - fnp.exp(y),
        "cdf": lambda y: -fnp.expm1(-fnp.exp(y)),
        "sf": lambda y: fnp.exp(-fnp.exp(y)),
        "logcdf": lambda y: log1mexp(fnp.exp(y)),
        "logsf": lambda y: -fnp.exp(y),
        "ppf": lambda q: fnp.log(-fnp.log1p(-q)),
        "isf": lambda q: fnp.log(-fnp.log(q)),
    },
)


def _log_student(y: Any, df: Any) -> Any:
    constant = special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df)
    stretch = 0.5 * fnp.log(df * math.pi)
    return constant - stretch - 0.5 * (df + 1.0) * fnp.log1p(y * y / df)


def _student_below(y: Any, df: Any) -> Any:
    tail = 0.5 * special.betainc(0.5 * df, 0.5, df / (df + y * y))
    return fnp.where(y < 0.0, tail, 1.0 - tail)


t: Continuous = Continuous(
    "t",
    "df",
    "loc scale",
    {"log": _log_student, "cdf": _student_below, "sf": lambda y, df: _student_below(-y, df)},
)


def _gennorm_below(y: Any, p: Any) -> Any:
    tail = 0.5 * special.gammaincc(1.0 / p, fnp.abs(y) ** p)
    return fnp.where(y < 0.0, tail, 1.0 - tail)


gennorm: Continuous = Continuous(
    "gennorm",
    "p",
    "",
    {
        "log": lambda y, p: fnp.log(0.5 * p) - special.gammaln(1.0 / p) - fnp.abs(y) ** p,
        "cdf": _gennorm_below,
        "sf": lambda y, p: _gennorm_below(-y, p),
    },
)


def _log_gauss_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability of a normal number between a and b, in either tail."""
    right, left = a > 0.0, b < 0.0
    # In the tails, a difference of logarithms of tails that do not underflow.
    near = fnp.where(right, -a, fnp.where(left, b, -1.0))
    far = fnp.where(right, -b, fnp.where(left, a, -2.0))
    log_near, log_far = special.log_ndtr(near), special.log_ndtr(far)
    tail = log_near + log1mexp(log_near - log_far)
    middle = right | left
    low, high = fnp.where(middle, -1.0, a), fnp.where(middle, 1.0, b)
    centre = fnp.log1p(-special.ndtr(low) - special.ndtr(-high))
    return fnp.where(middle, tail, centre)


truncnorm: Continuous = Continuous(
    "truncnorm",
    "a b",
    "loc scale",
    {
        "log": lambda y, a, b: _log_gauss(y) - _log_gauss_mass(a, b),
        "cdf": lambda y, a, b: fnp.exp(_log_gauss_mass(a, y) - _log_gauss_mass(a, b)),
        "sf": lambda y, a, b: fnp.exp(_log_gauss_mass(y, b) - _log_gauss_mass(a, b)),
        "logcdf": lambda y, a, b: _log_gauss_mass(a, y) - _log_gauss_mass(a, b),
        "logsf": lambda y, a, b: _log_gauss_mass(y, b) - _log_gauss_mass(a, b),
    },
    lambda a, b: (a, b),
    lambda a, b: fnp.clip(0.0, a, b),
)


# ---- on the circle -------------------------------------------------------------------------------

vonmises: Continuous = Continuous(
    "vonmises",
    "kappa",
    "",
    {"log": lambda y, kappa: kappa * (fnp.cos(y) - 1.0) - (_LOG_2PI + fnp.log(special.i0e(kappa)))},
)


def _log_wrapcauchy(y: Any, c: Any) -> Any:
    valid = (c > 0.0) & (c < 1.0)
    safe = fnp.where(valid, c, 0.5)
    found = fnp.log1p(-safe * safe) - _LOG_2PI - fnp.log1p(safe * safe - 2.0 * safe * fnp.cos(y))
    return fnp.where(valid, found, fnp.nan)


wrapcauchy: Continuous = Continuous(
    "wrapcauchy", "c", "", {"log": _log_wrapcauchy}, lambda c: (0.0, 2.0 * math.pi)
)
