"""What libraries ask of values and of the program that is being recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.array import value
from fgrad.compat.errors import CompatibilityError
from fgrad.ir.jaxpr import Var
from fgrad.tracing import _open_body, interpreter

__all__ = [
    "DropVar",
    "Trace",
    "TraceTag",
    "find_top_trace",
    "get_opaque_trace_state",
    "set_current_trace",
    "take_current_trace",
    "trace_state_clean",
    "valid_jaxtype",
]


class _State:
    """Equal to another while the same program is recorded."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _State) and other._body is self._body

    def __hash__(self) -> int:
        return id(self._body)


def get_opaque_trace_state(convention: Any = None) -> Any:
    """What differs between two places if one of them is in a program that is being recorded."""
    return _State(_open_body.get())


def find_top_trace(values: Sequence[Any]) -> Any:
    """The newest transform among those that values are traced by, or None."""
    return interpreter([value(x) for x in values])


def trace_state_clean() -> bool:
    """Whether no program is being recorded."""
    return _open_body.get() is None


def valid_jaxtype(x: Any) -> bool:
    """Whether a value is an array or a number, as functions of arrays take it."""
    try:
        value(x)
    except TypeError:
        return False
    return True


# ---- what interpreters that are written for JAX are made of ----------------------------------------

_NO_TRACES = (
    "fgrad has no traces that interpreters written for JAX can take part in; what such an interpreter draws or "
    "lists, fgrad.make_jaxpr shows"
)


class Trace:
    """The base of interpreters that are written for JAX; fgrad cannot run them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise CompatibilityError(f"{type(self).__name__}: {_NO_TRACES}")


class TraceTag:
    """What tells the values of one such interpreter from those of another."""

    def __init__(self) -> None:
        raise CompatibilityError(f"TraceTag: {_NO_TRACES}")


def take_current_trace() -> Any:
    """Refuse: there is no trace to take."""
    raise CompatibilityError(f"take_current_trace: {_NO_TRACES}")


def set_current_trace(trace: Any) -> Any:
    """Refuse: there is no trace to set."""
    raise CompatibilityError(f"set_current_trace: {_NO_TRACES}")


class DropVar(Var):
    """A result that nobody reads; in fgrad's programs these are variables like others."""

    __slots__ = ()
