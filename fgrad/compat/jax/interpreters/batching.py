"""Batches of primitives."""

from fgrad.compat.primitives import axis_primitive_batchers, primitive_batchers

__all__ = ["axis_primitive_batchers", "not_mapped", "primitive_batchers"]

#: The axis of an operand that is the same for all examples.
not_mapped = None
