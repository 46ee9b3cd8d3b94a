"""Running combinations of the entries of arrays by an associative function, in a logarithmic number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, AxisError, LoopLengthError, ShapeError
from fgrad.primitives.families import reshape
from fgrad.primitives.shape import Concatenate, StaticIndex, expand_dims, flip
from fgrad.source_info import function_text
from fgrad.transforms._arguments import check_callable, leaf_values, output_values, tree_text


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Combine the first, the first two, the first three entries along an axis, and so on.

    Parameters
    ----------
    fn : callable
        An associative function of two trees like `elems`, to one more. It combines many entries at once, so
        that it works along `axis` by elements, as arithmetic does.
    elems : tree of arrays
        The entries, along `axis` of each array.
    reverse : bool
        Whether to combine from the last entry backward: the first argument of `fn` then lies behind the
        second.
    axis : int
        The axis to go along; a negative one counts from the end.

    Returns
    -------
    tree
        Of the shapes of `elems`: what the entries up to and with each one combine to.

    Raises
    ------
    LoopLengthError
        If arrays of `elems` differ in length along `axis`.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad import lax
    >>> lax.associative_scan(fnp.maximum, fnp.array([1, 3, 2, 5, 4]))
    Array([1, 3, 3, 5, 5], dtype=int64)
    """
    check_callable(fn, "associative_scan")
    where = f"associative_scan of {function_text(fn)}"
    leaves, treedef = _tree.flatten(elems)
    entries = leaf_values(leaves, "associative_scan", fn, (elems,))
    if not entries:
        raise ArgumentError(f"{where}: elems has no arrays; give one at least")
    names = _tree.leaf_names(elems, "elems")
    axes: list[int] = []
    for entry, name in zip(entries, names, strict=True):
        shape = aval_of(entry).shape
        if not -len(shape) <= axis < len(shape):
            raise AxisError(
                f"{where}: axis {axis} is out of range for {name}, which has shape {shape}"
            )
        axes.append(axis % len(shape))
    lengths = [aval_of(entry).shape[a] for entry, a in zip(entries, axes, strict=True)]
    for length, name in zip(lengths, names, strict=True):
        if length != lengths[0]:
            raise LoopLengthError(
                f"{where}: {names[0]} has {lengths[0]} entries along axis {axis}, but {name} has {length}; give "
                "arrays of one length"
            )

    def combine(left: list[Any], right: list[Any]) -> list[Any]:
        one, other = [_tree.unflatten(treedef, [wrap(x) for x in xs]) for xs in (left, right)]
        result = fn(one, other)
        found, given = _tree.flatten(result)
        if given != treedef:
            raise ArgumentError(
                f"{where}: the function returned the structure {tree_text(given)}, but elems has "
                f"{tree_text(treedef)}; return the same containers"
            )
        values = output_values(found, "associative_scan", fn, result)
        for value, x, name in zip(values, left, names, strict=True):
            if aval_of(value).shape != aval_of(x).shape:
                raise ShapeError(
                    f"{where}: the function combined parts of {name} of shape {aval_of(x).shape} to shape "
                    f"{aval_of(value).shape}; it must work by elements along axis {axis}"
                )
        return values

    if reverse:
        entries = [flip(x, (a,)) for x, a in zip(entries, axes, strict=True)]
    results = _prefixes(combine, entries, axes)
    if reverse:
        results = [flip(x, (a,)) for x, a in zip(results, axes, strict=True)]
    return _tree.unflatten(treedef, [wrap(x) for x in results])


def _prefixes(
    combine: Callable[[list[Any], list[Any]], list[Any]], entries: list[Any], axes: list[int]
) -> list[Any]:
    """All prefixes. Those of an even number of entries are prefixes of the combined pairs."""
    length = aval_of(entries[0]).shape[axes[0]]
    if length < 2:
        return entries
    firsts = _strided(entries, axes, 0, length - 1)
    seconds = _strided(entries, axes, 1, length)
    even = _prefixes(combine, combine(firsts, seconds), axes)
    # One more entry after each of them, but after the last where the length is even.
    count = (length - 1) // 2
    begun = _part(entries, axes, 0, 1)
    if not count:
        return _joined([begun, even], axes)
    longer = combine(_part(even, axes, 0, count), _strided(entries, axes, 2, length))
    odd = _joined([begun, longer], axes)
    return [_alternated(o, e, a) for o, e, a in zip(odd, even, axes, strict=True)]


def _strided(entries: list[Any], axes: list[int], start: int, stop: int) -> list[Any]:
    """Every second entry."""
    return [_sliced(x, a, slice(start, stop, 2)) for x, a in zip(entries, axes, strict=True)]


def _part(entries: list[Any], axes: list[int], start: int, stop: int) -> list[Any]:
    return [_sliced(x, a, slice(start, stop, 1)) for x, a in zip(entries, axes, strict=True)]


def _sliced(x: Any, axis: int, part: slice) -> Any:
    shape = aval_of(x).shape
    index = [slice(0, n, 1) for n in shape]
    index[axis] = part
    return StaticIndex(tuple(index))(x)


def _joined(parts: list[list[Any]], axes: list[int]) -> list[Any]:
    return [Concatenate(a)(*column) for a, *column in zip(axes, *parts, strict=True)]


def _alternated(first: Any, second: Any, axis: int) -> Any:
    """Entries of `first` and `second` in turn; `first` may have one more."""
    shape, count = aval_of(first).shape, aval_of(second).shape[axis]
    paired = _sliced(first, axis, slice(0, count, 1))
    both = Concatenate(axis + 1)(expand_dims(paired, (axis + 1,)), expand_dims(second, (axis + 1,)))
    woven = reshape(both, (*shape[:axis], 2 * count, *shape[axis + 1 :]))
    if shape[axis] == count:
        return woven
    return Concatenate(axis)(woven, _sliced(first, axis, slice(count, count + 1, 1)))
