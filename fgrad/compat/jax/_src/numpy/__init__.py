"""Parts of JAX's implementation of its NumPy."""
