"""Functions of which some arguments are known: their known results, and a program for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fgrad.array import value
from fgrad.avals import Aval, ShapeDtypeStruct, aval_of
from fgrad.compat.wrapped_functions import WrappedFun
from fgrad.ir.jaxpr import Jaxpr
from fgrad.tracing import concrete
from fgrad.transforms.make_jaxpr import make_jaxpr

__all__ = ["PartialVal", "trace_to_jaxpr_nounits"]


class PartialVal(NamedTuple):
    """A value that is known, or the type of one that is not."""

    aval: Any
    const: Any

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A value."""
        return cls(None, const)

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """The type of a value."""
        return cls(aval, None)

    def is_known(self) -> bool:
        """Whether there is a value."""
        return self.aval is None

    def get_known(self) -> Any:
        """The value, if there is one."""
        return self.const if self.aval is None else None

    def get_aval(self) -> Aval:
        """The type in any case."""
        return aval_of(value(self.const)) if self.aval is None else self.aval


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Record a function, leaving out what its known arguments decide.

    Returns
    -------
    jaxpr, values, constants
        The program of the unknown results, a `PartialVal` for each result, and the constants of the program.
    """
    known: list[Any] = []

    def of_unknown(*unknown: Any) -> list[Any]:
        rest = iter(unknown)
        args = [p.const if p.is_known() else next(rest) for p in pvals]
        outs = list(fun.call_wrapped(*args))
        wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else list(instantiate)
        known[:] = [
            None if keep or concrete(value(out)) is None else PartialVal.known(out)
            for out, keep in zip(outs, wanted, strict=True)
        ]
        return [out for out, found in zip(outs, known, strict=True) if found is None]

    types = [ShapeDtypeStruct(p.aval.shape, p.aval.dtype) for p in pvals if not p.is_known()]
    jaxpr = make_jaxpr(of_unknown)(*types)
    avals = iter(jaxpr.out_avals)
    values = [PartialVal.unknown(next(avals)) if found is None else found for found in known]
    return jaxpr, values, list(jaxpr.consts)
