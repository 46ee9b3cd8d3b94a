"""Modules of flax.linen: convolution, norms, dropout, a scanned LSTM, attention, vmap of a layer."""

import flax.linen as nn
import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(x))
        x = nn.max_pool(x, (2, 2), (2, 2)).reshape(x.shape[0], -1)
        x = nn.LayerNorm()(nn.Dense(8)(x))
        return nn.Dense(3)(nn.Dropout(0.5, deterministic=not train)(x))


images = jnp.linspace(-1, 1, 128).reshape(2, 8, 8, 1)
variables = Net().init({"params": key, "dropout": key}, images)


def loss(params):
    given = {"params": params, "batch_stats": variables["batch_stats"]}
    out, _ = Net().apply(given, images, rngs={"dropout": key}, mutable=["batch_stats"])
    return jnp.mean(out**2)


value, grads = jax.jit(jax.value_and_grad(loss))(variables["params"])
print(float(value), *[float(jnp.sum(jnp.abs(g))) for g in jax.tree.leaves(grads)])


class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, xs):
        scanned = nn.scan(
            nn.LSTMCell,
            variable_broadcast="params",
            split_rngs={"params": False},
            in_axes=1,
            out_axes=1,
        )
        cell = scanned(4)
        return cell(cell.initialize_carry(key, xs[:, 0].shape), xs)[1]


sequence = jnp.ones((2, 5, 3))
print(float(Recurrent().init_with_output(key, sequence)[0].sum()))
print(float(nn.MultiHeadDotProductAttention(2).init_with_output(key, images[..., 0])[0].sum()))
many = nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})(2)
print(float(many.init_with_output(key, sequence[0])[0].sum()))
