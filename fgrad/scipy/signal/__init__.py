"""Convolutions and spectra of signals, under the names of SciPy."""

from fgrad.scipy.signal.convolution import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
)
from fgrad.scipy.signal.short_time import istft, stft
from fgrad.scipy.signal.spectra import csd, welch
from fgrad.scipy.signal.trends import detrend

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
