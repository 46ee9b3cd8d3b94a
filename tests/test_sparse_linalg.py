"""Eigenvalues of large matrices and sparse systems, against JAX, NumPy and SciPy."""

from __future__ import annotations

import importlib
from typing import Any

import jax.experimental.sparse.linalg
import numpy as np
import pytest
import scipy.sparse
from support.modules import jax

import fgrad
from fgrad.errors import DTypeError, ShapeError
from fgrad.experimental.sparse_linalg import lobpcg_standard, spsolve
from fgrad.test_util import check_grads

RNG = np.random.default_rng(14)
SIZE = 60


def symmetric(values: Any, complex_too: bool = False) -> Any:
    """A matrix with given eigenvalues."""
    noise = RNG.normal(size=(len(values), len(values)))
    if complex_too:
        noise = noise + 1j * RNG.normal(size=noise.shape)
    q = np.linalg.qr(noise)[0]
    return (q * values) @ q.conj().T


SPECTRA = {
    "apart": np.linspace(-3.0, 5.0, SIZE),
    "negative": -np.linspace(1.0, 50.0, SIZE),
    "repeated": np.repeat([7.0, 7.0, 3.0, 1.0, -2.0], SIZE // 5),
    "decades": np.logspace(-8, 3, SIZE),
    "low rank": np.where(np.arange(SIZE) < 2, 4.0, 0.0),
    "zero": np.zeros(SIZE),
}


@pytest.mark.parametrize("complex_too", [False, True])
@pytest.mark.parametrize("name", SPECTRA)
def test_greatest_eigenvalues(name: str, complex_too: bool) -> None:
    a = symmetric(SPECTRA[name], complex_too)
    start = RNG.normal(size=(SIZE, 4)).astype(a.dtype)
    expected = np.sort(SPECTRA[name])[::-1][:4]
    for product in (a, lambda x: a @ x):
        values, vectors, steps = fgrad.jit(lambda x, p=product: lobpcg_standard(p, x, m=200))(start)
        scale = np.abs(SPECTRA[name]).max()
        np.testing.assert_allclose(values, expected, atol=1e-10 * scale + 1e-14)
        np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(4), atol=1e-12)
        np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-6 * scale)
        assert 0 <= int(steps) < 200
        assert values.dtype == np.float64


def test_eigenvalues_are_those_of_jax() -> None:
    a, start = symmetric(SPECTRA["apart"]), RNG.normal(size=(SIZE, 3))
    ours, theirs = (
        f(a, start, m=150)
        for f in (lobpcg_standard, jax.experimental.sparse.linalg.lobpcg_standard)
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-10)
    np.testing.assert_allclose(np.abs(ours[1].T @ np.asarray(theirs[1])), np.eye(3), atol=1e-5)
    assert [x.dtype for x in ours] == [x.dtype for x in theirs]
    assert int(ours[2]) <= 1.5 * int(theirs[2])


def test_the_module_is_where_jax_has_it() -> None:
    module = importlib.import_module("fgrad.experimental.sparse.linalg")
    assert module.lobpcg_standard is lobpcg_standard
    assert module is fgrad.experimental.sparse.linalg


def test_limits_and_precision() -> None:
    a, start = symmetric(SPECTRA["apart"]), RNG.normal(size=(SIZE, 3))
    assert int(lobpcg_standard(a, start, m=3)[2]) == 3
    few, many = (int(lobpcg_standard(a, start, tol=tol)[2]) for tol in (1e-6, 1e-14))
    assert few < many
    single = lobpcg_standard(a.astype(np.float32), start.astype(np.float32))
    assert single[0].dtype == single[1].dtype == np.float32
    np.testing.assert_allclose(single[0], np.linspace(-3.0, 5.0, SIZE)[:-4:-1], rtol=1e-5)
    both = fgrad.vmap(lambda x: lobpcg_standard(a, x)[0])(np.stack([start, start[::-1]]))
    np.testing.assert_allclose(both[0], both[1], rtol=1e-9)


def test_refusals_of_eigenvalues() -> None:
    a = np.eye(20)
    for match, call in {
        r"X has shape \(20, 4\); give \(n, k\)": lambda: lobpcg_standard(a, np.ones((20, 4))),
        r"X has shape \(20, 0\)": lambda: lobpcg_standard(a, np.ones((20, 0))),
        r"A has shape \(20, 20\) and X \(30, 2\)": lambda: lobpcg_standard(a, np.ones((30, 2))),
        r"A makes float64\(2,\) of X": lambda: lobpcg_standard(lambda x: x[0], np.ones((20, 2))),
    }.items():
        with pytest.raises(ShapeError, match=match):
            call()
    with pytest.raises(DTypeError, match=r"A is of float64 and X of float32"):
        lobpcg_standard(a, np.ones((20, 2), np.float32))


# ---- sparse systems ------------------------------------------------------------------------------


def system(size: int = 6) -> Any:
    dense = np.diag(np.arange(3.0, 3.0 + size)) + np.diag(RNG.normal(size=size - 2), 2)
    dense = dense + np.diag(RNG.normal(size=size - 1), -1)
    return scipy.sparse.csr_array(dense), RNG.normal(size=size)


def test_solutions_of_sparse_systems() -> None:
    a, b = system()
    dense = a.toarray()
    for f in (spsolve, fgrad.jit(spsolve)):
        np.testing.assert_allclose(f(a.data, a.indices, a.indptr, b), np.linalg.solve(dense, b))
    narrow = spsolve(a.data.astype(np.float32), a.indices, a.indptr, b.astype(np.float32))
    assert narrow.dtype == np.float32
    z = spsolve(a.data + 1j * a.data, a.indices, a.indptr, b)
    np.testing.assert_allclose(z, np.linalg.solve(dense * (1 + 1j), b))
    check_grads(lambda d, v: spsolve(d, a.indices, a.indptr, v), (a.data, b), order=2)
    sides, many = RNG.normal(size=(3, 6)), np.stack([a.data, 2.0 * a.data, 3.0 * a.data])
    rows = fgrad.vmap(lambda d, v: spsolve(d, a.indices, a.indptr, v))(many, sides)
    expected = [np.linalg.solve(n * dense, v) for n, v in zip((1, 2, 3), sides, strict=True)]
    np.testing.assert_allclose(rows, expected)
    theirs = jax.experimental.sparse.linalg.spsolve(a.data, a.indices, a.indptr, b)
    np.testing.assert_allclose(spsolve(a.data, a.indices, a.indptr, b), theirs, rtol=1e-10)


def test_refusals_of_sparse_systems() -> None:
    a, b = system()
    with pytest.raises(ShapeError, match=r"spsolve: data has shape"):
        spsolve(a.data, a.indices, a.indptr[1:], b)
    with pytest.raises(ShapeError, match=r"spsolve: data has shape"):
        spsolve(a.data[1:], a.indices, a.indptr, b)
