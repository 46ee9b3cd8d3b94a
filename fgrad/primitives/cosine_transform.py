"""Discrete cosine transforms in their orthogonal form, of which the others differ by weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.parameters import parameters
from fgrad.primitives.families import Linear

#: The transform that undoes, and transposes, each of them.
INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


@parameters
class Cosines(Linear):
    """The orthogonal cosine transform of a kind from 1 to 4 along an axis.   f[*s] -> f[*s]"""

    kind: int
    axis: int

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x

    def impl(self, x: Any) -> Any:
        import scipy.fft

        if not x.size:
            return np.empty(x.shape, x.dtype)
        transform: Any = scipy.fft.dct
        return transform(x, self.kind, axis=self.axis, norm="ortho")

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (Cosines(INVERSE[self.kind], self.axis)(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return Cosines(self.kind, self.axis + 1)(args[0]), True
