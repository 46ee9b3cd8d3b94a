"""The workloads in NumPy by hand, with intermediate results in buffers that are kept between calls.

Each function takes the arguments once, to make the buffers for, and returns the function to call with
them. What that one returns is the caller's own: no buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, special

from benchmarks.by_hand import patches
from benchmarks.workloads import HEAD_SIZE, HEADS

Function = Callable[..., Any]


def rosenbrock(x: Any) -> Function:
    bend, gap, product = np.empty((3, len(x) - 1), x.dtype)

    def run(x: Any) -> Any:
        head = x[:-1]
        np.multiply(head, head, out=bend)
        np.subtract(x[1:], bend, out=bend)
        np.subtract(1.0, head, out=gap)
        value = 100.0 * bend.dot(bend) + gap.dot(gap)
        np.multiply(bend, 200.0, out=bend)
        np.multiply(gap, -2.0, out=gap)
        np.multiply(bend, head, out=product)
        np.multiply(product, -2.0, out=product)
        gradient = np.empty_like(x)
        np.add(product, gap, out=gradient[:-1])
        gradient[-1] = 0.0
        gradient[1:] += bend
        return value, gradient

    return run


def logistic_regression(params: Any, x: Any, y: Any) -> Function:
    margins, decay, wrong, losses = np.empty((4, len(y)), y.dtype)
    right = np.empty(len(y), bool)

    def run(params: Any, x: Any, y: Any) -> Any:
        np.dot(x, params["w"], out=margins)
        np.add(margins, params["b"], out=margins)
        np.multiply(margins, y, out=margins)
        np.abs(margins, out=decay)
        np.negative(decay, out=decay)
        np.exp(decay, out=decay)
        np.log1p(decay, out=losses)
        np.greater(margins, 0, out=right)
        np.minimum(margins, 0.0, out=margins)
        np.subtract(losses, margins, out=losses)
        wrong.fill(1.0)
        np.copyto(wrong, decay, where=right)
        np.add(decay, 1.0, out=decay)
        np.divide(wrong, decay, out=wrong)
        np.multiply(wrong, y, out=wrong)
        np.multiply(wrong, -1.0 / len(y), out=wrong)
        return losses.mean(), {"w": wrong @ x, "b": wrong.sum()}

    return run


def network(params: Any, x: Any, targets: Any) -> Function:
    rows = len(x)
    outputs = [np.empty((rows, len(b)), x.dtype) for _, b in params]
    cotangents = [np.empty_like(output) for output in outputs]
    masks = [np.empty(output.shape, bool) for output in outputs]

    def run(params: Any, x: Any, targets: Any) -> Any:
        inputs = [x, *outputs[:-1]]
        for (w, b), before, after in zip(params, inputs, outputs, strict=True):
            np.matmul(before, w, out=after)
            np.add(after, b, out=after)
            if after is not outputs[-1]:
                np.maximum(after, 0, out=after)
        logits, ct = outputs[-1], cotangents[-1]
        np.subtract(logits, logits.max(axis=-1, keepdims=True), out=logits)
        np.exp(logits, out=ct)
        totals = ct.sum(axis=-1, keepdims=True)
        loss = (np.log(totals).sum() - np.vdot(targets, logits)) / rows
        np.divide(ct, totals, out=ct)
        np.subtract(ct, targets, out=ct)
        np.multiply(ct, 1.0 / rows, out=ct)
        gradients = []
        for layer in range(len(params) - 1, -1, -1):
            before, ct = inputs[layer], cotangents[layer]
            gradients.append((before.T @ ct, ct.sum(axis=0)))
            if layer:
                np.matmul(ct, params[layer][0].T, out=cotangents[layer - 1])
                np.greater(before, 0, out=masks[layer - 1])
                np.multiply(cotangents[layer - 1], masks[layer - 1], out=cotangents[layer - 1])
        return loss, gradients[::-1]

    return run


def tiny_network(params: Any, x: Any, y: Any) -> Function:
    rows = len(x)
    h1, h2, slope1, slope2, ct1, ct2 = np.empty((6, rows, 8), x.dtype)
    error = np.empty((rows, 1), x.dtype)
    ct = np.empty((rows, 1), x.dtype)

    def run(params: Any, x: Any, y: Any) -> Any:
        (w1, b1), (w2, b2), (w3, b3) = params
        np.dot(x, w1, h1)
        np.add(h1, b1, h1)
        np.tanh(h1, h1)
        np.dot(h1, w2, h2)
        np.add(h2, b2, h2)
        np.tanh(h2, h2)
        np.dot(h2, w3, error)
        np.add(error, b3, error)
        flat = error[:, 0]
        np.subtract(flat, y, flat)
        np.multiply(error, 2.0 / rows, ct)
        np.multiply(h2, h2, slope2)
        np.subtract(1.0, slope2, slope2)
        np.multiply(ct, w3[:, 0], ct2)
        np.multiply(ct2, slope2, ct2)
        np.multiply(h1, h1, slope1)
        np.subtract(1.0, slope1, slope1)
        np.dot(ct2, w2.T, ct1)
        np.multiply(ct1, slope1, ct1)
        gradients = [
            (x.T.dot(ct1), np.add.reduce(ct1)),
            (h1.T.dot(ct2), np.add.reduce(ct2)),
            (h2.T.dot(ct), np.add.reduce(ct)),
        ]
        return flat.dot(flat) / rows, gradients

    return run


def per_example_gradients(params: Any, x: Any, targets: Any) -> Function:
    hidden = np.empty((len(x), len(params[0][1])), x.dtype)
    active = np.empty(hidden.shape, bool)

    def run(params: Any, x: Any, targets: Any) -> Any:
        (w1, b1), (w2, b2) = params
        np.matmul(x, w1, out=hidden)
        np.add(hidden, b1, out=hidden)
        np.maximum(hidden, 0, out=hidden)
        ct2 = hidden @ w2
        np.add(ct2, b2, out=ct2)
        np.subtract(ct2, ct2.max(axis=-1, keepdims=True), out=ct2)
        np.exp(ct2, out=ct2)
        np.divide(ct2, ct2.sum(axis=-1, keepdims=True), out=ct2)
        np.subtract(ct2, targets, out=ct2)
        ct1 = ct2 @ w2.T
        np.greater(hidden, 0, out=active)
        np.multiply(ct1, active, out=ct1)
        return [
            (x[:, :, None] * ct1[:, None, :], ct1),
            (hidden[:, :, None] * ct2[:, None, :], ct2),
        ]

    return run


def hessian(x: Any, w: Any) -> Function:
    z = np.empty(len(w), w.dtype)
    weighted = np.empty_like(w)
    outer = np.empty((len(x), len(x)), w.dtype)

    def run(x: Any, w: Any) -> Any:
        np.dot(w, x, out=z)
        np.subtract(z, z.max(), out=z)
        np.exp(z, out=z)
        np.divide(z, z.sum(), out=z)
        mean = z @ w
        np.multiply(z[:, None], w, out=weighted)
        np.multiply(mean[:, None], mean, out=outer)
        result = w.T @ weighted
        np.subtract(result, outer, out=result)
        result.flat[:: len(x) + 1] += 1.0
        return result

    return run


def gaussian_process(logs: Any, x: Any, y: Any) -> Function:
    n = len(y)
    z = np.empty_like(x)
    distances, correlation, ct, outer = np.empty((4, n, n), x.dtype)
    kernel = np.empty((n, n), x.dtype, order="F")
    (factorise, solve, invert) = linalg.get_lapack_funcs(("potrf", "potrs", "potri"), (kernel,))

    def run(logs: Any, x: Any, y: Any) -> Any:
        scale, length, noise = np.exp(logs["scale"]), np.exp(logs["length"]), np.exp(logs["noise"])
        np.divide(x, length, out=z)
        squares = np.einsum("ij,ij->i", z, z)
        np.matmul(z, z.T, out=distances)
        np.multiply(distances, -2.0, out=distances)
        np.add(distances, squares, out=distances)
        np.add(distances, squares[:, None], out=distances)
        np.maximum(distances, 0.0, out=distances)
        np.multiply(distances, -0.5, out=correlation)
        np.exp(correlation, out=correlation)
        np.multiply(correlation, scale, out=correlation)
        # Symmetric, so its transpose fills the columns in the order that they lie in memory.
        np.copyto(kernel.T, correlation)
        kernel.T.flat[:: n + 1] += noise
        factor, _ = factorise(kernel, lower=True, overwrite_a=True, clean=False)
        alpha, _ = solve(factor, y, lower=True)
        value = 0.5 * y.dot(alpha) + np.log(np.diagonal(factor)).sum()
        inverse, _ = invert(factor, lower=True, overwrite_c=True)
        # Twice its lower triangle and once its diagonal weigh what the whole would.
        np.multiply(alpha[:, None], alpha, out=outer)
        np.multiply(correlation, distances, out=ct)
        weighted = np.vdot(outer, ct)
        trace_outer = np.vdot(outer, correlation)
        inverse_lower = np.tril(inverse)
        doubled = inverse_lower.T.ravel(order="K")
        diagonal = np.diagonal(inverse)
        by_scale = 2.0 * np.vdot(doubled, correlation.T.ravel()) - diagonal.dot(
            np.diagonal(correlation)
        )
        by_length = 2.0 * np.vdot(doubled, ct.T.ravel()) - diagonal.dot(np.diagonal(ct))
        gradients = {
            "scale": 0.5 * (by_scale - trace_outer),
            "length": 0.5 * (by_length - weighted),
            "noise": 0.5 * noise * (diagonal.sum() - alpha.dot(alpha)),
        }
        return value, gradients

    return run


def chain(x: Any) -> Function:
    square, t, e, last = np.empty((4, len(x)), x.dtype)

    def run(x: Any) -> Any:
        np.multiply(x, x, out=square)
        np.tanh(x, out=t)
        np.negative(square, out=e)
        np.exp(e, out=e)
        gradient = np.multiply(t, t)
        np.subtract(1.0, gradient, out=gradient)
        np.multiply(gradient, e, out=gradient)
        np.multiply(t, e, out=t)
        np.log1p(square, out=last)
        np.add(last, t, out=last)
        value = last.sum()
        np.add(square, 1.0, out=square)
        np.divide(1.0, square, out=square)
        np.subtract(square, t, out=square)
        np.multiply(square, x, out=square)
        np.multiply(square, 2.0, out=square)
        np.add(gradient, square, out=gradient)
        return value, gradient

    return run


def attention(params: Any, x: Any, targets: Any) -> Function:
    batch, length, width = x.shape
    joined = np.empty((width, 3 * width), x.dtype)
    projected, ct_projected = np.empty((2, batch * length, 3 * width), x.dtype)
    split = (batch, length, 3, HEADS, HEAD_SIZE)
    query, key, value = projected.reshape(split).transpose(2, 0, 3, 1, 4)
    ct_query, ct_key, ct_value = ct_projected.reshape(split).transpose(2, 0, 3, 1, 4)
    scores, ct_scores = np.empty((2, batch, HEADS, length, length), x.dtype)
    mixed, error, ct_mixed = np.empty((3, batch * length, width), x.dtype)
    mixed_heads = mixed.reshape(batch, length, HEADS, HEAD_SIZE).transpose(0, 2, 1, 3)
    ct_heads = ct_mixed.reshape(batch, length, HEADS, HEAD_SIZE).transpose(0, 2, 1, 3)
    root = HEAD_SIZE**0.5

    def run(params: Any, x: Any, targets: Any) -> Any:
        rows = x.reshape(-1, width)
        np.concatenate([params["query"], params["key"], params["value"]], axis=1, out=joined)
        np.matmul(rows, joined, out=projected)
        np.multiply(query, 1.0 / root, out=query)
        np.matmul(query, key.transpose(0, 1, 3, 2), out=scores)
        np.subtract(scores, scores.max(axis=-1, keepdims=True), out=scores)
        np.exp(scores, out=scores)
        np.divide(scores, scores.sum(axis=-1, keepdims=True), out=scores)
        np.matmul(scores, value, out=mixed_heads)
        np.matmul(mixed, params["out"], out=error)
        np.add(error, rows, out=error)
        np.subtract(error, targets.reshape(-1, width), out=error)
        loss = np.vdot(error, error) / error.size
        np.multiply(error, 2.0 / error.size, out=error)
        ct_out = mixed.T @ error
        np.matmul(error, params["out"].T, out=ct_mixed)
        np.matmul(scores.transpose(0, 1, 3, 2), ct_heads, out=ct_value)
        np.matmul(ct_heads, value.transpose(0, 1, 3, 2), out=ct_scores)
        np.subtract(ct_scores, np.vecdot(ct_scores, scores)[..., None], out=ct_scores)
        np.multiply(ct_scores, scores, out=ct_scores)
        # The query was scaled: the key gets its scale from there.
        np.matmul(ct_scores.transpose(0, 1, 3, 2), query, out=ct_key)
        np.matmul(ct_scores, key, out=ct_query)
        np.multiply(ct_query, 1.0 / root, out=ct_query)
        by_query, by_key, by_value = np.split(rows.T @ ct_projected, 3, axis=1)
        return loss, {"query": by_query, "key": by_key, "value": by_value, "out": ct_out}

    return run


def convolutional_network(params: Any, images: Any, targets: Any) -> Function:
    count, dtype = len(images), images.dtype
    h1, ct1_kept = np.empty((2, count * 169, 8), dtype)
    h2, ct2_kept = np.empty((2, count * 36, 16), dtype)
    active1, active2 = np.empty(h1.shape, bool), np.empty(h2.shape, bool)
    ct_rows = np.empty((count * 36, 72), dtype)
    ct_flat = np.empty((count, 576), dtype)

    def run(params: Any, images: Any, targets: Any) -> Any:
        w1, w2, dense = params["first"]["w"], params["second"]["w"], params["dense"]["w"]
        patches1 = patches(images)
        np.matmul(patches1, w1.reshape(8, -1).T, out=h1)
        np.add(h1, params["first"]["b"], out=h1)
        np.maximum(h1, 0, out=h1)
        patches2 = patches(h1.reshape(count, 13, 13, 8).transpose(0, 3, 1, 2))
        np.matmul(patches2, w2.reshape(16, -1).T, out=h2)
        np.add(h2, params["second"]["b"], out=h2)
        np.maximum(h2, 0, out=h2)
        flat = h2.reshape(count, 36, 16).transpose(0, 2, 1).reshape(count, -1)
        logits = flat @ dense
        np.add(logits, params["dense"]["b"], out=logits)
        np.subtract(logits, logits.max(axis=-1, keepdims=True), out=logits)
        ct = np.exp(logits)
        totals = ct.sum(axis=-1, keepdims=True)
        loss = (np.log(totals).sum() - np.vdot(targets, logits)) / count
        np.divide(ct, totals, out=ct)
        np.subtract(ct, targets, out=ct)
        np.multiply(ct, 1.0 / count, out=ct)
        by_dense = {"w": flat.T @ ct, "b": ct.sum(axis=0)}
        np.matmul(ct, dense.T, out=ct_flat)
        ct2 = ct2_kept
        np.copyto(ct2.reshape(count, 36, 16), ct_flat.reshape(count, 16, 36).transpose(0, 2, 1))
        np.greater(h2, 0, out=active2)
        np.multiply(ct2, active2, out=ct2)
        by_second = {"w": (ct2.T @ patches2).reshape(w2.shape), "b": ct2.sum(axis=0)}
        np.matmul(ct2, w2.reshape(16, -1), out=ct_rows)
        ct_patches = ct_rows.reshape(count, 6, 6, 8, 3, 3)
        ct1 = ct1_kept.reshape(count, 13, 13, 8)
        ct1.fill(0.0)
        for i in range(3):
            for j in range(3):
                ct1[:, i : i + 11 : 2, j : j + 11 : 2] += ct_patches[..., i, j]
        np.greater(h1, 0, out=active1)
        np.multiply(ct1_kept, active1, out=ct1_kept)
        by_first = {"w": (ct1_kept.T @ patches1).reshape(w1.shape), "b": ct1_kept.sum(axis=0)}
        return loss, {"first": by_first, "second": by_second, "dense": by_dense}

    return run


def greeks(spot: Any, time: Any, rate: Any, volatility: Any, strike: Any) -> Function:
    root, spread, upper, lower = np.empty((4, len(spot)), spot.dtype)

    def run(spot: Any, time: Any, rate: Any, volatility: Any, strike: Any) -> Any:
        np.sqrt(time, out=root)
        np.multiply(volatility, root, out=spread)
        np.divide(spot, strike, out=upper)
        np.log(upper, out=upper)
        np.multiply(volatility, volatility, out=lower)
        np.multiply(lower, 0.5, out=lower)
        np.add(lower, rate, out=lower)
        np.multiply(lower, time, out=lower)
        np.add(upper, lower, out=upper)
        np.divide(upper, spread, out=upper)
        np.subtract(upper, spread, out=lower)
        delta = special.ndtr(upper)
        special.ndtr(lower, out=lower)
        np.multiply(rate, time, out=spread)
        np.negative(spread, out=spread)
        np.exp(spread, out=spread)
        np.multiply(spread, strike, out=spread)
        owed = np.multiply(spread, lower, out=lower)
        by_rate = time * owed
        density = np.multiply(upper, upper, out=upper)
        np.multiply(density, -0.5, out=density)
        np.exp(density, out=density)
        np.multiply(density, spot, out=density)
        np.multiply(density, 1.0 / (2.0 * np.pi) ** 0.5, out=density)
        by_volatility = density * root
        theta = np.multiply(density, volatility)
        np.divide(theta, root, out=theta)
        np.multiply(theta, 0.5, out=theta)
        np.multiply(owed, rate, out=owed)
        np.add(theta, owed, out=theta)
        return delta, theta, by_rate, by_volatility

    return run


def gaussian_mixture(params: Any, x: Any) -> Function:
    count, width = x.shape
    components = len(params["logits"])
    scaled, squares = np.empty((2, count, components, width), x.dtype)
    logs = np.empty((count, components), x.dtype)
    half_log = 0.5 * width * np.log(2.0 * np.pi)

    def run(params: Any, x: Any) -> Any:
        inverse = np.exp(-params["log_scales"])
        logits = params["logits"] - params["logits"].max()
        weights = np.exp(logits)
        total = weights.sum()
        np.subtract(x[:, None], params["means"], out=scaled)
        np.multiply(scaled, inverse, out=scaled)
        np.multiply(scaled, scaled, out=squares)
        np.add.reduce(squares, axis=-1, out=logs)
        np.multiply(logs, -0.5, out=logs)
        np.add(logs, logits - np.log(total) - params["log_scales"].sum(axis=-1), out=logs)
        top = logs.max(axis=-1, keepdims=True)
        np.subtract(logs, top, out=logs)
        np.exp(logs, out=logs)
        totals = logs.sum(axis=-1, keepdims=True)
        value = np.mean(np.log(totals) + top) - half_log
        totals *= count
        np.divide(logs, totals, out=logs)
        mass = logs.sum(axis=0)
        gradients = {
            "logits": mass - weights / total,
            "means": np.einsum("nk,nkd->kd", logs, scaled) * inverse,
            "log_scales": np.einsum("nk,nkd->kd", logs, squares) - mass[:, None],
        }
        return x.dtype.type(value), gradients

    return run


#: By the name of the program in `workloads`.
IN_PLACE = {
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
