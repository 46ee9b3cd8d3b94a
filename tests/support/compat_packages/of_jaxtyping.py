"""Shapes and dtypes of jaxtyping, checked of arrays and of traced values."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

print(int(isinstance(jnp.ones((2, 3)), Float[Array, "rows columns"])))
print(int(isinstance(jnp.ones(2), Int[Array, "rows"])))
print(int(isinstance({"a": jnp.ones(2)}, PyTree[Float[Array, "..."]])))
print(int(isinstance(jax.random.key(0), Key[Array, ""])))
seen = []
jax.jit(lambda x: seen.append(isinstance(x, Float[Array, "rows"])) or x)(jnp.ones(2))
print(*map(int, seen))
