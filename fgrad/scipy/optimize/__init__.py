"""Minimisation under the names of SciPy, as compiled loops that `jit` and `vmap` take."""

from fgrad.scipy.optimize.minimize import minimize
from fgrad.scipy.optimize.results import OptimizeResults

__all__ = ["OptimizeResults", "minimize"]
