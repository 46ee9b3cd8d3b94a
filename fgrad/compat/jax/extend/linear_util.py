"""Functions wrapped for the transforms of JAX."""

from fgrad.compat.wrapped_functions import WrappedFun, transformation, wrap_init

__all__ = ["WrappedFun", "transformation", "wrap_init"]
