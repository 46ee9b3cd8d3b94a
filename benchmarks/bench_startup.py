"""From a fresh process to the first gradient, against JAX; what `import fgrad` adds to NumPy."""

import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.comparison import Comparison, Row
from benchmarks.cores import environment

TITLE = "fresh process"
TARGET = 1 / 3
IMPORT_TARGET = 0.150

FIRST_GRADIENT = """
import {library}
import {library}.numpy as np
x = np.array([0.5, 1.5], dtype="float32")
print(float({library}.grad(lambda x: np.sum(np.sin(x) * x))(x)[1]))
"""
IMPORT_AFTER_NUMPY = """
import time
import numpy
start = time.perf_counter()
import fgrad
print(time.perf_counter() - start)
"""


def run(program: str) -> float:
    """The number that the program prints, run in a fresh process."""
    command = [sys.executable, "-c", program]
    finished = subprocess.run(
        command, env=environment(one_core=False), check=True, capture_output=True, text=True
    )
    return float(finished.stdout)


def first_gradient() -> Comparison:
    return Comparison(
        "start, import and take one gradient",
        lambda: run(FIRST_GRADIENT.format(library="fgrad")),
        lambda: run(FIRST_GRADIENT.format(library="jax")),
        "JAX",
        TARGET,
        rtol=1e-6,
    )


def import_time(smoke: bool = False) -> Row:
    """The median time of `import fgrad` where NumPy is imported already."""
    run(IMPORT_AFTER_NUMPY)  # leaves the bytecode behind that the measured runs read
    samples = [run(IMPORT_AFTER_NUMPY) for _ in range(1 if smoke else 11)]
    return Row(
        "import fgrad after numpy", statistics.median(samples), "", None, None, IMPORT_TARGET
    )


COMPARISONS: dict[str, Callable[[], Comparison]] = {"first_gradient": first_gradient}
LIMITS: tuple[Callable[[bool], Row], ...] = (import_time,)


@pytest.mark.parametrize("contender", ["fgrad", "other"])
def test_first_gradient(benchmark: Any, contender: str) -> None:
    comparison = first_gradient()
    comparison.check()
    benchmark.group = comparison.name
    benchmark.pedantic(comparison.contender(contender), rounds=5)


def test_import(benchmark: Any) -> None:
    benchmark.group = "import fgrad after numpy"
    assert benchmark.pedantic(run, (IMPORT_AFTER_NUMPY,), rounds=5) > 0
