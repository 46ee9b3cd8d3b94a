"""Jaxprs: first-order typed programs of primitive applications, and their interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.source_info import source_text

_silent: ContextVar[bool] = ContextVar("fgrad_silent", default=False)
is_silent = _silent.get
_source: ContextVar[Any] = ContextVar("fgrad_source", default=None)
#: The source of the equation that runs, if one does: what runs in its place has the same.
source_of_equation = _source.get


class derivative_rules:
    """The scope of derivative rules: they never warn, neither now nor where they are recorded."""

    __slots__ = ("errstate", "token")

    def __enter__(self) -> None:
        self.errstate = np.errstate(all="ignore")
        self.errstate.__enter__()
        self.token = _silent.set(True)

    def __exit__(self, *exc: object) -> None:
        _silent.reset(self.token)
        self.errstate.__exit__(None, None, None)


class Var:
    """A variable: identity and type, and the user's name for the value where compiling has found one.

    The names that a jaxpr prints are others.
    """

    __slots__ = ("aval", "name")

    def __init__(self, aval: Aval, name: str | None = None) -> None:
        self.aval = aval
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return Var, (self.aval,)


class Literal:
    """A scalar constant written into an equation."""

    __slots__ = ("aval", "value")

    def __init__(self, value: Any, aval: Aval | None = None) -> None:
        self.value = value
        self.aval = aval_of(value) if aval is None else aval

    @property
    def val(self) -> Any:
        """The constant, by the name that JAX has for it."""
        return self.value

    def __reduce__(self) -> tuple[Any, ...]:
        return Literal, (self.value, self.aval)


Atom = Var | Literal


class Eqn(NamedTuple):
    """One application of a primitive; `source` tells the user's line.

    A silent one belongs to a derivative rule, which never warns about floating-point errors.
    """

    primitive: Any
    inputs: tuple[Atom, ...]
    outputs: tuple[Var, ...]
    source: Any = None
    silent: bool = False

    @property
    def invars(self) -> tuple[Atom, ...]:
        """The inputs, by the name that JAX has for them."""
        return self.inputs

    @property
    def outvars(self) -> tuple[Var, ...]:
        """The outputs, by the name that JAX has for them."""
        return self.outputs

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the primitive by name."""
        return self.primitive.params()  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        # Code objects do not pickle: a source travels as its text.
        source = None if self.source is None else source_text(self.source)
        return Eqn, (self.primitive, self.inputs, self.outputs, source, self.silent)


class Jaxpr:
    """A closed program: ``consts`` are the values of ``constvars``.

    Derived forms of a jaxpr (its jvp, its batched or compiled form) are kept in ``derived``, so that
    they live exactly as long as the jaxpr itself.
    """

    __slots__ = (
        "__weakref__",
        "consts",
        "constvars",
        "derived",
        "eqns",
        "invars",
        "name",
        "outvars",
    )

    def __init__(
        self,
        constvars: Sequence[Var],
        consts: Sequence[Any],
        invars: Sequence[Var],
        eqns: Sequence[Eqn],
        outvars: Sequence[Atom],
        name: str = "",
    ) -> None:
        self.constvars = tuple(constvars)
        self.consts = tuple(consts)
        self.invars = tuple(invars)
        self.eqns = tuple(eqns)
        self.outvars = tuple(outvars)
        self.name = name
        self.derived: dict[Any, Any] = {}

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        return tuple(var.aval for var in self.invars)

    @property
    def out_avals(self) -> tuple[Aval, ...]:
        return tuple(atom.aval for atom in self.outvars)

    @property
    def jaxpr(self) -> Jaxpr:
        """The program itself: jaxprs here are always closed."""
        return self

    @property
    def literals(self) -> tuple[Any, ...]:
        """The constants, by another name that JAX has for them."""
        return self.consts

    def __reduce__(self) -> tuple[Any, ...]:
        return Jaxpr, (
            self.constvars,
            self.consts,
            self.invars,
            self.eqns,
            self.outvars,
            self.name,
        )


def eval_jaxpr(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    """Run a jaxpr by applying its primitives; under a transform this records it anew.

    Values are dropped after their last use, so that the peak memory is that of the live variables.
    """
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
        values = [a.value if type(a) is Literal else env[a] for a in eqn.inputs]  # type: ignore[index]
        token = _source.set(eqn.source)
        try:
            if eqn.silent:
                with derivative_rules():
                    answer = eqn.primitive(*values)
            else:
                answer = eqn.primitive(*values)
        finally:
            _source.reset(token)
        del values
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outputs, answer, strict=True))
        else:
            env[eqn.outputs[0]] = answer
        for var in dying:
            del env[var]
    return [a.value if type(a) is Literal else env[a] for a in jaxpr.outvars]  # type: ignore[index]


def last_uses(jaxpr: Jaxpr) -> list[tuple[Var, ...]]:
    """For each equation, the variables that nothing reads after it."""
    known = jaxpr.derived.get("last_uses")
    if known is not None:
        return known  # type: ignore[no-any-return]
    seen = {atom for atom in jaxpr.outvars if type(atom) is Var}
    table: list[tuple[Var, ...]] = []
    for eqn in reversed(jaxpr.eqns):
        dying = []
        for atom in (*eqn.inputs, *eqn.outputs):
            if type(atom) is Var and atom not in seen:
                seen.add(atom)
                dying.append(atom)
        table.append(tuple(dying))
    table.reverse()
    jaxpr.derived["last_uses"] = table
    return table


def sub_jaxprs(primitive: Any) -> tuple[Jaxpr, ...]:
    """The programs inside a higher-order primitive."""
    return tuple(getattr(primitive, "jaxprs", ()))
