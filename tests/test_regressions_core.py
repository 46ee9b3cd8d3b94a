"""Properties of the core that broke once: names in compiled code, wrapped objects, value types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fgrad
import fgrad.numpy as fnp


def test_long_compiled_programs_do_not_name_a_variable_like_a_function_they_call() -> None:
    # With this many variables, three-letter names such as sin and cos come up.
    steps = 2500

    def f(x: Any) -> Any:
        for _ in range(steps):
            x = fnp.sin(x) * 1.0001
        return x

    x, slope = 1.0, 1.0
    for _ in range(steps):
        x, slope = np.sin(x) * 1.0001, slope * np.cos(x) * 1.0001
    assert_allclose(fgrad.jit(fgrad.grad(f))(1.0), slope, rtol=1e-9)


class Scale:
    """A callable whose attributes have the names of methods of a jitted function."""

    def __init__(self) -> None:
        self._trace = 2.0
        self._run = 3.0
        self.lower = 5.0
        self.label = "scale"

    def __call__(self, x: Any) -> Any:
        return x * self._trace * self._run


def test_jit_of_an_object_keeps_its_own_methods() -> None:
    compiled = fgrad.jit(Scale())
    assert compiled(2.0) == 12.0
    assert compiled.lower(2.0).jaxpr.out_avals[0].weak
    assert compiled.label == "scale"


def test_jit_of_a_pullback() -> None:
    x = np.array([0.3, -1.2, 2.0])
    _, pullback = fgrad.vjp(lambda a, b: fnp.sin(a) * b, x, 2.0)
    by_a, by_b = fgrad.jit(pullback)(np.ones(3))
    assert_allclose(by_a, 2.0 * np.cos(x))
    assert_allclose(by_b, np.sin(x).sum())


@pytest.mark.parametrize("transform", [fgrad.jacfwd, fgrad.jacrev, fgrad.hessian])
def test_jacobians_of_python_numbers_are_weak(transform: Any) -> None:
    derivative = transform(lambda x: x**3)(2.0)
    assert float(derivative) == 12.0
    assert derivative.weak_type
    assert (derivative * np.ones(2, np.float32)).dtype == np.float32


@pytest.mark.parametrize("transform", [fgrad.jacfwd, fgrad.jacrev, fgrad.hessian])
def test_jacobians_of_0d_arrays_are_strong(transform: Any) -> None:
    derivative = transform(lambda x: x**3)(np.float32(2.0))
    assert derivative.dtype == np.float32
    assert not derivative.weak_type


def test_compiled_conjugate_of_booleans_is_boolean() -> None:
    flags = np.array([True, False, True])
    for f in (fnp.conj, fgrad.jit(fnp.conj)):
        assert f(flags).dtype == np.bool_
        assert f(flags).tolist() == flags.tolist()
    assert fgrad.jit(fnp.vdot)(flags, flags).dtype == np.vdot(flags, flags).dtype
