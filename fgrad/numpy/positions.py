"""What functions that take positions share: their dtype, their mode, the values to put there."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import aval_of
from fgrad.config import config
from fgrad.errors import DTypeError, IndexOutOfRangeError, InPlaceError
from fgrad.numpy._support import operand
from fgrad.numpy.at import cast, index_mode
from fgrad.primitives.elementwise import convert, maximum
from fgrad.primitives.families import reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.shape import iota, static_index
from fgrad.source_info import here


def index_operand(indices: Any, name: str, argument: str = "indices") -> Any:
    """An argument that holds positions, as an inside value of integer dtype."""
    index = operand(indices, name, argument)
    own = aval_of(index)
    if isinstance(indices, (list, tuple)) and not own.size and own.dtype.kind == "f":
        # An empty list has no type of its own.
        return convert(index, dtypes.canonical(dtypes.INT64))
    if own.dtype.kind == "b" or own.dtype in dtypes.NARROW_INTEGERS:
        return convert(index, dtypes.canonical(dtypes.INT64))
    if own.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: {argument} has dtype {own.dtype}; positions are integers, as {argument}.astype(int) "
            "makes them"
        )
    return index


def moded(index: Any, size: int, mode: Any, name: str) -> tuple[Any, Any]:
    """An index and the primitive's mode for one of NumPy's, where "clip" takes negatives for 0."""
    usual = "raise"
    if config.index_out_of_range == "jax":
        usual = "clip" if name == "put" else "fill"
    chosen = index_mode(mode, name, usual)
    if chosen in ("clip", "wrap") and not size and aval_of(index).size:
        raise IndexOutOfRangeError(
            f"{name}: an axis without elements is indexed; mode={mode!r} finds none there ({here()})"
        )
    return (maximum(index, 0) if chosen == "clip" else index), chosen


def refuse_inplace(inplace: bool, name: str) -> None:
    """Refuse NumPy's way of changing an argument, which is the default of these functions."""
    if inplace:
        raise InPlaceError(
            f"{name}: arrays do not change; call {name}(..., inplace=False) and use the array it returns"
        )


def flat_values(values: Any, dtype: np.dtype[Any], name: str, argument: str) -> Any:
    """Values to put, along one axis, in the dtype of what they go into."""
    inside = cast(operand(values, name, argument), dtype, name)
    return reshape(inside, (aval_of(inside).size,))


def cycled(values: Any, count: int) -> Any:
    """The first `count` of values that are repeated without end."""
    size = aval_of(values).size
    if size == count:
        return values
    if size > count:
        return static_index(values, [slice(0, count)])
    return Gather((0,), "wrap")(values, iota(count))
