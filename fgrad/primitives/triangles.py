"""Masks of triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval
from fgrad.parameters import parameters
from fgrad.primitives.families import NonDifferentiable, creation_is_staged


@parameters
class Tri(NonDifferentiable):
    """Where a matrix lies on or below a diagonal.   -> bool[rows, columns]"""

    rows: int
    columns: int
    offset: int
    creates = True

    def staged(self) -> bool:
        return creation_is_staged((self.rows, self.columns))

    def abstract_eval(self) -> Aval:  # type: ignore[override]
        return Aval((self.rows, self.columns), dtypes.BOOL)

    def impl(self) -> Any:
        return np.tri(self.rows, self.columns, self.offset, dtype=bool)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(), False

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.tri({self.rows}, {self.columns}, {self.offset}, dtype=np.bool_)"
