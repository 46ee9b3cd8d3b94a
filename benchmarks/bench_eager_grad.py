"""What `grad` costs without `jit`, against autograd, which also differentiates as it goes."""

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from benchmarks.comparison import Comparison
from benchmarks.programs import (
    ARRAY_CHAIN_OPERATIONS,
    MLP_SIZES,
    SCALAR_CHAIN_OPERATIONS,
    array_chain,
    mlp_arguments,
    mlp_loss_spelled_out,
    scalar_chain,
)

TITLE = "eager grad, time of one operation forward and back"
TARGET = 1.0
ARRAY_SIZES = (10, 1_000, 100_000, 1_000_000)


def compare(name: str, program: Callable[[Any], Any], operations: int, *args: Any) -> Comparison:
    ours, theirs = fgrad.grad(program(fnp)), autograd.grad(program(anp))
    return Comparison(
        name,
        lambda: ours(*args),
        lambda: theirs(*args),
        "autograd",
        TARGET,
        rtol=1e-5 if name.startswith("network") else 1e-12,
        operations=operations,
    )


def scalars() -> Comparison:
    return compare("100 operations on a float", scalar_chain, SCALAR_CHAIN_OPERATIONS, 0.7)


def arrays(size: int) -> Comparison:
    x = np.random.default_rng(0).uniform(0.1, 0.9, size)
    return compare(f"elementwise chain, {size:,} elements", array_chain, ARRAY_CHAIN_OPERATIONS, x)


def network() -> Comparison:
    """The whole gradient, not divided by operations."""
    sizes = "64-128-10"
    return compare(
        f"network {sizes}, 64 rows, whole gradient",
        mlp_loss_spelled_out,
        1,
        *mlp_arguments(MLP_SIZES[sizes], 64),
    )


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    "scalars": scalars,
    **{f"arrays_{size}": lambda size=size: arrays(size) for size in ARRAY_SIZES},
    "network": network,
}


@pytest.mark.parametrize("contender", ["fgrad", "other"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_eager_grad(benchmark: Any, name: str, contender: str) -> None:
    comparison = COMPARISONS[name]()
    comparison.check()
    benchmark.group = f"eager grad: {comparison.name}"
    benchmark(comparison.contender(contender))
