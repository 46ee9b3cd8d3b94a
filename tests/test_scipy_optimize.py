"""Minimisation: minima that mathematics knows, under jit and vmap too; SciPy's own takes fgrad's gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, ShapeError
from fgrad.scipy import optimize


def rosenbrock(x: Any) -> Any:
    return fnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def himmelblau(x: Any) -> Any:
    return (x[0] ** 2 + x[1] - 11.0) ** 2 + (x[0] + x[1] ** 2 - 7.0) ** 2


@pytest.mark.parametrize("compiled", [False, True])
def test_known_minima(compiled: bool) -> None:
    def run(start: Any) -> Any:
        return optimize.minimize(rosenbrock, start, method="BFGS", tol=1e-8)

    found = (fgrad.jit(run) if compiled else run)(np.array([-1.2, 1.0, 0.5]))
    np.testing.assert_allclose(found.x, np.ones(3), rtol=1e-6)
    assert bool(found.success)
    assert int(found.status) == 0
    assert float(found.fun) < 1e-14
    assert int(found.nit) < 100
    np.testing.assert_allclose(found.jac, fgrad.grad(rosenbrock)(found.x), atol=1e-12)


def test_examples_are_minimised_apart() -> None:
    starts = np.array([[0.0, 0.0], [-3.0, 3.0], [4.0, -2.0]])
    found = fgrad.vmap(lambda s: optimize.minimize(himmelblau, s, method="BFGS"))(starts)
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


def test_what_does_not_converge_says_so() -> None:
    stopped = optimize.minimize(
        rosenbrock, np.array([-1.2, 1.0]), method="BFGS", options={"maxiter": 2}
    )
    assert not bool(stopped.success)
    assert (int(stopped.status), int(stopped.nit)) == (1, 2)
    unbounded = optimize.minimize(lambda x: x[0], np.zeros(1), method="BFGS")
    assert int(unbounded.status) == 3
    with pytest.raises(ArgumentError, match=r"minimize: method is 'CG'; give 'BFGS'"):
        optimize.minimize(rosenbrock, np.zeros(2), method="CG")
    with pytest.raises(ArgumentError, match=r"unknown options depth"):
        optimize.minimize(rosenbrock, np.zeros(2), method="BFGS", options={"depth": 1})
    with pytest.raises(ShapeError, match=r"minimize: x0 has shape \(2, 2\)"):
        optimize.minimize(rosenbrock, np.zeros((2, 2)), method="BFGS")


def test_scipys_own_takes_our_gradients() -> None:
    start = np.array([-1.2, 1.0])
    found = scipy.optimize.minimize(
        rosenbrock, start, jac=fgrad.jit(fgrad.grad(rosenbrock)), method="BFGS"
    )
    np.testing.assert_allclose(found.x, np.ones(2), rtol=1e-4)
