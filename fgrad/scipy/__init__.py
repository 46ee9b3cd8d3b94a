"""Functions under the names of ``jax.scipy``, which are those of SciPy."""

from fgrad.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]
