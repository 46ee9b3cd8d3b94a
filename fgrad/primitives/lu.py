"""Triangular factors with row exchanges, of matrices of any shape, and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape, aval_of
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import stop_gradient
from fgrad.primitives.families import NonDifferentiable, broadcast_to, reshape
from fgrad.primitives.linalg import (
    MatrixFunction,
    adjoint,
    identity,
    matmul,
    total,
    tril,
    triu,
)
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.primitives.solve import TriangularSolve, lapack_routine, triangular_solve_right
from fgrad.primitives.sorting import take_along


@parameters
class PivotedLu(NonDifferentiable):
    """Packed factors, exchanges, and the order of rows.   f[*b, m, n] -> f[*b, m, n] i32[*b, k] i32[*b, m]"""

    multiple_results = True

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        *lead, m, n = a.shape
        return [a, Aval((*lead, min(m, n)), dtypes.INT32), Aval((*lead, m), dtypes.INT32)]

    def impl(self, a: Any) -> Any:
        packed, exchanges, order = [
            np.empty(v.shape, v.dtype) for v in self.abstract_eval(aval_of(a))
        ]
        m = a.shape[-2]
        for i in np.ndindex(*a.shape[:-2]):
            if a[i].size:
                packed[i], exchanges[i], _ = lapack_routine("getrf", a.dtype.char)(a[i])
            order[i] = exchanged(exchanges[i], m)
        return [packed, exchanges, order]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), [True, True, True]


def exchanged(exchanges: Any, size: int) -> Any:
    """The order of rows after exchanges."""
    order = np.arange(size, dtype=np.int32)
    for here, there in enumerate(exchanges):
        order[[here, there]] = order[[there, here]]
    return order


@parameters
class OrderOfExchanges(NonDifferentiable):
    """The order of rows after exchanges.   i[*b, k] -> i32[*b, size]"""

    size: int

    def abstract_eval(self, exchanges: Aval) -> Aval:  # type: ignore[override]
        return Aval((*exchanges.shape[:-1], self.size), dtypes.INT32)

    def impl(self, exchanges: Any) -> Any:
        order = np.empty((*exchanges.shape[:-1], self.size), np.int32)
        for i in np.ndindex(*exchanges.shape[:-1]):
            order[i] = exchanged(exchanges[i], self.size)
        return order

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True


@parameters
class KnownLu(MatrixFunction):
    """Packed factors of a square matrix, with them at hand.   f[*b, n, n] factors -> f[*b, n, n]

    The factors only give the value: derivatives are those of the matrix, whose rows are in order.
    """

    def abstract_eval(self, a: Aval, lu: Aval) -> Aval:  # type: ignore[override]
        return Aval(np.broadcast_shapes(a.shape, lu.shape), a.dtype)

    def impl(self, a: Any, lu: Any) -> Any:
        return np.array(np.broadcast_to(lu, np.broadcast_shapes(a.shape, lu.shape)))

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if tangents[0] is None:
            return None
        lower, upper = unpacked(answer)
        half = TriangularSolve(True, unit_diagonal=True)(lower, tangents[0])
        inside = triangular_solve_right(upper, half, False)
        return total(matmul(lower, tril(inside, -1)), matmul(triu(inside), upper))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False, False)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        lower, upper = unpacked(answer)
        inside = total(
            tril(matmul(adjoint(lower), tril(g, -1)), -1), triu(matmul(triu(g), adjoint(upper)))
        )
        half = TriangularSolve(True, conjugate_transpose=True, unit_diagonal=True)(lower, inside)
        return triangular_solve_right(upper, half, False, adjoint_matrix=True), None


def unpacked(lu: Any) -> tuple[Any, Any]:
    """The two factors of a packed square matrix."""
    aval = aval_of(lu)
    return total(tril(lu, -1), identity(aval.shape[-1], aval.dtype)), triu(lu)


def in_order(a: Any, order: Any) -> Any:
    """Matrices with their rows in another order."""
    shape: Shape = aval_of(a).shape
    places = broadcast_to(reshape(order, (*aval_of(order).shape, 1)), shape)
    return take_along(a, places, len(shape) - 2)


def lu_factors(a: Any) -> tuple[Any, Any, Any]:
    """Packed factors, exchanges, and the order of rows, differentiable."""
    *lead, m, n = aval_of(a).shape
    packed, exchanges, order = PivotedLu()(stop_gradient(a))
    k = min(m, n)
    rows = in_order(a, order)
    whole = (slice(None),) * len(lead)

    def block(x: Any, i: slice, j: slice) -> Any:
        return static_index(x, (*whole, i, j))

    first, rest = slice(0, k), slice(k, None)
    square = KnownLu()(block(rows, first, first), block(packed, first, first))
    if m > n:
        below = triangular_solve_right(square, block(rows, rest, first), False)
        return Concatenate(len(lead))(square, below), exchanges, order
    if m < n:
        beside = TriangularSolve(True, unit_diagonal=True)(square, block(rows, first, rest))
        return Concatenate(len(lead) + 1)(square, beside), exchanges, order
    return square, exchanges, order
