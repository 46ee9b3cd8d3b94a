"""What a function of fgrad.numpy adds to NumPy's on a small array, by class of functions."""

import statistics
from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy as np
import pytest

import fgrad.numpy as fnp
from benchmarks.comparison import Comparison, Row, assert_same_answer, timed

TITLE = "eager call on 3 elements"
# Autograd wraps NumPy's functions too, and gives back plain arrays that anybody may write to.
TARGET = 1.0
#: Seconds that a call may take longer than NumPy's.
ADDED = 1.5e-6

#: By class of functions; of `where`, only the choice: the comparison is a call of its own.
CALLS: dict[str, Callable[..., Any]] = {
    "sin": lambda xp, x, y, mask, m: xp.sin(x),
    "add": lambda xp, x, y, mask, m: xp.add(x, y),
    "multiply by a number": lambda xp, x, y, mask, m: xp.multiply(x, 2.0),
    "greater": lambda xp, x, y, mask, m: xp.greater(x, y),
    "where": lambda xp, x, y, mask, m: xp.where(mask, x, y),
    "isclose": lambda xp, x, y, mask, m: xp.isclose(x, y),
    "sum": lambda xp, x, y, mask, m: xp.sum(x),
    "max over an axis": lambda xp, x, y, mask, m: xp.max(x, axis=0),
    "mean": lambda xp, x, y, mask, m: xp.mean(x),
    "var": lambda xp, x, y, mask, m: xp.var(x),
    "nansum": lambda xp, x, y, mask, m: xp.nansum(x),
    "argmax": lambda xp, x, y, mask, m: xp.argmax(x),
    "cumsum": lambda xp, x, y, mask, m: xp.cumsum(x),
    "median": lambda xp, x, y, mask, m: xp.median(x),
    "percentile": lambda xp, x, y, mask, m: xp.percentile(x, 30.0),
    "sort": lambda xp, x, y, mask, m: xp.sort(x),
    "unique": lambda xp, x, y, mask, m: xp.unique(x),
    "union1d": lambda xp, x, y, mask, m: xp.union1d(x, y),
    "nonzero": lambda xp, x, y, mask, m: xp.nonzero(mask),
    "searchsorted": lambda xp, x, y, mask, m: xp.searchsorted(x, y),
    "interp": lambda xp, x, y, mask, m: xp.interp(x, np.arange(3.0), y),
    "matmul": lambda xp, x, y, mask, m: xp.matmul(x, y),
    "einsum": lambda xp, x, y, mask, m: xp.einsum("ij,j->i", m, x),
    "kron": lambda xp, x, y, mask, m: xp.kron(x, y),
    "linalg.norm": lambda xp, x, y, mask, m: xp.linalg.norm(x),
    "linalg.solve": lambda xp, x, y, mask, m: xp.linalg.solve(m, x),
    "linalg.det": lambda xp, x, y, mask, m: xp.linalg.det(m),
    "linalg.eigh": lambda xp, x, y, mask, m: xp.linalg.eigh(m),
    "fft.rfft": lambda xp, x, y, mask, m: xp.fft.rfft(x),
    "reshape": lambda xp, x, y, mask, m: xp.reshape(x, (3, 1)),
    "expand_dims": lambda xp, x, y, mask, m: xp.expand_dims(x, 0),
    "transpose": lambda xp, x, y, mask, m: xp.transpose(m),
    "concatenate": lambda xp, x, y, mask, m: xp.concatenate([x, y]),
    "stack": lambda xp, x, y, mask, m: xp.stack([x, y]),
    "tile": lambda xp, x, y, mask, m: xp.tile(x, 2),
    "roll": lambda xp, x, y, mask, m: xp.roll(x, 1),
    "pad": lambda xp, x, y, mask, m: xp.pad(x, 1),
    "split": lambda xp, x, y, mask, m: xp.split(x, 3),
    "diag": lambda xp, x, y, mask, m: xp.diag(x),
    "tril": lambda xp, x, y, mask, m: xp.tril(m),
    "gradient": lambda xp, x, y, mask, m: xp.gradient(x),
    "convolve": lambda xp, x, y, mask, m: xp.convolve(x, y),
    "polyval": lambda xp, x, y, mask, m: xp.polyval(x, y),
    "zeros": lambda xp, x, y, mask, m: xp.zeros(3),
    "linspace": lambda xp, x, y, mask, m: xp.linspace(0.0, 1.0, 3),
    "index": lambda xp, x, y, mask, m: x[0],
}


def operands() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.1, 0.9, 3), rng.uniform(0.1, 0.9, 3)
    return x, y, x > y, np.outer(x, x) + np.eye(3)


def least(*functions: Callable[[], Any], rounds: int, calls: int = 30) -> list[float]:
    """The least time that a call of each took in short samples, taken in turn.

    A difference of less than a microsecond drowns in medians as soon as the machine does anything else.
    """
    samples = [[timed(function, calls) for function in functions] for _ in range(rounds)]
    return [min(column) for column in zip(*samples, strict=True)]


def compare(name: str) -> Comparison:
    call, plain = CALLS[name], operands()
    ours = tuple(map(fnp.asarray, plain))
    return Comparison(
        f"{name}, the call",
        lambda: call(fnp, *ours),
        lambda: call(anp, *plain),
        "autograd",
        TARGET,
        rtol=1e-15,
    )


def added(name: str) -> Callable[[bool], Row]:
    """What a call of fgrad takes longer than the same call of NumPy, timed in turn."""

    def limit(smoke: bool = False) -> Row:
        call, arguments = CALLS[name], operands()
        ours = tuple(map(fnp.asarray, arguments))
        run, plain = (lambda: call(fnp, *ours)), (lambda: call(np, *arguments))
        assert_same_answer(run(), plain(), 1e-15, name)
        seconds = least(run, plain, rounds=1 if smoke else 2000)
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
