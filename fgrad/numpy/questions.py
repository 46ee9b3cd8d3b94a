"""Questions about arrays and other objects: their shapes, their kinds, their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad.array import value
from fgrad.avals import Shape, aval_of
from fgrad.errors import ConcretizationTypeError
from fgrad.numpy._support import ArrayLike, normal_axes, operand
from fgrad.primitives.families import shape_of
from fgrad.source_info import here
from fgrad.tracing import Tracer, concrete, describe_unknown

# ---- shapes ------------------------------------------------------------------------------------


def shape(a: ArrayLike) -> Shape:
    """The sizes of the axes.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.shape([[1, 2, 3]])
    (1, 3)
    """
    return aval_of(operand(a, "shape")).shape


def ndim(a: ArrayLike) -> int:
    """The number of axes.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    int

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.ndim([[1, 2, 3]])
    2
    """
    return len(aval_of(operand(a, "ndim")).shape)


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, or the size of axes.

    Parameters
    ----------
    a : array_like
    axis : int or sequence of int, optional
        None means all axes.

    Returns
    -------
    int

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.size([[1, 2, 3]]), fnp.size([[1, 2, 3]], axis=0)
    (3, 1)
    """
    sizes = aval_of(operand(a, "size")).shape
    count = 1
    for position in normal_axes(axis, len(sizes), "size"):
        count *= sizes[position]
    return count


def iterable(y: Any) -> bool:
    """Whether an object can be iterated over.

    Parameters
    ----------
    y : object

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.iterable(fnp.ones(2)), fnp.iterable(2.0)
    (True, False)
    """
    return bool(y.shape) if isinstance(y, Tracer) else np.iterable(y)


# ---- kinds -------------------------------------------------------------------------------------


def isscalar(element: Any) -> bool:
    """Whether an object is a number, a string or an array without axes.

    Parameters
    ----------
    element : object

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.isscalar(3.0), fnp.isscalar(fnp.ones(())), fnp.isscalar([3.0])
    (True, True, False)
    """
    if isinstance(element, (np.ndarray, Tracer)):
        return not element.shape
    return np.isscalar(element)


def _is_complex_object(x: Any, name: str) -> bool:
    if isinstance(x, (list, tuple)):
        x = operand(x, name)
    return aval_of(x).dtype.kind == "c" if _has_type(x) else np.iscomplexobj(x)


def _has_type(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, Tracer, complex, float, int))


def iscomplexobj(x: Any) -> bool:
    """Whether an array or number has a complex dtype, whatever its imaginary part.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.iscomplexobj(1j), fnp.iscomplexobj(fnp.ones(2))
    (True, False)
    """
    return _is_complex_object(x, "iscomplexobj")


def isrealobj(x: Any) -> bool:
    """Whether an array or number has a dtype that is not complex.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.isrealobj(1j), fnp.isrealobj(fnp.ones(2))
    (False, True)
    """
    return not _is_complex_object(x, "isrealobj")


def common_type(*arrays: ArrayLike) -> Any:
    """The inexact type that arrays promote to; integers count as float64.

    Parameters
    ----------
    *arrays : array_like

    Returns
    -------
    type

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.common_type(fnp.ones(2, "float32"), fnp.arange(2)).__name__
    'float64'
    """
    avals = [aval_of(operand(x, "common_type")) for x in arrays]
    return np.common_type(*[np.empty(0, a.dtype) for a in avals])


def min_scalar_type(a: ArrayLike) -> np.dtype[Any]:
    """The narrowest dtype that can hold a number; for an array, its own.

    Parameters
    ----------
    a : array_like
        A number must be known while tracing.

    Returns
    -------
    dtype

    Raises
    ------
    ConcretizationTypeError
        If the value of the number is unknown while tracing.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.min_scalar_type(300)
    dtype('uint16')
    """
    x = operand(a, "min_scalar_type")
    if shape_of(x):
        return aval_of(x).dtype
    known = concrete(x)
    if known is None:
        raise ConcretizationTypeError(
            f"min_scalar_type: the number is unknown while tracing: {describe_unknown(x)} ({here()}); use "
            "x.dtype"
        )
    return np.min_scalar_type(known)


# ---- printing ----------------------------------------------------------------------------------


def get_printoptions() -> dict[str, Any]:
    """How NumPy prints arrays: ``numpy.get_printoptions``.

    Returns
    -------
    dict
        The options by name.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> "precision" in fnp.get_printoptions()
    True
    """
    return dict(np.get_printoptions())


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Change how NumPy, and so fgrad, prints arrays: ``numpy.set_printoptions``.

    Parameters
    ----------
    *args, **kwargs
        Those of ``numpy.set_printoptions``, such as ``precision`` and ``suppress``.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.set_printoptions(precision=fnp.get_printoptions()["precision"])
    """
    np.set_printoptions(*args, **kwargs)


printoptions = np.printoptions


def _printed(function: Callable[..., str], x: Any, *args: Any, **kwargs: Any) -> str:
    if isinstance(x, Tracer):
        return str(x)
    inside = value(x)
    return function(np.asarray(inside), *args, **kwargs)


def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text that ``repr`` gives for an array in NumPy.

    Parameters
    ----------
    arr : array_like
    max_line_width, precision, suppress_small
        As in ``np.array_repr``.

    Returns
    -------
    str

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.array_repr(fnp.arange(2))
    'array([0, 1])'
    """
    return _printed(np.array_repr, arr, max_line_width, precision, suppress_small)


def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text that ``str`` gives for an array.

    Parameters
    ----------
    a : array_like
    max_line_width, precision, suppress_small
        As in ``np.array_str``.

    Returns
    -------
    str

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.array_str(fnp.arange(2))
    '[0 1]'
    """
    return _printed(np.array_str, a, max_line_width, precision, suppress_small)


def array2string(a: ArrayLike, *args: Any, **kwargs: Any) -> str:
    """The text of an array, in a form of one's own.

    Parameters
    ----------
    a : array_like
    *args, **kwargs
        As in ``np.array2string``.

    Returns
    -------
    str

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.array2string(fnp.arange(3), separator=", ")
    '[0, 1, 2]'
    """
    return _printed(np.array2string, a, *args, **kwargs)
