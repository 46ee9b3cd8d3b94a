"""Products of arrays under the names of ``jax.lax``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axis,
    operand,
    shape_of,
    wrap,
)
from fgrad.primitives import contraction
from fgrad.primitives.elementwise import convert
from fgrad.primitives.promotion import common_dtype

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]],
    tuple[Sequence[int], Sequence[int]],
]


def _axes(dimensions: Sequence[int], ndim: int, name: str) -> tuple[int, ...]:
    return tuple(normal_axis(d, ndim, name) for d in dimensions)


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Sum of products over paired axes.

    Parameters
    ----------
    lhs, rhs : array_like
    dimension_numbers : ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
        The axes summed over, pairwise, and those that run along in both.
    precision : object
        Accepted for compatibility: products have full precision.
    preferred_element_type : dtype-like, optional
        The dtype in which products are summed, and of the result.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        With the batch axes first, then the other axes of lhs, then those of rhs. Differentiable.

    Raises
    ------
    ShapeError, ArgumentError
        If sizes of paired axes differ, or the axes are not paired.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.dot_general(np.ones((5, 2, 3)), np.ones((5, 3)), (((2,), (1,)), ((0,), (0,)))).shape
    (5, 2)
    """
    x, y = operand(lhs, "dot_general"), operand(rhs, "dot_general")
    try:
        (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
        counts = len(x_contract), len(y_contract), len(x_batch), len(y_batch)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"dot_general: dimension_numbers is {dimension_numbers!r}, expected two pairs of axes, those to sum "
            "over and those to keep: ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)), as in "
            "(((1,), (0,)), ((), ())) for a product of matrices"
        ) from None
    if counts[0] != counts[1] or counts[2] != counts[3]:
        raise ArgumentError(
            f"dot_general: dimension_numbers {dimension_numbers} name axes that have no partner"
        )
    axes = [
        _axes(given, len(shape_of(v)), "dot_general: dimension_numbers")
        for v, given in ((x, x_contract), (y, y_contract), (x, x_batch), (y, y_batch))
    ]
    for first, second in ((axes[0], axes[2]), (axes[1], axes[3])):
        if len({*first, *second}) != len(first) + len(second):
            raise ArgumentError(
                f"dot_general: dimension_numbers {dimension_numbers} name an axis twice"
            )
    wanted = given_dtype(preferred_element_type, "dot_general")
    if wanted is not None:
        wide = common_dtype([aval_of(x), aval_of(y)])
        x, y = (convert(v, wanted if wanted.itemsize > wide.itemsize else wide) for v in (x, y))
    product = contraction.dot_general(x, y, *axes)
    return wrap(product if wanted is None else convert(product, wanted))  # type: ignore[no-any-return]


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Array:
    """Product of vectors and matrices; with `dimension_numbers`, as `dot_general`.

    Parameters
    ----------
    lhs, rhs : array_like
        Of one or two axes.
    dimension_numbers : tuple, optional
    precision, out_sharding : object
        Accepted for compatibility, without effect.
    preferred_element_type : dtype-like, optional
        The dtype in which products are summed, and of the result.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> float(lax.dot(np.ones(3), np.ones(3)))
    3.0
    """
    x, y = operand(lhs, "dot"), operand(rhs, "dot")
    if dimension_numbers is None:
        ranks = len(shape_of(x)), len(shape_of(y))
        if not all(rank in (1, 2) for rank in ranks) or shape_of(x)[-1] != shape_of(y)[0]:
            raise ShapeError(
                f"dot: shapes {shape_of(x)} and {shape_of(y)} are not those of vectors or matrices that fit; "
                "use fnp.dot or lax.dot_general for others"
            )
        dimension_numbers = (((ranks[0] - 1,), (0,)), ((), ()))
    return dot_general(wrap(x), wrap(y), dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: Any = None) -> Array:
    """Matrix products over equal leading axes.

    Parameters
    ----------
    lhs, rhs : array_like
        With two axes or more; the leading ones are equal.
    precision : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.batch_matmul(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    x, y = operand(lhs, "batch_matmul"), operand(rhs, "batch_matmul")
    if len(shape_of(x)) < 2 or shape_of(x)[:-2] != shape_of(y)[:-2]:
        raise ShapeError(
            f"batch_matmul: shapes {shape_of(x)} and {shape_of(y)} must have two axes or more, the leading "
            "ones equal"
        )
    return wrap(contraction.matmul(x, y))  # type: ignore[no-any-return]
