"""What ``import jaxlib`` gives after `fgrad.compat.install`: the version, which programs ask for."""

from fgrad.compat.jax.version import __version__, __version_info__

__all__ = ["__version__", "__version_info__"]
