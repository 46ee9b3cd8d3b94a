"""Compilation to NumPy: a function is recorded once per signature and runs as generated code."""

from __future__ import annotations

import functools
import sys
import types
import weakref
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad import _tree
from fgrad.array import (
    Array,
    owner_of,
    plain,
    shares_writable,
    snapshot,
    value,
    wrap,
    wrap_own,
)
from fgrad.avals import Aval, ShapeDtypeStruct, aval_of
from fgrad.compiler import compiled
from fgrad.config import TRACE_FLAGS, config, jit_is_disabled
from fgrad.dtypes import SUPPORTED, python_type
from fgrad.errors import ArgumentError, StaleConstantError
from fgrad.ir.jaxpr import Jaxpr
from fgrad.source_info import (
    boundary,
    captured_name,
    filter_traceback,
    function_name,
    function_text,
    warn,
)
from fgrad.tracing import Tracer, hoist_constants, record
from fgrad.transforms._arguments import (
    argument_leaf_names,
    check_callable,
    leaf_values,
    output_values,
    picklable,
    tree_text,
)
from fgrad.transforms.axis_names import axes_in_scope
from fgrad.transforms.call import Call
from fgrad.transforms.cost import MemoryStats, cost_analysis, memory_analysis
from fgrad.transforms.direct_call import MISS, direct_call
from fgrad.transforms.make_jaxpr import struct, trace_to_jaxpr
from fgrad.transforms.static import Static, infer_static, split_static

ndarray = np.ndarray
_PYTHON = frozenset((float, int, bool, complex))
#: NumPy's scalars that need no conversion.
_SCALARS = frozenset(dtype.type for dtype in SUPPORTED)
_LARGE_CONSTANT = 1 << 20


class CacheInfo(NamedTuple):
    """How often a jitted function found its signature compiled."""

    hits: int
    misses: int
    size: int


class _Entry:
    """One signature of a jitted function: its program and the structure of its result."""

    __slots__ = ("call", "captured_arrays", "direct", "jaxpr", "out_treedef", "run", "single")

    def __init__(self, jaxpr: Jaxpr, out_treedef: Any) -> None:
        self.jaxpr = jaxpr
        self.out_treedef = out_treedef
        self.single = out_treedef.is_leaf()
        self.call = Call(jaxpr)
        self.run: Callable[..., list[Any]] | None = None
        self.captured_arrays: list[tuple[np.ndarray[Any, Any], int]] = []
        #: The call of this signature alone, made when it is called again.
        self.direct: Callable[[tuple[Any, ...]], Any] | None = None


class _Table:
    """The signatures of a jitted function for one structure of its arguments."""

    __slots__ = ("entries", "has_order", "treedef")

    def __init__(self, treedef: Any) -> None:
        self.treedef = treedef
        # Only dicts and registered nodes have anything beyond what equal structures share.
        self.has_order = bool(_tree.order_key(treedef))
        self.entries: dict[Any, _Entry] = {}


class JitFunction:
    """A function that runs as generated NumPy code; made by `jit`."""

    def __init__(
        self, fun: Callable[..., Any], static_argnums: Any, static_argnames: Any, inline: bool
    ) -> None:
        functools.update_wrapper(self, fun, updated=())
        # A callable object has attributes of its own: they must not hide the methods of this class.
        for name, attribute in getattr(fun, "__dict__", {}).items():
            if not hasattr(type(self), name):
                self.__dict__.setdefault(name, attribute)
        self._fun = fun
        self._numbers, self._names = infer_static(fun, static_argnums, static_argnames, "jit")
        self._options = (static_argnums, static_argnames, inline)
        self._positional_tables: dict[Any, _Table] = {}
        self._keyword_tables: dict[Any, _Table] = {}
        #: The short way into the latest signature, and the state of the flags that it was made for.
        self._direct: tuple[Callable[[tuple[Any, ...]], Any], int] | None = None
        _alive.add(self)
        self._hits = 0
        self._reasons: list[str] = []
        self._warned = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if jit_is_disabled():
            return self._fun(*args, **kwargs)
        try:
            direct = self._direct
            if direct and direct[1] == config.version and not (kwargs or axes_in_scope()):
                result = direct[0](args)
                if result is not MISS:
                    self._hits += 1
                    return result
            return self._run(args, kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {function_text(self._fun)}>"

    def __reduce__(self) -> Any:
        # A decorated module-level function pickles by its name, like any function.
        module = sys.modules.get(getattr(self, "__module__", ""))
        if getattr(module, getattr(self, "__qualname__", ""), None) is self:
            return self.__qualname__
        return _remake, (picklable(self._fun), *self._options)

    def __copy__(self) -> JitFunction:
        return JitFunction(self._fun, *self._options)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        static: Static | None = None
        static_key: Any = ()
        if self._numbers or self._names:
            (args, kwargs), static = split_static(
                self._fun, "jit", args, kwargs, self._numbers, self._names
            )
            static_key = static.key(self._fun, "jit")
        leaves, treedef = _tree.flatten((args, kwargs) if kwargs else args)
        # Structures of both forms of call are kept apart: they may be equal.
        tables = self._keyword_tables if kwargs else self._positional_tables
        table = tables.get(treedef)
        if table is None:
            table = tables[treedef] = _Table(treedef)
        traced = False
        unusual = not config.enable_x64
        values: list[Any] = []
        kinds: list[Any] = []
        for leaf in leaves:
            kind = type(leaf)
            if kind is Array:
                leaf = plain(leaf)
                kind = type(leaf)
            if kind is ndarray:
                values.append(leaf)
                kinds.append(leaf.shape)
                kinds.append(leaf.dtype)
            elif kind in _PYTHON:
                values.append(leaf)
                kinds.append(kind)
            elif kind in _SCALARS:
                values.append(leaf)
                kinds.append(())
                kinds.append(leaf.dtype)
            else:
                traced = traced or isinstance(leaf, Tracer)
                unusual = True
                values.append(leaf)
        order = _tree.order_key(treedef) if table.has_order else ()
        context = config.key(), axes_in_scope()
        key = (tuple(kinds), order, static_key, context)
        entry = None if unusual else table.entries.get(key)
        if entry is None:
            # No entry was ever made for a type that has to be converted first.
            values = leaf_values(values, "jit", self._fun, args, kwargs)
            kinds = [part for v in values for part in _kinds_of(aval_of(v))]
            key = (tuple(kinds), order, static_key, context)
            entry = table.entries.get(key)
        captured: list[Any] = []
        if entry is None:
            entry, captured = self._trace(args, kwargs, static, treedef, values)
            if not captured:
                self._note_miss(treedef, key, args, kwargs)
                table.entries[key] = entry
        else:
            self._hits += 1
            if entry.captured_arrays:
                _check_stale(entry.captured_arrays, self._fun)
        if traced or captured or config.debug_nans:
            outs = entry.call(*captured, *values)
        else:
            run = entry.run
            if run is None:
                run = entry.run = compiled(entry.jaxpr).run
            elif not (unusual or kwargs or static_key or context[1] or entry.captured_arrays):
                self._shorten(entry, treedef)
            outs = run(*values)
        results = [wrap_own(out) for out in outs]
        return results[0] if entry.single else _tree.unflatten(entry.out_treedef, results)

    def _shorten(self, entry: _Entry, treedef: Any) -> None:
        """Let calls of this signature take the short way from now on."""
        if entry.direct is None:
            entry.direct = direct_call(
                treedef,
                entry.jaxpr.in_avals,
                entry.out_treedef,
                entry.run,  # type: ignore[arg-type]
            )
        if entry.direct is not None:
            self._direct = entry.direct, config.version

    def _trace(
        self, args: Any, kwargs: Any, static: Static | None, treedef: Any, values: Sequence[Any]
    ) -> tuple[_Entry, list[Any]]:
        fun = self._fun
        out_treedef: Any = None

        def flat_fun(*xs: Any) -> list[Any]:
            nonlocal out_treedef
            tree = _tree.unflatten(treedef, list(xs))
            inner_args, inner_kwargs = tree if kwargs else (tree, {})
            if static is not None:
                inner_args, inner_kwargs = static.join((inner_args, inner_kwargs))
            result = fun(*inner_args, **inner_kwargs)
            out_leaves, out_treedef = _tree.flatten(result)
            return output_values(out_leaves, "jit", fun, result)

        names = argument_leaf_names(fun, args, kwargs)
        jaxpr = record(
            flat_fun, [aval_of(v) for v in values], function_name(fun), "jit", names, fun
        )
        closed, captured = hoist_constants(jaxpr)
        entry = _Entry(closed, out_treedef)
        if config.debug_stale:
            entry.captured_arrays = [
                (c, _checksum(c))
                for c in closed.consts
                if isinstance(c, np.ndarray) and c.flags.writeable
            ]
        for const in [] if self._warned else _large_constants(closed):
            if not (captured_name(fun, const) or shares_writable(const)):
                # Computed from constants while the function was recorded: nothing that could be passed.
                continue
            self._warned = True
            warn(
                f"jit of {function_text(fun)} keeps {_captured_text(fun, const)} of {_held(const) / 2**20:.1f} "
                f"MB, of shape {const.shape}, in the compiled function; pass it as an argument instead"
            )
        closed.consts = tuple(map(snapshot, closed.consts))
        return entry, captured

    def _note_miss(self, treedef: Any, key: Any, args: Any, kwargs: Any) -> None:
        names = argument_leaf_names(self._fun, args, kwargs)
        earlier = [
            (table.treedef, *known)
            for tables in (self._positional_tables, self._keyword_tables)
            for table in tables.values()
            for known in table.entries
        ]
        reason = explain_miss((treedef, *key), earlier, names)
        self._reasons.append(reason)
        if config.explain_cache_misses:
            warn(f"jit of {function_text(self._fun)} compiles: {reason}")

    def cache_info(self) -> CacheInfo:
        """Hits, misses and the number of compiled signatures."""
        return CacheInfo(self._hits, len(self._reasons), self._cache_size())

    def explain_misses(self) -> list[str]:
        """Why each compilation happened, in order."""
        return list(self._reasons)

    def clear_cache(self) -> None:
        """Forget all compiled signatures."""
        self._positional_tables.clear()
        self._keyword_tables.clear()
        self._direct = None

    def _cache_size(self) -> int:
        tables = [*self._positional_tables.values(), *self._keyword_tables.values()]
        return sum(len(table.entries) for table in tables)

    @boundary
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Record the function at arguments of these types, without running it.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the function: arrays, or `ShapeDtypeStruct`.

        Returns
        -------
        Lowered
            With the program in ``.jaxpr`` and the NumPy code in ``.source``.
        """
        jaxpr, out_treedef = trace_to_jaxpr(
            self._fun, args, kwargs, "jit", self._numbers, self._names
        )
        dynamic, _ = split_static(self._fun, "jit", args, kwargs, self._numbers, self._names)
        closed, captured = hoist_constants(jaxpr)
        closed.consts = tuple(map(snapshot, closed.consts))
        return Lowered(
            self._fun, closed, captured, _tree.structure(_strip(dynamic)), out_treedef, self
        )

    def trace(self, *args: Any, **kwargs: Any) -> Lowered:
        """The same as `lower`."""
        return self.lower(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result."""
        return self.lower(*args, **kwargs).out_info


#: The compiled functions that somebody holds.
_alive: weakref.WeakSet[JitFunction] = weakref.WeakSet()


@boundary
def clear_caches() -> None:
    """Forget all compiled signatures of all compiled functions: the next calls compile again.

    Examples
    --------
    >>> import fgrad
    >>> f = fgrad.jit(lambda x: 2.0 * x)
    >>> y = f(3.0)
    >>> fgrad.clear_caches()
    >>> f.cache_info().size
    0
    """
    for function in list(_alive):
        function.clear_cache()


def _strip(tree: Any) -> Any:
    return _tree.map(lambda leaf: 0 if isinstance(leaf, ShapeDtypeStruct) else leaf, tree)


def _remake(fun: Any, static_argnums: Any, static_argnames: Any, inline: bool) -> JitFunction:
    return JitFunction(fun, static_argnums, static_argnames, inline)


def _kinds_of(aval: Aval) -> tuple[Any, ...]:
    return (python_type(aval.dtype),) if aval.weak else (aval.shape, aval.dtype)


class Lowered:
    """A recorded function, before it runs."""

    def __init__(
        self,
        fun: Any,
        jaxpr: Jaxpr,
        captured: list[Any],
        in_treedef: Any,
        out_treedef: Any,
        owner: JitFunction,
    ) -> None:
        self._fun = fun
        self._captured = captured
        self._in_treedef = in_treedef
        self._out_treedef = out_treedef
        self._owner = owner
        #: The program, typed.
        self.jaxpr = jaxpr

    @property
    def source(self) -> str:
        """The NumPy code that runs."""
        return compiled(self.jaxpr).source

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the result."""
        return _tree.unflatten(self._out_treedef, [struct(a) for a in self.jaxpr.out_avals])

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        """The types of the leaves of the arguments."""
        return self.jaxpr.in_avals[len(self._captured) :]

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text: in the dialect "jaxpr", or "python" for the NumPy code."""
        found = self.compiler_ir(dialect)
        return found if isinstance(found, str) else str(found)

    @boundary
    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program in a dialect: "jaxpr", which is the default, or "python" for the NumPy code.

        Raises
        ------
        ArgumentError
            For the dialects of other compilers, such as "hlo" and "stablehlo".
        """
        if dialect in (None, "jaxpr"):
            return self.jaxpr
        if dialect in ("python", "numpy"):
            return self.source
        raise ArgumentError(
            f'compiler_ir: dialect is {dialect!r}, but functions are compiled to NumPy code; give "jaxpr" or '
            '"python"'
        )

    def cost_analysis(self) -> dict[str, float]:
        """Operations and bytes of one run, counted from the program.

        Returns
        -------
        dict
            ``"flops"``: sums, products and other simple operations on elements, two for each term of a matrix
            product. ``"transcendentals"``: elements of exponentials, sines and their kin. ``"bytes accessed"``:
            of all operands and results that are no views. Of branches the dearest counts; a ``while_loop``
            counts once. Sorting, indexing and factorizations count no operations.
        """
        return cost_analysis(self.jaxpr)

    def cost(self) -> dict[str, int]:
        """Figures of the program: equations, bytes of constants, of arguments and of results.

        ``large_constants`` counts captured arrays of over 1 MB, which every call carries along.
        """
        simplified = compiled(self.jaxpr).simplified
        consts = [c.nbytes for c in simplified.consts if isinstance(c, np.ndarray)]
        return {
            "equations": len(simplified.eqns),
            "constant_bytes": sum(consts),
            "large_constants": sum(n > _LARGE_CONSTANT for n in consts),
            "argument_bytes": sum(a.size * a.dtype.itemsize for a in self.jaxpr.in_avals),
            "result_bytes": sum(a.size * a.dtype.itemsize for a in self.jaxpr.out_avals),
        }

    def compile(self) -> Compiled:
        """The executable for exactly these argument types."""
        compiled(self.jaxpr)
        return Compiled(self._fun, self.jaxpr, self._captured, self._in_treedef, self._out_treedef)


class Compiled:
    """An executable for one signature. It pickles, and is compiled again where it is loaded."""

    def __init__(
        self, fun: Any, jaxpr: Jaxpr, captured: list[Any], in_treedef: Any, out_treedef: Any
    ) -> None:
        self._name = function_text(fun)
        self._jaxpr = jaxpr
        self._captured = captured
        self._in_treedef = in_treedef
        self._out_treedef = out_treedef

    @property
    def source(self) -> str:
        """The NumPy code that runs."""
        return compiled(self._jaxpr).source

    @property
    def in_avals(self) -> tuple[Aval, ...]:
        """The types of the leaves of the arguments."""
        return self._jaxpr.in_avals[len(self._captured) :]

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the result."""
        return _tree.unflatten(self._out_treedef, [struct(a) for a in self._jaxpr.out_avals])

    def as_text(self) -> str:
        """The NumPy code that runs."""
        return self.source

    def runtime_executable(self) -> Any:
        """The function on plain NumPy arrays that runs."""
        return compiled(self._jaxpr).run

    def cost_analysis(self) -> dict[str, float]:
        """Operations and bytes of one run, counted from the simplified program as `Lowered.cost_analysis` does."""
        return cost_analysis(compiled(self._jaxpr).simplified)

    def memory_analysis(self) -> MemoryStats:
        """Bytes of arguments, results and intermediate values, counted from the simplified program."""
        executable = compiled(self._jaxpr)
        return memory_analysis(executable.simplified, executable.source)

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, treedef = _tree.flatten((args, kwargs))
        if treedef != self._in_treedef:
            raise ArgumentError(
                f"compiled {self._name}: called with arguments of structure {tree_text(treedef)}, compiled for "
                f"{tree_text(self._in_treedef)}"
            )
        values = [value(leaf) for leaf in leaves]
        wanted = self._jaxpr.in_avals[len(self._captured) :]
        for i, (v, aval) in enumerate(zip(values, wanted, strict=True)):
            if aval_of(v) != aval:
                raise ArgumentError(
                    f"compiled {self._name}: argument leaf {i} has type {aval_of(v)}, compiled for {aval}; "
                    "call the jitted function itself, which compiles for new types"
                )
        outs = Call(self._jaxpr)(*self._captured, *values)
        return _tree.unflatten(self._out_treedef, [wrap(out) for out in outs])


def explain_miss(key: Any, earlier: Sequence[Any], names: Sequence[str]) -> str:
    """Why a signature was not found among those seen before."""
    if not earlier:
        return "it was never called before"
    treedef, kinds, _, static, (flags, axes) = key
    closest = min(earlier, key=lambda k: _distance(k, key))
    if closest[0] != treedef:
        new, known = tree_text(treedef), tree_text(closest[0])
        return f"the arguments have a new structure, {new} instead of {known}"
    if closest[3] != static:
        return f"a static argument is new: {_static_text(static)} instead of {_static_text(closest[3])}"
    for name, new, old in zip(TRACE_FLAGS, flags, closest[4][0], strict=True):
        if new != old:
            return f"the flag {name} has changed"
    if closest[4][1] != axes:
        return f"the named axes in scope are {dict(axes)} instead of {dict(closest[4][1])}"
    changes = [
        f"{name} is {new} instead of {old}"
        for name, new, old in zip(names, _kind_texts(kinds), _kind_texts(closest[1]), strict=False)
        if new != old
    ]
    if changes:
        return "; ".join(changes)
    return "a dict has its keys in another order, or equal metadata of a tree node has another type"


def _distance(one: Any, other: Any) -> tuple[int, int, int]:
    differing = sum(a != b for a, b in zip(one[1], other[1], strict=False))
    return one[0] != other[0], one[3] != other[3], differing


def _kind_texts(kinds: Sequence[Any]) -> list[str]:
    parts = iter(kinds)
    return [
        f"a Python {part.__name__}" if isinstance(part, type) else str(Aval(part, next(parts)))
        for part in parts
    ]


def _static_text(static: Any) -> str:
    return ", ".join(f"{place}={given!r}" for place, _, given in static)


def _large_constants(jaxpr: Jaxpr) -> list[np.ndarray[Any, Any]]:
    return [c for c in jaxpr.consts if isinstance(c, np.ndarray) and _held(c) > _LARGE_CONSTANT]


def _held(array: np.ndarray[Any, Any]) -> int:
    """The memory that an array keeps: that of its owner where it shows elements many times."""
    owner = owner_of(array)
    return array.nbytes if owner is None else min(array.nbytes, owner.nbytes)


def _captured_text(fun: Any, array: np.ndarray[Any, Any]) -> str:
    name = captured_name(fun, array)
    return f"the captured array {name}" if name else "a captured array"


def _checksum(array: np.ndarray[Any, Any]) -> int:
    return zlib.adler32(np.ascontiguousarray(array).tobytes())


def _check_stale(captured: list[tuple[np.ndarray[Any, Any], int]], fun: Any) -> None:
    for array, checksum in captured:
        if _checksum(array) != checksum:
            raise StaleConstantError(
                f"jit of {function_text(fun)}: {_captured_text(fun, array)} of shape {array.shape} and dtype "
                f"{array.dtype} has changed since the function was compiled, which still uses its old values; "
                "pass it as an argument instead"
            )


@boundary
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: Any = None,
    donate_argnames: Any = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: Any = None,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    abstracted_axes: Any = None,
    compiler_options: Any = None,
) -> Any:
    """Compile a function to NumPy code.

    The function is recorded once per signature, that is per shapes, dtypes and structure of its
    arguments and values of its static ones, and then runs as straight NumPy code.

    Parameters
    ----------
    fun : callable
        A pure function of arrays, or of trees of arrays. Without it, a decorator is returned.
    static_argnums, static_argnames
        Positions or names of arguments to specialise to; their values must be hashable.
    donate_argnums, donate_argnames, keep_unused, device, backend, inline, in_shardings, out_shardings, \
abstracted_axes, compiler_options
        Accepted for compatibility, without effect.

    Returns
    -------
    callable
        The compiled function. ``.lower(*args)`` shows its jaxpr and source, ``.cache_info()`` and
        ``.explain_misses()`` tell how often and why it compiled.

    Raises
    ------
    StaticArgumentError
        If a static argument is not hashable.
    TracerBoolConversionError
        If the function branches on the value of a traced argument.

    Examples
    --------
    >>> import fgrad
    >>> f = fgrad.jit(lambda x: 2.0 * x + 1.0)
    >>> float(f(3.0))
    7.0
    >>> f.cache_info()
    CacheInfo(hits=0, misses=1, size=1)
    """
    if fun is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames, inline=inline
        )
    check_callable(fun, "jit")
    return JitFunction(fun, static_argnums, static_argnames, inline)
