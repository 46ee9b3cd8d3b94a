"""Initial values of parameters: functions of a random key, a shape and a dtype.

Given JAX's key, they give JAX's numbers, but for rounding.
"""

from __future__ import annotations

import math
import sys as _sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

import fgrad.numpy as fnp
from fgrad import dtypes, random
from fgrad.array import Array
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import (
    ArrayLike,
    DTypeLike,
    given_dtype,
    normal_axes,
    normal_axis,
    operand,
    static_shape,
    stretched,
    wrap,
)
from fgrad.primitives.elementwise import convert
from fgrad.source_info import boundary
from fgrad.source_info import guard as _guard

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Initializer = Callable[..., Array]


def zeros(
    key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
) -> Array:
    """An array of zeros.

    Parameters
    ----------
    key : object
        Not used.
    shape : int or sequence of int
    dtype : dtype-like, optional
        float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad
    >>> fgrad.nn.initializers.zeros(None, (2,))
    Array([0., 0.], dtype=float64)
    """
    return _filled("zeros", 0.0, shape, dtype)


def ones(
    key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
) -> Array:
    """An array of ones.

    Parameters
    ----------
    key : object
        Not used.
    shape : int or sequence of int
    dtype : dtype-like, optional
        float64 by default.
    out_sharding : object
        Accepted for compatibility, without effect.

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad
    >>> fgrad.nn.initializers.ones(None, (2,))
    Array([1., 1.], dtype=float64)
    """
    return _filled("ones", 1.0, shape, dtype)


def constant(value: ArrayLike, dtype: DTypeLike = None) -> Initializer:
    """Make an initializer that repeats a value.

    Parameters
    ----------
    value : array_like
        A number, or an array that broadcasts to the shape asked for.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> fgrad.nn.initializers.constant(0.5)(None, (2,))
    Array([0.5, 0.5], dtype=float64)
    """
    usual = dtype

    @boundary
    def initialize(
        key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Array:
        return _filled("constant", value, shape, usual if dtype is None else dtype)

    return initialize


def _filled(name: str, value: ArrayLike, shape: int | Sequence[int], dtype: DTypeLike) -> Array:
    wanted = given_dtype(dtype, name) or dtypes.canonical(dtypes.FLOAT64)
    inside = convert(operand(value, name), wanted)
    return wrap(stretched(inside, static_shape(shape, name), name))  # type: ignore[no-any-return]


def _shape_and_dtype(
    name: str, shape: int | Sequence[int], dtype: DTypeLike
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    wanted = given_dtype(dtype, name) or dtypes.canonical(dtypes.FLOAT64)
    if wanted.kind not in "fc" and wanted.name != "bfloat16":
        raise DTypeError(f"{name}: dtype must be a floating-point or complex dtype, got {wanted}")
    return static_shape(shape, name), wanted


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.zeros((), dtype).real.dtype


def _scaled(draws: Array, factor: ArrayLike) -> Array:
    """Draws times a number, in their dtype."""
    return fnp.multiply(draws, fnp.asarray(factor, draws.dtype))


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """Make an initializer of uniform numbers of [0, scale).

    Parameters
    ----------
    scale : array_like
        The end of the interval.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.uniform(0.1)
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    usual = dtype

    @boundary
    def initialize(
        key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Array:
        sizes, wanted = _shape_and_dtype("uniform", shape, usual if dtype is None else dtype)
        return _scaled(random.uniform(key, sizes, wanted), scale)

    return initialize


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike = None) -> Initializer:
    """Make an initializer of normal numbers of mean 0.

    Parameters
    ----------
    stddev : array_like
        The standard deviation.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.normal(0.1)
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    usual = dtype

    @boundary
    def initialize(
        key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Array:
        sizes, wanted = _shape_and_dtype("normal", shape, usual if dtype is None else dtype)
        return _scaled(random.normal(key, sizes, wanted), stddev)

    return initialize


def truncated_normal(
    stddev: ArrayLike = 1e-2,
    dtype: DTypeLike = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> Initializer:
    """Make an initializer of normal numbers of mean 0 between bounds.

    Parameters
    ----------
    stddev : array_like
        The standard deviation before the numbers are cut off.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.
    lower, upper : array_like
        The bounds, in standard deviations.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.truncated_normal(0.1)
    >>> bool(abs(init(fgrad.random.key(0), (100,))).max() < 0.2)
    True
    """
    usual = dtype

    @boundary
    def initialize(
        key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Array:
        sizes, wanted = _shape_and_dtype(
            "truncated_normal", shape, usual if dtype is None else dtype
        )
        return _scaled(random.truncated_normal(key, lower, upper, sizes, wanted), stddev)

    return initialize


# ---- scaled by the number of connections ---------------------------------------------------------

Mode = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
Distribution = Literal["truncated_normal", "normal", "uniform"]
Axes = int | Sequence[int]

_MODES = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
_DISTRIBUTIONS = ("truncated_normal", "normal", "uniform")
# Of standard normal numbers between -2 and 2, real, and of complex ones of modulus up to 2.
_CUT_DEVIATION = 0.87962566103423978
_CUT_COMPLEX_DEVIATION = 0.95311164380491208


def _fans(
    shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """How many inputs an output has, and how many outputs an input goes to."""
    if len(shape) <= 1:
        raise ShapeError(
            f"variance_scaling: a shape of at least two axes is needed to count connections, got {shape}; use "
            "normal or uniform for vectors"
        )
    name = "variance_scaling"
    sizes = [
        math.prod(shape[axis] for axis in normal_axes(axes, len(shape), name))
        for axes in (in_axis, out_axis, batch_axis)
    ]
    inputs, outputs, batches = sizes
    field = math.prod(shape) / max(inputs * outputs * batches, 1)
    return inputs * field, outputs * field


def variance_scaling(
    scale: ArrayLike,
    mode: Mode,
    distribution: Distribution,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """Make an initializer whose variance goes with the number of connections.

    Parameters
    ----------
    scale : array_like
        The variance times the number of connections.
    mode : {"fan_in", "fan_out", "fan_avg", "fan_geo_avg"}
        What counts: the inputs of an output, the outputs of an input, or their arithmetic or
        geometric mean.
    distribution : {"truncated_normal", "normal", "uniform"}
    in_axis, out_axis : int or sequence of int
        The axes of inputs and of outputs. The others, but for those of `batch_axis`, are a receptive
        field, and multiply both.
    batch_axis : int or sequence of int
        Axes along which independent arrays lie.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Raises
    ------
    ArgumentError
        If the mode or the distribution is not known.
    ShapeError
        If the shape asked for has less than two axes.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.variance_scaling(2.0, "fan_in", "normal")
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    usual = dtype
    for argument, given, known in (
        ("mode", mode, _MODES),
        ("distribution", distribution, _DISTRIBUTIONS),
    ):
        if given not in known:
            listed = ", ".join(map(repr, known))
            raise ArgumentError(
                f"variance_scaling: {argument}={given!r} is not known; give one of {listed}"
            )

    @boundary
    def initialize(
        key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Array:
        sizes, wanted = _shape_and_dtype(
            "variance_scaling", shape, usual if dtype is None else dtype
        )
        inputs, outputs = _fans(sizes, in_axis, out_axis, batch_axis)
        count = {
            "fan_in": inputs,
            "fan_out": outputs,
            "fan_avg": (inputs + outputs) / 2,
            "fan_geo_avg": math.sqrt(inputs * outputs),
        }[mode]
        # Arrays without elements have no connections.
        variance = fnp.asarray(scale, wanted) / fnp.asarray(max(count, 1.0), wanted)
        deviation = fnp.sqrt(variance)
        if distribution == "normal":
            return fnp.multiply(random.normal(key, sizes, wanted), deviation)
        if distribution == "uniform":
            if wanted.kind == "c":
                return fnp.multiply(_complex_uniform(key, sizes, wanted), deviation)
            draws = random.uniform(key, sizes, wanted, -1.0, 1.0)
            return fnp.multiply(draws, fnp.sqrt(fnp.asarray(3.0, wanted) * variance))
        if wanted.kind == "c":
            draws = _complex_truncated_normal(key, sizes, wanted)
            return fnp.multiply(draws, deviation / fnp.asarray(_CUT_COMPLEX_DEVIATION, wanted))
        draws = random.truncated_normal(key, -2.0, 2.0, sizes, wanted)
        return fnp.multiply(draws, deviation / fnp.asarray(_CUT_DEVIATION, wanted))

    return initialize


def _angles(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Complex numbers of modulus one."""
    turns = random.uniform(key, shape, _real(dtype)).astype(dtype)
    return fnp.exp(1j * (fnp.asarray(2.0 * math.pi, dtype) * turns))


def _complex_uniform(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Points spread evenly over a disc, of variance one."""
    first, second = random.split(key)
    real = _real(dtype)
    lengths = fnp.sqrt(fnp.asarray(2.0, real) * random.uniform(first, shape, real)).astype(dtype)
    return fnp.multiply(lengths, _angles(second, shape, dtype))


def _complex_truncated_normal(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Complex normal numbers of modulus up to 2, of variance one before they are cut off."""
    first, second = random.split(key)
    real = _real(dtype)
    u = fnp.asarray(1.0 - math.exp(-4.0), real) * random.uniform(first, shape, real)
    lengths = fnp.sqrt(-fnp.log(fnp.asarray(1.0, real) - u)).astype(dtype)
    return fnp.multiply(lengths, _angles(second, shape, dtype))


def glorot_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """Make Glorot's initializer: uniform numbers of variance 2 over the sum of inputs and outputs.

    Parameters
    ----------
    in_axis, out_axis : int or sequence of int
        The axes of inputs and of outputs.
    batch_axis : int or sequence of int
        Axes along which independent arrays lie.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.glorot_uniform()
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


xavier_uniform = glorot_uniform


def glorot_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """Make Glorot's initializer: truncated normal numbers of variance 2 over the sum of inputs and outputs.

    Parameters
    ----------
    in_axis, out_axis : int or sequence of int
        The axes of inputs and of outputs.
    batch_axis : int or sequence of int
        Axes along which independent arrays lie.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.glorot_normal()
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(
        1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype
    )


xavier_normal = glorot_normal


def lecun_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """Make LeCun's initializer: uniform numbers of variance 1 over the number of inputs.

    Parameters
    ----------
    in_axis, out_axis : int or sequence of int
        The axes of inputs and of outputs.
    batch_axis : int or sequence of int
        Axes along which independent arrays lie.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.lecun_uniform()
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """Make LeCun's initializer: truncated normal numbers of variance 1 over the number of inputs.

    Parameters
    ----------
    in_axis, out_axis : int or sequence of int
        The axes of inputs and of outputs.
    batch_axis : int or sequence of int
        Axes along which independent arrays lie.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.lecun_normal()
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """Make He's initializer: uniform numbers of variance 2 over the number of inputs.

    Parameters
    ----------
    in_axis, out_axis : int or sequence of int
        The axes of inputs and of outputs.
    batch_axis : int or sequence of int
        Axes along which independent arrays lie.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.he_uniform()
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


kaiming_uniform = he_uniform


def he_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None
) -> Initializer:
    """Make He's initializer: truncated normal numbers of variance 2 over the number of inputs.

    Parameters
    ----------
    in_axis, out_axis : int or sequence of int
        The axes of inputs and of outputs.
    batch_axis : int or sequence of int
        Axes along which independent arrays lie.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Examples
    --------
    >>> import fgrad
    >>> init = fgrad.nn.initializers.he_normal()
    >>> init(fgrad.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


kaiming_normal = he_normal


# ---- orthogonal ----------------------------------------------------------------------------------


def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None
) -> Initializer:
    """Make an initializer of matrices with orthonormal rows or columns, whichever are fewer.

    Parameters
    ----------
    scale : array_like
        A factor.
    column_axis : int
        The axis of columns; the others together are the rows.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array.

    Raises
    ------
    ShapeError
        If the shape asked for has less than two axes.

    Examples
    --------
    >>> import fgrad
    >>> q = fgrad.nn.initializers.orthogonal()(fgrad.random.key(0), (3, 3))
    >>> bool(abs(q @ q.T - fgrad.numpy.eye(3)).max() < 1e-12)
    True
    """
    usual = dtype

    @boundary
    def initialize(
        key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Array:
        sizes, wanted = _shape_and_dtype("orthogonal", shape, usual if dtype is None else dtype)
        if len(sizes) < 2:
            raise ShapeError(f"orthogonal: a shape of at least two axes is needed, got {sizes}")
        place = normal_axis(column_axis, len(sizes), "orthogonal")
        rows = math.prod(sizes[:place] + sizes[place + 1 :])
        drawn = random.orthogonal(key, rows, (), wanted, sizes[place])
        q = fnp.reshape(drawn, (*sizes[:place], *sizes[place + 1 :], sizes[place]))
        return _scaled(fnp.moveaxis(q, -1, place), scale)

    return initialize


def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None
) -> Initializer:
    """Make an initializer of convolutions that are orthogonal at their centre and zero elsewhere.

    Parameters
    ----------
    scale : array_like
        A factor.
    column_axis : int
        The axis of columns of the matrix at the centre, which is formed by the last two axes.
    dtype : dtype-like, optional
        The dtype where the call gives none; float64 by default.

    Returns
    -------
    callable
        From key, shape and dtype to an Array; the shape has one to three axes of space, then one of
        inputs and one of outputs, of which there are no fewer.

    Raises
    ------
    ShapeError
        If the shape asked for is not of that kind.

    Examples
    --------
    >>> import fgrad
    >>> w = fgrad.nn.initializers.delta_orthogonal()(fgrad.random.key(0), (3, 2, 2))
    >>> float(abs(w[0]).max()), bool(abs(w[1]).max() > 0)
    (0.0, True)
    """
    usual = dtype

    @boundary
    def initialize(
        key: Any, shape: int | Sequence[int], dtype: DTypeLike = None, out_sharding: Any = None
    ) -> Array:
        sizes, wanted = _shape_and_dtype(
            "delta_orthogonal", shape, usual if dtype is None else dtype
        )
        if len(sizes) not in (3, 4, 5):
            raise ShapeError(
                f"delta_orthogonal: a shape of three to five axes is needed, got {sizes}"
            )
        if sizes[-1] < sizes[-2]:
            raise ShapeError(
                f"delta_orthogonal: the last axis must not be shorter than the one before it, got {sizes}"
            )
        matrix = orthogonal(scale, column_axis, wanted)(key, sizes[-2:])
        centre = tuple((n - 1) // 2 for n in sizes[:-2])
        around: Any = fnp.zeros(sizes, wanted)
        return around.at[centre].set(matrix)  # type: ignore[no-any-return]

    return initialize


_guard(_sys.modules[__name__])
