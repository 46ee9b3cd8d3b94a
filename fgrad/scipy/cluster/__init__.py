"""Clusters, under the names of SciPy."""

from fgrad.scipy.cluster import vq

__all__ = ["vq"]
