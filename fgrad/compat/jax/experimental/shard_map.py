"""Functions of the parts of arrays that devices have."""

from fgrad.compat.shard_map import shard_map

__all__ = ["shard_map"]
