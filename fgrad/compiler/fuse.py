"""Fusion: equations over one large iteration space become one equation that runs in blocks.

Arrays that are larger than the caches cost a trip to memory for each operation on them. A cluster of
elementwise equations, with the reductions that end it, is computed instead block by block along one axis,
so that what lies between its operands and its results never leaves the cache.

A cluster knows at which position each of its values has that axis. An equation may join it if it works on
every block by itself: elementwise equations, reshapes that keep the axis, reductions over other axes.
Sums and extrema over the axis itself end the cluster with one partial result for each block.

Equations keep their order but for this: those of a cluster run together, at the place of the first, and
small ones that do not depend on it move before it. Every step is linear in the number of equations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, eval_jaxpr
from fgrad.ir.uses import count_reads
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import Select
from fgrad.primitives.families import Convert, Elementwise, Reshape, Sum
from fgrad.primitives.reduction import All, Any_, LogSumExp, Max, Min, Prod
from fgrad.primitives.shape import Transpose
from fgrad.tracing import Primitive

#: An equation with a result of so many elements begins a cluster; smaller arrays stay in the caches.
SMALLEST = 1 << 17
# Beyond, the buffers of a cluster leave no room for blocks of a good size.
_MOST_LIVE = 32
# Only the latest clusters are asked whether an equation may join.
_MOST_ASKED = 8
# What is no larger is moved freely: keeping it alive costs nothing.
_SMALL = 1 << 12
# A slice of the first axis with more elements is no block.
_LARGE_ROW = 1 << 16

_REDUCTIONS = (Sum, Max, Min, Prod, Any_, All, LogSumExp)
#: Reductions whose results over several blocks make the result, by this ufunc.
COMBINED_BY: dict[type, np.ufunc] = {Sum: np.add, Max: np.maximum, Min: np.minimum}


@parameters
class Fused(Primitive):
    """Run equations together over blocks of one axis.   *ins -> *outs"""

    body: Jaxpr
    #: The position of the axis in each operand; None for operands that every block reads whole.
    in_axes: tuple[int | None, ...]
    #: The position in the result of each equation; None for reductions over the axis.
    made_axes: tuple[int | None, ...]
    #: The length of the axis.
    size: int
    multiple_results = True
    copies_operands = True

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return (self.body,)

    @property
    def looked_at(self) -> list[Any]:
        """The results that are computed block by block, and are whole in none."""
        partial = [
            e.outputs[0] for e, a in zip(self.body.eqns, self.made_axes, strict=True) if a is None
        ]
        return [v for v in self.body.outvars if v not in partial]

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return self.body.out_avals

    def impl(self, *values: Any) -> Sequence[Any]:
        return eval_jaxpr(self.body, *values)


class _Cluster:
    def __init__(self, number: int, shape: tuple[int, ...], axis: int) -> None:
        self.number = number
        #: The iteration space, which is cut along one axis of this length.
        self.shape = shape
        self.axis = axis
        self.size = shape[axis]
        #: The position of the axis in values of the cluster and in operands that are cut.
        self.axes: dict[Any, int] = {}
        #: Operands that every block reads whole.
        self.whole: set[Any] = set()
        self.eqns: list[Eqn] = []
        self.made: set[Any] = set()
        self.partial: set[Any] = set()

    def axis_of_result(self, eqn: Eqn) -> int | None:
        """Where the result of an elementwise equation has the axis, if it works block by block."""
        (out,) = eqn.outputs
        rank = len(out.aval.shape)
        found = {
            self.axes[a] + rank - len(a.aval.shape)
            for a in eqn.inputs
            if type(a) is Var and a in self.axes
        }
        if not found and out.aval.shape == self.shape:
            return self.axis
        if len(found) != 1:
            return None
        (axis,) = found
        return axis if out.aval.shape[axis] == self.size else None

    def accepts(self, eqn: Eqn, axis: int) -> bool:
        """Whether the operands of an elementwise equation with the axis there are cut, or read whole, as ever."""
        rank = len(eqn.outputs[0].aval.shape)
        for atom in eqn.inputs:
            if type(atom) is Literal:
                continue
            position = axis - rank + len(atom.aval.shape)
            cut = position >= 0 and atom.aval.shape[position] == self.size
            if cut and (atom in self.whole or self.axes.get(atom, position) != position):
                return False
            if not cut and atom in self.axes:
                return False
        return True

    def add(self, eqn: Eqn, axis: int | None) -> None:
        """Take in an equation whose result has the axis there, or is reduced over it."""
        (out,) = eqn.outputs
        if isinstance(eqn.primitive, Elementwise | Select):
            rank = len(out.aval.shape)
            for atom in eqn.inputs:
                if type(atom) is Literal or atom in self.axes:
                    continue
                position = axis - rank + len(atom.aval.shape)  # type: ignore[operator]
                if position >= 0 and atom.aval.shape[position] == self.size:
                    self.axes[atom] = position
                else:
                    self.whole.add(atom)
        self.eqns.append(eqn)
        self.made.add(out)
        if axis is None:
            self.partial.add(out)
        else:
            self.axes[out] = axis


def fuse(jaxpr: Jaxpr) -> Jaxpr:
    """The program with clusters of equations as single equations, each a `Fused` one."""
    shapes = {v.aval.shape for eqn in jaxpr.eqns for v in eqn.outputs}
    if max(map(math.prod, shapes), default=0) < SMALLEST:
        return jaxpr
    plan = _Plan(jaxpr)
    for index, eqn in enumerate(jaxpr.eqns):
        plan.place(index, eqn)
    return plan.program()


def _opens(eqn: Eqn) -> bool:
    """Whether an equation is worth a cluster, if others join it."""
    primitive = eqn.primitive
    if not isinstance(primitive, Elementwise | Select) or not _fresh(primitive, eqn):
        return False
    return eqn.outputs[0].aval.size >= SMALLEST


def _fresh(primitive: Any, eqn: Eqn) -> bool:
    """Whether the result has memory of its own."""
    if isinstance(primitive, Convert):
        return bool(eqn.inputs[0].aval.dtype != primitive.dtype)
    return not primitive.view


class _Plan:
    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.clusters: list[_Cluster] = []
        #: When a variable is known: what cluster n makes at 2n, what follows it at 2n + 1.
        self.time: dict[Any, int] = {}
        self.home: dict[Any, _Cluster] = {}
        #: Equations outside clusters with their times.
        self.others: list[tuple[int, int, Eqn]] = []
        self.transposed: set[Var] = set()

    def place(self, index: int, eqn: Eqn) -> None:
        """Give an equation to the first cluster that can take it, or to none."""
        earliest = 0
        for atom in eqn.inputs:
            time = self.time.get(atom, 0)
            if time:
                cluster = self.home.get(atom)
                within = cluster is not None and atom not in cluster.partial
                # The numbers of clusters, which begin at 1, are one more than their places.
                earliest = max(earliest, time // 2 - 1 if within else time // 2)
        if not (eqn.primitive.multiple_results or eqn.primitive.effectful):
            latest = len(self.clusters)
            near = range(earliest, min(latest, earliest + _MOST_ASKED))
            last = range(max(latest - _MOST_ASKED, near.stop), latest)
            for place in (*near, *last):
                if self.joined(self.clusters[place], eqn):
                    return
            if _opens(eqn) and self.opened(eqn):
                return
        self.apart(index, eqn)

    def apart(self, index: int, eqn: Eqn) -> None:
        time = 0
        for atom in eqn.inputs:
            if type(atom) is Var:
                time = max(time, self.time.get(atom, 0))
        # What comes from a cluster is known when the cluster is done.
        if time % 2 == 0 and time:
            time += 1
        sizes = [a.aval.size for a in (*eqn.inputs, *eqn.outputs)]
        movable = not eqn.primitive.effectful and (eqn.primitive.view or max(sizes) <= _SMALL)
        if not movable and self.clusters:
            time = max(time, 2 * self.clusters[-1].number + 1)
        self.others.append((time, index, eqn))
        for var in eqn.outputs:
            self.time[var] = time
        if type(eqn.primitive) is Transpose:
            self.transposed.update(eqn.outputs)

    def joined(self, cluster: _Cluster, eqn: Eqn) -> bool:
        primitive = eqn.primitive
        (out,) = eqn.outputs
        axis: int | None
        if isinstance(primitive, Elementwise | Select):
            axis = cluster.axis_of_result(eqn)
            if axis is None or not cluster.accepts(eqn, axis) or not _fresh(primitive, eqn):
                return False
            if not self.transposed.isdisjoint(a for a in eqn.inputs if type(a) is Var):
                return False
        elif len(eqn.inputs) == 1 and eqn.inputs[0] in cluster.made:
            (source,) = eqn.inputs
            before = cluster.axes.get(source)
            if before is None:
                return False
            if type(primitive) is Reshape:
                axis = _after_reshape(source.aval.shape, before, out.aval.shape)
                if axis is None:
                    return False
            elif isinstance(primitive, _REDUCTIONS) and primitive.axes:
                axes = primitive.axes
                if before in axes:
                    axis = None
                    if not _combines(primitive, source.aval, out.aval):
                        return False
                else:
                    axis = before - sum(a < before for a in axes)
            else:
                return False
        else:
            return False
        self.settle(cluster, eqn, axis)
        return True

    def opened(self, eqn: Eqn) -> bool:
        (out,) = eqn.outputs
        if not self.transposed.isdisjoint(a for a in eqn.inputs if type(a) is Var):
            return False
        shape = out.aval.shape
        axis = 0
        if shape[0] == 1 or out.aval.size // shape[0] > _LARGE_ROW:
            axis = max(range(len(shape)), key=lambda a: shape[a])
        # Numbered from one: what depends on no cluster is known at time 0.
        cluster = _Cluster(len(self.clusters) + 1, shape, axis)
        self.clusters.append(cluster)
        self.settle(cluster, eqn, axis)
        return True

    def settle(self, cluster: _Cluster, eqn: Eqn, axis: int | None) -> None:
        cluster.add(eqn, axis)
        (out,) = eqn.outputs
        self.time[out] = 2 * cluster.number
        self.home[out] = cluster

    def program(self) -> Jaxpr:
        """All equations in their new order, clusters as one."""
        jaxpr = self.jaxpr
        placed = [*self.others]
        reads = count_reads(jaxpr)
        for cluster in self.clusters:
            position = 0
            for part in _parts(cluster.eqns):
                pays = sum(type(eqn.primitive) is not Reshape for eqn in part) > 1
                for eqn in [_fused(part, cluster, reads)] if pays else part:
                    placed.append((2 * cluster.number, position, eqn))
                    position += 1
        placed.sort(key=lambda entry: entry[:2])
        eqns = [eqn for _, _, eqn in placed]
        return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name)


def _after_reshape(before: Sequence[int], axis: int, after: Sequence[int]) -> int | None:
    """Where an axis is after a reshape that leaves it and the axes around it apart."""
    ahead = math.prod(before[:axis])
    for position, length in enumerate(after):
        if length == before[axis] and math.prod(after[:position]) == ahead:
            return position
    return None


def _combines(primitive: Any, source: Aval, out: Aval) -> bool:
    """Whether a reduction over the axis may be put together from those of the blocks."""
    floats = source.dtype.kind in "fc" if type(primitive) is Sum else source.dtype.kind in "fiub"
    # Partial results are few beside what they stand for.
    small = out.size * 64 <= source.size
    return type(primitive) in COMBINED_BY and floats and small


def _parts(eqns: list[Eqn]) -> list[list[Eqn]]:
    """A cluster, cut where too many of its values would be alive at once."""
    last: dict[Any, int] = {}
    for index, eqn in enumerate(eqns):
        for atom in eqn.inputs:
            last[atom] = index
    parts: list[list[Eqn]] = [[]]
    alive: set[Any] = set()
    for index, eqn in enumerate(eqns):
        alive.update(v for v in eqn.outputs if last.get(v, -1) > index)
        parts[-1].append(eqn)
        alive = {v for v in alive if last[v] > index} if len(alive) > _MOST_LIVE else alive
        if len(alive) > _MOST_LIVE:
            parts.append([])
            alive = set()
    return [part for part in parts if part]


def _fused(eqns: list[Eqn], cluster: _Cluster, reads: dict[Any, int]) -> Eqn:
    made = {eqn.outputs[0] for eqn in eqns}
    operands: dict[Var, None] = {}
    inside: dict[Any, int] = {}
    for eqn in eqns:
        for atom in eqn.inputs:
            inside[atom] = inside.get(atom, 0) + 1
            if type(atom) is Var and atom not in made:
                operands[atom] = None
    results = [
        eqn.outputs[0]
        for eqn in eqns
        if reads.get(eqn.outputs[0], 0) > inside.get(eqn.outputs[0], 0)
    ]
    body = Jaxpr((), (), tuple(operands), eqns, results)
    primitive = Fused(
        body,
        tuple([cluster.axes.get(v) if v not in cluster.whole else None for v in operands]),
        tuple([cluster.axes.get(eqn.outputs[0]) for eqn in eqns]),
        cluster.size,
    )
    return Eqn(primitive, tuple(operands), tuple(results), eqns[0].source)
