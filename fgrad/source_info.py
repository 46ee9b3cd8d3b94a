"""Where the user's code is: the frame that an operation was called from."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any

from fgrad.config import config

#: How the names of generated files begin.
GENERATED = "<fgrad jit "
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

# A code object and the index of an instruction in it: cheap to take, a line only when it is asked for.
# A source that was pickled is its text.
Source = tuple[CodeType, int] | str


def is_internal(filename: str) -> bool:
    """Whether a file belongs to fgrad or to the tree library below it."""
    return filename.startswith(_PACKAGE) or f"{os.sep}optree{os.sep}" in filename


def user_source(depth: int = 1) -> Source | None:
    """The innermost frame outside of fgrad, without keeping the frame or its locals alive."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def source_line(source: tuple[CodeType, int]) -> int:
    """The line number of a source."""
    code, instruction = source
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            return number
    return line


def source_text(source: Source | None) -> str:
    """``file.py:12 (function)``, for messages."""
    if source is None:
        return "an unknown place"
    if isinstance(source, str):
        return source
    code = source[0]
    return f"{os.path.basename(code.co_filename)}:{source_line(source)} ({code.co_name})"


def here() -> str:
    """The user's current line, for messages; inside generated code, the line that it came from."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if filename.startswith(GENERATED):
            return generated_line(filename, frame.f_lineno)
        if not filename.startswith(_PACKAGE):
            return source_text((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return source_text(None)


def generated_line(filename: str, line: int) -> str:
    """The user's line in the comment over a line of generated code."""
    for number in range(line, 0, -1):
        text = linecache.getline(filename, number).strip()
        if text.startswith("# ") and text.endswith(")"):
            return text[2:]
    return source_text(None)


def function_name(f: Any) -> str:
    """A user's function as messages name it."""
    while hasattr(f, "func") and not hasattr(f, "__name__"):
        f = f.func
    return getattr(f, "__name__", None) or type(f).__name__


def function_text(f: Any) -> str:
    """A user's function with the line of its definition, for messages."""
    name = function_name(f)
    while hasattr(f, "func") and not hasattr(f, "__code__"):
        f = f.func
    code = getattr(f, "__code__", None)
    if code is None:
        return name
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def filter_traceback(error: BaseException) -> BaseException:
    """Drop fgrad's own frames from the traceback of `error`, unless the configuration keeps them."""
    if config.traceback_filtering == "off":
        return error
    kept = []
    entry = error.__traceback__
    while entry is not None:
        if not is_internal(entry.tb_frame.f_code.co_filename):
            kept.append(entry)
        entry = entry.tb_next
    chain: TracebackType | None = None
    for entry in reversed(kept):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(chain)
