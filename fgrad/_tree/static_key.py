"""Static values as cache keys: equal only for values that no program can tell apart."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from fgrad.errors import TreeStructureError


class ByEquality:
    """A value that has no hash of its own: all hash alike, and ``==`` decides."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ByEquality):
            return NotImplemented
        if self.value is other.value:
            return True
        try:
            return bool(self.value == other.value)
        except Exception as error:
            raise TreeStructureError(
                f"the metadata {self.value!r} and {other.value!r} of tree nodes cannot be compared "
                "with ==. What a registered class keeps beside its children must have a plain ==; "
                "arrays belong among the children (data_fields)"
            ) from error

    def __repr__(self) -> str:
        return repr(self.value)


def type_detail(value: Any) -> Any:
    """Return what tells ``value`` apart from hashable values that compare equal to it."""
    t = type(value)
    if value is None or t is str:
        return None
    if isinstance(value, float):
        return t if value else (t, math.copysign(1.0, value))
    if isinstance(value, tuple):
        return (t, *[type_detail(item) for item in value])
    if isinstance(value, frozenset):
        return (t, frozenset((item, type_detail(item)) for item in value))
    if dataclasses.is_dataclass(t) and "__eq__" in t.__dict__:
        compared = (f.name for f in dataclasses.fields(t) if f.compare)
        return (t, *[type_detail(getattr(value, name)) for name in compared])
    return t


def static_key(value: Any) -> Any:
    """Return a hashable that is equal for values that no program can tell apart, and only for them.

    ``1``, ``True`` and ``1.0`` have different keys, as have ``0.0`` and ``-0.0``. Built-in
    containers and arrays without a hash are copied into the key, so that a later change of the
    value does not change the key; other values without a hash are compared with ``==``.
    """
    t = type(value)
    try:
        hash(value)
    except TypeError:
        if isinstance(value, dict):
            items = [(k, type_detail(k), static_key(v)) for k, v in value.items()]
            return (t, tuple(items))
        if isinstance(value, (tuple, list)):
            return (t, tuple([static_key(item) for item in value]))
        if isinstance(value, (set, frozenset)):
            return (t, frozenset(static_key(item) for item in value))
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return (t, value.shape, value.dtype, value.tobytes())
        return (t, ByEquality(value))
    return (value, type_detail(value))
