"""Functions of scalars that NumPy lacks, or computes one number at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: Below this many elements one call of NumPy's own loop is faster than several of vectorised ones.
FEW = 256


def logistic_of_floats(x: Any, out: Any = None) -> Any:
    """``1 / (1 + exp(-x))`` by one exponential that cannot overflow, for either sign."""
    with np.errstate(under="ignore"):
        small = np.exp(-np.abs(x))
    # The exponential where x is negative, else 1: all of its values lie between 0 and 1.
    above = np.maximum(small, np.greater_equal(x, 0).astype(small.dtype))
    return np.true_divide(above, small + 1, out)


def log_of_sum_of_exponentials(a: Any, b: Any, out: Any = None) -> Any:
    """``log(exp(a) + exp(b))`` of float32 or float64 arrays.

    The logarithm of 1 + e is that of the rounded sum, corrected by what the rounding lost (Kahan).
    """
    with np.errstate(invalid="ignore", under="ignore"):
        small = np.asarray(np.subtract(a, b))
        np.absolute(small, out=small)
        np.negative(small, out=small)
        np.exp(small, out=small)
        rounded = small + 1
        kept = rounded - 1
        small -= kept
        small /= rounded
        np.log(rounded, out=rounded)
        rounded += small
        top = np.maximum(a, b)
        flat = rounded.reshape(-1)
        if math.isnan(flat.dot(flat)):
            # The difference of equal infinities is none. The result may take the place of an operand, so
            # operands are read before.
            rounded = np.where(np.equal(a, b), rounded.dtype.type(math.log(2)), rounded)
        return np.add(rounded, top, out)


def step_of_numbers(a: Any, b: Any, dtype: np.dtype[Any], out: Any = None) -> Any:
    """1 where ``a > b``, 1/2 where they are equal, else 0."""
    above = np.greater(a, b)
    reaches = np.greater_equal(a, b)
    if np.count_nonzero(above) == np.count_nonzero(reaches):
        if out is None:
            return above.astype(dtype)
        out[...] = above
        return out
    return np.multiply(np.add(above, reaches, dtype=dtype), 0.5, out, dtype=dtype)
