"""Distributions and numbers of samples under the names of ``jax.scipy.stats`` and SciPy."""

import sys as _sys

from fgrad.scipy.stats.continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    gennorm,
    gumbel_l,
    gumbel_r,
    laplace,
    logistic,
    norm,
    pareto,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from fgrad.scipy.stats.discrete import bernoulli, betabinom, binom, geom, nbinom, poisson
from fgrad.scipy.stats.kernel_density import gaussian_kde
from fgrad.scipy.stats.multivariate import dirichlet, multinomial, multivariate_normal
from fgrad.scipy.stats.summaries import mode, rankdata, sem

__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]

# JAX has a module for each distribution: ``import fgrad.scipy.stats.norm`` and ``from
# fgrad.scipy.stats.norm import logpdf`` find it here.
for _name in __all__:
    if not callable(_found := globals()[_name]):
        _sys.modules[f"{__name__}.{_name}"] = _found
