"""Functions with batching rules of their own."""

from __future__ import annotations

from fgrad.transforms.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
