"""What the functions of matrices share: their family, and the algebra of their rules.

Matrices lie in the last two axes; all axes before them are a batch, as in NumPy. The functions
themselves are in `solve`, `factorizations`, `spectral`, `determinant` and `norms`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, Shape, aval_of
from fgrad.errors import MissingRuleError
from fgrad.parameters import parameters
from fgrad.primitives.contraction import matmul
from fgrad.primitives.elementwise import conj, imag, mul, real, sub
from fgrad.primitives.families import General, Linear, add, match_aval, reshape
from fgrad.primitives.shape import Embed, Eye, static_index, transpose
from fgrad.source_info import function_name
from fgrad.tracing import derivative_rules

__all__ = ["matmul"]


class MatrixFunction(General, abstract=True):
    """A function of matrices, with its rules as textbooks write them.

    `tangent` pushes directions forward. `gradient` pulls gradients back under the inner product
    ``real(sum(conj(g) * t))``; cotangents pair without conjugation, so that the family conjugates
    what goes in and what comes out. Either works on lists where there are multiple results, and a
    gradient of None is zero.
    """

    rules = ("tangent", "gradient", "reads")

    def tangent(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The tangent of the answer, or a list of them."""
        raise MissingRuleError(f"{self.name} has no tangent rule")

    def gradient(self, g: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        """The gradients towards the arguments for which `needs` is true."""
        raise MissingRuleError(f"{self.name} has no gradient rule")

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        several = self.multiple_results
        if all(t is None for t in tangents):
            return [None] * len(answer) if several else None
        with derivative_rules():
            found = self.tangent(answer, primals, tangents)
            if not several:
                return None if found is None else match_aval(found, aval_of(answer))
            return [
                None if t is None else match_aval(t, aval_of(a))
                for t, a in zip(found, answer, strict=True)
            ]

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        g = [conjugate(c) for c in ct] if self.multiple_results else conjugate(ct)
        found = self.gradient(g, needs, answer, *args)
        return [
            None if x is None else match_aval(conjugate(x), aval_of(arg))
            for x, arg in zip(found, args, strict=True)
        ]

    def pull(self, needs: Sequence[bool], args: Sequence[Any]) -> tuple[Any, Any]:
        answer = self(*args)
        return answer, MatrixPullback(self, needs, answer, args)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        answer = tolerant(self)(*aligned(args, mapped))
        return answer, [True] * len(answer) if self.multiple_results else True


class Decomposition(MatrixFunction, abstract=True):
    """A matrix function with multiple results."""

    multiple_results = True
    keeps_residuals = True


class DecompositionPart(General, abstract=True):
    """A result of a decomposition that is cheaper alone.

    Its derivatives need the others, and the decomposition that gives them gives it too: reverse and
    forward mode run that instead.
    """

    rules = ("abstract_eval", "push", "pull")
    keeps_residuals = True

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return tolerant(self)(args[0]), True


class MatrixPullback:
    """The vjp rule of a matrix function with the values that it reads."""

    def __init__(
        self, primitive: MatrixFunction, needs: Sequence[bool], answer: Any, args: Sequence[Any]
    ) -> None:
        self.primitive = primitive
        self.needs = needs
        answers = answer if primitive.multiple_results else [answer]
        self.active = [dtypes.is_inexact(aval_of(x).dtype) for x in answers]
        reads_answer, reads_args = primitive.reads(needs)
        self.residuals = [x if reads_answer else aval_of(x) for x in answers]
        self.residuals += [
            x if read else aval_of(x) for x, read in zip(args, reads_args, strict=True)
        ]

    def __call__(self, cts: Sequence[Any]) -> Sequence[Any]:
        count = len(self.active)
        answers, args = self.residuals[:count], self.residuals[count:]
        if self.primitive.multiple_results:
            return self.primitive.vjp(cts, self.needs, answers, *args)
        return self.primitive.vjp(cts[0], self.needs, answers[0], *args)


def aligned(args: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """Operands whose leading axes broadcast: size-one axes go behind mapped ones where needed."""
    ranks = [len(aval_of(x).shape) - m for x, m in zip(args, mapped, strict=True)]
    rank = max(ranks)
    return [
        reshape(x, (x.shape[0], *(1,) * (rank - own), *x.shape[1:])) if m and own < rank else x
        for x, m, own in zip(args, mapped, ranks, strict=True)
    ]


# ---- matrices without an answer ------------------------------------------------------------------


def tolerant(primitive: Any) -> Any:
    """The same function, giving NaN for a matrix for which NumPy raises LinAlgError.

    Under `vmap` an example may be one whose result is not used: it must not stop the others.
    """
    return (
        dataclasses.replace(primitive, strict=False) if hasattr(primitive, "strict") else primitive
    )


def apart(function: Callable[..., Any], strict: bool, avals: Sequence[Aval], *values: Any) -> Any:
    """The results of `function`, of types `avals`, for batches of matrices.

    Unless `strict`, those of a matrix for which it raises LinAlgError are NaN. Halving finds such
    matrices: the rest is still computed in large batches.
    """
    try:
        return function(*values)
    except np.linalg.LinAlgError as error:
        if strict:
            name = function_name(function)
            raise no_answer(name, values[0].shape, str(error)) from None
    lead = np.broadcast_shapes(*[v.shape[:-2] for v in values])
    count = math.prod(lead)
    lanes = [
        np.broadcast_to(v, (*lead, *v.shape[-2:])).reshape(count, *v.shape[-2:]) for v in values
    ]
    shapes = [(count, *aval.shape[len(lead) :]) for aval in avals]
    results = [np.full(s, _nan(a.dtype), a.dtype) for s, a in zip(shapes, avals, strict=True)]
    pending = [(0, count // 2), (count // 2, count)]
    while pending:
        start, stop = pending.pop()
        if start == stop:
            continue
        try:
            found = function(*[v[start:stop] for v in lanes])
        except np.linalg.LinAlgError:
            if stop - start > 1:
                middle = (start + stop) // 2
                pending += [(start, middle), (middle, stop)]
            continue
        for result, part in zip(results, found if len(avals) > 1 else [found], strict=True):
            result[start:stop] = part
    shaped = [r.reshape(aval.shape) for r, aval in zip(results, avals, strict=True)]
    return shaped if len(avals) > 1 else shaped[0]


def no_answer(name: str, shape: tuple[int, ...], why: str) -> np.linalg.LinAlgError:
    """The error for a matrix of which a function has no value."""
    which = f"{'the matrix' if len(shape) == 2 else 'a matrix of the stack'} of shape {shape}"
    if why == "Singular matrix":
        return np.linalg.LinAlgError(
            f"{name}: {which} is singular; where rounding or nearly dependent rows made it so, add a small multiple of "
            "the identity, as in a + 1e-8 * fnp.eye(a.shape[-1]), or use pinv or lstsq"
        )
    return np.linalg.LinAlgError(f"{name}: {why}, for {which}; NaN or infinite elements may be why")


def _nan(dtype: np.dtype[Any]) -> complex:
    return complex(np.nan, np.nan) if dtype.kind == "c" else np.nan


# ---- algebra -------------------------------------------------------------------------------------


def is_complex(x: Any) -> bool:
    return aval_of(x).dtype.kind == "c"


def conjugate(x: Any) -> Any:
    """The complex conjugate of a value; None and real values as they are."""
    return conj(x) if x is not None and is_complex(x) else x


def real_part(x: Any) -> Any:
    return real(x) if is_complex(x) else x


def imaginary_part(x: Any) -> Any:
    """The imaginary part of complex values."""
    return imag(x)


def swapped(x: Any) -> Any:
    """The transposed matrices."""
    rank = len(x.shape)
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def adjoint(x: Any) -> Any:
    """The conjugate transposed matrices."""
    return conjugate(swapped(x))


def product(*factors: Any) -> Any:
    """The product of matrices, multiplied in the order that needs the fewest operations."""
    count = len(factors)
    if count == 2:
        return matmul(*factors)
    sizes = [x.shape[-2] for x in factors] + [factors[-1].shape[-1]]
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i + 1): (0, 0) for i in range(count)}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length
            cost[i, j] = min(
                (cost[i, k][0] + cost[k, j][0] + sizes[i] * sizes[k] * sizes[j], k)
                for k in range(i + 1, j)
            )

    def part(i: int, j: int) -> Any:
        if j == i + 1:
            return factors[i]
        split = cost[i, j][1]
        return matmul(part(i, split), part(split, j))

    return part(0, count)


def total(*terms: Any) -> Any:
    """The sum of terms, where None is zero."""
    result = None
    for term in terms:
        if term is not None:
            result = term if result is None else add(result, term)
    return result


def hermitian(x: Any) -> Any:
    """The Hermitian part of matrices."""
    return mul(0.5, add(x, adjoint(x)))


def skew(x: Any) -> Any:
    """The skew-Hermitian part of matrices."""
    return mul(0.5, sub(x, adjoint(x)))


def numpy_hermitian(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`hermitian` of an array."""
    other = np.swapaxes(x, -1, -2)
    return (x + (np.conjugate(other) if x.dtype.kind == "c" else other)) * 0.5  # type: ignore[no-any-return]


def hermitian_source(emit: Any, x: str) -> str:
    """The NumPy expression for `numpy_hermitian` of the operand being lowered."""
    other = f"np.swapaxes({x}, -1, -2)"
    if emit.operands[0].dtype.kind == "c":
        other = f"np.conjugate({other})"
    return f"({x} + {other}) * 0.5"


def rows(x: Any) -> Any:
    """A vector, for each matrix, that multiplies the rows."""
    return reshape(x, (*x.shape, 1))


def columns(x: Any) -> Any:
    """A vector, for each matrix, that multiplies the columns."""
    return reshape(x, (*x.shape[:-1], 1, x.shape[-1]))


def diagonal(x: Any) -> Any:
    """The main diagonals of square matrices."""
    *lead, n, _ = x.shape
    flat = reshape(x, (*lead, n * n))
    return static_index(flat, (*(slice(None),) * len(lead), slice(None, None, n + 1)))


def diagonal_matrix(x: Any) -> Any:
    """Square matrices with these main diagonals, and zeros elsewhere."""
    *lead, n = x.shape
    index = (*(slice(0, size, 1) for size in lead), slice(0, n * n, n + 1))
    return reshape(Embed(index, (*lead, n * n))(x), (*lead, n, n))


def identity(n: int, dtype: np.dtype[Any]) -> Any:
    return Eye(n, n, 0, dtype)()


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real and imaginary parts."""
    return np.zeros((), dtype).real.dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(dtype, np.complex64)


def leading(shape: Shape) -> Shape:
    """The batch axes of a shape of matrices."""
    return shape[:-2]


@parameters
class Triangle(Linear):
    """One triangle, up to the diagonal of number `offset`.   a[*b, m, n] -> a[*b, m, n]"""

    lower_half: bool
    offset: int = 0
    linear_operands: ClassVar[int | None] = 1

    @property
    def name(self) -> str:
        return "lower_triangle" if self.lower_half else "upper_triangle"

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x.strong()

    def impl(self, x: Any) -> Any:
        return np.tril(x, self.offset) if self.lower_half else np.triu(x, self.offset)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (self(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return f"np.{'tril' if self.lower_half else 'triu'}({names[0]}, {self.offset})"


def tril(x: Any, offset: int = 0) -> Any:
    """The lower triangles of matrices."""
    return Triangle(True, offset)(x)


def triu(x: Any, offset: int = 0) -> Any:
    """The upper triangles of matrices."""
    return Triangle(False, offset)(x)


def hermitian_from_triangle(x: Any, lower_half: bool) -> Any:
    """The Hermitian matrices that have this triangle, and the real part of this diagonal."""
    half = tril(x, -1) if lower_half else triu(x, 1)
    return total(half, adjoint(half), diagonal_matrix(real_part(diagonal(x))))
