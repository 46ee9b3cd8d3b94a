"""The density of a sample, smoothed with a normal kernel."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fgrad import numpy as fnp
from fgrad import random, tree_util
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.scipy import linalg, special

Bandwidth = str | float | Callable[[Any], Any] | None


class gaussian_kde:
    """The density of a sample, smoothed with a normal kernel of the sample's own covariance.

    Parameters
    ----------
    dataset : array_like
        Of shape (d, n): n points as columns; a vector is a sample of numbers.
    bw_method : {'scott', 'silverman'}, number or callable, optional
        The rule by which the width of the kernel follows from the size of the sample, the factor
        itself, or a function that makes it of this object.
    weights : array_like, optional
        Of shape (n,).

    Raises
    ------
    ShapeError
        If there are fewer than two points, or weights do not fit.
    ArgumentError
        If the rule is another.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import stats
    >>> density = stats.gaussian_kde(np.array([0.0, 1.0]), bw_method=1.0)
    >>> f"{float(density(0.5)[0]):.6f}"
    '0.439391'
    """

    def __init__(
        self, dataset: ArrayLike, bw_method: Bandwidth = None, weights: ArrayLike | None = None
    ) -> None:
        sample: Any = fnp.atleast_2d(fnp.asarray(dataset) * 1.0)
        if sample.ndim != 2 or sample.size < 2:
            raise ShapeError(
                f"gaussian_kde: dataset has shape {sample.shape}; give at least two points, as columns"
            )
        self.dataset = sample
        self.d, self.n = sample.shape
        if weights is None:
            self.weights: Any = fnp.full((self.n,), 1.0 / self.n, sample.dtype)
        else:
            given: Any = fnp.asarray(weights)
            if given.shape != (self.n,):
                raise ShapeError(
                    f"gaussian_kde: weights have shape {given.shape}; give one for each of {self.n} points"
                )
            self.weights = given / fnp.sum(given)
        self.neff: Any = 1.0 / fnp.sum(self.weights**2)
        self.factor: Any = self._factor("scott" if bw_method is None else bw_method)
        spread: Any = fnp.atleast_2d(
            fnp.cov(sample, rowvar=True, bias=False, aweights=self.weights)
        )
        self.covariance: Any = spread * self.factor**2
        self._cholesky: Any = fnp.linalg.cholesky(self.covariance)
        self.inv_cov: Any = linalg.cho_solve(
            (self._cholesky, True), fnp.eye(self.d, dtype=sample.dtype)
        )

    def _factor(self, method: Any) -> Any:
        if callable(method):
            return method(self)
        if method == "scott":
            return self.neff ** (-1.0 / (self.d + 4))
        if method == "silverman":
            return (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))
        if isinstance(method, str):
            raise ArgumentError(
                f"gaussian_kde: bw_method is {method!r}; give 'scott', 'silverman', a number or a function"
            )
        return fnp.asarray(method)

    def _points(self, points: ArrayLike, name: str) -> Any:
        found: Any = fnp.atleast_2d(fnp.asarray(points))
        if found.shape[0] != self.d:
            if found.shape == (1, self.d):
                return found.reshape(self.d, 1)
            raise ShapeError(
                f"gaussian_kde.{name}: points of shape {found.shape} do not fit a sample of {self.d} dimensions; "
                f"give the shape ({self.d}, m)"
            )
        return found

    def logpdf(self, x: ArrayLike) -> Array:
        """Logarithm of the density at points of shape (d, m). Differentiable."""
        points = self._points(x, "logpdf")
        scaled = self._whitened(self._cholesky, points, self.dataset)
        constant = 0.5 * self.d * math.log(2.0 * math.pi) + self._log_root(self._cholesky)
        return special.logsumexp(-0.5 * scaled, axis=1, b=self.weights) - constant

    @staticmethod
    def _log_root(factor: Any) -> Any:
        return fnp.sum(fnp.log(fnp.diagonal(factor)))

    @staticmethod
    def _whitened(factor: Any, points: Any, centres: Any) -> Any:
        """Squared distances of m points to n centres."""
        left: Any = linalg.solve_triangular(factor, points, lower=True)
        right: Any = linalg.solve_triangular(factor, centres, lower=True)
        difference = left[:, :, None] - right[:, None, :]
        return fnp.sum(difference * difference, axis=0)

    def pdf(self, x: ArrayLike) -> Array:
        """Density at points of shape (d, m). Differentiable."""
        return fnp.exp(self.logpdf(x))

    evaluate = pdf
    __call__ = pdf

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times a normal density. Differentiable."""
        centre: Any = fnp.atleast_1d(fnp.asarray(mean))
        spread: Any = fnp.atleast_2d(fnp.asarray(cov))
        if centre.shape != (self.d,) or spread.shape != (self.d, self.d):
            raise ShapeError(
                f"gaussian_kde.integrate_gaussian: mean of shape {centre.shape} and cov of shape {spread.shape} do "
                f"not fit {self.d} dimensions"
            )
        factor: Any = fnp.linalg.cholesky(self.covariance + spread)
        scaled = self._whitened(factor, centre[:, None], self.dataset)
        constant = 0.5 * self.d * math.log(2.0 * math.pi) + self._log_root(factor)
        return fnp.exp(special.logsumexp(-0.5 * scaled[0], b=self.weights) - constant)

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The probability of an interval, for a sample of numbers. Differentiable."""
        if self.d != 1:
            raise ShapeError(
                f"gaussian_kde.integrate_box_1d: the sample has {self.d} dimensions; this is for one"
            )
        width = fnp.sqrt(self.covariance[0, 0])
        below = special.ndtr((fnp.asarray(low) - self.dataset[0]) / width)
        above = special.ndtr((fnp.asarray(high) - self.dataset[0]) / width)
        return fnp.sum(self.weights * (above - below))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product of two smoothed densities. Differentiable."""
        if other.d != self.d:
            raise ShapeError(
                f"gaussian_kde.integrate_kde: samples of {self.d} and {other.d} dimensions do not fit"
            )
        factor: Any = fnp.linalg.cholesky(self.covariance + other.covariance)
        scaled = self._whitened(factor, other.dataset, self.dataset)
        pairs = other.weights[:, None] * self.weights[None, :]
        constant = 0.5 * self.d * math.log(2.0 * math.pi) + self._log_root(factor)
        return fnp.exp(special.logsumexp(-0.5 * scaled, b=pairs) - constant)

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Array:
        """Points drawn from the density, of shape (d, *shape)."""
        chosen, moved = random.split(key)
        places: Any = random.choice(chosen, self.n, shape, p=self.weights)
        steps: Any = random.normal(moved, (self.d, *shape), self.dataset.dtype)
        turned: Any = fnp.tensordot(self._cholesky, steps, 1)
        return self.dataset[:, places] + turned


def _flatten(kde: gaussian_kde) -> tuple[tuple[Any, ...], tuple[int, int]]:
    parts = (
        kde.dataset,
        kde.weights,
        kde.neff,
        kde.factor,
        kde.covariance,
        kde._cholesky,
        kde.inv_cov,
    )
    return parts, (kde.d, kde.n)


def _unflatten(sizes: tuple[int, int], parts: tuple[Any, ...]) -> gaussian_kde:
    kde = object.__new__(gaussian_kde)
    kde.d, kde.n = sizes
    kde.dataset, kde.weights, kde.neff, kde.factor, kde.covariance, kde._cholesky, kde.inv_cov = (
        parts
    )
    return kde


tree_util.register_pytree_node(gaussian_kde, _flatten, _unflatten)
