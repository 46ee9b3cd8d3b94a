"""What a minimisation returns, and when it has ended well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fgrad import numpy as fnp
from fgrad.errors import ArgumentError

#: From a point to the function and its gradient there.
Evaluate = Callable[[Any], tuple[Any, Any]]


class OptimizeResults(NamedTuple):
    """What `minimize` returns; `status` is 0 for success, 1 for too many steps, 3 for a failed search."""

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def with_defaults(given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The options of a method, of which the user gave some."""
    if unknown := sorted(set(given) - set(defaults)):
        raise ArgumentError(
            f"minimize: unknown options {', '.join(unknown)}; there are {', '.join(defaults)}"
        )
    return {**defaults, **given}


def is_flat(gradient: Any, order: Any, limit: Any) -> Any:
    """Whether a gradient counts as zero."""
    return fnp.linalg.norm(gradient, ord=order) <= limit
