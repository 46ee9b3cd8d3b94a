"""The textbook programs of the field, in value, gradient and structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.modules import IS_JAX, fgrad, fnp, jax, jnp

RNG = np.random.default_rng(20)


def primitives(jaxpr: Any) -> list[str]:
    return [eqn.primitive.name for eqn in jaxpr.jaxpr.eqns]


# ---- the graph e = (a + b) * (b + 1) ---------------------------------------------------------


def graph(a: Any, b: Any) -> Any:
    c = a + b
    d = b + 1.0
    return c * d


A, B = 2.0, 1.5
# In fgrad a zero cotangent absorbs any slope: derivative rules have a product of their own.
PRODUCTS = ("mul", "absorbing_product")
DE_DA, DE_DB = B + 1.0, A + 2.0 * B + 1.0


def test_graph_value() -> None:
    assert float(graph(A, B)) == 8.75
    assert float(fgrad.jit(graph)(A, B)) == 8.75


def test_graph_by_reverse_mode() -> None:
    value, (da, db) = fgrad.value_and_grad(graph, argnums=(0, 1))(A, B)
    assert (float(value), float(da), float(db)) == (8.75, DE_DA, DE_DB)
    value, pull = fgrad.vjp(graph, A, B)
    assert [float(ct) for ct in pull(fnp.ones_like(value))] == [DE_DA, DE_DB]
    assert [float(ct) for ct in fgrad.jit(fgrad.grad(graph, (0, 1)))(A, B)] == [DE_DA, DE_DB]


def test_graph_by_forward_mode() -> None:
    for tangents, want in (
        ((1.0, 0.0), DE_DA),
        ((0.0, 1.0), DE_DB),
        ((1.0, 2.0), DE_DA + 2 * DE_DB),
    ):
        value, slope = fgrad.jvp(graph, (A, B), tangents)
        assert (float(value), float(slope)) == (8.75, want)
        value, push = fgrad.linearize(graph, A, B)
        assert (float(value), float(push(*tangents))) == (8.75, want)


def test_graph_jaxprs() -> None:
    assert primitives(fgrad.make_jaxpr(graph)(A, B)) == ["add", "add", "mul"]
    reverse = primitives(fgrad.make_jaxpr(fgrad.grad(graph, (0, 1)))(A, B))
    forward = primitives(fgrad.make_jaxpr(lambda a, b: fgrad.jvp(graph, (a, b), (1.0, 0.0)))(A, B))
    # One product with the other factor for each slope, whichever the mode; forward mode has the
    # value besides. Nothing else multiplies, and nothing but additions remains.
    assert sum(map(reverse.count, PRODUCTS)) <= (3 if IS_JAX else 2)
    assert sum(map(forward.count, PRODUCTS)) <= 3
    for names in (reverse, forward):
        assert set(names) <= {"add", "add_any", *PRODUCTS, "convert_element_type", "pvary"}


def test_a_value_used_twice_sums_its_paths() -> None:
    assert float(fgrad.grad(lambda x: x * x)(3.0)) == 6.0
    assert float(fgrad.jvp(lambda x: x * x, (3.0,), (1.0,))[1]) == 6.0


def test_the_gradient_is_the_sum_over_paths_of_the_products_of_slopes() -> None:
    """Three layers of three nodes with full connections: 27 paths from input to output."""
    first, third = RNG.normal(size=(2, 3))
    layers = RNG.normal(size=(2, 3, 3))

    def network(x: Any) -> Any:
        nodes = [w * x for w in first]
        for layer in layers:
            nodes = [sum(w * n for w, n in zip(row, nodes, strict=True)) for row in layer]
        return sum(w * n for w, n in zip(third, nodes, strict=True))

    paths = sum(
        first[i] * layers[0][j][i] * layers[1][k][j] * third[k]
        for i in range(3)
        for j in range(3)
        for k in range(3)
    )
    assert_allclose(fgrad.grad(network)(0.7), paths, rtol=1e-13)
    assert_allclose(fgrad.jvp(network, (0.7,), (1.0,))[1], paths, rtol=1e-13)


# ---- y = x W ---------------------------------------------------------------------------------


def numbers(kind: str, *shape: int) -> np.ndarray[Any, Any]:
    real = RNG.normal(size=shape)
    return real + 1j * RNG.normal(size=shape) if kind == "complex" else real


def differences(f: Any, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """df/dRe - i df/dIm by central differences; without an imaginary part for real ``x``."""
    step, slope = 1e-6, np.zeros_like(x)
    for place in np.ndindex(x.shape):
        for unit, factor in ((1.0, 1.0), (1j, -1j))[: 2 if x.dtype.kind == "c" else 1]:
            ahead, behind = x.copy(), x.copy()
            ahead[place] += step * unit
            behind[place] -= step * unit
            slope[place] += factor * (f(ahead) - f(behind)) / (2 * step)
    return slope


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_product_gradients(rows: int, kind: str) -> None:
    x, w, gy = numbers(kind, rows, 4), numbers(kind, 4, 3), numbers(kind, rows, 3)
    y, pull = fgrad.vjp(lambda x, w: x @ w, x, w)
    gx, gw = pull(gy)
    assert_allclose(y, x @ w)
    assert gx.shape == x.shape
    assert gw.shape == w.shape
    assert_allclose(gx, gy @ w.T)
    assert_allclose(gw, x.T @ gy)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_the_four_transposed_products(kind: str, transpose_a: bool, transpose_b: bool) -> None:
    a = numbers(kind, *((4, 2) if transpose_a else (2, 4)))
    b = numbers(kind, *((3, 4) if transpose_b else (4, 3)))
    gy = numbers(kind, 2, 3)

    def product(a: Any, b: Any) -> Any:
        return (a.T if transpose_a else a) @ (b.T if transpose_b else b)

    ga, gb = fgrad.vjp(product, a, b)[1](gy)
    plain_a, plain_b = a.T if transpose_a else a, b.T if transpose_b else b
    want_a, want_b = gy @ plain_b.T, plain_a.T @ gy
    want = (want_a.T if transpose_a else want_a, want_b.T if transpose_b else want_b)
    assert_allclose(ga, want[0], rtol=1e-13)
    assert_allclose(gb, want[1], rtol=1e-13)

    def loss(a: Any, b: Any, xp: Any = fnp) -> Any:
        y = product(a, b)
        return xp.sum(xp.sin(xp.real(y) - 0.5 * xp.imag(y)))

    got = fgrad.grad(loss, (0, 1))(a, b)
    reference = jax.grad(lambda a, b: loss(a, b, jnp), (0, 1))(jnp.asarray(a), jnp.asarray(b))
    assert_allclose(got[0], reference[0], rtol=1e-12)
    assert_allclose(got[1], reference[1], rtol=1e-12)
    assert_allclose(got[0], differences(lambda a: loss(a, b, np), a), rtol=1e-6, atol=1e-8)
    assert_allclose(got[1], differences(lambda b: loss(a, b, np), b), rtol=1e-6, atol=1e-8)


# ---- a fully connected network, stage by stage -------------------------------------------------


def softmax(z: Any) -> Any:
    shifted = fnp.exp(z - fgrad.lax.stop_gradient(fnp.max(z)))
    return shifted / fnp.sum(shifted)


def affine(w: Any, b: Any, x: Any) -> Any:
    return w @ x + b


def cross_entropy(p: Any, target: int) -> Any:
    return -fnp.log(p[target])


INPUT, HIDDEN, CLASSES, TARGET = 5, 4, 3, 1
W1, B1 = RNG.normal(size=(HIDDEN, INPUT)), RNG.normal(size=HIDDEN)
W2, B2 = RNG.normal(size=(CLASSES, HIDDEN)), RNG.normal(size=CLASSES)
X = RNG.normal(size=INPUT)
STAGES = (
    lambda x: affine(W1, B1, x),
    fnp.tanh,
    lambda h: affine(W2, B2, h),
    softmax,
    lambda p: cross_entropy(p, TARGET),
)


def stage_inputs() -> list[np.ndarray[Any, Any]]:
    z1 = W1 @ X + B1
    h = np.tanh(z1)
    z2 = W2 @ h + B2
    p = np.exp(z2) / np.exp(z2).sum()
    return [X, z1, h, z2, p]


def closed_forms() -> list[np.ndarray[Any, Any]]:
    _, z1, _, _, p = stage_inputs()
    row = np.zeros(CLASSES)
    row[TARGET] = -1.0 / p[TARGET]
    return [W1, np.diag(1.0 - np.tanh(z1) ** 2), W2, np.diag(p) - np.outer(p, p), row]


@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_the_jacobian_of_each_stage_is_its_closed_form(mode: str) -> None:
    jacobian = getattr(fgrad, mode)
    for stage, at, want in zip(STAGES, stage_inputs(), closed_forms(), strict=True):
        assert_allclose(jacobian(stage)(at), want, rtol=1e-12, atol=1e-14)
        assert_allclose(fgrad.jit(jacobian(stage))(at), want, rtol=1e-12, atol=1e-14)


def test_softmax_with_cross_entropy_has_the_slope_p_minus_one_hot() -> None:
    *_, z2, p = stage_inputs()
    slope = fgrad.grad(lambda z: cross_entropy(softmax(z), TARGET))(z2)
    assert_allclose(slope, p - np.eye(CLASSES)[TARGET], rtol=1e-12)


def test_the_chain_of_jacobians_is_the_gradient() -> None:
    def network(x: Any) -> Any:
        for stage in STAGES:
            x = stage(x)
        return x

    chain = np.eye(INPUT)
    for jacobian in closed_forms():
        chain = jacobian @ chain
    assert_allclose(fgrad.grad(network)(X), chain, rtol=1e-12)
    assert_allclose(fgrad.jacfwd(network)(X), chain, rtol=1e-12)
    assert_allclose(fgrad.jit(fgrad.grad(network))(X), chain, rtol=1e-12)


def test_the_gradient_towards_weights_is_the_outer_product() -> None:
    """dL/dW = delta x^T for each layer, with delta from the layer above."""

    def loss(params: Any) -> Any:
        h = fnp.tanh(affine(params[0]["w"], params[0]["b"], X))
        return cross_entropy(softmax(affine(params[1]["w"], params[1]["b"], h)), TARGET)

    got = fgrad.grad(loss)([{"w": W1, "b": B1}, {"w": W2, "b": B2}])
    _, z1, h, _, p = stage_inputs()
    delta2 = p - np.eye(CLASSES)[TARGET]
    delta1 = (1.0 - np.tanh(z1) ** 2) * (W2.T @ delta2)
    for layer, delta, below in ((got[0], delta1, X), (got[1], delta2, h)):
        assert_allclose(layer["w"], np.outer(delta, below), rtol=1e-12)
        assert_allclose(layer["b"], delta, rtol=1e-12)


# ---- a recurrent network, unrolled -------------------------------------------------------------

STEPS = 7
RNN = {"h": 0.5 * RNG.normal(size=(3, 3)), "x": RNG.normal(size=(3, 2)), "b": RNG.normal(size=3)}
INPUTS = RNG.normal(size=(STEPS, 2))
START = RNG.normal(size=3)
READ_OUT = RNG.normal(size=(STEPS, 3))


def unrolled(copies: list[Any]) -> Any:
    """The loss of a network whose step ``t`` has the weights ``copies[t]``."""
    h, loss = START, 0.0
    for weights, x, target in zip(copies, INPUTS, READ_OUT, strict=True):
        h = fnp.tanh(weights["h"] @ h + weights["x"] @ x + weights["b"])
        loss = loss + fnp.sum((h - target) ** 2)
    return loss


def by_hand() -> dict[str, np.ndarray[Any, Any]]:
    """Backpropagation through time, written out."""
    states = [START]
    for x in INPUTS:
        states.append(np.tanh(RNN["h"] @ states[-1] + RNN["x"] @ x + RNN["b"]))
    total = {name: np.zeros_like(w) for name, w in RNN.items()}
    from_later = np.zeros(3)
    for t in reversed(range(STEPS)):
        slope = 2.0 * (states[t + 1] - READ_OUT[t]) + from_later
        delta = (1.0 - states[t + 1] ** 2) * slope
        total["h"] += np.outer(delta, states[t])
        total["x"] += np.outer(delta, INPUTS[t])
        total["b"] += delta
        from_later = RNN["h"].T @ delta
    return total


@pytest.mark.parametrize("wrap", ["plain", "jit", "checkpoint"])
def test_shared_weights_get_the_sum_over_time_of_the_gradients_of_copies(wrap: str) -> None:
    transform = {"plain": lambda f: f, "jit": fgrad.jit, "checkpoint": fgrad.checkpoint}[wrap]
    shared = fgrad.grad(transform(lambda w: unrolled([w] * STEPS)))(RNN)
    copies = fgrad.grad(transform(unrolled))([RNN] * STEPS)
    want = by_hand()
    for name in RNN:
        assert_allclose(shared[name], sum(copy[name] for copy in copies), rtol=1e-12)
        assert_allclose(shared[name], want[name], rtol=1e-11)


def test_the_directional_derivative_of_the_recurrent_network() -> None:
    direction = {name: RNG.normal(size=w.shape) for name, w in RNN.items()}
    _, slope = fgrad.jvp(lambda w: unrolled([w] * STEPS), (RNN,), (direction,))
    assert_allclose(slope, sum(np.sum(direction[n] * g) for n, g in by_hand().items()), rtol=1e-11)
