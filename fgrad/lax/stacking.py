"""Arrays along a new axis, and the entries along one, under the names of ``jax.lax``."""

from __future__ import annotations

from collections.abc import Sequence

from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError
from fgrad.numpy._support import ArrayLike, normal_axis, shape_of, stacked, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives.elementwise import convert
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import static_index


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Arrays of one shape and dtype along a new axis.

    Parameters
    ----------
    operands : sequence of array_like
    axis : int
        Where the new axis is.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError, ArgumentError, DTypeError
        If there are none, or shapes or dtypes differ.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.stack([np.zeros(2), np.ones(2)]).shape
    (2, 2)
    """
    name = "stack"
    xs = [_operand(x, name) for x in operands]
    if not xs:
        raise ArgumentError(f"{name}: need at least one array")
    avals = [aval_of(x) for x in xs]
    for aval in avals:
        if aval.dtype != avals[0].dtype and not (aval.weak or avals[0].weak):
            raise DTypeError(
                f"{name}: arrays of dtypes {avals[0].dtype} and {aval.dtype}; convert one"
            )
    position = normal_axis(axis, len(avals[0].shape) + 1, name)
    dtype = common_dtype(avals)
    return wrap(stacked([convert(x, dtype) for x in xs], position, name))  # type: ignore[no-any-return]


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The entries of an array along an axis, which they lack.

    Parameters
    ----------
    x : array_like
    axis : int

    Returns
    -------
    tuple of Array
        Differentiable.

    Raises
    ------
    AxisError
        If the array has not this axis.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> a, b = lax.unstack(np.arange(2.0))
    >>> float(b)
    1.0
    """
    inside = _operand(x, "unstack")
    shape = shape_of(inside)
    position = normal_axis(axis, len(shape), "unstack")
    before = (slice(None),) * position
    return tuple(wrap(static_index(inside, (*before, k))) for k in range(shape[position]))
