"""What the functions of `fgrad.numpy` share: arguments in, axes, refusals."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, frozen, plain, value, wrap
from fgrad.avals import Aval, Shape, aval_of, broadcast_shapes, weak_aval
from fgrad.errors import (
    ArgumentError,
    AxisError,
    InPlaceError,
    ShapeError,
    TracerIntegerConversionError,
    UnsupportedArrayError,
)
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import broadcast_to, reshape, shape_of
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import Concatenate
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown, make_known

#: Anything that `fgrad.numpy` takes as an array: arrays, numbers, tracers, and nested lists of them.
ArrayLike: TypeAlias = Any
DTypeLike: TypeAlias = Any

_PYTHON = (float, int, bool, complex)
# By the number of axes, of which NumPy allows 64.
_ALL_AXES = tuple([tuple(range(ndim)) for ndim in range(65)])

__all__ = ["Array", "ArrayLike", "DTypeLike", "operand", "shape_of", "wrap"]


def operand(x: Any, name: str, argument: str = "an argument") -> Any:
    """An argument of the function `name` as an inside value; lists are taken as NumPy takes them."""
    kind = type(x)
    if kind is Array:
        try:
            return x._value
        except AttributeError:
            return plain(x)
    if kind is float or kind is int:
        return x
    if kind is np.ndarray:
        try:
            return value(x)
        except UnsupportedArrayError:
            # The text of a message is made when there is one.
            return value(x, f"{name}: {argument}")
    if kind is list or kind is tuple:
        return nested(x, f"{name}: {argument}")
    return value(x, f"{name}: {argument}")


def operands(name: str, *xs: Any) -> list[Any]:
    return [operand(x, name) for x in xs]


def strong(x: Any) -> Any:
    """An inside value whose dtype counts: weak ones take the default dtype of their kind."""
    aval = aval_of(x)
    return convert(x, aval.dtype) if aval.weak else x


def _leaf_avals(x: Sequence[Any], what: str, found: set[Aval]) -> None:
    """The types of the numbers and arrays in a nested list."""
    kinds = set(map(type, x))
    if kinds.issubset(_PYTHON):
        found.update(map(weak_aval, kinds))
        return
    for item in x:
        if isinstance(item, (list, tuple)):
            _leaf_avals(item, what, found)
        else:
            found.add(aval_of(value(item, what)))


def nested(x: Sequence[Any], what: str) -> Any:
    """A nested list as an inside value, in which Python numbers take the dtype of the arrays."""
    if set(map(type, x)).issubset(_PYTHON):
        return _joined(x, what)
    found: set[Aval] = set()
    _leaf_avals(x, what, found)
    inside = _joined(x, what)
    if found and not all(aval.weak for aval in found):
        return convert(inside, common_dtype(found))
    return inside


def _joined(x: Any, what: str) -> Any:
    """A nested list of numbers and arrays as one array, traced if any item is."""
    if not _has_tracer(x):
        try:
            # The list is nobody else's array.
            array = frozen(np.array(x))
        except ValueError as error:
            raise ShapeError(f"{what}: the nested list does not form an array ({error})") from None
        return value(array, what)
    items = [
        _joined(item, what) if isinstance(item, (list, tuple)) else value(item, what) for item in x
    ]
    return stacked(items, 0, what)


def _has_tracer(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(_has_tracer(item) for item in x)
    return isinstance(x, Tracer)


def stacked(items: Sequence[Any], axis: int, what: str) -> Any:
    """Inside values of one shape along a new axis."""
    if not items:
        raise ArgumentError(f"{what}: need at least one array")
    shapes = [aval_of(item).shape for item in items]
    for shape in shapes:
        if shape != shapes[0]:
            raise ShapeError(f"{what}: all arrays must have one shape, got {shapes[0]} and {shape}")
    expanded = (*shapes[0][:axis], 1, *shapes[0][axis:])
    return Concatenate(axis)(*[reshape(item, expanded) for item in items])


def normal_axis(axis: Any, ndim: int, name: str) -> int:
    """A non-negative axis."""
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    position = static_int(axis, f"{name}: axis")
    if not -ndim <= position < ndim:
        has = (
            f"{ndim} axes; give one from {-ndim} to {ndim - 1}"
            if ndim > 1
            else "one axis; give 0 or -1"
        )
        raise AxisError(
            f"{name}: axis {position} is out of range for an array with {has if ndim else 'no axes'}"
        )
    return position % ndim


def normal_axes(axis: Any, ndim: int, name: str) -> tuple[int, ...]:
    """Non-negative axes, in order; None means all of them."""
    if axis is None:
        return _ALL_AXES[ndim]
    if isinstance(axis, (tuple, list)):
        axes = tuple(normal_axis(a, ndim, name) for a in axis)
        if len(set(axes)) != len(axes):
            raise AxisError(f"{name}: axis={axis} names an axis twice")
        return tuple(sorted(axes))
    return (normal_axis(axis, ndim, name),)


def static_int(x: Any, what: str) -> int:
    """An integer that is known while tracing."""
    if type(x) is int:
        return x
    if isinstance(x, Tracer) and concrete(x) is None:
        raise TracerIntegerConversionError(
            f"{what} must be known while tracing, but is {describe_unknown(x)}; {make_known(x)}, or compute it "
            f"with NumPy outside ({here()})"
        )
    try:
        return operator.index(x)
    except TypeError:
        raise ArgumentError(f"{what} is {x!r}; give an integer") from None


def static_shape(shape: Any, what: str) -> Shape:
    """A shape given as an integer or a sequence of them."""
    if type(shape) is int and shape >= 0:
        return (shape,)
    if type(shape) is tuple:
        for n in shape:
            if type(n) is not int or n < 0:
                break
        else:
            return shape
    if isinstance(shape, (tuple, list)):
        sizes = tuple(
            [n if type(n) is int else static_int(n, f"{what}: a size in shape") for n in shape]
        )
    elif isinstance(shape, np.ndarray) and shape.ndim == 1:
        sizes = tuple(int(n) for n in shape)
    else:
        sizes = (static_int(shape, f"{what}: shape"),)
    if min(sizes, default=0) < 0:
        raise ShapeError(f"{what}: shape {sizes} has a negative size")
    return sizes


def fit(name: str, *xs: Any) -> Shape:
    """The common shape of inside values, with the user's function named if there is none."""
    return broadcast_shapes(name, *[aval_of(x).shape for x in xs])


def refuse_out(out: Any, name: str) -> None:
    """Functions return new arrays; only NumPy's own functions write into a given one."""
    if out is not None:
        raise InPlaceError(
            f"{name}: out= is not supported, since arrays do not change; use the result instead"
        )


def dtype_of(x: Any) -> np.dtype[Any]:
    return aval_of(x).dtype if type(x) in _PYTHON else x.dtype


def stretched(x: Any, shape: Shape, name: str) -> Any:
    """`x` broadcast to a shape, with the user's function named if that fails."""
    own = shape_of(x)
    extra = len(shape) - len(own)
    if extra < 0 or not all([n == m or n == 1 for n, m in zip(own, shape[extra:], strict=True)]):
        raise ShapeError(
            f"{name}: an array of shape {own} cannot be broadcast to shape {tuple(shape)}"
        )
    return broadcast_to(x, tuple(shape))


def given_dtype(dtype: Any, name: str) -> np.dtype[Any] | None:
    return None if dtype is None else dtypes.as_dtype(dtype, f"{name}: dtype")
