"""A million random numbers, against JAX's of the same seed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import fgrad
from benchmarks.comparison import Comparison, leaves

TITLE = "random draws, 1,000,000 numbers"
COUNT = 1_000_000
# The same bits, in at most the same time; NumPy's generator has three times less.
THREEFRY_TARGET = 1.0
PHILOX_TARGET = 1 / 3

Draw = Callable[[Any, Any, int], Any]

#: What to draw, with a module such as `fgrad.random`, and how far rounding may lead apart. XLA's
#: inverse error function has eleven digits in the tails.
DRAWS: dict[str, tuple[Draw, float]] = {
    "bits uint64": (lambda r, key, n: r.bits(key, (n,), "uint64"), 0.0),
    "bits uint32": (lambda r, key, n: r.bits(key, (n,), "uint32"), 0.0),
    "uniform float64": (lambda r, key, n: r.uniform(key, (n,), "float64"), 0.0),
    "uniform float32": (lambda r, key, n: r.uniform(key, (n,), "float32"), 0.0),
    "normal float64": (lambda r, key, n: r.normal(key, (n,), "float64"), 1e-11),
    "normal float32": (lambda r, key, n: r.normal(key, (n,), "float32"), 1e-5),
    "randint int64": (lambda r, key, n: r.randint(key, (n,), 0, 100, "int64"), 0.0),
}


@dataclass(frozen=True)
class OtherBits(Comparison):
    """Draws from different generators, which agree in distribution."""

    def check(self) -> None:
        (ours,), (theirs,) = leaves(self.fgrad()), leaves(self.other())
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), self.name
        levels = np.linspace(0.01, 0.99, 99)
        a, b = np.quantile(ours, levels), np.quantile(theirs, levels)
        np.testing.assert_allclose(a, b, rtol=0, atol=self.rtol * np.ptp(b), err_msg=self.name)


def compare(name: str, impl: str) -> Comparison:
    draw, rounding = DRAWS[name]
    jax.config.update("jax_enable_x64", True)
    ours = fgrad.random.key(0, impl=impl)
    theirs = jax.random.key(0)
    same_bits = impl == "threefry2x32"
    kind = Comparison if same_bits else OtherBits
    return kind(
        f"{name}, {impl}",
        lambda: draw(fgrad.random, ours, COUNT),
        lambda: jax.block_until_ready(draw(jax.random, theirs, COUNT)),
        "JAX threefry",
        THREEFRY_TARGET if same_bits else PHILOX_TARGET,
        # Of a hundred quantiles of a million draws, the farthest is some 0.005 off.
        rtol=rounding if same_bits else 0.011,
    )


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    f"{name}, {impl}": lambda name=name, impl=impl: compare(name, impl)
    for impl in ("threefry2x32", "philox")
    for name in DRAWS
}


@pytest.mark.parametrize("contender", ["fgrad", "other"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_random(benchmark: Any, name: str, contender: str) -> None:
    comparison = COMPARISONS[name]()
    comparison.check()
    benchmark.group = f"random: {comparison.name}"
    benchmark(comparison.contender(contender))
