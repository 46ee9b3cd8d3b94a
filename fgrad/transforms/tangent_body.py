"""The body of a loop over primals and their tangents."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from fgrad.avals import Aval
from fgrad.ir.jaxpr import Jaxpr, derivative_rules, eval_jaxpr
from fgrad.primitives.families import match_aval, zeros_of
from fgrad.tracing import record
from fgrad.transforms.bodies import Flags, chosen, scattered
from fgrad.transforms.jvp import JVPTrace


def given_of(directions: Sequence[Any]) -> list[Any]:
    """The directions that are not symbolic zeros."""
    return [d for d in directions if d is not None]


def tangent_body(body: Jaxpr, consts: int, carries: int, flags: Flags) -> tuple[Jaxpr, Flags]:
    """The body of a loop over primals and tangents, and which rows of results have a tangent."""
    key = ("loop jvp", consts, carries, flags)
    known = body.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    stop = consts + carries
    parts = (slice(0, consts), slice(consts, stop), slice(stop, None))
    avals = [body.in_avals[part] for part in parts]
    groups = [flags[part] for part in parts]
    nonzero: Flags = ()

    def run(*flat: Any) -> list[Any]:
        nonlocal nonzero
        values = iter(flat)
        inputs: list[Any] = []
        with JVPTrace(body.name) as trace:
            for group, of in zip(avals, groups, strict=True):
                primals = list(itertools.islice(values, len(group)))
                directions = scattered(list(itertools.islice(values, sum(of))), of)
                inputs.extend(
                    p if t is None else trace.pair(p, t)
                    for p, t in zip(primals, directions, strict=True)
                )
            pairs = [trace.split(x) for x in eval_jaxpr(body, *inputs)]
        answers, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        nonzero = tuple([t is not None for t in tangents[carries:]])
        carried = matched(tangents[:carries], groups[1], avals[1])
        return [*answers[:carries], *carried, *answers[carries:], *given_of(tangents[carries:])]

    inputs = [a for g, of in zip(avals, groups, strict=True) for a in (*g, *chosen(g, of))]
    derived = record(run, inputs, body.name, "jvp")
    body.derived[key] = derived, nonzero
    return derived, nonzero


def matched(directions: Sequence[Any], flags: Sequence[bool], avals: Sequence[Aval]) -> list[Any]:
    """The flagged directions, zeros where they are None, of exactly the types of a carry."""
    with derivative_rules():
        return [
            zeros_of(aval) if d is None else match_aval(d, aval)
            for d, flag, aval in zip(directions, flags, avals, strict=True)
            if flag
        ]
