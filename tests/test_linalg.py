"""Linear algebra, against NumPy, JAX, differences and loops over matrices."""

from __future__ import annotations

import itertools
import subprocess
import sys
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.modules import fgrad, fnp, jax, jnp

import fgrad.numpy.linalg as la
from fgrad import errors

pytestmark = pytest.mark.filterwarnings("ignore:Explicitly requested dtype")

# ---- operands --------------------------------------------------------------------------------------


def seeded(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    values = rng.normal(size=shape)
    if dtype.kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def ladder(rng: np.random.Generator, lead: tuple[int, ...], m: int, n: int, dtype: Any) -> Any:
    """Matrices with singular values and eigenvalues that are far apart."""
    steps = np.zeros((m, n))
    for i in range(min(m, n)):
        steps[i, i] = 1.0 + 1.5 * i
    return (0.25 * numbers(rng, (*lead, m, n), dtype) + steps).astype(dtype)


def operand(kind: str, rng: np.random.Generator, dtype: Any, lead: tuple[int, ...]) -> Any:
    """S: square, P: positive definite, T: tall, W: wide, B: right-hand sides, V: a vector."""
    if kind == "S":
        return ladder(rng, lead, 3, 3, dtype)
    if kind == "P":
        a = ladder(rng, lead, 3, 3, dtype)
        return (a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(3)).astype(dtype)
    sizes = {"T": (4, 3), "W": (2, 4), "B": (3, 2), "C": (4, 2), "V": (3,)}[kind]
    if kind in "TW":
        return ladder(rng, lead, *sizes, dtype)
    return numbers(rng, (*lead, *sizes), dtype)


class Row(NamedTuple):
    f: Callable[..., Any]
    kinds: str
    #: Whether NumPy gives the same values and dtypes.
    numpy: bool = True
    #: Whether JAX has the derivatives.
    jax: bool = True
    #: Whether the function itself works on batches.
    batched: bool = True


def herm(xp: Any, a: Any) -> Any:
    return (a + xp.conj(xp.swapaxes(a, -1, -2))) / 2


def first(xp: Any, x: Any) -> Any:
    return xp.abs(x) ** 2


ROWS: dict[str, Row] = {
    "inv": Row(lambda xp, a: xp.linalg.inv(a), "S"),
    "solve": Row(lambda xp, a, b: xp.linalg.solve(a, b), "SB"),
    "solve of a vector": Row(lambda xp, a, b: xp.linalg.solve(a, b), "SV", batched=False),
    "det": Row(lambda xp, a: xp.linalg.det(a), "S"),
    "slogdet": Row(lambda xp, a: tuple(xp.linalg.slogdet(a)), "S"),
    "cholesky": Row(lambda xp, a: xp.linalg.cholesky(a), "P"),
    "cholesky upper": Row(lambda xp, a: xp.linalg.cholesky(a, upper=True), "P"),
    "qr": Row(lambda xp, a: tuple(xp.linalg.qr(a)), "S"),
    "qr tall": Row(lambda xp, a: tuple(xp.linalg.qr(a)), "T"),
    "qr r": Row(lambda xp, a: xp.linalg.qr(a, mode="r"), "T"),
    "qr wide": Row(lambda xp, a: tuple(xp.linalg.qr(a)), "W", jax=False),
    "qr complete": Row(lambda xp, a: tuple(xp.linalg.qr(a, mode="complete")), "T", jax=False),
    "svd tall": Row(lambda xp, a: tuple(xp.linalg.svd(a, full_matrices=False)), "T"),
    "svd wide": Row(lambda xp, a: tuple(xp.linalg.svd(a, full_matrices=False)), "W"),
    "svd square": Row(lambda xp, a: tuple(xp.linalg.svd(a)), "S"),
    "svd values": Row(lambda xp, a: xp.linalg.svd(a, compute_uv=False), "T"),
    "svdvals": Row(lambda xp, a: xp.linalg.svdvals(a), "W"),
    "svd hermitian": Row(
        lambda xp, a: tuple(
            first(xp, x) for x in xp.linalg.svd(a - 4.0 * xp.eye(3), hermitian=True)
        ),
        "P",
    ),
    "eigh": Row(lambda xp, a: tuple(xp.linalg.eigh(a)), "P"),
    "eigvalsh": Row(lambda xp, a: xp.linalg.eigvalsh(a), "P"),
    "eigvals": Row(lambda xp, a: xp.linalg.eigvals(a), "S", numpy=False),
    "eig": Row(lambda xp, a: xp.linalg.eig(a)[0], "S", numpy=False),
    "eig vectors": Row(lambda xp, a: first(xp, xp.linalg.eig(a)[1]), "S", numpy=False, jax=False),
    "pinv": Row(lambda xp, a: xp.linalg.pinv(a), "T"),
    "pinv wide": Row(lambda xp, a: xp.linalg.pinv(a), "W"),
    "pinv hermitian": Row(lambda xp, a: xp.linalg.pinv(a, hermitian=True), "P"),
    "lstsq": Row(lambda xp, a, b: xp.linalg.lstsq(a, b)[0], "TC", batched=False),
    "lstsq wide": Row(lambda xp, a, b: xp.linalg.lstsq(a, b[:2])[0], "WB", batched=False),
    "lstsq values": Row(lambda xp, a, b: xp.linalg.lstsq(a, b)[1:4:2], "TC", batched=False),
    "matrix_power": Row(lambda xp, a: xp.linalg.matrix_power(a, 5), "S"),
    "matrix_power negative": Row(lambda xp, a: xp.linalg.matrix_power(a, -3), "S"),
    "matrix_power one": Row(lambda xp, a: xp.linalg.matrix_power(a, 1), "S"),
    "multi_dot": Row(
        lambda xp, a, b, c: xp.linalg.multi_dot([a, b, xp.swapaxes(b, 0, 1), c]),
        "TBV",
        batched=False,
    ),
    "norm": Row(lambda xp, a: xp.linalg.norm(a), "T", batched=False),
    "norm axis": Row(lambda xp, a: xp.linalg.norm(a, axis=-1, keepdims=True), "T"),
    "norm fro": Row(lambda xp, a: xp.linalg.norm(a, "fro", axis=(-1, -2)), "T"),
    "norm nuc": Row(lambda xp, a: xp.linalg.norm(a, "nuc", axis=(-2, -1)), "T"),
    "norm 2": Row(lambda xp, a: xp.linalg.norm(a, 2, axis=(-2, -1), keepdims=True), "T"),
    "norm -2": Row(lambda xp, a: xp.linalg.norm(a, -2, axis=(-1, -2)), "T"),
    "norm 1": Row(lambda xp, a: xp.linalg.norm(a, 1, axis=(-2, -1)), "T"),
    "norm -1": Row(lambda xp, a: xp.linalg.norm(a, -1, axis=(-1, -2)), "T"),
    "norm inf": Row(lambda xp, a: xp.linalg.norm(a, np.inf, axis=(-2, -1)), "T"),
    "norm -inf": Row(lambda xp, a: xp.linalg.norm(a, -np.inf, axis=(-1, -2), keepdims=True), "T"),
    "vector norm 1": Row(lambda xp, a: xp.linalg.norm(a, 1, axis=-1), "V"),
    "vector norm 3": Row(lambda xp, a: xp.linalg.norm(a, 3, axis=-1), "V"),
    "vector norm 2.5": Row(lambda xp, a: xp.linalg.norm(a, 2.5, axis=-1), "V"),
    "vector norm -1": Row(lambda xp, a: xp.linalg.norm(a, -1, axis=-1), "V"),
    "vector norm inf": Row(lambda xp, a: xp.linalg.norm(a, np.inf, axis=-1), "V"),
    "vector norm -inf": Row(lambda xp, a: xp.linalg.norm(a, -np.inf, axis=-1), "V"),
    "vector norm 0": Row(lambda xp, a: xp.linalg.norm(a, 0, axis=-1), "V"),
    "vector_norm": Row(lambda xp, a: xp.linalg.vector_norm(a, axis=(-2, -1), ord=3), "T"),
    "vector_norm 2": Row(lambda xp, a: xp.linalg.vector_norm(a, axis=(-2, -1), keepdims=True), "T"),
    "matrix_norm": Row(lambda xp, a: xp.linalg.matrix_norm(a), "T"),
    "matrix_norm 1": Row(lambda xp, a: xp.linalg.matrix_norm(a, ord=1, keepdims=True), "T"),
    "cond": Row(lambda xp, a: xp.linalg.cond(a), "T"),
    "cond -2": Row(lambda xp, a: xp.linalg.cond(a, -2), "T"),
    "cond fro": Row(lambda xp, a: xp.linalg.cond(a, "fro"), "S"),
    "cond 1": Row(lambda xp, a: xp.linalg.cond(a, 1), "S"),
    "tensorinv": Row(
        lambda xp, a: xp.linalg.tensorinv(xp.reshape(xp.kron(a, xp.eye(2)), (2, 3, 3, 2))),
        "S",
        batched=False,
    ),
    "tensorsolve": Row(
        lambda xp, a, b: xp.linalg.tensorsolve(
            xp.reshape(xp.kron(a, xp.eye(2)), (3, 2, 2, 3)), b, axes=(0, 1)
        ),
        "SB",
        jax=False,
        batched=False,
    ),
    "trace": Row(lambda xp, a: xp.linalg.trace(a, offset=1), "T"),
    "diagonal": Row(lambda xp, a: xp.linalg.diagonal(a, offset=-1), "T"),
    "cross": Row(lambda xp, a, b: xp.linalg.cross(a, b), "VV"),
    "outer": Row(lambda xp, a, b: xp.linalg.outer(a, b), "VV", batched=False),
    "vecdot": Row(lambda xp, a, b: xp.linalg.vecdot(a, b), "VV"),
    "matmul": Row(lambda xp, a, b: xp.linalg.matmul(a, b), "SB"),
    "tensordot": Row(lambda xp, a, b: xp.linalg.tensordot(a, b, axes=1), "SB", batched=False),
    "matrix_transpose": Row(lambda xp, a: xp.linalg.matrix_transpose(a), "T"),
}
NARROW = {"float64": "float32", "complex128": "complex64"}
REAL_ONLY = {"svd hermitian"}


class Spaces:
    """NumPy's namespaces with the few arguments that it lacks; those of fgrad."""

    class _Fgrad:
        linalg = la

        def __getattr__(self, name: str) -> Any:
            return getattr(fnp, name)

    fgrad = _Fgrad()


def run(name: str, xp: Any, *operands: Any) -> Any:
    return ROWS[name].f(xp, *operands)


def ours(name: str) -> Callable[..., Any]:
    return lambda *operands: run(name, Spaces.fgrad, *operands)


def operands_of(name: str, dtype: Any = "float64", lead: tuple[int, ...] = ()) -> list[Any]:
    rng = seeded(name)
    return [operand(kind, rng, dtype, lead) for kind in ROWS[name].kinds]


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in leaves(item)]
    return [np.asarray(result)]


def close(got: Any, want: Any, rtol: float = 1e-9, what: str = "") -> None:
    got, want = leaves(got), leaves(want)
    assert len(got) == len(want), what
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
        assert a.dtype == b.dtype, f"{what}: dtype {a.dtype}, expected {b.dtype}"
        scale = max(1.0, float(np.abs(b).max(initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=0, atol=rtol * scale, err_msg=what)


def dtypes_of(name: str) -> list[str]:
    return ["float64"] if name in REAL_ONLY else ["float64", "complex128"]


CASES = [(name, dtype) for name in ROWS for dtype in dtypes_of(name)]
cases = pytest.mark.parametrize(("name", "dtype"), CASES)


# ---- values ----------------------------------------------------------------------------------------


@cases
def test_values_and_dtypes_are_those_of_numpy(name: str, dtype: str) -> None:
    for kind in (dtype, NARROW[dtype]):
        for lead in ((), (2,), (2, 1)):
            if lead and not ROWS[name].batched:
                continue
            operands = operands_of(name, kind, lead)
            got = ours(name)(*operands)
            rtol = 1e-9 if kind == dtype else 2e-4
            if ROWS[name].numpy:
                close(got, run(name, np, *operands), rtol)
            compiled = fgrad.jit(ours(name))(*operands)
            close(compiled, got, 1e-12 if kind == dtype else 1e-5, "jit")
            assert all(isinstance(x, fgrad.Array) for x in fgrad.tree.leaves(got))


def test_eigenvalues_are_complex_and_fit_their_vectors() -> None:
    for dtype in ("float64", "complex128", "float32"):
        a = ladder(seeded("eig"), (2,), 3, 3, dtype)
        w, v = la.eig(a)
        wide = np.result_type(dtype, np.complex64)
        assert w.dtype == v.dtype == la.eigvals(a).dtype == wide
        rtol = 1e-4 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(a @ v, np.asarray(v) * np.asarray(w)[:, None], atol=rtol * 10)
        np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1, atol=rtol)
        np.testing.assert_allclose(
            np.sort_complex(w), np.sort_complex(np.linalg.eigvals(a)), atol=rtol * 10
        )


def test_results_have_names() -> None:
    a = np.eye(2)
    assert la.eigh(a)._fields == la.eig(a)._fields == ("eigenvalues", "eigenvectors")
    assert la.qr(a)._fields == ("Q", "R")
    assert la.svd(a)._fields == ("U", "S", "Vh")
    assert la.slogdet(a)._fields == ("sign", "logabsdet")
    out = fgrad.jit(la.svd)(a)
    assert type(out) is la.SVDResult


def test_integers_become_floats() -> None:
    a = np.array([[2, 1], [1, 3]])
    for f in (la.inv, la.det, la.cholesky, la.eigvalsh, la.norm, la.pinv):
        assert f(a).dtype == np.float64
    assert la.matrix_power(a, 3).dtype == np.int64
    close(la.matrix_power(a, 3), np.linalg.matrix_power(a, 3))
    close(la.matrix_power(a, 0), np.linalg.matrix_power(a, 0))
    assert la.solve(a.astype("f4"), np.array([1, 2])).dtype == np.float64
    close(la.norm([True, True]), np.linalg.norm([True, True]))
    assert la.norm(np.float16([3, 4])).dtype == np.float16


def test_triangles() -> None:
    rng = seeded("triangles")
    for dtype in ("float64", "complex128"):
        a = operand("P", rng, dtype, (2,))
        lower, upper = np.tril(a), np.triu(a)
        for half, uplo in ((lower, "L"), (upper, "U")):
            close(la.eigvalsh(half, UPLO=uplo), np.linalg.eigvalsh(a))
            close(la.eigh(half, uplo)[0], np.linalg.eigh(half, uplo)[0])
            factor = la.cholesky(half, upper=uplo == "U", symmetrize_input=False)
            close(factor, np.linalg.cholesky(half, upper=uplo == "U"))
        close(la.eigvalsh(lower), np.linalg.eigvalsh(herm(np, lower)))
        lopsided = a + np.triu(numbers(rng, (2, 3, 3), dtype), 1)
        close(
            la.eigh(lopsided, "L", symmetrize_input=True)[0], np.linalg.eigvalsh(herm(np, lopsided))
        )


def test_gradients_of_a_triangle_stay_in_it() -> None:
    a = operand("P", seeded("one triangle"), "float64", ())
    gradient = fgrad.grad(lambda x: la.eigvalsh(x, UPLO="L")[0])(a)
    assert np.all(np.triu(gradient, 1) == 0)
    assert np.any(np.tril(gradient, -1) != 0)
    whole = fgrad.grad(lambda x: la.eigvalsh(x)[0])(a)
    np.testing.assert_allclose(
        np.tril(whole, -1) * 2 + np.diag(np.diag(whole)), gradient, atol=1e-12
    )


def test_forms_of_svd() -> None:
    a = ladder(seeded("svd"), (2,), 4, 3, "complex128")
    u, s, vh = la.svd(a)
    assert (u.shape, s.shape, vh.shape) == ((2, 4, 4), (2, 3), (2, 3, 3))
    close(u[..., :3] * s[:, None] @ vh, a)
    u, s, vh = la.svd(a, full_matrices=False, subset_by_index=(1, 3))
    want = np.linalg.svd(a, full_matrices=False)
    close((u, s, vh), (want[0][..., 1:3], want[1][..., 1:3], want[2][:, 1:3]))
    h = herm(np, ladder(seeded("h"), (2,), 3, 3, "complex128")) - 2.5 * np.eye(3)
    u, s, vh = la.svd(h, hermitian=True)
    close(u * s[:, None] @ vh, h)
    close(s, np.linalg.svd(h)[1])
    close(la.svd(h, compute_uv=False, hermitian=True), s)
    zero = la.svd(np.zeros((2, 2)), hermitian=True)
    close(zero.Vh @ np.conj(np.swapaxes(zero.Vh, -1, -2)), np.eye(2))


def test_qr_forms() -> None:
    a = ladder(seeded("qr"), (2,), 4, 3, "float64")
    for mode in ("complete", "raw"):
        close(tuple(la.qr(a, mode)), tuple(np.linalg.qr(a, mode)))
    with pytest.raises(errors.NonDifferentiableError, match="raw"):
        fgrad.jvp(lambda x: la.qr(x, "raw"), (a,), (a,))


def test_lstsq_follows_numpy() -> None:
    rng = seeded("lstsq")
    a, b = ladder(rng, (), 4, 3, "float64"), numbers(rng, (4,), "float64")
    close(la.lstsq(a, b), np.linalg.lstsq(a, b))
    close(la.lstsq(a, b[:, None]), np.linalg.lstsq(a, b[:, None]))
    low = a.copy()
    low[:, 2] = low[:, 0]
    got, want = la.lstsq(low, b, numpy_resid=True), np.linalg.lstsq(low, b)
    close(got, want)
    assert got[1].shape == (0,)
    assert la.lstsq(low, b)[1].shape == (1,)
    close(
        la.lstsq(a, b, rcond=0.5),
        np.linalg.lstsq(a, b, rcond=0.5)[:1] + tuple(la.lstsq(a, b, 0.5)[1:]),
    )
    close(la.lstsq(a, b, rcond=-1)[0], np.linalg.lstsq(a, b, rcond=-1)[0])
    with pytest.raises(errors.ConcretizationTypeError, match="numpy_resid"):
        fgrad.jit(lambda x: la.lstsq(x, b, numpy_resid=True))(a)


def test_matrix_rank() -> None:
    rng = seeded("rank")
    full = ladder(rng, (2,), 3, 3, "float64")
    full[1, 2] = full[1, 0] + full[1, 1]
    for keywords in (
        {},
        {"tol": 0.9},
        {"tol": np.array([0.5, 2.0])},
        {"rtol": np.array([0.1, 0.6])},
    ):
        got = la.matrix_rank(full, **keywords)
        np.testing.assert_array_equal(got, np.linalg.matrix_rank(full, **keywords))
        assert got.dtype == np.int64
    h = full @ np.swapaxes(full, -1, -2)
    np.testing.assert_array_equal(
        la.matrix_rank(h, hermitian=True), np.linalg.matrix_rank(h, hermitian=True)
    )
    assert int(la.matrix_rank(np.zeros(3))) == 0
    assert int(la.matrix_rank(np.ones(3))) == 1
    assert int(fgrad.vmap(la.matrix_rank)(full)[1]) == 2
    np.testing.assert_array_equal(
        fgrad.grad(lambda x: la.matrix_rank(x) * 2.0)(full[0]), np.zeros((3, 3))
    )


def test_pinv_cutoffs() -> None:
    a = np.diag([4.0, 1.0, 1e-3])
    close(la.pinv(a, 0.3), np.linalg.pinv(a, 0.3))
    close(la.pinv(a, rcond=0.01), np.linalg.pinv(a, rcond=0.01))
    close(la.pinv(a, rtol=0.01, hermitian=True), np.linalg.pinv(a, 0.01, hermitian=True))


# ---- sizes and dtypes at the edge -------------------------------------------------------------------


EMPTY: dict[str, tuple[str, tuple[tuple[int, ...], ...]]] = {
    "inv": ("inv", ((0, 0),)),
    "det": ("det", ((0, 0),)),
    "slogdet": ("slogdet", ((0, 0),)),
    "cholesky": ("cholesky", ((0, 0),)),
    "eigh": ("eigh", ((0, 0),)),
    "eigvalsh": ("eigvalsh", ((0, 0),)),
    "svd no rows": ("svd", ((0, 3),)),
    "svd no columns": ("svd", ((3, 0),)),
    "svdvals": ("svdvals", ((0, 3),)),
    "qr no rows": ("qr", ((0, 3),)),
    "qr no columns": ("qr", ((3, 0),)),
    "pinv": ("pinv", ((0, 3),)),
    "solve": ("solve", ((0, 0), (0, 2))),
    "solve no sides": ("solve", ((2, 2), (2, 0))),
    "norm": ("norm", ((0,),)),
    "matrix_norm": ("matrix_norm", ((0, 3),)),
    "matrix_power": ("matrix_power", ((0, 0),)),
    "no matrices": ("inv", ((0, 2, 2),)),
    "no factors": ("cholesky", ((0, 2, 2),)),
    "no values": ("eigh", ((0, 2, 2),)),
    "no decompositions": ("svd", ((0, 2, 3),)),
    "no systems": ("solve", ((0, 2, 2), (0, 2, 1))),
    "no determinants": ("det", ((0, 2, 2),)),
    "no triangles": ("qr", ((0, 3, 2),)),
}


@pytest.mark.parametrize("case", EMPTY)
def test_empty(case: str) -> None:
    name, shapes = EMPTY[case]
    operands = [np.zeros(shape) for shape in shapes]
    extra = (3,) if name == "matrix_power" else ()

    def f(*xs: Any) -> Any:
        return getattr(la, name)(*xs, *extra)

    want = getattr(np.linalg, name)(*operands, *extra)
    close(f(*operands), want)
    close(fgrad.jit(f)(*operands), want)
    value, tangent = fgrad.jvp(f, tuple(operands), tuple(operands))
    close([x * 0 for x in leaves(tangent)], [x * 0 for x in leaves(want)])
    _, pullback = fgrad.vjp(f, *operands)
    close(list(pullback(tangent)), operands)


def test_norms_of_nothing() -> None:
    for order in (np.inf, 2, 1, 0, 3):
        close(la.norm(np.zeros(0), order), np.linalg.norm(np.zeros(0), order))
    for order in (np.inf, 1, 2, "nuc", "fro"):
        close(la.norm(np.zeros((0, 3)), order), np.linalg.norm(np.zeros((0, 3)), order))
    for x, order in ((np.zeros(0), -np.inf), (np.zeros((0, 3)), -2)):
        with pytest.raises(ValueError, match="0"):
            la.norm(x, order)
    with pytest.raises(errors.ShapeError, match="empty"):
        la.cond(np.zeros((0, 0)))


def test_one_by_one() -> None:
    a = np.array([[-2.0]])
    assert float(fgrad.grad(la.det)(a)[0, 0]) == 1.0
    assert float(fgrad.grad(lambda x: la.inv(x)[0, 0])(a)[0, 0]) == -0.25
    assert float(fgrad.grad(lambda x: la.slogdet(x)[1])(a)[0, 0]) == -0.5
    assert float(fgrad.grad(lambda x: la.svdvals(x)[0])(a)[0, 0]) == -1.0
    assert float(fgrad.grad(lambda x: la.cholesky(-x)[0, 0])(a)[0, 0]) == pytest.approx(
        -0.5 / np.sqrt(2)
    )
    assert float(fgrad.grad(lambda x: fnp.sum(la.eigh(x)[1]))(a)[0, 0]) == 0.0


def test_numbers_have_norms() -> None:
    assert float(la.norm(-3.0)) == 3.0
    assert la.norm(-3.0).weak_type
    assert float(fgrad.grad(la.norm)(-3.0)) == -1.0
    assert float(la.vector_norm(np.float32(-3.0))) == 3.0


def test_32_bits() -> None:
    with_32 = {}
    fgrad.config.update("fgrad_enable_x64", False)
    try:
        a = ladder(seeded("32 bits"), (), 3, 3, "float64")
        for f in (la.inv, la.det, la.svdvals, la.norm, la.eigvals, la.matrix_rank):
            with_32[f.__name__] = f(a).dtype.name, fgrad.jit(f)(a).dtype.name
    finally:
        fgrad.config.update("fgrad_enable_x64", True)
    assert with_32 == {
        name: (dtype, dtype)
        for name, dtype in {
            "inv": "float32",
            "det": "float32",
            "svdvals": "float32",
            "norm": "float32",
            "eigvals": "complex64",
            "matrix_rank": "int32",
        }.items()
    }


# ---- derivatives -----------------------------------------------------------------------------------


def directions(name: str, like: list[Any]) -> list[Any]:
    rng = seeded(name + " directions")
    return [numbers(rng, np.shape(x), np.asarray(x).dtype) for x in like]


def pairing(left: Any, right: Any) -> float:
    """The real pairing of cotangents with tangents: it does not conjugate."""
    pairs = zip(leaves(left), leaves(right), strict=True)
    return sum(float(np.sum(a * b).real) for a, b in pairs if b.dtype.kind in "fc")


def loss_of(name: str, space: Any, weights: list[Any]) -> Callable[..., Any]:
    """A real function of all results whose second derivatives are not those of the results alone."""

    def loss(*operands: Any) -> Any:
        results = run(name, space, *operands)
        results = results if isinstance(results, (tuple, list)) else [results]
        total = 0.0
        for x, weight in zip(results, weights, strict=True):
            total = total + space.sum(space.real(weight * x * x))
        return total

    return loss


@cases
def test_derivatives_are_those_of_jax(name: str, dtype: str) -> None:
    if not ROWS[name].jax:
        pytest.skip("JAX has no rule for it; the differences of the next test hold it")
    operands = operands_of(name, dtype)
    tangents = directions(name, operands)
    results = leaves(run(name, Spaces.fgrad, *operands))
    cts = directions(name + "ct", results)
    argnums = tuple(range(len(operands)))

    def derivatives(module: Any, space: Any) -> Callable[..., Any]:
        def f(*xs: Any) -> Any:
            return tuple(leaves_of(run(name, space, *xs)))

        def all_of_them(xs: Any, ts: Any, cs: Any) -> Any:
            value, tangent = module.jvp(f, tuple(xs), tuple(ts))
            pulled = module.vjp(f, *xs)[1](tuple(cs))
            gradient = module.grad(loss_of(name, space, list(cs)), argnums)
            first, second = module.jvp(gradient, tuple(xs), tuple(ts))
            return value, tangent, pulled, first, second

        return all_of_them

    want = jax.jit(derivatives(jax, jnp))(operands, tangents, cts)
    got = derivatives(fgrad, Spaces.fgrad)(operands, tangents, cts)
    for a, b, what in zip(got, want, ("value", "jvp", "vjp", "gradient", "second"), strict=True):
        close(a, b, 2e-8, what)
    compiled = fgrad.jit(derivatives(fgrad, Spaces.fgrad))(operands, tangents, cts)
    close(compiled, got, 1e-10, "jit")


def leaves_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


STEP = 1e-4
STENCIL = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))


def difference(f: Callable[..., Any], at: list[Any], along: list[Any]) -> list[Any]:
    """The directional derivative by central differences of the fourth order."""
    total: list[Any] = []
    for distance, weight in STENCIL:
        moved = [x + distance * STEP * t for x, t in zip(at, along, strict=True)]
        part = [weight / STEP * x for x in leaves(f(*moved))]
        total = [a + b for a, b in zip(total, part, strict=True)] if total else part
    return total


#: Rows whose vectors have phases that LAPACK chooses: these are looked at as real matrices only.
PHASES = {"svd tall", "svd wide", "svd square", "eigh"}


@cases
def test_derivatives_are_limits_of_differences(name: str, dtype: str) -> None:
    if name in PHASES and dtype == "complex128":
        pytest.skip("the phases of the vectors are LAPACK's choice; JAX holds these")
    f = ours(name)
    operands = operands_of(name, dtype)
    tangents = directions(name, operands)
    value, tangent = fgrad.jvp(f, tuple(operands), tuple(tangents))
    close(
        tangent,
        [
            x.astype(np.asarray(v).dtype)
            for x, v in zip(difference(f, operands, tangents), leaves(value), strict=True)
        ],
        1e-8,
    )
    answer, pullback = fgrad.vjp(f, *operands)
    cts = directions(name + "ct", leaves(answer))
    structured = (
        cts if isinstance(answer, list) else tuple(cts) if isinstance(answer, tuple) else cts[0]
    )
    pulled = pullback(structured)
    assert pairing(cts, tangent) == pytest.approx(
        pairing(list(pulled), tangents), rel=1e-9, abs=1e-9
    )
    loss = loss_of(name, Spaces.fgrad, cts)
    gradient = fgrad.grad(loss, tuple(range(len(operands))))
    _, second = fgrad.jvp(gradient, tuple(operands), tuple(tangents))
    close(list(second), difference(gradient, operands, tangents), 1e-7, "second")


def projector(x: Any) -> Any:
    return x @ fnp.conj(fnp.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_full_singular_vectors_turn_as_the_spaces_that_they_span(shape: Any, dtype: str) -> None:
    a = ladder(seeded("full"), (), *shape, dtype)
    t = directions("full", [a])

    def spaces(x: Any) -> Any:
        u, s, vh = la.svd(x)
        v = fnp.conj(vh.T)
        rest = [projector(u[:, 2:]), projector(v[:, 2:])]
        return (*rest, projector(u[:, :1]), projector(v[:, 1:2]), s, u[:, :1] @ vh[:1])

    _, tangent = fgrad.jvp(spaces, (a,), tuple(t))
    close(tangent, difference(spaces, [a], t), 1e-8)
    out, pullback = fgrad.vjp(spaces, a)
    cts = directions("full ct", leaves(out))
    assert pairing(cts, tangent) == pytest.approx(pairing(list(pullback(tuple(cts))), t), rel=1e-9)


@pytest.mark.parametrize("name", ["eigh", "svd tall", "svd wide"])
def test_complex_vectors_by_what_does_not_depend_on_phases(name: str) -> None:
    operands = operands_of(name, "complex128")
    t = directions(name, operands)

    def spaces(x: Any) -> Any:
        found = ours(name)(x)
        return [found[1 if name == "eigh" else 0] for _ in range(1)], [fnp.abs(v) for v in found]

    def flat(x: Any) -> Any:
        vectors, sizes = spaces(x)
        return (*[projector(v[:, :1]) for v in vectors], *sizes)

    _, tangent = fgrad.jvp(flat, tuple(operands), tuple(t))
    close(tangent, difference(flat, operands, t), 1e-8)


# ---- mapping ---------------------------------------------------------------------------------------


@cases
def test_vmap_is_a_loop(name: str, dtype: str) -> None:
    f = ours(name)
    single = operands_of(name, dtype)
    stacked = operands_of(name, dtype, (3,))
    for mapped in itertools.product((False, True), repeat=len(single)):
        if not any(mapped):
            continue
        args = [b if m else a for a, b, m in zip(single, stacked, mapped, strict=True)]
        in_axes = tuple(0 if m else None for m in mapped)
        got = fgrad.vmap(f, in_axes)(*args)
        rows = [f(*[x[i] if m else x for x, m in zip(args, mapped, strict=True)]) for i in range(3)]
        want = [np.stack(parts) for parts in zip(*map(leaves, rows), strict=True)]
        close(got, want, 1e-11, str(mapped))

        def gradient(*xs: Any) -> Any:
            results = leaves_of(f(*xs))
            total = sum(fnp.sum(fnp.abs(x) ** 2 * (1 + n)) for n, x in enumerate(results))
            return total * 1.0

        pulled = fgrad.vmap(fgrad.grad(gradient, tuple(range(len(args)))), in_axes)(*args)
        rows = [
            fgrad.grad(gradient, tuple(range(len(args))))(
                *[x[i] if m else x for x, m in zip(args, mapped, strict=True)]
            )
            for i in range(3)
        ]
        want = [np.stack(parts) for parts in zip(*map(leaves, rows), strict=True)]
        close(list(pulled), want, 1e-9, f"gradient {mapped}")


def test_one_matrix_is_factored_once_for_many_right_hand_sides() -> None:
    a, b = ladder(seeded("a"), (), 40, 40, "float64"), numbers(seeded("b"), (5, 40), "float64")
    program = str(fgrad.make_jaxpr(fgrad.vmap(la.solve, (None, 0)))(a, b))
    assert "f64[40,5] = solve" in program
    close(fgrad.vmap(la.solve, (None, 0))(a, b), np.linalg.solve(a, b.T).T)


def test_batches_broadcast() -> None:
    rng = seeded("broadcast")
    a, b = ladder(rng, (2, 1), 3, 3, "float64"), numbers(rng, (4, 3, 2), "float64")
    close(la.solve(a, b), np.linalg.solve(a, b))
    for argument in (0, 1):
        gradient = fgrad.grad(lambda *xs: fnp.sum(la.solve(*xs) ** 2), argument)(a, b)
        want = jax.grad(
            lambda *xs: jnp.sum(jnp.linalg.solve(*map(jnp.asarray, wide(*xs))) ** 2), argument
        )(a, b)
        close(gradient, want)


def wide(a: Any, b: Any) -> Any:
    return jnp.broadcast_to(a, (2, 4, 3, 3)), jnp.broadcast_to(b, (2, 4, 3, 2))


# ---- large systems -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_large_systems(dtype: str, lead: tuple[int, ...]) -> None:
    rng = seeded(f"large {dtype} {lead}")
    n = 36
    a = (numbers(rng, (*lead, n, n), dtype) + 8 * np.eye(n)).astype(dtype)
    b = numbers(rng, (*lead, n, 2), dtype)
    tangents = directions("large", [a, b])
    wide = np.result_type(dtype, np.float64)
    a64, ta, tb = a.astype(wide), tangents[0].astype(wide), tangents[1].astype(wide)
    x = np.linalg.solve(a64, b.astype(wide))
    want = np.linalg.solve(a64, tb - ta @ x)
    got = fgrad.jvp(la.solve, (a, b), tuple(tangents))
    rtol = 1e-4 if dtype == "float32" else 1e-11
    close(got, (x.astype(dtype), want.astype(dtype)), rtol)
    answer, pullback = fgrad.vjp(la.solve, a, b)
    (ct,) = directions("large ct", [x.astype(dtype)])
    side = np.linalg.solve(np.swapaxes(a64, -1, -2), ct.astype(wide))
    close(
        list(pullback(ct)),
        [(-side @ np.swapaxes(x, -1, -2)).astype(dtype), side.astype(dtype)],
        rtol,
    )
    close(fgrad.jit(lambda *xs: fgrad.vjp(la.solve, *xs)[1](ct))(a, b), pullback(ct), rtol)
    second = fgrad.jvp(
        fgrad.grad(lambda y: fnp.sum(fnp.abs(la.solve(y, b)) ** 2)), (a,), (tangents[0],)
    )
    small = n // 4
    del small
    gradient = fgrad.grad(lambda y: fnp.sum(fnp.abs(la.inv(y) @ b) ** 2))
    other = fgrad.jvp(gradient, (a,), (tangents[0],))
    close(second, other, 30 * rtol)


def equations(program: Any) -> list[str]:
    """The names of all applications, in bodies too."""
    found = []
    pending = [program.jaxpr if hasattr(program, "jaxpr") else program]
    while pending:
        jaxpr = pending.pop()
        for eqn in jaxpr.eqns:
            found.append(eqn.primitive.name)
            pending.extend(getattr(eqn.primitive, "jaxprs", ()))
    return found


def test_a_large_matrix_is_factored_once() -> None:
    a, b = 8 * np.eye(40), np.ones(40)

    def loss(x: Any) -> Any:
        return fnp.sum(la.solve(x, b) ** 2)

    first = equations(fgrad.make_jaxpr(fgrad.grad(loss))(a))
    assert first.count("lu") == 1
    assert "solve" not in first
    second = equations(fgrad.make_jaxpr(lambda x, t: fgrad.jvp(fgrad.grad(loss), (x,), (t,)))(a, a))
    assert second.count("lu") == 1
    assert "solve" not in second
    tangent = equations(fgrad.make_jaxpr(lambda x, t: fgrad.jvp(loss, (x,), (t,)))(a, a))
    assert tangent.count("lu") == 1


@pytest.mark.parametrize(
    ("name", "primitive", "vectors"),
    [
        ("eigvalsh", "eigh", "eigvalsh"),
        ("svdvals", "svd", "singular_values"),
        ("eigvals", "eig", "eigvals"),
    ],
)
def test_values_are_not_computed_twice(name: str, primitive: str, vectors: str) -> None:
    f = getattr(la, name)
    plain = equations(fgrad.make_jaxpr(f)(np.eye(3)))
    assert vectors in plain
    assert primitive not in plain
    taken = equations(
        fgrad.make_jaxpr(fgrad.value_and_grad(lambda a: fnp.sum(fnp.real(f(a)))))(np.eye(3))
    )
    assert taken.count(primitive) == 1
    assert vectors not in taken


@pytest.mark.parametrize("name", ["inv", "cholesky", "qr", "svd", "eigh", "pinv"])
def test_derivatives_read_the_answer(name: str) -> None:
    f = getattr(la, name)

    def loss(a: Any) -> Any:
        return sum(fnp.sum(fnp.real(x)) for x in leaves_of(f(a)))

    names = equations(fgrad.make_jaxpr(fgrad.value_and_grad(loss))(np.diag([1.0, 2.0, 3.0])))
    assert names.count(name) == 1


def test_solve_is_linear_in_the_right_hand_side() -> None:
    for n in (3, 40):
        a = ladder(seeded("linear"), (), n, n, "float64") + n * np.eye(n)
        (found,) = fgrad.linear_transpose(lambda b, a=a: la.solve(a, b), np.ones(n))(
            np.arange(n, dtype=float)
        )
        close(found, np.linalg.solve(a.T, np.arange(n, dtype=float)))
        _, f_jvp = fgrad.linearize(lambda b, a=a: la.solve(a, b), np.ones(n))
        close(f_jvp(np.arange(n, dtype=float)), np.linalg.solve(a, np.arange(n, dtype=float)))


# ---- triangular systems --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("lead", [(), (2,), (40,)])
def test_triangular_solve(dtype: str, lead: tuple[int, ...]) -> None:
    from scipy.linalg import solve_triangular

    from fgrad.array import value, wrap
    from fgrad.primitives.solve import triangular_solve

    rng = seeded(f"triangular {dtype}")
    a = (numbers(rng, (*lead, 4, 4), dtype) + 3 * np.eye(4)).astype(dtype)
    b = numbers(rng, (*lead, 4, 2), dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-11
    for lower, trans, unit in itertools.product((False, True), (0, 1, 2), (False, True)):

        def f(x: Any, y: Any, lower: bool = lower, trans: int = trans, unit: bool = unit) -> Any:
            return wrap(triangular_solve(value(x), value(y), lower, trans, unit))

        want = np.empty_like(b)
        for i in np.ndindex(*lead):
            want[i] = solve_triangular(a[i], b[i], trans=trans, lower=lower, unit_diagonal=unit)
        close(f(a, b), want, rtol)
        if lead == () and dtype != "float32":
            t = directions("triangular", [a, b])
            _, tangent = fgrad.jvp(f, (a, b), tuple(t))
            close(tangent, difference(f, [a, b], t), 1e-8)
            _, pullback = fgrad.vjp(f, a, b)
            (ct,) = directions("triangular ct", [want])
            assert pairing(ct, tangent) == pytest.approx(pairing(list(pullback(ct)), t), rel=1e-9)


def test_a_singular_triangle_gives_no_error() -> None:
    from fgrad.primitives.solve import triangular_solve

    assert not np.isfinite(triangular_solve(np.zeros((2, 2)), np.ones((2, 1)), True)).any()
    many = triangular_solve(np.zeros((9, 2, 2)), np.ones((9, 2, 1)), True)
    assert not np.isfinite(many).any()


# ---- where mathematics is degenerate -----------------------------------------------------------------


def expansion(xp: Any, a: Any) -> Any:
    """The determinant as the sum over permutations."""
    n = a.shape[-1]
    total = 0.0
    for order in itertools.permutations(range(n)):
        inversions = sum(x > y for x, y in itertools.combinations(order, 2))
        term = (-1.0) ** inversions
        for i, j in enumerate(order):
            term = term * a[..., i, j]
        total = total + term
    return total


SINGULAR = {
    "rank 0": np.zeros((3, 3)),
    "rank 1": np.outer([1.0, 2.0, -1.0], [0.5, 1.0, 3.0]),
    "rank 2": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    "nearly": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0 + 1e-9]]),
    "identity": np.eye(3),
    "regular": np.array([[2.0, 1.0, 0.0], [-1.0, 3.0, 0.5], [0.3, 0.0, 1.0]]),
}


@pytest.mark.parametrize("case", SINGULAR)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants_differentiate_to_all_orders_everywhere(case: str, dtype: str) -> None:
    a = SINGULAR[case].astype(dtype)
    if dtype == "complex128":
        a = a * np.exp(0.4j)
    t = directions("determinant", [a] * 4)

    def nested(module: Any, f: Callable[..., Any], order: int) -> Any:
        for i in range(order):
            f = (lambda g, i: lambda x: module.jvp(g, (x,), (t[i],))[1])(f, i)
        return f(a)

    for order in range(5):
        want = nested(jax, lambda x: expansion(jnp, x), order)
        close(nested(fgrad, la.det, order), want, 1e-12, f"order {order}")
    kind = {"holomorphic": True} if dtype == "complex128" else {}
    gradient = fgrad.grad(la.det, **kind)(a)
    close(gradient, jax.grad(lambda x: expansion(jnp, x), **kind)(a), 1e-12)
    hessian = fgrad.jacrev(fgrad.grad(la.det, **kind), **kind)(a)
    close(hessian, jax.hessian(lambda x: expansion(jnp, x), **kind)(a), 1e-12)


def test_determinants_in_a_batch_of_regular_and_singular_matrices() -> None:
    a = np.stack([SINGULAR["rank 2"], SINGULAR["regular"], SINGULAR["rank 1"]])
    got = fgrad.vmap(fgrad.grad(la.det))(a)
    want = [np.asarray(jax.grad(lambda x: expansion(jnp, x))(m)) for m in a]
    close(got, np.stack(want), 1e-12)
    assert np.isnan(fgrad.grad(la.det)(np.full((2, 2), np.nan))).all()


def test_norms_at_the_origin() -> None:
    zero = np.zeros(3)
    for order in (None, 2, 3, 1, np.inf, 2.5):
        gradient = fgrad.grad(lambda v, order=order: la.norm(v, order))(zero)
        np.testing.assert_array_equal(gradient, zero, err_msg=str(order))
        squared = fgrad.grad(lambda v, order=order: la.norm(v, order) ** 2)(zero)
        np.testing.assert_array_equal(squared, zero, err_msg=str(order))
        assert (
            float(fgrad.jvp(lambda v, order=order: la.norm(v, order), (zero,), (np.ones(3),))[1])
            == 0
        )
    np.testing.assert_array_equal(fgrad.grad(la.norm)(np.zeros((2, 2))), np.zeros((2, 2)))
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    gradient = fgrad.grad(lambda x: fnp.sum(la.norm(x, axis=1)))(rows)
    np.testing.assert_allclose(gradient, [[0, 0], [0.6, 0.8]])
    gradient = fgrad.jit(fgrad.grad(lambda z: la.norm(z)))(np.zeros(2, complex))
    np.testing.assert_array_equal(gradient, np.zeros(2))


def test_ties_share_the_slope() -> None:
    np.testing.assert_allclose(
        fgrad.grad(lambda v: la.norm(v, np.inf))(np.array([1.0, -1.0])), [0.5, -0.5]
    )


def test_values_at_equal_eigenvalues() -> None:
    a = np.eye(3) * 2.0
    for f in (la.eigvalsh, la.svdvals):
        np.testing.assert_allclose(
            fgrad.grad(lambda x, f=f: fnp.sum(f(x) ** 2))(a), 2 * a, atol=1e-12
        )
    gradient = fgrad.grad(lambda x: fnp.sum(la.eigh(x)[0] ** 2))(a)
    np.testing.assert_allclose(gradient, 2 * a, atol=1e-12)
    np.testing.assert_allclose(fgrad.grad(lambda x: la.norm(x, "nuc"))(a), np.eye(3), atol=1e-12)


def test_vectors_at_equal_eigenvalues_are_not_differentiable_and_say_so() -> None:
    a, weights = np.eye(2), np.array([[1.0, 2.0], [3.0, -1.0]])
    for f in (lambda x: la.eigh(x)[1], lambda x: la.svd(x)[0]):
        assert not np.isfinite(fgrad.grad(lambda x, f=f: fnp.sum(weights * f(x)))(a)).all()

    # A function of the matrix whose derivative exists there is not given a wrong one.
    def rebuilt(x: Any) -> Any:
        w, v = la.eigh(x)
        return fnp.sum(weights * ((v * w) @ v.T))

    assert not np.isfinite(fgrad.grad(rebuilt)(a)).all()


def test_a_cotangent_of_zero_absorbs_infinite_slopes() -> None:
    for f in (lambda x: la.eigh(x)[1], lambda x: la.svd(x)[0], lambda x: la.svd(x)[2]):
        gradient = fgrad.grad(lambda x, f=f: fnp.sum(fnp.where(False, f(x), x)))(np.eye(2))
        np.testing.assert_array_equal(gradient, np.ones((2, 2)))
    # Rows of a batch that count for nothing do not spoil the others.
    batch = np.stack([np.eye(2), np.diag([1.0, 2.0])])
    gradient = fgrad.grad(
        lambda x: fnp.sum((fnp.array([0.0, 1.0])[:, None, None] * la.eigh(x)[1]))
    )(batch)
    assert np.isfinite(gradient).all()


def test_pseudo_inverses_of_low_rank_move_at_constant_rank() -> None:
    rng = seeded("low rank")
    left, right = numbers(rng, (4, 2), "float64"), numbers(rng, (2, 3), "float64")
    dl, dr = directions("low rank", [left, right])

    def through(x: Any, y: Any) -> Any:
        return la.pinv(x @ y)

    _, tangent = fgrad.jvp(through, (left, right), (dl, dr))
    close(tangent, difference(through, [left, right], [dl, dr]), 1e-7)
    b = numbers(rng, (4, 2), "float64")

    def fitted(x: Any, y: Any) -> Any:
        return la.lstsq(x @ y, b)[0]

    _, tangent = fgrad.jvp(fitted, (left, right), (dl, dr))
    close(tangent, difference(fitted, [left, right], [dl, dr]), 1e-7)


def test_columns_that_need_no_reflection() -> None:
    a = np.array([[2.0, 1.0], [0.0, 3.0], [0.0, 0.0]])
    gradient = fgrad.grad(lambda x: fnp.sum(la.qr(x, "complete")[1] ** 2))(a)
    np.testing.assert_allclose(gradient, 2 * a, atol=1e-12)
    gradient = fgrad.grad(lambda x: fnp.sum(la.qr(x, "complete")[0][:, :2] ** 3))(a)
    want = fgrad.grad(lambda x: fnp.sum(la.qr(x)[0] ** 3))(a)
    np.testing.assert_allclose(gradient, want, atol=1e-12)


def test_slogdet_of_singular_matrices() -> None:
    a = np.zeros((2, 2))
    sign, logarithm = la.slogdet(a)
    assert float(sign) == 0.0
    assert float(logarithm) == -np.inf
    assert np.isnan(fgrad.grad(lambda x: la.slogdet(x)[1])(a)).all()
    batch = np.stack([a, np.eye(2)])
    gradient = fgrad.vmap(fgrad.grad(lambda x: la.slogdet(x)[1]))(batch)
    np.testing.assert_array_equal(gradient[1], np.eye(2))


def test_condition_of_singular_matrices() -> None:
    singular = np.ones((2, 2))
    for p in (1, "fro"):
        assert float(la.cond(np.zeros((2, 2)), p)) == np.inf
    assert float(la.cond(singular)) > 1e15
    assert float(la.cond(np.zeros((2, 2)))) == np.inf
    assert np.isnan(la.cond(np.full((2, 2), np.nan), 1))


# ---- bad input -----------------------------------------------------------------------------------------


def test_linalg_errors_are_those_of_numpy() -> None:
    assert la.LinAlgError is np.linalg.LinAlgError
    singular = np.ones((2, 2))
    for f in (la.inv, lambda a: la.solve(a, np.ones(2)), lambda a: la.matrix_power(a, -1)):
        with pytest.raises(la.LinAlgError):
            f(singular)
        with pytest.raises(la.LinAlgError):
            fgrad.jit(f)(singular)
    with pytest.raises(la.LinAlgError):
        la.cholesky(-np.eye(2))
    with pytest.raises(la.LinAlgError):
        fgrad.grad(lambda a: fnp.sum(la.solve(a, np.ones(40))))(np.ones((40, 40)))


@pytest.mark.parametrize(
    "name", ["inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "eig", "eigvals"]
)
def test_matrices_must_be_square(name: str) -> None:
    f = getattr(la, name)
    for shape in ((2, 3), (3,), ()):
        with pytest.raises(errors.ShapeError, match=rf"{name}: a has shape \({str(shape)[1:-1]}\)"):
            f(np.ones(shape))


def test_errors_name_the_function_and_the_shapes() -> None:
    a = np.ones((3, 3))
    bad: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (
            errors.ShapeError,
            r"solve: a of shape \(3, 3\) and b of shape \(2,\)",
            lambda: la.solve(a, np.ones(2)),
        ),
        (
            errors.ShapeError,
            r"solve: the leading axes",
            lambda: la.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1))),
        ),
        (errors.ShapeError, r"solve: .*b of shape \(\)", lambda: la.solve(a, 1.0)),
        (errors.ShapeError, r"lstsq: .*\(3, 3\).*\(2,\)", lambda: la.lstsq(a, np.ones(2))),
        (errors.DTypeError, "inv: a has dtype float16.*float32", lambda: la.inv(a.astype("f2"))),
        (errors.DTypeError, "solve: b has dtype float16", lambda: la.solve(a, np.ones(3, "f2"))),
        (errors.ArgumentError, "qr: mode is 'full'", lambda: la.qr(a, mode="full")),
        (errors.ArgumentError, "UPLO is 'X'", lambda: la.eigh(a, UPLO="X")),
        (errors.ArgumentError, "norm: ord='spam'", lambda: la.norm(a, "spam")),
        (
            errors.ArgumentError,
            "norm: ord='fro' is not a norm of vectors",
            lambda: la.norm(np.ones(3), "fro"),
        ),
        (errors.ArgumentError, "norm: ord=3 is not a norm of matrices", lambda: la.norm(a, 3)),
        (errors.ShapeError, r"norm: x has shape \(1, 3, 3\)", lambda: la.norm(a[None], 2)),
        (errors.AxisError, "norm: axis", lambda: la.norm(a, axis=2)),
        (errors.AxisError, "norm: axis=", lambda: la.norm(a, axis=(0, 0))),
        (errors.ShapeError, r"matrix_norm: x has shape \(3,\)", lambda: la.matrix_norm(np.ones(3))),
        (errors.ArgumentError, "multi_dot: got 1", lambda: la.multi_dot([a])),
        (
            errors.ShapeError,
            r"multi_dot: arrays 0 and 1 of shapes \(3, 3\) and \(2, 2\)",
            lambda: la.multi_dot([a, np.ones((2, 2))]),
        ),
        (
            errors.ShapeError,
            "multi_dot: array 1 has shape",
            lambda: la.multi_dot([a, np.ones(3), a]),
        ),
        (errors.ArgumentError, "pinv: rtol and rcond", lambda: la.pinv(a, 1e-3, rcond=1e-3)),
        (
            errors.ArgumentError,
            "matrix_rank: tol and rtol",
            lambda: la.matrix_rank(a, 1e-3, rtol=1e-3),
        ),
        (errors.ArgumentError, "svd: subset_by_index", lambda: la.svd(a, subset_by_index=(0, 1))),
        (
            errors.ArgumentError,
            "subset_by_index=",
            lambda: la.svd(a, False, subset_by_index=(0, 4)),
        ),
        (errors.ShapeError, r"outer: .*\(3, 3\)", lambda: la.outer(a, a)),
        (errors.ShapeError, "cross: axis -1", lambda: la.cross(np.ones(2), np.ones(2))),
        (errors.ShapeError, "tensorinv: .*maps", lambda: la.tensorinv(np.ones((2, 3, 4)), 1)),
        (errors.ArgumentError, "tensorinv: ind is 0", lambda: la.tensorinv(a, 0)),
        (errors.ShapeError, "tensorsolve: .*does not begin", lambda: la.tensorsolve(a, np.ones(2))),
        (
            errors.ShapeError,
            "matrix_power: a has shape",
            lambda: la.matrix_power(np.ones((2, 3)), 2),
        ),
        (errors.ArgumentError, "slogdet: method", lambda: la.slogdet(a, method="no")),
        (errors.InPlaceError, "multi_dot: out=", lambda: la.multi_dot([a, a], out=a)),
    ]
    for kind, message, call in bad:
        with pytest.raises(kind, match=message):
            call()


def test_cutoffs_must_be_known() -> None:
    with pytest.raises(errors.ConcretizationTypeError, match="pinv: rtol must be known"):
        fgrad.jit(lambda r: la.pinv(np.eye(2), r))(0.1)
    np.testing.assert_array_equal(
        fgrad.grad(lambda r: fnp.sum(la.pinv(np.eye(2), r)) + r)(0.1), 1.0
    )


# ---- the whole ----------------------------------------------------------------------------------------


def test_every_function_of_numpy_and_jax_is_there() -> None:
    theirs = {n for n in dir(jnp.linalg) if not n.startswith("_")} | set(np.linalg.__all__)
    assert not theirs - set(la.__all__)
    assert all(getattr(la, name).__doc__ for name in la.__all__)


def test_scipy_is_imported_when_needed() -> None:
    code = (
        "import sys, fgrad, fgrad.numpy.linalg as la, numpy as np\n"
        "fgrad.grad(lambda a: la.det(a) + la.norm(la.inv(a)))(np.eye(3))\n"
        "assert not any(name.partition('.')[0] == 'scipy' for name in sys.modules), 'too early'\n"
        "fgrad.grad(lambda a: la.cholesky(a).sum())(np.eye(3))\n"
        "assert 'scipy.linalg' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_gaussian_of_a_researcher() -> None:
    """A log-likelihood under grad, hessian, vmap and jit, against JAX."""
    rng = seeded("gaussian")
    x, y = numbers(rng, (8, 2), "float64"), numbers(rng, (8,), "float64")

    def likelihood(xp: Any, linalg: Any, theta: Any, data: Any) -> Any:
        scale, noise = xp.exp(theta[0]), xp.exp(theta[1])
        gap = data[:, None, :] - data[None, :, :]
        kernel = xp.exp(-0.5 * xp.sum(gap**2, axis=-1) / scale**2) + (noise + 1e-6) * xp.eye(8)
        factor = linalg.cholesky(kernel)
        half = linalg.solve(factor, y)
        return -0.5 * xp.sum(half**2) - xp.sum(xp.log(linalg.diagonal(factor)))

    theta = np.array([0.3, -1.0])

    def mine(t: Any, d: Any) -> Any:
        return likelihood(fnp, la, t, d)

    def theirs(t: Any, d: Any) -> Any:
        return likelihood(jnp, jnp.linalg, t, d)

    close(fgrad.jit(fgrad.grad(mine, (0, 1)))(theta, x), jax.grad(theirs, (0, 1))(theta, x), 1e-9)
    close(fgrad.hessian(mine)(theta, x), jax.hessian(theirs)(theta, x), 1e-9)
    many = np.stack([theta, theta + 0.1, theta - 0.2])
    got = fgrad.jit(fgrad.vmap(fgrad.hessian(mine), (0, None)))(many, x)
    close(got, jax.vmap(jax.hessian(theirs), (0, None))(many, x), 1e-9)
