"""Compiled programs that once gave something else than the eager function."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad.compiler import fuse, kernels


def assert_same_bits(function: Any, *args: Any) -> None:
    """The eager and the compiled function have equal results, signs of zeros and dtypes included."""
    arrays = [fnp.asarray(a) for a in args]
    with np.errstate(all="ignore"):
        want, got = np.asarray(function(*arrays)), np.asarray(fgrad.jit(function)(*arrays))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    for part in (np.real, np.imag) if want.dtype.kind == "c" else (np.asarray,):
        known = ~np.isnan(part(want))
        np.testing.assert_array_equal(np.signbit(part(got))[known], np.signbit(part(want))[known])


COMPLEX = np.array([complex(np.inf, 0.0), complex(-0.0, -1.0), complex(np.inf, -np.inf), 1 + 2j])
REAL = np.array([1.0, -1.0, 0.0, -0.0, 2.5])


@pytest.mark.parametrize(
    "function", [lambda x: x * 1.0, lambda x: 1 * x, lambda x: x / 1.0, lambda x: x - 0.0]
)
def test_complex_numbers_times_one(function: Any) -> None:
    assert_same_bits(function, COMPLEX)


@pytest.mark.parametrize(
    "number", [0, 3, True, np.uint8(3), np.int8(-128), np.bool_(True), 0.0, np.float32(-2.0)]
)
def test_negated_multiples(number: Any) -> None:
    assert_same_bits(lambda x: -(number * x), REAL)


@pytest.mark.parametrize("exponent", [0.5, 2.0, -1.0, 3.0])
def test_exponents_that_were_stretched(exponent: float) -> None:
    x = np.random.default_rng(0).uniform(0.1, 3.0, 5000)
    assert_same_bits(lambda x: x ** fnp.full(x.shape, exponent), x)


@pytest.mark.parametrize("function", [lambda x, y: x + -y, lambda x, y: x - -y])
def test_negated_reals_beside_complex_numbers(function: Any) -> None:
    x = np.array([complex(1.0, -0.0), complex(-0.0, 0.0)])
    assert_same_bits(function, x, np.array([1.0, -0.0]))


def test_complex_products_of_single_elements_in_place() -> None:
    for seed in range(20):
        x = np.random.default_rng(seed).normal(size=(2, 1))
        assert_same_bits(lambda x, y: (x + 1j * y) * (y + 1j * x), *x)
        assert_same_bits(lambda x, y: fnp.square(x + 1j * y), *x)


@pytest.mark.parametrize("count", [1, 9, 25])
def test_complex_products_in_last_blocks(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse, "SMALLEST", 1)
    monkeypatch.setattr(kernels, "CACHE", 100)
    monkeypatch.setattr(kernels, "_LEAST_ELEMENTS", 8)
    for seed in range(20):
        x = np.random.default_rng(seed).normal(size=(2, count))
        assert_same_bits(lambda x, y: (x + 1j * y) * (y + 1j * x) * (x - 1j * y), *x)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_narrow_floats_in_clusters_and_loops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse, "SMALLEST", 2)
    dtype = getattr(fnp, name)
    x = fnp.asarray([[1.0, -0.5], [0.25, 2.0], [-1.0, 0.5]]).astype(dtype)
    for function in (
        lambda x: x * x + x,
        lambda x: fnp.max(fnp.sin(x) * x, axis=0),
        lambda x: x + fnp.full((3, 2), 2, dtype),
        lambda x: fgrad.lax.scan(lambda c, r: (c * r, c + r), x[0], x)[1],
    ):
        want, got = function(x), fgrad.jit(function)(x)
        assert got.dtype == want.dtype == dtype
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


@pytest.mark.parametrize("name", ["np", "nan", "range", "zip", "min", "None_", "print"])
def test_functions_named_like_what_compiled_code_calls(name: str) -> None:
    def function(x: Any) -> Any:
        return fgrad.lax.scan(lambda c, r: (c + r, (c * r, 2.0)), x[0], x)[1][0]

    function.__name__ = name
    assert_same_bits(function, np.arange(6.0).reshape(3, 2))


def test_operands_given_to_a_branch_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse, "SMALLEST", 2)

    def function(x: Any) -> Any:
        return fgrad.lax.cond(x[0] > 0, lambda a, b: a * fnp.sin(b) + b, lambda a, b: a - b, x, x)

    assert_same_bits(function, REAL)


def test_looks_for_nan_do_not_warn() -> None:
    def function(x: Any) -> Any:
        return fgrad.grad(lambda t: fnp.sum(fnp.sqrt(t) * t))(x) * 1e200

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = fgrad.jit(function)(np.arange(1.0, 9.0))
    np.testing.assert_array_equal(got, function(np.arange(1.0, 9.0)))
