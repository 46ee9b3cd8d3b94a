"""Quantities that repeat: angles and other phases."""

from __future__ import annotations

import math

from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, fit, normal_axis, operand
from fgrad.numpy.differences import neighbour_steps
from fgrad.numpy.reordering import along
from fgrad.primitives.cumulative import Cumsum
from fgrad.primitives.elementwise import (
    abs_,
    add,
    convert,
    div,
    equal,
    floor_divide,
    greater,
    less,
    logical_and,
    neg,
    remainder,
    select,
    sub,
)
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, static_index


def unwrap(
    p: ArrayLike,
    discont: ArrayLike | None = None,
    axis: int = -1,
    period: ArrayLike = 2.0 * math.pi,
) -> Array:
    """Undo the jumps of a quantity that is known up to multiples of a period.

    Parameters
    ----------
    p : array_like
        Angles, or other numbers that repeat. Where neighbours differ by more than half a period, multiples of
        the period are added to what follows.
    discont : array_like, optional
        Differences below it are no jumps; None, and all below half a period, mean half a period.
    axis : int
    period : array_like
        A number.

    Returns
    -------
    Array
        Differentiable in both modes; the slope towards p is 1.

    Raises
    ------
    DTypeError
        If p is complex.
    ShapeError
        If p has no axes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.unwrap(fnp.array([0, 3, 2, 1]), period=4)
    Array([ 0, -1, -2, -3], dtype=int64)
    """
    x, cycle = operand(p, "unwrap", "p"), operand(period, "unwrap", "period")
    aval = aval_of(x)
    if not aval.shape:
        raise ShapeError("unwrap: p has no axes; give an array")
    if aval.dtype.kind == "c":
        raise DTypeError(f"unwrap: p has dtype {aval.dtype}, which has no order; unwrap its angle")
    position = normal_axis(axis, len(aval.shape), "unwrap")
    least = None if discont is None else operand(discont, "unwrap", "discont")
    steps = neighbour_steps(x, position)
    fit("unwrap", steps, cycle)
    dtype = common_dtype([aval_of(steps), aval_of(cycle)])
    if dtype.kind in "iu":
        half = floor_divide(cycle, 2)
        # The middle of an odd period is between two integers, and no step is at it.
        is_even = equal(remainder(cycle, 2), 0)
    else:
        half, is_even = div(cycle, 2.0), True
    low = neg(half)
    turned = add(remainder(sub(steps, low), cycle), low)
    at_middle = logical_and(equal(turned, low), greater(steps, 0))
    at_middle = logical_and(at_middle, is_even)
    turned = select(at_middle, half, turned)
    if least is None:
        least = div(cycle, 2) if dtype.kind in "iu" else half
    fit("unwrap", steps, least)
    small = less(abs_(steps), least)
    added = select(small, 0, sub(turned, steps))
    first = static_index(x, along(position, slice(0, 1)))
    rest = add(static_index(x, along(position, slice(1, None))), Cumsum(position)(added))
    result = Concatenate(position)(convert(first, dtype), convert(rest, dtype))
    return wrap(result)  # type: ignore[no-any-return]
