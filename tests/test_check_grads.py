"""`check_grads` accepts right derivatives, and refuses each kind of wrong one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad import extend
from fgrad.errors import ArgumentError
from fgrad.test_util import check_close, check_grads, check_jvp, check_vjp, numerical_jvp

X = np.array([0.4, -1.1, 2.0])


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("modes", [("fwd", "rev"), ["fwd"], "rev"])
def test_right_derivatives(order: int, modes: Any) -> None:
    check_grads(lambda x, y: fnp.sin(x) * y + fnp.exp(x), (X, 0.7), order, modes)


def test_trees_integers_and_narrow_dtypes() -> None:
    def f(p: Any, n: Any, scale: Any) -> Any:
        return {"y": p["w"] @ p["w"] * scale, "n": n + 1, "z": (p["b"] ** 2,)}

    params = {"w": X, "b": np.float32(0.5)}
    check_grads(f, (params, np.arange(3), 2.0), 2)
    check_grads(lambda x: x * fnp.tanh(x), (X.astype(np.float32),), 2)
    check_grads(lambda x: x * x, (X.astype(np.float16),), 1)


def test_complex_functions() -> None:
    z = np.array([0.4 + 0.2j, -1.1 + 1j])
    check_grads(lambda v: fnp.exp(v) * v, (z,), 2)
    check_grads(lambda v: fnp.abs(v), (z,), 2)
    check_grads(lambda v: fnp.real(v) * fnp.imag(v), (z,), 2)
    check_grads(lambda v: fnp.conj(v) * v, (z,), 2)
    check_grads(lambda x: fnp.exp(1j * x), (X,), 2)


def function(
    jvp_factor: float = 1.0, vjp_factor: float = 1.0, value_factor: float = 1.0, second: float = 1.0
) -> Any:
    """x**2 with faults."""

    class Square(extend.General):
        def abstract_eval(self, x: extend.Aval) -> extend.Aval:
            return x

        def impl(self, x: Any) -> Any:
            return value_factor * x * x

        def jvp(self, answer: Any, primals: Any, tangents: Any) -> Any:
            still = fgrad.lax.stop_gradient(primals[0])
            return jvp_factor * 2 * (second * primals[0] + (1 - second) * still) * tangents[0]

        def vjp(self, ct: Any, needs: Any, answer: Any, x: Any) -> Any:
            still = fgrad.lax.stop_gradient(x)
            return vjp_factor * 2 * (second * x + (1 - second) * still) * ct

    return lambda x: Square().bind(x)


def test_the_faultless_one_passes() -> None:
    check_grads(function(), (X,), 3)


def test_wrong_tangent() -> None:
    wrong = function(jvp_factor=1.001)
    with pytest.raises(AssertionError, match=r"fwd: the tangent of.*against differences"):
        check_grads(wrong, (X,), 1)
    check_grads(wrong, (X,), 1, modes=["rev"])


def test_wrong_cotangent() -> None:
    wrong = function(vjp_factor=-1.0)
    with pytest.raises(AssertionError, match=r"rev: the cotangent of args.*0.*by products"):
        check_grads(wrong, (X,), 1)
    check_grads(wrong, (X,), 1, modes=["fwd"])


def test_wrong_second_derivative() -> None:
    wrong = function(second=0.5)
    check_grads(wrong, (X,), 1)
    for modes in (["fwd"], ["rev"]):
        with pytest.raises(AssertionError, match=f"{modes[0]} of {modes[0]}"):
            check_grads(wrong, (X,), 2, modes)


def test_wrong_value_under_the_transform() -> None:
    with pytest.raises(AssertionError, match="the value under jvp"):
        check_jvp(fnp.sin, lambda p, t: (fnp.cos(*p), fnp.cos(*p) * t[0]), (X,))
    with pytest.raises(AssertionError, match="the value under vjp"):
        check_vjp(fnp.sin, lambda x: (fnp.cos(x), lambda ct: (ct * fnp.cos(x),)), (X,))


def test_wrong_types_of_cotangents() -> None:
    with pytest.raises(AssertionError, match=r"cotangents.*f32\[3\], expected f64\[3\]"):
        check_vjp(
            fnp.sin,
            lambda x: (fnp.sin(x), lambda ct: ((ct * fnp.cos(x)).astype(np.float32),)),
            (X,),
        )
    with pytest.raises(AssertionError, match=r"cotangents.*f64\[\], expected f64\[3\]"):
        check_vjp(fnp.sin, lambda x: (fnp.sin(x), lambda ct: ((ct * fnp.cos(x)).sum(),)), (X,))


def test_a_right_rule_of_ones_own_passes() -> None:
    check_jvp(fnp.sin, lambda p, t: (fnp.sin(*p), fnp.cos(*p) * t[0]), (X,))
    check_vjp(fnp.sin, lambda x: (fnp.sin(x), lambda ct: (ct * fnp.cos(x),)), (X,))


def test_each_argument_counts() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * fgrad.lax.stop_gradient(y)

    with pytest.raises(AssertionError):
        check_grads(f, (X, X + 1), 1, modes=["fwd"])
    with pytest.raises(AssertionError, match=r"args\[1\]"):
        check_grads(f, (X, X + 1), 1, modes=["rev"])


def test_tolerances_and_step() -> None:
    wrong = function(jvp_factor=1.001)
    check_grads(wrong, (X,), 1, modes=["fwd"], rtol=1e-2, atol=1e-2)
    # A step so large that the differences say something else.
    with pytest.raises(AssertionError):
        check_grads(lambda x: fnp.sin(50 * x), (X,), 1, modes=["fwd"], eps=0.1)


def test_bad_options() -> None:
    with pytest.raises(ArgumentError, match="modes is 'forward'"):
        check_grads(fnp.sin, (X,), 1, modes="forward")
    with pytest.raises(ArgumentError, match="order is 0"):
        check_grads(fnp.sin, (X,), 0)


def test_differences() -> None:
    got = numerical_jvp(lambda x: (fnp.exp(x), fnp.arange(2)), (X,), (np.ones(3),))
    np.testing.assert_allclose(got[0], np.exp(X), rtol=1e-10)
    assert got[1].dtype == np.dtype([("float0", np.void, 0)])
    # Exact, but for rounding, for polynomials of degree four.
    quartic = numerical_jvp(lambda x: x**4, (2.0,), (1.0,), eps=0.1)
    assert float(quartic) == pytest.approx(32.0, rel=1e-12)


def test_check_close() -> None:
    check_close((1.0, {"a": X}), (1.0, {"a": X + 1e-9}))
    with pytest.raises(AssertionError, match="structure"):
        check_close((1.0,), [1.0])
    with pytest.raises(AssertionError, match=r"f64\[3\], expected f32\[3\]"):
        check_close(X, X.astype(np.float32))
    with pytest.raises(AssertionError, match=r"'a'"):
        check_close({"a": X, "b": 1.0}, {"a": X + 1e-3, "b": 1.0})
