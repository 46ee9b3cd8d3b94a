"""Linear systems whose operator and solver are functions of the user's: derivatives solve further systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import ArgumentError, NonDifferentiableError
from fgrad.ir.jaxpr import Jaxpr
from fgrad.ir.passes import inline_calls
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import convert, sub
from fgrad.primitives.families import neg, zeros_of
from fgrad.primitives.shape import spread
from fgrad.source_info import boundary, function_text, here
from fgrad.tracing import Primitive, record
from fgrad.transforms._arguments import check_callable, leaf_values
from fgrad.transforms.bodies import (
    Body,
    Flags,
    batched_body,
    fresh,
    has_effects,
    or_zeros,
    record_body,
    runner,
)
from fgrad.transforms.call import Call
from fgrad.transforms.carry_types import Typed, side_by_side
from fgrad.transforms.live_lanes import guarded


@parameters
class LinearSolve(Primitive):
    """Solve a linear system.   *constants *b -> *x *further results of the solver

    The programs take constants of their own first: ``counts`` of them, in the order of the fields.
    """

    operator: Jaxpr
    solver: Jaxpr
    transposed_operator: Jaxpr
    transposed_solver: Jaxpr | None
    counts: tuple[int, int, int, int]
    multiple_results = True
    keeps_residuals = True
    unbounded = False

    @property
    def called(self) -> str:
        return "custom_linear_solve"

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        programs = (self.operator, self.solver, self.transposed_operator, self.transposed_solver)
        return tuple([program for program in programs if program is not None])

    def with_jaxprs(self, jaxprs: Sequence[Jaxpr]) -> LinearSolve:
        """The same system with other programs of the same types."""
        operator, solver, transposed, *rest = jaxprs
        return LinearSolve(operator, solver, transposed, rest[0] if rest else None, self.counts)

    def guarded(self, live: Any, inputs: Sequence[Any]) -> tuple[Primitive, Sequence[Any]]:
        """The system, and its operands, in lanes that may not be used: the solvers may loop."""
        first, second, third, fourth, b = self.split(inputs)
        backward, (one, two, three, four) = self.transposed_solver, self.counts
        if backward is not None:
            backward, fourth, four = guarded(backward), [live, *fourth], four + 1
        solver, counts = guarded(self.solver), (one, two + 1, three, four)
        system = LinearSolve(self.operator, solver, self.transposed_operator, backward, counts)
        return system, (*first, live, *second, *third, *fourth, *b)

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return has_effects(self.jaxprs)

    @property
    def size(self) -> int:
        """The number of arrays of the unknown."""
        return len(self.operator.outvars)

    def split(self, values: Sequence[Any]) -> list[list[Any]]:
        """The constants of each program, and the right-hand side."""
        parts, start = [], 0
        for count in self.counts:
            parts.append(list(values[start : start + count]))
            start += count
        return [*parts, list(values[start:])]

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return self.solver.out_avals

    def impl(self, *values: Any) -> Sequence[Any]:
        _, consts, _, _, b = self.split(values)
        return fresh(runner(self.solver)(*consts, *b), values)

    def dependent_outputs(self, flags: Flags, differentiable: bool) -> Flags:
        parts = self.split(flags)
        if not differentiable:
            return (any(flags),) * len(self.solver.outvars)
        rest = len(self.solver.outvars) - self.size
        return (any(parts[0]) or any(parts[4]),) * self.size + (False,) * rest

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        answers = self(*primals)
        none = [None] * len(answers)
        t_consts, _, _, _, t_b = self.split(tangents)
        if all(t is None for t in (*t_consts, *t_b)):
            return answers, none
        consts, _, _, _, b = self.split(primals)
        x = answers[: self.size]
        if any(t is not None for t in t_consts):
            pushed = Call(self.operator).push([*consts, *x], [*t_consts, *none[: self.size]])[1]
            t_b = [_difference(t, p) for t, p in zip(t_b, pushed, strict=True)]
        start = len(primals) - len(b)
        found = self(*primals[:start], *or_zeros(t_b, b))
        return answers, [*found[: self.size], *none[self.size :]]

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        answers = self(*args)
        need_consts, _, _, _, need_b = self.split(needs)
        consts, _, _, _, b = self.split(args)
        operator = None
        if any(need_consts):
            x = answers[: self.size]
            flags = (*need_consts, *(False,) * self.size)
            operator = Call(self.operator).pull(flags, [*consts, *x])[1]
        active = any(need_consts) or any(need_b)
        pullback = LinearSolvePullback(self, operator, list(args[: len(args) - len(b)]), active)
        return answers, pullback

    def transposed(self) -> LinearSolve:
        """The system of the transposed operator, with the same operands."""
        if self.transposed_solver is None:
            raise NonDifferentiableError(
                f"reverse mode of custom_linear_solve needs transpose_solve, or symmetric=True ({here()})"
            )
        a, b, c, d = self.counts
        return LinearSolve(
            self.transposed_operator,
            self.transposed_solver,
            self.operator,
            self.solver,
            (c, d, a, b),
        )

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        flags = self.split(mapped)
        unknown = (True,) * self.size

        def batched(program: Jaxpr | None, own: Sequence[bool]) -> Any:
            if program is None:
                return None
            everything = (True,) * len(program.outvars)
            return batched_body(program, size, (*own, *unknown), everything)[0]

        system = LinearSolve(
            batched(self.operator, flags[0]),
            batched(self.solver, flags[1]),
            batched(self.transposed_operator, flags[2]),
            batched(self.transposed_solver, flags[3]),
            self.counts,
        )
        start = len(args) - self.size
        b = [v if m else spread(v, size) for v, m in zip(args[start:], mapped[start:], strict=True)]
        return system(*args[:start], *b), (True,) * len(self.solver.outvars)


def _difference(one: Any, other: Any) -> Any:
    if other is None:
        return one
    return neg(other) if one is None else sub(one, other)


class LinearSolvePullback:
    """Solves the transposed system, and hands its solution to the constants of the operator."""

    def __init__(self, system: LinearSolve, operator: Any, consts: list[Any], active: bool) -> None:
        self.system = system
        self.operator = operator
        self.consts = consts
        rest = len(system.solver.outvars) - system.size
        self.active = [active] * system.size + [False] * rest

    @property
    def residuals(self) -> list[Any]:
        return [*self.consts, *([] if self.operator is None else self.operator.residuals)]

    @residuals.setter
    def residuals(self, values: list[Any]) -> None:
        self.consts = values[: len(self.consts)]
        if self.operator is not None:
            self.operator.residuals = values[len(self.consts) :]

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        system = self.system
        a, b, c, d = system.counts
        cts = or_zeros(cts[: system.size], system.solver.out_avals[: system.size])
        first, second = self.consts[: a + b], self.consts[a + b :]
        found = system.transposed()(*second, *first, *cts)[: system.size]
        from_operator: list[Any] = [None] * a
        if self.operator is not None:
            from_operator = self.operator([neg(ct) for ct in found])[:a]
        return [*from_operator, *[None] * (b + c + d), *found]


def _transposed(operator: Jaxpr, consts: int) -> Jaxpr:
    """The program of the transposed operator, with the same constants."""
    known = operator.derived.get("transposed")
    if known is not None:
        return known  # type: ignore[no-any-return]
    unknown = operator.in_avals[consts:]

    def run(*flat: Any) -> list[Any]:
        zeros = [zeros_of(aval) for aval in unknown]
        needs = (*(False,) * consts, *(True,) * len(zeros))
        _, pullback = Call(operator).pull(needs, [*flat[:consts], *zeros])
        cts = [ct if a else None for ct, a in zip(flat[consts:], pullback.active, strict=True)]
        return or_zeros(pullback(cts)[consts:], unknown)

    avals = [*operator.in_avals[:consts], *operator.out_avals]
    program = inline_calls(record(run, avals, operator.name, "custom_linear_solve"), rules=False)
    operator.derived["transposed"] = program
    return program


@boundary
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve a linear system by a function of one's own, with derivatives by implicit differentiation.

    Parameters
    ----------
    matvec : callable
        The linear operator: from a tree like `b` to one more. Values that it captures may be differentiated.
    b : tree of arrays
        The right-hand side.
    solve : callable
        From the operator and a right-hand side to the solution. It is not differentiated.
    transpose_solve : callable, optional
        The same for the transposed operator, which reverse mode needs.
    symmetric : bool
        Whether the operator is its own transpose; then `solve` serves for both.
    has_aux : bool
        Whether `solve` returns a pair of a solution and auxiliary data.

    Returns
    -------
    tree
        The solution; with `has_aux`, a pair with the auxiliary data.

    Raises
    ------
    ArgumentError
        If the operator or the solver returns another structure, shape or dtype than that of `b`.
    NonDifferentiableError
        In reverse mode, if there is neither `transpose_solve` nor `symmetric`.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> from fgrad import lax
    >>> def root(a):
    ...     return lax.custom_linear_solve(lambda x: a * x, 6.0, lambda mv, b: b / mv(1.0), symmetric=True)
    >>> float(root(2.0)), float(fgrad.grad(root)(2.0))
    (3.0, -1.5)
    """
    check_callable(matvec, "custom_linear_solve")
    check_callable(solve, "custom_linear_solve")
    leaves, treedef = _tree.flatten(b)
    values = leaf_values(leaves, "custom_linear_solve", matvec, (b,))
    values = [convert(v, aval_of(v).dtype) for v in values]
    avals = [aval_of(v) for v in values]
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    given = Typed(_tree.unflatten(treedef, avals), "b", avals)

    def checking(f: Callable[..., Any], pair: bool) -> Callable[..., list[Any]]:
        def settle(results: list[Any], result: Any) -> list[Any]:
            if pair and not (isinstance(result, tuple) and len(result) == 2):
                raise ArgumentError(
                    f"custom_linear_solve: with has_aux=True, {function_text(f)} must return a pair "
                    "(solution, auxiliary data)"
                )
            part = result[0] if pair else result
            count = len(_tree.leaves(part))
            results = [
                convert(r, a.dtype) if aval_of(r).weak else r
                for r, a in zip(results[:count], avals, strict=False)
            ] + results[min(count, len(avals)) :]
            returned = Typed(part, "b", [aval_of(r) for r in results[:count]])
            if returned.treedef != treedef or returned.avals != avals:
                table = side_by_side(given, returned, ("b", "returned"))
                raise ArgumentError(
                    f"custom_linear_solve: {function_text(f)} must return what b is like, but returns:{table}"
                )
            return results

        return settle

    def recorded(f: Callable[..., Any], of: Callable[..., Any], pair: bool) -> Body:
        names = _tree.leaf_names(b, "b")
        one = _tree.structure((b,))
        return record_body(f, "custom_linear_solve", one, avals, names, checking(of, pair), of)

    operator = recorded(matvec, matvec, False)
    solver = recorded(lambda rhs: solve(matvec, rhs), solve, has_aux)
    consts = len(operator.captured)
    if symmetric:
        transposed = operator.jaxpr
    else:
        transposed = _transposed(operator.jaxpr, consts)

    def vecmat(ct: Any) -> Any:
        inside = leaf_values(_tree.leaves(ct), "custom_linear_solve", matvec, (ct,))
        inside = [convert(v, a.dtype) for v, a in zip(inside, avals, strict=True)]
        outs = Call(transposed)(*operator.captured, *inside)
        return _tree.unflatten(treedef, [wrap(out) for out in outs])

    backward: Body | None = None
    if transpose_solve is not None:
        of = transpose_solve
        applied = matvec if symmetric else vecmat
        backward = recorded(lambda rhs: of(applied, rhs), of, has_aux)
    system = LinearSolve(
        operator.jaxpr,
        solver.jaxpr,
        transposed,
        None if backward is None else backward.jaxpr,
        (consts, len(solver.captured), consts, 0 if backward is None else len(backward.captured)),
    )
    further = [] if backward is None else backward.captured
    captured = [*operator.captured, *solver.captured, *operator.captured, *further]
    outs = system(*captured, *values)
    return _tree.unflatten(solver.treedef, [wrap(out) for out in outs])
