"""Random numbers as primitives: pure functions of the words of a key.

A key is a row of 32-bit words along the last axis; axes before it are a batch of keys, each of which
draws as it would alone. There are no derivatives towards a key.

=============  =====================================================================================
threefry2x32   two words; the bits of JAX with its ``jax_threefry_partitionable``
philox         four words; NumPy's generators, three to eight times faster
=============  =====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape
from fgrad.parameters import parameters
from fgrad.primitives import philox, philox_draws, threefry, threefry_draws
from fgrad.primitives.families import NonDifferentiable, creation_is_staged
from fgrad.primitives.shape import batched_operands

NDArray = np.ndarray[Any, Any]

THREEFRY = "threefry2x32"
PHILOX = "philox"
#: The number of words of a key.
KEY_WORDS = {THREEFRY: 2, PHILOX: 4}

_UINT32 = np.dtype(np.uint32)
_FILL_BITS = {THREEFRY: threefry_draws.fill_bits, PHILOX: philox_draws.fill_bits}
_FILL_UNITS = {THREEFRY: threefry_draws.fill_units, PHILOX: philox_draws.fill_units}
_FILL_NORMALS = {THREEFRY: threefry_draws.fill_normals, PHILOX: philox_draws.fill_normals}


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
        _FILL_BITS[self.implementation](keys, out)


@parameters
class RandomUnits(KeyedDraw):
    """Uniform numbers of [0, 1).   u32[*b,words] -> f[*b,*shape]"""

    implementation: str
    shape: Shape
    dtype: np.dtype[Any]

    def answer_type(self) -> tuple[Shape, np.dtype[Any]]:
        return self.shape, self.dtype

    def fill(self, keys: NDArray, out: NDArray) -> None:
        _FILL_UNITS[self.implementation](keys, out)


@parameters
class RandomNormals(KeyedDraw):
    """Standard normal numbers.   u32[*b,words] -> f[*b,*shape]"""

    implementation: str
    shape: Shape
    dtype: np.dtype[Any]

    def answer_type(self) -> tuple[Shape, np.dtype[Any]]:
        return self.shape, self.dtype

    def fill(self, keys: NDArray, out: NDArray) -> None:
        _FILL_NORMALS[self.implementation](keys, out)


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

        def take(start: int, stop: int, x0: NDArray, x1: NDArray) -> None:
            pairs[start:stop, 0] = x0
            pairs[start:stop, 1] = x1

        threefry.encrypt_counters(keys, count, lambda: take)


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
