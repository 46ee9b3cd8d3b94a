"""The page docs/errors.md, made of the docstrings of `fgrad.errors`.

Run from the checkout, ``python tests/support/errors_page.py`` writes it anew.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

from fgrad import errors

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
_BLOCK = re.compile(r"^(\w+)::\n\n((?:    .*\n|\n)+)", re.MULTILINE)


def classes() -> list[type[errors.FgradError]]:
    """Every class of the module that can be raised, in the order of the file."""
    return [
        c
        for c in vars(errors).values()
        if isinstance(c, type) and issubclass(c, errors.FgradError) and c is not errors.FgradError
    ]


def programs(cls: type[errors.FgradError]) -> dict[str, str]:
    """The programs of a docstring, by the word over them."""
    found = _BLOCK.findall(inspect.getdoc(cls) + "\n")
    return {title: textwrap.dedent(code).strip() + "\n" for title, code in found}


def prelude() -> str:
    """What every program starts with."""
    return textwrap.dedent(re.split(r"::\n\n", errors.__doc__ or "")[1]).strip() + "\n"


def _markdown(text: str) -> str:
    return text.replace("``", "`").strip()


def _builtins(cls: type) -> str:
    names = [f"`{b.__name__}`" for b in cls.__bases__ if b.__module__ == "builtins"]
    own = [f"[`{b.__name__}`](#{b.__name__.lower()})" for b in cls.__bases__ if b in classes()]
    return " and ".join(own + names)


def section(cls: type[errors.FgradError]) -> str:
    words = _markdown(_BLOCK.sub("", inspect.getdoc(cls) + "\n"))
    code = programs(cls)
    return (
        f"## {cls.__name__}\n\nA kind of {_builtins(cls)}. {words}\n\n"
        f"Wrong:\n\n```python raises={cls.__name__}\n{code['Wrong']}```\n\n"
        f"Right:\n\n```python\n{code['Right']}```\n"
    )


def page() -> str:
    before, _, _ = (errors.__doc__ or "").partition("::\n\n")
    title, _, rest = before.partition("\n\n")
    words = f"{_markdown(rest)}:" if rest else ""
    words = words.replace("The docstring of each class has", "Below, each class has")
    intro = f"# Errors\n\n{_markdown(title)}\n\n{words}\n\n```python\n{prelude()}```\n"
    return "\n".join([intro, *map(section, classes())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
