"""Functions with a reverse-mode rule of their user's; forward mode transposes its backward part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad import _tree
from fgrad.array import snapshot, value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import is_inexact
from fgrad.errors import CustomRuleError, NondiffArgumentError, UndefinedRuleError
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.ir.passes import dce
from fgrad.primitives.families import Sum, match_aval, zeros_of
from fgrad.primitives.shape import spread
from fgrad.source_info import boundary, function_text
from fgrad.tracing import (
    Primitive,
    Tracer,
    bind,
    derivative_rules,
    in_words,
    interpreter,
    kind_in_words,
    record,
)
from fgrad.transforms._arguments import call_rule, signature_names, tree_text
from fgrad.transforms._custom import (
    Application,
    CustomCall,
    CustomFunction,
    Frame,
    batch_all,
    check_answers,
    check_type,
    differentiable,
    direction,
    matched,
    only_batched,
    stage,
)
from fgrad.transforms.call import Call
from fgrad.transforms.jvp import JVPTrace, instantiate
from fgrad.transforms.symbolic_zero import CustomVJPPrimal, SymbolicZero
from fgrad.transforms.tape import Tape, pull_linear
from fgrad.transforms.vjp import VJPTrace
from fgrad.transforms.vmap import BatchTrace, batch_jaxpr

Flags = tuple[bool, ...]


class custom_vjp(CustomFunction):
    """A function whose gradient is given by a forward and a backward rule.

    Parameters
    ----------
    fun : callable
        A function of arrays, or of trees of arrays. It runs wherever no derivative is asked for.
    nondiff_argnums : int or sequence of int
        Positional arguments without derivatives, such as functions and settings. The forward rule takes
        them where `fun` does, the backward rule takes them first.
    nondiff_argnames : str or sequence of str
        The same by name.

    Raises
    ------
    UndefinedRuleError
        If the function is called before its rules are given by `defvjp`.
    CustomRuleError
        If a rule returns something else than the function calls for.
    NondiffArgumentError
        If a nondifferentiable argument is a traced value.

    Notes
    -----
    Beyond reverse mode, at every order, the rules serve forward mode too: ``jvp`` transposes the backward
    rule, which must then be linear in the cotangent.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> @fgrad.custom_vjp
    ... def clip_gradient(x, limit):
    ...     return x
    >>> def forward(x, limit):
    ...     return x, limit
    >>> def backward(limit, ct):
    ...     return fnp.clip(ct, -limit, limit), None
    >>> clip_gradient.defvjp(forward, backward)
    >>> float(fgrad.grad(lambda x: 10.0 * clip_gradient(x, 1.0))(0.5))
    1.0
    """

    transform = "custom_vjp"

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the rules.

        Parameters
        ----------
        fwd : callable
            From the arguments of the function to its answer and residuals: any tree, kept for `bwd`.
        bwd : callable
            From the nondifferentiable arguments, the residuals and the cotangent of the answer to a tuple of
            cotangents, one for each other argument; None stands for zero.
        symbolic_zeros : bool
            Whether the leaves of the arguments of `fwd` come as `CustomVJPPrimal`, which tells whether a
            derivative is asked for, and zero cotangents come to `bwd` as `SymbolicZero`.
        optimize_remat : bool
            Accepted for compatibility: unused residuals are never computed under ``jit``.
        """
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros

    def rules(self) -> tuple[Any, ...]:
        return (self.fwd, self.bwd)

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise UndefinedRuleError(
                f"{self.title} has no rule: give its forward and backward rules with defvjp before it is called"
            )
        answer = self.on_arrays(args, kwargs)
        if answer is not NotImplemented:
            return answer
        application = self.application(args, kwargs)
        for number, setting in zip(self.nondiff, application.settings(), strict=True):
            _check_setting(self, number, setting)
        values = application.values
        trace = interpreter(values)
        if trace is None or (isinstance(trace, BatchTrace) and only_batched(values)):
            return application.restored(application.run(values))
        if isinstance(trace, (JVPTrace, VJPTrace)) and not application.reaches_above(trace.level):
            known: Primitive = _KnownCall(application, trace.level)
            return application.restored(trace.process(known, values))
        program, operands, frame = stage(application)
        call = CustomVJPCall(program, _Rule(frame), len(frame.captured))
        return application.restored(bind(call, operands))


def _check_setting(owner: custom_vjp, number: int, setting: Any) -> None:
    for leaf in _tree.leaves(setting):
        if isinstance(leaf, Tracer):
            raise NondiffArgumentError(
                f"{owner.title}: argument {number} is in nondiff_argnums, but holds a {in_words(leaf.aval)}, in "
                f"{leaf._trace.title}; make it an ordinary argument, and return None for it in the backward rule"
            )


# ---- the rules on values ---------------------------------------------------------------------------


def run_forward(
    application: Application, values: Sequence[Any], perturbed: Sequence[bool]
) -> tuple[list[Any], Any]:
    """The answers and the tree of residuals that the forward rule gives."""
    owner: Any = application.owner
    rule = owner.fwd
    leaves: list[Any] = [wrap(v) for v in values]
    if owner.symbolic_zeros:
        leaves = [CustomVJPPrimal(x, p) for x, p in zip(leaves, perturbed, strict=True)]
    args = application.arguments(leaves)
    result = call_rule(
        rule,
        f"{owner.title}: the forward rule",
        args,
        lambda: signature_names(owner.fun, len(args)),
    )
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise CustomRuleError(
            f"{owner.title}: the forward rule {function_text(rule)} returned {kind_in_words(result)}, expected a pair "
            "(answer, residuals)"
        )
    return application.results(result[0], rule), result[1]


def run_backward(
    application: Application,
    residuals: Any,
    cts: Sequence[Any],
    out_avals: Sequence[Aval],
    in_avals: Sequence[Aval],
) -> list[Any]:
    """The cotangents of all arguments that the backward rule gives; None stands for zero."""
    owner: Any = application.owner
    rule = owner.bwd

    def seen(ct: Any, aval: Aval) -> Any:
        if ct is None and owner.symbolic_zeros:
            return SymbolicZero(aval)
        return wrap(instantiate(ct, aval))

    ct_tree = _tree.unflatten(
        application.out_treedef, [seen(ct, a) for ct, a in zip(cts, out_avals, strict=True)]
    )
    result = call_rule(
        rule,
        f"{owner.title}: the backward rule",
        [*application.settings(), residuals, ct_tree],
        lambda: [*application.setting_names(), "the residuals", "the cotangent of the answer"],
    )
    arguments = application.tree(range(len(in_avals)))

    def who() -> str:
        return f"{owner.title}: the backward rule {function_text(rule)}"

    if not isinstance(result, (tuple, list)) or len(result) != len(arguments):
        expected = (
            f"a tuple of {len(arguments)}, one cotangent or None for each differentiable argument"
        )
        if len(arguments) == 1:
            expected = "a tuple of 1, the cotangent of its argument: write (ct,)"
        raise CustomRuleError(f"{who()} returned {kind_in_words(result)}, expected {expected}")
    leaves, structure = _tree.flatten(tuple(result))
    if structure != application.treedef:
        leaves = _aligned(tuple(result), arguments, who())
    found: list[Any] = []
    for i, (leaf, aval) in enumerate(zip(leaves, in_avals, strict=True)):
        if leaf is None or type(leaf) is SymbolicZero or not is_inexact(aval.dtype):
            found.append(None)
            continue

        def name(i: int = i) -> str:
            return application.leaf_names()[i]

        def what(name: Callable[[], str] = name) -> str:
            return f"{who()} returned a cotangent of {name()}"

        ct = direction(leaf, rule, owner.transform, "the cotangent of", name)
        check_type(aval_of(ct), aval, what)
        found.append(match_aval(ct, aval))
    return found


def _aligned(result: Any, arguments: Any, who: str) -> list[Any]:
    """The cotangent of each leaf of the arguments; a None stands for a whole subtree of zeros."""
    try:
        leaves = _tree.broadcast_prefix(result, arguments, is_leaf=_is_none, what="cotangents")
    except (ValueError, TypeError):
        leaves = None
    # A prefix may end early with None only, not with an array for a whole subtree.
    paths = {tuple(path) for path, _ in _tree.flatten_with_path(arguments)[0]}
    given = _tree.flatten_with_path(result, is_leaf=_is_none)[0]
    if leaves is None or not all(x is None or tuple(path) in paths for path, x in given):
        raise CustomRuleError(
            f"{who} returned cotangents of structure {tree_text(_tree.structure(result))}, but the arguments "
            f"have structure {tree_text(_tree.structure(arguments))}; return one cotangent, or None, for each"
        )
    return leaves


def _is_none(x: Any) -> bool:
    return x is None


class Residuals(NamedTuple):
    """A tree of residuals without its values: those of tracers come as inputs, the others are kept."""

    treedef: Any
    leaves: list[Any]

    def filled(self, values: Sequence[Any]) -> Any:
        rest = iter(values)
        return _tree.unflatten(
            self.treedef, [wrap(next(rest)) if x is _INPUT else x for x in self.leaves]
        )


_INPUT = object()


def split_residuals(tree: Any) -> tuple[list[Any], Residuals]:
    """The traced leaves of residuals, and the rest: what is known stays as it is."""
    leaves, treedef = _tree.flatten(tree)
    traced = [x for x in leaves if isinstance(x, Tracer)]
    kept = [_INPUT if isinstance(x, Tracer) else _kept(x) for x in leaves]
    return traced, Residuals(treedef, kept)


def _kept(leaf: Any) -> Any:
    """A leaf of residuals that nobody can change later."""
    return wrap(snapshot(value(leaf))) if isinstance(leaf, np.ndarray) else leaf


# ---- calls under a derivative ----------------------------------------------------------------------


class _KnownCall(Primitive):
    """One call under a derivative, whose rules run as they are written."""

    multiple_results = True
    keeps_residuals = True
    has_rule = True

    def __init__(self, application: Application, level: int) -> None:
        self.application = application
        self.level = level

    @property
    def called(self) -> str:
        return self.application.owner.title

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        application = self.application
        outs, residuals = run_forward(application, args, needs)
        leaves = [x for x in _tree.leaves(residuals) if isinstance(x, Tracer)]
        application.check_level([*outs, *leaves], self.level)
        in_avals = [aval_of(x) for x in args]
        return outs, _KnownPullback(
            application, residuals, list(map(aval_of, outs)), in_avals, needs
        )

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        application = self.application
        perturbed = [t is not None for t in tangents]
        outs, residuals = run_forward(application, primals, perturbed)
        in_avals, out_avals = list(map(aval_of, primals)), list(map(aval_of, outs))

        def backward(cts: Sequence[Any]) -> list[Any]:
            return run_backward(application, residuals, cts, out_avals, in_avals)

        out_tangents, consts = push_by_transpose(
            backward, out_avals, tangents, lambda: _who(application.owner)
        )
        application.check_level([*outs, *consts], self.level)
        return outs, out_tangents


def push_by_transpose(
    backward: Callable[[Sequence[Any]], list[Any]],
    out_avals: Sequence[Aval],
    tangents: Sequence[Any],
    who: Callable[[], str],
) -> tuple[list[Any], tuple[Any, ...]]:
    """The tangents of the answers, from a backward rule that is linear in their cotangents.

    Also returned is what the backward rule read beside the cotangents.
    """
    with derivative_rules():
        with Tape("", "custom_vjp") as tape:
            cts = [
                tape.new_input(a) if moves else None
                for a, moves in zip(out_avals, differentiable(out_avals), strict=True)
            ]
            found = backward(cts)
            pairs = [
                (ct, t)
                for ct, t in zip(found, tangents, strict=True)
                if ct is not None and t is not None
            ]
            program = tape.jaxpr([ct for ct, _ in pairs])
        pushed = iter(pull_linear(program, [t for _, t in pairs], who))
        return [None if ct is None else next(pushed) for ct in cts], program.consts


def _who(owner: Any) -> str:
    return f"{owner.title} in forward mode: the backward rule {function_text(owner.bwd)}"


class _KnownPullback:
    """The backward rule with the residuals that the forward rule gave."""

    def __init__(
        self,
        application: Application,
        residuals: Any,
        out_avals: list[Aval],
        in_avals: list[Aval],
        needs: Sequence[bool],
    ) -> None:
        self.application = application
        leaves, self.treedef = _tree.flatten(residuals)
        #: Arrays and tracers as internal values, so that the tape can replace what somebody may write to.
        self.residuals = [_inside(x) for x in leaves]
        self.wrapped = [isinstance(x, (np.ndarray, Tracer)) for x in leaves]
        self.out_avals = out_avals
        self.in_avals = in_avals
        self.needs = needs
        self.active = differentiable(out_avals)

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        leaves = [
            wrap(x) if is_array else x
            for x, is_array in zip(self.residuals, self.wrapped, strict=True)
        ]
        tree = _tree.unflatten(self.treedef, leaves)
        found = run_backward(self.application, tree, cts, self.out_avals, self.in_avals)
        return [ct if need else None for ct, need in zip(found, self.needs, strict=True)]


def _inside(leaf: Any) -> Any:
    return value(leaf) if isinstance(leaf, np.ndarray) else leaf


# ---- recorded calls ------------------------------------------------------------------------------


class _Rule:
    """The rules of a recorded call as programs, for each pattern of arguments and cotangents."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.forwards: dict[Flags, tuple[Jaxpr, Any]] = {}
        self.backwards: dict[tuple[Flags, Flags], tuple[Jaxpr, Flags]] = {}

    @property
    def owner(self) -> Any:
        return self.frame.application.owner

    def pattern(self, flags: Sequence[bool]) -> Flags:
        """What a rule can see of a pattern of zeros: nothing, unless it asks for symbolic ones."""
        return tuple(flags) if self.owner.symbolic_zeros else (True,) * len(flags)

    def forward(self, perturbed: Flags) -> tuple[Jaxpr, Any]:
        """From operands to answers and residuals, and how these are used."""
        known = self.forwards.get(perturbed)
        if known is None:
            known = self.forwards[perturbed] = self.derive_forward(perturbed)
        return known

    def backward(self, perturbed: Flags, given: Flags) -> tuple[Jaxpr, Flags]:
        """From captured operands, residuals and nonzero cotangents to the nonzero cotangents of arguments."""
        key = perturbed, given
        known = self.backwards.get(key)
        if known is None:
            known = self.backwards[key] = self.derive_backward(perturbed, given)
        return known

    def derive_forward(self, perturbed: Flags) -> tuple[Jaxpr, Any]:
        frame = self.frame
        captured = len(frame.captured)
        kept: Any = None

        def run(*flat: Any) -> list[Any]:
            nonlocal kept
            flags = iter(perturbed)
            moving = [next(flags) if v is None else False for v in frame.known]
            outs, tree = run_forward(frame.application, frame.filled(flat[captured:]), moving)
            check_answers(frame, outs)
            traced, kept = split_residuals(tree)
            return [*matched(outs, frame.out_avals), *traced]

        return frame.record(run, frame.types, captured), kept

    def derive_backward(self, perturbed: Flags, given: Flags) -> tuple[Jaxpr, Flags]:
        frame = self.frame
        forward, kept = self.forward(perturbed)
        captured, outs = len(frame.captured), len(frame.out_avals)
        residual_avals = forward.out_avals[outs:]
        nonzero: Flags = ()

        def run(*flat: Any) -> list[Any]:
            nonlocal nonzero
            tree = kept.filled(flat[captured : captured + len(residual_avals)])
            rest = iter(flat[captured + len(residual_avals) :])
            cts = [next(rest) if g else None for g in given]
            traced = iter(frame.types[captured:])
            in_avals = [next(traced) if v is None else aval_of(v) for v in frame.known]
            found = run_backward(frame.application, tree, cts, frame.out_avals, in_avals)
            chosen = frame.chosen(found)
            nonzero = tuple(ct is not None for ct in chosen)
            return [ct for ct in chosen if ct is not None]

        ct_avals = [a for a, g in zip(frame.out_avals, given, strict=True) if g]
        avals = [*frame.types[:captured], *residual_avals, *ct_avals]
        return frame.record(run, avals, captured), nonzero


class _BatchedRule(_Rule):
    """The rules of a batched call: those of one example, batched."""

    def __init__(self, rule: _Rule, size: int, mapped: Flags) -> None:
        super().__init__(rule.frame)
        self.rule = rule
        self.size = size
        self.mapped = mapped

    def derive_forward(self, perturbed: Flags) -> tuple[Jaxpr, Any]:
        program, _ = self.rule.forward(perturbed)
        outs = len(self.frame.out_avals)
        forced = [i < outs for i in range(len(program.outvars))]
        batched, out_mapped = batch_all(program, self.size, self.mapped, forced)
        return batched, out_mapped[outs:]

    def derive_backward(self, perturbed: Flags, given: Flags) -> tuple[Jaxpr, Flags]:
        program, nonzero = self.rule.backward(perturbed, given)
        _, residuals_mapped = self.forward(perturbed)
        captured = len(self.frame.captured)
        mapped = (*self.mapped[:captured], *residuals_mapped, *[True for g in given if g])
        batched, out_mapped = batch_jaxpr(program, self.size, mapped)
        wanted = [m for m, nz in zip(self.mapped[captured:], nonzero, strict=True) if nz]

        def run(*flat: Any) -> list[Any]:
            results = []
            for ct, is_mapped, per_example in zip(
                eval_jaxpr(batched, *flat), out_mapped, wanted, strict=True
            ):
                whole = ct if is_mapped else spread(ct, self.size)
                results.append(whole if per_example else Sum((0,))(whole))
            return results

        return record(run, batched.in_avals, program.name, "vmap"), nonzero


class CustomVJPCall(CustomCall):
    """A recorded call of a function with vjp rules.   *captured, *ins -> *outs"""

    @property
    def name(self) -> str:
        return f"custom_vjp {self.jaxpr.name}".rstrip()

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        if not self.ruled(needs):
            return Call(self.jaxpr).pull(needs, args)
        outs, residuals, perturbed = self.run_forward(needs, args)
        avals = list(map(aval_of, args))
        return outs, _ProgramPullback(
            self.rule, perturbed, residuals, self.jaxpr.out_avals, avals, needs, self.check_captured
        )

    def run_forward(
        self, needs: Sequence[bool], args: Sequence[Any]
    ) -> tuple[list[Any], list[Any], Flags]:
        perturbed = self.rule.pattern(needs[self.captured :])
        program, _ = self.rule.forward(perturbed)
        self.check_captured(program, needs)
        flat = eval_jaxpr(program, *args)
        count = len(self.jaxpr.outvars)
        return flat[:count], [*args[: self.captured], *flat[count:]], perturbed

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        flags = [t is not None for t in tangents]
        if not self.ruled(flags):
            return Call(self.jaxpr).push(primals, tangents)
        outs, residuals, perturbed = self.run_forward(flags, primals)
        out_avals = self.jaxpr.out_avals
        in_avals = list(map(aval_of, primals))
        pullback = _ProgramPullback(
            self.rule, perturbed, residuals, out_avals, in_avals, flags, self.check_captured
        )
        out_tangents, _ = push_by_transpose(
            pullback, out_avals, tangents, lambda: _who(self.rule.owner)
        )
        return outs, out_tangents

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        flags = tuple(mapped)
        forced = [True] * len(self.jaxpr.outvars)
        derived, out_mapped = batch_all(self.jaxpr, size, flags, forced)
        call = CustomVJPCall(derived, _BatchedRule(self.rule, size, flags), self.captured)
        return bind(call, args), out_mapped


class _ProgramPullback:
    """The backward program with its residuals."""

    def __init__(
        self,
        rule: _Rule,
        perturbed: Flags,
        residuals: list[Any],
        out_avals: Sequence[Aval],
        in_avals: Sequence[Aval],
        needs: Sequence[bool],
        check: Callable[[Jaxpr, Sequence[bool]], None],
    ) -> None:
        self.rule = rule
        self.perturbed = perturbed
        self.residuals = residuals
        self.out_avals = out_avals
        self.in_avals = in_avals
        self.needs = needs
        self.active = differentiable(out_avals)
        self.check = check

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        symbolic = self.rule.owner.symbolic_zeros
        full = [
            zeros_of(aval) if ct is None and active and not symbolic else ct
            for ct, aval, active in zip(cts, self.out_avals, self.active, strict=True)
        ]
        given = tuple(ct is not None for ct in full)
        program, nonzero = self.rule.backward(self.perturbed, given)
        self.check(program, self.needs)
        needs = self.needs[len(self.needs) - len(nonzero) :]
        keep = [need for need, nz in zip(needs, nonzero, strict=True) if nz]
        if not all(keep):
            program = dce(program, keep)
        flat = eval_jaxpr(program, *self.residuals, *[ct for ct in full if ct is not None])
        found = iter(flat)
        per_argument = [
            next(found) if nz and need else None for need, nz in zip(needs, nonzero, strict=True)
        ]
        leading: list[Any] = [None] * (len(self.needs) - len(nonzero))
        return [*leading, *per_argument]
