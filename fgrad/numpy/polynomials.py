"""Polynomials given by their coefficients, the highest power first."""

from __future__ import annotations

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import ShapeError
from fgrad.numpy._support import ArrayLike, operand, static_int
from fgrad.primitives import elementwise
from fgrad.primitives.families import common_dtype, reshape, zeros_of
from fgrad.primitives.shape import Concatenate, static_index


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """Values of a polynomial.

    Parameters
    ----------
    p : array_like
        The coefficients along the first axis, the highest power first.
    x : array_like
        Where to evaluate.
    unroll : int
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the coefficients have no axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.polyval(fnp.array([1.0, 0.0, 2.0]), 3.0))
    11.0
    """
    coefficients, at = operand(p, "polyval"), operand(x, "polyval")
    shape = aval_of(coefficients).shape
    if not shape:
        raise ShapeError("polyval: the coefficients are a number; give an array with an axis")
    dtype = common_dtype([aval_of(coefficients), aval_of(at)])
    own = aval_of(at)
    total = zeros_of(Aval(np.broadcast_shapes(own.shape, shape[1:]), dtype))
    for i in range(shape[0]):
        total = elementwise.add(elementwise.mul(total, at), static_index(coefficients, (i,)))
    return wrap(total)  # type: ignore[no-any-return]


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Powers of numbers, as the columns of a matrix.

    Parameters
    ----------
    x : array_like
        With one axis.
    N : int, optional
        How many columns; None means as many as rows.
    increasing : bool
        Whether powers increase from left to right.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If `x` does not have one axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.vander(fnp.array([2, 3]), 3)
    Array([[4, 2, 1],
           [9, 3, 1]], dtype=int64)
    """
    numbers = operand(x, "vander")
    shape = aval_of(numbers).shape
    if len(shape) != 1:
        raise ShapeError(f"vander: x has shape {shape}; give an array with one axis")
    count = shape[0] if N is None else static_int(N, "vander: N")
    dtype = dtypes.canonical(np.promote_types(aval_of(numbers).dtype, np.int64))
    numbers = elementwise.convert(numbers, dtype)
    powers = range(count) if increasing else range(count - 1, -1, -1)
    columns = [reshape(elementwise.IntegerPower(n)(numbers), (shape[0], 1)) for n in powers]
    if not columns:
        return wrap(zeros_of(Aval((shape[0], 0), dtype)))  # type: ignore[no-any-return]
    return wrap(Concatenate(1)(*columns))  # type: ignore[no-any-return]
