"""Every program in the documentation runs, and the documentation names what there is."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import errors_page

import fgrad

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*) *([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.fixture(autouse=True)
def flags_as_before() -> Iterator[None]:
    before = dict(vars(fgrad.config))
    yield
    for name in (
        "debug_key_reuse",
        "debug_nans",
        "debug_stale",
        "enable_x64",
        "traceback_filtering",
    ):
        fgrad.config.update(name, before[name])


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """The Python programs of a page: line, what stands after the language, and code."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, m.start(3)) + 1, m[2].strip(), m[3])
        for m in FENCE.finditer(text)
        if m[1] == "python"
    ]


def run(page: Path, line: int, code: str, namespace: dict[str, Any]) -> None:
    padded = "\n" * (line - 1) + code
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(padded, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_programs_of_a_page_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some programs write files.
    monkeypatch.chdir(tmp_path)
    # Declared classes, as dataclasses, look their module up.
    module = types.ModuleType("page")
    sys.modules["page"] = module
    try:
        for line, options, code in blocks(page):
            flags = ("debug_key_reuse", "debug_nans", "debug_stale")
            debug = {name: vars(fgrad.config)[name] for name in flags}
            wanted = re.fullmatch(r"raises=(\w+)", options)
            if wanted is None:
                assert not options, f"{page.name}:{line}: {options}"
                run(page, line, code, vars(module))
            else:
                with pytest.raises(fgrad.errors.FgradError) as caught:
                    run(page, line, code, vars(module))
                assert caught.type.__name__ == wanted[1]
                assert f"{page.name}:" in str(caught.value) or _is_declaration(caught.value)
            for name, flag in debug.items():
                if page == errors_page.PAGE:
                    fgrad.config.update(name, flag)
    finally:
        del sys.modules["page"]


def _is_declaration(error: BaseException) -> bool:
    """Whether an error is about a declaration or a flag, and not about an operation on a line."""
    kinds = (fgrad.errors.MissingRuleError, fgrad.errors.ConfigError, fgrad.errors.JaxprTypeError)
    return isinstance(error, kinds)


def test_there_are_programs_to_run() -> None:
    assert {"README.md", "errors.md", "conventions.md"} <= {page.name for page in PAGES}
    assert len(blocks(ROOT / "README.md")) >= 8


def test_the_page_of_errors_is_that_of_the_docstrings() -> None:
    written = errors_page.PAGE.read_text(encoding="utf-8")
    assert written == errors_page.page(), "run python tests/support/errors_page.py"


def test_the_page_of_errors_has_every_class() -> None:
    headings = re.findall(r"^## (\w+)$", errors_page.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [c.__name__ for c in errors_page.classes()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


# ---- docstrings that the collection of doctests does not see -----------------------------------


def hidden_functions() -> dict[str, Callable[..., Any]]:
    """Public functions that are decorated where they are defined: doctest takes them for foreign."""
    found: dict[str, Callable[..., Any]] = {}
    for module in (fgrad, fgrad.lax, fgrad.tree, fgrad.tree_util, fgrad.test_util, fgrad.extend):
        for name in module.__all__:
            function = getattr(module, name)
            if not isinstance(function, types.FunctionType) or not hasattr(function, "__wrapped__"):
                continue
            inner = inspect.unwrap(function)
            home = sys.modules[inner.__module__]
            if getattr(home, inner.__name__, None) is not inner:
                found[f"{inner.__module__}.{inner.__name__}"] = inner
    return found


@pytest.mark.parametrize("name", sorted(hidden_functions()))
def test_the_examples_of_a_decorated_function_run(name: str) -> None:
    function = hidden_functions()[name]
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    (test,) = finder.find(function, name, globs=dict(vars(sys.modules[function.__module__])))
    assert test.examples, f"{name} has no example"
    output = io.StringIO()
    runner.run(test, out=output.write)
    assert not runner.failures, output.getvalue()


def test_some_functions_are_hidden_from_doctest() -> None:
    names = hidden_functions()
    assert {"fgrad.transforms.grad.grad", "fgrad.transforms.jvp.jvp", "fgrad.tree.map"} <= set(
        names
    )
