"""Where a program must look for NaN so that its absorbing products may run unguarded.

A product of a zero cotangent and an infinite slope, left unguarded, is NaN, and NaN passes through sums,
products and changes of shape. So it is enough to look where such a value is about to enter an operation
that might hide NaN, or leaves the program. Where one is found, the program runs again with guards.
"""

from __future__ import annotations

from typing import NamedTuple

from fgrad.ir.jaxpr import Jaxpr, Var
from fgrad.primitives.families import absorbing_product


class Guards(NamedTuple):
    """Variables to look at: before an equation, by its position, and at the end."""

    before: dict[int, list[Var]]
    at_end: list[Var]


def place_guards(jaxpr: Jaxpr) -> Guards | None:
    """Where to look for NaN; None for a program without absorbing products."""
    suspect: dict[Var, None] = {}
    before: dict[int, list[Var]] = {}
    found = False
    for position, eqn in enumerate(jaxpr.eqns):
        touched = [a for a in eqn.inputs if type(a) is Var and a in suspect]
        product = eqn.primitive is absorbing_product
        found = found or product
        real_results = all(v.aval.dtype.kind == "f" for v in eqn.outputs)
        if touched and not ((product or eqn.primitive.keeps_nan) and real_results):
            before[position] = list(dict.fromkeys(touched))
            for var in touched:
                suspect.pop(var, None)
            touched = []
        if product or touched:
            for var in eqn.outputs:
                if var.aval.dtype.kind in "fc":
                    suspect[var] = None
    if not found:
        return None
    at_end = [a for a in dict.fromkeys(jaxpr.outvars) if type(a) is Var and a in suspect]
    return Guards(before, at_end)

