"""The order of columns in which a QR decomposition with pivoting takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval
from fgrad.parameters import parameters
from fgrad.primitives.families import NonDifferentiable


@parameters
class PivotColumns(NonDifferentiable):
    """Each next column adds most to those before.   f[*b, m, n] -> i32[*b, n]"""

    def abstract_eval(self, a: Aval) -> Aval:  # type: ignore[override]
        return Aval((*a.shape[:-2], a.shape[-1]), dtypes.INT32)

    def impl(self, a: Any) -> Any:
        import scipy.linalg

        order = np.empty((*a.shape[:-2], a.shape[-1]), np.int32)
        for i in np.ndindex(*a.shape[:-2]):
            if not a[i].size or not np.isfinite(a[i]).all():
                order[i] = np.arange(a.shape[-1])
            else:
                order[i] = scipy.linalg.qr(a[i], mode="r", pivoting=True)[1]
        return order

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True
