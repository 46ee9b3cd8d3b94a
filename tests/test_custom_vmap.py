"""Batching rules of users, alone and under derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.compare import differences
from support.modules import beyond_jax, error_class, fgrad, fnp, jax, jnp

CustomRuleError = error_class("CustomRuleError", TypeError)
X, Y = np.array([0.5, -1.0, 2.0]), np.float64(1.5)


def doubled(lib: Any, xp: Any, calls: list[Any]) -> Any:
    """A rule that gives twice what a loop would, so that it shows where it was left out."""

    @lib.custom_batching.custom_vmap
    def f(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    @f.def_vmap
    def rule(axis_size: int, in_batched: Any, x: Any, y: Any) -> Any:
        calls.append((axis_size, tuple(in_batched)))
        x, y = (
            v if batched else xp.broadcast_to(v, (axis_size, *v.shape))
            for v, batched in zip((x, y), in_batched, strict=True)
        )
        return 2.0 * xp.sin(x) * y, True

    return f


def plainly_doubled(lib: Any, xp: Any, calls: list[Any]) -> Any:
    return lambda x, y: 2.0 * xp.sin(x) * y


Way = Callable[[Any, Any, Any], Any]
FORWARD: dict[str, Way] = {
    "vmap": lambda lib, xp, f: lib.vmap(f, (0, None)),
    "vmap of the second": lambda lib, xp, f: lambda x, y: lib.vmap(f, (None, 0))(y, x),
    "vmap of both": lambda lib, xp, f: lambda x, y: lib.vmap(f)(x, x),
    "jit of vmap": lambda lib, xp, f: lib.jit(lib.vmap(f, (0, None))),
    "vmap of jit": lambda lib, xp, f: lib.vmap(lib.jit(f), (0, None)),
    "vmap of vmap": lambda lib, xp, f: (
        lambda x, y: lib.vmap(lib.vmap(f, (None, 0)), (0, None))(x, x)
    ),
    "vmap of jvp": lambda lib, xp, f: (
        lambda x, y: lib.vmap(lambda x: lib.jvp(f, (x, y), (x, y)))(x)
    ),
    "jvp of vmap": lambda lib, xp, f: (
        lambda x, y: lib.jvp(lib.vmap(f, (0, None)), (x, y), (x, 2.0 * y))
    ),
    "vmap of jvp of jvp": lambda lib, xp, f: (
        lambda x, y: lib.vmap(
            lambda x: lib.jvp(lambda x: lib.jvp(f, (x, y), (x, y))[1], (x,), (x * x,))
        )(x)
    ),
    "grad of vmap": lambda lib, xp, f: lib.grad(
        lambda x, y: xp.sum(lib.vmap(f, (0, None))(x, y)), (0, 1)
    ),
}
REVERSE: dict[str, Way] = {
    "vmap of grad": lambda lib, xp, f: lib.vmap(lib.grad(f, (0, 1)), (0, None)),
    "vmap of jit of grad": lambda lib, xp, f: lib.vmap(lib.jit(lib.grad(f, (0, 1))), (0, None)),
    "vmap of grad of jit": lambda lib, xp, f: lib.vmap(lib.grad(lib.jit(f), (0, 1)), (0, None)),
    "jit of vmap of grad": lambda lib, xp, f: lib.jit(lib.vmap(lib.grad(f, (0, 1)), (0, None))),
    "vmap of grad of grad": lambda lib, xp, f: lib.vmap(lib.grad(lib.grad(f), (0, 1)), (0, None)),
    "vmap of third": lambda lib, xp, f: lib.vmap(lib.grad(lib.grad(lib.grad(f), 1), 0), (0, None)),
    "grad of vmap of grad": lambda lib, xp, f: lib.grad(
        lambda x, y: xp.sum(lib.vmap(lib.grad(f), (0, None))(x, y)), (0, 1)
    ),
    "jvp of vmap of grad": lambda lib, xp, f: (
        lambda x, y: lib.jvp(lib.vmap(lib.grad(f), (0, None)), (x, y), (x, y))
    ),
    "vmap of checkpoint": lambda lib, xp, f: lib.vmap(lib.grad(lib.checkpoint(f)), (0, None)),
    "grad of jit of vmap": lambda lib, xp, f: lib.grad(
        lib.jit(lambda x, y: xp.sum(lib.vmap(f, (0, None))(x, y) ** 2)), (0, 1)
    ),
}


@pytest.mark.parametrize("way", FORWARD)
def test_the_rule_is_what_a_batch_follows(way: str) -> None:
    calls: list[Any] = []
    got = FORWARD[way](fgrad, fnp, doubled(fgrad, fnp, calls))(X, Y)
    assert calls
    want = FORWARD[way](jax, jnp, doubled(jax, jnp, []))(jnp.asarray(X), jnp.asarray(Y))
    assert not differences(got, want)
    plain = FORWARD[way](jax, jnp, plainly_doubled(jax, jnp, []))(jnp.asarray(X), jnp.asarray(Y))
    assert not differences(got, plain)


@beyond_jax("JAX has no reverse mode of custom_vmap")
@pytest.mark.parametrize("way", REVERSE)
def test_reverse_mode_of_a_batch_follows_the_rule(way: str) -> None:
    calls: list[Any] = []
    got = REVERSE[way](fgrad, fnp, doubled(fgrad, fnp, calls))(X, Y)
    assert calls
    want = REVERSE[way](jax, jnp, plainly_doubled(jax, jnp, []))(jnp.asarray(X), jnp.asarray(Y))
    assert not differences(got, want)


def test_without_a_batch_the_rule_does_not_run() -> None:
    calls: list[Any] = []
    f = doubled(fgrad, fnp, calls)
    assert float(f(0.5, 2.0)) == pytest.approx(2.0 * np.sin(0.5))
    assert float(fgrad.jit(f)(0.5, 2.0)) == pytest.approx(2.0 * np.sin(0.5))
    assert float(fgrad.grad(f)(0.5, 2.0)) == pytest.approx(2.0 * np.cos(0.5))
    assert float(fgrad.jit(fgrad.grad(f))(0.5, 2.0)) == pytest.approx(2.0 * np.cos(0.5))
    np.testing.assert_allclose(fgrad.vmap(lambda x: x + f(0.5, 2.0))(X), X + 2.0 * np.sin(0.5))
    assert not calls


def test_trees_and_results_that_are_not_batched() -> None:
    for lib, xp in ((fgrad, fnp), (jax, jnp)):
        seen: list[Any] = []

        @lib.custom_batching.custom_vmap
        def f(p: Any, x: Any) -> Any:
            return {"y": p["w"] * x, "w": (p["w"],)}

        @f.def_vmap
        def rule(axis_size: int, in_batched: Any, p: Any, x: Any) -> Any:
            seen.append((axis_size, in_batched))  # noqa: B023
            return {"y": 10.0 * p["w"] * x, "w": (p["w"],)}, {"y": True, "w": (False,)}

        out = lib.vmap(f, (None, 0), {"y": 0, "w": None})({"w": xp.asarray(2.0)}, xp.arange(3.0))
        np.testing.assert_allclose(out["y"], 20.0 * np.arange(3.0))
        assert float(out["w"][0]) == 2.0
        assert seen == [(3, [{"w": False}, True])]


@pytest.mark.parametrize(("lib", "xp"), [(fgrad, fnp), (jax, jnp)], ids=["fgrad", "jax"])
def test_sequential_vmap_runs_one_example_after_the_other(lib: Any, xp: Any) -> None:
    shapes: list[Any] = []

    @lib.custom_batching.sequential_vmap
    def g(x: Any, y: Any) -> Any:
        shapes.append(x.shape)
        return {"s": xp.sum(x) * y, "y": y}

    rows = xp.arange(6.0).reshape(2, 3)
    out = lib.vmap(g, (1, None))(rows, xp.asarray(2.0))
    np.testing.assert_allclose(out["s"], [6.0, 10.0, 14.0])
    np.testing.assert_allclose(out["y"], [2.0, 2.0, 2.0])
    assert set(shapes) == {(2,)}

    def loss(rows: Any) -> Any:
        return xp.sum(lib.vmap(g, (1, None))(rows, xp.asarray(2.0))["s"] ** 2)

    want = 8.0 * np.sum(np.arange(6.0).reshape(2, 3), axis=0) * np.ones((2, 3))
    if lib is fgrad:
        np.testing.assert_allclose(lib.grad(loss)(rows), want)
        np.testing.assert_allclose(lib.jit(lib.grad(loss))(rows), want)


def test_a_rule_may_close_over_outer_values() -> None:
    def total(s: Any, x: Any) -> Any:
        @fgrad.custom_batching.custom_vmap
        def f(x: Any) -> Any:
            return s * x

        f.def_vmap(lambda axis_size, in_batched, x: (3.0 * s * x, True))
        return fnp.sum(fgrad.vmap(f)(x) ** 2)

    want = 18.0 * 2.0 * np.sum(X**2)
    assert float(fgrad.grad(total)(2.0, X)) == pytest.approx(want)
    assert float(fgrad.grad(fgrad.jit(total))(2.0, X)) == pytest.approx(want)
    np.testing.assert_allclose(fgrad.grad(total, 1)(2.0, X), 2 * 36.0 * X)
    np.testing.assert_allclose(fgrad.jit(fgrad.grad(total, 1))(2.0, X), 2 * 36.0 * X)


# ---- errors --------------------------------------------------------------------------------------------


def test_a_function_without_a_batching_rule() -> None:
    @fgrad.custom_batching.custom_vmap
    def lonely(x: Any) -> Any:
        return x

    with pytest.raises(
        AttributeError, match=r"lonely \(test_custom_vmap.py:\d+\) has no rule.*def_vmap"
    ):
        lonely(1.0)


FAULTS: dict[str, tuple[Callable[..., Any], str]] = {
    "no pair": (lambda n, b, x: x, r"returned an? .*[Aa]rray.*, expected a pair"),
    "no marks": (lambda n, b, x: (x, 1.0), "returned marks 1.0, expected True or False"),
    "structure": (lambda n, b, x: (x, (True,)), r"marks \(True,\).*structure \* of the result"),
    "too short": (lambda n, b, x: (x[0], True), r"its shape \(\) does not begin with .* 3"),
    "another size": (lambda n, b, x: (x[:2], True), r"its shape \(2,\) does not begin with .* 3"),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_batching_rule_may_not_return(fault: str, jitted: bool) -> None:
    rule, words = FAULTS[fault]
    f = fgrad.custom_batching.custom_vmap(lambda x: x)
    f.def_vmap(rule)
    g = fgrad.jit(f) if jitted else f
    with pytest.raises(CustomRuleError, match=words) as caught:
        fgrad.vmap(g)(X)
    assert f"test_custom_vmap.py:{rule.__code__.co_firstlineno}" in str(caught.value)


def test_a_result_of_another_shape_or_dtype_than_the_function_gives() -> None:
    f = fgrad.custom_batching.custom_vmap(lambda x: x)
    f.def_vmap(lambda n, b, x: (fnp.stack([x, x], axis=1), True))
    with pytest.raises(CustomRuleError, match=r"of shape \(3, 2\).*expected shape \(3,\)"):
        fgrad.vmap(fgrad.jit(f))(X)
    f.def_vmap(lambda n, b, x: (x.astype("float32"), True))
    with pytest.raises(CustomRuleError, match=r"dtype float32, expected .*dtype float64"):
        fgrad.vmap(fgrad.jit(f))(X)


def test_mapping_what_a_rule_closes_over() -> None:
    def run(s: Any, x: Any) -> Any:
        f = fgrad.custom_batching.custom_vmap(lambda x: s * x)
        f.def_vmap(lambda n, b, x: (s * x, True))
        return f(x)

    with pytest.raises(
        fgrad.errors.ClosedOverValueError, match=r"closes over s .*being mapped too"
    ):
        fgrad.vmap(run)(X, X)
    np.testing.assert_allclose(fgrad.vmap(run, (0, None))(X, 2.0), 2.0 * X)
