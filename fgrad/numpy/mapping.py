"""Functions of parts of arrays, applied to all parts at once."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import Shape
from fgrad.dtypes import KeyDType
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, given_dtype, normal_axis, operand
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import broadcast_to, reshape, shape_of
from fgrad.primitives.shape import expand_dims, moveaxis
from fgrad.source_info import boundary, function_text
from fgrad.transforms.vmap import vmap


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Any:
    """Apply a function to each line along an axis.

    Parameters
    ----------
    func1d : callable
        Takes an array with one axis, and returns a number or an array. It is called once, on all lines.
    axis : int
    arr : array_like
    *args, **kwargs
        Passed to the function.

    Returns
    -------
    Array
        The axes of the function's result stand in the place of the axis. Differentiable as the function
        is.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.apply_along_axis(lambda v: (v * v).sum(), 1, fnp.ones((2, 3)))
    Array([3., 3.], dtype=float64)
    """
    x = operand(arr, "apply_along_axis")
    shape = shape_of(x)
    position = normal_axis(axis, len(shape), "apply_along_axis")
    rest = shape[:position] + shape[position + 1 :]
    size = int(np.prod(rest, dtype=np.int64))
    lines = reshape(moveaxis(x, position, len(shape) - 1), (size, shape[position]))

    @functools.wraps(func1d)
    def of_line(line: Any) -> Any:
        return func1d(line, *args, **kwargs)

    def placed(result: Any) -> Any:
        inside = operand(result, "apply_along_axis")
        own = shape_of(inside)[1:]
        whole = reshape(inside, rest + own)
        for i in range(len(own)):
            whole = moveaxis(whole, len(rest) + i, position + i)
        return wrap(whole)

    return _each(placed, vmap(of_line)(wrap(lines)))


def _each(function: Callable[[Any], Any], results: Any) -> Any:
    """Apply a function to a result, or to each of several."""
    if isinstance(results, (tuple, list)):
        return type(results)(map(function, results))
    return function(results)


def apply_over_axes(
    func: Callable[[Any, int], Any], a: ArrayLike, axes: int | Sequence[int]
) -> Any:
    """Apply a function of an array and an axis over several axes, one after the other.

    Parameters
    ----------
    func : callable
        Called as ``func(a, axis)``; it may drop the axis.
    a : array_like
    axes : int or sequence of int

    Returns
    -------
    Array
        With as many axes as `a`. Differentiable as the function is.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.apply_over_axes(fnp.sum, fnp.ones((2, 3, 4)), (0, 2)).shape
    (1, 3, 1)
    """
    x = wrap(operand(a, "apply_over_axes"))
    rank = len(x.shape)
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        position = normal_axis(axis, rank, "apply_over_axes")
        result = operand(func(x, position), "apply_over_axes")
        if len(shape_of(result)) == rank - 1:
            result = expand_dims(result, (position,))
        if len(shape_of(result)) != rank:
            raise ShapeError(
                f"apply_over_axes: {function_text(func)} returned shape {shape_of(result)} for an array "
                f"with {rank} axes; it may drop axis {position} only"
            )
        x = wrap(result)
    return x


# ---- vectorize -----------------------------------------------------------------------------------

_ARGUMENT = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_SIDE = rf"{_ARGUMENT}(?:\s*,\s*{_ARGUMENT})*"
_SIGNATURE = re.compile(rf"^\s*({_SIDE})?\s*->\s*({_SIDE})\s*$")

Core = list[tuple[str, ...]]


def _parsed(signature: str) -> tuple[Core, Core]:
    """The names of the core axes of each argument and each result."""
    found = _SIGNATURE.match(signature)
    if found is None:
        raise ArgumentError(
            f"vectorize: {signature!r} is not a signature; write core axes as in '(m,n),(n)->(m)'"
        )
    sides = []
    for side in found.groups():
        arguments = re.findall(r"\(([^)]*)\)", side or "")
        sides.append([tuple(re.findall(r"\w+", argument)) for argument in arguments])
    return sides[0], sides[1]


def _check_core(
    core: Core, shapes: Sequence[Shape], sizes: dict[str, int], what: str, where: str
) -> None:
    """Check core axes against the sizes known by name, and note new ones."""
    if len(core) != len(shapes):
        raise ArgumentError(
            f"{where}: the signature has {len(core)} {what}s, but there are {len(shapes)}"
        )
    for i, (names, shape) in enumerate(zip(core, shapes, strict=True)):
        if len(shape) < len(names):
            raise ShapeError(
                f"{where}: {what} {i} has shape {shape}, but the signature gives it the core axes {names}"
            )
        for name, size in zip(names, shape[len(shape) - len(names) :], strict=True):
            # A name of digits is a fixed size.
            wanted = int(name) if name.isdigit() else sizes.setdefault(name, size)
            if size != wanted:
                raise ShapeError(
                    f"{where}: {what} {i} has shape {shape}, in which core axis {name} has size {size}, "
                    f"expected {wanted}"
                )


def vectorize(
    pyfunc: Callable[..., Any] | None = None,
    otypes: Any = None,
    doc: str | None = None,
    excluded: Collection[int | str] = frozenset(),
    cache: bool = False,
    signature: str | None = None,
) -> Any:
    """Turn a function of numbers, or of small arrays, into one of arrays of them, which broadcast.

    Parameters
    ----------
    pyfunc : callable, optional
        Without it, a decorator is returned. It is called once, with traced arrays, as under `fgrad.vmap`.
        Arguments and results may also be arrays of random keys.
    otypes : str or list of dtype-like, optional
        The dtypes of the results; None keeps those of the function.
    doc : str, optional
        The docstring of the result; None means that of the function.
    excluded : set of int or str
        Positions and names of arguments that are passed on as they are.
    cache : bool
        Accepted for compatibility.
    signature : str, optional
        The core axes of arguments and results, as in ``'(m,n),(n)->(m)'``. None means numbers.

    Returns
    -------
    callable
        Differentiable as the function is.

    Raises
    ------
    ArgumentError
        If the signature is malformed, or does not have as many arguments as the call.
    ShapeError
        If core axes do not have the sizes that the signature asks for, or the others do not broadcast.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> dot = fnp.vectorize(lambda x, y: fnp.sum(x * y), signature="(n),(n)->()")
    >>> dot(fnp.ones((4, 3)), fnp.ones(3))
    Array([3., 3., 3., 3.], dtype=float64)
    """
    if pyfunc is None:
        return functools.partial(
            vectorize, otypes=otypes, doc=doc, excluded=excluded, cache=cache, signature=signature
        )
    if not callable(pyfunc):
        raise ArgumentError(
            f"vectorize takes a function, got {pyfunc!r} of type {type(pyfunc).__name__}"
        )
    core = None if signature is None else _parsed(signature)
    function: Callable[..., Any] = pyfunc
    where = f"vectorize of {function_text(function)}"

    @boundary
    @functools.wraps(function)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        places: list[int | str] = [i for i in range(len(args)) if i not in excluded]
        places += [name for name in kwargs if name not in excluded]
        given = [args[at] if isinstance(at, int) else kwargs[at] for at in places]
        results = _over_batch(_partial(function, args, kwargs, places), given, core, where)
        if otypes is None:
            return results
        kinds = iter(otypes)
        return _each(
            lambda x: wrap(convert(operand(x, where), given_dtype(next(kinds), where) or x.dtype)),
            results,
        )

    if doc is not None:
        vectorized.__doc__ = doc
    return vectorized


def _partial(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    places: list[int | str],
) -> Callable[..., Any]:
    """The function of those arguments that are not excluded."""

    @functools.wraps(function)
    def of_the_rest(*moving: Any) -> Any:
        positional, named = list(args), dict(kwargs)
        for at, x in zip(places, moving, strict=True):
            if isinstance(at, int):
                positional[at] = x
            else:
                named[at] = x
        return function(*positional, **named)

    return of_the_rest


def _opened(x: Any, where: str) -> tuple[Any, Any]:
    """An array, or the words of random keys and what makes keys of them."""
    if not isinstance(getattr(x, "dtype", None), KeyDType):
        return operand(x, where), None
    (words,), keys = _tree.flatten(x)
    return operand(words, where), keys


def _closed(x: Any, keys: Any) -> Any:
    return x if keys is None else keys.unflatten([x])


def _with_words(core: Core, opened: Sequence[tuple[Any, Any]]) -> Core:
    """Core axes where those of keys have one more, of their words: a name of digits is a fixed size."""
    if len(core) != len(opened):
        return core
    return [
        names if keys is None else (*names, str(shape_of(x)[-1]))
        for names, (x, keys) in zip(core, opened, strict=True)
    ]


def _over_batch(
    function: Callable[..., Any], given: list[Any], core: tuple[Core, Core] | None, where: str
) -> Any:
    opened = [_opened(x, where) for x in given]
    values = [x for x, _ in opened]
    shapes = [shape_of(x) for x in values]
    sizes: dict[str, int] = {}
    ranks = [0 if keys is None else 1 for _, keys in opened]
    if core is not None:
        names = _with_words(core[0], opened)
        _check_core(names, shapes, sizes, "argument", where)
        ranks = [len(own) for own in names]
    batches = [shape[: len(shape) - rank] for shape, rank in zip(shapes, ranks, strict=True)]
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        listed = " and ".join(map(str, shapes))
        raise ShapeError(
            f"{where}: arguments of shapes {listed} cannot be broadcast together"
        ) from None
    count = int(np.prod(batch, dtype=np.int64))
    operands: list[Any] = []
    axes: list[int | None] = []
    for x, own, shape in zip(values, batches, shapes, strict=True):
        inner = shape[len(own) :]
        if all(n == 1 for n in own):
            operands.append(wrap(reshape(x, inner)))
            axes.append(None)
        else:
            operands.append(wrap(reshape(broadcast_to(x, batch + inner), (count, *inner))))
            axes.append(0)
    operands = [_closed(x, keys) for x, (_, keys) in zip(operands, opened, strict=True)]
    if any(axis is not None for axis in axes):
        results = vmap(function, in_axes=tuple(axes))(*operands)
        mapped = 1
    else:
        results, mapped = function(*operands), 0
    several = list(results) if isinstance(results, (tuple, list)) else [results]
    inside = [_opened(x, where) for x in several]
    if core is not None:
        shapes = [shape_of(x)[mapped:] for x, _ in inside]
        _check_core(_with_words(core[1], inside), shapes, sizes, "result", where)
    outs = []
    for x, keys in inside:
        shape = shape_of(x)[mapped:]
        spread = reshape(x, batch + shape) if mapped else broadcast_to(x, batch + shape)
        outs.append(_closed(wrap(spread), keys))
    return type(results)(outs) if isinstance(results, (tuple, list)) else outs[0]
