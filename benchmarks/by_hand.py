"""The workloads in NumPy by hand: vectorised, with what is computed twice computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import linalg, special

from benchmarks.workloads import HEAD_SIZE, HEADS


def rosenbrock(x: Any) -> Any:
    head = x[:-1]
    bend = x[1:] - head * head
    gap = 1.0 - head
    gradient = np.zeros_like(x)
    gradient[:-1] = -400.0 * bend * head - 2.0 * gap
    gradient[1:] += 200.0 * bend
    return 100.0 * bend.dot(bend) + gap.dot(gap), gradient


def logistic_regression(params: Any, x: Any, y: Any) -> Any:
    margins = y * (x @ params["w"] + params["b"])
    decay = np.exp(-np.abs(margins))
    loss = np.mean(np.maximum(-margins, 0.0) + np.log1p(decay))
    wrong = np.where(margins > 0, decay, 1.0) / (1.0 + decay)
    ct = wrong * y / -len(y)
    return loss, {"w": ct @ x, "b": ct.sum()}


def network(params: Any, x: Any, targets: Any) -> Any:
    activations = [x]
    *hidden, (w, b) = params
    for weights, bias in hidden:
        x = np.maximum(x @ weights + bias, 0)
        activations.append(x)
    logits = x @ w + b
    logits -= logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits)
    totals = exponentials.sum(axis=-1, keepdims=True)
    rows = len(x)
    loss = (np.log(totals).sum() - np.vdot(targets, logits)) / rows
    ct = (exponentials / totals - targets) / rows
    gradients = []
    for layer in range(len(params) - 1, -1, -1):
        before = activations[layer]
        gradients.append((before.T @ ct, ct.sum(axis=0)))
        if layer:
            ct = (ct @ params[layer][0].T) * (before > 0)
    return loss, gradients[::-1]


def tiny_network(params: Any, x: Any, y: Any) -> Any:
    (w1, b1), (w2, b2), (w3, b3) = params
    h1 = np.tanh(x.dot(w1) + b1)
    h2 = np.tanh(h1.dot(w2) + b2)
    error = (h2.dot(w3) + b3)[:, 0] - y
    ct = error * (2.0 / len(y))
    ct = ct[:, None]
    ct2 = ct * w3[:, 0] * (1.0 - h2 * h2)
    ct1 = ct2.dot(w2.T) * (1.0 - h1 * h1)
    gradients = [
        (x.T.dot(ct1), ct1.sum(axis=0)),
        (h1.T.dot(ct2), ct2.sum(axis=0)),
        (h2.T.dot(ct), ct.sum(axis=0)),
    ]
    return error.dot(error) / len(y), gradients


def per_example_gradients(params: Any, x: Any, targets: Any) -> Any:
    (w1, b1), (w2, b2) = params
    hidden = np.maximum(x @ w1 + b1, 0)
    logits = hidden @ w2 + b2
    logits -= logits.max(axis=-1, keepdims=True)
    probabilities = np.exp(logits)
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    ct2 = probabilities - targets
    ct1 = (ct2 @ w2.T) * (hidden > 0)
    return [
        (x[:, :, None] * ct1[:, None, :], ct1),
        (hidden[:, :, None] * ct2[:, None, :], ct2),
    ]


def hessian(x: Any, w: Any) -> Any:
    z = w @ x
    p = np.exp(z - z.max())
    p /= p.sum()
    mean = p @ w
    result = w.T @ (p[:, None] * w)
    result -= mean[:, None] * mean
    result.flat[:: len(x) + 1] += 1.0
    return result


def gaussian_process(logs: Any, x: Any, y: Any) -> Any:
    scale, length, noise = np.exp(logs["scale"]), np.exp(logs["length"]), np.exp(logs["noise"])
    z = x / length
    squares = np.einsum("ij,ij->i", z, z)
    distances = np.maximum(squares[:, None] + squares - 2.0 * (z @ z.T), 0.0)
    correlation = scale * np.exp(-0.5 * distances)
    kernel = correlation.copy()
    kernel.flat[:: len(y) + 1] += noise
    factor, lower = linalg.cho_factor(kernel, lower=True, check_finite=False)
    alpha = linalg.cho_solve((factor, lower), y, check_finite=False)
    (invert,) = linalg.get_lapack_funcs(("potri",), (factor,))
    inverse, _ = invert(factor, lower=True)
    # Only its lower triangle is there; what it is multiplied with is symmetric.
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    ct = 0.5 * (inverse - alpha[:, None] * alpha)
    ct_correlation = ct * correlation
    value = 0.5 * y.dot(alpha) + np.log(np.diagonal(factor)).sum()
    gradients = {
        "scale": ct_correlation.sum(),
        "length": np.vdot(ct_correlation, distances),
        "noise": noise * np.trace(ct),
    }
    return value, gradients


def chain(x: Any) -> Any:
    square = x * x
    t = np.tanh(x)
    e = np.exp(-square)
    product = t * e
    gradient = e * (1.0 - t * t) + 2.0 * x * (1.0 / (1.0 + square) - product)
    return np.sum(product + np.log1p(square)), gradient


def attention(params: Any, x: Any, targets: Any) -> Any:
    batch, length, width = x.shape
    rows = x.reshape(-1, width)
    joined = np.concatenate([params["query"], params["key"], params["value"]], axis=1)
    projected = (rows @ joined).reshape(batch, length, 3, HEADS, HEAD_SIZE)
    query, key, value = projected.transpose(2, 0, 3, 1, 4)
    root = HEAD_SIZE**0.5
    scores = query @ key.transpose(0, 1, 3, 2) / root
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, width)
    error = (rows + mixed @ params["out"]).reshape(x.shape) - targets
    loss = np.vdot(error, error) / error.size
    ct = (error * (2.0 / error.size)).reshape(-1, width)
    ct_out = mixed.T @ ct
    ct_mixed = (ct @ params["out"].T).reshape(batch, length, HEADS, HEAD_SIZE).transpose(0, 2, 1, 3)
    ct_projected = np.empty_like(projected)
    ct_query, ct_key, ct_value = ct_projected.transpose(2, 0, 3, 1, 4)
    ct_value[...] = scores.transpose(0, 1, 3, 2) @ ct_mixed
    ct_scores = ct_mixed @ value.transpose(0, 1, 3, 2)
    ct_scores -= np.vecdot(ct_scores, scores)[..., None]
    ct_scores *= scores
    ct_scores /= root
    ct_query[...] = ct_scores @ key
    ct_key[...] = ct_scores.transpose(0, 1, 3, 2) @ query
    ct_joined = rows.T @ ct_projected.reshape(-1, 3 * width)
    by_query, by_key, by_value = np.split(ct_joined, 3, axis=1)
    return loss, {"query": by_query, "key": by_key, "value": by_value, "out": ct_out}


def patches(x: Any) -> Any:
    """The 3x3 patches of images at every other place, one a row."""
    windows = sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    count, channels, height, width = windows.shape[:4]
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(count * height * width, channels * 9)


def convolutional_network(params: Any, images: Any, targets: Any) -> Any:
    w1, w2, dense = params["first"]["w"], params["second"]["w"], params["dense"]["w"]
    count = len(images)
    patches1 = patches(images)
    h1 = np.maximum(patches1 @ w1.reshape(8, -1).T + params["first"]["b"], 0)
    patches2 = patches(h1.reshape(count, 13, 13, 8).transpose(0, 3, 1, 2))
    h2 = np.maximum(patches2 @ w2.reshape(16, -1).T + params["second"]["b"], 0)
    flat = h2.reshape(count, 36, 16).transpose(0, 2, 1).reshape(count, -1)
    logits = flat @ dense + params["dense"]["b"]
    logits -= logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits)
    totals = exponentials.sum(axis=-1, keepdims=True)
    loss = (np.log(totals).sum() - np.vdot(targets, logits)) / count
    ct = (exponentials / totals - targets) / count
    by_dense = {"w": flat.T @ ct, "b": ct.sum(axis=0)}
    ct2 = (ct @ dense.T).reshape(count, 16, 36).transpose(0, 2, 1).reshape(-1, 16) * (h2 > 0)
    by_second = {"w": (ct2.T @ patches2).reshape(w2.shape), "b": ct2.sum(axis=0)}
    ct_patches = (ct2 @ w2.reshape(16, -1)).reshape(count, 6, 6, 8, 3, 3)
    ct1 = np.zeros((count, 13, 13, 8), h1.dtype)
    for i in range(3):
        for j in range(3):
            ct1[:, i : i + 11 : 2, j : j + 11 : 2] += ct_patches[..., i, j]
    ct1 = ct1.reshape(-1, 8) * (h1 > 0)
    by_first = {"w": (ct1.T @ patches1).reshape(w1.shape), "b": ct1.sum(axis=0)}
    return loss, {"first": by_first, "second": by_second, "dense": by_dense}


def greeks(spot: Any, time: Any, rate: Any, volatility: Any, strike: Any) -> Any:
    root = np.sqrt(time)
    spread = volatility * root
    upper = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread
    lower = upper - spread
    delta = special.ndtr(upper)
    owed = strike * np.exp(-rate * time) * special.ndtr(lower)
    density = spot * np.exp(-0.5 * upper * upper) * (1.0 / (2.0 * np.pi) ** 0.5)
    theta = 0.5 * density * volatility / root + rate * owed
    return delta, theta, time * owed, density * root


def gaussian_mixture(params: Any, x: Any) -> Any:
    count = len(x)
    inverse = np.exp(-params["log_scales"])
    logits = params["logits"] - params["logits"].max()
    weights = np.exp(logits)
    total = weights.sum()
    scaled = (x[:, None] - params["means"]) * inverse
    squares = scaled * scaled
    logs = logits - np.log(total) - params["log_scales"].sum(axis=-1) - 0.5 * squares.sum(axis=-1)
    top = logs.max(axis=-1, keepdims=True)
    shares = np.exp(logs - top)
    totals = shares.sum(axis=-1, keepdims=True)
    value = np.mean(np.log(totals) + top) - 0.5 * x.shape[-1] * np.log(2.0 * np.pi)
    shares /= totals * count
    mass = shares.sum(axis=0)
    gradients = {
        "logits": mass - weights / total,
        "means": np.einsum("nk,nkd->kd", shares, scaled) * inverse,
        "log_scales": np.einsum("nk,nkd->kd", shares, squares) - mass[:, None],
    }
    return x.dtype.type(value), gradients


#: By the name of the program in `workloads`.
BY_HAND = {
    f.__name__: f
    for f in (
        rosenbrock,
        logistic_regression,
        network,
        tiny_network,
        per_example_gradients,
        hessian,
        gaussian_process,
        chain,
        attention,
        convolutional_network,
        greeks,
        gaussian_mixture,
    )
}
