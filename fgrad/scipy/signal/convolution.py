"""Convolution and correlation of arrays of any number of axes, under the names of SciPy."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis

# Below this many products, sums of shifted arrays are more exact than Fourier's transform, and as
# fast.
_FEW = 5000


def _checked(name: str, mode: str, x: Any, y: Any) -> None:
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{name}: mode is {mode!r}; give one of 'full', 'same' and 'valid'")
    if x.ndim != y.ndim:
        raise ShapeError(
            f"{name}: arrays of shapes {x.shape} and {y.shape} have different numbers of axes; give as many"
        )
    if not x.size or not y.size:
        raise ShapeError(f"{name}: got shapes {x.shape} and {y.shape}; give arrays with elements")


def _cut(full: Any, mode: str, first: Sequence[int], second: Sequence[int], name: str) -> Any:
    """The part of a full convolution that a mode stands for."""
    if mode == "full":
        return full
    if mode == "same":
        starts = [(m - 1) // 2 for m in second]
        sizes = list(first)
    else:
        larger = [n >= m for n, m in zip(first, second, strict=True)]
        if not all(larger) and any(n > m for n, m in zip(first, second, strict=True)):
            raise ShapeError(
                f"{name}: in mode 'valid', one of the shapes {tuple(first)} and {tuple(second)} must be the larger one "
                "along every axis"
            )
        starts = [min(n, m) - 1 for n, m in zip(first, second, strict=True)]
        sizes = [abs(n - m) + 1 for n, m in zip(first, second, strict=True)]
    return full[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))]


def _direct(x: Any, y: Any) -> Any:
    """The full convolution, as a sum of shifted arrays over the elements of the smaller one."""
    if x.size < y.size:
        x, y = y, x
    if x.ndim == 1:
        return fnp.convolve(x, y)
    shape = tuple(n + m - 1 for n, m in zip(x.shape, y.shape, strict=True))
    total: Any = fnp.zeros(shape, fnp.result_type(x, y))
    for index in np.ndindex(*y.shape):
        place = tuple(slice(i, i + n) for i, n in zip(index, x.shape, strict=True))
        total = total.at[place].add(x * y[index])
    return total


def _by_fourier(x: Any, y: Any, axes: Sequence[int]) -> Any:
    """The full convolution along axes, by Fourier's transform; the others broadcast."""
    sizes = [x.shape[a] + y.shape[a] - 1 for a in axes]
    if fnp.iscomplexobj(x) or fnp.iscomplexobj(y):
        return fnp.fft.ifftn(
            fnp.fft.fftn(x, sizes, axes) * fnp.fft.fftn(y, sizes, axes), sizes, axes
        )
    dtype = fnp.result_type(x, y)
    found = fnp.fft.irfftn(
        fnp.fft.rfftn(x, sizes, axes) * fnp.fft.rfftn(y, sizes, axes), sizes, axes
    )
    return found.astype(dtype)


def _convolved(name: str, x: Any, y: Any, mode: str, method: str) -> Any:
    _checked(name, mode, x, y)
    if method not in ("auto", "direct", "fft"):
        raise ArgumentError(f"{name}: method is {method!r}; give one of 'auto', 'direct' and 'fft'")
    if not x.ndim:
        return x * y
    inexact = all(fnp.issubdtype(v.dtype, fnp.inexact) for v in (x, y))
    few = min(x.size, y.size) <= 64 or math.prod((x.size, y.size)) <= _FEW
    if method == "direct" or (method == "auto" and (few or not inexact or x.ndim == 1)):
        full = _direct(x, y)
    else:
        full = _by_fourier(x, y, range(x.ndim))
    return _cut(full, mode, x.shape, y.shape, name)


def convolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """The convolution of two arrays along all axes.

    Parameters
    ----------
    in1, in2 : array_like
        Of as many axes.
    mode : {'full', 'same', 'valid'}
        All places where they overlap, those in the middle, as many as `in1` has, or those where the
        smaller one lies inside of the larger.
    method : {'auto', 'direct', 'fft'}
        By products, by Fourier's transform, or by what is faster.
    precision
        Accepted; of no effect.

    Returns
    -------
    Array
        In the dtype that the arguments promote to. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If the numbers of axes differ, or an array is empty.
    ArgumentError
        If the mode or the method is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> signal.convolve(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    Array([1., 3., 2.], dtype=float64)
    """
    return _convolved("convolve", fnp.asarray(in1), fnp.asarray(in2), mode, method)


def correlate(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """The correlation of two arrays along all axes: `convolve` with the conjugate of `in2`, reversed.

    Parameters
    ----------
    in1, in2 : array_like
        Of as many axes.
    mode : {'full', 'same', 'valid'}
        As in `convolve`.
    method : {'auto', 'direct', 'fft'}
        As in `convolve`.
    precision
        Accepted; of no effect.

    Returns
    -------
    Array
        In the dtype that the arguments promote to. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If the numbers of axes differ, or an array is empty.
    ArgumentError
        If the mode or the method is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> signal.correlate(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    Array([3., 7., 2.], dtype=float64)
    """
    y: Any = fnp.asarray(in2)
    return _convolved("correlate", fnp.asarray(in1), fnp.flip(fnp.conj(y)), mode, method)


def _plane(name: str, x: Any, y: Any, mode: str, boundary: str, upper: bool = False) -> Any:
    if x.ndim != 2 or y.ndim != 2:
        raise ShapeError(f"{name}: got shapes {x.shape} and {y.shape}; give arrays of two axes")
    if boundary != "fill":
        raise ArgumentError(
            f"{name}: boundary is {boundary!r}; only 'fill' is supported: pad with fgrad.numpy.pad for others"
        )
    _checked(name, mode, x, y)
    full = _direct(x, y)
    if mode == "same" and upper:
        # Of two middles, correlations of matrices keep the other one.
        (rows, columns), (m, n) = x.shape, y.shape
        return full[m // 2 : m // 2 + rows, n // 2 : n // 2 + columns]
    return _cut(full, mode, x.shape, y.shape, name)


def _zero_filled(name: str, fillvalue: Any) -> None:
    if fillvalue != 0:
        raise ArgumentError(
            f"{name}: fillvalue is {fillvalue!r}; only 0 is supported: pad with fgrad.numpy.pad for others"
        )


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Array:
    """The convolution of two matrices.

    Parameters
    ----------
    in1, in2 : array_like
        Of two axes.
    mode : {'full', 'same', 'valid'}
        As in `convolve`.
    boundary : {'fill'}
        What lies beyond the edges.
    fillvalue : {0}
        What it is filled with.
    precision
        Accepted; of no effect.

    Returns
    -------
    Array
        Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If an array has not two axes.
    ArgumentError
        If the mode, the boundary or the value is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> signal.convolve2d(np.eye(2), np.ones((1, 2)))
    Array([[1., 1., 0.],
           [0., 1., 1.]], dtype=float64)
    """
    _zero_filled("convolve2d", fillvalue)
    return _plane("convolve2d", fnp.asarray(in1), fnp.asarray(in2), mode, boundary)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Array:
    """The correlation of two matrices: `convolve2d` with the conjugate of `in2`, reversed.

    Parameters
    ----------
    in1, in2 : array_like
        Of two axes.
    mode : {'full', 'same', 'valid'}
        As in `convolve`.
    boundary : {'fill'}
        What lies beyond the edges.
    fillvalue : {0}
        What it is filled with.
    precision
        Accepted; of no effect.

    Returns
    -------
    Array
        Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If an array has not two axes.
    ArgumentError
        If the mode, the boundary or the value is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> signal.correlate2d(np.eye(2), np.array([[1.0, 2.0]]), mode="valid")
    Array([[1.],
           [2.]], dtype=float64)
    """
    _zero_filled("correlate2d", fillvalue)
    y: Any = fnp.asarray(in2)
    return _plane("correlate2d", fnp.asarray(in1), fnp.flip(fnp.conj(y)), mode, boundary, True)


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Array:
    """The convolution of two arrays by Fourier's transform.

    Parameters
    ----------
    in1, in2 : array_like
        Of as many axes.
    mode : {'full', 'same', 'valid'}
        As in `convolve`.
    axes : int or sequence of int, optional
        Along which to convolve, by default all; along the others, the arrays broadcast.

    Returns
    -------
    Array
        Floating. Differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an array is empty.
    ArgumentError
        If the mode is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> signal.fftconvolve(np.array([1.0, 2.0]), np.array([1.0, 1.0])).round(12)
    Array([1., 3., 2.], dtype=float64)
    """
    name = "fftconvolve"
    given_arrays: list[Any] = [fnp.asarray(v) for v in (in1, in2)]
    x, y = [v if fnp.issubdtype(v.dtype, fnp.inexact) else v * 1.0 for v in given_arrays]
    _checked(name, mode, x, y)
    given = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    along = [normal_axis(axis, x.ndim, name) for axis in given]
    for axis, (n, m) in enumerate(zip(x.shape, y.shape, strict=True)):
        if axis not in along and n != m and 1 not in (n, m):
            raise ShapeError(
                f"{name}: shapes {x.shape} and {y.shape} do not broadcast along axis {axis}, which is not in axes"
            )
    if not along:
        return x * y
    full = _by_fourier(x, y, along)
    first = [n if a in along else full.shape[a] for a, n in enumerate(x.shape)]
    second = [n if a in along else 1 for a, n in enumerate(y.shape)]
    return _cut(full, mode, first, second, name)
