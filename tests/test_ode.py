"""Solutions of differential equations and their gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.ode import odeint as jax_odeint

import fgrad
import fgrad.numpy as fnp
from fgrad import errors
from fgrad.experimental.ode import odeint

jax.config.update("jax_enable_x64", True)

TIMES = np.array([0.0, 0.4, 1.0, 2.5])


def pendulum(y: Any, t: Any, length: Any, damping: Any) -> Any:
    sin = fnp.sin if not isinstance(t, jax.Array) else jnp.sin
    stack = fnp.stack if not isinstance(t, jax.Array) else jnp.stack
    return stack([y[1], -sin(y[0]) / length - damping * y[1] + 0.1 * t])


def test_the_solution_of_a_linear_equation() -> None:
    """``y'' = -y``: sine and cosine."""
    result = odeint(lambda y, t: fnp.stack([y[1], -y[0]]), np.array([0.0, 1.0]), TIMES)
    np.testing.assert_allclose(result, np.stack([np.sin(TIMES), np.cos(TIMES)], 1), atol=2e-7)


def test_the_order_of_a_step_and_of_the_dense_output() -> None:
    from fgrad.experimental.ode import _between, _step

    def error(dt: float) -> tuple[float, float]:
        y, f = fnp.array([1.0]), fnp.array([1.0])
        new, _, _, dense = _step(lambda y, t: y, y, f, 0.0, dt, ())
        middle = _between(dense, 0.3)
        return abs(float(new[0]) - np.exp(dt)), abs(float(middle[0]) - np.exp(0.3 * dt))

    coarse, fine = error(0.1), error(0.05)
    # The local errors are of order 6 and 5.
    assert np.log2(coarse[0] / fine[0]) == pytest.approx(6.0, abs=0.3)
    assert np.log2(coarse[1] / fine[1]) == pytest.approx(5.0, abs=0.3)


def test_agreement_with_jax() -> None:
    y0 = np.array([0.5, -0.3])

    def loss(solve: Any, xp: Any) -> Any:
        def f(y0: Any, t: Any, length: Any, damping: Any) -> Any:
            return xp.sum(
                xp.sin(solve(pendulum, y0, t, length, damping)) * xp.arange(8.0).reshape(4, 2)
            )

        return f

    args = (y0, TIMES, 0.7, 0.2)
    want = jax.value_and_grad(loss(jax_odeint, jnp), (0, 1, 2, 3))(*map(jnp.asarray, args))
    ours = fgrad.value_and_grad(loss(odeint, fnp), (0, 1, 2, 3))
    for run in (ours, fgrad.jit(ours)):
        got = run(*args)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
        for a, b in zip(got[1], want[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-7)


def test_gradients_against_differences() -> None:
    y0 = np.array([0.5, -0.3])

    def f(y0: Any, t: Any, length: Any) -> Any:
        states = odeint(pendulum, y0, t, length, 0.2, rtol=1e-11, atol=1e-11)
        return fnp.sum(fnp.cos(states))

    gradients = fgrad.grad(f, (0, 1, 2))(y0, TIMES, 0.7)
    step = 1e-4
    for i, gradient in enumerate(gradients):
        args = [y0, TIMES, np.float64(0.7)]
        for place in np.ndindex(np.shape(args[i])):
            moved = []
            for sign in (1.0, -1.0):
                changed = [np.array(a, float) for a in args]
                changed[i][place] += sign * step
                moved.append(float(f(*changed)))
            by_difference = (moved[0] - moved[1]) / (2 * step)
            np.testing.assert_allclose(
                np.asarray(gradient)[place], by_difference, rtol=1e-5, atol=1e-6
            )


def test_trees_and_closures() -> None:
    def slope(state: Any, t: Any, rates: Any, counts: Any) -> Any:
        return {
            "prey": rates["birth"] * state["prey"] - state["prey"] * state["hunters"][0],
            "hunters": [state["prey"] * state["hunters"][0] - counts * state["hunters"][0]],
        }

    state = {"prey": 1.0, "hunters": [0.5]}

    def last(birth: Any) -> Any:
        return odeint(slope, state, TIMES, {"birth": birth}, 1)["hunters"][0][-1]

    def last_closed(birth: Any) -> Any:
        closed = lambda state, t: slope(state, t, {"birth": birth}, 1)  # noqa: E731
        return odeint(closed, state, TIMES)["hunters"][0][-1]

    assert odeint(slope, state, TIMES, {"birth": 1.1}, 1)["prey"].shape == (4,)
    np.testing.assert_allclose(fgrad.grad(last)(1.1), fgrad.grad(last_closed)(1.1), rtol=1e-6)
    np.testing.assert_allclose(
        fgrad.jit(fgrad.grad(last_closed))(1.1), fgrad.grad(last)(1.1), rtol=1e-6
    )


def test_a_mapped_equation() -> None:
    rates = np.array([0.1, 1.0, 5.0])

    def last(rate: Any) -> Any:
        return odeint(lambda y, t, rate: -rate * y, 2.0, TIMES, rate)[-1]

    for run in (fgrad.vmap(last), fgrad.jit(fgrad.vmap(last))):
        np.testing.assert_allclose(run(rates), 2.0 * np.exp(-2.5 * rates), atol=1e-7)
    np.testing.assert_allclose(
        fgrad.vmap(fgrad.grad(last))(rates), -5.0 * np.exp(-2.5 * rates), atol=1e-6
    )


def test_float32_stays_float32() -> None:
    y0 = np.array([0.5, -0.3], np.float32)
    states = odeint(pendulum, y0, TIMES, 0.7, 0.2, rtol=1e-4, atol=1e-4)
    assert states.dtype == np.float32
    exact = odeint(pendulum, y0.astype(float), TIMES, 0.7, 0.2)
    np.testing.assert_allclose(states, exact, atol=2e-3)


def test_what_cannot_be_reached_is_nan() -> None:
    """``y' = y**2`` from 1 has its pole at time 1."""
    states = odeint(lambda y, t: y * y, 1.0, np.array([0.0, 0.5, 2.0]), mxstep=200)
    np.testing.assert_allclose(states[:2], [1.0, 2.0], rtol=1e-6)
    assert np.isnan(states[2])
    slow = odeint(lambda y, t: -y, 1.0, np.array([0.0, 1.0]), mxstep=3, hmax=0.1)
    assert np.isnan(slow[1])


@pytest.mark.parametrize("t", [np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0]), np.float64(1.0)])
def test_times_are_refused(t: Any) -> None:
    with pytest.raises(errors.ArgumentError, match=r"odeint: (the times in t|t has shape)"):
        odeint(lambda y, t: y, 1.0, t)
