"""The page docs/numpy.md: every function of fgrad.numpy, from its docstring and the oracle's table.

Run from the checkout, ``python tests/support/numpy_page.py`` writes it anew.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.rows import NEEDS_VALUES, NOT_DIFFERENTIABLE, ROWS

import fgrad.numpy as fnp

PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"

HEAD = """# The functions of fgrad.numpy

Each function below takes the arguments of NumPy's, and the keywords that JAX adds to them. The test suite
holds each on several arguments against NumPy (value, dtype and shape), its derivatives in both modes and to
the second order against JAX and against differences, `vmap` over every subset of the operands against a loop,
and `jit` of all of these.

*Derivative* says what there is to differentiate: "yes"; or why not. *Values* marks functions whose results
have a shape that depends on values, so that under `jit` and `vmap` they need the keywords `size=` and
`fill_value=`, where they have them.

bfloat16, the floats of 8 bits and fewer, and the integers of 4 bits and fewer need the package ml_dtypes
(`pip install "fgrad[ml_dtypes]"`). They promote as in JAX. Each operation on floats is computed in float32 and
rounded once; integers wrap around, their sums have 64 bits, and their quotients and roots are float32.
"""


def summary(function: Any) -> str:
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def line(name: str) -> str:
    function: Any = fnp
    for part in name.split("."):
        function = getattr(function, part)
    derivative = NOT_DIFFERENTIABLE.get(name)
    values = "needed" if name in NEEDS_VALUES else ""
    words = "yes" if derivative is None else f"no: {derivative}"
    return f"| `{name}` | {summary(function)} | {words} | {values} |"


def section(title: str, names: list[str]) -> str:
    rows = "\n".join(map(line, names))
    return f"## {title}\n\n| function | what it does | derivative | values |\n| --- | --- | --- | --- |\n{rows}\n"


def page() -> str:
    names = sorted(ROWS)
    return "\n".join(
        [
            HEAD,
            section("fgrad.numpy", [n for n in names if "." not in n]),
            section("fgrad.numpy.linalg", [n for n in names if n.startswith("linalg.")]),
            section("fgrad.numpy.fft", [n for n in names if n.startswith("fft.")]),
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
