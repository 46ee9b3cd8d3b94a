"""The loop that runs while a condition holds, as a primitive with all of its rules.

How often it runs is known only when it has run. So reverse mode needs known values: then each step is
differentiated as it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.avals import Aval, aval_of
from fgrad.compiler import compiled
from fgrad.compiler.loops import alone, can_write, write_while
from fgrad.compiler.runtime import alias
from fgrad.config import config
from fgrad.errors import UnboundedLoopError
from fgrad.ir.jaxpr import Jaxpr, Var, eval_jaxpr
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import logical_and, select
from fgrad.primitives.families import add, reshape, zeros_of
from fgrad.primitives.reduction import Any_
from fgrad.primitives.shape import spread
from fgrad.source_info import here
from fgrad.tracing import Primitive, concrete, describe_unknown, highest_level, record
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
    narrowed,
    runner,
    scattered,
    with_inputs,
)
from fgrad.transforms.call import Call
from fgrad.transforms.lanes import lane_by_lane
from fgrad.transforms.live_lanes import guarded, guarded_condition, may_not_end
from fgrad.transforms.tangent_body import tangent_body


@parameters
class While(Primitive):
    """Run a body while a condition of the carry holds.   *condition_consts *body_consts *carry -> *carry"""

    condition: Jaxpr
    body: Jaxpr
    condition_consts: int
    body_consts: int
    multiple_results = True
    keeps_residuals = True
    unbounded = True

    @property
    def name(self) -> str:
        return "while"

    @property
    def called(self) -> str:
        return "while_loop"

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return self.condition, self.body

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return has_effects(self.jaxprs)

    def with_jaxprs(self, jaxprs: Sequence[Jaxpr]) -> While:
        """The same loop of another condition and body of the same types."""
        return While(jaxprs[0], jaxprs[1], self.condition_consts, self.body_consts)

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Constants of the condition, constants of the body, carries."""
        start, stop = self.condition_consts, self.condition_consts + self.body_consts
        return list(values[:start]), list(values[start:stop]), list(values[stop:])

    def guarded(self, live: Any, inputs: Sequence[Any]) -> tuple[Primitive, Sequence[Any]]:
        """The loop, and its operands, in lanes that may not be used."""
        condition_consts, consts, carry = self.split(inputs)
        body = self.body
        if may_not_end(body):
            body, consts = guarded(body), [live, *consts]
        condition = guarded_condition(self.condition)
        loop = While(condition, body, self.condition_consts + 1, len(consts))
        return loop, (live, *condition_consts, *consts, *carry)

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        condition_consts, body_consts, carry = self.split(avals)
        check_operands("while", [*condition_consts, *carry], self.condition.in_avals)
        check_operands("while", [*body_consts, *carry], self.body.in_avals)
        check_operands("while", carry, self.body.out_avals)
        return carry

    def write(self, emitter: Any, eqn: Any, margin: str, silenced: bool) -> list[str] | None:
        """The statements of the loop in compiled code."""
        return write_while(emitter, eqn, margin, silenced)

    def impl(self, *values: Any) -> Sequence[Any]:
        if can_write(self.jaxprs) and not config.debug_nans:
            avals = [*self.condition.in_avals[: self.condition_consts], *self.body.in_avals]
            key = self.condition, self.condition_consts, self.body_consts
            program = alone(self, avals, key)
            if program is not None:
                return compiled(program).run(*values)
        condition, body = runner(self.condition), runner(self.body)
        condition_consts, body_consts, carry = self.split(values)
        while condition(*condition_consts, *carry)[0]:
            carry = body(*body_consts, *carry)
        return fresh(carry, values)

    def carried(self, flags: Flags, differentiable: bool) -> Flags:
        """Which carries are flagged at some step."""
        _, consts, carry = self.split(flags)
        inputs = (*consts, *carry)
        return carry_fixpoint(self.body, len(consts), len(carry), inputs, differentiable)

    def dependent_outputs(self, flags: Flags, differentiable: bool) -> Flags:
        carried = self.carried(flags, differentiable)
        if differentiable or not self.is_mapped(flags, carried):
            return carried
        return (True,) * len(carried)

    def is_mapped(self, flags: Flags, carried: Flags) -> bool:
        """Whether the condition depends on the flagged inputs."""
        inputs = (*flags[: self.condition_consts], *carried)
        return dependent_outputs(self.condition, inputs, False)[0]

    def pruned(self, used: Flags) -> tuple[Primitive, Flags, Flags] | None:
        _, read = narrowed(self.condition, (True,))
        carry = tuple([u or r for u, r in zip(used, read[self.condition_consts :], strict=True)])
        while True:
            body, inputs = narrowed(self.body, carry)
            grown = tuple([a or b for a, b in zip(carry, inputs[self.body_consts :], strict=True)])
            if grown == carry:
                break
            carry = grown
        if all(carry):
            return None
        from_condition, from_body = read[: self.condition_consts], inputs[: self.body_consts]
        loop = While(
            with_inputs(self.condition, (*from_condition, *carry)),
            with_inputs(body, (*from_body, *carry)),
            sum(from_condition),
            sum(from_body),
        )
        return loop, (*from_condition, *from_body, *carry), carry

    def goes_on(self, condition_consts: Sequence[Any], carry: Sequence[Any]) -> bool | None:
        """Whether there is another step; None where that is unknown."""
        answer = Call(self.condition)(*condition_consts, *carry)[0]
        known = concrete(answer)
        return None if known is None else bool(known)

    # -- rules --

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        nonzero = tuple([t is not None for t in tangents])
        carried = self.carried(nonzero, True)
        condition_consts, consts, carry = self.split(primals)
        _, t_consts, t_carry = self.split(tangents)
        t_carry = [
            t if t is not None or not flag else zeros_of(aval_of(c))
            for t, c, flag in zip(t_carry, carry, carried, strict=True)
        ]
        directions = [t for t in (*t_consts, *t_carry) if t is not None]
        apart = highest_level(directions) > highest_level(primals)
        if apart and self.goes_on(condition_consts, carry) is not None:
            return self.push_step_by_step(primals, [*t_consts, *t_carry])
        flags = (*[t is not None for t in t_consts], *carried)
        body, _ = tangent_body(self.body, len(consts), len(carry), flags)
        given = [t for t in t_consts if t is not None]
        moving = chosen(t_carry, carried)
        loop = While(
            _with_more_inputs(self.condition, [aval_of(c) for c in chosen(carry, carried)]),
            body,
            len(condition_consts),
            len(consts) + len(given),
        )
        avals = [*body.in_avals[len(consts) + len(given) :]]
        operands = coerced([*carry, *moving], avals)
        outs = loop(*condition_consts, *consts, *given, *operands)
        answers = self(*primals) if apart else outs[: len(carry)]
        return answers, scattered(outs[len(carry) :], carried)

    def push_step_by_step(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The answers from primals of known value, and tangents of unknown value."""
        condition_consts, consts, carry = self.split(primals)
        t_consts, t_carry = list(tangents[: len(consts)]), list(tangents[len(consts) :])
        step = Call(self.body)
        while self.goes_on(condition_consts, carry):
            carry, t_carry = step.push([*consts, *carry], [*t_consts, *t_carry])
        return [*map(alias, carry)], list(t_carry)

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        carried = self.carried(tuple(needs), True)
        condition_consts, consts, carry = self.split(args)
        if not any(carried):
            return self(*args), WhilePullback(self, [], carried, (False,) * len(carry))
        flags = (*self.split(needs)[1], *carried)
        step = Call(self.body)
        steps: list[Any] = []
        while True:
            more = self.goes_on(condition_consts, carry)
            if more is None:
                unknown = Call(self.condition)(*condition_consts, *carry)[0]
                raise UnboundedLoopError(
                    "reverse mode of while_loop needs to know how often the loop runs, but its condition is "
                    f"{describe_unknown(unknown)}, at {here()}; use fgrad.lax.scan, or fori_loop with bounds "
                    "that are known, or forward mode"
                )
            if not more:
                break
            carry, pullback = step.pull(flags, [*consts, *carry])
            steps.append(pullback)
        active = tuple(steps[-1].active) if steps else self.split(needs)[2]
        return [*map(alias, carry)], WhilePullback(self, steps, carried, tuple(active))

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        flags = tuple(mapped)
        carried = self.carried(flags, False)
        if not self.is_mapped(flags, carried):
            return self._batch_in_step(size, args, flags, carried), carried
        if self.effectful:
            # An effect happens for the examples that still run.
            return lane_by_lane(self, size, args, mapped), (True,) * len(carried)
        return self._batch_by_lane(size, args, flags), (True,) * len(carried)

    def _batch_in_step(
        self, size: int, args: Sequence[Any], flags: Flags, carried: Flags
    ) -> list[Any]:
        """All lanes run equally often."""
        condition_consts, consts, carry = self.split(args)
        body, _ = batched_body(self.body, size, (*self.split(flags)[1], *carried), carried)
        condition, _ = batched_body(
            self.condition, size, (*self.split(flags)[0], *carried), (False,)
        )
        carry = [
            spread(c, size) if flag and not m else c
            for c, flag, m in zip(carry, carried, self.split(flags)[2], strict=True)
        ]
        loop = While(condition, body, self.condition_consts, self.body_consts)
        return loop(*condition_consts, *consts, *coerced(carry, body.out_avals))  # type: ignore[no-any-return]

    def _batch_by_lane(self, size: int, args: Sequence[Any], flags: Flags) -> list[Any]:
        """The loop runs while any lane does; lanes that have ended keep their carries."""
        condition_consts, consts, carry = self.split(args)
        everything = (True,) * len(carry)
        key = ("while by lane", self.condition, size, flags)
        loop = self.body.derived.get(key)
        condition_flags = (*self.split(flags)[0], *everything)
        condition, _ = batched_body(self.condition, size, condition_flags, (True,), True)
        if loop is None:
            # A loop in the body must end in lanes that are done.
            inner = may_not_end(self.body)
            body_flags = (*(True,) * inner, *self.split(flags)[1], *everything)
            program = guarded(self.body) if inner else self.body
            body, _ = batched_body(program, size, body_flags, everything, True)
            loop = self.body.derived[key] = _lane_loop(self, condition, body, inner)
        carry = [
            c if m else spread(c, size) for c, m in zip(carry, self.split(flags)[2], strict=True)
        ]
        live = Call(condition)(*condition_consts, *carry)[0]
        outs = loop(*consts, *condition_consts, live, *carry)
        return outs[1:]  # type: ignore[no-any-return]


def _lane_loop(loop: While, condition: Jaxpr, body: Jaxpr, is_guarded: bool) -> While:
    """The loop whose first carry tells which lanes still run; a guarded body is told it too."""
    consts, condition_consts = loop.body_consts, loop.condition_consts
    carry_avals = body.out_avals
    live_aval = condition.out_avals[0]

    def any_lane(live: Any, *carry: Any) -> list[Any]:
        return [Any_((0,))(live)]

    def step(*flat: Any) -> list[Any]:
        start = consts + condition_consts
        live, carry = flat[start], flat[start + 1 :]
        told = [live] if is_guarded else []
        moved = eval_jaxpr(body, *told, *flat[:consts], *carry)
        kept = [
            select(reshape(live, (*live.shape, *(1,) * (len(aval.shape) - 1))), new, old)
            for new, old, aval in zip(moved, carry, carry_avals, strict=True)
        ]
        still = eval_jaxpr(condition, *flat[consts:start], *kept)[0]
        return [logical_and(live, still), *kept]

    carry = [live_aval, *carry_avals]
    skipped = int(is_guarded)
    inputs = [
        *body.in_avals[skipped : skipped + consts],
        *condition.in_avals[:condition_consts],
        *carry,
    ]
    name = body.name
    return While(
        record(any_lane, carry, condition.name, "vmap"),
        record(step, inputs, name, "vmap"),
        0,
        consts + condition_consts,
    )


def _with_more_inputs(jaxpr: Jaxpr, avals: Sequence[Aval]) -> Jaxpr:
    """The program with further inputs that it does not read."""
    key = ("more inputs", tuple(avals))
    known = jaxpr.derived.get(key)
    if known is None:
        known = jaxpr.derived[key] = Jaxpr(
            jaxpr.constvars,
            jaxpr.consts,
            [*jaxpr.invars, *map(Var, avals)],
            jaxpr.eqns,
            jaxpr.outvars,
            jaxpr.name,
        )
    return known


class WhilePullback:
    """The pullbacks of the steps that a loop took."""

    def __init__(self, loop: While, steps: list[Any], carried: Flags, active: Flags) -> None:
        self.loop = loop
        self.steps = steps
        self.carried = carried
        self.active = active

    @property
    def residuals(self) -> list[Any]:
        return [r for step in self.steps for r in step.residuals]

    @residuals.setter
    def residuals(self, values: list[Any]) -> None:
        rest = iter(values)
        for step in self.steps:
            step.residuals = [next(rest) for _ in step.residuals]

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        consts = self.loop.body_consts
        totals: list[Any] = [None] * consts
        carry = list(cts)
        for step in reversed(self.steps):
            found = step([ct if a else None for ct, a in zip(carry, step.active, strict=True)])
            carry = found[consts:]
            totals = [
                new if total is None else total if new is None else add(total, new)
                for total, new in zip(totals, found[:consts], strict=True)
            ]
        return [*[None] * self.loop.condition_consts, *totals, *carry]
