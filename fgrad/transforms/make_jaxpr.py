"""Looking at functions without running them: their jaxprs and the types of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import value
from fgrad.avals import Aval, ShapeDtypeStruct, aval_of
from fgrad.dtypes import canonical
from fgrad.ir.jaxpr import Jaxpr
from fgrad.source_info import boundary, function_name
from fgrad.tracing import record
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    leaf_value,
    output_values,
    transformed,
)
from fgrad.transforms.static import infer_static, split_static


def trace_to_jaxpr(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    transform: str,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> tuple[Jaxpr, Any]:
    """The jaxpr of `f` at arguments of these types, and the structure of its result."""
    dynamic, static = split_static(f, transform, args, kwargs, static_argnums, static_argnames)
    leaves, treedef = _tree.flatten(dynamic)
    names = argument_leaf_names(f, *dynamic)
    avals = [_leaf_aval(leaf, transform, f, names[i]) for i, leaf in enumerate(leaves)]
    out_treedef: Any = None

    def flat_fun(*xs: Any) -> list[Any]:
        nonlocal out_treedef
        inner_args, inner_kwargs = static.join(_tree.unflatten(treedef, list(xs)))
        result = f(*inner_args, **inner_kwargs)
        out_leaves, out_treedef = _tree.flatten(result)
        if transform == "eval_shape":
            out_leaves = [_stand_in(leaf) for leaf in out_leaves]
        return output_values(out_leaves, transform, f, result)

    return record(flat_fun, avals, function_name(f), transform, names, f), out_treedef


def _leaf_aval(leaf: Any, transform: str, f: Callable[..., Any], name: str) -> Aval:
    if isinstance(leaf, ShapeDtypeStruct):
        return Aval(leaf.shape, canonical(leaf.dtype), leaf.weak_type)
    return aval_of(leaf_value(leaf, transform, f, lambda: name))


@boundary
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | tuple[int, ...] = (),
    axis_env: Any = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Make a function that returns the jaxpr of `fun`: the program that it records.

    Parameters
    ----------
    fun : callable
        Any function of arrays, transformed or not.
    static_argnums : int or tuple of int
        Positional arguments to specialise to.
    return_shape : bool
        Whether to return the tree of result types as well.

    Returns
    -------
    callable
        It takes the arguments of `fun`, arrays or `ShapeDtypeStruct`, and returns a `Jaxpr`; print it.

    Examples
    --------
    >>> import fgrad
    >>> print(fgrad.make_jaxpr(lambda x: x * x + 1.0)(3.0))
    { lambda ; a:f64~[] . let
        b:f64~[] = mul a a
        c:f64~[] = add b 1.0
      in (c,) }
    """
    check_callable(fun, "make_jaxpr")
    numbers, names = infer_static(fun, static_argnums, (), "make_jaxpr")

    @transformed(
        fun,
        "make_jaxpr",
        make_jaxpr,
        static_argnums=static_argnums,
        axis_env=axis_env,
        return_shape=return_shape,
    )
    def jaxpr_maker(*args: Any, **kwargs: Any) -> Any:
        jaxpr, out_treedef = trace_to_jaxpr(fun, args, kwargs, "make_jaxpr", numbers, names)
        if not return_shape:
            return jaxpr
        return jaxpr, _tree.unflatten(out_treedef, [struct(a) for a in jaxpr.out_avals])

    return jaxpr_maker


@boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of the result of `fun`, without computing it.

    Parameters
    ----------
    fun : callable
        A function of arrays.
    *args, **kwargs
        Its arguments: arrays, or `ShapeDtypeStruct`.

    Returns
    -------
    tree of ShapeDtypeStruct

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.eval_shape(lambda x: x @ x.T, np.ones((2, 3)))
    ShapeDtypeStruct(shape=(2, 2), dtype=float64)
    """
    check_callable(fun, "eval_shape")
    jaxpr, out_treedef = trace_to_jaxpr(fun, args, kwargs, "eval_shape")
    return _tree.unflatten(out_treedef, [struct(a) for a in jaxpr.out_avals])


def _stand_in(leaf: Any) -> Any:
    """An array for a type among the results."""
    if not isinstance(leaf, ShapeDtypeStruct):
        return leaf
    return np.broadcast_to(np.zeros((), canonical(leaf.dtype)), leaf.shape)


def struct(x: Any) -> ShapeDtypeStruct:
    """The type of a value as users see it."""
    aval = x if isinstance(x, Aval) else aval_of(value(x))
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak)


@boundary
def typeof(x: Any) -> Aval:
    """The type of an array, number or traced value.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ShapedArray
        With ``shape``, ``dtype`` and ``weak_type``.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.typeof(np.zeros((2, 3), np.float32)).shape
    (2, 3)
    >>> fgrad.typeof(1.0).weak_type
    True
    """
    return aval_of(value(x, "typeof: x"))
