"""Convolution of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fgrad.avals import Aval, aval_of, broadcast_shapes
from fgrad.errors import DTypeError, ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.families import Bilinear, align_ranks, match_aval
from fgrad.primitives.shape import flip

NDArray = np.ndarray[Any, Any]


@parameters
class Convolve(Bilinear):
    """Convolution along the last axis; the others broadcast.   a[*b, n] a[*b, m] -> a[*b, n+m-1]

    Where `valid`, the second operand is no longer than the first, and the result has only the n-m+1
    elements where it lies inside. The transposes of either kind are of the other kind or the same:
    none computes more than it returns.
    """

    valid: bool = False

    def abstract_eval(self, x: Aval, y: Aval) -> Aval:  # type: ignore[override]
        if not x.shape or not y.shape or not x.shape[-1] or not y.shape[-1]:
            raise ShapeError(
                f"convolve: arrays of shapes {x.shape} and {y.shape}; both need an axis that is not empty"
            )
        if x.dtype != y.dtype:
            raise DTypeError(f"convolve: dtypes {x.dtype} and {y.dtype} differ; convert one")
        batch = broadcast_shapes("convolve", x.shape[:-1], y.shape[:-1])
        n, m = x.shape[-1], y.shape[-1]
        return Aval((*batch, n - m + 1 if self.valid else n + m - 1), x.dtype)

    def impl(self, x: Any, y: Any) -> Any:
        if x.ndim == 1 and y.ndim == 1:
            return np.convolve(x, y, self._mode).astype(x.dtype, copy=False)
        answer = np.zeros(self.abstract_eval(aval_of(x), aval_of(y)).shape, x.dtype)
        if self.valid:
            return _valid(answer, x, y)
        long, short = (x, y) if x.shape[-1] >= y.shape[-1] else (y, x)
        size = long.shape[-1]
        for shift in range(short.shape[-1]):
            answer[..., shift : shift + size] += long * short[..., shift : shift + 1]
        return answer

    @property
    def _mode(self) -> Literal["valid", "full"]:
        return "valid" if self.valid else "full"

    def transpose_left(self, ct: Any, left: Aval, right: Any) -> Any:
        return match_aval(Convolve(not self.valid)(ct, reverse(right)), left)

    def transpose_right(self, ct: Any, left: Any, right: Aval) -> Any:
        if self.valid:
            return match_aval(reverse(Convolve(True)(left, reverse(ct))), right)
        return match_aval(Convolve(True)(ct, reverse(left)), right)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(*align_ranks(args, mapped)), True

    def lower(self, emit: Any, *names: str) -> str:
        if any(
            len(operand.shape) != 1 or operand.dtype.kind not in "fc" for operand in emit.operands
        ):
            return super().lower(emit, *names)
        return f"np.convolve({names[0]}, {names[1]}, {self._mode!r})"


def _valid(answer: NDArray, x: NDArray, y: NDArray) -> NDArray:
    """`x` and `y` convolved where y lies inside, by as few operations on arrays as there may be."""
    count, m = answer.shape[-1], y.shape[-1]
    if m <= count:
        for shift in range(m):
            start = m - 1 - shift
            answer += x[..., start : start + count] * y[..., shift : shift + 1]
    else:
        backward = y[..., ::-1]
        for i in range(count):
            answer[..., i] = np.sum(x[..., i : i + m] * backward, axis=-1)
    return answer


def reverse(x: Any) -> Any:
    """`x` with its last axis backward."""
    return flip(x, (len(aval_of(x).shape) - 1,))


convolve = Convolve()
