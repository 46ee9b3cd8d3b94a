"""Pytrees: nested containers as flat lists of leaves and a structure.

The library reaches trees through the names below; `fgrad.tree` and `fgrad.tree_util` are the same
functions for users, documented. The files: `keys` (steps of a path), `static_key` (values as cache
keys), `nodes` (which types are containers), `spec` (structures as tuples, the walks), `differences`
(mismatches in words), `treedef` (structures as objects), `functions`, `partial`.
"""

from fgrad._tree.functions import (
    broadcast_prefix,
    explain_difference,
    flatten,
    flatten_spec,
    flatten_up_to,
    flatten_with_path,
    leaf_names,
    leaves,
    map,
    map_with_path,
    order_key,
    structure,
    unflatten,
)
from fgrad._tree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    path_string,
)
from fgrad._tree.nodes import (
    declare_leaf_type,
    is_tree_node,
    is_unregistered_dataclass,
    open_node,
    open_node_with_keys,
    register_node,
)
from fgrad._tree.partial import Partial
from fgrad._tree.spec import IsLeaf, Leaf, PyTree, Spec
from fgrad._tree.static_key import ByEquality, static_key
from fgrad._tree.treedef import PyTreeDef

__all__ = [
    "ByEquality",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "IsLeaf",
    "KeyEntry",
    "KeyPath",
    "Leaf",
    "Partial",
    "PyTree",
    "PyTreeDef",
    "SequenceKey",
    "Spec",
    "broadcast_prefix",
    "declare_leaf_type",
    "explain_difference",
    "flatten",
    "flatten_spec",
    "flatten_up_to",
    "flatten_with_path",
    "is_tree_node",
    "is_unregistered_dataclass",
    "leaf_names",
    "leaves",
    "map",
    "map_with_path",
    "open_node",
    "open_node_with_keys",
    "order_key",
    "path_string",
    "register_node",
    "static_key",
    "structure",
    "unflatten",
]
