"""Matrices made of vectors by a pattern: blocks, constant diagonals, companions."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, static_int


def _vector(x: ArrayLike, name: str, argument: str, least: int = 1) -> Any:
    vector = fnp.asarray(x)
    if vector.ndim < 1 or vector.shape[-1] < least:
        raise ShapeError(
            f"{name}: {argument} has shape {vector.shape}; give a vector of at least {least} elements"
        )
    return vector


def block_diag(*arrs: ArrayLike) -> Array:
    """Matrices as the blocks on the diagonal of one, which is zero elsewhere.

    Parameters
    ----------
    *arrs : array_like
        Of at most two axes; a vector is a matrix of one row.

    Returns
    -------
    Array
        In the dtype that the blocks promote to. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If a block has more than two axes.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.block_diag(np.ones((1, 2)), 3.0)
    Array([[1., 1., 0.],
           [0., 0., 3.]], dtype=float64)
    """
    if not arrs:
        return fnp.zeros((1, 0))
    blocks = [fnp.atleast_2d(fnp.asarray(x)) for x in arrs]
    for n, block in enumerate(blocks):
        if block.ndim > 2:
            raise ShapeError(
                f"block_diag: block {n} has shape {block.shape}; give blocks of at most two axes"
            )
    dtype = fnp.result_type(*blocks)
    width = sum(block.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        after = width - start - block.shape[1]
        rows.append(fnp.pad(block.astype(dtype), ((0, 0), (start, after))))
        start += block.shape[1]
    return fnp.concatenate(rows)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices with constant diagonals.

    Parameters
    ----------
    c : array_like
        The first column, of shape (..., m).
    r : array_like, optional
        The first row, of shape (..., n), whose first element is not read. By default the conjugate
        of c.

    Returns
    -------
    Array
        Of shape (..., m, n). Differentiable in both modes.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.toeplitz(np.array([1, 2, 3]), np.array([1, 4]))
    Array([[1, 4],
           [2, 1],
           [3, 2]], dtype=int64)
    """
    column: Any = fnp.atleast_1d(fnp.asarray(c))
    row: Any = fnp.conj(column) if r is None else fnp.atleast_1d(fnp.asarray(r))
    m, n = column.shape[-1], row.shape[-1]
    dtype = fnp.result_type(column, row)
    lead = fnp.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    if not m or not n:
        return fnp.zeros((*lead, m, n), dtype)
    # The diagonals from the lower left to the upper right.
    parts = (fnp.flip(column, -1), row[..., 1:])
    line: Any = fnp.concatenate([_over(x, lead).astype(dtype) for x in parts], axis=-1)
    places = np.arange(n)[None, :] - np.arange(m)[:, None] + m - 1
    return line[..., places]


def _over(x: Any, lead: tuple[int, ...]) -> Array:
    return fnp.broadcast_to(x, (*lead, x.shape[-1]))


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices with constant diagonals from the lower left to the upper right.

    Parameters
    ----------
    c : array_like
        The first column, of shape (..., m).
    r : array_like, optional
        The last row, of shape (..., n), whose first element is not read. By default zeros.

    Returns
    -------
    Array
        Of shape (..., m, n). Differentiable in both modes.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.hankel(np.array([1, 2]), np.array([2, 3, 4]))
    Array([[1, 2, 3],
           [2, 3, 4]], dtype=int64)
    """
    column: Any = fnp.atleast_1d(fnp.asarray(c))
    row: Any = fnp.zeros_like(column) if r is None else fnp.atleast_1d(fnp.asarray(r))
    m, n = column.shape[-1], row.shape[-1]
    dtype = fnp.result_type(column, row)
    lead = fnp.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    if not m or not n:
        return fnp.zeros((*lead, m, n), dtype)
    line: Any = fnp.concatenate(
        [_over(x, lead).astype(dtype) for x in (column, row[..., 1:])], axis=-1
    )
    return line[..., np.arange(m)[:, None] + np.arange(n)[None, :]]


def circulant(c: ArrayLike) -> Array:
    """Square matrices whose columns are the first one, turned by one place each time.

    Parameters
    ----------
    c : array_like
        The first column, of shape (..., n).

    Returns
    -------
    Array
        Of shape (..., n, n). Differentiable in both modes.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.circulant(np.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int64)
    """
    column = _vector(c, "circulant", "c", 0)
    n = column.shape[-1]
    return column[..., (np.arange(n)[:, None] - np.arange(n)[None, :]) % max(n, 1)]


def companion(a: ArrayLike) -> Array:
    """The matrix whose characteristic polynomial has these coefficients, the highest one first.

    Parameters
    ----------
    a : array_like
        Of shape (..., n), of at least two coefficients.

    Returns
    -------
    Array
        Of shape (..., n - 1, n - 1), floating. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If there are fewer than two coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.companion(np.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float64)
    """
    coefficients = _vector(a, "companion", "a", 2)
    n = coefficients.shape[-1] - 1
    first = -coefficients[..., 1:] / coefficients[..., :1]
    below = fnp.broadcast_to(fnp.eye(n - 1, n, dtype=first.dtype), (*first.shape[:-1], n - 1, n))
    return fnp.concatenate([first[..., None, :], below], axis=-2)


def fiedler(a: ArrayLike) -> Array:
    """The matrix of distances between numbers.

    Parameters
    ----------
    a : array_like
        Of shape (..., n).

    Returns
    -------
    Array
        Of shape (..., n, n). Differentiable in both modes.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.fiedler(np.array([1, 4]))
    Array([[0, 3],
           [3, 0]], dtype=int64)
    """
    x = _vector(a, "fiedler", "a", 0)
    return fnp.abs(x[..., :, None] - x[..., None, :])


def fiedler_companion(a: ArrayLike) -> Array:
    """The companion matrix of five diagonals of a polynomial, the highest coefficient first.

    Parameters
    ----------
    a : array_like
        Of shape (n,).

    Returns
    -------
    Array
        Of shape (n - 1, n - 1), floating. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If a is not a vector.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.fiedler_companion(np.array([1.0, -16.0, 86.0, -176.0]))
    Array([[ 16., -86.,   1.],
           [  1.,   0.,   0.],
           [  0., 176.,   0.]], dtype=float64)
    """
    given = _vector(a, "fiedler_companion", "a", 1)
    if given.ndim != 1:
        raise ShapeError(f"fiedler_companion: a has shape {given.shape}; give a vector")
    n = given.shape[0] - 1
    ratio = given / given[0]
    if n == 0:
        return fnp.zeros((0, 0), ratio.dtype)
    if n == 1:
        return -ratio[1:][None]
    c: Any = fnp.zeros((n, n), ratio.dtype)
    ones = np.arange(0, n - 2, 2)
    c = c.at[ones, ones + 2].set(1.0)
    ones = np.arange(3, n, 2)
    c = c.at[ones, ones - 2].set(1.0)
    c = c.at[0, 0].set(-ratio[1]).at[1, 0].set(1.0)
    odd = np.arange(0, n - 1, 2)
    c = c.at[odd, odd + 1].set(-ratio[odd + 2])
    even = np.arange(1, n - 1, 2)
    return c.at[even + 1, even].set(-ratio[even + 2])


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrix by which a vector of length n is convolved with another.

    Parameters
    ----------
    a : array_like
        Of shape (..., m).
    n : int
        The number of columns.
    mode : {'full', 'same', 'valid'}
        Which part of the convolution counts, as in `fgrad.numpy.convolve`.

    Returns
    -------
    Array
        Of shape (..., k, n), k being the length of the convolution. Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If n is below 1, or the mode is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.convolution_matrix(np.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int64)
    """
    x = _vector(a, "convolution_matrix", "a")
    columns = static_int(n, "convolution_matrix: n")
    if columns < 1:
        raise ArgumentError(f"convolution_matrix: n is {columns}; give a positive number")
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(
            f"convolution_matrix: mode is {mode!r}; give one of 'full', 'same' and 'valid'"
        )
    m = x.shape[-1]
    none = [(0, 0)] * (x.ndim - 1)
    full: Any = toeplitz(
        fnp.pad(x, [*none, (0, columns - 1)]), fnp.pad(x[..., :1], [*none, (0, columns - 1)])
    )
    if mode == "full":
        return full
    if mode == "same":
        size = max(m, columns)
        start = (m + columns - 1 - size) // 2
        return full[..., start : start + size, :]
    size = max(m, columns) - min(m, columns) + 1
    start = min(m, columns) - 1
    return full[..., start : start + size, :]


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Leslie's matrix of a population by ages.

    Parameters
    ----------
    f : array_like
        Children of each age, of shape (..., n).
    s : array_like
        What part of each age lives on, of shape (..., n - 1).

    Returns
    -------
    Array
        Of shape (..., n, n). Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import linalg
    >>> linalg.leslie(np.array([0.1, 2.0]), np.array([0.3]))
    Array([[0.1, 2. ],
           [0.3, 0. ]], dtype=float64)
    """
    births, survival = _vector(f, "leslie", "f", 2), _vector(s, "leslie", "s")
    n = births.shape[-1]
    if survival.shape[-1] != n - 1:
        raise ShapeError(
            f"leslie: f of shape {births.shape} and s of shape {survival.shape} do not fit; give s one element less"
        )
    dtype = fnp.result_type(births, survival)
    births, survival = births.astype(dtype), survival.astype(dtype)
    diagonal: Any = survival[..., :, None] * fnp.eye(n - 1, n, dtype=dtype)
    lead = fnp.broadcast_shapes(births.shape[:-1], diagonal.shape[:-2])
    first = fnp.broadcast_to(births[..., None, :], (*lead, 1, n))
    return fnp.concatenate([first, fnp.broadcast_to(diagonal, (*lead, n - 1, n))], axis=-2)
