"""Draws of many numbers, which run in blocks on several threads."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import special, stats
from support.modules import jax

import fgrad
from fgrad import random
from fgrad.blocks import aligned_rows
from fgrad.primitives import philox_draws, threefry
from fgrad.primitives.random_ranges import bits_between

IMPLEMENTATIONS = ("threefry2x32", "philox")
BLOCK = max(philox_draws.BLOCK, threefry.BLOCK)
#: Neither whole blocks nor an even number.
MANY = 4 * BLOCK + 1001
FLOATS = ("float16", "float32", "float64")
LEAST = 1e-4
#: The relative errors of XLA's inverse error function, which are largest in the tails.
ERFINV_OF_XLA = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-11}


def one(dtype: str) -> Any:
    return np.dtype(dtype).type(1)


def same(got: Any, expected: Any) -> None:
    a, b = np.asarray(got), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)


@pytest.fixture
def with_threads() -> Iterator[Callable[[int], None]]:
    yield lambda count: fgrad.config.update("num_threads", count)
    fgrad.config.update("num_threads", 0)


DRAWS: dict[str, Callable[[Any, int], Any]] = {
    **{
        f"bits of uint{n}": lambda k, count, n=n: random.bits(k, (count,), f"uint{n}")
        for n in (8, 16, 32, 64)
    },
    **{
        f"{name} {dtype}": lambda k, count, name=name, dtype=dtype: getattr(random, name)(
            k, (count,), dtype
        )
        for name in ("uniform", "normal")
        for dtype in (*FLOATS, "bfloat16")
    },
    "randint int64": lambda k, count: random.randint(k, (count,), -5, 1000, "int64"),
    "randint uint8": lambda k, count: random.randint(k, (count,), 3, 200, "uint8"),
    "uniform of a range": lambda k, count: random.uniform(k, (count,), "float64", 0.1, 3.7),
    "uniform of a range float32": lambda k, count: random.uniform(k, (count,), "float32", 0.1, 3.7),
    "split": lambda k, count: random.key_data(random.split(k, count)),
}


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", DRAWS)
def test_the_number_of_threads_changes_nothing(
    name: str, impl: str, with_threads: Callable[[int], None]
) -> None:
    key = random.key(7, impl=impl)
    with_threads(1)
    alone = np.asarray(DRAWS[name](key, MANY))
    for count in (2, 5):
        with_threads(count)
        same(DRAWS[name](key, MANY), alone)


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@pytest.mark.parametrize("size", [10, BLOCK // 2 - 7, BLOCK + 5])
def test_a_map_over_keys_draws_what_each_draws_alone(
    size: int, impl: str, with_threads: Callable[[int], None]
) -> None:
    with_threads(3)
    keys = random.split(random.key(3, impl=impl), 5)
    for name in ("bits of uint32", "uniform float64", "normal float32"):
        mapped = np.asarray(fgrad.vmap(lambda k, draw=DRAWS[name]: draw(k, size))(keys))
        for key, row in zip(keys, mapped, strict=True):
            same(row, DRAWS[name](key, size))


@pytest.mark.parametrize("count", [BLOCK, BLOCK + 1, MANY])
def test_blocks_of_threefry_have_the_bits_of_jax(count: int) -> None:
    ours, theirs = random.key(5), jax.random.key(5)
    for width in (8, 16, 32, 64):
        dtype = f"uint{width}"
        same(random.bits(ours, (count,), dtype), jax.random.bits(theirs, (count,), dtype))
    for dtype in FLOATS:
        same(random.uniform(ours, (count,), dtype), jax.random.uniform(theirs, (count,), dtype))
        got = np.asarray(random.normal(ours, (count,), dtype), float)
        want = np.asarray(jax.random.normal(theirs, (count,), dtype), float)
        np.testing.assert_allclose(got, want, rtol=ERFINV_OF_XLA[dtype], atol=1e-9)
        # What XLA gives up in the tails is not given up here.
        unit = jax.random.uniform(theirs, (count,), dtype, np.nextafter(-one(dtype), one(dtype)))
        exact = np.sqrt(2.0) * special.erfinv(np.asarray(unit, float))
        np.testing.assert_allclose(got, exact, rtol=4 * float(np.finfo(dtype).eps), atol=0)
    keys = [np.asarray(random.key_data(random.split(ours, count)))]
    same(keys[0], jax.random.key_data(jax.random.split(theirs, count)))


def test_philox_blocks_are_numpys(with_threads: Callable[[int], None]) -> None:
    with_threads(2)
    key = random.key(11, impl="philox")
    words = np.asarray(random.key_data(key)).astype(np.uint64)
    pair = words[0::2] << np.uint64(32) | words[1::2]
    domain = np.array([0, 0, 0, 4], np.uint64)
    starts = np.random.Philox(key=pair, counter=domain)
    units, normals, numbers = [], [], []
    for first in range(0, MANY, philox_draws.BLOCK):
        count = min(philox_draws.BLOCK, MANY - first)
        source = np.random.SFC64()
        state = source.state
        state["state"]["state"] = starts.random_raw(4)
        for draws, draw in (
            (units, lambda g, n: g.random(n)),
            (normals, lambda g, n: g.standard_normal(n)),
            (numbers, lambda g, n: g.bit_generator.random_raw(n)),
        ):
            source.state = state
            draws.append(draw(np.random.Generator(source), count))
    same(random.uniform(key, (MANY,)), np.concatenate(units))
    same(random.normal(key, (MANY,)), np.concatenate(normals))
    same(random.bits(key, (MANY,), "uint64"), np.concatenate(numbers))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_philox_numbers_have_their_distribution(dtype: str) -> None:
    first, second, third = random.split(random.key(4, impl="philox"), 3)
    count = 400_001
    units = np.asarray(random.uniform(first, (count,), dtype), float)
    assert units.min() >= 0.0
    assert units.max() < 1.0
    assert stats.kstest(units, "uniform").pvalue > LEAST
    normals = np.asarray(random.normal(second, (count,), dtype), float)
    assert stats.kstest(normals, "norm").pvalue > LEAST
    # The ends: of so many numbers, those beyond 4 are Poisson with this mean.
    mean = 2 * count * stats.norm.sf(4.0)
    assert stats.poisson.ppf(LEAST, mean) <= (abs(normals) > 4.0).sum()
    assert (abs(normals) > 4.0).sum() <= stats.poisson.ppf(1 - LEAST, mean)
    counts = np.bincount(np.asarray(random.randint(third, (count,), 0, 10)), minlength=10)
    assert stats.chisquare(counts).pvalue > LEAST


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_philox_normals_of_a_block_are_independent(dtype: str) -> None:
    block = philox_draws.BLOCK
    x = np.asarray(random.normal(random.key(8, impl="philox"), (8 * block,), dtype), float)
    half = block // 2
    for step in (1, 2, half - 1, half, half + 1, block):
        for power in (1, 2):
            a, b = x[:-step] ** power, x[step:] ** power
            correlation = np.corrcoef(a, b)[0, 1] * np.sqrt(len(a))
            assert abs(correlation) < 4.5, (step, power)
    # Two numbers of one angle and one length: the square of the length is exponential.
    rows = x.reshape(8, 2, half)
    assert stats.kstest(((rows**2).sum(1) / 2).ravel(), "expon").pvalue > LEAST
    angles = np.arctan2(rows[:, 0], rows[:, 1]).ravel()
    assert stats.kstest(angles / (2 * np.pi) + 0.5, "uniform").pvalue > LEAST


def test_philox_blocks_of_one_key_and_of_others_do_not_meet() -> None:
    drawn = []
    for key in random.split(random.key(0, impl="philox"), 5):
        drawn += np.asarray(random.bits(key, (MANY,), "uint64"))[: 4 * BLOCK].tolist()
    # Of 2**64 numbers, a million are equal with a chance of 2e-8.
    assert len(set(drawn)) == len(drawn)


def test_few_numbers_of_sixteen_bits_and_many_stay_below_one() -> None:
    for count in (2000, MANY):
        for dtype in ("float16", "bfloat16"):
            units = random.uniform(random.key(1, impl="philox"), (count,), dtype)
            assert float(units.max()) < 1.0
            assert float(units.min()) >= 0.0


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
def test_threads_of_the_user_draw_at_the_same_time(
    impl: str, with_threads: Callable[[int], None]
) -> None:
    with_threads(3)
    keys = list(random.split(random.key(3, impl=impl), 8))
    alone = [np.asarray(random.normal(key, (MANY,), "float32")) for key in keys]
    with ThreadPoolExecutor(4) as pool:
        for got, want in zip(
            pool.map(lambda key: random.normal(key, (MANY,), "float32"), keys), alone, strict=True
        ):
            same(got, want)


def test_a_compiled_function_draws_on_threads(with_threads: Callable[[int], None]) -> None:
    def f(key: Any) -> Any:
        noise = random.normal(key, (MANY,))
        return (noise * 2.0 + 1.0).sum()

    want = float(f(random.key(2)))
    with_threads(3)
    np.testing.assert_allclose(float(fgrad.jit(f)(random.key(2))), want, rtol=1e-12)


FORKING = """
import os, sys
import numpy as np
from fgrad import config, random

config.update("num_threads", 2)
draw = lambda: np.asarray(random.normal(random.key(0, impl=sys.argv[1]), (300_000,)))
want = draw()
child = os.fork()
if not child:
    os._exit(0 if np.array_equal(draw(), want) else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
def test_a_forked_process_draws_the_same(impl: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, impl],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 7, 64, 1000])
def test_rows_start_at_lines_of_the_cache(size: int, dtype: str) -> None:
    rows = aligned_rows(3, size, dtype)
    for n, row in enumerate(rows):
        assert (row.shape, row.dtype) == ((size,), np.dtype(dtype))
        assert not row.ctypes.data % 64
        row.fill(n)
    for n, row in enumerate(rows):
        assert (row == n).all()
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(rows, 2))


def test_integers_of_a_range_come_in_any_order_of_memory() -> None:
    words = np.asfortranarray(np.random.default_rng(0).integers(0, 2**32, (3, 5), np.uint32))
    low, high, no = np.int32(-4), np.int32(9), np.bool_(False)
    want = (words.astype(np.int64) % 13 - 4).astype(np.int32)
    same(bits_between(np.uint32(0), words, low, high, no), want)
    # A higher word of one is 2**32.
    want = ((2**32 + words.astype(np.int64)) % 13 - 4).astype(np.int32)
    same(bits_between(np.asfortranarray(np.ones_like(words)), words, low, high, no), want)
