"""Where rules of users are known to go wrong: shapes after broadcasts, None for zero, closures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.gradients import close
from support.modules import beyond_jax, fgrad, fnp


def test_a_rule_that_broadcasts_still_gives_the_shape_of_the_operand() -> None:
    w = np.array([1.0, 2.0, 4.0])

    @fgrad.custom_jvp
    def f(x: Any) -> Any:
        return w * x

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return w * primals[0], w * tangents[0]

    def loss(x: Any) -> Any:
        return fnp.sum(f(x))

    close(fgrad.grad(loss)(1.5), 7.0)
    close(fgrad.grad(loss)(np.array(1.5)), 7.0)
    close(fgrad.vmap(fgrad.grad(loss))(np.zeros(2)), np.full(2, 7.0))
    close(fgrad.grad(fgrad.jit(loss))(1.5), 7.0)


@pytest.mark.parametrize("wrap", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
def test_a_tree_of_cotangents_with_none_for_zero(wrap: Any) -> None:
    @fgrad.custom_vjp
    def f(p: Any, x: Any, n: Any) -> Any:
        return p["w"] * x ** n[0] + p["b"]

    f.defvjp(
        lambda p, x, n: (f(p, x, n), (p, x, n)),
        lambda residuals, ct: ({"w": 5.0 * ct, "b": 7.0 * ct}, None, None),
    )
    p, n = {"w": 2.0, "b": 1.0}, (np.array(2),)
    in_p, in_x = fgrad.grad(wrap(f), (0, 1))(p, 3.0, n)
    close(in_p["w"], 5.0)
    close(in_p["b"], 7.0)
    close(in_x, 0.0)
    rows = wrap(fgrad.vmap(fgrad.grad(f), (None, 0, None)))(p, np.arange(3.0), n)
    close(rows["w"], np.full(3, 5.0))
    close(rows["b"], np.full(3, 7.0))
    f.defvjp(
        lambda p, x, n: (f(p, x, n), None),
        lambda residuals, ct: ({"w": None, "b": 7.0 * ct}, ct, None),
    )
    in_p = fgrad.grad(wrap(f))(p, 3.0, n)
    close(in_p["w"], 0.0)
    close(in_p["b"], 7.0)


def scaled(s: Any) -> Any:
    """A function whose rule, ten times its derivative, closes over a value."""

    @fgrad.custom_jvp
    def f(x: Any) -> Any:
        return x * s

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return f(primals[0]), 10.0 * s * tangents[0]

    return f


def test_a_rule_that_closes_over_a_mapped_or_staged_value() -> None:
    s = np.arange(3.0)
    close(fgrad.vmap(lambda k: scaled(k)(2.0))(s), 2.0 * s)
    close(fgrad.jit(lambda k: scaled(k)(2.0))(3.0), 6.0)
    close(fgrad.vmap(lambda k: fgrad.grad(scaled(k))(2.0))(s), 10.0 * s)
    close(fgrad.jit(lambda k: fgrad.grad(scaled(k))(2.0))(3.0), 30.0)


@beyond_jax("JAX asks for the rule after the trace of the staged value has ended")
def test_a_rule_asked_for_after_the_trace_of_a_staged_value() -> None:
    close(fgrad.grad(fgrad.jit(lambda x, k: scaled(k)(x)))(2.0, 3.0), 30.0)
    close(
        fgrad.grad(lambda x: fnp.sum(fgrad.vmap(lambda k: scaled(k)(x))(np.arange(3.0))))(1.0), 30.0
    )
