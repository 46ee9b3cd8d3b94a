"""Eigenvalues and eigenvectors, of Hermitian and of general matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import sub
from fgrad.primitives.factorizations import ValuesPullback, separated_reciprocals
from fgrad.primitives.families import absorbing_product, match_aval, mul
from fgrad.primitives.linalg import (
    Decomposition,
    DecompositionPart,
    adjoint,
    apart,
    columns,
    complex_dtype,
    conjugate,
    diagonal,
    diagonal_matrix,
    hermitian,
    hermitian_source,
    matmul,
    numpy_hermitian,
    product,
    real_dtype,
    real_part,
    total,
)
from fgrad.primitives.solve import Inv
from fgrad.tracing import derivative_rules


@parameters
class Eigh(Decomposition):
    """Eigenvalues and eigenvectors.   f[*b, n, n] -> r[*b, n] f[*b, n, n]

    They are those of the Hermitian part, in ascending order. Equal eigenvalues give infinite slopes
    of the vectors. Complex vectors are known up to phases: their derivative is that of the choice
    that turns least. Here and below, a matrix without an answer raises LinAlgError, or gives NaN where
    `strict` is false.
    """

    strict: bool = True

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        return [Aval(a.shape[:-1], real_dtype(a.dtype)), a]

    def impl(self, a: Any) -> Any:
        avals = self.abstract_eval(aval_of(a))
        return list(apart(np.linalg.eigh, self.strict, avals, numpy_hermitian(a)))

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        w, v = answer
        inside = product(adjoint(v), hermitian(tangents[0]), v)
        turn = absorbing_product(inside, separated_reciprocals(w, w))
        return real_part(diagonal(inside)), matmul(v, turn)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (w, v), (gw, gv) = answer, g
        vh = adjoint(v)
        if gv is None:
            return (matmul(mul(v, columns(gw)), vh),)
        turn = absorbing_product(matmul(vh, gv), separated_reciprocals(w, w))
        inside = total(None if gw is None else diagonal_matrix(gw), turn)
        return (hermitian(product(v, inside, vh)),)

    def lower(self, emit: Any, *names: str) -> str:
        if not self.strict:
            return super().lower(emit, *names)
        return f"np.linalg.eigh({hermitian_source(emit, names[0])})"


@parameters
class Eigvalsh(DecompositionPart):
    """Eigenvalues of the Hermitian part, in ascending order.   f[*b, n, n] -> r[*b, n]"""

    strict: bool = True

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return Aval(a.shape[:-1], real_dtype(a.dtype))

    def impl(self, a: Any) -> Any:
        answer = self.abstract_eval(aval_of(a))
        return apart(np.linalg.eigvalsh, self.strict, [answer], numpy_hermitian(a))

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        w, v = Eigh(self.strict)(*primals)
        with derivative_rules():
            inside = product(adjoint(v), hermitian(tangents[0]), v)
            return w, match_aval(real_part(diagonal(inside)), aval_of(w))

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        w, v = Eigh(self.strict)(*args)
        return w, ValuesPullback(v, adjoint(v), aval_of(args[0]))

    def lower(self, emit: Any, *names: str) -> str:
        if not self.strict:
            return super().lower(emit, *names)
        return f"np.linalg.eigvalsh({hermitian_source(emit, names[0])})"


@parameters
class Eig(Decomposition):
    """Complex eigenvalues and eigenvectors of unit norm.   f[*b, n, n] -> c[*b, n] c[*b, n, n]

    Vectors are known up to phases: their derivative is that of the choice that turns least. Equal
    eigenvalues give infinite slopes of the vectors, and matrices without a full set of them NaN.
    """

    strict: bool = True

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        dtype = complex_dtype(a.dtype)
        return [Aval(a.shape[:-1], dtype), Aval(a.shape, dtype)]

    def impl(self, a: Any) -> Any:
        # NumPy gives real results where all eigenvalues happen to be real.
        dtype = complex_dtype(a.dtype)
        found = apart(np.linalg.eig, self.strict, self.abstract_eval(aval_of(a)), a)
        return [x.astype(dtype, copy=False) for x in found]

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        w, v = answer
        inside = product(Inv(False)(v), tangents[0], v)
        turn = absorbing_product(inside, separated_reciprocals(w, w))
        moved = matmul(v, turn)
        along = diagonal(matmul(adjoint(v), moved))
        return diagonal(inside), sub(moved, mul(v, columns(along)))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (w, v), (gw, gv) = answer, g
        vh = adjoint(v)
        inside = None if gw is None else diagonal_matrix(gw)
        if gv is not None:
            pulled = matmul(vh, gv)
            pulled = sub(pulled, mul(matmul(vh, v), columns(diagonal(pulled))))
            slopes = conjugate(separated_reciprocals(w, w))
            inside = total(inside, absorbing_product(pulled, slopes))
        return (product(adjoint(Inv(False)(v)), inside, vh),)


@parameters
class Eigvals(DecompositionPart):
    """Complex eigenvalues.   f[*b, n, n] -> c[*b, n]"""

    strict: bool = True

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return Aval(a.shape[:-1], complex_dtype(a.dtype))

    def impl(self, a: Any) -> Any:
        found = apart(np.linalg.eigvals, self.strict, [self.abstract_eval(aval_of(a))], a)
        return found.astype(complex_dtype(a.dtype), copy=False)

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        w, v = Eig(self.strict)(*primals)
        with derivative_rules():
            inside = product(Inv(False)(v), tangents[0], v)
            return w, match_aval(diagonal(inside), aval_of(w))

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        w, v = Eig(self.strict)(*args)
        return w, _EigvalsPullback(v, aval_of(args[0]))


class _EigvalsPullback:
    """The gradient of the eigenvalues of a general matrix."""

    active = (True,)

    def __init__(self, vectors: Any, argument: Aval) -> None:
        self.residuals = [vectors]
        self.argument = argument

    def __call__(self, cts: Sequence[Any]) -> Sequence[Any]:
        (v,) = self.residuals
        return ValuesPullback(adjoint(Inv(False)(v)), adjoint(v), self.argument)(cts)
