"""Softmax over all axes unless one is given."""

from __future__ import annotations

from collections.abc import Sequence

from fgrad import nn
from fgrad.array import Array
from fgrad.numpy._support import ArrayLike


def softmax(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None) -> Array:
    """Exponentials divided by their sum along axes.

    Parameters
    ----------
    x : array_like
    axis : int, sequence of int or None
        The axes along which the result sums to one; None means all.

    Returns
    -------
    Array
        Of the shape of x, floating. Differentiable to every order.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import special
    >>> special.softmax(np.zeros((2, 2)))
    Array([[0.25, 0.25],
           [0.25, 0.25]], dtype=float64)
    """
    return nn.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None) -> Array:
    """Logarithm of `softmax`, without overflow.

    Parameters
    ----------
    x : array_like
    axis : int, sequence of int or None
        The axes along which the exponentials sum to one; None means all.

    Returns
    -------
    Array
        Of the shape of x, floating. Differentiable to every order.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import special
    >>> special.log_softmax(np.array([0.0, -1000.0]))
    Array([    0., -1000.], dtype=float64)
    """
    return nn.log_softmax(x, axis)
