"""Constant folding: what depends on nothing but constants is computed once, when the program is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, sub_jaxprs

# A larger constant costs more memory than it saves time.
_MOST_ELEMENTS = 1 << 14


def fold(jaxpr: Jaxpr) -> Jaxpr:
    """The program with small values that depend on constants alone as constants."""
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    made: dict[Var, Any] = {}
    literals: dict[Any, Literal] = {}
    #: Results of primitives without operands, such as an identity matrix: one for all.
    created: dict[Any, list[Any]] = {}

    def current(atom: Atom) -> Atom:
        return literals.get(atom, atom)

    eqns = []
    for eqn in jaxpr.eqns:
        if eqn.inputs and type(eqn.inputs[0]) is Var:
            first = eqn.inputs[0]
            if first not in known and not literals:
                eqns.append(eqn)
                continue
        inputs = tuple(map(current, eqn.inputs)) if literals else eqn.inputs
        results = created.get(eqn.primitive) if not inputs else None
        if results is None:
            results = _computed(eqn, inputs, known)
        if results is None:
            eqns.append(eqn._replace(inputs=inputs) if inputs != eqn.inputs else eqn)
            continue
        if not inputs:
            created[eqn.primitive] = results
        for var, result in zip(eqn.outputs, results, strict=True):
            if type(result) is np.ndarray:
                result.setflags(write=False)
                known[var] = made[var] = result
            else:
                literals[var] = Literal(result, var.aval)
    if len(eqns) == len(jaxpr.eqns):
        return jaxpr
    return Jaxpr(
        [*jaxpr.constvars, *made],
        [*jaxpr.consts, *made.values()],
        jaxpr.invars,
        eqns,
        [current(a) for a in jaxpr.outvars],
        jaxpr.name,
    )


def _computed(eqn: Eqn, inputs: Sequence[Atom], known: dict[Any, Any]) -> list[Any] | None:
    """The results of an equation, if its operands are constants and nothing speaks against it."""
    primitive = eqn.primitive
    if primitive.effectful or primitive.view or sub_jaxprs(primitive):
        return None
    if not all(type(a) is Literal or a in known for a in inputs):
        return None
    sizes = [a.aval.size for a in (*inputs, *eqn.outputs)]
    if max(sizes, default=0) > _MOST_ELEMENTS:
        return None
    values = [a.value if type(a) is Literal else known[a] for a in inputs]
    try:
        # What warns is left to every call to warn of.
        with np.errstate(all="ignore" if eqn.silent else "raise"):
            results = primitive.impl(*values)
    except Exception:
        return None
    return list(results) if primitive.multiple_results else [results]
