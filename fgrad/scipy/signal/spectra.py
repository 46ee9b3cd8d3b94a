"""How the power of a signal, or what two have in common, spreads over frequencies."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis
from fgrad.scipy.signal.segments import (
    Trend,
    Window,
    in_precision_of,
    segments,
    transformed,
)


def inexact(x: ArrayLike) -> Any:
    """A signal as an array of inexact numbers."""
    array: Any = fnp.asarray(x)
    return array if fnp.issubdtype(array.dtype, fnp.inexact) else array * 1.0


def frequencies(length: int, fs: Any, half: bool, signal: Any) -> Any:
    """Those of a transform, in the precision of a signal."""
    found: Any = (fnp.fft.rfftfreq if half else fnp.fft.fftfreq)(length, 1.0) * fs
    return found.astype(fnp.real(signal).dtype)


def _median_bias(count: int) -> float:
    """The mean of the median of so many periodograms, whose mean is 1."""
    even = np.arange(2.0, count, 2)
    return float(1 + np.sum(1.0 / (even + 1) - 1.0 / even))


def _median(x: Any) -> Any:
    if fnp.iscomplexobj(x):
        return fnp.median(fnp.real(x), -1) + 1j * fnp.median(fnp.imag(x), -1)
    return fnp.median(x, -1)


def _filled(x: Any, points: int) -> Any:
    """Followed by zeros along the last axis, up to so many points."""
    return fnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, points - x.shape[-1])])


def _spectrum(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Window,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    trend: Trend,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Array, Array]:
    if scaling not in ("density", "spectrum"):
        raise ArgumentError(f"{name}: scaling is {scaling!r}; give 'density' or 'spectrum'")
    if average not in ("mean", "median"):
        raise ArgumentError(f"{name}: average is {average!r}; give 'mean' or 'median'")
    first = inexact(x)
    place = normal_axis(axis, first.ndim, name)
    first = fnp.moveaxis(first, place, -1)
    second = None
    if y is not None:
        second = inexact(y)
        if second.ndim != first.ndim:
            raise ShapeError(
                f"{name}: signals of shapes {fnp.shape(x)} and {second.shape} have different numbers of axes"
            )
        second = fnp.moveaxis(second, place, -1)
        longest = max(first.shape[-1], second.shape[-1])
        first, second = _filled(first, longest), _filled(second, longest)
        try:
            np.broadcast_shapes(first.shape, second.shape)
        except ValueError:
            raise ShapeError(
                f"{name}: signals of shapes {fnp.shape(x)} and {fnp.shape(y)} do not broadcast"
            ) from None
    if not first.size or (second is not None and not second.size):
        empty = fnp.zeros(first.shape, first.dtype)
        return fnp.real(empty), fnp.real(empty) if second is None else empty
    how = segments(name, window, nperseg, noverlap, nfft, first.shape[-1])
    half = return_onesided and not (fnp.iscomplexobj(first) or fnp.iscomplexobj(second))
    one = transformed(name, first, how, trend, half)
    if second is None:
        power = fnp.real(one) ** 2 + fnp.imag(one) ** 2
    else:
        power = fnp.conj(one) * transformed(name, second, how, trend, half)
    rate, shape = in_precision_of(first, fs), how.window.astype(fnp.real(first).dtype)
    total = fnp.sum(shape**2) * rate if scaling == "density" else fnp.sum(shape) ** 2
    if half:
        # What is left out has as much power: all but frequency 0, and the highest of an even length.
        double = np.full(one.shape[-1], 2.0)
        double[0] = 1.0
        if how.length % 2 == 0:
            double[-1] = 1.0
        power = power * double.astype(shape.dtype)
    power = fnp.moveaxis(power / total, -2, -1)
    count = power.shape[-1]
    if average == "mean":
        found = fnp.mean(power, axis=-1)
    else:
        found = _median(power) / _median_bias(count)
    return frequencies(how.length, fs, half, first), fnp.moveaxis(found, -1, place)


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Trend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The cross power spectral density of two signals, by Welch's averaged periodograms.

    Parameters
    ----------
    x, y : array_like
        The shorter one is filled up with zeros. Without `y`, that of `x` alone: see `welch`.
    fs : float
        How many points there are in a unit of time.
    window : str, tuple or array_like
        The name of a window as SciPy knows it, with its parameters, or weights.
    nperseg : int, optional
        How many points a segment has, by default 256, or as many as there are.
    noverlap : int, optional
        How many points two segments share, by default half of them.
    nfft : int, optional
        To how many points segments are filled up with zeros.
    detrend : {'constant', 'linear', False} or callable
        What is subtracted from each segment, or a function of segments along the last axis.
    return_onesided : bool
        Whether to return half of the spectrum of real signals.
    scaling : {'density', 'spectrum'}
        Power per frequency, or power.
    axis : int
        Along which time goes.
    average : {'mean', 'median'}
        How to average over segments.

    Returns
    -------
    (Array, Array)
        The frequencies, and the spectrum at each, complex if there is a `y`. Differentiable in both
        modes, to all orders.

    Raises
    ------
    ShapeError
        If the signals do not fit.
    ArgumentError
        If a choice is another, or sizes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> f, p = signal.csd(np.arange(8.0), np.ones(8), nperseg=4, detrend=False)
    >>> f, p.shape
    (Array([0.  , 0.25, 0.5 ], dtype=float64), (3,))
    """
    return _spectrum(
        "csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average,
    )  # fmt: skip


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Trend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The power spectral density of a signal, by Welch's averaged periodograms.

    Parameters
    ----------
    x : array_like
    fs : float
        How many points there are in a unit of time.
    window : str, tuple or array_like
        The name of a window as SciPy knows it, with its parameters, or weights.
    nperseg : int, optional
        How many points a segment has, by default 256, or as many as there are.
    noverlap : int, optional
        How many points two segments share, by default half of them.
    nfft : int, optional
        To how many points segments are filled up with zeros.
    detrend : {'constant', 'linear', False} or callable
        What is subtracted from each segment, or a function of segments along the last axis.
    return_onesided : bool
        Whether to return half of the spectrum of a real signal.
    scaling : {'density', 'spectrum'}
        Power per frequency, or power.
    axis : int
        Along which time goes.
    average : {'mean', 'median'}
        How to average over segments.

    Returns
    -------
    (Array, Array)
        The frequencies, and the real power at each. Differentiable in both modes, to all orders.

    Raises
    ------
    ArgumentError
        If a choice is another, or sizes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> f, p = signal.welch(np.sin(0.5 * np.pi * np.arange(64)), nperseg=16)
    >>> float(f[p.argmax()])
    0.25
    """
    return _spectrum(
        "welch", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
        axis, average,
    )  # fmt: skip
