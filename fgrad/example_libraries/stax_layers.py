"""Dense layers, normalization, dropout, and functions of each element as layers."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fgrad import nn, random
from fgrad import numpy as fnp
from fgrad.errors import ArgumentError
from fgrad.example_libraries.stax_combinators import Layer
from fgrad.nn.initializers import glorot_normal, normal, ones, zeros

Initializer = Callable[..., Any]
_GLOROT, _NORMAL = glorot_normal(), normal()


def Dense(out_dim: int, W_init: Initializer = _GLOROT, b_init: Initializer = _NORMAL) -> Layer:
    """A product with a matrix, and a sum with a vector.

    Parameters
    ----------
    out_dim : int
        The size of the last axis of the output.
    W_init, b_init : callable
        Of a key and a shape.

    Returns
    -------
    (init, apply)
        Its parameters are the matrix and the vector.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.example_libraries import stax
    >>> shape, (w, b) = stax.Dense(3)[0](fgrad.random.key(0), (-1, 4))
    >>> shape, w.shape, b.shape
    ((-1, 3), (4, 3), (3,))
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        first, second = random.split(rng)
        w, b = W_init(first, (input_shape[-1], out_dim)), b_init(second, (out_dim,))
        return (*input_shape[:-1], out_dim), (w, b)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        w, b = params
        return fnp.dot(inputs, w) + b

    return init_fun, apply_fun


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """Numbers of mean 0 and variance 1 over the examples of a batch, stretched and moved.

    Parameters
    ----------
    axis : int or sequence of int
        Over which to normalize.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether to move and stretch the results by learned numbers.
    beta_init, gamma_init : callable
        Of a key and a shape: by how much, at first.

    Returns
    -------
    (init, apply)

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad import random
    >>> from fgrad.example_libraries import stax
    >>> init, apply = stax.BatchNorm(axis=0)
    >>> _, params = init(random.key(0), (-1, 1))
    >>> apply(params, np.array([[1.0], [3.0]])).round(3)
    Array([[-1.],
           [ 1.]], dtype=float64)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Any) -> Any:
        gone = {a % len(input_shape) for a in axes}
        shape = tuple(n for a, n in enumerate(input_shape) if a not in gone)
        first, second = random.split(rng)
        beta = beta_init(first, shape) if center else ()
        gamma = gamma_init(second, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        ndim = fnp.ndim(x)
        gone = {a % ndim for a in axes}
        place = tuple(None if a in gone else slice(None) for a in range(ndim))
        found = nn.standardize(x, tuple(sorted(gone)), epsilon=epsilon)
        found = found * fnp.asarray(gamma)[place] if scale else found
        return found + fnp.asarray(beta)[place] if center else found

    return init_fun, apply_fun


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Elements kept by chance and scaled up, and zeros else.

    Parameters
    ----------
    rate : float
        The share that is kept.
    mode : str
        With ``"train"`` elements are dropped; with others the input is returned.

    Returns
    -------
    (init, apply)
        Where elements are dropped, `apply` needs a key: ``apply(params, inputs, rng=key)``.

    Raises
    ------
    ArgumentError
        If `apply` is called without a key.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.example_libraries import stax
    >>> _, apply = stax.Dropout(0.5)
    >>> set(apply((), fgrad.numpy.ones(9), rng=fgrad.random.key(1)).tolist()) == {0.0, 2.0}
    True
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return input_shape, ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        key = kwargs.get("rng")
        if key is None:
            raise ArgumentError(
                "Dropout: apply got no key; call apply(params, inputs, rng=key), or make the layer with mode='test'"
            )
        if mode != "train":
            return inputs
        kept = random.bernoulli(key, rate, fnp.shape(inputs))
        return fnp.where(kept, inputs / rate, 0)

    return init_fun, apply_fun


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies a function, which keeps the shape.

    Parameters
    ----------
    fun : callable
    **fun_kwargs
        Further arguments of it.

    Returns
    -------
    (init, apply)

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.example_libraries import stax
    >>> stax.elementwise(fnp.clip, max=2.0)[1]((), fnp.arange(4.0))
    Array([0., 1., 2., 2.], dtype=float64)
    """
    return (
        lambda rng, input_shape: (input_shape, ()),
        lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs),
    )


Tanh: Layer = elementwise(fnp.tanh)
Relu: Layer = elementwise(nn.relu)
Exp: Layer = elementwise(fnp.exp)
LogSoftmax: Layer = elementwise(nn.log_softmax, axis=-1)
Softmax: Layer = elementwise(nn.softmax, axis=-1)
Softplus: Layer = elementwise(nn.softplus)
Sigmoid: Layer = elementwise(nn.sigmoid)
Elu: Layer = elementwise(nn.elu)
LeakyRelu: Layer = elementwise(nn.leaky_relu)
Selu: Layer = elementwise(nn.selu)
Gelu: Layer = elementwise(nn.gelu)


def _flat_shape(rng: Any, input_shape: Any) -> Any:
    return (input_shape[0], math.prod(input_shape[1:])), ()


def _flat(params: Any, inputs: Any, **kwargs: Any) -> Any:
    shape = fnp.shape(inputs)
    return fnp.reshape(inputs, (shape[0], math.prod(shape[1:])))


#: The layer that makes a vector of each example.
Flatten: Layer = (_flat_shape, _flat)
