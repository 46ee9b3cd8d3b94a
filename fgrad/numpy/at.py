"""Updates without assignment: ``x.at[index].set(values)`` and its kin."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fgrad.array import value, wrap
from fgrad.avals import Aval, Shape, aval_of, broadcast_shapes
from fgrad.dtypes import is_inexact, kind_of
from fgrad.errors import (
    ArgumentError,
    IndexOutOfRangeError,
    InPlaceError,
    NonConcreteBooleanIndexError,
)
from fgrad.missing_names import nearest
from fgrad.numpy._support import Array, ArrayLike, operand, stretched
from fgrad.numpy.index_expressions import gathered, parse, static_part
from fgrad.primitives.elementwise import convert, div, less, maximum, minimum, power, select
from fgrad.primitives.families import Full, add, mul, neg, reshape, shape_of
from fgrad.primitives.index_kernels import MODES, distinct_rounds
from fgrad.primitives.indexing import StaticUpdate, selected_shape
from fgrad.primitives.scatter import (
    ScatterAdd,
    ScatterMax,
    ScatterMin,
    ScatterMultiply,
    ScatterSet,
)
from fgrad.primitives.shape import index_shape
from fgrad.source_info import boundary, here, result_is_dropped, warn
from fgrad.tracing import Tracer, concrete, describe_unknown

_SCATTERS: dict[str, Any] = {
    "set": ScatterSet,
    "add": ScatterAdd,
    "multiply": ScatterMultiply,
    "min": ScatterMin,
    "max": ScatterMax,
}
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda x, v: v,
    "add": add,
    "multiply": mul,
    "min": minimum,
    "max": maximum,
    "divide": div,
    "power": power,
}


def index_mode(mode: Any, what: str, default: str) -> Any:
    """A mode as the primitives spell it; "drop" and JAX's enumeration are other spellings."""
    if mode is None:
        return default
    name = str(getattr(mode, "name", mode)).lower()
    name = {"drop": "fill", "fill_or_drop": "fill"}.get(name, name)
    if name not in MODES:
        raise ArgumentError(
            f"{what}: mode={mode!r} is not a mode; use 'promise_in_bounds', 'clip', 'wrap', 'fill', 'drop' or "
            "'raise'"
        )
    return name


def fill_constant(fill_value: Any, dtype: np.dtype[Any], what: str) -> Any:
    """A fill value as a Python number; None stands for the default of the dtype."""
    if fill_value is None:
        return None
    known = concrete(fill_value) if isinstance(fill_value, Tracer) else fill_value
    if known is None or np.ndim(known):
        raise ArgumentError(
            f"{what}: fill_value must be a number known while tracing, got {fill_value!r}"
        )
    constant = np.asarray(known).astype(dtype).item()
    # NaN is no equal of itself; as the default it has one form.
    return None if constant != constant else constant


class IndexUpdater:
    """What ``x.at`` is: indexing it gives an `IndexRef` to that part of x."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexRef:
        return IndexRef(self.array, index)

    if not TYPE_CHECKING:  # type checkers refuse both, as they are to

        @boundary
        def __setitem__(self, index: Any, values: Any) -> None:
            raise InPlaceError(
                f"arrays do not change in place: x.at[i] = v has no meaning ({here()}); write x = x.at[i].set(v)"
            )

        @boundary
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Refuse: an index is given in brackets."""
            raise ArgumentError(
                f"x.at takes an index in brackets ({here()}); write x = x.at[i].set(v), or x.at[i].get()"
            )

    def __repr__(self) -> str:
        return f"IndexUpdater({self.array!r})"


class IndexRef:
    """A part of an array, as ``x.at[index]`` gives it, to read or to make a changed array of.

    No method changes x; a statement that throws the changed array away warns. Every method takes these
    keywords:

    mode : {"promise_in_bounds", "clip", "wrap", "fill", "drop", "raise"}, optional
        What happens to an index out of range, once negative ones have been counted from the end. By
        default updates are dropped, and `get` takes the nearest element.
    unique_indices : bool
        A promise that no element is given twice, which makes derivatives of `set` cheaper.
    indices_are_sorted : bool
        Accepted; of no effect.
    wrap_negative_indices : bool
        False takes negative indices to be out of range.

    Values are broadcast to the part and take the dtype of x. Where an index repeats, `set` keeps
    the last value, and the other methods combine all of them.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> x = fnp.zeros(3)
    >>> x.at[fnp.array([0, 0, 2])].add(1.0)
    Array([2., 0., 1.], dtype=float64)
    >>> x.at[7].set(1.0)
    Array([0., 0., 0.], dtype=float64)
    >>> fgrad.grad(lambda v: x.at[1].set(v * v).sum())(3.0)
    Array(6., dtype=float64, weak_type=True)
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    if not TYPE_CHECKING:  # type checkers know the methods

        @boundary
        def __getattr__(self, name: str) -> Any:
            # Reached only for names that are not there.
            if name.startswith("_"):
                raise AttributeError(f"x.at[i] has no attribute {name!r}")
            near = nearest(name, _METHODS)
            hint = f"did you mean x.at[i].{near}?" if near else "write x = x.at[i].set(v)"
            raise AttributeError(f"x.at[i] has no method {name!r} ({here()}); {hint}")

    def __repr__(self) -> str:
        return f"IndexRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The part itself. In mode "fill", elements that do not exist are `fill_value`.

        The default fill value is NaN, the least signed integer, the greatest unsigned one, or True.
        Differentiable in both modes.
        """
        what = "x.at[...].get"
        x = value(self.array)
        chosen = index_mode(mode, what, "clip")
        fill = fill_constant(fill_value, aval_of(x).dtype, what) if chosen == "fill" else None
        part = _Part(x, self.index, what, chosen, wrap_negative_indices)
        return wrap(part.read(fill))  # type: ignore[no-any-return]

    def set(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with `values` in this part. Differentiable in both modes."""
        return self._updated("set", values, mode, unique_indices, wrap_negative_indices)

    def add(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with `values` added to this part. Differentiable in both modes."""
        return self._updated("add", values, mode, unique_indices, wrap_negative_indices)

    def subtract(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with `values` subtracted from this part. Differentiable in both modes."""
        negative = neg(operand(values, "x.at[...].subtract", "values"))
        return self._updated(
            "add", negative, mode, unique_indices, wrap_negative_indices, "subtract"
        )

    def multiply(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with this part multiplied by `values`. Differentiable, at zeros too."""
        return self._updated("multiply", values, mode, unique_indices, wrap_negative_indices)

    mul = multiply

    def divide(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with this part divided by `values`; integers become floats, as by ``/``.

        Differentiable in both modes.
        """
        return self._updated("divide", values, mode, unique_indices, wrap_negative_indices)

    def power(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with this part raised to the power `values`. Differentiable in both modes."""
        return self._updated("power", values, mode, unique_indices, wrap_negative_indices)

    def min(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with the least of this part and `values` there. Ties split evenly."""
        return self._updated("min", values, mode, unique_indices, wrap_negative_indices)

    def max(
        self,
        values: ArrayLike,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with the greatest of this part and `values` there. Ties split evenly."""
        return self._updated("max", values, mode, unique_indices, wrap_negative_indices)

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The array with this part replaced by ``func(part)``, for a function of single elements.

        Where an index repeats, the function is applied as often. Differentiable as `func` is.

        Raises
        ------
        ArgumentError
            If it is unknown while tracing whether an index repeats, and `unique_indices` is false.
        """
        result = self._applied(func, mode, unique_indices, wrap_negative_indices)
        _warn_if_dropped("apply")
        return result

    def _applied(
        self, func: Callable[[Any], Any], mode: Any, unique: bool, wrap_negative: bool
    ) -> Array:
        what = "x.at[...].apply"
        x = value(self.array)
        own = aval_of(x)

        def applied(part: Any) -> Any:
            result = operand(func(wrap(part)), what, "the result of the function")
            return stretched(cast(result, own.dtype, what), shape_of(part), what)

        mask = _whole_mask(self.index, own.shape)
        if mask is not None:
            return wrap(select(_lined_up(mask, own.shape), applied(x), x))  # type: ignore[no-any-return]
        part = _Part(x, self.index, what, index_mode(mode, what, "fill"), wrap_negative)
        if unique or part.selection.distinct:
            return wrap(part.written("set", applied(part.read(0)), unique=True))  # type: ignore[no-any-return]
        for indices in part.rounds(what):
            part.selection = replace(part.selection, indices=indices)
            part = part.of(part.written("set", applied(part.read(0)), unique=True))
        return wrap(part.x)  # type: ignore[no-any-return]

    def combined(self, combine: Callable[[Any, Any], Any], values: ArrayLike, what: str) -> Array:
        """The array with this part combined with `values`, by a function of two inside values.

        Raises
        ------
        ArgumentError
            If an index repeats, or is unknown while tracing.
        """
        x = value(self.array)
        own = aval_of(x)
        other = operand(values, what, "the values")
        mask = _whole_mask(self.index, own.shape)
        if mask is not None and not shape_of(other):
            changed = cast(combine(x, other), own.dtype, what)
            return wrap(select(_lined_up(mask, own.shape), changed, x))  # type: ignore[no-any-return]
        part = _Part(x, self.index, what, index_mode(None, what, "fill"), True)
        if not part.selection.distinct and len(part.rounds(what)) > 1:
            raise ArgumentError(
                f"{what}: an index repeats ({here()}); combine the values of each index first"
            )
        changed = cast(combine(part.read(0), other), own.dtype, what)
        return wrap(part.written("set", stretched(changed, part.shape, what), unique=True))  # type: ignore[no-any-return]

    def _updated(
        self,
        kind: str,
        values: ArrayLike,
        mode: Any,
        unique: bool,
        wrap_negative: bool,
        method: str | None = None,
    ) -> Array:
        what = f"x.at[...].{method or kind}"
        result = self._changed(kind, values, mode, unique, wrap_negative, what)
        _warn_if_dropped(method or kind)
        return result

    def _changed(
        self, kind: str, values: ArrayLike, mode: Any, unique: bool, wrap_negative: bool, what: str
    ) -> Array:
        x = value(self.array)
        own = aval_of(x)
        values = cast(operand(values, what, "values"), own.dtype, what)
        mask = _whole_mask(self.index, own.shape)
        if mask is not None:
            same = _same_for_all(values, len(own.shape) - len(shape_of(mask)))
            if same is not None:
                combined = _COMBINE[kind](x, stretched(same, own.shape, what))
                return wrap(_like(select(_lined_up(mask, own.shape), combined, x), own, kind))  # type: ignore[no-any-return]
            if isinstance(mask, Tracer) and concrete(mask) is None:
                raise NonConcreteBooleanIndexError(
                    f"{what}: the mask is unknown while tracing, so that values of shape "
                    f"{shape_of(values)}, one for each true element, cannot be placed: "
                    f"{describe_unknown(mask)} ({here()}); give one value for all, or use fnp.where"
                )
        part = _Part(x, self.index, what, index_mode(mode, what, "fill"), wrap_negative)
        values = stretched(values, part.shape, what)
        unique = unique or part.selection.distinct
        if kind not in ("divide", "power"):
            return wrap(part.written(kind, values, unique))  # type: ignore[no-any-return]
        if unique and is_inexact(own.dtype):
            return wrap(part.written("set", _COMBINE[kind](part.read(1), values), unique))  # type: ignore[no-any-return]
        ones = Full(own.shape, 1, own.dtype)()
        return wrap(_COMBINE[kind](x, part.of(ones).written("multiply", values, unique)))  # type: ignore[no-any-return]


_METHODS = [
    name for name in vars(IndexRef) if name[0] != "_" and name not in ("array", "index", "combined")
]
_UPDATES = frozenset(_METHODS) - {"get"}


def _warn_if_dropped(method: str) -> None:
    if result_is_dropped(_UPDATES):
        warn(
            f"x.at[...].{method}(...) as a statement has no effect, since arrays do not change in place "
            f"({here()}); write x = x.at[...].{method}(...)"
        )


class _Part:
    """The part of an array that an index selects, to read and to write."""

    def __init__(self, x: Any, index: Any, what: str, mode: Any, wrap_negative: bool) -> None:
        shape = shape_of(x)
        self.x = x
        self.mode = mode
        self.selection = parse(index, shape, mode == "raise", fold=True, wrap=wrap_negative)
        if not wrap_negative:
            self._refuse_negatives()
        selected = index_shape(self.selection.static, shape)
        index_shapes = [shape_of(i) for i in self.selection.indices]
        self.shape: Shape = selected
        if index_shapes:
            axes, place = self.selection.axes, self.selection.place
            broadcast = broadcast_shapes(what, *index_shapes)
            self.shape = selected_shape(selected, axes, broadcast, place)
            if mode in ("clip", "wrap") and 0 not in broadcast:
                if any([selected[axis] == 0 for axis in axes]):
                    raise IndexOutOfRangeError(
                        f"{what}: an axis without elements is indexed, in an array of shape {shape}; "
                        f"mode={mode!r} finds none there ({here()})"
                    )

    def of(self, x: Any) -> _Part:
        """The same part of another array of this shape."""
        part = copy.copy(self)
        part.x = x
        return part

    def read(self, fill: Any = None) -> Any:
        return gathered(self.x, self.selection, self.mode, fill if self.mode == "fill" else None)

    def written(self, kind: str, values: Any, unique: bool) -> Any:
        """The whole array, with values combined into the part."""
        x, selection = self.x, self.selection
        own = aval_of(x)
        base = static_part(x, selection) if selection.axes or selection.keeps_all else None
        if selection.axes:
            scatter = _SCATTERS[kind](selection.axes, self.mode, selection.place, unique)
            changed = scatter(base, values, *selection.indices)
        elif selection.keeps_all:
            changed = _COMBINE[kind](base, values)
        elif kind in ("set", "add"):
            return StaticUpdate(selection.static, kind)(x, values)  # type: ignore[arg-type]
        else:
            changed = _COMBINE[kind](self.read(), values)
        if selection.keeps_all:
            return _like(reshape(changed, own.shape), own, kind)
        return StaticUpdate(selection.static, "set")(x, changed)

    def _refuse_negatives(self) -> None:
        """Take negative indices for ones beyond the end; in mode "clip", for the first."""
        selection = self.selection
        sizes = index_shape(selection.static, aval_of(self.x).shape)
        checked = []
        for index, axis in zip(selection.indices, selection.axes, strict=True):
            beyond = 0 if self.mode == "clip" else sizes[axis]
            checked.append(select(less(index, 0), beyond, index))
        self.selection = replace(selection, indices=checked)

    def rounds(self, what: str) -> list[list[Any]]:
        """Index arrays without repetitions that together select all that this index does."""
        selection = self.selection
        known = [concrete(i) if isinstance(i, Tracer) else i for i in selection.indices]
        if any([i is None for i in known]):
            raise ArgumentError(
                f"{what}: the indices are unknown while tracing, so that it is unknown how often the function "
                f"applies to an element ({here()}); pass unique_indices=True if none repeats"
            )
        sizes = index_shape(selection.static, aval_of(self.x).shape)
        return distinct_rounds(known, selection.axes, sizes, self.mode)


def cast(values: Any, dtype: np.dtype[Any], what: str) -> Any:
    """Values in the dtype of what they go into, with a warning where that loses a part."""
    own = aval_of(values)
    if own.dtype == dtype and not own.weak:
        return values
    known_kind = own.weak and own.dtype.kind == "i" and kind_of(dtype) in "iu"
    if not known_kind and not np.can_cast(own.dtype, dtype, "same_kind"):
        warn(
            f"{what}: values of dtype {own.dtype} are cast to {dtype}, the dtype of x, which loses a part of "
            f"them ({here()}); convert x or the values first",
            FutureWarning,
        )
    return convert(values, dtype)


def _like(x: Any, own: Aval, kind: str) -> Any:
    """A result in the type of the array that it comes from; quotients of integers excepted."""
    if kind in ("divide", "power") and not is_inexact(own.dtype):
        return x
    return convert(x, own.dtype, own.weak)


def _lined_up(mask: Any, shape: Shape) -> Any:
    """A mask of leading axes with axes of size one for the others."""
    own = shape_of(mask)
    return reshape(mask, (*own, *(1,) * (len(shape) - len(own))))


def _whole_mask(index: Any, shape: Shape) -> Any:
    """The mask, known or not, if an index expression is one; else None."""
    items = list(index) if isinstance(index, tuple) else [index]
    while len(items) > 1 and (items[-1] is Ellipsis or _is_whole(items[-1])):
        items.pop()
    if len(items) != 1 or not isinstance(items[0], (np.ndarray, Tracer)):
        return None
    mask = value(items[0])
    own = aval_of(mask)
    if own.dtype.kind != "b" or own.shape != shape[: len(own.shape)]:
        return None
    return mask


def _same_for_all(values: Any, rank: int) -> Any:
    """Values that are the same for each element of `rank` axes; None if they are not."""
    shape = shape_of(values)
    extra = max(len(shape) - rank, 0)
    return reshape(values, shape[extra:]) if shape[:extra] == (1,) * extra else None


def _is_whole(item: Any) -> bool:
    return isinstance(item, slice) and (item.start, item.stop, item.step) == (None, None, None)
