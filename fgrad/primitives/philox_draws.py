"""Bits, uniform and normal numbers of keys of four words, by NumPy's generators.

Few numbers come from Philox itself. Many come in blocks, each from a generator SFC64 that starts from
bits of Philox: it takes a third of the time, and threads fill blocks side by side. A draw is a pure
function of its key, its size and its dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad.blocks import aligned_rows, run_blocks
from fgrad.primitives import philox

NDArray = np.ndarray[Any, Any]
#: Writes draws of a generator to an array.
Fill = Callable[[np.random.Generator, NDArray], None]

#: Up to so many numbers of one key, starting another generator takes longer than it saves.
FEW = 2048
#: Buffers of so many numbers stay in the second-level cache.
BLOCK = 32768


def _fill_rows(keys: NDArray, out: NDArray, few: Fill, many: Callable[[], Fill]) -> None:
    """Fill a row for each key; `many` makes a function that has buffers of its own, one for each thread."""
    count = out.shape[1]
    if count <= FEW:
        for source, row in zip(philox.samplers(keys), out, strict=True):
            few(source, row)
        return
    per_key = -(-count // BLOCK)
    starts = np.concatenate([philox.block_starts(key, per_key) for key in keys])

    def kernel(first: int, last: int) -> None:
        fill = many()
        source = np.random.SFC64(0)
        generator = np.random.Generator(source)
        state = source.state
        for block in range(first, last):
            n, number = divmod(block, per_key)
            state["state"]["state"] = starts[block]
            source.state = state
            fill(generator, out[n, number * BLOCK :][:BLOCK])

    run_blocks(kernel, len(starts))


def _words(source: np.random.Generator, count: int) -> NDArray:
    """The next numbers of 64 bits, in the order of bytes that all machines give."""
    return source.bit_generator.random_raw(count).astype("<u8", copy=False)


# ---- bits ----------------------------------------------------------------------------------------


def _few_bits(source: np.random.Generator, out: NDArray) -> None:
    top = np.iinfo(out.dtype).max
    out[:] = source.integers(0, top, out.size, dtype=out.dtype, endpoint=True)


def _many_bits(source: np.random.Generator, out: NDArray) -> None:
    numbers = _words(source, -(-out.nbytes // 8)).view(out.dtype.newbyteorder("<"))
    out[:] = numbers[: out.size]


def fill_bits(keys: NDArray, out: NDArray) -> None:
    """Write random bits, a row of unsigned integers for each key of uint32[n, 4]."""
    _fill_rows(keys, out, _few_bits, lambda: _many_bits)


# ---- uniform numbers -----------------------------------------------------------------------------


def _few_units(source: np.random.Generator, out: NDArray) -> None:
    if out.dtype.itemsize == 2:
        # NumPy's generator draws none of 16 bits.
        _round_units(source.random(out.size, np.float32), out)
    else:
        source.random(dtype=out.dtype, out=out)


def _round_units(units: NDArray, out: NDArray) -> None:
    out[:] = units
    # Rounding to 16 bits reaches 1.
    number = out.dtype.type
    np.minimum(out, np.nextafter(number(1), number(0)), out=out)


def _single_units() -> Fill:
    (floats,) = aligned_rows(1, BLOCK, np.float32)
    unit = np.float32(2.0**-24)

    def fill(source: np.random.Generator, out: NDArray) -> None:
        bits = _words(source, -(-out.size // 2)).view("<u4")[: out.size]
        own = floats[: out.size]
        np.right_shift(bits, np.uint32(8), bits)
        # Signed integers convert several times faster.
        np.copyto(own, bits.view("<i4"), casting="same_kind")
        if out.dtype == np.float32:
            np.multiply(own, unit, out)
        else:
            _round_units(np.multiply(own, unit, own), out)

    return fill


def fill_units(keys: NDArray, out: NDArray) -> None:
    """Write uniform numbers of [0, 1), a row of floats for each key."""
    is_double = out.dtype == np.float64
    _fill_rows(keys, out, _few_units, (lambda: _few_units) if is_double else _single_units)


# ---- normal numbers ------------------------------------------------------------------------------


def _few_normals(source: np.random.Generator, out: NDArray) -> None:
    if out.dtype.itemsize == 2:
        out[:] = source.standard_normal(out.size, np.float32)
    else:
        source.standard_normal(dtype=out.dtype, out=out)


def _single_normals() -> Fill:
    """Pairs of normal numbers as vectors of an even angle and a length of its own (Box and Muller)."""
    rows = aligned_rows(3, BLOCK // 2, np.float32)
    # Both bounds of the interval (0, 1] from which a length comes are numbers of 31 bits.
    half, unit = np.float32(0.5), np.float32(2.0**-31)
    turn = np.float32(math.pi * 2.0**-31)

    def fill(source: np.random.Generator, out: NDArray) -> None:
        count = -(-out.size // 2)
        lengths, angles, scratch = [row[:count] for row in rows]
        bits = _words(source, count).view("<u4")
        own = bits[:count]
        np.right_shift(own, np.uint32(1), own)
        np.copyto(lengths, own.view("<i4"), casting="same_kind")
        np.add(lengths, half, lengths)
        np.multiply(lengths, unit, lengths)
        np.log(lengths, lengths)
        np.multiply(lengths, np.float32(-2.0), lengths)
        np.sqrt(lengths, lengths)
        np.copyto(angles, bits[count:].view("<i4"), casting="same_kind")
        np.multiply(angles, turn, angles)
        np.cos(angles, scratch)
        np.multiply(scratch, lengths, out[:count], casting="same_kind")
        rest = out[count:]
        np.sin(angles, scratch)
        np.multiply(scratch[: rest.size], lengths[: rest.size], rest, casting="same_kind")

    return fill


def fill_normals(keys: NDArray, out: NDArray) -> None:
    """Write standard normal numbers, a row of floats for each key."""
    is_double = out.dtype == np.float64
    _fill_rows(keys, out, _few_normals, (lambda: _few_normals) if is_double else _single_normals)
