"""Names that JAX has removed and programs still call: they work, with a warning that names the new one."""

from __future__ import annotations

import functools
from typing import Any

from fgrad import source_info, tree_util
from fgrad.errors import MissingNameError

_TREES = {
    "tree_all": "all",
    "tree_flatten": "flatten",
    "tree_leaves": "leaves",
    "tree_map": "map",
    "tree_multimap": "map",
    "tree_reduce": "reduce",
    "tree_structure": "structure",
    "tree_transpose": "transpose",
    "tree_unflatten": "unflatten",
}
_STRUCTURES = ("treedef_children", "treedef_is_leaf", "treedef_tuple", "Partial")


def removed_name(name: str) -> Any:
    """What ``fgrad.<name>`` was, with a deprecation warning.

    Raises
    ------
    MissingNameError
        If there never was such a name.
    """
    if name in _TREES:
        new = f"fgrad.tree.{_TREES[name]}"
        found = getattr(tree_util, "tree_" + _TREES[name])
    elif name in _STRUCTURES and hasattr(tree_util, name):
        new, found = f"fgrad.tree_util.{name}", getattr(tree_util, name)
    elif name == "partial":
        new, found = "functools.partial", functools.partial
    else:
        raise MissingNameError("fgrad", name)
    source_info.warn(f"fgrad.{name} is deprecated, as it is in JAX; use {new}", DeprecationWarning)
    return found
