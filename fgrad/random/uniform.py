"""Bits, uniform numbers and integers, and coins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Shape, aval_of
from fgrad.errors import ArgumentError, DTypeError
from fgrad.numpy._support import ArrayLike, DTypeLike, operand
from fgrad.numpy.types import finfo
from fgrad.primitives.elementwise import (
    convert,
    greater,
    less,
    maximum,
    minimum,
    select,
    sub,
)
from fgrad.primitives.families import mul
from fgrad.primitives.random import PHILOX, RandomBits, RandomUnits
from fgrad.primitives.random_ranges import bits_between, units_between
from fgrad.random.arguments import (
    check_fits,
    dtype_of_kind,
    float_dtype,
    int_dtype,
    kind_of,
    shape_of_draw,
)
from fgrad.random.key_arguments import part, single_key, split_words


def bits(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Array:
    """Draw uniform bits, as unsigned integers.

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        An unsigned integer; uint64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or the dtype not an unsigned integer.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.bits(fgrad.random.key(0), (2,), "uint32")
    Array([4070199207, 4202968722], dtype=uint32)
    """
    implementation, words = single_key(key, "bits")
    wanted = dtype_of_kind(dtype, "bits", "u", np.uint64, "an unsigned integer dtype")
    size = shape_of_draw(shape, "bits")
    return wrap(RandomBits(implementation, size, 8 * wanted.itemsize)(words))  # type: ignore[no-any-return]


def units(implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Uniform numbers of [0, 1)."""
    return RandomUnits(implementation, shape, dtype)(words)


def between(
    implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any], low: Any, high: Any
) -> Any:
    """Uniform numbers of [low, high), both of which have the dtype."""
    return units_between(units(implementation, words, shape, dtype), low, high)


def uniform(
    key: Any,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw uniform numbers of [minval, maxval).

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        A floating-point dtype; float64 by default.
    minval, maxval : array_like
        The bounds; they broadcast to `shape`.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Differentiable towards the bounds.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, the dtype not floating-point, or a bound does not fit.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.uniform(fgrad.random.key(0), (2,), "float32")
    Array([0.947667 , 0.9785799], dtype=float32)
    """
    implementation, words = single_key(key, "uniform")
    wanted = float_dtype(dtype, "uniform")
    size = shape_of_draw(shape, "uniform")
    if type(minval) is float and type(maxval) is float and minval == 0.0 and maxval == 1.0:
        return wrap(units(implementation, words, size, wanted))  # type: ignore[no-any-return]
    bounds = []
    for argument, given in (("minval", minval), ("maxval", maxval)):
        bound = convert(operand(given, "uniform", argument), wanted)
        check_fits("uniform", argument, aval_of(bound).shape, size)
        bounds.append(bound)
    return wrap(between(implementation, words, size, wanted, *bounds))  # type: ignore[no-any-return]


def randint(
    key: Any,
    shape: int | Sequence[int],
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw uniform integers of [minval, maxval).

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    minval, maxval : array_like of int
        The bounds; they broadcast to `shape` and are clipped to the range of the dtype. Where
        maxval is not above minval, the draw is minval.
    dtype : dtype-like, optional
        An integer dtype; int64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, the dtype not an integer, or a bound does not fit.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.randint(fgrad.random.key(0), (3,), 0, 10, "int32")
    Array([9, 0, 2], dtype=int32)
    """
    implementation, words = single_key(key, "randint")
    wanted = int_dtype(dtype, "randint")
    size = shape_of_draw(shape, "randint")
    given = []
    for argument, bound in (("minval", minval), ("maxval", maxval)):
        inside = operand(bound, "randint", argument)
        own = aval_of(inside)
        if own.dtype.kind == "c":
            raise DTypeError(f"randint: {argument} must be an integer, got {own.dtype}")
        check_fits("randint", argument, own.shape, size)
        given.append(inside)
    return wrap(integers(implementation, words, size, wanted, *given))  # type: ignore[no-any-return]


def integers(
    implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any], minval: Any, maxval: Any
) -> Any:
    """Uniform integers of [minval, maxval)."""
    # Words of 32 bits at least: fewer would make some numbers likelier than others.
    working = np.dtype(np.int32) if dtype.itemsize < 4 else dtype
    if implementation == PHILOX and working != np.uint64:
        # One word of 64 bits is as even as two of 32.
        working = dtypes.INT64
    limits, room = np.iinfo(dtype), np.iinfo(working)
    low = _clipped(minval, limits.min, limits.max, working)
    high = _clipped(maxval, limits.min, min(limits.max + 1, room.max), working)
    # The end of a range with the greatest number has no room in the dtype.
    whole = _is_above(maxval, room.max)
    draw = RandomBits(implementation, shape, 8 * working.itemsize)
    if implementation == PHILOX:
        higher, lower = np.uint64(0), draw(words)
    else:
        higher, lower = [draw(half) for half in split_words(implementation, words)]
    return convert(bits_between(higher, lower, low, high, whole), dtype)


def _clipped(x: Any, least: int, greatest: int, dtype: np.dtype[Any]) -> Any:
    """A bound, brought into a range first and then into a dtype that has it."""
    if type(x) in (int, float, bool):
        return dtype.type(min(max(int(x), least), greatest))
    x = _as_integer(x)
    own = np.iinfo(aval_of(x).dtype)
    # NumPy refuses Python integers that an array's dtype does not have.
    return convert(minimum(maximum(x, max(least, own.min)), min(greatest, own.max)), dtype)


def _is_above(x: Any, greatest: int) -> Any:
    if type(x) in (int, float, bool):
        return np.bool_(x > greatest)
    x = _as_integer(x)
    return greater(x, greatest) if np.iinfo(aval_of(x).dtype).max > greatest else np.bool_(False)


def _as_integer(x: Any) -> Any:
    return x if aval_of(x).dtype.kind in "iu" else convert(x, dtypes.canonical(dtypes.INT64))


def bernoulli(
    key: Any,
    p: ArrayLike = 0.5,
    shape: int | Sequence[int] | None = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw coins: True with probability p.

    Parameters
    ----------
    key : key
        A single key.
    p : array_like of float
        The probability of True.
    shape : int or sequence of int, optional
        p broadcasts to it; the shape of p by default.
    mode : {"low", "high"}
        "high" draws twice as many bits, for probabilities below the precision of p.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        bool.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, ArgumentError
        If `key` is not a single key, p is not a float or does not fit, or the mode is not known.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.bernoulli(fgrad.random.key(0), 0.3, (3,))
    Array([False,  True, False], dtype=bool)
    """
    implementation, words = single_key(key, "bernoulli")
    chance = operand(p, "bernoulli", "p")
    own = aval_of(chance)
    if kind_of(own.dtype) != "f":
        raise DTypeError(
            f"bernoulli: p is a probability and must be a float, got {own.dtype}; write 1.0 for 1"
        )
    size = own.shape if shape is None else shape_of_draw(shape, "bernoulli")
    check_fits("bernoulli", "p", own.shape, size)
    dtype = dtypes.canonical(own.dtype)
    if choose_mode(mode, "bernoulli") == "low":
        return wrap(less(units(implementation, words, size, dtype), chance))  # type: ignore[no-any-return]
    coarse, fine = two_rows(units(implementation, words, (2, *size), dtype))
    finer = mul(fine, dtype.type(finfo(dtype).eps))
    return wrap(less(finer, sub(chance, coarse)))  # type: ignore[no-any-return]


def choose_mode(mode: str | None, name: str) -> str:
    """How finely to draw: "low" or "high"."""
    if mode is None:
        return "low"
    if mode not in ("low", "high"):
        raise ArgumentError(f"{name}: mode={mode!r} is not known; give 'low' or 'high'")
    return mode


def two_rows(x: Any) -> tuple[Any, Any]:
    """The two parts of an array along its leading axis."""
    return part(x, 0), part(x, 1)


def rademacher(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Array:
    """Draw signs: -1 or 1, equally likely.

    Parameters
    ----------
    key : key
        A single key.
    shape : int or sequence of int
    dtype : dtype-like, optional
        int64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Raises
    ------
    NonArrayError, DTypeError, ShapeError
        If `key` is not a single key, or the dtype not one of numbers.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.rademacher(fgrad.random.key(0), (3,))
    Array([ 1,  1, -1], dtype=int64)
    """
    implementation, words = single_key(key, "rademacher")
    wanted = dtype_of_kind(dtype, "rademacher", "ifc", np.int64, "a signed dtype")
    return wrap(signs(implementation, words, shape_of_draw(shape, "rademacher"), wanted))  # type: ignore[no-any-return]


def signs(implementation: str, words: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """-1 or 1."""
    wide = dtypes.canonical(dtypes.FLOAT64)
    heads = less(units(implementation, words, shape, wide), 0.5)
    return select(heads, dtype.type(1), dtype.type(-1))
