"""Polynomials given by their coefficients, the highest power first: values, roots, fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Aval, aval_of, broadcast_shapes
from fgrad.errors import ArgumentError, ConcretizationTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, operand, static_int
from fgrad.numpy.linalg.decompositions import eigvals
from fgrad.numpy.linalg.systems import inv, lstsq
from fgrad.numpy.reordering import rolled
from fgrad.primitives import elementwise
from fgrad.primitives.contraction import matmul
from fgrad.primitives.convolution import convolve
from fgrad.primitives.families import Sum, reshape, shape_of, zeros_of
from fgrad.primitives.indexing import Gather
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.reduction import Any_, Argmax
from fgrad.primitives.scatter import StableOrder
from fgrad.primitives.shape import Concatenate, Eye, iota, static_index, transpose
from fgrad.source_info import here, warn
from fgrad.tracing import Tracer, concrete, describe_unknown


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
    shape = shape_of(coefficients)
    if not shape:
        raise ShapeError("polyval: the coefficients are a number; give an array with an axis")
    dtype = common_dtype([aval_of(coefficients), aval_of(at)])
    own = aval_of(at)
    total = zeros_of(Aval(broadcast_shapes("polyval", own.shape, shape[1:]), dtype))
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
    shape = shape_of(numbers)
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


def poly(seq_of_zeros: ArrayLike) -> Array:
    """Coefficients of the polynomial with these roots, or of the characteristic one of a matrix.

    Parameters
    ----------
    seq_of_zeros : array_like
        Roots, along one axis; or a square matrix.

    Returns
    -------
    Array
        With one coefficient more than roots; the first is 1. Real for real roots and for real matrices, else
        complex. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If `seq_of_zeros` is neither one axis of roots nor a square matrix.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.poly(fnp.array([1.0, 2.0]))
    Array([ 1., -3.,  2.], dtype=float64)
    """
    zeros = elementwise.cast_to_float(operand(seq_of_zeros, "poly"))
    aval = aval_of(zeros)
    if aval.dtype == np.float16:
        zeros = elementwise.convert(zeros, dtypes.canonical(dtypes.FLOAT64))
    real = aval.dtype.kind != "c"
    shape = aval.shape or (1,)
    if len(shape) == 2 and shape[0] == shape[1] and shape[0]:
        zeros = operand(eigvals(wrap(zeros)), "poly")
    elif len(shape) == 1:
        zeros = reshape(zeros, shape)
    else:
        raise ShapeError(
            f"poly: seq_of_zeros has shape {shape}; give roots along one axis, or a square matrix"
        )
    dtype = aval_of(zeros).dtype
    one = np.ones(1, dtype)
    one.setflags(write=False)
    product: Any = one
    for i in range(shape[0]):
        root = static_index(zeros, (slice(i, i + 1),))
        product = convolve(product, Concatenate(0)(one, elementwise.neg(root)))
    # Complex eigenvalues of a real matrix come in pairs.
    return wrap(elementwise.real(product) if real else product)  # type: ignore[no-any-return]


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Roots of a polynomial.

    Parameters
    ----------
    p : array_like
        The coefficients along one axis, the highest power first.
    strip_zeros : bool
        Whether leading zeros are left out, which makes fewer roots; the values must be known then. With
        False, there is a NaN for each leading zero.

    Returns
    -------
    Array
        Complex, in no order. Differentiable in both modes where no root is repeated.

    Raises
    ------
    ConcretizationTypeError
        If `strip_zeros` is true and the coefficients are unknown while tracing.
    ShapeError
        If the coefficients do not have one axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.sort(fnp.roots(fnp.array([1.0, -3.0, 2.0])).real).round(6)
    Array([1., 2.], dtype=float64)
    """
    coefficients = elementwise.cast_to_float(operand(p, "roots"))
    shape = shape_of(coefficients) or (1,)
    if len(shape) != 1:
        raise ShapeError(f"roots: p has shape {shape}; give the coefficients along one axis")
    coefficients = reshape(coefficients, shape)
    if not strip_zeros:
        return wrap(_all_roots(coefficients))  # type: ignore[no-any-return]
    known = concrete(coefficients) if isinstance(coefficients, Tracer) else coefficients
    if known is None:
        raise ConcretizationTypeError(
            f"roots: how many roots there are depends on leading zeros of {describe_unknown(coefficients)}; "
            f"pass strip_zeros=False ({here()})"
        )
    (places,) = np.nonzero(known)
    if not places.size:
        return wrap(_companion_roots(static_index(coefficients, (slice(0, 1),))))  # type: ignore[no-any-return]
    inner = static_index(coefficients, (slice(int(places[0]), int(places[-1]) + 1),))
    found = _companion_roots(inner)
    trailing = shape[0] - 1 - int(places[-1])
    zeros = zeros_of(Aval((trailing,), aval_of(found).dtype))
    return wrap(Concatenate(0)(found, zeros) if trailing else found)  # type: ignore[no-any-return]


def _companion_roots(coefficients: Any) -> Any:
    """The roots of a polynomial whose leading coefficient is not zero."""
    aval = aval_of(coefficients)
    degree = aval.shape[0] - 1
    if degree < 1:
        return zeros_of(Aval((0,), np.result_type(aval.dtype, np.complex64)))
    rest = static_index(coefficients, (slice(1, None),))
    row = elementwise.neg(elementwise.div(rest, static_index(coefficients, (0,))))
    shifted = Eye(degree - 1, degree, 0, aval.dtype)()
    matrix = Concatenate(0)(reshape(row, (1, degree)), shifted)
    return operand(eigvals(wrap(matrix)), "roots")


def _all_roots(coefficients: Any) -> Any:
    """As many roots as the degree, NaN for each leading zero; the values need not be known."""
    count = shape_of(coefficients)[0]
    if count < 2:
        return _companion_roots(coefficients)
    filled = elementwise.not_equal(coefficients, 0)
    leading = elementwise.select(Any_((0,))(filled), Argmax(0)(filled), count)
    # Leading zeros go to the end, where each makes a root of zero; of all zeros, the first is a one.
    moved = rolled(coefficients, elementwise.neg(leading), 0)
    first = elementwise.equal(iota(count), 0)
    empty = elementwise.equal(leading, count)
    moved = elementwise.select(elementwise.logical_and(first, empty), 1.0, moved)
    found = _companion_roots(elementwise.convert(moved, aval_of(coefficients).dtype))
    magnitude = elementwise.abs_(found)
    order = StableOrder()(elementwise.neg(magnitude))
    found = Gather((0,), "promise_in_bounds", place=0)(found, order)
    valid = elementwise.less(iota(count - 1), elementwise.sub(count - 1, leading))
    return elementwise.select(valid, found, complex(np.nan, np.nan))


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """Polynomial of a degree that fits points best, by least squares.

    Parameters
    ----------
    x : array_like
        Where the points are, along one axis.
    y : array_like
        Their values, of shape (n,); or of shape (n, k) for k fits.
    deg : int
        The degree, known while tracing.
    rcond : float, optional
        Singular values up to `rcond` times the largest one count as zero; by default, n times the spacing of
        the dtype.
    full : bool
        Whether to return residuals, rank, singular values and `rcond` too.
    w : array_like, optional
        A weight for each residual, before it is squared.
    cov : bool or "unscaled"
        Whether to return the covariance of the coefficients too, scaled by the residuals or not.

    Returns
    -------
    Array, or a tuple with `full` or `cov`
        The coefficients, the highest power first. Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If the degree is negative, or the covariance is asked for with too few points.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.polyfit(fnp.array([0.0, 1.0, 2.0]), fnp.array([1.0, 3.0, 5.0]), 1).round(6)
    Array([2., 1.], dtype=float64)
    """
    places = elementwise.cast_to_float(operand(x, "polyfit", "x"))
    values = elementwise.cast_to_float(operand(y, "polyfit", "y"))
    order = static_int(deg, "polyfit: deg") + 1
    if order < 1:
        raise ArgumentError(f"polyfit: deg is {deg}; give a degree that is not negative")
    shapes = shape_of(places), shape_of(values)
    if len(shapes[0]) != 1 or not shapes[0][0]:
        raise ShapeError(
            f"polyfit: x has shape {shapes[0]}; give points along one axis, at least one"
        )
    if len(shapes[1]) not in (1, 2) or shapes[1][0] != shapes[0][0]:
        raise ShapeError(
            f"polyfit: y has shape {shapes[1]} for x of shape {shapes[0]}; give one value, or one row of values, "
            "for each point"
        )
    count = shapes[0][0]
    if rcond is None:
        rcond = count * float(np.finfo(aval_of(places).dtype).eps)
    left = operand(vander(wrap(places), order), "polyfit")
    right = values
    if w is not None:
        weights = elementwise.cast_to_float(operand(w, "polyfit", "w"))
        if shape_of(weights) != (count,):
            raise ShapeError(
                f"polyfit: w has shape {shape_of(weights)}; give one weight for each of {count} points"
            )
        column = reshape(weights, (count, 1))
        left = elementwise.mul(left, column)
        right = elementwise.mul(right, weights if len(shapes[1]) == 1 else column)
    scale = elementwise.sqrt(Sum((0,))(elementwise.square(left)))
    left = elementwise.div(left, scale)
    found, residuals, rank, singular = lstsq(wrap(left), wrap(right), rcond)
    divisor = scale if len(shapes[1]) == 1 else reshape(scale, (order, 1))
    fitted = wrap(elementwise.div(operand(found, "polyfit"), divisor))
    if full:
        return fitted, residuals, rank, singular, wrap(rcond)
    known = concrete(operand(rank, "polyfit"))
    if known is not None and known != order:
        warn("polyfit: the points do not determine all coefficients")
    if not cov:
        return fitted
    gram = matmul(transpose(left, (1, 0)), left)
    base = operand(inv(wrap(gram)), "polyfit")
    base = elementwise.div(base, reshape(scale, (order, 1)))
    base = elementwise.div(base, scale)
    if cov != "unscaled":
        if count <= order:
            raise ArgumentError(
                f"polyfit: the covariance of {order} coefficients needs more than {order} points, got {count}; "
                "pass cov='unscaled'"
            )
        factor = elementwise.div(operand(residuals, "polyfit"), float(count - order))
    else:
        factor = np.ones(1 if len(shapes[1]) == 1 else shapes[1][1])
    if len(shapes[1]) == 2:
        base = reshape(base, (order, order, 1))
    return fitted, wrap(elementwise.mul(base, factor))
