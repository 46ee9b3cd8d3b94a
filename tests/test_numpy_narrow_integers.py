"""The integers of ml_dtypes, of one to four bits: promotion, arithmetic, questions, compiled code."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.modules import jnp

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import DifferentiationTypeError, DTypeError

NAMES = ("int2", "int4", "uint2", "uint4")
OTHERS = (*NAMES, "bool", "int8", "uint16", "int64", "bfloat16", "float16", "float32", "complex64")

# Every value of four bits, and of two bits where it is cut.
FIRST = np.arange(-8, 8)
SECOND = np.array([3, -8, 7, 1, 2, -1, -3, 5, 1, 6, -7, 2, 4, -2, 7, -5])


def pair(name: str) -> tuple[Any, Any]:
    dtype = getattr(ml_dtypes, name)
    return FIRST.astype(dtype), SECOND.astype(dtype)


def test_every_dtype_of_jax_has_its_name() -> None:
    types = [n for n in dir(jnp) if isinstance(getattr(jnp, n), type(jnp.float32))]
    assert len(types) >= 32
    for name in types:
        assert np.dtype(getattr(fnp, name)) == np.dtype(getattr(jnp, name)), name


@pytest.mark.parametrize("name", NAMES)
def test_promotion_is_jaxs(name: str) -> None:
    refused = 0
    for other in OTHERS:
        first, second = getattr(fnp, name), getattr(fnp, other, None) or np.dtype(other)
        try:
            want = jnp.promote_types(getattr(jnp, name), getattr(jnp, other))
        except ValueError:
            for a, b in ((first, second), (second, first)):
                with pytest.raises(DTypeError, match="do not promote"):
                    fnp.promote_types(a, b)
                with pytest.raises(DTypeError, match="do not promote"):
                    fgrad.jit(fnp.add)(fnp.ones(2, a), fnp.ones(2, b))
            refused += 1
            continue
        assert fnp.promote_types(first, second) == fnp.promote_types(second, first) == want
    assert refused == len(OTHERS) - 2
    x = fnp.ones(2, getattr(fnp, name))
    assert (x + 1).dtype == (1 + x).dtype == (x + True).dtype == x.dtype
    for number in (1.0, 1j):
        with pytest.raises(DTypeError, match="do not promote"):
            x + number


OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda xp, x, y: x + y,
    "subtract": lambda xp, x, y: x - y,
    "multiply": lambda xp, x, y: x * y,
    "negative": lambda xp, x, y: -x,
    "square": lambda xp, x, y: x**2,
    "a number": lambda xp, x, y: x * 3 + 1,
    "a boolean": lambda xp, x, y: x + (y > 0),
    "and": lambda xp, x, y: x & y,
    "or": lambda xp, x, y: x | y,
    "xor": lambda xp, x, y: x ^ y,
    "invert": lambda xp, x, y: ~x,
    "left shift": lambda xp, x, y: x << 1,
    "compare": lambda xp, x, y: x <= y,
    "maximum": lambda xp, x, y: xp.maximum(x, y),
    "clip": lambda xp, x, y: xp.clip(x, 0, 1),
    "sign": lambda xp, x, y: xp.sign(x),
    "where": lambda xp, x, y: xp.where(x > y, x, 0),
    "sort": lambda xp, x, y: xp.sort(y),
    "argsort": lambda xp, x, y: xp.argsort(y),
    "max": lambda xp, x, y: xp.max(y),
    "argmax": lambda xp, x, y: xp.argmax(y),
    "sum": lambda xp, x, y: xp.sum(y, promote_integers=False),
    "any": lambda xp, x, y: xp.any(y),
    "dot": lambda xp, x, y: xp.dot(x, y),
    "matmul": lambda xp, x, y: xp.matmul(x.reshape(4, 4), y.reshape(4, 4)),
    "outer": lambda xp, x, y: xp.outer(x, y),
    "concatenate": lambda xp, x, y: xp.concatenate([x, y])[::-1],
    "gather": lambda xp, x, y: x[np.array([3, 0, 3])],
    "fill": lambda xp, x, y: xp.take(x, np.array([0, 99]), mode="fill"),
    "update": lambda xp, x, y: x.at[2].set(1).at[3].add(y[3]),
    "diff": lambda xp, x, y: xp.diff(x),
    "flip": lambda xp, x, y: xp.flip(x),
    "divide": lambda xp, x, y: x / (y | 1),
    "mean": lambda xp, x, y: xp.mean(x),
    "sqrt": lambda xp, x, y: xp.sqrt(abs(x.astype(np.int8)).astype(x.dtype) & 3),
    "to float": lambda xp, x, y: x.astype(np.float32),
    "to bool": lambda xp, x, y: x.astype(bool),
    "to int64": lambda xp, x, y: x.astype(np.int64),
    "from int64": lambda xp, x, y: xp.asarray(FIRST).astype(y.dtype),
    "zeros": lambda xp, x, y: xp.zeros_like(x),
    "full": lambda xp, x, y: xp.full(3, 1, x.dtype),
    "isclose": lambda xp, x, y: xp.isclose(x, y),
    "real": lambda xp, x, y: xp.real(x),
}


# XLA computes wrongly, or stops the process, with two bits.
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_values_and_dtypes_are_jaxs(name: str, operation: str) -> None:
    function = OPERATIONS[operation]
    x, y = pair(name)
    want = np.asarray(function(jnp, jnp.asarray(x), jnp.asarray(y)))
    for got in (
        function(fnp, fnp.asarray(x), fnp.asarray(y)),
        fgrad.jit(lambda a, b: function(fnp, a, b))(x, y),
        fgrad.vmap(lambda a, b: function(fnp, a, b))(np.stack([x, x]), np.stack([y, y]))[1],
    ):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(np.asarray(got, float), np.asarray(want, float), rtol=1e-6)


EXACT = "and or xor invert compare maximum clip sign where sort argsort max argmax any gather diff flip".split()
EXACT += ["add", "subtract", "multiply", "negative", "a number", "dot", "matmul", "concatenate"]


@pytest.mark.parametrize("operation", EXACT)
@pytest.mark.parametrize("name", ["int2", "uint2"])
def test_two_bits_are_those_of_wide_integers(name: str, operation: str) -> None:
    function = OPERATIONS[operation]
    x, y = pair(name)
    low = -2 if name == "int2" else 0
    wide = np.asarray(function(fnp, fnp.asarray(x.astype(int)), fnp.asarray(y.astype(int))))
    for got in (
        function(fnp, fnp.asarray(x), fnp.asarray(y)),
        fgrad.jit(lambda a, b: function(fnp, a, b))(x, y),
    ):
        if operation not in ("compare", "any", "argsort", "argmax"):
            assert got.dtype == x.dtype
            wide = (wide - low) % 4 + low
        np.testing.assert_array_equal(np.asarray(got, int), wide)


def test_all_products_wrap() -> None:
    for name in (*NAMES, "int1", "uint1"):
        bits, signed = int(name[-1]), name[0] == "i"
        values = np.arange(2**bits) - signed * 2 ** (bits - 1)
        x = fnp.asarray(values.astype(getattr(ml_dtypes, name)))
        for combine in (np.add, np.subtract, np.multiply):
            got = np.asarray(combine(x[:, None], x), int)
            want = combine.outer(values, values) - values[0]
            np.testing.assert_array_equal(got, want % 2**bits + values[0])


def test_right_shifts_keep_the_sign_of_those_that_have_one() -> None:
    # JAX shifts those without a sign as if they had one.
    for name in NAMES:
        x, _ = pair(name)
        want = x.astype(int) >> 1
        for got in (fnp.asarray(x) >> 1, fgrad.jit(lambda a: a >> 1)(x)):
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(np.asarray(got, int), want)


def test_numpys_rules_where_jax_refuses() -> None:
    x = fnp.asarray([1, -8, 7, 3], fnp.int4)
    # Sums of integers have 64 bits, as of all others.
    assert fnp.sum(x) == 3
    assert fnp.sum(x).dtype == np.int64
    assert fnp.prod(x) == -168
    np.testing.assert_array_equal(fnp.abs(x), np.array([1, -8, 7, 3], ml_dtypes.int4))


def test_they_are_indices() -> None:
    index = fnp.asarray([2, -1, 0], fnp.int4)
    x = fnp.arange(10.0)
    want = [2.0, 9.0, 0.0]
    assert x[index].tolist() == fnp.take(x, index).tolist() == want
    assert fgrad.jit(lambda a, i: a[i])(x, index).tolist() == want
    assert x[fnp.int4(3)] == 3.0
    assert fnp.repeat(x[:2], fnp.asarray([2, 1], fnp.uint2)).tolist() == [0.0, 0.0, 1.0]
    assert fnp.bincount(fnp.asarray([1, 3, 3], fnp.uint2)).tolist() == [0, 1, 0, 2]


def test_conversions_between_all_of_them() -> None:
    others = [*NAMES, "uint1", "bfloat16", "float8_e4m3fn"]
    for source, target in itertools.product(others, [*others, "int1"]):
        x = np.array([0, 1, 1, 0]).astype(getattr(ml_dtypes, source))
        for got in (
            fnp.asarray(x).astype(getattr(fnp, target)),
            fgrad.jit(lambda a, t=target: a.astype(getattr(fnp, t)))(x),
        ):
            assert got.dtype == getattr(ml_dtypes, target)
            # One bit with a sign is 0 or -1.
            np.testing.assert_array_equal(np.abs(np.asarray(got, float)), [0, 1, 1, 0])


def test_questions() -> None:
    for name in NAMES:
        dtype, theirs = getattr(fnp, name), getattr(jnp, name)
        limits, want = fnp.iinfo(dtype), jnp.iinfo(theirs)
        assert (limits.min, limits.max, limits.bits) == (want.min, want.max, want.bits)
        for above in ("integer", "signedinteger", "unsignedinteger", "number", "floating"):
            want = jnp.issubdtype(theirs, getattr(jnp, above))
            assert fnp.issubdtype(dtype, getattr(fnp, above)) == want
        for kind in ("signed integer", "unsigned integer", "integral", "numeric", "bool"):
            assert fnp.isdtype(dtype, kind) == jnp.isdtype(theirs, kind)
        with pytest.raises(ValueError, match=name):
            fnp.finfo(dtype)


def test_they_print_pickle_and_loop() -> None:
    x = fnp.asarray([1, -8, 7], fnp.int4)
    assert repr(x) == "Array([1, -8, 7], dtype=int4)"
    again = pickle.loads(pickle.dumps(x))
    assert again.dtype == x.dtype
    assert again.tolist() == x.tolist()
    carry, rows = fgrad.lax.scan(lambda c, a: (c + a, c), fnp.int4(0), x)
    assert (carry, carry.dtype, rows.tolist()) == (0, x.dtype, [0, 1, -7])


def test_they_have_no_derivatives() -> None:
    x = fnp.asarray([1, 3], fnp.uint4)
    with pytest.raises(DifferentiationTypeError, match="uint4"):
        fgrad.grad(lambda v: fnp.sum(v * v).astype(float))(x)
    scale = np.float32([0.5, 0.25])
    dequantized = fgrad.grad(lambda s: fnp.sum(s * x.astype(np.float32)))(scale)
    assert dequantized.tolist() == [1.0, 3.0]
