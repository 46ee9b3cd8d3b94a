"""Loops and branches where libraries of this kind are known to go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.gradients import close
from support.modules import beyond_jax, error_class, fgrad, fnp

lax = fgrad.lax


def test_a_mapped_cond_keeps_the_bad_branch_out() -> None:
    def f(x: Any) -> Any:
        return lax.cond(x > 2, lambda v: fnp.sqrt(v), lambda v: 2.0 * v, x)

    xs = np.array([0.0, 4.0, -1.0])
    want = np.array([2.0, 0.25, 2.0])
    close(fgrad.vmap(fgrad.grad(f))(xs), want)
    close(fgrad.grad(lambda v: fnp.sum(fgrad.vmap(f)(v)))(xs), want)
    close(fgrad.jit(fgrad.vmap(fgrad.grad(f)))(xs), want)


def test_a_scan_of_float32_stays_float32() -> None:
    def f(x: Any) -> Any:
        return lax.scan(lambda c, v: (c * 0.9 + v, None), 0.0, x)[0]

    x = np.array([0.7, 1.2, 2.1], np.float32)
    value, slope = fgrad.value_and_grad(f)(x)
    results = [value, slope, fgrad.jit(f)(x), fgrad.jvp(f, (x,), (x,))[1], fgrad.hessian(f)(x)]
    results.append(fgrad.vmap(f)(np.stack([x, x])))
    assert {str(np.asarray(r).dtype) for r in results} == {"float32"}


def test_a_carry_of_another_shape_is_refused_with_both_shapes() -> None:
    with pytest.raises(error_class("CarryTypeError", TypeError)) as caught:
        lax.scan(lambda c, _: (fnp.stack([c, c]), None), fnp.zeros(3), None, length=2)
    for word in ("carry", "[3]", "[2"):
        assert word in str(caught.value)
    with pytest.raises(error_class("CarryTypeError", TypeError), match="q"):
        lax.scan(
            lambda c, _: ({"p": c["p"], "q": c["p"]}, None), {"p": fnp.zeros(())}, None, length=2
        )


@beyond_jax("it traces branches that are not taken as often as those that are")
def test_nested_branches_are_traced_a_linear_number_of_times() -> None:
    calls = [0]

    def f(x: Any, depth: int) -> Any:
        calls[0] += 1
        if depth == 0:
            return fnp.sin(x)
        return lax.cond(fnp.asarray(True), lambda v: f(v, depth - 1), lambda v: f(v, depth - 1), x)

    close(fgrad.vmap(lambda x: f(x, 14))(np.array([0.5])), np.sin([0.5]))
    assert calls[0] <= 200


def test_loops_batched_by_two_different_maps() -> None:
    def count(limit: Any, step: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, c[1] + step), (0, 0.0))[
            1
        ]

    limits, steps = np.array([1, 4, 2]), np.array([10.0, 20.0, 30.0])
    both = fgrad.vmap(fgrad.vmap(count, (None, 0)), (0, None))
    flip = fgrad.vmap(fgrad.vmap(count, (0, None)), (None, 0))
    close(both(limits, steps), limits[:, None] * steps[None, :])
    close(flip(limits, steps), (limits[:, None] * steps[None, :]).T)
    close(fgrad.jit(both)(limits, steps), limits[:, None] * steps[None, :])


@pytest.mark.parametrize("wrap", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
def test_a_scan_whose_carry_is_only_partly_differentiable(wrap: Callable[..., Any]) -> None:
    def loss(p: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = {"i": c["i"] + 1, "u": c["u"] + c["v"] * x, "v": c["v"] * p}
            return c, c["u"]

        c, ys = lax.scan(step, {"i": 0, "u": fnp.zeros(()), "v": p}, np.array([1.0, 2.0, 3.0]))
        return c["u"] + 0.0 * ys[0]

    close(wrap(loss)(2.0), 2.0 + 2 * 2.0**2 + 3 * 2.0**3)
    close(fgrad.grad(wrap(loss))(2.0), 45.0)
    close(fgrad.jacfwd(wrap(loss))(2.0), 45.0)
    close(fgrad.grad(fgrad.grad(wrap(loss)))(2.0), 40.0)
    close(fgrad.vmap(fgrad.grad(wrap(loss)))(np.array([2.0, 0.0])), np.array([45.0, 1.0]))


def doubled(x: Any) -> Any:
    return lax.while_loop(lambda c: c < 50.0, lambda c: c * 2.0, x)


def test_reverse_mode_of_a_loop_of_unknown_length_is_refused_in_words() -> None:
    for slope in (fgrad.grad(doubled), fgrad.jit(fgrad.grad(doubled))):
        with pytest.raises(error_class("UnboundedLoopError", ValueError)) as caught:
            slope(3.0)
        assert "while" in str(caught.value).lower()
        assert "reverse" in str(caught.value).lower()
    close(fgrad.jvp(doubled, (3.0,), (1.0,))[1], 32.0)
    close(fgrad.grad(lambda x: lax.fori_loop(0, 4, lambda i, c: c * x, 1.0))(3.0), 108.0)


@pytest.mark.parametrize(
    "run",
    [
        lambda: lax.cond(True, lambda x: x, lambda x: fnp.stack([x, x]), 1.0),
        lambda: lax.cond(True, lambda x: x, lambda x: (x, x), 1.0),
        lambda: lax.cond(True, lambda x: x.astype("float32"), lambda x: x, fnp.asarray(1.0)),
        lambda: lax.cond(True, lambda x: x.astype("float32"), lambda x: x, np.float64(1.0)),
        lambda: lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, fnp.stack([c[1], c[1]])), (0, 1.0)
        ),
        lambda: lax.while_loop(lambda c: c < 3, lambda c: (c, c), 0),
        lambda: lax.while_loop(lambda c: fnp.stack([c, c]) < 3, lambda c: c + 1, 0),
        lambda: lax.scan(lambda c, x: (c, x), 0.0, (np.ones(3), np.ones(4))),
        lambda: lax.scan(lambda c, x: (c, x), 0.0, np.ones(3), length=5),
        lambda: lax.scan(lambda c, x: (fnp.asarray(c, "float32"), x), fnp.zeros(()), np.ones(3)),
    ],
)
def test_branches_and_loop_bodies_that_disagree_are_refused(run: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        run()
    assert len(str(caught.value)) > 20
    assert "test_traps_control_flow.py" in str(caught.value)
