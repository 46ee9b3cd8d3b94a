"""Functions built on loops: associative scans, implicit derivatives, transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.compare import differences
from support.gradients import close, near
from support.modules import fgrad, fnp, jax, jnp

import fgrad.tracing

lax = fgrad.lax
A = np.array([0.4, -0.7, 1.1])
W = np.array([[0.2, -0.5, 0.3], [0.7, 0.1, -0.4], [-0.3, 0.6, 0.5]])
XS = np.array([[0.5, -1.0, 0.25], [1.5, 0.75, -0.5], [-0.25, 1.0, 0.6], [0.1, -0.2, 0.3]])


@pytest.fixture(autouse=True)
def checked_programs() -> Any:
    before = fgrad.config.check_jaxprs
    fgrad.config.update("check_jaxprs", True)
    yield
    fgrad.config.update("check_jaxprs", before)


def agree(got: Any, want: Any) -> None:
    wrong = differences(got, want)
    assert not wrong, "\n".join(wrong)


# ---- functions built on these --------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(length: int, reverse: bool) -> None:
    rng = np.random.default_rng(length)
    a, b = rng.normal(size=(2, length, 3))

    def run(lib: Any, xp: Any) -> Any:
        def affine(left: Any, right: Any) -> Any:
            return {"a": left["a"] * right["a"], "b": left["b"] * right["a"] + right["b"]}

        def f(a: Any, b: Any) -> Any:
            return lib.lax.associative_scan(affine, {"a": a, "b": b}, reverse=reverse)

        def loss(a: Any, b: Any) -> Any:
            return sum(xp.sum(xp.sin(leaf)) for leaf in lib.tree_util.tree_leaves(f(a, b)))

        return f(a, b), lib.grad(loss, (0, 1))(a, b), lib.vmap(f, in_axes=1, out_axes=1)(a, b)

    agree(run(fgrad, fnp), run(jax, jnp))
    agree(fgrad.jit(lambda: run(fgrad, fnp))(), run(jax, jnp))


def test_associative_scan_along_other_axes_and_what_it_refuses() -> None:
    close(lax.associative_scan(fnp.add, XS, axis=-1), np.cumsum(XS, axis=-1))
    close(
        lax.associative_scan(fnp.maximum, XS, axis=1, reverse=True),
        np.maximum.accumulate(XS[:, ::-1], 1)[:, ::-1],
    )
    with pytest.raises(fgrad.errors.LoopLengthError, match="3 entries"):
        lax.associative_scan(lambda x, y: x, (np.ones(3), np.ones(4)))
    with pytest.raises(fgrad.errors.AxisError):
        lax.associative_scan(fnp.add, np.ones(3), axis=1)
    with pytest.raises(fgrad.errors.ShapeError, match="by elements"):
        lax.associative_scan(lambda x, y: x.sum(), np.ones(4))


def test_linear_transpose_of_loops_and_branches() -> None:
    def loop(x: Any) -> Any:
        return lax.scan(lambda c, x: (c @ W + x, 2.0 * c), x[0], x)

    cotangents = (A, XS)
    (found,) = fgrad.linear_transpose(loop, XS)(cotangents)
    (want,) = jax.jit(
        lambda ct: jax.linear_transpose(
            lambda x: jax.lax.scan(lambda c, x: (c @ W + x, 2.0 * c), x[0], x), XS
        )(ct)
    )(cotangents)
    close(found, np.asarray(want))
    for refused in (
        lambda x: lax.scan(lambda c, x: (c * x, None), x[0], x)[0],
        lambda x: lax.scan(lambda c, x: (c + x + 1.0, None), x[0], x)[0],
    ):
        with pytest.raises(fgrad.errors.NonLinearError, match="scan"):
            fgrad.linear_transpose(refused, XS)(A)


SYSTEM = W + 3.0 * np.eye(3)


def solved(lib: Any, xp: Any, a: Any, b: Any) -> Any:
    def solve(matvec: Any, rhs: Any) -> Any:
        return xp.linalg.solve(lib.jacobian(matvec)(rhs), rhs)

    return lib.lax.custom_linear_solve(lambda x: a @ x, b, solve, solve)


def square_roots(lib: Any, xp: Any, a: Any, b: Any) -> Any:
    def newton(f: Any, x: Any) -> Any:
        return lib.lax.fori_loop(0, 30, lambda i, x: x - f(x) / (2.0 * x), x)

    target = xp.exp(b) + a[0, 0]
    return lib.lax.custom_root(
        lambda x: x * x - target, xp.ones(3), newton, lambda g, y: y / g(xp.ones(3))
    )


@pytest.mark.parametrize("program", [solved, square_roots])
def test_implicit_derivatives_are_those_of_jax(program: Callable[..., Any]) -> None:
    def results(lib: Any, xp: Any) -> Any:
        def f(a: Any, b: Any) -> Any:
            return program(lib, xp, a, b)

        def loss(a: Any, b: Any) -> Any:
            return xp.sum(xp.sin(f(a, b)))

        both = lib.grad(loss, (0, 1))
        return {
            "value": f(SYSTEM, A),
            "jvp": lib.jvp(f, (SYSTEM, A), (W, A[::-1])),
            "grad": both(SYSTEM, A),
            "second": lib.jvp(both, (SYSTEM, A), (W, A[::-1]))[1],
            "hessian": lib.hessian(loss, 1)(SYSTEM, A),
            "vmap": lib.vmap(both, in_axes=(0, None))(xp.stack([SYSTEM, SYSTEM.T]), A),
            "grad of vmap": lib.grad(lambda b: xp.sum(lib.vmap(f, (None, 0))(SYSTEM, b)))(XS),
        }

    want = jax.jit(lambda: results(jax, jnp))()
    agree(results(fgrad, fnp), want)
    agree(fgrad.jit(lambda: results(fgrad, fnp))(), want)


def test_linear_solves_say_what_they_need() -> None:
    def one_way(b: Any) -> Any:
        return lax.custom_linear_solve(
            lambda x: SYSTEM @ x, b, lambda mv, r: np.linalg.inv(SYSTEM) @ r
        )

    near(SYSTEM @ one_way(A), A)
    with pytest.raises(fgrad.errors.NonDifferentiableError, match="transpose_solve"):
        fgrad.grad(lambda b: one_way(b).sum())(A)
    with pytest.raises(fgrad.errors.ArgumentError, match="float64\\[2\\]"):
        lax.custom_linear_solve(lambda x: x[:2], A, lambda mv, r: r)
    solution, steps = lax.custom_linear_solve(
        lambda x: 2.0 * x, A, lambda mv, r: (r / 2.0, 7), symmetric=True, has_aux=True
    )
    close(solution, A / 2.0)
    assert int(steps) == 7
