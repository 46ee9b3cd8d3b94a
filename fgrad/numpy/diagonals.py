"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import AxisError, ShapeError
from fgrad.numpy._direct import called
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axis,
    operand,
    refuse_out,
    static_int,
    static_shape,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Sum, reshape, shape_of
from fgrad.primitives.shape import Embed, static_index, transpose
from fgrad.primitives.triangles import Tri


def _extent(rows: int, columns: int, offset: int) -> tuple[int, int]:
    """How many elements a diagonal has, and the flat position of the first."""
    if offset >= 0:
        return max(min(rows, columns - offset), 0), offset
    return max(min(rows + offset, columns), 0), -offset * columns


def last_diagonal(x: Any, offset: int = 0) -> Any:
    """The diagonals of the matrices in the last two axes of an inside value, as its last axis."""
    *batch, rows, columns = shape_of(x)
    count, first = _extent(rows, columns, offset)
    flat = reshape(x, (*batch, rows * columns))
    step = columns + 1
    line = slice(first, first + (count - 1) * step + 1, step) if count else slice(0, 0)
    return static_index(flat, (*(slice(None),) * len(batch), line))


def from_diagonal(x: Any, offset: int = 0) -> Any:
    """Square matrices with the last axis of an inside value on a diagonal, and zeros beside it."""
    *batch, count = shape_of(x)
    size = count + abs(offset)
    _, first = _extent(size, size, offset)
    step = size + 1
    line = slice(first, first + (count - 1) * step + 1, step) if count else slice(0, 0, 1)
    whole = tuple(slice(0, n, 1) for n in batch)
    flat = Embed((*whole, line), (*batch, size * size))(x)
    return reshape(flat, (*batch, size, size))


def diag(v: ArrayLike, k: int = 0) -> Array:
    """The diagonal of a matrix, or a matrix with a given diagonal.

    Parameters
    ----------
    v : array_like
        With one axis it becomes a diagonal; with two its diagonal is taken.
    k : int
        Which diagonal: positive ones lie above the main diagonal.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If v does not have one or two axes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.diag(fnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int64)
    """
    x, offset = operand(v, "diag"), static_int(k, "diag: k")
    shape = shape_of(x)
    if len(shape) == 1:
        return wrap(from_diagonal(x, offset))  # type: ignore[no-any-return]
    if len(shape) != 2:
        raise ShapeError(
            f"diag: v has shape {shape}; give a vector or a matrix, or use fnp.diagonal for more axes"
        )
    return wrap(last_diagonal(x, offset))  # type: ignore[no-any-return]


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with all elements of an array on a diagonal.

    Parameters
    ----------
    v : array_like
    k : int
        Which diagonal: positive ones lie above the main diagonal.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.diagflat([[1, 2]])
    Array([[1, 0],
           [0, 2]], dtype=int64)
    """
    x = operand(v, "diagflat")
    flat = reshape(x, (aval_of(x).size,))
    return wrap(from_diagonal(flat, static_int(k, "diagflat: k")))  # type: ignore[no-any-return]


def diagonal_of(x: Any, offset: Any, axis1: Any, axis2: Any, name: str) -> Any:
    """The diagonals over two axes of an inside value, as its last axis."""
    rank = len(shape_of(x))
    if rank < 2:
        raise ShapeError(
            f"{name}: an array of shape {shape_of(x)} has no diagonal; it needs two axes"
        )
    first, second = normal_axis(axis1, rank, name), normal_axis(axis2, rank, name)
    if first == second:
        raise AxisError(f"{name}: axis1 and axis2 are both axis {first}; give two axes")
    rest = [axis for axis in range(rank) if axis not in (first, second)]
    return last_diagonal(
        transpose(x, (*rest, first, second)), static_int(offset, f"{name}: offset")
    )


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of matrices.

    Parameters
    ----------
    a : array_like
        With at least two axes.
    offset : int
        Which diagonal: positive ones lie above the main diagonal.
    axis1, axis2 : int
        The rows and the columns of the matrices.

    Returns
    -------
    Array
        The other axes, then the diagonal. Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.diagonal(fnp.arange(9).reshape(3, 3), offset=1)
    Array([1, 5], dtype=int64)
    """
    return wrap(diagonal_of(operand(a, "diagonal"), offset, axis1, axis2, "diagonal"))  # type: ignore[no-any-return]


def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike = None,
    out: None = None,
) -> Array:
    """Sums of the diagonals of matrices.

    Parameters
    ----------
    a : array_like
        With at least two axes.
    offset : int
        Which diagonal: positive ones lie above the main diagonal.
    axis1, axis2 : int
        The rows and the columns of the matrices.
    dtype : dtype-like, optional
        In which to sum.

    Returns
    -------
    Array
        The other axes. Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.trace(fnp.eye(3)))
    3.0
    """
    if dtype is out is None and type(offset) is int and type(axis1) is int and type(axis2) is int:
        answer = called(np.ndarray.trace, a, offset, axis1, axis2)
        if answer is not None:
            return answer
    refuse_out(out, "trace")
    line = diagonal_of(operand(a, "trace"), offset, axis1, axis2, "trace")
    wanted = given_dtype(dtype, "trace")
    if wanted is not None:
        line = p.convert(line, wanted)
    total = Sum((len(shape_of(line)) - 1,))(line)
    return wrap(total if wanted is None else p.convert(total, wanted))  # type: ignore[no-any-return]


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None) -> Array:
    """A matrix of ones on and below a diagonal, and zeros above.

    Parameters
    ----------
    N, M : int
        Rows and columns; M is N where it is not given.
    k : int
        Which diagonal: positive ones lie above the main diagonal.
    dtype : dtype-like, optional
        None means float64.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.tri(2, dtype=int)
    Array([[1, 0],
           [1, 1]], dtype=int64)
    """
    rows = static_shape(N, "tri")[0]
    columns = rows if M is None else static_shape(M, "tri")[0]
    wanted = given_dtype(dtype, "tri") or dtypes.canonical(dtypes.FLOAT64)
    return wrap(p.convert(Tri(rows, columns, static_int(k, "tri: k"))(), wanted))  # type: ignore[no-any-return]


def _triangle(m: Any, k: Any, lower: bool, name: str) -> Any:
    x, offset = operand(m, name), static_int(k, f"{name}: k")
    shape = shape_of(x)
    if not shape:
        raise ShapeError(f"{name}: a number has no triangle; give an array with two axes")
    rows = shape[-2] if len(shape) > 1 else shape[0]
    mask = Tri(rows, shape[-1], offset if lower else offset - 1)()
    zero = dtypes.python_type(aval_of(x).dtype)(0)
    return wrap(p.select(mask, x, zero) if lower else p.select(mask, zero, x))


def tril(m: ArrayLike, k: int = 0) -> Array:
    """Matrices with zeros above a diagonal.

    Parameters
    ----------
    m : array_like
        Matrices in the last two axes.
    k : int
        Which diagonal: positive ones lie above the main diagonal.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.tril([[1, 2], [3, 4]])
    Array([[1, 0],
           [3, 4]], dtype=int64)
    """
    return _triangle(m, k, True, "tril")  # type: ignore[no-any-return]


def triu(m: ArrayLike, k: int = 0) -> Array:
    """Matrices with zeros below a diagonal.

    Parameters
    ----------
    m : array_like
        Matrices in the last two axes.
    k : int
        Which diagonal: positive ones lie above the main diagonal.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.triu([[1, 2], [3, 4]])
    Array([[1, 2],
           [0, 4]], dtype=int64)
    """
    return _triangle(m, k, False, "triu")  # type: ignore[no-any-return]
