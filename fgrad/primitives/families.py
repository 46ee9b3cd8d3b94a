"""The families of primitives: what each derives from the little that a member declares.

=============  ========================  ====================================================
family         a member declares         derived here
=============  ========================  ====================================================
`Elementwise`  function, partials        typing, broadcasting, implementation, lowering, jvp,
                                         vjp (summed back to each operand), batching
`Linear`       transpose                 jvp (apply to the tangent), vjp
`Bilinear`     two transposes            jvp (product rule), vjp
`General`      jvp and vjp               nothing; tests hold one against the other
=============  ========================  ====================================================

Broadcasting and promotion between operands happen here and in no rule: a rule may return a cotangent
of the answer's shape and dtype, and `match_aval` brings it to its primal's.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from fgrad import dtypes
from fgrad.avals import WEAK_FLOAT, Aval, Shape, aval_of, broadcast_shapes
from fgrad.config import switches
from fgrad.errors import DTypeError, MissingRuleError, NanError
from fgrad.ir.passes import used_inputs
from fgrad.parameters import parameters
from fgrad.primitives.promotion import ufunc_dtype
from fgrad.primitives.sums import ones, summed, way_to_sum
from fgrad.source_info import here
from fgrad.tracing import Primitive, derivative_rules, record

ndarray = np.ndarray
_PYTHON = frozenset((float, int, bool, complex))

_FLOAT_SCALARS = frozenset((np.float64, float))

#: Every primitive without parameters, by name: pickles refer to it.
SINGLETONS: dict[str, Primitive] = {}
#: Every primitive class with parameters.
CLASSES: list[type[Primitive]] = []

_COMMON_RULES = ("abstract_eval", "impl", "batch")


class _Declared(Primitive):
    """A primitive class whose completeness is checked when it is declared."""

    rules: ClassVar[tuple[str, ...]] = ()
    abstract: ClassVar[bool] = True

    def __init_subclass__(cls, *, abstract: bool = False, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.abstract = abstract
        if abstract:
            return
        family = next(base for base in cls.__mro__ if "rules" in base.__dict__)
        missing = [rule for rule in _COMMON_RULES if getattr(cls, rule) is getattr(Primitive, rule)]
        if cls.differentiable:
            missing += [rule for rule in cls.rules if getattr(cls, rule) is getattr(family, rule)]
        if missing:
            raise MissingRuleError(
                f"primitive {cls.__name__} is declared without {', '.join(missing)}"
            )
        if cls not in CLASSES:
            CLASSES.append(cls)


# ---- elementwise -----------------------------------------------------------------------------


class _Marker:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


ONE = _Marker("ONE")
NEG_ONE = _Marker("NEG_ONE")
ZERO = _Marker("ZERO")

Partial = Callable[..., Any] | _Marker


class Elementwise(_Declared, abstract=True):
    """A function of scalars, applied to broadcast operands.

    ``partials[i]`` gives the slope towards operand i as a function of ``(answer, *operands)``, or is one
    of the markers ONE, NEG_ONE and ZERO.
    """

    rules = ("partials",)
    ignores_unread = True
    promotes = True
    partials: Sequence[Partial] = ()
    #: Python's operator, which takes two NumPy scalars in a fraction of the time of a ufunc.
    operator: Callable[[Any, Any], Any] | None = None

    def compute(self, *values: Any) -> Any:
        raise MissingRuleError(f"{self.name} has no implementation")

    def result_dtype(self, avals: Sequence[Aval]) -> np.dtype[Any]:
        raise MissingRuleError(f"{self.name} has no typing rule")

    def abstract_eval(self, *avals: Aval) -> Aval:
        shape: Shape = ()
        for aval in avals:
            own = aval.shape
            if own and own != shape:
                if shape:
                    shape = broadcast_shapes(self.called, *[a.shape for a in avals])
                    break
                shape = own
        weak = not shape and all([a.weak for a in avals])
        dtype = self.result_dtype(avals)
        if weak:
            # A Python number has one dtype, whichever loop computed it.
            dtype = dtypes.PYTHON_DTYPES[dtypes.python_type(dtype)]
        return Aval(shape, dtypes.canonical(dtype), weak)

    def impl(self, *values: Any) -> Any:
        first = values[0]
        if type(first) is np.float64 and switches.enable_x64:
            operator = self.operator
            if operator is not None and type(values[1]) in _FLOAT_SCALARS:
                return operator(first, values[1])
        try:
            answer = self.compute(*values)
        except (TypeError, ValueError):
            # Where the types are at fault, the typing rule says so in better words than NumPy.
            self.abstract_eval(*map(aval_of, values))
            raise
        if type(answer) is ndarray:
            if switches.enable_x64:
                return answer
        else:
            for v in values:
                if type(v) not in _PYTHON:
                    break
            else:
                return answer.item() if isinstance(answer, np.generic) else answer
        if not switches.enable_x64:
            wanted = dtypes.canonical(answer.dtype)
            return answer if wanted == answer.dtype else answer.astype(wanted)
        return answer

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        total = None
        with derivative_rules():
            for partial, t in zip(self.partials, tangents, strict=True):
                if t is None or partial is ZERO:
                    continue
                if partial is ONE:
                    term = t
                elif partial is NEG_ONE:
                    term = neg(t)
                else:
                    term = absorbing_product(t, partial(answer, *primals))  # type: ignore[operator]
                total = term if total is None else add(total, term)
        return None if total is None else match_aval(total, aval_of(answer))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        table = self.__dict__.get("_reads")
        if table is None:
            table = {}
            # A frozen dataclass refuses plain assignment.
            object.__setattr__(self, "_reads", table)
        key = tuple(needs)
        known = table.get(key)
        if known is None:
            used = [False] * (1 + len(needs))
            for partial, need in zip(self.partials, needs, strict=True):
                if need and callable(partial):
                    used = [
                        u or now
                        for u, now in zip(used, _partial_reads(partial, len(needs)), strict=True)
                    ]
            known = table[key] = (used[0], tuple(used[1:]))
        return known

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        cotangents: list[Any] = []
        for position, partial in enumerate(self.partials):
            if not needs[position] or partial is ZERO:
                cotangents.append(None)
                continue
            primal = args[position]
            if partial is ONE:
                term = ct
            elif partial is NEG_ONE:
                # After the sum towards a stretched operand there are fewer signs to change.
                term = neg(match_aval(ct, aval_of(primal)))
            else:
                term = absorbing_product(ct, partial(answer, *args))  # type: ignore[operator]
            if type(primal) is ndarray:
                if (
                    type(term) is ndarray
                    and term.shape == primal.shape
                    and term.dtype == primal.dtype
                ):
                    cotangents.append(term)
                    continue
            cotangents.append(match_aval(term, aval_of(primal)))
        return cotangents

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(*align_ranks(args, mapped)), True


def _partial_reads(partial: Callable[..., Any], arity: int) -> tuple[bool, ...]:
    """What a slope reads of (answer, *operands): found by recording it on unknown scalars.

    Real and complex ones, since a slope may differ between them.
    """
    read = (False,) * (1 + arity)
    for dtype in (dtypes.FLOAT64, dtypes.COMPLEX128):
        scalars = [Aval((), dtype)] * (1 + arity)
        try:
            program = record(lambda *xs: [partial(*xs)], scalars, "a slope")
        except DTypeError:
            continue
        read = tuple([a or b for a, b in zip(read, used_inputs(program), strict=True)])
    return read


def align_ranks(args: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """Operands whose per-example axes line up: size-one axes go behind a leading mapped axis."""
    ranks = [
        len(np.shape(a) if not hasattr(a, "shape") else a.shape) - m
        for a, m in zip(args, mapped, strict=True)
    ]
    rank = max(ranks)
    aligned = []
    for a, is_mapped, own in zip(args, mapped, ranks, strict=True):
        if is_mapped and own < rank:
            shape = a.shape
            a = reshape(a, (shape[0], *(1,) * (rank - own), *shape[1:]))
        aligned.append(a)
    return aligned


class Ufunc(Elementwise, abstract=True):
    """An elementwise primitive without parameters, over a NumPy ufunc or a function like one."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        partials: Sequence[Partial] | None,
        typed_like: Any = None,
        source: str | None = None,
        arity: int | None = None,
        view: bool = False,
        keeps_nan: bool = False,
    ) -> None:
        self._name = name
        self.keeps_nan = keeps_nan
        self.view = view  # type: ignore[misc]
        self.function = function
        self.typed_like: Any = function if typed_like is None else typed_like
        self.source = source or f"np.{getattr(function, '__name__', name)}"
        self.differentiable = partials is not None  # type: ignore[misc]
        self.arity = len(partials) if partials is not None else (arity or function.nin)  # type: ignore[attr-defined]
        self.partials = partials or ()
        self._types: dict[Any, np.dtype[Any]] = {}
        if type(self).compute is Ufunc.compute:
            # Without a frame in between, since it is what most eager calls run.
            self.compute = function  # type: ignore[method-assign]
            self.operator = _OPERATORS.get(function)
        SINGLETONS[name] = self

    @property
    def name(self) -> str:
        return self._name

    def params(self) -> dict[str, Any]:
        return {}

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> tuple[Any, ...]:
        return _singleton, (self._name,)

    def compute(self, *values: Any) -> Any:
        return self.function(*values)

    def result_dtype(self, avals: Sequence[Aval]) -> np.dtype[Any]:
        key = tuple([(a.dtype, a.weak) for a in avals])
        dtype = self._types.get(key)
        if dtype is None:
            dtype = self._types[key] = ufunc_dtype(self.called, self.typed_like, avals)
        return dtype

    def lower(self, emit: Any, *names: str) -> str:
        weak = all([aval.weak for aval in emit.operands])
        symbol = _SYMBOLS.get(self.function)
        if symbol is not None and emit.takes_operators(symbol):
            left, right = names
            return f"{left} {symbol} {right}"
        if self.function is np.negative and emit.operands[0].shape:
            return f"-{names[0]}"
        if weak:
            if isinstance(self.function, np.ufunc):
                return f"{self.source}({', '.join(names)}).item()"
            return super().lower(emit, *names)
        if self.source.startswith("np."):
            return f"{self.source}({', '.join(names)})"
        return f"{emit.constant(self.function, self.name)}({', '.join(names)})"

    def lower_into(self, emit: Any, target: str, *names: str) -> str | None:
        if not isinstance(self.function, np.ufunc) or not self.source.startswith("np."):
            return None
        symbol = _SYMBOLS.get(self.function)
        if target in names and symbol in ("+", "-", "*", "/"):
            position = names.index(target)
            if position == 0 or symbol in ("+", "*"):
                return f"{target} {symbol}= {names[1 - position]}"
        return f"{self.source}({', '.join(names)}, out={target})"


#: Operators that mean what the ufunc means.
_SYMBOLS: dict[Any, str] = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.true_divide: "/",
    np.greater: ">",
    np.greater_equal: ">=",
    np.less: "<",
    np.less_equal: "<=",
    np.equal: "==",
    np.not_equal: "!=",
}


_OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
}


def _singleton(name: str) -> Primitive:
    return SINGLETONS[name]


def elementwise(
    name: str,
    function: Callable[..., Any],
    partials: Sequence[Partial] | None,
    typed_like: Any = None,
    source: str | None = None,
    arity: int | None = None,
    view: bool = False,
    keeps_nan: bool = False,
) -> Ufunc:
    """Declare an elementwise primitive; ``partials=None`` says that it has no derivative anywhere."""
    return Ufunc(name, function, partials, typed_like, source, arity, view, keeps_nan)


# ---- linear and bilinear ---------------------------------------------------------------------


class Linear(_Declared, abstract=True):
    """Linear in its leading operands together; the rest are indices, masks and their kin."""

    rules = ("transpose",)
    #: How many leading operands it is linear in; None means all.
    linear_operands: ClassVar[int | None] = None

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        """Cotangents of the linear operands, which are given as avals."""
        raise MissingRuleError(f"{self.name} has no transpose")

    def _split(self, count: int) -> int:
        return count if self.linear_operands is None else self.linear_operands

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        split = self._split(len(primals))
        if all([t is None for t in tangents[:split]]):
            return None
        directions = [
            zeros_of(aval_of(p)) if t is None else t
            for p, t in zip(primals[:split], tangents[:split], strict=True)
        ]
        return self(*directions, *primals[split:])

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        split = self._split(len(needs))
        return False, (False,) * split + (True,) * (len(needs) - split)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        split = self._split(len(args))
        avals = [aval_of(a) for a in args[:split]]
        cotangents = list(self.transpose(ct, needs[:split], *avals, *args[split:]))
        return cotangents + [None] * (len(args) - split)


class Bilinear(_Declared, abstract=True):
    """Linear in each of two operands."""

    rules = ("transpose_left", "transpose_right")

    def transpose_left(self, ct: Any, left: Aval, right: Any) -> Any:
        raise MissingRuleError(f"{self.name} has no transpose_left")

    def transpose_right(self, ct: Any, left: Any, right: Aval) -> Any:
        raise MissingRuleError(f"{self.name} has no transpose_right")

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (x, y), (tx, ty) = primals, tangents
        left = None if tx is None else self(tx, y)
        right = None if ty is None else self(x, ty)
        if left is None or right is None:
            return right if left is None else left
        return add(left, right)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (needs[1], needs[0])

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        x, y = args
        return (
            self.transpose_left(ct, aval_of(x), y) if needs[0] else None,
            self.transpose_right(ct, x, aval_of(y)) if needs[1] else None,
        )


class General(_Declared, abstract=True):
    """Anything else: it declares its jvp and its vjp, and what its vjp reads."""

    rules = ("jvp", "vjp", "reads")


class NonDifferentiable(_Declared, abstract=True):
    """Piecewise constant, or of integers: derivatives are zero wherever they exist."""

    differentiable = False


# ---- what every rule leans on ----------------------------------------------------------------


def _convert_dtype(values: Any, dtype: np.dtype[Any]) -> Any:
    if values.dtype.kind == "c" and dtype.kind != "c":
        values = values.real if dtype.kind != "b" else values
    try:
        return values.astype(dtype)
    except TypeError:
        # Between the integers of ml_dtypes there are no casts.
        return values.astype(dtypes.widened(values.dtype)).astype(dtype)


@parameters
class Convert(Elementwise):
    """Change the dtype; from complex to real it takes the real part.   a[*s] -> b[*s]"""

    dtype: np.dtype[Any]
    weak: bool = False
    partials = (ONE,)
    view = True

    @property
    def name(self) -> str:
        return "convert"

    def abstract_eval(self, *avals: Aval) -> Aval:
        return Aval(avals[0].shape, self.dtype, self.weak)

    def impl(self, *values: Any) -> Any:
        (x,) = values
        if type(x) is ndarray:
            if self.weak:
                return dtypes.python_type(self.dtype)(_convert_dtype(x, self.dtype).item())
            return x.view() if x.dtype == self.dtype else _convert_dtype(x, self.dtype)
        if type(x) in _PYTHON:
            if type(x) is complex and self.dtype.kind != "c":
                x = x.real
            scalar = self.dtype.type(x)
        else:
            scalar = _convert_dtype(x, self.dtype)
        return scalar.item() if self.weak else scalar

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        # A batch has no weak elements: Python numbers of several examples make an array.
        (x,) = args
        return (x if aval_of(x).dtype == self.dtype else Convert(self.dtype)(x)), True

    def lower(self, emit: Any, *names: str) -> str:
        (operand,) = emit.operands
        plain = operand.dtype.kind in "biuf" and self.dtype.kind in "biuf"
        if operand.shape and plain and operand.dtype != self.dtype:
            return f"{names[0]}.astype({emit.dtype(self.dtype)})"
        return f"{emit.constant(self.impl, f'as_{self.dtype.name}')}({names[0]})"


class AbsorbingProduct(Ufunc, abstract=True):
    """``ct * slope``, where a ``ct`` of exactly zero absorbs any slope, infinite or NaN.

    A slope that is a condition absorbs too where it does not hold: ``ct`` does not get there at all.
    Bilinear; its derivative absorbs on the same operand.   f[*s] f[*s] -> f[*s]
    """

    def compute(self, *values: Any) -> Any:
        ct, slope = values
        answer = np.multiply(ct, slope)
        if _unguarded.get() or not has_nan(answer):
            return answer
        lost = np.isnan(answer)
        absorbed = np.equal(ct, 0) & lost
        if aval_of(slope).dtype == dtypes.BOOL:
            absorbed = np.logical_not(slope) & lost
        elif switches.debug_nans and np.any(absorbed):
            raise NanError(
                f"a derivative of zero met an infinite or NaN slope at {here()}; the product counts as 0"
            )
        return np.where(absorbed, np.zeros((), answer.dtype), answer)[()]

    def impl(self, *values: Any) -> Any:
        ct, slope = values
        if type(ct) is float and type(slope) is float and not switches.debug_nans:
            answer = ct * slope
            return 0.0 if answer != answer and ct == 0.0 else answer
        return super().impl(ct, slope)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (ct, slope), (t_ct, t_slope) = primals, tangents
        left = None if t_ct is None else self(t_ct, slope)
        right = None if t_slope is None else self(ct, t_slope)
        total = right if left is None else left if right is None else add(left, right)
        return None if total is None else match_aval(total, aval_of(answer))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (needs[1], needs[0])

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        inner, slope = args
        return (
            match_aval(self(ct, slope), aval_of(inner)) if needs[0] else None,
            match_aval(self(inner, ct), aval_of(slope)) if needs[1] else None,
        )

    def lower(self, emit: Any, *names: str) -> str:
        return emit.absorbing_product(*names)  # type: ignore[no-any-return]


#: Above this size BLAS shares a product of vectors out among threads, and waits for them.
LARGE_FOR_DOT = 8192
_unguarded: ContextVar[bool] = ContextVar("fgrad_unguarded", default=False)


class unguarded:
    """Inside, absorbing products are plain ones: the caller checks its results and runs again if need be."""

    def __enter__(self) -> None:
        self.token = _unguarded.set(True)

    def __exit__(self, *exc: object) -> None:
        _unguarded.reset(self.token)


def has_nan(values: Any) -> bool:
    """Whether any element is NaN."""
    if type(values) is not ndarray:
        return bool(values != values)
    kind = values.dtype.kind
    if not (values.size and dtypes.is_inexact(values.dtype)):
        return False
    if kind not in "fc":
        # The floats of ml_dtypes.
        return bool(np.isnan(values).any())
    if values.size > LARGE_FOR_DOT:
        if kind == "c":
            return has_nan(values.real) or has_nan(values.imag)
        return bool(np.isnan(np.minimum.reduce(values, axis=None)))
    # A sum of squares is NaN exactly when an element is.
    flat = values.ravel(order="K")
    if kind == "c":
        flat = flat.view(flat.real.dtype)
    return bool(np.isnan(np.dot(flat, flat)))


def array_in_shape(x: np.ndarray[Any, Any], shape: Any) -> np.ndarray[Any, Any]:
    """The elements of a known array in another shape: a view, or all that refers to a new copy."""
    answer = x.reshape(shape)
    base = answer.base
    if base is not x and base is not None and base is not x.base:
        # Elements that do not lie in order were copied, and nobody else has the copy.
        base.setflags(write=False)
    return answer


@parameters
class Reshape(Linear):
    """The same elements in another shape.   a[*s] -> a[*shape]"""

    shape: Shape
    view = True
    keeps_nan = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x.with_shape(self.shape)

    def impl(self, x: Any) -> Any:
        if type(x) is ndarray and self.shape:
            return array_in_shape(x, self.shape)
        if type(x) in _PYTHON:
            if not self.shape:
                return x
            x = np.asarray(x, dtypes.canonical(dtypes.PYTHON_DTYPES[type(x)]))
        return np.asarray(x).reshape(self.shape) if self.shape else x.reshape(())[()]

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (match_aval(reshape(ct, args[0].shape), args[0]),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Reshape((size, *self.shape))(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if not self.shape or emit.operands[0].weak:
            return super().lower(emit, *names)
        return f"{names[0]}.reshape({', '.join(map(str, self.shape))})"


@parameters
class BroadcastTo(Linear):
    """Stretch to a shape by NumPy's rules.   a[*s] -> a[*shape]"""

    shape: Shape
    view = True
    keeps_nan = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        broadcast_shapes("broadcast_to", x.shape, self.shape)
        return x.with_shape(self.shape)

    def impl(self, x: Any) -> Any:
        if not self.shape:
            return x if type(x) is not ndarray else x[()]
        if type(x) is not ndarray:
            x = np.asarray(x, dtypes.canonical(np.asarray(x).dtype))
            # Nobody else holds this 0-d array.
            x.setflags(write=False)
        if not x.ndim and x.dtype.kind in "biufc":
            # What the gradients of sums are; NumPy's function takes three times as long.
            return np.ndarray(self.shape, x.dtype, x, 0, (0,) * len(self.shape))
        return np.broadcast_to(x, self.shape)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (match_aval(ct, args[0]),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        (x,) = args
        pad = len(self.shape) + 1 - len(x.shape)
        if pad:
            x = reshape(x, (size, *(1,) * pad, *x.shape[1:]))
        return BroadcastTo((size, *self.shape))(x), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.broadcast_to({names[0]}, {self.shape})"


@parameters
class Sum(Linear):
    """Sum over axes; small integers are summed in 64 bits, as NumPy does.   a[*s] -> a[*s without axes]"""

    axes: tuple[int, ...]
    keeps_nan = True

    @property
    def view(self) -> bool:  # type: ignore[override]
        return not self.axes

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        kept = tuple([n for axis, n in enumerate(x.shape) if axis not in self.axes])
        return Aval(kept, dtypes.canonical(sum_dtype(x.dtype)), x.weak and not kept)

    def impl(self, x: Any) -> Any:
        if type(x) in _PYTHON:
            return int(x) if type(x) is bool else x
        dtype = x.dtype
        if dtype.kind in "fc":
            if not self.axes:
                return x.view() if type(x) is ndarray else x
            if x.ndim and dtype.char in "fd":
                return summed(x, self.axes)
        else:
            if dtype.kind == "b" and len(self.axes) == x.ndim:
                return dtypes.canonical(dtypes.INT64).type(np.count_nonzero(x))
            dtype = dtypes.canonical(sum_dtype(dtype))
        return np.add.reduce(x, self.axes, dtype)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        (x,) = args
        kept = tuple([1 if axis in self.axes else n for axis, n in enumerate(x.shape)])
        return (match_aval(broadcast_to(reshape(ct, kept), x.shape), x),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Sum(tuple([axis + 1 for axis in self.axes]))(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        (x,) = names
        (aval,) = emit.operands
        if aval.dtype.kind == "b" and len(self.axes) == len(aval.shape):
            return f"{emit.dtype(dtypes.canonical(dtypes.INT64))}(np.count_nonzero({x}))"
        way = way_to_sum(aval.shape, self.axes) if aval.dtype.char in "fd" else None
        if way is None:
            return f"np.add.reduce({x}, axis={self.axes})"
        if emit.in_block or not way.at_once:
            return f"{emit.constant(summed, 'summed')}({x}, {self.axes})"
        one = emit.constant(ones(way.length, aval.dtype), f"ones_{way.length}")
        if not way.kept:
            return f"{x}.dot({one})"
        if len(aval.shape) > 2:
            sizes = (way.how_many, way.length) if way.are_rows else (way.length, way.how_many)
            x = f"{x}.reshape{sizes}"
        product = f"{x}.dot({one})" if way.are_rows else f"{one}.dot({x})"
        return product if len(way.kept) == 1 else f"{product}.reshape{way.kept}"


def sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which NumPy sums values of `dtype`."""
    if dtype.kind in "bi":
        return dtypes.INT64
    if dtype.kind == "u":
        return np.dtype(np.uint64)
    return dtype


@parameters
class Full(NonDifferentiable):
    """An array of one value.   -> dtype[*shape]"""

    shape: Shape
    fill: Any
    dtype: np.dtype[Any]
    # Equal fills, 0.0 and -0.0, make different arrays.
    negative_zero: bool = field(init=False)
    creates = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "negative_zero", self.fill == 0 and _is_negative_zero(self.fill))

    def staged(self) -> bool:
        return creation_is_staged(self.shape)

    def abstract_eval(self) -> Aval:  # type: ignore[override]
        return Aval(self.shape, self.dtype)

    def impl(self) -> Any:
        shape = self.shape
        if not shape:
            return self.dtype.type(self.fill)
        if self.fill == 0 and not self.negative_zero:
            return np.zeros(shape, self.dtype)
        return np.full(self.shape, self.fill, self.dtype)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(), False

    def lower(self, emit: Any, *names: str) -> str:
        dtype = emit.dtype(self.dtype)
        if self.fill == 0 and not self.negative_zero:
            return f"np.zeros({self.shape}, {dtype})"
        return f"np.full({self.shape}, {emit.scalar(self.fill)}, {dtype})"


def _is_negative_zero(fill: Any) -> bool:
    return isinstance(fill, complex) or math.copysign(1.0, fill) < 0


def creation_is_staged(shape: Shape) -> bool:
    """Creations below this size stay known constants, which Python code may branch on."""
    size = 1
    for n in shape:
        size *= n
    return size > 1024


#: The primitives of these parameters, made once: to make one costs as much as NumPy takes to run it.
reshape_to = functools.lru_cache(1024)(Reshape)
sum_over = functools.lru_cache(1024)(Sum)
broadcast_over = functools.lru_cache(1024)(BroadcastTo)
conversion = functools.lru_cache(256)(Convert)
#: For fills other than negative zeros, which a cache takes for positive ones.
full_of = functools.lru_cache(256, typed=True)(Full)


def reshape(x: Any, shape: Shape) -> Any:
    return x if shape_of(x) == shape else reshape_to(shape)(x)


def broadcast_to(x: Any, shape: Shape) -> Any:
    return x if shape_of(x) == shape else broadcast_over(shape)(x)


def shape_of(x: Any) -> Shape:
    """The shape of an inside value."""
    return () if type(x) in _PYTHON else x.shape


def zeros_of(aval: Aval) -> Any:
    """A zero of exactly this type."""
    if aval.weak:
        return dtypes.python_type(aval.dtype)(0)
    return full_of(aval.shape, 0, aval.dtype)()


def match_aval(x: Any, aval: Aval) -> Any:
    """Bring a tangent or cotangent to exactly the type of its primal.

    Stretched axes are summed away, missing ones are added, the dtype and weakness are converted.
    """
    kind = type(x)
    if kind is float and aval is WEAK_FLOAT:
        return x
    if kind is ndarray and x.shape == aval.shape and x.dtype == aval.dtype:
        return x
    own = aval_of(x)
    shape = own.shape
    if shape != aval.shape:
        if len(shape) >= len(aval.shape):
            extra = len(shape) - len(aval.shape)
            axes = tuple(range(extra)) + tuple(
                [
                    extra + axis
                    for axis, n in enumerate(aval.shape)
                    if n == 1 and shape[extra + axis] != 1
                ]
            )
            if axes:
                x = sum_over(axes)(x)
            x = broadcast_to(reshape(x, aval.shape) if _size(x) == aval.size else x, aval.shape)
        else:
            x = broadcast_to(x, aval.shape)
    if own.dtype != aval.dtype or aval_of(x).weak != aval.weak:
        x = conversion(aval.dtype, aval.weak)(x)
    return x


def _size(x: Any) -> int:
    size = 1
    for n in shape_of(x):
        size *= n
    return size


add = Ufunc("add", np.add, (ONE, ONE), keeps_nan=True)
neg = Ufunc("neg", np.negative, (NEG_ONE,), keeps_nan=True)
mul = Ufunc("mul", np.multiply, (lambda z, x, y: y, lambda z, x, y: x), keeps_nan=True)
absorbing_product = AbsorbingProduct(
    "absorbing_product", np.multiply, (lambda z, ct, s: s, lambda z, ct, s: ct)
)
