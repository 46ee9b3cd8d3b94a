"""Interpolation of samples on a grid, under the names of SciPy."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.source_info import guard_methods
from fgrad.tracing import concrete, describe_unknown

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")
_NAME = "RegularGridInterpolator"


def _method(method: Any) -> str:
    if method not in _METHODS:
        raise ArgumentError(f"{_NAME}: method is {method!r}; give 'linear' or 'nearest'")
    return str(method)


def _known(x: Any) -> Any:
    """The value of an array, or None while it is being traced."""
    found = concrete(x)
    return None if found is None else np.asarray(found)


class RegularGridInterpolator:
    """A function that is known on a grid, in between.

    Parameters
    ----------
    points : sequence of array_like
        The coordinates of the grid along each axis, ascending or descending.
    values : array_like
        The function there: as many leading axes as points, and others of each value.
    method : {'linear', 'nearest'}
        Linear along each axis, or the value at the nearest point, of two the lower one.
    bounds_error : bool
        Whether to raise where coordinates lie outside of the grid, which needs known ones.
    fill_value : array_like, optional
        What counts outside of the grid, by default NaN. With None, the outermost cells go on.

    Raises
    ------
    ShapeError
        If points and values do not fit.
    ArgumentError
        If the method is another, or points are not strictly ordered. The order of points that are
        traced cannot be seen: they must ascend.

    Notes
    -----
    Results are differentiable in both modes, to all orders, towards coordinates, values and points.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy.interpolate import RegularGridInterpolator
    >>> f = RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), np.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> f(np.array([[0.5, 1.0], [2.0, 0.0]]))
    Array([1.5, nan], dtype=float64)
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = np.nan,
    ) -> None:
        self.method = _method(method)
        self.bounds_error = bounds_error
        data: Any = fnp.asarray(values)
        data = data if fnp.issubdtype(data.dtype, fnp.inexact) else data * 1.0
        if len(points) > data.ndim:
            raise ShapeError(
                f"{_NAME}: {len(points)} arrays of points for values of shape {data.shape}; give one for each "
                "axis of the grid"
            )
        grid: list[Any] = []
        for axis, given in enumerate(points):
            ends: Any = fnp.asarray(given) * 1.0
            if ends.shape != (data.shape[axis],):
                raise ShapeError(
                    f"{_NAME}: points along axis {axis} have shape {ends.shape} and values {data.shape}; give a vector "
                    f"of {data.shape[axis]} points"
                )
            if ends.size < 2 and self.method == "linear":
                raise ShapeError(f"{_NAME}: axis {axis} has {ends.size} points; give at least two")
            known = _known(ends)
            if known is not None:
                steps = np.diff(known)
                if (steps < 0).all() and steps.size:
                    ends, data = fnp.flip(ends), fnp.flip(data, axis)
                elif not (steps > 0).all():
                    raise ArgumentError(
                        f"{_NAME}: points along axis {axis} neither ascend nor descend strictly; sort them, with the "
                        "values, and drop repeated ones"
                    )
            grid.append(ends)
        self.grid = tuple(grid)
        self.values = data
        self.fill_value = None if fill_value is None else fnp.asarray(fill_value)

    def __call__(self, xi: ArrayLike, method: str | None = None) -> Array:
        """Evaluate the function.

        Parameters
        ----------
        xi : array_like or tuple of array_like
            Coordinates along the last axis, or an array of them for each axis of the grid.
        method : {'linear', 'nearest'}, optional
            By default that of the interpolator.

        Returns
        -------
        Array
            Of the shape of one of the coordinates, followed by that of a value.

        Raises
        ------
        ShapeError
            If there are not as many coordinates as axes.
        ArgumentError
            If the method is another, or coordinates are out of bounds and `bounds_error` is set.
        """
        way = self.method if method is None else _method(method)
        if isinstance(xi, tuple):
            coordinates: Any = fnp.stack(fnp.broadcast_arrays(*xi), axis=-1) * 1.0
        else:
            coordinates = fnp.asarray(xi) * 1.0
        ndim = len(self.grid)
        if coordinates.ndim == 1 and ndim == 1:
            coordinates = coordinates[:, None]
        if not coordinates.ndim or coordinates.shape[-1] != ndim:
            raise ShapeError(
                f"{_NAME}: coordinates have shape {coordinates.shape} for a grid of {ndim} axes; give {ndim} along the "
                "last axis"
            )
        places = [coordinates[..., axis] for axis in range(ndim)]
        if self.bounds_error:
            self._check_bounds(places)
        index, share, inside, valid = [], [], True, True
        for ends, x in zip(self.grid, places, strict=True):
            i = fnp.clip(fnp.searchsorted(ends, x) - 1, 0, max(ends.size - 2, 0))
            upper = fnp.minimum(i + 1, ends.size - 1)
            width = ends[upper] - ends[i]
            share.append((x - ends[i]) / (width if ends.size > 1 else 1.0))
            index.append((i, upper))
            inside = inside & (x >= ends[0]) & (x <= ends[-1])
            valid = valid & (x == x)
        found = self._linear(index, share) if way == "linear" else self._nearest(index, share)
        trailing = (..., *(None,) * (self.values.ndim - ndim))
        if self.fill_value is not None:
            found = fnp.where(fnp.asarray(inside | ~valid)[trailing], found, self.fill_value)
        return fnp.where(fnp.asarray(valid)[trailing], found, fnp.nan)

    def _linear(self, index: Sequence[Any], share: Sequence[Any]) -> Any:
        trailing = (..., *(None,) * (self.values.ndim - len(self.grid)))
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(index)):
            weight: Any = 1.0
            for side, t in zip(corner, share, strict=True):
                weight = weight * (t if side else 1 - t)
            values = self.values[tuple(i[side] for i, side in zip(index, corner, strict=True))]
            total = total + values * fnp.asarray(weight)[trailing]
        return total

    def _nearest(self, index: Sequence[Any], share: Sequence[Any]) -> Any:
        nearest = [
            fnp.where(t <= 0.5, low, high) for (low, high), t in zip(index, share, strict=True)
        ]
        return self.values[tuple(nearest)]

    def _check_bounds(self, places: Sequence[Any]) -> None:
        for axis, (ends, x) in enumerate(zip(self.grid, places, strict=True)):
            inside = _known((x >= ends[0]) & (x <= ends[-1]) | (x != x))
            if inside is None:
                raise ArgumentError(
                    f"{_NAME}: bounds_error=True needs the coordinates, and got {describe_unknown(x)}; make the "
                    "interpolator with bounds_error=False"
                )
            if not inside.all():
                raise ArgumentError(
                    f"{_NAME}: {int((~inside).sum())} coordinates along axis {axis} lie outside of the grid, from "
                    f"{float(_known(ends)[0])} to {float(_known(ends)[-1])}; give bounds_error=False to fill them"
                )


guard_methods(RegularGridInterpolator)
