"""Names for intermediate results, by which policies of checkpoints choose them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.ir.jaxpr import Jaxpr, Var
from fgrad.parameters import parameters
from fgrad.primitives.families import Linear

_PLACEHOLDER = Var(Aval((), np.dtype(float)))
_IDENTITY = Jaxpr((), (), (_PLACEHOLDER,), (), (_PLACEHOLDER,))


@parameters
class NameResult(Linear):
    """The operand itself, under a name.   a[*s] -> a[*s]"""

    label: str
    view = True
    keeps_nan = True
    # What is yet to be differentiated keeps its names; compiled code does not.
    has_rule = True
    #: A policy that chooses this chooses the operand.
    names_operand = True

    @property
    def inlinable(self) -> Jaxpr | None:  # type: ignore[override]
        return _IDENTITY

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x

    def impl(self, x: Any) -> Any:
        return x.view() if type(x) is np.ndarray else x

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (self(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return names[0]
