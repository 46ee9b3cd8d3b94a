"""Tree search of mctx: the action weights of a small problem with known rewards."""

import jax
import jax.numpy as jnp
import mctx

rewards = jnp.array([[0.0, 1.0, 0.5], [0.2, 0.1, 0.9]])


def step(params, key, action, embedding):
    reward = rewards[jnp.arange(2), action] - 0.1 * embedding
    output = mctx.RecurrentFnOutput(
        reward=reward,
        discount=jnp.full(2, 0.9),
        prior_logits=jnp.zeros((2, 3)),
        value=jnp.zeros(2),
    )
    return output, embedding + 1.0


root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.zeros(2))


@jax.jit
def search(key):
    return mctx.gumbel_muzero_policy((), key, root, step, num_simulations=16)


policy = search(jax.random.PRNGKey(0))
print(*map(int, policy.action))
print(*map(float, policy.action_weights.ravel()))
