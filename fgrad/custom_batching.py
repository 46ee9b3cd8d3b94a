"""Functions with batching rules of their own."""

from __future__ import annotations

import sys as _sys

from fgrad.source_info import guard as _guard
from fgrad.transforms.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]

_guard(_sys.modules[__name__])
