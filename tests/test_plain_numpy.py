"""Programs that use NumPy alone: differentiated, batched and compiled as they are.

None of them mentions fgrad. Each is run on plain arrays by NumPy, which gives the expected value,
and its derivatives are held against differences of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fgrad

PROGRAMS: dict[str, Callable[[Any], Any]] = {}
T = np.linspace(0.0, 1.0, 12)
WEIGHTS = np.random.default_rng(8).normal(size=(12, 4))
TARGETS = np.random.default_rng(9).normal(size=4)


def program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


# ---- signals -------------------------------------------------------------------------------------


@program
def power_in_a_band(x: Any) -> Any:
    spectrum = np.fft.rfft(x * np.hanning(x.size))
    frequencies = np.fft.rfftfreq(x.size, d=0.1)
    return np.sum(np.where(frequencies < 2.0, np.abs(spectrum) ** 2, 0.0))


@program
def filtered_energy(x: Any) -> Any:
    kernel = np.exp(-(np.fft.fftfreq(x.size) ** 2) * 20.0)
    smooth = np.fft.ifft(np.fft.fft(x) * kernel).real
    return np.sum((x - smooth) ** 2)


@program
def image_sharpness(x: Any) -> Any:
    spectrum = np.fft.fftshift(np.fft.fft2(np.reshape(x, (3, 4))))
    return np.sum(np.abs(spectrum) * np.hypot(*np.mgrid[-1:2, -2:2]))


@program
def autocorrelation(x: Any) -> Any:
    centred = x - np.mean(x)
    return np.correlate(centred, centred, mode="full")[x.size :] @ np.arange(1.0, x.size)


@program
def moving_average_error(x: Any) -> Any:
    smooth = np.convolve(x, np.full(3, 1 / 3), mode="same")
    return np.sum(np.abs(np.diff(smooth)) ** 1.5)


@program
def unwrapped_phase_slope(x: Any) -> Any:
    phase = np.unwrap(np.angle(np.exp(1j * np.cumsum(x + 1.5))))
    return np.polyval(phase[:4], 0.5) + np.ptp(phase)


# ---- statistics ----------------------------------------------------------------------------------


@program
def negative_log_likelihood(x: Any) -> Any:
    mean, scale = np.mean(x), np.std(x, ddof=1)
    return np.sum(0.5 * ((x - mean) / scale) ** 2 + np.log(scale)) + 0.1 * mean**2


@program
def skewness(x: Any) -> Any:
    centred = x - x.mean()
    return np.mean(centred**3) / np.mean(centred**2) ** 1.5


@program
def softmax_cross_entropy(x: Any) -> Any:
    logits = x - np.max(x)
    return np.log(np.sum(np.exp(logits))) - logits[3]


@program
def log_of_a_sum_of_exponentials(x: Any) -> Any:
    return np.logaddexp.reduce(x) + np.sum(np.logaddexp.accumulate(x)[::3])


@program
def trimmed_mean(x: Any) -> Any:
    ordered = np.sort(x)
    return np.mean(ordered[2:-2]) * np.median(x) + np.quantile(x, 0.3)


@program
def correlation_penalty(x: Any) -> Any:
    rows = np.reshape(x, (3, 4)) + np.array([[0.0], [1.0], [2.0]]) * T[:4]
    return np.sum(np.triu(np.corrcoef(rows), 1) ** 2) + np.trace(np.cov(rows))


@program
def weighted_average(x: Any) -> Any:
    return np.average(x, weights=np.exp(-T)) + np.dot(np.histogram_bin_edges(T, 4)[:4], x[:4])


# ---- geometry and physics ------------------------------------------------------------------------


@program
def distances_between_points(x: Any) -> Any:
    points = x.reshape(4, 3)
    apart = points[:, None, :] - points[None, :, :]
    return np.sum(np.triu(np.sqrt(np.sum(apart**2, axis=-1) + 0.01), k=1))


@program
def pendulum_by_leapfrog(x: Any) -> Any:
    angle, speed = x[0], x[1]
    for _ in range(20):
        speed = speed - 0.05 * np.sin(angle)
        angle = angle + 0.1 * speed
        speed = speed - 0.05 * np.sin(angle)
    return 0.5 * speed**2 - np.cos(angle)


@program
def volume_and_area(x: Any) -> Any:
    a, b, c = x[0:3], x[3:6], x[6:9]
    return np.dot(np.cross(a, b), c) + np.linalg.norm(np.cross(b, c)) + np.linalg.det(np.eye(3) + a)


@program
def arc_length(x: Any) -> Any:
    return np.sum(np.hypot(np.diff(x), np.diff(T))) + np.trapezoid(x**2, T)


@program
def heat_after_steps(x: Any) -> Any:
    for _ in range(10):
        padded = np.pad(x, 1, mode="edge")
        x = x + 0.2 * (padded[2:] - 2 * x + padded[:-2])
    return np.sum(x**4)


@program
def rotation(x: Any) -> Any:
    c, s = np.cos(x[0]), np.sin(x[0])
    turned = np.stack([np.stack([c, -s]), np.stack([s, c])]) @ x[2:4]
    return np.arctan2(turned[1], turned[0]) + np.sum(turned**3)


@program
def gravity(x: Any) -> Any:
    points = np.concatenate([np.reshape(x, (6, 2)), np.ones((6, 1))], axis=1)
    squares = np.einsum("ik,jk->ij", points, points)
    size = np.diagonal(squares)
    return np.sum(1.0 / (0.5 + size[:, None] + size[None, :] - 2 * squares))


# ---- linear algebra and fits ---------------------------------------------------------------------


@program
def ridge_regression(x: Any) -> Any:
    gram = WEIGHTS.T @ WEIGHTS + 0.5 * np.eye(4)
    solved = np.linalg.solve(gram, WEIGHTS.T @ x)
    return np.sum((WEIGHTS @ solved - x) ** 2) + np.sum(solved**2)


@program
def line_through_points(x: Any) -> Any:
    slope, offset = np.polyfit(T, x, 1)
    return slope**2 + np.sum((np.polyval(np.stack([slope, offset]), T) - x) ** 2)


@program
def log_determinant(x: Any) -> Any:
    root = np.tril(np.reshape(x, (3, 4))[:, :3]) + 2.0 * np.eye(3)
    lower = np.linalg.cholesky(root @ root.T)
    return (
        np.linalg.slogdet(root @ root.T)[1] - 2 * np.sum(np.log(np.diag(lower))) + np.sum(lower**2)
    )


@program
def lowest_energy(x: Any) -> Any:
    hamiltonian = np.diag(x) + np.diag(np.ones(11), 1) + np.diag(np.ones(11), -1)
    return np.linalg.eigvalsh(hamiltonian)[0] + np.linalg.norm(hamiltonian)


@program
def low_rank_distance(x: Any) -> Any:
    return np.sum(np.linalg.svd(np.reshape(x, (3, 4)), compute_uv=False)[1:] ** 2)


@program
def characteristic_polynomial(x: Any) -> Any:
    return np.polyval(np.poly(x[:3]), 0.7) + np.sum(np.polymul(x[:3], x[3:6]) ** 2)


@program
def derivative_of_a_polynomial(x: Any) -> Any:
    return np.polyval(np.polyint(np.polyder(x[:6])), 0.3) + np.polysub(x[:3], x[3:5])[0]


# ---- networks and indices ------------------------------------------------------------------------


@program
def network(x: Any) -> Any:
    hidden = np.tanh(x @ WEIGHTS)
    return np.mean((np.maximum(hidden, 0.1 * hidden) - TARGETS) ** 2)


@program
def attention(x: Any) -> Any:
    rows = np.reshape(x, (3, 4))
    scores = rows @ rows.T / np.sqrt(4)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.sum((weights @ rows) ** 2)


@program
def embedding(x: Any) -> Any:
    rows = np.take(np.reshape(x, (6, 2)), np.array([0, 3, 3, 5]), axis=0)
    return np.sum(np.prod(rows, axis=1)) + np.sum(np.repeat(x, 2)[:7] ** 2)


@program
def piecewise_lookup(x: Any) -> Any:
    inside = np.clip(x, -1.0, 1.0)
    return np.sum(np.interp(inside, np.linspace(-1, 1, 5), [0.0, 2.0, 1.0, 3.0, 0.5])) + np.sum(
        np.where(np.abs(x) > 1.0, np.sign(x) * x**2, 0.0)
    )


@program
def best_path(x: Any) -> Any:
    cost = np.reshape(x, (3, 4))
    total = cost[0]
    for row in cost[1:]:
        total = row + np.minimum(total, np.minimum(np.roll(total, 1), np.roll(total, -1)))
    return np.min(total) + np.max(np.cumsum(x))


@program
def bits_and_floats(x: Any) -> Any:
    mantissa, exponent = np.frexp(np.abs(x) + 0.3)
    return np.sum(np.ldexp(mantissa, exponent) * np.sinc(x)) + np.sum(np.i0(x)) + np.sum(np.cbrt(x))


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 30


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_numpy_is_differentiated_batched_and_compiled(name: str) -> None:
    f = PROGRAMS[name]
    rng = np.random.default_rng(10)
    x, other, direction = rng.normal(size=(3, 12))
    want = f(x)
    step = 1e-6
    slope = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
    tolerance = {"rtol": 1e-5, "atol": 1e-6 * max(1.0, abs(want))}

    np.testing.assert_allclose(fgrad.jit(f)(x), want, rtol=1e-9)
    value, gradient = fgrad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, want, rtol=1e-9)
    np.testing.assert_allclose(gradient @ direction, slope, **tolerance)
    np.testing.assert_allclose(fgrad.jit(fgrad.grad(f))(x), gradient, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fgrad.jvp(f, (x,), (direction,))[1], slope, **tolerance)
    rows = np.stack([other, x])
    np.testing.assert_allclose(fgrad.vmap(f)(rows), [f(other), want], rtol=1e-9)
    per_row = fgrad.vmap(fgrad.grad(f))(rows)
    np.testing.assert_allclose(per_row[1], gradient, rtol=1e-8, atol=1e-10)
