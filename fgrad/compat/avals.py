"""Types of batches and of their examples."""

from __future__ import annotations

from typing import Any

from fgrad.avals import Aval

__all__ = ["mapped_aval", "unmapped_aval"]


def mapped_aval(size: int, axis: int | None, aval: Any) -> Aval:
    """The type of an example of a batch."""
    shape = tuple(aval.shape)
    if axis is not None:
        shape = shape[:axis] + shape[axis + 1 :]
    return Aval(shape, aval.dtype)


def unmapped_aval(size: int, axis: int | None, aval: Any) -> Aval:
    """The type of a batch of examples."""
    shape = tuple(aval.shape)
    if axis is not None:
        shape = (*shape[:axis], size, *shape[axis:])
    return Aval(shape, aval.dtype)
