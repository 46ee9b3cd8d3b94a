"""Indexing: every expression that NumPy takes, its derivatives, its batches, and its errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, note

import fgrad
import fgrad.numpy as fnp
from fgrad import errors


def close(actual: Any, expected: Any) -> None:
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


# ---- index expressions ---------------------------------------------------------------------------


@st.composite
def integer_index(draw: Any, size: int, shapes: Any, wrong: bool) -> Any:
    """An index along an axis of this size: a number, or an array of one of the shapes."""
    reach = size + 1 if wrong else size
    numbers = st.integers(-reach, reach - 1) if reach else st.just(0)
    kind = draw(st.sampled_from(["int", "np", "0-d", "array", "array", "list"]))
    if kind == "int" or not (size or wrong):
        return draw(numbers)
    if kind == "np":
        return np.int32(draw(numbers))
    if kind == "0-d":
        return np.array(draw(numbers))
    shape = draw(st.sampled_from(shapes))
    flat = draw(st.lists(numbers, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    dtype = draw(st.sampled_from([np.int64, np.int8, np.int32]))
    array = np.array(flat, dtype).reshape(shape)
    return array.tolist() if kind == "list" else array


@st.composite
def slices(draw: Any, size: int) -> slice:
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = draw(st.sampled_from([None, 1, 2, 3, -1, -2, -3]))
    return slice(draw(bound), draw(bound), step)


@st.composite
def expressions(draw: Any, wrong: bool = False) -> tuple[np.ndarray, Any]:
    """An array and an index expression, which NumPy may refuse if `wrong`."""
    shape = tuple(draw(st.lists(st.integers(0 if wrong else 1, 4), min_size=0, max_size=4)))
    x = np.arange(0.5, np.prod(shape)).reshape(shape)
    # Shapes that broadcast with one another.
    shapes = draw(st.sampled_from([[(2,), (1,)], [(3,), (2, 3), (2, 1)], [(0,), (1,)], [()]]))
    items: list[Any] = []
    axis = 0
    ellipsis = False
    while axis < len(shape):
        rank = len(shape) - axis
        kind = draw(
            st.sampled_from(["int", "int", "slice", "slice", "mask", "new", "...", "bool", "end"])
        )
        if kind == "int":
            items.append(draw(integer_index(shape[axis], shapes, wrong)))
            axis += 1
        elif kind == "slice":
            items.append(draw(slices(shape[axis])))
            axis += 1
        elif kind == "mask":
            covered = shape[axis : axis + draw(st.integers(1, min(2, rank)))]
            bits = draw(st.integers(0, 2 ** int(np.prod(covered)) - 1))
            count = int(np.prod(covered))
            mask = np.array([bool(bits >> k & 1) for k in range(count)]).reshape(covered)
            items.append(mask)
            axis += len(covered)
        elif kind == "new":
            items.append(None)
            if len(items) > 7:
                break
        elif kind == "bool":
            if len(items) < 4:
                items.append(draw(st.booleans()))
        elif kind == "..." and not ellipsis:
            ellipsis = True
            items.append(Ellipsis)
            axis += draw(st.integers(0, rank))
        elif kind == "end":
            break
    index = tuple(items)
    if len(index) == 1 and draw(st.booleans()) and not isinstance(index[0], list):
        index = index[0]
    return x, index


def taken(x: np.ndarray, index: Any) -> Any:
    """What NumPy gives, or the class of its error."""
    try:
        return x[index]
    except IndexError:
        return IndexError


def traced(x: np.ndarray, index: Any) -> tuple[Callable[..., Any], list[Any]]:
    """The expression with its integers and integer arrays as arguments, and these."""
    items = index if isinstance(index, tuple) else (index,)
    numbers = [
        k
        for k, item in enumerate(items)
        if isinstance(item, (int, np.integer, list, np.ndarray))
        and np.asarray(item).dtype.kind == "i"
    ]

    def f(a: Any, *values: Any) -> Any:
        replaced = list(items)
        for k, v in zip(numbers, values, strict=True):
            replaced[k] = v
        return a[tuple(replaced)]

    return f, [np.asarray(items[k]) for k in numbers]


@given(expressions())
def test_values_are_those_of_numpy(pair: tuple[np.ndarray, Any]) -> None:
    x, index = pair
    expected = taken(x, index)
    note(repr(index))
    if expected is IndexError:
        with pytest.raises(IndexError):
            fnp.asarray(x)[index]
        with pytest.raises(IndexError):
            fgrad.jit(lambda a: a[index])(x)
        return
    close(fnp.asarray(x)[index], expected)
    close(fgrad.jit(lambda a: a[index])(x), expected)
    f, numbers = traced(x, index)
    close(fgrad.jit(f)(x, *numbers), expected)
    close(fgrad.vmap(f, in_axes=(0, *[None] * len(numbers)))(x[None], *numbers), expected[None])


@given(expressions(wrong=True))
def test_refuses_what_numpy_refuses(pair: tuple[np.ndarray, Any]) -> None:
    x, index = pair
    expected = taken(x, index)
    note(repr(index))
    if expected is not IndexError and not np.size(expected):
        # NumPy does not always look at indices where nothing is selected.
        return
    f, numbers = traced(x, index)
    for run in (
        lambda: fnp.asarray(x)[index],
        lambda: fgrad.vjp(lambda a: a[index], x)[0],
        lambda: fgrad.jit(lambda a: a[index])(x),
        lambda: fgrad.jit(f)(x, *numbers),
    ):
        if expected is IndexError:
            with pytest.raises(IndexError) as caught:
                run()
            assert isinstance(caught.value, errors.FgradError)
        else:
            close(run(), expected)


@given(expressions(), st.randoms(use_true_random=False))
def test_derivatives(pair: tuple[np.ndarray, Any], random: Any) -> None:
    x, index = pair
    expected = taken(x, index)
    if expected is IndexError:
        return
    rng = np.random.default_rng(random.randrange(2**32))
    direction, ct = rng.normal(size=x.shape), rng.normal(size=np.shape(expected))
    f, numbers = traced(x, index)
    summed = np.zeros(x.shape)
    np.add.at(summed, index, ct)
    for g in (f, fgrad.jit(f)):
        primal, tangent = fgrad.jvp(lambda a, g=g: g(a, *numbers), (x,), (direction,))
        close(primal, expected)
        close(tangent, direction[index])
        primal, pullback = fgrad.vjp(lambda a, g=g: g(a, *numbers), x)
        close(primal, expected)
        close(pullback(ct)[0], summed)
        # The transpose is linear: its own derivative gathers.
        _, second = fgrad.jvp(lambda c, p=pullback: p(c)[0], (ct,), (ct,))
        close(second, summed)


@given(expressions(), st.randoms(use_true_random=False))
def test_updates(pair: tuple[np.ndarray, Any], random: Any) -> None:
    x, index = pair
    expected = taken(x, index)
    if expected is IndexError:
        return
    rng = np.random.default_rng(random.randrange(2**32))
    values = rng.normal(size=np.shape(expected))
    for method, ufunc in (("add", np.add), ("multiply", np.multiply), ("max", np.maximum)):
        changed = x.copy()
        ufunc.at(changed, index, values)
        close(getattr(fnp.asarray(x).at[index], method)(values), changed)
        close(fgrad.jit(lambda a, v, m=method: getattr(a.at[index], m)(v))(x, values), changed)
    changed = x.copy()
    changed[index] = 7.0
    close(fnp.asarray(x).at[index].set(7.0), changed)
    changed = x.copy()
    changed[index] = values
    count = np.zeros(x.shape)
    np.add.at(count, index, 1.0)
    if count.max(initial=0.0) <= 1.0:
        close(fgrad.jit(lambda a, v: a.at[index].set(v))(x, values), changed)
        ct = rng.normal(size=x.shape)
        _, pullback = fgrad.vjp(lambda a, v: a.at[index].set(v), x, values)
        ct_x, ct_values = pullback(ct)
        close(ct_x, np.where(count > 0, 0.0, ct))
        close(ct_values, ct[index])
    close(fnp.asarray(x).at[index].get(), expected)


# ---- batches -------------------------------------------------------------------------------------


def loop(f: Any, args: Any, axes: Any, size: int) -> np.ndarray:
    rows = [
        f(*[a if axis is None else np.take(a, k, axis) for a, axis in zip(args, axes, strict=True)])
        for k in range(size)
    ]
    return np.stack([np.asarray(row) for row in rows])


def batched(shape: tuple[int, ...], axis: int | None, size: int, make: Any) -> Any:
    if axis is None:
        return make(shape)
    axis %= len(shape) + 1
    return make((*shape[:axis], size, *shape[axis:]))


GATHERS: dict[str, Any] = {
    "leading": lambda x, i, j: x[i],
    "middle": lambda x, i, j: x[:, i],
    "trailing": lambda x, i, j: x[..., i],
    "pair": lambda x, i, j: x[i, j],
    "last pair": lambda x, i, j: x[:, i, j],
    "apart": lambda x, i, j: x[i, :, j],
    "outer": lambda x, i, j: x[i[:, None], :, j],
    "scalar": lambda x, i, j: x[i[0], :, j[1]],
    "mixed": lambda x, i, j: x[::-1, i[0], None, j],
    "clip": lambda x, i, j: x.at[i + 1, j].get(mode="clip"),
    "wrap": lambda x, i, j: x.at[:, i + 2].get(mode="wrap"),
    "fill": lambda x, i, j: x.at[:, i + 1].get(mode="fill", fill_value=9.0),
}
SCATTERS: dict[str, Any] = {
    "leading": lambda a, i, j: a.at[i],
    "middle": lambda a, i, j: a.at[:, i],
    "pair": lambda a, i, j: a.at[i, j],
    "last pair": lambda a, i, j: a.at[:, i, j],
    "apart": lambda a, i, j: a.at[i, :, j],
    "swapped": lambda a, i, j: a.at[..., i],
    "window": lambda a, i, j: a.at[1:, i],
    "scalar": lambda a, i, j: a.at[i[0], :, j[1]],
}
AXES = {"x": (None, 0, 2), "i": (None, 0, 1), "j": (None, 0)}


@pytest.mark.parametrize("name", GATHERS)
def test_gather_batches(name: str) -> None:
    rng = np.random.default_rng(0)
    f = GATHERS[name]
    for axes in itertools.product(*AXES.values()):
        if axes == (None, None, None):
            continue
        size = 2
        x = batched((3, 3, 3), axes[0], size, lambda s: rng.normal(size=s))
        i = batched((4,), axes[1], size, lambda s: rng.integers(-3, 3, s))
        j = batched((4,), axes[2], size, lambda s: rng.integers(-3, 3, s))

        def g(*args):
            return f(fnp.asarray(args[0]), *map(fnp.asarray, args[1:]))

        expected = loop(g, (x, i, j), axes, size)
        close(fgrad.vmap(f, in_axes=axes)(x, i, j), expected)
        close(fgrad.jit(fgrad.vmap(f, in_axes=axes))(x, i, j), expected)
        ct = rng.normal(size=expected.shape)

        def pull(x, i, j, c):
            return fgrad.vjp(lambda a: f(a, i, j), x)[1](c)[0]

        expected = loop(
            lambda x, i, j, c: pull(x, fnp.asarray(i), fnp.asarray(j), c),
            (x, i, j, ct),
            (*axes, 0),
            size,
        )
        close(fgrad.vmap(pull, in_axes=(*axes, 0))(x, i, j, ct), expected)


@pytest.mark.parametrize("method", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("name", SCATTERS)
def test_scatter_batches(name: str, method: str) -> None:
    rng = np.random.default_rng(1)
    part = SCATTERS[name]

    def f(x, u, i, j):
        return getattr(part(x, i, j), method)(u)

    shape = (
        part(fnp.zeros((3, 3, 3)), fnp.asarray([0, 1, 1, 0]), fnp.asarray([0, 1, 2, 0])).get().shape
    )
    subsets = list(itertools.product((None, 0), (None, 0, -1), (None, 0), (None, 0)))
    for axes in subsets[1:]:
        size = 2
        x = batched((3, 3, 3), axes[0], size, lambda s: rng.integers(-3, 3, s) + 0.0)
        u = batched(shape, axes[1], size, lambda s: rng.integers(-3, 3, s) + 0.0)
        i = batched((4,), axes[2], size, lambda s: rng.integers(-4, 4, s))
        j = batched((4,), axes[3], size, lambda s: rng.integers(-4, 4, s))

        def g(x, *args):
            return f(fnp.asarray(x), *map(fnp.asarray, args))

        expected = loop(g, (x, u, i, j), axes, size)
        close(fgrad.vmap(f, in_axes=axes)(x, u, i, j), expected)

        def pull(x: Any, u: Any, i: Any, j: Any, c: Any) -> Any:
            return fgrad.vjp(lambda a, b: f(a, b, i, j), x, u)[1](c)

        ct = rng.normal(size=expected.shape)
        found = fgrad.vmap(pull, in_axes=(*axes, 0))(x, u, i, j, ct)
        for k in range(2):
            expected = loop(
                lambda x, u, i, j, c, k=k: pull(x, u, fnp.asarray(i), fnp.asarray(j), c)[k],
                (x, u, i, j, ct),
                (*axes, 0),
                size,
            )
            close(found[k], expected)


def test_a_batch_of_none() -> None:
    def f(x, i):
        return x[i]

    close(fgrad.vmap(f)(np.zeros((0, 3)), np.zeros((0, 2), int)), np.zeros((0, 2)))

    def g(x, i):
        return x.at[i].add(1.0)

    close(fgrad.vmap(g)(np.zeros((0, 3)), np.zeros((0, 2), int)), np.zeros((0, 3)))


# ---- derivatives of updates ----------------------------------------------------------------------


def differences(f: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    jacobian = np.zeros((*np.shape(f(x)), *x.shape))
    for position in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[position] = step
        slope = (np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * step)
        jacobian[(..., *position)] = slope
    return jacobian


INDICES = {
    "repeated": np.array([0, 2, 0, -1, 0]),
    "beyond": np.array([0, 7, 1, -9, 0]),
    "distinct": np.array([2, 0, 1]),
    "one": np.array([1]),
    "none": np.array([], int),
    "scalar": 1,
}


@pytest.mark.parametrize(
    "method", ["set", "add", "subtract", "multiply", "divide", "min", "max", "power"]
)
@pytest.mark.parametrize("mode", ["drop", "clip", "wrap"])
@pytest.mark.parametrize("kind", INDICES)
def test_update_derivatives_by_differences(kind: str, mode: str, method: str) -> None:
    rng = np.random.default_rng(2)
    index = INDICES[kind]
    x = rng.uniform(1.0, 2.0, (3, 2))
    u = rng.uniform(0.5, 2.5, (*np.shape(index), 2))

    def f(a, b):
        return getattr(a.at[index], method)(b, mode=mode)

    def eager(a, b):
        return f(fnp.asarray(a), fnp.asarray(b))

    expected = differences(lambda a: eager(a, u), x), differences(lambda b: eager(x, b), u)
    for transform in (fgrad.jacrev, fgrad.jacfwd):
        for g in (f, fgrad.jit(f)):
            for found, wanted in zip(transform(g, (0, 1))(x, u), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ["set", "add", "min", "max"])
@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_updates_against_jax(method: str, mode: str) -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(3)
    for _ in range(5):
        # Small integers: many ties.
        x, ct = rng.integers(0, 2, 4) + 0.0, rng.normal(size=4)
        u, index = rng.integers(0, 3, 6) + 0.0, rng.permutation(12)[:6] - 6
        if method != "set":
            index = rng.integers(-6, 6, 6)

        def f(a, b, index=index):
            return getattr(a.at[index], method)(b, mode=mode)

        # JAX does not count a clipped index among the ties: it is given what the clipping finds.
        near = np.clip(index, -4, 3) if mode == "clip" else index

        def reference(a, b, near=near):
            return getattr(a.at[near], method)(b, mode=mode)

        expected, pullback = jax.vjp(reference, jax.numpy.asarray(x), jax.numpy.asarray(u))
        found, own = fgrad.vjp(f, x, u)
        close(found, expected)
        for a, b in zip(own(ct), pullback(jax.numpy.asarray(ct)), strict=True):
            close(a, b)
        directions = rng.normal(size=4), rng.normal(size=6)
        close(fgrad.jvp(f, (x, u), directions)[1], jax.jvp(reference, (x, u), directions)[1])


def test_the_last_of_repeated_values_is_kept() -> None:
    rng = np.random.default_rng(4)
    for shape in [(50,), (5, 10), (10, 5)]:
        x, u = rng.normal(size=(4, 3)), rng.normal(size=(*shape, 3))
        index = rng.integers(0, 4, shape)
        expected = x.copy()
        kept = np.zeros(shape)
        for position in np.ndindex(shape):
            expected[index[position]] = u[position]
            kept[index == index[position]] = 0.0
            kept[position] = 1.0

        def f(a, b, index=index):
            return a.at[index].set(b)

        # Neither order in memory nor negative strides change which value is the last.
        for b in (u, np.asfortranarray(u), u[..., ::-1][..., ::-1]):
            close(f(fnp.asarray(x), b), expected)
        value, pullback = fgrad.vjp(f, x, u)
        close(value, expected)
        ct_x, ct_u = pullback(np.ones_like(x))
        close(ct_x, np.where(np.isin(np.arange(4), index), 0.0, 1.0)[:, None] * np.ones((4, 3)))
        close(ct_u, kept[..., None] * np.ones(u.shape))


def test_products_with_repetitions_have_derivatives_through_zeros() -> None:
    index = np.array([0, 0, 0, 1, 1])
    x, u = np.array([2.0, 3.0]), np.array([0.0, 0.0, 5.0, 0.0, 7.0])

    def f(v):
        return x_at_multiplied(x, index, v)

    close(fgrad.jacrev(f)(u), np.array([[0.0, 0, 0, 0, 0], [0, 0, 0, 21.0, 0]]))
    hessian = np.asarray(fgrad.hessian(f)(u))
    expected = np.zeros((2, 5, 5))
    expected[0, 0, 1] = expected[0, 1, 0] = 10.0
    expected[1, 3, 4] = expected[1, 4, 3] = 3.0
    close(hessian, expected)
    third = np.asarray(fgrad.jacfwd(fgrad.hessian(f))(u))
    assert third[0, 0, 1, 2] == third[0, 2, 0, 1] == third[0, 1, 2, 0] == 2.0
    close(fgrad.vmap(fgrad.hessian(f))(np.stack([u, u]))[1], expected)
    close(fgrad.jit(fgrad.hessian(f))(u), expected)


def x_at_multiplied(x: Any, index: Any, v: Any) -> Any:
    return fnp.asarray(x).at[index].multiply(v)


def test_an_infinite_slope_that_is_not_used_is_absorbed() -> None:
    def f(u):
        return fnp.asarray(np.ones(2)).at[np.array([0, 0])].multiply(u)[1]

    close(fgrad.grad(f)(np.array([np.inf, 3.0])), np.zeros(2))


# ---- modes ---------------------------------------------------------------------------------------

NAN = np.nan


@pytest.mark.parametrize(
    ("mode", "got", "put"),
    [
        (None, [2.0, 0.0, 2.0, 0.0], [0.0, 1.0, 30.0]),
        ("clip", [2.0, 0.0, 2.0, 0.0], [40.0, 1.0, 30.0]),
        ("wrap", [0.0, 2.0, 2.0, 1.0], [10.0, 40.0, 30.0]),
        ("fill", [NAN, NAN, 2.0, NAN], [0.0, 1.0, 30.0]),
        ("drop", [NAN, NAN, 2.0, NAN], [0.0, 1.0, 30.0]),
    ],
)
def test_modes(mode: Any, got: list[float], put: list[float]) -> None:
    x, u = fnp.asarray([0.0, 1.0, 2.0]), np.array([10.0, 20.0, 30.0, 40.0])
    index = np.array([3, -4, -1, -5]) if mode != "wrap" else np.array([3, -4, 2, 7])
    for wrapped in (lambda f: f, fgrad.jit):
        close(wrapped(lambda a, i: a.at[i].get(mode=mode))(x, index), np.array(got))
        if mode == "wrap":
            close(wrapped(lambda a, i: a.at[i].set(u, mode=mode))(x, index), np.array(put))
        else:
            close(wrapped(lambda a, i: a.at[i].set(u, mode=mode))(x, index), np.array(put))
        for k in range(4):
            one = wrapped(lambda a, i: a.at[i].get(mode=mode))(x, index[k])
            close(one, np.float64(got[k]))
            changed = np.array(x)
            if mode not in (None, "fill", "drop") or -3 <= index[k] < 3:
                changed[index[k] % 3 if mode == "wrap" else np.clip(index[k], -3, 2)] = 9.0
            close(wrapped(lambda a, i: a.at[i].set(9.0, mode=mode))(x, index[k]), changed)


def test_clip_takes_what_is_below_for_the_first() -> None:
    assert float(fnp.asarray([5.0, 6.0]).at[-9].get(mode="clip")) == 5.0


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("float32", NAN),
        ("int16", -(2**15)),
        ("uint8", 255),
        ("bool", True),
        ("complex64", NAN),
    ],
)
def test_default_fill_values_are_those_of_jax(dtype: str, fill: Any) -> None:
    import jax

    x = np.ones(2, dtype)
    found = fnp.asarray(x).at[5].get(mode="fill")
    np.testing.assert_equal(np.asarray(found), np.asarray(fill, dtype))
    expected = jax.numpy.asarray(x).at[5].get(mode="fill")
    np.testing.assert_equal(np.asarray(found), np.asarray(expected))


def test_fill_is_constant() -> None:
    x, index = np.array([1.0, 2.0]), np.array([0, 5])

    def f(a):
        return a.at[index].get(mode="fill", fill_value=3.0)

    close(fgrad.jvp(f, (x,), (np.ones(2),))[1], np.array([1.0, 0.0]))
    close(fgrad.vjp(f, x)[1](np.ones(2))[0], np.array([1.0, 0.0]))


def test_an_axis_without_elements() -> None:
    x = fnp.zeros((0, 2))
    close(x[np.zeros(0, int)], np.zeros((0, 2)))
    close(x.at[np.array([0])].set(1.0), np.zeros((0, 2)))
    close(x.at[np.array([0])].get(mode="fill"), np.full((1, 2), np.nan))
    for mode in ("clip", "wrap", "raise"):
        with pytest.raises(errors.IndexOutOfRangeError):
            x.at[np.array([0])].get(mode=mode)
    close(fgrad.grad(lambda a: a[np.zeros(0, int)].sum())(np.ones(3)), np.zeros(3))


def test_unsigned_indices() -> None:
    x = fnp.asarray(np.arange(300.0))
    close(x[np.array([200, 255], np.uint8)], np.array([200.0, 255.0]))
    close(fgrad.jit(lambda a, i: a[i])(x, np.array([3], np.uint64)), np.array([3.0]))
    huge = np.array([2**64 - 1], np.uint64)
    with pytest.raises(IndexError):
        fgrad.jit(lambda a, i: a[i])(x, huge)
    close(x.at[huge].get(mode="fill", fill_value=0.0), np.array([0.0]))


# ---- .at -----------------------------------------------------------------------------------------


def test_unknown_masks_in_updates_act_as_where() -> None:
    x = np.array([[1.0, -2.0], [-3.0, 4.0]])
    for method, expected in {
        "set": np.where(x < 0, 9.0, x),
        "add": np.where(x < 0, x + 9.0, x),
        "subtract": np.where(x < 0, x - 9.0, x),
        "multiply": np.where(x < 0, x * 9.0, x),
        "divide": np.where(x < 0, x / 9.0, x),
        "max": np.where(x < 0, 9.0, x),
        "min": x,
    }.items():

        def f(a, m=method):
            return getattr(a.at[a < 0], m)(9.0)

        close(fgrad.jit(f)(x), expected)
        close(fgrad.vmap(f)(x), expected)
        close(f(fnp.asarray(x)), expected)

    def rows(a):
        return a.at[a[:, 0] < 0].set(np.array([7.0, 8.0]))

    close(fgrad.jit(rows)(x), np.array([[1.0, -2.0], [7.0, 8.0]]))
    close(fgrad.grad(lambda a: (a.at[a < 0].set(0.0) * a).sum())(x), np.where(x < 0, 0.0, 2 * x))
    close(fgrad.jit(lambda a: a.at[a < 0].apply(lambda t: -t))(x), np.abs(x))


def test_apply_acts_as_often_as_an_index_repeats() -> None:
    x, index = fnp.asarray([1.0, 2.0, 3.0]), np.array([0, 0, 2, 0])

    def double(t):
        return t * 2.0

    close(x.at[index].apply(double), np.array([8.0, 2.0, 6.0]))
    close(x.at[1:].apply(double), np.array([1.0, 4.0, 6.0]))
    close(
        fgrad.grad(lambda a: a.at[index].apply(double).sum())(np.ones(3)), np.array([8.0, 1.0, 2.0])
    )
    close(fgrad.jit(lambda a, i: a.at[i].apply(double))(x, 1), np.array([1.0, 4.0, 3.0]))

    def f(a, i):
        return a.at[i].apply(double, unique_indices=True)

    close(fgrad.jit(f)(x, np.array([0, 2])), np.array([2.0, 2.0, 6.0]))
    with pytest.raises(errors.ArgumentError, match="unique_indices"):
        fgrad.jit(lambda a, i: a.at[i].apply(double))(x, index)


def test_updates_keep_the_dtype() -> None:
    x = fnp.asarray(np.arange(3, dtype=np.float32))
    close(x.at[0].set(2.5), np.array([2.5, 1, 2], np.float32))
    close(x.at[np.array([0, 0])].add(np.float64(1.5)), np.array([3, 1, 2], np.float32))
    n = fnp.asarray(np.arange(3))
    close(n.at[1].set(True), np.array([0, 1, 2]))
    with pytest.warns(FutureWarning, match="float64 are cast to int64"):
        close(n.at[1].set(7.9), np.array([0, 7, 2]))
    close(n.at[1].divide(2), np.array([0.0, 0.5, 2.0]))
    with pytest.raises(OverflowError):
        fnp.asarray(np.zeros(2, np.uint8)).at[0].set(300)
    weak = fgrad.jit(lambda a: a.at[()].set(3))(1.5)
    assert weak.weak_type
    assert weak == 3.0


def test_zero_dimensional_arrays() -> None:
    x = fnp.asarray(2.0)
    close(x[()], np.float64(2.0))
    close(x[None], np.array([2.0]))
    close(x[True], np.array([2.0]))
    close(x[False], np.zeros(0))
    close(x.at[()].add(1.0), np.float64(3.0))
    close(x.at[...].multiply(4.0), np.float64(8.0))
    close(x.at[None].set(np.array([5.0])), np.float64(5.0))
    close(fgrad.grad(lambda a: a[None, True][0, 0] * a)(3.0), np.float64(6.0))
    with pytest.raises(errors.IndexOutOfRangeError, match="too many indices"):
        x[0]


def test_negative_indices_may_be_out_of_range() -> None:
    x = fnp.asarray([1.0, 2.0, 3.0])
    index = np.array([-1, 1])
    close(x.at[index].set(0.0, wrap_negative_indices=False), np.array([1.0, 0.0, 3.0]))
    found = x.at[index].get(mode="fill", fill_value=7.0, wrap_negative_indices=False)
    close(found, np.array([7.0, 2.0]))
    close(x.at[-1].get(mode="clip", wrap_negative_indices=False), np.float64(1.0))


def test_nothing_is_shared_with_the_argument() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for f in (
        lambda a: a.at[0].set(1.0),
        lambda a: a.at[5].set(1.0),
        lambda a: a.at[np.zeros(0, int)].set(1.0),
        lambda a: a.at[...].set(a),
        lambda a: a[np.array([0])],
        lambda a: a[np.int64(1)],
        lambda a: a[:, ::-1],
        lambda a: a.at[1].get(),
    ):
        for g in (f, fgrad.jit(f)):
            found = fgrad.vjp(g, x)[0]
            assert not np.shares_memory(np.asarray(found), x)
            assert not found.flags.writeable


# ---- errors --------------------------------------------------------------------------------------


def test_errors_name_the_axis_the_size_and_the_line() -> None:
    x = np.zeros((2, 3))

    def beyond(a: Any) -> Any:
        return a[1, 3]

    for transform in (fgrad.jit, fgrad.vmap, lambda f: lambda a: fgrad.vjp(f, a)):
        argument = x[None] if transform is fgrad.vmap else x
        with pytest.raises(
            errors.IndexOutOfRangeError,
            match=r"index 3 .* axis 1 with size 3.*\(2, 3\).*test_indexing.py:\d+ \(beyond\)",
        ):
            transform(beyond)(argument)
    with pytest.raises(errors.IndexOutOfRangeError, match="index 7 is out of range for axis 1"):
        fgrad.jit(lambda a: a[:, np.array([0, 7])])(x)


def test_unknown_indices_out_of_range_raise_when_the_compiled_function_runs() -> None:
    def pick(a: Any, i: Any) -> Any:
        return a[i]

    f = fgrad.jit(pick)
    close(f(np.arange(3.0), np.array([2])), np.array([2.0]))
    for index in (np.array([1, 3]), np.int64(3), np.array([-4])):
        with pytest.raises(errors.IndexOutOfRangeError, match=r"axis 0 with size 3.*pick"):
            f(np.arange(3.0), index)
    with pytest.raises(errors.IndexOutOfRangeError):
        fgrad.jit(lambda a, i: a.at[i].add(1.0, mode="raise"))(np.arange(3.0), np.array([5]))


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (1.0, errors.IndexTypeError, "float"),
        (np.array([0.0]), errors.IndexTypeError, r"astype\(int\)"),
        ("name", errors.IndexTypeError, "'name'"),
        ((..., ...), errors.IndexTypeError, "one Ellipsis"),
        ((0, 0, 0), errors.IndexOutOfRangeError, "too many indices"),
        (np.array([True, False]), errors.IndexOutOfRangeError, r"mask of shape \(2,\)"),
        (slice(None, None, 0), errors.ArgumentError, "step"),
        (slice(0, 1.5), errors.IndexTypeError, "bound 1.5"),
        (([0, 1], [0, 1, 2]), errors.IndexOutOfRangeError, "broadcast"),
    ],
)
def test_what_cannot_be_an_index(index: Any, error: Any, words: str) -> None:
    x = np.zeros((3, 3))
    for run in (
        lambda: fnp.asarray(x)[index],
        lambda: fgrad.jit(lambda a: a[index])(x),
        lambda: fnp.asarray(x).at[index].set(1.0),
    ):
        with pytest.raises(error, match=words):
            run()


def test_unknown_values_where_a_shape_depends_on_them() -> None:
    x = np.arange(3.0)
    for transform in (fgrad.jit, lambda f: lambda a: fgrad.vmap(f)(a[None])):
        with pytest.raises(errors.NonConcreteBooleanIndexError, match="where"):
            transform(lambda a: a[a > 1.0])(x)
        with pytest.raises(errors.NonConcreteBooleanIndexError, match="where"):
            transform(lambda a: a.at[a > 1.0].set(np.ones(2)))(x)
    with pytest.raises(errors.IndexTypeError, match="dynamic_slice"):
        fgrad.jit(lambda a, n: a[:n])(x, 2)
    with pytest.raises(errors.IndexTypeError, match=r"astype\(int\)"):
        fgrad.jit(lambda a, i: a[i])(x, 1.0)
    close(fgrad.vjp(lambda a: a[a > 1.0], x)[0], np.array([2.0]))


def test_unknown_modes_and_fill_values() -> None:
    x = fnp.zeros(3)
    with pytest.raises(errors.ArgumentError, match="mode='nearest'"):
        x.at[0].set(1.0, mode="nearest")
    with pytest.raises(errors.ArgumentError, match="fill_value"):
        x.at[0].get(mode="fill", fill_value=np.ones(2))
    with pytest.raises(errors.ShapeError, match=r"\(4,\).*\(2,\)"):
        x.at[:2].set(np.ones(4))


# ---- sizes, widths, speed ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "float16", "int32"])
@pytest.mark.parametrize("shape", [(50, 3), (50, 40), (7, 60, 5), (1500, 64), (20, 1500, 2)])
def test_sums_at_any_size_are_those_of_numpy(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(6)
    axis = len(shape) - 2
    index = rng.integers(-9, 9, shape[axis])
    # Small integers add up exactly in every order.
    updates = rng.integers(-2, 3, shape).astype(dtype)
    x = np.ones((*shape[:axis], 9, shape[-1]), dtype)
    key = (slice(None),) * axis + (index,)
    expected = x.copy()
    np.add.at(expected, key, updates)
    close(fnp.asarray(x).at[key].add(updates), expected)
    if np.dtype(dtype).kind in "fc":
        _, pullback = fgrad.vjp(lambda a: a[key], x)
        close(pullback(updates)[0], expected - 1)


def test_thirty_two_bits() -> None:
    fgrad.config.update("fgrad_enable_x64", False)
    try:
        x, index = np.arange(6.0).reshape(2, 3), np.array([2, 0, 2])
        found = fgrad.jit(fgrad.vmap(lambda a, i: a[i], in_axes=(0, None)))(x, index)
        close(found, np.float32(x[:, index]))
        grad = fgrad.vjp(lambda a: a.at[:, index].multiply(a[:, index]), x)[1](np.float32(x))[0]
        assert grad.dtype == np.float32
        close(
            fgrad.vjp(lambda a: a.at[index].set(a[index]), x[0])[1](np.float32(x[0]))[0],
            np.float32(x[0]),
        )
    finally:
        fgrad.config.update("fgrad_enable_x64", True)


def test_the_program_does_not_grow_with_the_batch() -> None:
    def count(size: int) -> int:
        f = fgrad.vmap(lambda a, i, u: a.at[i].multiply(u))
        args = np.zeros((size, 5)), np.zeros((size, 3), int), np.zeros((size, 3))

        def g(a: Any, i: Any, u: Any) -> Any:
            return fgrad.vjp(f, a, i, u)[1](np.ones((size, 5)))[0]

        return len(fgrad.make_jaxpr(g)(*args).eqns)

    # Large creations are recorded, small ones are constants: both sizes are large.
    assert count(300) == count(500)


def test_static_expressions_are_one_view() -> None:
    jaxpr = fgrad.make_jaxpr(lambda a: a[1, ::-2, None, ..., -1])(np.zeros((2, 5, 3, 4)))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["index"]
    assert len(fgrad.make_jaxpr(lambda a: a.at[1].set(0.0))(np.zeros(3)).eqns) == 1
    assert len(fgrad.make_jaxpr(lambda a, i: a[:, i])(np.zeros((2, 3)), 1).eqns) == 1
