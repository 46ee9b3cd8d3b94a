"""Meshes and shardings of programs for several devices: described, accepted, and without effect.

All devices are one memory, so that every array is everywhere. The classes hold what they are given, and
programs that compute shapes from a mesh find what they expect.
"""

from __future__ import annotations

import enum
import math
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fgrad.devices import Device, devices
from fgrad.errors import ArgumentError
from fgrad.source_info import guard

__all__ = [
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "make_mesh",
]


class AxisType(enum.Enum):
    """Who decides how an axis of a mesh is used; here nobody has to."""

    Auto = "auto"
    Explicit = "explicit"
    Manual = "manual"


class PartitionSpec(tuple):  # type: ignore[type-arg]
    """For each axis of an array, the axis of a mesh that it is laid out over, or None.

    Examples
    --------
    >>> from fgrad.sharding import PartitionSpec as P
    >>> P("data", None)
    PartitionSpec('data', None)
    """

    def __new__(cls, *partitions: Any) -> Self:
        """One entry for each axis of an array."""
        return super().__new__(cls, partitions)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self))})"

    def __reduce__(self) -> Any:
        return PartitionSpec, tuple(self)


class Mesh:
    """Devices in a grid with named axes.

    Parameters
    ----------
    devices : array of Device
        The grid.
    axis_names : str or sequence of str
        One name for each axis of the grid.
    axis_types : tuple of AxisType, optional
        Kept.

    Raises
    ------
    ArgumentError
        If there is not one name for each axis.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> mesh = fgrad.sharding.Mesh(np.array(fgrad.devices()), "data")
    >>> dict(mesh.shape), mesh.size
    ({'data': 1}, 1)
    """

    def __init__(
        self, devices: Any, axis_names: str | Sequence[str], axis_types: Any = None
    ) -> None:
        self.devices = np.array(devices, dtype=object)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        self.axis_types = axis_types
        if len(self.axis_names) != self.devices.ndim:
            raise ArgumentError(
                f"Mesh: {len(self.axis_names)} axis names for a grid of shape {self.devices.shape}; give one for "
                "each axis"
            )

    @property
    def shape(self) -> OrderedDict[str, int]:
        """The size of each axis by its name."""
        return OrderedDict(zip(self.axis_names, self.devices.shape, strict=True))

    @property
    def size(self) -> int:
        """How many devices the mesh has."""
        return int(self.devices.size)

    @property
    def empty(self) -> bool:
        """Whether the mesh has no devices."""
        return not self.devices.size

    @property
    def local_mesh(self) -> Mesh:
        """The part of this process: all of it."""
        return self

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process: all of them."""
        return list(self.devices.flat)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        return

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mesh)
            and self.axis_names == other.axis_names
            and self.devices.shape == other.devices.shape
            and bool((self.devices == other.devices).all())
        )

    def __hash__(self) -> int:
        return hash((self.axis_names, self.devices.shape))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items())
        return f"Mesh({sizes})"


class Sharding:
    """How an array is laid out over devices; here it is everywhere."""

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device has the whole array: they all do."""
        return True

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process reaches the whole array: it does."""
        return True

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the part of one device: that of the whole.

        Parameters
        ----------
        global_shape : tuple of int

        Returns
        -------
        tuple of int
        """
        return tuple(global_shape)


@dataclass(frozen=True)
class NamedSharding(Sharding):
    """The axes of an array over the axes of a mesh.

    Parameters
    ----------
    mesh : Mesh
    spec : PartitionSpec
    memory_kind : str, optional
        Kept.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> from fgrad.sharding import Mesh, NamedSharding, PartitionSpec
    >>> mesh = Mesh(np.array(fgrad.devices()), "data")
    >>> fgrad.device_put(np.ones(2), NamedSharding(mesh, PartitionSpec("data")))
    Array([1., 1.], dtype=float64)
    """

    mesh: Mesh
    spec: PartitionSpec
    memory_kind: str | None = None


@dataclass(frozen=True)
class SingleDeviceSharding(Sharding):
    """An array on one device.

    Parameters
    ----------
    device : Device
    memory_kind : str, optional
        Kept.
    """

    device: Device
    memory_kind: str | None = None


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Any = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A grid of devices with named axes.

    Parameters
    ----------
    axis_shapes : sequence of int
        The size of each axis.
    axis_names : sequence of str
    axis_types : tuple of AxisType, optional
        Kept.
    devices : sequence of Device, optional
        The devices; all of them by default.

    Returns
    -------
    Mesh

    Raises
    ------
    ArgumentError
        If there are too few devices, or not one name for each axis.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.make_mesh((1,), ("data",))
    Mesh('data': 1)
    """
    available = _all_devices() if devices is None else list(devices)
    needed = math.prod(axis_shapes)
    if needed > len(available):
        raise ArgumentError(
            f"make_mesh: a grid of shape {tuple(axis_shapes)} needs {needed} devices, there are {len(available)}; "
            f'have more with fgrad.config.update("fgrad_num_cpu_devices", {needed})'
        )
    grid = np.empty(needed, dtype=object)
    grid[:] = available[:needed]
    return Mesh(grid.reshape(tuple(axis_shapes)), axis_names, axis_types)


_all_devices = devices


guard(sys.modules[__name__])
