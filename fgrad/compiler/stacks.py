"""What each step of a loop took in as its carry, without a copy of what all steps gave out.

Reverse mode reads the first carry and then what all steps but the last one gave out. Joined, these are a copy of an
array that the loop has just filled. So the loop fills an array of one row more, and the first carry is put there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.config import config
from fgrad.ir.jaxpr import Eqn, Jaxpr, Var
from fgrad.ir.passes import dce
from fgrad.parameters import parameters
from fgrad.primitives.shape import Concatenate, StaticIndex
from fgrad.tracing import Primitive


@parameters
class WithRoom(Primitive):
    """A loop, some of whose results lie in arrays of one row more.   *ins -> *outs *wholes

    Each place is the position of a result, and whether the row that is free is the last one.
    """

    loop: Primitive
    places: tuple[tuple[int, bool], ...]
    multiple_results = True
    copies_operands = True

    @property
    def name(self) -> str:
        return self.loop.name

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return self.loop.jaxprs  # type: ignore[attr-defined, no-any-return]

    @property
    def length(self) -> int:
        return self.loop.length  # type: ignore[attr-defined, no-any-return]

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        outs = list(self.loop.abstract_eval(*avals))
        return [*outs, *[_one_more(outs[position]) for position, _ in self.places]]

    def impl(self, *values: Any) -> Sequence[Any]:
        outs = list(self.loop.impl(*values))
        wholes = []
        for position, at_end in self.places:
            rows = outs[position]
            free = np.zeros_like(rows[:1])
            wholes.append(np.concatenate((rows, free) if at_end else (free, rows)))
        return [*outs, *wholes]

    def results_to_look_at(self) -> tuple[bool, ...] | None:
        flags = self.loop.results_to_look_at()  # type: ignore[attr-defined]
        return None if flags is None else (*flags, *(False,) * len(self.places))

    def write(self, emitter: Any, eqn: Any, margin: str, silenced: bool) -> list[str] | None:
        """The statements of the loop in compiled code."""
        count = len(eqn.outputs) - len(self.places)
        inner = eqn._replace(primitive=self.loop, outputs=eqn.outputs[:count])
        rooms = {
            eqn.outputs[position]: (whole, at_end)
            for (position, at_end), whole in zip(self.places, eqn.outputs[count:], strict=True)
        }
        return self.loop.write_with_room(emitter, inner, margin, silenced, rooms)  # type: ignore[attr-defined, no-any-return]


@parameters
class Moved(Primitive):
    """Fill the row that is free, and leave out the one at the other end.   a[n+1, *s] a[1, *s] -> a[n, *s]"""

    at_end: bool
    # A view of the first operand, which holds the second one from then on.
    view = True
    keeps_nan = True

    def abstract_eval(self, *avals: Aval) -> Aval:
        whole, _ = avals
        return whole.with_shape((whole.shape[0] - 1, *whole.shape[1:]))

    def impl(self, whole: Any, row: Any) -> Any:
        rows = whole[1:-1]
        return np.concatenate((rows, row) if self.at_end else (row, rows))

    def write(self, emitter: Any, eqn: Any, margin: str, silenced: bool) -> list[str]:
        """The statements in compiled code."""
        whole, row = [emitter.atom(a) for a in eqn.inputs]
        (out,) = eqn.outputs
        free, kept = ("-1:", "1:") if self.at_end else (":1", ":-1")
        comment = f"  # {emitter.kind(out.aval)}"
        return [
            f"{margin}{whole}[{free}] = {row}",
            f"{margin}{emitter.var(out)} = {whole}[{kept}]{comment}",
        ]


def with_room(jaxpr: Jaxpr) -> Jaxpr:
    """The program where loops leave room in the arrays that a first row is joined with."""
    if not config.enable_x64:
        return jaxpr
    made: dict[Any, int] = {v: i for i, e in enumerate(jaxpr.eqns) for v in e.outputs}
    wanted: dict[int, dict[int, bool]] = {}
    moved: dict[int, tuple[Var, Any, bool]] = {}
    shown = _shown_by(jaxpr, jaxpr.outvars)
    for i, eqn in enumerate(jaxpr.eqns):
        if eqn.primitive != Concatenate(0) or len(eqn.inputs) != 2 or eqn.outputs[0] in shown:
            continue
        for at_end in (False, True):
            row, cut = eqn.inputs[::-1] if at_end else eqn.inputs
            stack = _whole_of(jaxpr, made, cut, at_end)
            if stack is None or stack in shown or row.aval.shape[0] != 1:
                continue
            at = made[stack]
            loop = jaxpr.eqns[at]
            position = loop.outputs.index(stack)
            taken = wanted.setdefault(at, {})
            if position not in taken and eqn.outputs[0].aval == stack.aval:
                taken[position] = at_end
                moved[i] = stack, row, at_end
                break
    if not moved:
        return jaxpr
    wholes: dict[Any, Var] = {}
    eqns: list[Eqn] = []
    for i, eqn in enumerate(jaxpr.eqns):
        if wanted.get(i):
            more = [Var(_one_more(eqn.outputs[position].aval)) for position in wanted[i]]
            wholes.update(zip([eqn.outputs[position] for position in wanted[i]], more, strict=True))
            loop_with_room = WithRoom(eqn.primitive, tuple(wanted[i].items()))
            eqn = eqn._replace(primitive=loop_with_room, outputs=(*eqn.outputs, *more))
        elif i in moved:
            stack, row, at_end = moved[i]
            eqn = eqn._replace(primitive=Moved(at_end), inputs=(wholes[stack], row))
        eqns.append(eqn)
    return dce(Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name))


def _one_more(aval: Aval) -> Aval:
    return Aval((aval.shape[0] + 1, *aval.shape[1:]), aval.dtype)


def _shown_by(jaxpr: Jaxpr, results: Sequence[Any]) -> set[Any]:
    """The results and what they are views of: the caller gets their memory."""
    found = {a for a in results if type(a) is Var}
    for eqn in reversed(jaxpr.eqns):
        if eqn.primitive.view and eqn.outputs[0] in found:
            found.update([a for a in eqn.inputs if type(a) is Var])
    return found


def _whole_of(jaxpr: Jaxpr, made: dict[Any, int], cut: Any, at_end: bool) -> Var | None:
    """The results of all steps of a loop of which `cut` leaves out the last one, or the first one."""
    index = made.get(cut)
    if index is None or type(jaxpr.eqns[index].primitive) is not StaticIndex:
        return None
    eqn = jaxpr.eqns[index]
    (stack,) = eqn.inputs
    at = made.get(stack)
    if type(stack) is not Var or at is None:
        return None
    loop = jaxpr.eqns[at]
    if not hasattr(loop.primitive, "write_with_room") or loop.primitive.effectful:
        return None
    length, *rest = stack.aval.shape
    rows = slice(1, length, 1) if at_end else slice(0, length - 1, 1)
    if loop.outputs.index(stack) < loop.primitive.carries or length < 2:
        return None
    return stack if eqn.primitive.index == (rows, *[slice(0, n, 1) for n in rest]) else None
