"""Compiled workloads against NumPy by hand, the same with kept buffers, and JAX."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import fgrad
import fgrad.numpy as fnp
from benchmarks.by_hand import BY_HAND
from benchmarks.by_hand_in_place import IN_PLACE
from benchmarks.comparison import Comparison, leaves
from benchmarks.jax_process import InJax
from benchmarks.workloads import WORKLOADS

TITLE = "compiled workloads"
# Of the time of NumPy by hand, and what a short program may take longer, with each array in or out.
TARGET, MEMORY_BOUND_TARGET = 1.0, 0.7
PER_CALL, PER_LEAF = 2e-6, 0.5e-6
RTOL = {"float32": 1e-3, "float64": 1e-9}
OTHERS = ("NumPy by hand", "in kept buffers", "JAX")


def compare(name: str, dtype: str, other: str) -> Comparison:
    workload = WORKLOADS[name]
    args = workload.data(dtype)
    compiled = fgrad.jit(workload.program(fgrad, fnp))
    target = TARGET
    allowance = 0.0
    contender: Callable[[], Any]
    if other == "NumPy by hand":
        by_hand = BY_HAND[workload.program.__name__]
        contender = lambda: by_hand(*args)  # noqa: E731
        target = MEMORY_BOUND_TARGET if workload.memory_bound else TARGET
        allowance = PER_CALL + PER_LEAF * len(leaves([args, by_hand(*args)]))
    elif other == "in kept buffers":
        in_place = IN_PLACE[workload.program.__name__](*args)
        contender = lambda: in_place(*args)  # noqa: E731
        target = math.inf
    else:
        contender = InJax(name, dtype)
    return Comparison(
        f"{name}, {dtype}",
        lambda: compiled(*args),
        contender,
        other,
        target,
        rtol=RTOL[dtype],
        allowance=allowance,
    )


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    f"{name}, {dtype}, {other}": lambda name=name, dtype=dtype, other=other: compare(
        name, dtype, other
    )
    for name in WORKLOADS
    for dtype in ("float32", "float64")
    for other in OTHERS
}


@pytest.mark.parametrize("contender", ["fgrad", "other"])
@pytest.mark.parametrize("name", [n for n in COMPARISONS if not n.endswith("JAX")])
def test_workload(benchmark: Any, name: str, contender: str) -> None:
    comparison = COMPARISONS[name]()
    comparison.check()
    benchmark.group = f"compiled: {comparison.name}"
    benchmark(comparison.contender(contender))
