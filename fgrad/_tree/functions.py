"""The functions on trees that the rest of the library calls."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from fgrad._tree.differences import explain
from fgrad._tree.keys import GetAttrKey, KeyEntry, KeyPath, path_string
from fgrad._tree.nodes import KINDS, LEAF_TYPES, Opened, all_leaf_types, open_node_with_keys
from fgrad._tree.spec import (
    IsLeaf,
    Leaf,
    PyTree,
    Spec,
    flatten_into,
    flatten_until,
    flatten_with_path_into,
    spread_prefix,
    stops,
    too_deep,
)
from fgrad._tree.treedef import PyTreeDef
from fgrad.errors import TreeStructureError, TreeTypeError

_ORDINALS: Final = ("second", "third", "fourth", "fifth")
_FLAT_TUPLES: Final = [PyTreeDef((tuple, None, (None,) * n, None), n) for n in range(17)]


def flatten_spec(tree: PyTree) -> tuple[list[Leaf], Spec]:
    """Return the leaves and the spec, a hashable that tells apart dicts of different order.

    The fastest way to a cache key; ``PyTreeDef(spec)`` is the structure.
    """
    leaves: list[Leaf] = []
    try:
        return leaves, flatten_into(tree, leaves)
    except RecursionError:
        raise too_deep() from None


def flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Leaf], PyTreeDef]:
    """Return the leaves and the structure of a tree: see `fgrad.tree.flatten`."""
    leaves: list[Leaf] = []
    try:
        if is_leaf is None:
            if type(tree) is tuple and len(tree) <= 16 and all_leaf_types(builtins.map(type, tree)):
                return list(tree), _FLAT_TUPLES[len(tree)]
            spec = flatten_into(tree, leaves)
        else:
            spec = flatten_until(tree, leaves, is_leaf)
    except RecursionError:
        raise too_deep() from None
    return leaves, PyTreeDef(spec, len(leaves))


def unflatten(treedef: PyTreeDef, leaves: Iterable[Leaf]) -> PyTree:
    """Build a tree from its structure and leaves: see `fgrad.tree.unflatten`."""
    if not isinstance(treedef, PyTreeDef):
        raise TreeTypeError(f"unflatten: expected a PyTreeDef, got {treedef!r}")
    return treedef.unflatten(leaves)


def leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Leaf]:
    """Return the leaves of a tree: see `fgrad.tree.leaves`."""
    return flatten(tree, is_leaf)[0]


def structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of a tree: see `fgrad.tree.structure`."""
    return flatten(tree, is_leaf)[1]


def flatten_up_to(treedef: PyTreeDef, tree: PyTree) -> list[PyTree]:
    """Return what ``tree`` has at each leaf of ``treedef``, which must be its prefix."""
    return treedef.flatten_up_to(tree)


def _flatten_rest(what: str, treedef: PyTreeDef, rest: Sequence[PyTree]) -> list[list[PyTree]]:
    flat = []
    for i, tree in enumerate(rest):
        try:
            flat.append(treedef.flatten_up_to(tree))
        except TreeStructureError:
            other = flatten_spec(tree)[1]
            name = f"the {_ORDINALS[i]} tree" if i < len(_ORDINALS) else f"tree number {i + 2}"
            words = explain(treedef.spec, other, "the first tree", name, "tree", prefix=True)
            raise TreeStructureError(f"{what}: {words}") from None
    return flat


def map(
    f: Callable[..., Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Apply ``f`` at each leaf: see `fgrad.tree.map`."""
    first, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in first])
    flat = _flatten_rest("tree.map", treedef, rest)
    return treedef.unflatten([f(*args) for args in zip(first, *flat, strict=True)])


def flatten_with_path(
    tree: PyTree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
    """Return pairs of path and leaf, and the structure: see `fgrad.tree.flatten_with_path`."""
    stop = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        stop = lambda _, x: is_leaf(x)  # noqa: E731
    pairs: list[tuple[KeyPath, Leaf]] = []
    try:
        spec = flatten_with_path_into(tree, (), pairs, stop, open_node_with_keys)
    except RecursionError:
        raise too_deep() from None
    return pairs, PyTreeDef(spec, len(pairs))


def map_with_path(
    f: Callable[..., Any],
    tree: PyTree,
    *rest: PyTree,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> PyTree:
    """Apply ``f(path, leaf, ...)`` at each leaf: see `fgrad.tree.map_with_path`."""
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    flat = _flatten_rest("tree.map_with_path", treedef, rest)
    return treedef.unflatten(
        [f(path, leaf, *args) for (path, leaf), *args in zip(pairs, *flat, strict=True)]
    )


def leaf_names(tree: PyTree, root: str = "x") -> list[str]:
    """Return what a user would write to get at each leaf, such as ``params['w'][0].bias``."""
    pairs: list[tuple[KeyPath, Leaf]] = []
    try:
        flatten_with_path_into(tree, (), pairs, None, _named_children)
    except RecursionError:
        raise too_deep() from None
    return [root + path_string(path) for path, _ in pairs]


def _named_children(x: Any, opened: Opened) -> Sequence[tuple[KeyEntry, Any]]:
    """Name the children of a class registered without names by the attributes they are found in."""
    keyed = open_node_with_keys(x, opened)
    kind = KINDS.get(type(x))
    if kind is None or kind.named_children:
        return keyed
    attributes = {id(value): name for name, value in getattr(x, "__dict__", {}).items()}
    return [
        (GetAttrKey(attributes[id(child)]) if id(child) in attributes else key, child)
        for key, child in keyed
    ]


def explain_difference(
    a: PyTreeDef, b: PyTreeDef, a_name: str, b_name: str, root: str = "", *, prefix: bool = False
) -> str:
    """Say where two structures differ first and how, then show both.

    Parameters
    ----------
    a, b
        The structures.
    a_name, b_name
        What the user calls the trees.
    root
        What the path to the difference starts with.
    prefix
        Whether a leaf of ``a`` fits whatever ``b`` has in its place.
    """
    return explain(a.spec, b.spec, a_name, b_name, root, prefix=prefix)


def order_key(tree_or_treedef: PyTree | PyTreeDef) -> Spec:
    """Return a hashable that differs where equal structures would be rebuilt differently.

    It contains the structure itself, so that it can stand alone as a cache key.
    """
    if isinstance(tree_or_treedef, PyTreeDef):
        return tree_or_treedef.spec
    return flatten_spec(tree_or_treedef)[1]


def broadcast_prefix(
    prefix_tree: PyTree,
    full_tree_or_treedef: PyTree | PyTreeDef,
    is_leaf: IsLeaf | None = None,
    what: str = "in_axes",
    *,
    full_name: str = "the arguments",
    none_is_leaf: bool = False,
    error: type[Exception] = TreeStructureError,
) -> list[Any]:
    """Return one entry of ``prefix_tree`` for each leaf of the full tree.

    Parameters
    ----------
    prefix_tree
        A tree that may stop early: each of its leaves stands for all leaves below its place.
    full_tree_or_treedef
        The full tree, or its structure.
    is_leaf
        Where to stop in ``prefix_tree``.
    what, full_name
        What the user calls the two trees, for the error.
    none_is_leaf
        Whether a None in ``prefix_tree`` is an entry like any other rather than an empty node.
    error
        The class of the error raised if ``prefix_tree`` does not fit.
    """
    full = full_tree_or_treedef
    if not isinstance(full, PyTreeDef):
        full = structure(full)
    if type(prefix_tree) in LEAF_TYPES or (none_is_leaf and prefix_tree is None):
        return [prefix_tree] * full.num_leaves
    stop = is_leaf
    if none_is_leaf:
        stop = lambda x: x is None or (is_leaf is not None and stops(is_leaf(x)))  # noqa: E731
    entries, prefix = flatten(prefix_tree, stop)
    spread: list[Any] = []
    if not spread_prefix(prefix.spec, full.spec, iter(entries), spread):
        words = explain(prefix.spec, full.spec, what, full_name, what, prefix=True)
        raise error(
            f"{what} does not fit {full_name}: {words}\n"
            f"{what} must be one entry for all of {full_name}, or containers like theirs that may "
            "stop early, with one entry for everything below"
        )
    return spread
