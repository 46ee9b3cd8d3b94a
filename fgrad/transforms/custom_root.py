"""Roots found by functions of the user's, with derivatives by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import _tree
from fgrad.array import value, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import neg
from fgrad.source_info import boundary, function_text
from fgrad.transforms._arguments import check_callable, leaf_values
from fgrad.transforms.bodies import record_body
from fgrad.transforms.call import Call
from fgrad.transforms.carry_types import Typed, side_by_side
from fgrad.transforms.custom_jvp import custom_jvp
from fgrad.transforms.jvp import instantiate, jvp
from fgrad.transforms.linear_solve import custom_linear_solve


@boundary
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Find a root of a function by a function of one's own, with derivatives of the root itself.

    Parameters
    ----------
    f : callable
        The function whose root is sought: from a tree like `initial_guess` to one more. The root is
        differentiated towards the values that `f` captures.
    initial_guess : tree of arrays
        Where the search begins. It has no derivative.
    solve : callable
        From `f` and `initial_guess` to the root. It is not differentiated.
    tangent_solve : callable
        From a linear function and a right-hand side to the solution; it solves for the derivative of the
        root, with the derivative of `f` there, and its transpose in reverse mode.
    has_aux : bool
        Whether `solve` returns a pair of the root and auxiliary data.

    Returns
    -------
    tree
        The root; with `has_aux`, a pair with the auxiliary data.

    Raises
    ------
    ArgumentError
        If `f` or `solve` returns another structure, shape or dtype than that of `initial_guess`.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad import lax
    >>> def square_root(a):
    ...     def newton(f, x):
    ...         return lax.fori_loop(0, 20, lambda i, x: x - f(x) / (2.0 * x), x)
    ...
    ...     return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> round(float(fgrad.grad(square_root)(4.0)), 10)
    0.25
    """
    for given_function in (f, solve, tangent_solve):
        check_callable(given_function, "custom_root")
    leaves, treedef = _tree.flatten(initial_guess)
    values = leaf_values(leaves, "custom_root", f, (initial_guess,))
    values = [convert(v, aval_of(v).dtype) for v in values]
    avals = [aval_of(v) for v in values]
    given = Typed(_tree.unflatten(treedef, avals), "x", avals)

    def checking(of: Callable[..., Any], pair: bool) -> Callable[..., list[Any]]:
        def settle(results: list[Any], result: Any) -> list[Any]:
            if pair and not (isinstance(result, tuple) and len(result) == 2):
                raise ArgumentError(
                    f"custom_root: with has_aux=True, {function_text(of)} must return a pair (root, auxiliary "
                    "data)"
                )
            part = result[0] if pair else result
            count = len(_tree.leaves(part))
            found = [convert(r, aval_of(r).dtype) for r in results[:count]]
            returned = Typed(part, "x", [aval_of(r) for r in found])
            if returned.treedef != treedef or returned.avals != avals:
                table = side_by_side(given, returned, ("initial_guess", "returned"))
                raise ArgumentError(
                    f"custom_root: {function_text(of)} must return what initial_guess is like, but returns:{table}"
                )
            return [*found, *results[count:]]

        return settle

    one, names = _tree.structure((initial_guess,)), _tree.leaf_names(initial_guess, "x")
    function = record_body(f, "custom_root", one, avals, names, checking(f, False))
    solver = record_body(
        lambda guess: solve(f, guess),
        "custom_root",
        one,
        avals,
        names,
        checking(solve, has_aux),
        solve,
    )

    # A rule must not hold the tracers that a body captured: they are arguments.
    residual_program, root_program = function.jaxpr, solver.jaxpr

    def residual(captured: Any, x: Any) -> list[Any]:
        return _applied(residual_program, [*captured, *x])

    @custom_jvp
    def root(captured: Any, of_solver: Any, guess: Any) -> Any:
        return _applied(root_program, [*of_solver, *guess])

    @root.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        answers = root(*primals)
        captured, x = primals[0], answers[: len(avals)]
        moved = jvp(lambda c: residual(c, x), (captured,), (tangents[0],))[1]
        slope = custom_linear_solve(
            lambda v: jvp(lambda x: residual(captured, x), (list(x),), (v,))[1],
            moved,
            _of_trees(tangent_solve, treedef),
            _of_trees(tangent_solve, treedef),
        )
        further = [wrap(instantiate(None, value(a))) for a in answers[len(avals) :]]
        return answers, [*[wrap(neg(value(s))) for s in slope], *further]

    outs = root(
        [wrap(c) for c in function.captured],
        [wrap(c) for c in solver.captured],
        [wrap(v) for v in values],
    )
    return _tree.unflatten(solver.treedef, outs)


def _applied(program: Any, args: list[Any]) -> list[Any]:
    return [wrap(out) for out in Call(program)(*[value(a) for a in args])]


def _of_trees(tangent_solve: Callable[..., Any], treedef: Any) -> Callable[..., list[Any]]:
    """The user's solver, for flat lists."""

    def solve(linear: Callable[[list[Any]], list[Any]], rhs: list[Any]) -> list[Any]:
        def of_trees(v: Any) -> Any:
            return _tree.unflatten(treedef, linear(_tree.leaves(v)))

        return _tree.leaves(tangent_solve(of_trees, _tree.unflatten(treedef, rhs)))

    return solve
