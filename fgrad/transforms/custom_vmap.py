"""Functions with a batching rule of their user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import CustomRuleError, UndefinedRuleError
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.primitives.families import zeros_of
from fgrad.primitives.shape import spread
from fgrad.source_info import boundary, function_text
from fgrad.tracing import Primitive, Tracer, bind, interpreter, kind_in_words, record
from fgrad.transforms import loops
from fgrad.transforms._arguments import call_rule, signature_names, transformed, tree_text
from fgrad.transforms._custom import (
    Application,
    CustomCall,
    CustomFunction,
    Frame,
    dtype_text,
    stage,
)
from fgrad.transforms.call import Call
from fgrad.transforms.jvp import JVPTrace, JVPTracer, jvp_jaxpr
from fgrad.transforms.vjp import VJPTrace, VJPTracer, reverse_jaxpr, scatter_found
from fgrad.transforms.vmap import BatchTrace, batch_jaxpr

Flags = tuple[bool, ...]


class custom_vmap(CustomFunction):
    """A function whose batching is given by a rule.

    Parameters
    ----------
    fun : callable
        A function of arrays, or of trees of arrays, for one example.

    Raises
    ------
    UndefinedRuleError
        If the function is called before a rule is given by `def_vmap`.
    CustomRuleError
        If the rule returns something else than batched results and their marks.

    Notes
    -----
    The function is differentiable in forward and reverse mode: where a batch is differentiated, the
    derivatives are those of the rule. In reverse mode the rule runs again in the backward pass.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> @fgrad.custom_batching.custom_vmap
    ... def product(x, y):
    ...     return x @ y
    >>> @product.def_vmap
    ... def rule(axis_size, in_batched, xs, ys):
    ...     x_batched, y_batched = in_batched
    ...     if x_batched and not y_batched:
    ...         return xs @ ys, True
    ...     return fgrad.vmap(lambda x, y: x @ y, (0, 0 if y_batched else None))(xs, ys), True
    >>> fgrad.vmap(product, (0, None))(np.eye(2), np.array([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """

    transform = "custom_vmap"

    def __init__(self, fun: Callable[..., Any]) -> None:
        super().__init__(fun)
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule.

        Parameters
        ----------
        vmap_rule : callable
            From the number of examples, a list that says for each argument, in its structure, which leaves are
            batched, and the arguments, with the examples along the leading axis of batched leaves. It returns
            the result, batched likewise, and in the structure of the result which leaves are batched.

        Returns
        -------
        callable
            `vmap_rule` itself, so that this can be a decorator.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def rules(self) -> tuple[Any, ...]:
        return (self.vmap_rule,)

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.vmap_rule is None:
            raise UndefinedRuleError(
                f"{self.title} has no rule: give one with def_vmap before it is called"
            )
        application = self.application(args, kwargs)
        values = application.values
        trace = interpreter(values)
        if trace is None or (isinstance(trace, (JVPTrace, VJPTrace)) and _only_known(values)):
            return application.restored(application.run(values))
        if isinstance(trace, BatchTrace) and not application.reaches_above(trace.level):
            known: Primitive = _KnownCall(application, trace.level)
            return application.restored(trace.process(known, values))
        program, operands, frame = stage(application)
        call = CustomVmapCall(program, _Rule(frame), len(frame.captured))
        return application.restored(bind(call, operands))


@boundary
def sequential_vmap(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make `f` run one example after the other under ``vmap``, in a loop.

    Parameters
    ----------
    f : callable
        A function of arrays, or of trees of arrays.

    Returns
    -------
    callable
        `f`, with a batching rule that is a loop over the examples.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> smallest = fgrad.custom_batching.sequential_vmap(lambda x: fnp.min(x))
    >>> fgrad.vmap(smallest)(fnp.arange(6.0).reshape(3, 2))
    Array([0., 2., 4.], dtype=float64)
    """
    sequential = custom_vmap(f)

    @sequential.def_vmap
    def one_by_one(axis_size: int, in_batched: Any, *args: Any) -> Any:
        leaves, treedef = _tree.flatten(args)
        flags = _tree.leaves(in_batched)
        rows = [leaf for leaf, batched in zip(leaves, flags, strict=True) if batched]

        def one(row: list[Any]) -> Any:
            rest = iter(row)
            mixed = [next(rest) if batched else x for x, batched in zip(leaves, flags, strict=True)]
            return f(*_tree.unflatten(treedef, mixed))

        out = loops.map(one, rows)
        return out, _tree.map(lambda _: True, out)

    return transformed(f, "sequential_vmap", sequential_vmap)(
        lambda *args, **kwargs: sequential(*args, **kwargs)
    )


def _only_known(values: Sequence[Any]) -> bool:
    """Whether there is no batch, now or later: known values under derivatives only."""
    for v in values:
        while isinstance(v, Tracer):
            if not isinstance(v, (JVPTracer, VJPTracer)):
                return False
            v = v._value
    return True


def apply_rule(
    application: Application, size: int, values: Sequence[Any], mapped: Sequence[bool]
) -> tuple[list[Any], list[bool]]:
    """Run the rule of the user on batches."""
    owner: Any = application.owner
    rule = owner.vmap_rule
    in_batched = list(application.tree(mapped))
    args = application.arguments([wrap(v) for v in values])
    result = call_rule(
        rule,
        f"{owner.title}: the batching rule",
        [size, in_batched, *args],
        lambda: [
            "the size of the axis",
            "which arguments are batched",
            *signature_names(owner.fun, len(args)),
        ],
    )
    who = f"{owner.title}: the batching rule {function_text(rule)}"
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise CustomRuleError(
            f"{who} returned {kind_in_words(result)}, expected a pair (result, which leaves of it are batched)"
        )
    outs = application.results(result[0], rule)
    flags, structure = _tree.flatten(result[1])
    if structure != application.out_treedef or not all(isinstance(flag, bool) for flag in flags):
        raise CustomRuleError(
            f"{who} returned marks {result[1]!r}, expected True or False for each leaf, in the structure "
            f"{tree_text(application.out_treedef)} of the result"
        )
    for i, (out, flag) in enumerate(zip(outs, flags, strict=True)):
        shape = aval_of(out).shape
        if flag and (not shape or shape[0] != size):
            raise CustomRuleError(
                f"{who} marks {application.result_names()[i]} as batched, but its shape {shape} does not begin "
                f"with the number of examples, {size}"
            )
    return outs, flags


class _KnownCall(Primitive):
    """One call in a batch of known values, whose rule runs as it is written."""

    multiple_results = True
    has_rule = True

    def __init__(self, application: Application, level: int) -> None:
        self.application = application
        self.level = level

    @property
    def called(self) -> str:
        return self.application.owner.title

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return record(lambda *xs: self.application.run(xs), avals, self.called, "vmap").out_avals

    def impl(self, *values: Any) -> Sequence[Any]:
        return self.application.run(values)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        outs, out_mapped = apply_rule(self.application, size, args, mapped)
        self.application.check_level(outs, self.level)
        return outs, out_mapped


# ---- recorded calls ------------------------------------------------------------------------------


class _Rule:
    """The rule of a recorded call: for each pattern of mapped operands a program over batches."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.programs: dict[tuple[int, Flags], tuple[Jaxpr, Flags]] = {}

    def program(self, size: int, mapped: Flags) -> tuple[Jaxpr, Flags]:
        """From operands, batched where mapped, to results, and which of these are batched."""
        key = size, mapped
        known = self.programs.get(key)
        if known is None:
            known = self.programs[key] = self.derive(size, mapped)
        return known

    def derive(self, size: int, mapped: Flags) -> tuple[Jaxpr, Flags]:
        frame = self.frame
        captured = len(frame.captured)
        out_mapped: Flags = ()

        def run(*flat: Any) -> list[Any]:
            nonlocal out_mapped
            flags = iter(mapped[captured:])
            all_mapped = [next(flags) if v is None else False for v in frame.known]
            values = frame.filled(flat[captured:])
            outs, found = apply_rule(frame.application, size, values, all_mapped)
            out_mapped = tuple(found)
            self.check(size, outs, found)
            return outs

        return frame.record(run, batched_avals(frame.types, size, mapped), captured), out_mapped

    def check(self, size: int, outs: Sequence[Any], flags: Sequence[bool]) -> None:
        application = self.frame.application
        owner: Any = application.owner
        for i, (out, flag, aval) in enumerate(zip(outs, flags, self.frame.out_avals, strict=True)):
            own = aval_of(out)
            wanted = (size, *aval.shape) if flag else aval.shape
            if own.shape != wanted or own.dtype != aval.dtype:
                raise CustomRuleError(
                    f"{owner.title}: the batching rule {function_text(owner.vmap_rule)} returned "
                    f"{application.result_names()[i]} of shape {own.shape} and dtype {dtype_text(own.dtype)}, "
                    f"expected shape {wanted} and dtype {dtype_text(aval.dtype)}"
                )


def batched_avals(avals: Sequence[Aval], size: int, mapped: Sequence[bool]) -> list[Aval]:
    return [
        Aval((size, *aval.shape), aval.dtype) if m else aval
        for aval, m in zip(avals, mapped, strict=True)
    ]


def batched_values(values: Sequence[Any], size: int, now: Flags, then: Flags) -> list[Any]:
    """Operands with a batch axis where `then` asks for one."""
    return [
        spread(v, size) if wanted and not m else v
        for v, m, wanted in zip(values, now, then, strict=True)
    ]


class _Derived(_Rule):
    """The rule of a derivative of a call: the derivative of its rule.

    It is for batches of operands. Directions alone are batched as those of the function itself.
    """

    def __init__(self, rule: _Rule, jaxpr: Jaxpr, count: int) -> None:
        super().__init__(rule.frame)
        self.rule = rule
        self.jaxpr = jaxpr
        #: The number of operands; directions follow.
        self.count = count

    def program(self, size: int, mapped: Flags) -> tuple[Jaxpr, Flags]:
        if not any(mapped[: self.count]):
            return batch_jaxpr(self.jaxpr, size, mapped)
        return super().program(size, mapped)

    def record(self, run: Callable[..., Any], size: int, mapped: Flags) -> Jaxpr:
        avals = batched_avals(self.jaxpr.in_avals, size, mapped)
        return record(run, avals, self.jaxpr.name, "vmap")


class _Pushed(_Derived):
    """The rule of the forward derivative."""

    def __init__(self, rule: _Rule, jaxpr: Jaxpr, nonzero: Flags, out_nonzero: Flags) -> None:
        super().__init__(rule, jaxpr, len(nonzero))
        self.nonzero = nonzero
        self.out_nonzero = out_nonzero

    def derive(self, size: int, mapped: Flags) -> tuple[Jaxpr, Flags]:
        count = self.count
        directions = iter(mapped[count:])
        moving = [next(directions) if nz else False for nz in self.nonzero]
        both = tuple(a or b for a, b in zip(mapped[:count], moving, strict=True))
        program, outs_mapped = self.rule.program(size, both)
        derived, found = jvp_jaxpr(program, self.nonzero)
        wanted = (*both, *(m for m, nz in zip(both, self.nonzero, strict=True) if nz))
        outs = len(outs_mapped)

        def run(*flat: Any) -> list[Any]:
            results = eval_jaxpr(derived, *batched_values(flat, size, mapped, wanted))
            tangents = scatter_found(results[outs:], found, (True,) * outs)
            zeros = [
                zeros_of(aval_of(out)) if t is None else t
                for out, t in zip(results, tangents, strict=False)
            ]
            return [
                *results[:outs],
                *(t for t, nz in zip(zeros, self.out_nonzero, strict=True) if nz),
            ]

        out_mapped = (
            *outs_mapped,
            *(m for m, nz in zip(outs_mapped, self.out_nonzero, strict=True) if nz),
        )
        return self.record(run, size, mapped), out_mapped


class _Pulled(_Derived):
    """The rule of the reverse derivative, in which the rule of the call runs again."""

    def __init__(
        self, rule: _Rule, jaxpr: Jaxpr, needs: Flags, given: Flags, nonzero: Flags
    ) -> None:
        super().__init__(rule, jaxpr, len(needs))
        #: Which operands have a cotangent, which results of the call do, and which of the former are not zero.
        self.needs = needs
        self.given = given
        self.nonzero = nonzero

    def derive(self, size: int, mapped: Flags) -> tuple[Jaxpr, Flags]:
        count = self.count
        # Cotangents differ from example to example: so must the operands that they are for.
        operands = tuple(m or need for m, need in zip(mapped[:count], self.needs, strict=True))
        program, outs_mapped = self.rule.program(size, operands)
        wanted = (*operands, *(True for _ in mapped[count:]))
        types = [a for a, need in zip(self.jaxpr.in_avals, self.needs, strict=False) if need]

        def run(*flat: Any) -> list[Any]:
            values = batched_values(flat, size, mapped, wanted)
            with VJPTrace("", "vjp") as trace:
                inputs = [
                    trace.input(v) if need else v
                    for v, need in zip(values[:count], self.needs, strict=True)
                ]
                outs = eval_jaxpr(program, *inputs)
            rest = iter(values[count:])
            cts = [next(rest) if g else None for g in self.given]
            # A result that is the same for all examples does not depend on batched operands.
            indices = [
                trace.index_of(out) if m else -1 for out, m in zip(outs, outs_mapped, strict=True)
            ]
            found = trace.walk(indices, cts, sum(self.needs))
            return [
                zeros_of(Aval((size, *aval.shape), aval.dtype)) if ct is None else ct
                for ct, aval, nz in zip(found, types, self.nonzero, strict=True)
                if nz
            ]

        out_mapped = (True,) * sum(self.nonzero)
        return self.record(run, size, mapped), out_mapped


class CustomVmapCall(CustomCall):
    """A recorded call of a function with a batching rule.   *captured, *ins -> *outs"""

    @property
    def name(self) -> str:
        return f"custom_vmap {self.jaxpr.name}".rstrip()

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        flags = tuple(mapped)
        if any(flags[: self.captured]):
            # The rule knows nothing of what is closed over: the function is batched as any other.
            derived, out_mapped = batch_jaxpr(self.jaxpr, size, flags)
            return Call(derived)(*args), out_mapped
        program, out_mapped = self.rule.program(size, flags)
        return eval_jaxpr(program, *args), out_mapped

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        nonzero = tuple(t is not None for t in tangents)
        if any(nonzero[: self.captured]):
            return Call(self.jaxpr).push(primals, tangents)
        derived, out_nonzero = jvp_jaxpr(self.jaxpr, nonzero)
        rule = _Pushed(self.rule, derived, nonzero, out_nonzero)
        call = CustomVmapCall(derived, rule, self.captured)
        flat = bind(call, [*primals, *(t for t in tangents if t is not None)])
        count = len(self.jaxpr.outvars)
        pushed = iter(flat[count:])
        return flat[:count], [next(pushed) if nz else None for nz in out_nonzero]

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        if any(needs[: self.captured]):
            return Call(self.jaxpr).pull(needs, args)
        return bind(self, args), _Pullback(self, tuple(needs), list(args))


class _Pullback:
    """The backward program of a call from its operands, with a batching rule of its own."""

    def __init__(self, call: CustomVmapCall, needs: Flags, operands: list[Any]) -> None:
        self.call = call
        self.reverse = reverse_jaxpr(call.jaxpr, needs)
        self.residuals = operands
        self.active = self.reverse.active

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        given = tuple(ct is not None for ct in cts)
        program, nonzero = self.reverse.backward_from_primals(given)
        rule = _Pulled(self.call.rule, program, self.reverse.needs, given, nonzero)
        call = CustomVmapCall(program, rule, self.call.captured)
        found = bind(call, [*self.residuals, *(ct for ct in cts if ct is not None)])
        return scatter_found(found, nonzero, self.reverse.needs)
