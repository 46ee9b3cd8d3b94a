"""Sorting and partitioning along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._direct import called
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    DTypeLike,
    dtype_of,
    given_dtype,
    normal_axis,
    operand,
    shape_of,
    static_int,
    strong,
    wrap,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import reshape
from fgrad.primitives.shape import static_index
from fgrad.primitives.sorting import (
    Argpartition,
    Argsort,
    Lexsort,
    Sort,
    stable_argsort,
    take_along,
)

_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def _along(a: Any, axis: Any, name: str) -> tuple[Any, int]:
    """The operand and the axis to sort along; None flattens it."""
    x = operand(a, name, "a")
    shape = shape_of(x)
    if axis is None:
        return reshape(strong(x), (math.prod(shape),)), 0
    if not shape:
        raise AxisError(
            f"{name}: a scalar has no axis to sort along; use axis=None, or fnp.atleast_1d"
        )
    return x, normal_axis(axis, len(shape), name)


def _check_kind(kind: Any, order: Any, name: str) -> None:
    if kind not in _KINDS:
        raise ArgumentError(
            f"{name}: kind={kind!r}; leave it out, stable=True asks for a stable sort"
        )
    if order is not None:
        raise ArgumentError(
            f"{name}: order= is for structured arrays; sort by several keys with lexsort"
        )


# ---- sorting -------------------------------------------------------------------------------------


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = True,
    descending: bool = False,
) -> Array:
    """Elements in order along an axis.

    Parameters
    ----------
    a : array_like
        NaN is sorted to the end; complex numbers go by real part, then by imaginary part.
    axis : int, optional
        None sorts the flattened array.
    kind, stable
        Accepted for compatibility: equal elements cannot be told apart.
    descending : bool
        Whether the largest element comes first; NaN then comes before it.

    Returns
    -------
    Array
        Of the dtype of `a`. Differentiable in both modes: derivatives are permuted as the elements
        are, equal ones in their order.

    Raises
    ------
    AxisError
        If `a` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.sort(fnp.asarray([3.0, 1.0, 2.0]))
    Array([1., 2., 3.], dtype=float64)
    """
    if kind is order is None and type(axis) is int and descending is False:
        answer = called(np.sort, a, axis)
        if answer is not None:
            return answer
    _check_kind(kind, order, "sort")
    x, position = _along(a, axis, "sort")
    return wrap(Sort(position, bool(descending))(x))  # type: ignore[no-any-return]


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = True,
    descending: bool = False,
    dtype: DTypeLike = None,
) -> Array:
    """The indices that sort along an axis.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        None sorts the flattened array.
    kind : str, optional
        Accepted for compatibility; ``"stable"`` and ``"mergesort"`` ask for a stable sort too.
    stable : bool
        Whether equal elements keep their order, in both directions.
    descending : bool
        Whether the largest element comes first.
    dtype : dtype, optional
        Of the indices; int64 by default.

    Returns
    -------
    Array of int64
        Piecewise constant: its derivative is zero wherever it exists.

    Raises
    ------
    AxisError
        If `a` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.argsort(fnp.asarray([3.0, 1.0, 2.0]))
    Array([1, 2, 0], dtype=int64)
    """
    if kind is order is dtype is None and type(axis) is int and stable and descending is False:
        answer = called(stable_argsort, a, axis)
        if answer is not None:
            return answer
    _check_kind(kind, order, "argsort")
    x, position = _along(a, axis, "argsort")
    wanted = given_dtype(dtype, "argsort")
    is_stable = stable is not False or kind in ("stable", "mergesort")
    answer = Argsort(position, bool(descending), is_stable)(x)
    return wrap(answer if wanted is None else p.convert(answer, wanted))  # type: ignore[no-any-return]


def sort_complex(a: ArrayLike) -> Array:
    """Complex numbers in order along the last axis: by real part, then by imaginary part.

    Parameters
    ----------
    a : array_like
        Real numbers are made complex.

    Returns
    -------
    Array of complex
        Differentiable in both modes.

    Raises
    ------
    AxisError
        If `a` is a scalar.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.sort_complex(fnp.asarray([2.0, 1.0]))
    Array([1.+0.j, 2.+0.j], dtype=complex128)
    """
    x, position = _along(a, -1, "sort_complex")
    if dtype_of(x).kind != "c":
        small = dtype_of(x).kind in "iu" and dtype_of(x).itemsize <= 2
        x = p.convert(x, np.dtype(np.complex64) if small else dtypes.canonical(dtypes.COMPLEX128))
    return wrap(Sort(position)(x))  # type: ignore[no-any-return]


def lexsort(keys: Any, axis: int = -1) -> Array:
    """The indices that sort by several keys, the last one first.

    Parameters
    ----------
    keys : sequence of array_like, or array
        Keys of one shape, or the rows of an array.
    axis : int
        The axis to sort along.

    Returns
    -------
    Array of int64
        Stable. Its derivative is zero wherever it exists.

    Raises
    ------
    ArgumentError
        If there are no keys.
    ShapeError
        If the keys differ in shape.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.lexsort((fnp.asarray([3, 1, 2]), fnp.asarray([0, 0, 1])))
    Array([1, 0, 2], dtype=int64)
    """
    if isinstance(keys, (list, tuple)):
        inside = [strong(operand(key, "lexsort", "a key")) for key in keys]
    else:
        whole = operand(keys, "lexsort", "keys")
        inside = [static_index(whole, (i,)) for i in range((*shape_of(whole), 0)[0])]
    if not inside:
        raise ArgumentError("lexsort: give at least one key")
    shape = shape_of(inside[0])
    for key in inside:
        if shape_of(key) != shape:
            raise ShapeError(
                f"lexsort: all keys must have one shape, got {shape} and {shape_of(key)}"
            )
    if not shape:
        return wrap(Lexsort(0)(*[reshape(key, (1,)) for key in inside])).reshape(())  # type: ignore[no-any-return]
    return wrap(Lexsort(normal_axis(axis, len(shape), "lexsort"))(*inside))  # type: ignore[no-any-return]


# ---- partitions ----------------------------------------------------------------------------------


def _partition_order(
    a: Any, kth: Any, axis: Any, kind: Any, order: Any, name: str
) -> tuple[Any, Any, int]:
    """The operand, an order that partitions it, and the axis along which."""
    if kind not in (None, "introselect"):
        raise ArgumentError(f"{name}: kind={kind!r}; the only kind is 'introselect'")
    _check_kind(None, order, name)
    x, position = _along(a, axis, name)
    size = shape_of(x)[position]
    ranks = []
    for rank in kth if isinstance(kth, (list, tuple, np.ndarray)) else (kth,):
        found = static_int(rank, f"{name}: kth")
        if not -size <= found < size:
            raise ArgumentError(f"{name}: kth={found} is out of range for {size} elements")
        ranks.append(found % size)
    return x, Argpartition(position, tuple(ranks))(x), position


def partition(
    a: ArrayLike,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
) -> Array:
    """Elements rearranged so that those of some ranks are where sorting would put them.

    Parameters
    ----------
    a : array_like
    kth : int or sequence of int
        The ranks: before such an element lie smaller ones, behind it larger ones, in any order.
    axis : int, optional
        None takes the flattened array.
    kind : str, optional
        Accepted for compatibility.

    Returns
    -------
    Array
        Of the dtype of `a`. Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If a rank is out of range.
    AxisError
        If `a` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.partition(fnp.asarray([3.0, 1.0, 2.0]), 1)[1])
    2.0
    """
    x, order_found, position = _partition_order(a, kth, axis, kind, order, "partition")
    return wrap(take_along(x, order_found, position))  # type: ignore[no-any-return]


def argpartition(
    a: ArrayLike,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
) -> Array:
    """The indices that partition along an axis.

    Parameters
    ----------
    a : array_like
    kth : int or sequence of int
        The ranks of the elements that get where sorting would put them.
    axis : int, optional
        None takes the flattened array.
    kind : str, optional
        Accepted for compatibility.

    Returns
    -------
    Array of int64
        Its derivative is zero wherever it exists.

    Raises
    ------
    ArgumentError
        If a rank is out of range.
    AxisError
        If `a` does not have the axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> int(fnp.argpartition(fnp.asarray([3.0, 1.0, 2.0]), 1)[1])
    2
    """
    return wrap(_partition_order(a, kth, axis, kind, order, "argpartition")[1])  # type: ignore[no-any-return]
