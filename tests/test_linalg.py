"""Linear algebra: values, sizes at the edge, bad input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.matrices import (
    CASES,
    NARROW,
    ROWS,
    close,
    difference,
    herm,
    ladder,
    leaves,
    numbers,
    operand,
    operands_of,
    ours,
    run,
    seeded,
)
from support.modules import fgrad, fnp, jax, jnp

import fgrad.numpy.linalg as la
from fgrad import errors

cases = pytest.mark.parametrize(("name", "dtype"), CASES)


# ---- values ---------------------------------------------------------------------------------


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


# ---- sizes and dtypes at the edge ------------------------------------------------------------


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
    operands = [np.eye(2) if shape == (2, 2) else np.zeros(shape) for shape in shapes]
    extra = (3,) if name == "matrix_power" else ()

    def f(*xs: Any) -> Any:
        return getattr(la, name)(*xs, *extra)

    want = getattr(np.linalg, name)(*operands, *extra)
    close(f(*operands), want)
    close(fgrad.jit(f)(*operands), want)
    _, tangent = fgrad.jvp(f, tuple(operands), tuple(operands))
    close([x * 0 for x in leaves(tangent)], [x * 0 for x in leaves(want)])
    _, pullback = fgrad.vjp(f, *operands)
    close(list(pullback(tangent)), [x * 0 for x in operands])


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


# ---- bad input -------------------------------------------------------------------------------


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


# ---- the whole -------------------------------------------------------------------------------


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
    """A log-likelihood under grad, hessian, vmap and jit."""
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

    gradient = jax.jit(jax.grad(theirs, (0, 1)))(theta, x)
    close(fgrad.jit(fgrad.grad(mine, (0, 1)))(theta, x), gradient, 1e-9)
    curvature = [difference(lambda t: fgrad.grad(mine)(t, x), [theta], [e])[0] for e in np.eye(2)]
    close(fgrad.hessian(mine)(theta, x), np.stack(curvature), 1e-7)
    many = np.stack([theta, theta + 0.1, theta - 0.2])
    got = fgrad.jit(fgrad.vmap(fgrad.hessian(mine), (0, None)))(many, x)
    close(got, np.stack([fgrad.hessian(mine)(t, x) for t in many]), 1e-9)


def test_functions_of_numpy_take_traced_matrices() -> None:
    a, b = ladder(seeded("numpy"), (), 3, 3, "float64"), np.arange(3.0)

    def plain(x: Any) -> Any:
        w, v = np.linalg.eigh(x @ x.T)
        q, r = np.linalg.qr(x)
        return np.sum(np.linalg.solve(x, b)) + np.linalg.det(x) * w[0] + np.linalg.norm(q @ r - v)

    got = fgrad.jvp(plain, (a,), (a,))
    close(got[0], plain(a))
    close(got[1], difference(plain, [a], [a])[0], 1e-8)
    close(fgrad.jit(plain)(a), plain(a))
