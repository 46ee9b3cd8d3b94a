"""Where a program must look for NaN so that its absorbing products may run unguarded.

A product of a zero cotangent and an infinite slope, left unguarded, is NaN. So each product is looked
at, or better some small value in which its NaN would show. Where a NaN is found, the program runs again
with guards.
"""

from __future__ import annotations

from typing import Any

from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, sub_jaxprs
from fgrad.primitives.families import Bilinear, Elementwise, Linear, absorbing_product

_HARMLESS = (Elementwise, Linear, Bilinear)


def place_guards(jaxpr: Jaxpr) -> frozenset[Var] | None:
    """The variables to look at once they are computed; None for a program without absorbing products."""
    if not _has_products(jaxpr):
        return None
    guards, _ = _placed(jaxpr)
    return guards


def place_guards_in_loop(body: Jaxpr, consts: int, carries: int) -> frozenset[Var] | None:
    """The variables of a body to look at in each step: a NaN of the others shows in results of the loop."""
    return _in_loop(body, consts, carries)[0] if _has_products(body) else None


def results_to_look_at(body: Jaxpr, consts: int, carries: int) -> tuple[bool, ...] | None:
    """The results of a loop in which a NaN of its products shows, so that no step looks for it."""
    return _in_loop(body, consts, carries)[1] if _has_products(body) else None


def _has_products(jaxpr: Jaxpr) -> bool:
    known = jaxpr.derived.get("has products")
    if known is None:
        known = jaxpr.derived["has products"] = any(
            eqn.primitive is absorbing_product or any(map(_has_products, sub_jaxprs(eqn.primitive)))
            for eqn in jaxpr.eqns
        )
    return known


def _suspects(eqn: Eqn) -> tuple[Var, ...]:
    """What may hold the NaN of a product that nobody has looked at."""
    if eqn.primitive is absorbing_product:
        return eqn.outputs
    rule = getattr(eqn.primitive, "results_to_look_at", None)
    flags = None if rule is None else rule()
    return () if flags is None else tuple([v for v, f in zip(eqn.outputs, flags, strict=True) if f])


def _exposed(jaxpr: Jaxpr, given: set[Any]) -> set[Any]:
    """What a NaN would lead astray, or reaches the results given: it must be looked at at once."""
    exposed: set[Any] = set(given)
    for eqn in reversed(jaxpr.eqns):
        harmless = isinstance(eqn.primitive, _HARMLESS) or eqn.primitive.keeps_nan
        if not harmless or not exposed.isdisjoint(eqn.outputs):
            exposed.update([a for a in eqn.inputs if type(a) is not Literal])
    return exposed


def _placed(jaxpr: Jaxpr, given: set[Any] = frozenset()) -> tuple[frozenset[Var], set[Any]]:  # type: ignore[assignment]
    suspects = [v for eqn in jaxpr.eqns for v in _suspects(eqn)]
    #: The smallest value in which a NaN of a variable would show.
    shown: dict[Any, Var] = {}
    exposed = _exposed(jaxpr, given)
    for eqn in reversed(jaxpr.eqns):
        if _keeps_nan(eqn):
            (out,) = eqn.outputs
            smallest = shown.get(out, out)
            for var in eqn.inputs:
                if type(var) is Var and smallest.aval.size <= shown.get(var, var).aval.size:
                    shown[var] = smallest
    return frozenset(v if v in exposed else shown.get(v, v) for v in suspects), exposed


def _in_loop(body: Jaxpr, consts: int, carries: int) -> tuple[frozenset[Var], tuple[bool, ...]]:
    key = ("guards in loop", consts, carries)
    known = body.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    results = body.outvars
    carry = dict(zip(body.invars[consts : consts + carries], results, strict=False))
    given: set[Any] = set()
    while True:
        # What a step hands on may lead the next one astray.
        guards, exposed = _placed(body, given)
        grown = {out for var, out in carry.items() if var in exposed and type(out) is Var}
        if grown <= given:
            break
        given |= grown
    reaching = {
        index: _reaching(body, out)
        for index, out in enumerate(results)
        if type(out) is Var and out.aval.dtype.kind == "f" and out.aval.size > 0
    }
    for index, var in enumerate(carry):
        # A later step must not lose the NaN of an earlier one.
        if var not in reaching.get(index, ()):
            reaching.pop(index, None)
    # The smallest results first; of those of all steps, the carry at the end is smaller.
    order = sorted(reaching, key=lambda i: (i >= carries, results[i].aval.size))
    looked = [False] * len(results)
    inside = []
    for var in guards:
        showing = [i for i in order if var in reaching[i]]
        if showing and var not in exposed:
            looked[showing[0]] = True
        else:
            inside.append(var)
    answer = frozenset(inside), tuple(looked)
    body.derived[key] = answer
    return answer


def _reaching(jaxpr: Jaxpr, result: Var) -> set[Any]:
    """The variables whose NaN shows in a result."""
    found: set[Any] = {result}
    for eqn in reversed(jaxpr.eqns):
        if eqn.outputs and eqn.outputs[0] in found and _keeps_nan(eqn):
            found.update([a for a in eqn.inputs if type(a) is Var])
    return found


def _keeps_nan(eqn: Eqn) -> bool:
    """Whether a NaN anywhere in an operand shows in the result."""
    if len(eqn.outputs) != 1:
        return False
    aval = eqn.outputs[0].aval
    kept = eqn.primitive is absorbing_product or eqn.primitive.keeps_nan
    return kept and aval.dtype.kind == "f" and aval.size > 0
