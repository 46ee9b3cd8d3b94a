"""Dtypes by name, questions about them, and constants."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import KeyDType
from fgrad.errors import DTypeError
from fgrad.numpy._support import ArrayLike, DTypeLike, operand
from fgrad.primitives import narrow as narrow  # Its rules are there when a narrow type comes.
from fgrad.primitives.elementwise import convert
from fgrad.primitives.promotion import common_dtype
from fgrad.tracing import Tracer

# ---- constants ---------------------------------------------------------------------------------

pi: float = np.pi
e: float = np.e
inf: float = np.inf
nan: float = np.nan
euler_gamma: float = np.euler_gamma
newaxis: None = None

ndarray = Array


# ---- dtypes ------------------------------------------------------------------------------------


class ScalarType:
    """A dtype that is called to make arrays: ``fnp.float32(x)`` is ``fnp.asarray(x, fnp.float32)``.

    It is equal to the NumPy type of its name, has its hash, and is taken wherever NumPy takes a dtype.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp, numpy as np
    >>> fnp.float32(1)
    Array(1., dtype=float32)
    >>> fnp.float32 == np.float32, np.dtype(fnp.float32)
    (True, dtype('float32'))
    >>> fgrad.jit(lambda x: fnp.int32(x))(2.9)
    Array(2, dtype=int32)
    """

    __slots__ = ("__name__", "dtype")

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.__name__ = self.dtype.name

    @property
    def type(self) -> Any:
        """The NumPy scalar type."""
        return self.dtype.type

    def __call__(self, x: ArrayLike = 0) -> Array:
        """`x` as an array of this dtype."""
        return wrap(convert(operand(x, self.__name__), dtypes.canonical(self.dtype)))  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ScalarType):
            return self.dtype == other.dtype
        if isinstance(other, np.dtype):
            return bool(self.dtype == other)
        return self.dtype.type is other

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.dtype.type)

    def __reduce__(self) -> tuple[Any, ...]:
        return ScalarType, (self.dtype,)

    def __repr__(self) -> str:
        return f"fgrad.numpy.{self.__name__}"


bool_ = ScalarType(np.bool_)
int8 = ScalarType(np.int8)
int16 = ScalarType(np.int16)
int32 = ScalarType(np.int32)
int64 = ScalarType(np.int64)
uint8 = ScalarType(np.uint8)
uint16 = ScalarType(np.uint16)
uint32 = ScalarType(np.uint32)
uint64 = ScalarType(np.uint64)
float16 = ScalarType(np.float16)
float32 = ScalarType(np.float32)
float64 = ScalarType(np.float64)
complex64 = ScalarType(np.complex64)
complex128 = ScalarType(np.complex128)
int_ = int64
uint = uint64
float_ = float64
complex_ = complex128
half = float16
single = float32
double = float64
csingle = complex64
cdouble = complex128

dtype = np.dtype
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
character = np.character
flexible = np.flexible
object_ = np.object_

ComplexWarning = np.exceptions.ComplexWarning


def finfo(dtype: Any) -> Any:
    """Limits of a floating-point dtype.

    Parameters
    ----------
    dtype : dtype-like or array_like
        A dtype, or an array, traced or not, whose dtype counts.

    Returns
    -------
    numpy.finfo

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.finfo(fnp.float32).eps)
    1.1920928955078125e-07
    """
    found = _dtype_of(dtype)
    if dtypes.admit(found) and found not in dtypes.NARROW_INTEGERS:
        return importlib.import_module("ml_dtypes").finfo(found)
    return np.finfo(dtypes.canonical(found))


def iinfo(int_type: Any) -> Any:
    """Limits of an integer dtype.

    Parameters
    ----------
    int_type : dtype-like or array_like
        A dtype, or an array, traced or not, whose dtype counts.

    Returns
    -------
    numpy.iinfo

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.iinfo(fnp.int8).max
    127
    """
    found = _dtype_of(int_type)
    dtypes.admit(found)
    return dtypes.integer_limits(dtypes.canonical(found))


def _dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype that `x` is, names, or has."""
    found = getattr(x, "dtype", None)
    if isinstance(found, np.dtype):
        return found
    if isinstance(x, (int, float, complex)):
        return aval_of(value(x)).dtype
    try:
        named: np.dtype[Any] = np.dtype(x)
        return named
    except TypeError:
        raise DTypeError(f"{x!r} is neither a dtype nor an array") from None


#: The types of the package ml_dtypes, which is imported when one of them is asked for.
NARROW_TYPES = frozenset(
    "bfloat16 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
    "int1 int2 int4 uint1 uint2 uint4".split()
)


def narrow_type(name: str) -> ScalarType:
    """A type of ml_dtypes by its name.

    Raises
    ------
    AttributeError
        If the package is not installed, or has no such type.
    """
    try:
        module = importlib.import_module("ml_dtypes")
    except ImportError:
        raise AttributeError(
            f"fgrad.numpy.{name} needs the package ml_dtypes, which is not installed; install fgrad[ml_dtypes]"
        ) from None
    found = ScalarType(getattr(module, name))
    dtypes.admit(found.dtype)
    return found


# ---- promotion ---------------------------------------------------------------------------------


def _type_of(x: Any, name: str) -> Aval:
    """The type with which `x`, an array, number or dtype, takes part in promotion."""
    if isinstance(x, (Tracer, np.ndarray, np.generic, complex, float, int)) or _converts(x):
        return aval_of(operand(x, name))
    return Aval((), dtypes.as_dtype(x, name))


def _converts(x: Any) -> bool:
    return isinstance(x, list) or (hasattr(x, "__fgrad_array__") and not isinstance(x, type))


def result_type(*args: Any) -> np.dtype[Any]:
    """The dtype that operands promote to.

    Parameters
    ----------
    *args : array_like or dtype-like
        Python numbers, and results that stand for them, take the dtype of the others.

    Returns
    -------
    numpy.dtype

    Raises
    ------
    DTypeError
        If an argument is neither a dtype nor an array, or has a dtype that is not supported.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.result_type(fnp.float32(1), 2.0)
    dtype('float32')
    >>> fnp.result_type(fnp.int8, fnp.uint8)
    dtype('int16')
    """
    if not args:
        raise DTypeError("result_type: give at least one array or dtype")
    avals = [_type_of(x, "result_type") for x in args]
    return common_dtype(avals)


def promote_types(type1: DTypeLike, type2: DTypeLike) -> np.dtype[Any]:
    """The dtype that two dtypes promote to.

    Parameters
    ----------
    type1, type2 : dtype-like

    Returns
    -------
    numpy.dtype

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.promote_types("float32", "int64")
    dtype('float64')
    """
    first = dtypes.as_dtype(type1, "promote_types: type1")
    second = dtypes.as_dtype(type2, "promote_types: type2")
    return common_dtype([Aval((), first), Aval((), second)])


def can_cast(from_: Any, to: DTypeLike, casting: Any = "safe") -> bool:
    """Whether values of one dtype can be cast to another by a rule.

    Parameters
    ----------
    from_ : dtype-like or array_like
    to : dtype-like
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.can_cast("int32", "float64"), fnp.can_cast("float64", "int32")
    (True, False)
    """
    return np.can_cast(_dtype_of(from_), np.dtype(to), casting)


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype lies below another in the hierarchy of types.

    Parameters
    ----------
    arg1, arg2 : dtype-like
        Or an abstract type, such as ``fnp.floating``.

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.issubdtype(fnp.float32, fnp.floating)
    True
    """
    below, above = _plain_type(arg1), _plain_type(arg2)
    if _is_narrow(below) and isinstance(above, type):
        # NumPy has no place for types of ml_dtypes in its hierarchy.
        return issubclass(_place_of(np.dtype(below)), above) or np.issubdtype(below, above)
    return np.issubdtype(below, above)


def _place_of(narrow: np.dtype[Any]) -> type:
    """The class of NumPy's under which a type of ml_dtypes belongs."""
    if narrow not in dtypes.NARROW_INTEGERS:
        return np.floating
    return np.unsignedinteger if narrow.name.startswith("uint") else np.signedinteger


def _is_narrow(x: Any) -> bool:
    try:
        return dtypes.admit(np.dtype(x))
    except TypeError:
        return False


def _plain_type(x: Any) -> Any:
    return x.type if isinstance(x, (ScalarType, KeyDType)) else x


_KINDS: dict[str, type] = {
    "signed integer": np.signedinteger,
    "unsigned integer": np.unsignedinteger,
    "integral": np.integer,
    "real floating": np.floating,
    "numeric": np.number,
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype-like
    kind : dtype-like, str or tuple of them
        Kinds are 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating', 'complex
        floating' and 'numeric'.

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.isdtype(fnp.float32, "real floating")
    True
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if _is_narrow(dtype):
        place = _place_of(np.dtype(dtype))
        return any(
            issubclass(place, _KINDS.get(k, ()))
            if isinstance(k, str)
            else np.dtype(k) == np.dtype(dtype)
            for k in kinds
        )
    return np.isdtype(np.dtype(dtype), tuple(_plain_type(k) for k in kinds))
