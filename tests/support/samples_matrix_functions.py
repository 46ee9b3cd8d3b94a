"""Makers of examples for functions of matrices, triangular factors and tridiagonal systems."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.draws import Draw, Sample, number, numbers
from support.samples import sample
from support.samples_linalg import (
    batch_of,
    far_apart,
    float_dtype,
    positive_definite,
    regular,
    sizes,
)

from fgrad.primitives import lu, matrix_functions, pivots, schur, tridiagonal
from fgrad.primitives.linalg import complex_dtype


def _of_one(d: Draw, primitive: Any, make: Any = regular, **options: Any) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    (n,) = sizes(d, 1)
    options = {"exact": False, "slack": 1000.0, **options}
    return Sample(primitive, lambda rng: (make(rng, batch, n, dtype),), **options)


@sample("Expm")
def _expm(d: Draw) -> Sample:
    return _of_one(d, matrix_functions.Expm())


@sample("SquareRoot")
def _square_root(d: Draw) -> Sample:
    # Only complex matrices come: others are made complex first.
    batch, dtype = batch_of(d), float_dtype(d)
    (n,) = sizes(d, 1)
    return Sample(
        matrix_functions.SquareRoot(),
        lambda rng: (positive_definite(rng, batch, n, complex_dtype(dtype)),),
        exact=False,
        slack=1000.0,
    )


@sample("Sylvester")
def _sylvester(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    m, n = sizes(d, 2)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        a, b = regular(rng, batch, m, dtype), regular(rng, batch, n, dtype)
        return a, b, numbers(rng, (*batch, m, n), dtype)

    return Sample(matrix_functions.Sylvester(), values, exact=False, slack=1000.0)


@sample("PolarFactor")
def _polar_factor(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    m, n = sizes(d, 2)
    m, n = max(m, n), min(m, n)
    return Sample(
        matrix_functions.PolarFactor(),
        lambda rng: (far_apart(rng, batch, m, n, dtype),),
        exact=False,
        slack=1000.0,
    )


@sample("PivotedLu")
def _pivoted_lu(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    m, n = sizes(d, 2)
    return Sample(
        lu.PivotedLu(), lambda rng: (far_apart(rng, batch, m, n, dtype),), exact=False, slack=300.0
    )


@sample("OrderOfExchanges")
def _order_of_exchanges(d: Draw) -> Sample:
    batch = batch_of(d)
    (n,) = sizes(d, 1)
    return Sample(
        lu.OrderOfExchanges(n),
        lambda rng: (rng.integers(np.arange(n), n, (*batch, n)).astype(np.int32),),
    )


@sample("KnownLu")
def _known_lu(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    (n,) = sizes(d, 1)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        a = regular(rng, batch, n, dtype)
        packed, _, order = lu.PivotedLu()(a)
        return lu.in_order(a, order), packed

    # The factors are those of the matrix: they do not move with it.
    return Sample(lu.KnownLu(), values, smooth=False, exact=False, slack=300.0)


@sample("TridiagonalSolve")
def _tridiagonal_solve(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    n, k = sizes(d, 2)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        lower, upper = (0.3 * numbers(rng, (*batch, n), dtype) for _ in range(2))
        middle = number(3.0 + 0.3 * numbers(rng, (*batch, n), dtype), dtype)
        return (
            number(lower, dtype),
            middle,
            number(upper, dtype),
            numbers(rng, (*batch, n, k), dtype),
        )

    return Sample(tridiagonal.TridiagonalSolve(), values, exact=False, slack=300.0)


@sample("Schur")
def _schur(d: Draw) -> Sample:
    # It says by name that it has no derivative.
    return _of_one(d, schur.Schur(d.boolean()), order=0)


@sample("Hessenberg")
def _hessenberg(d: Draw) -> Sample:
    return _of_one(d, schur.Hessenberg(), order=0)


@sample("PivotColumns")
def _pivot_columns(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    m, n = sizes(d, 2)
    return Sample(pivots.PivotColumns(), lambda rng: (far_apart(rng, batch, m, n, dtype),))
