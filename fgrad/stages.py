"""The stages of a compiled function, for annotations and ``isinstance``."""

from fgrad.transforms.jit import Compiled, Lowered
from fgrad.transforms.jit import JitFunction as Wrapped

#: What ``jit(f).trace(...)`` gives: it is lowered already.
Traced = Lowered

__all__ = ["Compiled", "Lowered", "Traced", "Wrapped"]
