"""The dtypes of results: what a ufunc gives, and what values promote to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval
from fgrad.errors import DTypeError

_PYTHON_DTYPES = frozenset(dtypes.PYTHON_DTYPES.values())


def ufunc_dtype(name: str, ufunc: Any, avals: Sequence[Aval]) -> np.dtype[Any]:
    """The dtype that a NumPy ufunc gives operands of these types (NEP 50).

    Raises
    ------
    DTypeError
        If the ufunc has no loop for them.
    """
    if not isinstance(ufunc, np.ufunc):
        return ufunc(avals)  # type: ignore[no-any-return]
    operands = [_nep50_operand(a) for a in avals]
    try:
        return ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout))[len(operands)]
    except TypeError:
        listed = " and ".join(a.dtype.name for a in avals)
        raise DTypeError(
            f"{name} is not defined for {listed}; convert with .astype to a dtype that it takes"
        ) from None


def _nep50_operand(aval: Aval) -> Any:
    if aval.weak and aval.dtype != dtypes.BOOL:
        return dtypes.python_type(aval.dtype)
    return aval.dtype


def common_dtype(avals: Iterable[Aval]) -> np.dtype[Any]:
    """The dtype that values of these types promote to (NEP 50)."""
    avals = list(avals)
    first = avals[0].dtype
    if not any([a.weak or a.dtype != first for a in avals]):
        return dtypes.canonical(first)
    if any([a.dtype in dtypes.NARROW for a in avals]):
        return _common_with_narrow(avals)
    if not any([a.dtype != first for a in avals]) and first in _PYTHON_DTYPES:
        # Python numbers of one type, or beside arrays of theirs.
        return dtypes.canonical(first)
    samples = [_weak_sample(a) if a.weak else a.dtype for a in avals]
    return dtypes.canonical(np.result_type(*samples))


def _common_with_narrow(avals: Sequence[Aval]) -> np.dtype[Any]:
    others = [
        _weak_sample(a) if a.weak else a.dtype
        for a in avals
        if a.dtype not in dtypes.NARROW and dtypes.is_inexact(a.dtype)
    ]
    wide = np.result_type(dtypes.FLOAT32, *others)
    narrow = dtypes.promotion_of_narrow(avals, wide)
    return wide if wide.kind == "c" else narrow


def _weak_sample(aval: Aval) -> Any:
    return dtypes.python_type(aval.dtype)(0)
