"""Images sampled between their pixels, under the names of SciPy."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, static_int

__all__ = ["map_coordinates"]

_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _within(index: Any, size: int, mode: str) -> Any:
    """Where an index beyond an edge leads to."""
    if mode == "wrap":
        return index % size
    if mode == "mirror":
        # abcd|cba: edges are not repeated.
        around = max(2 * (size - 1), 1)
        folded = index % around
        return fnp.minimum(folded, around - folded) if size > 1 else index * 0
    if mode == "reflect":
        # abcd|dcba: edges are repeated.
        folded = index % (2 * size)
        return fnp.minimum(folded, 2 * size - 1 - folded)
    return fnp.clip(index, 0, size - 1)


def _corners(coordinate: Any, order: int) -> list[tuple[Any, Any]]:
    """The neighbouring pixels along an axis, with their weights."""
    if order == 0:
        return [(fnp.round(coordinate).astype(int), None)]
    low: Any = fnp.floor(coordinate)
    share = coordinate - low
    first = low.astype(int)
    return [(first, 1.0 - share), (first + 1, share)]


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike] | ArrayLike,
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """The values of an image at places between its pixels.

    Parameters
    ----------
    input : array_like
    coordinates : sequence of array_like
        One array for each axis of the image, all of one shape: where to sample.
    order : {0, 1}
        Whether to take the nearest pixel, or to interpolate linearly.
    mode : {'constant', 'nearest', 'wrap', 'mirror', 'reflect'}
        What lies beyond the edges: `cval`, the pixel at the edge, the image again, or its mirror
        image, without or with the edge.
    cval : array_like
        A number.

    Returns
    -------
    Array
        Of the shape of one of the coordinates and the dtype of the image. Differentiable in both
        modes towards the image, and towards the coordinates by the slopes between pixels.

    Raises
    ------
    ShapeError
        If there are not as many coordinates as axes.
    ArgumentError
        If the order or the mode is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import ndimage
    >>> ndimage.map_coordinates(np.array([0.0, 10.0, 20.0]), [np.array([0.5, 1.25])], order=1)
    Array([ 5. , 12.5], dtype=float64)
    """
    name = "map_coordinates"
    image: Any = fnp.asarray(input)
    places: list[Any] = [fnp.asarray(c) for c in coordinates]
    degree = static_int(order, f"{name}: order")
    if degree not in (0, 1):
        raise ArgumentError(f"{name}: order is {degree}; give 0 or 1")
    if mode not in _MODES:
        raise ArgumentError(f"{name}: mode is {mode!r}; give one of {', '.join(map(repr, _MODES))}")
    if len(places) != image.ndim:
        raise ShapeError(
            f"{name}: got {len(places)} arrays of coordinates for an image of shape {image.shape}; give one for each "
            "axis"
        )
    fill: Any = fnp.asarray(cval).astype(image.dtype)
    total: Any = None
    axes = [_corners(place, degree) for place in places]
    for corner in itertools.product(*axes):
        index = tuple(
            _within(i, size, mode) for (i, _), size in zip(corner, image.shape, strict=True)
        )
        value = image[index]
        if mode == "constant":
            inside: Any = fnp.asarray(True)
            for (i, _), size in zip(corner, image.shape, strict=True):
                inside = inside & (i >= 0) & (i < size)
            value = fnp.where(inside, value, fill)
        for _, weight in corner:
            value = value if weight is None else value * weight
        total = value if total is None else total + value
    if fnp.issubdtype(image.dtype, fnp.integer) and not fnp.issubdtype(total.dtype, fnp.integer):
        total = fnp.round(total)
    return total.astype(image.dtype)
