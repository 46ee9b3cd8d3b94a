"""The user's names for values: that of the argument, or of the variable that a line assigns to.

A value has the name of a variable where the instruction that made it is followed by one that stores
into that variable. So a name is never given to a part of what the variable holds.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType
from typing import Any

from fgrad.ir.jaxpr import Eqn

_CACHE = dis.opmap["CACHE"]
_UNPACK = dis.opmap["UNPACK_SEQUENCE"]
_FAST = {dis.opmap[n] for n in ("STORE_FAST", "STORE_DEREF") if n in dis.opmap}
_NAMED = {dis.opmap[n] for n in ("STORE_NAME", "STORE_GLOBAL") if n in dis.opmap}
# Two instructions in one, of which the first stores; its variable is in the high bits.
_DOUBLE = {
    dis.opmap[n] for n in ("STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST") if n in dis.opmap
}
_TWO_STORES = dis.opmap.get("STORE_FAST_STORE_FAST")


def name_results(eqns: Sequence[Eqn]) -> None:
    """Give variables the names that their values have in the user's functions.

    The equations must be as they were recorded: what one call computed in several of them is named at
    the last one.
    """
    following: Any = None
    known: dict[Any, tuple[str, ...]] = {}
    for eqn in reversed(eqns):
        source = eqn.source
        if eqn.silent:
            # A derivative has no name; what it comes between is not one call.
            following = None
            continue
        if type(source) is str or source is None:
            continue
        place = source[0], source[1]
        if following is not None and place[0] is following[0] and place[1] == following[1]:
            continue
        following = place
        # Code objects are dear to hash, and live as long as the equations.
        key = id(place[0]), place[1]
        names = known.get(key)
        if names is None:
            names = known[key] = stored_names(*place)
        if len(names) == len(eqn.outputs):
            for var, name in zip(eqn.outputs, names, strict=True):
                if var.name is None:
                    var.name = name


def stored_names(code: CodeType, instruction: int) -> tuple[str, ...]:
    """The variables that the result of an instruction is stored into at once."""
    text = code.co_code
    at = _next(text, instruction)
    if at < len(text) and text[at] == _UNPACK:
        count = text[at + 1]
        names: list[str] = []
        at = _next(text, at)
        while at < len(text) and len(names) < count:
            found = _stored(code, text[at], text[at + 1])
            if not found:
                return ()
            names += found
            at = _next(text, at)
        return tuple(names)
    return _stored(code, text[at], text[at + 1])[:1] if at < len(text) else ()


def _next(text: bytes, at: int) -> int:
    """Where the following instruction is, behind the space that this one keeps for itself."""
    at += 2
    while at < len(text) and text[at] == _CACHE:
        at += 2
    return at


def _stored(code: CodeType, operation: int, argument: int) -> tuple[str, ...]:
    if operation in _NAMED:
        return (code.co_names[argument],)
    variables = _variables(code)
    if operation in _FAST:
        return (variables[argument],)
    if operation in _DOUBLE:
        first, second = variables[argument >> 4], variables[argument & 15]
        return (first, second) if operation == _TWO_STORES else (first,)
    return ()


def _variables(code: CodeType) -> tuple[str, ...]:
    """The variables of a function by number: those that inner functions share keep their place."""
    shared = tuple([n for n in code.co_cellvars if n not in code.co_varnames])
    return (*code.co_varnames, *shared, *code.co_freevars)
