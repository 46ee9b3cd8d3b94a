"""Forward mode: tangents are pushed through each primitive as it is applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.config import config
from fgrad.dtypes import float0, is_inexact
from fgrad.errors import JaxprTypeError, TangentError
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.primitives.families import zeros_of
from fgrad.source_info import boundary, function_name, function_text
from fgrad.tracing import (
    Primitive,
    Recording,
    Trace,
    Tracer,
    hoist_constants,
    open_body,
    record,
)
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    direction_values,
    leaf_values,
    output_values,
    split_aux,
    untraced,
)
from fgrad.transforms.tape import Tape


class JVPTracer(Tracer):
    """A primal value with its tangent."""

    __slots__ = ("_value", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self._value = primal
        self.tangent = tangent

    @property
    def aval(self) -> Aval:  # type: ignore[override]
        return aval_of(self._value)

    def _known(self) -> Any:
        return self._value


class JVPTrace(Trace):
    """Applies each primitive to primals and its jvp rule to tangents; nothing is kept."""

    __slots__ = ()

    def __init__(self, name: str, transform: str = "jvp", function: Any = None) -> None:
        super().__init__(name, transform, function)

    def process(self, primitive: Primitive, args: Sequence[Any]) -> Any:
        self.check_alive(primitive, args)
        primals, tangents = [], []
        for arg in args:
            if type(arg) is JVPTracer and arg._trace is self:
                primals.append(arg._value)
                tangents.append(arg.tangent)
            else:
                primals.append(arg)
                tangents.append(None)
        if not primitive.differentiable:
            return primitive(*primals)
        answer, tangent = primitive.push(primals, tangents)
        if primitive.multiple_results:
            return [self.pair(a, t) for a, t in zip(answer, tangent, strict=True)]
        return self.pair(answer, tangent)

    def pair(self, primal: Any, tangent: Any) -> Any:
        """The primal with its tangent; without a derivative it is a plain value of the level below."""
        if tangent is None or not is_inexact(aval_of(primal).dtype):
            return primal
        if config.check_jaxprs and not aval_of(tangent).fits(aval_of(primal)):
            raise JaxprTypeError(
                f"a tangent of type {aval_of(tangent)} for a primal of type {aval_of(primal)}"
            )
        return JVPTracer(self, primal, tangent)

    def untrace(self, x: Any) -> Any:
        return wrap(x._value) if type(x) is JVPTracer and x._trace is self else x

    def split(self, x: Any) -> tuple[Any, Any]:
        """Primal and tangent of an output."""
        if type(x) is JVPTracer and x._trace is self:
            return x._value, x.tangent
        return x, None


def instantiate(tangent: Any, primal: Any) -> Any:
    """A tangent or cotangent as users see it: symbolic zeros as arrays, float0 for integers."""
    aval = aval_of(primal)
    if not is_inexact(aval.dtype):
        return np.zeros(aval.shape, float0)
    return zeros_of(aval) if tangent is None else tangent


@boundary
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """Evaluate `f` and its directional derivative.

    Parameters
    ----------
    f : callable
        A function of arrays, or of trees of arrays.
    primals : tuple or list
        The arguments at which to differentiate.
    tangents : tuple or list
        A direction: trees like `primals`, of the same shapes and dtypes. The tangent of an integer
        array is an array of dtype ``fgrad.dtypes.float0``.
    has_aux : bool
        Whether `f` returns a pair of a result and auxiliary data, which is not differentiated.

    Returns
    -------
    primals_out, tangents_out
        The value of `f` and its derivative along `tangents`; with `has_aux`, the auxiliary data third.

    Raises
    ------
    TangentError
        If tangents do not match primals in structure, shape or dtype.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> y, dy = fgrad.jvp(fnp.sin, (0.0,), (2.0,))
    >>> float(dy)
    2.0
    """
    check_callable(f, "jvp")
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TangentError(
                f"jvp of {function_text(f)}: {name} is a {type(given).__name__}; give a tuple with one entry "
                "per argument"
            )
    leaves, treedef = _tree.flatten(tuple(primals))
    values = leaf_values(leaves, "jvp", f, primals)
    inner = direction_values(
        tuple(tangents),
        treedef,
        [aval_of(v) for v in values],
        "tangent",
        "primal",
        "jvp",
        f,
        lambda: argument_leaf_names(f, primals),
    )
    with JVPTrace(function_name(f), "jvp", f) as trace:
        tracers = [trace.pair(p, t) for p, t in zip(values, inner, strict=True)]
        result = f(*_tree.unflatten(treedef, [wrap(t) for t in tracers]))
        aux = None
        if has_aux:
            result, aux = split_aux(f, result, "jvp")
        out_leaves, out_treedef = _tree.flatten(result)
        pairs = [trace.split(x) for x in output_values(out_leaves, "jvp", f, result)]
    out_primals = _tree.unflatten(out_treedef, [wrap(p) for p, _ in pairs])
    out_tangents = _tree.unflatten(out_treedef, [wrap(instantiate(t, p)) for p, t in pairs])
    if has_aux:
        return out_primals, out_tangents, untraced(trace, aux)
    return out_primals, out_tangents


def jvp_jaxpr(jaxpr: Jaxpr, nonzero: tuple[bool, ...]) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The program that maps primals and the nonzero tangents to results and their nonzero tangents."""
    key = ("jvp", nonzero)
    known = jaxpr.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    count = len(jaxpr.invars)
    out_nonzero: tuple[bool, ...] = ()

    def run(*flat: Any) -> list[Any]:
        nonlocal out_nonzero
        directions = iter(flat[count:])
        with JVPTrace(jaxpr.name) as trace:
            inputs = [
                trace.pair(p, next(directions)) if nz else p
                for p, nz in zip(flat[:count], nonzero, strict=True)
            ]
            pairs = [trace.split(x) for x in eval_jaxpr(jaxpr, *inputs)]
        out_nonzero = tuple(t is not None for _, t in pairs)
        return [p for p, _ in pairs] + [t for _, t in pairs if t is not None]

    avals = [*jaxpr.in_avals, *(a for a, nz in zip(jaxpr.in_avals, nonzero, strict=True) if nz)]
    derived = record(run, avals, jaxpr.name, "jvp")
    jaxpr.derived[key] = derived, out_nonzero
    return derived, out_nonzero


class LinearForm(NamedTuple):
    """The jvp of a jaxpr in two programs: one of primals alone, one linear in the tangents."""

    forward: Jaxpr
    """From primals to results, followed by residuals."""
    linear: Jaxpr
    """From residuals and nonzero tangents to the nonzero tangents of the results."""
    nonzero: tuple[bool, ...]


def linear_form(jaxpr: Jaxpr, nonzero: tuple[bool, ...]) -> LinearForm:
    """Split the jvp of a jaxpr where tangents are unknown although primals are known.

    Primals are recorded into one body and tangents into a second one, above it; what the second
    captures of the first are the residuals.
    """
    key = ("linear", nonzero)
    known = jaxpr.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    name = jaxpr.name
    with Recording(name, "linearize") as body, Tape(name, "linearize") as tape:
        with open_body(body):
            primals = [body.new_input(aval) for aval in jaxpr.in_avals]
            with JVPTrace(name) as trace:
                inputs = [
                    trace.pair(p, tape.new_input(p.aval)) if nz else p
                    for p, nz in zip(primals, nonzero, strict=True)
                ]
                pairs = [trace.split(x) for x in eval_jaxpr(jaxpr, *inputs)]
        linear, residuals = hoist_constants(tape.jaxpr([t for _, t in pairs if t is not None]))
        forward = body.jaxpr([*[p for p, _ in pairs], *residuals])
    out_nonzero = tuple(t is not None for _, t in pairs)
    form = LinearForm(checked(forward), checked(linear), out_nonzero)
    jaxpr.derived[key] = form
    return form
