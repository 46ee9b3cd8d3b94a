"""A program as the text of a module that stands alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad.compiler.bundle import Bundle
from fgrad.compiler.compile import emitted_form, guards_of
from fgrad.compiler.emit import Emitter
from fgrad.compiler.fission import prepared
from fgrad.compiler.standins import Leaf
from fgrad.ir.jaxpr import Jaxpr

_STANDINS = "fgrad.compiler.standins"


class Place(NamedTuple):
    """The position of a result."""

    position: int


def module_text(
    jaxpr: Jaxpr, name: str, parameters: Sequence[tuple[str, Any]], result: Any
) -> tuple[str, dict[str, np.ndarray[Any, Any]]]:
    """The text of a module with a function `name` that runs a program, and the arrays that it loads.

    Parameters
    ----------
    jaxpr : Jaxpr
        The program, closed.
    name : str
        The name of the public function.
    parameters
        For each of its parameters a name and the tree of `Leaf` that it takes.
    result
        The tree of `Place` that it returns.
    """
    writer = _Writer(name, [n for n, _ in parameters])
    return writer.text(jaxpr, parameters, result)


class _Writer:
    def __init__(self, name: str, parameters: Sequence[str]) -> None:
        public = Emitter(name).name
        self.public = public
        # Its own name is taken by the public function.
        self.first = Emitter(public)
        self.bundle = Bundle({public, *parameters})
        self.numbers = itertools.count(1)

    def emit(self, jaxpr: Jaxpr, name: str) -> tuple[str, str | None]:
        """Write a program; the names of its function, and of the one to use when that one gives up."""
        simplified = prepared(jaxpr)
        guards = guards_of(simplified)
        program = emitted_form(simplified)
        names = []
        for own, placed in ((name, guards), (f"{name}_guarded", None)):
            emitter = self.first.beside_it(own, placed)
            self.bundle.parts.append(emitter.source(program))
            names.append(emitter.name)
            if guards is None:
                return names[0], None
        return names[0], names[1]

    def nested(self, jaxpr: Jaxpr) -> str:
        """Write the program of a loop's body or a branch, and return the name of its function."""
        own = f"_{jaxpr.name or 'body'}_{next(self.numbers)}"
        fast, guarded = self.emit(jaxpr, own)
        if guarded is None:
            return fast
        entry = f"{fast}_entry"
        self.bundle.parts.append(
            f"def {entry}(*values):\n{_calls(fast, guarded, 'values', 'results')}\n    return results"
        )
        return entry

    def text(
        self, jaxpr: Jaxpr, parameters: Sequence[tuple[str, Any]], result: Any
    ) -> tuple[str, dict[str, np.ndarray[Any, Any]]]:
        fast, guarded = self.emit(jaxpr, f"_{self.public}")
        bundle = self.bundle
        bundle.write_program = self.nested
        bundle.module("numpy")
        flat = bundle.definition(_STANDINS, "flat_arguments")
        leaf = bundle.definition(_STANDINS, "Leaf")
        sealed = bundle.definition(_STANDINS, "sealed")
        constants: list[str] = []
        done = 0
        # Constants may be programs, which have constants of their own.
        while done < len(self.first.constants):
            found = list(self.first.constants.items())[done:]
            done += len(found)
            bundle.taken.update(name for name, _ in found)
            constants += [bundle.place(name, value) for name, value in found if name != "np"]
            bundle.settle()
        values, results = bundle.name("values"), bundle.name("results")
        lines = [f"def {self.public}({', '.join(n for n, _ in parameters)}):"]
        taken = [f"{flat}({n}, {_spelled(t, leaf)}, {n!r})" for n, t in parameters]
        if len(taken) == 1:
            lines.append(f"    {values} = {taken[0]}")
        else:
            lines += [f"    {values} = [", *(f"        *{text}," for text in taken), "    ]"]
        lines.append(_calls(fast, guarded, values, results))
        lines.append(f"    {results} = [{sealed}(x) for x in {results}]")
        lines.append(f"    return {_spelled(result, leaf, results)}")
        entry = "\n".join(lines)
        body = bundle.finish([c for c in constants if c])
        head = [
            f'"""{self.public}: NumPy code that needs nothing else of what it was made with."""'
        ]
        imports = sorted(bundle.imports.values())
        if bundle.arrays:
            imports += ["", "import pathlib"]
        head.append("\n".join(imports))
        if bundle.arrays:
            head.append(
                'with np.load(pathlib.Path(__file__).with_suffix(".npz")) as _file:\n'
                "    ARRAYS = {name: _file[name] for name in _file}"
            )
        pieces = [*head, *body, entry]
        return _joined([p for p in pieces if p]), bundle.arrays


def _joined(pieces: Sequence[str]) -> str:
    """Definitions with two lines between them, and lines of constants without."""
    text = pieces[0]
    for before, piece in itertools.pairwise(pieces):
        simple = not any(_is_definition(p) for p in (before, piece)) and before is not pieces[0]
        text += ("\n" if simple else "\n\n\n") + piece
    return text + "\n"


def _is_definition(text: str) -> bool:
    return text.startswith(("def ", "class ", "@", "import ", "from ", "with ", "if "))


def _calls(fast: str, guarded: str | None, values: str, results: str) -> str:
    if guarded is None:
        return f"    {results} = {fast}(*{values})"
    return (
        "    # A zero cotangent that meets an infinite slope makes a NaN: then each product is guarded.\n"
        "    try:\n"
        f"        {results} = {fast}(*{values})\n"
        "    except Exception:\n"
        f"        {results} = None\n"
        f"    if {results} is None:\n"
        f"        {results} = {guarded}(*{values})"
    )


def _spelled(tree: Any, leaf: str, results: str = "") -> str:
    """A tree as an expression; the positions in it are those of results."""
    if isinstance(tree, Leaf):
        kind = f", {tree.kind.__name__}" if tree.kind is not None else ""
        return f"{leaf}({tree.shape}, {tree.dtype!r}{kind})"
    if isinstance(tree, Place):
        return f"{results}[{tree.position}]"
    if isinstance(tree, dict):
        return f"{{{', '.join(f'{k!r}: {_spelled(v, leaf, results)}' for k, v in tree.items())}}}"
    if isinstance(tree, list | tuple):
        inner = ", ".join(_spelled(v, leaf, results) for v in tree)
        if isinstance(tree, list):
            return f"[{inner}]"
        return f"({inner},)" if len(tree) == 1 else f"({inner})"
    return repr(tree)
