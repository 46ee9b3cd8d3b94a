"""Products of vectors, matrices and tensors; all of them are one contraction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._direct import on_two_arrays
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axis,
    operand,
    refuse_out,
    static_int,
)
from fgrad.primitives import contraction
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import reshape, shape_of
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate, moveaxis, static_index


def _product(name: str, function: Callable[[Any, Any], Any], x: Any, y: Any, preferred: Any) -> Any:
    """A product of users' arguments, in a preferred dtype if there is one."""
    left, right = operand(x, name), operand(y, name)
    if preferred is None:
        return wrap(function(left, right))
    wanted = given_dtype(preferred, name)
    assert wanted is not None
    common = common_dtype([aval_of(left), aval_of(right)])
    working = dtypes.canonical(np.promote_types(common, wanted))
    return wrap(p.convert(function(p.convert(left, working), p.convert(right, working)), wanted))


def _outer_of_arrays(x: Any, y: Any) -> Any:
    """What `outer` gives for arrays of known numbers; of Python numbers, NumPy's takes the dtype."""
    if type(x) is not np.ndarray or type(y) is not np.ndarray:
        raise TypeError("not two arrays")
    return np.outer(x, y)


_matmul = on_two_arrays(
    contraction.matmul_of_arrays, lambda a, b: _product("matmul", contraction.matmul, a, b, None)
)
_outer = on_two_arrays(
    _outer_of_arrays,
    lambda a, b: wrap(contraction.outer(operand(a, "outer"), operand(b, "outer"))),
)
_dot = on_two_arrays(
    contraction.dot_of_arrays, lambda a, b: _product("dot", contraction.dot, a, b, None)
)


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Array:
    """Matrix product: what ``a @ b`` is.

    Parameters
    ----------
    a, b : array_like
        Matrices in the last two axes, the others broadcast; or vectors.
    precision, out_sharding
        Accepted for compatibility.
    preferred_element_type : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an operand has no axes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.matmul(fnp.eye(2), fnp.array([2.0, 3.0]))
    Array([2., 3.], dtype=float64)
    """
    if preferred_element_type is None:
        return _matmul(a, b)  # type: ignore[no-any-return]
    return _product("matmul", contraction.matmul, a, b, preferred_element_type)  # type: ignore[no-any-return]


def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Array:
    """Sum of products over the last axis of `a` and the second to last of `b`.

    Parameters
    ----------
    a, b : array_like
        Numbers are multiplied; the only axis of a vector counts.
    precision, out_sharding
        Accepted for compatibility.
    preferred_element_type : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        The other axes of `a`, then those of `b`. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.dot(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])))
    11.0
    """
    if preferred_element_type is None:
        return _dot(a, b)  # type: ignore[no-any-return]
    return _product("dot", contraction.dot, a, b, preferred_element_type)  # type: ignore[no-any-return]


def _vdot(x: Any, y: Any) -> Any:
    left, right = aval_of(x), aval_of(y)
    if left.size != right.size:
        raise ShapeError(
            f"vdot: arrays of shapes {left.shape} and {right.shape} have different numbers of elements"
        )
    if not left.shape and not right.shape:
        return p.mul(p.conj(x), y)
    return contraction.dot(p.conj(reshape(x, (left.size,))), reshape(y, (right.size,)))


def vdot(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None
) -> Array:
    """Sum of the products of all elements, the first conjugated.

    Parameters
    ----------
    a, b : array_like
        With the same number of elements.
    precision
        Accepted for compatibility.
    preferred_element_type : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        Without axes. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the numbers of elements differ.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> complex(fnp.vdot(fnp.array([1j]), fnp.array([1j])))
    (1+0j)
    """
    return _product("vdot", _vdot, a, b, preferred_element_type)  # type: ignore[no-any-return]


def _inner(x: Any, y: Any) -> Any:
    left, right = shape_of(x), shape_of(y)
    if not left or not right:
        return p.mul(x, y)
    if left[-1] != right[-1]:
        raise ShapeError(
            f"inner: shapes {left} and {right} do not fit: their last axes have sizes {left[-1]} and {right[-1]}"
        )
    return contraction.dot_general(x, y, (len(left) - 1,), (len(right) - 1,))


def inner(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None
) -> Array:
    """Sum of products over the last axes.

    Parameters
    ----------
    a, b : array_like
        Numbers are multiplied.
    precision
        Accepted for compatibility.
    preferred_element_type : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        The other axes of `a`, then those of `b`. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the last axes have different sizes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.inner(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0])))
    11.0
    """
    return _product("inner", _inner, a, b, preferred_element_type)  # type: ignore[no-any-return]


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """All products of an element of `a` with one of `b`.

    Parameters
    ----------
    a, b : array_like
        Taken as lines of all their elements.

    Returns
    -------
    Array
        Of shape (size of a, size of b). Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.outer(fnp.array([1, 2]), fnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int64)
    """
    refuse_out(out, "outer")
    return _outer(a, b)  # type: ignore[no-any-return]


def _contracted_axes(axes: Any, left: int, right: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise ArgumentError(f"tensordot: axes has {len(axes)} entries; give one for each array")
        first, second = (
            [
                normal_axis(a, rank, "tensordot")
                for a in (side if isinstance(side, (tuple, list)) else (side,))
            ]
            for side, rank in zip(axes, (left, right), strict=True)
        )
        if len(first) != len(second):
            raise AxisError(f"tensordot: axes={axes} pairs {len(first)} axes with {len(second)}")
        if len(set(first)) != len(first) or len(set(second)) != len(second):
            raise AxisError(f"tensordot: axes={axes} names an axis twice")
        return tuple(first), tuple(second)
    count = static_int(axes, "tensordot: axes")
    if not 0 <= count <= min(left, right):
        raise AxisError(
            f"tensordot: axes={count}, but the arrays have {left} and {right} axes; give a number that both have"
        )
    return tuple(range(left - count, left)), tuple(range(count))


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Array:
    """Sum of products over pairs of axes.

    Parameters
    ----------
    a, b : array_like
    axes : int or pair of sequences of int
        How many of the last axes of `a` meet the first of `b`, or which axes of each.
    precision, out_sharding
        Accepted for compatibility.
    preferred_element_type : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        The other axes of `a`, then those of `b`. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If paired axes have different sizes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.tensordot(fnp.ones((2, 3)), fnp.ones((3, 4)), axes=1).shape
    (2, 4)
    """

    def contracted(x: Any, y: Any) -> Any:
        left, right = _contracted_axes(axes, len(shape_of(x)), len(shape_of(y)))
        return contraction.tensordot(x, y, left, right)

    return _product("tensordot", contracted, a, b, preferred_element_type)  # type: ignore[no-any-return]


def _fit(name: str, x: Any, y: Any, left: int, right: int) -> None:
    """Check that two operands have enough axes, and that those to contract agree."""
    a, b = shape_of(x), shape_of(y)
    if len(a) < -left or len(b) < -right or (not a or not b):
        raise ShapeError(f"{name}: arrays of shapes {a} and {b} have too few axes")
    if a[left] != b[right]:
        raise ShapeError(
            f"{name}: shapes {a} and {b} do not fit: axis {left} of the first has size {a[left]}, axis {right} "
            f"of the second has {b[right]}"
        )


def _as_row(x: Any) -> Any:
    shape = shape_of(x)
    return reshape(x, (*shape[:-1], 1, shape[-1]))


def _as_column(x: Any) -> Any:
    return reshape(x, (*shape_of(x), 1))


def _named_matmul(name: str, x: Any, y: Any, left: Any, right: Any) -> Any:
    """A product of stacks whose leading axes broadcast, with the user's function in the message."""
    try:
        return contraction.matmul(left, right)
    except ShapeError:
        raise ShapeError(
            f"{name}: shapes {shape_of(x)} and {shape_of(y)} do not fit: their leading axes cannot "
            "be broadcast together"
        ) from None


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Products of vectors along an axis, the first conjugated; the other axes broadcast.

    Parameters
    ----------
    x1, x2 : array_like
    axis : int
        The axis of the vectors in both.
    precision
        Accepted for compatibility.
    preferred_element_type : dtype-like, optional
        The dtype to sum in and to return.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.vecdot(fnp.ones((2, 3)), fnp.array([1.0, 2.0, 3.0]))
    Array([6., 6.], dtype=float64)
    """

    def contracted(x: Any, y: Any) -> Any:
        ranks = len(shape_of(x)), len(shape_of(y))
        if not all(ranks):
            raise ShapeError("vecdot: a number is no vector; use * instead")
        x = moveaxis(x, normal_axis(axis, ranks[0], "vecdot"), ranks[0] - 1)
        y = moveaxis(y, normal_axis(axis, ranks[1], "vecdot"), ranks[1] - 1)
        _fit("vecdot", x, y, -1, -1)
        product = _named_matmul("vecdot", x, y, _as_row(p.conj(x)), _as_column(y))
        return reshape(product, shape_of(product)[:-2])

    return _product("vecdot", contracted, x1, x2, preferred_element_type)  # type: ignore[no-any-return]


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of matrices with vectors; the other axes broadcast.

    Parameters
    ----------
    x1 : array_like
        Matrices in the last two axes.
    x2 : array_like
        Vectors in the last axis.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.matvec(fnp.eye(2), fnp.array([2.0, 3.0]))
    Array([2., 3.], dtype=float64)
    """
    x, y = operand(x1, "matvec"), operand(x2, "matvec")
    if len(shape_of(x)) < 2:
        raise ShapeError(f"matvec: an array of shape {shape_of(x)} is no matrix")
    _fit("matvec", x, y, -1, -1)
    product = _named_matmul("matvec", x, y, x, _as_column(y))
    return wrap(reshape(product, shape_of(product)[:-1]))  # type: ignore[no-any-return]


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of conjugated vectors with matrices; the other axes broadcast.

    Parameters
    ----------
    x1 : array_like
        Vectors in the last axis.
    x2 : array_like
        Matrices in the last two axes.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.vecmat(fnp.array([2.0, 3.0]), fnp.eye(2))
    Array([2., 3.], dtype=float64)
    """
    x, y = operand(x1, "vecmat"), operand(x2, "vecmat")
    if len(shape_of(y)) < 2:
        raise ShapeError(f"vecmat: an array of shape {shape_of(y)} is no matrix")
    _fit("vecmat", x, y, -1, -2)
    product = _named_matmul("vecmat", x, y, _as_row(p.conj(x)), y)
    shape = shape_of(product)
    return wrap(reshape(product, (*shape[:-2], shape[-1])))  # type: ignore[no-any-return]


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Kronecker product: blocks of `b`, each times an element of `a`.

    Parameters
    ----------
    a, b : array_like

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.kron(fnp.array([1, 2]), fnp.array([1, 1]))
    Array([1, 1, 2, 2], dtype=int64)
    """
    x, y = operand(a, "kron"), operand(b, "kron")
    left, right = shape_of(x), shape_of(y)
    rank = max(len(left), len(right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    x = reshape(x, tuple(n for size in left for n in (size, 1)))
    y = reshape(y, tuple(n for size in right for n in (1, size)))
    shape = tuple(m * n for m, n in zip(left, right, strict=True))
    return wrap(reshape(p.mul(x, y), shape))  # type: ignore[no-any-return]


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Cross products of vectors with three or two components; the other axes broadcast.

    Parameters
    ----------
    a, b : array_like
    axisa, axisb, axisc : int
        The axis of the components in `a`, in `b` and in the result.
    axis : int, optional
        The axis of the components in all three.

    Returns
    -------
    Array
        For two pairs of components, the third component of the product. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If there are not three or two components.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.cross(fnp.array([1, 0, 0]), fnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int64)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    left = _components(operand(a, "cross"), axisa)
    right = _components(operand(b, "cross"), axisb)
    if len(left) == len(right) == 2:
        return wrap(_minor(left, right, 0, 1))  # type: ignore[no-any-return]
    third = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        third.append(_minor(left, right, i, j))
    parts = p.broadcast_together("cross", *third)
    rank = len(shape_of(parts[0]))
    parts = [reshape(part, (*shape_of(part), 1)) for part in parts]
    product = Concatenate(rank)(*parts)
    return wrap(moveaxis(product, rank, normal_axis(axisc, rank + 1, "cross")))  # type: ignore[no-any-return]


def _components(x: Any, axis: Any) -> Sequence[Any]:
    shape = shape_of(x)
    position = normal_axis(axis, len(shape), "cross")
    if shape[position] not in (2, 3):
        raise ShapeError(
            f"cross: axis {position} of shape {shape} has {shape[position]} components; give three, or two"
        )
    index = (slice(None),) * position
    return [static_index(x, (*index, i)) for i in range(shape[position])]


def _minor(left: Sequence[Any], right: Sequence[Any], i: int, j: int) -> Any:
    """``left[i] * right[j] - left[j] * right[i]``, where a missing component is zero."""
    first = p.mul(left[i], right[j]) if i < len(left) and j < len(right) else None
    second = p.mul(left[j], right[i]) if j < len(left) and i < len(right) else None
    if first is None:
        return p.neg(second)
    return first if second is None else p.sub(first, second)
