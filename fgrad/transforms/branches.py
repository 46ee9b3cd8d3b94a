"""Choosing between functions of trees: `cond` and `switch`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import (
    ArgumentError,
    BranchTypeError,
    ConcretizationTypeError,
    PredicateTypeError,
)
from fgrad.ir.jaxpr import Jaxpr, Var
from fgrad.ir.passes import used_inputs
from fgrad.primitives.elementwise import maximum, minimum, not_equal
from fgrad.primitives.promotion import common_dtype
from fgrad.source_info import boundary, function_text, here
from fgrad.tracing import concrete
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    leaf_values,
    output_values,
)
from fgrad.transforms.bodies import (
    Body,
    Role,
    coerced,
    is_number,
    record_body,
    with_inputs,
    with_output_types,
)
from fgrad.transforms.carry_types import Typed, side_by_side, type_words
from fgrad.transforms.cond import bind_cond

#: Set while branches are recorded for their types alone: those inside of them are not.
_only_types: ContextVar[bool] = ContextVar("fgrad_only_types", default=False)
_NO_OPERAND: Any = object()


@boundary
def cond(
    pred: Any,
    true_fun: Any,
    false_fun: Any,
    *operands: Any,
    operand: Any = _NO_OPERAND,
    linear: Any = None,
) -> Any:
    """Call one of two functions.

    Parameters
    ----------
    pred : bool or number
        A scalar; a number chooses `true_fun` unless it is zero.
    true_fun, false_fun : callable
        Functions of `operands`, whose results have the same structure, shapes and dtypes. They may capture
        values too.
    *operands : tree of arrays
        What the function is called with.
    operand : tree of arrays, optional
        A single operand, given by name.

    Returns
    -------
    tree
        The result of the function that was called.

    Raises
    ------
    BranchTypeError
        If the results of the functions differ in structure, shape or dtype.
    PredicateTypeError
        If `pred` is not a scalar.

    Notes
    -----
    Where the value of `pred` is known, as under ``grad``, the function is called as it is. Under ``jit``
    both are recorded, and one of them runs. Where `pred` depends on the example of a ``vmap``, both run on
    all examples and the results are selected: what is computed for examples of the other function neither
    raises nor warns, nor enters a derivative.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> root = lambda x: fgrad.lax.cond(x > 0, fnp.sqrt, lambda x: 0.0 * x, x)
    >>> fgrad.vmap(fgrad.grad(root))(fnp.array([4.0, -1.0]))
    Array([0.25, 0.  ], dtype=float64)
    """
    if operand is not _NO_OPERAND:
        if operands:
            raise ArgumentError("cond: give operands by position or one by name, not both")
        operands = (operand,)
    if (
        len(operands) == 2
        and callable(false_fun)
        and callable(operands[1])
        and not callable(true_fun)
    ):
        # One operand for each function: cond(pred, true_operand, true_fun, false_operand, false_fun).
        called, other = false_fun, operands[1]
        return cond(pred, lambda a, b: called(a), lambda a, b: other(b), true_fun, operands[0])
    check_callable(true_fun, "cond")
    check_callable(false_fun, "cond")
    (inside,) = output_values([pred], "cond", true_fun, pred)
    aval = aval_of(inside)
    if aval.shape or aval.dtype.kind not in "biuf":
        raise PredicateTypeError(
            f"cond of {function_text(true_fun)}: pred is a {type_words(aval)}, at {here()}; give a scalar truth "
            "value, or choose by elements with fgrad.numpy.where"
        )
    index = inside if aval.dtype.kind == "b" else not_equal(inside, 0)
    return _choose("cond", ("false_fun", "true_fun"), index, (false_fun, true_fun), operands)


@boundary
def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NO_OPERAND
) -> Any:
    """Call one of several functions.

    Parameters
    ----------
    index : int
        Which function to call; an index out of range is clipped.
    branches : sequence of callable
        Functions of `operands`, whose results have the same structure, shapes and dtypes.
    *operands : tree of arrays
        What the function is called with.

    Returns
    -------
    tree
        The result of the function that was called.

    Raises
    ------
    BranchTypeError
        If the results of the functions differ in structure, shape or dtype.
    PredicateTypeError
        If `index` is not an integer scalar.

    Examples
    --------
    >>> from fgrad import lax
    >>> float(lax.switch(1, [lambda x: x, lambda x: x * x], 3.0))
    9.0
    """
    functions = tuple(branches)
    if operand is not _NO_OPERAND:
        operands = (operand,)
    if not functions:
        raise ArgumentError("switch: branches is empty; give one function at least")
    for function in functions:
        check_callable(function, "switch")
    (inside,) = output_values([index], "switch", functions[0], index)
    aval = aval_of(inside)
    if aval.shape or aval.dtype.kind not in "iu":
        raise PredicateTypeError(
            f"switch of {function_text(functions[0])}: index is a {type_words(aval)}, at {here()}; give an "
            "integer scalar"
        )
    if len(functions) == 1:
        return _role("branches[0]", operands).call(functions[0], operands, "switch")
    clipped = minimum(maximum(inside, 0), len(functions) - 1)
    names = tuple(f"branches[{i}]" for i in range(len(functions)))
    return _choose("switch", names, clipped, functions, operands)


def _choose(
    construct: str,
    names: tuple[str, ...],
    index: Any,
    functions: tuple[Callable[..., Any], ...],
    operands: tuple[Any, ...],
) -> Any:
    known = concrete(index)
    if known is not None:
        return _call_known(construct, names, int(known), functions, operands)
    leaves, treedef = _tree.flatten(operands)
    values = leaf_values(leaves, construct, functions[-1], operands)
    bodies = [
        _record(construct, name, f, operands, treedef, values)
        for name, f in zip(names, functions, strict=True)
    ]
    avals = _result_types(construct, names, functions, bodies)
    branches, captured = _with_common_inputs(
        [b.jaxpr for b in bodies], [b.captured for b in bodies]
    )
    branches = [with_output_types(b, avals) for b in branches]
    used = [any(column) for column in zip(*map(used_inputs, branches), strict=True)]
    narrowed = tuple(with_inputs(b, used) for b in branches)
    given = [v for v, u in zip([*captured, *values], used, strict=True) if u]
    outs = bind_cond(narrowed, index, coerced(given, narrowed[0].in_avals))
    return _tree.unflatten(bodies[0].treedef, [wrap(out) for out in outs])


def _record(
    construct: str,
    name: str,
    f: Callable[..., Any],
    operands: Any,
    treedef: Any,
    values: Sequence[Any],
) -> Body:
    names = argument_leaf_names(f, operands)
    avals = [aval_of(v) for v in values]
    return record_body(f, construct, treedef, avals, names, role=_role(name, operands))


def _role(name: str, operands: Sequence[Any]) -> Role:
    return Role(name, tuple([f"operand {i}" for i in range(len(operands))]))


def _call_known(
    construct: str,
    names: tuple[str, ...],
    index: int,
    functions: tuple[Callable[..., Any], ...],
    operands: tuple[Any, ...],
) -> Any:
    """Call the function that was chosen; the others are recorded for their types alone."""
    # A number that it is given is an operand, and so no constant when it is returned.
    given = _tree.map(lambda x: wrap(x) if is_number(x) or type(x) is np.ndarray else x, operands)
    result = _role(names[index], operands).call(functions[index], given, construct)
    if _only_types.get():
        return result
    leaves, treedef = _tree.flatten(result)
    values = output_values(leaves, construct, functions[index], result)
    operand_leaves, operand_treedef = _tree.flatten(operands)
    operand_values = leaf_values(operand_leaves, construct, functions[index], operands)
    own = _Results(names[index], treedef, _results(map(aval_of, values), map(is_number, leaves)))
    token = _only_types.set(True)
    try:
        for number, function in enumerate(functions):
            if number == index:
                continue
            try:
                body = _record(
                    construct, names[number], function, operands, operand_treedef, operand_values
                )
            except ConcretizationTypeError:
                # It branches on values, which only the function that runs needs to know.
                continue
            own = _joined(construct, functions[index], own, _results_of(names[number], body))
    finally:
        _only_types.reset(token)
    return _tree.unflatten(treedef, [wrap(v) for v in coerced(values, own.avals)])


# ---- types of results ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Result:
    """The type of a result; a Python number that is returned as it is takes the type of others."""

    aval: Aval
    is_number: bool


class _Results(NamedTuple):
    """What a branch returns, or several alike."""

    name: str
    treedef: Any
    leaves: list[_Result]

    @property
    def avals(self) -> list[Aval]:
        return [leaf.aval for leaf in self.leaves]


def _results(avals: Iterable[Aval], numbers: Iterable[bool]) -> list[_Result]:
    return list(map(_Result, avals, numbers))


def _results_of(name: str, body: Body) -> _Results:
    return _Results(name, body.treedef, _results(body.jaxpr.out_avals, body.numbers))


def _result_types(
    construct: str,
    names: tuple[str, ...],
    functions: tuple[Callable[..., Any], ...],
    bodies: Sequence[Body],
) -> list[Aval]:
    """The types of the results, which all functions can return."""
    own, *others = [_results_of(name, body) for name, body in zip(names, bodies, strict=True)]
    for other in others:
        own = _joined(construct, functions[0], own, other)
    return own.avals


def _joined(
    construct: str, function: Callable[..., Any], own: _Results, other: _Results
) -> _Results:
    """What stands for the results of both.

    Raises
    ------
    BranchTypeError
        If nothing does.
    """
    if own.treedef == other.treedef:
        found = [_common(a, b) for a, b in zip(own.leaves, other.leaves, strict=True)]
        leaves = [leaf for leaf in found if leaf is not None]
        if len(leaves) == len(found):
            return _Results(own.name, own.treedef, leaves)
    left, right = (
        Typed(_tree.unflatten(r.treedef, r.leaves), "result", r.leaves) for r in (own, other)
    )
    heads = own.name, other.name
    table = side_by_side(left, right, heads, lambda a, b: _common(a, b) is not None, _in_words)
    raise BranchTypeError(
        f"{construct} of {function_text(function)}: all branches must return the same structure, shapes and "
        f"dtypes, but they return:{table}\nconvert with .astype, or return the same containers ({here()})"
    )


def _common(one: _Result, other: _Result) -> _Result | None:
    """The type of a result that is one or the other; None where there is none."""
    if one.aval.shape != other.aval.shape:
        return None
    if one.aval.dtype == other.aval.dtype:
        aval = other.aval if one.aval.weak else one.aval
        return _Result(aval, one.is_number and other.is_number)
    if one.is_number == other.is_number:
        return None
    rest = other if one.is_number else one
    return rest if common_dtype((one.aval, other.aval)) == rest.aval.dtype else None


def _in_words(result: _Result | None) -> str:
    if result is None or result.is_number or not result.aval.weak:
        return type_words(None if result is None else result.aval)
    return f"{result.aval.dtype.name} scalar (weak)"


def _with_common_inputs(
    jaxprs: Sequence[Jaxpr], captured: Sequence[Sequence[Any]]
) -> tuple[list[Jaxpr], list[Any]]:
    """Programs that take what any of them captured, and then the operands."""
    everything: dict[int, Any] = {id(v): v for values in captured for v in values}
    programs = []
    for jaxpr, values in zip(jaxprs, captured, strict=True):
        own = {id(v): var for v, var in zip(values, jaxpr.invars, strict=False)}
        inputs = [own[key] if key in own else Var(aval_of(v)) for key, v in everything.items()]
        programs.append(
            Jaxpr(
                jaxpr.constvars,
                jaxpr.consts,
                [*inputs, *jaxpr.invars[len(values) :]],
                jaxpr.eqns,
                jaxpr.outvars,
                jaxpr.name,
            )
        )
    return programs, list(everything.values())
