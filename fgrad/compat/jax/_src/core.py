"""Types and values in programs."""

from fgrad.compat.jax.core import AbstractValue, get_opaque_trace_state, trace_state_clean
from fgrad.core import ShapedArray, Tracer, get_aval

__all__ = [
    "AbstractValue",
    "ShapedArray",
    "Tracer",
    "get_aval",
    "get_opaque_trace_state",
    "trace_state_clean",
]
