"""Spectra of a signal as time goes by, and the signal of such spectra."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array, value, wrap
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis
from fgrad.primitives.windows import OverlapAdd
from fgrad.scipy.signal.segments import Trend, Window, segments, transformed
from fgrad.scipy.signal.spectra import frequencies, inexact
from fgrad.source_info import warn
from fgrad.tracing import concrete

_BOUNDARIES: dict[str | None, dict[str, Any]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
    None: {},
}
# Weights below this count as none.
_SMALL = 1e-10


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Trend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """The spectra of overlapping segments of a signal.

    Parameters
    ----------
    x : array_like
    fs : float
        How many points there are in a unit of time.
    window : str, tuple or array_like
        The name of a window as SciPy knows it, with its parameters, or weights.
    nperseg : int, optional
        How many points a segment has; if the signal is shorter, as many as it has.
    noverlap : int, optional
        How many points two segments share, by default half of them.
    nfft : int, optional
        To how many points segments are filled up with zeros.
    detrend : {'constant', 'linear', False} or callable
        What is subtracted from each segment, or a function of segments along the last axis.
    return_onesided : bool
        Whether to return half of the spectra of a real signal.
    boundary : {'zeros', 'even', 'odd', 'constant'}, optional
        How the signal goes on beyond its ends, by half a segment, or None.
    padded : bool
        Whether zeros follow, so that the segments cover all of the signal.
    axis : int
        Along which time goes.

    Returns
    -------
    (Array, Array, Array)
        The frequencies, the times of the middles of segments, and the spectra, with frequencies along
        `axis` and time along a new last axis. Linear: differentiable in both modes, to all orders.

    Raises
    ------
    ArgumentError
        If a choice is another, or sizes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> f, t, z = signal.stft(np.sin(0.5 * np.pi * np.arange(32)), nperseg=8)
    >>> f.shape, t.shape, z.shape
    ((5,), (9,), (5, 9))
    """
    name = "stft"
    if boundary not in _BOUNDARIES:
        raise ArgumentError(
            f"{name}: boundary is {boundary!r}; give one of 'zeros', 'even', 'odd', 'constant' and None"
        )
    signal = inexact(x)
    place = normal_axis(axis, signal.ndim, name)
    if not signal.size:
        empty: Any = fnp.zeros(signal.shape, fnp.real(signal).dtype)
        return empty, empty, empty.astype(fnp.result_type(empty.dtype, np.complex64))
    signal = fnp.moveaxis(signal, place, -1)
    how = segments(name, window, nperseg, noverlap, nfft, signal.shape[-1])
    half = return_onesided and not fnp.iscomplexobj(signal)
    none, edge = [(0, 0)] * (signal.ndim - 1), how.size // 2
    if boundary is not None:
        if edge and boundary in ("even", "odd") and edge >= signal.shape[-1]:
            raise ArgumentError(
                f"{name}: boundary={boundary!r} needs more than {edge} points, got {signal.shape[-1]}; give 'zeros'"
            )
        signal = fnp.pad(signal, [*none, (edge, edge)], **_BOUNDARIES[boundary])
    if padded:
        missing = -(signal.shape[-1] - how.size) % how.step % how.size
        signal = fnp.pad(signal, [*none, (0, missing)])
    spectra = transformed(name, signal, how, detrend, half)
    scale = fnp.abs(fnp.sum(how.window.astype(fnp.real(signal).dtype)))
    spectra = fnp.moveaxis(spectra / scale, -1, place)
    start = 0.0 if boundary is not None else how.size / 2
    times: Any = fnp.asarray((np.arange(spectra.shape[-1]) * how.step + start) / fs)
    found = frequencies(how.length, fs, half, signal)
    return found, times.astype(found.dtype), spectra


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The signal whose spectra `stft` returns; of others, the one whose spectra are the nearest.

    Parameters
    ----------
    Zxx : array_like
    fs, window, nperseg, noverlap, nfft
        Those of `stft`; `nperseg` by default what the number of frequencies says.
    input_onesided : bool
        Whether `Zxx` has half of the spectra, those of a real signal.
    boundary : bool
        Whether the signal went on beyond its ends, which are cut off.
    time_axis, freq_axis : int

    Returns
    -------
    (Array, Array)
        The times, and the signal. Linear: differentiable in both modes, to all orders.

    Raises
    ------
    ShapeError, AxisError
        If `Zxx` has fewer than two axes, or one axis is both of them.
    ArgumentError
        If sizes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> _, _, z = signal.stft(np.arange(12.0), nperseg=4)
    >>> signal.istft(z, nperseg=4)[1].round(12) + 0.0
    Array([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.], dtype=float64)
    """
    name = "istft"
    spectra = inexact(Zxx)
    if spectra.ndim < 2:
        raise ShapeError(f"{name}: Zxx has shape {spectra.shape}; give frequencies and times")
    time, frequency = (normal_axis(a, spectra.ndim, name) for a in (time_axis, freq_axis))
    if time == frequency:
        raise AxisError(f"{name}: time_axis and freq_axis are both {time}; give two axes")
    spectra = fnp.moveaxis(spectra, (time, frequency), (-2, -1))
    count, present = spectra.shape[-2:]
    whole = 2 * (present - 1) if input_onesided else present
    size = whole if nperseg is None else nperseg
    if nfft is None:
        # Odd lengths have as many frequencies as the even ones below.
        nfft = size if input_onesided and size == whole + 1 else whole
    how = segments(name, window, size, noverlap, nfft, None)
    dtype = fnp.real(spectra).dtype
    weights: Any = how.window.astype(dtype)
    transform = fnp.fft.irfft if input_onesided else fnp.fft.ifft
    pieces = transform(spectra, how.length)[..., : how.size] * (weights * fnp.sum(weights))
    points = how.size + (count - 1) * how.step
    add = OverlapAdd((points,), (how.size,), (how.step,), (1,))
    signal = wrap(add(value(pieces)))
    norm: Any = wrap(add(value(fnp.broadcast_to(weights**2, (count, how.size)))))
    if boundary:
        cut = slice(how.size // 2, points - how.size // 2)
        signal, norm = signal[..., cut], norm[cut]
    known = concrete(norm)
    if known is not None and np.any(np.asarray(known) <= _SMALL):
        warn(
            f"{name}: some points lie in no segment with a weight, and are not restored; give a larger noverlap",
            UserWarning,
        )
    signal = signal / fnp.where(norm > _SMALL, norm, 1.0)
    # Time stands where it stood, without the axis of frequencies.
    place = time - (frequency < time)
    times: Any = fnp.asarray(np.arange(signal.shape[-1]) / fs)
    return times.astype(dtype), fnp.moveaxis(signal, -1, place)
