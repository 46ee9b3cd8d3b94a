"""Checkpoints of reverse mode, their policies, and names for what they keep."""

from __future__ import annotations

import sys as _sys

from fgrad import checkpoint_policies
from fgrad.source_info import guard as _guard
from fgrad.transforms.checkpoint import checkpoint, remat
from fgrad.transforms.checkpoint_policies import checkpoint_name
from fgrad.transforms.saved_residuals import print_saved_residuals

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "remat"]

_guard(_sys.modules[__name__])
