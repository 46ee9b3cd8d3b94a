"""What reverse mode keeps of the forward pass of a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fgrad.avals import Aval
from fgrad.dtypes import is_inexact
from fgrad.ir.jaxpr import Literal
from fgrad.source_info import boundary, source_text
from fgrad.tracing import hoist_constants
from fgrad.transforms._arguments import argument_leaf_names, check_callable
from fgrad.transforms.make_jaxpr import trace_to_jaxpr
from fgrad.transforms.vjp import reverse_jaxpr


class Residual(NamedTuple):
    """A value that is kept: its type, and where it comes from."""

    aval: Aval
    origin: str


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Residual]:
    """The values that the backward pass of a function reads, at arguments of these types."""
    check_callable(f, "print_saved_residuals")
    jaxpr, _ = trace_to_jaxpr(f, args, kwargs, "print_saved_residuals")
    closed, captured = hoist_constants(jaxpr)
    names = ["a captured traced value"] * len(captured)
    names += [f"the argument {name}" for name in argument_leaf_names(f, args, kwargs)]
    needs = tuple([is_inexact(aval.dtype) for aval in closed.in_avals])
    reverse = reverse_jaxpr(closed, needs)
    found = [
        Residual(closed.in_avals[i], f"from {names[i]}")
        for i in reverse.passed
        if _is_read(reverse, i)
    ]
    makers = {var: eqn for eqn in reverse.forward.eqns for var in eqn.outputs}
    for kept in reverse.forward.outvars[len(closed.outvars) :]:
        eqn = None if isinstance(kept, Literal) else makers.get(kept)
        if eqn is None:
            found.append(Residual(kept.aval, "from a constant"))
        else:
            place = source_text(eqn.source)
            found.append(Residual(kept.aval, f"output of {eqn.primitive.called} at {place}"))
    constants = [c for c in reverse.full.consts if isinstance(c, np.ndarray) and c.ndim]
    return found + [Residual(Aval(c.shape, c.dtype), "from a constant") for c in constants]


def _is_read(reverse: Any, position: int) -> bool:
    """Whether the backward program reads an argument that was handed to it."""
    var = reverse.full.invars[reverse.passed.index(position)]
    return any(var in eqn.inputs for eqn in reverse.full.eqns) or var in reverse.full.outvars


@boundary
def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what reverse mode would keep of the forward pass of a function, and where each value comes from.

    Parameters
    ----------
    f : callable
        A function of arrays, or of trees of arrays, such as one with `checkpoint` in it.
    *args, **kwargs
        Its arguments: arrays, or `ShapeDtypeStruct`. All floats among them are differentiated.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp, numpy as np
    >>> from fgrad.ad_checkpoint import print_saved_residuals
    >>> print_saved_residuals(lambda w: 2.0 * fnp.sum(w * w), np.ones(3))
    f64[3] from the argument w
    """
    for residual in saved_residuals(f, *args, **kwargs):
        sys.stdout.write(f"{residual.aval} {residual.origin}\n")
