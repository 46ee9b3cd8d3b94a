"""SciPy's own optimisers, root finders and solvers of differential equations take fgrad's functions as they are.

They get arrays of fgrad for values and gradients, and call compiled functions. What they find is what
mathematics says, and each derivative that they are given saves them evaluations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg

import fgrad
import fgrad.numpy as fnp
from fgrad import lax

START = np.array([-1.2, 1.0, 0.7])  # with more numbers there is a second minimum


def rosenbrock(x: Any) -> Any:
    return fnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


GRADIENT, HESSIAN = fgrad.jit(fgrad.grad(rosenbrock)), fgrad.jit(fgrad.hessian(rosenbrock))


@fgrad.jit
def hessian_times(x: Any, v: Any) -> Any:
    # Linear operators of SciPy are tried on a vector of int8.
    return fgrad.jvp(fgrad.grad(rosenbrock), (x,), (v.astype(x.dtype),))[1]


# ---- minimisation --------------------------------------------------------------------------------

FIRST_ORDER = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP"]
SECOND_ORDER = ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]
WITH_HESSIAN = [*SECOND_ORDER, "dogleg", "trust-exact"]


def found(x: Any, **options: Any) -> Any:
    limits = {"options": {"maxfun": 3000}} if options["method"] == "TNC" else {}
    result = scipy.optimize.minimize(x0=START, tol=1e-10, **options, **limits, fun=x)
    # Line searches by gradients alone stop a little earlier.
    np.testing.assert_allclose(result.x, np.ones(3), atol=2e-4)
    assert result.fun < 1e-8
    return result


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", FIRST_ORDER)
def test_minimize_with_gradients(method: str, compiled: bool) -> None:
    slope = GRADIENT if compiled else fgrad.grad(rosenbrock)
    apart = found(fgrad.jit(rosenbrock) if compiled else rosenbrock, jac=slope, method=method)
    both = fgrad.value_and_grad(rosenbrock)
    together = found(fgrad.jit(both) if compiled else both, jac=True, method=method)
    np.testing.assert_allclose(apart.x, together.x, atol=1e-6)
    by_differences = scipy.optimize.minimize(
        lambda x: float(rosenbrock(x)), START, method=method, tol=1e-10
    )
    assert apart.nfev < by_differences.nfev


@pytest.mark.parametrize("method", SECOND_ORDER)
def test_minimize_with_products_with_the_hessian(method: str) -> None:
    found(rosenbrock, jac=GRADIENT, hessp=hessian_times, method=method)


@pytest.mark.parametrize("method", WITH_HESSIAN)
def test_minimize_with_hessians(method: str) -> None:
    start = START
    if method == "dogleg":  # which needs a positive definite one
        start = np.full(3, 1.1)
    result = scipy.optimize.minimize(
        rosenbrock, start, jac=GRADIENT, hess=HESSIAN, method=method, tol=1e-10
    )
    np.testing.assert_allclose(result.x, np.ones(3), atol=1e-6)


def test_minimize_with_constraints() -> None:
    """The point of the circle of radius 1 where x + 2 y is least."""

    def circle(x: Any) -> Any:
        return fnp.sum(x**2) - 1.0

    expected = -np.array([1.0, 2.0]) / np.sqrt(5.0)

    def plane(x: Any) -> Any:
        return x[0] + 2.0 * x[1]

    slope = fgrad.jit(fgrad.grad(plane))
    equal = {"type": "eq", "fun": circle, "jac": fgrad.grad(circle)}
    start = np.array([-0.5, -0.5])
    result = scipy.optimize.minimize(
        plane, start, jac=slope, constraints=[equal], method="SLSQP", tol=1e-12
    )
    np.testing.assert_allclose(result.x, expected, atol=1e-6)
    constraint = scipy.optimize.NonlinearConstraint(
        circle,
        0.0,
        0.0,
        jac=fgrad.grad(circle),
        hess=lambda x, v: v[0] * fgrad.hessian(circle)(x),
    )
    result = scipy.optimize.minimize(
        plane,
        start,
        jac=slope,
        hess=fgrad.hessian(plane),
        constraints=[constraint],
        method="trust-constr",
        options={"gtol": 1e-10, "xtol": 1e-12},
    )
    np.testing.assert_allclose(result.x, expected, atol=1e-6)


def test_minimize_in_single_precision_and_with_arguments() -> None:
    def bowl(x: Any, centre: Any, weight: float) -> Any:
        return weight * fnp.sum((x - centre) ** 2)

    centre = np.array([1.0, -2.0], np.float32)
    result = scipy.optimize.minimize(
        fgrad.jit(fgrad.value_and_grad(bowl)), np.zeros(2), args=(centre, 3.0), jac=True
    )
    np.testing.assert_allclose(result.x, centre, atol=1e-6)
    line = scipy.optimize.minimize_scalar(lambda t: fnp.cosh(t - 0.3))
    assert line.x == pytest.approx(0.3, abs=1e-6)
    slope = scipy.optimize.check_grad(rosenbrock, GRADIENT, START)
    assert slope < 1e-4


def test_searches_among_many_minima_take_local_minimisers() -> None:
    def bumps(x: Any) -> Any:
        return fnp.sum(x**2) + 2.0 * fnp.sum(1.0 - fnp.cos(4.0 * x))

    local = {"method": "L-BFGS-B", "jac": True}
    both = fgrad.jit(fgrad.value_and_grad(bumps))
    result = scipy.optimize.basinhopping(
        both, np.array([1.5, -1.5]), niter=15, stepsize=1.5, minimizer_kwargs=local, rng=0
    )
    np.testing.assert_allclose(result.x, 0.0, atol=1e-6)


# ---- least squares and roots ---------------------------------------------------------------------

TIMES = np.linspace(0.0, 3.0, 25)


@fgrad.jit
def decay(parameters: Any) -> Any:
    height, rate, floor = parameters
    return height * fnp.exp(-rate * TIMES) + floor


TRUTH = np.array([2.0, 1.3, 0.4])


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method: str) -> None:
    data = np.asarray(decay(TRUTH))

    def rest(p: Any) -> Any:
        return decay(p) - data

    jacobian = fgrad.jit(fgrad.jacfwd(rest))
    result = scipy.optimize.least_squares(rest, np.ones(3), jac=jacobian, method=method, xtol=1e-12)
    np.testing.assert_allclose(result.x, TRUTH, rtol=1e-8)
    np.testing.assert_array_equal(result.jac, jacobian(result.x))
    if method == "trf":
        outlier = data.copy()
        outlier[3] += 5.0
        robust = scipy.optimize.least_squares(
            lambda p: decay(p) - outlier, np.ones(3), jac=jacobian, loss="cauchy", f_scale=0.01
        )
        np.testing.assert_allclose(robust.x, TRUTH, rtol=1e-3)


def test_curve_fit() -> None:
    def model(t: Any, height: Any, rate: Any) -> Any:
        return height * fnp.exp(-rate * t)

    def jacobian(t: Any, *p: Any) -> Any:
        return fnp.stack(fgrad.jacfwd(lambda *q: model(t, *q), argnums=(0, 1))(*p), axis=-1)

    data = np.asarray(model(TIMES, 2.0, 1.3))
    p, covariance = scipy.optimize.curve_fit(model, TIMES, data, (1.0, 1.0), jac=jacobian)
    np.testing.assert_allclose(p, [2.0, 1.3], rtol=1e-9)
    assert covariance.shape == (2, 2)


def equations(x: Any) -> Any:
    """Whose root is (1, 2, 3)."""
    return fnp.stack([x[0] * x[1] - 2.0, fnp.exp(x[0] - 1.0) + x[2] - 4.0, x[1] ** 2 + x[2] - 7.0])


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_roots(method: str) -> None:
    start = np.array([0.8, 1.5, 2.5])
    with_jacobian = scipy.optimize.root(
        equations, start, jac=fgrad.jit(fgrad.jacrev(equations)), method=method, tol=1e-13
    )
    np.testing.assert_allclose(with_jacobian.x, [1.0, 2.0, 3.0], rtol=1e-10)
    together = fgrad.jit(lambda x: (equations(x), fgrad.jacfwd(equations)(x)))
    both = scipy.optimize.root(together, start, jac=True, method=method, tol=1e-13)
    np.testing.assert_allclose(both.x, with_jacobian.x, rtol=1e-12)
    without = scipy.optimize.root(
        lambda x: np.asarray(equations(x)), start, method=method, tol=1e-13
    )
    assert with_jacobian.nfev < without.nfev


def test_roots_without_jacobians_and_of_one_number() -> None:
    start = np.array([0.8, 1.5, 2.5])
    krylov = scipy.optimize.root(fgrad.jit(equations), start, method="krylov", tol=1e-10)
    np.testing.assert_allclose(krylov.x, [1.0, 2.0, 3.0], rtol=1e-6)
    solved = scipy.optimize.fsolve(equations, start, fprime=fgrad.jacfwd(equations), xtol=1e-12)
    np.testing.assert_allclose(solved, [1.0, 2.0, 3.0], rtol=1e-10)

    def cubic(x: Any) -> Any:
        return x**3 - 2.0 * x - 5.0

    slope, curve = fgrad.grad(cubic), fgrad.grad(fgrad.grad(cubic))
    expected = max(np.roots([1.0, 0.0, -2.0, -5.0]), key=np.real).real
    newton = scipy.optimize.root_scalar(cubic, x0=2.0, fprime=slope, method="newton")
    halley = scipy.optimize.root_scalar(cubic, x0=2.0, fprime=slope, fprime2=curve, method="halley")
    bracket = scipy.optimize.brentq(fgrad.jit(cubic), 2.0, 3.0)
    assert float(newton.root) == pytest.approx(expected, rel=1e-12)
    assert float(halley.root) == pytest.approx(expected, rel=1e-12)
    assert bracket == pytest.approx(expected, rel=1e-12)
    assert halley.iterations <= newton.iterations


# ---- differential equations and linear operators -------------------------------------------------


@fgrad.jit
def robertson(t: Any, y: Any) -> Any:
    """Three substances that react at rates nine decades apart."""
    slow, fast, pair = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return fnp.stack([-slow + fast, slow - fast - pair, pair])


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_stiff_equations_with_jacobians(method: str) -> None:
    jacobian = fgrad.jit(fgrad.jacfwd(robertson, argnums=1))
    options = {"method": method, "rtol": 1e-8, "atol": 1e-12}
    start, span = np.array([1.0, 0.0, 0.0]), (0.0, 40.0)
    solved = scipy.integrate.solve_ivp(robertson, span, start, jac=jacobian, **options)
    assert solved.success
    # The published solution at t = 40.
    expected = [0.7158270688, 9.185534765e-6, 0.2841637457]
    np.testing.assert_allclose(solved.y[:, -1], expected, rtol=1e-6)
    np.testing.assert_allclose(solved.y.sum(0), 1.0, rtol=1e-10)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_other_equations(method: str) -> None:
    """An oscillator, with an event where it passes zero."""

    def slope(t: Any, y: Any) -> Any:
        return fnp.stack([y[1], -y[0]])

    def passes(t: Any, y: Any) -> Any:
        return fnp.asarray(y)[0]

    start = np.array([1.0, 0.0])
    solved = scipy.integrate.solve_ivp(
        fgrad.jit(slope), (0.0, 4.0), start, method=method, events=passes, rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(solved.y[:, -1], [np.cos(4.0), -np.sin(4.0)], atol=1e-6)
    np.testing.assert_allclose(solved.t_events[0], [np.pi / 2], atol=1e-6)


def test_solve_bvp_with_jacobians() -> None:
    """y'' = -y between y(0) = 0 and y(1) = 1, a sine, by Newton's method on collocation."""

    def slope(x: Any, y: Any) -> Any:
        return fnp.vstack([y[1], -y[0]])

    def ends(left: Any, right: Any) -> Any:
        return fnp.stack([left[0], right[0] - 1.0])

    def jacobian(x: Any, y: Any) -> Any:
        one = fgrad.jacfwd(lambda v: fnp.stack([v[1], -v[0]]))
        return fgrad.vmap(one, in_axes=1, out_axes=2)(y)

    x = np.linspace(0.0, 1.0, 11)
    solved = scipy.integrate.solve_bvp(
        slope,
        ends,
        x,
        np.zeros((2, 11)),
        fun_jac=jacobian,
        bc_jac=fgrad.jacfwd(ends, argnums=(0, 1)),
        tol=1e-9,
    )
    assert solved.success
    np.testing.assert_allclose(solved.sol(x)[0], np.sin(x) / np.sin(1.0), atol=1e-8)


def test_integrals_and_linear_operators() -> None:
    area, _ = scipy.integrate.quad(fgrad.jit(lambda t: fnp.exp(-(t**2))), -np.inf, np.inf)
    assert area == pytest.approx(np.sqrt(np.pi), rel=1e-12)
    at = np.linspace(0.5, 1.5, 4)
    operator = scipy.sparse.linalg.LinearOperator(
        (4, 4), matvec=lambda v: hessian_times(at, np.ravel(v)), dtype=float
    )
    side = np.arange(1.0, 5.0)
    solution, failed = scipy.sparse.linalg.minres(operator, side, rtol=1e-12, maxiter=100)
    assert not failed
    np.testing.assert_allclose(HESSIAN(at) @ solution, side, rtol=1e-6)
    largest = scipy.sparse.linalg.eigsh(operator, k=1, return_eigenvectors=False)
    np.testing.assert_allclose(largest, [np.linalg.eigvalsh(HESSIAN(at))[-1]], rtol=1e-10)


def test_what_scipy_finds_has_derivatives_by_the_implicit_function() -> None:
    """A root by SciPy inside of `custom_root`, known to grad as its equation says."""

    def root_of(a: Any) -> Any:
        def equation(x: Any) -> Any:
            return x**3 + a * x - 1.0

        def by_scipy(f: Any, start: Any) -> Any:
            def run(known: Any) -> Any:
                return np.float64(scipy.optimize.brentq(lambda x: x**3 + known * x - 1.0, 0.0, 2.0))

            shape = fgrad.ShapeDtypeStruct((), np.float64)
            return fgrad.pure_callback(run, shape, lax.stop_gradient(a))

        return lax.custom_root(equation, 0.5, by_scipy, lambda g, y: y / g(1.0))

    x, slope = fgrad.value_and_grad(root_of)(0.8)
    assert float(x) ** 3 + 0.8 * float(x) == pytest.approx(1.0, abs=1e-11)
    assert float(slope) == pytest.approx(-float(x) / (3 * float(x) ** 2 + 0.8), rel=1e-9)
