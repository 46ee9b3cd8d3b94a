"""Programs as libraries on JAX run them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad.array import value, wrap
from fgrad.errors import ArgumentError
from fgrad.ir.jaxpr import Jaxpr
from fgrad.ir.jaxpr import eval_jaxpr as _eval_jaxpr

__all__ = ["eval_jaxpr", "jaxpr_as_fun"]


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, **options: Any) -> list[Any]:
    """Run a program with constants in place of its own.

    Raises
    ------
    ArgumentError
        If there are fewer or more constants than the program has.
    """
    if len(consts) != len(jaxpr.constvars):
        raise ArgumentError(
            f"eval_jaxpr: {len(consts)} constants for a program with {len(jaxpr.constvars)}; give jaxpr.consts"
        )
    own = Jaxpr(
        jaxpr.constvars,
        [value(c) for c in consts],
        jaxpr.invars,
        jaxpr.eqns,
        jaxpr.outvars,
        jaxpr.name,
    )
    return [wrap(out) for out in _eval_jaxpr(own, *map(value, args))]


def jaxpr_as_fun(jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    """The function that runs a program."""
    return lambda *args: [wrap(out) for out in _eval_jaxpr(jaxpr, *map(value, args))]
