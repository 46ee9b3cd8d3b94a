"""Functions of arrays that are not traced: what most calls of a program are.

They run NumPy's function and nothing else. All other arguments, and errors, which are to be said in the
user's words, take the way through the primitive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad.array import Array, wrap_own
from fgrad.config import switches

_PYTHON = frozenset((float, int, bool, complex))
# What NumPy raises where a dtype or a shape is at fault, and an Array without a value inside as yet.
_REFUSALS = (AttributeError, TypeError, ValueError)


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
