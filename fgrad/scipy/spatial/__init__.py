"""Geometry, under the names of SciPy."""

from fgrad.scipy.spatial import transform

__all__ = ["transform"]
