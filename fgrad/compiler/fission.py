"""A program as it is emitted: simplified, and its loops split.

What a loop computes without its carry runs once for all steps, and what it only sums up over the steps is
contracted once; the rule of the loop says what that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.avals import Aval
from fgrad.compiler.simplify import simplify
from fgrad.config import config
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Jaxpr
from fgrad.parameters import parameters
from fgrad.tracing import Primitive


@parameters
class Parts(Primitive):
    """A loop in its parts, which are inlined.   *ins -> *outs"""

    jaxpr: Jaxpr
    multiple_results = True

    @property
    def inlinable(self) -> Jaxpr | None:  # type: ignore[override]
        return self.jaxpr

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return self.jaxpr.out_avals


def prepared(jaxpr: Jaxpr) -> Jaxpr:
    """The program as it is emitted, made once."""
    known: Any = jaxpr.derived.get("prepared")
    if known is None:
        program = simplify(jaxpr)
        apart = split_loops(program)
        if apart is not program:
            program = simplify(apart)
        known = jaxpr.derived["prepared"] = checked(program)
    return known  # type: ignore[no-any-return]


def split_loops(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the loops that can be split in parts."""
    eqns = []
    changed = False
    for eqn in jaxpr.eqns:
        rule = getattr(eqn.primitive, "parts", None)
        program = None if rule is None or not config.enable_x64 else rule(eqn.silent)
        if program is not None:
            eqn = eqn._replace(primitive=Parts(program))
            changed = True
        eqns.append(eqn)
    if not changed:
        return jaxpr
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name)
