"""Arrays that are put side by side into zeros and added up: that is their concatenation.

So do the cotangents of slices meet, as those of the gates of a recurrent network.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from fgrad.ir.passes import dce
from fgrad.ir.uses import count_reads
from fgrad.primitives.families import add
from fgrad.primitives.shape import Concatenate, Embed


class _Piece(NamedTuple):
    """What lies where along the one axis that is cut."""

    start: int
    stop: int
    operand: Atom


class _Pieces(NamedTuple):
    axis: int
    pieces: tuple[_Piece, ...]


def join_pieces(jaxpr: Jaxpr) -> Jaxpr:
    """The program where sums of pieces that lie side by side are concatenations."""
    if sum(type(eqn.primitive) is Embed for eqn in jaxpr.eqns) < 2:
        return jaxpr
    reads = count_reads(jaxpr)
    known: dict[Any, _Pieces] = {}
    eqns: list[Eqn] = []
    changed = False
    for eqn in jaxpr.eqns:
        if type(eqn.primitive) is Embed:
            piece = _piece(eqn)
            if piece is not None:
                known[eqn.outputs[0]] = piece
        elif eqn.primitive is add:
            one, other = [known.get(a) if reads[a] == 1 else None for a in eqn.inputs]
            if one is not None and other is not None and one.axis == other.axis:
                pieces = tuple(sorted([*one.pieces, *other.pieces], key=lambda p: p.start))
                (out,) = eqn.outputs
                if all(a.stop <= b.start for a, b in itertools.pairwise(pieces)):
                    known[out] = _Pieces(one.axis, pieces)
                    if _covers(pieces, out.aval.shape[one.axis]):
                        inputs = tuple([p.operand for p in pieces])
                        joined = Var(out.aval)
                        eqns.append(
                            Eqn(Concatenate(one.axis), inputs, (joined,), eqn.source, eqn.silent)
                        )
                        # What was added to zeros has no negative zero.
                        zero = Literal(out.aval.dtype.type(0))
                        eqn = eqn._replace(inputs=(joined, zero))
                        changed = True
        eqns.append(eqn)
    if not changed:
        return jaxpr
    return dce(Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name))


def _piece(eqn: Eqn) -> _Pieces | None:
    """Where an array lies that is whole along all axes but one."""
    index, shape = eqn.primitive.index, eqn.primitive.shape
    if len(index) != len(shape) or type(eqn.inputs[0]) is not Var:
        return None
    cut = []
    for axis, (item, size) in enumerate(zip(index, shape, strict=True)):
        if not isinstance(item, slice) or item.step not in (None, 1):
            return None
        start, stop, _ = item.indices(size)
        if (start, stop) != (0, size):
            cut.append((axis, start, stop))
    if len(cut) != 1 or len(eqn.inputs[0].aval.shape) != len(shape):
        return None
    ((axis, start, stop),) = cut
    return _Pieces(axis, (_Piece(start, stop, eqn.inputs[0]),))


def _covers(pieces: tuple[_Piece, ...], size: int) -> bool:
    ends = [0, *[p.stop for p in pieces]]
    return ends[-1] == size and all(e == p.start for e, p in zip(ends, pieces, strict=False))
