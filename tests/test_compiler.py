"""The passes of the compiler: exact rewrites, results over dying operands, looks for NaN."""

from __future__ import annotations

import gc
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fgrad
import fgrad.numpy as fnp
from fgrad.compiler import compiled
from fgrad.compiler.fold import fold
from fgrad.compiler.guards import place_guards
from fgrad.compiler.plan import overwritten_operands
from fgrad.compiler.simplify import simplify
from fgrad.ir.check import check_jaxpr
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.primitives.families import absorbing_product

# Zeros of both signs, infinities and NaN among ordinary numbers.
SPECIAL = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 3.0])


def names_of(jaxpr: Any) -> list[str]:
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def same_bits(got: Any, want: Any) -> None:
    """Equal values, with zeros of the same sign; one NaN is as good as another."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "f":
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


REWRITES = {
    "reshape of reshape": (lambda x: x.reshape(2, 4).reshape(4, 2) * x[0], ["reshape", "index"]),
    "reshape and back": (lambda x: x.reshape(2, 4).reshape(8) + x, []),
    "transpose and back": (lambda x: (x.reshape(2, 4).T.T) + 1.0, ["reshape"]),
    "minus minus": (lambda x: fnp.negative(-x) + 1.0, []),
    "plus minus": (lambda x: x + (-fnp.sin(x)), ["sin", "sub"]),
    "minus a multiple": (lambda x: -(2.0 * x), ["mul"]),
    "times one": (lambda x: 1.0 * x / 1.0 + x, []),
    "minus zero": (lambda x: (x - 0.0) * 2.0, ["mul"]),
    "broadcast operand": (lambda x: fnp.broadcast_to(x, (3, 8)) * fnp.ones((3, 1)) + x, []),
    "real of real": (lambda x: fnp.real(x) + fnp.conj(x), []),
    "stop_gradient": (lambda x: fgrad.lax.stop_gradient(x) * x, []),
}


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_keeps_every_bit(name: str) -> None:
    f, left = REWRITES[name]
    jaxpr = fgrad.jit(f).lower(SPECIAL).jaxpr
    simple = simplify(jaxpr)
    check_jaxpr(simple)
    assert len(simple.eqns) < len(jaxpr.eqns)
    gone = {
        "reshape",
        "transpose",
        "neg",
        "broadcast_to",
        "real",
        "conj",
        "stop_gradient",
        "index",
        "sub",
    }
    assert [n for n in names_of(simple) if n in gone] == [n for n in left if n in gone]
    with np.errstate(all="ignore"):
        same_bits(compiled(jaxpr).run(SPECIAL)[0], eval_jaxpr(jaxpr, SPECIAL)[0])


def test_a_complex_product_keeps_the_signs_of_its_zeros() -> None:
    x = np.array([1 + 1j, 0j, -1j])
    jaxpr = fgrad.jit(lambda x: -((1 + 1j) * x)).lower(x).jaxpr
    got, want = compiled(jaxpr).run(x)[0], eval_jaxpr(jaxpr, x)[0]
    same_bits(got.real, want.real)
    same_bits(got.imag, want.imag)


def test_a_stretched_operand_of_another_dtype_still_promotes() -> None:
    def f(x: Any) -> Any:
        return x * fnp.broadcast_to(np.float64(0.1), (4,))

    x = np.arange(4, dtype=np.float32)
    assert fgrad.jit(f)(x).dtype == f(x).dtype == np.float64
    np.testing.assert_array_equal(fgrad.jit(f)(x), f(x))


# ---- constants and order -------------------------------------------------------------------------


def with_constant(f: Any, x: Any, constant: Any) -> Jaxpr:
    """The program of a function of two arrays, the second of which is a constant."""
    jaxpr = fgrad.jit(f).lower(x, constant).jaxpr
    x_var, constant_var = jaxpr.invars
    return Jaxpr([constant_var], [constant], [x_var], jaxpr.eqns, jaxpr.outvars)


def test_what_depends_on_constants_alone_is_computed_once() -> None:
    x, table = np.ones(4), np.arange(4.0)
    jaxpr = with_constant(lambda x, c: x * (fnp.sin(c) + c) * fnp.max(c), x, table)
    folded = fold(jaxpr)
    check_jaxpr(folded)
    assert names_of(folded) == ["mul", "mul"]
    same_bits(eval_jaxpr(folded, x)[0], (np.sin(table) + table) * 3.0)


def test_what_warns_warns_at_every_call() -> None:
    x, zero = np.ones(3), np.zeros(3)
    jaxpr = with_constant(lambda x, c: x + fnp.log(c) + fnp.exp(c), x, zero)
    assert names_of(fold(jaxpr)) == ["log", "add", "add"]
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            compiled(jaxpr).run(x)


def test_large_constants_are_made_at_every_call() -> None:
    x = np.ones((300, 300))
    assert "np.eye" in fgrad.jit(lambda x: x + fnp.eye(300)).lower(x).source


def test_warnings_are_switched_off_once_where_order_allows() -> None:
    def f(x: Any) -> Any:
        return fnp.sum(fnp.tanh(fnp.exp(x) * fnp.sin(x)) * x)

    x = np.linspace(-1.0, 1.0, 5)
    pushed = fgrad.jit(lambda x, t: fgrad.jvp(f, (x,), (t,)))
    assert pushed.lower(x, x).source.count("np.errstate") == 1
    for got, want in zip(pushed(x, x), fgrad.jvp(f, (x,), (x,)), strict=True):
        same_bits(got, want)


def test_effects_keep_their_order() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y, t = fgrad.jvp(fnp.sin, (x,), (x,))
        fgrad.debug.callback(lambda v: seen.append(("slope", v)), t)
        fgrad.debug.callback(lambda v: seen.append(("value", v)), y)
        z, s = fgrad.jvp(fnp.cos, (x,), (t,))
        fgrad.debug.callback(lambda v: seen.append(("second slope", v)), s)
        fgrad.debug.callback(lambda v: seen.append(("argument", v)), x)
        return z

    fgrad.jit(f)(2.0)
    assert [name for name, _ in seen] == ["slope", "value", "second slope", "argument"]


# ---- results over operands ---------------------------------------------------------------------


def test_arguments_and_constants_are_never_written_to() -> None:
    constant = np.full(5, 2.0)
    x = np.arange(5.0)
    f = fgrad.jit(lambda x: fnp.exp(x) * constant + x - constant)
    first = np.array(f(x))
    np.testing.assert_array_equal(x, np.arange(5.0))
    np.testing.assert_array_equal(constant, np.full(5, 2.0))
    np.testing.assert_array_equal(f(x), first)


def test_an_operand_that_dies_is_written_over() -> None:
    jaxpr = simplify(fgrad.jit(lambda x: fnp.sin(x) * 2.0 + 1.0).lower(np.arange(3.0)).jaxpr)
    assert len(overwritten_operands(jaxpr)) == 2
    assert "out=" not in compiled(jaxpr).source
    assert compiled(jaxpr).source.count("*= number_2") == 1


def test_a_value_with_a_living_view_is_kept() -> None:
    def f(x: Any) -> Any:
        y = fnp.sin(x)
        view = y[::2]
        z = y + 1.0
        return z.sum() + view.sum()

    x = np.arange(6.0)
    np.testing.assert_array_equal(fgrad.jit(f)(x), f(x))


def test_results_are_kept() -> None:
    def f(x: Any) -> Any:
        y = fnp.sin(x)
        return y, y * 2.0, y.reshape(2, 3) + 1.0

    x = np.arange(6.0)
    for got, want in zip(fgrad.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)


STEPS = [
    lambda a, b: a + b,
    lambda a, b: b - a,
    lambda a, b: a * 0.5,
    lambda a, b: -a,
    lambda a, b: fnp.sin(a) - b,
    lambda a, b: fnp.maximum(a, b),
    lambda a, b: a.reshape(3, 2).reshape(2, 3),
    lambda a, b: a.T.reshape(2, 3),
    lambda a, b: a[::-1] + b,
    lambda a, b: a[:, ::-1],
    lambda a, b: fnp.broadcast_to(a.sum(axis=0), (2, 3)) * b,
    lambda a, b: fnp.where(a > b, a, b),
    lambda a, b: fnp.broadcast_to(a[0], (2, 3)),
    lambda a, b: a / (1.0 + b * b),
    lambda a, b: (a @ b.T) @ a,
    lambda a, b: a.at[0].set(b[1]),
]


@given(st.integers(0, 2**24 - 1))
def test_compiled_programs_are_bit_identical_to_eager_ones(seed: int) -> None:
    random = Random(seed)
    steps = [
        (random.randrange(len(STEPS)), random.random(), random.random())
        for _ in range(random.randint(2, 14))
    ]
    kept = random.sample(range(len(steps)), 2)

    def program(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, first, second in steps:
            a, b = (values[int(place * len(values))] for place in (first, second))
            values.append(STEPS[step](a, b))
        return values[-1], *[values[2 + k] for k in kept]

    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 2, 3))
    before = x.copy(), y.copy()
    want = program(fnp.asarray(x), fnp.asarray(y))
    for optimized in (True, False):
        fgrad.config.update("disable_most_optimizations", not optimized)
        try:
            results = fgrad.jit(program)(x, y)
            source = fgrad.jit(program).lower(x, y).source
        finally:
            fgrad.config.update("disable_most_optimizations", False)
        assert optimized or "out=" not in source
        for got, expected in zip(results, want, strict=True):
            same_bits(got, expected)
        np.testing.assert_array_equal((x, y), before)


def test_a_change_of_the_flag_compiles_anew() -> None:
    f = fgrad.jit(lambda x: fnp.exp(x) * 2.0 + 1.0)
    x = np.arange(3.0)
    assert "*= " in f.lower(x).source
    want = f(x)
    fgrad.config.update("jax_disable_most_optimizations", True)
    try:
        assert "*= " not in f.lower(x).source
        same_bits(f(x), want)
    finally:
        fgrad.config.update("jax_disable_most_optimizations", False)
    assert "*= " in f.lower(x).source


# ---- looks for NaN -----------------------------------------------------------------------------


def test_a_nan_is_looked_for_where_it_would_show() -> None:
    def loss(w: Any, b: Any, x: Any) -> Any:
        return fnp.sum(fnp.tanh(x @ w + b) ** 2)

    w, b, x = np.ones((4, 3)), np.ones(3), np.ones((50, 4))
    jaxpr = simplify(fgrad.jit(fgrad.grad(loss, (0, 1))).lower(w, b, x).jaxpr)
    looks = place_guards(jaxpr)
    # One product of shape (50, 3); its NaN would show in the gradient of b.
    assert looks is not None
    assert [v.aval.shape for v in looks] == [(3,)]


def test_a_look_does_not_wait_where_the_value_could_be_dropped() -> None:
    def f(x: Any) -> Any:
        return fnp.sum(fnp.where(x > 1.0, fnp.sqrt(x), 0.0))

    x = np.array([0.0, 4.0])
    gradient = fgrad.jit(fgrad.grad(lambda x: f(x) + fnp.sum(x)))
    np.testing.assert_array_equal(gradient(x), [1.0, 1.25])


def test_what_a_nan_could_lead_astray_comes_after_the_look() -> None:
    def f(x: Any) -> Any:
        slopes = fgrad.grad(lambda x: fnp.sum(fnp.where(x > 0.0, fnp.log(x), x)))(x)
        return fnp.sort(slopes)

    x = np.array([0.0, 2.0, -1.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fgrad.jit(f)(x), [0.5, 1.0, 1.0])


def test_a_program_without_products_that_absorb_has_no_looks() -> None:
    jaxpr = simplify(fgrad.jit(lambda x: fnp.sin(x) * x).lower(np.ones(3)).jaxpr)
    assert absorbing_product not in [eqn.primitive for eqn in jaxpr.eqns]
    assert place_guards(jaxpr) is None


def test_the_collection_of_garbage_goes_on_as_before() -> None:
    for collects in (True, False):
        (gc.enable if collects else gc.disable)()
        try:
            fgrad.jit(lambda x: x + 1.0)(np.ones(3))
            assert gc.isenabled() == collects
        finally:
            gc.enable()
