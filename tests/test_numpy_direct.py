"""Functions of arrays that are not traced take a short way to NumPy: it gives what the long way gives.

The long way is taken where results are checked, as they are in all other tests.
"""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad.array import shares_writable
from fgrad.config import switches

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]
SHAPES = [(), (3,), (2, 3), (1, 3), (0, 3), (2, 1, 3)]
REDUCTIONS = ["sum", "prod", "max", "min", "mean", "any", "all"]
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv]
OPERATORS += [operator.mod, operator.pow, operator.matmul, operator.and_, operator.or_]
OPERATORS += [operator.xor, operator.lshift, operator.eq, operator.lt, operator.ge]
ELEMENTWISE = {n: getattr(f, "primitive", None) for n, f in vars(fnp).items()}
UNARY = [n for n, primitive in ELEMENTWISE.items() if getattr(primitive, "arity", 0) == 1]
BINARY = [n for n, primitive in ELEMENTWISE.items() if getattr(primitive, "arity", 0) == 2]
assert len(UNARY) > 50
assert len(BINARY) > 35


@pytest.fixture(autouse=True)
def without_narrow_types() -> Iterator[None]:
    """The short way is closed once types of ml_dtypes have come into use, as they have after other tests."""
    before = switches.narrow_dtypes
    switches.narrow_dtypes = False
    switches.refresh()
    yield
    switches.narrow_dtypes = before
    switches.refresh()


def outcome(function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """All that a user sees of a call."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except (fgrad.errors.FgradError, TypeError, ValueError, OverflowError) as error:
            return type(error), str(error)
    assert type(result) is fgrad.Array
    assert not shares_writable(result)
    # Where a product or a quotient has several functions in NumPy, each says its name.
    said = sorted({(w.category, str(w.message).partition(" in ")[0]) for w in heard}, key=str)
    return result.shape, result.dtype, result.weak_type, np.array(result).tobytes(), said


def agree(function: Callable[..., Any], *args: Any) -> None:
    fgrad.config.update("fgrad_check_jaxprs", True)
    assert not switches.as_numpy
    long = outcome(function, *args)
    fgrad.config.update("fgrad_check_jaxprs", False)
    assert switches.as_numpy
    assert outcome(function, *args) == long, (function, args)


def arrays(dtype: str, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        made = [fnp.asarray(rng.normal(0, 3, shape).astype(dtype)) for shape in SHAPES]
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0]).astype(dtype)
    return [*made, fnp.asarray(special), fnp.asarray(special)[:3]]


NUMBERS = [fnp.asarray(2), fnp.asarray(0.5), 3, 2.5, -1, True, 1j, 300]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name: str) -> None:
    for dtype in DTYPES:
        for x in [*arrays(dtype), *NUMBERS]:
            agree(getattr(fnp, name), x)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name: str) -> None:
    for left, right in zip(DTYPES, [*DTYPES[3:], *DTYPES[:3]], strict=True):
        pairs = [(x, y) for x in arrays(left)[::2] for y in [*arrays(right, 1)[1::2], *NUMBERS]]
        for x, y in [*pairs, *itertools.pairwise(NUMBERS)]:
            agree(getattr(fnp, name), x, y)


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators(function: Callable[..., Any]) -> None:
    for left, right in zip(DTYPES, [*DTYPES[4:], *DTYPES[:4]], strict=True):
        for x in arrays(left):
            for y in [*arrays(right, 1), *NUMBERS]:
                agree(function, x, y)
            for y in NUMBERS[2:]:
                agree(function, y, x)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    function = getattr(fnp, name)
    for dtype in DTYPES:
        for x in [*arrays(dtype), *NUMBERS]:
            for axis in (None, 0, 1, -1, -2, 3, (0, 1), (1, -1), (), [0], np.int64(0), "x", 1.0):
                agree(lambda x, axis=axis: function(x, axis=axis), x)
                agree(lambda x, axis=axis: function(x, axis=axis, keepdims=True), x)


def test_reductions_with_other_arguments() -> None:
    x = fnp.arange(6.0).reshape(2, 3)
    for name in ("sum", "prod", "max", "min"):
        function = getattr(fnp, name)
        agree(lambda x, f=function: f(x, initial=2.0), x)
        agree(lambda x, f=function: f(x, where=x > 2.0, initial=1.0), x)
        agree(lambda x, f=function: f(x, out=np.zeros(())), x)
    agree(lambda x: fnp.sum(x, dtype="float32"), x)
    agree(lambda x: fnp.mean(x, dtype="float32"), x)
    agree(lambda x: fnp.mean(x, where=x > 2.0), x)
    agree(lambda x: fnp.any(x, where=x > 9.0), x)
    agree(lambda x: fnp.sum(x, promote_integers=False), fnp.arange(3, dtype=np.int8))


@pytest.mark.parametrize("dtype", DTYPES)
def test_shapes_and_joins(dtype: str) -> None:
    values = arrays(dtype)
    shapes: list[Any] = [(3, 1), (-1,), (6,), (1, -1, 1), (-1, -1), (-2, 3), (), 3, -1, (2.0, 3)]
    shapes += [(True, 3), (np.int64(3), 1), [3, 1], (0, 5), (7,)]
    for x in [*values, *NUMBERS]:
        for shape in shapes:
            agree(lambda x, shape=shape: fnp.reshape(x, shape), x)
            agree(lambda x, shape=shape: fnp.reshape(fnp.transpose(x), shape), x)
    agree(lambda x: fnp.reshape(x, (2, 3), order="F"), fnp.arange(6))
    others = [*arrays("float32", 1), *NUMBERS]
    for join in (fnp.concatenate, fnp.stack):
        for x in values:
            for y in others:
                for axis in (0, 1, -1, 2, None, "x"):
                    agree(lambda x, y, j=join, axis=axis: j([x, y], axis), x, y)
            agree(lambda x, j=join: j((x, x, x)), x)
            agree(lambda x, j=join: j([x, np.zeros(3)]), x)
        agree(lambda j=join: j([]))


@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_creations(name: str) -> None:
    shapes: list[Any] = [3, 0, (), (2, 3), (0, 2), -1, (2, -1), (2.0,), True, (True, 2), [2, 2]]
    shapes += [np.int64(2), (np.int64(2), 1), "x", (1,) * 70, fnp.asarray(2)]
    for shape in shapes:
        for dtype in (None, float, np.float32, "int8", bool, "complex64", "O", "x"):
            agree(lambda s=shape, d=dtype: getattr(fnp, name)(s, d))


def test_large_creations_belong_to_the_open_body() -> None:
    fgrad.config.update("fgrad_check_jaxprs", False)
    assert "4096" in str(fgrad.make_jaxpr(lambda x: x + fnp.zeros(4096))(1.0))


def test_tracers_do_not_take_the_short_way() -> None:
    fgrad.config.update("fgrad_check_jaxprs", False)
    x = fnp.arange(1.0, 4.0)
    sums = {
        "concatenate": lambda x: fnp.sum(fnp.concatenate([x, fnp.ones(2)]) ** 2),
        "stack": lambda x: fnp.sum(fnp.stack([x, fnp.ones(3)]) ** 2),
        "reshape": lambda x: fnp.sum(fnp.reshape(x, (3, 1)) ** 2),
        "mean": lambda x: fnp.mean(x**2) * 3,
    }
    for f in sums.values():
        np.testing.assert_allclose(fgrad.grad(f)(x), 2 * np.asarray(x), rtol=1e-15)


AXES: list[Any] = [None, 0, 1, -1, 3, (0, 1), np.int64(0), "x"]
#: Calls of an array and one more argument, and what the argument may be.
CALLS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "sort": (lambda x, axis: fnp.sort(x, axis=axis), AXES),
    "sort downwards": (lambda x, axis: fnp.sort(x, axis=axis, descending=True), [0, -1]),
    "argsort": (lambda x, axis: fnp.argsort(x, axis=axis), AXES),
    "argsort downwards": (lambda x, axis: fnp.argsort(x, axis, descending=True), [0, -1]),
    "argmax": (lambda x, axis: fnp.argmax(x, axis), AXES),
    "argmin": (lambda x, axis: fnp.argmin(x, axis, keepdims=True), AXES),
    "flip": (lambda x, axis: fnp.flip(x, axis), AXES),
    "roll": (lambda x, axis: fnp.roll(x, 2, axis), AXES),
    "roll by": (lambda x, shift: fnp.roll(x, shift), [0, -1, 100, (1, 2), 1.5, "x"]),
    "repeat": (lambda x, axis: fnp.repeat(x, 2, axis), AXES),
    "repeat by": (lambda x, count: fnp.repeat(x, count), [0, 1, -1, [2], 1.5, "x"]),
    "diff": (lambda x, axis: fnp.diff(x, axis=axis), AXES),
    "diff by": (lambda x, n: fnp.diff(x, n), [0, 1, 2, 9, -1, 1.5]),
    "astype": (lambda x, dtype: fnp.astype(x, dtype), [*DTYPES, None, "O", "x"]),
    "clip": (lambda x, low: fnp.clip(x, low, 2), [0, -1.5, 300, -300, True, None]),
    "clip above": (lambda x, high: fnp.clip(x, 0, high), [1, 0.5, 300, -300, True, None]),
    "reshape": (lambda x, shape: fnp.reshape(x, shape), [-1, 3, 6, 0, -2, True]),
    "transpose": (lambda x, axes: fnp.transpose(x, axes), [None, (1, 0), (0,)]),
    "trace": (lambda x, offset: fnp.trace(x, offset), [0, 1, -5, 1.5]),
    "trace of axes": (lambda x, axis: fnp.trace(x, 0, axis, 1), [-1, 0, 1, 5]),
    "take": (lambda x, axis: fnp.take(x, fnp.asarray([0, -1]), axis), AXES),
    "take at": (
        lambda x, index: fnp.take(x, index, 0),
        [
            *(fnp.asarray(i) for i in ([0, 0], [5], [], [True], [1.0], 0, np.uint8([1]))),
            *(0, -1, 7, True, 1.5, [0]),
        ],
    ),
    "full": (
        lambda x, fill: fnp.full(np.shape(x), fill, np.asarray(x).dtype),
        [0, -0.0, 2.5, 300, True, 1j],
    ),
    "full by itself": (lambda x, fill: fnp.full(np.shape(x), fill), [0, -0.0, 2.5, True, 2**63]),
    "searchsorted": (
        lambda x, v: fnp.searchsorted(fnp.sort(x), v),
        [0.5, 1, 300, fnp.asarray([[0.5, fnp.nan]]), fnp.asarray(2), fnp.arange(3), "x"],
    ),
    "searchsorted by side": (lambda x, side: fnp.searchsorted(x, 1.0, side), ["right", "x", 1]),
    "outer": (lambda x, y: fnp.outer(x, y), [fnp.arange(3), fnp.asarray(2.5), 2, fnp.ones((2, 1))]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_with_one_more_argument(name: str) -> None:
    call, others = CALLS[name]
    for dtype in DTYPES[::2]:
        for x in [*arrays(dtype), *NUMBERS[:3]]:
            for other in others:
                agree(lambda x, other=other: call(x, other), x)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", DTYPES[1::2])
def test_variances(name: str, dtype: str) -> None:
    function = getattr(fnp, name)
    for x in arrays(dtype):
        for axis in (None, 0, -1, (0, 1), 5):
            for keywords in ({}, {"keepdims": True}, {"ddof": 1}):
                results = []
                for checked in (True, False):
                    fgrad.config.update("fgrad_check_jaxprs", checked)
                    try:
                        with np.errstate(all="ignore"):
                            results.append(function(x, axis=axis, **keywords))
                    except fgrad.errors.FgradError as error:
                        results.append(str(error))
                long, short = results
                if isinstance(long, str):
                    assert short == long
                    continue
                assert (short.dtype, short.shape, short.weak_type) == (
                    long.dtype,
                    long.shape,
                    long.weak_type,
                )
                assert not shares_writable(short)
                tolerance = {"float16": 2e-3, "float32": 1e-5}.get(short.dtype.name, 1e-12)
                np.testing.assert_allclose(np.asarray(short), np.asarray(long), rtol=tolerance)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_interpolation() -> None:
    ordered, values = fnp.asarray([-1.0, 0.5, 2.0]), fnp.asarray([3.0, -1.0, 4.0])
    samples = [(ordered, values), (ordered[:1], values[:1])]
    # Where NumPy gives NaN, or depends on how it searches.
    samples += [(ordered, fnp.asarray([1.0, fnp.inf, fnp.inf])), (ordered[::-1], values)]
    samples += [(fnp.asarray([0.0, 0.0, 1.0]), values)]
    for x in [*arrays("float64"), *arrays("float32"), *arrays("int64"), *NUMBERS[:4]]:
        for places, heights in samples:
            results = []
            for checked in (True, False):
                fgrad.config.update("fgrad_check_jaxprs", checked)
                results.append(fnp.interp(x, places, heights))
            long, short = results
            assert (short.dtype, short.shape) == (long.dtype, long.shape)
            np.testing.assert_allclose(np.asarray(short), np.asarray(long), rtol=1e-13)
