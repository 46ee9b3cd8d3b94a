"""Returns, errors and losses of rlax."""

import jax
import jax.numpy as jnp
import rlax

rewards, values = jnp.array([1.0, 0.0, 2.0]), jnp.array([0.5, 0.2, 0.1])
discounts, ones = jnp.full(3, 0.9), jnp.ones(3)
print(*map(float, rlax.lambda_returns(rewards, discounts, values, 0.8)))
print(float(rlax.td_learning(jnp.array(1.0), jnp.array(1.0), jnp.array(0.9), jnp.array(0.5))))
print(float(rlax.q_learning(jnp.array([1.0, 2.0]), 1, 1.0, 0.9, jnp.array([0.3, 0.1]))))
print(float(rlax.policy_gradient_loss(jnp.ones((3, 2)), jnp.array([0, 1, 0]), rewards, ones)))
print(*map(float, rlax.vtrace(values, values, rewards, discounts, ones)))
entropy = jax.grad(lambda logits: rlax.entropy_loss(logits, ones))
print(*map(float, entropy(jnp.arange(6.0).reshape(3, 2)).ravel()))
support = jnp.array([0.0, 1.0, 2.0]), jnp.array([0.2, 0.3, 0.5]), jnp.array([0.0, 0.5, 1.0])
print(*map(float, rlax.categorical_l2_project(*support)))
