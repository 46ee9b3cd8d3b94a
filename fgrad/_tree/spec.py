"""Specs: structures as nested plain tuples, and the walks that make and use them.

Flattening happens at every call of a compiled function, and tuples are what CPython builds, hashes
and compares fastest. The spec of a leaf is ``None``; the spec of a node is
``(type, metadata, specs of the children, detail)``. The detail tells apart what equal structures
do not: the insertion order of a dict, and the types of metadata that compares equal (``1`` and
``True``). Without details a spec is *plain*. Structures are equal if their plain specs are; a cache
that must rebuild exactly what its caller passed is keyed by the whole spec.

The walks recurse by one Python frame a level, so that a tree that can be flattened can be rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np

from fgrad._tree.keys import KeyEntry, KeyPath
from fgrad._tree.nodes import (
    KINDS,
    LEAF_TYPES,
    NoneType,
    Opened,
    all_leaf_types,
    build_dict,
    is_namedtuple,
    open_dict,
    open_node,
)
from fgrad.errors import TreeStructureError, TreeTypeError

PyTree: TypeAlias = Any
Leaf: TypeAlias = Any
IsLeaf: TypeAlias = Callable[[Any], bool]
NodeSpec: TypeAlias = "tuple[type, Any, tuple[Spec, ...], Any]"
Spec: TypeAlias = "NodeSpec | None"
WithKeys: TypeAlias = Callable[[Any, Opened], Sequence[tuple[KeyEntry, Any]]]

_NONE_SPEC: Final[NodeSpec] = (NoneType, None, (), None)
_MANY: Final = 8  # children, above which a test of all of them at once is cheaper than a loop


def too_deep() -> TreeStructureError:
    """Return the error for a tree that exhausts the recursion limit."""
    return TreeStructureError(
        "the tree is nested too deeply for Python's recursion limit, or it contains itself; "
        "use flatter containers, or raise the limit with sys.setrecursionlimit"
    )


def stops(decision: Any) -> bool:
    """Check what an ``is_leaf`` function has returned."""
    if isinstance(decision, (bool, np.bool_)):
        return bool(decision)
    raise TreeStructureError(f"is_leaf must return True or False, got {decision!r}")


def flatten_into(x: Any, leaves: list[Leaf]) -> Spec:
    """Append the leaves of ``x`` and return its spec."""
    t = type(x)
    meta = detail = None
    children: Iterable[Any]
    if t is dict:
        meta, children, detail = open_dict(x)
    elif t is tuple or t is list:
        children = x
        if len(x) > _MANY and all_leaf_types(map(type, x)):
            leaves.extend(x)
            return t, None, (None,) * len(x), None
    elif t is NoneType:
        return _NONE_SPEC
    else:
        kind = KINDS.get(t)
        if kind is not None:
            meta, children, detail = kind.open(x)
        elif is_namedtuple(t):
            children = x
        else:
            leaves.append(x)
            return None
    specs: list[Spec] = []
    for child in children:
        if type(child) in LEAF_TYPES:
            leaves.append(child)
            specs.append(None)
        else:
            specs.append(flatten_into(child, leaves))
    return t, meta, tuple(specs), detail


def flatten_until(x: Any, leaves: list[Leaf], is_leaf: IsLeaf) -> Spec:
    """Do as ``flatten_into``, but take for a leaf whatever ``is_leaf`` says."""
    opened = None if stops(is_leaf(x)) else open_node(x)
    if opened is None:
        leaves.append(x)
        return None
    t, meta, children, detail = opened
    specs: list[Spec] = []
    for child in children:
        specs.append(flatten_until(child, leaves, is_leaf))  # noqa: PERF401  one frame a level
    return t, meta, tuple(specs), detail


def flatten_with_path_into(
    x: Any,
    path: KeyPath,
    pairs: list[tuple[KeyPath, Leaf]],
    is_leaf: Callable[[KeyPath, Any], bool] | None,
    with_keys: WithKeys,
) -> Spec:
    """Append pairs of path and leaf, where ``with_keys`` names the children of a node."""
    stopped = is_leaf is not None and stops(is_leaf(path, x))
    opened = None if stopped else open_node(x)
    if opened is None:
        pairs.append((path, x))
        return None
    specs: list[Spec] = []
    for key, child in with_keys(x, opened):
        specs.append(flatten_with_path_into(child, (*path, key), pairs, is_leaf, with_keys))
    return opened[0], opened[1], tuple(specs), opened[3]


def unflatten_spec(spec: NodeSpec, leaves: Iterator[Leaf]) -> PyTree:
    """Build a tree; ``leaves`` must have as many as the spec."""
    t, meta, specs, detail = spec
    children: list[Any]
    if len(specs) > _MANY and specs.count(None) == len(specs):
        children = list(islice(leaves, len(specs)))
    else:
        children = []
        for child in specs:
            children.append(next(leaves) if child is None else unflatten_spec(child, leaves))
    if t is tuple:
        return tuple(children)
    if t is dict:
        return build_dict(meta, children, detail)
    if t is list:
        return children
    kind = KINDS.get(t)
    if kind is not None:
        return kind.build(meta, children, detail)
    if is_namedtuple(t):
        return t(*children)
    raise TreeTypeError(
        f"{t.__module__}.{t.__qualname__} is not registered as a tree node in this process"
    )


def flatten_up_to_spec(spec: NodeSpec, x: PyTree, subtrees: list[PyTree]) -> bool:
    """Append what ``x`` has at each leaf of ``spec``; return False if it has another structure."""
    t, meta, specs, _ = spec
    found: type = type(x)
    if found is not t:
        return False
    children: Sequence[Any]
    if t is tuple or t is list:
        children = x
    elif t is dict:
        # By key: the order of keys that do not compare need not be the same in both dicts.
        if len(x) != len(meta) or not all([key in x for key in meta]):
            return False
        children = [x[key] for key in meta]
    else:
        opened = open_node(x)
        if opened is None or opened[1] != meta:
            return False
        children = opened[2]
    if len(children) != len(specs):
        return False
    for child_spec, child in zip(specs, children, strict=True):
        if child_spec is None:
            subtrees.append(child)
        elif not flatten_up_to_spec(child_spec, child, subtrees):
            return False
    return True


def spread_prefix(prefix: Spec, full: Spec, entries: Iterator[Any], spread: list[Any]) -> bool:
    """Append, for each leaf of ``full``, the entry of the leaf of ``prefix`` above it."""
    if prefix is None:
        spread.extend([next(entries)] * count_leaves(full))
        return True
    if full is None or not same_node(prefix, full):
        return False
    for a, b in zip(prefix[2], full[2], strict=True):
        if not spread_prefix(a, b, entries, spread):
            return False
    return True


def same_node(a: NodeSpec, b: NodeSpec) -> bool:
    """Return whether two nodes are alike, whatever their children are."""
    return a[0] is b[0] and len(a[2]) == len(b[2]) and bool(a[1] == b[1])


def plain_spec(spec: Spec) -> Spec:
    """Return the spec without details: the same object if there is none."""
    if spec is None:
        return None
    t, meta, specs, detail = spec
    plain: list[Spec] = []
    changed = detail is not None
    for child in specs:
        plain.append(child if child is None else plain_spec(child))
        changed = changed or plain[-1] is not child
    return (t, meta, tuple(plain), None) if changed else spec


def _count(spec: Spec) -> tuple[int, int]:
    leaves = nodes = 0
    stack: list[Spec] = [spec]
    while stack:
        spec = stack.pop()
        if spec is None:
            leaves += 1
        else:
            nodes += 1
            stack.extend(spec[2])
    return leaves, nodes


def count_leaves(spec: Spec) -> int:
    """Return the number of leaves."""
    return _count(spec)[0]


def count_nodes(spec: Spec) -> int:
    """Return the number of leaves and containers."""
    return sum(_count(spec))


def substitute(spec: Spec, inner: Spec) -> Spec:
    """Return the spec with ``inner`` in place of each leaf."""
    if spec is None:
        return inner
    specs: list[Spec] = []
    for child in spec[2]:
        specs.append(substitute(child, inner))  # noqa: PERF401  one frame a level
    return spec[0], spec[1], tuple(specs), spec[3]


def spec_string(spec: Spec) -> str:
    """Return what JAX prints for the structure."""
    if spec is None:
        return "*"
    t, meta, specs, _ = spec
    children: list[str] = []
    for child in specs:
        children.append(spec_string(child))  # noqa: PERF401  one frame a level
    if t is NoneType:
        return "None"
    if t is tuple:
        return f"({', '.join(children)}{',' if len(children) == 1 else ''})"
    if t is dict:
        items = [f"{key!r}: {child}" for key, child in zip(meta, children, strict=True)]
        return f"{{{', '.join(items)}}}"
    listed = f"[{', '.join(children)}]"
    if t is list:
        return listed
    head = f"{t.__name__}[{meta}]" if t in KINDS else f"namedtuple[{t.__name__}]"
    return f"CustomNode({head}, {listed})"
