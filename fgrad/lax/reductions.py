"""Reductions, running reductions and sorting under the names of ``jax.lax``. They keep the dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import dtypes
from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    normal_axes,
    normal_axis,
    shape_of,
    static_int,
    wrap,
)
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import cumulative as c
from fgrad.primitives import elementwise as p
from fgrad.primitives import reduction as r
from fgrad.primitives import sorting
from fgrad.primitives.families import Sum
from fgrad.primitives.shape import static_index


def _reduction(
    name: str, primitive: Callable[[tuple[int, ...]], Any], summary: str, slope: str
) -> Any:
    def function(operand: ArrayLike, axes: Sequence[int]) -> Array:
        x = _operand(operand, name)
        given = tuple(axes) if not isinstance(axes, int) else (axes,)
        reduced = primitive(normal_axes(given, len(shape_of(x)), name))(x)
        aval = aval_of(x)
        return wrap(p.convert(reduced, aval.dtype, aval_of(reduced).weak))  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__module__ = "fgrad.lax"
    function.__doc__ = f"""{summary}

    Parameters
    ----------
    operand : array_like
    axes : sequence of int
        The axes to reduce, which the result lacks.

    Returns
    -------
    Array
        Of the dtype of the operand. {slope}

    Raises
    ------
    AxisError
        If the operand has not these axes.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.{name}(np.ones((2, 3)), (0,)).shape
    (3,)
    """
    return function


_SMOOTH = "Differentiable to every order."
_TIES = "Differentiable; ties share the slope evenly."

reduce_sum = _reduction("reduce_sum", Sum, "Sum over axes.", _SMOOTH)
reduce_prod = _reduction("reduce_prod", r.Prod, "Product over axes.", _SMOOTH)
reduce_max = _reduction("reduce_max", r.Max, "Largest element over axes.", _TIES)
reduce_min = _reduction("reduce_min", r.Min, "Smallest element over axes.", _TIES)


def _running(name: str, primitive: Callable[[int, bool], Any], summary: str, slope: str) -> Any:
    def function(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        x = _operand(operand, name)
        answer = primitive(normal_axis(axis, len(shape_of(x)), name), bool(reverse))(x)
        return wrap(p.convert(answer, aval_of(x).dtype))  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__module__ = "fgrad.lax"
    function.__doc__ = f"""{summary}

    Parameters
    ----------
    operand : array_like
    axis : int
    reverse : bool
        Whether to run from the end of the axis to its beginning.

    Returns
    -------
    Array
        Of the shape and dtype of the operand. {slope}

    Raises
    ------
    AxisError
        If the operand has not this axis.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.{name}(np.ones((2, 3)), axis=1).shape
    (2, 3)
    """
    return function


cumsum = _running("cumsum", c.Cumsum, "Running sum along an axis.", _SMOOTH)
cumprod = _running("cumprod", c.Cumprod, "Running product along an axis.", _SMOOTH)
cummax = _running("cummax", c.Cummax, "Running maximum along an axis.", _TIES)
cummin = _running("cummin", c.Cummin, "Running minimum along an axis.", _TIES)
cumlogsumexp = _running(
    "cumlogsumexp",
    c.Cumlogsumexp,
    "``log(cumsum(exp(x)))`` along an axis, without overflow.",
    _SMOOTH,
)


def _place(name: str, primitive: Callable[[int], Any], summary: str) -> Any:
    def function(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
        x = _operand(operand, name)
        wanted = dtypes.as_dtype(index_dtype, f"{name}: index_dtype")
        if wanted.kind not in "iu":
            raise DTypeError(f"{name}: index_dtype is {wanted}; give an integer dtype")
        found = primitive(normal_axis(axis, len(shape_of(x)), name))(x)
        return wrap(p.convert(found, wanted))  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__module__ = "fgrad.lax"
    function.__doc__ = f"""{summary}

    Parameters
    ----------
    operand : array_like
    axis : int
    index_dtype : dtype-like
        Of the result: an integer dtype.

    Returns
    -------
    Array
        The first such place; that of the first NaN if there is one.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.{name}(np.array([2.0, 2.0]), 0, "int32")
    Array(0, dtype=int32)
    """
    return function


argmax = _place("argmax", r.Argmax, "Index of the largest element along an axis.")
argmin = _place("argmin", r.Argmin, "Index of the smallest element along an axis.")


# ---- sorting -------------------------------------------------------------------------------------


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort along an axis, several arrays together by the first ones.

    Parameters
    ----------
    operand : array_like, or a sequence of array_like of one shape
    dimension : int
    is_stable : bool
        Equal elements keep their order in any case.
    num_keys : int
        How many of the arrays are compared: the first one first.

    Returns
    -------
    Array, or a tuple of Array
        Differentiable.

    Raises
    ------
    ShapeError, ArgumentError
        If shapes differ, or `num_keys` does not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.sort((np.array([2, 1]), np.array([10.0, 20.0])))
    (Array([1, 2], dtype=int64), Array([20., 10.], dtype=float64))
    """
    if not isinstance(operand, (tuple, list)):
        x = _operand(operand, "sort")
        return wrap(sorting.Sort(normal_axis(dimension, len(shape_of(x)), "sort"))(x))
    xs = [_operand(x, "sort") for x in operand]
    if not xs or not 1 <= num_keys <= len(xs):
        raise ArgumentError(
            f"sort: num_keys is {num_keys} for {len(xs)} arrays; give 1 up to their number"
        )
    for x in xs:
        if shape_of(x) != shape_of(xs[0]):
            raise ShapeError(
                f"sort: all arrays must have one shape, got {shape_of(xs[0])} and {shape_of(x)}"
            )
    axis = normal_axis(dimension, len(shape_of(xs[0])), "sort")
    keys = [p.stop_gradient(x) for x in xs[:num_keys]]
    order = (
        sorting.Argsort(axis)(keys[0]) if num_keys == 1 else sorting.Lexsort(axis)(*reversed(keys))
    )
    return tuple(wrap(sorting.take_along(x, order, axis)) for x in xs)


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sort keys along an axis, and values with them.

    Parameters
    ----------
    keys, values : array_like
        Of one shape.
    dimension : int
    is_stable : bool
        Equal keys keep their order in any case.

    Returns
    -------
    tuple of Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.sort_key_val(np.array([2, 1]), np.array([10.0, 20.0]))[1]
    Array([20., 10.], dtype=float64)
    """
    return sort((keys, values), dimension, is_stable, 1)  # type: ignore[no-any-return]


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """The largest elements along an axis, in order, and their places.

    Parameters
    ----------
    operand : array_like
    k : int
        How many.
    axis : int

    Returns
    -------
    values, indices : Array
        Of equal elements the first ones come first; NaN counts as largest. The values are
        differentiable.

    Raises
    ------
    ArgumentError
        If the axis has fewer than k elements.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> values, indices = lax.top_k(np.array([1.0, 3.0, 2.0]), 2)
    >>> values, [int(i) for i in indices]
    (Array([3., 2.], dtype=float64), [1, 2])
    """
    x = _operand(operand, "top_k")
    position = normal_axis(axis, len(shape_of(x)), "top_k")
    count = static_int(k, "top_k: k")
    if not 0 <= count <= shape_of(x)[position]:
        raise ArgumentError(
            f"top_k: k is {count}, but axis {axis} has {shape_of(x)[position]} elements"
        )
    order = sorting.Argsort(position, descending=True)(p.stop_gradient(x))
    first = static_index(order, (*(slice(None),) * position, slice(0, count)))
    values = sorting.take_along(x, first, position)
    return wrap(values), wrap(p.convert(first, dtypes.INT32))


def _approximate(name: str, largest: bool) -> Any:
    def function(
        operand: ArrayLike,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
    ) -> list[Array]:
        x = _operand(operand, name)
        position = normal_axis(reduction_dimension, len(shape_of(x)), name)
        size = shape_of(x)[position]
        count = static_int(k, f"{name}: k") if aggregate_to_topk else size
        if not 0 <= count <= size:
            raise ArgumentError(
                f"{name}: k is {count}, but axis {reduction_dimension} has {size} elements"
            )
        order = sorting.Argsort(position, descending=largest)(p.stop_gradient(x))
        first = static_index(order, (*(slice(None),) * position, slice(0, count)))
        values = sorting.take_along(x, first, position)
        return [wrap(values), wrap(p.convert(first, dtypes.INT32))]

    kind, example = ("largest", "[3., 2.]") if largest else ("smallest", "[1., 2.]")
    function.__name__ = function.__qualname__ = name
    function.__module__ = "fgrad.lax"
    function.__doc__ = f"""The {kind} elements along an axis, and their places. They are exact, as in JAX on a CPU.

    Parameters
    ----------
    operand : array_like
    k : int
        How many.
    reduction_dimension : int
        The axis.
    recall_target, reduction_input_size_override
        Accepted for compatibility, without effect: nothing is missed.
    aggregate_to_topk : bool
        With False all elements are returned, sorted.

    Returns
    -------
    list of two Array
        The values, which are differentiable, and their places as int32.

    Raises
    ------
    ArgumentError
        If the axis has fewer than k elements.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.{name}(np.array([1.0, 3.0, 2.0]), 2)[0]
    Array({example}, dtype=float64)
    """
    return function


approx_max_k = _approximate("approx_max_k", True)
approx_min_k = _approximate("approx_min_k", False)
