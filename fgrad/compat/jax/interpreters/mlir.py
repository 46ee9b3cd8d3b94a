"""Lowerings of primitives."""

from fgrad.compat.primitives import lower_fun, register_lowering

__all__ = ["lower_fun", "register_lowering"]
