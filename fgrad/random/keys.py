"""Keys: what they are made of, how they are made, and how one makes several."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fgrad import _tree, dtypes
from fgrad.array import Array, value, wrap
from fgrad.avals import Shape, aval_of
from fgrad.config import config
from fgrad.errors import (
    ArgumentError,
    DTypeError,
    KeyReuseError,
    NonArrayError,
    ShapeError,
)
from fgrad.numpy._support import ArrayLike, operand, static_shape
from fgrad.primitives.elementwise import convert, equal
from fgrad.primitives.random import (
    KEY_WORDS,
    PHILOX,
    THREEFRY,
    FoldIn,
    SeedKey,
    SplitKey,
)
from fgrad.primitives.reduction import All
from fgrad.primitives.shape import static_index
from fgrad.source_info import boundary, here

_UINT32 = np.dtype(np.uint32)
_INT64_RANGE = range(-(2**63), 2**63)
_UINT32_RANGE = range(2**32)
#: Names under which an implementation is known.
_ALIASES = {"rbg": PHILOX, "unsafe_rbg": PHILOX, "fry": THREEFRY}


class KeyReuse:
    """Where a key was used, shared by the objects that stand for it."""

    __slots__ = ("children", "parent", "place")

    def __init__(self, parent: KeyReuse | None = None) -> None:
        self.parent = parent
        self.place: str | None = None
        self.children: dict[Any, KeyReuse] = {}

    def used_at(self) -> str | None:
        """Where this key, or the array of keys that it comes from, was used."""
        record: KeyReuse | None = self
        while record is not None:
            if record.place is not None:
                return record.place
            record = record.parent
        return next((place for c in self.children.values() if (place := c.used_below())), None)

    def used_below(self) -> str | None:
        """Where this key, or one taken from it, was used."""
        below = (c.used_below() for c in self.children.values())
        return self.place or next((place for place in below if place), None)


class PRNGKeyArray:
    """A random key, or an array of them, of dtype ``key<fry>`` or ``key<philox>``.

    It is made by `key`, `split` and their kin. It has a shape, is indexed and iterated over like an
    array, and goes through ``jit``, ``vmap``, ``scan`` and the other transforms. To them it is a
    container of its 32-bit words, which have one axis more: `fgrad.tree.leaves` of a key gives them.

    Examples
    --------
    >>> import fgrad
    >>> keys = fgrad.random.split(fgrad.random.key(0), 3)
    >>> keys.shape, keys.dtype
    ((3,), key<fry>)
    >>> keys[0]
    PRNGKeyArray(shape=(), dtype=key<fry>, words=[1797259609 2579123966])
    """

    __slots__ = ("_implementation", "_reuse", "_words")
    # NumPy leaves operators with keys to this class, and does not take a key for a sequence.
    __array_ufunc__ = None
    _words: Any
    _implementation: str
    _reuse: KeyReuse

    @boundary
    def __new__(cls, *args: Any, **kwargs: Any) -> PRNGKeyArray:
        """Refuse: see the functions named."""
        raise ArgumentError(
            "a key array is made by fgrad.random.key(seed), fgrad.random.split(key) or "
            "fgrad.random.wrap_key_data(words)"
        )

    @property
    def shape(self) -> Shape:
        """The shape of the array of keys; () for a single one."""
        return tuple(self._words.shape[:-1])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> dtypes.KeyDType:
        """The dtype, which lies below ``fgrad.dtypes.prng_key``."""
        return dtypes.KeyDType(self._implementation)

    @property
    def itemsize(self) -> int:
        """The number of bytes of one key."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The number of bytes of all keys."""
        return self.size * self.itemsize

    @property
    def T(self) -> PRNGKeyArray:
        """The keys with their axes reversed."""
        axes = tuple(range(self.ndim))
        return self._with(self._words.transpose((*axes[::-1], self.ndim)))

    def _with(self, words: Any, place: Any = None) -> PRNGKeyArray:
        """Other keys, made from these; `place` tells single ones apart, for reports of reuse."""
        made = make_keys(words, self._implementation)
        if config.debug_key_reuse:
            reuse = reuse_of(self)
            if place is None:
                made._reuse = KeyReuse(reuse)
                reuse.children[len(reuse.children), None] = made._reuse
            else:
                made._reuse = reuse.children.setdefault(place, KeyReuse(reuse))
        return made

    @boundary
    def reshape(self, *shape: Any) -> PRNGKeyArray:
        """The same keys in another shape, given as sizes or as a sequence of them."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if not isinstance(sizes, (tuple, list)):
            sizes = (sizes,)
        words = KEY_WORDS[self._implementation]
        return self._with(self._words.reshape((*sizes, words)))

    def ravel(self) -> PRNGKeyArray:
        """The keys in one row."""
        return self.reshape(-1)

    flatten = ravel

    @boundary
    def squeeze(self, axis: int | Sequence[int] | None = None) -> PRNGKeyArray:
        """The keys without axes of size one: all of those, or the given ones."""
        ndim = self.ndim
        if axis is None:
            axes = [a for a, n in enumerate(self.shape) if n == 1]
        else:
            given = (axis,) if isinstance(axis, int) else tuple(axis)
            axes = [a + ndim if a < 0 else a for a in given]
        return self._with(self._words.squeeze(tuple(axes)))

    def copy(self) -> PRNGKeyArray:
        """The same keys, which count as new ones where reuse is reported."""
        return make_keys(self._words, self._implementation)

    def block_until_ready(self) -> PRNGKeyArray:
        """The keys themselves: results are there at once."""
        return self

    @boundary
    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("a single key has no length; fgrad.random.split(key, n) makes n keys")
        return self.shape[0]

    @boundary
    def __iter__(self) -> Iterator[PRNGKeyArray]:
        if not self.shape:
            raise ShapeError(
                "a single key cannot be iterated over or unpacked; fgrad.random.split(key, n) makes n keys"
            )
        return (self[n] for n in range(self.shape[0]))

    @boundary
    def __getitem__(self, index: Any) -> PRNGKeyArray:
        items = index if isinstance(index, tuple) else (index,)
        taken = sum(_axes_taken(item) for item in items)
        if taken > self.ndim:
            raise ShapeError(
                f"a key array of shape {self.shape} was indexed with {taken} indices; its words are reached with "
                "fgrad.random.key_data(key)"
            )
        full = items if any(item is Ellipsis for item in items) else (*items, Ellipsis)
        return self._with(self._words[(*full, slice(None))], _place(items, self.shape))

    @property
    def at(self) -> KeyUpdater:
        """``keys.at[index].set(key)`` is a copy with other keys at an index."""
        return KeyUpdater(self)

    @boundary
    def __eq__(self, other: object) -> Any:
        if not isinstance(other, PRNGKeyArray):
            return NotImplemented
        if self._implementation != other._implementation:
            raise DTypeError(
                f"keys of dtype {self.dtype} and {other.dtype} cannot be compared; compare their words, from "
                "fgrad.random.key_data"
            )
        same = equal(value(self._words), value(other._words))
        return wrap(All((len(aval_of(same).shape) - 1,))(same))

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else ~same

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return make_keys, (self._words, self._implementation)

    def __copy__(self) -> PRNGKeyArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any] | None) -> PRNGKeyArray:
        return self.copy()

    @boundary
    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise DTypeError(
            "a key cannot be made an array of numbers; fgrad.random.key_data(key) gives its words"
        )

    def __repr__(self) -> str:
        words = self._words
        shown = np.array2string(np.asarray(words)) if isinstance(words, np.ndarray) else "traced"
        return f"PRNGKeyArray(shape={self.shape}, dtype={self.dtype}, words={shown})"


def _axes_taken(item: Any) -> int:
    """How many axes an index item stands for."""
    if item is None or item is Ellipsis:
        return 0
    dtype = getattr(item, "dtype", None)
    return item.ndim if dtype == np.bool_ and hasattr(item, "ndim") else 1


def _place(items: Sequence[Any], shape: Shape) -> Any:
    """What tells a single key of an array from the others, if the index is known."""
    if len(items) != len(shape):
        return None
    try:
        return tuple(operator.index(i) % n for i, n in zip(items, shape, strict=True))
    except TypeError:
        return None


def make_keys(words: Any, implementation: str) -> PRNGKeyArray:
    """The key array of these words, which may be anything while a tree is rebuilt."""
    made = object.__new__(PRNGKeyArray)
    made._words = words
    made._implementation = implementation
    return made


def reuse_of(keys: PRNGKeyArray) -> KeyReuse:
    """The record of uses of a key."""
    try:
        return keys._reuse
    except AttributeError:
        keys._reuse = KeyReuse()
        return keys._reuse


class KeyUpdater:
    """``keys.at``: indexed, it gives an object with the method ``set``."""

    __slots__ = ("keys",)

    def __init__(self, keys: PRNGKeyArray) -> None:
        self.keys = keys

    def __getitem__(self, index: Any) -> KeyPlace:
        return KeyPlace(self.keys, index if isinstance(index, tuple) else (index,))


class KeyPlace:
    """``keys.at[index]``."""

    __slots__ = ("index", "keys")

    def __init__(self, keys: PRNGKeyArray, index: tuple[Any, ...]) -> None:
        self.keys = keys
        self.index = index

    def get(self) -> PRNGKeyArray:
        """The keys at the index."""
        return self.keys[self.index]

    @boundary
    def set(self, keys: PRNGKeyArray) -> PRNGKeyArray:
        """All keys, with the given ones at the index."""
        if not isinstance(keys, PRNGKeyArray) or keys.dtype != self.keys.dtype:
            raise DTypeError(
                f"keys.at[...].set: expected keys of dtype {self.keys.dtype}, got {_described(keys)}"
            )
        full = self.index if any(i is Ellipsis for i in self.index) else (*self.index, Ellipsis)
        changed = self.keys._words.at[(*full, slice(None))].set(keys._words)
        return make_keys(changed, self.keys._implementation)


_tree.register_node(
    PRNGKeyArray,
    lambda keys: ((keys._words,), keys._implementation),
    lambda implementation, children: make_keys(next(iter(children)), implementation),
)


# ---- keys as arguments ---------------------------------------------------------------------------


def _described(x: Any) -> str:
    """An argument that should have been a key, for messages."""
    if isinstance(x, PRNGKeyArray):
        return f"keys of shape {x.shape} and dtype {x.dtype}"
    if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "aval"):
        return f"an array of shape {x.shape} and dtype {x.dtype}"
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)} items"
    return f"{x!r}"


_MAKE = "make a key with fgrad.random.key(seed)"


def _words_of(key: Any, name: str, argument: str = "key") -> tuple[str, Any]:
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
            f"{name}: {argument} is {_described(key)}, expected a random key; {_MAKE}"
        )
    words = value(key, f"{name}: {argument}")
    own = aval_of(words)
    if own.dtype != _UINT32:
        raise DTypeError(
            f"{name}: {argument} is {_described(key)}, expected a random key, whose words have dtype uint32; {_MAKE}"
        )
    found = _BY_WORDS.get(own.shape[-1]) if own.shape else None
    if found is None:
        raise ShapeError(
            f"{name}: {argument} is {_described(key)}, expected a random key, which has two words, or four for "
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
    implementation, words = _words_of(key, name)
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


def _implementation(impl: Any, name: str) -> str:
    if impl is None:
        impl = config.default_prng_impl
    if isinstance(impl, dtypes.KeyDType):
        return impl.implementation
    chosen = _ALIASES.get(impl, impl) if isinstance(impl, str) else impl
    if chosen not in KEY_WORDS:
        raise ArgumentError(f"{name}: impl={impl!r} is not known; give {THREEFRY!r} or {PHILOX!r}")
    return str(chosen)


# ---- public functions ----------------------------------------------------------------------------


def _seeded(seed: Any, implementation: str, name: str) -> Any:
    if isinstance(seed, PRNGKeyArray):
        raise DTypeError(f"{name}: seed is a key already; give an integer")
    inside = operand(seed, name, "seed") if not isinstance(seed, int) else int(seed)
    own = aval_of(inside)
    if own.dtype.kind not in "iub":
        raise DTypeError(f"{name}: seed must be an integer, got {_described(seed)}")
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
        The generator. "threefry2x32", the default, gives the bits of JAX; "philox" is several times
        faster. The flag ``fgrad_default_prng_impl`` sets the default.
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
    implementation = _implementation(impl if dtype is None else dtype, "key")
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
    implementation = _implementation(impl, "PRNGKey")
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
    implementation, words = _words_of(key, "fold_in")
    shape = aval_of(words).shape[:-1]
    if shape:
        raise ShapeError(
            f"fold_in: expected a single key, got keys of shape {shape}; map over them with fgrad.vmap"
        )
    inside = operand(data, "fold_in", "data")
    own = aval_of(inside)
    if own.dtype.kind not in "iub":
        raise DTypeError(f"fold_in: data must be an integer, got {_described(data)}")
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
    return wrap(_words_of(keys, "key_data", "keys")[1])  # type: ignore[no-any-return]


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
    implementation = _implementation(impl if dtype is None else dtype, "wrap_key_data")
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
    return _words_of(keys, "key_impl", "keys")[0]


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
    return dtypes.KeyDType(_implementation(impl_spec, "key_dtype"))


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
    implementation, words = _words_of(key, "clone")
    return like_key(key, words, implementation)
