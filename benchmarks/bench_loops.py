"""Loops: recurrent networks and their gradients, an orbit, the cost of a step, memory."""

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from benchmarks.comparison import Comparison, Row, assert_same_answer, interleaved, timed

TITLE = "loops, jit(value_and_grad) of 100 steps of width 64, float32"
TARGET = 1.0
STEPS, WIDTH = 100, 64
# The cost of a step of a loop whose body is one addition.
STEP_TARGET = 1e-6
EMPTY_STEPS = 10_000
ORBIT_STEPS = 1000

Arguments = tuple[Any, ...]


# ---- recurrent networks ------------------------------------------------------------------------


def rnn(xp: Any, lax: Any) -> Callable[..., Any]:
    def loss(params: Any, xs: Any, targets: Any) -> Any:
        w, u, b, v = params

        def step(h: Any, x: Any) -> Any:
            h = xp.tanh(x @ w + h @ u + b)
            return h, h

        start = xp.zeros((xs.shape[1], u.shape[0]), xs.dtype)
        _, hs = lax.scan(step, start, xs)
        return xp.mean((hs @ v - targets) ** 2)

    return loss


def rnn_by_hand(params: Any, xs: Any, targets: Any) -> Any:
    """Value and gradient of `rnn` in NumPy: what all steps share is one product."""
    w, u, b, v = params
    steps, rows, width = len(xs), xs.shape[1], u.shape[0]
    hs = np.zeros((steps + 1, rows, width), xs.dtype)
    inputs = xs.reshape(steps * rows, -1) @ w
    inputs += b
    inputs = inputs.reshape(steps, rows, width)
    for t in range(steps):
        out = np.dot(hs[t], u, out=hs[t + 1])
        out += inputs[t]
        np.tanh(out, out=out)
    flat = hs[1:].reshape(steps * rows, width)
    residual = flat @ v
    residual -= targets.reshape(residual.shape)
    value = np.vdot(residual, residual) / xs.dtype.type(residual.size)
    residual *= 2 / residual.size
    ct_v = flat.T @ residual
    cts = (residual @ v.T).reshape(steps, rows, width)
    slopes = 1 - hs[1:] ** 2
    ct = np.zeros((rows, width), xs.dtype)
    for t in range(steps - 1, -1, -1):
        now = cts[t]
        now += ct
        now *= slopes[t]
        np.dot(now, u.T, out=ct)
    flat = cts.reshape(steps * rows, width)
    ct_w = xs.reshape(steps * rows, -1).T @ flat
    ct_u = hs[:-1].reshape(steps * rows, width).T @ flat
    return value, (ct_w, ct_u, flat.sum(axis=0), ct_v)


def lstm(xp: Any, lax: Any) -> Callable[..., Any]:
    def sigmoid(x: Any) -> Any:
        return 0.5 * xp.tanh(0.5 * x) + 0.5

    def loss(params: Any, xs: Any, targets: Any) -> Any:
        w, u, b, v = params

        def step(state: Any, x: Any) -> Any:
            h, c = state
            gates = x @ w + h @ u + b
            into, forget, new, out = xp.split(gates, 4, axis=1)
            c = sigmoid(forget) * c + sigmoid(into) * xp.tanh(new)
            h = sigmoid(out) * xp.tanh(c)
            return (h, c), h

        start = xp.zeros((xs.shape[1], u.shape[0]), xs.dtype)
        _, hs = lax.scan(step, (start, start), xs)
        return xp.mean((hs @ v - targets) ** 2)

    return loss


def lstm_by_hand(params: Any, xs: Any, targets: Any) -> Any:
    """Value and gradient of `lstm` in NumPy, with the same care."""
    w, u, b, v = params
    steps, rows, width = len(xs), xs.shape[1], u.shape[0]
    dtype = xs.dtype
    hs = np.zeros((steps + 1, rows, width), dtype)
    cs = np.zeros((steps + 1, rows, width), dtype)
    tanh_cs = np.empty((steps, rows, width), dtype)
    gates = xs.reshape(steps * rows, -1) @ w
    gates += b
    gates = gates.reshape(steps, rows, 4 * width)
    # The three sigmoids are tanh of half the argument.
    half = np.full(4 * width, 0.5, dtype)
    half[2 * width : 3 * width] = 1.0
    shift = np.where(half == 1.0, 0, 0.5).astype(dtype)
    into, forget, new, out = (slice(i * width, (i + 1) * width) for i in range(4))
    product = np.empty((rows, 4 * width), dtype)
    for t in range(steps):
        gate = gates[t]
        gate += np.dot(hs[t], u, out=product)
        gate *= half
        np.tanh(gate, out=gate)
        gate *= half
        gate += shift
        c = np.multiply(gate[:, forget], cs[t], out=cs[t + 1])
        c += gate[:, into] * gate[:, new]
        np.tanh(c, out=tanh_cs[t])
        np.multiply(gate[:, out], tanh_cs[t], out=hs[t + 1])
    flat = hs[1:].reshape(steps * rows, width)
    residual = flat @ v
    residual -= targets.reshape(residual.shape)
    value = np.vdot(residual, residual) / dtype.type(residual.size)
    residual *= 2 / residual.size
    ct_v = flat.T @ residual
    ct_hs = (residual @ v.T).reshape(steps, rows, width)
    ct_gates = np.empty_like(gates)
    ct_h = np.zeros((rows, width), dtype)
    ct_c = np.zeros((rows, width), dtype)
    for t in range(steps - 1, -1, -1):
        gate, tanh_c, ct_gate = gates[t], tanh_cs[t], ct_gates[t]
        ct = ct_hs[t]
        ct += ct_h
        o = gate[:, out]
        np.multiply(ct * tanh_c, o * (1 - o), out=ct_gate[:, out])
        ct_c += ct * o * (1 - tanh_c * tanh_c)
        i, f, g = gate[:, into], gate[:, forget], gate[:, new]
        np.multiply(ct_c * g, i * (1 - i), out=ct_gate[:, into])
        np.multiply(ct_c * cs[t], f * (1 - f), out=ct_gate[:, forget])
        np.multiply(ct_c * i, 1 - g * g, out=ct_gate[:, new])
        ct_c *= f
        np.dot(ct_gate, u.T, out=ct_h)
    flat = ct_gates.reshape(steps * rows, 4 * width)
    ct_w = xs.reshape(steps * rows, -1).T @ flat
    ct_u = hs[:-1].reshape(steps * rows, width).T @ flat
    return value, (ct_w, ct_u, flat.sum(axis=0), ct_v)


#: The loss, its gradient by hand, and how many gates there are.
NETWORKS: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "RNN": (rnn, rnn_by_hand, 1),
    "LSTM": (lstm, lstm_by_hand, 4),
}


def network_arguments(gates: int, rows: int) -> Arguments:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        scale = 1.0 / math.sqrt(shape[-2]) if len(shape) > 1 else 0.1
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    params = (
        normal(WIDTH, gates * WIDTH),
        normal(WIDTH, gates * WIDTH),
        normal(gates * WIDTH),
        normal(WIDTH, 1),
    )
    xs = rng.standard_normal((STEPS, rows, WIDTH)).astype(np.float32)
    return params, xs, rng.standard_normal((STEPS, rows, 1)).astype(np.float32)


def of_jax(function: Callable[..., Any], args: Arguments) -> Callable[[], Any]:
    compiled = jax.jit(function)
    on_device = jax.tree_util.tree_map(jnp.asarray, args)
    return lambda: jax.block_until_ready(compiled(*on_device))


def network(name: str, rows: int, other: str) -> Comparison:
    loss, by_hand, gates = NETWORKS[name]
    args = network_arguments(gates, rows)
    ours = fgrad.jit(fgrad.value_and_grad(loss(fnp, fgrad.lax)))
    theirs = (
        of_jax(jax.value_and_grad(loss(jnp, jax.lax)), args)
        if other == "JAX"
        else lambda: by_hand(*args)
    )
    return Comparison(
        f"{name}, batch {rows}", lambda: ours(*args), theirs, other, TARGET, rtol=1e-4
    )


# ---- five bodies under gravity --------------------------------------------------------------------


def orbits(xp: Any, lax: Any) -> Callable[..., Any]:
    """A thousand steps of Runge and Kutta's method of order four."""

    def acceleration(places: Any, masses: Any) -> Any:
        apart = places[None, :, :] - places[:, None, :]
        squared = xp.sum(apart * apart, axis=-1) + 1e-2
        return xp.sum(apart * (masses / (squared * xp.sqrt(squared)))[:, :, None], axis=1)

    def run(places: Any, speeds: Any, masses: Any) -> Any:
        step = 1e-3

        def slopes(state: Any) -> Any:
            return state[1], acceleration(state[0], masses)

        def moved(state: Any, slope: Any, factor: float) -> Any:
            return state[0] + factor * slope[0], state[1] + factor * slope[1]

        def body(i: Any, state: Any) -> Any:
            k1 = slopes(state)
            k2 = slopes(moved(state, k1, step / 2))
            k3 = slopes(moved(state, k2, step / 2))
            k4 = slopes(moved(state, k3, step))
            for k, factor in ((k1, step / 6), (k2, step / 3), (k3, step / 3), (k4, step / 6)):
                state = moved(state, k, factor)
            return state

        return lax.fori_loop(0, ORBIT_STEPS, body, (places, speeds))

    return run


def five_bodies() -> Comparison:
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    args = (rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), rng.uniform(0.5, 1.5, 5))
    ours = fgrad.jit(orbits(fnp, fgrad.lax))
    return Comparison(
        f"five bodies, {ORBIT_STEPS} steps",
        lambda: ours(*args),
        of_jax(orbits(jnp, jax.lax), args),
        "JAX",
        # Tiny arrays cost NumPy a call each, where XLA runs a native loop.
        math.inf,
        rtol=1e-8,
        operations=ORBIT_STEPS,
    )


# ---- the cost of a step ----------------------------------------------------------------------------


def sum_by_scan(lax: Any) -> Callable[[Any], Any]:
    return lambda x: lax.scan(lambda c, _: (c + 1.0, None), x, None, EMPTY_STEPS)[0]


def sums_by_scan(lax: Any) -> Callable[[Any], Any]:
    return lambda x: lax.scan(lambda c, _: (c + 1.0, c), x, None, EMPTY_STEPS)


def sum_by_fori_loop(lax: Any) -> Callable[[Any], Any]:
    return lambda x: lax.fori_loop(0, EMPTY_STEPS, lambda i, c: c + i, x)


def sum_by_while_loop(lax: Any) -> Callable[[Any], Any]:
    return lambda x: lax.while_loop(lambda c: c < EMPTY_STEPS, lambda c: c + 1.0, x)


EMPTY_LOOPS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "scan": sum_by_scan,
    "scan with results": sums_by_scan,
    "fori_loop": sum_by_fori_loop,
    "while_loop": sum_by_while_loop,
}


def cost_of_a_step(name: str) -> Callable[[bool], Row]:
    def measured(smoke: bool = False) -> Row:
        jax.config.update("jax_enable_x64", True)
        start = np.float64(0.0)
        loop = fgrad.jit(EMPTY_LOOPS[name](fgrad.lax))
        other = of_jax(EMPTY_LOOPS[name](jax.lax), (start,))
        assert_same_answer(loop(start), other(), 1e-12, name)

        def run() -> Any:
            return loop(start)

        seconds = timed(run, 1) if smoke else interleaved(run, other)[0][0]
        return Row(
            f"a step of {name}, one addition", seconds / EMPTY_STEPS, "", None, None, STEP_TARGET
        )

    return measured


# ---- memory ------------------------------------------------------------------------------------------


def memory(name: str, rows: int) -> Callable[[bool], Row]:
    """The most that is allocated beside the arguments, against JAX's temporaries and results."""

    def measured(smoke: bool = False) -> Row:
        loss, _, gates = NETWORKS[name]
        args = network_arguments(gates, rows)
        ours = fgrad.jit(fgrad.value_and_grad(loss(fnp, fgrad.lax)))
        theirs = jax.jit(jax.value_and_grad(loss(jnp, jax.lax)))
        assert_same_answer(ours(*args), theirs(*args), 1e-4, name)
        # The second call makes what later ones find.
        ours(*args)
        analysis = theirs.lower(*args).compile().memory_analysis()
        other = analysis.temp_size_in_bytes + analysis.output_size_in_bytes
        tracemalloc.start()
        try:
            ours(*args)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return Row(
            f"memory of {name}, batch {rows}", peak, "JAX", other, peak / other, TARGET, "bytes"
        )

    return measured


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    f"{name}, batch {rows}, {other}": lambda name=name, rows=rows, other=other: network(
        name, rows, other
    )
    for name in NETWORKS
    for rows in (32, 1)
    for other in ("JAX", "NumPy by hand")
} | {"five bodies": five_bodies}
LIMITS: tuple[Callable[[bool], Row], ...] = (
    *map(cost_of_a_step, EMPTY_LOOPS),
    *[memory(name, rows) for name in NETWORKS for rows in (32, 1)],
)


@pytest.mark.parametrize("contender", ["fgrad", "other"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_loops(benchmark: Any, name: str, contender: str) -> None:
    comparison = COMPARISONS[name]()
    comparison.check()
    benchmark.group = f"loops: {comparison.name} against {comparison.other_name}"
    benchmark(comparison.contender(contender))


@pytest.mark.parametrize("name", EMPTY_LOOPS)
def test_steps(benchmark: Any, name: str) -> None:
    loop = fgrad.jit(EMPTY_LOOPS[name](fgrad.lax))
    benchmark.group = f"{EMPTY_STEPS} steps of one addition"
    assert benchmark(loop, np.float64(0.0)) is not None
