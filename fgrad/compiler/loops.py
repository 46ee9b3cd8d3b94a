"""Loops and branches as statements of the program that they are in: ``for``, ``while`` and ``if``.

Carries are local variables. Rows are views of the arrays that a loop runs along, and results are written
where they lie in the arrays that hold those of all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.compiler.fission import prepared
from fgrad.compiler.fuse import fuse
from fgrad.compiler.guards import place_guards, place_guards_in_loop
from fgrad.compiler.order import gather_silent
from fgrad.compiler.plan import same_bits_in_place
from fgrad.config import config
from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, last_uses, sub_jaxprs
from fgrad.ir.uses import memory_owners
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.families import Convert, Ufunc

# Longer bodies are functions of their own.
LONGEST_BODY = 1000
# Python nests no more than 20 loops and with blocks.
DEEPEST = 8
# Below this many bytes, what a variable holds on to is not worth a statement.
_WORTH_DROPPING = 1 << 14
_STEP = "    "
# A loop that runs at more lengths than these runs its body step by step at the others.
_MOST_PROGRAMS = 8


def can_write(bodies: Sequence[Jaxpr]) -> bool:
    """Whether bodies may become statements of the program around them."""
    # In 32-bit mode statements are calls of implementations, which is what a function of its own is for.
    return config.optimizes() and sum(map(_length, bodies)) <= LONGEST_BODY


def _length(jaxpr: Jaxpr) -> int:
    known = jaxpr.derived.get("statements")
    if known is None:
        inner = [_length(body) for eqn in jaxpr.eqns for body in sub_jaxprs(eqn.primitive)]
        known = jaxpr.derived["statements"] = len(jaxpr.eqns) + sum(inner)
    return known


def alone(primitive: Any, in_avals: Sequence[Aval], key: tuple[Any, ...]) -> Jaxpr | None:
    """The program that applies one primitive; `key` tells it from others of the same body.

    None where a body has several such programs already: each costs a compilation, and stays.
    """
    programs = primitive.jaxprs[-1].derived.setdefault("alone", {})
    known = programs.get(key)
    if known is None and len(programs) < _MOST_PROGRAMS:
        invars = [Var(aval) for aval in in_avals]
        outvars = [Var(aval) for aval in primitive.abstract_eval(*in_avals)]
        eqn = Eqn(primitive, tuple(invars), tuple(outvars))
        name = primitive.jaxprs[-1].name
        known = programs[key] = Jaxpr((), (), invars, [eqn], outvars, name)
    return known  # type: ignore[no-any-return]


# ---- statements ----------------------------------------------------------------------------------


class Writer:
    """The statements of one loop or choice, for an emitter that is at `margin`.

    In a silenced one floating-point errors are ignored already.
    """

    def __init__(self, emitter: Any, eqn: Eqn, margin: str, silenced: bool) -> None:
        self.emitter = emitter
        self.eqn = eqn
        self.margin = margin
        self.silenced = silenced
        self.lines: list[str] = []

    def write(self, text: str) -> None:
        self.lines.append(self.margin + text)

    def silence(self, bodies: Sequence[Jaxpr]) -> None:
        """Ignore errors around the whole, where all of it belongs to derivatives."""
        if not self.silenced and all(eqn.silent for body in bodies for eqn in body.eqns):
            if any(body.eqns for body in bodies):
                self.write("with np.errstate(all='ignore'):  # derivatives never warn")
                self.margin += _STEP
                self.silenced = True

    def enter(
        self, body: Jaxpr, guards: Callable[[Jaxpr], frozenset[Var] | None] = place_guards
    ) -> Jaxpr:
        """Take the variables of a body, which no other one shares, and fuse its equations."""
        emitter = self.emitter
        looked_at = None if emitter.guards is None else guards(body)
        fused = gather_silent(fuse(body))
        emitter.take(fused, looked_at)
        return fused

    def pass_in(self, variables: Sequence[Var], atoms: Sequence[Any]) -> None:
        """What a body reads and never changes goes by the name that it has outside."""
        for var, atom in zip(variables, atoms, strict=True):
            if type(atom) is Literal:
                self.write(f"{self.emitter.var(var)} = {self.emitter.atom(atom)}")
            else:
                self.emitter.rename(var, self.emitter.var(atom))

    def begin(self, variables: Sequence[Var], atoms: Sequence[Any], changed: set[Var]) -> None:
        """Carries as they are before the first step; those that steps change are copied."""
        for var, atom in zip(variables, atoms, strict=True):
            copy = ".copy()" if var in changed else ""
            self.write(f"{self.emitter.var(var)} = {self.emitter.atom(atom)}{copy}")

    def updated(
        self,
        body: Jaxpr,
        carry: Sequence[Var],
        next_carry: Sequence[Any],
        entries: Sequence[Any] = (),
    ) -> set[Var]:
        """The carries that each step changes itself, since it reads them no more after an update."""
        maker = {v: e for e in body.eqns for v in e.outputs}
        root = memory_owners(body.eqns)
        shown = [root.get(a, a) for a in next_carry]
        found = set()
        for var, out in zip(carry, next_carry, strict=True):
            update = maker.get(out)
            if update is None or not getattr(update.primitive, "updates_first", False):
                continue
            own = root.get(var, var)
            readers = [e for e in body.eqns if any(root.get(a, a) is own for a in e.inputs)]
            once = [root.get(a, a) for a in update.inputs].count(own) == 1
            if update.inputs[0] is not var or readers[-1] is not update or not once:
                continue
            results = [*shown, *[root.get(a, a) for a in entries]]
            if shown.count(root.get(out, out)) == 1 and own not in results:
                found.add(var)
                self.emitter.in_place.add(out)
        return found

    def renewed(
        self,
        body: Jaxpr,
        carry: Sequence[Var],
        next_carry: Sequence[Any],
        entries: Sequence[Any] = (),
    ) -> set[Var]:
        """The carries whose next values are computed where the old ones lie, which nothing reads any more."""
        index = {v: i for i, e in enumerate(body.eqns) for v in e.outputs}
        root = memory_owners(body.eqns)
        last: dict[Any, int] = {}
        for i, eqn in enumerate(body.eqns):
            last.update({root.get(a, a): i for a in eqn.inputs if type(a) is Var})
        results = [root.get(a, a) for a in (*next_carry, *entries)]
        last.update(dict.fromkeys([a for a in results if type(a) is Var], len(body.eqns)))
        found = set()
        for var, out in zip(carry, next_carry, strict=True):
            if out not in index or out in self.emitter.in_place:
                continue
            if results.count(root.get(out, out)) > 1:
                continue
            for made in self.made_over(body, out, index):
                i = index[made]
                read = last.get(root.get(var, var), -1)
                if read > i or (read == i and not _reads_in_step(body.eqns[i], var)):
                    break
                self.emitter.write_to(made, self.emitter.var(var))
                found.add(var)
        return found

    def made_over(self, body: Jaxpr, var: Var, index: dict[Var, int]) -> Iterator[Var]:
        """A variable, what it is written over, what that is written over, and so on."""
        known: Var | None = var
        while known is not None:
            eqn = body.eqns[index[known]]
            named = known is not var and known.name is not None
            if named or not _fills_arrays(eqn):
                return
            yield known
            position = self.emitter.overwritten(known)
            known = None if position is None else eqn.inputs[position]

    def statements(self, body: Jaxpr) -> list[str]:
        """The lines of a body, inside of the statement that is written."""
        inputs = set(body.invars)
        dying = [tuple([v for v in gone if v not in inputs]) for gone in last_uses(body)]
        return self.emitter.lines(body.eqns, dying, self.margin + _STEP, self.silenced)  # type: ignore[no-any-return]

    def repeated(self, body: Jaxpr) -> list[str]:
        """The lines of a body that runs many times."""
        self.emitter.in_loop += 1
        lines = self.statements(body)
        self.emitter.in_loop -= 1
        return lines

    def carry_on(self, variables: Sequence[Var], atoms: Sequence[Any]) -> None:
        """The carries of the next step."""
        pairs = [
            (self.emitter.var(v), self.emitter.atom(a))
            for v, a in zip(variables, atoms, strict=True)
        ]
        moved = [(old, new) for old, new in pairs if old != new]
        if moved:
            targets = ", ".join([old for old, _ in moved])
            self.write(f"{_STEP}{targets} = {', '.join([new for _, new in moved])}")

    def finish(
        self, body: Jaxpr, carry: Sequence[Var], owned: Sequence[bool], rows: Sequence[Var] = ()
    ) -> None:
        """The last carries are results: each has memory of its own. Let go of what the last step held."""
        emitter = self.emitter
        results = [emitter.var(v) for v in carry]
        for name, own in zip(results, owned, strict=True):
            if not own:
                self.write(f"{name} = {name}.copy()")
        for var, name in zip(self.eqn.outputs, results, strict=False):
            emitter.rename(var, name)
        held = [emitter.var(v) for v in rows]
        held += self.large(body)
        dropped = [name for name in dict.fromkeys(held) if name not in results]
        if dropped:
            self.write(f"{' = '.join(dropped)} = None")

    def large(self, body: Jaxpr) -> list[str]:
        """The names of large values that a body makes."""
        return [
            self.emitter.var(v)
            for eqn in body.eqns
            for v in eqn.outputs
            if v.aval.nbytes >= _WORTH_DROPPING
        ]


def write_scan(
    emitter: Any,
    eqn: Eqn,
    margin: str,
    silenced: bool,
    rooms: Mapping[Var, tuple[Var, bool]] | None = None,
) -> list[str] | None:
    """The statements of a loop along the leading axis of arrays; see `Scan`.

    Some results lie in arrays of one row more, before them or, where the flag is set, behind them.
    """
    loop, reverse = eqn.primitive, eqn.primitive.reverse
    if not can_write((loop.body,)) or emitter.in_loop >= DEEPEST:
        return None
    body = renamed(prepared(loop.body))
    body, counted = _with_python_rows(body, loop.consts + loop.carries)
    writer = Writer(emitter, eqn, margin, silenced)
    consts, carry, rows = loop.split(body.invars)
    given = loop.split(eqn.inputs)
    carried_on, entries = body.outvars[: loop.carries], body.outvars[loop.carries :]
    stacks = eqn.outputs[loop.carries :]
    body = writer.enter(body, lambda body: place_guards_in_loop(body, loop.consts, loop.carries))
    writer.pass_in(consts, given[0])
    changed = writer.updated(body, carry, carried_on, entries)
    changed |= writer.renewed(body, carry, carried_on, entries)
    writer.begin(carry, given[1], changed)
    for stack in stacks:
        dtype = emitter.dtype(stack.aval.dtype)
        whole, at_end = (rooms or {}).get(stack, (stack, False))
        writer.write(f"{emitter.var(whole)} = np.empty({whole.aval.shape}, {dtype})")
        if whole is not stack:
            writer.write(
                f"{emitter.var(stack)} = {emitter.var(whole)}[{':-1' if at_end else '1:'}]"
            )
    writer.silence([body])
    # The loop runs along rows and along the places of results at the same time.
    back = "[::-1]" if reverse else ""
    targets, arrays = [], []
    for var, row in zip(rows, given[2], strict=True):
        targets.append(emitter.var(var))
        arrays.append(f"{emitter.atom(row)}{back}{'.tolist()' if var in counted else ''}")
    places: list[Var | None] = []
    made = {v: i for i, e in enumerate(body.eqns) for v in e.outputs}
    placed: set[Any] = set()
    for stack, entry in zip(stacks, entries, strict=True):
        name = entry.name if type(entry) is Var else None
        place = Var(entry.aval, name) if entry.aval.shape else None
        places.append(place)
        if place is not None:
            targets.append(emitter.var(place))
            arrays.append(emitter.var(stack) + back)
            if entry in made and entry not in placed:
                placed.add(entry)
                emitter.write_to(entry, emitter.var(place))
                for var in writer.made_over(body, entry, made):
                    emitter.write_to(var, emitter.var(place))
    step = Var(Aval((), np.dtype(np.int64)))
    if None in places:
        count = f"{loop.length - 1}, -1, -1" if reverse else str(loop.length)
        targets.insert(0, emitter.var(step))
        arrays.insert(0, f"range({count})")
    lines = writer.repeated(body)
    head = f"for {', '.join(targets)} in zip({', '.join(arrays)}):"
    if len(targets) < 2:
        source = arrays[0] if arrays else f"range({loop.length})"
        head = f"for {targets[0] if targets else '_'} in {source}:"
    writer.write(head)
    before = len(writer.lines)
    writer.lines.extend(lines)
    for stack, place, entry in zip(stacks, places, entries, strict=True):
        text = emitter.atom(entry)
        if place is None:
            writer.write(f"{_STEP}{emitter.var(stack)}[{emitter.var(step)}] = {text}")
        elif text != emitter.var(place):
            writer.write(f"{_STEP}{emitter.var(place)}[...] = {text}")
    writer.carry_on(carry, carried_on)
    if len(writer.lines) == before:
        writer.write(f"{_STEP}pass")
    views = [
        var
        for var, whole in zip([*rows, *places], [*given[2], *stacks], strict=True)
        if var is not None and var.aval.shape and whole.aval.nbytes >= _WORTH_DROPPING
    ]
    writer.finish(body, carry, owned_results(body, carried_on, placed), views)
    return writer.lines


def write_while(emitter: Any, eqn: Eqn, margin: str, silenced: bool) -> list[str] | None:
    """The statements of a loop that runs while a condition holds; see `While`."""
    loop = eqn.primitive
    if not can_write((loop.condition, loop.body)) or emitter.in_loop >= DEEPEST:
        return None
    condition, body = renamed(prepared(loop.condition)), renamed(prepared(loop.body))
    writer = Writer(emitter, eqn, margin, silenced)
    condition_consts, body_consts, start = loop.split(eqn.inputs)
    condition, body = writer.enter(condition), writer.enter(body)
    writer.pass_in(condition.invars[: loop.condition_consts], condition_consts)
    writer.pass_in(body.invars[: loop.body_consts], body_consts)
    carry = body.invars[loop.body_consts :]
    changed = writer.updated(body, carry, body.outvars)
    writer.begin(carry, start, changed | writer.renewed(body, carry, body.outvars))
    for var, other in zip(carry, condition.invars[loop.condition_consts :], strict=True):
        emitter.rename(other, emitter.var(var))
    writer.silence([condition, body])
    (goes_on,) = condition.outvars
    # A condition of one operation stands where one expects it.
    single = (
        len(condition.eqns) == 1
        and goes_on in condition.eqns[0].outputs
        and (writer.silenced or not condition.eqns[0].silent)
        and not condition.eqns[0].primitive.multiple_results
    )
    if single:
        (test,) = condition.eqns
        writer.write(f"while {emitter.expression(test)}:")
    else:
        lines = writer.repeated(condition)
        if condition.eqns:
            writer.write("while True:")
            writer.lines.extend(lines)
            writer.write(f"{_STEP}if not {emitter.atom(goes_on)}: break")
        else:
            writer.write(f"while {emitter.atom(goes_on)}:")
    before = len(writer.lines)
    writer.lines.extend(writer.repeated(body))
    writer.carry_on(carry, body.outvars)
    if len(writer.lines) == before:
        writer.write(f"{_STEP}pass")
    owned = owned_results(body, body.outvars)
    for var, atom, own in zip(carry, start, owned, strict=True):
        if own and atom.aval.shape:
            # There may have been no step.
            name = emitter.var(var)
            writer.write(f"if {name} is {emitter.atom(atom)}: {name} = {name}.copy()")
    writer.finish(body, carry, owned)
    return writer.lines


def write_cond(emitter: Any, eqn: Eqn, margin: str, silenced: bool) -> list[str] | None:
    """The statements of a choice between branches; see `Cond`."""
    primitive = eqn.primitive
    if not can_write(primitive.branches):
        return None
    branches = [renamed(prepared(branch)) for branch in primitive.branches]
    writer = Writer(emitter, eqn, margin, silenced)
    index = emitter.atom(eqn.inputs[0])
    is_truth = eqn.inputs[0].aval.dtype.kind == "b"
    names = [emitter.var(v) for v in eqn.outputs]
    branches = [writer.enter(branch) for branch in branches]
    for branch in branches:
        writer.pass_in(branch.invars, eqn.inputs[1:])
    writer.silence(branches)
    order = list(enumerate(branches))
    if is_truth:
        order.reverse()
    for place, (number, branch) in enumerate(order):
        if place == len(order) - 1:
            head = "else:"
        else:
            test = index if is_truth else f"{index} == {number}"
            head = f"{'elif' if place else 'if'} {test}:"
        writer.write(head if len(order) > 1 else "if True:")
        before = len(writer.lines)
        writer.lines.extend(writer.statements(branch))
        owned = owned_results(branch, branch.outvars)
        pairs = [
            (name, emitter.atom(atom) + ("" if own else ".copy()"))
            for name, atom, own in zip(names, branch.outvars, owned, strict=True)
        ]
        if pairs:
            targets = ", ".join([name for name, _ in pairs])
            writer.write(f"{_STEP}{targets} = {', '.join([text for _, text in pairs])}")
        dropped = dict.fromkeys(writer.large(branch))
        if dropped:
            writer.write(f"{_STEP}{' = '.join(dropped)} = None")
        if len(writer.lines) == before:
            writer.write(f"{_STEP}pass")
    return writer.lines


# ---- programs ------------------------------------------------------------------------------------


def renamed(jaxpr: Jaxpr) -> Jaxpr:
    """The program over variables of its own: it may be written twice into one function."""
    fresh: dict[Any, Any] = {v: Var(v.aval) for v in (*jaxpr.constvars, *jaxpr.invars)}
    eqns = []
    for eqn in jaxpr.eqns:
        inputs = tuple([fresh.get(a, a) for a in eqn.inputs])
        outputs = tuple([Var(v.aval, v.name) for v in eqn.outputs])
        fresh.update(zip(eqn.outputs, outputs, strict=True))
        eqns.append(eqn._replace(inputs=inputs, outputs=outputs))
    return Jaxpr(
        [fresh[v] for v in jaxpr.constvars],
        jaxpr.consts,
        [fresh[v] for v in jaxpr.invars],
        eqns,
        [fresh.get(a, a) for a in jaxpr.outvars],
        jaxpr.name,
    )


def owned_results(
    body: Jaxpr, results: Sequence[Any], written: set[Any] | frozenset[Any] = frozenset()
) -> list[bool]:
    """Which results have memory that nothing else shows, beyond the step that made them.

    Those in `written` lie in an array of the results of all steps.
    """
    root = memory_owners(body.eqns)
    foreign = {root.get(v, v) for v in (*body.invars, *body.constvars, *written)}
    seen: set[Any] = set()
    owned = []
    for atom in results:
        own = root.get(atom, atom)
        shares = own in foreign or own in seen
        owned.append(type(atom) is Literal or not atom.aval.shape or not shares)
        seen.add(own)
    return owned


def _fills_arrays(eqn: Eqn) -> bool:
    """Whether an equation can put its result into an array that exists."""
    primitive = eqn.primitive
    if not eqn.outputs[0].aval.shape:
        return False
    return type(primitive) is DotGeneral or (
        isinstance(primitive, Ufunc) and isinstance(primitive.function, np.ufunc)
    )


def _reads_in_step(eqn: Eqn, var: Var) -> bool:
    """Whether an equation reads each element of a variable no later than it writes that of its result."""
    (out,) = eqn.outputs
    if not isinstance(eqn.primitive, Ufunc) or not same_bits_in_place(out.aval, 1):
        return False
    return var in eqn.inputs and var.aval == out.aval


def _with_python_rows(body: Jaxpr, start: int) -> tuple[Jaxpr, set[Var]]:
    """The body where numbers of rows that are only read as Python numbers are given as such."""
    readers: dict[Any, list[Eqn]] = {v: [] for v in body.invars[start:] if not v.aval.shape}
    for eqn in body.eqns:
        for atom in eqn.inputs:
            if atom in readers:
                readers[atom].append(eqn)
    results = set(body.outvars)
    same: dict[Any, Any] = {}
    inputs = list(body.invars)
    for var, eqns in readers.items():
        if not eqns or var in results or var.aval.dtype.name not in ("int64", "float64", "bool"):
            continue
        if all(e.primitive == Convert(var.aval.dtype, True) for e in eqns):
            number = eqns[0].outputs[0]
            same.update((e.outputs[0], number) for e in eqns)
            inputs[inputs.index(var)] = number
    if not same:
        return body, set()
    kept = [
        eqn._replace(inputs=tuple([same.get(a, a) for a in eqn.inputs]))
        for eqn in body.eqns
        if not eqn.outputs or eqn.outputs[0] not in same
    ]
    outvars = [same.get(a, a) for a in body.outvars]
    program = Jaxpr(body.constvars, body.consts, inputs, kept, outvars, body.name)
    return program, set(same.values())


def _bytes(aval: Aval) -> int:
    return aval.size * aval.dtype.itemsize
