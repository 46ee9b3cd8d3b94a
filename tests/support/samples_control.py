"""Examples of loops and branches: small bodies of several carries, constants, rows and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.draws import Draw, NotApplicable, Sample, numbers
from support.samples import sample

from fgrad.avals import Aval
from fgrad.ir.jaxpr import Jaxpr
from fgrad.primitives import elementwise as p
from fgrad.primitives.contraction import matmul
from fgrad.primitives.families import add, mul, reshape
from fgrad.primitives.shape import transpose
from fgrad.primitives.solve import Solve
from fgrad.tracing import record
from fgrad.transforms.cond import Cond
from fgrad.transforms.linear_solve import LinearSolve
from fgrad.transforms.scan import Scan
from fgrad.transforms.while_loop import While

COUNTER = Aval((), np.dtype(np.int64))


def _aval(d: Draw) -> Aval:
    """The type of the arrays: small, since programs have one type, of floats that differences suit."""
    dtype = d.dtype(("float64", "complex128", "float32"))
    if dtype.kind not in "fc" or dtype == np.float16:
        raise NotApplicable
    return Aval(d.shape(most=2), dtype)


def _smooth(aval: Aval) -> bool:
    return aval.dtype.name in ("float64", "complex128")


@sample("Scan")
def _scan(d: Draw) -> Sample:
    aval, length = _aval(d), d.integer(1, 3)

    def body(weight: Any, state: Any, count: Any, last: Any, row: Any) -> list[Any]:
        # Of complex numbers, a sine grows like an exponential.
        wave = p.sin(mul(weight, mul(0.1, state)))
        return [add(wave, row), add(count, 1), row, mul(wave, last)]

    loop = Scan(_recorded(body, [aval, aval, COUNTER, aval, aval]), 1, 3, length, d.boolean())
    rows = (length, *aval.shape)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        state, last = (numbers(rng, aval.shape, aval.dtype) for _ in range(2))
        weight, xs = numbers(rng, aval.shape, aval.dtype), numbers(rng, rows, aval.dtype)
        return weight, state, np.int64(rng.integers(0, 3)), last, xs

    return Sample(loop, values, smooth=_smooth(aval), exact=False, slack=40.0)


@sample("Cond")
def _cond(d: Draw) -> Sample:
    aval = _aval(d)
    count = d.integer(2, 3)
    branches = [
        lambda x, y: [p.sin(mul(x, y)), y],
        lambda x, y: [p.cos(x), mul(x, x)],
        lambda x, y: [x, mul(0.5, y)],
    ][:count]
    choice = Cond(tuple(_recorded(branch, [aval, aval]) for branch in branches))

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        operands = [numbers(rng, aval.shape, aval.dtype) for _ in range(2)]
        return np.int64(rng.integers(0, count)), *operands

    return Sample(choice, values, smooth=_smooth(aval), exact=False, slack=20.0)


@sample("While")
def _while(d: Draw) -> Sample:
    aval = _aval(d)

    def body(weight: Any, count: Any, state: Any, other: Any) -> list[Any]:
        return [add(count, 1), p.sin(mul(weight, state)), add(other, state)]

    carry = [COUNTER, aval, aval]
    condition = _recorded(lambda bound, count, *rest: [p.less(count, bound)], [COUNTER, *carry])
    loop = While(condition, _recorded(body, [aval, *carry]), 1, 1)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        weight, state, other = (numbers(rng, aval.shape, aval.dtype) for _ in range(3))
        return np.int64(rng.integers(0, 4)), weight, np.int64(0), state, other

    return Sample(loop, values, smooth=_smooth(aval), exact=False, slack=40.0)


@sample("LinearSolve")
def _linear_solve(d: Draw) -> Sample:
    dtype, n = d.dtype(("float64", "complex128")), d.integer(1, 3)
    if dtype.name not in ("float64", "complex128"):
        raise NotApplicable
    matrix, vector = Aval((n, n), dtype), Aval((n,), dtype)
    times = _recorded(lambda a, x: [matmul(a, x)], [matrix, vector])
    transposed = _recorded(lambda a, x: [matmul(transpose(a, (1, 0)), x)], [matrix, vector])
    solver = _recorded(lambda a, b: [_solved(a, b)], [matrix, vector])
    backward = _recorded(lambda a, b: [_solved(transpose(a, (1, 0)), b)], [matrix, vector])
    system = LinearSolve(times, solver, transposed, backward, (1, 1, 1, 1))

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        a = numbers(rng, (n, n), dtype) + 4 * np.eye(n, dtype=dtype)
        return a, a, a, a, numbers(rng, (n,), dtype)

    return Sample(system, values, smooth=False, exact=False, slack=100.0)


def _solved(a: Any, b: Any) -> Any:
    return reshape(Solve()(a, reshape(b, (*b.shape, 1))), b.shape)


def _recorded(body: Any, avals: list[Aval]) -> Jaxpr:
    return record(body, avals, "sample", "scan")
