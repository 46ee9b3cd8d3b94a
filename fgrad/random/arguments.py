"""What the samplers share: dtypes, shapes and parameters as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Shape, aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import DTypeLike, given_dtype, operand, static_shape
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import broadcast_to
from fgrad.tracing import concrete


def dtype_of_kind(
    dtype: DTypeLike, name: str, kinds: str, default: Any, words: str
) -> np.dtype[Any]:
    """The dtype asked for, which must be of one of the kinds."""
    wanted = given_dtype(dtype, name)
    if wanted is None:
        return dtypes.canonical(np.dtype(default))
    if kind_of(wanted) not in kinds:
        raise DTypeError(f"{name}: dtype must be {words}, got {wanted}")
    return wanted


def kind_of(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for a kind of dtype; bfloat16 counts as a floating-point one."""
    return "f" if dtype.name == "bfloat16" else dtype.kind


def float_dtype(dtype: DTypeLike, name: str) -> np.dtype[Any]:
    """The dtype of real draws: float64 by default."""
    return dtype_of_kind(dtype, name, "f", np.float64, "a floating-point dtype")


def int_dtype(dtype: DTypeLike, name: str) -> np.dtype[Any]:
    """The dtype of counts: int64 by default."""
    return dtype_of_kind(dtype, name, "iu", np.int64, "an integer dtype")


def shape_of_draw(shape: Any, name: str) -> Shape:
    """The shape asked for."""
    if shape is None:
        raise ShapeError(f"{name}: shape is None; give () for a single number")
    return static_shape(shape, name)


def parameters(
    name: str, shape: Any, dtype: np.dtype[Any], **given: Any
) -> tuple[Shape, list[Any]]:
    """The shape of a draw and its parameters in its dtype.

    Without a shape, the parameters broadcast together; with one, each must broadcast to it.
    """
    inside = []
    for argument, x in given.items():
        own = operand(x, name, argument)
        if aval_of(own).dtype.kind == "c":
            raise DTypeError(f"{name}: {argument} must be real, got {aval_of(own).dtype}")
        inside.append(convert(own, dtype))
    shapes = [aval_of(x).shape for x in inside]
    if shape is None:
        try:
            return np.broadcast_shapes(*shapes), inside
        except ValueError:
            listed = ", ".join(
                f"{argument} of shape {s}" for argument, s in zip(given, shapes, strict=True)
            )
            raise ShapeError(
                f"{name}: the parameters do not broadcast together: {listed}"
            ) from None
    wanted = shape_of_draw(shape, name)
    for argument, own_shape in zip(given, shapes, strict=True):
        check_fits(name, argument, own_shape, wanted)
    return wanted, inside


def check_fits(name: str, argument: str, own: Shape, shape: Shape) -> None:
    """Refuse a parameter that does not broadcast to the shape of the draw."""
    try:
        fits = np.broadcast_shapes(own, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{name}: {argument} of shape {own} does not broadcast to shape={shape}; give a shape that ends in "
            f"{own}, such as shape=(n, {', '.join(map(str, own))})"
        )


def stretched(x: Any, shape: Shape) -> Any:
    """A parameter, in the shape of the draw."""
    return broadcast_to(x, shape)


def refuse_below(name: str, argument: str, x: Any, least: float, *, strict: bool = False) -> None:
    """Refuse a parameter whose known values are below the least that makes sense."""
    known = concrete(x)
    if known is None:
        return
    if np.any(known <= least if strict else known < least):
        relation = "greater than" if strict else "at least"
        raise ArgumentError(
            f"{name}: {argument} must be {relation} {least:g}, got {float(np.min(known)):g}"
        )
