"""Reverse mode: applications are taped with their values known, and walked backward."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import snapshot, wrap
from fgrad.avals import Aval, aval_of
from fgrad.config import config
from fgrad.dtypes import is_inexact, python_type
from fgrad.errors import JaxprTypeError, UnboundedLoopError
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, eval_jaxpr
from fgrad.ir.passes import dce, pure_equations
from fgrad.primitives.families import Full, add, has_nan, unguarded
from fgrad.source_info import boundary, function_name
from fgrad.tracing import Primitive, Recording, Trace, Tracer, derivative_rules, open_body
from fgrad.transforms._arguments import (
    check_callable,
    direction_values,
    leaf_values,
    output_values,
    split_aux,
    untraced,
)
from fgrad.transforms.jvp import instantiate


class VJPTracer(Tracer):
    """A known value with its place on the tape."""

    __slots__ = ("_value", "index")

    def __init__(self, trace: VJPTrace, primal: Any, index: int) -> None:
        self._trace = trace
        self._value = primal
        self.index = index

    @property
    def aval(self) -> Aval:  # type: ignore[override]
        return self._trace.avals[self.index]  # type: ignore[attr-defined, no-any-return]

    def _known(self) -> Any:
        return self._value


class VJPTrace(Trace):
    """Tapes each application with just the values that its vjp rule reads.

    A node of the tape is None for an input; ``(primitive, parents, needs, answer, args)`` for an
    application; ``(pullback, parents, avals)`` for one that keeps its residuals itself, followed by a node
    ``(index, position)`` for each of its outputs. A parent is the index of its node, or -1.
    """

    __slots__ = ("avals", "nodes")

    def __init__(self, name: str, transform: str = "vjp", function: Any = None) -> None:
        super().__init__(name, transform, function)
        self.nodes: list[Any] = []
        self.avals: list[Aval] = []

    def input(self, primal: Any) -> VJPTracer:
        self.nodes.append(None)
        self.avals.append(aval_of(primal))
        return VJPTracer(self, primal, len(self.nodes) - 1)

    def process(self, primitive: Primitive, args: Sequence[Any]) -> Any:
        if not self.alive or self.thread != get_ident():
            self.check_alive(primitive, args)
        values, parents = [], []
        for arg in args:
            if type(arg) is VJPTracer and arg._trace is self:
                values.append(arg._value)
                parents.append(arg.index)
            else:
                values.append(arg)
                parents.append(-1)
        if not primitive.differentiable:
            return primitive(*values)
        needs = tuple([parent >= 0 for parent in parents])
        if primitive.keeps_residuals:
            answers, pullback = primitive.pull(needs, values)
            return self.tape_pullback(answers, pullback, parents, primitive.multiple_results)
        answer = primitive(*values)
        aval = aval_of(answer)
        if aval.dtype.kind not in "fc" and not is_inexact(aval.dtype):
            return answer
        reads_answer, reads_args = primitive.reads(needs)
        avals = self.avals
        blind = primitive.ignores_unread
        for i, parent in enumerate(parents):
            if not reads_args[i]:
                if parent >= 0:
                    values[i] = avals[parent]
                else:
                    values[i] = None if blind else aval_of(values[i])
        self.nodes.append((primitive, parents, needs, answer if reads_answer else aval, values))
        avals.append(aval)
        return VJPTracer(self, answer, len(avals) - 1)

    def tape_pullback(self, answers: Any, pullback: Any, parents: list[int], several: bool) -> Any:
        outputs = list(answers) if several else [answers]
        avals = [aval_of(v) for v in outputs]
        self.nodes.append((pullback, parents, avals))
        self.avals.append(avals[0] if avals else Aval((), np.dtype(bool)))
        index = len(self.nodes) - 1
        results = []
        for position, (out, aval) in enumerate(zip(outputs, avals, strict=True)):
            if not pullback.active[position]:
                results.append(out)
                continue
            self.nodes.append((index, position))
            self.avals.append(aval)
            results.append(VJPTracer(self, out, len(self.nodes) - 1))
        return results if several else results[0]

    def index_of(self, x: Any) -> int:
        """The tape index of an output, or -1 if it does not depend on the inputs."""
        return x.index if type(x) is VJPTracer and x._trace is self else -1

    def untrace(self, x: Any) -> Any:
        return wrap(x._value) if type(x) is VJPTracer and x._trace is self else x

    def value_of(self, x: Any) -> Any:
        return x._value if type(x) is VJPTracer and x._trace is self else x

    def maker(self, tracer: Any) -> str:
        node = self.nodes[tracer.index]
        return f"made by {node[0].called}" if node is not None and len(node) == 5 else ""

    def keep(self) -> None:
        """Replace saved values that somebody could write to by copies: the tape outlives its call."""
        copies: dict[int, tuple[Any, Any]] = {}

        def safe(saved: Any) -> Any:
            if type(saved) is not np.ndarray:
                return saved
            if id(saved) not in copies:
                # The original is kept too: its id must not be taken by another array meanwhile.
                copies[id(saved)] = saved, snapshot(saved)
            return copies[id(saved)][1]

        for i, node in enumerate(self.nodes):
            if node is None or len(node) == 2:
                continue
            if len(node) == 3:
                node[0].residuals = [safe(r) for r in node[0].residuals]
            else:
                primitive, parents, needs, answer, args = node
                self.nodes[i] = (primitive, parents, needs, safe(answer), [safe(a) for a in args])

    def walk(self, outputs: Sequence[int], cotangents: Sequence[Any], count: int) -> list[Any]:
        """Cotangents of the first `count` inputs, given those of outputs."""
        seeds: dict[int, Any] = {}
        for index, ct in zip(outputs, cotangents, strict=True):
            if index >= 0 and ct is not None:
                seeds[index] = add(seeds[index], ct) if index in seeds else ct
        with derivative_rules():
            with unguarded():
                results = self.walk_once(dict(seeds), count)
            # A product of a zero cotangent and an infinite slope shows as NaN: only then guard each one.
            if any(ct is not None and _any_nan(ct) for ct in results):
                results = self.walk_once(seeds, count)
        return results

    def walk_once(self, cts: dict[int, Any], count: int) -> list[Any]:
        nodes = self.nodes
        for index in range(max(cts, default=-1), count - 1, -1):
            ct = cts.pop(index, None)
            if ct is None:
                continue
            node = nodes[index]
            if node is None:
                continue
            if len(node) == 5:
                primitive, parents, needs, answer, args = node
                contributions = primitive.vjp(ct, needs, answer, *args)
            elif len(node) == 2:
                owner, position = node
                cts.setdefault(owner, {})[position] = ct
                continue
            else:
                pullback, parents, avals = node
                contributions = pullback([ct.get(position) for position in range(len(avals))])
            for parent, contribution in zip(parents, contributions, strict=True):
                if parent >= 0 and contribution is not None:
                    earlier = cts.get(parent)
                    cts[parent] = contribution if earlier is None else add(earlier, contribution)
                    if config.check_jaxprs and not aval_of(contribution).fits(self.avals[parent]):
                        raise JaxprTypeError(
                            f"{node[0]!r} gave a cotangent of type {aval_of(contribution)} for a primal of "
                            f"type {self.avals[parent]}"
                        )
        return [cts.get(index) for index in range(count)]


def _any_nan(ct: Any) -> bool:
    """Whether a value has a NaN, as far as its traces know; recorded products guard themselves."""
    while isinstance(ct, Tracer):
        tangent = getattr(ct, "tangent", None)
        if tangent is not None and _any_nan(tangent):
            return True
        ct = ct._array() if hasattr(ct, "_array") else ct._known()
    return ct is not None and has_nan(ct)


# ---- the public transform --------------------------------------------------------------------


class Pullback:
    """The linear map from cotangents of results to cotangents of arguments, as `vjp` returns it."""

    def __init__(self, f: Any, trace: VJPTrace, count: int, inputs: Any, outputs: Any) -> None:
        self._f = f
        self._trace = trace
        self._count = count
        self._positions, self._in_avals, self._in_treedef = inputs
        self._indices, self._out_avals, self._out_treedef = outputs

    @boundary
    def __call__(self, cotangents: Any) -> Any:
        inner = direction_values(
            cotangents,
            self._out_treedef,
            self._out_avals,
            "cotangent",
            "output",
            "vjp",
            self._f,
            lambda: _tree.leaf_names(cotangents, "the result"),
        )
        found = self._trace.walk(self._indices, inner, self._count)
        results = [
            wrap(instantiate(None if position < 0 else found[position], aval))
            for position, aval in zip(self._positions, self._in_avals, strict=True)
        ]
        return _tree.unflatten(self._in_treedef, results)


@boundary
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Any = ()) -> Any:
    """Evaluate `f` and return the map that pulls cotangents back to its arguments.

    Parameters
    ----------
    f : callable
        A function of arrays, or of trees of arrays.
    *primals
        The arguments at which to differentiate.
    has_aux : bool
        Whether `f` returns a pair of a result and auxiliary data, which is not differentiated.

    Returns
    -------
    primals_out, pullback
        The value of `f`, and a function from one tree of cotangents, like the result, to a tuple of
        cotangents, like the arguments. It may be called again. With `has_aux`, the auxiliary data third.

    Raises
    ------
    NonArrayError
        If a leaf of the arguments is not an array or a number.
    TangentError
        By the pullback, if the cotangents do not match the result.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> y, pullback = fgrad.vjp(lambda a, b: a * b, 3.0, 4.0)
    >>> [float(ct) for ct in pullback(1.0)]
    [4.0, 3.0]
    """
    check_callable(f, "vjp")
    leaves, treedef = _tree.flatten(primals)
    values = leaf_values(leaves, "vjp", f, primals)
    in_avals = [aval_of(v) for v in values]
    with VJPTrace(function_name(f), "vjp", f) as trace:
        positions, tracers = [], []
        for v, aval in zip(values, in_avals, strict=True):
            differentiable = is_inexact(aval.dtype)
            positions.append(len(trace.nodes) if differentiable else -1)
            tracers.append(trace.input(v) if differentiable else wrap(v))
        count = len(trace.nodes)
        result = f(*_tree.unflatten(treedef, tracers))
        aux = None
        if has_aux:
            result, aux = split_aux(f, result, "vjp")
        out_leaves, out_treedef = _tree.flatten(result)
        outs = output_values(out_leaves, "vjp", f, result)
    trace.keep()
    out_avals = [aval_of(x) for x in outs]
    pullback = Pullback(
        f,
        trace,
        count,
        (positions, in_avals, treedef),
        ([trace.index_of(x) for x in outs], out_avals, out_treedef),
    )
    answer = _tree.unflatten(out_treedef, [wrap(trace.value_of(x)) for x in outs])
    if has_aux:
        return answer, pullback, untraced(trace, aux)
    return answer, pullback


# ---- reverse mode of a jaxpr -------------------------------------------------------------------


class ReverseJaxpr:
    """The forward program of a jaxpr with its residuals, and its backward programs.

    The forward pass and the backward walk are recorded into one body with all inputs unknown; what the
    backward equations read of the forward ones are the residuals, which become further outputs of the
    forward program. Nothing of the forward pass is computed again.
    """

    def __init__(self, jaxpr: Jaxpr, needs: tuple[bool, ...]) -> None:
        self.needs = needs
        with Recording(jaxpr.name, "grad") as body, open_body(body):
            primals = [body.new_input(aval) for aval in jaxpr.in_avals]
            with VJPTrace(jaxpr.name) as trace:
                inputs = [
                    trace.input(p) if need else p for p, need in zip(primals, needs, strict=True)
                ]
                outs = eval_jaxpr(jaxpr, *inputs)
            indices = [trace.index_of(x) for x in outs]
            self.active = [index >= 0 for index in indices]
            out_atoms = [body.atom(trace.value_of(x)) for x in outs]
            cut = len(body.eqns)
            cts = [None if index < 0 else body.new_input(trace.avals[index]) for index in indices]
            self.refusals, found = _walked(trace, indices, cts, sum(needs))
            in_cts = [None if ct is None else body.atom(ct) for ct in found]
        self.nonzero = tuple(ct is not None for ct in in_cts)
        count = len(primals)
        primal_vars, all_cts = body.invars[:count], iter(body.invars[count:])
        ct_vars = self.accepted([next(all_cts) if active else None for active in self.active])
        forward_eqns, backward_eqns = body.eqns[:cut], body.eqns[cut:]

        def program(invars: Sequence[Var], eqns: Sequence[Eqn], outs: Sequence[Any]) -> Jaxpr:
            whole = Jaxpr(body.constvars, body.consts, invars, eqns, outs, jaxpr.name)
            return checked(dce(whole))

        outs_of_walk = [a for a in in_cts if a is not None]
        needed = dce(Jaxpr((), (), body.invars, backward_eqns, outs_of_walk))
        read = {a for eqn in needed.eqns for a in eqn.inputs} | set(needed.outvars)
        saved = [v for eqn in forward_eqns for v in eqn.outputs if v in read]
        #: The positions of the primals that the backward program reads.
        self.passed = [i for i, v in enumerate(primal_vars) if v in read]
        self.forward = program(primal_vars, forward_eqns, [*out_atoms, *saved])
        residuals = [*(primal_vars[i] for i in self.passed), *saved]
        self.full = program([*residuals, *ct_vars], backward_eqns, outs_of_walk)
        self.ct_count = len(ct_vars)
        self._parts = program, primal_vars, ct_vars, forward_eqns, backward_eqns, out_atoms
        self._outs_of_walk = outs_of_walk

    @functools.cached_property
    def recomputing(self) -> Jaxpr:
        """From primals and cotangents, computing the forward pass again, without its effects."""
        program, primal_vars, ct_vars, forward_eqns, backward_eqns, _ = self._parts
        again = pure_equations(forward_eqns)
        return program([*primal_vars, *ct_vars], [*again, *backward_eqns], self._outs_of_walk)

    def saving(self, policy: Callable[..., bool]) -> tuple[Jaxpr, Jaxpr, list[int]]:
        """A form between the two: the results of equations that `policy` chooses are residuals.

        Returns
        -------
        forward, full, passed
            As the attributes; the full program computes again what it reads of the rest.
        """
        known = self.recomputing.derived.get(("saving", policy))
        if known is not None:
            return known  # type: ignore[no-any-return]
        program, primal_vars, ct_vars, forward_eqns, backward_eqns, out_atoms = self._parts
        saved: dict[Any, None] = {}
        for eqn in forward_eqns:
            primitive = eqn.primitive
            if policy(primitive, *[a.aval for a in eqn.inputs], **primitive.params()):
                # A name is one for its operand: that is what other equations may read.
                named = getattr(primitive, "names_operand", False)
                saved.update(dict.fromkeys(eqn.inputs if named else eqn.outputs))
        made = {v for eqn in forward_eqns for v in eqn.outputs}
        kept = [v for v in saved if v in made]
        unsaved = [eqn for eqn in forward_eqns if not all(v in saved for v in eqn.outputs)]
        again = pure_equations(unsaved)
        outs = self.recomputing.outvars
        backward = [*again, *backward_eqns]
        needed = dce(Jaxpr((), (), [*primal_vars, *kept, *ct_vars], backward, outs))
        read = {a for eqn in needed.eqns for a in eqn.inputs} | set(needed.outvars)
        residuals = [v for v in kept if v in read]
        passed = [i for i, v in enumerate(primal_vars) if v in read]
        inputs = [*(primal_vars[i] for i in passed), *residuals, *ct_vars]
        known = (
            program(primal_vars, forward_eqns, [*out_atoms, *residuals]),
            program(inputs, backward, outs),
            passed,
        )
        self.recomputing.derived["saving", policy] = known
        return known

    def backward(self, pattern: Sequence[bool]) -> tuple[Jaxpr, tuple[bool, ...]]:
        """The program from residuals and nonzero cotangents to the nonzero cotangents of the inputs."""
        return self.without_zeros(self.full, pattern)

    def backward_from_primals(self, pattern: Sequence[bool]) -> tuple[Jaxpr, tuple[bool, ...]]:
        """The same from the primals themselves, computing the forward pass again."""
        return self.without_zeros(self.recomputing, pattern)

    def accepted(self, of_results: Sequence[Any]) -> tuple[Any, ...]:
        """What belongs to the results whose cotangents the backward program takes."""
        rows = zip(of_results, self.active, self.refusals, strict=True)
        return tuple([x for x, active, refusal in rows if active and refusal is None])

    def without_zeros(self, full: Jaxpr, pattern: Sequence[bool]) -> tuple[Jaxpr, tuple[bool, ...]]:
        for nz, refusal in zip(pattern, self.refusals, strict=True):
            if nz and refusal is not None:
                raise UnboundedLoopError(refusal)
        given = self.accepted(pattern)
        if all(given):
            return full, self.nonzero
        known = full.derived.get(("zeros", given))
        if known is None:
            pruned, nonzero = drop_zeros(full, self.ct_count, given)
            results = iter(nonzero)
            known = pruned, tuple(nz and next(results) for nz in self.nonzero)
            full.derived["zeros", given] = known
        return known


def _walked(
    trace: VJPTrace, indices: Sequence[int], cts: Sequence[Any], count: int
) -> tuple[list[str | None], list[Any]]:
    """The cotangents of the inputs, and for each output why its cotangent is refused, or None.

    Those that are refused are left out.
    """
    refusals: list[str | None] = [None] * len(indices)
    try:
        return refusals, trace.walk(indices, cts, count)
    except UnboundedLoopError:
        pass
    for position, ct in enumerate(cts):
        try:
            trace.walk([indices[position]], [ct], count)
        except UnboundedLoopError as error:
            refusals[position] = str(error)
    accepted = [None if why else ct for ct, why in zip(cts, refusals, strict=True)]
    return refusals, trace.walk(indices, accepted, count)


def drop_zeros(
    jaxpr: Jaxpr, ct_count: int, given: Sequence[bool]
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """A program linear in its last `ct_count` inputs, specialised to some of them being zero.

    The inputs and outputs that are zero are left out.
    """
    split = len(jaxpr.invars) - ct_count
    ct_vars = jaxpr.invars[split:]
    linear: set[Any] = set(ct_vars)
    zero: set[Any] = {v for v, nonzero in zip(ct_vars, given, strict=True) if not nonzero}
    same: dict[Any, Any] = {}
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        inputs = tuple([same.get(a, a) if type(a) is Var else a for a in eqn.inputs])
        dependent = [a for a in inputs if a in linear]
        if not dependent:
            eqns.append(eqn._replace(inputs=inputs))
            continue
        linear.update(eqn.outputs)
        rest = [a for a in dependent if a not in zero]
        if not rest:
            zero.update(eqn.outputs)
            continue
        if len(rest) < len(dependent):
            if eqn.primitive is add and rest[0].aval == eqn.outputs[0].aval:
                same[eqn.outputs[0]] = rest[0]
                continue
            inputs = tuple([_zero_atom(a, eqns) if a in zero else a for a in inputs])
        eqns.append(eqn._replace(inputs=inputs))
    outvars = [same.get(a, a) if type(a) is Var else a for a in jaxpr.outvars]
    nonzero = tuple(a not in zero for a in outvars)
    pruned = Jaxpr(
        jaxpr.constvars,
        jaxpr.consts,
        [v for v in jaxpr.invars if v not in zero],
        eqns,
        [a for a in outvars if a not in zero],
        jaxpr.name,
    )
    return checked(dce(pruned)), nonzero


def _zero_atom(atom: Any, eqns: list[Eqn]) -> Any:
    """An atom that is zero of the type of `atom`, made by a new equation where it is an array."""
    aval = atom.aval
    if not aval.shape:
        zero = python_type(aval.dtype)(0) if aval.weak else aval.dtype.type(0)
        return Literal(zero)
    var = Var(aval)
    eqns.append(Eqn(Full(aval.shape, 0, aval.dtype), (), (var,), None, True))
    return var


def reverse_jaxpr(jaxpr: Jaxpr, needs: tuple[bool, ...]) -> ReverseJaxpr:
    """The reverse form of a jaxpr towards the inputs in `needs`, derived once."""
    key = ("vjp", needs)
    known = jaxpr.derived.get(key)
    if known is None:
        known = jaxpr.derived[key] = ReverseJaxpr(jaxpr, needs)
    return known


def scatter_found(
    found: Sequence[Any], nonzero: Sequence[bool], needs: Sequence[bool]
) -> list[Any]:
    """Cotangents for every operand, None where not needed or zero."""
    values = iter(found)
    by_need = iter([next(values) if nz else None for nz in nonzero])
    return [next(by_need) if need else None for need in needs]
