"""Functions with a forward-mode rule of their user's; reverse mode transposes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import float0, is_inexact
from fgrad.errors import ArgumentError, CustomRuleError, UndefinedRuleError
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.primitives.families import add, match_aval
from fgrad.source_info import boundary, function_name, function_text
from fgrad.tracing import Primitive, Tracer, bind, highest_level, interpreter, kind_in_words
from fgrad.transforms._arguments import call_rule, signature_names, tree_text
from fgrad.transforms._custom import (
    Application,
    CustomCall,
    CustomFunction,
    Frame,
    batch_all,
    check_answers,
    check_type,
    direction,
    matched,
    only_batched,
    stage,
)
from fgrad.transforms.call import Call
from fgrad.transforms.jvp import JVPTrace, instantiate
from fgrad.transforms.symbolic_zero import SymbolicZero
from fgrad.transforms.tape import Tape, known_at_zero, pull_linear
from fgrad.transforms.vjp import VJPTrace
from fgrad.transforms.vmap import BatchTrace

Flags = tuple[bool, ...]


class custom_jvp(CustomFunction):
    """A function whose derivative is given by a rule.

    Parameters
    ----------
    fun : callable
        A function of arrays, or of trees of arrays. It runs wherever no derivative is asked for.
    nondiff_argnums : int or sequence of int
        Positional arguments without derivatives, such as functions and settings; rules take them first.
    nondiff_argnames : str or sequence of str
        The same by name.

    Raises
    ------
    UndefinedRuleError
        If the function is called before a rule is given by `defjvp` or `defjvps`.
    CustomRuleError
        If the rule returns something else than an answer and tangents like it.
    ClosedOverValueError
        If the function closes over a value that is differentiated along with its arguments.

    Notes
    -----
    The rule holds in forward mode, and transposed in reverse mode, at every order: the derivative of the
    derivative is the derivative of what the rule computes. It must be linear in the tangents.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> @fgrad.custom_jvp
    ... def softplus(x):
    ...     return fnp.log(1.0 + fnp.exp(x))
    >>> @softplus.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return softplus(x), x_dot / (1.0 + fnp.exp(-x))
    >>> float(fgrad.grad(softplus)(0.0)), float(fgrad.grad(softplus)(100.0))
    (0.5, 1.0)
    """

    transform = "custom_jvp"

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Give the rule.

        Parameters
        ----------
        jvp : callable
            From the nondifferentiable arguments, a tuple of primals and a tuple of tangents to the answer and
            its tangent.
        symbolic_zeros : bool
            Whether tangents that are known to be zero come as `SymbolicZero`, rather than as arrays.

        Returns
        -------
        callable
            `jvp` itself, so that this can be a decorator.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Give one rule for each argument; their results are added.

        Parameters
        ----------
        *jvps : callable or None
            For each argument a function from its tangent, the answer and the arguments to the tangent of the
            answer; None where it is zero.

        Raises
        ------
        ArgumentError
            If the function has nondifferentiable arguments; use `defjvp`.
        """
        if self.nondiff:
            raise ArgumentError(
                f"{self.title}: defjvps takes a rule for each argument, and cannot be used with "
                "nondiff_argnums; use defjvp"
            )
        self._jvps = jvps
        self.defjvp(_SumOfRules(self, jvps), symbolic_zeros=True)

    def rules(self) -> tuple[Any, ...]:
        return (self.jvp,)

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise UndefinedRuleError(
                f"{self.title} has no rule: give one with defjvp or defjvps before it is called"
            )
        answer = self.on_arrays(args, kwargs)
        if answer is not NotImplemented:
            return answer
        application = self.application(args, kwargs)
        values = application.values
        trace = interpreter(values)
        if trace is None or (isinstance(trace, BatchTrace) and only_batched(values)):
            return application.restored(application.run(values))
        if isinstance(trace, Tape):
            # A rule that applies the function to tangents, which is linear then: what is transposed is the
            # function, since its rule would lead here again.
            return application.restored(application.run(values))
        if isinstance(trace, (JVPTrace, VJPTrace)) and not application.reaches_above(trace.level):
            known: Primitive = _KnownCall(application, trace.level)
            return application.restored(trace.process(known, values))
        program, operands, frame = stage(application)
        call = CustomJVPCall(program, _Rule(frame), len(frame.captured))
        return application.restored(bind(call, operands))


class _SumOfRules:
    """The rule that adds what the rules of each argument give."""

    def __init__(self, owner: custom_jvp, jvps: Sequence[Callable[..., Any] | None]) -> None:
        self.owner = owner
        self.jvps = jvps
        self.__name__ = next((getattr(f, "__name__", "rule") for f in jvps if f), "rule")
        first = next(filter(None, jvps), None)
        if first is not None:
            self.__wrapped__ = first

    def __call__(self, primals: Any, tangents: Any) -> Any:
        owner = self.owner
        if len(self.jvps) != len(primals):
            raise CustomRuleError(
                f"{owner.title}: defjvps was given {len(self.jvps)} rules, but the function was called with "
                f"{len(primals)} arguments; give a rule, or None, for each"
            )
        answer = owner(*primals)
        leaves, treedef = _tree.flatten(answer)
        total: list[Any] = [None] * len(leaves)
        for jvp, tangent in zip(self.jvps, tangents, strict=True):
            given = _tree.leaves(tangent)
            if jvp is None or all(type(t) is SymbolicZero for t in given):
                continue
            result = call_rule(
                jvp,
                f"{owner.title}: the rule",
                (_tree.map(_as_array, tangent), answer, *primals),
                lambda: ["the tangent", "the answer", *signature_names(owner.fun, len(primals))],
            )
            found, structure = _tree.flatten(result)
            if structure != treedef:
                raise CustomRuleError(
                    f"{owner.title}: the rule {function_text(jvp)} returns a tangent of structure "
                    f"{tree_text(structure)}, but the answer has structure {tree_text(treedef)}; return the same"
                )
            terms = [
                direction(t, jvp, owner.transform, "the tangent of", lambda: "the result")
                for t in found
            ]
            total = [
                term if earlier is None else add(earlier, term)
                for earlier, term in zip(total, terms, strict=True)
            ]
        zeros = [SymbolicZero.from_primal_value(leaf) for leaf in leaves]
        tangent_out = [z if t is None else wrap(t) for t, z in zip(total, zeros, strict=True)]
        return answer, _tree.unflatten(treedef, tangent_out)


def _as_array(tangent: Any) -> Any:
    return wrap(instantiate(None, tangent.aval)) if type(tangent) is SymbolicZero else tangent


def apply_rule(
    application: Application, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Run the rule of the user on values; None stands for a zero tangent."""
    owner: Any = application.owner
    rule = owner.jvp

    def seen(primal: Any, tangent: Any) -> Any:
        if tangent is None and owner.symbolic_zeros:
            return SymbolicZero(aval_of(primal))
        return wrap(instantiate(tangent, primal))

    directions = [seen(p, t) for p, t in zip(primals, tangents, strict=True)]
    result = call_rule(
        rule,
        f"{owner.title}: the jvp rule",
        [
            *application.settings(),
            application.tree([wrap(p) for p in primals]),
            application.tree(directions),
        ],
        lambda: [*application.setting_names(), "the primals", "the tangents"],
    )
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise CustomRuleError(
            f"{owner.title}: the jvp rule {function_text(rule)} returned {kind_in_words(result)}, expected a pair "
            "(answer, tangent)"
        )
    outs = application.results(result[0], rule)
    leaves, treedef = _tree.flatten(result[1])
    if treedef != application.out_treedef:
        raise CustomRuleError(
            f"{owner.title}: the jvp rule {function_text(rule)} returned a tangent of structure "
            f"{tree_text(treedef)}, expected {tree_text(application.out_treedef)}, the structure of the answer"
        )

    out_tangents: list[Any] = []
    for i, (leaf, out) in enumerate(zip(leaves, outs, strict=True)):
        aval = aval_of(out)
        inexact = is_inexact(aval.dtype)

        def name(i: int = i) -> str:
            return application.result_names()[i]

        def what(name: Callable[[], str] = name) -> str:
            return (
                f"{owner.title}: the jvp rule {function_text(rule)} returned a tangent of {name()}"
            )

        symbolic = type(leaf) is SymbolicZero
        tangent = (
            leaf if symbolic else direction(leaf, rule, owner.transform, "the tangent of", name)
        )
        wanted = aval if inexact else Aval(aval.shape, np.dtype(float0))
        check_type(aval_of(tangent), wanted, what)
        out_tangents.append(match_aval(tangent, aval) if inexact and not symbolic else None)
    return outs, out_tangents


class LinearPullback:
    """The transpose of a linear program, with what it captured as residuals."""

    def __init__(
        self, program: Jaxpr, outputs: Sequence[bool], needs: Sequence[bool], who: Callable[[], str]
    ) -> None:
        self.program = program
        self.residuals = list(program.consts)
        #: Which results have a tangent.
        self.active = list(outputs)
        self.needs = needs
        #: The rule, for messages.
        self.who = who

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        p = self.program
        linear = Jaxpr(p.constvars, self.residuals, p.invars, p.eqns, p.outvars, p.name)
        chosen = [ct for ct, active in zip(cts, self.active, strict=True) if active]
        found = iter(pull_linear(linear, chosen, self.who))
        return [next(found) if need else None for need in self.needs]


class _KnownCall(Primitive):
    """One call under a derivative, whose rule runs as it is written."""

    multiple_results = True
    keeps_residuals = True
    has_rule = True

    def __init__(self, application: Application, level: int) -> None:
        self.application = application
        self.level = level

    @property
    def called(self) -> str:
        return self.application.owner.title

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        outs, out_tangents = apply_rule(self.application, primals, tangents)
        if _rests_on_tape(outs, primals, tangents):
            outs = self.application.run(primals)
        self.application.check_level(outs, self.level)
        return outs, out_tangents

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        owner: Any = self.application.owner
        with Tape(function_name(owner.fun), "custom_jvp", (), owner.fun) as tape:
            tangents = [
                tape.new_input(aval_of(x)) if need else None
                for x, need in zip(args, needs, strict=True)
            ]
            outs, out_tangents = apply_rule(self.application, args, tangents)
            active = [t is not None for t in out_tangents]
            program = tape.jaxpr([t for t in out_tangents if t is not None])
            outs = known_at_zero(tape, outs)
        self.application.check_level([*outs, *program.consts], self.level)
        return outs, LinearPullback(program, active, needs, lambda: _who(owner))


def _rests_on_tape(outs: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]) -> bool:
    """Whether answers became unknown for being computed together with tangents of unknown value."""
    level = highest_level([t for t in tangents if t is not None])
    if level <= highest_level(primals):
        return False
    return any(
        isinstance(x, Tracer) and isinstance(x._trace, Tape) and x._trace.level == level
        for x in outs
    )


def _who(owner: Any) -> str:
    return f"{owner.title}: the jvp rule {function_text(owner.jvp)}"


# ---- recorded calls ------------------------------------------------------------------------------


class _Rule:
    """The rule of a recorded call: for each pattern of nonzero tangents a program."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.programs: dict[Flags, tuple[Jaxpr, Flags]] = {}

    def program(self, nonzero: Flags) -> tuple[Jaxpr, Flags]:
        """From operands and nonzero tangents of arguments to answers and their nonzero tangents."""
        known = self.programs.get(nonzero)
        if known is None:
            known = self.programs[nonzero] = self.derive(nonzero)
        return known

    def derive(self, nonzero: Flags) -> tuple[Jaxpr, Flags]:
        frame = self.frame
        captured, count = len(frame.captured), len(frame.types)
        out_nonzero: Flags = ()

        def run(*flat: Any) -> list[Any]:
            nonlocal out_nonzero
            directions = iter(flat[count:])
            per_traced = iter([next(directions) if nz else None for nz in nonzero])
            primals = frame.filled(flat[captured:count])
            tangents = [next(per_traced) if v is None else None for v in frame.known]
            outs, out_tangents = apply_rule(frame.application, primals, tangents)
            check_answers(frame, outs)
            out_nonzero = tuple(t is not None for t in out_tangents)
            found = [
                match_aval(t, aval)
                for t, aval in zip(out_tangents, frame.out_avals, strict=True)
                if t is not None
            ]
            return [*matched(outs, frame.out_avals), *found]

        moving = [a for a, nz in zip(frame.types[captured:], nonzero, strict=True) if nz]
        return frame.record(run, [*frame.types, *moving], captured), out_nonzero


class _BatchedRule(_Rule):
    """The rule of a batched call: its programs are those of one example, batched."""

    def __init__(self, rule: _Rule, size: int, mapped: Flags) -> None:
        super().__init__(rule.frame)
        self.rule = rule
        self.size = size
        self.mapped = mapped

    def derive(self, nonzero: Flags) -> tuple[Jaxpr, Flags]:
        program, out_nonzero = self.rule.program(nonzero)
        arguments = self.mapped[len(self.mapped) - len(nonzero) :]
        moving = tuple(m for m, nz in zip(arguments, nonzero, strict=True) if nz)
        forced = [True] * len(program.outvars)
        batched, _ = batch_all(program, self.size, (*self.mapped, *moving), forced)
        return batched, out_nonzero


class CustomJVPCall(CustomCall):
    """A recorded call of a function with a jvp rule.   *captured, *ins -> *outs"""

    @property
    def name(self) -> str:
        return f"custom_jvp {self.jaxpr.name}".rstrip()

    @property
    def linear_body(self) -> Jaxpr:  # type: ignore[override]
        # As where it is called with values: of a linear program the rule leads to another like it.
        return self.jaxpr

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        flags = [t is not None for t in tangents]
        if not self.ruled(flags):
            return Call(self.jaxpr).push(primals, tangents)
        program, out_nonzero = self.rule.program(tuple(flags[self.captured :]))
        self.check_captured(program, flags)
        moving = [t for t in tangents[self.captured :] if t is not None]
        flat = eval_jaxpr(program, *primals, *moving)
        count = len(out_nonzero)
        outs, found = flat[:count], iter(flat[count:])
        if _rests_on_tape(outs, primals, tangents):
            outs = self(*primals)
        return outs, [next(found) if nz else None for nz in out_nonzero]

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        if not self.ruled(needs):
            return Call(self.jaxpr).pull(needs, args)
        program, out_nonzero = self.rule.program(tuple(needs[self.captured :]))
        self.check_captured(program, needs)
        count = len(out_nonzero)
        with Tape(self.jaxpr.name, "custom_jvp") as tape:
            arguments = zip(args[self.captured :], needs[self.captured :], strict=True)
            tangents = [tape.new_input(aval_of(x)) for x, need in arguments if need]
            flat = eval_jaxpr(program, *args, *tangents)
            linear = tape.jaxpr(flat[count:])
            outs = known_at_zero(tape, flat[:count])
        owner = self.rule.frame.application.owner
        asked = [need and i >= self.captured for i, need in enumerate(needs)]
        return outs, LinearPullback(linear, out_nonzero, asked, lambda: _who(owner))

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        flags = tuple(mapped)
        forced = [True] * len(self.jaxpr.outvars)
        derived, out_mapped = batch_all(self.jaxpr, size, flags, forced)
        call = CustomJVPCall(derived, _BatchedRule(self.rule, size, flags), self.captured)
        return bind(call, args), out_mapped
