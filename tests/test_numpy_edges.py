"""Values and derivatives of fgrad.numpy at the edges: zeros of roots, steps that are no whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_the_cube_root_at_zero_are_the_limits(order: int) -> None:
    f = g = fnp.cbrt
    for _ in range(order):
        f, g = fgrad.grad(f), (lambda x, g=g: fgrad.jvp(g, (x,), (1.0,))[1])
    for x in (0.0, -0.0):
        # From above 0 for 0.0 and from below for -0.0, the sign is that nearby.
        near = np.copysign(1e-8, x)
        assert float(f(x)) == float(g(x)) == np.copysign(np.inf, f(near))
    scale = [1.0, 1 / 3, -2 / 9, 10 / 27][order]
    np.testing.assert_allclose(f(8.0), scale * 2.0 ** (1 - 3 * order), rtol=1e-13)


@pytest.mark.parametrize("dtype", [None, "float32", "float16", "int64", "int32"])
def test_arange_rounds_as_numpy_where_it_is_recorded(dtype: str | None) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        start = rng.normal() * 10.0 ** rng.integers(-3, 5)
        step = rng.uniform(1e-3, 2.0) * rng.choice([-1, 1])
        stop = start + rng.integers(1100, 3000) * step
        with np.errstate(over="ignore"):
            want = np.arange(start, stop, step, dtype)
            for got in (
                fnp.arange(start, stop, step, dtype),
                fgrad.jit(lambda a=start, b=stop, c=step: fnp.arange(a, b, c, dtype))(),
            ):
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)


def test_a_count_that_rounding_would_change_stays() -> None:
    assert fnp.arange(1e17, 1e17 + 40000, 16.0).shape == (2500,)
    got = fgrad.jit(lambda: fnp.arange(1e17, 1e17 + 40000, 16.0))()
    np.testing.assert_array_equal(got, np.arange(1e17, 1e17 + 40000, 16.0))


BASES = [np.array([True, False]), np.True_, np.array([2, 3], np.int8), np.array([2, 3], np.uint8)]
BASES += [np.array([2, 3]), np.array([1.5, 2], np.float32), np.float32(2), np.int8(3)]
EXPONENTS = [2, 0, 1, 3, 2.0, 0.5, True, np.int8(2), np.array([2, 1]), np.array([True, False])]
EXPONENTS += [np.True_, np.int64(2), np.uint8(2), np.float32(2)]


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("exponent", EXPONENTS, ids=repr)
def test_powers_have_the_dtypes_of_numpy(base: Any, exponent: Any) -> None:
    for power, xp_power in (
        (lambda x, y: x**y, lambda x, y: x**y),
        (fnp.power, np.power),
        (lambda x, y: y**x, lambda x, y: y**x),
        (np.power, np.power),
    ):
        want = xp_power(base, exponent)
        x = fnp.asarray(base)
        for got in (
            power(x, exponent),
            fgrad.jit(lambda a, power=power: power(a, exponent))(x),
            fgrad.vmap(lambda a, power=power: power(a, exponent))(fnp.stack([x, x]))[0],
            # NumPy's square of booleans depends on the exponent, which is unknown here.
            *([] if want.dtype == np.int8 and x.dtype == bool else [fgrad.jit(power)(x, exponent)]),
        ):
            assert got.dtype == np.asarray(want).dtype
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)
