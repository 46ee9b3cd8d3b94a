"""A convolution net, a recurrent net and attention of haiku."""

import haiku as hk
import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)


def net(x, is_training):
    x = hk.Conv2D(4, 3)(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    x = hk.MaxPool(2, 2, "SAME")(jax.nn.relu(x))
    x = hk.Linear(8)(hk.Flatten()(x))
    return hk.nets.MLP([8, 3])(hk.LayerNorm(-1, True, True)(x))


model = hk.transform_with_state(net)
images = jnp.linspace(-1, 1, 128).reshape(2, 8, 8, 1)
params, state = model.init(key, images, True)


def loss(params, state):
    out, state = model.apply(params, state, key, images, True)
    return jnp.mean(out**2), state


(value, _), grads = jax.jit(jax.value_and_grad(loss, has_aux=True))(params, state)
print(float(value), *[float(jnp.sum(jnp.abs(g))) for g in jax.tree.leaves(grads)])


def unroll(xs):
    core = hk.LSTM(4)
    return hk.dynamic_unroll(core, xs, core.initial_state(2))[0]


sequence = jnp.ones((5, 2, 3))
recurrent = hk.transform(unroll)
weights = recurrent.init(key, sequence)
print(float(jnp.sum(recurrent.apply(weights, None, sequence))))
initializer = hk.initializers.TruncatedNormal()
attention = hk.transform(lambda x: hk.MultiHeadAttention(2, 4, w_init=initializer)(x, x, x))
print(float(jnp.sum(attention.apply(attention.init(key, sequence), None, sequence))))
