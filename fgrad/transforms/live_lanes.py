"""Loops of unknown length in lanes that are not used: they must end, whatever values they meet.

A guarded program takes a truth value first. Where it is false, no loop in it takes another step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.ir.jaxpr import Jaxpr, Var, eval_jaxpr, sub_jaxprs
from fgrad.primitives.elementwise import logical_and
from fgrad.tracing import record

LIVE = Aval((), np.dtype(bool))


def may_not_end(jaxpr: Jaxpr) -> bool:
    """Whether there is a loop of unknown length in a program that can be guarded."""
    known = jaxpr.derived.get("may not end")
    if known is None:
        known = jaxpr.derived["may not end"] = any(map(_needs_guard, jaxpr.eqns))
    return known


def _needs_guard(eqn: Any) -> bool:
    primitive = eqn.primitive
    return hasattr(primitive, "guarded") and (
        primitive.unbounded or any(map(may_not_end, sub_jaxprs(primitive)))
    )


def guarded(jaxpr: Jaxpr) -> Jaxpr:
    """The program with a truth value as its first input that stops its loops."""
    known = jaxpr.derived.get("guarded")
    if known is None:
        live = Var(LIVE)
        eqns = []
        for eqn in jaxpr.eqns:
            if _needs_guard(eqn):
                primitive, inputs = eqn.primitive.guarded(live, eqn.inputs)
                eqn = eqn._replace(primitive=primitive, inputs=tuple(inputs))
            eqns.append(eqn)
        inputs = [live, *jaxpr.invars]
        known = jaxpr.derived["guarded"] = Jaxpr(
            jaxpr.constvars, jaxpr.consts, inputs, eqns, jaxpr.outvars, jaxpr.name
        )
    return known


def guarded_condition(condition: Jaxpr) -> Jaxpr:
    """The condition of a loop with a truth value as its first input, without which it does not hold."""
    known = condition.derived.get("guarded condition")
    if known is None:

        def run(live: Any, *inputs: Any) -> list[Any]:
            return [logical_and(live, eval_jaxpr(condition, *inputs)[0])]

        avals = [LIVE, *condition.in_avals]
        known = condition.derived["guarded condition"] = record(
            run, avals, condition.name, "while_loop"
        )
    return known
