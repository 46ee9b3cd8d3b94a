"""PyTreeDef: the structure of a tree as an object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fgrad._tree.differences import explain
from fgrad._tree.nodes import KINDS, metadata_and_detail
from fgrad._tree.spec import (
    Leaf,
    PyTree,
    Spec,
    count_leaves,
    count_nodes,
    flatten_into,
    flatten_up_to_spec,
    plain_spec,
    spec_string,
    substitute,
    too_deep,
    unflatten_spec,
)
from fgrad._tree.static_key import ByEquality
from fgrad.errors import TreeStructureError, TreeTypeError


class PyTreeDef:
    """The structure of a pytree: its containers with their keys and metadata, without the leaves.

    Made by `fgrad.tree.structure` and `fgrad.tree.flatten`. Structures compare with ``==`` and can
    be keys of a dict. The insertion order of a dict does not count in a comparison, but
    ``unflatten`` restores it.

    Examples
    --------
    >>> from fgrad import tree
    >>> treedef = tree.structure({"w": 1.0, "b": (2.0, None)})
    >>> treedef
    PyTreeDef({'b': (*, None), 'w': *})
    >>> treedef.num_leaves, treedef.num_nodes
    (2, 5)
    >>> treedef.unflatten([10, 20])
    {'w': 20, 'b': (10, None)}
    >>> treedef == tree.structure({"b": (0, None), "w": 0})
    True
    """

    __slots__ = ("_num_leaves", "_plain_spec", "_spec")
    _spec: Spec
    _plain_spec: Spec
    _num_leaves: int

    def __init__(self, spec: Spec, num_leaves: int | None = None) -> None:
        self._spec = spec
        self._num_leaves = count_leaves(spec) if num_leaves is None else num_leaves

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self._num_leaves

    @property
    def num_nodes(self) -> int:
        """The number of leaves and containers."""
        return count_nodes(self._spec)

    def _plain(self) -> Spec:
        try:
            return self._plain_spec
        except AttributeError:
            self._plain_spec = plain_spec(self._spec)
            return self._plain_spec

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        if self._num_leaves != other._num_leaves:
            return False
        return self._spec == other._spec or self._plain() == other._plain()

    def __hash__(self) -> int:
        return hash(self._plain())

    def __reduce__(self) -> tuple[Any, ...]:
        return PyTreeDef, (self._spec, self._num_leaves)

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PyTreeDef:
        return self

    def __repr__(self) -> str:
        return f"PyTreeDef({spec_string(self._spec)})"

    @property
    def spec(self) -> Spec:
        """The structure as nested tuples, which tell apart dicts of different insertion order."""
        return self._spec

    def unflatten(self, leaves: Iterable[Leaf]) -> PyTree:
        """Build a tree of this structure from an iterable of its leaves."""
        try:
            values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        except TypeError:
            if isinstance(leaves, Iterable):
                raise
            raise TreeTypeError(
                f"unflatten: the leaves must be an iterable, got {leaves!r}"
            ) from None
        if len(values) != self._num_leaves:
            raise TreeStructureError(
                f"unflatten: too {'few' if len(values) < self._num_leaves else 'many'} leaves: "
                f"expected {self._num_leaves}, got {len(values)}, for {self}"
            )
        if self._spec is None:
            return values[0]
        try:
            return unflatten_spec(self._spec, iter(values))
        except RecursionError:
            raise too_deep() from None

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """Return what ``tree`` has at each leaf of this structure, which must be its prefix."""
        if self._spec is None:
            return [tree]
        subtrees: list[PyTree] = []
        try:
            fits = flatten_up_to_spec(self._spec, tree, subtrees)
        except RecursionError:
            raise too_deep() from None
        if not fits:
            spec = flatten_into(tree, [])
            words = explain(self._spec, spec, "the structure", "the tree", prefix=True)
            raise TreeStructureError(f"flatten_up_to: {words}")
        return subtrees

    def children(self) -> list[PyTreeDef]:
        """Return the structures of the children of the root."""
        return [] if self._spec is None else [PyTreeDef(child) for child in self._spec[2]]

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Return this structure with ``inner`` in place of each leaf."""
        spec = substitute(self._spec, inner._spec)
        return PyTreeDef(spec, self._num_leaves * inner._num_leaves)

    def node_data(self) -> tuple[type, Any] | None:
        """Return the type and the metadata of the root; None for a leaf."""
        if self._spec is None:
            return None
        t, meta = self._spec[:2]
        if t is dict:
            return t, list(meta)
        return t, meta.value if type(meta) is ByEquality else meta

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """Build a structure from what ``node_data`` and ``children`` give."""
        if node_data is None:
            return PyTreeDef(None)
        t, meta = node_data
        detail = None
        if t is dict:
            meta = tuple(meta)
        elif t in KINDS:
            meta, detail = metadata_and_detail(meta)
        return PyTreeDef((t, meta, tuple([child._spec for child in children]), detail))

    def walk(
        self,
        f_node: Callable[[tuple[Any, ...], Any], Any],
        f_leaf: Callable[[Leaf], Any] | None,
        leaves: Iterable[Leaf],
    ) -> Any:
        """Fold: ``f_leaf(leaf)`` at each leaf, ``f_node(children, metadata)`` at each node."""
        values = iter(leaves)

        def fold(treedef: PyTreeDef) -> Any:
            data = treedef.node_data()
            if data is None:
                leaf = next(values)
                return leaf if f_leaf is None else f_leaf(leaf)
            return f_node(tuple([fold(child) for child in treedef.children()]), data[1])

        return fold(self)


PyTreeDef.__module__ = "fgrad.tree_util"
