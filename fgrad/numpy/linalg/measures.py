"""Numbers that measure vectors and matrices: norms, determinants, condition, rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axes, normal_axis, operand
from fgrad.numpy.linalg._operands import matrix, square_matrix, static_float
from fgrad.primitives.determinant import Det, Slogdet
from fgrad.primitives.elementwise import (
    abs_,
    cast_to_float,
    convert,
    div,
    equal,
    greater,
    isnan,
    logical_and,
    logical_not,
    mul,
    not_equal,
    power,
    select,
)
from fgrad.primitives.factorizations import SingularValues
from fgrad.primitives.families import Full, Sum, shape_of
from fgrad.primitives.linalg import real_dtype, rows
from fgrad.primitives.norms import EuclideanNorm
from fgrad.primitives.reduction import Any_, Max, Min, keep_axes, kept_shape
from fgrad.primitives.shape import static_index, transpose
from fgrad.primitives.solve import Inv
from fgrad.primitives.spectral import Eigvalsh
from fgrad.tracing import derivative_rules

_DET, _SLOGDET = Det(), Slogdet()


class SlogdetResult(NamedTuple):
    """What `slogdet` returns: the sign of a determinant, and the logarithm of its magnitude."""

    sign: Array
    logabsdet: Array


# ---- norms ---------------------------------------------------------------------------------------


def norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Norms of vectors and of matrices.

    Parameters
    ----------
    x : array_like
    ord : number or str, optional
        For vectors: 2 (default), inf (largest magnitude), -inf (smallest), 0 (how many are not
        zero), or any p, for ``sum(abs(x)**p)**(1/p)``. For matrices: 'fro' (default), 'nuc' (sum of
        the singular values), 2 and -2 (largest and smallest singular value), 1 and -1 (largest and
        smallest sum of magnitudes in a column), inf and -inf (in a row).
    axis : int or (int, int), optional
        The axis of the vectors, or those of the rows and the columns of the matrices. By default
        `x` is one vector or one matrix, or any number of axes if `ord` is not given either.
    keepdims : bool
        Whether reduced axes stay, with size one.

    Returns
    -------
    Array
        Differentiable in both modes. At the origin, where norms have a kink, the gradient is zero,
        so that squares of norms have the right gradient there. Ties of a largest or smallest
        magnitude share the slope.

    Raises
    ------
    ArgumentError
        If `ord` is not a norm of vectors or of matrices.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> float(fnp.linalg.norm(fnp.array([3.0, 4.0])))
    5.0
    >>> fgrad.grad(fnp.linalg.norm)(fnp.array([3.0, 4.0]))
    Array([0.6, 0.8], dtype=float64)
    """
    inside = cast_to_float(operand(x, "norm", "x"))
    shape = shape_of(inside)
    rank = len(shape)
    if axis is None:
        axes = tuple(range(rank))
        if ord is None:
            answer = _euclidean(inside, axes)
            return wrap(keep_axes(answer, axes, shape) if keepdims else answer)  # type: ignore[no-any-return]
        if rank not in (1, 2):
            raise ShapeError(
                f"norm: x has shape {shape}; with ord={ord!r}, give a vector, a matrix, or axis"
            )
    elif isinstance(axis, (tuple, list)):
        axes = tuple(normal_axis(a, rank, "norm") for a in axis)
        if len(axes) not in (1, 2) or len(set(axes)) != len(axes):
            raise AxisError(f"norm: axis={axis} are not one or two different axes")
    else:
        axes = (normal_axis(axis, rank, "norm"),)
    if len(axes) == 1:
        answer = _vector_norm(inside, ord, axes, "norm")
    else:
        answer = _matrix_norm(inside, ord, axes[0], axes[1], "norm")
    return wrap(keep_axes(answer, axes, shape) if keepdims else answer)  # type: ignore[no-any-return]


def vector_norm(
    x: ArrayLike, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Array:
    """Norms of vectors.

    Parameters
    ----------
    x : array_like
    axis : int or sequence of int, optional
        Over which to take the norm; all by default.
    keepdims : bool
        Whether reduced axes stay, with size one.
    ord : number
        As for `norm`.

    Returns
    -------
    Array
        Differentiable in both modes. At the origin the smooth norms have gradient zero, and those of
        order 1 and inf the slopes of ``abs`` there.

    Raises
    ------
    ArgumentError
        If `ord` is not a norm of vectors.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.linalg.vector_norm(fnp.array([3.0, 4.0]), ord=1))
    7.0
    """
    inside = cast_to_float(operand(x, "vector_norm", "x"))
    shape = shape_of(inside)
    axes = normal_axes(axis, len(shape), "vector_norm")
    answer = _vector_norm(inside, ord, axes, "vector_norm")
    return wrap(keep_axes(answer, axes, shape) if keepdims else answer)  # type: ignore[no-any-return]


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norms of matrices.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).
    keepdims : bool
        Whether the last two axes stay, with size one.
    ord : number or str
        As for `norm`.

    Returns
    -------
    Array
        Differentiable in both modes. At the origin the smooth norms have gradient zero, and those of
        order 1 and inf the slopes of ``abs`` there.

    Raises
    ------
    ArgumentError
        If `ord` is not a norm of matrices.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.linalg.matrix_norm(fnp.array([[3.0, 4.0]])))
    5.0
    """
    inside = cast_to_float(operand(x, "matrix_norm", "x"))
    shape = shape_of(inside)
    rank = len(shape)
    if rank < 2:
        raise ShapeError(f"matrix_norm: x has shape {shape}; give matrices in the last two axes")
    answer = _matrix_norm(inside, ord, rank - 2, rank - 1, "matrix_norm")
    axes = (rank - 2, rank - 1)
    return wrap(keep_axes(answer, axes, shape) if keepdims else answer)  # type: ignore[no-any-return]


def _euclidean(x: Any, axes: Sequence[int]) -> Any:
    return EuclideanNorm(tuple(axes))(x) if shape_of(x) else abs_(x)


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], name: str) -> Any:
    if ord is None or ord == 2:
        return _euclidean(x, axes)
    if isinstance(ord, str):
        raise ArgumentError(f"{name}: ord={ord!r} is not a norm of vectors; give a number")
    p = static_float(ord, f"{name}: ord")
    if p == 2:
        return _euclidean(x, axes)
    if p == 0:
        return Sum(axes)(convert(not_equal(x, 0.0), real_dtype(aval_of(x).dtype)))
    size = abs_(x)
    if p == math.inf:
        return _largest(size, axes)
    if p == -math.inf:
        return Min(axes)(size)
    if p == 1:
        return Sum(axes)(size)
    total = Sum(axes)(power(size, p))
    if p < 0:
        return power(total, 1.0 / p)
    # The root has an infinite slope at zero.
    origin = equal(total, 0.0)
    return select(origin, 0.0, power(select(origin, 1.0, total), 1.0 / p))


def _largest(x: Any, axes: tuple[int, ...]) -> Any:
    """The largest of magnitudes; 0 where there are none."""
    aval = aval_of(x)
    if all(aval.shape[axis] for axis in axes):
        return Max(axes)(x)
    return Full(kept_shape(aval.shape, axes), 0, aval.dtype)()


def _matrix_norm(x: Any, ord: Any, row: int, column: int, name: str) -> Any:
    if ord is None or (isinstance(ord, str) and ord in ("fro", "f")):
        return _euclidean(x, (row, column))
    if isinstance(ord, str) and ord == "nuc":
        s = _singular_values(x, row, column, name)
        return Sum((len(s.shape) - 1,))(s)
    p = None if isinstance(ord, str) else static_float(ord, f"{name}: ord")
    if p in (2, -2):
        s = _singular_values(x, row, column, name)
        if not s.shape[-1] and p == 2:
            return Full(s.shape[:-1], 0, s.dtype)()
        if not s.shape[-1]:
            raise ShapeError(f"{name}: x of shape {shape_of(x)} has no smallest singular value")
        place = 0 if p == 2 else s.shape[-1] - 1
        return static_index(s, (*(slice(None),) * (len(s.shape) - 1), place))
    if p not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(
            f"{name}: ord={ord!r} is not a norm of matrices; give 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    assert p is not None
    summed, other = (row, column) if abs(p) == 1 else (column, row)
    sums = Sum((summed,))(abs_(x))
    axis = other - (summed < other)
    return _largest(sums, (axis,)) if p > 0 else Min((axis,))(sums)


def _singular_values(x: Any, row: int, column: int, name: str) -> Any:
    rest = [axis for axis in range(len(shape_of(x))) if axis not in (row, column)]
    return SingularValues()(matrix(transpose(x, (*rest, row, column)), name, "x"))


# ---- determinants --------------------------------------------------------------------------------


def det(a: ArrayLike) -> Array:
    """Determinants.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).

    Returns
    -------
    Array
        The leading axes. Differentiable in both modes, to all orders, at singular matrices too.

    Raises
    ------
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> fgrad.grad(fnp.linalg.det)(fnp.array([[1.0, 2.0], [2.0, 4.0]]))
    Array([[ 4., -2.],
           [-2.,  1.]], dtype=float64)
    """
    return wrap(_DET(square_matrix(a, "det")))  # type: ignore[no-any-return]


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Signs of determinants, and logarithms of their magnitudes.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).
    method : {'lu', 'qr'}, optional
        Accepted for compatibility.

    Returns
    -------
    SlogdetResult
        ``(sign, logabsdet)``; for complex matrices the sign is a phase. For singular ones, 0 and
        -inf. Differentiable in both modes, to all orders; at singular matrices derivatives are NaN.

    Raises
    ------
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> sign, logabsdet = fnp.linalg.slogdet(-fnp.eye(3))
    >>> float(sign), float(logabsdet)
    (-1.0, 0.0)
    """
    if method not in (None, "lu", "qr"):
        raise ArgumentError(f"slogdet: method is {method!r}; give 'lu' or 'qr'")
    sign, logabsdet = _SLOGDET(square_matrix(a, "slogdet"))
    return SlogdetResult(wrap(sign), wrap(logabsdet))


# ---- condition and rank --------------------------------------------------------------------------


def cond(x: ArrayLike, p: Any = None) -> Array:
    """Condition numbers of matrices.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n); square unless `p` is 2 or -2.
    p : optional
        Of which norm, as for `norm`; 2 by default.

    Returns
    -------
    Array
        Infinite for singular matrices. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the matrices are empty, or not square where they must be.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.linalg.cond(fnp.array([[2.0, 0.0], [0.0, 1.0]])))
    2.0
    """
    inside = matrix(x, "cond", "x")
    shape = shape_of(inside)
    if not shape[-1] or not shape[-2]:
        raise ShapeError(f"cond: x has shape {shape}; empty matrices have no condition number")
    last = len(shape) - 2
    # Singular matrices are no fault here: they never warn.
    with derivative_rules():
        if p is None or (not isinstance(p, str) and p in (2, -2)):
            s = SingularValues()(inside)
            lead = (slice(None),) * last
            largest = static_index(s, (*lead, 0))
            smallest = static_index(s, (*lead, s.shape[-1] - 1))
            answer = div(smallest, largest) if p == -2 else div(largest, smallest)
        else:
            inside = square_matrix(wrap(inside), "cond", "x")
            inverse = Inv(False)(inside)
            sizes = [_matrix_norm(m, p, last, last + 1, "cond") for m in (inside, inverse)]
            answer = mul(*sizes)
        given = Any_((last, last + 1))(isnan(inside))
        return wrap(select(logical_and(isnan(answer), logical_not(given)), math.inf, answer))  # type: ignore[no-any-return]


def matrix_rank(
    A: ArrayLike,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Array:
    """How many singular values are not zero.

    Parameters
    ----------
    A : array_like
        Of shape (..., m, n), or with fewer axes: then the rank is 1 unless all elements are zero.
    tol : array_like, optional
        Singular values up to it count as zero; it broadcasts with the leading axes.
    hermitian : bool
        Whether the matrices are Hermitian, which is faster.
    rtol : array_like, optional
        The same as a fraction of the largest singular value; ``max(m, n)`` times the spacing of the
        dtype by default.

    Returns
    -------
    Array
        Integers, of the shape of the leading axes. They have no derivative.

    Raises
    ------
    ArgumentError
        If both `tol` and `rtol` are given.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> int(fnp.linalg.matrix_rank(fnp.array([[1.0, 2.0], [2.0, 4.0]])))
    1
    """
    if tol is not None and rtol is not None:
        raise ArgumentError("matrix_rank: tol and rtol are alternatives; give one of them")
    inside = cast_to_float(operand(A, "matrix_rank", "A"))
    shape = shape_of(inside)
    if len(shape) < 2:
        nonzero = Any_(tuple(range(len(shape))))(not_equal(inside, 0.0))
        return wrap(convert(nonzero, np.dtype(np.int64)))  # type: ignore[no-any-return]
    if hermitian:
        s = abs_(Eigvalsh()(square_matrix(wrap(inside), "matrix_rank", "A")))
    else:
        s = SingularValues()(matrix(wrap(inside), "matrix_rank", "A"))
    axis = len(s.shape) - 1
    if tol is not None:
        bound = _per_matrix(tol, "tol")
    else:
        largest = keep_axes(_largest(s, (axis,)), (axis,), s.shape)
        factor: Any = max(shape[-2:]) * float(np.finfo(s.dtype).eps)
        if rtol is not None:
            factor = _per_matrix(rtol, "rtol")
        bound = mul(largest, factor)
    return wrap(Sum((axis,))(greater(s, bound)))  # type: ignore[no-any-return]


def _per_matrix(x: ArrayLike, argument: str) -> Any:
    inside = operand(x, "matrix_rank", argument)
    return rows(inside) if shape_of(inside) else inside
