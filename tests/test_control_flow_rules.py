"""Loops and branches: types, structures, lanes not taken, what is kept and computed, what is refused."""

from __future__ import annotations

import os
import pickle
import threading
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.compare import differences
from support.gradients import close, gradient, near
from support.modules import error_class, fgrad, fnp, jax, jnp

import fgrad.tracing
from fgrad.ir.jaxpr import sub_jaxprs

lax = fgrad.lax
A = np.array([0.4, -0.7, 1.1])
W = np.array([[0.2, -0.5, 0.3], [0.7, 0.1, -0.4], [-0.3, 0.6, 0.5]])
XS = np.array([[0.5, -1.0, 0.25], [1.5, 0.75, -0.5], [-0.25, 1.0, 0.6], [0.1, -0.2, 0.3]])


@pytest.fixture(autouse=True)
def checked_programs() -> Any:
    before = fgrad.config.check_jaxprs
    fgrad.config.update("check_jaxprs", True)
    yield
    fgrad.config.update("check_jaxprs", before)


def agree(got: Any, want: Any) -> None:
    wrong = differences(got, want)
    assert not wrong, "\n".join(wrong)


# ---- types, lengths and structures ---------------------------------------------------------------


def test_a_python_number_as_carry_takes_the_dtype_of_what_it_meets() -> None:
    xs = np.ones(4, np.float32)
    total, _ = lax.scan(lambda c, x: (c + x, None), 0.0, xs)
    assert total.dtype == np.float32
    assert not total.weak_type
    assert float(total) == 4.0
    doubled, _ = lax.scan(lambda c, _: (c * 2, None), 1.0, None, length=3)
    assert doubled.weak_type
    assert float(doubled) == 8.0
    wider, _ = lax.scan(lambda c, x: (c + 0.5, None), 0, xs)
    assert wider.weak_type
    assert float(wider) == 2.0
    kept, _ = lax.scan(lambda c, x: (2.0, c), np.float32(1.0), xs)
    assert kept.dtype == np.float32
    whole = lax.fori_loop(0, 3, lambda i, c: c + i * xs, fnp.zeros(4, np.float32))
    assert whole.dtype == np.float32
    unknown = fgrad.jit(
        lambda n: lax.fori_loop(0, n, lambda i, c: c + i * xs, fnp.zeros(4, np.float32))
    )(3)
    assert unknown.dtype == np.float32
    close(unknown, whole)


def test_derivatives_of_loops_over_python_numbers_in_loops() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            doubled, _ = lax.scan(lambda d, _: (d * 2.0, None), c, None, length=2)
            return c * 0.5, doubled

        return lax.scan(step, x, np.arange(3.0))[1].sum()

    # 4 x (1 + 1/2 + 1/4)
    for transform in (lambda f: f, fgrad.jit):
        close(transform(fgrad.grad(f))(1.0), 7.0)
        close(transform(fgrad.grad(fgrad.grad(lambda x: f(x) ** 3)))(1.0), 6 * 7.0**3)
        close(transform(fgrad.vmap(fgrad.grad(f)))(np.ones(2)), [7.0, 7.0])


def test_branches_join_python_numbers_with_arrays() -> None:
    x = np.float32(2.0)
    for f in (
        lambda p, x: lax.cond(p, lambda x: x, lambda x: 0.0, x),
        lambda p, x: lax.cond(p, lambda x: 0.0, lambda x: x, x),
    ):
        for flag in (True, False):
            assert f(flag, x).dtype == np.float32
            assert fgrad.jit(f)(flag, x).dtype == np.float32
            assert fgrad.grad(f, 1)(flag, x).dtype == np.float32


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_short_scans(length: int, reverse: bool) -> None:
    xs = XS[:length]

    def run(lib: Any, xp: Any) -> Any:
        def f(a: Any, xs: Any) -> Any:
            return lib.lax.scan(lambda c, x: (c * x, {"c": c, "n": 1}), a, xs, reverse=reverse)

        def loss(a: Any, xs: Any) -> Any:
            c, ys = f(a, xs)
            return xp.sum(c * c) + xp.sum(ys["c"])

        mapped = lib.vmap(f, in_axes=(0, None))(xp.stack([A, -A]), xs)
        return f(A, xs), lib.grad(loss, (0, 1))(A, xs), lib.jvp(loss, (A, xs), (A, xs)), mapped

    agree(run(fgrad, fnp), run(jax, jnp))
    agree(fgrad.jit(lambda: run(fgrad, fnp))(), run(jax, jnp))


def test_unroll_and_length_are_accepted() -> None:
    for unroll in (1, 2, True, False):
        total, ys = lax.scan(lambda c, x: (c + x, c), 0.0, np.arange(4.0), length=4, unroll=unroll)
        close(total, 6.0)
        close(ys, [0.0, 0.0, 1.0, 3.0])


def test_none_and_nested_containers_come_back() -> None:
    carry, ys = lax.scan(
        lambda c, x: ({"k": (c["k"][0] + x["a"][0],), "n": None}, (None, [c["k"][0]])),
        {"k": (1.0,), "n": None},
        {"a": (np.arange(2.0),), "b": None},
    )
    assert carry["n"] is None
    assert isinstance(carry["k"], tuple)
    assert ys[0] is None
    assert isinstance(ys[1], list)
    close(ys[1][0], [1.0, 1.0])


def test_operands_may_be_given_by_name_or_one_for_each_branch() -> None:
    close(lax.cond(True, lambda x: x, lambda x: -x, operand=2.0), 2.0)
    close(lax.cond(False, 2.0, lambda x: x, 3.0, lambda x: -x), -3.0)
    close(lax.cond(3, lambda: 1.0, lambda: 0.0), 1.0)
    close(fgrad.jit(lambda n: lax.cond(n, lambda: 1.0, lambda: 0.0))(0), 0.0)


def test_an_index_out_of_range_takes_the_nearest_branch() -> None:
    branches = [lambda: 10.0, lambda: 20.0, lambda: 30.0]
    for index, value in ((-5, 10.0), (1, 20.0), (9, 30.0)):
        close(lax.switch(index, branches), value)
        close(fgrad.jit(lambda i: lax.switch(i, branches))(index), value)
    found = fgrad.vmap(lambda i: lax.switch(i, branches))(np.array([-5, 1, 9], np.int32))
    close(found, [10.0, 20.0, 30.0])


def test_without_compilation_loops_run_as_python() -> None:
    seen: list[float] = []

    def step(c: Any, x: Any) -> Any:
        seen.append(float(x))
        return c + x, c

    with fgrad.disable_jit():
        total, ys = lax.scan(step, 0.0, np.arange(3.0), reverse=True)
        assert seen == [2.0, 1.0, 0.0]
        close(total, 3.0)
        close(ys, [3.0, 2.0, 0.0])
        assert int(lax.while_loop(lambda c: c < 3, lambda c: c + 2, 0)) == 4
        assert int(lax.fori_loop(0, 4, lambda i, c: c + i, 0)) == 6


def test_results_are_no_arguments() -> None:
    x = np.arange(3.0)
    for f in (
        lambda x: lax.cond(True, lambda x: x, lambda x: -x, x),
        lambda x: fgrad.jit(lambda p, x: lax.cond(p, lambda x: x, lambda x: -x, x))(True, x),
        lambda x: lax.scan(lambda c, _: (c, c), x, None, length=2)[0],
        lambda x: lax.while_loop(lambda c: fnp.any(c > 99.0), lambda c: c, x),
    ):
        y = f(x)
        before = np.array(y)
        x += 1.0
        close(y, before)


# ---- branches ------------------------------------------------------------------------------------


def test_with_a_known_predicate_one_branch_runs() -> None:
    ran: list[str] = []

    def branch(name: str) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            # A value that is known only where the branch really runs.
            if x > 0:
                ran.append(name)
            return x * 2.0

        return f

    slope = fgrad.grad(lambda x: lax.cond(x > 1.0, branch("yes"), branch("no"), x))(3.0)
    close(slope, 2.0)
    assert ran == ["yes"]


def test_a_lane_not_taken_neither_raises_nor_warns_nor_poisons() -> None:
    table = np.arange(3.0)

    def looked_up(i: Any) -> Any:
        return lax.cond(i < 3, lambda i: fnp.asarray(table)[i], lambda i: -1.0, i)

    def logarithm(x: Any) -> Any:
        return lax.cond(x > 0, lambda x: fnp.log(x) + fnp.sqrt(x), lambda x: 2.0 * x, x)

    i, x = np.array([0, 2, 7]), np.array([-1.0, 0.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for transform in (lambda f: f, fgrad.jit):
            close(transform(fgrad.vmap(looked_up))(i), [0.0, 2.0, -1.0])
            close(transform(fgrad.vmap(logarithm))(x), [-2.0, 0.0, np.log(4.0) + 2.0])
            first = np.array([2.0, 2.0, 0.5])
            close(transform(fgrad.vmap(fgrad.grad(logarithm)))(x), first)
            close(transform(fgrad.grad(lambda x: fgrad.vmap(logarithm)(x).sum()))(x), first)
            second = [0.0, 0.0, -1 / 16 - 1 / 32]
            close(transform(fgrad.vmap(fgrad.grad(fgrad.grad(logarithm))))(x), second)
            close(transform(fgrad.vmap(fgrad.jacfwd(logarithm)))(x), first)


def doubled_to_50(x: Any) -> Any:
    return lax.while_loop(lambda c: c < 50.0, lambda c: c * 2.0, x)


NEVER_ENDING_ELSEWHERE: dict[str, Callable[[Any], Any]] = {
    "while_loop": doubled_to_50,
    "scan": lambda x: lax.scan(lambda c, _: (doubled_to_50(c * 0.1), None), x, None, length=2)[0],
    "cond": lambda x: lax.cond(x > 5.0, doubled_to_50, doubled_to_50, x),
    "checkpoint": lambda x: fgrad.checkpoint(doubled_to_50)(x),
    "custom_linear_solve": lambda x: lax.custom_linear_solve(
        lambda y: 2.0 * y, x, lambda mv, b: doubled_to_50(b), symmetric=True
    ),
}


@pytest.mark.parametrize("name", NEVER_ENDING_ELSEWHERE)
def test_a_loop_ends_in_lanes_not_taken(name: str) -> None:
    f = NEVER_ENDING_ELSEWHERE[name]

    def chosen(x: Any) -> Any:
        # For numbers that are not positive, the loop would double for ever.
        return lax.cond(x > 0.0, f, lambda x: -x, x)

    x = np.array([3.0, -1.0, 0.0, 7.0])
    want = np.array([float(f(3.0)), 1.0, 0.0, float(f(7.0))])
    close(fgrad.vmap(chosen)(x), want)
    close(fgrad.jit(fgrad.vmap(chosen))(x), want)
    pushed = fgrad.jvp(fgrad.vmap(chosen), (x,), (np.ones(4),))[1]
    close(pushed, [fgrad.jvp(chosen, (v,), (1.0,))[1] for v in x])


def test_an_inner_loop_ends_in_lanes_that_are_done() -> None:
    def outer(n: Any) -> Any:
        def step(c: Any) -> Any:
            # With c[0] of zero, which is where the outer loop ends, this one would not end.
            return c[0] - 1, lax.while_loop(lambda d: d % 4 < 4 - c[0], lambda d: d + c[0], c[1])

        return lax.while_loop(lambda c: c[0] > 0, step, (n, 0))[1]

    n = np.array([0, 1, 2, 3])
    want = np.array([int(outer(int(k))) for k in n])
    close(fgrad.vmap(outer)(n), want)
    close(fgrad.jit(fgrad.vmap(outer))(n), want)


def test_a_function_with_a_rule_does_not_raise_in_lanes_not_taken() -> None:
    table = np.arange(3.0)

    @fgrad.custom_jvp
    def scaled(i: Any, x: Any) -> Any:
        return fnp.asarray(table)[i] * x

    @scaled.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return scaled(*primals), fnp.asarray(table)[primals[0]] * tangents[1]

    def chosen(i: Any, x: Any) -> Any:
        return lax.cond(i < 3, scaled, lambda i, x: x, i, x)

    i, x = np.array([2, 7]), np.array([2.0, 3.0])
    close(fgrad.vmap(chosen)(i, x), [4.0, 3.0])
    close(fgrad.vmap(fgrad.grad(chosen, 1))(i, x), [2.0, 1.0])


def test_lanes_that_are_done_neither_raise_nor_warn() -> None:
    table = np.arange(4.0)

    def walk(n: Any, x: Any) -> Any:
        def step(c: Any) -> Any:
            k, x = c
            return k + 1, fnp.sqrt(x - 1.0) + fnp.asarray(table)[k]

        return lax.while_loop(lambda c: c[0] < n, step, (0, x))[1]

    n, x = np.array([1, 0, 3]), np.array([2.0, 0.0, 50.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        want = [walk(int(k), float(v)) for k, v in zip(n, x, strict=True)]
        close(fgrad.vmap(walk)(n, x), np.array([float(w) for w in want]))
        close(fgrad.jit(fgrad.vmap(walk))(n, x), np.array([float(w) for w in want]))

    def in_python(x: Any, n: int) -> Any:
        for k in range(n):
            x = fnp.sqrt(x - 1.0) + table[k]
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slopes = [fgrad.grad(in_python)(float(v), int(k)) for k, v in zip(n, x, strict=True)]
        pushed = fgrad.jvp(lambda x: fgrad.vmap(walk)(n, x), (x,), (np.ones(3),))[1]
        close(pushed, np.array([float(s) for s in slopes]))


# ---- while loops ---------------------------------------------------------------------------------


def until_50(x: Any) -> Any:
    return lax.while_loop(lambda c: c < 50.0, lambda c: c * 2.0 + fnp.sin(x), x)


def counted(n: Any) -> Any:
    return lambda x: lax.fori_loop(0, n, lambda i, c: c * 2.0, x)


def with_rule(f: Any) -> Any:
    wrapped = fgrad.custom_jvp(f)
    wrapped.defjvp(lambda primals, tangents: fgrad.jvp(f, primals, tangents))
    return wrapped


WRAPPERS = {
    "plain": lambda f: f,
    "jit": fgrad.jit,
    "checkpoint": fgrad.checkpoint,
    "call in vmap": lambda f: lambda x: fgrad.vmap(f)(fnp.stack([x, x])).sum(),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    "cond": lambda f: lambda x: lax.cond(x > 0.0, f, lambda x: x, x),
    "custom_jvp": with_rule,
    "jvp": lambda f: lambda x: fgrad.jvp(f, (x,), (x,))[1],
    "linearize": lambda f: lambda x: fgrad.linearize(f, x)[1](x),
}
HERE = os.path.basename(__file__)
REVERSES = {
    "grad": fgrad.grad,
    "vjp": lambda f: lambda x: fgrad.vjp(f, x)[1](1.0),
    "jacrev": fgrad.jacrev,
    "hessian": fgrad.hessian,
    "value_and_grad": fgrad.value_and_grad,
    "transpose": lambda f: lambda x: fgrad.linear_transpose(fgrad.linearize(f, x)[1], x)(1.0),
}


@pytest.mark.parametrize("within", WRAPPERS)
def test_reverse_mode_of_a_while_loop_is_refused_everywhere_alike(within: str) -> None:
    f = WRAPPERS[within](until_50)
    for reverse in REVERSES.values():
        for around in (lambda g: g, fgrad.jit, lambda g: lambda x: fgrad.vmap(g)(x[None])):
            with pytest.raises(error_class("UnboundedLoopError", ValueError)) as caught:
                around(reverse(f))(np.float64(3.0))
            message = str(caught.value)
            assert message.startswith(f"reverse mode of while_loop, of <lambda> at {HERE}:"), (
                message
            )
            for word in ("lax.scan", "fori_loop", "custom_root", "custom_vjp"):
                assert word in message


def test_reverse_mode_of_a_loop_of_unknown_bounds_is_refused_by_its_name() -> None:
    def slope(n: Any, x: Any) -> Any:
        return fgrad.grad(counted(n))(x)

    close(slope(3, 2.0), 8.0)
    close(fgrad.jit(slope, static_argnums=0)(3, 2.0), 8.0)
    with pytest.raises(error_class("UnboundedLoopError", ValueError)) as caught:
        fgrad.jit(slope)(3, 2.0)
    for word in ("reverse mode of fori_loop", "unknown while tracing", "(<lambda>)", "lax.scan"):
        assert word in str(caught.value)
    close(fgrad.jit(lambda n, x: fgrad.jvp(counted(n), (x,), (1.0,))[1])(3, 2.0), 8.0)


@pytest.mark.parametrize("within", [w for w in WRAPPERS if w not in ("custom_jvp", "jvp", "cond")])
def test_a_while_loop_that_no_cotangent_reaches_is_fine(within: str) -> None:
    """Its carries have no tangent, or what becomes of them has no derivative."""
    wrap = WRAPPERS[within]

    def counter(x: Any) -> Any:
        n, _ = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2.0), (0, 1.0))
        return x**n

    def stopped_before(x: Any) -> Any:
        return x * x * until_50(lax.stop_gradient(x)) / lax.stop_gradient(until_50(x))

    def side_by_side(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return (c[0] * 1.5, until_50(c[1])), None

        return lax.scan(step, (x, x), None, length=3)[0][0]

    for f, slope in ((counter, lambda x: 3 * x**2), (stopped_before, lambda x: 2 * x)):
        got = fgrad.grad(f)(1.3)
        close(got, slope(1.3))
        if within in ("plain", "jit", "checkpoint"):
            close(fgrad.grad(wrap(f))(1.3), slope(1.3))
            close(fgrad.jit(fgrad.grad(wrap(f)))(1.3), slope(1.3))
        near(fgrad.grad(wrap(f))(1.3), gradient(wrap(f), np.float64(1.3)))
    close(fgrad.grad(wrap(side_by_side) if within == "jit" else side_by_side)(1.3), 1.5**3)
    _, aux = fgrad.grad(lambda x: (x * x, wrap(until_50)(x)), has_aux=True)(3.0)
    close(aux, wrap(until_50)(3.0))


def test_the_transpose_of_a_loop_that_would_not_end_at_zeros_is_refused() -> None:
    def f(x: Any) -> Any:
        return lax.while_loop(lambda c: c < 9.0, lambda c: c * 2.0, x)

    with pytest.raises(error_class("UnboundedLoopError", ValueError)):
        fgrad.linear_transpose(f, 1.0)(1.0)


def test_a_while_loop_of_unknown_length_is_linearized_beside_its_steps() -> None:
    def both(x: Any) -> Any:
        value, push = fgrad.linearize(until_50, x)
        return value, push(1.0), push(-2.0)

    want = fgrad.jvp(until_50, (3.0,), (1.0,))
    for call in (both, fgrad.jit(both)):
        value, one, other = call(3.0)
        close(value, want[0])
        close(one, want[1])
        close(other, -2.0 * want[1])
    near(want[1], gradient(until_50, np.float64(3.0)))
    x = np.array([3.0, 20.0, 80.0])
    values, slopes, _ = fgrad.vmap(both)(x)
    pairs = [fgrad.jvp(until_50, (v,), (1.0,)) for v in x]
    close(values, np.array([float(v) for v, _ in pairs]))
    close(slopes, np.array([float(s) for _, s in pairs]))

    def in_scan(c: Any, x: Any) -> Any:
        return c, fgrad.linearize(until_50, x)[1](c)

    close(lax.scan(in_scan, 1.0, x)[1], slopes)


def test_mapped_bounds() -> None:
    lower, upper = np.array([0, 2, 5]), np.array([3, 2, 7])

    def f(lo, hi):
        return lax.fori_loop(lo, hi, lambda i, c: (c[0] + i, c[1] * 2.0), (0, 1.0))

    for transform in (fgrad.vmap, lambda f: fgrad.jit(fgrad.vmap(f))):
        sums, powers = transform(f)(lower, upper)
        close(sums, [3, 0, 11])
        close(powers, [8.0, 1.0, 4.0])


# ---- what loops keep and compute -----------------------------------------------------------------


def residual_shapes(pullback: Any) -> list[tuple[int, ...]]:
    """The shapes of what loops keep for the backward pass."""
    nodes = [node for node in pullback._trace.nodes if node is not None and len(node) == 3]
    return sorted(np.shape(r) for node in nodes for r in node[0].residuals)


def test_a_cumulative_sum_keeps_nothing() -> None:
    _, pullback = fgrad.vjp(lambda x: lax.scan(lambda c, x: (c + x, c), fnp.zeros(3), x), XS)
    assert residual_shapes(pullback) == []


def test_constants_are_kept_once_and_carries_as_they_came_out() -> None:
    def final(h: Any, w: Any) -> Any:
        return lax.scan(lambda h, x: (fnp.tanh(h @ w + x), None), h, XS)[0]

    # The weights, the first carry, and the carries as each step gave them out, twice the same array.
    _, pullback = fgrad.vjp(final, A, W)
    assert residual_shapes(pullback) == [(3,), (3, 3), (4, 3), (4, 3)]
    loop = next(n[0] for n in pullback._trace.nodes if n is not None and len(n) == 3)
    stacked = [r for r in loop.residuals if np.shape(r) == (4, 3)]
    assert stacked[0] is stacked[1]


def test_a_checkpoint_in_a_body_keeps_carries_alone() -> None:
    def step(h: Any, x: Any) -> Any:
        return fnp.tanh(fnp.sin(fnp.cos(h) * x) @ W), None

    def final(h: Any, step: Any) -> Any:
        return lax.scan(step, h, XS)[0]

    _, plain = fgrad.vjp(lambda h: final(h, step), A)
    _, checkpointed = fgrad.vjp(lambda h: final(h, fgrad.checkpoint(step)), A)
    assert len(residual_shapes(checkpointed)) < len(residual_shapes(plain))
    # The rows are the user's own array.
    assert residual_shapes(checkpointed).count((4, 3)) == 2


def test_memory_of_the_backward_pass() -> None:
    x = np.ones((200, 1000))
    # Read-only: of an array that somebody could write to, a copy is kept.
    w = fnp.ones((1000, 1000))

    def kept(f: Callable[..., Any]) -> int:
        f(x[:2])
        tracemalloc.start()
        _, pullback = fgrad.vjp(f, x)
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        del pullback
        return size

    assert kept(lambda x: lax.scan(lambda c, x: (c + x, None), fnp.zeros(1000), x)[0]) < 100_000
    with_weights = kept(
        lambda x: lax.scan(lambda c, x: (0.001 * (c @ w) + x, None), fnp.zeros(1000), x)[0]
    )
    assert with_weights < 100_000


def test_nothing_is_computed_again_in_the_backward_pass() -> None:
    counts: dict[str, int] = {}

    def count(jaxpr: Any, times: int) -> None:
        for eqn in jaxpr.eqns:
            name = eqn.primitive.name
            counts[name] = counts.get(name, 0) + times
            for sub in sub_jaxprs(eqn.primitive):
                count(sub, times * getattr(eqn.primitive, "length", 1))

    def loss(h: Any) -> Any:
        return lax.scan(lambda h, x: (fnp.exp(fnp.sin(h) * x), None), h, XS)[0].sum()

    count(fgrad.make_jaxpr(fgrad.grad(loss))(A), 1)
    assert counts["sin"] == counts["exp"] == len(XS)
    # The slope of the sine is no part of the forward pass.
    assert counts["cos"] == len(XS)


def test_what_is_the_same_at_every_step_is_computed_once() -> None:
    def f(w: Any) -> Any:
        return lax.scan(lambda h, x: (h @ fnp.exp(w) + x, None), A, XS)[0]

    jaxpr = fgrad.make_jaxpr(f)(W)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["exp", "scan"]


def test_results_that_nobody_reads_are_not_computed() -> None:
    def f(x: Any) -> Any:
        (_, b), _ys = lax.scan(lambda c, x: ((fnp.sin(c[0]), c[1] + x), fnp.exp(c[0])), (A, A), x)
        return b

    text = str(fgrad.make_jaxpr(f)(XS))
    assert "sin" not in text
    assert "exp" not in text


def test_no_tracer_outlives_a_loop() -> None:
    kept: list[Any] = []

    def step(c: Any, x: Any) -> Any:
        kept.append(c)
        return c + x, c

    lax.scan(step, 0.0, np.arange(3.0))
    with pytest.raises(fgrad.errors.LeakedTracerError, match="scan of step"):
        kept[0] + 1.0
    assert fgrad.tracing._open_body.get() is None


# ---- errors --------------------------------------------------------------------------------------


def test_a_carry_that_changes_is_shown_side_by_side() -> None:
    def step(c: Any, x: Any) -> Any:
        return {"p": c["p"].astype(np.float32), "r": (c["r"][0], fnp.stack([x, x]))}, None

    with pytest.raises(fgrad.errors.CarryTypeError) as caught:
        lax.scan(step, {"p": np.ones(2), "r": (1, fnp.zeros(()))}, np.ones(3))
    message = str(caught.value)
    assert "step (test_control_flow_rules.py" in message
    rows = [line.split() for line in message.splitlines() if "carry[" in line]
    assert rows[0] == ["carry['p']", "float64[2]", "float32[2]", "<--", "differs"]
    assert rows[1] == ["carry['r'][0]", "Python", "int", "Python", "int"]
    assert rows[2] == ["carry['r'][1]", "float64", "scalar", "float64[2]", "<--", "differs"]


def test_a_carry_of_another_structure_is_shown_side_by_side() -> None:
    with pytest.raises(fgrad.errors.CarryTypeError) as caught:
        lax.fori_loop(0, 2, lambda i, c: {"p": c["p"], "q": c["p"]}, {"p": fnp.zeros(2)})
    message = str(caught.value)
    assert "carry['q']" in message
    assert "(missing)" in message
    assert "{'p': *}" in message
    assert "{'p': *, 'q': *}" in message


@pytest.mark.parametrize("known", [True, False])
def test_branches_that_differ_are_shown_side_by_side(known: bool) -> None:
    def choose(p: Any) -> Any:
        return lax.cond(p, lambda x: (x, x.sum()), lambda x: (x[:2], 0), A)

    with pytest.raises(fgrad.errors.BranchTypeError) as caught:
        choose(True) if known else fgrad.jit(choose)(True)
    message = str(caught.value)
    assert "float64[3]" in message
    assert "float64[2]" in message
    assert "result[0]" in message
    assert "differs" in message
    assert "true_fun" in message
    assert "false_fun" in message
    assert "test_control_flow_rules.py" in message


CHOOSERS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f,
    "jit": fgrad.jit,
    "vmap": lambda f: lambda p: fgrad.vmap(f)(np.array([p, p])),
    "grad": lambda f: lambda p: fgrad.jvp(lambda x: f(p), (1.0,), (1.0,))[0],
    "in scan": lambda f: lambda p: lax.scan(lambda c, x: (c, f(x)), 0.0, np.array([p, p]))[1],
}
HALF, ONE = np.float32(0.5), np.float64(1.0)
#: Branches, their operand, and the dtype of the result; None where they disagree.
WEAK_RESULTS: dict[str, tuple[Any, Any, Any, Any]] = {
    "a float for float32": (lambda x: x, lambda x: 0.0, HALF, "float32"),
    "an int for float32": (lambda x: x, lambda x: 1, HALF, "float32"),
    "a float for a weak float": (lambda x: x * 2.0, lambda x: 0.0, 1.5, "float64"),
    "an int for a weak float": (lambda x: x * 2.0, lambda x: 0, 1.5, "float64"),
    "a weak float64 for float64": (lambda x: x * 2.0, lambda x: ONE, 1.5, "float64"),
    "a float for an integer": (lambda x: x, lambda x: 0.5, np.int32(1), None),
    "an operand for float32": (lambda x: HALF, lambda x: x, 1.5, None),
    "a computed number for float32": (lambda x: HALF, lambda x: x * 2.0, 1.5, None),
    "a weak array for float32": (
        lambda x: x.astype("float32"),
        lambda x: x,
        fnp.asarray(1.0),
        None,
    ),
    "a computed int for float32": (lambda x: HALF, lambda x: x + 1, 2, None),
    "an int for a float, both numbers": (lambda x: 1, lambda x: 1.0, ONE, None),
}


@pytest.mark.parametrize("transform", CHOOSERS)
@pytest.mark.parametrize("case", WEAK_RESULTS)
@pytest.mark.parametrize("pick", [True, False])
def test_numbers_in_branches_follow_one_rule(case: str, transform: str, pick: bool) -> None:
    one, other, operand, dtype = WEAK_RESULTS[case]
    for choose in (
        lambda p: lax.cond(p, one, other, operand),
        lambda p: lax.switch(p * 1, [other, one, lambda x: other(x)], operand),
    ):
        call = CHOOSERS[transform](choose)
        if dtype is None:
            with pytest.raises(fgrad.errors.BranchTypeError, match="astype") as caught:
                call(pick)
            assert "result" in str(caught.value)
            assert "<-- differs" in str(caught.value)
            continue
        got = call(pick)
        assert got.dtype == dtype
        close(got, np.broadcast_to(np.asarray((one if pick else other)(operand), dtype), got.shape))


def test_only_what_differs_is_marked() -> None:
    with pytest.raises(fgrad.errors.BranchTypeError) as caught:
        lax.cond(True, lambda x: (x, x * 1), lambda x: (0.0, 1.5 * ONE), HALF)
    rows = {line.split()[0]: line for line in str(caught.value).splitlines() if "result[" in line}
    assert "differs" not in rows["result[0]"]
    assert "differs" in rows["result[1]"]
    with pytest.raises(fgrad.errors.CarryTypeError) as caught:
        lax.scan(lambda c, x: ((c[0] * HALF, c[1] * ONE), None), (0.0, HALF), None, length=2)
    rows = {line.split()[0]: line for line in str(caught.value).splitlines() if "carry[" in line}
    assert "differs" not in rows["carry[0]"]
    assert "differs" in rows["carry[1]"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.scan(lambda c, x: c, 0.0, np.ones(3)), "ArgumentError", "pair"),
        (lambda: lax.scan(lambda c, x: (c, x), 0.0), "LoopLengthError", "give length"),
        (lambda: lax.scan(lambda c, x: (c, x), 0.0, 1.0), "LoopLengthError", "scalar"),
        (
            lambda: lax.scan(lambda c, x: (c, x), 0.0, np.ones(3), length=4),
            "LoopLengthError",
            "length is 4",
        ),
        (lambda: lax.scan(lambda c, x: (c, x), 0.0, None, length=-1), "LoopLengthError", "-1"),
        (lambda: lax.scan(lambda c, x: (c, x), 0.0, None, length=1.5), "ArgumentError", "1.5"),
        (lambda: lax.scan(3, 0.0, np.ones(3)), "ArgumentError", "function"),
        (
            lambda: lax.while_loop(lambda c: c, lambda c: c, 1.0),
            "PredicateTypeError",
            "Python float",
        ),
        (
            lambda: lax.while_loop(lambda c: (c < 1, c), lambda c: c, 1.0),
            "PredicateTypeError",
            "tuple",
        ),
        (lambda: lax.cond(np.ones(2) > 0, lambda: 1, lambda: 2), "PredicateTypeError", "bool"),
        (lambda: lax.switch(1.5, [lambda: 1, lambda: 2]), "PredicateTypeError", "float"),
        (lambda: lax.switch(0, []), "ArgumentError", "empty"),
        (lambda: lax.fori_loop(0, 2.5, lambda i, c: c, 0), "IndexTypeError", "upper"),
        (lambda: lax.map(lambda x: x, np.ones(3), batch_size=0), "ArgumentError", "batch_size"),
    ],
)
def test_what_is_refused(call: Callable[[], Any], error: str, words: str) -> None:
    with pytest.raises(getattr(fgrad.errors, error)) as caught:
        call()
    assert words in str(caught.value)
    assert "test_control_flow_rules.py" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("scan", lambda f: lax.scan(lambda c, x: (f(c), x), 1.0, np.ones(3))),
        ("while_loop", lambda f: lax.while_loop(lambda c: True, f, 1.0)),
        ("fori_loop", lambda f: lax.fori_loop(0, 3, lambda i, c: f(c), 1.0)),
        (
            "fori_loop",
            lambda f: fgrad.jit(lambda n: lax.fori_loop(0, n, lambda i, c: f(c), 1.0))(3),
        ),
    ],
)
def test_a_carry_is_shown_under_the_name_of_what_was_called(
    name: str, call: Callable[[Any], Any]
) -> None:
    with pytest.raises(fgrad.errors.CarryTypeError) as caught:
        call(lambda c: (c, c))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{name} of ")
    rows = [line.split() for line in lines if line.strip().startswith("carry")]
    assert rows[0] == ["carry", "Python", "float", "(missing)", "<--", "differs"]
    assert rows[1] == ["carry[0]", "(missing)", "Python", "float", "<--", "differs"]


def test_executables_with_loops_pickle() -> None:
    def f(x: Any) -> Any:
        total, _ = lax.scan(lambda c, x: (c + fnp.sin(x), None), 0.0, x)
        return lax.cond(total > 0.0, lambda t: t * 2.0, lambda t: t, total)

    x = np.array([0.5, 1.0])
    loaded = pickle.loads(pickle.dumps(fgrad.jit(f).lower(x).compile()))
    close(loaded(x), f(x))


def test_threads_share_bodies() -> None:
    found: list[float] = []

    def work(scale: float) -> None:
        for _ in range(10):
            slope = fgrad.grad(
                lambda x: lax.scan(lambda c, y: (fnp.sin(c * x) + y, None), x, scale * A)[0]
            )
            found.append(float(slope(0.3)) - want[scale])

    def unrolled(x: Any, scale: float) -> Any:
        c = x
        for y in scale * A:
            c = fnp.sin(c * x) + y
        return c

    want = {s: float(fgrad.grad(unrolled)(0.3, s)) for s in (1.0, 2.0, 3.0)}
    threads = [threading.Thread(target=work, args=(s,)) for s in want]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 30
    close(found, np.zeros(30))


def test_derived_programs_are_made_once_for_equal_bodies() -> None:
    def body_of() -> Any:
        jaxpr = fgrad.make_jaxpr(lambda x: lax.scan(lambda c, x: (c * x, c), 1.0, x))(A)
        return sub_jaxprs(jaxpr.eqns[0].primitive)[0]

    assert body_of() is body_of()


def test_a_branch_on_an_unknown_value_in_a_body_says_what_to_use() -> None:
    with pytest.raises(fgrad.errors.TracerBoolConversionError) as caught:
        lax.scan(lambda c, x: (c if c > 0 else x, None), 0.0, np.ones(3))
    for word in ("lax.cond", "lax.while_loop", "where", "scan of <lambda>", "from argument c,"):
        assert word in str(caught.value)
