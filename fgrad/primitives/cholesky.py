"""Cholesky's factor, and its gradient, which is a function of the factor with derivatives of its own."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, aval_of, broadcast_shapes
from fgrad.parameters import parameters
from fgrad.primitives.families import mul, neg
from fgrad.primitives.linalg import (
    MatrixFunction,
    adjoint,
    apart,
    hermitian,
    hermitian_source,
    matmul,
    numpy_hermitian,
    product,
    total,
    tril,
)
from fgrad.primitives.solve import (
    TriangularSolve,
    lapack_routine,
    solve_triangles,
    triangular_solve_right,
)

# Of smaller matrices, NumPy's function takes less time than one of SciPy's needs to be found.
_WORTH_LAPACK = 64
# The edge of the blocks in which triangles are mirrored: they stay in the fastest cache.
_BLOCK = 32


def _not_positive_definite(shape: tuple[int, ...]) -> np.linalg.LinAlgError:
    which = "the matrix" if len(shape) == 2 else "a matrix of the stack"
    return np.linalg.LinAlgError(
        f"cholesky: {which} of shape {shape} is not positive definite; where rounding or nearly dependent rows "
        "made it so, add a small multiple of the identity, as in a + 1e-8 * fnp.eye(a.shape[-1])"
    )


def _halved(x: Any) -> Any:
    """The lower triangle, with half of the diagonal."""
    return mul(0.5, total(tril(x), tril(x, -1)))


def _between(factor: Any, x: Any) -> Any:
    """``inverse(L) x inverse(L)^H``."""
    half = TriangularSolve(True)(factor, x)
    return triangular_solve_right(factor, half, True, adjoint_matrix=True)


def _push(factor: Any, t: Any) -> Any:
    """How the factor moves with its matrix."""
    # With X = inverse(L) t inverse(L)^H, L^H's and L's moves are the halves of X.
    return matmul(factor, _halved(_between(factor, hermitian(t))))


@parameters
class Cholesky(MatrixFunction):
    """The lower factor of the Hermitian part.   f[*b, n, n] -> f[*b, n, n]

    A matrix without an answer raises LinAlgError, or gives NaN where `strict` is false.
    """

    strict: bool = True

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return a

    def impl(self, a: Any) -> Any:
        if a.ndim == 2 and a.shape[-1] >= _WORTH_LAPACK:
            return self._by_lapack(a)
        try:
            found = apart(np.linalg.cholesky, self.strict, [aval_of(a)], numpy_hermitian(a))
        except np.linalg.LinAlgError:
            raise _not_positive_definite(a.shape) from None
        return found if self.strict else np.tril(found)

    def _by_lapack(self, a: Any) -> Any:
        # Transposed, an array in C order is in Fortran's, and its lower triangle is an upper one:
        # LAPACK factors it where it lies, while NumPy copies it to and fro.
        whole = np.add(a, a.conj().T if a.dtype.kind == "c" else a.T, order="C")
        whole *= 0.5
        factor, info = lapack_routine("potrf", a.dtype.char)(
            whole.T, lower=0, clean=1, overwrite_a=1
        )
        if info:
            if self.strict:
                raise _not_positive_definite(a.shape)
            factor = np.tril(np.full(a.shape, np.nan, a.dtype)).T
        return factor.T

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return _push(answer, tangents[0])

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        return (CholeskyGradient()(answer, g),)

    def lower(self, emit: Any, *names: str) -> str:
        (operand,) = emit.operands
        if not self.strict or (len(operand.shape) == 2 and operand.shape[-1] >= _WORTH_LAPACK):
            return super().lower(emit, *names)
        return f"np.linalg.cholesky({hermitian_source(emit, names[0])})"


@parameters
class CholeskyGradient(MatrixFunction):
    """The gradient towards a matrix, given its factor and the gradient towards that.

    f[*b, n, n] f[*b, n, n] -> f[*b, n, n]

    It is ``inverse(L)^H S inverse(L)``, where S is the Hermitian part of the lower triangle of
    ``L^H g`` with half of its diagonal. Of both operands, the lower triangles alone are read.
    """

    def abstract_eval(self, factor: Aval, g: Aval) -> Aval:  # type: ignore[override]
        lead = broadcast_shapes("cholesky", factor.shape[:-2], g.shape[:-2])
        return Aval((*lead, *factor.shape[-2:]), factor.dtype)

    def impl(self, factor: Any, g: Any) -> Any:
        if factor.ndim == g.ndim == 2 and factor.size:
            return self._by_blas(factor, g)
        factor = np.tril(factor)
        upper = np.swapaxes(factor, -1, -2).conj()
        inside = np.tril(np.matmul(upper, np.tril(g)))
        inside = 0.25 * (inside + np.tril(inside, -1))
        inside = inside + np.swapaxes(inside, -1, -2).conj()
        half = solve_triangles(factor, inside, True, True)
        half = np.swapaxes(half, -1, -2).conj()
        return np.swapaxes(solve_triangles(factor, half, True, True), -1, -2).conj()

    def _by_blas(self, factor: Any, g: Any) -> Any:
        # In Fortran's order, the transposed factor is an upper triangle.
        kind = factor.dtype.char
        multiply = lapack_routine("trmm", kind)
        upper = factor.T
        conjugate = 2 if factor.dtype.kind == "c" else 1
        lower = np.array(g, order="C")
        clear_above(lower)
        inside = multiply(1.0, upper, lower.T, side=1, lower=0, trans_a=conjugate, overwrite_b=1).T
        mirror(inside)
        return between_inverses(factor, inside)

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (factor, g), (moved, tg) = primals, tangents
        found = None if tg is None else self(factor, tg)
        if moved is None:
            return found
        moved = tril(moved)
        inside = hermitian(_halved(matmul(adjoint(moved), tril(g))))
        side = product(answer, moved)
        turn = TriangularSolve(True, conjugate_transpose=True)
        by_inside = triangular_solve_right(factor, turn(factor, inside), True)
        by_factor = triangular_solve_right(factor, side, True)
        return total(found, by_inside, neg(add_adjoint(by_factor)))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return needs[0], (True, needs[0])

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        factor, inner = args
        halves = _halved(_between(factor, hermitian(g)))
        towards_inner = matmul(factor, halves) if needs[1] else None
        if not needs[0]:
            return None, towards_inner
        turned = triangular_solve_right(
            factor, matmul(answer, add_adjoint(g)), True, adjoint_matrix=True
        )
        towards_factor = total(matmul(tril(inner), adjoint(halves)), neg(turned))
        return tril(towards_factor), towards_inner


def between_inverses(factor: Any, x: np.ndarray[Any, Any]) -> Any:
    """Half of ``inverse(L)^H x inverse(L)`` for a Hermitian array, which is overwritten."""
    # All is transposed, so that arrays in C order are in Fortran's.
    solve = lapack_routine("trsm", factor.dtype.char)
    conjugate = 2 if factor.dtype.kind == "c" else 1
    half = solve(0.5, factor.T, x.T, side=0, lower=0, overwrite_b=1)
    return solve(1.0, factor.T, half, side=1, lower=0, trans_a=conjugate, overwrite_b=1).T


def add_adjoint(x: Any) -> Any:
    """Twice the Hermitian part of matrices."""
    return total(x, adjoint(x))


@functools.lru_cache(_BLOCK)
def _lower_half(n: int) -> np.ndarray[Any, Any]:
    return np.tri(n, dtype=bool)


def clear_above(x: np.ndarray[Any, Any]) -> None:
    """Put zeros above the diagonal of a matrix, in its place: NumPy's `tril` takes a mask of its size."""
    for start in range(0, len(x), _BLOCK):
        stop = min(start + _BLOCK, len(x))
        x[start:stop, stop:] = 0
        corner = x[start:stop, start:stop]
        corner[...] = np.where(_lower_half(stop - start), corner, corner.dtype.type(0))


def mirror(x: np.ndarray[Any, Any]) -> None:
    """Make a matrix Hermitian in its place: of its lower triangle, and the real part of its diagonal."""
    n = len(x)
    is_complex = x.dtype.kind == "c"
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        below = x[stop:, start:stop].T
        x[start:stop, stop:] = below.conj() if is_complex else below
        corner = x[start:stop, start:stop]
        # The part above the diagonal may hold anything, NaN included.
        above = corner.T.conj() if is_complex else corner.T
        corner[...] = np.where(_lower_half(stop - start), corner, above)
    if is_complex:
        diagonal = x.ravel()[:: n + 1] if x.flags.c_contiguous else np.einsum("ii->i", x)
        diagonal.imag = 0.0
