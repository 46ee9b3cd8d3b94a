"""Linear programs of user-written rules: tangents are recorded while primals stay known, and pulled back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad.avals import aval_of
from fgrad.errors import NonLinearError
from fgrad.ir.jaxpr import Jaxpr, Literal, Var, eval_jaxpr
from fgrad.ir.passes import dependent_results
from fgrad.primitives.families import add, zeros_of
from fgrad.source_info import source_text
from fgrad.tracing import Primitive, Recording, Tracer, concrete


class Tape(Recording):
    """Records what depends on directions of unknown value, at a point that is known.

    A call that has results of known values alone runs equation by equation, so that these stay known.
    """

    __slots__ = ()

    def process(self, primitive: Primitive, args: Sequence[Any]) -> Any:
        body = primitive.linear_body
        if body is None:
            body = primitive.inlinable
            if body is None or all(dependent_results(body, [self.owns(a) for a in args])):
                return super().process(primitive, args)
        self.check_alive(primitive, args)
        answers = eval_jaxpr(body, *args)
        return answers if primitive.multiple_results else answers[0]

    def owns(self, x: Any) -> bool:
        """Whether a value was recorded here."""
        return isinstance(x, Tracer) and x._trace is self


def is_known_zero(x: Any) -> bool:
    """Whether a value is zero, or a tracer of which nobody can say."""
    found = concrete(x)
    return found is None or not np.any(found)


def pull_linear(jaxpr: Jaxpr, cts: Sequence[Any], who: Callable[[], str]) -> list[Any]:
    """Cotangents of the inputs of a linear program; None is zero.

    Raises
    ------
    NonLinearError
        If the slope of an operation depends on an input. The message starts with what `who` returns.
    """
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    linear: set[Any] = set(jaxpr.invars)
    pending = []

    def read(atom: Any) -> Any:
        return atom.value if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        active = tuple([a in linear for a in eqn.inputs])
        if any(active):
            linear.update(eqn.outputs)
            pending.append((eqn, active))
            continue
        answer = eqn.primitive(*map(read, eqn.inputs))
        several = eqn.primitive.multiple_results
        env.update(zip(eqn.outputs, answer if several else [answer], strict=True))
    gathered: dict[Any, Any] = {}

    def accumulate(var: Any, ct: Any) -> None:
        if ct is not None:
            gathered[var] = add(gathered[var], ct) if var in gathered else ct

    for atom, ct in zip(jaxpr.outvars, cts, strict=True):
        if atom in linear:
            accumulate(atom, ct)
        elif not is_known_zero(read(atom)):
            raise NonLinearError(
                f"{who()} must be linear, but has a result that is a constant other than zero"
            )
    for eqn, active in reversed(pending):
        out_cts = [gathered.pop(var, None) for var in eqn.outputs]
        if all(ct is None for ct in out_cts):
            continue
        primitive = eqn.primitive
        if not primitive.differentiable:
            raise _not_linear(who, eqn)
        refusal = getattr(primitive, "refusal", None)
        if refusal is not None:
            raise refusal()
        if primitive.keeps_residuals:
            # At zero directions, and a linear map is its own derivative there.
            values = [
                zeros_of(atom.aval) if is_active else read(atom)
                for atom, is_active in zip(eqn.inputs, active, strict=True)
            ]
            _, pullback = primitive.pull(active, values)
            found = pullback(out_cts)
        else:
            reads_answer, reads_args = primitive.reads(active)
            if reads_answer or any(r and a for r, a in zip(reads_args, active, strict=True)):
                raise _not_linear(who, eqn)
            args = [
                atom.aval if is_active else read(atom)
                for atom, is_active in zip(eqn.inputs, active, strict=True)
            ]
            found = primitive.vjp(out_cts[0], active, eqn.outputs[0].aval, *args)
        for atom, contribution in zip(eqn.inputs, found, strict=True):
            if atom in linear:
                accumulate(atom, contribution)
    return [gathered.get(var) for var in jaxpr.invars]


def _not_linear(who: Callable[[], str], eqn: Any) -> NonLinearError:
    return NonLinearError(
        f"{who()} must be linear, but {eqn.primitive.called} at {source_text(eqn.source)} is not"
    )


def known_at_zero(tape: Tape, values: Sequence[Any]) -> list[Any]:
    """Values without what the tape recorded: those that it did not need to record are computed."""
    if not any(tape.owns(v) for v in values):
        return list(values)
    program = tape.jaxpr(values)
    return eval_jaxpr(program, *[zeros_of(aval_of(v)) for v in program.invars])
