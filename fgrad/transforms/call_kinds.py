"""What the primitives of recorded calls are compared with: each call has a primitive of its own."""

from __future__ import annotations

from fgrad.tracing import Primitive
from fgrad.transforms.call import Call
from fgrad.transforms.custom_jvp import CustomJVPCall
from fgrad.transforms.custom_vjp import CustomVJPCall


class CallKind:
    """A kind of calls, to which the primitive of every such call is equal.

    Walkers of jaxprs that were written for JAX ask ``eqn.primitive == custom_jvp_call_p``. They must ask so:
    no primitive is a kind, and a table of primitives finds none under it.

    Attributes
    ----------
    name : str
    multiple_results : bool
        True: a call has a list of results.
    """

    multiple_results = True

    def __init__(self, name: str, made_by: type[Primitive]) -> None:
        self.name = name
        self._made_by = made_by

    def __eq__(self, other: object) -> bool:
        return self is other or type(other) is self._made_by

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return self.name


#: The calls of functions with a rule by `custom_jvp`; the parameter "call_jaxpr" is what is called.
custom_jvp_call_p = CallKind("custom_jvp_call", CustomJVPCall)
#: The calls of functions with rules by `custom_vjp`; the parameter "call_jaxpr" is what is called.
custom_vjp_call_p = CallKind("custom_vjp_call", CustomVJPCall)
#: The calls of compiled functions; the parameter "jaxpr" is what is called.
jit_p = CallKind("jit", Call)
