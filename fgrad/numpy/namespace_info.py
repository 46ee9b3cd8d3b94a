"""What programs written for the Array API standard ask a namespace about itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.errors import ArgumentError

#: The version of the standard that `fgrad.numpy` follows.
ARRAY_API_VERSION = "2024.12"

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class ArrayNamespaceInfo:
    """Devices, dtypes and capabilities, as the Array API standard asks for them.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.__array_namespace_info__().default_device()
    'cpu'
    """

    def capabilities(self) -> dict[str, Any]:
        """What depends on values: masks and shapes do where values are known, as outside of ``jit``."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The one device."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of what is made without one."""
        names = {
            "real floating": "float64",
            "complex floating": "complex128",
            "integral": "int64",
            "indexing": "int64",
        }
        return {kind: dtypes.canonical(np.dtype(name)) for kind, name in names.items()}

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The dtypes of a kind, or of several, by name.

        Raises
        ------
        ArgumentError
            If the standard has no such kind.
        """
        if kind is None:
            kinds: tuple[str, ...] = ("bool", "numeric")
        else:
            kinds = (kind,) if isinstance(kind, str) else kind
        found = {}
        for name in kinds:
            if name not in _KINDS:
                raise ArgumentError(
                    f"dtypes: kind is {name!r}; give one of {', '.join(map(repr, _KINDS))}, or a tuple of them"
                )
            found.update({n: np.dtype(n) for n in _KINDS[name]})
        return {n: d for n, d in found.items() if dtypes.canonical(d) == d}
