"""Random stacks of transforms over a random program, and the script that reproduces one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support.modules import jax, jnp
from support.programs import Program, random_program

PRELUDE = (Path(__file__).parent / "prelude.py").read_text()
KINDS = ("grad", "jvp", "vjp", "vmap", "jit")
FORMS: dict[str, tuple[Any, ...]] = {
    "grad": ("grad", "value_and_grad", "has_aux"),
    "jvp": ("jvp", "linearize"),
    "vjp": ("vjp",),
    "vmap": ((0, 0), (-1, 0), (0, -1)),
    "jit": ("jit", "jit", "checkpoint"),
}


@dataclass(frozen=True)
class Case:
    """A program, the transforms on it (innermost first), and its inputs by seed."""

    program: Program
    stack: tuple[tuple[str, tuple[int, ...], Any], ...]

    def __repr__(self) -> str:
        return self.script()

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(kind for kind, _, _ in self.stack)

    def simpler(self) -> Iterator[Case]:
        """Cases with less in them, the smallest programs first."""
        for program in self.program.prefixes():
            if len(program.source) < len(self.program.source):
                yield replace(self, program=program)
        for n in range(len(self.stack)):
            yield replace(self, stack=self.stack[:n] + self.stack[n + 1 :])

    def source(self) -> str:
        lines = [self.program.source, "", "def transformed(lib, xp):", "    f0 = program"]
        for n, (kind, moving, form) in enumerate(self.stack):
            lines.append(f"    f{n + 1} = {kind}(lib, xp, f{n}, {moving!r}, {form!r})")
        lines += [f"    return f{len(self.stack)}", "", "def inputs():"]
        lines.append(f"    rng = np.random.default_rng({self.program.seed})")
        made = ", ".join(argument.source for argument in self.program.arguments)
        lines.append(f"    return [{made}]\n")
        return "\n".join(lines)

    def script(self) -> str:
        """A script that runs this case on fgrad and on JAX, with nothing of the tests."""
        return "\n".join(
            [
                "\n# ---- reproduction " + "-" * 60,
                PRELUDE,
                self.source(),
                "for name in ('fgrad', 'jax'):",
                "    import importlib",
                "    lib = importlib.import_module(name)",
                "    xp = importlib.import_module(name + '.numpy')",
                "    lib.config.update('jax_enable_x64', True)",
                "    args = [lib.tree_util.tree_map(lambda x: x if isinstance(x, float) else "
                "xp.asarray(x), arg) for arg in inputs()]",
                "    print(name, transformed(lib, xp)(*args))",
                "# " + "-" * 78,
            ]
        )

    def function(self, lib: Any, xp: Any) -> Callable[..., Any]:
        """The transformed program on a module."""
        built: Callable[..., Any] = self.namespace(lib, xp)["transformed"](lib, xp)
        return built

    def inputs(self, lib: Any, xp: Any, shift: float = 0.0, wide: bool = False) -> list[Any]:
        """The arguments as arrays of a module, moved by ``shift`` in relative terms; ``wide`` in 64 bits."""
        return [
            lib.tree_util.tree_map(lambda x: moved(xp, widened(x) if wide else x, shift), argument)
            for argument in self.namespace(lib, xp)["inputs"]()
        ]

    def namespace(self, lib: Any, xp: Any) -> dict[str, Any]:
        names: dict[str, Any] = {"lib": lib, "xp": xp}
        exec(compile(PRELUDE, "<prelude>", "exec"), names)
        exec(compile(self.source(), "<program>", "exec"), names)
        return names


def moved(xp: Any, x: Any, shift: float) -> Any:
    if isinstance(x, float):
        return x * (1.0 + shift)
    if shift and x.dtype.kind in "fc":
        wobble = 1.0 + shift * np.cos(np.arange(x.size)).reshape(x.shape)
        return xp.asarray((x * wobble).astype(x.dtype))
    return xp.asarray(x)


def widened(x: Any) -> Any:
    wider = {"float32": np.float64, "complex64": np.complex128}
    return x if isinstance(x, float) else x.astype(wider.get(x.dtype.name, x.dtype))


def random_case(seed: int, depths: tuple[int, ...]) -> Case:
    """The random program and the random stack of transforms that a seed stands for."""
    random = Random(seed)
    program = random_program(random)
    arguments = program.arguments
    inexact = [n for n, argument in enumerate(arguments) if argument.inexact]
    arrays = [n for n, argument in enumerate(arguments) if not argument.weak]
    stack = []
    for _ in range(random.choice(depths)):
        kind = random.choice(KINDS)
        pool = arrays if kind == "vmap" else inexact
        moving = random.sample(pool, random.randint(1, len(pool)))
        stack.append((kind, tuple(sorted(moving)), random.choice(FORMS[kind])))
    return Case(program, tuple(stack))


def cases(depths: tuple[int, ...] = (1, 2, 3, 4)) -> st.SearchStrategy[Case]:
    """Random programs under stacks of transforms, whose depth is one of ``depths``.

    Hypothesis draws one seed only. Where it draws each choice of a program it repeats and mutates
    what it has seen, and three programs in four are copies; `Case.simpler` shrinks instead.
    """
    # Up to 24 bits are drawn uniformly, more are drawn small.
    return st.integers(0, 2**24 - 1).map(lambda seed: random_case(seed, depths))


def plainly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return function


REFERENCE = SimpleNamespace(
    **{
        name: getattr(jax, name)
        for name in (
            "grad",
            "value_and_grad",
            "jvp",
            "vjp",
            "linearize",
            "vmap",
            "tree_util",
            "lax",
        )
    },
    jit=plainly,
    checkpoint=plainly,
)


class Reference:
    """What JAX says about a case, compiled once as a whole.

    A compilation of everything costs 0.15 s where JAX's operation-by-operation execution costs
    0.5 s. Inner ``jit`` and ``checkpoint`` change no value, so the reference leaves them out.
    """

    def __init__(self, case: Case, compiled: bool = True):
        self.case = case
        function = case.function(REFERENCE, jnp)
        self.compiled = jax.jit(function) if compiled else function

    def __call__(self, shift: float = 0.0, wide: bool = False) -> Any:
        return self.compiled(*self.case.inputs(jax, jnp, shift, wide))
