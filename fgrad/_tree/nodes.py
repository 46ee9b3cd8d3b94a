"""Nodes: which types are containers, how a value is opened by one level and built again."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from fgrad._tree.keys import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, SequenceKey
from fgrad._tree.static_key import ByEquality, static_key, type_detail
from fgrad.errors import TreeStructureError, TreeTypeError

# A node opened by one level: type, metadata, the children themselves, detail.
Opened: TypeAlias = tuple[type, Any, Sequence[Any], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class NodeKind:
    """How values of one registered type are opened and built.

    Attributes
    ----------
    open
        Value to ``(metadata, children, detail)``.
    build
        ``(metadata, children, detail)`` to a value.
    keys
        ``(metadata, number of children)`` to the key of each child.
    open_with_keys
        Value to ``[(key, child), ...]``; None where ``keys`` says it all.
    named_children
        Whether the type tells how its children are called.
    """

    open: Callable[[Any], tuple[Any, Sequence[Any], Any]]
    build: Callable[[Any, list[Any], Any], Any]
    keys: Callable[[Any, int], Sequence[KeyEntry]]
    open_with_keys: Callable[[Any], Sequence[tuple[KeyEntry, Any]]] | None = None
    named_children: bool = True


def _sort_mixed(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sort keys that do not all compare: by the name of their type, then by value or by repr."""
    by_type: dict[str, list[Any]] = {}
    for key in keys:
        by_type.setdefault(f"{type(key).__module__}.{type(key).__qualname__}", []).append(key)
    ordered: list[Any] = []
    for name in sorted(by_type):
        try:
            ordered += sorted(by_type[name])
        except Exception:
            ordered += sorted(by_type[name], key=repr)
    return tuple(ordered)


def open_dict(x: dict[Any, Any]) -> tuple[Any, Sequence[Any], Any]:
    """Open a dict: its keys are sorted, and kept in their own order too if that is another."""
    keys = tuple(x)
    try:
        ordered = tuple(sorted(keys))
    except Exception:  # whatever the keys' comparison raises
        ordered = _sort_mixed(keys)
    if ordered == keys:
        return keys, tuple(x.values()), None
    return ordered, list(map(x.__getitem__, ordered)), keys


def build_dict(keys: Any, children: list[Any], order: Any) -> dict[Any, Any]:
    """Build a dict in the order its keys had when it was opened."""
    if order is None:
        return dict(zip(keys, children))  # noqa: B905  the keyword costs as much as the zip
    built = dict.fromkeys(order)
    built.update(zip(keys, children))  # noqa: B905
    return built


def _open_defaultdict(x: collections.defaultdict[Any, Any]) -> tuple[Any, Sequence[Any], Any]:
    keys, children, order = open_dict(x)
    return (x.default_factory, keys), children, order


def _sequence_keys(_: Any, n: int) -> Sequence[KeyEntry]:
    return [SequenceKey(i) for i in range(n)]


def _flat_keys(_: Any, n: int) -> Sequence[KeyEntry]:
    return [FlattenedIndexKey(i) for i in range(n)]


def _dict_keys(keys: Any, _: int) -> Sequence[KeyEntry]:
    return [DictKey(key) for key in keys]


NoneType: Final = type(None)

KINDS: Final[dict[type, NodeKind]] = {
    tuple: NodeKind(
        lambda x: (None, x, None), lambda _, children, __: tuple(children), _sequence_keys
    ),
    list: NodeKind(
        lambda x: (None, tuple(x), None), lambda _, children, __: children, _sequence_keys
    ),
    NoneType: NodeKind(lambda _: (None, (), None), lambda *_: None, _flat_keys),
    dict: NodeKind(open_dict, build_dict, _dict_keys),
    collections.OrderedDict: NodeKind(
        lambda x: (tuple(x), tuple(x.values()), None),
        lambda keys, children, _: collections.OrderedDict(zip(keys, children, strict=True)),
        _dict_keys,
    ),
    collections.defaultdict: NodeKind(
        _open_defaultdict,
        lambda meta, children, order: collections.defaultdict(
            meta[0], build_dict(meta[1], children, order)
        ),
        lambda meta, n: _dict_keys(meta[1], n),
    ),
}

# Types known to be leaves: a node all of whose children are of these types is taken in one step.
# A leaf of any other type is found to be one when it is met.
LEAF_TYPES: Final[set[type]] = {
    *(bool, int, float, complex, str, bytes, np.ndarray),
    *(t for t in np.sctypeDict.values() if not issubclass(t, np.flexible)),
}
all_leaf_types = LEAF_TYPES.issuperset


def is_namedtuple(t: type) -> bool:
    """Return whether a class is that of a named tuple."""
    return issubclass(t, tuple) and hasattr(t, "_fields")


def is_tree_node(typ: type) -> bool:
    """Return whether values of exactly this type are nodes: see `fgrad.tree_util.is_tree_node`."""
    return typ in KINDS or is_namedtuple(typ)


def declare_leaf_type(*types: type) -> None:
    """Say that values of exactly these types are leaves, which makes flattening them faster."""
    for t in types:
        if is_tree_node(t):
            raise TreeTypeError(f"{t.__qualname__} is a tree node and cannot be a leaf")
    LEAF_TYPES.update(types)


def is_unregistered_dataclass(x: Any) -> bool:
    """Return whether ``x`` is an instance of a dataclass that flattening takes for a leaf."""
    return dataclasses.is_dataclass(x) and not isinstance(x, type) and not is_tree_node(type(x))


def metadata_and_detail(meta: Any) -> tuple[Any, Any]:
    """Return metadata in the form that a spec holds it, and the detail that goes with it."""
    if meta is None:
        return None, None
    try:
        hash(meta)
    except TypeError:
        return ByEquality(meta), static_key(meta)
    return meta, type_detail(meta)


def register_node(
    nodetype: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, Any], Any],
    flatten_with_keys: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
    *,
    fields: Sequence[str] | None = None,
) -> None:
    """Make values of exactly ``nodetype`` nodes; ``fields`` names the children where known."""
    if not isinstance(nodetype, type):
        raise TreeTypeError(f"only a class can be registered as a tree node, got {nodetype!r}")
    if nodetype in KINDS:
        raise TreeStructureError(
            f"{nodetype.__module__}.{nodetype.__qualname__} is a tree node already; "
            "a class can be registered only once"
        )

    def parts(result: Any, function: str) -> tuple[tuple[Any, ...], Any]:
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Iterable):
            return tuple(result[0]), result[1]
        raise TreeStructureError(
            f"the {function} function registered for {nodetype.__qualname__} must return a pair "
            f"(children, metadata) with an iterable of children, got {result!r}"
        )

    def open_node(x: Any) -> tuple[Any, Sequence[Any], Any]:
        children, meta = parts(flatten(x), "flatten")
        meta, detail = metadata_and_detail(meta)
        return meta, children, detail

    def open_with_keys(x: Any) -> Sequence[tuple[KeyEntry, Any]]:
        assert flatten_with_keys is not None
        pairs, _meta = parts(flatten_with_keys(x), "flatten_with_keys")
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise TreeStructureError(
                f"the flatten_with_keys function registered for {nodetype.__qualname__} must "
                f"return pairs (key, child) as the children, got {pairs!r}"
            )
        return pairs

    def build(meta: Any, children: list[Any], _: Any) -> Any:
        return unflatten(meta.value if type(meta) is ByEquality else meta, tuple(children))

    names = None if fields is None else [GetAttrKey(name) for name in fields]
    LEAF_TYPES.discard(nodetype)
    KINDS[nodetype] = NodeKind(
        open_node,
        build,
        _flat_keys if names is None else lambda _, n: names,
        None if flatten_with_keys is None else open_with_keys,
        names is not None or flatten_with_keys is not None,
    )


def keys_of(t: type, meta: Any, n: int) -> Sequence[KeyEntry]:
    """Return the keys of the children of a node, as far as its structure knows them."""
    kind = KINDS.get(t)
    if kind is None:
        return [GetAttrKey(name) for name in t._fields]  # type: ignore[attr-defined]
    return kind.keys(meta, n)


def open_node(x: Any) -> Opened | None:
    """Return ``(type, metadata, children, detail)`` of a node, None for a leaf."""
    t = type(x)
    if t in LEAF_TYPES:
        return None
    kind = KINDS.get(t)
    if kind is None:
        return (t, None, x, None) if is_namedtuple(t) else None
    return t, *kind.open(x)


def open_node_with_keys(x: Any, opened: Opened) -> Sequence[tuple[KeyEntry, Any]]:
    """Return ``[(key, child), ...]`` for a node and what ``open_node`` gave for it."""
    t, meta, children, _ = opened
    kind = KINDS.get(t)
    if kind is not None and kind.open_with_keys is not None:
        return kind.open_with_keys(x)
    return list(zip(keys_of(t, meta, len(children)), children, strict=True))
