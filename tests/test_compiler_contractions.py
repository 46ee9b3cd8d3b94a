"""Passes that give a program a faster form: short axes, sums of products, matrices of a known form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fgrad
import fgrad.numpy as fnp
from fgrad.array import value, wrap
from fgrad.compiler.contractions import plain_products
from fgrad.compiler.fission import prepared
from fgrad.compiler.layout import Arrange, move_short_axes
from fgrad.compiler.matrices import GradientOfParts, GradientOfSymmetricParts, use_forms
from fgrad.compiler.parts import SumOfParts
from fgrad.compiler.products import SumOfProducts, contract_sums, sum_of_products
from fgrad.compiler.simplify import simplify
from fgrad.ir.check import check_jaxpr
from fgrad.ir.jaxpr import Jaxpr, eval_jaxpr
from fgrad.primitives.cholesky import CholeskyGradient
from fgrad.primitives.contraction import DotGeneral, contract
from fgrad.primitives.families import Sum
from fgrad.primitives.shape import transpose
from fgrad.primitives.windows import OverlapAdd, window_counts


def program(f: Any, *args: Any) -> Jaxpr:
    return simplify(fgrad.jit(f).lower(*args).jaxpr)


def kinds(jaxpr: Jaxpr) -> list[type]:
    return [type(eqn.primitive) for eqn in jaxpr.eqns]


def run(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    """What a program gives, and its types checked."""
    check_jaxpr(jaxpr)
    return eval_jaxpr(jaxpr, *args)


def same_bits(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


# ---- short axes ------------------------------------------------------------------------------------


def squared_distances(x: Any, y: Any) -> Any:
    return fnp.sum((x[:, None] - y) ** 2, axis=-1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_a_short_axis_goes_to_the_front(k: int, dtype: str) -> None:
    rng = np.random.default_rng(k)
    x, y = rng.standard_normal((90, k)).astype(dtype), rng.standard_normal((80, k)).astype(dtype)
    before = program(squared_distances, x, y)
    after = move_short_axes(before)
    shapes = [v.aval.shape for eqn in after.eqns for v in eqn.outputs]
    assert (k, 90, 80) in shapes
    assert (90, 80, k) not in shapes
    rtol = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(run(after, x, y)[0], run(before, x, y)[0], rtol)
    got = fgrad.jit(squared_distances)(x, y)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, squared_distances(x, y), rtol)


@pytest.mark.parametrize("k", [8, 20])
def test_a_longer_axis_stays(k: int) -> None:
    x = np.ones((90, k))
    before = program(squared_distances, x, x)
    assert move_short_axes(before) is before


def test_what_is_read_elsewhere_has_its_own_axes() -> None:
    def f(x: Any, y: Any) -> Any:
        apart = x[:, None] - y
        scaled = apart / 2.0 + fnp.array([1.0, 2.0, 3.0])
        return fnp.min(scaled * scaled, axis=-1), fnp.max(scaled, axis=2), apart[3:5], scaled

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((70, 3)), rng.standard_normal((60, 3))
    before = program(f, x, y)
    # It would cost more than it saves: the pass is told to do it anyway.
    after = _forced(before, (70, 60, 3))
    assert Arrange in kinds(after)
    for got, want in zip(run(after, x, y), run(before, x, y), strict=True):
        same_bits(got, want)


def _forced(jaxpr: Jaxpr, shape: tuple[int, ...]) -> Jaxpr:
    from fgrad.compiler import layout

    frame = layout._Frame(jaxpr, shape)
    frame.saved = lambda: math.inf  # type: ignore[method-assign]
    return frame.moved()


UNARY = [
    fnp.tanh,
    fnp.negative,
    lambda x: x * 0.5,
    lambda x: x**2,
    lambda x: fnp.where(x > 0, x, -0.0),
]
BINARY = [fnp.add, fnp.subtract, fnp.multiply, fnp.maximum, lambda x, y: fnp.where(x < y, x, y)]
ENDS = [
    lambda x: fnp.all(x > -1.0, axis=-1),
    lambda x: fnp.max(x, axis=-1),
    lambda x: fnp.min(x, axis=(0, 2)),
    lambda x: fnp.any(x > 1.0, axis=-1),
    lambda x: x[1:, :2] * 2.0,
    lambda x: fnp.max(x, axis=0),
    lambda x: x.reshape(-1),
]


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 7),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 9)), max_size=6),
    st.sets(st.integers(0, len(ENDS) - 1), min_size=1, max_size=3),
)
def test_random_programs_keep_their_bits(
    seed: int, k: int, steps: list[tuple[int, int, int]], ends: set[int]
) -> None:
    rng = np.random.default_rng(seed)
    shapes = [(40, 1, k), (30, k), (k,), (40, 30, 1), (30, 1), (1, 1, k), (40, 30, k)]
    args = [rng.standard_normal(s) for s in shapes]

    def f(*args: Any) -> Any:
        values = [args[0] - args[1], *args]
        for number, first, second in steps:
            one, two = values[first % len(values)], values[second % len(values)]
            values.append(BINARY[number](UNARY[number](one), two))
        whole = values[0]
        for term in values[1:]:
            whole = whole + term
        return [ENDS[end](whole) for end in sorted(ends)]

    before = program(f, *args)
    after = _forced(before, (40, 30, k))
    for got, want in zip(run(after, *args), run(before, *args), strict=True):
        same_bits(got, want)


# ---- sums of products ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(100,), (7, 100), (70, 90), (3, 50, 40)])
def test_a_sum_of_products_needs_no_products(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, *shape)).astype(dtype)
    cases = [
        (lambda x, y: fnp.sum(x * y), True),
        (lambda x, y: fnp.sum((x * y), axis=-1), shape[-1] >= 64),
        (lambda x, y: fnp.sum(x**2) + fnp.sum(y), True),
    ]
    for f, contracts in cases:
        before = program(f, x, y)
        after = contract_sums(before)
        assert (SumOfProducts in kinds(after)) == contracts
        (got,), (want,) = run(after, x, y), run(before, x, y)
        assert np.asarray(got).dtype == dtype
        bound = 8 * np.finfo(dtype).eps * float(np.sum(np.abs(x * y)) + np.sum(x * x + np.abs(y)))
        np.testing.assert_allclose(got, want, rtol=0, atol=bound)
        np.testing.assert_allclose(fgrad.jit(f)(x, y), got, rtol=0, atol=bound)


def test_other_sums_stay() -> None:
    x, y = np.ones((70, 90)), np.ones((90,))
    for f in (
        lambda x, y: fnp.sum(x * y),
        lambda x, y: fnp.sum(x * x, axis=0),
        lambda x, y: (x * 2.0, fnp.sum(x * 2.0)),
        lambda x, y: fnp.sum((x * x).astype("int64") * 3),
    ):
        before = program(f, x, y)
        assert SumOfProducts not in kinds(contract_sums(before))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [100, 512, 513, 5_000, 30_000, 100_000])
def test_sums_of_products_are_as_accurate_as_pairwise_ones(size: int, dtype: str) -> None:
    rng = np.random.default_rng(size)
    errors: dict[str, list[float]] = {"dot": [], "pairwise": []}
    for hard in (False, True) * 60:
        x, y = rng.standard_normal((2, size)) + 0.5
        if hard:
            # Large products that cancel.
            x, y = x * np.exp(rng.uniform(-9, 9, size)), y * np.exp(rng.uniform(-9, 9, size))
            half = size // 2
            x[half : 2 * half], y[half : 2 * half] = x[:half], -y[:half]
            order = rng.permutation(size)
            x, y = x[order], y[order]
        x, y = x.astype(dtype), y.astype(dtype)
        exact = math.fsum(_exact_products(x, y))
        scale = float(np.abs(x.astype("float64") * y).sum())
        errors["dot"].append((float(sum_of_products(x, y)) - exact) / scale)
        errors["pairwise"].append((float(np.add.reduce(x * y)) - exact) / scale)
    dot, pairwise = (np.sqrt(np.mean(np.square(e))) for e in errors.values())
    assert dot <= 1.3 * pairwise
    assert np.max(np.abs(errors["dot"])) <= 4 * np.finfo(dtype).eps


def _exact_products(x: Any, y: Any) -> list[float]:
    """Numbers whose sum is that of the products: of float64, each product in two parts."""
    if x.dtype == np.float32:
        return (x.astype("float64") * y).tolist()
    products = x * y
    split = 134217729.0
    high = [v * split - (v * split - v) for v in (x, y)]
    low = [x - high[0], y - high[1]]
    rest = ((high[0] * high[1] - products) + high[0] * low[1] + low[0] * high[1]) + low[0] * low[1]
    return [*products.tolist(), *rest.tolist()]


def test_infinities_and_nan_show_in_sums_of_products() -> None:
    x, y = np.ones((2, 1000))
    for special in (np.nan, np.inf, -np.inf):
        z = y.copy()
        z[777] = special
        np.testing.assert_array_equal(sum_of_products(x, z), np.sum(x * z))
        np.testing.assert_array_equal(fgrad.jit(lambda x, y: fnp.sum(x * y))(x, z), np.sum(x * z))


def test_a_zero_cotangent_absorbs_in_a_sum_of_products() -> None:
    x = np.linspace(0.0, 1.0, 200)

    def f(s: Any) -> Any:
        # At zero, the slope of the root is infinite; the product with it is not used.
        return fnp.sum(fnp.where(x > 0.0, fnp.sqrt(s * x), 0.0))

    gradient = fgrad.grad(f)
    want = np.sum(np.sqrt(x)) / 2 / np.sqrt(2.0)
    assert np.isclose(gradient(2.0), want)
    assert np.isclose(fgrad.jit(gradient)(2.0), want)
    jaxpr = prepared(fgrad.jit(gradient).lower(2.0).jaxpr)
    assert any(getattr(eqn.primitive, "absorbs", False) for eqn in jaxpr.eqns)


def kernel_sum(length: Any, weights: Any, x: Any) -> Any:
    apart = (x[:, None] - x) / length
    return fnp.sum(weights * fnp.exp(-0.5 * fnp.sum(apart**2, axis=-1)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_factor_leaves_a_sum_that_is_known(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3)).astype(dtype)
    weights = rng.uniform(0.5, 1.0, (60, 60)).astype(dtype)
    length = np.asarray(1.3, dtype)
    gradient = fgrad.grad(kernel_sum)
    before = program(gradient, length, weights, x)
    after = prepared(fgrad.jit(gradient).lower(length, weights, x).jaxpr)
    # The only products with all axes are those of the distances.
    whole = [e for e in after.eqns if any(v.aval.size == 60 * 60 * 3 for v in e.outputs)]
    assert len(whole) == 3
    (got,), (want,) = run(after, length, weights, x), run(before, length, weights, x)
    np.testing.assert_allclose(got, want, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(
        fgrad.jit(gradient)(length, weights, x), want, rtol=20 * np.finfo(dtype).eps
    )


def test_far_points_do_not_poison_the_gradient_of_a_kernel() -> None:
    # Squares overflow, the kernel is zero there, and zero absorbs.
    x = np.array([[0.0], [1.0], [1e200]])
    weights = np.ones((3, 3))
    gradient = fgrad.grad(kernel_sum)
    with np.errstate(over="ignore"):
        want = gradient(1.0, weights, x)
        assert np.isfinite(want)
        np.testing.assert_allclose(fgrad.jit(gradient)(1.0, weights, x), want, rtol=1e-14)


# ---- matrices --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [0.3, -2.0, 0.0, -0.0, np.nan])
def test_a_multiple_of_the_identity_is_added_along_the_diagonal(number: float, dtype: str) -> None:
    def f(x: Any, s: Any) -> Any:
        return fnp.tanh(x) + s * fnp.eye(80, dtype=x.dtype)

    x = np.random.default_rng(0).standard_normal((80, 80)).astype(dtype)
    x[::7] = 0.0
    x[::11] = -0.0
    s = np.asarray(number, dtype)
    after = use_forms(program(f, x, s))
    assert SumOfParts in kinds(after)
    got, want = np.asarray(fgrad.jit(f)(x, s)), np.asarray(f(x, s))
    np.testing.assert_array_equal(got, want)
    if not np.isnan(number):
        same_bits(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [80, 200])
def test_a_constant_multiple_of_the_identity_is_added_along_the_diagonal(
    n: int, dtype: str
) -> None:
    x = np.random.default_rng(0).standard_normal((n, n)).astype(dtype)
    x[::7] = -0.0
    for f in (
        lambda x: x + 1e-3 * fnp.eye(n, dtype=x.dtype),
        lambda x: 2.0 * fnp.eye(n, dtype=x.dtype) + fnp.tanh(x),
        lambda x: x + fnp.eye(n, dtype=x.dtype) * np.asarray(-0.3, dtype),
    ):
        same_bits(fgrad.jit(f)(x), f(x))
    assert (SumOfParts in kinds(use_forms(program(f, x)))) == (n == 200)


def solved_with(lower: Any, y: Any) -> Any:
    return fgrad.scipy.linalg.cho_solve((lower, True), y)


def half_solved(lower: Any, y: Any) -> Any:
    return fgrad.scipy.linalg.solve_triangular(lower, y, lower=True)


def columns_of(y: Any, count: int) -> Any:
    return y[:, None] * np.linspace(1.0, 2.0, count).astype(y.dtype)


FORMS = {
    "quadratic form": (lambda lower, y: 0.5 * y @ solved_with(lower, y), GradientOfSymmetricParts),
    "two columns": (
        lambda lower, y: fnp.sum(columns_of(y, 2) * solved_with(lower, columns_of(y, 2))),
        GradientOfSymmetricParts,
    ),
    "square of half": (
        lambda lower, y: -fnp.sum(half_solved(lower, 3.0 * y) ** 2) / 7.0,
        GradientOfSymmetricParts,
    ),
    "two sides": (lambda lower, y: fnp.tanh(y) @ solved_with(lower, y), GradientOfSymmetricParts),
    "cube of half": (lambda lower, y: fnp.sum(half_solved(lower, y) ** 3), GradientOfParts),
    "many columns": (
        lambda lower, y: fnp.sum(columns_of(y, 30) * solved_with(lower, columns_of(y, 30))),
        CholeskyGradient,
    ),
}
WEIGHTS = {"positive": 1.0, "negative": -1.0, "mixed": np.linspace(-1.0, 1.0, 70), "zero": 0.0}


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_reaches_a_factor_in_parts_is_taken_in_parts(
    name: str, weight: str, dtype: str
) -> None:
    form, primitive = FORMS[name]
    rng = np.random.default_rng(1)
    root = rng.standard_normal((70, 70)).astype(dtype)
    y = rng.standard_normal(70).astype(dtype)
    noise = np.asarray(0.5, dtype)
    scales = np.asarray(WEIGHTS[weight], dtype)

    def likelihood(root: Any, noise: Any, y: Any) -> Any:
        lower = fnp.linalg.cholesky(root @ root.T / 70 + noise * fnp.eye(70, dtype=root.dtype))
        return form(lower, y) + fnp.sum(scales * fnp.log(fnp.diag(lower)))

    f = fgrad.value_and_grad(likelihood, (0, 1, 2))
    jaxpr = prepared(fgrad.jit(f).lower(root, noise, y).jaxpr)
    assert primitive in kinds(jaxpr)
    tolerance = 2e3 * np.finfo(dtype).eps
    want = fgrad.tree.leaves(f(root, noise, y))
    for got in (run(jaxpr, root, noise, y), fgrad.tree.leaves(fgrad.jit(f)(root, noise, y))):
        for one, other in zip(got, want, strict=True):
            assert np.asarray(one).dtype == dtype
            np.testing.assert_allclose(one, other, tolerance, atol=tolerance * np.abs(other).max())


def test_triangles_of_terms_are_not_formed() -> None:
    rng = np.random.default_rng(2)
    root = rng.standard_normal((70, 70))

    def f(root: Any) -> Any:
        lower = fnp.linalg.cholesky(root @ root.T + 70.0 * fnp.eye(70))
        half = fgrad.scipy.linalg.solve_triangular(lower, root, lower=True)
        return fnp.sum(half**3) + fnp.sum(lower**2)

    gradient = fgrad.grad(f)
    jaxpr = prepared(fgrad.jit(gradient).lower(root).jaxpr)
    assert not any(eqn.primitive.name == "lower_triangle" for eqn in jaxpr.eqns)
    np.testing.assert_allclose(fgrad.jit(gradient)(root), gradient(root), 1e-11, atol=1e-12)


# ---- operands that lie apart -----------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.permutations(range(4)), st.integers(0, 3), st.booleans())
def test_products_of_views_are_those_of_copies(
    seed: int, order: list[int], count: int, swapped: bool
) -> None:
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((4, 5, 6, 7))
    images = base.transpose(order)[:, ::2]
    windows = np.lib.stride_tricks.sliding_window_view(images, 2, axis=3)
    axes = rng.permutation(5)[: count + 1].tolist()
    sizes = [windows.shape[a] for a in axes]
    other = np.broadcast_to(rng.standard_normal((3, 1, *sizes)), (3, 2, *sizes))[:, ::-1]
    other = np.moveaxis(other, 0, -1)
    places = tuple(range(1, 2 + count))
    free = [a for a in range(5) if a not in axes]
    names = "abcde"
    joined = "".join(names[a] for a in axes)
    rest = "".join(names[a] for a in free)
    if swapped:
        got = contract(other, windows, places, tuple(axes), (), ())
        want = np.einsum(f"y{joined}x,{names}->yx{rest}", other, windows)
    else:
        got = contract(windows, other, tuple(axes), places, (), ())
        want = np.einsum(f"{names},y{joined}x->{rest}yx", windows, other)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_sums_of_windows_lie_as_the_windows_do() -> None:
    rng = np.random.default_rng(0)
    windows = rng.standard_normal((2, 3, 4, 4, 3, 3))
    add = OverlapAdd((9, 9), (3, 3), (2, 2), (1, 1))
    want = add(windows)
    lying = np.ascontiguousarray(windows.transpose(0, 2, 3, 4, 5, 1)).transpose(0, 5, 1, 2, 3, 4)
    got = add(lying)
    same_bits(got, want)
    assert got.strides[1] == got.itemsize


# ---- plainer products ------------------------------------------------------------------------------


def test_a_product_with_an_identity_is_the_other_operand() -> None:
    a = np.random.default_rng(0).standard_normal((3, 4, 5))
    a[1, 2, 3] = np.nan
    a[0, 1, 2] = -np.inf
    eye = np.eye(5)
    cases = [
        (lambda a: a @ eye, a),
        (lambda a: fnp.tensordot(eye, a, ((1,), (2,))), np.moveaxis(a, 2, 0)),
        (lambda a: fnp.tensordot(a, np.eye(4), ((1,), (0,))), np.moveaxis(a, 1, 2)),
        (lambda a: a[0] @ eye @ eye.T, a[0]),
    ]
    for f, want in cases:
        jaxpr = prepared(fgrad.jit(f).lower(a).jaxpr)
        assert DotGeneral not in kinds(jaxpr)
        # What is not finite stays in its place.
        same_bits(run(jaxpr, a)[0], want)
        same_bits(fgrad.jit(f)(a), want)


def test_a_jacobian_has_no_product_with_the_identity() -> None:
    w = np.random.default_rng(0).standard_normal((6, 5))

    def f(x: Any) -> Any:
        return fnp.tanh(w @ x)

    for transform in (fgrad.jacfwd, fgrad.jacrev):
        jaxpr = prepared(fgrad.jit(transform(f)).lower(np.ones(5)).jaxpr)
        products = [e for e in jaxpr.eqns if type(e.primitive) is DotGeneral]
        assert [e.outputs[0].aval.shape for e in products] == [(6,)]
        x = np.linspace(-1.0, 1.0, 5)
        want = (1.0 - np.tanh(w @ x) ** 2)[:, None] * w
        np.testing.assert_allclose(fgrad.jit(transform(f))(x), want, 1e-13)


def test_a_transposed_product_is_one_product() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4, 5)), rng.standard_normal((3, 6, 5))

    def f(a: Any, b: Any) -> Any:
        return fnp.swapaxes(fnp.einsum("bik,bjk->bij", a, b), 1, 2), (a[0] @ b[0].T).T

    jaxpr = prepared(fgrad.jit(f).lower(a, b).jaxpr)
    made = {e.outputs[0]: type(e.primitive) for e in jaxpr.eqns}
    assert [made[v] for v in jaxpr.outvars] == [DotGeneral, DotGeneral]
    one, two = run(jaxpr, a, b)
    np.testing.assert_allclose(one, np.einsum("bik,bjk->bji", a, b), 1e-13)
    np.testing.assert_allclose(two, b[0] @ a[0].T, 1e-13)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.integers(0, 2),
    st.integers(0, 2),
)
def test_random_products_keep_their_values(
    seed: int, left: list[int], right: list[int], contracted: int, batch: int
) -> None:
    rng = np.random.default_rng(seed)
    paired = min(contracted + batch, len(left), len(right))
    one = rng.permutation(len(left))[:paired].tolist()
    two = rng.permutation(len(right))[:paired].tolist()
    for i, j in zip(one, two, strict=True):
        right[j] = left[i]
    cut = min(contracted, paired)
    product = DotGeneral(tuple(one[:cut]), tuple(two[:cut]), tuple(one[cut:]), tuple(two[cut:]))
    x, y = rng.standard_normal(left), rng.standard_normal(right)
    if rng.uniform() < 0.3 and len(right) == 2 and right[0] == right[1]:
        y = np.eye(right[0])
    rank = len(left) + len(right) - 2 * cut - (paired - cut)
    order = tuple(rng.permutation(rank).tolist())

    def f(x: Any) -> Any:
        z = transpose(product(value(x), y), order)
        return wrap(z), wrap(z) + 1.0

    jaxpr = program(f, x)
    after = plain_products(jaxpr)
    wanted = run(jaxpr, x)
    for got, want in zip(run(after, x), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    for got, want in zip(fgrad.jit(f)(x), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


# ---- convolutions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (2, 2)])
def test_windows_are_added_where_channels_lie_within(
    stride: int, dilation: int, dtype: str
) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 3, 11, 12)).astype(dtype)
    weights = rng.standard_normal((4, 3, 3, 2)).astype(dtype)
    bias = rng.standard_normal(4).astype(dtype)

    def loss(x: Any, weights: Any, bias: Any) -> Any:
        y = fgrad.lax.conv_general_dilated(
            x, weights, (stride, stride), "VALID", rhs_dilation=(dilation, dilation)
        )
        return fnp.sum(fnp.tanh(y + bias[:, None, None]))

    gradient = fgrad.grad(loss, (0, 1, 2))
    jaxpr = prepared(fgrad.jit(gradient).lower(x, weights, bias).jaxpr)
    assert Arrange in kinds(jaxpr)
    sums = [e for e in jaxpr.eqns if type(e.primitive) is Sum]
    assert [e.primitive.axes for e in sums] == [(0, 1, 2)]
    tolerance = 100 * np.finfo(dtype).eps
    for got, want in zip(
        fgrad.jit(gradient)(x, weights, bias), gradient(x, weights, bias), strict=True
    ):
        np.testing.assert_allclose(got, want, tolerance, atol=tolerance)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(*[st.integers(1, 4)] * 3, st.integers(1, 9)), max_size=3),
    st.lists(st.integers(1, 3), max_size=2),
)
def test_windows_are_added_one_by_one_in_any_layout(
    seed: int, axes: list[tuple[int, int, int, int]], lead: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    window, strides, dilation, sizes = zip(*axes, strict=True) if axes else ((),) * 4
    counts = window_counts(sizes, window, strides, dilation)
    windows = rng.standard_normal((*lead, *counts, *window))
    order = rng.permutation(windows.ndim).tolist()
    back = sorted(range(windows.ndim), key=order.__getitem__)
    windows = np.array(windows.transpose(order), order="C").transpose(back)
    want = np.zeros((*lead, *sizes))
    for place in np.ndindex(*window):
        for step in np.ndindex(*counts):
            where = [
                i * s + k * d for i, s, k, d in zip(step, strides, place, dilation, strict=True)
            ]
            want[(..., *where)] += windows[(..., *step, *place)]
    got = OverlapAdd(sizes, window, strides, dilation)(windows)
    same_bits(got, want)


# ---- many small products ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("count", [(511,), (512,), (3000,), (30, 40)])
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1), (2, 2, 2), (3, 3, 3), (2, 3, 2), (1, 4, 3), (3, 5, 1), (8, 2, 1), (4, 4, 4)],
)
def test_many_small_products(sizes: tuple[int, int, int], count: Any, dtype: str) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(0)
    x = rng.standard_normal((*count, m, k)).astype(dtype)
    y = rng.standard_normal((n, *count, k)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[0, ..., 0, 0] = np.nan
        x[-1, ..., 0, 0] = np.inf
    right = np.moveaxis(y, 0, -1)
    # BLAS may multiply infinities with the zeros beside a matrix.
    with np.errstate(invalid="ignore"):
        got = fnp.matmul(x, right)
        want = np.einsum("...ij,...jk->...ik", x, right)
        compiled = fgrad.jit(fnp.matmul)(x, right)
    assert got.dtype == dtype
    tolerance = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(got, want, tolerance, atol=tolerance)
    np.testing.assert_array_equal(compiled, got)
