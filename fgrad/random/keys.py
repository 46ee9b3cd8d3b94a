"""Making keys, and making more of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, operand, static_shape
from fgrad.primitives.elementwise import convert
from fgrad.primitives.random import KEY_WORDS, FoldIn, SeedKey, SplitKey
from fgrad.random.key_arguments import known_implementation, like_key, single_key, words_of
from fgrad.random.key_arrays import PRNGKeyArray, described, make_keys

_UINT32 = np.dtype(np.uint32)
_INT64_RANGE = range(-(2**63), 2**63)
_UINT32_RANGE = range(2**32)


def _seeded(seed: Any, implementation: str, name: str) -> Any:
    if isinstance(seed, PRNGKeyArray):
        raise DTypeError(f"{name}: seed is a key already; give an integer")
    inside = operand(seed, name, "seed") if not isinstance(seed, int) else int(seed)
    own = aval_of(inside)
    if own.dtype.kind not in "iub":
        raise DTypeError(f"{name}: seed must be an integer, got {described(seed)}")
    if own.shape:
        raise ShapeError(
            f"{name}: seed must be one integer, got an array of shape {own.shape}; map over it with fgrad.vmap"
        )
    if type(inside) is int and inside not in _INT64_RANGE:
        raise ArgumentError(f"{name}: seed={inside} does not fit 64 bits; give a smaller one")
    return SeedKey(implementation)(inside)


def key(seed: ArrayLike, *, impl: Any = None, dtype: dtypes.KeyDType | None = None) -> PRNGKeyArray:
    """Make a random key from a seed.

    Parameters
    ----------
    seed : int or scalar array of int
        Of at most 64 bits; without 64-bit types (``fgrad_enable_x64``), the low 32 bits count.
    impl : {"threefry2x32", "philox"}, optional
        The generator. "threefry2x32", the default, gives the bits of JAX; "philox" takes an eighth
        to a third of the time. The flag ``fgrad_default_prng_impl`` sets the default.
    dtype : key dtype, optional
        The same, as the dtype of a key.

    Returns
    -------
    PRNGKeyArray
        A single key.

    Raises
    ------
    DTypeError, ShapeError, ArgumentError
        If `seed` is not one integer of 64 bits, or the generator is not known.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.key(42)
    PRNGKeyArray(shape=(), dtype=key<fry>, words=[ 0 42])
    """
    implementation = known_implementation(impl if dtype is None else dtype, "key")
    return make_keys(wrap(_seeded(seed, implementation, "key")), implementation)


def PRNGKey(seed: ArrayLike, *, impl: Any = None) -> Array:
    """Make a random key from a seed, as a plain array of its words.

    `key` makes a typed key, which cannot be mistaken for an array of numbers.

    Parameters
    ----------
    seed : int or scalar array of int
    impl : {"threefry2x32", "philox"}, optional

    Returns
    -------
    Array
        uint32, of shape (2,), or (4,) for "philox".

    Raises
    ------
    DTypeError, ShapeError, ArgumentError
        If `seed` is not one integer of 64 bits, or the generator is not known.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.PRNGKey(42)
    Array([ 0, 42], dtype=uint32)
    """
    implementation = known_implementation(impl, "PRNGKey")
    return wrap(_seeded(seed, implementation, "PRNGKey"))  # type: ignore[no-any-return]


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """Make new keys from one, which should not be used again.

    Parameters
    ----------
    key : key
        A single key.
    num : int or sequence of int
        How many, or the shape of the array of keys.

    Returns
    -------
    PRNGKeyArray or Array
        Keys of the kind of `key`, along leading axes.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or a size is negative.

    Examples
    --------
    >>> import fgrad
    >>> key, subkey = fgrad.random.split(fgrad.random.key(0))
    >>> fgrad.random.split(key, 3).shape
    (3,)
    """
    implementation, words = single_key(key, "split")
    shape = static_shape(num, "split: num")
    return like_key(key, SplitKey(implementation, shape)(words), implementation)


def fold_in(key: Any, data: ArrayLike) -> Any:
    """Make a new key from a key and a number, such as the number of a step.

    The key may go on being used with other numbers.

    Parameters
    ----------
    key : key
        A single key.
    data : int or scalar array of int
        Of 32 bits.

    Returns
    -------
    PRNGKeyArray or Array
        A key of the kind of `key`.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, or `data` not one integer of 32 bits.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.fold_in(fgrad.random.PRNGKey(0), 1)
    Array([ 928981903, 3453687069], dtype=uint32)
    """
    implementation, words = words_of(key, "fold_in")
    shape = aval_of(words).shape[:-1]
    if shape:
        raise ShapeError(
            f"fold_in: expected a single key, got keys of shape {shape}; map over them with fgrad.vmap"
        )
    inside = operand(data, "fold_in", "data")
    own = aval_of(inside)
    if own.dtype.kind not in "iub":
        raise DTypeError(f"fold_in: data must be an integer, got {described(data)}")
    if own.shape:
        raise ShapeError(
            f"fold_in: data must be one integer, got an array of shape {own.shape}; map over it with fgrad.vmap"
        )
    if type(inside) in (int, bool) and inside not in _UINT32_RANGE:
        raise ArgumentError(f"fold_in: data={inside} is not between 0 and 2**32 - 1")
    return like_key(key, FoldIn(implementation)(words, convert(inside, _UINT32)), implementation)


def key_data(keys: Any) -> Array:
    """The words of keys, along a last axis.

    Parameters
    ----------
    keys : key or array of keys

    Returns
    -------
    Array
        uint32.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.key_data(fgrad.random.key(42))
    Array([ 0, 42], dtype=uint32)
    """
    return wrap(words_of(keys, "key_data", "keys")[1])  # type: ignore[no-any-return]


def wrap_key_data(
    key_bits_array: ArrayLike, *, impl: Any = None, dtype: dtypes.KeyDType | None = None
) -> PRNGKeyArray:
    """Make typed keys of their words: the inverse of `key_data`.

    Parameters
    ----------
    key_bits_array : array_like of uint32
        The last axis has the words of one key.
    impl : {"threefry2x32", "philox"}, optional
    dtype : key dtype, optional

    Returns
    -------
    PRNGKeyArray

    Raises
    ------
    DTypeError, ShapeError
        If these are not words of keys.

    Examples
    --------
    >>> import fgrad
    >>> import numpy as np
    >>> fgrad.random.wrap_key_data(np.array([0, 42], np.uint32)) == fgrad.random.key(42)
    Array(True, dtype=bool)
    """
    implementation = known_implementation(impl if dtype is None else dtype, "wrap_key_data")
    words = operand(key_bits_array, "wrap_key_data", "key_bits_array")
    own, count = aval_of(words), KEY_WORDS[implementation]
    if own.dtype != _UINT32:
        raise DTypeError(
            f"wrap_key_data: the words of keys have dtype uint32, got {own.dtype}; convert with .astype(np.uint32)"
        )
    if own.shape[-1:] != (count,):
        raise ShapeError(
            f"wrap_key_data: a key of {implementation!r} has {count} words along the last axis, got shape "
            f"{own.shape}"
        )
    return make_keys(wrap(words), implementation)


def key_impl(keys: Any) -> str:
    """The name of the generator that keys are for.

    Parameters
    ----------
    keys : key or array of keys

    Returns
    -------
    str
        "threefry2x32" or "philox".

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.key_impl(fgrad.random.key(0))
    'threefry2x32'
    """
    return words_of(keys, "key_impl", "keys")[0]


def key_dtype(impl_spec: Any = None) -> dtypes.KeyDType:
    """The dtype of the keys of a generator.

    Parameters
    ----------
    impl_spec : {"threefry2x32", "philox"}, optional

    Returns
    -------
    key dtype

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.key_dtype()
    key<fry>
    """
    return dtypes.KeyDType(known_implementation(impl_spec, "key_dtype"))


def clone(key: Any) -> Any:
    """The same key, to be used once more on purpose where reuse is reported.

    Parameters
    ----------
    key : key or array of keys

    Returns
    -------
    PRNGKeyArray or Array

    Examples
    --------
    >>> import fgrad
    >>> key = fgrad.random.key(0)
    >>> fgrad.random.normal(key) == fgrad.random.normal(fgrad.random.clone(key))
    Array(True, dtype=bool)
    """
    implementation, words = words_of(key, "clone")
    return like_key(key, words, implementation)
