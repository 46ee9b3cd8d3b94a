"""Distributions and bijectors of distrax, one of them inverted by looking at its program."""

import distrax
import jax
import jax.numpy as jnp

normal = distrax.Normal(0.0, 1.0)
samples, densities = normal.sample_and_log_prob(seed=jax.random.PRNGKey(0), sample_shape=(3,))
print(*map(float, samples), *map(float, densities))
flow = distrax.Transformed(normal, distrax.Tanh())
inside = flow.sample(seed=jax.random.PRNGKey(1), sample_shape=(2,))
print(*map(float, inside), *map(float, flow.log_prob(inside)))
bijector = distrax.Lambda(lambda x: jnp.tanh(x))
print(float(bijector.forward(0.3)), float(bijector.inverse(0.3)))
print(float(bijector.forward_log_det_jacobian(0.3)))
print(float(distrax.Categorical(logits=jnp.arange(3.0)).entropy()))
print(float(jax.grad(lambda mean: distrax.Normal(mean, 1.0).log_prob(0.5))(0.0)))
print(float(distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0))))
markov = distrax.HMM(
    init_dist=distrax.Categorical(probs=jnp.array([0.5, 0.5])),
    trans_dist=distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.2, 0.8]])),
    obs_dist=distrax.Normal(jnp.array([0.0, 3.0]), jnp.ones(2)),
)
print(*map(float, markov.forward(jnp.array([0.1, 2.9, 3.1]))[1].ravel()))
