"""Products of matrices whose rows belong to groups, under the name of ``jax.lax``."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, DTypeLike, given_dtype, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.contraction import DotGeneral, promoted
from fgrad.primitives.cumulative import Cumsum
from fgrad.primitives.families import reshape
from fgrad.primitives.shape import iota


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Multiply groups of rows by a matrix for each group: the layer of a mixture of experts.

    Parameters
    ----------
    lhs : array_like of shape (m, k)
        Rows, those of the first group first.
    rhs : array_like of shape (g, k, n)
        A matrix for each group.
    group_sizes : array_like of int, of shape (g,)
        How many rows each group has.
    precision, out_sharding : object
        Accepted for compatibility: products have full precision.
    preferred_element_type : dtype-like, optional
        The dtype of the result.
    group_offset : None

    Returns
    -------
    Array of shape (m, n)
        Rows behind all groups are zero. Differentiable with respect to `lhs` and `rhs`.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If the arrays do not fit, or there is an offset.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> matrices = np.array([[[1.0]], [[10.0]]])
    >>> lax.ragged_dot(np.ones((3, 1)), matrices, np.array([1, 2]))[:, 0]
    Array([ 1., 10., 10.], dtype=float64)
    """
    name = "ragged_dot"
    if group_offset is not None:
        raise ArgumentError(f"{name}: group_offset must be None")
    x, w = promoted(name, _operand(lhs, name, "lhs"), _operand(rhs, name, "rhs"))
    sizes = _operand(group_sizes, name, "group_sizes")
    rows, matrices, counts = aval_of(x).shape, aval_of(w).shape, aval_of(sizes)
    fits = len(rows) == 2 and len(matrices) == 3 and rows[1] == matrices[1]
    if not fits or counts.shape != matrices[:1]:
        raise ShapeError(
            f"{name}: lhs has shape {rows}, rhs {matrices} and group_sizes {counts.shape}; expected (m, k), (g, k, n) "
            "and (g,)"
        )
    if counts.dtype.kind not in "iu":
        raise DTypeError(f"{name}: group_sizes have dtype {counts.dtype}, expected integers")
    if preferred_element_type is not None:
        dtype = np.dtype(given_dtype(preferred_element_type, name))
        x, w = p.convert(x, dtype), p.convert(w, dtype)
    (m, k), (g, _, n) = rows, matrices
    ends = Cumsum(0, False)(p.convert(sizes, aval_of(iota(0)).dtype))
    starts = p.sub(ends, sizes)
    place = reshape(iota(m), (m, 1))
    inside = p.logical_and(p.less_equal(starts, place), p.less(place, ends))
    # Each row, beside zeros in the columns of the other groups: one product of matrices.
    own = p.select(reshape(inside, (m, g, 1)), reshape(x, (m, 1, k)), aval_of(x).dtype.type(0))
    answer = DotGeneral((1,), (0,))(reshape(own, (m, g * k)), reshape(w, (g * k, n)))
    return wrap(answer)  # type: ignore[no-any-return]
