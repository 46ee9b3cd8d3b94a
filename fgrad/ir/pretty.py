"""Jaxprs as text: names on print, types at binders, sub-jaxprs indented."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from fgrad.avals import short_dtype
from fgrad.ir.jaxpr import Jaxpr, Literal, Var, sub_jaxprs


def _names() -> Iterator[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    for length in itertools.count(1):
        for combination in itertools.product(letters, repeat=length):
            yield "".join(combination)


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.fresh = _names()

    def name(self, var: Var) -> str:
        if var not in self.names:
            self.names[var] = next(self.fresh)
        return self.names[var]

    def binder(self, var: Var) -> str:
        return f"{self.name(var)}:{var.aval}"

    def atom(self, atom: Any) -> str:
        if isinstance(atom, Literal):
            return literal_text(atom)
        return self.name(atom)

    def lines(self, jaxpr: Jaxpr) -> list[str]:
        constants = " ".join(self.binder(v) for v in jaxpr.constvars)
        inputs = " ".join(self.binder(v) for v in jaxpr.invars)
        head = f"{{ lambda {constants} ; {inputs} . let".replace("  ", " ")
        body: list[str] = []
        for eqn in jaxpr.eqns:
            outputs = " ".join(self.binder(v) for v in eqn.outputs)
            operands = " ".join(self.atom(a) for a in eqn.inputs)
            name, inner = eqn.primitive.name, sub_jaxprs(eqn.primitive)
            params = params_text(eqn.primitive)
            if inner:
                body.append(f"    {outputs} = {name}[")
                body.extend(f"      {param}" for param in params)
                for sub in inner:
                    body.extend("      " + line for line in self.lines(sub))
                body.append(f"    ] {operands}".rstrip())
            else:
                text = f"[{' '.join(params)}]" if params else ""
                body.append(f"    {outputs} = {name}{text} {operands}".rstrip())
        results = ", ".join(self.atom(a) for a in jaxpr.outvars)
        results = f"({results},)" if len(jaxpr.outvars) == 1 else f"({results})"
        if not body:
            return [f"{head} in {results} }}"]
        return [head, *body, f"  in {results} }}"]


def literal_text(literal: Literal) -> str:
    """A literal as its value, with the dtype where Python's spelling does not show it."""
    value = literal.value
    if literal.aval.weak:
        return repr(value)
    text = str(np.asarray(value).item())
    return f"{text}:{short_dtype(literal.aval.dtype)}"


def params_text(primitive: Any) -> list[str]:
    """``name=value`` for each parameter that is not itself a jaxpr."""
    texts = []
    for name, value in primitive.params().items():
        if isinstance(value, Jaxpr) or (
            isinstance(value, tuple) and value and all(isinstance(item, Jaxpr) for item in value)
        ):
            continue
        texts.append(f"{name}={_param_value(value)}")
    return texts


def _param_value(value: Any) -> str:
    if isinstance(value, np.dtype):
        return short_dtype(value)
    if isinstance(value, slice):
        step = "" if value.step in (None, 1) else f":{value.step}"
        start = "" if value.start is None else value.start
        stop = "" if value.stop is None else value.stop
        return f"{start}:{stop}{step}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_param_value, value)) + ("," if len(value) == 1 else "") + ")"
    return str(value)


def jaxpr_text(jaxpr: Jaxpr) -> str:
    """The text that ``print(jaxpr)`` shows."""
    return "\n".join(_Printer().lines(jaxpr))


def eqn_window(jaxpr: Jaxpr, index: int, radius: int = 3) -> str:
    """The equations around equation `index`, the one in question marked."""
    printer = _Printer()
    rows = []
    for position, eqn in enumerate(jaxpr.eqns):
        if position > index + radius:
            break
        mark = "--> " if position == index else "    "
        outputs = " ".join(printer.binder(v) for v in eqn.outputs)
        operands = " ".join(printer.atom(a) for a in eqn.inputs)
        if position >= index - radius:
            rows.append(f"{mark}{outputs} = {eqn.primitive.name} {operands}")
    return "\n".join(rows)


# Attached here because the printer lies above the data that it prints.
Jaxpr.__str__ = jaxpr_text  # type: ignore[assignment, method-assign]
Jaxpr.__repr__ = jaxpr_text  # type: ignore[assignment, method-assign]
