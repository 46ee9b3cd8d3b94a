"""Where loops in compiled functions put their values: into results, over old carries, behind a first row."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gradients import close

import fgrad
import fgrad.numpy as fnp
from fgrad import lax

ROWS, WIDTH = 3, 4
rng = np.random.default_rng(0)
WEIGHTS = 0.5 * rng.standard_normal((WIDTH, WIDTH))
START = tuple(rng.standard_normal((3, ROWS, WIDTH)))
STEPS = rng.standard_normal((5, ROWS, WIDTH))


def source_of(f: Callable[..., Any], *args: Any) -> str:
    return fgrad.jit(f).lower(*args).source


# ---- any order of reading and writing --------------------------------------------------------------


def handed_through(a: Any, b: Any) -> Any:
    """What is called gives back what it was given, and a view of it."""
    return a, b[::-1], a * b


def called(xp: Any, a: Any, b: Any) -> Any:
    return (handed_through if xp is np else fgrad.checkpoint(handed_through))(a, b)


#: Operations of one or two values of the pool: some can be written over an operand, others cannot.
OPERATIONS: tuple[Callable[..., Any], ...] = (
    lambda xp, a, b: a + b,
    lambda xp, a, b: a * b,
    lambda xp, a, b: b - a,
    lambda xp, a, b: xp.tanh(a),
    lambda xp, a, b: a @ WEIGHTS,
    lambda xp, a, b: (b @ WEIGHTS.T) + a,
    lambda xp, a, b: xp.sin(a) * 0.5 + b,
    lambda xp, a, b: a[::-1],
    lambda xp, a, b: a.T.reshape(ROWS, WIDTH),
    lambda xp, a, b: a[:1] + b,
    lambda xp, a, b: xp.concatenate([a[1:], b[:1]]),
    lambda xp, a, b: called(xp, a, b)[0],
    lambda xp, a, b: called(xp, a, b)[1],
)
CARRIES = 3


def body_of(ops: list[tuple[int, int, int]], carried: list[int], shown: list[int]) -> Any:
    """A body whose carries and results are any values of a pool that operations add to."""

    def body(xp: Any, carry: Any, row: Any) -> Any:
        pool = [*carry, row]
        for operation, one, other in ops:
            value = OPERATIONS[operation](xp, pool[one % len(pool)], pool[other % len(pool)])
            pool.append(xp.tanh(value) if operation == 1 else value)
        return tuple(pool[i % len(pool)] for i in carried), [pool[i % len(pool)] for i in shown]

    return body


indices = st.integers(0, 11)
bodies = st.builds(
    body_of,
    st.lists(st.tuples(st.integers(0, len(OPERATIONS) - 1), indices, indices), max_size=7),
    st.lists(indices, min_size=CARRIES, max_size=CARRIES),
    st.lists(indices, max_size=3),
)


def in_python(body: Any, reverse: bool) -> Any:
    """The loop in NumPy, step by step."""
    carry, rows = START, list(STEPS[::-1] if reverse else STEPS)
    shown = []
    for row in rows:
        carry, out = body(np, carry, row)
        shown.append(out)
    if reverse:
        shown.reverse()
    return carry, [np.stack(column) for column in zip(*shown, strict=True)]


@given(body=bodies, reverse=st.booleans())
def test_values_do_not_depend_on_where_they_lie(body: Any, reverse: bool) -> None:
    def looped(start: Any, steps: Any) -> Any:
        return lax.scan(lambda c, x: body(fnp, c, x), start, steps, reverse=reverse)

    start, steps = tuple(a.copy() for a in START), STEPS.copy()
    want = in_python(body, reverse)
    for call in (fgrad.jit(looped), looped):
        carry, shown = call(start, steps)
        for got, expected in zip((*carry, *shown), (*want[0], *want[1]), strict=True):
            close(got, expected)
    # Nothing was written into arguments.
    assert all(np.array_equal(a, b) for a, b in zip(start, START, strict=True))
    assert np.array_equal(steps, STEPS)

    def counted(start: Any) -> Any:
        def step(state: Any) -> Any:
            number, carry = state
            return number + 1, body(fnp, carry, carry[0])[0]

        return lax.while_loop(lambda state: state[0] < 4, step, (0, start))[1]

    carry = START
    for _ in range(4):
        carry = body(np, carry, carry[0])[0]
    for got, expected in zip(fgrad.jit(counted)(start), carry, strict=True):
        close(got, expected)
    assert all(np.array_equal(a, b) for a, b in zip(start, START, strict=True))


@given(body=bodies, reverse=st.booleans())
def test_gradients_do_not_depend_on_where_values_lie(body: Any, reverse: bool) -> None:
    def loss(start: Any, steps: Any) -> Any:
        carry, shown = lax.scan(lambda c, x: body(fnp, c, x), start, steps, reverse=reverse)
        return sum((c * c).sum() for c in carry) + sum(fnp.sin(s).sum() for s in shown)

    def unrolled(start: Any, steps: Any) -> Any:
        carry, total = start, 0.0
        for step in reversed(range(len(STEPS))) if reverse else range(len(STEPS)):
            carry, out = body(fnp, carry, steps[step])
            total += sum(fnp.sin(o).sum() for o in out)
        return total + sum((c * c).sum() for c in carry)

    want = fgrad.grad(unrolled, (0, 1))(START, STEPS)
    got = fgrad.jit(fgrad.grad(loss, (0, 1)))(START, STEPS)
    for one, other in zip(
        fgrad.tree_util.tree_leaves(got), fgrad.tree_util.tree_leaves(want), strict=True
    ):
        close(one, other)


@pytest.mark.parametrize(
    "through",
    [
        fgrad.checkpoint(lambda x: (x, fnp.sin(x))),
        fgrad.checkpoint(lambda x: (x.T, fnp.sin(x))),
        lambda x: fgrad.pure_callback(
            lambda x: (x, np.sin(x)), (fgrad.ShapeDtypeStruct(x.shape, x.dtype),) * 2, x
        ),
    ],
    ids=["operand", "view", "callback"],
)
def test_what_a_call_hands_through_is_not_written_over(through: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        same, sines = through(y)
        z = y + 1.0
        return same * sines, z, same

    x = np.arange(4.0).reshape(2, 2)
    for got, want in zip(fgrad.jit(f)(x), f(x), strict=True):
        close(got, want)


# ---- what the code looks like -----------------------------------------------------------------------


def recurrent(xp: Any, lax: Any, reverse: bool = False) -> Callable[..., Any]:
    def loss(weights: Any, start: Any, steps: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = xp.tanh(h @ weights + x)
            return h, h

        return (lax.scan(step, start, steps, reverse=reverse)[1] ** 2).sum()

    return loss


def test_a_chain_is_computed_in_the_row_of_its_result() -> None:
    source = source_of(recurrent(fnp, lax), WEIGHTS, START[0], STEPS)
    body = source[source.index("for ") :]
    assert body.count("out=") >= 2, source
    assert ".dot(weights, out=" in body, source


def test_the_next_carry_lies_where_the_old_one_did() -> None:
    source = source_of(fgrad.grad(recurrent(fnp, lax)), WEIGHTS, START[0], STEPS)
    backward = source[source.rindex("for ") :]
    assert ".dot(weights.T, out=" in backward, source


@pytest.mark.parametrize("reverse", [False, True])
def test_the_first_carry_joins_the_others_without_a_copy(reverse: bool) -> None:
    loss = recurrent(fnp, lax, reverse)
    slope = fgrad.grad(loss, (0, 1, 2))
    source = source_of(slope, WEIGHTS, START[0], STEPS)
    assert "np.concatenate" not in source, source
    want = jax.grad(recurrent(jnp, jax.lax, reverse), (0, 1, 2))(WEIGHTS, START[0], STEPS)
    for got, expected in zip(fgrad.jit(slope)(WEIGHTS, START[0], STEPS), want, strict=True):
        close(got, expected)
    with_rows = fgrad.jit(fgrad.vmap(slope, (None, 0, 0)))
    starts, rows = np.stack([START[0], START[1]]), np.stack([STEPS, STEPS[::-1]])
    for number, each in enumerate(zip(*with_rows(WEIGHTS, starts, rows), strict=True)):
        for got, expected in zip(each, slope(WEIGHTS, starts[number], rows[number]), strict=True):
            close(got, expected)


def test_results_that_are_returned_are_joined_by_a_copy() -> None:
    """They own their memory: a caller must not get at a row more."""

    def joined(start: Any, steps: Any) -> Any:
        hs = lax.scan(lambda h, x: (h + x, h + x), start, steps)[1]
        return hs, fnp.concatenate([start[None], hs[:-1]])

    hs, earlier = fgrad.jit(joined)(START[0], STEPS)
    close(hs, START[0] + np.cumsum(STEPS, axis=0))
    close(earlier, np.concatenate([START[0][None], hs[:-1]]))
    assert hs.base is None or not hs.base.flags.writeable


def test_the_backward_pass_of_a_small_network_takes_less_memory_than_that_of_jax() -> None:
    steps = rng.standard_normal((100, 1, 64)).astype(np.float32)
    weights = (0.1 * rng.standard_normal((64, 64))).astype(np.float32)
    args = weights, np.zeros((1, 64), np.float32), steps
    slope = fgrad.jit(fgrad.value_and_grad(recurrent(fnp, lax)))
    # The second call makes what later ones find.
    slope(*args)
    slope(*args)
    tracemalloc.start()
    try:
        slope(*args)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    theirs = jax.jit(jax.value_and_grad(recurrent(jnp, jax.lax))).lower(*args).compile()
    analysis = theirs.memory_analysis()
    assert peak <= analysis.temp_size_in_bytes + analysis.output_size_in_bytes
