"""How far to go along a direction: Wolfe's conditions, by doubling and halving."""

from __future__ import annotations

from typing import Any

from fgrad import lax
from fgrad import numpy as fnp
from fgrad.scipy.optimize.results import Evaluate

# How much of the promised decrease counts, and of the slope.
_DECREASE, _SLOPE = 1e-4, 0.9


def search(evaluate: Evaluate, x: Any, f: Any, g: Any, direction: Any, tries: Any) -> Any:
    """A length between too long, where it decreases too little, and too short, by halving.

    Returns the length, the function and its gradient there, whether it meets the conditions, and how
    often the function was evaluated.
    """
    slope = fnp.vdot(g, direction)

    def going(state: Any) -> Any:
        return ~state[5] & (state[6] < tries)

    def halve(state: Any) -> Any:
        t, low, high, _, _, _, k = state
        value, gradient = evaluate(x + t * direction)
        # NaN counts as too long.
        long = ~(value <= f + _DECREASE * t * slope)
        short = ~long & (fnp.vdot(gradient, direction) < _SLOPE * slope)
        low, high = fnp.where(short, t, low), fnp.where(long, t, high)
        found = ~long & ~short
        following = fnp.where(fnp.isinf(high), 2.0 * t, 0.5 * (low + high))
        return fnp.where(found, t, following), low, high, value, gradient, found, k + 1

    one = fnp.ones((), x.dtype)
    start = (one, 0.0 * one, fnp.inf * one, f, g, fnp.asarray(False), 0)
    t, _, _, value, gradient, found, count = lax.while_loop(going, halve, start)
    return t, value, gradient, found, count
