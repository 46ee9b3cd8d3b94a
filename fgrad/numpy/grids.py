"""Coordinates on grids, and the objects that are indexed to make arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, snapshot, wrap
from fgrad.avals import Aval, Shape, aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    operand,
    static_shape,
)
from fgrad.numpy.creation import imported
from fgrad.numpy.joining import joined
from fgrad.numpy.ranges import arange, linspace
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import (
    add,
    broadcast_to,
    creation_is_staged,
    reshape,
    shape_of,
    zeros_of,
)
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, iota, transpose


def counted(shape: Shape, axis: int, dtype: np.dtype[Any], sparse: bool = False) -> Any:
    """The positions along one axis of a shape, as an inside value."""
    return _laid(iota(shape[axis], dtype), axis, shape, sparse)


def _laid(numbers: Any, axis: int, shape: Shape, sparse: bool) -> Any:
    """One number per position along an axis of a shape."""
    line = reshape(numbers, tuple(n if i == axis else 1 for i, n in enumerate(shape)))
    return line if sparse else broadcast_to(line, shape)


def _stacked(grids: Sequence[Any], shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Inside values of one shape along a new first axis."""
    if not grids:
        return np.zeros((0, *shape), dtype)
    return Concatenate(0)(*[reshape(convert(grid, dtype), (1, *shape)) for grid in grids])


def indices(dimensions: Sequence[int], dtype: DTypeLike = None, sparse: bool = False) -> Any:
    """The index of each element of a shape, axis by axis.

    Parameters
    ----------
    dimensions : sequence of int
        The shape.
    dtype : dtype-like, optional
        None means int64.
    sparse : bool
        Whether to keep each axis apart, with the others of size one.

    Returns
    -------
    Array, or tuple of Array with ``sparse=True``

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> rows, columns = fnp.indices((2, 2))
    >>> columns
    Array([[0, 1],
           [0, 1]], dtype=int64)
    """
    shape = static_shape(tuple(dimensions), "indices")
    wanted = given_dtype(dtype, "indices") or dtypes.canonical(dtypes.INT64)
    staged = creation_is_staged(shape)
    lines = [counted(shape, axis, wanted, staged or bool(sparse)) for axis in range(len(shape))]
    if sparse:
        return tuple(wrap(line) for line in lines)
    if staged:
        # Added to a creation that a compiled function makes, they are made by it too.
        lines = [add(zeros_of(Aval(shape, wanted)), line) for line in lines]
    return wrap(snapshot(_stacked(lines, shape, wanted)))


def fromfunction(
    function: Callable[..., Any], shape: Sequence[int], *, dtype: DTypeLike = float, **kwargs: Any
) -> Any:
    """Call a function with the index arrays of a shape.

    Parameters
    ----------
    function : callable
        Takes one array per axis, as `indices` makes them.
    shape : sequence of int
    dtype : dtype-like
        Of the index arrays.
    **kwargs
        Passed to the function.

    Returns
    -------
    object
        What the function returns.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fromfunction(lambda i, j: i + 2.0 * j, (2, 2))
    Array([[0., 2.],
           [1., 3.]], dtype=float64)
    """
    sizes = static_shape(tuple(shape), "fromfunction")
    wanted = dtypes.as_dtype(dtype, "fromfunction: dtype")
    return function(*[wrap(counted(sizes, axis, wanted)) for axis in range(len(sizes))], **kwargs)


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Array]:
    """Coordinate arrays of the grid that lines of coordinates span.

    Parameters
    ----------
    *xi : array_like
        Coordinates along each axis, with one axis or none.
    copy : bool
        Accepted for compatibility.
    sparse : bool
        Whether to keep each axis apart, with the others of size one.
    indexing : {'xy', 'ij'}
        Whether the first coordinate runs along the second axis, as in a picture, or along the first.

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x, y = fnp.meshgrid(fnp.arange(2), fnp.arange(3))
    >>> x
    Array([[0, 1],
           [0, 1],
           [0, 1]], dtype=int64)
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing is {indexing!r}; give 'xy' or 'ij'")
    lines = []
    for i, x in enumerate(xi):
        line = operand(x, "meshgrid")
        if len(shape_of(line)) > 1:
            raise ShapeError(
                f"meshgrid: coordinates {i} have shape {shape_of(line)}; give arrays with one axis"
            )
        lines.append(reshape(line, (aval_of(line).size,)))
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = [1, 0]
    shape = tuple(aval_of(lines[i]).size for i in order)
    return [wrap(_laid(line, order[i], shape, bool(sparse))) for i, line in enumerate(lines)]


# ---- objects to index ----------------------------------------------------------------------------


def _is_count(step: Any) -> bool:
    """Whether the step of a slice is a number of points rather than a distance."""
    return isinstance(step, complex)


def _points(item: slice) -> Any:
    """The numbers that a slice between brackets stands for, as an inside value."""
    start = 0 if item.start is None else item.start
    if _is_count(item.step):
        return operand(linspace(start, item.stop, int(abs(item.step))), "a slice")
    if item.stop is None:
        raise ArgumentError(f"a slice of numbers needs a stop, but {item} has none")
    return operand(arange(start, item.stop, 1 if item.step is None else item.step), "a slice")


class _Grid:
    """The grid that slices of numbers span.

    A step that is a complex number, as in ``0:1:5j``, is a number of points, the last included.
    """

    def __init__(self, name: str, sparse: bool) -> None:
        self._name = name
        self._sparse = sparse

    def __repr__(self) -> str:
        return f"fgrad.numpy.{self._name}"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return wrap(_points(key))
        lines = [_points(item) for item in key]
        shape = tuple(aval_of(line).size for line in lines)
        dtype = common_dtype([aval_of(line) for line in lines])
        grids = [
            convert(_laid(line, axis, shape, self._sparse), dtype)
            for axis, line in enumerate(lines)
        ]
        if self._sparse:
            return tuple(wrap(grid) for grid in grids)
        return wrap(_stacked(grids, shape, dtype))


class _Joiner:
    """Arrays, numbers and slices of numbers, written between brackets, joined into one array.

    A first item such as ``'1,2,0'`` gives the axis to join along, the least number of axes, and where
    the axes of items with fewer ones go.
    """

    def __init__(self, name: str, axis: int, ndmin: int, place: int) -> None:
        self._name = name
        self._defaults = axis, ndmin, place

    def __repr__(self) -> str:
        return f"fgrad.numpy.{self._name}"

    def __getitem__(self, key: Any) -> Array:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = self._defaults
        if items and isinstance(items[0], str):
            axis, ndmin, place = self._directive(items.pop(0))
        parts = [self._part(item, ndmin, place) for item in items]
        if not parts:
            raise ArgumentError(f"{self._name}: there is nothing to join")
        dtype = common_dtype([aval for _, aval in parts])
        return wrap(joined([x for x, _ in parts], axis, dtype, self._name))  # type: ignore[no-any-return]

    def _directive(self, text: str) -> tuple[int, int, int]:
        axis, ndmin, place = self._defaults
        try:
            numbers = [int(word) for word in text.split(",")]
        except ValueError:
            raise ArgumentError(
                f"{self._name}: {text!r} is not a directive; give one to three integers, as in '0,2'"
            ) from None
        axis, ndmin, place = (*numbers, *(axis, ndmin, place)[len(numbers) :])[:3]
        return axis, ndmin, place

    def _part(self, item: Any, ndmin: int, place: int) -> tuple[Any, Aval]:
        """An item with at least `ndmin` axes, and the type with which it takes part in promotion."""
        x = _points(item) if isinstance(item, slice) else imported(item, self._name)
        aval = aval_of(x)
        rank = len(aval.shape)
        missing = max(ndmin, 1) - rank
        if missing <= 0:
            return x, aval
        x = reshape(x, (1,) * missing + aval.shape)
        if place == -1 or not rank:
            return x, aval
        order = list(range(missing + rank))
        if isinstance(item, slice):
            order[-1], order[place] = order[place], order[-1]
        else:
            # The own axes begin at `place`; counted from the end, they end there.
            first = place if place >= 0 else place + missing + 1
            order = order[:first] + order[missing:] + order[first:missing]
        return transpose(x, order), aval


class _Expression:
    """Index expressions as values: ``x[s_[1:, 0]]`` is ``x[1:, 0]``."""

    def __init__(self, name: str, always_tuple: bool) -> None:
        self._name = name
        self._always_tuple = always_tuple

    def __repr__(self) -> str:
        return f"fgrad.numpy.{self._name}"

    def __getitem__(self, key: Any) -> Any:
        return (key,) if self._always_tuple and not isinstance(key, tuple) else key


mgrid = _Grid("mgrid", sparse=False)
ogrid = _Grid("ogrid", sparse=True)
r_ = _Joiner("r_", axis=0, ndmin=1, place=-1)
c_ = _Joiner("c_", axis=-1, ndmin=2, place=0)
s_ = _Expression("s_", always_tuple=False)
index_exp = _Expression("index_exp", always_tuple=True)
