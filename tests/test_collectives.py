"""Named axes and collectives: agreement with JAX, derivatives inside and outside, every nesting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad import errors, lax

jax.config.update("jax_enable_x64", True)

LIBRARIES = {"fgrad": (fgrad, fnp), "jax": (jax, jnp)}
X = np.random.default_rng(3).normal(size=(4, 4, 6))

Program = Callable[[Any, Any], Callable[[Any], Any]]

#: Functions of one example of shape (4, 6).
COLLECTIVES: dict[str, Program] = {
    "psum": lambda lib, xp: lambda x: x / lib.lax.psum(xp.exp(x), "i"),
    "psum of a number": lambda lib, xp: lambda x: x * lib.lax.psum(1, "i"),
    "psum of a constant": lambda lib, xp: lambda x: x + lib.lax.psum(xp.arange(6.0), "i"),
    "psum of a tree": lambda lib, xp: lambda x: lib.lax.psum({"a": x, "b": (x * x,)}, "i"),
    "pmean": lambda lib, xp: lambda x: (x - lib.lax.pmean(x, "i")) ** 2,
    "pmean of integers": lambda lib, xp: lambda x: lib.lax.pmean(xp.arange(3), "i") + x[0, 0],
    "all_gather": lambda lib, xp: lambda x: xp.sin(lib.lax.all_gather(x, "i")),
    "all_gather at 1": lambda lib, xp: lambda x: lib.lax.all_gather(x, "i", axis=1) * x[:, None],
    "all_gather tiled": lambda lib, xp: lambda x: lib.lax.all_gather(x, "i", axis=1, tiled=True),
    "all_to_all": lambda lib, xp: lambda x: xp.sin(lib.lax.all_to_all(x, "i", 0, 0)),
    "all_to_all tiled": lambda lib, xp: lambda x: lib.lax.all_to_all(x, "i", 0, 1, tiled=True) ** 2,
    "ppermute": lambda lib, xp: (
        lambda x: x * lib.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 3), (3, 0)])
    ),
    "pshuffle": lambda lib, xp: lambda x: x + lib.lax.pshuffle(xp.sin(x), "i", [3, 1, 0, 2]),
    "psum_scatter": lambda lib, xp: lambda x: lib.lax.psum_scatter(xp.sin(x), "i"),
    "psum_scatter tiled": lambda lib, xp: lambda x: lib.lax.psum_scatter(x * x, "i", tiled=True),
    "axis_index": lambda lib, xp: lambda x: x * lib.lax.axis_index("i"),
}
#: JAX has no derivative of these.
VALUES_ONLY: dict[str, Program] = {
    "pmax": lambda lib, xp: lambda x: x - lib.lax.pmax(x, "i"),
    "pmin": lambda lib, xp: lambda x: x - lib.lax.pmin(x, "i"),
}


def scalar(lib: Any, xp: Any, tree: Any) -> Any:
    leaves = lib.tree_util.tree_leaves(tree)
    return sum(xp.sum(xp.cos(leaf)) for leaf in leaves)


def mapped(lib: Any, f: Any) -> Any:
    return lib.vmap(f, axis_name="i")


STACKS: dict[str, Callable[[Any, Any, Any], Callable[[Any], Any]]] = {
    "vmap": lambda lib, xp, f: mapped(lib, f),
    "jit(vmap)": lambda lib, xp, f: lib.jit(mapped(lib, f)),
    "vmap(jit)": lambda lib, xp, f: mapped(lib, lib.jit(f)),
    "grad(vmap)": lambda lib, xp, f: lib.grad(lambda x: scalar(lib, xp, mapped(lib, f)(x))),
    "vmap(grad)": lambda lib, xp, f: mapped(lib, lib.grad(lambda x: scalar(lib, xp, f(x)))),
    "vmap(jit(grad))": lambda lib, xp, f: mapped(
        lib, lib.jit(lib.grad(lambda x: scalar(lib, xp, f(x))))
    ),
    "vmap(grad(jit))": lambda lib, xp, f: mapped(
        lib, lib.grad(lambda x: scalar(lib, xp, lib.jit(f)(x)))
    ),
    "jvp(vmap)": lambda lib, xp, f: lambda x: lib.jvp(mapped(lib, f), (x,), (xp.cos(x),)),
    "vmap(jvp)": lambda lib, xp, f: mapped(lib, lambda x: lib.jvp(f, (x,), (xp.cos(x),))),
    "grad(vmap(grad))": lambda lib, xp, f: lib.grad(
        lambda x: xp.sum(xp.sin(mapped(lib, lib.grad(lambda x: scalar(lib, xp, f(x))))(x)))
    ),
    "vmap(vmap)": lambda lib, xp, f: lambda x: lib.vmap(mapped(lib, f))(xp.stack([x, x + 1.0])),
    "vmap(checkpoint)": lambda lib, xp, f: mapped(
        lib, lib.grad(lambda x: scalar(lib, xp, lib.checkpoint(f)(x)))
    ),
    "vmap(scan)": lambda lib, xp, f: mapped(
        lib,
        lambda x: lib.lax.scan(lambda c, _: (c * 0.5, scalar(lib, xp, f(c))), x, None, length=2)[1],
    ),
    "vmap(grad(scan))": lambda lib, xp, f: mapped(
        lib,
        lib.grad(
            lambda x: xp.sum(
                lib.lax.scan(lambda c, _: (c * 0.5, scalar(lib, xp, f(c))), x, None, length=2)[1]
            )
        ),
    ),
}


def agree(got: Any, want: Any) -> None:
    got, want = fgrad.tree.leaves(got), jax.tree_util.tree_leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_collective_agrees_with_jax(name: str, stack: str) -> None:
    results = [
        STACKS[stack](lib, xp, COLLECTIVES[name](lib, xp))(xp.asarray(X))
        for lib, xp in LIBRARIES.values()
    ]
    agree(*results)


@pytest.mark.parametrize("name", VALUES_ONLY)
def test_an_extremum_agrees_with_jax(name: str) -> None:
    results = [
        STACKS[stack](lib, xp, VALUES_ONLY[name](lib, xp))(xp.asarray(X))
        for stack in ("vmap", "jit(vmap)")
        for lib, xp in LIBRARIES.values()
    ]
    agree(results[0], results[1])
    agree(results[2], results[3])


def test_the_slope_of_pmax_is_that_of_the_maximum() -> None:
    f = fgrad.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")
    gradient = fgrad.grad(lambda x: fnp.sum(f(x) * fnp.arange(3.0)))(np.array([1.0, 5.0, 2.0]))
    np.testing.assert_array_equal(gradient, [0.0, 3.0, 0.0])


def test_all_to_all_between_axes() -> None:
    def loss(x: Any) -> Any:
        return fnp.sum(fnp.sin(lax.all_to_all(x, "i", 0, 1)) * fnp.arange(24.0).reshape(6, 4))

    # JAX has the values, but no derivative inside of the mapped function.
    want = jax.vmap(lambda x: jax.lax.all_to_all(x, "i", 0, 1), axis_name="i")(X)
    agree(fgrad.vmap(lambda x: lax.all_to_all(x, "i", 0, 1), axis_name="i")(X), want)
    inside = fgrad.vmap(fgrad.grad(loss), axis_name="i")(X)
    outside = fgrad.grad(lambda x: fnp.sum(fgrad.vmap(loss, axis_name="i")(x)))(X)
    np.testing.assert_allclose(inside, outside, rtol=1e-14)
    # Row i of example j goes to column j of example i.
    weights = np.arange(24.0).reshape(6, 4)
    by_hand = np.cos(X) * weights.T[:, None, :]
    np.testing.assert_allclose(inside, by_hand, rtol=1e-12)


def test_who_receives_nothing_gets_zeros() -> None:
    f = fgrad.vmap(lambda x: lax.ppermute(x, "i", [(0, 2), (3, 1)]), axis_name="i")
    x = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(f(x), [0.0, 4.0, 1.0, 0.0])
    gradient = fgrad.grad(lambda x: fnp.sum(f(x) * fnp.arange(4.0)))(x)
    np.testing.assert_array_equal(gradient, [2.0, 0.0, 0.0, 1.0])


def test_axes_nest() -> None:
    def program(lib: Any, xp: Any) -> Any:
        def f(x: Any) -> Any:
            both = lib.lax.psum(x, ("i", "j"))
            place = 10 * lib.lax.axis_index("i") + lib.lax.axis_index("j")
            return x - lib.lax.pmean(x, "j") + both * place, lib.lax.all_gather(x, "i")

        return lib.vmap(lib.vmap(f, axis_name="j"), axis_name="i", in_axes=1)(xp.asarray(X[0]))

    agree(*[program(lib, xp) for lib, xp in LIBRARIES.values()])


def test_gathering_over_two_axes() -> None:
    gather = fgrad.vmap(
        fgrad.vmap(lambda x: lax.all_gather(x, ("i", "j")), axis_name="j"), axis_name="i"
    )
    x = X[0, :2, :3]
    np.testing.assert_array_equal(gather(x), np.broadcast_to(x.ravel(), (2, 3, 6)))


def test_the_innermost_axis_of_a_name_counts() -> None:
    inner = fgrad.vmap(lambda x: lax.psum(x, "i"), axis_name="i")
    outer = fgrad.vmap(inner, axis_name="i")
    np.testing.assert_array_equal(
        outer(np.array([[1.0, 2.0], [3.0, 5.0]])), [[3.0, 3.0], [8.0, 8.0]]
    )


def test_sizes_are_python_numbers() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append((lax.axis_size("i"), lax.psum(1, "i"), lax.axis_size(("i",))))
        return x

    fgrad.vmap(f, axis_name="i", axis_size=5, in_axes=None)(1.0)
    assert seen == [(5, 5, 5)]
    assert all(type(size) is int for size in seen[0])


def test_groups() -> None:
    groups = [[0, 3], [2, 1]]
    x = np.array([1.0, 10.0, 100.0, 1000.0])

    def over(f: Any) -> Any:
        return fgrad.vmap(f, axis_name="i")(x)

    np.testing.assert_array_equal(
        over(lambda x: lax.psum(x, "i", axis_index_groups=groups)), [1001, 110, 110, 1001]
    )
    np.testing.assert_array_equal(
        over(lambda x: lax.pmax(x, "i", axis_index_groups=groups)), [1000, 100, 100, 1000]
    )
    np.testing.assert_array_equal(
        over(lambda x: lax.all_gather(x, "i", axis_index_groups=groups)),
        [[1, 1000], [100, 10], [100, 10], [1, 1000]],
    )
    doubled = fgrad.vmap(
        lambda x: lax.psum_scatter(fnp.stack([x, -x]), "i", axis_index_groups=groups), axis_name="i"
    )
    np.testing.assert_array_equal(doubled(x), [1001, -110, 110, -1001])


def test_a_collective_costs_what_it_costs_on_the_batch() -> None:
    f = fgrad.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")
    jaxpr = fgrad.make_jaxpr(f)(np.ones(1000))
    assert max(v.aval.size for eqn in jaxpr.eqns for v in eqn.outputs) == 1000


def test_a_function_jitted_in_one_scope_is_not_reused_in_another() -> None:
    f = fgrad.jit(lambda x: x * lax.psum(1, "i"))
    over = fgrad.vmap(f, axis_name="i")
    np.testing.assert_array_equal(over(np.ones(2)), [2.0, 2.0])
    np.testing.assert_array_equal(over(np.ones(3)), [3.0, 3.0, 3.0])
    with pytest.raises(errors.UnboundAxisError):
        f(1.0)


# ---- pmap --------------------------------------------------------------------------------------


def test_pmap_maps_over_devices() -> None:
    fgrad.config.update("fgrad_num_cpu_devices", 4)
    try:
        assert fgrad.device_count() == fgrad.local_device_count() == len(fgrad.devices()) == 4
        step = fgrad.pmap(
            lambda w, x: w - 0.1 * lax.pmean(fgrad.grad(lambda w: fnp.sum((x @ w) ** 2))(w), "d"),
            axis_name="d",
            in_axes=(None, 0),
        )
        x, w = X[:, :, :3], np.array([1.0, -2.0, 0.5])
        want = w - 0.1 * np.mean([2 * part.T @ (part @ w) for part in x], axis=0)
        np.testing.assert_allclose(step(w, x), np.broadcast_to(want, (4, 3)), rtol=1e-12)
    finally:
        fgrad.config.update("fgrad_num_cpu_devices", 1)


def test_pmap_takes_static_arguments() -> None:
    f = fgrad.pmap(lambda x, n: x**n, static_broadcasted_argnums=1)
    np.testing.assert_array_equal(f(np.array([[3.0, 4.0]]), 2), [[9.0, 16.0]])


def test_pmap_over_more_than_there_are_devices() -> None:
    with pytest.raises(
        errors.MappedAxisError, match=r"3 examples.*1 device.*fgrad_num_cpu_devices"
    ):
        fgrad.pmap(lambda x: x)(np.ones(3))


def test_devices_of_one_machine() -> None:
    assert fgrad.process_index() == 0
    assert fgrad.process_count() == 1
    assert fgrad.default_backend() == "cpu"
    (device,) = fgrad.local_devices()
    assert (device.id, device.platform, device.process_index) == (0, "cpu", 0)
    assert fgrad.devices("cpu") == [device]
    with pytest.raises(errors.ArgumentError, match="gpu"):
        fgrad.devices("gpu")
    tree = {"a": np.arange(3.0), "b": [1, 2.5]}
    on_device = fgrad.device_put(tree, device)
    assert all(isinstance(leaf, fgrad.Array) for leaf in fgrad.tree.leaves(on_device))
    back = fgrad.device_get(on_device)
    assert all(type(leaf) is np.ndarray for leaf in fgrad.tree.leaves(back))
    assert fgrad.block_until_ready(tree) is tree
    np.testing.assert_array_equal(fgrad.grad(lambda x: fgrad.device_put(x) ** 2)(3.0), 6.0)


# ---- refusals ----------------------------------------------------------------------------------


def test_an_unbound_name() -> None:
    with pytest.raises(
        errors.UnboundAxisError, match=r"psum: no mapped axis is named 'rows'.*none"
    ):
        lax.psum(1.0, "rows")
    with pytest.raises(NameError, match=r"pmean.*'rows'.*in scope: 'i'"):
        fgrad.vmap(lambda x: lax.pmean(x, "rows"), axis_name="i")(np.ones(2))
    fgrad.vmap(lambda x: lax.pmean(x, "i"), axis_name="i")(np.ones(2))
    with pytest.raises(errors.UnboundAxisError):
        lax.axis_index("i")


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), r"ppermute: perm.*once, from 0 to 3"),
        (lambda x: lax.ppermute(x, "i", [(0, 4)]), r"ppermute: perm.*once, from 0 to 3"),
        (lambda x: lax.pshuffle(x, "i", [0, 1]), r"pshuffle: perm must be a permutation"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1]]), r"psum: axis_index_groups.*each"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1, 2, 3]]), r"psum.*of one size"),
        (lambda x: lax.all_to_all(x, "i", 1, 0), r"all_to_all: axis 1.*\(4, 6\).*4 entries"),
        (
            lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
            r"into 4 equal parts",
        ),
        (lambda x: lax.all_gather(x, "i", axis=3), r"all_gather"),
    ],
)
def test_a_refusal_names_the_collective(f: Any, message: str) -> None:
    with pytest.raises(errors.FgradError, match=message):
        fgrad.vmap(f, axis_name="i")(X)
