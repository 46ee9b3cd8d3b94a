"""Batching: each primitive is applied once, to whole batches, by its batching rule."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import BOOL
from fgrad.errors import FgradError, MappedAxisError, NonArrayError
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.primitives.families import Convert
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import moveaxis, spread
from fgrad.source_info import boundary, function_name, function_text
from fgrad.tracing import Primitive, Trace, Tracer, has_tracers, listed, record
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    leaf_value,
    leaf_values,
    output_values,
    signature_names,
    transformed,
    tree_text,
)
from fgrad.transforms.axis_names import NamedAxis, bound


class BatchTracer(Tracer):
    """One example of a batch: the values of all examples lie along a leading axis.

    An example may be weak, as a choice between two Python numbers is; the batch is an array.
    """

    __slots__ = ("_value", "arguments", "aval")

    def __init__(
        self,
        trace: Trace,
        batch: Any,
        arguments: frozenset[str] = frozenset(),
        weak: bool = False,
    ) -> None:
        self._trace = trace
        self._value = batch
        #: The mapped arguments that it comes from, for messages.
        self.arguments = arguments
        whole = aval_of(batch)
        self.aval = Aval(whole.shape[1:], whole.dtype, weak)

    def _array(self) -> Any:
        """The batch itself, for checks that do not depend on the example."""
        return self._value


class BatchTrace(Trace):
    """Applies batching rules; what does not depend on a mapped argument stays a known value."""

    __slots__ = ("size",)

    def __init__(self, name: str, size: int, function: Any = None) -> None:
        super().__init__(name, "vmap", function)
        self.size = size

    def origin(self, tracer: Any) -> str:
        return listed(tracer.arguments)

    def process(self, primitive: Primitive, args: Sequence[Any]) -> Any:
        self.check_alive(primitive, args)
        values, mapped = [], []
        names: frozenset[str] = frozenset()
        # Promotion leaves nothing weak that met something strong, but for the truth value of a choice.
        any_weak = any_strong = False
        for arg in args:
            if type(arg) is BatchTracer and arg._trace is self:
                if arg.aval.weak:
                    any_weak = True
                elif arg.aval.dtype is not BOOL:
                    any_strong = True
                values.append(arg._value)
                mapped.append(True)
                if names is not arg.arguments:
                    names = names | arg.arguments if names else arg.arguments
            else:
                aval = aval_of(arg)
                any_strong = any_strong or not (aval.weak or aval.dtype is BOOL)
                values.append(arg)
                mapped.append(False)
        if any_weak and primitive.promotes:
            values = promoted_examples(primitive, args, values, mapped)
        try:
            answer, is_mapped = primitive.batch(self.size, values, mapped)
        except FgradError:
            self.blame_one_example(primitive, args, values, mapped)
            raise
        if primitive.multiple_results:
            flags = weak_results(primitive, args, answer)
            return [
                BatchTracer(self, a, names, weak) if m else a
                for a, m, weak in zip(answer, is_mapped, flags, strict=True)
            ]
        if not is_mapped:
            return answer
        weak = False
        if len(answer.shape) == 1 and (not any_strong or type(primitive) is Convert):
            weak = primitive.abstract_eval(*map(aval_of, args)).weak
        return BatchTracer(self, answer, names, weak)

    def blame_one_example(
        self,
        primitive: Primitive,
        args: Sequence[Any],
        values: Sequence[Any],
        mapped: Sequence[bool],
    ) -> None:
        """Raise the error of a single example, if it has one: its shapes are those of the user."""
        primitive.abstract_eval(*map(aval_of, args))
        if not has_tracers(values):
            for i in range(self.size):
                primitive(*[v[i] if m else v for v, m in zip(values, mapped, strict=True)])

    def examples(
        self, values: Sequence[Any], mapped: Sequence[bool], avals: Sequence[Aval]
    ) -> list[Any]:
        """The inputs of a jaxpr with inputs of types `avals`: examples of the batches among `values`."""
        return [
            BatchTracer(self, v, weak=aval.weak) if m else v
            for v, m, aval in zip(values, mapped, avals, strict=True)
        ]

    def split(self, x: Any) -> tuple[Any, bool]:
        """The value of an output and whether it is mapped."""
        if type(x) is BatchTracer and x._trace is self:
            return x._value, True
        return x, False


def weak_results(
    primitive: Primitive, args: Sequence[Any], answers: Sequence[Any]
) -> Sequence[bool]:
    """Whether a single example of each of several results is weak."""
    if all([len(aval_of(answer).shape) > 1 for answer in answers]):
        return [False] * len(answers)
    return [aval.weak for aval in primitive.abstract_eval(*map(aval_of, args))]


def promoted_examples(
    primitive: Primitive, args: Sequence[Any], values: Sequence[Any], mapped: Sequence[bool]
) -> list[Any]:
    """Batches of weak examples in the dtype that a single one would take among the other arguments."""
    avals = [aval_of(arg) for arg in args]
    weak = [m and aval.weak for m, aval in zip(mapped, avals, strict=True)]
    single = primitive.abstract_eval(*avals)
    batch = primitive.abstract_eval(
        *[a.strong() if w else a for a, w in zip(avals, weak, strict=True)]
    )
    if single.dtype == batch.dtype and single.dtype != BOOL:
        return list(values)
    dtype = common_dtype(avals)
    # Integers are compared as they are: a Python number need not fit into the other's dtype.
    return [
        Convert(dtype)(v)
        if w and v.dtype != dtype and (v.dtype.kind in "fc" or single.dtype != BOOL)
        else v
        for v, w in zip(values, weak, strict=True)
    ]


@boundary
def vmap(
    f: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | None = None,
) -> Callable[..., Any]:
    """Map `f` over an axis of its arguments, with whole-array operations.

    Parameters
    ----------
    f : callable
        A function of single examples.
    in_axes : int, None or tree
        The axis to map over, for each positional argument: an int (negative ones count from the end),
        None for an argument that is the same for all examples, or a tree of them that is a prefix of
        the arguments. Keyword arguments are always mapped over axis 0.
    out_axes : int, None or tree
        Where the mapped axis goes in each result. None is for results that do not depend on the example.
    axis_name : hashable, optional
        A name for the mapped axis, by which collectives such as `fgrad.lax.psum` combine examples.
    axis_size : int, optional
        The number of examples, needed only where no argument is mapped.

    Returns
    -------
    callable
        The mapped function.

    Raises
    ------
    MappedAxisError
        If axes do not fit the arguments, or mapped sizes disagree.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.vmap(lambda x, y: x @ y, in_axes=(0, None))(np.eye(2), np.array([1.0, 2.0]))
    Array([1., 2.], dtype=float64)
    """
    check_callable(f, "vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    @transformed(
        f,
        "vmap",
        vmap,
        in_axes=in_axes,
        out_axes=out_axes,
        axis_name=axis_name,
        axis_size=axis_size,
        spmd_axis_name=spmd_axis_name,
    )
    def mapped(*args: Any, **kwargs: Any) -> Any:
        where = f"vmap of {function_text(f)}"
        leaves, treedef = _tree.flatten((args, kwargs))
        axes = _in_axes(f, in_axes, args, kwargs)
        opaque: tuple[int, ...] = ()
        try:
            values = leaf_values(leaves, "vmap", f, args, kwargs)
        except NonArrayError:
            # What is passed whole may be anything, such as a function.
            values, opaque = _values_of_mapped(leaves, axes, f, args, kwargs)
        names: list[str] = []
        moved: list[tuple[Any, bool]] = []
        size = axis_size
        first = "axis_size"
        for i, (v, axis) in enumerate(zip(values, axes, strict=True)):
            if axis is None:
                moved.append((v, False))
                continue
            names = names or argument_leaf_names(f, args, kwargs)
            shape = aval_of(v).shape
            if not -len(shape) <= axis < len(shape):
                if i >= len(_tree.leaves(args)):
                    raise MappedAxisError(
                        f"{where}: arguments by keyword are mapped along axis 0, but {names[i]} has shape {shape}; "
                        "pass it by position, with None in in_axes, or bind it with functools.partial"
                    )
                raise MappedAxisError(
                    f"{where}: in_axes asks for axis {axis} of {names[i]}, which has shape {shape}; give an "
                    "axis that it has, or None to pass it whole"
                )
            axis %= len(shape)
            if size is None:
                size, first = shape[axis], names[i]
            elif shape[axis] != size:
                raise MappedAxisError(
                    f"{where}: the mapped sizes disagree: {first} has {size}, axis {axis} of {names[i]}, of "
                    f"shape {shape}, has {shape[axis]}; map over axes of one size, or pass None in in_axes"
                )
            moved.append((moveaxis(v, axis, 0), True))
        if size is None:
            raise MappedAxisError(
                f"{where}: no argument is mapped, so that the number of examples is unknown; give an axis in "
                "in_axes, or axis_size"
            )
        with BatchTrace(function_name(f), size, f) as trace:
            tracers = [
                BatchTracer(trace, v, frozenset(names[i : i + 1]))
                if is_mapped
                else v
                if i in opaque
                else wrap(v)
                for i, (v, is_mapped) in enumerate(moved)
            ]
            inner_args, inner_kwargs = _tree.unflatten(treedef, tracers)
            if axis_name is None:
                result = f(*inner_args, **inner_kwargs)
            else:
                index = BatchTracer(trace, np.arange(size, dtype=np.int32))
                with bound(NamedAxis(axis_name, size, index)):
                    result = f(*inner_args, **inner_kwargs)
            out_leaves, out_treedef = _tree.flatten(result)
            pairs = [trace.split(x) for x in output_values(out_leaves, "vmap", f, result)]
        try:
            destinations = _tree.broadcast_prefix(
                out_axes, result, is_leaf=_is_axis, what="out_axes"
            )
        except (ValueError, TypeError):
            raise _misfit(f"{where}: out_axes", out_axes, "the result", out_treedef) from None
        results = []
        for i, ((v, is_mapped), axis) in enumerate(zip(pairs, destinations, strict=True)):
            if axis is None:
                if is_mapped:
                    raise MappedAxisError(
                        f"{where}: out_axes is None for {_tree.leaf_names(result, 'the result')[i]}, but that "
                        "depends on the example; give an axis"
                    )
                results.append(wrap(v))
                continue
            whole = v if is_mapped else spread(v, trace.size)
            rank = len(whole.shape)
            if not isinstance(axis, int) or not -rank <= axis < rank:
                raise MappedAxisError(
                    f"{where}: out_axes asks for axis {axis!r} of {_tree.leaf_names(result, 'the result')[i]}, "
                    f"which has {rank} axes with the mapped one; give an integer from {-rank} to {rank - 1}"
                )
            results.append(wrap(moveaxis(whole, 0, axis % rank)))
        return _tree.unflatten(out_treedef, results)

    return mapped


def _is_axis(x: Any) -> bool:
    return x is None or isinstance(x, int)


def _misfit(what: str, axes: Any, of: str, treedef: Any) -> MappedAxisError:
    return MappedAxisError(
        f"{what} has structure {tree_text(_tree.structure(axes, _is_axis))}, but {of} has structure "
        f"{tree_text(treedef)}; give one axis for all, or the same containers, stopping early"
    )


def _values_of_mapped(
    leaves: Sequence[Any], axes: Sequence[Any], f: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[list[Any], tuple[int, ...]]:
    """The leaves as inside values, but for those that are no arrays and are passed whole."""
    values, opaque = [], []
    for i, (leaf, axis) in enumerate(zip(leaves, axes, strict=True)):
        try:
            inside = leaf_value(
                leaf,
                "vmap",
                f,
                lambda i=i: argument_leaf_names(f, args, kwargs)[i],  # type: ignore[misc]
            )
        except NonArrayError:
            if axis is not None:
                raise
            inside = leaf
            opaque.append(i)
        values.append(inside)
    return values, tuple(opaque)


def _in_axes(
    f: Callable[..., Any], in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[int | None]:
    """The mapped axis of every leaf, or None."""
    where = f"vmap of {function_text(f)}"
    axes: list[int | None] = []
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        count = f"{len(args)} positional argument{'s' * (len(args) != 1)}"
        keywords = (
            f"; what is given by keyword ({listed(sorted(kwargs))}) has no entry and is mapped along axis 0: pass it "
            "by position to say otherwise"
            if kwargs
            else "; give one entry each"
        )
        raise MappedAxisError(f"{where}: in_axes has {len(in_axes)} entries for {count}{keywords}")
    entries = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    for entry, arg, name in zip(entries, args, signature_names(f, len(args)), strict=True):
        try:
            found = _tree.broadcast_prefix(entry, arg, is_leaf=_is_axis, what="in_axes")
        except (ValueError, TypeError):
            what = f"{where}: in_axes of argument {name}"
            raise _misfit(what, entry, "the argument", _tree.structure(arg)) from None
        for axis in found:
            if not _is_axis(axis) or isinstance(axis, bool):
                raise MappedAxisError(
                    f"{where}: in_axes of {name} holds {axis!r}; give integers or None"
                )
        axes.extend(found)
    for key in sorted(kwargs):
        axes.extend([0] * len(_tree.leaves(kwargs[key])))
    return axes


def batch_jaxpr(
    jaxpr: Jaxpr, size: int, mapped: tuple[bool, ...]
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The program over batches of the mapped inputs, and which of its results are mapped."""
    key = ("vmap", size, mapped)
    known = jaxpr.derived.get(key)
    if known is not None:
        return known  # type: ignore[no-any-return]
    out_mapped: tuple[bool, ...] = ()

    def run(*flat: Any) -> list[Any]:
        nonlocal out_mapped
        with BatchTrace(jaxpr.name, size) as trace:
            inputs = trace.examples(flat, mapped, jaxpr.in_avals)
            pairs = [trace.split(x) for x in eval_jaxpr(jaxpr, *inputs)]
        out_mapped = tuple(m for _, m in pairs)
        return [v for v, _ in pairs]

    avals = [
        Aval((size, *aval.shape), aval.dtype) if m else aval
        for aval, m in zip(jaxpr.in_avals, mapped, strict=True)
    ]
    derived = record(run, avals, jaxpr.name, "vmap")
    jaxpr.derived[key] = derived, out_mapped
    return derived, out_mapped
