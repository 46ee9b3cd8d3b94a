"""Linear systems of tridiagonal matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import mul
from fgrad.primitives.families import Sum, neg, reshape, zeros_of
from fgrad.primitives.linalg import MatrixFunction, conjugate, total
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.primitives.solve import lapack_routine


def _padded(x: Any, before: bool) -> Any:
    """One place further along the last axis, with zero in the place that becomes free."""
    rank = len(aval_of(x).shape)
    whole = (slice(None),) * (rank - 1)
    kept = static_index(x, (*whole, slice(None, -1) if before else slice(1, None)))
    zero = _zeros_like(static_index(x, (*whole, slice(0, 1))))
    return Concatenate(rank - 1)(zero, kept) if before else Concatenate(rank - 1)(kept, zero)


def _zeros_like(x: Any) -> Any:
    return zeros_of(aval_of(x))


def _column(x: Any) -> Any:
    return reshape(x, (*aval_of(x).shape, 1))


def _shifted_rows(x: Any, down: bool) -> Any:
    rank = len(aval_of(x).shape)
    whole = (slice(None),) * (rank - 2)
    kept = static_index(x, (*whole, slice(None, -1) if down else slice(1, None), slice(None)))
    zero = _zeros_like(static_index(x, (*whole, slice(0, 1), slice(None))))
    parts = (zero, kept) if down else (kept, zero)
    return Concatenate(rank - 2)(*parts)


@parameters
class TridiagonalSolve(MatrixFunction):
    """The solution of a tridiagonal system.   f[*b, n] f[*b, n] f[*b, n] f[*b, n, k] -> f[*b, n, k]

    Row i is ``lower[i] x[i-1] + diagonal[i] x[i] + upper[i] x[i+1]``; the first of the lower and the
    last of the upper diagonal are not read.
    """

    def abstract_eval(self, *avals: Aval) -> Aval:
        lead = np.broadcast_shapes(*[a.shape[:-1] for a in avals[:3]], avals[3].shape[:-2])
        return Aval((*lead, *avals[3].shape[-2:]), avals[3].dtype)

    def impl(self, dl: Any, d: Any, du: Any, b: Any) -> Any:
        aval = self.abstract_eval(*map(aval_of, (dl, d, du, b)))
        lead, n = aval.shape[:-2], aval.shape[-2]
        answer = np.empty(aval.shape, aval.dtype)
        dl, d, du = [np.broadcast_to(x, (*lead, n)) for x in (dl, d, du)]
        b = np.broadcast_to(b, aval.shape)
        if not answer.size:
            return answer
        solve = lapack_routine("gtsv", aval.dtype.char)
        for i in np.ndindex(*lead):
            if n == 1:
                with np.errstate(all="ignore"):
                    answer[i] = b[i] / d[i][0]
                continue
            *_, x, info = solve(dl[i][1:], d[i], du[i][:-1], b[i])
            answer[i] = x if info == 0 else np.nan
        return answer

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        dl, d, du, _ = primals
        tl, td, tu, tb = tangents
        side = total(
            tb,
            None if tl is None else neg(mul(_column(tl), _shifted_rows(answer, True))),
            None if td is None else neg(mul(_column(td), answer)),
            None if tu is None else neg(mul(_column(tu), _shifted_rows(answer, False))),
        )
        return self(dl, d, du, side)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return any(needs[:3]), (True, True, True, False)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        dl, d, du, _ = args
        upper, middle, lower = (conjugate(x) for x in (_padded(dl, False), d, _padded(du, True)))
        gb = self(lower, middle, upper, g)

        def paired(need: bool, rows: Any) -> Any:
            if not need:
                return None
            product = neg(mul(gb, conjugate(rows)))
            return Sum((len(aval_of(product).shape) - 1,))(product)

        return (
            paired(needs[0], _shifted_rows(answer, True) if needs[0] else None),
            paired(needs[1], answer),
            paired(needs[2], _shifted_rows(answer, False) if needs[2] else None),
            gb,
        )

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        *diagonals, b = args
        lead = max(
            len(aval_of(x).shape) - m - core
            for x, m, core in zip(args, mapped, (1, 1, 1, 2), strict=True)
        )

        def fit(x: Any, is_mapped: bool, core: int) -> Any:
            own = len(aval_of(x).shape) - is_mapped - core
            if not is_mapped or own == lead:
                return x
            return reshape(x, (size, *(1,) * (lead - own), *x.shape[1:]))

        fitted = [fit(x, m, 1) for x, m in zip(diagonals, mapped[:3], strict=True)]
        return self(*fitted, fit(b, mapped[3], 2)), True
