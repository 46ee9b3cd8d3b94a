"""The module under test and the reference that it is held against.

``FGRAD_UNDER_TEST=jax`` puts JAX in the place of fgrad, which proves the tests themselves: what
they assert then holds for the reference. Where fgrad promises more than JAX gives, a test says so
with ``beyond_jax``.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest
from support.xla import XLA_FLAGS

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

NAME = os.environ.get("FGRAD_UNDER_TEST", "fgrad")
IS_JAX = NAME == "jax"

fgrad: Any = importlib.import_module(NAME)
fnp: Any = importlib.import_module(NAME + ".numpy")
tree_util: Any = importlib.import_module(NAME + ".tree_util")
Tracer: type = jax.core.Tracer if IS_JAX else importlib.import_module("fgrad.tracing").Tracer

__all__ = [
    "IS_JAX",
    "NAME",
    "Tracer",
    "beyond_jax",
    "error_class",
    "fgrad",
    "fnp",
    "jax",
    "jnp",
    "tree_util",
]


def beyond_jax(reason: str) -> pytest.MarkDecorator:
    """Mark a test of a promise that the stand-in is known not to keep."""
    return pytest.mark.xfail(IS_JAX, reason=reason, strict=True)


def error_class(name: str, stand_in: type[BaseException]) -> type[BaseException]:
    """The class ``fgrad.errors.<name>``, or what JAX raises in its place."""
    if IS_JAX:
        return stand_in
    found: type[BaseException] = getattr(importlib.import_module("fgrad.errors"), name)
    return found
