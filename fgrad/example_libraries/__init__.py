"""What JAX keeps under ``jax.example_libraries``: layers and optimizers, short enough to be read."""

from fgrad.example_libraries import optimizers, stax
from fgrad.source_info import guard as _guard

__all__ = ["optimizers", "stax"]

_guard(optimizers, stax)
