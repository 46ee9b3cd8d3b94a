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
