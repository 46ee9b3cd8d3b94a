"""``fgrad.example_libraries`` against JAX's, step by step and layer by layer."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import jax.example_libraries.optimizers as jax_optimizers
import jax.example_libraries.stax as jax_stax
import numpy as np
import pytest
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, ShapeError, TreeStructureError
from fgrad.example_libraries import optimizers, stax
from fgrad.test_util import check_grads

RNG = np.random.default_rng(21)
PARAMS = {"w": RNG.normal(size=(3, 2)), "b": [RNG.normal(size=2), RNG.normal(size=(1, 2, 2))]}

OPTIMIZERS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "sgd": ((0.1,),),
    "momentum": ((0.1, 0.9),),
    "nesterov": ((0.1, 0.9),),
    "adagrad": ((0.1,), (0.1, 0.3)),
    "rmsprop": ((0.1,), (0.1, 0.8, 1e-3)),
    "rmsprop_momentum": ((0.1,), (0.1, 0.8, 1e-3, 0.5)),
    "adam": ((0.1,), (0.1, 0.8, 0.95, 1e-3)),
    "adamax": ((0.1,), (0.1, 0.8, 0.95, 1e-3)),
    "sm3": ((0.1,), (0.1, 0.3)),
}
SCHEDULES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "constant": ((0.1,),),
    "exponential_decay": ((0.1, 3, 0.5),),
    "inverse_time_decay": ((0.1, 3, 0.5), (0.1, 3, 0.5, True)),
    "polynomial_decay": ((0.1, 3, 0.01), (0.1, 3, 0.01, 2.0)),
    "piecewise_constant": (([1, 3], [0.1, 0.03, 0.01]),),
    "make_schedule": ((0.1,), (lambda i: 0.1 / (i + 1),)),
}


def test_every_public_name_of_jax_is_there_and_tried() -> None:
    types = {"JoinPoint", "OptimizerState", "Optimizer", "Schedule", "Step", "Params", "State"}
    types |= {"Updates", "InitFn", "UpdateFn", "ParamsFn"}
    assert all(hasattr(jax_optimizers, name) for name in types)
    own = {
        name
        for name, thing in vars(jax_optimizers).items()
        if inspect.isfunction(thing) and thing.__module__ == jax_optimizers.__name__
    }
    others = {"clip_grads", "l2_norm", "optimizer"}
    others |= {"pack_optimizer_state", "unpack_optimizer_state"}
    assert own == {*OPTIMIZERS, *SCHEDULES, *others}
    assert own | types == set(optimizers.__all__)
    layers = {n for n in vars(jax_stax) if n[0] != "_"} - {"functools", "jnp", "lax", "math"}
    assert layers - {"random", "operator"} <= set(stax.__all__)
    assert set(LAYERS) | JOINED == {
        n for n in stax.__all__ if (n[0].isupper() and n != "Layer") or n == "elementwise"
    }


# ---- optimizers ----------------------------------------------------------------------------------


def gradients(params: Any, step: int) -> Any:
    """Those of no function: what counts is that both sides get the same."""
    return jax.tree_util.tree_map(lambda x: np.cos(3.0 * np.asarray(x)) + 0.1 * step, params)


def close_trees(got: Any, want: Any, rtol: float = 1e-13) -> None:
    left, right = jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(want)
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_jax(name: str) -> None:
    for args in OPTIMIZERS[name]:
        ours, theirs = getattr(optimizers, name)(*args), getattr(jax_optimizers, name)(*args)
        state, expected = ours.init_fn(PARAMS), theirs.init_fn(PARAMS)
        compiled, with_jax = fgrad.jit(ours.update_fn), jax.jit(theirs.update_fn)
        traced = state
        for step in range(5):
            params = theirs.params_fn(expected)
            close_trees(ours.params_fn(state), params)
            slopes = gradients(params, step)
            if step == 2:
                slopes = jax.tree_util.tree_map(np.zeros_like, slopes)
            expected = with_jax(step, slopes, expected)
            state = ours.update_fn(step, slopes, state)
            traced = compiled(step, slopes, traced)
            if name != "sm3":  # whose sums JAX keeps in other shapes
                close_trees(fgrad.tree.leaves(state), jax.tree_util.tree_leaves(expected))
            close_trees(fgrad.tree.leaves(traced), fgrad.tree.leaves(state))
        close_trees(ours.params_fn(state), theirs.params_fn(expected))
        assert isinstance(state, optimizers.OptimizerState)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_precision_stays_in_loops_and_with_numbers(name: str) -> None:
    args = (lambda i: 0.1 / (i + 1), *OPTIMIZERS[name][0][1:])
    init, update, get_params = getattr(optimizers, name)(*args)
    narrow = {"w": np.ones((3, 2), np.float32), "b": np.float32(0.5)}

    def loss(params: Any) -> Any:
        return (fnp.sum(params["w"]) - 1.0) ** 2 + params["b"] ** 2

    def step(i: Any, state: Any) -> Any:
        return update(i, fgrad.grad(loss)(get_params(state)), state)

    ended = fgrad.lax.fori_loop(0, 40, step, init(narrow))
    found = get_params(ended)
    assert {x.dtype for x in fgrad.tree.leaves(ended)} == {np.dtype(np.float32)}
    assert float(loss(found)) < float(loss(narrow))
    by_hand = init(narrow)
    for i in range(40):
        by_hand = step(i, by_hand)
    for a, b in zip(fgrad.tree.leaves(ended), fgrad.tree.leaves(by_hand), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_differentiable_and_mapped(name: str) -> None:
    extra = OPTIMIZERS[name][0][1:]

    def after(rate: Any, x: Any) -> Any:
        init, update, get_params = getattr(optimizers, name)(rate, *extra)
        state = init(x)
        for i in range(3):
            state = update(i, 2.0 * get_params(state) + fnp.sin(x), state)
        return get_params(state)

    check_grads(after, (np.array(0.1), np.array([0.5, -1.2])), order=2)
    rates = np.array([0.1, 0.01])
    rows = fgrad.vmap(after, in_axes=(0, None))(rates, PARAMS["w"])
    np.testing.assert_allclose(rows, [after(r, PARAMS["w"]) for r in rates], rtol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_those_of_jax(name: str) -> None:
    for args in SCHEDULES[name]:
        given = [np.asarray(a) if isinstance(a, list) else a for a in args]
        ours, theirs = getattr(optimizers, name)(*args), getattr(jax_optimizers, name)(*given)
        for i in range(6):
            assert float(ours(i)) == pytest.approx(float(theirs(i)), rel=1e-6)
            assert float(fgrad.jit(ours)(i)) == pytest.approx(float(ours(i)), rel=1e-14)


def test_norms_and_clipping() -> None:
    assert float(optimizers.l2_norm(PARAMS)) == pytest.approx(
        float(jax_optimizers.l2_norm(PARAMS)), rel=1e-14
    )
    for limit in (0.5, 100.0):
        close_trees(
            optimizers.clip_grads(PARAMS, limit), jax_optimizers.clip_grads(PARAMS, limit), 1e-14
        )
    zero = optimizers.clip_grads({"w": np.zeros(2, np.float32)}, 1.0)
    np.testing.assert_array_equal(zero["w"], 0.0)
    assert zero["w"].dtype == np.float32
    check_grads(lambda x: optimizers.clip_grads([x], 0.5)[0], (np.array([0.7, -0.9]),), order=2)


def test_states_go_through_files() -> None:
    init, update, get_params = optimizers.adam(0.1)
    state = update(0, gradients(PARAMS, 0), init(PARAMS))
    marked = optimizers.unpack_optimizer_state(state)
    assert isinstance(marked["b"][1], optimizers.JoinPoint)
    again = optimizers.pack_optimizer_state(pickle.loads(pickle.dumps(marked)))
    close_trees(
        fgrad.tree.leaves(update(1, PARAMS, again)), fgrad.tree.leaves(update(1, PARAMS, state))
    )
    close_trees(fgrad.tree.leaves(pickle.loads(pickle.dumps(state))), fgrad.tree.leaves(state))
    np.testing.assert_array_equal(get_params(again)["w"], get_params(state)["w"])


def test_refusals_of_optimizers() -> None:
    init, update, _ = optimizers.sgd(0.1)
    with pytest.raises(TreeStructureError, match=r"sgd: the gradients are a tree"):
        update(0, {"w": np.ones(2), "c": 1.0}, init({"w": np.ones(2)}))
    with pytest.raises(ArgumentError, match=r"make_schedule: the step size is \[0\.1\]"):
        optimizers.sgd([0.1])
    with pytest.raises(ShapeError, match=r"piecewise_constant: boundaries have shape \(2,\)"):
        optimizers.piecewise_constant([1, 2], [0.1, 0.2])
    with pytest.raises(ArgumentError, match=r"pack_optimizer_state: a leaf is of type float"):
        optimizers.pack_optimizer_state({"w": 1.0})

    @optimizers.optimizer
    def forgetful() -> Any:
        return lambda x: (x, x), lambda i, g, state: state[0], lambda state: state[0]

    init, update, _ = forgetful()
    with pytest.raises(TreeStructureError, match=r"forgetful: update made a state"):
        update(0, np.ones(2), init(np.ones(2)))


# ---- layers --------------------------------------------------------------------------------------

ROWS, IMAGES = (4, 5), (2, 7, 6, 3)
#: Layers that are made of functions of one element, and those with arguments; the shapes of inputs.
LAYERS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any], tuple[int, ...]]]] = {
    "Dense": [((3,), {}, ROWS)],
    "Conv": [
        ((4, (3, 2)), {}, IMAGES),
        ((4, (3, 2), (2, 1), "SAME"), {}, IMAGES),
    ],
    "GeneralConv": [((("NCHW", "OIHW", "NHWC"), 4, (3, 2)), {"padding": "SAME"}, (2, 3, 7, 6))],
    "ConvTranspose": [((4, (3, 3), (2, 2), "SAME"), {}, IMAGES), ((4, (2, 3)), {}, IMAGES)],
    "Conv1DTranspose": [((4, (3,), (2,)), {}, (2, 5, 3))],
    "GeneralConvTranspose": [((("NHC", "HIO", "NHC"), 4, (3,)), {"padding": "SAME"}, (2, 5, 3))],
    "BatchNorm": [
        ((), {}, IMAGES),
        ((0,), {"epsilon": 1e-2}, ROWS),
        (((0, 1),), {"center": False}, (2, 3, 4)),
        ((0,), {"scale": False}, ROWS),
    ],
    "MaxPool": [
        (((2, 2),), {}, IMAGES),
        (((3, 2), (2, 2), "SAME"), {}, IMAGES),
        (((2, 3),), {"spec": "NCHW"}, (2, 3, 7, 6)),
    ],
    "SumPool": [(((2, 2), (2, 1)), {}, IMAGES)],
    "AvgPool": [(((2, 2), (2, 1)), {}, IMAGES), (((3, 3),), {"padding": "SAME"}, IMAGES)],
    "elementwise": [],
    "Dropout": [],
    **{
        name: [((), {}, ROWS)]
        for name in (
            "Tanh Relu Exp LogSoftmax Softmax Softplus Sigmoid Elu LeakyRelu Selu Gelu Identity"
        ).split()
    },
    "Flatten": [((), {}, IMAGES)],
}
JOINED = {"FanOut", "FanInSum", "FanInConcat"}


def both_layers(name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    ours, theirs = getattr(stax, name), getattr(jax_stax, name)
    if isinstance(theirs, tuple):
        return ours, theirs
    return ours(*args, **kwargs), theirs(*args, **kwargs)


def same_layer(ours: Any, theirs: Any, shape: Any, seed: int = 3, **kwargs: Any) -> None:
    """Shapes and parameters made of a key, outputs, and slopes towards parameters and inputs."""
    found_shape, params = ours[0](fgrad.random.PRNGKey(seed), shape)
    anything = ours[0](fgrad.random.PRNGKey(seed), (-1, *shape[1:]))[0]
    assert anything == (-1, *found_shape[1:])
    x = RNG.normal(size=shape)
    weights = RNG.normal(size=found_shape)

    def everything(module: Any, layer: Any) -> Any:
        def loss(p: Any, v: Any) -> Any:
            out = layer[1](p, v, **kwargs)
            return (weights * out).sum(), out

        slopes = module.grad(loss, argnums=(0, 1), has_aux=True)

        def run(key: Any, v: Any) -> Any:
            _, p = layer[0](key, shape)
            return p, slopes(p, v)

        return module.jit(run)(module.random.PRNGKey(seed), x)

    wanted, (wanted_slopes, expected) = everything(jax, theirs)
    compiled, (slopes, out) = everything(fgrad, ours)
    close_trees(params, wanted, 1e-6)
    close_trees(compiled, params, 1e-12)
    assert out.shape == expected.shape == tuple(found_shape)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(out, ours[1](params, x, **kwargs), rtol=1e-10, atol=1e-12)
    assert out.dtype == expected.dtype
    close_trees(slopes, wanted_slopes, 1e-7)
    rows = fgrad.vmap(lambda v: ours[1](params, v, **kwargs))(np.stack([x, 0.5 * x]))
    np.testing.assert_allclose(rows[1], ours[1](params, 0.5 * x, **kwargs), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_those_of_jax(name: str) -> None:
    for args, kwargs, shape in LAYERS[name]:
        same_layer(*both_layers(name, args, kwargs), shape)


def test_networks_are_those_of_jax() -> None:
    def network(s: Any) -> Any:
        branch = s.serial(s.Conv(4, (3, 3), padding="SAME"), s.BatchNorm(), s.Relu)
        return s.serial(
            s.FanOut(2),
            s.parallel(branch, s.Identity),
            s.FanInConcat(-1),
            s.MaxPool((2, 2), strides=(2, 2)),
            s.FanOut(2),
            s.parallel(s.Tanh, s.elementwise(s.softplus)),
            s.FanInSum,
            s.Flatten,
            s.shape_dependent(lambda shape: s.Dense(shape[-1] // 9)),
            s.LogSoftmax,
        )

    same_layer(network(stax), network(jax_stax), IMAGES)


def test_dropout_keeps_the_elements_that_jax_keeps() -> None:
    x = RNG.normal(size=ROWS)
    for s, module in ((stax, fgrad), (jax_stax, jax)):
        init, apply = s.serial(s.Dense(6), s.Dropout(0.7))
        _, params = init(module.random.PRNGKey(1), ROWS)
        out = np.asarray(apply(params, x, rng=module.random.PRNGKey(2)))
        if s is stax:
            kept = out
    np.testing.assert_allclose(kept, out, rtol=1e-5)
    assert 0 < (kept == 0.0).mean() < 1
    still = stax.Dropout(0.7, mode="test")[1]((), x, rng=fgrad.random.key(0))
    np.testing.assert_array_equal(still, x)


def test_a_network_learns() -> None:
    init, apply = stax.serial(stax.Dense(16), stax.Tanh, stax.Dense(1))
    _, params = init(fgrad.random.key(0), (-1, 1))
    x = np.linspace(-2.0, 2.0, 40)[:, None]
    start, update, get_params = optimizers.adam(0.02)

    def loss(p: Any) -> Any:
        return fnp.mean((apply(p, x) - np.sin(2.0 * x)) ** 2)

    @fgrad.jit
    def step(i: Any, state: Any) -> Any:
        return update(i, fgrad.grad(loss)(get_params(state)), state)

    state = start(params)
    for i in range(300):
        state = step(i, state)
    assert float(loss(get_params(state))) < 0.02 * float(loss(params))


def test_refusals_of_layers() -> None:
    key = fgrad.random.key(0)
    with pytest.raises(ArgumentError, match=r"serial: argument 1 .*call it to make one"):
        stax.serial(stax.Relu, stax.Dense)
    with pytest.raises(ArgumentError, match=r"parallel: argument 0 is 3"):
        stax.parallel(3)
    with pytest.raises(ArgumentError, match=r"Dropout: apply got no key"):
        stax.Dropout(0.5)[1]((), np.ones(3))
    with pytest.raises(ArgumentError, match=r"GeneralConv: filter_shape is \(3,\)"):
        stax.Conv(4, (3,))
    with pytest.raises(ArgumentError, match=r"the input has shape \(4, 5\); give one of 4 axes"):
        stax.Conv(4, (3, 3))[0](key, ROWS)
    with pytest.raises(ArgumentError, match=r"MaxPool: spec is 'NHC'"):
        stax.MaxPool((2, 2), spec="NHC")
