"""Where a program must look for NaN so that its absorbing products may run unguarded.

A product of a zero cotangent and an infinite slope, left unguarded, is NaN, and NaN passes through sums,
products and changes of shape. So it is enough to look at values that enter an operation that might hide
NaN, or that leave the program. Where a NaN is found, the program runs again with guards.
"""

from __future__ import annotations

from typing import Any

from fgrad.ir.jaxpr import Jaxpr, Var
from fgrad.primitives.families import absorbing_product


def place_guards(jaxpr: Jaxpr) -> frozenset[Var] | None:
    """The variables to look at once they are computed; None for a program without absorbing products."""
    if all(eqn.primitive is not absorbing_product for eqn in jaxpr.eqns):
        return None
    # What is looked at clears its descendants, so that the second pass needs fewer looks.
    entering, _ = _suspects(jaxpr, frozenset())
    hidden, leaving = _suspects(jaxpr, entering)
    return entering | hidden | leaving


def _suspects(jaxpr: Jaxpr, looked_at: frozenset[Var]) -> tuple[frozenset[Var], frozenset[Var]]:
    """Suspect variables that enter an operation which might hide NaN, and suspect results."""
    suspect: set[Any] = set()
    found: set[Var] = set()
    for eqn in jaxpr.eqns:
        touched = [a for a in eqn.inputs if a in suspect]
        product = eqn.primitive is absorbing_product
        real_results = all(v.aval.dtype.kind == "f" for v in eqn.outputs)
        if touched and not ((product or eqn.primitive.keeps_nan) and real_results):
            found.update(touched)  # type: ignore[arg-type]
            touched = []
        if product or touched:
            suspect.update(
                v for v in eqn.outputs if v.aval.dtype.kind in "fc" and v not in looked_at
            )
    return frozenset(found), frozenset(a for a in jaxpr.outvars if a in suspect)  # type: ignore[misc]
