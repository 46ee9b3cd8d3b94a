"""The release of JAX that fgrad stands in for."""

from fgrad.compat.version import JAX_VERSION

__version__ = JAX_VERSION
__version_info__ = tuple(int(part) for part in JAX_VERSION.split("."))
