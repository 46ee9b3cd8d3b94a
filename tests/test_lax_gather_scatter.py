"""Blocks at computed positions: values, dtypes and slopes are those of ``jax.lax``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from support.modules import jax

import fgrad
from fgrad import lax
from fgrad.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    FgradError,
    IndexOutOfRangeError,
    ShapeError,
)
from fgrad.test_util import check_grads

jlax = jax.lax
RNG = np.random.default_rng(7)


class Case(NamedTuple):
    """Blocks of an array: which axes are which, and the shapes of what is given."""

    shape: tuple[int, ...]
    indices: tuple[int, ...]
    window: tuple[int, ...]
    dropped: tuple[int, ...]
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    batching: tuple[int, ...] = ()
    paired: tuple[int, ...] = ()

    def gather(self, m: Any) -> Any:
        return m.GatherDimensionNumbers(
            self.window, self.dropped, self.axes, self.batching, self.paired
        )

    def scatter(self, m: Any) -> Any:
        return m.ScatterDimensionNumbers(
            self.window, self.dropped, self.axes, self.batching, self.paired
        )

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of the gathered blocks, which is that of updates."""
        kept = [
            n for a, n in enumerate(self.sizes) if a not in self.dropped and a not in self.batching
        ]
        outer, inner = iter(self.indices[:-1]), iter(kept)
        rank = len(kept) + len(self.indices) - 1
        return tuple(next(inner) if a in self.window else next(outer) for a in range(rank))


CASES = {
    "elements": Case((5,), (3, 1), (), (0,), (0,), (1,)),
    "rows": Case((4, 3), (2, 1), (1,), (0,), (0,), (1, 3)),
    "columns first": Case((4, 3), (2, 1), (0,), (1,), (1,), (4, 1)),
    "elements of a matrix": Case((4, 3), (2, 3, 2), (), (0, 1), (1, 0), (1, 1)),
    "blocks": Case((5, 4), (3, 2), (1, 2), (), (0, 1), (2, 3)),
    "blocks in front": Case((5, 4), (3, 2), (0, 1), (), (0, 1), (2, 3)),
    "parts of rows": Case((4, 6), (2, 1), (1,), (0,), (0,), (1, 4)),
    "blocks of size one": Case((4, 3), (2, 1), (0, 2), (), (0,), (1, 3)),
    "one block": Case((4, 3, 2), (1,), (0, 1), (1,), (1,), (4, 1, 2)),
    "batched": Case((2, 5, 3), (2, 4, 1), (2,), (1,), (1,), (1, 1, 3), (0,), (0,)),
    "batched the other way": Case(
        (4, 3, 5), (3, 2, 4, 1), (), (2,), (2,), (1, 1, 1), (0, 1), (2, 0)
    ),
    "no index": Case((3, 2), (2, 0), (0, 1), (), (), (3, 2)),
    "no index, a part": Case((3, 2), (2, 0), (1, 2), (), (), (2, 2)),
    "no axes": Case((), (3, 0), (), (), (), ()),
}
MODES = ["clip", "fill", "promise_in_bounds", None]


def operands(case: Case, mode: Any, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    x = (10 * RNG.normal(size=case.shape)).astype(dtype)
    highest = min([case.shape[a] - case.sizes[a] for a in case.axes], default=0)
    low, high = (0, highest) if mode == "promise_in_bounds" else (-2, highest + 2)
    indices = RNG.integers(low, high + 1, size=case.indices)
    return x, indices, (10 * RNG.normal(size=case.result)).astype(dtype)


def same(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-12)


def gathering(m: Any, case: Case, mode: Any) -> Any:
    return lambda x, i: m.gather(x, i, case.gather(m), case.sizes, mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_gather(name: str, mode: Any) -> None:
    case = CASES[name]
    x, indices, weights = operands(case, mode)
    ours, theirs = gathering(lax, case, mode), gathering(jlax, case, mode)
    expected = np.asarray(theirs(x, indices))
    same(ours(x, indices), expected)
    same(fgrad.jit(ours)(x, indices), expected)
    slope = lambda m, f: m.vjp(lambda v: f(v, indices), x)[1](weights)[0]  # noqa: E731
    # Without a mode, JAX clips but drops the cotangents of what it clipped.
    clipping = gathering(jlax, case, mode or "clip")
    # Its compiler fails on the derivative for an array without axes.
    same(slope(fgrad, ours), slope(jax, clipping) if case.shape else np.sum(weights))
    if "nan" not in str(expected):
        check_grads(lambda v: ours(v, indices), (x,), 2)


@pytest.mark.parametrize("name", CASES)
def test_gather_of_many(name: str) -> None:
    case = CASES[name]
    x, indices, _ = operands(case, "fill")
    ours = gathering(lax, case, "fill")
    xs, many = np.stack([x, -x]), np.stack([indices, indices[::-1]])
    for in_axes, args in [((0, None), (xs, indices)), ((None, 0), (x, many)), ((0, 0), (xs, many))]:
        got = fgrad.vmap(ours, in_axes)(*args)
        rows = [
            ours(*[a if axis is None else a[k] for a, axis in zip(args, in_axes, strict=True)])
            for k in range(2)
        ]
        same(got, np.stack(rows))


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "bool", "complex64"])
def test_gathered_dtypes_and_fills(dtype: str) -> None:
    case = CASES["elements"]
    x = np.arange(5).astype(dtype)
    indices = np.array([[4], [7], [-1]], np.int16)
    for fill in (None, 1):
        got = lax.gather(x, indices, case.gather(lax), (1,), mode="fill", fill_value=fill)
        expected = jlax.gather(x, indices, case.gather(jlax), (1,), mode="fill", fill_value=fill)
        same(got, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64", "int32"])
def test_positions_of_any_integer_dtype(dtype: str) -> None:
    x = np.arange(300.0)
    top = np.iinfo(dtype).max
    indices = np.array([[0], [100], [top]], dtype)
    elements = CASES["elements"]
    for mode in ("clip", "fill"):
        got = lax.gather(x, indices, elements.gather(lax), (1,), mode=mode)
        last = 299.0 if mode == "clip" else np.nan
        np.testing.assert_array_equal(got, [0.0, 100.0, float(top) if top < 300 else last])


SCATTERS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]


#: What becomes of an array without axes, which every block is all of.
COMBINED: dict[str, Any] = {
    "scatter": lambda x, updates: updates[-1],
    "scatter_add": lambda x, updates: x + updates.sum(),
    "scatter_sub": lambda x, updates: x - updates.sum(),
    "scatter_mul": lambda x, updates: x * updates.prod(),
    "scatter_min": lambda x, updates: min(x, updates.min()),
    "scatter_max": lambda x, updates: max(x, updates.max()),
}


def scattering(m: Any, kind: str, case: Case, mode: Any, unique: bool = False) -> Any:
    scatter = getattr(m, kind)
    return lambda x, i, u: scatter(x, i, u, case.scatter(m), mode=mode, unique_indices=unique)


@pytest.mark.parametrize("mode", ["clip", None])
@pytest.mark.parametrize("kind", SCATTERS)
@pytest.mark.parametrize("name", CASES)
def test_scatter(name: str, kind: str, mode: Any) -> None:
    case = CASES[name]
    x, indices, updates = operands(case, mode)
    ours, theirs = scattering(lax, kind, case, mode), scattering(jlax, kind, case, mode)
    if case.shape:
        expected = np.asarray(theirs(x, indices, updates))
    else:
        # JAX's compiler fails here.
        expected = COMBINED[kind](x, updates)
    same(ours(x, indices, updates), expected)
    same(fgrad.jit(ours)(x, indices, updates), expected)
    check_grads(lambda v, u: ours(v, indices, u), (x, updates), 2)


def distinct(case: Case) -> Any:
    """Indices of blocks that do not overlap, where there are such."""
    size = case.shape[case.axes[0]] if case.axes else 1
    count = int(np.prod(case.indices[:-1]))
    return np.arange(count).reshape(case.indices) % size


@pytest.mark.parametrize("kind", SCATTERS)
@pytest.mark.parametrize("name", ["elements", "rows", "columns first", "parts of rows", "batched"])
def test_slopes_of_scatters_are_those_of_jax(name: str, kind: str) -> None:
    case = CASES[name]
    x, _, updates = operands(case, None)
    indices = distinct(case)
    ours = scattering(lax, kind, case, None, unique=True)
    theirs = scattering(jlax, kind, case, None, unique=True)
    weights = RNG.normal(size=case.shape)
    got = fgrad.vjp(lambda v, u: ours(v, indices, u), x, updates)[1](weights)
    expected = jax.vjp(lambda v, u: theirs(v, indices, u), x, updates)[1](weights)
    for a, b in zip(got, expected, strict=True):
        same(a, b)
    tangents = RNG.normal(size=x.shape), RNG.normal(size=updates.shape)
    got = fgrad.jvp(lambda v, u: ours(v, indices, u), (x, updates), tangents)[1]
    if kind not in ("scatter_min", "scatter_max"):  # JAX has no forward rule for extrema
        same(got, jax.jvp(lambda v, u: theirs(v, indices, u), (x, updates), tangents)[1])
    again = fgrad.jit(lambda v, u: fgrad.vjp(lambda a, b: ours(a, indices, b), v, u)[1](weights))
    for a, b in zip(again(x, updates), expected, strict=True):
        same(a, b)


@pytest.mark.parametrize("kind", SCATTERS)
@pytest.mark.parametrize("name", ["blocks", "batched", "no index", "no axes"])
def test_scatters_of_many(name: str, kind: str) -> None:
    case = CASES[name]
    x, indices, updates = operands(case, None)
    ours = scattering(lax, kind, case, None)
    stacked = [np.stack([a, a[::-1] if a.ndim else -a]) for a in (x, indices, updates)]
    for mapped in range(1, 8):
        in_axes = tuple(0 if mapped >> k & 1 else None for k in range(3))
        args = [
            s if axis == 0 else a
            for s, a, axis in zip(stacked, (x, indices, updates), in_axes, strict=True)
        ]
        rows = [
            ours(*[a if axis is None else a[k] for a, axis in zip(args, in_axes, strict=True)])
            for k in range(2)
        ]
        same(fgrad.vmap(ours, in_axes)(*args), np.stack(rows))


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128"])
def test_scattered_dtypes(dtype: str) -> None:
    case = CASES["rows"]
    x, indices, updates = operands(case, None, dtype)
    for kind in ("scatter", "scatter_add", "scatter_mul"):
        expected = scattering(jlax, kind, case, None)(x, indices, updates)
        same(scattering(lax, kind, case, None)(x, indices, updates), expected, 1e-5)
    element = lax.ScatterDimensionNumbers((), (0,), (0,))
    number = lax.scatter_add(np.float32([1, 2]), np.array([1]), 0.5, element)
    same(number, np.float32([1, 2.5]))


def test_scattered_functions() -> None:
    case = CASES["elements"]
    x, indices = np.arange(5.0), np.array([[1], [1], [9]])
    square = lambda v: v * v + 1.0  # noqa: E731
    got = lax.scatter_apply(x, indices, square, case.scatter(lax), update_shape=(3,))
    expected = jlax.scatter_apply(x, indices, square, case.scatter(jlax), update_shape=(3,))
    same(got, expected)
    blocks = CASES["blocks"]
    y, where, _ = operands(blocks, "clip")
    where[1:] = where[:1]
    got = lax.scatter_apply(
        y, where[:1], square, blocks.scatter(lax), update_shape=(1, 2, 3), mode="clip"
    )
    expected = jlax.scatter_apply(
        y, where[:1], square, blocks.scatter(jlax), update_shape=(1, 2, 3), mode="clip"
    )
    same(got, expected)
    check_grads(
        lambda v: lax.scatter_apply(v, indices, square, case.scatter(lax), update_shape=(3,)),
        (x,),
        2,
    )
    compiled = fgrad.jit(
        lambda v, i: lax.scatter_apply(
            v, i, square, case.scatter(lax), update_shape=(2,), unique_indices=True
        )
    )
    same(compiled(x, np.array([[0], [3]])), [1.0, 1.0, 2.0, 10.0, 4.0])


def test_index_take() -> None:
    x = RNG.normal(size=(3, 4, 5))
    first, second = np.array([0, -1, 7]), np.array([2, 2, -9])
    for axes, idxs in [((0, 1), [first, second]), ((2,), [first]), ((0, 2), [second, first])]:
        ours = lambda v, axes=axes, idxs=idxs: lax.index_take(v, idxs, axes)  # noqa: E731
        theirs = lambda v, axes=axes, idxs=idxs: jlax.index_take(v, idxs, axes)  # noqa: E731
        expected = np.asarray(theirs(x))
        same(ours(x), expected)
        same(fgrad.jit(ours)(x), expected)
        same(fgrad.vmap(ours)(np.stack([x, -x])), np.stack([expected, -expected]))
        weights = RNG.normal(size=expected.shape)
        same(fgrad.vjp(ours, x)[1](weights)[0], jax.vjp(theirs, x)[1](weights)[0])


def test_modes() -> None:
    assert lax.GatherScatterMode.from_any("clip") is lax.GatherScatterMode.CLIP
    assert lax.GatherScatterMode.from_any(None) is lax.GatherScatterMode.FILL_OR_DROP
    for ours, theirs in zip(lax.GatherScatterMode, jlax.GatherScatterMode, strict=True):
        assert ours.name == theirs.name
    case = CASES["elements"]
    for mode in (lax.GatherScatterMode.CLIP, jlax.GatherScatterMode.CLIP):
        got = lax.gather(np.arange(5.0), np.array([[9]]), case.gather(lax), (1,), mode=mode)
        same(got, [4.0])
    with pytest.raises(
        IndexOutOfRangeError, match="index 9 is out of range for axis 0 with size 5"
    ):
        lax.gather(
            np.arange(5.0), np.array([[9]]), case.gather(lax), (1,), mode="promise_in_bounds"
        )


def numbers(**changes: Any) -> Any:
    fields: dict[str, Any] = {
        "offset_dims": (1,),
        "collapsed_slice_dims": (0,),
        "start_index_map": (0,),
    }
    return lax.GatherDimensionNumbers(**fields | changes)


X, I = np.ones((4, 3)), np.zeros((2, 1), int)  # noqa: E741
ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: lax.gather(X, I.astype(float), numbers(), (1, 3)),
            DTypeError,
            r"gather: the indices have dtype float64, expected integers",
        ),
        (lambda: lax.gather(X, 0, numbers(), (1, 3)), ShapeError, "the indices have no axes"),
        (
            lambda: lax.gather(X, I, numbers(), (1,)),
            ArgumentError,
            r"slice_sizes \(1,\) must have one",
        ),
        (
            lambda: lax.gather(X, I, numbers(), (1, 4)),
            ShapeError,
            r"do not fit into shape \(4, 3\)",
        ),
        (lambda: lax.gather(X, I, numbers(), (2, 3)), ShapeError, "axis 0 is collapsed or batched"),
        (
            lambda: lax.gather(X, I, numbers(start_index_map=(0, 1)), (1, 3)),
            ShapeError,
            "names 2 axes, but an index vector",
        ),
        (
            lambda: lax.gather(X, I, numbers(offset_dims=(0, 1)), (1, 3)),
            ArgumentError,
            r"offset_dims \(0, 1\) must name 1 axes",
        ),
        (
            lambda: lax.gather(X, I, numbers(offset_dims=(5,)), (1, 3)),
            AxisError,
            r"offset_dims \(5,\) must be distinct axes from 0 to 1",
        ),
        (
            lambda: lax.gather(X, I, numbers(collapsed_slice_dims=(1, 0)), (1, 1)),
            AxisError,
            "must be ascending",
        ),
        (
            lambda: lax.gather(X, I, numbers(operand_batching_dims=(0,)), (1, 3)),
            ArgumentError,
            "they go in pairs",
        ),
        (
            lambda: lax.gather(
                X, I, numbers(operand_batching_dims=(0,), start_indices_batching_dims=(0,)), (1, 3)
            ),
            ShapeError,
            "batching axis 0 of the operand has size 4, its partner 0 of the indices 2",
        ),
        (
            lambda: lax.gather(
                np.ones((2, 3)),
                I,
                numbers(operand_batching_dims=(0,), start_indices_batching_dims=(0,)),
                (1, 3),
            ),
            AxisError,
            "axis 0 is in collapsed_slice_dims and in operand_batching_dims",
        ),
        (lambda: lax.gather(X, I, numbers(), (1, 3), mode="wrap"), ArgumentError, "mode='wrap'"),
        (
            lambda: lax.scatter(X, I, np.ones((2, 3), np.float32), ROWS),
            DTypeError,
            "scatter: the updates have dtype float32, the array float64",
        ),
        (
            lambda: lax.scatter_add(X, I, np.ones((3, 3)), ROWS),
            ShapeError,
            r"scatter_add: updates of shape \(3, 3\) have blocks along axes of shape \(3,\)",
        ),
        (
            lambda: lax.scatter_mul(X, I, np.ones((2, 4)), ROWS),
            ShapeError,
            r"blocks of size 4 do not fit into axis 1 of shape \(4, 3\)",
        ),
        (
            lambda: lax.scatter_min(X, I, np.ones((2, 3)), ROWS._replace(update_window_dims=())),
            ArgumentError,
            "must name 1 axes",
        ),
        (
            lambda: lax.index_take(X, [np.array([0.5])], (0,)),
            DTypeError,
            "index_take: an index has dtype float64",
        ),
        (lambda: lax.index_take(X, [], ()), ArgumentError, "one at least"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: type[FgradError], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
