"""Limited functions: their slopes at the limits are 0, where `maximum` and `minimum` share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval
from fgrad.primitives.elementwise import greater, less, logical_and, maximum
from fgrad.primitives.families import Ufunc
from fgrad.primitives.promotion import ufunc_dtype

_ZERO = Aval((), dtypes.INT64, True)


def _positive_part(x: Any) -> Any:
    return np.maximum(x, 0)


def _positive_part_dtype(avals: Sequence[Aval]) -> np.dtype[Any]:
    return ufunc_dtype("relu", np.maximum, [*avals, _ZERO])


class Relu(Ufunc, abstract=True):
    """``max(x, 0)``."""

    def lower(self, emit: Any, *names: str) -> str:
        if emit.operands[0].weak:
            return super().lower(emit, *names)
        return f"np.maximum({names[0]}, 0)"


relu = Relu("relu", _positive_part, [lambda z, x: greater(x, 0.0)], _positive_part_dtype)


def _clamped(low: Any, x: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _clamped_dtype(avals: Sequence[Aval]) -> np.dtype[Any]:
    low, x, high = avals
    above = Aval((), ufunc_dtype("clamp", np.maximum, [x, low]), x.weak and low.weak)
    return ufunc_dtype("clamp", np.minimum, [above, high])


class Clamp(Ufunc, abstract=True):
    """``x`` limited to the interval from `low` to `high`."""

    def lower(self, emit: Any, *names: str) -> str:
        if all([operand.weak for operand in emit.operands]):
            return super().lower(emit, *names)
        low, x, high = names
        return f"np.minimum(np.maximum({x}, {low}), {high})"


clamp = Clamp(
    "clamp",
    _clamped,
    [
        lambda z, low, x, high: logical_and(less(x, low), less(low, high)),
        lambda z, low, x, high: logical_and(less(low, x), less(x, high)),
        lambda z, low, x, high: less(high, maximum(low, x)),
    ],
    _clamped_dtype,
)
