"""Types that programs want to be arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad.compat.jax.core import pytype_aval_mappings

__all__ = ["canonicalize_dtype_handlers", "pytype_aval_mappings"]

canonicalize_dtype_handlers: dict[type, Any] = {np.ndarray: None}
