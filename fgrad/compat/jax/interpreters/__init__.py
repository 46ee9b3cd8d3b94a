"""The rules of primitives that are declared with `jax.extend.core.Primitive`."""
