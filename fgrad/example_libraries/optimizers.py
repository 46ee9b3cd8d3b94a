"""Gradient descent and its kin on trees of parameters, as ``jax.example_libraries.optimizers`` has them.

An optimizer is made of three functions: of parameters to a first state, of a step's number, gradients
and a state to the next state, and of a state to parameters. All of them are pure: they run under
``jit``, in loops, and are differentiable, towards the step size too.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import functools
from typing import Any

from fgrad import numpy as fnp
from fgrad.avals import aval_of
from fgrad.example_libraries.optimizer_states import (
    InitFn,
    JoinPoint,
    Optimizer,
    OptimizerState,
    Params,
    ParamsFn,
    Rules,
    State,
    Step,
    UpdateFn,
    Updates,
    optimizer,
    pack_optimizer_state,
    unpack_optimizer_state,
)
from fgrad.example_libraries.schedules import (
    Schedule,
    clip_grads,
    constant,
    exponential_decay,
    inverse_time_decay,
    l2_norm,
    make_schedule,
    piecewise_constant,
    polynomial_decay,
)

__all__ = [
    "InitFn",
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "Params",
    "ParamsFn",
    "Schedule",
    "State",
    "Step",
    "UpdateFn",
    "Updates",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]


def _in_dtype_of(x: Any, number: Any) -> Any:
    """A step's number or size, in the precision of a parameter: it must not widen it."""
    aval = aval_of(number)
    if aval.weak and aval.dtype.kind != "i":
        return number
    real = fnp.real(x).dtype if fnp.issubdtype(fnp.asarray(x).dtype, fnp.inexact) else None
    return number if real is None else fnp.asarray(number).astype(real)


def _rate(schedule: Schedule, i: Any, x: Any) -> Any:
    return _in_dtype_of(x, schedule(i))


def _left(b: Any, i: Any, x: Any) -> Any:
    """What an average over time that started from zero has seen of its weights."""
    return 1 - b ** _in_dtype_of(x, i + 1)


def _inverse_root(squares: Any) -> Any:
    """The inverse of the root where there is one, and else zero."""
    positive = squares > 0
    return fnp.where(positive, 1.0 / fnp.sqrt(fnp.where(positive, squares, 1.0)), 0.0)


@optimizer
def sgd(step_size: Any) -> Rules:
    """Gradient descent.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.sgd(0.1)
    >>> params(update(0, np.array([1.0]), init(np.array([3.0]))))
    Array([2.9], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, x: Any) -> Any:
        return x - _rate(schedule, i, x) * g

    return fnp.asarray, update, lambda x: x


@optimizer
def momentum(step_size: Any, mass: float) -> Rules:
    """Gradient descent along a decaying sum of gradients.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.
    mass : float
        The weight of the past.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.momentum(0.1, 0.9)
    >>> params(update(0, np.array([1.0]), init(np.array([3.0]))))
    Array([2.9], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - _rate(schedule, i, x) * velocity, velocity

    return lambda x: (fnp.asarray(x), fnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def nesterov(step_size: Any, mass: float) -> Rules:
    """Momentum that looks ahead, after Nesterov.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.
    mass : float
        The weight of the past.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.nesterov(0.1, 0.5)
    >>> params(update(0, np.array([1.0]), init(np.array([3.0]))))
    Array([2.85], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - _rate(schedule, i, x) * (mass * velocity + g), velocity

    return lambda x: (fnp.asarray(x), fnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Rules:
    """Steps divided by the root of the sum of all squared gradients.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.
    momentum : float
        The weight of past steps.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.adagrad(0.1, momentum=0.0)
    >>> params(update(0, np.array([5.0]), init(np.array([3.0]))))
    Array([2.9], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        return fnp.asarray(x), fnp.zeros_like(x), fnp.zeros_like(x)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, m = state
        squares = squares + fnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * m
        return x - _rate(schedule, i, x) * m, squares, m

    return init, update, lambda state: state[0]


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Rules:
    """Steps divided by the root of an average of squared gradients.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.
    gamma : float
        The weight of the past.
    eps : float
        Added to the average.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.rmsprop(0.1, gamma=0.0, eps=0.0)
    >>> params(update(0, np.array([5.0]), init(np.array([3.0]))))
    Array([2.9], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, average = state
        average = average * gamma + fnp.square(g) * (1.0 - gamma)
        return x - _rate(schedule, i, x) * g / fnp.sqrt(average + eps), average

    return lambda x: (fnp.asarray(x), fnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Rules:
    """`rmsprop` with a decaying sum of its steps.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.
    gamma : float
        The weight of past squares.
    eps : float
        Added to their average.
    momentum : float
        The weight of past steps.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.rmsprop_momentum(0.1, gamma=0.0, eps=0.0)
    >>> params(update(0, np.array([5.0]), init(np.array([3.0]))))
    Array([2.9], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        return fnp.asarray(x), fnp.zeros_like(x), fnp.zeros_like(x)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, average, m = state
        average = average * gamma + fnp.square(g) * (1.0 - gamma)
        m = momentum * m + _rate(schedule, i, x) * g / fnp.sqrt(average + eps)
        return x - m, average, m

    return init, update, lambda state: state[0]


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Rules:
    """Averages of gradients, divided by the root of averages of their squares.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.
    b1, b2 : float
        The weights of the past in the averages of gradients and of squares.
    eps : float
        Added to the root.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.adam(0.1)
    >>> params(update(0, np.array([5.0]), init(np.array([3.0]))))
    Array([2.9], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        return fnp.asarray(x), fnp.zeros_like(x), fnp.zeros_like(x)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * fnp.square(g) + b2 * v
        direction = m / _left(b1, i, x) / (fnp.sqrt(v / _left(b2, i, x)) + eps)
        return x - _rate(schedule, i, x) * direction, m, v

    return init, update, lambda state: state[0]


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Rules:
    """`adam` with the greatest decayed gradient in the place of the root of averaged squares.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.
    b1, b2 : float
        The weights of the past in the average and in the greatest gradient.
    eps : float
        Added to the greatest gradient.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.adamax(0.1)
    >>> params(update(0, np.array([5.0]), init(np.array([3.0]))))
    Array([2.9], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        return fnp.asarray(x), fnp.zeros_like(x), fnp.zeros_like(x)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, greatest = state
        m = (1 - b1) * g + b1 * m
        greatest = fnp.maximum(b2 * greatest, fnp.abs(g))
        step = _rate(schedule, i, x) / _left(b1, i, x) * m / (greatest + eps)
        return x - step, m, greatest

    return init, update, lambda state: state[0]


def _along(sums: Any, axis: int, ndim: int) -> Any:
    """A vector as an array of `ndim` axes that lies along one."""
    return sums.reshape([-1 if n == axis else 1 for n in range(ndim)])


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Rules:
    """`adagrad` that keeps a vector for each axis of a parameter, and no array of its shape.

    Parameters
    ----------
    step_size : float or callable
        A number, or a function of the step's number.
    momentum : float
        The weight of past steps.

    Returns
    -------
    Optimizer

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> init, update, params = optimizers.sm3(0.1, momentum=0.0)
    >>> params(update(0, np.array([[5.0, 1.0]]), init(np.array([[3.0, 3.0]]))))
    Array([[2.9, 2.9]], dtype=float64)
    """
    schedule = make_schedule(step_size)

    def init(x: Any) -> Any:
        x = fnp.asarray(x)
        # A number has one sum, as a vector of one element has.
        return x, fnp.zeros_like(x), [fnp.zeros(n, x.dtype) for n in x.shape or (1,)]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, sums = state
        ndim = max(x.ndim, 1)
        bounds = [_along(v, axis, ndim) for axis, v in enumerate(sums)]
        total = functools.reduce(fnp.minimum, bounds) + fnp.square(g).reshape(x.shape or (1,))
        scaled = g * _inverse_root(total).reshape(x.shape)
        m = (1.0 - momentum) * scaled + momentum * m
        others = [tuple(b for b in range(ndim) if b != axis) for axis in range(ndim)]
        return x - _rate(schedule, i, x) * m, m, [total.max(axes) for axes in others]

    return init, update, lambda state: state[0]
