"""Where a program must look for NaN so that its absorbing products may run unguarded.

A product of a zero cotangent and an infinite slope, left unguarded, is NaN. So each product is looked
at, or better some small value in which its NaN would show. Where a NaN is found, the program runs again
with guards.
"""

from __future__ import annotations

from typing import Any

from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from fgrad.primitives.families import Bilinear, Elementwise, Linear, absorbing_product

_HARMLESS = (Elementwise, Linear, Bilinear)


def place_guards(jaxpr: Jaxpr) -> frozenset[Var] | None:
    """The variables to look at once they are computed; None for a program without absorbing products."""
    products = [e.outputs[0] for e in jaxpr.eqns if e.primitive is absorbing_product]
    if not products:
        return None
    #: The smallest value in which a NaN of a variable would show.
    shown: dict[Var, Var] = {}
    #: What reaches an operation that a NaN might lead astray: it must be looked at before.
    exposed: set[Any] = set()
    for eqn in reversed(jaxpr.eqns):
        reached = [a for a in eqn.inputs if type(a) is not Literal]
        harmless = isinstance(eqn.primitive, _HARMLESS)
        if not harmless or not exposed.isdisjoint(eqn.outputs):
            exposed.update(reached)
        if _keeps_nan(eqn):
            (out,) = eqn.outputs
            smallest = shown.get(out, out)
            for var in reached:
                if smallest.aval.size <= shown.get(var, var).aval.size:
                    shown[var] = smallest
    return frozenset(v if v in exposed else shown.get(v, v) for v in products)


def _keeps_nan(eqn: Eqn) -> bool:
    """Whether a NaN anywhere in an operand shows in the result."""
    if len(eqn.outputs) != 1:
        return False
    aval = eqn.outputs[0].aval
    kept = eqn.primitive is absorbing_product or eqn.primitive.keeps_nan
    return kept and aval.dtype.kind == "f" and aval.size > 0
