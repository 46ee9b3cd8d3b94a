"""Eigenvalues and solutions of large sparse matrices, which programs find as ``fgrad.experimental.sparse.linalg``."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import sys as _sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import lax, ops
from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.avals import ShapeDtypeStruct
from fgrad.errors import DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.source_info import guard as _guard
from fgrad.transforms.callback import pure_callback

__all__ = ["lobpcg_standard", "spsolve"]


def _adjoint(x: Any) -> Any:
    return fnp.conj(x).T


def _orthonormal(columns: Any, against: Any) -> tuple[Any, Any]:
    """Columns made orthonormal, also to others, and which of them were independent: the rest are zero."""
    for _ in range(2):  # once loses orthogonality
        for other in against:
            columns = columns - other @ (_adjoint(other) @ columns)
        sizes = fnp.linalg.norm(columns, axis=0)
        columns = columns / fnp.where(sizes > 0, sizes, 1.0)
        values, vectors = fnp.linalg.eigh(_adjoint(columns) @ columns)
        floor = fnp.finfo(values.dtype).eps * values.shape[0] * 10
        kept = values > floor * fnp.maximum(values[-1], fnp.finfo(values.dtype).tiny)
        columns = (columns @ vectors) * fnp.where(
            kept, 1 / fnp.sqrt(fnp.where(kept, values, 1.0)), 0.0
        )
    return columns, kept


def _largest(product: Callable[[Any], Any], basis: Any, kept: Any, count: int) -> tuple[Any, Any]:
    """The greatest eigenvalues within the span of orthonormal columns, of which some may be zero."""
    small = _adjoint(basis) @ product(basis)
    small = 0.5 * (small + _adjoint(small))
    # What is not there must not come first.
    below = -2.0 * (fnp.linalg.norm(small) + 1.0)
    small = small + fnp.diag(fnp.where(kept, 0.0, below)).astype(small.dtype)
    values, vectors = fnp.linalg.eigh(small)
    return fnp.flip(values[-count:]), fnp.flip(vectors[:, -count:], axis=1)


def lobpcg_standard(
    A: ArrayLike | Callable[[Any], Any], X: ArrayLike, m: int = 100, tol: ArrayLike | None = None
) -> tuple[Array, Array, Array]:
    """The greatest eigenvalues of a Hermitian matrix, by locally optimal block conjugate gradients.

    Parameters
    ----------
    A : array_like or callable
        Of shape (n, n), or its product with matrices of n rows.
    X : array_like
        Where to begin: independent columns, of shape (n, k), one for each eigenvalue, with ``5 k < n``.
    m : int
        The greatest number of steps.
    tol : float, optional
        The precision: a pair has converged when the norm of ``A u - t u`` is below
        ``10 n tol (|t| + |A u|)``. By default that of the dtype.

    Returns
    -------
    (Array, Array, Array)
        The eigenvalues, the greatest first, orthonormal eigenvectors as columns, and the number of
        steps. Derivatives are those of the steps.

    Raises
    ------
    ShapeError
        If shapes do not fit, or there are too many columns.
    DTypeError
        If `A` and `X` are of different dtypes.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.experimental.sparse_linalg import lobpcg_standard
    >>> scale = np.arange(1.0, 31.0)[:, None]
    >>> values, vectors, steps = lobpcg_standard(lambda x: scale * x, np.eye(30, 2) + 1e-3)
    >>> values.round(6)
    Array([30., 29.], dtype=float64)
    """
    name = "lobpcg_standard"
    start: Any = fnp.asarray(X) * 1.0
    if start.ndim != 2 or not start.shape[1] or 5 * start.shape[1] >= start.shape[0]:
        raise ShapeError(
            f"{name}: X has shape {start.shape}; give (n, k) with at least one column, and more than 5 k rows"
        )
    size, count = start.shape
    if callable(A):
        product: Callable[[Any], Any] = A
        found = fnp.asarray(A(start))
        if found.shape != start.shape or found.dtype != start.dtype:
            raise ShapeError(
                f"{name}: A makes {found.dtype}{found.shape} of X, {start.dtype}{start.shape}; give a function that "
                "keeps shape and dtype"
            )
    else:
        matrix: Any = fnp.asarray(A) * 1.0
        if matrix.shape != (size, size):
            raise ShapeError(
                f"{name}: A has shape {matrix.shape} and X {start.shape}; give a square matrix of as many rows"
            )
        if matrix.dtype != start.dtype:
            raise DTypeError(
                f"{name}: A is of {matrix.dtype} and X of {start.dtype}; convert one with astype"
            )

        def product(x: Any) -> Any:
            return matrix @ x

    rounding = fnp.finfo(start.dtype).eps
    precision = rounding if tol is None else tol

    def residual(x: Any, theta: Any) -> tuple[Any, Any]:
        turned = product(x)
        rest = turned - x * theta
        scale = fnp.abs(theta) + fnp.linalg.norm(turned, axis=0)
        # Nothing is more exact than the rounding of the greatest product.
        least = fnp.maximum(10 * precision * scale, rounding * fnp.max(scale))
        return rest, fnp.all(fnp.linalg.norm(rest, axis=0) <= size * least)

    def going(state: Any) -> Any:
        *_, done, k = state
        return ~done & (k < m)

    def step(state: Any) -> Any:
        x, direction, rest, _, _, k = state
        rest, first = _orthonormal(rest, [x])
        direction, second = _orthonormal(direction, [x, rest])
        basis = fnp.concatenate([x, rest, direction], axis=1)
        kept = fnp.concatenate([fnp.ones(count, bool), first, second])
        theta, mix = _largest(product, basis, kept, count)
        moved, _ = _orthonormal(basis @ mix, [])
        # Within the span: once more, since making the columns orthonormal has mixed them.
        theta, turn = _largest(product, moved, fnp.ones(count, bool), count)
        moved = moved @ turn
        direction = basis[:, count:] @ mix[count:]
        rest, done = residual(moved, theta)
        return moved, direction, rest, theta, done, k + 1

    x, _ = _orthonormal(start, [])
    theta, turn = _largest(product, x, fnp.ones(count, bool), count)
    x = x @ turn
    rest, done = residual(x, theta)
    first = (x, fnp.zeros_like(x), rest, theta, done, fnp.zeros((), int))
    x, _, _, theta, _, steps = lax.while_loop(going, step, first)
    return theta, x, steps


def spsolve(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    b: ArrayLike,
    tol: float = 1e-6,
    reorder: int = 1,
) -> Array:
    """The solution of a sparse linear system, by SciPy's direct solver.

    Parameters
    ----------
    data, indices, indptr : array_like
        The elements of a square matrix in compressed rows: of row i, those from ``indptr[i]`` to
        ``indptr[i + 1]``, in the columns `indices`.
    b : array_like
        The right-hand side, a vector.
    tol, reorder
        Accepted; of no effect.

    Returns
    -------
    Array
        Differentiable in both modes, to all orders, towards data and b.

    Raises
    ------
    ShapeError
        If shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.experimental.sparse_linalg import spsolve
    >>> spsolve(np.array([2.0, 4.0]), np.array([1, 0]), np.array([0, 1, 2]), np.array([6.0, 8.0]))
    Array([2., 3.], dtype=float64)
    """
    values: Any = fnp.asarray(data) * 1.0
    side: Any = fnp.asarray(b) * 1.0
    columns, ends = fnp.asarray(indices), fnp.asarray(indptr)
    if side.ndim != 1 or ends.shape != (side.shape[0] + 1,) or values.shape != columns.shape:
        raise ShapeError(
            f"spsolve: data has shape {values.shape}, indices {columns.shape}, indptr {ends.shape} and b {side.shape}; "
            "give as many indices as data, a vector b, and one more in indptr"
        )
    size = side.shape[0]
    dtype = fnp.result_type(values, side)
    values, side = values.astype(dtype), side.astype(dtype)
    rows = fnp.searchsorted(ends, fnp.arange(values.shape[0]), side="right") - 1

    def matvec(x: Any) -> Any:
        return ops.segment_sum(values * x[columns], rows, size)

    def solver(transposed: bool) -> Callable[[Any, Any], Any]:
        def run(v: Any, c: Any, p: Any, right: Any) -> Any:
            from scipy.sparse import csr_array
            from scipy.sparse.linalg import spsolve as solve

            matrix = csr_array((v, c, p), shape=(size, size))
            found = solve(matrix.T.tocsc() if transposed else matrix.tocsc(), right)
            return np.asarray(found, v.dtype).reshape(right.shape)

        def by_scipy(_: Any, right: Any) -> Any:
            still = [lax.stop_gradient(x) for x in (values, columns, ends)]
            shape = ShapeDtypeStruct(right.shape, right.dtype)
            return pure_callback(run, shape, *still, right, vmap_method="sequential")

        return by_scipy

    return lax.custom_linear_solve(matvec, side, solver(False), transpose_solve=solver(True))


_guard(_sys.modules[__name__])
