"""The application of a whole jaxpr as one primitive: what ``jit`` binds, and what checkpoint binds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad.avals import Aval
from fgrad.compiler import compiled
from fgrad.compiler.runtime import alias
from fgrad.config import config
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.ir.passes import dce, without_effects
from fgrad.parameters import parameters
from fgrad.tracing import Primitive, highest_level
from fgrad.transforms.jvp import jvp_jaxpr, linear_form
from fgrad.transforms.live_lanes import guarded
from fgrad.transforms.vjp import reverse_jaxpr, scatter_found
from fgrad.transforms.vmap import batch_jaxpr


@parameters
class Call(Primitive):
    """Apply a compiled jaxpr.   *ins -> *outs"""

    jaxpr: Jaxpr
    multiple_results = True
    keeps_residuals = True
    unbounded = False

    @property
    def name(self) -> str:
        return f"call {self.jaxpr.name}".rstrip()

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return (self.jaxpr,)

    @property
    def inlinable(self) -> Jaxpr | None:  # type: ignore[override]
        return self.jaxpr

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return any(eqn.primitive.effectful for eqn in self.jaxpr.eqns)

    def with_jaxprs(self, jaxprs: Sequence[Jaxpr]) -> Call:
        """The same kind of call of another program."""
        return self.with_jaxpr(jaxprs[0])

    def with_jaxpr(self, jaxpr: Jaxpr) -> Call:
        """The same kind of call of another program."""
        return Call(jaxpr)

    def guarded(self, live: Any, inputs: Sequence[Any]) -> tuple[Primitive, Sequence[Any]]:
        """The call, and its operands, in lanes that may not be used."""
        return self.with_jaxpr(guarded(self.jaxpr)), (live, *inputs)

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return self.jaxpr.out_avals

    def impl(self, *values: Any) -> Sequence[Any]:
        if config.debug_nans:
            # Equation by equation, so that the one that makes a NaN is named.
            return [alias(v) for v in eval_jaxpr(self.jaxpr, *values)]
        return compiled(self.jaxpr)(*values)

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        nonzero = tuple(t is not None for t in tangents)
        directions = [t for t in tangents if t is not None]
        count = len(self.jaxpr.outvars)
        if highest_level(directions) > highest_level(primals):
            # Tangents of unknown value must not make the results unknown.
            answers, found, out_nonzero = self.push_apart(primals, directions, nonzero)
        else:
            derived, out_nonzero = jvp_jaxpr(self.jaxpr, nonzero)
            flat = self.with_jaxpr(derived)(*primals, *directions)
            answers, found = flat[:count], flat[count:]
        pushed = iter(found)
        return answers, [next(pushed) if nz else None for nz in out_nonzero]

    def push_apart(
        self, primals: Sequence[Any], directions: Sequence[Any], nonzero: tuple[bool, ...]
    ) -> tuple[Any, Any, tuple[bool, ...]]:
        """The answers from primals alone, and their tangents by a second, linear call."""
        form = linear_form(self.jaxpr, nonzero)
        results = self.with_jaxpr(form.forward)(*primals)
        count = len(self.jaxpr.outvars)
        found = self.with_jaxpr(form.linear)(*results[count:], *directions)
        return results[:count], found, form.nonzero

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        reverse = reverse_jaxpr(self.jaxpr, tuple(needs))
        results = self.with_jaxpr(reverse.forward)(*args)
        count = len(self.jaxpr.outvars)
        residuals = [*(args[i] for i in reverse.passed), *results[count:]]
        return results[:count], CallPullback(self, reverse, residuals)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        derived, out_mapped = batch_jaxpr(self.jaxpr, size, tuple(mapped))
        return self.with_jaxpr(derived)(*args), out_mapped


class CallPullback:
    """The backward program of a call with its residuals; later cotangents may ask for other outputs."""

    def __init__(self, call: Call, reverse: Any, residuals: list[Any]) -> None:
        self.call = call
        self.reverse = reverse
        self.residuals = residuals
        self.active = reverse.active

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        program, nonzero = self.reverse.backward([ct is not None for ct in cts])
        found = self.call.with_jaxpr(program)(
            *self.residuals, *[ct for ct in cts if ct is not None]
        )
        return scatter_found(found, nonzero, self.reverse.needs)


@parameters
class Checkpointed(Call):
    """A call whose reverse mode keeps the inputs only, and computes the forward pass again.   *ins -> *outs

    It is never inlined: next to the forward pass, the recomputation would be merged with it. A policy chooses
    equations whose results are kept beside the inputs.
    """

    policy: Callable[..., bool] | None = None

    @property
    def name(self) -> str:
        return f"checkpoint {self.jaxpr.name}".rstrip()

    @property
    def inlinable(self) -> Jaxpr | None:  # type: ignore[override]
        return None

    def with_jaxpr(self, jaxpr: Jaxpr) -> Call:
        return Checkpointed(jaxpr, self.policy)

    def params(self) -> dict[str, Any]:
        name = getattr(self.policy, "__name__", None)
        return {} if self.policy is None else {"policy": name or self.policy}

    def push_apart(
        self, primals: Sequence[Any], directions: Sequence[Any], nonzero: tuple[bool, ...]
    ) -> tuple[Any, Any, tuple[bool, ...]]:
        derived, out_nonzero = jvp_jaxpr(self.jaxpr, nonzero)
        count = len(self.jaxpr.outvars)
        keep = [False] * count + [True] * (len(derived.outvars) - count)
        # The effects are those of the other call.
        found = self.with_jaxpr(dce(without_effects(derived), keep))(*primals, *directions)
        return self(*primals), found, out_nonzero

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        reverse = reverse_jaxpr(self.jaxpr, tuple(needs))
        if self.policy is None:
            return self(*args), RecomputingPullback(self, reverse, list(args))
        forward, full, passed = reverse.saving(self.policy)
        results = self.with_jaxpr(forward)(*args)
        count = len(self.jaxpr.outvars)
        residuals = [*(args[i] for i in passed), *results[count:]]
        return results[:count], SavingPullback(self, reverse, residuals, full)


class RecomputingPullback(CallPullback):
    """A pullback that computes the forward pass again from the inputs."""

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        program, nonzero = self.reverse.backward_from_primals([ct is not None for ct in cts])
        found = self.call.with_jaxpr(program)(
            *self.residuals, *[ct for ct in cts if ct is not None]
        )
        return scatter_found(found, nonzero, self.reverse.needs)


class SavingPullback(CallPullback):
    """A pullback that computes the forward pass again as far as it was not kept."""

    def __init__(self, call: Call, reverse: Any, residuals: list[Any], full: Jaxpr) -> None:
        super().__init__(call, reverse, residuals)
        self.full = full

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        program, nonzero = self.reverse.without_zeros(self.full, [ct is not None for ct in cts])
        found = self.call.with_jaxpr(program)(
            *self.residuals, *[ct for ct in cts if ct is not None]
        )
        return scatter_found(found, nonzero, self.reverse.needs)
