"""What JAX keeps under ``jax.tools``, as far as programs ask for it."""
