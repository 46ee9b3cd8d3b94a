"""Sums by products with ones: exact where they must be, accurate, and of the same bits on every run."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fgrad
import fgrad.numpy as fnp
from fgrad.primitives.sums import LONGEST, ONE_THREAD, summed, way_to_sum

SHAPES = st.lists(st.integers(1, 40), min_size=1, max_size=4).map(tuple)


def axes_of(rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sets(st.integers(0, rank - 1)).map(sorted).map(tuple)


@given(SHAPES.flatmap(lambda s: st.tuples(st.just(s), axes_of(len(s)))), st.booleans())
def test_sums_of_integers_in_floats_are_exact(case: Any, single: bool) -> None:
    shape, axes = case
    dtype = np.float32 if single else np.float64
    x = np.random.default_rng(len(shape)).integers(-9, 9, shape).astype(dtype)
    got = summed(x, axes) if axes else x
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, x.sum(axes))
    turned = np.asfortranarray(x)
    np.testing.assert_array_equal(summed(turned, axes) if axes else turned, x.sum(axes))
    program = lambda x: fnp.sum(x, axes)  # noqa: E731
    np.testing.assert_array_equal(fgrad.jit(program)(x), x.sum(axes))
    np.testing.assert_array_equal(fgrad.grad(lambda x: program(x).sum())(x), np.ones(shape))


@pytest.mark.parametrize("rows", [5, 300, 70_000])
@pytest.mark.parametrize("length", [2, 7, LONGEST, LONGEST + 1, 100, 512, 509])
def test_rows_of_every_length(rows: int, length: int) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (rows, length)).astype(np.float32)
    np.testing.assert_array_equal(summed(x, (1,)), x.sum(1))
    np.testing.assert_array_equal(summed(x.T.copy(), (0,)), x.sum(1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "axis"), [((4096, 10), 1), ((4096, 10), 0), ((1024, 320), 1), ((100_000, 3), 0)]
)
def test_hard_sums_are_at_least_as_accurate_as_those_of_numpy(
    dtype: Any, shape: tuple[int, int], axis: int
) -> None:
    assert way_to_sum(shape, (axis,)) is not None
    worst = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        # Numbers of many sizes and both signs, whose sums cancel.
        x = (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)
        exact = x.astype(np.longdouble).sum(axis)
        scale = np.abs(x).astype(np.longdouble).sum(axis)
        worst.append(
            [float((np.abs(s - exact) / scale).max()) for s in (summed(x, (axis,)), x.sum(axis))]
        )
    ours, numpys = np.max(worst, axis=0)
    # Both are some roundings of the largest partial sum.
    assert ours <= max(numpys, 8 * np.finfo(dtype).eps)


def test_not_a_number_and_infinity_stay() -> None:
    x = np.ones((300, 8))
    x[3, 2], x[7, 1], x[9, :2] = np.nan, np.inf, (np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        sums = summed(x, (1,))
    assert np.isnan(sums[[3, 9]]).all()
    assert sums[7] == np.inf
    assert (np.delete(sums, [3, 7, 9]) == 8).all()
    assert np.isnan(summed(x[:9], (0,))[2])
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(summed(x, (1,))[9])


BITS = """
import hashlib, numpy as np
from fgrad.primitives.sums import summed
rng = np.random.default_rng(0)
digest = hashlib.sha256()
for shape in [(900, 10), (5000, 3), (3000, 64), (2000, 100), (4, 2300), (200_000, 7)]:
    for dtype in (np.float32, np.float64):
        x = rng.normal(size=shape).astype(dtype)
        digest.update(summed(x, (0,)).tobytes() + summed(x, (1,)).tobytes())
print(digest.hexdigest())
"""


def test_the_same_bits_for_any_number_of_threads_of_blas() -> None:
    digests = set()
    for threads in ("1", "2", "4"):
        counts = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
        answer = subprocess.run(
            [sys.executable, "-c", BITS],
            env=os.environ | dict.fromkeys(counts, threads),
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(answer.stdout)
    assert len(digests) == 1


def test_products_are_below_the_size_that_blas_shares_among_threads() -> None:
    for shape in [(900, 10), (144, 64), (2, 4000), (2000, 8)]:
        for axis in (0, 1):
            way = way_to_sum(shape, (axis,))
            assert way is None or not way.at_once or shape[0] * shape[1] < ONE_THREAD


def test_truths_are_counted() -> None:
    x = np.random.default_rng(0).random((30, 40)) < 0.3
    for run in (fnp.sum, fgrad.jit(fnp.sum)):
        total = run(x)
        assert total == np.count_nonzero(x)
        assert total.dtype == np.int64
        assert run(np.array(True)) == 1
