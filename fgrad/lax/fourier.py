"""Fourier transforms under the name of ``jax.lax``."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.dtypes import canonical
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, shape_of, static_shape, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.fft import Fourier, InverseRealFourier, RealFourier, complex_of


class FftType(enum.IntEnum):
    """The transforms that `fft` makes."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """A discrete Fourier transform over the last axes. The functions of ``fgrad.numpy.fft`` take any axes.

    Parameters
    ----------
    x : array_like
        Real numbers for "RFFT"; for the others they are taken for complex ones.
    fft_type : FftType or str
        "FFT", "IFFT", "RFFT" or "IRFFT".
    fft_lengths : sequence of int
        The sizes of the last axes, before "RFFT" and after "IRFFT": others neither cut nor pad.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If the lengths are not the sizes of the axes, the dtype does not fit, or there is no such transform.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.fft(np.ones((2, 4)), "RFFT", (4,)).shape
    (2, 3)
    """
    name = "fft"
    kinds = {kind.name: kind for kind in FftType}
    kind = kinds.get(fft_type) if isinstance(fft_type, str) else fft_type
    if kind not in kinds.values():
        raise ArgumentError(f"{name}: fft_type is {fft_type!r}; give one of {', '.join(kinds)}")
    inside = _operand(x, name)
    shape, lengths = shape_of(inside), static_shape(tuple(fft_lengths), f"{name}: fft_lengths")
    count = len(lengths)
    if not 1 <= count <= len(shape):
        raise ArgumentError(
            f"{name}: fft_lengths {lengths} for an array of shape {shape}; give the sizes of one to all of its axes"
        )
    sizes = shape[-count:]
    wanted = (*lengths[:-1], lengths[-1] // 2 + 1) if kind is FftType.IRFFT else lengths
    if sizes != wanted:
        raise ShapeError(
            f"{name}: for fft_lengths {lengths} the last axes must have sizes {wanted}, but the array has shape {shape}"
        )
    aval = aval_of(inside)
    if kind is FftType.RFFT and aval.dtype.kind != "f":
        raise DTypeError(f"{name}: RFFT takes floats, got {aval.dtype}; convert them, or use FFT")
    if kind is not FftType.RFFT:
        inside = p.convert(inside, canonical(complex_of(aval.dtype)))
    last = len(shape) - 1
    others = tuple(range(len(shape) - count, last))
    if kind is FftType.RFFT:
        inside = RealFourier(last, "backward")(inside)
        return wrap(Fourier(others, False, "backward")(inside) if others else inside)  # type: ignore[no-any-return]
    if kind is FftType.IRFFT:
        inside = Fourier(others, True, "backward")(inside) if others else inside
        return wrap(InverseRealFourier(last, lengths[-1], "backward")(inside))  # type: ignore[no-any-return]
    return wrap(Fourier((*others, last), kind is FftType.IFFT, "backward")(inside))  # type: ignore[no-any-return]
