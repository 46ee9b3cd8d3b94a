"""What ufuncs can do beside being called: reduce, accumulate, reduceat, outer and at.

The functions of `fgrad.numpy` of two numbers have these as attributes, as in ``fnp.add.reduce``; so have
those that `frompyfunc` makes. Reductions that NumPy has functions for are those functions. Of the others, those
that are associative are computed in a number of steps that grows as the logarithm of the length.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import ArgumentError, AxisError, ConcretizationTypeError, DTypeError, ShapeError
from fgrad.numpy import cumulative, reductions, ufuncs
from fgrad.numpy._reducing import mask_of
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axes,
    normal_axis,
    operand,
    refuse_out,
    static_int,
)
from fgrad.numpy.at import IndexUpdater
from fgrad.numpy.mapping import vectorize
from fgrad.numpy.positions import refuse_inplace
from fgrad.primitives import elementwise as p
from fgrad.primitives.cumulative import Cummax, Cummin
from fgrad.primitives.families import Ufunc, broadcast_to, reshape, shape_of
from fgrad.primitives.reduction import keep_axes
from fgrad.primitives.shape import Concatenate, moveaxis, static_index, transpose
from fgrad.source_info import filter_traceback, function_name, here
from fgrad.tracing import Tracer, concrete, describe_unknown

Combine = Callable[[Any, Any], Any]


class _Fold:
    """An operation on two inside values, applied along the leading axis of one.

    ``working`` gives the dtype in which values of a type are combined; None lets the operation decide
    at each step.
    """

    __slots__ = ("associative", "combine", "identity", "name", "working")

    def __init__(
        self,
        name: str,
        combine: Combine,
        associative: bool,
        identity: Any,
        working: Callable[[Any], np.dtype[Any]] | None,
    ) -> None:
        self.name = name
        self.combine = combine
        self.associative = associative
        self.identity = identity
        self.working = working

    def converted(self, x: Any, dtype: Any, what: str) -> Any:
        wanted = given_dtype(dtype, what)
        if wanted is not None:
            return p.convert(x, wanted)
        if self.working is None:
            return p.convert(x, aval_of(x).dtype)
        aval = aval_of(x).strong()
        dtype = self.working(aval)
        if self.working(Aval((), dtype)) != dtype:
            raise DTypeError(
                f"{what} is not defined for {aval.dtype}: its results, of dtype {dtype}, are no operands for it"
            )
        if dtype == dtypes.BOOL and aval.dtype != dtype:
            return p.not_equal(x, 0)
        return p.convert(x, dtype)

    def reduced(self, x: Any) -> Any:
        """Along the leading axis, which has at least one element."""
        size = shape_of(x)[0]
        if not self.associative:
            total = static_index(x, (0,))
            for i in range(1, size):
                total = self.combine(total, static_index(x, (i,)))
            return total
        while size > 1:
            half = size // 2
            first, second = (
                static_index(x, (slice(0, half),)),
                static_index(x, (slice(half, 2 * half),)),
            )
            paired = self.combine(first, second)
            rest = static_index(x, (slice(2 * half, size),))
            x = Concatenate(0)(paired, rest) if size % 2 else paired
            size = half + size % 2
        return static_index(x, (0,))

    def accumulated(self, x: Any) -> Any:
        """All reductions of leading elements."""
        shape = shape_of(x)
        size = shape[0]
        if size < 2:
            return x
        if not self.associative:
            total = static_index(x, (slice(0, 1),))
            parts = [total]
            for i in range(1, size):
                total = self.combine(total, static_index(x, (slice(i, i + 1),)))
                parts.append(total)
            return Concatenate(0)(*parts)
        # Neighbours in pairs; what the pairs accumulate to are the results at odd places.
        half = size // 2
        evens = static_index(x, (slice(0, 2 * half, 2),))
        odd_results = self.accumulated(self.combine(evens, static_index(x, (slice(1, None, 2),))))
        before = static_index(odd_results, (slice(0, (size - 1) // 2),))
        later = self.combine(before, static_index(x, (slice(2, None, 2),)))
        even_results = Concatenate(0)(static_index(x, (slice(0, 1),)), later)
        return _interleaved(even_results, odd_results)


def _interleaved(evens: Any, odds: Any) -> Any:
    count, *rest = shape_of(odds)
    pairs = [
        reshape(static_index(part, (slice(0, count),)), (count, 1, *rest)) for part in (evens, odds)
    ]
    woven = reshape(Concatenate(1)(*pairs), (2 * count, *rest))
    if shape_of(evens)[0] == count:
        return woven
    return Concatenate(0)(woven, static_index(evens, (slice(count, None),)))


# ---- the methods ---------------------------------------------------------------------------------


def _reduce(
    fold: _Fold,
    a: ArrayLike,
    axis: int | Sequence[int] | None = 0,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    what = f"{fold.name}.reduce"
    refuse_out(out, what)
    x = fold.converted(operand(a, what, "a"), dtype, what)
    aval = aval_of(x)
    shape = aval.shape
    if not shape and axis in (0, -1):
        axis = ()
    axes = () if axis == () else normal_axes(axis, len(shape), what)
    if len(axes) > 1 and not fold.associative:
        raise AxisError(
            f"{what}: the order of elements over several axes, {axes}, counts; give one axis at a time"
        )
    start = None if initial is None else p.convert(operand(initial, what, "initial"), aval.dtype)
    if where is not None and where is not True:
        fill = fold.identity if start is None else start
        if fill is None:
            raise ArgumentError(
                f"{what}: where= may leave out all elements; give initial= too, the result then"
            )
        x = p.convert(ufuncs.chosen(mask_of(x, where, what), x, fill), aval.dtype)
    others = [axis for axis in range(len(shape)) if axis not in axes]
    kept = tuple([shape[axis] for axis in others])
    if axes:
        size = int(np.prod([shape[axis] for axis in axes]))
        rows = reshape(transpose(x, (*axes, *others)), (size, *kept))
    else:
        size, rows = 1, reshape(x, (1, *shape))
    if size:
        if start is not None:
            rows = Concatenate(0)(broadcast_to(start, (1, *kept)), rows)
        answer = fold.reduced(rows)
    else:
        neutral = fold.identity if start is None else start
        if neutral is None:
            raise ShapeError(
                f"{what}: an array of shape {shape} has no elements over axes {axes}; give initial="
            )
        answer = broadcast_to(p.convert(neutral, aval.dtype), kept)
    return wrap(keep_axes(answer, axes, shape) if keepdims else answer)  # type: ignore[no-any-return]


def _accumulate(
    fold: _Fold, a: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: None = None
) -> Array:
    what = f"{fold.name}.accumulate"
    refuse_out(out, what)
    x = fold.converted(operand(a, what, "a"), dtype, what)
    position = _line_axis(x, axis, what)
    rows = fold.accumulated(moveaxis(x, position, 0))
    return wrap(moveaxis(rows, 0, position))  # type: ignore[no-any-return]


def _line_axis(x: Any, axis: int, what: str) -> int:
    shape = shape_of(x)
    if not shape:
        raise ShapeError(f"{what}: a number has no axis to go along; give an array")
    return normal_axis(axis, len(shape), what)


def _reduceat(
    fold: _Fold,
    a: ArrayLike,
    indices: ArrayLike,
    axis: int = 0,
    dtype: DTypeLike = None,
    out: None = None,
) -> Array:
    what = f"{fold.name}.reduceat"
    refuse_out(out, what)
    x = fold.converted(operand(a, what, "a"), dtype, what)
    position = _line_axis(x, axis, what)
    places = operand(indices, what, "indices")
    known = concrete(places) if isinstance(places, Tracer) else places
    if known is None:
        raise ConcretizationTypeError(
            f"{what}: the indices must be known while tracing, but are {describe_unknown(places)} ({here()})"
        )
    starts = [static_int(i, f"{what}: an index") for i in np.atleast_1d(known)]
    rows = moveaxis(x, position, 0)
    size = shape_of(rows)[0]
    parts = []
    for start, stop in zip(starts, [*starts[1:], size], strict=True):
        if not 0 <= start < size:
            raise ArgumentError(f"{what}: index {start} is out of range for {size} elements")
        part = static_index(rows, (slice(start, max(stop, start + 1)),))
        reduced = fold.reduced(part)
        parts.append(reshape(reduced, (1, *shape_of(reduced))))
    if not parts:
        return wrap(moveaxis(static_index(rows, (slice(0, 0),)), 0, position))  # type: ignore[no-any-return]
    return wrap(moveaxis(Concatenate(0)(*parts), 0, position))  # type: ignore[no-any-return]


def _outer(fold: _Fold, A: ArrayLike, B: ArrayLike, /) -> Array:
    what = f"{fold.name}.outer"
    left, right = operand(A, what), operand(B, what)
    spread = (*shape_of(left), *(1,) * len(shape_of(right)))
    return wrap(fold.combine(reshape(left, spread), right))  # type: ignore[no-any-return]


#: Ufuncs that ``x.at[...]`` has a method for, which combines all values of an index that repeats.
_UPDATES = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "divide",
    "true_divide": "divide",
    "power": "power",
    "maximum": "max",
    "minimum": "min",
}


def _at(
    fold: _Fold, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True
) -> Array:
    what = f"{fold.name}.at"
    refuse_inplace(inplace, what)
    if b is None:
        raise ArgumentError(f"{what}: the second operand, b, is missing")
    part = IndexUpdater(wrap(operand(a, what, "a")))[indices]
    if fold.name in _UPDATES:
        result: Array = getattr(part, _UPDATES[fold.name])(b)
        return result
    return part.combined(fold.combine, b, what)


def _at_of_one(
    name: str,
    function: Callable[[Any], Any],
    a: ArrayLike,
    indices: Any,
    /,
    *,
    inplace: bool = True,
) -> Array:
    refuse_inplace(inplace, f"{name}.at")
    return IndexUpdater(wrap(operand(a, f"{name}.at", "a")))[indices].apply(function)


_SUMMARIES = {
    "reduce": "Combine all elements along an axis.",
    "accumulate": "Combine the elements along an axis, and keep what came about at each of them.",
    "reduceat": "Combine the elements along an axis from each index to the next.",
    "outer": "Combine each element of one array with each of another.",
    "at": "Combine values into the elements at an index, in a new array; ``inplace`` must be False.",
}
_METHODS: dict[str, Callable[..., Array]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "outer": _outer,
    "at": _at,
}


class _Method:
    """A method of a ufunc. Its errors show the user's frames only.

    There are hundreds: what costs time is made when somebody asks.
    """

    __slots__ = ("function", "method", "owner")

    def __init__(self, owner: str, method: str, function: Callable[..., Array]) -> None:
        self.owner = owner
        self.method = method
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        __tracebackhide__ = True
        try:
            return self.function(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    @property
    def __name__(self) -> str:
        return f"{self.owner}.{self.method}"

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return (
            f"{_SUMMARIES[self.method]} The arguments are those of ``np.ufunc.{self.method}``; it is "
            f"differentiable where ``{self.owner}`` is."
        )

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __repr__(self) -> str:
        return f"<function fgrad.numpy.{self.__name__}>"


def _methods_of(fold: _Fold) -> dict[str, Any]:
    return {
        method: _Method(fold.name, method, functools.partial(function, fold))
        for method, function in _METHODS.items()
    }


# ---- the functions of NumPy ----------------------------------------------------------------------

_ASSOCIATIVE = frozenset(
    "add multiply maximum minimum fmax fmin logaddexp logaddexp2 logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor gcd lcm hypot".split()
)
#: Ufuncs whose results are no operands for them.
_ORDERS = frozenset("equal not_equal less less_equal greater greater_equal".split())


def _named_reduction(
    name: str, function: Callable[..., Array], takes_dtype: bool
) -> Callable[..., Array]:
    """A reduction that goes along the first axis where the function takes all of them."""

    def reduce(
        a: ArrayLike,
        axis: int | Sequence[int] | None = 0,
        dtype: DTypeLike = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        x = operand(a, f"{name}.reduce", "a")
        if axis in (0, -1) and not shape_of(x):
            axis = None
        keywords: dict[str, Any] = {"keepdims": keepdims, "where": where}
        if takes_dtype:
            keywords["dtype"] = dtype
        elif dtype is not None:
            x = p.convert(x, given_dtype(dtype, f"{name}.reduce") or aval_of(x).dtype)
        if initial is not None:
            keywords["initial"] = initial
        return function(wrap(x), axis, out=out, **keywords)

    return reduce


def _named_accumulation(function: Callable[..., Array]) -> Callable[..., Array]:
    def accumulate(a: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: None = None) -> Array:
        return function(a, axis, dtype, out)

    return accumulate


def _running(name: str, primitive: Callable[[int], Any]) -> Callable[..., Array]:
    def running(a: ArrayLike, axis: int, dtype: DTypeLike, out: None) -> Array:
        what = f"{name}.accumulate"
        refuse_out(out, what)
        x = operand(a, what, "a")
        x = p.convert(x, given_dtype(dtype, what) or aval_of(x).dtype)
        return wrap(primitive(_line_axis(x, axis, what))(x))  # type: ignore[no-any-return]

    return running


_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "add": _named_reduction("add", reductions.sum, True),
    "multiply": _named_reduction("multiply", reductions.prod, True),
    "maximum": _named_reduction("maximum", reductions.max, False),
    "minimum": _named_reduction("minimum", reductions.min, False),
}
_ACCUMULATIONS: dict[str, Callable[..., Array]] = {
    "add": _named_accumulation(cumulative.cumsum),
    "multiply": _named_accumulation(cumulative.cumprod),
    "maximum": _named_accumulation(_running("maximum", Cummax)),
    "minimum": _named_accumulation(_running("minimum", Cummin)),
}


def _attach(name: str) -> None:
    """Give a function of `fgrad.numpy` the attributes of the ufunc of this name."""
    theirs, ours = getattr(np, name), getattr(ufuncs, name)
    ours.nin, ours.nout, ours.nargs = theirs.nin, theirs.nout, theirs.nin + theirs.nout
    ours.identity = theirs.identity
    if theirs.nout != 1:
        return
    if theirs.nin == 1:
        ours.at = _Method(name, "at", functools.partial(_at_of_one, name, ours))
        return
    primitive: Ufunc | None = getattr(ours, "primitive", None)
    if primitive is None:
        return
    fold = _Fold(
        name,
        ufuncs.raised if name == "power" else primitive,
        name in _ASSOCIATIVE,
        theirs.identity,
        lambda aval: primitive.result_dtype([aval, aval]),
    )
    methods = _methods_of(fold)
    if name in _REDUCTIONS:
        methods["reduce"] = _Method(name, "reduce", _REDUCTIONS[name])
        methods["accumulate"] = _Method(name, "accumulate", _ACCUMULATIONS[name])
    for method, function in methods.items():
        if name not in _ORDERS or method == "outer":
            setattr(ours, method, function)


for _name, _function in list(vars(ufuncs).items()):
    # Of several names for one function, the one that it has itself counts.
    if isinstance(getattr(np, _name, None), np.ufunc) and _function.__name__ == _name:
        _attach(_name)


# ---- functions of users --------------------------------------------------------------------------


class _UfuncMeta(type):
    # The functions of fgrad.numpy have the attributes of ufuncs without being made by frompyfunc.
    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            callable(instance) and hasattr(instance, "nin") and hasattr(instance, "nout")
        )


class ufunc(metaclass=_UfuncMeta):
    """A function of numbers that applies to arrays elementwise, as `frompyfunc` makes it.

    Attributes
    ----------
    nin, nout, nargs : int
        How many operands it takes, how many results it gives, and both.
    identity : number or None
        What leaves any operand as it is.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> logsum = fnp.frompyfunc(lambda x, y: fnp.log(fnp.exp(x) + fnp.exp(y)), 2, 1)
    >>> isinstance(logsum, fnp.ufunc), logsum.nargs
    (True, 3)
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        identity: Any = None,
    ) -> None:
        self.nin = static_int(nin, "frompyfunc: nin")
        self.nout = static_int(nout, "frompyfunc: nout")
        self.nargs = self.nin + self.nout
        self.identity = identity
        self._vectorized = vectorize(func)
        self.__name__ = name or function_name(func)
        self.__doc__ = getattr(func, "__doc__", None)
        if (self.nin, self.nout) == (2, 1):
            combine = self._combined
            for method, function in _methods_of(
                _Fold(self.__name__, combine, False, identity, None)
            ).items():
                setattr(self, method, function)

    def _combined(self, x: Any, y: Any) -> Any:
        return operand(self(wrap(x), wrap(y)), self.__name__)

    def __call__(self, *args: ArrayLike) -> Any:
        """Apply to arrays, which broadcast."""
        if len(args) != self.nin:
            raise ArgumentError(f"{self.__name__} takes {self.nin} operands, got {len(args)}")
        results = self._vectorized(*args)
        count = len(results) if isinstance(results, tuple) else 1
        if count != self.nout:
            raise ArgumentError(
                f"{self.__name__} was declared with {self.nout} results, gave {count}"
            )
        return results

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            raise ArgumentError(
                f"{self.__name__}.{name} needs a function of two operands with one result, and it has {self.nin} "
                f"and {self.nout}"
            )
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Make a function of numbers apply to arrays elementwise, with the methods of ufuncs.

    Parameters
    ----------
    func : callable
        Of `nin` numbers; it returns one, or a tuple of `nout`. It is called with traced arrays.
    nin, nout : int
    identity : number, optional
        The result of reducing no elements.

    Returns
    -------
    ufunc
        Differentiable as the function is. For two operands and one result, it has ``reduce``, ``accumulate``,
        ``reduceat``, ``outer`` and ``at``, which combine from the left.

    Raises
    ------
    ArgumentError
        If `func` is not callable, or the counts are not integers.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> mean = fnp.frompyfunc(lambda x, y: (x + y) / 2, 2, 1)
    >>> mean.accumulate(fnp.array([4.0, 2.0, 1.0]))
    Array([4., 3., 2.], dtype=float64)
    """
    if not callable(func):
        raise ArgumentError(
            f"frompyfunc takes a function, got {func!r} of type {type(func).__name__}"
        )
    return ufunc(func, nin, nout, identity=identity)
