"""Named properties of the transforms: composition, state, memory, arguments, value types."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import gc
import itertools
import pickle
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.modules import (
    IS_JAX,
    Tracer,
    beyond_jax,
    error_class,
    fgrad,
    fnp,
    jax,
    jnp,
    tree_util,
)

RNG = np.random.default_rng(3)
FLOAT0 = np.dtype([("float0", np.void, 0)])
TypeOrValue = (TypeError, ValueError)


# ---- derivatives inside derivatives ------------------------------------------------------------


def by_grad(f: Callable[..., Any], x: Any) -> Any:
    return fgrad.grad(f)(x)


def by_jvp(f: Callable[..., Any], x: Any) -> Any:
    return fgrad.jvp(f, (x,), (1.0,))[1]


def by_vjp(f: Callable[..., Any], x: Any) -> Any:
    value, pull = fgrad.vjp(f, x)
    return pull(fnp.ones_like(value))[0]


def by_linearize(f: Callable[..., Any], x: Any) -> Any:
    return fgrad.linearize(f, x)[1](1.0)


def by_jacrev(f: Callable[..., Any], x: Any) -> Any:
    return fgrad.jacrev(f)(x)


DERIVATIVES = (by_grad, by_jvp, by_vjp, by_linearize, by_jacrev)
each_pair = pytest.mark.parametrize(
    ("outer", "inner"), list(itertools.product(DERIVATIVES, DERIVATIVES))
)


@each_pair
def test_no_perturbation_confusion_in_a_sum(outer: Any, inner: Any) -> None:
    # d/dx [x * d/dy (x + y)] = 1; mixing up the two perturbations gives 2.
    assert float(outer(lambda x: x * inner(lambda y: x + y, 1.0), 1.0)) == 1.0


@each_pair
def test_no_perturbation_confusion_in_a_product(outer: Any, inner: Any) -> None:
    # d/dx [x * d/dy (x * y)] = 2 x
    assert float(outer(lambda x: x * inner(lambda y: x * y, 2.0), 3.0)) == 6.0


@each_pair
def test_the_inner_point_may_depend_on_the_outer_variable(outer: Any, inner: Any) -> None:
    # d/dx [d/dy (x y^2) at y = x^2] = d/dx [2 x^3] = 6 x^2
    assert float(outer(lambda x: inner(lambda y: x * y * y, x * x), 2.0)) == 24.0


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_a_derivative_of_the_fourth_order(derivative: Any) -> None:
    def f(x: Any) -> Any:
        return x**5

    for _ in range(4):
        f = functools.partial(derivative, f)
    assert float(f(2.0)) == 240.0


def test_a_curried_derivative_keeps_its_levels_apart() -> None:
    """D(x -> (y -> f(x, y))) applied twice: each level has its own perturbation."""

    def shifted(u: Any) -> Callable[..., Any]:
        return lambda g: lambda x: g(x + u)

    def h(u: Any) -> Any:
        return shifted(u)(shifted(u)(lambda x: fnp.sin(x) * u))(0.5)

    # h(u) = u sin(0.5 + 2 u)
    want = np.sin(0.5 + 2 * 0.3) + 2 * 0.3 * np.cos(0.5 + 2 * 0.3)
    for derivative in DERIVATIVES:
        assert_allclose(derivative(h, 0.3), want, rtol=1e-14)


def test_a_tangent_may_be_an_outer_variable() -> None:
    # d/dt [t * cos(1) + t^2] by the derivative along a direction that is differentiated itself.
    def f(t: Any) -> Any:
        return fgrad.jvp(fnp.sin, (1.0,), (t,))[1] + t * t

    for derivative in DERIVATIVES:
        assert_allclose(derivative(f, 3.0), np.cos(1.0) + 6.0, rtol=1e-14)


# ---- closures over each level ------------------------------------------------------------------

# What a transform does to the function that it is applied to: its derivative, or nothing.
LAYERS: dict[str, tuple[bool, Callable[..., Any]]] = {
    "grad": (True, lambda lib, f, x: lib.grad(f)(x)),
    "jvp": (True, lambda lib, f, x: lib.jvp(f, (x,), (1.0,))[1]),
    "vjp": (True, lambda lib, f, x: lib.vjp(f, x)[1](x * 0.0 + 1.0)[0]),
    "linearize": (True, lambda lib, f, x: lib.linearize(f, x)[1](1.0)),
    "jit": (False, lambda lib, f, x: lib.jit(f)(x)),
    "vmap": (False, lambda lib, f, x: lib.vmap(lambda n: f(x) + 0.0 * n)(np.arange(2.0))[1]),
    "vmapped": (False, lambda lib, f, x: lib.vmap(f)(x * np.ones(2))[0]),
    "checkpoint": (False, lambda lib, f, x: lib.checkpoint(f)(x)),
}


def through_levels(lib: Any, xp: Any, layers: list[Callable[..., Any]], x: Any) -> Any:
    """Three functions inside each other; the innermost reads the variable of each level."""

    def outermost(x: Any) -> Any:
        def middle(y: Any) -> Any:
            def innermost(z: Any) -> Any:
                return xp.sin(x * y) * z * z + xp.cos(z) * x * x + y * z

            return layers[2](lib, innermost, x * y) * y + x

        return layers[1](lib, middle, x * 0.5) * x

    return layers[0](lib, outermost, x)


@functools.cache
def expected_through_levels(derived: tuple[bool, ...]) -> float:
    plain = [(lambda lib, f, x: lib.grad(f)(x)) if d else (lambda lib, f, x: f(x)) for d in derived]
    return float(through_levels(jax, jnp, plain, 0.7))


@pytest.mark.parametrize("outer", list(LAYERS))
@pytest.mark.parametrize("middle", list(LAYERS))
def test_closures_over_the_variables_of_every_level(outer: str, middle: str) -> None:
    for inner in ["grad", "jit"] if IS_JAX else LAYERS:
        chosen = [LAYERS[name] for name in (outer, middle, inner)]
        want = expected_through_levels(tuple(derived for derived, _ in chosen))
        got = through_levels(fgrad, fnp, [layer for _, layer in chosen], 0.7)
        assert_allclose(got, want, rtol=1e-12, err_msg=inner)


# ---- every transform, called once --------------------------------------------------------------

CALLS: dict[str, Callable[..., Any]] = {
    "grad": lambda f, x: fgrad.grad(f)(x),
    "value_and_grad": lambda f, x: fgrad.value_and_grad(f)(x),
    "vjp": lambda f, x: fgrad.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: fgrad.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: fgrad.linearize(f, x)[1](x),
    "vmap": lambda f, x: fgrad.vmap(f)(x[None]),
    "jit": lambda f, x: fgrad.jit(f)(x),
    "jit of grad": lambda f, x: fgrad.jit(fgrad.grad(f))(x),
    "grad of jit": lambda f, x: fgrad.grad(fgrad.jit(f))(x),
    "vmap of grad": lambda f, x: fgrad.vmap(fgrad.grad(f))(x[None]),
    "jacfwd": lambda f, x: fgrad.jacfwd(f)(x),
    "jacrev": lambda f, x: fgrad.jacrev(f)(x),
    "hessian": lambda f, x: fgrad.hessian(f)(x),
    "checkpoint": lambda f, x: fgrad.grad(fgrad.checkpoint(f))(x),
    "make_jaxpr": lambda f, x: fgrad.make_jaxpr(f)(x),
    "eval_shape": lambda f, x: fgrad.eval_shape(f, x),
}
each_call = pytest.mark.parametrize("transform", list(CALLS))


def loss(x: Any) -> Any:
    return fnp.sum(fnp.sin(x) * x)


POINT = RNG.normal(size=3)


@each_call
def test_an_exception_in_the_middle_leaves_a_clean_state(transform: str) -> None:
    class Stopped(Exception):
        pass

    def stops(x: Any) -> Any:
        y = fnp.sin(x)
        fgrad.jit(lambda z: z * y)(x)
        raise Stopped

    for _ in range(3):
        with pytest.raises(Stopped):
            CALLS[transform](stops, POINT)
    assert_clean()
    assert_allclose(fgrad.grad(loss)(POINT), np.cos(POINT) * POINT + np.sin(POINT), rtol=1e-12)
    CALLS[transform](loss, POINT)


@each_call
def test_an_exception_in_a_nested_trace_can_be_caught_inside(transform: str) -> None:
    def recovers(x: Any) -> Any:
        try:
            fgrad.jit(lambda y: fnp.sum(y) + fnp.ones((2, 3)) @ fnp.ones((2, 3)))(x)
        except TypeOrValue:
            return loss(x)
        raise AssertionError("the shapes do not fit")

    got = CALLS[transform](recovers, POINT)
    assert str(got) == str(CALLS[transform](loss, POINT)) or "jaxpr" in transform
    assert_clean()


def assert_clean() -> None:
    """Creations outside of any trace are concrete again, and so are operations."""
    for made in (fnp.zeros(3), fnp.arange(3), fnp.eye(2), fnp.sin(POINT)):
        assert not isinstance(made, Tracer)
        np.asarray(made)


@pytest.mark.parametrize("transform", ["jit", "vmap", "make_jaxpr"] if IS_JAX else list(CALLS))
def test_a_leaked_tracer_is_refused(transform: str) -> None:
    leaked: list[Any] = []

    def leaks(x: Any) -> Any:
        leaked.append(x * 2.0)
        return loss(x)

    CALLS[transform](leaks, POINT)
    error = error_class("LeakedTracerError", jax.errors.UnexpectedTracerError)
    tracers = [x for x in leaked if isinstance(x, Tracer)]
    assert tracers
    for tracer in tracers:
        with pytest.raises(error) as caught:
            fnp.sin(tracer)
        if not IS_JAX:
            assert "leaks" in str(caught.value)
            assert "return it" in str(caught.value)
    assert_clean()


def test_two_threads_trace_at_once() -> None:
    meeting = threading.Barrier(2, timeout=30)
    results: dict[float, list[Any]] = {1.0: [], 2.0: []}

    def work(factor: float) -> None:
        def f(x: Any) -> Any:
            meeting.wait()  # both threads are in the middle of a trace here
            y = fnp.sin(x) * factor
            meeting.wait()
            return fnp.sum(y * fnp.ones(3))

        for call in (
            lambda: fgrad.grad(f)(POINT),
            lambda: fgrad.jit(f)(POINT),
            lambda: fgrad.vmap(f)(POINT[None])[0],
            lambda: fgrad.jvp(f, (POINT,), (POINT,))[1],
            lambda: fgrad.jit(fgrad.grad(f))(POINT),
        ):
            results[factor].append(np.asarray(call()))

    threads = [threading.Thread(target=work, args=(factor,)) for factor in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    s, c = np.sin(POINT), np.cos(POINT)
    want = [c, s.sum(), s.sum(), (c * POINT).sum(), c]
    for factor, got in results.items():
        assert len(got) == len(want)
        for left, right in zip(got, want, strict=True):
            assert_allclose(left, factor * right, rtol=1e-12)


@beyond_jax("JAX computes with a tracer of another thread")
def test_a_tracer_in_another_thread_is_refused() -> None:
    caught: list[BaseException] = []

    def f(x: Any) -> Any:
        def use() -> None:
            try:
                fnp.sin(x)
            except Exception as error:
                caught.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        return loss(x)

    for transform in ("grad", "jvp", "vmap", "jit"):
        caught.clear()
        CALLS[transform](f, POINT)
        error = error_class("LeakedTracerError", jax.errors.UnexpectedTracerError)
        assert len(caught) == 1, transform
        assert isinstance(caught[0], error)
        assert "thread" in str(caught[0])


# ---- long programs -----------------------------------------------------------------------------

LONG = (300, 1_500) if IS_JAX else (20_000, 100_000)
SHORTER = (300, 1_500) if IS_JAX else (4_000, 20_000)


def chain(n: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(n // 2):
            x = x * 0.999
            x = x + 0.25
        return x

    return f


def seconds_of(call: Callable[..., Any], n: int) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = call(chain(n), fnp.asarray(1.0))
    return time.perf_counter() - begin, result


def assert_linear(call: Callable[..., Any], sizes: tuple[int, int]) -> Any:
    gc.collect()
    (short, _), (long, result) = (seconds_of(call, n) for n in sizes)
    # Linear is a factor of 5; a quadratic algorithm would take 25 times as long.
    assert long < 15 * short + 0.5, (short, long)
    return result


@pytest.mark.parametrize("transform", ["grad", "jvp"])
def test_a_chain_of_a_hundred_thousand_operations_takes_linear_time(transform: str) -> None:
    got = assert_linear(CALLS[transform], LONG)
    slope = 0.999 ** (LONG[1] // 2)
    assert_allclose(got if transform == "grad" else got[1], slope, rtol=1e-6)


@pytest.mark.parametrize(
    "transform",
    ["value_and_grad", "vjp", "linearize", "vmap of grad", "grad of grad", "make_jaxpr", "jit"],
)
def test_every_transform_takes_linear_time(transform: str) -> None:
    calls: dict[str, Callable[..., Any]] = {
        **CALLS,
        "vjp": lambda f, x: fgrad.vjp(f, x)[1](x),
        "vmap of grad": lambda f, x: fgrad.vmap(fgrad.grad(f))(np.ones(2)),
        "grad of grad": lambda f, x: fgrad.grad(fgrad.grad(lambda y: f(y) ** 2))(x),
    }
    got = assert_linear(calls[transform], SHORTER)
    if transform == "grad of grad":
        assert_allclose(got, 2 * 0.999 ** SHORTER[1], rtol=1e-6)


def test_a_wide_graph_is_walked_once_per_node() -> None:
    """Each value is used twice by the next: 2**200 paths, 400 operations."""

    def f(x: Any) -> Any:
        for _ in range(20 if IS_JAX else 200):
            x = 0.5 * x + 0.5 * fnp.tanh(x)
        return x

    def slope_by_hand(x: float) -> float:
        slope = 1.0
        for _ in range(20 if IS_JAX else 200):
            slope *= 0.5 + 0.5 / np.cosh(x) ** 2
            x = 0.5 * x + 0.5 * np.tanh(x)
        return slope

    for derivative in DERIVATIVES:
        assert_allclose(derivative(f, 0.3), slope_by_hand(0.3), rtol=1e-10)


# ---- what stays behind -------------------------------------------------------------------------


def tracers_alive() -> int:
    return sum(
        isinstance(thing, Tracer) for thing in gc.get_objects() if type(thing) in tracer_types()
    )


@functools.cache
def tracer_types() -> frozenset[type]:
    found, pending = set(), [Tracer]
    while pending:
        pending += (cls := pending.pop()).__subclasses__()
        found.add(cls)
    return frozenset(found)


@each_call
def test_a_thousand_calls_leave_nothing_behind(transform: str) -> None:
    # JAX keeps what it traced in caches of a bounded size.
    calls, allowed = (20, 100_000) if IS_JAX else (1000, 500)

    def run(times: int) -> None:
        for _ in range(times):
            # A new function each time: nothing may be remembered by the identity of a function.
            CALLS[transform](lambda x: fnp.sum(fnp.sin(x) * x), POINT)

    run(5 if IS_JAX else 50)
    gc.collect()
    tracers, blocks = tracers_alive(), sys.getallocatedblocks()
    run(calls)
    gc.collect()
    grown = sys.getallocatedblocks() - blocks
    assert tracers_alive() <= tracers
    assert grown < allowed, f"{grown} blocks of memory stayed after {calls} calls"


@pytest.mark.skipif(IS_JAX, reason="JAX keeps references in its caches until a collection")
@each_call
def test_tracers_and_big_arrays_die_without_the_cycle_collector(transform: str) -> None:
    """A cycle would keep the arrays of a trace until some later collection."""
    gc.collect()
    before = tracers_alive()
    gc.disable()
    try:
        for _ in range(20):
            CALLS[transform](lambda x: fnp.sum(fnp.sin(x) * x), POINT)
        assert tracers_alive() - before == 0
    finally:
        gc.enable()


needs_numpy_memory = pytest.mark.skipif(
    IS_JAX, reason="tracemalloc does not see the buffers of XLA"
)
MEGA = 1_000_000


def peak_arrays(call: Callable[[], Any]) -> float:
    """The peak of memory in arrays of a million float64, beyond what was there before."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = call()
        peak = tracemalloc.get_traced_memory()[1] - before
        del result
    finally:
        tracemalloc.stop()
    return peak / (8 * MEGA)


@needs_numpy_memory
def test_jvp_over_a_thousand_steps_holds_a_few_arrays() -> None:
    x = np.linspace(0.0, 0.5, MEGA)  # where x*x + 0.25 stays bounded

    def f(x: Any) -> Any:
        for _ in range(500):
            x = x * x
            x = 1.0 - x
        return x

    assert peak_arrays(lambda: fgrad.jvp(f, (x,), (x,))) < 9


@needs_numpy_memory
def test_grad_of_a_thousand_additions_keeps_no_array() -> None:
    x, c = np.linspace(0.0, 1.0, MEGA), np.ones(MEGA)

    def f(x: Any) -> Any:
        for _ in range(1000):
            x = x + c
        return fnp.sum(x)

    assert peak_arrays(lambda: fgrad.grad(f)(x)) < 7


@needs_numpy_memory
def test_grad_keeps_one_array_for_each_step_that_reads_one() -> None:
    x = np.linspace(0.0, 1.0, MEGA)

    def f(x: Any) -> Any:
        for _ in range(20):
            x = fnp.sin(x)
            x = x + 0.5
        return fnp.sum(x)

    assert peak_arrays(lambda: fgrad.grad(f)(x)) < 20 + 8


@needs_numpy_memory
def test_checkpoint_keeps_only_the_inputs_of_a_stretch() -> None:
    x = np.linspace(0.0, 1.0, MEGA)

    @fgrad.checkpoint
    def stretch(x: Any) -> Any:
        for _ in range(10):
            x = fnp.sin(x)
        return x

    def f(x: Any) -> Any:
        for _ in range(10):
            x = stretch(x)
        return fnp.sum(x)

    assert peak_arrays(lambda: fgrad.grad(f)(x)) < 10 + 10 + 12


# ---- pickling ----------------------------------------------------------------------------------


def module_level(x: Any) -> Any:
    return fnp.tanh(x) @ fnp.ones(3) + 2.0


@pytest.mark.skipif(IS_JAX, reason="the jaxprs of JAX do not pickle")
@each_call
def test_jaxprs_pickle(transform: str) -> None:
    def program(x: Any) -> Any:
        return CALLS[transform](loss, x)

    if transform in ("make_jaxpr", "eval_shape"):
        program = loss
    jaxpr = fgrad.make_jaxpr(program)(POINT)
    again = pickle.loads(pickle.dumps(jaxpr))
    assert str(again) == str(jaxpr)


@pytest.mark.skipif(IS_JAX, reason="the executables of JAX do not pickle")
def test_compiled_functions_pickle() -> None:
    compiled = fgrad.jit(fgrad.value_and_grad(module_level)).lower(POINT).compile()
    again = pickle.loads(pickle.dumps(compiled))
    for left, right in zip(again(POINT), compiled(POINT), strict=True):
        assert_array_equal(left, right)
    assert_allclose(again(POINT)[0], np.tanh(POINT).sum() + 2.0)


@fgrad.grad
def decorated(x: Any) -> Any:
    return fnp.sum(x**3)


def weighted(x: Any, y: Any) -> Any:
    return fnp.sum(x * x * y)


MADE = {
    "grad": (lambda: fgrad.grad(module_level), POINT),
    "value_and_grad": (lambda: fgrad.value_and_grad(module_level, argnums=(0,)), POINT),
    "vmap of grad": (lambda: fgrad.vmap(fgrad.grad(module_level)), np.stack([POINT, -POINT])),
    "vmap over columns": (lambda: fgrad.vmap(module_level, in_axes=1), np.stack([POINT] * 4, 1)),
    "hessian": (lambda: fgrad.hessian(module_level), POINT),
    "jacfwd of jacrev": (lambda: fgrad.jacfwd(fgrad.jacrev(module_level)), POINT),
    "checkpoint": (lambda: fgrad.grad(fgrad.checkpoint(module_level)), POINT),
    "named_call": (lambda: fgrad.named_call(module_level, name="part"), POINT),
    "decorated": (lambda: decorated, POINT),
    "grad of decorated": (lambda: fgrad.jacfwd(decorated), POINT),
    "partial": (lambda: functools.partial(fgrad.grad(weighted), y=POINT), POINT),
    "grad of partial": (lambda: fgrad.grad(functools.partial(weighted, y=POINT)), POINT),
}


@pytest.mark.skipif(IS_JAX, reason="what the transforms of JAX return does not pickle")
@pytest.mark.parametrize("name", MADE)
def test_jit_of_transformed_functions_pickles(name: str) -> None:
    make, x = MADE[name]
    compiled = fgrad.jit(make())
    wants = fgrad.tree.leaves(compiled(x))
    assert wants
    for again in (
        pickle.loads(pickle.dumps(compiled)),
        copy.copy(compiled),
        copy.deepcopy(compiled),
    ):
        assert repr(again) == repr(compiled)
        for got, want in zip(fgrad.tree.leaves(again(x)), wants, strict=True):
            assert_array_equal(got, want)


@pytest.mark.skipif(IS_JAX, reason="what the transforms of JAX return does not pickle")
def test_a_wrapper_of_a_transformed_function_is_not_pickled_as_that() -> None:
    slope = fgrad.grad(module_level)

    @functools.wraps(slope)
    def twice(x: Any) -> Any:
        return 2.0 * slope(x)

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(fgrad.jit(twice))


def test_results_pickle_and_copy() -> None:
    x = fnp.sin(POINT)
    for again in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert_array_equal(again, x)
        assert isinstance(again, fgrad.Array)
        if not IS_JAX:
            assert not again.flags.writeable


# ---- memory that is never shared ---------------------------------------------------------------

VIEWS: dict[str, Callable[..., Any]] = {
    "identity": lambda x: x,
    "asarray": fnp.asarray,
    "reshape": lambda x: fnp.reshape(x, (3, 2)),
    "ravel": fnp.ravel,
    "transpose": fnp.transpose,
    "swapaxes": lambda x: fnp.swapaxes(x, 0, 1),
    "moveaxis": lambda x: fnp.moveaxis(x, 0, 1),
    "squeeze": lambda x: fnp.squeeze(fnp.expand_dims(x, 0), 0),
    "expand_dims": lambda x: fnp.expand_dims(x, 0),
    "broadcast_to": lambda x: fnp.broadcast_to(x, (2, 2, 3)),
    "flip": fnp.flip,
    "real": fnp.real,
    "diagonal": fnp.diagonal,
    "index": lambda x: fnp.asarray(x)[0],
    "slice": lambda x: fnp.asarray(x)[:, ::2],
    "ellipsis": lambda x: fnp.asarray(x)[..., None],
    "T": lambda x: fnp.asarray(x).T,
    "atleast_2d": fnp.atleast_2d,
    "split": lambda x: fnp.split(x, 3, axis=1),
    "in a tree": lambda x: {"a": x, "b": [x, (x,)]},
    "astype": lambda x: fnp.asarray(x).astype(x.dtype),
}
WAYS: dict[str, Callable[..., Any]] = {
    "plain": lambda f, x: f(x),
    "jit": lambda f, x: fgrad.jit(f)(x),
    "jit, second call": lambda f, x: (g := fgrad.jit(f), g(x), g(x))[2],
    "vmap": lambda f, x: fgrad.vmap(lambda y, n: f(y), in_axes=(None, 0))(x, np.ones(1)),
    "vmap, mapped": lambda f, x: fgrad.vmap(f)(x[None]),
    "jvp": lambda f, x: fgrad.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: fgrad.vjp(f, x)[0],
    "linearize": lambda f, x: fgrad.linearize(f, x)[0],
    "value_and_grad, aux": lambda f, x: fgrad.value_and_grad(
        lambda y: (fnp.sum(y), f(y)), has_aux=True
    )(x),
    "pullback": lambda f, x: fgrad.vjp(lambda y: 1.0 * y, x * 1.0)[1](x),
    "pushforward": lambda f, x: fgrad.linearize(f, x * 1.0)[1](x),
    "linear_transpose": lambda f, x: fgrad.linear_transpose(lambda y: 1.0 * y, x)(x),
    "grad": lambda f, x: fgrad.grad(lambda y: fnp.sum(y * x))(x * 1.0),
    "closed over": lambda f, x: fgrad.jit(lambda: f(x))(),
    "jacrev": lambda f, x: fgrad.jacrev(lambda y: y)(x),
}


@beyond_jax("JAX may wrap the memory of a NumPy array without a copy")
@pytest.mark.parametrize("way", list(WAYS))
def test_no_result_shares_memory_with_a_writable_input(way: str) -> None:
    shared = []
    for name, view in VIEWS.items():
        x = RNG.normal(size=(2, 3))
        if way == "plain" and name in ("identity", "in a tree"):
            continue  # no function of the library is called
        result = WAYS[way](view, x)
        leaves = tree_util.tree_leaves(result)
        assert leaves
        before = [np.array(leaf) for leaf in leaves]
        for leaf in leaves:
            if isinstance(leaf, np.ndarray):
                assert not leaf.flags.writeable, (way, name)
                with pytest.raises(ValueError, match="WRITEABLE"):
                    leaf.setflags(write=True)
        x[...] = 99.0
        if not all(map(np.array_equal, before, leaves)):
            shared.append(name)
    if IS_JAX:  # which of them share depends on the alignment of the memory
        raise AssertionError(shared)
    assert not shared


@beyond_jax("JAX may wrap the memory of a NumPy array without a copy")
def test_changing_an_input_after_the_call_changes_nothing() -> None:
    x, c = RNG.normal(size=3), RNG.normal(size=3)
    x0, c0 = x.copy(), c.copy()

    def f(x: Any) -> Any:
        return x * x * c

    value, pull = fgrad.vjp(f, x)
    linear_value, push = fgrad.linearize(f, x)
    compiled = fgrad.jit(f)
    compiled(x)
    compiled_pull = fgrad.jit(lambda ct: pull(ct))
    compiled_pull(np.ones(3))
    lowered = fgrad.jit(f).lower(x).compile()
    jaxpr = str(fgrad.make_jaxpr(f)(x))
    x[...] = 1e6
    c[...] = -1e6
    if IS_JAX:
        raise AssertionError("depends on the alignment of the memory")
    assert_allclose(value, x0 * x0 * c0)
    assert_allclose(linear_value, x0 * x0 * c0)
    assert_allclose(pull(np.ones(3))[0], 2 * x0 * c0)
    assert_allclose(compiled_pull(np.ones(3))[0], 2 * x0 * c0)
    assert_allclose(push(np.ones(3)), 2 * x0 * c0)
    assert_allclose(compiled(x0), x0 * x0 * c0)
    assert_allclose(lowered(x0), x0 * x0 * c0)
    assert jaxpr


def test_a_pullback_may_be_called_many_times() -> None:
    _, pull = fgrad.vjp(lambda x: {"a": fnp.sin(x), "b": x * x}, POINT)
    cts = {"a": np.ones(3), "b": np.zeros(3)}
    for _ in range(3):
        assert_allclose(pull(cts)[0], np.cos(POINT), rtol=1e-14)
    assert_allclose(pull({"a": np.zeros(3), "b": np.ones(3)})[0], 2 * POINT, rtol=1e-14)


# ---- arguments of grad -------------------------------------------------------------------------


def three(x: Any, y: Any, z: Any) -> Any:
    return fnp.sum(x * y) + fnp.sum(y * z) * 2.0


XYZ = tuple(RNG.normal(size=(3, 4)))
SLOPES = (XYZ[1], XYZ[0] + 2 * XYZ[2], 2 * XYZ[1])


@pytest.mark.parametrize("argnums", [0, 1, 2, -1, -3])
def test_argnums_as_a_number(argnums: int) -> None:
    assert_allclose(fgrad.grad(three, argnums)(*XYZ), SLOPES[argnums])
    assert_allclose(fgrad.value_and_grad(three, argnums=argnums)(*XYZ)[1], SLOPES[argnums])
    assert_allclose(fgrad.jit(fgrad.grad(three, argnums))(*XYZ), SLOPES[argnums])


@pytest.mark.parametrize("argnums", [(0,), (0, 2), (2, 0), (-1, 0), (0, 1, 2), [1, 2]])
def test_argnums_as_a_sequence(argnums: Any) -> None:
    got = fgrad.grad(three, argnums)(*XYZ)
    assert isinstance(got, tuple)
    assert len(got) == len(argnums)
    for slope, number in zip(got, argnums, strict=True):
        assert_allclose(slope, SLOPES[number])


@pytest.mark.parametrize("argnums", [3, -4, (0, 3)])
def test_argnums_out_of_range_are_refused(argnums: Any) -> None:
    with pytest.raises(TypeOrValue, match="argnums"):
        fgrad.grad(three, argnums)(*XYZ)


def test_grad_passes_keyword_arguments() -> None:
    def f(x: Any, *, scale: Any, shift: Any = 0.0) -> Any:
        return fnp.sum(x * scale + shift)

    assert_allclose(fgrad.grad(f)(POINT, scale=3.0), np.full(3, 3.0))
    assert_allclose(fgrad.grad(f)(POINT, scale=POINT, shift=1.0), POINT)


def test_has_aux() -> None:
    def f(x: Any) -> Any:
        return fnp.sum(x * x), {"x": x, "twice": 2 * x, "label": None}

    (value, aux), slope = fgrad.value_and_grad(f, has_aux=True)(POINT)
    assert_allclose(value, (POINT**2).sum())
    assert_allclose(slope, 2 * POINT)
    assert_allclose(aux["twice"], 2 * POINT)
    assert aux["label"] is None
    slope, aux = fgrad.grad(f, has_aux=True)(POINT)
    assert_allclose(aux["x"], POINT)
    value, pull, aux = fgrad.vjp(f, POINT, has_aux=True)
    assert_allclose(pull(1.0)[0], 2 * POINT)
    assert_allclose(aux["x"], POINT)
    value, slope, aux = fgrad.jvp(f, (POINT,), (POINT,), has_aux=True)
    assert_allclose(slope, 2 * (POINT**2).sum())
    assert_allclose(aux["x"], POINT)
    value, push, aux = fgrad.linearize(f, POINT, has_aux=True)
    assert_allclose(push(POINT), 2 * (POINT**2).sum())
    for jacobian in (fgrad.jacfwd, fgrad.jacrev):
        matrix, aux = jacobian(lambda x: (x * x, 3 * x), has_aux=True)(POINT)
        assert_allclose(matrix, np.diag(2 * POINT))
        assert_allclose(aux, 3 * POINT)
    matrix, aux = fgrad.hessian(f, has_aux=True)(POINT)
    assert_allclose(matrix, 2 * np.eye(3), atol=1e-15)


def test_holomorphic() -> None:
    z = 0.5 + 0.75j
    assert_allclose(fgrad.grad(lambda z: z**3, holomorphic=True)(z), 3 * z**2)
    assert_allclose(fgrad.grad(fnp.exp, holomorphic=True)(z), np.exp(z))
    zs = RNG.normal(size=3) + 1j * RNG.normal(size=3)
    for jacobian in (fgrad.jacfwd, fgrad.jacrev):
        assert_allclose(jacobian(fnp.sin, holomorphic=True)(zs), np.diag(np.cos(zs)))
    with pytest.raises(TypeError):
        fgrad.grad(lambda x: x * x, holomorphic=True)(1.0)
    with pytest.raises(TypeError):
        fgrad.grad(lambda z: z * z)(z)


def test_the_gradient_towards_a_complex_argument_is_not_conjugated() -> None:
    # f = Re(z)^2 + 3 Im(z): df/dRe - i df/dIm
    slope = fgrad.grad(lambda z: fnp.real(z) ** 2 + 3.0 * fnp.imag(z))(2.0 + 1.0j)
    assert_allclose(slope, 4.0 - 3.0j)


def test_integer_arguments() -> None:
    with pytest.raises(TypeError):
        fgrad.grad(lambda n: n * 1.5)(3)
    with pytest.raises(TypeError):
        fgrad.grad(lambda n: fnp.sum(n * 1.5))(np.arange(3))
    slope = fgrad.grad(lambda n: fnp.sum(n * 1.5), allow_int=True)(np.arange(3))
    assert slope.dtype == FLOAT0
    assert slope.shape == (3,)
    both = fgrad.grad(lambda t: fnp.sum(t[0] * t[1]), allow_int=True)((POINT, np.arange(3)))
    assert_allclose(both[0], [0.0, 1.0, 2.0])
    assert both[1].dtype == FLOAT0


def test_a_result_that_is_no_scalar_is_refused() -> None:
    for f in (lambda x: x, lambda x: x[:1], lambda x: (fnp.sum(x), x)):
        with pytest.raises(TypeError):
            fgrad.grad(f)(POINT)
    with pytest.raises(TypeError):
        fgrad.grad(lambda x: fnp.sum(x) > 0)(POINT)


def test_zero_gradients_have_the_shape_of_their_argument() -> None:
    got = fgrad.grad(lambda t: 1.0 + fnp.sum(t["a"]))({"a": POINT, "b": np.ones((2, 3), "float32")})
    assert got["b"].shape == (2, 3)
    assert got["b"].dtype == np.float32
    assert_array_equal(got["b"], 0.0)
    assert float(fgrad.grad(lambda x: 3.0)(1.0)) == 0.0
    assert_array_equal(fgrad.jvp(lambda x: fnp.ones(2), (1.0,), (1.0,))[1], np.zeros(2))


def test_known_values_drive_python_control_flow() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        n = 0
        while total < 3.0 and n < 10:
            total = total + x * x if x > 0 else total - x
            n += 1
        return total

    for x, want in ((1.2, 2 * 1.2 * 3), (-0.7, -5.0)):
        assert_allclose(fgrad.grad(f)(x), want, rtol=1e-12)
        assert_allclose(fgrad.jvp(f, (x,), (1.0,))[1], want, rtol=1e-12)


@beyond_jax("a tracer of JAX takes no format")
def test_known_values_can_be_printed_and_used_as_numbers_of_python() -> None:
    def f(x: Any) -> Any:
        shown.append(f"{x:.2f}")
        shown.append(str(round(float(fgrad.lax.stop_gradient(x)), 1)))
        return fnp.sum(fnp.arange(4.0)[: int(fgrad.lax.stop_gradient(x))] * x)

    shown: list[str] = []
    assert float(fgrad.grad(f)(3.25)) == 3.0
    assert float(fgrad.jvp(f, (3.25,), (1.0,))[1]) == 3.0
    assert shown == ["3.25", "3.2"] * 2


def test_an_unknown_value_cannot_drive_python_control_flow() -> None:
    error = error_class("TracerBoolConversionError", jax.errors.TracerBoolConversionError)
    for transform in (fgrad.jit, lambda f: lambda x: fgrad.vmap(f)(x[None])):
        with pytest.raises(error):
            transform(lambda x: x if fnp.sum(x) > 0 else -x)(POINT)


# ---- other derivative transforms ---------------------------------------------------------------


def test_jacobians_of_trees() -> None:
    def f(p: Any) -> Any:
        return {"y": p["w"] @ p["x"], "n": fnp.sum(p["x"] ** 2)}

    p = {"w": RNG.normal(size=(2, 3)), "x": RNG.normal(size=3)}
    for jacobian in (fgrad.jacfwd, fgrad.jacrev, fgrad.jacobian):
        got = jacobian(f)(p)
        assert_allclose(got["y"]["x"], p["w"])
        assert_allclose(got["y"]["w"], np.einsum("ij,k->ijk", np.eye(2), p["x"]))
        assert_allclose(got["n"]["x"], 2 * p["x"])
        assert_array_equal(got["n"]["w"], np.zeros((2, 3)))


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_jacobians_take_argnums(argnums: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        return x * fnp.sum(y)

    x, y = RNG.normal(size=3), RNG.normal(size=2)
    want = (np.eye(3) * y.sum(), np.outer(x, np.ones(2)))
    for jacobian in (fgrad.jacfwd, fgrad.jacrev):
        got = jacobian(f, argnums=argnums)(x, y)
        if isinstance(argnums, int):
            assert_allclose(got, want[argnums])
        else:
            assert_allclose(got[0], want[0])
            assert_allclose(got[1], want[1])


def test_hessian() -> None:
    def f(x: Any) -> Any:
        return fnp.sum(fnp.sin(x)) * fnp.sum(x)

    s, c = np.sin(POINT), np.cos(POINT)
    want = np.diag(-s * POINT.sum()) + np.add.outer(c, c)
    for second in (
        fgrad.hessian(f),
        fgrad.jacfwd(fgrad.grad(f)),
        fgrad.jacrev(fgrad.jacrev(f)),
        fgrad.jacrev(fgrad.jacfwd(f)),
        fgrad.jit(fgrad.hessian(f)),
    ):
        assert_allclose(second(POINT), want, rtol=1e-12, atol=1e-14)


def test_linear_transpose() -> None:
    w = RNG.normal(size=(2, 3))
    (got,) = fgrad.linear_transpose(lambda x: w @ x, POINT)(np.array([1.0, 2.0]))
    assert_allclose(got, np.array([1.0, 2.0]) @ w)
    with pytest.raises(Exception, match=r"."):
        fgrad.linear_transpose(fnp.sin, POINT)(POINT)


def test_stop_gradient() -> None:
    stop = fgrad.lax.stop_gradient
    assert float(fgrad.grad(lambda x: stop(x) * x)(3.0)) == 3.0
    assert float(fgrad.grad(lambda x: stop({"a": x})["a"] * x)(3.0)) == 3.0
    assert float(fgrad.jvp(lambda x: stop(x), (3.0,), (1.0,))[1]) == 0.0
    assert float(fgrad.grad(fgrad.grad(lambda x: stop(x) * x * x))(3.0)) == 6.0


def test_tangents_and_cotangents_must_fit() -> None:
    for wrong in ((np.ones(2),), (POINT, POINT), POINT.astype("float32"), ([POINT],)):
        with pytest.raises(TypeOrValue):
            fgrad.jvp(loss, (POINT,), wrong)
    _, pull = fgrad.vjp(lambda x: (x, fnp.sum(x)), POINT)
    for wrong_ct in (POINT, (POINT,), (POINT, np.ones(3)), (np.ones(2), 1.0)):
        with pytest.raises(TypeOrValue):
            pull(wrong_ct)


# ---- axes of vmap ------------------------------------------------------------------------------

BATCH = RNG.normal(size=(4, 3, 2))


@pytest.mark.parametrize("in_axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out_axis", [0, 1, -1, -2])
def test_vmap_moves_axes(in_axis: int, out_axis: int) -> None:
    got = fgrad.vmap(fnp.sin, in_axes=in_axis, out_axes=out_axis)(BATCH)
    assert_allclose(got, np.moveaxis(np.sin(BATCH), in_axis, out_axis), rtol=1e-14)
    got = fgrad.vmap(fnp.transpose, in_axes=in_axis, out_axes=out_axis)(BATCH)
    rows = np.moveaxis(BATCH, in_axis, 0).transpose(0, 2, 1)
    assert_allclose(got, np.moveaxis(rows, 0, out_axis))


def test_vmap_with_an_unmapped_argument() -> None:
    w = RNG.normal(size=(3, 2))
    got = fgrad.vmap(lambda x, w: x @ w.T, in_axes=(0, None))(BATCH, w)
    assert_allclose(got, BATCH @ w.T, rtol=1e-13)
    got = fgrad.vmap(lambda w, x: x @ w.T, in_axes=(None, 0))(w, BATCH)
    assert_allclose(got, BATCH @ w.T, rtol=1e-13)


def test_vmap_axes_in_trees() -> None:
    tree = {"a": BATCH, "b": (BATCH.transpose(1, 0, 2), np.ones(2)), "none": None}

    def f(t: Any, s: Any) -> Any:
        return {"sum": t["a"] + t["b"][0] + t["b"][1], "s": s}

    axes = ({"a": 0, "b": (1, None), "none": None}, None)
    got = fgrad.vmap(f, in_axes=axes, out_axes={"sum": 1, "s": None})(tree, 5.0)
    assert_allclose(got["sum"], np.moveaxis(2 * BATCH + 1.0, 0, 1), rtol=1e-14)
    assert float(got["s"]) == 5.0
    assert np.shape(got["s"]) == ()
    prefix = fgrad.vmap(lambda t: t["a"] * t["b"], in_axes=({"a": 0, "b": 0},))
    assert_allclose(prefix({"a": BATCH, "b": BATCH}), BATCH**2)


def test_vmap_maps_keyword_arguments() -> None:
    got = fgrad.vmap(lambda x, *, y: x + y)(BATCH, y=np.arange(4.0))
    assert_allclose(got, BATCH + np.arange(4.0)[:, None, None])


def test_vmap_of_a_result_that_is_not_mapped() -> None:
    got = fgrad.vmap(lambda x: (x, 7.0, np.ones(2)))(BATCH)
    assert_array_equal(got[1], np.full(4, 7.0))
    assert_array_equal(got[2], np.ones((4, 2)))
    with pytest.raises(ValueError, match="None"):
        fgrad.vmap(lambda x: x, out_axes=None)(BATCH)


def test_vmap_with_axis_size() -> None:
    assert_array_equal(fgrad.vmap(lambda x: x, in_axes=None, axis_size=3)(2.0), np.full(3, 2.0))
    assert_array_equal(fgrad.vmap(lambda: fnp.ones(2), axis_size=3)(), np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"(?i)siz|axis"):
        fgrad.vmap(lambda x: x, axis_size=3)(BATCH)


def test_vmap_over_no_examples() -> None:
    empty = np.zeros((0, 3))
    assert fgrad.vmap(lambda x: fnp.sum(x) * fnp.ones(2))(empty).shape == (0, 2)
    assert fgrad.vmap(fgrad.grad(loss))(empty).shape == (0, 3)
    assert fgrad.jit(fgrad.vmap(lambda x: x @ np.ones((3, 2))))(empty).shape == (0, 2)


@pytest.mark.parametrize(
    ("in_axes", "args"),
    [
        (0, (np.ones((2, 3)), np.ones((3, 3)))),
        (2, (np.ones((2, 3)), np.ones((2, 3)))),
        (-3, (np.ones((2, 3)), np.ones((2, 3)))),
        ((0,), (np.ones(3), np.ones(3))),
        ((None, None), (np.ones(3), np.ones(3))),
        (0, (np.ones(3), 1.0)),
        (("a", 0), (np.ones(3), np.ones(3))),
        (({"k": 0}, 0), (np.ones(3), np.ones(3))),
    ],
)
def test_vmap_refuses_axes_that_do_not_fit(in_axes: Any, args: Any) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)):
        fgrad.vmap(lambda x, y: x, in_axes=in_axes)(*args)


def test_vmap_in_vmap() -> None:
    x, y = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3))
    inner = fgrad.vmap(lambda a, b: a @ b, in_axes=(None, 0))
    assert_allclose(fgrad.vmap(inner, in_axes=(0, None))(x, y), x @ y.T, rtol=1e-13)
    outer = fgrad.vmap(lambda a: fgrad.vmap(lambda b: fnp.sum(a * b))(y))
    assert_allclose(outer(x), x @ y.T, rtol=1e-13)


def test_the_number_of_equations_does_not_depend_on_the_batch_size() -> None:
    f = fgrad.vmap(fgrad.grad(lambda x: fnp.sum(fnp.tanh(x @ np.ones((3, 3))) ** 2)))
    few, many = (len(fgrad.make_jaxpr(f)(np.ones((n, 3))).jaxpr.eqns) for n in (2, 200))
    assert few == many > 0


def test_per_example_gradients() -> None:
    w, x = RNG.normal(size=3), RNG.normal(size=(4, 3))

    def f(w: Any, x: Any) -> Any:
        return fnp.tanh(fnp.sum(w * x))

    want = (1 - np.tanh(x @ w) ** 2)[:, None] * x
    assert_allclose(fgrad.vmap(fgrad.grad(f), in_axes=(None, 0))(w, x), want, rtol=1e-12)
    assert_allclose(fgrad.jit(fgrad.vmap(fgrad.grad(f), in_axes=(None, 0)))(w, x), want, rtol=1e-12)


# ---- jit ---------------------------------------------------------------------------------------


class Counted:
    """A function that counts how often it is traced."""

    def __init__(self, f: Callable[..., Any]):
        self.f = f
        self.calls = 0
        functools.update_wrapper(self, f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.f(*args, **kwargs)


def test_jit_traces_once_per_signature() -> None:
    f = Counted(lambda x: x * 2.0)
    g = fgrad.jit(f)
    for x in (np.ones(3), np.zeros(3), np.arange(3.0)):
        assert_array_equal(g(x), 2 * x)
    assert f.calls == 1
    for n, other in enumerate(
        (np.ones(4), np.ones((3, 1)), np.ones(3, "float32"), np.arange(3), 1.0)
    ):
        g(other)
        g(other)
        assert f.calls == 2 + n


def power(x: Any, n: int, *, flip: bool = False) -> Any:
    for _ in range(n):
        x = -x * x if flip else x * x
    return x


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnums": (1,)},
        {"static_argnames": "n"},
        {"static_argnums": -1},
    ],
)
def test_static_arguments_are_python_values(options: dict[str, Any]) -> None:
    f = Counted(lambda x, n: power(x, n))
    f.__signature__ = __import__("inspect").signature(lambda x, n: None)  # type: ignore[attr-defined]
    g = fgrad.jit(f, **options)
    assert_allclose(g(1.5, 2), 1.5**4)
    assert_allclose(g(1.25, 2), 1.25**4)
    assert f.calls == 1
    assert_allclose(g(1.5, 3), 1.5**8)
    assert f.calls == 2
    if "static_argnames" in options:
        assert_allclose(g(1.5, n=3), 1.5**8)


def test_static_keyword_arguments() -> None:
    g = fgrad.jit(power, static_argnames=("n", "flip"))
    assert_allclose(g(1.5, 1, flip=True), -(1.5**2))
    assert_allclose(g(1.5, n=1, flip=False), 1.5**2)
    assert_allclose(g(x=1.5, n=1), 1.5**2)


def test_static_arguments_of_equal_value_and_other_type_are_different() -> None:
    g = fgrad.jit(lambda x, kind: x + len(type(kind).__name__), static_argnums=1)
    assert [float(g(0.0, kind)) for kind in (1, True, 1.0)] == [3.0, 4.0, 5.0]


def test_an_unhashable_static_argument_is_refused() -> None:
    with pytest.raises(TypeOrValue, match="hash"):
        fgrad.jit(lambda x, n: x, static_argnums=1)(1.0, [2])


def test_static_functions_and_strings() -> None:
    g = fgrad.jit(lambda f, x, mode: f(x) if mode == "on" else x, static_argnums=(0, 2))
    assert_allclose(g(fnp.sin, POINT, "on"), np.sin(POINT))
    assert_allclose(g(fnp.cos, POINT, "on"), np.cos(POINT))
    assert_array_equal(g(fnp.sin, POINT, "off"), POINT)


class Model:
    """Methods as functions: plain, of the class, static, and as a property of a call."""

    def __init__(self, scale: float):
        self.scale = scale

    @functools.partial(fgrad.jit, static_argnums=0)
    def by_identity(self, x: Any) -> Any:
        return self.scale * x

    @functools.partial(fgrad.jit, static_argnums=(0,), static_argnames=("times",))
    def with_name(self, x: Any, times: int = 1) -> Any:
        return sum([self.scale * x] * times)

    @staticmethod
    @fgrad.jit
    def shared(x: Any) -> Any:
        return 3.0 * x

    @classmethod
    @functools.partial(fgrad.jit, static_argnums=0)
    def of_class(cls, x: Any) -> Any:
        return x * len(cls.__name__)

    def plain(self, x: Any) -> Any:
        return self.scale * x * x

    def __call__(self, x: Any) -> Any:
        return self.plain(x) + 1.0


def test_jit_on_methods() -> None:
    two, three = Model(2.0), Model(3.0)
    assert_array_equal(two.by_identity(POINT), 2 * POINT)
    assert_array_equal(three.by_identity(POINT), 3 * POINT)
    assert_allclose(two.with_name(POINT, times=3), 6 * POINT)
    assert_array_equal(two.shared(POINT), 3 * POINT)
    assert_array_equal(Model.of_class(POINT), 5 * POINT)
    assert_allclose(fgrad.jit(two.plain)(POINT), 2 * POINT**2)
    assert_allclose(fgrad.jit(two)(POINT), 2 * POINT**2 + 1)
    assert_allclose(fgrad.grad(lambda x: fnp.sum(two.by_identity(x)))(POINT), np.full(3, 2.0))
    assert_allclose(fgrad.vmap(two)(POINT), 2 * POINT**2 + 1)


def test_jit_through_partial_and_as_a_decorator() -> None:
    @fgrad.jit
    def one(x: Any) -> Any:
        return x + 1.0

    @functools.partial(fgrad.jit, static_argnames=["n"])
    def two(x: Any, n: int) -> Any:
        return x * n if n > 1 else x

    assert one(1.0) == 2.0
    assert two(2.0, n=3) == 6.0
    assert_allclose(fgrad.jit(functools.partial(power, n=2))(1.5), 1.5**4)
    assert_allclose(
        fgrad.jit(functools.partial(three, POINT, z=POINT))(POINT), 3 * (POINT**2).sum()
    )
    assert one.__name__ == "one"


def test_jit_as_a_decorator_with_arguments() -> None:
    @fgrad.jit(static_argnums=1)
    def f(x: Any, n: int) -> Any:
        return x * n if n else x

    assert f(2.0, 3) == 6.0


def test_jit_takes_the_arguments_for_hardware() -> None:
    f = fgrad.jit(lambda x, y: x + y, donate_argnums=(0,), inline=True)
    x = np.ones(3)
    assert_array_equal(f(x, 1.0), np.full(3, 2.0))
    assert_array_equal(x, np.ones(3))


def test_jit_with_keyword_arguments_and_defaults() -> None:
    f = fgrad.jit(
        lambda x, y=2.0, *rest, scale=1.0, **more: (x + y + sum(rest) + sum(more.values())) * scale
    )
    assert float(f(1.0)) == 3.0
    assert float(f(1.0, y=4.0)) == 5.0
    assert float(f(1.0, 4.0, 5.0, scale=2.0)) == 20.0
    assert float(f(1.0, extra=5.0)) == 8.0


def test_jit_in_jit_in_jit() -> None:
    inner = fgrad.jit(lambda x, y: fnp.sin(x) * y)
    middle = fgrad.jit(lambda x: inner(x, x) + inner(x, 2.0))
    outer = fgrad.jit(lambda x: fnp.sum(middle(x) * middle(x)))
    want = ((np.sin(POINT) * (POINT + 2)) ** 2).sum()
    assert_allclose(outer(POINT), want, rtol=1e-13)
    slope = 2 * np.sin(POINT) * (POINT + 2) * (np.cos(POINT) * (POINT + 2) + np.sin(POINT))
    assert_allclose(fgrad.grad(outer)(POINT), slope, rtol=1e-12)
    assert_allclose(fgrad.jit(fgrad.grad(outer))(POINT), slope, rtol=1e-12)


@beyond_jax("JAX caches the trace with the tracer of the first call")
def test_a_jitted_function_that_captures_an_outer_variable_is_not_cached_with_it() -> None:
    captured: list[Any] = []
    inner = fgrad.jit(lambda y: y * captured[-1])

    def f(x: Any) -> Any:
        captured.append(x)
        return inner(2.0)

    assert float(fgrad.grad(f)(3.0)) == 2.0
    captured.clear()
    assert float(fgrad.grad(f)(5.0)) == 2.0
    assert float(f(7.0)) == 14.0


def test_lower_shows_the_stages() -> None:
    lowered = fgrad.jit(loss).lower(POINT)
    assert_allclose(lowered.compile()(POINT), (np.sin(POINT) * POINT).sum(), rtol=1e-13)
    if not IS_JAX:
        names = [eqn.primitive.name for eqn in lowered.jaxpr.eqns]
        assert names.count("sin") == names.count("mul") == 1
        assert "def " in lowered.source
        assert "sin" in lowered.source


def test_disable_jit() -> None:
    f = Counted(lambda x: x + 1.0)
    g = fgrad.jit(f)
    with fgrad.disable_jit():
        g(1.0)
        g(1.0)
    assert f.calls == 2
    g(1.0)
    g(1.0)
    assert f.calls == 3


@pytest.mark.skipif(IS_JAX, reason="JAX keeps its statistics elsewhere")
def test_jit_explains_why_it_compiled_again() -> None:
    g = fgrad.jit(lambda x, y: x + y)
    g(POINT, 1.0)
    g(POINT, 2.0)
    g(np.ones(4), 1.0)
    g(POINT.astype("float32"), 1.0)
    info = g.cache_info()
    assert (info.hits, info.misses, info.size) == (1, 3, 3)
    reasons = g.explain_misses()
    assert len(reasons) == 3
    assert "x" in reasons[1]
    assert "(4,)" in reasons[1] or "[4]" in reasons[1]
    assert "f32" in reasons[2] or "float32" in reasons[2]


# ---- value types -------------------------------------------------------------------------------


class Pair(NamedTuple):
    first: Any
    second: Any


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    name: str = dataclasses.field(default="layer", metadata={"static": True})


@tree_util.register_pytree_node_class
class Registered:
    def __init__(self, x: Any, label: str):
        self.x, self.label = x, label

    def tree_flatten(self) -> tuple[Any, Any]:
        return (self.x,), self.label

    @classmethod
    def tree_unflatten(cls, label: str, children: Any) -> Registered:
        return cls(children[0], label)


TREES: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda x, y: {"b": x, "a": y},
    "list": lambda x, y: [x, y],
    "tuple": lambda x, y: (x, y),
    "named tuple": Pair,
    "dataclass": lambda x, y: Layer(x, y, "name"),
    "registered class": lambda x, y: (Registered(x, "label"), y),
    "ordered dict": lambda x, y: collections.OrderedDict([("z", x), ("a", y)]),
    "default dict": lambda x, y: collections.defaultdict(list, z=x, a=y),
    "with None": lambda x, y: [None, x, {"n": None, "y": y}],
    "nested": lambda x, y: {"p": Pair([x], {"k": (y, None)}), "empty": [], "e": ()},
}


def tree_product(tree: Any) -> Any:
    total = 0.0
    for n, leaf in enumerate(tree_util.tree_leaves(tree)):
        total = total + fnp.sum(fnp.sin(leaf)) * (n + 1.0)
    return total


def leaves_in_order(tree: Any) -> Iterator[np.ndarray[Any, Any]]:
    for leaf in tree_util.tree_leaves(tree):
        yield np.asarray(leaf)


@pytest.mark.parametrize("kind", list(TREES))
def test_trees_go_through_every_transform(kind: str) -> None:
    x, y = RNG.normal(size=3), RNG.normal(size=(2, 2))
    tree = TREES[kind](x, y)
    structure = tree_util.tree_structure(tree)
    want = [np.cos(leaf) * (n + 1) for n, leaf in enumerate(leaves_in_order(tree))]

    def check(got: Any, expected: list[Any] = want) -> None:
        assert tree_util.tree_structure(got) == structure
        assert type(got) is type(tree)
        for left, right in zip(leaves_in_order(got), expected, strict=True):
            assert_allclose(left, right, rtol=1e-12)

    check(fgrad.grad(tree_product)(tree))
    check(fgrad.jit(fgrad.grad(tree_product))(tree))
    check(fgrad.vjp(tree_product, tree)[1](1.0)[0])
    check(fgrad.jacrev(tree_product)(tree))
    check(fgrad.jacfwd(tree_product)(tree))
    doubled = [2 * leaf for leaf in leaves_in_order(tree)]

    def double(t: Any) -> Any:
        return tree_util.tree_map(lambda a: 2 * a, t)

    check(fgrad.jit(double)(tree), doubled)
    check(fgrad.jvp(double, (tree,), (tree,))[1], doubled)
    check(fgrad.linearize(double, tree)[1](tree), doubled)
    check(fgrad.linear_transpose(double, tree)(tree)[0], doubled)
    check(fgrad.checkpoint(double)(tree), doubled)
    stacked = tree_util.tree_map(lambda a: np.stack([a, -a]), tree)
    mapped = fgrad.vmap(double)(stacked)
    check(tree_util.tree_map(lambda a: a[1], mapped), [-leaf for leaf in doubled])


def test_static_fields_of_a_dataclass_are_python_values() -> None:
    def f(layer: Layer) -> Any:
        return fnp.sum(layer.w) if layer.name == "sum" else fnp.sum(layer.w * layer.w)

    assert_allclose(fgrad.jit(f)(Layer(POINT, 1.0, "sum")), POINT.sum())
    slope = fgrad.jit(fgrad.grad(f))(Layer(POINT, 1.0, "square"))
    assert slope.name == "square"
    assert_allclose(slope.w, 2 * POINT)


@pytest.mark.parametrize("leaf", ["text", object(), print, {1, 2}])
def test_a_leaf_that_is_no_array_is_refused(leaf: Any) -> None:
    for transform in ("grad", "jit", "vjp"):
        with pytest.raises(TypeError):
            CALLS[transform](lambda t: fnp.sum(t[0]), (POINT, leaf))


def test_an_unregistered_dataclass_is_refused() -> None:
    @dataclasses.dataclass
    class Unknown:
        w: Any

    with pytest.raises(TypeError) as caught:
        fgrad.grad(lambda p: fnp.sum(p.w))(Unknown(POINT))
    if not IS_JAX:
        assert "register_dataclass" in str(caught.value)


def test_python_scalars_stay_weak() -> None:
    x = np.ones(3, "float32")
    for f in (
        lambda s: x * s,
        fgrad.jit(lambda s: x * s),
        lambda s: fgrad.jvp(lambda t: x * t, (s,), (1.0,))[0],
    ):
        assert f(2.0).dtype == np.float32
    slope = fgrad.grad(lambda s: fnp.sum(x * s))(2.0)
    assert (x * slope).dtype == np.float32
    assert fgrad.grad(lambda s: s * s)(2.0).dtype == np.float64


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_derivatives_keep_dtype_and_shape(dtype: str) -> None:
    x = np.ones((2, 3), dtype)

    def f(x: Any) -> Any:
        return fnp.sum(fnp.real(x * x * x))

    for got in (
        fgrad.grad(f)(x),
        fgrad.jit(fgrad.grad(f))(x),
        fgrad.jvp(lambda x: x * x, (x,), (x,))[1],
        fgrad.vjp(lambda x: x * x, x)[1](x)[0],
        fgrad.vmap(fgrad.grad(f))(x),
    ):
        assert got.dtype == np.dtype(dtype)
        assert got.shape == (2, 3)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_jacobians_in_batches(batch_size: int) -> None:
    def f(tree: Any) -> Any:
        x, y = tree["x"], tree["y"]
        return (fnp.sin(x) * y, x.sum() * y), {"aux": x[0]}

    tree = {"x": np.array([0.3, 0.7, 1.1]), "y": np.float64(2.0)}
    for transform in (fgrad.jacfwd, fgrad.jacrev):
        whole, aux = transform(f, has_aux=True)(tree)
        for run in (lambda g: g, fgrad.jit):
            batched = run(transform(f, has_aux=True, batch_size=batch_size))
            parts, batched_aux = batched(tree)
            assert batched_aux["aux"] == aux["aux"]
            for a, b in zip(fgrad.tree.leaves(parts), fgrad.tree.leaves(whole), strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-14)
    g = lambda x: fnp.sum(fnp.sin(x) ** 3)  # noqa: E731
    np.testing.assert_allclose(
        fgrad.hessian(g, batch_size=batch_size)(tree["x"]), fgrad.hessian(g)(tree["x"]), rtol=1e-14
    )
