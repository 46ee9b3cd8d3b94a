"""Checkpoints of reverse mode, their policies, and names for what they keep."""

from __future__ import annotations

from fgrad import checkpoint_policies
from fgrad.transforms.checkpoint import checkpoint, remat
from fgrad.transforms.checkpoint_policies import checkpoint_name

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "remat"]
