"""NumPy's own functions on fgrad's values: NEP 13 (ufuncs) and NEP 18 (functions).

On arrays they compute what NumPy computes and return plain NumPy arrays, which a caller may write to. On
traced values they run the function of `fgrad.numpy` that has the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad.array import Array, plain, wrap
from fgrad.errors import ArgumentError, InPlaceError, NonArrayError
from fgrad.numpy._support import operand, strong
from fgrad.tracing import Tracer

#: NumPy ufunc or function -> the function of fgrad that stands for it; filled by `register`.
_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_REDUCTIONS: dict[str, tuple[str, str | None]] = {
    "add": ("sum", "cumsum"),
    "multiply": ("prod", "cumprod"),
    "maximum": ("max", None),
    "minimum": ("min", None),
    "logical_and": ("all", None),
    "logical_or": ("any", None),
}


def register(namespace: dict[str, Any], numpy_namespace: Any = np) -> None:
    """Let NumPy's functions find their counterparts, by name."""
    for name, function in namespace.items():
        theirs = getattr(numpy_namespace, name, None)
        if callable(theirs) and callable(function) and not isinstance(theirs, type):
            _FUNCTIONS.setdefault(theirs, function)


def _by_name(name: str) -> Callable[..., Any] | None:
    theirs = getattr(np, name, None)
    return None if theirs is None else _FUNCTIONS.get(theirs)


def strip(x: Any) -> Any:
    """Arrays, also inside lists and tuples, as the plain arrays that they hold."""
    if type(x) is Array:
        inside = plain(x)
        return inside if type(inside) is np.ndarray else x.view(np.ndarray)
    if type(x) in (list, tuple):
        return type(x)(map(strip, x))
    return x


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``np.sin(x)`` and its kin on arrays."""
    if any(isinstance(x, Tracer) for x in inputs):
        return tracer_ufunc(self, ufunc, method, *inputs, **kwargs)
    out = kwargs.get("out")
    if out is not None:
        for target in out:
            if type(target) is Array:
                raise InPlaceError(
                    f"np.{ufunc.__name__}(..., out=x): x is an array of fgrad, which does not change; use np.array(x) for a "
                    "writable copy"
                )
    where = kwargs.get("where")
    if where is not None:
        kwargs["where"] = strip(where)
    # A weak array is a Python number for NumPy too.
    stripped = [plain(x) if type(x) is Array else x for x in inputs]
    return getattr(ufunc, method)(*stripped, **kwargs)


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """``np.concatenate([x, y])`` and its kin on arrays."""
    if any(issubclass(t, Tracer) for t in types):
        return tracer_function(self, function, types, args, kwargs)
    return function(*strip(list(args)), **{name: strip(arg) for name, arg in kwargs.items()})


def tracer_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``np.sin(x)`` and its kin on traced values."""
    name = ufunc.__name__
    if kwargs.pop("out", None) is not None:
        raise InPlaceError(
            f"np.{name}(..., out=x) would write traced values into an array; use the result instead"
        )
    dtype = kwargs.pop("dtype", None)
    if method in ("reduce", "accumulate"):
        function = _reduction(name, method)
        if method == "reduce":
            kwargs.setdefault("axis", inputs[1] if len(inputs) > 1 else 0)
        elif "axis" not in kwargs:
            kwargs["axis"] = inputs[1] if len(inputs) > 1 else 0
        return function(inputs[0], **kwargs, **({} if dtype is None else {"dtype": dtype}))
    function = _FUNCTIONS.get(ufunc)
    if function is None:
        raise NonArrayError(
            f"the ufunc {name} has no counterpart in fgrad, so that traced values cannot pass through it; "
            "declare it with fgrad.extend, or compute it outside of the trace"
        )
    if method == "outer":
        first, second = inputs
        shape = np.shape(first) + (1,) * np.ndim(second)
        return tracer_ufunc(self, ufunc, "__call__", operand(first, name).reshape(shape), second, **kwargs)
    if method != "__call__" or set(kwargs) - {"casting", "order", "subok", "signature"}:
        listed = ", ".join([method, *kwargs])
        raise ArgumentError(f"np.{name} on traced values does not support {listed}; use functions of fgrad.numpy")
    result = function(*inputs)
    results = result if isinstance(result, tuple) else (result,)
    # NumPy's own functions make strong results of Python numbers.
    outs = tuple(wrap(strong(operand(r, name))) for r in results)
    if dtype is not None:
        outs = tuple(o.astype(dtype) for o in outs)
    return outs if isinstance(result, tuple) else outs[0]


def _reduction(name: str, method: str) -> Callable[..., Any]:
    pair = _REDUCTIONS.get(name)
    found = None if pair is None else pair[0] if method == "reduce" else pair[1]
    function = None if found is None else _by_name(found)
    if function is None:
        raise ArgumentError(f"np.{name}.{method} on traced values is not supported; use functions of fgrad.numpy")
    return function


def tracer_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """``np.concatenate([x, y])`` and its kin on traced values."""
    ours = _FUNCTIONS.get(function)
    if ours is None:
        module = getattr(function, "__module__", "numpy")
        raise NonArrayError(
            f"{module}.{function.__name__} has no counterpart in fgrad.numpy, so that traced values cannot pass through it"
        )
    if kwargs.get("out") is not None:
        raise InPlaceError(
            f"np.{function.__name__}(..., out=x) would write traced values into an array; use the result instead"
        )
    return ours(*args, **kwargs)
