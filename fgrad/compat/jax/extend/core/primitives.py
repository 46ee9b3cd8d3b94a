"""The primitives of JAX that programs compare those of an equation with.

The primitives of recorded calls are equal to the kinds that their names stand for. For the others fgrad has
primitives of its own: where a program looks for one of them in what it has recorded, it finds none.
"""

from fgrad.compat.primitives import Primitive
from fgrad.transforms.call_kinds import custom_jvp_call_p, custom_vjp_call_p, jit_p

call_p = Primitive("call")
closed_call_p = Primitive("closed_call")
cond_p = Primitive("cond")
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
