"""Running sums, products, extrema and logsumexps along one axis, from either end.

Their derivatives, to every order, are first-order linear recurrences, which never divide: a product
runs through zeros, and a sum of exponentials through infinities.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, aval_of
from fgrad.errors import DTypeError, ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import convert, div, equal, isinf, logistic, maximum, select, sub
from fgrad.primitives.families import (
    Full,
    General,
    Linear,
    absorbing_product,
    add,
    has_nan,
    match_aval,
    mul,
    neg,
    sum_dtype,
)
from fgrad.primitives.shape import Concatenate, batched_operands, static_index
from fgrad.tracing import derivative_rules

NDArray = np.ndarray[Any, Any]


def accumulate(
    function: np.ufunc, x: NDArray, axis: int, reverse: bool, dtype: np.dtype[Any]
) -> NDArray:
    """The accumulation of a ufunc along an axis, from its end if `reverse`, as a fresh array."""
    if not reverse:
        return function.accumulate(x, axis=axis, dtype=dtype)
    backward = (slice(None),) * axis + (slice(None, None, -1),)
    answer = np.empty(x.shape, dtype)
    function.accumulate(x[backward], axis=axis, dtype=dtype, out=answer[backward])
    return answer


def previous(x: Any, axis: int, reverse: bool, fill: Any) -> Any:
    """Each element's predecessor in the direction of accumulation; `fill` for the first one."""
    aval = aval_of(x)
    size = aval.shape[axis]
    if size == 0:
        return x
    border = Full((*aval.shape[:axis], 1, *aval.shape[axis + 1 :]), fill, aval.dtype)()
    if size == 1:
        return border
    kept = slice(1, size) if reverse else slice(0, size - 1)
    inner = static_index(x, (*[slice(None)] * axis, kept))
    return Concatenate(axis)(inner, border) if reverse else Concatenate(axis)(border, inner)


# ---- sums ----------------------------------------------------------------------------------------


@parameters
class Cumsum(Linear):
    """Running sum; small integers are summed in 64 bits, as NumPy does.   a[*s] -> a[*s]"""

    axis: int
    reverse: bool = False
    keeps_nan = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(x.shape, dtypes.canonical(sum_dtype(x.dtype)))

    def impl(self, x: Any) -> Any:
        dtype = dtypes.canonical(sum_dtype(x.dtype))
        return accumulate(np.add, x, self.axis, self.reverse, dtype)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (Cumsum(self.axis, not self.reverse)(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Cumsum(self.axis + 1, self.reverse)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if self.reverse:
            return super().lower(emit, *names)
        return f"np.cumsum({names[0]}, axis={self.axis})"


# ---- linear recurrences --------------------------------------------------------------------------


@parameters
class LinearRecurrence(General):
    """``s[i] = a[i] * s[i-1] + b[i]`` along an axis, s being 0 before it.   f[*s] f[*s] -> f[*s]

    It serves derivatives only: a term of exactly zero absorbs any coefficient, infinite or NaN.
    """

    axis: int
    reverse: bool = False

    def abstract_eval(self, a: Aval, b: Aval) -> Aval:  # type: ignore[override]
        if a != b:
            raise ShapeError(f"linear_recurrence: coefficients of type {a} for terms of type {b}")
        return b

    def impl(self, a: Any, b: Any) -> Any:
        wide = np.dtype(np.float32) if b.dtype == np.float16 else b.dtype
        lanes = [np.moveaxis(v, self.axis, 0).astype(wide, copy=False) for v in (a, b)]
        if self.reverse:
            lanes = [v[::-1] for v in lanes]
        with np.errstate(all="ignore"):
            steps = recurrence(*lanes)
            if has_nan(steps):
                steps = _absorbing(*lanes)
        answer = np.empty(b.shape, b.dtype)
        target = np.moveaxis(answer, self.axis, 0)
        target[...] = steps[::-1] if self.reverse else steps
        return answer

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (a, _), (ta, tb) = primals, tangents
        term = tb
        with derivative_rules():
            if ta is not None:
                before = previous(answer, self.axis, self.reverse, 0)
                by_coefficient = absorbing_product(before, ta)
                term = by_coefficient if term is None else add(term, by_coefficient)
            return None if term is None else self(a, term)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return needs[0], (True, False)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        following = previous(args[0], self.axis, not self.reverse, 0)
        towards_b = LinearRecurrence(self.axis, not self.reverse)(following, ct)
        if not needs[0]:
            return (None, towards_b)
        before = previous(answer, self.axis, self.reverse, 0)
        towards_a = absorbing_product(towards_b, before)
        return (towards_a, towards_b if needs[1] else None)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        operands = batched_operands(size, args, mapped)
        return LinearRecurrence(self.axis + 1, self.reverse)(*operands), True


# Longer blocks copy faster, but a product of more factors leaves the range of floats sooner. A
# power of two would put a column of blocks into one cache set.
_BLOCK = 100


def recurrence(a: NDArray, b: NDArray) -> NDArray:
    """``s[i] = a[i] * s[i-1] + b[i]`` along the first axis of two arrays alike."""
    shape, length = b.shape, len(b)
    lanes = b.size // length if length else 0
    if length <= 2 * _BLOCK or lanes >= length:
        return _step_by_step(a, b)
    a, b = a.reshape(length, lanes), b.reshape(length, lanes)
    # All blocks advance together from a start of 0; then what their predecessors add is put on top.
    count = -(-length // _BLOCK)
    factors = _in_blocks(a, count, 1)
    steps = _step_by_step(factors, _in_blocks(b, count, 0))
    products = np.multiply.accumulate(factors, axis=0)
    if _lost(products, factors):
        return _lane_by_lane(a, b).reshape(shape)
    ends = recurrence(products[-1].reshape(count, lanes), steps[-1].reshape(count, lanes))
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1]
    products *= starts.reshape(count * lanes)
    steps += products
    joined = steps.reshape(_BLOCK, count, lanes).swapaxes(0, 1).reshape(count * _BLOCK, lanes)
    return joined[:length].reshape(shape)


def _in_blocks(v: NDArray, count: int, fill: int) -> NDArray:
    """(length, lanes) as (block, count * lanes), filled up at the end."""
    length, lanes = v.shape
    if length != count * _BLOCK:
        padded = np.full((count * _BLOCK, lanes), fill, v.dtype)
        padded[:length] = v
        v = padded
    blocks = v.reshape(count, _BLOCK, lanes).swapaxes(0, 1)
    return np.ascontiguousarray(blocks.reshape(_BLOCK, count * lanes))


def _lost(products: NDArray, factors: NDArray) -> bool:
    """Whether a product of factors other than zero left the range of normal numbers."""
    magnitudes = np.abs(products)
    info = np.finfo(products.dtype)
    if magnitudes.min() >= info.tiny and magnitudes.max() <= info.max:
        return False
    normal = (magnitudes >= info.tiny) & (magnitudes <= info.max)
    through_zero = np.logical_or.accumulate(factors == 0, axis=0)
    return not (normal | (through_zero & (products == 0))).all()


def _step_by_step(a: NDArray, b: NDArray) -> NDArray:
    answer = np.empty(b.shape, b.dtype)
    if not len(b):
        return answer
    answer[0] = b[0]
    step = np.empty(b.shape[1:], b.dtype)
    for i in range(1, len(b)):
        np.multiply(a[i], answer[i - 1], out=step)
        np.add(step, b[i], out=answer[i, ...])
    return answer


def _lane_by_lane(a: NDArray, b: NDArray) -> NDArray:
    answer = np.empty(b.shape, b.dtype)
    for lane in range(b.shape[1]):
        pairs = zip(a[:, lane].tolist(), b[:, lane].tolist(), strict=True)
        answer[:, lane] = list(itertools.accumulate(pairs, _step, initial=0.0))[1:]
    return answer


def _step(s: Any, pair: Any) -> Any:
    return pair[0] * s + pair[1] if s else pair[1]


def _absorbing(a: NDArray, b: NDArray) -> NDArray:
    """The recurrence with products in which a zero absorbs infinity and NaN."""
    length = len(b)
    lanes = b.size // length
    if lanes < length:
        return _lane_by_lane(a.reshape(length, lanes), b.reshape(length, lanes)).reshape(b.shape)
    answer = b.copy()
    for i in range(1, length):
        answer[i] += np.where(answer[i - 1] == 0, 0, a[i] * answer[i - 1])
    return answer


# ---- products ------------------------------------------------------------------------------------


@parameters
class Cumprod(General):
    """Running product; small integers are multiplied in 64 bits, as NumPy does.   a[*s] -> a[*s]"""

    axis: int
    reverse: bool = False

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(x.shape, dtypes.canonical(sum_dtype(x.dtype)))

    def impl(self, x: Any) -> Any:
        dtype = dtypes.canonical(sum_dtype(x.dtype))
        return accumulate(np.multiply, x, self.axis, self.reverse, dtype)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        with derivative_rules():
            before = previous(answer, self.axis, self.reverse, 1)
            terms = absorbing_product(tangents[0], before)
            return LinearRecurrence(self.axis, self.reverse)(primals[0], terms)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (True,)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        following = previous(args[0], self.axis, not self.reverse, 0)
        collected = LinearRecurrence(self.axis, not self.reverse)(following, ct)
        return (absorbing_product(collected, previous(answer, self.axis, self.reverse, 1)),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Cumprod(self.axis + 1, self.reverse)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if self.reverse:
            return super().lower(emit, *names)
        return f"np.cumprod({names[0]}, axis={self.axis})"


# ---- extrema -------------------------------------------------------------------------------------


@parameters
class _RunningExtremum(General, abstract=True):
    axis: int
    reverse: bool = False
    function: ClassVar[np.ufunc]

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x

    def impl(self, x: Any) -> Any:
        return accumulate(self.function, x, self.axis, self.reverse, x.dtype)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        with derivative_rules():
            attains, lasts, count = self._ties(primals[0], answer)
            terms = mul(attains, convert(tangents[0], aval_of(attains).dtype))
            collected = LinearRecurrence(self.axis, self.reverse)(lasts, terms)
            return match_aval(div(collected, count), aval_of(answer))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (True,)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        attains, lasts, count = self._ties(args[0], answer)
        shares = div(convert(ct, aval_of(attains).dtype), count)
        following = previous(lasts, self.axis, not self.reverse, 0)
        collected = LinearRecurrence(self.axis, not self.reverse)(following, shares)
        return (match_aval(mul(attains, collected), aval_of(args[0])),)

    def _ties(self, x: Any, answer: Any) -> tuple[Any, Any, Any]:
        return running_ties(x, answer, self.axis, self.reverse)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return type(self)(self.axis + 1, self.reverse)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if self.reverse:
            return super().lower(emit, *names)
        return f"np.{self.function.__name__}.accumulate({names[0]}, axis={self.axis})"


def running_ties(x: Any, answer: Any, axis: int, reverse: bool) -> tuple[Any, Any, Any]:
    """Who attains a running extremum, whether it is the one before, how many have attained it.

    All three are numbers of a wide type, in which ties can be counted.
    """
    wide = dtypes.COMPLEX128 if aval_of(x).dtype.kind == "c" else dtypes.FLOAT64
    wide = dtypes.canonical(wide)
    attains = convert(equal(x, answer), wide)
    lasts = convert(equal(answer, previous(answer, axis, reverse, 0)), wide)
    count = LinearRecurrence(axis, reverse)(lasts, attains)
    # Nothing attains NaN: its slopes are zero.
    return attains, lasts, maximum(count, 1.0)


@parameters
class Cummax(_RunningExtremum):
    """Running maximum; NaN stays, and ties share the slope evenly.   a[*s] -> a[*s]"""

    function = np.maximum


@parameters
class Cummin(_RunningExtremum):
    """Running minimum; NaN stays, and ties share the slope evenly.   a[*s] -> a[*s]"""

    function = np.minimum


# ---- sums of exponentials ------------------------------------------------------------------------


@parameters
class Cumlogsumexp(General):
    """``log(cumsum(exp(x)))`` without overflow.   f[*s] -> f[*s]

    Equal infinities share the slope evenly, so that slopes add to one everywhere.
    """

    axis: int
    reverse: bool = False

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        if x.dtype.kind != "f":
            raise DTypeError(f"cumlogsumexp: takes real floats, got {x.dtype}; convert it first")
        return x

    def impl(self, x: Any) -> Any:
        if x.dtype.kind != "f":
            self.abstract_eval(aval_of(x))
        # NumPy reports infinities and NaN that it is given as if it had made them.
        with np.errstate(invalid="ignore"):
            return accumulate(np.logaddexp, x, self.axis, self.reverse, x.dtype)

    def _slopes(self, x: Any, answer: Any) -> tuple[Any, Any]:
        """The slopes of each sum towards its new element and towards the sum before."""
        before = previous(answer, self.axis, self.reverse, -np.inf)
        infinite = isinf(answer)
        attains, _, count = running_ties(x, answer, self.axis, self.reverse)
        share = convert(div(attains, count), aval_of(x).dtype)
        # Of a difference, which keeps the digits that a sum much larger than it loses.
        step = sub(x, before)
        return (
            select(infinite, share, logistic(step)),
            select(infinite, sub(1.0, share), logistic(neg(step))),
        )

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        with derivative_rules():
            new, old = self._slopes(primals[0], answer)
            terms = absorbing_product(tangents[0], new)
            return LinearRecurrence(self.axis, self.reverse)(old, terms)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (True,)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        new, old = self._slopes(args[0], answer)
        following = previous(old, self.axis, not self.reverse, 0)
        collected = LinearRecurrence(self.axis, not self.reverse)(following, ct)
        return (absorbing_product(collected, new),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Cumlogsumexp(self.axis + 1, self.reverse)(args[0]), True
