"""The types of carries and of branch results: how they settle, and errors that show them side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.avals import Aval, aval_of
from fgrad.errors import CarryTypeError
from fgrad.primitives.elementwise import convert
from fgrad.primitives.promotion import common_dtype
from fgrad.transforms._arguments import tree_text
from fgrad.transforms.bodies import Body

_SHOWN = 20


class Typed:
    """The leaves of a tree by name, with their types."""

    def __init__(self, tree: Any, root: str, avals: Sequence[Any]) -> None:
        self.treedef = _tree.structure(tree)
        self.avals = list(avals)
        self.rows = dict(zip(_tree.leaf_names(tree, root), self.avals, strict=True))


def type_words(aval: Aval | None) -> str:
    """A type in the user's words."""
    if aval is None:
        return "(missing)"
    if aval.weak:
        return f"Python {_PYTHON_NAMES[aval.dtype.kind]}"
    return f"{aval.dtype.name}{list(aval.shape)}" if aval.shape else f"{aval.dtype.name} scalar"


_PYTHON_NAMES = {"b": "bool", "i": "int", "f": "float", "c": "complex"}


def side_by_side(
    left: Typed,
    right: Typed,
    heads: tuple[str, str],
    agree: Callable[[Any, Any], bool] = Aval.fits,
    words: Callable[[Any], str] = type_words,
) -> str:
    """A table of two trees, the leaves that do not agree marked."""
    names = list(dict.fromkeys([*left.rows, *right.rows]))
    rows = []
    for name in names:
        one, other = left.rows.get(name), right.rows.get(name)
        same = one is not None and other is not None and agree(one, other)
        rows.append((name, words(one), words(other), "" if same else "  <-- differs"))
    differing = [row for row in rows if row[3]]
    shown = rows if len(rows) <= _SHOWN else differing[:_SHOWN]
    table = [("", *heads, ""), *shown]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False)).rstrip() + row[3]
        for row in table
    ]
    if len(shown) < len(rows):
        lines.append(f"and {len(rows) - len(shown)} more leaves")
    if left.treedef != right.treedef:
        width = max(map(len, heads))
        lines.append("the structures differ:")
        for head, tree in zip(heads, (left.treedef, right.treedef), strict=True):
            lines.append(f"  {head.ljust(width)}  {tree_text(tree)}")
    return "\n    ".join(["", *lines])


def _joined(one: Aval, other: Aval) -> Aval | None:
    """The type that stands for both; None where only a conversion by hand could tell.

    Shapes and strong dtypes are never changed; a Python number takes the dtype of what it stands for.
    """
    if one.shape != other.shape:
        return None
    if one.dtype == other.dtype:
        return one if not one.weak else other
    if not (one.weak or other.weak):
        return None
    common = common_dtype((one, other))
    if one.weak and other.weak:
        return None
    strong = other if one.weak else one
    return strong if common == strong.dtype else None


def next_carry(init: Aval, returned: Aval) -> Aval | None:
    """The type of a carry that begins as `init` and that the body returns as `returned`."""
    if init.weak and returned.weak and init.shape == returned.shape:
        # A Python int that becomes a float.
        return returned if common_dtype((init, returned)) == returned.dtype else None
    return _joined(init, returned)


def settle_carry(
    where: str,
    init: Any,
    avals: Sequence[Aval],
    record: Callable[[Sequence[Aval], Callable[..., list[Any]]], Body],
    carry_of: Callable[[Any], Any],
    hidden: int = 0,
) -> tuple[list[Aval], Body]:
    """Record a body with the carry that fits: the types of the carry, and the body.

    `record` takes the types of the carry and what brings the carry that is returned to them; `carry_of`
    finds it in the result of the user's function. The first `hidden` leaves are none of the user's.

    Raises
    ------
    CarryTypeError
        If the body returns a carry of another structure, shape or dtype.
    """
    current = list(avals)
    treedef = _tree.structure(init)
    widened = False

    def settle(values: list[Any], result: Any) -> list[Any]:
        nonlocal current, widened
        carry = carry_of(result)
        stop = hidden + len(_tree.leaves(carry))
        given = Typed(init, "carry", current[hidden:])
        returned = Typed(carry, "carry", [aval_of(v) for v in values[hidden:stop]])
        found: list[Aval | None] = [None]
        if returned.treedef == treedef:
            found = [next_carry(a, aval_of(v)) for a, v in zip(current, values, strict=False)]
        if None in found:
            heads = "init", "returned"
            table = side_by_side(given, returned, heads, lambda a, b: next_carry(a, b) is not None)
            raise CarryTypeError(
                f"{where}: the carry must keep its structure, shapes and dtypes, but the function returns "
                f"another one:{table}\n{_advice(given, returned)}"
            )
        wanted = [a for a in found if a is not None]
        widened = wanted != current
        current = wanted
        carried = [convert(v, a.dtype, a.weak) for v, a in zip(values[:stop], wanted, strict=True)]
        return [*carried, *values[stop:]]

    while True:
        body = record(current, settle)
        if not widened:
            return current, body


def _advice(given: Typed, returned: Typed) -> str:
    if given.treedef != returned.treedef:
        return "return the same containers and keys as those of the initial carry"
    for name, aval in given.rows.items():
        other = returned.rows[name]
        if next_carry(aval, other) is not None:
            continue
        if aval.shape != other.shape:
            return f"give the initial value of {name} the shape {other.shape}, or return the shape {aval.shape}"
        return (
            f"convert what is returned with .astype({aval.dtype.name!r}), or start {name} with dtype "
            f"{other.dtype.name}"
        )
    return "return the carry in the type that it is given in"
