"""Discrete Fourier transforms: of complex numbers, and of real ones to and from half a spectrum.

Each is linear, and its transpose is one of them again. Lengths are those of the operands: who
wants others pads or cuts first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.errors import ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import conj, convert, mul
from fgrad.primitives.families import Linear, match_aval

#: How NumPy names a scale: the direction that has the whole factor 1/n, or "ortho" for a root in both.
Norm = Literal["backward", "forward", "ortho"]
#: The name by which the transform of the other direction has the scale of this one.
OTHER_DIRECTION: dict[Norm, Norm] = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the spectrum of numbers of `dtype`."""
    return np.result_type(dtype, np.complex64)


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the numbers whose spectrum has `dtype`."""
    return np.empty(0, dtype).real.dtype


@parameters
class Fourier(Linear):
    """The transform over axes; its matrix is symmetric.   f[*s] -> c[*s]"""

    axes: tuple[int, ...]
    inverse: bool
    norm: Norm

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x.with_dtype(complex_of(x.dtype))

    def impl(self, x: Any) -> Any:
        transform = np.fft.ifft if self.inverse else np.fft.fft
        for axis in self.axes:
            x = transform(x, axis=axis, norm=self.norm)
        return x

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (match_aval(self(ct), args[0]),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        axes = tuple([axis + 1 for axis in self.axes])
        return Fourier(axes, self.inverse, self.norm)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        kind = "ifft" if self.inverse else "fft"
        if len(self.axes) == 1:
            return f"np.fft.{kind}({names[0]}, axis={self.axes[0]}, norm={self.norm!r})"
        # NumPy takes the last axis first.
        return f"np.fft.{kind}n({names[0]}, axes={self.axes[::-1]}, norm={self.norm!r})"


@parameters
class RealFourier(Linear):
    """The first half of the spectrum of real numbers.   r[*s, n, *t] -> c[*s, n//2+1, *t]"""

    axis: int
    norm: Norm

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        length = x.shape[self.axis] // 2 + 1
        shape = (*x.shape[: self.axis], length, *x.shape[self.axis + 1 :])
        return Aval(shape, complex_of(x.dtype))

    def impl(self, x: Any) -> Any:
        return np.fft.rfft(x, axis=self.axis, norm=self.norm)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        # The real part of the spectrum of ct: that of a half whose other half is not there.
        (x,) = args
        length = x.shape[self.axis]
        half = _weighted(conj(ct), self.axis, length, 0.5)
        return (InverseRealFourier(self.axis, length, OTHER_DIRECTION[self.norm])(half),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return RealFourier(self.axis + 1, self.norm)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.fft.rfft({names[0]}, axis={self.axis}, norm={self.norm!r})"


@parameters
class InverseRealFourier(Linear):
    """The real numbers of half a spectrum.   f[*s, n//2+1, *t] -> r[*s, n, *t]

    The imaginary parts at frequency 0 and, for even n, at the highest one count for nothing.
    """

    axis: int
    length: int
    norm: Norm

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        if x.shape[self.axis] != self.length // 2 + 1:
            raise ShapeError(
                f"irfft: half a spectrum of {self.length} numbers has {self.length // 2 + 1} elements, got "
                f"{x.shape[self.axis]}"
            )
        shape = (*x.shape[: self.axis], self.length, *x.shape[self.axis + 1 :])
        return Aval(shape, real_of(x.dtype))

    def impl(self, x: Any) -> Any:
        return np.fft.irfft(x, self.length, axis=self.axis, norm=self.norm)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        half = RealFourier(self.axis, OTHER_DIRECTION[self.norm])(ct)
        return (match_aval(conj(_weighted(half, self.axis, self.length, 2.0)), args[0]),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return InverseRealFourier(self.axis + 1, self.length, self.norm)(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.fft.irfft({names[0]}, {self.length}, axis={self.axis}, norm={self.norm!r})"


def _weighted(half: Any, axis: int, length: int, weight: float) -> Any:
    """Half a spectrum, with a weight on the frequencies whose conjugates it leaves out."""
    aval = aval_of(half)
    weights = np.full(length // 2 + 1, weight, real_of(aval.dtype))
    weights[0] = 1.0
    if length % 2 == 0:
        weights[-1] = 1.0
    weights = weights.reshape(-1, *(1,) * (len(aval.shape) - axis - 1))
    weights.setflags(write=False)
    return convert(mul(half, weights), aval.dtype)
