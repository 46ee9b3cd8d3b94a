"""Blocks of fixed sizes at computed positions.

Arguments are inside values::

    BlockStart(size, last, from_end)(start)          -> the nearest position that a block can have
    DynamicSlice(axes, sizes)(x, *starts)            -> the block of x
    DynamicEmbed(axes, shape)(block, *starts)        -> zeros with the block in them
    DynamicUpdate(axes)(x, block, *starts)           -> x with the block put in

- ``axes`` are distinct, in order; there is one integer scalar for each, the first position of the block.
  Along the other axes the block is as long as the array.
- The block lies inside of the array: who binds these has moved it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, Shape, aval_of
from fgrad.dtypes import INT64, canonical
from fgrad.errors import DTypeError, ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import add, convert
from fgrad.primitives.families import Linear, NonDifferentiable, reshape, zeros_of
from fgrad.primitives.indexing import AddAt, Gather, check_updates, shifted
from fgrad.primitives.scatter import ScatterSet
from fgrad.primitives.shape import iota, spread


def block_shape(shape: Shape, axes: Sequence[int], sizes: Sequence[int]) -> Shape:
    """The shape of a block of these sizes along some axes."""
    result = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        result[axis] = size
    return tuple(result)


def check_starts(axes: Sequence[int], starts: Sequence[Aval]) -> None:
    """Refuse what is not one integer for each axis."""
    if len(starts) != len(axes) or any(start.shape for start in starts):
        raise ShapeError(f"a block along {len(axes)} axes takes as many scalars, got {len(starts)}")
    for start in starts:
        if start.dtype.kind not in "iu":
            raise DTypeError(
                f"the position of a block has dtype {start.dtype}, expected an integer"
            )


def block_key(axes: Sequence[int], sizes: Sequence[int], starts: Sequence[Any]) -> Any:
    """The slices of a block."""
    key: list[Any] = [slice(None)] * (axes[-1] + 1)
    for axis, size, start in zip(axes, sizes, starts, strict=True):
        first = int(start)
        key[axis] = slice(first, first + size)
    return tuple(key)


def block_text(
    axes: Sequence[int], sizes: Sequence[int], starts: Sequence[str], types: Sequence[Aval]
) -> str:
    """The slices of a block as one writes them between brackets."""
    parts = [":"] * (axes[-1] + 1)
    for axis, size, start, aval in zip(axes, sizes, starts, types, strict=True):
        # A small integer might overflow.
        first = start if aval.weak or aval.dtype == INT64 else f"int({start})"
        parts[axis] = f"{first}:{first} + {size}"
    return ", ".join(parts)


@parameters
class BlockStart(NonDifferentiable):
    """The first position of a block, moved so that the block lies inside of its axis.   i[*s] -> i64[*s]

    ``size`` is that of the axis, ``last`` the last position that a block can have; `from_end` says whether
    a negative position counts from the end.
    """

    size: int
    last: int
    from_end: bool

    def abstract_eval(self, start: Aval) -> Aval:  # type: ignore[override]
        check_starts((0,), [start.with_shape(())])
        return Aval(start.shape, canonical(INT64))

    def impl(self, start: Any) -> Any:
        dtype = canonical(INT64)
        if type(start) is not np.ndarray:
            position = int(start)
            if position < 0 and self.from_end:
                position += self.size
            return dtype.type(min(max(position, 0), self.last))
        if start.dtype.kind == "u":
            return np.minimum(
                start, start.dtype.type(min(self.last, np.iinfo(start.dtype).max))
            ).astype(dtype)
        positions = start.astype(np.int64)
        if self.from_end:
            positions = np.where(positions < 0, positions + self.size, positions)
        return np.clip(positions, 0, self.last).astype(dtype, copy=False)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        (aval,) = emit.operands
        if aval.shape:
            return super().lower(emit, *names)
        position = names[0] if aval.weak or aval.dtype == INT64 else f"int({names[0]})"
        if self.from_end and aval.dtype.kind == "i":
            position = f"{position} + {self.size} if {position} < 0 else {position}"
        return f"np.int64(min(max({position}, 0), {self.last}))"


def _positions(size: int, start: Any, mapped: bool) -> Any:
    """The positions of a block along an axis, for each example if its start is mapped."""
    counted = iota(size)
    if mapped:
        start = reshape(start, (*aval_of(start).shape, 1))
    return add(convert(start, aval_of(counted).dtype), counted)


@parameters
class DynamicSlice(Linear):
    """A block at computed positions; linear in x.   a[*s] i[] ... -> a[*t]"""

    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    linear_operands = 1
    view = True

    def abstract_eval(self, x: Aval, *starts: Aval) -> Aval:  # type: ignore[override]
        check_starts(self.axes, starts)
        return Aval(block_shape(x.shape, self.axes, self.sizes), x.dtype)

    def impl(self, x: Any, *starts: Any) -> Any:
        return x[block_key(self.axes, self.sizes, starts)]

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        x, *starts = args
        return (DynamicEmbed(self.axes, x.shape)(ct, *starts),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        x, *starts = args
        if not any(mapped[1:]):
            return DynamicSlice(shifted(self.axes), self.sizes)(x, *starts), True
        is_mapped = mapped[0]
        for axis, length, start, varies in zip(
            self.axes, self.sizes, starts, mapped[1:], strict=True
        ):
            along = Gather((axis,), "promise_in_bounds", place=axis)
            operands = x, _positions(length, start, varies)
            if is_mapped or varies:
                x, is_mapped = along.batch(size, operands, (is_mapped, varies))
            else:
                x = along(*operands)
        return x, is_mapped

    def lower(self, emit: Any, *names: str) -> str:
        key = block_text(self.axes, self.sizes, names[1:], emit.operands[1:])
        return f"{names[0]}[{key}]"


@parameters
class DynamicEmbed(Linear):
    """A block put into zeros at computed positions.   a[*t] i[] ... -> a[*shape]"""

    axes: tuple[int, ...]
    shape: Shape
    linear_operands = 1

    def abstract_eval(self, block: Aval, *starts: Aval) -> Aval:  # type: ignore[override]
        check_starts(self.axes, starts)
        sizes = [block.shape[axis] for axis in self.axes]
        check_updates(block, block_shape(self.shape, self.axes, sizes))
        return Aval(self.shape, block.dtype)

    def impl(self, block: Any, *starts: Any) -> Any:
        answer = np.zeros(self.shape, block.dtype)
        sizes = [block.shape[axis] for axis in self.axes]
        answer[block_key(self.axes, sizes, starts)] = block
        return answer

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        block, *starts = args
        sizes = tuple([block.shape[axis] for axis in self.axes])
        return (DynamicSlice(self.axes, sizes)(ct, *starts),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        block, *starts = args
        if not any(mapped[1:]):
            return DynamicEmbed(shifted(self.axes), (size, *self.shape))(block, *starts), True
        is_mapped = mapped[0]
        shape = list(aval_of(block).shape[is_mapped:])
        for axis, start, varies in zip(self.axes, starts, mapped[1:], strict=True):
            positions = _positions(shape[axis], start, varies)
            shape[axis] = self.shape[axis]
            along = AddAt((axis,), tuple(shape), "promise_in_bounds", axis)
            if is_mapped or varies:
                block, is_mapped = along.batch(size, (block, positions), (is_mapped, varies))
            else:
                block = along(block, positions)
        return block, is_mapped

    def write(self, emit: Any, eqn: Any, indent: str, silent: bool) -> list[str]:
        """Statements that make the zeros, then set the block."""
        (block, *starts), (out,) = eqn.inputs, eqn.outputs
        sizes = [block.aval.shape[axis] for axis in self.axes]
        names = [emit.atom(start) for start in starts]
        key = block_text(self.axes, sizes, names, [start.aval for start in starts])
        source, name = emit.atom(block), emit.var(out)
        return [
            f"{indent}{name} = np.zeros({self.shape}, {emit.dtype(out.aval.dtype)})  # {emit.kind(out.aval)}",
            f"{indent}{name}[{key}] = {source}",
        ]


@parameters
class DynamicUpdate(Linear):
    """An array with a block at computed positions replaced.   a[*s] a[*t] i[] ... -> a[*s]"""

    axes: tuple[int, ...]
    linear_operands = 2
    updates_first = True

    def _sizes(self, block: Any) -> tuple[int, ...]:
        return tuple([block.shape[axis] for axis in self.axes])

    def abstract_eval(self, x: Aval, block: Aval, *starts: Aval) -> Aval:  # type: ignore[override]
        check_starts(self.axes, starts)
        check_updates(block, block_shape(x.shape, self.axes, self._sizes(block)))
        if block.dtype != x.dtype:
            raise DTypeError(f"a block of dtype {block.dtype} does not fit an array of {x.dtype}")
        return Aval(x.shape, x.dtype)

    def impl(self, x: Any, block: Any, *starts: Any) -> Any:
        answer = np.array(x, order="C")
        answer[block_key(self.axes, self._sizes(block), starts)] = block
        return answer

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        _, block, *starts = args
        ct_x = ct_block = None
        if needs[0]:
            ct_x = self(ct, zeros_of(block.strong()), *starts)
        if needs[1]:
            ct_block = DynamicSlice(self.axes, self._sizes(block))(ct, *starts)
        return ct_x, ct_block

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        x, block, *starts = args
        x = x if mapped[0] else spread(x, size)
        if not any(mapped[2:]):
            block = block if mapped[1] else spread(block, size)
            return DynamicUpdate(shifted(self.axes))(x, block, *starts), True
        # The indexed axes are neighbours, so that updates keep the order of their axes.
        first, last = self.axes[0], self.axes[-1]
        sizes = aval_of(block).shape[mapped[1] :]
        by_axis = dict(zip(self.axes, zip(starts, mapped[2:], strict=True), strict=True))
        indices, varying = [], []
        for axis in range(first, last + 1):
            start, varies = by_axis.get(axis, (0, False))
            positions = _positions(sizes[axis], start, varies)
            lead = (size,) if varies else ()
            shape = (*lead, *(1,) * (axis - first), sizes[axis], *(1,) * (last - axis))
            indices.append(reshape(positions, shape))
            varying.append(varies)
        put = ScatterSet(tuple(range(first, last + 1)), "promise_in_bounds", first, True)
        return put.batch(size, (x, block, *indices), (True, mapped[1], *varying))

    def write(self, emit: Any, eqn: Any, indent: str, silent: bool) -> list[str]:
        """Statements that copy the array, then set the block."""
        (x, block, *starts), (out,) = eqn.inputs, eqn.outputs
        names = [emit.atom(start) for start in starts]
        types = [start.aval for start in starts]
        key = block_text(self.axes, self._sizes(block.aval), names, types)
        before, source = emit.atom(x), emit.atom(block)
        if out in emit.in_place:
            emit.rename(out, before)
            return [f"{indent}{before}[{key}] = {source}  # {emit.kind(out.aval)}"]
        name = emit.var(out)
        return [
            f"{indent}{name} = np.array({before}, order='C')  # {emit.kind(out.aval)}",
            f"{indent}{name}[{key}] = {source}",
        ]
