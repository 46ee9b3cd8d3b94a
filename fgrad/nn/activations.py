"""Activation functions: elementwise, stable for large arguments, with derivatives at their kinks."""

from __future__ import annotations

import math
from typing import Any

from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis, operand, wrap
from fgrad.primitives import elementwise as p
from fgrad.primitives.activations import clamp
from fgrad.primitives.activations import relu as relu_primitive
from fgrad.primitives.shape import static_index
from fgrad.primitives.special import erfc


def _float(x: ArrayLike, name: str) -> Any:
    return p.cast_to_float(operand(x, name))


def identity(x: ArrayLike) -> Array:
    """The argument itself.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.identity(2.0))
    2.0
    """
    return wrap(operand(x, "identity"))  # type: ignore[no-any-return]


def relu(x: ArrayLike) -> Array:
    """``max(x, 0)``.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Of the dtype of x. The slope at 0 is 0; NaN stays NaN.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.relu(np.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float64)
    """
    return wrap(relu_primitive(operand(x, "relu")))  # type: ignore[no-any-return]


def relu6(x: ArrayLike) -> Array:
    """``min(max(x, 0), 6)``.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. The slope at the kinks 0 and 6 is 0.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.relu6(np.array([-1.0, 2.0, 7.0]))
    Array([0., 2., 6.], dtype=float64)
    """
    return wrap(_relu6(operand(x, "relu6")))  # type: ignore[no-any-return]


def _relu6(x: Any) -> Any:
    return clamp(0, x, 6.0)


def sigmoid(x: ArrayLike) -> Array:
    """``1 / (1 + exp(-x))``, without overflow.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        Floating. Differentiable to every order.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.grad(fgrad.nn.sigmoid)(0.0))
    0.25
    """
    return wrap(p.logistic(_float(x, "sigmoid")))  # type: ignore[no-any-return]


def softplus(x: ArrayLike) -> Array:
    """``log(1 + exp(x))``, without overflow.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. Its slope is ``sigmoid(x)``, at the infinities too.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.softplus(1000.0)), float(fgrad.grad(fgrad.nn.softplus)(-1000.0))
    (1000.0, 0.0)
    """
    return wrap(_softplus(operand(x, "softplus")))  # type: ignore[no-any-return]


def _softplus(x: Any) -> Any:
    return p.logaddexp(x, 0.0)


def tanh(x: ArrayLike, /) -> Array:
    """Hyperbolic tangent.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        Floating. Differentiable to every order.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.tanh(0.0))
    0.0
    """
    return wrap(p.tanh(operand(x, "tanh")))  # type: ignore[no-any-return]


def soft_sign(x: ArrayLike) -> Array:
    """``x / (1 + |x|)``.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        Floating. Differentiable.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.soft_sign(3.0))
    0.75
    """
    inside = operand(x, "soft_sign")
    return wrap(p.div(inside, p.add(p.abs_(inside), 1)))  # type: ignore[no-any-return]


def silu(x: ArrayLike) -> Array:
    """``x * sigmoid(x)``, also called swish.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        Floating. Differentiable to every order.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.grad(fgrad.nn.silu)(0.0))
    0.5
    """
    inside = _float(x, "silu")
    return wrap(p.mul(inside, p.logistic(inside)))  # type: ignore[no-any-return]


swish = silu


def log_sigmoid(x: ArrayLike) -> Array:
    """``log(sigmoid(x))``, without overflow.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. Its slope is ``sigmoid(-x)``, at the infinities too.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.log_sigmoid(-1000.0))
    -1000.0
    """
    return wrap(p.neg(_softplus(p.neg(_float(x, "log_sigmoid")))))  # type: ignore[no-any-return]


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Array:
    """``x`` where it is not negative, else ``negative_slope * x``.

    Parameters
    ----------
    x : array_like of real numbers
    negative_slope : array_like

    Returns
    -------
    Array
        The slope at 0 is 1. Differentiable towards both arguments.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.leaky_relu(-2.0, 0.1))
    -0.2
    """
    inside, slope = operand(x, "leaky_relu"), operand(negative_slope, "leaky_relu")
    return wrap(p.select(p.greater_equal(inside, 0), inside, p.mul(slope, inside)))  # type: ignore[no-any-return]


def hard_tanh(x: ArrayLike) -> Array:
    """``x`` limited to the interval from -1 to 1.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        The slope at the kinks is 1.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.hard_tanh(np.array([-2.0, 0.5]))
    Array([-1. ,  0.5], dtype=float64)
    """
    inside = operand(x, "hard_tanh")
    lower = p.select(p.less(inside, -1), -1, inside)
    return wrap(p.select(p.greater(inside, 1), 1, lower))  # type: ignore[no-any-return]


def hard_sigmoid(x: ArrayLike) -> Array:
    """``relu6(x + 3) / 6``.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. The slope at the kinks is 0.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.hard_sigmoid(0.0))
    0.5
    """
    return wrap(_hard_sigmoid(operand(x, "hard_sigmoid")))  # type: ignore[no-any-return]


def _hard_sigmoid(x: Any) -> Any:
    return p.div(_relu6(p.add(x, 3.0)), 6.0)


def hard_silu(x: ArrayLike) -> Array:
    """``x * hard_sigmoid(x)``, also called hard swish.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. Differentiable as `hard_sigmoid` is.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.hard_silu(3.0))
    3.0
    """
    inside = operand(x, "hard_silu")
    # Where it is x itself, so is its slope at infinity.
    bent = p.mul(inside, _hard_sigmoid(inside))
    return wrap(p.select(p.greater_equal(inside, 3.0), inside, bent))  # type: ignore[no-any-return]


hard_swish = hard_silu


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    x : array_like of real numbers
    alpha : array_like

    Returns
    -------
    Array
        Floating. The slope at 0 is alpha. Differentiable towards both arguments.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.elu(-1000.0, 2.0))
    -2.0
    """
    return wrap(_elu(_float(x, "elu"), operand(alpha, "elu")))  # type: ignore[no-any-return]


def _elu(x: Any, alpha: Any) -> Any:
    positive = p.greater(x, 0)
    # Where x is large, its exponential must not overflow: a warning would be of a branch not taken.
    return p.select(positive, x, p.mul(alpha, p.expm1(p.select(positive, 0, x))))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """``max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)``: `elu` with slope 1 at 0.

    Parameters
    ----------
    x : array_like of real numbers
    alpha : array_like

    Returns
    -------
    Array
        Floating. Differentiable towards both arguments.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.celu(-1000.0, 2.0))
    -2.0
    """
    inside, scale = _float(x, "celu"), operand(alpha, "celu")
    below = p.mul(scale, p.expm1(p.div(p.minimum(inside, 0.0), scale)))
    return wrap(p.add(p.maximum(inside, 0.0), below))  # type: ignore[no-any-return]


def selu(x: ArrayLike) -> Array:
    """`elu` with the scales that keep mean 0 and variance 1 from layer to layer.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. Differentiable.

    Examples
    --------
    >>> import fgrad
    >>> round(float(fgrad.nn.selu(1.0)), 4)
    1.0507
    """
    # The fixed point of the moments of a normal variable, from the paper on self-normalising
    # networks.
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return wrap(p.mul(scale, _elu(_float(x, "selu"), alpha)))  # type: ignore[no-any-return]


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """``x`` times the probability that a standard normal variable lies below ``x``.

    Parameters
    ----------
    x : array_like of real numbers
    approximate : bool
        Whether to use the usual approximation by ``tanh`` instead of the normal distribution
        itself.

    Returns
    -------
    Array
        Floating. Differentiable to every order.

    Examples
    --------
    >>> import fgrad
    >>> round(float(fgrad.nn.gelu(1.0, approximate=False)), 4)
    0.8413
    """
    inside = _float(x, "gelu")
    if approximate:
        cubed = p.IntegerPower(3)(inside)
        inner = p.mul(math.sqrt(8.0 / math.pi), p.add(inside, p.mul(0.044715, cubed)))
        # (1 + tanh(u)) / 2, without the cancellation on the left.
        share = p.logistic(inner)
    else:
        # By erfc, which holds the left tail to full relative accuracy.
        share = p.mul(0.5, erfc(p.mul(inside, -math.sqrt(0.5))))
    return wrap(p.mul(inside, share))  # type: ignore[no-any-return]


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half along an axis times the `sigmoid` of the second half.

    Parameters
    ----------
    x : array_like
    axis : int

    Returns
    -------
    Array
        Half as long along `axis`. Differentiable to every order.

    Raises
    ------
    ShapeError
        If the axis has an odd size.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.nn.glu(np.array([3.0, 0.0]))
    Array([1.5], dtype=float64)
    """
    inside = _float(x, "glu")
    shape = aval_of(inside).shape
    position = normal_axis(axis, len(shape), "glu")
    if shape[position] % 2:
        raise ShapeError(
            f"glu: axis {axis} has {shape[position]} elements, which cannot be halved; give an even size"
        )
    half = shape[position] // 2
    lead = (slice(None),) * position
    first = static_index(inside, (*lead, slice(0, half)))
    second = static_index(inside, (*lead, slice(half, None)))
    return wrap(p.mul(first, p.logistic(second)))  # type: ignore[no-any-return]


def mish(x: ArrayLike) -> Array:
    """``x * tanh(softplus(x))``.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. Differentiable to every order.

    Examples
    --------
    >>> import fgrad
    >>> round(float(fgrad.nn.mish(1.0)), 4)
    0.8651
    """
    inside = _float(x, "mish")
    return wrap(p.mul(inside, p.tanh(_softplus(inside))))  # type: ignore[no-any-return]


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """``(x + sqrt(x**2 + b)) / 2``, without the cancellation for negative ``x``.

    Parameters
    ----------
    x : array_like of real numbers
    b : array_like
        How smooth the bend is.

    Returns
    -------
    Array
        Floating. Differentiable to every order towards both arguments where b is positive.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.squareplus(-1e10))
    1e-10
    """
    inside, bend = _float(x, "squareplus"), operand(b, "squareplus")
    root = p.sqrt(p.add(p.square(inside), bend))
    negative = p.less(inside, 0)
    # (x + root)(root - x) = b
    small = p.div(p.mul(0.5, bend), p.sub(root, p.select(negative, inside, -1.0)))
    return wrap(p.select(negative, small, p.mul(0.5, p.add(inside, root))))  # type: ignore[no-any-return]


def sparse_plus(x: ArrayLike) -> Array:
    """0 up to -1, ``x`` from 1 on, and ``(x + 1)**2 / 4`` between.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. Differentiable; its slope is `sparse_sigmoid`.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.sparse_plus(0.0))
    0.25
    """
    inside = _float(x, "sparse_plus")
    above, below = p.greater_equal(inside, 1.0), p.less_equal(inside, -1.0)
    bent = p.mul(0.25, p.square(p.add(p.select(above, 0.0, inside), 1.0)))
    return wrap(p.select(below, 0.0, p.select(above, inside, bent)))  # type: ignore[no-any-return]


def sparse_sigmoid(x: ArrayLike) -> Array:
    """0 up to -1, 1 from 1 on, and ``(x + 1) / 2`` between.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating. The slope at the kinks is one quarter.

    Examples
    --------
    >>> import fgrad
    >>> float(fgrad.nn.sparse_sigmoid(0.0))
    0.5
    """
    inside = _float(x, "sparse_sigmoid")
    return wrap(p.mul(0.5, p.minimum(p.maximum(p.add(inside, 1.0), 0.0), 2.0)))  # type: ignore[no-any-return]


def log1mexp(x: ArrayLike) -> Array:
    """``log(1 - exp(-x))`` for positive ``x``, accurate for small and for large ones.

    Parameters
    ----------
    x : array_like of real numbers

    Returns
    -------
    Array
        Floating; -inf at 0 and NaN below. Differentiable to every order.

    Examples
    --------
    >>> import fgrad
    >>> round(float(fgrad.nn.log1mexp(1e-20)), 4)
    -46.0517
    """
    inside = _float(x, "log1mexp")
    small = p.less(inside, math.log(2.0))
    near = p.log(p.neg(p.expm1(p.neg(p.select(small, inside, 1.0)))))
    far = p.log1p(p.neg(p.exp(p.neg(p.select(small, 1.0, inside)))))
    return wrap(p.select(small, near, far))  # type: ignore[no-any-return]
