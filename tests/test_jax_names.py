"""The page of the names of JAX says what is so."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import fgrad
from fgrad.config import _INERT

PAGE = (Path(__file__).parents[1] / "docs" / "jax_names.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


ABSENT = [
    name
    for row in section("Not there").splitlines()
    if row.startswith("| `")
    for name in re.findall(r"`(jax\.[^`]*)`", row.split(" | ")[0])
]


def is_there(name: str) -> bool:
    """Whether fgrad has a name of JAX."""
    found = fgrad
    path = "fgrad"
    for part in name.split(".")[1:]:
        path += f".{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return False
    return True


def test_there_are_names_on_the_page() -> None:
    assert len(ABSENT) > 50
    assert is_there("jax.numpy.linalg.solve")
    assert not is_there("jax.numpy.linalg.no_such_name")


@pytest.mark.parametrize("name", [n for n in ABSENT if "*" not in n])
def test_absent_names_are_absent(name: str) -> None:
    assert not is_there(name)


@pytest.mark.parametrize("name", [n for n in ABSENT if n.endswith(".*")])
def test_absent_modules_are_absent(name: str) -> None:
    assert not is_there(name.removesuffix(".*"))


def test_no_primitive_is_a_name_of_lax() -> None:
    assert not [name for name in dir(fgrad.lax) if name.endswith("_p")]


def test_flags_without_an_effect_are_those_of_the_page() -> None:
    listed = section("Accepted, without an effect").split("Of these:")[0]
    assert re.findall(r"`(\w+)`", listed) == sorted(_INERT)
