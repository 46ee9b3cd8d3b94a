"""Operators and methods, shared by arrays and tracers; attached to both from here.

They lie above `fgrad.numpy`, whose functions they call, and below nothing: importing `fgrad` attaches
them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fgrad.numpy as fnp
from fgrad.array import Array, plain, value, wrap
from fgrad.avals import aval_of
from fgrad.errors import (
    ArgumentError,
    DerivativeCutError,
    InPlaceError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from fgrad.numpy import protocols
from fgrad.numpy.indexing import IndexUpdater, getitem
from fgrad.numpy.ufuncs import raised
from fgrad.primitives import elementwise as p
from fgrad.primitives.contraction import matmul
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown

_SCALARS = (float, int, bool, complex)


def _inside(x: Any) -> Any:
    return plain(x) if type(x) is Array else x


def _other(x: Any) -> Any:
    """The other operand of an operator, or NotImplemented for what is not an array."""
    kind = type(x)
    if kind is float or kind is int:
        return x
    if kind is Array:
        return plain(x)
    if isinstance(x, (np.ndarray, np.generic, Tracer, *_SCALARS)) or hasattr(x, "__array__"):
        return value(x)
    return NotImplemented


def _binary(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def forward(self: Any, other: Any) -> Any:
        second = _other(other)
        if second is NotImplemented:
            return NotImplemented
        return wrap(apply(plain(self) if type(self) is Array else self, second))

    return forward


def _reflected(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def backward(self: Any, other: Any) -> Any:
        first = _other(other)
        if first is NotImplemented:
            return NotImplemented
        return wrap(apply(first, plain(self) if type(self) is Array else self))

    return backward


def _unary(apply: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return wrap(apply(_inside(self)))

    return operator


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": p.add,
    "sub": p.sub,
    "mul": p.mul,
    "truediv": p.div,
    "floordiv": p.floor_divide,
    "mod": p.remainder,
    "pow": raised,
    "matmul": matmul,
    "and": p.bitwise_and,
    "or": p.bitwise_or,
    "xor": p.bitwise_xor,
    "lshift": p.left_shift,
    "rshift": p.right_shift,
    "divmod": lambda x, y: (p.floor_divide(x, y), p.remainder(x, y)),
}
_COMPARISON: dict[str, Callable[[Any, Any], Any]] = {
    "eq": p.equal,
    "ne": p.not_equal,
    "lt": p.less,
    "le": p.less_equal,
    "gt": p.greater,
    "ge": p.greater_equal,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": p.neg,
    "pos": p.positive,
    "abs": p.abs_,
    "invert": p.invert,
}


# ---- conversions of traced values ----------------------------------------------------------------


def _known_value(tracer: Tracer, conversion: str) -> Any:
    """The value of a tracer for a conversion that would cut its derivative: always an error.

    A value without derivatives, such as an integer or the result of ``stop_gradient``, is not a tracer under
    grad and jvp, and never gets here.
    """
    known = concrete(tracer)
    if known is None:
        raise TracerArrayConversionError(
            f"{conversion} needs the value of {describe_unknown(tracer)}, which is unknown while tracing ({here()}); use "
            "functions of fgrad.numpy on it, or make the argument static with static_argnums"
        )
    raise DerivativeCutError(
        f"{conversion} of a value that is being differentiated would silently cut its derivative ({tracer._trace.transform} "
        f"of {tracer._trace.name}, {here()}); use functions of fgrad.numpy on it, or {conversion} of "
        "fgrad.lax.stop_gradient(x) where no derivative is wanted"
    )


def _bool(self: Tracer) -> bool:
    if self.size != 1:
        raise ShapeError(
            f"the truth value of an array of shape {self.shape} is ambiguous ({here()}); use .any() or .all()"
        )
    known = concrete(self)
    if known is None:
        raise TracerBoolConversionError(
            f"a branch needs the truth value of {describe_unknown(self)}, which is unknown while tracing ({here()}); use "
            "fgrad.numpy.where or fgrad.lax.cond to choose by it, or make the argument static with static_argnums"
        )
    return bool(known)


def _index(self: Tracer) -> int:
    known = concrete(self)
    if known is None:
        raise TracerIntegerConversionError(
            f"an integer is needed here, but {describe_unknown(self)} is unknown while tracing ({here()}); make the argument "
            "static with static_argnums, or index arrays with it, which works on traced integers"
        )
    return known.__index__()  # type: ignore[no-any-return]


def _conversion(kind: type, name: str) -> Callable[[Tracer], Any]:
    def convert(self: Tracer) -> Any:
        if self.dtype.kind not in "fc" and concrete(self) is not None:
            return kind(concrete(self))
        return _known_value(self, name)

    return convert


def _as_array(self: Tracer, dtype: Any = None, copy: Any = None) -> Any:
    if self.dtype.kind not in "fc" and (known := concrete(self)) is not None:
        return np.asarray(known, dtype)
    return _known_value(self, "np.asarray(x)")


def _item(self: Any, *args: Any) -> Any:
    if args:
        return fnp.ravel(self)[args[0] if len(args) == 1 else args].item() if len(args) == 1 else self[args].item()
    if self.size != 1:
        raise ShapeError(f"item() of an array of shape {self.shape}: it has {self.size} elements, not one")
    return _known_value(self, ".item()") if self.dtype.kind in "fc" else concrete_or_raise(self, ".item()")


def concrete_or_raise(tracer: Tracer, conversion: str) -> Any:
    known = concrete(tracer)
    if known is None:
        return _known_value(tracer, conversion)
    return known.item() if hasattr(known, "item") else known


def _tolist(self: Tracer) -> Any:
    if self.dtype.kind in "fc" or concrete(self) is None:
        return _known_value(self, ".tolist()")
    return np.asarray(concrete(self)).tolist()


# ---- sequence protocol and assignment ------------------------------------------------------------


def _length(self: Any) -> int:
    if not self.shape:
        raise ShapeError("len() of a 0-d array; it has no axes")
    return int(self.shape[0])


def _iterate(self: Any) -> Iterator[Any]:
    if not self.shape:
        raise ShapeError("iteration over a 0-d array; it has no axes")
    return (self[i] for i in range(self.shape[0]))


def _assign(self: Any, index: Any, new: Any) -> None:
    raise InPlaceError(
        f"arrays do not change in place: x[{_index_words(index)}] = v ({here()}); write x = x.at[{_index_words(index)}].set(v), "
        "and .add(v) for +="
    )


def _delete(self: Any, index: Any) -> None:
    raise InPlaceError("arrays do not change in place; use fnp.delete(x, index, axis)")


def _index_words(index: Any) -> str:
    items = index if isinstance(index, tuple) else (index,)
    words = []
    for item in items:
        if isinstance(item, slice):
            bounds = ["" if b is None else _word(b) for b in (item.start, item.stop)]
            words.append(":".join(bounds) + ("" if item.step is None else f":{_word(item.step)}"))
        elif item is Ellipsis:
            words.append("...")
        else:
            words.append(_word(item))
    return ", ".join(words)


def _word(item: Any) -> str:
    if isinstance(item, (Tracer, np.ndarray)):
        return "i"
    text = repr(item)
    return text if len(text) <= 20 else "i"


def _contains(self: Any, item: Any) -> bool:
    return bool(fnp.any(fnp.equal(self, item)))


def _format(self: Tracer, spec: str) -> str:
    known = concrete(self)
    if known is None or not spec:
        return str(self)
    return format(known, spec)


def _text(self: Tracer) -> str:
    known = concrete(self)
    name = self._trace.transform
    if known is None:
        return f"Traced<{self.aval}> in {name}"
    return f"Traced<{self.aval}>({np.array2string(np.asarray(known), separator=', ')}) in {name}"


def _getattr(self: Tracer, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    hint = f"; use fgrad.numpy.{name}(x)" if callable(getattr(fnp, name, None)) else ""
    raise AttributeError(f"traced arrays have no attribute {name!r}{hint}")


# ---- methods ------------------------------------------------------------------------------------


def _transposed(self: Any, *axes: Any) -> Any:
    if not axes:
        return fnp.transpose(self)
    return fnp.transpose(self, axes[0] if len(axes) == 1 and not _is_int(axes[0]) else axes)


def _is_int(x: Any) -> bool:
    return isinstance(x, (int, np.integer))


def _reshape(self: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return fnp.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)


def _astype(self: Any, dtype: Any, order: Any = None, casting: Any = None, subok: Any = None, copy: bool = True, device: Any = None) -> Any:
    return fnp.astype(self, dtype)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"``fgrad.numpy.{function.__name__}`` of this array."
    return method


_METHODS = (
    "all any argmax argmin argpartition argsort choose clip compress conj conjugate cumprod cumsum diagonal dot max mean min "
    "nonzero partition prod ptp ravel repeat round searchsorted sort squeeze std sum swapaxes take trace var"
).split()


def _fill(self: Any, *args: Any, **kwargs: Any) -> None:
    raise InPlaceError("arrays do not change in place; use fnp.full_like(x, v)")


def _resize(self: Any, *args: Any, **kwargs: Any) -> None:
    raise InPlaceError("arrays do not change in place; use fnp.resize(x, shape)")


def _flat(self: Any) -> Any:
    return fnp.ravel(self)


def _mt(self: Any) -> Any:
    if len(self.shape) < 2:
        raise ShapeError(f".mT needs at least two axes, but the shape is {self.shape}")
    return fnp.swapaxes(self, -1, -2)


def _attach() -> None:
    for cls in (Tracer, Array):
        for name, apply in _ARITHMETIC.items():
            if name == "divmod":
                setattr(cls, "__divmod__", lambda self, other: fnp.divmod(self, other))
                setattr(cls, "__rdivmod__", lambda self, other: fnp.divmod(other, self))
                continue
            setattr(cls, f"__{name}__", _binary(apply))
            setattr(cls, f"__r{name}__", _reflected(apply))
            if cls is Array:
                # ndarray's own in-place operators would write; these rebind the name.
                setattr(cls, f"__i{name}__", _binary(apply))
        for name, apply in _COMPARISON.items():
            setattr(cls, f"__{name}__", _binary(apply))
        for name, apply_one in _UNARY.items():
            setattr(cls, f"__{name}__", _unary(apply_one))
        for name in _METHODS:
            setattr(cls, name, _method(getattr(fnp, name)))
        common: dict[str, Any] = {
            "__getitem__": lambda self, index: wrap(getitem(_inside(self), index)),
            "__setitem__": _assign,
            "__delitem__": _delete,
            "__len__": _length,
            "__iter__": _iterate,
            "__contains__": _contains,
            "__array_priority__": 1000,
            "__array_namespace__": lambda self, *, api_version=None: fnp,
            "T": property(lambda self: fnp.transpose(self)),
            "mT": property(_mt),
            "at": property(lambda self: IndexUpdater(self)),
            "real": property(lambda self: fnp.real(self)),
            "imag": property(lambda self: fnp.imag(self)),
            "flat": property(_flat),
            "astype": _astype,
            "reshape": _reshape,
            "transpose": _transposed,
            "flatten": lambda self, order="C": fnp.ravel(self, order=order),
            "fill": _fill,
            "resize": _resize,
            "put": _assign,
            "block_until_ready": lambda self: self,
            "sharding": property(lambda self: None),
            "aval": property(lambda self: aval_of(_inside(self))) if cls is Array else cls.__dict__.get("aval"),
        }
        for name, member in common.items():
            if member is not None:
                setattr(cls, name, member)
    tracer_only: dict[str, Any] = {
        "__bool__": _bool,
        "__index__": _index,
        "__int__": _conversion(int, "int(x)"),
        "__float__": _conversion(float, "float(x)"),
        "__complex__": _conversion(complex, "complex(x)"),
        "__array__": _as_array,
        "__format__": _format,
        "__repr__": _text,
        "__str__": _text,
        "__getattr__": _getattr,
        "__copy__": lambda self: self,
        "__deepcopy__": lambda self, memo: self,
        "item": _item,
        "tolist": _tolist,
        "copy": lambda self, order="K": self,
        "view": lambda self, dtype=None: _view(self, dtype),
        "nbytes": property(lambda self: self.size * self.dtype.itemsize),
        "itemsize": property(lambda self: self.dtype.itemsize),
        "__array_ufunc__": protocols.tracer_ufunc,
        "__array_function__": protocols.tracer_function,
    }
    for name, member in tracer_only.items():
        setattr(Tracer, name, member)
    array_only: dict[str, Any] = {
        "copy": lambda self, order="C": copy.deepcopy(self),
        "__array_ufunc__": protocols.array_ufunc,
        "__array_function__": protocols.array_function,
    }
    for name, member in array_only.items():
        setattr(Array, name, member)


def _view(self: Any, dtype: Any) -> Any:
    if dtype is None or np.dtype(dtype) == self.dtype:
        return self
    raise ArgumentError("view of a traced array as another dtype is not defined; use .astype(dtype) to convert")


_attach()

