"""Matrices as products of simpler ones: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any, NamedTuple

from fgrad.array import Array, wrap
from fgrad.errors import ArgumentError
from fgrad.numpy._support import ArrayLike, static_int
from fgrad.numpy.linalg._operands import matrix, square_matrix
from fgrad.primitives.cholesky import Cholesky
from fgrad.primitives.elementwise import abs_, less, neg, select
from fgrad.primitives.factorizations import (
    HouseholderQr,
    Qr,
    SingularValues,
    Svd,
    TriangularFactor,
)
from fgrad.primitives.families import broadcast_to, mul, shape_of
from fgrad.primitives.linalg import adjoint, columns, hermitian_from_triangle
from fgrad.primitives.shape import static_index
from fgrad.primitives.sorting import Argsort, take_along
from fgrad.primitives.spectral import Eig, Eigh, Eigvals, Eigvalsh


class QRResult(NamedTuple):
    """What `qr` returns: orthonormal columns and an upper triangle."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """What `svd` returns: left singular vectors, singular values, right vectors as rows."""

    U: Array
    S: Array
    Vh: Array


class EighResult(NamedTuple):
    """What `eigh` returns: real eigenvalues, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """What `eig` returns: complex eigenvalues, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


# ---- triangular factors --------------------------------------------------------------------------


def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Triangular factors L of positive definite matrices ``L @ L^H``.

    Parameters
    ----------
    a : array_like
        Hermitian matrices, of shape (..., n, n).
    upper : bool
        Whether to return the upper triangle, the adjoint of L.
    symmetrize_input : bool
        Whether the Hermitian part of `a` counts, which gives Hermitian gradients. If not, only the
        triangle that is returned is read.

    Returns
    -------
    Array
        Of the shape of `a`. Differentiable in both modes, to all orders.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite. Under `vmap`, the results of such an example are NaN.
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.cholesky(fnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float64)
    """
    x = square_matrix(a, "cholesky")
    if not symmetrize_input:
        x = hermitian_from_triangle(x, not upper)
    factor = Cholesky()(x)
    return wrap(adjoint(factor) if upper else factor)  # type: ignore[no-any-return]


def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Orthonormal columns Q times an upper triangle R.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n).
    mode : {'reduced', 'complete', 'r', 'raw'}
        'reduced' gives min(m, n) columns in Q, 'complete' gives m; 'r' gives R alone; 'raw' gives
        LAPACK's Householder vectors, transposed, and their factors.

    Returns
    -------
    QRResult, Array, or tuple of Array
        ``(Q, R)``, or R. Differentiable in both modes, to all orders, where the first min(m, n)
        columns are independent; elsewhere derivatives are infinite or NaN. With 'complete', the
        columns of Q beyond the n-th are known up to a rotation only: they are those of LAPACK's
        reflections, which jump where a column has zeros only below the diagonal. 'raw' has no
        derivative.

    Raises
    ------
    ArgumentError
        If the mode is not known.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> q, r = fnp.linalg.qr(fnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> bool(fnp.allclose(q @ r, fnp.array([[3.0, 1.0], [4.0, 2.0]])))
    True
    """
    x = matrix(a, "qr")
    if mode == "r":
        return wrap(TriangularFactor()(x))
    if mode == "raw":
        vectors, factors = HouseholderQr()(x)
        return wrap(vectors), wrap(factors)
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"qr: mode is {mode!r}; give 'reduced', 'complete', 'r' or 'raw'")
    q, r = Qr(mode == "complete")(x)
    return QRResult(wrap(q), wrap(r))


# ---- singular values -----------------------------------------------------------------------------


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Singular value decompositions ``U @ diag(S) @ Vh``.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n).
    full_matrices : bool
        Whether U and Vh are square; if not, they have min(m, n) columns and rows.
    compute_uv : bool
        Whether to return U and Vh.
    hermitian : bool
        Whether the matrices are Hermitian, which is faster; then their Hermitian part is used.
    subset_by_index : (int, int), optional
        The range of singular values to return, with their vectors; only without `full_matrices`, or
        without vectors.

    Returns
    -------
    SVDResult or Array
        ``(U, S, Vh)``, or S. Singular values are in descending order.

        Differentiable in both modes, to all orders, with these limits of the mathematics.
        Derivatives of vectors divide by differences of singular values, and by singular values
        where m differs from n: at equal or zero ones they are infinite or NaN, but for what meets
        them with exactly zero. Those of singular values exist unless they are zero. Complex vectors
        are known up to phases, and those beyond the min(m, n)-th up to a rotation: gradients are
        right for functions that do not depend on that choice.

    Raises
    ------
    LinAlgError
        If the iteration does not converge.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> u, s, vh = fnp.linalg.svd(fnp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> s
    Array([2., 1.], dtype=float64)
    """
    x = (square_matrix if hermitian else matrix)(a, "svd")
    if subset_by_index is not None and compute_uv and full_matrices:
        raise ArgumentError(
            "svd: subset_by_index needs full_matrices=False or compute_uv=False: the other vectors belong to "
            "no singular value"
        )
    if not compute_uv:
        if hermitian:
            s = _sorted_magnitudes(Eigvalsh()(x))[0]
        else:
            s = SingularValues()(x)
        return wrap(_subset(s, subset_by_index, -1))
    u, s, vh = _hermitian_svd(x) if hermitian else Svd(bool(full_matrices))(x)
    return SVDResult(
        wrap(_subset(u, subset_by_index, -1)),
        wrap(_subset(s, subset_by_index, -1)),
        wrap(_subset(vh, subset_by_index, -2)),
    )


def _sorted_magnitudes(w: Any) -> tuple[Any, Any]:
    """The magnitudes of eigenvalues in descending order, and that order."""
    size = abs_(w)
    axis = len(size.shape) - 1
    order = Argsort(axis)(neg(size))
    return take_along(size, order, axis), order


def _hermitian_svd(x: Any) -> tuple[Any, Any, Any]:
    w, v = Eigh()(x)
    s, order = _sorted_magnitudes(w)
    v = take_along(v, broadcast_to(columns(order), v.shape), len(v.shape) - 1)
    sign = select(less(take_along(w, order, len(w.shape) - 1), 0.0), -1.0, 1.0)
    return v, s, adjoint(mul(v, columns(sign)))


def _subset(x: Any, bounds: tuple[int, int] | None, axis: int) -> Any:
    if bounds is None:
        return x
    start, stop = (static_int(bound, "svd: subset_by_index") for bound in bounds)
    shape = shape_of(x)
    if not 0 <= start <= stop <= shape[axis]:
        raise ArgumentError(
            f"svd: subset_by_index={bounds} is not a range among {shape[axis]} singular values"
        )
    index = [slice(None)] * len(shape)
    index[axis] = slice(start, stop)
    return static_index(x, index)


def svdvals(x: ArrayLike, /) -> Array:
    """Singular values, in descending order.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).

    Returns
    -------
    Array
        Of shape (..., min(m, n)). Differentiable in both modes, to all orders; second derivatives
        need distinct singular values, and none of them zero.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.svdvals(fnp.array([[0.0, 2.0], [1.0, 0.0]]))
    Array([2., 1.], dtype=float64)
    """
    return wrap(SingularValues()(matrix(x, "svdvals", "x")))  # type: ignore[no-any-return]


# ---- eigenvalues ---------------------------------------------------------------------------------


def _hermitian_operand(
    a: ArrayLike, uplo: str | None, symmetrize_input: bool | None, name: str
) -> Any:
    x = square_matrix(a, name)
    if uplo is not None and uplo not in ("L", "U", "l", "u"):
        raise ArgumentError(f"{name}: UPLO is {uplo!r}; give 'L' or 'U'")
    symmetrize = uplo is None if symmetrize_input is None else symmetrize_input
    return x if symmetrize else hermitian_from_triangle(x, uplo not in ("U", "u"))


def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool | None = None) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    a : array_like
        Hermitian matrices, of shape (..., n, n).
    UPLO : {'L', 'U'}, optional
        The triangle of `a` to read. By default its Hermitian part counts.
    symmetrize_input : bool, optional
        Whether the Hermitian part of `a` counts; by default, if `UPLO` is not given. Gradients are
        Hermitian then, and lie in one triangle otherwise.

    Returns
    -------
    EighResult
        ``(eigenvalues, eigenvectors)``: real, in ascending order, and orthonormal, as columns.

        Differentiable in both modes, to all orders, with these limits of the mathematics.
        Derivatives of vectors divide by differences of eigenvalues: at equal ones they are infinite
        or NaN, but for what meets them with exactly zero, and so are second derivatives of
        eigenvalues. Complex vectors are known up to phases: gradients are right for functions that
        do not depend on them.

    Raises
    ------
    LinAlgError
        If the iteration does not converge.
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> w, v = fnp.linalg.eigh(fnp.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> w
    Array([1., 2.], dtype=float64)
    """
    w, v = Eigh()(_hermitian_operand(a, UPLO, symmetrize_input, "eigh"))
    return EighResult(wrap(w), wrap(v))


def eigvalsh(
    a: ArrayLike, UPLO: str | None = None, *, symmetrize_input: bool | None = None
) -> Array:
    """Eigenvalues of Hermitian matrices.

    Parameters
    ----------
    a, UPLO, symmetrize_input
        As for `eigh`.

    Returns
    -------
    Array
        Real, in ascending order. Differentiable in both modes, to all orders; second derivatives
        need distinct eigenvalues.

    Raises
    ------
    LinAlgError
        If the iteration does not converge.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.eigvalsh(fnp.array([[2.0, 0.0], [0.0, 1.0]]))
    Array([1., 2.], dtype=float64)
    """
    return wrap(Eigvalsh()(_hermitian_operand(a, UPLO, symmetrize_input, "eigvalsh")))  # type: ignore[no-any-return]


def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).

    Returns
    -------
    EigResult
        ``(eigenvalues, eigenvectors)``: complex, also where all of them are real, in no particular
        order; the vectors are columns of norm one.

        Differentiable in both modes, to all orders, where the eigenvalues are distinct; elsewhere
        derivatives are infinite or NaN. The vectors are known up to phases: gradients are right for
        functions that do not depend on them.

    Raises
    ------
    LinAlgError
        If the iteration does not converge.
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> w, v = fnp.linalg.eig(fnp.array([[0.0, -1.0], [1.0, 0.0]]))
    >>> w
    Array([0.+1.j, 0.-1.j], dtype=complex128)
    """
    w, v = Eig()(square_matrix(a, "eig"))
    return EigResult(wrap(w), wrap(v))


def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of square matrices.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).

    Returns
    -------
    Array
        Complex, in no particular order. Differentiable in both modes, to all orders, where they are
        distinct.

    Raises
    ------
    LinAlgError
        If the iteration does not converge.
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.linalg.eigvals(fnp.array([[1.0, 2.0], [0.0, 3.0]]))
    Array([1.+0.j, 3.+0.j], dtype=complex128)
    """
    return wrap(Eigvals()(square_matrix(a, "eigvals")))  # type: ignore[no-any-return]
