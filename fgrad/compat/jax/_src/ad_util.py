"""Primitives without derivatives."""

from fgrad.compat.primitives import Primitive, Zero

__all__ = ["Zero", "stop_gradient_p"]

#: Programs give it a transpose of their own. It is never recorded: `lax.stop_gradient` has no tangent.
stop_gradient_p = Primitive("stop_gradient")
