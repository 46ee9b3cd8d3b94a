"""A signal in overlapping segments, each under a window: what spectra are made of."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import value, wrap
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, static_int
from fgrad.primitives.windows import Windows
from fgrad.scipy.signal.trends import detrend
from fgrad.source_info import warn

#: Names of windows and their parameters as SciPy takes them, or the weights themselves.
Window = str | tuple[Any, ...] | ArrayLike
Trend = str | bool | Callable[[Any], Any]


@dataclass(frozen=True)
class Segments:
    """How a signal is cut: a window, how much segments overlap, and how long the transforms are."""

    window: Any
    overlap: int
    length: int

    @property
    def size(self) -> int:
        """The number of points in a segment."""
        return int(self.window.shape[0])

    @property
    def step(self) -> int:
        """How far apart segments begin."""
        return self.size - self.overlap


def weights(name: str, window: Window, size: int) -> Any:
    """A window of a size as an array."""
    if isinstance(window, (str, tuple)):
        from scipy.signal import get_window

        try:
            return np.asarray(get_window(window, size))
        except ValueError as error:
            raise ArgumentError(f"{name}: window is {window!r}; {error}") from None
    given: Any = fnp.asarray(window)
    if given.ndim != 1:
        raise ShapeError(f"{name}: window has shape {given.shape}; give a vector, or a name")
    if given.shape[0] != size:
        raise ArgumentError(
            f"{name}: nperseg is {size} and the window has {given.shape[0]} weights; give as many, or nperseg=None"
        )
    return given


def segments(
    name: str, window: Window, nperseg: Any, noverlap: Any, nfft: Any, points: int | None
) -> Segments:
    """The way to cut a signal of so many points, or of any number."""
    named = isinstance(window, (str, tuple))
    if nperseg is None:
        size = 256 if named else len(fnp.asarray(window))
    else:
        size = static_int(nperseg, f"{name}: nperseg")
    if size < 1:
        raise ArgumentError(f"{name}: nperseg is {size}; give at least 1")
    if points is not None and size > points:
        if not named:
            raise ArgumentError(
                f"{name}: the window has {size} weights and the signal {points} points; give a shorter window"
            )
        if nperseg is not None:
            warn(
                f"{name}: nperseg is {size} for {points} points; using nperseg={points}",
                UserWarning,
            )
        size = points
    overlap = size // 2 if noverlap is None else static_int(noverlap, f"{name}: noverlap")
    if not 0 <= overlap < size:
        raise ArgumentError(
            f"{name}: noverlap is {overlap} and nperseg {size}; give a smaller noverlap, from 0"
        )
    length = size if nfft is None else static_int(nfft, f"{name}: nfft")
    if length < size:
        raise ArgumentError(f"{name}: nfft is {length} and nperseg {size}; give a larger nfft")
    return Segments(weights(name, window, size), overlap, length)


def without_trend(name: str, x: Any, trend: Trend) -> Any:
    """Segments along the last axis, without their trend."""
    if trend is False or trend is None:
        return x
    if callable(trend):
        return trend(x)
    if trend not in ("constant", "linear"):
        raise ArgumentError(
            f"{name}: detrend is {trend!r}; give 'constant', 'linear', False, or a function of segments"
        )
    return detrend(x, type=str(trend))


def transformed(name: str, x: Any, how: Segments, trend: Trend, half: bool) -> Any:
    """The spectra of the segments of a signal along the last axis: (..., segments, frequencies)."""
    cut = wrap(Windows((how.size,), (how.step,), (1,))(value(x)))
    weighted = without_trend(name, cut, trend) * how.window.astype(fnp.real(x).dtype)
    transform = fnp.fft.rfft if half else fnp.fft.fft
    return transform(weighted, how.length)


def in_precision_of(x: Any, number: Any) -> Any:
    """A number that does not widen the dtype of a signal."""
    given: Any = fnp.asarray(number)
    return number if isinstance(number, (int, float)) else given.astype(fnp.real(x).dtype)
