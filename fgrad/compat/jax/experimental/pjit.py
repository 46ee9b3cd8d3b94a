"""``jit`` under its earlier name, and the kind of its calls."""

from fgrad.transforms.call_kinds import jit_p as pjit_p
from fgrad.transforms.jit import jit as pjit

__all__ = ["pjit", "pjit_p"]
