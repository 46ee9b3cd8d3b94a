"""The block cipher Threefry-2x32 with 20 rounds (Salmon and others, 2011), over blocks that fit the cache.

A key of two words turns a counter of two words into two random words. Every draw has a counter of its
own, which is its position: draws depend neither on each other nor on how they are grouped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad.blocks import aligned_rows, run_blocks

NDArray = np.ndarray[Any, Any]
#: Takes the words of the counters from start to stop: (start, stop, x0, x1).
Take = Callable[[int, int, NDArray, NDArray], None]

_UINT32 = np.dtype(np.uint32)
_MASK = 0xFFFFFFFF
_PARITY = 0x1BD11BDA
#: The rotations of four rounds, between which the key is added; the two rows take turns.
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_GROUPS = 5
#: Three buffers of so many words stay in the second-level cache, and one call outweighs its overhead.
BLOCK = 32768
# Python's integers beat thirty calls of NumPy for so few counters.
_FEW = 4


def _word(number: int) -> NDArray:
    word = np.array(number & _MASK, _UINT32)
    word.setflags(write=False)
    return word


_LEFT = {n: _word(n) for row in _ROTATIONS for n in row}
_RIGHT = {n: _word(32 - n) for row in _ROTATIONS for n in row}
_STEPS = [_word(group + 1) for group in range(_GROUPS)]
_PARITY_WORD = _word(_PARITY)


def encrypt_words(k0: int, k1: int, x0: int, x1: int) -> tuple[int, int]:
    """Encrypt one counter, in Python integers."""
    schedule = (k0, k1, k0 ^ k1 ^ _PARITY)
    x0 = (x0 + k0) & _MASK
    x1 = (x1 + k1) & _MASK
    for group in range(_GROUPS):
        for n in _ROTATIONS[group % 2]:
            x0 = (x0 + x1) & _MASK
            x1 = ((x1 << n) & _MASK | x1 >> (32 - n)) ^ x0
        x0 = (x0 + schedule[(group + 1) % 3]) & _MASK
        x1 = (x1 + schedule[(group + 2) % 3] + group + 1) & _MASK
    return x0, x1


def _rounds(x0: NDArray, x1: NDArray, scratch: NDArray, schedule: list[tuple[Any, Any]]) -> None:
    """Encrypt counters to which the key has been added, in place; x0 has the sum of both already."""
    add, xor, either = np.add, np.bitwise_xor, np.bitwise_or
    left_shift, right_shift = np.left_shift, np.right_shift
    is_summed = True
    for group in range(_GROUPS):
        for n in _ROTATIONS[group % 2]:
            if not is_summed:
                add(x0, x1, x0)
            is_summed = False
            left_shift(x1, _LEFT[n], scratch)
            right_shift(x1, _RIGHT[n], x1)
            either(x1, scratch, x1)
            xor(x1, x0, x1)
        k0, k1 = schedule[group]
        add(x0, k0, x0)
        add(x1, k1, x1)


def _scalar_schedule(k0: int, k1: int) -> list[tuple[Any, Any]]:
    keys = (k0, k1, k0 ^ k1 ^ _PARITY)
    return [
        (_word(keys[(group + 1) % 3]), _word(keys[(group + 2) % 3] + group + 1))
        for group in range(_GROUPS)
    ]


def _array_schedule(k0: NDArray, k1: NDArray) -> list[tuple[Any, Any]]:
    keys = (k0, k1, k0 ^ k1 ^ _PARITY_WORD)
    return [
        (keys[(group + 1) % 3], keys[(group + 2) % 3] + _STEPS[group]) for group in range(_GROUPS)
    ]


def encrypt(k0: NDArray, k1: NDArray, c0: NDArray, c1: NDArray) -> tuple[NDArray, NDArray]:
    """Encrypt each counter with the key beside it: arrays of one shape."""
    x1 = k1 + c1
    x0 = k0 + c0 + x1
    _rounds(x0, x1, np.empty_like(x0), _array_schedule(k0, k1))
    return x0, x1


def encrypt_counters(keys: NDArray, count: int, taker: Callable[[], Take]) -> None:
    """Encrypt the counters 0 to `count` with each key of uint32[n, 2], on several threads if they are many.

    Each thread asks for a function of its own, and gives it (start, stop, x0, x1) for one block after
    another: start and stop count through all counters of the first key, then those of the second, and so
    on. The arrays may be changed, and are overwritten by the next block.
    """
    total = len(keys) * count
    if not total:
        return
    if total <= _FEW:
        x0, x1 = np.empty(total, _UINT32), np.empty(total, _UINT32)
        for n, (k0, k1) in enumerate(keys.tolist()):
            for counter in range(count):
                at = n * count + counter
                x0[at], x1[at] = encrypt_words(k0, k1, 0, counter)
        taker()(0, total, x0, x1)
        return
    if count > BLOCK // 2 or len(keys) == 1:
        kernel, blocks = _key_by_key, len(keys) * -(-count // BLOCK)
    else:
        kernel, blocks = _several_keys, -(-len(keys) // (BLOCK // count))
    if blocks == 1:
        kernel(0, 1, keys, count, taker)
    else:
        run_blocks(kernel, blocks, keys, count, taker)


def _key_by_key(
    first: int, last: int, keys: NDArray, count: int, taker: Callable[[], Take]
) -> None:
    """Blocks of which each belongs to one key."""
    take = taker()
    size = min(BLOCK, count)
    *buffers, positions = aligned_rows(4, size, _UINT32)
    positions[:] = np.arange(size, dtype=_UINT32)
    per_key = -(-count // BLOCK)
    of_key, schedule = -1, []
    for block in range(first, last):
        n, number = divmod(block, per_key)
        k0, k1 = keys[n].tolist()
        if n != of_key:
            of_key, schedule = n, _scalar_schedule(k0, k1)
        start = number * BLOCK
        size = min(BLOCK, count - start)
        x0, x1, scratch = [buffer[:size] for buffer in buffers]
        # The block size divides 2**32: the high word is the same in a block.
        high, low = k0 + (start >> 32), k1 + start
        np.add(positions[:size], _word(low), x1)
        np.add(positions[:size], _word(high + low), x0)
        _rounds(x0, x1, scratch, schedule)
        take(n * count + start, n * count + start + size, x0, x1)


def _several_keys(
    first: int, last: int, keys: NDArray, count: int, taker: Callable[[], Take]
) -> None:
    """Blocks of as many keys as there is room for."""
    take = taker()
    rows = min(BLOCK // count, len(keys))
    positions = np.tile(np.arange(count, dtype=_UINT32), rows)
    buffers = aligned_rows(3, rows * count, _UINT32)
    for block in range(first, last):
        start = block * rows
        chosen = keys[start : start + rows]
        size = len(chosen) * count
        k0, k1 = np.repeat(chosen[:, 0], count), np.repeat(chosen[:, 1], count)
        x0, x1, scratch = [buffer[:size] for buffer in buffers]
        np.add(positions[:size], k1, x1)
        np.add(x1, k0, x0)
        _rounds(x0, x1, scratch, _array_schedule(k0, k1))
        take(start * count, start * count + size, x0, x1)
