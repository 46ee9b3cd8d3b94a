"""Passes over jaxprs: inlining, dead code, common subexpressions. Each is linear and keeps types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.errors import CallbackError
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, sub_jaxprs
from fgrad.source_info import source_text


def dce(jaxpr: Jaxpr, keep: Sequence[bool] | None = None) -> Jaxpr:
    """Drop equations, and constants, that no output reads; `keep` selects the outputs to keep."""
    outvars = jaxpr.outvars
    if keep is not None:
        outvars = tuple(v for v, kept in zip(outvars, keep, strict=True) if kept)
    live = {v for v in outvars if type(v) is Var}
    eqns: list[Eqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in live for v in eqn.outputs]
        if eqn.primitive.effectful or any(used):
            if not all(used):
                eqn = _pruned(eqn, used)
            eqns.append(eqn)
            live.update(a for a in eqn.inputs if type(a) is Var)
    eqns.reverse()
    kept_consts = [(v, c) for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True) if v in live]
    return Jaxpr(
        [v for v, _ in kept_consts],
        [c for _, c in kept_consts],
        jaxpr.invars,
        eqns,
        outvars,
        jaxpr.name,
    )


def _pruned(eqn: Eqn, used: Sequence[bool]) -> Eqn:
    """The application without results that nothing reads, where its primitive can leave them out."""
    smaller = eqn.primitive.pruned(tuple(used))
    if smaller is None:
        return eqn
    primitive, inputs, outputs = smaller
    return eqn._replace(
        primitive=primitive,
        inputs=tuple([a for a, kept in zip(eqn.inputs, inputs, strict=True) if kept]),
        outputs=tuple([v for v, kept in zip(eqn.outputs, outputs, strict=True) if kept]),
    )


def without_effects(jaxpr: Jaxpr) -> Jaxpr:
    """The program for a second run, which repeats no effect.

    Raises
    ------
    CallbackError
        If the result of an effect is needed: it cannot be had again.
    """
    eqns = pure_equations(jaxpr.eqns)
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.name)


def pure_equations(eqns: Sequence[Eqn]) -> list[Eqn]:
    """Equations without the effects among them."""
    pure: list[Eqn] = []
    for eqn in eqns:
        primitive = eqn.primitive
        if not primitive.effectful:
            pure.append(eqn)
        elif sub_jaxprs(primitive):
            bodies = [without_effects(body) for body in sub_jaxprs(primitive)]
            pure.append(eqn._replace(primitive=primitive.with_jaxprs(bodies)))
        elif eqn.outputs:
            raise CallbackError(
                f"{primitive.name} at {source_text(eqn.source)}: it is in a function under checkpoint, which runs "
                "again in the backward pass; move the call out of that function"
            )
    return pure


def used_inputs(jaxpr: Jaxpr) -> tuple[bool, ...]:
    """Which inputs some equation or output reads."""
    read: set[Any] = {v for v in jaxpr.outvars if type(v) is Var}
    for eqn in jaxpr.eqns:
        read.update(eqn.inputs)
    return tuple(v in read for v in jaxpr.invars)


def dependent_results(jaxpr: Jaxpr, flags: Sequence[bool]) -> list[bool]:
    """Which results depend on the flagged inputs; calls are looked into."""
    flagged: set[Any] = {v for v, flag in zip(jaxpr.invars, flags, strict=True) if flag}
    for eqn in jaxpr.eqns:
        inputs = [a in flagged for a in eqn.inputs]
        if any(inputs):
            body = eqn.primitive.inlinable
            outputs = [True] * len(eqn.outputs) if body is None else dependent_results(body, inputs)
            flagged.update(v for v, flag in zip(eqn.outputs, outputs, strict=True) if flag)
    return [a in flagged for a in jaxpr.outvars]


def inline_calls(jaxpr: Jaxpr, checkpoints: bool = False, rules: bool = True) -> Jaxpr:
    """Replace every equation whose primitive is a call by its body, at every depth.

    Calls that recompute in reverse mode stay as they are, unless `checkpoints` says otherwise. Calls with
    rules of their own stay if `rules` is false: what is yet to be transformed needs them.
    """
    if not checkpoints and all(eqn.primitive.inlinable is None for eqn in jaxpr.eqns):
        return jaxpr
    constvars, consts = list(jaxpr.constvars), list(jaxpr.consts)
    eqns: list[Eqn] = []
    substitution: dict[Var, Atom] = {}

    def splice(body: Jaxpr, substitution: dict[Var, Atom], fresh: bool) -> None:
        def atom(a: Atom) -> Atom:
            return a if type(a) is Literal else substitution.get(a, a)  # type: ignore[arg-type]

        for eqn in body.eqns:
            inputs = tuple(atom(a) for a in eqn.inputs)
            called = eqn.primitive
            inner = getattr(called, "jaxpr", None) if checkpoints else called.inlinable
            if inner is not None and (rules or not called.has_rule):
                scope: dict[Var, Atom] = dict(zip(inner.invars, inputs, strict=True))
                for var, const in zip(inner.constvars, inner.consts, strict=True):
                    copy = Var(var.aval)
                    constvars.append(copy)
                    consts.append(const)
                    scope[var] = copy
                splice(inner, scope, True)
                for var, out in zip(eqn.outputs, inner.outvars, strict=True):
                    substitution[var] = inside = (
                        out if type(out) is Literal else scope.get(out, out)
                    )
                    if type(inside) is Var and inside.name is None:
                        inside.name = var.name
                continue
            outputs = eqn.outputs
            if fresh:
                # The same body may be called twice: each copy binds variables of its own.
                outputs = tuple(Var(v.aval, v.name) for v in eqn.outputs)
                substitution.update(zip(eqn.outputs, outputs, strict=True))
            eqns.append(Eqn(eqn.primitive, inputs, outputs, eqn.source, eqn.silent))

    splice(jaxpr, substitution, False)
    outvars = [a if type(a) is Literal else substitution.get(a, a) for a in jaxpr.outvars]  # type: ignore[arg-type]
    return Jaxpr(constvars, consts, jaxpr.invars, eqns, outvars, jaxpr.name)


def cse(jaxpr: Jaxpr) -> Jaxpr:
    """Compute equal applications of equal primitives once, and keep one copy of each constant."""
    substitution: dict[Var, Var] = {}
    known: dict[Any, tuple[Var, ...]] = {}
    constvars: list[Var] = []
    consts: list[Any] = []
    by_id: dict[int, Var] = {}
    for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        if id(const) in by_id:
            substitution[var] = by_id[id(const)]
        else:
            by_id[id(const)] = var
            constvars.append(var)
            consts.append(const)
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        inputs = tuple(
            [a if type(a) is Literal else substitution.get(a, a) for a in eqn.inputs]  # type: ignore[arg-type]
        )
        if eqn.primitive.effectful:
            eqns.append(Eqn(eqn.primitive, inputs, eqn.outputs, eqn.source, eqn.silent))
            continue
        key = (eqn.primitive, *(literal_key(a) if type(a) is Literal else a for a in inputs))
        earlier = known.setdefault(key, eqn.outputs)
        if earlier is eqn.outputs:
            eqns.append(eqn if inputs == eqn.inputs else eqn._replace(inputs=inputs))
        else:
            substitution.update(zip(eqn.outputs, earlier, strict=True))
    outvars = [a if type(a) is Literal else substitution.get(a, a) for a in jaxpr.outvars]  # type: ignore[arg-type]
    return Jaxpr(constvars, consts, jaxpr.invars, eqns, outvars, jaxpr.name)


def literal_key(literal: Literal) -> tuple[Any, ...]:
    """What two literals share exactly if they stand for the same value."""
    # The text or the bytes tell 0.0 from -0.0.
    value = literal.value
    exact = value.tobytes() if isinstance(value, np.generic) else repr(value)
    return type(value), exact
