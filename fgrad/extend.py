"""Primitives of your own: an operation with its NumPy implementation, its derivatives and its batching.

Declare one by its mathematical family, and every transform knows what to do with it:

====================  =========================================  ===============================
declare               for                                        you write
====================  =========================================  ===============================
`elementwise`         functions of numbers                       NumPy function, slopes
`Linear`              functions linear in their operands         transpose
                      together
`Bilinear`            functions linear in each of two operands   transpose_left, transpose_right
`General`             anything else                              jvp, vjp
`NonDifferentiable`   piecewise constant functions, or of        no derivative
                      integers
====================  =========================================  ===============================

A class of the last four also has ``abstract_eval``, the type of the result from the types of the
operands, and ``impl``, the computation on NumPy arrays. Its parameters are the fields of a frozen
dataclass. Rules get and return arrays of fgrad: they are written with `fgrad.numpy` and with
primitives again, so that they can be differentiated, batched and compiled in turn.
"""

from __future__ import annotations

import functools
import sys as _sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Aval, Shape, aval_of
from fgrad.errors import ArgumentError, DTypeError, MissingRuleError, ShapeError
from fgrad.numpy._support import operand
from fgrad.primitives import families
from fgrad.primitives.families import match_aval, reshape, zeros_of
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.source_info import guard as _guard
from fgrad.tracing import Primitive, Tracer, derivative_rules

__all__ = [
    "Aval",
    "Bilinear",
    "General",
    "Linear",
    "NonDifferentiable",
    "aval_of",
    "elementwise",
    "match_aval",
]

_BUILT_IN = frozenset(families.SINGLETONS)


# ---- the border between rules as users write them and values inside ------------------------------


def _lend(x: Any) -> Any:
    """An inside value as a rule sees it: an Array over the same memory. Tracers and types stay."""
    if type(x) is np.ndarray:
        array = x.view(Array)
        array._value = x
        array.setflags(write=False)
        return array
    return x if x is None or isinstance(x, (Tracer, Aval)) else wrap(x)


def _take(x: Any, aval: Aval, what: str) -> Any:
    """What a rule returned for something of this type, as an inside value of exactly this type."""
    if x is None:
        return None
    inside = operand(x, what)
    own = aval_of(inside)
    # Of broadcast operands, the stretched axes are summed away; a number stands for an array of it.
    fits = own.shape == aval.shape or own.weak or _stretches(aval.shape, own.shape)
    if not fits:
        raise ShapeError(f"{what} has shape {own.shape}, expected {aval.shape}")
    return match_aval(inside, aval)


def _stretches(shape: Shape, to: Shape) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def _listed(result: Any) -> Sequence[Any]:
    return result if isinstance(result, (tuple, list)) else (result,)


def _declared_aval(result: Any, what: str) -> Aval:
    if isinstance(result, Aval):
        return Aval(result.shape, dtypes.canonical(result.dtype), result.weak)
    if not hasattr(result, "shape") or not hasattr(result, "dtype"):
        raise ArgumentError(f"{what} returned {result!r}; give an extend.Aval(shape, dtype)")
    return Aval(tuple(result.shape), dtypes.canonical(np.dtype(result.dtype)))


def _checked_value(result: Any, aval: Aval, values: Sequence[Any], what: str) -> Any:
    """A result of ``impl`` as an inside value that shares no memory with its operands."""
    array = np.asarray(result)
    if array.shape != aval.shape or array.dtype != aval.dtype:
        kind = ShapeError if array.shape != aval.shape else DTypeError
        raise kind(
            f"{what} returned an array of shape {array.shape} and dtype {array.dtype}, but abstract_eval says "
            f"shape {aval.shape} and dtype {aval.dtype}"
        )
    if aval.weak:
        return array.item()
    if not aval.shape:
        return array[()]
    plain = array.view(np.ndarray) if type(array) is not np.ndarray else array
    return plain.copy() if any(np.may_share_memory(plain, v) for v in values) else plain


def _adapted(rule: Callable[..., Any]) -> Callable[..., Any]:
    rule._adapted = True  # type: ignore[attr-defined]
    return rule


def _adapt_abstract_eval(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def abstract_eval(self: Any, *avals: Aval) -> Any:
        result = rule(self, *avals)
        what = f"abstract_eval of {self.name}"
        if self.multiple_results:
            return [_declared_aval(r, what) for r in result]
        return _declared_aval(result, what)

    return abstract_eval


def _adapt_impl(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def impl(self: Any, *values: Any) -> Any:
        avals = [aval_of(v) for v in values]
        # First the types: an error of abstract_eval speaks of the user's arguments.
        declared = self.abstract_eval(*avals)
        arrays = [np.asarray(v, a.dtype) for v, a in zip(values, avals, strict=True)]
        result = rule(self, *arrays)
        what = f"impl of {self.name}"
        if not self.multiple_results:
            return _checked_value(result, declared, arrays, what)
        if len(result) != len(declared):
            raise ArgumentError(
                f"{what} returned {len(result)} results, but abstract_eval says {len(declared)}"
            )
        return [_checked_value(r, a, arrays, what) for r, a in zip(result, declared, strict=True)]

    return impl


def _adapt_transpose(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def transpose(self: Any, ct: Any, needs: Sequence[bool], *args: Any) -> Any:
        cotangents = _listed(rule(self, _lend(ct), needs, *map(_lend, args)))
        if len(cotangents) != len(needs):
            raise ArgumentError(
                f"transpose of {self.name} returned {len(cotangents)} cotangents, expected one for each of its "
                f"{len(needs)} linear operands; give None for those not asked for"
            )
        return [
            _take(c, aval, f"the cotangent {i} of {self.name}") if need else None
            for i, (c, need, aval) in enumerate(zip(cotangents, needs, args, strict=False))
        ]

    return transpose


def _adapt_transpose_left(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def transpose_left(self: Any, ct: Any, left: Aval, right: Any) -> Any:
        return _take(
            rule(self, _lend(ct), left, _lend(right)), left, f"the cotangent 0 of {self.name}"
        )

    return transpose_left


def _adapt_transpose_right(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def transpose_right(self: Any, ct: Any, left: Any, right: Aval) -> Any:
        return _take(
            rule(self, _lend(ct), _lend(left), right), right, f"the cotangent 1 of {self.name}"
        )

    return transpose_right


def _adapt_jvp(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def jvp(self: Any, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        answers = answer if self.multiple_results else [answer]
        directions = list(tangents)
        if not self.symbolic_zeros:
            directions = [
                zeros_of(aval_of(p)) if t is None and dtypes.is_inexact(aval_of(p).dtype) else t
                for p, t in zip(primals, tangents, strict=True)
            ]
        with derivative_rules():
            lent = [_lend(a) for a in answers] if self.multiple_results else _lend(answer)
            result = rule(self, lent, [_lend(p) for p in primals], [_lend(t) for t in directions])
            pushed = result if self.multiple_results else [result]
            taken = [
                _take(t, aval_of(a), f"the tangent of {self.name}")
                for t, a in zip(pushed, answers, strict=True)
            ]
        return taken if self.multiple_results else taken[0]

    return jvp


def _adapt_vjp(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def vjp(self: Any, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Any:
        cotangents = _listed(rule(self, _lend(ct), needs, _lend(answer), *map(_lend, args)))
        if len(cotangents) != len(args):
            raise ArgumentError(
                f"vjp of {self.name} returned {len(cotangents)} cotangents, expected one for each of its "
                f"{len(args)} operands; give None for those not asked for"
            )
        return [
            _take(c, aval_of(x), f"the cotangent {i} of {self.name}") if need else None
            for i, (c, need, x) in enumerate(zip(cotangents, needs, args, strict=True))
        ]

    return vjp


def _adapt_batch(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def batch(self: Any, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> Any:
        answer, is_mapped = rule(self, size, [_lend(a) for a in args], mapped)
        what = f"batch of {self.name}"
        if self.multiple_results:
            return [operand(a, what) for a in answer], _listed(is_mapped)
        return operand(answer, what), is_mapped

    return batch


_ADAPTERS = {
    "abstract_eval": _adapt_abstract_eval,
    "impl": _adapt_impl,
    "transpose": _adapt_transpose,
    "transpose_left": _adapt_transpose_left,
    "transpose_right": _adapt_transpose_right,
    "jvp": _adapt_jvp,
    "vjp": _adapt_vjp,
    "batch": _adapt_batch,
}


class _Extension(Primitive):
    """What the families below add to those of the library: the border, and batching by a loop."""

    #: Whether `jvp` takes None for tangents that are zero, instead of arrays of zeros.
    symbolic_zeros: ClassVar[bool] = False
    required: ClassVar[tuple[str, ...]] = ("abstract_eval", "impl")

    def __init_subclass__(cls, *, abstract: bool = False, **keywords: Any) -> None:
        for name, adapt in _ADAPTERS.items():
            rule = cls.__dict__.get(name)
            if not abstract and rule is not None and not hasattr(rule, "_adapted"):
                setattr(cls, name, _adapted(adapt(rule)))
        if not abstract:
            missing = [
                name for name in cls.required if not hasattr(getattr(cls, name, None), "_adapted")
            ]
            if missing:
                raise MissingRuleError(
                    f"primitive {cls.__name__} is declared without {', '.join(missing)}; write a method for "
                    "each"
                )
        # The family comes next among the bases.
        super().__init_subclass__(abstract=abstract, **keywords)  # type: ignore[call-arg]

    def bind(self, *args: Any) -> Any:
        """Apply the primitive to arrays, numbers or traced values.

        Parameters
        ----------
        *args : array_like

        Returns
        -------
        Array, or a list of Array with ``multiple_results``
        """
        if type(self).__hash__ is None:
            raise ArgumentError(
                f"primitive {self.name} cannot be hashed; decorate its class with "
                "@dataclasses.dataclass(frozen=True)"
            )
        result = self(*[operand(x, self.name, f"argument {i}") for i, x in enumerate(args)])
        return [wrap(r) for r in result] if self.multiple_results else wrap(result)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        """Apply example by example, which is right but slow: write a rule where vmap matters."""
        if not size:
            raise ArgumentError(
                f"vmap over no examples of the primitive {self.name}, which has no batching rule; write its "
                "batch method"
            )
        results = []
        for i in range(size):
            example = [static_index(a, (i,)) if m else a for a, m in zip(args, mapped, strict=True)]
            results.append(self(*example))
        if self.multiple_results:
            stacked = [_stack(outs) for outs in zip(*results, strict=True)]
            return stacked, [True] * len(stacked)
        return _stack(results), True


def _stack(results: Sequence[Any]) -> Any:
    return Concatenate(0)(*[reshape(r, (1, *aval_of(r).shape)) for r in results])


# ---- the families --------------------------------------------------------------------------------


class Linear(_Extension, families.Linear, abstract=True):
    """A primitive that is linear in its leading operands together.

    Write ``transpose(self, ct, needs, *args)``: from the cotangent of the result to one cotangent
    for each linear operand, or None where ``needs`` is false. Linear operands are given as types,
    the others as arrays. ``linear_operands`` is the number of leading operands that it is linear
    in; None means all.

    Examples
    --------
    >>> import dataclasses, fgrad, numpy as np
    >>> from fgrad import extend
    >>> @dataclasses.dataclass(frozen=True)
    ... class Roll(extend.Linear):
    ...     shift: int
    ...     def abstract_eval(self, x):
    ...         return x
    ...     def impl(self, x):
    ...         return np.roll(x, self.shift)
    ...     def transpose(self, ct, needs, x):
    ...         return Roll(-self.shift).bind(ct)
    >>> fgrad.grad(lambda x: (Roll(1).bind(x) * np.arange(3.0)).sum())(np.ones(3))
    Array([1., 2., 0.], dtype=float64)
    """

    required = ("abstract_eval", "impl", "transpose")


class Bilinear(_Extension, families.Bilinear, abstract=True):
    """A primitive that is linear in each of its two operands.

    Write ``transpose_left(self, ct, left, right)``, the cotangent of the left operand, where
    ``left`` is a type and ``right`` an array, and ``transpose_right`` likewise.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> from fgrad import extend
    >>> class Outer(extend.Bilinear):
    ...     def abstract_eval(self, x, y):
    ...         return extend.Aval(x.shape + y.shape, np.result_type(x.dtype, y.dtype))
    ...     def impl(self, x, y):
    ...         return np.multiply.outer(x, y)
    ...     def transpose_left(self, ct, x, y):
    ...         return ct @ y
    ...     def transpose_right(self, ct, x, y):
    ...         return x @ ct
    >>> fgrad.grad(lambda x: Outer().bind(x, np.ones(2)).sum())(np.ones(3))
    Array([2., 2., 2.], dtype=float64)
    """

    required = ("abstract_eval", "impl", "transpose_left", "transpose_right")


class General(_Extension, families.General, abstract=True):
    """Any other differentiable primitive.

    Write ``jvp(self, answer, primals, tangents)``, the tangent of the answer, and ``vjp(self, ct,
    needs, answer, *args)``, one cotangent for each operand, or None where ``needs`` is false. Both
    may read the answer. With ``symbolic_zeros = True`` the tangents that are zero are None.
    ``reads(self, needs)`` may say that `vjp` needs less: a pair of whether it reads the answer, and
    of booleans for the operands; operands that are not read come as types, and are not kept in
    memory.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp, numpy as np
    >>> from fgrad import extend
    >>> class Norm(extend.General):
    ...     def abstract_eval(self, x):
    ...         return extend.Aval((), x.dtype)
    ...     def impl(self, x):
    ...         return np.sqrt(np.dot(x, x))
    ...     def jvp(self, answer, primals, tangents):
    ...         return primals[0] @ tangents[0] / answer
    ...     def vjp(self, ct, needs, answer, x):
    ...         return ct * x / answer
    >>> fgrad.grad(lambda x: Norm().bind(x))(np.array([3.0, 4.0]))
    Array([0.6, 0.8], dtype=float64)
    """

    required = ("abstract_eval", "impl", "jvp", "vjp")

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        """Whether `vjp` reads the answer, and which operands."""
        return True, (True,) * len(needs)


class NonDifferentiable(_Extension, families.NonDifferentiable, abstract=True):
    """A primitive whose derivative is zero wherever it exists.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> from fgrad import extend
    >>> class Rank(extend.NonDifferentiable):
    ...     def abstract_eval(self, x):
    ...         return extend.Aval(x.shape, np.int64)
    ...     def impl(self, x):
    ...         return np.argsort(np.argsort(x)).astype(np.int64)
    >>> Rank().bind(np.array([0.3, 0.1, 0.2]))
    Array([2, 0, 1], dtype=int64)
    """


class _Function(families.Ufunc, abstract=True):
    """An elementwise primitive of a user: its function may use any NumPy code."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        slopes: Sequence[Any] | None,
        arity: int,
        dtype: Any,
    ) -> None:
        partials = None if slopes is None else [self.adapt(slope) for slope in slopes]
        super().__init__(name, self.apply, partials, dtype, f"extend.{name}", arity)
        self.user_function = function

    @staticmethod
    def adapt(slope: Any) -> Any:
        if not callable(slope):
            return lambda *args: operand(slope, "a slope")
        return lambda *args: operand(slope(*map(_lend, args)), "a slope")

    def apply(self, *values: Any) -> Any:
        avals = [aval_of(v) for v in values]
        dtype = dtypes.canonical(self.result_dtype(avals))
        answer = np.asarray(
            self.user_function(
                *[np.asarray(v, a.dtype) for v, a in zip(values, avals, strict=True)]
            )
        )
        expected = np.broadcast_shapes(*[a.shape for a in avals])
        if answer.shape != expected:
            raise ShapeError(
                f"{self.name}: the function returned shape {answer.shape} for operands that broadcast to "
                f"{expected}"
            )
        answer = answer.astype(dtype, copy=False)
        if any(isinstance(v, np.ndarray) and np.may_share_memory(answer, v) for v in values):
            answer = answer.copy()
        return answer[()] if not expected else answer


def _floating(avals: Sequence[Aval]) -> np.dtype[Any]:
    dtype = common_dtype(avals)
    return dtype if dtypes.is_inexact(dtype) else dtypes.FLOAT64


def elementwise(
    name: str,
    function: Callable[..., Any],
    slopes: Sequence[Any] | None,
    *,
    arity: int | None = None,
    typed_like: Any = None,
) -> Callable[..., Array]:
    """Declare a function of numbers, applied elementwise to operands that broadcast.

    Parameters
    ----------
    name : str
        What jaxprs and messages call it.
    function : callable
        Computes it on NumPy arrays.
    slopes : sequence of callable or number, or None
        The partial derivatives, one for each operand, as functions of the answer and the operands,
        written with `fgrad.numpy`. None means that it has no derivative anywhere.
    arity : int, optional
        The number of operands, needed only if `slopes` is None and `function` is no ufunc.
    typed_like : ufunc, or callable from avals to a dtype, optional
        What gives the dtype of the result. By default it is the dtype of the operands, float64 for
        integers.

    Returns
    -------
    callable
        A function of arrays, numbers and traced values. Its attribute ``primitive`` is the
        primitive.

    Raises
    ------
    ArgumentError
        If a primitive of fgrad has this name.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp, numpy as np
    >>> from fgrad import extend
    >>> log1pexp = extend.elementwise(
    ...     "log1pexp", lambda x: np.logaddexp(x, 0.0), [lambda y, x: fgrad.nn.sigmoid(x)]
    ... )
    >>> float(fgrad.grad(log1pexp)(0.0))
    0.5
    """
    if name in _BUILT_IN:
        raise ArgumentError(
            f"elementwise: {name!r} is a primitive of fgrad; give yours another name"
        )
    if slopes is None and arity is None:
        arity = getattr(function, "nin", None)
        if arity is None:
            raise ArgumentError(
                f"elementwise: {name} has no slopes that tell its number of operands; give arity="
            )
    typing = typed_like or (function if isinstance(function, np.ufunc) else _floating)
    count = len(slopes) if slopes is not None else int(arity or 0)
    primitive = _Function(name, function, slopes, count, typing)

    def apply(*args: Any) -> Array:
        if len(args) != count:
            raise ArgumentError(f"{name} takes {count} arguments, got {len(args)}")
        return wrap(primitive(*[operand(x, name, f"argument {i}") for i, x in enumerate(args)]))  # type: ignore[no-any-return]

    apply.__name__ = apply.__qualname__ = name
    apply.primitive = primitive  # type: ignore[attr-defined]
    return apply


_guard(_sys.modules[__name__])
