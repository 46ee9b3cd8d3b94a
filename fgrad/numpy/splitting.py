"""Splitting arrays into pieces."""

from __future__ import annotations

import itertools
from typing import Any

from fgrad.array import Array, wrap
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis, operand, static_int
from fgrad.numpy.reordering import along
from fgrad.primitives.families import shape_of
from fgrad.primitives.shape import static_index


def _pieces(x: Any, sections: Any, axis: int, even: bool, name: str) -> list[Any]:
    size = shape_of(x)[axis]
    if isinstance(sections, (list, tuple)) or (hasattr(sections, "ndim") and sections.ndim):
        cuts = [static_int(i, f"{name}: an index") for i in sections]
        edges = [0, *cuts, size]
    else:
        count = static_int(sections, f"{name}: indices_or_sections")
        if count <= 0:
            raise ArgumentError(f"{name}: cannot make {count} pieces; give a positive number")
        if even and size % count:
            raise ShapeError(
                f"{name}: axis {axis} of shape {shape_of(x)} has {size} elements, which do not make {count} "
                "equal pieces; use fnp.array_split for unequal ones"
            )
        short, longer = divmod(size, count)
        edges = [0]
        for i in range(count):
            edges.append(edges[-1] + short + (i < longer))
    return [
        wrap(static_index(x, along(axis, slice(start, stop))))
        for start, stop in itertools.pairwise(edges)
    ]


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Split an array into equal pieces, or before given positions.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        The number of pieces, or where to cut.
    axis : int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the axis cannot be divided evenly.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.tolist() for piece in fnp.split(fnp.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    x = operand(ary, "split")
    position = normal_axis(axis, len(shape_of(x)), "split")
    return _pieces(x, indices_or_sections, position, True, "split")


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Split an array into pieces whose sizes differ by at most one, or before given positions.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        The number of pieces, or where to cut.
    axis : int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.tolist() for piece in fnp.array_split(fnp.arange(3), 2)]
    [[0, 1], [2]]
    """
    x = operand(ary, "array_split")
    position = normal_axis(axis, len(shape_of(x)), "array_split")
    return _pieces(x, indices_or_sections, position, False, "array_split")


def _split_along(ary: Any, sections: Any, axis: int, least: int, name: str) -> list[Any]:
    x = operand(ary, name)
    rank = len(shape_of(x))
    if rank < least:
        raise ShapeError(f"{name}: an array of shape {shape_of(x)} needs at least {least} axes")
    return _pieces(x, sections, min(axis, rank - 1), True, name)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split an array along the first axis.

    Parameters
    ----------
    ary : array_like
        With at least two axes.
    indices_or_sections : int or sequence of int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.shape for piece in fnp.vsplit(fnp.ones((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    return _split_along(ary, indices_or_sections, 0, 2, "vsplit")


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split an array along the second axis, or along the only one.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.shape for piece in fnp.hsplit(fnp.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_along(ary, indices_or_sections, 1, 1, "hsplit")


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Split an array along the third axis.

    Parameters
    ----------
    ary : array_like
        With at least three axes.
    indices_or_sections : int or sequence of int

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [piece.shape for piece in fnp.dsplit(fnp.ones((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return _split_along(ary, indices_or_sections, 2, 3, "dsplit")


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The arrays that lie along an axis.

    Parameters
    ----------
    x : array_like
    axis : int

    Returns
    -------
    tuple of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [row.tolist() for row in fnp.unstack(fnp.eye(2))]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    inside = operand(x, "unstack")
    shape = shape_of(inside)
    if not shape:
        raise ShapeError("unstack: a number has no axis to take apart")
    position = normal_axis(axis, len(shape), "unstack")
    return tuple(wrap(static_index(inside, along(position, i))) for i in range(shape[position]))
