"""Convolutions with a kernel of its own for each position, and the shapes of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgrad.array import Array
from fgrad.avals import ShapeDtypeStruct, aval_of
from fgrad.dtypes import FLOAT32
from fgrad.errors import ArgumentError, ShapeError
from fgrad.lax.convolution import (
    Padding,
    conv_dimension_numbers,
    conv_general_dilated,
    conv_general_dilated_patches,
    conv_transpose,
    padtype_to_pads,
)
from fgrad.numpy._support import ArrayLike, static_shape, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives.contraction import DotGeneral, promoted
from fgrad.primitives.shape import transpose
from fgrad.primitives.windows import window_counts
from fgrad.transforms.make_jaxpr import eval_shape

Shape = tuple[int, ...]


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Array:
    """Convolve images with a kernel that differs from position to position: a locally connected layer.

    Parameters
    ----------
    lhs : array_like
        Images: axes for the batch, for features, and spatial ones.
    rhs : array_like
        The kernels: axes for features out, for features in times the elements of a window, and the spatial
        axes of the result.
    window_strides, padding, lhs_dilation, rhs_dilation, precision
        As for `conv_general_dilated`.
    filter_shape : sequence of int
        The spatial shape of the windows.
    dimension_numbers : optional
        Which axis is which: see `conv_dimension_numbers`.

    Returns
    -------
    Array
        Differentiable.

    Raises
    ------
    ShapeError, ArgumentError
        If shapes, strides, dilations or dimension numbers do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> image, kernels = np.arange(4.0).reshape(1, 1, 4), np.ones((1, 2, 3)) * np.arange(3.0)
    >>> lax.conv_general_dilated_local(image, kernels, (1,), "VALID", (2,))
    Array([[[ 0.,  3., 10.]]], dtype=float64)
    """
    name = "conv_general_dilated_local"
    x, w = promoted(name, _operand(lhs, name, "lhs"), _operand(rhs, name, "rhs"))
    shape = aval_of(x).shape
    window = static_shape(tuple(filter_shape), f"{name}: filter_shape")
    numbers = conv_dimension_numbers(shape, aval_of(w).shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        wrap(x), window, window_strides, padding, lhs_dilation, rhs_dilation, numbers
    )
    found = transpose(_operand(patches, name), numbers.out_spec)
    kernels = transpose(w, numbers.rhs_spec)
    have, wanted = aval_of(kernels).shape[1:], aval_of(found).shape[1:]
    if have != wanted:
        raise ShapeError(
            f"{name}: the kernels have {have[0]} features in and positions of shape {have[1:]}, but the windows of "
            f"the images have {wanted[0]} elements in all features, and positions of shape {wanted[1:]}"
        )
    spatial = tuple(range(2, len(shape)))
    # positions, batch, features out
    product = DotGeneral((1,), (1,), spatial, spatial)(found, kernels)
    count = len(spatial)
    answer = transpose(product, (count, count + 1, *range(count)))
    back = sorted(range(len(shape)), key=numbers.out_spec.__getitem__)
    return wrap(transpose(answer, back))  # type: ignore[no-any-return]


def conv_general_permutations(dimension_numbers: Any) -> tuple[Shape, Shape, Shape]:
    """The permutations that bring images, kernel and result to batch or output, features, spatial axes.

    Parameters
    ----------
    dimension_numbers : (str, str, str)
        Letters for the axes, as for `conv_dimension_numbers`.

    Returns
    -------
    tuple of three tuples of int

    Raises
    ------
    ArgumentError
        If the letters do not fit.

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    if len(dimension_numbers) != 3:
        raise ArgumentError(
            f"conv_general_permutations: dimension_numbers must hold three strings, got {dimension_numbers!r}"
        )
    ones = (1,) * len(dimension_numbers[0])
    numbers = conv_dimension_numbers(ones, ones, tuple(dimension_numbers))
    return numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec


def _result(f: Any, lhs_shape: Sequence[int], rhs_shape: Sequence[int]) -> Shape:
    operands = [ShapeDtypeStruct(tuple(shape), FLOAT32) for shape in (lhs_shape, rhs_shape)]
    return tuple(eval_shape(f, *operands).shape)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Any,
) -> Shape:
    """The shape of the result of `conv_general_dilated`.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        The shapes of images and kernel.
    window_strides, padding, dimension_numbers
        As for `conv_general_dilated`.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from fgrad import lax
    >>> letters = ("NCHW", "OIHW", "NCHW")
    >>> lax.conv_general_shape_tuple((1, 3, 8, 8), (4, 3, 3, 3), (1, 1), "SAME", letters)
    (1, 4, 8, 8)
    """
    return _result(
        lambda x, w: conv_general_dilated(
            x, w, window_strides, padding, dimension_numbers=dimension_numbers
        ),
        lhs_shape,
        rhs_shape,
    )


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Padding,
    batch_group_count: int = 1,
) -> Shape:
    """The shape of the result of a convolution with batch or output, features, spatial axes in this order.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        The shapes of images and kernel.
    strides, pads, batch_group_count
        As for `conv_general_dilated`.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.conv_shape_tuple((1, 3, 8, 8), (4, 3, 3, 3), (1, 1), "VALID")
    (1, 4, 6, 6)
    """
    return _result(
        lambda x, w: conv_general_dilated(x, w, strides, pads, batch_group_count=batch_group_count),
        lhs_shape,
        rhs_shape,
    )


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Any,
) -> Shape:
    """The shape of the result of `conv_transpose`.

    Parameters
    ----------
    lhs_shape, rhs_shape : sequence of int
        The shapes of images and kernel.
    window_strides, padding, dimension_numbers
        As for `conv_transpose`.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from fgrad import lax
    >>> letters = ("NCHW", "IOHW", "NCHW")
    >>> lax.conv_transpose_shape_tuple((1, 3, 8, 8), (3, 4, 3, 3), (2, 2), "SAME", letters)
    (1, 4, 16, 16)
    """
    return _result(
        lambda x, w: conv_transpose(
            x, w, window_strides, padding, dimension_numbers=dimension_numbers
        ),
        lhs_shape,
        rhs_shape,
    )


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Shape:
    """The shape of the result of `reduce_window`.

    Parameters
    ----------
    operand_shape, window_dimensions, window_strides : sequence of int
    padding : str or sequence of (int, int)
    base_dilation, window_dilation : sequence of int, optional

    Returns
    -------
    tuple of int

    Raises
    ------
    ShapeError
        If there is not one number for each axis.

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.reduce_window_shape_tuple((5, 6), (2, 2), (1, 2), ((0, 0), (1, 1)))
    (4, 4)
    """
    shape = tuple(operand_shape)
    spread = base_dilation or (1,) * len(shape)
    apart = window_dilation or (1,) * len(shape)
    given = (tuple(window_dimensions), tuple(window_strides), tuple(spread), tuple(apart))
    if any(len(numbers) != len(shape) for numbers in given):
        raise ShapeError(
            f"reduce_window_shape_tuple: an array of shape {shape} needs {len(shape)} numbers for windows, steps and "
            f"dilations, got {given}"
        )
    window, strides, _, _ = given
    sizes = tuple(max(0, (n - 1) * d + 1) for n, d in zip(shape, spread, strict=True))
    reach = tuple((w - 1) * d + 1 for w, d in zip(window, apart, strict=True))
    pads = padtype_to_pads(sizes, reach, strides, padding)
    whole = tuple(n + low + high for n, (low, high) in zip(sizes, pads, strict=True))
    return window_counts(whole, window, strides, tuple(apart))
