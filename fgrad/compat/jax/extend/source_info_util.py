"""Where in the user's code an operation is."""

from fgrad.compat.jax._src.traceback_util import register_exclusion

__all__ = ["register_exclusion"]
