"""Functions on pytrees: nested tuples, lists, dicts, named tuples, None and registered classes.

The names and semantics are those of `jax.tree`, on the trees of optree. A dict is rebuilt in the
order in which its caller wrote it (its leaves come in the sorted order of its keys, as in JAX), and
the keys of a dict need not compare with each other. `fgrad.tree_util` lists the other differences.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from fgrad import _tree
from fgrad._tree import IsLeaf, KeyPath, Leaf, PyTree, PyTreeDef
from fgrad.errors import TreeStructureError, TreeTypeError

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

T = TypeVar("T")


class _Unspecified:
    def __repr__(self) -> str:
        return "unspecified"


_UNSPECIFIED = _Unspecified()


def flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Leaf], PyTreeDef]:
    """Return the leaves of a tree and its structure.

    Parameters
    ----------
    tree
        Any nesting of containers; what is no container is a leaf. None is an empty container.
    is_leaf
        Called with every container and leaf on the way down; where it returns True, the walk stops
        and the whole subtree is one leaf.

    Returns
    -------
    leaves : list
        In depth-first order, those of a dict in the sorted order of its keys.
    treedef : PyTreeDef

    Raises
    ------
    RecursionError
        If the tree contains itself or has more than 1000 levels.

    Examples
    --------
    >>> from fgrad import tree
    >>> leaves, treedef = tree.flatten([1, (2, 3), {"b": 5, "a": 4}, None])
    >>> leaves
    [1, 2, 3, 4, 5]
    >>> treedef
    PyTreeSpec([*, (*, *), {'a': *, 'b': *}, None])
    >>> tree.flatten([1, None, (2,)], is_leaf=lambda x: x is None or isinstance(x, tuple))
    ([1, None, (2,)], PyTreeSpec([*, *, *]))
    """
    return _tree.flatten(tree, is_leaf)


def unflatten(treedef: PyTreeDef, leaves: Iterable[Leaf]) -> PyTree:
    """Build a tree from its structure and its leaves.

    Parameters
    ----------
    treedef
        The structure.
    leaves
        As many leaves as the structure has, in the order in which ``flatten`` gives them. They may
        be anything, trees too.

    Returns
    -------
    tree
        New containers around ``leaves``; a dict has its keys in the order it had when flattened.

    Raises
    ------
    TreeStructureError
        If there are too few or too many leaves.
    TreeTypeError
        If ``treedef`` is no structure or ``leaves`` is not iterable.

    Examples
    --------
    >>> from fgrad import tree
    >>> leaves, treedef = tree.flatten({"w": 1, "b": (2, 3)})
    >>> tree.unflatten(treedef, [10 * leaf for leaf in leaves])
    {'w': 10, 'b': (20, 30)}
    """
    if not isinstance(treedef, PyTreeDef):
        raise TreeTypeError(f"unflatten: expected a PyTreeDef, got {treedef!r}")
    if not isinstance(leaves, Iterable):
        raise TreeTypeError(f"unflatten: the leaves must be an iterable, got {leaves!r}")
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise TreeStructureError(
            f"unflatten: expected {treedef.num_leaves} leaves, got {len(leaves)}, for {treedef}"
        )
    return _tree.unflatten(treedef, leaves)


def leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Leaf]:
    """Return the leaves of a tree, in the order of ``flatten``.

    Parameters
    ----------
    tree
        Any nesting of containers.
    is_leaf
        As in `flatten`.

    Examples
    --------
    >>> from fgrad import tree
    >>> tree.leaves([1, (2, 3), {"b": 5, "a": 4}, None])
    [1, 2, 3, 4, 5]
    """
    return _tree.leaves(tree, is_leaf)


def structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of a tree: its containers without the leaves.

    Parameters
    ----------
    tree
        Any nesting of containers.
    is_leaf
        As in `flatten`.

    Examples
    --------
    >>> from fgrad import tree
    >>> tree.structure([1, (2, 3), {"b": 5, "a": 4}, None])
    PyTreeSpec([*, (*, *), {'a': *, 'b': *}, None])
    """
    return _tree.structure(tree, is_leaf)


def map(
    f: Callable[..., Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Return a tree of the values of a function at the leaves.

    Parameters
    ----------
    f
        Called as ``f(leaf, *others)`` once for each leaf.
    tree
        The tree whose structure the result has.
    *rest
        Trees with the structure of ``tree``, or with more below its leaves: ``f`` gets from each
        what it has in the place of the leaf.
    is_leaf
        As in `flatten`, for ``tree``.

    Raises
    ------
    TreeStructureError
        If a tree of ``rest`` does not fit; the message names the first place where it differs.

    Examples
    --------
    >>> from fgrad import tree
    >>> tree.map(lambda x: x + 1, {"x": 7, "y": (42, None)})
    {'x': 8, 'y': (43, None)}
    >>> tree.map(lambda x, y: [x, *y], [5, 6], [[7, 9], [1, 2]])
    [[5, 7, 9], [6, 1, 2]]
    """
    return _tree.map(f, tree, *rest, is_leaf=is_leaf)


def reduce(
    function: Callable[[Any, Any], Any],
    tree: PyTree,
    initializer: Any = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Combine the leaves from left to right.

    Parameters
    ----------
    function
        Called as ``function(combined so far, leaf)``.
    tree
        Any nesting of containers.
    initializer
        What to start with; without it, the first leaf.
    is_leaf
        As in `flatten`.

    Raises
    ------
    TreeTypeError
        If the tree has no leaves and there is no ``initializer``.

    Examples
    --------
    >>> import operator
    >>> from fgrad import tree
    >>> tree.reduce(operator.add, [1, (2, 3), [4, 5, 6]])
    21
    >>> tree.reduce(lambda n, leaf: n + len(leaf), {"a": "abc", "b": "de"}, 0)
    5
    """
    values = _tree.leaves(tree, is_leaf)
    if not isinstance(initializer, _Unspecified):
        return functools.reduce(function, values, initializer)
    if not values:
        raise TreeTypeError("tree.reduce: the tree has no leaves, and no initializer was given")
    return functools.reduce(function, values)


def reduce_associative(
    operation: Callable[[T, T], T],
    tree: PyTree,
    *,
    identity: T | _Unspecified = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> T:
    """Combine the leaves in pairs, with logarithmic depth.

    Parameters
    ----------
    operation
        An associative function of two values.
    tree
        Any nesting of containers.
    identity
        What a tree without leaves gives.
    is_leaf
        As in `flatten`.

    Raises
    ------
    TreeTypeError
        If the tree has no leaves and there is no ``identity``.

    Examples
    --------
    >>> from fgrad import tree
    >>> tree.reduce_associative(lambda x, y: f"({x}{y})", ["a", ("b", "c"), ["d"]])
    '((ab)(cd))'
    """
    values: list[T] = _tree.leaves(tree, is_leaf)
    if not values:
        if isinstance(identity, _Unspecified):
            raise TreeTypeError(
                "tree.reduce_associative: the tree has no leaves, and no identity was given"
            )
        return identity

    def combine(start: int, stop: int) -> T:
        if stop - start == 1:
            return values[start]
        middle = start + (stop - start) // 2
        return operation(combine(start, middle), combine(middle, stop))

    return combine(0, len(values))


def all(tree: PyTree, *, is_leaf: IsLeaf | None = None) -> bool:
    """Return whether every leaf is true.

    Parameters
    ----------
    tree
        Any nesting of containers.
    is_leaf
        As in `flatten`.

    Examples
    --------
    >>> from fgrad import tree
    >>> tree.all([True, {"a": True, "b": (True, True)}]), tree.all([False, (True, False)])
    (True, False)
    """
    return builtins.all(_tree.leaves(tree, is_leaf))


def transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: PyTree
) -> PyTree:
    """Turn a tree of trees inside out.

    Parameters
    ----------
    outer_treedef
        The structure of the outer tree.
    inner_treedef
        The structure that each of its leaves has; None finds it out.
    pytree_to_transpose
        A tree with the outer structure of trees with the inner one.

    Returns
    -------
    tree
        A tree with the inner structure of trees with the outer one.

    Raises
    ------
    TreeTypeError
        If the number of leaves is not that of the two structures.
    TreeStructureError
        If ``inner_treedef`` is None and the tree does not have the outer structure.

    Examples
    --------
    >>> from fgrad import tree
    >>> outer, inner = tree.structure([0, 0]), tree.structure({"x": 0, "y": 0})
    >>> tree.transpose(outer, inner, [{"x": 1, "y": 2}, {"x": 3, "y": 4}])
    {'x': [1, 3], 'y': [2, 4]}
    """
    values, treedef = _tree.flatten(pytree_to_transpose)
    if inner_treedef is None:
        subtrees = _tree.flatten_up_to(outer_treedef, pytree_to_transpose, "tree.transpose")
        if not subtrees:
            raise TreeTypeError(
                "tree.transpose: the outer structure has no leaves, so that inner_treedef must be given; the "
                f"outer structure is {outer_treedef}"
            )
        inner_treedef = _tree.structure(subtrees[0])
    width, height = inner_treedef.num_leaves, outer_treedef.num_leaves
    if treedef.num_leaves != width * height:
        raise TreeTypeError(
            f"tree.transpose: expected a tree of {height} times {width} leaves, got {treedef.num_leaves}\n  "
            f"expected: {outer_treedef.compose(inner_treedef)}\n  got: {treedef}"
        )
    columns = [outer_treedef.unflatten(values[i::width]) for i in range(width)]
    return inner_treedef.unflatten(columns)


def broadcast(prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Repeat each leaf of a prefix for all leaves that the full tree has in its place.

    Parameters
    ----------
    prefix_tree
        A tree like ``full_tree`` that may stop early.
    full_tree
        The tree whose structure the result has.
    is_leaf
        As in `flatten`, for ``prefix_tree``.

    Raises
    ------
    TreeStructureError
        If ``prefix_tree`` is no prefix; the message names the first place where it differs.

    Examples
    --------
    >>> from fgrad import tree
    >>> tree.broadcast((1, 2), (0, {"a": 0, "b": (0, None)}))
    (1, {'a': 2, 'b': (2, None)})
    """
    entries = _tree.broadcast_prefix(prefix_tree, full_tree, is_leaf, "prefix_tree")
    return _tree.unflatten(_tree.structure(full_tree), entries)


def flatten_with_path(
    tree: PyTree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
    """Return the leaves with their paths, and the structure.

    Parameters
    ----------
    tree
        Any nesting of containers.
    is_leaf
        As in `flatten`.
    is_leaf_takes_path
        Whether ``is_leaf`` is called as ``is_leaf(path, subtree)``.

    Returns
    -------
    pairs : list of (path, leaf)
        A path is a tuple of keys: ``DictKey``, ``SequenceKey``, ``GetAttrKey``,
        ``FlattenedIndexKey``, or what a class was registered with.
    treedef : PyTreeDef

    Examples
    --------
    >>> from fgrad import tree
    >>> tree.flatten_with_path([1, {"x": 3}])[0]
    [((SequenceKey(idx=0),), 1), ((SequenceKey(idx=1), DictKey(key='x')), 3)]
    """
    return _tree.flatten_with_path(tree, is_leaf, is_leaf_takes_path)


def leaves_with_path(
    tree: PyTree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Leaf]]:
    """Return the leaves with their paths.

    Parameters
    ----------
    tree
        Any nesting of containers.
    is_leaf, is_leaf_takes_path
        As in `flatten_with_path`.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> [(tree_util.keystr(path), leaf) for path, leaf in tree.leaves_with_path({"w": (1, 2)})]
    [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    return _tree.flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: PyTree,
    *rest: PyTree,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> PyTree:
    """Return a tree of the values of a function of path and leaf.

    Parameters
    ----------
    f
        Called as ``f(path, leaf, *others)`` once for each leaf.
    tree, *rest
        As in `map`.
    is_leaf, is_leaf_takes_path
        As in `flatten_with_path`.

    Raises
    ------
    TreeStructureError
        If a tree of ``rest`` does not fit; the message names the first place where it differs.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> tree.map_with_path(lambda path, x: f"{tree_util.keystr(path)}={x}", {"w": (1, 2)})
    {'w': ("['w'][0]=1", "['w'][1]=2")}
    """
    return _tree.map_with_path(
        f, tree, *rest, is_leaf=is_leaf, is_leaf_takes_path=is_leaf_takes_path
    )


# Type checkers know `dataclasses.field` by name; under another name they would lose the defaults.
if TYPE_CHECKING:
    static = dataclasses.field
else:

    def static(**kwargs: Any) -> Any:
        """Declare a dataclass field that is metadata rather than data.

        `fgrad.tree_util.register_dataclass` keeps such a field in the structure: it is static
        under ``jit`` and must have a plain ``==``.

        Parameters
        ----------
        **kwargs
            As of `dataclasses.field`.

        Examples
        --------
        >>> import dataclasses
        >>> from fgrad import tree, tree_util
        >>> @tree_util.register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     w: float
        ...     activation: str = tree.static(default="tanh")
        >>> tree.flatten(Layer(1.0))
        ([1.0], PyTreeSpec(CustomTreeNode(Layer[('tanh',)], [*]), namespace='fgrad'))
        """
        metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
        return dataclasses.field(metadata=metadata, **kwargs)
