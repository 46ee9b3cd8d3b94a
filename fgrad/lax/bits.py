"""Numbers as bits under the names of ``jax.lax``."""

from __future__ import annotations

import numpy as np

from fgrad import dtypes
from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError
from fgrad.numpy._support import ArrayLike, DTypeLike, static_int, strong, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.bitcast import Bitcast, ReducePrecision


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The same bits, taken for numbers of another dtype.

    Parameters
    ----------
    operand : array_like of int or float
    new_dtype : dtype-like
        An integer or floating dtype.

    Returns
    -------
    Array
        Of the same shape where both dtypes have one size. An element that becomes several smaller ones gets
        a last axis for them; a last axis of smaller ones that become one element vanishes. Its derivative is
        zero.

    Raises
    ------
    DTypeError
        For booleans and complex numbers.
    ShapeError
        If the last axis is not as long as the new dtype is larger.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.bitcast_convert_type(np.float32([1.0, -2.0]), np.int32)
    Array([ 1065353216, -1073741824], dtype=int32)
    >>> lax.bitcast_convert_type(np.int16([1, 2]), np.int8).shape
    (2, 2)
    """
    x = strong(_operand(operand, "bitcast_convert_type"))
    dtype = dtypes.as_dtype(new_dtype, "bitcast_convert_type: new_dtype")
    return wrap(Bitcast(dtype)(x))  # type: ignore[no-any-return]


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to numbers with so many bits of exponent and mantissa, in the same dtype.

    Parameters
    ----------
    operand : array_like of float
    exponent_bits : int
        At least 1.
    mantissa_bits : int
        At least 0. Bits that the dtype has not change nothing.

    Returns
    -------
    Array
        Rounded to nearest, ties to even; what overflows is infinite, what has no normal form is zero.
        Derivatives are rounded likewise, as in JAX.

    Raises
    ------
    DTypeError, ArgumentError
        If the operand is not of floats, or a number of bits is too small.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.reduce_precision(np.array([1.3, 1e6, 1e-9]), exponent_bits=5, mantissa_bits=10)
    Array([1.29980469,        inf, 0.        ], dtype=float64)
    """
    name = "reduce_precision"
    exponent = static_int(exponent_bits, f"{name}: exponent_bits")
    mantissa = static_int(mantissa_bits, f"{name}: mantissa_bits")
    if exponent < 1 or mantissa < 0:
        raise ArgumentError(
            f"{name}: exponent_bits is {exponent} and mantissa_bits {mantissa}; give at least 1 and 0"
        )
    return wrap(ReducePrecision(exponent, mantissa)(_operand(operand, name)))  # type: ignore[no-any-return]


def clz(x: ArrayLike) -> Array:
    """How many of the highest bits are zero.

    Parameters
    ----------
    x : array_like of int

    Returns
    -------
    Array
        Of the dtype of `x`. It has no derivative.

    Raises
    ------
    DTypeError
        If the elements are not integers.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.clz(np.array([0, 1, 255], np.uint8))
    Array([8, 7, 0], dtype=uint8)
    """
    inside = strong(_operand(x, "clz"))
    dtype = aval_of(inside).dtype
    if dtype.kind not in "iu":
        raise DTypeError(f"clz: takes integers, got {dtype}; convert it first")
    width = 8 * dtype.itemsize
    bits = p.convert(inside, np.dtype(f"u{dtype.itemsize}"))
    # All bits below the highest one that is set are set too: then they can be counted.
    shift = 1
    while shift < width:
        bits = p.bitwise_or(bits, p.right_shift(bits, bits.dtype.type(shift)))
        shift *= 2
    return wrap(p.convert(p.sub(np.uint8(width), p.bitwise_count(bits)), dtype))  # type: ignore[no-any-return]


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The upper half of the bits of products, whose lower half is ``x * y``.

    Parameters
    ----------
    x, y : array_like of int
        Of one dtype and shape.

    Returns
    -------
    Array
        Of the dtype of the operands. It has no derivative.

    Raises
    ------
    DTypeError, ShapeError
        If the operands are not integers of one dtype, or shapes do not broadcast.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.mulhi(np.array([200], np.uint8), np.array([100], np.uint8))
    Array([78], dtype=uint8)
    """
    a, b = strong(_operand(x, "mulhi")), strong(_operand(y, "mulhi"))
    dtype, other = aval_of(a).dtype, aval_of(b).dtype
    if dtype.kind not in "iu" or dtype != other:
        raise DTypeError(f"mulhi: takes integers of one dtype, got {dtype} and {other}")
    width = 8 * dtype.itemsize
    unsigned = np.dtype(f"u{dtype.itemsize}")
    half, low = unsigned.type(width // 2), unsigned.type((1 << (width // 2)) - 1)
    u, v = p.convert(a, unsigned), p.convert(b, unsigned)
    u_high, u_low = p.right_shift(u, half), p.bitwise_and(u, low)
    v_high, v_low = p.right_shift(v, half), p.bitwise_and(v, low)
    first, second = p.mul(u_high, v_low), p.mul(u_low, v_high)
    middle = p.add(p.bitwise_and(first, low), p.bitwise_and(second, low))
    carry = p.right_shift(p.add(middle, p.right_shift(p.mul(u_low, v_low), half)), half)
    upper = p.add(p.right_shift(first, half), p.right_shift(second, half))
    answer = p.add(p.add(p.mul(u_high, v_high), upper), carry)
    if dtype.kind == "i":
        # A negative number was taken for one that is larger by 2**width.
        zero = unsigned.type(0)
        answer = p.sub(answer, p.select(p.less(a, 0), v, zero))
        answer = p.sub(answer, p.select(p.less(b, 0), u, zero))
    return wrap(p.convert(answer, dtype))  # type: ignore[no-any-return]
