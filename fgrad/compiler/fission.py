"""A program as it is emitted: simplified, and its loops split.

What a loop computes without its carry runs once for all steps, and what it only sums up over the steps is
contracted once; the rule of the loop says what that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.compiler.contractions import plain_products
from fgrad.compiler.layout import move_short_axes
from fgrad.compiler.matrices import use_forms
from fgrad.compiler.pieces import join_pieces
from fgrad.compiler.products import contract_sums
from fgrad.compiler.simplify import cancel, simplify
from fgrad.compiler.stacks import with_room
from fgrad.config import config
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Eqn, Jaxpr
from fgrad.ir.passes import cse, dce, inline_calls
from fgrad.parameters import parameters
from fgrad.primitives.families import Full
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
        program = jaxpr
        if not config.disable_most_optimizations:
            program = simplified(jaxpr)
            apart = split_loops(program)
            if apart is not program:
                program = simplified(apart)
        if config.optimizes():
            program = with_room(rewritten(program))
        known = jaxpr.derived["prepared"] = checked(program)
    return known  # type: ignore[no-any-return]


def simplified(jaxpr: Jaxpr) -> Jaxpr:
    """The program simplified, before its loops are looked at."""
    return simplify(join_pieces(inline_calls(jaxpr)))


def rewritten(program: Jaxpr) -> Jaxpr:
    """A simplified program in a form that takes less time, whose reductions may round otherwise."""
    better = plain_products(program)
    if better is not program:
        better = simplify(better)
    better = use_forms(better)
    better = contract_sums(contract_sums(better))
    better = move_short_axes(better)
    return program if better is program else dce(cse(cancel(dce(better))))


def split_loops(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the loops that can be split in parts."""
    zeros: set[Any] = {
        var
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True)
        if isinstance(const, np.ndarray) and const.dtype.kind in "fciu" and not const.any()
    }
    eqns = []
    changed = False
    for eqn in jaxpr.eqns:
        if type(eqn.primitive) is Full and eqn.primitive.fill == 0:
            zeros.update(eqn.outputs)
        rule = getattr(eqn.primitive, "parts", None)
        program = None
        if rule is not None and config.optimizes():
            program = rule(eqn.silent, tuple([a in zeros for a in eqn.inputs]))
        if program is not None:
            eqn = eqn._replace(primitive=Parts(_at(program, eqn)))
            changed = True
        eqns.append(eqn)
    if not changed:
        return jaxpr
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name)


def _at(program: Jaxpr, loop: Eqn) -> Jaxpr:
    """The program where equations without a place have that of the loop."""
    eqns = [e if e.source is not None else e._replace(source=loop.source) for e in program.eqns]
    return Jaxpr(
        program.constvars, program.consts, program.invars, eqns, program.outvars, program.name
    )
