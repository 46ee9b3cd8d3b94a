"""What cannot be, when fgrad stands in for JAX."""

from __future__ import annotations

from fgrad.errors import FgradError

__all__ = ["CompatibilityError"]


class CompatibilityError(FgradError, ImportError):
    """JAX itself is in the process, where fgrad was to stand in its place."""
