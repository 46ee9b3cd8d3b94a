"""Linear functions with transposes of their own, and what reverse mode keeps."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.custom_derivatives
import numpy as np
import pytest
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.ad_checkpoint import checkpoint, print_saved_residuals
from fgrad.custom_derivatives import linear_call
from fgrad.errors import ArgumentError, CustomRuleError, NonDifferentiableError
from fgrad.test_util import check_grads

X, M = np.array([1.0, -2.0, 3.0]), np.arange(6.0).reshape(2, 3)


def scaled(call: Any) -> Any:
    """A linear map of a tree, whose transpose is marked by a factor."""
    forward = lambda r, t: {"y": r["m"] @ t[0] + t[1]}  # noqa: E731
    backward = lambda r, ct: (7.0 * (r["m"].T @ ct["y"]), 7.0 * ct["y"])  # noqa: E731
    return lambda x, b: call(forward, backward, {"m": M}, (x, b))["y"]


def test_transposes_are_those_of_jax() -> None:
    b, ct = np.ones(2), np.array([0.5, 2.0])
    ours, theirs = scaled(linear_call), scaled(jax.custom_derivatives.linear_call)
    np.testing.assert_allclose(ours(X, b), theirs(X, b))
    expected = jax.linear_transpose(theirs, X, b)(ct)
    for found in (
        fgrad.linear_transpose(ours, X, b)(ct),
        fgrad.vjp(ours, X, b)[1](ct),
        fgrad.jit(lambda c: fgrad.vjp(ours, X, b)[1](c))(ct),
        fgrad.vjp(fgrad.jit(ours), X, b)[1](ct),
    ):
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_transposes_of_transposes_are_the_function_again() -> None:
    once = lambda ct: fgrad.linear_transpose(partial(scaled(linear_call), b=np.zeros(2)), X)(ct)[0]  # noqa: E731
    twice = fgrad.linear_transpose(once, np.zeros(2))(X)[0]
    np.testing.assert_allclose(twice, M @ X)


def test_linear_calls_under_the_transforms() -> None:
    divide = lambda x, r: linear_call(lambda r, v: v / r, lambda r, ct: ct / r, r, x)  # noqa: E731
    f = lambda x: fnp.sin(divide(x, 2.0)) * x  # noqa: E731
    check_grads(f, (X,), 2)
    check_grads(fgrad.jit(f), (X,), 2)
    np.testing.assert_allclose(fgrad.vmap(divide)(X, X + 5.0), X / (X + 5.0))
    np.testing.assert_allclose(fgrad.vmap(divide, (None, 0))(3.0, X), 3.0 / X)
    slopes = fgrad.vmap(fgrad.grad(divide), (0, None))(X, 4.0)
    np.testing.assert_allclose(slopes, np.full(3, 0.25))
    slopes = fgrad.vmap(fgrad.grad(divide))(X, X)
    np.testing.assert_allclose(slopes, 1.0 / X)
    scale = fgrad.jit(lambda s, x: linear_call(lambda _, v: s * v, lambda _, ct: s * ct, (), x))
    assert float(scale(3.0, 2.0)) == 6.0
    assert float(fgrad.grad(scale, 1)(3.0, 2.0)) == 3.0


def test_what_does_not_fit_is_refused() -> None:
    divide = lambda x, r: linear_call(lambda r, v: v / r, lambda r, ct: ct / r, r, x)  # noqa: E731
    for transform in (fgrad.grad(divide, 1), fgrad.jacfwd(divide, 1)):
        with pytest.raises(
            NonDifferentiableError, match="only the linear arguments have derivatives"
        ):
            transform(1.0, 2.0)
    with pytest.raises(CustomRuleError, match="return one cotangent for each"):
        linear_call(lambda r, v: v, lambda r, ct: (ct, ct), (), X)
    with pytest.raises(
        CustomRuleError,
        match=r"a cotangent of type f64\[2\] for a linear argument of type f64\[3\]",
    ):
        linear_call(lambda r, v: v, lambda r, ct: ct[:2], (), X)
    with pytest.raises(ArgumentError, match="linear_call takes a function"):
        linear_call(3.0, 4.0, (), X)


def test_kept_values_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def f(w: Any, x: Any) -> Any:
        return fnp.sum(fnp.tanh(w @ x)) * 2.0

    def printed(g: Any, *args: Any) -> list[str]:
        print_saved_residuals(g, *args)
        return [line.split(" at ")[0] for line in capsys.readouterr().out.splitlines()]

    arguments = ["f64[2,3] from the argument w", "f64[3] from the argument x"]
    assert printed(f, M, X) == [*arguments, "f64[2] output of tanh"]
    assert printed(checkpoint(f), M, X) == arguments
    assert printed(lambda x: x * np.arange(3.0), X) == ["f64[3] from a constant"]
    assert printed(lambda x: 2.0 * x, X) == []
    print_saved_residuals(fnp.tanh, fgrad.ShapeDtypeStruct((4,), np.float32))
    assert "f32[4] output of tanh at test_linear_call.py:" in capsys.readouterr().out
