"""Optimisers, schedules and losses of optax: the loss of each after 50 steps."""

import jax
import jax.numpy as jnp
import optax


def loss(params):
    return jnp.sum((params["w"] - 3.0) ** 2) + jnp.sum((params["b"] + 1.0) ** 4)


def after_fifty_steps(optimizer):
    params = {"w": jnp.zeros(3), "b": jnp.ones(2)}
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        value, grads = jax.value_and_grad(loss)(params)
        more = {"value": value, "grad": grads, "value_fn": loss}
        extra = isinstance(optimizer, optax.GradientTransformationExtraArgs)
        updates, state = optimizer.update(grads, state, params, **(more if extra else {}))
        return optax.apply_updates(params, updates), state, value

    for _ in range(50):
        params, state, value = step(params, state)
    return value


OPTIMIZERS = [
    optax.adam(0.1),
    optax.sgd(0.05, momentum=0.9),
    optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1)),
    optax.lion(0.05),
    optax.rmsprop(0.05),
    optax.adafactor(0.1),
    optax.lamb(optax.cosine_decay_schedule(0.1, 100)),
    optax.lbfgs(0.5),
]
print(*[float(after_fifty_steps(optimizer)) for optimizer in OPTIMIZERS])
logits = jnp.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
labels = jnp.array([1, 2])
print(*map(float, optax.softmax_cross_entropy_with_integer_labels(logits, labels)))
print(*map(float, optax.huber_loss(jnp.arange(3.0), jnp.zeros(3))))
