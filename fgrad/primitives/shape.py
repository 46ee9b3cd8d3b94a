"""Moving elements without changing them: transposing, joining, padding, static indexing, counting."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape, aval_of
from fgrad.errors import ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.families import (
    BroadcastTo,
    Full,
    Linear,
    NonDifferentiable,
    Reshape,
    Sum,
    broadcast_to,
    creation_is_staged,
    match_aval,
    reshape,
    zeros_of,
)
from fgrad.primitives.promotion import common_dtype

__all__ = ["BroadcastTo", "Full", "Reshape", "Sum", "broadcast_to", "reshape"]


@parameters
class Transpose(Linear):
    """Permute the axes.   a[*s] -> a[*s permuted]"""

    permutation: tuple[int, ...]
    view = True
    keeps_nan = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(tuple([x.shape[axis] for axis in self.permutation]), x.dtype, x.weak)

    def impl(self, x: Any) -> Any:
        return x.transpose(self.permutation) if type(x) is np.ndarray else x

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        inverse = [0] * len(self.permutation)
        for position, axis in enumerate(self.permutation):
            inverse[axis] = position
        return (Transpose(tuple(inverse))(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Transpose((0, *[axis + 1 for axis in self.permutation]))(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if self.permutation == tuple(reversed(range(len(self.permutation)))):
            return f"{names[0]}.T"
        return f"np.transpose({names[0]}, {self.permutation})"


#: The primitive of these parameters, made once.
permuted = functools.lru_cache(1024)(Transpose)


def transpose(x: Any, permutation: Sequence[int]) -> Any:
    """`x` with its axes permuted, or itself where that changes nothing."""
    permutation = tuple(permutation)
    return x if permutation == tuple(range(len(permutation))) else permuted(permutation)(x)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """`x` with one axis moved; both are non-negative."""
    if source == destination:
        return x
    order = [axis for axis in range(len(x.shape)) if axis != source]
    order.insert(destination, source)
    return Transpose(tuple(order))(x)


def expand_dims(x: Any, axes: Sequence[int]) -> Any:
    """`x` with axes of size one at these positions of the result."""
    shape = list(aval_of(x).shape)
    for axis in sorted(axes):
        shape.insert(axis, 1)
    return reshape(x, tuple(shape))


def spread(x: Any, size: int) -> Any:
    """`x` repeated along a new leading axis."""
    return broadcast_to(x, (size, *aval_of(x).shape))


def batched_operands(size: int, args: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """All operands with a leading batch axis, the unmapped ones stretched."""
    return [a if is_mapped else spread(a, size) for a, is_mapped in zip(args, mapped, strict=True)]


# ---- joining and padding -----------------------------------------------------------------------


@parameters
class Concatenate(Linear):
    """Join along an axis.   a[*s, n1, *t] a[*s, n2, *t] ... -> a[*s, n1+n2+..., *t]"""

    axis: int
    keeps_nan = True

    def abstract_eval(self, *avals: Aval) -> Aval:
        first = avals[0].shape
        for x in avals[1:]:
            rest = [n for axis, n in enumerate(x.shape) if axis != self.axis]
            if len(x.shape) != len(first) or rest != [
                n for axis, n in enumerate(first) if axis != self.axis
            ]:
                listed = ", ".join(str(a.shape) for a in avals)
                raise ShapeError(
                    f"concatenate: shapes {listed} differ in more than axis {self.axis}, along which they are "
                    "joined"
                )
        total = sum([x.shape[self.axis] for x in avals])
        shape = (*first[: self.axis], total, *first[self.axis + 1 :])
        return Aval(shape, common_dtype(avals))

    def impl(self, *values: Any) -> Any:
        try:
            return np.concatenate(values, axis=self.axis)
        except ValueError:
            # The typing rule says what does not fit in better words than NumPy.
            self.abstract_eval(*map(aval_of, values))
            raise

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        cotangents: list[Any] = []
        start = 0
        for x, need in zip(args, needs, strict=True):
            stop = start + x.shape[self.axis]
            if need:
                index = (slice(None),) * self.axis + (slice(start, stop),)
                cotangents.append(match_aval(static_index(ct, index), x))
            else:
                cotangents.append(None)
            start = stop
        return cotangents

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Concatenate(self.axis + 1)(*batched_operands(size, args, mapped)), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.concatenate(({', '.join(names)},), axis={self.axis})"

    def lower_into(self, emit: Any, target: str, *names: str) -> str | None:
        return f"np.concatenate(({', '.join(names)},), axis={self.axis}, out={target})"


#: The primitive of these parameters, made once: to make one costs as much as NumPy takes to run it.
concatenation = functools.lru_cache(256)(Concatenate)


@parameters
class Pad(Linear):
    """Zeros around and between the elements; negative widths cut.   a[*s] -> a[*t]"""

    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]

    def _spread_sizes(self, shape: Shape) -> list[int]:
        return [n + max(n - 1, 0) * gap for n, gap in zip(shape, self.interior, strict=True)]

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        sizes = zip(self._spread_sizes(x.shape), self.low, self.high, strict=True)
        shape = tuple([n + low + high for n, low, high in sizes])
        if any(n < 0 for n in shape):
            raise ShapeError(
                f"pad: widths {self.low}, {self.high} cut more than shape {x.shape} has"
            )
        return Aval(shape, x.dtype)

    def impl(self, x: Any) -> Any:
        shape = self.abstract_eval(aval_of(x)).shape
        out = np.zeros(shape, x.dtype)
        source, target = [], []
        for n, low, gap, total in zip(x.shape, self.low, self.interior, shape, strict=True):
            step = gap + 1
            first = max(0, -(low // step)) if low < 0 else 0
            last = min(n, max(first, -(-(total - low) // step)))
            source.append(slice(first, last))
            start = low + first * step
            target.append(
                slice(start, start + (last - first) * step if last > first else start, step)
            )
        out[tuple(target)] = x[tuple(source)]
        return out

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        (x,) = args
        # Undo the outer widths first: what was cut gets zeros back, what was added is dropped.
        zeros = (0,) * len(self.low)
        undo = Pad(tuple([-n for n in self.low]), tuple([-n for n in self.high]), zeros)(ct)
        index = tuple([slice(None, None, gap + 1) for gap in self.interior])
        return (static_index(undo, index),) if x.size else (zeros_of(x),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Pad((0, *self.low), (0, *self.high), (0, *self.interior))(args[0]), True


# ---- static indexing ---------------------------------------------------------------------------

StaticItem = int | slice | None


@parameters
class StaticIndex(Linear):
    """NumPy's basic indexing with integers, slices and new axes.   a[*s] -> a[*t]

    ``index`` covers every axis; slices are normal: ``slice(start, stop, step)`` in bounds.
    """

    index: tuple[Any, ...]
    view = True

    def __hash__(self) -> int:
        # Slices have no hash before Python 3.12.
        return hash(
            tuple([(s.start, s.stop, s.step) if isinstance(s, slice) else s for s in self.index])
        )

    @property
    def name(self) -> str:
        return "index"

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x.with_shape(index_shape(self.index, x.shape))

    def impl(self, x: Any) -> Any:
        return x[self.index] if type(x) is np.ndarray else np.asarray(x)[self.index]

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (Embed(self.index, args[0].shape)(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return StaticIndex((slice(0, size, 1), *self.index))(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"{names[0]}[{index_text(self.index)}]"


@parameters
class Embed(Linear):
    """Put an array into zeros at a static index: the transpose of static indexing.   a[*t] -> a[*shape]"""

    index: tuple[Any, ...]
    shape: Shape
    keeps_nan = True

    def __hash__(self) -> int:
        return hash((StaticIndex(self.index), self.shape))

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(self.shape, x.dtype)

    def impl(self, x: Any) -> Any:
        out = np.zeros(self.shape, aval_of(x).dtype)
        out[self.index] = x
        return out

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (StaticIndex(self.index)(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Embed((slice(0, size, 1), *self.index), (size, *self.shape))(args[0]), True

    def write(self, emit: Any, eqn: Any, indent: str, silent: bool) -> list[str]:
        """Statements that make the zeros, then set the part."""
        (x,), (out,) = eqn.inputs, eqn.outputs
        name = emit.var(out)
        return [
            f"{indent}{name} = np.zeros({self.shape}, {emit.dtype(out.aval.dtype)})  # {emit.kind(out.aval)}",
            f"{indent}{name}[{index_text(self.index)}] = {emit.atom(x)}",
        ]


def index_shape(index: Sequence[Any], shape: Shape) -> Shape:
    """The shape that a normal static index selects."""
    result = []
    axis = 0
    for item in index:
        if item is None:
            result.append(1)
            continue
        if isinstance(item, slice):
            result.append(len(range(shape[axis])[item]))
        axis += 1
    return (*result, *shape[axis:])


def index_text(index: Sequence[Any]) -> str:
    """A static index as one writes it between brackets."""
    parts = []
    for item in index:
        if isinstance(item, slice):
            start = "" if item.start is None else str(item.start)
            stop = "" if item.stop is None else str(item.stop)
            step = "" if item.step in (None, 1) else f":{item.step}"
            parts.append(f"{start}:{stop}{step}")
        else:
            parts.append(str(item))
    return ", ".join(parts) if parts else "()"


def static_index(x: Any, index: Sequence[Any]) -> Any:
    """`x` indexed by integers in bounds, slices and None; missing trailing axes are taken whole."""
    shape = aval_of(x).shape
    items: list[Any] = []
    axis = 0
    whole = True
    for item in index:
        if item is None:
            items.append(None)
            whole = False
            continue
        if isinstance(item, slice):
            start, stop, step = item.indices(shape[axis])
            if not len(range(start, stop, step)):
                start, stop, step = 0, 0, 1
            # A slice down to the first element has no non-negative stop.
            stop_item = None if step < 0 and stop < 0 else stop
            whole = whole and (start, stop, step) == (0, shape[axis], 1)
            items.append(slice(start, stop_item, step))
        else:
            items.append(item)
            whole = False
        axis += 1
    items.extend(slice(0, n, 1) for n in shape[axis:])
    return x if whole else StaticIndex(tuple(items))(x)


def flip(x: Any, axes: Sequence[int]) -> Any:
    """`x` reversed along axes, which are non-negative."""
    index = [slice(None, None, -1) if axis in axes else slice(None) for axis in range(len(x.shape))]
    return static_index(x, index)


# ---- counting ----------------------------------------------------------------------------------


@parameters
class Iota(NonDifferentiable):
    """``start + step * i`` for i below size, computed as NumPy's arange does.   -> dtype[size]"""

    size: int
    dtype: np.dtype[Any]
    start: Any = 0
    step: Any = 1
    creates = True

    def staged(self) -> bool:
        return creation_is_staged((self.size,))

    def abstract_eval(self) -> Aval:  # type: ignore[override]
        return Aval((self.size,), self.dtype)

    def impl(self) -> Any:
        if self.dtype.kind == "b":
            return np.arange(self.start, self.start + self.size * self.step, self.step).astype(bool)
        if self.start == 0 and self.step == 1:
            return np.arange(self.size, dtype=self.dtype)
        # Half a step before the next number, so that rounding does not change how many there are.
        stop = self.start + (self.size - 0.5) * self.step
        numbers: Any = np.arange(self.start, stop, self.step, dtype=self.dtype)
        if numbers.size == self.size:
            return numbers
        return (self.start + self.step * np.arange(self.size)).astype(self.dtype)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(), False

    def lower(self, emit: Any, *names: str) -> str:
        if self.start == 0 and self.step == 1 and self.dtype.kind != "b":
            return f"np.arange({self.size}, dtype={emit.dtype(self.dtype)})"
        return f"{emit.constant(self.impl, 'arange')}()"


@parameters
class Eye(NonDifferentiable):
    """Ones on a diagonal.   -> dtype[rows, columns]"""

    rows: int
    columns: int
    offset: int
    dtype: np.dtype[Any]
    creates = True

    def staged(self) -> bool:
        return creation_is_staged((self.rows, self.columns))

    def abstract_eval(self) -> Aval:  # type: ignore[override]
        return Aval((self.rows, self.columns), self.dtype)

    def impl(self) -> Any:
        return np.eye(self.rows, self.columns, self.offset, dtype=self.dtype)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(), False

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.eye({self.rows}, {self.columns}, {self.offset}, dtype={emit.dtype(self.dtype)})"


def iota(size: int, dtype: np.dtype[Any] = dtypes.INT64) -> Any:
    """0, 1, ... size - 1."""
    return Iota(size, dtypes.canonical(dtype))()
