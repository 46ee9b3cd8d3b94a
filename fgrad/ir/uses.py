"""Who reads a variable, and whose memory it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from fgrad.ir.jaxpr import Eqn, Jaxpr, Var


def count_reads(jaxpr: Jaxpr) -> Counter[Any]:
    """How often each variable is an operand or a result of the program."""
    reads: Counter[Any] = Counter()
    for eqn in jaxpr.eqns:
        reads.update([a for a in eqn.inputs if type(a) is Var])
    reads.update([a for a in jaxpr.outvars if type(a) is Var])
    return reads


def view_owners(eqns: Iterable[Eqn]) -> dict[Any, Var]:
    """For each result that may share memory with an operand: the variable that was computed, given or constant."""
    owners: dict[Any, Var] = {}
    for eqn in eqns:
        if eqn.primitive.view and type(eqn.inputs[0]) is Var:
            source = eqn.inputs[0]
            owners[eqn.outputs[0]] = owners.get(source, source)
    return owners


def memory_owners(eqns: Iterable[Eqn]) -> dict[Any, Any]:
    """For variables that may share memory: one of those that do, which stands for all of them.

    Views share that of what they show, and so may all results of a call, which may return what it is given.
    """
    owners: dict[Any, Any] = {}

    def owner(var: Any) -> Any:
        while var in owners:
            var = owners[var]
        return var

    for eqn in eqns:
        primitive = eqn.primitive
        if primitive.view:
            if type(eqn.inputs[0]) is Var:
                owners[eqn.outputs[0]] = owner(eqn.inputs[0])
        elif primitive.multiple_results and not primitive.copies_operands:
            given = [owner(a) for a in eqn.inputs if type(a) is Var and a.aval.shape]
            made = [v for v in eqn.outputs if v.aval.shape]
            for var in (*given[1:], *made) if given and made else ():
                if owner(var) is not owner(given[0]):
                    owners[owner(var)] = owner(given[0])
    return {var: owner(var) for var in owners}
