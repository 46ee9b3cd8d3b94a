"""The version of fgrad."""

__version__ = "0.1.0"
#: The same as numbers.
__version_info__ = (0, 1, 0)
