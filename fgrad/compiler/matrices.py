"""Matrices of a known form: multiples of the identity, diagonals, products of few columns.

A multiple of the identity is added along the diagonal. What a quadratic form and the logarithm of a
determinant send back to Cholesky's factor is a diagonal and products of few columns; the gradient towards
the matrix takes them as they are.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from fgrad.avals import Aval
from fgrad.compiler.parts import SumOfParts
from fgrad.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from fgrad.ir.uses import count_reads
from fgrad.parameters import parameters
from fgrad.primitives.cholesky import CholeskyGradient, between_inverses, mirror
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.elementwise import div, sub
from fgrad.primitives.families import Reshape, absorbing_product, add, mul, neg
from fgrad.primitives.linalg import Triangle
from fgrad.primitives.shape import Concatenate, Embed, Eye, Transpose
from fgrad.primitives.solve import TriangularSolve, lapack_routine
from fgrad.tracing import Primitive

# Of smaller matrices, a pass costs less than what saves it.
_FEWEST_ROWS = 64
# Products of so many columns take less time than the product of two triangles.
_FEW_COLUMNS = 8

_ROWS_BY_COLUMNS = DotGeneral((1,), (0,))


@parameters
class GradientOfParts(Primitive):
    """`CholeskyGradient` of a diagonal and a product.   f[n, n] f[n] f[n, k] f[k, n] -> f[n, n]"""

    def abstract_eval(self, factor: Aval, *parts: Aval) -> Aval:  # type: ignore[override]
        return factor

    def impl(self, factor: Any, diagonal: Any, left: Any, right: Any) -> Any:
        # The lower triangle of L^T g, of which L^T diag(d) has the diagonal alone.
        inside = factor.T.dot(left).dot(right)
        inside.reshape(-1)[:: len(factor) + 1] += np.diagonal(factor) * diagonal
        mirror(inside)
        return between_inverses(factor, inside)


@parameters
class GradientOfSymmetricParts(Primitive):
    """`CholeskyGradient` of a diagonal and of products that L^T makes symmetric.

    f[n, n] f[n] f[n, k] f[k, n] -> f[n, n]

    The products come between the inverses already.
    """

    def abstract_eval(self, factor: Aval, *parts: Aval) -> Aval:  # type: ignore[override]
        return factor

    def impl(self, factor: Any, diagonal: Any, left: Any, right: Any) -> Any:
        kind = factor.dtype.char
        scales = np.diagonal(factor) * diagonal
        turned = scales if scales[0] > 0 else -scales
        matrix = np.zeros_like(factor, order="C")
        flat = matrix.reshape(-1)[:: len(factor) + 1]
        if turned.min() > 0:
            # All is transposed, so that arrays in C order are in Fortran's: the product of the inverse's
            # triangles, as LAPACK inverts.
            flat[:] = np.sqrt(turned)
            root = lapack_routine("trsm", kind)(
                1.0, factor.T, matrix.T, side=0, lower=0, overwrite_b=1
            )
            inverse, _ = lapack_routine("lauum", kind)(root, lower=0, overwrite_c=1)
            whole = inverse.T
            whole *= 0.5 if scales[0] > 0 else -0.5
            mirror(whole)
        else:
            flat[:] = scales
            whole = between_inverses(factor, matrix)
        multiply = lapack_routine("gemm", kind)
        return multiply(0.5, right.T, left.T, beta=1.0, c=whole.T, overwrite_c=1).T


def use_forms(jaxpr: Jaxpr) -> Jaxpr:
    """The program where matrices of a known form are worked with as such."""
    known = any(type(eqn.primitive) in (Eye, CholeskyGradient) for eqn in jaxpr.eqns)
    if not known and not any(map(_is_identity, jaxpr.consts)):
        return jaxpr
    return _Walk(jaxpr).program()


class _Walk:
    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.eqns: list[Eqn] = []
        self.made_by: dict[Any, Eqn] = {}
        self.reads = count_reads(jaxpr)
        #: Identity matrices.
        self.identities = {
            var
            for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True)
            if _is_identity(const)
        }
        self.changed = False

    def program(self) -> Jaxpr:
        """The program, as it was if it has no such matrices."""
        for eqn in self.jaxpr.eqns:
            primitive = eqn.primitive
            if primitive is add and self.on_diagonal(eqn):
                self.changed = True
            elif type(primitive) is CholeskyGradient and self.of_parts(eqn):
                self.changed = True
            else:
                self.eqns.append(eqn)
                self.made_by.update((var, eqn) for var in eqn.outputs)
                if type(primitive) is Eye and primitive.rows == primitive.columns:
                    if not primitive.offset:
                        self.identities.update(eqn.outputs)
        if not self.changed:
            return self.jaxpr
        old = self.jaxpr
        return Jaxpr(old.constvars, old.consts, old.invars, self.eqns, old.outvars, old.name)

    def apply(self, primitive: Any, inputs: tuple[Atom, ...], eqn: Eqn) -> Var:
        """The value of an equation that joins the program."""
        out = Var(primitive.abstract_eval(*[a.aval for a in inputs]))
        self.eqns.append(Eqn(primitive, inputs, (out,), eqn.source, eqn.silent))
        return out

    def make(self, primitive: Any, inputs: tuple[Atom, ...], eqn: Eqn) -> None:
        """Let an equation make what `eqn` made."""
        made = eqn._replace(primitive=primitive, inputs=inputs)
        self.eqns.append(made)
        self.made_by.update((var, made) for var in eqn.outputs)

    # -- multiples of the identity --

    def on_diagonal(self, eqn: Eqn) -> bool:
        """Whether a term is a multiple of the identity: then it is added along the diagonal."""
        (out,) = eqn.outputs
        shape = out.aval.shape
        if len(shape) != 2 or shape[0] < _FEWEST_ROWS or out.aval.dtype.kind != "f":
            return False
        for position in (1, 0):
            times = self.multiple(eqn.inputs[position])
            other = eqn.inputs[1 - position]
            if times is None or other.aval != out.aval:
                continue
            n = shape[0]
            # Off the diagonal, the number meets a zero: infinities and NaN show there.
            zero = out.aval.dtype.type(0)
            if type(times) is Literal:
                nothing: Atom = Literal(times.value * zero)
            else:
                nothing = self.apply(mul, (times, Literal(zero)), eqn)
            whole = self.apply(add, (other, nothing), eqn)
            flat = self.apply(Reshape((n * n,)), (whole,), eqn)
            index = (slice(0, n * n, n + 1),)
            summed = self.apply(SumOfParts((None, index), (n * n,)), (flat, times), eqn)
            self.make(Reshape(shape), (summed,), eqn)
            return True
        return False

    def multiple(self, atom: Atom) -> Atom | None:
        """The number of which a value is that multiple of the identity."""
        eqn = self.made_by.get(atom)
        if eqn is None or eqn.primitive is not mul:
            return None
        for number, matrix in (eqn.inputs, eqn.inputs[::-1]):
            if matrix in self.identities and not number.aval.shape:
                dtype = atom.aval.dtype
                if type(number) is Literal and number.aval.weak:
                    return Literal(dtype.type(number.value))
                if number.aval.dtype == dtype:
                    return number
        return None

    # -- gradients of Cholesky's factor --

    def of_parts(self, eqn: Eqn) -> bool:
        """Whether the gradient of a factor is a sum of parts, so that its products are those of the parts."""
        factor, g = eqn.inputs
        if len(g.aval.shape) != 2 or g.aval.dtype.kind != "f" or len(factor.aval.shape) != 2:
            return False
        n = g.aval.shape[0]
        terms = self.terms(g)
        diagonals: list[Atom] = []
        products: list[tuple[Atom, Atom, bool]] = []
        for atom, negative in terms:
            maker = self.made_by.get(atom)
            diagonal = self.diagonal(atom)
            if diagonal is not None:
                diagonals.append(self.apply(neg, (diagonal,), eqn) if negative else diagonal)
            elif maker is not None and maker.primitive == _ROWS_BY_COLUMNS:
                left, right = maker.inputs
                if len(left.aval.shape) != 2 or len(right.aval.shape) != 2:
                    return self.stripped(eqn, terms)
                products.append((left, right, negative))
            else:
                return self.stripped(eqn, terms)
        columns = sum(left.aval.shape[1] for left, _, _ in products)
        if not diagonals or not products or columns * _FEW_COLUMNS > n:
            return self.stripped(eqn, terms)
        diagonal = diagonals[0]
        for other in diagonals[1:]:
            diagonal = self.apply(add, (diagonal, other), eqn)
        sources = self.symmetric(factor, products)
        primitive: Any = GradientOfParts()
        rights = [right for _, right, _ in products]
        if sources is not None:
            primitive = GradientOfSymmetricParts()
            turn = TriangularSolve(True, conjugate_transpose=True)
            solved = [self.apply(turn, (factor, source), eqn) for source in sources]
            rights = [self.apply(Transpose((1, 0)), (x,), eqn) for x in solved]
        lefts = [self.apply(neg, (x,), eqn) if negative else x for x, _, negative in products]
        left = lefts[0] if len(lefts) == 1 else self.apply(Concatenate(1), tuple(lefts), eqn)
        right = rights[0] if len(rights) == 1 else self.apply(Concatenate(0), tuple(rights), eqn)
        self.make(primitive, (factor, diagonal, left, right), eqn)
        return True

    def symmetric(self, factor: Atom, products: list[tuple[Atom, Atom, bool]]) -> list[Atom] | None:
        """The columns on the right of products of which the sum, L^T from the left, is symmetric.

        What stands on the left was solved for with L^T: so the product with L^T is the right-hand side.
        """
        pairs: Counter[Any] = Counter()
        columns = []
        for left, right, negative in products:
            solve = self.made_by.get(left)
            transposed = self.made_by.get(right)
            if solve is None or transposed is None or type(transposed.primitive) is not Transpose:
                return None
            adjoint = TriangularSolve(True, conjugate_transpose=True)
            if solve.primitive != adjoint or solve.inputs[0] is not factor:
                return None
            (source,) = transposed.inputs
            columns.append(source)
            side = solve.inputs[1]
            if self.unscaled(side) is not self.unscaled(source):
                pairs[side, source, negative] += 1
        matched = all(pairs[y, x, sign] == count for (x, y, sign), count in list(pairs.items()))
        return columns if matched else None

    def unscaled(self, atom: Atom) -> Atom:
        """A value without the numbers that it is multiplied by."""
        while True:
            eqn = self.made_by.get(atom)
            if eqn is None:
                return atom
            primitive, inputs = eqn.primitive, eqn.inputs
            if primitive is neg or (type(primitive) is Reshape and _is_column(inputs[0], atom)):
                atom = inputs[0]
            elif primitive is mul or primitive is absorbing_product:
                arrays = [a for a in inputs if a.aval.shape]
                if len(arrays) != 1 or arrays[0].aval.shape != eqn.outputs[0].aval.shape:
                    return atom
                (atom,) = arrays
            elif primitive is div and not inputs[1].aval.shape:
                atom = inputs[0]
            else:
                return atom

    def stripped(self, eqn: Eqn, terms: list[tuple[Atom, bool]]) -> bool:
        """Whether terms were triangles: of their sum, the lower one alone is read."""
        factor, g = eqn.inputs
        if len(terms) == 1 and terms[0][0] is g:
            return False
        total: Atom | None = None
        for atom, negative in sorted(terms, key=lambda term: term[1]):
            if total is None:
                total = self.apply(neg, (atom,), eqn) if negative else atom
            else:
                total = self.apply(sub if negative else add, (total, atom), eqn)
        assert total is not None
        self.make(eqn.primitive, (factor, total), eqn)
        return True

    def terms(self, atom: Atom) -> list[tuple[Atom, bool]]:
        """A value as a sum of others, as far as its lower triangle goes; some are subtracted."""
        found = []
        shape = atom.aval.shape
        waiting = [(atom, False)]
        while waiting:
            atom, negative = waiting.pop()
            eqn = self.made_by.get(atom)
            primitive = None if eqn is None or self.reads[atom] > 1 else eqn.primitive
            inputs = () if eqn is None else eqn.inputs
            whole = all(a.aval.shape == shape for a in inputs)
            if primitive is add and whole:
                waiting += [(inputs[0], negative), (inputs[1], negative)]
            elif primitive is sub and whole:
                waiting += [(inputs[0], negative), (inputs[1], not negative)]
            elif primitive is neg:
                waiting.append((inputs[0], not negative))
            elif isinstance(primitive, Triangle) and primitive == Triangle(True, 0):
                waiting.append((inputs[0], negative))
            else:
                found.append((atom, negative))
        return found

    def diagonal(self, atom: Atom) -> Atom | None:
        """The diagonal of a matrix that has nothing else."""
        n = atom.aval.shape[0]
        eqn = self.made_by.get(atom)
        if eqn is None or type(eqn.primitive) is not Reshape:
            return None
        maker = self.made_by.get(eqn.inputs[0])
        if maker is None or type(maker.primitive) is not Embed:
            return None
        embed = maker.primitive
        (source,) = maker.inputs
        fits = embed == Embed((slice(0, n * n, n + 1),), (n * n,)) and source.aval.shape == (n,)
        return source if fits else None


def _is_column(vector: Atom, column: Atom) -> bool:
    """Whether one is a vector and the other has it for its column, or the other way round."""
    shapes = (vector.aval.shape, column.aval.shape)
    return shapes[0] == (*shapes[1], 1) or shapes[1] == (*shapes[0], 1)


def _is_identity(const: Any) -> bool:
    if type(const) is not np.ndarray or const.ndim != 2 or const.shape[0] != const.shape[1]:
        return False
    n = const.shape[0]
    return bool(n >= _FEWEST_ROWS and const[0, 0] == 1 and np.array_equal(const, np.eye(n)))
