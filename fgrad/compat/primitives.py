"""Primitives as programs for JAX declare them, run by fgrad.

JAX keeps the rules of a primitive in tables, one for each transform, into which programs put functions.
Here one class of primitive reads these tables: an application looks a rule up when a transform asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad import tree_util
from fgrad.array import value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import canonical, is_inexact
from fgrad.errors import ArgumentError, MissingRuleError
from fgrad.primitives.families import match_aval, zeros_of
from fgrad.tracing import Primitive as _Primitive
from fgrad.tracing import derivative_rules
from fgrad.transforms.custom_jvp import LinearPullback
from fgrad.transforms.tape import Tape, known_at_zero

__all__ = [
    "Primitive",
    "UndefinedPrimal",
    "Zero",
    "axis_primitive_batchers",
    "defjvp",
    "deflinear",
    "deflinear2",
    "instantiate_zeros",
    "is_undefined_primal",
    "lower_fun",
    "primitive_batchers",
    "primitive_jvps",
    "primitive_transposes",
    "register_lowering",
]

primitive_jvps: dict[Primitive, Callable[..., Any]] = {}
primitive_transposes: dict[Primitive, Callable[..., Any]] = {}
primitive_batchers: dict[Primitive, Callable[..., Any]] = {}
#: Rules that take the size of the axis first.
axis_primitive_batchers: dict[Primitive, Callable[..., Any]] = {}

# Whether a linear program is transposed right now: then what is asked of a primitive is its transpose.
_transposing: ContextVar[bool] = ContextVar("fgrad_compat_transposing", default=False)


class Zero:
    """A tangent or cotangent that is known to be zero."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"

    @classmethod
    def from_primal_value(cls, primal: Any) -> Zero:
        """The zero tangent of a value."""
        return cls(aval_of(value(primal)))


# A tree without leaves: transforms of trees of tangents keep it as it is.
tree_util.register_pytree_node(Zero, lambda zero: ((), zero.aval), lambda aval, _: Zero(aval))


class UndefinedPrimal:
    """An operand that a program is linear in, while it is transposed: only its type is known."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: Any) -> bool:
    """Whether an operand of a transpose rule is one that the program is linear in."""
    return isinstance(x, UndefinedPrimal)


def instantiate_zeros(x: Any) -> Any:
    """An array, also for a zero."""
    return wrap(zeros_of(x.aval)) if isinstance(x, Zero) else x


class Primitive:
    """An operation with a name, whose rules are in tables.

    Parameters
    ----------
    name : str
    """

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.impl: Callable[..., Any] | None = None
        self.abstract_eval: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return self.name

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Say how to compute it."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Say which types its results have."""
        self.abstract_eval = rule
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Say which types its results have; what the rule says of effects is not needed."""
        self.abstract_eval = lambda *avals, **params: rule(*avals, **params)[0]
        return rule

    def def_custom_bind(self, bind: Callable[..., Any]) -> Callable[..., Any]:
        """Replace what applies it."""
        self.bind = bind  # type: ignore[method-assign]
        return bind

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply it to arrays, numbers or traced values."""
        answers = Application(self, params)(
            *[value(x, f"{self.name}: argument {i}") for i, x in enumerate(args)]
        )
        return [wrap(a) for a in answers] if self.multiple_results else wrap(answers[0])

    def _listed(self, results: Any) -> list[Any]:
        return list(results) if self.multiple_results else [results]


class Application(_Primitive):
    """A primitive of a program for JAX, with its parameters."""

    multiple_results = True
    keeps_residuals = True
    has_rule = True

    def __init__(self, primitive: Primitive, params: dict[str, Any]) -> None:
        self.primitive = primitive
        self.settings = params
        try:
            self._hash = hash((primitive, *sorted(params.items(), key=lambda item: item[0])))
        except TypeError:
            self._hash = id(self)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Application) or self._hash != other._hash:
            return False
        mine, its = self.settings, other.settings
        return (
            self.primitive is other.primitive
            and mine.keys() == its.keys()
            and all(type(mine[k]) is type(its[k]) and bool(mine[k] == its[k]) for k in mine)
        )

    @property
    def name(self) -> str:
        return self.primitive.name

    @property
    def called(self) -> str:
        return f"the primitive {self.name}"

    def params(self) -> dict[str, Any]:
        return dict(self.settings)

    def abstract_eval(self, *avals: Aval) -> list[Aval]:
        rule = self.primitive.abstract_eval
        if rule is None:
            raise self._missing("an abstract evaluation rule; give one with def_abstract_eval")
        found = self.primitive._listed(rule(*avals, **self.settings))
        return [Aval(tuple(a.shape), canonical(np.dtype(a.dtype))) for a in found]

    def impl(self, *values: Any) -> list[Any]:
        rule = self.primitive.impl
        if rule is None:
            raise self._missing("an implementation; give one with def_impl")
        found = rule(*[wrap(v) for v in values], **self.settings)
        answers = []
        for answer in self.primitive._listed(found):
            inside = value(answer, f"the result of {self.name}")
            if isinstance(inside, np.ndarray) and any(inside is v for v in values):
                inside = inside.copy()
            aval = aval_of(inside)
            answers.append(match_aval(inside, Aval(aval.shape, aval.dtype)))
        return answers

    def _missing(self, what: str) -> MissingRuleError:
        return MissingRuleError(f"the primitive {self.name!r} has not been given {what}")

    # ---- derivatives --------------------------------------------------------------------------

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        rule = primitive_jvps.get(self.primitive)
        if rule is None:
            raise self._missing("a rule for its derivative; put one into ad.primitive_jvps")
        directions = [
            Zero(aval_of(p)) if t is None else wrap(t)
            for p, t in zip(primals, tangents, strict=True)
        ]
        with derivative_rules():
            found, moved = rule(tuple(wrap(p) for p in primals), tuple(directions), **self.settings)
        answers = [value(a) for a in self.primitive._listed(found)]
        return answers, [
            _inside(t, aval_of(a))
            for t, a in zip(self.primitive._listed(moved), answers, strict=True)
        ]

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        linear = self.primitive in primitive_transposes and (
            _transposing.get() or self.primitive not in primitive_jvps
        )
        if linear:
            avals = [aval_of(a) for a in args]
            answers = [zeros_of(a) for a in self.abstract_eval(*avals)]
            if not _transposing.get():
                answers = self(*args)
            return answers, _Transpose(self, needs, avals, args, [aval_of(a) for a in answers])
        with Tape(self.name, "jvp", (), self.primitive.impl) as tape:
            tangents = [
                tape.new_input(aval_of(x)) if need else None
                for x, need in zip(args, needs, strict=True)
            ]
            outs, moved = self.push(args, tangents)
            active = [t is not None for t in moved]
            program = tape.jaxpr([t for t in moved if t is not None])
            outs = known_at_zero(tape, outs)
        who = f"the rule for the derivative of the primitive {self.name}"
        return outs, _LinearPullback(program, active, needs, lambda: who)

    def transpose_of(self, active: Sequence[bool], args: Sequence[Any]) -> Any:
        if self.primitive not in primitive_transposes:
            return None
        avals = [aval_of(a) for a in args]
        return _Transpose(self, active, avals, args, self.abstract_eval(*avals))

    # ---- batches ------------------------------------------------------------------------------

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        given = tuple(wrap(a) for a in args)
        axes = tuple(0 if m else None for m in mapped)
        if self.primitive in primitive_batchers:
            found, out_axes = primitive_batchers[self.primitive](given, axes, **self.settings)
        elif self.primitive in axis_primitive_batchers:
            rule = axis_primitive_batchers[self.primitive]
            found, out_axes = rule(size, None, None, given, axes, **self.settings)
        else:
            raise self._missing("a batching rule; put one into batching.primitive_batchers")
        results = self.primitive._listed(found)
        positions = self.primitive._listed(out_axes)
        answers = [
            value(r if axis in (0, None) else fnp.moveaxis(r, axis, 0))
            for r, axis in zip(results, positions, strict=True)
        ]
        return answers, [axis is not None for axis in positions]


def _inside(direction: Any, aval: Aval) -> Any:
    """A tangent or cotangent that a rule gave, as the inside takes it; None is zero."""
    if direction is None or isinstance(direction, Zero) or not is_inexact(aval.dtype):
        return None
    return match_aval(value(direction), aval)


@contextmanager
def _transposed(on: bool) -> Iterator[None]:
    token = _transposing.set(on)
    try:
        yield
    finally:
        _transposing.reset(token)


class _LinearPullback(LinearPullback):
    """What transposes the tangent program of a rule: primitives in there are linear."""

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        with _transposed(True):
            return super().__call__(cts)


class _Transpose:
    """The pullback of a primitive that is linear in some of its operands."""

    def __init__(
        self,
        application: Application,
        needs: Sequence[bool],
        avals: Sequence[Aval],
        args: Sequence[Any],
        out_avals: Sequence[Aval],
    ) -> None:
        self.application = application
        self.needs = needs
        self.avals = avals
        self.out_avals = out_avals
        self.residuals = [a for a, need in zip(args, needs, strict=True) if not need]
        self.active = [is_inexact(a.dtype) for a in out_avals]

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        primitive, settings = self.application.primitive, self.application.settings
        kept = iter(self.residuals)
        operands = [
            UndefinedPrimal(aval) if need else wrap(next(kept))
            for aval, need in zip(self.avals, self.needs, strict=True)
        ]
        given = [
            Zero(aval) if ct is None else wrap(ct)
            for ct, aval in zip(cts, self.out_avals, strict=True)
        ]
        with _transposed(False):
            found = primitive_transposes[primitive](
                given if primitive.multiple_results else given[0], *operands, **settings
            )
        if len(found) != len(self.needs):
            raise ArgumentError(
                f"the transpose rule of the primitive {primitive.name!r} returned {len(found)} cotangents, "
                f"expected one for each of its {len(self.needs)} operands"
            )
        return [
            _inside(ct, aval) if need else None
            for ct, aval, need in zip(found, self.avals, self.needs, strict=True)
        ]


# ---- what puts several rules into the tables at once ----------------------------------------------


def defjvp(primitive: Primitive, *jvps: Callable[..., Any] | None) -> None:
    """Give a rule for each operand: from its tangent and the operands to the tangent of the result."""

    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        answer = primitive.bind(*primals, **params)
        terms = [
            jvp(t, *primals, **params)
            for jvp, t in zip(jvps, tangents, strict=True)
            if jvp is not None and not isinstance(t, Zero)
        ]
        return answer, sum(terms[1:], terms[0]) if terms else Zero.from_primal_value(answer)

    primitive_jvps[primitive] = rule


def deflinear2(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """Give the transpose of a primitive that is linear in all of its operands."""

    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        answer = primitive.bind(*primals, **params)
        if all(isinstance(t, Zero) for t in tangents):
            return answer, Zero.from_primal_value(answer)
        return answer, primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = rule
    primitive_transposes[primitive] = transpose


def deflinear(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """As `deflinear2`, for a transpose that takes the cotangent alone."""
    deflinear2(primitive, lambda ct, *operands, **params: transpose(ct, **params))


class _Lowering:
    """A lowering that is a function of arrays again."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> _Lowering:
    """The lowering that does what a function of arrays does."""
    return _Lowering(fun)


def register_lowering(primitive: Primitive, rule: Any, platform: Any = None, **options: Any) -> Any:
    """Take a lowering of `lower_fun` as the implementation of a primitive that has none.

    Other lowerings write programs for a compiler that is not here. They are not used: compiled functions
    call the implementation.
    """
    if isinstance(rule, _Lowering) and primitive.impl is None:
        primitive.impl = rule.fun
    return rule
