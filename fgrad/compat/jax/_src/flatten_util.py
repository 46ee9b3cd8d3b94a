"""Trees as one array."""

from fgrad.flatten_util import ravel_pytree

__all__ = ["ravel_pytree"]
