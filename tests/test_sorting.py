"""Sorting, searching, sets and counts: NumPy's order, derivatives as permutations, results of a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.modules import IS_JAX, fgrad, fnp, jax, jnp

INF, NAN = np.inf, np.nan
RNG = np.random.default_rng(5)
DTYPES = "bool int8 uint8 int32 int64 float16 float32 float64 complex64 complex128".split()


def sample(dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    if dtype[0] in "iu":
        return RNG.integers(0 if dtype[0] == "u" else -3, 4, shape).astype(dtype)
    # Rounded: with ties.
    x = np.round(RNG.normal(size=shape), 1) + 0.0
    if dtype[0] == "c":
        x = x + 1j * np.round(RNG.normal(size=shape), 1)
    return x.astype(dtype)


def leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def agrees(got: Any, want: Any) -> None:
    assert len(leaves(got)) == len(leaves(want))
    for a, b in zip(leaves(got), leaves(want), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape
        # Indices of JAX may have 32 bits.
        assert a.dtype == b.dtype or IS_JAX
        assert_allclose(a, b, rtol=1e-12) if a.dtype.kind == "f" else assert_array_equal(a, b)


# ---- sorting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorts_are_those_of_numpy(dtype: str) -> None:
    x = sample(dtype, (3, 5))
    for axis in (0, -1, None):
        for run in (lambda f: f, fgrad.jit):
            agrees(run(lambda v: fnp.sort(v, axis=axis))(x), np.sort(x, axis=axis))  # noqa: B023
            agrees(
                run(lambda v: fnp.argsort(v, axis=axis))(x),  # noqa: B023
                np.argsort(x, axis=axis, kind="stable"),
            )
    if dtype not in ("float16", "float32") or not IS_JAX:
        agrees(fnp.sort_complex(x), np.sort_complex(x))


def test_nan_comes_last_and_complex_numbers_go_by_real_part() -> None:
    x = np.array([NAN, 2.0, -INF, NAN, INF])
    agrees(fnp.sort(x), np.sort(x))
    agrees(fnp.argsort(x), np.array([2, 1, 4, 0, 3]))
    assert_array_equal(fnp.sort(x, descending=True), [NAN, NAN, INF, 2, -INF])
    z = np.array([1 + 2j, 1 - 1j, 0 + 5j, NAN + 0j])
    agrees(fnp.argsort(z), np.argsort(z, kind="stable"))


def test_descending_order_is_stable_too() -> None:
    x = np.array([1, 3, 1, 3, 2])
    assert_array_equal(fnp.argsort(x, descending=True), [1, 3, 4, 0, 2])
    assert_array_equal(fnp.sort(x, descending=True), [3, 3, 2, 1, 1])
    order = fgrad.vmap(lambda v: fnp.argsort(v, descending=True))(np.stack([x, x[::-1]]))
    assert_array_equal(order, [[1, 3, 4, 0, 2], [1, 3, 0, 2, 4]])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_are_permuted_as_the_elements(dtype: str, axis: int | None) -> None:
    x, t = sample(dtype, (4, 3)), sample(dtype, (4, 3))
    f, g = (lambda v: fnp.sort(v, axis=axis)), (lambda v: jnp.sort(v, axis=axis))
    want = jax.jvp(g, (jnp.asarray(x),), (jnp.asarray(t),))
    for run in (lambda h: h, fgrad.jit):
        got = run(lambda v, d: fgrad.jvp(f, (v,), (d,)))(x, t)
        assert_array_equal(got[0], want[0])
        assert_array_equal(got[1], want[1])
    w = sample(dtype, want[0].shape)
    assert_array_equal(fgrad.vjp(f, x)[1](w)[0], jax.vjp(g, jnp.asarray(x))[1](jnp.asarray(w))[0])
    batch = np.stack([x, -x, x[::-1]])
    assert_array_equal(fgrad.vmap(f)(batch), np.stack([np.asarray(f(row)) for row in batch]))


def test_second_derivatives_pass_through_a_sort() -> None:
    x, w = np.array([3.0, 1.0, 2.0, 1.0]), np.array([1.0, 10.0, 100.0, 1000.0])
    f = lambda v: fnp.sum(w * fnp.sort(v) ** 3)  # noqa: E731
    want = np.diag(6 * x * np.array([1000.0, 1.0, 100.0, 10.0]))
    for hessian in (fgrad.hessian(f), fgrad.jacrev(fgrad.jacrev(f)), fgrad.jit(fgrad.hessian(f))):
        assert_allclose(hessian(x), want)


@pytest.mark.skipif(IS_JAX, reason="of our own parts")
def test_the_backward_pass_does_not_sort_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from fgrad.primitives.sorting import Argsort, Sort

    x = RNG.normal(size=(6,))
    calls: list[str] = []
    for primitive in (Sort, Argsort):
        real = primitive.impl

        def counted(self: Any, v: Any, real: Any = real, name: str = primitive.__name__) -> Any:
            calls.append(name)
            return real(self, v)

        monkeypatch.setattr(primitive, "impl", counted)
    _, pull = fgrad.vjp(fnp.sort, x)
    assert calls == ["Argsort"]
    pull(np.ones(6))
    fgrad.jvp(fnp.sort, (x,), (x,))
    assert calls == ["Argsort"] * 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("kind", ["distinct", "ties", "zeros of both signs", "one NaN", "NaNs"])
@pytest.mark.parametrize("axis", [0, 1])
def test_argsort_of_large_arrays_is_stable(dtype: Any, kind: str, axis: int) -> None:
    x = RNG.permutation(90 * 80).reshape(90, 80).astype(dtype)
    if kind == "ties":
        x[[3, 70], [4, 60]] = x[3, 60] = x[70, 4] = 17.0
    elif kind == "zeros of both signs":
        x = x - x * (x > 100) * (RNG.random(x.shape) < 0.1)
        x = np.where(x == 0, np.copysign(0, RNG.random(x.shape) - 0.5), x).astype(dtype)
    elif kind == "one NaN":
        x[5, 6] = np.nan
    elif kind == "NaNs":
        x[RNG.random(x.shape) < 0.1] = np.nan
    agrees(fnp.argsort(x, axis=axis), np.argsort(x, axis=axis, kind="stable"))
    down = fnp.argsort(x, axis=axis, descending=True)
    # Stable from above: equal elements keep their order.
    backward = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    agrees(down, x.shape[axis] - 1 - backward)


def test_lexsort_takes_the_last_key_first() -> None:
    a, b = RNG.integers(0, 3, (2, 8)), RNG.integers(0, 3, (2, 8))
    agrees(fnp.lexsort((a, b)), np.lexsort((a, b)))
    agrees(fnp.lexsort((a, b), axis=0), np.lexsort((a, b), axis=0))
    agrees(fgrad.jit(fnp.lexsort)(a), np.lexsort(a))
    rows = fgrad.vmap(lambda k, m: fnp.lexsort((k, m)), in_axes=(0, None))(a, b[0])
    assert_array_equal(rows, [np.lexsort((k, b[0])) for k in a])


@pytest.mark.skipif(IS_JAX, reason="JAX takes one rank, and sorts")
@pytest.mark.parametrize("kth", [0, 3, -1, [1, 4]])
def test_partitions_put_ranks_in_place(kth: Any) -> None:
    x = RNG.normal(size=(2, 7))
    ranks = np.atleast_1d(kth)
    found = np.asarray(fnp.partition(x, kth))
    assert_array_equal(found[:, ranks], np.sort(x)[:, ranks])
    for rank in ranks % 7:
        assert (found[:, :rank] <= found[:, rank : rank + 1]).all()
    assert_array_equal(np.take_along_axis(x, np.asarray(fnp.argpartition(x, kth)), -1), found)
    rank = int(ranks[0]) % 7
    g = fgrad.grad(lambda v: fnp.sum(fnp.partition(v, kth)[:, rank]))(x)
    assert_array_equal(g, x == np.sort(x)[:, rank : rank + 1])


# ---- searching -----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
def test_searches_are_those_of_numpy_under_every_map(side: str) -> None:
    a, v = (
        np.sort(np.round(RNG.normal(size=(3, 6)), 1), axis=1),
        np.round(RNG.normal(size=(3, 2, 2)), 1),
    )
    search = lambda x, y: fnp.searchsorted(x, y, side=side)  # noqa: E731
    one = lambda x, y: np.searchsorted(x, y, side)  # noqa: E731
    for y in (v[0], 0.5, np.float32(0.5), 1):
        agrees(search(a[0], y), one(a[0], y))
    assert_array_equal(fgrad.vmap(search)(a, v), [one(x, y) for x, y in zip(a, v, strict=True)])
    assert_array_equal(fgrad.vmap(search)(a, v[:, 0, 0]), [one(a[i], v[i, 0, 0]) for i in range(3)])
    assert_array_equal(fgrad.vmap(search, (None, 0))(a[0], v), [one(a[0], y) for y in v])
    assert_array_equal(fgrad.vmap(search, (0, None))(a, v), [one(x, v) for x in a])
    both = fgrad.jit(fgrad.vmap(fgrad.vmap(search, (None, 0)), (0, None)))(a, v)
    assert_array_equal(both, [[one(x, y) for y in v] for x in a])


def test_searches_take_a_sorter_and_put_nan_last() -> None:
    a = np.array([3.0, NAN, 1.0, 2.0])
    agrees(
        fnp.searchsorted(a, np.array([1.5, NAN]), sorter=np.array([2, 3, 0, 1])), np.array([1, 3])
    )


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    "edges", [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0], [1.0, 1.0, 2.0], [2.0, 2.0, 1.0]]
)
def test_digitize_takes_rising_and_falling_edges(edges: list[float], right: bool) -> None:
    x = np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0])
    want = np.digitize(x, edges, right=right)
    agrees(fnp.digitize(x, np.array(edges), right=right), want)
    agrees(fgrad.jit(lambda v, e: fnp.digitize(v, e, right=right))(x, np.array(edges)), want)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64", "complex128"])
def test_nonzero_elements_are_found(dtype: str) -> None:
    x = sample(dtype, (2, 3, 2)) * (RNG.random((2, 3, 2)) < 0.5)
    agrees(fnp.nonzero(x), np.nonzero(x))
    agrees(fnp.argwhere(x), np.argwhere(x))
    agrees(fnp.flatnonzero(x), np.flatnonzero(x))
    agrees(fnp.where(x != 0), np.nonzero(x))
    agrees(fnp.argwhere(np.float64(3.0)), np.argwhere(3.0))


def test_nonzero_of_a_size_is_filled_up_or_cut() -> None:
    x = np.array([[0, 1], [1, 1]])
    run = fgrad.jit(lambda v: fnp.nonzero(v, size=5, fill_value=(7, 8)))
    agrees(run(x), (np.array([0, 1, 1, 7, 7]), np.array([1, 0, 1, 8, 8])))
    agrees(fgrad.jit(lambda v: fnp.flatnonzero(v, size=2))(x), np.array([1, 2]))
    agrees(fnp.argwhere(x, size=4, fill_value=-1), np.array([[0, 1], [1, 0], [1, 1], [-1, -1]]))
    rows = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1]])
    found = fgrad.vmap(lambda v: fnp.nonzero(v, size=3, fill_value=9)[0])(rows)
    assert_array_equal(found, [[1, 3, 9], [9, 9, 9], [0, 1, 2]])


# ---- sets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_elements_are_those_of_numpy(dtype: str, axis: int | None) -> None:
    x = sample(dtype, (4, 3))
    x[2] = x[0]
    agrees(fnp.unique(x, axis=axis), np.unique(x, axis=axis))
    agrees(fnp.unique(x, True, True, True, axis=axis), np.unique(x, True, True, True, axis=axis))


def test_unique_and_nan() -> None:
    x = np.array([NAN, 1.0, NAN, 1.0])
    for equal_nan in (True, False):
        want = np.unique(x, return_counts=True, equal_nan=equal_nan)
        agrees(fnp.unique(x, return_counts=True, equal_nan=equal_nan), want)
    agrees(fnp.unique_counts(x), np.unique_counts(x))
    agrees(fnp.unique_all(np.array([3, 1, 3])), np.unique_all(np.array([3, 1, 3])))


def test_unique_of_a_size_is_filled_up_or_cut() -> None:
    x = np.array([3, 1, 1, 5])
    for size, fill in ((5, None), (2, None), (5, -7)):
        keywords: dict[str, Any] = {"size": size, "fill_value": fill}
        run = fgrad.jit(lambda v: fnp.unique(v, True, True, True, **keywords))  # noqa: B023
        agrees(run(x), jnp.unique(jnp.asarray(x), True, True, True, **keywords))
    rows = np.array([[2, 2, 1], [3, 1, 2]])
    agrees(
        fgrad.vmap(lambda v: fnp.unique(v, size=3, fill_value=0))(rows),
        np.array([[1, 2, 0], [1, 2, 3]]),
    )


@pytest.mark.skipif(IS_JAX, reason="JAX has no derivative without a size")
def test_unique_elements_send_their_cotangents_to_the_first() -> None:
    x = np.array([2.0, 1.0, 2.0, 5.0])
    w = np.array([1.0, 10.0, 100.0])
    assert_array_equal(fgrad.grad(lambda v: fnp.sum(w * fnp.unique(v)))(x), [10, 1, 0, 100])
    g = fgrad.jit(fgrad.grad(lambda v: fnp.sum(w * fnp.unique(v, size=3))))(x)
    assert_array_equal(g, [10, 1, 0, 100])


PAIRS = [
    (np.array([[3, 1], [2, 3]]), np.array([3, 7, 2, 2])),
    (np.array([0.5, NAN, 2.0]), np.array([2, 3])),
    (np.array([], int), np.array([1, 2])),
    (np.array([2, 1, 2], np.int8), np.array([], int)),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize("name", ["isin", "union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_sets_are_those_of_numpy(name: str, a: Any, b: Any) -> None:
    agrees(getattr(fnp, name)(a, b), getattr(np, name)(a, b))
    if name == "intersect1d":
        want = np.intersect1d(a, b, return_indices=True)
        agrees(fnp.intersect1d(a, b, return_indices=True), want)
    if name == "isin":
        agrees(fnp.isin(a, b, invert=True), np.isin(a, b, invert=True))


@pytest.mark.parametrize("size", [1, 3, 6])
@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_sets_of_a_size_begin_with_those_of_numpy(name: str, size: int) -> None:
    a, b = PAIRS[0]
    want = getattr(np, name)(a, b)[:size]
    run = lambda x, y: getattr(fnp, name)(x, y, size=size, fill_value=-1)  # noqa: E731
    filled = np.concatenate([want, np.full(size - len(want), -1)])
    for f in (run, fgrad.jit(run)):
        assert_array_equal(f(a, b), filled)


# ---- counts ----------------------------------------------------------------------------------------


@pytest.mark.skipif(IS_JAX, reason="JAX keeps the dtype of weights")
def test_counts_are_those_of_numpy() -> None:
    x = np.array([1, 2, 2, 5])
    for keywords in (
        {},
        {"minlength": 9},
        {"weights": np.arange(4)},
        {"weights": np.ones(4, "f4")},
    ):
        agrees(fnp.bincount(x, **keywords), np.bincount(x, **keywords))
    agrees(fnp.bincount(np.array([], int)), np.bincount(np.array([], int)))


def test_counts_of_a_length_leave_out_what_is_beyond() -> None:
    x = np.array([[-1, 2, 2, 9], [0, 0, 3, 1]])
    count = lambda v: fnp.bincount(v, length=4)  # noqa: E731
    want = np.array([[1, 0, 2, 0], [2, 1, 0, 1]])
    agrees(fgrad.jit(fgrad.vmap(count))(x), want)
    agrees(fgrad.vmap(fgrad.vmap(count))(x[None]), want[None])
    w = np.array([1.0, 2.0, 3.0, 4.0])
    weigh = lambda v: fnp.bincount(x[1], weights=v, length=3)  # noqa: E731
    assert_array_equal(weigh(w), [3, 4, 0])
    assert_array_equal(fgrad.jacrev(weigh)(w), [[1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    assert_array_equal(fgrad.jacfwd(weigh)(w), fgrad.jacrev(weigh)(w))


HISTOGRAMS: list[dict[str, Any]] = [
    {},
    {"bins": 5},
    {"bins": 4, "range": (-1.0, 1.0)},
    {"bins": np.array([-2.0, -1.0, 0.0, 2.0])},
    {"density": True},
    {"bins": 3, "range": (0.0, 0.0)},
]


@pytest.mark.skipif(IS_JAX, reason="JAX counts in floats")
@pytest.mark.parametrize("keywords", HISTOGRAMS)
def test_histograms_are_those_of_numpy(keywords: dict[str, Any]) -> None:
    for x in (RNG.normal(size=40), np.linspace(0, 1, 101), RNG.integers(-3, 4, 30), np.zeros((0,))):
        if keywords.get("density") and not x.size:
            continue
        want = np.histogram(x, **keywords)
        agrees(fnp.histogram(x, **keywords), want)
        agrees(fgrad.jit(lambda v: fnp.histogram(v, **keywords))(x), want)
        w = RNG.random(x.shape)
        agrees(fnp.histogram(x, weights=w, **keywords), np.histogram(x, weights=w, **keywords))
        agrees(
            fnp.histogram_bin_edges(x, **{k: v for k, v in keywords.items() if k != "density"}),
            want[1],
        )


@pytest.mark.skipif(IS_JAX, reason="JAX does not know the rules")
def test_histograms_by_a_rule_and_in_several_dimensions() -> None:
    x, y, w = RNG.normal(size=40), RNG.normal(size=40), RNG.random(40)
    agrees(fnp.histogram(x, bins="auto"), np.histogram(x, bins="auto"))
    for keywords in (
        {"bins": (3, 4), "density": True},
        {"bins": [-3.0, 0.0, 3.0]},
        {"weights": w, "range": [[-1, 1], [0, 2]]},
    ):
        agrees(fnp.histogram2d(x, y, **keywords), np.histogram2d(x, y, **keywords))
    points = np.stack([x, y, w], axis=1)
    got = fnp.histogramdd(points, bins=[2, 3, np.array([0.0, 0.5, 1.0])], weights=w)
    want = np.histogramdd(points, bins=[2, 3, np.array([0.0, 0.5, 1.0])], weights=w)
    agrees(got[0], want[0])
    agrees(got[1], list(want[1]))
    g = fgrad.grad(lambda v: fnp.histogram(x, bins=2, range=(0.0, 2.0), weights=v)[0][0])(w)
    assert_array_equal(g, (x >= 0) & (x < 1))


@pytest.mark.skipif(IS_JAX, reason="the words are ours")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fgrad.jit(fnp.unique)(np.ones(3)), "unique.*argument ar.*size="),
        (lambda: fgrad.jit(fnp.nonzero)(np.ones(3)), "nonzero.*argument a.*size="),
        (lambda: fgrad.vmap(fnp.argwhere)(np.ones((2, 3))), "argwhere.*vmap.*size="),
        (lambda: fgrad.jit(fnp.bincount)(np.arange(3)), "bincount.*argument x.*length="),
        (lambda: fgrad.jit(fnp.setxor1d)(np.ones(3), np.ones(2)), "setxor1d.*size="),
        (lambda: fnp.bincount(np.array([-1])), "negative number -1"),
        (lambda: fnp.bincount(np.ones(3)), "float64.*integers"),
        (lambda: fnp.bincount(np.ones((2, 2), int)), r"\(2, 2\)"),
        (lambda: fnp.bincount(np.ones(3, int), weights=np.ones(2)), r"\(2,\)"),
        (lambda: fnp.sort(np.float64(3.0)), "scalar"),
        (lambda: fnp.sort(np.ones(3), axis=1), "axis 1"),
        (lambda: fnp.sort(np.ones(3), kind="bogo"), "bogo"),
        (lambda: fnp.sort(np.ones(3), order="x"), "lexsort"),
        (lambda: fnp.partition(np.ones(3), 3), "kth=3.*3 elements"),
        (lambda: fnp.lexsort(()), "at least one key"),
        (lambda: fnp.lexsort((np.ones(2), np.ones(3))), r"\(2,\) and \(3,\)"),
        (lambda: fnp.searchsorted(np.ones((2, 2)), 1.0), r"\(2, 2\)"),
        (lambda: fnp.searchsorted(np.ones(2), 1.0, side="middle"), "'left' or 'right'"),
        (lambda: fnp.digitize(1.0, np.array([1.0, 3.0, 2.0])), "sort them"),
        (lambda: fnp.nonzero(np.float64(1.0)), "atleast_1d"),
        (lambda: fnp.nonzero(np.ones((2, 2)), size=3, fill_value=(1,)), "2 axes"),
        (lambda: fnp.histogram(np.ones(3), bins=np.array([1.0, 0.0])), "increase"),
        (lambda: fnp.histogram(np.ones(3), bins=0), "at least one"),
        (lambda: fnp.histogram2d(np.ones(3), np.ones(2)), "3 elements.*2"),
    ],
)
def test_errors_say_what_to_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(fgrad.errors.FgradError, match=words):
        call()
