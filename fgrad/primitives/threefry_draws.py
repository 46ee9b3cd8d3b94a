"""Bits, uniform and normal numbers from the words of Threefry: those of JAX.

A block of words becomes numbers while it is cached.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fgrad.blocks import aligned_rows
from fgrad.primitives.normal_quantile import quantile_writer
from fgrad.primitives.threefry import BLOCK, Take, encrypt_counters

NDArray = np.ndarray[Any, Any]

_HIGH, _LOW = (1, 0) if sys.byteorder == "little" else (0, 1)
#: For each float: the unsigned integers of its size, and how far they are shifted to be a mantissa.
_MANTISSAS: dict[np.dtype[Any], tuple[np.dtype[Any], NDArray]] = {
    np.dtype(floating): (np.dtype(bits), np.array(shift, bits))
    for floating, bits, shift in (
        (np.float16, np.uint16, 6),
        (np.float32, np.uint32, 9),
        (np.float64, np.uint64, 12),
    )
}


def _interleave(x0: NDArray, x1: NDArray, out: NDArray) -> None:
    halves = out.view(np.uint32).reshape(-1, 2)
    halves[:, _HIGH] = x0
    halves[:, _LOW] = x1


def fill_bits(keys: NDArray, out: NDArray) -> None:
    """Write random bits, a row of unsigned integers for each key of uint32[n, 2]."""
    flat = out.reshape(-1)

    def take(start: int, stop: int, x0: NDArray, x1: NDArray) -> None:
        block = flat[start:stop]
        if out.dtype.itemsize == 8:
            _interleave(x0, x1, block)
        elif out.dtype.itemsize == 4:
            np.bitwise_xor(x0, x1, block)
        else:
            # Casting to fewer bits keeps the low ones.
            block[:] = np.bitwise_xor(x0, x1, x0)

    encrypt_counters(keys, out.shape[1], lambda: take)


def fill_units(keys: NDArray, out: NDArray) -> None:
    """Write uniform numbers of [0, 1), a row of floats for each key."""
    if out.dtype not in _MANTISSAS:
        out[:] = _narrow_units(keys, out.shape)
        return
    _fill_floats(keys, out, False)


def fill_normals(keys: NDArray, out: NDArray) -> None:
    """Write standard normal numbers, a row of floats for each key."""
    if out.dtype not in _MANTISSAS:
        number = out.dtype.type
        low = np.nextafter(number(-1), number(0))
        out[:] = _narrow_units(keys, out.shape)
        np.multiply(out, number(1) - low, out)
        np.add(out, low, out)
        write = quantile_writer(out.dtype, out.shape[1])
        for row in out:
            write(row, row)
        return
    _fill_floats(keys, out, True)


def _narrow_units(keys: NDArray, shape: Any) -> NDArray:
    """Numbers of seven bits, which fill the mantissa of a bfloat16."""
    bits = np.empty(shape, np.uint8)
    fill_bits(keys, bits)
    return (bits >> 1).astype(np.float32) / np.float32(128)


def _fill_floats(keys: NDArray, out: NDArray, are_normal: bool) -> None:
    flat, dtype = out.reshape(-1), out.dtype
    bits, shift = _MANTISSAS[dtype]
    # The mantissa is that of a number of [1, 2), or twice as great where (-1, 1) is wanted.
    base = np.array(2 if are_normal else 1, dtype)
    base_bits = base.view(bits)
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    size = min(BLOCK, out.size)

    def taker() -> Take:
        (room,) = aligned_rows(1, size, bits) if bits != np.uint32 else (None,)
        write = quantile_writer(dtype, size) if are_normal else None

        def take(start: int, stop: int, x0: NDArray, x1: NDArray) -> None:
            block = x0 if room is None else room[: stop - start]
            if bits == np.uint64:
                _interleave(x0, x1, block)
            else:
                np.bitwise_xor(x0, x1, x0)
                if room is not None:
                    block[:] = x0
            np.right_shift(block, shift, block)
            np.bitwise_or(block, base_bits, block)
            floats = block.view(dtype)
            if write is None:
                np.subtract(floats, base, flat[start:stop])
            else:
                np.subtract(floats, base, floats)
                np.add(floats, low, floats)
                write(floats, flat[start:stop])

        return take

    encrypt_counters(keys, out.shape[1], taker)
