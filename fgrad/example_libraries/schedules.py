"""Step sizes that change over time, and the lengths of gradients."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from fgrad import numpy as fnp
from fgrad import tree
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import Array, ArrayLike

Schedule: TypeAlias = Callable[[Any], Any]


def constant(step_size: Any) -> Schedule:
    """A step size that stays.

    Parameters
    ----------
    step_size : float

    Returns
    -------
    callable
        Of the number of the step.

    Examples
    --------
    >>> from fgrad.example_libraries import optimizers
    >>> optimizers.constant(0.1)(5)
    0.1
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """A step size that shrinks by `decay_rate` every `decay_steps` steps, smoothly.

    Parameters
    ----------
    step_size, decay_steps, decay_rate : float

    Returns
    -------
    callable
        Of the number of the step.

    Examples
    --------
    >>> from fgrad.example_libraries import optimizers
    >>> optimizers.exponential_decay(1.0, 10, 0.5)(20)
    0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """A step size divided by ``1 + decay_rate * i / decay_steps``.

    Parameters
    ----------
    step_size, decay_steps, decay_rate : float
    staircase : bool
        Whether it changes every `decay_steps` steps only.

    Returns
    -------
    callable
        Of the number of the step.

    Examples
    --------
    >>> from fgrad.example_libraries import optimizers
    >>> optimizers.inverse_time_decay(1.0, 10, 0.5)(20)
    0.5
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * fnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """A step size that goes to `final_step_size` in `decay_steps` steps, by a power of what is left.

    Parameters
    ----------
    step_size, decay_steps, final_step_size, power : float

    Returns
    -------
    callable
        Of the number of the step.

    Examples
    --------
    >>> from fgrad.example_libraries import optimizers
    >>> float(optimizers.polynomial_decay(1.0, 10, 0.5)(5))
    0.75
    """

    def schedule(i: Any) -> Any:
        left = (1 - fnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: ArrayLike, values: ArrayLike) -> Schedule:
    """A step size that changes after given steps.

    Parameters
    ----------
    boundaries : array_like
        The last step of each value but the last, ascending.
    values : array_like
        One more than boundaries.

    Returns
    -------
    callable
        Of the number of the step.

    Raises
    ------
    ShapeError
        If they are not vectors of such lengths.

    Examples
    --------
    >>> from fgrad.example_libraries import optimizers
    >>> schedule = optimizers.piecewise_constant([10, 20], [1.0, 0.5, 0.25])
    >>> [float(schedule(i)) for i in (10, 11, 30)]
    [1.0, 0.5, 0.25]
    """
    ends: Any = fnp.asarray(boundaries)
    sizes: Any = fnp.asarray(values)
    if ends.ndim != 1 or sizes.ndim != 1 or sizes.size != ends.size + 1:
        raise ShapeError(
            f"piecewise_constant: boundaries have shape {ends.shape} and values {sizes.shape}; give vectors, with "
            "one value more than boundaries"
        )
    return lambda i: sizes[fnp.sum(i > ends)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule, of a number or of a schedule.

    Parameters
    ----------
    scalar_or_schedule : float or callable

    Returns
    -------
    callable
        Of the number of the step.

    Raises
    ------
    ArgumentError
        If it is neither.

    Examples
    --------
    >>> from fgrad.example_libraries import optimizers
    >>> optimizers.make_schedule(0.1)(5), optimizers.make_schedule(lambda i: 1 / i)(5)
    (0.1, 0.2)
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if fnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise ArgumentError(
        f"make_schedule: the step size is {scalar_or_schedule!r}; give a number, or a function of the step"
    )


def l2_norm(tree_of_arrays: Any) -> Array:
    """The root of the sum of the squares of all elements of a tree.

    Parameters
    ----------
    tree_of_arrays : pytree

    Returns
    -------
    Array
        Real.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> float(optimizers.l2_norm({"w": np.array([3.0]), "b": 4.0}))
    5.0
    """
    total: Any = 0.0
    for leaf in tree.leaves(tree_of_arrays):
        x: Any = fnp.ravel(leaf)
        total = total + fnp.real(fnp.vdot(x, x))
    return fnp.sqrt(total)


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Gradients, scaled down to a norm if theirs is greater.

    Parameters
    ----------
    grad_tree : pytree
    max_norm : float
        The greatest norm of all together.

    Returns
    -------
    pytree

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.example_libraries import optimizers
    >>> optimizers.clip_grads({"w": np.array([3.0]), "b": np.array([4.0])}, 1.0)
    {'w': Array([0.6], dtype=float64), 'b': Array([0.8], dtype=float64)}
    """
    norm: Any = l2_norm(grad_tree)
    within = norm < max_norm
    # A norm of zero divides nothing.
    ratio = max_norm / fnp.where(within, 1.0, norm)

    def clipped(g: Any) -> Any:
        factor = fnp.asarray(ratio).astype(fnp.real(g).dtype if aval_of(g).shape else ratio.dtype)
        return fnp.where(within, g, g * factor)

    return tree.map(clipped, grad_tree)
