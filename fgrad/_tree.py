"""Pytrees: the part of optree that the library uses, in the namespace of its own registrations.

The library reaches trees through the names below; `fgrad.tree` and `fgrad.tree_util` are the same
functions for users, documented.
"""

from __future__ import annotations

import builtins
import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

import optree

from fgrad.errors import TreeStructureError, TreeTypeError

PyTree: TypeAlias = Any
Leaf: TypeAlias = Any
IsLeaf: TypeAlias = Callable[[Any], bool]
PyTreeDef: TypeAlias = optree.PyTreeSpec
KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]

NAMESPACE: Final = "fgrad"


# ---- leaves and structures ---------------------------------------------------------------


def flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Leaf], PyTreeDef]:
    """Return the leaves and the structure of a tree: see `fgrad.tree.flatten`."""
    return optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)


unflatten: Final[Callable[[PyTreeDef, Iterable[Leaf]], Any]] = optree.tree_unflatten


def leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Leaf]:
    """Return the leaves of a tree: see `fgrad.tree.leaves`."""
    return optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)


def structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of a tree: see `fgrad.tree.structure`."""
    return optree.tree_structure(tree, is_leaf, namespace=NAMESPACE)


def flatten_up_to(
    treedef: PyTreeDef,
    tree: PyTree,
    where: str = "flatten_up_to",
    name: str = "tree",
    heads: tuple[str, str] = ("expected", "given"),
) -> list[PyTree]:
    """Return what ``tree`` has at each leaf of ``treedef``, which the user calls ``name``.

    Where the two differ, the error shows them side by side, under the ``heads``.
    """
    try:
        return treedef.flatten_up_to(tree)
    except ValueError:
        differing = list(_differences(treedef, tree, name))
    if not differing:
        # What only the classes themselves tell apart.
        differing = [(name, _node_text(treedef), f"another {_node_text(structure(tree))}")]
    rows = [("", *heads), *differing[:_SHOWN]]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    if len(differing) > _SHOWN:
        lines.append(f"and {len(differing) - _SHOWN} more differences")
    raise TreeStructureError(
        "\n    ".join([f"{where}:", *builtins.map(str.rstrip, lines)]) + _ADVICE
    )


_SHOWN = 20
_ADVICE = "\nthe containers, keys and lengths must be the same"
_MAPPINGS = (
    optree.PyTreeKind.DICT,
    optree.PyTreeKind.ORDEREDDICT,
    optree.PyTreeKind.DEFAULTDICT,
)


def _differences(treedef: PyTreeDef, tree: PyTree, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield where a structure and a tree part: the path, what the one has there, and what the other."""
    if treedef.is_leaf():
        return
    level, expected = treedef.one_level(), treedef.children()
    assert level is not None
    if not is_tree_node(type(tree)):
        yield path, _node_text(treedef), _leaf_text(tree)
        return
    given = structure(tree)
    pairs, metadata = flatten_one_level(tree)
    if treedef.kind in _MAPPINGS and given.kind in _MAPPINGS:
        children = {key.key: child for key, child in pairs}
        for key, child in zip(treedef.entries(), expected, strict=True):
            if key in children:
                yield from _differences(child, children[key], f"{path}[{key!r}]")
            else:
                yield f"{path}[{key!r}]", _node_text(child), "(missing)"
        known = set(treedef.entries())
        for key, extra in children.items():
            if key not in known:
                yield f"{path}[{key!r}]", "(missing)", _node_text(structure(extra))
        return
    one, other = _node_text(treedef), _node_text(given)
    if treedef.type is not given.type or len(pairs) != len(expected):
        yield path, one, other
        return
    found = False
    for (key, child), below in zip(pairs, expected, strict=True):
        for row in _differences(below, child, f"{path}{key}"):
            found = True
            yield row
    if not found and treedef.kind is optree.PyTreeKind.CUSTOM:
        own = _metadata(treedef)
        if static_key(own) != static_key(metadata):
            yield path, f"{one} with {own!r}", f"{other} with {metadata!r}"


def _metadata(treedef: PyTreeDef) -> Any:
    """Return the metadata of the node at the top of a structure."""
    # The last node of the state is the top one; optree gives its metadata nowhere else.
    state: Any = treedef.__getstate__()
    return state[0][-1][2]


def _node_text(treedef: PyTreeDef) -> str:
    if treedef.is_leaf():
        return "a leaf"
    if treedef.type is None or treedef.type is type(None):
        return "None"
    count = treedef.num_children
    return f"{treedef.type.__name__} of {count} {'entry' if count == 1 else 'entries'}"


def _leaf_text(leaf: Any) -> str:
    if hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        return f"an array of shape {tuple(leaf.shape)}"
    return f"a leaf of type {type(leaf).__name__}"


def _rows(
    what: str, treedef: PyTreeDef, first: list[Any], rest: Iterable[PyTree]
) -> Iterable[tuple[Any, ...]]:
    """Return the arguments that a mapped function gets, call by call."""
    where = f"{what}: tree number {{}} does not fit the first"
    columns = [
        flatten_up_to(treedef, x, where.format(i), heads=("the first", f"number {i}"))
        for i, x in enumerate(rest, 2)
    ]
    return zip(first, *columns, strict=True)


def map(
    f: Callable[..., Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Apply ``f`` at each leaf: see `fgrad.tree.map`."""
    first, treedef = flatten(tree, is_leaf)
    return unflatten(treedef, [f(*row) for row in _rows("tree.map", treedef, first, rest)])


def broadcast_prefix(
    prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None, what: str = "in_axes"
) -> list[Any]:
    """Return, for each leaf of the full tree, the leaf of the prefix that stands above it.

    ``is_leaf`` says where to stop in ``prefix_tree``, which the user calls ``what``.
    """
    entries, treedef = flatten(prefix_tree, is_leaf)
    where = f"{what} does not fit; give one entry for all, or the same containers, stopping early"
    subtrees = flatten_up_to(treedef, full_tree, where, what, (what, "what it is for"))
    counts = [structure(subtree).num_leaves for subtree in subtrees]
    return [entry for entry, count in zip(entries, counts, strict=True) for _ in range(count)]


def is_tree_node(typ: type) -> bool:
    """Return whether values of exactly this type are nodes: see `fgrad.tree_util.is_tree_node`."""
    return optree.register_pytree_node.get(typ, namespace=NAMESPACE) is not None


def is_unregistered_dataclass(x: Any) -> bool:
    """Return whether ``x`` is an instance of a dataclass that flattening takes for a leaf."""
    return dataclasses.is_dataclass(x) and not isinstance(x, type) and not is_tree_node(type(x))


# ---- cache keys --------------------------------------------------------------------------


def order_key(treedef: PyTreeDef) -> tuple[Any, ...]:
    """Return a hashable that, beside ``treedef``, completes a cache key.

    It tells apart equal structures that differ in the insertion order of a dict or in metadata that
    only compares equal, such as 1 and True.
    """
    # optree shows the insertion order of a dict nowhere else. The state of a node is (kind, arity,
    # metadata, entries, registered type, leaves, nodes, {key in the caller's order: None}).
    state: Any = treedef.__getstate__()
    return tuple(
        [
            tuple(node[7]) if node[7] else static_key(node[2])
            for node in state[0]
            if node[7] or node[4] is not None
        ]
    )


def static_key(value: Any) -> Any:
    """Return a hashable that differs for static values that a program could tell apart.

    ``1``, ``True`` and ``1.0`` have different keys. Built-in containers and dataclasses are copied
    into the key, so that a later change of them is a change of the key.
    """
    kind = type(value)
    if isinstance(value, (tuple, list)):
        return (kind, *builtins.map(static_key, value))
    if isinstance(value, (set, frozenset)):
        return kind, frozenset(builtins.map(static_key, value))
    if isinstance(value, dict):
        return (kind, *[(static_key(k), static_key(v)) for k, v in value.items()])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        compared = [f.name for f in dataclasses.fields(value) if f.compare]
        return (kind, *[static_key(getattr(value, name)) for name in compared])
    if isinstance(value, (float, complex)):
        return kind, repr(value)  # tells -0.0 from 0.0
    try:
        hash(value)
    except TypeError:
        return kind  # what optree's comparison of the structures decides
    return kind, value


# ---- paths -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """The step into item ``idx`` of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclasses.dataclass(frozen=True, slots=True)
class DictKey:
    """The step into the value that a dict has under ``key``."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The step into attribute ``name`` of a named tuple, dataclass or registered class."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """The step into child number ``key`` of a class registered without names for its children."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


for _key_class in (SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey):
    _key_class.__module__ = "fgrad.tree_util"  # where users import them, and pickles look


class _NamedEntry(optree.PyTreeEntry):
    """The step into a child of a class registered with keys: ``entry`` is the key itself."""

    __slots__ = ()

    def codify(self, /, node: str = "") -> str:
        return f"{node}{self.entry}"


def _key(entry: optree.PyTreeEntry) -> KeyEntry:
    match entry:
        case _NamedEntry():
            return entry.entry
        case optree.NamedTupleEntry() | optree.StructSequenceEntry():
            return GetAttrKey(entry.field)
        case optree.GetAttrEntry():
            return GetAttrKey(entry.name)
        case optree.SequenceEntry():
            return SequenceKey(entry.entry)
        case optree.MappingEntry():
            return DictKey(entry.entry)
        case _:
            return FlattenedIndexKey(entry.entry)


def flatten_one_level(tree: PyTree) -> tuple[list[tuple[KeyEntry, PyTree]], Any]:
    """Return pairs of key and child of a node, and its metadata."""
    if not is_tree_node(type(tree)):
        raise TreeStructureError(
            f"expected a container, got a leaf of type {type(tree).__qualname__}: {tree!r}"
        )
    level = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
    keys = [_key(level.path_entry_type(e, level.type, level.kind)) for e in level.entries]
    return list(zip(keys, level.children, strict=True)), level.metadata


def flatten_with_path(
    tree: PyTree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
    """Return pairs of path and leaf, and the structure: see `fgrad.tree.flatten_with_path`."""
    if is_leaf is not None and is_leaf_takes_path:
        is_leaf = _without_path(is_leaf, tree)
    accessors, flat, treedef = optree.tree_flatten_with_accessor(tree, is_leaf, namespace=NAMESPACE)
    paths = [tuple([_key(entry) for entry in accessor]) for accessor in accessors]
    return list(zip(paths, flat, strict=True)), treedef


def _without_path(is_leaf: Callable[[KeyPath, Any], bool], tree: PyTree) -> IsLeaf:
    """Decide at each node of the tree beforehand, in the order in which optree will ask."""
    decisions: list[bool] = []

    def visit(path: KeyPath, x: Any) -> None:
        decisions.append(is_leaf(path, x))
        if not decisions[-1] and is_tree_node(type(x)):
            for key, child in flatten_one_level(x)[0]:
                visit((*path, key), child)

    visit((), tree)
    replay = iter(decisions)
    return lambda _: next(replay)


def map_with_path(
    f: Callable[..., Any],
    tree: PyTree,
    *rest: PyTree,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> PyTree:
    """Apply ``f(path, leaf, ...)`` at each leaf: see `fgrad.tree.map_with_path`."""
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    rows = _rows("tree.map_with_path", treedef, pairs, rest)
    return unflatten(treedef, [f(path, leaf, *others) for (path, leaf), *others in rows])


def leaf_names(tree: PyTree, root: str = "x") -> list[str]:
    """Return what a user would write to get at each leaf, such as ``params['w'][0].bias``."""
    return [accessor.codify(root) for accessor in optree.tree_accessors(tree, namespace=NAMESPACE)]


# ---- registration ------------------------------------------------------------------------


def register_node(
    nodetype: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, Any], Any],
    *,
    with_keys: bool = False,
) -> None:
    """Make values of exactly ``nodetype`` nodes; with keys, the children are ``(key, child)``."""

    def flatten_with_keys(node: Any) -> tuple[list[Any], Any, list[KeyEntry]]:
        pairs, metadata = flatten(node)
        pairs = list(pairs)
        return [child for _, child in pairs], metadata, [key for key, _ in pairs]

    if not isinstance(nodetype, type):
        raise TreeTypeError(f"only a class can be registered as a tree node, got {nodetype!r}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a registered named tuple is meant to be another node
            optree.register_pytree_node(
                nodetype,
                flatten_with_keys if with_keys else flatten,
                unflatten,
                path_entry_type=_NamedEntry if with_keys else optree.FlattenedEntry,
                namespace=NAMESPACE,
            )
    except ValueError as error:
        raise TreeStructureError(f"a class can be registered only once: {error}") from None
