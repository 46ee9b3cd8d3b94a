"""The workloads that compiled code is measured by, for any library with JAX's interface.

Each is a function of the library and its `numpy` that gives the function to compile, and a function of
a generator that makes the arguments in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.programs import mlp_loss

Function = Callable[..., Any]


@dataclass(frozen=True)
class Workload:
    """What is compiled, and the arguments to call it with."""

    program: Callable[[Any, Any], Function]
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    #: Whether its time goes into passes over memory, where fusing pays most.
    memory_bound: bool = False

    def data(self, dtype: Any) -> tuple[Any, ...]:
        """The arguments in a dtype; integers stay what they are."""
        return cast(self.arguments(np.random.default_rng(0)), dtype)  # type: ignore[no-any-return]


def cast(tree: Any, dtype: Any) -> Any:
    """A tree with its floating-point arrays in a dtype."""
    if isinstance(tree, dict):
        return {key: cast(value, dtype) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)([cast(item, dtype) for item in tree])
    array = np.asarray(tree)
    return array.astype(dtype) if array.dtype.kind == "f" else array


# ---- Rosenbrock's function -----------------------------------------------------------------


def rosenbrock(library: Any, xp: Any) -> Function:
    def value(x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return library.value_and_grad(value)  # type: ignore[no-any-return]


# ---- logistic regression -------------------------------------------------------------------


def logistic_regression(library: Any, xp: Any) -> Function:
    def loss(params: Any, x: Any, y: Any) -> Any:
        margins = y * (x @ params["w"] + params["b"])
        return xp.mean(xp.logaddexp(0.0, -margins))

    return library.value_and_grad(loss)  # type: ignore[no-any-return]


def logistic_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    x = rng.standard_normal((10_000, 100))
    w = rng.standard_normal(100) / 10
    y = np.where(rng.uniform(size=10_000) < 0.5, -1.0, 1.0)
    return {"w": w, "b": np.array(0.1)}, x, y


# ---- networks ------------------------------------------------------------------------------


def network(library: Any, xp: Any) -> Function:
    return library.value_and_grad(mlp_loss(library.nn))  # type: ignore[no-any-return]


def layers(rng: np.random.Generator, *sizes: int) -> list[tuple[Any, Any]]:
    return [
        (
            rng.standard_normal((fan_in, fan_out)) * np.sqrt(2 / fan_in),
            0.1 * rng.standard_normal(fan_out),
        )
        for fan_in, fan_out in pairwise(sizes)
    ]


def network_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    labels = np.eye(10)[rng.integers(0, 10, 128)]
    return layers(rng, 784, 512, 512, 10), rng.standard_normal((128, 784)), labels


def tiny_network(library: Any, xp: Any) -> Function:
    def loss(params: Any, x: Any, y: Any) -> Any:
        *hidden, (w, b) = params
        for weights, bias in hidden:
            x = xp.tanh(x @ weights + bias)
        return xp.mean(((x @ w + b)[:, 0] - y) ** 2)

    return library.value_and_grad(loss)  # type: ignore[no-any-return]


def tiny_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    return layers(rng, 4, 8, 8, 1), rng.standard_normal((16, 4)), rng.standard_normal(16)


def per_example_gradients(library: Any, xp: Any) -> Function:
    loss = mlp_loss(library.nn)

    def one(params: Any, x: Any, target: Any) -> Any:
        return loss(params, x[None], target[None])

    return library.vmap(library.grad(one), in_axes=(None, 0, 0))  # type: ignore[no-any-return]


def per_example_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    labels = np.eye(10)[rng.integers(0, 10, 256)]
    return layers(rng, 64, 128, 10), rng.standard_normal((256, 64)), labels


# ---- a dense Hessian -----------------------------------------------------------------------


def hessian(library: Any, xp: Any) -> Function:
    def value(x: Any, w: Any) -> Any:
        z = w @ x
        top = xp.max(z)
        return xp.log(xp.sum(xp.exp(z - top))) + top + 0.5 * xp.sum(x**2)

    return library.hessian(value)  # type: ignore[no-any-return]


def hessian_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.standard_normal(50), rng.standard_normal((100, 50)) / 5


# ---- Gaussian process ----------------------------------------------------------------------


def gaussian_process(library: Any, xp: Any) -> Function:
    def negative_log_likelihood(logs: Any, x: Any, y: Any) -> Any:
        scale, length, noise = xp.exp(logs["scale"]), xp.exp(logs["length"]), xp.exp(logs["noise"])
        distances = xp.sum(((x[:, None] - x[None]) / length) ** 2, axis=-1)
        kernel = scale * xp.exp(-0.5 * distances) + noise * xp.eye(len(x), dtype=x.dtype)
        lower = xp.linalg.cholesky(kernel)
        alpha = library.scipy.linalg.cho_solve((lower, True), y)
        return 0.5 * (y @ alpha) + xp.sum(xp.log(xp.diag(lower)))

    return library.value_and_grad(negative_log_likelihood)  # type: ignore[no-any-return]


def gaussian_process_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    x = rng.uniform(-2.0, 2.0, (300, 3))
    y = np.sin(x).sum(axis=1) + 0.3 * rng.standard_normal(300)
    logs = {"scale": np.array(0.2), "length": np.array(-0.1), "noise": np.array(-1.5)}
    return logs, x, y


# ---- an elementwise chain ------------------------------------------------------------------


def chain(library: Any, xp: Any) -> Function:
    def value(x: Any) -> Any:
        return xp.sum(xp.tanh(x) * xp.exp(-x * x) + xp.log1p(x * x))

    return library.value_and_grad(value)  # type: ignore[no-any-return]


# ---- attention -----------------------------------------------------------------------------

HEADS, HEAD_SIZE = 4, 32


def attention(library: Any, xp: Any) -> Function:
    def loss(params: Any, x: Any, targets: Any) -> Any:
        batch, length, width = x.shape

        def heads(w: Any) -> Any:
            return (x @ w).reshape(batch, length, HEADS, HEAD_SIZE).transpose(0, 2, 1, 3)

        query, key, value = heads(params["query"]), heads(params["key"]), heads(params["value"])
        scores = query @ key.transpose(0, 1, 3, 2) / HEAD_SIZE**0.5
        mixed = library.nn.softmax(scores, axis=-1) @ value
        out = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ params["out"]
        return xp.mean((out - targets) ** 2)

    return library.value_and_grad(loss)  # type: ignore[no-any-return]


def attention_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    width = HEADS * HEAD_SIZE
    params = {
        name: rng.standard_normal((width, width)) / width**0.5
        for name in ("query", "key", "value", "out")
    }
    return params, rng.standard_normal((4, 128, width)), rng.standard_normal((4, 128, width))


# ---- a small convolutional network ---------------------------------------------------------


def convolutional_network(library: Any, xp: Any) -> Function:
    def loss(params: Any, images: Any, targets: Any) -> Any:
        x = images
        for name in ("first", "second"):
            x = library.lax.conv_general_dilated(x, params[name]["w"], (2, 2), "VALID")
            x = library.nn.relu(x + params[name]["b"][:, None, None])
        logits = x.reshape(len(x), -1) @ params["dense"]["w"] + params["dense"]["b"]
        return -xp.mean(xp.sum(targets * library.nn.log_softmax(logits), axis=-1))

    return library.value_and_grad(loss)  # type: ignore[no-any-return]


def convolution_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    params = {
        "first": {"w": rng.standard_normal((8, 1, 3, 3)) / 3, "b": 0.1 * rng.standard_normal(8)},
        "second": {"w": rng.standard_normal((16, 8, 3, 3)) / 8, "b": 0.1 * rng.standard_normal(16)},
        "dense": {
            "w": rng.standard_normal((16 * 6 * 6, 10)) / 24,
            "b": 0.1 * rng.standard_normal(10),
        },
    }
    targets = np.eye(10)[rng.integers(0, 10, 32)]
    return params, rng.standard_normal((32, 1, 28, 28)), targets


# ---- Black-Scholes -------------------------------------------------------------------------


def greeks(library: Any, xp: Any) -> Function:
    def price(spot: Any, time: Any, rate: Any, volatility: Any, strike: Any) -> Any:
        def normal_cdf(x: Any) -> Any:
            return 0.5 * (1.0 + library.scipy.special.erf(x / 2**0.5))

        spread = volatility * xp.sqrt(time)
        upper = (xp.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
        lower = upper - spread
        return spot * normal_cdf(upper) - strike * xp.exp(-rate * time) * normal_cdf(lower)

    return library.vmap(library.grad(price, argnums=(0, 1, 2, 3)))  # type: ignore[no-any-return]


def options(rng: np.random.Generator) -> tuple[Any, ...]:
    bounds = ((80.0, 120.0), (0.2, 2.0), (0.0, 0.08), (0.1, 0.5), (80.0, 120.0))
    return tuple(rng.uniform(low, high, 1_000_000) for low, high in bounds)


# ---- Gaussian mixture ----------------------------------------------------------------------


def gaussian_mixture(library: Any, xp: Any) -> Function:
    def log_likelihood(params: Any, x: Any) -> Any:
        scaled = (x[:, None] - params["means"]) * xp.exp(-params["log_scales"])
        logs = library.nn.log_softmax(params["logits"]) - xp.sum(params["log_scales"], axis=-1)
        return xp.mean(
            library.nn.logsumexp(logs - 0.5 * xp.sum(scaled**2, axis=-1), axis=-1)
        ) - 0.5 * x.shape[-1] * math.log(2 * math.pi)

    return library.value_and_grad(log_likelihood)  # type: ignore[no-any-return]


def mixture_arguments(rng: np.random.Generator) -> tuple[Any, ...]:
    params = {
        "logits": rng.standard_normal(10),
        "means": rng.standard_normal((10, 8)),
        "log_scales": 0.2 * rng.standard_normal((10, 8)),
    }
    return params, rng.standard_normal((5_000, 8))


WORKLOADS = {
    "Rosenbrock, n = 2": Workload(rosenbrock, lambda rng: (rng.standard_normal(2),)),
    "Rosenbrock, n = 1e6": Workload(
        rosenbrock, lambda rng: (rng.standard_normal(1_000_000),), memory_bound=True
    ),
    "logistic regression": Workload(logistic_regression, logistic_arguments),
    "network 784-512-512-10": Workload(network, network_arguments),
    "network 4-8-8-1": Workload(tiny_network, tiny_arguments),
    "per-example gradients": Workload(per_example_gradients, per_example_arguments),
    "Hessian, n = 50": Workload(hessian, hessian_arguments),
    "Gaussian process": Workload(gaussian_process, gaussian_process_arguments),
    "elementwise chain, 4e6": Workload(
        chain, lambda rng: (rng.standard_normal(4_000_000),), memory_bound=True
    ),
    "attention": Workload(attention, attention_arguments),
    "convolutional network": Workload(convolutional_network, convolution_arguments),
    "Greeks of 1e6 options": Workload(greeks, options, memory_bound=True),
    "Gaussian mixture": Workload(gaussian_mixture, mixture_arguments, memory_bound=True),
}
