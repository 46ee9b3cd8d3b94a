"""Closures as functions of what they close over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import _tree
from fgrad.array import snapshot, wrap
from fgrad.avals import ShapeDtypeStruct, aval_of
from fgrad.dtypes import is_inexact
from fgrad.errors import ArgumentError
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.primitives.families import match_aval
from fgrad.source_info import boundary, function_name, function_text
from fgrad.tracing import Tracer, record
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    leaf_value,
    output_values,
    tree_text,
)


@boundary
def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """Make a closure a function of what it closes over, so that derivatives reach that.

    A function that is an argument of a `custom_vjp` may close over values that are differentiated. Its
    converted form closes over none of them: they are arguments, and may be passed as such.

    Parameters
    ----------
    fun : callable
        A function of arrays, or of trees of arrays. It is recorded: its own branches cannot depend on values.
    *example_args
        Arguments, or `ShapeDtypeStruct`, of the types that the converted function will take.

    Returns
    -------
    converted : callable
        It takes the arguments of `fun`, followed by the values closed over.
    closed_over : list
        The floats and complex numbers that `fun` closes over and that are traced.

    Raises
    ------
    ArgumentError
        By the converted function, for arguments of other types.

    Examples
    --------
    >>> import fgrad
    >>> def loss(w):
    ...     converted, closed_over = fgrad.closure_convert(lambda x: w * x, 1.0)
    ...     return converted(3.0, *closed_over)
    >>> float(fgrad.grad(loss)(2.0))
    3.0
    """
    check_callable(fun, "closure_convert")
    leaves, treedef = _tree.flatten(example_args)
    names = argument_leaf_names(fun, example_args)
    avals = [
        x.aval
        if isinstance(x, ShapeDtypeStruct)
        else aval_of(leaf_value(x, "closure_convert", fun, lambda i=i: names[i]))  # type: ignore[misc]
        for i, x in enumerate(leaves)
    ]
    out_treedef: Any = None

    def flat_fun(*xs: Any) -> list[Any]:
        nonlocal out_treedef
        result = fun(*_tree.unflatten(treedef, list(xs)))
        out_leaves, out_treedef = _tree.flatten(result)
        return output_values(out_leaves, "closure_convert", fun, result)

    jaxpr = record(flat_fun, avals, function_name(fun), "closure_convert", names, fun)
    moves = [isinstance(c, Tracer) and is_inexact(aval_of(c).dtype) for c in jaxpr.consts]
    hoisted = [c for c, moved in zip(jaxpr.consts, moves, strict=True) if moved]
    variables = [v for v, moved in zip(jaxpr.constvars, moves, strict=True) if moved]
    kept = [
        (v, snapshot(c))
        for v, c, moved in zip(jaxpr.constvars, jaxpr.consts, moves, strict=True)
        if not moved
    ]
    program = Jaxpr(
        [v for v, _ in kept],
        [c for _, c in kept],
        [*variables, *jaxpr.invars],
        jaxpr.eqns,
        jaxpr.outvars,
        jaxpr.name,
    )
    count = len(hoisted)
    where = f"closure_convert of {function_text(fun)}"

    # It must not hold `fun`, which holds what is closed over.
    @boundary
    def converted(*args: Any) -> Any:
        split = len(args) - count
        flat, structure = _tree.flatten(args[:split])
        if split < 0 or structure != treedef:
            raise ArgumentError(
                f"{where}: called with arguments of structure {tree_text(structure)}, expected "
                f"{tree_text(treedef)}, followed by the {count} values closed over"
            )
        inside = []
        for i, (x, aval) in enumerate(zip([*args[split:], *flat], program.in_avals, strict=True)):
            name = f"closed-over value {i}" if i < count else names[i - count]
            inner = leaf_value(x, "closure_convert", converted, lambda name=name: name)  # type: ignore[misc]
            if not aval_of(inner).fits(aval):
                raise ArgumentError(
                    f"{where}: {name} has type {aval_of(inner)}, but was recorded with {aval}; convert once "
                    "more for other types"
                )
            inside.append(match_aval(inner, aval))
        return _tree.unflatten(out_treedef, [wrap(x) for x in eval_jaxpr(program, *inside)])

    converted.__name__ = converted.__qualname__ = f"closure_convert({function_name(fun)})"
    return converted, [wrap(c) for c in hoisted]
