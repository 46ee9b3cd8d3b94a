"""Functions under the names of ``jax.scipy``, which are those of SciPy."""

from fgrad.scipy import special

__all__ = ["special"]
