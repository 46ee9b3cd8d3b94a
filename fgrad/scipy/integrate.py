"""Integrals of samples under the names of SciPy."""

from __future__ import annotations

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.numpy._support import ArrayLike

__all__ = ["trapezoid"]


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """The integral along an axis by trapezoids.

    Parameters
    ----------
    y : array_like
        Samples of the function.
    x : array_like, optional
        Where they were taken; by default `dx` apart.
    dx : array_like
    axis : int

    Returns
    -------
    Array
        Floating. Differentiable in both modes towards all arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import integrate
    >>> float(integrate.trapezoid(np.array([1.0, 2.0, 3.0]), dx=2.0))
    8.0
    """
    return fnp.trapezoid(y, x, dx, axis)
