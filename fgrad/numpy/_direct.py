"""Functions of arrays that are not traced: what most calls of a program are.

They run NumPy's function and nothing else. All other arguments, and errors, which are to be said in the
user's words, take the way through the primitive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad.array import Array, wrap_own, wrap_view
from fgrad.config import switches
from fgrad.primitives.families import array_in_shape
from fgrad.primitives.sums import sum_over_axis
from fgrad.tracing import innermost_body

ndarray = np.ndarray
_PYTHON = frozenset((float, int, bool, complex))
# Others are summed in another dtype than that of the mean.
_AVERAGED = frozenset(map(np.dtype, "fdFD"))
# By position of the new axis.
_NEW_AXIS = {axis: (*(slice(None),) * axis, None) for axis in range(64)}
# What NumPy raises where a dtype, a shape or a number is at fault, and an Array without a value inside as yet.
_REFUSALS = (AttributeError, TypeError, ValueError, OverflowError)


def on_one_array(
    compute: Callable[[Any], Any], otherwise: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """`otherwise`, a function of a user's argument, but `compute` on an array of numbers."""

    def function(x: Any, /) -> Any:
        if type(x) is Array and switches.as_numpy:
            try:
                inside = x._value
                if type(inside) not in _PYTHON:
                    return wrap_own(compute(inside))
            except _REFUSALS:
                pass
        return otherwise(x)

    return function


def on_two_arrays(
    compute: Callable[[Any, Any], Any],
    otherwise: Callable[[Any, Any], Any],
    reflected: bool = False,
) -> Callable[[Any, Any], Any]:
    """The same for two arguments, the second of which may be a Python number; `reflected` exchanges them."""

    def function(x: Any, y: Any, /) -> Any:
        if type(x) is Array and switches.as_numpy:
            kind = type(y)
            if kind is Array or kind is float or kind is int:
                try:
                    first = x._value
                    second = y._value if kind is Array else y
                    if type(first) not in _PYTHON or type(second) not in _PYTHON:
                        # A Python number among them stays weak, as in NumPy.
                        return wrap_own(
                            compute(second, first) if reflected else compute(first, second)
                        )
                except _REFUSALS:
                    pass
        return otherwise(x, y)

    return function


def on_three_arrays(
    compute: Callable[[Any, Any, Any], Any], otherwise: Callable[[Any, Any, Any], Any]
) -> Callable[[Any, Any, Any], Any]:
    """The same for three arguments, of which `compute` refuses Python numbers where they would count."""

    def function(x: Any, y: Any, z: Any, /) -> Any:
        if type(x) is Array and switches.as_numpy:
            second, third = type(y), type(z)
            if (second is Array or second is float) and (third is Array or third is float):
                try:
                    return wrap_own(
                        compute(
                            x._value,
                            y._value if second is Array else y,
                            z._value if third is Array else z,
                        )
                    )
                except _REFUSALS:
                    pass
        return otherwise(x, y, z)

    return function


# ---- functions with more arguments: None where these need the long way --------------------------


def reduced_array(reduce: Callable[..., Any], a: Any, axis: Any, keepdims: Any) -> Array | None:
    """An array reduced by a ufunc over the axes that a user names."""
    if type(a) is Array and switches.as_numpy:
        try:
            inside = a._value
            # NumPy takes arrays without axes for arrays with one, and multiplies by 1 over no axes.
            if type(inside) is ndarray and (
                axis is None or (inside.ndim and (type(axis) is int or axis))
            ):
                return wrap_own(reduce(inside, axis, None, None, keepdims))  # type: ignore[no-any-return]
        except _REFUSALS:
            pass
    return None


def called(function: Callable[..., Any], a: Any, *arguments: Any) -> Array | None:
    """What a function of NumPy's makes of an array with axes, and of arguments that are not traced."""
    if type(a) is Array and switches.as_numpy:
        try:
            inside = a._value
            if type(inside) is ndarray and inside.ndim:
                return wrap_own(function(inside, *arguments))  # type: ignore[no-any-return]
        except (*_REFUSALS, LookupError):
            pass
    return None


def averaged_array(a: Any, axis: Any, keepdims: Any) -> Array | None:
    """The mean of an array of floats over all axes or one of them."""
    if type(a) is Array and (axis is None or type(axis) is int) and switches.as_numpy:
        try:
            inside = a._value
            if (
                type(inside) is ndarray
                and inside.dtype in _AVERAGED
                and (axis is None or inside.ndim)
            ):
                total = sum_over_axis(inside, axis, None, None, keepdims)
                count = inside.size if axis is None else inside.shape[axis]
                # A Python number, which leaves sums their dtype.
                return wrap_own(total / float(count))  # type: ignore[no-any-return]
        except _REFUSALS:
            pass
    return None


def reshaped_array(a: Any, shape: Any) -> Array | None:
    """The elements of an array in another shape."""
    if type(a) is Array and shape and switches.as_numpy:
        try:
            inside = a._value
            # NumPy takes any negative size for what is left.
            if type(inside) is ndarray and min(shape) >= -1:
                return wrap_view(array_in_shape(inside, shape))  # type: ignore[no-any-return]
        except _REFUSALS:
            pass
    return None


def joined_arrays(arrays: Any, axis: Any, new: bool = False) -> Array | None:
    """Arrays joined along an axis that they have, or along a new one."""
    kind = type(arrays)
    if (kind is list or kind is tuple) and switches.as_numpy:
        try:
            # Python numbers among them are refused by NumPy.
            inside = [x._value for x in arrays if type(x) is Array]
            if len(inside) == len(arrays):
                if new:
                    index = _NEW_AXIS[axis]
                    inside = [x[index] for x in inside]
                return wrap_own(np.concatenate(inside, axis))  # type: ignore[no-any-return]
        except (*_REFUSALS, LookupError):
            pass
    return None


def created_array(create: Callable[..., Any], shape: Any, dtype: Any) -> Array | None:
    """A new array of known numbers, where no body is open that it might belong to; None is NumPy's dtype."""
    kind = type(shape)
    if (kind is int or kind is tuple) and shape and switches.as_numpy and innermost_body() is None:
        try:
            return wrap_own(create(shape, dtype))  # type: ignore[no-any-return]
        except _REFUSALS:
            pass
    return None
