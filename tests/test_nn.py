"""Functions of neural networks: values and slopes are JAX's, stable where JAX's are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.modules import jax, jnp

import fgrad
import fgrad.numpy as fnp
from fgrad import nn
from fgrad.errors import ArgumentError, AxisError, DTypeError, ShapeError
from fgrad.test_util import check_grads

jnn = jax.nn

GRID = np.array(
    [-700.0, -40.0, -6.0, -3.0, -1.5, -1.0, -0.3, 0.0, 0.2, 1.0, 2.0, 3.0, 6.0, 40.0, 700.0]
)

ACTIVATIONS: dict[str, list[dict[str, Any]]] = {
    "relu": [{}],
    "relu6": [{}],
    "sigmoid": [{}],
    "softplus": [{}],
    "tanh": [{}],
    "soft_sign": [{}],
    "silu": [{}],
    "swish": [{}],
    "log_sigmoid": [{}],
    "leaky_relu": [{}, {"negative_slope": 0.3}],
    "hard_tanh": [{}],
    "hard_sigmoid": [{}],
    "hard_silu": [{}],
    "hard_swish": [{}],
    "elu": [{}, {"alpha": 0.7}],
    "celu": [{}, {"alpha": 0.7}],
    "selu": [{}],
    "gelu": [{}, {"approximate": False}],
    "mish": [{}],
    "squareplus": [{}, {"b": 2.0}],
    "sparse_plus": [{}],
    "sparse_sigmoid": [{}],
    "identity": [{}],
}
CASES = [(name, options) for name, all_options in ACTIVATIONS.items() for options in all_options]


def elementwise_grad(lib: Any, function: Callable[..., Any], x: Any) -> Any:
    return lib.grad(lambda v: function(v).sum())(x)


def test_the_table_has_every_function() -> None:
    others = {
        "glu",
        "log1mexp",
        "softmax",
        "log_softmax",
        "logsumexp",
        "logmeanexp",
        "standardize",
        "normalize",
        "one_hot",
        "initializers",
        "dot_product_attention",
    }
    assert set(nn.__all__) == {*ACTIVATIONS, *others}


@pytest.mark.parametrize(("name", "options"), CASES)
def test_values_and_slopes_are_those_of_jax(name: str, options: dict[str, Any]) -> None:
    ours: Any = lambda x: getattr(nn, name)(x, **options)  # noqa: E731
    theirs: Any = lambda x: getattr(jnn, name)(x, **options)  # noqa: E731
    expected = np.asarray(theirs(GRID))
    # On the left, squareplus and gelu of JAX cancel: those ends are tested by themselves.
    tame = np.abs(GRID) < (30.0 if name in ("squareplus", "gelu") else np.inf)
    atol = 1e-15 if name == "gelu" else 1e-300
    np.testing.assert_allclose(np.asarray(ours(GRID))[tame], expected[tame], rtol=1e-12, atol=atol)
    slopes = np.asarray(elementwise_grad(jax, theirs, GRID))
    # The slope of gelu has a difference of numbers of size one: a few roundings of them remain.
    atol = 1e-14 if name == "gelu" else 1e-16
    np.testing.assert_allclose(
        np.asarray(elementwise_grad(fgrad, ours, GRID))[tame], slopes[tame], rtol=1e-10, atol=atol
    )


@pytest.mark.parametrize(("name", "options"), CASES)
def test_slopes_to_second_order(name: str, options: dict[str, Any]) -> None:
    x = np.array([-2.4, -0.55, 0.35, 1.7, 4.3])
    check_grads(lambda v: getattr(nn, name)(v, **options), (x,), 2)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_dtypes_are_kept(name: str, dtype: Any) -> None:
    x = np.array([-1.5, 0.0, 2.0], dtype)
    function = getattr(nn, name)
    assert function(x).dtype == dtype
    assert elementwise_grad(fgrad, function, x).dtype == dtype
    assert fgrad.jit(function)(x).dtype == dtype
    assert function(1.5).weak_type


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_all_transforms_agree(name: str) -> None:
    function = getattr(nn, name)
    whole = np.asarray(function(GRID))
    np.testing.assert_array_equal(fgrad.jit(function)(GRID), whole)
    np.testing.assert_array_equal(fgrad.vmap(function)(GRID), whole)


def test_ends_where_the_formula_cancels() -> None:
    # (x + sqrt(x**2 + 4)) / 2 is 1 / |x| for large negative x, with slope 1 / x**2.
    assert float(nn.squareplus(-1e10)) == pytest.approx(1e-10, rel=1e-15)
    assert float(fgrad.grad(nn.squareplus)(-1e6)) == pytest.approx(1e-12, rel=1e-10)
    # x times the normal tail probability: the tail has relative accuracy.
    exact = lambda x: nn.gelu(x, approximate=False)  # noqa: E731
    assert float(exact(-20.0)) == pytest.approx(-20.0 * 2.7536241186062337e-89, rel=1e-12)
    assert float(nn.softplus(-50.0)) == pytest.approx(np.exp(-50.0), rel=1e-12)
    assert float(fgrad.grad(nn.softplus)(-np.inf)) == 0.0
    assert float(fgrad.grad(nn.softplus)(np.inf)) == 1.0
    assert float(fgrad.grad(nn.softplus)(0.0)) == 0.5
    assert float(fgrad.grad(nn.log_sigmoid)(-np.inf)) == 1.0
    assert float(nn.log1mexp(1e-20)) == pytest.approx(np.log(1e-20), rel=1e-14)
    assert float(nn.log1mexp(50.0)) == pytest.approx(-np.exp(-50.0), rel=1e-14)
    check_grads(nn.log1mexp, (np.array([0.1, 0.5, 3.0]),), 2)


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"identity"}))
def test_large_arguments_do_not_warn(name: str) -> None:
    # The suite turns warnings into errors: overflow in a branch not taken would be one.
    function = getattr(nn, name)
    with np.errstate(all="raise", under="ignore"):
        function(np.array([-1e4, 1e4]))
        elementwise_grad(fgrad, function, np.array([-1e4, 1e4]))


def test_relu_at_zero_and_nan() -> None:
    x = np.array([-1.0, 0.0, 1.0, np.nan])
    np.testing.assert_array_equal(nn.relu(x), [0.0, 0.0, 1.0, np.nan])
    np.testing.assert_array_equal(elementwise_grad(fgrad, nn.relu, x), [0.0, 0.0, 1.0, 0.0])
    assert nn.relu(np.array([-1, 2])).dtype == np.int64
    assert "np.maximum" in fgrad.jit(nn.relu).lower(x).source


def test_slopes_towards_parameters() -> None:
    x = np.array([-1.3, -0.2, 0.4])
    for function in (nn.leaky_relu, nn.elu, nn.celu, nn.squareplus):
        check_grads(lambda v, a, function=function: function(v, a), (x, 0.8), 2)


def test_glu() -> None:
    x = np.random.default_rng(0).normal(size=(4, 6))
    for axis in (0, 1, -1):
        np.testing.assert_allclose(nn.glu(x, axis), jnn.glu(x, axis), rtol=1e-14)
        check_grads(lambda v, axis=axis: nn.glu(v, axis), (x,), 2)
    with pytest.raises(ShapeError, match="axis 0 has 3 elements"):
        nn.glu(np.ones(3), 0)


# ---- along axes ----------------------------------------------------------------------------------

X = np.random.default_rng(1).normal(size=(3, 4)) * 3
MASK = np.array([[True, False, True, True], [False] * 4, [True] * 4])
AXES: list[Any] = [-1, 0, 1, (0, 1), None]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("where", [None, MASK])
@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"]
)
def test_reductions_are_those_of_jax(name: str, axis: Any, where: Any) -> None:
    ours: Any = lambda x: getattr(nn, name)(x, axis=axis, where=where)  # noqa: E731
    theirs: Any = lambda x: getattr(jnn, name)(x, axis=axis, where=where)  # noqa: E731
    with np.errstate(all="ignore"):  # the mean of nothing is reported, as NumPy's is
        got, expected = np.asarray(ours(X)), np.asarray(theirs(X))
    empty_lane = where is not None and axis in (-1, 1)
    if name in ("standardize", "logmeanexp") and empty_lane:
        got, expected = got[[0, 2]], expected[[0, 2]]
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    # Only finite results are weighted; lanes in which nothing takes part are left out.
    whole = np.asarray(theirs(X))
    weights = np.where(np.isfinite(whole), np.random.default_rng(2).normal(size=whole.shape), 0.0)
    with np.errstate(all="ignore"):
        slopes = fgrad.grad(lambda x: (fnp.where(weights == 0, 0.0, ours(x)) * weights).sum())(X)
    wanted = jax.grad(lambda x: (jax.numpy.where(weights == 0, 0.0, theirs(x)) * weights).sum())(X)
    fine = np.isfinite(np.asarray(wanted))
    np.testing.assert_allclose(
        np.asarray(slopes)[fine], np.asarray(wanted)[fine], rtol=1e-8, atol=1e-10
    )
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "logmeanexp"])
def test_reductions_to_second_order(name: str) -> None:
    check_grads(lambda x: getattr(nn, name)(x, axis=-1), (X,), 2)
    # Results that are finite only: what does not take part is -inf.
    kept = MASK if name == "log_softmax" else np.array(True)
    masked: Any = lambda x: fnp.where(kept, getattr(nn, name)(x, axis=0, where=MASK), 0.0)  # noqa: E731
    check_grads(masked, (X,), 2)


def test_softmax_of_large_numbers() -> None:
    x = np.array([1000.0, 1001.0, -np.inf])
    expected = np.array([1.0, np.e, 0.0]) / (1 + np.e)
    np.testing.assert_allclose(nn.softmax(x), expected, rtol=1e-14)
    np.testing.assert_allclose(
        nn.log_softmax(x), [-np.log(1 + np.e), 1 - np.log(1 + np.e), -np.inf]
    )
    # By cancellation, x - logsumexp(x) would have no digits here.
    shifted = nn.log_softmax(1e15 + np.array([0.0, 1.0]))
    np.testing.assert_allclose(shifted, nn.log_softmax(np.array([0.0, 1.0])), rtol=1e-14)
    gradient = fgrad.grad(lambda v: nn.log_softmax(v)[1])(x)
    np.testing.assert_allclose(gradient, np.array([0.0, 1.0, 0.0]) - expected, rtol=1e-13)
    np.testing.assert_allclose(
        fgrad.jacrev(nn.softmax)(x), np.diag(expected) - np.outer(expected, expected), atol=1e-15
    )


def test_softmax_where_nothing_takes_part() -> None:
    gone = np.zeros(3, bool)
    np.testing.assert_array_equal(nn.softmax(np.arange(3.0), where=gone), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(nn.log_softmax(np.arange(3.0), where=gone), [-np.inf] * 3)
    gradient = fgrad.grad(lambda x: nn.softmax(x, where=gone).sum())(np.arange(3.0))
    np.testing.assert_array_equal(gradient, np.zeros(3))


@pytest.mark.parametrize(
    ("x", "expected", "slopes"),
    [
        ([-np.inf, -np.inf], -np.inf, [0.5, 0.5]),
        ([np.inf, np.inf, 0.0], np.inf, [0.5, 0.5, 0.0]),
        ([np.inf, -np.inf], np.inf, [1.0, 0.0]),
        ([-np.inf, 0.0], 0.0, [0.0, 1.0]),
        ([1000.0, 1000.0], 1000.0 + np.log(2.0), [0.5, 0.5]),
        ([-1000.0, -1000.0], -1000.0 + np.log(2.0), [0.5, 0.5]),
    ],
)
def test_slopes_of_logsumexp_add_to_one(x: Any, expected: float, slopes: Any) -> None:
    x = np.array(x)
    assert float(nn.logsumexp(x)) == pytest.approx(expected)
    np.testing.assert_allclose(fgrad.grad(nn.logsumexp)(x), slopes)
    np.testing.assert_allclose(fgrad.jacfwd(nn.logsumexp)(x), slopes)
    np.testing.assert_allclose(fgrad.grad(lambda v: fgrad.jit(nn.logsumexp)(v))(x), slopes)


def test_logsumexp_of_nothing() -> None:
    assert float(nn.logsumexp(np.zeros(0))) == -np.inf
    assert nn.logsumexp(np.zeros((2, 0)), axis=1).shape == (2,)
    assert fgrad.grad(lambda x: nn.logsumexp(x, axis=0).sum())(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_with_factors(keepdims: bool) -> None:
    rng = np.random.default_rng(3)
    b = rng.normal(size=(3, 4))
    for where in (None, MASK | True):
        options = {"axis": 1, "b": b, "return_sign": True, "keepdims": keepdims, "where": where}
        ours, theirs = nn.logsumexp(X, **options), jnn.logsumexp(X, **options)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12)
        np.testing.assert_array_equal(ours[1], theirs[1])
    check_grads(lambda x, v: nn.logsumexp(x, axis=1, b=v, return_sign=True)[0], (X, b), 2)
    # A factor of zero takes its exponential out, however large.
    value, sign = nn.logsumexp(np.array([0.0, 1e5]), b=np.array([-1.0, 0.0]), return_sign=True)
    assert (float(value), float(sign)) == (0.0, -1.0)
    np.testing.assert_array_equal(
        fgrad.grad(lambda x: nn.logsumexp(x, b=np.array([1.0, 0.0])))(np.array([0.0, 1e5])),
        [1.0, 0.0],
    )
    positive = nn.logsumexp(X, axis=0, return_sign=True)
    np.testing.assert_array_equal(positive[1], np.ones(4))


def test_standardize() -> None:
    mean, variance = X.mean(1, keepdims=True), X.var(1, keepdims=True)
    ours = nn.standardize(X, mean=mean, variance=variance, epsilon=0.0)
    np.testing.assert_allclose(ours, (X - mean) / np.sqrt(variance))
    check_grads(lambda x: nn.standardize(x, axis=(0, 1)), (X,), 2)
    # The difference of mean square and squared mean would lose all digits.
    far = 1e8 + np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(
        nn.standardize(far, epsilon=0.0), np.array([-1.0, 0.0, 1.0]) * np.sqrt(1.5), rtol=1e-7
    )


@pytest.mark.parametrize("ord", [1, 2, np.inf])
def test_normalize(ord: float) -> None:
    got = np.asarray(nn.normalize(X, axis=1, ord=ord))
    np.testing.assert_allclose(np.linalg.norm(got, ord=ord, axis=1), np.ones(3))
    check_grads(lambda x: nn.normalize(x, axis=1, ord=ord), (X,), 2)
    zero = np.zeros(3)
    np.testing.assert_array_equal(nn.normalize(zero, ord=ord), zero)
    assert np.isfinite(fgrad.grad(lambda x: nn.normalize(x, ord=ord).sum())(zero)).all()
    with pytest.raises(ArgumentError, match="ord is 3"):
        nn.normalize(X, ord=3)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [None, np.float32, np.int64])
def test_one_hot(axis: int, dtype: Any) -> None:
    x = np.array([[0, 2], [5, -1]])
    got = nn.one_hot(x, 3, axis=axis, dtype=dtype)
    expected = jnn.one_hot(x, 3, axis=axis, dtype=dtype or np.float64)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(fgrad.vmap(lambda v: nn.one_hot(v, 3))(x), nn.one_hot(x, 3))
    assert nn.one_hot(1, 3).shape == (3,)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(AxisError, match="softmax: axis 2"):
        nn.softmax(X, axis=2)
    with pytest.raises(DTypeError, match="softmax: where has dtype int64"):
        nn.softmax(X, where=np.ones(4, int))
    with pytest.raises(ShapeError, match=r"log_softmax.*\(5,\).*\(3, 4\)"):
        nn.log_softmax(X, where=np.ones(5, bool))
    with pytest.raises(ArgumentError, match="num_classes is -1"):
        nn.one_hot(1, -1)
    with pytest.raises(TypeError, match=r"num_classes.*static_argnums"):
        fgrad.jit(lambda n: nn.one_hot(1, n))(3)


# ---- initial values ------------------------------------------------------------------------------


def test_initializers_without_chance() -> None:
    init = nn.initializers
    assert init.zeros(None, (2, 3)).dtype == np.float64
    np.testing.assert_array_equal(init.ones(None, (2,), np.float32), np.ones(2, np.float32))
    make = init.constant(np.arange(3.0), np.float32)
    np.testing.assert_array_equal(
        make(None, (2, 3)), np.tile(np.arange(3, dtype=np.float32), (2, 1))
    )
    assert make(None, (3,), np.float64).dtype == np.float64
    with pytest.raises(ShapeError, match=r"constant.*\(3,\).*\(2,\)"):
        make(None, (2,))


# ---- attention -------------------------------------------------------------------------------------


ATTENTION: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "scaled": {"scale": 0.3},
    "window": {"local_window_size": (1, 2)},
    "one window": {"local_window_size": 1, "is_causal": True},
    "lengths": {
        "query_seq_lengths": np.array([2, 5], np.int32),
        "key_value_seq_lengths": np.array([3, 5], np.int32),
    },
    "bias and mask": {
        "bias": np.random.default_rng(5).normal(size=(1, 4, 5, 5)),
        "mask": np.tril(np.ones((5, 5), bool))[None, None],
    },
}


@pytest.mark.parametrize("heads", [4, 2, 1])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention_agrees_with_jax(name: str, heads: int) -> None:
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 5, n, 3)) for n in (4, heads, heads))

    def ours(q: Any, k: Any, v: Any) -> Any:
        return fgrad.nn.dot_product_attention(q, k, v, **ATTENTION[name])

    def theirs(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.dot_product_attention(q, k, v, **ATTENTION[name])

    want, pull = jax.vjp(theirs, *map(jnp.asarray, (q, k, v)))
    # JAX computes the softmax of doubles in single precision.
    np.testing.assert_allclose(ours(q, k, v), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fgrad.jit(ours)(q, k, v), ours(q, k, v), rtol=1e-12, atol=1e-14)
    ct = rng.normal(size=want.shape)
    for a, b in zip(fgrad.vjp(ours, q, k, v)[1](ct), pull(jnp.asarray(ct)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_attention_by_hand() -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, 4, 2, 3))
    scores = np.einsum("tnh,snh->nts", q, k) / np.sqrt(3)
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    out, residual = fgrad.nn.dot_product_attention(q, k, v, return_residual=True)
    np.testing.assert_allclose(out, np.einsum("nts,snh->tnh", shares, v), rtol=1e-12)
    np.testing.assert_allclose(residual, np.log(np.exp(scores).sum(-1)).T, rtol=1e-12)
    with pytest.raises(fgrad.errors.ShapeError, match=r"where K divides N"):
        fgrad.nn.dot_product_attention(q, k[:, :1].repeat(3, 1), v)
    with pytest.raises(fgrad.errors.ArgumentError, match=r"give booleans"):
        fgrad.nn.dot_product_attention(q, k, v, mask=np.ones((1, 1, 4, 4)))


# What follows a piece that is flat may have an infinite slope there.
STEEP: dict[str, tuple[Callable[[Any, Any, Any], Any], list[float]]] = {
    "root of a sum": (lambda L, xp, x: xp.sqrt(xp.sum(L.nn.relu(x))), [-1.0, -1.0]),
    "root of a mean square": (lambda L, xp, x: xp.sqrt(xp.mean(L.nn.relu(x) ** 2)), [-1.0, -1.0]),
    "reciprocal": (lambda L, xp, x: xp.sum(1 / L.nn.relu(x)), [-1.0, 0.5]),
    "power": (lambda L, xp, x: xp.sum(L.nn.relu(x) ** 0.5), [-1.0, 0.5]),
    "entropy": (lambda L, xp, x: xp.sum(L.nn.relu(x) * xp.log(L.nn.relu(x))), [-1.0, 0.5]),
    "clamp": (lambda L, xp, x: xp.sum(xp.sqrt(L.lax.clamp(0.0, x, 1.0))), [-1.0, 0.5]),
    "relu6": (lambda L, xp, x: xp.sum(xp.log(6.0 - L.nn.relu6(x))), [7.0, 0.5]),
    "hard_sigmoid": (lambda L, xp, x: xp.sum(xp.log(L.nn.hard_sigmoid(x))), [-4.0, 0.5]),
    "hard_silu": (lambda L, xp, x: xp.sum(L.nn.hard_silu(x)), [-np.inf, 0.5]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", STEEP)
def test_a_flat_piece_keeps_infinite_cotangents_away(name: str) -> None:
    function, point = STEEP[name]
    x = np.array(point)

    def f(v: Any) -> Any:
        return function(fgrad, fnp, v)

    want = jax.grad(lambda v: function(jax, jnp, v))(x)
    curvature = jax.hessian(lambda v: function(jax, jnp, v))(x)
    assert np.isfinite(want).all()
    for transform in (fgrad.grad, fgrad.jacfwd, fgrad.jacrev):
        for run in (transform(f), fgrad.jit(transform(f))):
            np.testing.assert_allclose(run(x), want, rtol=1e-12)
    for run in (fgrad.vmap(fgrad.grad(f)), fgrad.jit(fgrad.vmap(fgrad.grad(f)))):
        np.testing.assert_allclose(run(x[None])[0], want, rtol=1e-12)
    for run in (fgrad.hessian(f), fgrad.jit(fgrad.hessian(f))):
        np.testing.assert_allclose(run(x), curvature, rtol=1e-12)
