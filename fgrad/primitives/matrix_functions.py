"""Analytic functions of matrices, exponential and square root, and the equation of their slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, Shape, aval_of, broadcast_shapes
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import sub
from fgrad.primitives.families import Full, broadcast_to, neg
from fgrad.primitives.linalg import MatrixFunction, adjoint, complex_dtype, matmul, total
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.primitives.solve import Solve

_SOLVE = Solve(strict=False)


def each(function: Callable[..., Any], lead: Shape, aval: Aval, *matrices: Any) -> Any:
    """The results of `function` of single matrices, for batches of them."""
    answer = np.empty(aval.shape, aval.dtype)
    if not math.prod(aval.shape):
        return answer
    spread = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in matrices]
    with np.errstate(all="ignore"):
        for i in np.ndindex(*lead):
            answer[i] = function(*[x[i] for x in spread])
    return answer


# ---- exponential ---------------------------------------------------------------------------------


@parameters
class Expm(MatrixFunction):
    """The exponential.   f[*b, n, n] -> f[*b, n, n]"""

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return a

    def impl(self, a: Any) -> Any:
        import scipy.linalg

        def function(x: Any) -> Any:
            return scipy.linalg.expm(x) if np.isfinite(x).all() else np.full_like(x, np.nan)

        return each(function, a.shape[:-2], aval_of(a), a)

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return expm_slope(primals[0], tangents[0])

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (True,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        return (expm_slope(adjoint(args[0]), g),)


def expm_slope(a: Any, direction: Any) -> Any:
    """The derivative of the exponential at `a`, which stands in that of a block matrix."""
    aval = aval_of(a)
    n = aval.shape[-1]
    zeros = broadcast_to(Full((), 0, aval.dtype)(), aval.shape)
    columns, rows = Concatenate(len(aval.shape) - 1), Concatenate(len(aval.shape) - 2)
    blocks = rows(columns(a, direction), columns(zeros, a))
    whole = slice(None)
    lead = (whole,) * (len(aval.shape) - 2)
    return static_index(Expm()(blocks), (*lead, slice(0, n), slice(n, 2 * n)))


# ---- Sylvester's equation ------------------------------------------------------------------------


@parameters
class Sylvester(MatrixFunction):
    """The solution x of ``a x + x b = c``.   f[*b, m, m] f[*b, n, n] f[*b, m, n] -> f[*b, m, n]

    Infinite or NaN where an eigenvalue of a is the negative of one of b.
    """

    def abstract_eval(self, a: Aval, b: Aval, c: Aval) -> Aval:  # type: ignore[override]
        lead = broadcast_shapes("solve_sylvester", a.shape[:-2], b.shape[:-2], c.shape[:-2])
        return Aval((*lead, *c.shape[-2:]), c.dtype)

    def impl(self, a: Any, b: Any, c: Any) -> Any:
        aval = self.abstract_eval(aval_of(a), aval_of(b), aval_of(c))
        return each(_solve_sylvester, aval.shape[:-2], aval, a, b, c)

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (a, b, _), (ta, tb, tc) = primals, tangents
        side = total(
            tc,
            None if ta is None else neg(matmul(ta, answer)),
            None if tb is None else neg(matmul(answer, tb)),
        )
        return self(a, b, side)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return needs[0] or needs[1], (True, True, False)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        a, b, _ = args
        gc = self(adjoint(a), adjoint(b), g)
        ga = neg(matmul(gc, adjoint(answer))) if needs[0] else None
        gb = neg(matmul(adjoint(answer), gc)) if needs[1] else None
        return ga, gb, gc


def _solve_sylvester(a: Any, b: Any, c: Any) -> Any:
    import scipy.linalg

    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(c).all()):
        return np.full_like(c, np.nan)
    try:
        return scipy.linalg.solve_sylvester(a, b, c)
    except np.linalg.LinAlgError:
        return np.full_like(c, np.nan)


# ---- square root, polar factors ------------------------------------------------------------------


@parameters
class SquareRoot(MatrixFunction):
    """The principal square root of complex matrices.   c[*b, n, n] -> c[*b, n, n]"""

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return a.with_dtype(complex_dtype(a.dtype))

    def impl(self, a: Any) -> Any:
        aval = self.abstract_eval(aval_of(a))
        return each(_square_root, a.shape[:-2], aval, a)

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return Sylvester()(answer, answer, tangents[0])

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        root = adjoint(answer)
        return (Sylvester()(root, root, g),)


def _square_root(a: Any) -> Any:
    import scipy.linalg

    if not np.isfinite(a).all():
        return np.full(a.shape, complex(np.nan, np.nan))
    t, z = scipy.linalg.schur(a, output="complex")
    return z @ _triangular_root(t) @ z.conj().T


def _triangular_root(t: Any) -> Any:
    """The root of an upper triangle, one superdiagonal after the other."""
    n = t.shape[0]
    root = np.diag(np.sqrt(np.diagonal(t).astype(complex)))
    for j in range(1, n):
        for i in range(j - 1, -1, -1):
            rest = t[i, j] - root[i, i + 1 : j] @ root[i + 1 : j, j]
            divisor = root[i, i] + root[j, j]
            # Where both are zero, a rest of zero has a root of zero, and no other has a root.
            root[i, j] = 0.0 if rest == 0 else rest / divisor
    return root


@parameters
class PolarFactor(MatrixFunction):
    """The orthonormal factor of ``a = u p``, for full column rank.   f[*b, m, n] -> f[*b, m, n]"""

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return a

    def impl(self, a: Any) -> Any:
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        return u @ vh

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return self._turned(answer, primals[0], tangents[0])

    def _turned(self, u: Any, a: Any, t: Any) -> Any:
        """The derivative, which as a map of directions is its own adjoint.

        Within the range of u it is u times a skew matrix, out of it t over the factor p.
        """
        uh = adjoint(u)
        p = matmul(uh, a)
        along = matmul(uh, t)
        turn = Sylvester()(p, p, sub(along, adjoint(along)))
        across = sub(t, matmul(u, along))
        # x p = across, as p x^H = across^H.
        out = adjoint(_SOLVE(p, adjoint(across)))
        return total(matmul(u, turn), out)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (True,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        return (self._turned(answer, args[0], g),)
