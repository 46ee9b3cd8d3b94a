"""What JAX keeps under ``jax.experimental``."""

from fgrad.transforms.callback import io_callback

__all__ = ["io_callback"]
