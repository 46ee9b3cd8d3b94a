"""Primitives, tracers and traces: how an application of a primitive finds its interpreter.

A call of a primitive looks for the tracer with the highest level among the arguments. Without one, it
runs on NumPy values at once; otherwise that tracer's trace processes the application. Values that a
trace hands down may again be tracers, of a lower level: nesting is recursion.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from threading import get_ident
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

from fgrad import errors
from fgrad.avals import Aval, aval_of
from fgrad.config import switches
from fgrad.dtypes import python_type
from fgrad.holders import holder_text
from fgrad.ir.check import check_result, checked
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, is_silent, source_of_equation
from fgrad.ir.jaxpr import derivative_rules as derivative_rules
from fgrad.ir.names import name_results
from fgrad.ir.passes import dce
from fgrad.source_info import (
    Source,
    function_text,
    here,
    raised_at,
    same_line,
    scope_of_names,
    source_text,
    user_source,
    with_scope,
)

ndarray = np.ndarray
_SCALARS = (float, int, bool, complex)
# So many arguments are named in a message.
_LISTED = 5
_NOTHING = object()
_levels = itertools.count(1)
_open_body: ContextVar[Recording | None] = ContextVar("fgrad_open_body", default=None)
#: How NumPy's message about the truth of an array begins, and what to do.
_AMBIGUOUS = "The truth value of an array with more than one element"
ONE_ANSWER = "use .any() or .all() for one answer, or fgrad.numpy.where to choose for each element"
#: The innermost open body, or None.
innermost_body = _open_body.get


# Operations whose names in jaxprs are not those of functions of fgrad.numpy.
_CALLED = {
    "absorbing_product": "multiply",
    "add_at": "indexing",
    "any_": "any",
    "broadcast_to": "broadcasting",
    "convert": "astype",
    "div": "divide",
    "dot_general": "a product",
    "embed": "indexing",
    "gather": "indexing",
    "integer_power": "power",
    "mul": "multiply",
    "neg": "negative",
    "scatter_add": "x.at[...].add",
    "scatter_set": "x.at[...].set",
    "select": "where",
    "static_index": "indexing",
    "sub": "subtract",
    "update_add": "x.at[...].add",
    "update_set": "x.at[...].set",
}


class Primitive:
    """An operation with all of its rules. Subclasses are declared through `fgrad.primitives.families`.

    The parameters of a primitive are the fields of its class; two primitives with equal parameters
    are equal.
    """

    multiple_results: ClassVar[bool] = False
    differentiable: ClassVar[bool] = True
    effectful: ClassVar[bool] = False
    creates: ClassVar[bool] = False
    #: A NaN anywhere in an operand shows in the answer, so that a look for NaN may wait for that.
    keeps_nan: bool = False
    #: `lower` gives what `impl` does with 32 bits too.
    lowers_in_32_bits: bool = False
    #: Reverse mode asks it for its answer and a pullback with residuals of its own, through `pull`.
    keeps_residuals: ClassVar[bool] = False
    #: `vjp` looks at no argument that it neither reads nor gives a cotangent for.
    ignores_unread: ClassVar[bool] = False
    #: Operands of different dtypes meet, and are promoted.
    promotes: ClassVar[bool] = False
    #: The result shares memory with an operand.
    view: ClassVar[bool] = False
    #: Of several results, none shares memory with an operand, as those of calls may.
    copies_operands: ClassVar[bool] = False
    #: The body that stands for the whole application, where there is one.
    inlinable: Jaxpr | None = None
    #: The body that stands for it in a linear program that is transposed.
    linear_body: Jaxpr | None = None
    #: Its derivatives or its batching are the user's, not those of its body.
    has_rule: ClassVar[bool] = False
    #: In JAX, a primitive that applies a function; here these have programs as parameters, as loops have.
    call_primitive: ClassVar[bool] = False
    map_primitive: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return snake_case(type(self).__name__)

    @property
    def called(self) -> str:
        """The operation as users call it, for messages."""
        return _CALLED.get(self.name, self.name)

    def params(self) -> dict[str, Any]:
        fields = getattr(type(self), "__dataclass_fields__", ())
        return {field: getattr(self, field) for field in fields}

    def __call__(self, x: Any = _NOTHING, /, *others: Any) -> Any:
        """Apply to inside values: run, or hand over to the interpreter that they ask for."""
        # One operand is what most have: to take and pass it as such costs a third of any number.
        # Arrays are looked for first, since that question is answered soonest.
        trace: Trace | None = None
        level = 0
        if type(x) is not ndarray and isinstance(x, Tracer):
            trace = x._trace
            level = trace.level
        for other in others:
            if type(other) is not ndarray and isinstance(other, Tracer):
                if other._trace.level > level:
                    trace = other._trace
                    level = trace.level
        if trace is None:
            if self.creates:
                body = _open_body.get()
                if body is not None and self.staged():  # type: ignore[attr-defined]
                    return body.process(self, () if x is _NOTHING else (x, *others))
            if others:
                answer = self.impl(x, *others)
            else:
                answer = self.impl() if x is _NOTHING else self.impl(x)
            if type(answer) is ndarray:
                # By position, which NumPy takes in half the time.
                answer.setflags(False)  # type: ignore[call-arg]
            elif self.multiple_results:
                for value in answer:
                    if type(value) is ndarray:
                        value.setflags(False)  # type: ignore[call-arg]
            if switches.checks_results:
                check_eager(self, () if x is _NOTHING else (x, *others), answer)
            return answer
        body = _open_body.get()
        if body is not None and body.level > level:
            # Work on outer tracers belongs to the open body: outside, a branch not taken would run.
            trace = body
        return trace.process(self, (x, *others))

    def abstract_eval(self, *avals: Aval) -> Any:
        """The aval of the answer, or a list of them."""
        raise errors.MissingRuleError(f"{self.name} has no typing rule")

    def impl(self, *values: Any) -> Any:
        """Compute on NumPy values. The result is a fresh array or a view object, never an argument."""
        raise errors.MissingRuleError(f"{self.name} has no implementation")

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The answer and its tangent; None stands for a zero tangent."""
        answer = self(*primals)
        return answer, self.jvp(answer, primals, tangents)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The tangent of the answer."""
        raise errors.MissingRuleError(f"{self.name} has no jvp rule")

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        """The answer and a pullback, for primitives that keep residuals of their own."""
        raise errors.MissingRuleError(f"{self.name} has no residual form")

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        """Whether `vjp` reads the answer, and which arguments; the others are given as avals."""
        return True, (True,) * len(needs)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        """The cotangents of the arguments for which `needs` is true."""
        raise errors.MissingRuleError(f"{self.name} has no vjp rule")

    def transpose_of(self, active: Sequence[bool], args: Sequence[Any]) -> Any:
        """What takes cotangents of the answers to those of the active arguments, which are given as avals.

        None, but for primitives whose transposes somebody declared apart from their derivatives.
        """
        return None

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        """Apply over a leading axis of the mapped arguments; the answer and whether it is mapped."""
        raise errors.MissingRuleError(f"{self.name} has no batching rule")

    def pruned(self, used: tuple[bool, ...]) -> Any:
        """The primitive of the used results alone, which operands it takes and which results it gives.

        None where it computes all of them in any case.
        """
        return None

    def lower(self, emit: Any, *names: str) -> str:
        """A NumPy expression for the application to the variables `names`."""
        return f"{emit.constant(self.impl, self.name)}({', '.join(names)})"

    def lower_into(self, emit: Any, target: str, *names: str) -> str | None:
        """A statement that writes the answer into the array `target`, maybe an operand, where there is one."""
        return None

    def write(self, emit: Any, eqn: Any, indent: str, silent: bool) -> list[str] | None:
        """The statements for an equation, for primitives that take more than an expression.

        `silent` says that floating-point errors are not reported where they stand.
        """
        return None


def snake_case(name: str) -> str:
    pieces = [("_" + c.lower() if c.isupper() and i else c.lower()) for i, c in enumerate(name)]
    return "".join(pieces)


class Tracer:
    """A value under a transform. Its operators and methods are attached by `fgrad.operators`."""

    __slots__ = ("__weakref__", "_trace")
    _trace: Trace
    aval: Aval

    def __init_subclass__(cls) -> None:
        # Python's own messages name the class, as in "unsupported operand type(s)".
        cls.__name__ = cls.__qualname__ = "TracedArray"

    def __hash__(self) -> int:
        raise errors.ConcretizationTypeError(
            f"a {in_words(self.aval)}, in {self._trace.title}, cannot be hashed, so that it cannot be a key of "
            f"a dict or an element of a set, at {here()}; use a Python number or a name as the key"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def weak_type(self) -> bool:
        return self.aval.weak

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    def _known(self) -> Any:
        """The value one level down, where the trace knows it; else None."""
        return None


class Trace:
    """One run of one transform over one function: a level, and the rule that its tracers follow.

    Error messages name the transform, and `function` where it is the user's.
    """

    __slots__ = ("alive", "function", "level", "name", "refusal", "thread", "transform")

    def __init__(self, name: str, transform: str, function: Any = None) -> None:
        self.level = next(_levels)
        self.name = name
        self.transform = transform
        self.function = function
        self.thread = get_ident()
        self.alive = True
        #: Where a conversion was refused last, and the error.
        self.refusal: tuple[Source | None, type[errors.FgradError], str] | None = None

    @property
    def title(self) -> str:
        """The transform and its function, for messages."""
        named = self.name if self.function is None else function_text(self.function)
        return f"{self.transform} of {named}"

    @property
    def main(self) -> Trace:
        """The run of the transform: in JAX, several traces may share one."""
        return self

    def origin(self, tracer: Any) -> str:
        """The names of the arguments that a tracer comes from, where they are known."""
        return ""

    def maker(self, tracer: Any) -> str:
        """How a tracer was made, as far as that is known without a cost to every operation."""
        source = getattr(tracer, "source", None)
        return f"made at {source_text(source)}" if source else ""

    def process(self, primitive: Primitive, args: Sequence[Any]) -> Any:
        raise NotImplementedError

    def check_alive(self, primitive: Primitive, args: Sequence[Any]) -> None:
        """Refuse work for a trace that has ended or that belongs to another thread."""
        if self.alive and self.thread == get_ident():
            return
        for tracer in args:
            if isinstance(tracer, Tracer) and tracer._trace is self:
                raise leaked(tracer, f"it was used at {here()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.alive = False
        if type(error) is ValueError and str(error).startswith(_AMBIGUOUS):
            # NumPy says so of the values that a derivative is taken at.
            raise errors.ShapeError(
                "the truth value of an array with more than one element is ambiguous, in "
                f"{self.title}, at {source_text(raised_at(traceback))}; {ONE_ANSWER}"
            ).with_traceback(traceback) from None
        refusal = self.refusal
        if refusal is None:
            return
        self.refusal = None
        source, refused, message = refusal
        if isinstance(error, errors.FgradError):
            return
        if isinstance(error, ValueError):
            # NumPy replaces errors of conversions by its own, some of them without a trace.
            masked = same_line(raised_at(traceback), source)
        else:
            # So it does with TypeError. And compiled code that calls back although a conversion has failed
            # makes any step of Python fail: a method that is not in the cache of its type is then not
            # found, and an operator is refused.
            masked = isinstance(error, (TypeError, SystemError, AttributeError)) and any(
                same_line((entry.tb_frame.f_code, entry.tb_lasti), source)
                for entry in _entries(traceback)
            )
        if masked:
            raise refused(message).with_traceback(traceback) from None


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def refuse(tracer: Tracer, error: errors.FgradError) -> errors.FgradError:
    """An error about the conversion of a tracer, kept in mind in case that NumPy replaces it."""
    tracer._trace.refusal = user_source(2), type(error), str(error)
    return error


def in_words(aval: Aval) -> str:
    """The type of a traced value, for messages."""
    if aval.weak:
        return f"traced Python {python_type(aval.dtype).__name__}"
    return f"traced {aval.dtype.name} array of shape {aval.shape}"


def kind_in_words(result: Any) -> str:
    """What a function has returned in the place of something else, for messages."""
    if isinstance(result, Tracer):
        return f"a {in_words(result.aval)}"
    name = type(result).__name__
    if isinstance(result, (tuple, list)):
        return f"a {name} of {len(result)} entries"
    return "None" if result is None else f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def leaked(tracer: Tracer, use: str) -> errors.LeakedTracerError:
    trace = tracer._trace
    text = f"a {in_words(tracer.aval)}"
    made = trace.maker(tracer)
    if made:
        text += f", {made}"
    argument = trace.origin(tracer)
    if argument:
        text += f", from argument {argument}"
    if trace.alive:
        why = "belongs to another thread than the one that uses it; give each thread arrays of its own"
    else:
        holder = holder_text(tracer)
        place = f"in {holder or 'a global, an attribute or a closure'};"
        why = (
            f"was kept after that transform had ended, {place} return it from the function instead"
        )
    return errors.LeakedTracerError(f"{text}, in {trace.title}, {why} ({use})")


def bind(primitive: Primitive, args: Sequence[Any]) -> Any:
    """Apply a primitive to a sequence of inside values."""
    return primitive(*args)


def interpreter(args: Sequence[Any]) -> Trace | None:
    """The trace that an application to these arguments is handed to."""
    level = highest_level(args)
    if not level:
        return None
    body = _open_body.get()
    if body is not None and body.level > level:
        return body
    return next(a._trace for a in args if isinstance(a, Tracer) and a._trace.level == level)


def check_eager(primitive: Primitive, args: Sequence[Any], answer: Any) -> None:
    """The checks that the configuration asks for after every application to known values."""
    if switches.check_jaxprs:
        check_result(primitive, primitive.abstract_eval(*map(aval_of, args)), answer)
    if switches.debug_nans:
        for value in answer if primitive.multiple_results else (answer,):
            if aval_of(value).dtype.kind in "fc" and np.isnan(value).any():
                source = source_of_equation()
                place = here() if source is None else source_text(source)
                raise errors.NanError(f"{primitive.called} made a NaN at {place}")


# ---- recording into jaxprs -------------------------------------------------------------------


class RecordedTracer(Tracer):
    """A value of a body that is being recorded: a variable, its value unknown."""

    __slots__ = ("aval", "creation", "source", "variable")

    def __init__(self, trace: Recording, var: Var, source: Any, creation: Any = None) -> None:
        self._trace = trace
        self.aval = var.aval
        self.variable = var
        self.source = source
        self.creation = creation

    def _known(self) -> Any:
        return None if self.creation is None else self.creation.impl()


class Recording(Trace):
    """Records applications as equations, with all inputs unknown."""

    __slots__ = (
        "arguments",
        "consts",
        "constvars",
        "eqns",
        "invars",
        "known_consts",
    )

    def __init__(
        self, name: str, transform: str, arguments: Sequence[str] = (), function: Any = None
    ) -> None:
        super().__init__(name, transform, function)
        self.arguments = tuple(arguments)
        self.eqns: list[Eqn] = []
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.consts: list[Any] = []
        # The id of a constant means it only while the constant is alive: `consts` keeps it.
        self.known_consts: dict[int, Var] = {}

    def new_input(self, aval: Aval) -> RecordedTracer:
        var = Var(aval)
        self.invars.append(var)
        return RecordedTracer(self, var, None)

    def atom(self, value: Any) -> Atom:
        """The variable or literal that stands for any value in this recording."""
        kind = type(value)
        if kind is RecordedTracer and value._trace is self:
            return value.variable  # type: ignore[no-any-return]
        if kind in _SCALARS or isinstance(value, np.generic):
            return Literal(value)
        var = self.known_consts.get(id(value))
        if var is None:
            var = Var(aval_of(value))
            self.known_consts[id(value)] = var
            self.constvars.append(var)
            self.consts.append(value)
        return var

    def process(self, primitive: Primitive, args: Sequence[Any]) -> Any:
        self.check_alive(primitive, args)
        inputs = tuple([self.atom(a) for a in args])
        answer = primitive.abstract_eval(*[a.aval for a in inputs])
        source = source_of_equation() or user_source(3)
        scope = scope_of_names.get()
        if scope:
            source = with_scope(source, scope)
        if primitive.multiple_results:
            outputs = tuple([Var(aval) for aval in answer])
            self.eqns.append(Eqn(primitive, inputs, outputs, source, is_silent()))
            return [RecordedTracer(self, var, source) for var in outputs]
        var = Var(answer)
        self.eqns.append(Eqn(primitive, inputs, (var,), source, is_silent()))
        return RecordedTracer(
            self, var, source, primitive if primitive.creates and not args else None
        )

    def origin(self, tracer: Any) -> str:
        var = tracer.variable
        producers = {out: eqn for eqn in self.eqns for out in eqn.outputs}
        pending, seen, names = [var], {var}, []
        positions = {v: i for i, v in enumerate(self.invars)}
        while pending:
            current = pending.pop()
            position = positions.get(current)
            if position is not None and position < len(self.arguments):
                names.append(self.arguments[position])
            eqn = producers.get(current)
            for atom in eqn.inputs if eqn else ():
                if type(atom) is Var and atom not in seen:
                    seen.add(atom)
                    pending.append(atom)
        return listed(names)

    def jaxpr(self, outputs: Sequence[Any]) -> Jaxpr:
        """The program recorded so far, with `outputs` as its results."""
        outvars = [self.atom(value) for value in outputs]
        # While all is there that was recorded.
        name_results(self.eqns)
        return dce(Jaxpr(self.constvars, self.consts, self.invars, self.eqns, outvars, self.name))


@contextlib.contextmanager
def open_body(body: Recording | None) -> Iterator[None]:
    """Make `body` the innermost open one: what touches outer tracers is recorded there."""
    token = _open_body.set(body)
    try:
        yield
    finally:
        _open_body.reset(token)


def record(
    f: Callable[..., Sequence[Any]],
    avals: Sequence[Aval],
    name: str = "",
    transform: str = "jit",
    arguments: Sequence[str] = (),
    function: Any = None,
) -> Jaxpr:
    """Record `f`, which takes and returns flat sequences of values, on unknown inputs.

    Arrays and outer tracers that `f` captures become constants of the jaxpr.
    """
    with Recording(name, transform, arguments, function) as body, open_body(body):
        tracers = [body.new_input(aval) for aval in avals]
        outputs = f(*tracers)
        jaxpr = body.jaxpr(outputs)
    for var, argument in zip(jaxpr.invars, arguments, strict=False):
        var.name = argument
    return checked(jaxpr)


def listed(names: Iterable[str]) -> str:
    """Names of arguments, the first few of them, for messages."""
    known = sorted(set(names))
    rest = len(known) - _LISTED
    return ", ".join(known[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def highest_level(values: Sequence[Any]) -> int:
    """The level of the newest trace among values; 0 for known ones."""
    return max([v._trace.level for v in values if isinstance(v, Tracer)], default=0)


def has_tracers(values: Sequence[Any]) -> bool:
    return any(isinstance(value, Tracer) for value in values)


def hoist_constants(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    """A jaxpr without captured tracers, and those tracers as leading operands."""
    captured = [
        (v, c) for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True) if isinstance(c, Tracer)
    ]
    if not captured:
        return jaxpr, []
    kept = [
        (v, c)
        for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)
        if not isinstance(c, Tracer)
    ]
    closed = Jaxpr(
        [v for v, _ in kept],
        [c for _, c in kept],
        [v for v, _ in captured] + list(jaxpr.invars),
        jaxpr.eqns,
        jaxpr.outvars,
        jaxpr.name,
    )
    return closed, [c for _, c in captured]


# ---- concrete values of tracers --------------------------------------------------------------


def concrete(value: Any) -> Any:
    """The NumPy value of a tracer whose traces all know it; else None."""
    while isinstance(value, Tracer):
        trace = value._trace
        if not trace.alive or trace.thread != get_ident():
            raise leaked(value, f"its value was asked for at {here()}")
        value = value._known()
    return value


def unknown_level(value: Any) -> Tracer:
    """The tracer, some levels down, whose trace does not know its value."""
    while True:
        below = value._known()
        if below is None:
            return value  # type: ignore[no-any-return]
        value = below


def describe_unknown(value: Any) -> str:
    """A tracer of unknown value in the user's words: type, transform, function, argument, line."""
    return f"a {described(unknown_level(value))}"


def described(tracer: Tracer) -> str:
    """A tracer in the user's words."""
    trace = tracer._trace
    text = in_words(tracer.aval)
    source = getattr(tracer, "source", None)
    if source is not None:
        text += f", computed at {source_text(source)}"
    arguments = trace.origin(tracer)
    origin = f", from argument {arguments}" if arguments else ""
    return f"{text}, in {trace.title}{origin}"


_RECORDED_BODIES = ("scan", "map", "while_loop", "fori_loop", "cond", "switch")


def make_known(value: Any) -> str:
    """What to do to have the value of a tracer, for messages."""
    transform = unknown_level(value)._trace.transform
    if transform == "vmap":
        return "pass the argument unmapped, with None in in_axes"
    if transform in _RECORDED_BODIES:
        return f"compute it outside of the function that {transform} is given"
    return "make the argument static with static_argnums"
