"""What a function of fgrad.numpy adds to NumPy's on a small array, by class of functions."""

import statistics
from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy as np
import pytest

import fgrad.numpy as fnp
from benchmarks.comparison import Comparison, Row, assert_same_answer, interleaved, timed

TITLE = "eager call on 3 elements"
# Autograd wraps NumPy's functions too, and gives back plain arrays that anybody may write to.
TARGET = 1.0
#: Seconds that a call may take longer than NumPy's.
ADDED = 1.5e-6

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sin": lambda xp, x, y: xp.sin(x),
    "add": lambda xp, x, y: xp.add(x, y),
    "sum": lambda xp, x, y: xp.sum(x),
    "matmul": lambda xp, x, y: xp.matmul(x, y),
    "reshape": lambda xp, x, y: xp.reshape(x, (3, 1)),
    "compare and choose": lambda xp, x, y: xp.where(x > y, x, y),
    "index": lambda xp, x, y: x[0],
    "concatenate": lambda xp, x, y: xp.concatenate([x, y]),
}


def operands() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 0.9, 3), rng.uniform(0.1, 0.9, 3)


def compare(name: str) -> Comparison:
    call, (x, y) = CALLS[name], operands()
    ours = fnp.asarray(x), fnp.asarray(y)
    return Comparison(
        f"{name}, the call",
        lambda: call(fnp, *ours),
        lambda: call(anp, x, y),
        "autograd",
        TARGET,
        rtol=1e-15,
    )


def added(name: str) -> Callable[[bool], Row]:
    """What a call of fgrad takes longer than the same call of NumPy, timed in turn."""

    def limit(smoke: bool = False) -> Row:
        call, (x, y) = CALLS[name], operands()
        ours = fnp.asarray(x), fnp.asarray(y)
        run, plain = (lambda: call(fnp, *ours)), (lambda: call(np, x, y))
        assert_same_answer(run(), plain(), 1e-15, name)
        if smoke:
            seconds = [timed(run, 1), timed(plain, 1)]
        else:
            seconds, _ = interleaved(run, plain, budget=1.0)
        return Row(f"{name}, added to NumPy's call", seconds[0] - seconds[1], "", None, None, ADDED)

    return limit


# Autograd leaves plain arrays to index themselves.
COMPARISONS: dict[str, Callable[[], Comparison]] = {
    name: lambda name=name: compare(name) for name in CALLS if name != "index"
}
LIMITS: tuple[Callable[[bool], Row], ...] = tuple(map(added, CALLS))


@pytest.mark.parametrize("contender", ["fgrad", "other"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_eager_call(benchmark: Any, name: str, contender: str) -> None:
    comparison = COMPARISONS[name]()
    comparison.check()
    benchmark(comparison.contender(contender))


def test_the_limits_are_measured() -> None:
    assert statistics.mean(limit(True).seconds for limit in LIMITS) < 1.0
