"""What was ``jax.lib``."""
