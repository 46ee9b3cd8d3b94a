"""How arrays lie in the memory of a device: as NumPy has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Format", "Layout"]


@dataclass(frozen=True)
class Layout:
    """The order of the axes in memory; kept, and without effect."""

    major_to_minor: tuple[int, ...] | None = None
    tiling: Any = None


@dataclass(frozen=True)
class Format:
    """A layout on devices; kept, and without effect."""

    layout: Layout | None = None
    sharding: Any = None
