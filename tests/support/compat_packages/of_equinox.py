"""Modules and filtered transforms of equinox, trained with optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

key = jax.random.PRNGKey(0)
model = eqx.nn.MLP(2, 1, 8, 2, key=key)
inputs = jax.random.normal(jax.random.PRNGKey(1), (32, 2))
targets = jnp.sin(inputs[:, :1]) * inputs[:, 1:]
optimizer = optax.adam(3e-2)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_value_and_grad
def loss(model):
    return jnp.mean((jax.vmap(model)(inputs) - targets) ** 2)


@eqx.filter_jit
def step(model, state):
    value, grads = loss(model)
    updates, state = optimizer.update(grads, state)
    return eqx.apply_updates(model, updates), state, value


for _ in range(40):
    model, state, value = step(model, state)
print(float(value))
print(float(eqx.nn.Conv2d(1, 2, 3, key=key)(jnp.ones((1, 6, 6))).sum()))
print(float(eqx.nn.GRUCell(2, 3, key=key)(jnp.ones(2), jnp.zeros(3)).sum()))
queries = jnp.ones((3, 4))
print(float(eqx.nn.MultiheadAttention(2, 4, key=key)(queries, queries, queries).sum()))
norm, memory = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, axis_name="batch", mode="batch")
mapped = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
print(float(jnp.abs(mapped(inputs, memory)[0]).sum()))
print(float(eqx.nn.Dropout(0.5)(jnp.ones(10), key=key).sum()))
print(*map(float, eqx.filter_jacfwd(model)(jnp.ones(2)).ravel()))
