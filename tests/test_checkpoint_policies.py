"""What a checkpointed function keeps, counted in the equations of its gradient."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.modules import error_class, fgrad, fnp, jax, jnp

W = np.linspace(-1.0, 1.0, 9).reshape(3, 3)
X = np.linspace(0.0, 1.0, 6).reshape(2, 3)

POLICIES: dict[str, Callable[[Any], Any]] = {
    "everything": lambda p: p.everything_saveable,
    "nothing": lambda p: p.nothing_saveable,
    "dots": lambda p: p.dots_saveable,
    "checkpoint dots": lambda p: p.checkpoint_dots,
    "dots without batch": lambda p: p.dots_with_no_batch_dims_saveable,
    "one name": lambda p: p.save_only_these_names("wave"),
    "another name": lambda p: p.save_only_these_names("product"),
    "both names": lambda p: p.save_only_these_names("wave", "product"),
    "all names but one": lambda p: p.save_any_names_but_these("product"),
    "all but names": lambda p: p.save_anything_except_these_names("wave", "product"),
    "dots or a name": lambda p: p.save_from_both_policies(
        p.dots_saveable, p.save_only_these_names("wave")
    ),
    "offloaded": lambda p: p.save_and_offload_only_these_names(
        names_which_can_be_saved=["wave"],
        names_which_can_be_offloaded=[],
        offload_src="device",
        offload_dst="pinned_host",
    ),
}


def network(lib: Any, xp: Any) -> Callable[..., Any]:
    name = importlib.import_module(lib.__name__ + ".ad_checkpoint").checkpoint_name

    def f(w: Any, x: Any) -> Any:
        for _ in range(3):
            x = name(xp.sin(name(x @ w, "product")), "wave")
        return xp.sum(x)

    return f


def counts(lib: Any, f: Any) -> tuple[int, int]:
    """The sines and the products in a gradient, the forward pass included."""
    text = str(lib.make_jaxpr(lib.value_and_grad(f))(W, X))
    return text.count("= sin "), text.count("= dot_general")


@pytest.mark.parametrize(
    "inside", [lambda lib, f: f, lambda lib, f: lib.jit(f)], ids=["plain", "jit"]
)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_computed_again_is_what_jax_computes_again(policy: str, inside: Any) -> None:
    found = []
    for lib, xp in ((fgrad, fnp), (jax, jnp)):
        f = inside(lib, network(lib, xp))
        chosen = POLICIES[policy](lib.checkpoint_policies)
        found.append(counts(lib, lib.checkpoint(f, policy=chosen)))
    assert found[0] == found[1]


@pytest.mark.parametrize("policy", POLICIES)
def test_derivatives_are_those_without_a_checkpoint(policy: str) -> None:
    f = network(fgrad, fnp)
    g = fgrad.checkpoint(f, policy=POLICIES[policy](fgrad.checkpoint_policies))

    def second(f: Any) -> Any:
        return fgrad.grad(lambda w, x: fnp.sum(fgrad.grad(f)(w, x) ** 2))

    def batched(f: Any) -> Any:
        return lambda w, x: fgrad.vmap(fgrad.grad(f), (None, 0))(w, fnp.stack([x, 2.0 * x]))

    def forward(f: Any) -> Any:
        return lambda w, x: fgrad.jvp(fgrad.grad(f), (w, x), (0.5 * w, x))

    for way in (fgrad.grad, second, batched, forward, lambda f: fgrad.linearize(f, W, X)[1]):
        want = way(f)(W, X)
        for got in (way(g)(W, X), fgrad.jit(way(g))(W, X)):
            for a, b in zip(fgrad.tree.leaves(got), fgrad.tree.leaves(want), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_batched_product_is_kept_by_dots_saveable_alone() -> None:
    def f(w: Any, x: Any) -> Any:
        return fnp.sum(fnp.sin(fnp.sin(fnp.matmul(w, x))))

    w, x = np.ones((4, 2, 3)), np.ones((4, 3, 2))
    policies = fgrad.checkpoint_policies
    kept = []
    for policy in (policies.dots_saveable, policies.dots_with_no_batch_dims_saveable):
        g = fgrad.value_and_grad(fgrad.checkpoint(f, policy=policy))
        kept.append(str(fgrad.make_jaxpr(g)(w, x)).count("= dot_general"))
    assert kept == [2, 3]


def test_a_policy_of_the_user() -> None:
    asked = set()

    def policy(primitive: Any, *avals: Any, **params: Any) -> bool:
        asked.add((primitive.name, len(avals)))
        return primitive.name == "sin"

    f = fgrad.checkpoint(network(fgrad, fnp), policy=policy)
    assert counts(fgrad, f)[0] == 3
    assert {("sin", 1), ("dot_general", 2), ("name_result", 1)} <= asked


def test_a_name_changes_no_value_and_leaves_no_trace_in_compiled_code() -> None:
    name = fgrad.ad_checkpoint.checkpoint_name
    tree = name({"a": np.arange(3), "b": (2.0, np.float32(1.0))}, "inputs")
    np.testing.assert_array_equal(tree["a"], np.arange(3))
    assert tree["b"][0].weak_type
    assert tree["b"][1].dtype == np.float32
    text = str(fgrad.make_jaxpr(lambda x: name(x, "input"))(1.0))
    assert "name_result[label=input]" in text
    assert "input" not in fgrad.jit(lambda x: fnp.sin(name(x, "input"))).lower(1.0).source
    np.testing.assert_allclose(fgrad.vmap(lambda x: name(x, "a") ** 2)(np.arange(3.0)), [0, 1, 4])
    assert float(fgrad.grad(fgrad.grad(lambda x: name(x**3, "cube")))(2.0)) == 12.0


def test_bad_policies_and_names() -> None:
    kind = error_class("ArgumentError", TypeError)
    with pytest.raises(kind, match=r"policy is 'dots'; give one of fgrad.checkpoint_policies"):
        fgrad.checkpoint(lambda x: x, policy="dots")
    with pytest.raises(kind, match="checkpoint_name: name is 3; give a string"):
        fgrad.ad_checkpoint.checkpoint_name(1.0, 3)
    with pytest.raises(kind, match=r"save_only_these_names: \['a'\] is not a name"):
        fgrad.checkpoint_policies.save_only_these_names(["a"])
