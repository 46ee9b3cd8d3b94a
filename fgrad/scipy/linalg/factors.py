"""Matrices as products of simpler ones, and their eigenvalues, by SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array, value, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, operand, static_int
from fgrad.numpy.linalg._operands import floats, matrix, square_matrix, static_float
from fgrad.primitives.elementwise import convert, equal
from fgrad.primitives.families import broadcast_to, reshape
from fgrad.primitives.linalg import adjoint, identity, matmul, total, tril, triu
from fgrad.primitives.lu import lu_factors
from fgrad.primitives.matrix_functions import PolarFactor
from fgrad.primitives.pivots import PivotColumns
from fgrad.primitives.schur import Hessenberg, Schur
from fgrad.primitives.shape import Iota, static_index
from fgrad.primitives.solve import TriangularSolve
from fgrad.primitives.sorting import take_along


def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Cholesky's triangular factors of positive definite matrices.

    Parameters
    ----------
    a : array_like
        Hermitian, of shape (..., n, n); only the triangle that is returned is read.
    lower : bool
        Whether to return L with ``a = L @ L^H``, and not its adjoint.
    overwrite_a, check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    Array
        Of the shape of a. Differentiable in both modes, to all orders.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite. Under `vmap`, the results of such an example are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]]), lower=True)
    Array([[2., 0.],
           [1., 1.]], dtype=float64)
    """
    return fnp.linalg.cholesky(a, upper=not lower, symmetrize_input=False)


def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """Triangular factors with row exchanges: ``a = P @ L @ U``.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n).
    permute_l : bool
        Whether to return ``P @ L`` and U alone.
    overwrite_a, check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    tuple of Array
        P, L and U. Differentiable in both modes, to all orders, where the leading columns are
        independent.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> p, l, u = linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> p @ l @ u
    Array([[1., 2.],
           [4., 4.]], dtype=float64)
    """
    packed, _, order = lu_factors(matrix(a, "lu"))
    *lead, m, n = aval_of(packed).shape
    k, dtype, whole = min(m, n), aval_of(packed).dtype, (slice(None),) * len(lead)
    columns = static_index(packed, (*whole, slice(None), slice(0, k)))
    rows = static_index(packed, (*whole, slice(0, k), slice(None)))
    eye = static_index(identity(m, dtype), (slice(None), slice(0, k)))
    lower, upper = total(tril(columns, -1), eye), triu(rows)
    # Row order[i] of a is row i of the product of the factors.
    places = broadcast_to(reshape(order, (*lead, 1, m)), (*lead, m, m))
    numbers = broadcast_to(reshape(Iota(m, aval_of(order).dtype)(), (m, 1)), (*lead, m, m))
    permutation = convert(equal(numbers, places), dtype)
    if permute_l:
        return wrap(matmul(permutation, lower)), wrap(upper)
    return wrap(permutation), wrap(lower), wrap(upper)


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """Orthonormal columns times upper triangles.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n).
    overwrite_a, lwork, check_finite
        Accepted; of no effect.
    mode : {'full', 'economic', 'r'}
        'full' gives m columns in Q, 'economic' gives min(m, n), 'r' gives a tuple of R alone.
    pivoting : bool
        Whether columns are ordered by how much they add to those before.

    Returns
    -------
    tuple of Array
        Q, unless mode is 'r', R, and with pivoting the order of columns. Differentiable in both
        modes, to all orders, where the leading columns are independent.

    Raises
    ------
    ArgumentError
        If the mode is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> q, r = linalg.qr(np.ones((3, 2)), mode="economic")
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    names = {"full": "complete", "economic": "reduced", "r": "r"}
    if mode not in names:
        raise ArgumentError(f"qr: mode is {mode!r}; give one of 'full', 'economic' and 'r'")
    x = matrix(a, "qr")
    order: tuple[Array, ...] = ()
    if pivoting:
        columns = PivotColumns()(x)
        shape = aval_of(x).shape
        places = broadcast_to(reshape(columns, (*shape[:-2], 1, shape[-1])), shape)
        x = take_along(x, places, len(shape) - 1)
        order = (wrap(columns),)
    found = fnp.linalg.qr(wrap(x), names[mode])
    # With m columns, R has m rows, those beyond the n-th being zero.
    return (*((found,) if mode == "r" else found), *order)


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Singular values and vectors.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n).
    full_matrices : bool
        Whether to complete the vectors to bases.
    compute_uv : bool
        Whether to return vectors, and not the values alone.
    overwrite_a, check_finite, lapack_driver
        Accepted; of no effect.

    Returns
    -------
    Array, or a tuple of three
        Left vectors as columns, values, largest first, and right vectors as rows. Differentiable in
        both modes, to all orders, where values differ.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.svd(np.diag([2.0, 4.0]), compute_uv=False)
    Array([4., 2.], dtype=float64)
    """
    found = fnp.linalg.svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Polar factors: ``a = u @ p``, or ``p @ u`` from the left, with positive semidefinite p.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n), where p has the smaller size: m >= n from the right, m <= n from the left.
    side : {'right', 'left'}
        On which side of u p stands.
    method, eps, max_iterations
        Accepted; of no effect, since the factors are found by singular values.

    Returns
    -------
    u, p : Array
        Orthonormal columns, or rows, and the semidefinite factor. Differentiable in both modes, to
        all orders, for matrices of full rank, equal singular values included.

    Raises
    ------
    ArgumentError
        If the side is another.
    ShapeError
        If p would have the larger size.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> u, p = linalg.polar(np.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> abs(p.round(12))
    Array([[3., 0.],
           [0., 2.]], dtype=float64)
    """
    if side not in ("right", "left"):
        raise ArgumentError(f"polar: side is {side!r}; give 'right' or 'left'")
    x = matrix(a, "polar")
    shape = aval_of(x).shape
    tall = x if side == "right" else adjoint(x)
    if aval_of(tall).shape[-2] < aval_of(tall).shape[-1]:
        raise ShapeError(
            f"polar: a of shape {shape} has no unique factors with p on the {side}; give side="
            f"{'left' if side == 'right' else 'right'!r}"
        )
    u = PolarFactor()(tall)
    p = matmul(adjoint(u), tall)
    even = fnp.multiply(0.5, wrap(total(p, adjoint(p))))
    return (wrap(u) if side == "right" else wrap(adjoint(u))), even


def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """Schur's triangles: ``a = Z @ T @ Z^H`` with unitary Z.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).
    output : {'real', 'complex'}
        Whether T of real matrices is real, with blocks of two on its diagonal for pairs of
        eigenvalues, or complex.

    Returns
    -------
    T, Z : Array
        Their derivatives are refused: eigenvalues are differentiable by `fgrad.numpy.linalg.eigvals`.

    Raises
    ------
    ArgumentError
        If the output is another.
    NonDifferentiableError
        Under `grad` and its kin.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> t, z = linalg.schur(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> (z @ t @ z.T).round(12)
    Array([[1., 2.],
           [3., 4.]], dtype=float64)
    """
    if output not in ("real", "complex"):
        raise ArgumentError(f"schur: output is {output!r}; give 'real' or 'complex'")
    t, z = Schur(output == "complex")(square_matrix(a, "schur"))
    return wrap(t), wrap(z)


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Schur's real form as the complex one.

    Parameters
    ----------
    T, Z : array_like
        What ``schur(a, output='real')`` returned.
    check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    T, Z : Array
        Complex, with a triangular T. Their derivatives are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> t, z = linalg.rsf2csf(*linalg.schur(np.array([[0.0, 1.0], [-1.0, 0.0]])))
    >>> abs(t[1, 0]).round(12)
    Array(0., dtype=float64)
    """
    t, z = square_matrix(T, "rsf2csf", "T"), square_matrix(Z, "rsf2csf", "Z")
    triangle, turn = Schur(True)(t)
    return wrap(triangle), wrap(matmul(*_one_dtype(z, turn)))


def _one_dtype(x: Any, y: Any) -> tuple[Any, Any]:
    dtype = np.result_type(aval_of(x).dtype, aval_of(y).dtype)
    return convert(x, dtype), convert(y, dtype)


def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Hessenberg's form: ``a = Q @ H @ Q^H``, where H is zero below its first subdiagonal.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).
    calc_q : bool
        Whether to return Q too.
    overwrite_a, check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    Array, or a tuple of H and Q
        Their derivatives are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> h, q = linalg.hessenberg(np.arange(9.0).reshape(3, 3), calc_q=True)
    >>> (q @ h @ q.T).round(12) + 0.0
    Array([[0., 1., 2.],
           [3., 4., 5.],
           [6., 7., 8.]], dtype=float64)
    """
    h, q = Hessenberg()(square_matrix(a, "hessenberg"))
    return (wrap(h), wrap(q)) if calc_q else wrap(h)


# ---- eigenvalues ---------------------------------------------------------------------------------


def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices, or of pairs of them.

    Parameters
    ----------
    a : array_like
        Hermitian, of shape (..., n, n).
    b : array_like, optional
        Positive definite, for generalised problems.
    lower : bool
        Which triangle of Hermitian matrices counts.
    eigvals_only : bool
        Whether to return the values alone.
    overwrite_a, overwrite_b, turbo, eigvals, check_finite
        Accepted; of no effect.
    type : {1, 2, 3}
        The problem with b: ``a @ v = w * b @ v``, ``a @ b @ v = w * v`` or ``b @ a @ v = w * v``.

    Returns
    -------
    Array, or a tuple of two
        Values in ascending order, and vectors as columns. Differentiable in both modes, to all
        orders, where values differ.

    Raises
    ------
    LinAlgError
        If b is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.eigh(np.diag([4.0, 1.0]), np.diag([2.0, 1.0]), eigvals_only=True)
    Array([1., 2.], dtype=float64)
    """
    if type not in (1, 2, 3):
        raise ArgumentError(f"eigh: type is {type!r}; give 1, 2 or 3")
    half = "L" if lower else "U"
    if b is None:
        if eigvals_only:
            return fnp.linalg.eigvalsh(a, half)
        return tuple(fnp.linalg.eigh(a, half))
    factor = value(cholesky(b, lower=True))
    left = square_matrix(a, "eigh")
    if type == 1:
        side = TriangularSolve(True)(factor, left)
        inside = adjoint(TriangularSolve(True)(factor, adjoint(side)))
    else:
        inside = matmul(matmul(adjoint(factor), left), factor)
    if eigvals_only:
        return fnp.linalg.eigvalsh(wrap(inside), half)
    values, vectors = fnp.linalg.eigh(wrap(inside), half)
    if type == 3:
        return values, wrap(matmul(factor, value(vectors)))
    return values, wrap(TriangularSolve(True, conjugate_transpose=True)(factor, value(vectors)))


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian tridiagonal matrix.

    Parameters
    ----------
    d : array_like
        The diagonal, of shape (n,), of which the real part counts.
    e : array_like
        The diagonal above, of shape (n - 1,); the one below is its conjugate.
    eigvals_only : bool
        Whether to return the values alone.
    select : {'a', 'i', 'v'}
        All values, those numbered by `select_range`, both ends included, or those that lie in it,
        which must be known.
    select_range : tuple of two numbers, optional
    tol, key
        Accepted; of no effect.

    Returns
    -------
    Array, or a tuple of two
        Values in ascending order, and vectors as columns. Differentiable in both modes, to all
        orders, where values differ.

    Raises
    ------
    ArgumentError
        If `select` is another, or needs a `select_range`.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.eigh_tridiagonal(np.zeros(2), np.ones(1), eigvals_only=True)
    Array([-1.,  1.], dtype=float64)
    """
    name = "eigh_tridiagonal"
    if select not in ("a", "i", "v"):
        raise ArgumentError(f"{name}: select is {select!r}; give 'a', 'i' or 'v'")
    if select != "a" and select_range is None:
        raise ArgumentError(f"{name}: select={select!r} needs select_range, a pair of bounds")
    middle, beside = wrap(floats(operand(d, name, "d"), name, "d")), fnp.asarray(e)
    if middle.ndim != 1 or beside.shape != (max(middle.shape[0] - 1, 0),):
        raise ShapeError(
            f"{name}: d of shape {middle.shape} and e of shape {beside.shape} do not fit; give shapes (n,) and "
            "(n - 1,)"
        )
    dense = fnp.diag(fnp.real(middle)) + fnp.diag(fnp.conj(beside), -1) + fnp.diag(beside, 1)
    if eigvals_only:
        values, vectors = fnp.linalg.eigvalsh(dense), None
    else:
        values, vectors = fnp.linalg.eigh(dense)
    if select == "i":
        first, last = (static_int(n, f"{name}: select_range") for n in select_range or ())
        kept: Any = slice(first, last + 1)
    elif select == "v":
        low, high = (static_float(n, f"{name}: select_range") for n in select_range or ())
        known = np.asarray(values)
        kept = np.flatnonzero((known > low) & (known <= high))
    else:
        kept = slice(None)
    return values[kept] if vectors is None else (values[kept], vectors[:, kept])
