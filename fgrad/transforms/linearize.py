"""Linear maps from functions: linearization at a point, and the transpose of a linear function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import snapshot, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import is_inexact
from fgrad.errors import DTypeError, NonLinearError
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, eval_jaxpr, sub_jaxprs
from fgrad.ir.passes import inline_calls
from fgrad.primitives.elementwise import fmod, nextafter, remainder
from fgrad.primitives.families import ZERO, Elementwise, Linear, add, zeros_of
from fgrad.source_info import boundary, function_name, function_text, source_text
from fgrad.tracing import Primitive, concrete, derivative_rules, record
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    direction_values,
    leaf_value,
    leaf_values,
    output_values,
    split_aux,
    untraced,
)
from fgrad.transforms.bodies import dependent_outputs
from fgrad.transforms.call import Call, Checkpointed
from fgrad.transforms.jvp import JVPTrace, instantiate
from fgrad.transforms.tape import Tape


@boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Evaluate `fun` and return its derivative as a linear function.

    The tangent program is recorded while `fun` runs, so that applying it many times computes no part of
    `fun` again but for ``while_loop``: what its steps made is not kept, so that it runs again beside its
    tangents.

    Parameters
    ----------
    fun : callable
        A function of arrays, or of trees of arrays.
    *primals
        The arguments at which to linearize.
    has_aux : bool
        Whether `fun` returns a pair of a result and auxiliary data.

    Returns
    -------
    primals_out, f_jvp
        The value of `fun`, and a function from tangents, one per argument, to the tangents of the
        result. With `has_aux`, the auxiliary data third.

    Examples
    --------
    >>> import fgrad
    >>> y, f_jvp = fgrad.linearize(lambda x: x**2, 3.0)
    >>> float(f_jvp(1.0))
    6.0
    """
    check_callable(fun, "linearize")
    leaves, treedef = _tree.flatten(primals)
    values = leaf_values(leaves, "linearize", fun, primals)
    avals = [aval_of(v) for v in values]
    name = function_name(fun)
    with Tape(name, "linearize") as tape, JVPTrace(name, "linearize", fun) as trace:
        tracers = [
            trace.pair(v, tape.new_input(aval)) if is_inexact(aval.dtype) else v
            for v, aval in zip(values, avals, strict=True)
        ]
        result = fun(*_tree.unflatten(treedef, [wrap(t) for t in tracers]))
        aux = None
        if has_aux:
            result, aux = split_aux(fun, result, "linearize")
        out_leaves, out_treedef = _tree.flatten(result)
        pairs = [trace.split(x) for x in output_values(out_leaves, "linearize", fun, result)]
        jaxpr = checked(tape.jaxpr([t for _, t in pairs if t is not None]))
    jaxpr.consts = tuple(map(snapshot, jaxpr.consts))
    out_avals = [aval_of(p) for p, _ in pairs]
    nonzero = [t is not None for _, t in pairs]

    @boundary
    def f_jvp(*tangents: Any) -> Any:
        flat = direction_values(
            tangents,
            treedef,
            avals,
            "tangent",
            "primal",
            "linearize",
            fun,
            lambda: argument_leaf_names(fun, primals),
        )
        found = iter(eval_jaxpr(jaxpr, *[t for t in flat if t is not None]))
        outs = [next(found) if nz else None for nz in nonzero]
        return _tree.unflatten(
            out_treedef, [wrap(instantiate(t, a)) for t, a in zip(outs, out_avals, strict=True)]
        )

    answer = _tree.unflatten(out_treedef, [wrap(p) for p, _ in pairs])
    return (answer, f_jvp, untraced(trace, aux)) if has_aux else (answer, f_jvp)


@boundary
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()
) -> Callable[..., Any]:
    """The transpose of a linear function.

    Parameters
    ----------
    fun : callable
        A function that is linear in all of its arguments, which are floats or complex numbers. An affine
        function, which adds a constant, is not linear.
    *primals
        Arrays, or `ShapeDtypeStruct`, that give the types of the arguments; their values are not used.

    Returns
    -------
    callable
        From a cotangent like the result of `fun` to a tuple of cotangents like its arguments.

    Raises
    ------
    DTypeError
        If an argument or a result of `fun` is of integers or booleans.
    NonLinearError
        When the transpose is applied, if `fun` is not linear.

    Examples
    --------
    >>> import fgrad
    >>> transpose = fgrad.linear_transpose(lambda x: 3.0 * x, 1.0)
    >>> float(transpose(2.0)[0])
    6.0
    """
    check_callable(fun, "linear_transpose")
    leaves, treedef = _tree.flatten(primals)
    names = argument_leaf_names(fun, primals)
    avals = [
        x.aval
        if hasattr(x, "aval")
        else aval_of(leaf_value(x, "linear_transpose", fun, lambda i=i: names[i]))  # type: ignore[misc]
        for i, x in enumerate(leaves)
    ]
    out_treedef: Any = None

    def flat_fun(*xs: Any) -> list[Any]:
        nonlocal out_treedef
        result = fun(*_tree.unflatten(treedef, list(xs)))
        out_leaves, out_treedef = _tree.flatten(result)
        return output_values(out_leaves, "linear_transpose", fun, result)

    jaxpr = without_calls(
        record(flat_fun, avals, function_name(fun), "linear_transpose", names, fun)
    )
    for what, found in (("argument", jaxpr.in_avals), ("result", jaxpr.out_avals)):
        for aval in found:
            if not is_inexact(aval.dtype):
                raise DTypeError(
                    f"linear_transpose of {function_text(fun)}: it has {what}s of dtype {aval.dtype}; linear maps "
                    "are of floats or complex numbers: close over integers, or convert them with .astype"
                )
    jaxpr.consts = tuple(map(snapshot, jaxpr.consts))

    @boundary
    def transposed(cotangent: Any) -> Any:
        cts = direction_values(
            cotangent,
            out_treedef,
            jaxpr.out_avals,
            "cotangent",
            "output",
            "linear_transpose",
            fun,
            lambda: _tree.leaf_names(cotangent, "the result"),
        )
        found = transpose_jaxpr(jaxpr, cts, function_text(fun))
        return _tree.unflatten(
            treedef, [wrap(instantiate(ct, a)) for ct, a in zip(found, avals, strict=True)]
        )

    return transposed


def without_calls(jaxpr: Jaxpr) -> Jaxpr:
    """The program with all calls inlined, those of checkpoints too: a linear map has no residuals."""
    while True:
        jaxpr = inline_calls(jaxpr)
        if not any(isinstance(eqn.primitive, Checkpointed) for eqn in jaxpr.eqns):
            return jaxpr
        jaxpr.eqns = tuple(
            eqn._replace(primitive=Call(eqn.primitive.jaxpr))
            if isinstance(eqn.primitive, Checkpointed)
            else eqn
            for eqn in jaxpr.eqns
        )


def transpose_jaxpr(jaxpr: Jaxpr, cts: Sequence[Any], who: str) -> list[Any]:
    """Cotangents of the inputs of a linear program. What does not depend on them is computed."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    linear = set(jaxpr.invars)
    pending: list[tuple[Eqn, list[bool], Any]] = []
    for eqn in jaxpr.eqns:
        active = [type(a) is Var and a in linear for a in eqn.inputs]
        if any(active) and eqn.primitive.keeps_residuals and sub_jaxprs(eqn.primitive):
            answers, pullback = _pulled_at_zero(eqn, active, env, who)
            for var, answer, depends in zip(eqn.outputs, answers, pullback.active, strict=True):
                if depends:
                    linear.add(var)
                else:
                    env[var] = answer
            pending.append((eqn, active, pullback))
            continue
        if any(active):
            operands = [
                atom.aval if is_active else _read(env, atom)
                for atom, is_active in zip(eqn.inputs, active, strict=True)
            ]
            linear.update(eqn.outputs)
            pending.append((eqn, active, eqn.primitive.transpose_of(active, operands)))
            continue
        answer = eqn.primitive(*[_read(env, a) for a in eqn.inputs])
        several = eqn.primitive.multiple_results
        env.update(zip(eqn.outputs, answer if several else [answer], strict=True))
    gathered: dict[Any, Any] = {}

    def accumulate(var: Any, ct: Any) -> None:
        if ct is not None:
            gathered[var] = add(gathered[var], ct) if var in gathered else ct

    for atom, ct in zip(jaxpr.outvars, cts, strict=True):
        if atom in linear:
            accumulate(atom, ct)
        elif not _is_zero(_read(env, atom)):
            raise NonLinearError(
                f"linear_transpose of {who}: an output is a constant other than zero, which does not depend on "
                "the arguments; return what is linear in them, and leave constants to the caller"
            )
    for eqn, active, pullback in reversed(pending):
        out_cts = [gathered.pop(var, None) for var in eqn.outputs]
        if all(ct is None for ct in out_cts):
            continue
        if pullback is not None:
            for atom, contribution in zip(eqn.inputs, pullback(out_cts), strict=True):
                if atom in linear:
                    accumulate(atom, contribution)
            continue
        (ct,) = out_cts
        args = [
            atom.aval if is_active else _read(env, atom)
            for atom, is_active in zip(eqn.inputs, active, strict=True)
        ]
        fault = _fault(eqn.primitive, active, args, eqn.outputs[0].aval)
        if fault:
            raise NonLinearError(
                f"linear_transpose of {who}: {eqn.primitive.called} at {source_text(eqn.source)} {fault}"
            )
        for atom, contribution in zip(
            eqn.inputs, eqn.primitive.vjp(ct, active, eqn.outputs[0].aval, *args), strict=True
        ):
            if atom in linear:
                accumulate(atom, contribution)
    return [gathered.get(var) for var in jaxpr.invars]


def _pulled_at_zero(
    eqn: Eqn, active: Sequence[bool], env: dict[Var, Any], who: str
) -> tuple[Sequence[Any], Any]:
    """The answers of a loop or a branch and its pullback, at zeros for the arguments of the linear map.

    It is linear if it maps them to zeros, and keeps nothing that depends on them.
    """
    primitive = eqn.primitive
    refusal = getattr(primitive, "refusal", None)
    if refusal is not None:
        # At zeros the loop may not end.
        raise refusal()
    given = [
        None if is_active else _read(env, atom)
        for atom, is_active in zip(eqn.inputs, active, strict=True)
    ]
    avals = [atom.aval for atom, is_active in zip(eqn.inputs, active, strict=True) if is_active]

    def residuals(*moving: Any) -> list[Any]:
        rest = iter(moving)
        args = [next(rest) if a else x for x, a in zip(given, active, strict=True)]
        return list(primitive.pull(tuple(active), args)[1].residuals)

    kept = record(residuals, avals, primitive.name, "linear_transpose")
    zeros = iter([zeros_of(aval) for aval in avals])
    args = [next(zeros) if a else x for x, a in zip(given, active, strict=True)]
    with derivative_rules():
        answers, pullback = primitive.pull(tuple(active), args)
    depends = dependent_outputs(kept, (True,) * len(avals), False)
    at_zero = [a for a, is_active in zip(answers, pullback.active, strict=True) if is_active]
    if any(depends) or not all(concrete(a) is None or _is_zero(a) for a in at_zero):
        raise NonLinearError(
            f"linear_transpose of {who}: {primitive.called} at {source_text(eqn.source)} is not linear in the "
            "arguments"
        )
    return answers, pullback


# Functions of steps: their slopes are constants, but they are not linear.
_STEPS = frozenset((fmod, nextafter, remainder))


def _fault(primitive: Primitive, active: Sequence[bool], args: Sequence[Any], out: Aval) -> str:
    """What keeps an application from being linear in its active arguments, which are avals; or nothing.

    With a slope that depends on no active argument it is affine, and linear if it maps zeros to zero.
    """
    kinds = [aval.dtype for aval, is_active in zip(args, active, strict=True) if is_active]
    if (
        not primitive.differentiable
        or primitive in _STEPS
        or is_inexact(out.dtype) not in map(is_inexact, kinds)
    ):
        return "is not linear in the arguments"
    reads_answer, reads_args = primitive.reads(active)
    if reads_answer or any(r and a for r, a in zip(reads_args, active, strict=True)):
        return "is not linear in the arguments"
    if isinstance(primitive, Elementwise):
        partials = [p for p, is_active in zip(primitive.partials, active, strict=True) if is_active]
        if any(partial is ZERO for partial in partials):
            return "is not linear in the arguments"
        # Operands are broadcast: one zero stands for an array of them.
        zeros = [x.dtype.type(0) if a else x for x, a in zip(args, active, strict=True)]
    elif isinstance(primitive, Linear):
        count = primitive.linear_operands
        pairs = list(zip(args, active, strict=True))
        if all(is_active or _is_zero(x) for x, is_active in pairs[:count]):
            return ""
        zeros = [zeros_of(x) if is_active else x for x, is_active in pairs]
    else:
        return ""
    with derivative_rules():
        at_zero = concrete(primitive(*zeros))
    if at_zero is None and isinstance(primitive, Elementwise) and any(reads_args):
        # A product with an unknown factor.
        return ""
    if _is_zero(at_zero):
        return ""
    return (
        "adds a value that does not depend on the arguments, so that the function is affine, not linear; leave "
        "that value out, or pull cotangents back with vjp"
    )


def _is_zero(value: Any) -> bool:
    """Whether a value is known to be zero, or NaN, as zero times infinity is."""
    known = concrete(value)
    return known is not None and not np.any(np.not_equal(known, 0) & np.equal(known, known))


def _read(env: dict[Var, Any], atom: Any) -> Any:
    return atom.value if type(atom) is Literal else env[atom]
