"""Gathering from and scattering to positions given by integer arrays: NumPy's advanced indexing.

Interface, for the functions that build on it (arguments are inside values)::

    Gather(axes, mode="raise", fill=None, place=0)(x, *indices)       -> x at the indices
    AddAt(axes, shape, mode="raise", place=0)(updates, *indices)      -> zeros plus the updates
    ScatterSet(axes, mode, place, unique)(x, updates, *indices)       -> x with updates put in
    ScatterAdd, ScatterMultiply, ScatterMin, ScatterMax               -> likewise, combined with x
    StaticUpdate(index, kind)(x, updates)                             -> x changed at a static index

- The scatters are in `fgrad.primitives.scatter`, the rest is here.
- ``axes`` are the indexed axes of x, non-negative and distinct; there is one integer operand for
  each, and these broadcast together to a shape b. At least one axis is indexed.
- The result of `Gather`, and the updates of a scatter, have the shape
  ``rest[:place] + b + rest[place:]``, where rest are the sizes of the other axes, in order. So
  ``x[:, i]`` is ``Gather((1,), place=1)(x, i)``, and ``x[i, :, j]`` is ``Gather((0, 2))(x, i, j)``.
- Updates have exactly this shape, and the dtype of x.
- Negative indices count from the end in every mode. Then an index out of range: "raise" raises
  IndexOutOfRangeError; "promise_in_bounds" says that there is none (and may raise); "clip" takes
  the nearest; "wrap" counts modulo the size; "fill" gives `fill` (None: NaN, the least signed
  integer, the greatest unsigned one, True), and drops an update. On an axis without elements,
  "clip" and "wrap" do as "fill" does.
- Where an index repeats, `ScatterSet` keeps the last update, in the order of the index.
- `forgiving(primitive)` is the primitive that clips where this one would raise: for a lane whose
  result is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape, aval_of, broadcast_shapes
from fgrad.errors import DTypeError, ShapeError
from fgrad.parameters import parameters
from fgrad.primitives import index_kernels
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import Linear, align_ranks, reshape, zeros_of
from fgrad.primitives.index_kernels import Mode, refuses
from fgrad.primitives.shape import Embed, StaticIndex, index_shape, iota, moveaxis, spread
from fgrad.tracing import Primitive

ndarray = np.ndarray


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """The same axes behind a new leading one."""
    return tuple([axis + 1 for axis in axes])


def default_fill(dtype: np.dtype[Any]) -> Any:
    """What stands for an element that does not exist."""
    kind = dtypes.kind_of(dtype)
    if kind == "b":
        return True
    if kind == "i":
        return int(dtypes.integer_limits(dtype).min)
    return int(dtypes.integer_limits(dtype).max) if kind == "u" else np.nan


def selected_shape(shape: Shape, axes: Sequence[int], index: Shape, place: int) -> Shape:
    """The shape of the elements at an index of shape `index` into some axes of an array."""
    rest = [n for axis, n in enumerate(shape) if axis not in axes]
    return (*rest[:place], *index, *rest[place:])


def broadcast_index(axes: Sequence[int], indices: Sequence[Aval]) -> Shape:
    """The common shape of the index arrays of `axes`."""
    if len(indices) != len(axes):
        raise ShapeError(f"indexing: {len(axes)} axes are indexed by {len(indices)} arrays")
    for index in indices:
        if index.dtype.kind not in "iu":
            raise DTypeError(
                f"indexing: an index has dtype {index.dtype}, expected an integer dtype"
            )
    return broadcast_shapes("indexing", *[index.shape for index in indices])


def lanes(size: int, indices: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """Index arrays with the mapped axis in front, after the one that counts it."""
    ranks = [len(aval_of(i).shape) - m for i, m in zip(indices, mapped, strict=True)]
    return [reshape(iota(size), (size, *(1,) * max(ranks))), *align_ranks(indices, mapped)]


class Indexed:
    """A primitive with a mode: what it does with an index out of range."""

    mode: Mode


def forgiving(primitive: Primitive) -> Primitive:
    """The same primitive, clipping an index where this one would raise."""
    if isinstance(primitive, Indexed) and refuses(primitive.mode):
        return replace(primitive, mode="clip")  # type: ignore[type-var]
    return primitive


@parameters
class Gather(Indexed, Linear):
    """The elements at integer positions; linear in x.   a[*s] i[*b1] ... -> a[*rest, *b, *rest]"""

    axes: tuple[int, ...]
    mode: Mode = "raise"
    fill: Any = None
    place: int = 0
    linear_operands = 1
    # One row, selected by scalars, is a view of x.
    view = True

    def abstract_eval(self, x: Aval, *indices: Aval) -> Aval:  # type: ignore[override]
        shape = broadcast_index(self.axes, indices)
        return Aval(selected_shape(x.shape, self.axes, shape, self.place), x.dtype)

    def impl(self, x: Any, *indices: Any) -> Any:
        if refuses(self.mode):
            try:
                return self._native(x, indices)
            except IndexError:
                raise index_kernels.out_of_range(indices, self.axes, x.shape) from None
        fill = (
            0 if self.mode != "fill" else default_fill(x.dtype) if self.fill is None else self.fill
        )
        return index_kernels.gather(x, self.axes, indices, self.mode, fill, self.place)

    def _native(self, x: Any, indices: Sequence[Any]) -> Any:
        axes = self.axes
        rank = max([i.ndim if type(i) is ndarray else 0 for i in indices])
        # An array without elements is taken from unchecked.
        if len(axes) == 1 and rank and x.flags.c_contiguous and x.size:
            (index,) = indices
            if index.dtype.kind == "u":
                index = index_kernels.as_positions(index)
            answer = x.take(index, axes[0])
            found_at = axes[0]
        else:
            key: list[Any] = [slice(None)] * (max(axes) + 1)
            for axis, index in zip(axes, indices, strict=True):
                key[axis] = index
            answer = x[tuple(key)]
            found_at = min(axes) if index_kernels.adjacent(sorted(axes)) else 0
        return index_kernels.placed(answer, found_at, self.place, rank)

    def of_dtype(self, dtype: np.dtype[Any]) -> Gather:
        """The same with what is filled in said, for values that come in another dtype."""
        unsaid = self.mode == "fill" and self.fill is None
        return replace(self, fill=default_fill(dtype)) if unsaid else self

    def lower(self, emit: Any, *names: str) -> str:
        x, *indices = emit.operands
        axes = self.axes
        rank = max([len(index.shape) for index in indices])
        wide = any([index.dtype == np.uint64 for index in indices])
        if refuses(self.mode) and x.size and not wide:
            if len(axes) == 1 and rank and self.place == axes[0]:
                take = emit.constant(index_kernels.taken, "taken")
                return f"{take}({names[0]}, {names[1]}, {axes[0]})"
            if axes == tuple(range(len(axes))) and not (rank and self.place):
                pick = emit.constant(index_kernels.picked, "picked")
                return f"{pick}({', '.join(names)})"
        return super().lower(emit, *names)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        x, *indices = args
        return (AddAt(self.axes, x.shape, self.mode, self.place)(ct, *indices),)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if tangents[0] is None:
            return None
        # What is filled in is constant.
        return replace(self, fill=0 if self.mode == "fill" else None)(tangents[0], *primals[1:])

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        x, *indices = args
        if not any(mapped[1:]):
            return replace(self, axes=shifted(self.axes), place=self.place + 1)(x, *indices), True
        lane, *indices = lanes(size, indices, mapped[1:])
        if mapped[0]:
            answer = replace(self, axes=(0, *shifted(self.axes)))(x, lane, *indices)
        else:
            answer = self(x, *indices)
        return moveaxis(answer, self.place, 0), True


@parameters
class AddAt(Indexed, Linear):
    """Add updates up in zeros: the transpose of gathering.   a[*t] i[*b1] ... -> a[*shape]"""

    axes: tuple[int, ...]
    shape: Shape
    mode: Mode = "raise"
    place: int = 0
    linear_operands = 1

    def abstract_eval(self, updates: Aval, *indices: Aval) -> Aval:  # type: ignore[override]
        shape = broadcast_index(self.axes, indices)
        check_updates(updates, selected_shape(self.shape, self.axes, shape, self.place))
        return Aval(self.shape, updates.dtype)

    def impl(self, updates: Any, *indices: Any) -> Any:
        zeros = np.zeros(self.shape, aval_of(updates).dtype)
        updates = np.asarray(updates)
        return index_kernels.scatter(
            "add", zeros, updates, self.axes, indices, self.mode, self.place, fresh=True
        )

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        updates, *indices = args
        gathered = gather_cotangent(self, ct, indices)
        return (convert(gathered, updates.dtype, updates.weak),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        updates, *indices = args
        shape = (size, *self.shape)
        if not any(mapped[1:]):
            over_rest = AddAt(shifted(self.axes), shape, self.mode, self.place + 1)
            return over_rest(updates, *indices), True
        indices = lanes(size, indices, mapped[1:])
        updates = moveaxis(updates if mapped[0] else spread(updates, size), 0, self.place)
        per_lane = AddAt((0, *shifted(self.axes)), shape, self.mode, self.place)
        return per_lane(updates, *indices), True


def check_updates(updates: Aval, expected: Shape) -> None:
    """Refuse updates that do not have the shape of what they change."""
    if updates.shape != expected:
        raise ShapeError(
            f"indexing: updates of shape {updates.shape} do not fit the selected elements of shape {expected}"
        )


def gather_cotangent(primitive: Any, ct: Any, indices: Sequence[Any]) -> Any:
    """The elements of a cotangent at the indices of a scatter; a dropped update gets zero."""
    fill = 0 if primitive.mode == "fill" else None
    return Gather(primitive.axes, primitive.mode, fill, primitive.place)(ct, *indices)


# ---- updates at a static index -----------------------------------------------------------------


@parameters
class StaticUpdate(Linear):
    """Put updates at a static index, or add them there.   a[*s] a[*t] -> a[*s]

    ``index`` is as that of `StaticIndex`.
    """

    index: tuple[Any, ...]
    kind: Literal["set", "add"]

    def __hash__(self) -> int:
        return hash((StaticIndex(self.index), self.kind))

    @property
    def name(self) -> str:
        return f"update_{self.kind}"

    def abstract_eval(self, x: Aval, updates: Aval) -> Aval:  # type: ignore[override]
        check_updates(updates, index_shape(self.index, x.shape))
        return Aval(x.shape, x.dtype)

    def impl(self, x: Any, updates: Any) -> Any:
        answer = np.array(x, order="C")
        if self.kind == "set":
            answer[self.index] = updates
        else:
            answer[self.index] += updates
        return answer

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        _, updates = args
        ct_x = ct_updates = None
        if needs[0]:
            ct_x = ct if self.kind == "add" else self(ct, zeros_of(updates.strong()))
        if needs[1]:
            ct_updates = convert(StaticIndex(self.index)(ct), updates.dtype, updates.weak)
        return ct_x, ct_updates

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        t_x, t_updates = tangents
        if t_updates is None and self.kind == "add":
            return t_x
        if t_x is None and t_updates is not None:
            return Embed(self.index, aval_of(answer).shape)(t_updates)
        if t_updates is None:
            t_updates = zeros_of(aval_of(primals[1]).strong())
        return None if t_x is None else self(t_x, t_updates)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        x, updates = [a if m else spread(a, size) for a, m in zip(args, mapped, strict=True)]
        return StaticUpdate((slice(0, size, 1), *self.index), self.kind)(x, updates), True
