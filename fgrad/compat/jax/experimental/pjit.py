"""``jit`` under its earlier name."""

from fgrad.transforms.jit import jit as pjit

__all__ = ["pjit"]
