"""Distributions of vectors, under the names of SciPy."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from typing import Any

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.scipy import linalg, special


class MultivariateNormal:
    """The normal distribution of vectors. Differentiable towards all arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import stats
    >>> f"{float(stats.multivariate_normal.logpdf(np.zeros(2), np.zeros(2), np.eye(2))):.6f}"
    '-1.837877'
    """

    def logpdf(
        self,
        x: ArrayLike,
        mean: ArrayLike | None = None,
        cov: ArrayLike | None = None,
        allow_singular: bool | None = None,
    ) -> Array:
        """Logarithm of the density.

        Parameters
        ----------
        x : array_like
            Of shape (..., n).
        mean : array_like, optional
            Of shape (..., n), or a number; 0 by default.
        cov : array_like, optional
            Positive definite, of shape (..., n, n), or a variance that all elements have; 1 by default.
        allow_singular : bool, optional
            Only False: densities need a regular matrix.

        Returns
        -------
        Array
            One number for each vector.

        Raises
        ------
        LinAlgError
            If the covariance is not positive definite.
        """
        name = "multivariate_normal.logpdf"
        if allow_singular:
            raise ArgumentError(
                f"{name}: allow_singular=True is not supported; give a regular matrix"
            )
        centre: Any = fnp.asarray(0.0 if mean is None else mean)
        points: Any = fnp.asarray(x)
        spread: Any = fnp.asarray(1.0 if cov is None else cov)
        if spread.ndim == 1 or (spread.ndim > 1 and spread.shape[-1] != spread.shape[-2]):
            raise ShapeError(f"{name}: cov has shape {spread.shape}; give a number, or (..., n, n)")
        if not centre.ndim and not spread.ndim:
            # Without axes, every element is a vector of its own.
            deviation = points - centre
            return -0.5 * (deviation * deviation / spread + fnp.log(2.0 * math.pi * spread))
        n = centre.shape[-1] if centre.ndim else spread.shape[-1]
        if not points.ndim or points.shape[-1] != n or (spread.ndim and spread.shape[-1] != n):
            raise ShapeError(
                f"{name}: x of shape {points.shape}, mean of shape {centre.shape} and cov of shape {spread.shape} do "
                f"not fit; give x the shape (..., {n})"
            )
        deviation = points - centre
        if not spread.ndim:
            squares = fnp.sum(deviation * deviation, axis=-1) / spread
            return -0.5 * (squares + n * fnp.log(2.0 * math.pi * spread))
        factor: Any = fnp.linalg.cholesky(spread)
        lead = fnp.broadcast_shapes(deviation.shape[:-1], factor.shape[:-2])
        side = fnp.broadcast_to(deviation, (*lead, n))
        if factor.ndim == 2:
            # One matrix for all vectors: they are columns of one system.
            columns: Any = linalg.solve_triangular(factor, side.reshape(-1, n).T, lower=True)
            squares = fnp.sum(columns * columns, axis=0).reshape(lead)
        else:
            factors = fnp.broadcast_to(factor, (*lead, n, n))
            scaled: Any = linalg.solve_triangular(factors, side[..., None], lower=True)
            squares = fnp.sum(scaled * scaled, axis=(-2, -1))
        logs = fnp.sum(fnp.log(fnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
        return -0.5 * (squares + n * math.log(2.0 * math.pi)) - logs

    def pdf(
        self, x: ArrayLike, mean: ArrayLike | None = None, cov: ArrayLike | None = None
    ) -> Array:
        """Density: see `logpdf`."""
        return fnp.exp(self.logpdf(x, mean, cov))


class Dirichlet:
    """The distribution of vectors that sum to one. Differentiable towards all arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import stats
    >>> f"{float(stats.dirichlet.pdf(np.array([0.5, 0.5]), np.ones(2))):.6f}"
    '1.000000'
    """

    def logpdf(self, x: ArrayLike, alpha: ArrayLike) -> Array:
        """Logarithm of the density.

        Parameters
        ----------
        x : array_like
            Of shape (n, ...), or of (n - 1, ...), where the last element follows from the others.
        alpha : array_like
            Of shape (n,).

        Returns
        -------
        Array
            -inf where x is not on the simplex.

        Raises
        ------
        ShapeError
            If the shapes do not fit.
        """
        points: Any = fnp.asarray(x)
        weights: Any = fnp.asarray(alpha)
        n = weights.shape[0] if weights.ndim == 1 else -1
        if n < 0 or not points.ndim or points.shape[0] not in (n, n - 1):
            raise ShapeError(
                f"dirichlet.logpdf: x of shape {points.shape} and alpha of shape {weights.shape} do not fit; give "
                "shapes (n, ...) and (n,)"
            )
        if points.shape[0] == n - 1:
            rest = 1.0 - fnp.sum(points, axis=0, keepdims=True)
            points = fnp.concatenate([points, rest], axis=0)
        constant = fnp.sum(special.gammaln(weights)) - special.gammaln(fnp.sum(weights))
        powers: Any = weights.reshape(n, *(1,) * (points.ndim - 1))
        simplex = fnp.all(points > 0.0, axis=0) & (abs(fnp.sum(points, axis=0) - 1.0) < 1e-6)
        safe = fnp.where(points > 0.0, points, 1.0)
        found = fnp.sum(special.xlogy(powers - 1.0, safe), axis=0) - constant
        return fnp.where(simplex, found, -fnp.inf)

    def pdf(self, x: ArrayLike, alpha: ArrayLike) -> Array:
        """Density: see `logpdf`."""
        return fnp.exp(self.logpdf(x, alpha))


class Multinomial:
    """The distribution of counts of n draws. Differentiable towards the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy import stats
    >>> f"{float(stats.multinomial.pmf(np.array([1, 1]), 2, np.array([0.5, 0.5]))):.6f}"
    '0.500000'
    """

    def logpmf(self, x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
        """Logarithm of the probability.

        Parameters
        ----------
        x : array_like of int
            Counts along the last axis.
        n : array_like of int
            How many draws there are.
        p : array_like
            Probabilities along the last axis.

        Returns
        -------
        Array
            -inf where the counts do not sum to n.
        """
        counts: Any = fnp.asarray(x)
        shares: Any = fnp.asarray(p)
        draws: Any = fnp.asarray(n)
        floats = counts * 1.0
        found = special.gammaln(draws + 1.0) + fnp.sum(
            special.xlogy(floats, shares) - special.gammaln(floats + 1.0), axis=-1
        )
        return fnp.where(fnp.sum(counts, axis=-1) == draws, found, -fnp.inf)

    def pmf(self, x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
        """Probability: see `logpmf`."""
        return fnp.exp(self.logpmf(x, n, p))


multivariate_normal: MultivariateNormal = MultivariateNormal()
dirichlet: Dirichlet = Dirichlet()
multinomial: Multinomial = Multinomial()
