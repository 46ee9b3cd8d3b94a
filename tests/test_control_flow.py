"""Loops and branches: JAX's values, types and derivatives; what they keep; what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.compare import differences
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


# ---- programs that JAX runs too ------------------------------------------------------------------


def rnn(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = xp.tanh(h @ w + x)
        return h, h * a

    return lib.lax.scan(step, a, XS)


def reversed_rnn(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        new = xp.sin(h @ w) * x
        return new, (h, new)

    return lib.lax.scan(step, a, XS, reverse=True)


def without_rows(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    return lib.lax.scan(lambda c, _: (xp.sin(c @ w), c[0]), a, None, length=3)


def tree_carry(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        new = {
            "n": c["n"] + 1,
            "u": (c["u"][0] + a * c["n"], c["u"][1] * 0.5),
            "v": c["v"] @ w + x["b"],
        }
        return new, {"y": new["v"] * x["i"], "n": c["n"]}

    init = {"n": 0, "u": (xp.zeros(3), 2.0), "v": a}
    return lib.lax.scan(step, init, {"b": XS, "i": xp.arange(4)})


def overwritten_carries(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        first, second, third, kept = c
        return (x, first * w[0], xp.sin(second), kept), first * third

    return lib.lax.scan(step, (a, a * 2, a[::-1], w[1]), XS)


def swapped_carries(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    return lib.lax.scan(lambda c, x: ((c[1], c[0] * x), c[0]), (a, w[0]), XS)


def nested(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def outer(c: Any, x: Any) -> Any:
        def inner(d: Any, y: Any) -> Any:
            return xp.sin(d * y + xp.sum(c)), d

        d, ys = lib.lax.scan(inner, xp.sum(a * x), x)
        return c @ w + ys, d

    return lib.lax.scan(outer, a, XS)


def cond_in_scan(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = lib.lax.cond(xp.sum(c) > 0.0, lambda c: xp.sin(c @ w), lambda c: c * x + a, c)
        return c, xp.sum(c)

    return lib.lax.scan(step, a, XS)


def scan_in_cond(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def yes(x: Any) -> Any:
        return lib.lax.scan(lambda c, y: (xp.cos(c * y) @ w, c), x, XS)

    return lib.lax.cond(a[0] > 0.1, yes, lambda x: (x * 3.0, XS * x), a)


def three_branches(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    index = (a[1] > 0) * 1 + (w[0, 0] > 0) * 1
    branches = [lambda x, y: x @ y, lambda x, y: xp.sin(x) * y[0], lambda x, y: x * 2.0]
    return lib.lax.switch(index, branches, a, w)


def branch_without_derivative(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    return lib.lax.cond(xp.sum(a) > 100.0, lambda: xp.ones(3), lambda: a @ w)


def power(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    return lib.lax.fori_loop(1, 4, lambda i, c: c * a + i * w[0], w[1])


def checkpointed(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    step = lib.checkpoint(lambda c, x: (xp.sin(xp.sin(c @ w) * a) + x, c))
    return lib.lax.scan(step, a, XS)


def jitted_step(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    step = lib.jit(lambda c, x: (xp.sin(c @ w) + x, c * a))
    return lib.lax.scan(step, a, XS)


def mapped_rows(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    return lib.lax.map(lambda x: xp.sin(x @ w) * a, XS)


def mapped_in_batches(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    return lib.lax.map(lambda x: {"y": xp.sin(x @ w) * a, "s": xp.sum(x)}, XS, batch_size=3)


def vmapped_scan(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def run(c: Any, row: Any) -> Any:
        return lib.lax.scan(lambda c, x: (xp.sin(c * x) + a, c), c, row)

    return lib.vmap(run, in_axes=(0, None))(w, XS)


def derivative_in_body(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def loss(c: Any, x: Any) -> Any:
        return xp.sum(xp.sin(c @ w) * x)

    def step(c: Any, x: Any) -> Any:
        value, slope = lib.value_and_grad(loss)(c, x)
        return c - 0.1 * slope, value

    return lib.lax.scan(step, a, XS)


PROGRAMS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        rnn,
        reversed_rnn,
        without_rows,
        tree_carry,
        overwritten_carries,
        swapped_carries,
        nested,
        cond_in_scan,
        scan_in_cond,
        three_branches,
        branch_without_derivative,
        power,
        checkpointed,
        jitted_step,
        mapped_rows,
        mapped_in_batches,
        vmapped_scan,
        derivative_in_body,
    )
}


def steps_of_while(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    def goes_on(c: Any) -> Any:
        return (c[0] < 5) & (xp.sum(c[1]) < 3.0)

    return lib.lax.while_loop(goes_on, lambda c: (c[0] + 1, xp.cos(c[1]) + 0.5 * c[1] @ w), (0, a))


def while_with_constant_bound(lib: Any, xp: Any, a: Any, w: Any) -> Any:
    bound = 2.0 + w[0, 0]
    return lib.lax.while_loop(
        lambda c: c[0] < bound, lambda c: (c[0] + 1.0, c[1] * a + c[0]), (0.0, a)
    )


FORWARD_ONLY = {f.__name__: f for f in (steps_of_while, while_with_constant_bound)}


def loss_of(lib: Any, xp: Any, program: Any) -> Callable[..., Any]:
    def loss(a: Any, w: Any) -> Any:
        leaves = lib.tree_util.tree_leaves(program(lib, xp, a, w))
        return sum(xp.sum(xp.sin(leaf * 0.5 + 0.1)) for leaf in leaves)

    return loss


def forward_results(lib: Any, xp: Any, program: Any) -> Callable[..., Any]:
    def results(a: Any, w: Any) -> Any:
        loss = loss_of(lib, xp, program)
        moves = (a[::-1], 0.5 * w)

        def slope(a: Any, w: Any) -> Any:
            return lib.jvp(loss, (a, w), moves)[1]

        whole = {axes: lib.vmap(lambda a, w: program(lib, xp, a, w), in_axes=axes) for axes in AXES}
        batches = {0: xp.stack([a, -a]), 1: xp.stack([w, w.T * 0.9])}
        return {
            "value": program(lib, xp, a, w),
            "jvp": lib.jvp(loss, (a, w), moves),
            "second": lib.jvp(slope, (a, w), moves)[1],
            "vmap": [
                f(*[batches[n] if axis is not None else (a, w)[n] for n, axis in enumerate(axes)])
                for axes, f in whole.items()
            ],
            "jvp of vmap": lib.jvp(
                lib.vmap(loss, in_axes=(0, None)), (batches[0], w), (batches[0] * 0.5, w)
            ),
        }

    return results


AXES = ((0, None), (None, 0), (0, 0))


#: JAX takes seconds to compile third derivatives: they are asked of some programs.
DEEP = {rnn, overwritten_carries, nested, cond_in_scan}


def reverse_results(lib: Any, xp: Any, program: Any) -> Callable[..., Any]:
    all_axes = AXES if program in DEEP else AXES[2:]

    def results(a: Any, w: Any) -> Any:
        loss = loss_of(lib, xp, program)
        moves = (a[::-1], 0.5 * w)
        both = lib.grad(loss, (0, 1))

        def bent(a: Any, w: Any) -> Any:
            return sum(xp.sum(xp.sin(g)) for g in both(a, w))

        batches = {0: xp.stack([a, -a]), 1: xp.stack([w, w.T * 0.9])}
        third = {"third": lib.jvp(lib.grad(bent), (a, w), moves)[1]} if program in DEEP else {}
        return third | {
            "grad": both(a, w),
            "forward over reverse": lib.jvp(both, (a, w), moves)[1],
            "reverse over reverse": lib.grad(bent, (0, 1))(a, w),
            "reverse over forward": lib.grad(lambda a, w: lib.jvp(loss, (a, w), moves)[1])(a, w),
            "vmap": [
                lib.vmap(both, in_axes=axes)(
                    *[batches[n] if axis is not None else (a, w)[n] for n, axis in enumerate(axes)]
                )
                for axes in all_axes
            ],
            "grad of vmap": lib.grad(lambda a: xp.sum(lib.vmap(lambda a: loss(a, w))(a)))(
                batches[0]
            ),
        }

    return results


def agree(got: Any, want: Any) -> None:
    wrong = differences(got, want)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [*PROGRAMS, *FORWARD_ONLY])
def test_values_tangents_and_batches_are_those_of_jax(name: str) -> None:
    program = {**PROGRAMS, **FORWARD_ONLY}[name]
    want = jax.jit(forward_results(jax, jnp, program))(A, W)
    results = forward_results(fgrad, fnp, program)
    agree(results(A, W), want)
    agree(fgrad.jit(results)(A, W), want)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_every_order_are_those_of_jax(name: str) -> None:
    want = jax.jit(reverse_results(jax, jnp, PROGRAMS[name]))(A, W)
    results = reverse_results(fgrad, fnp, PROGRAMS[name])
    agree(results(A, W), want)
    agree(fgrad.jit(results)(A, W), want)


@pytest.mark.parametrize("name", PROGRAMS)
def test_linearize_agrees_with_jvp(name: str) -> None:
    loss = loss_of(fgrad, fnp, PROGRAMS[name])
    for f in (loss, fgrad.jit(loss), fgrad.grad(loss), fgrad.jit(fgrad.grad(loss))):
        value, push = fgrad.linearize(f, A, W)
        expected = fgrad.jvp(f, (A, W), (A[::-1], W.T))
        agree((value, push(A[::-1], W.T)), expected)
