"""The requirements of the Array API standard 2024.12, for eager, compiled and batched calls.

The public suite of the standard is not in a package registry. What it asks for is stated here:
names and signatures, dtypes and promotion, broadcasting, special cases, and the behaviour of the
functions that are not elementwise.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.array_api import ATTRIBUTES, BINARY, CONSTANTS, METHODS, SIGNATURES, UNARY

import fgrad
import fgrad.numpy as xp
from fgrad.tracing import Tracer

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL_FLOATING = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
KINDS = {
    "bool": ("bool",),
    "integer": INTEGERS,
    "integer or bool": ("bool", *INTEGERS),
    "real floating": REAL_FLOATING,
    "complex": COMPLEX,
    "floating": (*REAL_FLOATING, *COMPLEX),
    "real": (*INTEGERS, *REAL_FLOATING),
    "numeric": (*INTEGERS, *REAL_FLOATING, *COMPLEX),
    "all": ("bool", *INTEGERS, *REAL_FLOATING, *COMPLEX),
}
KIND_OF = {"b": "bool", "i": "int", "u": "int", "f": "floating", "c": "floating"}


def lookup(name: str) -> Any:
    thing = xp
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def promoted(left: str, right: str) -> str | None:
    """The dtype that the standard gives two; None where it leaves that open."""
    a, b = np.dtype(left), np.dtype(right)
    if a == b:
        return left
    if {a.kind, b.kind} <= {"i", "u"}:
        if a.kind == b.kind:
            return (a if a.itemsize > b.itemsize else b).name
        signed, unsigned = (a, b) if a.kind == "i" else (b, a)
        size = max(signed.itemsize, 2 * unsigned.itemsize)
        return f"int{8 * size}" if size <= 8 else None
    if {a.kind, b.kind} <= {"f", "c"}:
        size = max(d.itemsize // (2 if d.kind == "c" else 1) for d in (a, b))
        return f"complex{16 * size}" if "c" in (a.kind, b.kind) else f"float{8 * size}"
    return None


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Numbers for which every function is defined."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(1, 5, shape).astype(dtype)
    values = rng.uniform(0.2, 0.9, shape)
    return (values + (1j * rng.uniform(0.2, 0.9, shape) if kind == "c" else 0)).astype(dtype)


def ways(function: Any, *args: Any) -> list[Any]:
    """The results of an eager, a compiled and a batched call."""
    stacked = [np.stack([x, x]) for x in args]
    return [
        function(*map(xp.asarray, args)),
        fgrad.jit(function)(*args),
        fgrad.vmap(function)(*stacked)[1],
    ]


# ---- names and signatures ------------------------------------------------------------------------


@pytest.mark.parametrize("text", SIGNATURES, ids=lambda text: text.split("(")[0])
def test_a_function_takes_the_arguments_of_the_standard(text: str) -> None:
    name, parameters = text[:-1].split("(", 1)
    namespace: dict[str, Any] = {}
    exec(f"def wanted({parameters}): pass", namespace)
    wanted = inspect.signature(namespace["wanted"]).parameters.values()
    have = inspect.signature(lookup(name))
    positional = [p for p in wanted if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
    named = [p for p in wanted if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    bound = have.bind(*[0] * len(positional), **dict.fromkeys([p.name for p in named], 0))
    assert len(bound.args) + len(bound.kwargs) >= len(positional)
    # What the standard makes optional may be left out, and what it lets one give by place too.
    required = [p for p in wanted if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    have.bind(*[0] * len(required))
    for p in named:
        default = have.parameters[p.name].default
        if p.default is not p.empty and p.name not in ("norm", "copy", "correction", "step"):
            assert default == p.default or default is None, f"{name}: {p.name}={default}"


def test_names_of_functions_constants_attributes_and_methods() -> None:
    for name in (*UNARY, *BINARY):
        assert callable(getattr(xp, name)), name
    for name in CONSTANTS:
        assert name in dir(xp)
    assert xp.newaxis is None
    assert math.isnan(xp.nan)
    assert (xp.e, xp.pi, xp.inf) == (math.e, math.pi, math.inf)
    array = xp.ones((3, 3))
    for name in (*ATTRIBUTES, *METHODS):
        assert hasattr(array, name), name
    in_place = {name for name in METHODS if name.startswith("__i") and name[3:-2] != "nvert"}
    # Python takes x = x + y for x += y where a traced value has no __iadd__.
    for name in {*ATTRIBUTES, *METHODS} - in_place | {"__index__", "__int__", "__invert__"}:
        assert hasattr(Tracer, name), name


def test_the_namespace_answers_questions_about_itself() -> None:
    assert xp.__array_api_version__ == "2024.12"
    assert xp.ones(2).__array_namespace__() is xp
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    assert info.devices() == [info.default_device()] == [xp.ones(2).device]
    assert info.default_dtypes()["real floating"] == xp.asarray([1.0]).dtype
    assert info.default_dtypes()["integral"] == xp.asarray([1]).dtype
    assert info.default_dtypes()["indexing"] == xp.argmax(xp.ones(2)).dtype
    assert list(info.dtypes(kind="signed integer")) == ["int8", "int16", "int32", "int64"]
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert set(info.dtypes()) == {*KINDS["all"]}
    with pytest.raises(ValueError, match="'integer'"):
        info.dtypes(kind="integer")
    x = xp.ones(2, device=info.default_device())
    assert x.to_device("cpu").device == x.device


# ---- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNARY)
def test_dtypes_of_functions_of_one_operand(name: str) -> None:
    kind, gives = UNARY[name]
    rng = np.random.default_rng(0)
    for dtype in KINDS[kind]:
        x = numbers(rng, (2, 3), dtype)
        if name == "acosh" and x.dtype.kind == "f":
            x = x + np.dtype(dtype).type(1)
        want = {
            "same": dtype,
            "bool": "bool",
            "real part": x.real.dtype.name,
        }[gives]
        if name in ("ceil", "floor", "trunc", "round") and np.dtype(dtype).kind in "iu":
            want = dtype
        for got in ways(getattr(xp, name), x):
            assert (got.dtype.name, got.shape) == (want, x.shape), dtype


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_dtypes_and_broadcasting_of_functions_of_two_operands(
    tally: Any, name: str, data: st.DataObject
) -> None:
    tally.require(10)
    kind, gives = BINARY[name]
    left, right = (data.draw(st.sampled_from(KINDS[kind])) for _ in range(2))
    common = promoted(left, right)
    if common is None:
        return
    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=3)))
    shapes = [
        tuple(1 if data.draw(st.booleans()) else n for n in shape[data.draw(st.integers(0, 1)) :])
        for _ in range(2)
    ]
    rng = np.random.default_rng(1)
    x, y = (numbers(rng, s, d) for s, d in zip(shapes, (left, right), strict=True))
    want = "bool" if gives == "bool" else common
    for got in ways(getattr(xp, name), x, y):
        assert got.dtype.name == want, (left, right)
        assert got.shape == np.broadcast_shapes(*shapes)
    tally.count()


OPERATORS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "pow": "pow",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "bitwise_left_shift": "lshift",
    "bitwise_right_shift": "rshift",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_the_functions_and_take_python_numbers(name: str) -> None:
    kind, gives = BINARY[name]
    rng = np.random.default_rng(2)
    for dtype in KINDS[kind]:
        x, y = numbers(rng, (3,), dtype), numbers(rng, (3,), dtype)
        method = f"__{OPERATORS[name]}__"
        function = getattr(xp, name)
        for got in ways(lambda a, b, m=method: getattr(a, m)(b), x, y):
            np.testing.assert_array_equal(got, function(x, y))
        number = {"b": True, "i": 2, "u": 2, "f": 0.5, "c": 0.5}[np.dtype(dtype).kind]
        for got in ways(lambda a, m=method, n=number: getattr(a, m)(n), x):
            assert got.dtype.name == ("bool" if gives == "bool" else dtype)
            np.testing.assert_array_equal(got, function(x, np.dtype(dtype).type(number)))
        if gives != "bool":
            reflected = f"__r{OPERATORS[name]}__"
            for got in ways(lambda a, m=reflected, n=number: getattr(a, m)(n), x):
                np.testing.assert_array_equal(got, function(np.dtype(dtype).type(number), x))
            # In place: the name takes the result.
            before = z = xp.asarray(x)
            z = getattr(z, f"__i{OPERATORS[name]}__")(number)
            np.testing.assert_array_equal(before, x)
            assert z.dtype.name == dtype


def test_result_type_can_cast_and_isdtype() -> None:
    for left in KINDS["all"]:
        for right in KINDS["all"]:
            want = promoted(left, right)
            if want is not None:
                assert xp.result_type(getattr(xp, left), xp.ones(2, right)) == want
                assert xp.can_cast(left, right) == (want == right), (left, right)
    assert xp.result_type(xp.ones(2, "float32"), 1.0) == "float32"
    assert xp.result_type(xp.ones(2, "float32"), 1j) == "complex64"
    assert xp.result_type(xp.ones(2, "int8"), 1) == "int8"
    names = {
        "bool": ("bool",),
        "signed integer": INTEGERS[:4],
        "unsigned integer": INTEGERS[4:],
        "integral": INTEGERS,
        "real floating": REAL_FLOATING,
        "complex floating": COMPLEX,
        "numeric": KINDS["numeric"],
    }
    for kind, members in names.items():
        for dtype in KINDS["all"]:
            assert xp.isdtype(np.dtype(dtype), kind) == (dtype in members)
            assert xp.isdtype(np.dtype(dtype), (kind, xp.bool)) == (dtype in (*members, "bool"))


def test_limits_of_dtypes() -> None:
    for dtype in (*REAL_FLOATING, *COMPLEX):
        info = xp.finfo(np.dtype(dtype))
        real = np.zeros(1, dtype).real.dtype
        assert (info.bits, info.dtype) == (8 * real.itemsize, real)
        assert 1.0 + float(info.eps) > 1.0
        assert math.isfinite(info.max)
        assert info.min == -info.max
        assert 0.0 < info.smallest_normal < 1e-37
    for dtype in INTEGERS:
        limits = xp.iinfo(xp.ones(2, dtype))
        assert (limits.bits, limits.dtype) == (8 * np.dtype(dtype).itemsize, dtype)
        assert limits.max - limits.min == 2**limits.bits - 1


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_sums_and_products_are_taken_in_a_wide_dtype(name: str) -> None:
    for dtype in KINDS["numeric"]:
        x = np.ones((2, 3), dtype)
        kind = np.dtype(dtype).kind
        want = {"i": "int64", "u": "uint64"}.get(kind, dtype)
        axis = None if name in ("sum", "prod") else 1
        for got in ways(lambda a, n=name, ax=axis: getattr(xp, n)(a, axis=ax), x):
            assert got.dtype.name == want
        assert getattr(xp, name)(x, axis=1, dtype=xp.float32 if kind != "c" else x.dtype).shape[0]


# ---- special cases -------------------------------------------------------------------------------

INF, NAN, PI = math.inf, math.nan, math.pi
ODD = [(0.0, 0.0), (-0.0, -0.0)]
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "abs": [(-0.0, 0.0), (-INF, INF), (INF, INF), (NAN, NAN)],
    "acos": [(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (NAN, NAN)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (INF, INF), (NAN, NAN)],
    "asin": [*ODD, (1.5, NAN), (-1.5, NAN), (NAN, NAN)],
    "asinh": [*ODD, (INF, INF), (-INF, -INF), (NAN, NAN)],
    "atan": [*ODD, (INF, PI / 2), (-INF, -PI / 2), (NAN, NAN)],
    "atanh": [*ODD, (1.0, INF), (-1.0, -INF), (1.5, NAN), (-1.5, NAN), (NAN, NAN)],
    "ceil": [*ODD, (INF, INF), (-INF, -INF), (NAN, NAN), (-0.5, -0.0), (0.5, 1.0)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN)],
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN)],
    "expm1": [*ODD, (INF, INF), (-INF, -1.0), (NAN, NAN)],
    "floor": [*ODD, (INF, INF), (-INF, -INF), (NAN, NAN), (-0.5, -1.0), (0.5, 0.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (INF, INF), (NAN, NAN)],
    "log1p": [*ODD, (-1.0, -INF), (-2.0, NAN), (INF, INF), (NAN, NAN)],
    "log2": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (INF, INF), (NAN, NAN)],
    "log10": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (INF, INF), (NAN, NAN)],
    "negative": [(0.0, -0.0), (-0.0, 0.0), (INF, -INF), (NAN, NAN)],
    "positive": [*ODD, (INF, INF), (NAN, NAN)],
    "reciprocal": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (NAN, NAN)],
    "round": [*ODD, (0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "sign": [(0.0, 0.0), (-0.0, 0.0), (2.0, 1.0), (-2.0, -1.0), (INF, 1.0), (NAN, NAN)],
    "signbit": [(0.0, 0), (-0.0, 1), (INF, 0), (-INF, 1), (2.0, 0), (-2.0, 1), (NAN, 0), (-NAN, 1)],
    "sin": [*ODD, (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "sinh": [*ODD, (INF, INF), (-INF, -INF), (NAN, NAN)],
    "sqrt": [*ODD, (-1.0, NAN), (INF, INF), (NAN, NAN)],
    "square": [(0.0, 0.0), (-0.0, 0.0), (-INF, INF), (NAN, NAN)],
    "tan": [*ODD, (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "tanh": [*ODD, (INF, 1.0), (-INF, -1.0), (NAN, NAN)],
    "trunc": [*ODD, (INF, INF), (-INF, -INF), (NAN, NAN), (-0.5, -0.0), (0.5, 0.0), (-1.5, -1.0)],
    "isfinite": [(0.0, 1), (INF, 0), (-INF, 0), (NAN, 0)],
    "isinf": [(0.0, 0), (INF, 1), (-INF, 1), (NAN, 0)],
    "isnan": [(0.0, 0), (INF, 0), (NAN, 1)],
}  # fmt: skip
SPECIAL_PAIRS: dict[str, list[tuple[float, float, float]]] = {
    "add": [
        (INF, -INF, NAN), (INF, INF, INF), (INF, 1.0, INF), (-INF, 1.0, -INF), (-0.0, -0.0, -0.0),
        (-0.0, 0.0, 0.0), (0.0, -0.0, 0.0), (1.0, -1.0, 0.0), (NAN, 1.0, NAN), (0.0, 0.0, 0.0),
    ],
    "subtract": [(INF, INF, NAN), (-INF, INF, -INF), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (1.0, NAN, NAN)],
    "multiply": [
        (INF, 0.0, NAN), (-0.0, INF, NAN), (INF, -INF, -INF), (-INF, -2.0, INF), (0.0, -1.0, -0.0),
        (-0.0, -0.0, 0.0), (NAN, 0.0, NAN),
    ],
    "divide": [
        (0.0, 0.0, NAN), (INF, INF, NAN), (1.0, 0.0, INF), (1.0, -0.0, -INF), (-1.0, 0.0, -INF),
        (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (1.0, INF, 0.0), (1.0, -INF, -0.0), (INF, 2.0, INF),
        (INF, -2.0, -INF), (NAN, 1.0, NAN),
    ],
    "floor_divide": [
        (0.0, 0.0, NAN), (INF, INF, NAN), (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (1.0, 0.0, INF),
        (-1.0, 0.0, -INF), (NAN, 1.0, NAN), (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0), (7.0, -2.0, -4.0),
    ],
    "remainder": [
        (INF, 1.0, NAN), (1.0, 0.0, NAN), (0.0, 0.0, NAN), (0.0, 1.0, 0.0), (-0.0, 1.0, 0.0),
        (0.0, -1.0, -0.0), (-0.0, -1.0, -0.0), (1.0, INF, 1.0), (-1.0, INF, INF), (NAN, 1.0, NAN),
        (-7.0, 3.0, 2.0), (7.0, -3.0, -2.0),
    ],
    "pow": [
        (NAN, 0.0, 1.0), (2.0, NAN, NAN), (INF, 0.0, 1.0), (INF, -0.0, 1.0), (NAN, 2.0, NAN),
        (2.0, INF, INF), (2.0, -INF, 0.0), (1.0, INF, 1.0), (0.5, INF, 0.0), (0.5, -INF, INF),
        (INF, 2.0, INF), (INF, -2.0, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, -3.0, -0.0),
        (-INF, -2.0, 0.0), (0.0, 2.0, 0.0), (0.0, -2.0, INF), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0),
        (-0.0, -3.0, -INF), (-0.0, -2.0, INF), (-2.0, 0.5, NAN),
    ],
    "atan2": [
        (NAN, 1.0, NAN), (1.0, NAN, NAN), (1.0, 0.0, PI / 2), (1.0, -0.0, PI / 2), (0.0, 1.0, 0.0),
        (0.0, 0.0, 0.0), (0.0, -0.0, PI), (0.0, -1.0, PI), (-0.0, 1.0, -0.0), (-0.0, 0.0, -0.0),
        (-0.0, -0.0, -PI), (-0.0, -1.0, -PI), (-1.0, 0.0, -PI / 2), (1.0, INF, 0.0), (1.0, -INF, PI),
        (-1.0, INF, -0.0), (-1.0, -INF, -PI), (INF, 1.0, PI / 2), (-INF, 1.0, -PI / 2),
        (INF, INF, PI / 4), (INF, -INF, 3 * PI / 4), (-INF, INF, -PI / 4), (-INF, -INF, -3 * PI / 4),
    ],
    "copysign": [
        (1.0, -0.0, -1.0), (-1.0, 0.0, 1.0), (1.0, -NAN, -1.0), (0.0, -1.0, -0.0), (INF, -1.0, -INF),
    ],
    "hypot": [(INF, NAN, INF), (NAN, -INF, INF), (-0.0, 0.0, 0.0), (-3.0, 0.0, 3.0), (1.0, NAN, NAN)],
    "logaddexp": [(NAN, 1.0, NAN), (INF, NAN, NAN), (INF, 1.0, INF), (-INF, 1.0, 1.0), (-INF, -INF, -INF)],
    "maximum": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, 1.0, INF), (-INF, 1.0, 1.0)],
    "minimum": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, 1.0, 1.0), (-INF, 1.0, -INF)],
    "nextafter": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (1.0, 1.0, 1.0), (0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)],
    "equal": [(NAN, NAN, 0), (0.0, -0.0, 1), (INF, INF, 1)],
    "not_equal": [(NAN, NAN, 1), (0.0, -0.0, 0)],
    "less": [(NAN, 1.0, 0), (-0.0, 0.0, 0), (-INF, INF, 1)],
    "less_equal": [(NAN, NAN, 0), (0.0, -0.0, 1)],
    "greater": [(1.0, NAN, 0), (0.0, -0.0, 0), (INF, 1.0, 1)],
    "greater_equal": [(NAN, NAN, 0), (-0.0, 0.0, 1)],
}  # fmt: skip


def identical(got: Any, want: np.ndarray[Any, Any], rtol: float) -> None:
    """Equal to rounding, NaN and the signs of zeros included."""
    got = np.asarray(got)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=0.0)
    zero = np.asarray(want) == 0
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("dtype", REAL_FLOATING)
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_cases_of_functions_of_one_operand(name: str, dtype: str) -> None:
    x, values = zip(*SPECIAL[name], strict=True)
    x = np.array(x, dtype)
    want = np.array(values, bool if UNARY[name][1] == "bool" else dtype)
    for got in ways(getattr(xp, name), x):
        identical(got, want, 1e-6)


@pytest.mark.parametrize("dtype", REAL_FLOATING)
@pytest.mark.parametrize("name", SPECIAL_PAIRS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_cases_of_functions_of_two_operands(name: str, dtype: str) -> None:
    x, y, want = (np.array(column, dtype) for column in zip(*SPECIAL_PAIRS[name], strict=True))
    if BINARY[name][1] == "bool":
        want = want.astype(bool)
    for got in ways(getattr(xp, name), x, y):
        identical(got, want, 1e-6)


def test_every_elementwise_function_has_its_special_cases() -> None:
    without = {"conj", "real", "imag", "bitwise_invert", "logical_not"}
    assert set(UNARY) - set(SPECIAL) == without
    integers = {n for n in BINARY if n.startswith(("bitwise", "logical"))}
    assert set(BINARY) - set(SPECIAL_PAIRS) == integers


# ---- reductions, searching, sorting, sets --------------------------------------------------------


@given(data=st.data())
def test_reductions_agree_with_loops(tally: Any, data: st.DataObject) -> None:
    tally.require(15)
    name = data.draw(st.sampled_from("sum prod max min mean var std all any count_nonzero".split()))
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    axes = tuple(data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True)))
    keepdims = data.draw(st.booleans())
    x = np.random.default_rng(4).normal(size=shape)
    moved = np.moveaxis(x, axes, range(len(axes)))
    rows = moved.reshape(-1, *[n for k, n in enumerate(shape) if k not in axes])
    by_loop = {
        "sum": lambda v: math.fsum(v),
        "prod": lambda v: math.prod(v),
        "max": max,
        "min": min,
        "mean": lambda v: math.fsum(v) / len(v),
        "var": lambda v: math.fsum((a - math.fsum(v) / len(v)) ** 2 for a in v) / len(v),
        "std": lambda v: math.sqrt(math.fsum((a - math.fsum(v) / len(v)) ** 2 for a in v) / len(v)),
        "all": all,
        "any": any,
        "count_nonzero": lambda v: sum(a != 0 for a in v),
    }[name]
    want = np.apply_along_axis(lambda v: by_loop(v.tolist()), 0, rows)
    for got in ways(
        lambda a: getattr(xp, name)(a, axis=axes if len(axes) > 1 else axes[0], keepdims=keepdims),
        x,
    ):
        kept = tuple(1 if k in axes else n for k, n in enumerate(shape)) if keepdims else want.shape
        assert got.shape == kept
        np.testing.assert_allclose(got, want.reshape(kept), rtol=1e-12, atol=1e-14)
    tally.count()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions_of_no_elements() -> None:
    empty = xp.zeros((0, 3))
    np.testing.assert_array_equal(xp.sum(empty, axis=0), [0.0] * 3)
    np.testing.assert_array_equal(xp.prod(empty, axis=0), [1.0] * 3)
    assert np.isnan(xp.mean(empty, axis=0)).all()
    assert xp.all(empty).item() is True
    assert xp.any(empty).item() is False
    assert float(xp.var(xp.ones(1), correction=1)) != 0.0
    assert float(xp.std(xp.asarray([1.0, 3.0]), correction=1)) == pytest.approx(math.sqrt(2.0))
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=name):
            getattr(xp, name)(xp.zeros(0))


def test_cumulative_sums_with_an_initial_element() -> None:
    x = np.array([[1, 2], [3, 4]])
    for name, first in (("cumulative_sum", 0), ("cumulative_prod", 1)):
        for got in ways(lambda a, n=name: getattr(xp, n)(a, axis=1, include_initial=True), x):
            assert got.shape == (2, 3)
            np.testing.assert_array_equal(got[:, 0], [first, first])
            np.testing.assert_array_equal(got[:, 1:], getattr(xp, name)(x, axis=1))
    assert xp.cumulative_sum(xp.ones(3)).shape == (3,)
    with pytest.raises(ValueError, match="axis"):
        xp.cumulative_sum(x)


@given(data=st.data())
def test_sorting_is_stable_both_ways(tally: Any, data: st.DataObject) -> None:
    tally.require(20)
    x = np.array(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=8)))
    descending = data.draw(st.booleans())
    want = sorted(range(x.size), key=lambda i: -x[i] if descending else x[i])
    for got in ways(lambda a: xp.argsort(a, descending=descending, stable=True), x):
        assert got.tolist() == want
    for got in ways(lambda a: xp.sort(a, descending=descending), x):
        assert got.tolist() == sorted(x.tolist(), reverse=descending)
    tally.count()


def test_searching() -> None:
    x = np.array([[0, 5, 5], [7, 0, 7]])
    for got in ways(lambda a: xp.argmax(a, axis=1), x):
        assert got.tolist() == [1, 0]
    assert xp.argmax(x, keepdims=True).shape == (1, 1)
    assert [part.tolist() for part in xp.nonzero(x)] == [[0, 0, 1, 1], [1, 2, 0, 2]]
    with pytest.raises(ValueError, match="nonzero"):
        xp.nonzero(xp.asarray(1))
    for side, want in (("left", [0, 1]), ("right", [1, 3])):
        got = xp.searchsorted(xp.asarray([1, 2, 2]), xp.asarray([1, 2]), side=side)
        assert got.tolist() == want
    order = xp.argsort(xp.asarray([2, 1, 3]))
    assert xp.searchsorted(xp.asarray([2, 1, 3]), xp.asarray(3), sorter=order).item() == 2
    assert xp.where(x > 4, 1.0, xp.asarray(0.0, dtype="float32")).dtype == np.float32


def test_sets() -> None:
    x = xp.asarray([3.0, 1.0, 3.0, NAN, NAN])
    found = xp.unique_all(x)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    assert found.counts.tolist() == [1, 2, 1, 1], "every NaN counts by itself"
    np.testing.assert_array_equal(found.values[found.inverse_indices], x)
    np.testing.assert_array_equal(x[found.indices], found.values)
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x.reshape(5, 1))[1].shape == (5, 1)
    assert xp.unique_values(xp.asarray([2, 1, 2])).tolist() == [1, 2]


# ---- creation, manipulation, indexing ------------------------------------------------------------


@pytest.mark.parametrize("dtype", KINDS["all"])
def test_creation_functions_give_the_dtype(dtype: str) -> None:
    made = {
        "asarray": xp.asarray([0, 1], dtype=dtype),
        "empty": xp.empty((2,), dtype=dtype),
        "eye": xp.eye(2, 3, k=1, dtype=dtype),
        "full": xp.full((2,), 1, dtype=dtype),
        "ones": xp.ones((2,), dtype=dtype),
        "zeros": xp.zeros((2,), dtype=dtype),
        "ones_like": xp.ones_like(xp.zeros(2, dtype=dtype)),
        "full_like": xp.full_like(xp.zeros(2), 1, dtype=dtype),
        "tril": xp.tril(xp.ones((2, 2), dtype=dtype), k=-1),
    }
    if dtype != "bool":
        made["arange"] = xp.arange(3, dtype=dtype)
    if np.dtype(dtype).kind in "fc":
        made["linspace"] = xp.linspace(0.0, 1.0, 5, dtype=dtype, endpoint=False)
    for name, array in made.items():
        assert array.dtype.name == dtype, name


def test_creation_from_python_numbers_and_other_arrays() -> None:
    for number, dtype in ((True, "bool"), (1, "int64"), (1.0, "float64"), (1j, "complex128")):
        assert xp.asarray(number).dtype == dtype
        assert xp.full((2,), number).dtype == dtype
    assert xp.arange(3).tolist() == [0, 1, 2]
    assert xp.arange(1, 7, 3).tolist() == [1, 4]
    assert xp.arange(0.0, 1.0, 0.25).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert xp.linspace(0, 1, 3).tolist() == [0.0, 0.5, 1.0]
    x = np.arange(3.0)
    copied = xp.asarray(x, copy=True)
    x[0] = 7.0
    assert copied[0] == 0.0
    assert np.shares_memory(xp.asarray(copied, copy=False), copied)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(x, copy=False)
    assert xp.from_dlpack(copied).tolist() == copied.tolist()
    assert np.from_dlpack(copied).tolist() == copied.tolist()
    assert xp.zeros(2).__dlpack_device__() == (1, 0)
    grid = xp.meshgrid(xp.arange(2), xp.arange(3), indexing="ij")
    assert [part.shape for part in grid] == [(2, 3), (2, 3)]


def test_manipulation() -> None:
    x = np.arange(6).reshape(2, 3)
    cases: list[tuple[Any, Any]] = [
        (lambda a: xp.concat([a, a], axis=None), [*range(6), *range(6)]),
        (lambda a: xp.concat((a, a), axis=1)[0], [0, 1, 2, 0, 1, 2]),
        (lambda a: xp.expand_dims(a, axis=-1).shape[-1] * a, x),
        (lambda a: xp.flip(a), x[::-1, ::-1]),
        (lambda a: xp.flip(a, axis=1), x[:, ::-1]),
        (lambda a: xp.moveaxis(a, 0, -1), x.T),
        (lambda a: xp.permute_dims(a, (1, 0)), x.T),
        (lambda a: xp.repeat(a, 2, axis=0), [x[0], x[0], x[1], x[1]]),
        (lambda a: xp.repeat(a, np.array([1, 2]), axis=0), [x[0], x[1], x[1]]),
        (lambda a: xp.reshape(a, (3, -1)), x.reshape(3, 2)),
        (lambda a: xp.roll(a, 1), np.roll(x, 1)),
        (lambda a: xp.roll(a, (1, 1), axis=(0, 1)), np.roll(x, (1, 1), (0, 1))),
        (lambda a: xp.squeeze(a[None], axis=0), x),
        (lambda a: xp.stack([a, a], axis=-1)[..., 1], x),
        (lambda a: xp.tile(a, (2, 1)), [*x, *x]),
        (lambda a: xp.unstack(a, axis=1)[2], x[:, 2]),
        (lambda a: xp.diff(a, axis=0), [[3, 3, 3]]),
        (lambda a: xp.diff(a, prepend=a[:, :1]), [[0, 1, 1], [0, 1, 1]]),
        (lambda a: xp.broadcast_to(a, (2, 2, 3))[1], x),
        (lambda a: xp.clip(a, 1, 4), [[1, 1, 2], [3, 4, 4]]),
        (lambda a: xp.clip(a, max=2), [[0, 1, 2], [2, 2, 2]]),
        (lambda a: xp.take(a, np.array([2, 0]), axis=1), x[:, [2, 0]]),
        (lambda a: xp.take_along_axis(a, np.array([[1], [2]])), [[1], [5]]),
        (lambda a: a.mT, x.T),
    ]
    for number, (function, want) in enumerate(cases):
        for got in ways(function, x):
            np.testing.assert_array_equal(got, np.asarray(want), err_msg=str(number))
    with pytest.raises(ValueError, match="squeeze"):
        xp.squeeze(xp.zeros((2, 3)), axis=0)
    for bad in (2, -4):
        with pytest.raises(IndexError):
            xp.expand_dims(xp.zeros(1), axis=bad)
    with pytest.raises(ValueError, match="moveaxis"):
        xp.moveaxis(xp.zeros((2, 2)), (0, 0), (0, 1))


@given(data=st.data())
def test_indexing_agrees_with_lists(tally: Any, data: st.DataObject) -> None:
    tally.require(20)
    size = data.draw(st.integers(1, 6))
    x = np.arange(size * 2).reshape(size, 2)
    start, stop = (data.draw(st.one_of(st.none(), st.integers(-7, 7))) for _ in range(2))
    step = data.draw(st.sampled_from([None, 1, 2, -1, -2]))
    integer = data.draw(st.integers(-size, size - 1))
    window = slice(start, stop, step)
    for got in ways(lambda a: a[window, ...], x):
        assert got.tolist() == x.tolist()[window]
    for got in ways(lambda a: a[integer, None, :], x):
        assert got.tolist() == [x.tolist()[integer]]
    mask = x[:, 0] % 4 == 0
    assert xp.asarray(x)[xp.asarray(mask)].tolist() == [
        r for r, m in zip(x.tolist(), mask, strict=True) if m
    ]
    rows = np.array([integer, 0])
    for got in ways(lambda a, i: a[i, 1], x, rows):
        assert got.tolist() == [x.tolist()[integer][1], x.tolist()[0][1]]
    tally.count()


def test_numbers_convert() -> None:
    assert bool(xp.asarray(True)) is True
    assert int(xp.asarray(3.7)) == 3
    assert float(xp.asarray(2)) == 2.0
    assert complex(xp.asarray(1j)) == 1j
    assert [10, 20, 30][xp.asarray(1)] == 20
    for convert in (int, float):
        with pytest.raises(TypeError):
            convert(xp.asarray(1j))
    with pytest.raises(TypeError):
        [1, 2][xp.asarray(1.0)]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(xp.ones(2))


# ---- linear algebra ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", KINDS["floating"])
def test_linear_algebra_keeps_its_laws_and_dtypes(dtype: str) -> None:
    rng = np.random.default_rng(5)
    a = (numbers(rng, (2, 3, 3), dtype) + 2 * np.eye(3)).astype(dtype)
    real = a.real.dtype
    hermitian = a + np.conj(np.swapaxes(a, -1, -2)) + (4 * np.eye(3)).astype(dtype)
    close = {"rtol": 2e-4, "atol": 2e-4} if real == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    la = xp.linalg

    def same(left: Any, right: Any, wanted: Any = dtype) -> None:
        assert left.dtype == wanted
        np.testing.assert_allclose(left, right, **close)

    identity = np.broadcast_to(np.eye(3), a.shape)
    same(la.inv(a) @ a, identity)
    same(a @ la.solve(a, a[..., :1]), a[..., :1])
    same(a[0] @ la.solve(a[0], a[0, :, 0]), a[0, :, 0])
    lower = la.cholesky(hermitian)
    same(lower @ np.conj(lower.mT), hermitian)
    same(la.cholesky(hermitian, upper=True), np.conj(lower.mT))
    values, vectors = la.eigh(hermitian)
    assert la.eigh(hermitian)._fields == ("eigenvalues", "eigenvectors")
    same(vectors * values[..., None, :], hermitian @ vectors)
    same(la.eigvalsh(hermitian), values, real)
    q, r = la.qr(a)
    assert la.qr(a)._fields == ("Q", "R")
    same(q @ r, a)
    u, s, vh = la.svd(a, full_matrices=False)
    assert la.svd(a)._fields == ("U", "S", "Vh")
    same((u * s[..., None, :]) @ vh, a)
    same(la.svdvals(a), s, real)
    sign, logdet = la.slogdet(a)
    assert la.slogdet(a)._fields == ("sign", "logabsdet")
    same(sign * np.exp(logdet), la.det(a))
    same(la.pinv(a, rtol=1e-6), la.inv(a))
    same(la.matrix_power(a, 3), a @ a @ a)
    same(la.matrix_power(a, -1), la.inv(a))
    assert la.matrix_rank(a).tolist() == [3, 3]
    same(la.matrix_norm(a), np.sqrt(np.sum(np.abs(a) ** 2, (-1, -2))), real)
    same(la.matrix_norm(a, ord=2, keepdims=True)[:, 0, 0], s[..., 0], real)
    same(la.vector_norm(a, axis=-1), np.sqrt(np.sum(np.abs(a) ** 2, -1)), real)
    same(la.vector_norm(a, ord=1), np.sum(np.abs(a)), real)
    same(la.trace(a), a[..., 0, 0] + a[..., 1, 1] + a[..., 2, 2])
    same(la.diagonal(a, offset=1), np.stack([a[..., 0, 1], a[..., 1, 2]], -1))
    same(la.outer(a[0, 0], a[0, 1]), a[0, 0][:, None] * a[0, 1])
    same(la.cross(a[0, 0], a[0, 1]), np.cross(a[0, 0], a[0, 1]))
    same(xp.vecdot(a, a), np.sum(np.conj(a) * a, -1))
    same(xp.tensordot(a, a, axes=((0, 2), (0, 1))), np.einsum("bik,bkj->ij", a, a))
    same(xp.matmul(a, a[0, 0]), np.sum(a * a[0, 0], -1))
    with pytest.raises((TypeError, ValueError)):
        xp.matmul(a, 2.0)


# ---- Fourier transforms --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", KINDS["floating"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_fourier_transforms_invert_and_keep_precision(dtype: str, norm: str) -> None:
    x = numbers(np.random.default_rng(6), (4, 6), dtype)
    close = (
        {"rtol": 2e-5, "atol": 2e-5} if np.dtype(dtype).itemsize <= 8 and dtype != "float64" else {}
    )
    spectrum = "complex64" if dtype in ("float32", "complex64") else "complex128"
    for forward, back in (("fft", "ifft"), ("fftn", "ifftn")):
        y = getattr(xp.fft, forward)(x, norm=norm)
        assert y.dtype == spectrum
        np.testing.assert_allclose(getattr(xp.fft, back)(y, norm=norm), x, **close)
    if np.dtype(dtype).kind == "f":
        y = xp.fft.rfft(x, norm=norm)
        assert (y.dtype, y.shape) == (spectrum, (4, 4))
        assert xp.fft.irfft(y, n=6, norm=norm).dtype == dtype
        np.testing.assert_allclose(xp.fft.irfft(y, n=6, norm=norm), x, **close)
        y = xp.fft.rfftn(x, s=(4, 6), axes=(0, 1), norm=norm)
        np.testing.assert_allclose(xp.fft.irfftn(y, s=(4, 6), axes=(0, 1), norm=norm), x, **close)
        np.testing.assert_allclose(
            xp.fft.hfft(xp.fft.ihfft(x, norm=norm), n=6, norm=norm), x, **close
        )
    np.testing.assert_array_equal(xp.fft.ifftshift(xp.fft.fftshift(x)), x)
    assert xp.fft.fftfreq(4, d=0.5).tolist() == [0.0, 0.5, -1.0, -0.5]
    assert xp.fft.rfftfreq(4, d=0.5, dtype=xp.float32).dtype == np.float32
