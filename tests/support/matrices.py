"""What the tests of linear algebra share: a table of calls, operands, directions, differences."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from support.modules import fnp

import fgrad.numpy.linalg as la


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
    #: Up to which order JAX has the derivatives.
    jax: int = 2
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
    "qr wide": Row(lambda xp, a: tuple(xp.linalg.qr(a)), "W", jax=0),
    "qr complete": Row(lambda xp, a: tuple(xp.linalg.qr(a, mode="complete")), "T", jax=0),
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
    "eigvals": Row(lambda xp, a: xp.linalg.eigvals(a), "S", numpy=False, jax=1),
    "eig": Row(lambda xp, a: xp.linalg.eig(a)[0], "S", numpy=False, jax=0),
    "eig vectors": Row(lambda xp, a: first(xp, xp.linalg.eig(a)[1]), "S", numpy=False, jax=0),
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
            xp.reshape(xp.kron(a, xp.eye(2)), (3, 3, 2, 2)), b, axes=(0,)
        ),
        "SB",
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


def directions(name: str, like: list[Any]) -> list[Any]:
    rng = seeded(name + " directions")
    return [numbers(rng, np.shape(x), np.asarray(x).dtype) for x in like]


def pairing(left: Any, right: Any) -> float:
    """The real pairing of cotangents with tangents: it does not conjugate."""
    pairs = zip(leaves(left), leaves(right), strict=True)
    return sum(float(np.sum(a * b).real) for a, b in pairs if b.dtype.kind in "fc")


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
