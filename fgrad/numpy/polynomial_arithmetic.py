"""Sums, products, quotients, slopes and integrals of polynomials, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ConcretizationTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, operand, static_int
from fgrad.primitives import elementwise
from fgrad.primitives.convolution import convolve
from fgrad.primitives.families import reshape, shape_of, zeros_of
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, Iota, Pad, static_index
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown


def _coefficients(p: Any, name: str, argument: str) -> Any:
    x = operand(p, name, argument)
    shape = shape_of(x)
    if len(shape) > 1:
        raise ShapeError(f"{name}: {argument} has shape {shape}; give coefficients along one axis")
    return reshape(elementwise.convert(x, aval_of(x).dtype), shape or (1,))


def _size(x: Any) -> int:
    return shape_of(x)[0]


def _from(x: Any, start: int) -> Any:
    return static_index(x, (slice(start, None),))


def _padded(x: Any, front: int) -> Any:
    return Pad((front,), (0,), (0,))(x) if front else x


def _lined_up(a1: Any, a2: Any, name: str) -> tuple[Any, Any]:
    left, right = _coefficients(a1, name, "a1"), _coefficients(a2, name, "a2")
    size = max(_size(left), _size(right))
    return _padded(left, size - _size(left)), _padded(right, size - _size(right))


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Sum of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients along one axis, the highest power first.

    Returns
    -------
    Array
        As many coefficients as the longer one has. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If coefficients have more than one axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.polyadd(fnp.array([1, 2]), fnp.array([1, 0, 0]))
    Array([1, 1, 2], dtype=int64)
    """
    return wrap(elementwise.add(*_lined_up(a1, a2, "polyadd")))  # type: ignore[no-any-return]


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Difference of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients along one axis, the highest power first.

    Returns
    -------
    Array
        As many coefficients as the longer one has. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If coefficients have more than one axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.polysub(fnp.array([1, 2]), fnp.array([1, 0, 0]))
    Array([-1,  1,  2], dtype=int64)
    """
    return wrap(elementwise.sub(*_lined_up(a1, a2, "polysub")))  # type: ignore[no-any-return]


def _leading_zeros(x: Any, name: str, close: bool = False) -> int:
    """How many coefficients to leave out in front, of which one stays."""
    known = concrete(x) if isinstance(x, Tracer) else x
    if known is None:
        raise ConcretizationTypeError(
            f"{name}: how many leading zeros there are must be known while tracing, but is not of "
            f"{describe_unknown(x)}; pass trim_leading_zeros=False ({here()})"
        )
    zero = np.isclose(known, 0, rtol=1e-14) if close else np.equal(known, 0)
    return int(np.argmin(zero)) if not zero.all() else zero.size - 1


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Product of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like
        Coefficients along one axis, the highest power first.
    trim_leading_zeros : bool
        Whether to leave out leading zeros of the factors; their values must be known then.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ConcretizationTypeError
        If leading zeros are to be left out of unknown coefficients.
    ShapeError
        If coefficients have more than one axis, or there are none.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.polymul(fnp.array([1, 2]), fnp.array([1, -2]))
    Array([ 1,  0, -4], dtype=int64)
    """
    left, right = _coefficients(a1, "polymul", "a1"), _coefficients(a2, "polymul", "a2")
    if trim_leading_zeros:
        left = _from(left, _leading_zeros(left, "polymul"))
        right = _from(right, _leading_zeros(right, "polymul"))
    if not _size(left) or not _size(right):
        raise ShapeError("polymul: a factor has no coefficients; give at least one, as in [0.0]")
    dtype = common_dtype([aval_of(left), aval_of(right)])
    return wrap(convolve(elementwise.convert(left, dtype), elementwise.convert(right, dtype)))  # type: ignore[no-any-return]


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    Parameters
    ----------
    u, v : array_like
        Coefficients of dividend and divisor along one axis, the highest power first; the first one of `v` is
        not zero.
    trim_leading_zeros : bool
        Whether to leave out leading zeros of the remainder that come about by its values, which must be known
        then.

    Returns
    -------
    tuple of Array
        The quotient, and the remainder, which has one coefficient less than `v`, or one if `v` has one.
        Differentiable in both modes.

    Raises
    ------
    ConcretizationTypeError
        If leading zeros are to be left out of unknown coefficients.
    ShapeError
        If coefficients have more than one axis, or there are none.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> quotient, remainder = fnp.polydiv(fnp.array([1.0, 0.0, -4.0]), fnp.array([1.0, 2.0]))
    >>> quotient, remainder
    (Array([ 1., -2.], dtype=float64), Array([0.], dtype=float64))
    """
    rest = elementwise.cast_to_float(_coefficients(u, "polydiv", "u"))
    divisor = elementwise.cast_to_float(_coefficients(v, "polydiv", "v"))
    if not _size(rest) or not _size(divisor):
        raise ShapeError("polydiv: there are no coefficients; give at least one, as in [0.0]")
    dtype = common_dtype([aval_of(rest), aval_of(divisor)])
    rest, divisor = elementwise.convert(rest, dtype), elementwise.convert(divisor, dtype)
    size = _size(divisor)
    steps = _size(rest) - size + 1
    scale = elementwise.div(1.0, static_index(divisor, (0,)))
    tail = _from(divisor, 1)
    factors = []
    for _ in range(steps):
        factor = elementwise.mul(scale, static_index(rest, (slice(0, 1),)))
        factors.append(factor)
        head = elementwise.sub(static_index(rest, (slice(1, size),)), elementwise.mul(factor, tail))
        rest = Concatenate(0)(head, _from(rest, size))
    quotient = Concatenate(0)(*factors) if factors else zeros_of(aval_of(rest).with_shape((1,)))
    if not _size(rest):
        rest = zeros_of(aval_of(rest).with_shape((1,)))
    if trim_leading_zeros:
        rest = _from(rest, _leading_zeros(rest, "polydiv", close=True))
    return wrap(quotient), wrap(rest)


def _order(m: Any, name: str) -> int:
    order = static_int(m, f"{name}: m")
    if order < 0:
        raise ArgumentError(f"{name}: m is {order}; give an order that is not negative")
    return order


def _powers(size: int) -> Any:
    return Iota(size, dtypes.canonical(dtypes.INT64), size, -1)()


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Derivative of a polynomial.

    Parameters
    ----------
    p : array_like
        Coefficients along one axis, the highest power first.
    m : int
        The order of the derivative.

    Returns
    -------
    Array
        With `m` coefficients less. Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If the order is negative.
    ShapeError
        If coefficients have more than one axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.polyder(fnp.array([1, 2, 3]))
    Array([2, 2], dtype=int64)
    """
    x = _coefficients(p, "polyder", "p")
    for _ in range(_order(m, "polyder")):
        size = max(_size(x) - 1, 0)
        x = elementwise.mul(static_index(x, (slice(0, size),)), _powers(size))
    return wrap(x)  # type: ignore[no-any-return]


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Antiderivative of a polynomial.

    Parameters
    ----------
    p : array_like
        Coefficients along one axis, the highest power first.
    m : int
        The order of the antiderivative.
    k : array_like, optional
        The constants of integration, one for each order, or one for all; None means zeros.

    Returns
    -------
    Array
        With `m` coefficients more. Differentiable in both modes, towards the constants too.

    Raises
    ------
    ArgumentError
        If the order is negative.
    ShapeError
        If coefficients have more than one axis, or there is neither one constant nor one for each order.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.polyint(fnp.array([2.0, 2.0]), k=3.0)
    Array([1., 2., 3.], dtype=float64)
    """
    x = _coefficients(p, "polyint", "p")
    order = _order(m, "polyint")
    constants = _coefficients(np.zeros(order) if k is None else k, "polyint", "k")
    if _size(constants) not in (1, order):
        raise ShapeError(
            f"polyint: k has {_size(constants)} constants; give one, or one for each of {order} orders"
        )
    for i in range(order):
        place = i if _size(constants) > 1 else 0
        whole = elementwise.div(x, _powers(_size(x)))
        x = Concatenate(0)(whole, static_index(constants, (slice(place, place + 1),)))
    return wrap(x)  # type: ignore[no-any-return]
