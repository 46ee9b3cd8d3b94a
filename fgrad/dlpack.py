"""Arrays of other libraries, without a copy where nobody can write to them, by the DLPack protocol."""

from __future__ import annotations

import sys as _sys
from typing import Any

import numpy as np

import fgrad.numpy as fnp
from fgrad.array import Array
from fgrad.numpy._support import DTypeLike
from fgrad.source_info import guard as _guard

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """An array from one of another library that speaks DLPack, as `fgrad.numpy.from_dlpack` makes it.

    Parameters
    ----------
    external_array : object
        With a ``__dlpack__`` method and its data in main memory.
    device
        Accepted for compatibility: there is one memory.
    copy : bool, optional
        Memory that somebody can write to is always copied.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.dlpack.from_dlpack(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    return fnp.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Whether arrays of a dtype can be handed over by DLPack.

    Parameters
    ----------
    dtype : dtype-like

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad
    >>> fgrad.dlpack.is_supported_dtype("float32")
    True
    """
    try:
        np.zeros(1, dtype).__dlpack__()
    except (BufferError, TypeError):
        return False
    return True


_guard(_sys.modules[__name__])
