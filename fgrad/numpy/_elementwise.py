"""Elementwise functions of arrays that are not traced: what most calls of a program are.

They run NumPy's function and nothing else. All other arguments, and errors, which are to be said in the
user's words, take the way through the primitive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad.array import Array, wrap_own
from fgrad.config import switches
from fgrad.primitives.families import Elementwise

ndarray = np.ndarray
_PYTHON = frozenset((float, int, bool, complex))


def on_one_array(primitive: Elementwise, otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`otherwise`, a function of one user's argument that applies `primitive`, and sooner on an array."""
    compute = primitive.compute

    def function(x: Any, /) -> Any:
        if type(x) is Array and switches.as_numpy:
            try:
                inside = x._value
                if type(inside) not in _PYTHON:
                    return wrap_own(compute(inside))
            except (AttributeError, TypeError, ValueError):
                pass
        return otherwise(x)

    return function


def on_two_arrays(
    primitive: Elementwise, otherwise: Callable[[Any, Any], Any], reflected: bool = False
) -> Callable[[Any, Any], Any]:
    """The same for two arguments, the second of which may be a Python number; `reflected` exchanges them."""
    compute = primitive.compute

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
                except (AttributeError, TypeError, ValueError):
                    pass
        return otherwise(x, y)

    return function
