"""Functions with derivatives of their own, and what their rules meet."""

from __future__ import annotations

from fgrad.transforms.custom_jvp import custom_jvp
from fgrad.transforms.custom_vjp import custom_vjp
from fgrad.transforms.symbolic_zero import CustomVJPPrimal, SymbolicZero

__all__ = ["CustomVJPPrimal", "SymbolicZero", "custom_jvp", "custom_vjp"]
