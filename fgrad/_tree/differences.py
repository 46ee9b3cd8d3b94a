"""Differences of structures in words, for the errors that users read."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any, Final

from fgrad._tree.nodes import KINDS, NoneType, keys_of
from fgrad._tree.spec import Spec, same_node, spec_string

_SHOWN_KEYS: Final = 10
_SHOWN_CHARACTERS: Final = 500
_DICTS: Final = (dict, collections.OrderedDict, collections.defaultdict)


def difference(
    a: Spec, b: Spec, path: str = "", *, prefix: bool = False
) -> tuple[str, Spec, Spec] | None:
    """Return the path to the first difference and the specs there; None if there is none.

    With ``prefix``, a leaf of ``a`` fits whatever ``b`` has in its place.
    """
    if a is None:
        return None if prefix or b is None else (path, a, b)
    if b is None or not same_node(a, b):
        return path, a, b
    for key, x, y in zip(keys_of(a[0], a[1], len(a[2])), a[2], b[2], strict=True):
        found = difference(x, y, f"{path}{key}", prefix=prefix)
        if found is not None:
            return found
    return None


def explain(
    a: Spec, b: Spec, a_name: str, b_name: str, root: str = "", *, prefix: bool = False
) -> str:
    """Say where two structures differ first and how, then show both.

    Parameters
    ----------
    a, b
        The structures.
    a_name, b_name
        What the user calls the trees.
    root
        What the path to the difference starts with.
    prefix
        Whether a leaf of ``a`` fits whatever ``b`` has in its place.
    """
    found = difference(a, b, root, prefix=prefix)
    if found is None:
        return f"{a_name} and {b_name} have the same structure {_shown(a)}"
    path, x, y = found
    at = f"at {path}" if path else "at the root"
    return (
        f"{at} there is {_words(x)} in {a_name} but {_words(y)} in {b_name}"
        f"{_odd_keys(x, y, a_name, b_name)}{_same_names(x, y)}\n"
        f"  {a_name}: {_shown(a)}\n  {b_name}: {_shown(b)}"
    )


def _shown(spec: Spec) -> str:
    text = f"PyTreeDef({spec_string(spec)})"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _words(spec: Spec) -> str:
    if spec is None:
        return "a leaf"
    t, meta, specs, _ = spec
    n = len(specs)
    if t is NoneType:
        return "None"
    if t is tuple or t is list:
        return f"a {t.__name__} of length {n}"
    if t in _DICTS:
        keys = _keys(t, meta)
        shown = ", ".join([repr(key) for key in keys[:_SHOWN_KEYS]])
        more = ", ..." if n > _SHOWN_KEYS else ""
        return f"a {t.__name__} with the keys {shown}{more}" if n else f"an empty {t.__name__}"
    children = f"{n} child" if n == 1 else f"{n} children"
    if t not in KINDS or meta is None:
        return f"a {t.__qualname__} of {children}"
    return f"a {t.__qualname__} of {children} and metadata {meta!r}"


def _keys(t: type, meta: Any) -> tuple[Any, ...]:
    keys: tuple[Any, ...] = meta[1] if t is collections.defaultdict else meta
    return keys


def _odd_keys(x: Spec, y: Spec, x_name: str, y_name: str) -> str:
    if x is None or y is None or x[0] is not y[0] or x[0] not in _DICTS:
        return ""
    x_keys, y_keys = _keys(x[0], x[1]), _keys(y[0], y[1])
    only = [
        f"only in {name}: {', '.join([repr(key) for key in odd[:_SHOWN_KEYS]])}"
        for name, odd in ((x_name, _without(x_keys, y_keys)), (y_name, _without(y_keys, x_keys)))
        if odd
    ]
    return f" ({'; '.join(only)})" if only else ""


def _without(keys: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    known = set(others)
    return [key for key in keys if key not in known]


def _same_names(x: Spec, y: Spec) -> str:
    """Explain two classes of one name, as a class statement that was run twice makes them."""
    if x is None or y is None or x[0] is y[0] or x[0].__qualname__ != y[0].__qualname__:
        return ""
    return f" (two classes of this name, from {x[0].__module__} and {y[0].__module__})"
