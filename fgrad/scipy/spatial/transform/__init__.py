"""Rotations in three dimensions, under the names of SciPy."""

from fgrad.scipy.spatial.transform.rotation import Rotation
from fgrad.scipy.spatial.transform.slerp import Slerp

__all__ = ["Rotation", "Slerp"]
