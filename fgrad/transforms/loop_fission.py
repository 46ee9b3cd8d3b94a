"""Splitting a loop: what needs no carry runs before it, what only gives results or sums runs after it.

Both run once for all steps, batched over time by the batch rules: the products of a recurrent network with its
inputs become one product, and a gradient that is summed over the steps becomes one contraction over them. The
sums add up in another order than step by step.

What is moved must not take more memory than the arrays that the loop runs along and returns, but for a few
megabytes. Elementwise work on long rows stays in the loop, where the rows are in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from fgrad.avals import Aval
from fgrad.compiler.fission import simplified
from fgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var, derivative_rules, eval_jaxpr, sub_jaxprs
from fgrad.ir.passes import dce
from fgrad.ir.uses import count_reads
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.elementwise import convert, sub
from fgrad.primitives.families import (
    Bilinear,
    Elementwise,
    General,
    Linear,
    NonDifferentiable,
    Reshape,
    Sum,
    add,
    neg,
)
from fgrad.primitives.shape import Transpose
from fgrad.tracing import record
from fgrad.transforms.bodies import Flags, batched_body

#: So many bytes may always be spent.
SPARE = 1 << 23
#: Elementwise work on rows of so many bytes costs less than its calls.
SHORT_ROW = 1 << 11
_FAMILIES = (Elementwise, Linear, Bilinear, General, NonDifferentiable)


class _Split(NamedTuple):
    """Where each equation runs, and which carries are sums that are taken after the loop."""

    before: set[int]
    after: set[int]
    sums: dict[int, Any]


def split_loop(
    scan: Any, silent: bool, zeros: Flags, bind_scan: Callable[..., list[Any]]
) -> Jaxpr | None:
    """The program of a loop in parts; None where all of it stays together.

    The flagged carries begin as zeros.
    """
    key = ("split", scan.consts, scan.carries, scan.length, scan.reverse, silent, zeros)
    derived = scan.body.derived
    if key not in derived:
        derived[key] = _make(scan, silent, zeros, bind_scan)
    return derived[key]  # type: ignore[no-any-return]


def _make(
    scan: Any, silent: bool, zeros: Flags, bind_scan: Callable[..., list[Any]]
) -> Jaxpr | None:
    if scan.length < 2:
        return None
    body = simplified(scan.body)
    if body.consts:
        return None
    loop = _Loop(scan, _regrouped(scan, body))
    split = loop.split()
    if not (split.before or split.after or split.sums):
        return None
    program = loop.program(split, silent, zeros, bind_scan)
    # What has no line of the body has that of the loop.
    places = {_place(eqn.source) for eqn in body.eqns}
    eqns = [e if _place(e.source) in places else e._replace(source=None) for e in program.eqns]
    return Jaxpr(
        program.constvars, program.consts, program.invars, eqns, program.outvars, program.name
    )


def _place(source: Any) -> Any:
    return source if not isinstance(source, tuple) else (id(source[0]), *source[1:])


def _regrouped(scan: Any, body: Jaxpr) -> Jaxpr:
    """The body where ``(a + c) + b`` is ``(a + b) + c``, if only `c` needs a carry.

    So the bias of a recurrent network joins the products with its inputs.
    """
    consts, carry, _ = scan.split(body.invars)
    changing: set[Any] = set(carry)
    reads = count_reads(body)
    fixed = set(consts)
    made: dict[Any, int] = {}
    eqns = list(body.eqns)
    for index, eqn in enumerate(body.eqns):
        if not changing.isdisjoint(eqn.inputs):
            changing.update(eqn.outputs)
        made.update(dict.fromkeys(eqn.outputs, index))
        if eqn.primitive is not add or eqn.outputs[0].aval.dtype.kind not in "fc":
            continue
        if not _is_short(eqn):
            continue
        for inner, free in (eqn.inputs, eqn.inputs[::-1]):
            at = made.get(inner)
            if at is None or eqns[at].primitive is not add or reads[inner] > 1 or free in changing:
                continue
            if inner not in changing or type(free) is Literal or free.aval.weak:
                continue
            pair = eqns[at].inputs
            moved = [a for a in pair if a not in changing and type(a) is Var and a not in fixed]
            # Its operand is known there: only then may the order change.
            known = free in fixed or made.get(free, -1) < at
            if len(moved) == 1 and known and inner.aval == eqn.outputs[0].aval == moved[0].aval:
                (one,) = moved
                other = pair[1] if pair[0] is one else pair[0]
                eqns[at] = eqns[at]._replace(inputs=(one, free))
                eqns[index] = eqn._replace(inputs=(inner, other))
                changing.discard(inner)
                break
    return Jaxpr(body.constvars, body.consts, body.invars, eqns, body.outvars, body.name)


class _Loop:
    """The body of a loop, and who makes and reads its values."""

    def __init__(self, scan: Any, body: Jaxpr) -> None:
        self.scan = scan
        self.body = body
        self.eqns = body.eqns
        self.consts, self.carry, self.rows = map(list, scan.split(body.invars))
        self.next_carry = list(body.outvars[: scan.carries])
        self.entries = list(body.outvars[scan.carries :])
        self.maker: dict[Any, int] = {v: i for i, e in enumerate(self.eqns) for v in e.outputs}
        self.readers: dict[Any, list[int]] = {}
        for i, eqn in enumerate(self.eqns):
            for atom in dict.fromkeys(a for a in eqn.inputs if type(a) is Var):
                self.readers.setdefault(atom, []).append(i)
        stacks = [*self.rows, *{v: None for v in self.entries}]
        self.room = max(SPARE, scan.length * sum([v.aval.nbytes for v in stacks]))
        #: What lies in an array of all steps in any case.
        self.stacked = {*self.rows, *[v for v in self.entries if type(v) is Var]}

    # -- where equations run --

    def split(self) -> _Split:
        sums = self.sums()
        while True:
            before, after = self.places(sums)
            failed = [k for k, v in sums.items() if not self.is_outside(v, before, after)]
            if not failed:
                break
            for k in failed:
                del sums[k]
        if not self.fits(before, after, sums):
            # What runs before the loop needs the least memory.
            sums = {}
            before, after = self.places(sums)
            after = set()
            if not self.fits(before, after, sums):
                before = set()
        return _Split(before, after, sums)

    def sums(self) -> dict[int, Any]:
        """Carries to which each step adds a term, and which nothing else reads: the terms."""
        found: dict[int, Any] = {}
        results = [*self.next_carry, *self.entries]
        for k, (var, out) in enumerate(zip(self.carry, self.next_carry, strict=True)):
            made = self.maker.get(out)
            if made is None or self.eqns[made].primitive is not add or var in results:
                continue
            if self.readers.get(var) != [made] or out in self.readers or results.count(out) > 1:
                continue
            one, other = self.eqns[made].inputs
            term = other if one is var else one
            if type(term) is Var and term is not var and term.aval == var.aval:
                if var.aval.dtype.kind in "fciu" and not var.aval.weak:
                    found[k] = term
        return found

    def places(self, sums: dict[int, Any]) -> tuple[set[int], set[int]]:
        """The equations that run before the loop and after it."""
        summing = {self.maker[self.next_carry[k]] for k in sums}
        linear = self.summed_up(sums)
        movable = {
            i
            for i, eqn in enumerate(self.eqns)
            if i not in summing and self.is_movable(eqn, i in linear)
        }
        # Before: the heavy work that needs no carry with all that it needs, and what is light.
        changing = {v for k, v in enumerate(self.carry) if k not in sums}
        free = set()
        for i, eqn in enumerate(self.eqns):
            if i in movable and changing.isdisjoint(eqn.inputs):
                free.add(i)
            else:
                changing.update(eqn.outputs)
        early: set[int] = set()
        needed: set[Any] = set()
        for i in sorted(free, reverse=True):
            eqn = self.eqns[i]
            if _is_heavy(eqn) or not needed.isdisjoint(eqn.outputs):
                early.add(i)
                needed.update(eqn.inputs)
        outside = {*self.consts, *self.rows, *[v for i in early for v in self.eqns[i].outputs]}
        for i in sorted(free - early):
            eqn = self.eqns[i]
            if _is_short(eqn) and all(type(a) is Literal or a in outside for a in eqn.inputs):
                early.add(i)
                outside.update(eqn.outputs)
        # After: what the carries do not need.
        in_loop = {v for k, v in enumerate(self.next_carry) if k not in sums and type(v) is Var}
        late = set()
        for i in reversed(range(len(self.eqns))):
            eqn = self.eqns[i]
            if i in summing:
                continue
            if i in movable and in_loop.isdisjoint(eqn.outputs):
                if i not in early:
                    late.add(i)
            elif i not in early:
                in_loop.update(a for a in eqn.inputs if type(a) is Var)
        late = self.worthwhile(late, early, sums, linear)
        return early, late

    def worthwhile(
        self, late: set[int], early: set[int], sums: dict[int, Any], linear: set[int]
    ) -> set[int]:
        """Of what may run after the loop, heavy work with all that follows, and what is light."""
        chosen: set[int] = set()
        made: set[Any] = set()
        for i in sorted(late):
            eqn = self.eqns[i]
            if _is_heavy(eqn) or not made.isdisjoint(eqn.inputs):
                chosen.add(i)
                made.update(eqn.outputs)
        stacked = set(self.stacked)
        for i in chosen:
            stacked.update(a for a in self.eqns[i].inputs if type(a) is Var)
        stacked.update(v for i in early for v in self.eqns[i].outputs)
        stacked.update(self.consts)
        for i in sorted(late - chosen, reverse=True):
            eqn = self.eqns[i]
            read = {r for v in eqn.outputs for r in self.readers.get(v, ())}
            read -= {self.maker[self.next_carry[k]] for k in sums}
            known = all(type(a) is Literal or a in stacked for a in eqn.inputs)
            light = _is_short(eqn) or (known and not isinstance(eqn.primitive, Elementwise))
            if light and read <= chosen and (known or i in linear or _is_short(eqn)):
                chosen.add(i)
                stacked.update(
                    a for a in eqn.inputs if type(a) is Var and a.aval.nbytes <= SHORT_ROW
                )
        # Whoever reads what is computed after the loop runs after it too.
        while True:
            outside = {v for i in chosen for v in self.eqns[i].outputs}
            summing = {self.maker[self.next_carry[k]] for k in sums}
            kept = {
                i
                for i in chosen
                if all(
                    r in chosen or r in summing
                    for v in self.eqns[i].outputs
                    for r in self.readers.get(v, ())
                )
            }
            if kept == chosen or not outside:
                return kept
            chosen = kept

    def summed_up(self, sums: dict[int, Any]) -> set[int]:
        """The equations whose results only the sums read, by linear steps: no step needs the results."""
        summing = {self.maker[self.next_carry[k]] for k in sums}
        found: set[int] = set()
        for i in reversed(range(len(self.eqns))):
            eqn = self.eqns[i]
            if len(eqn.outputs) != 1 or eqn.outputs[0] in self.stacked:
                continue
            read = self.readers.get(eqn.outputs[0], [])
            if len(read) == 1 and (
                read[0] in summing or (read[0] in found and _passes_sums(self.eqns[read[0]]))
            ):
                found.add(i)
        return found

    def is_movable(self, eqn: Eqn, is_summed: bool) -> bool:
        primitive = eqn.primitive
        if not isinstance(primitive, _FAMILIES) or primitive.effectful or sub_jaxprs(primitive):
            return False
        if is_summed and (type(primitive) is DotGeneral or _passes_sums(eqn)):
            return True
        return self.scan.length * sum([v.aval.nbytes for v in eqn.outputs]) <= self.room  # type: ignore[no-any-return]

    def is_outside(self, term: Any, before: set[int], after: set[int]) -> bool:
        """Whether the term of a sum is known without the loop, or lies in an array of all steps."""
        made = self.maker.get(term)
        if made is not None and (made in before or made in after):
            return True
        if term in self.consts:
            return False
        return term in self.stacked or (term.aval.nbytes <= SHORT_ROW and term not in self.carry)

    def fits(self, before: set[int], after: set[int], sums: dict[int, Any]) -> bool:
        more = {*self.handed_in(before, after, sums), *self.handed_out(before, after, sums)}
        more -= self.stacked
        return self.scan.length * sum([a.aval.nbytes for a in more]) <= self.room  # type: ignore[no-any-return]

    # -- what goes in and out --

    def inside(self, before: set[int], after: set[int], sums: dict[int, Any]) -> list[int]:
        summing = {self.maker[self.next_carry[k]] for k in sums}
        return [
            i
            for i in range(len(self.eqns))
            if i not in after and i not in summing and (i not in before or _is_weak(self.eqns[i]))
        ]

    def handed_in(self, before: set[int], after: set[int], sums: dict[int, Any]) -> list[Var]:
        """What is computed before the loop for it, for what runs after it, or as a result."""
        made = [v for i in sorted(before) for v in self.eqns[i].outputs]
        inside = self.inside(before, after, sums)
        own = {v for i in inside for v in self.eqns[i].outputs}
        read = {a for i in inside for a in self.eqns[i].inputs if a not in own}
        read |= {a for i in after for a in self.eqns[i].inputs}
        read |= {*self.entries, *sums.values()}
        read |= {v for k, v in enumerate(self.next_carry) if k not in sums and v not in own}
        return [v for v in made if v in read]

    def handed_out(self, before: set[int], after: set[int], sums: dict[int, Any]) -> list[Any]:
        """What the loop computes for what runs after it, or as a result."""
        own = {v for i in self.inside(before, after, sums) for v in self.eqns[i].outputs}
        own -= {v for i in before for v in self.eqns[i].outputs}
        own |= {v for k, v in enumerate(self.carry) if k not in sums}
        read = [a for i in sorted(after) for a in self.eqns[i].inputs]
        read += sums.values()
        entries = [a for a in self.entries if type(a) is Literal or a in own or a in self.consts]
        return list(dict.fromkeys([*entries, *[a for a in read if a in own]]))

    # -- the program --

    def program(
        self, split: _Split, silent: bool, zeros: Flags, bind_scan: Callable[..., list[Any]]
    ) -> Jaxpr:
        scan, body = self.scan, self.body
        before, after, sums = split
        handed_in = self.handed_in(before, after, sums)
        handed_out = self.handed_out(before, after, sums)
        core = [k for k in range(scan.carries) if k not in sums]
        inputs = [*self.consts, *self.rows]
        # A Python number is made again in each step.
        passed = [v for v in handed_in if not v.aval.weak]
        early = self.batched(inputs, self.consts, before, handed_in)
        inner = dce(
            Jaxpr(
                (),
                (),
                [*self.consts, *[self.carry[k] for k in core], *self.rows, *passed],
                self.unmade([self.eqns[i] for i in self.inside(before, after, sums)], passed),
                [*[self.next_carry[k] for k in core], *handed_out],
                body.name,
            )
        )
        # The operands of sums and results of all steps.
        wanted: list[Any] = [v for v in self.entries if self.maker.get(v) in after]
        for term in sums.values():
            wanted += self.leaves(term, after)
        known = {*self.consts, *self.rows, *handed_in, *handed_out}
        wanted = [v for v in dict.fromkeys(wanted) if v not in known]
        around = [*inputs, *[v for v in dict.fromkeys([*handed_in, *handed_out]) if type(v) is Var]]
        around = list(dict.fromkeys(around))
        late = self.batched(around, self.consts, after, wanted)

        def run(*values: Any) -> list[Any]:
            with derivative_rules() if silent else nullcontext():
                return parts(*values)

        def parts(*values: Any) -> list[Any]:
            consts, carry, rows = scan.split(values)
            env: dict[Any, Any] = dict(zip(inputs, [*consts, *rows], strict=True))
            env.update(zip(handed_in, early(env), strict=True))
            outs = bind_scan(
                inner,
                consts,
                [carry[k] for k in core],
                [*rows, *[env[v] for v in passed]],
                scan.length,
                scan.reverse,
            )
            given_out: dict[Any, Any] = dict(zip(handed_out, outs[len(core) :], strict=True))
            # A constant may be a result of every step.
            env.update({v: stack for v, stack in given_out.items() if v not in self.consts})
            env.update(zip(wanted, late(env), strict=True))
            last: dict[int, Any] = dict(zip(core, outs, strict=False))
            for k, term in sums.items():
                total = convert(self.total(term, after, env), term.aval.dtype)
                last[k] = total if zeros[k] else add(carry[k], total)
            entries = [given_out[a] if a in given_out else env[a] for a in self.entries]
            return [*[last[k] for k in range(scan.carries)], *entries]

        avals = [
            *[v.aval for v in (*self.consts, *self.carry)],
            *[Aval((scan.length, *v.aval.shape), v.aval.dtype) for v in self.rows],
        ]
        return record(run, avals, body.name, "scan")

    def unmade(self, eqns: Sequence[Eqn], given: Sequence[Var]) -> list[Eqn]:
        """Equations of the loop without those whose results it is given."""
        taken = set(given)
        return [eqn for eqn in eqns if taken.isdisjoint(eqn.outputs)]

    def batched(
        self, inputs: Sequence[Var], consts: Sequence[Var], chosen: set[int], outputs: Sequence[Any]
    ) -> Callable[[dict[Any, Any]], list[Any]]:
        """Some equations for all steps at once, as a function of the values of variables."""
        if not outputs:
            return lambda env: []
        fixed = set(consts)
        eqns = [self.eqns[i] for i in sorted(chosen)]
        # Results of a weak type stay within.
        given = [v for v in inputs if v in fixed or not _makes(eqns, v)]
        program = dce(Jaxpr((), (), given, eqns, outputs, self.body.name))
        mapped = tuple([v not in fixed for v in given])
        derived, _ = batched_body(program, self.scan.length, mapped, (True,) * len(outputs))
        return lambda env: eval_jaxpr(derived, *[env[v] for v in given])

    # -- sums --

    def leaves(self, term: Any, after: set[int]) -> list[Any]:
        """The values of all steps that a sum over the steps is computed from."""
        made = self.maker.get(term)
        if made is None or made not in after or len(self.readers.get(term, ())) > 1:
            return [term]
        eqn = self.eqns[made]
        if type(eqn.primitive) is DotGeneral or type(eqn.primitive) is Sum:
            return [a for a in eqn.inputs if type(a) is Var]
        if _passes_sums(eqn):
            return [leaf for a in eqn.inputs for leaf in self.leaves(a, after)]
        return [term]

    def total(self, term: Any, after: set[int], env: dict[Any, Any]) -> Any:
        """The sum over all steps of a value."""
        made = self.maker.get(term)
        eqn = None if made is None else self.eqns[made]
        if eqn is None or term in env:
            return Sum((0,))(env[term])
        primitive = eqn.primitive
        if type(primitive) is Sum:
            axes = tuple([axis + 1 for axis in primitive.axes])
            return Sum((0, *axes))(env[eqn.inputs[0]])
        if type(primitive) is DotGeneral:
            left, right = eqn.inputs
            return self.contracted(primitive, left, right, env)
        parts = [self.total(a, after, env) for a in eqn.inputs]
        return primitive(*parts)

    def contracted(self, product: DotGeneral, left: Any, right: Any, env: dict[Any, Any]) -> Any:
        """The sum over all steps of a product: one product, contracted over the steps too."""
        fixed = [a in self.consts for a in (left, right)]
        one, other = env[left], env[right]
        if fixed[0]:
            return product(one, Sum((0,))(other))
        if fixed[1]:
            return product(Sum((0,))(one), other)
        return DotGeneral(
            (0, *[a + 1 for a in product.left_contract]),
            (0, *[a + 1 for a in product.right_contract]),
            tuple([a + 1 for a in product.left_batch]),
            tuple([a + 1 for a in product.right_batch]),
        )(one, other)


def _passes_sums(eqn: Eqn) -> bool:
    """Whether the sum of results is the result of sums."""
    primitive = eqn.primitive
    if primitive in (add, sub):
        return all(type(a) is Var and a.aval == eqn.outputs[0].aval for a in eqn.inputs)
    return primitive is neg or type(primitive) in (Transpose, Reshape)


def _is_heavy(eqn: Eqn) -> bool:
    return isinstance(eqn.primitive, Bilinear | General) and bool(eqn.outputs[0].aval.shape)


def _is_short(eqn: Eqn) -> bool:
    return sum([v.aval.nbytes for v in eqn.outputs]) <= SHORT_ROW


def _is_weak(eqn: Eqn) -> bool:
    return any(v.aval.weak for v in eqn.outputs)


def _makes(eqns: Sequence[Eqn], var: Var) -> bool:
    return any(var in eqn.outputs for eqn in eqns)
