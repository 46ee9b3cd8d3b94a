"""The bits of numbers: taken for another dtype, and rounded to fewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, Shape, aval_of
from fgrad.errors import DTypeError, ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.families import Linear, NonDifferentiable, match_aval


@parameters
class Bitcast(NonDifferentiable):
    """The same memory as another dtype; a last axis appears or vanishes where the size differs.   a[*s] -> b[*t]"""

    dtype: np.dtype[Any]
    view = True

    def _shape(self, x: Aval) -> Shape:
        own, new = x.dtype.itemsize, self.dtype.itemsize
        if own == new:
            return x.shape
        if own > new:
            return (*x.shape, own // new)
        if not x.shape or x.shape[-1] * own != new:
            raise ShapeError(
                f"bitcast_convert_type: {new // own} elements of dtype {x.dtype} make one of {self.dtype}; give an "
                f"array whose last axis has size {new // own}, not shape {x.shape}"
            )
        return x.shape[:-1]

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        if x.dtype != self.dtype and (x.dtype.kind in "bc" or self.dtype.kind in "bc"):
            raise DTypeError(
                f"bitcast_convert_type: takes integers and floats, got {x.dtype} for {self.dtype}; np.asarray(x)"
                ".view(dtype) has no such bounds"
            )
        return Aval(self._shape(x), self.dtype)

    def impl(self, x: Any) -> Any:
        aval = aval_of(x)
        shape = self.abstract_eval(aval).shape
        values = np.asarray(x, aval.dtype)
        if values.dtype.itemsize != self.dtype.itemsize:
            values = np.ascontiguousarray(values).reshape(-1)
        answer = values.view(self.dtype)
        return answer.reshape(shape) if shape else answer.reshape(())[()]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True


@parameters
class ReducePrecision(Linear):
    """Round to so many bits of exponent and mantissa.   f[*s] -> f[*s]

    Rounding to nearest, ties to even; what overflows is infinite, what has no normal form is zero. It counts
    as linear: tangents are rounded likewise, as in JAX.
    """

    exponent_bits: int
    mantissa_bits: int

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        if x.dtype.kind != "f":
            raise DTypeError(
                f"reduce_precision: takes floats, got {x.dtype}; convert it with .astype(float)"
            )
        return x

    def impl(self, x: Any) -> Any:
        aval = self.abstract_eval(aval_of(x))
        answer = _rounded(np.asarray(x, aval.dtype), self.exponent_bits, self.mantissa_bits)
        if aval.shape:
            return answer
        return answer[()].item() if aval.weak else answer[()]

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (match_aval(self(ct), args[0]),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True


def _rounded(x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    width = 8 * x.dtype.itemsize
    own_mantissa = np.finfo(x.dtype).nmant
    own_exponent = width - 1 - own_mantissa
    bits = x.view(np.dtype(f"u{x.dtype.itemsize}")).copy()
    one = bits.dtype.type(1)
    drop = own_mantissa - mantissa_bits
    if drop > 0:
        # Half of the last place that stays, less one unless that place is odd: ties go to even.
        last = (bits >> drop) & one
        bits += ((one << (drop - 1)) - one) + last
        bits &= ~((one << drop) - one)
    if exponent_bits < own_exponent:
        sign = bits & (one << (width - 1))
        exponent = (bits >> own_mantissa) & ((one << own_exponent) - one)
        bias = (1 << (own_exponent - 1)) - 1
        reach = (1 << (exponent_bits - 1)) - 1
        infinite = sign | (((one << own_exponent) - one) << own_mantissa)
        bits = np.where(exponent > bias + reach, infinite, bits)
        bits = np.where(exponent <= bias - reach, sign, bits)
    return np.where(np.isnan(x), x, bits.view(x.dtype))
