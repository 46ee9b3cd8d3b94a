"""Iterative solvers against JAX and direct solutions, with derivatives of their solutions."""

from __future__ import annotations

from typing import Any

import jax.scipy.integrate
import jax.scipy.sparse.linalg
import numpy as np
import pytest
from support.against_jax import holds_against_jax
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, ShapeError
from fgrad.scipy import integrate
from fgrad.scipy.sparse import linalg

RNG = np.random.default_rng(5)
GENERAL = 0.4 * RNG.normal(size=(5, 5)) + np.diag([2.0, 3.0, 4.0, 3.5, 2.5])
DEFINITE = GENERAL @ GENERAL.T + np.eye(5)
SIDE = RNG.normal(size=5)
SOLVERS = {"cg": DEFINITE, "bicgstab": GENERAL, "gmres": GENERAL}


def solution(module: Any, name: str, **options: Any) -> Any:
    def solve(a: Any, b: Any) -> Any:
        # The operator of conjugate gradients is symmetric, and moves as such.
        matrix = 0.5 * (a + a.T) if name == "cg" else a
        return getattr(module, name)(lambda x: matrix @ x, b, tol=1e-13, **options)[0]

    return solve


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_and_slopes_are_those_of_jax(name: str) -> None:
    matrix = SOLVERS[name]
    ours = solution(linalg, name)
    np.testing.assert_allclose(ours(matrix, SIDE), np.linalg.solve(matrix, SIDE), rtol=1e-10)
    theirs = lambda a, b: jax.numpy.linalg.solve(0.5 * (a + a.T) if name == "cg" else a, b)  # noqa: E731
    holds_against_jax(ours, theirs, (matrix, SIDE), rtol=1e-9, order=1)


@pytest.mark.parametrize("name", SOLVERS)
def test_starts_preconditioners_and_trees(name: str) -> None:
    matrix = SOLVERS[name]
    exact = np.linalg.solve(matrix, SIDE)
    solver = getattr(linalg, name)
    scaled = np.diag(1.0 / np.diag(matrix))
    for options in ({"x0": exact + 0.1}, {"M": scaled}, {"M": lambda x: scaled @ x}):
        found, info = solver(matrix, SIDE, tol=1e-12, **options)
        np.testing.assert_allclose(found, exact, rtol=1e-8)
        assert info is None
    tree, _ = solver(
        lambda t: {"x": matrix[:2, :2] @ t["x"], "y": 3.0 * t["y"]},
        {"x": SIDE[:2], "y": 6.0},
        tol=1e-12,
    )
    np.testing.assert_allclose(tree["x"], np.linalg.solve(matrix[:2, :2], SIDE[:2]), rtol=1e-8)
    assert float(tree["y"]) == pytest.approx(2.0)
    rough, _ = solver(matrix, SIDE, maxiter=0)
    np.testing.assert_array_equal(rough, np.zeros(5))
    zero, _ = solver(matrix, np.zeros(5))
    np.testing.assert_array_equal(zero, np.zeros(5))


def test_solvers_refuse_what_does_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"cg: A has shape \(2, 3\)"):
        linalg.cg(np.ones((2, 3)), np.ones(2))
    with pytest.raises(ArgumentError, match=r"gmres: solve_method is 'x'"):
        linalg.gmres(GENERAL, SIDE, solve_method="x")
    with pytest.raises(ArgumentError, match=r"bicgstab: x0 has 3 elements and b has 5"):
        linalg.bicgstab(GENERAL, SIDE, np.ones(3))


def test_trapezoids() -> None:
    x, y = np.array([0.0, 0.5, 2.0]), RNG.normal(size=(2, 3))
    holds_against_jax(integrate.trapezoid, jax.scipy.integrate.trapezoid, (y, x))
    assert fgrad.jit(lambda v: integrate.trapezoid(v, dx=0.5, axis=0))(y).shape == (3,)
    assert fnp.asarray(integrate.trapezoid(y.astype(np.float32))).dtype == np.float32
