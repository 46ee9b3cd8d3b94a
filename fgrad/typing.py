"""Types for annotations: what functions take as an array, and as a dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from fgrad.array import Array

__all__ = ["ArrayLike", "DTypeLike", "SupportsDType"]


@runtime_checkable
class SupportsDType(Protocol):
    """Whatever has a dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.typing import SupportsDType
    >>> isinstance(np.zeros(3), SupportsDType)
    True
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        ...


#: Arrays, traced or not, and numbers. ``isinstance(x, ArrayLike)`` holds for all of them.
if TYPE_CHECKING:
    ArrayLike: TypeAlias = (
        Array | np.ndarray[Any, Any] | np.bool_ | np.number[Any] | bool | int | float | complex
    )
else:
    # Only plain types can be asked about at run time.
    ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
#: What names a dtype: a string, a NumPy or Python type, a dtype, or something that has one.
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | SupportsDType
