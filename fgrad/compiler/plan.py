"""Where results go: over an operand that nobody reads again."""

from __future__ import annotations

import numpy as np

from fgrad.ir.jaxpr import Jaxpr, Var
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.families import Elementwise, Reshape, Ufunc


def overwritten_operands(jaxpr: Jaxpr) -> dict[Var, int]:
    """For results that a ufunc may write over one of its operands: the position of that operand.

    Such an operand is an array of the same type that the program itself made, and neither it nor any
    view of it is read later. Arguments and constants are never written to.
    """
    root: dict[Var, Var] = {}
    last_read: dict[Var, int] = {}
    for index, eqn in enumerate(jaxpr.eqns):
        for atom in eqn.inputs:
            if type(atom) is Var:
                last_read[root.get(atom, atom)] = index
        if eqn.primitive.view and type(eqn.inputs[0]) is Var:
            source = eqn.inputs[0]
            root[eqn.outputs[0]] = root.get(source, source)
    end = len(jaxpr.eqns)
    for atom in jaxpr.outvars:
        if type(atom) is Var:
            last_read[root.get(atom, atom)] = end
    own: set[Var] = set()
    positions: dict[Var, int] = {}
    for index, eqn in enumerate(jaxpr.eqns):
        primitive = eqn.primitive
        if primitive.multiple_results:
            continue
        (out,) = eqn.outputs
        if type(primitive) is Reshape:
            # Other views may be read-only, or show an element twice.
            if eqn.inputs[0] in own and out.aval.shape:
                own.add(out)
            continue
        if not out.aval.shape or not isinstance(primitive, Elementwise | DotGeneral):
            continue
        if primitive.view:
            continue
        own.add(out)
        if not isinstance(primitive, Ufunc) or not isinstance(primitive.function, np.ufunc):
            continue
        for position, atom in enumerate(eqn.inputs):
            if (
                type(atom) is Var
                and atom in own
                and atom.aval == out.aval
                and last_read[root.get(atom, atom)] == index
            ):
                positions[out] = position
                break
    return positions
