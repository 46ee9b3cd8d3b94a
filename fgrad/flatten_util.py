"""Trees of arrays as one vector, and back: `ravel_pytree`."""

from __future__ import annotations

import math
import sys as _sys
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

from fgrad import _tree, dtypes
from fgrad._tree import PyTree, PyTreeDef
from fgrad.array import Array, value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import DTypeError, ShapeError
from fgrad.numpy._support import operand
from fgrad.primitives.elementwise import convert, real
from fgrad.primitives.families import Convert, Full, reshape
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.source_info import boundary as _boundary
from fgrad.source_info import guard as _guard

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: PyTree) -> tuple[Array, Callable[[Any], PyTree]]:
    """The leaves of a tree as one vector, and the function that takes such vectors apart again.

    Parameters
    ----------
    pytree : tree of array_like

    Returns
    -------
    flat : Array
        All elements in the order of the leaves, in the dtype that the leaves promote to. Python
        numbers among them take the dtype of the arrays. Differentiable in both modes.
    unravel : callable
        Makes a tree of the same structure, shapes and dtypes from a vector of the length of `flat`.
        Where all leaves have one dtype, the tree takes that of the vector.

    Raises
    ------
    ShapeError
        By `unravel`, for a vector of another shape.
    DTypeError
        By `unravel`, where the leaves differ in dtype, for a vector of another dtype than `flat`.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.flatten_util import ravel_pytree
    >>> flat, unravel = ravel_pytree({"w": np.ones((2, 2)), "b": np.zeros(1)})
    >>> flat
    Array([0., 1., 1., 1., 1.], dtype=float64)
    >>> unravel(2.0 * flat)["w"]
    Array([[2., 2.],
           [2., 2.]], dtype=float64)
    """
    leaves, structure = _tree.flatten(pytree)
    values = [operand(leaf, "ravel_pytree", f"leaf {n}") for n, leaf in enumerate(leaves)]
    avals = [aval_of(v) for v in values]
    if not values:
        return wrap(Full((0,), 0, dtypes.FLOAT32)()), _Unravel(structure, [], dtypes.FLOAT32)
    dtype = common_dtype(avals)
    flat = [reshape(convert(v, dtype), (aval.size,)) for v, aval in zip(values, avals, strict=True)]
    return wrap(Concatenate(0)(*flat)), _Unravel(structure, avals, dtype)


class _Unravel:
    """Takes vectors apart into trees of one structure. Equal structures and types make equal ones."""

    __slots__ = ("avals", "dtype", "structure")

    def __init__(self, structure: PyTreeDef, avals: list[Aval], dtype: Any) -> None:
        self.structure = structure
        self.avals = avals
        self.dtype = dtype

    @_boundary
    def __call__(self, flat: Any) -> PyTree:
        vector = value(flat, "unravel: the vector")
        found = aval_of(vector)
        total = sum(aval.size for aval in self.avals)
        if found.shape != (total,):
            raise ShapeError(
                f"unravel: got an array of shape {found.shape}, expected ({total},), the shape of the vector that "
                "ravel_pytree returned with this function"
            )
        mixed = any(aval.dtype != self.dtype for aval in self.avals)
        if mixed and found.dtype != self.dtype:
            raise DTypeError(
                f"unravel: got a vector of dtype {found.dtype}, expected {self.dtype}, to which the leaves of "
                f"ravel_pytree were promoted; convert it with .astype({self.dtype.name!r})"
            )
        ends = accumulate((aval.size for aval in self.avals), initial=0)
        leaves = [
            wrap(_leaf(static_index(vector, (slice(start, stop),)), aval, mixed))
            for (start, stop), aval in zip(pairwise(ends), self.avals, strict=True)
        ]
        return _tree.unflatten(self.structure, leaves)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Unravel)
            and self.structure == other.structure
            and self.avals == other.avals
            and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((tuple(self.avals), self.dtype))


def _leaf(part: Any, aval: Aval, mixed: bool) -> Any:
    assert math.prod(aval_of(part).shape) == aval.size
    shaped = reshape(part, aval.shape)
    dtype = aval.dtype if mixed else aval_of(part).dtype
    if dtype.kind != "c" and aval_of(shaped).dtype.kind == "c":
        shaped = real(shaped)
    if aval.weak:
        return Convert(dtype, True)(shaped)
    return convert(shaped, dtype)


_guard(_sys.modules[__name__])
