"""Numbers as bits: mantissas and exponents, and eight booleans to a byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, aval_of
from fgrad.errors import DTypeError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import ldexp, neg
from fgrad.primitives.families import NonDifferentiable, Ufunc, elementwise
from fgrad.primitives.promotion import ufunc_dtype

_BYTE = np.dtype(np.uint8)

# ---- mantissas and exponents ---------------------------------------------------------------------


def _mantissa_dtype(avals: Sequence[Aval]) -> np.dtype[Any]:
    return ufunc_dtype("frexp", np.frexp, avals)


def _exponent_dtype(avals: Sequence[Aval]) -> np.dtype[Any]:
    # The mantissa's typing refuses what has no mantissa.
    _mantissa_dtype(avals)
    return dtypes.INT32


#: The exponent of the power of two that a number is a multiple of, by a mantissa in [1/2, 1).
exponent: Ufunc = elementwise(
    "exponent",
    lambda x: np.frexp(x)[1],
    None,
    typed_like=_exponent_dtype,
    source="exponent",
    arity=1,
)
mantissa: Ufunc = elementwise(
    "mantissa",
    lambda x: np.frexp(x)[0],
    [lambda z, x: ldexp(1.0, neg(exponent(x)))],
    typed_like=_mantissa_dtype,
    source="mantissa",
)

# ---- packed booleans -----------------------------------------------------------------------------


@parameters
class PackBits(NonDifferentiable):
    """Eight elements to a byte, each a bit that says whether it is not zero.   i[*s, n, *t] -> u8[*s, ceil(n/8), *t]"""

    axis: int
    little: bool

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        if x.dtype.kind not in "biu":
            raise DTypeError(
                f"packbits: the array has dtype {x.dtype}; give booleans or integers, as x != 0 makes them"
            )
        count = -(-x.shape[self.axis] // 8)
        return Aval((*x.shape[: self.axis], count, *x.shape[self.axis + 1 :]), _BYTE)

    def impl(self, x: Any) -> Any:
        if x.dtype.kind not in "biu":
            self.abstract_eval(aval_of(x))
        return np.packbits(x, self.axis, "little" if self.little else "big")

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return PackBits(self.axis + 1, self.little)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        order = "little" if self.little else "big"
        return f"np.packbits({names[0]}, {self.axis}, {order!r})"


@parameters
class UnpackBits(NonDifferentiable):
    """The bits of bytes, cut or followed by zeros to a length.   u8[*s, n, *t] -> u8[*s, count, *t]"""

    axis: int
    count: int
    little: bool

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        if x.dtype != _BYTE:
            raise DTypeError(
                f"unpackbits: the array has dtype {x.dtype}; give bytes, as x.astype(np.uint8) makes them"
            )
        return Aval((*x.shape[: self.axis], self.count, *x.shape[self.axis + 1 :]), _BYTE)

    def impl(self, x: Any) -> Any:
        if x.dtype != _BYTE:
            self.abstract_eval(aval_of(x))
        if not x.size:
            # NumPy leaves the zeros that follow no byte as they lie in memory.
            return np.zeros(self.abstract_eval(aval_of(x)).shape, _BYTE)
        return np.unpackbits(x, self.axis, self.count, "little" if self.little else "big")

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return UnpackBits(self.axis + 1, self.count, self.little)(args[0]), True
