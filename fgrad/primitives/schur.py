"""Unitary similarity to a triangle or nearly one. The vectors have no derivative rule, which is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.errors import NonDifferentiableError
from fgrad.parameters import parameters
from fgrad.primitives.linalg import Decomposition, complex_dtype


class _Underived(Decomposition, abstract=True):
    """Whose derivatives are refused rather than wrong."""

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        raise self._refused()

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        raise self._refused()

    def _refused(self) -> NonDifferentiableError:
        return NonDifferentiableError(
            f"{type(self).__name__.lower()}: no derivative is known; differentiate a function of the matrix itself, "
            "or pass fgrad.lax.stop_gradient(a)"
        )

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (False,)


@parameters
class Schur(_Underived):
    """A triangle and unitary columns.   f[*b, n, n] -> f[*b, n, n] f[*b, n, n]

    The triangle of real matrices has blocks of two on its diagonal for pairs of eigenvalues, unless
    it is made complex.
    """

    into_complex: bool

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        answer = a.with_dtype(complex_dtype(a.dtype)) if self.into_complex else a
        return [answer, answer]

    def impl(self, a: Any) -> Any:
        import scipy.linalg

        t, z = [np.empty(v.shape, v.dtype) for v in self.abstract_eval(aval_of(a))]
        for i in np.ndindex(*a.shape[:-2]):
            if not a.shape[-1]:
                continue
            if np.isfinite(a[i]).all():
                t[i], z[i] = scipy.linalg.schur(
                    a[i], output="complex" if t.dtype.kind == "c" else "real"
                )
            else:
                t[i] = z[i] = np.nan
        return [t, z]


@parameters
class Hessenberg(_Underived):
    """A triangle with one more diagonal, and unitary columns.   f[*b, n, n] -> f[*b, n, n] f[*b, n, n]"""

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        return [a, a]

    def impl(self, a: Any) -> Any:
        import scipy.linalg

        h, q = np.empty_like(a), np.empty_like(a)
        for i in np.ndindex(*a.shape[:-2]):
            if not a.shape[-1]:
                continue
            if np.isfinite(a[i]).all():
                h[i], q[i] = scipy.linalg.hessenberg(a[i], calc_q=True)
            else:
                h[i] = q[i] = np.nan
        return [h, q]
