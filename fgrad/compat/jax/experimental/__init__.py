"""What ``jax.experimental`` has beside the names of `fgrad.experimental`."""
