"""Numbers that sum samples up: ranks, modes, the error of a mean."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any, NamedTuple

from fgrad import lax
from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError
from fgrad.numpy._support import ArrayLike

_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """What `mode` returns: the values, and how often they occur."""

    mode: Array
    count: Array  # type: ignore[assignment]


def _checked(policy: str, name: str, known: tuple[str, ...] = ("propagate",)) -> None:
    if policy not in known:
        raise ArgumentError(
            f"{name}: nan_policy is {policy!r}; give {' or '.join(map(repr, known))}"
        )


def rankdata(
    a: ArrayLike,
    method: str = "average",
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
) -> Array:
    """The ranks of elements, from 1 on.

    Parameters
    ----------
    a : array_like
    method : {'average', 'min', 'max', 'dense', 'ordinal'}
        The rank of equal elements: the mean, least or greatest of theirs, that among different
        elements, or their order.
    axis : int, optional
        Along which to rank; by default all elements are.
    nan_policy : {'propagate'}
        Ranks are NaN where an element along the axis is.

    Returns
    -------
    Array
        Floating for 'average' and integers for others. Its derivative is zero wherever it exists.

    Raises
    ------
    ArgumentError
        If the method or the policy is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import stats
    >>> stats.rankdata(np.array([0.5, 2.0, 2.0]))
    Array([1. , 2.5, 2.5], dtype=float64)
    """
    if method not in _METHODS:
        raise ArgumentError(
            f"rankdata: method is {method!r}; give one of {', '.join(map(repr, _METHODS))}"
        )
    _checked(nan_policy, "rankdata")
    x: Any = fnp.asarray(a)
    if axis is None:
        return _ranked(x.ravel(), method)
    lanes: Any = fnp.moveaxis(x, axis, -1)
    ranks = _ranked(lanes, method)
    return fnp.moveaxis(ranks, -1, axis)


def _ranked(x: Any, method: str) -> Any:
    """Ranks along the last axis."""
    order: Any = fnp.argsort(x, axis=-1)
    place: Any = fnp.argsort(order, axis=-1)
    n = x.shape[-1]
    if method == "ordinal":
        return place + 1
    sorted_x: Any = fnp.take_along_axis(x, order, axis=-1)
    first = fnp.concatenate(
        [fnp.ones_like(sorted_x[..., :1], dtype=bool), sorted_x[..., 1:] != sorted_x[..., :-1]],
        axis=-1,
    )
    if method == "dense":
        ranks: Any = fnp.cumsum(first, axis=-1)
    else:
        positions = fnp.broadcast_to(fnp.arange(n), x.shape)
        low: Any = lax.cummax(fnp.where(first, positions, 0), axis=x.ndim - 1) + 1
        last = fnp.concatenate([first[..., 1:], fnp.ones_like(first[..., :1])], axis=-1)
        ends = fnp.where(last, positions, n - 1)
        high: Any = lax.cummin(ends, axis=x.ndim - 1, reverse=True) + 1
        ranks = {"min": low, "max": high, "average": (low + high) / 2.0}[method]
    found = fnp.take_along_axis(ranks, place, axis=-1)
    if fnp.issubdtype(x.dtype, fnp.inexact):
        absent = fnp.any(fnp.isnan(x), axis=-1, keepdims=True)
        if method == "average":
            return fnp.where(absent, fnp.nan, found)
    return found


def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent elements; the least of several.

    Parameters
    ----------
    a : array_like
    axis : int or None
        Along which to count; None means all elements.
    nan_policy : {'propagate'}
        How NaN counts: as one value, which is the greatest.
    keepdims : bool
        Whether the axis stays, with size one.

    Returns
    -------
    ModeResult
        `mode` and `count`. The modes are differentiable, as elements that are selected.

    Raises
    ------
    ArgumentError
        If the policy is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import stats
    >>> found = stats.mode(np.array([3, 1, 3, 2]))
    >>> int(found.mode), int(found.count)
    (3, 2)
    """
    _checked(nan_policy, "mode")
    x: Any = fnp.asarray(a)
    lanes: Any = x.reshape(-1) if axis is None else fnp.moveaxis(x, axis, -1)
    sorted_x: Any = fnp.sort(lanes, axis=-1)
    same = sorted_x[..., :, None] == sorted_x[..., None, :]
    if fnp.issubdtype(sorted_x.dtype, fnp.inexact):
        absent = fnp.isnan(sorted_x)
        same = same | (absent[..., :, None] & absent[..., None, :])
    counts: Any = fnp.sum(same, axis=-1)
    # The first of the sorted elements that occur most often.
    best: Any = fnp.argmax(counts, axis=-1, keepdims=True)
    values: Any = fnp.take_along_axis(sorted_x, best, axis=-1)
    often: Any = fnp.take_along_axis(counts, best, axis=-1)
    if keepdims:
        if axis is None:
            shape = (1,) * x.ndim
            return ModeResult(values.reshape(shape), often.reshape(shape))
        return ModeResult(fnp.moveaxis(values, -1, axis), fnp.moveaxis(often, -1, axis))
    return ModeResult(values[..., 0], often[..., 0])


def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean.

    Parameters
    ----------
    a : array_like
    axis : int or None
        Along which the mean is taken; None means all elements.
    ddof : int
        What is taken off the number of elements in the variance.
    nan_policy : {'propagate', 'omit'}
        Whether NaN makes the result NaN, or is left out.
    keepdims : bool
        Whether the axis stays, with size one.

    Returns
    -------
    Array
        Floating. Differentiable in both modes, to all orders.

    Raises
    ------
    ArgumentError
        If the policy is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import stats
    >>> float(stats.sem(np.array([1.0, 3.0])))
    1.0
    """
    _checked(nan_policy, "sem", ("propagate", "omit"))
    x: Any = fnp.asarray(a)
    if nan_policy == "omit":
        count: Any = fnp.sum(~fnp.isnan(x), axis=axis, keepdims=keepdims)
        known: Any = fnp.nanstd(x, axis=axis, ddof=ddof, keepdims=keepdims)
        return known / fnp.sqrt(count)
    size = x.size if axis is None else x.shape[axis]
    spread: Any = fnp.std(x, axis=axis, ddof=ddof, keepdims=keepdims)
    return spread / float(size) ** 0.5
