"""Operands in one dtype."""

from __future__ import annotations

from typing import Any

import fgrad.numpy as fnp
from fgrad.dtypes import FLOAT64, canonical, is_inexact

__all__ = ["promote_dtypes", "promote_dtypes_inexact"]


def _converted(arguments: tuple[Any, ...], inexact: bool) -> list[Any]:
    arrays = [fnp.asarray(x) for x in arguments]
    dtype = fnp.result_type(*arguments)
    if inexact and not is_inexact(dtype):
        dtype = canonical(FLOAT64)
    return [x.astype(dtype) for x in arrays]


def promote_dtypes(*args: Any) -> list[Any]:
    """The arguments as arrays of the dtype that they promote to."""
    return _converted(args, False) if args else []


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """The same, in floating-point or complex numbers."""
    return _converted(args, True) if args else []
