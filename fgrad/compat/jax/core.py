"""What ``jax.core`` has beside the names of `fgrad.core`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.avals import Aval as AbstractValue
from fgrad.compat.avals import mapped_aval, unmapped_aval
from fgrad.compat.programs import eval_jaxpr, jaxpr_as_fun
from fgrad.compat.traces import (
    DropVar,
    Trace,
    TraceTag,
    find_top_trace,
    get_opaque_trace_state,
    set_current_trace,
    take_current_trace,
    trace_state_clean,
)
from fgrad.ir.jaxpr import Atom
from fgrad.ir.jaxpr import Jaxpr as ClosedJaxpr

__all__ = [
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "DropVar",
    "Trace",
    "TraceTag",
    "eval_jaxpr",
    "find_top_trace",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "mapped_aval",
    "pytype_aval_mappings",
    "set_current_trace",
    "take_current_trace",
    "trace_state_clean",
    "unmapped_aval",
]

#: Types that programs want to be arrays. Those with ``__array__`` or ``__jax_array__`` are, without being here.
pytype_aval_mappings: dict[type, Any] = {np.ndarray: None}
