"""From a jaxpr to a Python function that computes it with NumPy."""

from fgrad.compiler.compile import Executable, compiled

__all__ = ["Executable", "compiled"]
