"""reduce, accumulate, reduceat, outer and at: of fgrad's functions, and of NumPy's on traced values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, AxisError, DTypeError, InPlaceError, ShapeError

REAL = (
    "add subtract multiply divide maximum minimum fmax fmin logaddexp logaddexp2 hypot power arctan2 "
    "remainder fmod copysign"
).split()
WHOLE = "bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift".split()
LOGICAL = "logical_and logical_or logical_xor".split()
NAMES = [*REAL, *WHOLE, *LOGICAL]
SMOOTH = "add subtract multiply divide maximum logaddexp logaddexp2 hypot power arctan2".split()


def numbers(name: str, size: int = 5) -> Any:
    if name in WHOLE:
        return np.arange(1, 3 * size + 1).reshape(size, 3)
    values = np.random.default_rng(7).uniform(0.4, 1.6, (size, 3))
    return np.round(values) if name in LOGICAL else values


def agree(got: Any, want: Any) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def ways(name: str, method: str, *args: Any, **kwargs: Any) -> list[Any]:
    """The results of fgrad's function and of NumPy's on a traced value, compiled and in a batch."""
    ours, theirs = getattr(getattr(fnp, name), method), getattr(getattr(np, name), method)
    x, rest = args[0], args[1:]
    stacked = fgrad.vmap(lambda t: ours(t, *rest, **kwargs))(np.stack([x, x]))
    return [
        ours(x, *rest, **kwargs),
        fgrad.jit(lambda t: theirs(t, *rest, **kwargs))(x),
        stacked[1],
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_reduce_agrees_with_numpy(name: str, size: int) -> None:
    x = numbers(name, size)
    for keywords in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}):
        want = getattr(np, name).reduce(x, **keywords)
        for got in ways(name, "reduce", x, **keywords):
            agree(got, want)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_accumulate_agrees_with_numpy(name: str, size: int) -> None:
    x = numbers(name, size)
    for axis in (0, 1):
        want = getattr(np, name).accumulate(x, axis)
        for got in ways(name, "accumulate", x, axis):
            agree(got, want)


@pytest.mark.parametrize("name", NAMES)
def test_reduceat_and_outer_agree_with_numpy(name: str) -> None:
    x = numbers(name)
    for got in ways(name, "reduceat", x, [0, 3, 1, 2]):
        agree(got, getattr(np, name).reduceat(x, [0, 3, 1, 2]))
    for got in ways(name, "outer", x, x[0]):
        agree(got, getattr(np, name).outer(x, x[0]))


@pytest.mark.parametrize("name", NAMES)
def test_at_agrees_with_numpy(name: str) -> None:
    x = numbers(name)
    index = ([0, 2], [1, 1])
    want = x.copy()
    if name not in LOGICAL:
        getattr(np, name).at(want, index, x[3, 1:])
        agree(getattr(fnp, name).at(x, index, x[3, 1:], inplace=False), want)
    if name in ("add", "subtract", "multiply", "maximum", "minimum", "divide"):
        want = x.copy()
        getattr(np, name).at(want, ([1, 1, 0],), x[:3])
        agree(getattr(fnp, name).at(x, ([1, 1, 0],), x[:3], inplace=False), want)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_derivatives_agree_with_differences(name: str, method: str) -> None:
    x, step = numbers(name), 1e-6

    def f(t: Any) -> Any:
        return getattr(getattr(np, name), method)(t)

    slopes = fgrad.jacrev(f)(x)
    np.testing.assert_allclose(fgrad.jacfwd(f)(x), slopes, rtol=1e-12, atol=1e-14)
    for i in range(5):
        moved = np.zeros_like(x)
        moved[i, 1] = step
        wanted = (f(x + moved) - f(x - moved)) / (2 * step)
        np.testing.assert_allclose(slopes[..., i, 1], wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["logaddexp", "hypot", "bitwise_and", "gcd", "fmax", "subtract"])
def test_no_elements_masks_and_initial_values(name: str) -> None:
    ours, theirs = getattr(fnp, name), getattr(np, name)
    x = numbers(name)
    first = x[0, 0]
    mask = np.arange(15).reshape(5, 3) % 2 == 0
    if theirs.identity is None:
        with pytest.raises(ShapeError, match=f"{name}.reduce: an array of shape .* give initial="):
            ours.reduce(x[:0])
        with pytest.raises(ArgumentError, match="where= may leave out"):
            ours.reduce(x, where=mask)
    else:
        agree(ours.reduce(x[:0]), theirs.reduce(x[:0]))
        agree(ours.reduce(x, where=mask), theirs.reduce(x, where=mask))
    if name != "subtract":
        agree(ours.reduce(x, initial=first, axis=None), theirs.reduce(x, initial=first, axis=None))
        agree(ours.reduce(x, axis=(1, 0)), theirs.reduce(x, axis=(1, 0)))
    agree(ours.reduce(x, initial=first), theirs.reduce(x, initial=first))


def test_numbers_reduce_to_themselves() -> None:
    assert float(fnp.logaddexp.reduce(2.5)) == float(fnp.add.reduce(2.5)) == 2.5
    assert (fnp.add.identity, fnp.add.nin, fnp.add.nargs) == (0, 2, 3)
    assert isinstance(fnp.add, fnp.ufunc)
    assert not isinstance(fnp.sum, fnp.ufunc)


def test_a_unary_function_applies_as_often_as_an_index_repeats() -> None:
    x = np.array([1.0, 2.0, 3.0])
    want = x.copy()
    np.negative.at(want, [0, 1, 1])
    np.testing.assert_array_equal(fnp.negative.at(x, [0, 1, 1], inplace=False), want)


def test_functions_of_users() -> None:
    combine = fnp.frompyfunc(lambda x, y: x * y + x, 2, 1, identity=1.0)
    x = np.arange(1.0, 5.0)
    assert isinstance(combine, fnp.ufunc)
    np.testing.assert_array_equal(combine(x, 2.0), 3 * x)
    total, parts = x[0], [x[0]]
    for y in x[1:]:
        total = total * y + total
        parts.append(total)
    assert float(combine.reduce(x)) == total
    np.testing.assert_array_equal(fgrad.jit(combine.accumulate)(x), parts)
    np.testing.assert_array_equal(combine.outer(x, x), np.outer(x, x) + x[:, None])
    assert fgrad.grad(lambda t: combine.reduce(t))(x).shape == (4,)
    both = fnp.frompyfunc(lambda x: (x, -x), 1, 2)
    np.testing.assert_array_equal(both(x)[1], -x)
    with pytest.raises(ArgumentError, match="needs a function of two operands"):
        both.reduce(x)
    with pytest.raises(ArgumentError, match="takes 2 operands, got 1"):
        combine(x)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: fnp.subtract.reduce(x, axis=(0, 1)), AxisError, "one axis at a time"),
        (lambda x: fnp.add.at(x, 0, 1.0), InPlaceError, "inplace=False"),
        (lambda x: fnp.hypot.at(x, [0, 0], 1.0, inplace=False), ArgumentError, "an index repeats"),
        (lambda x: fnp.logaddexp.accumulate(2.0), ShapeError, "has no axis"),
        (lambda x: fnp.add.reduceat(x, [7]), ArgumentError, "index 7 is out of range"),
        (lambda x: fnp.gcd.reduce(x), DTypeError, "gcd"),
        (lambda x: fgrad.grad(lambda t: np.less.reduce(t))(x), ArgumentError, "np.less.reduce"),
        (lambda x: fgrad.grad(lambda t: np.add.at(t, 0, 1.0))(x), InPlaceError, "np.add.at"),
    ],
)
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(numbers("add"))
