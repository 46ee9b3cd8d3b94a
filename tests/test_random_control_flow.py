"""Random programs of loops and branches, under random stacks of transforms, against two references.

One is the same program with its loops unrolled and its branches selected, under the same transforms; the
other is JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from support.compare import differences, finite, largest
from support.loops import UNROLLED, random_control_case
from support.modules import fgrad, fnp
from support.stacks import Case, Reference

EXAMPLES = settings.default.max_examples
# Larger values than this come from ill-conditioned derivatives, where rounding decides.
LARGEST = 1e6
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
CONSTRUCTS = ("scan", "cond", "switch", "fori_loop", "while_loop")
SEEDS = st.integers(0, 2**24 - 1)


@pytest.fixture(autouse=True)
def checked_programs() -> Any:
    before = fgrad.config.check_jaxprs
    fgrad.config.update("check_jaxprs", True)
    yield
    fgrad.config.update("check_jaxprs", before)


def unrolled(case: Case) -> Any:
    return case.function(UNROLLED, fnp)(*case.inputs(fgrad, fnp))


def of_jax(case: Case) -> Any:
    return Reference(case)()


def check(case: Case, reference: Callable[[Case], Any]) -> None:
    want = reference(case)
    assume(finite(want) and largest(want) < LARGEST)
    try:
        wrong = differences(case.function(fgrad, fnp)(*case.inputs(fgrad, fnp)), want)
    except Exception as error:
        raise AssertionError(case.script()) from error
    assert not wrong, "\n".join([*wrong, case.script()])


def words(case: Case) -> set[str]:
    found = {name for name in CONSTRUCTS if f"lax.{name}(" in case.program.source}
    return {*found, *case.kinds}


@settings(max_examples=3 * EXAMPLES, phases=PHASES)
@given(seed=SEEDS)
def test_loops_and_branches_compute_what_unrolled_ones_do(seed: int, tally: Any) -> None:
    tally.require(2 * EXAMPLES)
    for name in (*CONSTRUCTS, "grad", "jvp", "vjp", "vmap", "jit"):
        tally.require(EXAMPLES // 4, name)
    case = random_control_case(seed, (0, 1, 2, 3, 4))
    check(case, unrolled)
    tally.count(*words(case))


@settings(max_examples=max(EXAMPLES // 4, 1), phases=PHASES)
@given(seed=SEEDS)
def test_loops_and_branches_agree_with_jax(seed: int, tally: Any) -> None:
    tally.require(EXAMPLES // 6)
    case = random_control_case(seed, (1, 2))
    check(case, of_jax)
    tally.count(*words(case))
