"""Frames that are left out of tracebacks: fgrad leaves out its own."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from fgrad.source_info import is_internal

__all__ = ["api_boundary", "include_frame", "register_exclusion"]

F = TypeVar("F", bound=Callable[..., Any])

_exclude_paths: list[str] = []


def api_boundary(fun: F, **kwargs: Any) -> F:
    """The function itself: the boundaries are around fgrad's functions already."""
    return fun


def register_exclusion(path: str) -> None:
    """Note that the frames of a file are of no interest."""
    _exclude_paths.append(path)


def include_frame(f: FrameType) -> bool:
    """Whether a frame is of interest to the user."""
    path = f.f_code.co_filename
    return path not in _exclude_paths and not is_internal(path)
