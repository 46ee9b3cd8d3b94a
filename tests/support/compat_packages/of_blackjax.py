"""Chains of blackjax: means of 300 draws, and an adapted step length."""

import blackjax
import jax
import jax.numpy as jnp


def log_density(x):
    return -0.5 * jnp.sum((x["a"] - 1.0) ** 2) - 0.125 * jnp.sum(x["b"] ** 2)


start = {"a": jnp.zeros(2), "b": jnp.zeros(1)}
walk = blackjax.mcmc.random_walk.normal(0.5 * jnp.ones(3))
for algorithm in (
    blackjax.nuts(log_density, 0.5, jnp.ones(3)),
    blackjax.hmc(log_density, 0.3, jnp.ones(3), 10),
    blackjax.mala(log_density, 0.3),
    blackjax.additive_step_random_walk(log_density, walk),
):

    def draw(state, key, algorithm=algorithm):
        state, _ = algorithm.step(key, state)
        return state, state.position

    keys = jax.random.split(jax.random.PRNGKey(0), 300)
    positions = jax.lax.scan(draw, algorithm.init(start), keys)[1]
    print(float(positions["a"].mean()))
adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
(_, parameters), _ = adaptation.run(jax.random.PRNGKey(1), start, 200)
print(float(parameters["step_size"]))
