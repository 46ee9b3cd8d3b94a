"""Scans that compute steps again in reverse mode: what they keep, and how often each step runs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.gradients import close

import fgrad
import fgrad.numpy as fnp
from fgrad import lax
from fgrad.compiler import compiled
from fgrad.ir.jaxpr import sub_jaxprs

rng = np.random.default_rng(0)
W = rng.standard_normal((8, 8)) / 4.0
WAYS = (None, "steps", "halving")


def loss(way: str | None, rows: int = 4, reverse: bool = False) -> Callable[..., Any]:
    def f(w: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, count = carry
            h = fnp.tanh(fnp.sin(h @ w) + fnp.cos(x) * fnp.exp(-h * h))
            return (h, count + 1), fnp.sum(h * x)

        start = (fnp.ones((rows, 8)), 0)
        (h, count), ys = lax.scan(step, start, xs, reverse=reverse, recompute=way)
        return fnp.sum(h) + fnp.sum(ys * ys) + 0.0 * count

    return f


def of_jax(w: Any, xs: Any, reverse: bool) -> Any:
    def f(w: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = jnp.tanh(jnp.sin(h @ w) + jnp.cos(x) * jnp.exp(-h * h))
            return h, jnp.sum(h * x)

        h, ys = jax.lax.scan(step, jnp.ones((4, 8)), xs, reverse=reverse)
        return jnp.sum(h) + jnp.sum(ys * ys)

    return jax.value_and_grad(f, (0, 1))(w, xs)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [1, 8, 9, 45])
def test_each_way_computes_the_same(way: str | None, reverse: bool, steps: int) -> None:
    xs = rng.standard_normal((steps, 4, 8))
    f = fgrad.value_and_grad(loss(way, reverse=reverse), (0, 1))
    want = of_jax(W, xs, reverse)
    for run in (f, fgrad.jit(f)):
        for got, expected in zip(
            fgrad.tree.leaves(run(W, xs)), jax.tree_util.tree_leaves(want), strict=True
        ):
            close(got, expected)


@pytest.mark.parametrize("way", ["steps", "halving"])
def test_other_derivatives_and_trees(way: str) -> None:
    def f(x: Any, way: str | None = way) -> Any:
        rows = {"a": fnp.linspace(0.0, 1.0, 19), "n": fnp.arange(19)}

        def step(c: Any, row: Any) -> Any:
            return fnp.sin(c * row["a"]) + x, {"c": c, "n": row["n"] * 2}

        return lax.scan(step, x, rows, recompute=way)

    def plain(x: Any) -> Any:
        return f(x, None)

    x = np.float64(0.7)
    for transform in (
        fgrad.jit,
        fgrad.jacfwd,
        lambda f: fgrad.jit(fgrad.grad(lambda x: f(x)[0])),
        lambda f: fgrad.grad(fgrad.grad(lambda x: f(x)[0])),
        lambda f: lambda x: fgrad.vmap(f)(fnp.stack([x, 2.0 * x])),
    ):
        for got, want in zip(
            fgrad.tree.leaves(transform(f)(x)), fgrad.tree.leaves(transform(plain)(x)), strict=True
        ):
            if want.dtype.kind == "V":
                assert got.dtype == want.dtype
            else:
                close(got, want)


def executed(f: Callable[..., Any], *args: Any) -> dict[str, int]:
    counts: dict[str, int] = {}

    def count(jaxpr: Any, times: int) -> None:
        for eqn in jaxpr.eqns:
            counts[eqn.primitive.name] = counts.get(eqn.primitive.name, 0) + times
            for body in sub_jaxprs(eqn.primitive):
                count(body, times * getattr(eqn.primitive, "length", 1))

    count(compiled(fgrad.jit(f).lower(*args).jaxpr).simplified, 1)
    return counts


def test_how_often_each_step_runs() -> None:
    steps = 64
    xs = rng.standard_normal((steps, 512, 8))
    runs = {way: executed(fgrad.grad(loss(way, 512)), W, xs)["exp"] / steps for way in WAYS}
    assert runs[None] == 1
    assert runs["steps"] == 2
    # Three halvings lead to blocks of eight: as many runs, the first, and that of the checkpoint around.
    assert 3 <= runs["halving"] <= 5


def peak(way: str | None, steps: int) -> int:
    xs = fnp.asarray(rng.standard_normal((steps, 512, 8)))
    f = fgrad.jit(fgrad.grad(loss(way, 512)))
    f(W, xs)
    tracemalloc.start()
    try:
        f(W, xs)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_is_kept() -> None:
    row = 512 * 8 * 8
    few, many = 32, 256
    growth = {way: (peak(way, many) - peak(way, few)) / row for way in WAYS}
    # In rows of a carry: all that the derivatives read, the carries, and two for each halving.
    assert growth[None] > 4 * (many - few)
    assert growth["steps"] < 1.5 * (many - few)
    assert growth["halving"] < 30


def test_what_the_guide_says_of_a_thousand_steps() -> None:
    def long_loss(way: str | None) -> Callable[..., Any]:
        def f(w: Any, xs: Any) -> Any:
            start = fnp.ones((1024, 8))
            step = lambda h, x: (fnp.tanh(h @ w + x), None)  # noqa: E731
            return lax.scan(step, start, xs, recompute=way)[0].sum()

        return fgrad.grad(f)

    xs, carry = np.ones((1000, 1)), 1024 * 8 * 8
    took = {}
    for way in (None, "halving"):
        f = fgrad.jit(long_loss(way))
        f(W, xs)
        tracemalloc.start()
        try:
            f(W, xs)
            took[way] = tracemalloc.get_traced_memory()[1] / carry
        finally:
            tracemalloc.stop()
    runs = executed(long_loss("halving"), W, xs)["tanh"] / 1000
    assert round(runs) == 7
    assert took["halving"] < 50
    assert 1900 < took[None] < 2100


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(fgrad.errors.ArgumentError, match="recompute is 'all'"):
        lax.scan(lambda c, x: (c, x), 0.0, np.ones(3), recompute="all")
