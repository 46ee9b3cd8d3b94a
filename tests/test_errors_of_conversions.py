"""Messages about lines that convert traced values: they name what was called, and what to write instead."""

from __future__ import annotations

import functools
import math
import os
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy.linalg import cholesky as factor
from scipy.stats import norm
from support.refusals import assert_users_traceback, refusal

import fgrad
import fgrad.numpy as fnp
from fgrad import errors

refused = functools.partial(refusal, file=__file__)
x3 = np.array([1.0, 2.0, 3.0])


def assigned(x: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] * i
    return fnp.sum(out)


def added(x: Any) -> Any:
    total = np.zeros((2, 2))
    total[0, 1] += x[0]
    return fnp.sum(total)


def sliced(x: Any) -> Any:
    out = np.zeros(3)
    out[:2] = x[:2]
    return fnp.sum(out)


def in_a_dict(x: Any) -> Any:
    tables = {"a": np.zeros(3)}
    tables["a"][-1] = x[0]
    return fnp.sum(tables["a"])


both = pytest.mark.parametrize(
    ("transform", "kind"),
    [
        (fgrad.grad, errors.DerivativeCutError),
        (fgrad.jit, errors.TracerArrayConversionError),
    ],
)


@both
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (assigned, ("out[i] = v would write", "out = out.at[i].set(v)")),
        (added, ("total[0, 1] += v would write", "total = total.at[0, 1].add(v)")),
        (sliced, ("out[:2] = v would write", "out = out.at[:2].set(v)")),
        (in_a_dict, ("tables['a'][-1] = v", "tables['a'].at[-1].set(v)")),
    ],
)
def test_an_assignment_into_a_numpy_array(
    transform: Any, kind: Any, f: Callable[[Any], Any], words: tuple[str, ...]
) -> None:
    message = refused(
        kind,
        lambda: transform(f)(x3),
        *words,
        "into a NumPy array",
        "fgrad.numpy.zeros",
        "fgrad.numpy.stack",
    )
    assert message.startswith(words[0])
    assert "float(x)" not in message


table = np.arange(3.0)
CALLS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "full": (lambda x: np.full(3, x[0]), "np.full", "fgrad.numpy.full"),
    "diag": (lambda x: np.diag([x[0], x[1]]), "np.diag", "fgrad.numpy.diag"),
    "sum": (lambda x: np.sum([x[0], x[1]]), "np.sum", "fgrad.numpy.sum"),
    "arange": (lambda x: np.arange(0, x[0], 0.3), "np.arange", "fgrad.numpy.arange"),
    "array": (lambda x: np.array([x[0], x[1]]), "np.array", "fgrad.numpy.array"),
    "float64": (lambda x: np.float64(x[0]), "np.float64", "fgrad.numpy.float64"),
    "vectorize": (
        lambda x: np.vectorize(math.sin)(x),
        "np.vectorize(...)",
        "fgrad.numpy.vectorize",
    ),
    "r_": (lambda x: np.r_[x[0], 1.0], "np.r_[...]", "fgrad.numpy.r_[...]"),
    "c_": (lambda x: np.c_[x, x], "np.c_[...]", "fgrad.numpy.c_[...]"),
    "dot": (lambda x: table.dot(x), "table.dot", "fgrad.numpy.dot"),
    "exp": (lambda x: math.exp(x[0]), "math.exp", "fgrad.numpy.exp"),
    "erf": (lambda x: math.erf(x[0]), "math.erf", "fgrad.scipy.special.erf"),
    "float": (lambda x: float(x[0]), "float(x)", "leave float() out"),
    "text": (lambda x: "%.1f" % x[0], "text by %", "f-string"),  # noqa: UP031
    "several lines": (
        lambda x: np.full(
            3,
            x[0],
        ),
        "np.full",
        "fgrad.numpy.full",
    ),
    "cholesky": (
        lambda x: scipy.linalg.cholesky(fnp.diag(x)),
        "scipy.linalg.cholesky",
        "fgrad.scipy.linalg.cholesky",
    ),
    "cholesky by itself": (
        lambda x: factor(fnp.diag(x)),
        "scipy.linalg.cholesky",
        "fgrad.scipy.linalg.cholesky",
    ),
    "solve": (
        lambda x: scipy.linalg.solve(fnp.diag(x), x),
        "scipy.linalg.solve",
        "fgrad.scipy.linalg.solve",
    ),
    "cho_solve": (
        lambda x: scipy.linalg.cho_solve((fnp.diag(x), True), x),
        "scipy.linalg.cho_solve",
        "fgrad.scipy.linalg.cho_solve",
    ),
    "logsumexp": (
        lambda x: scipy.special.logsumexp(x),
        "scipy.special.logsumexp",
        "fgrad.scipy.special.logsumexp",
    ),
    "logpdf": (
        lambda x: scipy.stats.norm.logpdf(x),
        "scipy.stats.norm.logpdf",
        "fgrad.scipy.stats.norm.logpdf",
    ),
    "logpdf of a distribution": (
        lambda x: norm.logpdf(x),
        "scipy.stats.norm.logpdf",
        "fgrad.scipy.stats.norm.logpdf",
    ),
    "fftconvolve": (
        lambda x: scipy.signal.fftconvolve(x, x),
        "scipy.signal.fftconvolve",
        "fgrad.scipy.signal.fftconvolve",
    ),
    "cdist": (
        lambda x: scipy.spatial.distance.cdist(x[:, None], x[:, None]),
        "scipy.spatial.distance.cdist",
        "fgrad.numpy.linalg.norm",
    ),
    "interp1d": (
        lambda x: scipy.interpolate.interp1d(x3, x3)(x),
        "scipy.interpolate.interp1d",
        "fgrad.numpy.interp",
    ),
    "quad": (
        lambda x: scipy.integrate.quad(lambda t: t * x[0], 0, 1)[0],
        "scipy.integrate.quad",
        "fgrad.pure_callback",
    ),
    "ellipk": (lambda x: scipy.linalg.pinvh(fnp.diag(x)), "scipy.linalg.pinvh", "pure_callback"),
}


@both
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_that_converts(transform: Any, kind: Any, name: str) -> None:
    f, called, instead = CALLS[name]
    message = refused(kind, lambda: transform(f)(x3), instead)
    assert called in message.partition(",")[0]
    assert "x.at[i]" not in message


def test_what_is_named_is_there() -> None:
    for _, _, instead in CALLS.values():
        if instead.startswith("fgrad."):
            found: Any = fgrad
            for part in instead.removesuffix("[...]").split(".")[1:]:
                found = getattr(found, part)
            assert found is not None


def test_a_solver_that_calls_back_after_a_refused_conversion() -> None:
    def root(x: Any) -> Any:
        return scipy.optimize.brentq(lambda t: t - x[0], 0.0, 1.5)

    def root_of_number(x: Any) -> Any:
        return scipy.optimize.brentq(lambda t: t - x, 0.0, 1.5)

    kind = errors.DerivativeCutError
    words = ("scipy.optimize.brentq", "custom_root")
    refused(kind, lambda: fgrad.grad(root)(x3), *words, placed=False)
    refused(kind, lambda: fgrad.grad(root_of_number)(1.0), *words, placed=False)
    refused(kind, lambda: fgrad.jvp(root, (x3,), (x3,)), *words, placed=False)


def test_an_operator_that_fails_in_a_call_after_a_refused_conversion() -> None:
    # CPython does not find __rsub__ while an error is pending, unless the type's cache has it.
    namespace: dict[str, Any] = {}
    library = os.path.join(os.path.dirname(scipy.optimize.__file__), "solver.py")
    lines = (
        "def solve(f):\n try:\n  float(f(0.0))\n except TypeError:\n  pass\n return float(f(1.0))"
    )
    exec(compile(lines, library, "exec"), namespace)
    solve = namespace["solve"]

    def root(x: Any) -> Any:
        return solve(lambda t: t - (x if t == 0.0 else [x]))

    refused(errors.DerivativeCutError, lambda: fgrad.grad(root)(1.0), placed=False)


def test_code_without_a_source_is_told_in_general() -> None:
    namespace: dict[str, Any] = {"np": np}
    exec("def f(x):\n    return np.full(3, x)\ndef g(x):\n    np.zeros(3)[0] = x", namespace)
    kind = errors.DerivativeCutError
    general = refused(
        kind, lambda: fgrad.grad(namespace["f"])(1.0), "fgrad.numpy.stack", placed=False
    )
    assert "np.full" not in general
    refused(kind, lambda: fgrad.grad(namespace["g"])(1.0), "out = out.at[i].set(v)", placed=False)


# ---- what would write in place -----------------------------------------------------------------

WRITES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], str]] = {
    "fill_diagonal": (
        lambda K: np.fill_diagonal(K, 0.0),
        lambda K: fnp.fill_diagonal(K, 0.0, inplace=False),
        "K = fnp.fill_diagonal(K, v, inplace=False)",
    ),
    "put": (
        lambda K: np.put(K, 1, 7.0),
        lambda K: fnp.put(K, 1, 7.0, inplace=False),
        "K = fnp.put(K, i, v, inplace=False)",
    ),
    "place": (
        lambda K: np.place(K, np.eye(2) > 0, 7.0),
        lambda K: fnp.place(K, np.eye(2) > 0, 7.0, inplace=False),
        "K = fnp.place(K, mask, v, inplace=False)",
    ),
    "putmask": (
        lambda K: np.putmask(K, np.eye(2) > 0, 7.0),
        lambda K: fnp.putmask(K, np.eye(2) > 0, 7.0, inplace=False),
        "K = fnp.putmask(K, mask, v, inplace=False)",
    ),
    "put_along_axis": (
        lambda K: np.put_along_axis(K, np.array([[0], [1]]), 7.0, 1),
        lambda K: fnp.put_along_axis(K, np.array([[0], [1]]), 7.0, 1, inplace=False),
        "K = fnp.put_along_axis(K, i, v, axis, inplace=False)",
    ),
    "copyto": (
        lambda K: np.copyto(K, 7.0),
        lambda K: fnp.full_like(K, 7.0),
        "K = fnp.full_like(K, 7.0)",
    ),
    "add.at": (
        lambda K: np.add.at(K, 0, 7.0),
        lambda K: K.at[0].add(7.0),
        "K = K.at[0].add(v)",
    ),
    "maximum.at": (
        lambda K: np.maximum.at(K, 1, 2.5),
        lambda K: K.at[1].max(2.5),
        "K = K.at[1].max(v)",
    ),
    "negative.at": (
        lambda K: np.negative.at(K, 1),
        lambda K: K.at[1].apply(fnp.negative),
        "K = K.at[1].apply(fnp.negative)",
    ),
    "hypot.at": (
        lambda K: np.hypot.at(K, 1, 7.0),
        lambda K: K.at[1].set(fnp.hypot(K[1], 7.0)),
        "K = K.at[1].set(fnp.hypot(K[1], v))",
    ),
    "clip": (
        lambda K: np.clip(K, 0.0, 2.0, out=K),
        lambda K: np.clip(K, 0.0, 2.0),
        "x = np.clip(...)",
    ),
    "sin": (lambda K: np.sin(K, out=K), lambda K: np.sin(K), "x = np.sin(...)"),
}


@pytest.mark.parametrize("name", sorted(WRITES))
def test_a_function_that_would_write_into_a_traced_array(name: str) -> None:
    write, instead, words = WRITES[name]
    K = np.array([[1.0, 2.0], [3.0, 4.0]])

    def summed(K: Any) -> Any:
        write(K)
        return fnp.sum(K)

    for transform in (fgrad.grad, fgrad.jit):
        message = refused(
            errors.InPlaceError,
            lambda t=transform: t(summed)(K),
            words,
            "would write into a traced",
        )
        assert "NumPy array" not in message
    refused(errors.InPlaceError, lambda: summed(fnp.asarray(K)), words, "an array of fgrad")
    expected = K.copy()
    write(expected)
    assert np.array_equal(fgrad.jit(instead)(K), expected)


def test_a_function_that_would_write_traced_values_into_a_numpy_array() -> None:
    out = np.zeros(3)

    def copied(x: Any) -> Any:
        np.copyto(out, x)

    def put(x: Any) -> Any:
        np.put(out, [0, 1, 2], x)

    def updated(x: Any) -> Any:
        np.add.at(out, [0, 1, 2], x)

    for f, words in (
        (copied, "out = fnp.full_like(out, x)"),
        (put, "out = fnp.put(out, i, v, inplace=False)"),
        (updated, "out = fnp.asarray(out).at[[0, 1, 2]].add(v)"),
    ):
        refused(
            errors.InPlaceError, lambda f=f: fgrad.grad(f)(x3), words, "a traced value into a NumPy"
        )
    assert np.array_equal(fgrad.jit(lambda x: fnp.full_like(out, x))(x3), x3)
    assert np.array_equal(fgrad.jit(lambda x: fnp.put(out, [0, 1, 2], x, inplace=False))(x3), x3)


def test_an_assigned_shape() -> None:
    def column(x: Any) -> Any:
        x.shape = (3, 1)
        return fnp.sum(x)

    for run in (
        lambda f: f(fnp.asarray(x3)),
        lambda f: fgrad.grad(f)(x3),
        lambda f: fgrad.jit(f)(x3),
    ):
        refused(errors.InPlaceError, lambda run=run: run(column), "x = fnp.reshape(x, s)")


# ---- what is given in the place of something else ----------------------------------------------


def test_a_traced_array_in_the_place_of_a_pair() -> None:
    def first(x: Any) -> Any:
        return x[0]

    kind = errors.ArgumentError
    words = "got a traced float64 array of shape ()"
    refused(kind, lambda: fgrad.grad(first, has_aux=True)(x3), words)
    scanned = fgrad.lax.scan
    refused(
        kind,
        lambda: scanned(lambda c, x: c + x, 0.0, x3),
        "returned a traced float64 array of shape ()",
    )

    @fgrad.custom_jvp
    def square(x: Any) -> Any:
        return x * x

    square.defjvp(lambda primals, tangents: primals[0] * tangents[0])
    refused(
        errors.CustomRuleError,
        lambda: fgrad.jit(lambda x: fgrad.jvp(square, (x,), (x,)))(x3),
        "returned a traced float64 array of shape (3,)",
    )


def test_strings() -> None:
    def text(x: Any) -> Any:
        return "a"

    def eager() -> Any:
        return fnp.sin("a")  # type: ignore[arg-type]

    def chosen(x: Any, mode: Any) -> Any:
        return x

    kind = errors.NonArrayError
    for transform in (fgrad.grad, fgrad.jit):
        message = refused(
            kind, lambda t=transform: t(text)(x3), "the result is the string 'a'", "return arrays"
        )
        assert "static_argnums" not in message
    message = refused(kind, eager, "sin", "'a'")
    assert "static_argnums" not in message
    refused(kind, lambda: fgrad.jit(chosen)(x3, "a"), "argument mode", "name it in static_argnums")
    message = refused(kind, lambda: fgrad.vjp(chosen, x3, "a"), "argument mode", "close over it")
    assert "static_argnums" not in message


@pytest.mark.parametrize("run", [fgrad.jit, fgrad.grad, lambda f: lambda x: f(fnp.asarray(x))])
def test_a_power_with_a_modulus(run: Any) -> None:
    with pytest.raises(TypeError, match=r"^Array.__pow__\(\) takes 2 positional arguments"):
        run(lambda x: pow(x, 2, 5))(x3)


@pytest.mark.parametrize("run", [lambda f: f, fgrad.grad])
@pytest.mark.parametrize("shape", [(3, 3), (100, 100), (2, 3, 3)])
def test_a_matrix_that_is_not_positive_definite(run: Any, shape: tuple[int, ...]) -> None:
    def factored(scale: Any) -> Any:
        return fnp.sum(fnp.linalg.cholesky(-fnp.broadcast_to(fnp.eye(shape[-1]), shape) * scale))

    with pytest.raises(np.linalg.LinAlgError, match=r"^cholesky: .*fnp.eye") as caught:
        run(factored)(1.0)
    assert f"shape {shape} is not positive definite" in str(caught.value)
    assert_users_traceback(caught.value, __file__)
    assert caught.traceback[-1].name == "factored"


def test_modules_of_python_on_traced_numbers() -> None:
    def mean(x: Any) -> Any:
        return statistics.mean([x[0], x[1]])

    for transform, kind in (
        (fgrad.grad, errors.DerivativeCutError),
        (fgrad.jit, errors.TracerArrayConversionError),
    ):
        refused(
            kind, lambda t=transform: t(mean)(x3), "statistics", "fgrad.numpy.mean", placed=False
        )
    stop = fgrad.lax.stop_gradient
    weighed = fgrad.grad(lambda x: x[0] * statistics.mean([float(stop(x[1])), float(stop(x[2]))]))(
        x3
    )
    assert np.array_equal(weighed, [2.5, 0.0, 0.0])
    assert fgrad.grad(lambda x: x * math.trunc(x))(2.5) == 2.0
    kind = errors.TracerIntegerConversionError
    refused(kind, lambda: fgrad.jit(lambda x: math.trunc(x))(2.5), "unknown while tracing")
