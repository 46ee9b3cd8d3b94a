"""Draws by rejection and of vectors: distributions, limits, derivatives, transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special, stats
from support.modules import jax
from support.refusals import refusal

import fgrad
from fgrad import errors, random

SIZE = 20_000
# Draws are the same in every run: a fit this bad has a chance of one in ten thousand for each.
LEAST = 1e-4
IMPLEMENTATIONS = ("threefry2x32", "philox")


def same(got: Any, expected: Any) -> None:
    a, b = np.asarray(got), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)


CONTINUOUS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "gamma_0.02": (lambda k: random.gamma(k, 0.02, (SIZE,)), stats.gamma(0.02)),
    "gamma_0.5": (lambda k: random.gamma(k, 0.5, (SIZE,)), stats.gamma(0.5)),
    "gamma_1": (lambda k: random.gamma(k, 1.0, (SIZE,)), stats.gamma(1.0)),
    "gamma_3000": (lambda k: random.gamma(k, 3000.0, (SIZE,)), stats.gamma(3000.0)),
    "loggamma": (lambda k: random.loggamma(k, 0.7, (SIZE,)), stats.loggamma(0.7)),
    "float32": (lambda k: random.gamma(k, 2.0, (SIZE,), "float32"), stats.gamma(2.0)),
    "beta": (lambda k: random.beta(k, 0.3, 2.0, (SIZE,)), stats.beta(0.3, 2.0)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (SIZE,)), stats.chi2(3.0)),
    "f": (lambda k: random.f(k, 3.0, 7.0, (SIZE,)), stats.f(3.0, 7.0)),
    "t": (lambda k: random.t(k, 2.5, (SIZE,)), stats.t(2.5)),
    "dirichlet": (
        lambda k: random.dirichlet(k, np.array([1.0, 2.0, 3.0]), (SIZE,))[:, 1],
        stats.beta(2.0, 4.0),
    ),
    "generalized_normal": (
        lambda k: random.generalized_normal(k, 1.5, (SIZE,)),
        stats.gennorm(1.5),
    ),
    "ball": (lambda k: (random.ball(k, 3, shape=(SIZE,)) ** 2).sum(-1) ** 1.5, stats.uniform()),
    "ball_1": (lambda k: abs(random.ball(k, 2, 1.0, (SIZE,))).sum(-1) ** 2, stats.uniform()),
    "wald": (lambda k: random.wald(k, 2.0, (SIZE,)), stats.invgauss(2.0)),
    "normal": (lambda k: random.normal(k, (SIZE,)), stats.norm()),
    "maxwell": (lambda k: random.maxwell(k, (SIZE,)), stats.maxwell()),
    "triangular": (
        lambda k: random.triangular(k, 0.0, 0.5, 2.0, (SIZE,)),
        stats.triang(0.25, scale=2.0),
    ),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -1.0, 2.0, (SIZE,)),
        stats.truncnorm(-1.0, 2.0),
    ),
}


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_draws_have_their_distribution(name: str, impl: str) -> None:
    draw, expected = CONTINUOUS[name]
    x = np.asarray(draw(random.key(17, impl=impl)), float)
    assert x.shape == (SIZE,)
    assert stats.kstest(x, expected.cdf).pvalue > LEAST
    variance = expected.var()
    if np.isfinite(variance):
        assert abs(x.mean() - expected.mean()) < 5 * np.sqrt(variance / SIZE)


DISCRETE: dict[str, tuple[Callable[[Any], Any], Any, range]] = {
    "poisson_0.3": (lambda k: random.poisson(k, 0.3, (SIZE,)), stats.poisson(0.3), range(4)),
    "poisson_30": (lambda k: random.poisson(k, 30.0, (SIZE,)), stats.poisson(30.0), range(18, 45)),
    "binomial_5": (lambda k: random.binomial(k, 5, 0.4, (SIZE,)), stats.binom(5, 0.4), range(6)),
    "binomial_200": (
        lambda k: random.binomial(k, 200, 0.3, (SIZE,)),
        stats.binom(200, 0.3),
        range(45, 76),
    ),
    "geometric": (lambda k: random.geometric(k, 0.3, (SIZE,)), stats.geom(0.3), range(1, 18)),
    "multinomial": (
        lambda k: random.multinomial(k, 12, np.array([2.0, 3.0, 5.0]), shape=(SIZE, 3))[:, 1],
        stats.binom(12, 0.3),
        range(9),
    ),
}


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", DISCRETE)
def test_counts_have_their_distribution(name: str, impl: str) -> None:
    draw, expected, values = DISCRETE[name]
    x = np.asarray(draw(random.key(23, impl=impl)))
    found = np.array([(x == v).sum() for v in values])
    chances = np.array([expected.pmf(v) for v in values])
    rest = SIZE - found.sum()
    both = np.append(found, rest), np.append(chances, 1 - chances.sum()) * SIZE
    kept = both[1] > 1.0
    assert kept.sum() > 3
    weights = both[1][kept] * both[0][kept].sum() / both[1][kept].sum()
    assert stats.chisquare(both[0][kept], weights).pvalue > LEAST
    assert abs(x.mean() - expected.mean()) < 5 * expected.std() / np.sqrt(SIZE)


def test_vectors_have_their_moments() -> None:
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    for method in ("cholesky", "eigh", "svd"):
        x = np.asarray(
            random.multivariate_normal(
                random.key(1), np.array([1.0, -2.0]), cov, (SIZE,), method=method
            )
        )
        np.testing.assert_allclose(x.mean(0), [1.0, -2.0], atol=0.05)
        np.testing.assert_allclose(np.cov(x.T), cov, atol=0.08)
    counts = random.multinomial(random.key(2), np.array([4.0, 9.0]), np.ones(3) / 3)
    assert counts.shape == (2, 3)
    same(counts.sum(-1), np.array([4.0, 9.0]))
    shares = random.dirichlet(random.key(2), np.array([[1e-3, 2e-3], [3.0, 1.0]]))
    np.testing.assert_allclose(shares.sum(-1), 1.0, rtol=1e-12)


# ---- the numbers of JAX --------------------------------------------------------------------------


def both(name: str, *args: Any, **keywords: Any) -> tuple[Any, Any]:
    ours = getattr(random, name)(random.key(5), *args, **keywords)
    theirs = getattr(jax.random, name)(jax.random.key(5), *args, **keywords)
    return ours, theirs


COV = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize(
    ("name", "args", "keywords"),
    [
        ("wald", (2.0, (50,)), {}),
        ("multivariate_normal", (np.zeros((3, 2)), COV, (4, 3)), {}),
        ("multivariate_normal", (np.ones(2, "float32"), COV.astype("float32")), {}),
        ("orthogonal", (3, (2,)), {}),
        ("orthogonal", (3,), {"m": 2}),
        ("orthogonal", (2,), {"m": 3}),
        ("orthogonal", (2,), {"dtype": "complex128"}),
    ],
)
def test_draws_without_rejection_are_jaxs(name: str, args: Any, keywords: Any) -> None:
    ours, theirs = both(name, *args, **keywords)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    eps = float(np.finfo(ours.dtype).eps)
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=512 * eps, atol=64 * eps)


def test_geometric_draws_are_jaxs() -> None:
    same(*both("geometric", 0.3, (50,)))
    same(*both("geometric", np.array([0.0, 1.0, 1e-12, -1.0])))
    same(*both("geometric", np.array([0.0, 1e-300]), dtype="int32"))


def test_shapes_and_dtypes_are_jaxs() -> None:
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("gamma", (np.ones(3, "float32"),)),
        ("beta", (np.ones((2, 1)), np.ones(3))),
        ("dirichlet", (np.ones((2, 3)),)),
        ("dirichlet", (np.ones((2, 3)), (4, 2))),
        ("poisson", (np.ones(3),)),
        ("poisson", (3.0, (2,), "int32")),
        ("binomial", (10, np.full(3, 0.5))),
        ("multinomial", (np.array([5.0, 6.0]), np.full((2, 2), 0.5))),
        ("generalized_normal", (1.5, (3,), "float32")),
        ("t", (np.ones(3), (2, 3))),
        ("ball", (3, 2, (4,))),
    ]
    for name, args in cases:
        ours = getattr(random, name)(random.key(0), *args)
        theirs = jax.eval_shape(
            lambda name=name, args=args: getattr(jax.random, name)(jax.random.key(0), *args)
        )
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), name


def test_limits_of_parameters_are_jaxs() -> None:
    a = np.array([0.0, np.inf, np.nan])
    same(random.gamma(random.key(0), a), a)
    same(random.loggamma(random.key(0), a), np.array([-np.inf, np.inf, np.nan]))
    counts = random.poisson(random.key(0), np.array([0.0, np.nan, 1e30, np.inf]))
    same(counts, np.array([0, -1, 2**63 - 1, 2**63 - 1]))
    small = random.poisson(random.key(0), np.array([1e10, 0.0]), dtype="int32")
    same(small, np.array([2**31 - 1, 0], np.int32))
    n = np.array([0.0, -1.0, np.nan, 10.0, 10.0, 10.0, 10.0, 10.0, np.inf])
    p = np.array([0.5, 0.5, 0.5, 0.0, 1.0, 1.5, -0.5, np.nan, 0.5])
    expected = np.array([0.0, np.nan, np.nan, 0.0, 10.0, np.nan, np.nan, np.nan, np.inf])
    same(random.binomial(random.key(0), n, p), expected)
    same(random.multinomial(random.key(0), 5, np.array([0.0, 1.0, 0.0])), np.array([0.0, 5.0, 0.0]))


def test_logarithms_of_gamma_numbers_are_there_where_the_numbers_are_too_small() -> None:
    logs = np.asarray(random.loggamma(random.key(0), 1e-4, (SIZE,)))
    assert np.isfinite(logs).all()
    assert (np.exp(logs) == 0).mean() > 0.5
    # a log(x) of a small shape a is the logarithm of a uniform number.
    assert stats.kstest(np.exp(1e-4 * logs), "uniform").pvalue > LEAST


# ---- derivatives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.2, 1.0, 3.7, 40.0, 2500.0])
def test_the_derivative_of_gamma_draws_is_that_of_the_quantile_function(a: float) -> None:
    for seed in range(4):
        key = random.key(seed)
        x = float(random.gamma(key, a))
        slope = float(fgrad.grad(lambda a, key=key: random.gamma(key, a))(a))
        assert slope == float(fgrad.jvp(lambda a, key=key: random.gamma(key, a), (a,), (1.0,))[1])
        step = 1e-4 * a
        # The level is kept in the smaller tail.
        level, inverse = special.gammainc(a, x), special.gammaincinv
        if level > 0.5:
            level, inverse = special.gammaincc(a, x), special.gammainccinv
        expected = (inverse(a + step, level) - inverse(a - step, level)) / (2 * step)
        np.testing.assert_allclose(slope, expected, rtol=1e-5)


def level(a: Any, y: Any) -> Any:
    """The distribution function of the logarithm of a gamma number."""
    return mpmath.gammainc(mpmath.mpf(a), 0, mpmath.exp(y), regularized=True)


def test_the_derivative_of_logarithms_of_gamma_draws() -> None:
    for a in (1e-3, 0.4, 3.7):
        for seed in range(3):
            key = random.key(seed)
            log_slope = float(fgrad.grad(lambda a, key=key: random.loggamma(key, a))(a))
            y = float(random.loggamma(key, a))
            with mpmath.workdps(40):
                by_a = mpmath.diff(lambda a, y=y: level(a, y), a)
                by_y = mpmath.diff(lambda y, a=a: level(a, y), y)
                expected = float(-by_a / by_y)
            np.testing.assert_allclose(log_slope, expected, rtol=1e-8)


def test_means_of_derivatives_are_derivatives_of_means() -> None:
    def mean(f: Callable[..., Any], *args: float) -> Any:
        places = tuple(range(len(args)))
        slopes = fgrad.grad(lambda *xs: f(random.key(3), *xs).mean(), places)(*args)
        return [float(s) for s in slopes]

    shape = (SIZE,)
    np.testing.assert_allclose(mean(lambda k, a: random.gamma(k, a, shape), 2.0), [1.0], rtol=0.03)
    a, b = 2.0, 3.0
    expected = [b / (a + b) ** 2, -a / (a + b) ** 2]
    got = mean(lambda k, a, b: random.beta(k, a, b, shape), a, b)
    np.testing.assert_allclose(got, expected, rtol=0.05)
    got = mean(lambda k, n: random.chisquare(k, n, shape), 5.0)
    np.testing.assert_allclose(got, [1.0], rtol=0.03)
    # The variance of t numbers is n/(n-2).
    got = mean(lambda k, n: random.t(k, n, shape) ** 2, 12.0)
    np.testing.assert_allclose(got, [-2.0 / 100.0], rtol=0.2)
    alpha = np.array([1.0, 2.0, 3.0])
    rows = fgrad.jacrev(lambda a: random.dirichlet(random.key(3), a, shape).mean(0))(alpha)
    total = alpha.sum()
    exact = np.eye(3) / total - np.outer(alpha, np.ones(3)) / total**2
    np.testing.assert_allclose(rows, exact, atol=0.01)


def test_derivatives_towards_mean_and_covariance_are_jaxs() -> None:
    mean, cov = np.array([0.5, -1.0]), COV

    def loss(r: Any, key: Any) -> Callable[[Any, Any], Any]:
        return lambda m, c: (r.multivariate_normal(key, m, c, (3,)) ** 2).sum()

    ours = fgrad.grad(loss(random, random.key(1)), (0, 1))(mean, cov)
    theirs = jax.grad(loss(jax.random, jax.random.key(1)), (0, 1))(mean, cov)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def true_derivatives(a: float, x: float) -> list[float]:
    """The first and second derivative of x towards a where P(a, x) stays, in 60 digits."""
    with mpmath.workdps(60):
        a, x = mpmath.mpf(a), mpmath.mpf(x)
        step = mpmath.mpf(10) ** -14 * a

        def level(t: Any) -> Any:
            return mpmath.gammainc(t, 0, x, regularized=True)

        density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
        below, here, above = level(a - step), level(a), level(a + step)
        slope = -(above - below) / (2 * step) / density
        by_a, by_x = mpmath.log(x) - mpmath.psi(0, a), (a - 1) / x - 1
        bend = (above - 2 * here + below) / step**2 / density
        return [float(slope), float(-bend - 2 * slope * by_a - slope**2 * by_x)]


@pytest.mark.parametrize("a", [0.02, 0.4, 1.0, 3.7, 40.0, 480.0, 520.0, 2500.0, 1e5])
def test_the_second_derivative_of_gamma_draws(a: float) -> None:
    for seed in range(6):
        key = random.key(seed)

        def draw(t: Any, key: Any = key) -> Any:
            return random.gamma(key, t)

        x = float(draw(a))
        first, second = true_derivatives(a, x)
        assert float(fgrad.grad(draw)(a)) == pytest.approx(first, rel=1e-9)
        # Relative to what it is made of, which cancels where a draw is near the mean.
        scale = 1e-11 * abs(first) / a
        for twice in (
            fgrad.grad(fgrad.grad(draw)),
            fgrad.jacfwd(fgrad.grad(draw)),
            fgrad.jit(fgrad.grad(fgrad.jacfwd(draw))),
            fgrad.jacfwd(fgrad.jacfwd(draw)),
        ):
            assert float(twice(a)) == pytest.approx(second, rel=1e-7, abs=scale)

        def log_draw(t: Any, key: Any = key) -> Any:
            return random.loggamma(key, t)

        y = float(log_draw(a))
        if y < -600.0:
            continue
        x = float(np.exp(y))
        first, second = true_derivatives(a, x)
        got = float(fgrad.grad(fgrad.grad(log_draw))(a))
        assert got == pytest.approx(second / x - (first / x) ** 2, rel=1e-7, abs=scale)


def test_the_second_derivative_of_very_small_draws() -> None:
    """a log(x) - log Gamma(a + 1) stays, where x has no number: y'' follows in closed form."""
    a = 1e-4
    draw = lambda t: random.loggamma(random.key(0), t)  # noqa: E731
    y = float(draw(a))
    assert y < -1000.0
    psi, psi1 = float(special.psi(a + 1)), float(special.polygamma(1, a + 1))
    slope = (psi - y) / a
    assert float(fgrad.grad(draw)(a)) == pytest.approx(slope, rel=1e-12)
    assert float(fgrad.grad(fgrad.grad(draw))(a)) == pytest.approx(
        (psi1 - 2 * slope) / a, rel=1e-10
    )
    # The draw itself is zero, and stays so.
    assert float(fgrad.grad(fgrad.grad(lambda t: random.gamma(random.key(0), t)))(a)) == 0.0


def test_means_of_second_derivatives_are_those_of_means() -> None:
    shape, a, b = (SIZE,), 2.0, 3.0
    twice = fgrad.hessian(lambda ab: random.beta(random.key(5), ab[0], ab[1], shape).mean())
    got = twice(np.array([a, b]))
    total = a + b
    expected = np.array([[-2 * b, a - b], [a - b, 2 * a]]) / total**3
    np.testing.assert_allclose(got, expected, atol=2e-3)
    # The variance of t numbers is n/(n-2), with second derivative 4/(n-2)^3.
    t = fgrad.grad(fgrad.grad(lambda n: (random.t(random.key(3), n, shape) ** 2).mean()))(12.0)
    assert float(t) == pytest.approx(4.0 / 1000.0, rel=0.3)


def test_the_third_derivative_of_gamma_draws_is_refused() -> None:
    third = fgrad.grad(fgrad.grad(fgrad.grad(lambda a: random.gamma(random.key(0), a))))
    with pytest.raises(errors.NonDifferentiableError, match="stop_gradient"):
        third(2.0)


# ---- transforms ----------------------------------------------------------------------------------

DRAWS: dict[str, Callable[[Any], Any]] = {
    "gamma": lambda k: random.gamma(k, np.array([0.5, 2.0])),
    "scalar": lambda k: random.gamma(k, 2.0),
    "loggamma": lambda k: random.loggamma(k, 2.0, (3,)),
    "beta": lambda k: random.beta(k, 2.0, 3.0, (2, 2)),
    "dirichlet": lambda k: random.dirichlet(k, np.ones(3)),
    "poisson": lambda k: random.poisson(k, np.array([3.0, 30.0])),
    "binomial": lambda k: random.binomial(k, 10, 0.3, (3,)),
    "multinomial": lambda k: random.multinomial(k, 10, np.array([0.3, 0.7])),
    "geometric": lambda k: random.geometric(k, 0.3, (3,)),
    "orthogonal": lambda k: random.orthogonal(k, 2),
    "ball": lambda k: random.ball(k, 2, shape=(3,)),
    "multivariate_normal": lambda k: random.multivariate_normal(k, np.zeros(2), COV),
    "empty": lambda k: random.gamma(k, np.ones((0, 2))),
}


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", DRAWS)
def test_maps_and_compiled_functions_draw_the_same(name: str, impl: str) -> None:
    draw = DRAWS[name]
    keys = random.split(random.key(3, impl=impl), 4)
    loop = np.stack([np.asarray(draw(key)) for key in keys])
    exact = name not in ("orthogonal", "ball", "beta", "dirichlet", "multivariate_normal")
    # NumPy rounds some functions of arrays and of their rows differently.
    close = same if exact else lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    close(fgrad.vmap(draw)(keys), loop)
    close(fgrad.jit(fgrad.vmap(draw))(keys), loop)
    close(fgrad.jit(draw)(keys[1]), loop[1])


def test_parameters_are_mapped_over() -> None:
    key, a = random.key(0), np.array([0.5, 2.0, 7.0])
    loop = np.stack([np.asarray(random.gamma(key, x)) for x in a])
    same(fgrad.vmap(lambda x: random.gamma(key, x))(a), loop)
    slopes = fgrad.vmap(fgrad.grad(lambda x: random.gamma(key, x)))(a)
    each = [float(fgrad.grad(lambda x: random.gamma(key, x))(float(x))) for x in a]
    np.testing.assert_allclose(slopes, each, rtol=1e-12)


# ---- refusals ------------------------------------------------------------------------------------

KEY = random.key(0)

refused = [
    (lambda: random.gamma(KEY, -1.0), errors.ArgumentError, "gamma", "-1"),
    (lambda: random.gamma(KEY, np.ones(3), (2,)), errors.ShapeError, "(3,)", "shape=(2,)"),
    (lambda: random.gamma(KEY, 1j), errors.DTypeError, "complex128", "real"),
    (lambda: random.gamma(KEY, 1.0, (), "int32"), errors.DTypeError, "gamma", "int32"),
    (lambda: random.beta(KEY, np.ones(2), np.ones(3)), errors.ShapeError, "(2,)", "(3,)"),
    (lambda: random.dirichlet(KEY, 1.0), errors.ShapeError, "dirichlet", "axis"),
    (lambda: random.dirichlet(KEY, np.ones((2, 3)), (4,)), errors.ShapeError, "(2,)", "(4,)"),
    (lambda: random.poisson(KEY, -2.0), errors.ArgumentError, "lam", "-2"),
    (lambda: random.poisson(KEY, 2.0, (), "float32"), errors.DTypeError, "poisson", "float32"),
    (lambda: random.multinomial(KEY, 3, 0.5), errors.ShapeError, "categories", "single number"),
    (lambda: random.multinomial(KEY, 3, np.array([-1.0, 2.0])), errors.ArgumentError, "p", "-1"),
    (lambda: random.multivariate_normal(KEY, np.ones(3), COV), errors.ShapeError, "(3, 3)", "(2, 2)"),
    (lambda: random.multivariate_normal(KEY, np.ones(2), COV, (), None, "lu"), errors.ArgumentError, "lu", "svd"),
    (lambda: random.multivariate_normal(KEY, 1.0, COV), errors.ShapeError, "mean", "vector"),
    (lambda: random.orthogonal(KEY, -1), errors.ShapeError, "orthogonal", "-1"),
    (lambda: random.ball(KEY, 2, 0.0), errors.ArgumentError, "p", "greater than 0"),
    (lambda: random.wald(KEY, 0.0), errors.ArgumentError, "mean", "greater than 0"),
    (lambda: random.t(KEY, -1.0), errors.ArgumentError, "df", "-1"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(refused)))
def test_refusals_are_in_the_users_words(case: int) -> None:
    run, kind, *parts = refused[case]
    refusal(kind, run, *parts, file=__file__)
