"""Minimisation: minima that mathematics knows, under jit and vmap too."""

from __future__ import annotations

from typing import Any

import jax.scipy.optimize
import numpy as np
import pytest
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.scipy import optimize


def rosenbrock(x: Any) -> Any:
    return fnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def himmelblau(x: Any) -> Any:
    return (x[0] ** 2 + x[1] - 11.0) ** 2 + (x[0] + x[1] ** 2 - 7.0) ** 2


METHODS = ["BFGS", "L-BFGS", "l-bfgs-experimental-do-not-rely-on-this"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("compiled", [False, True])
def test_known_minima(compiled: bool, method: str) -> None:
    options = {"gtol": 1e-8} if method == "BFGS" else {"gtol": 1e-8, "ftol": 0.0}

    def run(start: Any) -> Any:
        return optimize.minimize(rosenbrock, start, method=method, options=options)

    found = (fgrad.jit(run) if compiled else run)(np.array([-1.2, 1.0, 0.5]))
    np.testing.assert_allclose(found.x, np.ones(3), rtol=1e-6)
    assert bool(found.success)
    assert int(found.status) == 0
    assert float(found.fun) < 1e-14
    assert int(found.nit) < 100
    np.testing.assert_allclose(found.jac, fgrad.grad(rosenbrock)(found.x), atol=1e-12)


@pytest.mark.parametrize("method", METHODS[:2])
def test_examples_are_minimised_apart(method: str) -> None:
    starts = np.array([[0.0, 0.0], [-3.0, 3.0], [4.0, -2.0]])
    found = fgrad.vmap(lambda s: optimize.minimize(himmelblau, s, method=method))(starts)
    assert np.asarray(found.success).all()
    np.testing.assert_allclose(fgrad.vmap(himmelblau)(found.x), 0.0, atol=1e-8)


def test_quadratics_and_their_hessians() -> None:
    matrix, centre = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([0.5, -2.0])

    def bowl(x: Any, c: Any) -> Any:
        return 0.5 * (x - c) @ matrix @ (x - c)

    found = optimize.minimize(bowl, np.zeros(2), (centre,), method="bfgs", options={"gtol": 1e-10})
    np.testing.assert_allclose(found.x, centre, atol=1e-9)
    # Secants of a few steps: near the inverse Hessian, and symmetric and positive definite.
    np.testing.assert_allclose(found.hess_inv, np.linalg.inv(matrix), rtol=1e-2)
    np.testing.assert_allclose(found.hess_inv, found.hess_inv.T, atol=1e-12)
    assert np.linalg.eigvalsh(found.hess_inv).min() > 0.0
    narrow = optimize.minimize(lambda x: fnp.sum(x**2), np.ones(2, np.float32), method="BFGS")
    assert narrow.x.dtype == np.float32


def test_long_vectors_by_few_steps() -> None:
    """A quadratic of 400 numbers, against the solution of its linear system; memory of 3 or 20 steps."""
    rng = np.random.default_rng(2)
    weights, centre = np.linspace(1.0, 50.0, 400), rng.normal(size=400)

    def bowl(x: Any) -> Any:
        return 0.5 * fnp.sum(weights * (x - centre) ** 2)

    steps = []
    for maxcor in (3, 20):
        options = {"maxcor": maxcor, "gtol": 1e-7, "ftol": 0.0}
        found = fgrad.jit(
            lambda x, o=options: optimize.minimize(bowl, x, method="L-BFGS", options=o)
        )(np.zeros(400))
        assert bool(found.success)
        assert found.hess_inv is None
        np.testing.assert_allclose(found.x, centre, atol=1e-6)
        steps.append(int(found.nit))
    assert steps[1] <= steps[0] < 150
    narrow = optimize.minimize(bowl, np.zeros(400, np.float32), method="L-BFGS")
    assert narrow.x.dtype == np.float32
    assert bool(narrow.success)


def test_minima_are_those_of_jax() -> None:
    start = np.array([0.5, 0.5])
    for method in ("BFGS", METHODS[2]):
        ours = optimize.minimize(himmelblau, start, method=method)
        expected = jax.scipy.optimize.minimize(himmelblau, start, method=method)
        # JAX stops early: what it found is near, and no lower.
        np.testing.assert_allclose(ours.x, expected.x, atol=1e-2)
        assert float(ours.fun) <= float(expected.fun)
        assert ours._fields == expected._fields
        assert (ours.hess_inv is None) == (expected.hess_inv is None)


@pytest.mark.parametrize("method", METHODS[:2])
def test_what_does_not_converge_says_so(method: str) -> None:
    stopped = optimize.minimize(
        rosenbrock, np.array([-1.2, 1.0]), method=method, options={"maxiter": 2}
    )
    assert not bool(stopped.success)
    assert (int(stopped.status), int(stopped.nit)) == (1, 2)
    unbounded = optimize.minimize(lambda x: x[0], np.zeros(1), method=method)
    assert int(unbounded.status) == 3
    assert not bool(unbounded.success)


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match=r"minimize: method is 'CG'; give 'BFGS'"):
        optimize.minimize(rosenbrock, np.zeros(2), method="CG")
    with pytest.raises(ArgumentError, match=r"unknown options depth"):
        optimize.minimize(rosenbrock, np.zeros(2), method="BFGS", options={"depth": 1})
    with pytest.raises(ArgumentError, match=r"unknown options maxcor; there are gtol, norm"):
        optimize.minimize(rosenbrock, np.zeros(2), method="BFGS", options={"maxcor": 1})
    with pytest.raises(DTypeError, match=r"minimize: x0 is complex"):
        optimize.minimize(rosenbrock, np.zeros(2) * 1j, method="L-BFGS")
    with pytest.raises(ShapeError, match=r"minimize: x0 has shape \(2, 2\)"):
        optimize.minimize(rosenbrock, np.zeros((2, 2)), method="BFGS")
