"""Sums of arrays that are zero but for a part: the parts are added where they lie.

The gradient of an array that is used slice by slice is such a sum, one term for each slice. Term by term,
each costs a pass over the whole array; part by part, the sum costs one pass over each part.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from fgrad.ir.uses import count_reads
from fgrad.parameters import parameters
from fgrad.primitives.families import add
from fgrad.primitives.shape import Embed, index_text
from fgrad.tracing import Primitive

Index = tuple[Any, ...]
Box = tuple[tuple[int, int], ...]


@parameters
class SumOfParts(Primitive):
    """Add arrays where they lie in a larger one.   a[*t1] a[*t2] ... -> a[*shape]"""

    #: Where each operand lies; None for one of the full shape, which can only be the first.
    places: tuple[Index | None, ...]
    shape: tuple[int, ...]
    keeps_nan = True

    def __hash__(self) -> int:
        # Slices have no hash before Python 3.12.
        return hash((tuple([p and index_text(p) for p in self.places]), self.shape))

    def abstract_eval(self, *avals: Aval) -> Aval:
        return Aval(self.shape, avals[0].dtype)

    def impl(self, *values: Any) -> Any:
        total: Any = None
        for place, value in zip(self.places, values, strict=True):
            term = value if place is None else Embed(place, self.shape).impl(value)
            total = term if total is None else np.add(total, term)
        return total

    def write(self, emit: Any, eqn: Eqn, indent: str, silent: bool) -> list[str]:
        """Statements that add each operand to its part."""
        (out,) = eqn.outputs
        names = [emit.atom(a) for a in eqn.inputs]
        kind = f"  # {emit.kind(out.aval)}"
        boxes = [_box(place, self.shape) for place in self.places]
        exact = out.aval.dtype.kind not in "fc"
        if emit.overwritten(out) == 0:
            total = names[0]
            emit.rename(out, total)
            lines = []
        else:
            total = emit.var(out)
            if self.places[0] is None:
                lines = [f"{total} = {names[0]}.copy(){kind}"]
            else:
                lines = [f"{total} = np.zeros({self.shape}, {emit.dtype(out.aval.dtype)}){kind}"]
        around = [] if exact else _around(boxes, self.shape)
        from_zeros = self.places[0] is not None and emit.overwritten(out) != 0
        adds = not exact and (_are_apart(boxes) or (from_zeros and around == [()]))
        for position, (place, name) in enumerate(zip(self.places, names, strict=True)):
            if place is None:
                continue
            part = f"{total}[{index_text(place)}]"
            if adds:
                # Not assigned: a sum with the zeros of other terms has no negative zero.
                lines.append(f"{part} += {name}")
            else:
                lines.append(f"{part} {'+=' if position else '='} {name}")
        if not adds:
            # Where a term was zero, the sum has no negative zero.
            lines.extend(f"{total}[{index_text(place)}] += 0.0" for place in around)
        return [indent + line for line in lines]


def _box(place: Index | None, shape: Sequence[int]) -> Box:
    """The interval of each axis that an index takes."""
    if place is None:
        return tuple([(0, n) for n in shape])
    return tuple([(i.start, i.stop) if isinstance(i, slice) else (i, i + 1) for i in place])


def _are_apart(boxes: Sequence[Box]) -> bool:
    """Whether no two boxes meet, as far as one axis tells."""
    for axis in range(len(boxes[0])):
        intervals = sorted(box[axis] for box in boxes)
        if all(one[1] <= two[0] for one, two in itertools.pairwise(intervals)):
            return True
    return False


def _around(boxes: Sequence[Box], shape: Sequence[int]) -> list[Index]:
    """Indices of all that is not in every box."""
    common = [
        (max(start for start, _ in intervals), min(stop for _, stop in intervals))
        for intervals in zip(*boxes, strict=True)
    ]
    if any(start >= stop for start, stop in common):
        return [()]
    places = []
    inside: list[Any] = []
    for (start, stop), length in zip(common, shape, strict=True):
        if start > 0:
            places.append((*inside, slice(0, start)))
        if stop < length:
            places.append((*inside, slice(stop, length)))
        inside.append(slice(start, stop))
    return places


class _Sum:
    """Terms of a sum that nobody else reads, in order."""

    def __init__(self, places: list[Index | None], operands: list[Atom]) -> None:
        self.places = places
        self.operands = operands


def gather_parts(jaxpr: Jaxpr) -> Jaxpr:
    """The program with sums of embedded arrays as single equations."""
    if not any(type(eqn.primitive) is Embed for eqn in jaxpr.eqns):
        return jaxpr
    reads = count_reads(jaxpr)
    sums: dict[Any, _Sum] = {}
    absorbed: set[Any] = set()
    for eqn in jaxpr.eqns:
        if type(eqn.primitive) is Embed:
            (source,) = eqn.inputs
            if type(source) is Var and all(map(_is_steady, eqn.primitive.index)):
                sums[eqn.outputs[0]] = _Sum([eqn.primitive.index], [source])
        elif eqn.primitive is add and all(a.aval == eqn.outputs[0].aval for a in eqn.inputs):
            terms = [sums.get(a) if reads[a] == 1 else None for a in eqn.inputs]
            found = _joined(eqn.inputs, terms)
            if found is not None:
                sums[eqn.outputs[0]] = found
                absorbed.update(a for a, t in zip(eqn.inputs, terms, strict=True) if t is not None)
    if not absorbed:
        return jaxpr
    eqns = []
    for eqn in jaxpr.eqns:
        out: Any = eqn.outputs[0] if eqn.outputs else None
        if out in absorbed:
            continue
        if out in sums and eqn.primitive is add:
            primitive = SumOfParts(tuple(sums[out].places), out.aval.shape)
            eqn = eqn._replace(primitive=primitive, inputs=tuple(sums[out].operands))
        eqns.append(eqn)
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name)


def _is_steady(item: Any) -> bool:
    return type(item) is int or (type(item) is slice and item.step in (None, 1))


def _joined(operands: Sequence[Atom], terms: Sequence[_Sum | None]) -> _Sum | None:
    """The sum of two operands, which may be sums themselves. Sums are taken from the left."""
    one, two = terms
    if one is not None and two is not None:
        if len(two.operands) > 1:
            one, two = two, one
        if len(two.operands) > 1:
            return None
        one.places.extend(two.places)
        one.operands.extend(two.operands)
        return one
    part = two if one is None else one
    if part is None or len(part.operands) > 1:
        return None
    whole = operands[0] if one is None else operands[1]
    return None if type(whole) is Literal else _Sum([None, *part.places], [whole, *part.operands])
