"""Series of derivatives against nested forward mode and JAX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.jet import jet as jax_jet

import fgrad
import fgrad.numpy as fnp
from fgrad import errors, lax
from fgrad.experimental.jet import jet

jax.config.update("jax_enable_x64", True)

A = np.array([[2.0, 0.3], [0.1, 1.5]])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": fnp.exp,
    "log": lambda x: fnp.log(x + 2.0),
    "sin": fnp.sin,
    "tan": lambda x: fnp.tan(0.3 * x),
    "tanh": fnp.tanh,
    "sigmoid": fgrad.nn.sigmoid,
    "erf": lambda x: lax.erf(x),
    "power": lambda x: (x + 2.0) ** 2.5,
    "integer power": lambda x: x**5,
    "square": fnp.square,
    "sqrt": lambda x: fnp.sqrt(x + 2.0),
    "divide": lambda x: (x + 1.0) / (x * x + 2.0),
    "arctan": fnp.arctan,
    "maximum": lambda x: fnp.maximum(x, 0.1) * x,
    "where": lambda x: fnp.where(x > 0.1, x**3, x),
    "sum": lambda x: fnp.sum(x * fnp.sin(x)),
    "prod": lambda x: fnp.prod(x),
    "cumsum": lambda x: fnp.cumsum(x**2),
    "cumprod": lambda x: fnp.cumprod(x + 1.0),
    "max": lambda x: fnp.max(x) ** 2,
    "sort": lambda x: fnp.sort(x)[0] * x,
    "logsumexp": lambda x: fgrad.nn.logsumexp(x),
    "softmax": lambda x: fgrad.nn.softmax(x),
    "products": lambda x: (A @ x) * (x @ A),
    "outer": lambda x: fnp.outer(x, x).T,
    "index": lambda x: x[::-1] * x[fnp.array([0, 0])],
    "update": lambda x: fnp.asarray(x).at[0].multiply(x[1]),
    "solve": lambda x: fnp.linalg.solve(A + fnp.outer(x, x), x),
    "inv": lambda x: fnp.linalg.inv(A + fnp.outer(x, x)),
    "cholesky": lambda x: fnp.linalg.cholesky(fnp.eye(2) + fnp.outer(x, x)),
    "eigh": lambda x: fnp.linalg.eigh(fnp.diag(x + fnp.array([1.0, 5.0])) + 0.1)[0],
    "det": lambda x: fnp.linalg.det(A + fnp.outer(x, x)),
    "jit": fgrad.jit(lambda x: fnp.sin(x) * x),
    "checkpoint": fgrad.checkpoint(lambda x: fnp.sin(x) * x),
    "grad": lambda x: fgrad.grad(lambda y: fnp.sum(fnp.sin(y) * y))(x),
    "vmap": lambda x: fgrad.vmap(lambda y: fnp.sin(y) * x)(x),
    "cond": lambda x: lax.cond(x[0] > 0.0, lambda x: x**2, lambda x: x, x),
    "scan": lambda x: lax.scan(lambda c, r: (c * fnp.sin(c) + r, c), x, fnp.arange(3.0))[1],
    "reverse scan": lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x, reverse=True)[1],
    "while": lambda x: lax.while_loop(lambda c: c[0] < 5.0, lambda c: c * (1.5 + x), x + 1.0),
    "python": lambda x: x**2 if x[0] > 0 else x,
    "constant": lambda x: fnp.ones(3),
    "tree": lambda x: {"a": x, "b": (fnp.sin(x), x[0])},
}

X = np.array([0.4, 0.7])
SERIES = [np.array([1.0, -0.5]), np.array([0.3, 0.2]), np.array([0.0, 0.7]), np.array([-0.4, 0.1])]


def curve(t: Any) -> Any:
    return X + sum(t**k / math.factorial(k) * term for k, term in enumerate(SERIES, 1))


def by_nesting(f: Callable[[Any], Any], order: int) -> list[Any]:
    """Derivatives of ``f(curve(t))`` at 0 by forward mode within forward mode."""

    def derivative(g: Any) -> Any:
        return lambda t: fgrad.jvp(g, (t,), (1.0,))[1]

    results, g = [], lambda t: f(curve(t))
    for _ in range(order):
        g = derivative(g)
        results.append(g(0.0))
    return results


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_series_agrees_with_nested_derivatives(name: str) -> None:
    f = FUNCTIONS[name]
    value, terms = jet(f, (X,), (SERIES,))
    for got, want in zip(fgrad.tree.leaves(value), fgrad.tree.leaves(f(X)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
    wanted = by_nesting(f, 4)
    structure = fgrad.tree.structure(f(X))
    for k in range(4):
        picked = [leaf[k] for leaf in structure.flatten_up_to(terms)]
        for got, want in zip(picked, fgrad.tree.leaves(wanted[k]), strict=True):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scaled", [True, False])
def test_agreement_with_jax(scaled: bool) -> None:
    def program(xp: Any) -> Any:
        return lambda x, y: xp.tanh(x @ y) * xp.exp(-xp.sum(x, axis=1))

    primals = (A, X)
    series = ([A * 0.1, A * 0.2, -A], [X, 0.5 * X, 0.1 * X])
    value, terms = jet(program(fnp), primals, series, factorial_scaled=scaled)
    want, want_terms = jax_jet(program(jnp), primals, series, factorial_scaled=scaled)
    np.testing.assert_allclose(value, want, rtol=1e-14)
    for got, term in zip(terms, want_terms, strict=True):
        np.testing.assert_allclose(got, term, rtol=1e-12)


def test_high_orders_cost_little() -> None:
    """Thirty derivatives of a composition; by nesting they would cost 2**30 evaluations."""
    _, terms = jet(lambda x: fnp.exp(fnp.sin(x)), (0.0,), ([1.0] + [0.0] * 29,))
    # The numbers of the expansion of exp(sin x): OEIS A002017.
    expected = [1, 1, 0, -3, -8, -3, 56, 217, 64, -2951, -12672]
    np.testing.assert_allclose([float(t) for t in terms[:11]], expected, rtol=1e-9, atol=1e-9)
    assert len(terms) == 30


def test_under_other_transforms() -> None:
    def second(x: Any) -> Any:
        return jet(lambda x: fnp.sin(x) * x, (x,), ([1.0, 0.0],))[1][1]

    exact = lambda x: 2 * np.cos(x) - x * np.sin(x)  # noqa: E731
    np.testing.assert_allclose(fgrad.jit(second)(0.7), exact(0.7), rtol=1e-14)
    x = np.array([0.2, 0.7])
    np.testing.assert_allclose(fgrad.vmap(second)(x), exact(x), rtol=1e-14)
    third = -3 * np.sin(0.7) - 0.7 * np.cos(0.7)
    np.testing.assert_allclose(fgrad.grad(second)(0.7), third, rtol=1e-13)
    np.testing.assert_allclose(fgrad.jit(fgrad.grad(second))(0.7), third, rtol=1e-13)


def test_float32_stays_float32() -> None:
    _, terms = jet(lambda x: fnp.sin(x) / 3.0, (np.float32(0.5),), ([np.float32(1.0)] * 3,))
    assert {t.dtype for t in terms} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: jet(fnp.sin, (1.0, 2.0), ([1.0],)),
            errors.ArgumentError,
            r"2 primals and 1 series",
        ),
        (
            lambda: jet(fnp.add, (1.0, 2.0), ([1.0], [1.0, 0.0])),
            errors.ArgumentError,
            r"\[1, 2\] terms; give equally many",
        ),
        (
            lambda: jet(fnp.sin, (np.ones(2),), ([np.ones(3)],)),
            errors.ArgumentError,
            r"term 1 of argument 0 has shape \(3,\), the argument has \(2,\)",
        ),
        (
            lambda: fgrad.jit(
                lambda x: jet(
                    lambda x: lax.while_loop(lambda c: c < 2.0, lambda c: 2 * c, x), (x,), ([1.0],)
                )[1]
            )(1.0),
            errors.NonDifferentiableError,
            r"series of a while_loop needs to know",
        ),
    ],
)
def test_refusals(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
