"""The quantile function of the normal distribution, of numbers that are spread evenly over (-1, 1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

NDArray = np.ndarray[Any, Any]


def normal_quantile(block: NDArray) -> None:
    """Replace each u of (-1, 1) by the z below which a normal number is with chance (1 + u) / 2."""
    from scipy.special import erfinv

    np.multiply(erfinv(block), block.dtype.type(math.sqrt(2.0)), block)
