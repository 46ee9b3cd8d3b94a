"""Rearrangements of einops, which knows JAX's arrays by their type."""

import jax
import jax.numpy as jnp
from einops import einsum, rearrange, reduce, repeat

x = jnp.arange(24.0).reshape(2, 3, 4)
moved = rearrange(x, "a b c -> b (a c)")
means = reduce(x, "a b c -> a", "mean")
print(*moved.shape, *map(float, means), *repeat(means, "a -> a k", k=2).shape)
print(float(einsum(x, moved, "a b c, b d -> a c d").sum()))
print(float(jax.grad(lambda x: (rearrange(x, "a b c -> (a b) c") ** 2).sum())(x).sum()))
