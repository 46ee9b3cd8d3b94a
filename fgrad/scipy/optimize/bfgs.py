"""Quasi-Newton steps with an approximate inverse Hessian, after Broyden, Fletcher, Goldfarb and Shanno."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

from fgrad import lax
from fgrad import numpy as fnp
from fgrad.scipy.optimize.line_search import search
from fgrad.scipy.optimize.results import Evaluate, OptimizeResults, is_flat, with_defaults


def bfgs(evaluate: Evaluate, x: Any, given: dict[str, Any]) -> OptimizeResults:
    """Minimise from a vector x."""
    n = x.shape[0]
    options = with_defaults(
        given, {"gtol": 1e-5, "norm": fnp.inf, "maxiter": 200 * n, "line_search_maxiter": 30}
    )

    def converged(g: Any) -> Any:
        return is_flat(g, options["norm"], options["gtol"])

    def going(state: Any) -> Any:
        _, _, g, _, nit, _, failed = state
        return ~converged(g) & ~failed & (nit < options["maxiter"])

    def step(state: Any) -> Any:
        point, f, g, inverse, nit, count, _ = state
        direction = -(inverse @ g)
        # Where rounding has spoilt the approximation, the steepest descent is a direction that goes down.
        direction = fnp.where(fnp.vdot(direction, g) < 0.0, direction, -g)
        t, value, gradient, found, tries = search(
            evaluate, point, f, g, direction, options["line_search_maxiter"]
        )
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
    success = converged(g)
    status = fnp.where(success, 0, fnp.where(failed, 3, 1))
    return OptimizeResults(point, success, status, f, g, inverse, count, count, nit)
