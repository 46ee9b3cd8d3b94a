"""What ``jax.numpy`` takes beside what `fgrad.numpy` does."""

from __future__ import annotations

from typing import Any

from fgrad import numpy as fnp
from fgrad.errors import ArgumentError
from fgrad.lax import dot_general

__all__ = ["einsum"]


def einsum(*operands: Any, _dot_general: Any = None, **options: Any) -> Any:
    """`fgrad.numpy.einsum`, from libraries that say which function contracts.

    Raises
    ------
    ArgumentError
        If it is another one than ``lax.dot_general``.
    """
    if _dot_general not in (None, dot_general):
        raise ArgumentError(
            f"einsum: _dot_general is {_dot_general!r}; fgrad contracts by lax.dot_general only"
        )
    return fnp.einsum(*operands, **options)
