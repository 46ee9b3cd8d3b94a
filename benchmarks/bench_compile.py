"""The first call of a function under `jit`: trace, compile and run once, against JAX."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from benchmarks.comparison import Comparison
from benchmarks.programs import MLP_SIZES, array_chain, mlp_arguments, mlp_loss, scalar_chain

TITLE = "first call under jit: trace, compile and run once"
TARGET = 0.1

SMALL_NETWORK = mlp_arguments(MLP_SIZES["64-128-10"], 8)
POINTS = np.random.default_rng(0).uniform(0.1, 0.9, 16).astype(np.float32)


def per_example_gradients(library: Any, _: Any) -> Callable[..., Any]:
    loss = mlp_loss(library.nn)

    def one(params: Any, x: Any, target: Any) -> Any:
        return loss(params, x[None], target[None])

    return library.vmap(library.grad(one), in_axes=(None, 0, 0))


def rosenbrock_hessian(library: Any, xp: Any) -> Callable[..., Any]:
    def rosenbrock(x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return library.hessian(rosenbrock)


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Callable[..., Any]], tuple[Any, ...]]] = {
    "grad of 100 operations on a scalar": (
        lambda library, xp: library.grad(scalar_chain(xp)),
        (np.float32(0.7),),
    ),
    "grad of an elementwise chain": (
        lambda library, xp: library.grad(array_chain(xp)),
        (POINTS,),
    ),
    "grad of a network 64-128-10": (
        lambda library, _: library.grad(mlp_loss(library.nn)),
        SMALL_NETWORK,
    ),
    "vmap(grad) of a network 64-128-10": (per_example_gradients, SMALL_NETWORK),
    "hessian of Rosenbrock's function": (rosenbrock_hessian, (POINTS,)),
}


def compare(name: str) -> Comparison:
    program, args = PROGRAMS[name]

    def first_call(library: ModuleType, xp: Any) -> Callable[[], Any]:
        def run() -> Any:
            # Built anew, so that neither library finds the function in its caches.
            compiled = library.jit(program(library, xp))
            return jax.block_until_ready(compiled(*args)) if library is jax else compiled(*args)

        return run

    return Comparison(name, first_call(fgrad, fnp), first_call(jax, jnp), "JAX", TARGET, rtol=1e-4)


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    name: lambda name=name: compare(name) for name in PROGRAMS
}


@pytest.mark.parametrize("contender", ["fgrad", "other"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_first_call(benchmark: Any, name: str, contender: str) -> None:
    comparison = COMPARISONS[name]()
    comparison.check()
    benchmark.group = f"first call: {comparison.name}"
    benchmark.pedantic(comparison.contender(contender), rounds=5, warmup_rounds=1)
