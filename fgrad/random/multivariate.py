"""Vectors and matrices: multivariate normal, orthogonal, points of a ball."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fgrad.numpy as fnp
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, DTypeLike, given_dtype, operand, static_int
from fgrad.primitives.contraction import matmul
from fgrad.primitives.elementwise import abs_, cast_to_float, convert, div, power, sqrt
from fgrad.primitives.families import Sum, add, mul, reshape
from fgrad.primitives.promotion import common_dtype
from fgrad.random.arguments import check_fits, float_dtype, parameters, refuse_below, shape_of_draw
from fgrad.random.gamma import generalized_normals
from fgrad.random.key_arguments import single_key, split_words
from fgrad.random.normal import normals, normals_of_dtype
from fgrad.random.quantiles import exponentials

_METHODS = ("cholesky", "eigh", "svd")


def multivariate_normal(
    key: Any,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw vectors of normal numbers with a mean and a covariance.

    Parameters
    ----------
    key : key
        A single key.
    mean : array_like
        Of shape (..., n).
    cov : array_like
        Covariance matrices, of shape (..., n, n).
    shape : int or sequence of int, optional
        The shape of the result without the last axis; by default, the leading axes of mean and cov
        broadcast together.
    dtype : dtype-like, optional
        A floating-point dtype; that of mean and cov by default.
    method : {"cholesky", "eigh", "svd"}
        How the root of the covariance is found: "cholesky" is fastest, the others take singular
        matrices.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Of shape ``(*shape, n)``. Differentiable towards mean and cov.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, the shapes do not fit, or the method is not known.
    LinAlgError
        If the method is "cholesky" and the covariance is not positive definite.

    Examples
    --------
    >>> import fgrad
    >>> import numpy as np
    >>> fgrad.random.multivariate_normal(fgrad.random.key(0), np.zeros(2), np.eye(2), (5,)).shape
    (5, 2)
    """
    implementation, words = single_key(key, "multivariate_normal")
    if method not in _METHODS:
        raise ArgumentError(
            f"multivariate_normal: method={method!r} is not known; give 'cholesky', 'eigh' or 'svd'"
        )
    center = cast_to_float(operand(mean, "multivariate_normal", "mean"))
    covariance = cast_to_float(operand(cov, "multivariate_normal", "cov"))
    wanted = (
        common_dtype([aval_of(center), aval_of(covariance)])
        if dtype is None
        else given_dtype(dtype, "multivariate_normal")
    )
    wanted = float_dtype(wanted, "multivariate_normal")
    own, square = aval_of(center).shape, aval_of(covariance).shape
    if not own:
        raise ShapeError("multivariate_normal: mean must be a vector, got a single number")
    n = own[-1]
    if square[-2:] != (n, n):
        raise ShapeError(
            f"multivariate_normal: cov must end in ({n}, {n}), as mean has shape {own}, got shape {square}"
        )
    if shape is None:
        try:
            size = np.broadcast_shapes(own[:-1], square[:-2])
        except ValueError:
            raise ShapeError(
                f"multivariate_normal: mean of shape {own} and cov of shape {square} do not broadcast together"
            ) from None
    else:
        size = shape_of_draw(shape, "multivariate_normal")
        check_fits("multivariate_normal", "mean without its last axis,", own[:-1], size)
        check_fits("multivariate_normal", "cov without its last axes,", square[:-2], size)
    root = _root(convert(covariance, wanted), method)
    draws = reshape(normals(implementation, words, (*size, n), wanted), (*size, n, 1))
    moved = reshape(matmul(root, draws), (*size, n))
    return wrap(add(convert(center, wanted), moved))  # type: ignore[no-any-return]


def _root(covariance: Any, method: str) -> Any:
    """A matrix whose product with its transpose is the covariance."""
    if method == "cholesky":
        return operand(fnp.linalg.cholesky(wrap(covariance)), "multivariate_normal")
    if method == "eigh":
        values, vectors = fnp.linalg.eigh(wrap(covariance))
    else:
        vectors, values, _ = fnp.linalg.svd(wrap(covariance))
    spread = sqrt(operand(values, "multivariate_normal"))
    own = aval_of(spread).shape
    return mul(operand(vectors, "multivariate_normal"), reshape(spread, (*own[:-1], 1, own[-1])))


def orthogonal(
    key: Any,
    n: int,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw orthogonal matrices, uniformly (by Haar's measure).

    Parameters
    ----------
    key : key
        A single key.
    n : int
        The number of rows.
    shape : int or sequence of int
        How many matrices.
    dtype : dtype-like, optional
        float64 by default; a complex dtype gives unitary matrices.
    m : int, optional
        The number of columns; n by default. The shorter of rows and columns are orthonormal.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Of shape ``(*shape, n, m)``.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or a size is negative.

    Examples
    --------
    >>> import fgrad
    >>> q = fgrad.random.orthogonal(fgrad.random.key(0), 3)
    >>> bool(abs(q @ q.T - fgrad.numpy.eye(3)).max() < 1e-12)
    True
    """
    rows = static_int(n, "orthogonal: n")
    columns = rows if m is None else static_int(m, "orthogonal: m")
    if rows < 0 or columns < 0:
        raise ShapeError(f"orthogonal: n and m must not be negative, got {rows} and {columns}")
    size = shape_of_draw(shape, "orthogonal")
    wanted = given_dtype(dtype, "orthogonal")
    if wanted is not None and wanted.kind not in "fc":
        raise DTypeError(
            f"orthogonal: dtype must be a floating-point or complex dtype, got {wanted}"
        )
    implementation, words = single_key(key, "orthogonal")
    tall = (*size, max(rows, columns), min(rows, columns))
    draws = normals_of_dtype(implementation, words, tall, wanted or float_dtype(None, "orthogonal"))
    q, r = fnp.linalg.qr(wrap(draws))
    # The factorization is unique where the diagonal of R is positive.
    q = q * fnp.sign(fnp.linalg.diagonal(r))[..., None, :]
    return fnp.matrix_transpose(q) if rows < columns else q


def ball(
    key: Any,
    d: int,
    p: float = 2,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw points of the unit ball of a p-norm, uniformly.

    Parameters
    ----------
    key : key
        A single key.
    d : int
        The number of dimensions.
    p : float
        The exponent of the norm, positive.
    shape : int or sequence of int
        How many points.
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Of shape ``(*shape, d)``. Differentiable twice towards p.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, d is negative or p not positive.

    Examples
    --------
    >>> import fgrad
    >>> x = fgrad.random.ball(fgrad.random.key(0), 3, shape=(100,))
    >>> bool((x**2).sum(-1).max() <= 1.0)
    True
    """
    implementation, words = single_key(key, "ball")
    wanted = float_dtype(dtype, "ball")
    size = shape_of_draw(shape, "ball")
    dimensions = static_int(d, "ball: d")
    if dimensions < 0:
        raise ShapeError(f"ball: d must not be negative, got {dimensions}")
    _, (exponent,) = parameters("ball", (), wanted, p=p)
    refuse_below("ball", "p", exponent, 0.0, strict=True)
    first, second = split_words(implementation, words)
    draws = generalized_normals(implementation, first, (*size, dimensions), exponent)
    rest = exponentials(implementation, second, size, wanted)
    total = add(Sum((len(size),))(power(abs_(draws), exponent)), rest)
    radius = power(total, div(wanted.type(1), exponent))
    return wrap(div(draws, reshape(radius, (*size, 1))))  # type: ignore[no-any-return]
