"""What programs look at from within: traced values, their types, and the parts of a jaxpr."""

from __future__ import annotations

import sys as _sys
from typing import Any

from fgrad import dtypes
from fgrad.array import value
from fgrad.avals import Aval, aval_of
from fgrad.ir.jaxpr import Eqn as JaxprEqn
from fgrad.ir.jaxpr import Jaxpr, Literal, Var
from fgrad.numpy._support import DTypeLike, static_shape
from fgrad.source_info import guard as _guard
from fgrad.tracing import Tracer
from fgrad.transforms.compile_time import ensure_compile_time_eval

__all__ = [
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "ShapedArray",
    "Tracer",
    "Var",
    "ensure_compile_time_eval",
    "get_aval",
]


class _IsAval(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Aval)


class ShapedArray(metaclass=_IsAval):
    """The type of an array: shape, dtype, and whether it stands for a Python number.

    Every abstract value of fgrad is an instance, such as ``tracer.aval``.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype-like
    weak_type : bool
        Whether it takes the dtype of what it meets; only for values without axes.
    sharding : Sharding, optional
        Accepted: the type says nothing of devices.

    Examples
    --------
    >>> import fgrad
    >>> aval = fgrad.core.ShapedArray((2, 3), "float32")
    >>> aval.shape, aval.ndim, aval.dtype
    ((2, 3), 2, dtype('float32'))
    >>> isinstance(aval, fgrad.core.ShapedArray)
    True
    """

    def __new__(
        cls, shape: Any, dtype: DTypeLike, weak_type: bool = False, *, sharding: Any = None
    ) -> Any:
        """An abstract value."""
        sizes = static_shape(shape, "ShapedArray")
        found = dtypes.as_dtype(dtype, "ShapedArray: dtype")
        return Aval(sizes, found, bool(weak_type) and not sizes)


def get_aval(x: Any) -> Aval:
    """The type of an array, number or traced value.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ShapedArray

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.core.get_aval(np.zeros((2, 3))).shape
    (2, 3)
    >>> fgrad.core.get_aval(1.0).weak_type
    True
    """
    return aval_of(value(x, "get_aval: x"))


_guard(_sys.modules[__name__])
