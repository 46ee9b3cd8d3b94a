"""The choice between branches by an index, as a primitive with all of its rules.

The derivatives of the branches are branches of another choice by the same index. What they keep for it
shares slots: a branch fills those that it needs, and the others with zeros that take no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fgrad.avals import Aval, aval_of
from fgrad.compiler.loops import write_cond
from fgrad.dtypes import python_type
from fgrad.ir.jaxpr import Jaxpr, derivative_rules, eval_jaxpr
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import equal, logical_not, select
from fgrad.primitives.families import broadcast_to, match_aval, reshape, zeros_of
from fgrad.tracing import Primitive, concrete, highest_level, record
from fgrad.transforms.bodies import (
    Flags,
    batched_body,
    check_operands,
    chosen,
    coerced,
    dependent_outputs,
    fresh,
    has_effects,
    narrowed,
    runner,
    scattered,
    with_inputs,
)
from fgrad.transforms.call import Call
from fgrad.transforms.jvp import JVPTrace, linear_form
from fgrad.transforms.lanes import lane_by_lane
from fgrad.transforms.live_lanes import guarded, may_not_end
from fgrad.transforms.vjp import reverse_jaxpr, scatter_found


@parameters
class Cond(Primitive):
    """Run the branch that an index selects: false is 0, true is 1.   index *operands -> *results"""

    branches: tuple[Jaxpr, ...]
    multiple_results = True
    keeps_residuals = True
    copies_operands = True
    unbounded = False

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return self.branches

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return has_effects(self.jaxprs)

    def with_jaxprs(self, jaxprs: Sequence[Jaxpr]) -> Cond:
        """The same choice between other branches of the same type."""
        return Cond(tuple(jaxprs))

    def guarded(self, live: Any, inputs: Sequence[Any]) -> tuple[Primitive, Sequence[Any]]:
        """The choice, and its operands, in lanes that may not be used."""
        index, *operands = inputs
        return Cond(tuple(map(guarded, self.branches))), (index, live, *operands)

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        for branch in self.branches:
            check_operands("cond", avals[1:], branch.in_avals)
            check_operands("cond", self.branches[0].out_avals, branch.out_avals)
        return self.branches[0].out_avals

    def write(self, emitter: Any, eqn: Any, margin: str, silenced: bool) -> list[str] | None:
        """The statements of the choice in compiled code."""
        return write_cond(emitter, eqn, margin, silenced)

    def impl(self, *values: Any) -> Sequence[Any]:
        return fresh(runner(self.branches[int(values[0])])(*values[1:]), values)

    def dependent_outputs(self, flags: Flags, differentiable: bool) -> Flags:
        if flags[0] and not differentiable:
            return (True,) * len(self.branches[0].outvars)
        each = [dependent_outputs(b, flags[1:], differentiable) for b in self.branches]
        return tuple([any(column) for column in zip(*each, strict=True)])

    def pruned(self, used: Flags) -> tuple[Primitive, Flags, Flags]:
        found = [narrowed(branch, used) for branch in self.branches]
        inputs = tuple([any(column) for column in zip(*[u for _, u in found], strict=True)])
        branches = tuple([with_inputs(branch, inputs) for branch, _ in found])
        return Cond(branches), (True, *inputs), used

    def known_branch(self, index: Any) -> Call | None:
        """The branch to call, where the index is known."""
        known = concrete(index)
        return None if known is None else Call(self.branches[int(known)])

    # -- rules --

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        branch = self.known_branch(primals[0])
        if branch is not None:
            return branch.push(primals[1:], tangents[1:])
        flags = tuple([t is not None for t in tangents[1:]])
        directions = [t for t in tangents[1:] if t is not None]
        out_flags = self.dependent_outputs((False, *flags), True)
        if highest_level(directions) > highest_level(primals):
            return self.push_apart(primals, directions, flags, out_flags)
        branches = tuple([_tangent_branch(b, flags, out_flags) for b in self.branches])
        outs = bind_cond(branches, primals[0], [*primals[1:], *directions])
        count = len(out_flags)
        return outs[:count], scattered(outs[count:], out_flags)

    def push_apart(
        self, primals: Sequence[Any], directions: Sequence[Any], flags: Flags, out_flags: Flags
    ) -> tuple[Any, Any]:
        """The answers from primals alone, and their tangents by a second, linear choice."""
        forms = [linear_form(branch, flags) for branch in self.branches]
        plan = _shared(self, "linear", flags, [form.forward for form in forms])
        index, *operands = primals
        outs = bind_cond(plan.branches, index, operands)
        count = len(out_flags)
        residuals = [*chosen(operands, plan.passed), *outs[count:]]
        key = ("cond linear", self.branches, flags, out_flags)
        branches = self.branches[0].derived.get(key)
        if branches is None:
            branches = self.branches[0].derived[key] = tuple(
                [
                    _linear_branch(form, picked, residuals, out_flags, self.branches[0].out_avals)
                    for form, picked in zip(forms, plan.picked, strict=True)
                ]
            )
        pushed = bind_cond(branches, index, [*residuals, *directions])
        return outs[:count], scattered(pushed, out_flags)

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        branch = self.known_branch(args[0])
        if branch is not None:
            answers, pullback = branch.pull(needs[1:], args[1:])
            return answers, KnownPullback(pullback)
        flags = tuple(needs[1:])
        forms = [reverse_jaxpr(branch, flags) for branch in self.branches]
        forwards = []
        for form in forms:
            forward, count = form.forward, len(form.active)
            passed = [forward.invars[i] for i in form.passed]
            outvars = [*forward.outvars[:count], *passed, *forward.outvars[count:]]
            forwards.append(
                Jaxpr(
                    forward.constvars,
                    forward.consts,
                    forward.invars,
                    forward.eqns,
                    outvars,
                    forward.name,
                )
            )
        plan = _shared(self, "vjp", flags, forwards)
        index, *operands = args
        outs = bind_cond(plan.branches, index, operands)
        count = len(self.branches[0].outvars)
        residuals = [index, *chosen(operands, plan.passed), *outs[count:]]
        return outs[:count], CondPullback(self, forms, plan.picked, flags, residuals)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        index, *operands = args
        flags = tuple(mapped[1:])
        if not mapped[0]:
            forced = self.dependent_outputs(tuple(mapped), False)
            branches = [batched_body(b, size, flags, forced)[0] for b in self.branches]
            return bind_cond(tuple(branches), index, operands), forced
        if self.effectful:
            # An effect happens for the examples that take its branch.
            results = lane_by_lane(self, size, args, mapped)
            return results, (True,) * len(results)
        everything = (True,) * len(self.branches[0].outvars)
        outs: list[Any] = []
        for number, branch in enumerate(self.branches):
            lanes = _lanes(index, number)
            given, mapped_given = operands, flags
            if may_not_end(branch):
                branch, given, mapped_given = guarded(branch), [lanes, *operands], (True, *flags)
            body, _ = batched_body(branch, size, mapped_given, everything, lanes_unused=True)
            with derivative_rules():
                results = Call(body)(*given)
            outs = (
                [
                    select(reshape(lanes, (size, *(1,) * (len(one.shape) - 1))), one, other)
                    for one, other in zip(results, outs, strict=True)
                ]
                if outs
                else results
            )
        return outs, everything


def _lanes(index: Any, number: int) -> Any:
    """Which lanes take the branch of a number."""
    if aval_of(index).dtype.kind == "b":
        return index if number else logical_not(index)
    return equal(index, number)


def bind_cond(branches: tuple[Jaxpr, ...], index: Any, operands: Sequence[Any]) -> list[Any]:
    """Apply a choice; with an index that is known, the branch itself."""
    if not branches[0].outvars and not has_effects(branches):
        return []
    operands = coerced(operands, branches[0].in_avals)
    return Cond(branches)(index, *operands)  # type: ignore[no-any-return]


# ---- forward mode ------------------------------------------------------------------------------


def _tangent_branch(branch: Jaxpr, flags: Flags, out_flags: Flags) -> Jaxpr:
    """The branch with tangents of the flagged results, which may be zero here."""
    key = ("cond jvp", flags, out_flags)
    known = branch.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    count = len(flags)

    def run(*flat: Any) -> list[Any]:
        directions = scattered(flat[count:], flags)
        with JVPTrace(branch.name) as trace:
            inputs = [
                p if t is None else trace.pair(p, t)
                for p, t in zip(flat[:count], directions, strict=True)
            ]
            pairs = [trace.split(x) for x in eval_jaxpr(branch, *inputs)]
        return [
            *[p for p, _ in pairs],
            *_instantiated([t for _, t in pairs], out_flags, branch.out_avals),
        ]

    avals = [*branch.in_avals, *chosen(branch.in_avals, flags)]
    derived = branch.derived[key] = record(run, avals, branch.name, "jvp")
    return derived


def _instantiated(directions: Sequence[Any], flags: Flags, avals: Sequence[Aval]) -> list[Any]:
    with derivative_rules():
        return [
            zeros_of(aval) if d is None else match_aval(d, aval)
            for d, flag, aval in zip(directions, flags, avals, strict=True)
            if flag
        ]


def _linear_branch(
    form: Any, picked: Sequence[int], residuals: Sequence[Any], out_flags: Flags, out_avals: Any
) -> Jaxpr:
    count = len(residuals)

    def run(*flat: Any) -> list[Any]:
        found = eval_jaxpr(form.linear, *[flat[i] for i in picked], *flat[count:])
        return _instantiated(scattered(found, form.nonzero), out_flags, out_avals)

    avals = [*map(aval_of, residuals), *form.linear.in_avals[len(picked) :]]
    return record(run, avals, form.linear.name, "linearize")


# ---- residuals that share slots ------------------------------------------------------------------


class _Shared(NamedTuple):
    branches: tuple[Jaxpr, ...]
    #: Which operands are residuals of some branch.
    passed: Flags
    #: For each branch, where its residuals are among the passed operands and the slots.
    picked: tuple[tuple[int, ...], ...]


def _shared(cond: Cond, kind: str, flags: Flags, forwards: Sequence[Jaxpr]) -> _Shared:
    """Branches that all return their results and then the same residual slots."""
    key = ("cond kept", kind, cond.branches, flags)
    known = cond.branches[0].derived.get(key)
    if known is None:
        known = cond.branches[0].derived[key] = _share(forwards, len(cond.branches[0].outvars))
    return known


def _share(forwards: Sequence[Jaxpr], count: int) -> _Shared:
    operands = [{v: i for i, v in enumerate(f.invars)} for f in forwards]
    slots: list[Aval] = []
    filled: list[dict[int, Any]] = []
    places: list[list[tuple[str, int]]] = []
    for forward, own in zip(forwards, operands, strict=True):
        taken: dict[int, Any] = {}
        place: list[tuple[str, int]] = []
        for v in forward.outvars[count:]:
            if v in own:
                place.append(("operand", own[v]))
                continue
            slot = next((i for i, atom in taken.items() if atom is v), None)
            if slot is None:
                slot = next(
                    (i for i, aval in enumerate(slots) if aval == v.aval and i not in taken), None
                )
            if slot is None:
                slot = len(slots)
                slots.append(v.aval)
            taken[slot] = v
            place.append(("slot", slot))
        filled.append(taken)
        places.append(place)
    used = {i for place in places for kind, i in place if kind == "operand"}
    passed = tuple([i in used for i in range(len(forwards[0].invars))])
    position = {i: n for n, i in enumerate(sorted(used))}
    picked = tuple(
        [
            tuple([position[i] if kind == "operand" else len(used) + i for kind, i in place])
            for place in places
        ]
    )
    branches = tuple(
        [_with_slots(f, count, taken, slots) for f, taken in zip(forwards, filled, strict=True)]
    )
    return _Shared(branches, passed, picked)


def _with_slots(forward: Jaxpr, count: int, taken: dict[int, Any], slots: list[Aval]) -> Jaxpr:
    order = [v for _, v in sorted(taken.items())]
    whole = Jaxpr(
        forward.constvars,
        forward.consts,
        forward.invars,
        forward.eqns,
        [*forward.outvars[:count], *order],
        forward.name,
    )

    def run(*flat: Any) -> list[Any]:
        outs = eval_jaxpr(whole, *flat)
        kept = dict(zip(sorted(taken), outs[count:], strict=True))
        return [*outs[:count], *[kept[i] if i in kept else _unused(a) for i, a in enumerate(slots)]]

    return record(run, forward.in_avals, forward.name, "cond")


def _unused(aval: Aval) -> Any:
    """Zeros that take no memory."""
    if aval.weak:
        return python_type(aval.dtype)(0)
    zero = aval.dtype.type(0)
    return broadcast_to(zero, aval.shape) if aval.shape else zero


# ---- reverse mode ------------------------------------------------------------------------------


class KnownPullback:
    """The pullback of a branch that was called itself: the index has no cotangent."""

    def __init__(self, branch: Any) -> None:
        self.branch = branch
        self.active = branch.active

    @property
    def residuals(self) -> list[Any]:
        return self.branch.residuals  # type: ignore[no-any-return]

    @residuals.setter
    def residuals(self, values: list[Any]) -> None:
        self.branch.residuals = values

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        return [None, *self.branch(cts)]


class CondPullback:
    """The choice between the backward programs of the branches, with what they kept."""

    def __init__(
        self,
        cond: Cond,
        forms: Sequence[Any],
        picked: tuple[tuple[int, ...], ...],
        needs: Flags,
        residuals: list[Any],
    ) -> None:
        self.cond = cond
        self.forms = forms
        self.picked = picked
        self.needs = needs
        self.residuals = residuals
        self.active = [any(column) for column in zip(*[f.active for f in forms], strict=True)]

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        given = tuple([ct is not None for ct in cts])
        branches, nonzero = self._backward(given)
        index, *residuals = self.residuals
        outs = bind_cond(branches, index, [*residuals, *[ct for ct in cts if ct is not None]])
        return [None, *scatter_found(outs, nonzero, self.needs)]

    def _backward(self, given: Flags) -> tuple[tuple[Jaxpr, ...], Flags]:
        first = self.cond.branches[0]
        key = ("cond backward", self.cond.branches, self.needs, given)
        known = first.derived.get(key)
        if known is None:
            known = first.derived[key] = self._make_backward(given)
        return known

    def _make_backward(self, given: Flags) -> tuple[tuple[Jaxpr, ...], Flags]:
        programs = [
            form.backward([g and a for g, a in zip(given, form.active, strict=True)])
            for form in self.forms
        ]
        nonzero = tuple([any(column) for column in zip(*[nz for _, nz in programs], strict=True)])
        residual_avals = [aval_of(r) for r in self.residuals[1:]]
        first = self.cond.branches[0]
        ct_avals = chosen(first.out_avals, given)
        in_avals = chosen(first.in_avals, self.needs)
        count = len(residual_avals)
        branches = []
        for form, picked, (program, own) in zip(self.forms, self.picked, programs, strict=True):

            def run(
                *flat: Any,
                form: Any = form,
                picked: Any = picked,
                program: Any = program,
                own: Any = own,
            ) -> list[Any]:
                pulled = [
                    ct
                    for ct, active in zip(flat[count:], chosen(form.active, given), strict=True)
                    if active
                ]
                found = eval_jaxpr(program, *[flat[i] for i in picked], *pulled)
                return _instantiated(scattered(found, own), nonzero, in_avals)

            branches.append(record(run, [*residual_avals, *ct_avals], first.name, "grad"))
        return tuple(branches), nonzero
