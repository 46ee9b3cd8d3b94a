"""Gradients of scalar functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import is_inexact, python_type
from fgrad.errors import DifferentiationTypeError, NonScalarOutputError
from fgrad.source_info import boundary, function_name, function_text
from fgrad.tracing import Tracer
from fgrad.transforms._arguments import (
    check_argnums,
    check_callable,
    chosen_leaf_names,
    leaf_value,
    normal_argnums,
    output_values,
    split_aux,
    transformed,
    untraced,
)
from fgrad.transforms.jvp import instantiate
from fgrad.transforms.vjp import VJPTrace


@boundary
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Make a function that returns the value of `fun` and its gradient.

    Parameters
    ----------
    fun : callable
        A function whose result is a scalar.
    argnums : int or sequence of int
        Which positional arguments to differentiate; negative ones count from the end. Each may be a
        tree of arrays.
    has_aux : bool
        Whether `fun` returns a pair of a scalar and auxiliary data, which is not differentiated.
    holomorphic : bool
        Promise that `fun` is complex-differentiable: arguments and result are complex, and the gradient
        is the complex derivative. Otherwise the result must be real; the gradient towards a complex
        argument z is then df/dRe(z) - i df/dIm(z).
    allow_int : bool
        Accept integers and booleans, whose gradient is zero, of dtype ``fgrad.dtypes.float0``.

    Returns
    -------
    callable
        It returns ``(value, gradient)``, or ``((value, aux), gradient)`` with `has_aux`. The gradient has
        the structure, shapes and dtypes of the argument; for a sequence of argnums it is a tuple.

    Raises
    ------
    NonScalarOutputError
        If the result is not a scalar.
    DifferentiationTypeError
        If an argument or the result has a dtype without derivatives.

    Examples
    --------
    >>> import fgrad
    >>> value, slope = fgrad.value_and_grad(lambda x: x**3)(2.0)
    >>> float(value), float(slope)
    (8.0, 12.0)
    """
    check_callable(fun, "value_and_grad")
    check_argnums(fun, argnums, "value_and_grad")

    @transformed(
        fun,
        "value_and_grad",
        value_and_grad,
        argnums=argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        allow_int=allow_int,
    )
    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        result = _differentiate(
            fun, argnums, has_aux, holomorphic, allow_int, "value_and_grad", args, kwargs
        )
        answer, gradient, aux = result
        return ((answer, aux), gradient) if has_aux else (answer, gradient)

    return value_and_grad_f


@boundary
def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Make a function that returns the gradient of `fun`.

    Parameters are those of `value_and_grad`; the result is the gradient alone, or
    ``(gradient, aux)`` with `has_aux`.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> float(fgrad.grad(fgrad.grad(fnp.sin))(0.5) + fnp.sin(0.5))
    0.0
    """
    check_callable(fun, "grad")
    check_argnums(fun, argnums, "grad")

    @transformed(
        fun,
        "grad",
        grad,
        argnums=argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        allow_int=allow_int,
    )
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        result = _differentiate(fun, argnums, has_aux, holomorphic, allow_int, "grad", args, kwargs)
        _, gradient, aux = result
        return (gradient, aux) if has_aux else gradient

    return grad_f


def _differentiate(
    f: Callable[..., Any],
    argnums: Any,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    transform: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Any, Any]:
    numbers = normal_argnums(f, argnums, len(args), transform)
    leaves, treedef = _tree.flatten(tuple([args[i] for i in numbers]))

    def leaf_name(i: int) -> str:
        return chosen_leaf_names(f, args, numbers)[i]

    values = [
        leaf_value(leaf, transform, f, lambda i=i: leaf_name(i))  # type: ignore[misc]
        for i, leaf in enumerate(leaves)
    ]
    avals = [aval_of(v) for v in values]
    with VJPTrace(function_name(f), transform, f) as trace:
        positions, tracers = [], []
        for i, (v, aval) in enumerate(zip(values, avals, strict=True)):
            if is_inexact(aval.dtype):
                if (aval.dtype.kind == "c") < holomorphic:
                    raise DifferentiationTypeError(
                        f"{transform} of {function_text(f)} with holomorphic=True: argument {leaf_name(i)} has "
                        f"dtype {aval.dtype.name}, expected a complex one; convert it with .astype(complex)"
                    )
                positions.append(len(trace.nodes))
                tracers.append(trace.input(v))
            elif allow_int:
                positions.append(-1)
                tracers.append(wrap(v))
            else:
                raise _integer_input(f, transform, aval, leaf_name(i))
        count = len(trace.nodes)
        inner_args = list(args)
        for number, arg in zip(numbers, _tree.unflatten(treedef, tracers), strict=True):
            inner_args[number] = arg
        result = f(*inner_args, **kwargs)
        aux = None
        if has_aux:
            result, aux = split_aux(f, result, transform)
        out = _scalar_output(f, transform, result, holomorphic)
    answer = trace.value_of(out)
    aval = aval_of(answer)
    one = python_type(aval.dtype)(1) if aval.weak else aval.dtype.type(1)
    found = trace.walk([trace.index_of(out)], [one], count)
    gradients = [
        wrap(instantiate(None if position < 0 else found[position], a))
        for position, a in zip(positions, avals, strict=True)
    ]
    gradient = _tree.unflatten(treedef, gradients)
    if not isinstance(argnums, (tuple, list)):
        (gradient,) = gradient
    return wrap(answer), gradient, untraced(trace, aux) if has_aux else None


def _integer_input(
    f: Callable[..., Any], transform: str, aval: Aval, name: str
) -> DifferentiationTypeError:
    kind = (
        "a Python " + python_type(aval.dtype).__name__
        if aval.weak
        else f"of dtype {aval.dtype.name}"
    )
    return DifferentiationTypeError(
        f"{transform} of {function_text(f)}: argument {name} is {kind}, which has no derivatives; pass a "
        "float, choose other argnums, or give allow_int=True"
    )


def _scalar_output(f: Callable[..., Any], transform: str, result: Any, holomorphic: bool) -> Any:
    leaves = [result] if isinstance(result, Tracer) else _tree.leaves(result)
    if len(leaves) == 1 and leaves[0] is result:
        (out,) = output_values(leaves, transform, f, result)
        aval = aval_of(out)
        if not aval.shape and is_inexact(aval.dtype) and (aval.dtype.kind == "c") == holomorphic:
            return out
    where = f"{transform} of {function_text(f)}"
    if len(leaves) != 1 or leaves[0] is not result:
        raise NonScalarOutputError(
            f"{where}: the function must return one scalar, but returned a {type(result).__name__}; return the "
            "loss alone, or (loss, auxiliary data) with has_aux=True"
        )
    if aval.shape:
        raise NonScalarOutputError(
            f"{where}: the function must return a scalar, but its result has shape {aval.shape}; reduce it "
            "with .sum() or .mean(), or use jacrev or vjp"
        )
    if holomorphic and aval.dtype.kind != "c":
        raise DifferentiationTypeError(
            f"{where} with holomorphic=True: the result has dtype {aval.dtype.name}, expected a complex one; "
            "leave holomorphic=True out for a function of real value"
        )
    if not holomorphic and aval.dtype.kind == "c":
        raise DifferentiationTypeError(
            f"{where}: the result is complex ({aval.dtype.name}); return a real number, or give "
            "holomorphic=True for a complex-differentiable function"
        )
    raise DifferentiationTypeError(
        f"{where}: the result has dtype {aval.dtype.name}, which has no derivatives; return a float"
    )
