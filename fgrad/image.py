"""Images in another size: interpolation along axes, which is linear in the image."""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import enum
import sys as _sys
from collections.abc import Callable, Sequence
from typing import Any

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, AxisError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis, static_int, static_shape
from fgrad.source_info import guard as _guard

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How new pixels follow from old ones.

    Examples
    --------
    >>> from fgrad import image
    >>> image.ResizeMethod.from_string("bilinear")
    <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name."""
        found = _NAMES.get(s)
        if found is None:
            raise ArgumentError(
                f"resize: method is {s!r}; give one of {', '.join(map(repr, _NAMES))}"
            )
        return found


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}


# ---- kernels of distances ------------------------------------------------------------------------


def _triangle(x: Any) -> Any:
    return fnp.maximum(0.0, 1.0 - x)


def _lanczos(radius: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        return fnp.where(x < radius, fnp.sinc(x) * fnp.sinc(x / radius), 0.0)

    return kernel


def _cubic(a: float) -> Callable[[Any], Any]:
    """Keys' kernel, whose slope at distance 1 is a."""

    def kernel(x: Any) -> Any:
        near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
        far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
        return fnp.where(x >= 2.0, 0.0, fnp.where(x >= 1.0, far, near))

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
    ResizeMethod.CUBIC: _cubic(-0.5),
    # As in PyTorch, whose kernel is another one where it does not antialias.
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5),
}
_PYTORCH = _cubic(-0.75)


def _weights(
    size: int,
    new_size: int,
    scale: Any,
    translation: Any,
    kernel: Callable[[Any], Any],
    antialias: bool,
    dtype: Any,
) -> Any:
    """How much each old pixel counts in each new one, of shape (size, new_size)."""
    inverse = 1.0 / scale
    # Where an image shrinks, the kernel widens with the pixels, so that none is passed over.
    stretch = fnp.maximum(inverse, 1.0) if antialias else 1.0
    new = (fnp.arange(new_size, dtype=dtype) + 0.5) * inverse - translation * inverse - 0.5
    distance = abs(new[None, :] - fnp.arange(size, dtype=dtype)[:, None]) / stretch
    raw: Any = kernel(distance)
    total: Any = fnp.sum(raw, axis=0, keepdims=True)
    # A pixel that no old one reaches is 0.
    reached = abs(total) > 1000.0 * float(fnp.finfo(dtype).eps)
    shares = fnp.where(reached, raw / fnp.where(total == 0.0, 1.0, total), 0.0)
    inside = (new >= -0.5) & (new <= size - 0.5)
    return fnp.where(inside[None, :], shares, 0.0)


def _clamped_cubic(size: int, new_size: int, scale: Any, dtype: Any) -> Any:
    """PyTorch's cubic weights: beyond an edge, its pixel is repeated."""
    if not size:
        return fnp.zeros((size, new_size), dtype)
    new: Any = (fnp.arange(new_size, dtype=dtype) + 0.5) / scale - 0.5
    first: Any = fnp.floor(new) - 1.0
    weights: Any = fnp.zeros((size, new_size), dtype)
    for step in range(4):
        place = first + step
        clamped = fnp.clip(place, 0, size - 1)
        chosen = fnp.arange(size, dtype=dtype)[:, None] == clamped[None, :]
        weights = weights + chosen * _PYTORCH(abs(new - place))[None, :]
    return weights


def _area_weights(size: int, new_size: int, dtype: Any) -> Any:
    """Which part of each new pixel every old one covers, of shape (size, new_size)."""
    old: Any = fnp.arange(size + 1, dtype=dtype) * new_size
    new: Any = fnp.arange(new_size + 1, dtype=dtype) * size
    low = fnp.maximum(old[:-1, None], new[None, :-1])
    high = fnp.minimum(old[1:, None], new[None, 1:])
    return fnp.maximum(high - low, 0.0) / max(size, 1)


def _of_method(method: ResizeMethod, old: int, size: int, antialias: bool, dtype: Any) -> Any:
    """The weights of a method for a new size."""
    if method is ResizeMethod.AREA:
        return _area_weights(old, size, dtype)
    scale = fnp.asarray(size / old if old else 1.0, dtype)
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _clamped_cubic(old, size, scale, dtype)
    return _weights(old, size, scale, 0.0, _KERNELS[method], antialias, dtype)


def _spread(x: Any, axis: int, weights: Any) -> Any:
    """The product with weights along an axis."""
    moved: Any = fnp.moveaxis(x, axis, -1)
    return fnp.moveaxis(moved @ weights, -1, axis)


def _method(method: Any) -> ResizeMethod:
    return method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)


def _floating(image: ArrayLike) -> Any:
    x: Any = fnp.asarray(image)
    return x if fnp.issubdtype(x.dtype, fnp.inexact) else x * 1.0


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Array:
    """An image stretched and moved along some axes.

    Parameters
    ----------
    image : array_like
    shape : sequence of int
        The shape of the result, of which only sizes of `spatial_dims` may be new.
    spatial_dims : sequence of int
        The axes to interpolate along.
    scale, translation : array_like
        One number for each of these axes: the position x of the old image lies at
        ``x * scale + translation``, pixels reaching from i to i + 1.
    method : str or ResizeMethod
        'linear', 'cubic', 'cubic-pytorch', 'lanczos3', 'lanczos5' or other names of these.
    antialias : bool
        Whether the kernel widens where the image shrinks.
    precision
        Accepted; of no effect.

    Returns
    -------
    Array
        Floating; 0 where the old image does not reach. Differentiable in both modes towards the
        image, the scale and the translation.

    Raises
    ------
    ShapeError
        If the shape, or the number of scales, does not fit.
    ArgumentError
        If the method is 'nearest' or unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import image
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> image.scale_and_translate(x, (3,), (0,), np.ones(1), np.ones(1), "linear")
    Array([0., 1., 2.], dtype=float64)
    """
    name = "scale_and_translate"
    x, chosen = _floating(image), _method(method)
    sizes = _fitting(x, shape, name)
    if chosen in (ResizeMethod.NEAREST, ResizeMethod.AREA):
        raise ArgumentError(
            f"{name}: method {chosen.name.lower()!r} is not supported; use resize, or 'linear'"
        )
    axes = [normal_axis(axis, x.ndim, name) for axis in spatial_dims]
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: spatial_dims={tuple(spatial_dims)} names an axis twice")
    stretches, moves = fnp.asarray(scale), fnp.asarray(translation)
    for what, found in (("scale", stretches), ("translation", moves)):
        if found.shape != (len(axes),):
            raise ShapeError(
                f"{name}: {what} has shape {found.shape}; give one number for each of {len(axes)} axes"
            )
    for axis in range(x.ndim):
        if axis not in axes and sizes[axis] != x.shape[axis]:
            raise ShapeError(
                f"{name}: shape {sizes} changes axis {axis} of an image of shape {x.shape}, which spatial_dims "
                "does not name"
            )
    dtype = fnp.finfo(x.dtype).dtype
    for n, axis in enumerate(axes):
        weights = _weights(
            x.shape[axis],
            sizes[axis],
            stretches[n].astype(dtype),
            moves[n].astype(dtype),
            _KERNELS[chosen],
            antialias,
            dtype,
        )
        x = _spread(x, axis, weights)
    return x


def _fitting(x: Any, shape: Sequence[int], name: str) -> tuple[int, ...]:
    sizes = static_shape(shape, name)
    if len(sizes) != x.ndim:
        raise ShapeError(
            f"{name}: shape {sizes} has {len(sizes)} axes and the image of shape {x.shape} has {x.ndim}; give one "
            "size for each"
        )
    return sizes


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Array:
    """An image in another size.

    Parameters
    ----------
    image : array_like
    shape : sequence of int
        The shape of the result, of as many axes as the image has.
    method : str or ResizeMethod
        'nearest', 'linear', 'cubic', 'cubic-pytorch', 'lanczos3', 'lanczos5', 'area', or other names of
        these, such as 'bilinear' and 'bicubic'.
    antialias : bool
        Whether the kernel widens where the image shrinks.
    precision
        Accepted; of no effect.

    Returns
    -------
    Array
        Floating, but for 'nearest', which keeps the dtype. Differentiable in both modes.

    Raises
    ------
    ShapeError
        If the shape has another number of axes.
    ArgumentError
        If the method is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import image
    >>> image.resize(np.array([0.0, 4.0]), (4,), "linear")
    Array([0., 1., 3., 4.], dtype=float64)
    >>> image.resize(np.array([0, 4]), (4,), "nearest")
    Array([0, 0, 4, 4], dtype=int64)
    """
    chosen = _method(method)
    if chosen is ResizeMethod.NEAREST:
        x: Any = fnp.asarray(image)
        for axis, size in enumerate(_fitting(x, shape, "resize")):
            old = x.shape[axis]
            if size != old:
                # The old pixel in which the middle of the new one lies.
                places = [
                    static_int(((2 * i + 1) * old) // (2 * size), "resize") for i in range(size)
                ]
                x = fnp.take(x, fnp.asarray(places, dtype=fnp.int64), axis=axis)
        return x
    x = _floating(image)
    dtype = fnp.finfo(x.dtype).dtype
    for axis, size in enumerate(_fitting(x, shape, "resize")):
        old = x.shape[axis]
        if size != old:
            weights = _of_method(chosen, old, size, antialias, dtype)
            x = _spread(x, axis, weights)
    return x


_guard(_sys.modules[__name__])
