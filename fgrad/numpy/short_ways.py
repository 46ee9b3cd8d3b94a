"""Functions whose answers for arrays that are not traced NumPy's functions of the same names give, bit for bit.

A call with nothing but such arrays and plain arguments runs NumPy's function and nothing else. Other calls,
and errors, which are to be said in the user's words, take the way through the primitives. Functions of one
or two arrays that programs call most are shorter still: `_direct` has those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from operator import attrgetter
from typing import Any

import numpy as np

from fgrad.array import Array, frozen, wrap, wrap_view
from fgrad.config import switches
from fgrad.numpy import uniques
from fgrad.numpy.linalg import decompositions, measures
from fgrad.tracing import innermost_body

ShortWay = Callable[[tuple[Any, ...], dict[str, Any]], Any]

_NUMPY: Any = np
# Dtypes by their characters. Half precision is left out: NumPy computes some of its functions in half, and
# others in wider types.
_NUMBERS = "?bhilqBHILQfdFD"
_INTEGERS = "bhilqBHILQ"
# Without unsigned ones that have no common integer type with signed ones.
_REAL = "bhilqBHIfd"
_FLOATS = "fd"
_DOUBLES = "d"
_TRANSFORMED = "dFD"
# Kinds of arguments. NumPy takes floats for counts, and strings for arrays, in places where they are refused.
_NONE = frozenset[Any]()
_INTEGER = frozenset((int, bool, type(None)))
_SIZES = _INTEGER | {tuple}
_LARGEST = 2**62
_WORDS = _INTEGER | {str}
_VALUES = frozenset((int, bool, float))
# What NumPy raises where an argument is at fault, and an Array without a value inside as yet.
_REFUSALS = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError)
# What has several results with names, by the names of NumPy's classes.
_RESULTS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        decompositions.EighResult,
        decompositions.QRResult,
        decompositions.SVDResult,
        measures.SlogdetResult,
        uniques.UniqueAllResult,
        uniques.UniqueCountsResult,
        uniques.UniqueInverseResult,
    )
}

_SCALARS: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}


class _LongWay(Exception):
    """Raised for an argument with which the primitives have to deal."""


def _array(x: Any, dtypes: str) -> Any:
    """What NumPy gets for an array; it takes arrays without axes for arrays with one, and empty ones for any."""
    kind = type(x)
    if kind is Array:
        inside = x._value
        if type(inside) is not np.ndarray:
            raise _LongWay
    elif kind is np.ndarray:
        # What shares memory with an array of the caller is told by its base.
        inside = x.view()
        inside.setflags(False)
        if not inside.dtype.isnative:
            raise _LongWay
    else:
        raise _LongWay
    if inside.ndim and inside.size and inside.dtype.char in dtypes:
        return inside
    raise _LongWay


def _arrays(x: Any, dtypes: str) -> Any:
    """Several arrays in one argument."""
    if type(x) is list or type(x) is tuple:
        return [_array(item, dtypes) for item in x]
    raise _LongWay


def _list(x: Any, dtypes: str) -> Any:
    """The same for functions that take lists only."""
    if type(x) is list:
        return _arrays(x, dtypes)
    raise _LongWay


def _number(x: Any, _: str) -> Any:
    """A number, where no body is open that an array made of it might belong to."""
    if (type(x) is int or type(x) is float) and innermost_body() is None:
        if -_LARGEST <= x <= _LARGEST:
            return x
    raise _LongWay


def _count(x: Any, _: str) -> Any:
    """The same for a number of elements."""
    if type(x) is int and 0 <= x <= _LARGEST and innermost_body() is None:
        return x
    raise _LongWay


def _answer(result: Any) -> Any:
    kind = type(result)
    if kind is np.ndarray:
        if result.dtype.char not in _NUMBERS:
            raise _LongWay
        if not result.flags.writeable:
            return wrap(result)
        # What NumPy gets cannot be written to: this is no view of it, and nobody else has its memory.
        base = result.base
        while type(base) is np.ndarray:
            frozen(base)
            base = base.base
        return wrap_view(result)
    if kind is list or kind is tuple:
        return kind(map(_answer, result))
    if isinstance(result, tuple):
        return _RESULTS[kind.__name__](*map(_answer, result))
    return wrap(_SCALARS[kind](result) if kind in _SCALARS else result)


def _short_way(
    function: Callable[..., Any],
    plain: frozenset[Any],
    others: bool = False,
    operands: int = 1,
    first: Callable[[Any, str], Any] = _array,
    dtypes: str = _NUMBERS,
) -> ShortWay:
    """`function` of a `first` argument and of `plain` kinds of others, or also of `others` that are arrays.

    As many arguments as there are `operands` are arrays.
    """

    def argument(x: Any) -> Any:
        kind = type(x)
        if (kind is Array or kind is np.ndarray) and others:
            return _array(x, dtypes)
        if kind in plain and (kind is not tuple or _INTEGER.issuperset(map(type, x))):
            if kind is int and not -_LARGEST <= x <= _LARGEST:
                raise _LongWay
            return x
        if not others:
            raise _LongWay
        return _arrays(x, dtypes) if kind is list else _array(x, dtypes)

    def short_way(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if switches.unchanged and args:
            try:
                given = first(args[0], dtypes)
                if len(args) == operands == 1 and not kwargs:
                    return _answer(function(given))
                arrays = [given]
                if operands == 2:
                    second = _arrays if type(args[1]) is list else _array
                    arrays.append(second(args[1], dtypes))
                kwargs = {name: argument(x) for name, x in kwargs.items()}
                return _answer(function(*arrays, *map(argument, args[operands:]), **kwargs))
            except (*_REFUSALS, _LongWay):
                pass
        return None

    return short_way


# ---- where NumPy's functions take or give more than ours ----------------------------------------


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives a list where NumPy's gives a tuple."""

    def listed(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return list(result) if type(result) is tuple else result

    return listed


def _of_vectors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays with one axis only."""

    def of_vectors(*args: Any, **kwargs: Any) -> Any:
        if all(type(x) is not np.ndarray or x.ndim == 1 for x in args):
            return function(*args, **kwargs)
        raise _LongWay

    return of_vectors


def _ordinary(function: Callable[..., Any]) -> Callable[..., Any]:
    """An order statistic, but for zeros, whose signs NumPy loses, and infinities, between which it gives NaN."""

    def ordinary(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if type(result) is np.float64:
            if result and isfinite(result):
                return result
        elif result.all() and np.isfinite(result).all():
            return result
        raise _LongWay

    return ordinary


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction without a mask or a first value."""

    def reduction(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return function(a, axis=axis, keepdims=keepdims)

    return reduction


def _of_some(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of what is not NaN; where nothing is, NumPy's warn."""

    def of_some(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if np.isnan(a).all(axis).any():
            raise _LongWay
        return function(a, axis=axis, keepdims=keepdims)

    return of_some


def _elementwise(ufunc: np.ufunc) -> Callable[..., Any]:
    """A ufunc without arrays to write to."""
    if ufunc.nin == 1:
        return lambda x, /: ufunc(x)
    return lambda x, y, /: ufunc(x, y)


def _cross(a: Any, b: Any) -> Any:
    if a.shape[-1] == b.shape[-1] == 3:
        return np.cross(a, b)
    raise _LongWay


def _meshgrid(*coordinates: Any, **kwargs: Any) -> Any:
    if all(type(x) is np.ndarray and x.ndim == 1 for x in coordinates):
        return list(np.meshgrid(*coordinates, **kwargs))
    raise _LongWay


def _of_symmetric(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices that reads one triangle only."""

    def of_symmetric(a: Any) -> Any:
        if a.ndim == 2 and (a == a.T).all():
            return function(a)
        raise _LongWay

    return of_symmetric


def _covariance(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of so many observations that NumPy does not warn."""

    def covariance(m: Any, y: Any = None, rowvar: bool = True) -> Any:
        if min(m.shape) < 2:
            raise _LongWay
        return function(m, y, rowvar)

    return covariance


def _of_sets(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of sets without zeros of different signs, of which NumPy's functions choose any."""

    def of_sets(*args: Any) -> Any:
        if all(x.dtype.kind != "f" or x.all() for x in args):
            return function(*args)
        raise _LongWay

    return of_sets


def _full_like(a: Any, fill_value: Any) -> Any:
    # NumPy cuts floats to fit into integers.
    if type(fill_value) is float and a.dtype.char not in "fdFD":
        raise _LongWay
    return np.full_like(a, fill_value)


def _multi_dot(arrays: Any) -> Any:
    if all(x.ndim <= 2 for x in arrays):
        return np.linalg.multi_dot(arrays)
    raise _LongWay


def _pad(array: Any, pad_width: Any, mode: str = "constant", **values: Any) -> Any:
    # In other modes NumPy leaves elements open, or has another rounding.
    if mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
        return _NUMPY.pad(array, pad_width, mode, **values)
    raise _LongWay


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return _NUMPY.linalg.svd(a, full_matrices, compute_uv)


def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
) -> Any:
    return _NUMPY.unique(ar, return_index, return_inverse, return_counts, axis)


def _select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    # NumPy cuts other numbers to fit.
    if default:
        raise _LongWay
    return np.select(conditions, choices, default)


def _nan_to_num(x: Any, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return np.nan_to_num(x, True, nan, posinf, neginf)


_OF_ARRAY = """
    argwhere array_split cumulative_prod cumulative_sum delete diag diagflat diagonal flatnonzero fliplr flipud hsplit
    matrix_transpose nanargmax nanargmin nancumprod nancumsum nonzero ones_like packbits ravel rollaxis split swapaxes
    tril tril_indices_from trim_zeros triu triu_indices_from unpackbits unstack vsplit zeros_like
    fft.fftshift fft.ifftshift linalg.det linalg.diagonal linalg.inv linalg.matrix_transpose linalg.qr linalg.slogdet
    linalg.svdvals linalg.tensorinv linalg.trace
""".split()
_OF_ARRAY_AND_SIZES = """
    broadcast_to count_nonzero moveaxis ptp resize roll rot90 squeeze tile transpose
""".split()
_OF_OPERANDS = """
    append array_equal array_equiv choose compress extract kron polyval take_along_axis vdot linalg.cross linalg.outer
    linalg.solve
""".split()
_OF_SETS = "isin setdiff1d union1d intersect1d setxor1d".split()
_TRANSFORMS = """
    fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 rfft rfft2 rfftn
""".split()


def _table() -> Iterable[tuple[str, ShortWay]]:
    for name in _OF_ARRAY:
        yield name, _short_way(attrgetter(name)(np), _INTEGER)
    for name in _OF_ARRAY_AND_SIZES:
        yield name, _short_way(attrgetter(name)(np), _SIZES)
    for name in _OF_OPERANDS:
        function = attrgetter(name)(np)
        yield name, _short_way(function, frozenset((int, bool)), others=True, operands=2)
    for name in _OF_SETS:
        yield name, _short_way(_of_sets(getattr(np, name)), _NONE, operands=2, dtypes=_REAL)
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        yield name, _short_way(_of_sets(getattr(np, name)), _NONE, dtypes=_REAL)
    yield "unique", _short_way(_unique, _INTEGER, dtypes=_INTEGERS)
    for name in _TRANSFORMS:
        yield f"fft.{name}", _short_way(getattr(np.fft, name), _WORDS, dtypes=_TRANSFORMED)
    for name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays"):
        yield name, _short_way(_listed(getattr(np, name)), _NONE, others=True)
    for name in ("column_stack", "dstack", "hstack", "lexsort", "vstack"):
        yield name, _short_way(attrgetter(name)(np), _INTEGER, first=_arrays)
    yield "linalg.multi_dot", _short_way(_multi_dot, _NONE, first=_arrays)
    yield "select", _short_way(_select, _VALUES, others=True, first=_arrays)
    yield "block", _short_way(np.block, _NONE, first=_list)
    yield "ix_", _short_way(np.ix_, _NONE, others=True, dtypes=_INTEGERS)
    yield "permute_dims", _short_way(lambda a, axes: np.transpose(a, axes), frozenset((tuple,)))
    yield "cross", _short_way(_cross, _NONE, others=True)

    yield "divmod", _short_way(_elementwise(np.divmod), _NONE, others=True)
    yield "frexp", _short_way(_elementwise(np.frexp), _NONE)
    yield "modf", _short_way(_elementwise(np.modf), _NONE, dtypes=_FLOATS)
    for name in ("float_power", "heaviside"):
        yield name, _short_way(_elementwise(getattr(np, name)), _VALUES, others=True)

    yield "bincount", _short_way(np.bincount, frozenset((int,)), others=True)
    yield "ediff1d", _short_way(np.ediff1d, _NONE)
    yield "full_like", _short_way(_full_like, _VALUES)
    yield "insert", _short_way(np.insert, _VALUES)
    yield "nan_to_num", _short_way(_nan_to_num, _VALUES, others=True)
    for name in ("allclose", "isclose", "trapezoid", "unwrap"):
        yield name, _short_way(getattr(np, name), _INTEGER | _VALUES, others=True)
    yield "pad", _short_way(_pad, _SIZES | _VALUES | {str})
    yield "gradient", _short_way(_listed(np.gradient), _VALUES, others=True, dtypes=_DOUBLES)

    for name in ("nanprod", "nansum"):
        yield name, _short_way(_reduction(getattr(np, name)), _SIZES)
    for name in ("nanmean", "nanstd", "nanvar"):
        yield name, _short_way(_of_some(getattr(np, name)), _SIZES, dtypes=_DOUBLES)
    yield "nanmax", _short_way(_reduction(np.fmax.reduce), _SIZES, dtypes=_REAL)
    yield "nanmin", _short_way(_reduction(np.fmin.reduce), _SIZES, dtypes=_REAL)
    yield "linalg.norm", _short_way(np.linalg.norm, _WORDS, dtypes=_DOUBLES)
    for name in ("linalg.cholesky", "linalg.eigh", "linalg.eigvalsh"):
        yield name, _short_way(_of_symmetric(attrgetter(name)(np)), _NONE, dtypes=_DOUBLES)
    for name in ("linalg.matrix_rank", "linalg.pinv"):
        yield name, _short_way(attrgetter(name)(np), _NONE)
    yield "linalg.svd", _short_way(_svd, frozenset((bool,)))
    for name in ("vecdot", "linalg.vecdot"):
        function = attrgetter(name)(np)
        yield name, _short_way(function, _INTEGER, others=True, operands=2, dtypes=_DOUBLES)

    yield "average", _short_way(np.average, _INTEGER, others=True, dtypes=_FLOATS)
    yield "median", _short_way(_ordinary(np.median), _SIZES)
    for name in ("percentile", "quantile"):
        function = _ordinary(getattr(np, name))
        yield name, _short_way(function, _WORDS | {float}, others=True, dtypes=_DOUBLES)
    for name in ("corrcoef", "cov"):
        function = _covariance(getattr(np, name))
        yield name, _short_way(function, _INTEGER, others=True, dtypes=_DOUBLES)
    yield "histogram", _short_way(np.histogram, _WORDS, others=True, dtypes=_DOUBLES)

    yield "meshgrid", _short_way(_meshgrid, frozenset((bool, str)), others=True)
    for name in ("convolve", "correlate"):
        function = _of_vectors(getattr(np, name))
        yield name, _short_way(function, frozenset((str,)), others=True, operands=2)
    for name in ("polyder", "polyint"):
        yield name, _short_way(_of_vectors(getattr(np, name)), _INTEGER)

    for name in ("arange", "geomspace", "linspace", "logspace"):
        yield name, _short_way(getattr(np, name), _VALUES, first=_number)
    for name in ("blackman", "eye", "hamming", "hanning", "identity"):
        yield name, _short_way(getattr(np, name), _INTEGER, first=_count)
    yield "tri", _short_way(np.tri, _NONE, first=_count)
    for name in ("tril_indices", "triu_indices"):
        yield name, _short_way(getattr(np, name), _INTEGER, first=_count)
    for name in ("fft.fftfreq", "fft.rfftfreq"):
        yield name, _short_way(attrgetter(name)(np), _VALUES, first=_count)


#: By the full names of the public functions.
SHORT_WAYS: dict[str, ShortWay] = {f"fgrad.numpy.{name}": way for name, way in _table()}
