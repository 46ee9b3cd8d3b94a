"""Typed keys: an array of keys as an object, which is a container of words to the transforms."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fgrad import _tree, dtypes
from fgrad.array import stands_for_an_array, value, wrap
from fgrad.avals import Shape, aval_of
from fgrad.config import config
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.primitives.elementwise import equal
from fgrad.primitives.random import KEY_WORDS
from fgrad.primitives.reduction import All
from fgrad.source_info import boundary


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


@stands_for_an_array
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


def described(x: Any) -> str:
    """An argument that should have been a key, for messages."""
    if isinstance(x, PRNGKeyArray):
        return f"keys of shape {x.shape} and dtype {x.dtype}"
    if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "aval"):
        return f"an array of shape {x.shape} and dtype {x.dtype}"
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)} items"
    return f"{x!r}"


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
                f"keys.at[...].set: expected keys of dtype {self.keys.dtype}, got {described(keys)}"
            )
        full = self.index if any(i is Ellipsis for i in self.index) else (*self.index, Ellipsis)
        changed = self.keys._words.at[(*full, slice(None))].set(keys._words)
        return make_keys(changed, self.keys._implementation)


_tree.register_node(
    PRNGKeyArray,
    lambda keys: ((keys._words,), keys._implementation),
    lambda implementation, children: make_keys(next(iter(children)), implementation),
)
