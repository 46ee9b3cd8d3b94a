"""Initial values of parameters: functions of a random key, a shape and a dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import dtypes
from fgrad.array import Array
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    operand,
    static_shape,
    stretched,
    wrap,
)
from fgrad.primitives.elementwise import convert

Initializer = Callable[..., Array]


def zeros(
    key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
) -> Array:
    """An array of zeros.

    Parameters
    ----------
    key : object
        Not used.
    shape : int or sequence of int
    dtype : dtype-like, optional
        float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad
    >>> fgrad.nn.initializers.zeros(None, (2,))
    Array([0., 0.], dtype=float64)
    """
    return _filled("zeros", 0.0, shape, dtype)


def ones(
    key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
) -> Array:
    """An array of ones.

    Parameters
    ----------
    key : object
        Not used.
    shape : int or sequence of int
    dtype : dtype-like, optional
        float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad
    >>> fgrad.nn.initializers.ones(None, (2,))
    Array([1., 1.], dtype=float64)
    """
    return _filled("ones", 1.0, shape, dtype)


def constant(value: ArrayLike, dtype: DTypeLike = None) -> Initializer:
    """Make an initializer that repeats a value.

    Parameters
    ----------
    value : array_like
        A number, or an array that broadcasts to the shape asked for.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.nn.initializers.constant(0.5)(None, (2,))
    Array([0.5, 0.5], dtype=float64)
    """
    usual = dtype

    def initialize(
        key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Array:
        return _filled("constant", value, shape, usual if dtype is None else dtype)

    return initialize


def _filled(name: str, value: ArrayLike, shape: int | Sequence[int], dtype: DTypeLike) -> Array:
    wanted = given_dtype(dtype, name) or dtypes.canonical(dtypes.FLOAT64)
    inside = convert(operand(value, name), wanted)
    return wrap(stretched(inside, static_shape(shape, name), name))  # type: ignore[no-any-return]
