"""Discrete Fourier transforms, in one axis and in many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, AxisError, DTypeError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axes,
    normal_axis,
    operand,
    static_int,
)
from fgrad.numpy.reordering import rolled
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import shape_of
from fgrad.primitives.fft import (
    OTHER_DIRECTION,
    Fourier,
    InverseRealFourier,
    Norm,
    RealFourier,
    complex_of,
)
from fgrad.primitives.shape import Iota, Pad, iota, static_index

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_HALF = np.dtype(np.float16)

# ---- what the transforms share -------------------------------------------------------------------


def _numbers(a: ArrayLike, name: str) -> Any:
    """An argument in a dtype that can be transformed."""
    x = p.cast_to_float(operand(a, name))
    aval = aval_of(x)
    if not aval.shape:
        raise ShapeError(f"{name}: a has no axis to transform along; give an array")
    return p.convert(x, dtypes.FLOAT32) if aval.dtype == _HALF else x


def _real_numbers(a: ArrayLike, name: str) -> Any:
    x = _numbers(a, name)
    if aval_of(x).dtype.kind == "c":
        raise DTypeError(
            f"{name}: a is complex, and half of its spectrum does not determine it; use "
            f"{name.replace('ihfft', 'ifft').replace('rfft', 'fft')}, or take the real part of a"
        )
    return x


def _spectrum(a: ArrayLike, name: str) -> Any:
    x = _numbers(a, name)
    return p.convert(x, complex_of(aval_of(x).dtype))


def _norm(norm: str | None, name: str) -> Norm:
    if norm is None:
        return "backward"
    for known in OTHER_DIRECTION:
        if norm == known:
            return known
    raise ArgumentError(f"{name}: norm is {norm!r}; give 'backward', 'ortho' or 'forward'")


def _length(n: Any, default: int, name: str) -> int:
    length = default if n is None else static_int(n, f"{name}: n")
    if length < 1:
        raise ArgumentError(f"{name}: {length} numbers to transform; the length is at least 1")
    return length


def _fitted(x: Any, axis: int, length: int) -> Any:
    """`x` cut, or followed by zeros, to a length along an axis."""
    shape = shape_of(x)
    missing = length - shape[axis]
    if missing > 0:
        none = (0,) * len(shape)
        high = (*none[:axis], missing, *none[axis + 1 :])
        return Pad(none, high, none)(x)
    return static_index(x, (*(slice(None),) * axis, slice(0, length)))


def _axes(x: Any, s: Any, axes: Any, name: str) -> tuple[list[int], list[int | None]]:
    """The axes to transform over, and the lengths that a user gives for them."""
    shape = shape_of(x)
    if s is not None:
        s = [static_int(n, f"{name}: s") for n in s]
        if axes is None:
            if len(s) > len(shape):
                raise ShapeError(
                    f"{name}: s has {len(s)} lengths for the {len(shape)} axes of an array of shape {shape}"
                )
            axes = range(len(shape) - len(s), len(shape))
    if axes is None:
        axes = range(len(shape))
    elif not isinstance(axes, (Sequence, range)):
        raise ArgumentError(f"{name}: axes is {axes!r}; give a sequence of axes")
    positions = [normal_axis(axis, len(shape), name) for axis in axes]
    if s is None:
        return positions, [None] * len(positions)
    if len(s) != len(positions):
        raise ShapeError(f"{name}: s has {len(s)} lengths for {len(positions)} axes; give one each")
    return positions, [None if n == -1 else n for n in s]


def _along(x: Any, n: Any, axis: Any, inverse: bool, norm: str | None, name: str) -> Any:
    shape = shape_of(x)
    position = normal_axis(axis, len(shape), name)
    x = _fitted(x, position, _length(n, shape[position], name))
    return Fourier((position,), inverse, _norm(norm, name))(x)


def _over(
    x: Any,
    positions: Sequence[int],
    lengths: Sequence[int | None],
    inverse: bool,
    norm: Norm,
    name: str,
) -> Any:
    """The transform over axes, the last one first; an axis may come twice."""
    shape = shape_of(x)
    if len(set(positions)) < len(positions):
        for position, n in zip(reversed(positions), reversed(lengths), strict=True):
            x = _over(x, [position], [n], inverse, norm, name)
        return x
    for position, n in zip(positions, lengths, strict=True):
        x = _fitted(x, position, _length(n, shape[position], name))
    if not positions:
        return x
    return Fourier(tuple(reversed(positions)), inverse, norm)(x)


def _real_last(
    x: Any, positions: Sequence[int], lengths: Sequence[int | None], norm: Norm, name: str
) -> Any:
    """The half spectrum over the last of several axes, then the others."""
    if not positions:
        raise AxisError(f"{name}: no axis to transform along; give at least one")
    last, shape = positions[-1], shape_of(x)
    x = _fitted(x, last, _length(lengths[-1], shape[last], name))
    return _over(RealFourier(last, norm)(x), positions[:-1], lengths[:-1], False, norm, name)


def _inverse_real_last(
    x: Any, positions: Sequence[int], lengths: Sequence[int | None], norm: Norm, name: str
) -> Any:
    if not positions:
        raise AxisError(f"{name}: no axis to transform along; give at least one")
    x = _over(x, positions[:-1], lengths[:-1], True, norm, name)
    last = positions[-1]
    given = lengths[-1]
    length = _length(given, 2 * (shape_of(x)[last] - 1), name)
    return InverseRealFourier(last, length, norm)(_fitted(x, last, length // 2 + 1))


def _like_half(result: Any, a: Any) -> Any:
    """NumPy's real results of half precision are of half precision."""
    return p.convert(result, _HALF) if getattr(a, "dtype", None) == _HALF else result


# ---- one axis --------------------------------------------------------------------------------------


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Discrete Fourier transform along an axis.

    Parameters
    ----------
    a : array_like
        Real or complex.
    n : int, optional
        The length: `a` is cut, or followed by zeros. None means that of the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into the inverse, as a root into both, or into this transform.

    Returns
    -------
    Array
        Complex: complex64 for float32, else complex128. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If the length is below 1, the norm is none of the three, or there is no such axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.fft(fnp.array([1.0, 0.0, 0.0])).real
    Array([1., 1., 1.], dtype=float64)
    """
    return wrap(_along(_numbers(a, "fft"), n, axis, False, norm, "fft"))  # type: ignore[no-any-return]


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of `fft` along an axis.

    Parameters
    ----------
    a : array_like
        Real or complex.
    n : int, optional
        The length: `a` is cut, or followed by zeros. None means that of the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into this transform, as a root into both, or into `fft`.

    Returns
    -------
    Array
        Complex. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If the length is below 1, the norm is none of the three, or there is no such axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.ifft(fnp.fft.fft(fnp.arange(3.0))).real.round(6)
    Array([0., 1., 2.], dtype=float64)
    """
    return wrap(_along(_numbers(a, "ifft"), n, axis, True, norm, "ifft"))  # type: ignore[no-any-return]


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """First half of the Fourier transform of real numbers, which determines the other.

    Parameters
    ----------
    a : array_like
        Real.
    n : int, optional
        The length: `a` is cut, or followed by zeros. None means that of the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into the inverse, as a root into both, or into this transform.

    Returns
    -------
    Array
        Complex, with ``n // 2 + 1`` elements along the axis. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, DTypeError, ShapeError
        If `a` is complex, the length is below 1, the norm is none of the three, or there is no such axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.rfft(fnp.ones(4)).real
    Array([4., 0., 0.], dtype=float64)
    """
    x = _real_numbers(a, "rfft")
    position = normal_axis(axis, len(shape_of(x)), "rfft")
    return wrap(_real_last(x, [position], [n], _norm(norm, "rfft"), "rfft"))  # type: ignore[no-any-return]


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of `rfft`: the real numbers of half a spectrum.

    Parameters
    ----------
    a : array_like
        The half spectrum. The imaginary part at frequency 0 counts for nothing, nor does that of the highest
        frequency where n is even.
    n : int, optional
        How many numbers to return: `a` is cut, or followed by zeros, to ``n // 2 + 1``. None means
        ``2 * (m - 1)`` for m elements along the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into this transform, as a root into both, or into `rfft`.

    Returns
    -------
    Array
        Real. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If the length is below 1, the norm is none of the three, or there is no such axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.irfft(fnp.array([4.0, 0.0, 0.0]))
    Array([1., 1., 1., 1.], dtype=float64)
    """
    x = _spectrum(a, "irfft")
    position = normal_axis(axis, len(shape_of(x)), "irfft")
    result = _inverse_real_last(x, [position], [n], _norm(norm, "irfft"), "irfft")
    return wrap(_like_half(result, a))  # type: ignore[no-any-return]


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Fourier transform, which is real, of numbers with Hermitian symmetry.

    Parameters
    ----------
    a : array_like
        The first half of the numbers; the other is its conjugate.
    n : int, optional
        How many numbers to return. None means ``2 * (m - 1)`` for m elements along the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into the inverse, as a root into both, or into this transform.

    Returns
    -------
    Array
        Real. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If the length is below 1, the norm is none of the three, or there is no such axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.hfft(fnp.array([1.0, 0.0, 0.0]))
    Array([1., 1., 1., 1.], dtype=float64)
    """
    x = p.conj(_spectrum(a, "hfft"))
    position = normal_axis(axis, len(shape_of(x)), "hfft")
    result = _inverse_real_last(x, [position], [n], OTHER_DIRECTION[_norm(norm, "hfft")], "hfft")
    return wrap(_like_half(result, a))  # type: ignore[no-any-return]


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of `hfft`: the first half of the numbers that have a real spectrum.

    Parameters
    ----------
    a : array_like
        Real.
    n : int, optional
        The length: `a` is cut, or followed by zeros. None means that of the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into this transform, as a root into both, or into `hfft`.

    Returns
    -------
    Array
        Complex, with ``n // 2 + 1`` elements along the axis. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, DTypeError, ShapeError
        If `a` is complex, the length is below 1, the norm is none of the three, or there is no such axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.ihfft(fnp.ones(4)).real
    Array([1., 0., 0.], dtype=float64)
    """
    x = _real_numbers(a, "ihfft")
    position = normal_axis(axis, len(shape_of(x)), "ihfft")
    half = _real_last(x, [position], [n], OTHER_DIRECTION[_norm(norm, "ihfft")], "ihfft")
    return wrap(p.conj(half))  # type: ignore[no-any-return]


# ---- several axes ----------------------------------------------------------------------------------


def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Discrete Fourier transform over several axes.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : sequence of int, optional
        The length along each of `axes`: `a` is cut, or followed by zeros; -1 means the whole axis.
    axes : sequence of int, optional
        None means the last ``len(s)`` axes, or all.
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into the inverse, as a root into both, or into this transform.

    Returns
    -------
    Array
        Complex. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If a length is below 1, the norm is none of the three, or axes and lengths do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.fftn(fnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float64)
    """
    return _complex_over(a, s, axes, False, norm, "fftn")


def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Inverse of `fftn`.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : sequence of int, optional
        The length along each of `axes`: `a` is cut, or followed by zeros; -1 means the whole axis.
    axes : sequence of int, optional
        None means the last ``len(s)`` axes, or all.
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into this transform, as a root into both, or into `fftn`.

    Returns
    -------
    Array
        Complex. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If a length is below 1, the norm is none of the three, or axes and lengths do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.ifftn(fnp.array([[4.0, 0.0], [0.0, 0.0]])).real
    Array([[1., 1.],
           [1., 1.]], dtype=float64)
    """
    return _complex_over(a, s, axes, True, norm, "ifftn")


def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Fourier transform of real numbers over several axes, half of it along the last of them.

    Parameters
    ----------
    a : array_like
        Real.
    s : sequence of int, optional
        The length along each of `axes`: `a` is cut, or followed by zeros; -1 means the whole axis.
    axes : sequence of int, optional
        None means the last ``len(s)`` axes, or all.
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into the inverse, as a root into both, or into this transform.

    Returns
    -------
    Array
        Complex, with ``n // 2 + 1`` elements along the last of the axes. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, DTypeError, ShapeError
        If `a` is complex, a length is below 1, the norm is none of the three, or axes and lengths do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.rfftn(fnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float64)
    """
    return _half_over(a, s, axes, norm, "rfftn")


def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Inverse of `rfftn`: the real numbers of half a spectrum.

    Parameters
    ----------
    a : array_like
        The spectrum, half of it along the last of the axes.
    s : sequence of int, optional
        How many numbers to return along each of `axes`. None means as many as there are, and
        ``2 * (m - 1)`` along the last axis, of m elements.
    axes : sequence of int, optional
        None means the last ``len(s)`` axes, or all.
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into this transform, as a root into both, or into `rfftn`.

    Returns
    -------
    Array
        Real. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If a length is below 1, the norm is none of the three, or axes and lengths do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.irfftn(fnp.array([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float64)
    """
    return _numbers_over(a, s, axes, norm, "irfftn")


def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Discrete Fourier transform over two axes, as `fftn`.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : sequence of int, optional
        The length along each of `axes`: `a` is cut, or followed by zeros; -1 means the whole axis.
    axes : sequence of int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into the inverse, as a root into both, or into this transform.

    Returns
    -------
    Array
        Complex. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If a length is below 1, the norm is none of the three, or axes and lengths do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.fft2(fnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float64)
    """
    return _complex_over(a, s, axes, False, norm, "fft2")


def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Inverse of `fft2`, as `ifftn`.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : sequence of int, optional
        The length along each of `axes`: `a` is cut, or followed by zeros; -1 means the whole axis.
    axes : sequence of int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into this transform, as a root into both, or into `fft2`.

    Returns
    -------
    Array
        Complex. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If a length is below 1, the norm is none of the three, or axes and lengths do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.ifft2(fnp.array([[4.0, 0.0], [0.0, 0.0]])).real
    Array([[1., 1.],
           [1., 1.]], dtype=float64)
    """
    return _complex_over(a, s, axes, True, norm, "ifft2")


def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Fourier transform of real numbers over two axes, as `rfftn`.

    Parameters
    ----------
    a : array_like
        Real.
    s : sequence of int, optional
        The length along each of `axes`: `a` is cut, or followed by zeros; -1 means the whole axis.
    axes : sequence of int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into the inverse, as a root into both, or into this transform.

    Returns
    -------
    Array
        Complex, with ``n // 2 + 1`` elements along the last of the axes. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, DTypeError, ShapeError
        If `a` is complex, a length is below 1, the norm is none of the three, or axes and lengths do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.rfft2(fnp.ones((2, 4))).shape
    (2, 3)
    """
    return _half_over(a, s, axes, norm, "rfft2")


def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Inverse of `rfft2`, as `irfftn`.

    Parameters
    ----------
    a : array_like
        The spectrum, half of it along the last of the axes.
    s : sequence of int, optional
        How many numbers to return along each of `axes`. None means as many as there are, and
        ``2 * (m - 1)`` along the last axis, of m elements.
    axes : sequence of int
    norm : {"backward", "ortho", "forward"}, optional
        Where the factor 1/n goes: into this transform, as a root into both, or into `rfft2`.

    Returns
    -------
    Array
        Real. Differentiable in both modes.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        If a length is below 1, the norm is none of the three, or axes and lengths do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.irfft2(fnp.ones((2, 3))).shape
    (2, 4)
    """
    return _numbers_over(a, s, axes, norm, "irfft2")


def _complex_over(a: Any, s: Any, axes: Any, inverse: bool, norm: str | None, name: str) -> Array:
    x = p.cast_to_float(operand(a, name))
    x = p.convert(x, dtypes.FLOAT32) if aval_of(x).dtype == _HALF else x
    positions, lengths = _axes(x, s, axes, name)
    result = _over(x, positions, lengths, inverse, _norm(norm, name), name)
    return wrap(p.convert(result, complex_of(aval_of(x).dtype)))  # type: ignore[no-any-return]


def _half_over(a: Any, s: Any, axes: Any, norm: str | None, name: str) -> Array:
    x = _real_numbers(a, name)
    return wrap(_real_last(x, *_axes(x, s, axes, name), _norm(norm, name), name))  # type: ignore[no-any-return]


def _numbers_over(a: Any, s: Any, axes: Any, norm: str | None, name: str) -> Array:
    x = _spectrum(a, name)
    result = _inverse_real_last(x, *_axes(x, s, axes, name), _norm(norm, name), name)
    return wrap(_like_half(result, a))  # type: ignore[no-any-return]


# ---- frequencies ---------------------------------------------------------------------------------


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike = None, device: Any = None) -> Array:
    """Frequencies of the elements of `fft`.

    Parameters
    ----------
    n : int
        The length of the transform.
    d : array_like
        The distance of the samples.
    dtype : dtype-like, optional
        None means float64.
    device
        Accepted for compatibility with JAX; there is one device.

    Returns
    -------
    Array
        ``[0, 1, ..., (n-1)//2, -(n//2), ..., -1] / (d * n)``. Differentiable towards d.

    Raises
    ------
    ArgumentError, ShapeError
        If `n` is below 1, or `d` is not a number.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.fftfreq(4, 0.5)
    Array([ 0. ,  0.5, -1. , -0.5], dtype=float64)
    """
    count = _length(n, 0, "fftfreq")
    places = rolled(Iota(count, dtypes.canonical(dtypes.INT64), -(count // 2))(), -(count // 2), 0)
    return _frequencies(places, count, d, dtype, "fftfreq")


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike = None, device: Any = None) -> Array:
    """Frequencies of the elements of `rfft`.

    Parameters
    ----------
    n : int
        The length of the transform.
    d : array_like
        The distance of the samples.
    dtype : dtype-like, optional
        None means float64.
    device
        Accepted for compatibility with JAX; there is one device.

    Returns
    -------
    Array
        ``[0, 1, ..., n//2] / (d * n)``. Differentiable towards d.

    Raises
    ------
    ArgumentError, ShapeError
        If `n` is below 1, or `d` is not a number.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.rfftfreq(4, 0.5)
    Array([0. , 0.5, 1. ], dtype=float64)
    """
    count = _length(n, 0, "rfftfreq")
    return _frequencies(iota(count // 2 + 1), count, d, dtype, "rfftfreq")


def _frequencies(places: Any, count: int, d: Any, dtype: Any, name: str) -> Array:
    distance = operand(d, name)
    if shape_of(distance):
        raise ShapeError(f"{name}: d has shape {shape_of(distance)}; give a number")
    unit = p.div(1.0, p.mul(distance, float(count)))
    result = p.mul(places, unit)
    return wrap(p.convert(result, given_dtype(dtype, name) or aval_of(result).dtype))  # type: ignore[no-any-return]


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Move frequency 0 to the middle.

    Parameters
    ----------
    x : array_like
    axes : int or sequence of int, optional
        Along which axes; None means all.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    AxisError
        If there is no such axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.fftshift(fnp.array([0, 1, 2, -2, -1]))
    Array([-2, -1,  0,  1,  2], dtype=int64)
    """
    return _shifted(x, axes, 1, "fftshift")


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Inverse of `fftshift`: move frequency 0 from the middle to the front.

    Parameters
    ----------
    x : array_like
    axes : int or sequence of int, optional
        Along which axes; None means all.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    AxisError
        If there is no such axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.fft.ifftshift(fnp.array([-2, -1, 0, 1, 2]))
    Array([ 0,  1,  2, -2, -1], dtype=int64)
    """
    return _shifted(x, axes, -1, "ifftshift")


def _shifted(x: Any, axes: Any, sign: int, name: str) -> Array:
    inside = operand(x, name)
    shape = shape_of(inside)
    for axis in normal_axes(axes, len(shape), name):
        # The middle of an odd number of elements is behind as many as are before it.
        half = shape[axis] // 2
        inside = rolled(inside, half if sign > 0 else -half, axis)
    return wrap(inside)  # type: ignore[no-any-return]
