"""Sparse arrays: there are none, so that nothing is an instance of these classes."""

from __future__ import annotations

from typing import Any

from fgrad.compat.errors import CompatibilityError

__all__ = ["BCOO", "BCSR", "JAXSparse"]


class JAXSparse:
    """The base of sparse arrays."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise CompatibilityError(
            f"{type(self).__name__}: fgrad has no sparse arrays; use dense ones, or a function that multiplies"
        )


class BCOO(JAXSparse):
    """Elements with their indices."""


class BCSR(JAXSparse):
    """Elements by rows."""
