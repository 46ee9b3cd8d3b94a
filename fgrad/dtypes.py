"""The dtypes that fgrad computes with."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fgrad.config import switches
from fgrad.errors import DTypeError, MissingNameError


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
INT16 = np.dtype(np.int16)
UINT16 = np.dtype(np.uint16)
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

SUPPORTED: set[np.dtype[Any]] = set(
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


#: The types of ml_dtypes that have come into use, and the integers among them; NumPy says nothing of their kind.
NARROW: set[np.dtype[Any]] = set()
NARROW_INTEGERS: set[np.dtype[Any]] = set()
_learners: list[Callable[[], None]] = []


def when_narrow(learn: Callable[[], None]) -> None:
    """Have a function called when the first type of ml_dtypes comes into use."""
    _learners.append(learn)


def admit(dtype: np.dtype[Any]) -> bool:
    """Take a type of ml_dtypes among the supported ones, if `dtype` is one of its real numbers."""
    if dtype in NARROW:
        return True
    is_integer = dtype.name.startswith(("int", "uint"))
    is_real = is_integer or dtype.name.startswith(("bfloat", "float"))
    if dtype.type.__module__ != "ml_dtypes" or not is_real:
        return False
    if not NARROW:
        for learn in _learners:
            learn()
        switches.narrow_dtypes = True
        switches.refresh()
    NARROW.add(dtype)
    if is_integer:
        NARROW_INTEGERS.add(dtype)
    SUPPORTED.add(dtype)
    return True


def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that values of a type of ml_dtypes are computed in: for integers, of 16 bits."""
    if dtype in NARROW_INTEGERS:
        return UINT16 if dtype.name.startswith("uint") else INT16
    return FLOAT32


def promotion_of_narrow(avals: Iterable[Any], wide: np.dtype[Any]) -> np.dtype[Any]:
    """What types, one of them of ml_dtypes, promote to by JAX's table.

    Integers, booleans and Python numbers take the narrow type; other floating-point types give
    `wide`, which NumPy gives for float32 in the place of the narrow one. A narrow integer takes
    booleans and Python integers only.

    Raises
    ------
    DTypeError
        If one of them promotes to no other: those of less than 16 bits do not.
    """
    avals = list(avals)
    met: set[np.dtype[Any]] = {
        a.dtype for a in avals if a.dtype != BOOL and not (a.weak and a.dtype.kind == "i")
    }
    if met & NARROW_INTEGERS:
        if len(met) > 1:
            raise _no_promotion(met)
        return met.pop()
    strong = {a.dtype for a in avals if not a.weak and is_inexact(a.dtype)}
    met = strong | {a.dtype for a in avals if a.weak and a.dtype.kind == "c"}
    narrow = strong & NARROW
    if len(met) > 1 and any([d.itemsize == 1 for d in narrow]):
        raise _no_promotion(met)
    return narrow.pop() if strong == narrow else wide


def _no_promotion(met: Iterable[np.dtype[Any]]) -> DTypeError:
    listed = " and ".join(sorted(d.name for d in met))
    return DTypeError(f"{listed} do not promote to a common dtype; convert with .astype")


def canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that values of `dtype` have under the current configuration."""
    if switches.enable_x64:
        return dtype
    return _TO_32.get(dtype, dtype)


_OF_NUMPY = {
    "O": "objects",
    "U": "strings",
    "S": "bytes",
    "T": "strings",
    "M": "dates",
    "m": "times",
}


def _as_given(dtype: Any) -> str:
    """A dtype as a user gave it."""
    return dtype.__name__ if isinstance(dtype, type) else repr(dtype)


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
    if result not in SUPPORTED and not admit(result):
        native = result.newbyteorder("=")
        if native not in SUPPORTED:
            elsewhere = _OF_NUMPY.get(result.kind)
            remedy = (
                f"; arrays of {elsewhere} are NumPy's, as np.array(x).astype({_as_given(dtype)}) makes them"
                if elsewhere
                else ""
            )
            raise DTypeError(
                f"{what}={result} is not supported: fgrad computes with bool, integers of 8 to 64 bits, "
                "float16, float32, float64, complex64 and complex128, and the real types of ml_dtypes"
                f"{remedy}"
            )
        result = native
    return canonical(result)


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether values of `dtype` have derivatives."""
    return dtype.kind in "fc" or (dtype in NARROW and dtype not in NARROW_INTEGERS)


def kind_of(dtype: np.dtype[Any]) -> str:
    """NumPy's letter for a kind of dtype, for the types of ml_dtypes too."""
    if dtype not in NARROW:
        return dtype.kind
    return "f" if dtype not in NARROW_INTEGERS else widened(dtype).kind


def integer_limits(dtype: np.dtype[Any]) -> Any:
    """What `numpy.iinfo` says, for the types of ml_dtypes too."""
    if dtype in NARROW_INTEGERS:
        return importlib.import_module("ml_dtypes").iinfo(dtype)
    return np.iinfo(dtype)


def float_for(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which integers and booleans of `dtype` are divided: NumPy's, or JAX's of narrow ones."""
    return FLOAT32 if dtype in NARROW_INTEGERS else canonical(FLOAT64)


def python_type(dtype: np.dtype[Any]) -> type:
    """The Python scalar type that a weak value of `dtype` has."""
    if dtype in NARROW_INTEGERS:
        return int
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex, "V": float}[dtype.kind]


# ---- the names of jax.dtypes ---------------------------------------------------------------------


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that values of `dtype` have under the current configuration.

    Parameters
    ----------
    dtype : dtype-like
    allow_extended_dtype : bool
        Whether the dtype of random keys is let through.

    Returns
    -------
    numpy.dtype
        32 bits wide in the place of 64 where ``config.update("fgrad_enable_x64", False)`` was called.

    Raises
    ------
    DTypeError
        If fgrad does not compute with it.

    Examples
    --------
    >>> from fgrad import dtypes
    >>> dtypes.canonicalize_dtype("float64")
    dtype('float64')
    """
    if isinstance(dtype, KeyDType):
        if allow_extended_dtype:
            return dtype
        raise DTypeError(
            f"canonicalize_dtype: {dtype} is the dtype of random keys; give allow_extended_dtype=True to let it "
            "through"
        )
    return as_dtype(dtype, "canonicalize_dtype: dtype")


def issubdtype(a: Any, b: Any) -> bool:
    """Whether a dtype lies below another in the hierarchy of types.

    Parameters
    ----------
    a, b : dtype-like
        Or an abstract type, such as ``np.floating``, `extended` or `prng_key`.

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.dtypes.issubdtype(np.float32, np.floating)
    True
    >>> fgrad.dtypes.issubdtype(fgrad.random.key(0).dtype, fgrad.dtypes.prng_key)
    True
    """
    return np.issubdtype(_scalar_type(a), _scalar_type(b))


def _scalar_type(x: Any) -> Any:
    # Keys, and the dtypes of fgrad.numpy that can be called, have their NumPy type under this name.
    named = isinstance(x, KeyDType) or not isinstance(x, (type, str, np.dtype))
    return getattr(x, "type", x) if named else x


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that operands promote to.

    Parameters
    ----------
    *args : array_like or dtype-like
        Python numbers, and results that stand for them, take the dtype of the others.
    return_weak_type_flag : bool
        Whether to return as well if all operands stand for Python numbers.

    Returns
    -------
    numpy.dtype, or a tuple of it and a bool

    Raises
    ------
    DTypeError
        If there is no operand, or one has a dtype that is not supported.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import dtypes
    >>> dtypes.result_type(np.float32(1), 2.0)
    dtype('float32')
    """
    if not args:
        raise DTypeError("result_type: give at least one array or dtype")
    weak = [_is_weak(x) for x in args]
    stand_ins = [
        python_type(_dtype_of(x))(0) if is_weak else _dtype_of(x)
        for x, is_weak in zip(args, weak, strict=True)
    ]
    found = canonical(np.result_type(*stand_ins))
    return (found, all(weak)) if return_weak_type_flag else found


def _is_weak(x: Any) -> bool:
    return type(x) in PYTHON_DTYPES or bool(getattr(x, "weak_type", False))


def _dtype_of(x: Any) -> np.dtype[Any]:
    if type(x) in PYTHON_DTYPES:
        return PYTHON_DTYPES[type(x)]
    found = getattr(x, "dtype", None)
    return found if isinstance(found, np.dtype) else as_dtype(x, "result_type: an argument")


def scalar_type_of(x: Any) -> type:
    """The Python type of numbers of the kind of `x`.

    Parameters
    ----------
    x : array_like or dtype-like

    Returns
    -------
    type
        bool, int, float or complex.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import dtypes
    >>> dtypes.scalar_type_of(np.float32(1))
    <class 'float'>
    """
    return python_type(_dtype_of(x))


def __getattr__(name: str) -> Any:
    if name == "bfloat16":
        # The type belongs to a package of its own, which is there where programs name it.
        try:
            import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise AttributeError(
                "fgrad.dtypes.bfloat16 needs the package ml_dtypes, which is not installed"
            ) from None
        return ml_dtypes.bfloat16
    raise MissingNameError(__name__, name)
