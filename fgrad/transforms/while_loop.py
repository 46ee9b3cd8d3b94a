"""The loop that runs while a condition holds, as a primitive with all of its rules.

How often it runs is known only when it has run, so that there is no place to keep what reverse mode would
read of each step: a cotangent that reaches the loop is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.avals import Aval, aval_of
from fgrad.compiler import compiled
from fgrad.compiler.loops import alone, can_write, write_while
from fgrad.config import config
from fgrad.errors import UnboundedLoopError
from fgrad.ir.jaxpr import Jaxpr, Var, eval_jaxpr
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import logical_and, select
from fgrad.primitives.families import reshape, zeros_of
from fgrad.primitives.reduction import Any_
from fgrad.primitives.shape import spread
from fgrad.source_info import source_text
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
    #: The function of `lax` that the user called.
    construct: str = "while_loop"
    multiple_results = True
    keeps_residuals = True
    copies_operands = True
    unbounded = True

    @property
    def name(self) -> str:
        return "while"

    @property
    def called(self) -> str:
        return self.construct

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return self.condition, self.body

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return has_effects(self.jaxprs)

    def params(self) -> dict[str, Any]:
        own = Primitive.params(self)
        if self.construct == "while_loop":
            del own["construct"]
        return own

    def over(self, condition: Jaxpr, body: Jaxpr, condition_consts: int, body_consts: int) -> While:
        """The same loop of another condition and another body."""
        return While(condition, body, condition_consts, body_consts, self.construct)

    def with_jaxprs(self, jaxprs: Sequence[Jaxpr]) -> While:
        """The same loop of another condition and body of the same types."""
        return self.over(jaxprs[0], jaxprs[1], self.condition_consts, self.body_consts)

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
        loop = self.over(condition, body, self.condition_consts + 1, len(consts))
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
        loop = self.over(
            with_inputs(self.condition, (*from_condition, *carry)),
            with_inputs(body, (*from_body, *carry)),
            sum(from_condition),
            sum(from_body),
        )
        return loop, (*from_condition, *from_body, *carry), carry

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
        flags = (*[t is not None for t in t_consts], *carried)
        body, _ = tangent_body(self.body, len(consts), len(carry), flags)
        given = [t for t in t_consts if t is not None]
        moving = chosen(t_carry, carried)
        loop = self.over(
            _with_more_inputs(self.condition, [aval_of(c) for c in chosen(carry, carried)]),
            body,
            len(condition_consts),
            len(consts) + len(given),
        )
        avals = [*body.in_avals[len(consts) + len(given) :]]
        operands = coerced([*carry, *moving], avals)
        outs = loop(*condition_consts, *consts, *given, *operands)
        # Tangents of unknown value must not make the results unknown.
        apart = highest_level(directions) > highest_level(primals)
        answers = self(*primals) if apart else outs[: len(carry)]
        return answers, scattered(outs[len(carry) :], carried)

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        return self(*args), WhilePullback(self, self.carried(tuple(needs), True))

    def refusal(self) -> UnboundedLoopError:
        """Why a carry that depends on what is differentiated has no cotangent."""
        eqns = (*self.condition.eqns, *self.body.eqns)
        place = next((eqn.source for eqn in eqns if eqn.source is not None), None)
        loop, remedy = "while_loop", "fori_loop with bounds that are known while tracing"
        if self.construct == "fori_loop":
            loop = "fori_loop with bounds that are unknown while tracing, which is a while_loop"
            remedy = "fori_loop with known bounds"
        return UnboundedLoopError(
            f"reverse mode of {loop}, of {self.body.name} at {source_text(place)}: how often it runs is known "
            f"only when it has run, so that grad and vjp cannot run it backward; use fgrad.lax.scan, or {remedy}; "
            "differentiate what it solves by custom_root or custom_vjp; pass it stop_gradient(x) where no "
            "derivative is wanted; or use forward mode (jvp, jacfwd)"
        )

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
        loop = self.over(condition, body, self.condition_consts, self.body_consts)
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
    return loop.over(
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
    """Refuses the cotangents of carries that depend on what is differentiated."""

    def __init__(self, loop: While, carried: Flags) -> None:
        self.loop = loop
        self.active = carried
        self.residuals: list[Any] = []

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        if any(ct is not None for ct in cts):
            raise self.loop.refusal()
        return [None] * (self.loop.condition_consts + self.loop.body_consts + len(cts))
