"""What ``jax.sharding`` has beside the names of `fgrad.sharding`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from fgrad.sharding import NamedSharding as PmapSharding
from fgrad.sharding import Sharding as PositionalSharding

__all__ = [
    "AbstractMesh",
    "PmapSharding",
    "PositionalSharding",
    "get_abstract_mesh",
    "reshard",
]


class AbstractMesh:
    """The names and sizes of the axes of a mesh, without devices."""

    def __init__(
        self, axis_sizes: Sequence[int] = (), axis_names: Sequence[str] = (), axis_types: Any = None
    ) -> None:
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = tuple(axis_names)
        self.axis_types = axis_types

    @property
    def shape(self) -> OrderedDict[str, int]:
        """The size of each axis by its name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def empty(self) -> bool:
        """Whether it has no axes."""
        return not self.axis_names


def get_abstract_mesh() -> AbstractMesh:
    """The mesh of the program around: there is none, since arrays are everywhere."""
    return AbstractMesh()


def reshard(x: Any, sharding: Any) -> Any:
    """The arrays themselves, which every device has."""
    return x
