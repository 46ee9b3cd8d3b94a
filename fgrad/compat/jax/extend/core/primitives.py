"""The primitives of JAX that programs compare those of an equation with.

fgrad records primitives of its own, which are none of these: where a program looks for one of them in what it
has recorded, it finds that there is none.
"""

from fgrad.compat.primitives import Primitive

call_p = Primitive("call")
closed_call_p = Primitive("closed_call")
cond_p = Primitive("cond")
custom_jvp_call_p = Primitive("custom_jvp_call")
custom_vjp_call_p = Primitive("custom_vjp_call")
jit_p = Primitive("jit")
scan_p = Primitive("scan")
while_p = Primitive("while")

__all__ = [
    "call_p",
    "closed_call_p",
    "cond_p",
    "custom_jvp_call_p",
    "custom_vjp_call_p",
    "jit_p",
    "scan_p",
    "while_p",
]
