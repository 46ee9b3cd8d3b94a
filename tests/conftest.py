"""Hypothesis profiles, checked jaxprs, and counts of what really ran."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# `support` is a directory of helpers beside the tests, which import it by that name.
sys.path.insert(0, str(Path(__file__).parent))
# Collecting them for doctests would import them a second time, under another name.
collect_ignore_glob = ["support/*"]

QUIET = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.function_scoped_fixture,
    HealthCheck.large_base_example,
]
settings.register_profile(
    "quick",
    deadline=None,
    derandomize=True,
    max_examples=25,
    print_blob=True,
    suppress_health_check=QUIET,
)
settings.register_profile(
    "thorough", deadline=None, max_examples=300, print_blob=True, suppress_health_check=QUIET
)
PROFILE = os.environ.get("FGRAD_HYPOTHESIS_PROFILE", "quick")
settings.load_profile(PROFILE)


@pytest.fixture(autouse=True)
def checked_jaxprs() -> Iterator[None]:
    """Every jaxpr that the library makes while a test runs goes through the type checker."""
    if os.environ.get("FGRAD_UNDER_TEST", "fgrad") != "fgrad":
        yield
        return
    import fgrad

    fgrad.config.update("fgrad_check_jaxprs", True)
    yield
    fgrad.config.update("fgrad_check_jaxprs", False)


class Tally:
    """Counts what a law executed, so that a law that silently stops running fails.

    The test calls ``count(key)`` at the end of each example that it compared to the end, and
    states with ``require`` how many it must have seen; the minimum is checked after the last one.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.minimum: dict[str, int] = {}

    def count(self, *keys: str) -> None:
        self.counts.update(("", *keys))

    def require(self, minimum: int, *keys: str) -> None:
        for key in keys or ("",):
            self.minimum[key] = minimum

    def missing(self) -> dict[str, tuple[int, int]]:
        """Keys that ran less often than required, as ``{key: (executed, required)}``."""
        return {
            key or "all examples": (self.counts[key], minimum)
            for key, minimum in self.minimum.items()
            if self.counts[key] < minimum
        }


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):  # type: ignore[no-untyped-def]
    outcome = yield
    if call.when == "call":
        item.stash[PASSED] = outcome.get_result().passed


PASSED = pytest.StashKey[bool]()


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """A `Tally`; a test that passed with fewer examples than it requires is an error."""
    tally = Tally()
    yield tally
    if request.node.stash.get(PASSED, False):
        missing = tally.missing()
        assert not missing, f"too few executed examples, (executed, required): {missing}"
