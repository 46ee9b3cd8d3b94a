"""The Euclidean norm, whose slope at the origin is zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import div, equal, select
from fgrad.primitives.families import General, Sum, mul
from fgrad.primitives.linalg import conjugate, real_dtype, real_part
from fgrad.primitives.reduction import keep_axes, kept_shape
from fgrad.tracing import derivative_rules


@parameters
class EuclideanNorm(General):
    """The square root of the sum of squared magnitudes over axes.   f[*s] -> r[*s without axes]

    At the origin, where it has a kink, its derivative is zero.
    """

    axes: tuple[int, ...]

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(kept_shape(x.shape, self.axes), real_dtype(x.dtype))

    def impl(self, x: Any) -> Any:
        if len(self.axes) == x.ndim:
            flat = x.ravel(order="K")
            if x.dtype.kind == "c":
                flat = flat.view(flat.real.dtype)
            return np.sqrt(flat.dot(flat))
        squares = x * x if x.dtype.kind != "c" else np.square(x.real) + np.square(x.imag)
        return np.sqrt(np.add.reduce(squares, axis=self.axes))

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (x,), (t,) = primals, tangents
        with derivative_rules():
            along = Sum(self.axes)(real_part(mul(conjugate(x), t)))
            return div(along, _not_zero(answer))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (True,)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (x,) = args
        weight = keep_axes(div(ct, _not_zero(answer)), self.axes, x.shape)
        return (mul(weight, conjugate(x)),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return EuclideanNorm(tuple([axis + 1 for axis in self.axes]))(args[0]), True


def _not_zero(norm: Any) -> Any:
    return select(equal(norm, 0.0), 1.0, norm)
