"""Linear algebra under the names and signatures of ``jax.lax.linalg``."""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import sys as _sys
from typing import Any

from fgrad import numpy as fnp
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, operand, static_int
from fgrad.numpy.linalg._operands import floats, matrix, square_matrix
from fgrad.primitives.contraction import promoted
from fgrad.primitives.linalg import conjugate, swapped
from fgrad.primitives.lu import OrderOfExchanges, lu_factors
from fgrad.primitives.schur import Hessenberg, Schur
from fgrad.primitives.solve import TriangularSolve
from fgrad.primitives.tridiagonal import TridiagonalSolve
from fgrad.source_info import guard as _guard

__all__ = [
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal_solve",
]


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Cholesky's lower triangles of positive definite matrices.

    Parameters
    ----------
    x : array_like
        Hermitian, of shape (..., n, n).
    symmetrize_input : bool
        Whether the Hermitian part of x counts, and not its lower triangle alone.

    Returns
    -------
    Array
        Differentiable in both modes, to all orders.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.cholesky(np.diag([4.0, 9.0]))
    Array([[2., 0.],
           [0., 3.]], dtype=float64)
    """
    return fnp.linalg.cholesky(x, symmetrize_input=symmetrize_input)


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The upper triangle of ``R^T @ R + w w^T``.

    Parameters
    ----------
    r_matrix : array_like
        The upper triangle R, of shape (n, n).
    w_vector : array_like
        Of shape (n,).

    Returns
    -------
    Array
        With a positive diagonal. Differentiable in both modes, to all orders.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.cholesky_update(np.diag([3.0, 1.0]), np.array([4.0, 0.0]))
    Array([[5., 0.],
           [0., 1.]], dtype=float64)
    """
    r = wrap(square_matrix(r_matrix, "cholesky_update", "r_matrix"))
    w = fnp.asarray(w_vector)
    if w.shape != r.shape[-1:] or r.ndim != 2:
        raise ShapeError(
            f"cholesky_update: a matrix of shape {r.shape} and a vector of shape {w.shape} do not fit; give shapes "
            "(n, n) and (n,)"
        )
    updated = fnp.conj(r).T @ r + fnp.outer(fnp.conj(w), w)
    return fnp.linalg.cholesky(updated, upper=True)


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: Any = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Eigenvalues and eigenvectors of general matrices.

    Parameters
    ----------
    x : array_like
        Of shape (..., n, n).
    compute_left_eigenvectors, compute_right_eigenvectors : bool
        Which vectors to return: ``vl^H @ x = w vl^H`` and ``x @ vr = vr w``.
    enable_eigvec_derivs, implementation, use_magma
        Accepted; of no effect.

    Returns
    -------
    list of Array
        Complex values, left vectors and right vectors, of those asked for, as columns of unit norm.
        Differentiable in both modes where values differ.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> w, vl, vr = lax.linalg.eig(np.diag([2.0, 3.0]))
    >>> w.real
    Array([2., 3.], dtype=float64)
    """
    values, right = fnp.linalg.eig(x)
    found: list[Any] = [values]
    if compute_left_eigenvectors:
        # The rows of the inverse are left vectors, though not of unit norm.
        rows: Any = fnp.conj(fnp.matrix_transpose(fnp.linalg.inv(right)))
        found.append(rows / fnp.linalg.norm(rows, axis=-2, keepdims=True))
    if compute_right_eigenvectors:
        found.append(right)
    return found


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: Any = None,
) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of Hermitian matrices, in this order.

    Parameters
    ----------
    x : array_like
        Hermitian, of shape (..., n, n).
    lower : bool
        Which triangle counts, unless the Hermitian part does.
    symmetrize_input : bool
        Whether the Hermitian part counts.
    sort_eigenvalues : bool
        Accepted; they are always in ascending order.
    subset_by_index : tuple of two int, optional
        Keep the vectors and values from the first number up to the second.
    implementation
        Accepted; of no effect.

    Returns
    -------
    tuple of Array
        Vectors as columns, and values. Differentiable in both modes where values differ.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> v, w = lax.linalg.eigh(np.diag([3.0, 2.0]))
    >>> w
    Array([2., 3.], dtype=float64)
    """
    found: Any = fnp.linalg.eigh(x, "L" if lower else "U", symmetrize_input)
    values, vectors = found
    if subset_by_index is not None:
        start, stop = (static_int(n, "eigh: subset_by_index") for n in subset_by_index)
        values, vectors = values[..., start:stop], vectors[..., start:stop]
    return vectors, values


def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """Hessenberg's form, as a matrix and unitary columns instead of LAPACK's reflections.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).

    Returns
    -------
    tuple of Array
        H, zero below its first subdiagonal, and unitary Q with ``a = Q @ H @ Q^H``. Their derivatives
        are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> h, q = lax.linalg.hessenberg(np.eye(2))
    >>> h
    Array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    h, q = Hessenberg()(square_matrix(a, "hessenberg"))
    return wrap(h), wrap(q)


def _reflected(name: str, a: ArrayLike, taus: ArrayLike, c: Any, transposed: bool) -> Any:
    """``(1 - tau v v^H)`` of all reflections, or its adjoint, applied to the columns of c."""
    packed, factors = fnp.asarray(a), fnp.asarray(taus)
    m, k = packed.shape[-2], factors.shape[-1]
    if packed.ndim < 2 or k > packed.shape[-1]:
        raise ShapeError(
            f"{name}: reflections of shape {packed.shape} and factors of shape {factors.shape} do not fit; give "
            "shapes (..., m, n) and (..., k) with k <= n"
        )
    below = fnp.tril(packed[..., :, :k], -1) + fnp.eye(m, k, dtype=packed.dtype)
    for i in range(k) if transposed else reversed(range(k)):
        v = below[..., :, i : i + 1]
        tau = factors[..., i, None, None]
        if transposed:
            tau = fnp.conj(tau)
        c = c - tau * (v @ (fnp.conj(fnp.matrix_transpose(v)) @ c))
    return c


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of a product of reflections, as LAPACK packs them.

    Parameters
    ----------
    a : array_like
        The reflections below the diagonal, of shape (..., m, n) with m >= n.
    taus : array_like
        Their factors, of shape (..., k).

    Returns
    -------
    Array
        Of shape (..., m, n). Differentiable in both modes, to all orders.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.householder_product(np.zeros((2, 2)), np.zeros(2))
    Array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    x = fnp.asarray(a)
    eye = fnp.eye(x.shape[-2], x.shape[-1], dtype=x.dtype)
    start = fnp.broadcast_to(eye, x.shape)
    return _reflected("householder_product", x, taus, start, False)


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """The product of a matrix with reflections, as LAPACK packs them.

    Parameters
    ----------
    a : array_like
        The reflections below the diagonal, of shape (..., m, n).
    taus : array_like
        Their factors, of shape (..., k).
    c : array_like
        The matrix, of m rows, or of m columns from the right.
    left : bool
        Whether the reflections stand to the left of c.
    transpose : bool
        Whether to apply their adjoint.

    Returns
    -------
    Array
        Of the shape of c. Differentiable in both modes, to all orders.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.ormqr(np.zeros((2, 1)), np.array([2.0]), np.ones((2, 1)))
    Array([[-1.],
           [ 1.]], dtype=float64)
    """
    x = fnp.asarray(c)
    if left:
        return _reflected("ormqr", a, taus, x, transpose)
    turned = fnp.conj(fnp.matrix_transpose(x))
    found = _reflected("ormqr", a, taus, turned, not transpose)
    return fnp.conj(fnp.matrix_transpose(found))


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """Triangular factors with row exchanges.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).

    Returns
    -------
    tuple of Array
        Both factors in one matrix, the exchanges, and the order of rows that they lead to.
        Differentiable in both modes where the leading columns are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))[2]
    Array([1, 0], dtype=int32)
    """
    packed, exchanges, order = lu_factors(matrix(x, "lu", "x"))
    return wrap(packed), wrap(exchanges), wrap(order)


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The order of rows that exchanges lead to.

    Parameters
    ----------
    pivots : array_like of int
        Of shape (..., k): with which row each row is exchanged.
    permutation_size : int
        How many rows there are.

    Returns
    -------
    Array
        Of shape (..., permutation_size).

    Raises
    ------
    ArgumentError
        If there are more exchanges than rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.lu_pivots_to_permutation(np.array([1, 1]), 3)
    Array([1, 0, 2], dtype=int32)
    """
    size = static_int(permutation_size, "lu_pivots_to_permutation: permutation_size")
    exchanges = operand(pivots, "lu_pivots_to_permutation", "pivots")
    shape = aval_of(exchanges).shape
    if not shape or shape[-1] > size:
        raise ArgumentError(
            f"lu_pivots_to_permutation: pivots of shape {shape} exchange more than {size} rows; give a larger "
            "permutation_size"
        )
    return wrap(OrderOfExchanges(size)(exchanges))


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Polar factors ``x = u @ h``, found by singular values.

    Parameters
    ----------
    x : array_like
        Of shape (m, n) with m >= n.
    is_hermitian, max_iterations, eps, dynamic_shape
        Accepted; of no effect.

    Returns
    -------
    tuple of Array
        u, h, the number of iterations, which is 1, and whether they converged, which is True.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.qdwh(np.diag([2.0, 3.0]))[1].round(12)
    Array([[2., 0.],
           [0., 3.]], dtype=float64)
    """
    left, values, right = fnp.linalg.svd(x, full_matrices=False)
    u = left @ right
    h = fnp.conj(fnp.matrix_transpose(right)) @ (values[..., :, None] * right)
    return u, h, fnp.asarray(1), fnp.asarray(True)


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, ...]:
    """Orthonormal columns times upper triangles.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).
    pivoting : bool
        Only False; `fgrad.scipy.linalg.qr` orders columns.
    full_matrices : bool
        Whether Q has m columns, and not min(m, n).
    use_magma
        Accepted; of no effect.

    Returns
    -------
    tuple of Array
        Q and R. Differentiable in both modes where the leading columns are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> [part.shape for part in lax.linalg.qr(np.ones((3, 2)), full_matrices=False)]
    [(3, 2), (2, 2)]
    """
    if pivoting:
        raise ArgumentError("qr: pivoting=True is offered by fgrad.scipy.linalg.qr; use that")
    return tuple(fnp.linalg.qr(x, "complete" if full_matrices else "reduced"))


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> tuple[Array, ...]:
    """Schur's triangles: ``x = Z @ T @ Z^H`` with unitary Z.

    Parameters
    ----------
    x : array_like
        Of shape (..., n, n). The triangle of real matrices is real.
    compute_schur_vectors : bool
        Whether to return Z too.
    sort_eig_vals : bool
        Only False.
    select_callable
        Accepted; of no effect.

    Returns
    -------
    tuple of Array
        T and Z. Their derivatives are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.schur(np.diag([2.0, 3.0]))[0]
    Array([[2., 0.],
           [0., 3.]], dtype=float64)
    """
    if sort_eig_vals:
        raise ArgumentError(
            "schur: sort_eig_vals=True is not supported; sort the eigenvalues afterwards"
        )
    t, z = Schur(False)(square_matrix(x, "schur", "x"))
    return (wrap(t), wrap(z)) if compute_schur_vectors else (wrap(t),)


def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: Any = None,
) -> Any:
    """Singular values and vectors.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).
    full_matrices : bool
        Whether to complete the vectors to bases.
    compute_uv : bool
        Whether to return vectors, and not the values alone.
    subset_by_index : tuple of two int, optional
        Keep the values and vectors from the first number up to the second.
    algorithm
        Accepted; of no effect.

    Returns
    -------
    Array, or a tuple of three
        Left vectors as columns, values, largest first, and right vectors as rows. Differentiable in
        both modes, to all orders, where values differ.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.svd(np.diag([2.0, 4.0]), compute_uv=False)
    Array([4., 2.], dtype=float64)
    """
    found = fnp.linalg.svd(x, full_matrices, compute_uv, subset_by_index=subset_by_index)
    return tuple(found) if compute_uv else found


def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """``alpha * a @ a^T + beta * c``.

    Parameters
    ----------
    a_matrix : array_like
        Of shape (..., m, n).
    c_matrix : array_like
        Of shape (..., m, m).
    alpha, beta : float
    symmetrize_output : bool
        Accepted; both triangles are always there.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.symmetric_product(np.ones((2, 3)), np.eye(2), beta=1.0)
    Array([[4., 3.],
           [3., 4.]], dtype=float64)
    """
    x, c = wrap(matrix(a_matrix, "symmetric_product", "a_matrix")), fnp.asarray(c_matrix)
    return alpha * (x @ fnp.matrix_transpose(x)) + beta * c


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solutions x of ``op(a) @ x = b``, or of ``x @ op(a) = b``, for triangular matrices.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n); the other triangle is not read.
    b : array_like
        Matrices; of shape (..., n, k) if a is on the left, else (..., k, n).
    left_side : bool
        Whether a stands to the left of x.
    lower : bool
        Whether a is a lower triangle.
    transpose_a, conjugate_a : bool
        What op does.
    unit_diagonal : bool
        Whether the diagonal counts as ones, without being read.

    Returns
    -------
    Array
        Of the shape of b. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> lax.linalg.triangular_solve(np.diag([2.0, 4.0]), np.ones((1, 2)))
    Array([[0.5 , 0.25]], dtype=float64)
    """
    name = "triangular_solve"
    left, right = square_matrix(a, name), matrix(b, name, "b")
    n = aval_of(left).shape[-1]
    if aval_of(right).shape[-2 if left_side else -1] != n:
        where = f"(..., {n}, k)" if left_side else f"(..., k, {n})"
        raise ShapeError(
            f"{name}: a of shape {aval_of(left).shape} and b of shape {aval_of(right).shape} do not fit; give b the "
            f"shape {where}"
        )
    left, right = promoted(name, left, right)
    below, unit = bool(lower), bool(unit_diagonal)
    if conjugate_a:
        left = conjugate(left)
    # x op(a) = b is op(a)^T x^T = b^T.
    transposed = bool(transpose_a) == bool(left_side)
    side = right if left_side else swapped(right)
    if transposed:
        x = TriangularSolve(not below, False, unit)(swapped(left), side)
    else:
        x = TriangularSolve(below, False, unit)(left, side)
    return wrap(x if left_side else swapped(x))


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solutions of tridiagonal systems.

    Parameters
    ----------
    dl, d, du : array_like
        The diagonals below, on and above the main one, all of shape (..., n); the first of `dl` and
        the last of `du` are not read.
    b : array_like
        Of shape (..., n, k).
    perturb_singular : bool
        Accepted; of no effect: singular systems give NaN.

    Returns
    -------
    Array
        Of the shape of b. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import lax
    >>> zero, two = np.zeros(2), np.full(2, 2.0)
    >>> lax.linalg.tridiagonal_solve(zero, two, zero, np.ones((2, 1)))
    Array([[0.5],
           [0.5]], dtype=float64)
    """
    name = "tridiagonal_solve"
    diagonals = [
        floats(operand(x, name, k), name, k) for k, x in (("dl", dl), ("d", d), ("du", du))
    ]
    side = matrix(b, name, "b")
    shapes = [aval_of(x).shape for x in diagonals]
    n = aval_of(side).shape[-2]
    if any(not shape or shape[-1] != n for shape in shapes):
        raise ShapeError(
            f"{name}: diagonals of shapes {', '.join(map(str, shapes))} and b of shape {aval_of(side).shape} do not "
            f"fit; give diagonals of shape (..., {n})"
        )
    fitted = fnp.promote_types(fnp.result_type(*map(wrap, diagonals)), aval_of(side).dtype)
    values = [wrap(x).astype(fitted) for x in (*diagonals, side)]
    return wrap(TridiagonalSolve()(*[operand(x, name) for x in values]))


_guard(_sys.modules[__name__])
