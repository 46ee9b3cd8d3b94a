"""`dot_general`: the one contraction, to which every product of arrays lowers.

Its transposes are two products again. The NumPy lowering permutes axes by views only: BLAS takes a
transposed operand as it lies in memory.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, aval_of
from fgrad.errors import DTypeError, ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise import convert, mul
from fgrad.primitives.families import Bilinear, reshape, shape_of
from fgrad.primitives.promotion import common_dtype
from fgrad.primitives.shape import moveaxis, transpose

Axes = tuple[int, ...]
ndarray = np.ndarray


@parameters
class DotGeneral(Bilinear):
    """Sum of products over paired axes.   a[*b, *m, *k] a[*b, *k, *n] -> a[*b, *m, *n]

    ``contract`` pairs the axes summed over, ``batch`` those that run along in both; both index any axes of
    the operands. The result has the batch axes, then the left's other axes, then the right's.
    """

    left_contract: Axes
    right_contract: Axes
    left_batch: Axes = ()
    right_batch: Axes = ()

    def _free(self, left_rank: int, right_rank: int) -> tuple[Axes, Axes]:
        left_used = {*self.left_contract, *self.left_batch}
        right_used = {*self.right_contract, *self.right_batch}
        return (
            tuple([a for a in range(left_rank) if a not in left_used]),
            tuple([a for a in range(right_rank) if a not in right_used]),
        )

    def abstract_eval(self, left: Aval, right: Aval) -> Aval:  # type: ignore[override]
        pairs = [
            *zip(self.left_contract, self.right_contract, strict=True),
            *zip(self.left_batch, self.right_batch, strict=True),
        ]
        for i, j in pairs:
            if left.shape[i] != right.shape[j]:
                raise ShapeError(
                    f"dot_general: shapes {left.shape} and {right.shape} differ in paired axes: axis {i} of "
                    f"the first has {left.shape[i]}, axis {j} of the second has {right.shape[j]}"
                )
        if left.dtype != right.dtype:
            raise DTypeError(
                f"dot_general: dtypes {left.dtype} and {right.dtype} differ; convert one"
            )
        left_free, right_free = self._free(len(left.shape), len(right.shape))
        shape = (
            *[left.shape[a] for a in self.left_batch],
            *[left.shape[a] for a in left_free],
            *[right.shape[a] for a in right_free],
        )
        return Aval(shape, left.dtype)

    def impl(self, left: Any, right: Any) -> Any:
        if type(left) is not ndarray or type(right) is not ndarray:
            left, right = np.asarray(left), np.asarray(right)
        return contract(
            left, right, self.left_contract, self.right_contract, self.left_batch, self.right_batch
        )

    def transpose_left(self, ct: Any, left: Aval, right: Any) -> Any:
        # ct[batch, left free, right free] . right over its free axes -> [batch, left free, contracted]
        left_free, right_free = self._free(len(left.shape), len(aval_of(right).shape))
        batch, count = len(self.left_batch), len(left_free)
        ct_right = tuple(range(batch + count, batch + count + len(right_free)))
        product = DotGeneral(ct_right, right_free, tuple(range(batch)), self.right_batch)(ct, right)
        # The contracted axes come in the order in which they lie in the right operand.
        order = sorted(range(len(self.right_contract)), key=lambda i: self.right_contract[i])
        axes = [*self.left_batch, *left_free, *[self.left_contract[i] for i in order]]
        return transpose(product, _inverse(axes))

    def transpose_right(self, ct: Any, left: Any, right: Aval) -> Any:
        # left . ct over the left's free axes -> [batch, contracted, right free]
        left_free, right_free = self._free(len(aval_of(left).shape), len(right.shape))
        batch, count = len(self.right_batch), len(left_free)
        ct_left = tuple(range(batch, batch + count))
        product = DotGeneral(left_free, ct_left, self.left_batch, tuple(range(batch)))(left, ct)
        order = sorted(range(len(self.left_contract)), key=lambda i: self.left_contract[i])
        axes = [*self.right_batch, *[self.right_contract[i] for i in order], *right_free]
        return transpose(product, _inverse(axes))

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        left, right = args
        up_left = _shift if mapped[0] else _same
        up_right = _shift if mapped[1] else _same
        left_contract, right_contract = up_left(self.left_contract), up_right(self.right_contract)
        left_batch, right_batch = up_left(self.left_batch), up_right(self.right_batch)
        if mapped[0] and mapped[1]:
            together = DotGeneral(
                left_contract, right_contract, (0, *left_batch), (0, *right_batch)
            )
            return together(left, right), True
        answer = DotGeneral(left_contract, right_contract, left_batch, right_batch)(left, right)
        # The mapped axis is a free axis of its operand: the first one, after the batch axes.
        position = len(self.left_batch)
        if mapped[1]:
            left_free, _ = self._free(len(left.shape), len(right.shape) - 1)
            position += len(left_free)
        return moveaxis(answer, position, 0), True

    def lower(self, emit: Any, *names: str) -> str:
        left, right = names
        simple = self._as_dot(emit, left, right)
        if simple is not None:
            return f"{simple})"
        flat = self._as_flat_dot(emit, left, right)
        if flat is not None:
            return flat
        if not self.left_contract and not self.left_batch:
            outer = all(aval.shape for aval in emit.operands)
            return f"np.multiply{'.outer' if outer else ''}({left}, {right})"
        axes = f"{self.left_contract}, {self.right_contract}, {self.left_batch}, {self.right_batch}"
        return f"{emit.constant(contract, 'contract')}({left}, {right}, {axes})"

    def lower_into(self, emit: Any, target: str, *names: str) -> str | None:
        simple = self._as_dot(emit, *names)
        return None if simple is None else f"{simple}, out={target})"

    def _as_dot(self, emit: Any, left: str, right: str) -> str | None:
        """The call of ``dot`` that a product of vectors and matrices is, not closed yet."""
        ranks = [len(aval.shape) for aval in emit.operands]
        if self.left_batch or len(self.left_contract) != 1 or max(ranks) > 2:
            return None
        # Of a vector, the first axis is the last one.
        first = f"{left}.T" if ranks[0] == 2 and self.left_contract == (0,) else left
        second = f"{right}.T" if self.right_contract == (1,) else right
        return f"{first}.dot({second}"

    def _as_flat_dot(self, emit: Any, left: str, right: str) -> str | None:
        """A small product over neighbouring axes as one of matrices, which spares the look at strides."""
        one, other = emit.operands
        shape = self.abstract_eval(one, other).shape
        if self.left_batch or not self.left_contract or not shape:
            return None
        if one.size + other.size + math.prod(shape) > _SMALL_PRODUCT:
            return None
        first = _flat_text(one, left, self.left_contract, False)
        second = _flat_text(other, right, self.right_contract, True)
        if first is None or second is None:
            return None
        (left_text, rows), (right_text, columns) = first, second
        product = f"{left_text}.dot({right_text})"
        return product if shape == (rows, columns) else f"{product}.reshape({shape})"


#: The primitive of these parameters, made once.
contraction = functools.lru_cache(1024)(DotGeneral)


#: Products of no more elements cost less than finding out how to compute them.
_SMALL_PRODUCT = 1 << 16


def _flat_text(
    aval: Aval, name: str, contract: Axes, contract_first: bool
) -> tuple[str, int] | None:
    """An operand as a matrix of its free and its contracted axes, and how many free elements there are."""
    rank, count = len(aval.shape), len(contract)
    contracted = math.prod([aval.shape[axis] for axis in contract])
    free = math.prod([n for axis, n in enumerate(aval.shape) if axis not in contract])
    leads = contract == tuple(range(count))
    if not leads and contract != tuple(range(rank - count, rank)):
        return None
    shape = (contracted, free) if leads else (free, contracted)
    text = name if aval.shape == shape else f"{name}.reshape{shape}"
    return (text if leads == contract_first else f"{text}.T"), free


def _shift(axes: Axes) -> Axes:
    return tuple([axis + 1 for axis in axes])


def _same(axes: Axes) -> Axes:
    return axes


def _inverse(axes: Sequence[int]) -> list[int]:
    inverse = [0] * len(axes)
    for position, axis in enumerate(axes):
        inverse[axis] = position
    return inverse


def contract(
    left: np.ndarray[Any, Any],
    right: np.ndarray[Any, Any],
    left_contract: Axes,
    right_contract: Axes,
    left_batch: Axes,
    right_batch: Axes,
) -> Any:
    """`DotGeneral` on NumPy arrays: transposed views, grouped axes, one ``dot`` or ``matmul``.

    The answer has memory of its own: a view of another array would be copied on its way out.
    """
    if len(left_contract) == 1 and not left_batch and left.ndim <= 2 and right.ndim <= 2:
        # Of a vector, the first axis is the last one.
        if left_contract[0] == 0 and left.ndim == 2:
            left = left.T
        return np.dot(left, right if right_contract[0] == 0 else right.T)
    left_free = [a for a in range(left.ndim) if a not in left_contract and a not in left_batch]
    right_free = [a for a in range(right.ndim) if a not in right_contract and a not in right_batch]
    m = [left.shape[a] for a in left_free]
    n = [right.shape[a] for a in right_free]
    k = math.prod([left.shape[a] for a in left_contract])
    batch = [left.shape[a] for a in left_batch]
    # Contracted axes may be taken in any common order: the one in which they lie in the left operand
    # lets the usual layouts be grouped without a copy.
    order = sorted(range(len(left_contract)), key=lambda i: left_contract[i])
    contracted_left = [left_contract[i] for i in order]
    contracted_right = [right_contract[i] for i in order]
    if not batch and not left_batch:
        if not left_contract:
            answer = np.multiply.outer(left, right)
            return answer
        if any([x.ndim > 2 and not x.flags.c_contiguous for x in (left, right)]):
            return _contract_apart(
                left, right, left_free, contracted_left, contracted_right, right_free
            )
        first = _grouped(left, left_free, contracted_left, math.prod(m), k)
        second = _grouped(right, contracted_right, right_free, k, math.prod(n))
        if not m and not n:
            return np.dot(first.reshape(k), second.reshape(k))
        answer = np.empty((*m, *n), left.dtype)
        np.dot(first, second, out=answer.reshape((math.prod(m), math.prod(n))))
        return answer
    if not left_contract:
        one = left.transpose((*left_batch, *left_free)).reshape((*batch, *m, *(1,) * len(n)))
        two = right.transpose((*right_batch, *right_free)).reshape((*batch, *(1,) * len(m), *n))
        return np.multiply(one, two)
    one = _stacked(left, left_batch, left_free, contracted_left, batch, math.prod(m), k)
    two = _stacked(right, right_batch, contracted_right, right_free, batch, k, math.prod(n))
    if k == 1 and m and n:
        # One product for each element: matmul takes twice as long.
        answer = np.empty((*batch, *m, *n), left.dtype)
        np.multiply(one, two, out=answer.reshape((*batch, math.prod(m), math.prod(n))))
        return answer
    if not m and not n and left.dtype.kind != "c":
        # vecdot conjugates its first operand, which only complex numbers notice.
        return np.vecdot(one[..., 0, :], two[..., :, 0])
    answer = np.empty((*batch, *m, *n), left.dtype)
    rows, columns = math.prod(m), math.prod(n)
    target = answer.reshape((*batch, rows, columns))
    if left.dtype.char in "fd" and math.prod(batch) >= _MANY_PRODUCTS:
        if rows == 1 and k <= _FEW_TERMS:
            np.einsum("...j,...jk->...k", one[..., 0, :], two, out=target[..., 0, :])
            return answer
        if columns == 1 and k <= _FEW_TERMS:
            np.einsum("...ij,...j->...i", one, two[..., 0], out=target[..., 0])
            return answer
        if 0 < rows * k * columns * left.itemsize <= _TINY_PRODUCT:
            _multiply_side_by_side(one, two, target, (rows, k, columns))
            return answer
    np.matmul(one, two, out=target)
    return answer


#: So many products with vectors, of so few terms, or of such tiny matrices, measured by the bytes of all
#: their terms, take less time than as many calls of BLAS.
_MANY_PRODUCTS, _FEW_TERMS, _TINY_PRODUCT = 512, 5, 108
_SIDE_BY_SIDE = 1024


def _multiply_side_by_side(
    one: np.ndarray[Any, Any],
    two: np.ndarray[Any, Any],
    target: np.ndarray[Any, Any],
    sizes: tuple[int, int, int],
) -> None:
    """Products of many tiny matrices, each element of all of them at once."""
    rows, k, columns = sizes
    first, second = one.reshape(-1, rows * k), two.reshape(-1, k * columns)
    flat = target.reshape(-1, rows * columns)
    for start in range(0, len(flat), _SIDE_BY_SIDE):
        part = slice(start, start + _SIDE_BY_SIDE)
        left = np.array(first[part].T, order="C").reshape(rows, k, 1, -1)
        right = np.array(second[part].T, order="C").reshape(k, columns, -1)
        total = left[:, 0] * right[0]
        for i in range(1, k):
            total += left[:, i] * right[i]
        flat[part] = total.reshape(rows * columns, -1).T


def _contract_apart(
    left: np.ndarray[Any, Any],
    right: np.ndarray[Any, Any],
    left_free: list[int],
    left_contract: list[int],
    right_contract: list[int],
    right_free: list[int],
) -> Any:
    """A product without batch axes of operands whose axes may lie apart, as those of windows do.

    Such an operand is copied in the order in which it lies, and in whichever layout has the longer runs;
    the free axes of the result come in that order, too.
    """
    pairs = list(zip(left_contract, right_contract, strict=True))
    # A pair lies where the larger operand, which is the dearer one to copy, has it.
    larger = (left, 0) if left.size >= right.size else (right, 1)
    pairs.sort(key=lambda pair: -larger[0].strides[pair[larger[1]]])
    rows = sorted(left_free, key=lambda axis: -left.strides[axis])
    columns = sorted(right_free, key=lambda axis: -right.strides[axis])
    first = _as_matrix(left, rows, [i for i, _ in pairs])
    second = _as_matrix(right, columns, [j for _, j in pairs])
    answer = np.empty(
        [x.shape[a] for x, axes in ((left, rows), (right, columns)) for a in axes], left.dtype
    )
    np.dot(first, second.T, out=answer.reshape((len(first), len(second))))
    if rows == left_free and columns == right_free:
        return answer
    now = [rows.index(a) for a in left_free] + [len(rows) + columns.index(a) for a in right_free]
    return answer.transpose(now)


def _as_matrix(x: np.ndarray[Any, Any], rows: list[int], columns: list[int]) -> Any:
    """A matrix of `x`, in either order of its memory; axes come as they lie."""
    m, n = (math.prod([x.shape[a] for a in axes]) for axes in (rows, columns))
    if _run(x, (*rows, *columns)) >= _run(x, (*columns, *rows)):
        return x.transpose((*rows, *columns)).reshape((m, n))
    return x.transpose((*columns, *rows)).reshape((n, m)).T


def _run(x: np.ndarray[Any, Any], axes: Sequence[int]) -> int:
    """How many elements a copy in this order of axes moves in one loop."""
    length, reach = 1, 0
    for axis in reversed(axes):
        if x.shape[axis] == 1:
            continue
        if length > 1 and x.strides[axis] != reach:
            break
        length *= x.shape[axis]
        reach = x.strides[axis] * x.shape[axis]
    return length


def _grouped(
    x: np.ndarray[Any, Any], rows: Sequence[int], columns: Sequence[int], m: int, n: int
) -> Any:
    """A matrix view of `x`; axes that lie apart in memory are the one case that copies."""
    return x.transpose((*rows, *columns)).reshape((m, n))


def _stacked(
    x: np.ndarray[Any, Any],
    batch: Sequence[int],
    rows: Sequence[int],
    columns: Sequence[int],
    sizes: list[int],
    m: int,
    n: int,
) -> Any:
    return x.transpose((*batch, *rows, *columns)).reshape((*sizes, m, n))


# ---- products in terms of dot_general ------------------------------------------------------------


def promoted(name: str, *xs: Any) -> Sequence[Any]:
    """Operands of a product in their common dtype."""
    first = xs[0]
    if type(first) is ndarray:
        dtype = first.dtype
        for x in xs:
            if type(x) is not ndarray or x.dtype != dtype:
                break
        else:
            return xs
    avals = [aval_of(x) for x in xs]
    dtype = common_dtype(avals)
    return [
        convert(x, dtype) if aval.shape or not aval.weak else x
        for x, aval in zip(xs, avals, strict=True)
    ]


def dot_general(
    left: Any,
    right: Any,
    left_contract: Axes,
    right_contract: Axes,
    left_batch: Axes = (),
    right_batch: Axes = (),
) -> Any:
    """Contract two values of any dtypes."""
    left, right = promoted("dot_general", left, right)
    return contraction(left_contract, right_contract, left_batch, right_batch)(left, right)


def matmul(x: Any, y: Any) -> Any:
    """``x @ y`` with NumPy's rules for vectors and for batches that broadcast."""
    a, b = shape_of(x), shape_of(y)
    if not a or not b:
        raise ShapeError(
            f"matmul: operands have shapes {a} and {b}, but a scalar has no product with @; use * instead"
        )
    rows = b[-2] if len(b) > 1 else b[0]
    if a[-1] != rows:
        raise ShapeError(
            f"matmul: shapes {a} and {b} do not fit: the first has {a[-1]} columns, the second {rows} rows"
        )
    if type(x) is not ndarray or type(y) is not ndarray or x.dtype != y.dtype:
        x, y = promoted("matmul", x, y)
    if len(b) <= 2:
        return _of_vectors_and_matrices(len(a), len(b))(x, y)
    if len(a) == 1:
        return contraction((0,), (len(b) - 2,))(x, y)
    batch_x, batch_y = a[:-2], b[:-2]
    try:
        np.broadcast_shapes(batch_x, batch_y)
    except ValueError:
        raise ShapeError(
            f"matmul: shapes {a} and {b} do not fit: their leading axes {batch_x} and {batch_y} "
            "cannot be broadcast together"
        ) from None
    return _batched_matmul(x, y, batch_x, batch_y)


def matmul_of_arrays(x: Any, y: Any) -> Any:
    """What `matmul` gives for arrays of known numbers."""
    if 0 < x.ndim <= 2 and 0 < y.ndim <= 2:
        # NumPy's functions of these names take twice as long to be called.
        return x.dot(y)
    return np.matmul(x, y)


def dot_of_arrays(x: Any, y: Any) -> Any:
    """What `dot` gives for arrays of known numbers.

    Of Python numbers NumPy's `dot` takes the dtype, and of products with one number the sign of zero.
    """
    if type(x) is not ndarray or type(y) is not ndarray or not (x.ndim and y.ndim):
        raise TypeError("not two arrays with axes")
    return x.dot(y)


@functools.lru_cache(64)
def _of_vectors_and_matrices(left_rank: int, right_rank: int) -> DotGeneral:
    """The last axis of the left operand against the rows of the right one."""
    return contraction((left_rank - 1,), (max(right_rank - 2, 0),))


def _batched_matmul(x: Any, y: Any, batch_x: Axes, batch_y: Axes) -> Any:
    """Pair the leading axes that both have; those that one lacks, or has with size one, are free axes."""
    rank = max(len(batch_x), len(batch_y))
    full_x = (1,) * (rank - len(batch_x)) + batch_x
    full_y = (1,) * (rank - len(batch_y)) + batch_y
    keep_x = [i for i in range(rank) if full_x[i] != 1 or full_y[i] == 1]
    keep_y = [i for i in range(rank) if full_y[i] != 1]
    shape_x, shape_y = aval_of(x).shape, aval_of(y).shape
    x = reshape(x, (*[full_x[i] for i in keep_x], *shape_x[-2:]))
    y = reshape(y, (*[full_y[i] for i in keep_y], *shape_y[-2:]))
    shared = [i for i in keep_x if i in keep_y]
    left_batch = tuple([keep_x.index(i) for i in shared])
    right_batch = tuple([keep_y.index(i) for i in shared])
    product = DotGeneral((len(keep_x) + 1,), (len(keep_y),), left_batch, right_batch)(x, y)
    only_x = [i for i in keep_x if i not in shared]
    only_y = [i for i in keep_y if i not in shared]
    # The result lies as shared, only_x, rows, only_y, columns.
    now: list[Any] = [*shared, *only_x, "rows", *only_y, "columns"]
    wanted: list[Any] = [*range(rank), "rows", "columns"]
    return transpose(product, [now.index(axis) for axis in wanted])


def dot(x: Any, y: Any) -> Any:
    """NumPy's ``dot``: scalars multiply, otherwise the last axis of x meets the second to last of y."""
    a, b = shape_of(x), shape_of(y)
    if not a or not b:
        return mul(x, y)
    axis = max(len(b) - 2, 0)
    if a[-1] != b[axis]:
        raise ShapeError(
            f"dot: shapes {a} and {b} do not fit: the last axis of the first has {a[-1]}, axis {axis} of the "
            f"second has {b[axis]}"
        )
    if type(x) is not ndarray or type(y) is not ndarray or x.dtype != y.dtype:
        x, y = promoted("dot", x, y)
    return _of_vectors_and_matrices(len(a), len(b))(x, y)


def tensordot(x: Any, y: Any, left: Axes, right: Axes) -> Any:
    """Contract the listed axes pairwise."""
    a, b = aval_of(x), aval_of(y)
    for i, j in zip(left, right, strict=True):
        if a.shape[i] != b.shape[j]:
            raise ShapeError(
                f"tensordot: shapes {a.shape} and {b.shape} do not fit: axis {i} of the first has "
                f"{a.shape[i]}, axis {j} of the second has {b.shape[j]}"
            )
    if not a.shape or not b.shape:
        return mul(x, y)
    return dot_general(x, y, left, right)


def outer(x: Any, y: Any) -> Any:
    """All products of an entry of x with one of y, both flattened."""
    rows, columns = math.prod(shape_of(x)), math.prod(shape_of(y))
    return mul(reshape(x, (rows, 1)), reshape(y, (1, columns)))
