"""Reductions over axes: products, extrema and their places, truth, logsumexp.

`Sum` is in `fgrad.primitives.families`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape, aval_of
from fgrad.errors import DTypeError, ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.cumulative import Cumprod, previous
from fgrad.primitives.elementwise import (
    convert,
    div,
    equal,
    exp,
    isinf,
    reciprocal,
    select,
    sub,
)
from fgrad.primitives.families import (
    General,
    NonDifferentiable,
    Sum,
    absorbing_product,
    broadcast_to,
    match_aval,
    mul,
    reshape,
    sum_dtype,
)
from fgrad.primitives.shape import transpose
from fgrad.tracing import derivative_rules

__all__ = ["All", "Any_", "Argmax", "Argmin", "LogSumExp", "Max", "Min", "Prod", "Sum", "stretch"]

_PYTHON = (float, int, bool, complex)


def kept_shape(shape: Shape, axes: Sequence[int]) -> Shape:
    """What is left of a shape without `axes`."""
    return tuple([n for axis, n in enumerate(shape) if axis not in axes])


def keep_axes(reduced: Any, axes: Sequence[int], shape: Shape) -> Any:
    """A reduction of an array of `shape` over `axes`, with these axes back at size one."""
    return reshape(reduced, tuple([1 if axis in axes else n for axis, n in enumerate(shape)]))


def stretch(reduced: Any, axes: Sequence[int], shape: Shape) -> Any:
    """A reduction of an array of `shape` over `axes`, repeated along them."""
    return broadcast_to(keep_axes(reduced, axes, shape), shape)


def _moved(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([axis + 1 for axis in axes])


# ---- products ------------------------------------------------------------------------------------


@parameters
class Prod(General):
    """Product over axes; small integers are multiplied in 64 bits.   a[*s] -> a[*s without axes]"""

    axes: tuple[int, ...]

    @property
    def view(self) -> bool:  # type: ignore[override]
        return not self.axes

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        kept = kept_shape(x.shape, self.axes)
        return Aval(kept, dtypes.canonical(sum_dtype(x.dtype)), x.weak and not kept)

    def impl(self, x: Any) -> Any:
        if type(x) in _PYTHON:
            return int(x) if type(x) is bool else x
        if not self.axes and x.dtype.kind in "fc":
            return x.view() if type(x) is np.ndarray else x
        dtype = dtypes.canonical(sum_dtype(x.dtype))
        return np.multiply.reduce(x, axis=self.axes, dtype=dtype)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if not self.axes:
            return tangents[0]
        with derivative_rules():
            slopes = exclusive_product(primals[0], self.axes)
            return Sum(self.axes)(absorbing_product(tangents[0], slopes))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (bool(self.axes),)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (x,) = args
        if not self.axes:
            return (ct,)
        slopes = exclusive_product(x, self.axes)
        return (absorbing_product(stretch(ct, self.axes, x.shape), slopes),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Prod(_moved(self.axes))(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.multiply.reduce({names[0]}, axis={self.axes})"


def exclusive_product(x: Any, axes: Sequence[int]) -> Any:
    """For each element the product of all others along `axes`, without dividing."""
    shape = x.shape
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = [*kept, *axes]
    lanes = (*[shape[axis] for axis in kept], math.prod([shape[axis] for axis in axes]))
    flat = reshape(transpose(x, order), lanes)
    last = len(kept)
    before = previous(Cumprod(last)(flat), last, False, 1)
    after = previous(Cumprod(last, reverse=True)(flat), last, True, 1)
    product = reshape(mul(before, after), tuple([shape[axis] for axis in order]))
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return transpose(product, inverse)


# ---- extrema -------------------------------------------------------------------------------------


def refuse_empty(name: str, shape: Shape, axes: Sequence[int], fix: str) -> None:
    """Refuse to look for an extremum among no elements."""
    for axis in axes:
        if shape[axis] == 0:
            raise ShapeError(
                f"{name}: an array of shape {shape} has no elements along axis {axis}; {fix}"
            )


@parameters
class _Extremum(General, abstract=True):
    axes: tuple[int, ...]
    function: ClassVar[np.ufunc]
    fix: ClassVar[str] = "give initial=, the result for no elements, or check the size first"

    @property
    def view(self) -> bool:  # type: ignore[override]
        return not self.axes

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        refuse_empty(self.name, x.shape, self.axes, self.fix)
        kept = kept_shape(x.shape, self.axes)
        return Aval(kept, x.dtype, x.weak and not kept)

    def impl(self, x: Any) -> Any:
        if not self.axes:
            return x.view() if type(x) is np.ndarray else x
        if not x.size:
            refuse_empty(self.name, x.shape, self.axes, self.fix)
        return self.function.reduce(x, self.axes)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (x,), (t,) = primals, tangents
        if not self.axes:
            return t
        with derivative_rules():
            attains = equal(x, keep_axes(answer, self.axes, x.shape))
            own = aval_of(t).dtype
            # A half-precision float could not hold the count.
            wide = dtypes.FLOAT32 if own == np.float16 else own
            total = Sum(self.axes)(select(attains, convert(t, wide), 0.0))
            count = convert(Sum(self.axes)(attains), wide)
            return match_aval(div(total, count), aval_of(answer))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return bool(self.axes), (bool(self.axes),)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (x,) = args
        if not self.axes:
            return (ct,)
        own = aval_of(ct).dtype
        # A half-precision float could not hold the count.
        wide = dtypes.FLOAT32 if own == np.float16 else own
        attains = equal(x, keep_axes(answer, self.axes, x.shape))
        mask = convert(attains, wide)
        # Larger counts are not exact in the dtype of the numbers.
        exact = math.prod([x.shape[axis] for axis in self.axes]) < 2**24
        count = Sum(self.axes)(mask) if exact else convert(Sum(self.axes)(attains), wide)
        # Nothing attains NaN: then all slopes are infinite, and 0 of them.
        share = absorbing_product(ct, convert(reciprocal(count), own))
        slopes = convert(mask, own)
        return (absorbing_product(keep_axes(share, self.axes, x.shape), slopes),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return type(self)(_moved(self.axes))(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if not self.axes:
            return super().lower(emit, *names)
        return f"np.{self.function.__name__}.reduce({names[0]}, axis={self.axes})"


@parameters
class Max(_Extremum):
    """Maximum over axes; NaN wins, and ties share the slope evenly.   a[*s] -> a[*s without axes]"""

    function = np.maximum


@parameters
class Min(_Extremum):
    """Minimum over axes; NaN wins, and ties share the slope evenly.   a[*s] -> a[*s without axes]"""

    function = np.minimum


@parameters
class _Place(NonDifferentiable, abstract=True):
    axis: int
    fix: ClassVar[str] = "check the size first"

    def find(self, x: Any) -> Any:
        raise NotImplementedError

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        refuse_empty(self.name, x.shape, (self.axis,), self.fix)
        return Aval(kept_shape(x.shape, (self.axis,)), dtypes.canonical(dtypes.INT64))

    def impl(self, x: Any) -> Any:
        if not x.size:
            refuse_empty(self.name, x.shape, (self.axis,), self.fix)
        found = self.find(x)
        wanted = dtypes.canonical(dtypes.INT64)
        return found if found.dtype is wanted else found.astype(wanted, copy=False)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return type(self)(self.axis + 1)(args[0]), True


@parameters
class Argmax(_Place):
    """Index of the first maximum or NaN.   a[*s] -> i64[*s without axis]"""

    def find(self, x: Any) -> Any:
        return x.argmax(self.axis)

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.argmax({names[0]}, axis={self.axis})"


@parameters
class Argmin(_Place):
    """Index of the first minimum or NaN.   a[*s] -> i64[*s without axis]"""

    def find(self, x: Any) -> Any:
        return x.argmin(self.axis)

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.argmin({names[0]}, axis={self.axis})"


# ---- truth ---------------------------------------------------------------------------------------


@parameters
class _Truth(NonDifferentiable, abstract=True):
    axes: tuple[int, ...]
    function: ClassVar[np.ufunc]

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        kept = kept_shape(x.shape, self.axes)
        return Aval(kept, dtypes.BOOL, x.weak and not kept)

    def impl(self, x: Any) -> Any:
        if type(x) in _PYTHON:
            return bool(x)
        return self.function.reduce(x, self.axes, np.bool_)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return type(self)(_moved(self.axes))(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.{self.function.__name__}.reduce({names[0]}, axis={self.axes}, dtype=np.bool_)"


@parameters
class Any_(_Truth):
    """Whether any element over axes is true.   a[*s] -> bool[*s without axes]"""

    function = np.logical_or

    @property
    def name(self) -> str:
        return "any"


@parameters
class All(_Truth):
    """Whether all elements over axes are true.   a[*s] -> bool[*s without axes]"""

    function = np.logical_and


# ---- logsumexp -----------------------------------------------------------------------------------


@parameters
class LogSumExp(General):
    """``log(sum(exp(x)))`` over axes without overflow.   f[*s] -> f[*s without axes]

    Where the result is infinite, the elements equal to it share the slope evenly: slopes add to one
    everywhere.
    """

    axes: tuple[int, ...]

    @property
    def name(self) -> str:
        return "logsumexp"

    @property
    def view(self) -> bool:  # type: ignore[override]
        return not self.axes

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        if not dtypes.is_inexact(x.dtype):
            raise DTypeError(f"logsumexp: takes floats, got {x.dtype}; convert it first")
        kept = kept_shape(x.shape, self.axes)
        return Aval(kept, x.dtype, x.weak and not kept)

    def impl(self, x: Any) -> Any:
        if not self.axes:
            return x.view() if type(x) is np.ndarray else x
        dtype = x.dtype
        if dtype == np.float16:
            x = x.astype(np.float32)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            top = np.maximum.reduce(x.real, axis=self.axes, keepdims=True, initial=-np.inf)
            top = np.where(np.isfinite(top), top, 0).astype(top.dtype)
            total = np.add.reduce(np.exp(x - top), axis=self.axes)
            return (np.log(total) + top.reshape(total.shape)).astype(dtype, copy=False)

    def _slopes(self, x: Any, answer: Any) -> Any:
        own = aval_of(x).dtype
        if own == np.float16:
            # It could not hold how many elements there are.
            x, answer = convert(x, dtypes.FLOAT32), convert(answer, dtypes.FLOAT32)
        whole = keep_axes(answer, self.axes, x.shape)
        # Of an infinite sum, the elements equal to it. Numbers much larger than the differences between
        # them have lost digits in the answer, which dividing by the total makes up for.
        shares = select(
            keep_axes(isinf(answer), self.axes, x.shape),
            convert(equal(x, whole), aval_of(x).dtype),
            exp(sub(x, whole)),
        )
        total = keep_axes(Sum(self.axes)(shares), self.axes, x.shape)
        return convert(div(shares, total), own)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if not self.axes:
            return tangents[0]
        with derivative_rules():
            slopes = self._slopes(primals[0], answer)
            return Sum(self.axes)(absorbing_product(tangents[0], slopes))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return bool(self.axes), (bool(self.axes),)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        (x,) = args
        if not self.axes:
            return (ct,)
        return (absorbing_product(keep_axes(ct, self.axes, x.shape), self._slopes(x, answer)),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return LogSumExp(_moved(self.axes))(args[0]), True
