"""What functions with rules of their users share: their arguments, their calls, and how they are recorded.

A call is an `Application`. Where values are known, a rule runs as it is written, on values. Where they are
not (under ``jit``, or in a batch that is differentiated), the function becomes a program with its rule
attached, a `CustomCall`; the rule is recorded when a derivative asks for it, in a `Frame` that gives the
tracers that it closes over as inputs.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from fgrad import _tree
from fgrad.array import Array, snapshot, value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.compiler.runtime import alias
from fgrad.dtypes import float0, is_inexact
from fgrad.errors import (
    ArgnumsError,
    ArgumentError,
    ClosedOverValueError,
    CustomRuleError,
)
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Jaxpr, Var, eval_jaxpr
from fgrad.ir.passes import used_inputs
from fgrad.primitives.families import match_aval
from fgrad.primitives.shape import spread
from fgrad.source_info import captured_name, function_name, function_text
from fgrad.tracing import (
    Primitive,
    Recording,
    Tracer,
    highest_level,
    hoist_constants,
    open_body,
    record,
)
from fgrad.transforms._arguments import (
    check_callable,
    leaf_value,
    output_values,
    signature_names,
    tree_text,
)
from fgrad.transforms.static import Static, as_tuple, split_static
from fgrad.transforms.vmap import BatchTracer, batch_jaxpr

# The search for closed-over tracers gives up beyond so many objects.
_SEARCHED = 10_000


class CustomFunction:
    """A function with a rule: what `custom_jvp`, `custom_vjp` and `custom_vmap` have in common."""

    transform: ClassVar[str]

    def __init__(self, fun: Callable[..., Any], argnums: Any = (), argnames: Any = ()) -> None:
        check_callable(fun, self.transform)
        functools.update_wrapper(cast(Any, self), fun, updated=())
        for name, attribute in getattr(fun, "__dict__", {}).items():
            if not hasattr(type(self), name):
                self.__dict__.setdefault(name, attribute)
        self.fun = fun
        try:
            self._signature: inspect.Signature | None = inspect.signature(fun)
        except (TypeError, ValueError):
            self._signature = None
        self.nondiff = self._nondiff_numbers(argnums, argnames)
        #: The number of arguments of a call that needs no look at the signature; -1 if each does.
        self._exact = self._plain_count()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(cast(Any, self), instance)

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def __reduce__(self) -> Any:
        # A decorated module-level function pickles by its name, like any function.
        module = sys.modules.get(getattr(self, "__module__", ""))
        if getattr(module, getattr(self, "__qualname__", ""), None) is self:
            return self.__qualname__
        return super().__reduce__()

    @property
    def title(self) -> str:
        """Transform and function, for messages."""
        return f"{self.transform} of {function_text(self.fun)}"

    def _nondiff_numbers(self, argnums: Any, argnames: Any) -> tuple[int, ...]:
        numbers, names = as_tuple(argnums), as_tuple(argnames)
        signature = self._signature
        parameters = [] if signature is None else list(signature.parameters.values())
        positional = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        bounded = signature is not None and not any(p.kind is p.VAR_POSITIONAL for p in parameters)
        found = set()
        for number in numbers:
            if not isinstance(number, int):
                raise ArgnumsError(
                    f"{self.title}: nondiff_argnums={argnums!r}; give a position or a tuple of them"
                )
            if bounded and not -len(positional) <= number < len(positional):
                raise ArgnumsError(
                    f"{self.title}: nondiff_argnums={argnums!r} asks for argument {number}, but the function "
                    f"has {len(positional)} positional parameters; count from 0"
                )
            if number < 0 and not bounded:
                raise ArgnumsError(
                    f"{self.title}: nondiff_argnums={argnums!r} counts from the end of a signature that is "
                    "open; count from 0"
                )
            found.add(number % len(positional) if bounded else number)
        for name in names:
            if name not in positional:
                raise ArgnumsError(
                    f"{self.title}: nondiff_argnames={argnames!r} names {name!r}, which is not a positional "
                    f"parameter; these are {', '.join(positional)}"
                )
            found.add(positional.index(name))
        return tuple(sorted(found))

    def _plain_count(self) -> int:
        parameters = [] if self._signature is None else list(self._signature.parameters.values())
        plain = all(
            p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
            for p in parameters
        )
        return len(parameters) if self._signature is not None and plain else -1

    def positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults included: rules take them so."""
        if not kwargs and len(args) == self._exact:
            return args
        signature = self._signature
        if signature is None:
            if kwargs:
                raise ArgumentError(
                    f"{self.title}: its signature is unknown, so that the keyword arguments "
                    f"{', '.join(sorted(kwargs))} have no positions; pass arguments by position"
                )
            return args
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.title}: {error}") from None
        bound.apply_defaults()
        named = sorted(name for name in bound.kwargs if name in kwargs)
        if named:
            raise ArgumentError(
                f"{self.title}: rules take arguments by position, and {', '.join(named)} can only be given by "
                "keyword; declare it without the * in front, or close over it"
            )
        return bound.args

    def on_arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer to arrays that are not traced; NotImplemented for other arguments."""
        if kwargs or len(args) != self._exact or self.nondiff:
            return NotImplemented
        for arg in args:
            if type(arg) is not Array:
                return NotImplemented
        answer = self.fun(*args)
        return answer if type(answer) is Array else self.application(args, {}).finished(answer)

    def application(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Application:
        """One call, with its arguments taken in."""
        args = self.positional(args, kwargs)
        for number in self.nondiff:
            if number >= len(args):
                raise ArgnumsError(
                    f"{self.title}: nondiff_argnums={self.nondiff} asks for argument {number}, but the call has "
                    f"{len(args)} positional arguments"
                )
        return Application(self, args)

    def rules(self) -> tuple[Any, ...]:
        """The functions of the user that make up the rule."""
        raise NotImplementedError


_NO_SETTINGS = Static({}, {}, 0)


class Application:
    """One call of a custom function: its arguments in a row, and the structure of its result."""

    __slots__ = ("_names", "out_treedef", "owner", "static", "treedef", "values")

    def __init__(self, owner: CustomFunction, args: tuple[Any, ...]) -> None:
        self.owner = owner
        if owner.nondiff:
            (dynamic, _), self.static = split_static(
                owner.fun, owner.transform, args, {}, owner.nondiff, ()
            )
        else:
            dynamic, self.static = args, _NO_SETTINGS
        leaves, self.treedef = _tree.flatten(dynamic)
        self._names: list[str] | None = None
        self.values = []
        for i, leaf in enumerate(leaves):
            try:
                self.values.append(value(leaf))
            except TypeError:
                # Once more, for an error that names the leaf.
                self._names = self._leaf_names_of(dynamic)
                leaf_value(leaf, owner.transform, owner.fun, lambda i=i: self.leaf_names()[i])  # type: ignore[misc]
                raise
        #: The structure of the result, once the function or a rule has run.
        self.out_treedef: Any = None

    def _leaf_names_of(self, dynamic: Sequence[Any]) -> list[str]:
        count = len(dynamic) + len(self.static.positions)
        names = [
            name
            for i, name in enumerate(signature_names(self.owner.fun, count))
            if i not in self.static.positions
        ]
        return [
            leaf
            for name, arg in zip(names, dynamic, strict=True)
            for leaf in _tree.leaf_names(arg, name)
        ]

    def leaf_names(self) -> list[str]:
        """What messages call the leaves of the arguments."""
        if self._names is None:
            self._names = self._leaf_names_of(self.tree(range(self.treedef.num_leaves)))
        return self._names

    def tree(self, leaves: Any) -> tuple[Any, ...]:
        """The arguments but for the static ones, of other leaves."""
        return _tree.unflatten(self.treedef, leaves)  # type: ignore[no-any-return]

    def arguments(self, leaves: Any) -> tuple[Any, ...]:
        """All arguments of the user's function."""
        return self.static.join((self.tree(leaves), {}))[0]

    def settings(self) -> list[Any]:
        """The arguments that rules take first: those that have no derivatives."""
        return [self.static.positions[i] for i in sorted(self.static.positions)]

    def setting_names(self) -> list[str]:
        """What the user calls the arguments that rules take first."""
        positions = sorted(self.static.positions)
        names = signature_names(self.owner.fun, max(positions, default=-1) + 1)
        return [names[i] for i in positions]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The function itself on values."""
        fun = self.owner.fun
        return self.results(fun(*self.arguments(map(wrap, values))), fun)

    def results(self, tree: Any, by: Callable[..., Any]) -> list[Any]:
        """The leaves of the answer, which the function or one of its rules gave."""
        leaves, treedef = _tree.flatten(tree)
        if self.out_treedef is not None and treedef != self.out_treedef:
            raise CustomRuleError(
                f"{self.owner.title}: the rule {function_text(by)} returns an answer of structure "
                f"{tree_text(treedef)}, but the function returns {tree_text(self.out_treedef)}; return the same"
            )
        self.out_treedef = treedef
        return output_values(leaves, self.owner.transform, by, tree)

    def restored(self, values: Sequence[Any]) -> Any:
        """The result as the user gets it."""
        return _tree.unflatten(self.out_treedef, [wrap(v) for v in values])

    def finished(self, tree: Any) -> Any:
        """An answer of the function as the user gets it."""
        return self.restored(self.results(tree, self.owner.fun))

    def result_names(self) -> list[str]:
        tree = _tree.unflatten(self.out_treedef, range(self.out_treedef.num_leaves))
        return _tree.leaf_names(tree, "the result")

    def holders(self) -> tuple[Any, ...]:
        """What may hold tracers that a run of the function or of a rule reads."""
        return (self.owner.fun, *self.owner.rules(), *self.settings())

    def reaches_above(self, level: int) -> bool:
        """Whether a tracer of a newer trace is closed over: that trace must see the call first."""
        holders = self.holders()
        if all(type(h) is types.FunctionType and not _holds(h) for h in holders):
            return False
        return highest_level(closed_over(holders)) > level

    def check_level(self, values: Sequence[Any], level: int) -> None:
        """Refuse values of the very transform whose derivative the rule has just given."""
        if highest_level(values) < level:
            return
        for tracer in closed_over(self.holders()):
            if tracer._trace.level >= level:
                raise closes_over(self.owner, tracer)
        raise closes_over(self.owner, None)


def closes_over(owner: CustomFunction, tracer: Any) -> ClosedOverValueError:
    doing = "mapped" if owner.transform == "custom_vmap" else "differentiated"
    what = f"a value that is being {doing} too"
    if isinstance(tracer, Tracer):
        names = [captured_name(f, tracer) for f in (owner.fun, *owner.rules())]
        name = next(filter(None, names), "")
        what = (
            f"{name or 'a value'} (dtype {tracer.dtype.name}, shape {tracer.shape}), which is being "
            f"{doing} too"
        )
    return ClosedOverValueError(
        f"{owner.title} closes over {what}; its rule speaks of its arguments only: pass the value as "
        "an argument"
    )


def check_type(own: Aval, wanted: Aval, what: Callable[[], str]) -> None:
    """Refuse a tangent or cotangent of another type than the value that it belongs to."""
    if own.shape != wanted.shape:
        raise CustomRuleError(
            f"{what()} of shape {own.shape}, expected {wanted.shape}, the shape of the value that it "
            "belongs to"
        )
    if own.dtype == wanted.dtype:
        return
    kinds = "biufc" if wanted.dtype.kind == "c" else "biuf"
    if not (own.weak and is_inexact(wanted.dtype) and own.dtype.kind in kinds):
        given, expected = dtype_text(own.dtype), dtype_text(wanted.dtype)
        advice = (
            f"convert it with .astype({expected!r})"
            if is_inexact(wanted.dtype)
            else "integers and booleans have tangents np.zeros(shape, fgrad.float0)"
        )
        raise CustomRuleError(
            f"{what()} of dtype {given}, expected {expected}, the dtype of the value that it belongs to; {advice}"
        )


def direction(leaf: Any, rule: Any, transform: str, what: str, name: Callable[[], str]) -> Any:
    """A tangent or cotangent that a rule returned, as an internal value."""
    return leaf_value(leaf, transform, rule, name, what)


def dtype_text(dtype: np.dtype[Any]) -> str:
    return "float0" if dtype == float0 else dtype.name


def only_batched(values: Sequence[Any]) -> bool:
    """Whether no derivative can be asked for: there is nothing but batches of known values."""
    for v in values:
        while isinstance(v, Tracer):
            if type(v) is not BatchTracer:
                return False
            v = v._value
    return True


# ---- recording -----------------------------------------------------------------------------------


def closed_over(functions: Sequence[Any]) -> list[Tracer]:
    """The tracers that functions hold: in closures, defaults, attributes, and containers there."""
    found: dict[int, Tracer] = {}
    seen: set[int] = set()
    pending: list[Any] = list(functions)
    while pending and len(seen) < _SEARCHED:
        x = pending.pop()
        if id(x) in seen or isinstance(x, (type, types.ModuleType, str, bytes, np.generic)):
            continue
        seen.add(id(x))
        if isinstance(x, Tracer):
            found[id(x)] = x
        elif isinstance(x, np.ndarray) or x is None or isinstance(x, (int, float, complex)):
            continue
        elif isinstance(x, types.FunctionType):
            pending.extend(x.__defaults__ or ())
            pending.extend((x.__kwdefaults__ or {}).values())
            pending.extend(_contents(x.__closure__ or ()))
        elif isinstance(x, types.MethodType):
            pending.extend((x.__func__, x.__self__))
        elif isinstance(x, functools.partial):
            pending.extend((x.func, x.args, x.keywords))
        elif isinstance(x, dict):
            pending.extend(x.values())
        elif isinstance(x, (list, tuple, set, frozenset)):
            pending.extend(x)
        elif isinstance(x, CustomFunction):
            pending.extend((x.fun, *x.rules()))
        elif callable(x) and hasattr(x, "__wrapped__"):
            pending.append(x.__wrapped__)
        elif not type(x).__module__.startswith("fgrad."):
            pending.append(getattr(x, "__dict__", None))
            pending.extend(
                getattr(x, name, None)
                for cls in type(x).__mro__
                for name in as_tuple(cls.__dict__.get("__slots__", ()) or None)
                if not name.startswith("__")
            )
    return list(found.values())


def _holds(f: types.FunctionType) -> bool:
    """Whether a function has any place of its own to hold values in."""
    return bool(f.__closure__ or f.__defaults__ or f.__kwdefaults__)


def _contents(cells: Sequence[Any]) -> list[Any]:
    contents = []
    for cell in cells:
        try:
            contents.append(cell.cell_contents)
        except ValueError:
            continue
    return contents


class Frame:
    """Where the rules of a recorded call are recorded later: at values known then, and inputs.

    The inputs are the tracers that function and rules closed over, then the traced arguments. By the time
    that a rule is asked for, the former belong to traces that have ended: the inputs stand for them.
    """

    __slots__ = ("application", "captured", "known", "out_avals", "types")

    def __init__(self, application: Application, captured: Sequence[Any]) -> None:
        self.application = application
        self.captured = tuple(captured)
        traced = [v for v in application.values if isinstance(v, Tracer)]
        self.known = [None if isinstance(v, Tracer) else snapshot(v) for v in application.values]
        #: The types of the inputs: of what was captured, then of the traced arguments.
        self.types = [aval_of(v) for v in (*captured, *traced)]
        self.out_avals: tuple[Aval, ...] = ()

    @property
    def name(self) -> str:
        return function_name(self.application.owner.fun)

    def filled(self, traced: Sequence[Any]) -> list[Any]:
        """The values of all arguments, given those of the traced ones."""
        rest = iter(traced)
        return [next(rest) if v is None else v for v in self.known]

    def chosen(self, per_argument: Sequence[Any]) -> list[Any]:
        """What belongs to the traced arguments, of a list for all arguments."""
        return [x for x, v in zip(per_argument, self.known, strict=True) if v is None]

    def record(
        self, f: Callable[..., Sequence[Any]], avals: Sequence[Aval], captured: int
    ) -> Jaxpr:
        """Record `f` on inputs of these types, of which the first stand for what was captured."""
        owner = self.application.owner
        with (
            Recording(self.name, owner.transform, (), owner.fun) as body,
            open_body(body),
        ):
            inputs = [body.new_input(aval) for aval in avals]
            for tracer, stand_in in zip(self.captured[:captured], inputs, strict=False):
                body.known_consts[id(tracer)] = stand_in.variable
            jaxpr = checked(body.jaxpr(f(*inputs)))
        jaxpr.consts = tuple(map(snapshot, jaxpr.consts))
        return jaxpr


def stage(application: Application) -> tuple[Jaxpr, list[Any], Frame]:
    """The function of a call as a program, its operands, and the frame of its rules.

    What is known now is part of the program; the tracers that the function or its rules close over are the
    leading operands.
    """
    owner = application.owner
    traced = [v for v in application.values if isinstance(v, Tracer)]
    first = Frame(application, ())
    names = first.chosen(application.leaf_names())
    jaxpr = record(
        lambda *xs: application.run(first.filled(xs)),
        [aval_of(v) for v in traced],
        first.name,
        owner.transform,
        names,
        owner.fun,
    )
    closed, captured = hoist_constants(jaxpr)
    known = {id(tracer) for tracer in captured}
    further = [t for t in closed_over(application.holders()) if id(t) not in known]
    count = len(captured)
    invars = [*closed.invars[:count], *(Var(t.aval) for t in further), *closed.invars[count:]]
    consts = list(map(snapshot, closed.consts))
    program = Jaxpr(closed.constvars, consts, invars, closed.eqns, closed.outvars, closed.name)
    frame = Frame(application, [*captured, *further])
    frame.out_avals = program.out_avals
    # The frame lives as long as the program, the tracers must not.
    application.values = []
    return program, [*captured, *further, *traced], frame


def check_answers(frame: Frame, outs: Sequence[Any]) -> None:
    application = frame.application
    rule = function_text(application.owner.rules()[0])
    for i, (out, aval) in enumerate(zip(outs, frame.out_avals, strict=True)):
        own = aval_of(out)
        if not own.fits(aval):
            raise CustomRuleError(
                f"{application.owner.title}: the rule {rule} returns {application.result_names()[i]} of shape "
                f"{own.shape} and dtype {own.dtype.name}, but the function returns shape {aval.shape} and dtype "
                f"{aval.dtype.name}; return the same"
            )


@dataclass(frozen=True, eq=False)
class CustomCall(Primitive):
    """A recorded call of a function with a rule.   *captured, *ins -> *outs"""

    jaxpr: Jaxpr
    rule: Any
    #: How many of the leading operands were closed over.
    captured: int
    multiple_results = True
    keeps_residuals = True
    has_rule = True

    @property
    def called(self) -> str:
        return self.jaxpr.name

    @property
    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return (self.jaxpr,)

    @property
    def inlinable(self) -> Jaxpr | None:  # type: ignore[override]
        return self.jaxpr

    @property
    def effectful(self) -> bool:  # type: ignore[override]
        return any(eqn.primitive.effectful for eqn in self.jaxpr.eqns)

    def params(self) -> dict[str, Any]:
        return {"call_jaxpr": self.jaxpr}

    def abstract_eval(self, *avals: Aval) -> Sequence[Aval]:
        return self.jaxpr.out_avals

    def impl(self, *values: Any) -> Sequence[Any]:
        return [alias(v) for v in eval_jaxpr(self.jaxpr, *values)]

    def ruled(self, flags: Sequence[bool]) -> bool:
        """Whether the rule is asked for: not where only captured values are differentiated.

        Raises
        ------
        ClosedOverValueError
            If the function captured values that are differentiated together with its arguments.
        """
        if not any(flags[self.captured :]):
            return False
        self.check_captured(self.jaxpr, flags)
        return True

    def check_captured(self, program: Jaxpr, flags: Sequence[bool]) -> None:
        """Refuse captured values that are differentiated and that a program of the rule reads."""
        captured = flags[: self.captured]
        if not any(captured):
            return
        for position, read in enumerate(used_inputs(program)[: self.captured]):
            if read and captured[position]:
                frame = self.rule.frame
                raise closes_over(frame.application.owner, frame.captured[position])


def batch_all(
    jaxpr: Jaxpr, size: int, mapped: tuple[bool, ...], forced: Sequence[bool]
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The program over batches, and which results are mapped: in any case those in `forced`."""
    derived, out_mapped = batch_jaxpr(jaxpr, size, mapped)
    if all(m or not f for m, f in zip(out_mapped, forced, strict=True)):
        return derived, out_mapped

    def run(*flat: Any) -> list[Any]:
        outs = eval_jaxpr(derived, *flat)
        return [
            spread(v, size) if f and not m else v
            for v, m, f in zip(outs, out_mapped, forced, strict=True)
        ]

    forced_mapped = tuple(m or f for m, f in zip(out_mapped, forced, strict=True))
    return record(run, derived.in_avals, jaxpr.name, "vmap"), forced_mapped


def matched(values: Sequence[Any], avals: Sequence[Aval]) -> list[Any]:
    """Values in the weakness that is declared for them."""
    return [match_aval(v, aval) for v, aval in zip(values, avals, strict=True)]


def differentiable(avals: Sequence[Aval]) -> list[bool]:
    return [is_inexact(aval.dtype) for aval in avals]
