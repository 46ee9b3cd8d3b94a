"""The dtypes that fgrad computes with."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.config import config
from fgrad.errors import DTypeError


class extended(np.generic):
    """Above the types of elements that NumPy does not know."""


class prng_key(extended):
    """Above the types of random keys: ``issubdtype(key.dtype, prng_key)`` holds for every key."""


class KeyDType:
    """The dtype of random keys of one implementation.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.random.key(0).dtype
    key<fry>
    """

    __slots__ = ("implementation", "itemsize", "name")
    type = prng_key
    kind = "V"

    def __init__(self, implementation: str) -> None:
        self.implementation = implementation
        threefry = implementation == "threefry2x32"
        self.itemsize = 8 if threefry else 16
        self.name = "key<fry>" if threefry else f"key<{implementation}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDType) and self.implementation == other.implementation

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyDType, (self.implementation,)

    def __repr__(self) -> str:
        return self.name


# The dtype of tangents and cotangents of integers and booleans; JAX uses the same structure.
float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])

BOOL = np.dtype(np.bool_)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
COMPLEX128 = np.dtype(np.complex128)

_TO_32 = {
    INT64: INT32,
    np.dtype(np.uint64): np.dtype(np.uint32),
    FLOAT64: FLOAT32,
    COMPLEX128: np.dtype(np.complex64),
}

SUPPORTED: frozenset[np.dtype[Any]] = frozenset(
    np.dtype(name)
    for name in (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    ).split()
)

PYTHON_DTYPES: dict[type, np.dtype[Any]] = {
    bool: BOOL,
    int: INT64,
    float: FLOAT64,
    complex: COMPLEX128,
}


def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that values of `dtype` have under the current configuration."""
    if config.enable_x64:
        return dtype
    return _TO_32.get(dtype, dtype)


def as_dtype(dtype: Any, what: str = "dtype") -> np.dtype[Any]:
    """`dtype` as a supported, canonical NumPy dtype.

    Raises
    ------
    DTypeError
        If fgrad does not compute with it.
    """
    try:
        result: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"{what}={dtype!r} is not a dtype") from None
    if result not in SUPPORTED:
        native = result.newbyteorder("=")
        if native not in SUPPORTED:
            raise DTypeError(
                f"{what}={result} is not supported: fgrad computes with bool, integers of 8 to 64 bits, "
                "float16, float32, float64, complex64 and complex128"
            )
        result = native
    return canonical(result)


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether values of `dtype` have derivatives."""
    return dtype.kind in "fc"


def python_type(dtype: np.dtype[Any]) -> type:
    """The Python scalar type that a weak value of `dtype` has."""
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex}[dtype.kind]
