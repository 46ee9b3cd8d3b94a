"""Bodies of structured control flow: recorded, closed, and what the rules of all of them share.

A body is closed: the arrays and outer tracers that the user's function captures are its leading inputs,
its constants. So a body is derived once for each pattern of its inputs, and every derived form is kept on it.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad import _tree
from fgrad.avals import Aval, aval_of
from fgrad.compiler import compiled
from fgrad.config import config
from fgrad.dtypes import is_inexact
from fgrad.errors import JaxprTypeError
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, derivative_rules, eval_jaxpr, sub_jaxprs
from fgrad.ir.passes import cse, dce, inline_calls, literal_key, used_inputs
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import Convert, Elementwise, zeros_of
from fgrad.primitives.indexing import forgiving
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import spread
from fgrad.source_info import function_name, function_text
from fgrad.tracing import record
from fgrad.transforms._arguments import check_arity, output_values
from fgrad.transforms.vmap import BatchTrace

Flags = tuple[bool, ...]


class Body(NamedTuple):
    """A recorded function: its program, what it captured, and the structure of its result."""

    jaxpr: Jaxpr
    captured: list[Any]
    treedef: Any
    #: Which leaves of the result are Python numbers, returned as they are.
    numbers: Flags


class Role(NamedTuple):
    """What a user's function is to a construct: the name of the parameter, and what it is called with."""

    name: str
    wanted: tuple[str, ...]

    def call(
        self,
        f: Callable[..., Any],
        args: Sequence[Any],
        construct: str,
        user_function: Callable[..., Any] | None = None,
    ) -> Any:
        """Call a function, or that around the user's.

        Raises
        ------
        ArgumentError
            If the user's function does not take so many arguments.
        """
        try:
            return f(*args)
        except TypeError:
            own = user_function or f
            check_arity(own, f"{construct} of {function_text(own)}: {self.name}", self.wanted)
            raise


def record_body(
    f: Callable[..., Any],
    construct: str,
    treedef: Any,
    avals: Sequence[Aval],
    names: Sequence[str],
    settle: Callable[[list[Any], Any], list[Any]] | None = None,
    user_function: Callable[..., Any] | None = None,
    role: Role | None = None,
) -> Body:
    """Record a function of trees on unknown inputs, and close it.

    `settle` may change the leaves of the result, which it is given too. Messages name `user_function`, if
    `f` is not the user's own, and what it is called with in its `role`.
    """
    out_treedef: Any = None
    numbers: Flags = ()

    def flat(*xs: Any) -> list[Any]:
        nonlocal out_treedef, numbers
        args = _tree.unflatten(treedef, list(xs))
        result = f(*args) if role is None else role.call(f, args, construct, user_function)
        leaves, out_treedef = _tree.flatten(result)
        numbers = tuple(map(is_number, leaves))
        values = output_values(leaves, construct, f, result)
        return values if settle is None else settle(values, result)

    name = function_name(user_function or f)
    recorded = record(flat, avals, name, construct, names, user_function or f)
    jaxpr = inline_calls(recorded, rules=False)
    if len(set(map(id, jaxpr.consts))) < len(jaxpr.consts):
        # A call that was inlined twice brings its constants twice.
        jaxpr = cse(jaxpr)
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    closed = dce(Jaxpr((), (), inputs, jaxpr.eqns, jaxpr.outvars, name))
    return Body(interned(closed), list(jaxpr.consts), out_treedef, numbers)


def is_number(x: Any) -> bool:
    """Whether something is a Python number itself, not the result of an operation."""
    return type(x) in (bool, int, float, complex)


#: Bodies seen lately, by what they are made of. They are closed, so that they hold no array of anybody's.
_seen: OrderedDict[Any, Jaxpr] = OrderedDict()
_MOST_SEEN = 512


def interned(jaxpr: Jaxpr) -> Jaxpr:
    """An equal body that was recorded before, with all that was derived from it; or this one."""
    if any(eqn.primitive.has_rule for eqn in jaxpr.eqns):
        # The rule of a user may hold on to anything.
        return jaxpr
    key = _content(jaxpr)
    known = _seen.pop(key, jaxpr)
    _seen[key] = known
    if len(_seen) > _MOST_SEEN:
        _seen.popitem(last=False)
    return known


def _content(jaxpr: Jaxpr) -> Any:
    numbers: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars)}
    rows = []
    for eqn in jaxpr.eqns:
        inputs = [literal_key(a) if type(a) is Literal else numbers[a] for a in eqn.inputs]
        for v in eqn.outputs:
            numbers[v] = len(numbers)
        rows.append((eqn.primitive, eqn.source, eqn.silent, *inputs))
    outs = [literal_key(a) if type(a) is Literal else numbers[a] for a in jaxpr.outvars]
    return (
        config.optimizes(),
        config.enable_x64,
        jaxpr.name,
        jaxpr.in_avals,
        tuple(rows),
        tuple(outs),
    )


def coerced(operands: Sequence[Any], avals: Sequence[Aval]) -> list[Any]:
    """Operands in exactly the types that a body declares: weak values as strong ones, or the reverse."""
    return [
        v if own == aval or aval.shape != own.shape else convert(v, aval.dtype, aval.weak)
        for v, aval, own in zip(operands, avals, map(aval_of, operands), strict=True)
    ]


def check_operands(name: str, avals: Sequence[Aval], declared: Sequence[Aval]) -> None:
    """Refuse operands of other types than a body declares: the fault of a rule."""
    for i, (aval, wanted) in enumerate(zip(avals, declared, strict=True)):
        if aval != wanted:
            raise JaxprTypeError(f"{name}: operand {i} has type {aval}, its body declares {wanted}")


def has_effects(jaxprs: Sequence[Jaxpr]) -> bool:
    """Whether a body does more than to compute its results."""
    return any(eqn.primitive.effectful for jaxpr in jaxprs for eqn in jaxpr.eqns)


def runner(jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    """The function that computes a body on values."""
    if config.debug_nans:
        # Equation by equation, so that the one that makes a NaN is named.
        return lambda *values: eval_jaxpr(jaxpr, *values)
    return compiled(jaxpr).run


def fresh(results: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Results that share no memory with operands: what a body passes through is copied."""
    owners = {id(_owner(v)) for v in operands if type(v) is np.ndarray}
    return [r.copy() if type(r) is np.ndarray and id(_owner(r)) in owners else r for r in results]


def _owner(array: Any) -> Any:
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


# ---- what depends on what ----------------------------------------------------------------------


def dependent_outputs(jaxpr: Jaxpr, flags: Flags, differentiable: bool) -> Flags:
    """Which results depend on the flagged inputs, or have a derivative towards them."""
    key = ("dependent", flags, differentiable)
    known = jaxpr.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    flagged: set[Any] = {v for v, flag in zip(jaxpr.invars, flags, strict=True) if flag}
    for eqn in jaxpr.eqns:
        inputs = tuple([a in flagged for a in eqn.inputs])
        if not any(inputs) or (differentiable and not eqn.primitive.differentiable):
            continue
        rule = getattr(eqn.primitive, "dependent_outputs", None)
        outputs = (True,) * len(eqn.outputs) if rule is None else rule(inputs, differentiable)
        flagged.update(
            v
            for v, flag in zip(eqn.outputs, outputs, strict=True)
            if flag and (not differentiable or is_inexact(v.aval.dtype))
        )
    answer = tuple([a in flagged for a in jaxpr.outvars])
    jaxpr.derived[key] = answer
    return answer


def carry_fixpoint(
    body: Jaxpr, consts: int, carries: int, flags: Flags, differentiable: bool
) -> Flags:
    """The carries that are flagged at some step, when the flagged inputs are to begin with."""
    carry = flags[consts : consts + carries]
    while True:
        inputs = (*flags[:consts], *carry, *flags[consts + carries :])
        outputs = dependent_outputs(body, inputs, differentiable)[:carries]
        grown = tuple([a or b for a, b in zip(carry, outputs, strict=True)])
        if grown == carry:
            return carry
        carry = grown


# ---- programs changed ----------------------------------------------------------------------------


class Hoisted(NamedTuple):
    """A body of a loop without the work that is the same at every step."""

    before: Jaxpr
    """From the constants to further constants."""
    body: Jaxpr
    """From constants, further constants and the rest."""
    used: Flags
    """Which inputs of the body something reads, the carries always."""


def hoisted(body: Jaxpr, consts: int, carries: int) -> Hoisted:
    """Take out of a body what depends on its constants alone."""
    key = ("hoisted", consts, carries)
    known = body.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    invariant: set[Any] = {*body.invars[:consts], *body.constvars}
    before: list[Eqn] = []
    rest: list[Eqn] = []
    for eqn in body.eqns:
        variables = [a for a in eqn.inputs if type(a) is Var]
        if variables and invariant.issuperset(variables) and not eqn.primitive.effectful:
            before.append(eqn)
            invariant.update(eqn.outputs)
        else:
            rest.append(eqn)
    made = {v for eqn in before for v in eqn.outputs}
    read = dict.fromkeys(a for eqn in rest for a in eqn.inputs if a in made)
    read.update(dict.fromkeys(a for a in body.outvars if a in made))
    extra = [a for a in read if type(a) is Var]
    outer = Jaxpr(body.constvars, body.consts, body.invars[:consts], before, extra, body.name)
    inputs = [*body.invars[:consts], *extra, *body.invars[consts:]]
    inner = dce(Jaxpr(body.constvars, body.consts, inputs, rest, body.outvars, body.name))
    used = list(used_inputs(inner))
    start = consts + len(extra)
    used[start : start + carries] = [True] * carries
    answer = Hoisted(checked(dce(outer)), checked(with_inputs(inner, used)), tuple(used))
    body.derived[key] = answer
    return answer


def narrowed(jaxpr: Jaxpr, keep: Flags) -> tuple[Jaxpr, Flags]:
    """The program of some results only, and the inputs that these need; it still takes all inputs."""
    key = ("narrowed", keep)
    known = jaxpr.derived.get(key)
    if known is None:
        program = jaxpr if all(keep) else dce(jaxpr, keep)
        known = jaxpr.derived[key] = program, used_inputs(program)
    return known


def with_inputs(jaxpr: Jaxpr, keep: Sequence[bool]) -> Jaxpr:
    """The program without inputs that nothing reads."""
    if all(keep):
        return jaxpr
    key = ("inputs", tuple(keep))
    known = jaxpr.derived.get(key)
    if known is None:
        invars = chosen(jaxpr.invars, keep)
        known = jaxpr.derived[key] = Jaxpr(
            jaxpr.constvars, jaxpr.consts, invars, jaxpr.eqns, jaxpr.outvars, jaxpr.name
        )
    return known


def with_output_types(jaxpr: Jaxpr, avals: Sequence[Aval]) -> Jaxpr:
    """The program with its results converted to the types given, which differ in dtype or weakness."""
    if jaxpr.out_avals == tuple(avals):
        return jaxpr
    eqns = list(jaxpr.eqns)
    outvars: list[Any] = []
    for atom, aval in zip(jaxpr.outvars, avals, strict=True):
        if atom.aval == aval:
            outvars.append(atom)
        elif type(atom) is Literal:
            outvars.append(Literal(Convert(aval.dtype, aval.weak)(atom.value)))
        else:
            var = Var(aval)
            eqns.append(Eqn(Convert(aval.dtype, aval.weak), (atom,), (var,)))
            outvars.append(var)
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, outvars, jaxpr.name)


def forgiving_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The program with indices clipped where it would raise: for lanes whose results are not used."""
    known = jaxpr.derived.get("forgiving")
    if known is None:
        eqns = [eqn._replace(primitive=_forgiving(eqn.primitive)) for eqn in jaxpr.eqns]
        known = jaxpr.derived["forgiving"] = Jaxpr(
            jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name
        )
    return known


def _forgiving(primitive: Any) -> Any:
    bodies = sub_jaxprs(primitive)
    if bodies and hasattr(primitive, "with_jaxprs"):
        return primitive.with_jaxprs([forgiving_jaxpr(body) for body in bodies])
    if bodies and primitive.has_rule:
        return dataclasses.replace(primitive, jaxpr=forgiving_jaxpr(primitive.jaxpr))
    return forgiving(primitive)


def strengthened(jaxpr: Jaxpr, mapped: Flags) -> Jaxpr:
    """The program where weak values that a batch makes strong are converted to what they meet.

    A Python number of several examples is an array, which would promote what a number does not.
    """
    batches: set[Any] = {v for v, is_mapped in zip(jaxpr.invars, mapped, strict=True) if is_mapped}
    eqns: list[Eqn] = []
    changed = False
    for eqn in jaxpr.eqns:
        touched = [a in batches for a in eqn.inputs]
        if any(touched):
            batches.update(eqn.outputs)
            avals = [a.aval for a in eqn.inputs]
            weak = [t and a.weak for t, a in zip(touched, avals, strict=True)]
            if (
                any(weak)
                and isinstance(eqn.primitive, Elementwise)
                and not all(a.weak for a in avals)
            ):
                eqn = eqn._replace(inputs=_converted_inputs(eqn, weak, avals, eqns))
                changed = True
        eqns.append(eqn)
    if not changed:
        return jaxpr
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name)


def _converted_inputs(
    eqn: Eqn, touched: Sequence[bool], avals: Sequence[Aval], eqns: list[Eqn]
) -> tuple[Any, ...]:
    dtype = common_dtype(avals)
    inputs: list[Any] = []
    for atom, is_touched in zip(eqn.inputs, touched, strict=True):
        if is_touched:
            var = Var(Aval((), dtype))
            eqns.append(Eqn(Convert(dtype), (atom,), (var,), eqn.source, eqn.silent))
            atom = var
        inputs.append(atom)
    return tuple(inputs)


def batched_body(
    jaxpr: Jaxpr, size: int, mapped: Flags, forced: Flags, lanes_unused: bool = False
) -> tuple[Jaxpr, Flags]:
    """The program over batches of the mapped inputs, and which of its results are mapped.

    The results in `forced` are mapped in any case. Where some lanes are not used, they neither raise nor
    warn.
    """
    key = ("batched", size, mapped, forced, lanes_unused)
    known = jaxpr.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    program = strengthened(forgiving_jaxpr(jaxpr) if lanes_unused else jaxpr, mapped)
    out_mapped: Flags = ()

    def run(*flat: Any) -> list[Any]:
        nonlocal out_mapped
        with BatchTrace(jaxpr.name, size) as trace:
            inputs = trace.examples(flat, mapped, program.in_avals)
            pairs = [trace.split(x) for x in eval_jaxpr(program, *inputs)]
        out_mapped = tuple([m or f for (_, m), f in zip(pairs, forced, strict=True)])
        values = [
            spread(v, size) if f and not m else v for (v, m), f in zip(pairs, forced, strict=True)
        ]
        return [
            convert(v, a.dtype) if m else v
            for v, m, a in zip(values, out_mapped, jaxpr.out_avals, strict=True)
        ]

    def silently(*flat: Any) -> list[Any]:
        with derivative_rules():
            return run(*flat)

    avals = [
        Aval((size, *aval.shape), aval.dtype) if m else aval
        for aval, m in zip(jaxpr.in_avals, mapped, strict=True)
    ]
    derived = record(silently if lanes_unused else run, avals, jaxpr.name, "vmap")
    jaxpr.derived[key] = derived, out_mapped
    return derived, out_mapped


# ---- flags and lists -----------------------------------------------------------------------------


def chosen(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The values whose flags are set."""
    return [v for v, flag in zip(values, flags, strict=True) if flag]


def scattered(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The reverse of `chosen`: None where the flag is not set."""
    rest = iter(values)
    return [next(rest) if flag else None for flag in flags]


def or_zeros(directions: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """Directions with zeros in the place of None, of the types given."""
    return [
        zeros_of(aval_of(a)) if d is None else d for d, a in zip(directions, avals, strict=True)
    ]
