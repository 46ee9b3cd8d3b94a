"""Python text for the objects that compiled code refers to, with everything that they lean on.

Functions of fgrad are copied with the functions and constants that they use; a method of a primitive
comes with a class that has the parameters and the methods that it needs; NumPy and SciPy are imported.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import importlib
import keyword
import math
import re
import sys
import textwrap
import types
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.compiler.modules import IDENTITY, assigned_names, source_of
from fgrad.compiler.standins import PLAIN_FORMS, PLAIN_METHODS
from fgrad.config import switches
from fgrad.errors import ExportError, FgradError
from fgrad.ir.jaxpr import Jaxpr
from fgrad.tracing import Primitive

#: Arrays of up to this many elements are written into the source.
_INLINE_ELEMENTS = 64
_STANDINS = "fgrad.compiler.standins"
#: Modules that do something when they are imported.
_WITH_STATEMENTS = {"fgrad.blocks"}


class Bundle:
    """The text of a module, as it grows."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = {*taken, *dir(builtins), *keyword.kwlist}
        #: Statements by the name that they import.
        self.imports: dict[str, str] = {}
        #: Functions and constants, each behind what its definition reads.
        self.parts: list[str] = []
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._classes: dict[type, _Class] = {}
        self._instances: dict[str, tuple[_Class, Primitive]] = {}
        self._begun: set[str] = set()
        self._others: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._programs: dict[int, str] = {}
        self._arrays: dict[int, str] = {}
        self._functions: dict[int, str] = {}
        #: Writes a program and returns the name of its function; set by who emits programs.
        self.write_program: Any = None

    # -- what objects are called --

    def name(self, wanted: str) -> str:
        """A name that nothing else has."""
        wanted = re.sub(r"\W", "_", wanted) or "constant"
        if not wanted.isidentifier() or keyword.iskeyword(wanted):
            wanted = f"c_{wanted}"
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name

    def module(self, name: str, alias: str | None = None) -> str:
        """The name by which an imported module is known."""
        alias = alias or ("np" if name == "numpy" else name)
        known = name if alias == name else f"{name} as {alias}"
        self.imports[alias] = f"import {known}"
        self.taken.add(alias.partition(".")[0])
        return alias

    # -- objects --

    def reference(self, value: Any) -> str:
        """An expression for an object.

        Raises
        ------
        ExportError
            If it is a function of the user's program, or something else that has no text.
        """
        if value is None or value is Ellipsis or type(value) in (bool, int, str, bytes):
            return "..." if value is Ellipsis else repr(value)
        if type(value) in (float, complex):
            return self._number(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            item = self.reference(value.item()) if value.dtype.kind in "biufc" else repr(value)
            return f"{self._dtype_class(value.dtype)}({item})"
        if isinstance(value, np.dtype):
            return f"{self.module('numpy')}.dtype({self._dtype_class(value)})"
        if (
            isinstance(value, tuple)
            and hasattr(value, "_fields")
            and type(value).__module__.startswith("fgrad")
        ):
            cls = self.definition(type(value).__module__, type(value).__name__)
            return f"{cls}({', '.join(map(self.reference, value))})"
        if isinstance(value, tuple | list):
            items = ", ".join(map(self.reference, value))
            if isinstance(value, list):
                return f"[{items}]"
            return f"({items},)" if len(value) == 1 else f"({items})"
        if type(value) is dict:
            pairs = [f"{self.reference(k)}: {self.reference(v)}" for k, v in value.items()]
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, slice):
            bounds = map(self.reference, (value.start, value.stop, value.step))
            return f"slice({', '.join(bounds)})"
        if isinstance(value, np.ufunc):
            return self._ufunc(value)
        if isinstance(value, Jaxpr):
            return self._program(value)
        if isinstance(value, types.ModuleType):
            return self.module(value.__name__)
        if isinstance(value, types.MethodType):
            owner = value.__self__
            if isinstance(owner, Primitive):
                return f"{self.instance(owner, value.__name__)}.{value.__name__}"
        if isinstance(value, functools.partial):
            inner = ", ".join(
                [
                    *map(self.reference, (value.func, *value.args)),
                    *(f"{k}={self.reference(v)}" for k, v in value.keywords.items()),
                ]
            )
            return f"{self.module('functools')}.partial({inner})"
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType) or callable(
            value
        ):
            return self._callable(value)
        if isinstance(value, Aval):
            parts = map(self.reference, (value.shape, value.dtype, value.weak))
            return f"{self.definition(_STANDINS, 'Aval')}({', '.join(parts)})"
        raise ExportError(
            f"export: a {type(value).__name__} of the program has no form as NumPy code: {value!r}; compute "
            "what needs it outside of the exported function"
        )

    def _number(self, value: Any) -> str:
        if type(value) is complex:
            return f"complex({self._number(value.real)}, {self._number(value.imag)})"
        if math.isfinite(value):
            return repr(value)
        np_ = self.module("numpy")
        return f"{np_}.nan" if math.isnan(value) else f"{'-' if value < 0 else ''}{np_}.inf"

    def _dtype_class(self, dtype: np.dtype[Any]) -> str:
        if dtype.type.__module__ == "ml_dtypes":
            return f"{self.module('ml_dtypes')}.{dtype.name}"
        if dtype.kind not in "biufc":
            raise ExportError(
                f"export: the program has values of dtype {dtype}, which NumPy code cannot hold; convert them "
                "before the function that is exported"
            )
        return f"{self.module('numpy')}.{'bool_' if dtype.kind == 'b' else dtype.name}"

    def _array(self, array: np.ndarray[Any, Any], own: str = "") -> str:
        known = self._arrays.get(id(array))
        if known is not None:
            return known
        name = self._arrays[id(array)] = own or self.name("array")
        if array.size <= _INLINE_ELEMENTS and array.dtype.kind in "biufc" and _is_plain(array):
            text = f"np.array({array.tolist()!r}, {self._dtype_class(array.dtype)})"
            self.module("numpy")
            if not array.size:
                text += f".reshape({array.shape})"
        else:
            stored = array
            if array.dtype.type.__module__ == "ml_dtypes":
                stored = array.view(f"u{array.dtype.itemsize}")
            self.arrays[name] = stored
            text = f"ARRAYS[{name!r}]"
            if stored is not array:
                text += f".view({self._dtype_class(array.dtype)})"
        self.parts.append(f"{name} = {text}\n{name}.setflags(write=False)")
        return name

    def _ufunc(self, ufunc: np.ufunc) -> str:
        for module in ("numpy", "scipy.special"):
            found = sys.modules.get(module)
            if getattr(found, ufunc.__name__, None) is ufunc:
                return f"{self.module(module)}.{ufunc.__name__}"
        raise ExportError(
            f"export: the program calls {ufunc.__name__}, a function of neither NumPy nor SciPy"
        )

    def _callable(self, value: Any) -> str:
        module: str = getattr(value, "__module__", None) or ""
        name: str = getattr(value, "__qualname__", "")
        if module == "builtins" or (not module and hasattr(builtins, name)):
            return name
        top = module.partition(".")[0] if name else ""
        if top == "fgrad":
            if "<" not in name and "." not in name:
                return self.definition(module, name)
            if isinstance(value, types.FunctionType):
                return self._inner_function(value)
        elif top in ("numpy", "scipy", "math", "ml_dtypes"):
            found: Any = importlib.import_module(module)
            for piece in name.split("."):
                found = getattr(found, piece, None)
            if found is value:
                return f"{self.module(module)}.{name}"
        raise ExportError(
            f"export: the program calls the Python function {name or value!r} at run time; a module that does "
            "without fgrad cannot: export the parts before and after it"
        )

    def _inner_function(self, function: types.FunctionType) -> str:
        """A function that was defined in another one, or by a lambda expression."""
        known = self._functions.get(id(function))
        if known is not None:
            return known
        module = function.__module__
        source = source_of(module)
        node = source.function_at(function.__code__)
        if node is None:
            raise ExportError(f"export: {function.__qualname__} has no text of its own")
        text = source.rewritten(node, self._resolver(module))
        cells = {
            name: self.reference(cell.cell_contents)
            for name, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=True
            )
        }
        if isinstance(node, ast.Lambda):
            text = f"return {text}"
            inner = None
        else:
            inner = node.name
            text += f"\n\nreturn {inner}"
        name = self._functions[id(function)] = self.name(inner or "function")
        if not cells and inner is None:
            self.parts.append(f"{name} = {text.removeprefix('return ')}")
            return name
        maker = self.name(f"make_{name}")
        self.parts.append(f"def {maker}({', '.join(cells)}):\n{textwrap.indent(text, '    ')}")
        self.parts.append(f"{name} = {maker}({', '.join(cells.values())})")
        return name

    def _program(self, jaxpr: Jaxpr) -> str:
        name = self._programs.get(id(jaxpr))
        if name is None:
            run = self.write_program(jaxpr)
            avals = ", ".join(map(self.reference, jaxpr.out_avals))
            comma = "," if len(jaxpr.out_avals) == 1 else ""
            program = self.definition(_STANDINS, "Program")
            name = self._programs[id(jaxpr)] = self.name(f"{run}_program")
            self.parts.append(f"{name} = {program}({run}, ({avals}{comma}))")
        return name

    # -- definitions of fgrad --

    def place(self, name: str, value: Any) -> str:
        """The statement that binds a name, which nothing else has, to an object."""
        if isinstance(value, types.FunctionType) and value.__module__.startswith("fgrad."):
            place = value.__module__, value.__qualname__
            if value.__qualname__.isidentifier() and place not in self._names:
                self.definition(*place, own=name)
                return ""
        text = self._array(value, name) if isinstance(value, np.ndarray) else self.reference(value)
        return "" if text == name else f"{name} = {text}"

    def definition(self, module: str, name: str, own: str = "") -> str:
        """The name of a function, class or constant of fgrad in the module that is written.

        A function may be given a name that is not free.
        """
        if (module, name) in PLAIN_FORMS:
            module, name = _STANDINS, PLAIN_FORMS[module, name]
        known = self._names.get((module, name))
        if known is not None:
            return known
        source = source_of(module)
        if module in _WITH_STATEMENTS and module not in self._begun:
            self._begun.add(module)
            statements = [node for node in source.tree.body if isinstance(node, ast.If)]
            own = self.definition(module, name, own)
            resolve = self._resolver(module)
            self.parts += [source.rewritten(node, resolve) for node in statements]
            return own
        if name in source.imports and name not in source.bindings:
            found = self._resolved(module, name)
            return name if found is None else found
        value = getattr(importlib.import_module(module), name)
        if isinstance(value, type) and issubclass(value, FgradError):
            base = next(c for c in value.__mro__ if c.__module__ == "builtins")
            return base.__name__
        if isinstance(value, Primitive) or (
            isinstance(value, type) and issubclass(value, Primitive)
        ):
            raise ExportError(
                f"export: the implementation of a primitive of this program uses {name}, which is not plain NumPy"
            )
        node = source.bindings[name]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own = self._names[module, name] = own or self.name(name)
            self.parts.append(source.rewritten(node, self._resolver(module), own))
            return own
        assert isinstance(node, ast.Assign | ast.AnnAssign)
        names = assigned_names(node)
        assert node.value is not None, f"{module}.{name} has no value"
        text = source.rewritten(node.value, self._resolver(module))
        for one in names:
            self._names[module, one] = self.name(one)
        if len(names) == 1:
            left = self._names[module, name]
        else:
            left = ", ".join(self._names[module, one] for one in names)
        self.parts.append(f"{left} = {text}")
        return self._names[module, name]

    def _resolver(self, module: str) -> Any:
        def resolve(dotted: str, local: frozenset[str]) -> str | None:
            text = self._resolved(module, dotted)
            if text is None:
                return None
            head, dot, rest = text.partition(".")
            if head not in local:
                return text
            # What is called like a variable of the function that uses it needs another name there.
            other = self._others.get(head)
            if other is None:
                other = self._others[head] = self.name(head)
                self.parts.append(f"{other} = {head}")
            return other + dot + rest

        return resolve

    def _resolved(self, module: str, dotted: str) -> str | None:
        """What a dotted name of a module is called in the module that is written."""
        head, *rest = dotted.split(".")
        source = source_of(module)
        if head in source.bindings:
            return self._attribute(module, head, rest)
        if head not in source.imports:
            return None
        origin, attribute = source.imports[head]
        if origin.partition(".")[0] != "fgrad":
            if attribute is None:
                self.module(origin, head if head != origin else None)
                return None
            self.imports[head] = f"from {origin} import {attribute}" + (
                f" as {head}" if head != attribute else ""
            )
            self.taken.add(head)
            return None
        whole = f"{origin}.{attribute}"
        if whole in sys.modules and isinstance(
            getattr(sys.modules[origin], str(attribute), None), types.ModuleType
        ):
            origin, attribute, rest = whole, rest[0], rest[1:]
        if (origin, attribute) == ("fgrad.dtypes", "canonical") and switches.enable_x64:
            return IDENTITY
        if origin == "fgrad.config" and attribute in ("config", "switches"):
            return self.reference(getattr(switches, rest[0]))
        return self._attribute(origin, str(attribute), rest)

    def _attribute(self, module: str, name: str, rest: list[str]) -> str:
        value = getattr(importlib.import_module(module), name)
        typed_like = getattr(value, "typed_like", None)
        if rest == ["result_dtype"] and isinstance(typed_like, np.ufunc):
            function = self.definition(_STANDINS, "result_dtype")
            return f"{self.module('functools')}.partial({function}, {self._ufunc(typed_like)})"
        return ".".join([self.definition(module, name), *rest])

    # -- primitives --

    def instance(self, primitive: Primitive, method: str) -> str:
        """A mark for an expression that makes an object with a method of a primitive."""
        described = self._classes.get(type(primitive))
        if described is None:
            described = self._classes[type(primitive)] = _Class(
                self, type(primitive), self.name(type(primitive).__name__)
            )
        described.need(method, primitive)
        mark = f"\0{id(primitive)}\0"
        self._instances[mark] = described, primitive
        return mark

    def settle(self) -> None:
        """Write the instances, which may ask for more of a class, or for other objects."""
        while True:
            before = self._written
            self._written = {
                mark: described.instance(primitive)
                for mark, (described, primitive) in list(self._instances.items())
            }
            if self._written == before:
                return

    def finish(self, constants: list[str]) -> list[str]:
        """All parts, then classes, then `constants`, with the instances in them written out."""
        text = "\n".join(constants)
        for _ in self._written:
            if "\0" not in text:
                break
            for mark, expression in self._written.items():
                text = text.replace(mark, expression)
        if "\0" in text:
            raise ExportError("export: a primitive of this program refers to itself")
        return [*self.parts, *[c.text() for c in self._classes.values()], text]


class _Class:
    """A class with as much of a primitive's class as its instances need."""

    def __init__(self, bundle: Bundle, cls: type, name: str) -> None:
        self.bundle = bundle
        self.cls = cls
        self.name = name
        self.fields: dict[str, None] = {}
        self.members: dict[str, str] = {}

    def all_fields(self) -> list[str]:
        return (
            [f.name for f in dataclasses.fields(self.cls)]
            if dataclasses.is_dataclass(self.cls)
            else []
        )

    def need(self, name: str, example: Any, start: int = 0) -> str:
        """Take in an attribute, and say under which name."""
        if start == 0 and (name in self.all_fields() or name in self.fields):
            self.fields[name] = None
            return name
        mro = self.cls.__mro__
        position = next((i for i in range(start, len(mro)) if name in vars(mro[i])), None)
        if position is None:
            # Set by a constructor.
            self.fields[name] = None
            return name
        definer = mro[position]
        own = name if start == 0 else f"_{definer.__name__.strip('_').lower()}_{name}"
        if own in self.members:
            return own
        if definer.__module__.partition(".")[0] != "fgrad":
            return own
        self.members[own] = ""
        module, holder = definer.__module__, definer.__name__
        plain = PLAIN_METHODS.get((module, holder, name))
        if plain is not None:
            module, holder = _STANDINS, plain
        source = source_of(module)
        node = source.member(holder, name)
        if node is None:
            raise ExportError(
                f"export: {self.cls.__name__}.{name} has no text of its own to write out"
            )
        renamed = {}
        for inner in ast.walk(node):
            if not isinstance(inner, ast.Attribute):
                continue
            if isinstance(inner.value, ast.Name) and inner.value.id in ("self", "cls"):
                self.need(inner.attr, example)
            elif _is_super(inner.value):
                renamed[inner.attr] = self.need(inner.attr, example, position + 1)
        if _uses_whole_self(node):
            self.fields.update(dict.fromkeys(self.all_fields()))
        resolve = self.bundle._resolver(module)
        if isinstance(node, ast.AnnAssign):
            assert node.value is not None
            text = f"{name} = {source.rewritten(node.value, resolve)}"
        else:
            text = source.rewritten(node, resolve, own)
        for inherited, new in renamed.items():
            text = text.replace(f"super().{inherited}(", f"self.{new}(")
        self.members[own] = text
        return own

    def instance(self, primitive: Any) -> str:
        given = [f"{f}={self.bundle.reference(getattr(primitive, f))}" for f in list(self.fields)]
        return f"{self.name}({', '.join(given)})"

    def text(self) -> str:
        lines = []
        doc = (self.cls.__doc__ or "").strip().partition("\n")[0]
        if doc:
            lines.append(f'"""{doc}"""')
        if self.fields:
            self.bundle.module("dataclasses")
        fields = "\n".join(f"{name}: object" for name in self.fields)
        simple = [m for m in self.members.values() if not m.startswith(("def ", "@"))]
        methods = [m for m in self.members.values() if m.startswith(("def ", "@"))]
        body = "\n\n".join(
            p for p in ["\n".join(lines), "\n".join([fields, *simple]).strip(), *methods] if p
        )
        head = "@dataclasses.dataclass(frozen=True)\n" if self.fields else ""
        return f"{head}class {self.name}:\n{textwrap.indent(body or 'pass', '    ')}"


def _is_super(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def _uses_whole_self(node: ast.AST) -> bool:
    """Whether an object is used other than by its attributes, as in ``replace(self, ...)``."""
    through = {id(n.value) for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return any(
        isinstance(n, ast.Name) and n.id == "self" and id(n) not in through for n in ast.walk(node)
    )


def _is_plain(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind in "biu" or bool(np.isfinite(array).all())
