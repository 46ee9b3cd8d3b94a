"""Associated Legendre functions of all orders and degrees up to given ones, by their recurrence."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, static_int
from fgrad.transforms.jvp import jvp


def _diagonal(order: int, x: Any, normalized: bool) -> Any:
    """The functions whose degree is their order, from 0 to `order`, along a new first axis."""
    square = 1.0 - x * x
    rows, factor = [], math.sqrt(0.25 / math.pi) if normalized else 1.0
    power: Any = fnp.ones_like(x)
    for m in range(order + 1):
        if m:
            factor *= -math.sqrt((2 * m + 1) / (2 * m)) if normalized else -(2.0 * m - 1.0)
            power = power * square if m % 2 == 0 else power
        # Roots come once, so that even orders have slopes at the ends.
        rows.append(factor * (power * fnp.sqrt(square) if m % 2 else power))
    return fnp.stack(rows)


def _values(order: int, degree: int, x: Any, normalized: bool) -> Any:
    diagonal = _diagonal(order, x, normalized)
    m = np.arange(order + 1.0)
    last, now = fnp.zeros_like(diagonal), fnp.where((m == 0)[:, None], diagonal, 0.0)
    columns = [now]
    for n in range(1, degree + 1):
        below = m < n
        gap = np.where(below, n - m, 1.0)
        if normalized:
            first = np.sqrt((4.0 * n * n - 1.0) / (gap * (n + m)))
            share = np.maximum((n - 1.0) ** 2 - m * m, 0.0) / abs(4.0 * (n - 1.0) ** 2 - 1.0)
            second = first * np.sqrt(share)
        else:
            first, second = (2.0 * n - 1.0) / gap, (n + m - 1.0) / gap
        first, second = (np.where(below, c, 0.0).astype(x.dtype)[:, None] for c in (first, second))
        following = first * x * now - second * last
        last, now = now, fnp.where((m == n)[:, None], diagonal, following)
        columns.append(now)
    return fnp.stack(columns, axis=1)


def _arguments(name: str, m: Any, n: Any, z: ArrayLike) -> tuple[int, int, Any]:
    order, degree = static_int(m, f"{name}: m"), static_int(n, f"{name}: n")
    if order < 0 or degree < 0:
        raise ArgumentError(f"{name}: m is {order} and n is {degree}; give numbers from 0")
    x: Any = fnp.asarray(z) * 1.0
    if x.ndim != 1:
        raise ShapeError(f"{name}: z has shape {x.shape}; give a vector")
    if fnp.iscomplexobj(x):
        raise DTypeError(f"{name}: z is complex; give real numbers from -1 to 1")
    return order, degree, x


def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """The associated Legendre functions of the first kind.

    JAX has removed this name.

    Parameters
    ----------
    m, n : int
        The greatest order and degree.
    z : array_like
        A vector of numbers from -1 to 1.
    is_normalized : bool
        Whether to scale them as spherical harmonics, to ``sqrt((2 n + 1) (n - m)! / (4 pi (n + m)!))``.

    Returns
    -------
    Array
        Of shape (m + 1, n + 1, len(z)), with the sign ``(-1)**m``; 0 where the order exceeds the degree.
        Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError, DTypeError
        If `z` is not a vector of real numbers.
    ArgumentError
        If `m` or `n` is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import special
    >>> special.lpmn_values(1, 2, np.array([0.6]), False)[:, :, 0].round(12) + 0.0
    Array([[ 1.  ,  0.6 ,  0.04],
           [ 0.  , -0.8 , -1.44]], dtype=float64)
    """
    order, degree, x = _arguments("lpmn_values", m, n, z)
    return _values(order, degree, x, bool(is_normalized))


def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """The associated Legendre functions of the first kind, and their derivatives.

    JAX has removed this name.

    Parameters
    ----------
    m, n : int
        The greatest order and degree.
    z : array_like
        A vector of numbers from -1 to 1.

    Returns
    -------
    (Array, Array)
        As `lpmn_values` without scale, and towards `z`. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError, DTypeError
        If `z` is not a vector of real numbers.
    ArgumentError
        If `m` or `n` is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import special
    >>> special.lpmn(0, 2, np.array([0.5]))[1][:, :, 0]
    Array([[0. , 1. , 1.5]], dtype=float64)
    """
    order, degree, x = _arguments("lpmn", m, n, z)
    found: tuple[Array, Array] = jvp(
        lambda v: _values(order, degree, v, False), (x,), (fnp.ones_like(x),)
    )
    return found
