"""Jaxprs as readable NumPy source: one statement per equation, in order."""

from __future__ import annotations

import builtins
import itertools
import keyword
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.compiler.fuse import Fused
from fgrad.compiler.kernels import ARITHMETIC, blocked
from fgrad.compiler.plan import overwritten_operands
from fgrad.compiler.runtime import alias, seal
from fgrad.config import config
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, last_uses
from fgrad.ir.uses import view_owners
from fgrad.primitives.families import (
    LARGE_FOR_DOT,
    Convert,
    Elementwise,
    Ufunc,
    absorbing_product,
    has_nan,
    mul,
)
from fgrad.source_info import source_text
from fgrad.tracing import Primitive

#: Names that generated code uses besides those of Python.
_USED = ("np", "nan")
# CPython compiles very long functions in more than linear time.
STATEMENTS_PER_FUNCTION = 2000
_WORDS = re.compile(r"\W+")
# Below this many bytes, dropping a variable early is noise in the source.
_WORTH_DROPPING = 1 << 14


# Of arrays up to this size, an operation costs little more than the call.
_SMALL = 1 << 13
# Integers up to this one are exact in every float.
_LARGEST_NUMBER = 1 << 24


def _takes_arrays(primitive: Any) -> bool:
    """Whether an array without axes does all that a number does."""
    return primitive is absorbing_product or getattr(primitive, "function", None) in ARITHMETIC


class Emitter:
    """Writes the source of one program and collects the constants that it names."""

    def __init__(self, name: str, guards: frozenset[Var] | None = None) -> None:
        self.guards = guards
        self.name = re.sub(r"\W", "_", name) or "program"
        # What the code calls, such as `range`, must not be the function itself.
        unfit = keyword.iskeyword(self.name) or self.name in _USED or hasattr(builtins, self.name)
        if unfit or not self.name.isidentifier():
            self.name = "f_" + self.name
        self.constants: dict[str, Any] = {"np": np}
        self._by_key: dict[Any, str] = {}
        #: How many constants share a hint: the next name is found at once.
        self._counts: dict[str, int] = {}
        self._fresh = _identifiers()
        # Variables and constants share one function: no name stands for two things.
        self._taken = {*_USED, self.name, *dir(builtins), *keyword.kwlist}
        #: Functions that compute blocks, which the program calls.
        self.kernels: list[str] = []
        self._locals: set[str] = set()
        self._local_counts: dict[str, int] = {}
        #: The user's names, which no other variable gets.
        self._hints: set[str] = set()
        #: The types of the operands of the equation being lowered.
        self.operands: list[Aval] = []
        self._names: dict[Var, str] = {}
        self._places: dict[Any, str] = {}
        self._kinds: dict[Any, str] = {}
        #: The operand that each result is written over, if there is one.
        self._overwritten: dict[Var, int] = {}
        #: How many loops there are around what is written.
        self.in_loop = 0
        #: Whether operands are blocks of what their types say.
        self.in_block = False
        #: Results of updates that change their first operand itself.
        self.in_place: set[Var] = set()
        #: The arrays that results are written to, by name.
        self._targets: dict[Var, str] = {}

    def beside_it(self, name: str, guards: frozenset[Var] | None) -> Emitter:
        """An emitter of another program for the same module: they share their constants."""
        other = Emitter(name, guards)
        while other.name in self._taken:
            other.name += "_"
        self._taken.add(other.name)
        other.constants, other._by_key = self.constants, self._by_key
        other._counts, other._taken = self._counts, self._taken
        return other

    # -- what lowering rules use --

    def constant(self, value: Any, hint: str) -> str:
        """A name for a Python object that the code refers to."""
        key: Any = value if callable(value) else id(value)
        if isinstance(value, np.generic):
            key = value.dtype, value.tobytes()
        known = self._by_key.get(key)
        if known is not None:
            return known
        hint = re.sub(r"\W", "_", hint) or "constant"
        if keyword.iskeyword(hint) or not hint.isidentifier():
            hint = "_" + hint
        name = self.unused(hint)
        self.constants[name] = value
        self._by_key[key] = name
        return name

    def dtype(self, dtype: np.dtype[Any]) -> str:
        if dtype.kind == "b":
            return "np.bool_"
        # NumPy has no names for the narrow floats.
        return f"np.{dtype.name}" if hasattr(np, dtype.name) else self.constant(dtype, dtype.name)

    def scalar(self, value: Any) -> str:
        if type(value) in (bool, int) or (type(value) is float and math.isfinite(value)):
            return repr(value)
        return self.constant(value, "scalar")

    def takes_operators(self, symbol: str) -> bool:
        """Whether a binary operator on the operands does exactly what the ufunc does."""
        left, right = self.operands
        if left.shape or right.shape:
            return True
        kinds = left.dtype.kind + right.dtype.kind
        if not set(kinds) <= set("biuf"):
            return False
        if symbol not in "+-*/":
            return True
        # NumPy's integer scalars warn of an overflow, and its complex ones divide in another way.
        # Python's numbers raise where they divide by zero.
        if left.weak and right.weak:
            return kinds == "ff" and symbol != "/"
        return any([a.dtype.kind == "f" and not a.weak for a in (left, right)])

    def absorbing_product(self, ct: str, slope: str) -> str:
        if self.guards is not None:
            return mul.lower(self, ct, slope)
        return f"{self.constant(absorbing_product.impl, 'absorbing_product')}({ct}, {slope})"

    # -- names --

    def var(self, var: Var) -> str:
        name = self._names.get(var)
        if name is None:
            name = self._local(var.name)
            self._names[var] = name
            self._locals.add(name)
        return name

    def _local(self, known: str | None) -> str:
        """A name for a variable, after that of the user if there is one."""
        hint = "" if known is None else _WORDS.sub("_", known).strip("_")
        if not (hint and hint.isidentifier()):
            name = next(self._fresh)
            while name in self._taken or name in self._locals or name in self._hints:
                name = next(self._fresh)
            return name
        number = self._local_counts.get(hint, 0)
        name = f"{hint}_{number}" if number else hint
        while name in self._taken or name in self._locals:
            number += 1
            name = f"{hint}_{number}"
        self._local_counts[hint] = number + 1
        return name

    def atom(self, atom: Atom) -> str:
        if isinstance(atom, Literal):
            return self.scalar(atom.value)
        return self.var(atom)

    def rename(self, var: Var, name: str) -> None:
        """Call a variable something else from here on."""
        self._names[var] = name

    def take(self, body: Jaxpr, guards: frozenset[Var] | None) -> None:
        """Make ready to write a body whose variables no other program has."""
        for var, const in zip(body.constvars, body.consts, strict=True):
            self._names[var] = self.constant(const, "constant")
        self._overwritten.update(overwritten_operands(body))
        if self.guards is not None and guards is not None:
            self.guards |= guards

    def write_to(self, var: Var, target: str) -> None:
        """Let the equation that makes a variable write it to an array, if its primitive can."""
        self._targets[var] = target

    def overwritten(self, var: Var) -> int | None:
        """The position of the operand that a result takes the place of, if there is one."""
        return self._overwritten.get(var)

    def unused(self, hint: str) -> str:
        """A name that nothing has."""
        number = self._counts.get(hint, 0)
        name = f"{hint}_{number}" if number else hint
        while name in self._taken or name in self._locals:
            number += 1
            name = f"{hint}_{number}"
        self._counts[hint] = number + 1
        self._taken.add(name)
        return name

    def beside(self, eqn: Eqn, atom: Literal, name: str) -> str:
        """A number beside an array of floats: as a Python number it reads best, as an array it costs least."""
        literal = atom.aval
        for aval in self.operands:
            if aval.shape:
                break
        else:
            return name
        dtype = aval.dtype
        fits = literal.weak or literal.dtype == dtype
        if dtype.kind != "f" or dtype.itemsize < 4 or not fits or literal.dtype.kind not in "if":
            return name
        value = float(atom.value)
        small = aval.size <= _SMALL and abs(value) <= _LARGEST_NUMBER
        if small and config.optimizes() and _takes_arrays(eqn.primitive):
            # Zeros of both signs are equal.
            key = value or value.hex(), dtype.char
            known = self._by_key.get(key)
            if known is None:
                known = self._by_key[key] = self.number(value, dtype)
            return known
        return name if literal.weak else self.scalar(value)

    def number(self, value: float, dtype: np.dtype[Any]) -> str:
        """A name for a number as an array without axes: NumPy converts a Python number at every use."""
        array = np.array(value, dtype)
        array.setflags(write=False)
        text = repr(value).replace("-", "minus_").removesuffix(".0")
        return self.constant(array, f"number_{text}")

    # -- statements --

    def place(self, source: Any) -> str:
        """The user's line of an equation; a loop's body records the same places many times."""
        key = source
        if isinstance(source, tuple):
            key = id(source[0]), source[1], getattr(source, "scope", "")
        text = self._places.get(key)
        if text is None:
            text = self._places[key] = source_text(source)
        return text

    def kind(self, aval: Aval) -> str:
        """A type as comments show it."""
        key = aval.shape, aval.dtype.num, aval.weak
        text = self._kinds.get(key)
        if text is None:
            text = self._kinds[key] = str(aval)
        return text

    def operand_names(self, eqn: Eqn) -> list[str]:
        """What the operands of an equation are called in the code."""
        self.operands = [a.aval for a in eqn.inputs]
        names = [self.atom(a) for a in eqn.inputs]
        if isinstance(eqn.primitive, Elementwise):
            for i, atom in enumerate(eqn.inputs):
                if type(atom) is Literal:
                    names[i] = self.beside(eqn, atom, names[i])
        return names

    def statement_into(self, eqn: Eqn, target: str) -> str | None:
        """A statement that puts the result of an equation into an array that exists, where there is one."""
        names = self.operand_names(eqn)
        primitive = eqn.primitive
        if primitive is absorbing_product:
            if self.guards is None:
                return None
            primitive = mul
        return primitive.lower_into(self, target, *names)  # type: ignore[no-any-return]

    def expression_into(self, eqn: Eqn, target: str) -> str:
        """The call of a ufunc that puts its result into an array, and gives that array."""
        primitive = mul if eqn.primitive is absorbing_product else eqn.primitive
        return f"{primitive.source}({', '.join(self.operand_names(eqn))}, out={target})"

    def expression(self, eqn: Eqn) -> str:
        """The expression that computes the result of an equation."""
        names = self.operand_names(eqn)
        primitive = eqn.primitive
        weak = True in [v.aval.weak for v in eqn.outputs]
        if type(primitive) is Convert and self.operands[0] == Aval((), primitive.dtype) and weak:
            return f"{names[0]}.item()"
        narrow = not config.enable_x64 and not primitive.lowers_in_32_bits
        if narrow or (weak and not isinstance(primitive, Ufunc)):
            # Python scalars stay Python scalars, and 32-bit mode narrows: the implementation does both.
            return Primitive.lower(primitive, self, *names)
        return primitive.lower(self, *names)  # type: ignore[no-any-return]

    def statement(self, eqn: Eqn) -> str:
        """The statement for an equation, which may write over one of its operands."""
        outputs = eqn.outputs
        if len(outputs) == 1:
            kinds = self.kind(outputs[0].aval)
            position = self._overwritten.get(outputs[0])
            target = self._targets.get(outputs[0])
        else:
            kinds = ", ".join([self.kind(v.aval) for v in outputs])
            position = target = None
        written_over: Any = None
        if target is None and position is not None:
            written_over = eqn.inputs[position]
            target = self.atom(written_over)
        if target is not None:
            statement = self.statement_into(eqn, target)
            if statement is not None:
                (out,) = eqn.outputs
                if written_over is None or (out.name is None and written_over.name is None):
                    self._names[out] = target
                    return f"{statement}  # {kinds}"
                # What has the user's name for one value is not another one.
                if not statement.startswith("np."):
                    statement = f"{self.expression_into(eqn, target)}"
                return f"{self.var(out)} = {statement}  # {kinds}"
        expression = self.expression(eqn)
        targets = ", ".join([self.var(v) for v in eqn.outputs])
        if eqn.primitive.multiple_results:
            targets = f"[{targets}]"
        return f"{targets} = {expression}  # {kinds}"

    def source(self, jaxpr: Jaxpr) -> str:
        """The whole module: the entry point comes last, and is named after the user's function."""
        self._hints = {v.name for eqn in jaxpr.eqns for v in eqn.outputs if v.name is not None}
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            self._names[var] = self.constant(const, "constant")
        parameters = [self.var(v) for v in jaxpr.invars]
        if config.optimizes():
            self._overwritten = overwritten_operands(jaxpr)
        blocks = self.blocks(jaxpr)
        results = self.results(jaxpr)
        if len(blocks) == 1:
            main = self.function(self.name, parameters, blocks[0][0], results)
            return "\n\n".join([*self.kernels, main])
        # Each part takes the variables that are alive where it begins and hands on those that are
        # still alive where it ends.
        parts, calls = [], []
        for number, (lines, live_in, live_out) in enumerate(blocks):
            part = f"{self.name}_part_{number}"
            arguments = [self.var(v) for v in live_in]
            handed_on = [self.var(v) for v in live_out]
            parts.append(self.function(part, arguments, lines, handed_on))
            calls.append(f"    [{', '.join(handed_on)}] = {part}({', '.join(arguments)})")
        main = self.function(self.name, parameters, calls, results)
        return "\n\n".join([*self.kernels, *parts, main])

    def function(
        self, name: str, parameters: list[str], lines: list[str], results: list[str]
    ) -> str:
        return "\n".join(
            [
                f"def {name}({', '.join(parameters)}):",
                *lines,
                f"    return [{', '.join(results)}]",
            ]
        )

    def blocks(self, jaxpr: Jaxpr) -> list[tuple[list[str], list[Var], list[Var]]]:
        """Statements by function, with the variables alive at its beginning and end."""
        step = STATEMENTS_PER_FUNCTION
        dying = last_uses(jaxpr)
        if len(jaxpr.eqns) <= step:
            return [(self.lines(jaxpr.eqns, dying), [], [])]
        constants = set(jaxpr.constvars)
        kept = {a for a in jaxpr.outvars if type(a) is Var}
        chunks = []
        alive = {v: None for v in jaxpr.invars}
        for start in range(0, len(jaxpr.eqns), step):
            eqns = jaxpr.eqns[start : start + step]
            live_in = list(alive)
            lines = self.lines(eqns, dying[start : start + step])
            for eqn, gone in zip(eqns, dying[start : start + step], strict=True):
                alive.update(dict.fromkeys(eqn.outputs))
                for var in gone:
                    if var not in kept:
                        alive.pop(var, None)
            live_out = [v for v in alive if v not in constants]
            chunks.append((lines, live_in, live_out))
        return chunks

    def found_nan(self, var: Var, silent: bool) -> str:
        """Whether a variable holds a NaN: if one does, the guarded program takes over."""
        name = self.var(var)
        if var.aval.size == 1:
            return f"{name} != {name}"
        if var.aval.dtype.kind == "f" and not silent:
            # A sum of squares may overflow, which warns.
            return f"(nan := np.minimum.reduce({name}, axis=None)) != nan"
        if var.aval.size <= LARGE_FOR_DOT and var.aval.dtype.kind == "f":
            # A sum of squares is NaN exactly when an element is.
            squares = (
                f"{name}.dot({name})" if len(var.aval.shape) == 1 else f"np.vdot({name}, {name})"
            )
            return f"(nan := {squares}) != nan"
        return f"{self.constant(has_nan, 'has_nan')}({name})"

    def lines(
        self,
        eqns: tuple[Eqn, ...],
        dying: list[tuple[Var, ...]],
        margin: str = "    ",
        silenced: bool = False,
    ) -> list[str]:
        """The statements at a margin, where floating-point errors may be silenced already."""
        lines: list[str] = []
        place = None
        silent = silenced
        indent = margin
        for eqn, gone in zip(eqns, dying, strict=True):
            if eqn.silent != silent and not silenced:
                silent = eqn.silent
                if silent:
                    lines.append(
                        f"{margin}with np.errstate(all='ignore'):  # derivatives never warn"
                    )
                indent = f"{margin}    " if silent else margin
                place = None
            if eqn.source is not None and (here := self.place(eqn.source)) != place:
                place = here
                lines.append(f"{indent}# {place}")
            if type(eqn.primitive) is Fused:
                lines.extend(blocked(self, eqn, indent))
            else:
                written = eqn.primitive.write(self, eqn, indent, silent)
                lines.extend(written or [indent + self.statement(eqn)])
            if self.guards is not None:
                # A kernel has looked at what it made block by block.
                seen = eqn.primitive.looked_at if type(eqn.primitive) is Fused else ()
                looks = [v for v in eqn.outputs if v in self.guards and v not in seen]
                lines.extend(f"{indent}if {self.found_nan(v, silent)}: return None" for v in looks)
            large = [v for v in gone if v.aval.nbytes >= _WORTH_DROPPING and v in self._names]
            if large:
                kept = {*self.constants, *[self.var(v) for v in eqn.outputs]}
                dropped = [self._names[v] for v in large if self._names[v] not in kept]
                if dropped:
                    lines.append(f"{indent}del {', '.join(dropped)}")
        return lines

    def results(self, jaxpr: Jaxpr) -> list[str]:
        """The expressions to return: never an argument or constant itself, views sealed."""
        owners = view_owners(jaxpr.eqns)
        foreign = {*jaxpr.invars, *jaxpr.constvars}
        results = []
        seen: set[Any] = set()
        for atom in jaxpr.outvars:
            text = self.atom(atom)
            if type(atom) is Var and not atom.aval.weak:
                if owners.get(atom, atom) in foreign or atom in seen:
                    text = f"{self.constant(alias, 'alias')}({text})"
                elif atom in owners:
                    text = f"{self.constant(seal, 'seal')}({text})"
                seen.add(atom)
            results.append(text)
        return results


def _identifiers() -> Iterator[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    for length in itertools.count(1):
        for combination in itertools.product(letters, repeat=length):
            name = "".join(combination)
            # Too much like a digit.
            if name != "l":
                yield name
