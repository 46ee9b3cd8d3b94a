"""The short way into a compiled signature: code that takes arguments of one kind apart and runs.

`jit` finds a signature by flattening the arguments and looking their types up. Once a signature is
called again, a function is generated that does the same for this signature alone: it unpacks the
containers, checks each leaf against the type it was compiled for, runs the program and puts the results
into their containers. It returns `MISS` for arguments of any other kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from fgrad import _tree
from fgrad.array import Array, wrap_own
from fgrad.avals import Aval
from fgrad.dtypes import python_type
from fgrad.source_info import GENERATED

#: The answer to arguments that are not of the signature.
MISS: Any = object()
# Beyond, finding the signature is little beside the work that so many leaves mean.
_MOST_LEAVES = 256


def direct_call(
    treedef: Any, avals: Sequence[Aval], out_treedef: Any, run: Callable[..., list[Any]]
) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function of the tuple of positional arguments, or None where nodes are of registered classes."""
    small = treedef.num_leaves + out_treedef.num_leaves <= _MOST_LEAVES
    if not (small and _only_containers(treedef) and _only_containers(out_treedef)):
        return None
    writer = _Writer(avals)
    places = _tree.unflatten(treedef, range(treedef.num_leaves))
    writer.unpack(places, "args")
    results = [f"r{i}" for i in range(out_treedef.num_leaves)]
    values = [f"x{i}" for i in range(treedef.num_leaves)]
    lines = [
        "def direct(args):",
        "    try:",
        *[f"        {line}" for line in writer.lines],
        "    except AttributeError:  # NumPy made this view of an Array by itself",
        "        return MISS",
        f"    [{', '.join(results)}] = run({', '.join(values)})",
        f"    return {writer.built(_tree.unflatten(out_treedef, results))}",
    ]
    namespace = writer.constants | {"run": run, "wrap": wrap_own, "MISS": MISS}
    exec(compile("\n".join(lines), f"{GENERATED}direct call>", "exec"), namespace)
    return namespace["direct"]  # type: ignore[no-any-return]


def _only_containers(treedef: Any) -> bool:
    """Whether a tree has tuples, lists, dicts, named tuples and None for nodes, and no others."""
    kind = optree.PyTreeKind(treedef.kind)
    known = kind in (
        optree.PyTreeKind.LEAF,
        optree.PyTreeKind.NONE,
        optree.PyTreeKind.TUPLE,
        optree.PyTreeKind.LIST,
        optree.PyTreeKind.DICT,
        optree.PyTreeKind.NAMEDTUPLE,
    )
    return known and all(map(_only_containers, treedef.children()))


class _Writer:
    def __init__(self, avals: Sequence[Aval]) -> None:
        self.avals = avals
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {"Array": Array, "ndarray": np.ndarray}
        self._nodes = 0

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def check(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return MISS")

    def unpack(self, places: Any, name: str) -> None:
        """Take apart what the variable `name` holds: a container, with the number of each leaf in its place."""
        if places is None:
            self.check(f"{name} is not None")
            return
        if name != "args":
            self.check(f"type({name}) is not {self.constant(type(places))}")
        if type(places) is dict:
            # A function may depend on the order of its keys.
            self.check(f"[*{name}] != {self.constant([*places])}")
            children, taken = [*places.values()], f"{name}.values()"
        else:
            self.check(f"len({name}) != {len(places)}")
            children, taken = [*places], name
        names = []
        for child in children:
            if type(child) is int:
                names.append(f"x{child}")
            else:
                self._nodes += 1
                names.append(f"n{self._nodes}")
        self.lines.append(f"[{', '.join(names)}] = {taken}")
        for child, child_name in zip(children, names, strict=True):
            if type(child) is int:
                self.leaf(self.avals[child], child_name)
            else:
                self.unpack(child, child_name)

    def leaf(self, aval: Aval, name: str) -> None:
        self.lines.append(f"if type({name}) is Array: {name} = {name}._value")
        if aval.weak:
            self.check(f"type({name}) is not {python_type(aval.dtype).__name__}")
            return
        # An equal dtype that is another object takes the long way.
        wrong = f"{name}.dtype is not {self.constant(aval.dtype)} or {name}.shape != {aval.shape}"
        if aval.shape:
            self.check(f"type({name}) is not ndarray or {wrong}")
        else:
            scalar = self.constant(aval.dtype.type)
            self.check(f"type({name}) is not {scalar} and type({name}) is not ndarray or {wrong}")

    def built(self, tree: Any) -> str:
        """The expression of a result, whose leaves are the names of the values."""
        if tree is None:
            return "None"
        if type(tree) is str:
            return f"wrap({tree})"
        if type(tree) is dict:
            pairs = [f"{self.constant(key)}: {self.built(child)}" for key, child in tree.items()]
            return f"{{{', '.join(pairs)}}}"
        parts = ", ".join(map(self.built, tree))
        if type(tree) is list:
            return f"[{parts}]"
        if type(tree) is tuple:
            return f"({parts},)" if parts else "()"
        return f"{self.constant(type(tree))}({parts})"
