"""What stands between brackets: NumPy's index expressions, brought to a normal form.

An expression becomes a static step (integers, slices, new axes: a view) and the index arrays that
apply to what that selects. Masks of known value become the positions of their true elements.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, is_array_like, plain
from fgrad.avals import Shape
from fgrad.config import config
from fgrad.errors import (
    ArgumentError,
    IndexOutOfRangeError,
    IndexTypeError,
    NonConcreteBooleanIndexError,
)
from fgrad.numpy._support import nested
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import shape_of
from fgrad.primitives.index_kernels import Mode, out_of_range
from fgrad.primitives.indexing import Gather
from fgrad.primitives.shape import StaticIndex, index_shape, reshape
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown

ndarray = np.ndarray


class Mask:
    """A boolean index of known value."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


@dataclass
class Selection:
    """The normal form of an index expression.

    ``static`` is complete and in bounds, as `StaticIndex` takes it; ``indices`` are integer
    values for ``axes`` of what that selects, in the form that `Gather` takes. There are none
    where the expression is static. ``keeps_all`` says that the static step only adds axes,
    ``distinct`` that no element is selected twice.
    """

    static: tuple[Any, ...]
    axes: tuple[int, ...]
    indices: list[Any]
    place: int
    keeps_all: bool
    distinct: bool


def getitem(x: Any, index: Any) -> Any:
    """``x[index]`` by NumPy's rules, of an inside value.

    Linear in x; where an index repeats, cotangents add up. An index out of range raises at once
    where it is known, and when the compiled function runs otherwise.

    Raises
    ------
    IndexOutOfRangeError
        If an index is out of range, or a mask does not have the shape of what it selects from.
    IndexTypeError
        If something cannot be an index, such as a float, or a slice has a bound of unknown value.
    NonConcreteBooleanIndexError
        If the value of a mask is unknown.
    """
    if type(x) is ndarray and not has_tracer(index):
        try:
            answer = x[index]
        except (IndexError, TypeError, ValueError):
            # The general path takes what NumPy does not, and says what is wrong with the rest.
            pass
        else:
            if isinstance(answer, ndarray):
                answer.setflags(False)  # type: ignore[call-arg]
                return answer[()] if not answer.ndim else answer
            return answer
    shape = shape_of(x)
    if type(index) is int and shape and -shape[0] <= index < shape[0]:
        rest = [slice(0, n, 1) for n in shape[1:]]
        return StaticIndex((index % shape[0], *rest))(x)
    if config.index_out_of_range == "jax":
        return gathered(x, parse(index, shape, check=False, fold=True), "clip")
    selection = parse(index, shape, check=isinstance(x, Tracer))
    return gathered(x, selection, "raise")


def gathered(x: Any, selection: Selection, mode: Mode, fill: Any = None) -> Any:
    """The elements that a normal form selects."""
    x = static_part(x, selection)
    if not selection.axes:
        return x
    return Gather(selection.axes, mode, fill, selection.place)(x, *selection.indices)


def static_part(x: Any, selection: Selection) -> Any:
    """What the static step selects."""
    if selection.keeps_all:
        return reshape(x, index_shape(selection.static, shape_of(x)))
    return StaticIndex(selection.static)(x)


def has_tracer(index: Any) -> bool:
    """Whether an index expression holds a traced value, lists aside."""
    if isinstance(index, tuple):
        return any([has_tracer(item) for item in index])
    if type(index) is slice:
        return (
            isinstance(index.start, Tracer)
            or isinstance(index.stop, Tracer)
            or isinstance(index.step, Tracer)
        )
    return isinstance(index, Tracer)


def parse(
    index: Any, shape: Shape, check: bool = True, fold: bool = False, wrap: bool = True
) -> Selection:
    """The normal form of an index expression for an array of this shape.

    Parameters
    ----------
    index : object
        The expression.
    shape : tuple of int
    check : bool
        Whether index arrays of known value are held against the shape here. An integer always is,
        unless `fold` is true.
    fold : bool
        Take integers for index arrays where others are, or where they are out of range.
    wrap : bool
        Whether negative integers are in range.
    """
    items = [_item(item) for item in (index if isinstance(index, tuple) else (index,))]
    items = _expanded(items, shape)
    fold_all = fold and any([isinstance(i, (Mask, Tracer, ndarray)) for i in items])
    static: list[Any] = []
    axes: list[int] = []
    indices: list[Any] = []
    blocks: list[int] = []
    keeps_all = distinct = True
    in_block = False
    axis = rest = 0

    def index_by(array: Any) -> None:
        axes.append(rest + len(axes))
        indices.append(array)

    for item in items:
        is_index = not (item is None or item is Ellipsis or isinstance(item, slice))
        if is_index and not in_block:
            blocks.append(rest)
        in_block = is_index
        if item is Ellipsis:
            continue
        if item is None:
            static.append(None)
            rest += 1
        elif isinstance(item, slice):
            window = _window(item, shape[axis])
            keeps_all = keeps_all and window == slice(0, shape[axis], 1)
            static.append(window)
            axis, rest = axis + 1, rest + 1
        elif isinstance(item, Mask):
            mask = item.array
            _check_mask(mask, axis, shape)
            static.extend([slice(0, n, 1) for n in mask.shape] if mask.ndim else [None])
            for found in mask.nonzero() if mask.ndim else [np.zeros(int(mask), np.intp)]:
                index_by(found)
            axis += mask.ndim
        elif type(item) is int and not (
            fold_all or (fold and not (-shape[axis] if wrap else 0) <= item < shape[axis])
        ):
            static.append(_checked_integer(item, axis, shape))
            keeps_all = False
            axis += 1
        else:
            if check and not isinstance(item, Tracer):
                check_range(item, axis, shape)
            static.append(slice(0, shape[axis], 1))
            index_by(item)
            distinct = distinct and not any([n != 1 for n in shape_of(item)])
            axis += 1
    if len(indices) > 1:
        _check_broadcast(indices)
    # Index arrays apart from one another put their axes first.
    place = blocks[0] if len(blocks) == 1 else 0
    return Selection(tuple(static), tuple(axes), indices, place, keeps_all, distinct)


def _window(item: slice, size: int) -> slice:
    """A slice with non-negative bounds; None stands for the stop before the first element."""
    start, stop, step = item.indices(size)
    if not len(range(start, stop, step)):
        return slice(0, 0, 1)
    return slice(start, None if stop < 0 else stop, step)


def _checked_integer(position: int, axis: int, shape: Shape) -> int:
    size = shape[axis]
    if not -size <= position < size:
        raise IndexOutOfRangeError(
            f"index {position} is out of range for axis {axis} with size {size}, in an array of shape {shape}, "
            f"at {here()}"
        )
    return position % size


def check_range(index: Any, axis: int, shape: Shape) -> None:
    """Refuse an index of known value that the axis does not have."""
    index = np.asarray(index)
    if index.size and not (-shape[axis] <= index.min() and index.max() < shape[axis]):
        raise out_of_range([index], [axis], shape)


def _check_broadcast(indices: Sequence[Any]) -> None:
    shapes = [shape_of(i) for i in indices]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise IndexOutOfRangeError(
            f"the index arrays have shapes {listed}, which cannot be broadcast together ({here()})"
        ) from None


def _check_mask(mask: Any, axis: int, shape: Shape) -> None:
    covered = shape[axis : axis + mask.ndim]
    if mask.shape != covered:
        raise IndexOutOfRangeError(
            f"a boolean mask of shape {mask.shape} indexes axes of sizes {covered}, in an array of shape "
            f"{shape}; a mask has the shape of what it selects from ({here()})"
        )


def _expanded(items: Sequence[Any], shape: Shape) -> list[Any]:
    """The items with slices for each axis that the ellipsis, or the missing end, stands for."""
    ellipses = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise IndexTypeError(
            f"an index can have one Ellipsis (...), got {len(ellipses)} ({here()})"
        )
    consumed = sum([_consumed(item) for item in items])
    missing = len(shape) - consumed
    if missing < 0:
        raise IndexOutOfRangeError(
            f"too many indices: {consumed} axes are indexed of an array with {len(shape)}, of shape {shape} "
            f"({here()})"
        )
    whole = [slice(None)] * missing
    if not ellipses:
        return [*items, *whole]
    position = ellipses[0]
    # The ellipsis stays: even standing for no axis, it keeps index arrays apart.
    return [*items[: position + 1], *whole, *items[position + 1 :]]


def _consumed(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.array.ndim if isinstance(item, Mask) else 1


def _item(item: Any) -> Any:
    """One item as None, Ellipsis, a slice of integers, an int, a Mask, or an integer value."""
    kind = type(item)
    if kind is int or item is None or item is Ellipsis:
        return item
    if kind is slice:
        return _slice(item)
    if kind is bool:
        return Mask(np.asarray(item))
    if kind is Array:
        item = plain(item)
        kind = type(item)
        if kind is bool or kind is int:
            return _item(item)
    if isinstance(item, (list, tuple)):
        item = nested(item, "an index")
        if isinstance(item, ndarray) and not item.size and item.dtype.kind == "f":
            # An empty list has no type of its own.
            item = item.astype(np.intp)
    elif not isinstance(item, (str, bytes)) and not is_array_like(item):
        if hasattr(kind, "__index__"):
            return operator.index(item)
        if hasattr(kind, "__array__"):
            item = np.asarray(item)
    if isinstance(item, (Tracer, ndarray, np.generic)):
        return _array_item(item)
    raise IndexTypeError(
        f"{item!r} of type {kind.__name__} cannot be an index; use integers, slices, None, ..., integer arrays "
        f"or boolean masks ({here()})"
    )


def _array_item(item: Any) -> Any:
    dtype_kind = dtypes.kind_of(item.dtype)
    if dtype_kind == "b":
        known = concrete(item) if isinstance(item, Tracer) else item
        if known is None:
            raise NonConcreteBooleanIndexError(
                "a boolean mask whose value is unknown cannot be an index, since the shape of the result "
                f"depends on it: {describe_unknown(item)} ({here()}); use fnp.where(mask, x, y), or "
                "x.at[mask].set(...), or positions from fnp.nonzero(mask, size=...)"
            )
        return Mask(np.asarray(known))
    if dtype_kind not in "iu":
        raise IndexTypeError(
            f"an array of dtype {item.dtype} cannot be an index; convert it to integers first, as in "
            f"i.astype(int) ({here()})"
        )
    if item.dtype in dtypes.NARROW:
        item = convert(item, dtypes.canonical(dtypes.INT64))
    if isinstance(item, Tracer):
        return item
    return item.view(ndarray) if isinstance(item, ndarray) and item.ndim else int(item)


def _slice(item: slice) -> slice:
    bounds = [_bound(b) for b in (item.start, item.stop, item.step)]
    if bounds[2] == 0:
        raise ArgumentError(f"the step of a slice cannot be zero ({here()})")
    return slice(*bounds)


def _bound(bound: Any) -> int | None:
    if bound is None or type(bound) is int:
        return bound
    if isinstance(bound, Tracer):
        known = concrete(bound)
        if known is None:
            raise IndexTypeError(
                "the bounds of a slice must be known while tracing, since they give the result its shape, but "
                f"one is {describe_unknown(bound)} ({here()}); use fgrad.lax.dynamic_slice(x, starts, sizes) "
                "for a window of fixed size, or fnp.where"
            )
        bound = known
    try:
        return operator.index(bound)
    except TypeError:
        raise IndexTypeError(
            f"a slice has the bound {bound!r}; give integers or None ({here()})"
        ) from None
