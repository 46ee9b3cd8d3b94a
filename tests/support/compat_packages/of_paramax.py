"""Parametrizations of paramax: constrained, frozen and weight-normalized parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import paramax

positive = paramax.Parameterize(jnp.exp, jnp.log(jnp.array([1.0, 2.0, 3.0])))
model = {"scale": positive, "offset": paramax.non_trainable(jnp.array([0.5, -0.5, 1.0]))}
weights = paramax.WeightNormalization(jnp.arange(6.0).reshape(2, 3) + 1.0)


def loss(both):
    model, weights = paramax.unwrap(both)
    return jnp.sum((weights * model["scale"] + model["offset"]) ** 2)


value, slopes = eqx.filter_jit(eqx.filter_value_and_grad(loss))((model, weights))
print(float(value))
for leaf in jax.tree.leaves(slopes):
    print(*map(float, jnp.ravel(leaf)))
