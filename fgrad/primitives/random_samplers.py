"""Draws by rejection: gamma, Poisson and binomial numbers, by NumPy's samplers.

Keys of either implementation start NumPy's Philox generator, so that a draw is a pure function of its
key and its parameters. The number of random bits that a draw takes differs from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, Shape, aval_of
from fgrad.errors import NonDifferentiableError
from fgrad.parameters import parameters
from fgrad.primitives import gamma_quantile as quantile
from fgrad.primitives import philox
from fgrad.primitives.families import (
    General,
    NonDifferentiable,
    absorbing_product,
    creation_is_staged,
    match_aval,
)
from fgrad.primitives.shape import batched_operands
from fgrad.primitives.special import SpecialFunction
from fgrad.tracing import Primitive, derivative_rules

NDArray = np.ndarray[Any, Any]

# NumPy's samplers take no greater means and counts.
_GREATEST = 9.2e18


Sources = Iterator[np.random.Generator]


def _rows(sources: Sources, out: NDArray, *params: NDArray) -> Iterator[tuple[Any, ...]]:
    """Each row of `out`, with its source and its parameters: numbers where all are one.

    NumPy's samplers take twenty microseconds to start on arrays, and two on numbers.
    """
    constant = np.logical_and.reduce([(x == x[:, :1]).all(axis=1) for x in params]).tolist()
    for n, (row, source) in enumerate(zip(out, sources, strict=True)):
        if constant[n]:
            yield row, source, *[x[n, 0].item() for x in params]
        else:
            yield row, source, *[x[n] for x in params]


class _Sampler(Primitive):
    """What draws of both families share: one for each element of the parameters.

    The leading axes of the parameters are those of the batch of keys.
    """

    creates = True
    shape: Shape

    def staged(self) -> bool:
        """Whether a body that is being recorded takes in the draw from a known key."""
        return creation_is_staged(self.shape)

    def draw(self, sources: Sources, *params: NDArray) -> NDArray:
        """The draws, one row for each source, for parameters of such rows in float64."""
        raise NotImplementedError

    def result_dtype(self, params: Sequence[Aval]) -> np.dtype[Any]:
        """The dtype of the draws."""
        return params[0].dtype

    def abstract_eval(self, keys: Aval, *params: Aval) -> Aval:  # type: ignore[override]
        return Aval((*keys.shape[:-1], *self.shape), self.result_dtype(params))

    def impl(self, keys: Any, *params: Any) -> Any:
        shape = (*keys.shape[:-1], *self.shape)
        dtype = self.result_dtype([aval_of(x) for x in params])
        if 0 in shape:
            return np.empty(shape, dtype)
        rows = keys.reshape(-1, keys.shape[-1])
        flat = [np.asarray(x, np.float64).reshape(len(rows), -1) for x in params]
        draws = self.draw(philox.samplers(rows), *flat)
        return np.asarray(draws).astype(dtype, copy=False).reshape(shape)[()]

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(*batched_operands(size, args, mapped)), True


# ---- gamma numbers -------------------------------------------------------------------------------


def _unknown(z: Any, *xs: Any) -> Any:
    raise NonDifferentiableError(
        "the third derivative of draws of gamma, beta, dirichlet and t numbers towards their shapes is not "
        "known; pass fgrad.lax.stop_gradient(a) where it is not wanted"
    )


def _in_dtype(function: Callable[..., NDArray]) -> Callable[..., Any]:
    """A function in float64, whose result has the dtype that its operands promote to."""

    def run(*values: Any) -> Any:
        return function(*values).astype(np.result_type(*values))[()]

    return run


def _slope(
    name: str, function: Callable[..., NDArray], *partials: Callable[..., NDArray]
) -> SpecialFunction:
    parts = [
        SpecialFunction(f"{name}_by_{which}", "ff", [_unknown, _unknown], _in_dtype(partial))
        for which, partial in zip("ax", partials, strict=True)
    ]
    rules = [lambda z, a, x, part=part: part(a, x) for part in parts]
    return SpecialFunction(name, "ff", rules, _in_dtype(function))


#: The slopes of a draw and of its logarithm towards the shape, at a fixed level of the distribution.
gamma_draw_slope: SpecialFunction = _slope(
    "gamma_draw_slope", quantile.slope, quantile.slope_by_a, quantile.slope_by_x
)
log_gamma_draw_slope: SpecialFunction = _slope(
    "log_gamma_draw_slope", quantile.log_slope, quantile.log_slope_by_a, quantile.log_slope_by_y
)


@parameters
class RandomGamma(_Sampler, General):
    """Gamma numbers of scale 1, or their logarithms.   u32[*b,words] f[*b,*shape] -> f[*b,*shape]

    Their derivative towards a is that of the quantile function, and so is the second one.
    """

    shape: Shape
    logarithms: bool

    def draw(self, sources: Sources, *params: NDArray) -> NDArray:
        (a,) = params
        known = (a > 0) & np.isfinite(a)
        form = np.where(known, a, 1.0)
        draws = np.empty(a.shape)
        if self.logarithms:
            # By x = x' u^(1/a), where x' has the shape a + 1: x itself may be too small for a number.
            u = np.empty(a.shape)
            for u_row, (row, source, own) in zip(u, _rows(sources, draws, form + 1.0), strict=True):
                source.standard_gamma(own, out=row)
                source.random(out=u_row)
            draws = np.asarray(np.log(draws) + np.log1p(-u) / form)
            limits = np.where(a == 0, -np.inf, np.where(a == np.inf, np.inf, np.nan))
        else:
            for row, source, own in _rows(sources, draws, form):
                source.standard_gamma(own, out=row)
            limits = np.where((a == 0) | (a == np.inf), a, np.nan)
        return np.where(known, draws, limits)

    def _slope(self, answer: Any, a: Any) -> Any:
        return (log_gamma_draw_slope if self.logarithms else gamma_draw_slope)(a, answer)

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        tangent = tangents[1]
        if tangent is None:
            return None
        with derivative_rules():
            product = absorbing_product(tangent, self._slope(answer, primals[1]))
        return match_aval(product, aval_of(answer))

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return True, (False, True)

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        slope = self._slope(answer, args[1])
        return None, match_aval(absorbing_product(ct, slope), aval_of(args[1]))


# ---- counts --------------------------------------------------------------------------------------


@parameters
class RandomPoisson(_Sampler, NonDifferentiable):
    """Poisson counts; -1 where the mean is none.   u32[*b,words] f[*b,*shape] -> i[*b,*shape]"""

    shape: Shape
    dtype: np.dtype[Any]

    def result_dtype(self, params: Sequence[Aval]) -> np.dtype[Any]:
        return self.dtype

    def draw(self, sources: Sources, *params: NDArray) -> NDArray:
        (mean,) = params
        known = mean >= 0
        means = np.where(known, np.minimum(mean, _GREATEST), 0.0)
        counts = np.empty(mean.shape, np.int64)
        for row, source, own in _rows(sources, counts, means):
            row[:] = source.poisson(own, len(row))
        counts = np.where(mean > _GREATEST, np.iinfo(np.int64).max, counts)
        counts = np.minimum(counts, min(np.iinfo(self.dtype).max, np.iinfo(np.int64).max))
        return np.asarray(np.where(known, counts, -1).astype(self.dtype))


def _trials(n: NDArray, p: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Whether n and p make sense, and both as NumPy's sampler takes them."""
    known = (n >= 0) & (p >= 0) & (p <= 1)
    trials = np.where(known, np.minimum(np.floor(n), _GREATEST), 0.0).astype(np.int64)
    return known, trials, np.where(known, p, 0.0)


@parameters
class RandomBinomial(_Sampler, NonDifferentiable):
    """Binomial counts, as floats.   u32[*b,words] f[*b,*shape] f[*b,*shape] -> f[*b,*shape]"""

    shape: Shape

    def draw(self, sources: Sources, *params: NDArray) -> NDArray:
        n, p = params
        known, trials, chances = _trials(n, p)
        counts = np.empty(n.shape)
        for row, source, own, chance in _rows(sources, counts, trials, chances):
            row[:] = source.binomial(own, chance, len(row))
        return np.where(known, np.where(np.isinf(n) & (p > 0), np.inf, counts), np.nan)


@parameters
class RandomMultinomial(NonDifferentiable):
    """Counts of categories along the last axis.   u32[*b,words] f[*b,*s] f[*b,*s,n] -> f[*b,*s,n]"""

    shape: Shape
    creates = True

    def staged(self) -> bool:
        """Whether a body that is being recorded takes in the draw from a known key."""
        return creation_is_staged(self.shape)

    def abstract_eval(self, keys: Aval, n: Aval, p: Aval) -> Aval:  # type: ignore[override]
        return p

    def impl(self, keys: Any, n: Any, p: Any) -> Any:
        out = np.empty(p.shape, p.dtype)
        if not out.size:
            return out
        words, categories = keys.reshape(-1, keys.shape[-1]), p.shape[-1]
        rows = out.reshape(len(words), -1, categories)
        shares = np.asarray(p, np.float64).reshape(rows.shape)
        # What is left when a category is drawn, summed from the back, so that small rests are exact.
        left = np.cumsum(shares[..., ::-1], axis=-1)[..., ::-1]
        odds = np.divide(shares, left, out=np.zeros(shares.shape), where=left > 0)
        known, trials, _ = _trials(np.asarray(n, np.float64).reshape(rows.shape[:-1]), odds[..., 0])
        np.minimum(odds, 1.0, out=odds)
        for row, rest, chances, source in zip(
            rows, trials, odds, philox.samplers(words), strict=True
        ):
            for place in range(categories):
                row[:, place] = counts = source.binomial(rest, chances[:, place])
                rest = rest - counts
        rows[~known] = np.nan
        return out

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(*batched_operands(size, args, mapped)), True
