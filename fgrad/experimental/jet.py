"""Taylor mode, under the name that JAX gives it."""

from fgrad.transforms.jet import jet

__all__ = ["jet"]
