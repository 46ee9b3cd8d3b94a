"""Clusters of equations that run in blocks, on one thread and on several."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fgrad
import fgrad.numpy as fnp
from fgrad.blocks import run_blocks
from fgrad.compiler import compile as compile_module
from fgrad.compiler import compiled, fuse, kernels
from fgrad.compiler.fuse import Fused
from fgrad.ir.check import check_jaxpr
from fgrad.ir.jaxpr import eval_jaxpr


@pytest.fixture
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Arrays of two elements are large, blocks have few rows, and threads are always worth it."""
    monkeypatch.setattr(fuse, "SMALLEST", 2)
    monkeypatch.setattr(fuse, "_SMALL", 1)
    monkeypatch.setattr(kernels, "CACHE", 300)
    monkeypatch.setattr(kernels, "_LEAST_ELEMENTS", 1)
    monkeypatch.setattr(kernels, "_WORTH_THREADS", 0)
    fgrad.config.update("num_threads", 3)
    yield
    fgrad.config.update("num_threads", 0)


def clusters_of(jaxpr: Any) -> list[Any]:
    return [e for e in compiled(jaxpr).fused.eqns if type(e.primitive) is Fused]


STEPS = [
    lambda a, b: a + b,
    lambda a, b: b - a,
    lambda a, b: a * 0.5,
    lambda a, b: -a,
    lambda a, b: fnp.sin(a) - b,
    lambda a, b: fnp.maximum(a, b),
    lambda a, b: a**2,
    lambda a, b: a.reshape(7, 3, 5).reshape(21, 5),
    lambda a, b: a.T.reshape(21, 5),
    lambda a, b: a[::-1] + b,
    lambda a, b: a[:, ::-1],
    lambda a, b: a * b[0],
    lambda a, b: a + b[:, :1],
    lambda a, b: fnp.where(a > b, a, b),
    lambda a, b: a / (1.0 + b * b),
    lambda a, b: a - a.max(axis=1, keepdims=True),
    lambda a, b: a - fnp.min(b, axis=1)[:, None],
    lambda a, b: fgrad.nn.relu(a) - fgrad.nn.sigmoid(b),
    lambda a, b: fnp.logaddexp(a, b),
    lambda a, b: (a.reshape(7, 3, 5) * b.reshape(7, 3, 5)[:, :, :1]).reshape(21, 5),
    lambda a, b: a.astype(np.float32).astype(np.float64),
    lambda a, b: (a @ b.T[:, :5]) * 0.1,
    lambda a, b: a.at[0].set(b[1]),
    lambda a, b: fnp.max(a) + b,
    lambda a, b: fnp.broadcast_to(fnp.max(a, axis=0), (21, 5)) * b,
]
# Sums over the axis itself are split, and rows are summed by products: they may differ in their last bits.
SUMS = [
    lambda a, b: fgrad.nn.softmax(a),
    lambda a, b: a - fgrad.nn.logsumexp(b, axis=1, keepdims=True),
    lambda a, b: a - a.mean(axis=0),
    lambda a, b: a * b.sum(),
    lambda a, b: a / (1.0 + fnp.sum(b * b, axis=(0, 1))),
]


def program_of(seed: int, steps: list[Any]) -> tuple[Any, list[Any]]:
    random = Random(seed)
    chosen = [
        (random.choice(steps), random.random(), random.random())
        for _ in range(random.randint(2, 20))
    ]
    kept = random.sample(range(len(chosen)), 2)

    def program(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, first, second in chosen:
            a, b = (values[int(len(values) * place**0.5)] for place in (first, second))
            values.append(step(a, b))
        return values[-1], *[values[2 + k] for k in kept]

    return program, list(np.random.default_rng(seed).normal(size=(2, 21, 5)))


@pytest.mark.usefixtures("tiny_blocks")
@given(st.integers(0, 2**24 - 1))
def test_blocks_compute_the_same_bits(seed: int) -> None:
    program, args = program_of(seed, STEPS)
    before = np.array(args)
    jaxpr = fgrad.jit(program).lower(*args).jaxpr
    want = eval_jaxpr(compiled(jaxpr).simplified, *args)
    for got, expected in zip(compiled(jaxpr).run(*args), want, strict=True):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(args, before)


@pytest.mark.usefixtures("tiny_blocks")
@given(st.integers(0, 2**24 - 1))
def test_blocks_of_gradients(seed: int) -> None:
    program, args = program_of(seed, STEPS + SUMS)

    def loss(x: Any, y: Any) -> Any:
        return sum(fnp.sum(fnp.tanh(out)) for out in program(x, y))

    jaxpr = fgrad.jit(fgrad.value_and_grad(loss, (0, 1))).lower(*args).jaxpr
    want = eval_jaxpr(compiled(jaxpr).simplified, *args)
    scale = max(float(np.abs(w).max()) for w in want)
    for got, expected in zip(compiled(jaxpr).run(*args), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11 * scale)


def softmax_cross_entropy(x: Any, y: Any) -> Any:
    return -fnp.mean(fnp.sum(fgrad.nn.log_softmax(x) * y, axis=1))


def chain(x: Any, y: Any) -> Any:
    return fnp.sum(fnp.tanh(x) * fnp.exp(-x * x) + fnp.log1p(x * x) * y)


def layer_norm(x: Any, y: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    normal = centred / fnp.sqrt(fnp.mean(centred * centred, axis=1, keepdims=True) + 1e-5)
    return fnp.sum(normal * y[0] + y[1])


LARGE = {"softmax": softmax_cross_entropy, "chain": chain, "layer norm": layer_norm}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", LARGE)
def test_a_large_program_is_one_pass_or_few(name: str, dtype: Any) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 1001, 311)).astype(dtype)
    f = fgrad.value_and_grad(LARGE[name])
    lowered = fgrad.jit(f).lower(x, y)
    clusters = clusters_of(lowered.jaxpr)
    assert 1 <= len(clusters) <= 2
    check_jaxpr(compiled(lowered.jaxpr).fused)
    value, gradient = fgrad.jit(f)(x, y)
    wanted_value, wanted = f(x, y)
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(value, wanted_value, rtol=tolerance)
    np.testing.assert_allclose(
        gradient, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max()
    )


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 1201, 811))
    f = fgrad.jit(fgrad.value_and_grad(chain))
    assert "run_blocks" in f.lower(x, y).source
    want = f(x, y)
    for threads in (1, 2, 3, 5):
        fgrad.config.update("num_threads", threads)
        try:
            results = f(x, y)
        finally:
            fgrad.config.update("num_threads", 0)
        for got, expected in zip(results, want, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_sums_are_at_least_as_good_as_numpys() -> None:
    # Large numbers that cancel, and small ones that are left.
    rng = np.random.default_rng(3)
    half = rng.normal(size=400_000) * 1e10
    x = np.concatenate([half, -half, rng.normal(size=200_000)])
    rng.shuffle(x)
    f = fgrad.jit(lambda x: fnp.sum(fnp.abs(x) * 1.0) - 0.0)
    g = fgrad.jit(lambda x: fnp.sum((x * 2.0) * 0.5))
    exact, size = math.fsum(x), math.fsum(np.abs(x))
    assert clusters_of(g.lower(x).jaxpr)
    # A pairwise sum of n numbers is off by at most eps * log2(n) times the sum of their sizes.
    bound = np.finfo(float).eps * np.log2(x.size) * size
    assert abs(float(g(x)) - exact) <= max(abs(float(np.sum(x)) - exact), bound / 50)
    assert abs(float(f(x)) - size) <= bound / 50


def test_a_nan_from_a_zero_cotangent_is_seen_in_a_block() -> None:
    x = np.linspace(0.0, 2.0, 400_000)

    def f(x: Any) -> Any:
        return fnp.sum(fnp.where(x > 1.0, fnp.sqrt(x), 0.0) + fnp.cos(x))

    gradient = fgrad.jit(fgrad.grad(f))
    assert clusters_of(gradient.lower(x).jaxpr)
    np.testing.assert_array_equal(gradient(x), fgrad.grad(f)(x))
    assert np.isfinite(gradient(x)).all()


def test_warnings_are_those_of_the_program() -> None:
    x = np.linspace(-1.0, 1.0, 1_000_001)
    f = fgrad.jit(lambda x: fnp.sum(fnp.log(fnp.abs(x)) * 2.0 + x))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        f(x)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(x)
    gradient = fgrad.jit(fgrad.grad(lambda x: fnp.sum(fnp.sqrt(fnp.abs(x)) * x)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradient(x)


def test_a_result_takes_the_place_of_an_operand_that_dies() -> None:
    def f(x: Any) -> Any:
        product = x @ x
        return fnp.tanh(product * 0.1) + 1.0

    x = np.random.default_rng(0).normal(size=(400, 400))
    source = fgrad.jit(f).lower(x).source
    assert "np.empty((400, 400)" not in source
    np.testing.assert_array_equal(fgrad.jit(f)(x), f(x))


def test_fusion_is_off_in_32_bit_mode() -> None:
    x = np.linspace(0.0, 1.0, 400_000)
    with fgrad.enable_x64(False):
        got = fgrad.jit(lambda x: fnp.exp(x) * 2.0 + x)(x)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, fnp.exp(x) * 2.0 + x)


def test_a_program_can_be_compiled_without_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_module, "fuse", lambda jaxpr: jaxpr)
    x = np.linspace(0.0, 1.0, 400_000)
    f = fgrad.jit(lambda x: fnp.exp(x) * 2.0 + x)
    assert not clusters_of(f.lower(x).jaxpr)
    np.testing.assert_array_equal(f(x), fnp.exp(x) * 2.0 + x)


def test_eight_threads_call_eight_functions() -> None:
    rng = np.random.default_rng(0)
    small = [rng.normal(size=(7, 5 + k)) for k in range(6)]
    large = [rng.normal(size=(600, 500 + k)) for k in range(2)]
    functions = [
        fgrad.jit(fgrad.value_and_grad(lambda x, k=k: fnp.sum(fnp.tanh(x * k) ** 2 + fnp.cos(x))))
        for k in range(8)
    ]
    arguments = [*small, *large]
    want = [[np.array(r) for r in f(x)] for f, x in zip(functions, arguments, strict=True)]
    start = threading.Barrier(8)

    def work(own: int) -> int:
        start.wait()
        calls = 0
        for turn in range(1250):
            # Each thread calls all functions, in an order of its own; the large ones now and then.
            k = (own + turn) % (8 if turn % 100 < 8 else 6)
            for got, expected in zip(functions[k](arguments[k]), want[k], strict=True):
                assert np.array_equal(got, expected)
            calls += 1
        return calls

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 10_000


def test_several_threads_compile_one_function() -> None:
    x = np.linspace(0.0, 1.0, 300_000)
    f = fgrad.jit(lambda x: fnp.sum(fnp.exp(x) * x))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: float(f(x)), range(16)))
    assert len(set(results)) == 1
    np.testing.assert_allclose(results[0], np.sum(np.exp(x) * x), rtol=1e-13)


def test_a_compiled_function_may_call_another_in_its_threads() -> None:
    x = np.linspace(0.0, 1.0, 400_000)
    inner = fgrad.jit(lambda x: fnp.sum(fnp.sin(x) * x))

    def host(v: Any) -> Any:
        return np.asarray(inner(x) + v)

    def f(x: Any) -> Any:
        first = fnp.sum(fnp.cos(x) * x)
        return first + fgrad.pure_callback(host, fgrad.ShapeDtypeStruct((), np.float64), first)

    compiled_f = fgrad.jit(f)
    np.testing.assert_allclose(
        compiled_f(x), 2 * np.sum(np.cos(x) * x) + np.sum(np.sin(x) * x), rtol=1e-12
    )


FORKING = """
import os, sys
import numpy as np
import fgrad, fgrad.numpy as fnp

fgrad.config.update("num_threads", 2)
x = np.linspace(0.0, 1.0, 1_000_000)
f = fgrad.jit(lambda x: fnp.sum(fnp.exp(x) * x))
want = float(f(x))
child = os.fork()
if not child:
    os._exit(0 if float(f(x)) == want else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_threads_are_found_again_after_a_fork() -> None:
    # In a process of its own, without the libraries that tests are compared with.
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("value", [-1, "2", 1.5, True])
def test_the_number_of_threads_is_a_number(value: Any) -> None:
    with pytest.raises(fgrad.errors.ConfigError, match="num_threads"):
        fgrad.config.update("num_threads", value)


def peak_of(f: Any, *args: Any) -> int:
    """The most memory that a call has beside its arguments."""
    f(*args)
    gc.collect()
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", LARGE)
def test_blocks_take_no_more_memory_than_whole_arrays(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 1001, 811))
    in_blocks = fgrad.jit(fgrad.value_and_grad(LARGE[name]))
    peak = peak_of(in_blocks, x, y)
    monkeypatch.setattr(compile_module, "fuse", lambda jaxpr: jaxpr)
    assert peak <= peak_of(fgrad.jit(fgrad.value_and_grad(LARGE[name])), x, y)


def test_the_pool_grows_with_the_flag() -> None:
    seen: set[int] = set()
    start = threading.Barrier(5, timeout=60)

    def kernel(first: int, last: int) -> None:
        # All shares meet here, or none goes on: each has a thread of its own.
        start.wait()
        seen.add(threading.get_ident())

    for threads in (2, 5):
        start = threading.Barrier(threads, timeout=60)
        seen.clear()
        fgrad.config.update("num_threads", threads)
        try:
            run_blocks(kernel, threads)
        finally:
            fgrad.config.update("num_threads", 0)
        assert len(seen) == threads
