"""Convolutions, trends and spectra against JAX and SciPy, under all transforms."""

from __future__ import annotations

from typing import Any

import jax.scipy.signal
import numpy as np
import pytest
import scipy.signal as sg
from support.against_jax import holds_against_jax
from support.modules import jax

import fgrad
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.scipy import signal

RNG = np.random.default_rng(9)
LINE, SHORT = RNG.normal(size=7), RNG.normal(size=4)
PLANE, PATCH = RNG.normal(size=(5, 4)), RNG.normal(size=(2, 3))
MODES = ("full", "same", "valid")


CONVOLUTIONS = ["convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d"]


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_those_of_jax(name: str) -> None:
    pairs = [(PLANE, PATCH)] if name.endswith("2d") else [(LINE, SHORT), (PLANE, PATCH)]
    for pair in pairs:

        def all_modes(module: Any) -> Any:
            return lambda x, y: [getattr(module, name)(x, y, mode=mode) for mode in MODES]

        holds_against_jax(all_modes(signal), all_modes(jax.scipy.signal), pair, rtol=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["auto", "direct", "fft"])
def test_methods_agree_with_scipy(mode: str, method: str) -> None:
    for x, y in (
        (LINE, SHORT),
        (SHORT, LINE),
        (PLANE, PATCH),
        (PLANE + 1j, PATCH),
        (PLANE[None], PATCH[None]),
    ):
        for name in ("convolve", "correlate"):
            if mode == "same" and name == "correlate" and x is SHORT:
                # SciPy exchanges its arguments there, and with them the middle.
                continue
            got = getattr(signal, name)(x, y, mode, method)
            np.testing.assert_allclose(got, getattr(sg, name)(x, y, mode, method), atol=1e-12)
    whole = signal.convolve(np.arange(4), np.array([1, 2]), mode)
    assert whole.dtype == np.int64
    assert (
        signal.convolve(LINE.astype(np.float32), SHORT.astype(np.float32), mode, method).dtype
        == np.float32
    )
    along = signal.fftconvolve(PLANE, PATCH[:1], mode, axes=1)
    np.testing.assert_allclose(along, sg.fftconvolve(PLANE, PATCH[:1], mode, axes=1), atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_matrices_agree_with_scipy(mode: str) -> None:
    for x, y in ((PLANE, PATCH), (PLANE, PATCH[:, :2]), (PLANE * 1j, PATCH + 1j)):
        for name in ("convolve2d", "correlate2d"):
            got, expected = getattr(signal, name)(x, y, mode), getattr(sg, name)(x, y, mode)
            np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=name)


def test_large_arrays_go_by_fourier() -> None:
    x, y = RNG.normal(size=(40, 40)), RNG.normal(size=(20, 20))
    np.testing.assert_allclose(signal.convolve(x, y), sg.convolve(x, y), atol=1e-10)


def test_every_public_name_of_jax_is_there() -> None:
    assert {n for n in dir(jax.scipy.signal) if n[0] != "_"} <= set(signal.__all__)
    compared = {*CONVOLUTIONS, "stft", "istft", "welch", "csd", "detrend"}
    assert set(signal.__all__) == compared


# ---- trends and spectra --------------------------------------------------------------------------

LONG, OTHER = RNG.normal(size=(2, 29)), RNG.normal(size=(2, 29))
SPECTRA = RNG.normal(size=(2, 5, 6)) + 1j * RNG.normal(size=(2, 5, 6))
CUT = {"nperseg": 8, "fs": 2.0}
#: What JAX computes too, of one or two signals.
BY_JAX: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "stft": (lambda m: lambda x: [m.stft(x, **CUT)[2], *m.stft(x, **CUT)[:2]], (LONG,)),
    "stft even": (
        lambda m: lambda x: m.stft(x, 2.0, "hamming", 8, 3, 12, boundary="even", axis=0)[2],
        (LONG.T,),
    ),
    "istft": (lambda m: lambda z: m.istft(z, **CUT)[1], (SPECTRA,)),
    "istft axes": (
        lambda m: lambda z: m.istft(z, **CUT, noverlap=5, time_axis=0, freq_axis=1)[1],
        (np.moveaxis(SPECTRA, -1, 0).swapaxes(1, 2),),
    ),
    "istft both sides": (
        lambda m: lambda z: m.istft(z, nperseg=5, noverlap=4, input_onesided=False)[1],
        (SPECTRA,),
    ),
    "welch": (lambda m: lambda x: m.welch(x, **CUT), (LONG,)),
    "welch spectrum": (
        lambda m: (
            lambda x: m.welch(x, nperseg=8, detrend="linear", scaling="spectrum", average="median")
        ),
        (LONG,),
    ),
    "csd": (lambda m: lambda x, y: m.csd(x, y, **CUT), (LONG, OTHER)),
    "csd complex": (
        lambda m: lambda x, y: m.csd(x, y, **CUT, return_onesided=False, detrend=False),
        (LONG + 1j * OTHER, OTHER),
    ),
    "detrend": (lambda m: lambda x: m.detrend(x, axis=1), (LONG,)),
    "detrend constant": (lambda m: lambda x: m.detrend(x, 0, "constant"), (LONG,)),
    "detrend pieces": (lambda m: lambda x: m.detrend(x, bp=[7, 20]), (LONG + 1j * OTHER,)),
}


@pytest.mark.parametrize("name", BY_JAX)
def test_spectra_are_those_of_jax(name: str) -> None:
    make, args = BY_JAX[name]
    holds_against_jax(make(signal), make(jax.scipy.signal), args, rtol=1e-9)


CUTS: list[dict[str, Any]] = [
    {"nperseg": 8},
    {"nperseg": 8, "noverlap": 3, "nfft": 11},
    {"nperseg": 7, "noverlap": 6, "nfft": 12, "window": ("kaiser", 3.0)},
    {"nperseg": 8, "noverlap": 5, "window": np.hanning(10)[1:-1]},
]


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("cut", CUTS, ids=range(len(CUTS)))
def test_spectra_are_those_of_scipy(cut: dict[str, Any], both: bool) -> None:
    cut = {"fs": 3.0, "return_onesided": not both, **cut}
    x, y = (LONG + 1j * OTHER, OTHER) if both else (LONG, OTHER)

    def same(got: Any, expected: Any) -> None:
        for left, right in zip(got, expected, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12)

    for trend in ("constant", "linear", False):
        for average, scaling in (("mean", "density"), ("median", "spectrum")):
            how = {**cut, "detrend": trend, "average": average, "scaling": scaling}
            same(signal.welch(x, **how), sg.welch(x, **how))
            same(signal.csd(x, y, **how), sg.csd(x, y, **how))
            same(signal.csd(x[:, :20], y, **how), sg.csd(x[:, :20], y, **how))
        for boundary in ("zeros", "even", "odd", "constant", None):
            for padded in (True, False):
                options = {**cut, "detrend": trend, "boundary": boundary, "padded": padded}
                same(signal.stft(x, **options), sg.stft(x, **options))
    spectra = sg.stft(x, **cut)[2]
    back = {k: v for k, v in cut.items() if k != "return_onesided"}
    got = signal.istft(spectra, **back, input_onesided=not both)[1]
    np.testing.assert_allclose(
        got, sg.istft(spectra, **back, input_onesided=not both)[1], atol=1e-12
    )
    np.testing.assert_allclose(got[:, :29], x, atol=1e-12)


def test_trends_are_those_of_scipy() -> None:
    for x in (LONG, LONG + 1j * OTHER, np.arange(12).reshape(2, 6) ** 2):
        size = x.shape[1]
        for bp in (0, [3], [1, 2, size], size):
            for kind in ("linear", "constant"):
                got = signal.detrend(x, 1, kind, bp)
                np.testing.assert_allclose(got, sg.detrend(x, 1, kind, bp), atol=1e-12)


def test_precision_and_empty_signals() -> None:
    narrow = LONG.astype(np.float32)
    f, t, z = signal.stft(narrow, nperseg=8, fs=np.float64(2.0))
    assert (f.dtype, t.dtype, z.dtype) == (np.float32, np.float32, np.complex64)
    assert [v.dtype for v in signal.istft(z)] == [np.float32, np.float32]
    assert {v.dtype for v in signal.welch(narrow, nperseg=8)} == {np.dtype(np.float32)}
    assert signal.detrend(narrow).dtype == np.float32
    assert [v.shape for v in signal.welch(np.zeros((2, 0)))] == [(2, 0), (2, 0)]
    assert [v.shape for v in signal.stft(np.zeros((2, 0)))] == [(2, 0)] * 3
    callable_trend = signal.welch(LONG, nperseg=8, detrend=lambda s: s - s.mean(-1, keepdims=True))
    np.testing.assert_allclose(callable_trend[1], signal.welch(LONG, nperseg=8)[1], rtol=1e-12)


def test_a_rate_that_is_traced() -> None:
    def power(fs: Any) -> Any:
        return signal.welch(LONG[0], fs, nperseg=8)[1].sum()

    # Power per frequency goes as the inverse of the rate.
    slope = fgrad.grad(power)(2.0)
    assert float(slope) == pytest.approx(-float(power(2.0)) / 2.0, rel=1e-12)


def test_what_spectra_refuse_and_warn_of() -> None:
    for match, call in {
        r"stft: boundary is 'x'": lambda: signal.stft(LONG, nperseg=8, boundary="x"),
        r"welch: scaling is 'x'": lambda: signal.welch(LONG, nperseg=8, scaling="x"),
        r"csd: average is 'x'": lambda: signal.csd(LONG, OTHER, nperseg=8, average="x"),
        r"welch: detrend is 'x'": lambda: signal.welch(LONG, nperseg=8, detrend="x"),
        r"welch: window is 'x'": lambda: signal.welch(LONG, window="x", nperseg=8),
        r"welch: nperseg is 0": lambda: signal.welch(LONG, nperseg=0),
        r"welch: noverlap is 8 and nperseg 8": lambda: signal.welch(LONG, nperseg=8, noverlap=8),
        r"welch: nfft is 4 and nperseg 8": lambda: signal.welch(LONG, nperseg=8, nfft=4),
        r"nperseg is 8 and the window has 9": lambda: signal.welch(
            LONG, window=np.ones(9), nperseg=8
        ),
        r"the window has 40 weights and the signal 29 points": lambda: signal.welch(
            LONG, window=np.ones(40)
        ),
        r"detrend: type is 'x'": lambda: signal.detrend(LONG, type="x"),
        r"detrend: bp is 40 for 29 points": lambda: signal.detrend(LONG, bp=40),
    }.items():
        with pytest.raises(ArgumentError, match=match):
            call()
    with pytest.raises(ShapeError, match=r"csd: signals of shapes .* do not broadcast"):
        signal.csd(LONG, np.ones((3, 29)), nperseg=8)
    with pytest.raises(ShapeError, match=r"csd: signals of shapes .* different numbers of axes"):
        signal.csd(LONG, np.ones(29), nperseg=8)
    with pytest.raises(ShapeError, match=r"istft: Zxx has shape \(3,\)"):
        signal.istft(np.ones(3))
    with pytest.raises(AxisError, match=r"time_axis and freq_axis are both 1"):
        signal.istft(SPECTRA, time_axis=1, freq_axis=-2)
    with pytest.warns(UserWarning, match=r"welch: nperseg is 64 for 29 points; using nperseg=29"):
        signal.welch(LONG, nperseg=64)
    with pytest.warns(UserWarning, match=r"istft: some points lie in no segment"):
        signal.istft(SPECTRA, noverlap=0)


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match=r"convolve: mode is 'x'"):
        signal.convolve(LINE, SHORT, "x")
    with pytest.raises(ArgumentError, match=r"correlate: method is 'x'"):
        signal.correlate(LINE, SHORT, method="x")
    with pytest.raises(ShapeError, match=r"convolve: arrays of shapes \(7,\) and \(5, 4\)"):
        signal.convolve(LINE, PLANE)
    with pytest.raises(ShapeError, match=r"convolve2d: got shapes"):
        signal.convolve2d(LINE, PLANE)
    with pytest.raises(ArgumentError, match=r"convolve2d: boundary is 'wrap'"):
        signal.convolve2d(PLANE, PATCH, boundary="wrap")
    with pytest.raises(ArgumentError, match=r"correlate2d: fillvalue is 1"):
        signal.correlate2d(PLANE, PATCH, fillvalue=1)
    with pytest.raises(ShapeError, match=r"in mode 'valid'"):
        signal.convolve(np.ones((2, 5)), np.ones((3, 2)), "valid")
    with pytest.raises(ShapeError, match=r"fftconvolve: shapes .* do not broadcast along axis 0"):
        signal.fftconvolve(PLANE, PATCH, axes=1)
