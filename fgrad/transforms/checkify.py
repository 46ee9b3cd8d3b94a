"""Errors as results: an interpreter that carries the first failed check along, through loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import INT64, canonical, is_inexact
from fgrad.errors import ArgumentError, CheckError
from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, derivative_rules, eval_jaxpr, sub_jaxprs
from fgrad.ir.passes import without_effects
from fgrad.primitives.elementwise import (
    convert,
    equal,
    greater_equal,
    isnan,
    less,
    logical_and,
    logical_or,
    not_equal,
    select,
)
from fgrad.primitives.families import reshape, zeros_of
from fgrad.primitives.index_kernels import refuses
from fgrad.primitives.indexing import AddAt, Gather, Indexed, forgiving
from fgrad.primitives.reduction import Any_, Argmax
from fgrad.source_info import boundary, function_text
from fgrad.tracing import hoist_constants, record
from fgrad.transforms._arguments import check_callable, leaf_values, transformed
from fgrad.transforms.call import Call
from fgrad.transforms.checks import CODE, NO_ERROR, Check, ErrorCategory, Site
from fgrad.transforms.cond import Cond
from fgrad.transforms.make_jaxpr import trace_to_jaxpr
from fgrad.transforms.scan import Scan
from fgrad.transforms.while_loop import While

Categories = frozenset[ErrorCategory]

user_checks: Categories = frozenset((ErrorCategory.USER,))
nan_checks: Categories = frozenset((ErrorCategory.NAN,))
div_checks: Categories = frozenset((ErrorCategory.DIVISION,))
index_checks: Categories = frozenset((ErrorCategory.INDEX,))
float_checks: Categories = nan_checks | div_checks
automatic_checks: Categories = float_checks | index_checks
all_checks: Categories = automatic_checks | user_checks

_DIVISIONS = frozenset(("div", "floor_divide", "remainder", "fmod"))


# ---- where checks may fail -----------------------------------------------------------------------


def _automatic(eqn: Eqn, enabled: Categories) -> list[Site]:
    """The places at which an equation may fail by itself."""
    primitive, found = eqn.primitive, []
    if ErrorCategory.INDEX in enabled and _may_miss(primitive):
        position = Aval((), canonical(INT64))
        shape = primitive.shape if isinstance(primitive, AddAt) else eqn.inputs[0].aval.shape
        for axis in primitive.axes:

            def missed(index: Any, axis: int = axis) -> str:
                return (
                    f"index {int(index)} is out of range for axis {axis} with size {shape[axis]}, in an array of "
                    f"shape {shape}"
                )

            found.append(Site(ErrorCategory.INDEX, eqn.source, [position], missed))
    called = primitive.called
    if ErrorCategory.DIVISION in enabled and primitive.name in _DIVISIONS:
        found.append(Site(ErrorCategory.DIVISION, eqn.source, [], lambda: f"{called} by zero"))
    makes = any(is_inexact(var.aval.dtype) for var in eqn.outputs)
    if ErrorCategory.NAN in enabled and makes and not primitive.view:
        found.append(Site(ErrorCategory.NAN, eqn.source, [], lambda: f"{called} made a NaN"))
    return found


def _may_miss(primitive: Any) -> bool:
    return isinstance(primitive, Indexed) and (refuses(primitive.mode) or primitive.mode == "fill")


def _body_of(primitive: Any) -> bool:
    """Whether the checks of a primitive are those of its programs."""
    if primitive.has_rule:
        # Its derivative is not that of its program, which is looked into for checks of the user's only.
        return bool(primitive.effectful)
    return isinstance(primitive, (Call, Cond, Scan, While)) or primitive.inlinable is not None


def sites_of(jaxpr: Jaxpr, enabled: Categories) -> tuple[Site, ...]:
    """Every place in a program, and the programs in it, where an enabled check may fail."""
    key = ("checkify sites", enabled)
    known = jaxpr.derived.get(key)
    if known is None:
        own = [_sites_of_equation(eqn, enabled) for eqn in jaxpr.eqns]
        jaxpr.derived["checkify equations", enabled] = own
        every = dict.fromkeys(site for sites in own for site in sites)
        known = jaxpr.derived[key] = tuple(every)
    return known


def _sites_of_equation(eqn: Eqn, enabled: Categories) -> Sequence[Site]:
    primitive = eqn.primitive
    if isinstance(primitive, Check):
        return [site for site in primitive.sites if site.category in enabled]
    if _body_of(primitive):
        bodies = sub_jaxprs(primitive) or (primitive.inlinable,)
        return list(dict.fromkeys(s for body in bodies for s in sites_of(body, enabled)))
    return _automatic(eqn, enabled)


# ---- the interpreter -----------------------------------------------------------------------------


class _State:
    """The code of the first check that failed, 0 if none did, and the values for the messages."""

    def __init__(self, code: Any, payloads: dict[Site, list[Any]]) -> None:
        self.code = code
        self.payloads = payloads

    @staticmethod
    def clear(sites: Iterable[Site]) -> _State:
        return _State(NO_ERROR, {site: [zeros_of(a) for a in site.avals] for site in sites})

    def flat(self, sites: Sequence[Site]) -> list[Any]:
        return [self.code, *[v for site in sites for v in self.payloads[site]]]

    @staticmethod
    def from_flat(sites: Sequence[Site], values: Sequence[Any]) -> _State:
        code, *rest = values
        left = iter(rest)
        return _State(code, {site: [next(left) for _ in site.avals] for site in sites})

    def fail(self, site: Site, code: Any, payload: Sequence[Any]) -> None:
        """Note that a check failed, if `code` is that of its site and none did before."""
        first = logical_and(equal(self.code, 0), equal(code, site.code))
        self.payloads[site] = [
            select(first, new, old) for new, old in zip(payload, self.payloads[site], strict=True)
        ]
        self.code = select(first, code, self.code)


def _flat_avals(sites: Sequence[Site]) -> list[Aval]:
    return [CODE, *[aval for site in sites for aval in site.avals]]


def _evaluate(jaxpr: Jaxpr, enabled: Categories, state: _State, args: Sequence[Any]) -> list[Any]:
    """Run a program; what fails is noted in the state."""
    sites_of(jaxpr, enabled)
    table = jaxpr.derived["checkify equations", enabled]
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return atom.value if type(atom) is Literal else env[atom]

    for eqn, sites in zip(jaxpr.eqns, table, strict=True):
        values = [read(atom) for atom in eqn.inputs]
        if eqn.silent:
            with derivative_rules():
                answers = _applied(eqn, sites, enabled, state, values)
        else:
            answers = _applied(eqn, sites, enabled, state, values)
        env.update(zip(eqn.outputs, answers, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _applied(
    eqn: Eqn, sites: Sequence[Site], enabled: Categories, state: _State, values: Sequence[Any]
) -> list[Any]:
    primitive = eqn.primitive
    if isinstance(primitive, Check):
        code, *rest = values
        others: list[tuple[Site, list[Any]]] = []
        for site, payload in primitive.payloads(rest):
            if site.category in enabled:
                state.fail(site, code, payload)
            else:
                others.append((site, payload))
        if others:
            kept = Check(tuple(site for site, _ in others))
            kept(code, *[v for _, payload in others for v in payload])
        return []
    if not sites:
        answer = primitive(*values)
        return list(answer) if primitive.multiple_results else [answer]
    if _body_of(primitive):
        return _inside(primitive, sites, enabled, state, values)
    return _checked(eqn, sites, state, values)


def _checked(eqn: Eqn, sites: Sequence[Site], state: _State, values: Sequence[Any]) -> list[Any]:
    """Apply a primitive with the checks that it asks for by itself."""
    primitive = eqn.primitive
    by_category: dict[ErrorCategory, list[Site]] = {}
    for site in sites:
        by_category.setdefault(site.category, []).append(site)
    missing = by_category.get(ErrorCategory.INDEX)
    if missing:
        shape = primitive.shape if isinstance(primitive, AddAt) else aval_of(values[0]).shape
        indices = values[len(values) - len(primitive.axes) :]
        for site, axis, index in zip(missing, primitive.axes, indices, strict=True):
            failed, position = _outside(index, shape[axis])
            state.fail(site, select(failed, np.int32(site.code), NO_ERROR), [position])
        primitive = forgiving(primitive)
    for site in by_category.get(ErrorCategory.DIVISION, []):
        failed = _any(equal(values[1], 0))
        state.fail(site, select(failed, np.int32(site.code), NO_ERROR), [])
    answer = primitive(*values)
    answers = list(answer) if primitive.multiple_results else [answer]
    for site in by_category.get(ErrorCategory.NAN, []):
        failed = None
        for x in answers:
            if is_inexact(aval_of(x).dtype):
                found = _any(isnan(x))
                failed = found if failed is None else logical_or(failed, found)
        state.fail(site, select(failed, np.int32(site.code), NO_ERROR), [])
    return answers


def _any(x: Any) -> Any:
    shape = aval_of(x).shape
    return Any_(tuple(range(len(shape))))(x) if shape else convert(x, np.dtype(bool))


def _outside(index: Any, size: int) -> tuple[Any, Any]:
    """Whether any position is out of range, and the first of those."""
    dtype = canonical(INT64)
    count = aval_of(index).size
    if not count:
        return np.bool_(False), dtype.type(0)
    flat = convert(reshape(index, (count,)), dtype)
    outside = logical_or(greater_equal(flat, size), less(flat, -size))
    first = Gather((0,), "promise_in_bounds")(flat, Argmax(0)(outside))
    return _any(outside), first


def _inside(
    primitive: Any, sites: Sequence[Site], enabled: Categories, state: _State, values: Sequence[Any]
) -> list[Any]:
    """Apply a primitive that stands for programs, with the checks in those."""
    width = len(_flat_avals(sites))
    flat = state.flat(sites)
    if isinstance(primitive, Cond):
        branches = tuple([_checked_jaxpr(b, enabled, sites, 0) for b in primitive.branches])
        index, *operands = values
        results = Cond(branches)(index, *flat, *operands)
    elif isinstance(primitive, Scan):
        consts, carry, rows = primitive.split(values)
        body = _checked_jaxpr(primitive.body, enabled, sites, primitive.consts)
        loop = Scan(
            body, primitive.consts, width + primitive.carries, primitive.length, primitive.reverse
        )
        results = loop(*consts, *flat, *carry, *rows)
    elif isinstance(primitive, While):
        results = _loop(primitive, sites, enabled, state, values)
    else:
        program = sub_jaxprs(primitive)[0] if isinstance(primitive, Call) else primitive.inlinable
        checked = _checked_jaxpr(program, enabled, sites, 0)
        call = primitive.with_jaxpr(checked) if isinstance(primitive, Call) else Call(checked)
        results = call(*flat, *values)
    after = _State.from_flat(sites, results[:width])
    state.code = after.code
    state.payloads.update(after.payloads)
    return list(results[width:])


def _loop(
    primitive: While, sites: Sequence[Site], enabled: Categories, state: _State, values: Any
) -> list[Any]:
    """A loop whose condition and body may fail: each step checks the condition that let it happen."""
    condition_consts, consts, carry = primitive.split(values)
    flat = state.flat(sites)
    width = len(flat)
    condition_count, own = len(condition_consts), primitive

    def looks(*xs: Any) -> list[Any]:
        of_condition, rest = xs[:condition_count], xs[condition_count:]
        return eval_jaxpr(without_effects(own.condition), *of_condition, *rest[width:])

    def steps(*xs: Any) -> list[Any]:
        of_condition, rest = xs[:condition_count], xs[condition_count:]
        of_body, rest = rest[: own.body_consts], rest[own.body_consts :]
        inner = _State.from_flat(sites, rest[:width])
        now = rest[width:]
        _evaluate(own.condition, enabled, inner, [*of_condition, *now])
        results = _evaluate(own.body, enabled, inner, [*of_body, *now])
        return [*inner.flat(sites), *results]

    avals = [*_flat_avals(sites), *map(aval_of, carry)]
    of_condition = list(map(aval_of, condition_consts))
    condition = record(looks, [*of_condition, *avals], own.condition.name, "while_loop")
    both = [*of_condition, *map(aval_of, consts), *avals]
    body = record(steps, both, own.body.name, "while_loop")
    loop = While(condition, body, condition_count, condition_count + own.body_consts)
    results = loop(*condition_consts, *condition_consts, *consts, *flat, *carry)
    # The condition that ended the loop may have failed too.
    last = _State.from_flat(sites, results[:width])
    _evaluate(own.condition, enabled, last, [*condition_consts, *results[width:]])
    return [*last.flat(sites), *results[width:]]


def _checked_jaxpr(jaxpr: Jaxpr, enabled: Categories, sites: Sequence[Site], lead: int) -> Jaxpr:
    """The program with a state, after `lead` inputs, and before its results."""
    key = ("checkify", enabled, tuple(sites), lead)
    known = jaxpr.derived.get(key)
    if known is None:
        state_avals = _flat_avals(sites)
        width = len(state_avals)

        def run(*xs: Any) -> list[Any]:
            state = _State.from_flat(sites, xs[lead : lead + width])
            results = _evaluate(jaxpr, enabled, state, [*xs[:lead], *xs[lead + width :]])
            return [*state.flat(sites), *results]

        ins = list(jaxpr.in_avals)
        avals = [*ins[:lead], *state_avals, *ins[lead:]]
        known = jaxpr.derived[key] = record(run, avals, jaxpr.name, "checkify")
    return known


# ---- what programs call --------------------------------------------------------------------------


class Error:
    """What went wrong in a function under `checkify`, if anything did: a tree of arrays.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.experimental import checkify
    >>> error, y = checkify.checkify(fnp.log, errors=checkify.nan_checks)(1.0)
    >>> print(error.get())
    None
    """

    def __init__(self, sites: Sequence[Site], code: Any, payloads: Sequence[Any]) -> None:
        self._sites = tuple(sites)
        self._code = code
        self._payloads = tuple(payloads)

    def get(self) -> str | None:
        """What went wrong first, and where; None if nothing did.

        Under ``vmap``, there is a line for each example in which something went wrong.

        Raises
        ------
        ConcretizationTypeError
            In a function that is being recorded: `check_error` works there.
        """
        codes = np.asarray(self._code)
        if not codes.any():
            return None
        lines = []
        for place in np.ndindex(codes.shape):
            message = self._message(int(codes[place]), place)
            if message is not None:
                lines.append(
                    f"at mapped index {', '.join(map(str, place))}: {message}" if place else message
                )
        return "\n".join(lines)

    def _message(self, code: int, place: tuple[int, ...]) -> str | None:
        payloads = iter(self._payloads)
        for site in self._sites:
            payload = [next(payloads) for _ in site.avals]
            if site.code == code:
                return site.message([v[place] if place else v for v in payload])
        return None

    def get_exception(self) -> CheckError | None:
        """The exception that `throw` raises, or None."""
        message = self.get()
        return None if message is None else CheckError(message)

    def throw(self) -> None:
        """Raise an exception if something went wrong.

        Raises
        ------
        CheckError
        """
        check_error(self)

    def __repr__(self) -> str:
        return f"Error({self._code!r})"


_tree.register_node(
    Error,
    lambda e: ((e._code, *e._payloads), e._sites),
    lambda sites, arrays: Error(sites, next(iter(arrays)), tuple(arrays)[1:]),
)
init_error = Error((), wrap(NO_ERROR), ())


@boundary
def check_error(error: Error) -> None:
    """Raise what went wrong in a function under `checkify`, if anything did.

    Parameters
    ----------
    error : Error

    Raises
    ------
    CheckError
        At once, or when the compiled function runs; under another `checkify` it becomes part of the error of
        that.
    ArgumentError
        If `error` is something else.

    Examples
    --------
    >>> from fgrad.experimental import checkify
    >>> error, _ = checkify.checkify(lambda x: checkify.check(x > 0, "{} is not positive", x))(-1)
    >>> checkify.check_error(error)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    fgrad.errors.CheckError: -1 is not positive
    """
    if not isinstance(error, Error):
        raise ArgumentError(
            f"check_error: got {type(error).__name__}; give the error that a function under checkify returns first"
        )
    if not error._sites:
        return
    code, *payloads = [value(x) for x in (error._code, *error._payloads)]
    outer = aval_of(code).shape
    if outer:
        # The first example in which something went wrong.
        flat = [_flattened(x, len(outer)) for x in (code, *payloads)]
        place = Argmax(0)(not_equal(flat[0], 0))
        code, *payloads = [Gather((0,), "promise_in_bounds")(x, place) for x in flat]
    Check(error._sites)(code, *payloads)


def _flattened(x: Any, count: int) -> Any:
    shape = aval_of(x).shape
    return reshape(x, (int(np.prod(shape[:count])), *shape[count:]))


@boundary
def checkify(
    f: Callable[..., Any], errors: Categories = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """Make a function that returns what went wrong in it together with its result.

    Parameters
    ----------
    f : callable
        A function of arrays, or of trees of arrays, that may call `check`. It is recorded: its branches cannot
        depend on values.
    errors : frozenset of ErrorCategory
        What to look for: `user_checks`, `nan_checks`, `div_checks`, `index_checks`, `float_checks` (the second
        and third), `automatic_checks` (all but the first), `all_checks`; or sets of these joined with ``|``.

    Returns
    -------
    callable
        It takes the arguments of `f` and returns a pair: an `Error`, and the result of `f`. It may be
        transformed as any function; with ``jit`` around it, it is compiled. With `index_checks`, an index out
        of range takes the nearest element instead of raising an error.

    Raises
    ------
    ArgumentError
        If `errors` is something else.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> from fgrad.experimental import checkify
    >>> def f(x, i):
    ...     checkify.check(i >= 0, "{i} is negative", i=i)
    ...     return fnp.sin(x)[i]
    >>> checked = fgrad.jit(checkify.checkify(f, errors=checkify.all_checks))
    >>> error, y = checked(fnp.arange(3.0), -2)
    >>> error.get()[:14]
    '-2 is negative'
    >>> error, y = checked(fnp.arange(3.0), 5)
    >>> error.get()[:23]
    'index 5 is out of range'
    >>> error, y = checked(fnp.arange(3.0), 0)
    >>> error.throw()
    """
    check_callable(f, "checkify")
    enabled = frozenset(errors) if isinstance(errors, (set, frozenset, tuple, list)) else None
    if enabled is None or not all(isinstance(e, ErrorCategory) for e in enabled):
        raise ArgumentError(
            f"checkify of {function_text(f)}: errors is {errors!r}; give a set such as checkify.user_checks | "
            "checkify.nan_checks"
        )

    @transformed(f, "checkify", checkify, errors=errors)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves = _tree.leaves((args, kwargs))
        values = leaf_values(leaves, "checkify", f, args, kwargs)
        jaxpr, out_treedef = trace_to_jaxpr(f, args, kwargs, "checkify")
        closed, captured = hoist_constants(jaxpr)
        sites = sites_of(closed, enabled)
        state = _State.clear(sites)
        results = _evaluate(closed, enabled, state, [*captured, *values])
        code, *payloads = [wrap(v) for v in state.flat(sites)]
        answer = _tree.unflatten(out_treedef, [wrap(v) for v in results])
        return Error(sites, code, payloads), answer

    return checked
