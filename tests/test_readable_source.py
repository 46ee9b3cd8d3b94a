"""The source of compiled functions: the user's names, lines over the statements, and what debuggers see."""

from __future__ import annotations

import ast
import dis
import linecache
import re
import traceback
from typing import Any, NamedTuple

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad.ir.names import stored_names
from fgrad.source_info import GENERATED

OUTER = 3.0


class Layer(NamedTuple):
    weight: Any
    bias: Any


def source(f: Any, *args: Any) -> str:
    text = fgrad.jit(f).lower(*args).source
    ast.parse(text)
    return text


def header(text: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith("def ")]
    return line


def statements(text: str) -> dict[str, str]:
    """The right-hand sides by the variable on the left, without comments."""
    found = re.findall(r"^ +(\w+) = (.*?)(?:  #.*)?$", text, re.MULTILINE)
    assert len({name for name, _ in found}) == len(found), text
    return dict(found)


def test_arguments_have_their_names() -> None:
    def loss(params: Any, x: Any, /, *rest: Any) -> Any:
        return fnp.exp(params["w0"][0] + x).sum() + params["layer"].bias.sum() * rest[1]

    params = {"w0": [np.ones((2, 3))], "layer": Layer(np.ones(2), np.ones(2))}
    text = source(loss, params, np.ones(3), 1.0, 2.0)
    assert header(text) == (
        "def loss(params_layer_weight, params_layer_bias, params_w0_0, x, rest_0, rest_1):"
    )
    right = statements(text).values()
    assert "params_w0_0 + x" in right
    assert "params_layer_bias.dot(ones_2)" in right
    assert any(r.endswith("* rest_1") for r in right)


def test_keyword_arguments_have_their_names() -> None:
    text = fgrad.jit(lambda x, scale: x * scale).lower(np.ones(2), scale=2.0).source
    assert "x * scale" in text


def test_variables_have_their_names() -> None:
    def f(x: Any, w: Any) -> Any:
        hidden = fnp.tanh(x @ w + 1.0)
        hidden = hidden * 2.0
        q, r = fnp.linalg.qr(w)
        total: Any = hidden.sum()
        return total - r.sum() * q.sum()

    found = statements(source(f, np.ones((3, 2)), np.ones((2, 2))))
    assert found["hidden"].startswith("np.tanh(")
    assert "hidden" in found["hidden_1"]
    assert found["total"].startswith("np.add.reduce(hidden_1")
    assert "[q, r] = np.linalg.qr(w" in source(f, np.ones((3, 2)), np.ones((2, 2)))


def test_a_part_of_a_value_does_not_get_its_name() -> None:
    def f(x: Any) -> Any:
        spread = fnp.var(x)
        return spread

    def g(x: Any) -> Any:
        # Only the difference from the mean is needed for the gradient.
        return fgrad.grad(f)(x)

    found = statements(source(f, np.ones(4)))
    assert found["spread"].endswith("/ 4.0")
    assert "spread" not in statements(source(g, np.ones(4)))


def test_a_buffer_that_is_written_over_changes_its_name() -> None:
    def f(x: Any, y: Any) -> Any:
        first = x * y
        second = first + y
        return fnp.exp(second - x) * y

    text = source(f, np.ones(4), np.ones(4))
    found = statements(text)
    assert found["first"] == "x * y"
    assert found["second"] == "np.add(first, y, out=first)"
    assert "second -=" not in text
    (after,) = [n for n, right in found.items() if right == "np.subtract(second, x, out=second)"]
    assert f"np.exp({after}, out={after})" in text
    x = np.linspace(0.0, 1.0, 4)
    np.testing.assert_array_equal(fgrad.jit(f)(x, 2.0 * x), f(x, 2.0 * x))


def test_names_that_mean_something_else_are_changed() -> None:
    def f(np: Any, sum: Any, a: Any) -> Any:
        max = np * sum
        g = max + a
        return fnp.where(g > 0, g, max)

    args = (np.array([1.0, -2.0]), np.array([2.0, 3.0]), np.array([0.5, 0.5]))
    text = source(f, *args)
    assert "max_1 = np_1 * sum_1" in text
    np.testing.assert_array_equal(fgrad.jit(f)(*args), f(*args))


def test_no_other_variable_takes_a_name_of_the_user() -> None:
    def f(x: Any) -> Any:
        y = fnp.cos(fnp.sin(x) * 2.0) + 1.0
        a = fnp.tan(y)
        return a * y

    found = statements(source(f, np.ones(3)))
    assert found["a"].startswith("np.tan(")


def test_bodies_of_loops_have_names() -> None:
    def f(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            moved = fnp.sin(carry) + row
            return moved * 0.5, None

        return fgrad.lax.scan(step, x, fnp.ones((5, 3)))[0]

    text = source(f, np.ones(3))
    assert re.search(r"^ +moved = np\.add\(", text, re.MULTILINE), text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    y = g(x)\n    return y", ("y",)),
        ("def f(x):\n    y = z = g(x)\n    return y + z", ()),
        ("def f(x):\n    y, z = g(x)\n    return y + z", ("y", "z")),
        ("def f(x):\n    y = g(x)\n    z = y\n    return z", ("y",)),
        ("def f(x):\n    y = g(x)\n    return lambda: y", ("y",)),
        ("def f(x):\n    x = g(x)\n    return lambda: x", ("x",)),
        ("def f(x):\n    global Y\n    Y = g(x)", ("Y",)),
        ("def f(x):\n    return g(x)", ()),
        ("def f(x):\n    y.z = g(x)", ()),
        ("def f(x):\n    y[0] = g(x)", ()),
        ("def f(x):\n    y, (z, w) = g(x)", ()),
        ("y = g(1)", ("y",)),
    ],
)
def test_where_a_result_is_stored(text: str, expected: tuple[str, ...]) -> None:
    code = compile(text, "program", "exec")
    inner = next((c for c in code.co_consts if hasattr(c, "co_code")), code)
    (call,) = [i.offset for i in dis.get_instructions(inner) if i.opname == "CALL"]
    assert stored_names(inner, call) == expected


def test_what_a_called_function_returns_has_its_name() -> None:
    @fgrad.custom_jvp
    def half(x: Any) -> Any:
        return x * 0.5

    half.defjvp(lambda primals, tangents: (half(*primals), tangents[0] * 0.5))

    def f(x: Any) -> Any:
        halved = half(x)
        doubled = fgrad.jit(lambda x: x * 2.0)(x)
        return halved, doubled

    found = statements(source(f, np.ones(3)))
    assert list(found) == ["halved", "doubled"]
    assert all(right.startswith("x * ") for right in found.values())


def test_a_variable_of_an_enclosing_function() -> None:
    def outer() -> Any:
        y = 1.0

        def f(x: Any) -> Any:
            nonlocal y
            y = fnp.sin(x)
            return y * 2.0

        return f

    assert statements(source(outer(), np.ones(3)))["y"] == "np.sin(x)"


def test_lines_and_types_stand_in_comments() -> None:
    def f(x: Any) -> Any:
        first = fnp.sin(x)
        return first.sum()

    line = f.__code__.co_firstlineno
    text = source(f, np.ones((2, 3), np.float32))
    assert text.splitlines() == [
        "def f(x):",
        f"    # test_readable_source.py:{line + 1} (f)",
        "    first = np.sin(x)  # f32[2,3]",
        f"    # test_readable_source.py:{line + 2} (f)",
        "    a = np.add.reduce(first, axis=(0, 1))  # f32[]",
        "    return [a]",
    ]


def test_debuggers_and_tracebacks_see_the_source() -> None:
    def f(x: Any, index: Any) -> Any:
        picked = x[index]
        return picked * 2.0

    compiled = fgrad.jit(f)
    before = fgrad.config.traceback_filtering
    fgrad.config.update("fgrad_traceback_filtering", "off")
    try:
        with pytest.raises(IndexError) as caught:
            compiled(np.ones(3), np.array([5]))
    finally:
        fgrad.config.update("fgrad_traceback_filtering", before)
    entries = traceback.extract_tb(caught.value.__traceback__)
    generated = [e for e in entries if e.filename.startswith(GENERATED)]
    assert "picked = " in (generated[0].line or "")
    assert linecache.getline(generated[0].filename, 1) == "def f(x, index):\n"
