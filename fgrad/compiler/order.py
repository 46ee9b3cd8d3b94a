"""The order of statements: those that never warn are gathered, so that warnings are switched off once."""

from __future__ import annotations

import math
from typing import Any

from fgrad.ir.jaxpr import Jaxpr, Var

# Larger values are made where they are needed: they would be alive for longer.
_MOST_ELEMENTS = 1 << 14


def gather_silent(jaxpr: Jaxpr) -> Jaxpr:
    """The program with its silent equations in as few groups as what they depend on allows."""
    turns = sum(a.silent != b.silent for a, b in zip(jaxpr.eqns, jaxpr.eqns[1:], strict=False))
    shapes = {v.aval.shape for eqn in jaxpr.eqns for v in eqn.outputs}
    if turns < 2 or max(map(math.prod, shapes), default=0) > _MOST_ELEMENTS:
        return jaxpr
    #: Even groups may warn, odd ones are silent.
    group: dict[Any, int] = {}
    latest_effect = 0
    placed = []
    for eqn in jaxpr.eqns:
        number = max((group.get(a, 0) for a in eqn.inputs if type(a) is Var), default=0)
        if eqn.primitive.effectful:
            number = max(number, latest_effect)
        number += (number % 2 == 1) != eqn.silent
        if eqn.primitive.effectful:
            latest_effect = number
        for var in eqn.outputs:
            group[var] = number
        placed.append((number, eqn))
    placed.sort(key=lambda entry: entry[0])
    eqns = [eqn for _, eqn in placed]
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name)
