"""Solvers for matrices that are known by their products, under the names of SciPy."""

from fgrad.scipy.sparse import linalg

__all__ = ["linalg"]
