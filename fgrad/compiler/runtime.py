"""What generated code calls besides NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

ndarray = np.ndarray


def alias(x: Any) -> Any:
    """Another object for the same elements: a result must never be an argument itself."""
    return x.view() if type(x) is ndarray else x


def seal(x: Any) -> Any:
    """Freeze a result that is a view, with all of the memory below it."""
    if type(x) is not ndarray:
        return x
    below: Any = x
    while type(below) is ndarray:
        below.setflags(write=False)
        below = below.base
    return x
