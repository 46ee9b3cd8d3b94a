"""Sums of embedded arrays are added where they lie, bit for bit."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fgrad
import fgrad.numpy as fnp
from fgrad.compiler import compiled
from fgrad.compiler.parts import SumOfParts
from fgrad.ir.check import check_jaxpr
from fgrad.ir.jaxpr import eval_jaxpr
from fgrad.primitives.families import add
from fgrad.primitives.shape import Embed


def same_bits(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def sums_of(f: Any, *args: Any) -> list[Any]:
    jaxpr = compiled(fgrad.jit(f).lower(*args).jaxpr).simplified
    return [eqn.primitive for eqn in jaxpr.eqns if type(eqn.primitive) is SumOfParts]


@given(st.integers(0, 2**24 - 1))
def test_sums_of_random_parts(seed: int) -> None:
    random = Random(seed)
    shape = (random.randint(1, 5), random.randint(1, 4))

    def interval(n: int) -> Any:
        start = random.randrange(n)
        return start if random.random() < 0.3 else slice(start, random.randint(start + 1, n), 1)

    places = [(interval(shape[0]), interval(shape[1])) for _ in range(random.randint(1, 6))]
    values = np.random.default_rng(seed).choice([0.0, -0.0, 1.5, -1.5, 0.1, 1e16], size=shape)
    args = [values[place] * random.choice([1.0, -1.0]) for place in places]
    whole = random.random() < 0.5

    def f(base: Any, *xs: Any) -> Any:
        terms = [Embed(place, shape)(x) for place, x in zip(places, xs, strict=True)]
        total = base * 1.5 if whole else terms.pop(0)
        for term in terms:
            total = add(total, term)
        return total

    jaxpr = fgrad.jit(f).lower(values, *args).jaxpr
    check_jaxpr(compiled(jaxpr).simplified)
    before = values.copy()
    same_bits(compiled(jaxpr).run(values, *args)[0], eval_jaxpr(jaxpr, values, *args)[0])
    same_bits(values, before)


def test_gradients_of_slices_are_sums_of_parts() -> None:
    def energy(u: Any) -> Any:
        return fnp.sum((u[2:] - 2.0 * u[1:-1] + u[:-2]) ** 2) + fnp.sum(u[:-1] * u[1:])

    u = np.random.default_rng(0).normal(size=50)
    (found,) = sums_of(fgrad.grad(energy), u)
    assert len(found.places) == 5
    same_bits(fgrad.jit(fgrad.grad(energy))(u), fgrad.grad(energy)(u))


def test_a_long_sum_takes_linear_time() -> None:
    def f(x: Any) -> Any:
        return sum(fnp.sin(x[i]) for i in range(2000))

    x = np.linspace(0.0, 1.0, 2000)
    (found,) = sums_of(fgrad.grad(f), x)
    assert len(found.places) == 2000
    same_bits(fgrad.jit(fgrad.grad(f))(x), np.cos(x))


def test_a_sum_that_is_read_is_kept() -> None:
    def f(x: Any, y: Any) -> Any:
        first = Embed((slice(0, 2, 1),), (4,))(x)
        total = add(first, Embed((slice(1, 3, 1),), (4,))(y))
        return total, add(total, Embed((slice(2, 4, 1),), (4,))(y)), first

    x, y = np.array([1.0, -0.0]), np.array([-0.0, 2.0])
    for got, want in zip(fgrad.jit(f)(x, y), f(x, y), strict=True):
        same_bits(got, want)


@pytest.mark.parametrize("dtype", [np.int32, np.complex64, np.bool_])
def test_other_dtypes(dtype: Any) -> None:
    def f(x: Any) -> Any:
        one, two = Embed((slice(0, 2, 1),), (4,)), Embed((slice(1, 3, 1),), (4,))
        return add(one(x), two(x))

    x = np.array([1, 2]).astype(dtype)
    assert fgrad.jit(f)(x).dtype == f(x).dtype == dtype
    np.testing.assert_array_equal(fgrad.jit(f)(x), f(x))


def test_pieces_side_by_side_have_no_negative_zero() -> None:
    def f(x: Any) -> Any:
        return x[5:6], x[3:5], x[5:6], x[:3]

    x = np.full(6, -0.0)
    pull = lambda x: fgrad.vjp(f, x)[1](f(x))[0]  # noqa: E731
    same_bits(fgrad.jit(pull)(x), pull(x))
