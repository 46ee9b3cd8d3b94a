"""``fgrad.scipy.linalg`` and ``fgrad.lax.linalg`` against JAX and SciPy, under all transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.scipy.linalg
import numpy as np
import pytest
import scipy.linalg as sl
from support.against_jax import holds_against_jax
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, NonDifferentiableError, ShapeError
from fgrad.scipy import linalg
from fgrad.test_util import check_grads

jsl = jax.scipy.linalg
RNG = np.random.default_rng(3)
M = 0.4 * RNG.normal(size=(3, 3)) + np.diag([2.0, -1.0, 3.0])
N = 0.3 * RNG.normal(size=(3, 3)) + np.diag([1.0, 3.0, 2.0])
S = M @ M.T + np.eye(3)
Z = M + 0.3j * RNG.normal(size=(3, 3))
TALL, WIDE = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3))
VECTOR, SIDES = RNG.normal(size=3), RNG.normal(size=(3, 2))
R4 = RNG.normal(size=4)


def even(a: Any) -> Any:
    return 0.5 * (a + a.T)


def solved(module: Any, a: Any, b: Any, **options: Any) -> Any:
    return module.cho_solve(module.cho_factor(even(a), **options), b)


def by_lu(module: Any, a: Any, b: Any, trans: int) -> Any:
    return module.lu_solve(module.lu_factor(a), b, trans)


CALLS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "inv": (lambda m: m.inv, (M,)),
    "det": (lambda m: m.det, (M,)),
    "solve": (lambda m: m.solve, (M, VECTOR)),
    "solve sym": (lambda m: lambda a, b: m.solve(even(a), b, assume_a="sym"), (S, SIDES)),
    "solve pos": (
        lambda m: lambda a, b: m.solve(even(a), b, assume_a="pos", lower=True),
        (S, VECTOR),
    ),
    "solve pos upper": (lambda m: lambda a, b: m.solve(even(a), b, assume_a="pos"), (S, SIDES)),
    "solve_triangular": (lambda m: m.solve_triangular, (N, VECTOR)),
    "solve_triangular lower": (
        lambda m: lambda a, b: m.solve_triangular(a, b, trans=1, lower=True),
        (N, SIDES),
    ),
    "solve_triangular unit": (
        lambda m: lambda a, b: m.solve_triangular(a, b, trans="C", unit_diagonal=True),
        (Z, SIDES + 0j),
    ),
    "cho_factor": (lambda m: lambda a: m.cho_factor(even(a))[0], (S,)),
    "cho_factor lower": (lambda m: lambda a: m.cho_factor(even(a), lower=True)[0], (S,)),
    "cho_solve": (lambda m: lambda a, b: solved(m, a, b), (S, VECTOR)),
    "cho_solve lower": (lambda m: lambda a, b: solved(m, a, b, lower=True), (S, SIDES)),
    "cholesky": (lambda m: lambda a: m.cholesky(even(a)), (S,)),
    "lu_factor": (lambda m: m.lu_factor, (M,)),
    "lu_factor tall": (lambda m: m.lu_factor, (TALL,)),
    "lu_factor wide": (lambda m: m.lu_factor, (WIDE,)),
    "lu_factor complex": (lambda m: m.lu_factor, (Z,)),
    "lu_solve": (lambda m: lambda a, b: by_lu(m, a, b, 0), (M, VECTOR)),
    "lu_solve transposed": (lambda m: lambda a, b: by_lu(m, a, b, 1), (M, SIDES)),
    "lu_solve adjoint": (lambda m: lambda a, b: by_lu(m, a, b, 2), (Z, SIDES + 0j)),
    "lu": (lambda m: m.lu, (M,)),
    "lu tall": (lambda m: m.lu, (TALL,)),
    "lu permuted": (lambda m: lambda a: m.lu(a, permute_l=True), (WIDE,)),
    "qr": (lambda m: lambda a: m.qr(a, mode="economic"), (TALL,)),
    "qr r": (lambda m: lambda a: m.qr(a, mode="r"), (M,)),
    "qr full": (lambda m: m.qr, (M,)),
    "qr_multiply": (lambda m: m.qr_multiply, (TALL, RNG.normal(size=(2, 4)))),
    "qr_multiply left": (lambda m: lambda a, c: m.qr_multiply(a, c, "left"), (TALL, SIDES)),
    "qr_multiply vector": (lambda m: m.qr_multiply, (TALL, R4)),
    "svd": (lambda m: lambda a: m.svd(a, compute_uv=False), (TALL,)),
    "eigh": (lambda m: lambda a: m.eigh(even(a), eigvals_only=True), (S,)),
    "eigh upper": (lambda m: lambda a: m.eigh(even(a), lower=False, eigvals_only=True), (S,)),
    "expm": (lambda m: m.expm, (M,)),
    "expm complex": (lambda m: m.expm, (Z,)),
    "expm_frechet": (lambda m: m.expm_frechet, (M, N)),
    "solve_sylvester": (lambda m: m.solve_sylvester, (S, N, M)),
    "toeplitz": (lambda m: m.toeplitz, (VECTOR, R4)),
    "toeplitz complex": (lambda m: m.toeplitz, (VECTOR * (1 + 2j),)),
    "block_diag": (lambda m: m.block_diag, (M, VECTOR, TALL)),
    "hankel": (lambda m: m.hankel, (VECTOR, R4)),
    "hankel alone": (lambda m: m.hankel, (VECTOR,)),
    "circulant": (lambda m: m.circulant, (R4,)),
    "companion": (lambda m: m.companion, (R4,)),
    "fiedler": (lambda m: m.fiedler, (R4,)),
    "fiedler_companion": (lambda m: m.fiedler_companion, (R4,)),
    "convolution_matrix": (lambda m: lambda a: m.convolution_matrix(a, 5), (VECTOR,)),
    "convolution_matrix same": (
        lambda m: lambda a: m.convolution_matrix(a, 4, mode="same"),
        (VECTOR,),
    ),
    "convolution_matrix valid": (
        lambda m: lambda a: m.convolution_matrix(a, 2, mode="valid"),
        (R4,),
    ),
    "leslie": (lambda m: m.leslie, (R4, VECTOR)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_agrees_with_jax(name: str) -> None:
    make, args = CALLS[name]
    rtol = 1e-8 if name.split()[0] in ("expm", "expm_frechet", "solve_sylvester") else 1e-10
    derived = name.split()[0] not in ("solve_sylvester", "qr_multiply")  # JAX does not derive them
    holds_against_jax(make(linalg), make(jsl), args, rtol=rtol, jax_derivatives=derived)


# Functions whose derivatives JAX lacks or whose vectors have signs of their own: SciPy has the values.
BY_SCIPY: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "sqrtm": (linalg.sqrtm, lambda a: sl.sqrtm(a).astype(complex), (S,)),
    "sqrtm complex": (linalg.sqrtm, sl.sqrtm, (Z,)),
    "polar": (linalg.polar, sl.polar, (TALL,)),
    "polar left": (lambda a: linalg.polar(a, "left"), lambda a: sl.polar(a, "left"), (WIDE + 0j,)),
    "eigh pair": (
        lambda a, b: linalg.eigh(even(a), even(b), eigvals_only=True),
        lambda a, b: sl.eigh(even(a), even(b), eigvals_only=True),
        (even(M), S),
    ),
    "eigh second kind": (
        lambda a, b: linalg.eigh(even(a), even(b), eigvals_only=True, type=2),
        lambda a, b: sl.eigh(even(a), even(b), eigvals_only=True, type=2),
        (even(M), S),
    ),
    "qr pivoting": (
        lambda a: linalg.qr(a, mode="economic", pivoting=True),
        lambda a: sl.qr(a, mode="economic", pivoting=True),
        (TALL,),
    ),
    **{
        f"qr_multiply {mode} {n}": (
            lambda a, c, mode=mode, o=o: linalg.qr_multiply(a, c, mode, **o),
            lambda a, c, mode=mode, o=o: sl.qr_multiply(a, c, mode, **o),
            (TALL + 0.5j * TALL[::-1], c),
        )
        for n, o in enumerate(({}, {"pivoting": True}, {"conjugate": True}))
        for mode, c in (("right", R4 + 1j), ("left", VECTOR * 1j), ("left", SIDES + 0j))
    },
    "eigh_tridiagonal": (
        lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True),
        lambda d, e: sl.eigh_tridiagonal(d, e, eigvals_only=True),
        (R4, VECTOR),
    ),
    "eigh_tridiagonal some": (
        lambda d, e: linalg.eigh_tridiagonal(
            d, e, eigvals_only=True, select="i", select_range=(1, 2)
        ),
        lambda d, e: sl.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 2)),
        (R4, VECTOR),
    ),
}


@pytest.mark.parametrize("name", BY_SCIPY)
def test_a_function_agrees_with_scipy(name: str) -> None:
    ours, theirs, args = BY_SCIPY[name]
    for left, right in zip(
        fgrad.tree.leaves(ours(*args)), fgrad.tree.leaves(theirs(*args)), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)
    holds_against_jax(ours, None, args)


TABLES: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "hilbert": (lambda m: m.hilbert, (4,)),
    "invhilbert": (lambda m: m.invhilbert, (5,)),
    "pascal": (lambda m: m.pascal, (5,)),
    "pascal lower": (lambda m: lambda n: m.pascal(n, kind="lower"), (4,)),
    "invpascal": (lambda m: m.invpascal, (5,)),
    "invpascal upper": (lambda m: lambda n: m.invpascal(n, kind="upper"), (4,)),
    "hadamard": (lambda m: m.hadamard, (4,)),
    "helmert": (lambda m: m.helmert, (5,)),
    "helmert full": (lambda m: lambda n: m.helmert(n, full=True), (4,)),
    "dft": (lambda m: m.dft, (5,)),
    "dft unitary": (lambda m: lambda n: m.dft(n, scale="sqrtn"), (4,)),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_scipy(name: str) -> None:
    make, args = TABLES[name]
    got = make(linalg)(*args)
    np.testing.assert_allclose(got, make(sl)(*args), rtol=1e-13, atol=1e-15)
    if not name.startswith("pascal"):  # which is of float32 in JAX, and exact to as many digits
        assert got.dtype == make(jsl)(*args).dtype


def test_every_public_function_is_compared() -> None:
    named = {name.split()[0] for name in (*CALLS, *BY_SCIPY, *TABLES)}
    apart = {"schur", "hessenberg", "rsf2csf", "funm"}
    assert set(linalg.__all__) - apart <= named
    assert {n for n in dir(jsl) if n[0] != "_"} <= set(linalg.__all__)


def test_unitary_similarities() -> None:
    for a in (M, Z, np.stack([M, N])):
        for output in ("real", "complex"):
            t, z = linalg.schur(a, output)
            adjoint = fnp.conj(fnp.matrix_transpose(z))
            np.testing.assert_allclose(z @ t @ adjoint, a, atol=1e-12)
            if output == "complex":
                np.testing.assert_allclose(fnp.tril(t, -1), 0.0, atol=1e-12)
        h, q = linalg.hessenberg(a, calc_q=True)
        np.testing.assert_allclose(q @ h @ fnp.conj(fnp.matrix_transpose(q)), a, atol=1e-12)
        np.testing.assert_allclose(fnp.tril(h, -2), 0.0, atol=1e-12)
    rotation = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    t, z = linalg.rsf2csf(*linalg.schur(rotation))
    np.testing.assert_allclose(z @ t @ fnp.conj(z).T, rotation, atol=1e-12)
    np.testing.assert_allclose(fnp.tril(t, -1), 0.0, atol=1e-12)
    np.testing.assert_allclose(
        fgrad.jit(lambda a: linalg.schur(a)[0])(M), linalg.schur(M)[0], atol=1e-12
    )
    rows = fgrad.vmap(lambda a: linalg.schur(a)[0])(np.stack([M, N]))
    np.testing.assert_allclose(rows[1], linalg.schur(N)[0], atol=1e-12)
    for function in (lambda a: linalg.schur(a)[0].sum(), lambda a: linalg.hessenberg(a).sum()):
        with pytest.raises(NonDifferentiableError, match="no derivative is known"):
            fgrad.grad(function)(M)


def test_vectors_of_pairs() -> None:
    a, b = even(M), S
    for kind, problem in (
        (1, lambda v: (a @ v, b @ v)),
        (2, lambda v: (a @ b @ v, v)),
        (3, lambda v: (b @ a @ v, v)),
    ):
        w, v = linalg.eigh(a, b, type=kind)
        left, right = problem(np.asarray(v))
        np.testing.assert_allclose(left, right * np.asarray(w), atol=1e-11)


def test_analytic_functions() -> None:
    distinct = np.triu(M) + np.diag([0.0, 1.0, 2.5])
    for function in (np.exp, np.sin):
        expected = sl.funm(distinct, function)
        numpy_like = getattr(fnp, function.__name__)
        np.testing.assert_allclose(linalg.funm(distinct, numpy_like), expected, atol=1e-10)
        np.testing.assert_allclose(
            fgrad.jit(lambda a, f=numpy_like: linalg.funm(a, f))(distinct), expected, atol=1e-10
        )
    found, error = linalg.funm(distinct, fnp.exp, disp=False)
    assert 0 < float(error) < 1e-12
    assert found.dtype == np.complex128


def test_degenerate_points_have_the_right_slopes() -> None:
    # Equal singular values, where slopes by singular vectors are infinite.
    check_grads(lambda a: linalg.polar(a)[0], (np.eye(3),), 2)
    check_grads(lambda a: linalg.sqrtm(a).real, (np.eye(3),), 2)
    nilpotent = np.array([[0.0, 1.0], [0.0, 0.0]])
    check_grads(linalg.expm, (nilpotent,), 2)
    np.testing.assert_array_equal(
        linalg.expm(np.array([[-1e3, 0.0], [0.0, -2e3]])), np.zeros((2, 2))
    )
    np.testing.assert_allclose(
        fgrad.grad(lambda t: linalg.expm(t * M).sum())(0.0), M.sum(), rtol=1e-13
    )
    assert np.isnan(np.asarray(linalg.expm(np.full((2, 2), np.nan)))).all()
    np.testing.assert_array_equal(linalg.sqrtm(np.zeros((2, 2))), np.zeros((2, 2)))


def test_dtypes_are_kept() -> None:
    narrow = M.astype(np.float32)
    for function in (
        linalg.expm,
        linalg.inv,
        linalg.det,
        lambda a: linalg.lu(a)[1],
        lambda a: linalg.polar(a)[1],
    ):
        assert function(narrow).dtype == np.float32
        assert fgrad.grad(lambda a, f=function: f(a).sum())(narrow).dtype == np.float32
    assert linalg.sqrtm(narrow).dtype == np.complex64
    assert linalg.toeplitz(np.array([1, 2])).dtype == np.int64
    assert linalg.block_diag(np.ones((1, 1), np.float32), 2.0).dtype == np.float64


def test_batches() -> None:
    many = np.stack([M, N])
    np.testing.assert_allclose(linalg.expm(many)[1], linalg.expm(N), rtol=1e-13)
    np.testing.assert_allclose(linalg.lu(many)[1][1], linalg.lu(N)[1], rtol=1e-13)
    factors = linalg.lu_factor(many)
    np.testing.assert_allclose(
        many @ linalg.lu_solve(factors, SIDES), np.stack([SIDES, SIDES]), atol=1e-12
    )
    transposed = np.swapaxes(many, -1, -2)
    np.testing.assert_allclose(
        transposed @ linalg.lu_solve(factors, SIDES, trans=1), np.stack([SIDES, SIDES]), atol=1e-12
    )
    np.testing.assert_allclose(linalg.toeplitz(TALL)[2], linalg.toeplitz(TALL[2]))
    d, e = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5])
    np.testing.assert_allclose(
        linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="v", select_range=(0.0, 2.1)),
        sl.eigh_tridiagonal(d, e, eigvals_only=True, select="v", select_range=(0.0, 2.1)),
    )


def test_refusals_name_the_function() -> None:
    for match, call in {
        r"solve: assume_a is 'x'": lambda: linalg.solve(M, VECTOR, assume_a="x"),
        r"solve_triangular: trans is 'X'": lambda: linalg.solve_triangular(M, VECTOR, trans="X"),
        r"qr: mode is 'x'": lambda: linalg.qr(M, mode="x"),
        r"qr_multiply: mode is 'x'": lambda: linalg.qr_multiply(M, M, "x"),
        r"polar: side is 'up'": lambda: linalg.polar(M, "up"),
        r"schur: output is 'x'": lambda: linalg.schur(M, "x"),
        r"eigh: type is 4": lambda: linalg.eigh(S, S, type=4),
        r"hadamard: n is 3; give a power of two": lambda: linalg.hadamard(3),
        r"pascal: kind is 'x'": lambda: linalg.pascal(3, "x"),
        r"dft: scale is 'x'": lambda: linalg.dft(3, "x"),
        r"eigh_tridiagonal: select='i' needs select_range": lambda: linalg.eigh_tridiagonal(
            R4, VECTOR, select="i"
        ),
        r"convolution_matrix: mode is 'x'": lambda: linalg.convolution_matrix(R4, 3, "x"),
    }.items():
        with pytest.raises(ArgumentError, match=match):
            call()
    for match, call in {
        r"solve_triangular: matrices of shape \(3, 3\) and b of shape \(4,\)": lambda: (
            linalg.solve_triangular(M, R4)
        ),
        r"cho_solve: the factor has shape \(4, 3\)": lambda: linalg.cho_solve((TALL, True), R4),
        r"lu_solve: factors of shape": lambda: linalg.lu_solve((M, np.zeros(2, int)), VECTOR),
        r"qr_multiply: c has shape \(2, 3\) and Q \(4, 3\)": lambda: linalg.qr_multiply(TALL, WIDE),
        r"expm: A has shape \(4, 3\)": lambda: linalg.expm(TALL),
        r"polar: a of shape \(2, 3\)": lambda: linalg.polar(WIDE),
        r"solve_sylvester: A of shape": lambda: linalg.solve_sylvester(M, N, TALL),
        r"block_diag: block 0 has shape \(1, 1, 1\)": lambda: linalg.block_diag(np.ones((1, 1, 1))),
        r"leslie: f of shape \(4,\)": lambda: linalg.leslie(R4, R4),
    }.items():
        with pytest.raises(ShapeError, match=match):
            call()
    with pytest.raises(np.linalg.LinAlgError):
        linalg.cho_factor(-np.eye(2))


# ---- lax.linalg ----------------------------------------------------------------------------------

jll = jax.lax.linalg
BELOW, ABOVE = RNG.normal(size=3), RNG.normal(size=3)
PACKED, TAUS = (np.array(x) for x in np.linalg.qr(TALL, mode="raw"))
PACKED = PACKED.T.copy()
LAX_CALLS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "cholesky": (lambda m: m.cholesky, (S,)),
    "cholesky_update": (lambda m: m.cholesky_update, (np.linalg.cholesky(S).T.copy(), VECTOR)),
    "eigh": (lambda m: lambda a: m.eigh(a)[1], (S,)),
    "lu": (lambda m: m.lu, (TALL,)),
    "qr": (lambda m: lambda a: m.qr(a, full_matrices=False), (TALL,)),
    "svd": (lambda m: lambda a: m.svd(a, compute_uv=False), (TALL,)),
    "householder_product": (lambda m: m.householder_product, (PACKED, TAUS)),
    "ormqr": (lambda m: m.ormqr, (PACKED, TAUS, RNG.normal(size=(4, 2)))),
    "ormqr right": (
        lambda m: lambda a, t, c: m.ormqr(a, t, c, left=False, transpose=True),
        (PACKED, TAUS, M @ TALL.T),
    ),
    "symmetric_product": (
        lambda m: (
            lambda a, c: m.symmetric_product(a, c, alpha=2.0, beta=0.5, symmetrize_output=True)
        ),
        (M, S),
    ),
    "triangular_solve": (lambda m: m.triangular_solve, (N, WIDE)),
    "triangular_solve left": (
        lambda m: lambda a, b: m.triangular_solve(a, b, left_side=True, lower=True),
        (N, SIDES),
    ),
    "triangular_solve turned": (
        lambda m: (
            lambda a, b: m.triangular_solve(
                a, b, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True
            )
        ),
        (Z, WIDE + 0j),
    ),
    "tridiagonal_solve": (lambda m: m.tridiagonal_solve, (BELOW, VECTOR + 4.0, ABOVE, SIDES)),
}
# JAX solves these without derivatives.
NOT_DERIVED = {
    "ormqr",
    "ormqr right",
    "householder_product",
    "cholesky_update",
    "symmetric_product",
    "lu",  # whose integers it cannot push tangents to; that of scipy.linalg is held against JAX
}


@pytest.mark.parametrize("name", LAX_CALLS)
def test_a_function_of_lax_agrees_with_jax(name: str) -> None:
    make, args = LAX_CALLS[name]
    theirs = make(jll)
    if name == "tridiagonal_solve":
        # The corners are not read, which JAX's slopes of them show as zeros of another sign.
        args = (args[0] * [0, 1, 1], args[1], args[2] * [1, 1, 0], args[3])
    derived = name not in NOT_DERIVED
    holds_against_jax(make(fgrad.lax.linalg), theirs, args, jax_derivatives=derived)


def test_general_eigenvectors_from_both_sides() -> None:
    w, left, right = fgrad.lax.linalg.eig(M)
    np.testing.assert_allclose(M @ right, right * w, atol=1e-12)
    np.testing.assert_allclose(fnp.conj(left).T @ M, w[:, None] * fnp.conj(left).T, atol=1e-12)
    np.testing.assert_allclose(fnp.linalg.norm(left, axis=0), 1.0)
    vectors, values = fgrad.lax.linalg.eigh(S, subset_by_index=(1, 3))
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-12)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(S)[1:], rtol=1e-13)
    assert len(fgrad.lax.linalg.eig(M, compute_left_eigenvectors=False)) == 2


def test_orders_of_exchanges() -> None:
    exchanges = np.array([[2, 2, 3], [0, 3, 2]], np.int32)
    got = fgrad.lax.linalg.lu_pivots_to_permutation(exchanges, 4)
    np.testing.assert_array_equal(got, jll.lu_pivots_to_permutation(exchanges, 4))
    with pytest.raises(ArgumentError, match="exchange more than 2 rows"):
        fgrad.lax.linalg.lu_pivots_to_permutation(exchanges, 2)
    u, h, _, converged = fgrad.lax.linalg.qdwh(TALL)
    np.testing.assert_allclose(u @ h, TALL, atol=1e-12)
    assert bool(converged)
    t, z = fgrad.lax.linalg.schur(M)
    np.testing.assert_allclose(z @ t @ z.T, M, atol=1e-12)
    h, q = fgrad.lax.linalg.hessenberg(M)
    np.testing.assert_allclose(q @ h @ q.T, M, atol=1e-12)
