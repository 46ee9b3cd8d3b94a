"""Linear interpolation between samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.array import Array, plain, wrap
from fgrad.avals import aval_of
from fgrad.dtypes import FLOAT64
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._direct import called
from fgrad.numpy._support import ArrayLike, operand
from fgrad.numpy.reordering import taken
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import shape_of
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.primitives.sorting import Argsort, Searchsorted


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Interpolate linearly between samples.

    Parameters
    ----------
    x : array_like
        Where to interpolate.
    xp, fp : array_like
        Coordinates of the samples, increasing, and their values; with one axis.
    left, right : array_like, optional
        The values below the first and above the last coordinate; None means those of the end samples.
    period : array_like, optional
        The period of the coordinates, which need not be sorted then.

    Returns
    -------
    Array
        Of the shape of `x`. Differentiable in both modes towards all but `period`; at a sample, the
        slope is the one above it.

    Raises
    ------
    ShapeError
        If `xp` and `fp` do not have one axis of the same size, not empty.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.interp(1.5, fnp.array([1.0, 2.0]), fnp.array([10.0, 20.0])))
    15.0
    """
    if left is right is period is None:
        samples = [plain(v) if type(v) is Array else v for v in (xp, fp)]
        answer = called(_between_samples, x, *samples)
        if answer is not None:
            return answer
    at, places, values = (p.cast_to_float(operand(v, "interp")) for v in (x, xp, fp))
    if aval_of(values).dtype.kind != "c":
        at, places, values = _in_one_dtype(at, places, values)
    shapes = shape_of(places), shape_of(values)
    if len(shapes[0]) != 1 or shapes[0] != shapes[1] or not shapes[0][0]:
        raise ShapeError(
            f"interp: xp has shape {shapes[0]} and fp {shapes[1]}; give one axis of the same size, not empty"
        )
    if period is not None:
        if left is not None or right is not None:
            raise ArgumentError("interp: a periodic function has no left or right; leave them out")
        at, places, cycle = _in_one_dtype(at, places, p.abs_(operand(period, "interp")))
        at, places, values = _periodic(at, places, values, cycle)
    size = aval_of(places).size
    first, last = static_index(values, (0,)), static_index(values, (size - 1,))
    if size > 1:
        found = Searchsorted("right")(places, at)
        upper = p.minimum(p.maximum(found, 1), size - 1)
        lower = p.sub(upper, 1)
        x0, x1 = taken(places, lower, 0), taken(places, upper, 0)
        y0, y1 = taken(values, lower, 0), taken(values, upper, 0)
        width = p.sub(x1, x0)
        flat = p.equal(width, 0.0)
        slope = p.div(p.sub(y1, y0), p.select(flat, 1.0, width))
        # Infinite samples that are equal have no slope, but a value.
        steady = p.logical_or(flat, p.equal(y0, y1))
        inside = p.select(steady, y1, p.add(y0, p.mul(slope, p.sub(at, x0))))
    else:
        inside = first
    below = p.less(at, static_index(places, (0,)))
    above = p.greater(at, static_index(places, (size - 1,)))
    result = p.select(below, first if left is None else operand(left, "interp"), inside)
    result = p.select(above, last if right is None else operand(right, "interp"), result)
    aval = aval_of(result)
    result = p.select(p.isnan(at), p.convert(at, aval.dtype, aval.weak), result)
    return wrap(result)  # type: ignore[no-any-return]


def _between_samples(at: Any, places: Any, values: Any) -> Any:
    """What NumPy says of finite samples in order; of others it says less than there is."""
    for x in (at, places, values):
        if type(x) is not np.ndarray or x.dtype != FLOAT64:
            raise TypeError("NumPy computes in float64")
    in_order = places.size > 1 and (places[1:] > places[:-1]).all()
    if not in_order or not np.isfinite(places).all() or not np.isfinite(values).all():
        raise ValueError("samples that are not finite or not in order")
    return np.interp(at, places, values)


def _in_one_dtype(*xs: Any) -> list[Any]:
    """Real numbers in the widest dtype among them, so that differences and remainders lose nothing."""
    common = common_dtype([aval_of(x) for x in xs])
    return [x if aval_of(x).weak else p.convert(x, common) for x in xs]


def _periodic(at: Any, places: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    """The samples within one period, in order, with one more at either end."""
    places = p.remainder(places, period)
    order = Argsort(0)(places)
    places, values = taken(places, order, 0), taken(values, order, 0)
    size = aval_of(places).size
    head, tail = slice(0, 1), slice(size - 1, size)
    places = Concatenate(0)(
        p.sub(static_index(places, (tail,)), period),
        places,
        p.add(static_index(places, (head,)), period),
    )
    values = Concatenate(0)(static_index(values, (tail,)), values, static_index(values, (head,)))
    return p.remainder(at, period), places, values
