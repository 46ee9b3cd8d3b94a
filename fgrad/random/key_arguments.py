"""Keys as users give them: typed, or arrays of words; checked, and used up."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import value, wrap
from fgrad.avals import aval_of
from fgrad.config import config
from fgrad.errors import ArgumentError, DTypeError, KeyReuseError, NonArrayError, ShapeError
from fgrad.primitives.random import KEY_WORDS, PHILOX, THREEFRY, SplitKey
from fgrad.primitives.shape import static_index
from fgrad.random.key_arrays import PRNGKeyArray, described, make_keys, reuse_of
from fgrad.source_info import here

_UINT32 = np.dtype(np.uint32)
#: Names under which an implementation is known.
_ALIASES = {"rbg": PHILOX, "unsafe_rbg": PHILOX, "fry": THREEFRY}

_MAKE = "make a key with fgrad.random.key(seed)"


def words_of(key: Any, name: str, argument: str = "key") -> tuple[str, Any]:
    """The implementation of a key or array of keys, and its words as an inside value."""
    if isinstance(key, PRNGKeyArray):
        implementation, words = key._implementation, value(key._words)
        expected = (KEY_WORDS[implementation],)
        if aval_of(words).shape[-1:] != expected or aval_of(words).dtype != _UINT32:
            raise ShapeError(
                f"{name}: {argument} is a single key that was mapped over, or that a function of its words has "
                "changed; pass it unmapped, with None in in_axes, or split it first"
            )
        return implementation, words
    if isinstance(key, (int, float, bool)) or key is None:
        raise NonArrayError(f"{name}: {argument} is {key!r}, expected a random key; {_MAKE}")
    if not isinstance(key, np.ndarray) and not hasattr(key, "aval"):
        raise NonArrayError(
            f"{name}: {argument} is {described(key)}, expected a random key; {_MAKE}"
        )
    words = value(key, f"{name}: {argument}")
    own = aval_of(words)
    if own.dtype != _UINT32:
        raise DTypeError(
            f"{name}: {argument} is {described(key)}, expected a random key, whose words have dtype uint32; {_MAKE}"
        )
    found = _BY_WORDS.get(own.shape[-1]) if own.shape else None
    if found is None:
        raise ShapeError(
            f"{name}: {argument} is {described(key)}, expected a random key, which has two words, or four for "
            f"{PHILOX!r}; {_MAKE}"
        )
    return found, words


_BY_WORDS = {words: name for name, words in KEY_WORDS.items()}


def single_key(key: Any, name: str) -> tuple[str, Any]:
    """The implementation and the words of one key, which the function `name` uses up.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If it is no key, or several.
    KeyReuseError
        If it was used before and the flag ``fgrad_debug_key_reuse`` is on.
    """
    implementation, words = words_of(key, name)
    shape = aval_of(words).shape[:-1]
    if shape:
        raise ShapeError(
            f"{name}: expected a single key, got keys of shape {shape}; map over them with "
            f"fgrad.vmap(lambda key: fgrad.random.{name}(key, ...))(keys)"
        )
    if config.debug_key_reuse and isinstance(key, PRNGKeyArray):
        reuse = reuse_of(key)
        place = reuse.used_at()
        if place is not None:
            raise KeyReuseError(
                f"{name}: this key was used before, {place}, so that the draws are not independent; make new "
                "keys with fgrad.random.split, and use each once"
            )
        reuse.place = f"by {name} at {here()}"
    return implementation, words


def like_key(key: Any, words: Any, implementation: str) -> Any:
    """New words as the user's key is: a typed key, or an array."""
    if isinstance(key, PRNGKeyArray):
        return make_keys(wrap(words), implementation)
    return wrap(words)


def part(words: Any, n: int) -> Any:
    """One of several keys, as words."""
    return static_index(words, (n,))


def split_words(implementation: str, words: Any, count: int = 2) -> list[Any]:
    """The words of `count` new keys."""
    children = SplitKey(implementation, (count,))(words)
    return [part(children, n) for n in range(count)]


def known_implementation(impl: Any, name: str) -> str:
    """The implementation that a user names; the default one for None."""
    if impl is None:
        impl = config.default_prng_impl
    if isinstance(impl, dtypes.KeyDType):
        return impl.implementation
    chosen = _ALIASES.get(impl, impl) if isinstance(impl, str) else impl
    if chosen not in KEY_WORDS:
        raise ArgumentError(f"{name}: impl={impl!r} is not known; give {THREEFRY!r} or {PHILOX!r}")
    return str(chosen)
