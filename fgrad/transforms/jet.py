"""Taylor mode: whole series of directional derivatives in one pass.

Each value is a power series in one variable, whose coefficients are computed when they are asked for, and
once. A primitive knows its first coefficient by running, and the others by its jvp rule: the derivative
of the answer is the rule applied to the series of the operands, which asks for one coefficient fewer.
So every primitive with a jvp rule has all orders, at a cost that grows with the square of the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import is_inexact
from fgrad.errors import ArgumentError, NonDifferentiableError
from fgrad.ir.jaxpr import eval_jaxpr, sub_jaxprs
from fgrad.primitives.elementwise import div
from fgrad.primitives.families import (
    NEG_ONE,
    ONE,
    Bilinear,
    Elementwise,
    Linear,
    absorbing_product,
    add,
    match_aval,
    mul,
    neg,
    reshape,
    zeros_of,
)
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.source_info import boundary, function_name, function_text
from fgrad.tracing import Primitive, Trace, Tracer, concrete, derivative_rules
from fgrad.transforms._arguments import check_callable, leaf_values, output_values
from fgrad.transforms.cond import Cond
from fgrad.transforms.scan import Scan
from fgrad.transforms.while_loop import While


class SeriesTracer(Tracer):
    """A power series; a coefficient that is None is zero."""

    __slots__ = ("aval", "known", "more")

    def __init__(self, trace: Trace, first: Any, more: Any = None) -> None:
        self._trace = trace
        self.aval = aval_of(first)
        #: The coefficients so far.
        self.known = [first]
        #: Computes a coefficient, from those before it.
        self.more: Any = more

    def _known(self) -> Any:
        return self.known[0]

    def coefficient(self, order: int) -> Any:
        known = self.known
        while len(known) <= order:
            with derivative_rules():
                known.append(self.more(len(known)))
        return known[order]

    def derivative(self) -> SeriesTracer:
        """The series of its derivative."""

        def coefficient(order: int) -> Any:
            following = self.coefficient(order + 1)
            return None if following is None else _times(following, order + 1, self.aval)

        first = coefficient(0)
        return SeriesTracer(
            self._trace, zeros_of(self.aval) if first is None else first, coefficient
        )


def _times(x: Any, number: float, aval: Aval) -> Any:
    return match_aval(mul(x, float(number)), aval)


def _sum(terms: Sequence[Any]) -> Any:
    total = None
    for term in terms:
        if term is not None:
            total = term if total is None else add(total, term)
    return total


class JetTrace(Trace):
    """Applies primitives to series."""

    __slots__ = ()

    def __init__(self, name: str, function: Any = None) -> None:
        super().__init__(name, "jet", function)

    def is_series(self, x: Any) -> bool:
        return type(x) is SeriesTracer and x._trace is self

    def first(self, x: Any) -> Any:
        return x.known[0] if self.is_series(x) else x

    def coefficient(self, x: Any, order: int) -> Any:
        """A coefficient of a series, or of a constant."""
        if self.is_series(x):
            return x.coefficient(order)
        return x if order == 0 else None

    def process(self, primitive: Primitive, args: Sequence[Any]) -> Any:
        self.check_alive(primitive, args)
        inner = self.inlined(primitive, args)
        if inner is not None:
            return inner
        firsts = [self.first(arg) for arg in args]
        if not primitive.differentiable:
            return primitive(*firsts)
        answers = primitive(*firsts)
        if primitive.multiple_results:
            return self.several(primitive, args, list(answers))
        if not is_inexact(aval_of(answers).dtype):
            return answers
        answer = SeriesTracer(self, answers)
        answer.more = self.rule(primitive, args, answer)
        return answer

    # -- coefficients --

    def rule(
        self, primitive: Primitive, args: Sequence[Any], answer: SeriesTracer
    ) -> Callable[[int], Any]:
        """What computes the coefficients of the answer of one primitive."""
        aval = answer.aval
        if primitive is mul or primitive is absorbing_product or isinstance(primitive, Bilinear):
            return self.product(primitive, args, aval)
        if isinstance(primitive, Linear):
            return self.linear(primitive, args)
        if isinstance(primitive, Elementwise) and all(
            p is ONE or p is NEG_ONE for p in primitive.partials
        ):
            return self.signed_sum(primitive, args, aval)
        return self.by_jvp(primitive, args, answer)

    def product(
        self, primitive: Primitive, args: Sequence[Any], aval: Aval
    ) -> Callable[[int], Any]:
        left, right = args

        def coefficient(order: int) -> Any:
            terms = []
            for i in range(order + 1):
                a, b = self.coefficient(left, i), self.coefficient(right, order - i)
                if a is not None and b is not None:
                    terms.append(primitive(a, b))
            total = _sum(terms)
            return None if total is None else match_aval(total, aval)

        return coefficient

    def linear(self, primitive: Linear, args: Sequence[Any]) -> Callable[[int], Any]:
        split = len(args) if primitive.linear_operands is None else primitive.linear_operands
        rest = [self.first(arg) for arg in args[split:]]

        def coefficient(order: int) -> Any:
            parts = [self.coefficient(arg, order) for arg in args[:split]]
            if all(part is None for part in parts):
                return None
            filled = [
                zeros_of(aval_of(self.first(arg))) if part is None else part
                for part, arg in zip(parts, args[:split], strict=True)
            ]
            return primitive(*filled, *rest)

        return coefficient

    def signed_sum(
        self, primitive: Elementwise, args: Sequence[Any], aval: Aval
    ) -> Callable[[int], Any]:
        def coefficient(order: int) -> Any:
            terms = []
            for partial, arg in zip(primitive.partials, args, strict=True):
                part = self.coefficient(arg, order)
                terms.append(neg(part) if part is not None and partial is NEG_ONE else part)
            total = _sum(terms)
            return None if total is None else match_aval(total, aval)

        return coefficient

    def by_jvp(
        self, primitive: Primitive, args: Sequence[Any], answer: SeriesTracer
    ) -> Callable[[int], Any]:
        """The derivative of the answer is what the jvp rule makes of the series."""
        slopes: list[Any] = []

        def coefficient(order: int) -> Any:
            if not slopes:
                slopes.append(primitive.jvp(answer, args, self.directions(args)))
            below = self.coefficient(slopes[0], order - 1)
            return None if below is None else match_aval(div(below, float(order)), answer.aval)

        return coefficient

    def directions(self, args: Sequence[Any]) -> list[Any]:
        return [
            arg.derivative() if self.is_series(arg) and is_inexact(arg.aval.dtype) else None
            for arg in args
        ]

    def several(self, primitive: Primitive, args: Sequence[Any], answers: list[Any]) -> list[Any]:
        """A primitive with several results: one rule gives the slopes of all."""
        slopes: list[Any] = []
        results: list[Any] = []

        def rule_of(position: int, aval: Aval) -> Callable[[int], Any]:
            def coefficient(order: int) -> Any:
                if not slopes:
                    slopes.extend(primitive.jvp(results, args, self.directions(args)))
                below = self.coefficient(slopes[position], order - 1)
                return None if below is None else match_aval(div(below, float(order)), aval)

            return coefficient

        for position, answer in enumerate(answers):
            aval = aval_of(answer)
            inexact = is_inexact(aval.dtype)
            results.append(
                SeriesTracer(self, answer, rule_of(position, aval)) if inexact else answer
            )
        return results

    # -- programs inside --

    def inlined(self, primitive: Primitive, args: Sequence[Any]) -> list[Any] | None:
        """The results of a primitive that stands for a program, by running that on series."""
        bodies = sub_jaxprs(primitive)
        if not bodies:
            return None
        if type(primitive) is Scan:
            return self.unrolled_scan(primitive, args)
        if type(primitive) is Cond:
            index = self.known("cond", args[0])
            return eval_jaxpr(primitive.branches[int(index)], *args[1:])
        if type(primitive) is While:
            return self.unrolled_while(primitive, args)
        if len(bodies) == 1 and len(bodies[0].invars) == len(args):
            return eval_jaxpr(bodies[0], *args)
        raise NonDifferentiableError(
            f"jet of {function_text(self.function)}: there is no rule for the series of {primitive.called}"
        )

    def known(self, what: str, x: Any) -> Any:
        found = concrete(self.first(x))
        if found is None:
            raise NonDifferentiableError(
                f"jet of {function_text(self.function)}: the series of a {what} needs to know which way it goes; take "
                "jet outside of jit and vmap"
            )
        return found

    def unrolled_scan(self, primitive: Scan, args: Sequence[Any]) -> list[Any]:
        consts, carry, rows = primitive.split(args)
        count = primitive.carries
        steps = range(primitive.length)
        outs: list[list[Any]] = []
        for step in reversed(steps) if primitive.reverse else steps:
            results = eval_jaxpr(
                primitive.body, *consts, *carry, *[static_index(row, (step,)) for row in rows]
            )
            carry = results[:count]
            outs.append(results[count:])
        if primitive.reverse:
            outs.reverse()
        return [*carry, *[_stacked(column) for column in zip(*outs, strict=True)]]

    def unrolled_while(self, primitive: While, args: Sequence[Any]) -> list[Any]:
        condition_consts, consts, carry = primitive.split(args)
        while bool(
            self.known("while_loop", eval_jaxpr(primitive.condition, *condition_consts, *carry)[0])
        ):
            carry = eval_jaxpr(primitive.body, *consts, *carry)
        return list(carry)

    def derivatives(self, x: Any, order: int, scaled: bool) -> tuple[Any, list[Any]]:
        """The value of an output, and its derivatives or coefficients up to an order."""
        aval = aval_of(x)
        zero = zeros_of(aval)
        series = []
        for k in range(1, order + 1):
            coefficient = self.coefficient(x, k)
            if coefficient is not None and scaled:
                coefficient = _times(coefficient, math.factorial(k), aval)
            series.append(zero if coefficient is None else coefficient)
        return self.first(x), series


def _stacked(rows: Sequence[Any]) -> Any:
    shape = aval_of(rows[0]).shape
    return Concatenate(0)(*[reshape(row, (1, *shape)) for row in rows])


@boundary
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
) -> tuple[Any, Any]:
    """The derivatives of `fun` along a curve, up to any order, in one pass.

    Parameters
    ----------
    fun : callable
        A function of arrays; it may return a tree of arrays.
    primals : tuple or list of arrays
        Where the curve starts.
    series : tuple or list of lists of arrays
        For each argument the derivatives of the curve at the start: the first, the second, and so on, all
        of the argument's shape; equally many for each argument.
    factorial_scaled : bool
        Whether the terms, in and out, are derivatives; otherwise they are coefficients of the power series,
        which are the derivatives over the factorial of their order.

    Returns
    -------
    primals_out, series_out
        The value of `fun`, and a tree like it of lists with the derivatives of its value along the curve.
        Differentiable. The cost grows with the square of the number of terms.

    Raises
    ------
    ArgumentError
        If there is not one list for each argument, or terms differ in number or shape.
    NonDifferentiableError
        If the function contains a primitive whose series is not known, such as a loop whose length is not.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.experimental.jet import jet
    >>> value, terms = jet(fnp.exp, (0.0,), ([1.0, 0.0, 0.0],))
    >>> [float(term) for term in terms]
    [1.0, 1.0, 1.0]
    """
    check_callable(fun, "jet")
    where = f"jet of {function_text(fun)}"
    if len(primals) != len(series):
        raise ArgumentError(
            f"{where}: {len(primals)} primals and {len(series)} series; give one list of terms for each argument"
        )
    values = leaf_values(list(primals), "jet", fun, tuple(primals))
    orders = {len(terms) for terms in series}
    if len(orders) > 1:
        raise ArgumentError(f"{where}: the series have {sorted(orders)} terms; give equally many")
    order = max(orders, default=0)
    with JetTrace(function_name(fun), fun) as trace:
        inputs = []
        for i, (v, terms) in enumerate(zip(values, series, strict=True)):
            aval = aval_of(v)
            if not is_inexact(aval.dtype):
                inputs.append(v)
                continue
            given = leaf_values(list(terms), "jet", fun, tuple(terms))
            for k, term in enumerate(given, 1):
                if aval_of(term).shape != aval.shape:
                    raise ArgumentError(
                        f"{where}: term {k} of argument {i} has shape {aval_of(term).shape}, "
                        f"the argument has {aval.shape}"
                    )
            inputs.append(SeriesTracer(trace, v, _polynomial(given, aval, factorial_scaled)))
        result = fun(*[wrap(x) for x in inputs])
        leaves, treedef = _tree.flatten(result)
        outs = [
            trace.derivatives(x, order, factorial_scaled)
            for x in output_values(leaves, "jet", fun, result)
        ]
    values_out = _tree.unflatten(treedef, [wrap(v) for v, _ in outs])
    return values_out, _tree.unflatten(treedef, [[wrap(t) for t in terms] for _, terms in outs])


def _polynomial(terms: Sequence[Any], aval: Aval, scaled: bool) -> Callable[[int], Any]:
    """The coefficients of a curve from its derivatives."""

    def coefficient(order: int) -> Any:
        if order > len(terms):
            return None
        factor = 1.0 / math.factorial(order) if scaled else 1.0
        return match_aval(mul(terms[order - 1], factor), aval)

    return coefficient
