"""Discrete cosine transforms, under the names of SciPy."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array, value, wrap
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis, static_int
from fgrad.primitives.cosine_transform import INVERSE, Cosines

__all__ = ["dct", "dctn", "idct", "idctn"]

_NORMS = ("backward", "ortho", "forward")


def _weights(kind: int, n: int, dtype: Any) -> tuple[Any, float]:
    """What the unnormalised transform multiplies the orthogonal one with.

    A vector and a factor. The vector multiplies the output in kind 2, the input in kind 3, and in kind
    1 the input, and divides the output.
    """
    vector = np.ones(n, dtype)
    if kind == 1:
        vector[[0, -1]] = math.sqrt(0.5)
        return vector, math.sqrt(2.0 * (n - 1))
    if kind == 4:
        return None, math.sqrt(2.0 * n)
    vector[0] = math.sqrt(2.0) if kind == 2 else math.sqrt(0.5)
    return vector, math.sqrt(2.0 * n)


def _transformed(x: Any, kind: int, axis: int, norm: str, inverse: bool) -> Any:
    """Along one axis, whose length is right."""
    n = x.shape[axis]
    applied = INVERSE[kind] if inverse else kind
    transform = Cosines(applied, axis)
    if norm == "ortho":
        return wrap(transform(value(x)))
    vector, factor = _weights(applied, n, fnp.real(x).dtype)
    # Forth and back make one together.
    size = 2.0 * (n - 1 if kind == 1 else n)
    if (norm == "backward") is inverse:
        factor /= size
    if vector is not None:
        vector = vector.reshape(-1, *(1,) * (x.ndim - axis - 1))
    if applied in (1, 3):
        x = x * vector
    found = wrap(transform(value(x)))
    if applied == 2:
        return found * (factor * vector)
    return found * (factor / vector) if applied == 1 else found * factor


def _checked(name: str, x: ArrayLike, kind: Any, norm: str | None) -> tuple[Any, int, str]:
    kind = static_int(kind, f"{name}: type")
    if kind not in INVERSE:
        raise ArgumentError(f"{name}: type is {kind}; give 1, 2, 3 or 4")
    if norm is not None and norm not in _NORMS:
        raise ArgumentError(
            f"{name}: norm is {norm!r}; give one of 'backward', 'ortho' and 'forward'"
        )
    array: Any = fnp.asarray(x)
    if not fnp.issubdtype(array.dtype, fnp.inexact):
        array = array * 1.0
    elif array.dtype == np.float16:
        array = array.astype(np.float32)
    if not array.ndim:
        raise ShapeError(f"{name}: x has no axis to transform along; give an array")
    return array, kind, norm or "backward"


def _sized(name: str, x: Any, kind: int, axis: int, n: Any) -> Any:
    """Cut, or followed by zeros, to a length along an axis."""
    own = x.shape[axis]
    size = own if n is None else static_int(n, f"{name}: n")
    if size < (2 if kind == 1 else 1):
        least = "at least 2 points for type 1" if kind == 1 else "at least one point"
        raise ShapeError(f"{name}: {size} points along axis {axis}; give {least}")
    if size < own:
        return x[(*(slice(None),) * axis, slice(0, size))]
    return fnp.pad(x, [(0, size - own if a == axis else 0) for a in range(x.ndim)])


def _one(name: str, x: Any, kind: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Any:
    array, kind, scale = _checked(name, x, kind, norm)
    place = normal_axis(axis, array.ndim, name)
    array = _sized(name, array, kind, place, n)
    return _transformed(array, kind, place, scale, inverse)


def _several(name: str, x: Any, kind: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Any:
    array, kind, scale = _checked(name, x, kind, norm)
    if axes is None:
        axes = range(array.ndim) if s is None else range(array.ndim - len(s), array.ndim)
    places = [normal_axis(a, array.ndim, name) for a in ([axes] if isinstance(axes, int) else axes)]
    if len(set(places)) < len(places):
        raise AxisError(f"{name}: axes {tuple(axes)} name an axis twice; give each once")
    sizes = [None] * len(places) if s is None else list(s)
    if len(sizes) != len(places):
        raise ShapeError(
            f"{name}: s has {len(sizes)} lengths for {len(places)} axes; give one each"
        )
    for place, n in zip(places, sizes, strict=True):
        array = _sized(name, array, kind, place, n)
    for place in places:
        array = _transformed(array, kind, place, scale, inverse)
    return array


def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The discrete cosine transform along an axis.

    Parameters
    ----------
    x : array_like
        Real or complex.
    type : {1, 2, 3, 4}
        Of type 2, element k of the result is ``2 * sum(x[j] * cos(pi * k * (2 * j + 1) / (2 * n)))``.
    n : int, optional
        To which length `x` is cut, or filled up with zeros.
    axis : int
    norm : {'backward', 'ortho', 'forward'}, optional
        Whether the inverse has the factor that makes them inverse, which is the default, both have its
        root, so that the transform is orthogonal, or this one has it.

    Returns
    -------
    Array
        Inexact. Linear: differentiable in both modes, to all orders.

    Raises
    ------
    ArgumentError
        If the type or the norm is another.
    ShapeError
        If there are too few points.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import fft
    >>> fft.dct(np.array([1.0, 1.0, 1.0])).round(12) + 0.0
    Array([6., 0., 0.], dtype=float64)
    """
    return _one("dct", x, type, n, axis, norm, False)


def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The inverse of `dct` of the same type and norm.

    Parameters
    ----------
    x : array_like
        Real or complex.
    type : {1, 2, 3, 4}
    n : int, optional
        To which length `x` is cut, or filled up with zeros.
    axis : int
    norm : {'backward', 'ortho', 'forward'}, optional
        That of `dct`.

    Returns
    -------
    Array
        Inexact. Linear: differentiable in both modes, to all orders.

    Raises
    ------
    ArgumentError
        If the type or the norm is another.
    ShapeError
        If there are too few points.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import fft
    >>> fft.idct(fft.dct(np.array([1.0, 2.0, 4.0]))).round(12)
    Array([1., 2., 4.], dtype=float64)
    """
    return _one("idct", x, type, n, axis, norm, True)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The discrete cosine transform along several axes.

    Parameters
    ----------
    x : array_like
        Real or complex.
    type : {1, 2, 3, 4}
        As in `dct`.
    s : sequence of int, optional
        To which lengths `x` is cut, or filled up with zeros.
    axes : sequence of int, optional
        By default all, or as many of the last as there are lengths.
    norm : {'backward', 'ortho', 'forward'}, optional
        As in `dct`.

    Returns
    -------
    Array
        Inexact. Linear: differentiable in both modes, to all orders.

    Raises
    ------
    ArgumentError
        If the type or the norm is another.
    ShapeError, AxisError
        If there are too few points, or axes and lengths do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import fft
    >>> fft.dctn(np.ones((2, 2))).round(12) + 0.0
    Array([[16., 0.],
           [ 0., 0.]], dtype=float64)
    """
    return _several("dctn", x, type, s, axes, norm, False)


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of `dctn` of the same type and norm.

    Parameters
    ----------
    x : array_like
        Real or complex.
    type : {1, 2, 3, 4}
        As in `dct`.
    s : sequence of int, optional
        To which lengths `x` is cut, or filled up with zeros.
    axes : sequence of int, optional
        By default all, or as many of the last as there are lengths.
    norm : {'backward', 'ortho', 'forward'}, optional
        That of `dctn`.

    Returns
    -------
    Array
        Inexact. Linear: differentiable in both modes, to all orders.

    Raises
    ------
    ArgumentError
        If the type or the norm is another.
    ShapeError, AxisError
        If there are too few points, or axes and lengths do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import fft
    >>> fft.idctn(fft.dctn(np.eye(2))).round(12) + 0.0
    Array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    return _several("idctn", x, type, s, axes, norm, True)
