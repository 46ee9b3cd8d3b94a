"""Scattering updates to positions given by integer arrays; see `indexing` for the interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape, aval_of, broadcast_shapes
from fgrad.errors import DTypeError
from fgrad.parameters import parameters
from fgrad.primitives import index_kernels
from fgrad.primitives.elementwise import (
    convert,
    equal,
    logical_or,
    not_equal,
    reciprocal_of,
    select,
)
from fgrad.primitives.families import (
    Full,
    General,
    Linear,
    NonDifferentiable,
    absorbing_product,
    add,
    mul,
    reshape,
    zeros_of,
)
from fgrad.primitives.index_kernels import Mode
from fgrad.primitives.indexing import (
    AddAt,
    Gather,
    Indexed,
    broadcast_index,
    check_updates,
    gather_cotangent,
    lanes,
    selected_shape,
    shifted,
)
from fgrad.primitives.shape import (
    Concatenate,
    flip,
    iota,
    moveaxis,
    spread,
    static_index,
    transpose,
)
from fgrad.tracing import Primitive, derivative_rules


def _over_index(x: Any, rank: int, place: int) -> Any:
    """An array of the shape of the index, lined up with the elements that it selects."""
    return reshape(x, (*(1,) * place, *aval_of(x).shape, *(1,) * (rank - place)))


@parameters
class _Scatter(Indexed, Primitive):
    """What all scatters share. ``unique`` promises that no position is given twice."""

    axes: tuple[int, ...]
    mode: Mode = "raise"
    place: int = 0
    unique: bool = False
    kind: ClassVar[str]
    updates_first = True

    def abstract_eval(self, x: Aval, updates: Aval, *indices: Aval) -> Aval:  # type: ignore[override]
        shape = broadcast_index(self.axes, indices)
        check_updates(updates, selected_shape(x.shape, self.axes, shape, self.place))
        if updates.dtype != x.dtype:
            raise DTypeError(
                f"indexing: updates of dtype {updates.dtype} do not fit an array of {x.dtype}"
            )
        return Aval(x.shape, x.dtype)

    def impl(self, x: Any, updates: Any, *indices: Any) -> Any:
        updates = np.asarray(updates, x.dtype)
        return index_kernels.scatter(
            self.kind, x, updates, self.axes, indices, self.mode, self.place
        )

    def update(self, x: Any, updates: Any, *indices: Any) -> Any:
        """The same, in an array that may be changed: where that is possible, the result is `x` itself."""
        updates = np.asarray(updates, x.dtype)
        return index_kernels.scatter(
            self.kind, x, updates, self.axes, indices, self.mode, self.place, fresh=True
        )

    def write(self, emit: Any, eqn: Any, indent: str, silent: bool) -> list[str] | None:
        """A statement that changes the operand, where nobody reads it again."""
        (out,) = eqn.outputs
        if out not in emit.in_place:
            return None
        names = [emit.atom(a) for a in eqn.inputs]
        emit.rename(out, names[0])
        update = emit.constant(self.update, f"{self.name}_in_place")
        return [f"{indent}{names[0]} = {update}({', '.join(names)})  # {emit.kind(out.aval)}"]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        x, updates, *indices = args
        x = x if mapped[0] else spread(x, size)
        updates = updates if mapped[1] else spread(updates, size)
        axes = shifted(self.axes)
        if not any(mapped[2:]):
            return replace(self, axes=axes, place=self.place + 1)(x, updates, *indices), True
        indices = lanes(size, indices, mapped[2:])
        updates = moveaxis(updates, 0, self.place)
        return replace(self, axes=(0, *axes))(x, updates, *indices), True

    def _rest(self, x: Any) -> int:
        return len(aval_of(x).shape) - len(self.axes)

    def _repeats(self, indices: Sequence[Any]) -> bool:
        """Whether a position may be given twice, as far as the types say."""
        return not self.unique and any([n != 1 for i in indices for n in aval_of(i).shape])


@parameters
class ScatterSet(_Scatter, Linear):
    """Put updates at integer positions; the last one counts.   a[*s] a[*t] i[*b1] ... -> a[*s]"""

    kind = "set"
    linear_operands = 2

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        x, updates, *indices = args
        ct_x = ct_updates = None
        if needs[0]:
            ct_x = self(ct, zeros_of(updates.strong()), *indices)
        if needs[1]:
            ct_updates = gather_cotangent(self, ct, indices)
            if self._repeats(indices):
                last = _over_index(self._is_last(x.shape, indices), self._rest(x), self.place)
                ct_updates = select(last, ct_updates, zeros_of(Aval((), ct_updates.dtype)))
            ct_updates = convert(ct_updates, updates.dtype, updates.weak)
        return ct_x, ct_updates

    def _is_last(self, shape: Shape, indices: Sequence[Any]) -> Any:
        """Where the index of an update is not repeated by a later one."""
        counted = tuple([shape[axis] for axis in self.axes])
        axes = tuple(range(len(self.axes)))
        index_shape = broadcast_shapes("indexing", *[aval_of(i).shape for i in indices])
        size = int(np.prod(index_shape, dtype=np.int64))
        order = reshape(iota(size), index_shape)
        nobody = Full(counted, -1, aval_of(order).dtype)()
        winner = ScatterSet(axes, self.mode)(nobody, order, *indices)
        return equal(Gather(axes, self.mode)(winner, *indices), order)


@parameters
class ScatterAdd(_Scatter, Linear):
    """Add updates at integer positions.   a[*s] a[*t] i[*b1] ... -> a[*s]"""

    kind = "add"
    linear_operands = 2

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        _, updates, *indices = args
        ct_updates = None
        if needs[1]:
            ct_updates = convert(gather_cotangent(self, ct, indices), updates.dtype, updates.weak)
        return (ct if needs[0] else None), ct_updates

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        t_x, t_updates = tangents[:2]
        indices = primals[2:]
        if t_updates is None:
            return t_x
        if t_x is None:
            shape = aval_of(answer).shape
            return AddAt(self.axes, shape, self.mode, self.place)(t_updates, *indices)
        return self(t_x, t_updates, *indices)


class _Combining(_Scatter):
    """The rules of a scatter that reads what it combines, from the slopes that it gives."""

    def slopes(self, answer: Any, x: Any, updates: Any, indices: Sequence[Any]) -> tuple[Any, Any]:
        """The slopes of each result towards its element of x, and towards each of its updates."""
        raise NotImplementedError

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        x, updates, *indices = primals
        t_x, t_updates = tangents[:2]
        if t_x is None and t_updates is None:
            return None
        with derivative_rules():
            x_slope, updates_slope = self.slopes(answer, x, updates, indices)
            if t_x is not None:
                t_x = absorbing_product(t_x, x_slope)
            if t_updates is None:
                return t_x
            shape = aval_of(answer).shape
            terms = absorbing_product(t_updates, updates_slope)
            total = AddAt(self.axes, shape, self.mode, self.place)(terms, *indices)
            return total if t_x is None else add(t_x, total)

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (True,) * len(needs)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        x, updates, *indices = args
        x_slope, updates_slope = self.slopes(answer, x, updates, indices)
        ct_x = absorbing_product(ct, x_slope) if needs[0] else None
        ct_updates = None
        if needs[1]:
            ct_updates = absorbing_product(gather_cotangent(self, ct, indices), updates_slope)
            own = aval_of(updates)
            ct_updates = convert(ct_updates, own.dtype, own.weak)
        return ct_x, ct_updates, *(None for _ in indices)


@parameters
class ScatterMultiply(_Combining, General):
    """Multiply by updates at integer positions.   a[*s] a[*t] i[*b1] ... -> a[*s]"""

    kind = "multiply"

    def slopes(self, answer: Any, x: Any, updates: Any, indices: Sequence[Any]) -> tuple[Any, Any]:
        own = aval_of(x)
        ones = Full(own.shape, 1, own.dtype)()
        x_slope = self(ones, updates, *indices)
        gathered = gather_cotangent(self, x, indices)
        if self._repeats(indices):
            gathered = mul(gathered, self._others(own.shape, updates, indices))
        return x_slope, gathered

    def _others(self, shape: Shape, updates: Any, indices: Sequence[Any]) -> Any:
        """For each update, the product of the other updates of its position."""
        counted = tuple([shape[axis] for axis in self.axes])
        total = int(np.prod(counted, dtype=np.int64))
        numbers = reshape(iota(total), counted)
        # Updates that are dropped make a group of their own, which nothing reads.
        groups = Gather(tuple(range(len(counted))), self.mode, fill=total)(numbers, *indices)
        size, rank = aval_of(groups).size, len(aval_of(groups).shape)
        own = aval_of(updates).shape
        rows = _leading(updates, self.place, rank)
        rest = (*own[: self.place], *own[self.place + rank :])
        others = ProductOfOthers(total + 1)(reshape(rows, (size, *rest)), reshape(groups, (size,)))
        return _leading(reshape(others, aval_of(rows).shape), self.place, rank, inverse=True)


def _leading(x: Any, place: int, count: int, inverse: bool = False) -> Any:
    """`x` with `count` axes from `place` on moved to the front, or back."""
    ndim = len(aval_of(x).shape)
    order = [*range(place, place + count), *range(place), *range(place + count, ndim)]
    if inverse:
        order = [order.index(axis) for axis in range(ndim)]
    return transpose(x, order)


@parameters
class ProductOfOthers(General):
    """For each row, the product of the other rows of its group.   a[k, *rest] i[k] -> a[k, *rest]

    ``groups`` is greater than each number of a group. No division: rows may be zero. The derivative
    of result k towards row j is the product of all others but these two: symmetric, so that the
    pullback is the pushforward.
    """

    groups: int

    def abstract_eval(self, rows: Aval, groups: Aval) -> Aval:  # type: ignore[override]
        return Aval(rows.shape, rows.dtype)

    def impl(self, rows: Any, groups: Any) -> Any:
        return index_kernels.products_of_others(rows, groups)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        rows, groups = primals
        if tangents[0] is None:
            return None
        with derivative_rules():
            return self._directional(rows, groups, tangents[0])

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (True, True)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        return self._directional(args[0], args[1], ct), None

    def _directional(self, rows: Any, groups: Any, direction: Any) -> Any:
        order = StableOrder()(groups)
        ordered, rows, direction = [Gather((0,))(a, order) for a in (groups, rows, direction)]
        before, t_before = _running_products(rows, direction, ordered)
        backward = [flip(a, (0,)) for a in (rows, direction, ordered)]
        after, t_after = [flip(a, (0,)) for a in _running_products(*backward)]
        total = add(absorbing_product(t_before, after), absorbing_product(t_after, before))
        return Gather((0,))(total, StableOrder()(order))

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        rows, groups = [a if m else spread(a, size) for a, m in zip(args, mapped, strict=True)]
        shape = aval_of(rows).shape
        first = mul(reshape(iota(size), (size, 1)), self.groups)
        flat = reshape(add(groups, first), (size * shape[1],))
        answer = ProductOfOthers(self.groups * size)(
            reshape(rows, (size * shape[1], *shape[2:])), flat
        )
        return reshape(answer, shape), True


def _running_products(rows: Any, direction: Any, groups: Any) -> tuple[Any, Any]:
    """The products of the earlier rows of each group, and their derivatives, in log2 k steps."""
    count, *rest = aval_of(rows).shape

    def earlier(x: Any, step: int, missing: float) -> Any:
        """The values `step` rows before, where these belong to the same group."""
        own = aval_of(x)
        edge = Full((step, *rest), missing, own.dtype)()
        shifted = Concatenate(0)(edge, static_index(x, [slice(0, count - step)]))
        return select(_over_index(same[step], len(rest), 0), shifted, missing)

    same = {}
    steps = [1 << k for k in range(max(count - 1, 0).bit_length())]
    for step in steps:
        edge = Full((step,), -1, aval_of(groups).dtype)()
        same[step] = equal(
            groups, Concatenate(0)(edge, static_index(groups, [slice(0, count - step)]))
        )
    if not steps:
        own = aval_of(rows)
        return Full(own.shape, 1, own.dtype)(), zeros_of(own)
    products, t_products = earlier(rows, 1, 1.0), earlier(direction, 1, 0.0)
    for step in steps:
        factor, t_factor = earlier(products, step, 1.0), earlier(t_products, step, 0.0)
        t_products = add(
            absorbing_product(t_products, factor), absorbing_product(t_factor, products)
        )
        products = mul(products, factor)
    return products, t_products


@parameters
class StableOrder(NonDifferentiable):
    """What sorts the last axis, equal elements in their order.   a[*s, n] -> i64[*s, n]"""

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(x.shape, dtypes.canonical(dtypes.INT64))

    def impl(self, x: Any) -> Any:
        order = np.argsort(x, axis=-1, kind="stable")
        return order.astype(dtypes.canonical(dtypes.INT64), copy=False)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True


class _Extremum(_Combining):
    """Ties split evenly among x and all updates that equal the result."""

    def slopes(self, answer: Any, x: Any, updates: Any, indices: Sequence[Any]) -> tuple[Any, Any]:
        # An element of x that is NaN is its own result.
        x_wins = logical_or(equal(x, answer), not_equal(x, x))
        update_wins = equal(updates, gather_cotangent(self, answer, indices))
        count_dtype = dtypes.canonical(dtypes.INT64)
        winners = ScatterAdd(self.axes, self.mode, self.place)(
            convert(x_wins, count_dtype), convert(update_wins, count_dtype), *indices
        )
        share = reciprocal_of(convert(winners, aval_of(x).dtype))
        at_updates = gather_cotangent(self, share, indices)
        return select(x_wins, share, 0.0), select(update_wins, at_updates, 0.0)


@parameters
class ScatterMin(_Extremum, General):
    """The least of x and the updates at integer positions.   a[*s] a[*t] i[*b1] ... -> a[*s]"""

    kind = "min"


@parameters
class ScatterMax(_Extremum, General):
    """The greatest of x and the updates at integer positions.   a[*s] a[*t] i[*b1] ... -> a[*s]"""

    kind = "max"
