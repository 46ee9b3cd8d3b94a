"""Random numbers under the names of ``jax.random``: pure functions of a key."""

from fgrad.random.keys import (
    PRNGKey,
    PRNGKeyArray,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from fgrad.random.normal import (
    double_sided_maxwell,
    lognormal,
    maxwell,
    normal,
    truncated_normal,
)
from fgrad.random.quantiles import (
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    pareto,
    rayleigh,
    triangular,
    weibull_min,
)
from fgrad.random.selection import categorical, choice, permutation
from fgrad.random.uniform import bernoulli, bits, rademacher, randint, uniform

__all__ = [
    "PRNGKey",
    "PRNGKeyArray",
    "bernoulli",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "clone",
    "double_sided_maxwell",
    "exponential",
    "fold_in",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "normal",
    "pareto",
    "permutation",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "triangular",
    "truncated_normal",
    "uniform",
    "weibull_min",
    "wrap_key_data",
]
