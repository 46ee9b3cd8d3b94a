"""Draws from NumPy's Philox generator, as pure functions of a key of four words.

The generator is counter-based: a key and a counter determine its stream. Draws, splits and folds of one
key use counters of different domains, so that their streams do not meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

NDArray = np.ndarray[Any, Any]

_WORDS = 4
# The highest of the four words of the counter tells the domains apart; that of draws is zero.
_SPLIT, _FOLD, _SEED, _BLOCKS = range(1, 5)


def _bit_generator(key: NDArray, domain: int, label: int = 0) -> np.random.Philox:
    """The generator of a key, uint32[4], with a counter of its own for each domain and label."""
    counter = np.array([0, label & (2**64 - 1), 0, domain], np.uint64)
    words = key.astype(np.uint64)
    pair = words[0::2] << np.uint64(32) | words[1::2]
    return np.random.Philox(counter=counter, key=pair)


def _key_words(source: np.random.Philox, count: int) -> NDArray:
    """The next numbers of 64 bits as keys: uint32[count, 4], high words first."""
    bits = source.random_raw(2 * count)
    pairs = np.empty((len(bits), 2), np.uint32)
    pairs[:, 0] = bits >> np.uint64(32)
    pairs[:, 1] = bits & np.uint64(0xFFFFFFFF)
    return pairs.reshape(-1, _WORDS)


def block_starts(key: NDArray, count: int) -> NDArray:
    """Where the generators of `count` blocks of a draw start: uint64[count, 4]."""
    return _bit_generator(key, _BLOCKS).random_raw(4 * count).reshape(-1, 4)


def split(key: NDArray, count: int) -> NDArray:
    """`count` new keys: uint32[count, 4]."""
    return _key_words(_bit_generator(key, _SPLIT), count)


def fold_in(key: NDArray, data: int) -> NDArray:
    """The key that belongs to a key and a number: uint32[4]."""
    (words,) = _key_words(_bit_generator(key, _FOLD, data), 1)
    return np.asarray(words)


def seed(number: int) -> NDArray:
    """The key of a seed: uint32[4]."""
    (words,) = _key_words(_bit_generator(np.zeros(_WORDS, np.uint32), _SEED, number), 1)
    return np.asarray(words)


def samplers(keys: NDArray) -> Iterator[np.random.Generator]:
    """NumPy's generator, once for each key of two or four words.

    It is one object, whose state is set anew: that takes a quarter of the time of making one.
    """
    source = np.random.Philox(0)
    start = source.state
    start["state"]["counter"] = np.zeros(_WORDS, np.uint64)
    made = np.random.Generator(source)
    words = np.zeros((len(keys), _WORDS), np.uint64)
    words[:, : keys.shape[1]] = keys
    for pair in words[:, 0::2] << np.uint64(32) | words[:, 1::2]:
        start["state"]["key"] = pair
        source.state = start
        yield made
