"""Cholesky's factor and its gradient where LAPACK computes them: from 64 rows on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad.primitives.cholesky import Cholesky, CholeskyGradient, mirror

DTYPES = ["float32", "float64", "complex64", "complex128"]


def random(seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def definite(n: int, dtype: Any) -> Any:
    x = random(0, (n, n), dtype)
    return (x @ x.conj().T + n * np.eye(n, dtype=dtype)).astype(dtype)


def tolerance(dtype: Any) -> float:
    return 200.0 * float(np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [63, 64, 65, 100])
def test_the_factor_is_that_of_the_hermitian_part(n: int, dtype: str) -> None:
    a = definite(n, dtype)
    skewed = a + random(1, (n, n), dtype)
    part = (skewed + skewed.conj().T) / 2
    given = skewed.copy()
    for order in (given, np.asfortranarray(given)):
        factor = np.asarray(fnp.linalg.cholesky(order))
        assert factor.dtype == dtype
        assert not np.triu(factor, 1).any()
        rtol = tolerance(dtype)
        np.testing.assert_allclose(factor @ factor.conj().T, part, rtol, atol=rtol * n)
        np.testing.assert_array_equal(order, skewed)
        compiled = fgrad.jit(fnp.linalg.cholesky)(order)
        np.testing.assert_array_equal(np.asarray(compiled), factor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 31, 32, 33, 80])
def test_one_matrix_and_a_batch_have_the_same_gradient(n: int, dtype: str) -> None:
    factor = np.linalg.cholesky(definite(n, dtype))
    g = random(2, (n, n), dtype)
    one = CholeskyGradient()(factor, g)
    (two,) = CholeskyGradient()(factor[None], g[None])
    rtol = tolerance(dtype)
    np.testing.assert_allclose(one, two, rtol, atol=rtol * np.abs(two).max())
    # What lies above the diagonals is not read.
    above = np.triu(np.full((n, n), np.nan, dtype), 1)
    np.testing.assert_array_equal(CholeskyGradient()(factor + above, g + above), one)
    np.testing.assert_array_equal(
        CholeskyGradient()((factor + above)[None], (g + above)[None])[0], two
    )


@pytest.mark.parametrize("n", [5, 70])
def test_the_gradient_of_the_logarithm_of_the_determinant_is_the_inverse(n: int) -> None:
    a = definite(n, "float64")

    def log_determinant(a: Any) -> Any:
        return 2.0 * fnp.sum(fnp.log(fnp.diag(fnp.linalg.cholesky(a))))

    inverse = np.linalg.inv(a)
    for transform in (fgrad.grad(log_determinant), fgrad.jit(fgrad.grad(log_determinant))):
        np.testing.assert_allclose(transform(a), inverse, 1e-11, atol=1e-13)
    t = random(3, (n, n), "float64")
    t = t + t.T
    _, moved = fgrad.jvp(fgrad.grad(log_determinant), (a,), (t,))
    np.testing.assert_allclose(moved, -inverse @ t @ inverse, 1e-10, atol=1e-13)
    again = fgrad.grad(lambda a: fnp.vdot(fgrad.grad(log_determinant)(a), t))(a)
    np.testing.assert_allclose(again, -inverse @ t @ inverse, 1e-10, atol=1e-13)


def test_a_matrix_without_a_factor_raises_or_gives_nan() -> None:
    bad = definite(70, "float64")
    bad[69, 69] = -1.0
    for f in (fnp.linalg.cholesky, fgrad.jit(fnp.linalg.cholesky)):
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            f(bad)
    found = Cholesky(strict=False)(bad)
    assert np.isnan(found[np.tril_indices(70)]).all()
    assert not np.triu(found, 1).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 32, 50, 64])
@pytest.mark.parametrize("order", "CF")
def test_a_triangle_is_mirrored(n: int, dtype: str, order: Any) -> None:
    x = random(4, (n, n), dtype)
    lower = np.tril(x)
    want = lower + np.tril(x, -1).conj().T
    want[np.diag_indices(n)] = want.diagonal().real
    got = np.array(x + np.triu(np.full((n, n), np.nan, dtype), 1), order=order)
    mirror(got)
    np.testing.assert_array_equal(got, want)
