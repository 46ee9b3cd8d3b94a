"""The devices of one machine: NumPy computes on its CPU, and results are always ready.

Programs that are written for several devices run here as they are. How many they see is the flag
``num_cpu_devices``; all of them are the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import Array, value, wrap
from fgrad.config import config
from fgrad.errors import ArgumentError
from fgrad.source_info import boundary
from fgrad.tracing import Tracer

PyTree = Any


@dataclass(frozen=True)
class Device:
    """A place for arrays. All devices are the CPU of this machine.

    Attributes
    ----------
    id : int
        Its number.
    platform, device_kind : str
        "cpu".
    process_index : int
        0: there is one process.
    """

    id: int
    platform: str = "cpu"
    device_kind: str = "cpu"
    process_index: int = 0

    @property
    def local_hardware_id(self) -> int:
        """The number of the device in its process."""
        return self.id

    def memory_stats(self) -> None:
        """NumPy counts no memory: None, as for CPUs in JAX."""
        return

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"


def default_backend() -> str:
    """The name of the platform.

    Returns
    -------
    str
        "cpu".

    Examples
    --------
    >>> import fgrad
    >>> fgrad.default_backend()
    'cpu'
    """
    return "cpu"


def devices(backend: str | None = None) -> list[Device]:
    """All devices.

    Parameters
    ----------
    backend : str, optional
        The platform: "cpu" is the only one.

    Returns
    -------
    list of Device
        As many as the flag ``num_cpu_devices`` says.

    Raises
    ------
    ArgumentError
        For another platform.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.devices()
    [CpuDevice(id=0)]
    """
    if backend not in (None, "cpu"):
        raise ArgumentError(
            f"devices: there are no devices of platform {backend!r}; NumPy computes on 'cpu'"
        )
    return [Device(i) for i in range(config.num_cpu_devices)]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process: all of them.

    Parameters
    ----------
    process_index, host_id : int, optional
        0: there is one process.
    backend : str, optional
        The platform: "cpu" is the only one.

    Returns
    -------
    list of Device

    Raises
    ------
    ArgumentError
        For another platform or process.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.local_devices()
    [CpuDevice(id=0)]
    """
    for index in (process_index, host_id):
        if index not in (None, 0):
            raise ArgumentError(
                f"local_devices: there is no process {index}; the only one has index 0"
            )
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices there are: the flag ``num_cpu_devices``, 1 by default.

    Parameters
    ----------
    backend : str, optional
        The platform: "cpu" is the only one.

    Returns
    -------
    int

    Raises
    ------
    ArgumentError
        For another platform.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.device_count()
    1
    """
    return len(devices(backend))


local_device_count = device_count


def process_index(backend: str | None = None) -> int:
    """The number of this process: 0.

    Parameters
    ----------
    backend : str, optional
        Accepted and ignored.

    Returns
    -------
    int

    Examples
    --------
    >>> import fgrad
    >>> fgrad.process_index()
    0
    """
    return 0


def process_count(backend: str | None = None) -> int:
    """How many processes there are: 1.

    Parameters
    ----------
    backend : str, optional
        Accepted and ignored.

    Returns
    -------
    int

    Examples
    --------
    >>> import fgrad
    >>> fgrad.process_count()
    1
    """
    return 1


def _placed(leaf: Any) -> Any:
    return leaf if isinstance(leaf, Array | Tracer) else wrap(value(leaf, "device_put: x"))


@boundary
def device_put(
    x: PyTree,
    device: Any = None,
    *,
    src: Any = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> PyTree:
    """Arrays of fgrad from arrays and numbers.

    Parameters
    ----------
    x : array_like or tree of them
    device, src, donate, may_alias
        Accepted and ignored: there is one memory.

    Returns
    -------
    tree
        The same tree of Arrays. Memory that the caller can write to is copied. Differentiable.

    Raises
    ------
    NonArrayError
        If a leaf is not an array or number.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.device_put({"w": np.ones(2)})
    {'w': Array([1., 1.], dtype=float64)}
    """
    return _tree.map(_placed, x)


@boundary
def device_get(x: PyTree) -> PyTree:
    """Plain, writable NumPy arrays from arrays of fgrad.

    Parameters
    ----------
    x : array_like or tree of them

    Returns
    -------
    tree
        The same tree of NumPy arrays.

    Raises
    ------
    TracerArrayConversionError
        If a leaf is traced.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> fgrad.device_get([fnp.ones(2)])
    [array([1., 1.])]
    """
    return _tree.map(np.array, x)


def block_until_ready(x: PyTree) -> PyTree:
    """The same tree: results are always ready.

    Parameters
    ----------
    x : tree

    Returns
    -------
    tree
        `x` itself.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> fgrad.block_until_ready(fnp.ones(2))
    Array([1., 1.], dtype=float64)
    """
    return x


@boundary
def device_put_replicated(x: PyTree, devices: Sequence[Device]) -> PyTree:
    """One copy for each device, along a new leading axis.

    Parameters
    ----------
    x : array_like or tree of them
    devices : sequence of Device
        Only their number counts.

    Returns
    -------
    tree
        Like `x`, with a leading axis of that length.

    Raises
    ------
    NonArrayError
        If a leaf is not an array or number.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.device_put_replicated(3.0, fgrad.local_devices())
    Array([3.], dtype=float64)
    """
    count = len(devices)
    return _tree.map(lambda leaf: _placed(np.broadcast_to(leaf, (count, *np.shape(leaf)))), x)


@boundary
def device_put_sharded(shards: Sequence[PyTree], devices: Sequence[Device]) -> PyTree:
    """One tree for each device, joined along a new leading axis.

    Parameters
    ----------
    shards : sequence of trees
        Trees of arrays of equal shapes.
    devices : sequence of Device
        As many as there are shards.

    Returns
    -------
    tree
        Like a shard, with a leading axis.

    Raises
    ------
    ArgumentError
        If there is not one shard for each device.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.device_put_sharded([3.0], fgrad.local_devices())
    Array([3.], dtype=float64)
    """
    if len(shards) != len(devices):
        raise ArgumentError(
            f"device_put_sharded: {len(shards)} shards for {len(devices)} devices; give one each"
        )
    first, *rest = shards
    return _tree.map(lambda *leaves: _placed(np.stack(leaves)), first, *rest)


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes: there is one.

    Parameters
    ----------
    backend : str, optional
        Accepted and ignored.

    Returns
    -------
    list of int

    Examples
    --------
    >>> import fgrad
    >>> fgrad.process_indices()
    [0]
    """
    return [0]


#: Older names of the same.
host_id, host_count, host_ids = process_index, process_count, process_indices


def effects_barrier() -> None:
    """Wait for all effects: they have happened when the function that has them returns.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.effects_barrier()
    """
