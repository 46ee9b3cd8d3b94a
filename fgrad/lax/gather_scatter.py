"""Gathering and scattering blocks at computed positions, under the names of ``jax.lax``.

Blocks are brought to elements: along each axis on which blocks are placed, an integer array says where
each element of each block lies, as for `fgrad.primitives.indexing.Gather`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad.array import Array
from fgrad.avals import Shape, aval_of
from fgrad.dtypes import INT64, canonical
from fgrad.errors import ArgumentError, AxisError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, shape_of, static_int, static_shape, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.numpy.at import IndexRef, fill_constant
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import broadcast_to, neg, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.scatter import (
    ScatterAdd,
    ScatterMax,
    ScatterMin,
    ScatterMultiply,
    ScatterSet,
)
from fgrad.primitives.shape import iota, static_index, transpose

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "gather",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]

# More than the size of any axis, and far from where 64-bit integers wrap around.
_FAR = 1 << 62


class GatherScatterMode(enum.Enum):
    """What happens to a block that sticks out of the array."""

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of this name; None is FILL_OR_DROP.

        Raises
        ------
        ArgumentError
            If there is no such mode.
        """
        return GatherScatterMode.FILL_OR_DROP if s is None else _mode(s, "GatherScatterMode")


_MODES = {
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "fill_or_drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
}


def _mode(mode: Any, name: str) -> GatherScatterMode:
    text = str(getattr(mode, "name", mode)).lower()
    if text not in _MODES:
        raise ArgumentError(
            f"{name}: mode={mode!r} is not a mode; give 'clip', 'fill', 'drop' or 'promise_in_bounds'"
        )
    return _MODES[text]


class GatherDimensionNumbers(NamedTuple):
    """Which axes of the operands and the result of `gather` are which.

    Attributes
    ----------
    offset_dims : tuple of int
        The axes of the result that run through a block; the others run through the blocks.
    collapsed_slice_dims : tuple of int
        The axes of the operand that the result lacks: blocks have size 1 along them.
    start_index_map : tuple of int
        For each entry of an index vector, which is the last axis of the indices, the axis of the operand that
        it is a position on.
    operand_batching_dims, start_indices_batching_dims : tuple of int
        Axes of the operand, and of the indices, that run along with each other.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of the operands of a scatter are which.

    Attributes
    ----------
    update_window_dims : tuple of int
        The axes of the updates that run through a block; the others run through the blocks.
    inserted_window_dims : tuple of int
        The axes of the operand that the updates lack: blocks have size 1 along them.
    scatter_dims_to_operand_dims : tuple of int
        For each entry of an index vector, which is the last axis of the indices, the axis of the operand that
        it is a position on.
    operand_batching_dims, scatter_indices_batching_dims : tuple of int
        Axes of the operand, and of the indices, that run along with each other.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


class _Blocks:
    """Blocks of an array: the index of their elements, and where the axes of a block go."""

    def __init__(
        self,
        name: str,
        shape: Shape,
        starts: Any,
        sizes: Shape,
        axes: Sequence[int],
        batching: Sequence[tuple[int, int]],
        dropped: Sequence[int],
        mode: GatherScatterMode,
    ) -> None:
        self.mode = mode
        self.batch = shape_of(starts)[:-1]
        paired = [axis for axis, _ in batching]
        kept = [axis for axis in range(len(shape)) if axis not in dropped and axis not in paired]
        #: Along these axes of the array, blocks are placed.
        self.placed = tuple(
            axis
            for axis, n in enumerate(shape)
            if axis in axes or axis not in kept or sizes[axis] != n
        )
        inner = [axis for axis in self.placed if axis in kept]
        before = (slice(None),) * len(self.batch)
        first = {axis: static_index(starts, (*before, k)) for k, axis in enumerate(axes)}
        self._bring_inside(first, shape, sizes)
        rank = len(self.batch) + len(inner)
        self.indices = []
        for axis in self.placed:
            pair = dict(batching).get(axis)
            if pair is not None:
                lined = [1] * rank
                lined[pair] = self.batch[pair]
                self.indices.append(reshape(iota(self.batch[pair]), tuple(lined)))
                continue
            index: Any = 0
            if axis in kept:
                place = len(self.batch) + inner.index(axis)
                index = reshape(iota(sizes[axis]), (sizes[axis], *(1,) * (rank - place - 1)))
            if axis in first:
                start = reshape(first[axis], (*self.batch, *(1,) * len(inner)))
                index = start if axis not in kept else p.add(start, index)
            self.indices.append(index)
        if self.indices:
            whole = (*self.batch, *[sizes[axis] for axis in inner])
            self.indices[0] = broadcast_to(self.indices[0], whole)
        rest = [axis for axis in kept if axis not in inner]
        #: The axes of a block in the order in which the primitives have them, by their position in a block.
        self.order = [kept.index(axis) for axis in (*inner, *rest)]
        self.block = tuple([sizes[axis] for axis in kept])
        self.native = (*self.batch, *[self.block[k] for k in self.order])

    def _bring_inside(self, first: dict[int, Any], shape: Shape, sizes: Shape) -> None:
        if self.mode is GatherScatterMode.PROMISE_IN_BOUNDS or not first:
            return
        inside = None
        for axis, start in first.items():
            last = shape[axis] - sizes[axis]
            if self.mode is GatherScatterMode.FILL_OR_DROP:
                fits = p.logical_and(p.greater_equal(start, 0), p.less_equal(start, last))
                inside = fits if inside is None else p.logical_and(inside, fits)
            first[axis] = p.minimum(p.maximum(start, 0), last)
        if inside is not None:
            # One axis puts the block outside: then none of its elements exists.
            axis = next(iter(first))
            first[axis] = p.select(inside, first[axis], shape[axis])

    @property
    def primitive_mode(self) -> Any:
        return "fill" if self.mode is GatherScatterMode.FILL_OR_DROP else "promise_in_bounds"


def _starts(indices: Any, name: str) -> Any:
    found = _operand(indices, name, "the indices")
    aval = aval_of(found)
    if aval.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: the indices have dtype {aval.dtype}, expected integers; convert them with .astype(int)"
        )
    if not aval.shape:
        raise ShapeError(
            f"{name}: the indices have no axes; give an array whose last axis is an index vector, as in "
            "indices[..., None]"
        )
    if aval.dtype == np.dtype(np.uint64):
        found = p.minimum(found, aval.dtype.type(_FAR))
    return p.convert(found, canonical(INT64))


def _axes(name: str, field: str, given: Any, ndim: int, ordered: bool) -> tuple[int, ...]:
    axes = tuple(static_int(axis, f"{name}: {field}") for axis in given)
    if len(set(axes)) != len(axes) or any(not 0 <= axis < ndim for axis in axes):
        raise AxisError(
            f"{name}: {field} {axes} must be distinct axes from 0 to {ndim - 1}"
            if ndim
            else f"{name}: {field} {axes} must be empty, since there are no axes"
        )
    if ordered and list(axes) != sorted(axes):
        raise AxisError(f"{name}: {field} {axes} must be ascending")
    return axes


def _batching(
    name: str, shape: Shape, index_shape: Shape, given: Any, paired: Any
) -> list[tuple[int, int]]:
    axes = _axes(name, "operand_batching_dims", given, len(shape), True)
    others = _axes(name, "the batching axes of the indices", paired, len(index_shape) - 1, False)
    if len(axes) != len(others):
        raise ArgumentError(
            f"{name}: {len(axes)} operand_batching_dims for {len(others)} batching axes of the indices; they go in "
            "pairs"
        )
    for axis, other in zip(axes, others, strict=True):
        if shape[axis] != index_shape[other]:
            raise ShapeError(
                f"{name}: batching axis {axis} of the operand has size {shape[axis]}, its partner {other} of the "
                f"indices {index_shape[other]}"
            )
    return list(zip(axes, others, strict=True))


def _checked_vector(name: str, field: str, axes: Sequence[int], index_shape: Shape) -> None:
    if len(axes) != index_shape[-1]:
        raise ShapeError(
            f"{name}: {field} {tuple(axes)} names {len(axes)} axes, but an index vector, the last axis of the "
            f"indices of shape {index_shape}, has {index_shape[-1]} entries"
        )


def _disjoint(name: str, *named: tuple[str, Sequence[int]]) -> None:
    seen: dict[int, str] = {}
    for field, axes in named:
        for axis in axes:
            if axis in seen:
                raise AxisError(f"{name}: axis {axis} is in {seen[axis]} and in {field}")
            seen[axis] = field


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Array:
    """Blocks of an array at computed positions. Indexing, ``x[i]``, is the simple form.

    Parameters
    ----------
    operand : array_like
    start_indices : array_like of int
        Index vectors along the last axis, one for each block: its first element. Negative numbers do not
        count from the end.
    dimension_numbers : GatherDimensionNumbers
        Which axes are which.
    slice_sizes : sequence of int
        The shape of a block, one number for each axis of the operand.
    unique_indices, indices_are_sorted : bool
        Accepted; of no effect.
    mode : GatherScatterMode or str, optional
        For blocks that stick out: "clip", the default, moves them inside; "fill" gives `fill_value` for all of
        the block; "promise_in_bounds" says that there are none, and may raise.
    fill_value : scalar, optional
        By default NaN, the least signed integer, the greatest unsigned one, or True.

    Returns
    -------
    Array
        Differentiable with respect to the operand.

    Raises
    ------
    ShapeError, AxisError, ArgumentError, DTypeError
        If shapes, axes and sizes do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> lax.gather(np.arange(6.0).reshape(3, 2), np.array([[2], [0]]), rows, (1, 2))
    Array([[4., 5.],
           [0., 1.]], dtype=float64)
    """
    name = "gather"
    x, starts = _operand(operand, name, "operand"), _starts(start_indices, name)
    shape, index_shape = shape_of(x), shape_of(starts)
    sizes = static_shape(tuple(slice_sizes), f"{name}: slice_sizes")
    numbers = dimension_numbers
    chosen = GatherScatterMode.CLIP if mode is None else _mode(mode, name)
    if len(sizes) != len(shape):
        raise ArgumentError(
            f"{name}: slice_sizes {sizes} must have one number for each of {len(shape)} axes"
        )
    for axis, (size, n) in enumerate(zip(sizes, shape, strict=True)):
        if size > n:
            raise ShapeError(
                f"{name}: slice_sizes {sizes} do not fit into shape {shape}: axis {axis}"
            )
    batching = _batching(
        name,
        shape,
        index_shape,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )
    paired = [axis for axis, _ in batching]
    collapsed = _axes(name, "collapsed_slice_dims", numbers.collapsed_slice_dims, len(shape), True)
    axes = _axes(name, "start_index_map", numbers.start_index_map, len(shape), False)
    _disjoint(name, ("collapsed_slice_dims", collapsed), ("operand_batching_dims", paired))
    _disjoint(name, ("start_index_map", axes), ("operand_batching_dims", paired))
    _checked_vector(name, "start_index_map", axes, index_shape)
    for axis in (*collapsed, *paired):
        if sizes[axis] != 1:
            raise ShapeError(
                f"{name}: axis {axis} is collapsed or batched, so that its entry in slice_sizes {sizes} must be 1"
            )
    count = len(shape) - len(collapsed) - len(paired)
    rank = len(index_shape) - 1 + count
    offsets = _axes(name, "offset_dims", numbers.offset_dims, rank, True)
    if len(offsets) != count:
        raise ArgumentError(
            f"{name}: offset_dims {offsets} must name {count} axes, as many as a block has that are not collapsed"
        )
    blocks = _Blocks(name, shape, starts, sizes, axes, batching, collapsed, chosen)
    found = _gathered(x, blocks, fill_constant(fill_value, aval_of(x).dtype, name))
    return wrap(_arranged(found, blocks, offsets))  # type: ignore[no-any-return]


def _gathered(x: Any, blocks: _Blocks, fill: Any) -> Any:
    if not blocks.placed:
        return broadcast_to(x, blocks.native)
    mode = blocks.primitive_mode
    return Gather(blocks.placed, mode, fill if mode == "fill" else None)(x, *blocks.indices)


def _arranged(found: Any, blocks: _Blocks, window: Sequence[int], inverse: bool = False) -> Any:
    """Axes from the order of the primitives to that of the result, or of updates back to the former."""
    batch = len(blocks.batch)
    rank = batch + len(blocks.order)
    outer = [axis for axis in range(rank) if axis not in window]
    # For each axis in the order of the primitives, the axis of the result.
    targets = [*outer, *[window[k] for k in blocks.order]]
    order = targets if inverse else [targets.index(axis) for axis in range(rank)]
    return transpose(found, order)


# ---- scattering ----------------------------------------------------------------------------------


def _scattered_blocks(
    name: str,
    x: Any,
    indices: Any,
    update_shape: Shape,
    numbers: ScatterDimensionNumbers,
    mode: Any,
) -> tuple[_Blocks, tuple[int, ...]]:
    shape, starts = shape_of(x), _starts(indices, name)
    index_shape = shape_of(starts)
    chosen = GatherScatterMode.FILL_OR_DROP if mode is None else _mode(mode, name)
    batching = _batching(
        name,
        shape,
        index_shape,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
    )
    paired = [axis for axis, _ in batching]
    inserted = _axes(name, "inserted_window_dims", numbers.inserted_window_dims, len(shape), True)
    axes = _axes(
        name,
        "scatter_dims_to_operand_dims",
        numbers.scatter_dims_to_operand_dims,
        len(shape),
        False,
    )
    _disjoint(name, ("inserted_window_dims", inserted), ("operand_batching_dims", paired))
    _disjoint(name, ("scatter_dims_to_operand_dims", axes), ("operand_batching_dims", paired))
    _checked_vector(name, "scatter_dims_to_operand_dims", axes, index_shape)
    window = _axes(name, "update_window_dims", numbers.update_window_dims, len(update_shape), True)
    kept = [axis for axis in range(len(shape)) if axis not in inserted and axis not in paired]
    if len(window) != len(kept):
        raise ArgumentError(
            f"{name}: update_window_dims {window} must name {len(kept)} axes, as many as a block has that are not "
            "inserted"
        )
    outer = tuple([n for axis, n in enumerate(update_shape) if axis not in window])
    if outer != index_shape[:-1]:
        raise ShapeError(
            f"{name}: updates of shape {update_shape} have blocks along axes of shape {outer}, but the indices of "
            f"shape {index_shape} ask for {index_shape[:-1]}"
        )
    sizes = [1] * len(shape)
    for axis, place in zip(kept, window, strict=True):
        sizes[axis] = update_shape[place]
        if sizes[axis] > shape[axis]:
            raise ShapeError(
                f"{name}: blocks of size {sizes[axis]} do not fit into axis {axis} of shape {shape}"
            )
    blocks = _Blocks(name, shape, starts, tuple(sizes), axes, batching, inserted, chosen)
    return blocks, window


def _scattered(
    name: str,
    primitive: Any,
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    numbers: ScatterDimensionNumbers,
    unique_indices: bool,
    mode: Any,
    prepare: Callable[[Any], Any] | None = None,
) -> Array:
    x, new = _operand(operand, name, "operand"), _operand(updates, name, "updates")
    own, given = aval_of(x), aval_of(new)
    if own.dtype != given.dtype and not given.weak and not own.weak:
        raise DTypeError(
            f"{name}: the updates have dtype {given.dtype}, the array {own.dtype}; convert one"
        )
    dtype = given.dtype if own.weak and not given.weak else own.dtype
    x, new = p.convert(x, dtype), p.convert(new, dtype)
    blocks, window = _scattered_blocks(name, x, scatter_indices, given.shape, numbers, mode)
    new = _arranged(new if prepare is None else prepare(new), blocks, window, inverse=True)
    if blocks.placed:
        put = primitive(blocks.placed, blocks.primitive_mode, 0, bool(unique_indices))
        return wrap(put(x, new, *blocks.indices))  # type: ignore[no-any-return]
    # Each block is all of the array: they lie along a new axis of size one.
    only = broadcast_to(0, blocks.batch) if blocks.batch else p.convert(0, canonical(INT64))
    only = p.convert(only, canonical(INT64))
    put = primitive((0,), "promise_in_bounds", 0, bool(unique_indices))
    answer = put(reshape(x, (1, *own.shape)), new, only)
    return wrap(reshape(answer, own.shape))  # type: ignore[no-any-return]


def _scatter(
    name: str, primitive: Any, summary: str, repeats: str, example: str, prepare: Any = None
) -> Any:
    def function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Array:
        return _scattered(
            name,
            primitive,
            operand,
            scatter_indices,
            updates,
            dimension_numbers,
            unique_indices,
            mode,
            prepare,
        )

    function.__name__ = function.__qualname__ = name
    function.__module__ = "fgrad.lax"
    function.__doc__ = f"""{summary} ``x.at[i]`` has the simple form.

    Parameters
    ----------
    operand : array_like
    scatter_indices : array_like of int
        Index vectors along the last axis, one for each block: its first element. Negative numbers do not
        count from the end.
    updates : array_like
        The blocks, of the dtype of the operand.
    dimension_numbers : ScatterDimensionNumbers
        Which axes are which.
    indices_are_sorted : bool
        Accepted; of no effect.
    unique_indices : bool
        A promise that no element is given twice.
    mode : GatherScatterMode or str, optional
        For blocks that stick out: "drop", the default, leaves them out; "clip" moves them inside;
        "promise_in_bounds" says that there are none, and may raise.

    Returns
    -------
    Array
        {repeats} Differentiable with respect to operand and updates.

    Raises
    ------
    ShapeError, AxisError, ArgumentError, DTypeError
        If shapes, axes and dtypes do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.{name}(np.full(3, 2.0), np.array([[1], [1]]), np.array([3.0, 4.0]), elements)
    Array({example}, dtype=float64)
    """
    return function


scatter = _scatter(
    "scatter",
    ScatterSet,
    "An array with blocks at computed positions replaced.",
    "Where elements are given twice, the last one counts.",
    "[2., 4., 2.]",
)
scatter_add = _scatter(
    "scatter_add",
    ScatterAdd,
    "An array with blocks added at computed positions.",
    "Where elements are given twice, both are added.",
    "[2., 9., 2.]",
)
scatter_sub = _scatter(
    "scatter_sub",
    ScatterAdd,
    "An array with blocks subtracted at computed positions.",
    "Where elements are given twice, both are subtracted.",
    "[ 2., -5.,  2.]",
    neg,
)
scatter_mul = _scatter(
    "scatter_mul",
    ScatterMultiply,
    "An array multiplied by blocks at computed positions.",
    "Where elements are given twice, both are factors.",
    "[ 2., 24.,  2.]",
)
scatter_min = _scatter(
    "scatter_min",
    ScatterMin,
    "The least of an array and blocks at computed positions.",
    "Ties share the slope evenly.",
    "[2., 2., 2.]",
)
scatter_max = _scatter(
    "scatter_max",
    ScatterMax,
    "The greatest of an array and blocks at computed positions.",
    "Ties share the slope evenly.",
    "[2., 4., 2.]",
)


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """An array with a function applied to elements at computed positions.

    Parameters
    ----------
    operand : array_like
    scatter_indices : array_like of int
        Index vectors along the last axis, one for each block.
    func : callable
        A function of single elements.
    dimension_numbers : ScatterDimensionNumbers
        Which axes are which.
    update_shape : sequence of int
        The shape that updates would have.
    indices_are_sorted : bool
        Accepted; of no effect.
    unique_indices : bool
        A promise that no element is given twice.
    mode : GatherScatterMode or str, optional
        As for `scatter`.

    Returns
    -------
    Array
        Where elements are given twice, the function is applied as often. Differentiable as `func` is.

    Raises
    ------
    ArgumentError
        If it is unknown while tracing whether an index repeats, and `unique_indices` is false.
    ShapeError, AxisError, DTypeError
        If shapes and axes do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_apply(np.arange(3.0), np.array([[2]]), np.square, elements, update_shape=(1,))
    Array([0., 1., 4.], dtype=float64)
    """
    name = "scatter_apply"
    x = _operand(operand, name, "operand")
    shape = shape_of(x)
    sizes = static_shape(tuple(update_shape), f"{name}: update_shape")
    blocks, _ = _scattered_blocks(name, x, scatter_indices, sizes, dimension_numbers, mode)
    total = math.prod(shape)
    numbers = reshape(iota(total), shape)
    places = reshape(_gathered(numbers, blocks, total), (math.prod(sizes),))
    flat = IndexRef(wrap(reshape(x, (total,))), wrap(places))
    answer = flat.apply(func, unique_indices=unique_indices, mode="drop")
    return wrap(reshape(_operand(answer, name), shape))  # type: ignore[no-any-return]


def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """The elements at integer positions along some axes, which become the first axis of the result.

    Parameters
    ----------
    src : array_like
    idxs : sequence of array_like of int
        For each of the axes the positions, all of one length, counted modulo the size of the axis.
    axes : sequence of int

    Returns
    -------
    Array
        Of shape ``(length, *other axes of src)``. Differentiable with respect to `src`.

    Raises
    ------
    AxisError, ArgumentError, ShapeError, DTypeError
        If axes and indices do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.index_take(np.arange(6.0).reshape(2, 3), [np.array([0, 2])], (1,))
    Array([[0., 3.],
           [2., 5.]], dtype=float64)
    """
    name = "index_take"
    x = _operand(src, name, "src")
    listed = list(idxs) if isinstance(idxs, (list, tuple)) else [idxs[k] for k in range(len(idxs))]
    indices = [_operand(i, name, "an index") for i in listed]
    chosen = _axes(
        name, "axes", [a % max(1, len(shape_of(x))) for a in axes], len(shape_of(x)), False
    )
    if len(indices) != len(chosen) or not chosen:
        raise ArgumentError(
            f"{name}: {len(indices)} index arrays for axes {chosen}; give one for each, and one at least"
        )
    for index in indices:
        aval = aval_of(index)
        if aval.dtype.kind not in "iu" or len(aval.shape) != 1:
            raise DTypeError(
                f"{name}: an index has dtype {aval.dtype} and shape {aval.shape}; give vectors of integers"
            )
    return wrap(Gather(chosen, "wrap")(x, *indices))  # type: ignore[no-any-return]
