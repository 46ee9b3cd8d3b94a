"""Compiling: passes over the jaxpr, then source, then a function."""

from __future__ import annotations

import itertools
import linecache
import weakref
from typing import Any

import numpy as np

from fgrad.array import snapshot
from fgrad.compiler.emit import Emitter
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Jaxpr
from fgrad.ir.passes import cse, dce, inline_calls

_numbers = itertools.count()


class Executable:
    """A compiled jaxpr: calling it runs generated NumPy code on internal values.

    Pickles carry the program, which is compiled again where it is loaded.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.simplified = checked(simplify(jaxpr))
        self.simplified.consts = tuple(map(snapshot, self.simplified.consts))
        emitter = Emitter(jaxpr.name)
        self.source = emitter.source(self.simplified)
        filename = f"<fgrad jit {emitter.name} {next(_numbers)}>"
        namespace = dict(emitter.constants)
        exec(compile(self.source, filename, "exec"), namespace)
        self.run = namespace[emitter.name]
        # Debuggers and tracebacks show the generated lines as long as the executable lives.
        linecache.cache[filename] = (len(self.source), None, self.source.splitlines(True), filename)
        weakref.finalize(self, linecache.cache.pop, filename, None)

    def __call__(self, *values: Any) -> list[Any]:
        return self.run(*values)  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        return compiled, (self.jaxpr,)


def simplify(jaxpr: Jaxpr) -> Jaxpr:
    """The program with calls inlined, equal work done once and dead work dropped."""
    return dce(cse(inline_calls(jaxpr)))


def compiled(jaxpr: Jaxpr) -> Executable:
    """The executable of a jaxpr, compiled once."""
    executable = jaxpr.derived.get("compiled")
    if executable is None:
        executable = jaxpr.derived["compiled"] = Executable(jaxpr)
    return executable  # type: ignore[no-any-return]


def bytes_of_constants(jaxpr: Jaxpr) -> int:
    """The memory that the constants of a program hold."""
    return sum(c.nbytes for c in jaxpr.consts if isinstance(c, np.ndarray))
