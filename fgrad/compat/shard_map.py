"""Functions of the part of an array that each device has: here, of each part in turn, as a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad import numpy as fnp
from fgrad.errors import ArgumentError, ShapeError
from fgrad.sharding import PartitionSpec
from fgrad.transforms.vmap import vmap

__all__ = ["shard_map"]


def _is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def _specs_of_leaves(specs: Any, tree: Any, what: str) -> list[PartitionSpec]:
    """One spec for each leaf of a tree, of specs for parts of it."""
    found, structure = _tree.flatten(specs, _is_spec)
    try:
        parts = structure.flatten_up_to(tree)
    except ValueError:
        parts = None
    if parts is None:
        given = "arguments" if what == "in_specs" else "results"
        raise ArgumentError(
            f"shard_map: {what} is {specs!r}, and the {given} have the structure {_tree.structure(tree)}; give one "
            "PartitionSpec for all, or the same containers, stopping early"
        )
    return [
        PartitionSpec() if spec is None else spec
        for spec, part in zip(found, parts, strict=True)
        for _ in _tree.leaves(part)
    ]


def _check_specs(specs: Any, sizes: dict[str, int], what: str) -> None:
    """Raise an error for what is no spec, or no spec of a mesh with axes of these sizes."""
    found = _tree.leaves(specs, _is_spec)
    if not all(map(_is_spec, found)):
        raise ArgumentError(f"shard_map: {what} has entries that are no PartitionSpec: {specs!r}")
    for spec in found:
        names = [name for entry in spec or () for name in _names(entry)]
        if not sizes.keys() >= set(names):
            raise ArgumentError(
                f"shard_map: {what} has {spec!r}, and the axes of the mesh are {tuple(sizes)}; give their names"
            )
        if len(set(names)) < len(names):
            raise ArgumentError(
                f"shard_map: {what} has {spec!r}; give each axis of the mesh at most once in a PartitionSpec"
            )


def _check_rank(shape: tuple[int, ...], spec: PartitionSpec, what: str) -> None:
    if len(spec) > len(shape):
        raise ArgumentError(
            f"shard_map: {what} has shape {shape}, and its PartitionSpec is {spec!r}; give no more entries than "
            "it has axes"
        )


def _names(entry: Any) -> tuple[str, ...]:
    return () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)


def _apart(x: Any, spec: PartitionSpec, sizes: dict[str, int], what: str) -> tuple[Any, list[str]]:
    """The parts of an array along leading axes, one for each axis of the mesh that it is laid out over."""
    shape: list[int] = []
    where: dict[str, int] = {}
    for axis, size in enumerate(fnp.shape(x)):
        names = _names(spec[axis]) if axis < len(spec) else ()
        for name in names:
            if size % sizes[name]:
                raise ShapeError(
                    f"shard_map: axis {axis} of {what}, of size {fnp.shape(x)[axis]}, cannot be divided among "
                    f"the {sizes[name]} devices of the mesh axis {name!r}"
                )
            where[name] = len(shape)
            shape.append(sizes[name])
            size //= sizes[name]
        shape.append(size)
    order = [name for name in sizes if name in where]
    return fnp.moveaxis(
        fnp.reshape(x, shape), [where[name] for name in order], range(len(order))
    ), order


def _together(x: Any, spec: PartitionSpec, sizes: dict[str, int]) -> Any:
    """An array from its parts, which lie along one leading axis for each axis of the mesh."""
    used = {name for entry in spec for name in _names(entry)}
    for position in reversed(range(len(sizes))):
        if list(sizes)[position] not in used:
            x = fnp.take(x, 0, axis=position)
    leading = [name for name in sizes if name in used]
    rank = fnp.ndim(x) - len(leading)
    order: list[int] = []
    shape: list[int] = []
    for axis in range(rank):
        names = _names(spec[axis]) if axis < len(spec) else ()
        order += [leading.index(name) for name in names] + [len(leading) + axis]
        size = fnp.shape(x)[len(leading) + axis]
        for name in names:
            size *= sizes[name]
        shape.append(size)
    return fnp.reshape(fnp.transpose(x, order), shape)


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    axis_names: Any = None,
    check_vma: bool = True,
    check_rep: bool = True,
) -> Callable[..., Any]:
    """Map a function over the parts of arrays that the devices of a mesh have.

    Parameters
    ----------
    f : callable
        A function of parts; collectives over the axes of the mesh connect them.
    mesh : Mesh
        The devices. All are one memory, so that the parts are computed as a batch.
    in_specs, out_specs : tree of PartitionSpec
        For each argument and each result, the axes of the mesh that its axes are laid out over. A result that is
        laid out over no axis is taken from the first device.
    axis_names, check_vma, check_rep
        Accepted: there is nothing to check.

    Returns
    -------
    callable

    Raises
    ------
    ArgumentError
        If specs are none, have other axes than the mesh, or do not fit the arguments or results.
    ShapeError
        If an axis cannot be divided among the devices.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> from fgrad.compat.shard_map import shard_map
    >>> from fgrad.sharding import Mesh, PartitionSpec as P
    >>> mesh = Mesh(np.array(fgrad.devices()), "d")
    >>> f = shard_map(lambda x: fgrad.lax.psum(x, "d"), mesh=mesh, in_specs=P("d"), out_specs=P())
    >>> f(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    if f is None:
        return functools.partial(
            shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma
        )
    sizes = dict(mesh.shape)
    function = f
    _check_specs(in_specs, sizes, "in_specs")
    _check_specs(out_specs, sizes, "out_specs")

    @functools.wraps(function)
    def mapped(*args: Any) -> Any:
        for_each = isinstance(in_specs, tuple) and not _is_spec(in_specs)
        if for_each and len(in_specs) != len(args):
            raise ArgumentError(
                f"shard_map: in_specs has {len(in_specs)} entries, and {len(args)} arguments are given; give one entry "
                "for each argument, or one PartitionSpec for all"
            )
        specs = in_specs if for_each else (in_specs,) * len(args)
        wanted = _specs_of_leaves(specs, args, "in_specs")
        leaves, treedef = _tree.flatten(args)
        parts, owned = [], []
        for i, (leaf, spec) in enumerate(zip(leaves, wanted, strict=True)):
            _check_rank(fnp.shape(leaf), spec, f"argument {i}")
            part, names = _apart(leaf, spec, sizes, f"argument {i}")
            parts.append(part)
            owned.append(names)
        structures: list[Any] = []

        def flat(xs: Sequence[Any]) -> list[Any]:
            out, structure = _tree.flatten(function(*_tree.unflatten(treedef, xs)))
            structures[:] = [structure]
            return out

        run: Callable[[Sequence[Any]], list[Any]] = flat
        for name, size in reversed(sizes.items()):
            axes = [0 if name in names else None for names in owned]
            run = vmap(run, in_axes=(axes,), axis_name=name, axis_size=size)
        outs = run(parts)
        result = _tree.unflatten(structures[0], outs)
        laid = _specs_of_leaves(out_specs, result, "out_specs")
        for i, (out, spec) in enumerate(zip(outs, laid, strict=True)):
            # The axes of the mesh lead.
            _check_rank(fnp.shape(out)[len(sizes) :], spec, f"result {i}")
        return _tree.unflatten(
            structures[0],
            [_together(out, spec, sizes) for out, spec in zip(outs, laid, strict=True)],
        )

    return mapped
