"""Sums of products as contractions.

A factor that does not change along an axis leaves the sum over that axis, if what is left of it has been
computed before: the sum over ``i, j, k`` of ``c[i, j] * x[i, j, k] ** 2`` is that of ``c[i, j] * s[i, j]``
where the program has ``s = sum(x ** 2, axis=2)``. So meet the value and the gradient of kernels and norms.
A sum of ``x * y`` takes no array of products.

Sums of products are no less accurate: BLAS adds up many partial sums, and gets no more than a few hundred
products at a time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.compiler.fuse import SMALLEST
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from fgrad.ir.uses import count_reads
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import IntegerPower, Select, div
from fgrad.primitives.families import Elementwise, Reshape, Sum, absorbing_product, mul, neg
from fgrad.tracing import Primitive

#: BLAS gets so many products at a time: its sums are as accurate as pairwise ones, and it keeps to one
#: thread.
LONGEST_DOT = 512
_BLOCK = 256
# Sums of fewer products are not worth another form.
_FEWEST = 64


def sum_of_products(x: Any, y: Any) -> Any:
    """The sum of all products of elements that lie alike."""
    one, two = x.reshape(-1), y.reshape(-1)
    count = one.size // _BLOCK
    whole = count * _BLOCK
    parts = np.zeros(1 << count.bit_length(), one.dtype)
    np.vecdot(one[:whole].reshape(-1, _BLOCK), two[:whole].reshape(-1, _BLOCK), out=parts[:count])
    parts[count] = one[whole:].dot(two[whole:])
    while parts.size > 1:
        half = parts.size // 2
        parts = parts[:half] + parts[half:]
    return parts[0]


@parameters
class SumOfProducts(Primitive):
    """Sum ``x * y`` over all axes, or over the last one.   f[*s] f[*s] -> f[] or f[*s without the last]

    Where `absorbs`, each product is an absorbing one, of a cotangent and a slope.
    """

    over_all: bool
    absorbs: bool
    keeps_nan = True

    def abstract_eval(self, x: Aval, y: Aval) -> Aval:  # type: ignore[override]
        return x.with_shape(() if self.over_all else x.shape[:-1])

    def impl(self, x: Any, y: Any) -> Any:
        if self.absorbs:
            products = absorbing_product.impl(x, y)
            return np.add.reduce(products, axis=None if self.over_all else -1)
        return sum_of_products(x, y) if self.over_all else np.vecdot(x, y)

    def results_to_look_at(self) -> tuple[bool, ...]:
        """A product of zero and infinity shows in the sum."""
        return (self.absorbs,)

    def lower(self, emit: Any, *names: str) -> str:
        if self.absorbs and emit.guards is None:
            axis = None if self.over_all else -1
            return f"np.add.reduce({emit.absorbing_product(*names)}, axis={axis})"
        if not self.over_all:
            return f"np.vecdot({names[0]}, {names[1]})"
        (x, _) = emit.operands
        if x.size > LONGEST_DOT:
            return f"{emit.constant(sum_of_products, 'sum_of_products')}({names[0]}, {names[1]})"
        if len(x.shape) == 1:
            return f"{names[0]}.dot({names[1]})"
        return f"np.vdot({names[0]}, {names[1]})"


def contract_sums(jaxpr: Jaxpr) -> Jaxpr:
    """The program where sums of products are contractions."""
    if not any(type(eqn.primitive) is Sum for eqn in jaxpr.eqns):
        return jaxpr
    return _Walk(jaxpr).program()


class _Factors:
    """A product: arrays, numbers, and numbers that divide."""

    def __init__(self) -> None:
        self.arrays: list[Atom] = []
        self.numbers: list[Atom] = []
        self.divisors: list[Atom] = []
        self.negative = False
        #: Whether zeros among the arrays absorb the slopes that they meet, and which those slopes are.
        self.absorbs = False
        self.slopes: set[Any] = set()

    @property
    def plain(self) -> bool:
        """Whether there is nothing but arrays."""
        return not (self.numbers or self.divisors or self.negative or self.absorbs)

    def keeps_absorbing(self, outer: Sequence[Atom], inner: Sequence[Atom]) -> bool:
        """Whether the same zeros absorb the same slopes once some factors are outside of the sum."""
        if not self.absorbs:
            return True
        apart = self.slopes.isdisjoint(outer) and self.slopes.issuperset(inner)
        return apart and all(type(a) is Literal or a in self.slopes for a in self.numbers)


class _Walk:
    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.eqns: list[Eqn] = []
        self.made_by: dict[Any, Eqn] = {}
        self.reads = count_reads(jaxpr)
        #: Sums that the program has, by what they are sums of.
        self.sums: dict[Any, Var] = {}
        self.changed = False

    def program(self) -> Jaxpr:
        """The program with its sums rewritten."""
        for eqn in self.jaxpr.eqns:
            if type(eqn.primitive) is Sum and _is_float(eqn.inputs[0]) and eqn.primitive.axes:
                if not (self.factored(eqn) or self.contracted(eqn)):
                    self.eqns.append(eqn)
            else:
                self.eqns.append(eqn)
                for var in eqn.outputs:
                    self.made_by[var] = eqn
        if not self.changed:
            return self.jaxpr
        old = self.jaxpr
        return Jaxpr(old.constvars, old.consts, old.invars, self.eqns, old.outvars, old.name)

    # -- factors that leave a sum --

    def factors(self, atom: Atom) -> _Factors:
        """A value as a product of what others read too, or is no product."""
        found = _Factors()
        shape = atom.aval.shape
        waiting = [(atom, False)]
        while waiting:
            atom, slope = waiting.pop()
            eqn = self.made_by.get(atom)
            if slope:
                found.slopes.add(atom)
            if not atom.aval.shape:
                found.numbers.append(atom)
            elif eqn is None or atom.aval.shape != shape or self.reads[atom] > 1:
                found.arrays.append(atom)
            elif eqn.primitive is mul:
                waiting += [(a, slope) for a in eqn.inputs]
            elif eqn.primitive is absorbing_product:
                found.absorbs = True
                waiting += [(eqn.inputs[0], slope), (eqn.inputs[1], True)]
            elif eqn.primitive is neg:
                found.negative = not found.negative
                waiting.append((eqn.inputs[0], slope))
            elif type(eqn.primitive) is IntegerPower and eqn.primitive.n == 2:
                waiting += [(eqn.inputs[0], slope)] * 2
            elif eqn.primitive is div and not eqn.inputs[1].aval.shape:
                waiting.append((eqn.inputs[0], slope))
                found.divisors.append(eqn.inputs[1])
            else:
                found.arrays.append(atom)
        return found

    def factored(self, eqn: Eqn) -> bool:
        """Whether the rest of a sum is known once a factor has left it: then its equations are written."""
        (operand,) = eqn.inputs
        axes = eqn.primitive.axes
        if type(operand) is not Var or operand not in self.made_by:
            return False
        shape = operand.aval.shape
        product = self.factors(operand)
        if product.plain and all(a.aval.shape == shape for a in product.arrays):
            self.sums.setdefault((_key(product.arrays), axes), eqn.outputs[0])
            return False
        whole = [_whole(a, len(shape)) for a in product.arrays]
        constant = [{axis for axis in axes if w[axis] == 1 < shape[axis]} for w in whole]
        lone = next((c for c in constant if c), None)
        if lone is None:
            return False
        outer = [a for a, c in zip(product.arrays, constant, strict=True) if c >= lone]
        inner = [a for a, c in zip(product.arrays, constant, strict=True) if not c >= lone]
        rest = self.sums.get((_key(inner), tuple(sorted(lone))))
        if rest is None or not product.keeps_absorbing(outer, inner):
            return False
        kept = [axis for axis in range(len(shape)) if axis not in lone]
        times = absorbing_product if product.absorbs else mul
        value: Atom = rest
        for atom in outer:
            # A cotangent comes first: its zeros absorb.
            lesser = self.apply(
                Reshape(tuple([_whole(atom, len(shape))[axis] for axis in kept])), (atom,), eqn
            )
            value = self.apply(times, (lesser, value), eqn)
        left = tuple([kept.index(axis) for axis in axes if axis not in lone])
        if left:
            value = self.apply(Sum(left), (value,), eqn)
        scale = self.scale(product, eqn)
        if scale is not None:
            value = self.apply(times, (value, scale), eqn)
        self.name_last(eqn)
        return True

    def scale(self, product: _Factors, eqn: Eqn) -> Atom | None:
        """The numbers of a product as one."""
        scale: Atom | None = None
        for number in product.numbers:
            scale = number if scale is None else self.apply(mul, (scale, number), eqn)
        for divisor in product.divisors:
            over = product.arrays[0].aval.dtype.type(1) if scale is None else None
            start = Literal(over) if scale is None else scale
            scale = self.apply(div, (start, divisor), eqn)
        if product.negative:
            minus = Literal(product.arrays[0].aval.dtype.type(-1))
            return minus if scale is None else self.apply(neg, (scale,), eqn)
        return scale

    # -- sums without an array of products --

    def contracted(self, eqn: Eqn) -> bool:
        """Whether a sum is one of products that nothing else reads: then it is written as such."""
        (operand,) = eqn.inputs
        maker = self.made_by.get(operand)
        if maker is None or self.reads[operand] > 1 or not _is_strong_float(operand):
            return False
        primitive = maker.primitive
        if primitive is mul or primitive is absorbing_product:
            x, y = maker.inputs
        elif type(primitive) is IntegerPower and primitive.n == 2:
            x = y = maker.inputs[0]
        else:
            return False
        shape, axes = operand.aval.shape, eqn.primitive.axes
        over_all = len(axes) == len(shape)
        if not over_all and axes != (len(shape) - 1,):
            return False
        count = math.prod([shape[axis] for axis in axes])
        if count < _FEWEST or not (over_all or count <= LONGEST_DOT):
            return False
        if any(a.aval != operand.aval for a in (x, y)):
            return False
        if operand.aval.size >= SMALLEST and not all(map(self.stays, (x, y))):
            return False
        contraction = SumOfProducts(over_all, primitive is absorbing_product)
        self.eqns.append(
            Eqn(contraction, (x, y), eqn.outputs, eqn.source, eqn.silent and maker.silent)
        )
        self.changed = True
        return True

    def stays(self, atom: Atom) -> bool:
        """Whether an array is there in any case, rather than block by block."""
        maker = self.made_by.get(atom)
        return maker is None or not isinstance(maker.primitive, Elementwise | Select | Reshape)

    # -- writing --

    def apply(self, primitive: Any, inputs: tuple[Atom, ...], eqn: Eqn) -> Var:
        out = Var(primitive.abstract_eval(*[a.aval for a in inputs]))
        self.eqns.append(Eqn(primitive, inputs, (out,), eqn.source, eqn.silent))
        self.made_by[out] = self.eqns[-1]
        return out

    def name_last(self, eqn: Eqn) -> None:
        """Let the last equation make what `eqn` made."""
        last = self.eqns.pop()
        self.eqns.append(last._replace(outputs=eqn.outputs))
        self.made_by[eqn.outputs[0]] = self.eqns[-1]
        self.changed = True


def _key(arrays: Sequence[Atom]) -> Any:
    return frozenset(Counter(arrays).items())


def _whole(atom: Atom, rank: int) -> tuple[int, ...]:
    shape = atom.aval.shape
    return (1,) * (rank - len(shape)) + shape


def _is_float(atom: Atom) -> bool:
    return atom.aval.dtype.kind == "f"


def _is_strong_float(atom: Atom) -> bool:
    return atom.aval.dtype.char in "fd" and not atom.aval.weak
