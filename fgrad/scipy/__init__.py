"""Functions under the names of ``jax.scipy``, which are those of SciPy."""

from fgrad.scipy import integrate, linalg, ndimage, optimize, signal, sparse, special, stats

__all__ = ["integrate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats"]
