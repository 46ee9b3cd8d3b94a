"""Random programs of loops and branches, and a module in which loops are unrolled.

The programs are source text, as those of `support.programs`. Values are real and bounded: vectors of two,
scalars, Python numbers and integers. Carries may be overwritten, unused, passed through, integers or Python
numbers that become arrays; bodies capture values of the functions around them, and nest.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from support.modules import fgrad, fnp
from support.programs import Argument, Line, Program, Value
from support.stacks import FORMS, Case

VECTOR, SCALAR, WEAK, INTEGER = "vector", "scalar", "weak", "integer"

ARGUMENTS = (
    Argument("a", "make(rng, (2,), 'float64')", (Value("a", (2,), "float64"),)),
    Argument("s", "make(rng, (), 'float64')", (Value("s", (), "float64"),)),
    Argument("w", "make(rng, (2, 2), 'float64')", (Value("w", (2, 2), "float64"),)),
    Argument("n", "make(rng, (), 'int64')", (Value("n", (), "int64"),)),
)

Pool = list[tuple[str, str]]


class Writer:
    """Writes statements over a pool of named values, each of a kind."""

    def __init__(self, random: Random, whiles: bool):
        self.random = random
        self.whiles = whiles
        self.count = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def pick(self, pool: Pool, *kinds: str) -> str:
        """A value, every other time one of the newest."""
        fitting = [name for name, kind in pool if kind in kinds]
        return self.random.choice(fitting[-2:] if self.random.random() < 0.5 else fitting)

    def number(self) -> str:
        return str(self.random.choice((0.5, -0.75, 1.25, 0.3)))

    def expression(self, pool: Pool, kind: str) -> str:
        """A bounded expression of a kind."""
        r = self.random
        if kind == VECTOR:
            v = self.pick(pool, VECTOR)
            other = self.pick(pool, VECTOR, SCALAR, WEAK)
            forms = (
                f"xp.sin({v} + {other})",
                f"xp.tanh({v} * {other})",
                f"xp.tanh({v} @ w)",
                f"xp.tanh(w @ {v}) * {other}",
                f"0.5 * {v} + {self.number()} * xp.cos({other})",
                f"xp.where({v} > 0.1, xp.sin({v}), 0.5 * {v})",
                f"{v}[::-1] * {self.number()}",
                f"xp.sin({v}) * (1 + {self.pick(pool, INTEGER)}) * 0.3",
            )
            return r.choice(forms)
        if kind == SCALAR:
            x = self.pick(pool, SCALAR)
            v = self.pick(pool, VECTOR)
            forms = (
                f"xp.sin({x} * {self.number()})",
                f"xp.tanh(xp.sum({v} * {v}) - {x})",
                f"xp.sin({v}[{self.pick(pool, INTEGER)} % 2] * {x})",
                f"{x} * xp.cos({self.pick(pool, SCALAR, WEAK)})",
                f"xp.tanh({v} @ {self.pick(pool, VECTOR)} + {x})",
            )
            return r.choice(forms)
        if kind == WEAK:
            return r.choice((f"0.5 * {self.pick(pool, WEAK)} + 0.25", self.number()))
        i = self.pick(pool, INTEGER)
        return r.choice((f"{i} + 1", f"1 - {i}", f"{i} * 2"))

    def block(self, pool: Pool, depth: int, size: int) -> list[str]:
        """Some statements; what they define enters the pool."""
        lines: list[str] = []
        for _ in range(size):
            writers = [self.plain, self.plain]
            if depth:
                writers += [
                    self.scan,
                    self.scan,
                    self.cond,
                    self.fori,
                    self.switch,
                    self.checkpoint,
                ]
                writers += [self.while_loop] if self.whiles else []
            lines += self.random.choice(writers)(pool, depth)
        return lines

    def plain(self, pool: Pool, depth: int) -> list[str]:
        kind = self.random.choice((VECTOR, VECTOR, SCALAR, INTEGER))
        name = self.name("v")
        text = f"{name} = {self.expression(pool, kind)}"
        pool.append((name, kind))
        return [text]

    def carries(self, pool: Pool) -> list[tuple[str, str, str]]:
        """Names, kinds and initial values of a carry; one vector at least."""
        kinds = [
            VECTOR,
            *self.random.choices((VECTOR, SCALAR, WEAK, INTEGER), k=self.random.randint(0, 3)),
        ]
        self.random.shuffle(kinds)
        made = []
        for kind in kinds:
            init = {VECTOR: "xp.zeros(2)", SCALAR: "xp.asarray(0.25)", WEAK: "0.5", INTEGER: "0"}[
                kind
            ]
            if kind in (VECTOR, SCALAR) and self.random.random() < 0.6:
                init = self.pick(pool, kind)
            made.append((self.name("c"), kind, init))
        return made

    def next_carries(self, pool: Pool, carries: list[tuple[str, str, str]]) -> list[str]:
        """What a body returns as carries: new, passed through, swapped or overwritten."""
        found = []
        for name, kind, _ in carries:
            choice = self.random.random()
            if choice < 0.15:
                found.append(name)
            elif choice < 0.4:
                others = [n for n, k in pool if k == kind and n != name]
                found.append(self.random.choice(others) if others and kind != WEAK else name)
            elif kind == WEAK and choice < 0.6:
                # A Python number that becomes an array.
                found.append(f"0.5 * {name} + {self.pick(pool, SCALAR)}")
            elif kind == WEAK:
                found.append(f"0.5 * {name} + 0.25")
            else:
                found.append(self.expression(pool, kind))
        return found

    def body(
        self, pool: Pool, depth: int, carries: list[tuple[str, str, str]], more: Pool
    ) -> tuple[list[str], Pool]:
        """The statements of a body over its carries, with all that is defined in it."""
        inner = [*pool, *more]
        inner += [(n, SCALAR if k == WEAK else k) for n, k, _ in carries if k != WEAK]
        return self.block(inner, depth - 1, self.random.randint(1, 3)), inner

    def scan(self, pool: Pool, depth: int) -> list[str]:
        carries = self.carries(pool)
        f, x, t, j = self.name("f"), self.name("x"), self.name("t"), self.name("j")
        length = self.random.randint(1, 3)
        lines, inner = self.body(pool, depth, carries, [(x, VECTOR), (j, INTEGER)])
        new = self.next_carries(inner, carries)
        ys = [self.pick(inner, VECTOR), self.pick(inner, SCALAR, INTEGER)]
        names = ", ".join(n for n, _, _ in carries)
        rows = ", ".join(self.expression(pool, VECTOR) for _ in range(length))
        defined = [
            f"def {f}(carry, row):",
            f"    {names}, = carry",
            f"    {x}, {j} = row",
            *[f"    {line}" for line in lines],
            f"    return ({', '.join(new)},), ({', '.join(ys)},)",
        ]
        body = f"lib.checkpoint({f})" if self.random.random() < 0.2 else f
        outs = [self.name("v") for _ in carries]
        inits = ", ".join(init for _, _, init in carries)
        reverse = self.random.random() < 0.4
        defined.append(
            f"({', '.join(outs)},), {t} = lib.lax.scan({body}, ({inits},), "
            f"(xp.stack([{rows}]), xp.arange({length})), reverse={reverse})"
        )
        y = self.name("v")
        defined.append(
            f"{y} = xp.sin(xp.sum({t}[0] * 1.0, axis=0)) + {t}[0][0] * xp.sum({t}[1] * 0.5)"
        )
        pool += [
            (n, k) for n, (_, k, _) in zip(outs, carries, strict=True) if k in (VECTOR, SCALAR)
        ]
        pool.append((y, VECTOR))
        return defined

    def fori(self, pool: Pool, depth: int) -> list[str]:
        carries = self.carries(pool)
        f, i = self.name("f"), self.name("i")
        lines, inner = self.body(pool, depth, carries, [(i, INTEGER)])
        new = self.next_carries(inner, carries)
        names = ", ".join(n for n, _, _ in carries)
        outs = [self.name("v") for _ in carries]
        inits = ", ".join(init for _, _, init in carries)
        pool += [
            (n, k) for n, (_, k, _) in zip(outs, carries, strict=True) if k in (VECTOR, SCALAR)
        ]
        return [
            f"def {f}({i}, carry):",
            f"    {names}, = carry",
            *[f"    {line}" for line in lines],
            f"    return ({', '.join(new)},)",
            f"({', '.join(outs)},) = lib.lax.fori_loop({self.random.randint(-1, 0)}, "
            f"{self.random.randint(0, 2)}, {f}, ({inits},))",
        ]

    def while_loop(self, pool: Pool, depth: int) -> list[str]:
        carries = self.carries(pool)
        f, g, k = self.name("f"), self.name("g"), self.name("k")
        lines, inner = self.body(pool, depth, carries, [(k, INTEGER)])
        new = self.next_carries(inner, carries)
        names = ", ".join(n for n, _, _ in carries)
        outs = [self.name("v") for _ in carries]
        inits = ", ".join(init for _, _, init in carries)
        vector = next(n for n, kind, _ in carries if kind == VECTOR)
        bound = f"1 + {self.pick(pool, INTEGER)} % 3"
        extra = f" & (xp.sum({vector}) < 1.5)" if self.random.random() < 0.5 else ""
        pool += [
            (n, k) for n, (_, k, _) in zip(outs, carries, strict=True) if k in (VECTOR, SCALAR)
        ]
        return [
            f"def {f}(carry):",
            f"    {k}, {names}, = carry",
            *[f"    {line}" for line in lines],
            f"    return ({k} + 1, {', '.join(new)})",
            f"def {g}(carry):",
            f"    {k}, {names}, = carry",
            f"    return ({k} < {bound}){extra}",
            f"_, {', '.join(outs)} = lib.lax.while_loop({g}, {f}, (0, {inits}))",
        ]

    def branch(self, pool: Pool, depth: int, parameters: Pool) -> tuple[str, list[str]]:
        f = self.name("f")
        inner = [*pool, *parameters]
        lines = self.block(inner, depth - 1, self.random.randint(0, 2))
        results = [self.expression(inner, VECTOR), self.expression(inner, SCALAR)]
        if self.random.random() < 0.3:
            # A result that has no derivative in this branch.
            results[0] = "xp.ones(2)"
        names = ", ".join(n for n, _ in parameters)
        return f, [
            f"def {f}({names}):",
            *[f"    {line}" for line in lines],
            f"    return {results[0]}, {results[1]}",
        ]

    def chosen(self, pool: Pool, depth: int, count: int) -> tuple[list[str], list[str], str]:
        parameters = [(self.name("p"), VECTOR), (self.name("p"), SCALAR)]
        made = [self.branch(pool, depth, parameters) for _ in range(count)]
        operands = f"{self.pick(pool, VECTOR)}, {self.pick(pool, SCALAR)}"
        return [f for f, _ in made], [line for _, lines in made for line in lines], operands

    def cond(self, pool: Pool, depth: int) -> list[str]:
        functions, lines, operands = self.chosen(pool, depth, 2)
        predicate = self.random.choice(
            (
                f"xp.sum({self.pick(pool, VECTOR)}) > 0.1",
                f"{self.pick(pool, SCALAR)} > 0.0",
                f"{self.pick(pool, INTEGER)} % 2 == 0",
            )
        )
        return self.bound(
            pool, lines, f"lib.lax.cond({predicate}, {', '.join(functions)}, {operands})"
        )

    def switch(self, pool: Pool, depth: int) -> list[str]:
        functions, lines, operands = self.chosen(pool, depth, self.random.randint(1, 3))
        index = f"{self.pick(pool, INTEGER)} - 0"
        return self.bound(
            pool, lines, f"lib.lax.switch({index}, [{', '.join(functions)}], {operands})"
        )

    def checkpoint(self, pool: Pool, depth: int) -> list[str]:
        (function,), lines, operands = self.chosen(pool, depth, 1)
        return self.bound(pool, lines, f"lib.checkpoint({function})({operands})")

    def bound(self, pool: Pool, lines: list[str], call: str) -> list[str]:
        v, s = self.name("v"), self.name("v")
        pool += [(v, VECTOR), (s, SCALAR)]
        return [*lines, f"{v}, {s} = {call}"]


def random_control_program(random: Random, whiles: bool) -> Program:
    writer = Writer(random, whiles)
    pool: Pool = [
        ("a", VECTOR),
        ("xp.asarray(K2)", VECTOR),
        ("s", SCALAR),
        ("n", INTEGER),
        ("0.5", WEAK),
    ]
    lines = writer.block(pool, 2, random.randint(2, 4))
    made = [name for name, kind in pool[5:] if kind in (VECTOR, SCALAR)] or ["a * s"]
    result = "(" + ", ".join([f"xp.sin({name})" for name in made[-3:]]) + ", a @ w)"
    whole = Line("result", "\n".join([*lines, f"result = {result}"]))
    return Program(ARGUMENTS, (whole,), "result", random.randint(0, 9999))


def random_control_case(seed: int, depths: tuple[int, ...]) -> Case:
    """The program and the stack of transforms that a seed stands for."""
    random = Random(seed)
    whiles = random.random() < 0.4
    # Reverse mode of an unknown number of steps is refused.
    kinds = ("jvp", "vmap", "jit") if whiles else ("grad", "jvp", "vjp", "vmap", "jit")
    stack = []
    for _ in range(random.choice(depths)):
        kind = random.choice(kinds)
        pool = [0, 1, 2, 3] if kind == "vmap" else [0, 1, 2]
        moving = random.sample(pool, random.randint(1, len(pool)))
        form = random.choice(FORMS[kind]) if kind != "vmap" else (0, 0)
        if whiles and form in ("linearize", "checkpoint"):
            form = "jvp" if kind == "jvp" else "jit"
        stack.append((kind, tuple(sorted(moving)), form))
    return Case(random_control_program(random, whiles), tuple(stack))


# ---- loops unrolled ------------------------------------------------------------------------------

_MOST_STEPS = 4


def _select(index: Any, results: list[Any]) -> Any:
    def leaf(*xs: Any) -> Any:
        answer = xs[0]
        for i, x in enumerate(xs[1:], 1):
            answer = fnp.where(index == i, x, answer)
        return answer

    return fgrad.tree_util.tree_map(leaf, *results)


def scan(f: Callable[..., Any], init: Any, xs: Any, reverse: bool = False) -> Any:
    rows, results = len(fgrad.tree_util.tree_leaves(xs)[0]), []
    carry = init
    for step in reversed(range(rows)) if reverse else range(rows):
        carry, y = f(carry, fgrad.tree_util.tree_map(lambda x, step=step: x[step], xs))
        results.append(y)
    results = results[::-1] if reverse else results
    return carry, fgrad.tree_util.tree_map(
        lambda *y: fnp.stack([fnp.asarray(v) for v in y]), *results
    )


def cond(predicate: Any, yes: Any, no: Any, *operands: Any) -> Any:
    return _select(fnp.where(predicate, 1, 0), [no(*operands), yes(*operands)])


def switch(index: Any, branches: list[Any], *operands: Any) -> Any:
    return _select(fnp.clip(index, 0, len(branches) - 1), [b(*operands) for b in branches])


def fori_loop(lower: int, upper: int, body: Callable[..., Any], init: Any) -> Any:
    carry = init
    for i in range(lower, upper):
        carry = body(i, carry)
    return carry


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], init: Any) -> Any:
    carry = init
    for _ in range(_MOST_STEPS):
        carry = _select(fnp.where(condition(carry), 1, 0), [carry, body(carry)])
    return carry


UNROLLED = SimpleNamespace(
    **{
        name: getattr(fgrad, name)
        for name in (
            "grad",
            "value_and_grad",
            "jvp",
            "vjp",
            "linearize",
            "vmap",
            "jit",
            "tree_util",
        )
    },
    checkpoint=lambda f: f,
    lax=SimpleNamespace(
        scan=scan, cond=cond, switch=switch, fori_loop=fori_loop, while_loop=while_loop
    ),
)


def shown(case: Case) -> str:
    """A case as a script."""
    return textwrap.dedent(case.script())
