"""Matrices as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ConcretizationTypeError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, operand
from fgrad.primitives.elementwise import cast_to_float
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown


def matrix(x: ArrayLike, name: str, argument: str = "a") -> Any:
    """An argument as matrices of floats."""
    inside = cast_to_float(operand(x, name, argument))
    aval = aval_of(inside)
    if len(aval.shape) < 2:
        raise ShapeError(
            f"{name}: {argument} has shape {aval.shape}; give a matrix, or matrices in the last "
            "two axes"
        )
    refuse_half(aval.dtype, name, argument)
    return inside


def square_matrix(x: ArrayLike, name: str, argument: str = "a") -> Any:
    """An argument as square matrices of floats."""
    inside = matrix(x, name, argument)
    shape = aval_of(inside).shape
    if shape[-1] != shape[-2]:
        raise ShapeError(
            f"{name}: {argument} has shape {shape}; its last two axes must have one size"
        )
    return inside


def refuse_half(dtype: np.dtype[Any], name: str, argument: str) -> None:
    """LAPACK has no routines for half precision."""
    if dtype == np.float16:
        raise DTypeError(
            f"{name}: {argument} has dtype float16, for which there is no linear algebra; convert "
            "it with .astype(np.float32)"
        )


def static_float(x: Any, what: str) -> float:
    """A number that is known while tracing."""
    if isinstance(x, Tracer):
        known = concrete(x)
        if known is None:
            raise ConcretizationTypeError(
                f"{what} must be known while tracing, but is {describe_unknown(x)}; pass it "
                f"through static_argnums ({here()})"
            )
        x = known
    try:
        return float(x)
    except TypeError:
        raise ArgumentError(f"{what} is {x!r}; give a number") from None
