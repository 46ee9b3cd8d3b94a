"""Covariances and correlations of variables."""

from __future__ import annotations

from typing import Any

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, DTypeLike, given_dtype, operand
from fgrad.numpy.diagonals import last_diagonal
from fgrad.numpy.joining import joined
from fgrad.primitives import elementwise as p
from fgrad.primitives.contraction import dot
from fgrad.primitives.families import Sum, reshape, shape_of
from fgrad.primitives.shape import transpose
from fgrad.tracing import Tracer


def _variables(x: Any, rowvar: bool, name: str) -> Any:
    """Variables as rows, observations as columns."""
    shape = shape_of(x)
    if len(shape) > 2:
        raise ShapeError(f"{name}: an array of shape {shape} has more than two axes")
    if len(shape) < 2:
        return reshape(x, (1, aval_of(x).size))
    return x if rowvar else transpose(x, (1, 0))


def _weights(given: Any, count: int, what: str) -> Any:
    weights = operand(given, "cov")
    shape = shape_of(weights)
    if shape != (count,):
        raise ShapeError(
            f"cov: {what} has shape {shape}; give one weight for each of {count} observations"
        )
    return weights


def _covariance(
    m: Any,
    y: Any,
    rowvar: bool,
    bias: bool,
    ddof: Any,
    fweights: Any,
    aweights: Any,
    dtype: Any,
    name: str,
) -> Any:
    x = _variables(operand(m, name), rowvar, name)
    if y is not None:
        more = _variables(operand(y, name), rowvar, name)
        if shape_of(more)[1] != shape_of(x)[1]:
            raise ShapeError(
                f"{name}: {shape_of(x)[1]} observations of the first variables, {shape_of(more)[1]} "
                "of the others"
            )
        x = joined([x, more], 0, None, name)
    wanted = given_dtype(dtype, name)
    x = p.cast_to_float(x if wanted is None else p.convert(x, wanted))
    count = shape_of(x)[1]
    degrees: Any = (0 if bias else 1) if ddof is None else ddof
    if int(degrees) != degrees:
        raise ArgumentError(f"{name}: ddof is {ddof}; give an integer")
    frequency = None if fweights is None else _weights(fweights, count, "fweights")
    if frequency is not None and aval_of(frequency).dtype.kind not in "iub":
        raise ArgumentError(f"{name}: fweights has dtype {aval_of(frequency).dtype}; give integers")
    reliability = None if aweights is None else _weights(aweights, count, "aweights")
    weights = frequency if reliability is None else reliability
    if frequency is not None and reliability is not None:
        weights = p.mul(frequency, reliability)
    if weights is None:
        total: Any = float(count)
        mean = p.div(Sum((1,))(x), total)
        factor = total - degrees
    else:
        weights = p.cast_to_float(weights)
        total = Sum((0,))(weights)
        mean = p.div(Sum((1,))(p.mul(x, weights)), total)
        factor = p.sub(total, float(degrees))
        if degrees and reliability is not None:
            squares = Sum((0,))(p.mul(weights, reliability))
            factor = p.sub(total, p.div(p.mul(float(degrees), squares), total))
    if not isinstance(factor, Tracer):
        # Without degrees of freedom left, the estimate is infinite or undefined, as in NumPy.
        factor = max(float(factor), 0.0)
    deviations = p.sub(x, reshape(mean, (*shape_of(mean), 1)))
    weighted = deviations if weights is None else p.mul(deviations, weights)
    products = dot(weighted, p.conj(transpose(deviations, (1, 0))))
    return p.div(products, factor) if aval_of(products).size else products


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DTypeLike = None,
) -> Array:
    """The matrix of covariances of variables.

    Parameters
    ----------
    m, y : array_like
        Variables in rows, observations in columns.
    rowvar : bool
        False says that variables are in columns.
    bias : bool
        Whether to divide by the number of observations, rather than by one less.
    ddof : int, optional
        What to subtract from the number of observations; it overrides `bias`.
    fweights : array_like of int, optional
        How often each observation occurred.
    aweights : array_like, optional
        How much each observation counts.
    dtype : dtype-like, optional
        The dtype to compute in; None means that of the variables, or float64.

    Returns
    -------
    Array
        Without axes for a single variable. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If there are more than two axes, or numbers of observations differ.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.cov(fnp.array([1.0, 2.0, 3.0])))
    1.0
    """
    return wrap(_squeezed(_covariance(m, y, rowvar, bias, ddof, fweights, aweights, dtype, "cov")))  # type: ignore[no-any-return]


def _squeezed(x: Any) -> Any:
    return reshape(x, tuple(n for n in shape_of(x) if n != 1))


def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike = None
) -> Array:
    """The matrix of correlation coefficients of variables.

    Parameters
    ----------
    x, y : array_like
        Variables in rows, observations in columns.
    rowvar : bool
        False says that variables are in columns.
    dtype : dtype-like, optional
        The dtype to compute in; None means that of the variables, or float64.

    Returns
    -------
    Array
        Without axes for a single variable. Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.corrcoef(fnp.array([1.0, 2.0]), fnp.array([2.0, 4.0]))
    Array([[1., 1.],
           [1., 1.]], dtype=float64)
    """
    matrix = _covariance(x, y, rowvar, False, None, None, None, dtype, "corrcoef")
    if aval_of(matrix).size == 1:
        return wrap(reshape(p.div(matrix, matrix), ()))  # type: ignore[no-any-return]
    deviations = p.sqrt(p.real(last_diagonal(matrix)))
    size = aval_of(deviations).size
    result = p.div(matrix, reshape(deviations, (size, 1)))
    result = p.div(result, reshape(deviations, (1, size)))
    return wrap(_limited(result))  # type: ignore[no-any-return]


def _limited(x: Any) -> Any:
    """Coefficients that rounding took outside of [-1, 1] brought back to it."""
    if aval_of(x).dtype.kind == "c":
        return p.complex_(_limited(p.real(x)), _limited(p.imag(x)))
    # A slope is lost only where rounding went over the limit.
    over = p.greater(p.abs_(x), 1.0)
    return p.select(over, p.sign(x), x)
