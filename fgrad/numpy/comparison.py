"""Whether arrays are equal, or nearly so."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.numpy._support import ArrayLike, fit, operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import shape_of
from fgrad.primitives.reduction import All


def _close(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    if aval_of(x).dtype in dtypes.NARROW_INTEGERS:
        # They promote to no float.
        x = p.cast_to_float(x)
    if not dtypes.is_inexact(aval_of(y).dtype):
        y = p.convert(y, dtypes.float_for(aval_of(y).dtype))
    limit = p.add(atol, p.mul(rtol, p.abs_(y)))
    near = p.logical_and(p.less_equal(p.abs_(p.sub(x, y)), limit), p.isfinite(y))
    # Infinities are near to themselves only.
    found = p.logical_or(near, p.equal(x, y))
    if not equal_nan:
        return found
    x_nan = p.isnan(x) if dtypes.is_inexact(aval_of(x).dtype) else False
    return p.logical_or(found, p.logical_and(x_nan, p.isnan(y)))


def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether ``|a - b| <= atol + rtol * |b|``, elementwise.

    Parameters
    ----------
    a, b : array_like
    rtol, atol : array_like
        The relative and the absolute tolerance.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.isclose(fnp.array([1.0, 2.0]), 1.0)
    Array([ True, False], dtype=bool)
    """
    with np.errstate(invalid="ignore"):
        x, y, relative, absolute = (operand(v, "isclose") for v in (a, b, rtol, atol))
        fit("isclose", x, y, relative, absolute)
        return wrap(_close(x, y, relative, absolute, bool(equal_nan)))  # type: ignore[no-any-return]


def _all(x: Any) -> Any:
    return All(tuple(range(len(shape_of(x)))))(x)


def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether all elements are close, as by `isclose`.

    Parameters
    ----------
    a, b : array_like
    rtol, atol : array_like
        The relative and the absolute tolerance.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    Array of bool
        Without axes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.allclose(fnp.array([1.0, 2.0]), [1.0, 2.0 + 1e-9]).item()
    True
    """
    with np.errstate(invalid="ignore"):
        x, y, relative, absolute = (operand(v, "allclose") for v in (a, b, rtol, atol))
        fit("allclose", x, y, relative, absolute)
        return wrap(_all(_close(x, y, relative, absolute, bool(equal_nan))))  # type: ignore[no-any-return]


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have one shape and equal elements.

    Parameters
    ----------
    a1, a2 : array_like
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    Array of bool
        Without axes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.array_equal([1, 2], [1, 2]).item()
    True
    >>> fnp.array_equal([1, 2], [1, 2, 3]).item()
    False
    """
    x, y = operand(a1, "array_equal"), operand(a2, "array_equal")
    if shape_of(x) != shape_of(y):
        return wrap(np.False_)  # type: ignore[no-any-return]
    same = p.equal(x, y)
    if equal_nan and all(dtypes.is_inexact(aval_of(v).dtype) for v in (x, y)):
        same = p.logical_or(same, p.logical_and(p.isnan(x), p.isnan(y)))
    return wrap(_all(same))  # type: ignore[no-any-return]


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays broadcast together, and are equal then.

    Parameters
    ----------
    a1, a2 : array_like

    Returns
    -------
    Array of bool
        Without axes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.array_equiv([1, 1], [[1, 1], [1, 1]]).item()
    True
    """
    x, y = operand(a1, "array_equiv"), operand(a2, "array_equiv")
    try:
        np.broadcast_shapes(shape_of(x), shape_of(y))
    except ValueError:
        return wrap(np.False_)  # type: ignore[no-any-return]
    return wrap(_all(p.equal(x, y)))  # type: ignore[no-any-return]
