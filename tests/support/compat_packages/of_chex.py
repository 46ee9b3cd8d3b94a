"""Assertions and dataclasses of chex."""

import chex
import jax
import jax.numpy as jnp

x = jnp.ones((2, 3))
chex.assert_shape(x, (2, 3))
chex.assert_rank(x, 2)
chex.assert_type(x, float)
chex.assert_tree_all_finite({"a": x})
try:
    chex.assert_shape(x, (3, 3))
except AssertionError:
    print(1)


@chex.dataclass
class Pair:
    a: chex.Array
    b: chex.Array


pair = Pair(a=x, b=2 * x)
gradient = jax.grad(lambda pair: jnp.sum(pair.a * pair.b))(pair)
chex.assert_trees_all_close(gradient.a, pair.b)


@jax.jit
@chex.assert_max_traces(n=1)
def increment(x):
    return x + 1


increment(increment(x))
chex.assert_numerical_grads(lambda x: jnp.sin(x).sum(), (jnp.arange(3.0),), order=1)


@chex.chexify
@jax.jit
def positive(x):
    chex.assert_tree_all_finite(x)
    return jnp.log(x)


positive(jnp.ones(2))
positive.wait_checks()
print(float(gradient.a.sum()), float(jax.tree.map(jnp.sum, pair).b))
