"""Linear algebra where mathematics is degenerate: singular, equal, at the origin."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.matrices import (
    close,
    difference,
    directions,
    numbers,
    seeded,
)
from support.modules import fgrad, fnp, jax, jnp

import fgrad.numpy.linalg as la


def expansion(xp: Any, a: Any) -> Any:
    """The determinant as the sum over permutations."""
    n = a.shape[-1]
    total = 0.0
    for order in itertools.permutations(range(n)):
        inversions = sum(x > y for x, y in itertools.combinations(order, 2))
        term = (-1.0) ** inversions
        for i, j in enumerate(order):
            term = term * a[..., i, j]
        total = total + term
    return total


SINGULAR = {
    "rank 0": np.zeros((3, 3)),
    "rank 1": np.outer([1.0, 2.0, -1.0], [0.5, 1.0, 3.0]),
    "rank 2": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    "nearly": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0 + 1e-9]]),
    "identity": np.eye(3),
    "regular": np.array([[2.0, 1.0, 0.0], [-1.0, 3.0, 0.5], [0.3, 0.0, 1.0]]),
}


def all_derivatives(module: Any, f: Callable[..., Any], holomorphic: bool) -> Callable[..., Any]:
    """The directional derivatives of a function up to the fourth order, its gradient and Hessian."""
    gradient = module.grad(f, holomorphic=holomorphic)

    def derivatives(x: Any, along: Any) -> Any:
        nested = [f]
        for t in along:
            nested.append(lambda y, g=nested[-1], t=t: module.jvp(g, (y,), (t,))[1])
        hessian = module.jacrev(gradient, holomorphic=holomorphic)
        return [g(x) for g in nested], gradient(x), hessian(x)

    return derivatives


@functools.cache
def expanded(holomorphic: bool) -> Callable[..., Any]:
    return jax.jit(all_derivatives(jax, lambda x: expansion(jnp, x), holomorphic))  # type: ignore[no-any-return]


@pytest.mark.parametrize("case", SINGULAR)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants_differentiate_to_all_orders_everywhere(case: str, dtype: str) -> None:
    holomorphic = dtype == "complex128"
    a = SINGULAR[case].astype(dtype) * (np.exp(0.4j) if holomorphic else 1.0)
    along = directions("determinant", [a] * 4)
    got = all_derivatives(fgrad, la.det, holomorphic)(a, along)
    close(got, expanded(holomorphic)(a, along), 1e-12)


def test_determinants_in_a_batch_of_regular_and_singular_matrices() -> None:
    a = np.stack([SINGULAR["rank 2"], SINGULAR["regular"], SINGULAR["rank 1"]])
    got = fgrad.vmap(fgrad.grad(la.det))(a)
    want = [np.asarray(jax.grad(lambda x: expansion(jnp, x))(m)) for m in a]
    close(got, np.stack(want), 1e-12)
    with np.errstate(invalid="ignore"):
        assert np.isnan(fgrad.grad(la.det)(np.full((2, 2), np.nan))).all()


def test_norms_at_the_origin() -> None:
    zero = np.zeros(3)
    # Sums and maxima of magnitudes have the slopes of abs there, 1; the smooth norms have slope 0.
    slopes = {1: np.ones(3), np.inf: np.full(3, 1 / 3)}
    for order in (None, 2, 3, 1, np.inf, 2.5):
        expected = slopes.get(order, zero)
        gradient = fgrad.grad(lambda v, order=order: la.norm(v, order))(zero)
        np.testing.assert_allclose(gradient, expected, err_msg=str(order))
        squared = fgrad.grad(lambda v, order=order: la.norm(v, order) ** 2)(zero)
        np.testing.assert_array_equal(squared, zero, err_msg=str(order))
        _, tangent = fgrad.jvp(lambda v, order=order: la.norm(v, order), (zero,), (np.ones(3),))
        np.testing.assert_allclose(tangent, expected.sum(), err_msg=str(order))
    np.testing.assert_array_equal(fgrad.grad(la.norm)(np.zeros((2, 2))), np.zeros((2, 2)))
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    gradient = fgrad.grad(lambda x: fnp.sum(la.norm(x, axis=1)))(rows)
    np.testing.assert_allclose(gradient, [[0, 0], [0.6, 0.8]])
    gradient = fgrad.jit(fgrad.grad(lambda z: la.norm(z)))(np.zeros(2, complex))
    np.testing.assert_array_equal(gradient, np.zeros(2))


def test_ties_share_the_slope() -> None:
    np.testing.assert_allclose(
        fgrad.grad(lambda v: la.norm(v, np.inf))(np.array([1.0, -1.0])), [0.5, -0.5]
    )


def test_values_at_equal_eigenvalues() -> None:
    a = np.eye(3) * 2.0
    for f in (la.eigvalsh, la.svdvals):
        np.testing.assert_allclose(
            fgrad.grad(lambda x, f=f: fnp.sum(f(x) ** 2))(a), 2 * a, atol=1e-12
        )
    gradient = fgrad.grad(lambda x: fnp.sum(la.eigh(x)[0] ** 2))(a)
    np.testing.assert_allclose(gradient, 2 * a, atol=1e-12)
    np.testing.assert_allclose(fgrad.grad(lambda x: la.norm(x, "nuc"))(a), np.eye(3), atol=1e-12)


def test_vectors_at_equal_eigenvalues_are_not_differentiable_and_say_so() -> None:
    a, weights = np.eye(2), np.array([[1.0, 2.0], [3.0, -1.0]])
    for f in (lambda x: la.eigh(x)[1], lambda x: la.svd(x)[0]):
        assert not np.isfinite(fgrad.grad(lambda x, f=f: fnp.sum(weights * f(x)))(a)).all()

    # A function of the matrix whose derivative exists there is not given a wrong one.
    def rebuilt(x: Any) -> Any:
        w, v = la.eigh(x)
        return fnp.sum(weights * ((v * w) @ v.T))

    assert not np.isfinite(fgrad.grad(rebuilt)(a)).all()


def test_a_cotangent_of_zero_absorbs_infinite_slopes() -> None:
    for f in (lambda x: la.eigh(x)[1], lambda x: la.svd(x)[0], lambda x: la.svd(x)[2]):
        gradient = fgrad.grad(lambda x, f=f: fnp.sum(fnp.where(False, f(x), x)))(np.eye(2))
        np.testing.assert_array_equal(gradient, np.ones((2, 2)))
    # Rows of a batch that count for nothing do not spoil the others.
    batch = np.stack([np.eye(2), np.diag([1.0, 2.0])])
    gradient = fgrad.grad(lambda x: fnp.sum(fnp.array([0.0, 1.0])[:, None, None] * la.eigh(x)[1]))(
        batch
    )
    assert np.isfinite(gradient).all()


def test_pseudo_inverses_of_low_rank_move_at_constant_rank() -> None:
    rng = seeded("low rank")
    left, right = numbers(rng, (4, 2), "float64"), numbers(rng, (2, 3), "float64")
    dl, dr = directions("low rank", [left, right])

    def through(x: Any, y: Any) -> Any:
        return la.pinv(x @ y)

    _, tangent = fgrad.jvp(through, (left, right), (dl, dr))
    close(tangent, difference(through, [left, right], [dl, dr]), 1e-7)
    b = numbers(rng, (4, 2), "float64")

    def fitted(x: Any, y: Any) -> Any:
        return la.lstsq(x @ y, b)[0]

    _, tangent = fgrad.jvp(fitted, (left, right), (dl, dr))
    close(tangent, difference(fitted, [left, right], [dl, dr]), 1e-7)


def test_columns_that_need_no_reflection() -> None:
    a = np.array([[2.0, 1.0], [0.0, 3.0], [0.0, 0.0]])
    gradient = fgrad.grad(lambda x: fnp.sum(la.qr(x, "complete")[1] ** 2))(a)
    np.testing.assert_allclose(gradient, 2 * a, atol=1e-12)
    gradient = fgrad.grad(lambda x: fnp.sum(la.qr(x, "complete")[0][:, :2] ** 3))(a)
    want = fgrad.grad(lambda x: fnp.sum(la.qr(x)[0] ** 3))(a)
    np.testing.assert_allclose(gradient, want, atol=1e-12)


def test_slogdet_of_singular_matrices() -> None:
    a = np.zeros((2, 2))
    sign, logarithm = la.slogdet(a)
    assert float(sign) == 0.0
    assert float(logarithm) == -np.inf
    assert np.isnan(fgrad.grad(lambda x: la.slogdet(x)[1])(a)).all()
    batch = np.stack([a, np.eye(2)])
    gradient = fgrad.vmap(fgrad.grad(lambda x: la.slogdet(x)[1]))(batch)
    np.testing.assert_array_equal(gradient[1], np.eye(2))


def test_condition_of_singular_matrices() -> None:
    singular = np.ones((2, 2))
    for p in (1, "fro"):
        assert float(la.cond(np.zeros((2, 2)), p)) == np.inf
    assert float(la.cond(singular)) > 1e15
    assert float(la.cond(np.zeros((2, 2)))) == np.inf
    assert np.isnan(la.cond(np.full((2, 2), np.nan), 1))


REGULAR = np.array([[2.0, 1.0], [1.0, 3.0]])
NOT_A_NUMBER = np.full((2, 2), np.nan)
# A function of one matrix, and a matrix for which NumPy raises.
WITHOUT_ANSWER: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "solve": (lambda m, a: m.linalg.solve(a, a[0]), np.ones((2, 2))),
    "solve of many": (lambda m, a: m.linalg.solve(a, a), np.ones((2, 2))),
    "inv": (lambda m, a: m.linalg.inv(a), np.ones((2, 2))),
    "matrix_power": (lambda m, a: m.linalg.matrix_power(a, -2), np.ones((2, 2))),
    "cholesky": (lambda m, a: m.linalg.cholesky(a), -np.eye(2)),
    "svd": (lambda m, a: m.linalg.svd(a)[0], NOT_A_NUMBER),
    "svdvals": (lambda m, a: m.linalg.svd(a, compute_uv=False), NOT_A_NUMBER),
    "pinv": (lambda m, a: m.linalg.pinv(a), NOT_A_NUMBER),
    "lstsq": (lambda m, a: m.linalg.lstsq(a, a[0])[0], NOT_A_NUMBER),
    "eig": (lambda m, a: m.linalg.eig(a)[0], NOT_A_NUMBER),
    "eigvals": (lambda m, a: m.linalg.eigvals(a), NOT_A_NUMBER),
    "eigvalsh": (lambda m, a: m.linalg.eigvalsh(a), NOT_A_NUMBER),
}
NUMPY_RAISES = sorted(set(WITHOUT_ANSWER) - {"eigvalsh"})


@pytest.mark.parametrize("name", sorted(WITHOUT_ANSWER))
@pytest.mark.parametrize("wrapper", ["eager", "jit outside", "jit inside"])
def test_a_matrix_without_an_answer_leaves_other_examples_alone(name: str, wrapper: str) -> None:
    function, bad = WITHOUT_ANSWER[name]
    f = functools.partial(function, fnp)
    batch = np.stack([REGULAR, bad, 2.0 * REGULAR, bad, bad])
    f = fgrad.jit(f) if wrapper == "jit inside" else f
    mapped = fgrad.vmap(f)
    got = np.asarray((fgrad.jit(mapped) if wrapper == "jit outside" else mapped)(batch))
    for i in (0, 2):
        assert np.array_equal(got[i], np.asarray(f(batch[i])))
    for i in (1, 3, 4):
        # Above its diagonal, a Cholesky factor is 0 whatever the matrix is.
        part = np.tril(got[i]) if name == "cholesky" else got[i]
        assert np.isnan(part[np.tril_indices(2)] if name == "cholesky" else part).all()


@pytest.mark.parametrize("name", NUMPY_RAISES)
@pytest.mark.parametrize("wrapper", ["eager", "jit", "grad"])
def test_a_matrix_without_an_answer_raises_on_its_own(name: str, wrapper: str) -> None:
    function, bad = WITHOUT_ANSWER[name]
    f = functools.partial(function, fnp)
    g = {"eager": f, "jit": fgrad.jit(f), "grad": fgrad.grad(lambda a: fnp.abs(f(a)).sum())}[
        wrapper
    ]
    with pytest.raises(np.linalg.LinAlgError):
        g(bad)


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("order", ["vmap of grad", "grad of vmap"])
def test_derivatives_where_one_example_is_singular(n: int, order: str) -> None:
    rng = np.random.default_rng(5)
    good = rng.standard_normal((n, n)) + n * np.eye(n)
    a = np.stack([good, np.ones((n, n)), 2.0 * good])
    b = rng.standard_normal((3, n))

    def f(a: Any, b: Any) -> Any:
        return fnp.sin(fnp.linalg.solve(a, b)).sum()

    if order == "vmap of grad":
        got = fgrad.vmap(fgrad.grad(f, (0, 1)))(a, b)
    else:
        chosen = np.array([True, False, True])
        got = fgrad.grad(lambda *x: fnp.where(chosen, fgrad.vmap(f)(*x), 0.0).sum(), (0, 1))(a, b)
    for i in (0, 2):
        want = fgrad.grad(f, (0, 1))(a[i], b[i])
        close(got[0][i], want[0])
        close(got[1][i], want[1])


def test_a_dropped_singular_example_gives_what_replaces_it() -> None:
    a, b = np.stack([REGULAR, np.ones((2, 2))]), np.ones((2, 2))

    def f(a: Any, b: Any) -> Any:
        return fnp.where(fnp.linalg.det(a) != 0, fnp.linalg.solve(a, b), -1.0)

    got = fgrad.vmap(f)(a, b)
    close(got[0], np.linalg.solve(REGULAR, b[0]))
    assert got[1].tolist() == [-1.0, -1.0]


def test_a_few_singular_matrices_in_a_large_batch() -> None:
    rng = np.random.default_rng(6)
    a = rng.standard_normal((7, 30, 3, 3)) + 3.0 * np.eye(3)
    a[2, 11] = a[5, 0] = 1.0
    got = np.asarray(fgrad.vmap(fgrad.vmap(fnp.linalg.inv))(a))
    bad = np.zeros((7, 30), bool)
    bad[2, 11] = bad[5, 0] = True
    assert np.array_equal(np.isnan(got).all(axis=(-1, -2)), bad)
    assert np.array_equal(got[~bad], np.linalg.inv(a[~bad]))
