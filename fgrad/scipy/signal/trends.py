"""Signals without their mean or their line."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError
from fgrad.numpy._support import ArrayLike, normal_axis, static_int


def _line(count: int) -> Any:
    """Orthonormal columns that span the lines through so many points."""
    basis = np.stack([np.arange(1, count + 1) / count, np.ones(count)], axis=1)
    return np.linalg.qr(basis)[0]


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] = 0,
    overwrite_data: None = None,
) -> Array:
    """Subtract the mean, or the line that fits best.

    Parameters
    ----------
    data : array_like
    axis : int
        Along which.
    type : {'linear', 'constant'}
        The line by least squares, or the mean.
    bp : int or sequence of int
        Where a new line begins.
    overwrite_data
        Accepted; of no effect.

    Returns
    -------
    Array
        Inexact. Linear: differentiable in both modes, to all orders.

    Raises
    ------
    ArgumentError
        If the type is another, or a line would begin beyond the data.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import signal
    >>> signal.detrend(np.array([1.0, 2.0, 4.0, 5.0])).round(12)
    Array([ 0.1, -0.3,  0.3, -0.1], dtype=float64)
    """
    if type not in ("linear", "l", "constant", "c"):
        raise ArgumentError(f"detrend: type is {type!r}; give 'linear' or 'constant'")
    x: Any = fnp.asarray(data) * 1.0
    place = normal_axis(axis, x.ndim, "detrend")
    if type[0] == "c":
        return x - fnp.mean(x, axis=place, keepdims=True)
    size = x.shape[place]
    given = [static_int(b, "detrend: bp") for b in np.atleast_1d(np.asarray(bp)).tolist()]
    if any(not 0 <= b <= size for b in given):
        raise ArgumentError(
            f"detrend: bp is {bp} for {size} points along axis {axis}; give numbers of points among them"
        )
    ends = sorted({0, size, *given})
    moved = fnp.moveaxis(x, place, -1)
    pieces = []
    for start, stop in itertools.pairwise(ends):
        piece = moved[..., start:stop]
        basis = _line(stop - start).astype(fnp.real(x).dtype)
        pieces.append(piece - (piece @ basis) @ basis.T)
    return fnp.moveaxis(fnp.concatenate(pieces, axis=-1) if pieces else moved, -1, place)
