"""`jit(grad(loss))` of a network against its gradient written by hand in NumPy."""

from collections.abc import Callable
from typing import Any

import pytest

import fgrad
import fgrad.numpy as fnp
from benchmarks.comparison import Comparison
from benchmarks.programs import (
    MLP_SIZES,
    mlp_arguments,
    mlp_gradient_by_hand,
    mlp_loss,
    mlp_loss_spelled_out,
)

TITLE = "jit(grad(loss)) of a network, float32"
TARGET = 1.2
ROWS = 128


LOSSES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "": mlp_loss(fgrad.nn),
    ", loss spelled out": mlp_loss_spelled_out(fnp),
}


def network(sizes: str, form: str) -> Comparison:
    args = mlp_arguments(MLP_SIZES[sizes], ROWS)
    gradient = fgrad.jit(fgrad.grad(LOSSES[form]))
    return Comparison(
        f"network {sizes}, {ROWS} rows{form}",
        lambda: gradient(*args),
        lambda: mlp_gradient_by_hand(*args),
        "NumPy by hand",
        TARGET,
        rtol=1e-5,
    )


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    sizes + form: lambda sizes=sizes, form=form: network(sizes, form)
    for sizes in MLP_SIZES
    for form in LOSSES
}


@pytest.mark.parametrize("contender", ["fgrad", "other"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_mlp(benchmark: Any, name: str, contender: str) -> None:
    comparison = COMPARISONS[name]()
    comparison.check()
    benchmark.group = f"jit(grad): {comparison.name}"
    benchmark(comparison.contender(contender))
