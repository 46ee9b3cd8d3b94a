"""What examples along a named axis do together, under the names of ``jax.lax``.

Each is a few operations on the values of all examples, so that it costs what the same operations on the
whole batch cost, and has their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import normal_axis
from fgrad.numpy._support import operand as _operand
from fgrad.primitives.elementwise import convert, div, select
from fgrad.primitives.families import Sum, add, mul, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.reduction import Max, Min
from fgrad.primitives.shape import moveaxis
from fgrad.source_info import boundary
from fgrad.transforms.axis_names import AllGather, NamedAxis, named_axis

AxisName = Hashable | tuple[Hashable, ...]
Groups = Sequence[Sequence[int]] | None
PyTree = Any


# ---- axes -----------------------------------------------------------------------------------------


def _axes(axis_name: Any, user: str) -> list[NamedAxis]:
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    return [named_axis(name, user) for name in names]


def _size(axes: Sequence[NamedAxis]) -> int:
    return int(np.prod([axis.size for axis in axes], dtype=np.int64))


def _index(axes: Sequence[NamedAxis]) -> Any:
    """The place of the example among all of them, the last axis running fastest."""
    place = axes[0].index
    for axis in axes[1:]:
        place = add(mul(place, np.int32(axis.size)), axis.index)
    return place


def _row(table: Any, index: Any) -> Any:
    """One row of an array, at an index that may be traced."""
    return Gather((0,))(table, index)


def _gathered(x: Any, axes: Sequence[NamedAxis]) -> Any:
    """The values of all examples along a new leading axis."""
    shape = aval_of(x).shape
    for axis in reversed(axes):
        x = AllGather(axis.size)(x, axis.index)
    return reshape(x, (_size(axes), *shape))


def _members(user: str, groups: Groups, size: int) -> np.ndarray[Any, Any] | None:
    """For each example the places of those in its group; None for one group of all."""
    if groups is None:
        return None
    rows = [list(group) for group in groups]
    if sorted(i for row in rows for i in row) != list(range(size)):
        raise ArgumentError(
            f"{user}: axis_index_groups must hold each index from 0 to {size - 1} once, got {rows}"
        )
    if len({len(row) for row in rows}) != 1:
        raise ArgumentError(f"{user}: axis_index_groups must be of one size, got {rows}")
    table = np.empty((size, len(rows[0])), np.int64)
    for row in rows:
        table[row] = row
    return table


def _all_values(user: str, x: Any, axis_name: Any, groups: Groups) -> Any:
    """The values of the examples of the group along a new leading axis."""
    axes = _axes(axis_name, user)
    together = _gathered(x, axes)
    members = _members(user, groups, _size(axes))
    return together if members is None else _row(together, _row(members, _index(axes)))


def _place_in_group(user: str, axis_name: Any, groups: Groups) -> tuple[Any, int]:
    """Where the example is in its group, and the size of that."""
    axes = _axes(axis_name, user)
    size = _size(axes)
    members = _members(user, groups, size)
    if members is None:
        return _index(axes), size
    places = np.argmax(members == np.arange(size)[:, None], axis=1)
    return _row(places, _index(axes)), members.shape[1]


def _map(user: str, f: Callable[[Any], Any], tree: PyTree) -> PyTree:
    return _tree.map(lambda leaf: wrap(f(_operand(leaf, user, "x"))), tree)


@boundary
def axis_index(axis_name: AxisName) -> Any:
    """The place of the example along a named axis.

    Parameters
    ----------
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis; of several names the last runs fastest.

    Returns
    -------
    Array
        A traced int32 scalar.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x: x * fgrad.lax.axis_index("i"), axis_name="i")(np.ones(3))
    Array([0., 1., 2.], dtype=float64)
    """
    return wrap(_index(_axes(axis_name, "axis_index")))


@boundary
def axis_size(axis_name: AxisName) -> int:
    """How many examples a named axis has.

    Parameters
    ----------
    axis_name : hashable or tuple of hashable
        For several names, the product of the sizes.

    Returns
    -------
    int
        A Python number.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x: x / fgrad.lax.axis_size("i"), axis_name="i")(np.ones(4))
    Array([0.25, 0.25, 0.25, 0.25], dtype=float64)
    """
    return _size(_axes(axis_name, "axis_size"))


# ---- reductions -----------------------------------------------------------------------------------


def _sum(x: Any) -> Any:
    return convert(Sum((0,))(x), aval_of(x).dtype) if aval_of(x).dtype.kind != "b" else Sum((0,))(x)


@boundary
def psum(x: PyTree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> PyTree:
    """The sum over all examples along a named axis.

    Parameters
    ----------
    x : array_like or tree of them
        A Python number stands for a constant: its sum is a Python number, so that ``psum(1, name)`` is
        the size of the axis.
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    axis_index_groups : sequence of sequence of int, optional
        Sum within groups of equal size instead.

    Returns
    -------
    tree
        Like `x`, the same for all examples. Differentiable: the cotangents are summed in turn.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x: x / fgrad.lax.psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float64)
    """
    size = _place_in_group("psum", axis_name, axis_index_groups)[1]

    def total(leaf: Any) -> Any:
        if type(leaf) in (int, float, complex, bool):
            return leaf * size
        inside = _operand(leaf, "psum", "x")
        return wrap(_sum(_all_values("psum", inside, axis_name, axis_index_groups)))

    return _tree.map(total, x)


@boundary
def pmean(x: PyTree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> PyTree:
    """The mean over all examples along a named axis.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    axis_index_groups : sequence of sequence of int, optional
        Average within groups of equal size instead.

    Returns
    -------
    tree
        Like `x`; integers become floats. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x: x - fgrad.lax.pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([-1.,  1.], dtype=float64)
    """

    def mean(v: Any) -> Any:
        together = _all_values("pmean", v, axis_name, axis_index_groups)
        return div(_sum(together), aval_of(together).shape[0])

    return _map("pmean", mean, x)


@boundary
def pmax(x: PyTree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> PyTree:
    """The maximum over all examples along a named axis; equal ones share the derivative.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    axis_index_groups : sequence of sequence of int, optional
        The maximum within groups of equal size instead.

    Returns
    -------
    tree
        Like `x`. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x: fgrad.lax.pmax(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([3., 3.], dtype=float64)
    """
    return _map(
        "pmax", lambda v: Max((0,))(_all_values("pmax", v, axis_name, axis_index_groups)), x
    )


@boundary
def pmin(x: PyTree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> PyTree:
    """The minimum over all examples along a named axis; equal ones share the derivative.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    axis_index_groups : sequence of sequence of int, optional
        The minimum within groups of equal size instead.

    Returns
    -------
    tree
        Like `x`. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x: fgrad.lax.pmin(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([1., 1.], dtype=float64)
    """
    return _map(
        "pmin", lambda v: Min((0,))(_all_values("pmin", v, axis_name, axis_index_groups)), x
    )


# ---- exchanges ------------------------------------------------------------------------------------


def _joined_into(parts: Any, axis: int) -> Any:
    """Parts along a leading axis, joined along an axis that each of them has."""
    count, *shape = aval_of(parts).shape
    shape[axis] *= count
    return reshape(moveaxis(parts, 0, axis), tuple(shape))


def _parts_of(user: str, x: Any, axis: int, count: int) -> Any:
    """Equal parts of an axis, along a new leading axis."""
    shape = aval_of(x).shape
    if shape[axis] % count:
        raise ShapeError(
            f"{user}: axis {axis} of an array of shape {shape} cannot be cut into {count} equal parts, one for "
            "each example"
        )
    cut = (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
    return moveaxis(reshape(x, cut), axis, 0)


def _one_each(user: str, x: Any, axis: int, count: int) -> Any:
    """The axis that has one entry for each example, in front."""
    shape = aval_of(x).shape
    if shape[axis] != count:
        raise ShapeError(
            f"{user}: axis {axis} of an array of shape {shape} must have {count} entries, one for each example; or "
            "give tiled=True"
        )
    return moveaxis(x, axis, 0)


@boundary
def all_gather(
    x: PyTree,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
) -> PyTree:
    """The values of all examples along a named axis, as an axis of the result.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    axis_index_groups : sequence of sequence of int, optional
        Gather within groups of equal size instead.
    axis : int
        Where the axis goes.
    tiled : bool
        Whether to join along the axis `axis` of `x` instead of making a new one.

    Returns
    -------
    tree
        Like `x` with the axis. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x: fgrad.lax.all_gather(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    Array([[1., 3.],
           [1., 3.]], dtype=float64)
    """

    def gathered(v: Any) -> Any:
        together = _all_values("all_gather", v, axis_name, axis_index_groups)
        rank = len(aval_of(v).shape)
        if tiled:
            return _joined_into(together, normal_axis(axis, rank, "all_gather"))
        return moveaxis(together, 0, normal_axis(axis, rank + 1, "all_gather"))

    return _map("all_gather", gathered, x)


@boundary
def psum_scatter(
    x: PyTree,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> PyTree:
    """The sum over all examples, of which each example keeps its own part.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    scatter_dimension : int
        The axis of `x` that is shared out.
    axis_index_groups : sequence of sequence of int, optional
        Sum within groups of equal size instead.
    tiled : bool
        Whether each example gets an equal part of that axis; otherwise the axis has one entry for each
        example, and vanishes.

    Returns
    -------
    tree
        Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.
    ShapeError
        If the axis cannot be shared out.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> f = fgrad.vmap(lambda x: fgrad.lax.psum_scatter(x, "i"), axis_name="i")
    >>> f(np.array([[1.0, 2.0], [10.0, 20.0]]))
    Array([11., 22.], dtype=float64)
    """
    place, count = _place_in_group("psum_scatter", axis_name, axis_index_groups)

    def scattered(v: Any) -> Any:
        axis = normal_axis(scatter_dimension, len(aval_of(v).shape), "psum_scatter")
        total = _sum(_all_values("psum_scatter", v, axis_name, axis_index_groups))
        cut = _parts_of if tiled else _one_each
        return _row(cut("psum_scatter", total, axis, count), place)

    return _map("psum_scatter", scattered, x)


@boundary
def all_to_all(
    x: PyTree,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> PyTree:
    """Exchange parts: each example sends one to every example, and gets one from each.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    split_axis : int
        The axis of `x` along which the parts lie.
    concat_axis : int
        Where what comes in is put together.
    axis_index_groups : sequence of sequence of int, optional
        Exchange within groups of equal size instead.
    tiled : bool
        Whether the axes are cut and joined; otherwise `split_axis` has one entry for each example and
        vanishes, and `concat_axis` is new.

    Returns
    -------
    tree
        Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.
    ShapeError
        If the axis cannot be cut into parts.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> f = fgrad.vmap(lambda x: fgrad.lax.all_to_all(x, "i", 0, 0), axis_name="i")
    >>> f(np.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    place, count = _place_in_group("all_to_all", axis_name, axis_index_groups)

    def exchanged(v: Any) -> Any:
        rank = len(aval_of(v).shape)
        split = normal_axis(split_axis, rank, "all_to_all")
        concat = normal_axis(concat_axis, rank, "all_to_all")
        cut = _parts_of if tiled else _one_each
        parts = cut("all_to_all", v, split, count)
        together = _all_values("all_to_all", parts, axis_name, axis_index_groups)
        mine = _row(moveaxis(together, 1, 0), place)
        return _joined_into(mine, concat) if tiled else moveaxis(mine, 0, concat)

    return _map("all_to_all", exchanged, x)


@boundary
def ppermute(x: PyTree, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> PyTree:
    """Send values from example to example.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    perm : sequence of (int, int)
        Pairs of a source and a destination. Who receives nothing gets zeros.

    Returns
    -------
    tree
        Like `x`. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.
    ArgumentError
        If a source or destination occurs twice, or is out of range.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> f = fgrad.vmap(lambda x: fgrad.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")
    >>> f(np.array([1.0, 2.0, 3.0]))
    Array([0., 1., 2.], dtype=float64)
    """
    axes = _axes(axis_name, "ppermute")
    size = _size(axes)
    pairs = [(int(source), int(destination)) for source, destination in perm]
    for ends in zip(*pairs, strict=True):
        if len(set(ends)) != len(ends) or not all(0 <= end < size for end in ends):
            raise ArgumentError(
                f"ppermute: perm must name each source and each destination once, from 0 to {size - 1}, got {pairs}"
            )
    source_of, receives = np.zeros(size, np.int64), np.zeros(size, np.bool_)
    for source, destination in pairs:
        source_of[destination], receives[destination] = source, True
    index = _index(axes)

    def received(v: Any) -> Any:
        row = _row(_gathered(v, axes), _row(source_of, index))
        if receives.all():
            return row
        return select(_row(receives, index), row, aval_of(row).dtype.type(0))

    return _map("ppermute", received, x)


@boundary
def pshuffle(x: PyTree, axis_name: AxisName, perm: Sequence[int]) -> PyTree:
    """Permute the values of all examples: example i gets that of example ``perm[i]``.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    perm : sequence of int
        A permutation of the indices.

    Returns
    -------
    tree
        Like `x`. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.
    ArgumentError
        If `perm` is not a permutation.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> f = fgrad.vmap(lambda x: fgrad.lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")
    >>> f(np.array([1.0, 2.0, 3.0]))
    Array([3., 1., 2.], dtype=float64)
    """
    size = _size(_axes(axis_name, "pshuffle"))
    if sorted(perm) != list(range(size)):
        raise ArgumentError(
            f"pshuffle: perm must be a permutation of the numbers from 0 to {size - 1}, got {list(perm)}"
        )
    return ppermute(x, axis_name, list(zip(perm, range(size), strict=True)))


@boundary
def pbroadcast(x: PyTree, axis_name: AxisName, source: int) -> PyTree:
    """The value of one example, for all examples along a named axis.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    source : int
        Which example.

    Returns
    -------
    tree
        Like `x`. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> f = fgrad.vmap(lambda x: fgrad.lax.pbroadcast(x, "i", 1), axis_name="i")
    >>> f(np.array([1.0, 2.0, 3.0]))
    Array([2., 2., 2.], dtype=float64)
    """
    axes = _axes(axis_name, "pbroadcast")
    return _map("pbroadcast", lambda v: _row(_gathered(v, axes), np.int64(source)), x)


@boundary
def pswapaxes(
    x: PyTree, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None
) -> PyTree:
    """Exchange a named axis with an axis of the array: each example gets one entry of each.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    axis : int
        An axis of `x` of the size of the named one.
    axis_index_groups : sequence of sequence of int, optional
        Exchange within groups of equal size instead.

    Returns
    -------
    tree
        Like `x`. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.
    ShapeError
        If the axis has another size.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> f = fgrad.vmap(lambda x: fgrad.lax.pswapaxes(x, "i", 0), axis_name="i")
    >>> f(np.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int64)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@boundary
def pcast(x: PyTree, axis_name: AxisName, *, to: str) -> PyTree:
    """Say that a value varies along a named axis, or does not: here both are the same.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.
    to : {"varying", "reduced", "unreduced"}

    Returns
    -------
    tree
        Like `x`. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.
    ArgumentError
        If `to` is something else.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> f = fgrad.vmap(lambda x: fgrad.lax.pcast(x, "i", to="varying"), axis_name="i")
    >>> f(np.arange(2))
    Array([0, 1], dtype=int64)
    """
    if to not in ("varying", "reduced", "unreduced"):
        raise ArgumentError(f"pcast: to is {to!r}; give 'varying', 'reduced' or 'unreduced'")
    _axes(axis_name, "pcast")
    return _map("pcast", lambda v: v, x)


@boundary
def pvary(x: PyTree, axis_name: AxisName) -> PyTree:
    """Say that a value varies along a named axis, as ``pcast(x, axis_name, to="varying")`` does.

    Parameters
    ----------
    x : array_like or tree of them
    axis_name : hashable or tuple of hashable
        The name that ``vmap`` or ``pmap`` gave the axis.

    Returns
    -------
    tree
        Like `x`. Differentiable.

    Raises
    ------
    UnboundAxisError
        If no mapped axis in scope has this name.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x: fgrad.lax.pvary(x, "i"), axis_name="i")(np.arange(2))
    Array([0, 1], dtype=int64)
    """
    _axes(axis_name, "pvary")
    return _map("pvary", lambda v: v, x)
