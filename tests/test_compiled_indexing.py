"""Indexing in compiled functions: calls of NumPy, slices for blocks, and the errors of eager mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad import lax
from fgrad.errors import IndexOutOfRangeError

rng = np.random.default_rng(11)
X = rng.standard_normal((6, 5, 4))
ROWS = np.array([0, 5, -1, 2, 2])
COLUMNS = np.array([4, 0, -5, 1, 1])


def source(f: Any, *args: Any) -> str:
    return fgrad.jit(f).lower(*args).source


READS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rows": (lambda x, i: x[i], (X, ROWS)),
    "rows of a transposed array": (lambda x, i: x.T[i], (X, ROWS % 4)),
    "rows by small integers": (lambda x, i: x[i], (X, ROWS.astype(np.int8))),
    "rows by wide unsigned integers": (lambda x, i: x[i], (X, (ROWS % 6).astype(np.uint64))),
    "columns": (lambda x, i: x[:, i], (X, COLUMNS)),
    "a table of rows": (lambda x, i: x[i], (X, ROWS.reshape(5, 1))),
    "one row": (lambda x, i: x[i], (X, np.int64(-2))),
    "one element": (lambda x, i, j, k: x[i, j, k], (X, 1, np.int32(-1), np.uint8(3))),
    "pairs": (lambda x, i, j: x[i, j], (X, ROWS, COLUMNS)),
    "pairs of which one is a scalar": (lambda x, i, j: x[i, j], (X, np.int64(3), COLUMNS)),
    "pairs apart": (lambda x, i, j: x[i, :, j], (X, ROWS, ROWS % 4)),
}


@pytest.mark.parametrize("name", READS)
def test_reads_and_their_gradients(name: str) -> None:
    f, (x, *index) = READS[name]
    expected = f(np.asarray(x), *index)
    got = fgrad.jit(f)(x, *index)
    np.testing.assert_array_equal(got, expected)
    weights = rng.standard_normal(np.shape(expected))
    gradient = fgrad.jit(fgrad.grad(lambda x: fnp.sum(f(x, *index) * weights)))(x)
    summed = np.zeros_like(x)
    places = np.broadcast_to(f(np.arange(x.size).reshape(x.shape), *index), weights.shape)
    for place, weight in zip(places.ravel(), weights.ravel(), strict=True):
        summed.flat[place] += weight
    np.testing.assert_allclose(gradient, summed, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("index", [np.array([0, 6]), np.array([-7]), np.int64(6)])
def test_out_of_range_is_the_error_of_eager_mode(index: Any) -> None:
    def read(x: Any, i: Any) -> Any:
        return x[i]

    with pytest.raises(IndexOutOfRangeError) as eager:
        fnp.asarray(X)[index]
    assert "axis 0 with size 6" in str(eager.value)
    with pytest.raises(IndexOutOfRangeError, match=r"axis 0 with size 6.*\(6, 5, 4\)"):
        fgrad.jit(read)(X, index)
    gradient = fgrad.jit(lambda u, i: fgrad.linear_transpose(lambda x: x[i], X)(u))
    with pytest.raises(IndexOutOfRangeError, match="axis 0 with size 6"):
        gradient(np.ones((*index.shape, 5, 4)), index)


def test_blocks_are_slices() -> None:
    def f(x: Any, k: Any) -> Any:
        return lax.dynamic_slice(x, (k, 0, 1), (2, 5, 3))

    assert "gather" not in source(f, X, np.int64(1))
    for k in (-20, -3, 0, 3, 5, 40):
        start = min(max(k + 6 if k < 0 else k, 0), 4)
        for given in (k, np.int64(k), np.int8(k)):
            np.testing.assert_array_equal(fgrad.jit(f)(X, given), X[start : start + 2, :, 1:4])


@pytest.mark.parametrize("start", [np.int8(127), np.uint8(255), np.uint64(2**64 - 1)])
def test_positions_of_blocks_do_not_overflow(start: Any) -> None:
    x = np.arange(300.0)
    f = fgrad.jit(lambda x, k: lax.dynamic_slice(x, (k,), (280,)))
    first = min(int(start), 20)
    np.testing.assert_array_equal(f(x, start), x[first : first + 280])
    put = fgrad.jit(lambda x, k: lax.dynamic_update_slice(x, np.full(50, -1.0), (k,)))
    first = min(int(start), 250)
    expected = x.copy()
    expected[first : first + 50] = -1.0
    np.testing.assert_array_equal(put(x, start), expected)


def test_blocks_at_positions_of_each_example() -> None:
    starts = np.array([[0, 2], [3, 1], [9, -1]])

    def read(x: Any, start: Any) -> Any:
        return lax.dynamic_slice(x, start, (3, 2))

    def write(x: Any, block: Any, start: Any) -> Any:
        return lax.dynamic_update_slice(x, block, start)

    x = X[:, :, 0]
    blocks = rng.standard_normal((3, 3, 2))
    got = fgrad.jit(fgrad.vmap(read, (None, 0)))(x, starts)
    np.testing.assert_array_equal(got, np.stack([read(x, s) for s in starts]))
    put = fgrad.jit(fgrad.vmap(write, (None, 0, 0)))(x, blocks, starts)
    rows = [write(x, b, s) for b, s in zip(blocks, starts, strict=True)]
    np.testing.assert_array_equal(put, np.stack(rows))
