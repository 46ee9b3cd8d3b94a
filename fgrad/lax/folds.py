"""Reductions by any function of two elements, and those of bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import _tree
from fgrad.array import Array
from fgrad.avals import Aval, aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axes, shape_of, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import Sum, add, broadcast_to, mul, reshape
from fgrad.primitives.reduction import All, Any_, Max, Min, Prod
from fgrad.primitives.shape import Concatenate, static_index, transpose
from fgrad.tracing import record
from fgrad.transforms.vmap import vmap

#: The reduction of each primitive that has one of its own.
_REDUCTIONS: dict[Any, Any] = {add: Sum, mul: Prod, p.maximum: Max, p.minimum: Min}


def _halved(xs: list[Any], combine: Callable[[list[Any], list[Any]], list[Any]]) -> list[Any]:
    """Inside values of one length along the first axis, combined in pairs of neighbours until one is left."""
    count = shape_of(xs[0])[0]
    while count > 1:
        even = count - count % 2
        firsts = [static_index(x, (slice(0, even, 2),)) for x in xs]
        seconds = [static_index(x, (slice(1, even, 2),)) for x in xs]
        joined = combine(firsts, seconds)
        if count % 2:
            rest = [static_index(x, (slice(even, count),)) for x in xs]
            joined = [Concatenate(0)(a, b) for a, b in zip(joined, rest, strict=True)]
        xs, count = joined, even // 2 + count % 2
    return [static_index(x, (0,)) for x in xs]


def _reduced_first(x: Any, axes: Sequence[int]) -> Any:
    """The axes to be reduced as one, in front."""
    shape = shape_of(x)
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    size = 1
    for axis in axes:
        size *= shape[axis]
    return reshape(transpose(x, (*axes, *rest)), (size, *[shape[axis] for axis in rest]))


def _bits(name: str, whole: Any, apply: Any, summary: str, neutral: Callable[[Any], int]) -> Any:
    def function(operand: ArrayLike, axes: Sequence[int]) -> Array:
        x = _operand(operand, name)
        aval = aval_of(x)
        if aval.dtype.kind not in "biu":
            raise DTypeError(
                f"{name}: takes booleans or integers, got {aval.dtype}; convert it, as with x != 0"
            )
        given = tuple(axes) if not isinstance(axes, int) else (axes,)
        chosen = normal_axes(given, len(aval.shape), name)
        if aval.dtype.kind == "b" and whole is not None:
            return wrap(whole(chosen)(x))  # type: ignore[no-any-return]
        if not chosen:
            return wrap(x)  # type: ignore[no-any-return]
        front = _reduced_first(x, chosen)
        if not shape_of(front)[0]:
            start = aval.dtype.type(neutral(aval.dtype))
            return wrap(broadcast_to(start, shape_of(front)[1:]))  # type: ignore[no-any-return]
        (answer,) = _halved([front], lambda a, b: [apply(a[0], b[0])])
        return wrap(answer)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__module__ = "fgrad.lax"
    function.__doc__ = f"""{summary}

    Parameters
    ----------
    operand : array_like of bool or int
    axes : sequence of int
        The axes to reduce, which the result lacks.

    Returns
    -------
    Array
        Of the dtype of the operand. It has no derivative.

    Raises
    ------
    AxisError, DTypeError
        If the operand has not these axes, or has other elements than booleans and integers.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.{name}(np.ones((2, 3), bool), (0,)).shape
    (3,)
    """
    return function


reduce_and = _bits(
    "reduce_and",
    All,
    p.bitwise_and,
    "Whether all elements over axes are true; of integers the bits that all have.",
    lambda dtype: -1 if dtype.kind == "i" else 2 ** (8 * dtype.itemsize) - 1,
)
reduce_or = _bits(
    "reduce_or",
    Any_,
    p.bitwise_or,
    "Whether any element over axes is true; of integers the bits that any has.",
    lambda dtype: 0,
)
reduce_xor = _bits(
    "reduce_xor",
    None,
    p.bitwise_xor,
    "Whether an odd number of elements over axes is true; of integers for each bit.",
    lambda dtype: 0,
)


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Reduce axes by any function of two elements.

    Parameters
    ----------
    operands : array_like, or tree of them of one shape
    init_values : scalar, or tree of them
        What comes before the first element, for each operand; it changes nothing where it is the neutral
        element of the computation.
    computation : callable
        A function of two trees like `init_values` that returns a third. It must be associative: neighbours are
        combined in pairs, and their results again.
    dimensions : sequence of int
        The axes to reduce, which the results lack.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array, or tree of Array
        Of the dtypes of the operands. Differentiable as the computation is. Sums, products and extrema are
        computed as such.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError, AxisError
        If shapes, dtypes and trees do not fit, or there are no such axes.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.reduce(np.arange(4.0), -np.inf, lax.max, (0,))
    Array(3., dtype=float64)
    >>> def larger(a, b):
    ...     keep = a[0] >= b[0]
    ...     return lax.select(keep, a[0], b[0]), lax.select(keep, a[1], b[1])
    >>> best, place = lax.reduce((np.array([2.0, 5.0, 3.0]), np.arange(3)), (-np.inf, -1), larger, (0,))
    >>> float(best), int(place)
    (5.0, 1)
    """
    name = "reduce"
    leaves, treedef = _tree.flatten(operands)
    starts = _tree.leaves(init_values)
    if len(leaves) != len(starts) or not leaves:
        raise ArgumentError(
            f"{name}: {len(leaves)} operands and {len(starts)} init_values; give one for each, and one at least"
        )
    xs = [_operand(leaf, name, "an operand") for leaf in leaves]
    shape = shape_of(xs[0])
    first = []
    for x, start in zip(xs, starts, strict=True):
        aval, own = aval_of(x), aval_of(_operand(start, name, "an init_value"))
        if aval.shape != shape or own.shape:
            raise ShapeError(
                f"{name}: operands of shapes {shape} and {aval.shape} with an init_value of shape {own.shape}; give "
                "operands of one shape, and scalars"
            )
        if own.dtype != aval.dtype and not own.weak:
            raise DTypeError(
                f"{name}: an operand has dtype {aval.dtype}, its init_value {own.dtype}; convert one"
            )
        first.append(p.convert(_operand(start, name), aval.dtype))
    listed = tuple(dimensions) if not isinstance(dimensions, int) else (dimensions,)
    axes = normal_axes(listed, len(shape), name)
    scalars = [Aval((), aval_of(x).dtype) for x in xs]

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        left, right = (_tree.unflatten(treedef, list(map(wrap, side))) for side in (a, b))
        results = _tree.leaves(computation(left, right))
        if len(results) != len(scalars):
            raise ArgumentError(
                f"{name}: the computation must return {len(scalars)} results, one for each operand, got {len(results)}"
            )
        return [
            p.convert(_operand(r, name, "a result"), s.dtype)
            for r, s in zip(results, scalars, strict=True)
        ]

    if not axes:
        answers = xs
    else:
        answers = _fast(xs, first, axes, combine, scalars)
    return _tree.unflatten(treedef, [wrap(answer) for answer in answers])


def _fast(xs: Any, first: Any, axes: Any, combine: Any, scalars: Any) -> list[Any]:
    """The reduction by a primitive of its own, or by pairs."""
    if len(xs) == 1:
        apply = _single(combine, scalars[0])
        aval = aval_of(xs[0])
        if apply in _REDUCTIONS and aval.dtype.kind != "b" and aval.size:
            total = p.convert(_REDUCTIONS[apply](axes)(xs[0]), aval.dtype)
            return [apply(first[0], total)]
    fronts = [_reduced_first(x, axes) for x in xs]
    rest = shape_of(fronts[0])[1:]

    def over(count: int) -> Callable[..., Any]:
        """The computation on arrays with so many axes."""

        def apply(*values: Any) -> list[Any]:
            inside = [_operand(v, "reduce") for v in values]
            return [wrap(v) for v in combine(inside[: len(xs)], inside[len(xs) :])]

        f: Callable[..., Any] = apply
        for _ in range(count):
            f = vmap(f)
        return f

    def apply_over(f: Callable[..., Any], a: Any, b: Any) -> list[Any]:
        return [_operand(v, "reduce") for v in f(*map(wrap, a), *map(wrap, b))]

    begun = [broadcast_to(start, rest) for start in first]
    if not shape_of(fronts[0])[0]:
        return begun
    inner, outer = over(len(rest)), over(len(rest) + 1)
    totals = _halved(fronts, lambda a, b: apply_over(outer, a, b))
    return apply_over(inner, begun, totals)


def _single(combine: Any, scalar: Aval) -> Any:
    """The primitive that a computation applies to its two arguments, if it does nothing else."""
    jaxpr = record(lambda a, b: combine([a], [b]), [scalar, scalar], "reduce")
    if len(jaxpr.eqns) != 1 or jaxpr.outvars != jaxpr.eqns[0].outputs:
        return None
    (eqn,) = jaxpr.eqns
    return eqn.primitive if set(eqn.inputs) == set(jaxpr.invars) else None
