"""Properties of the core that broke once: names in compiled code, wrapped objects, value types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fgrad
import fgrad.numpy as fnp
from fgrad import errors
from fgrad.primitives.families import absorbing_product


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


FLAGS = np.array([True, False, True])
THREE = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("affine", "said"),
    [
        (lambda x: x + 1.0, "add"),
        (lambda x: 1.0 - x, "subtract"),
        (lambda x: x + 2j, "add"),
        (lambda x: fnp.concatenate([x, fnp.ones(2)]), "concatenate"),
        (lambda x: fnp.where(FLAGS, x, 1.0), "where"),
        (lambda x: fnp.pad(x, 1, constant_values=2.0), "concatenate"),
        (lambda x: fnp.ones(5).at[:3].set(x), "x.at[...].set"),
        (lambda x: x.at[np.array([0, 1])].set(1.0), "x.at[...].set"),
        (lambda x: x.at[np.array([0, 1])].add(1.0), "x.at[...].add"),
        (lambda x: fgrad.lax.complex(x, np.ones(3)), "complex"),
        (lambda x: fgrad.jit(lambda y: y + 1.0)(x), "add"),
        (lambda x: fgrad.checkpoint(lambda y: y + 1.0)(x), "add"),
    ],
)
def test_affine_functions_have_no_linear_transpose(affine: Any, said: str) -> None:
    transpose = fgrad.linear_transpose(affine, THREE)
    with pytest.raises(fgrad.errors.NonLinearError, match="affine") as caught:
        transpose(fnp.ones_like(affine(fnp.array(THREE))))
    assert f" {said} at test_regressions_core.py:" in str(caught.value)


@pytest.mark.parametrize(
    "bent",
    [
        lambda x: x % 2.0,
        lambda x: fnp.fmod(x, 2.0),
        fnp.floor,
        lambda x: fnp.heaviside(x, 1.0),
        fgrad.lax.stop_gradient,
        lambda x: x.astype(np.int64).astype(np.float64),
    ],
)
def test_functions_of_steps_have_no_linear_transpose(bent: Any) -> None:
    with pytest.raises(fgrad.errors.NonLinearError, match="not linear in the arguments"):
        fgrad.linear_transpose(bent, THREE)(np.ones(3))


@pytest.mark.parametrize(
    "linear",
    [
        lambda x: x + 0.0,
        lambda x: x * np.inf,
        lambda x: fnp.concatenate([x, fnp.zeros(2)]),
        lambda x: fnp.where(FLAGS, x, 0.0),
        lambda x: fnp.where(fnp.ones(3, bool), x, 5.0),
        lambda x: fnp.pad(x, 1),
        lambda x: fnp.zeros(2000).at[4:7].set(2.0 * x),
        lambda x: x.at[np.array([0, 1])].set(0.0),
        lambda x: fnp.cumsum(fnp.convolve(x, np.ones(2))),
        lambda x: fgrad.checkpoint(lambda y: fgrad.jit(lambda z: 3.0 * z)(y) - y)(x),
    ],
)
@pytest.mark.parametrize("wrapper", [lambda f: f, fgrad.jit])
def test_zeros_beside_the_arguments_keep_a_function_linear(linear: Any, wrapper: Any) -> None:
    out, pullback = fgrad.vjp(linear, THREE)
    ct = np.linspace(1.0, 2.0, out.size).reshape(out.shape)
    found = wrapper(lambda c: fgrad.linear_transpose(linear, THREE)(c))(ct)
    assert_allclose(found[0], pullback(ct)[0])


def test_linear_transpose_scales_by_values_that_are_unknown() -> None:
    def scaled(c: Any) -> Any:
        return fgrad.linear_transpose(lambda x: fnp.where(c > 0, x / c, 0.0), THREE)(fnp.ones(3))[0]

    assert_allclose(fgrad.jit(scaled)(THREE), 1 / THREE)
    assert_allclose(fgrad.vmap(scaled)(THREE), np.repeat(1 / THREE, 3).reshape(3, 3))


@pytest.mark.parametrize("whole", [lambda x: x.astype(np.int64), lambda x: 2 * x])
def test_linear_transpose_refuses_integers(whole: Any) -> None:
    primal = THREE if whole(fnp.array(THREE)).dtype == np.int64 else np.arange(3)
    with pytest.raises(fgrad.errors.DTypeError, match="of dtype int64"):
        fgrad.linear_transpose(whole, primal)


@pytest.mark.parametrize("offset", [0.0, 1e4, -1e6])
def test_slopes_of_logsumexp_add_to_one_far_from_zero(offset: float) -> None:
    x = (np.linspace(-3.0, 3.0, 50) + offset).astype(np.float32)
    exact = np.exp(x.astype(np.float64) - x.max())
    exact /= exact.sum()
    gradient = fgrad.grad(fgrad.nn.logsumexp)(x)
    assert gradient.dtype == np.float32
    assert_allclose(gradient, exact, rtol=2e-6)
    last = fgrad.grad(lambda v: fgrad.lax.cumlogsumexp(v)[-1])(x)
    # Each running sum is a float32 number, which moves the slopes by what it was rounded by.
    assert_allclose(np.asarray(last).sum(), 1.0, rtol=2e-6)
    loss = fgrad.grad(lambda v: -fgrad.nn.log_softmax(v)[0])(x)
    assert_allclose(loss, exact - (np.arange(50) == 0), rtol=1e-5, atol=1e-7)


def test_second_slopes_of_logsumexp_of_huge_equal_numbers() -> None:
    f, x = fgrad.nn.logsumexp, np.full(2, 1e300)
    assert np.asarray(fgrad.grad(f)(x)).tolist() == [0.5, 0.5]
    assert_allclose(fgrad.hessian(f)(x), [[0.25, -0.25], [-0.25, 0.25]])


def test_logsumexp_of_many_half_precision_numbers() -> None:
    x = np.zeros(100_000, np.float16)
    gradient = np.asarray(fgrad.grad(fgrad.nn.logsumexp)(x))
    assert gradient.dtype == np.float16
    assert (gradient == np.float16(1e-5)).all()


def test_hypot_at_the_origin_has_the_slopes_of_a_norm() -> None:
    def length(v: Any) -> Any:
        return fnp.hypot(v[0], v[1])

    origin = np.zeros(2)
    assert np.asarray(fgrad.grad(length)(origin)).tolist() == [0.0, 0.0]
    assert np.asarray(fgrad.grad(fnp.linalg.norm)(origin)).tolist() == [0.0, 0.0]
    assert np.isfinite(fgrad.hessian(length)(origin)).all()
    assert_allclose(fgrad.grad(length)(np.array([3.0, -4.0])), [0.6, -0.8])


def test_copysign_has_the_slope_of_abs_at_zero() -> None:
    assert fgrad.grad(lambda x: fnp.copysign(x, 1.0))(0.0) == fgrad.grad(fnp.abs)(0.0) == 1.0
    assert fgrad.grad(lambda x: fnp.copysign(x, -2.0))(0.0) == -1.0


WEAK_EXAMPLES: dict[str, Any] = {
    "where": lambda x: fnp.where(x > 0, 1.0, 0.0) * x,
    "where of integers": lambda x: fnp.where(x > 0, 3, 1) * x + fnp.where(x > 1, True, False),
    "a chain": lambda x: fnp.sqrt(fnp.where(x > 0, 2, 1) + 0.5) / x,
    "jit": lambda x: fgrad.jit(lambda c: c * 2.0)(fnp.where(x > 0, 1.0, 0.0)) * x,
    "cond": lambda x: fgrad.lax.cond(x > 0, lambda: 1.0, lambda: 0.5) * x,
    "scan": lambda x: fgrad.lax.scan(
        lambda c, _: (c * fnp.where(c > 0, 2.0, 1.0), c), x, None, length=3
    )[0],
    "select": lambda x: fnp.where(x > 0, x, fnp.where(x > -1, 0.5, 0.1)),
    "compare": lambda x: fnp.where(x > 0, 0.1, 0.2) == np.float32(0.1),
    "compare integers": lambda x: fnp.where(x > 0, 300, 1) == np.int8(1),
    "exponent": lambda x: (x + 3.0) ** fnp.where(x > 0, 2, 3),
    "a known condition": lambda x: fnp.where(np.True_, fnp.where(x > 0, 1.0, 0.5), 2.0) * x,
    "gelu of a choice": lambda x: fgrad.nn.gelu(fnp.where(x > 0, 1.0, 2.0)) + x,
}


@pytest.mark.parametrize("name", sorted(WEAK_EXAMPLES))
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_one_example_of_vmap_is_as_weak_as_the_function_alone(name: str, dtype: Any) -> None:
    f = WEAK_EXAMPLES[name]
    x = np.array([-1.5, -0.5, 0.25, 2.0], dtype)
    alone = [np.asarray(f(fnp.asarray(v))) for v in x]
    differentiable = alone[0].dtype.kind == "f"
    slopes = [np.asarray(fgrad.grad(f)(v)) for v in x] if differentiable else []
    for mapped in (fgrad.vmap(f), fgrad.jit(fgrad.vmap(f)), fgrad.vmap(fgrad.jit(f))):
        rows = np.asarray(mapped(x))
        assert rows.dtype == alone[0].dtype
        assert_allclose(rows, alone, rtol=1e-5 if dtype == np.float32 else 1e-2)
    if differentiable:
        tolerance = {"rtol": 1e-5 if dtype == np.float32 else 1e-2}
        for got in (fgrad.vmap(fgrad.grad(f))(x), fgrad.grad(lambda v: fgrad.vmap(f)(v).sum())(x)):
            assert got.dtype == dtype
            assert_allclose(got, slopes, **tolerance)


# ---- what a first user stumbled over ------------------------------------------------------------


@pytest.mark.parametrize("power", [-1, -2])
def test_integers_to_a_negative_power_are_refused_everywhere(power: int) -> None:
    n = np.arange(1, 4)
    for run in (
        lambda: fnp.asarray(n) ** power,
        lambda: fgrad.vmap(lambda n: n**power)(n),
        lambda: fgrad.jit(lambda n: n**power)(n),
        lambda: fgrad.jit(lambda x: x * fnp.arange(1, 4) ** power)(1.0),
        lambda: fgrad.grad(lambda w: (w * fnp.arange(1, 4) ** power).sum())(1.0),
        lambda: fgrad.lax.integer_pow(2, power),
    ):
        with pytest.raises(errors.DTypeError, match="negative power"):
            run()
    assert fnp.asarray(2.0) ** power == 2.0**power


def test_a_compiled_gradient_keeps_no_array_of_ones() -> None:
    import warnings

    x = np.ones(300_000)
    with warnings.catch_warnings():
        # Nor does it warn of what the user did not capture.
        warnings.simplefilter("error")
        fgrad.jit(fgrad.grad(lambda x: (x.reshape(300, 1000) @ np.ones((1000, 2))).sum()))(x)
    for f in (lambda x: fnp.exp(x).sum(), lambda x: fnp.mean(fnp.tanh(x))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gradient = fgrad.jit(fgrad.grad(f))
            gradient(x)
        lowered = gradient.lower(x)
        assert lowered.cost()["large_constants"] == 0
        held = sum(
            c.nbytes if c.base is None else 8
            for c in lowered.jaxpr.consts
            if isinstance(c, np.ndarray)
        )
        assert held < 100_000


def test_windows_of_a_captured_array_keep_it_once() -> None:
    images = np.random.default_rng(0).normal(size=(4, 1, 12, 12))
    w = np.ones((1, 1, 5, 5))

    def loss(w: Any) -> Any:
        return fnp.sum(fgrad.lax.conv_general_dilated(images, w, (1, 1), "VALID") ** 2)

    want = fgrad.grad(loss)(w)
    f = fgrad.jit(fgrad.grad(loss))
    np.testing.assert_allclose(f(w), want, rtol=1e-12)
    images[:] = 7.0
    np.testing.assert_allclose(f(w), want, rtol=1e-12)


def test_snapshots_of_views() -> None:
    from fgrad.array import shares_writable, snapshot

    rng = np.random.default_rng(0)
    whole = rng.normal(size=(6, 8))
    for owner in (whole, np.asfortranarray(whole), np.arange(48).reshape(6, 8)):
        windows = np.lib.stride_tricks.sliding_window_view(owner, (3, 3))
        for view in (windows, windows[::-1, 1:, ::2], np.broadcast_to(owner[2], (50, 8)), owner.T):
            want = np.array(view)
            kept = snapshot(view)
            assert not shares_writable(kept)
            assert kept.dtype == view.dtype
            before = owner.copy()
            owner[...] = 0
            np.testing.assert_array_equal(kept, want)
            owner[...] = before


def test_in_place_methods_as_statements_are_refused() -> None:
    def by_sort(x: Any) -> Any:
        y = x.copy()
        y.sort()
        return (y * np.arange(3.0)).sum()

    def by_partition(x: Any) -> Any:
        y = x * 1.0
        y.partition(1)
        return y[0]

    def by_nan_to_num(x: Any) -> Any:
        y = np.log(x)
        np.nan_to_num(y, copy=False, neginf=0.0)
        return y.sum()

    x = np.array([3.0, 1.0, 2.0])
    for f in (by_sort, by_partition, by_nan_to_num):
        with pytest.raises(errors.InPlaceError, match="in place"):
            fgrad.grad(f)(x)
    with pytest.raises(errors.InPlaceError, match=r"use x = x\.sort\(\)"):
        fnp.asarray(x).sort()
    np.testing.assert_array_equal(fnp.asarray(x).sort(), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(
        fgrad.grad(lambda x: (x.sort() * np.arange(3.0)).sum())(x), [2.0, 0.0, 1.0]
    )


def test_jit_of_a_method_says_what_to_do_with_self() -> None:
    class Model:
        @fgrad.jit
        def f(self, x: Any) -> Any:
            return x

    with pytest.raises(
        errors.NonArrayError, match=r"class Model; give static_argnums=0, or register"
    ):
        Model().f(np.ones(2))


def test_a_zero_cotangent_whose_tangent_meets_an_infinite_slope() -> None:
    def slopes(x: Any) -> Any:
        return fgrad.grad(lambda t: fnp.sum(fnp.abs(t) ** 0.5))(x)

    x, t = fnp.asarray([0.0, 1.0, -2.0]), fnp.asarray([0.0, 1.0, 0.0])
    pushed = fgrad.jvp(slopes, (x,), (t,))[1]
    np.testing.assert_allclose(pushed, [0.0, -0.25, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(
        pushed, fgrad.jit(lambda x, t: fgrad.jvp(slopes, (x,), (t,)))(x, t)[1]
    )


def test_zeros_that_a_guard_does_not_touch_keep_their_sign() -> None:
    ct, slope = np.array([0.0, -0.0, 0.0, 2.0]), np.array([np.inf, 3.0, -3.0, 1.0])
    with np.errstate(invalid="ignore"):
        got = np.asarray(absorbing_product(ct, slope))
    np.testing.assert_array_equal(got, [0.0, 0.0, 0.0, 2.0])
    np.testing.assert_array_equal(np.signbit(got), [False, True, True, False])
