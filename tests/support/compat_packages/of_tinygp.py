"""Gaussian processes of tinygp: likelihood, its gradient, conditioning, a fast solver."""

import jax
import jax.numpy as jnp
from tinygp import GaussianProcess, kernels

times = jnp.linspace(0, 3, 20)
values = jnp.sin(times)


def build(theta):
    kernel = theta[0] ** 2 * kernels.ExpSquared(scale=theta[1]) + kernels.Matern32(scale=2.0)
    return GaussianProcess(kernel, times, diag=0.01)


def loss(theta):
    return -build(theta).log_probability(values)


theta = jnp.array([1.0, 0.7])
value, gradient = jax.jit(jax.value_and_grad(loss))(theta)
print(float(value), *map(float, gradient))
later = build(theta).condition(values, jnp.array([0.5, 1.5])).gp
print(*map(float, later.loc), *map(float, later.variance))
fast = GaussianProcess(kernels.quasisep.Matern32(scale=1.0), times, diag=0.01)
print(float(fast.log_probability(values)))
