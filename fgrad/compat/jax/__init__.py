"""fgrad under the names of JAX: what ``import jax`` gives after `fgrad.compat.install`.

Names that are not here come from `fgrad`.
"""

from __future__ import annotations

import importlib
from typing import Any

from fgrad.compat.shard_map import shard_map
from fgrad.compat.version import JAX_VERSION
from fgrad.sharding import NamedSharding, PartitionSpec
from fgrad.sharding import PartitionSpec as P

__all__ = ["NamedSharding", "P", "PartitionSpec", "shard_map"]

__version__ = JAX_VERSION
__version_info__ = tuple(int(part) for part in JAX_VERSION.split("."))


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("fgrad"), name)
