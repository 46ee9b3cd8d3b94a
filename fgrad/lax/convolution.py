"""Convolutions and windows under the names of ``jax.lax``: products with sliding windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad.array import Array
from fgrad.avals import Aval, aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.lax.shapes import pad
from fgrad.numpy._support import ArrayLike, DTypeLike, given_dtype, shape_of, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.contraction import DotGeneral, promoted
from fgrad.primitives.families import Sum, add, broadcast_to, mul, reshape
from fgrad.primitives.indexing import Gather
from fgrad.primitives.reduction import Argmax, Argmin, Prod
from fgrad.primitives.shape import Pad, flip, iota, static_index, transpose
from fgrad.primitives.windows import Windows, window_counts
from fgrad.tracing import record
from fgrad.transforms.vmap import vmap

Padding = str | Sequence[tuple[int, int]]


class ConvDimensionNumbers(NamedTuple):
    """Which axes of the operands of a convolution are which.

    Attributes
    ----------
    lhs_spec : tuple of int
        The axes of the images: batch, features, then the spatial ones.
    rhs_spec : tuple of int
        The axes of the kernel: features out, features in, then the spatial ones.
    out_spec : tuple of int
        The axes of the result: batch, features, then the spatial ones.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Axes by numbers, from letters.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        The shapes of images and kernel; only their lengths count.
    dimension_numbers : None, ConvDimensionNumbers, or (str, str, str)
        Letters for the axes of images, kernel and result, such as ``("NHWC", "HWIO", "NHWC")``: N for the
        batch, C for features, O and I for features out and in, any others for spatial axes. None is
        ``("NCHW", "OIHW", "NCHW")`` with as many spatial axes as there are.

    Returns
    -------
    ConvDimensionNumbers

    Raises
    ------
    ArgumentError
        If the letters do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC")).rhs_spec
    (3, 2, 0, 1)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if len(rhs_shape) != rank or rank < 2:
        raise ShapeError(
            f"conv_dimension_numbers: images of {rank} axes and a kernel of {len(rhs_shape)}; give both batch or "
            "output, features, and equally many spatial axes"
        )
    if dimension_numbers is None:
        plain = tuple(range(rank))
        return ConvDimensionNumbers(plain, plain, plain)
    if len(dimension_numbers) != 3:
        raise ArgumentError(
            f"conv_dimension_numbers: dimension_numbers must hold three strings, got {dimension_numbers!r}"
        )
    specs = [str(spec) for spec in dimension_numbers]
    lhs, rhs, out = specs
    spatial = [letter for letter in rhs if letter not in "OI"]
    for spec, first, second in ((lhs, "N", "C"), (rhs, "O", "I"), (out, "N", "C")):
        if sorted(spec) != sorted([first, second, *spatial]) or len(spec) != rank:
            raise ArgumentError(
                f"conv_dimension_numbers: {spec!r} must name {rank} axes by {first}, {second} and the letters of the "
                f"spatial axes {''.join(spatial)!r}, each once"
            )
    return ConvDimensionNumbers(
        (lhs.index("N"), lhs.index("C"), *[lhs.index(a) for a in spatial]),
        (rhs.index("O"), rhs.index("I"), *[rhs.index(a) for a in spatial]),
        (out.index("N"), out.index("C"), *[out.index(a) for a in spatial]),
    )


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
) -> list[tuple[int, int]]:
    """How much a kind of padding adds before and after each axis.

    Parameters
    ----------
    in_shape, window_shape, window_strides : sequence of int
        For each axis its size, and those of the windows and of their steps.
    padding : str or sequence of (int, int)
        ``"VALID"`` adds nothing; with ``"SAME"`` there is a window for each step, the larger half of what is
        added comes after, with ``"SAME_LOWER"`` before. Numbers are returned as they are.

    Returns
    -------
    list of (int, int)

    Raises
    ------
    ArgumentError
        For another kind, or numbers that do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.padtype_to_pads((7, 8), (3, 3), (2, 2), "SAME")
    [(1, 1), (0, 1)]
    """
    if not isinstance(padding, str):
        pairs = [(int(low), int(high)) for low, high in padding]
        if len(pairs) != len(in_shape):
            raise ArgumentError(
                f"padding has {len(pairs)} pairs for {len(in_shape)} axes; give one (low, high) for each"
            )
        return pairs
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise ArgumentError(
            f"padding is {padding!r}; give 'SAME', 'SAME_LOWER', 'VALID', or pairs of numbers"
        )
    pads = []
    for size, window, step in zip(in_shape, window_shape, window_strides, strict=True):
        wanted = -(-size // step)
        total = max(0, (wanted - 1) * step + window - size)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if kind == "SAME" else (more, less))
    return pads


def _numbers(user: str, name: str, given: Any, count: int) -> tuple[int, ...]:
    numbers = (1,) * count if given is None else tuple(int(n) for n in given)
    if len(numbers) != count or any(n < 1 for n in numbers):
        raise ArgumentError(
            f"{user}: {name} is {given}; give a positive number for each of {count} spatial axes"
        )
    return numbers


def _spread(sizes: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """The sizes of axes whose elements lie further apart."""
    return tuple([max(0, (n - 1) * d + 1) for n, d in zip(sizes, dilation, strict=True)])


def _padded(x: Any, pads: Sequence[tuple[int, int]], dilation: Sequence[int]) -> Any:
    """The trailing axes with zeros around and between the elements."""
    lead = len(aval_of(x).shape) - len(pads)
    if all(pair == (0, 0) for pair in pads) and all(d == 1 for d in dilation):
        return x
    low, high = zip(*pads, strict=True)
    return Pad(
        (0,) * lead + tuple(low),
        (0,) * lead + tuple(high),
        (0,) * lead + tuple([d - 1 for d in dilation]),
    )(x)


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Array:
    """Convolve images with a kernel, over any number of spatial axes.

    As in every network library, the kernel is not flipped: it is a correlation.

    Parameters
    ----------
    lhs : array_like
        Images: axes for the batch, for features, and spatial ones.
    rhs : array_like
        The kernel: axes for features out, for features in, and spatial ones.
    window_strides : sequence of int
        The step of the kernel along each spatial axis.
    padding : str or sequence of (int, int)
        ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or how many zeros before and after each spatial axis; negative
        numbers cut.
    lhs_dilation, rhs_dilation : sequence of int, optional
        How far apart the elements of the images, or of the kernel, are taken to lie.
    dimension_numbers : optional
        Which axis is which: see `conv_dimension_numbers`.
    feature_group_count : int
        Features are cut into so many groups, each with its own part of the kernel.
    batch_group_count : int
        The batch is cut into so many groups, each with its own part of the kernel.
    precision, out_sharding : object
        Accepted for compatibility: products have full precision.
    preferred_element_type : dtype-like, optional
        The dtype in which products are summed, and of the result.

    Returns
    -------
    Array
        Differentiable. It is computed as one product of matrices with the windows of the images.

    Raises
    ------
    ShapeError, ArgumentError
        If shapes, groups, strides, dilations or dimension numbers do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> image, kernel = np.arange(5.0).reshape(1, 1, 5), np.array([[[1.0, 0.0, -1.0]]])
    >>> lax.conv_general_dilated(image, kernel, (1,), "VALID")
    Array([[[-2., -2., -2.]]], dtype=float64)
    """
    user = "conv_general_dilated"
    x, w = promoted(user, _operand(lhs, user, "lhs"), _operand(rhs, user, "rhs"))
    if preferred_element_type is not None:
        dtype = np.dtype(given_dtype(preferred_element_type, user))
        x, w = p.convert(x, dtype), p.convert(w, dtype)
    numbers = conv_dimension_numbers(shape_of(x), shape_of(w), dimension_numbers)
    spatial = len(shape_of(x)) - 2
    strides = _numbers(user, "window_strides", window_strides, spatial)
    apart = _numbers(user, "rhs_dilation", rhs_dilation, spatial)
    spread = _numbers(user, "lhs_dilation", lhs_dilation, spatial)
    x, w = transpose(x, numbers.lhs_spec), transpose(w, numbers.rhs_spec)
    (batch, features, *sizes), (out, inner, *window) = shape_of(x), shape_of(w)
    _check_groups(batch, features, out, inner, feature_group_count, batch_group_count)
    pads = padtype_to_pads(_spread(sizes, spread), _spread(window, apart), strides, padding)
    windows = Windows(tuple(window), strides, apart)(_padded(x, pads, spread))
    counts = shape_of(windows)[2 : 2 + spatial]
    groups = max(feature_group_count, batch_group_count)
    if groups == 1:
        over = (1, *range(2 + spatial, 2 + 2 * spatial))
        product = DotGeneral(over, tuple(range(1, 2 + spatial)))(windows, w)
        result = transpose(product, (0, spatial + 1, *range(1, spatial + 1)))
    else:
        grouped = reshape(w, (groups, out // groups, inner, *window))
        if feature_group_count > 1:
            windows = reshape(windows, (batch, groups, inner, *counts, *window))
            over, each = (2, *range(3 + spatial, 3 + 2 * spatial)), (1,)
        else:
            windows = reshape(windows, (groups, batch // groups, features, *counts, *window))
            over, each = (2, *range(3 + spatial, 3 + 2 * spatial)), (0,)
        product = DotGeneral(over, tuple(range(2, 3 + spatial)), each, (0,))(windows, grouped)
        # groups, batch, windows, features of a group -> batch, all features, windows
        order = (1, 0, spatial + 2, *range(2, spatial + 2))
        result = reshape(transpose(product, order), (shape_of(product)[1], out, *counts))
    back = sorted(range(spatial + 2), key=numbers.out_spec.__getitem__)
    return wrap(transpose(result, back))  # type: ignore[no-any-return]


def _check_groups(
    batch: int, features: int, out: int, inner: int, feature_groups: int, batch_groups: int
) -> None:
    user = "conv_general_dilated"
    if feature_groups < 1 or batch_groups < 1 or (feature_groups > 1 and batch_groups > 1):
        raise ArgumentError(
            f"{user}: feature_group_count {feature_groups} and batch_group_count {batch_groups} must be positive, and "
            "one of them 1"
        )
    if features != inner * feature_groups:
        raise ShapeError(
            f"{user}: the images have {features} features, the kernel takes {inner} in {feature_groups} "
            f"group{'s' * (feature_groups > 1)}; check dimension_numbers and feature_group_count"
        )
    if out % max(feature_groups, batch_groups) or batch % batch_groups:
        raise ShapeError(
            f"{user}: {out} features out, or a batch of {batch}, cannot be cut into "
            f"{max(feature_groups, batch_groups)} equal groups"
        )


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Convolve images (N, C, spatial axes) with a kernel (O, I, spatial axes).

    Parameters
    ----------
    lhs, rhs : array_like
        Images and kernel.
    window_strides : sequence of int
        The step along each spatial axis.
    padding : str
        ``"SAME"``, ``"SAME_LOWER"`` or ``"VALID"``.
    precision, preferred_element_type
        As for `conv_general_dilated`.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError, ArgumentError
        As for `conv_general_dilated`.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.conv(np.ones((1, 2, 4)), np.ones((1, 2, 3)), (1,), "VALID")
    Array([[[6., 6.]]], dtype=float64)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Convolve images (N, C, spatial axes) with a kernel (O, I, spatial axes), padded and dilated.

    Parameters
    ----------
    lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision, preferred_element_type
        As for `conv_general_dilated`.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError, ArgumentError
        As for `conv_general_dilated`.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> x, w = np.ones((1, 1, 4)), np.ones((1, 1, 2))
    >>> lax.conv_with_general_padding(x, w, (1,), [(1, 0)], None, None)
    Array([[[1., 2., 2., 2.]]], dtype=float64)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Convolve images whose elements lie `strides` apart: the result is larger by that factor.

    Parameters
    ----------
    lhs, rhs : array_like
        Images and kernel.
    strides : sequence of int
        The factor along each spatial axis.
    padding : str or sequence of (int, int)
        ``"SAME"``: the result has exactly `strides` times the size; ``"VALID"``: it holds every position where the
        kernel touches; or the zeros around the spread images.
    rhs_dilation : sequence of int, optional
        How far apart the elements of the kernel lie.
    dimension_numbers : optional
        Which axis is which; by default features come last: ``("NHWC", "HWIO", "NHWC")``.
    transpose_kernel : bool
        Whether to flip the kernel and exchange its features in and out: then this is the derivative of
        `conv_general_dilated` with that kernel.
    precision, preferred_element_type
        As for `conv_general_dilated`.
    use_consistent_padding : bool
        Whether numbers in `padding` are those of the convolution that this transposes.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError, ArgumentError
        As for `conv_general_dilated`.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> x, w = np.arange(3.0).reshape(1, 3, 1), np.ones((2, 1, 1))
    >>> lax.conv_transpose(x, w, (2,), "SAME")[0, :, 0]
    Array([0., 0., 1., 1., 2., 2.], dtype=float64)
    """
    user = "conv_transpose"
    x, w = _operand(lhs, user, "lhs"), _operand(rhs, user, "rhs")
    spatial = len(shape_of(x)) - 2
    if dimension_numbers is None:
        letters = "".join(chr(ord("a") + i) for i in range(spatial))
        dimension_numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    numbers = conv_dimension_numbers(shape_of(x), shape_of(w), dimension_numbers)
    steps = _numbers(user, "strides", strides, spatial)
    apart = _numbers(user, "rhs_dilation", rhs_dilation, spatial)
    window = _spread([shape_of(w)[axis] for axis in numbers.rhs_spec[2:]], apart)
    if isinstance(padding, str):
        pads = [_transposed_pads(k, s, padding) for k, s in zip(window, steps, strict=True)]
    else:
        pads = [(int(low), int(high)) for low, high in padding]
        if use_consistent_padding:
            pads = [
                (k - 1 - low, k - 1 - high) for k, (low, high) in zip(window, pads, strict=True)
            ]
    if transpose_kernel:
        w = flip(w, numbers.rhs_spec[2:])
        out, inner, *rest = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(inner, out, *rest))
    return conv_general_dilated(
        wrap(x),
        wrap(w),
        (1,) * spatial,
        pads,
        steps,
        apart,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_pads(window: int, step: int, kind: str) -> tuple[int, int]:
    """The zeros around images whose elements lie `step` apart."""
    if kind.upper() == "VALID":
        return window - 1, step - 1 + max(window - step, 0)
    if kind.upper() != "SAME":
        raise ArgumentError(
            f"conv_transpose: padding is {kind!r}; give 'SAME', 'VALID', or pairs of numbers"
        )
    total = window + step - 2
    low = window - 1 if step > window - 1 else -(-total // 2)
    return low, total - low


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """The windows that a convolution multiplies with its kernel, as features.

    Parameters
    ----------
    lhs : array_like
        Images.
    filter_shape : sequence of int
        The spatial shape of the windows.
    window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision
        As for `conv_general_dilated`.
    preferred_element_type : dtype-like, optional
        The dtype of the result.

    Returns
    -------
    Array
        With the features of all elements of a window, those of one input feature together. Differentiable.

    Raises
    ------
    ShapeError, ArgumentError
        As for `conv_general_dilated`.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.conv_general_dilated_patches(np.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.]]], dtype=float64)
    """
    user = "conv_general_dilated_patches"
    x = _operand(lhs, user, "lhs")
    if preferred_element_type is not None:
        x = p.convert(x, np.dtype(given_dtype(preferred_element_type, user)))
    window = tuple(int(n) for n in filter_shape)
    numbers = conv_dimension_numbers(shape_of(x), (1, 1, *window), dimension_numbers)
    spatial = len(window)
    strides = _numbers(user, "window_strides", window_strides, spatial)
    apart = _numbers(user, "rhs_dilation", rhs_dilation, spatial)
    spread = _numbers(user, "lhs_dilation", lhs_dilation, spatial)
    x = transpose(x, numbers.lhs_spec)
    batch, features, *sizes = shape_of(x)
    pads = padtype_to_pads(_spread(sizes, spread), _spread(window, apart), strides, padding)
    windows = Windows(window, strides, apart)(_padded(x, pads, spread))
    counts = shape_of(windows)[2 : 2 + spatial]
    order = (0, 1, *range(2 + spatial, 2 + 2 * spatial), *range(2, 2 + spatial))
    patches = reshape(transpose(windows, order), (batch, features * math.prod(window), *counts))
    back = sorted(range(spatial + 2), key=numbers.out_spec.__getitem__)
    return wrap(transpose(patches, back))  # type: ignore[no-any-return]


# ---- reductions over windows ----------------------------------------------------------------------


def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array:
    """Reduce each window that slides over an array: pooling.

    Parameters
    ----------
    operand : array_like
    init_value : array_like
        Where the reduction starts: its neutral element. What is around the array changes no result of
        sums, products and extrema; for other computations it is this value.
    computation : callable
        A function of two scalars, such as ``lax.add`` or ``lax.max``.
    window_dimensions : sequence of int
        The shape of the windows, one number for each axis.
    window_strides, base_dilation, window_dilation : sequence of int, optional
        The step of the windows, and how far apart the elements of the array and of the windows lie.
    padding : str or sequence of (int, int)
        ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or how much before and after each axis.

    Returns
    -------
    Array
        Differentiable. Of equal maxima or minima the first gets the slope.

    Raises
    ------
    ShapeError, ArgumentError
        If windows, steps or padding do not fit the array.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.reduce_window(np.arange(6.0), -np.inf, lax.max, (3,), (3,))
    Array([2., 5.], dtype=float64)
    """
    user = "reduce_window"
    x, start = _operand(operand, user, "operand"), _operand(init_value, user, "init_value")
    shape = shape_of(x)
    window = tuple(int(n) for n in window_dimensions)
    if len(window) != len(shape):
        raise ArgumentError(
            f"{user}: window_dimensions {window} for an array of shape {shape}; give one number for each axis"
        )
    strides = _numbers(user, "window_strides", window_strides, len(shape))
    spread = _numbers(user, "base_dilation", base_dilation, len(shape))
    apart = _numbers(user, "window_dilation", window_dilation, len(shape))
    pads = padtype_to_pads(_spread(shape, spread), _spread(window, apart), strides, padding)
    dtype = aval_of(x).dtype
    start = p.convert(start, dtype)
    primitive = _primitive(computation, dtype)
    around = _neutral(primitive, dtype, start)
    if any(pair != (0, 0) for pair in pads) or any(d > 1 for d in spread):
        config = [(low, high, d - 1) for (low, high), d in zip(pads, spread, strict=True)]
        x = _operand(pad(wrap(x), wrap(around), config), user)
    counts = window_counts(shape_of(x), window, strides, apart)
    flat = reshape(Windows(window, strides, apart)(x), (*counts, math.prod(window)))
    return wrap(_reduced(flat, start, computation, primitive))  # type: ignore[no-any-return]


def _neutral(primitive: Any, dtype: np.dtype[Any], start: Any) -> Any:
    """What changes no result: zero for sums, one for products, the bounds of the dtype for extrema."""
    if primitive is add or primitive is mul:
        return dtype.type(primitive is mul)
    if primitive is p.maximum or primitive is p.minimum:
        if dtype.kind in "iu":
            bounds = np.iinfo(dtype)
            return dtype.type(bounds.min if primitive is p.maximum else bounds.max)
        if dtype.kind == "f":
            return dtype.type(-np.inf if primitive is p.maximum else np.inf)
    return start


def _reduced(flat: Any, start: Any, computation: Callable[[Any, Any], Any], primitive: Any) -> Any:
    """Reduce the last axis."""
    dtype = aval_of(flat).dtype
    axis = len(aval_of(flat).shape) - 1
    if primitive is add and dtype.kind != "b":
        return add(p.convert(Sum((axis,))(flat), dtype), start)
    if primitive is mul and dtype.kind != "b":
        return mul(p.convert(Prod((axis,))(flat), dtype), start)
    if primitive is p.maximum or primitive is p.minimum:
        place = (Argmax if primitive is p.maximum else Argmin)(axis)(flat)
        return primitive(_picked(flat, place), start)
    together = computation
    for _ in range(axis):
        together = vmap(together)
    results = wrap(broadcast_to(start, aval_of(flat).shape[:-1]))
    for i in range(aval_of(flat).shape[axis]):
        results = together(results, wrap(static_index(flat, (*[slice(None)] * axis, i))))
    return _operand(results, "reduce_window")


def _picked(flat: Any, place: Any) -> Any:
    """One element of the last axis in each row."""
    *rows, _ = aval_of(flat).shape
    indices = [
        reshape(iota(n), tuple([n if i == axis else 1 for i in range(len(rows))]))
        for axis, n in enumerate(rows)
    ]
    return Gather(tuple(range(len(rows) + 1)))(flat, *indices, place)


def _primitive(computation: Callable[[Any, Any], Any], dtype: Any) -> Any:
    """The primitive that a function of two scalars applies, if it does nothing else."""
    scalar = Aval((), dtype)
    jaxpr = record(
        lambda a, b: [_operand(computation(wrap(a), wrap(b)), "reduce_window", "the computation")],
        [scalar, scalar],
        "reduce_window",
    )
    if len(jaxpr.eqns) != 1 or jaxpr.outvars != jaxpr.eqns[0].outputs:
        return None
    (eqn,) = jaxpr.eqns
    return eqn.primitive if set(eqn.inputs) == set(jaxpr.invars) else None
