"""Products of matrices with fewer and plainer operands.

A product with an identity matrix, as one-hot tangents make them, is the other operand, and one with a
multiple of its rows or columns scales it: infinities and NaN stay where they are, rather than spread along
the contracted axis. A transposed product is the product
of the operands in the other order. Axes of length one are left out of products, so that NumPy's `dot` does
them in one call, and constants are laid out once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.compiler.fuse import SMALLEST
from fgrad.compiler.layout import Arrange
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from fgrad.ir.uses import count_reads
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.elementwise import Select
from fgrad.primitives.families import Elementwise, Reshape, Sum, absorbing_product, mul
from fgrad.primitives.shape import Eye, Transpose
from fgrad.primitives.windows import OverlapAdd

# Larger views of constants are left as views: a copy costs memory.
_MOST_ELEMENTS = 1 << 14
# A smaller array is soon laid out anew, and what works with it takes less time.
_SOON_ARRANGED = 1 << 16


def plain_products(jaxpr: Jaxpr) -> Jaxpr:
    """The program where products are plainer."""
    if not any(type(eqn.primitive) is DotGeneral for eqn in jaxpr.eqns):
        return jaxpr
    # What is transposed is known before axes are left out.
    return _Walk(_Walk(jaxpr, squeezes=False).program(), squeezes=True).program()


class _Walk:
    def __init__(self, jaxpr: Jaxpr, squeezes: bool) -> None:
        self.jaxpr = jaxpr
        self.squeezes = squeezes
        self.eqns: list[Eqn] = []
        self.made_by: dict[Any, Eqn] = {}
        self.reads = count_reads(jaxpr)
        self.consts: dict[Any, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
        #: How arrays are transposed.
        self.permutations: dict[Any, tuple[int, ...]] = {
            eqn.inputs[0]: eqn.primitive.permutation
            for eqn in jaxpr.eqns
            if type(eqn.primitive) is Transpose
        }
        #: Arrays that meet smaller ones, element by element.
        self.meets_smaller: set[Any] = set()
        for eqn in jaxpr.eqns:
            if isinstance(eqn.primitive, Elementwise | Select):
                whole = eqn.outputs[0].aval.shape
                if any(a.aval.shape != whole and a.aval.shape for a in eqn.inputs):
                    self.meets_smaller.update(eqn.inputs)
        self.identities = {var for var, const in self.consts.items() if _is_identity(const)}
        #: The diagonals of matrices that have nothing else, as far as they are not of ones.
        self.diagonals: dict[Any, Atom] = {}
        self.changed = False

    def program(self) -> Jaxpr:
        """The program, as it was if nothing is plainer."""
        for eqn in self.jaxpr.eqns:
            primitive = eqn.primitive
            if type(primitive) is DotGeneral:
                self.product(eqn)
            elif self.squeezes:
                self.keep(eqn)
            elif type(primitive) is Transpose and self.transposed(eqn):
                self.changed = True
            elif type(primitive) in (Reshape, Transpose) and self.constant(eqn):
                self.changed = True
            elif type(primitive) is Transpose and self.arranged(eqn):
                self.changed = True
            elif type(primitive) is Sum and self.summed_as_it_lies(eqn):
                self.changed = True
            elif type(primitive) is OverlapAdd and self.windows_outside(eqn):
                self.changed = True
            else:
                self.keep(eqn)
                if type(primitive) is Eye and primitive.rows == primitive.columns:
                    if not primitive.offset:
                        self.identities.update(eqn.outputs)
                elif primitive is mul or primitive is absorbing_product:
                    self.scaled(eqn)
        if not self.changed:
            return self.jaxpr
        old = self.jaxpr
        return Jaxpr(
            [*self.consts], [*self.consts.values()], old.invars, self.eqns, old.outvars, old.name
        )

    def keep(self, eqn: Eqn) -> None:
        self.eqns.append(eqn)
        for var in eqn.outputs:
            self.made_by[var] = eqn

    def apply(self, primitive: Any, atom: Atom, eqn: Eqn) -> Atom:
        """The value of an equation of one operand that joins the program."""
        aval = primitive.abstract_eval(atom.aval)
        if type(primitive) is Reshape and aval == atom.aval:
            return atom
        out = Var(aval)
        self.keep(Eqn(primitive, (atom,), (out,), eqn.source, eqn.silent))
        return out

    def constant(self, eqn: Eqn) -> bool:
        """Whether an equation shows a small constant in another shape: then that is a constant."""
        (operand,), (out,) = eqn.inputs, eqn.outputs
        const = self.consts.get(operand)
        if type(const) is not np.ndarray or const.size > _MOST_ELEMENTS:
            return False
        shown = np.array(eqn.primitive.impl(const), order="C")
        shown.setflags(write=False)
        self.consts[out] = shown
        if _is_identity(shown):
            self.identities.add(out)
        return True

    # -- products --

    def product(self, eqn: Eqn) -> None:
        if self.squeezed(eqn) if self.squeezes else self.by_identity(eqn):
            self.changed = True
        else:
            self.keep(eqn)

    def scaled(self, eqn: Eqn) -> None:
        """Take note of an identity matrix whose rows or columns are multiplied."""
        (out,) = eqn.outputs
        if len(out.aval.shape) != 2 or out.aval.dtype.kind != "f":
            return
        n = out.aval.shape[0]
        for matrix, scale in (eqn.inputs, eqn.inputs[::-1]):
            known = self.diagonals.get(matrix)
            if known is None and matrix not in self.identities:
                continue
            if scale.aval.size != n or scale.aval.dtype != out.aval.dtype:
                continue
            vector = self.apply(Reshape((n,)), scale, eqn)
            if known is not None:
                product = Var(vector.aval)
                self.keep(eqn._replace(primitive=mul, inputs=(known, vector), outputs=(product,)))
                vector = product
            self.diagonals[out] = vector
            return

    def by_identity(self, eqn: Eqn) -> bool:
        """Whether one operand is a diagonal matrix: then the other one, scaled, is the result."""
        primitive: DotGeneral = eqn.primitive
        if primitive.left_batch or len(primitive.left_contract) != 1:
            return False
        left, right = eqn.inputs
        if right in self.identities or right in self.diagonals:
            matrix, operand, axis = right, left, primitive.left_contract[0]
            place = len(left.aval.shape) - 1
        elif left in self.identities or left in self.diagonals:
            matrix, operand, axis, place = left, right, primitive.right_contract[0], 0
        else:
            return False
        rank = len(operand.aval.shape)
        order = [a for a in range(rank) if a != axis]
        order.insert(place, axis)
        moved = Transpose(tuple(order))
        if matrix in self.identities:
            self.keep(eqn._replace(primitive=moved, inputs=(operand,)))
            return True
        diagonal = self.diagonals[matrix]
        shape = [1] * rank
        shape[place] = diagonal.aval.size
        scale = self.apply(Reshape(tuple(shape)), diagonal, eqn)
        other = self.apply(moved, operand, eqn)
        self.keep(eqn._replace(primitive=mul, inputs=(scale, other)))
        return True

    def arranged(self, eqn: Eqn) -> bool:
        """Whether an equation transposes a small matrix that meets vectors: then it is laid out anew.

        NumPy would take short steps along one axis of each.
        """
        (out,) = eqn.outputs
        aval = out.aval
        if out not in self.meets_smaller or len(aval.shape) != 2 or aval.size > _SOON_ARRANGED:
            return False
        self.keep(eqn._replace(primitive=Arrange(eqn.primitive.permutation)))
        return True

    def transposed(self, eqn: Eqn) -> bool:
        """Whether an equation puts the axes of a product's right operand first: then it is the left one."""
        (operand,) = eqn.inputs
        maker = self.made_by.get(operand)
        if maker is None or type(maker.primitive) is not DotGeneral or self.reads[operand] > 1:
            return False
        product: DotGeneral = maker.primitive
        left, right = maker.inputs
        if type(left) is Literal or type(right) is Literal:
            return False
        batch = len(product.left_batch)
        count = len(left.aval.shape) - batch - len(product.left_contract)
        rank = len(operand.aval.shape)
        swapped = (*range(batch), *range(batch + count, rank), *range(batch, batch + count))
        if eqn.primitive.permutation != swapped:
            return False
        other = DotGeneral(
            product.right_contract, product.left_contract, product.right_batch, product.left_batch
        )
        self.product(maker._replace(primitive=other, inputs=(right, left), outputs=eqn.outputs))
        return True

    def summed_as_it_lies(self, eqn: Eqn) -> bool:
        """Whether an array is summed over axes that lead where the program transposes it.

        So it is with pictures, whose channels a product has made the last axis: a sum over leading axes of
        what lies in that order is fast, any other is no slower.
        """
        (operand,), axes = eqn.inputs, eqn.primitive.axes
        order = self.permutations.get(operand)
        count = len(axes)
        if order is None or sorted(order[:count]) != sorted(axes):
            return False
        rank = len(operand.aval.shape)
        if axes[-1] == count - 1 or axes[0] == rank - count or operand.aval.size >= SMALLEST:
            return False
        if list(order[count:]) != sorted(order[count:]):
            return False
        shown = self.apply(Transpose(order), operand, eqn)
        self.keep(eqn._replace(primitive=Sum(tuple(range(count))), inputs=(shown,)))
        return True

    def windows_outside(self, eqn: Eqn) -> bool:
        """Whether windows to add up are a product with weights: then their other axes are to lie within.

        So the windows are added in longer runs. The weights, which are few, are laid out anew.
        """
        (operand,) = eqn.inputs
        moved = self.made_by.get(operand)
        if moved is None or type(moved.primitive) is not Transpose or self.reads[operand] > 1:
            return False
        maker = self.made_by.get(moved.inputs[0])
        if maker is None or type(maker.primitive) is not DotGeneral or maker.primitive.left_batch:
            return False
        left, right = maker.inputs
        if self.reads[moved.inputs[0]] > 1 or right.aval.size * 4 > operand.aval.size:
            return False
        product: DotGeneral = maker.primitive
        count = len(eqn.primitive.window)
        ahead = len(left.aval.shape) - len(product.left_contract)
        free = [a for a in range(len(right.aval.shape)) if a not in product.right_contract]
        windows = [axis - ahead for axis in moved.primitive.permutation[-count:]]
        if min(windows) < 0 or len(free) == count:
            return False
        others = [i for i in range(len(free)) if i not in windows]
        order = [*windows, *others]
        weights = self.apply(
            Arrange((*product.right_contract, *[free[i] for i in order])), right, maker
        )
        contracted = tuple(range(len(product.right_contract)))
        summed = Var(
            moved.inputs[0].aval.with_shape(
                (
                    *moved.inputs[0].aval.shape[:ahead],
                    *[moved.inputs[0].aval.shape[ahead + i] for i in order],
                )
            )
        )
        other = DotGeneral(product.left_contract, contracted)
        self.keep(maker._replace(primitive=other, inputs=(left, weights), outputs=(summed,)))
        permutation = tuple(
            [
                axis if axis < ahead else ahead + order.index(axis - ahead)
                for axis in moved.primitive.permutation
            ]
        )
        shown = self.apply(Transpose(permutation), summed, moved)
        self.keep(eqn._replace(inputs=(shown,)))
        return True

    def squeezed(self, eqn: Eqn) -> bool:
        """Whether a product is one of matrices or vectors but for axes of length one."""
        primitive: DotGeneral = eqn.primitive
        if primitive.left_batch or len(primitive.left_contract) != 1:
            return False
        if max(len(a.aval.shape) for a in eqn.inputs) < 3:
            return False
        operands: list[Atom] = []
        places = []
        for atom, (axis,) in zip(
            eqn.inputs, (primitive.left_contract, primitive.right_contract), strict=True
        ):
            shape = atom.aval.shape
            kept = [a for a, n in enumerate(shape) if n != 1 or a == axis]
            if len(kept) > 2:
                return False
            operands.append(atom)
            places.append((kept, kept.index(axis)))
        plain = [
            self.apply(Reshape(tuple([atom.aval.shape[a] for a in kept])), atom, eqn)
            for atom, (kept, _) in zip(operands, places, strict=True)
        ]
        dot = DotGeneral((places[0][1],), (places[1][1],))
        result = Var(dot.abstract_eval(plain[0].aval, plain[1].aval))
        self.keep(Eqn(dot, tuple(plain), (result,), eqn.source, eqn.silent))
        (out,) = eqn.outputs
        self.keep(eqn._replace(primitive=Reshape(out.aval.shape), inputs=(result,)))
        return True


def _is_identity(const: Any) -> bool:
    if type(const) is not np.ndarray or const.ndim != 2 or const.shape[0] != const.shape[1]:
        return False
    n = const.shape[0]
    return bool(n and const[0, 0] == 1 and np.array_equal(const, np.eye(n)))
