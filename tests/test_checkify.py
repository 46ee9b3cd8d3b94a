"""Checks of values: alone they raise, under checkify they are results, and they find what JAX finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.experimental.checkify as jcheckify
import numpy as np
import pytest
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, CheckError, DTypeError, ShapeError
from fgrad.experimental import checkify

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def positive(m: Any) -> Any:
    n, c = m.numpy, checkify if m is fgrad else jcheckify

    def f(x: Any) -> Any:
        c.check(x > 0.0, "must be positive, got {x}", x=x)
        return n.log(n.where(x > 0.0, x, 1.0))

    return f


def two(m: Any) -> Any:
    c = checkify if m is fgrad else jcheckify

    def f(x: Any) -> Any:
        c.check(x < 2.0, "first {}", x)
        c.check(x < 1.0, "second {}", 2.0 * x)
        return x

    return f


def in_scan(m: Any) -> Any:
    c = checkify if m is fgrad else jcheckify

    def f(x: Any) -> Any:
        def step(carry: Any, k: Any) -> Any:
            c.check(carry < 5.0, "step {} has {}", k, carry)
            return carry * 2.0, carry

        return m.lax.scan(step, x, np.arange(4))[0]

    return f


def in_while(m: Any) -> Any:
    c = checkify if m is fgrad else jcheckify

    def f(x: Any) -> Any:
        def runs(v: Any) -> Any:
            c.check(v < 30.0, "condition {}", v)
            return (v < 20.0) & (v > -20.0)

        def body(v: Any) -> Any:
            c.check(v < 10.0, "body {}", v)
            return v * 3.0

        return m.lax.while_loop(runs, body, x)

    return f


def in_cond(m: Any) -> Any:
    c = checkify if m is fgrad else jcheckify

    def f(x: Any) -> Any:
        def small(v: Any) -> Any:
            c.check(v > 0.0, "small {}", v)
            return v

        def large(v: Any) -> Any:
            c.check(v < 2.0, "large {}", v)
            return 2.0 * v

        return m.lax.cond(x < 1.0, small, large, x)

    return f


def compiled_inside(m: Any) -> Any:
    return lambda x: 2.0 * m.jit(positive(m))(x)


def in_a_gradient(m: Any) -> Any:
    return m.grad(positive(m))


def in_examples(m: Any) -> Any:
    return lambda x: m.vmap(positive(m))(x * np.ones(2))


def under_a_checkpoint(m: Any) -> Any:
    return m.grad(lambda x: m.checkpoint(positive(m))(x) * x)


PROGRAMS: dict[str, Any] = {
    f.__name__: f
    for f in (
        positive,
        two,
        in_scan,
        in_while,
        in_cond,
        compiled_inside,
        in_a_gradient,
        in_examples,
        under_a_checkpoint,
    )
}
POINTS = (-1.0, 0.25, 1.5, 3.5, 11.0, 40.0)


def said(error: Any) -> str | None:
    """What an error of either library says, without the place."""
    text = error.get()
    return None if text is None else text.split(" (")[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_errors_are_those_of_jax(name: str) -> None:
    ours, theirs = PROGRAMS[name](fgrad), PROGRAMS[name](jax)
    plain, checked = checkify.checkify(ours), jax.jit(jcheckify.checkify(theirs))
    compiled = fgrad.jit(checkify.checkify(ours))
    failed = 0
    for x in POINTS:
        expected_error, expected = checked(x)
        for f in (plain, compiled):
            error, got = f(x)
            assert said(error) == said(expected_error)
            np.testing.assert_allclose(got, expected, rtol=1e-13)
        failed += error.get() is not None
        if error.get() is not None:
            with pytest.raises(
                CheckError, match=r"got|first|second|step|condition|body|small|large"
            ):
                fgrad.jit(ours)(x)
        else:
            np.testing.assert_allclose(fgrad.jit(ours)(x), expected, rtol=1e-13)
    assert 0 < failed < len(POINTS)
    rows = fgrad.vmap(plain)(np.array(POINTS))
    singles = [plain(x) for x in POINTS]
    lines = (rows[0].get() or "").splitlines()
    wanted = [
        f"at mapped index {k}: {e.get()}" for k, (e, _) in enumerate(singles) if e.get() is not None
    ]
    assert lines == wanted
    np.testing.assert_allclose(rows[1], [y for _, y in singles], rtol=1e-13)


AUTOMATIC: dict[str, tuple[Callable[[Any], Any], Any, str | None]] = {
    "nan": (lambda m: lambda x: m.numpy.sin(m.numpy.log(x)), -1.0, "log made a NaN"),
    "no nan": (lambda m: lambda x: m.numpy.log(x), 1.0, None),
    "division": (lambda m: lambda x: 1.0 / (x - 2.0), 2.0, "divide by zero"),
    "division of integers": (lambda m: lambda x: 7 // x, 0, "floor_divide by zero"),
    "no division": (lambda m: lambda x: 1.0 / (x - 2.0), 3.0, None),
    "index": (
        lambda m: lambda i: m.numpy.arange(3.0)[i],
        5,
        "index 5 is out of range for axis 0 with size 3, in an array of shape",
    ),
    "index below": (
        lambda m: lambda i: m.numpy.ones((2, 3))[0, i],
        np.array([0, -4]),
        "index -4 is out of range for axis",
    ),
    "no index": (lambda m: lambda i: m.numpy.arange(3.0)[i], np.array([-3, 2]), None),
    "update": (
        lambda m: lambda i: m.numpy.zeros(3).at[i].add(1.0),
        np.array([1, 4]),
        "index 4 is out of range for axis 0 with size 3",
    ),
    "no update": (lambda m: lambda i: m.numpy.zeros(3).at[i].set(1.0), np.array([1, 2]), None),
    "in a loop": (
        lambda m: lambda x: m.lax.fori_loop(0, 3, lambda _, v: m.numpy.sqrt(v - 1.0), x),
        1.5,
        "sqrt made a NaN",
    ),
    "in a branch": (
        lambda m: lambda x: m.lax.cond(x > 0.0, m.numpy.sqrt, m.numpy.log, x),
        -1.0,
        "log made a NaN",
    ),
    "in a derivative": (lambda m: m.grad(m.numpy.log), 0.0, "divide by zero"),
}


@pytest.mark.parametrize("name", AUTOMATIC)
def test_what_goes_wrong_by_itself_is_found(name: str) -> None:
    make, x, text = AUTOMATIC[name]
    ours, theirs = make(fgrad), make(jax)
    # Outside of jit, JAX takes arguments for constants, and looks at nothing made of them.
    expected, _ = jax.jit(jcheckify.checkify(theirs, errors=jcheckify.all_checks))(x)
    assert (expected.get() is None) == (text is None)
    plain = checkify.checkify(ours, errors=checkify.all_checks)
    for f in (plain, fgrad.jit(plain)):
        error, _ = f(x)
        if text is None:
            assert error.get() is None
        else:
            assert (said(error) or "").startswith(text)
            assert "test_checkify.py:" in (error.get() or "")
    both, _ = fgrad.vmap(plain)(np.stack([x, x]))
    assert (both.get() is None) == (text is None)


def test_only_what_is_asked_for_is_looked_for() -> None:
    f = lambda x: fnp.log(x) / (x + 1.0)  # noqa: E731
    assert checkify.checkify(f, errors=checkify.index_checks)(-1.0)[0].get() is None
    assert said(checkify.checkify(f, errors=checkify.nan_checks)(-1.0)[0]) == "log made a NaN"
    assert said(checkify.checkify(f, errors=checkify.div_checks)(-1.0)[0]) == "divide by zero"
    assert said(checkify.checkify(f, errors=checkify.float_checks)(-1.0)[0]) == "log made a NaN"
    assert checkify.float_checks == checkify.nan_checks | checkify.div_checks
    assert checkify.automatic_checks == checkify.float_checks | checkify.index_checks
    assert checkify.all_checks == checkify.automatic_checks | checkify.user_checks
    with pytest.raises(CheckError, match="must be positive"):
        checkify.checkify(positive(fgrad), errors=checkify.nan_checks)(-1.0)


def test_an_index_out_of_range_takes_the_nearest_element() -> None:
    f = fgrad.jit(checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks))
    error, got = f(np.arange(3.0), 7)
    assert float(got) == 2.0
    assert error.get() is not None


def test_functions_with_rules_keep_them() -> None:
    @fgrad.custom_jvp
    def f(x: Any) -> Any:
        return fnp.sqrt(x)

    f.defjvp(lambda primals, tangents: (f(*primals), 100.0 * tangents[0]))
    checked = checkify.checkify(f, errors=checkify.float_checks)
    assert float(fgrad.grad(lambda x: checked(x)[1])(4.0)) == 100.0
    assert (checked(-1.0)[0].get() or "").startswith("f made a NaN")


def test_gradients_through_checked_functions() -> None:
    checked = checkify.checkify(positive(fgrad), errors=checkify.all_checks)
    slope, error = fgrad.grad(lambda x: checked(x)[::-1], has_aux=True)(2.0)
    assert float(slope) == 0.5
    assert error.get() is None


def test_errors_are_raised_and_made_results_again() -> None:
    def outer(x: Any) -> Any:
        error, y = checkify.checkify(positive(fgrad))(x)
        checkify.check_error(error)
        return y

    with pytest.raises(CheckError, match=r"must be positive, got -3\.0"):
        fgrad.jit(outer)(-3.0)
    assert float(fgrad.jit(outer)(1.0)) == 0.0
    assert said(checkify.checkify(outer)(-3.0)[0]) == "must be positive, got -3.0"
    many, _ = fgrad.vmap(checkify.checkify(positive(fgrad)))(np.array([1.0, -2.0, -3.0]))
    for call in (many.throw, lambda: checkify.check_error(many)):
        with pytest.raises(CheckError, match=r"must be positive, got -2\.0"):
            call()
    error, _ = checkify.checkify(positive(fgrad))(-1.0)
    assert isinstance(error.get_exception(), checkify.JaxRuntimeError)
    checkify.init_error.throw()
    assert checkify.init_error.get() is None
    assert checkify.init_error.get_exception() is None


def test_checks_alone_raise_where_they_fail() -> None:
    f = positive(fgrad)
    with pytest.raises(CheckError, match=r"must be positive, got -1\.0 \(test_checkify\.py:\d+"):
        f(-1.0)
    with pytest.raises(CheckError, match=r"got -2\.0"):
        fgrad.vmap(f)(np.array([1.0, -2.0, -3.0]))
    with pytest.raises(CheckError, match=r"got -2\.0"):
        fgrad.jit(fgrad.vmap(f))(np.array([1.0, -2.0, -3.0]))
    with pytest.raises(CheckError, match=r"got -1\.0"):
        fgrad.grad(f)(-1.0)
    assert fgrad.vmap(f)(np.ones(0)).shape == (0,)
    checkify.check(True, "never said")


def test_debugging_checks_count_under_checkify_only() -> None:
    def f(x: Any) -> Any:
        checkify.debug_check(x > 0.0, "debug {}", x)
        checkify.check(x > -5.0, "also debug {}", x, debug=True)
        return x

    assert float(f(-1.0)) == -1.0
    assert float(fgrad.jit(f)(-9.0)) == -9.0
    assert said(checkify.checkify(f)(-1.0)[0]) == "debug -1.0"


def test_messages_hold_arrays_and_trees() -> None:
    def f(x: Any, parts: Any) -> Any:
        checkify.check(fnp.all(x > 0), "x = {} and {parts}", x, parts=parts)
        return x

    error, _ = fgrad.jit(checkify.checkify(f))(np.array([1, -2]), {"a": 1.5})
    assert said(error) == "x = [ 1 -2] and {'a': Array(1.5, dtype=float64)}".split(" (")[0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: checkify.check(np.array([True]), "text"),
            ShapeError,
            r"check: pred has shape \(1,\); give one truth value",
        ),
        (lambda: checkify.check(1.0, "text"), DTypeError, "pred has dtype float64"),
        (lambda: checkify.check(True, 3), ArgumentError, "check: msg is 3"),
        (
            lambda: checkify.check(True, "{} and {}", 1.0),
            ArgumentError,
            r"the message '\{\} and \{\}' does not fit its 1 values",
        ),
        (
            lambda: checkify.debug_check(True, "{x}", y=1.0),
            ArgumentError,
            "debug_check: the message",
        ),
        (
            lambda: checkify.checkify(abs, errors="nan"),
            ArgumentError,
            "errors is 'nan'; give a set such as",
        ),
        (lambda: checkify.checkify(3.0), ArgumentError, "checkify takes a function"),
        (lambda: checkify.check_error(3.0), ArgumentError, "check_error: got float"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_names_of_errors_in_jax() -> None:
    assert fgrad.errors.JaxRuntimeError is CheckError
    assert fgrad.errors.UnexpectedTracerError is fgrad.errors.LeakedTracerError
    assert fgrad.errors.JAXTypeError is fgrad.errors.ConcretizationTypeError
    assert fgrad.errors.JAXIndexError is fgrad.errors.NonConcreteBooleanIndexError
    with pytest.raises(AttributeError, match="no attribute 'NoSuchError'"):
        _ = fgrad.errors.NoSuchError
