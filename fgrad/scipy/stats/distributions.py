"""What distributions share: arguments, location, scale and support, and the methods by SciPy's names."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError
from fgrad.numpy._support import ArrayLike

Function = Callable[..., Any]
_OPTIONAL = {"loc": 0, "scale": 1}


def _log(p: Any) -> Any:
    """The logarithm of probabilities, without a warning at 0."""
    return fnp.where(p == 0.0, -fnp.inf, fnp.log(fnp.where(p == 0.0, 1.0, p)))


class Distribution:
    """A distribution, whose methods are functions of NumPy's broadcasting arguments.

    Parameters
    ----------
    name : str
    shapes : str
        The names of its parameters beside `loc` and `scale`.
    optional : str
        Which of ``"loc scale"`` it has.
    functions : dict
        Of standard values and parameters: a logarithm of the density, ``"log"``, and perhaps
        ``"cdf"``, ``"sf"``, ``"logcdf"``, ``"logsf"``, ``"ppf"`` and ``"isf"``.
    support : callable
        Of the parameters, the lowest and the highest standard value; infinite by default.
    inside : callable
        Of the parameters, a standard value that the density is defined at.

    Examples
    --------
    >>> from fgrad.scipy import stats
    >>> f"{float(stats.norm.logpdf(1.0, loc=1.0, scale=2.0)):.6f}"
    '-1.612086'
    """

    def __init__(
        self,
        name: str,
        shapes: str,
        optional: str,
        functions: dict[str, Function],
        support: Function | None = None,
        inside: Function | None = None,
    ) -> None:
        self.name = name
        self._names = (*shapes.split(), *optional.split())
        self._count = len(shapes.split())
        self._functions = functions
        self._support = support
        self._inside = inside

    def __repr__(self) -> str:
        return f"<distribution {self.name}({', '.join(self._names)})>"

    def _bound(
        self, method: str, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], Any, Any]:
        """Shape parameters, location and scale, as arrays."""
        what = f"{self.name}.{method}"
        if len(args) > len(self._names):
            raise ArgumentError(
                f"{what}: takes {', '.join(self._names) or 'no parameters'}, got {len(args)} of them"
            )
        given: dict[str, Any] = dict(zip(self._names, args, strict=False))
        for key, x in kwargs.items():
            if key not in self._names or key in given:
                problem = "given twice" if key in given else "not a parameter"
                raise ArgumentError(
                    f"{what}: {key} is {problem}; it takes {', '.join(self._names)}"
                )
            given[key] = x
        missing = [n for n in self._names if n not in given and n not in _OPTIONAL]
        if missing:
            raise ArgumentError(f"{what}: {', '.join(missing)} not given")
        values = {n: fnp.asarray(given[n]) for n in self._names if n in given}
        shapes = [values[n] for n in self._names[: self._count]]
        return shapes, values.get("loc"), values.get("scale")

    def _standard(self, x: Any, loc: Any, scale: Any) -> Any:
        y = fnp.asarray(x)
        y = y if loc is None else y - loc
        return y / (1.0 if scale is None else scale)

    def _limits(self, shapes: list[Any]) -> tuple[Any, Any]:
        return (-fnp.inf, fnp.inf) if self._support is None else self._support(*shapes)

    def _kept(self, y: Any, shapes: list[Any]) -> tuple[Any, Any]:
        """Whether values lie in the support, and values that do."""
        if self._support is None:
            return None, y
        low, high = self._limits(shapes)
        within = (y >= low) & (y <= high)
        inside = 0.5 if self._inside is None else self._inside(*shapes)
        # NaN stays NaN.
        return within, fnp.where(within | (y != y), y, inside)

    def _log_density(self, method: str, x: Any, args: Any, kwargs: Any) -> Any:
        shapes, loc, scale = self._bound(method, args, kwargs)
        y = self._standard(x, loc, scale)
        within, kept = self._kept(y, shapes)
        found = self._functions["log"](kept, *shapes)
        found = found if scale is None else found - fnp.log(scale)
        return found if within is None else fnp.where(within | (y != y), found, -fnp.inf)

    def _has(self, name: str) -> Function:
        function = self._functions.get(name)
        if function is None:
            raise AttributeError(f"the distribution {self.name} has no {name}")
        return function


class Continuous(Distribution):
    """A distribution with a density. Its methods are differentiable towards all arguments.

    `loc` and `scale` move and stretch it. Slopes outside of the support are 0.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.scipy import stats
    >>> float(fgrad.grad(stats.norm.logpdf)(2.0))
    -2.0
    """

    def logpdf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Logarithm of the density at x."""
        return self._log_density("logpdf", x, args, kwargs)

    def pdf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Density at x."""
        return fnp.exp(self._log_density("pdf", x, args, kwargs))

    def _cumulated(
        self, method: str, x: Any, args: Any, kwargs: Any, ends: tuple[float, float]
    ) -> Any:
        function = self._has(method)
        shapes, loc, scale = self._bound(method, args, kwargs)
        y = self._standard(x, loc, scale)
        within, kept = self._kept(y, shapes)
        found = function(kept, *shapes)
        if within is None:
            return found
        low, _ = self._limits(shapes)
        below, above = ends
        return fnp.where(within | (y != y), found, fnp.where(y < low, below, above))

    def cdf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Probability of values up to x."""
        return self._cumulated("cdf", x, args, kwargs, (0.0, 1.0))

    def sf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Probability of values above x, accurate where it is small."""
        return self._cumulated("sf", x, args, kwargs, (1.0, 0.0))

    def logcdf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Logarithm of `cdf`."""
        if "logcdf" in self._functions:
            return self._cumulated("logcdf", x, args, kwargs, (-fnp.inf, 0.0))
        return _log(self.cdf(x, *args, **kwargs))

    def logsf(self, x: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Logarithm of `sf`."""
        if "logsf" in self._functions:
            return self._cumulated("logsf", x, args, kwargs, (0.0, -fnp.inf))
        return _log(self.sf(x, *args, **kwargs))

    def ppf(self, q: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The value up to which the probability is q, the inverse of `cdf`."""
        return self._quantile("ppf", q, args, kwargs)

    def isf(self, q: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The value above which the probability is q, the inverse of `sf`."""
        return self._quantile("isf", q, args, kwargs)

    def _quantile(self, method: str, q: Any, args: Any, kwargs: Any) -> Any:
        function = self._has(method)
        shapes, loc, scale = self._bound(method, args, kwargs)
        share = fnp.asarray(q) / 1.0
        valid = (share >= 0.0) & (share <= 1.0)
        found = function(fnp.where(valid, share, 0.5), *shapes)
        found = fnp.where(valid, found, fnp.nan)
        found = found if scale is None else found * scale
        return found if loc is None else found + loc


class Discrete(Distribution):
    """A distribution on the integers. Its methods are differentiable towards the parameters.

    `loc` moves it.

    Examples
    --------
    >>> from fgrad.scipy import stats
    >>> f"{float(stats.poisson.pmf(2, 1.5)):.6f}"
    '0.251021'
    """

    def logpmf(self, k: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Logarithm of the probability of k."""
        return self._log_density("logpmf", k, args, kwargs)

    def pmf(self, k: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Probability of k."""
        return fnp.exp(self._log_density("pmf", k, args, kwargs))

    def cdf(self, k: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """Probability of values up to k."""
        function = self._has("cdf")
        shapes, loc, _ = self._bound("cdf", args, kwargs)
        return function(fnp.floor(self._standard(k, loc, None)), *shapes)

    def ppf(self, q: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The least value up to which the probability is at least q."""
        function = self._has("ppf")
        shapes, loc, _ = self._bound("ppf", args, kwargs)
        share = fnp.asarray(q) / 1.0
        found = fnp.where((share >= 0.0) & (share <= 1.0), function(share, *shapes), fnp.nan)
        return found if loc is None else found + loc

    def entropy(self, *args: ArrayLike, **kwargs: ArrayLike) -> Array:
        """The entropy in nats, which `loc` does not change."""
        function = self._has("entropy")
        shapes, loc, _ = self._bound("entropy", args, kwargs)
        found = function(*shapes)
        return (
            found
            if loc is None
            else fnp.broadcast_to(found, fnp.broadcast_shapes(found.shape, loc.shape))
        )
