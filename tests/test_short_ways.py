"""NumPy's functions in the place of ours give what ours give: bits, dtypes, classes, warnings and errors.

The long way is taken where results are checked, as they are in all other tests.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support import rows
from support.refusals import assert_users_traceback

import fgrad
import fgrad.numpy as fnp
from fgrad.array import shares_writable
from fgrad.config import switches
from fgrad.numpy.short_ways import SHORT_WAYS

NAMES = [name.removeprefix("fgrad.numpy.") for name in SHORT_WAYS]
# Products over stacks: sums may differ in their last bits.
PRODUCTS = {"vecdot", "linalg.vecdot"}
FIRST = ["A", "C", "I", "I3", "B3", "[A, A]", "(C, V)", "3", "2.5", "True", "(A, 3)", "-1", "0"]
SECOND = ["0", "1", "-1", "5", "True", "(0, 1)", "1.5", "'x'", "None", "np.int64(1)", "-5", "[0]"]
SECOND += ["A", "C", "I", "I3", "(-1,)", "()"]
KEYWORDS = """
    axis keepdims k n dtype mode norm where initial ddof weights side indexing rowvar UPLO return_index equal_nan
    prepend axes atol bins offset hermitian sparse
""".split()
VALUES = ["0", "1", "-1", "True", "None", "(0, 1)", "'full'", "A", "0.5", "A > 0", "'ij'", "-3"]


@pytest.fixture(autouse=True)
def without_warnings_of_numbers() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def described(result: Any, bits: bool) -> Any:
    if isinstance(result, list | tuple):
        return type(result), [described(item, bits) for item in result]
    if not isinstance(result, fgrad.Array):
        return type(result), repr(result)
    assert not shares_writable(result)
    value = np.array(result)
    if value.dtype.kind in "fc" and not bits:
        value = value.astype("c16").round(9) + 0.0
    # Which NaN it is does not count.
    text = repr(value.tolist()) if value.dtype.kind in "fc" else value.tobytes()
    return result.shape, result.dtype, result.weak_type, text


def outcome(function: Callable[[], Any], bits: bool) -> Any:
    """All that a user sees of a call."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = function()
        except Exception as error:  # Whatever it is: both ways are to say the same.
            return type(error), re.sub(r"\(\S+\.py:.*", "", str(error))
    return described(result, bits), sorted({w.category.__name__ for w in heard})


def agree(expression: str, operands: dict[str, Any], bits: bool = True) -> None:
    code = compile(expression, "expression", "eval")
    for made in (fnp.asarray, lambda x: x):
        given = {n: made(x) if isinstance(x, np.ndarray) else x for n, x in operands.items()}
        scope = {"xp": fnp, "np": np, **given}
        outcomes = []
        for long in (True, False):
            fgrad.config.update("fgrad_check_jaxprs", long)
            assert switches.unchanged is not long
            outcomes.append(outcome(functools.partial(eval, code, scope), bits))
        assert outcomes[0] == outcomes[1], (expression, operands)


def drawn(expression: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rows.operand(name, rng) for name in rows.operands_of(expression)}


def variants(x: Any) -> Iterator[Any]:
    if not isinstance(x, np.ndarray):
        return
    if x.dtype == np.int64:
        yield from (x.astype(dtype) for dtype in ("i1", "u8", "f8"))
        yield x[:0]
    elif x.dtype == np.float64 and x.ndim:
        yield from (x.astype(dtype) for dtype in ("f2", "f4", "c8", "c16"))
        yield from (np.round(x).astype("i4"), x > 0, np.concatenate([x, x * np.nan]), x[:0])
        yield from (np.asfortranarray(x), x[..., None])
        odd = np.arange(x.size).reshape(x.shape) % 2
        yield from (np.where(odd, -0.0, x), np.where(odd, np.inf, x))


@pytest.mark.parametrize("name", NAMES)
def test_expressions_of_the_oracle(name: str) -> None:
    entry = rows.ROWS[name]
    for expression in entry if isinstance(entry, tuple | list) else (entry,):
        if not isinstance(expression, str) or "xp." not in expression:
            continue
        operands = drawn(expression)
        agree(expression, operands, name not in PRODUCTS)
        for n, x in operands.items():
            for other in variants(x):
                agree(expression, {**operands, n: other}, name not in PRODUCTS)


@pytest.mark.parametrize("name", NAMES)
def test_any_arguments(name: str) -> None:
    calls = [f"xp.{name}({x})" for x in FIRST]
    pairs = itertools.product(FIRST, SECOND)
    keywords = itertools.product(["A", "A, C", "C, 1"], KEYWORDS, VALUES)
    more = [f"xp.{name}({x}, {y})" for x, y in pairs]
    more += [f"xp.{name}({x}, {k}={v})" for x, k, v in keywords]
    calls += random.Random(name).sample(more, 120)
    for expression in calls:
        agree(expression, drawn(expression), name not in PRODUCTS)


@pytest.mark.parametrize("name", ["einsum", "interp", "empty", "zeros", "ones", "full"])
def test_functions_with_ways_of_their_own(name: str) -> None:
    expressions = rows.ROWS[name]
    assert len(expressions) > 1
    for expression in expressions:
        operands = drawn(expression)
        agree(expression, operands)
        for n, x in operands.items():
            for other in variants(x):
                agree(expression, {**operands, n: other})


def test_a_warning_that_is_an_error_shows_no_frame_of_the_library() -> None:
    fgrad.config.update("fgrad_check_jaxprs", False)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning) as caught:
            fnp.float_power(fnp.asarray([-1.0, 2.0]), 0.5)
    assert_users_traceback(caught.value, __file__)


# Where NumPy's functions are looser than ours, or choose otherwise.
STRICT = """
    xp.union1d(i1, 300)
    xp.union1d(f4, 1)
    xp.polyval(i1, 5)
    xp.polyval(f4, 2)
    xp.ediff1d(i1, to_begin=1000)
    xp.ediff1d(i1, 300)
    xp.full_like(i1, 300.0)
    xp.full_like(u1, -1.0)
    xp.full_like(i1, np.nan)
    xp.full_like(i1, 300)
    xp.select([i1 > 1], [i1], 300)
    xp.select([i1 > 1], [i1])
    xp.append(i1, 300)
    xp.kron(i1, 10**20)
    xp.linalg.cholesky(m)
    xp.linalg.matrix_rank(m, hermitian=True)
    xp.linalg.svd(m, hermitian=True, compute_uv=False)
    xp.linalg.pinv(m, hermitian=True)
    xp.pad(f4, 9, "empty")
    xp.pad(u1, 2, "linear_ramp", end_values=-1)
    xp.insert(f8, xp.asarray([-9, 1]), -1)
    xp.insert(f8, 1, np.ones((1, 1)))
    xp.linalg.tensorsolve(xp.asarray([4.0]), xp.asarray([2.0]))
    xp.arange(0, 2**64, 2**62)
    xp.cumulative_sum(f8, axis=(0,))
    xp.unstack(f8, axis=(0,))
    xp.fft.fftshift(f8, axes=(0, 0))
    xp.linalg.multi_dot([xp.ones((1, 1)), xp.ones((2, 1, 3))])
    xp.linspace(0, 1, 1, retstep=True)[1]
    xp.unique(u1, sorted=False)
    xp.union1d(z, z[::-1])
    xp.unique_inverse(z)[0]
    xp.blackman(1)
    xp.cov(m, ddof=2)
    xp.corrcoef(m[:1, :1])
    xp.tri(3, -1)
""".split("\n")


@pytest.mark.parametrize("expression", [line.strip() for line in STRICT if line.strip()])
def test_what_only_the_long_way_tells(expression: str) -> None:
    operands = {
        "i1": np.array([1, 2, 3], "i1"),
        "u1": np.array([3, 1, 2], "u1"),
        "f4": np.array([1.0, 2.0, 3.0], "f4"),
        "f8": np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        "m": np.array([[3.0, 1.0], [2.0, 6.0]]),
        "z": np.array([0.0, 1.0, -0.0, 1.0, 0.0]),
    }
    agree(expression, operands)


def test_there_is_one_answer_for_a_number_times_an_array() -> None:
    agree("xp.dot(np.array(2.0), x)", {"x": np.array([0.0, -0.0, 1.0])})
    agree("xp.dot(x, np.array(-2.0))", {"x": np.array([0.0, -0.0, 1.0])})


def test_the_short_way_is_taken() -> None:
    """A function that took the long way always would agree with itself."""
    fgrad.config.update("fgrad_check_jaxprs", False)
    taken = set()
    for name, short_way in SHORT_WAYS.items():
        entry = rows.ROWS[name.removeprefix("fgrad.numpy.")]
        for expression in entry if isinstance(entry, tuple | list) else (entry,):
            if not isinstance(expression, str) or "xp." not in expression:
                continue

            def spy(*args: Any, **kwargs: Any) -> Any:
                if short_way(args, kwargs) is not None:  # noqa: B023
                    taken.add(name)  # noqa: B023
                return None

            spied = re.sub(
                rf"\bxp\.{re.escape(name.removeprefix('fgrad.numpy.'))}\(", "spy(", expression
            )
            try:
                eval(spied, {"xp": fnp, "np": np, "spy": spy, **drawn(expression)})
            except (TypeError, AttributeError):
                continue
    assert set(SHORT_WAYS) == taken
