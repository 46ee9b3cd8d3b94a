"""Distributions on the integers, under the names of SciPy."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from typing import Any

from fgrad import numpy as fnp
from fgrad.scipy import special
from fgrad.scipy.stats.distributions import Discrete


def _from_zero(*shapes: Any) -> Any:
    return 0.0, fnp.inf


def _up_to_n(n: Any, *shapes: Any) -> Any:
    return 0.0, n


def _log_ways(n: Any, k: Any) -> Any:
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)


def _bernoulli_log(k: Any, p: Any) -> Any:
    found = special.xlogy(k, p) + special.xlog1py(1.0 - k, -p)
    return fnp.where((k == 0.0) | (k == 1.0), found, -fnp.inf)


bernoulli: Discrete = Discrete(
    "bernoulli",
    "p",
    "loc",
    {
        "log": _bernoulli_log,
        "cdf": lambda k, p: fnp.where(k < 0.0, 0.0, fnp.where(k < 1.0, 1.0 - p, 1.0)),
        "ppf": lambda q, p: fnp.where(q <= 1.0 - p, 0.0, 1.0),
    },
    lambda p: (0.0, 1.0),
    lambda p: 0.0,
)
binom: Discrete = Discrete(
    "binom",
    "n p",
    "loc",
    {"log": lambda k, n, p: _log_ways(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p)},
    _up_to_n,
    lambda n, p: 0.0,
)


def _betabinom_log(k: Any, n: Any, a: Any, b: Any) -> Any:
    ways = -fnp.log(n + 1.0) - special.betaln(1.0 + n - k, 1.0 + k)
    return ways + special.betaln(k + a, n - k + b) - special.betaln(a, b)


betabinom: Discrete = Discrete(
    "betabinom", "n a b", "loc", {"log": _betabinom_log}, _up_to_n, lambda n, a, b: 0.0
)


def _nbinom_log(k: Any, n: Any, p: Any) -> Any:
    ways = special.gammaln(k + n) - special.gammaln(k + 1.0) - special.gammaln(n)
    return ways + special.xlogy(n, p) + special.xlog1py(k, -p)


nbinom: Discrete = Discrete(
    "nbinom", "n p", "loc", {"log": _nbinom_log}, _from_zero, lambda n, p: 0.0
)
geom: Discrete = Discrete(
    "geom",
    "p",
    "loc",
    {"log": lambda k, p: special.xlog1py(k - 1.0, -p) + fnp.log(p)},
    lambda p: (1.0, fnp.inf),
    lambda p: 1.0,
)


def _poisson_below(k: Any, mu: Any) -> Any:
    found = special.gammaincc(fnp.maximum(k, 0.0) + 1.0, mu)
    return fnp.where(k < 0.0, 0.0, found)


# Up to this mean the entropy is a sum, over so many counts, and above it a series in 1 / mean.
_FEW, _COUNTS = 60.0, 170
_SERIES = (-1 / 12, -1 / 24, -19 / 360, -9 / 80, -863 / 2520, -1375 / 1008, -33953 / 5040)


def _poisson_entropy(mu: Any) -> Any:
    mu = mu * 1.0
    few = mu < _FEW
    small = fnp.where(few & (mu >= 0.0), mu, 1.0)
    k = fnp.arange(_COUNTS).astype(mu.dtype)
    logs = special.xlogy(k, small[..., None]) - small[..., None] - special.gammaln(k + 1.0)
    shares = fnp.exp(logs)
    summed = -fnp.sum(fnp.where(shares > 0.0, shares * fnp.where(shares > 0.0, logs, 0.0), 0.0), -1)
    # At zero the sum has no slope: its first terms have.
    summed = fnp.where(small == 0.0, small - special.xlogy(small, small), summed)
    large = fnp.where(few, _FEW, mu)
    rest: Any = 0.0
    for coefficient in reversed(_SERIES):
        rest = (rest + coefficient) / large
    found = fnp.where(few, summed, 0.5 * fnp.log(2.0 * math.pi * math.e * large) + rest)
    return fnp.where(mu >= 0.0, found, fnp.nan)


poisson: Discrete = Discrete(
    "poisson",
    "mu",
    "loc",
    {
        "log": lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1.0) - mu,
        "cdf": _poisson_below,
        "entropy": _poisson_entropy,
    },
    _from_zero,
    lambda mu: 0.0,
)
