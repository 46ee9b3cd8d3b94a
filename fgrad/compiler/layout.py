"""Short last axes go to the front.

NumPy runs one loop over the axes along which all operands lie alike, and calls it again for every step
along the others. Points in space, of shape (..., 3), broadcast against each other leave it loops of three
elements, and so do extrema over the last axis. With that axis in front, the loops run along a long one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, Shape
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import Select
from fgrad.primitives.families import Elementwise, Reshape, Sum
from fgrad.primitives.reduction import All, Any_, Max, Min, Prod
from fgrad.primitives.sums import way_to_sum
from fgrad.tracing import Primitive

_REDUCTIONS = (Sum, Max, Min, Prod, All, Any_)
# Longer loops cost little more than their elements.
_LONGEST = 7
# Arrays with fewer elements are not worth it.
_FEWEST = 1 << 12
# Nanoseconds: to start a loop, to start one that reduces, to move an element between the layouts.
_LOOP, _REDUCING_LOOP, _MOVE = 8.0, 15.0, 2.0
# What must be saved for each element.
_WORTH = 0.5


# Of all shapes with such an axis, the largest ones count.
_MOST_FRAMES = 8


@parameters
class Arrange(Primitive):
    """Permute axes, in new memory in C order.   a[...] -> a[...]"""

    permutation: tuple[int, ...]
    keeps_nan = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x.with_shape(tuple([x.shape[axis] for axis in self.permutation]))

    def impl(self, x: Any) -> Any:
        return np.array(np.transpose(x, self.permutation), order="C")

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.array(np.transpose({names[0]}, {self.permutation}), order='C')"


def move_short_axes(jaxpr: Jaxpr) -> Jaxpr:
    """The program where elementwise work over short last axes has them in front, where that pays."""
    frames = {
        v.aval.shape: None
        for eqn in jaxpr.eqns
        for v in eqn.outputs
        if len(v.aval.shape) > 1 and 1 < v.aval.shape[-1] <= _LONGEST and v.aval.size >= _FEWEST
    }
    for shape in sorted(frames, key=math.prod)[-_MOST_FRAMES:]:
        jaxpr = _Frame(jaxpr, shape).moved()
    return jaxpr


def _loop_length(shape: Shape, masks: Sequence[Sequence[bool]]) -> int:
    """How many steps NumPy takes in one loop over axes of which each mask says where an operand has them."""
    length, position = shape[-1], len(shape) - 2
    while position >= 0 and all(m[position] == m[-1] for m in masks):
        length *= shape[position]
        position -= 1
    return length


def _front(items: Sequence[Any]) -> tuple[Any, ...]:
    return (items[-1], *items[:-1])


class _Frame:
    """All work on arrays of one shape."""

    def __init__(self, jaxpr: Jaxpr, shape: Shape) -> None:
        self.jaxpr = jaxpr
        self.shape = shape
        self.size = math.prod(shape)
        self.members = {
            eqn.outputs[0]
            for eqn in jaxpr.eqns
            if isinstance(eqn.primitive, Elementwise | Select)
            and not eqn.primitive.view
            and eqn.outputs[0].aval.shape == shape
        }

    def reduces(self, eqn: Eqn) -> bool:
        """Whether an equation reduces a member so that the axes left are in their order."""
        primitive = eqn.primitive
        return (
            isinstance(primitive, _REDUCTIONS)
            and eqn.inputs[0] in self.members
            and len(self.shape) - 1 in primitive.axes
        )

    def takes_products(self, eqn: Eqn) -> bool:
        """Whether a sum is a product with ones, which has no loop for each row."""
        return way_to_sum(self.shape, eqn.primitive.axes) is not None

    def whole_shape(self, atom: Atom) -> Shape:
        """The shape of an operand with all axes of the frame."""
        shape = atom.aval.shape
        return (1,) * (len(self.shape) - len(shape)) + shape

    # -- what it costs and saves --

    def saved(self) -> float:
        """Nanoseconds that moving the axis saves, less what it costs."""
        saved = 0.0
        into: set[Any] = set()
        out_of: set[Any] = {a for a in self.jaxpr.outvars if a in self.members}
        for eqn in self.jaxpr.eqns:
            if eqn.outputs[0] in self.members:
                masks = []
                for atom in eqn.inputs:
                    if not atom.aval.shape:
                        continue
                    masks.append([n > 1 for n in self.whole_shape(atom)])
                    if atom.aval.shape == self.shape and atom not in self.members:
                        into.add(atom)
                saved += self.loops_saved(masks) * _LOOP
            elif self.reduces(eqn):
                if type(eqn.primitive) is Sum and self.takes_products(eqn):
                    continue
                mask = [axis in eqn.primitive.axes for axis in range(len(self.shape))]
                saved += self.loops_saved([mask]) * _REDUCING_LOOP
            else:
                out_of.update([a for a in eqn.inputs if a in self.members])
        return saved - _MOVE * self.size * (len(into) + len(out_of))

    def loops_saved(self, masks: Sequence[Sequence[bool]]) -> float:
        before = self.size / _loop_length(self.shape, masks)
        after = self.size / _loop_length(_front(self.shape), [_front(m) for m in masks])
        return before - after

    # -- the program with the axis moved --

    def moved(self) -> Jaxpr:
        """The program with the axis in front, or as it was."""
        if not self.members or self.saved() < _WORTH * self.size:
            return self.jaxpr
        self.eqns: list[Eqn] = []
        #: Members and operands with the axis in front.
        self.front: dict[Any, Atom] = {}
        #: Members that were moved back.
        self.back: set[Any] = set()
        for eqn in self.jaxpr.eqns:
            if eqn.outputs[0] in self.members:
                (out,) = eqn.outputs
                inputs = tuple([self.operand(a, eqn) for a in eqn.inputs])
                moved = Var(out.aval.with_shape(_front(out.aval.shape)), out.name)
                self.front[out] = moved
                self.eqns.append(eqn._replace(inputs=inputs, outputs=(moved,)))
            elif self.reduces(eqn):
                last = len(self.shape) - 1
                axes = tuple(sorted([0 if a == last else a + 1 for a in eqn.primitive.axes]))
                primitive = type(eqn.primitive)(axes)
                self.eqns.append(
                    eqn._replace(primitive=primitive, inputs=(self.front[eqn.inputs[0]],))
                )
            else:
                for atom in eqn.inputs:
                    self.move_back(atom, eqn)
                self.eqns.append(eqn)
        for atom in self.jaxpr.outvars:
            self.move_back(atom, self.jaxpr.eqns[-1])
        old = self.jaxpr
        return Jaxpr(old.constvars, old.consts, old.invars, self.eqns, old.outvars, old.name)

    def operand(self, atom: Atom, eqn: Eqn) -> Atom:
        """An operand of a member as it meets the others."""
        if type(atom) is Literal or not atom.aval.shape:
            return atom
        known = self.front.get(atom)
        if known is None:
            known = self.front[atom] = self.arranged(atom, eqn)
        return known

    def arranged(self, atom: Atom, eqn: Eqn) -> Atom:
        whole = self.whole_shape(atom)
        if math.prod(whole) == max(whole) or whole[-1] == 1:
            # At most one axis, or not the one that moves: the elements lie as they should.
            return self.apply(Reshape(_front(whole)), atom, eqn)
        rank = len(whole)
        if atom.aval.shape != whole:
            atom = self.apply(Reshape(whole), atom, eqn)
        return self.apply(Arrange(_front(range(rank))), atom, eqn)

    def move_back(self, atom: Atom, eqn: Eqn) -> None:
        if atom in self.members and atom not in self.back:
            self.back.add(atom)
            rank = len(self.shape)
            arrange = Arrange((*range(1, rank), 0))
            self.eqns.append(Eqn(arrange, (self.front[atom],), (atom,), eqn.source, eqn.silent))

    def apply(self, primitive: Any, atom: Atom, eqn: Eqn) -> Var:
        """The value of an equation that joins the program."""
        out = Var(primitive.abstract_eval(atom.aval))
        self.eqns.append(Eqn(primitive, (atom,), (out,), eqn.source, eqn.silent))
        return out
