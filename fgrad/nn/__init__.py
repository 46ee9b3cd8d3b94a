"""Functions of neural networks, with the names and meanings of ``jax.nn``."""

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from fgrad.errors import MissingNameError as _MissingNameError
from fgrad.nn.activations import (
    celu,
    elu,
    gelu,
    glu,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    identity,
    leaky_relu,
    log1mexp,
    log_sigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    soft_sign,
    softplus,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    swish,
    tanh,
)
from fgrad.nn.attention import dot_product_attention
from fgrad.nn.normalization import (
    log_softmax,
    logmeanexp,
    logsumexp,
    normalize,
    one_hot,
    softmax,
    standardize,
)
from fgrad.source_info import guard as _guard

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "normalize",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]

if _TYPE_CHECKING:
    from fgrad.nn import initializers


def __getattr__(name: str) -> _Any:
    # Imported when asked for: initializers bring random numbers along.
    if name == "initializers":
        return _importlib.import_module("fgrad.nn.initializers")
    raise _MissingNameError(__name__, name)


_guard(_sys.modules[__name__])
