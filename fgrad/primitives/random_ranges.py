"""From random words and units to integers and numbers of a range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.blocks import aligned_rows, run_blocks
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import less, select, sub
from fgrad.primitives.families import Elementwise, Partial

NDArray = np.ndarray[Any, Any]


#: Three buffers of so many words stay in the second-level cache.
_BLOCK = 16384


def _bits_between(higher: Any, lower: Any, low: Any, high: Any, whole: Any) -> Any:
    """The integer of [low, high) that two random words give; `whole` adds the greatest number to it.

    A higher word of zero stands for none.
    """
    dtype = np.asarray(low).dtype
    bits = np.asarray(lower).dtype
    first = np.asarray(low).astype(bits)
    is_empty = np.less_equal(high, low)
    span = np.where(is_empty, bits.type(1), np.asarray(high).astype(bits) - first)
    span = np.asarray(span + np.logical_and(whole, ~is_empty).astype(bits))
    half = np.asarray(1 << (4 * bits.itemsize), bits)
    simple = not span.ndim and not first.ndim and np.ndim(lower)
    with np.errstate(divide="ignore"):
        if np.ndim(higher) == 0 and higher == 0:
            if simple:
                offsets = _in_blocks(None, lower, half, span, first)
            else:
                offsets = np.asarray(_remainder(lower, span)) + first
            return np.asarray(offsets).view(dtype)[()]
        factor = _remainder(half, span)
        factor = np.asarray(_remainder(factor * factor, span))
        if simple and np.shape(higher) == np.shape(lower):
            offsets = _in_blocks(higher, lower, factor, span, first)
        else:
            offsets = _remainder(higher, span) * factor + _remainder(lower, span)
            offsets = np.asarray(_remainder(offsets, span)) + first
    return np.asarray(offsets).view(dtype)[()]


def _remainder(x: Any, span: Any) -> Any:
    """The remainder of a division, where a span of zero stands for all numbers."""
    x = np.asarray(x)
    return np.where(np.equal(span, 0), x, x - x // span * span)


def _in_blocks(
    higher: NDArray | None, lower: NDArray, factor: NDArray, span: NDArray, first: NDArray
) -> NDArray:
    out = np.array(lower, order="C")
    flat = out.reshape(-1)
    flat_higher = None if higher is None else higher.reshape(-1)

    def kernel(begin: int, end: int) -> None:
        rows = aligned_rows(2, min(_BLOCK, flat.size), out.dtype)
        for start in range(begin * _BLOCK, min(end * _BLOCK, flat.size), _BLOCK):
            block = flat[start : start + _BLOCK]
            quotient, rest = [row[: block.size] for row in rows]
            _reduce(block, span, quotient)
            if flat_higher is not None:
                np.copyto(rest, flat_higher[start : start + _BLOCK])
                _reduce(rest, span, quotient)
                np.multiply(rest, factor, rest)
                np.add(block, rest, block)
                _reduce(block, span, quotient)
            np.add(block, first, block)

    _run(kernel, flat.size)
    return out


def _reduce(block: NDArray, span: NDArray, quotient: NDArray) -> None:
    """Leave the remainders; a span of zero stands for all numbers."""
    if span:
        # NumPy divides by one number several times faster than it finds remainders.
        np.floor_divide(block, span, quotient)
        np.multiply(quotient, span, quotient)
        np.subtract(block, quotient, block)


def _run(kernel: Callable[[int, int], None], size: int) -> None:
    """Run a kernel over the blocks of so many numbers."""
    count = -(-size // _BLOCK)
    if count > 1:
        run_blocks(kernel, count)
    else:
        kernel(0, count)


@parameters
class BitsBetween(Elementwise):
    """Integers of a range from two random words each.   u[*s] u[*s] i[*s] i[*s] bool[*s] -> i[*s]"""

    differentiable = False

    def result_dtype(self, avals: Sequence[Aval]) -> np.dtype[Any]:
        return avals[2].dtype

    def compute(self, *values: Any) -> Any:
        return _bits_between(*values)


bits_between = BitsBetween()


# ---- real numbers --------------------------------------------------------------------------------

# Splits a float64 into halves whose products are exact.
_SPLITTER = np.float64(2**27 + 1)


def _units_between(units: Any, low: Any, high: Any) -> Any:
    """``low + units * (high - low)`` with one rounding, as of a fused multiply-add, and not below low."""
    dtype = np.asarray(units).dtype
    low, high = np.asarray(low, dtype), np.asarray(high, dtype)
    width = np.subtract(high, low)
    if dtype.itemsize == 2 or (not width.ndim and _product_is_exact(low, width)):
        return np.maximum(low, np.asarray(units * width) + low)
    if dtype == np.float32:
        wide = np.multiply(units, width, dtype=np.float64) + low
        return np.maximum(low, wide.astype(dtype))
    if width.ndim or np.ndim(units) == 0:
        return np.maximum(low, _fused(np.asarray(units), low, np.asarray(width)))
    out = np.empty(units.shape)
    flat, flat_units = out.reshape(-1), units.reshape(-1)

    def kernel(begin: int, end: int) -> None:
        for start in range(begin * _BLOCK, min(end * _BLOCK, flat.size), _BLOCK):
            block = flat_units[start : start + _BLOCK]
            fused = _fused(block, low, np.asarray(width))
            np.maximum(low, fused, out=flat[start : start + _BLOCK])

    _run(kernel, flat.size)
    return out


def _product_is_exact(low: Any, width: Any) -> bool:
    return bool(low == 0) or bool(np.frexp(width)[0] == 0.5)


def _fused(x: NDArray, low: NDArray, width: NDArray) -> NDArray:
    """``x * width + low``, with the rounding errors of both operations found and added."""
    product = np.asarray(x * width)
    x_high, x_low = _halves(x)
    w_high, w_low = _halves(width)
    error = ((x_high * w_high - product) + x_high * w_low + x_low * w_high) + x_low * w_low
    total = np.asarray(product + low)
    part = total - product
    rest = (product - (total - part)) + (low - part)
    return np.asarray(total + (rest + error))


def _halves(x: NDArray) -> tuple[Any, Any]:
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


@parameters
class UnitsBetween(Elementwise):
    """Numbers of [low, high) from numbers of [0, 1).   f[*s] f[*s] f[*s] -> f[*s]"""

    @property
    def partials(self) -> Sequence[Partial]:  # type: ignore[override]
        # Where the bounds are not in order, the number is the lower bound.
        return (
            lambda z, units, low, high: select(less(high, low), 0.0, sub(high, low)),
            lambda z, units, low, high: select(less(high, low), 1.0, sub(1.0, units)),
            lambda z, units, low, high: select(less(high, low), 0.0, units),
        )

    def result_dtype(self, avals: Sequence[Aval]) -> np.dtype[Any]:
        return avals[0].dtype

    def compute(self, *values: Any) -> Any:
        return _units_between(*values)


units_between = UnitsBetween()
