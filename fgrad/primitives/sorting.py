"""Sorting, searching sorted arrays, and counting equal elements.

NumPy's order holds everywhere: NaN comes last, complex numbers go by real part, then by imaginary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape, aval_of
from fgrad.parameters import parameters
from fgrad.primitives.families import General, Linear, NonDifferentiable, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.shape import batched_operands, iota

NDArray = np.ndarray[Any, Any]
Side = Literal["left", "right"]


# From this size on it pays to sort unstably, and again if there are ties.
_WORTH_TRYING = 4096


def _index_dtype() -> np.dtype[Any]:
    return dtypes.canonical(dtypes.INT64)


# ---- sorting -------------------------------------------------------------------------------------


@parameters
class Argsort(NonDifferentiable):
    """The order that sorts along an axis.   a[*s] -> i64[*s]

    Stable in both directions where asked for: equal elements keep their order.
    """

    axis: int
    descending: bool = False
    stable: bool = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(x.shape, _index_dtype())

    def impl(self, x: Any) -> Any:
        argsort = stable_argsort if self.stable else np.argsort
        if not self.descending:
            order = argsort(x, self.axis)
        else:
            backward = argsort(np.flip(x, self.axis), self.axis)
            order = x.shape[self.axis] - 1 - np.flip(backward, self.axis)
        return order.astype(_index_dtype(), copy=False)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Argsort(self.axis + 1, self.descending, self.stable)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if self.descending or self.stable:
            return super().lower(emit, *names)
        return f"np.argsort({names[0]}, axis={self.axis})"


def stable_argsort(x: NDArray, axis: int) -> NDArray:
    """NumPy's stable argsort, which for floats is found by the faster unstable one."""
    if x.dtype.kind != "f" or x.dtype.itemsize < 4 or x.size < _WORTH_TRYING:
        return np.argsort(x, axis=axis, kind="stable")
    order = np.argsort(x, axis=axis)
    ordered = np.moveaxis(np.take_along_axis(x, order, axis), axis, -1)
    later, earlier = ordered[..., 1:], ordered[..., :-1]
    # The order of different elements is unique. Of NaN, which equals nothing, one has a unique place.
    ties = np.equal(later, earlier).any() or np.isnan(earlier[..., -1:]).any()
    return np.argsort(x, axis=axis, kind="stable") if ties else order


@parameters
class Argpartition(NonDifferentiable):
    """An order that puts the elements of rank `kth` in place along an axis.   a[*s] -> i64[*s]"""

    axis: int
    kth: tuple[int, ...]

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(x.shape, _index_dtype())

    def impl(self, x: Any) -> Any:
        order = np.argpartition(x, self.kth, axis=self.axis)
        return order.astype(_index_dtype(), copy=False)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Argpartition(self.axis + 1, self.kth)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.argpartition({names[0]}, {self.kth}, axis={self.axis})"


@parameters
class Sort(General):
    """The elements in order along an axis.   a[*s] -> a[*s]

    Its derivative is the permutation that sorts, which leaves equal elements in their order. Where
    a derivative is taken, the permutation is found once, and sorts the elements too.
    """

    axis: int
    descending: bool = False
    keeps_residuals = True
    keeps_nan = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x

    def impl(self, x: Any) -> Any:
        answer = np.sort(x, axis=self.axis)
        return np.flip(answer, self.axis).copy() if self.descending else answer

    def _order(self, x: Any) -> Any:
        return Argsort(self.axis, self.descending)(x)

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        order = self._order(primals[0])
        permute = Permute(self.axis)
        return permute(primals[0], order), permute(tangents[0], order)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return Permute(self.axis)(tangents[0], self._order(primals[0]))

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        order = self._order(args[0])
        return Permute(self.axis)(args[0], order), SortPullback(order, self.axis)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (True,)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        return (Permute(self.axis, back=True)(ct, self._order(args[0])),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Sort(self.axis + 1, self.descending)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if self.descending:
            return super().lower(emit, *names)
        return f"np.sort({names[0]}, axis={self.axis})"


class SortPullback:
    """Puts cotangents of sorted elements back where the elements came from."""

    active = (True,)

    def __init__(self, order: Any, axis: int) -> None:
        self.residuals = [order]
        self.axis = axis

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        return [Permute(self.axis, back=True)(cts[0], *self.residuals)]


@parameters
class Permute(Linear):
    """The elements in another order along an axis, or `back` from it.   a[*s] i64[*s] -> a[*s]"""

    axis: int
    back: bool = False
    linear_operands = 1

    def abstract_eval(self, x: Aval, order: Aval) -> Aval:  # type: ignore[override]
        return x

    def impl(self, x: Any, order: Any) -> Any:
        if not self.back:
            return np.take_along_axis(x, order, self.axis)
        answer = np.empty(x.shape, x.dtype)
        np.put_along_axis(answer, order, x, self.axis)
        return answer

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (Permute(self.axis, not self.back)(ct, args[1]),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        permute = Permute(self.axis + 1, self.back)
        return permute(*batched_operands(size, args, mapped)), True

    def lower(self, emit: Any, *names: str) -> str:
        if self.back:
            return super().lower(emit, *names)
        return f"np.take_along_axis({names[0]}, {names[1]}, {self.axis})"


def take_along(x: Any, order: Any, axis: int) -> Any:
    """`x` at the positions `order` along an axis; the shapes agree along all others."""
    shape = aval_of(order).shape
    if len(shape) == 1:
        return Gather((0,), "promise_in_bounds")(x, order)
    return Gather(tuple(range(len(shape))), "promise_in_bounds")(x, *_grid(order, axis, shape))


def _grid(order: Any, axis: int, shape: Shape) -> list[Any]:
    indices = [
        reshape(iota(n), (*(1,) * i, n, *(1,) * (len(shape) - i - 1))) for i, n in enumerate(shape)
    ]
    indices[axis] = order
    return indices


@parameters
class Lexsort(NonDifferentiable):
    """The order that sorts by the last key, then by the one before.   a[*s] b[*s] ... -> i64[*s]"""

    axis: int

    def abstract_eval(self, *keys: Aval) -> Aval:
        return Aval(keys[0].shape, _index_dtype())

    def impl(self, *keys: Any) -> Any:
        return np.lexsort(keys, axis=self.axis).astype(_index_dtype(), copy=False)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Lexsort(self.axis + 1)(*batched_operands(size, args, mapped)), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.lexsort(({', '.join(names)},), axis={self.axis})"


# ---- searching -----------------------------------------------------------------------------------


def _flat_lanes(x: NDArray, batch: int) -> NDArray:
    """`x` with its leading batch axes merged into one."""
    return x.reshape(math.prod(x.shape[:batch]), *x.shape[batch:])


@parameters
class Searchsorted(NonDifferentiable):
    """Where values belong in a sorted array.   a[*batch, n] b[*batch, *s] -> i64[*batch, *s]"""

    side: Side
    batch_axes: int = 0

    def abstract_eval(self, a: Aval, v: Aval) -> Aval:  # type: ignore[override]
        return Aval(v.shape, _index_dtype())

    def impl(self, a: Any, v: Any) -> Any:
        dtype = _index_dtype()
        if not self.batch_axes:
            return np.searchsorted(a, v, self.side).astype(dtype, copy=False)
        lanes = math.prod(v.shape[: self.batch_axes])
        answer = np.empty((lanes, math.prod(v.shape[self.batch_axes :])), dtype)
        rows, values = a.reshape(lanes, a.shape[-1]), v.reshape(answer.shape)
        for lane in range(lanes):
            answer[lane] = np.searchsorted(rows[lane], values[lane], self.side)
        return answer.reshape(v.shape)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        if not mapped[0] and not self.batch_axes:
            return self(*args), True
        batched = Searchsorted(self.side, self.batch_axes + 1)
        return batched(*batched_operands(size, args, mapped)), True

    def lower(self, emit: Any, *names: str) -> str:
        if self.batch_axes:
            return super().lower(emit, *names)
        return f"np.searchsorted({names[0]}, {names[1]}, {self.side!r})"


@parameters
class Nonzero(NonDifferentiable):
    """The first `size` positions of true elements, then n, and how many there are.

    bool[*batch, n] -> i64[*batch, size] i64[*batch]
    """

    size: int
    multiple_results = True

    def abstract_eval(self, x: Aval) -> Sequence[Aval]:  # type: ignore[override]
        batch, dtype = x.shape[:-1], _index_dtype()
        return [Aval((*batch, self.size), dtype), Aval(batch, dtype)]

    def impl(self, x: Any) -> Sequence[Any]:
        *batch, n = x.shape
        dtype = _index_dtype()
        positions = np.full((*batch, self.size), n, dtype)
        if not batch:
            found = np.flatnonzero(x)
            positions[: found.size] = found[: self.size]
            return [positions, dtype.type(found.size)]
        # A stable sort of truth values, the true ones first, keeps their positions in order.
        order = np.argsort(~x, axis=-1, kind="stable")[..., : self.size]
        counts = np.count_nonzero(x, axis=-1)
        kept = np.arange(order.shape[-1]) < counts[..., None]
        positions[..., : order.shape[-1]][kept] = order[kept]
        return [positions, np.asarray(counts, dtype)]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), (True, True)


# ---- counting ------------------------------------------------------------------------------------


@parameters
class Bincount(NonDifferentiable):
    """How often each number below `length` occurs.   i[*batch, n] -> i64[*batch, length]

    Other numbers are not counted.
    """

    length: int

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval((*x.shape[:-1], self.length), _index_dtype())

    def impl(self, x: Any) -> Any:
        batch = x.shape[:-1]
        length, count = self.length, math.prod(batch)
        counted = (x >= 0) & (x < length)
        lanes = np.arange(count).reshape(*batch, 1)
        bins = (lanes * length + x.astype(np.intp, copy=False))[counted]
        found = np.bincount(bins, minlength=count * length)
        return found.reshape(*batch, length).astype(_index_dtype(), copy=False)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True


@parameters
class Unique(NonDifferentiable):
    """The different rows, in order: first positions, which one each row is, how often, how many.

    a[*batch, n, *row] -> i64[*batch, size] i64[*batch, n] i64[*batch, size] i64[*batch]

    Beyond the different rows, the first position is repeated, and counts are 0.
    """

    size: int
    equal_nan: bool = True
    batch_axes: int = 0
    multiple_results = True

    def abstract_eval(self, x: Aval) -> Sequence[Aval]:  # type: ignore[override]
        batch, n = x.shape[: self.batch_axes], x.shape[self.batch_axes]
        shapes = [(self.size,), (n,), (self.size,), ()]
        return [Aval((*batch, *shape), _index_dtype()) for shape in shapes]

    def impl(self, x: Any) -> Sequence[Any]:
        answers = [np.zeros(aval.shape, aval.dtype) for aval in self.abstract_eval(aval_of(x))]
        lanes = zip(
            _flat_lanes(x, self.batch_axes),
            *[_flat_lanes(answer, self.batch_axes) for answer in answers[:3]],
            answers[3].reshape(-1),
            strict=True,
        )
        totals = []
        for rows, first, inverse, counts, _ in lanes:
            found = unique_rows(rows, self.equal_nan)
            kept = min(len(found[0]), self.size)
            first[...] = found[0][0] if len(found[0]) else 0
            first[:kept], counts[:kept] = found[0][:kept], found[2][:kept]
            inverse[...] = found[1]
            totals.append(len(found[0]))
        answers[3][...] = np.reshape(totals, answers[3].shape)
        return [*answers[:3], answers[3][()]]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        batched = Unique(self.size, self.equal_nan, self.batch_axes + 1)
        return batched(args[0]), (True,) * 4


def unique_rows(rows: NDArray, equal_nan: bool) -> tuple[NDArray, NDArray, NDArray]:
    """First positions, inverse and counts of the different rows of an array."""
    if rows.dtype in dtypes.NARROW:
        # NumPy does not know which of their values are NaN.
        rows = rows.astype(dtypes.widened(rows.dtype))
    if rows.ndim == 1:
        _, first, inverse, counts = np.unique(rows, True, True, True, equal_nan=equal_nan)
    else:
        _, first, inverse, counts = np.unique(rows, True, True, True, axis=0)
    return first, inverse.reshape(len(rows)), counts
