"""Keys: one step of the path from the root of a tree to a leaf."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """The step into item ``idx`` of a list or tuple.

    Examples
    --------
    >>> from fgrad.tree_util import SequenceKey
    >>> SequenceKey(3), str(SequenceKey(3))
    (SequenceKey(idx=3), '[3]')
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclasses.dataclass(frozen=True, slots=True)
class DictKey:
    """The step into the value that a dict has under ``key``.

    Examples
    --------
    >>> from fgrad.tree_util import DictKey
    >>> DictKey("w"), str(DictKey("w"))
    (DictKey(key='w'), "['w']")
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The step into attribute ``name`` of a named tuple, dataclass or registered class.

    Examples
    --------
    >>> from fgrad.tree_util import GetAttrKey
    >>> GetAttrKey("bias"), str(GetAttrKey("bias"))
    (GetAttrKey(name='bias'), '.bias')
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """The step into child number ``key`` of a class registered without names for its children.

    Examples
    --------
    >>> from fgrad.tree_util import FlattenedIndexKey
    >>> FlattenedIndexKey(0), str(FlattenedIndexKey(0))
    (FlattenedIndexKey(key=0), '[<flat index 0>]')
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


for _key_class in (SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey):
    _key_class.__module__ = "fgrad.tree_util"  # where users import them, and pickles look


def path_string(path: KeyPath) -> str:
    """Return a path as Python would write it: ``['w'][0].bias``."""
    return "".join([str(key) for key in path])
