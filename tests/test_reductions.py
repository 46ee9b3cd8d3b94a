"""Reductions and running operations: NumPy's values and dtypes, and derivatives where they are hard."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.modules import IS_JAX, beyond_jax, error_class, fgrad, fnp, jax, jnp

INF, NAN = np.inf, np.nan
RNG = np.random.default_rng(11)
DTYPES = "bool int8 uint8 int32 int64 uint64 float16 float32 float64 complex64 complex128".split()
EPS = {"float16": 4e-3, "float32": 2e-6, "complex64": 2e-6}


def sample(dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    if dtype[0] in "iu":
        return RNG.integers(0 if dtype[0] == "u" else -4, 5, shape).astype(dtype)
    x = RNG.normal(size=shape)
    return np.asarray(x + 1j * RNG.normal(size=shape) if dtype[0] == "c" else x, dtype)


def quietly(f: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """What a function of NumPy gives, without its warnings about means of nothing."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        return f(*args, **keywords)


def agrees(got: Any, want: Any, tolerance: float = 1e-12) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def differences(f: Callable[[Any], Any], x: Any, t: Any, step: float = 1e-6) -> Any:
    return (np.asarray(f(x + step * t)) - np.asarray(f(x - step * t))) / (2 * step)


def jacobians_agree(f: Callable[[Any], Any], x: Any, want: Any) -> None:
    """Both modes, eager and compiled, give one Jacobian."""
    for jacobian in (fgrad.jacrev(f), fgrad.jacfwd(f), fgrad.jit(fgrad.jacrev(f))):
        assert_allclose(jacobian(x), want, rtol=1e-12, atol=1e-12)


# ---- values and dtypes -------------------------------------------------------------------------

NAMES = (
    "sum prod max min mean var std any all count_nonzero ptp median average "
    "nansum nanprod nanmax nanmin nanmean nanvar nanstd"
).split()
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"axis": -1},
    {"axis": (0, 2)},
    {"axis": 1, "keepdims": True},
]


@pytest.mark.skipif(IS_JAX, reason="JAX has dtypes of its own")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_reductions_have_the_values_and_dtypes_of_numpy(name: str, dtype: str) -> None:
    if (name, dtype) == ("ptp", "bool"):
        with pytest.raises(error_class("DTypeError", TypeError), match="ptp"):
            fnp.ptp(sample("bool", (3,)))
        return
    for shape in ((2, 3, 4), ()):
        x = sample(dtype, shape)
        for keywords in ARGUMENTS if shape else ARGUMENTS[:1]:
            with np.errstate(all="ignore"):
                want = getattr(np, name)(x, **keywords)
            eager = getattr(fnp, name)(x, **keywords)
            compiled = fgrad.jit(lambda v: getattr(fnp, name)(v, **keywords))(x)  # noqa: B023
            agrees(eager, want, EPS.get(dtype, 1e-12))
            agrees(compiled, eager)


@pytest.mark.skipif(IS_JAX, reason="JAX has dtypes of its own")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_running_operations_have_the_values_and_dtypes_of_numpy(name: str, dtype: str) -> None:
    x = sample(dtype, (3, 4))
    for axis in (None, 0, -1):
        want = getattr(np, name)(x, axis=axis)
        agrees(getattr(fnp, name)(x, axis=axis), want, EPS.get(dtype, 1e-12))
    agrees(getattr(fnp, name)(x[0, 0]), getattr(np, name)(x[0, 0]), 1e-2)


@pytest.mark.skipif(IS_JAX, reason="JAX accumulates in other dtypes")
@pytest.mark.parametrize("to", ["int8", "uint8", "float32", "float64", "complex128", "bool"])
def test_dtype_asks_for_the_dtype_of_accumulation(to: str) -> None:
    for x, name in itertools.product(
        (sample("int64", (3, 4)) * 50, sample("float64", (3, 4))), ("sum", "prod", "cumsum", "mean")
    ):
        if to == "bool" and name in ("mean", "cumsum"):
            continue
        with np.errstate(all="ignore"):
            want = getattr(np, name)(x, dtype=to, axis=0)
        agrees(getattr(fnp, name)(x, dtype=to, axis=0), want, 1e-6)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "any", "all", "nanmean"])
def test_where_counts_some_elements(name: str) -> None:
    x, mask, row = sample("float64", (2, 3, 4)), RNG.random((2, 3, 4)) < 0.6, RNG.random(4) < 0.7
    mask[0, 0, 0] = row[0] = True
    for keywords in ({"where": mask}, {"where": row, "axis": 1}):
        want = quietly(getattr(np, name), x, **keywords)
        with np.errstate(all="ignore"):
            agrees(getattr(fnp, name)(x, **keywords), want)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "nanmax", "nansum"])
def test_initial_takes_part(name: str) -> None:
    x, mask = sample("float64", (3, 4)), RNG.random((3, 4)) < 0.5
    for keywords in ({"initial": 0.25}, {"initial": 0.25, "where": mask, "axis": 1}):
        agrees(getattr(fnp, name)(x, **keywords), getattr(np, name)(x, **keywords))
    agrees(fnp.max(np.zeros((0, 2)), axis=0, initial=3.0), np.full(2, 3.0))


def test_variances_know_degrees_of_freedom_and_a_given_mean() -> None:
    x = sample("float64", (3, 4))
    center = np.mean(x, axis=1, keepdims=True)
    agrees(fnp.var(x, axis=1, ddof=1, mean=center), np.var(x, axis=1, ddof=1))
    agrees(fnp.std(x, axis=0, correction=1.5), np.std(x, axis=0, ddof=1.5))
    with np.errstate(all="ignore"):
        if not IS_JAX:
            agrees(fnp.var(x, axis=0, ddof=3), np.full(4, INF))
        assert np.isnan(fnp.nanvar(x, axis=0, ddof=3)).all()
    with pytest.raises(error_class("ArgumentError", ValueError), match="ddof"):
        fnp.var(x, ddof=1, correction=1)


def test_averages_weigh() -> None:
    x = sample("float64", (2, 3, 4))
    for keywords in (
        {"weights": np.arange(1.0, 4), "axis": 1},
        {"weights": np.arange(1.0, 25).reshape(2, 3, 4)},
        {"weights": np.arange(1, 4), "axis": 1, "keepdims": True},
    ):
        agrees(fnp.average(x, **keywords), np.average(x, **keywords))
    average, total = fnp.average(x, axis=0, returned=True)
    agrees(total, np.full((3, 4), 2.0))
    agrees(average, x.mean(axis=0))
    # Towards a weight: (x - average) / sum of the weights.
    w = np.array([1.0, 2.0, 3.0])
    g = fgrad.grad(lambda v: fnp.average(np.array([1.0, 5.0, 2.0]), weights=v))(w)
    assert_allclose(g, (np.array([1.0, 5.0, 2.0]) - 17 / 6) / 6)


@pytest.mark.skipif(IS_JAX, reason="JAX makes strong results")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("count_nonzero", "any", "all")])
def test_a_python_number_stays_weak(name: str) -> None:
    for x in (3.0, 2):
        result = getattr(fnp, name)(x)
        assert result.weak_type
        assert result.dtype == np.asarray(getattr(np, name)(x)).dtype
        assert fgrad.jit(getattr(fnp, name))(x).weak_type


@beyond_jax("JAX has no median of nothing")
def test_sums_of_nothing() -> None:
    x = np.zeros((0, 3))
    for name in ("sum", "prod", "any", "all", "mean", "var", "median"):
        with np.errstate(all="ignore"):
            agrees(getattr(fnp, name)(x, axis=0), quietly(getattr(np, name), x, axis=0))
    agrees(fnp.max(x, axis=1), np.zeros(0))
    agrees(fgrad.grad(lambda v: fnp.prod(v) + fnp.sum(v))(x), x)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "nanmax", "nanargmin", "ptp"])
def test_nothing_has_no_extremum(name: str) -> None:
    for f in (getattr(fnp, name), fgrad.jit(getattr(fnp, name))):
        words = None if IS_JAX else rf"{name}.*\(0,\)"
        with pytest.raises(error_class("ShapeError", ValueError), match=words):
            f(np.zeros((0,)))


# ---- quantiles ---------------------------------------------------------------------------------

METHODS = (
    "inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull "
    "linear median_unbiased normal_unbiased lower higher midpoint nearest"
).split()


@pytest.mark.skipif(IS_JAX, reason="JAX has fewer methods")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_are_those_of_numpy(name: str, method: str) -> None:
    ours, theirs = getattr(fnp, name), getattr(np, name)
    for size in (1, 2, 5, 8):
        x = sample("float64", (3, size))
        # Fractions that hit an element, that lie halfway between two, and others.
        for q in (0.0, 0.25, 1.0, np.array([0.3, 0.5, 0.875])):
            agrees(ours(x, q, axis=1, method=method), theirs(x, q, axis=1, method=method))
    x = sample("float64", (2, 3, 4))
    keywords: dict[str, Any] = {"axis": (0, 2), "method": method, "keepdims": True}
    agrees(ours(x, [0.2, 0.7], **keywords), theirs(x, [0.2, 0.7], **keywords))


@pytest.mark.skipif(IS_JAX, reason="JAX has dtypes of its own")
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "float64"])
def test_quantiles_have_the_dtypes_of_numpy(dtype: str) -> None:
    x = sample(dtype, (7,))
    for q in (0.3, np.float64(0.3), np.float32(0.25), [0.3]):
        for method in ("linear", "lower", "midpoint"):
            agrees(fnp.quantile(x, q, method=method), np.quantile(x, q, method=method), 1e-6)
    agrees(fnp.percentile(x, 30), np.percentile(x, 30), 1e-6)


def test_quantiles_and_nan() -> None:
    x = np.array([[3.0, NAN, 1.0, 2.0], [NAN] * 4, [4.0, 1.0, 3.0, 2.0]])
    assert_array_equal(fnp.quantile(x, 0.5, axis=1), [NAN, NAN, 2.5])
    assert_array_equal(fnp.nanquantile(x, 0.5, axis=1), [2.0, NAN, 2.5])
    assert_array_equal(fnp.median(x, axis=1), [NAN, NAN, 2.5])
    assert_array_equal(fnp.nanmedian(x, axis=1), [2.0, NAN, 2.5])
    assert_array_equal(fnp.nanpercentile(x[:1], np.array([0, 100]), axis=1), [[1.0], [3.0]])


@beyond_jax("JAX gives NaN between two infinities")
def test_quantiles_of_infinities() -> None:
    x = np.array([-INF, -INF, 1.0, INF, INF])
    assert_array_equal(
        fnp.quantile(x, np.array([0.0, 0.1, 0.5, 0.75, 0.9])), [-INF, -INF, 1, INF, INF]
    )


@pytest.mark.skipif(IS_JAX, reason="JAX has no weights here")
def test_weighted_quantiles() -> None:
    x, w = sample("float64", (3, 6)), RNG.random((3, 6)) + 0.1
    keywords: dict[str, Any] = {"axis": 1, "method": "inverted_cdf"}
    for q in (0.0, 0.4, [0.1, 0.9, 1.0]):
        agrees(fnp.quantile(x, q, weights=w, **keywords), np.quantile(x, q, weights=w, **keywords))
    agrees(
        fnp.quantile(x, 0.4, weights=w[0], **keywords),
        np.quantile(x, 0.4, weights=w[0], **keywords),
    )


def test_quantiles_differentiate_towards_elements_and_fraction() -> None:
    x = np.array([3.0, 1.0, 2.0, 7.0])
    assert_allclose(fgrad.grad(lambda v: fnp.quantile(v, 0.4))(x), [0.2, 0, 0.8, 0], atol=1e-12)
    # Between the elements 2 and 3, three intervals to the unit.
    assert_allclose(fgrad.grad(lambda q: fnp.quantile(x, q))(0.4), 3.0)
    assert_allclose(fgrad.grad(fnp.median)(x), [0.5, 0, 0.5, 0])
    n = np.array([3.0, NAN, 1.0])
    assert_allclose(fgrad.grad(fnp.nanmedian)(n), [0.5, 0, 0.5])


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: fnp.quantile(np.ones(3), 1.5), "between 0 and 1"),
        (lambda: fnp.percentile(np.ones(3), -1), "between 0 and 100"),
        (lambda: fnp.quantile(np.ones(3), 0.5, method="exact"), "median_unbiased"),
        (lambda: fnp.quantile(np.ones(3), 0.5, weights=np.ones(3)), "inverted_cdf"),
        (lambda: fnp.max(np.ones(3), where=np.ones(3, bool)), "initial="),
        (lambda: fnp.sum(np.ones(3), where=np.ones(2, bool)), r"\(2,\).*\(3,\)"),
        (lambda: fnp.sum(np.ones(3), axis=1), "axis 1"),
        (lambda: fnp.sum(np.ones((3, 2)), axis=(0, -2)), "twice"),
        (lambda: fnp.average(np.ones((3, 2)), weights=np.ones(2)), "axis="),
        (lambda: fnp.var(np.ones((3, 2)), axis=1, mean=np.ones(3)), "keepdims=True"),
        (lambda: fnp.sum(np.ones(3), out=np.ones(())), "use the result"),
        (lambda: fnp.cumulative_sum(np.ones((3, 2))), "axis="),
    ],
)
@pytest.mark.skipif(IS_JAX, reason="the words are ours")
def test_errors_give_the_fix(call: Callable[[], Any], word: str) -> None:
    with pytest.raises(fgrad.errors.FgradError, match=word):
        call()


# ---- products through zeros --------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [(), (1,), (0, 2), (0, 1, 2, 3)])
def test_products_have_right_derivatives_to_third_order(zeros: tuple[int, ...]) -> None:
    x = np.array([2.0, -3.0, 0.5, 4.0])
    x[list(zeros)] = 0.0
    n = len(x)

    def of_others(*left_out: int) -> float:
        if len(set(left_out)) < len(left_out):
            return 0.0
        return float(np.prod([x[i] for i in range(n) if i not in left_out]))

    wants = [np.empty((n,) * order) for order in (1, 2, 3)]
    for want in wants:
        for index in np.ndindex(want.shape):
            want[index] = of_others(*index)
    for reverse in (fgrad.jacrev, fgrad.jacfwd):
        f: Any = fnp.prod
        for want in wants:
            f = reverse(f)
            assert_allclose(f(x), want, atol=1e-12)
    assert_allclose(fgrad.jit(fgrad.hessian(fnp.prod))(x), wants[1], atol=1e-12)


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0, 4.0], [0.0, 0.0, 5.0], [2.0, 3.0, 0.0]])
def test_running_products_have_right_derivatives_through_zeros(x: list[float]) -> None:
    x_ = np.array(x)
    n = len(x)
    first = np.zeros((n, n))
    second = np.zeros((n, n, n))
    for i, j, k in itertools.product(range(n), repeat=3):
        if j <= i:
            first[i, j] = np.prod([x[m] for m in range(i + 1) if m != j])
        if j <= i and k <= i and j != k:
            second[i, j, k] = np.prod([x[m] for m in range(i + 1) if m not in (j, k)])
    jacobians_agree(fnp.cumprod, x_, first)
    for outer, inner in itertools.product((fgrad.jacrev, fgrad.jacfwd), repeat=2):
        assert_allclose(outer(inner(fnp.cumprod))(x_), second, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
def test_products_over_axes_and_batches(axis: Any) -> None:
    x = sample("float64", (3, 4))
    x[0, 1] = x[2, 1] = 0.0
    t = sample("float64", (3, 4))
    f = lambda v: fnp.sum(fnp.sin(fnp.prod(v, axis=axis)))  # noqa: E731
    g = lambda v: jnp.sum(jnp.sin(jnp.prod(v, axis=axis)))  # noqa: E731
    assert_allclose(fgrad.grad(f)(x), jax.grad(g)(x), atol=1e-12)
    got = fgrad.jvp(fgrad.grad(f), (x,), (t,))[1]
    assert_allclose(got, jax.jvp(jax.grad(g), (x,), (t,))[1], atol=1e-12)
    batch = np.stack([x, x + 1, x[::-1]])
    rows = [np.asarray(fgrad.grad(f)(row)) for row in batch]
    assert_allclose(fgrad.vmap(fgrad.grad(f))(batch), rows, atol=1e-12)


@beyond_jax("JAX multiplies 0 by infinity")
def test_a_zero_direction_absorbs_an_infinite_factor() -> None:
    x = np.array([INF, 2.0, 3.0])
    assert fgrad.jvp(fnp.prod, (x,), (np.array([1.0, 0.0, 0.0]),))[1] == 6.0
    assert fgrad.grad(lambda v: fnp.cumprod(v)[0])(x).tolist() == [1.0, 0.0, 0.0]


# ---- ties and NaN ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "sign"), [("max", 1.0), ("min", -1.0)])
def test_ties_share_evenly_in_both_modes(name: str, sign: float) -> None:
    x = sign * np.array([[1.0, 5.0, 5.0], [2.0, 2.0, 2.0], [0.0, 0.0, 9.0]])
    f = lambda v: getattr(fnp, name)(v, axis=1)  # noqa: E731
    want = np.zeros((3, 3, 3))
    want[0, 0] = [0, 0.5, 0.5]
    want[1, 1] = 1 / 3
    want[2, 2] = [0, 0, 1]
    jacobians_agree(f, x, want)
    assert_array_equal(fgrad.hessian(lambda v: f(v)[1])(x), np.zeros((3, 3, 3, 3)))


@beyond_jax("JAX counts in float16")
def test_many_ties_of_a_narrow_float_are_counted() -> None:
    # 70,000 is beyond float16, the share 1/70,000 is not.
    x = np.ones(70_000, np.float16)
    share = np.float16(1 / 70_000)
    assert (np.asarray(fgrad.grad(fnp.max)(x)) == share).all()
    assert fgrad.jvp(fnp.max, (x,), (x,))[1] == 1.0


def test_extrema_of_nan() -> None:
    x = np.array([1.0, NAN, 3.0])
    assert np.isnan(fnp.max(x))
    assert int(fnp.argmax(x)) == int(fnp.argmin(x)) == 1
    assert float(fnp.nanmax(x)) == 3.0
    assert np.isnan(fgrad.grad(fnp.max)(x)).all()
    assert np.isnan(fgrad.jvp(fnp.max, (x,), (np.ones(3),))[1])
    assert_array_equal(fgrad.grad(fnp.nanmax)(x), [0, 0, 1])
    assert int(fnp.nanargmax(x)) == 2
    assert_array_equal(fnp.nanargmax(np.array([[NAN, NAN], [NAN, 1.0]]), axis=1), [-1, 1])


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanvar", "nanstd", "nanprod", "nancumsum"])
def test_nan_gets_no_gradient(name: str) -> None:
    x, kept = np.array([2.0, NAN, 5.0, 3.0]), np.array([2.0, 5.0, 3.0])
    plain = getattr(fnp, name.removeprefix("nan"))
    skipping = getattr(fnp, name)
    got = fgrad.grad(lambda v: fnp.ravel(skipping(v))[-1])(x)
    want = np.asarray(fgrad.grad(lambda v: fnp.ravel(plain(v))[-1])(kept))
    assert_allclose(got, np.insert(want, 1, 0.0), atol=1e-14)


@pytest.mark.parametrize("name", ["var", "std", "median", "ptp", "nanvar", "average", "quantile"])
def test_second_derivatives_are_differences_of_first_ones(name: str) -> None:
    x, t = sample("float64", (3, 5)), sample("float64", (3, 5))
    more = (0.3,) if name == "quantile" else ()
    first = fgrad.grad(lambda v: fnp.sum(fnp.sin(getattr(fnp, name)(v, *more, axis=1))))
    want = differences(first, x, t)
    assert_allclose(fgrad.jvp(first, (x,), (t,))[1], want, atol=1e-8)
    assert_allclose(fgrad.vjp(first, x)[1](t)[0], want, atol=1e-8)


@beyond_jax("JAX divides zero by zero")
def test_a_deviation_of_equal_elements_has_slope_zero() -> None:
    x = np.full((2, 3), 4.0)
    x[1] = [1.0, 2.0, 4.0]
    f = lambda v: fnp.sum(fnp.std(v, axis=1))  # noqa: E731
    g = np.asarray(fgrad.grad(f)(x))
    assert_array_equal(g[0], 0)
    assert_allclose(g[1], (x[1] - x[1].mean()) / (3 * x[1].std()))
    assert np.isfinite(fgrad.hessian(f)(x)).all()


# ---- running extrema and logsumexp ---------------------------------------------------------------


def running(name: str, reverse: bool = False) -> Callable[[Any], Any]:
    function = getattr(fgrad.lax, name)
    return lambda x: function(x, axis=0, reverse=reverse)


@pytest.mark.skipif(IS_JAX, reason="JAX splits ties by halves")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("name", "sign"), [("cummax", 1.0), ("cummin", -1.0)])
def test_running_extrema_share_ties(name: str, sign: float, reverse: bool) -> None:
    x = sign * np.array([1.0, 1.0, 0.0, 1.0, 3.0, 2.0, 3.0])
    want = np.zeros((7, 7))
    for i in range(7):
        seen = np.arange(i + 1)
        best = seen[sign * x[seen] == max(sign * x[seen])]
        want[i, best] = 1 / len(best)
    if reverse:
        x, want = x[::-1].copy(), want[::-1, ::-1]
    jacobians_agree(running(name, reverse), x, want)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
def test_running_operations_agree_with_jax(name: str, reverse: bool) -> None:
    x, t, w = (sample("float64", (5, 3)) for _ in range(3))
    f = running(name, reverse)
    g = lambda v: getattr(jax.lax, name)(v, axis=0, reverse=reverse)  # noqa: E731
    assert_allclose(f(x), g(x), rtol=1e-12)
    ours = fgrad.grad(lambda v: fnp.sum(w * f(v) ** 2))
    theirs = jax.grad(lambda v: jnp.sum(w * g(v) ** 2))
    assert_allclose(ours(x), theirs(x), rtol=1e-11, atol=1e-12)
    got = fgrad.jit(lambda v, d: fgrad.jvp(ours, (v,), (d,))[1])(x, t)
    assert_allclose(got, jax.jvp(theirs, (x,), (t,))[1], rtol=1e-11, atol=1e-12)
    batch = np.stack([x, 2 * x, x[::-1]])
    assert_allclose(fgrad.vmap(ours)(batch), [np.asarray(ours(v)) for v in batch], atol=1e-12)


@beyond_jax("JAX gives NaN at infinities")
def test_running_logsumexp_of_infinities_has_slopes_that_add_to_one() -> None:
    x = np.array([-INF, -INF, 1.0, INF, 2.0, INF])
    want = np.zeros((6, 6))
    want[0, 0] = want[2, 2] = want[3, 3] = want[4, 3] = 1.0
    want[1, :2] = 0.5
    want[5, [3, 5]] = 0.5
    jacobians_agree(running("cumlogsumexp"), x, want)
    assert_array_equal(running("cumlogsumexp")(x), [-INF, -INF, 1.0, INF, INF, INF])


@pytest.mark.skipif(IS_JAX, reason="of our own parts")
def test_logsumexp_of_infinities_has_slopes_that_add_to_one() -> None:
    from fgrad.array import value, wrap
    from fgrad.primitives.reduction import LogSumExp

    f = lambda v: wrap(LogSumExp((0,))(value(v)))  # noqa: E731
    for x, want, slopes in (
        ([-INF, -INF], -INF, [0.5, 0.5]),
        ([INF, 1000.0, INF], INF, [0.5, 0.0, 0.5]),
        ([-INF, 1.0], 1.0, [0.0, 1.0]),
        ([1000.0, 1000.0], 1000.0 + np.log(2), [0.5, 0.5]),
    ):
        assert_allclose(f(np.array(x)), want)
        jacobians_agree(f, np.array(x), slopes)
    x_ = sample("float64", (4,))
    s = np.exp(x_) / np.exp(x_).sum()
    assert_allclose(fgrad.hessian(f)(x_), np.diag(s) - np.outer(s, s), atol=1e-12)


# ---- long recurrences ------------------------------------------------------------------------------


@pytest.mark.skipif(IS_JAX, reason="of our own parts")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(("length", "lanes"), [(0, 2), (1, 1), (201, 1), (1000, 3), (12_345, 1)])
@pytest.mark.parametrize("kind", ["plain", "zeros", "tiny", "nan"])
def test_a_recurrence_does_not_depend_on_how_it_is_run(
    dtype: str, length: int, lanes: int, kind: str
) -> None:
    from fgrad.primitives.cumulative import LinearRecurrence

    a, b = (sample(dtype, (length, lanes)) for _ in range(2))
    if kind == "zeros":
        a[::97] = 0
    if kind == "tiny":
        a *= 1e-30
    if kind == "nan" and length > 150:
        # A sum of exactly zero absorbs it.
        a[150], b[:150] = NAN, 0
    want = np.zeros((length, lanes), np.complex128)
    s = np.zeros(lanes, np.complex128)
    for i in range(length):
        s = np.where(s == 0, 0, a[i] * s) + b[i]
        want[i] = s
    got = LinearRecurrence(0)(a, b)
    assert got.dtype == dtype
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    scale = np.maximum.accumulate(np.abs(want), axis=0) + 1 if length else 1
    assert_allclose(got / scale, want / scale, atol=tolerance)
    back = LinearRecurrence(0, reverse=True)(a[::-1].copy(), b[::-1].copy())
    assert_array_equal(back[::-1], got)
