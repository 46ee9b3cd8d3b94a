"""Choosing elements by conditions of the same shape."""

from __future__ import annotations

from typing import Any

from fgrad.errors import ArgumentError
from fgrad.numpy._direct import on_three_arrays
from fgrad.numpy._support import ArrayLike, operand, wrap
from fgrad.numpy.searching import nonzero
from fgrad.numpy.ufuncs import chosen
from fgrad.primitives.elementwise import select_of_arrays


def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Choose from x where a condition holds, else from y.

    Parameters
    ----------
    condition : array_like of bool
        Numbers count as true where they are not zero.
    x, y : array_like, optional
        Broadcast together with the condition. Without both, the indices where the condition holds are
        returned, as by `nonzero`.
    size, fill_value
        For the form without x and y, as in `nonzero`.

    Returns
    -------
    Array
        Differentiable in both modes towards x and y. The branch not chosen gets a cotangent of zero, which
        its infinite or NaN slopes do not spoil.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> float(fgrad.grad(lambda x: fnp.where(x > -1.0, 3.0 * x, fnp.sqrt(x)))(0.0))
    3.0
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ArgumentError("where: give both x and y, or neither")
    return _where(condition, x, y)


def _by_primitive(condition: Any, x: Any, y: Any) -> Any:
    return wrap(chosen(operand(condition, "where"), operand(x, "where"), operand(y, "where")))


_where = on_three_arrays(select_of_arrays, _by_primitive)
