"""Minimisation under the names of SciPy, as a compiled loop that `jit` and `vmap` take."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fgrad import lax
from fgrad import numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.transforms.grad import value_and_grad

__all__ = ["OptimizeResults", "minimize"]

# Wolfe's conditions: how much of the promised decrease counts, and of the slope.
_DECREASE, _SLOPE = 1e-4, 0.9
_SEARCHES = 30
_OPTIONS = {"gtol", "maxiter", "norm"}


class OptimizeResults(NamedTuple):
    """What `minimize` returns; `status` is 0 for success, 1 for too many steps, 3 for a failed search."""

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def _search(evaluate: Callable[[Any], Any], x: Any, f: Any, g: Any, step: Any) -> Any:
    """A step length between too long, where it decreases too little, and too short, by halving."""
    slope = fnp.vdot(g, step)

    def going(state: Any) -> Any:
        return ~state[5] & (state[6] < _SEARCHES)

    def halve(state: Any) -> Any:
        t, low, high, _, _, _, k = state
        value, gradient = evaluate(x + t * step)
        # NaN counts as too long.
        long = ~(value <= f + _DECREASE * t * slope)
        short = ~long & (fnp.vdot(gradient, step) < _SLOPE * slope)
        low, high = fnp.where(short, t, low), fnp.where(long, t, high)
        found = ~long & ~short
        following = fnp.where(fnp.isinf(high), 2.0 * t, 0.5 * (low + high))
        return fnp.where(found, t, following), low, high, value, gradient, found, k + 1

    one = fnp.ones((), x.dtype)
    start = (one, 0.0 * one, fnp.inf * one, f, g, fnp.asarray(False), 0)
    return lax.while_loop(going, halve, start)


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Find a local minimum of a function of a vector.

    Parameters
    ----------
    fun : callable
        From a vector, and `args`, to a number. It is differentiated.
    x0 : array_like
        Where to begin, of one axis.
    args : tuple
        Further arguments of `fun`.
    method : {'BFGS'}
        Quasi-Newton steps with an approximate inverse Hessian, after Broyden, Fletcher, Goldfarb and
        Shanno.
    tol : float, optional
        Another name of the option ``gtol``.
    options : dict, optional
        ``gtol``, the greatest norm of the gradient that counts as zero, by default 1e-5; ``norm``, the
        order of that norm, by default inf; ``maxiter``, by default 200 times the size of x0.

    Returns
    -------
    OptimizeResults

    Raises
    ------
    ShapeError
        If `x0` is not a vector.
    ArgumentError
        If the method or an option is unknown.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.scipy import optimize
    >>> found = optimize.minimize(lambda x: fnp.sum((x - 1.0) ** 2), fnp.zeros(2), method="BFGS")
    >>> found.x.round(6), bool(found.success)
    (Array([1., 1.], dtype=float64), True)
    """
    if method.lower() != "bfgs":
        raise ArgumentError(
            f"minimize: method is {method!r}; give 'BFGS', or call scipy.optimize.minimize with jac=fgrad.grad(fun)"
        )
    given = dict(options or {})
    if not set(given) <= _OPTIONS:
        unknown = ", ".join(sorted(set(given) - _OPTIONS))
        raise ArgumentError(
            f"minimize: unknown options {unknown}; there are gtol, maxiter and norm"
        )
    x: Any = fnp.asarray(x0) * 1.0
    if x.ndim != 1:
        raise ShapeError(f"minimize: x0 has shape {x.shape}; give a vector")
    n = x.shape[0]
    gtol = given.get("gtol", 1e-5 if tol is None else tol)
    limit, order = given.get("maxiter", 200 * n), given.get("norm", fnp.inf)
    both = value_and_grad(lambda v: fun(v, *args))

    def evaluate(v: Any) -> Any:
        value, gradient = both(v)
        return fnp.asarray(value).astype(x.dtype), gradient

    def converged(g: Any) -> Any:
        return fnp.linalg.norm(g, ord=order) <= gtol

    def going(state: Any) -> Any:
        _, _, g, _, nit, _, failed = state
        return ~converged(g) & ~failed & (nit < limit)

    def step(state: Any) -> Any:
        point, f, g, inverse, nit, count, _ = state
        direction = -(inverse @ g)
        # Where rounding has spoilt the approximation, the steepest descent is a direction that goes down.
        direction = fnp.where(fnp.vdot(direction, g) < 0.0, direction, -g)
        t, _, _, value, gradient, found, tries = _search(evaluate, point, f, g, direction)
        moved, turned = t * direction, gradient - g
        curvature = fnp.vdot(turned, moved)
        usable = found & (curvature > 0.0)
        rho = fnp.where(usable, 1.0 / fnp.where(usable, curvature, 1.0), 0.0)
        left = fnp.eye(n, dtype=x.dtype) - rho * fnp.outer(moved, turned)
        updated = left @ inverse @ left.T + rho * fnp.outer(moved, moved)
        return (
            fnp.where(found, point + moved, point),
            fnp.where(found, value, f),
            fnp.where(found, gradient, g),
            fnp.where(usable, updated, inverse),
            nit + 1,
            count + tries,
            ~found,
        )

    f, g = evaluate(x)
    start = (x, f, g, fnp.eye(n, dtype=x.dtype), 0, 1, fnp.asarray(False))
    point, f, g, inverse, nit, count, failed = lax.while_loop(going, step, start)
    success: Array = converged(g)
    status = fnp.where(success, 0, fnp.where(failed, 3, 1))
    return OptimizeResults(point, success, status, f, g, inverse, count, count, nit)
