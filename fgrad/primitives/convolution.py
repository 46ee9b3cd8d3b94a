"""Convolution of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgrad.avals import Aval, aval_of, broadcast_shapes
from fgrad.errors import DTypeError, ShapeError
from fgrad.primitives.families import Bilinear, align_ranks, match_aval
from fgrad.primitives.shape import flip, static_index


@dataclass(frozen=True)
class Convolve(Bilinear):
    """The full convolution along the last axis; the others broadcast.   a[*b, n] a[*b, m] -> a[*b, n+m-1]"""

    def abstract_eval(self, x: Aval, y: Aval) -> Aval:  # type: ignore[override]
        if not x.shape or not y.shape or not x.shape[-1] or not y.shape[-1]:
            raise ShapeError(
                f"convolve: arrays of shapes {x.shape} and {y.shape}; both need an axis that is not empty"
            )
        if x.dtype != y.dtype:
            raise DTypeError(f"convolve: dtypes {x.dtype} and {y.dtype} differ; convert one")
        batch = broadcast_shapes("convolve", x.shape[:-1], y.shape[:-1])
        return Aval((*batch, x.shape[-1] + y.shape[-1] - 1), x.dtype)

    def impl(self, x: Any, y: Any) -> Any:
        if x.ndim == 1 and y.ndim == 1:
            return np.convolve(x, y).astype(x.dtype, copy=False)
        long, short = (x, y) if x.shape[-1] >= y.shape[-1] else (y, x)
        answer = np.zeros(self.abstract_eval(aval_of(x), aval_of(y)).shape, x.dtype)
        size = long.shape[-1]
        for shift in range(short.shape[-1]):
            answer[..., shift : shift + size] += long * short[..., shift : shift + 1]
        return answer

    def _correlated(self, ct: Any, other: Any, aval: Aval) -> Any:
        # Sliding the other operand over the cotangent, where it lies inside.
        other_shape = aval_of(other).shape
        size = other_shape[-1]
        whole = self(ct, flip(other, (len(other_shape) - 1,)))
        index = (slice(None),) * (len(aval_of(whole).shape) - 1)
        window = slice(size - 1, size - 1 + aval.shape[-1])
        return match_aval(static_index(whole, (*index, window)), aval)

    def transpose_left(self, ct: Any, left: Aval, right: Any) -> Any:
        return self._correlated(ct, right, left)

    def transpose_right(self, ct: Any, left: Any, right: Aval) -> Any:
        return self._correlated(ct, left, right)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(*align_ranks(args, mapped)), True


convolve = Convolve()
