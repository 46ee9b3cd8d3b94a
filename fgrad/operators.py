"""Operators and methods, shared by arrays and tracers; attached to both from here.

They lie above `fgrad.numpy`, whose functions they call, and below nothing: importing `fgrad` attaches
them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

import fgrad.numpy as fnp
from fgrad import conversions
from fgrad.array import Array, plain, value, wrap
from fgrad.avals import aval_of
from fgrad.dtypes import BOOL
from fgrad.errors import ArgumentError, InPlaceError, MemoryLayoutError
from fgrad.numpy import protocols
from fgrad.numpy._direct import on_one_array, on_two_arrays
from fgrad.numpy._support import nested
from fgrad.numpy.indexing import IndexRef, IndexUpdater, getitem
from fgrad.numpy.ufuncs import raised, raised_of_arrays
from fgrad.primitives import elementwise as p
from fgrad.primitives.contraction import matmul, matmul_of_arrays
from fgrad.primitives.families import Elementwise
from fgrad.primitives.special import SCIPY_UFUNCS
from fgrad.source_info import boundary, guard_methods, here, result_is_dropped
from fgrad.tracing import Tracer, in_words

_SCALARS = (float, int, bool, complex, np.generic)


# ---- operators -----------------------------------------------------------------------------------


def _inside(x: Any) -> Any:
    return plain(x) if type(x) is Array else x


def _foreign(self: Any, other: Any) -> Any:
    """The other operand of an operator as an inside value, or NotImplemented to let it answer itself.

    Beside a traced value nobody else may answer: the result would be an array of objects.
    """
    what = "the other operand"
    if type(other) is np.ndarray or isinstance(other, _SCALARS):
        return value(other, what)
    if isinstance(other, (list, tuple)):
        return nested(other, what)
    if isinstance(other, np.ndarray):
        overrides = type(other).__array_ufunc__ is not np.ndarray.__array_ufunc__
        if type(self) is Array and (overrides or isinstance(other, (np.ma.MaskedArray, np.matrix))):
            return NotImplemented
        return value(other, what)
    if hasattr(other, "__fgrad_array__") or hasattr(other, "__jax_array__"):
        return value(other, what)
    kind = type(other)
    if hasattr(kind, "__array__") or hasattr(kind, "toarray"):
        # Series, sparse matrices and arrays of other libraries have operators of their own.
        return (
            NotImplemented
            if type(self) is Array and hasattr(kind, "__radd__")
            else value(other, what)
        )
    return NotImplemented


def _binary(apply: Callable[[Any, Any], Any], reflected: bool = False) -> Callable[[Any, Any], Any]:
    def forward(self: Any, other: Any, /) -> Any:
        kind = type(other)
        if kind is Array:
            other = plain(other)
        elif kind is not float and kind is not int and not isinstance(other, Tracer):
            other = _foreign(self, other)
            if other is NotImplemented:
                return NotImplemented
        return wrap(apply(plain(self) if type(self) is Array else self, other))

    def backward(self: Any, other: Any, /) -> Any:
        kind = type(other)
        if kind is not float and kind is not int:
            other = plain(other) if kind is Array else _foreign(self, other)
            if other is NotImplemented:
                return NotImplemented
        return wrap(apply(other, plain(self) if type(self) is Array else self))

    operator = backward if reflected else forward
    compute = apply.compute if isinstance(apply, Elementwise) else _COMPUTED.get(apply)
    return operator if compute is None else on_two_arrays(compute, operator, reflected)


def _unary(apply: Elementwise) -> Callable[[Any], Any]:
    def operator(self: Any, /) -> Any:
        return wrap(apply(_inside(self)))

    return on_one_array(apply.compute, operator)


def _to_the_power(x: Any, y: Any) -> Any:
    """``x ** y``, for which NumPy takes the square of an array of booleans, of 8 bits, where y is 2."""
    if type(y) is int and y == 2:
        own = aval_of(x)
        if own.shape and own.dtype == BOOL:
            return p.square(x)
    return raised(x, y)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": p.add,
    "sub": p.sub,
    "mul": p.mul,
    "truediv": p.div,
    "floordiv": p.floor_divide,
    "mod": p.remainder,
    "pow": _to_the_power,
    "matmul": matmul,
    "and": p.bitwise_and,
    "or": p.bitwise_or,
    "xor": p.bitwise_xor,
    "lshift": p.left_shift,
    "rshift": p.right_shift,
}
_COMPARISON: dict[str, Callable[[Any, Any], Any]] = {
    "eq": p.equal,
    "ne": p.not_equal,
    "lt": p.less,
    "le": p.less_equal,
    "gt": p.greater,
    "ge": p.greater_equal,
}
#: What these compute of arrays.
_COMPUTED: dict[Callable[..., Any], Callable[..., Any]] = {
    matmul: matmul_of_arrays,
    _to_the_power: raised_of_arrays,
}
_UNARY: dict[str, Elementwise] = {
    "neg": p.neg,
    "pos": p.positive,
    "abs": p.abs_,
    "invert": p.invert,
}


def _divmod(self: Any, other: Any) -> Any:
    second = _foreign(self, other) if not isinstance(other, (Array, Tracer)) else _inside(other)
    return NotImplemented if second is NotImplemented else fnp.divmod(self, second)


def _rdivmod(self: Any, other: Any) -> Any:
    first = _foreign(self, other)
    return NotImplemented if first is NotImplemented else fnp.divmod(first, self)


def _round(self: Any, ndigits: int | None = None) -> Any:
    return fnp.round(self, 0 if ndigits is None else ndigits)


# ---- sequence protocol and assignment ------------------------------------------------------------


def _length(self: Any) -> int:
    if not self.shape:
        raise ArgumentError(f"len() of a 0-d array, which has no axes ({here()})")
    return int(self.shape[0])


def _iterate(self: Any) -> Iterator[Any]:
    if not self.shape:
        raise ArgumentError(f"iteration over a 0-d array, which has no axes ({here()})")
    return (self[i] for i in range(self.shape[0]))


def _get(self: Any, index: Any, /) -> Any:
    return wrap(getitem(plain(self) if type(self) is Array else self, index))


def _assign(self: Any, index: Any, new: Any) -> None:
    words = _index_words(index)
    raise InPlaceError(
        f"arrays do not change in place: x[{words}] = v ({here()}); write x = x.at[{words}].set(v), and x = "
        f"x.at[{words}].add(v) for x[{words}] += v"
    )


def _delete(self: Any, index: Any) -> None:
    raise InPlaceError(
        f"arrays do not change in place: del x[{_index_words(index)}] ({here()}); use fnp.delete(x, index, axis)"
    )


def _index_words(index: Any) -> str:
    words = []
    for item in index if isinstance(index, tuple) else (index,):
        if isinstance(item, slice):
            bounds = ["" if b is None else _word(b) for b in (item.start, item.stop)]
            words.append(":".join(bounds) + ("" if item.step is None else f":{_word(item.step)}"))
        else:
            words.append("..." if item is Ellipsis else _word(item))
    return ", ".join(words)


def _word(item: Any) -> str:
    text = "i" if isinstance(item, (Tracer, np.ndarray)) else repr(item)
    return text if len(text) <= 20 else "i"


def _contains(self: Any, item: Any) -> bool:
    return bool(fnp.any(fnp.equal(self, item)))


def _refusal(call: str, instead: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise InPlaceError(f"arrays do not change in place: {call} ({here()}); use {instead}")

    return refuse


_refuse_shape = _refusal("x.shape = s", "x = fnp.reshape(x, s)")


# ---- methods ------------------------------------------------------------------------------------


def _transposed(self: Any, *axes: Any) -> Any:
    if not axes or axes == (None,):
        return fnp.transpose(self)
    return fnp.transpose(
        self, axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    )


def _reshape(
    self: Any, *shape: Any, order: str = "C", copy: Any = None, out_sharding: Any = None
) -> Any:
    return fnp.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)


def _astype(
    self: Any,
    dtype: Any,
    order: Any = None,
    casting: Any = None,
    subok: Any = None,
    copy: bool = True,
    device: Any = None,
) -> Any:
    return fnp.astype(self, dtype)


def _compress(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
    return fnp.compress(condition, self, *args, **kwargs)


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    return fnp.ravel(self, order=order)


def _view(self: Tracer, dtype: Any = None, type: Any = None) -> Any:
    if dtype is None or np.dtype(dtype) == self.dtype:
        return self
    raise ArgumentError(
        f"view of a traced array as another dtype is not defined ({here()}); use .astype(dtype) to convert"
    )


def _sorted_copy(name: str) -> Callable[..., Any]:
    """A method that changes a NumPy array, and here returns a changed one."""
    method = getattr(fnp, name)

    def sort(self: Any, *args: Any, **kwargs: Any) -> Any:
        if result_is_dropped(frozenset((name,))):
            raise InPlaceError(
                f"arrays do not change in place: x.{name}() as a statement has no effect ({here()}); use "
                f"x = x.{name}()"
            )
        return method(self, *args, **kwargs)

    sort.__name__ = name
    sort.__doc__ = f"``fgrad.numpy.{name}`` of this array."
    return sort


#: Methods that are functions of `fgrad.numpy` with the array as their first argument.
METHODS = (
    "all any argmax argmin argpartition argsort choose clip conj conjugate cumprod cumsum diagonal dot max "
    "mean min nonzero prod ptp ravel repeat round searchsorted squeeze std sum swapaxes take "
    "trace var"
).split()


@dataclass(frozen=True, slots=True)
class Shard:
    """The one piece of an array, on the one device: what JAX's programs ask an array for."""

    data: Any
    index: tuple[slice, ...]
    device: str
    replica_id: int


def _shards(self: Any) -> list[Shard]:
    return [Shard(self, (slice(None),) * len(self.shape), "cpu", 0)]


#: What depends on the memory of an array, and what to use in its place.
_LAYOUT = {
    "base": "no two traced arrays share memory that can be written to, so that nothing depends on it",
    "byteswap": "swap the bytes of a NumPy array before it is traced",
    "ctypes": "give foreign code NumPy arrays, by fgrad.pure_callback",
    "data": "give what reads buffers NumPy arrays, by fgrad.pure_callback",
    "flags": "no array of fgrad can be written to, and np.array(result) is a copy that can",
    "getfield": "use x.real, x.imag or x.astype(dtype)",
    "strides": "use x.shape and x.itemsize; reshape, transpose and x[...] do not depend on strides",
}


def _getattr(self: Tracer, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    instead = _LAYOUT.get(name)
    if instead is not None:
        raise MemoryLayoutError(
            f"x.{name} tells how a NumPy array lies in memory, but x is a {in_words(self.aval)}, in "
            f"{self._trace.title}, which has no memory of its own ({here()}); {instead}"
        )
    hint = f"; use fgrad.numpy.{name}(x)" if callable(getattr(fnp, name, None)) else ""
    raise AttributeError(f"traced arrays have no attribute {name!r}{hint}", name=name, obj=self)


# ---- attaching -----------------------------------------------------------------------------------


def _operators() -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, apply in _ARITHMETIC.items():
        members[f"__{name}__"] = _binary(apply)
        members[f"__r{name}__"] = _binary(apply, reflected=True)
    for name, apply in _COMPARISON.items():
        members[f"__{name}__"] = _binary(apply)
    for name, apply_one in _UNARY.items():
        members[f"__{name}__"] = _unary(apply_one)
    for name, member in members.items():
        # Python's own messages name it, as of a third argument of pow.
        member.__qualname__ = f"Array.{name}"
    members |= {"__divmod__": _divmod, "__rdivmod__": _rdivmod, "__round__": _round}
    return members


def _shared() -> dict[str, Any]:
    return {
        **_operators(),
        **{name: getattr(fnp, name) for name in METHODS},
        **{name: _sorted_copy(name) for name in ("sort", "partition")},
        "__getitem__": _get,
        "__setitem__": _assign,
        "__delitem__": _delete,
        "__len__": _length,
        "__iter__": _iterate,
        "__contains__": _contains,
        "__array_priority__": 1000,
        "__array_namespace__": lambda self, *, api_version=None: fnp,
        "T": property(fnp.transpose),
        "mT": property(fnp.matrix_transpose),
        "at": property(lambda self: IndexUpdater(self)),
        "real": property(fnp.real),
        "imag": property(fnp.imag),
        "flat": property(fnp.ravel),
        "astype": _astype,
        "compress": _compress,
        "flatten": _flatten,
        "reshape": _reshape,
        "transpose": _transposed,
        "fill": _refusal("x.fill(v)", "fnp.full_like(x, v)"),
        "put": _refusal("x.put(i, v)", "x.at[i].set(v)"),
        "resize": _refusal("x.resize(shape)", "fnp.resize(x, shape)"),
        # What JAX's programs ask of devices: there is one, and results are always ready.
        "addressable_data": lambda self, index: self,
        "addressable_shards": property(_shards),
        "block_until_ready": lambda self: self,
        "copy_to_host_async": lambda self: None,
        "delete": lambda self: None,
        "device": property(lambda self: "cpu"),
        "devices": lambda self: {"cpu"},
        "is_deleted": lambda self: False,
        "is_fully_addressable": property(lambda self: True),
        "is_fully_replicated": property(lambda self: True),
        "sharding": property(lambda self: None),
        "to_device": lambda self, device, /, *, stream=None: self,
    }


def _of_tracers() -> dict[str, Any]:
    return {
        "__bool__": conversions.to_bool,
        "__index__": conversions.to_index,
        "__int__": conversions.to_int,
        "__trunc__": conversions.to_int,
        "__float__": conversions.number(float),
        "__complex__": conversions.number(complex),
        "__array__": conversions.to_array,
        "__format__": conversions.formatted,
        "__repr__": conversions.text,
        "__str__": conversions.text,
        "__reduce_ex__": conversions.refuse_pickling,
        "__getattr__": _getattr,
        "__copy__": lambda self: self,
        "__deepcopy__": lambda self, memo: self,
        # pandas leaves operators to what ranks above its own classes, which refuses them in words.
        "__pandas_priority__": 10_000,
        "__array_ufunc__": protocols.tracer_ufunc,
        "__array_function__": protocols.tracer_function,
        "as_integer_ratio": conversions.as_integer_ratio,
        "item": conversions.item,
        "tolist": conversions.tolist,
        "tobytes": conversions.tobytes,
        "tofile": conversions.to_file,
        "dump": conversions.dumped,
        "dumps": conversions.dumped,
        "__dlpack__": conversions.to_dlpack,
        "__dlpack_device__": lambda self: (1, 0),
        "setfield": _refusal("x.setfield(v, dtype)", "x.at[i].set(v)"),
        "setflags": _refusal("x.setflags(...)", "np.array(x), which is a writable copy"),
        "copy": lambda self, order="K": self,
        "view": _view,
        "nbytes": property(lambda self: self.size * self.dtype.itemsize),
        "itemsize": property(lambda self: self.dtype.itemsize),
    }


def _of_arrays() -> dict[str, Any]:
    # ndarray's own in-place operators would write; these make `x += y` rebind the name.
    in_place = {f"__i{name}__": _binary(apply) for name, apply in _ARITHMETIC.items()}
    return {
        **in_place,
        "__array_ufunc__": protocols.array_ufunc,
        "__array_function__": protocols.array_function,
        "aval": property(lambda self: aval_of(_inside(self))),
        # NumPy lets the shape of an array be assigned, also of one that is read-only.
        "shape": property(
            np.ndarray.shape.__get__,
            _refuse_shape,
        ),
        "copy": lambda self, order="C": copy.deepcopy(self),
        # NumPy's own iterator: it gives numbers, which is what those ask for who look through it.
        "flat": property(lambda self: self.view(np.ndarray).flat),
    }


def _guarded(name: str, member: Any) -> Any:
    """A member whose errors show the user's frames only."""
    if isinstance(member, property):
        setter = None if member.fset is None else boundary(member.fset)
        # What is not written in Python has no frames to hide.
        getter = boundary(member.fget) if isinstance(member.fget, FunctionType) else member.fget
        return property(getter, setter)
    # The search for an attribute that is not there is an error only for who asked.
    return boundary(member) if callable(member) and name != "__getattr__" else member


def _attach() -> None:
    guard_methods(IndexUpdater, IndexRef)
    for cls, members in ((Tracer, _of_tracers()), (Array, _of_arrays())):
        for name, member in {**_shared(), **members}.items():
            setattr(cls, name, _guarded(name, member))
    # The getter is read for every operation, and never fails: it needs no boundary.
    shape = vars(Tracer)["shape"]
    setattr(Tracer, "shape", property(shape.fget, boundary(_refuse_shape)))  # noqa: B010
    protocols.register(fnp.__all__, fnp, np)
    for part in ("linalg", "fft"):
        ours = getattr(fnp, part, None)
        if ours is not None:
            protocols.register(ours.__all__, ours, getattr(np, part))
    protocols.register_late("scipy.special", SCIPY_UFUNCS)


_attach()
