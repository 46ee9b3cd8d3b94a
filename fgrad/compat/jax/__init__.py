"""fgrad under the names of JAX: what ``import jax`` gives after `fgrad.compat.install`.

Names that are not here come from `fgrad`.
"""

from __future__ import annotations

import importlib
from typing import Any

from fgrad.compat.jax.version import __version__, __version_info__
from fgrad.compat.shard_map import shard_map
from fgrad.sharding import NamedSharding, PartitionSpec
from fgrad.sharding import PartitionSpec as P

__all__ = [
    "NamedSharding",
    "P",
    "PartitionSpec",
    "__version__",
    "__version_info__",
    "shard_map",
]


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("fgrad"), name)
