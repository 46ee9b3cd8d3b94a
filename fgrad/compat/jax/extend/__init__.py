"""What ``jax.extend`` has beside its modules."""
