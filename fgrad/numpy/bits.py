"""Booleans packed into bytes, and numbers taken apart into mantissas and exponents."""

from __future__ import annotations

from typing import Any

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError
from fgrad.numpy._support import ArrayLike, normal_axis, operand, static_int
from fgrad.primitives.bits import PackBits, UnpackBits, exponent, mantissa
from fgrad.primitives.families import reshape, shape_of


def _line(a: Any, axis: Any, bitorder: str, name: str) -> tuple[Any, int, bool]:
    if bitorder not in ("big", "little"):
        raise ArgumentError(f"{name}: bitorder is {bitorder!r}; give 'big' or 'little'")
    x = operand(a, name, "a")
    shape = shape_of(x)
    if axis is None:
        return reshape(x, (aval_of(x).size,)), 0, bitorder == "little"
    return x, normal_axis(axis, len(shape), name), bitorder == "little"


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack booleans into bytes, eight to one.

    Parameters
    ----------
    a : array_like of bool or int
        Elements that are not zero count as true.
    axis : int, optional
        Along which axis; None flattens the array.
    bitorder : {"big", "little"}
        Whether the first element is the highest or the lowest bit of its byte.

    Returns
    -------
    Array of uint8
        The last byte along the axis is filled up with zeros. It has no derivative.

    Raises
    ------
    DTypeError
        If the elements are neither booleans nor integers.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.packbits(fnp.array([True, False, True]))
    Array([160], dtype=uint8)
    """
    x, position, little = _line(a, axis, bitorder, "packbits")
    return wrap(PackBits(position, little)(x))  # type: ignore[no-any-return]


def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Unpack bytes into their bits, eight from one.

    Parameters
    ----------
    a : array_like of uint8
    axis : int, optional
        Along which axis; None flattens the array.
    count : int, optional
        How many bits along the axis: further ones are zeros. None means all, and a negative number is how
        many of them to leave out at the end.
    bitorder : {"big", "little"}
        Whether the highest or the lowest bit of a byte comes first.

    Returns
    -------
    Array of uint8
        Zeros and ones. It has no derivative.

    Raises
    ------
    ArgumentError, DTypeError
        If more bits are left out than there are, or the array is not of bytes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.unpackbits(fnp.array([160], dtype="uint8"), count=3)
    Array([1, 0, 1], dtype=uint8)
    """
    x, position, little = _line(a, axis, bitorder, "unpackbits")
    aval = aval_of(x)
    if not aval.shape:
        raise DTypeError(f"unpackbits: a is a number of dtype {aval.dtype}; give an array of bytes")
    bits = 8 * aval.shape[position]
    wanted = bits if count is None else static_int(count, "unpackbits: count")
    if wanted < 0:
        wanted += bits
        if wanted < 0:
            raise ArgumentError(f"unpackbits: count is {count}, but there are {bits} bits only")
    return wrap(UnpackBits(position, wanted, little)(x))  # type: ignore[no-any-return]


def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Mantissas and exponents: ``x == mantissa * 2**exponent``.

    Parameters
    ----------
    x : array_like
        Real.

    Returns
    -------
    tuple of Array
        The mantissas, of magnitude in [1/2, 1) or zero, and the exponents as int32. The mantissas are
        differentiable where the exponent does not jump; the derivative of exponents is zero.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [float(part) for part in fnp.frexp(5.0)]
    [0.625, 3.0]
    """
    inside = operand(x, "frexp")
    return wrap(mantissa(inside)), wrap(exponent(inside))
