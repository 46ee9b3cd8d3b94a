"""Trees as vectors, sums by segments, dtypes, types, and names that JAX has removed: as in JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax.flatten_util
import jax.ops
import numpy as np
import pytest
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, ConcretizationTypeError, DTypeError, ShapeError
from fgrad.test_util import check_grads

# ---- flatten_util --------------------------------------------------------------------------------

TREES: dict[str, Callable[[], Any]] = {
    "one dtype": lambda: {"w": np.arange(6.0).reshape(2, 3), "b": [np.float64(7.0), np.ones(2)]},
    "two dtypes": lambda: (np.ones(2, np.float32), np.arange(3.0)),
    "integers": lambda: [np.arange(3), np.ones((1, 2))],
    "complex": lambda: {"z": np.array([1 + 2j]), "x": np.ones(2)},
    "truth": lambda: (np.array([True, False]), np.array([3], np.int8)),
    "empty leaf": lambda: (np.ones((0, 3)), np.arange(2.0)),
    "empty": lambda: {"nothing": ()},
}


@pytest.mark.parametrize("name", TREES)
def test_a_tree_becomes_the_vector_of_jax_and_comes_back(name: str) -> None:
    tree = TREES[name]()
    flat, unravel = fgrad.flatten_util.ravel_pytree(tree)
    expected, _ = jax.flatten_util.ravel_pytree(tree)
    np.testing.assert_array_equal(flat, expected)
    assert flat.dtype == expected.dtype
    back = fgrad.jit(unravel)(flat)
    assert fgrad.tree.structure(back) == fgrad.tree.structure(tree)
    for leaf, original in zip(fgrad.tree.leaves(back), fgrad.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(leaf, original)
        assert leaf.dtype == np.asarray(original).dtype


def test_python_numbers_do_not_widen_a_vector() -> None:
    flat, unravel = fgrad.flatten_util.ravel_pytree({"w": np.ones(2, np.float32), "b": 0.5})
    assert flat.dtype == np.float32
    assert unravel(flat)["b"].weak_type


def test_vectors_of_trees_under_the_transforms() -> None:
    tree = TREES["one dtype"]()
    flat, unravel = fgrad.flatten_util.ravel_pytree(tree)

    def loss(t: Any) -> Any:
        vector, back = fgrad.flatten_util.ravel_pytree(t)
        again = back(vector**2)
        return (again["w"] ** 2).sum() + (again["b"][1] * vector[0]).sum()

    for transformed in (fgrad.grad(loss), fgrad.jit(fgrad.grad(loss))):
        slopes, _ = fgrad.flatten_util.ravel_pytree(transformed(tree))
        found = fgrad.grad(lambda v: loss(unravel(v)))(flat)
        np.testing.assert_allclose(slopes, found, rtol=1e-14)
    check_grads(lambda v: loss(unravel(v)), (flat,), 2)
    rows = fgrad.vmap(lambda v: unravel(v)["w"])(np.stack([flat, 2.0 * flat]))
    np.testing.assert_array_equal(rows[1], 2.0 * np.arange(6.0).reshape(2, 3))
    hessian = fgrad.hessian(lambda v: loss(unravel(v)))(flat)
    assert hessian.shape == (9, 9)


def test_unravel_refuses_what_does_not_fit() -> None:
    flat, unravel = fgrad.flatten_util.ravel_pytree(TREES["two dtypes"]())
    with pytest.raises(ShapeError, match=r"unravel: got an array of shape \(4,\), expected \(5,\)"):
        unravel(flat[1:])
    with pytest.raises(DTypeError, match=r"dtype float32, expected float64.*\.astype\('float64'\)"):
        unravel(flat.astype(np.float32))
    same = fgrad.flatten_util.ravel_pytree(TREES["two dtypes"]())[1]
    assert unravel == same
    assert hash(unravel) == hash(same)


# ---- ops -----------------------------------------------------------------------------------------

IDS = np.array([2, 0, -1, 2, 5, 0])
SEGMENT = ("segment_sum", "segment_prod", "segment_max", "segment_min")


@pytest.mark.parametrize("name", SEGMENT)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_segments_are_those_of_jax(name: str, dtype: str) -> None:
    data = np.random.default_rng(1).normal(0, 3, (6, 2)).astype(dtype)
    ours, theirs = getattr(fgrad.ops, name), getattr(jax.ops, name)
    got, expected = ours(data, IDS, 4), np.asarray(theirs(data, IDS, 4))
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(fgrad.jit(lambda d, i: ours(d, i, 4))(data, IDS), got)
    stacked = np.stack([data, data[::-1]])
    np.testing.assert_array_equal(
        fgrad.vmap(lambda d: ours(d, IDS, 4))(stacked)[1], ours(data[::-1], IDS, 4)
    )
    many = np.stack([IDS, IDS[::-1]])
    np.testing.assert_array_equal(
        fgrad.vmap(lambda i: ours(data, i, 4))(many)[1], ours(data, IDS[::-1], 4)
    )
    assert ours(data, np.abs(IDS)).shape == (6, 2)
    assert ours(data[:0], IDS[:0]).shape == (0, 2)


@pytest.mark.parametrize("name", SEGMENT)
def test_slopes_of_segments(name: str) -> None:
    data = np.random.default_rng(2).normal(0, 3, (6,))
    ours, theirs = getattr(fgrad.ops, name), getattr(jax.ops, name)
    square = lambda f: lambda d: (f(d, np.array([2, 0, 0, 2, 3, 0]), 4)[:1] ** 2).sum()  # noqa: E731
    if name != "segment_prod":  # JAX does not derive products
        expected = jax.grad(square(theirs))(data)
        np.testing.assert_allclose(fgrad.grad(square(ours))(data), expected, rtol=1e-12)
    check_grads(square(ours), (data,), 2)


def test_segments_refuse_what_does_not_fit() -> None:
    with pytest.raises(
        ShapeError,
        match=r"segment_sum: segment_ids of shape \(2,\) do not fit data of shape \(3,\)",
    ):
        fgrad.ops.segment_sum(np.ones(3), np.zeros(2, int))
    with pytest.raises(DTypeError, match=r"segment_ids have dtype float64"):
        fgrad.ops.segment_max(np.ones(3), np.zeros(3))
    with pytest.raises(ArgumentError, match=r"num_segments is -1"):
        fgrad.ops.segment_min(np.ones(3), np.zeros(3, int), -1)
    with pytest.raises(ConcretizationTypeError, match=r"give num_segments"):
        fgrad.jit(fgrad.ops.segment_prod)(np.ones(3), np.zeros(3, int))


# ---- dtypes, typing, core ------------------------------------------------------------------------


def test_dtypes() -> None:
    assert fgrad.dtypes.canonicalize_dtype(float) == np.float64
    fgrad.config.update("fgrad_enable_x64", False)
    try:
        assert fgrad.dtypes.canonicalize_dtype(float) == np.float32
        assert fgrad.dtypes.result_type(1.0, 2) == np.float32
    finally:
        fgrad.config.update("fgrad_enable_x64", True)
    key = fgrad.random.key(0)
    with pytest.raises(DTypeError, match="random keys"):
        fgrad.dtypes.canonicalize_dtype(key.dtype)
    assert fgrad.dtypes.canonicalize_dtype(key.dtype, allow_extended_dtype=True) == key.dtype
    assert fgrad.dtypes.issubdtype(key.dtype, fgrad.dtypes.prng_key)
    assert fgrad.dtypes.issubdtype(key.dtype, fgrad.dtypes.extended)
    assert not fgrad.dtypes.issubdtype(np.dtype("float32"), fgrad.dtypes.prng_key)
    assert fgrad.dtypes.issubdtype(fnp.float32, fnp.floating)
    assert fgrad.dtypes.issubdtype("int8", np.integer)
    assert fgrad.dtypes.result_type(fnp.float32(1), 2.0) == np.float32
    assert fgrad.dtypes.result_type(fnp.asarray(1.0) * 2, np.int8) == np.float64
    assert fgrad.dtypes.result_type(1, 2.0, return_weak_type_flag=True) == (np.float64, True)
    assert fgrad.dtypes.result_type(np.int8, "uint8") == np.int16
    with pytest.raises(DTypeError, match="give at least one"):
        fgrad.dtypes.result_type()
    assert fgrad.dtypes.scalar_type_of(np.complex64(1)) is complex
    import ml_dtypes

    assert fgrad.dtypes.bfloat16 is ml_dtypes.bfloat16


def test_types_of_annotations() -> None:
    for x in (1, 2.0, np.float32(1), np.zeros(2), fnp.ones(2), True):
        assert isinstance(x, fgrad.typing.ArrayLike)
    assert not isinstance("text", fgrad.typing.ArrayLike)
    seen = []
    fgrad.jit(lambda x: seen.append(isinstance(x, fgrad.typing.ArrayLike)) or x)(1.0)
    assert seen == [True]


def test_types_of_values() -> None:
    seen = []

    def look(x: Any) -> Any:
        seen.append((isinstance(x, fgrad.core.Tracer), x.aval))
        return x

    fgrad.jit(look)(np.ones((2, 3), np.float32))
    assert seen[0] == (True, fgrad.core.ShapedArray((2, 3), np.float32))
    assert isinstance(seen[0][1], fgrad.core.ShapedArray)
    assert fgrad.core.get_aval(1.0) == fgrad.core.ShapedArray((), float, weak_type=True)
    with pytest.raises(DTypeError, match="ShapedArray"):
        fgrad.core.ShapedArray((), "datetime64[s]")


# ---- names that JAX has removed ------------------------------------------------------------------


def test_removed_names_still_work_and_name_the_new_ones() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"fgrad\.tree_map is deprecated.*fgrad\.tree\.map"
    ) as caught:
        assert fgrad.tree_map(lambda x, y: x + y, [1, 2], [3, 4]) == [4, 6]
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"use fgrad\.tree\.map"):
        assert fgrad.tree_multimap(lambda x: -x, (1,)) == (-1,)
    with pytest.warns(DeprecationWarning, match=r"use functools\.partial"):
        assert fgrad.partial(max, 3)(2) == 3
    for name in ("all", "flatten", "leaves", "reduce", "structure", "transpose", "unflatten"):
        with pytest.warns(DeprecationWarning, match=rf"use fgrad\.tree\.{name}"):
            found = getattr(fgrad, "tree_" + name)
        assert inspect.signature(found) == inspect.signature(getattr(fgrad.tree, name))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = fgrad.no_such_name
