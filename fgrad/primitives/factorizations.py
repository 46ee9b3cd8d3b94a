"""Matrices as products: QR and singular value decompositions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.errors import NonDifferentiableError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import complex_, div, sub
from fgrad.primitives.families import Full, absorbing_product, match_aval, mul, neg
from fgrad.primitives.linalg import (
    Decomposition,
    DecompositionPart,
    MatrixPullback,
    adjoint,
    apart,
    columns,
    conjugate,
    diagonal,
    diagonal_matrix,
    hermitian,
    identity,
    imaginary_part,
    is_complex,
    matmul,
    product,
    real_dtype,
    real_part,
    rows,
    skew,
    total,
    tril,
    triu,
)
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.primitives.solve import Pinv, triangular_solve_right
from fgrad.tracing import derivative_rules


def _first_columns(x: Any, count: int) -> Any:
    return static_index(x, (*(slice(None),) * (len(x.shape) - 1), slice(0, count)))


def _later_columns(x: Any, count: int) -> Any:
    return static_index(x, (*(slice(None),) * (len(x.shape) - 1), slice(count, None)))


def _later_rows(x: Any, count: int) -> Any:
    return static_index(x, (*(slice(None),) * (len(x.shape) - 2), slice(count, None)))


def _first_rows(x: Any, count: int) -> Any:
    return static_index(x, (*(slice(None),) * (len(x.shape) - 2), slice(0, count)))


def _beside(x: Any, y: Any) -> Any:
    return Concatenate(len(x.shape) - 1)(x, y)


# ---- QR -----------------------------------------------------------------------------------------


@parameters
class Qr(Decomposition):
    """Orthonormal columns times an upper triangle.   f[*b, m, n] -> f[*b, m, k] f[*b, k, n]

    k is min(m, n), or m where `complete`. The leading columns must be independent for a derivative.
    Columns of Q beyond the n-th are known up to a rotation: they, and their derivative, are those of
    LAPACK's reflections, which jump where a column needs none.
    """

    complete: bool = False

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        *lead, m, n = a.shape
        k = m if self.complete else min(m, n)
        return [Aval((*lead, m, k), a.dtype), Aval((*lead, k, n), a.dtype)]

    def impl(self, a: Any) -> Any:
        return list(np.linalg.qr(a, "complete" if self.complete else "reduced"))

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (q, r), (t,) = answer, tangents
        m, n = t.shape[-2:]
        k = min(m, n)
        q1, r1 = _first_columns(q, k), _first_columns(_first_rows(r, k), k)
        step = triangular_solve_right(r1, _first_columns(t, k), False)
        inside = matmul(adjoint(q1), step)
        turn = _rotation(inside)
        dq = total(matmul(q1, sub(turn, inside)), step)
        dr = matmul(sub(inside, turn), r1)
        if n > k:
            moved = matmul(adjoint(q), _later_columns(t, k))
            dr = _beside(dr, sub(moved, matmul(turn, _later_columns(r, k))))
        if q.shape[-1] > k:
            q2 = _later_columns(q, k)
            turn = _Reflections(q1, q2).turn(dq)
            dq = _beside(dq, sub(matmul(q2, turn), product(q1, adjoint(dq), q2)))
            dr = _padded_rows(dr, r.shape[-2])
        return dq, dr

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (q, r), (gq, gr) = answer, g
        m, n = args[0].shape[-2:]
        k = min(m, n)
        q1, r1 = _first_columns(q, k), _first_columns(_first_rows(r, k), k)
        gq1, gr1, later = gq, gr, None
        if gq is not None and q.shape[-1] > k:
            q2, gq2 = _later_columns(q, k), _later_columns(gq, k)
            pulled = _Reflections(q1, q2).gradient(matmul(adjoint(q2), gq2))
            gq1 = total(_first_columns(gq, k), neg(product(q2, adjoint(gq2), q1)), pulled)
        if gr is not None:
            gr = _first_rows(gr, k)
            gr1 = _first_columns(gr, k)
            if n > k:
                gr2 = _later_columns(gr, k)
                later = matmul(q1, gr2)
                gq1 = total(gq1, product(q1, _later_columns(r, k), adjoint(gr2)))
        inside = total(
            None if gr1 is None else matmul(gr1, adjoint(r1)),
            None if gq1 is None else neg(matmul(adjoint(q1), gq1)),
        )
        above = triu(inside, 1)
        mirrored = total(above, adjoint(above), diagonal_matrix(real_part(diagonal(inside))))
        ga = total(gq1, matmul(q1, mirrored))
        ga = triangular_solve_right(r1, ga, False, adjoint_matrix=True)
        if n > k:
            rest = later if later is not None else _zeros_like_columns(ga, n - k)
            ga = _beside(ga, rest)
        return (ga,)

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.linalg.qr({names[0]}, {'complete' if self.complete else 'reduced'!r})"


@parameters
class TriangularFactor(DecompositionPart):
    """The upper triangle of a QR decomposition alone.   f[*b, m, n] -> f[*b, min(m, n), n]"""

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return Qr().abstract_eval(a)[1]

    def impl(self, a: Any) -> Any:
        return np.linalg.qr(a, "r")

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (_, r), (_, dr) = Qr().push(primals, tangents)
        return r, dr

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        answers = Qr()(*args)
        return answers[1], _TriangularPullback(Qr(), needs, answers, args)

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.linalg.qr({names[0]}, 'r')"


class _TriangularPullback(MatrixPullback):
    """The pullback of a QR decomposition of which R alone is an answer."""

    def __call__(self, cts: Sequence[Any]) -> Sequence[Any]:
        return super().__call__([None, *cts])


@parameters
class HouseholderQr(Decomposition):
    """LAPACK's form of a QR decomposition.   f[*b, m, n] -> f[*b, n, m] f[*b, min(m, n)]"""

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        *lead, m, n = a.shape
        return [Aval((*lead, n, m), a.dtype), Aval((*lead, min(m, n)), a.dtype)]

    def impl(self, a: Any) -> Any:
        return list(np.linalg.qr(a, "raw"))

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        raise self._refusal()

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        raise self._refusal()

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (False,)

    def _refusal(self) -> NonDifferentiableError:
        return NonDifferentiableError(
            "qr: mode='raw' has no derivative; use mode='reduced', 'complete' or 'r'"
        )


def _rotation(inside: Any) -> Any:
    """The skew part that keeps Q's columns orthonormal, R triangular and R's diagonal real."""
    below = tril(inside, -1)
    turn = sub(below, adjoint(below))
    if not is_complex(inside):
        return turn
    return total(turn, diagonal_matrix(complex_(0.0, imaginary_part(diagonal(inside)))))


class _Reflections:
    """How the later columns q2 of a product of reflections turn among themselves with its first ones.

    The product is ``1 - v t v^H`` with v lower trapezoidal, so that the first columns q1 determine it:
    with rows apart into q1 = (a, b), ``q2 = (0, 1) + (a - 1, b) inverse(a - 1)^H b^H``.
    """

    def __init__(self, q1: Any, q2: Any) -> None:
        self.count = count = q1.shape[-1]
        dtype = aval_of(q1).dtype
        top = sub(_first_rows(q1, count), identity(count, dtype))
        # A column that needs no reflection leaves this singular: it then turns least.
        self.inverse = Pinv(count * float(np.finfo(dtype).eps), strict=False)(top)
        self.weights = matmul(adjoint(self.inverse), adjoint(_later_rows(q1, count)))
        self.q2 = q2
        self.top = _first_rows(q2, count)

    def turn(self, dq1: Any) -> Any:
        """The skew matrix by which q2 turns, for a tangent of q1."""
        below = adjoint(_later_rows(dq1, self.count))
        moved = sub(below, matmul(adjoint(_first_rows(dq1, self.count)), self.weights))
        return skew(
            sub(
                product(adjoint(self.q2), dq1, self.weights),
                product(adjoint(self.top), adjoint(self.inverse), moved),
            )
        )

    def gradient(self, g: Any) -> Any:
        """The gradient towards q1, given that towards the turn."""
        g = skew(g)
        moved = adjoint(product(self.inverse, self.top, g))
        rows = Concatenate(len(moved.shape) - 2)(matmul(self.weights, moved), neg(moved))
        return total(product(self.q2, g, adjoint(self.weights)), rows)


def _padded_rows(x: Any, count: int) -> Any:
    """Zero rows below, up to `count` of them in all."""
    *lead, k, n = x.shape
    return Concatenate(len(lead))(x, _zeros((*lead, count - k, n), aval_of(x).dtype))


def _zeros_like_columns(x: Any, count: int) -> Any:
    return _zeros((*x.shape[:-1], count), aval_of(x).dtype)


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return Full(shape, 0, dtype)()


# ---- singular values ----------------------------------------------------------------------------


def separated_reciprocals(x: Any, y: Any) -> Any:
    """``1 / (y_j - x_i)`` off the diagonal and 0 on it; infinite where they are equal."""
    n = x.shape[-1]
    one = identity(n, aval_of(x).dtype)
    return sub(div(1.0, total(sub(columns(y), rows(x)), one)), one)


@parameters
class Svd(Decomposition):
    """Orthonormal columns, singular values, rows.   f[*b, m, n] -> f[*b, m, j] r[*b, k] f[*b, l, n]

    k is min(m, n), and so are j and l, or m and n where `full_matrices`. Equal singular values, and
    zeros, give infinite slopes of the vectors. Complex vectors are known up to phases and those
    beyond the k-th up to a rotation: their derivatives are those of the choice that turns least.
    """

    full_matrices: bool
    strict: bool = True

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        *lead, m, n = a.shape
        k = min(m, n)
        left, right = (m, n) if self.full_matrices else (k, k)
        return [
            Aval((*lead, m, left), a.dtype),
            Aval((*lead, k), real_dtype(a.dtype)),
            Aval((*lead, right, n), a.dtype),
        ]

    def impl(self, a: Any) -> Any:
        find = functools.partial(np.linalg.svd, full_matrices=self.full_matrices)
        return list(apart(find, self.strict, self.abstract_eval(aval_of(a)), a))

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (u, s, vh), (t,) = answer, tangents
        m, n = t.shape[-2:]
        k = min(m, n)
        u1, v = _first_columns(u, k), adjoint(vh)
        v1 = _first_columns(v, k)
        inside = product(adjoint(u1), t, v1)
        ds = real_part(diagonal(inside))
        even = absorbing_product(hermitian(inside), separated_reciprocals(s, s))
        odd = absorbing_product(skew(inside), _sum_reciprocals(s))
        phases = _phases(inside, s)
        turn_u, turn_v = total(even, odd, phases), total(sub(even, odd), phases)
        du, dv = matmul(u1, turn_u), matmul(v1, turn_v)
        if m > k:
            out = matmul(t, v1)
            out = sub(out, product(u1, adjoint(u1), out))
            du = total(du, absorbing_product(out, columns(div(1.0, s))))
        if n > k:
            out = matmul(adjoint(t), u1)
            out = sub(out, product(v1, adjoint(v1), out))
            dv = total(dv, absorbing_product(out, columns(div(1.0, s))))
        if self.full_matrices and m > k:
            du = _beside(du, neg(product(u1, adjoint(du), _later_columns(u, k))))
        if self.full_matrices and n > k:
            dv = _beside(dv, neg(product(v1, adjoint(dv), _later_columns(v, k))))
        return du, ds, adjoint(dv)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (u, s, vh), (gu, gs, gvh) = answer, g
        k = s.shape[-1]
        v = adjoint(vh)
        gv = None if gvh is None else adjoint(gvh)
        u1, v1 = _first_columns(u, k), _first_columns(v, k)
        gu, gv = _onto_first(gu, u, k), _onto_first(gv, v, k)
        mu = None if gu is None else matmul(adjoint(u1), gu)
        mv = None if gv is None else matmul(adjoint(v1), gv)
        inside = None if gs is None else diagonal_matrix(gs)
        both = total(mu, mv)
        if both is not None:
            even = hermitian(absorbing_product(both, separated_reciprocals(s, s)))
            difference = total(mu, None if mv is None else neg(mv))
            odd = skew(absorbing_product(difference, _sum_reciprocals(s)))
            inside = total(inside, even, odd, _phases(both, s))
        ga = product(u1, inside, adjoint(v1))
        if gu is not None and u.shape[-2] > k:
            out = absorbing_product(gu, columns(div(1.0, s)))
            ga = total(ga, matmul(sub(out, product(u1, adjoint(u1), out)), adjoint(v1)))
        if gv is not None and v.shape[-2] > k:
            out = absorbing_product(gv, columns(div(1.0, s)))
            ga = total(ga, matmul(u1, adjoint(sub(out, product(v1, adjoint(v1), out)))))
        return (ga,)

    def lower(self, emit: Any, *names: str) -> str:
        if not self.strict:
            return super().lower(emit, *names)
        return f"np.linalg.svd({names[0]}, {self.full_matrices})"


def _sum_reciprocals(s: Any) -> Any:
    return div(1.0, total(rows(s), columns(s)))


def _phases(inside: Any, s: Any) -> Any:
    """A turn of both sides, by which the phases of the right vectors stay."""
    if not is_complex(inside):
        return None
    turn = absorbing_product(imaginary_part(diagonal(inside)), div(0.5, s))
    return diagonal_matrix(complex_(0.0, turn))


def _onto_first(g: Any, u: Any, k: int) -> Any:
    """The gradient towards the first columns, which those beyond follow."""
    if g is None or g.shape[-1] == k:
        return g
    u1, u2, g2 = _first_columns(u, k), _later_columns(u, k), _later_columns(g, k)
    return sub(_first_columns(g, k), product(u2, adjoint(g2), u1))


@parameters
class SingularValues(DecompositionPart):
    """The singular values, largest first.   f[*b, m, n] -> r[*b, min(m, n)]"""

    strict: bool = True

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        *lead, m, n = a.shape
        return Aval((*lead, min(m, n)), real_dtype(a.dtype))

    def impl(self, a: Any) -> Any:
        find = functools.partial(np.linalg.svd, compute_uv=False)
        return apart(find, self.strict, [self.abstract_eval(aval_of(a))], a)

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        u, s, vh = Svd(False, self.strict)(*primals)
        with derivative_rules():
            inside = product(adjoint(u), tangents[0], adjoint(vh))
            return s, match_aval(real_part(diagonal(inside)), aval_of(s))

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        u, s, vh = Svd(False, self.strict)(*args)
        return s, ValuesPullback(u, vh, aval_of(args[0]))

    def lower(self, emit: Any, *names: str) -> str:
        if not self.strict:
            return super().lower(emit, *names)
        return f"np.linalg.svd({names[0]}, compute_uv=False)"


class ValuesPullback:
    """The gradient of values that a matrix has between left columns and right rows."""

    active = (True,)

    def __init__(self, left: Any, right: Any, argument: Aval) -> None:
        self.residuals = [left, right]
        self.argument = argument

    def __call__(self, cts: Sequence[Any]) -> Sequence[Any]:
        left, right = self.residuals
        found = matmul(mul(left, columns(conjugate(cts[0]))), right)
        return (match_aval(conjugate(found), self.argument),)
