"""Determinants, whose derivatives exist at singular matrices too, and their logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import complex_, imag, mul, real
from fgrad.primitives.families import General, Sum, match_aval, neg, reshape
from fgrad.primitives.linalg import (
    Decomposition,
    adjoint,
    aligned,
    conjugate,
    is_complex,
    real_dtype,
    swapped,
    total,
)
from fgrad.primitives.solve import Inv
from fgrad.tracing import derivative_rules

# Up to this condition number, cofactors come from the inverse; above, from singular values.
_WELL_CONDITIONED = 1e4


def _per_matrix(x: Any) -> Any:
    """One number for each matrix, to multiply all of its entries."""
    return reshape(x, (*aval_of(x).shape, 1, 1))


def _entries_sum(x: Any) -> Any:
    rank = len(x.shape)
    return Sum((rank - 2, rank - 1))(x)


@parameters
class Det(General):
    """The determinant.   f[*b, n, n] -> f[*b]"""

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return Aval(a.shape[:-2], a.dtype)

    def impl(self, a: Any) -> Any:
        return np.linalg.det(a)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        with derivative_rules():
            return _entries_sum(mul(Cofactors(0)(*primals), tangents[0]))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (True,)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        return (mul(_per_matrix(ct), Cofactors(0)(*args)),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.linalg.det({names[0]})"


@parameters
class Cofactors(General):
    """The slopes of the determinant, and their slopes.   f[*b, n, n] ... -> f[*b, n, n]

    They are differentiated `order` times along given directions. A determinant's derivatives are
    symmetric in their directions, so that those of this primitive are this primitive again.
    """

    order: int

    def abstract_eval(self, *avals: Aval) -> Aval:
        lead = np.broadcast_shapes(*[x.shape[:-2] for x in avals])
        return Aval((*lead, *avals[0].shape[-2:]), avals[0].dtype)

    def impl(self, *values: Any) -> Any:
        return cofactors(*values)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        with derivative_rules():
            terms = []
            for i, t in enumerate(tangents):
                if t is not None and i == 0:
                    terms.append(Cofactors(self.order + 1)(*primals, t))
                elif t is not None:
                    terms.append(self(*primals[:i], t, *primals[i + 1 :]))
            found = total(*terms)
            return None if found is None else match_aval(found, aval_of(answer))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        count = len(needs)
        one = sum(needs[1:]) == 1 and not needs[0]
        return False, (True, *[not (one and needs[i]) for i in range(1, count)])

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        found = [Cofactors(self.order + 1)(*args, ct) if needs[0] else None]
        found += [
            self(*args[:i], ct, *args[i + 1 :]) if needs[i] else None for i in range(1, len(args))
        ]
        return [
            None if x is None else match_aval(x, aval_of(arg))
            for x, arg in zip(found, args, strict=True)
        ]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(*aligned(args, mapped)), True


def cofactors(a: Any, *directions: Any) -> Any:
    """`Cofactors` on NumPy arrays."""
    shape = np.broadcast_shapes(a.shape, *[e.shape for e in directions])
    flat = (math.prod(shape[:-2]), *shape[-2:])
    values = [np.broadcast_to(x, shape).reshape(flat) for x in (a, *directions)]
    result = np.empty(values[0].shape, a.dtype)
    with np.errstate(all="ignore"):
        regular = np.linalg.det(values[0]) != 0
        if regular.any():
            inverse = np.linalg.inv(values[0][regular])
            condition = np.linalg.norm(values[0][regular], axis=(1, 2)) * np.linalg.norm(
                inverse, axis=(1, 2)
            )
            good = condition <= _WELL_CONDITIONED
            regular[regular] = good
            chosen = [x[regular] for x in values]
            result[regular] = _by_inverse(np.linalg.det(chosen[0]), inverse[good], chosen[1:])
        for i in np.flatnonzero(~regular):
            result[i] = _by_singular_values(*[x[i] for x in values])
    return result.reshape(shape)


def _by_inverse(det: Any, inverse: Any, directions: Sequence[Any]) -> Any:
    """The transposed adjugates of regular matrices, by Jacobi's formula at each order."""
    return np.swapaxes(_adjugates(det, inverse, tuple(directions)), -1, -2)


def _adjugates(det: Any, inverse: Any, directions: tuple[Any, ...]) -> Any:
    if not directions:
        return det[..., None, None] * inverse
    # The determinant's derivative along all of them, given the adjugate's along the others.
    others = _adjugates(det, inverse, directions[:-1])
    slopes = np.einsum("...ij,...ji->...", others, directions[-1])
    result = slopes[..., None, None] * inverse
    for i, direction in enumerate(directions):
        rest = directions[:i] + directions[i + 1 :]
        result = result - inverse @ direction @ _adjugates(det, inverse, rest)
    return result


def _by_singular_values(a: Any, *directions: Any) -> Any:
    """The cofactors of one matrix, which may be singular.

    In the basis of its singular vectors the matrix is diagonal, and what is sought is a polynomial
    in its small singular values. The mean of a polynomial over a circle is its value at the centre:
    the small values move along circles of the size of the largest, where the matrix is regular.
    """
    if not np.isfinite(a).all():
        return np.full(a.shape, np.nan, a.dtype)
    u, s, vh = np.linalg.svd(a)
    scale = s[0] or 1.0
    small = s <= scale / _WELL_CONDITIONED
    count = int(small.sum()) + 1
    inside = [u.conj().T @ e @ vh.conj().T for e in directions]
    turns = scale * np.exp(2j * np.pi * (np.arange(count) + 0.5) / count)
    moved = s + turns[:, None] * small
    wide = np.complex128
    inverse = np.zeros((count, *a.shape), wide)
    np.einsum("...ii->...i", inverse)[...] = 1 / moved
    around = _by_inverse(np.prod(moved, axis=-1), inverse, [e.astype(wide) for e in inside])
    mean = around.mean(axis=0)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    result = phase * (u.conj() @ mean @ vh.conj())
    return (result if a.dtype.kind == "c" else result.real).astype(a.dtype)


# ---- logarithms --------------------------------------------------------------------------------


@parameters
class Slogdet(Decomposition):
    """The determinant's sign, or phase, and the logarithm of its size.   f[*b, n, n] -> f[*b] r[*b]

    At singular matrices the derivative does not exist and is NaN.
    """

    def abstract_eval(self, a: Aval) -> Sequence[Aval]:  # type: ignore[override]
        lead = a.shape[:-2]
        return [Aval(lead, a.dtype), Aval(lead, real_dtype(a.dtype))]

    def impl(self, a: Any) -> Any:
        return list(np.linalg.slogdet(a))

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        moved = _entries_sum(mul(swapped(Inv(False)(*primals)), tangents[0]))
        if not is_complex(moved):
            return None, moved
        return mul(answer[0], complex_(0.0, imag(moved))), real(moved)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (True,)

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (a,), (gsign, glog) = args, g
        if not is_complex(a):
            if glog is None:
                return (None,)
            weight = glog
        else:
            turn = None
            if gsign is not None:
                turn = complex_(0.0, neg(imag(mul(answer[0], conjugate(gsign)))))
            weight = total(glog, turn)
        return (mul(_per_matrix(weight), adjoint(Inv(False)(a))),)

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.linalg.slogdet({names[0]})"
