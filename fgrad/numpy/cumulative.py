"""Running sums and products along an axis."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from fgrad import dtypes
from fgrad.errors import ArgumentError
from fgrad.numpy._reducing import in_dtype
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    DTypeLike,
    dtype_of,
    given_dtype,
    normal_axis,
    operand,
    refuse_out,
    shape_of,
    wrap,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.cumulative import Cumprod, Cumsum
from fgrad.primitives.families import Full, reshape
from fgrad.primitives.shape import Concatenate


def _running(
    primitive: Callable[[int], Any], name: str, x: Any, axis: Any, dtype: Any, out: Any
) -> Any:
    """A running operation on an inside value, along an axis that a user names."""
    refuse_out(out, name)
    wanted = given_dtype(dtype, name)
    shape = shape_of(x)
    x = in_dtype(x, wanted)
    if axis is None or not shape:
        x = reshape(x, (math.prod(shape),))
        position = normal_axis(0 if axis is None else axis, 1, name)
    else:
        position = normal_axis(axis, len(shape), name)
    return in_dtype(_known(primitive, position)(x), wanted)


@functools.lru_cache(256)
def _known(primitive: Callable[[int], Any], axis: int) -> Any:
    """The operation along an axis, made once."""
    return primitive(axis)


def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
) -> Array:
    """Running sum along an axis.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        None sums the flattened array.
    dtype : dtype, optional
        The dtype to sum in. By default that of `a`; integers and booleans are summed in 64 bits.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    AxisError
        If `a` does not have the axis.
    InPlaceError
        If `out` is given.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.cumsum(fnp.asarray([1, 2, 3]))
    Array([1, 3, 6], dtype=int64)
    """
    answer: Array = wrap(_running(Cumsum, "cumsum", operand(a, "cumsum", "a"), axis, dtype, out))
    return answer


def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
) -> Array:
    """Running product along an axis.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        None multiplies the flattened array.
    dtype : dtype, optional
        The dtype to multiply in. By default that of `a`; integers and booleans use 64 bits.

    Returns
    -------
    Array
        Differentiable in both modes, to every order also through zeros.

    Raises
    ------
    AxisError
        If `a` does not have the axis.
    InPlaceError
        If `out` is given.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.cumprod(fnp.asarray([1.0, 2.0, 3.0]))
    Array([1., 2., 6.], dtype=float64)
    """
    answer: Array = wrap(_running(Cumprod, "cumprod", operand(a, "cumprod", "a"), axis, dtype, out))
    return answer


def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
) -> Array:
    """Running sum along an axis, with NaN counted as 0.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        None sums the flattened array.
    dtype : dtype, optional
        The dtype to sum in, as in `cumsum`.

    Returns
    -------
    Array
        Differentiable in both modes; the slope towards NaN is 0.

    Raises
    ------
    AxisError
        If `a` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.nancumsum(fnp.asarray([1.0, fnp.nan, 3.0]))
    Array([1., 1., 4.], dtype=float64)
    """
    x = without_nan(operand(a, "nancumsum", "a"), 0)
    return wrap(_running(Cumsum, "nancumsum", x, axis, dtype, out))  # type: ignore[no-any-return]


def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
) -> Array:
    """Running product along an axis, with NaN counted as 1.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        None multiplies the flattened array.
    dtype : dtype, optional
        The dtype to multiply in, as in `cumprod`.

    Returns
    -------
    Array
        Differentiable in both modes; the slope towards NaN is 0.

    Raises
    ------
    AxisError
        If `a` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.nancumprod(fnp.asarray([2.0, fnp.nan, 3.0]))
    Array([2., 2., 6.], dtype=float64)
    """
    x = without_nan(operand(a, "nancumprod", "a"), 1)
    return wrap(_running(Cumprod, "nancumprod", x, axis, dtype, out))  # type: ignore[no-any-return]


def without_nan(x: Any, fill: Any) -> Any:
    """An inside value with `fill` in the place of NaN."""
    return p.select(p.isnan(x), fill, x) if dtypes.is_inexact(dtype_of(x)) else x


def _from_start(
    primitive: Callable[[int], Any],
    neutral: int,
    name: str,
    x: Any,
    axis: Any,
    dtype: Any,
    include_initial: bool,
) -> Any:
    shape = shape_of(x)
    if axis is None and len(shape) != 1:
        raise ArgumentError(
            f"{name}: give axis= for an array of shape {shape}; only one axis needs no name"
        )
    answer = _running(primitive, name, x, axis, dtype, None)
    if not include_initial:
        return answer
    position = normal_axis(0 if axis is None else axis, len(shape), name)
    start = Full((*shape[:position], 1, *shape[position + 1 :]), neutral, dtype_of(answer))()
    return Concatenate(position)(start, answer)


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike = None,
    include_initial: bool = False,
) -> Array:
    """Running sum along an axis, as the Array API standard has it.

    Parameters
    ----------
    x : array_like
        With one axis or more.
    axis : int, optional
        Can be left out where there is one axis only.
    dtype : dtype, optional
        The dtype to sum in, as in `cumsum`.
    include_initial : bool
        Whether to begin with the empty sum, 0.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If `axis` is missing.
    AxisError
        If `x` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.cumulative_sum(fnp.asarray([1, 2]), include_initial=True)
    Array([0, 1, 3], dtype=int64)
    """
    inside = operand(x, "cumulative_sum", "x")
    return wrap(  # type: ignore[no-any-return]
        _from_start(Cumsum, 0, "cumulative_sum", inside, axis, dtype, include_initial)
    )


def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike = None,
    include_initial: bool = False,
) -> Array:
    """Running product along an axis, as the Array API standard has it.

    Parameters
    ----------
    x : array_like
        With one axis or more.
    axis : int, optional
        Can be left out where there is one axis only.
    dtype : dtype, optional
        The dtype to multiply in, as in `cumprod`.
    include_initial : bool
        Whether to begin with the empty product, 1.

    Returns
    -------
    Array
        Differentiable in both modes, to every order also through zeros.

    Raises
    ------
    ArgumentError
        If `axis` is missing.
    AxisError
        If `x` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.cumulative_prod(fnp.asarray([2, 3]), include_initial=True)
    Array([1, 2, 6], dtype=int64)
    """
    inside = operand(x, "cumulative_prod", "x")
    return wrap(  # type: ignore[no-any-return]
        _from_start(Cumprod, 1, "cumulative_prod", inside, axis, dtype, include_initial)
    )
