"""Python functions called at run time: every effect happens, once, in order, and for whom it should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import fgrad
import fgrad.numpy as fnp
from fgrad import errors, lax
from fgrad.experimental import io_callback


class Log:
    """What was seen, in order."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def note(self, x: Any) -> None:
        fgrad.debug.callback(lambda v: self.seen.append(np.asarray(v).tolist()), x)

    def taken(self) -> list[Any]:
        seen, self.seen = self.seen, []
        return seen


@pytest.fixture
def log() -> Log:
    return Log()


def square(log: Log) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        log.note(x)
        return x * x

    return f


ONCE: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "eager": lambda f: f,
    "jit": fgrad.jit,
    "grad": fgrad.grad,
    "value_and_grad": fgrad.value_and_grad,
    "jit(grad)": lambda f: fgrad.jit(fgrad.grad(f)),
    "grad(jit)": lambda f: fgrad.grad(fgrad.jit(f)),
    "jit(grad(jit))": lambda f: fgrad.jit(fgrad.grad(fgrad.jit(f))),
    "grad(grad)": lambda f: fgrad.grad(fgrad.grad(f)),
    "grad(jit(grad))": lambda f: fgrad.grad(fgrad.jit(fgrad.grad(f))),
    "jvp": lambda f: lambda x: fgrad.jvp(f, (x,), (1.0,)),
    "jvp(jit)": lambda f: lambda x: fgrad.jvp(fgrad.jit(f), (x,), (1.0,)),
    "linearize": lambda f: lambda x: fgrad.linearize(f, x)[1](1.0),
    "linearize(jit)": lambda f: lambda x: fgrad.linearize(fgrad.jit(f), x)[1](1.0),
    "jacfwd(jit)": lambda f: fgrad.jacfwd(fgrad.jit(f)),
    "hessian(jit)": lambda f: fgrad.hessian(fgrad.jit(f)),
    "vjp": lambda f: lambda x: fgrad.vjp(f, x)[1](1.0),
    "checkpoint": fgrad.checkpoint,
    "grad(checkpoint)": lambda f: fgrad.grad(fgrad.checkpoint(f)),
    "jit(grad(checkpoint))": lambda f: fgrad.jit(fgrad.grad(fgrad.checkpoint(f))),
    "grad(checkpoint(jit))": lambda f: fgrad.grad(fgrad.checkpoint(fgrad.jit(f))),
    "linearize(checkpoint)": lambda f: lambda x: fgrad.linearize(fgrad.checkpoint(f), x)[1](1.0),
    "grad(checkpoint, policy)": lambda f: fgrad.grad(
        fgrad.checkpoint(f, policy=fgrad.checkpoint_policies.everything_saveable)
    ),
    "cond": lambda f: fgrad.jit(lambda x: lax.cond(x > 0.0, f, lambda x: x, x)),
    "grad(cond)": lambda f: fgrad.jit(fgrad.grad(lambda x: lax.cond(x > 0.0, f, lambda x: x, x))),
    "scan of one": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1),
    "grad(scan of one)": lambda f: fgrad.grad(
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]
    ),
    "jit(grad(scan of one))": lambda f: fgrad.jit(
        fgrad.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0])
    ),
    "custom_jvp": lambda f: fgrad.jit(_with_rule(f)),
}


def _with_rule(f: Any) -> Any:
    g = fgrad.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (primals[0] ** 2, 2.0 * primals[0] * tangents[0]))
    return g


@pytest.mark.parametrize("stack", ONCE)
def test_an_effect_happens_once_each_time(stack: str, log: Log) -> None:
    f = ONCE[stack](square(log))
    for x in (3.0, 4.0):
        f(x)
        assert log.taken() == [x]


@pytest.mark.parametrize("transform", [fgrad.jit, lambda f: f], ids=["jit", "eager"])
def test_effects_are_in_order(transform: Any, log: Log) -> None:
    def f(x: Any) -> Any:
        log.note(0.0)
        y = fnp.sin(x)
        log.note(x)
        fgrad.debug.callback(lambda: log.seen.append("between"))
        log.note(x)
        return y

    g = transform(f)
    for x in (1.0, 2.0):
        g(x)
        assert log.taken() == [0.0, x, "between", x]


def test_equal_effects_are_not_merged(log: Log) -> None:
    def f(x: Any) -> Any:
        log.note(x)
        log.note(x)
        return x

    fgrad.jit(f)(1.0)
    assert log.taken() == [1.0, 1.0]


def test_an_effect_whose_result_is_dropped_happens(log: Log) -> None:
    def f(x: Any) -> Any:
        square(log)(x)
        return 0.0

    assert fgrad.jit(f)(2.0) == 0.0
    assert log.taken() == [2.0]


def test_an_effect_without_arguments_waits_for_the_run(log: Log) -> None:
    def f(x: Any) -> Any:
        fgrad.debug.callback(lambda: log.seen.append("here"))
        return x

    lowered = fgrad.jit(f).lower(1.0)
    assert log.taken() == []
    assert "debug.callback" in str(lowered.jaxpr)
    g = fgrad.jit(f)
    g(1.0), g(2.0)
    assert log.taken() == ["here", "here"]


@pytest.mark.parametrize("inner", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("outer", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
def test_a_mapped_effect_happens_for_each_example_in_order(
    inner: Any, outer: Any, log: Log
) -> None:
    f = outer(fgrad.vmap(inner(square(log))))
    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(f(x), x * x)
    assert log.taken() == [3.0, 1.0, 2.0]
    assert len(fgrad.make_jaxpr(f)(np.ones(100)).eqns) == len(fgrad.make_jaxpr(f)(x).eqns)
    f(np.ones(0))
    assert log.taken() == []


def test_effects_of_nested_maps(log: Log) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    fgrad.vmap(fgrad.vmap(square(log)))(x)
    # As in JAX, the inner map goes through its examples first, and the outer one for each of them.
    assert log.taken() == [1.0, 3.0, 2.0, 4.0]
    fgrad.vmap(fgrad.grad(square(log)))(x[0])
    assert log.taken() == [1.0, 2.0]


@pytest.mark.parametrize("outer", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
def test_a_branch_has_its_effects_for_who_takes_it(outer: Any, log: Log) -> None:
    def f(x: Any) -> Any:
        return lax.cond(x > 0.0, square(log), lambda x: x - 1.0, x)

    x = np.array([2.0, -1.0, 3.0])
    np.testing.assert_array_equal(outer(fgrad.vmap(f))(x), [4.0, -2.0, 9.0])
    assert log.taken() == [2.0, 3.0]
    gradient = outer(fgrad.vmap(fgrad.grad(f)))(x)
    np.testing.assert_array_equal(gradient, [4.0, 1.0, 6.0])
    assert log.taken() == [2.0, 3.0]


def test_a_branch_that_only_has_an_effect(log: Log) -> None:
    def f(x: Any) -> Any:
        lax.cond(x > 0.0, log.note, lambda x: None, x)
        return x

    g = fgrad.jit(f)
    g(1.0), g(-1.0), g(2.0)
    assert log.taken() == [1.0, 2.0]
    fgrad.vmap(f)(np.array([-1.0, 5.0]))
    assert log.taken() == [5.0]


def test_a_mapped_while_loop_has_its_effects_for_who_still_runs(log: Log) -> None:
    def f(n: Any) -> Any:
        def body(i: Any) -> Any:
            log.note(10 * n + i)
            return i + 1

        return lax.while_loop(lambda i: i < n, body, 0)

    np.testing.assert_array_equal(fgrad.vmap(f)(np.array([2, 0, 1])), [2, 0, 1])
    assert log.taken() == [20, 21, 10]
    assert fgrad.jit(f)(3) == 3
    assert log.taken() == [30, 31, 32]


def test_effects_in_loops(log: Log) -> None:
    def f(x: Any) -> Any:
        def body(c: Any, row: Any) -> Any:
            log.note(c)
            return c * row, None

        return lax.scan(body, x, np.array([2.0, 3.0, 5.0]))[0]

    for run in (f, fgrad.jit(f), fgrad.grad(f), fgrad.jit(fgrad.grad(f))):
        run(1.0)
        assert log.taken() == [1.0, 2.0, 6.0]
    fgrad.vmap(f)(np.array([1.0, 10.0]))
    assert log.taken() == [1.0, 10.0, 2.0, 20.0, 6.0, 60.0]
    lax.fori_loop(0, 3, lambda i, c: (log.note(i), c)[1], 0.0)
    assert log.taken() == [0, 1, 2]
    lax.scan(lambda c, row: (c, log.note(row)), 0.0, np.arange(2.0))
    assert log.taken() == [0.0, 1.0]


def test_a_guarded_program_does_not_repeat_effects(log: Log) -> None:
    def f(x: Any) -> Any:
        log.note(x)
        return fnp.sum(fnp.where(x > 0.0, fnp.log(x), 0.0) ** 2)

    x = np.array([0.0, 1.0])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(fgrad.jit(fgrad.grad(f))(x), [0.0, 0.0])
    assert log.taken() == [[0.0, 1.0]]


# ---- values ------------------------------------------------------------------------------------


LIKE = fgrad.ShapeDtypeStruct((), np.float64)


def test_a_pure_callback_under_transforms() -> None:
    def f(x: Any) -> Any:
        return fgrad.pure_callback(scipy.special.j0, LIKE, x, vmap_method="sequential")

    x = np.linspace(0.0, 3.0, 4)
    np.testing.assert_array_equal(f(0.5), scipy.special.j0(0.5))
    np.testing.assert_array_equal(fgrad.jit(f)(0.5), scipy.special.j0(0.5))
    np.testing.assert_array_equal(fgrad.vmap(f)(x), scipy.special.j0(x))
    np.testing.assert_array_equal(fgrad.jit(fgrad.vmap(f))(x), scipy.special.j0(x))
    looped = lax.map(f, x)
    np.testing.assert_array_equal(looped, scipy.special.j0(x))


def test_a_pure_callback_with_a_rule_is_differentiable() -> None:
    @fgrad.custom_jvp
    def j0(x: Any) -> Any:
        like = fgrad.ShapeDtypeStruct(fnp.shape(x), np.float64)
        return fgrad.pure_callback(scipy.special.j0, like, x, vmap_method="broadcast_all")

    @j0.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        like = fgrad.ShapeDtypeStruct(fnp.shape(x), np.float64)
        slope = fgrad.pure_callback(scipy.special.j1, like, x, vmap_method="broadcast_all")
        return j0(x), -slope * t

    x = np.linspace(0.1, 3.0, 4)
    np.testing.assert_allclose(fgrad.vmap(fgrad.grad(j0))(x), -scipy.special.j1(x), rtol=1e-14)
    np.testing.assert_allclose(
        fgrad.jit(fgrad.vmap(fgrad.grad(j0)))(x), -scipy.special.j1(x), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((2,), (2,))] * 3),
        ("broadcast_all", [((3, 2), (3, 2))]),
        ("expand_dims", [((3, 2), (1, 2))]),
        ("legacy_vectorized", [((3, 2), (2,))]),
    ],
)
def test_what_a_mapped_callback_gets(method: str, shapes: Any) -> None:
    calls = []

    def host(x: Any, y: Any) -> Any:
        calls.append((x.shape, y.shape))
        assert isinstance(x, np.ndarray)
        assert not x.flags.writeable
        return np.asarray(x) + y

    def f(x: Any, y: Any) -> Any:
        return fgrad.pure_callback(
            host, fgrad.ShapeDtypeStruct((2,), np.float64), x, y, vmap_method=method
        )

    x, y = np.arange(6.0).reshape(3, 2), np.array([10.0, 20.0])
    np.testing.assert_array_equal(fgrad.vmap(f, in_axes=(0, None))(x, y), x + y)
    assert calls == shapes


def test_trees_go_in_and_out() -> None:
    def host(state: Any, *, scale: Any) -> Any:
        return {"a": np.asarray(state["b"][0]) * scale, "n": np.int32(3)}

    like = {
        "a": fgrad.ShapeDtypeStruct((2,), np.float32),
        "n": fgrad.ShapeDtypeStruct((), np.int32),
    }
    x = np.ones(2, np.float32)
    out = fgrad.jit(lambda x: fgrad.pure_callback(host, like, {"b": [x]}, scale=np.float32(2.0)))(x)
    np.testing.assert_array_equal(out["a"], [2.0, 2.0])
    assert out["a"].dtype == np.float32
    assert out["n"] == 3


def test_an_unused_pure_callback_may_be_left_out() -> None:
    calls = []
    f = fgrad.jit(lambda x: (fgrad.pure_callback(lambda v: calls.append(1) or v, LIKE, x), x)[1])
    assert f(1.0) == 1.0
    assert not calls


def test_io_callback_counts() -> None:
    state = {"n": 0}

    def draw() -> Any:
        state["n"] += 1
        return np.float64(state["n"])

    f = fgrad.jit(lambda x: x + io_callback(draw, LIKE) + 10.0 * io_callback(draw, LIKE))
    assert f(0.0) == 21.0
    assert f(0.0) == 43.0
    np.testing.assert_array_equal(
        fgrad.vmap(lambda x: io_callback(lambda v: draw(), LIKE, x))(np.zeros(3)), [5.0, 6.0, 7.0]
    )


def test_what_the_function_keeps_is_not_shared() -> None:
    kept = np.zeros(3)
    like = fgrad.ShapeDtypeStruct((3,), np.float64)
    result = fgrad.jit(lambda x: fgrad.pure_callback(lambda v: kept, like, x))(1.0)
    kept[:] = 7.0
    np.testing.assert_array_equal(result, [0.0, 0.0, 0.0])


def test_the_function_may_use_fgrad() -> None:
    def host(x: Any) -> Any:
        return fgrad.grad(lambda y: fnp.sum(fnp.ones(2000) * y))(x)

    assert fgrad.jit(lambda x: fgrad.pure_callback(host, LIKE, x))(1.0) == 2000.0
    known = fgrad.jit(lambda x: x + fgrad.pure_callback(host, LIKE, 1.0))
    assert known(1.0) == 2001.0


def test_a_call_on_known_values_waits_for_its_branch() -> None:
    def refuse(x: Any) -> Any:
        raise RuntimeError("below zero")

    def checked(x: Any) -> Any:
        return lax.cond(x < 0, lambda: fgrad.pure_callback(refuse, LIKE, 1.0), lambda: x)

    for f in (checked, fgrad.jit(checked)):
        assert f(2.0) == 2.0
        with pytest.raises(RuntimeError, match="below zero"):
            f(-2.0)


# ---- printing ----------------------------------------------------------------------------------


def test_print(capsys: Any) -> None:
    fgrad.jit(lambda x, n: (fgrad.debug.print("{n}: {x:.2f} {{}}", n=n, x=x), x)[1])(1.5, 3)
    assert capsys.readouterr().out == "3: 1.50 {}\n"
    fgrad.vmap(lambda x: (fgrad.debug.print("{0} {0}", x), x)[1])(np.arange(2))
    assert capsys.readouterr().out == "0 0\n1 1\n"


# ---- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fgrad.debug.print("x", 1.0), errors.ArgumentError, r"does not show argument 0"),
        (lambda: fgrad.debug.print("{y}", x=1.0), errors.ArgumentError, r"argument x"),
        (
            lambda: fgrad.debug.print("{} {}", 1.0),
            errors.ArgumentError,
            r"shows 1, which is not given",
        ),
        (
            lambda: fgrad.pure_callback(lambda x: np.ones(2), LIKE, 1.0),
            errors.CallbackError,
            r"the result has type f64\[2\], declared is f64\[\]",
        ),
        (
            lambda: fgrad.pure_callback(lambda x: np.float32(1), LIKE, 1.0),
            errors.CallbackError,
            r"f32\[\], declared is f64\[\]",
        ),
        (
            lambda: fgrad.pure_callback(lambda x: (x, x), LIKE, 1.0),
            errors.CallbackError,
            r"structure",
        ),
        (lambda: fgrad.pure_callback(np.sin, 3, 1.0), errors.ArgumentError, r"ShapeDtypeStruct"),
        (
            lambda: fgrad.pure_callback(np.sin, LIKE, 1.0, vmap_method="loop"),
            errors.ArgumentError,
            r"'sequential', 'expand_dims'",
        ),
        (
            lambda: fgrad.vmap(lambda x: fgrad.pure_callback(np.sin, LIKE, x))(np.ones(2)),
            errors.ArgumentError,
            r"pure_callback of .*vmap_method.*'sequential'",
        ),
        (
            lambda: fgrad.grad(lambda x: fgrad.pure_callback(np.sin, LIKE, x))(1.0),
            errors.NonDifferentiableError,
            r"pure_callback of .*custom_jvp",
        ),
        (
            lambda: fgrad.jvp(fgrad.jit(lambda x: io_callback(np.sin, LIKE, x)), (1.0,), (1.0,)),
            errors.NonDifferentiableError,
            r"io_callback of .*custom_jvp",
        ),
        (
            lambda: fgrad.grad(
                fgrad.checkpoint(lambda x: fnp.sin(x * io_callback(lambda: 2.0, LIKE)))
            )(1.0),
            errors.CallbackError,
            r"io_callback at .*checkpoint.*move the call",
        ),
        (lambda: fgrad.pure_callback(3, LIKE, 1.0), errors.ArgumentError, r"takes a function"),
    ],
)
def test_a_refusal(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_an_error_of_the_function_is_the_users_own() -> None:
    def host(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fgrad.jit(lambda x: fgrad.pure_callback(host, LIKE, x))(1.0)
