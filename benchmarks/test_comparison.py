"""The means of measurement, measured: answers that differ are found, ratios are what they say."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import comparison
from benchmarks.comparison import Comparison, Row, assert_same_answer, interleaved, measure
from benchmarks.table import render


class Clock:
    """A clock that only moves when a program of known cost runs, at a drifting speed."""

    def __init__(self):
        self.now, self.slowness = 0.0, 1.0

    def program(self, seconds):
        def run():
            self.now += seconds * self.slowness
            self.slowness *= 1.001
            return np.float64(1.0)

        return run


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(comparison, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


def test_ratios_survive_a_machine_that_slows_down(clock):
    medians, ratios = interleaved(clock.program(0.3), clock.program(0.1), least_rounds=20)
    assert ratios == pytest.approx([3.0, 1.0], rel=2e-3)
    assert medians[0] / medians[1] == pytest.approx(3.0, rel=2e-2)


def test_short_programs_are_called_often_enough(clock):
    calls = comparison.calls_per_sample(clock.program(1e-6), seconds=1e-3)
    assert 250 <= calls <= 1100


def test_measure_gives_the_cost_of_an_operation(clock):
    pair = Comparison("p", clock.program(0.5), clock.program(1.0), "other", 1.0, 1e-12, 10)
    row = measure(pair)
    assert row.seconds == pytest.approx(row.other_seconds / 2, rel=2e-2)
    assert row.other_seconds < 1.0
    assert row.met


class Elsewhere:
    """A program that takes just as long as it says."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self):
        return np.float64(1.0)

    def timed(self, calls):
        return self.seconds


def test_programs_elsewhere_time_themselves():
    medians, ratios = interleaved(Elsewhere(0.25), Elsewhere(0.5), budget=0.0)
    assert medians == [0.25, 0.5]
    assert ratios == [0.5, 1.0]


def test_short_programs_may_take_an_allowance_longer(monkeypatch):
    monkeypatch.setattr(
        comparison,
        "interleaved",
        lambda *f: ([p.seconds for p in f], [f[0].seconds / f[1].seconds, 1.0]),
    )
    short = Comparison("p", Elsewhere(30e-6), Elsewhere(10e-6), "o", 1.0, 0, 1, 20e-6)
    assert measure(short).met
    assert not measure(dataclasses.replace(short, allowance=19e-6)).met
    long = Comparison("p", Elsewhere(0.10001), Elsewhere(0.1), "o", 1.0, 0, 1, 20e-6)
    assert measure(long).target == 1.0
    assert not measure(long).met


@pytest.mark.parametrize(
    ("answer", "other", "complaint"),
    [
        ([1.0, 2.0], [1.0], "2 arrays against 1"),
        (np.zeros(2), np.zeros((1, 2)), "shape"),
        (np.zeros(2, np.float32), np.zeros(2), "dtype"),
        (np.array([1.0, 2.0]), np.array([1.0, 2.1]), "Mismatched"),
        ({"b": 1.0, "a": 2.0}, {"b": 2.0, "a": 1.0}, "Mismatched"),
        (np.array([np.nan]), np.array([np.nan]), "not finite"),
        (np.zeros(0), np.zeros(0), "empty"),
    ],
)
def test_answers_that_differ_are_found(answer, other, complaint):
    with pytest.raises(AssertionError, match=complaint):
        assert_same_answer(answer, other, 1e-9, "p")


def test_equal_answers_pass():
    answer = {"w": [np.ones(3), np.array(1.0)]}
    assert_same_answer(answer, {"w": (np.ones(3) + 1e-12, 1.0)}, 1e-9, "p")


def test_the_table_says_what_was_missed():
    rows = [
        Row("fast", 1e-3, "other", 2e-3, 0.5, 1.0),
        Row("slow", 4e-3, "other", 2e-3, 2.0, 1.0),
        Row("late", 0.2, "", None, None, 0.15),
    ]
    lines = render([("section", rows)]).splitlines()
    assert [line.split()[-1] for line in lines[-3:]] == ["met", "MISSED", "MISSED"]
