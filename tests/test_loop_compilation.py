"""Loops in compiled functions: statements of their own, split where steps do not depend on each other."""

from __future__ import annotations

import gc
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.gradients import close

import fgrad
import fgrad.numpy as fnp
from fgrad import lax
from fgrad.compiler import compiled
from fgrad.compiler.pieces import join_pieces
from fgrad.ir.jaxpr import Jaxpr, sub_jaxprs

rng = np.random.default_rng(0)
STEPS, ROWS, WIDTH = 6, 3, 4
XS = rng.standard_normal((STEPS, ROWS, WIDTH))
W = 0.5 * rng.standard_normal((WIDTH, WIDTH))
U = 0.5 * rng.standard_normal((WIDTH, WIDTH))
START = rng.standard_normal((ROWS, WIDTH))


@pytest.fixture(autouse=True)
def checked_programs() -> Any:
    before = fgrad.config.check_jaxprs
    fgrad.config.update("check_jaxprs", True)
    yield
    fgrad.config.update("check_jaxprs", before)


def source_of(f: Callable[..., Any], *args: Any) -> str:
    return fgrad.jit(f).lower(*args).source


def executed(f: Callable[..., Any], *args: Any) -> dict[str, int]:
    """How often each primitive runs in the compiled function."""
    counts: dict[str, int] = {}

    def count(jaxpr: Any, times: int) -> None:
        for eqn in jaxpr.eqns:
            counts[eqn.primitive.name] = counts.get(eqn.primitive.name, 0) + times
            for body in sub_jaxprs(eqn.primitive):
                count(body, times * getattr(eqn.primitive, "length", 1))

    count(compiled(fgrad.jit(f).lower(*args).jaxpr).simplified, 1)
    return counts


def lines_in_loops(source: str) -> str:
    """The statements that are inside of a loop."""
    inside, margin = [], None
    for line in source.splitlines():
        indent = len(line) - len(line.lstrip())
        if margin is not None and indent <= margin:
            margin = None
        if margin is not None:
            inside.append(line)
        elif line.lstrip().startswith(("for ", "while ")):
            margin = indent
    return "\n".join(inside)


# ---- statements ----------------------------------------------------------------------------------


def test_a_loop_is_a_loop_of_the_generated_code() -> None:
    def f(h: Any, xs: Any) -> Any:
        return lax.scan(lambda h, x: (fnp.tanh(h @ U) + x, fnp.sum(h)), h, xs)

    source = source_of(f, START, XS)
    assert "for " in source
    assert "scan(" not in source
    assert "dot(" in lines_in_loops(source)


def test_results_are_written_where_they_lie() -> None:
    def f(h: Any) -> Any:
        return lax.scan(lambda h, _: (h * 0.5, fnp.tanh(h)), h, None, 3)

    source = source_of(f, np.ones((16, 64)))
    assert "np.tanh(" in lines_in_loops(source)
    assert "out=" in lines_in_loops(source)


def test_a_while_loop_and_branches_are_statements() -> None:
    def f(x: Any) -> Any:
        x = lax.while_loop(lambda x: x < 100.0, lambda x: 2.0 * x, x)
        x = lax.cond(x > 150.0, lambda x: x - 1.0, lambda x: x + 1.0, x)
        return lax.switch(fnp.int32(x) % 3, [lambda x: x, lambda x: 2.0 * x, lambda x: 3.0 * x], x)

    source = source_of(f, np.float64(3.0))
    for word in ("while ", "if ", "elif ", "else:"):
        assert word in source
    for x in (3.0, 5.0, 7.0, 150.0):
        close(fgrad.jit(f)(np.float64(x)), f(x))


def test_numbers_of_a_counted_loop_are_those_of_python() -> None:
    source = source_of(lambda c: lax.fori_loop(2, 9, lambda i, c: c + i, c), np.float32(0.0))
    assert ".tolist()" in source
    assert "convert" not in source
    answer = fgrad.jit(lambda c: lax.fori_loop(2, 9, lambda i, c: c + i, c))(np.float32(0.0))
    assert answer.dtype == np.float32
    assert answer == sum(range(2, 9))


def test_two_loops_of_one_body_share_no_variables() -> None:
    def step(c: Any, x: Any) -> Any:
        return c * x + 1.0, c

    def f(a: Any, xs: Any) -> Any:
        first, ys = lax.scan(step, a, xs)
        second, zs = lax.scan(step, first * 2.0, xs)
        return first, ys, second, zs, lax.scan(lambda c, x: (lax.scan(step, c, xs)[0], c), a, xs)

    args = START, XS[:3]
    for got, want in zip(
        fgrad.tree.leaves(fgrad.jit(f)(*args)), fgrad.tree.leaves(f(*args)), strict=True
    ):
        close(got, want)


def test_results_have_memory_of_their_own() -> None:
    def f(a: Any, b: Any, xs: Any) -> Any:
        (c, d), (ys, zs) = lax.scan(lambda c, x: ((c[1], c[0]), (x, c[0])), (a, b), xs)
        same = lax.while_loop(lambda c: c[0, 0] > 1e9, lambda c: c + 1.0, a)
        either = lax.cond(a[0, 0] > 0.0, lambda a, b: a, lambda a, b: b, a, b)
        return c, d, ys, zs, same, either

    a, b, xs = START.copy(), START.copy() + 1.0, XS.copy()
    got = fgrad.jit(f)(a, b, xs)
    want = [np.array(r) for r in got]
    for given in (a, b, xs):
        given[...] = 77.0
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)
        assert not one.flags.writeable


def test_effects_keep_their_order() -> None:
    seen: list[str] = []

    def note(text: str) -> Callable[[Any], None]:
        return lambda x: seen.append(f"{text}{float(x):g}")

    def f(x: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            fgrad.debug.callback(note("step"), x)
            c = lax.cond(
                x > 1.0, lambda c: fgrad.debug.callback(note("big"), c) or c, lambda c: c, c
            )
            return c + x, None

        return lax.scan(step, 0.0, x)[0]

    assert fgrad.jit(f)(np.array([1.0, 2.0, 3.0])) == 6.0
    assert seen == ["step1", "step2", "big1", "step3", "big3"]


def test_forward_values_warn_and_derivatives_do_not() -> None:
    def f(x: Any) -> Any:
        return lax.scan(lambda c, x: (c + fnp.log(x) * c, c), 1.0, x)[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            fgrad.jit(f)(np.array([1.0, 0.0]))
        smooth = fgrad.grad(lambda x: lax.scan(lambda c, x: (c * fnp.sqrt(x), None), 1.0, x)[0])
        assert not np.isfinite(fgrad.jit(smooth)(np.array([1.0, 0.0]))).all()


def test_an_index_out_of_range_in_a_loop_names_the_line() -> None:
    table = np.arange(5.0)

    def f(places: Any) -> Any:
        return lax.scan(lambda c, i: (c + fnp.asarray(table)[i], c), 0.0, places)[0]

    with pytest.raises(IndexError, match=r"test_loop_compilation\.py"):
        fgrad.jit(f)(np.array([1, 2, 9]))


def test_long_bodies_are_functions_of_their_own() -> None:
    def step(c: Any, x: Any) -> Any:
        for _ in range(600):
            c = fnp.sin(c) + x
        return c, c

    xs = np.linspace(0.0, 1.0, 3)
    source = source_of(lambda x: lax.scan(step, 0.1, x), xs)
    assert "scan(" in source
    got, want = fgrad.jit(lambda x: lax.scan(step, 0.1, x))(xs), 0.1
    for x in xs:
        want, _ = step(want, x)
    close(got[0], np.float64(want))


def test_loops_in_32_bit_mode_and_under_debug_nans() -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) + i, x).sum()

    want = fgrad.jit(fgrad.grad(f))(START)
    fgrad.config.update("fgrad_enable_x64", False)
    try:
        narrow = fgrad.jit(fgrad.grad(f))(START)
    finally:
        fgrad.config.update("fgrad_enable_x64", True)
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, want, rtol=1e-5)
    fgrad.config.update("fgrad_debug_nans", True)
    try:
        close(fgrad.jit(fgrad.grad(f))(START), want)
        with np.errstate(invalid="ignore"), pytest.raises(fgrad.errors.NanError):
            fgrad.jit(lambda x: lax.scan(lambda c, x: (c + fnp.log(x), c), 0.0, x))(-np.ones(2))
    finally:
        fgrad.config.update("fgrad_debug_nans", False)


# ---- NaN of products -----------------------------------------------------------------------------


def zero_meets_infinity(x: Any) -> Any:
    return lax.scan(lambda c, x: (c + fnp.where(x > 0.0, fnp.sqrt(x), 0.0), c), 0.0, x)[0]


def zero_meets_infinity_in_results(x: Any) -> Any:
    ys = lax.scan(lambda c, x: (0.5 * c, fnp.where(x > 0.0, fnp.sqrt(x), c)), 1.0, x)[1]
    return fnp.sum(ys * ys)


def nan_that_a_later_step_drops(x: Any) -> Any:
    """The NaN of a step goes to a carry that the next one overwrites."""

    def step(c: Any, x: Any) -> Any:
        return fnp.where(c > 0.0, fnp.sqrt(c), 0.0) * 0.0 + x, c * x

    _, ys = lax.scan(step, x[0] * 0.0, x)
    return fnp.sum(ys)


def nan_that_would_choose_a_branch(x: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = c + fnp.where(x > 0.0, fnp.sqrt(x), 0.0)
        return lax.cond(c > 1.0, lambda c: c * x, lambda c: c + x, c), c

    return lax.scan(step, 0.0, x)[0]


def matrices(x: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = fnp.where(x > 0.0, fnp.sqrt(x), 0.0) @ W + h
        return h, h

    return fnp.sum(lax.scan(step, fnp.zeros(WIDTH), fnp.outer(x, fnp.ones(WIDTH)))[1])


GUARDED = [
    zero_meets_infinity,
    zero_meets_infinity_in_results,
    nan_that_a_later_step_drops,
    nan_that_would_choose_a_branch,
    matrices,
]


@pytest.mark.parametrize("f", GUARDED)
@pytest.mark.parametrize("points", [[0.0, 1.0, 0.0, 4.0], [1.0, 2.0, 3.0, 4.0]])
def test_a_zero_absorbs_an_infinite_slope_in_a_loop(f: Any, points: list[float]) -> None:
    x = np.array(points)
    for transform in (fgrad.grad, lambda f: lambda x: fgrad.jvp(f, (x,), (x + 1.0,))[1]):
        got = fgrad.jit(transform(f))(x)
        assert np.isfinite(got).all()
        # Without compilation every product is guarded by itself.
        with fgrad.disable_jit():
            want = transform(f)(x)
        close(got, want)


def test_no_step_looks_for_nan_that_shows_at_the_end() -> None:
    def loss(w: Any) -> Any:
        return fnp.sum(lax.scan(lambda h, x: (fnp.tanh(h @ w + x), None), START, XS)[0])

    source = source_of(fgrad.grad(loss), U)
    assert "return None" in source
    assert "return None" not in lines_in_loops(source)


# ---- loops split ---------------------------------------------------------------------------------


def rnn(xp: Any, lax: Any) -> Callable[..., Any]:
    def loss(w: Any, u: Any, b: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = xp.tanh(x @ w + h @ u + b)
            return h, h

        return xp.sum(lax.scan(step, xp.asarray(START), xs)[1] ** 2)

    return loss


def test_products_that_need_no_carry_are_one_product() -> None:
    args = W, U, W[0], XS
    forward = executed(rnn(fnp, lax), *args)
    # Each step multiplies its carry; the inputs are multiplied at once.
    assert forward["dot_general"] == STEPS + 1
    # The bias joins the products before the loop.
    assert forward["add"] == STEPS + 1
    backward = executed(fgrad.grad(rnn(fnp, lax), (0, 1, 2)), *args)
    assert backward["dot_general"] == 2 * STEPS + 3
    want = jax.grad(rnn(jnp, jax.lax), (0, 1, 2))(*args)
    for got, expected in zip(
        fgrad.jit(fgrad.grad(rnn(fnp, lax), (0, 1, 2)))(*args), want, strict=True
    ):
        close(got, expected)


def accumulators(xp: Any, lax: Any) -> Callable[..., Any]:
    """Sums of products, of sums, of differences, of integers; in one of them the carry is read."""

    def f(w: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, total, product, difference, count, read = carry
            new = xp.tanh(h @ w) + x
            carry = (
                new,
                total + xp.sum(new, axis=0),
                product + x.T @ h,
                difference + (new.T @ x - (-(x.T @ x)).T),
                xp.sum(x > 0.0) + count,
                read + xp.sum(h) * 0.1,
            )
            return carry, (new @ w, read, xp.sum(x, axis=0))

        zero = xp.zeros((WIDTH, WIDTH))
        count = xp.zeros((), xp.int64)
        return lax.scan(step, (xp.asarray(START), xs[0, 0], zero + 1.0, zero, count, 1.0), xs)

    return f


def without_core(xp: Any, lax: Any) -> Callable[..., Any]:
    """Nothing depends on a carry: there is no loop left."""

    def f(w: Any, xs: Any) -> Any:
        def step(total: Any, x: Any) -> Any:
            y = xp.tanh(x @ w)
            return total + y.T @ x, (y, xp.sum(x))

        return lax.scan(step, xp.zeros((WIDTH, WIDTH)), xs)

    return f


def backwards(xp: Any, lax: Any) -> Callable[..., Any]:
    def f(w: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, last, total = carry
            new = xp.sin(h + x @ w)
            return (new, x * 2.0, total + h.T @ (x @ w)), (h, new @ w, last, x, w)

        start = xp.asarray(START)
        return lax.scan(step, (start, start, xp.zeros((WIDTH, WIDTH))), xs, reverse=True)

    return f


def within(xp: Any, lax: Any) -> Callable[..., Any]:
    """A loop in a loop, both of which can be split."""

    def f(w: Any, xs: Any) -> Any:
        def outer(c: Any, x: Any) -> Any:
            def inner(total: Any, row: Any) -> Any:
                return total + xp.outer(row, row @ w), row @ w

            total, ys = lax.scan(inner, xp.zeros((WIDTH, WIDTH)), x)
            return xp.tanh(c @ total + ys), total

        return lax.scan(outer, xp.asarray(START), xs)

    return f


SPLIT = [accumulators, without_core, backwards, within]


@pytest.mark.parametrize("program", SPLIT)
@pytest.mark.parametrize("length", [0, 1, 2, STEPS])
def test_split_loops_compute_what_jax_computes(program: Any, length: int) -> None:
    ours, theirs = program(fnp, lax), program(jnp, jax.lax)
    if program is accumulators and not length:
        return
    args = W, XS[:length]
    got, want = fgrad.jit(ours)(*args), jax.jit(theirs)(*args)
    for one, other in zip(fgrad.tree.leaves(got), jax.tree_util.tree_leaves(want), strict=True):
        close(one, other)

    def loss(f: Any, tree: Any, xp: Any) -> Callable[..., Any]:
        return lambda w, xs: sum(
            xp.sum(xp.sin(leaf)) for leaf in tree.leaves(f(w, xs)) if leaf.dtype.kind == "f"
        )

    got = fgrad.jit(fgrad.grad(loss(ours, fgrad.tree, fnp), (0, 1)))(*args)
    want = jax.grad(loss(theirs, jax.tree, jnp), (0, 1))(*args)
    for one, other in zip(got, want, strict=True):
        close(one, other)


def test_a_loop_without_a_carry_is_no_loop() -> None:
    source = source_of(without_core(fnp, lax), W, XS)
    assert "for " not in source
    assert executed(without_core(fnp, lax), W, XS)["dot_general"] == 2


def test_elementwise_work_on_long_rows_stays_in_the_loop() -> None:
    def f(xs: Any) -> Any:
        return lax.scan(lambda c, x: (fnp.tanh(c + fnp.exp(x)), None), xs[0], xs)[0]

    short, long = np.ones((5, 8)), np.ones((5, 4096))
    assert executed(f, short)["exp"] == 1
    assert executed(f, long)["exp"] == 5
    close(fgrad.jit(f)(long)[:8], fgrad.jit(f)(short))


def peak_of(f: Callable[..., Any], *args: Any) -> int:
    run = fgrad.jit(f)
    run(*args)
    tracemalloc.start()
    try:
        run(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_is_split_takes_no_more_memory_than_the_arrays_around_it() -> None:
    xs = rng.standard_normal((200, 300))
    square = 300 * 300 * 8

    def summed(xs: Any) -> Any:
        # One step makes a matrix, which no step keeps.
        return lax.scan(lambda c, x: (c + fnp.sum(fnp.outer(x, c * x) ** 2), None), 0.0, xs)[0]

    def mapped(xs: Any) -> Any:
        return lax.map(lambda x: fnp.sum(fnp.outer(x, x) ** 2), xs)

    for f in (summed, mapped):
        assert peak_of(f, xs) < 6 * square + 2 * xs.nbytes

    def gram(xs: Any) -> Any:
        return lax.scan(lambda c, x: (c + fnp.outer(x, x), None), fnp.zeros((300, 300)), xs)[0]

    assert peak_of(gram, xs) < 6 * square
    close(fgrad.jit(gram)(xs), xs.T @ xs)


def test_weight_gradients_are_sums_without_a_stack_of_products() -> None:
    steps, width = 50, 200
    w = rng.standard_normal((width, width)) / width

    def loss(w: Any) -> Any:
        start = fnp.ones((1, width))
        return fnp.sum(lax.scan(lambda h, _: (fnp.tanh(h @ w), None), start, None, steps)[0])

    gradient = fgrad.grad(loss)
    assert executed(gradient, w)["dot_general"] == 2 * steps + 1
    assert peak_of(gradient, w) < 4 * w.nbytes + 6 * steps * width * 8


# ---- pieces --------------------------------------------------------------------------------------


def gates(x: Any) -> Any:
    a, b, c = fnp.split(x, 3, axis=1)
    return fnp.sum(a * fnp.sin(b) * c)


def test_cotangents_of_all_slices_are_joined() -> None:
    x = rng.standard_normal((2, 6))
    assert "np.concatenate(" in source_of(fgrad.grad(gates), x)
    assert executed(fgrad.grad(gates), x).get("embed", 0) == 0
    close(fgrad.jit(fgrad.grad(gates))(x), fgrad.grad(gates)(x))


def test_cotangents_of_slices_that_overlap_or_leave_gaps_are_added() -> None:
    def overlapping(x: Any) -> Any:
        return fnp.sum(x[:4] * fnp.sin(x[2:]))

    def with_gap(x: Any) -> Any:
        return fnp.sum(x[:2] * fnp.sin(x[4:]))

    def read_twice(x: Any) -> Any:
        return fgrad.vjp(lambda x: (x[:3] * 2.0, x[3:] * 3.0), x)[1]((x[:3], x[3:]))[0] * x

    x = rng.standard_normal(6)
    for f in (overlapping, with_gap):
        assert "concatenate" not in executed(fgrad.grad(f), x)
        close(fgrad.jit(fgrad.grad(f))(x), fgrad.grad(f)(x))
    close(fgrad.jit(read_twice)(x), read_twice(x))


def test_a_sum_that_is_read_itself_is_kept() -> None:
    def f(x: Any) -> Any:
        part = fnp.pad(x[:3], (0, 3)) + 0.0
        return part, part + fnp.pad(x[3:], (3, 0))

    x = rng.standard_normal(6)
    for got, want in zip(fgrad.jit(f)(x), f(x), strict=True):
        close(got, want)
    jaxpr = fgrad.make_jaxpr(fgrad.grad(gates))(rng.standard_normal((2, 6)))
    assert len(join_pieces(jaxpr).eqns) < len(jaxpr.eqns)


# ---- updates in place ----------------------------------------------------------------------------


def fibonacci(xp: Any, lax: Any) -> Callable[[Any], Any]:
    return lambda x: lax.fori_loop(2, 9, lambda i, c: c.at[i].set(c[i - 1] + c[i - 2]), x)


def blocks(xp: Any, lax: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            return lax.dynamic_update_slice(c, xp.sin(c[:2]) + i, (i,))

        return lax.fori_loop(0, 7, step, x)

    return f


def read_after_the_update(xp: Any, lax: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        def step(c: Any, i: Any) -> Any:
            changed = c.at[i].add(1.5)
            return changed, (xp.sum(c * changed), c, changed)

        return lax.scan(step, x, xp.arange(4))

    return f


def carried_twice(xp: Any, lax: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            a, b, part = carry
            changed = a.at[i].multiply(b[0] + 2.0)
            return (changed, a, changed[:2]), xp.sum(part)

        return lax.scan(step, (x, x + 1.0, x[:2]), xp.arange(4))

    return f


def swapped(xp: Any, lax: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            a, b = carry
            return (b.at[i].set(a[0]), a.at[i].set(b[1])), a[i]

        return lax.scan(step, (x, x + 1.0), xp.arange(4))

    return f


def until(xp: Any, lax: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        def step(carry: Any) -> Any:
            i, c = carry
            return i + 1, lax.fori_loop(0, 3, lambda j, c: c.at[j].add(c[i] * 0.5), c)

        return lax.while_loop(lambda carry: carry[0] < 5, step, (0, x))

    return f


UPDATES = [fibonacci, blocks, read_after_the_update, carried_twice, swapped, until]


@pytest.mark.parametrize("program", UPDATES)
def test_updates_of_a_carry(program: Any) -> None:
    x = np.linspace(0.1, 1.0, 10)
    before = x.copy()
    got, want = fgrad.jit(program(fnp, lax))(fnp.asarray(x)), program(jnp, jax.lax)(jnp.asarray(x))
    for one, other in zip(fgrad.tree.leaves(got), jax.tree_util.tree_leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_array_equal(x, before)
    for run in (fgrad.jit(program(fnp, lax)), program(fnp, lax)):
        argument = x.copy()
        run(argument)
        np.testing.assert_array_equal(argument, before)


def test_a_carry_is_updated_in_place() -> None:
    x = np.ones(10)
    assert "scatter_set_in_place(" in lines_in_loops(source_of(fibonacci(fnp, lax), x))
    assert "np.array(" not in lines_in_loops(source_of(blocks(fnp, lax), x))
    # The old carry is a result of its step, or another carry.
    assert "in_place" not in source_of(read_after_the_update(fnp, lax), x)
    assert "in_place" not in source_of(carried_twice(fnp, lax), x)


def test_a_loop_of_many_lengths_keeps_few_programs() -> None:
    def body(carry: Any, row: Any) -> tuple[Any, Any]:
        return carry + row, carry * row

    for length in range(40):
        rows = np.arange(float(length))
        total, products = fgrad.lax.scan(body, 0.0, rows)
        assert float(total) == rows.sum()
        np.testing.assert_array_equal(products, np.cumsum(rows) * rows - rows * rows)
    kept = [j for j in gc.get_objects() if type(j) is Jaxpr and "alone" in j.derived]
    assert kept
    assert all(len(j.derived["alone"]) <= 8 for j in kept)
