"""The floating-point types of ml_dtypes: promotion by JAX's table, values, derivatives, compiled code."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.modules import jax, jnp

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import DTypeError
from fgrad.primitives import families

BF16 = np.dtype(ml_dtypes.bfloat16)
NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
OTHERS = "bool int8 int32 int64 uint8 uint64 float16 float32 float64 complex64 complex128".split()
OPERATIONS = {
    "add": lambda xp, x, y: xp.add(x, y),
    "multiply": lambda xp, x, y: xp.multiply(x, y),
    "maximum": lambda xp, x, y: xp.maximum(x, y),
    "where": lambda xp, x, y: xp.where(np.array([True, False]), x, y),
    "concatenate": lambda xp, x, y: xp.concatenate([x, y]),
    "less": lambda xp, x, y: xp.less(x, y),
}


def ones(dtype: Any) -> Any:
    return np.ones(2, getattr(ml_dtypes, dtype) if dtype in NARROW else dtype)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("narrow", NARROW)
def test_arrays_promote_by_the_table_of_jax(operation: str, narrow: str) -> None:
    function = OPERATIONS[operation]
    compared = 0
    for other in (*OTHERS, *NARROW):
        x, y = ones(narrow), ones(other)
        if np.dtype(other).kind == "c" and operation in ("maximum", "less"):
            continue
        for a, b in ((x, y), (y, x)):
            try:
                want = function(jnp, jnp.asarray(a), jnp.asarray(b)).dtype
            except ValueError:
                for call in (function, lambda *args: fgrad.jit(function, static_argnums=0)(*args)):
                    with pytest.raises(DTypeError, match="do not promote"):
                        call(fnp, a, b)
                continue
            got = function(fnp, a, b)
            assert got.dtype == want, (narrow, other)
            assert fgrad.jit(lambda s, t: function(fnp, s, t))(a, b).dtype == want
            compared += 1
    assert compared >= 14


@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize("number", [True, 2, 0.5, 1j])
def test_python_numbers_take_the_narrow_type(narrow: str, number: Any) -> None:
    x = ones(narrow)
    if number == 1j and narrow != "bfloat16":
        # As in JAX: 8 bits promote to nothing else.
        with pytest.raises(DTypeError, match="do not promote"):
            fnp.asarray(x) + number
        return
    want = (jnp.asarray(x) + number).dtype
    assert (fnp.asarray(x) + number).dtype == want
    assert fgrad.jit(lambda a: a + number)(x).dtype == want


def test_dtypes_and_questions_about_them() -> None:
    assert fnp.bfloat16 == ml_dtypes.bfloat16
    assert np.dtype(fnp.float8_e5m2) == np.dtype(ml_dtypes.float8_e5m2)
    assert fnp.promote_types(fnp.bfloat16, "int32") == BF16
    assert fnp.result_type(fnp.bfloat16(1), np.float16(1)) == np.float32
    assert float(fnp.finfo(fnp.bfloat16).eps) == 2.0**-7
    assert fnp.finfo(ones("bfloat16")).bits == 16
    assert fnp.issubdtype(fnp.bfloat16, fnp.floating)
    assert not fnp.issubdtype(fnp.bfloat16, fnp.float32)
    assert not fnp.issubdtype(fnp.bfloat16, fnp.integer)
    assert fnp.isdtype(fnp.bfloat16, "real floating")
    assert not fnp.isdtype(fnp.bfloat16, ("integral", "bool"))
    assert str(fnp.ones(2, fnp.bfloat16)) == "[1 1]"
    assert fnp.int4 == ml_dtypes.int4
    with pytest.raises(AttributeError, match="float8_e9"):
        _ = fnp.float8_e9


FUNCTIONS = {
    "sin": lambda xp, x: xp.sin(x),
    "softmax": lambda xp, x: xp.exp(x - xp.max(x)) / xp.sum(xp.exp(x - xp.max(x))),
    "norm": lambda xp, x: xp.sqrt(xp.sum(x * x)),
    "matmul": lambda xp, x: xp.reshape(x, (2, 3)) @ xp.reshape(x, (3, 2)),
    "cumsum": lambda xp, x: xp.cumsum(x),
    "sort": lambda xp, x: xp.sort(x)[::-1],
    "mean": lambda xp, x: xp.mean(x),
    "var": lambda xp, x: xp.var(x),
    "gather": lambda xp, x: x[np.array([0, 2, 0])],
    "update": lambda xp, x: x.at[1].set(2.0) * 3,
    "logaddexp": lambda xp, x: xp.logaddexp(x, 1.0),
    "power": lambda xp, x: x**3 - x**0.5,
    "clip": lambda xp, x: xp.clip(x, 0.3, 1.1),
    "astype": lambda xp, x: x.astype("float32") * 1.001,
}


GAPS = {
    "nansum": lambda xp, x: xp.nansum(x),
    "nanmax": lambda xp, x: xp.nanmax(x),
    "nanmean": lambda xp, x: xp.nanmean(x),
    "nanargmin": lambda xp, x: xp.nanargmin(x),
    "nancumsum": lambda xp, x: xp.nancumsum(x),
    "nan_to_num": lambda xp, x: xp.nan_to_num(x, nan=0.5, posinf=2.0),
    "isnan": lambda xp, x: xp.isnan(x),
    "nanmedian": lambda xp, x: xp.nanmedian(x),
    "maximum": lambda xp, x: xp.maximum(x, 0.5),
    "argmax": lambda xp, x: xp.argmax(x),
    "sort": lambda xp, x: xp.sort(x),
    "unique": lambda xp, x: xp.unique(x, size=4),
}


@pytest.mark.parametrize("name", GAPS)
def test_a_narrow_nan_is_one(name: str) -> None:
    function = GAPS[name]
    x = np.array([0.25, np.nan, 1.5, -1.0, 0.75]).astype(BF16)
    want = function(jnp, jnp.asarray(x))
    agree(function(fnp, fnp.asarray(x)), want)
    agree(fgrad.jit(lambda a: function(fnp, a))(x), want)


@pytest.mark.parametrize("narrow", NARROW)
def test_equal_narrow_nans_are_one_element(narrow: str) -> None:
    dtype = getattr(ml_dtypes, narrow)
    x = np.array([3.0, np.nan, 1.0, 2.0, np.nan, 1.0, -0.0, 0.0]).astype(dtype)
    y = np.array([1.0, np.nan, 5.0]).astype(dtype)
    for function in (
        lambda xp: (xp.unique(xp.asarray(x)), xp.asarray(0)),
        lambda xp: xp.unique(xp.asarray(x), return_counts=True),
        lambda xp: xp.unique(xp.asarray(x), return_inverse=True, equal_nan=False),
        lambda xp: (xp.union1d(xp.asarray(x), xp.asarray(y)), xp.asarray(0)),
    ):
        for got, want in zip(function(fnp), function(jnp), strict=True):
            np.testing.assert_array_equal(np.asarray(got, "f8"), np.asarray(want, "f8"))


def agree(got: Any, want: Any) -> None:
    want = np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    # Each result is rounded to eight bits; JAX rounds within some of its own as well.
    np.testing.assert_allclose(
        np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=2e-2, atol=2e-2
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bfloat16_agrees_with_jax(name: str) -> None:
    function = FUNCTIONS[name]
    x = np.linspace(0.25, 1.5, 6).astype(BF16)

    def f(a: Any) -> Any:
        return function(fnp, a)

    out, pull = fgrad.vjp(f, x)
    want, pull_jax = jax.vjp(lambda a: function(jnp, a), x)
    ct = np.linspace(-1.0, 1.0, out.size).reshape(out.shape).astype(out.dtype)
    agree(out, want)
    agree(f(fnp.asarray(x)), want)
    agree(fgrad.jit(f)(x), want)
    agree(pull(ct)[0], pull_jax(ct)[0])
    agree(fgrad.jit(lambda a, c: fgrad.vjp(f, a)[1](c)[0])(x, ct), pull_jax(ct)[0])
    agree(fgrad.jvp(f, (x,), (x,))[1], jax.jvp(lambda a: function(jnp, a), (x,), (x,))[1])
    agree(fgrad.vmap(f)(np.stack([x, x]))[1], want)


@pytest.mark.parametrize("narrow", NARROW)
def test_sums_are_rounded_once(narrow: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, narrow))
    x = np.full(3000, 1.0 / 64, dtype)
    # Added up in the type itself, the sum would stop growing.
    want = np.float32(3000 / 64).astype(dtype)
    assert fnp.sum(x) == want
    assert fgrad.jit(fnp.sum)(x) == want
    assert fnp.dot(x, np.ones(3000, dtype)) == want


def test_mixed_precision_trains() -> None:
    rng = np.random.default_rng(0)
    inputs, targets = rng.normal(size=(64, 3)).astype("float32"), np.float32([1.0, -2.0, 0.5])

    def loss(w: Any) -> Any:
        out = inputs.astype(BF16) @ w.astype(fnp.bfloat16)
        return fnp.mean((out.astype("float32") - inputs @ targets) ** 2)

    step = fgrad.jit(lambda w: w - 0.1 * fgrad.grad(loss)(w))
    w = fnp.zeros(3, "float32")
    for _ in range(60):
        w = step(w)
    assert w.dtype == np.float32
    np.testing.assert_allclose(w, targets, atol=0.02)


def test_conversions_between_all_types() -> None:
    for source, target in itertools.product((*NARROW, *OTHERS), NARROW):
        x = ones(source)
        for got in (
            fnp.asarray(x).astype(target if target not in NARROW else getattr(fnp, target)),
            fgrad.jit(lambda a, t=target: a.astype(getattr(fnp, t)))(x),
        ):
            assert got.dtype == np.dtype(getattr(ml_dtypes, target))
            assert np.asarray(got, np.float64).tolist() == [1.0, 1.0]


def test_a_primitive_that_is_declared_later_takes_narrow_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(families, "CLASSES", [*families.CLASSES])
    _ = fnp.bfloat16

    class Doubled(families.Linear):
        def abstract_eval(self, x: Any) -> Any:
            return x

        def impl(self, x: Any) -> Any:
            assert x.dtype == np.float32
            return x + x

        def transpose(self, ct: Any, needs: Any, *args: Any) -> Any:
            return (self(ct),)

        def batch(self, size: int, args: Any, mapped: Any) -> Any:
            return self(args[0]), True

    assert Doubled()(ones("bfloat16")).dtype == BF16
    assert fgrad.grad(lambda x: fnp.sum(Doubled()(x)))(ones("bfloat16")).dtype == BF16


def test_the_package_is_imported_only_where_it_is_asked_for() -> None:
    code = (
        "import sys, fgrad.numpy as fnp; fnp.sin(fnp.ones(2)); assert 'ml_dtypes' not in sys.modules; "
        "fnp.bfloat16; assert 'ml_dtypes' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
