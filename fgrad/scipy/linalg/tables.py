"""Matrices known by their size alone: Hilbert's, Pascal's, Hadamard's, Helmert's, Fourier's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.errors import ArgumentError
from fgrad.numpy._support import DTypeLike, static_int


def _size(n: Any, name: str, least: int = 0) -> int:
    size = static_int(n, f"{name}: n")
    if size < least:
        raise ArgumentError(f"{name}: n is {size}; give a size of at least {least}")
    return size


def _made(entries: Any, dtype: Any = dtypes.FLOAT64) -> Array:
    return wrap(np.asarray(entries, dtypes.canonical(np.dtype(dtype))))  # type: ignore[no-any-return]


def hilbert(n: int) -> Array:
    """Hilbert's matrix, ``1 / (i + j + 1)``.

    Parameters
    ----------
    n : int

    Returns
    -------
    Array
        Of shape (n, n).

    Examples
    --------
    >>> from fgrad.scipy import linalg
    >>> linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333333]], dtype=float64)
    """
    i = np.arange(_size(n, "hilbert"))
    return _made(1.0 / (i[:, None] + i[None, :] + 1.0))


def invhilbert(n: int) -> Array:
    """The inverse of Hilbert's matrix, whose entries are integers.

    Parameters
    ----------
    n : int

    Returns
    -------
    Array
        Of shape (n, n); entries are exact up to rounding each.

    Examples
    --------
    >>> from fgrad.scipy import linalg
    >>> linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float64)
    """
    size = _size(n, "invhilbert")

    def entry(i: int, j: int) -> float:
        sign = -1 if (i + j) % 2 else 1
        ways = math.comb(size + i, size - j - 1) * math.comb(size + j, size - i - 1)
        return float(sign * (i + j + 1) * ways * math.comb(i + j, i) ** 2)

    rows = [[entry(i, j) for j in range(size)] for i in range(size)]
    return _made(np.reshape(np.asarray(rows, float), (size, size)))


def _pascal_triangle(size: int, sign: bool) -> Any:
    entries = [
        [float((-1) ** (i + j) if sign else 1) * math.comb(i, j) for j in range(size)]
        for i in range(size)
    ]
    return np.reshape(np.asarray(entries, float), (size, size))


def _kind(kind: Any, name: str) -> str:
    chosen = "symmetric" if kind is None else kind
    if chosen not in ("symmetric", "lower", "upper"):
        raise ArgumentError(
            f"{name}: kind is {kind!r}; give one of 'symmetric', 'lower' and 'upper'"
        )
    return str(chosen)


def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's matrix of binomial coefficients.

    Parameters
    ----------
    n : int
    kind : {'symmetric', 'lower', 'upper'}, optional
        Whether it is symmetric, as by default, or a triangle.

    Returns
    -------
    Array
        Of shape (n, n).

    Raises
    ------
    ArgumentError
        If the kind is another.

    Examples
    --------
    >>> from fgrad.scipy import linalg
    >>> linalg.pascal(3)
    Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float64)
    """
    size, chosen = _size(n, "pascal"), _kind(kind, "pascal")
    if chosen == "symmetric":
        entries = [[float(math.comb(i + j, i)) for j in range(size)] for i in range(size)]
        return _made(np.reshape(np.asarray(entries, float), (size, size)))
    lower = _pascal_triangle(size, False)
    return _made(lower if chosen == "lower" else lower.T)


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of Pascal's matrix.

    Parameters
    ----------
    n : int
    kind : {'symmetric', 'lower', 'upper'}, optional
        Whether it is the symmetric one, as by default, or a triangle.

    Returns
    -------
    Array
        Of shape (n, n).

    Raises
    ------
    ArgumentError
        If the kind is another.

    Examples
    --------
    >>> from fgrad.scipy import linalg
    >>> linalg.invpascal(2)
    Array([[ 2., -1.],
           [-1.,  1.]], dtype=float64)
    """
    size, chosen = _size(n, "invpascal"), _kind(kind, "invpascal")
    lower = _pascal_triangle(size, True)
    if chosen == "symmetric":
        return _made(lower.T @ lower)
    return _made(lower if chosen == "lower" else lower.T)


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Hadamard's matrix of orthogonal rows of ones and minus ones, after Sylvester.

    Parameters
    ----------
    n : int
        A power of two.
    dtype : dtype-like

    Returns
    -------
    Array
        Of shape (n, n).

    Raises
    ------
    ArgumentError
        If n is no power of two.

    Examples
    --------
    >>> from fgrad.scipy import linalg
    >>> linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int64)
    """
    size = _size(n, "hadamard", 1)
    if size & (size - 1):
        raise ArgumentError(f"hadamard: n is {size}; give a power of two")
    found = np.ones((1, 1), int)
    while len(found) < size:
        found = np.block([[found, found], [found, -found]])
    return _made(found, dtypes.as_dtype(dtype, "hadamard: dtype"))


def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix of orthonormal rows that contrast each number with those before.

    Parameters
    ----------
    n : int
    full : bool
        Whether the constant row stands on top.

    Returns
    -------
    Array
        Of shape (n, n), or (n - 1, n) without the constant row.

    Examples
    --------
    >>> from fgrad.scipy import linalg
    >>> linalg.helmert(3).round(4)
    Array([[ 0.7071, -0.7071,  0.    ],
           [ 0.4082,  0.4082, -0.8165]], dtype=float64)
    """
    size = _size(n, "helmert", 1)
    i = np.arange(size)
    rows = np.tril(np.ones((size, size)), -1) - np.diag(i.astype(float))
    rows[0] = 1.0
    lengths = np.sqrt(np.concatenate([[size], i[1:] * (i[1:] + 1.0)]))
    made = rows / lengths[:, None]
    return _made(made if full else made[1:])


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform.

    Parameters
    ----------
    n : int
    scale : {None, 'sqrtn', 'n'}
        Whether to divide by the root of n, which makes it unitary, or by n.
    dtype : dtype-like, optional
        A complex one; by default complex128.

    Returns
    -------
    Array
        Of shape (n, n).

    Raises
    ------
    ArgumentError
        If the scale is another.

    Examples
    --------
    >>> from fgrad.scipy import linalg
    >>> linalg.dft(2).real.round(12)
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float64)
    """
    size = _size(n, "dft", 1)
    if scale not in (None, "sqrtn", "n"):
        raise ArgumentError(f"dft: scale is {scale!r}; give None, 'sqrtn' or 'n'")
    i = np.arange(size)
    waves = np.exp(-2j * np.pi * (np.outer(i, i) % size) / size)
    divisor = {None: 1.0, "sqrtn": math.sqrt(size), "n": float(size)}[scale]
    made = dtypes.COMPLEX128 if dtype is None else dtypes.as_dtype(dtype, "dft: dtype")
    return _made(waves / divisor, made)
