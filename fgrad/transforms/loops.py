"""Loops over functions of trees: `scan`, `while_loop`, `fori_loop` and `map`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree, dtypes
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.config import jit_is_disabled
from fgrad.errors import ArgumentError, IndexTypeError, LoopLengthError, PredicateTypeError
from fgrad.ir.jaxpr import Jaxpr
from fgrad.primitives.elementwise import convert, greater
from fgrad.primitives.families import add, reshape, zeros_of
from fgrad.primitives.shape import Concatenate, expand_dims, iota, static_index
from fgrad.source_info import boundary, function_text, here
from fgrad.tracing import concrete, kind_in_words
from fgrad.transforms._arguments import (
    check_callable,
    leaf_values,
    output_values,
    signature_names,
)
from fgrad.transforms.bodies import Body, Role, coerced, record_body
from fgrad.transforms.carry_types import settle_carry, type_words
from fgrad.transforms.checkpoint import checkpoint
from fgrad.transforms.halving import BLOCK, scan_by_halves
from fgrad.transforms.scan import bind_scan
from fgrad.transforms.vmap import vmap
from fgrad.transforms.while_loop import While

_STEP = Role("f", ("the carry", "an entry of xs"))
_ENTRY = Role("f", ("an entry of xs",))
_CONDITION = Role("cond_fun", ("the carry",))
_BODY = Role("body_fun", ("the carry",))
_COUNTED_BODY = Role("body_fun", ("the index", "the carry"))


@boundary
def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    recompute: str | None = None,
) -> Any:
    """Run a function along the leading axis of arrays, handing a carry from step to step.

    Parameters
    ----------
    f : callable
        From a carry and one entry of `xs` to a pair: the next carry, and a result of this step.
    init : tree of arrays
        The first carry. Carries keep their structure, shapes and dtypes; a Python number takes the dtype
        that `f` returns.
    xs : tree of arrays, optional
        The entries along axis 0 of each array. With None, `f` gets None, and `length` tells how often.
    length : int, optional
        The number of steps, where `xs` does not tell it.
    reverse : bool
        Whether to begin with the last entry. The result of a step lies where its entry does.
    unroll : int or bool
        Accepted for compatibility, without effect.
    recompute : {None, "steps", "halving"}
        What reverse mode computes again, to keep less. With ``"steps"``, as with ``fgrad.checkpoint`` around
        `f`, it keeps the carries and computes each step once more. With ``"halving"`` it keeps a number of
        carries that grows with the logarithm of the length, and computes each step once more for each time
        that the length can be halved, down to blocks of eight steps.

    Returns
    -------
    carry, ys
        The last carry, and the results of all steps, stacked along a new leading axis.

    Raises
    ------
    CarryTypeError
        If `f` returns a carry unlike the one that it takes.
    LoopLengthError
        If arrays of `xs` differ in length, or no length is given.

    Notes
    -----
    `f` is recorded once; values are unknown to it, as under ``jit``. Reverse mode keeps, for each step,
    what the derivative of the step reads and nothing else has: a cumulative sum keeps nothing. It computes
    no step again unless `recompute` says so.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> total, partial = lax.scan(lambda c, x: (c + x, c + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> partial
    Array([1., 3., 6.], dtype=float64)
    """
    if not isinstance(unroll, (int, np.integer)) or unroll < 0:
        raise ArgumentError(
            f"scan of {function_text(f)}: unroll is {unroll!r}; give a positive integer or a bool"
        )
    if recompute not in (None, "steps", "halving"):
        raise ArgumentError(
            f'scan of {function_text(f)}: recompute is {recompute!r}; give None, "steps" or "halving"'
        )
    if recompute is None or jit_is_disabled():
        return _scan("scan", f, f, init, xs, length, bool(reverse))
    check_callable(f, "scan")
    step = checkpoint(f) if recompute == "steps" else f

    def part(function: Any, carry: Any, rows: Any, steps: int | None, backwards: bool) -> Any:
        return _scan("scan", f, function, carry, rows, steps, backwards)

    rows = leaf_values(_tree.leaves(xs), "scan", f, (init, xs))
    where = f"scan of {function_text(f)}"
    steps = _length(where, [aval_of(r) for r in rows], _tree.leaf_names(xs, "xs"), length)
    if recompute == "steps" or steps <= BLOCK:
        return part(step, init, xs, steps, bool(reverse))
    return scan_by_halves(part, f, init, xs, steps, bool(reverse))


def _scan(
    construct: str,
    user_function: Callable[..., Any],
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    length: Any,
    reverse: bool,
) -> Any:
    check_callable(user_function, construct)
    carry, treedef = _tree.flatten(init)
    rows = _tree.leaves(xs)
    values = leaf_values([*carry, *rows], construct, f, (init, xs))
    carry, rows = values[: len(carry)], values[len(carry) :]
    where = f"{construct} of {function_text(user_function)}"
    steps = _length(where, [aval_of(r) for r in rows], _tree.leaf_names(xs, "xs"), length)
    role = _ENTRY if construct == "map" else _STEP
    if jit_is_disabled() and steps:
        step = lambda *args: role.call(f, args, construct, user_function)  # noqa: E731
        return _scan_plainly(step, init, xs, steps, reverse)
    inner = [Aval(aval_of(r).shape[1:], aval_of(r).dtype) for r in rows]
    both = _tree.structure((init, xs))
    roots = ["carry", *signature_names(user_function, len(role.wanted))][-2:]
    names = [*_tree.leaf_names(init, roots[0]), *_tree.leaf_names(xs, roots[1])]

    def record(avals: Sequence[Aval], settle: Callable[..., list[Any]]) -> Body:
        return record_body(f, construct, both, [*avals, *inner], names, settle, user_function, role)

    def carry_of(result: Any) -> Any:
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ArgumentError(
                f"{where}: the function must return a pair (carry, y), where y may be None, but it "
                f"returned {kind_in_words(result)}"
            )
        return result[0]

    avals, body = settle_carry(where, init, [aval_of(c) for c in carry], record, carry_of)
    carry = coerced(carry, avals)
    _, ys_treedef = _children(body.treedef)
    if steps:
        outs = bind_scan(body.jaxpr, body.captured, carry, rows, steps, reverse)
    else:
        results = body.jaxpr.out_avals[len(carry) :]
        outs = [*carry, *[zeros_of(Aval((0, *a.shape), a.dtype)) for a in results]]
    last = _tree.unflatten(treedef, [wrap(c) for c in outs[: len(carry)]])
    return last, _tree.unflatten(ys_treedef, [wrap(y) for y in outs[len(carry) :]])


def _children(treedef: Any) -> tuple[Any, Any]:
    """The structures of the two entries of a pair."""
    one, other = treedef.children()
    return one, other


def _length(where: str, avals: Sequence[Aval], names: Sequence[str], length: Any) -> int:
    """The number of steps.

    Raises
    ------
    LoopLengthError
        If it is not the same everywhere, or told nowhere.
    """
    steps: int | None = None
    first = "length"
    if length is not None:
        try:
            steps = length.__index__()
        except (AttributeError, TypeError):
            raise ArgumentError(f"{where}: length is {length!r}; give an integer") from None
        if steps < 0:
            raise LoopLengthError(f"{where}: length is {steps}; give a number that is not negative")
    for aval, name in zip(avals, names, strict=True):
        if not aval.shape:
            raise LoopLengthError(
                f"{where}: {name} is a scalar, which has no axis to run along; give an array, or capture it"
            )
        if steps is None:
            steps, first = aval.shape[0], name
        elif aval.shape[0] != steps:
            given = f"length is {steps}" if first == "length" else f"{first} has {steps} entries"
            raise LoopLengthError(
                f"{where}: {given}, but {name}, of shape {aval.shape}, has {aval.shape[0]}; give arrays of one "
                "length"
            )
    if steps is None:
        raise LoopLengthError(
            f"{where}: there is no array in xs, so that the number of steps is unknown; give length"
        )
    return steps


def _scan_plainly(f: Callable[..., Any], init: Any, xs: Any, steps: int, reverse: bool) -> Any:
    """The loop in Python, for debugging with ``disable_jit``."""
    carry, results = init, []
    for step in reversed(range(steps)) if reverse else range(steps):
        carry, y = f(carry, _tree.map(lambda row, step=step: wrap(_row(row, step)), xs))
        results.append(y)
    if reverse:
        results.reverse()
    return carry, _tree.map(_stacked, results[0], *results[1:])


def _row(row: Any, step: int) -> Any:
    (inside,) = output_values([row], "scan", _row, row)
    return reshape(static_index(inside, (slice(step, step + 1, 1),)), aval_of(inside).shape[1:])


def _stacked(*entries: Any) -> Any:
    return wrap(
        Concatenate(0)(*[expand_dims(v, (0,)) for v in output_values(entries, "scan", _row, 0)])
    )


@boundary
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Run a function over and over while a condition holds.

    Parameters
    ----------
    cond_fun : callable
        From the carry to a scalar truth value: whether there is another step.
    body_fun : callable
        From the carry to the next one, of the same structure, shapes and dtypes.
    init_val : tree of arrays
        The first carry.

    Returns
    -------
    tree
        The carry for which the condition does not hold.

    Raises
    ------
    CarryTypeError
        If `body_fun` returns a carry unlike the one that it takes.
    PredicateTypeError
        If `cond_fun` does not return a scalar truth value.
    UnboundedLoopError
        In reverse mode, when the cotangent of a carry that depends on what is differentiated reaches the
        loop.

    Notes
    -----
    How often the loop runs is known only when it has run: forward mode differentiates it, reverse mode does
    not. `scan` and `fori_loop` with known bounds have both; `custom_root` and ``custom_vjp`` differentiate
    what a loop solves, instead of its steps.

    Under ``vmap``, where the condition depends on the example, the loop runs until all examples are done,
    and those that are keep their carry.

    Examples
    --------
    >>> from fgrad import lax
    >>> int(lax.while_loop(lambda n: n < 100, lambda n: 2 * n, 3))
    192
    """
    check_callable(cond_fun, "while_loop")
    check_callable(body_fun, "while_loop")
    if jit_is_disabled():
        carry = init_val
        while _CONDITION.call(cond_fun, (carry,), "while_loop"):
            carry = _BODY.call(body_fun, (carry,), "while_loop")
        return carry
    return _while("while_loop", body_fun, cond_fun, body_fun, init_val)


def _while(
    construct: str,
    user_function: Callable[..., Any],
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init: Any,
    counted: bool = False,
) -> Any:
    where = f"{construct} of {function_text(user_function)}"
    leaves, treedef = _tree.flatten(init)
    values = leaf_values(leaves, construct, body_fun, (init,))
    one_argument = _tree.structure((init,))
    role = _COUNTED_BODY if counted else _BODY
    *of_index, root = signature_names(user_function, len(role.wanted))
    own, hidden = (init[1], 1) if counted else (init, 0)
    names = [*of_index, *_tree.leaf_names(own, root)]

    def record(avals: Sequence[Aval], settle: Callable[..., list[Any]]) -> Body:
        return record_body(
            body_fun, construct, one_argument, avals, names, settle, user_function, role
        )

    avals, body = settle_carry(
        where,
        own,
        [aval_of(v) for v in values],
        record,
        lambda state: state[1] if counted else state,
        hidden,
    )

    def check(values: list[Any], result: Any) -> list[Any]:
        found = [aval_of(v) for v in values]
        if not _tree.structure(result).is_leaf() or found[0].shape or found[0].dtype.kind != "b":
            what = type_words(found[0]) if len(found) == 1 else kind_in_words(result)
            raise PredicateTypeError(
                f"while_loop of {function_text(cond_fun)}: the condition must return one truth value, but it "
                f"returned {what}; compare with 0, or use fgrad.numpy.any or fgrad.numpy.all"
            )
        return values

    if not counted:
        names = _tree.leaf_names(init, *signature_names(cond_fun, 1))
    of_condition = None if counted else _CONDITION
    condition = record_body(
        cond_fun, construct, one_argument, avals, names, check, cond_fun, of_condition
    )
    consts = len(condition.captured), len(body.captured)
    loop = While(condition.jaxpr, body.jaxpr, *consts, construct)
    carry = coerced(values, avals)
    outs = loop(*condition.captured, *body.captured, *carry) if carry else []
    return _tree.unflatten(treedef, [wrap(out) for out in outs])


@boundary
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Run a function for each integer from `lower` up to, and without, `upper`.

    Parameters
    ----------
    lower, upper : int
        The bounds. Where they are known while tracing, the loop is a `scan`, which reverse mode
        differentiates; else it is a `while_loop`, which only forward mode does.
    body_fun : callable
        From the integer and the carry to the next carry. The integer acts as a Python int: it takes the
        dtype of what it meets.
    init_val : tree of arrays
        The first carry.
    unroll : int or bool, optional
        Accepted for compatibility, without effect.

    Returns
    -------
    tree
        The last carry.

    Raises
    ------
    CarryTypeError
        If `body_fun` returns a carry unlike the one that it takes.
    UnboundedLoopError
        In reverse mode, where the bounds are unknown while tracing.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad import lax
    >>> power = lambda x: lax.fori_loop(0, 4, lambda i, c: c * x, 1.0)
    >>> float(fgrad.grad(power)(3.0))
    108.0
    """
    check_callable(body_fun, "fori_loop")
    bounds = [_bound(body_fun, name, b) for name, b in (("lower", lower), ("upper", upper))]
    known = [concrete(b) for b in bounds]
    where = f"fori_loop of {function_text(body_fun)}"
    integer = dtypes.canonical(dtypes.INT64)
    if None in known:
        return _fori_of_unknown_length(bounds, body_fun, init_val)
    start, stop = int(known[0]), int(known[1])
    if jit_is_disabled():
        carry = init_val
        for i in range(start, stop):
            carry = _COUNTED_BODY.call(body_fun, (i, carry), "fori_loop")
        return carry
    leaves, treedef = _tree.flatten(init_val)
    values = leaf_values(leaves, "fori_loop", body_fun, (0, init_val))
    both = _tree.structure((0, init_val))
    index_name, root = signature_names(body_fun, 2)
    names = [index_name, *_tree.leaf_names(init_val, root)]

    def step(i: Any, carry: Any) -> Any:
        return body_fun(wrap(convert(i, integer, True)), carry)

    def record(avals: Sequence[Aval], settle: Callable[..., list[Any]]) -> Body:
        row = [Aval((), integer)]
        types = [*row, *avals]
        return record_body(step, "fori_loop", both, types, names, settle, body_fun, _COUNTED_BODY)

    avals, body = settle_carry(
        where, init_val, [aval_of(v) for v in values], record, lambda carry: carry
    )
    carry = coerced(values, avals)
    if stop > start:
        moved = _index_last(body)
        steps = stop - start
        counts = iota(steps, integer)
        rows = [add(counts, start) if start else counts]
        carry = bind_scan(moved, body.captured, carry, rows, steps, False)
    return _tree.unflatten(treedef, [wrap(c) for c in carry])


def _index_last(body: Body) -> Jaxpr:
    """The body with its index behind the carry, where a scan has its rows."""
    invars = body.jaxpr.invars
    start = len(body.captured)
    index, carry = invars[start], invars[start + 1 :]
    jaxpr = body.jaxpr
    order = [*invars[:start], *carry, index]
    return Jaxpr(jaxpr.constvars, jaxpr.consts, order, jaxpr.eqns, jaxpr.outvars, jaxpr.name)


def _fori_of_unknown_length(bounds: Sequence[Any], body_fun: Callable[..., Any], init: Any) -> Any:
    lower, upper = bounds
    integer = dtypes.canonical(dtypes.INT64)

    def goes_on(state: Any) -> Any:
        return wrap(greater(upper, add(lower, state[0])))

    def step(state: Any) -> Any:
        counter, carry = state
        i = convert(add(lower, counter), integer, True)
        return counter + 1, body_fun(wrap(i), carry)

    return _while("fori_loop", body_fun, goes_on, step, (0, init), counted=True)[1]


def _bound(f: Callable[..., Any], name: str, bound: Any) -> Any:
    """A bound as an inside value."""
    (inside,) = output_values([bound], "fori_loop", f, bound)
    aval = aval_of(inside)
    if aval.shape or aval.dtype.kind not in "iu":
        raise IndexTypeError(
            f"fori_loop of {function_text(f)}: {name} is a {type_words(aval)}, at {here()}; give an integer"
        )
    return inside


@boundary
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply a function to each entry of arrays, one after the other.

    Parameters
    ----------
    f : callable
        From one entry of `xs` to a tree of arrays.
    xs : tree of arrays
        The entries along axis 0 of each array.
    batch_size : int, optional
        How many entries to compute at once, by ``vmap``. Without it, one at a time.

    Returns
    -------
    tree
        The results, stacked along a new leading axis.

    Raises
    ------
    LoopLengthError
        If arrays of `xs` differ in length.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.map(lambda x: x @ x, np.arange(6.0).reshape(3, 2))
    Array([ 1., 13., 41.], dtype=float64)
    """
    check_callable(f, "map")
    if batch_size is None:
        return _map_one_by_one(f, xs)
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ArgumentError(
            f"map of {function_text(f)}: batch_size is {batch_size!r}; give a positive integer"
        )
    leaves, treedef = _tree.flatten(xs)
    rows = leaf_values(leaves, "map", f, (xs,))
    where = f"map of {function_text(f)}"
    steps = _length(where, [aval_of(r) for r in rows], _tree.leaf_names(xs, "xs"), None)
    size = int(batch_size)
    whole = steps // size
    batched = vmap(f)

    def part(start: int, stop: int, shape: tuple[int, ...]) -> Any:
        picked = [static_index(r, (slice(start, stop, 1),)) for r in rows]
        return _tree.unflatten(
            treedef, [wrap(reshape(p, (*shape, *aval_of(p).shape[1:]))) for p in picked]
        )

    pieces = []
    if whole:
        results = _map_one_by_one(batched, part(0, whole * size, (whole, size)))
        pieces.append(_tree.map(_flat, results))
    if steps % size or not steps:
        pieces.append(batched(part(whole * size, steps, (steps - whole * size,))))
    return pieces[0] if len(pieces) == 1 else _tree.map(_joined, *pieces)


def _map_one_by_one(f: Callable[[Any], Any], xs: Any) -> Any:
    return _scan("map", f, lambda carry, x: (carry, f(x)), (), xs, None, False)[1]


def _flat(x: Any) -> Any:
    (inside,) = output_values([x], "map", _flat, x)
    shape = aval_of(inside).shape
    return wrap(reshape(inside, (shape[0] * shape[1], *shape[2:])))


def _joined(one: Any, other: Any) -> Any:
    return wrap(Concatenate(0)(*output_values([one, other], "map", _joined, one)))
