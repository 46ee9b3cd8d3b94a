"""Programs and their parts, as ``jax.extend.core`` has them."""

from fgrad.compat.avals import mapped_aval, unmapped_aval
from fgrad.compat.primitives import Primitive
from fgrad.compat.programs import eval_jaxpr, jaxpr_as_fun
from fgrad.compat.traces import (
    DropVar,
    TraceTag,
    find_top_trace,
    get_opaque_trace_state,
    set_current_trace,
    take_current_trace,
    valid_jaxtype,
)
from fgrad.core import Jaxpr, JaxprEqn, Literal, Var

#: A program carries its constants itself.
ClosedJaxpr = Jaxpr

__all__ = [
    "ClosedJaxpr",
    "DropVar",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "TraceTag",
    "Var",
    "eval_jaxpr",
    "find_top_trace",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "mapped_aval",
    "set_current_trace",
    "take_current_trace",
    "unmapped_aval",
    "valid_jaxtype",
]
