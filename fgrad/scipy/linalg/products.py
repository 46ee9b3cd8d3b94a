"""Products with factors of matrices, by SciPy's names."""

from __future__ import annotations

from typing import Any

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.scipy.linalg.factors import qr


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """A product with the columns Q of the QR factors of a matrix, and the triangle.

    Parameters
    ----------
    a : array_like
        Of shape (..., m, n); k is the smaller of m and n.
    c : array_like
        Of shape (..., k, p) on the right of Q, or (..., p, m) on its left; or a vector.
    mode : {'right', 'left'}
        On which side of c stands Q: ``"right"`` is ``c @ Q``, ``"left"`` is ``Q @ c``.
    pivoting : bool
        Whether columns are exchanged as in `qr`; their order is returned too.
    conjugate : bool
        Whether to multiply with the conjugate of Q.
    overwrite_a, overwrite_c : bool
        Accepted; of no effect.

    Returns
    -------
    tuple of Array
        The product, R of shape (..., k, n), and with pivoting the order. Differentiable where `qr` is.

    Raises
    ------
    ArgumentError
        If the mode is another.
    ShapeError
        If c does not fit Q.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> a, b = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.0, 2.0, 3.0])
    >>> rotated, r = linalg.qr_multiply(a, b)
    >>> linalg.solve_triangular(r, rotated).round(12) + 0.0
    Array([0., 1.], dtype=float64)
    """
    if mode not in ("left", "right"):
        raise ArgumentError(f"qr_multiply: mode is {mode!r}; give 'left' or 'right'")
    q, *rest = qr(a, mode="economic", pivoting=pivoting)
    q = fnp.conj(q) if conjugate else q
    factor: Any = fnp.asarray(c)
    *_, m, k = q.shape
    vector = factor.ndim == 1
    if vector:
        factor = factor[:, None] if mode == "left" else factor[None]
    place, size = (-2, k) if mode == "left" else (-1, m)
    if factor.ndim < 2 or factor.shape[place] != size:
        raise ShapeError(
            f"qr_multiply: c has shape {fnp.shape(c)} and Q {q.shape}; for mode={mode!r} axis {place} of c must have "
            f"{size} elements"
        )
    product: Any = q @ factor if mode == "left" else factor @ q
    if vector:
        product = product[..., 0] if mode == "left" else product[..., 0, :]
    return (product, *rest)
