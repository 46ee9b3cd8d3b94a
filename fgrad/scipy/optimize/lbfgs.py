"""Quasi-Newton steps from the last few steps alone, in memory that grows with the vector."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

from fgrad import lax
from fgrad import numpy as fnp
from fgrad.scipy.optimize.line_search import search
from fgrad.scipy.optimize.results import Evaluate, OptimizeResults, is_flat, with_defaults


def _direction(g: Any, moves: Any, turns: Any, rhos: Any, scale: Any) -> Any:
    """Minus the approximate inverse Hessian times the gradient, by Nocedal's two loops."""
    size = len(rhos)
    weights: list[Any] = [None] * size
    q = g
    # What is not filled yet has rho 0, and changes nothing.
    for i in reversed(range(size)):
        weights[i] = rhos[i] * fnp.vdot(moves[i], q)
        q = q - weights[i] * turns[i]
    q = scale * q
    for i in range(size):
        q = q + (weights[i] - rhos[i] * fnp.vdot(turns[i], q)) * moves[i]
    return -q


def lbfgs(evaluate: Evaluate, x: Any, given: dict[str, Any]) -> OptimizeResults:
    """Minimise from a vector x."""
    n = x.shape[0]
    defaults = {
        "gtol": 1e-5,
        "ftol": 2.220446049250313e-09,
        "norm": fnp.inf,
        "maxcor": 10,
        "maxiter": max(15000, 200 * n),
        "maxfun": fnp.inf,
        "maxgrad": fnp.inf,
        "maxls": 30,
    }
    options = with_defaults(given, defaults)
    size = int(options["maxcor"])

    def converged(g: Any) -> Any:
        return is_flat(g, options["norm"], options["gtol"])

    def going(state: Any) -> Any:
        *_, nit, count, level, failed = state
        few = (nit < options["maxiter"]) & (count < options["maxfun"])
        return ~converged(state[2]) & ~level & ~failed & few & (count < options["maxgrad"])

    def step(state: Any) -> Any:
        point, f, g, moves, turns, rhos, scale, nit, count, _, _ = state
        direction = _direction(g, moves, turns, rhos, scale)
        # Where rounding has spoilt the approximation, the steepest descent is a direction that goes down.
        direction = fnp.where(fnp.vdot(direction, g) < 0.0, direction, -scale * g)
        t, value, gradient, found, tries = search(
            evaluate, point, f, g, direction, options["maxls"]
        )
        moved, turned = t * direction, gradient - g
        curvature, bend = fnp.vdot(turned, moved), fnp.vdot(turned, turned)
        usable = found & (curvature > 0.0)
        rho = fnp.where(usable, 1.0 / fnp.where(usable, curvature, 1.0), 0.0)
        gain = (f - value) / fnp.maximum(fnp.maximum(fnp.abs(f), fnp.abs(value)), 1.0)

        def appended(history: Any, last: Any) -> Any:
            new = fnp.concatenate([history[1:], fnp.reshape(last, (1, *history.shape[1:]))])
            return fnp.where(usable, new, history)

        return (
            fnp.where(found, point + moved, point),
            fnp.where(found, value, f),
            fnp.where(found, gradient, g),
            appended(moves, moved),
            appended(turns, turned),
            appended(rhos, rho),
            fnp.where(usable, curvature / fnp.where(usable, bend, 1.0), scale),
            nit + 1,
            count + tries,
            found & (gain <= options["ftol"]),
            ~found,
        )

    f, g = evaluate(x)
    # A first step of at most length one.
    scale = 1.0 / fnp.maximum(fnp.linalg.norm(g), 1.0)
    history = fnp.zeros((size, n), x.dtype)
    no = fnp.asarray(False)
    start = (x, f, g, history, history, fnp.zeros(size, x.dtype), scale, 0, 1, no, no)
    point, f, g, _, _, _, _, nit, count, level, failed = lax.while_loop(going, step, start)
    success = converged(g) | level
    status = fnp.where(success, 0, fnp.where(failed, 3, 1))
    return OptimizeResults(point, success, status, f, g, None, count, count, nit)
