"""Spherical harmonics."""

from __future__ import annotations

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import DTypeError
from fgrad.numpy._support import ArrayLike, operand
from fgrad.primitives import spherical_harmonics


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """Spherical harmonics.

    Parameters
    ----------
    n : array_like of int
        Degrees.
    m : array_like of int
        Orders; the harmonic is 0 where ``abs(m) > n``.
    theta : array_like
        Polar angles, from 0 to pi.
    phi : array_like
        Azimuthal angles, from 0 to 2 pi. All arguments broadcast together.
    diff_n : int, optional
        Accepted as in JAX; derivatives are those of the transforms.
    n_max : int, optional
        Accepted; of no effect.

    Returns
    -------
    Array
        Complex. Differentiable to every order towards the angles.

    Raises
    ------
    DTypeError
        If degrees or orders are not integers.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import special
    >>> complex(special.sph_harm_y(1, 0, 0.0, 0.0).round(6))
    (0.488603+0j)
    """
    degree, order = operand(n, "sph_harm_y", "n"), operand(m, "sph_harm_y", "m")
    for argument, given in (("n", degree), ("m", order)):
        if aval_of(given).dtype.kind not in "biu":
            raise DTypeError(
                f"sph_harm_y: {argument} has dtype {aval_of(given).dtype}, expected integers; convert it with "
                ".astype(int)"
            )
    angles = operand(theta, "sph_harm_y", "theta"), operand(phi, "sph_harm_y", "phi")
    return wrap(spherical_harmonics.sph_harm_y(degree, order, *angles))  # type: ignore[no-any-return]
