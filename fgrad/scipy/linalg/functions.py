"""Functions of matrices: exponential, square root, any analytic one, and Sylvester's equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import numpy as fnp
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.numpy.linalg._operands import matrix, square_matrix
from fgrad.primitives.contraction import promoted
from fgrad.primitives.elementwise import convert
from fgrad.primitives.linalg import complex_dtype
from fgrad.primitives.matrix_functions import Expm, SquareRoot, Sylvester, expm_slope
from fgrad.primitives.schur import Schur


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Exponentials of square matrices.

    Parameters
    ----------
    A : array_like
        Of shape (..., n, n).
    upper_triangular : bool
        Accepted; of no effect, since triangles are recognised.
    max_squarings : int
        Accepted; of no effect, since as many are made as are needed.

    Returns
    -------
    Array
        Of the shape of A. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [0., 1.]], dtype=float64)
    """
    return wrap(Expm()(square_matrix(A, "expm", "A")))  # type: ignore[no-any-return]


def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """The exponential of A, and its derivative in the direction E.

    Parameters
    ----------
    A, E : array_like
        Of one shape (..., n, n).
    method : str, optional
        Accepted; of no effect.
    compute_expm : bool
        Whether to return the exponential too.

    Returns
    -------
    Array, or a tuple of two
        The exponential, if asked for, and the derivative. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If the shapes differ or the matrices are not square.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.expm_frechet(np.zeros((2, 2)), np.eye(2), compute_expm=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    a, direction = square_matrix(A, "expm_frechet", "A"), matrix(E, "expm_frechet", "E")
    if aval_of(a).shape != aval_of(direction).shape:
        raise ShapeError(
            f"expm_frechet: A of shape {aval_of(a).shape} and E of shape {aval_of(direction).shape} must have one "
            "shape"
        )
    a, direction = promoted("expm_frechet", a, direction)
    slope = wrap(expm_slope(a, direction))
    return (wrap(Expm()(a)), slope) if compute_expm else slope


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Principal square roots of square matrices.

    Parameters
    ----------
    A : array_like
        Of shape (..., n, n).
    blocksize : int
        Accepted; of no effect.

    Returns
    -------
    Array
        Complex, also for real matrices. Differentiable in both modes, to all orders, where no
        eigenvalue is 0.

    Raises
    ------
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.sqrtm(np.diag([4.0, 9.0])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float64)
    """
    x = square_matrix(A, "sqrtm", "A")
    return wrap(SquareRoot()(convert(x, complex_dtype(aval_of(x).dtype))))  # type: ignore[no-any-return]


def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """An analytic function of a square matrix, by Schur's triangle and Parlett's recurrence.

    Parameters
    ----------
    A : array_like
        Of shape (n, n), with different eigenvalues.
    func : callable
        The function of complex numbers; it is called on the vector of eigenvalues.
    disp : bool
        Whether to return the function alone, and not an estimate of the error too.

    Returns
    -------
    Array, or a tuple of two
        Complex. Its derivatives are refused.

    Raises
    ------
    ShapeError
        If A is not a square matrix.
    NonDifferentiableError
        Under `grad` and its kin.

    Examples
    --------
    >>> import numpy as np
    >>> import fgrad.numpy as fnp
    >>> from fgrad.scipy import linalg
    >>> linalg.funm(np.array([[1.0, 1.0], [0.0, 2.0]]), lambda x: x * x).real
    Array([[1., 3.],
           [0., 4.]], dtype=float64)
    """
    x = square_matrix(A, "funm", "A")
    shape = aval_of(x).shape
    if len(shape) != 2:
        raise ShapeError(
            f"funm: A has shape {shape}; give one matrix, and map fgrad.vmap over more"
        )
    triangle, turn = (wrap(part) for part in Schur(True)(x))
    n = shape[0]
    values = fnp.asarray(func(fnp.diagonal(triangle)))
    entries = {(i, i): values[i] for i in range(n)}
    smallest: Any = fnp.inf
    for p in range(1, n):
        for i in range(n - p):
            j = i + p
            s = triangle[i, j] * (entries[j, j] - entries[i, i])
            for k in range(i + 1, j):
                s = s + triangle[i, k] * entries[k, j] - entries[i, k] * triangle[k, j]
            gap = triangle[j, j] - triangle[i, i]
            # Equal eigenvalues are known by a gap of nothing: the quotient is left out there.
            entries[i, j] = s / fnp.where(gap == 0, 1.0, gap)
            smallest = fnp.minimum(smallest, abs(gap))
    zero = fnp.zeros((), triangle.dtype)
    rows = [fnp.stack([entries.get((i, j), zero) for j in range(n)]) for i in range(n)]
    upper = fnp.stack(rows) if n else triangle
    found = turn @ upper @ fnp.conj(turn).T
    if disp:
        return found
    eps = float(fnp.finfo(found.dtype).eps)
    above = fnp.linalg.norm(fnp.triu(upper, 1), 1) if n else fnp.zeros(())
    error = (
        fnp.minimum(1.0, fnp.maximum(eps, eps / smallest * above)) if n > 1 else fnp.asarray(eps)
    )
    return found, error


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """The solution x of ``A @ x + x @ B = C``.

    Parameters
    ----------
    A : array_like
        Of shape (..., m, m).
    B : array_like
        Of shape (..., n, n).
    C : array_like
        Of shape (..., m, n).
    method : {'schur', 'eigen'}
        Accepted; of no effect.
    tol : float
        Accepted; of no effect.

    Returns
    -------
    Array
        Of the shape of C. Differentiable in both modes, to all orders. NaN or infinite where an
        eigenvalue of A is the negative of one of B.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.solve_sylvester(np.eye(2), np.eye(2), np.ones((2, 2)))
    Array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float64)
    """
    name = "solve_sylvester"
    if method not in ("schur", "eigen"):
        raise ArgumentError(f"{name}: method is {method!r}; give 'schur' or 'eigen'")
    a, b, c = square_matrix(A, name, "A"), square_matrix(B, name, "B"), matrix(C, name, "C")
    shapes = [aval_of(x).shape for x in (a, b, c)]
    if shapes[2][-2:] != (shapes[0][-1], shapes[1][-1]):
        raise ShapeError(
            f"{name}: A of shape {shapes[0]}, B of shape {shapes[1]} and C of shape {shapes[2]} do not fit; give C "
            f"the shape (..., {shapes[0][-1]}, {shapes[1][-1]})"
        )
    a, b = promoted(name, a, b)
    a, c = promoted(name, a, c)
    a, b = promoted(name, a, b)
    return wrap(Sylvester()(a, b, c))  # type: ignore[no-any-return]
