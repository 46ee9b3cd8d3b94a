"""Matrices as users give them."""

from __future__ import annotations

from typing import Any

from fgrad.dtypes import PYTHON_DTYPES
from fgrad.errors import ArgumentError, ConcretizationTypeError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, operand
from fgrad.primitives.elementwise import cast_to_float
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown, make_known


def matrix(x: ArrayLike, name: str, argument: str = "a") -> Any:
    """An argument as matrices of floats."""
    inside = operand(x, name, argument)
    shape = () if type(inside) in PYTHON_DTYPES else inside.shape
    if len(shape) < 2:
        raise ShapeError(
            f"{name}: {argument} has shape {shape}; give a matrix, or matrices in the last two axes"
        )
    return floats(inside, name, argument)


def square_matrix(x: ArrayLike, name: str, argument: str = "a") -> Any:
    """An argument as square matrices of floats."""
    inside = matrix(x, name, argument)
    shape = inside.shape
    if shape[-1] != shape[-2]:
        raise ShapeError(
            f"{name}: {argument} has shape {shape}; its last two axes must have one size"
        )
    return inside


def floats(inside: Any, name: str, argument: str) -> Any:
    """An inside value in a dtype for which LAPACK has routines."""
    if type(inside) in PYTHON_DTYPES:
        return cast_to_float(inside)
    dtype = inside.dtype
    if dtype.kind not in "fc":
        return cast_to_float(inside)
    if dtype.itemsize == 2:
        raise DTypeError(
            f"{name}: {argument} has dtype {dtype.name}, for which there is no linear algebra; convert it with "
            ".astype(np.float32)"
        )
    return inside


def static_float(x: Any, what: str) -> float:
    """A number that is known while tracing."""
    if isinstance(x, Tracer):
        known = concrete(x)
        if known is None:
            raise ConcretizationTypeError(
                f"{what} must be known while tracing, but is {describe_unknown(x)}; {make_known(x)} ({here()})"
            )
        x = known
    try:
        return float(x)
    except TypeError:
        raise ArgumentError(f"{what} is {x!r}; give a number") from None
