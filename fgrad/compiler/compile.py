"""Compiling: passes over the jaxpr, then source, then a function."""

from __future__ import annotations

import gc
import linecache
import weakref
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import blocks
from fgrad.array import snapshot
from fgrad.compiler.emit import STATEMENTS_PER_FUNCTION, Emitter
from fgrad.compiler.fission import prepared
from fgrad.compiler.fuse import fuse
from fgrad.compiler.guards import place_guards
from fgrad.compiler.order import gather_silent
from fgrad.config import config
from fgrad.ir.check import checked
from fgrad.ir.jaxpr import Jaxpr, Var, eval_jaxpr
from fgrad.source_info import GENERATED

blocks.wanted_threads = lambda: config.num_threads
#: How many executables share a generated file.
_owners: dict[str, int] = {}


class Executable:
    """A compiled jaxpr: calling it runs generated NumPy code on internal values.

    Pickles carry the program, which is compiled again where it is loaded.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.simplified = prepared(jaxpr)
        self.simplified.consts = tuple(map(snapshot, self.simplified.consts))
        guards = guards_of(self.simplified)
        #: The program as it is emitted.
        self.fused = emitted_form(self.simplified)
        self._guards = guards
        self.source, self._fast = self._generate(guards)
        self._guarded: Callable[..., Any] | None = None
        #: The function to call on inside values.
        self.run: Callable[..., list[Any]] = self._fast if guards is None else self._run_guardedly
        if "np.linalg." in self.source and is_pure(jaxpr):
            self.run = self._run_in_words

    def _generate(self, guards: frozenset[Var] | None) -> tuple[str, Callable[..., Any]]:
        emitter = Emitter(self.jaxpr.name, guards)
        source = emitter.source(self.fused)
        # Named by its content: equal programs share a file.
        digest = f"{zlib.crc32(source.encode()):08x}"
        filename = f"{GENERATED}{emitter.name} {digest}>"
        namespace = dict(emitter.constants)
        exec(compile(source, filename, "exec"), namespace)
        _show_source(self, filename, source)
        return source, namespace[emitter.name]

    def _run_guardedly(self, *values: Any) -> list[Any]:
        try:
            results = self._fast(*values)
        except Exception:
            # What stumbled may be a NaN that guards would have kept away; if not, it stumbles again.
            results = None
        if results is None:
            # A zero cotangent met an infinite or NaN slope, or a NaN is real: guard each product.
            if self._guarded is None:
                _, self._guarded = self._generate(None)
            results = self._guarded(*values)
        return results  # type: ignore[no-any-return]

    def _run_in_words(self, *values: Any) -> list[Any]:
        """Run a program with functions of matrices, which say themselves what they find no answer for."""
        run = self._fast if self._guards is None else self._run_guardedly
        try:
            return run(*values)
        except np.linalg.LinAlgError as error:
            try:
                eval_jaxpr(self.jaxpr, *values)
            except np.linalg.LinAlgError as told:
                raise told.with_traceback(error.__traceback__) from None
            raise

    def __call__(self, *values: Any) -> list[Any]:
        return self.run(*values)

    def __reduce__(self) -> tuple[Any, ...]:
        return compiled, (self.jaxpr,)


def emitted_form(simplified: Jaxpr) -> Jaxpr:
    """A simplified program with its clusters fused, in the order of its statements."""
    if config.disable_most_optimizations:
        return simplified
    return checked(gather_silent(fuse(simplified) if config.optimizes() else simplified))


def guards_of(jaxpr: Jaxpr) -> frozenset[Var] | None:
    """Where a simplified program looks for NaN; None where it guards each product instead.

    So do split programs, which hand variables from function to function, and those with effects, which
    must not happen twice.
    """
    unsplit = len(jaxpr.eqns) <= STATEMENTS_PER_FUNCTION
    wanted = unsplit and is_pure(jaxpr) and not config.disable_most_optimizations
    return place_guards(jaxpr) if wanted else None


def is_pure(jaxpr: Jaxpr) -> bool:
    """Whether a program may run twice."""
    return not any(eqn.primitive.effectful for eqn in jaxpr.eqns)


def _show_source(owner: Executable, filename: str, source: str) -> None:
    """Let debuggers and tracebacks show generated lines for as long as `owner` lives."""
    _owners[filename] = _owners.get(filename, 0) + 1
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    weakref.finalize(owner, _forget_source, filename)


def _forget_source(filename: str) -> None:
    _owners[filename] -= 1
    if not _owners[filename]:
        del _owners[filename]
        linecache.cache.pop(filename, None)


def compiled(jaxpr: Jaxpr) -> Executable:
    """The executable of a jaxpr, compiled once."""
    executable = jaxpr.derived.get("compiled")
    if executable is None:
        # Thousands of small objects are made, and most go again: a collection in between would walk all
        # that the process holds.
        collects = gc.isenabled()
        gc.disable()
        try:
            executable = jaxpr.derived["compiled"] = Executable(jaxpr)
        finally:
            if collects:
                gc.enable()
    return executable
