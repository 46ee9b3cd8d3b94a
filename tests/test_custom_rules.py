"""Rules of users: custom_jvp, custom_vjp and their kin, under every transform, against JAX."""

from __future__ import annotations

import functools
import gc
import inspect
import pickle
import random
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import prelude
from support.compare import differences, finite, largest
from support.custom_programs import MOVING, PAIRS
from support.modules import IS_JAX, Tracer, beyond_jax, error_class, fgrad, fnp, jax, jnp
from support.stacks import FORMS

CustomRuleError = error_class("CustomRuleError", TypeError)
LARGEST = 1e6


def line_of(f: Any) -> str:
    """How messages give the place of a function."""
    code = f.__code__
    return f"test_custom_rules.py:{code.co_firstlineno}"


# ---- random stacks of transforms -----------------------------------------------------------------


def stacked(lib: Any, xp: Any, f: Any, stack: list[tuple[str, tuple[int, ...], Any]]) -> Any:
    for kind, moving, form in stack:
        f = getattr(prelude, kind)(lib, xp, f, moving, form)
    return f


def random_stack(name: str, seed: int) -> list[tuple[str, tuple[int, ...], Any]]:
    draw = random.Random(f"{name} {seed}")
    stack = []
    for _ in range(draw.choice((1, 2, 2, 3, 3, 4))):
        kind = draw.choice(sorted(FORMS))
        # The last argument may be a Python number, which has no axis to map over.
        pool = (0, 1) if kind == "vmap" else MOVING.get(name, (0, 1, 2))
        moving = tuple(sorted(draw.sample(pool, draw.randint(1, len(pool)))))
        stack.append((kind, moving, draw.choice(FORMS[kind])))
    return stack


def arguments(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, 3)), rng.uniform(-1, 1, 3)
    return [a, b, 0.625 if seed % 2 else np.float64(0.7)]


@pytest.mark.skipif(IS_JAX, reason="JAX has no forward mode of custom_vjp")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", PAIRS)
def test_random_stacks_of_transforms_agree_with_the_program_without_rules(
    name: str, seed: int
) -> None:
    stack = random_stack(name, seed)
    args = arguments(seed)
    reference = stacked(jax, jnp, PAIRS[name].plain(jax, jnp), stack)
    want = reference(*[x if type(x) is float else jnp.asarray(x) for x in args])
    assert finite(want)
    assert largest(want) < LARGEST
    got = stacked(fgrad, fnp, PAIRS[name].ruled(fgrad, fnp), stack)(*args)
    assert not differences(got, want), (name, stack)


# ---- the rule counts, not the function -------------------------------------------------------------


def tripled_jvp(lib: Any, xp: Any) -> Any:
    """A rule that is three times the derivative, so that it shows where it was left out."""

    @lib.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), 3.0 * (xp.cos(x) * y * x_dot + xp.sin(x) * y_dot)

    return f


def tripled_vjp(lib: Any, xp: Any) -> Any:
    @lib.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return xp.sin(x) * y

    f.defvjp(
        lambda x, y: (f(x, y), (x, y)),
        lambda xy, ct: (
            3.0 * ct * xp.cos(xy[0]) * xy[1],
            3.0 * xp.sum(ct * xp.sin(xy[0])).reshape(np.shape(xy[1])),
        ),
    )
    return f


WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "value": lambda lib, f, xp: f,
    "jit": lambda lib, f, xp: lib.jit(f),
    "grad": lambda lib, f, xp: lib.grad(f, argnums=(0, 1)),
    "grad of jit": lambda lib, f, xp: lib.grad(lib.jit(f), argnums=(0, 1)),
    "jit of grad": lambda lib, f, xp: lib.jit(lib.grad(f, argnums=1)),
    "grad of grad": lambda lib, f, xp: lib.grad(lib.grad(f)),
    "third": lambda lib, f, xp: lib.grad(lib.grad(lib.grad(f)), argnums=1),
    "third of jit": lambda lib, f, xp: lib.grad(lib.jit(lib.grad(lib.grad(lib.jit(f)))), argnums=1),
    "jacrev of grad": lambda lib, f, xp: lib.jacrev(lib.grad(f), argnums=(0, 1)),
    "grad of checkpoint": lambda lib, f, xp: lib.grad(lib.checkpoint(f)),
    "vjp": lambda lib, f, xp: lambda x, y: lib.vjp(f, x, y)[1](2.0 + 0.0 * x),
    "vmap over cotangents": lambda lib, f, xp: (
        lambda x, y: lib.vmap(lib.vjp(f, x, y)[1])(xp.arange(3.0))
    ),
    "vmap": lambda lib, f, xp: lambda x, y: lib.vmap(f)(xp.stack([x, y]), xp.stack([y, x])),
    "vmap of grad": lambda lib, f, xp: (
        lambda x, y: lib.vmap(lib.grad(f, argnums=(0, 1)), (0, None))(xp.stack([x, y]), y)
    ),
    "grad of vmap": lambda lib, f, xp: lib.grad(
        lambda x, y: xp.sum(lib.vmap(f, (None, 0))(x, xp.stack([x, y, x * y]))), argnums=(0, 1)
    ),
    "grad of vmap of jit": lambda lib, f, xp: lib.grad(
        lambda x, y: xp.sum(lib.vmap(lib.jit(f), (0, None))(xp.stack([x, y, x * y]), y)),
        argnums=(0, 1),
    ),
    "jit of grad of vmap": lambda lib, f, xp: lib.jit(
        lib.grad(lambda x, y: xp.sum(lib.vmap(f)(xp.stack([x, y]), xp.stack([y, x]))))
    ),
    "grad of vmap of vmap": lambda lib, f, xp: lib.grad(
        lambda x, y: xp.sum(
            lib.vmap(lib.vmap(f, (0, None)), (None, 0))(xp.stack([x, y]), xp.stack([y, x, x]))
        )
    ),
}
FORWARD: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jacfwd of grad": lambda lib, f, xp: lib.jacfwd(lib.grad(f), argnums=(0, 1)),
    "jvp": lambda lib, f, xp: lambda x, y: lib.jvp(f, (x, y), (0.5 * x, y)),
    "jvp of one": lambda lib, f, xp: lambda x, y: lib.jvp(lambda x: f(x, y), (x,), (y,)),
    "linearize": lambda lib, f, xp: lambda x, y: lib.linearize(f, x, y)[1](x, y),
    "linearize of jit": lambda lib, f, xp: lambda x, y: lib.linearize(lib.jit(f), x, y)[1](x, y),
    "jit of jvp": lambda lib, f, xp: lib.jit(lambda x, y: lib.jvp(f, (x, y), (y, x))),
    "jacfwd of jacfwd": lambda lib, f, xp: lib.jacfwd(lib.jacfwd(f), argnums=(0, 1)),
    "hessian": lambda lib, f, xp: lib.hessian(f, argnums=(0, 1)),
    "jacrev of jacfwd": lambda lib, f, xp: lib.jacrev(lib.jacfwd(f)),
    "vmap of jvp": lambda lib, f, xp: (
        lambda x, y: lib.vmap(lambda t: lib.jvp(f, (x, y), (t, y))[1])(xp.arange(3.0))
    ),
    "jvp of vmap": lambda lib, f, xp: (
        lambda x, y: lib.jvp(lambda x: lib.vmap(f, (0, None))(xp.stack([x, y]), x), (x,), (y,))
    ),
}


def outcomes(way: Any, make: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    got = way(fgrad, make(fgrad, fnp), fnp)(*args)
    want = way(jax, make(jax, jnp), jnp)(*map(jnp.asarray, args))
    return got, want


@pytest.mark.parametrize("make", [tripled_jvp, tripled_vjp])
@pytest.mark.parametrize("way", WAYS)
def test_the_rule_is_what_derivatives_follow(way: str, make: Any) -> None:
    got, want = outcomes(WAYS[way], make, (np.float64(0.6), np.float64(-1.3)))
    assert not differences(got, want)


@pytest.mark.parametrize("way", FORWARD)
def test_a_jvp_rule_holds_in_forward_mode(way: str) -> None:
    got, want = outcomes(FORWARD[way], tripled_jvp, (np.float64(0.6), np.float64(-1.3)))
    assert not differences(got, want)


@beyond_jax("JAX refuses forward mode of custom_vjp")
@pytest.mark.parametrize("way", FORWARD)
def test_a_backward_rule_is_transposed_for_forward_mode(way: str) -> None:
    # The first derivative is the same rule, written forward; its derivatives are those of the rule.
    args = (np.float64(0.6), np.float64(-1.3))
    got = FORWARD[way](fgrad, tripled_vjp(fgrad, fnp), fnp)(*args)
    want = FORWARD[way](jax, tripled_jvp(jax, jnp), jnp)(*map(jnp.asarray, args))
    assert not differences(got, want)


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (1, 0), (0, 1), (-1, None)])
@pytest.mark.parametrize("make", [tripled_jvp, tripled_vjp])
def test_every_mapped_axis(make: Any, in_axes: tuple[int | None, int | None]) -> None:
    x, y = np.linspace(-1, 1, 9).reshape(3, 3), np.linspace(0.5, 2, 9).reshape(3, 3)

    def loss(lib: Any, xp: Any) -> Any:
        f = make(lib, xp)
        whole = lib.vmap(lambda x, y: f(xp.sum(x), xp.sum(y)), in_axes)
        return lambda x, y: xp.sum(whole(x, y) ** 2)

    for way in (lambda lib, f: f, lambda lib, f: lib.jit(f)):
        got = way(fgrad, fgrad.grad(loss(fgrad, fnp), argnums=(0, 1)))(x, y)
        want = way(jax, jax.grad(loss(jax, jnp), argnums=(0, 1)))(jnp.asarray(x), jnp.asarray(y))
        assert not differences(got, want)


def test_float32_and_python_numbers_keep_their_types() -> None:
    for make in (tripled_jvp, tripled_vjp):
        f = make(fgrad, fnp)
        x = np.float32(0.5)
        assert fgrad.grad(f)(x, x).dtype == np.float32
        assert fgrad.jit(fgrad.grad(f))(x, x).dtype == np.float32
        assert f(0.5, 2.0).weak_type
        assert fgrad.jit(f)(0.5, 2.0).weak_type
        assert fgrad.grad(f)(0.5, 2.0).weak_type
        assert fgrad.jit(fgrad.grad(f))(0.5, 2.0).weak_type
        assert fgrad.grad(fgrad.jit(f))(0.5, 2.0).weak_type


# ---- known values ------------------------------------------------------------------------------------


@beyond_jax("values are known under derivatives")
def test_branches_on_known_values_in_function_and_rules() -> None:
    seen: list[float] = []

    @fgrad.custom_jvp
    def f(x: Any) -> Any:
        return x if x > 0.0 else 0.0 * x

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (x_dot,) = primals, tangents
        seen.append(float(fgrad.lax.stop_gradient(x)))
        return f(x), x_dot if x > 0.0 else 0.1 * x_dot

    assert float(fgrad.grad(f)(2.0)) == 1.0
    assert float(fgrad.grad(f)(-2.0)) == 0.1
    assert float(fgrad.jvp(f, (-2.0,), (3.0,))[1]) == pytest.approx(0.3)
    assert float(fgrad.linearize(f, -2.0)[1](1.0)) == 0.1
    assert float(fgrad.grad(fgrad.grad(lambda x: f(x) ** 2))(3.0)) == 2.0
    assert set(seen) == {2.0, -2.0, 3.0}

    @fgrad.custom_vjp
    def g(x: Any, n: Any) -> Any:
        return x**n

    def forward(x: Any, n: Any) -> Any:
        return (x**n, (x, n)) if n > 1 else (x, (x, 1))

    def backward(residuals: Any, ct: Any) -> Any:
        x, n = residuals
        return (n * x ** (n - 1) * ct if x > 1.0 else 0.0 * ct), None

    g.defvjp(forward, backward)
    assert float(fgrad.grad(g)(2.0, 3)) == 12.0
    assert float(fgrad.grad(g)(0.5, 3)) == 0.0


def test_an_unmapped_argument_stays_known_in_a_batch() -> None:
    @fgrad.custom_jvp
    def f(x: Any, n: Any) -> Any:
        return x**2 if n == 2 else x

    f.defjvps(lambda x_dot, answer, x, n: x_dot * (2.0 * x if n == 2 else 1.0), None)
    x = np.arange(3.0)
    mapped = fgrad.vmap(f, in_axes=(0, None))
    np.testing.assert_allclose(mapped(x, 2), x**2)
    np.testing.assert_allclose(fgrad.grad(lambda x: fnp.sum(mapped(x, 2)))(x), 2 * x)


# ---- arguments -----------------------------------------------------------------------------------------


def test_keyword_and_default_arguments_reach_the_rules_by_position() -> None:
    for lib in (fgrad, jax):

        @lib.custom_vjp
        def f(x: Any, scale: Any = 2.0, *, shift: Any = 1.0) -> Any:
            return scale * x + shift

        calls: list[Any] = []

        def forward(x: Any, scale: Any) -> Any:
            calls.append(scale)  # noqa: B023
            return scale * x + 1.0, scale

        f.defvjp(forward, lambda scale, ct: (10.0 * scale * ct, None))
        assert float(lib.grad(f)(3.0)) == 20.0
        assert float(lib.grad(lambda x: f(x, scale=5.0))(3.0)) == 50.0
        assert float(lib.grad(lambda x: f(scale=7.0, x=x))(3.0)) == 70.0
        assert float(f(1.0, scale=4.0)) == 5.0
        assert len(calls) == 3


@pytest.mark.parametrize("way", ["argnums", "argnames", "negative"])
def test_nondifferentiable_arguments(way: str) -> None:
    options: dict[str, Any] = {
        "argnums": {"nondiff_argnums": (0, 2)},
        "argnames": {"nondiff_argnames": ("f", "n")},
        "negative": {"nondiff_argnums": (-3, -1)},
    }[way]

    def apply(f: Any, x: Any, n: int) -> Any:
        for _ in range(n):
            x = f(x)
        return x

    by_jvp = fgrad.custom_jvp(apply, **options)

    @by_jvp.defjvp
    def rule(f: Any, n: int, primals: Any, tangents: Any) -> Any:
        return by_jvp(f, *primals, n), 10.0 * n * tangents[0]

    by_vjp = fgrad.custom_vjp(apply, **options)
    by_vjp.defvjp(
        lambda f, x, n: (by_vjp(f, x, n), x),
        lambda f, n, x, ct: (10.0 * n * f(x) * ct,),
    )
    assert float(fgrad.grad(by_jvp, argnums=1)(fnp.sin, 1.0, 3)) == 30.0
    assert float(fgrad.jit(fgrad.grad(lambda x: by_jvp(fnp.sin, x, 2)))(1.0)) == 20.0
    want = 30.0 * np.sin(1.0)
    assert float(fgrad.grad(by_vjp, argnums=1)(fnp.sin, 1.0, 3)) == pytest.approx(want)
    assert float(fgrad.grad(fgrad.jit(lambda x: by_vjp(fnp.sin, x, 3)))(1.0)) == pytest.approx(want)
    assert float(fgrad.jit(lambda x: by_vjp(fnp.sin, x, 1))(1.0)) == pytest.approx(np.sin(1.0))


def test_a_traced_setting_of_custom_jvp_is_a_constant_of_the_rule() -> None:
    f = fgrad.custom_jvp(lambda x, n: x * n, nondiff_argnums=1)

    @f.defjvp
    def rule(n: Any, primals: Any, tangents: Any) -> Any:
        return f(primals[0], n), 10.0 * n * tangents[0]

    assert float(fgrad.jit(fgrad.grad(f))(1.0, 3.0)) == 30.0
    assert float(fgrad.grad(fgrad.jit(f))(1.0, 3.0)) == 30.0
    np.testing.assert_allclose(
        fgrad.vmap(fgrad.grad(f), (None, 0))(1.0, np.arange(3.0)), 10.0 * np.arange(3.0)
    )
    np.testing.assert_allclose(
        fgrad.grad(lambda x: fnp.sum(fgrad.vmap(f, (None, 0))(x, np.arange(3.0))))(1.0), 30.0
    )


def test_methods_take_their_object_as_a_setting() -> None:
    class Layer:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @functools.partial(fgrad.custom_vjp, nondiff_argnums=0)
        def apply(self, x: Any) -> Any:
            return self.scale * x

        def forward(self, x: Any) -> Any:
            return self.scale * x, None

        def backward(self, residuals: Any, ct: Any) -> Any:
            return (100.0 * self.scale * ct,)

        apply.defvjp(forward, backward)

    assert float(fgrad.grad(Layer(3.0).apply)(2.0)) == 300.0
    assert float(Layer(3.0).apply(2.0)) == 6.0


# ---- symbolic zeros ----------------------------------------------------------------------------------


def test_zero_tangents_come_as_arrays_unless_asked_for_otherwise() -> None:
    seen: list[Any] = []

    def make(lib: Any, symbolic: bool) -> Any:
        @lib.custom_jvp
        def f(x: Any, y: Any, n: Any) -> Any:
            return x * y * n

        def rule(primals: Any, tangents: Any) -> Any:
            x, y, n = primals
            seen.append(tangents)
            x_dot = tangents[0]
            return f(x, y, n), x_dot * y * n

        f.defjvp(rule, symbolic_zeros=symbolic)
        return f

    for lib in (fgrad, jax):
        zero = lib.custom_derivatives.SymbolicZero
        for transform in (lib.grad, lambda f, lib=lib: lib.grad(lib.jit(f))):
            seen.clear()
            assert float(transform(make(lib, False))(2.0, 3.0, 4)) == 12.0
            _, y_dot, n_dot = seen[-1]
            assert y_dot.shape == ()
            assert y_dot.dtype == np.float64
            assert n_dot.dtype == jax.dtypes.float0
            seen.clear()
            assert float(transform(make(lib, True))(2.0, 3.0, 4)) == 12.0
            x_dot, y_dot, n_dot = seen[-1]
            assert isinstance(y_dot, zero)
            assert isinstance(n_dot, zero)
            assert not isinstance(x_dot, zero)
            assert y_dot.dtype == np.float64
            assert y_dot.shape == ()
            assert n_dot.dtype == jax.dtypes.float0


def test_a_rule_may_return_symbolic_zeros() -> None:
    for lib in (fgrad, jax):
        zero = lib.custom_derivatives.SymbolicZero

        @lib.custom_jvp
        def f(x: Any) -> Any:
            return x, x * x

        def rule(primals: Any, tangents: Any) -> Any:
            (x,) = primals
            return (x, x * x), (zero.from_primal_value(x), 5.0 * tangents[0])  # noqa: B023

        f.defjvp(rule, symbolic_zeros=True)
        assert float(lib.grad(lambda x: f(x)[0] + f(x)[1])(2.0)) == 5.0
        assert float(lib.grad(lib.jit(lambda x: f(x)[0] + f(x)[1]))(2.0)) == 5.0


def test_symbolic_zeros_of_custom_vjp() -> None:
    for lib in (fgrad, jax):
        perturbed: list[Any] = []
        zeros: list[Any] = []

        @lib.custom_vjp
        def f(x: Any, y: Any) -> Any:
            return x * y, x + y

        def forward(x: Any, y: Any) -> Any:
            perturbed.append((x.perturbed, y.perturbed))  # noqa: B023
            return (x.value * y.value, x.value + y.value), (x.value, y.value)

        def backward(residuals: Any, cts: Any) -> Any:
            kind = lib.custom_derivatives.SymbolicZero  # noqa: B023
            zeros.append([isinstance(ct, kind) for ct in cts])  # noqa: B023
            return 7.0 * cts[0] * residuals[1], None

        f.defvjp(forward, backward, symbolic_zeros=True)
        assert float(lib.grad(lambda x: f(x, 3.0)[0])(2.0)) == 21.0
        assert perturbed[-1] == (True, False)
        assert zeros[-1] == [False, True]
        assert float(lib.grad(lib.jit(lambda x: f(x, 3.0)[0]))(2.0)) == 21.0
        assert zeros[-1] == [False, True]


# ---- closures --------------------------------------------------------------------------------------------


def closing(lib: Any, xp: Any, s: Any, kind: str) -> Any:
    """A function and rules that close over `s`, and rules of which only they do."""
    if kind == "jvp":
        f = lib.custom_jvp(lambda x: x * s)

        @f.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            return f(*primals), 10.0 * s * tangents[0]

    elif kind == "rule alone":
        f = lib.custom_jvp(lambda x: 2.0 * x)
        f.defjvp(lambda p, t: (f(*p), 10.0 * s * t[0] * p[0]))
    else:
        f = lib.custom_vjp(lambda x: x * s)
        f.defvjp(lambda x: (f(x), (x, s)), lambda xs, ct: (10.0 * xs[1] * xs[0] * ct,))
    return f


#: Each with the value at s = 3, x = 2 (k = 1, 2, 3), where the slope of a rule is `at(s, x)`.
CLOSURES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "vmap": (
        lambda lib, xp, run: lib.vmap(lambda k: run(k)(2.0))(KS),
        lambda at, value: [value(k, 2.0) for k in KS],
    ),
    "vmap of grad": (
        lambda lib, xp, run: lib.vmap(lambda k: lib.grad(run(k))(2.0))(KS),
        lambda at, value: [at(k, 2.0) for k in KS],
    ),
    "jit of grad": (
        lambda lib, xp, run: lib.jit(lambda s: lib.grad(run(s))(2.0))(3.0),
        lambda at, value: at(3.0, 2.0),
    ),
    "grad towards what is closed over": (
        lambda lib, xp, run: lib.grad(lambda s: run(s)(2.0))(3.0),
        lambda at, value: value(1.0, 2.0) - value(0.0, 2.0),
    ),
    "grad of jit towards what is closed over": (
        lambda lib, xp, run: lib.grad(lib.jit(lambda s: lib.jit(run(s))(2.0)))(3.0),
        lambda at, value: value(1.0, 2.0) - value(0.0, 2.0),
    ),
    "grad of grad": (
        lambda lib, xp, run: lib.grad(lambda s: lib.grad(run(s))(2.0))(3.0),
        lambda at, value: at(1.0, 2.0),
    ),
    "grad of grad of jit": (
        lambda lib, xp, run: lib.grad(lambda s: lib.grad(lib.jit(run(s)))(2.0))(3.0),
        lambda at, value: at(1.0, 2.0),
    ),
    "grad of jit": (
        lambda lib, xp, run: lib.grad(lib.jit(lambda x: run(3.0 * x.shape[0])(x[0])))(
            np.array([2.0])
        ),
        lambda at, value: [at(3.0, 2.0)],
    ),
    "grad of jit of what it computes": (
        lambda lib, xp, run: lib.grad(lib.jit(lambda x, s: run(xp.sin(s))(x)))(2.0, 3.0),
        lambda at, value: at(np.sin(3.0), 2.0),
    ),
    "second of jit": (
        lambda lib, xp, run: lib.grad(lib.grad(lib.jit(lambda x, s: run(s)(x))))(2.0, 3.0),
        lambda at, value: at(3.0, 2.0) - at(3.0, 1.0),
    ),
    "third of jit": (
        lambda lib, xp, run: lib.grad(
            lib.jit(lib.grad(lib.grad(lib.jit(lambda x, s: run(s * s)(x) ** 2))))
        )(2.0, 3.0),
        None,
    ),
    "grad of vmap": (
        lambda lib, xp, run: lib.grad(
            lambda x: xp.sum(lib.vmap(lambda k: run(k)(x))(KS)),
        )(2.0),
        lambda at, value: sum(at(k, 2.0) for k in KS),
    ),
    "grad of vmap, both mapped": (
        lambda lib, xp, run: lib.grad(
            lambda x: xp.sum(lib.vmap(lambda k, x: run(k)(x))(KS, x)),
        )(KS + 1.0),
        lambda at, value: [at(k, k + 1.0) for k in KS],
    ),
    "jvp of vmap": (
        lambda lib, xp, run: lib.jvp(lambda x: lib.vmap(lambda k: run(k)(x))(KS), (2.0,), (1.0,))[
            1
        ],
        lambda at, value: [at(k, 2.0) for k in KS],
    ),
    "jit of grad of vmap": (
        lambda lib, xp, run: lib.jit(
            lib.grad(lambda x, k: xp.sum(lib.vmap(lambda k: run(k)(x))(k)))
        )(2.0, KS),
        lambda at, value: sum(at(k, 2.0) for k in KS),
    ),
    "grad of jit of vmap": (
        lambda lib, xp, run: lib.grad(
            lib.jit(lambda x, k: xp.sum(lib.vmap(lambda k: run(k)(x))(k)))
        )(2.0, KS),
        lambda at, value: sum(at(k, 2.0) for k in KS),
    ),
    "vmap of grad of jit": (
        lambda lib, xp, run: lib.vmap(lib.grad(lib.jit(lambda x, s: run(s)(x))))(KS + 1.0, KS),
        lambda at, value: [at(k, k + 1.0) for k in KS],
    ),
    "grad of checkpoint": (
        lambda lib, xp, run: lib.grad(lib.checkpoint(lambda x, s: run(s)(x)))(2.0, 3.0),
        lambda at, value: at(3.0, 2.0),
    ),
}
KS = np.arange(1.0, 4.0)
SLOPES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "jvp": (lambda s, x: 10.0 * s, lambda s, x: x * s),
    "rule alone": (lambda s, x: 10.0 * s * x, lambda s, x: 2.0 * x),
    "vjp": (lambda s, x: 10.0 * s * x, lambda s, x: x * s),
}


@beyond_jax("JAX asks for rules after the trace of what they close over has ended")
@pytest.mark.parametrize("kind", SLOPES)
@pytest.mark.parametrize("way", CLOSURES)
def test_rules_that_close_over_outer_values(way: str, kind: str) -> None:
    at, value = SLOPES[kind]
    run, wanted = CLOSURES[way]
    got = run(fgrad, fnp, lambda s: closing(fgrad, fnp, s, kind))
    if wanted is None:
        # The square of f at s = 9: 2 f f' with the rule for f', twice more.
        f, f1 = value(9.0, 2.0), at(9.0, 2.0)
        f2 = at(9.0, 2.0) - at(9.0, 1.0)
        want: Any = 2.0 * (3.0 * f1 * f2 + 0.0 * f)
    else:
        want = wanted(at, value)
    np.testing.assert_allclose(got, want)


# ---- errors -----------------------------------------------------------------------------------------------


def message(kind: Any, f: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        f()
    return str(caught.value)


def test_a_function_without_a_rule() -> None:
    for decorator, words in (
        (fgrad.custom_jvp, "defjvp"),
        (fgrad.custom_vjp, "defvjp"),
    ):

        @decorator
        def lonely(x: Any) -> Any:
            return x

        text = message(AttributeError, lambda: lonely(1.0))
        assert "lonely" in text
        assert words in text
        assert line_of(lonely.fun) in text


def bad_jvp(rule: Callable[..., Any]) -> Any:
    @fgrad.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return {"u": x * y, "v": (x, y)}

    f.defjvp(rule)
    return f


def good(p: Any) -> Any:
    return {"u": p[0] * p[1], "v": (p[0], p[1])}


JVP_FAULTS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "no pair": (lambda p, t: good(p), ["a dict", "pair (answer, tangent)"]),
    "three": (lambda p, t: (good(p), good(p), 1), ["a tuple of 3", "pair"]),
    "structure": (
        lambda p, t: (good(p), {"u": t[0], "v": t[1]}),
        ["structure {'u': *, 'v': *}", "{'u': *, 'v': (*, *)}"],
    ),
    "shape": (
        lambda p, t: (good(p), {"u": np.ones(3) * t[0], "v": (t[0], t[1])}),
        ["the result['u'] of shape (3,)", "expected ()"],
    ),
    "dtype": (
        lambda p, t: (good(p), {"u": t[0], "v": (t[0], t[1].astype("float32"))}),
        ["the result['v'][1] of dtype float32", "expected float64", ".astype('float64')"],
    ),
    "not an array": (
        lambda p, t: (good(p), {"u": "zero", "v": (t[0], t[1])}),
        ["the tangent of the result['u']", "str"],
    ),
}


@pytest.mark.parametrize("fault", JVP_FAULTS)
@pytest.mark.parametrize("jitted", [False, True])
def test_what_a_jvp_rule_may_not_return(fault: str, jitted: bool) -> None:
    rule, words = JVP_FAULTS[fault]
    f = bad_jvp(rule)
    f = fgrad.jit(f) if jitted else f
    kind = TypeError if fault == "not an array" else CustomRuleError
    text = message(kind, lambda: fgrad.vjp(f, np.float64(1.0), np.float64(2.0)))
    for word in words:
        assert word in text
    assert line_of(rule) in text


def bad_vjp(forward: Any, backward: Any) -> Any:
    @fgrad.custom_vjp
    def f(p: Any, x: Any) -> Any:
        return p["w"] * x

    f.defvjp(forward, backward)
    return f


def fine(p: Any, x: Any) -> Any:
    return p["w"] * x, x


VJP_FAULTS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "not a tuple": (
        lambda x, ct: ct,
        ["returned an Array", "a tuple of 2"],
    ),
    "too few": (lambda x, ct: ({"w": ct},), ["a tuple of 1", "a tuple of 2"]),
    "structure": (lambda x, ct: ({"v": ct}, ct), ["structure", "'v'", "'w'"]),
    "leaf for tree": (lambda x, ct: (ct, ct), ["structure (*, *)", "({'w': *}, *)"]),
    "shape": (lambda x, ct: ({"w": fnp.ones(2)}, None), ["p['w'] of shape (2,)", "expected ()"]),
    "dtype": (
        lambda x, ct: (None, fnp.float32(1.0)),
        ["a cotangent of x of dtype float32", "expected float64"],
    ),
    "complex": (lambda x, ct: (None, fnp.asarray(1j)), ["x of dtype complex128", "float64"]),
    "not an array": (lambda x, ct: (None, "x"), ["the cotangent of x", "str"]),
}


@pytest.mark.parametrize("fault", VJP_FAULTS)
@pytest.mark.parametrize("jitted", [False, True])
def test_what_a_backward_rule_may_not_return(fault: str, jitted: bool) -> None:
    rule, words = VJP_FAULTS[fault]
    f = bad_vjp(fine, rule)
    f = fgrad.jit(f) if jitted else f
    kind = TypeError if fault == "not an array" else CustomRuleError
    text = message(
        kind, lambda: fgrad.grad(f, argnums=(0, 1))({"w": np.float64(2.0)}, np.float64(3.0))
    )
    for word in words:
        if not (jitted and word == "returned an Array"):
            assert word in text
    assert line_of(rule) in text


def test_what_a_forward_rule_may_not_return() -> None:
    def forward(p: Any, x: Any) -> Any:
        return p["w"] * x

    f = bad_vjp(forward, lambda x, ct: (None, None))
    for g in (f, fgrad.jit(f)):
        text = message(CustomRuleError, lambda: fgrad.grad(g, 1)({"w": 2.0}, 3.0))  # noqa: B023
        assert "a pair (answer, residuals)" in text
        assert line_of(forward) in text

    def other(p: Any, x: Any) -> Any:
        return (p["w"] * x, x), None

    f = bad_vjp(other, lambda x, ct: (None, None))
    text = message(CustomRuleError, lambda: fgrad.grad(fgrad.jit(f), 1)({"w": 2.0}, 3.0))
    assert "structure (*, *)" in text
    assert "returns *" in text
    assert line_of(other) in text

    def wide(p: Any, x: Any) -> Any:
        return p["w"] * x * fnp.ones(3), None

    f = bad_vjp(wide, lambda x, ct: (None, None))
    text = message(CustomRuleError, lambda: fgrad.grad(fgrad.jit(f), 1)({"w": 2.0}, 3.0))
    assert "shape (3,)" in text
    assert "shape ()" in text
    assert line_of(wide) in text


def test_rules_that_are_not_linear() -> None:
    f = fgrad.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (p[0], t[0] * t[0]))
    for g in (f, fgrad.jit(f)):
        text = message(fgrad.errors.NonLinearError, lambda: fgrad.grad(g)(2.0))  # noqa: B023
        assert "jvp rule" in text
        assert "multiply" in text
        assert "test_custom_rules.py" in text
    f.defjvp(lambda p, t: (p[0], 3.0))
    text = message(fgrad.errors.NonLinearError, lambda: fgrad.grad(f)(2.0))
    assert "constant other than zero" in text
    g = fgrad.custom_vjp(lambda x: x)
    g.defvjp(lambda x: (x, None), lambda _, ct: (fnp.clip(ct, -1.0, 1.0),))
    assert float(fgrad.grad(lambda x: 5.0 * g(x))(1.0)) == 1.0
    text = message(fgrad.errors.NonLinearError, lambda: fgrad.jvp(g, (1.0,), (1.0,)))
    assert "forward mode" in text
    assert "backward rule" in text


def test_positions_of_nondifferentiable_arguments() -> None:
    for decorator in (fgrad.custom_jvp, fgrad.custom_vjp):
        kind = fgrad.errors.ArgnumsError
        text = message(kind, lambda: decorator(lambda x, y: x, nondiff_argnums=2))  # noqa: B023
        assert "nondiff_argnums=2" in text
        assert "2 positional parameters" in text
        text = message(kind, lambda: decorator(lambda x, y: x, nondiff_argnums="x"))  # noqa: B023
        assert "'x'" in text
        text = message(kind, lambda: decorator(lambda x, y: x, nondiff_argnames="z"))  # noqa: B023
        assert "'z'" in text
        assert "x, y" in text

        f = decorator(lambda *xs: xs[0], nondiff_argnums=2)
        if decorator is fgrad.custom_jvp:
            f.defjvp(lambda n, p, t: (p[0], t[0]))
        else:
            f.defvjp(lambda *xs: (xs[0], None), lambda n, r, ct: (ct, None))
        text = message(kind, lambda: f(1.0, 2.0))  # noqa: B023
        assert "argument 2" in text
        assert "2 positional arguments" in text


def test_traced_settings_of_custom_vjp() -> None:
    f = fgrad.custom_vjp(lambda x, by: x * by["k"], nondiff_argnums=1)
    f.defvjp(lambda x, by: (x, None), lambda by, r, ct: (ct,))
    for run in (
        lambda: fgrad.jit(f)(1.0, {"k": 2.0}),
        lambda: fgrad.grad(f, argnums=1)(1.0, {"k": 2.0}),
        lambda: fgrad.vmap(f)(np.ones(2), {"k": np.ones(2)}),
    ):
        text = message(fgrad.errors.NondiffArgumentError, run)
        assert "argument 1" in text
        assert "nondiff_argnums" in text
        assert "ordinary argument" in text


def test_keyword_only_arguments_are_refused() -> None:
    f = fgrad.custom_vjp(lambda x, *, n=1: x)
    f.defvjp(lambda x: (x, None), lambda r, ct: (ct,))
    text = message(fgrad.errors.ArgumentError, lambda: f(1.0, n=2))
    assert "n can only be given by keyword" in text
    text = message(fgrad.errors.ArgumentError, lambda: f(1.0, m=2))
    assert "'m'" in text
    text = message(fgrad.errors.ArgumentError, lambda: f())
    assert "missing" in text


def test_a_number_of_rules_that_does_not_fit() -> None:
    f = fgrad.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda x_dot, answer, x, y: x_dot * y)
    text = message(CustomRuleError, lambda: fgrad.grad(f)(1.0, 2.0))
    assert "1 rules" in text
    assert "2 arguments" in text
    g = fgrad.custom_jvp(lambda x, n: x, nondiff_argnums=1)
    text = message(fgrad.errors.ArgumentError, lambda: g.defjvps(None))
    assert "use defjvp" in text


def test_differentiating_what_is_closed_over() -> None:
    def loss(w: Any, x: Any) -> Any:
        f = fgrad.custom_jvp(lambda x: w * x)
        f.defjvp(lambda p, t: (w * p[0], w * t[0]))
        return f(x)

    kind = fgrad.errors.ClosedOverValueError
    for g in (loss, fgrad.jit(loss), fgrad.checkpoint(loss)):
        for transform in (
            lambda g: fgrad.grad(g, (0, 1))(2.0, 3.0),
            lambda g: fgrad.jvp(g, (2.0, 3.0), (1.0, 1.0)),
        ):
            text = message(kind, lambda: transform(g))  # noqa: B023
            assert "closes over w" in text
            assert "pass the value as an argument" in text
        # Alone, either is fine.
        assert float(fgrad.grad(g, 0)(2.0, 3.0)) == 3.0
        assert float(fgrad.grad(g, 1)(2.0, 3.0)) == 2.0


# ---- no traces left ---------------------------------------------------------------------------------------


def tracers_alive() -> int:
    gc.collect()
    return sum(isinstance(x, Tracer) for x in gc.get_objects() if not isinstance(x, type))


def test_no_tracer_outlives_a_transform() -> None:
    before = tracers_alive()
    for make in (tripled_jvp, tripled_vjp):
        f = make(fgrad, fnp)
        compiled = fgrad.jit(fgrad.grad(fgrad.jit(f)))
        compiled(1.0, 2.0)
        fgrad.grad(fgrad.grad(fgrad.jit(f)))(1.0, 2.0)
        fgrad.jit(fgrad.vmap(fgrad.grad(f)))(np.ones(3), np.ones(3))
        fgrad.grad(lambda x: fnp.sum(fgrad.vmap(f)(x, x)))(np.ones(3))  # noqa: B023
        fgrad.jvp(f, (1.0, 2.0), (1.0, 1.0))
        # Caches of earlier tests may let go of some.
        assert tracers_alive() <= before


def test_a_large_array_goes_with_the_function_that_closes_over_it() -> None:
    def make() -> tuple[Any, weakref.ref[Any]]:
        big = np.ones(1000)

        @fgrad.custom_vjp
        def f(x: Any) -> Any:
            return fnp.sum(big * x)

        f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * fnp.sum(big),))
        compiled = fgrad.jit(fgrad.grad(f))
        assert float(compiled(1.0)) == 1000.0
        assert float(fgrad.grad(fgrad.jit(f))(1.0)) == 1000.0
        return (f, compiled), weakref.ref(big)

    kept, reference = make()
    assert reference() is not None
    del kept
    gc.collect()
    assert reference() is None


def test_a_pullback_does_not_follow_what_the_caller_writes() -> None:
    f = fgrad.custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (x**2, {"x": x, "name": "square"}), lambda r, ct: (2.0 * r["x"] * ct,))
    x = np.arange(3.0)
    _, pullback = fgrad.vjp(f, x)
    x[:] = 100.0
    np.testing.assert_array_equal(pullback(np.ones(3))[0], [0.0, 2.0, 4.0])
    g = fgrad.custom_jvp(lambda x: x**2)
    g.defjvp(lambda p, t: (p[0] ** 2, 2.0 * p[0] * t[0]))
    x = np.arange(3.0)
    _, pullback = fgrad.vjp(g, x)
    _, push = fgrad.linearize(g, x)
    x[:] = 100.0
    np.testing.assert_array_equal(pullback(np.ones(3))[0], [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(push(np.ones(3)), [0.0, 2.0, 4.0])


def test_threads_use_one_function_at_a_time() -> None:
    f = tripled_vjp(fgrad, fnp)
    compiled = fgrad.jit(fgrad.grad(f))
    results: list[Any] = []

    def work(k: float) -> None:
        results.extend((k, float(fgrad.grad(f)(k, 2.0)), float(compiled(k, 2.0))) for _ in range(5))

    threads = [threading.Thread(target=work, args=(0.1 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    for k, eager, fast in results:
        assert eager == pytest.approx(6.0 * np.cos(k))
        assert fast == pytest.approx(eager)


def test_a_jaxpr_shows_the_call_and_runs_the_body() -> None:
    f = tripled_jvp(fgrad, fnp)
    text = str(fgrad.make_jaxpr(f)(1.0, 2.0))
    assert "custom_jvp f[" in text
    assert "sin" in text
    text = str(fgrad.make_jaxpr(tripled_vjp(fgrad, fnp))(1.0, 2.0))
    assert "custom_vjp f[" in text
    source = fgrad.jit(f).lower(1.0, 2.0).source
    assert "sin" in source
    assert "custom_jvp" not in source


def operations(jaxpr: Any, kinds: dict[str, Any]) -> list[str]:
    """The names of the primitives of a program and of those that it calls, as programs for JAX find them."""
    found: list[str] = []
    for eqn in jaxpr.eqns:
        if eqn.primitive == kinds["jvp"]:
            found += ["jvp", *operations(eqn.params["call_jaxpr"].jaxpr, kinds)]
        elif eqn.primitive == kinds["vjp"]:
            found += ["vjp", *operations(eqn.params["call_jaxpr"].jaxpr, kinds)]
        else:
            found.append(eqn.primitive.name)
    return found


@pytest.mark.parametrize("tripled", [tripled_jvp, tripled_vjp])
def test_walkers_of_jaxprs_find_calls_with_rules(tripled: Any) -> None:
    found = []
    for module, numpy in ((fgrad, fnp), (jax, jnp)):
        f = tripled(module, numpy)
        program = module.make_jaxpr(lambda x, y, f=f: f(x, y) * x)(1.0, 2.0)
        kinds = module.custom_derivatives
        pair = {"jvp": kinds.custom_jvp_call_p, "vjp": kinds.custom_vjp_call_p}
        found.append(operations(program.jaxpr, pair))
    assert found[0] == found[1]
    assert found[0][0] in ("jvp", "vjp")


def test_kinds_of_calls_are_not_each_other() -> None:
    jvp_call = fgrad.make_jaxpr(tripled_jvp(fgrad, fnp))(1.0, 2.0).eqns[0].primitive
    vjp_call = fgrad.make_jaxpr(tripled_vjp(fgrad, fnp))(1.0, 2.0).eqns[0].primitive
    kinds = [
        fgrad.custom_derivatives.custom_jvp_call_p,
        fgrad.custom_derivatives.custom_vjp_call_p,
    ]
    assert [call == kind for call in (jvp_call, vjp_call) for kind in kinds] == [
        True,
        False,
        False,
        True,
    ]
    assert kinds[0] != kinds[1]
    assert len({*kinds, kinds[0]}) == 2
    assert [str(kind) for kind in kinds] == ["custom_jvp_call", "custom_vjp_call"]


@fgrad.custom_jvp
def importable(x: Any) -> Any:
    return fnp.sin(x)


@importable.defjvp
def importable_rule(primals: Any, tangents: Any) -> Any:
    return importable(primals[0]), 5.0 * tangents[0]


def test_a_function_of_a_module_pickles_by_its_name_and_in_executables() -> None:
    assert pickle.loads(pickle.dumps(importable)) is importable
    executable = fgrad.jit(lambda x: 2.0 * importable(x)).lower(1.0).compile()
    again = pickle.loads(pickle.dumps(executable))
    assert float(again(0.5)) == pytest.approx(2.0 * np.sin(0.5))
    assert float(fgrad.grad(again)(0.5)) == 10.0


def test_signatures_and_documentation_survive() -> None:
    def f(x: Any, y: Any = 2.0) -> Any:
        """Of x and y."""
        return x * y

    for decorator in (fgrad.custom_jvp, fgrad.custom_vjp):
        g = decorator(f)
        assert g.__name__ == "f"
        assert g.__doc__ == "Of x and y."
        assert list(inspect.signature(g).parameters) == ["x", "y"]
