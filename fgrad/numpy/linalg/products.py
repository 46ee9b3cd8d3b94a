"""Products, powers and diagonals of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy import diagonals, products
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    normal_axis,
    operand,
    refuse_out,
    static_int,
)
from fgrad.numpy.linalg._operands import square_matrix
from fgrad.numpy.manipulation import matrix_transpose
from fgrad.numpy.products import matmul, tensordot, vecdot
from fgrad.primitives.contraction import promoted
from fgrad.primitives.families import broadcast_to, reshape, shape_of
from fgrad.primitives.linalg import identity, product
from fgrad.primitives.solve import Inv

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """All products of an element of one vector and one of another.

    Parameters
    ----------
    x1, x2 : array_like
        Of shapes (m,) and (n,).

    Returns
    -------
    Array
        Of shape (m, n). Differentiable in both modes.

    Raises
    ------
    ShapeError
        If an argument is not a vector.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.outer(fnp.array([1, 2]), fnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int64)
    """
    left, right = operand(x1, "outer"), operand(x2, "outer")
    shapes = shape_of(left), shape_of(right)
    if len(shapes[0]) != 1 or len(shapes[1]) != 1:
        raise ShapeError(
            f"outer: the arguments have shapes {shapes[0]} and {shapes[1]}; give vectors, or use fnp.outer, "
            "which flattens"
        )
    return products.outer(wrap(left), wrap(right))


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Cross products of vectors with three components; the other axes broadcast.

    Parameters
    ----------
    x1, x2 : array_like
    axis : int
        The axis of the components, in the arguments and in the result.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If there are not three components.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.cross(fnp.array([1, 0, 0]), fnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int64)
    """
    left, right = operand(x1, "cross"), operand(x2, "cross")
    for x in (left, right):
        shape = shape_of(x)
        if shape[normal_axis(axis, len(shape), "cross")] != 3:
            raise ShapeError(
                f"cross: axis {axis} of shape {shape} does not have three components; for two, use fnp.cross"
            )
    return products.cross(wrap(left), wrap(right), axis=axis)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).
    offset : int
        Which diagonal: positive ones lie above the main diagonal.

    Returns
    -------
    Array
        The leading axes, then the diagonal. Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.diagonal(fnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int64)
    """
    return diagonals.diagonal(x, offset, axis1=-2, axis2=-1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Array:
    """Sums of the diagonals of matrices.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).
    offset : int
        Which diagonal: positive ones lie above the main diagonal.
    dtype : dtype-like, optional
        In which to sum.

    Returns
    -------
    Array
        The leading axes. Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> int(fnp.linalg.trace(fnp.array([[1, 2], [3, 4]])))
    5
    """
    return diagonals.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


def matrix_power(a: ArrayLike, n: int) -> Array:
    """Square matrices to an integer power.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, m).
    n : int
        The exponent; a negative one takes the inverse first.

    Returns
    -------
    Array
        Of the shape of `a`; integers stay integers if `n` is not negative. Differentiable in both
        modes.

    Raises
    ------
    LinAlgError
        If `n` is negative and a matrix is singular. Under `vmap`, the results of such an example are NaN.
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.matrix_power(fnp.array([[1, 1], [1, 0]]), 5)
    Array([[8, 5],
           [5, 3]], dtype=int64)
    """
    exponent = static_int(n, "matrix_power: n")
    if exponent < 0:
        base, exponent = Inv()(square_matrix(a, "matrix_power")), -exponent
    else:
        base = operand(a, "matrix_power", "a")
        shape = shape_of(base)
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ShapeError(
                f"matrix_power: a has shape {shape}; its last two axes must have one size"
            )
    aval = aval_of(base)
    if exponent == 0:
        return wrap(broadcast_to(identity(aval.shape[-1], aval.dtype), aval.shape))  # type: ignore[no-any-return]
    # The bits of the exponent, from the lowest: each squares once more.
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else product(result, base)
        exponent >>= 1
        if exponent:
            base = product(base, base)
    return wrap(result)  # type: ignore[no-any-return]


def multi_dot(arrays: Sequence[ArrayLike], *, precision: Any = None, out: None = None) -> Array:
    """The product of matrices, in the order that needs the fewest operations.

    Parameters
    ----------
    arrays : sequence of array_like
        Matrices. The first may be a vector, taken as a row, and the last one, taken as a column.
    precision
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If there are fewer than two arrays.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> a, b, c = fnp.ones((10, 3)), fnp.ones((3, 50)), fnp.ones(50)
    >>> fnp.linalg.multi_dot([a, b, c]).shape
    (10,)
    """
    refuse_out(out, "multi_dot")
    factors = [operand(x, "multi_dot") for x in arrays]
    if len(factors) < 2:
        raise ArgumentError(f"multi_dot: got {len(factors)} arrays; give at least two")
    shapes = [shape_of(x) for x in factors]
    last = len(shapes) - 1
    for i, shape in enumerate(shapes):
        if len(shape) != 2 and not (len(shape) == 1 and i in (0, last)):
            raise ShapeError(
                f"multi_dot: array {i} has shape {shape}; give matrices, and vectors as the first and the last "
                "array only"
            )
    factors = list(promoted("multi_dot", *factors))
    row, column = len(shapes[0]) == 1, len(shapes[-1]) == 1
    if row:
        factors[0] = reshape(factors[0], (1, *shapes[0]))
    if column:
        factors[-1] = reshape(factors[-1], (*shapes[-1], 1))
    for i in range(last):
        if factors[i].shape[-1] != factors[i + 1].shape[0]:
            raise ShapeError(
                f"multi_dot: arrays {i} and {i + 1} of shapes {shapes[i]} and {shapes[i + 1]} do not fit"
            )
    answer = product(*factors)
    shape = (() if row else answer.shape[:1]) + (() if column else answer.shape[1:])
    return wrap(reshape(answer, shape))  # type: ignore[no-any-return]
