"""Named mapped axes: what ``vmap(axis_name=...)`` binds, and the one primitive pair of all collectives.

Inside a mapped function the index along a named axis is an ordinary traced integer, one per example. A
collective takes it as an operand: the batching rule that finds the index mapped is the one of the named
axis. So jaxprs, derivatives and loops need to know nothing about names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from fgrad.avals import Aval
from fgrad.errors import UnboundAxisError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import convert
from fgrad.primitives.families import Linear, Sum, mul
from fgrad.primitives.shape import moveaxis, spread


class NamedAxis(NamedTuple):
    """A mapped axis in scope."""

    name: Hashable
    size: int
    #: The index of each example, traced.
    index: Any


_scope: ContextVar[tuple[NamedAxis, ...]] = ContextVar("fgrad_named_axes", default=())


@contextmanager
def bound(axis: NamedAxis) -> Iterator[None]:
    """Make a named axis the innermost of its name."""
    token = _scope.set((*_scope.get(), axis))
    try:
        yield
    finally:
        _scope.reset(token)


def named_axis(name: Hashable, user: str) -> NamedAxis:
    """The axis of that name that is innermost, for the function that the user called."""
    axes = _scope.get()
    found: list[NamedAxis] = [axis for axis in axes if axis.name == name]
    if found:
        return found[-1]
    known = ", ".join(repr(axis.name) for axis in axes) or "none"
    raise UnboundAxisError(
        f"{user}: no mapped axis is named {name!r} here (in scope: {known}); call it inside a function that "
        f"vmap or pmap maps with axis_name={name!r}"
    )


def axes_in_scope() -> tuple[tuple[Hashable, int], ...]:
    """Names and sizes, which a trace may depend on."""
    axes = _scope.get()
    return tuple([(axis.name, axis.size) for axis in axes]) if axes else ()


@parameters
class AllGather(Linear):
    """The values of all examples along a named axis; linear in x.   a[*s] i[] -> a[size, *s]"""

    size: int
    linear_operands = 1
    view = True

    def abstract_eval(self, x: Aval, index: Aval) -> Aval:  # type: ignore[override]
        return Aval((self.size, *x.shape), x.dtype)

    def impl(self, x: Any, index: Any) -> Any:
        # All examples have the same value.
        return np.broadcast_to(x, (self.size, *np.shape(x)))

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (SumScatter(self.size)(ct, args[1]),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        x, index = args
        if mapped[1]:
            return (x if mapped[0] else spread(x, size)), False
        return moveaxis(self(x, index), 1, 0), True


@parameters
class SumScatter(Linear):
    """One element of the sum over all examples along a named axis; linear in x.   a[size, *s] i[] -> a[*s]"""

    size: int
    linear_operands = 1

    def abstract_eval(self, x: Aval, index: Aval) -> Aval:  # type: ignore[override]
        return Aval(x.shape[1:], x.dtype)

    def impl(self, x: Any, index: Any) -> Any:
        # All examples have the same value.
        return x.dtype.type(self.size) * x[index]

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (AllGather(self.size)(ct, args[1]),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        x, index = args
        if mapped[1]:
            total = Sum((0,))(x) if mapped[0] else mul(x, x.dtype.type(self.size))
            return convert(total, x.dtype), True
        return self(moveaxis(x, 0, 1), index), True
