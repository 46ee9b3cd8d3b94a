"""Vectors named by the nearest vector of a book of codes, under the names of SciPy."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

from fgrad import lax
from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike

__all__ = ["vq"]

# Above this many differences, codes are compared one after the other.
_MANY = 1_000_000


def _nearest(rows: Any, book: Any) -> Any:
    """For each row the first of the nearest codes."""
    if rows.size * book.shape[0] <= _MANY:
        return fnp.argmin(fnp.sum((rows[:, None] - book) ** 2, axis=-1), axis=-1)

    def compare(k: Any, state: Any) -> Any:
        least, which = state
        distance = fnp.sum((rows - book[k]) ** 2, axis=-1)
        closer = distance < least
        return fnp.where(closer, distance, least), fnp.where(closer, k, which)

    start = fnp.full(rows.shape[0], fnp.inf, rows.dtype), fnp.zeros(rows.shape[0], int)
    return lax.fori_loop(0, book.shape[0], compare, start)[1]


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The nearest code of each observation, and how far it is.

    Parameters
    ----------
    obs : array_like
        Real, of shape (n, features), or (n,) for numbers.
    code_book : array_like
        Of shape (codes, features), or (codes,).
    check_finite : bool
        Accepted; of no effect.

    Returns
    -------
    (Array, Array)
        The numbers of the codes, of equally near ones the first, and the distances, which are
        differentiable towards both arguments; where one is 0, its slope counts as 0.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or there are no codes.
    DTypeError
        If an argument is complex.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy.cluster import vq
    >>> vq.vq(np.array([[0.0, 1.0], [4.0, 3.0]]), np.array([[0.0, 0.0], [4.0, 4.0]]))
    (Array([0, 1], dtype=int64), Array([1., 1.], dtype=float64))
    """
    rows, book = (fnp.asarray(x) * 1.0 for x in (obs, code_book))
    for name, x in (("obs", rows), ("code_book", book)):
        if fnp.iscomplexobj(x):
            raise DTypeError(f"vq: {name} is complex; give real numbers")
    if rows.ndim not in (1, 2) or rows.ndim != book.ndim or rows.shape[1:] != book.shape[1:]:
        raise ShapeError(
            f"vq: obs has shape {rows.shape} and code_book {book.shape}; give (n, features) and (codes, features), or "
            "two vectors"
        )
    if not book.shape[0]:
        raise ShapeError(f"vq: code_book has shape {book.shape}; give at least one code")
    dtype = fnp.result_type(rows, book)
    rows, book = (x.astype(dtype).reshape(x.shape[0], -1) for x in (rows, book))
    codes: Any = _nearest(lax.stop_gradient(rows), lax.stop_gradient(book))
    return codes, fnp.linalg.norm(rows - book[codes], axis=-1)
