"""custom_gradient, closure_convert, and names for parts of a program."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import pytest
from support.compare import differences
from support.modules import error_class, fgrad, fnp, jax, jnp

ArgumentError = error_class("ArgumentError", TypeError)


# ---- custom_gradient ---------------------------------------------------------------------------------


def tripled(lib: Any, xp: Any) -> Any:
    @lib.custom_gradient
    def f(x: Any, y: Any) -> Any:
        wave = xp.sin(x)
        answer = {"a": wave * y, "n": xp.asarray(3)}
        return answer, lambda ct: (3.0 * ct["a"] * xp.cos(x) * y, 3.0 * ct["a"] * wave)

    return lambda x, y: f(x, y)["a"]


WAYS: dict[str, Any] = {
    "value": lambda lib, xp, f: f,
    "grad": lambda lib, xp, f: lib.grad(f, (0, 1)),
    "jit of grad": lambda lib, xp, f: lib.jit(lib.grad(f, (0, 1))),
    "grad of jit": lambda lib, xp, f: lib.grad(lib.jit(f), (0, 1)),
    "second": lambda lib, xp, f: lib.grad(lib.grad(f), (0, 1)),
    "second of jit": lambda lib, xp, f: lib.grad(lib.grad(lib.jit(f)), (0, 1)),
    "third": lambda lib, xp, f: lib.grad(lib.grad(lib.jit(lib.grad(f))), (0, 1)),
    "vmap of grad": lambda lib, xp, f: (
        lambda x, y: lib.vmap(lib.grad(f, (0, 1)), (0, None))(xp.stack([x, y]), y)
    ),
    "grad of vmap": lambda lib, xp, f: lib.grad(
        lambda x, y: xp.sum(lib.vmap(f, (0, None))(xp.stack([x, y, x]), y)), (0, 1)
    ),
    "jit of grad of vmap": lambda lib, xp, f: lib.jit(
        lib.grad(lambda x, y: xp.sum(lib.vmap(f, (0, None))(xp.stack([x, y, x]), y)), (0, 1))
    ),
    "checkpoint": lambda lib, xp, f: lib.grad(lib.checkpoint(f), (0, 1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_gradient_that_the_function_returns(way: str) -> None:
    x, y = np.float64(0.6), np.float64(-1.3)
    got = WAYS[way](fgrad, fnp, tripled(fgrad, fnp))(x, y)
    want = WAYS[way](jax, jnp, tripled(jax, jnp))(jnp.asarray(x), jnp.asarray(y))
    assert not differences(got, want)


def test_a_single_argument_needs_no_tuple() -> None:
    for lib in (fgrad, jax):
        f = lib.custom_gradient(lambda x: (x**2, lambda ct: 5.0 * ct))
        g = lib.custom_gradient(lambda x: (x**2, lambda ct: (5.0 * ct,)))
        assert float(lib.grad(f)(2.0)) == float(lib.grad(g)(2.0)) == 5.0
        assert float(lib.grad(lib.jit(f))(2.0)) == float(lib.grad(lib.jit(g))(2.0)) == 5.0
    tree = fgrad.custom_gradient(lambda p: (p["w"], lambda ct: {"w": 7.0 * ct}))
    assert float(fgrad.grad(tree)({"w": 1.0})["w"]) == 7.0


def test_known_values_choose_the_gradient_and_forward_mode_transposes_it() -> None:
    @fgrad.custom_gradient
    def f(x: Any) -> Any:
        return x, lambda ct: ct if x > 0.0 else 0.1 * ct

    assert float(fgrad.grad(f)(2.0)) == 1.0
    assert float(fgrad.grad(f)(-2.0)) == 0.1
    assert float(fgrad.jvp(f, (-2.0,), (3.0,))[1]) == pytest.approx(0.3)
    assert list(inspect.signature(f).parameters) == ["x"]


def test_what_is_not_a_value_with_its_gradient() -> None:
    def f(x: Any) -> Any:
        return x

    kind = error_class("CustomRuleError", TypeError)
    words = rf"custom_gradient of f \(test_custom_gradients.py:{f.__code__.co_firstlineno}\).*expected a pair"
    for run in (lambda g: g(1.0), lambda g: fgrad.grad(g)(1.0), lambda g: fgrad.jit(g)(1.0)):
        with pytest.raises(kind, match=words):
            run(fgrad.custom_gradient(f))
    two = fgrad.custom_gradient(lambda x, y: (x * y, lambda ct: ct))
    with pytest.raises(kind, match="returned an Array, expected a tuple of 2"):
        fgrad.grad(two)(1.0, 2.0)


# ---- closure_convert -----------------------------------------------------------------------------------


def test_a_closure_becomes_a_function_of_what_it_closes_over() -> None:
    def loss(lib: Any, xp: Any) -> Any:
        def whole(w: Any, x: Any) -> Any:
            n = xp.arange(3.0)

            def f(t: Any, d: Any) -> Any:
                return {"o": xp.sum(w * t * d["k"] * n)}

            converted, closed_over = lib.closure_convert(f, x, {"k": x})
            # Arrays that are made inside a jitted function are traced ones in JAX.
            assert lib is jax or len(closed_over) == 1
            return converted(x, {"k": 2.0 * x}, *closed_over)["o"]

        return whole

    w, x = np.float64(2.0), np.float64(3.0)
    for way in (
        lambda lib, f: lib.grad(f, (0, 1)),
        lambda lib, f: lib.jit(lib.grad(f, (0, 1))),
        lambda lib, f: lib.grad(lib.grad(f, 1), (0, 1)),
        lambda lib, f: lambda w, x: lib.vmap(lib.grad(f))(w * np.arange(3.0), x + np.arange(3.0)),
    ):
        got = way(fgrad, loss(fgrad, fnp))(w, x)
        want = way(jax, loss(jax, jnp))(jnp.asarray(w), jnp.asarray(x))
        assert not differences(got, want)


def test_a_converted_function_without_traced_values() -> None:
    big = np.arange(3.0)
    converted, closed_over = fgrad.closure_convert(
        lambda x: big * x, fgrad.ShapeDtypeStruct((), float)
    )
    assert closed_over == []
    big[:] = 100.0
    np.testing.assert_array_equal(converted(2.0), [0.0, 2.0, 4.0])


def test_a_converted_function_takes_the_types_that_it_was_recorded_with() -> None:
    converted, _ = fgrad.closure_convert(lambda x, y: x * y, np.ones(3), 1.0)
    with pytest.raises(ArgumentError, match=r"x has type f64\[2\], but was recorded with f64\[3\]"):
        converted(np.ones(2), 1.0)
    with pytest.raises(ArgumentError, match="structure"):
        converted(np.ones(3))


# ---- names ---------------------------------------------------------------------------------------------


def test_scopes_stand_beside_the_line_in_compiled_code() -> None:
    @fgrad.named_scope("outer")
    def f(x: Any) -> Any:
        with fgrad.named_scope("inner"):
            x = fnp.sin(x)
        return fnp.cos(x)

    source = fgrad.jit(lambda x: fnp.exp(f(x))).lower(1.0).source
    lines = [line.strip() for line in source.splitlines()]
    assert any(line.startswith("#") and line.endswith("(f, in outer/inner)") for line in lines)
    assert any(line.startswith("#") and line.endswith("(f, in outer)") for line in lines)
    assert any(line.startswith("#") and line.endswith("(<lambda>)") for line in lines)
    assert float(f(0.5)) == pytest.approx(np.cos(np.sin(0.5)))
    assert float(fgrad.grad(f)(0.5)) == pytest.approx(-np.sin(np.sin(0.5)) * np.cos(0.5))


def test_a_message_names_the_scope_of_an_unknown_value() -> None:
    def f(x: Any) -> Any:
        with fgrad.named_scope("decision"):
            large = x > 1.0
        return x * 2.0 if large else x

    with pytest.raises(fgrad.errors.TracerBoolConversionError, match=r"\(f, in decision\)"):
        fgrad.jit(f)(1.0)


def test_a_named_call_is_the_function_in_a_scope() -> None:
    def f(x: Any, *, n: int = 2) -> Any:
        """Of x."""
        return x**n

    for name, given in (("block", {"name": "block"}), ("f", {})):
        g = fgrad.named_call(f, **given)
        assert float(g(3.0)) == 9.0
        assert float(fgrad.grad(lambda x, g=g: g(x, n=3))(2.0)) == 12.0
        assert f"(f, in {name})" in fgrad.jit(lambda x, g=g: g(x)).lower(1.0).source
        assert g.__doc__ == "Of x."


def test_a_decorated_function_may_call_itself_and_run_in_threads() -> None:
    seen: list[str] = []

    @fgrad.named_scope("level")
    def f(x: Any, depth: int) -> Any:
        return fnp.sin(x) if depth == 0 else f(x, depth - 1)

    def work() -> None:
        seen.append(fgrad.jit(lambda x: f(x, 2)).lower(1.0).source)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 3
    assert all("(f, in level/level/level)" in source for source in seen)


def test_a_scope_is_a_string() -> None:
    with pytest.raises(ArgumentError, match="named_scope: name is 3; give a string"):
        fgrad.named_scope(3)
