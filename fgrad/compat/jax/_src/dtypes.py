"""Dtypes, also those that a library defines."""

import numpy as np

from fgrad.dtypes import extended, issubdtype
from fgrad.errors import DTypeError as TypePromotionError
from fgrad.numpy import finfo

__all__ = ["DType", "ExtendedDType", "TypePromotionError", "extended", "finfo", "issubdtype"]

DType = np.dtype


class ExtendedDType:
    """The base of dtypes that a library defines; arrays of these are not computed with."""
