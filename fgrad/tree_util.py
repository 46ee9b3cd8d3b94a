"""Pytrees under the names of `jax.tree_util`: `fgrad.tree`, keys of paths, registration of classes.

Registering a class makes its instances containers for every transform. Subclasses are not
registered with it. Registrations go to the namespace ``"fgrad"`` of optree, whose structures
``PyTreeDef`` is. Trees differ from those of JAX in this:

- `collections.deque` and struct sequences such as `time.struct_time` are containers, and so is what
  another library has registered in optree's global namespace.
- A dict is rebuilt in the order in which its caller wrote it, and its keys need not compare.
- ``dict``, ``OrderedDict`` and ``defaultdict`` with the same keys fit each other in `tree_map` and
  in prefixes, whatever their order and default factory, though their structures differ.
- Metadata need not be hashable.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, TypeVar

import optree

from fgrad import _tree
from fgrad._tree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    IsLeaf,
    KeyEntry,
    KeyPath,
    PyTree,
    PyTreeDef,
    SequenceKey,
)
from fgrad.errors import TreeStructureError, TreeTypeError
from fgrad.tree import all as tree_all
from fgrad.tree import broadcast as tree_broadcast
from fgrad.tree import flatten as tree_flatten
from fgrad.tree import flatten_with_path as tree_flatten_with_path
from fgrad.tree import leaves as tree_leaves
from fgrad.tree import leaves_with_path as tree_leaves_with_path
from fgrad.tree import map as tree_map
from fgrad.tree import map_with_path as tree_map_with_path
from fgrad.tree import reduce as tree_reduce
from fgrad.tree import reduce_associative as tree_reduce_associative
from fgrad.tree import structure as tree_structure
from fgrad.tree import transpose as tree_transpose
from fgrad.tree import unflatten as tree_unflatten

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

C = TypeVar("C", bound=type)
H = TypeVar("H", bound=Hashable)
KeyLeafPairs = Iterable[tuple[KeyEntry, Any]]


# ---- structures --------------------------------------------------------------------------


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple of trees from the structures of the trees.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> tree_util.treedef_tuple([tree.structure(1), tree.structure({"a": 2})])
    PyTreeSpec((*, {'a': *}))
    """
    return optree.treespec_tuple(treedefs, namespace=_tree.NAMESPACE)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children of the root.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> tree_util.treedef_children(tree.structure([(1, 2), 3, {"a": 4}]))
    [PyTreeSpec((*, *)), PyTreeSpec(*), PyTreeSpec({'a': *})]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether the structure is a single node: a leaf, or, as in JAX, an empty container.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> tree_util.treedef_is_leaf(tree.structure(1))
    True
    >>> tree_util.treedef_is_leaf(tree.structure([1, 2]))
    False
    """
    return treedef.num_nodes == 1


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Return whether all items are leaves.

    Parameters
    ----------
    iterable
        Candidates for leaves.
    is_leaf
        As in `fgrad.tree.flatten`.

    Examples
    --------
    >>> from fgrad import tree_util
    >>> tree_util.all_leaves([1.0, "a"]), tree_util.all_leaves([1.0, (2.0,)])
    (True, False)
    """
    for item in iterable:
        found = _tree.leaves(item, is_leaf)
        if len(found) != 1 or found[0] is not item:
            return False
    return True


def is_tree_node(typ: type) -> bool:
    """Return whether the instances of exactly this class are containers.

    Examples
    --------
    >>> from fgrad import tree_util
    >>> [tree_util.is_tree_node(t) for t in (tuple, dict, type(None), float)]
    [True, True, True, False]
    """
    return _tree.is_tree_node(typ)


def flatten_one_level(tree: PyTree) -> tuple[Iterable[Any], Any]:
    """Return the children of a container and its metadata.

    Raises
    ------
    TreeStructureError
        If ``tree`` is a leaf.

    Examples
    --------
    >>> from fgrad import tree_util
    >>> children, keys = tree_util.flatten_one_level({"b": {"c": 3}, "a": [1, 2]})
    >>> list(children), keys
    ([[1, 2], {'c': 3}], ['a', 'b'])
    """
    pairs, metadata = _tree.flatten_one_level(tree)
    return [child for _, child in pairs], metadata


def flatten_one_level_with_keys(tree: PyTree) -> tuple[KeyLeafPairs, Any]:
    """Return pairs of key and child of a container, and its metadata.

    Raises
    ------
    TreeStructureError
        If ``tree`` is a leaf.

    Examples
    --------
    >>> from fgrad import tree_util
    >>> tree_util.flatten_one_level_with_keys([7, 8])
    ([(SequenceKey(idx=0), 7), (SequenceKey(idx=1), 8)], None)
    """
    return _tree.flatten_one_level(tree)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Return a path as text.

    Parameters
    ----------
    keys
        A path, as from `fgrad.tree.leaves_with_path`.
    simple
        Whether to write the bare keys and indices, without brackets and quotes.
    separator
        What to put between keys.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> ((path, _),) = tree.leaves_with_path({"layers": [{"w": 1.0}]})
    >>> tree_util.keystr(path)
    "['layers'][0]['w']"
    >>> tree_util.keystr(path, simple=True, separator="/")
    'layers/0/w'
    """
    return separator.join([_simple(key) if simple else str(key) for key in keys])


def _simple(key: KeyEntry) -> str:
    match key:
        case SequenceKey(k) | DictKey(k) | GetAttrKey(k) | FlattenedIndexKey(k):
            return str(k)
        case _:
            return str(key)


# ---- registration ------------------------------------------------------------------------


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[KeyLeafPairs, Any]] | None = None,
) -> None:
    """Make the instances of a class containers.

    Parameters
    ----------
    nodetype
        The class.
    flatten_func
        Instance to ``(children, metadata)``. Metadata is static under ``jit`` and is compared with
        ``==``; it need not be hashable, but must not change.
    unflatten_func
        ``(metadata, children)`` to an instance. The children may be anything, tracers and
        placeholders among it, so that it should not check them.
    flatten_with_keys_func
        Instance to ``([(key, child), ...], metadata)``, for paths.

    Raises
    ------
    TreeTypeError
        If ``nodetype`` is no class.
    TreeStructureError
        If it is a container already.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> class Interval:
    ...     def __init__(self, low, high, unit):
    ...         self.low, self.high, self.unit = low, high, unit
    >>> tree_util.register_pytree_node(
    ...     Interval,
    ...     lambda i: ((i.low, i.high), i.unit),
    ...     lambda unit, children: Interval(*children, unit),
    ... )
    >>> tree.flatten(Interval(1, 2, "m"))
    ([1, 2], PyTreeSpec(CustomTreeNode(Interval['m'], [*, *]), namespace='fgrad'))
    >>> tree.map(lambda x: 10 * x, Interval(1, 2, "m")).high
    20
    """
    with_keys = flatten_with_keys_func is not None
    _tree.register_node(
        nodetype, flatten_with_keys_func or flatten_func, unflatten_func, with_keys=with_keys
    )


def register_pytree_node_class(cls: C) -> C:
    """Make the instances of a class containers by its methods; a decorator.

    Parameters
    ----------
    cls
        A class with a method ``tree_flatten(self)`` that returns ``(children, metadata)``, and a
        class method ``tree_unflatten(cls, metadata, children)`` that returns an instance.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> @tree_util.register_pytree_node_class
    ... class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    ...
    ...     def tree_flatten(self):
    ...         return (self.x, self.y), None
    ...
    ...     @classmethod
    ...     def tree_unflatten(cls, metadata, children):
    ...         return cls(*children)
    >>> tree.leaves([Point(1, 2), Point(3, 4)])
    [1, 2, 3, 4]
    """
    _require(cls, "tree_flatten", "tree_unflatten")
    _tree.register_node(
        cls, operator.methodcaller("tree_flatten"), operator.attrgetter("tree_unflatten")(cls)
    )
    return cls


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[KeyLeafPairs, Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make the instances of a class containers whose children have keys in paths.

    Parameters
    ----------
    nodetype
        The class.
    flatten_with_keys
        Instance to ``([(key, child), ...], metadata)``.
    unflatten_func
        ``(metadata, children)`` to an instance.
    flatten_func
        Accepted as in JAX, where it is faster; ``flatten_with_keys`` says it all.

    Raises
    ------
    TreeTypeError
        If ``nodetype`` is no class.
    TreeStructureError
        If it is a container already.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> class Pair:
    ...     def __init__(self, first, second):
    ...         self.first, self.second = first, second
    >>> def flatten_with_keys(pair):
    ...     return [(tree_util.GetAttrKey(name), value) for name, value in vars(pair).items()], None
    >>> def unflatten(_, children):
    ...     return Pair(*children)
    >>> tree_util.register_pytree_with_keys(Pair, flatten_with_keys, unflatten)
    >>> [tree_util.keystr(path) for path, _ in tree.leaves_with_path(Pair(1, (2, 3)))]
    ['.first', '.second[0]', '.second[1]']
    """
    _tree.register_node(nodetype, flatten_with_keys, unflatten_func, with_keys=True)


def register_pytree_with_keys_class(cls: C) -> C:
    """Make the instances of a class containers with keys, by its methods; a decorator.

    Parameters
    ----------
    cls
        A class with a method ``tree_flatten_with_keys(self)`` that returns
        ``([(key, child), ...], metadata)``, a class method
        ``tree_unflatten(cls, metadata, children)``.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> @tree_util.register_pytree_with_keys_class
    ... class Box:
    ...     def __init__(self, content):
    ...         self.content = content
    ...
    ...     def tree_flatten_with_keys(self):
    ...         return [(tree_util.GetAttrKey("content"), self.content)], None
    ...
    ...     @classmethod
    ...     def tree_unflatten(cls, metadata, children):
    ...         return cls(*children)
    >>> tree.leaves_with_path(Box(5))
    [((GetAttrKey(name='content'),), 5)]
    """
    _require(cls, "tree_flatten_with_keys", "tree_unflatten")
    register_pytree_with_keys(
        cls,
        operator.methodcaller("tree_flatten_with_keys"),
        operator.attrgetter("tree_unflatten")(cls),
    )
    return cls


def _require(cls: type, *methods: str) -> None:
    for method in methods:
        if not hasattr(cls, method):
            raise TreeTypeError(
                f"{getattr(cls, '__qualname__', cls)!s} needs the method {method} to be registered as a tree "
                f"node; it must have {' and '.join(methods)}"
            )


def register_dataclass(
    nodetype: C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> C:
    """Make the instances of a dataclass containers; a decorator.

    Parameters
    ----------
    nodetype
        A dataclass, or another class whose instances are made by ``nodetype(**fields)``.
    data_fields
        The fields that are children. By default all but those declared static.
    meta_fields
        The fields that are metadata: static under ``jit``, compared with ``==``. By default those
        declared with `fgrad.tree.static` or ``field(metadata={"static": True})``.
    drop_fields
        The fields that are neither; a rebuilt instance has their default.

    Raises
    ------
    TreeTypeError
        If only one of ``data_fields`` and ``meta_fields`` is given, or none for a class that is no
        dataclass.
    TreeStructureError
        If the fields overlap, or are not those of the dataclass, or if the class is registered
        already.

    Examples
    --------
    >>> import dataclasses
    >>> from fgrad import tree, tree_util
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     b: float
    ...     activation: str = dataclasses.field(default="tanh", metadata={"static": True})
    >>> tree.map(lambda x: 10 * x, Layer(1.0, 2.0))
    Layer(w=10.0, b=20.0, activation='tanh')
    """
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if data_fields is None or meta_fields is None:
        if data_fields is not None or meta_fields is not None:
            raise TreeTypeError(
                f"register_dataclass: give both data_fields and meta_fields or neither, got {data_fields=} and "
                f"{meta_fields=}"
            )
        if not is_dataclass:
            raise TreeTypeError(
                f"register_dataclass: {nodetype!r} is no dataclass, so that data_fields and meta_fields must "
                "be given"
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.name not in drop_fields]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
    data, meta = tuple(data_fields), tuple(meta_fields)
    if both := sorted(set(data) & set(meta)):
        raise TreeStructureError(
            f"register_dataclass: {', '.join(both)} are both data_fields and meta_fields of "
            f"{nodetype.__qualname__}"
        )
    if is_dataclass:
        _check_fields(nodetype, {*data, *meta}, set(drop_fields))

    keys = [GetAttrKey(name) for name in data]

    def flatten(node: Any) -> tuple[KeyLeafPairs, Any]:
        children = [(key, getattr(node, key.name)) for key in keys]
        return children, tuple([getattr(node, name) for name in meta])

    def unflatten(metadata: Any, children: Any) -> Any:
        return nodetype(**dict(zip((*data, *meta), (*children, *metadata), strict=True)))

    _tree.register_node(nodetype, flatten, unflatten, with_keys=True)
    return nodetype


def _check_fields(nodetype: type, given: set[str], dropped: set[str]) -> None:
    settable = {f.name for f in dataclasses.fields(nodetype) if f.init} - dropped
    if missing := sorted(settable - given):
        raise TreeStructureError(
            f"register_dataclass: {', '.join(missing)} of {nodetype.__qualname__} are in none of data_fields, "
            "meta_fields and drop_fields"
        )
    if odd := sorted(given - settable):
        raise TreeStructureError(
            f"register_dataclass: {', '.join(odd)} cannot be data_fields or meta_fields of "
            f"{nodetype.__qualname__}: its __init__ takes only {', '.join(sorted(settable))}; list a field "
            "with init=False in drop_fields"
        )


def register_static(cls: type[H]) -> type[H]:
    """Make the instances of a class empty containers: metadata without leaves; a decorator.

    Instances are static under ``jit`` wherever they stand in an argument.

    Parameters
    ----------
    cls
        A class whose instances compare with ``==`` by value and are not changed.

    Examples
    --------
    >>> from fgrad import tree, tree_util
    >>> @tree_util.register_static
    ... class Mode(str):
    ...     pass
    >>> tree.flatten((1.0, Mode("train")))
    ([1.0], PyTreeSpec((*, CustomTreeNode(Mode['train'], [])), namespace='fgrad'))
    """
    _tree.register_node(cls, lambda obj: ((), obj), lambda obj, _: obj)
    return cls


class Partial(functools.partial[Any]):
    """A `functools.partial` that is a tree node: its bound arguments are children.

    It can be passed to and returned from transformed functions, where its arguments are traced
    and its function is metadata.

    Parameters
    ----------
    func
        The function; a `functools.partial` keeps its own arguments to itself.
    *args, **keywords
        The bound arguments, pytrees of arrays.

    Examples
    --------
    >>> from fgrad import tree
    >>> from fgrad.tree_util import Partial
    >>> add_one = Partial(max, 1.0)
    >>> add_one(3.0)
    3.0
    >>> tree.leaves(add_one)
    [1.0]
    >>> tree.map(lambda x: 10 * x, add_one)(3.0)
    10.0
    """

    def __new__(  # noqa: D102  documented by the class
        cls, func: Callable[..., Any], /, *args: Any, **keywords: Any
    ) -> Partial:
        if isinstance(func, functools.partial):
            func = func.__call__  # functools would merge the partial itself into this one
        return super().__new__(cls, func, *args, **keywords)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, bound: Partial(func, *bound[0], **bound[1]),
)


class _Registry:
    """The one registry of containers, with the methods of JAX's."""

    def __repr__(self) -> str:
        return "fgrad.tree_util.default_registry"

    flatten = staticmethod(tree_flatten)
    is_node = staticmethod(is_tree_node)
    register_node = staticmethod(register_pytree_node)
    register_dataclass_node = staticmethod(register_dataclass)

    @staticmethod
    def flatten_with_path(
        tree: PyTree, is_leaf: Callable[[KeyPath, Any], bool] | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
        return _tree.flatten_with_path(tree, is_leaf, is_leaf_takes_path=True)

    @staticmethod
    def flatten_one_level(tree: PyTree) -> tuple[Iterable[Any], Any] | None:
        return flatten_one_level(tree) if is_tree_node(type(tree)) else None

    @staticmethod
    def flatten_one_level_with_keys(tree: PyTree) -> tuple[KeyLeafPairs, Any] | None:
        return flatten_one_level_with_keys(tree) if is_tree_node(type(tree)) else None


default_registry: Final = _Registry()
