"""Whole random programs under random stacks of transforms agree with JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import Phase, assume, given, settings
from support.compare import EPS, differences, finite, flatten, largest
from support.modules import fgrad, fnp
from support.stacks import KINDS, Case, Reference, cases

EXAMPLES = settings.default.max_examples
# Larger values than this come from ill-conditioned derivatives, where rounding decides.
LARGEST = 1e6


def faults(case: Case) -> list[str] | None:
    """What is wrong with the result of a case; None where JAX has no finite answer."""
    reference = Reference(case)
    want = reference()
    if not finite(want) or largest(want) > LARGEST:
        return None
    got = case.function(fgrad, fnp)(*case.inputs(fgrad, fnp))
    wrong = _beyond_rounding(case, got, reference, want)
    if wrong:
        # XLA compiles some programs to wrong ones when it is told not to spend time on optimising them.
        reference = Reference(case, compiled=False)
        wrong = _beyond_rounding(case, got, reference, reference())
    return wrong


def _beyond_rounding(case: Case, got: Any, reference: Reference, want: Any) -> list[str]:
    narrow = case.program.narrow
    if not differences(got, want, narrow):
        return []
    # Off beyond plain rounding: a fault, unless the program itself amplifies rounding. How
    # much it does, JAX shows by its own answers at inputs that differ in the last places.
    return differences(got, want, narrow, sensitivity(reference, want))


def sensitivity(reference: Reference, want: Any) -> Any:
    """How far the reference moves when its inputs move by a few units in the last place.

    What a program makes of the rounding of values within it, such as a saturated tanh, inputs do not
    show: for programs in 32 bits the reference's own error does, half of which counts here.
    """
    step = 8 * EPS[reference.case.program.narrow]
    leaves, _ = flatten(want)
    moves = [np.zeros(np.shape(leaf)) for leaf in leaves]
    for shift in (step, -step):
        for n, leaf in enumerate(flatten(reference(shift))[0]):
            if np.asarray(leaf).dtype.kind in "biufc":
                change = np.abs(np.asarray(leaf) * 1.0 - np.asarray(leaves[n]) * 1.0)
                moves[n] = np.maximum(moves[n], change)
    if reference.case.program.narrow:
        for n, leaf in enumerate(flatten(reference(wide=True))[0]):
            if np.asarray(leaves[n]).dtype.kind in "fc":
                moves[n] = np.maximum(
                    moves[n], np.abs(np.asarray(leaf) - leaves[n]).max(initial=0) / 2
                )
    return moves


def fails(case: Case) -> bool:
    try:
        return bool(faults(case))
    except Exception:  # an error of the library is a failure as well
        return True


def smallest(case: Case) -> Case:
    """A failing case from which nothing can be left out."""
    while True:
        for simpler in case.simpler():
            if fails(simpler):
                case = simpler
                break
        else:
            return case


def check(case: Case) -> None:
    try:
        found = faults(case)
        failed = bool(found)
    except Exception:
        found, failed = [], True
    if failed:
        small = smallest(case)
        raise AssertionError("\n".join([*explained(small), small.script()]))
    assume(found is not None)


def explained(case: Case) -> list[str]:
    try:
        return faults(case) or ["a fault that comes and goes"]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


# Programs are seeds to hypothesis: `smallest` shrinks them, in seconds.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]


@settings(max_examples=2 * EXAMPLES, phases=PHASES)
@given(case=cases(depths=(0,)))
def test_a_program_computes_what_jax_computes(case: Case, tally: Any) -> None:
    tally.require(EXAMPLES)
    check(case)
    tally.count()


@settings(max_examples=6 * EXAMPLES, phases=PHASES)
@given(case=cases())
def test_a_stack_of_transforms_agrees_with_jax(case: Case, tally: Any) -> None:
    tally.require(4 * EXAMPLES)
    tally.require(EXAMPLES, *KINDS)
    tally.require(EXAMPLES // 2, "depth 1", "depth 2", "depth 3", "depth 4")
    check(case)
    tally.count(*set(case.kinds), f"depth {len(case.stack)}")
