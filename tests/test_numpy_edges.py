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


def agree(function: Any, *args: Any) -> None:
    """A function of (xp, *args) in fgrad, eager and compiled, and in NumPy."""
    want = function(np, *args)
    for got in (
        function(fnp, *[fnp.asarray(a) for a in args]),
        fgrad.jit(lambda *xs: function(fnp, *xs))(*args),
    ):
        ours, numpys = fgrad.tree.leaves(got), fgrad.tree.leaves(want)
        assert len(ours) == len(numpys)
        for one, other in zip(ours, numpys, strict=True):
            assert one.shape == np.shape(other)
            assert one.dtype == np.asarray(other).dtype
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12)


F32, F64 = np.float32([1.5, -2.0, 0.5]), np.array([0.25, 3.5, -1.0])
EDGES: dict[str, tuple[Any, ...]] = {
    "clip between a number and an array": (
        lambda xp, x, y: xp.clip(x, -1.5, y),
        np.array([4, 2, 0], np.uint8),
        F32,
    ),
    "clip beyond the dtype": (lambda xp, x: xp.clip(x, -5, 300), np.array([4, 2, 0], np.uint8)),
    "clip below beyond the dtype": (lambda xp, x: xp.clip(x, -1000, 3), np.int8([1, 5, -7])),
    "clip above an array": (
        lambda xp, x, y: xp.clip(x, y, 2),
        np.int8([1, 5, -7]),
        np.int8([0, 0, 0]),
    ),
    "variables in columns, one observation": (lambda xp, x: xp.cov(x, rowvar=False), F64[None]),
    "correlations of one observation": (lambda xp, x: xp.corrcoef(x, rowvar=False), F64[None]),
    "positions in Fortran's order": (
        lambda xp, i: xp.unravel_index(i, (2, 3, 4), order="F"),
        np.array([[0, 23], [5, 7]]),
    ),
    "rolled along no axis": (lambda xp, x: xp.roll(x, 1, axis=()), F64),
    "rolled by no shift": (lambda xp, x: xp.roll(x, (), axis=()), np.array([True, False])),
    "repeated by an empty list": (lambda xp, x: xp.repeat(x, [], axis=0), np.zeros((0, 2))),
    "sinc of integers": (lambda xp, x: xp.sinc(x), np.int8([0, 1, 3])),
    "periodic coordinates of mixed dtypes": (
        lambda xp, x, y, z: xp.interp(x, y, z, period=360.0),
        F64,
        np.float32([-1.36, -0.05, 0.68]),
        F64,
    ),
    "samples of mixed dtypes": (
        lambda xp, x, y, z: xp.interp(x, y, z),
        F64,
        np.float32([-1.36, -0.05, 0.68]),
        F64,
    ),
    "booleans reflected about their ends": (
        lambda xp, x: xp.pad(x, (1, 2), mode="symmetric", reflect_type="odd"),
        np.array([False, True, True]),
    ),
    "no quantile of nothing": (lambda xp, x: xp.nanquantile(x, 0.3, axis=0), np.zeros((0, 3))),
    "no percentile of no integers": (lambda xp, x: xp.nanpercentile(x, 30), np.zeros(0, int)),
    "no steps": (lambda xp, x: xp.linspace(x, 2.0, 0, endpoint=False, retstep=True), F64),
    "no step": (lambda xp, x: xp.linspace(x, 2.0, 1, retstep=True), F64),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", EDGES)
def test_edges_agree_with_numpy(case: str) -> None:
    agree(*EDGES[case])


def test_quantiles_of_nothing_have_a_row_for_each_fraction() -> None:
    # NumPy drops the axis of the fractions here.
    x = fnp.zeros((0, 3))
    assert fnp.nanquantile(x, fnp.asarray([0.2, 0.3]), axis=0).shape == (2, 3)
    assert fnp.nanquantile(x, 0.2, axis=0, keepdims=True).shape == (1, 3)


def test_bits_are_of_integers() -> None:
    for call in (lambda x: fnp.packbits(x), lambda x: fnp.unpackbits(x)):
        for run in (call, fgrad.jit(call)):
            with pytest.raises(fgrad.errors.DTypeError, match="packbits"):
                run(fnp.ones(3))
    with pytest.raises(fgrad.errors.ArgumentError, match="order='K'"):
        fnp.unravel_index(1, (2, 3), order="K")


def test_a_negative_base_has_a_slope_towards_complex_exponents() -> None:
    x, y = np.array([-2.0, 1.5, -0.5]), np.array([0.5 + 1j, -1.0 + 0.25j, 2.0 - 1j])
    want = np.power(x.astype(complex), y) * np.log(x.astype(complex))
    for power in (fnp.power, lambda a, b: a**b):

        def slope(b: Any, power: Any = power) -> Any:
            return fgrad.jvp(lambda e: power(x, e), (b,), (np.ones(3, complex),))[1]

        np.testing.assert_allclose(slope(y), want, rtol=1e-13)
        np.testing.assert_allclose(fgrad.jit(slope)(y), want, rtol=1e-13)
    weak = fgrad.jvp(lambda e: (-2.0) ** e, (0.5 + 1j,), (1.0 + 0j,))[1]
    np.testing.assert_allclose(weak, (-2 + 0j) ** (0.5 + 1j) * np.log(-2 + 0j), rtol=1e-13)
