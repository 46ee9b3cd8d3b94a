"""NumPy's own functions on fgrad's values: NEP 13 (ufuncs) and NEP 18 (functions).

On arrays they compute what NumPy computes and return plain NumPy arrays, which a caller may write to. On
traced values they run the function of `fgrad.numpy` that has the same name.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from fgrad.array import Array, plain, wrap
from fgrad.errors import ArgumentError, InPlaceError, NonArrayError
from fgrad.numpy._support import operand, strong
from fgrad.numpy.replacements import argument_text
from fgrad.source_info import here
from fgrad.tracing import Tracer, in_words

#: NumPy ufunc or function -> the function of fgrad that stands for it; filled by `register`.
_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
#: Name of a module that is imported late -> names of its functions and what stands for them.
_LATE: dict[str, Mapping[str, Callable[..., Any]]] = {}

#: What the operators of a NumPy scalar on the left call.
_OPERATORS = frozenset(
    (
        np.add,
        np.subtract,
        np.multiply,
        np.true_divide,
        np.floor_divide,
        np.remainder,
        np.power,
        np.matmul,
        np.bitwise_and,
        np.bitwise_or,
        np.bitwise_xor,
        np.left_shift,
        np.right_shift,
        np.equal,
        np.not_equal,
        np.less,
        np.less_equal,
        np.greater,
        np.greater_equal,
    )
)
#: Functions of NumPy that write into their first argument, and what their other ones are called.
_WRITING = {
    np.copyto: "v",
    np.fill_diagonal: "v",
    np.place: "mask, v",
    np.put: "i, v",
    np.put_along_axis: "i, v, axis",
    np.putmask: "mask, v",
}
#: Ufuncs whose method `at` is one of ``x.at[i]``, under these names.
_UPDATES = {
    np.add: "add",
    np.subtract: "subtract",
    np.multiply: "multiply",
    np.true_divide: "divide",
    np.power: "power",
    np.minimum: "min",
    np.maximum: "max",
}
#: Arguments that ask for something about memory or casting, which the functions of fgrad decide.
_INERT = frozenset(("casting", "copy", "like", "order", "subok"))


def register(names: Iterable[str], ours: ModuleType, theirs: ModuleType) -> None:
    """Let the functions of a module of NumPy find those of the same names in one of fgrad."""
    for name in names:
        function, counterpart = getattr(ours, name), getattr(theirs, name, None)
        if not callable(counterpart) or isinstance(counterpart, type) or counterpart is function:
            continue
        # Of several names for one function, the one that it has itself counts.
        if callable(function) and (counterpart not in _FUNCTIONS or counterpart.__name__ == name):
            _FUNCTIONS[counterpart] = function


def register_late(module: str, functions: Mapping[str, Callable[..., Any]]) -> None:
    """The same for a module that fgrad does not import by itself: it is looked at when it is there."""
    _LATE[module] = {**_LATE.get(module, {}), **functions}


def counterpart(theirs: Any) -> Callable[..., Any] | None:
    """The function of fgrad that stands for one of NumPy or SciPy."""
    found = _FUNCTIONS.get(theirs)
    if found is None:
        name = getattr(theirs, "__name__", "")
        for module, functions in _LATE.items():
            if name in functions and getattr(sys.modules.get(module), name, None) is theirs:
                found = _FUNCTIONS[theirs] = functions[name]
    return found


# ---- on arrays -----------------------------------------------------------------------------------


def strip(x: Any) -> Any:
    """Arrays, also inside lists and tuples, as the plain arrays that they hold."""
    kind = type(x)
    if kind is Array:
        inside = plain(x)
        return inside if type(inside) is np.ndarray else x.view(np.ndarray)
    if kind is list or kind is tuple:
        return kind(map(strip, x))
    return x


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``np.sin(x)`` and its kin on arrays."""
    for x in inputs:
        if isinstance(x, Tracer):
            return tracer_ufunc(self, ufunc, method, *inputs, **kwargs)
    if method == "__call__":
        if not kwargs and isinstance(inputs[0], np.generic) and ufunc in _OPERATORS:
            # A NumPy scalar on the left of an operator: it gives an array of fgrad, as on the right.
            return _FUNCTIONS[ufunc](*inputs)
        # A weak array is a Python number for NumPy too.
        inputs = tuple([plain(x) if type(x) is Array else x for x in inputs])
    else:
        if method == "at" and type(inputs[0]) is Array:
            raise _updated(ufunc, inputs)
        inputs = tuple([strip(x) for x in inputs])
    if "out" in kwargs:
        for target in kwargs["out"]:
            if type(target) is Array:
                raise _answered_into(f"np.{ufunc.__name__}", target)
    if "where" in kwargs:
        kwargs["where"] = strip(kwargs["where"])
    return getattr(ufunc, method)(*inputs, **kwargs)


def _written_to(call: str, target: Any, instead: str) -> InPlaceError:
    """The error of a call that writes into an array where that cannot be."""
    if isinstance(target, Tracer):
        why = f"would write into a {in_words(target.aval)}, in {target._trace.title}, which does not change"
    elif type(target) is Array:
        why = "would write into an array of fgrad, which does not change (np.array(x) is a writable copy)"
    else:
        why = "would write a traced value into a NumPy array, which cannot hold one"
    return InPlaceError(f"{call} {why} ({here()}); use {instead}")


def _answered_into(name: str, target: Any) -> InPlaceError:
    if not isinstance(target, (Array, Tracer)):
        return _written_to(
            f"{name}(..., out=a), or an operator such as a += x,",
            target,
            "the result of the function, or a = a + x",
        )
    return _written_to(
        f"{name}(..., out=x)", target, f"the result of the function, as in x = {name}(...)"
    )


def _updated(ufunc: Any, inputs: Any) -> InPlaceError:
    """The error of ``np.add.at(x, i, v)`` and its kin."""
    target = inputs[0]
    x = argument_text(0, assignable=True) or "x"
    index = argument_text(1, assignable=False) or "i"
    changed = (
        f"{x}.at[{index}]"
        if isinstance(target, (Array, Tracer))
        else f"fnp.asarray({x}).at[{index}]"
    )
    if ufunc in _UPDATES:
        update = f"{changed}.{_UPDATES[ufunc]}(v)"
    elif ufunc.nin == 1:
        update = f"{changed}.apply(fnp.{ufunc.__name__})"
    else:
        update = f"{changed}.set(fnp.{ufunc.__name__}({x}[{index}], v))"
    return _written_to(f"np.{ufunc.__name__}.at({x}, ...)", target, f"{x} = {update}")


def _assigned(function: Any, target: Any, kwargs: Any) -> InPlaceError:
    """The error of ``np.fill_diagonal(x, v)`` and its kin."""
    name = function.__name__
    x = argument_text(0, assignable=True) or "x"
    if function is np.copyto:
        source = argument_text(1, assignable=False) or "v"
        made = f"fnp.full_like({x}, {source})"
        if "where" in kwargs:
            made = f"fnp.where(mask, {source}, {x})"
        instead = f"{x} = {made}"
    else:
        instead = f"{x} = fnp.{name}({x}, {_WRITING[function]}, inplace=False)"
    return _written_to(f"np.{name}({x}, ...)", target, instead)


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """``np.concatenate([x, y])`` and its kin on arrays."""
    for t in types:
        if issubclass(t, Tracer):
            return tracer_function(self, function, types, args, kwargs)
    if function in _WRITING and args and type(args[0]) is Array:
        raise _assigned(function, args[0], kwargs)
    if type(kwargs.get("out")) is Array:
        raise _answered_into(f"np.{function.__name__}", kwargs["out"])
    return function(*map(strip, args), **{name: strip(arg) for name, arg in kwargs.items()})


# ---- on traced values ------------------------------------------------------------------------------


def _by_numpy_rules(result: Any) -> Any:
    """NumPy's own functions make strong results of Python numbers."""
    if isinstance(result, (Array, Tracer)):
        return wrap(strong(operand(result, "a function of NumPy")))
    if isinstance(result, tuple) and hasattr(result, "_make"):
        return result._make(map(_by_numpy_rules, result))
    if isinstance(result, (list, tuple)):
        return type(result)(map(_by_numpy_rules, result))
    return result


def tracer_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """``np.sin(x)`` and its kin on traced values."""
    name = ufunc.__name__
    out = kwargs.pop("out", None)
    if out is not None:
        raise _answered_into(f"np.{name}", next((t for t in out if t is not None), None))
    if method == "at":
        raise _updated(ufunc, inputs)
    function = counterpart(ufunc)
    if function is None:
        raise NonArrayError(
            f"the ufunc {name} has no counterpart in fgrad, so that traced values cannot pass through it "
            f"({here()}); declare it with fgrad.extend, or compute it outside of the trace"
        )
    if method in ("reduce", "accumulate", "reduceat"):
        along = getattr(function, method, None)
        if along is None:
            raise ArgumentError(
                f"np.{name}.{method} on traced values is not defined ({here()}); use functions of fgrad.numpy"
            )
        return _by_numpy_rules(along(*inputs, **_accepted(along, kwargs, f"np.{name}.{method}")))
    dtype = kwargs.pop("dtype", None)
    if method == "outer":
        first, second = (operand(x, name) for x in inputs)
        inputs = (
            _with_axes(first, np.ndim(second) if not isinstance(second, Tracer) else second.ndim),
            second,
        )
    elif method != "__call__":
        raise ArgumentError(
            f"np.{name}.{method} on traced values is not supported ({here()}); use functions of fgrad.numpy"
        )
    kwargs = _accepted(function, kwargs, f"np.{name}")
    result = _by_numpy_rules(function(*inputs, **kwargs))
    if dtype is None:
        return result
    return (
        tuple(r.astype(dtype) for r in result)
        if isinstance(result, tuple)
        else result.astype(dtype)
    )


def _with_axes(x: Any, count: int) -> Any:
    wrapped = wrap(x)
    return wrapped.reshape(wrapped.shape + (1,) * count)


@functools.cache
def _parameters(function: Callable[..., Any]) -> frozenset[str] | None:
    """The names of the arguments that a function takes by keyword; None if it takes any."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY)


def _accepted(function: Callable[..., Any], kwargs: dict[str, Any], name: str) -> dict[str, Any]:
    """The keyword arguments of a NumPy call that its counterpart takes."""
    names = _parameters(function)
    accepted = {}
    for key, given in kwargs.items():
        if given is np._NoValue:
            continue
        if names is None or key in names:
            accepted[key] = given
        elif key == "where" and given is True:
            continue
        elif key not in _INERT and given is not None:
            raise ArgumentError(
                f"{name} on traced values does not take {key}= ({here()}); use functions of fgrad.numpy"
            )
    return accepted


def tracer_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """``np.concatenate([x, y])`` and its kin on traced values."""
    name = f"{getattr(function, '__module__', None) or 'numpy'}.{function.__name__}"
    name = "np." + name.removeprefix("numpy.") if name.startswith("numpy.") else name
    if function in _WRITING:
        raise _assigned(function, args[0] if args else None, kwargs)
    if kwargs.get("out") is not None:
        raise _answered_into(name, kwargs["out"])
    ours = counterpart(function)
    if ours is None:
        raise NonArrayError(
            f"{name} has no counterpart in fgrad, so that traced values cannot pass through it ({here()}); use "
            "functions of fgrad.numpy"
        )
    return _by_numpy_rules(ours(*args, **_accepted(ours, kwargs, name)))
