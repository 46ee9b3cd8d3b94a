"""Batching by running example after example, for what has effects: in order, and for whom it happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.avals import Aval, aval_of
from fgrad.ir.jaxpr import Jaxpr
from fgrad.primitives.families import zeros_of
from fgrad.tracing import Primitive, hoist_constants, record
from fgrad.transforms.scan import bind_scan


def lane_by_lane(
    primitive: Primitive, size: int, args: Sequence[Any], mapped: Sequence[bool]
) -> list[Any]:
    """Apply a primitive to one example after the other; the results lie along a leading axis."""
    shared = [arg for arg, m in zip(args, mapped, strict=True) if not m]
    rows = [arg for arg, m in zip(args, mapped, strict=True) if m]
    avals = [
        Aval(own.shape[1:], own.dtype) if m else own
        for own, m in zip(map(aval_of, args), mapped, strict=True)
    ]
    if not size:
        return [
            zeros_of(Aval((0, *aval.shape), aval.dtype)) for aval in primitive.abstract_eval(*avals)
        ]
    body = _one_lane(primitive, avals, mapped)
    return bind_scan(body, shared, [], rows, size, False)


def _one_lane(primitive: Primitive, avals: Sequence[Aval], mapped: Sequence[bool]) -> Jaxpr:
    """The application to one example, which takes what all share first."""
    places = sorted(range(len(avals)), key=lambda i: mapped[i])

    def run(*values: Any) -> list[Any]:
        operands: list[Any] = [None] * len(values)
        for place, given in zip(places, values, strict=True):
            operands[place] = given
        return primitive(*operands)  # type: ignore[no-any-return]

    jaxpr, captured = hoist_constants(record(run, [avals[i] for i in places], primitive.name))
    assert not captured
    return jaxpr
