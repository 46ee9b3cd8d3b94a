"""Functions that loops and branches are given: who gets how many arguments, and by which names."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from support.modules import fgrad

lax = fgrad.lax
HERE = os.path.basename(__file__)
ROWS = np.ones(3)


def three(a: Any, b: Any, c: Any) -> Any:
    return a


#: A call whose function takes another number of arguments, and words of the message.
WRONG: dict[str, tuple[Callable[[], Any], str, str]] = {
    "scan": (lambda: lax.scan(lambda c: (c, None), 0.0, ROWS), "scan", "f gets 2 arguments"),
    "scan, too many": (lambda: lax.scan(three, 0.0, ROWS), "scan", "three(a: 'Any', b"),
    "scan, checkpoint": (
        lambda: lax.scan(fgrad.checkpoint(three), 0.0, ROWS),
        "scan",
        "f gets 2 arguments",
    ),
    "scan, steps": (
        lambda: lax.scan(three, 0.0, ROWS, recompute="steps"),
        "scan",
        "the carry and an entry of xs",
    ),
    "scan, halving": (
        lambda: lax.scan(three, 0.0, np.ones(40), recompute="halving"),
        "scan",
        "the carry and an entry of xs",
    ),
    "map": (lambda: lax.map(lambda: 1, ROWS), "map", "f gets 1 argument, an entry of xs"),
    "condition": (
        lambda: lax.while_loop(lambda: True, lambda c: c, 0.0),
        "while_loop",
        "cond_fun gets 1 argument, the carry",
    ),
    "body": (
        lambda: lax.while_loop(lambda c: c[0] < 3, lambda i, c: c, (0, 1.0)),
        "while_loop",
        "body_fun gets 1 argument, the carry, but its signature is <lambda>(i, c)",
    ),
    "fori_loop": (
        lambda: lax.fori_loop(0, 3, lambda c: c, 0.0),
        "fori_loop",
        "body_fun gets 2 arguments, the index and the carry",
    ),
    "fori_loop, unknown bounds": (
        lambda: fgrad.jit(lambda n: lax.fori_loop(0, n, lambda c: c, 0.0))(3),
        "fori_loop",
        "body_fun gets 2 arguments, the index and the carry",
    ),
    "cond, taken": (
        lambda: lax.cond(True, lambda: 1.0, lambda x: x, 0.0),
        "cond",
        "true_fun gets 1 argument",
    ),
    "cond, not taken": (
        lambda: lax.cond(False, lambda: 1.0, lambda x: x, 0.0),
        "cond",
        "true_fun gets 1 argument",
    ),
    "cond, no operand": (
        lambda: lax.cond(True, lambda x: 1.0, lambda: 1.0),
        "cond",
        "true_fun gets no argument, but its signature is <lambda>(x)",
    ),
    "cond, jit": (
        lambda: fgrad.jit(lambda p: lax.cond(p, lambda x, y: x, lambda x: x, 3.0, 4.0))(True),
        "cond",
        "false_fun gets 2 arguments, operand 0 and operand 1",
    ),
    "switch": (
        lambda: lax.switch(0, [lambda x: x, lambda: 1.0], 3.0),
        "switch",
        "branches[1] gets 1 argument",
    ),
    "switch, one branch": (lambda: lax.switch(0, [three], 1.0), "switch", "branches[0] gets 1"),
}


@pytest.mark.parametrize("plainly", [False, True], ids=["", "disable_jit"])
@pytest.mark.parametrize("case", WRONG)
def test_a_function_of_another_number_of_arguments_is_named(case: str, plainly: bool) -> None:
    call, construct, words = WRONG[case]
    with (
        fgrad.disable_jit() if plainly else nullcontext(),
        pytest.raises(fgrad.errors.ArgumentError) as caught,
    ):
        call()
    message = str(caught.value)
    assert message.startswith(f"{construct} of ")
    assert words in message
    assert "but its signature is" in message
    assert HERE in message


def test_a_fault_within_a_function_stays_what_it_is() -> None:
    def step(c: Any, x: Any) -> Any:
        return three(c), None  # type: ignore[call-arg]

    with pytest.raises(TypeError, match="missing 2 required positional arguments") as caught:
        lax.scan(step, 0.0, ROWS)
    assert not isinstance(caught.value, fgrad.errors.FgradError)


#: A body that needs a value, and the name that it has in there.
NAMED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "scan, carry": (lambda: lax.scan(lambda h, row: (float(h), row), 0.0, ROWS), "scan", "h"),
    "scan, entry": (
        lambda: lax.scan(lambda h, row: (h, float(row["a"])), 0.0, {"a": ROWS}),
        "scan",
        "row['a']",
    ),
    "map": (lambda: lax.map(lambda point: float(point), ROWS), "map", "point"),
    "fori_loop, index": (
        lambda: lax.fori_loop(0, 3, lambda step, h: h + int(step), 0.0),
        "fori_loop",
        "step",
    ),
    "fori_loop, carry": (
        lambda: lax.fori_loop(0, 3, lambda step, h: (float(h[0]), h[1]), (0.0, 1.0)),
        "fori_loop",
        "h[0]",
    ),
    "fori_loop, unknown bounds": (
        lambda: fgrad.jit(
            lambda n: lax.fori_loop(0, n, lambda step, h: (float(h[0]), h[1]), (0.0, 1.0))
        )(3),
        "fori_loop",
        "h[0]",
    ),
    "condition": (
        lambda: lax.while_loop(lambda s: bool(s[0] < 3), lambda t: t, (0.0, 1.0)),
        "while_loop",
        "s[0]",
    ),
    "body": (
        lambda: lax.while_loop(lambda s: s[0] < 3, lambda t: (float(t[0]), t[1]), (0.0, 1.0)),
        "while_loop",
        "t[0]",
    ),
    "cond": (
        lambda: fgrad.jit(lambda p: lax.cond(p, lambda u, v: float(v), lambda u, v: u, 3.0, 4.0))(
            True
        ),
        "cond",
        "v",
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_is_unknown_in_a_body_has_the_name_that_the_user_gave_it(case: str) -> None:
    call, construct, name = NAMED[case]
    with pytest.raises(fgrad.errors.ConcretizationTypeError) as caught:
        call()
    message = str(caught.value)
    assert f"in {construct} of <lambda> ({HERE}:" in message
    assert f"from argument {name}, " in message
