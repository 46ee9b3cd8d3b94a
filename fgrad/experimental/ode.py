"""Ordinary differential equations, with gradients by the adjoint equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import fgrad.numpy as fnp
from fgrad.array import wrap
from fgrad.errors import ArgumentError
from fgrad.flatten_util import ravel_pytree
from fgrad.numpy._support import operand
from fgrad.source_info import boundary
from fgrad.tracing import concrete
from fgrad.transforms.closure_convert import closure_convert
from fgrad.transforms.custom_vjp import custom_vjp
from fgrad.transforms.loops import scan, while_loop
from fgrad.transforms.vjp import vjp
from fgrad.transforms.vmap import vmap

__all__ = ["odeint"]

PyTree = Any

# The pair of orders 5 and 4 of J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta
# formulae", J. Comp. Appl. Math. 6 (1980).
_TIMES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    71 / 57600,
    0.0,
    -71 / 16695,
    71 / 1920,
    -17253 / 339200,
    22 / 525,
    -1 / 40,
)
# The continuous extension of order 4 of E. Hairer, S. P. Norsett and G. Wanner, "Solving Ordinary
# Differential Equations I", section II.6.
_DENSE = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0


def _combined(weights: Any, slopes: Any) -> Any:
    total = None
    for weight, slope in zip(weights, slopes, strict=True):
        if weight:
            term = weight * slope
            total = term if total is None else total + term
    return total


def _step(func: Any, y: Any, f: Any, t: Any, dt: Any, args: Any) -> tuple[Any, Any, Any, Any]:
    """One step: the new state, its slope, the estimated error, and the dense output."""
    slopes = [f]
    state = y
    for time, weights in zip(_TIMES[1:], _STAGES[1:], strict=True):
        state = y + dt * _combined(weights, slopes)
        slopes.append(func(state, t + time * dt, *args))
    first = state - y
    second = dt * slopes[0] - first
    third = first - dt * slopes[-1] - second
    dense = fnp.stack([y, first, second, third, dt * _combined(_DENSE, slopes)])
    return state, slopes[-1], dt * _combined(_ERROR, slopes), dense


def _between(dense: Any, theta: Any) -> Any:
    """The state at a share `theta` of the last step."""
    start, first, second, third, fourth = dense
    rest = 1.0 - theta
    return start + theta * (first + rest * (second + theta * (third + rest * fourth)))


def _norm(x: Any, scale: Any) -> Any:
    return fnp.sqrt(fnp.mean((x / scale) ** 2)) if x.size else fnp.sum(x)


def _first_step(func: Any, y: Any, f: Any, t: Any, args: Any, rtol: float, atol: float) -> Any:
    """A step for which an explicit Euler step is about as accurate as asked (Hairer et al., II.4)."""
    scale = atol + rtol * fnp.abs(y)
    size, slope = _norm(y, scale), _norm(f, scale)
    small = (size < 1e-5) | (slope < 1e-5)
    guess = fnp.where(small, 1e-6, 0.01 * size / fnp.where(small, 1.0, slope))
    change = _norm(func(y + guess * f, t + guess, *args) - f, scale) / guess
    largest = fnp.maximum(slope, change)
    flat = largest <= 1e-15
    fitting = (0.01 / fnp.where(flat, 1.0, largest)) ** (1.0 / 5.0)
    return fnp.minimum(100.0 * guess, fnp.where(flat, fnp.maximum(1e-6, guess * 1e-3), fitting))


def _solve(
    func: Any, rtol: float, atol: float, mxstep: float, hmax: float, y0: Any, ts: Any, *args: Any
) -> Any:
    """The states at all times, for a state that is a vector."""

    def to_next(carry: Any, target: Any) -> tuple[Any, Any]:
        def runs(state: Any) -> Any:
            count, _, _, t, dt, _, _ = state
            return (t < target) & (count < mxstep) & (dt > 0.0)

        def advance(state: Any) -> Any:
            count, y, f, t, dt, last, dense = state
            new_y, new_f, error, new_dense = _step(func, y, f, t, dt, args)
            scale = atol + rtol * fnp.maximum(fnp.abs(y), fnp.abs(new_y))
            ratio = _norm(error, scale)
            factor = fnp.where(ratio == 0.0, _GROW, _SAFETY * fnp.maximum(ratio, 1e-30) ** -0.2)
            factor = fnp.clip(factor, fnp.where(ratio < 1.0, 1.0, _SHRINK), _GROW)
            new_dt = fnp.minimum(dt * factor, hmax).astype(dt.dtype)
            accepted = ratio <= 1.0
            moved = (new_y, new_f, t + dt, new_dt, t, new_dense)
            stayed = (y, f, t, new_dt, last, dense)
            chosen = [fnp.where(accepted, a, b) for a, b in zip(moved, stayed, strict=True)]
            return (count + 1, *chosen)

        _, *state = while_loop(runs, advance, (0, *carry))
        _, _, t, _, last, dense = state
        theta = (target - last) / fnp.where(t > last, t - last, 1.0)
        # A solution that could not be followed to this time has no value here.
        reached = fnp.where(t >= target, _between(dense, theta), math.nan)
        return tuple(state), reached

    start = ts[0]
    f0 = func(y0, start, *args)
    dt = fnp.minimum(_first_step(func, y0, f0, start, args, rtol, atol), hmax).astype(ts.dtype)
    dense = fnp.stack([y0, *[fnp.zeros_like(y0)] * 4])
    _, states = scan(to_next, (y0, f0, start, dt, start, dense), ts[1:])
    return fnp.concatenate([y0[None], states])


_solution = custom_vjp(_solve, nondiff_argnums=(0, 1, 2, 3, 4))


def _forward(
    func: Any, rtol: float, atol: float, mxstep: float, hmax: float, y0: Any, ts: Any, *args: Any
) -> tuple[Any, Any]:
    states = _solution(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return states, (states, ts, args)


def _backward(
    func: Any, rtol: float, atol: float, mxstep: float, hmax: float, kept: Any, cts: Any
) -> tuple[Any, ...]:
    """The adjoint equation, from one time back to the one before.

    L. S. Pontryagin et al., "The Mathematical Theory of Optimal Processes" (1962).
    """
    states, ts, args = kept
    count = states.shape[1]

    def adjoint(joined: Any, time: Any, *args: Any) -> Any:
        y, ct = joined[:count], joined[count : 2 * count]
        slope, pullback = vjp(func, y, -time, *args)
        ct_y, _, *ct_args = pullback(ct)
        return fnp.concatenate([-slope, ct_y, *[a.ravel() for a in ct_args]]).astype(joined.dtype)

    def to_previous(carry: Any, row: Any) -> tuple[Any, Any]:
        ct_y, ct_args = carry
        y, ct, ct_before, t, before = row
        ct_time = fnp.dot(func(y, t, *args), ct)
        joined = fnp.concatenate([y, ct_y, ct_args])
        times = fnp.stack([-t, -before])
        joined = _solution(adjoint, rtol, atol, mxstep, hmax, joined, times, *args)[1]
        ct_y = joined[count : 2 * count] + ct_before
        return (ct_y, joined[2 * count :]), ct_time

    sizes = [fnp.size(a) for a in args]
    ct_args = fnp.zeros(sum(sizes), states.dtype)
    rows = (states[1:], cts[1:], cts[:-1], ts[1:], ts[:-1])
    (ct_y, ct_args), ct_times = scan(to_previous, (cts[-1], ct_args), rows, reverse=True)
    # A later start leaves out the first piece of the way.
    ct_first = fnp.dot(func(states[0], ts[0], *args), ct_y - cts[0])
    parts = fnp.split(ct_args, np.cumsum(sizes)[:-1].tolist()) if args else []
    shaped = [p.reshape(fnp.shape(a)).astype(a.dtype) for p, a in zip(parts, args, strict=True)]
    ct_ts = fnp.concatenate([-ct_first[None], ct_times]).astype(ts.dtype)
    return (ct_y, ct_ts, *shaped)


_solution.defvjp(_forward, _backward)


def _vector(tree: PyTree) -> tuple[Any, Callable[[Any], PyTree]]:
    """The leaves of a tree as a vector of floats, and the way back."""
    vector, unravel = ravel_pytree(tree)
    return (vector if vector.dtype.kind == "f" else vector.astype(np.float64)), unravel


@boundary
def odeint(
    func: Callable[..., PyTree],
    y0: PyTree,
    t: Any,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> PyTree:
    """Solve ``dy/dt = func(y, t, *args)`` with steps of adaptive length.

    Parameters
    ----------
    func : callable
        The slope: a tree like `y0`.
    y0 : tree of arrays
        The state at the first time.
    t : array of shape (n,)
        Times at which the state is wanted, increasing; the first is that of `y0`.
    *args : trees of arrays
        Further arguments of `func`. Values that `func` closes over are found, and differentiated, too.
    rtol, atol : float
        The error of a step is kept below ``atol + rtol * abs(y)``, in the mean over the state.
    mxstep : float
        The largest number of steps between two times.
    hmax : float
        The longest step.

    Returns
    -------
    tree of arrays
        Like `y0` with a leading axis for the times. States that could not be reached are NaN.
        Differentiable in reverse mode with respect to `y0`, `t` and `args`, by the adjoint equation, whose
        memory does not grow with the number of steps; in forward mode not.

    Raises
    ------
    ArgumentError
        If times are not a vector, or are known and do not increase.

    Notes
    -----
    The method is that of Dormand and Prince, of order 5, with dense output of order 4. The gradient has the
    accuracy of the tolerances. For stiff equations use `scipy.integrate.solve_ivp`, which takes functions
    and Jacobians made by fgrad.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> from fgrad.experimental.ode import odeint
    >>> decay = lambda y, t, rate: -rate * y
    >>> odeint(decay, 1.0, fnp.array([0.0, 1.0, 2.0]), 0.5).round(6)
    Array([1.      , 0.606531, 0.367879], dtype=float64)
    >>> round(float(fgrad.grad(lambda rate: odeint(decay, 1.0, fnp.array([0.0, 2.0]), rate)[1])(0.5)), 6)
    -0.735759
    """
    times = operand(t, "odeint", "t")
    if len(times.shape) != 1 or not times.shape[0]:
        raise ArgumentError(f"odeint: t has shape {times.shape}; give a vector of times")
    known = concrete(times)
    if known is not None and not np.all(np.diff(known) > 0):
        raise ArgumentError("odeint: the times in t must increase from each to the next")
    y, unravel = _vector(y0)
    parameters, unravel_args = _vector(args)

    def flat(state: Any, time: Any, vector: Any) -> Any:
        slope = func(unravel(state), time, *unravel_args(vector))
        return ravel_pytree(slope)[0].astype(y.dtype)

    ts = wrap(times).astype(y.dtype)
    converted, captured = closure_convert(flat, y, ts[0], parameters)
    states = _solution(converted, rtol, atol, mxstep, hmax, y, ts, parameters, *captured)
    return vmap(unravel)(states)
