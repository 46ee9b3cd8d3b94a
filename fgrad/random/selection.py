"""Orders and selections: permutation, choice, categorical."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis, operand, static_int
from fgrad.primitives.cumulative import Cumsum
from fgrad.primitives.elementwise import cast_to_float, convert, greater, log, select, sub
from fgrad.primitives.families import add, mul, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.random import RandomBits
from fgrad.primitives.reduction import Argmax
from fgrad.primitives.shape import (
    Concatenate,
    Pad,
    expand_dims,
    iota,
    moveaxis,
    static_index,
)
from fgrad.primitives.sorting import Argsort, Searchsorted, take_along
from fgrad.random.arguments import kind_of, refuse_below, shape_of_draw
from fgrad.random.key_arguments import single_key, split_words
from fgrad.random.quantiles import gumbels
from fgrad.random.uniform import choose_mode, integers, units

_UINT32_MAX = float(np.iinfo(np.uint32).max)
# So many rounds per digit of base 2**32 make orders by equal sort keys too rare to matter.
_ROUNDS_PER_DIGIT = 3
_SUM_BLOCK = 16


def permutation(
    key: Any,
    x: int | ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Any = None,
) -> Array:
    """Put the elements of an array, or the numbers below an integer, in random order.

    Parameters
    ----------
    key : key
        A single key.
    x : int or array_like
        An array, or n for the numbers 0 to n - 1.
    axis : int
        The axis along which the array is cut into pieces that change places.
    independent : bool
        Whether each row along the axis has an order of its own.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        Of the shape and dtype of x; linear in x, differentiable in both modes.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, AxisError
        If `key` is not a single key, or x has no such axis.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.permutation(fgrad.random.key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int64)
    """
    implementation, words = single_key(key, "permutation")
    inside = operand(x, "permutation", "x")
    shape = aval_of(inside).shape
    if not shape:
        if aval_of(inside).dtype.kind not in "iu":
            raise DTypeError(
                f"permutation: x must be an integer or an array, got a single {aval_of(inside).dtype}"
            )
        inside = _numbers(inside, "permutation: x")
        shape = aval_of(inside).shape
    place = normal_axis(axis, len(shape), "permutation")
    return wrap(_permuted(implementation, words, inside, place, independent))  # type: ignore[no-any-return]


def _numbers(count: Any, what: str) -> Any:
    return iota(max(static_int(count, what), 0), dtypes.canonical(dtypes.INT64))


def _permuted(implementation: str, words: Any, x: Any, axis: int, independent: bool) -> Any:
    shape = aval_of(x).shape
    if independent or len(shape) == 1:
        return _shuffled(implementation, words, x, axis)
    order = _shuffled(implementation, words, iota(shape[axis]), 0)
    return Gather((axis,), "promise_in_bounds", None, axis)(x, order)


def _shuffled(implementation: str, words: Any, x: Any, axis: int) -> Any:
    """Sorted by random keys along an axis, in rounds, since keys may be equal."""
    shape = aval_of(x).shape
    digits = math.log(max(1, math.prod(shape))) / math.log(_UINT32_MAX)
    for _ in range(math.ceil(_ROUNDS_PER_DIGIT * digits)):
        words, subkey = split_words(implementation, words)
        sort_keys = RandomBits(implementation, shape, 32)(subkey)
        x = take_along(x, Argsort(axis)(sort_keys), axis)
    return x


def choice(
    key: Any,
    a: int | ArrayLike,
    shape: int | Sequence[int] = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Choose elements of an array, or numbers below an integer.

    Parameters
    ----------
    key : key
        A single key.
    a : int or array_like
        An array, or n for the numbers 0 to n - 1.
    shape : int or sequence of int
        The shape of the choice.
    replace : bool
        Whether an element may be chosen several times.
    p : array_like, optional
        The probability of each element along the axis, up to a factor; equal ones by default.
    axis : int
        The axis of a along which to choose.
    mode : {"low", "high"}, optional
        How finely to draw where p is given and elements are not replaced: see `gumbel`.

    Returns
    -------
    Array
        The axis is replaced by `shape`. Linear in a, differentiable in both modes.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, AxisError, ArgumentError
        If `key` is not a single key, a is empty, p does not fit a or has negative entries, or more
        elements are asked for than there are.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.choice(fgrad.random.key(0), 10, (3,), replace=False)
    Array([0, 1, 8], dtype=int64)
    """
    implementation, words = single_key(key, "choice")
    size = shape_of_draw(shape, "choice")
    inside = operand(a, "choice", "a")
    own = aval_of(inside)
    is_number = not own.shape
    place = 0 if is_number else normal_axis(axis, len(own.shape), "choice")
    count = _count(inside, a) if is_number else own.shape[place]
    wanted = math.prod(size)
    if count < 1 and wanted:
        raise ArgumentError(f"choice: a has no elements to choose {wanted} from")
    if not replace and wanted > count:
        raise ArgumentError(
            f"choice: cannot choose {wanted} of {count} elements without replacement; pass replace=True to let "
            "them repeat"
        )
    index_dtype = dtypes.canonical(dtypes.INT64)
    before, after = own.shape[:place], own.shape[place + 1 :]
    if p is None and replace and wanted:
        positions = integers(implementation, words, size, index_dtype, 0, count)
    elif p is None:
        source = iota(count, index_dtype) if is_number else inside
        whole = _permuted(implementation, words, source, place, False) if wanted else source
        first = static_index(whole, (*(slice(None),) * place, slice(0, wanted)))
        return wrap(reshape(first, (*before, *size, *after)))  # type: ignore[no-any-return]
    else:
        chances = _chances(p, count, is_number, place)
        positions = _weighted(implementation, words, size, replace, chances, mode)
    if is_number:
        return wrap(convert(positions, index_dtype))  # type: ignore[no-any-return]
    return wrap(Gather((place,), "promise_in_bounds", None, place)(inside, positions))  # type: ignore[no-any-return]


def _count(inside: Any, given: Any) -> int:
    if aval_of(inside).dtype.kind not in "iu":
        raise DTypeError(
            f"choice: a must be an integer or an array, got {given!r}; choose from fnp.arange(n) or a list"
        )
    return static_int(inside, "choice: a")


def _chances(p: ArrayLike, count: int, is_number: bool, axis: int) -> Any:
    chances = cast_to_float(operand(p, "choice", "p"))
    shape = aval_of(chances).shape
    if shape != (count,):
        what = (
            f"the numbers below a={count}" if is_number else f"the elements of a along axis {axis}"
        )
        raise ShapeError(
            f"choice: p must have one probability for each of {what}, {count} in all, got shape {shape}"
        )
    refuse_below("choice", "every entry of p", chances, 0.0)
    return chances


def _weighted(
    implementation: str, words: Any, shape: Any, replace: bool, chances: Any, mode: str | None
) -> Any:
    """Positions chosen by their weights."""
    dtype = aval_of(chances).dtype
    if replace:
        sums = _cumulative_sum(chances)
        rest = sub(dtype.type(1), units(implementation, words, shape, dtype))
        return Searchsorted("left")(sums, mul(static_index(sums, (-1,)), rest))
    (count,) = aval_of(chances).shape
    noise = gumbels(implementation, words, (count,), dtype, choose_mode(mode, "choice"))
    possible = greater(chances, 0.0)
    scores = select(possible, log(select(possible, chances, 1.0)), -np.inf)
    order = Argsort(0, descending=True)(add(noise, scores))
    return reshape(static_index(order, (slice(0, math.prod(shape)),)), shape)


def _cumulative_sum(x: Any) -> Any:
    """The sums of blocks and within them, in the order of XLA, so that rounding agrees with it."""
    (size,) = aval_of(x).shape
    if size <= _SUM_BLOCK:
        return Cumsum(0)(x)
    rows = -(-size // _SUM_BLOCK)
    padded = Pad((0,), (rows * _SUM_BLOCK - size,), (0,))(x)
    within = Cumsum(1)(reshape(padded, (rows, _SUM_BLOCK)))
    totals = _cumulative_sum(static_index(within, (slice(None), _SUM_BLOCK - 1)))
    zero = np.zeros(1, aval_of(x).dtype)
    offsets = Concatenate(0)(zero, static_index(totals, (slice(0, rows - 1),)))
    sums = add(within, reshape(offsets, (rows, 1)))
    return static_index(reshape(sums, (rows * _SUM_BLOCK,)), (slice(0, size),))


def categorical(
    key: Any,
    logits: ArrayLike,
    axis: int = -1,
    shape: int | Sequence[int] | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Draw categories, given the logarithms of their probabilities.

    Parameters
    ----------
    key : key
        A single key.
    logits : array_like of float
        Logarithms of probabilities, up to a constant for each distribution.
    axis : int
        The axis along which the categories lie.
    shape : int or sequence of int, optional
        It ends in a shape to which that of the distributions, without the axis, broadcasts; that by
        default.
    replace : bool
        If False, the draws along the leading axes of `shape` differ from each other.
    mode : {"low", "high"}, optional
        How finely to draw: see `gumbel`.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array
        int64, or int32 without replacement, as in JAX.

    Raises
    ------
    NonArrayError, DTypeError, ShapeError, AxisError, ArgumentError
        If `key` is not a single key, the logits are not floats, the shape does not fit, or more
        different categories are asked for than there are.

    Examples
    --------
    >>> import fgrad
    >>> import fgrad.numpy as fnp
    >>> fgrad.random.categorical(fgrad.random.key(0), fnp.log(fnp.array([0.1, 0.2, 0.7])), shape=(5,))
    Array([2, 2, 2, 1, 1], dtype=int64)
    """
    implementation, words = single_key(key, "categorical")
    scores = operand(logits, "categorical", "logits")
    own = aval_of(scores)
    if kind_of(own.dtype) != "f":
        raise DTypeError(
            f"categorical: logits are logarithms of probabilities and must be floats, got {own.dtype}"
        )
    if not own.shape:
        raise ShapeError("categorical: logits must have an axis of categories, got a single number")
    place = normal_axis(axis, len(own.shape), "categorical")
    others = own.shape[:place] + own.shape[place + 1 :]
    size = others if shape is None else shape_of_draw(shape, "categorical")
    leading = len(size) - len(others)
    if leading < 0 or not _broadcasts(others, size[leading:]):
        raise ShapeError(
            f"categorical: shape={size} does not end in {others}, the shape of the logits without the axis of "
            f"categories; give shape=(n, *{others}) for n draws of each"
        )
    fine = choose_mode(mode, "categorical")
    if replace:
        row = list(size[leading:])
        row.insert(place, own.shape[place])
        noise = gumbels(implementation, words, (*size[:leading], *row), own.dtype, fine)
        total = add(noise, expand_dims(scores, range(leading)))
        return wrap(Argmax(leading + place)(total))  # type: ignore[no-any-return]
    wanted = math.prod(size[:leading])
    if wanted > own.shape[place]:
        raise ArgumentError(
            f"categorical: cannot draw {wanted} different categories of {own.shape[place]}; pass replace=True to "
            "let them repeat"
        )
    noise = gumbels(implementation, words, own.shape, own.dtype, fine)
    order = moveaxis(Argsort(place, descending=True)(add(scores, noise)), place, 0)
    first = convert(static_index(order, (slice(0, wanted),)), dtypes.INT32)
    return wrap(reshape(first, (*size[:leading], *others)))  # type: ignore[no-any-return]


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    return all(own in (1, n) for own, n in zip(shape, to, strict=True))
