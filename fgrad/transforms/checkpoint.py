"""Trading time for memory in reverse mode, and cutting derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import _tree
from fgrad.array import snapshot, value, wrap
from fgrad.avals import aval_of
from fgrad.dtypes import SUPPORTED
from fgrad.errors import ArgumentError
from fgrad.ir.passes import inline_calls
from fgrad.primitives.elementwise import stop_gradient as stop_gradient_primitive
from fgrad.source_info import boundary, function_name, function_text
from fgrad.tracing import hoist_constants, record
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    leaf_values,
    output_values,
    transformed,
)
from fgrad.transforms.call import Checkpointed
from fgrad.transforms.static import split_static


@boundary
def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: bool = False,
) -> Callable[..., Any]:
    """Make reverse mode keep the arguments of `fun` alone, and run `fun` again in the backward pass.

    Parameters
    ----------
    fun : callable
        The function. It is recorded: its own branches cannot depend on values.
    prevent_cse : bool
        Accepted for compatibility: the second run is never merged with the first.
    policy : callable, optional
        Which intermediate results are kept beside the arguments: one of `fgrad.checkpoint_policies`, or a
        function from an operation and the types of its operands to a bool. None keeps nothing.
    static_argnums : int or tuple of int
        Positional arguments that are passed through as they are.

    Returns
    -------
    callable
        A function with the value and the derivatives of `fun`.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> float(fgrad.grad(fgrad.checkpoint(lambda x: fnp.sin(fnp.sin(x))))(0.0))
    1.0
    """
    check_callable(fun, "checkpoint")
    if policy is not None and not callable(policy):
        raise ArgumentError(
            f"checkpoint of {function_text(fun)}: policy is {policy!r}; give one of fgrad.checkpoint_policies, such "
            "as dots_saveable"
        )

    @transformed(
        fun,
        "checkpoint",
        checkpoint,
        prevent_cse=prevent_cse,
        policy=policy,
        static_argnums=static_argnums,
        concrete=concrete,
    )
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        dynamic, static = split_static(fun, "checkpoint", args, kwargs, static_argnums, ())
        leaves, treedef = _tree.flatten(dynamic)
        values = leaf_values(leaves, "checkpoint", fun, *dynamic)
        out_treedef: Any = None

        def flat_fun(*xs: Any) -> list[Any]:
            nonlocal out_treedef
            inner_args, inner_kwargs = static.join(_tree.unflatten(treedef, list(xs)))
            result = fun(*inner_args, **inner_kwargs)
            out_leaves, out_treedef = _tree.flatten(result)
            return output_values(out_leaves, "checkpoint", fun, result)

        names = argument_leaf_names(fun, *dynamic)
        jaxpr = record(
            flat_fun, [aval_of(v) for v in values], function_name(fun), "checkpoint", names, fun
        )
        closed, captured = hoist_constants(jaxpr)
        if policy is not None:
            # The policy is asked about operations, also those of compiled functions inside.
            closed = inline_calls(closed, rules=False)
        closed.consts = tuple(map(snapshot, closed.consts))
        outs = Checkpointed(closed, policy)(*captured, *values)
        return _tree.unflatten(out_treedef, [wrap(x) for x in outs])

    return checkpointed


remat = checkpoint


@boundary
def stop_gradient(x: Any) -> Any:
    """The value of `x`, with derivative zero.

    Parameters
    ----------
    x : array or tree of arrays
        Leaves that are not arrays or numbers pass through.

    Returns
    -------
    tree
        The same values. Under ``grad`` and ``jvp`` they are known: they convert to Python numbers and NumPy
        arrays.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.grad(lambda x: x * fgrad.lax.stop_gradient(x))(3.0))
    3.0
    """
    return _tree.map(_stop, x)


def _stop(leaf: Any) -> Any:
    try:
        inside = value(leaf)
    except TypeError:
        return leaf
    return wrap(stop_gradient_primitive(inside)) if aval_of(inside).dtype in SUPPORTED else leaf
