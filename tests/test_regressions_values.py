"""Values and gradients that were wrong once, by their kinds."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad import lax
from fgrad.primitives.elementwise_functions import log_of_sum_of_exponentials


@pytest.mark.parametrize("rows", [3, 255, 256, 5000])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bool"])
def test_sums_of_no_elements(rows: int, dtype: str) -> None:
    for shape, axis in [((rows, 0), -1), ((0, rows), 0), ((rows, 0), 0), ((rows, 0, 2), (1, 2))]:
        x = np.zeros(shape, dtype)
        for run in (fnp.sum, fgrad.jit(fnp.sum, static_argnums=1)):
            got = run(x, axis)
            assert got.dtype == x.sum(axis).dtype
            np.testing.assert_array_equal(got, x.sum(axis))
    with np.errstate(invalid="ignore"):
        assert np.isnan(fnp.mean(np.zeros((rows, 0), dtype), -1)).all()
    gradient = fgrad.grad(lambda b: fnp.sum(b + np.zeros((rows, 0))))(np.ones((rows, 1)))
    np.testing.assert_array_equal(gradient, np.zeros((rows, 1)))


@pytest.mark.parametrize("shapes", [((2, 0), (0, 2)), ((0, 2), (2, 2)), ((2, 2), (2, 0))])
@pytest.mark.parametrize("count", [3, 512, 2000])
def test_stacks_of_empty_matrices(shapes: Any, count: int) -> None:
    one, two = (np.zeros((count, *shape)) for shape in shapes)
    want = one @ two
    for run in (fnp.matmul, fgrad.jit(fnp.matmul)):
        np.testing.assert_array_equal(run(one, two), want)
    gradient = fgrad.grad(lambda a: fnp.sum(a @ two))(one)
    np.testing.assert_array_equal(gradient, one)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32"])
@pytest.mark.parametrize("wrap", [lambda f: f, fgrad.jit], ids=["eager", "jit"])
def test_zero_cotangents_absorb_in_every_float(name: str, wrap: Any) -> None:
    dtype = np.dtype(name) if name in ("float16", "float32") else np.dtype(getattr(ml_dtypes, name))
    x = np.array([0.0, 1.0, 2.0]).astype(dtype)
    safe_log = wrap(fgrad.grad(lambda x: fnp.sum(fnp.where(x > 0, fnp.log(x), fnp.zeros_like(x)))))
    np.testing.assert_array_equal(np.asarray(safe_log(x), float), [0.0, 1.0, 0.5])
    rows = np.array([[np.nan, 1.0]]).astype(dtype)
    unread = wrap(fgrad.grad(lambda x: fnp.sum(fnp.max(x, 1) * dtype.type(0))))
    np.testing.assert_array_equal(np.asarray(unread(rows), float), [[0.0, 0.0]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_slope_towards_a_divisor_keeps_its_digits_in_half_precision() -> None:
    def loss(x: Any, y: Any) -> Any:
        return fnp.sum(x / y) * np.float16(1e-4)

    got = fgrad.grad(loss, 1)(np.float16([60000]), np.float16([1000]))
    # -x / y**2, times the cotangent
    want = -60000 / 1000**2 * float(np.float16(1e-4))
    np.testing.assert_allclose(np.asarray(got, float), [want], rtol=0.03)
    assert np.isnan(fgrad.grad(lambda y: np.inf / y)(np.inf))


@pytest.mark.parametrize("pred", [True, False])
def test_a_known_branch_gets_arrays_of_fgrad(pred: bool) -> None:
    x = np.ones(2)

    def choose(x: Any) -> Any:
        return lax.cond(pred, lambda x: x.at[0].set(5.0), lambda x: x.at[1].set(7.0), x)

    want = [5.0, 1.0] if pred else [1.0, 7.0]
    np.testing.assert_array_equal(choose(x), want)
    np.testing.assert_array_equal(fgrad.jit(choose)(x), want)
    np.testing.assert_array_equal(x, [1.0, 1.0])
    index = int(pred)
    chosen = lax.switch(index, [lambda x: x.at[0].add(1.0), lambda x: x.at[1].add(2.0)], x)
    np.testing.assert_array_equal(chosen, [1.0, 3.0] if pred else [2.0, 1.0])


def test_a_choice_between_narrow_and_other_integers_is_refused() -> None:
    narrow = np.array([5, 2], ml_dtypes.int4)
    others = [np.array([100, 100], np.int8), 3.5]
    for other in others:
        for a, b in ((narrow, other), (other, narrow)):
            for run in (fnp.where, fgrad.jit(fnp.where)):
                with pytest.raises(fgrad.errors.DTypeError, match="int4"):
                    run(np.array([False, True]), a, b)


def test_places_of_few_bits_are_one_hot() -> None:
    for dtype in (ml_dtypes.int4, np.uint8, np.int32):
        got = fgrad.nn.one_hot(np.array([1, 2]).astype(dtype), 4)
        np.testing.assert_array_equal(got, [[0, 1, 0, 0], [0, 0, 1, 0]])


def test_the_slope_of_hard_silu_at_infinity() -> None:
    slopes = fgrad.vmap(fgrad.grad(fgrad.nn.hard_silu))(np.array([np.inf, 5.0, 1.0, -5.0]))
    # x (x + 3) / 6 has the slope (2 x + 3) / 6 in between.
    np.testing.assert_allclose(slopes, [1.0, 1.0, 5.0 / 6.0, 0.0], rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [0, 1])
def test_logaddexp_over_an_operand_knows_equal_infinities(dtype: Any, place: int) -> None:
    ends = [np.inf, -np.inf, np.nan, 1.0, 800.0, -0.0]
    a, b = (np.array(x, dtype) for x in zip(*[(x, y) for x in ends for y in ends], strict=True))
    with np.errstate(invalid="ignore"):
        want = np.logaddexp(a, b)
    np.testing.assert_allclose(log_of_sum_of_exponentials(a, b), want, rtol=8 * np.finfo(dtype).eps)
    operands = [a, b]
    got = log_of_sum_of_exponentials(*operands, operands[place])
    np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtype).eps)
