"""Makers of examples for the primitives of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.draws import INEXACT, Draw, NotApplicable, Sample, number, numbers
from support.samples import sample

from fgrad.primitives import cholesky, determinant, factorizations, linalg, solve, spectral

Shape = tuple[int, ...]
_DTYPES = ("float64", "complex128", "float32")


def float_dtype(d: Draw) -> Any:
    """float16 and integers have no routines: the functions convert before they call a primitive."""
    dtype = d.dtype(_DTYPES)
    if dtype.name not in INEXACT:
        raise NotApplicable
    return dtype


def batch_of(d: Draw) -> Shape:
    return d.shape(most=1)


def sizes(d: Draw, count: int) -> list[int]:
    """Sizes of matrices; the wish of the test is for these too."""
    if d.size in ("scalar", "one"):
        return [1] * count
    return [d.integer(1, 4) for _ in range(count)]


def regular(rng: np.random.Generator, batch: Shape, n: int, dtype: Any) -> Any:
    """Well-conditioned matrices."""
    return number(numbers(rng, (*batch, n, n), dtype) * 0.3 + 2.0 * np.eye(n), dtype)


def positive_definite(rng: np.random.Generator, batch: Shape, n: int, dtype: Any) -> Any:
    a = numbers(rng, (*batch, n, n), dtype)
    return number(0.3 * a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(n), dtype)


def far_apart(rng: np.random.Generator, batch: Shape, m: int, n: int, dtype: Any) -> Any:
    """Matrices whose eigenvalues and singular values are far apart."""
    ladder = np.zeros((m, n))
    for i in range(min(m, n)):
        ladder[i, i] = 1.0 + 1.5 * i
    return number(0.2 * numbers(rng, (*batch, m, n), dtype) + ladder, dtype)


def _square(d: Draw, primitive: Any, make: Any = regular, **options: Any) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    (n,) = sizes(d, 1)
    options = {"exact": False, "slack": 300.0, **options}
    return Sample(primitive, lambda rng: (make(rng, batch, n, dtype),), **options)


def _squared(rng: np.random.Generator, batch: Shape, n: int, dtype: Any) -> Any:
    return far_apart(rng, batch, n, n, dtype)


def _system(d: Draw, primitive: Any, make: Any = regular, **options: Any) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    n, k = sizes(d, 2)
    options = {"exact": False, "slack": 300.0, **options}
    return Sample(
        primitive,
        lambda rng: (make(rng, batch, n, dtype), numbers(rng, (*batch, n, k), dtype)),
        **options,
    )


@sample("Triangle")
def _triangle(d: Draw) -> Sample:
    batch, dtype = batch_of(d), d.dtype(_DTYPES)
    m, n = sizes(d, 2)
    primitive = linalg.Triangle(d.boolean(), d.integer(-1, 1))
    return Sample(primitive, lambda rng: (numbers(rng, (*batch, m, n), dtype),))


@sample("Solve")
def _solve(d: Draw) -> Sample:
    return _system(d, solve.Solve())


@sample("Lu")
def _lu(d: Draw) -> Sample:
    return _square(d, solve.Lu())


@sample("FactoredSolve")
def _factored_solve(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    n, k = sizes(d, 2)
    adjoint = d.boolean()

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        a = regular(rng, batch, n, dtype)
        return a, *solve.Lu()(a), numbers(rng, (*batch, n, k), dtype)

    # The factors are those of the matrix: they do not move with it.
    return Sample(solve.FactoredSolve(adjoint), values, smooth=False, exact=False, slack=300.0)


@sample("TriangularSolve")
def _triangular_solve(d: Draw) -> Sample:
    return _system(d, solve.TriangularSolve(d.boolean(), d.boolean(), d.boolean()))


@sample("Inv")
def _inv(d: Draw) -> Sample:
    return _square(d, solve.Inv())


@sample("Pinv")
def _pinv(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    m, n = sizes(d, 2)
    return Sample(
        solve.Pinv(1e-8),
        lambda rng: (far_apart(rng, batch, m, n, dtype),),
        exact=False,
        slack=1000.0,
    )


@sample("Lstsq")
def _lstsq(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    m, n, k = sizes(d, 3)
    return Sample(
        solve.Lstsq(1e-8),
        lambda rng: (far_apart(rng, batch, m, n, dtype), numbers(rng, (*batch, m, k), dtype)),
        exact=False,
        slack=1000.0,
    )


@sample("Det")
def _det(d: Draw) -> Sample:
    return _square(d, determinant.Det())


@sample("Cofactors")
def _cofactors(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    (n,) = sizes(d, 1)
    order = d.integer(0, 1)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(regular(rng, batch, n, dtype) for _ in range(order + 1))

    return Sample(determinant.Cofactors(order), values, exact=False, slack=1000.0)


@sample("Slogdet")
def _slogdet(d: Draw) -> Sample:
    return _square(d, determinant.Slogdet())


@sample("Cholesky")
def _cholesky(d: Draw) -> Sample:
    return _square(d, cholesky.Cholesky(), positive_definite)


@sample("CholeskyGradient")
def _cholesky_gradient(d: Draw) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    (n,) = sizes(d, 1)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        factor = np.linalg.cholesky(positive_definite(rng, batch, n, dtype))
        return factor, regular(rng, batch, n, dtype)

    return Sample(cholesky.CholeskyGradient(), values, exact=False, slack=1000.0)


def _rectangular(d: Draw, primitive: Any, tall: bool = False, **options: Any) -> Sample:
    batch, dtype = batch_of(d), float_dtype(d)
    m, n = sizes(d, 2)
    if tall:
        m, n = max(m, n), min(m, n)
    options = {"exact": False, "slack": 1000.0, **options}
    return Sample(primitive, lambda rng: (far_apart(rng, batch, m, n, dtype),), **options)


@sample("Qr")
def _qr(d: Draw) -> Sample:
    # The columns beyond the range are LAPACK's choice.
    complete = d.boolean()
    return _rectangular(d, factorizations.Qr(complete), smooth=not complete)


@sample("TriangularFactor")
def _triangular_factor(d: Draw) -> Sample:
    return _rectangular(d, factorizations.TriangularFactor())


@sample("HouseholderQr")
def _householder_qr(d: Draw) -> Sample:
    # It says by name that it has no derivative.
    return _rectangular(d, factorizations.HouseholderQr(), order=0)


@sample("Svd")
def _svd(d: Draw) -> Sample:
    # The phases of complex vectors, and vectors of the null space, are LAPACK's choice.
    return _rectangular(d, factorizations.Svd(False), smooth=False)


@sample("SingularValues")
def _singular_values(d: Draw) -> Sample:
    return _rectangular(d, factorizations.SingularValues())


@sample("Eigh")
def _eigh(d: Draw) -> Sample:
    return _square(d, spectral.Eigh(), _squared, smooth=False, slack=1000.0)


@sample("Eigvalsh")
def _eigvalsh(d: Draw) -> Sample:
    return _square(d, spectral.Eigvalsh(), _squared, slack=1000.0)


@sample("Eig")
def _eig(d: Draw) -> Sample:
    return _square(d, spectral.Eig(), _squared, smooth=False, slack=1000.0)


@sample("Eigvals")
def _eigvals(d: Draw) -> Sample:
    return _square(d, spectral.Eigvals(), _squared, smooth=False, slack=1000.0)
