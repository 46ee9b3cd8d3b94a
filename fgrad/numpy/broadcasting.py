"""Stretching arrays to common shapes and numbers of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.array import Array, wrap
from fgrad.avals import Shape
from fgrad.errors import ShapeError
from fgrad.numpy._support import ArrayLike, operand, static_shape, stretched
from fgrad.primitives.elementwise import broadcast_together
from fgrad.primitives.families import reshape, shape_of


def broadcast_to(array: ArrayLike, shape: Any, *, out_sharding: Any = None) -> Array:
    """Stretch to a shape by the rules of broadcasting.

    Parameters
    ----------
    array : array_like
    shape : int or sequence of int
    out_sharding
        Accepted for compatibility.

    Returns
    -------
    Array
        Differentiable in both modes: the cotangent is summed back.

    Raises
    ------
    ShapeError
        If the shape of `array` cannot be stretched so.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.broadcast_to(fnp.arange(2), (2, 2))
    Array([[0, 1],
           [0, 1]], dtype=int64)
    """
    target = static_shape(shape, "broadcast_to")
    return wrap(stretched(operand(array, "broadcast_to"), target, "broadcast_to"))  # type: ignore[no-any-return]


def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """Stretch arrays to their common shape.

    Parameters
    ----------
    *args : array_like

    Returns
    -------
    list of Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [x.shape for x in fnp.broadcast_arrays(fnp.ones((2, 1)), fnp.ones(3))]
    [(2, 3), (2, 3)]
    """
    if not args:
        return []
    together = broadcast_together(
        "broadcast_arrays", *[operand(x, "broadcast_arrays") for x in args]
    )
    return [wrap(x) for x in together]


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that arrays of these shapes broadcast to.

    Parameters
    ----------
    *shapes : int or sequence of int

    Returns
    -------
    tuple of int

    Raises
    ------
    ShapeError
        If they do not broadcast.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    given = [static_shape(shape, "broadcast_shapes") for shape in shapes]
    try:
        return np.broadcast_shapes(*given)
    except ValueError:
        listed = " and ".join(map(str, given))
        raise ShapeError(
            f"broadcast_shapes: shapes {listed} cannot be broadcast together"
        ) from None


def _at_least(x: Any, rank: int) -> Any:
    shape = shape_of(x)
    if len(shape) >= rank:
        return x
    if rank == 3:
        return reshape(x, {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)])
    return reshape(x, (1,) * (rank - len(shape)) + shape)


def _all_at_least(arys: Sequence[Any], rank: int, name: str) -> Any:
    results = [wrap(_at_least(operand(x, name), rank)) for x in arys]
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: ArrayLike) -> Any:
    """Arrays with at least one axis.

    Parameters
    ----------
    *arys : array_like

    Returns
    -------
    Array, or list of Array if several are given
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.atleast_1d(3.0).shape
    (1,)
    """
    return _all_at_least(arys, 1, "atleast_1d")


def atleast_2d(*arys: ArrayLike) -> Any:
    """Arrays with at least two axes; new ones come first.

    Parameters
    ----------
    *arys : array_like

    Returns
    -------
    Array, or list of Array if several are given
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.atleast_2d(fnp.ones(3)).shape
    (1, 3)
    """
    return _all_at_least(arys, 2, "atleast_2d")


def atleast_3d(*arys: ArrayLike) -> Any:
    """Arrays with at least three axes: (N,) becomes (1, N, 1) and (M, N) becomes (M, N, 1).

    Parameters
    ----------
    *arys : array_like

    Returns
    -------
    Array, or list of Array if several are given
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.atleast_3d(fnp.ones(3)).shape
    (1, 3, 1)
    """
    return _all_at_least(arys, 3, "atleast_3d")
