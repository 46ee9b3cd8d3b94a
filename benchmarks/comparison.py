"""Two programs with the same answer, and how their times compare."""

import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

#: Programs that take less than this many seconds are judged by the time that fgrad adds.
SHORT = 50e-6


@dataclass(frozen=True)
class Comparison:
    """A program in fgrad and the same program in something else.

    The target is the largest ratio of their times that is good enough, infinite where the
    ratio is only of interest. `operations` is a number that both times are divided by in the table,
    where the cost of one operation is of interest. `allowance` is the seconds by which fgrad may exceed
    the target where the other program takes less than SHORT.
    """

    name: str
    fgrad: Callable[[], Any]
    other: Callable[[], Any]
    other_name: str
    target: float
    rtol: float
    operations: int = 1
    allowance: float = 0.0

    def contender(self, name: str) -> Callable[[], Any]:
        """The program of one side: "fgrad" or "other"."""
        return self.fgrad if name == "fgrad" else self.other

    def check(self) -> None:
        """Raise AssertionError unless both programs give the same answer."""
        assert_same_answer(self.fgrad(), self.other(), self.rtol, self.name)


@dataclass(frozen=True)
class Row:
    """A line of the table: times in seconds, or a time and its limit where there is no ratio.

    What is no time says its unit. An infinite target judges nothing: the ratio is reported.
    """

    name: str
    seconds: float
    other_name: str
    other_seconds: float | None
    ratio: float | None
    target: float
    unit: str = "s"

    @property
    def met(self) -> bool:
        return (self.seconds if self.ratio is None else self.ratio) <= self.target


def leaves(answer: Any) -> list[np.ndarray]:
    """The arrays of nested dicts, lists and tuples, dicts in the order of their sorted keys."""
    if isinstance(answer, dict):
        return [leaf for key in sorted(answer) for leaf in leaves(answer[key])]
    if isinstance(answer, list | tuple):
        return [leaf for item in answer for leaf in leaves(item)]
    return [np.asarray(answer)]


def assert_same_answer(answer: Any, other: Any, rtol: float, name: str) -> None:
    """Raise AssertionError unless the arrays agree in number, shape, dtype and value.

    The tolerance is relative to the largest magnitude of each array.
    """
    ours, theirs = leaves(answer), leaves(other)
    assert len(ours) == len(theirs), f"{name}: {len(ours)} arrays against {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape, f"{name}: shape {a.shape} against {b.shape}"
        assert a.dtype == b.dtype, f"{name}: dtype {a.dtype} against {b.dtype}"
        assert a.size, f"{name}: an empty answer compares nothing"
        assert np.isfinite(b).all(), f"{name}: the answer to compare with is not finite"
        np.testing.assert_allclose(a, b, rtol=0, atol=rtol * np.abs(b).max(), err_msg=name)


class Elsewhere(Protocol):
    """A program in another process, which times itself."""

    def __call__(self) -> Any: ...

    def timed(self, calls: int) -> float:
        """Seconds that one call takes, on average over the calls."""


def timed(function: Callable[[], Any] | Elsewhere, calls: int) -> float:
    """Seconds that one call takes, on average over the calls."""
    if hasattr(function, "timed"):
        return function.timed(calls)  # type: ignore[no-any-return]
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def calls_per_sample(function: Callable[[], Any], seconds: float = 2e-3) -> int:
    """How many calls make a sample long enough for the clock."""
    calls = 1
    while (once := timed(function, calls)) * calls < seconds / 2:
        calls *= 2
    return max(1, math.ceil(seconds / once))


def interleaved(
    *functions: Callable[[], Any], budget: float = 3.0, least_rounds: int = 7
) -> tuple[list[float], list[float]]:
    """Time the functions in turn, round after round.

    Returns the median time of each, and the median over the rounds of the ratio of each to the
    last. What slows the machine for a while slows a whole round, and leaves its ratios alone. The
    order changes from round to round, so that no function always runs after the same other.

    Parameters
    ----------
    functions
        What to time. Each is called before, to warm up; check their answers first.
    budget
        Seconds to spend, if `least_rounds` rounds take no longer.
    least_rounds
        Rounds to run however long they take.
    """
    calls = [calls_per_sample(function) for function in functions]
    orders = itertools.cycle(itertools.permutations(range(len(functions))))
    rounds: list[list[float]] = []
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + budget
        while len(rounds) < least_rounds or time.perf_counter() < end:
            samples = [0.0] * len(functions)
            for which in next(orders):
                samples[which] = timed(functions[which], calls[which])
            rounds.append(samples)
    finally:
        if was_enabled:
            gc.enable()
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    ratios = [
        statistics.median(sample[which] / sample[-1] for sample in rounds)
        for which in range(len(functions))
    ]
    return medians, ratios


def measure(comparison: Comparison, smoke: bool = False) -> Row:
    """Check the answers, then time both programs; `smoke` runs each once, for the check alone."""
    comparison.check()
    if smoke:
        seconds = [timed(comparison.fgrad, 1), timed(comparison.other, 1)]
        ratio = seconds[0] / seconds[1]
    else:
        seconds, ratios = interleaved(comparison.fgrad, comparison.other)
        ratio = ratios[0]
    target = comparison.target
    if seconds[1] < SHORT:
        target += comparison.allowance / seconds[1]
    return Row(
        comparison.name,
        seconds[0] / comparison.operations,
        comparison.other_name,
        seconds[1] / comparison.operations,
        ratio,
        target,
    )
