"""Linear systems and inverses: general, triangular, and in the least-squares sense."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape, aval_of, broadcast_shapes
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import stop_gradient, sub
from fgrad.primitives.families import NonDifferentiable, neg, reshape
from fgrad.primitives.linalg import (
    MatrixFunction,
    adjoint,
    aligned,
    apart,
    hermitian,
    hermitian_source,
    matmul,
    no_answer,
    numpy_hermitian,
    product,
    swapped,
    tolerant,
    total,
    tril,
    triu,
)
from fgrad.primitives.shape import transpose

# From this size on, factoring once and calling LAPACK for each matrix beats factoring again in a
# batched call of NumPy.
_WORTH_FACTORING = 32


@functools.cache
def lapack_routine(name: str, kind: str) -> Any:
    """The routine of BLAS or LAPACK for a dtype; SciPy is imported when first needed."""
    from scipy.linalg import blas, lapack

    prefix = {"f": "s", "d": "d", "F": "c", "D": "z"}[kind]
    return getattr(lapack, prefix + name, None) or getattr(blas, prefix + name)


def _solution_aval(a: Aval, b: Aval) -> Aval:
    lead = broadcast_shapes("solve", a.shape[:-2], b.shape[:-2])
    return Aval((*lead, *b.shape[-2:]), b.dtype)


def _batch_solve(
    primitive: Any, size: int, args: Sequence[Any], mapped: Sequence[bool]
) -> tuple[Any, Any]:
    """Where only the right-hand sides are mapped, they become further columns of one system."""
    *matrices, b = args
    lead = b.shape[1:-2]
    if any(mapped[:-1]) or aval_of(matrices[0]).shape[:-2] != lead:
        if len(args) == 4:
            # Pivots have one axis less than the matrices that they belong to.
            return _batch_factored(tolerant(primitive), args, mapped), True
        return tolerant(primitive)(*aligned(args, mapped)), True
    count = len(lead)
    n, k = b.shape[-2:]
    side = transpose(b, (*range(1, count + 2), 0, count + 2))
    x = primitive(*matrices, reshape(side, (*lead, n, size * k)))
    apart = reshape(x, (*lead, n, size, k))
    return transpose(apart, (count + 1, *range(count + 1), count + 2)), True


def _batch_factored(primitive: Any, args: Sequence[Any], mapped: Sequence[bool]) -> Any:
    a, lu, pivots, b = args
    row = reshape(pivots, (*pivots.shape[:-1], 1, pivots.shape[-1]))
    a, lu, row, b = aligned((a, lu, row, b), mapped)
    return primitive(a, lu, reshape(row, (*row.shape[:-2], row.shape[-1])), b)


# ---- general systems --------------------------------------------------------------------------


@parameters
class Solve(MatrixFunction):
    """The solution x of ``a x = b``.   f[*b, n, n] f[*b, n, k] -> f[*b, n, k]

    The derivative of a large system keeps the factors: every further solve, of any order, takes
    them. Here and below, a matrix without an answer raises LinAlgError, or gives NaN where `strict` is
    false.
    """

    strict: bool = True
    keeps_residuals = True

    def abstract_eval(self, a: Aval, b: Aval) -> Aval:  # type: ignore[override]
        return _solution_aval(a, b)

    def impl(self, a: Any, b: Any) -> Any:
        answer = self.abstract_eval(aval_of(a), aval_of(b))
        return apart(np.linalg.solve, self.strict, [answer], a, b)

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        a, b = primals
        if not _worth_factoring(a):
            return super().push(primals, tangents)
        lu, pivots = Lu()(stop_gradient(a))
        ta, tb = tangents
        return self._factored().push((a, lu, pivots, b), (ta, None, None, tb))

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        a, b = args
        if not _worth_factoring(a):
            return super().pull(needs, args)
        factors = Lu()(stop_gradient(a))
        factored = self._factored()
        answer = factored(a, *factors, b)
        return answer, _SolvePullback(factored, needs, [answer, a, *factors], aval_of(b))

    def _factored(self) -> FactoredSolve:
        return FactoredSolve(strict=self.strict)

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (a, _), (ta, tb) = primals, tangents
        return self(a, _residual(ta, answer, tb))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return needs[0], (True, False)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        gb = self(adjoint(args[0]), g)
        return (neg(matmul(gb, adjoint(answer))) if needs[0] else None), gb

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return _batch_solve(self, size, args, mapped)

    def lower(self, emit: Any, *names: str) -> str:
        if not self.strict:
            return super().lower(emit, *names)
        return f"np.linalg.solve({names[0]}, {names[1]})"


def _worth_factoring(a: Any) -> bool:
    return bool(aval_of(a).shape[-1] >= _WORTH_FACTORING)


def _residual(ta: Any, answer: Any, tb: Any) -> Any:
    """The right-hand side for the tangent of a solution."""
    if ta is None:
        return tb
    moved = matmul(ta, answer)
    return neg(moved) if tb is None else sub(tb, moved)


class _SolvePullback:
    """The vjp rule of `FactoredSolve`, for the operands of `Solve`."""

    active = (True,)

    def __init__(
        self, primitive: FactoredSolve, needs: Sequence[bool], residuals: list[Any], b: Aval
    ) -> None:
        self.primitive = primitive
        self.needs = (needs[0], False, False, needs[1])
        self.residuals = residuals
        self.b = b

    def __call__(self, cts: Sequence[Any]) -> Sequence[Any]:
        ga, _, _, gb = self.primitive.vjp(cts[0], self.needs, *self.residuals, self.b)
        return ga, gb


@parameters
class Lu(NonDifferentiable):
    """Triangular factors, row exchanges.   f[*b, n, n] -> f[*b, n, n] i32[*b, n]

    They serve `FactoredSolve`, whose derivatives are those of the matrix; they have none.
    """

    multiple_results = True

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        return [a, Aval(a.shape[:-1], dtypes.INT32)]

    def impl(self, a: Any) -> Any:
        factor = lapack_routine("getrf", a.dtype.char)
        if a.ndim == 2:
            lu, pivots, _ = factor(a)
            return [lu, pivots.astype(np.int32, copy=False)]
        packed = np.empty(a.shape, a.dtype)
        exchanges = np.empty(a.shape[:-1], np.int32)
        for i in np.ndindex(*a.shape[:-2]):
            packed[i], exchanges[i], _ = factor(a[i])
        return [packed, exchanges]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), [True, True]


@parameters
class FactoredSolve(MatrixFunction):
    """`Solve`, with factors at hand.   f[*b, n, n] factors f[*b, n, k] -> f[*b, n, k]

    The factors only say how: derivatives are those of ``inverse(a) b``, through a and b.
    """

    conjugate_transpose: bool = False
    strict: bool = True

    def abstract_eval(self, *avals: Aval) -> Aval:
        a, lu, pivots, b = avals
        lead = broadcast_shapes(
            "solve", a.shape[:-2], lu.shape[:-2], pivots.shape[:-1], b.shape[:-2]
        )
        return Aval((*lead, *b.shape[-2:]), b.dtype)

    def impl(self, a: Any, lu: Any, pivots: Any, b: Any) -> Any:
        regular: Any = np.diagonal(lu, axis1=-2, axis2=-1).all(axis=-1)
        if not regular.all():
            if self.strict:
                raise no_answer("solve", a.shape, "Singular matrix")
            lu = np.where(regular[..., None, None], lu, lu.dtype.type(np.nan))
        backsolve = lapack_routine("getrs", lu.dtype.char)
        trans = 2 if self.conjugate_transpose else 0
        lead = np.broadcast_shapes(a.shape[:-2], lu.shape[:-2], pivots.shape[:-1], b.shape[:-2])
        if not b.size:
            return np.zeros((*lead, *b.shape[-2:]), b.dtype)
        if not lead:
            return backsolve(lu, pivots, b, trans)[0]
        x = np.empty((*lead, *b.shape[-2:]), b.dtype)
        lu = np.broadcast_to(lu, (*lead, *lu.shape[-2:]))
        pivots = np.broadcast_to(pivots, (*lead, pivots.shape[-1]))
        b = np.broadcast_to(b, x.shape)
        for i in np.ndindex(*lead):
            x[i] = backsolve(lu[i], pivots[i], b[i], trans)[0]
        return x

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        a, lu, pivots, _ = primals
        ta, _, _, tb = tangents
        if ta is not None and self.conjugate_transpose:
            ta = adjoint(ta)
        side = _residual(ta, answer, tb)
        return None if side is None else self(a, lu, pivots, side)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return needs[0], (True, True, True, False)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        a, lu, pivots, _ = args
        gb = FactoredSolve(not self.conjugate_transpose, self.strict)(a, lu, pivots, g)
        ga = None
        if needs[0]:
            left, right = (answer, gb) if self.conjugate_transpose else (gb, answer)
            ga = neg(matmul(left, adjoint(right)))
        return ga, None, None, gb if needs[3] else None

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return _batch_solve(self, size, args, mapped)


# ---- triangular systems -----------------------------------------------------------------------


def solve_triangles(
    a: Any, b: Any, lower_half: bool, conjugate_transpose: bool = False, unit_diagonal: bool = False
) -> Any:
    """`TriangularSolve` on NumPy arrays."""
    if a.ndim == b.ndim == 2 and b.size:
        return _solve_triangle(a, b, lower_half, conjugate_transpose, unit_diagonal)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*lead, *b.shape[-2:])
    if not math.prod(shape):
        return np.zeros(shape, b.dtype)
    n = a.shape[-1]
    if math.prod(lead) > 2 * n:
        with np.errstate(all="ignore"):
            return _substitute(a, b, shape, lower_half, conjugate_transpose, unit_diagonal)
    a, b = np.broadcast_to(a, (*lead, n, n)), np.broadcast_to(b, shape)
    x = np.empty(shape, b.dtype)
    for i in np.ndindex(*lead):
        x[i] = _solve_triangle(a[i], b[i], lower_half, conjugate_transpose, unit_diagonal)
    return x


def _solve_triangle(
    a: Any, b: Any, lower_half: bool, conjugate_transpose: bool, unit_diagonal: bool
) -> Any:
    # Transposed, arrays in C order are in Fortran's order: x.T op(a).T = b.T needs no copies.
    solve = functools.partial(
        lapack_routine("trsm", a.dtype.char), 1.0, side=1, lower=not lower_half, diag=unit_diagonal
    )
    if not conjugate_transpose:
        return solve(a.T, b.T).T
    if a.dtype.kind != "c":
        return solve(a.T, b.T, trans_a=1).T
    # With conjugates: conj(x).T a = conj(b).T.
    return solve(a.T, b.T.conj(), trans_a=1).T.conj()


def _substitute(
    a: Any, b: Any, shape: Shape, down: bool, conjugate_transpose: bool, unit_diagonal: bool
) -> Any:
    """Many small systems at once, one row of all of them after the other."""
    if conjugate_transpose:
        a, down = np.conjugate(np.swapaxes(a, -1, -2)), not down
    n = a.shape[-1]
    x = np.array(np.broadcast_to(b, shape))
    for i in range(n) if down else reversed(range(n)):
        known = slice(0, i) if down else slice(i + 1, n)
        row = x[..., i : i + 1, :]
        row -= np.matmul(a[..., i : i + 1, known], x[..., known, :])
        if not unit_diagonal:
            row /= a[..., i : i + 1, i : i + 1]
    return x


@parameters
class TriangularSolve(MatrixFunction):
    """The solution of a triangular system.   f[*b, n, n] f[*b, n, k] -> f[*b, n, k]

    The other triangle is not read. A zero on the diagonal gives infinities and NaN.
    """

    lower_half: bool
    conjugate_transpose: bool = False
    unit_diagonal: bool = False

    def abstract_eval(self, a: Aval, b: Aval) -> Aval:  # type: ignore[override]
        return _solution_aval(a, b)

    def impl(self, a: Any, b: Any) -> Any:
        return solve_triangles(a, b, self.lower_half, self.conjugate_transpose, self.unit_diagonal)

    def _part(self, x: Any) -> Any:
        """The part of a matrix that is read."""
        edge = 1 if self.unit_diagonal else 0
        return tril(x, -edge) if self.lower_half else triu(x, edge)

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (a, _), (ta, tb) = primals, tangents
        if ta is not None:
            ta = self._part(ta)
            ta = adjoint(ta) if self.conjugate_transpose else ta
        return self(a, _residual(ta, answer, tb))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return needs[0], (True, False)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        other = TriangularSolve(self.lower_half, not self.conjugate_transpose, self.unit_diagonal)
        gb = other(args[0], g)
        ga = None
        if needs[0]:
            left, right = (answer, gb) if self.conjugate_transpose else (gb, answer)
            ga = neg(self._part(matmul(left, adjoint(right))))
        return ga, gb

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return _batch_solve(self, size, args, mapped)


def triangular_solve(
    a: Any, b: Any, lower: bool, trans: int = 0, unit_diagonal: bool = False
) -> Any:
    """Solve with a triangular matrix (`trans` 0), its transpose (1) or its adjoint (2)."""
    if trans == 1:
        return TriangularSolve(not lower, False, unit_diagonal)(swapped(a), b)
    return TriangularSolve(lower, trans == 2, unit_diagonal)(a, b)


def triangular_solve_right(a: Any, b: Any, lower: bool, adjoint_matrix: bool = False) -> Any:
    """The solution x of ``x a = b``, or of ``x adjoint(a) = b``, for triangular a."""
    return adjoint(TriangularSolve(lower, not adjoint_matrix)(a, adjoint(b)))


# ---- inverses ----------------------------------------------------------------------------------


@parameters
class Inv(MatrixFunction):
    """The inverse.   f[*b, n, n] -> f[*b, n, n]"""

    strict: bool = True

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return a

    def impl(self, a: Any) -> Any:
        return apart(np.linalg.inv, self.strict, [aval_of(a)], a)

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return neg(product(answer, tangents[0], answer))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        inverse = adjoint(answer)
        return (neg(product(inverse, g, inverse)),)

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.linalg.inv({names[0]})" if self.strict else super().lower(emit, *names)


@parameters
class Pinv(MatrixFunction):
    """The pseudo-inverse; its derivative is that at constant rank.   f[*b, m, n] -> f[*b, n, m]

    Singular values up to `rtol` times the largest count as zero.
    """

    rtol: float
    of_hermitian: bool = False
    strict: bool = True

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return Aval((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)

    def impl(self, a: Any) -> Any:
        if self.of_hermitian:
            a = numpy_hermitian(a)
        find = functools.partial(np.linalg.pinv, rcond=self.rtol, hermitian=self.of_hermitian)
        return apart(find, self.strict, [self.abstract_eval(aval_of(a))], a)

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (a,), (t,) = primals, tangents
        if self.of_hermitian:
            a, t = hermitian(a), hermitian(t)
        return pinv_tangent(a, answer, t)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (True,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (a,) = args
        if not self.of_hermitian:
            return (pinv_gradient(a, answer, g),)
        return (hermitian(pinv_gradient(hermitian(a), answer, g)),)

    def lower(self, emit: Any, *names: str) -> str:
        if not self.strict:
            return super().lower(emit, *names)
        x = hermitian_source(emit, names[0]) if self.of_hermitian else names[0]
        return f"np.linalg.pinv({x}, {self.rtol!r}, {self.of_hermitian})"


def pinv_tangent(a: Any, p: Any, t: Any) -> Any:
    """The tangent of the pseudo-inverse p of a: within the ranges, and out of them."""
    ph, th = adjoint(p), adjoint(t)
    left, right = product(p, ph, th), product(th, ph, p)
    return total(
        neg(product(p, t, p)),
        sub(left, product(left, a, p)),
        sub(right, product(p, a, right)),
    )


def pinv_gradient(a: Any, p: Any, g: Any) -> Any:
    """The gradient towards a, given that towards its pseudo-inverse p."""
    ph, gh = adjoint(p), adjoint(g)
    left, right = product(gh, p, ph), product(ph, p, gh)
    return total(
        neg(product(ph, g, ph)),
        sub(left, product(a, p, left)),
        sub(right, product(right, p, a)),
    )


@parameters
class Lstsq(MatrixFunction):
    """The shortest x that minimises ``norm(a x - b)``.   f[*b, m, n] f[*b, m, k] -> f[*b, n, k]

    Singular values up to `rcond` times the largest count as zero; derivatives are those at constant
    rank.
    """

    rcond: float
    strict: bool = True

    def abstract_eval(self, a: Aval, b: Aval) -> Aval:  # type: ignore[override]
        lead = broadcast_shapes("lstsq", a.shape[:-2], b.shape[:-2])
        return Aval((*lead, a.shape[-1], b.shape[-1]), b.dtype)

    def impl(self, a: Any, b: Any) -> Any:
        if a.ndim == 2 and b.ndim == 2:
            return np.linalg.lstsq(a, b, self.rcond)[0]
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b)]
        x = np.empty((*lead, a.shape[-1], b.shape[-1]), b.dtype)
        for i in np.ndindex(*lead):
            if self.strict or (np.isfinite(a[i]).all() and np.isfinite(b[i]).all()):
                x[i] = np.linalg.lstsq(a[i], b[i], self.rcond)[0]
            else:
                x[i] = np.nan
        return x

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (a, b), (ta, tb) = primals, tangents
        p = Pinv(self.rcond, strict=self.strict)(a)
        inside = matmul(p, _residual(ta, answer, tb))
        if ta is None:
            return inside
        ph, th = adjoint(p), adjoint(ta)
        left = product(p, ph, th, sub(b, matmul(a, answer)))
        right = product(th, ph, answer)
        return total(inside, left, sub(right, product(p, a, right)))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return needs[0], (True, needs[0])

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        a, b = args
        p = Pinv(self.rcond, strict=self.strict)(a)
        ph = adjoint(p)
        gb = matmul(ph, g)
        if not needs[0]:
            return None, gb
        outside = product(sub(b, matmul(a, answer)), adjoint(matmul(p, gb)))
        null = matmul(matmul(ph, answer), adjoint(sub(g, product(p, a, g))))
        return total(neg(matmul(gb, adjoint(answer))), outside, null), gb
