"""Linear systems: general, triangular, and by factors at hand."""

from __future__ import annotations

from typing import Any

from fgrad import numpy as fnp
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, operand
from fgrad.numpy.linalg._operands import matrix, square_matrix
from fgrad.primitives.families import broadcast_to
from fgrad.primitives.linalg import swapped
from fgrad.primitives.lu import OrderOfExchanges, in_order, lu_factors
from fgrad.primitives.solve import TriangularSolve, triangular_solve
from fgrad.primitives.sorting import Argsort
from fgrad.scipy.linalg._sides import solved, transposition


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Inverses of square matrices.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).
    overwrite_a, check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    Array
        Differentiable in both modes, to all orders.

    Raises
    ------
    LinAlgError
        If a matrix is singular.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.inv(np.diag([2.0, 4.0]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float64)
    """
    return fnp.linalg.inv(a)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Determinants of square matrices.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).
    overwrite_a, check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    Array
        Differentiable in both modes, to all orders, for singular matrices too.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> float(linalg.det(np.array([[2.0, 1.0], [0.0, 4.0]])).round(12))
    8.0
    """
    return fnp.linalg.det(a)


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """Solutions x of ``a @ x = b``.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n).
    b : array_like
        Of shape (n,) or (..., n, k).
    lower : bool
        Which triangle of positive definite matrices is read.
    overwrite_a, overwrite_b, debug, check_finite : bool
        Accepted; of no effect.
    assume_a : {'gen', 'sym', 'her', 'pos'}
        'pos' solves by Cholesky's factors; symmetric and Hermitian matrices are solved as general
        ones.

    Returns
    -------
    Array
        Of the shape of b. Differentiable in both modes, to all orders.

    Raises
    ------
    LinAlgError
        If a matrix is singular, or not positive definite where that was assumed.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.solve(np.diag([2.0, 4.0]), np.array([2.0, 2.0]), assume_a="pos")
    Array([1. , 0.5], dtype=float64)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ArgumentError(
            f"solve: assume_a is {assume_a!r}; give one of 'gen', 'sym', 'her' and 'pos'"
        )
    if assume_a != "pos":
        return fnp.linalg.solve(a, b)
    square_matrix(a, "solve")
    return cho_solve(cho_factor(a, lower), b)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """Solutions x of ``a @ x = b`` for triangular matrices.

    Parameters
    ----------
    a : array_like
        Of shape (..., n, n); the other triangle is not read.
    b : array_like
        Of shape (n,) or (..., n, k).
    trans : {0, 1, 2, 'N', 'T', 'C'}
        Whether to solve with a, its transpose or its adjoint.
    lower : bool
        Whether a is a lower triangle.
    unit_diagonal : bool
        Whether the diagonal counts as ones, without being read.
    overwrite_b, debug, check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    Array
        Of the shape of b. Differentiable in both modes, to all orders. A zero on the diagonal gives
        infinities and NaN.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
    >>> linalg.solve_triangular(a, np.array([2.0, 5.0]), lower=True)
    Array([1., 1.], dtype=float64)
    """
    name = "solve_triangular"
    which = transposition(trans, name)
    left = square_matrix(a, name)
    below, unit = bool(lower), bool(unit_diagonal)
    return wrap(  # type: ignore[no-any-return]
        solved(name, left, b, lambda x, y: triangular_solve(x, y, below, which, unit))
    )


# ---- Cholesky's factors --------------------------------------------------------------------------


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Cholesky's factors of positive definite matrices, for `cho_solve`.

    Parameters
    ----------
    a : array_like
        Hermitian, of shape (..., n, n); only the triangle that is returned is read.
    lower : bool
        Which triangle to return.
    overwrite_a, check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    Array
        The factors. Differentiable in both modes, to all orders.
    bool
        Which triangle they are, as given.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite. Under `vmap`, the results of such an example are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> factor, lower = linalg.cho_factor(np.diag([4.0, 9.0]))
    >>> linalg.cho_solve((factor, lower), np.array([4.0, 9.0]))
    Array([1., 1.], dtype=float64)
    """
    factor = fnp.linalg.cholesky(a, upper=not lower, symmetrize_input=False)
    return factor, bool(lower)


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solutions x of ``a @ x = b``, with what `cho_factor` returned for a.

    Parameters
    ----------
    c_and_lower : tuple of array_like and bool
        The factors, and whether they are lower triangles.
    b : array_like
        Of shape (n,) or (..., n, k).
    overwrite_b, check_finite : bool
        Accepted; of no effect.

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
    >>> from fgrad.scipy import linalg
    >>> linalg.cho_solve((np.diag([2.0, 3.0]), True), np.array([4.0, 9.0]))
    Array([1., 1.], dtype=float64)
    """
    factor, lower = c_and_lower
    c, below = square_matrix(factor, "cho_solve", "the factor"), bool(lower)

    def both(c: Any, side: Any) -> Any:
        half = TriangularSolve(below, conjugate_transpose=not below)(c, side)
        return TriangularSolve(below, conjugate_transpose=below)(c, half)

    return wrap(solved("cho_solve", c, b, both))  # type: ignore[no-any-return]


# ---- factors with row exchanges ------------------------------------------------------------------


def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Triangular factors with row exchanges, for `lu_solve`.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n).
    overwrite_a, check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    lu : Array
        Both factors in one matrix; the ones on the diagonal of the lower one are left out.
        Differentiable in both modes, to all orders, where the leading columns are independent.
    piv : Array
        With which row each row was exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> lu, piv = linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> lu
    Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float64)
    >>> piv
    Array([1, 1], dtype=int32)
    """
    packed, exchanges, _ = lu_factors(matrix(a, "lu_factor"))
    return wrap(packed), wrap(exchanges)


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int | str = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solutions x of ``a @ x = b``, with what `lu_factor` returned for a.

    Parameters
    ----------
    lu_and_piv : tuple of array_like
        The factors and the exchanges of rows.
    b : array_like
        Of shape (n,) or (..., n, k).
    trans : {0, 1, 2, 'N', 'T', 'C'}
        Whether to solve with a, its transpose or its adjoint.
    overwrite_b, check_finite : bool
        Accepted; of no effect.

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
    >>> from fgrad.scipy import linalg
    >>> factors = linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> linalg.lu_solve(factors, np.array([3.0, 8.0]))
    Array([1., 1.], dtype=float64)
    """
    name = "lu_solve"
    which = transposition(trans, name)
    lu = square_matrix(lu_and_piv[0], name, "the factors")
    exchanges = operand(lu_and_piv[1], name, "the exchanges")
    n = aval_of(lu).shape[-1]
    if aval_of(exchanges).shape != aval_of(lu).shape[:-1]:
        raise ShapeError(
            f"lu_solve: factors of shape {aval_of(lu).shape} and exchanges of shape {aval_of(exchanges).shape} do "
            "not fit; give the two results of lu_factor"
        )
    order = OrderOfExchanges(n)(exchanges)

    def forth(x: Any, side: Any) -> Any:
        half = TriangularSolve(True, unit_diagonal=True)(x, in_order(_stretched(side, x), order))
        return TriangularSolve(False)(x, half)

    def back(x: Any, side: Any) -> Any:
        turned = swapped(x)
        if which == 2:
            half = TriangularSolve(False, conjugate_transpose=True)(x, _stretched(side, x))
            whole = TriangularSolve(True, conjugate_transpose=True, unit_diagonal=True)(x, half)
        else:
            half = TriangularSolve(True)(turned, _stretched(side, x))
            whole = TriangularSolve(False, unit_diagonal=True)(turned, half)
        rank = len(aval_of(order).shape)
        return in_order(whole, Argsort(rank - 1)(order))

    return wrap(solved(name, lu, b, back if which else forth))  # type: ignore[no-any-return]


def _stretched(side: Any, like: Any) -> Any:
    """A right-hand side with the batch axes of matrices."""
    shape = (*aval_of(like).shape[:-2], *aval_of(side).shape[-2:])
    lead = fnp.broadcast_shapes(shape[:-2], aval_of(side).shape[:-2])
    from_shape = (*lead, *shape[-2:])
    return broadcast_to(side, from_shape)
