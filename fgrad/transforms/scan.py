"""The loop over the leading axis of arrays, as a primitive with all of its rules.

The rules are those of the body, in a loop of their own: a tangent loop beside the primal one, a backward
loop that reads what the forward one kept, a loop over batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.compiler import compiled
from fgrad.compiler.fission import prepared
from fgrad.compiler.guards import results_to_look_at
from fgrad.compiler.loops import alone, can_write, write_scan
from fgrad.config import config
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Jaxpr, Var, derivative_rules, eval_jaxpr
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import add, match_aval, zeros_of
from fgrad.primitives.shape import Concatenate, expand_dims, moveaxis, spread, static_index
from fgrad.tracing import Primitive, highest_level, record
from fgrad.transforms.bodies import (
    Flags,
    batched_body,
    carry_fixpoint,
    check_operands,
    chosen,
    coerced,
    dependent_outputs,
    fresh,
    has_effects,
    hoisted,
    narrowed,
    or_zeros,
    runner,
    scattered,
    with_inputs,
)
from fgrad.transforms.jvp import linear_form
from fgrad.transforms.live_lanes import guarded
from fgrad.transforms.loop_fission import split_loop
from fgrad.transforms.tangent_body import given_of, matched, tangent_body
from fgrad.transforms.vjp import ReverseJaxpr, reverse_jaxpr, scatter_found


@parameters
class Scan(Primitive):
    """Run a body once for each entry of a leading axis.   *consts *carry *rows[n] -> *carry *results[n]

    The body maps constants, carry and rows to the next carry and rows of results. There is one step at
    least.
    """

    body: Jaxpr
    consts: int
    carries: int
    length: int
    reverse: bool = False
    multiple_results = True
    keeps_residuals = True
    copies_operands = True
    unbounded = False

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return (self.body,)

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return has_effects(self.jaxprs)

    def with_jaxprs(self, jaxprs: Sequence[Jaxpr]) -> Scan:
        """The same loop over another body of the same type."""
        return Scan(jaxprs[0], self.consts, self.carries, self.length, self.reverse)

    def guarded(self, live: Any, inputs: Sequence[Any]) -> tuple[Primitive, Sequence[Any]]:
        """The loop, and its operands, in lanes that may not be used."""
        loop = Scan(guarded(self.body), self.consts + 1, self.carries, self.length, self.reverse)
        return loop, (live, *inputs)

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Constants, carries and rows."""
        start, stop = self.consts, self.consts + self.carries
        return list(values[:start]), list(values[start:stop]), list(values[stop:])

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        consts, carry, rows = self.split(avals)
        inner = [Aval(aval.shape[1:], aval.dtype) for aval in rows]
        check_operands("scan", [*consts, *carry, *inner], self.body.in_avals)
        check_operands("scan", carry, self.body.out_avals[: self.carries])
        results = self.body.out_avals[self.carries :]
        return [*carry, *[Aval((self.length, *a.shape), a.dtype) for a in results]]

    def write(self, emitter: Any, eqn: Any, margin: str, silenced: bool) -> list[str] | None:
        """The statements of the loop in compiled code."""
        return write_scan(emitter, eqn, margin, silenced)

    def write_with_room(
        self,
        emitter: Any,
        eqn: Any,
        margin: str,
        silenced: bool,
        rooms: Mapping[Var, tuple[Var, bool]],
    ) -> list[str] | None:
        """The same, with results in arrays of one row more."""
        return write_scan(emitter, eqn, margin, silenced, rooms)

    def parts(self, silent: bool, zeros: Flags) -> Jaxpr | None:
        """The program of the loop in parts, of which those that need no carry run once for all steps.

        The flagged operands are zeros.
        """
        if not can_write(self.jaxprs):
            return None
        return split_loop(self, silent, tuple(self.split(zeros)[1]), bind_scan)

    def results_to_look_at(self) -> Flags | None:
        """The results to look for NaN in, on behalf of the products of all steps."""
        if not can_write(self.jaxprs):
            return None
        return results_to_look_at(prepared(self.body), self.consts, self.carries)

    def impl(self, *values: Any) -> Sequence[Any]:
        if can_write(self.jaxprs) and not config.debug_nans:
            own, entries = self.body.in_avals, self.consts + self.carries
            avals = [
                *own[:entries],
                *[Aval((self.length, *a.shape), a.dtype) for a in own[entries:]],
            ]
            key = self.consts, self.carries, self.length, self.reverse
            program = alone(self, avals, key)
            if program is not None:
                return compiled(program).run(*values)
        run = runner(self.body)
        consts, carry, rows = self.split(values)
        count = self.carries
        results = [np.empty((self.length, *a.shape), a.dtype) for a in self.body.out_avals[count:]]
        targets = results
        if self.reverse:
            rows = [row[::-1] for row in rows]
            targets = [result[::-1] for result in results]
        steps = zip(*rows, strict=True) if rows else itertools.repeat((), self.length)
        if targets:
            for step, row in enumerate(steps):
                out = run(*consts, *carry, *row)
                carry = out[:count]
                for target, entry in zip(targets, out[count:], strict=True):
                    target[step] = entry
        else:
            for row in steps:
                carry = run(*consts, *carry, *row)
        return [*fresh(carry, values), *results]

    # -- what the rules of other primitives ask --

    def carried(self, flags: Flags, differentiable: bool) -> Flags:
        """The flags of all inputs of the body at the later steps."""
        carry = carry_fixpoint(self.body, self.consts, self.carries, flags, differentiable)
        return (*flags[: self.consts], *carry, *flags[self.consts + self.carries :])

    def dependent_outputs(self, flags: Flags, differentiable: bool) -> Flags:
        from_body = dependent_outputs(
            self.body, self.carried(flags, differentiable), differentiable
        )
        carry = self.split(self.carried(flags, differentiable))[1]
        return (*carry, *from_body[self.carries :])

    def pruned(self, used: Flags) -> tuple[Primitive, Flags, Flags] | None:
        carry = used[: self.carries]
        while True:
            outputs = (*carry, *used[self.carries :])
            body, inputs = narrowed(self.body, outputs)
            grown = tuple([a or b for a, b in zip(carry, self.split(inputs)[1], strict=True)])
            if grown == carry:
                break
            carry = grown
        keep = (*inputs[: self.consts], *carry, *inputs[self.consts + self.carries :])
        if all(outputs):
            return None
        consts = sum(keep[: self.consts])
        loop = Scan(with_inputs(body, keep), consts, sum(carry), self.length, self.reverse)
        return loop, keep, outputs

    # -- rules --

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        flags = self.carried(tuple([t is not None for t in tangents]), True)
        directions = [
            t if t is not None or not flag else zeros_of(aval_of(p))
            for p, t, flag in zip(primals, tangents, flags, strict=True)
        ]
        given = chosen(directions, flags)
        if highest_level(given) > highest_level(primals):
            # Tangents of unknown value must not make the results unknown.
            return self.push_apart(primals, directions, flags)
        body, nonzero = tangent_body(self.body, self.consts, self.carries, flags)
        consts, carry, rows = self.split(primals)
        t_consts, t_carry, t_rows = map(given_of, self.split(directions))
        outs = bind_scan(
            body,
            [*consts, *t_consts],
            [*carry, *t_carry],
            [*rows, *t_rows],
            self.length,
            self.reverse,
        )
        count, results = self.carries, len(self.body.outvars) - self.carries
        split = count + len(t_carry)
        answers = [*outs[:count], *outs[split : split + results]]
        pushed = [*outs[count:split], *outs[split + results :]]
        return answers, scattered(pushed, (*self.split(flags)[1], *nonzero))

    def push_apart(
        self, primals: Sequence[Any], directions: Sequence[Any], flags: Flags
    ) -> tuple[Any, Any]:
        """The answers from primals alone, and their tangents by a second, linear loop."""
        form = linear_form(self.body, flags)
        answers, kept = run_keeping(self, form.forward, primals)
        body, nonzero = _linear_body(self, form, flags, kept.kinds)
        t_consts, t_carry, t_rows = map(given_of, self.split(directions))
        fixed, stacked = kept.operands(self.reverse)
        pushed = bind_scan(
            body, [*fixed, *t_consts], t_carry, [*stacked, *t_rows], self.length, self.reverse
        )
        return answers, scattered(pushed, (*self.split(flags)[1], *nonzero))

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        flags = self.carried(tuple(needs), True)
        reverse = reverse_jaxpr(self.body, flags)
        answers, kept = run_keeping(self, _keeping(reverse), args)
        return answers, ScanPullback(self, reverse, flags, kept)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        flags = self.carried(tuple(mapped), False)
        results = len(self.body.outvars) - self.carries
        carried = self.split(flags)[1]
        body, out_mapped = batched_body(self.body, size, flags, (*carried, *(False,) * results))
        spread_out = [
            spread(a, size) if flag and not m else a
            for a, m, flag in zip(args, mapped, flags, strict=True)
        ]
        consts, carry, rows = self.split(spread_out)
        rows = [
            moveaxis(row, 0, 1) if flag else row
            for row, flag in zip(rows, self.split(flags)[2], strict=True)
        ]
        outs = bind_scan(body, consts, carry, rows, self.length, self.reverse)
        answers = [
            moveaxis(out, 1, 0) if m and i >= self.carries else out
            for i, (out, m) in enumerate(zip(outs, out_mapped, strict=True))
        ]
        return answers, out_mapped


def bind_scan(
    body: Jaxpr,
    consts: Sequence[Any],
    carry: Sequence[Any],
    rows: Sequence[Any],
    length: int,
    reverse: bool,
) -> list[Any]:
    """Apply a loop, with what is the same at every step computed once before it."""
    if not body.outvars and not has_effects((body,)):
        return []
    values = coerced([*consts, *carry], body.in_avals[: len(consts) + len(carry)])
    consts, carry = values[: len(consts)], values[len(consts) :]
    plan = hoisted(body, len(consts), len(carry))
    extra = eval_jaxpr(plan.before, *consts) if plan.before.eqns else []
    operands = chosen([*consts, *extra, *carry, *rows], plan.used)
    fixed = sum(plan.used[: len(consts) + len(extra)])
    return Scan(plan.body, fixed, len(carry), length, reverse)(*operands)  # type: ignore[no-any-return]


# ---- forward mode ------------------------------------------------------------------------------


def _linear_body(
    scan: Scan, form: Any, flags: Flags, kinds: tuple[str, ...]
) -> tuple[Jaxpr, Flags]:
    """The body from residuals and tangents to tangents, and which rows of results have one."""
    key = ("scan linear", scan.consts, scan.carries, flags, kinds)
    known = form.linear.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    residuals = form.linear.in_avals[: len(kinds)]
    groups = [
        chosen(g, of)
        for g, of in zip(map(list, scan.split(scan.body.in_avals)), scan.split(flags), strict=True)
    ]
    nonzero = tuple(form.nonzero[scan.carries :])

    def run(*flat: Any) -> list[Any]:
        fixed = sum(kind == "fixed" for kind in kinds)
        values = iter(flat)
        from_before = list(itertools.islice(values, fixed))
        t_consts = list(itertools.islice(values, len(groups[0])))
        t_carry = list(itertools.islice(values, len(groups[1])))
        stacked = list(itertools.islice(values, len(kinds) - fixed))
        inputs = _residual_inputs(kinds, from_before, stacked, residuals)
        found = scattered(
            eval_jaxpr(form.linear, *inputs, *t_consts, *t_carry, *values), form.nonzero
        )
        carry_avals = scan.split(scan.body.in_avals)[1]
        carried = matched(found[: scan.carries], scan.split(flags)[1], carry_avals)
        return [*carried, *given_of(found[scan.carries :])]

    inputs = [
        *chosen(residuals, [kind == "fixed" for kind in kinds]),
        *groups[0],
        *groups[1],
        *[a.strong() for a in chosen(residuals, [kind != "fixed" for kind in kinds])],
        *groups[2],
    ]
    answer = record(run, inputs, scan.body.name, "linearize"), nonzero
    form.linear.derived[key] = answer
    return answer


# ---- what a loop keeps ---------------------------------------------------------------------------


class Kept(NamedTuple):
    """The residuals of a loop: for each a kind, and one value or two."""

    kinds: tuple[str, ...]
    values: list[Any]

    def operands(self, reverse: bool) -> tuple[list[Any], list[Any]]:
        """What is the same at every step, and what has a row for each."""
        values = iter(self.values)
        fixed, stacked = [], []
        for kind in self.kinds:
            if kind == "fixed":
                fixed.append(next(values))
            elif kind == "row":
                stacked.append(next(values))
            else:
                stacked.append(_one_step_earlier(next(values), next(values), reverse))
        return fixed, stacked


def _one_step_earlier(first: Any, rows: Any, reverse: bool) -> Any:
    """A carry as each step takes it in, from how it began and how the steps gave it out."""
    length = rows.shape[0]
    start = expand_dims(first, (0,))
    if length == 1:
        return start
    if reverse:
        return Concatenate(0)(static_index(rows, (slice(1, length, 1),)), start)
    return Concatenate(0)(start, static_index(rows, (slice(0, length - 1, 1),)))


class _Plan(NamedTuple):
    """How to run a body so that its residuals are kept."""

    body: Jaxpr
    sources: tuple[tuple[str, int, int], ...]
    results: int


def _keeping(reverse: ReverseJaxpr) -> Jaxpr:
    """The forward program with all that the backward one reads as further results."""
    known = reverse.forward.derived.get("keeping")
    if known is None:
        forward = reverse.forward
        count = len(reverse.active)
        passed = [forward.invars[i] for i in reverse.passed]
        outvars = [*forward.outvars[:count], *passed, *forward.outvars[count:]]
        known = forward.derived["keeping"] = Jaxpr(
            forward.constvars, forward.consts, forward.invars, forward.eqns, outvars, forward.name
        )
    return known


def run_keeping(scan: Scan, forward: Jaxpr, args: Sequence[Any]) -> tuple[list[Any], Kept]:
    """Run a loop over `forward`, whose results are those of the body and then residuals."""
    plan = _plan(scan, forward)
    before = hoisted(forward, scan.consts, scan.carries).before
    consts, carry, rows = scan.split(args)
    consts = coerced(consts, forward.in_avals[: scan.consts])
    carry = coerced(carry, scan.split(forward.in_avals)[1])
    extra = eval_jaxpr(before, *consts) if before.eqns else []
    outs = bind_scan(plan.body, [*consts, *extra], carry, rows, scan.length, scan.reverse)
    groups = {"const": [*consts, *extra], "carry": carry, "row": rows, "result": outs}
    kinds, values = [], []
    for kind, index, other in plan.sources:
        values.append(groups[kind][index])
        if other >= 0:
            values.append(outs[other])
        kinds.append("shifted" if other >= 0 else "fixed" if kind in ("const", "carry") else "row")
    return outs[: plan.results], Kept(tuple(kinds), values)


def _plan(scan: Scan, forward: Jaxpr) -> _Plan:
    key = ("scan kept", scan.consts, scan.carries)
    known = forward.derived.get(key)
    if known is None:
        known = forward.derived[key] = _make_plan(scan, forward)
    return known


def _make_plan(scan: Scan, forward: Jaxpr) -> _Plan:
    """Find for each residual the cheapest place: it may exist already."""
    results = len(scan.body.outvars)
    loop = hoisted(forward, scan.consts, scan.carries)
    extra = [v for v in loop.before.outvars if type(v) is Var]
    consts = {v: i for i, v in enumerate([*forward.invars[: scan.consts], *extra])}
    carries = {v: i for i, v in enumerate(scan.split(forward.invars)[1])}
    rows = {v: i for i, v in enumerate(scan.split(forward.invars)[2])}
    outs: list[Any] = list(forward.outvars[:results])
    places = {v: i for i, v in enumerate(outs) if i >= scan.carries}
    residuals = forward.outvars[results:]

    def stacked(v: Any) -> int:
        if v not in places:
            places[v] = len(outs)
            outs.append(v)
        return places[v]

    def is_plain(v: Any) -> bool:
        return v not in consts and v not in carries and v not in rows

    for v in residuals:
        if is_plain(v):
            stacked(v)
    sources: list[tuple[str, int, int]] = []
    for v in residuals:
        if v in consts:
            sources.append(("const", consts[v], -1))
        elif v in rows:
            sources.append(("row", rows[v], -1))
        elif v in carries:
            k = carries[v]
            if forward.outvars[k] is v:
                sources.append(("carry", k, -1))
            elif forward.outvars[k] in places and not v.aval.weak:
                # As each step gave it out, one step later.
                sources.append(("carry", k, places[forward.outvars[k]]))
            else:
                sources.append(("result", stacked(v), -1))
        else:
            sources.append(("result", stacked(v), -1))
    inputs = [*forward.invars[: scan.consts], *extra, *forward.invars[scan.consts :]]
    moved = {v for eqn in loop.before.eqns for v in eqn.outputs}
    eqns = [eqn for eqn in forward.eqns if not moved.issuperset(eqn.outputs) or not eqn.outputs]
    body = Jaxpr(forward.constvars, forward.consts, inputs, eqns, outs, forward.name)
    return _Plan(checked(body), tuple(sources), results)


def _residual_inputs(
    kinds: Sequence[str], fixed: Sequence[Any], stacked: Sequence[Any], avals: Sequence[Aval]
) -> list[Any]:
    """Residuals in their order; a row of what was a Python number is made one again."""
    from_before, from_rows = iter(fixed), iter(stacked)
    values = [next(from_before) if kind == "fixed" else next(from_rows) for kind in kinds]
    return [convert(v, a.dtype, a.weak) for v, a in zip(values, avals, strict=True)]


# ---- reverse mode ------------------------------------------------------------------------------


class ScanPullback:
    """The backward loop of a scan with its residuals."""

    def __init__(self, scan: Scan, reverse: ReverseJaxpr, flags: Flags, kept: Kept) -> None:
        self.scan = scan
        self.reverse = reverse
        self.flags = flags
        self.kinds = kept.kinds
        self.residuals = kept.values
        self.active = reverse.active

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        scan = self.scan
        given = tuple([ct is not None for ct in cts])
        plan = self._backward(given)
        carry_avals, row_cts = scan.body.out_avals[: scan.carries], cts[scan.carries :]
        fixed, stacked = Kept(self.kinds, self.residuals).operands(scan.reverse)
        sums = [zeros_of(aval) for aval in chosen(scan.body.in_avals, plan.summed)]
        carry = chosen(or_zeros(cts[: scan.carries], carry_avals), plan.carried)
        outs = bind_scan(
            plan.body,
            fixed,
            [*carry, *sums],
            [
                *stacked,
                *[ct for ct, p in zip(row_cts, plan.pulled[scan.carries :], strict=True) if p],
            ],
            scan.length,
            not scan.reverse,
        )
        start, stop = len(carry), len(carry) + len(sums)
        from_consts = scattered(outs[start:stop], plan.summed)
        from_carry = scattered(outs[:start], plan.carried)
        from_rows = scattered(outs[stop:], plan.found)
        return [*from_consts[: scan.consts], *from_carry, *from_rows]

    def _backward(self, given: Flags) -> _Backward:
        scan, full = self.scan, self.reverse.full
        key = ("scan backward", scan.consts, scan.carries, self.kinds, given)
        known = full.derived.get(key)
        if known is None:
            known = full.derived[key] = _make_backward(scan, self.reverse, self.kinds, given)
        return known


class _Backward(NamedTuple):
    body: Jaxpr
    #: Which carries have a cotangent at some step.
    carried: Flags
    #: Which results of the body hand their cotangents to its pullback.
    pulled: Flags
    #: The inputs of the body that are constants whose cotangents are summed over the steps.
    summed: Flags
    #: Which rows have a cotangent.
    found: Flags


def _make_backward(
    scan: Scan, reverse: ReverseJaxpr, kinds: tuple[str, ...], given: Flags
) -> _Backward:
    count, consts = scan.carries, scan.consts
    carried = given[:count]
    while True:
        # A carry may be active while the body does not give it out with a derivative: it is overwritten.
        # Its cotangent then enters the loop, and ends at the last step.
        pattern = tuple(
            [g and a for g, a in zip((*carried, *given[count:]), reverse.active, strict=True)]
        )
        program, nonzero = reverse.backward(pattern)
        flags = iter(nonzero)
        into = [need and next(flags) for need in reverse.needs]
        grown = tuple([a or b for a, b in zip(carried, into[consts : consts + count], strict=True)])
        if grown == carried:
            break
        carried = grown
    in_avals, out_avals = scan.body.in_avals, scan.body.out_avals
    summed = (*into[:consts], *(False,) * (len(in_avals) - consts))
    found = tuple(into[consts + count :])
    residuals = program.in_avals[: len(kinds)]
    fixed_kinds = [kind == "fixed" for kind in kinds]

    def run(*flat: Any) -> list[Any]:
        values = iter(flat)
        fixed = list(itertools.islice(values, sum(fixed_kinds)))
        cts = scattered(list(itertools.islice(values, sum(carried))), carried)
        sums = list(itertools.islice(values, sum(summed)))
        stacked = list(itertools.islice(values, len(kinds) - len(fixed)))
        inputs = _residual_inputs(kinds, fixed, stacked, residuals)
        # A row of cotangents of a Python number is made one again, as those of residuals.
        from_rows = [
            convert(ct, a.dtype, a.weak)
            for ct, a in zip(values, chosen(out_avals[count:], pattern[count:]), strict=True)
        ]
        all_cts = [*cts, *scattered(from_rows, pattern[count:])]
        with derivative_rules():
            pulled = eval_jaxpr(program, *inputs, *chosen(all_cts, pattern))
            cotangents = scatter_found(pulled, nonzero, reverse.needs)
            new_sums = [
                add(total, match_aval(ct, aval))
                for total, ct, aval in zip(
                    sums, chosen(cotangents, summed), chosen(in_avals, summed), strict=True
                )
            ]
        new_cts = matched(cotangents[consts : consts + count], carried, out_avals[:count])
        return [*new_cts, *new_sums, *chosen(cotangents[consts + count :], found)]

    avals = [
        *chosen(residuals, fixed_kinds),
        *chosen(out_avals[:count], carried),
        *chosen(in_avals, summed),
        *[a.strong() for a, is_fixed in zip(residuals, fixed_kinds, strict=True) if not is_fixed],
        *[a.strong() for a in chosen(out_avals[count:], pattern[count:])],
    ]
    body = record(run, avals, scan.body.name, "grad")
    return _Backward(body, carried, pattern, summed, found)
