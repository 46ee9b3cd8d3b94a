"""Convolution and correlation against JAX and SciPy, under all transforms."""

from __future__ import annotations

from typing import Any

import jax.scipy.signal
import numpy as np
import pytest
import scipy.signal as sg
from support.against_jax import holds_against_jax
from support.modules import jax

from fgrad.errors import ArgumentError, ShapeError
from fgrad.scipy import signal

RNG = np.random.default_rng(9)
LINE, SHORT = RNG.normal(size=7), RNG.normal(size=4)
PLANE, PATCH = RNG.normal(size=(5, 4)), RNG.normal(size=(2, 3))
MODES = ("full", "same", "valid")


@pytest.mark.parametrize(
    "name", ["convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d"]
)
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
