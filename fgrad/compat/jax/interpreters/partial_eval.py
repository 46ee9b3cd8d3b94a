"""Which results of a function are known when only some of its arguments are."""

from fgrad.compat.partial_values import PartialVal, trace_to_jaxpr_nounits

__all__ = ["PartialVal", "trace_to_jaxpr_nounits"]
