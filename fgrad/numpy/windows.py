"""Windows: weights that taper a finite stretch of a signal."""

from __future__ import annotations

import math
from typing import Any

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import ShapeError
from fgrad.numpy._support import ArrayLike, operand, static_int
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Full, shape_of, zeros_of
from fgrad.primitives.shape import Iota
from fgrad.primitives.special import i0


def _length(M: Any, name: str) -> int:
    return max(static_int(M, f"{name}: M"), 0)


def _places(count: int) -> Any:
    """From -1 to 1, evenly spaced."""
    dtype = dtypes.canonical(dtypes.FLOAT64)
    if count < 2:
        return zeros_of(Aval((count,), dtype))
    return p.div(Iota(count, dtype, 1 - count, 2)(), float(count - 1))


def _cosines(M: Any, weights: tuple[float, ...], name: str) -> Array:
    """The sum of weighted cosines of multiples of the angle, which runs from -pi to pi."""
    length = _length(M, name)
    if length == 1:
        return wrap(Full((1,), 1, dtypes.canonical(dtypes.FLOAT64))())  # type: ignore[no-any-return]
    places = _places(length)
    total: Any = Full(shape_of(places), weights[0], aval_of(places).dtype)()
    for order, weight in enumerate(weights[1:], 1):
        total = p.add(total, p.mul(weight, p.cos(p.mul(order * math.pi, places))))
    return wrap(total)  # type: ignore[no-any-return]


def bartlett(M: int) -> Array:
    """Triangular window, zero at both ends.

    Parameters
    ----------
    M : int
        How many weights, known while tracing; below 1, there are none.

    Returns
    -------
    Array
        A constant.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float64)
    """
    return wrap(p.sub(1.0, p.abs_(_places(_length(M, "bartlett")))))  # type: ignore[no-any-return]


def blackman(M: int) -> Array:
    """Blackman window: a sum of three cosines.

    Parameters
    ----------
    M : int
        How many weights, known while tracing; below 1, there are none.

    Returns
    -------
    Array
        A constant.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.blackman(5).round(2) + 0.0
    Array([0.  , 0.34, 1.  , 0.34, 0.  ], dtype=float64)
    """
    return _cosines(M, (0.42, 0.5, 0.08), "blackman")


def hamming(M: int) -> Array:
    """Hamming window: a raised cosine on a pedestal.

    Parameters
    ----------
    M : int
        How many weights, known while tracing; below 1, there are none.

    Returns
    -------
    Array
        A constant.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.hamming(5).round(2)
    Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float64)
    """
    return _cosines(M, (0.54, 0.46), "hamming")


def hanning(M: int) -> Array:
    """Hann window: a raised cosine, zero at both ends.

    Parameters
    ----------
    M : int
        How many weights, known while tracing; below 1, there are none.

    Returns
    -------
    Array
        A constant.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.hanning(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float64)
    """
    return _cosines(M, (0.5, 0.5), "hanning")


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Kaiser window: nearly the one with the most energy in its main lobe.

    Parameters
    ----------
    M : int
        How many weights, known while tracing; below 1, there are none.
    beta : array_like
        A number: the higher, the narrower.

    Returns
    -------
    Array
        Differentiable towards beta in both modes.

    Raises
    ------
    ShapeError
        If `beta` is not a number.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.kaiser(3, 0.0)
    Array([1., 1., 1.], dtype=float64)
    """
    width = operand(beta, "kaiser", "beta")
    if shape_of(width):
        raise ShapeError(f"kaiser: beta has shape {shape_of(width)}; give a number")
    width = p.cast_to_float(width)
    places = _places(_length(M, "kaiser"))
    inside = p.mul(p.sub(1.0, places), p.add(1.0, places))
    return wrap(p.div(i0(p.mul(width, p.sqrt(inside))), i0(width)))  # type: ignore[no-any-return]
