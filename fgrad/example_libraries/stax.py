"""Layers of networks as pairs of functions, as ``jax.example_libraries.stax`` has them.

A layer is ``(init, apply)``: ``init(key, input_shape)`` returns the shape of its output and its
parameters, ``apply(params, inputs, rng=None)`` the output. A size of -1 stands for any number of
examples. `serial` and `parallel` make layers of layers.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from fgrad.example_libraries.stax_combinators import (
    FanInConcat,
    FanInSum,
    FanOut,
    Identity,
    Layer,
    parallel,
    serial,
    shape_dependent,
)
from fgrad.example_libraries.stax_convolutions import (
    AvgPool,
    Conv,
    Conv1DTranspose,
    ConvTranspose,
    GeneralConv,
    GeneralConvTranspose,
    MaxPool,
    SumPool,
)
from fgrad.example_libraries.stax_layers import (
    BatchNorm,
    Dense,
    Dropout,
    Elu,
    Exp,
    Flatten,
    Gelu,
    LeakyRelu,
    LogSoftmax,
    Relu,
    Selu,
    Sigmoid,
    Softmax,
    Softplus,
    Tanh,
    elementwise,
)
from fgrad.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from fgrad.nn.initializers import glorot_normal, normal, ones, zeros

#: Names that these functions had before.
logsoftmax = log_softmax
randn = normal
glorot = glorot_normal

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "Layer",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "elu",
    "gelu",
    "glorot",
    "glorot_normal",
    "leaky_relu",
    "log_softmax",
    "logsoftmax",
    "normal",
    "ones",
    "parallel",
    "randn",
    "relu",
    "selu",
    "serial",
    "shape_dependent",
    "sigmoid",
    "softmax",
    "softplus",
    "standardize",
    "zeros",
]
