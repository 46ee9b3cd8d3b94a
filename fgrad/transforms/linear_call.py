"""Linear functions whose transpose is a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import CustomRuleError, NonDifferentiableError
from fgrad.ir.jaxpr import Jaxpr
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import convert
from fgrad.primitives.shape import spread
from fgrad.source_info import boundary, function_text, here
from fgrad.tracing import Primitive
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    leaf_values,
    tree_text,
)
from fgrad.transforms.bodies import batched_body, fresh, has_effects, or_zeros, record_body, runner


@parameters
class LinearCall(Primitive):
    """Apply a linear function.   *constants *others *residuals *linear -> *results

    The function takes constants, residuals and linear arguments; its transpose takes constants of its own,
    the same residuals, and cotangents of the results. ``counts`` of both kinds of constants, and of residuals.
    """

    program: Jaxpr
    transposed: Jaxpr
    counts: tuple[int, int, int]
    multiple_results = True
    keeps_residuals = True

    @property
    def called(self) -> str:
        return "linear_call"

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return (self.program, self.transposed)

    def with_jaxprs(self, jaxprs: Sequence[Jaxpr]) -> LinearCall:
        """The same call of other programs of the same types."""
        return LinearCall(jaxprs[0], jaxprs[1], self.counts)

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return has_effects((self.program,))

    def split(self, values: Sequence[Any]) -> list[list[Any]]:
        """The constants of each program, residuals, linear arguments."""
        parts, start = [], 0
        for count in self.counts:
            parts.append(list(values[start : start + count]))
            start += count
        return [*parts, list(values[start:])]

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return self.program.out_avals

    def impl(self, *values: Any) -> Sequence[Any]:
        consts, _, residuals, linear = self.split(values)
        return fresh(runner(self.program)(*consts, *residuals, *linear), values)

    def refuse(self) -> NonDifferentiableError:
        return NonDifferentiableError(
            f"linear_call: at {here()}, a residual or a captured value is differentiated; only the linear arguments "
            "have derivatives"
        )

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        *fixed, directions = self.split(tangents)
        if any(t is not None for part in fixed for t in part):
            raise self.refuse()
        answers = self(*primals)
        if all(t is None for t in directions):
            return answers, [None] * len(answers)
        consts, others, residuals, linear = self.split(primals)
        return answers, self(*consts, *others, *residuals, *or_zeros(directions, linear))

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        *fixed, _ = self.split(needs)
        if any(need for part in fixed for need in part):
            raise self.refuse()
        start = sum(self.counts)
        return self(*args), LinearPullback(self, list(args[:start]))

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        consts, others, residuals, _ = self.split(mapped)
        start = sum(self.counts)
        linear = [
            v if m else spread(v, size) for v, m in zip(args[start:], mapped[start:], strict=True)
        ]

        def batched(program: Jaxpr, own: Sequence[bool]) -> Jaxpr:
            rest = len(program.invars) - len(own)
            flags = (*own, *(True,) * rest)
            return batched_body(program, size, flags, (True,) * len(program.outvars))[0]

        call = LinearCall(
            batched(self.program, [*consts, *residuals]),
            batched(self.transposed, [*others, *residuals]),
            self.counts,
        )
        return call(*args[:start], *linear), (True,) * len(self.program.outvars)


class LinearPullback:
    """The transposed call with its residuals."""

    def __init__(self, call: LinearCall, residuals: list[Any]) -> None:
        self.call = call
        self.residuals = residuals
        self.active = [True] * len(call.program.outvars)

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        call = self.call
        first, second, third = call.counts
        consts, others = self.residuals[:first], self.residuals[first : first + second]
        residuals = self.residuals[first + second :]
        back = LinearCall(call.transposed, call.program, (second, first, third))
        given = or_zeros(cts, call.program.out_avals)
        return [*[None] * sum(call.counts), *back(*others, *consts, *residuals, *given)]


@boundary
def linear_call(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Apply a linear function, with a function of yours for its transpose.

    Parameters
    ----------
    fun : callable
        ``fun(residual_args, linear_args)``, linear in its second argument.
    fun_transpose : callable
        ``fun_transpose(residual_args, cotangents)``, for cotangents like the result of `fun`; it returns a tree
        like `linear_args`. Its own transpose is `fun`.
    residual_args : tree of arrays
        What both read. It has no derivative here.
    linear_args : tree of arrays

    Returns
    -------
    tree
        The result of `fun`, differentiable with respect to `linear_args`.

    Raises
    ------
    CustomRuleError
        If the transpose returns another tree, or other types, than `linear_args`.
    NonDifferentiableError
        If residuals are differentiated.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.custom_derivatives import linear_call
    >>> halve = lambda x: linear_call(lambda r, v: v / r, lambda r, ct: ct / r, 2.0, x)
    >>> float(halve(3.0)), float(fgrad.grad(halve)(3.0))
    (1.5, 0.5)
    """
    check_callable(fun, "linear_call")
    check_callable(fun_transpose, "linear_call")
    residuals, _ = _tree.flatten(residual_args)
    linear, linear_treedef = _tree.flatten(linear_args)
    both = (residual_args, linear_args)
    values = leaf_values([*residuals, *linear], "linear_call", fun, both)
    avals = [aval_of(v) for v in values]
    names = argument_leaf_names(fun, both)
    forward = record_body(fun, "linear_call", _tree.structure(both), avals, names)
    out_avals = forward.jaxpr.out_avals
    ct_tree = _tree.unflatten(forward.treedef, list(range(len(out_avals))))
    kept = avals[: len(residuals)]
    structure = _tree.structure((residual_args, ct_tree))
    names = argument_leaf_names(fun_transpose, (residual_args, ct_tree))
    wanted = avals[len(residuals) :]

    def settled(found: list[Any], _: Any) -> list[Any]:
        """Cotangents of Python numbers as such, and those that are Python numbers as their arrays."""
        if len(found) != len(wanted):
            return found
        return [
            convert(v, aval.dtype, aval.weak) if aval.weak or aval_of(v).weak else v
            for v, aval in zip(found, wanted, strict=True)
        ]

    backward = record_body(
        fun_transpose, "linear_call", structure, [*kept, *out_avals], names, settled
    )
    title = f"linear_call: the transpose {function_text(fun_transpose)}"
    if backward.treedef != linear_treedef:
        raise CustomRuleError(
            f"{title} returned a result of structure {tree_text(backward.treedef)}, but the linear arguments have "
            f"structure {tree_text(linear_treedef)}; return one cotangent for each"
        )
    for got, aval in zip(backward.jaxpr.out_avals, wanted, strict=True):
        if got != aval:
            raise CustomRuleError(
                f"{title} returned a cotangent of type {got} for a linear argument of type {aval}; return the same"
            )
    counts = len(forward.captured), len(backward.captured), len(residuals)
    call = LinearCall(forward.jaxpr, backward.jaxpr, counts)
    outs = call(*forward.captured, *backward.captured, *values)
    return _tree.unflatten(forward.treedef, [wrap(out) for out in outs])
