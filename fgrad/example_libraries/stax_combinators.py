"""Layers made of layers: one after the other, side by side, forks and joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from fgrad import numpy as fnp
from fgrad import random
from fgrad.errors import ArgumentError

#: ``init(key, input_shape)`` to a shape and parameters, and ``apply(params, inputs, **kwargs)``.
Layer: TypeAlias = tuple[Callable[..., Any], Callable[..., Any]]


def _keys(rng: Any, count: int) -> Any:
    return (None,) * count if rng is None else random.split(rng, count)


def _pairs(name: str, layers: tuple[Layer, ...]) -> tuple[list[Any], list[Any]]:
    for n, layer in enumerate(layers):
        if not (isinstance(layer, (tuple, list)) and len(layer) == 2 and all(map(callable, layer))):
            problem = "; call it to make one, as in Dense(10)" if callable(layer) else ""
            raise ArgumentError(
                f"{name}: argument {n} is {layer!r}; give layers, pairs of functions (init, apply){problem}"
            )
    return [init for init, _ in layers], [apply for _, apply in layers]


def serial(*layers: Layer) -> Layer:
    """Layers one after the other.

    Parameters
    ----------
    *layers : pairs of functions

    Returns
    -------
    (init, apply)
        The parameters are a list. A key that `apply` gets as ``rng`` is split among the layers.

    Raises
    ------
    ArgumentError
        If an argument is not a pair of functions.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.example_libraries import stax
    >>> init, apply = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(2), stax.LogSoftmax)
    >>> shape, params = init(fgrad.random.key(0), (-1, 4))
    >>> shape, apply(params, fgrad.numpy.ones((3, 4))).shape
    ((-1, 2), (3, 2))
    """
    inits, applies = _pairs("serial", layers)

    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init in inits:
            rng, own = random.split(rng)
            input_shape, found = init(own, input_shape)
            params.append(found)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(applies))
        for apply, own, key in zip(applies, params, keys, strict=True):
            inputs = apply(own, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers side by side, each for its own input, as after `FanOut` and before `FanInSum`.

    Parameters
    ----------
    *layers : pairs of functions

    Returns
    -------
    (init, apply)
        Of lists of shapes and inputs.

    Raises
    ------
    ArgumentError
        If an argument is not a pair of functions.

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.example_libraries import stax
    >>> residual = stax.serial(stax.Dense(4), stax.Relu)
    >>> block = stax.serial(stax.FanOut(2), stax.parallel(residual, stax.Identity), stax.FanInSum)
    >>> block[0](fgrad.random.key(0), (-1, 4))[0]
    (-1, 4)
    """
    inits, applies = _pairs("parallel", layers)

    def init_fun(rng: Any, input_shapes: Any) -> Any:
        keys = random.split(rng, len(inits))
        pairs = [
            init(key, shape) for init, key, shape in zip(inits, keys, input_shapes, strict=True)
        ]
        return tuple(shape for shape, _ in pairs), tuple(params for _, params in pairs)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(applies))
        rows = zip(applies, params, inputs, keys, strict=True)
        return [apply(own, x, rng=key, **kwargs) for apply, own, x, key in rows]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made when the shape of its input is known.

    Parameters
    ----------
    make_layer : callable
        From a shape to a layer.

    Returns
    -------
    (init, apply)

    Examples
    --------
    >>> import fgrad
    >>> from fgrad.example_libraries import stax
    >>> init, apply = stax.shape_dependent(lambda shape: stax.Dense(2 * shape[-1]))
    >>> init(fgrad.random.key(0), (-1, 4))[0]
    (-1, 8)
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(fnp.shape(inputs))[1](params, inputs, **kwargs)

    return init_fun, apply_fun


def _same_shape(rng: Any, input_shape: Any) -> Any:
    return input_shape, ()


#: The layer that returns its input.
Identity: Layer = (_same_shape, lambda params, inputs, **kwargs: inputs)


def FanOut(num: int) -> Layer:
    """A layer that returns its input several times, for `parallel`.

    Parameters
    ----------
    num : int

    Returns
    -------
    (init, apply)

    Examples
    --------
    >>> from fgrad.example_libraries import stax
    >>> stax.FanOut(2)[1]((), 1.0)
    [1.0, 1.0]
    """
    return (
        lambda rng, input_shape: ([input_shape] * num, ()),
        lambda params, inputs, **kwargs: [inputs] * num,
    )


#: The layer that adds its inputs.
FanInSum: Layer = (
    lambda rng, input_shape: (input_shape[0], ()),
    lambda params, inputs, **kwargs: sum(inputs),
)


def FanInConcat(axis: int = -1) -> Layer:
    """A layer that joins its inputs along an axis.

    Parameters
    ----------
    axis : int

    Returns
    -------
    (init, apply)

    Examples
    --------
    >>> from fgrad.example_libraries import stax
    >>> stax.FanInConcat()[0](None, [(-1, 3), (-1, 4)])[0]
    (-1, 7)
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        first = input_shape[0]
        place = axis % len(first)
        size = sum(shape[place] for shape in input_shape)
        return (*first[:place], size, *first[place + 1 :]), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fnp.concatenate(inputs, axis)

    return init_fun, apply_fun
