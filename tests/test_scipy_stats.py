"""``fgrad.scipy.stats`` against JAX and SciPy, under all transforms and in the tails."""

from __future__ import annotations

import importlib
from typing import Any

import jax.scipy.stats
import mpmath
import numpy as np
import pytest
import scipy.stats as ss
from support.against_jax import holds_against_jax
from support.modules import jax

import fgrad
from fgrad.errors import ArgumentError, ShapeError
from fgrad.scipy import stats

jst = jax.scipy.stats
RNG = np.random.default_rng(11)
X = np.array([-1.7, -0.3, 0.4, 2.1])
POSITIVE = np.array([0.3, 0.9, 1.6, 3.1])
SHARE = np.array([0.15, 0.4, 0.65, 0.85])
A, B = np.array([1.3, 2.2, 0.8, 3.1]), np.array([2.4, 0.9, 1.7, 1.2])
LOC, SCALE = np.array([0.1, -0.2, 0.05, 0.3]), np.array([1.5, 0.7, 1.1, 2.0])
K = np.array([0, 1, 3, 2])
TEN = np.array([4, 6, 9, 5])

DENSITIES, TAILS = ("logpdf", "pdf"), ("cdf", "sf", "logcdf", "logsf")
# name: where to look, parameters, methods of JAX, and how many parameters have derivatives
CONTINUOUS: dict[str, tuple[Any, tuple[Any, ...], tuple[str, ...]]] = {
    "norm": (X, (LOC, SCALE), (*DENSITIES, *TAILS)),
    "beta": (SHARE, (A, B), DENSITIES),
    "gamma": (POSITIVE, (A, LOC * 0.5 - 0.3, SCALE), DENSITIES),
    "chi2": (POSITIVE, (A,), DENSITIES),
    "expon": (POSITIVE, (LOC - 0.5, SCALE), (*DENSITIES, *TAILS)),
    "pareto": (POSITIVE + 1.0, (B,), (*DENSITIES, *TAILS)),
    "uniform": (SHARE, (LOC - 0.5, SCALE + 1.0), DENSITIES),
    "cauchy": (X, (LOC, SCALE), (*DENSITIES, *TAILS)),
    "laplace": (X, (LOC, SCALE), (*DENSITIES, "cdf")),
    "logistic": (X, (LOC, SCALE), (*DENSITIES, "cdf", "sf")),
    "gumbel_r": (X, (LOC, SCALE), (*DENSITIES, *TAILS)),
    "gumbel_l": (X, (LOC, SCALE), (*DENSITIES, *TAILS)),
    "t": (X, (A, LOC, SCALE), DENSITIES),
    "gennorm": (X, (A,), DENSITIES),
    "truncnorm": (X, (LOC - 3.0, SCALE + 3.0, LOC, SCALE), (*DENSITIES, *TAILS)),
    "vonmises": (X, (A,), DENSITIES),
    "wrapcauchy": (POSITIVE, (SHARE,), DENSITIES),
}
DISCRETE: dict[str, tuple[Any, ...]] = {
    "bernoulli": (np.array([0, 1, 1, 0]), SHARE),
    "binom": (K, TEN, SHARE),
    "betabinom": (K, TEN, A, B),
    "nbinom": (K, TEN, SHARE),
    "geom": (K + 1, SHARE),
    "poisson": (K, A),
}


def methods_of(module: Any, name: str, methods: tuple[str, ...]) -> Any:
    distribution = getattr(module, name)
    return lambda x, *parameters: [getattr(distribution, m)(x, *parameters) for m in methods]


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_agree_with_jax(name: str) -> None:
    x, parameters, methods = CONTINUOUS[name]
    holds_against_jax(
        methods_of(stats, name, methods),
        methods_of(jst, name, methods),
        (x, *parameters),
        rtol=1e-9,
        jax_derivatives=not name.startswith("gumbel"),  # which JAX fails to derive
    )


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_agree_with_jax(name: str) -> None:
    methods = ("logpmf", "pmf", *(("cdf",) if name in ("bernoulli", "poisson") else ()))
    order = 1 if name == "poisson" else 2
    holds_against_jax(
        methods_of(stats, name, methods),
        methods_of(jst, name, methods),
        DISCRETE[name],
        rtol=1e-9,
        order=order,
    )


SCIPY_NAMES = {"gennorm": "gennorm"}
# Distributions whose tails or quantiles SciPy gives, with their parameters kept still.
TAILED: dict[str, tuple[Any, tuple[Any, ...], tuple[str, ...]]] = {
    name: (x, parameters, methods)
    for methods, names in {
        (
            *TAILS,
            "ppf",
            "isf",
        ): "norm beta gamma chi2 expon pareto uniform cauchy laplace logistic gumbel_r gumbel_l",
        TAILS: "t gennorm truncnorm",
    }.items()
    for name in names.split()
    for x, parameters, _ in [CONTINUOUS[name]]
}


@pytest.mark.parametrize("name", TAILED)
def test_tails_and_quantiles_agree_with_scipy(name: str) -> None:
    x, parameters, methods = TAILED[name]
    for method in methods:
        at = SHARE if method in ("ppf", "isf") else x
        ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(ss, name), method)
        np.testing.assert_allclose(
            ours(at, *parameters), theirs(at, *parameters), rtol=1e-10, err_msg=method
        )
        holds_against_jax(ours, None, (at, *parameters), moving=[0])


def test_every_public_name_is_compared() -> None:
    others = {
        "dirichlet",
        "multinomial",
        "multivariate_normal",
        "gaussian_kde",
        "mode",
        "rankdata",
        "sem",
    }
    assert set(stats.__all__) == {*CONTINUOUS, *DISCRETE, *others}
    assert {n for n in dir(jst) if n[0] != "_"} <= set(stats.__all__)


def test_methods_of_jax_are_there() -> None:
    compared = 0
    for name in (*CONTINUOUS, *DISCRETE, "dirichlet", "multinomial", "multivariate_normal"):
        module = getattr(jst, name)
        for method in (m for m in dir(module) if m[0] != "_"):
            assert callable(getattr(getattr(stats, name), method)), (name, method)
            compared += 1
    assert compared > 90


def test_distributions_are_imported_as_modules() -> None:
    module = importlib.import_module("fgrad.scipy.stats.norm")
    assert module is stats.norm
    from fgrad.scipy.stats.multivariate_normal import logpdf

    assert float(logpdf(0.0, 0.0, 1.0)) == pytest.approx(-0.5 * np.log(2 * np.pi))


def test_entropies_of_counts() -> None:
    """Against sums in many digits, on both sides of where the series begins, and at its ends."""
    means = [1e-300, 1e-8, 0.3, 1.0, 7.5, 40.0, 59.99, 60.0, 75.0, 400.0]
    with mpmath.workdps(40):
        expected = []
        for mean in map(mpmath.mpf, means):
            counts = range(int(mean + 40 * mpmath.sqrt(mean) + 60))
            logs = [k * mpmath.log(mean) - mean - mpmath.loggamma(k + 1) for k in counts]
            expected.append(float(-sum(x * mpmath.exp(x) for x in logs)))
    np.testing.assert_allclose(stats.poisson.entropy(means), expected, rtol=1e-12)
    holds_against_jax(
        stats.poisson.entropy,
        jst.poisson.entropy,
        (np.array([0.3, 4.0, 50.0]),),
        rtol=1e-6,
        jax_derivatives=False,  # which are NaN
    )
    holds_against_jax(stats.poisson.entropy, None, (np.array([0.3, 58.0, 70.0]),))
    ends = stats.poisson.entropy(np.array([0.0, np.inf, -1.0, np.nan]))
    np.testing.assert_array_equal(ends, [0.0, np.inf, np.nan, np.nan])
    assert float(fgrad.grad(stats.poisson.entropy)(0.0)) == np.inf
    assert stats.poisson.entropy(np.float32(2.0)).dtype == np.float32
    assert stats.poisson.entropy(3.0, loc=np.zeros(2)).shape == (2,)
    assert stats.poisson.entropy(3).dtype == np.float64


# ---- the edges -----------------------------------------------------------------------------------


def test_outside_of_the_support() -> None:
    for name, x, parameters in (
        ("beta", np.array([-0.1, 1.1]), (2.0, 3.0)),
        ("gamma", np.array([-1.0]), (2.0,)),
        ("expon", np.array([-1.0]), ()),
        ("pareto", np.array([0.5]), (2.0,)),
        ("uniform", np.array([-0.5, 1.5]), ()),
        ("truncnorm", np.array([-2.0, 2.0]), (-1.0, 1.0)),
    ):
        ours, theirs = getattr(stats, name), getattr(ss, name)
        for method in (*DENSITIES, *TAILS):
            expected = getattr(theirs, method)(x, *parameters)
            np.testing.assert_array_equal(getattr(ours, method)(x, *parameters), expected)
        slopes = fgrad.grad(lambda v, f=ours, p=parameters: f.logpdf(v, *p).sum())(x)
        np.testing.assert_array_equal(slopes, 0.0)
    assert np.isnan(float(stats.expon.logpdf(np.nan)))
    assert np.isnan(np.asarray(stats.norm.ppf(np.array([-0.1, 1.1])))).all()
    assert float(stats.poisson.logpmf(-1, 2.0)) == -np.inf
    np.testing.assert_array_equal(
        stats.bernoulli.ppf(np.array([0.2, 0.9, 1.5]), 0.5), [0.0, 1.0, np.nan]
    )
    assert float(stats.bernoulli.logpmf(0, 0.0)) == 0.0
    assert float(fgrad.grad(stats.bernoulli.logpmf, argnums=1)(0.0, 0.0)) == -1.0
    # The density at the end of the support, and its slope.
    assert float(stats.gamma.logpdf(0.0, 1.0)) == 0.0
    assert float(fgrad.grad(stats.gamma.logpdf)(0.0, 1.0)) == -1.0


def test_far_tails() -> None:
    assert float(stats.norm.logsf(40.0)) == pytest.approx(ss.norm.logsf(40.0), rel=1e-12)
    assert float(fgrad.grad(stats.norm.logcdf)(-1e5)) == pytest.approx(1e5, rel=1e-9)
    for a, b, x in (
        (20.0, 30.0, 20.1),
        (-30.0, -20.0, -20.1),
        (-1.0, 1.0, 0.3),
        (5.0, np.inf, 6.0),
    ):
        for method in ("logpdf", "logcdf", "logsf", "cdf", "sf"):
            expected = getattr(ss.truncnorm, method)(x, a, b)
            assert float(getattr(stats.truncnorm, method)(x, a, b)) == pytest.approx(
                expected, rel=1e-9
            ), (a, b, method)
        slope = fgrad.grad(lambda v, a=a, b=b: stats.truncnorm.logcdf(v, a, b))(x)
        assert np.isfinite(float(slope))
    assert float(stats.cauchy.sf(1e20)) == pytest.approx(ss.cauchy.sf(1e20), rel=1e-12)
    assert float(stats.logistic.logsf(800.0)) == -800.0
    assert float(stats.gumbel_r.logsf(50.0)) == pytest.approx(-50.0, rel=1e-12)
    assert float(fgrad.grad(stats.logistic.logpdf)(1e4)) == -1.0


def test_parameters_by_name_and_weak_types() -> None:
    assert float(stats.norm.logpdf(x=1.0, loc=1.0, scale=2.0)) == pytest.approx(
        ss.norm.logpdf(1.0, 1.0, 2.0)
    )
    assert stats.norm.logpdf(np.float32(1.0), 0.0, 2.0).dtype == np.float32
    assert stats.gamma.logpdf(np.ones(2, np.float32), 2.0, scale=0.5).dtype == np.float32
    assert stats.poisson.logpmf(np.array([1, 2]), 0.5).dtype == np.float64
    for match, call in {
        r"gamma.logpdf: a not given": lambda: stats.gamma.logpdf(1.0),
        r"norm.cdf: takes loc, scale, got 3": lambda: stats.norm.cdf(1.0, 0.0, 1.0, 2.0),
        r"beta.pdf: c is not a parameter": lambda: stats.beta.pdf(0.5, 1.0, 2.0, c=3.0),
        r"beta.pdf: a is given twice": lambda: stats.beta.pdf(0.5, 1.0, 2.0, a=3.0),
    }.items():
        with pytest.raises(ArgumentError, match=match):
            call()
    with pytest.raises(AttributeError, match="vonmises has no cdf"):
        stats.vonmises.cdf(1.0, 2.0)


# ---- vectors -------------------------------------------------------------------------------------

SPREAD = np.array([[2.0, 0.3], [0.3, 1.0]])
POINTS = RNG.normal(size=(3, 2))
SIMPLEX = np.array([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]])


@pytest.mark.parametrize(
    "parameters",
    [
        (np.array([0.1, -0.2]), SPREAD),
        (POINTS * 0.5, SPREAD),
        (np.array([0.1, -0.2]), np.stack([SPREAD, 2 * SPREAD, SPREAD + np.eye(2)])),
        (np.float64(0.5) * np.ones(()), np.asarray(2.0)),
    ],
)
def test_normal_vectors(parameters: Any) -> None:
    def symmetric(m: Any) -> Any:
        return lambda x, mean, cov: m.multivariate_normal.logpdf(
            x, mean, 0.5 * (cov + np.swapaxes(cov, -1, -2)) if np.ndim(cov) else cov
        )

    holds_against_jax(symmetric(stats), symmetric(jst), (POINTS, *parameters), rtol=1e-9)
    np.testing.assert_allclose(
        stats.multivariate_normal.pdf(POINTS, *parameters),
        jst.multivariate_normal.pdf(POINTS, *parameters),
        rtol=1e-9,
    )


def test_vectors_that_sum_to_one_and_counts() -> None:
    alpha = np.array([1.5, 0.7, 2.5])
    for points in (SIMPLEX, SIMPLEX[:2]):
        np.testing.assert_allclose(
            stats.dirichlet.logpdf(points, alpha), jst.dirichlet.logpdf(points, alpha), rtol=1e-12
        )
    holds_against_jax(
        lambda a: stats.dirichlet.logpdf(SIMPLEX, a),
        lambda a: jst.dirichlet.logpdf(SIMPLEX, a),
        (alpha,),
    )
    assert float(stats.dirichlet.logpdf(np.array([0.9, 0.3, -0.2]), alpha)) == -np.inf
    counts, p = np.array([1, 2, 0]), np.array([0.2, 0.5, 0.3])
    holds_against_jax(
        lambda q: stats.multinomial.logpmf(counts, 3, q),
        lambda q: jst.multinomial.logpmf(counts, 3, q),
        (p,),
    )
    several = np.array([[1, 2, 0], [1, 1, 2]])
    np.testing.assert_allclose(
        stats.multinomial.logpmf(several, 3, p), ss.multinomial.logpmf(several, 3, p)
    )
    with pytest.raises(ShapeError, match=r"dirichlet.logpdf: x of shape"):
        stats.dirichlet.logpdf(np.ones(5), alpha)
    with pytest.raises(ShapeError, match=r"multivariate_normal.logpdf: x of shape"):
        stats.multivariate_normal.logpdf(np.ones(3), np.zeros(2), SPREAD)


# ---- samples -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method: str) -> None:
    a = np.array([[2.0, 0.5, 2.0, -1.0], [1.0, 1.0, 1.0, 0.0]])
    for axis in (None, 0, 1):
        got = stats.rankdata(a, method, axis=axis)
        expected = np.asarray(ss.rankdata(a, method, axis=axis))
        np.testing.assert_array_equal(np.ravel(got), np.ravel(expected))
        np.testing.assert_array_equal(
            fgrad.jit(lambda x, k=axis: stats.rankdata(x, method, axis=k))(a), got
        )
    rows = fgrad.vmap(lambda x: stats.rankdata(x, method))(a)
    np.testing.assert_array_equal(rows, ss.rankdata(a, method, axis=1))


def test_modes_and_errors_of_means() -> None:
    a = np.array([[3, 1, 3, 2, 1], [0, 0, 0, 5, 5]])
    for axis in (None, 0, 1):
        for keepdims in (False, True):
            got, expected = (
                stats.mode(a, axis, keepdims=keepdims),
                ss.mode(a, axis, keepdims=keepdims),
            )
            np.testing.assert_array_equal(got.mode, expected.mode)
            np.testing.assert_array_equal(got.count, expected.count)
    x = RNG.normal(size=(4, 3))
    for axis in (None, 0, 1):
        holds_against_jax(
            lambda v, k=axis: stats.sem(v, axis=k), lambda v, k=axis: jst.sem(v, axis=k), (x,)
        )
    x[0, 0] = np.nan
    np.testing.assert_allclose(
        stats.sem(x, nan_policy="omit"), ss.sem(x, nan_policy="omit"), rtol=1e-13
    )
    with pytest.raises(ArgumentError, match=r"rankdata: method is 'x'"):
        stats.rankdata(x, "x")
    with pytest.raises(ArgumentError, match=r"sem: nan_policy is 'raise'"):
        stats.sem(x, nan_policy="raise")


@pytest.mark.parametrize("rule", [None, "silverman", 0.6])
def test_smoothed_densities(rule: Any) -> None:
    sample, weights = RNG.normal(size=(2, 7)), RNG.uniform(0.5, 1.5, 7)
    points = RNG.normal(size=(2, 3))
    ours = stats.gaussian_kde(sample, rule, weights)
    theirs = ss.gaussian_kde(sample, rule, weights)
    np.testing.assert_allclose(ours(points), theirs(points), rtol=1e-12)
    np.testing.assert_allclose(ours.logpdf(points), theirs.logpdf(points), rtol=1e-12)
    np.testing.assert_allclose(ours.inv_cov, theirs.inv_cov, rtol=1e-11)
    np.testing.assert_allclose(
        ours.integrate_gaussian(points[:, 0], np.eye(2)),
        theirs.integrate_gaussian(points[:, 0], np.eye(2)),
        rtol=1e-12,
    )
    other = stats.gaussian_kde(sample + 0.5)
    np.testing.assert_allclose(
        ours.integrate_kde(other), theirs.integrate_kde(ss.gaussian_kde(sample + 0.5)), rtol=1e-12
    )
    numbers = stats.gaussian_kde(sample[0], rule)
    np.testing.assert_allclose(
        numbers.integrate_box_1d(-0.5, 1.0),
        ss.gaussian_kde(sample[0], rule).integrate_box_1d(-0.5, 1.0),
        rtol=1e-12,
    )
    holds_against_jax(
        lambda d, x: stats.gaussian_kde(d, rule).logpdf(x),
        lambda d, x: jst.gaussian_kde(d, rule).logpdf(x),
        (sample, points),
        rtol=1e-9,
        scale=1.1,
    )
    drawn = fgrad.jit(lambda k: k.resample(fgrad.random.key(0), (5,)))(ours)
    assert drawn.shape == (2, 5)


def test_smoothed_densities_refuse_what_does_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"gaussian_kde: dataset has shape \(1, 1\)"):
        stats.gaussian_kde(1.0)
    with pytest.raises(ArgumentError, match=r"bw_method is 'x'"):
        stats.gaussian_kde(np.ones(3), "x")
    kde = stats.gaussian_kde(np.array([0.0, 1.0, 3.0]))
    with pytest.raises(ShapeError, match=r"gaussian_kde.logpdf: points of shape \(2, 3\)"):
        kde.logpdf(np.ones((2, 3)))
