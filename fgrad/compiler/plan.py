"""Where results go: over an operand that nobody reads again."""

from __future__ import annotations

import numpy as np

from fgrad.avals import Aval
from fgrad.compiler.fuse import Fused
from fgrad.compiler.parts import SumOfParts
from fgrad.ir.jaxpr import Eqn, Jaxpr, Var
from fgrad.ir.uses import memory_owners, view_owners
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.families import Elementwise, Reshape, Ufunc


def same_bits_in_place(aval: Aval, size: int) -> bool:
    """Whether NumPy computes an array that is cut along an axis of this length alike in its own place.

    A complex product of single elements, which a last block may be, is rounded otherwise there.
    """
    return aval.dtype.kind != "c" or aval.size > size


def overwritten_operands(jaxpr: Jaxpr) -> dict[Var, int]:
    """For results that a ufunc may write over one of its operands: the position of that operand.

    Such an operand is an array of the same type that the program itself made, and neither it nor any
    view of it is read later. Arguments and constants are never written to. A single element is not
    either: NumPy takes twice as long in its place.
    """
    owners = memory_owners(jaxpr.eqns)
    last_read: dict[Var, int] = {}
    for index, eqn in enumerate(jaxpr.eqns):
        last_read.update({owners.get(a, a): index for a in eqn.inputs if type(a) is Var})
    end = len(jaxpr.eqns)
    for atom in jaxpr.outvars:
        if type(atom) is Var:
            last_read[owners.get(atom, atom)] = end
    own: set[Var] = set()
    positions: dict[Var, int] = {}
    for index, eqn in enumerate(jaxpr.eqns):
        primitive = eqn.primitive
        if type(primitive) is Fused:
            positions.update(_over_operands(eqn, index, own, owners, last_read))
            own.update(v for v in eqn.outputs if v.aval.shape)
            continue
        if primitive.multiple_results:
            continue
        (out,) = eqn.outputs
        if type(primitive) is Reshape:
            # Other views may be read-only, or show an element twice.
            if eqn.inputs[0] in own and out.aval.shape:
                own.add(out)
            continue
        if not out.aval.shape or not isinstance(primitive, Elementwise | DotGeneral | SumOfParts):
            continue
        if primitive.view:
            continue
        own.add(out)
        if type(primitive) is SumOfParts:
            whole = eqn.inputs[0]
            used_once = [owners.get(a, a) for a in eqn.inputs].count(owners.get(whole, whole)) == 1
            if primitive.places[0] is None and whole in own and used_once:
                if last_read[owners.get(whole, whole)] == index:
                    positions[out] = 0
            continue
        if not isinstance(primitive, Ufunc) or not isinstance(primitive.function, np.ufunc):
            continue
        if out.aval.size == 1 or not same_bits_in_place(out.aval, 1):
            continue
        for position, atom in enumerate(eqn.inputs):
            if (
                type(atom) is Var
                and atom in own
                and atom.aval == out.aval
                and last_read[owners.get(atom, atom)] == index
            ):
                positions[out] = position
                break
    return positions


def _over_operands(
    eqn: Eqn, index: int, own: set[Var], owners: dict[Var, Var], last_read: dict[Var, int]
) -> dict[Var, int]:
    """Which results of a cluster may take the place of an operand that is cut into the same blocks."""
    primitive: Fused = eqn.primitive
    roots = [owners.get(v, v) for v in eqn.inputs if type(v) is Var]
    last_step: dict[Var, int] = {}
    inside = view_owners(primitive.body.eqns)
    for step, member in enumerate(primitive.body.eqns):
        for atom in member.inputs:
            if type(atom) is Var:
                shown = inside.get(atom, atom)
                last_step[owners.get(shown, shown)] = step
    positions: dict[Var, int] = {}
    for position, operand in enumerate(eqn.inputs):
        axis = primitive.in_axes[position]
        if type(operand) is not Var or operand not in own or axis is None:
            continue
        # Another block may be read through another view, before or after this one is written.
        if roots.count(owners.get(operand, operand)) > 1:
            continue
        if last_read[owners.get(operand, operand)] != index:
            continue
        for step, member in enumerate(primitive.body.eqns):
            (out,) = member.outputs
            fits = out.aval == operand.aval and primitive.made_axes[step] == axis
            fits = fits and same_bits_in_place(out.aval, primitive.size)
            if fits and out in eqn.outputs and out not in positions:
                if step >= last_step[owners.get(operand, operand)]:
                    positions[out] = position
                    break
    return positions
