"""Sparse arrays: the elements that are not zero, and where they are, as trees of arrays under all transforms.

Padding makes their number independent of values: an element whose indices are those of the shape itself is
outside of the array, and counts for nothing.
"""

from __future__ import annotations

import sys as _sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import fgrad.numpy as fnp
from fgrad.array import Array
from fgrad.dtypes import canonical
from fgrad.errors import ArgumentError, ConcretizationTypeError, DTypeError, ShapeError
from fgrad.experimental import sparse_linalg as linalg
from fgrad.numpy._support import ArrayLike, DTypeLike, normal_axes, static_int, static_shape
from fgrad.source_info import guard as _guard
from fgrad.source_info import guard_methods as _guard_methods
from fgrad.tracing import Tracer, concrete
from fgrad.tree_util import register_pytree_node_class

__all__ = [
    "BCOO",
    "BCSR",
    "JAXSparse",
    "bcoo_fromdense",
    "bcoo_multiply_dense",
    "bcoo_reduce_sum",
    "bcoo_sort_indices",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "bcsr_fromdense",
    "bcsr_todense",
    "empty",
    "eye",
    "linalg",
    "todense",
]

Shape = tuple[int, ...]
_SCALARS = (int, float, complex, np.generic)


class JAXSparse:
    """Base of the sparse arrays."""

    #: NumPy leaves the operators to this class.
    __array_ufunc__ = None
    data: Any
    shape: Shape

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """How many axes the array has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements the dense array has."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nse(self) -> int:
        """How many elements are specified."""
        return int(self.data.shape[0])

    def todense(self) -> Array:
        """The array with all of its elements."""
        raise NotImplementedError

    def block_until_ready(self) -> Any:
        """The array itself."""
        return self

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        dense = self.data.ndim - 1
        more = f", n_dense={dense}" if dense else ""
        return f"{type(self).__name__}({self.data.dtype}[{sizes}], nse={self.nse}{more})"

    def __hash__(self) -> int:
        raise TypeError(f"a {type(self).__name__} cannot be hashed: its elements are arrays")


def _is_scalar(x: Any) -> bool:
    return isinstance(x, _SCALARS) or (isinstance(x, (np.ndarray, Tracer)) and x.ndim == 0)


def _is_dense(x: Any) -> bool:
    return isinstance(x, (np.ndarray, Tracer, list, tuple))


@register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array by the coordinates of its elements.

    Parameters
    ----------
    args : (data, indices)
        The elements, of shape ``(nse, *dense)``, and their positions, integers of shape ``(nse, n_sparse)``. The
        trailing axes of `data` are dense axes of the array. An element given twice counts twice.
    shape : sequence of int
        The shape of the array: ``n_sparse`` axes, then the dense ones.
    indices_sorted, unique_indices : bool
        Promises about the positions.

    Raises
    ------
    ShapeError, DTypeError
        If the arrays do not fit, or an axis is longer than the dtype of the positions can count.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> from fgrad.experimental import sparse
    >>> m = sparse.BCOO((np.array([2.0, 3.0]), np.array([[0, 1], [1, 0]])), shape=(2, 2))
    >>> m
    BCOO(float64[2, 2], nse=2)
    >>> m @ np.array([1.0, 10.0])
    Array([20.,  3.], dtype=float64)
    >>> fgrad.grad(lambda d: (sparse.BCOO((d, m.indices), shape=m.shape) @ np.ones(2)).sum())(m.data)
    Array([1., 1.], dtype=float64)
    """

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices = (fnp.asarray(a) for a in args)
        self.data, self.indices = data, indices
        self.shape = static_shape(tuple(shape), "BCOO")
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)
        if indices.dtype.kind not in "iu":
            raise DTypeError(
                f"BCOO: the indices have dtype {indices.dtype}, expected integers; convert them"
            )
        fits = indices.ndim == 2 and data.ndim >= 1 and data.shape[0] == indices.shape[0]
        if not fits or indices.shape[1] + data.ndim - 1 != len(self.shape):
            raise ShapeError(
                f"BCOO: data of shape {data.shape} and indices of shape {indices.shape} for shape {self.shape}; "
                "expected (nse, *dense) and (nse, n_sparse), with as many sparse and dense axes as the shape has"
            )
        # Padding has the shape itself for its position.
        longest = max(self.shape[: indices.shape[1]], default=0)
        if longest > np.iinfo(indices.dtype).max:
            raise ShapeError(
                f"BCOO: shape {self.shape} has an axis of size {longest}, more than indices of dtype {indices.dtype} "
                "can count; give wider ones"
            )
        if data.shape[1:] != self.shape[indices.shape[1] :]:
            raise ShapeError(
                f"BCOO: data of shape {data.shape} have dense axes {data.shape[1:]}, those of shape {self.shape} are "
                f"{self.shape[indices.shape[1] :]}"
            )

    def tree_flatten(self) -> tuple[tuple[Any, Any], Any]:
        """Elements and positions; and what is not an array."""
        return (self.data, self.indices), (self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Any) -> BCOO:
        """The array of these parts."""
        made = object.__new__(cls)
        made.shape, made.indices_sorted, made.unique_indices = metadata
        made.data, made.indices = children
        return made

    def _like(self, data: Any) -> BCOO:
        return BCOO(
            (data, self.indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    @property
    def n_sparse(self) -> int:
        """How many axes are sparse."""
        return int(self.indices.shape[1])

    @property
    def n_dense(self) -> int:
        """How many of the last axes are dense."""
        return len(self.shape) - self.n_sparse

    @property
    def n_batch(self) -> int:
        """Zero: examples of ``vmap`` are not an axis of the array."""
        return 0

    @property
    def T(self) -> BCOO:
        """The array with its axes in reverse order."""
        return self.transpose()

    # ---- from and to other forms ----

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """The sparse form of an array.

        Parameters
        ----------
        mat : array_like
        nse : int, optional
            How many elements to specify: needed where `mat` is traced. Further ones are padding, and of more
            that are not zero the first ones count.
        index_dtype : dtype-like
            Of the positions.
        n_dense : int
            How many of the last axes stay dense.
        n_batch : int
            Zero: use ``vmap``.

        Returns
        -------
        BCOO
            Differentiable with respect to `mat`.

        Raises
        ------
        ConcretizationTypeError
            If `mat` is traced, and `nse` is not given.
        ArgumentError
            If `n_batch` is not zero, or `n_dense` is out of range.
        """
        if n_batch:
            raise ArgumentError("BCOO.fromdense: n_batch must be 0; use vmap over the batch")
        x: Any = fnp.asarray(mat)
        dense = static_int(n_dense, "BCOO.fromdense: n_dense")
        if not 0 <= dense <= x.ndim:
            raise ArgumentError(f"BCOO.fromdense: n_dense is {dense} for an array of {x.ndim} axes")
        split = x.ndim - dense
        mask = fnp.any(x != 0, axis=tuple(range(split, x.ndim))) if dense else x != 0
        if nse is None:
            if isinstance(x, Tracer) and concrete(x) is None:
                raise ConcretizationTypeError(
                    "BCOO.fromdense: the number of elements of a traced array is unknown; give nse"
                )
            nse = int(fnp.count_nonzero(mask))
        count = static_int(nse, "BCOO.fromdense: nse")
        if not split:
            places = fnp.zeros((count, 0), index_dtype)
            return cls((fnp.broadcast_to(x, (count, *x.shape)), places), shape=x.shape)
        found = fnp.nonzero(mask, size=count, fill_value=x.shape[:split])
        data = x.at[found].get(mode="fill", fill_value=0)
        indices = fnp.stack(found, axis=1).astype(index_dtype)
        return cls((data, indices), shape=x.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: DTypeLike = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """The form of a sparse matrix of SciPy.

        Raises
        ------
        ArgumentError
            If it is asked for dense or batch axes.
        """
        if n_dense or n_batch:
            raise ArgumentError("BCOO.from_scipy_sparse: n_dense and n_batch must be 0")
        coordinates = mat.tocoo()
        indices = np.stack([coordinates.row, coordinates.col], axis=1)
        indices = indices.astype(np.int32 if index_dtype is None else index_dtype)
        return cls((coordinates.data, indices), shape=mat.shape)

    def todense(self) -> Array:
        """The array with all of its elements. Differentiable with respect to the elements."""
        if not self.n_sparse:
            return fnp.sum(self.data, axis=0)
        places = tuple(self.indices[:, k] for k in range(self.n_sparse))
        zeros = fnp.zeros(self.shape, self.data.dtype)
        return zeros.at[places].add(self.data, mode="drop")  # type: ignore[attr-defined, no-any-return]

    def astype(self, dtype: DTypeLike) -> BCOO:
        """The array with elements of another dtype."""
        return self._like(self.data.astype(dtype))

    # ---- order and number of elements ----

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with its axes in another order.

        Raises
        ------
        ArgumentError
            If sparse and dense axes would be mixed.
        """
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        order = tuple(a + self.ndim if a < 0 else a for a in order)
        split = self.n_sparse
        if sorted(order) != list(range(self.ndim)) or sorted(order[:split]) != list(range(split)):
            raise ArgumentError(
                f"BCOO.transpose: axes {order} for {split} sparse axes and {self.n_dense} dense ones behind them; give "
                "each axis once, the sparse ones first"
            )
        inner = (0, *[a - split + 1 for a in order[split:]])
        return BCOO(
            (fnp.transpose(self.data, inner), self.indices[:, np.array(order[:split], int)]),
            shape=[self.shape[a] for a in order],
            unique_indices=self.unique_indices,
        )

    def sort_indices(self) -> BCOO:
        """The same array with its elements in the order of their positions."""
        if not self.n_sparse:
            return self
        keys = tuple(self.indices[:, k] for k in reversed(range(self.n_sparse)))
        order = fnp.lexsort(keys)
        return BCOO(
            (self.data[order], self.indices[order]),
            shape=self.shape,
            indices_sorted=True,
            unique_indices=self.unique_indices,
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The same array with each position once.

        Parameters
        ----------
        nse : int, optional
            How many elements to specify: needed where the positions are traced.
        remove_zeros : bool
            Whether elements that are zero are left out too, as padding is.

        Raises
        ------
        ConcretizationTypeError
            If the positions, or the elements with `remove_zeros`, are traced, and `nse` is not given.
        """
        if not self.n_sparse:
            return BCOO((fnp.sum(self.data, axis=0)[None], self.indices[:1]), shape=self.shape)
        bounds = np.array(self.shape[: self.n_sparse])
        outside: Any = fnp.any((self.indices < 0) | (self.indices >= bounds), axis=1)
        if remove_zeros:
            zero = self.data == 0
            outside = outside | (
                fnp.all(zero, axis=tuple(range(1, zero.ndim))) if self.n_dense else zero
            )
        indices = fnp.where(outside[:, None], bounds.astype(self.indices.dtype), self.indices)
        if nse is None:
            known = concrete(indices) if isinstance(indices, Tracer) else indices
            if known is None:
                raise ConcretizationTypeError(
                    "BCOO.sum_duplicates: the number of different positions is unknown while tracing; give nse"
                )
            rows = np.unique(np.asarray(known), axis=0)
            nse = len(rows) - int((rows == bounds).all(1).sum())
        # Rows are compared column by column: the number of a position may exceed the dtype of the indices.
        order = fnp.lexsort(tuple(indices[:, k] for k in reversed(range(self.n_sparse))))
        rows_in_order = indices[order]
        begins = fnp.any(rows_in_order[1:] != rows_in_order[:-1], axis=1)
        group = fnp.concatenate([fnp.zeros(min(self.nse, 1), int), fnp.cumsum(begins)])
        # What is not among the first `nse` positions is dropped: padding comes last.
        data: Any = fnp.zeros((nse, *self.data.shape[1:]), self.data.dtype)
        data = data.at[group].add(self.data[order], mode="drop")
        places: Any = fnp.broadcast_to(bounds.astype(self.indices.dtype), (nse, self.n_sparse))
        places = places.at[group].set(rows_in_order, mode="drop")
        return BCOO(
            (data, places),
            shape=self.shape,
            indices_sorted=True,
            unique_indices=True,
        )

    def sum(self, axis: int | Sequence[int] | None = None) -> Any:
        """The sum over axes: a sparse array, or a number if no axis is left."""
        given = tuple(axis) if isinstance(axis, (tuple, list)) else axis
        axes = normal_axes(given, self.ndim, "BCOO.sum")
        result = bcoo_reduce_sum(self, axes=axes)
        return result if result.ndim else result.todense()

    def reshape(self, *shape: Any) -> BCOO:
        """The array in another shape of its sparse axes.

        Raises
        ------
        ShapeError
            If the shape has another number of elements, more than integers of the default width can count, or
            an axis that is longer than the dtype of the positions can count.
        """
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        wanted = list(given)
        if wanted.count(-1) == 1:
            known = int(np.prod([n for n in wanted if n != -1], dtype=np.int64))
            wanted[wanted.index(-1)] = self.size // known if known else 0
        sizes = static_shape(tuple(wanted), "BCOO.reshape")
        if self.n_dense or int(np.prod(sizes, dtype=np.int64)) != self.size or not self.n_sparse:
            raise ShapeError(
                f"BCOO.reshape: an array of shape {self.shape} with {self.n_dense} dense axes cannot become {sizes}"
            )
        widest = canonical(np.dtype(np.int64))
        if self.size > np.iinfo(widest).max:
            raise ShapeError(
                f"BCOO.reshape: an array of shape {self.shape} has {self.size} elements, more than {widest} can count; "
                "set the flag enable_x64"
            )
        bounds = np.array(self.shape)
        inside = fnp.all((self.indices >= 0) & (self.indices < bounds), axis=1)
        places = tuple(fnp.where(inside, self.indices[:, k], 0) for k in range(self.n_sparse))
        linear = fnp.ravel_multi_index(places, self.shape, mode="clip")
        indices = fnp.stack(fnp.unravel_index(linear, sizes), axis=1)
        indices = fnp.where(inside[:, None], indices, np.array(sizes))
        return BCOO((self.data, indices.astype(self.indices.dtype)), shape=sizes)

    # ---- arithmetic ----

    def __neg__(self) -> BCOO:
        return self._like(-self.data)

    def __mul__(self, other: Any) -> Any:
        if _is_scalar(other):
            return self._like(self.data * other)
        if isinstance(other, BCOO):
            other = other.todense()
        return self._times_dense(other) if _is_dense(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._like(self.data / other) if _is_scalar(other) else NotImplemented

    def _times_dense(self, other: Any) -> BCOO:
        dense = fnp.broadcast_to(fnp.asarray(other), self.shape)
        if not self.n_sparse:
            return self._like(self.data * dense)
        places = tuple(self.indices[:, k] for k in range(self.n_sparse))
        return self._like(self.data * dense.at[places].get(mode="fill", fill_value=0))  # type: ignore[attr-defined]

    def __add__(self, other: Any) -> Any:
        if isinstance(other, BCOO):
            if other.shape != self.shape or other.n_sparse != self.n_sparse:
                raise ShapeError(
                    f"BCOO: sums of shapes {self.shape} and {other.shape}, with {self.n_sparse} and "
                    f"{other.n_sparse} sparse axes; give arrays of one form"
                )
            return BCOO(
                (
                    fnp.concatenate([self.data, other.data]),
                    fnp.concatenate([self.indices, other.indices.astype(self.indices.dtype)]),
                ),
                shape=self.shape,
            )
        return self.todense() + other if _is_dense(other) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, BCOO) or _is_dense(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return other - self.todense() if _is_dense(other) else NotImplemented

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, BCOO):
            return _sparse_product(self, other)
        return _product(self, fnp.asarray(other)) if _is_dense(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        if not _is_dense(other):
            return NotImplemented
        dense = fnp.asarray(other)
        if dense.ndim > 2:
            raise ShapeError(
                f"BCOO: an array of shape {dense.shape} times a sparse one; give one or two axes, and use vmap"
            )
        product = _product(self.T, dense.T)
        return product.T


def _check_matrix(mat: BCOO, what: str) -> None:
    if mat.n_dense or mat.ndim not in (1, 2):
        raise ShapeError(
            f"BCOO: {what} of shape {mat.shape} with {mat.n_dense} dense axes; products take vectors and matrices "
            "without dense axes"
        )


def _product(mat: BCOO, dense: Any) -> Any:
    """A sparse vector or matrix times a dense one."""
    _check_matrix(mat, "a factor")
    if dense.ndim not in (1, 2) or dense.shape[0] != mat.shape[-1]:
        raise ShapeError(
            f"BCOO: a product of shapes {mat.shape} and {dense.shape}; the last axis of the first and the first of the "
            "second must have one size"
        )
    rows = dense.at[mat.indices[:, -1]].get(mode="fill", fill_value=0)
    data = mat.data.reshape(mat.nse, *(1,) * (dense.ndim - 1))
    terms = data * rows
    if mat.ndim == 1:
        return fnp.sum(terms, axis=0)
    zeros = fnp.zeros((mat.shape[0], *dense.shape[1:]), terms.dtype)
    return zeros.at[mat.indices[:, 0]].add(terms, mode="drop")  # type: ignore[attr-defined]


def _sparse_product(left: BCOO, right: BCOO) -> Any:
    """The product of two sparse arrays, with an element for each pair of theirs that meets."""
    _check_matrix(left, "a factor")
    _check_matrix(right, "a factor")
    if left.shape[-1] != right.shape[0]:
        raise ShapeError(f"BCOO: a product of shapes {left.shape} and {right.shape}")
    shape = (*left.shape[:-1], *right.shape[1:])
    inner, outer = left.indices[:, -1:], right.indices[:, 0]
    meets = (inner == outer) & (inner >= 0) & (inner < left.shape[-1])
    data = fnp.where(meets, left.data[:, None] * right.data, 0).ravel()
    pairs = (left.nse, right.nse)
    columns = [
        fnp.broadcast_to(left.indices[:, k][:, None], pairs) for k in range(left.ndim - 1)
    ] + [fnp.broadcast_to(right.indices[:, k], pairs) for k in range(1, right.ndim)]
    if not shape:
        return fnp.sum(data)
    bounds = [fnp.where(meets, c, n).ravel() for c, n in zip(columns, shape, strict=True)]
    indices: Any = fnp.stack(bounds, axis=1).astype(left.indices.dtype)
    product = BCOO((data, indices), shape=shape)
    known = concrete(indices) if isinstance(indices, Tracer) else indices
    return product if known is None else product.sum_duplicates(remove_zeros=False)


@register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse matrix by rows: elements, their columns, and where each row begins.

    Parameters
    ----------
    args : (data, indices, indptr)
        The elements and their columns, of shape ``(nse,)``; and for each row the place of its first element,
        with the end of the last row behind: of shape ``(rows + 1,)``.
    shape : (int, int)
    indices_sorted, unique_indices : bool
        Promises about the columns.

    Raises
    ------
    ShapeError, DTypeError
        If the arrays do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.experimental import sparse
    >>> m = sparse.BCSR.fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> m @ np.array([1.0, 10.0])
    Array([20.,  3.], dtype=float64)
    """

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = (fnp.asarray(a) for a in args)
        self.shape = static_shape(tuple(shape), "BCSR")
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)
        if self.indices.dtype.kind not in "iu" or self.indptr.dtype.kind not in "iu":
            raise DTypeError(
                f"BCSR: indices and indptr have dtypes {self.indices.dtype} and {self.indptr.dtype}; give integers"
            )
        fits = (
            len(self.shape) == 2 and self.data.ndim == 1 and self.data.shape == self.indices.shape
        )
        if not fits or self.indptr.shape != (self.shape[0] + 1,):
            raise ShapeError(
                f"BCSR: data of shape {self.data.shape}, indices of {self.indices.shape} and indptr of "
                f"{self.indptr.shape} for shape {self.shape}; expected (nse,), (nse,) and (rows + 1,)"
            )

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], Any]:
        """The three arrays; and what is not an array."""
        metadata = (self.shape, self.indices_sorted, self.unique_indices)
        return (self.data, self.indices, self.indptr), metadata

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Any) -> BCSR:
        """The matrix of these parts."""
        made = object.__new__(cls)
        made.shape, made.indices_sorted, made.unique_indices = metadata
        made.data, made.indices, made.indptr = children
        return made

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> BCSR:
        """The sparse form of a matrix; see `BCOO.fromdense`."""
        return cls.from_bcoo(BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def from_bcoo(cls, mat: BCOO) -> BCSR:
        """The same matrix by rows.

        Raises
        ------
        ShapeError
            If it is no matrix.
        """
        if mat.ndim != 2 or mat.n_dense:
            raise ShapeError(f"BCSR.from_bcoo: an array of shape {mat.shape}; give a matrix")
        ordered = mat if mat.indices_sorted else mat.sort_indices()
        rows = fnp.arange(mat.shape[0] + 1)
        indptr = fnp.searchsorted(ordered.indices[:, 0], rows.astype(ordered.indices.dtype))
        dtype = ordered.indices.dtype
        return cls(
            (
                ordered.data,
                ordered.indices[:, 1],
                indptr.astype(dtype) if mat.nse <= np.iinfo(dtype).max else indptr,
            ),
            shape=mat.shape,
            indices_sorted=True,
            unique_indices=mat.unique_indices,
        )

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: DTypeLike = None) -> BCSR:
        """The form of a sparse matrix of SciPy."""
        rows = mat.tocsr()
        dtype = np.int32 if index_dtype is None else index_dtype
        return cls(
            (rows.data, rows.indices.astype(dtype), rows.indptr.astype(dtype)), shape=rows.shape
        )

    def to_bcoo(self) -> BCOO:
        """The same matrix by coordinates."""
        places = fnp.arange(self.nse)
        rows = fnp.searchsorted(self.indptr, places, side="right") - 1
        # What lies behind the last row is padding.
        indices = fnp.stack([rows.astype(self.indices.dtype), self.indices], axis=1)
        return BCOO(
            (self.data, indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def todense(self) -> Array:
        """The matrix with all of its elements. Differentiable with respect to the elements."""
        return self.to_bcoo().todense()

    def __matmul__(self, other: Any) -> Any:
        return self.to_bcoo() @ (other.to_bcoo() if isinstance(other, BCSR) else other)

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo()


# ---- functions -----------------------------------------------------------------------------------


def bcoo_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCOO:
    """The sparse form of an array: `BCOO.fromdense`.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.experimental import sparse
    >>> sparse.bcoo_fromdense(np.eye(3))
    BCOO(float64[3, 3], nse=3)
    """
    return BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)


def bcoo_todense(mat: BCOO) -> Array:
    """The array with all of its elements: `BCOO.todense`."""
    return mat.todense()


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its axes in another order: `BCOO.transpose`."""
    return mat.transpose(permutation)


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The array with its elements in the order of their positions: `BCOO.sort_indices`."""
    return mat.sort_indices()


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The array with each position once: `BCOO.sum_duplicates`."""
    return mat.sum_duplicates(nse)


def bcoo_multiply_dense(sp_mat: BCOO, v: ArrayLike) -> Array:
    """The elements of a sparse array, multiplied by those of a dense one at their positions.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.experimental import sparse
    >>> sparse.bcoo_multiply_dense(sparse.eye(2), np.array([[2.0, 3.0], [4.0, 5.0]]))
    Array([2., 5.], dtype=float64)
    """
    return (sp_mat * fnp.asarray(v)).data  # type: ignore[no-any-return]


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum over axes, as a sparse array.

    Parameters
    ----------
    mat : BCOO
    axes : sequence of int

    Returns
    -------
    BCOO
        Differentiable with respect to the elements. Positions may occur more than once.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.experimental import sparse
    >>> sparse.bcoo_reduce_sum(sparse.BCOO.fromdense(np.ones((2, 2))), axes=(0,)).todense()
    Array([2., 2.], dtype=float64)
    """
    over = normal_axes(tuple(axes), mat.ndim, "bcoo_reduce_sum")
    split = mat.n_sparse
    kept = [a for a in range(split) if a not in over]
    inner = tuple(a - split + 1 for a in over if a >= split)
    bounds = np.array(mat.shape[:split])
    data = fnp.sum(mat.data, axis=inner) if inner else mat.data
    if len(kept) < split:
        # Padding may lie inside of the axes that are left.
        inside = fnp.all((mat.indices >= 0) & (mat.indices < bounds), axis=1)
        data = fnp.where(inside.reshape(-1, *(1,) * (data.ndim - 1)), data, 0)
    shape = [n for a, n in enumerate(mat.shape) if a not in over]
    return BCOO((data, mat.indices[:, np.array(kept, int)]), shape=shape)


def bcsr_fromdense(
    mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
) -> BCSR:
    """The sparse form of a matrix, by rows: `BCSR.fromdense`."""
    return BCSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def bcsr_todense(mat: BCSR) -> Array:
    """The matrix with all of its elements: `BCSR.todense`."""
    return mat.todense()


def todense(arr: Any) -> Any:
    """An array with all of its elements, whether it is sparse or not."""
    return arr.todense() if isinstance(arr, JAXSparse) else fnp.asarray(arr)


def empty(
    shape: Sequence[int],
    dtype: DTypeLike = None,
    index_dtype: DTypeLike = np.int32,
    sparse_format: str = "bcoo",
) -> BCOO:
    """A sparse array without elements.

    Raises
    ------
    ArgumentError
        For another format than "bcoo".

    Examples
    --------
    >>> from fgrad.experimental import sparse
    >>> sparse.empty((2, 3))
    BCOO(float64[2, 3], nse=0)
    """
    _only_bcoo("empty", sparse_format)
    sizes = static_shape(tuple(shape), "empty")
    parts = fnp.zeros(0, dtype), fnp.zeros((0, len(sizes)), index_dtype)
    return BCOO(parts, shape=sizes, indices_sorted=True, unique_indices=True)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike = None,
    index_dtype: DTypeLike = np.int32,
    sparse_format: str = "bcoo",
) -> BCOO:
    """A sparse matrix with ones on a diagonal.

    Parameters
    ----------
    N, M : int
        Rows and columns; as many columns as rows by default.
    k : int
        Which diagonal: positive above the main one, negative below.
    dtype, index_dtype : dtype-like
        Of elements and positions.
    sparse_format : "bcoo"

    Returns
    -------
    BCOO

    Raises
    ------
    ArgumentError
        For another format than "bcoo".

    Examples
    --------
    >>> from fgrad.experimental import sparse
    >>> sparse.eye(2).todense()
    Array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    _only_bcoo("eye", sparse_format)
    rows, columns = static_int(N, "eye: N"), static_int(N if M is None else M, "eye: M")
    offset = static_int(k, "eye: k")
    first, end = max(0, -offset), min(rows, columns - offset)
    along = np.arange(first, max(first, end))
    indices = np.stack([along, along + offset], axis=1).astype(index_dtype)
    return BCOO(
        (fnp.ones(len(indices), dtype), indices),
        shape=(rows, columns),
        indices_sorted=True,
        unique_indices=True,
    )


def _only_bcoo(name: str, sparse_format: str) -> None:
    if sparse_format != "bcoo":
        raise ArgumentError(f"{name}: sparse_format is {sparse_format!r}; give 'bcoo'")


# Where JAX has it, a module of this one.
_sys.modules[f"{__name__}.linalg"] = linalg
_guard(_sys.modules[__name__])
_guard_methods(BCOO, BCSR)
