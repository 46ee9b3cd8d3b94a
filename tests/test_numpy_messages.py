"""Messages of fgrad.numpy name the function that the user called, and the fix that fits the transform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ConcretizationTypeError, ShapeError, TracerIntegerConversionError

A, B = np.ones((2, 3)), np.ones((4, 5))

# Several names of one function answer by the first of them.
ALIASES = {
    "atan2": "arctan2",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "mod": "remainder",
    "pow": "power",
    "true_divide": "divide",
}
BINARY = [n for n in fnp.__all__ if getattr(getattr(fnp, n), "nin", 0) == 2]
CALLS: dict[str, Any] = {
    **{name: (lambda x, y, name=name: getattr(fnp, name)(x, y)) for name in BINARY},
    "allclose": lambda x, y: fnp.allclose(x, y),
    "clip": lambda x, y: fnp.clip(x, y),
    "clip above": lambda x, y: fnp.clip(x, 0.0, y),
    "divmod": lambda x, y: fnp.divmod(x, y),
    "float_power": lambda x, y: fnp.float_power(x, y),
    "isclose": lambda x, y: fnp.isclose(x, y),
    "isclose with atol": lambda x, y: fnp.isclose(x, x, atol=y),
    "linspace": lambda x, y: fnp.linspace(x, y),
    "geomspace": lambda x, y: fnp.geomspace(x, y),
    "logspace": lambda x, y: fnp.logspace(x, y),
    "nan_to_num": lambda x, y: fnp.nan_to_num(x, nan=y),
    "polyval": lambda x, y: fnp.polyval(x, y),
    "select": lambda x, y: fnp.select([x > 0], [y]),
    "trapezoid": lambda x, y: fnp.trapezoid(x, y),
    "unwrap": lambda x, y: fnp.unwrap(x, period=y),
    "where": lambda x, y: fnp.where(x > 0, x, y),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("traced", [False, True])
def test_a_shape_error_names_the_function(name: str, traced: bool) -> None:
    integers = name.startswith(("bitwise", "left", "right", "gcd", "lcm", "ldexp"))
    x, y = (A.astype(int), B.astype(int)) if integers else (A, B)
    first = name.split()[0]
    with pytest.raises(ShapeError, match=f"^{ALIASES.get(first, first)}: .*shape"):
        (fgrad.jit(CALLS[name]) if traced else CALLS[name])(x, y)


@pytest.mark.parametrize(
    ("call", "x"),
    [
        (lambda x: fnp.arange(x), 3),
        (lambda x: fnp.linalg.lstsq(np.eye(2), np.ones(2), rcond=x)[0], 0.5),
        (lambda x: fnp.bartlett(x), 3),
        (lambda x: fnp.fft.fftfreq(x), 3),
    ],
)
def test_what_must_be_known_says_how_under_each_transform(call: Any, x: Any) -> None:
    known = (ConcretizationTypeError, TracerIntegerConversionError)
    with pytest.raises(known, match="static_argnums"):
        fgrad.jit(call)(x)
    with pytest.raises(known, match="None in in_axes"):
        fgrad.vmap(call)(np.array([x, x]))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fnp.sum([x, 2.0]),
        lambda x: fnp.add([x, 0.5], x),
        lambda x: fnp.array([[x, 1], [2.5, x]]),
        lambda x: fnp.maximum(x, [[0.5], [x]]),
        lambda x: fnp.concatenate([[x, 1.0], [x]]),
        lambda x: fnp.mean([(x, 1), (2.0, x)]),
        lambda x: fnp.asarray(x).__add__([x, 1.0]),
    ],
)
def test_python_numbers_in_lists_take_the_dtype_of_what_is_beside_them(call: Any) -> None:
    x = np.float32(1.5)
    assert call(x).dtype == np.float32
    assert fgrad.jit(call)(x).dtype == np.float32
    np.testing.assert_array_equal(call(x), fgrad.jit(call)(x))
