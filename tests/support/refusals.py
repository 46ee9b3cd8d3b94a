"""What every error of fgrad must be like, checked on each one that a test provokes."""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fgrad
from fgrad.errors import FgradError

PACKAGE = Path(fgrad.__file__).parent
_PUBLIC = {"Array", "ShapeDtypeStruct", "TracedArray"}
_MODULES = "_tree|_support|array|avals|compiler|conversions|ir|operators|primitives|source_info|tracing|transforms"


def _internal_classes() -> frozenset[str]:
    """Names of classes that users never see; those of one word are words of English too."""
    found = {"Aval", "Eqn", "Jaxpr", "PyTreeSpec", "Recording", "Trace", "Tracer", "Var"}
    for path in PACKAGE.rglob("*.py"):
        if path.name in ("errors.py", "extend.py", "types.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and re.search(r"[a-z][A-Z]", node.name):
                found.add(node.name)
    return frozenset(found - _PUBLIC)


INTERNAL_CLASSES = _internal_classes()
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def assert_in_users_words(message: str) -> None:
    """A message has no name of a class or module inside of fgrad, and no address of an object."""
    internal = INTERNAL_CLASSES & set(_WORD.findall(message))
    assert not internal, f"{internal} in {message!r}"
    assert not re.search(rf"\bfgrad\.({_MODULES})\b", message), message
    assert "PyTree" not in message
    assert not re.search(r"at 0x[0-9a-f]{6}", message), message
    assert " ," not in message
    # Tables are indented, and have columns.
    prose = [line for line in message.splitlines() if not line.startswith("    ")]
    assert not any(re.search(r"\S  ", line) for line in prose), message
    assert ";;" not in message


def is_of_fgrad(filename: str) -> bool:
    return filename.startswith(str(PACKAGE)) or filename.startswith("<fgrad")


def assert_users_traceback(error: BaseException, file: str) -> traceback.FrameSummary:
    """No frame of fgrad is left, and the last one is the user's; return that one."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f"{f.filename}:{f.lineno}" for f in frames if is_of_fgrad(f.filename)]
    assert not inside, inside
    users = [f for f in frames if f.filename == file]
    assert users
    return users[-1]


def refusal(
    kind: type[FgradError], run: Callable[[], Any], *words: str, file: str, placed: bool = True
) -> str:
    """Run what must raise exactly `kind`; check what holds for every error, and return the message.

    `words` are parts of the message. Where `placed`, it names the last line of the user's code in
    `file`, with its function.
    """
    try:
        run()
    except Exception as caught:
        error: BaseException = caught
    else:
        raise AssertionError(f"nothing was raised, expected {kind.__name__} with {words}")
    message = str(error)
    assert type(error) is kind, f"{type(error).__name__}: {message}"
    last = assert_users_traceback(error, file)
    if placed:
        place = f"{Path(file).name}:{last.lineno} ({last.name})"
        assert place in message, f"{place} is not in {message!r}"
    assert_in_users_words(message)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in {message!r}"
    return message
