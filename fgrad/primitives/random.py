"""Random numbers as primitives: pure functions of the words of a key.

A key is a row of 32-bit words along the last axis; axes before it are a batch of keys, each of which
draws as it would alone. There are no derivatives towards a key.

=============  =====================================================================================
threefry2x32   two words; the bits of JAX with its ``jax_threefry_partitionable``
philox         four words; NumPy's generator, two to five times faster
=============  =====================================================================================
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape
from fgrad.parameters import parameters
from fgrad.primitives import philox, threefry
from fgrad.primitives.families import NonDifferentiable, creation_is_staged
from fgrad.primitives.normal_quantile import normal_quantile
from fgrad.primitives.shape import batched_operands

NDArray = np.ndarray[Any, Any]

THREEFRY = "threefry2x32"
PHILOX = "philox"
#: The number of words of a key.
KEY_WORDS = {THREEFRY: 2, PHILOX: 4}

_UINT32 = np.dtype(np.uint32)
_HIGH, _LOW = (1, 0) if sys.byteorder == "little" else (0, 1)
#: For each float: the unsigned integers of its size, how far they are shifted, and the bits of 1.0.
_MANTISSAS: dict[np.dtype[Any], tuple[np.dtype[Any], NDArray, NDArray]] = {
    np.dtype(floating): (np.dtype(bits), np.array(shift, bits), np.array(1.0, floating).view(bits))
    for floating, bits, shift in (
        (np.float16, np.uint16, 6),
        (np.float32, np.uint32, 9),
        (np.float64, np.uint64, 12),
    )
}


class KeyedDraw(NonDifferentiable, abstract=True):
    """A draw from each key of a batch.   u32[*b,words] -> [*b,*shape]"""

    creates = True
    implementation: str
    shape: Shape

    def staged(self) -> bool:
        """Whether a body that is being recorded takes in the draw from a known key."""
        return creation_is_staged(self.shape)

    def answer_type(self) -> tuple[Shape, np.dtype[Any]]:
        """The shape and dtype of what one key gives."""
        raise NotImplementedError

    def fill(self, keys: NDArray, out: NDArray) -> None:
        """Write the draws of each key of u32[n,words] into a row of `out`."""
        raise NotImplementedError

    def abstract_eval(self, keys: Aval) -> Aval:  # type: ignore[override]
        shape, dtype = self.answer_type()
        return Aval((*keys.shape[:-1], *shape), dtype)

    def impl(self, keys: Any) -> Any:
        shape, dtype = self.answer_type()
        rows = keys.reshape(-1, keys.shape[-1])
        out = np.empty((len(rows), math.prod(shape)), dtype)
        if out.size:
            self.fill(rows, out)
        return out.reshape((*keys.shape[:-1], *shape))[()]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True


@parameters
class RandomBits(KeyedDraw):
    """Uniform bits as unsigned integers.   u32[*b,words] -> u{width}[*b,*shape]"""

    implementation: str
    shape: Shape
    width: int

    def answer_type(self) -> tuple[Shape, np.dtype[Any]]:
        return self.shape, np.dtype(f"u{self.width // 8}")

    def fill(self, keys: NDArray, out: NDArray) -> None:
        if self.implementation == PHILOX:
            for source, row in zip(philox.samplers(keys), out, strict=True):
                philox.fill_bits(source, row)
            return
        _threefry_bits(keys, out)


def _threefry_bits(
    keys: NDArray, out: NDArray, finish: Callable[[NDArray], None] | None = None
) -> None:
    """Write threefry's bits, block by block; `finish` changes a block in place while it is cached."""
    flat = out.reshape(-1)
    if out.dtype.itemsize == 8:
        halves = flat.view(_UINT32).reshape(-1, 2)
        for start, stop, x0, x1 in threefry.words(keys, out.shape[1]):
            halves[start:stop, _HIGH] = x0
            halves[start:stop, _LOW] = x1
            if finish is not None:
                finish(flat[start:stop])
        return
    for start, stop, x0, x1 in threefry.words(keys, out.shape[1]):
        # Casting to fewer bits keeps the low ones.
        np.bitwise_xor(x0, x1, x0)
        flat[start:stop] = x0
        if finish is not None:
            finish(flat[start:stop])


@parameters
class RandomUnits(KeyedDraw):
    """Uniform numbers of [0, 1).   u32[*b,words] -> f[*b,*shape]"""

    implementation: str
    shape: Shape
    dtype: np.dtype[Any]

    def answer_type(self) -> tuple[Shape, np.dtype[Any]]:
        return self.shape, self.dtype

    def fill(self, keys: NDArray, out: NDArray) -> None:
        if self.implementation == PHILOX:
            _philox_floats(keys, out, np.random.Generator.random)
            # Rounding to 16 bits reaches 1.
            if out.dtype.itemsize == 2:
                number = self.dtype.type
                np.minimum(out, np.nextafter(number(1), number(0)), out=out)
        else:
            _threefry_floats(keys, out)


@parameters
class RandomNormals(KeyedDraw):
    """Standard normal numbers.   u32[*b,words] -> f[*b,*shape]"""

    implementation: str
    shape: Shape
    dtype: np.dtype[Any]

    def answer_type(self) -> tuple[Shape, np.dtype[Any]]:
        return self.shape, self.dtype

    def fill(self, keys: NDArray, out: NDArray) -> None:
        if self.implementation == PHILOX:
            _philox_floats(keys, out, np.random.Generator.standard_normal)
            return
        number = self.dtype.type
        low = np.nextafter(number(-1), number(0))
        width = number(1) - low

        def finish(block: NDArray) -> None:
            np.multiply(block, width, block)
            np.add(block, low, block)
            normal_quantile(block)

        _threefry_floats(keys, out, finish)


def _threefry_floats(
    keys: NDArray, out: NDArray, finish: Callable[[NDArray], None] | None = None
) -> None:
    """Write numbers of [0, 1) from threefry's bits; `finish` changes a block in place."""
    if out.dtype not in _MANTISSAS:
        _threefry_narrow(keys, out, finish)
        return
    bits, shift, one = _MANTISSAS[out.dtype]

    def to_float(block: NDArray) -> None:
        # The bits are the mantissa of a number of [1, 2).
        np.right_shift(block, shift, block)
        np.bitwise_or(block, one, block)
        floats = block.view(out.dtype)
        np.subtract(floats, out.dtype.type(1), floats)
        if finish is not None:
            finish(floats)

    _threefry_bits(keys, out.view(bits), to_float)


def _threefry_narrow(keys: NDArray, out: NDArray, finish: Callable[[NDArray], None] | None) -> None:
    """The same for bfloat16: seven bits of eight fill its mantissa."""
    bits = np.empty(out.shape, np.uint8)
    _threefry_bits(keys, bits)
    out[:] = (bits >> 1).astype(np.float32) / np.float32(128)
    if finish is not None:
        for row in out:
            finish(row)


def _philox_floats(keys: NDArray, out: NDArray, draw: Callable[..., Any]) -> None:
    for source, row in zip(philox.samplers(keys), out, strict=True):
        if row.dtype.itemsize == 2:
            # NumPy's generator draws none of 16 bits.
            row[:] = draw(source, size=row.size, dtype=np.float32)
        else:
            draw(source, dtype=row.dtype, out=row)


@parameters
class SplitKey(KeyedDraw):
    """New keys.   u32[*b,words] -> u32[*b,*shape,words]"""

    implementation: str
    shape: Shape

    def answer_type(self) -> tuple[Shape, np.dtype[Any]]:
        return (*self.shape, KEY_WORDS[self.implementation]), _UINT32

    def fill(self, keys: NDArray, out: NDArray) -> None:
        count = math.prod(self.shape)
        if self.implementation == PHILOX:
            for key, row in zip(keys, out, strict=True):
                row[:] = philox.split(key, count).reshape(-1)
            return
        pairs = out.reshape(-1, 2)
        for start, stop, x0, x1 in threefry.words(keys, count):
            pairs[start:stop, 0] = x0
            pairs[start:stop, 1] = x1


@parameters
class FoldIn(NonDifferentiable):
    """The key that belongs to a key and a number.   u32[*b,words] u32[*b] -> u32[*b,words]"""

    implementation: str

    def abstract_eval(self, keys: Aval, data: Aval) -> Aval:  # type: ignore[override]
        return Aval(keys.shape, _UINT32)

    def impl(self, keys: Any, data: Any) -> Any:
        rows, numbers = keys.reshape(-1, keys.shape[-1]), np.reshape(data, -1)
        out = np.empty(rows.shape, _UINT32)
        if self.implementation == PHILOX:
            for row, key, number in zip(out, rows, numbers.tolist(), strict=True):
                row[:] = philox.fold_in(key, number)
        elif len(rows) == 1:
            k0, k1 = rows[0].tolist()
            out[0] = threefry.encrypt_words(k0, k1, 0, int(numbers[0]))
        else:
            out[:, 0], out[:, 1] = threefry.encrypt(
                np.ascontiguousarray(rows[:, 0]),
                np.ascontiguousarray(rows[:, 1]),
                np.zeros_like(numbers),
                numbers,
            )
        return out.reshape(keys.shape)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(*batched_operands(size, args, mapped)), True


@parameters
class SeedKey(NonDifferentiable):
    """The key of a seed.   i[*b] -> u32[*b,words]"""

    implementation: str

    def abstract_eval(self, seed: Aval) -> Aval:  # type: ignore[override]
        return Aval((*seed.shape, KEY_WORDS[self.implementation]), _UINT32)

    def impl(self, seed: Any) -> Any:
        numbers = np.asarray(seed)
        numbers = numbers.astype(dtypes.canonical(numbers.dtype), copy=False)
        long = numbers.dtype.itemsize == 8
        bits = numbers.astype(np.uint64 if long else _UINT32).astype(np.uint64)
        if self.implementation == PHILOX:
            keys = [philox.seed(number) for number in bits.reshape(-1).tolist()]
            return np.array(keys, _UINT32).reshape((*bits.shape, KEY_WORDS[PHILOX]))
        out = np.empty((*bits.shape, 2), _UINT32)
        out[..., 0] = bits >> np.uint64(32)
        out[..., 1] = bits & np.uint64(0xFFFFFFFF)
        return out

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True
