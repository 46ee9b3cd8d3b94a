"""Exact rewrites of a program before it is emitted: what computes nothing is cancelled.

Every rewrite keeps each value to the last bit, signed zeros and NaN included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import aval_of
from fgrad.compiler.fold import fold
from fgrad.compiler.parts import gather_parts
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from fgrad.ir.passes import cse, dce, inline_calls
from fgrad.primitives.elementwise import conj, div, power, real, step, stop_gradient, sub
from fgrad.primitives.families import (
    BroadcastTo,
    Convert,
    Elementwise,
    Full,
    Reshape,
    absorbing_product,
    add,
    mul,
    neg,
)
from fgrad.primitives.shape import Embed, StaticIndex, Transpose

#: Primitives whose results have elements of the first operand, with either sign.
_SAME_ELEMENTS = (neg, BroadcastTo, Reshape, StaticIndex, Transpose)


def simplify(jaxpr: Jaxpr) -> Jaxpr:
    """The program with calls inlined, constants folded, what cancels cancelled, equal work done once."""
    return gather_parts(dce(cse(cancel(fold(inline_calls(jaxpr))))))


def cancel(jaxpr: Jaxpr) -> Jaxpr:
    """One walk over the equations; each is rewritten by what is known of its operands."""
    walk = _Walk(jaxpr)
    eqns = [kept for eqn in jaxpr.eqns if (kept := walk.rewrite(eqn)) is not None]
    outvars = [walk.current(a) for a in jaxpr.outvars]
    return Jaxpr(jaxpr.constvars, jaxpr.consts, jaxpr.invars, eqns, outvars, jaxpr.name)


class _Walk:
    def __init__(self, jaxpr: Jaxpr) -> None:
        #: What stands for a variable whose equation was dropped.
        self.same: dict[Any, Atom] = {}
        self.made_by: dict[Any, Eqn] = {}
        #: Arrays that show an element many times.
        self.stretched: set[Any] = set()
        #: Arrays that repeat one scalar.
        self.scalars: dict[Any, Literal] = {}
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            if type(const) is np.ndarray and const.ndim and _repeats_one_number(const):
                self.scalars[var] = Literal(const[(0,) * const.ndim])
                self.stretched.add(var)

    def current(self, atom: Atom) -> Atom:
        return atom if type(atom) is Literal else self.same.get(atom, atom)

    def maker(self, atom: Atom) -> tuple[Any, tuple[Atom, ...]]:
        """The primitive that made a value and its operands."""
        eqn = self.made_by.get(atom)
        return (None, ()) if eqn is None else (eqn.primitive, eqn.inputs)

    def rewrite(self, eqn: Eqn) -> Eqn | None:
        same = self.same
        inputs = tuple([a if type(a) is Literal else same.get(a, a) for a in eqn.inputs])
        primitive = eqn.primitive
        if primitive.multiple_results or primitive.effectful:
            return eqn._replace(inputs=inputs)
        (out,) = eqn.outputs
        if isinstance(primitive, Elementwise):
            if out.aval.shape and not self.stretched.isdisjoint(inputs):
                inputs = self.unstretched(primitive, inputs, out)
            primitive, inputs = self.signs(primitive, inputs, out)
            is_condition = inputs[-1].aval.dtype.kind == "b"
            if primitive is absorbing_product and not is_condition and self.is_finite(inputs[1]):
                primitive = mul
            if primitive is mul and out.aval.dtype.kind == "f":
                inputs = self.unsigned(inputs)
        elif isinstance(primitive, StaticIndex | Embed) and _takes_all(primitive, inputs[0], out):
            primitive = Reshape(out.aval.shape)
        if inputs and isinstance(primitive, Reshape | Transpose):
            primitive, inputs = self.merged(primitive, inputs)
        elif type(primitive) is Full and primitive.shape:
            self.scalars[out] = Literal(primitive.dtype.type(primitive.fill))
            self.stretched.add(out)
        kept = self.unchanged(primitive, inputs)
        if kept is not None and kept.aval == out.aval:
            self.same[out] = kept
            return None
        rewritten = eqn
        if primitive is not eqn.primitive or inputs != eqn.inputs:
            rewritten = eqn._replace(primitive=primitive, inputs=inputs)
        self.made_by[out] = rewritten
        if type(primitive) is BroadcastTo:
            self.stretched.add(out)
        return rewritten

    def unstretched(
        self, primitive: Elementwise, inputs: tuple[Atom, ...], out: Var
    ) -> tuple[Atom, ...]:
        """Operands as they were before they were stretched, where broadcasting stretches them anyway."""
        operands = list(inputs)
        for position, atom in enumerate(inputs):
            if primitive is power and position == 1:
                # NumPy takes roots and squares for a single exponent: other bits.
                continue
            made_by, sources = self.maker(atom)
            source = sources[0] if type(made_by) is BroadcastTo else self.scalars.get(atom)
            if source is None:
                continue
            operands[position] = source
            if primitive.abstract_eval(*[a.aval for a in operands]) != out.aval:
                operands[position] = atom
        return tuple(operands)

    def signs(
        self, primitive: Any, inputs: tuple[Atom, ...], out: Var
    ) -> tuple[Any, tuple[Atom, ...]]:
        """``x + -y`` is ``x - y``, ``x - -y`` is ``x + y``, ``-(c * x)`` is ``-c * x``."""
        if primitive is neg:
            made_by, operands = self.maker(inputs[0])
            if made_by is mul:
                for i in (0, 1):
                    constant, other = operands[i], operands[1 - i]
                    # A complex product has terms that cancel to zeros of another sign, and integers
                    # have no negative zero.
                    if type(constant) is Literal and out.aval.dtype.kind == "f":
                        if constant.aval.dtype.kind == "f":
                            return mul, (Literal(-constant.value, constant.aval), other)
        if primitive is add or primitive is sub:
            made_by, operands = self.maker(inputs[1])
            # Beside a complex number, a real one has a positive zero for its imaginary part.
            kind = out.aval.dtype.kind
            if made_by is neg and kind in "fc" and operands[0].aval.dtype.kind == kind:
                return (sub if primitive is add else add), (inputs[0], operands[0])
        return primitive, inputs

    def unsigned(self, inputs: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """``-x * c``, and ``x * -1 * c``, is ``x * -c``."""
        for constant, other in (inputs, inputs[::-1]):
            if type(constant) is not Literal or constant.aval.dtype.kind != "f":
                continue
            made_by, operands = self.maker(other)
            if made_by is mul:
                operands = tuple([a for a in operands if not _is_minus_one(a)])
            if made_by in (neg, mul) and len(operands) == 1 and operands[0].aval == other.aval:
                return operands[0], Literal(-constant.value, constant.aval)
        return inputs

    def is_finite(self, slope: Atom) -> bool:
        """Whether a slope is known to be finite: times zero it is zero, without absorption."""
        if slope.aval.dtype.kind == "b":
            return True
        if type(slope) is Literal:
            return bool(np.isfinite(slope.value))
        made_by, operands = self.maker(slope)
        if type(made_by) is Convert or made_by in _SAME_ELEMENTS or type(made_by) in _SAME_ELEMENTS:
            return self.is_finite(operands[0])
        return made_by is step or (slope in self.scalars and self.is_finite(self.scalars[slope]))

    def merged(self, primitive: Any, inputs: tuple[Atom, ...]) -> tuple[Any, tuple[Atom, ...]]:
        """Two reshapes, or two permutations, in one."""
        made_by, operands = self.maker(inputs[0])
        if type(made_by) is type(primitive):
            if type(primitive) is Reshape:
                return primitive, operands
            first = made_by.permutation
            return Transpose(tuple([first[axis] for axis in primitive.permutation])), operands
        return primitive, inputs

    def unchanged(self, primitive: Any, inputs: Sequence[Atom]) -> Atom | None:
        """The operand, or an earlier value, that equals the result if it has its type."""
        if not inputs:
            return None
        first = inputs[0]
        if primitive is neg:
            made_by, operands = self.maker(first)
            return operands[0] if made_by is neg else None
        if primitive is real or primitive is conj:
            return first if first.aval.dtype.kind != "c" else None
        if primitive is stop_gradient or isinstance(primitive, Reshape | BroadcastTo | Convert):
            return first
        if type(primitive) is Transpose:
            return first if list(primitive.permutation) == sorted(primitive.permutation) else None
        # A complex product or quotient meets the zero beside the one: infinities become NaN.
        if primitive is mul or primitive is absorbing_product:
            if _is_one(inputs[1]) and first.aval.dtype.kind != "c":
                return first
            return inputs[1] if _is_one(first) and inputs[1].aval.dtype.kind != "c" else None
        if primitive is div and first.aval.dtype.kind != "c":
            return first if _is_one(inputs[1]) else None
        if primitive is sub:
            # Not so for sums: -0.0 + 0.0 is 0.0.
            return first if _is_positive_zero(inputs[1]) else None
        return None


def _takes_all(primitive: StaticIndex | Embed, operand: Atom, out: Var) -> bool:
    """Whether an index takes every element in order, so that only the shape changes."""
    forward = all(not isinstance(item, slice) or item.step in (None, 1) for item in primitive.index)
    return forward and operand.aval.size == out.aval.size > 0


def _is_one(atom: Atom) -> bool:
    return type(atom) is Literal and aval_of(atom.value).dtype.kind in "fiub" and atom.value == 1


def _is_minus_one(atom: Atom) -> bool:
    return type(atom) is Literal and aval_of(atom.value).dtype.kind == "f" and atom.value == -1


def _is_positive_zero(atom: Atom) -> bool:
    if type(atom) is not Literal or aval_of(atom.value).dtype.kind not in "fiu":
        return False
    return bool(atom.value == 0 and not np.signbit(atom.value))


def _repeats_one_number(array: np.ndarray[Any, Any]) -> bool:
    if not array.size:
        return False
    first = array[(0,) * array.ndim]
    # Zeros of either sign are equal, and no NaN is.
    return not any(array.strides) or bool(first != 0 and (array == first).all())
