"""Functions that return their gradient next to their value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import float0, is_inexact
from fgrad.errors import CustomRuleError
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.source_info import boundary, function_text
from fgrad.tracing import concrete, hoist_constants, kind_in_words, record
from fgrad.transforms._arguments import call_rule, check_callable, output_values
from fgrad.transforms._custom import closed_over
from fgrad.transforms.custom_vjp import custom_vjp


@boundary
def custom_gradient(fun: Callable[..., Any]) -> custom_vjp:
    """Make a function from one that returns its value and its gradient function.

    Parameters
    ----------
    fun : callable
        It returns a pair: the value, and a function from the cotangent of the value to a tuple of cotangents,
        one for each argument; for a single argument, the cotangent alone will do.

    Returns
    -------
    custom_vjp
        A function with the value and the gradient that `fun` returns.

    Raises
    ------
    CustomRuleError
        If `fun` does not return a pair with a function.

    Examples
    --------
    >>> import fgrad
    >>> @fgrad.custom_gradient
    ... def square(x):
    ...     return x**2, lambda ct: ct * x
    >>> float(fgrad.grad(square)(3.0))
    3.0
    """
    check_callable(fun, "custom_gradient")

    @functools.wraps(fun)
    def value(*args: Any, **kwargs: Any) -> Any:
        return _pair(fun, fun(*args, **kwargs))[0]

    def forward(*args: Any) -> Any:
        answer, gradient = _pair(fun, fun(*args))

        @functools.wraps(gradient)
        def checked(ct: Any) -> Any:
            who = f"custom_gradient of {function_text(fun)}: the gradient function"
            return call_rule(gradient, who, [ct], lambda: ["the cotangent of the value"])

        unknown = [t for t in closed_over((gradient,)) if concrete(t) is None]
        if unknown:
            captured, rule = _recorded(checked, answer)
        else:
            captured, rule = [], lambda _, ct: checked(ct)
        return answer, (captured, _Rule(rule, len(args)))

    def backward(residuals: Any, ct: Any) -> Any:
        captured, rule = residuals
        found = rule.apply(captured, ct)
        if rule.count == 1 and not (isinstance(found, (tuple, list)) and len(found) == 1):
            return (found,)
        return found

    # Messages name the function of the user: there are no rules to see.
    forward.__wrapped__ = backward.__wrapped__ = fun  # type: ignore[attr-defined]
    result = custom_vjp(value)
    result.defvjp(forward, backward)
    return result


class _Rule:
    """A gradient function among residuals, with the number of arguments."""

    def __init__(self, apply: Callable[[list[Any], Any], Any], count: int) -> None:
        self.apply = apply
        self.count = count


def _pair(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2 or not callable(result[1]):
        raise CustomRuleError(
            f"custom_gradient of {function_text(fun)}: the function returned {kind_in_words(result)}, expected a pair "
            "of its value and a function from the cotangent of the value to those of the arguments"
        )
    return result[0], result[1]


def _recorded(gradient: Callable[..., Any], answer: Any) -> tuple[list[Any], Any]:
    """A gradient function that closes over unknown values as a program of them and of the cotangent."""
    leaves, treedef = _tree.flatten(answer)
    avals = [aval_of(x) for x in output_values(leaves, "custom_gradient", gradient, answer)]
    moving = [a for a in avals if is_inexact(a.dtype)]
    out_treedef: Any = None

    def filled(cts: Any) -> Any:
        rest = iter(cts)
        return _tree.unflatten(
            treedef, [next(rest) if is_inexact(a.dtype) else _float0(a) for a in avals]
        )

    def run(*cts: Any) -> list[Any]:
        nonlocal out_treedef
        found = gradient(filled(cts))
        out_leaves, out_treedef = _tree.flatten(found)
        return output_values(out_leaves, "custom_gradient", gradient, found)

    program: Jaxpr
    program, captured = hoist_constants(record(run, moving, "", "custom_gradient"))

    def rule(values: list[Any], ct: Any) -> Any:
        cts = [x for x, a in zip(_tree.leaves(ct), avals, strict=True) if is_inexact(a.dtype)]
        inside = output_values([*values, *cts], "custom_gradient", gradient, [*values, *cts])
        return _tree.unflatten(out_treedef, [wrap(x) for x in eval_jaxpr(program, *inside)])

    return captured, rule


def _float0(aval: Aval) -> Any:
    return wrap(np.zeros(aval.shape, float0))
