"""Programs that several benchmarks measure, written for any module with NumPy's names."""

from itertools import pairwise
from typing import Any

import numpy as np

MLP_SIZES = {"64-128-10": (64, 128, 10), "784-512-512-10": (784, 512, 512, 10)}


def mlp_arguments(sizes: tuple[int, ...], rows: int, seed: int = 0) -> tuple[Any, ...]:
    """Weights and biases, a batch of inputs, and one-hot targets, all float32."""
    rng = np.random.default_rng(seed)
    params = [
        (
            (rng.standard_normal((fan_in, fan_out)) * np.sqrt(2 / fan_in)).astype(np.float32),
            (0.1 * rng.standard_normal(fan_out)).astype(np.float32),
        )
        for fan_in, fan_out in pairwise(sizes)
    ]
    x = rng.standard_normal((rows, sizes[0])).astype(np.float32)
    targets = np.eye(sizes[-1], dtype=np.float32)[rng.integers(0, sizes[-1], rows)]
    return params, x, targets


def mlp_loss(nn: Any) -> Any:
    """Mean cross entropy of a network, with a library's own `nn.relu` and `nn.log_softmax`."""

    def loss(params: Any, x: Any, targets: Any) -> Any:
        *hidden, (w, b) = params
        for weights, bias in hidden:
            x = nn.relu(x @ weights + bias)
        return -(targets * nn.log_softmax(x @ w + b)).sum(axis=-1).mean()

    return loss


def mlp_loss_spelled_out(xp: Any) -> Any:
    """The same loss in functions that every array library has."""

    def loss(params: Any, x: Any, targets: Any) -> Any:
        *hidden, (w, b) = params
        for weights, bias in hidden:
            x = xp.maximum(xp.dot(x, weights) + bias, 0)
        logits = xp.dot(x, w) + b
        shifted = logits - xp.max(logits, axis=-1, keepdims=True)
        log_total = xp.log(xp.sum(xp.exp(shifted), axis=-1))
        return xp.mean(log_total - xp.sum(targets * shifted, axis=-1))

    return loss


def mlp_gradient_by_hand(params: Any, x: Any, targets: Any) -> Any:
    """The gradient of `mlp_loss` in NumPy, as one would write it with some care."""
    activations = [x]
    *hidden, (w, b) = params
    for weights, bias in hidden:
        x = x @ weights
        x += bias
        np.maximum(x, 0, out=x)
        activations.append(x)
    logits = x @ w
    logits += b
    logits -= logits.max(axis=-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=-1, keepdims=True)
    ct = logits
    ct -= targets
    ct /= np.float32(len(ct))
    gradients = []
    for layer in range(len(params) - 1, -1, -1):
        before = activations[layer]
        gradients.append((before.T @ ct, ct.sum(axis=0)))
        if layer:
            ct = ct @ params[layer][0].T
            ct *= before > 0
    return gradients[::-1]


def scalar_chain(xp: Any) -> Any:
    """100 operations on scalars: 20 rounds of five."""

    def chain(x: Any) -> Any:
        for _ in range(20):
            x = xp.sin(x) * 0.9 + xp.tanh(x) / 3.0
        return x

    return chain


SCALAR_CHAIN_OPERATIONS = 100


def array_chain(xp: Any) -> Any:
    """20 elementwise operations on an array, and a sum."""

    def chain(x: Any) -> Any:
        for _ in range(4):
            x = xp.sin(x) * 0.9 + xp.tanh(x) * x
        return xp.sum(x)

    return chain


ARRAY_CHAIN_OPERATIONS = 21
