"""Convolution and correlation of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, DTypeLike, given_dtype, operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.convolution import Convolve
from fgrad.primitives.families import shape_of
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import flip, static_index


def _sequences(a: Any, v: Any, preferred: Any, name: str) -> tuple[Any, Any, Any]:
    x, y = operand(a, name), operand(v, name)
    for what, sequence in (("the first", x), ("the second", y)):
        shape = shape_of(sequence)
        if len(shape) != 1 or not shape[0]:
            raise ShapeError(
                f"{name}: {what} array has shape {shape}; give arrays with one axis that is not empty"
            )
    common = common_dtype([aval_of(x), aval_of(y)])
    wanted = given_dtype(preferred, name) or common
    working = dtypes.canonical(np.promote_types(common, wanted))
    return p.convert(x, working), p.convert(y, working), wanted


def _convolved(x: Any, y: Any, mode: Any, late: bool, name: str) -> Any:
    """The part of a convolution that a mode asks for."""
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{name}: mode is {mode!r}; give 'full', 'same' or 'valid'")
    short, long = sorted([x, y], key=lambda sequence: aval_of(sequence).size)
    if mode == "valid":
        return Convolve(valid=True)(long, short)
    whole = Convolve()(x, y)
    if mode == "full":
        return whole
    m, n = aval_of(short).size, aval_of(long).size
    start = m // 2 if late else (m - 1) // 2
    return static_index(whole, (slice(start, start + n),))


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Convolution of two sequences.

    Parameters
    ----------
    a, v : array_like
        With one axis.
    mode : {'full', 'same', 'valid'}
        All shifts where they overlap, as many as the longer one has elements, or only those where they
        overlap completely.
    precision
        Accepted for compatibility.
    preferred_element_type : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If an array is empty, or does not have one axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.convolve(fnp.array([1, 2, 3]), fnp.array([1, 1]))
    Array([1, 3, 5, 3], dtype=int64)
    """
    x, y, dtype = _sequences(a, v, preferred_element_type, "convolve")
    result = _convolved(x, y, mode, False, "convolve")
    return wrap(p.convert(result, dtype))  # type: ignore[no-any-return]


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Correlation of two sequences: sums of ``a[n + k] * conj(v[n])`` over n.

    Parameters
    ----------
    a, v : array_like
        With one axis.
    mode : {'valid', 'same', 'full'}
        As in `convolve`.
    precision
        Accepted for compatibility.
    preferred_element_type : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If an array is empty, or does not have one axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.correlate(fnp.array([1, 2, 3]), fnp.array([1, 1]))
    Array([3, 5], dtype=int64)
    """
    x, y, dtype = _sequences(a, v, preferred_element_type, "correlate")
    late = aval_of(y).size > aval_of(x).size
    result = _convolved(x, flip(p.conj(y), (0,)), mode, late, "correlate")
    return wrap(p.convert(result, dtype))  # type: ignore[no-any-return]
