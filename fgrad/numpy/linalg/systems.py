"""Linear systems, inverses and least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis, operand, static_int
from fgrad.numpy.linalg._operands import floats, matrix, square_matrix, static_float
from fgrad.primitives.contraction import promoted
from fgrad.primitives.elementwise import convert, greater, mul, square, sub
from fgrad.primitives.factorizations import SingularValues
from fgrad.primitives.families import Full, Sum, reshape, shape_of
from fgrad.primitives.linalg import conjugate, matmul, real_dtype, real_part
from fgrad.primitives.shape import static_index, transpose
from fgrad.primitives.solve import Inv, Lstsq, Pinv, Solve
from fgrad.tracing import concrete

_INV, _SOLVE = Inv(), Solve()


def inv(a: ArrayLike) -> Array:
    """Inverses of square matrices.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).

    Returns
    -------
    Array
        Of the shape of `a`. Differentiable in both modes, to all orders.

    Raises
    ------
    LinAlgError
        If a matrix is singular. Under `vmap`, the results of such an example are NaN.
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.inv(fnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float64)
    """
    return wrap(_INV(square_matrix(a, "inv")))  # type: ignore[no-any-return]


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solutions x of ``a @ x = b``.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).
    b : array_like
        A vector of shape (n,), or matrices of shape (..., n, k); leading axes broadcast.

    Returns
    -------
    Array
        Of the shape of `b`, with the leading axes broadcast. Differentiable in both modes, to all
        orders: a large matrix is factored once, for the solution and all of its derivatives.

    Raises
    ------
    LinAlgError
        If a matrix is singular. Under `vmap`, the results of such an example are NaN.
    ShapeError
        If the matrices are not square, or `b` does not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.solve(fnp.array([[2.0, 0.0], [0.0, 4.0]]), fnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float64)
    """
    left, right = square_matrix(a, "solve"), floats(operand(b, "solve", "b"), "solve", "b")
    rank = np.ndim(right) if type(right) in dtypes.PYTHON_DTYPES else len(right.shape)
    if rank > 1:
        _check_sides(left, right)
        return wrap(_SOLVE(*_in_one_dtype("solve", left, right)))  # type: ignore[no-any-return]
    if not rank or right.shape[0] != left.shape[-1]:
        raise _misfit(left, right)
    side = reshape(right, (*right.shape, 1))
    x = _SOLVE(*_in_one_dtype("solve", left, side))
    return wrap(reshape(x, x.shape[:-1]))  # type: ignore[no-any-return]


def _check_sides(left: Any, right: Any) -> None:
    if right.shape[-2] != left.shape[-1]:
        raise _misfit(left, right)
    if len(left.shape) > 2 and len(right.shape) > 2:
        try:
            np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        except ValueError:
            raise ShapeError(
                f"solve: the leading axes of a of shape {left.shape} and b of shape {right.shape} cannot be "
                "broadcast together"
            ) from None


def _misfit(left: Any, right: Any) -> ShapeError:
    n = left.shape[-1]
    return ShapeError(
        f"solve: a of shape {left.shape} and b of shape {shape_of(right)} do not fit; give b the shape "
        f"({n},) or (..., {n}, k)"
    )


def _in_one_dtype(name: str, left: Any, right: Any) -> Any:
    return (left, right) if left.dtype == right.dtype else promoted(name, left, right)


def pinv(
    a: ArrayLike,
    rtol: float | None = None,
    hermitian: bool = False,
    *,
    rcond: float | None = None,
) -> Array:
    """Pseudo-inverses of matrices, after Moore and Penrose.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n).
    rtol : float, optional
        Singular values up to `rtol` times the largest one count as zero. By default, ``10 * max(m,
        n)`` times the spacing of the dtype.
    hermitian : bool
        Whether the matrices are Hermitian, which is faster; then their Hermitian part is used.
    rcond : float, optional
        Another name of `rtol`.

    Returns
    -------
    Array
        Of shape (..., n, m). Differentiable in both modes, to all orders. Where the rank is not
        full, derivatives are those among matrices of the same rank: elsewhere the pseudo-inverse
        jumps.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.pinv(fnp.array([[2.0, 0.0], [0.0, 0.0]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float64)
    """
    if rtol is not None and rcond is not None:
        raise ArgumentError("pinv: rtol and rcond are the same; give one of them")
    x = (square_matrix if hermitian else matrix)(a, "pinv")
    aval = aval_of(x)
    given = rcond if rtol is None else rtol
    if given is None:
        cutoff = 10.0 * max(aval.shape[-2:]) * float(np.finfo(aval.dtype).eps)
    else:
        cutoff = static_float(given, "pinv: rtol")
    return wrap(Pinv(cutoff, bool(hermitian))(x))  # type: ignore[no-any-return]


def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    rcond: float | None = None,
    *,
    numpy_resid: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """The shortest x that minimises ``norm(a @ x - b)``.

    Parameters
    ----------
    a : array_like
        Of shape (m, n).
    b : array_like
        Of shape (m,) or (m, k).
    rcond : float, optional
        Singular values up to `rcond` times the largest one count as zero. By default, ``max(m, n)``
        times the spacing of the dtype.
    numpy_resid : bool
        Whether the residuals are empty where NumPy leaves them out, if ``m <= n`` or the rank is
        not full. By default they are there in all cases, since under ``jit`` the rank is unknown.

    Returns
    -------
    x : Array
        Of shape (n,) or (n, k).
    residuals : Array
        The sums of squares of ``b - a @ x``, of shape (1,) or (k,).
    rank : Array
        How many singular values count; it has no derivative.
    s : Array
        The singular values of `a`.

        Differentiable in both modes, to all orders. Where the rank is not full, derivatives are
        those among matrices of the same rank: elsewhere the solution jumps.

    Raises
    ------
    LinAlgError
        If the iteration for the singular values does not converge.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> a = fnp.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> x, residuals, rank, s = fnp.linalg.lstsq(a, fnp.array([1.0, 3.0, 5.0]))
    >>> bool(fnp.allclose(x, fnp.array([1.0, 2.0])))
    True
    """
    left, right = matrix(a, "lstsq"), floats(operand(b, "lstsq", "b"), "lstsq", "b")
    shapes = shape_of(left), shape_of(right)
    if len(shapes[0]) != 2 or len(shapes[1]) not in (1, 2) or shapes[0][0] != shapes[1][0]:
        raise ShapeError(
            f"lstsq: a of shape {shapes[0]} and b of shape {shapes[1]} do not fit; give shapes (m, n) and (m,) "
            "or (m, k), and map fgrad.vmap over batches"
        )
    vector = len(shapes[1]) == 1
    if vector:
        right = reshape(right, (*shapes[1], 1))
    left, right = promoted("lstsq", left, right)
    dtype = aval_of(left).dtype
    eps = float(np.finfo(dtype).eps)
    m, n = shapes[0]
    cutoff = eps * max(m, n) if rcond is None else static_float(rcond, "lstsq: rcond")
    if cutoff < 0:
        cutoff = eps
    x = Lstsq(cutoff)(left, right)
    s = SingularValues()(left)
    if min(m, n):
        largest = static_index(s, (slice(0, 1),))
        rank = Sum((0,))(greater(s, mul(largest, cutoff)))
    else:
        rank = Sum((0,))(greater(s, 0.0))
    rest = sub(right, matmul(left, x))
    if dtype.kind == "c":
        squares = real_part(mul(conjugate(rest), rest))
    else:
        squares = square(rest)
    residuals = Sum((0,))(squares)
    if numpy_resid:
        known = concrete(rank)
        if known is None:
            static_int(wrap(rank), "lstsq: with numpy_resid=True, the rank")
        if known < n or m <= n:
            residuals = Full((0,), 0, real_dtype(dtype))()
    answer = reshape(x, (n,)) if vector else x
    return wrap(answer), wrap(residuals), wrap(convert(rank, dtypes.INT32)), wrap(s)


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of a tensor, as of a map from its later axes to its first ones.

    Parameters
    ----------
    a : array_like
        Whose first `ind` axes have as many elements as the others.
    ind : int
        How many axes the map leads to.

    Returns
    -------
    Array
        Of shape ``a.shape[ind:] + a.shape[:ind]``. Differentiable in both modes, to all orders.

    Raises
    ------
    LinAlgError
        If the map is singular.
    ShapeError
        If it is not square.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.tensorinv(fnp.eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    x = floats(operand(a, "tensorinv", "a"), "tensorinv", "a")
    shape, count = shape_of(x), static_int(ind, "tensorinv: ind")
    if count <= 0:
        raise ArgumentError(f"tensorinv: ind is {count}; give a positive number of axes")
    first, later = shape[:count], shape[count:]
    flat = _square_map(x, math.prod(first), math.prod(later), "tensorinv")
    return wrap(reshape(_INV(flat), (*later, *first)))  # type: ignore[no-any-return]


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The solution x of ``tensordot(a, x, x.ndim) = b``.

    Parameters
    ----------
    a : array_like
        Of shape ``b.shape + x.shape``, with as many elements in the one as in the other.
    b : array_like
    axes : sequence of int, optional
        Axes of `a` to move to the end first.

    Returns
    -------
    Array
        Differentiable in both modes, to all orders.

    Raises
    ------
    LinAlgError
        If the map is singular.
    ShapeError
        If it is not square, or does not fit `b`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.tensorsolve(fnp.eye(6).reshape(2, 3, 6), fnp.ones((2, 3))).shape
    (6,)
    """
    x, y = [
        floats(operand(side, "tensorsolve", argument), "tensorsolve", argument)
        for side, argument in ((a, "a"), (b, "b"))
    ]
    if axes is not None:
        rank = len(shape_of(x))
        last = [normal_axis(axis, rank, "tensorsolve") for axis in axes]
        x = transpose(x, [axis for axis in range(rank) if axis not in last] + last)
    shape, side = shape_of(x), aval_of(y)
    later = shape[len(side.shape) :]
    if shape[: len(side.shape)] != side.shape:
        raise ShapeError(
            f"tensorsolve: a of shape {shape} does not begin with the shape {side.shape} of b; move axes to "
            "the end with axes"
        )
    flat = _square_map(x, side.size, math.prod(later), "tensorsolve")
    answer = _SOLVE(*promoted("tensorsolve", flat, reshape(y, (side.size, 1))))
    return wrap(reshape(answer, later))  # type: ignore[no-any-return]


def _square_map(x: Any, rows: int, columns: int, name: str) -> Any:
    if rows != columns:
        raise ShapeError(
            f"{name}: a of shape {shape_of(x)} maps {columns} elements to {rows}; only square maps have "
            "an inverse"
        )
    return reshape(x, (rows, columns))
