"""What holds an object, in the user's words: where a value was kept that should not have been."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import CellType, FunctionType, ModuleType
from typing import Any

# From an element of a list to the function that closes over the list.
_DEPTH = 4
# A value that so many containers hold is not kept in one place.
_MANY = 200
_CONTAINERS = (dict, list, tuple, set, CellType)


def holder_text(value: Any) -> str:
    """``global kept of module train``, or nothing where no name is found.

    It has the garbage collector look at every object: this is for messages of errors only.
    """
    namespaces = {
        id(vars(m)): name for name, m in list(sys.modules.items()) if hasattr(m, "__dict__")
    }
    seen = {id(value)}
    level = [value]
    for _ in range(_DEPTH):
        holders = [h for h in gc.get_referrers(*level) if id(h) not in seen and h is not level]
        if len(holders) > _MANY:
            return ""
        for holder in holders:
            for text in _names(holder, seen, namespaces):
                return text
        seen.add(id(level))
        level = [h for h in holders if isinstance(h, _CONTAINERS)]
        seen.update(map(id, level))
        seen.add(id(holders))
    return ""


def _names(holder: Any, seen: set[int], namespaces: dict[int, str]) -> Iterator[str]:
    """What users call the place in `holder` that has one of the objects with ids in `seen`."""
    kind = type(holder)
    if isinstance(holder, dict):
        module = namespaces.get(id(holder))
        if module is not None and not module.startswith("fgrad."):
            yield from (
                f"global {k} of module {module}" for k, v in holder.items() if id(v) in seen
            )
    elif isinstance(holder, FunctionType):
        cells = zip(holder.__code__.co_freevars, holder.__closure__ or (), strict=True)
        yield from (
            f"variable {name}, which {holder.__name__} closes over"
            for name, cell in cells
            if id(cell) in seen
        )
    elif not isinstance(holder, ModuleType) and not kind.__module__.startswith(
        ("fgrad", "builtins")
    ):
        attributes = getattr(holder, "__dict__", None)
        if isinstance(attributes, dict):
            yield from (
                f"attribute {k} of a {kind.__name__}"
                for k, v in attributes.items()
                if id(v) in seen
            )
