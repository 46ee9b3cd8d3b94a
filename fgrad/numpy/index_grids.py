"""Arrays of positions: diagonals, triangles, open grids, and flat positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Shape, aval_of
from fgrad.errors import ArgumentError, NonConcreteBooleanIndexError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    operand,
    static_int,
    static_shape,
)
from fgrad.numpy.positions import index_operand
from fgrad.primitives.elementwise import (
    convert,
    floor_divide,
    less,
    maximum,
    minimum,
    remainder,
    select,
)
from fgrad.primitives.families import add, mul, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.shape import iota
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown


def _positions(arrays: Sequence[np.ndarray[Any, Any]]) -> tuple[Array, ...]:
    results = []
    for array in arrays:
        owned = np.array(array, dtypes.canonical(dtypes.INT64), order="C")
        owned.setflags(write=False)
        results.append(wrap(owned))
    return tuple(results)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The positions of the main diagonal of an array with axes of size n.

    Parameters
    ----------
    n : int
    ndim : int
        The number of axes.

    Returns
    -------
    tuple of Array
        One for each axis.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.zeros((2, 2)).at[fnp.diag_indices(2)].set(1.0)
    Array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    size = static_int(n, "diag_indices: n")
    return _positions([np.arange(size)]) * static_int(ndim, "diag_indices: ndim")


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """The positions of the main diagonal of an array, whose axes have one size.

    Parameters
    ----------
    arr : array_like
        With two axes or more.

    Returns
    -------
    tuple of Array

    Raises
    ------
    ShapeError
        If the sizes differ, or there are fewer than two axes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x = fnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> x[fnp.diag_indices_from(x)]
    Array([1., 4.], dtype=float64)
    """
    shape = _shape(arr, "diag_indices_from")
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(
            f"diag_indices_from: arr has shape {shape}; it needs two axes or more, of one size"
        )
    return diag_indices(shape[0], len(shape))


def _shape(x: Any, name: str) -> Shape:
    shape = getattr(x, "shape", None)
    return tuple(shape) if shape is not None else aval_of(operand(x, name)).shape


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The positions on and below a diagonal of a matrix.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int
        The diagonal: 0 is the main one, positive ones are above it.
    m : int, optional
        The number of columns; by default n.

    Returns
    -------
    tuple of Array
        Rows and columns, row by row.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int64), Array([0, 0, 1], dtype=int64))
    """
    rows, columns = _positions(np.tril_indices(*_triangle("tril_indices", n, k, m)))
    return rows, columns


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The positions on and above a diagonal of a matrix.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int
        The diagonal: 0 is the main one, positive ones are above it.
    m : int, optional
        The number of columns; by default n.

    Returns
    -------
    tuple of Array
        Rows and columns, row by row.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.triu_indices(2, k=1)
    (Array([0], dtype=int64), Array([1], dtype=int64))
    """
    rows, columns = _positions(np.triu_indices(*_triangle("triu_indices", n, k, m)))
    return rows, columns


def _triangle(name: str, n: Any, k: Any, m: Any) -> tuple[int, int, int]:
    rows = static_int(n, f"{name}: n")
    columns = rows if m is None else static_int(m, f"{name}: m")
    return rows, static_int(k, f"{name}: k"), columns


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """The positions on and below a diagonal of a given matrix.

    Parameters
    ----------
    arr : array_like
        With two axes.
    k : int
        The diagonal, as in `tril_indices`.

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x = fnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> x[fnp.tril_indices_from(x)]
    Array([1., 3., 4.], dtype=float64)
    """
    return tril_indices(*_matrix_sizes(arr, k, "tril_indices_from"))


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """The positions on and above a diagonal of a given matrix.

    Parameters
    ----------
    arr : array_like
        With two axes.
    k : int
        The diagonal, as in `triu_indices`.

    Returns
    -------
    tuple of Array

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x = fnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> x[fnp.triu_indices_from(x)]
    Array([1., 2., 4.], dtype=float64)
    """
    return triu_indices(*_matrix_sizes(arr, k, "triu_indices_from"))


def _matrix_sizes(arr: Any, k: int, name: str) -> tuple[int, int, int]:
    shape = _shape(arr, name)
    if len(shape) != 2:
        raise ShapeError(f"{name}: arr has shape {shape}; it needs two axes")
    return shape[0], k, shape[1]


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: Any = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """The positions that a function such as `triu` keeps of a matrix.

    Parameters
    ----------
    n : int
        The number of rows and columns.
    mask_func : callable
        Called as ``mask_func(ones, k)`` on a matrix of ones; what it leaves nonzero is kept.
    k : object
        Passed on to the function.
    size : int, optional
        How many positions to return: further ones are cut off, missing ones are 0.

    Returns
    -------
    tuple of Array
        Rows and columns.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.mask_indices(2, fnp.triu)
    (Array([0, 0, 1], dtype=int64), Array([0, 1, 1], dtype=int64))
    """
    count = static_int(n, "mask_indices: n")
    ones = np.ones((count, count), dtypes.canonical(dtypes.INT64))
    ones.setflags(write=False)
    mask = operand(mask_func(wrap(ones), k), "mask_indices", "the result of mask_func")
    known = concrete(mask) if isinstance(mask, Tracer) else mask
    if known is None:
        raise NonConcreteBooleanIndexError(
            f"mask_indices: the mask is unknown while tracing: {describe_unknown(mask)} ({here()}); make k a "
            "static argument"
        )
    rows, columns = np.nonzero(known)
    if size is not None:
        wanted = static_int(size, "mask_indices: size")
        missing = (0, max(0, wanted - len(rows)))
        rows, columns = [np.pad(p[:wanted], missing) for p in (rows, columns)]
    found = _positions([rows, columns])
    return found[0], found[1]


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Positions along each axis, shaped so that together they index an open grid.

    Parameters
    ----------
    *args : array_like of int or bool
        With one axis each. Boolean ones must be known, and stand for the positions where they hold.

    Returns
    -------
    tuple of Array

    Raises
    ------
    ShapeError
        If an argument does not have one axis.
    NonConcreteBooleanIndexError
        If a boolean argument is unknown.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> x = fnp.arange(9).reshape(3, 3)
    >>> x[fnp.ix_([0, 2], [1, 2])]
    Array([[1, 2],
           [7, 8]], dtype=int64)
    """
    results = []
    for k, arg in enumerate(args):
        index = operand(arg, "ix_", "an argument")
        own = aval_of(index)
        if len(own.shape) != 1:
            raise ShapeError(f"ix_: argument {k} has shape {own.shape}; each needs one axis")
        if own.dtype.kind == "b":
            known = concrete(index) if isinstance(index, Tracer) else index
            if known is None:
                raise NonConcreteBooleanIndexError(
                    f"ix_: argument {k} is a mask that is unknown while tracing: {describe_unknown(index)} "
                    f"({here()}); give positions"
                )
            (index,) = np.nonzero(known)
            index = operand(_positions([index])[0], "ix_")
        else:
            index = index_operand(arg, "ix_", f"argument {k}")
        size = aval_of(index).size
        shape = [1] * len(args)
        shape[k] = size
        results.append(wrap(reshape(index, tuple(shape))))
    return tuple(results)


def unravel_index(indices: ArrayLike, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """Positions along each axis for positions of the flattened array.

    Parameters
    ----------
    indices : array_like of int
        Negative ones count from the end; ones out of range are clipped.
    shape : int or tuple of int
        The shape of the array.
    order : {"C", "F"}
        Whether the last or the first axis runs fastest in the flattened array.

    Returns
    -------
    tuple of Array
        One for each axis, of the shape of `indices`.

    Raises
    ------
    ArgumentError
        If `order` is another.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [int(i) for i in fnp.unravel_index(5, (2, 3))]
    [1, 2]
    """
    index = index_operand(indices, "unravel_index")
    sizes = static_shape(shape, "unravel_index")
    total = int(np.prod(sizes, dtype=np.int64))
    wide = dtypes.canonical(dtypes.INT64)
    # The sizes need not fit into a small dtype of the positions.
    rest = convert(index, wide, aval_of(index).weak)
    rest = select(less(rest, 0), add(rest, total), rest)
    rest = minimum(maximum(rest, 0), max(total - 1, 0))
    _check_order(order, "unravel_index")
    fastest_first = sizes if order == "F" else sizes[::-1]
    found = []
    for size in fastest_first:
        found.append(wrap(remainder(rest, max(size, 1))))
        rest = floor_divide(rest, max(size, 1))
    return tuple(found if order == "F" else found[::-1])


def _check_order(order: Any, name: str) -> None:
    if order not in ("C", "F"):
        raise ArgumentError(f"{name}: order={order!r}; give 'C' or 'F'")


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: Any = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike = None,
) -> Array:
    """Positions of the flattened array for positions along each axis.

    Parameters
    ----------
    multi_index : sequence of array_like of int
        One for each axis, broadcast together.
    dims : sequence of int
        The shape of the array.
    mode : {"raise", "wrap", "clip"}, or a sequence of them
        What happens to a position out of range, negative ones included; one mode for each axis,
        or one for all.
    order : {"C", "F"}
        Which axis varies fastest when flattening: the last, or the first.
    dtype : dtype-like, optional
        The dtype of the result.

    Returns
    -------
    Array

    Raises
    ------
    IndexOutOfRangeError
        If a position is out of range and its mode is "raise", also in compiled functions.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.ravel_multi_index((fnp.array([0, 1]), fnp.array([2, 1])), (2, 3))
    Array([2, 4], dtype=int64)
    """
    name = "ravel_multi_index"
    sizes = static_shape(dims, name)
    indices = [index_operand(i, name, "multi_index") for i in multi_index]
    if len(indices) != len(sizes):
        raise ArgumentError(
            f"{name}: {len(indices)} arrays of positions for {len(sizes)} axes; give one for each"
        )
    _check_order(order, name)
    modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
    if len(modes) != len(sizes) or any([m not in ("raise", "wrap", "clip") for m in modes]):
        raise ArgumentError(
            f"{name}: mode={mode!r}; give 'raise', 'wrap' or 'clip', or one of them for each axis"
        )
    result_dtype = given_dtype(dtype, name) or dtypes.canonical(dtypes.INT64)
    flat: Any = 0
    triples = list(zip(indices, sizes, modes, strict=True))
    for index, size, axis_mode in triples if order == "C" else reversed(triples):
        flat = add(mul(flat, size), _in_bounds(index, size, axis_mode))
    return wrap(convert(flat, result_dtype))  # type: ignore[no-any-return]


def _in_bounds(index: Any, size: int, mode: str) -> Any:
    index = convert(index, dtypes.canonical(dtypes.INT64), aval_of(index).weak)
    if mode == "wrap":
        return remainder(index, max(size, 1))
    if mode == "clip":
        return minimum(maximum(index, 0), max(size - 1, 0))
    # Looking the position up checks it, in compiled functions too; negative ones do not count from
    # the end here.
    return Gather((0,))(iota(size), select(less(index, 0), size, index))
