"""The one backend there is."""

from fgrad.compat.jax.extend.backend import get_backend

__all__ = ["get_backend"]
