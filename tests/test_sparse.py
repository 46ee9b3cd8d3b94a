"""Sparse arrays: what they stand for, under all transforms, is what the dense ones give."""

from __future__ import annotations

from typing import Any

import jax.experimental.sparse as jsparse
import numpy as np
import pytest
import scipy.sparse
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, ConcretizationTypeError, DTypeError, ShapeError
from fgrad.experimental import sparse
from fgrad.test_util import check_grads

RNG = np.random.default_rng(5)
A = RNG.normal(size=(4, 5)) * (RNG.uniform(size=(4, 5)) < 0.4)
B = RNG.normal(size=(5, 3)) * (RNG.uniform(size=(5, 3)) < 0.6)
V = np.array([0.0, 2.0, 0.0, -1.0, 3.0])
DENSE = RNG.normal(size=(5, 3))


def same(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-12)


def test_forms_are_those_of_jax() -> None:
    for x, options in [
        (A, {}),
        (V, {}),
        (A, {"nse": 12}),
        (A, {"n_dense": 1}),
        (RNG.normal(size=(2, 3, 4)), {"n_dense": 2}),
        (np.float32([[0, 1]]), {"index_dtype": np.int64}),
    ]:
        ours = sparse.BCOO.fromdense(x, **options)
        theirs = jsparse.BCOO.fromdense(jax.numpy.asarray(x), **options)
        same(ours.data, theirs.data)
        same(ours.indices, theirs.indices)
        for name in ("shape", "nse", "ndim", "size", "n_sparse", "n_dense", "n_batch"):
            assert getattr(ours, name) == getattr(theirs, name)
        assert repr(ours) == repr(theirs)
        same(ours.todense(), x)
    rows = sparse.BCSR.fromdense(A)
    wanted = jsparse.BCSR.fromdense(jax.numpy.asarray(A))
    for name in ("data", "indices", "indptr"):
        same(getattr(rows, name), getattr(wanted, name))
    same(rows.todense(), A)


PRODUCTS: dict[str, tuple[Any, Any]] = {
    "matrix and vector": (A, V),
    "matrix and matrix": (A, DENSE),
    "vector and matrix": (V, DENSE),
    "vector and vector": (V, DENSE[:, 0]),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "BCOO") for name in PRODUCTS),
        *((name, "BCSR") for name in PRODUCTS if name.startswith("matrix")),
    ],
)
def test_products_with_dense_arrays(name: str, kind: str) -> None:
    left, right = PRODUCTS[name]
    m = getattr(sparse, kind).fromdense(left)
    same(m @ right, left @ right)
    same(fgrad.jit(lambda m, x: m @ x)(m, right), left @ right)
    if right.ndim == 2:
        same(
            right.T @ m.to_bcoo().T if kind == "BCSR" else right.T @ (m.T if left.ndim == 2 else m),
            right.T @ left.T,
        )
    along = lambda d: m.tree_unflatten(m.tree_flatten()[1], (d, *m.tree_flatten()[0][1:]))  # noqa: E731
    check_grads(lambda d, x: along(d) @ x, (np.asarray(m.data), right), 2)
    many = np.stack([right, -right])
    same(fgrad.vmap(lambda x: m @ x)(many), np.stack([left @ right, -(left @ right)]))
    data = np.stack([np.asarray(m.data), 2.0 * np.asarray(m.data)])
    same(fgrad.vmap(lambda d: along(d) @ right)(data)[1], 2.0 * (left @ right))
    got = fgrad.vjp(lambda d: along(d) @ right, m.data)[1](np.ones_like(left @ right) + 0.0)[0]
    theirs = getattr(jsparse, kind).fromdense(jax.numpy.asarray(left)) if left.ndim == 2 else None
    if theirs is not None and kind == "BCOO":
        pull = jax.vjp(
            lambda d: jsparse.BCOO((d, theirs.indices), shape=theirs.shape) @ right, theirs.data
        )[1]
        same(got, pull(np.ones_like(left @ right))[0])


def test_products_of_sparse_arrays() -> None:
    a, b, v = (sparse.BCOO.fromdense(x) for x in (A, B, V))
    for got, expected in [(a @ b, A @ B), (v @ b, V @ B), (a @ v, A @ V)]:
        assert isinstance(got, sparse.BCOO)
        same(got.todense(), expected)
    same(v @ v, V @ V)
    same(fgrad.jit(lambda a, b: (a @ b).todense())(a, b), A @ B)
    product = lambda d: (sparse.BCOO((d, a.indices), shape=a.shape) @ b).todense()  # noqa: E731
    check_grads(fgrad.jit(product), (np.asarray(a.data),), 2)
    same((sparse.BCSR.fromdense(A) @ sparse.BCSR.fromdense(B)).todense(), A @ B)
    same((np.ones(4) @ sparse.BCSR.fromdense(A)), np.ones(4) @ A)


def test_arithmetic() -> None:
    a, c = sparse.BCOO.fromdense(A), sparse.BCOO.fromdense(A[::-1])
    for got, expected in [
        (-a, -A),
        (2.0 * a, 2.0 * A),
        (a * np.float64(3.0), 3.0 * A),
        (a / 4.0, A / 4.0),
        (a + c, A + A[::-1]),
        (a - c, A - A[::-1]),
        (a * c, A * A[::-1]),
        (a * np.full((4, 5), 2.0), 2.0 * A),
        (fnp.arange(5.0) * a, np.arange(5.0) * A),
        (a + np.ones((4, 5)), A + 1.0),
        (np.ones((4, 5)) - a, 1.0 - A),
        (a.astype(np.float32), A.astype(np.float32)),
    ]:
        same(sparse.todense(got), expected)
    same(sparse.bcoo_multiply_dense(a, A), A[A != 0] ** 2)
    traced = fgrad.grad(lambda s: ((s * a) @ (s * V)).sum())
    same(traced(1.5), np.float64(3.0 * (A @ V).sum()))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), ()])
def test_sums(axes: tuple[int, ...]) -> None:
    for m in (
        sparse.BCOO.fromdense(A),
        sparse.BCOO.fromdense(A, nse=12),
        sparse.BCOO.fromdense(A, n_dense=1),
    ):
        same(sparse.bcoo_reduce_sum(m, axes=axes).todense(), A.sum(axes))
        same(sparse.todense(m.sum(axes)), A.sum(axes))
        same(fgrad.jit(lambda m: sparse.todense(m.sum(axes)))(m), A.sum(axes))
    same(sparse.BCOO.fromdense(A).sum(), A.sum())


def test_orders_and_duplicates() -> None:
    places = np.array([[1, 2], [0, 1], [1, 2], [3, 0], [4, 5]], np.int32)
    elements = np.array([1.0, 2.0, 3.0, 0.0, 5.0])
    m = sparse.BCOO((elements, places), shape=(4, 5))
    theirs = jsparse.BCOO((jax.numpy.asarray(elements), jax.numpy.asarray(places)), shape=(4, 5))
    same(m.todense(), theirs.todense())
    for got, wanted in [
        (m.sum_duplicates(), theirs.sum_duplicates()),
        (m.sum_duplicates(nse=6), theirs.sum_duplicates(nse=6)),
        (m.sum_duplicates(remove_zeros=False), theirs.sum_duplicates(remove_zeros=False)),
        (m.sort_indices(), theirs.sort_indices()),
    ]:
        same(got.data, wanted.data)
        same(got.indices, wanted.indices)
    same(fgrad.jit(lambda m: m.sum_duplicates(nse=4).todense())(m), m.todense())
    same(m.T.todense(), np.asarray(m.todense()).T)
    same(sparse.bcoo_transpose(m, permutation=(1, 0)).todense(), np.asarray(m.todense()).T)
    blocks = sparse.BCOO.fromdense(RNG.normal(size=(2, 3, 4)), n_dense=1)
    same(blocks.transpose((1, 0, 2)).todense(), np.asarray(blocks.todense()).transpose(1, 0, 2))
    same(m.reshape(2, 10).todense(), np.asarray(m.todense()).reshape(2, 10))
    same(m.reshape((5, -1)).todense(), np.asarray(m.todense()).reshape(5, 4))
    check_grads(
        lambda d: sparse.BCOO((d, places), shape=(4, 5)).sum_duplicates().data,
        (np.arange(1.0, 6.0),),
        2,
    )


def test_positions_beyond_32_bits_stay_apart() -> None:
    # In 32 bits the numbers of the first two positions would be one.
    shape = (2**17, 2**17)
    places = np.array([[2**15, 7], [0, 7], [2**17 - 1, 2**17 - 1], [0, 7]], np.int32)
    with fgrad.enable_x64(False):
        m = sparse.BCOO((np.float32([1, 2, 4, 8]), places), shape=shape)
        for got in (m.sum_duplicates(), fgrad.jit(lambda m: m.sum_duplicates(nse=3))(m)):
            same(got.indices, np.int32([[0, 7], [2**15, 7], [2**17 - 1, 2**17 - 1]]))
            same(got.data, np.float32([10, 1, 4]))
        same(m.sum_duplicates(nse=1).data, np.float32([10]))
        with pytest.raises(ShapeError, match="has 17179869184 elements, more than int32"):
            m.reshape(2**16, 2**18)
    moved = m.reshape(2**16, 2**18)
    wanted = np.unravel_index(np.ravel_multi_index(tuple(places.T), shape), moved.shape)
    same(moved.indices, np.stack(wanted, axis=1).astype(np.int32))
    with pytest.raises(ShapeError, match="size 17179869184, more than indices of dtype int32"):
        m.reshape(-1)


def test_narrow_indices_count_all_elements() -> None:
    full = np.arange(1.0, 401.0).reshape(20, 20)
    rows = sparse.BCSR.fromdense(full, index_dtype=np.int8)
    assert rows.indices.dtype == np.int8
    same(rows.todense(), full)
    same(rows @ np.ones(20), full.sum(axis=1))
    padded = sparse.BCSR((np.ones(300), np.zeros(300, np.int16), np.int8([0, 1, 2])), shape=(2, 2))
    same(padded.todense(), np.array([[1.0, 0.0], [1.0, 0.0]]))


def test_duplicates_of_few_elements() -> None:
    none = sparse.empty((3, 4))
    assert none.sum_duplicates().nse == 0
    same(none.sum_duplicates(nse=2).indices, np.int32([[3, 4], [3, 4]]))
    one = sparse.BCOO((np.ones(1), np.int32([[1, 2]])), shape=(3, 4))
    same(one.sum_duplicates(nse=2).indices, np.int32([[1, 2], [3, 4]]))
    same(one.sum_duplicates(nse=2).data, np.array([1.0, 0.0]))
    stacked = fgrad.vmap(
        lambda d: (
            sparse.BCOO((d, np.int32([[1], [1], [0]])), shape=(2,))
            .sum_duplicates(2, remove_zeros=False)
            .data
        )
    )(np.arange(6.0).reshape(2, 3))
    same(stacked, np.array([[2.0, 1.0], [5.0, 7.0]]))


def test_dense_arrays_become_sparse_under_the_transforms() -> None:
    def f(x: Any) -> Any:
        return sparse.BCOO.fromdense(x, nse=20) @ V

    same(fgrad.jit(f)(A), A @ V)
    same(fgrad.vmap(f)(np.stack([A, A[::-1]])), np.stack([A @ V, A[::-1] @ V]))
    got = fgrad.grad(lambda x: f(x).sum())(A)
    # What is zero is not specified, and has no slope.
    same(got, np.where(A != 0, V, 0.0))
    back = fgrad.jit(lambda x: sparse.BCSR.fromdense(x, nse=20).todense())(A)
    same(back, A)


def test_forms_of_scipy() -> None:
    for kind in ("csr_array", "coo_matrix", "csc_array"):
        matrix = getattr(scipy.sparse, kind)(A)
        same(sparse.BCOO.from_scipy_sparse(matrix).todense(), A)
        same(sparse.BCSR.from_scipy_sparse(matrix).todense(), A)


def test_creation() -> None:
    for arguments in [(3,), (3, 4), (4, 3, 1), (4, 3, 2), (3, 5, -2), (3, 2, 5), (3, 2, -5), (0,)]:
        same(sparse.eye(*arguments).todense(), np.eye(*arguments))
    same(sparse.empty((2, 3), np.float32).todense(), np.zeros((2, 3), np.float32))
    assert isinstance(sparse.eye(2), sparse.JAXSparse)
    large = sparse.eye(10**6, k=1)
    assert large.nse == 10**6 - 1
    same(large.indices[-1], np.int32([10**6 - 2, 10**6 - 1]))
    assert sparse.eye(2).block_until_ready().nse == 2


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: sparse.BCOO((np.ones(2), np.ones((2, 2))), shape=(2, 2)),
            DTypeError,
            "BCOO: the indices have dtype float64",
        ),
        (
            lambda: sparse.BCOO((np.ones(2), np.ones((3, 2), int)), shape=(2, 2)),
            ShapeError,
            r"data of shape \(2,\) and indices of shape \(3, 2\)",
        ),
        (
            lambda: sparse.BCOO((np.ones((2, 4)), np.ones((2, 1), int)), shape=(2, 3)),
            ShapeError,
            r"have dense axes \(4,\)",
        ),
        (
            lambda: fgrad.jit(sparse.BCOO.fromdense)(A),
            ConcretizationTypeError,
            "the number of elements of a traced array is unknown; give nse",
        ),
        (
            lambda: fgrad.jit(lambda m: m.sum_duplicates().todense())(sparse.BCOO.fromdense(A)),
            ConcretizationTypeError,
            "the number of different positions is unknown",
        ),
        (lambda: sparse.BCOO.fromdense(A, n_batch=1), ArgumentError, "n_batch must be 0"),
        (lambda: sparse.BCOO.fromdense(A, n_dense=3), ArgumentError, "n_dense is 3"),
        (lambda: sparse.BCOO.fromdense(A) @ V[:2], ShapeError, r"shapes \(4, 5\) and \(2,\)"),
        (lambda: sparse.BCOO.fromdense(A, n_dense=1) @ V, ShapeError, "1 dense axes"),
        (
            lambda: sparse.BCOO.fromdense(A) + sparse.BCOO.fromdense(B),
            ShapeError,
            r"sums of shapes \(4, 5\) and \(5, 3\)",
        ),
        (lambda: sparse.BCOO.fromdense(A).reshape(3, 3), ShapeError, r"cannot become \(3, 3\)"),
        (lambda: sparse.BCOO.fromdense(A).transpose((0, 0)), ArgumentError, "give each axis once"),
        (lambda: sparse.eye(2, sparse_format="bcsr"), ArgumentError, "sparse_format is 'bcsr'"),
        (
            lambda: sparse.BCSR((np.ones(2), np.ones(2, int), np.ones(2, int)), shape=(2, 2)),
            ShapeError,
            r"expected \(nse,\), \(nse,\) and \(rows \+ 1,\)",
        ),
        (
            lambda: sparse.BCOO.fromdense(np.ones(200), index_dtype=np.int8),
            ShapeError,
            r"shape \(200,\) has an axis of size 200, more than indices of dtype int8",
        ),
        (
            lambda: sparse.empty((2**33, 2)),
            ShapeError,
            "axis of size 8589934592, more than indices of dtype int32",
        ),
        (lambda: hash(sparse.eye(2)), TypeError, "a BCOO cannot be hashed"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
