"""The arrays that fgrad returns, and the border between them and the values inside.

Inside, a value is a plain ``np.ndarray``, a NumPy scalar, a Python scalar (weak) or a tracer. `value`
takes a user's argument in; `wrap` puts an `Array` around a result on its way out.

An invariant makes results safe without copies: whatever fgrad allocates is frozen when it is made, so
memory whose root is writable belongs to somebody else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.config import switches
from fgrad.errors import NonArrayError, UnsupportedArrayError
from fgrad.tracing import Tracer

ndarray = np.ndarray
_PYTHON = (float, int, bool, complex)
# Every scalar type of NumPy that stands for a number.
_SCALARS = frozenset(
    np.dtype(code).type for code in np.typecodes["All"] if code in "?bhilqpBHILQPefdFD"
)


# What `isinstance` takes for an array beside arrays: traced values under every transform, and, as in JAX, arrays
# of random keys.
_STAND_INS: list[type] = [Tracer]


def stands_for_an_array(cls: type) -> type:
    """Make the instances of a class pass for arrays where programs ask with `isinstance`."""
    _STAND_INS.append(cls)
    return cls


class _ArrayMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, tuple(_STAND_INS))


class Array(np.ndarray, metaclass=_ArrayMeta):
    """A read-only NumPy array: what every function of fgrad returns.

    It is an ``np.ndarray``, so NumPy, SciPy, Matplotlib and pandas take it as it is. ``np.array(x)``
    makes a writable copy; ``x.at[i].set(v)`` makes a changed one. Its operators and methods also work
    on traced values. A result that stands for a Python number has ``weak_type`` true and takes the
    dtype of what it meets.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x = fnp.arange(3.0)
    >>> x.at[0].set(5.0)
    Array([5., 1., 2.], dtype=float64)
    """

    __slots__ = ("_value",)
    _value: Any

    @property
    def weak_type(self) -> bool:
        """Whether this stands for a Python number, which takes the dtype of what it meets."""
        return type(plain(self)) in _PYTHON

    def __reduce__(self) -> tuple[Any, ...]:
        inside = plain(self)
        return _rebuild, (np.array(inside) if type(inside) is ndarray else inside,)

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None) -> Array:
        return _rebuild(np.array(v) if type(v := plain(self)) is ndarray else v)

    def __str__(self) -> str:
        return str(self.view(ndarray))

    def __repr__(self) -> str:
        body = np.array2string(self.view(ndarray), separator=", ", prefix="Array(", suffix=",")
        weak = ", weak_type=True" if self.weak_type else ""
        shape = f", shape={self.shape}" if not self.size and self.ndim != 1 else ""
        return f"Array({body}{shape}, dtype={self.dtype.name}{weak})"


def _rebuild(inside: Any) -> Array:
    if type(inside) is ndarray:
        inside.setflags(write=False)
    result = wrap(inside)
    assert type(result) is Array
    return result


def plain(array: Array) -> Any:
    """The value inside an Array: a plain array, or a Python scalar if it is weak."""
    try:
        return array._value
    except AttributeError:
        # NumPy made this view or copy of an Array by itself.
        inside = array.view(ndarray)
        array._value = inside
        return inside


def wrap(result: Any) -> Any:
    """Put an Array around an internal value; a tracer stays as it is.

    A result that shares memory with a writable array of the caller is copied.
    """
    kind = type(result)
    if kind is ndarray:
        base = result.base
        if result.flags.writeable or not (
            base is None
            # Said here for what most views are, since a call would double the time.
            or (type(base) is ndarray and base.base is None and not base.flags.writeable)
            or not shares_writable(base)
        ):
            result = frozen(result.copy())
        array: Any = result.view(Array)
        array._value = result
        return array
    if kind in _SCALARS:
        # In two thirds of the time that np.array takes.
        owner = result.__array__()
    elif kind is Array or isinstance(result, Tracer):
        return result
    elif result is None:
        return None
    elif kind in _PYTHON and not switches.enable_x64:
        owner = np.array(result, dtypes.canonical(dtypes.PYTHON_DTYPES[kind]))
    else:
        owner = np.array(result)
        if owner.dtype.hasobject:
            raise OverflowError(f"Python integer {result} out of bounds for int64")
    owner.setflags(False)
    array = owner.view(Array)
    array._value = result
    return array


def frozen(fresh: Any) -> Any:
    """An array that nobody else has, made read-only."""
    if type(fresh) is ndarray:
        # By position, which NumPy takes in half the time.
        fresh.setflags(False)  # type: ignore[call-arg]
    return fresh


def wrap_own(result: Any) -> Any:
    """Put an Array around what compiled code has just made, and freeze it."""
    if type(result) is not ndarray or result.base is not None:
        return wrap(result)
    # By position, which NumPy takes in half the time.
    result.setflags(False)  # type: ignore[call-arg]
    array: Any = result.view(Array)
    array._value = result
    return array


def wrap_view(view: Any) -> Any:
    """Put an Array around a new view of what an Array has inside."""
    # By position, which NumPy takes in half the time.
    view.setflags(False)
    array = view.view(Array)
    array._value = view
    return array


def shares_writable(array: np.ndarray[Any, Any]) -> bool:
    """Whether somebody can write to the memory of `array`."""
    owner: Any = array
    while isinstance(owner, ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
        if owner is None:
            return False
    # Memory of a foreign owner (a buffer, a file): read-only only if it says so itself.
    return not memoryview(owner).readonly if _has_buffer(owner) else True


def _has_buffer(owner: Any) -> bool:
    try:
        memoryview(owner).release()
    except TypeError:
        return False
    return True


def snapshot(result: Any) -> Any:
    """A value that no one can change later: itself where that is sure, else a frozen copy."""
    if type(result) is ndarray and shares_writable(result):
        if result.base is not None:
            owner = owner_of(result)
            if owner is not None and owner.nbytes < result.nbytes:
                return _view_of_copy(result, owner)
        return frozen(result.copy())
    return result


def owner_of(view: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The array whose memory a view shows, where that is in one piece."""
    owner = view
    while isinstance(owner.base, ndarray):
        owner = owner.base
    return owner if owner.base is None and owner.flags.forc else None


def _view_of_copy(view: np.ndarray[Any, Any], owner: np.ndarray[Any, Any]) -> Any:
    """The same view of a frozen copy: windows and stretched axes show an element many times."""
    copy = owner.copy(order="K")
    copy.setflags(write=False)
    flat = copy.reshape(-1, order="A")
    offset = view.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(view.shape, view.dtype, flat.view(np.uint8), offset, view.strides)


def value(x: Any, what: str = "an argument") -> Any:
    """Take a user's array or number in.

    Raises
    ------
    NonArrayError, UnsupportedArrayError
        If `x` is not an array or number that fgrad computes with.
    """
    kind = type(x)
    if kind is Array:
        try:
            return x._value
        except AttributeError:
            return plain(x)
    if kind is ndarray:
        if x.dtype in dtypes.SUPPORTED and switches.enable_x64:
            return x
        return _import_array(x, what)
    if kind in _PYTHON:
        return x
    if isinstance(x, Tracer):
        return x
    if isinstance(x, np.generic):
        if x.dtype in dtypes.SUPPORTED:
            return x if switches.enable_x64 else x.astype(dtypes.canonical(x.dtype))
        return _import_array(np.asarray(x), what)
    if isinstance(x, ndarray):
        return _import_subclass(x, what)
    if kind is list or kind is tuple:
        raise NonArrayError(f"{what} is a {kind.__name__}; make it an array with fnp.asarray first")
    return _import_foreign(x, what)


def is_array_like(x: Any) -> bool:
    """Whether `value` takes `x`, without converting it."""
    return isinstance(x, (ndarray, np.generic, Tracer, *_PYTHON)) or hasattr(x, "__fgrad_array__")


def _import_array(x: np.ndarray[Any, Any], what: str) -> Any:
    dtype = x.dtype
    if dtype in dtypes.SUPPORTED:
        wanted = dtypes.canonical(dtype)
        return x if wanted == dtype else x.astype(wanted)
    if dtype == dtypes.float0 or dtypes.admit(dtype):
        return x
    native = dtype.newbyteorder("=") if dtype.kind in "biufc" else dtype
    if native in dtypes.SUPPORTED:
        return x.astype(dtypes.canonical(native))
    advice = {
        "O": "convert it with .astype(float), or keep it out of the traced arguments",
        "U": "strings cannot be computed with",
        "S": "strings cannot be computed with",
        "T": "strings cannot be computed with",
        "M": "convert it to numbers first, as in (t - t0) / np.timedelta64(1, 's')",
        "m": "convert it to numbers first, as in dt / np.timedelta64(1, 's')",
        "f": "extended precision is not supported: convert it with .astype(np.float64)",
        "c": "extended precision is not supported: convert it with .astype(np.complex128)",
        "V": "take its fields apart first, as in x['field']",
    }[dtype.kind]
    raise UnsupportedArrayError(f"{what} is an array of dtype {dtype}; {advice}")


def _import_subclass(x: Any, what: str) -> Any:
    if isinstance(x, np.ma.MaskedArray):
        raise UnsupportedArrayError(
            f"{what} is a masked array, whose mask would be lost; use .filled(value), or pass data and mask "
            "apart and combine them with fnp.where"
        )
    if isinstance(x, np.matrix):
        raise UnsupportedArrayError(
            f"{what} is an np.matrix, whose products differ; convert it with np.asarray(x)"
        )
    return value(x.view(ndarray), what)


def _import_foreign(x: Any, what: str) -> Any:
    if isinstance(x, _PYTHON):
        # Subclasses of Python numbers, such as enum members.
        base: Any = next(kind for kind in (bool, int, float, complex) if isinstance(x, kind))
        return base(x)
    convert = getattr(x, "__fgrad_array__", None) or getattr(x, "__jax_array__", None)
    if convert is not None:
        return value(convert(), what)
    kind = type(x)
    module = kind.__module__.partition(".")[0]
    if module == "scipy" and hasattr(x, "toarray"):
        raise UnsupportedArrayError(
            f"{what} is a sparse {kind.__name__}; use .toarray(), or keep it outside of the trace"
        )
    if module == "pandas":
        raise UnsupportedArrayError(f"{what} is a pandas {kind.__name__}; use .to_numpy()")
    if isinstance(x, (str, bytes)):
        raise NonArrayError(f"{what} is the string {x!r}; strings cannot be computed with")
    if hasattr(x, "__array__"):
        return value(np.asarray(x), what)
    raise NonArrayError(f"{what} is {x!r} of type {kind.__name__}, not an array or a number")
