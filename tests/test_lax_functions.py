"""Further operations of ``lax``: bits, folds, transforms, kernels by position, what platforms ask for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad import lax
from fgrad.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    FgradError,
    NonDifferentiableError,
    ShapeError,
    UnboundAxisError,
)
from fgrad.test_util import check_grads

jlax = jax.lax
RNG = np.random.default_rng(3)


def same(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-12)


def held(make: Any, *xs: Any, slopes: bool = True, mapped: bool = True) -> None:
    """A function of `lax` under all transforms, against JAX."""
    ours, theirs = make(lax), make(jlax)
    expected = jax.tree.map(np.asarray, theirs(*xs))
    for got in (ours(*xs), fgrad.jit(ours)(*xs)):
        for a, b in zip(fgrad.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            same(a, b)
    if mapped:
        many = [np.stack([x, x[::-1]]) for x in xs]
        rows = [ours(*[m[k] for m in many]) for k in range(2)]
        together = fgrad.vmap(ours)(*many)
        for n, leaf in enumerate(fgrad.tree.leaves(together)):
            same(leaf, np.stack([fgrad.tree.leaves(row)[n] for row in rows]))
    if not slopes:
        return
    weights = jax.tree.map(
        lambda a: np.cos(np.arange(a.size)).reshape(a.shape).astype(a.dtype), expected
    )
    got = fgrad.vjp(ours, *xs)[1](weights)
    for a, b in zip(got, jax.vjp(theirs, *xs)[1](weights), strict=True):
        same(a, b, 1e-10)
    tangents = tuple(np.sin(np.arange(x.size, dtype=x.dtype)).reshape(x.shape) for x in xs)
    same(
        fgrad.tree.leaves(fgrad.jvp(ours, xs, tangents)[1])[0],
        jax.tree.leaves(jax.jvp(theirs, xs, tangents)[1])[0],
        1e-10,
    )
    check_grads(ours, xs, 2)


# ---- bits ----------------------------------------------------------------------------------------

F4 = np.array([[1.0, -2.5, np.inf, 0.0], [1e-40, np.nan, -0.0, 3e38]], np.float32)


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (F4, np.int32),
        (F4, np.float32),
        (F4, np.uint8),
        (F4.astype(np.float64), np.int32),
        (np.arange(8, dtype=np.int8).reshape(2, 4), np.float32),
        (np.arange(8, dtype=np.uint32).reshape(4, 2), np.float64),
        (np.array([[1, -1]], np.int16), np.float16),
        (np.array([True, False]), bool),
    ],
)
def test_bits_of_another_dtype(x: Any, dtype: Any) -> None:
    ours = lambda v: lax.bitcast_convert_type(v, dtype)  # noqa: E731
    expected = np.asarray(jlax.bitcast_convert_type(x, dtype))
    for got in (ours(x), fgrad.jit(ours)(x), ours(np.asfortranarray(x))):
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        assert got.tobytes() == expected.tobytes()
    many = fgrad.vmap(ours)(np.stack([x, x[::-1]]))
    assert np.asarray(many[1]).tobytes() == ours(x[::-1]).tobytes()


def test_bits_have_no_slope_and_no_weak_types() -> None:
    there_and_back = lambda x: lax.bitcast_convert_type(  # noqa: E731
        lax.bitcast_convert_type(x, np.int64), np.float64
    )
    assert float(there_and_back(2.5)) == 2.5
    assert float(fgrad.grad(there_and_back)(2.5)) == 0.0
    assert not lax.bitcast_convert_type(1.0, np.int64).weak_type
    import ml_dtypes

    half = np.array([1.0, -2.0], ml_dtypes.bfloat16)
    same(lax.bitcast_convert_type(half, np.int16), jlax.bitcast_convert_type(half, np.int16))
    back = lax.bitcast_convert_type(np.array([16256], np.int16), ml_dtypes.bfloat16)
    assert back.dtype == ml_dtypes.bfloat16
    assert float(back[0]) == 1.0


EDGES = "65504 65520 61439 61440 1e6 1e-5 6e-8 6.1e-5 6.2e-5 3e-5 1e300 5e-324 nan inf -inf -0.0"
HARD = np.array([1.3, -1.3, 0.1, 1.125, 1.375, 2.0**-14, 2.0**-15, *map(float, EDGES.split())])


@pytest.mark.parametrize(
    "bits", [(5, 2), (5, 10), (8, 7), (11, 52), (2, 1), (1, 0), (4, 3), (11, 3)]
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_rounding_to_fewer_bits(bits: tuple[int, int], dtype: str) -> None:
    with np.errstate(over="ignore"):
        x = np.concatenate([HARD, RNG.normal(size=200) * 10.0 ** RNG.integers(-6, 6, 200)]).astype(
            dtype
        )
    expected = np.array(jlax.reduce_precision(x, *bits))
    # What XLA makes of it with no bits left depends on its flags.
    expected[np.isnan(x)] = np.nan
    if dtype == "float32":
        # JAX flushes subnormal numbers in some operations of its own.
        normal = (np.abs(x) >= np.finfo(dtype).tiny) | (x == 0) | np.isnan(x)
        x, expected = x[normal], expected[normal]
    ours = lambda v: lax.reduce_precision(v, *bits)  # noqa: E731
    for got in (ours(x), fgrad.jit(ours)(x), fgrad.vmap(ours)(x[:, None])[:, 0]):
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
        assert got.dtype == x.dtype


def test_slopes_are_rounded_too() -> None:
    ours = lambda x: lax.reduce_precision(x, 5, 2)  # noqa: E731
    assert float(fgrad.jvp(ours, (1.3,), (1.3,))[1]) == 1.25
    assert float(fgrad.grad(lambda x: 1.3 * ours(x))(2.0)) == 1.25
    assert ours(1.3).weak_type
    import ml_dtypes

    x = np.array([1.3, 3e38, 1e-30], ml_dtypes.bfloat16)
    expected = np.asarray(jlax.reduce_precision(x, 5, 2))
    np.testing.assert_array_equal(np.asarray(ours(x)).astype(float), expected.astype(float))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_leading_zeros(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([0, 1, 2, 3, 100, info.max, info.min, info.max // 2], dtype)
    for got in (lax.clz(x), fgrad.jit(lax.clz)(x), fgrad.vmap(lax.clz)(x)):
        same(got, jlax.clz(x))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_upper_halves_of_products(dtype: str) -> None:
    info = np.iinfo(dtype)
    ends = [info.max, info.min, info.max // 2, 0, 1]
    x = np.concatenate([RNG.integers(info.min, info.max, 50, dtype), np.array(ends, dtype)])
    y = RNG.permutation(x)
    exact = [(int(a) * int(b)) >> (8 * x.dtype.itemsize) for a, b in zip(x, y, strict=True)]
    for got in (lax.mulhi(x, y), fgrad.jit(lax.mulhi)(x, y), fgrad.vmap(lax.mulhi)(x, y)):
        same(got, np.array(exact, dtype))
    same(lax.mulhi(x, y), jlax.mulhi(x, y))


def test_slopes_of_gamma_draws_and_shapes() -> None:
    a, x = np.array([0.3, 1.0, 5.0, 50.0]), np.array([0.1, 2.0, 4.0, 55.0])
    expected = np.asarray(jlax.random_gamma_grad(a, x))
    for f in (lax.random_gamma_grad, fgrad.jit(lax.random_gamma_grad)):
        same(f(a, x), expected, 1e-6)
    same(fgrad.vmap(lax.random_gamma_grad)(a, x), expected, 1e-6)
    for shape in ((2, 3), ()):
        np.testing.assert_array_equal(lax.shape_as_value(shape), jlax.shape_as_value(shape))


# ---- folds ---------------------------------------------------------------------------------------

A = RNG.normal(size=(3, 4, 5))
INTS = RNG.integers(-99, 99, size=(3, 4, 5))


@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("name", ["add", "mul", "max", "min"])
def test_reductions_by_primitives(name: str, axes: tuple[int, ...]) -> None:
    start = {"add": 0.0, "mul": 1.0, "max": -np.inf, "min": np.inf}[name]
    held(lambda m: lambda x: m.reduce(x, start, getattr(m, name), axes), A)
    small = INTS.astype(np.int8)
    neutral = np.int8({"add": 0, "mul": 1, "max": -128, "min": 127}[name])
    held(lambda m: lambda x: m.reduce(x, neutral, getattr(m, name), axes), small, slopes=False)


@pytest.mark.parametrize("axes", [(0,), (2, 0)])
def test_reductions_by_any_function(axes: tuple[int, ...]) -> None:
    def soft(m: Any) -> Any:
        def combine(a: Any, b: Any) -> Any:
            top = m.max(a, b)
            return top + m.log(m.exp(a - top) + m.exp(b - top))

        return lambda x: m.reduce(x, -1e300, combine, axes)

    ours = soft(lax)
    expected = np.log(np.sum(np.exp(A), axis=axes))
    same(ours(A), expected, 1e-10)
    same(fgrad.jit(ours)(A), expected, 1e-10)
    same(fgrad.vmap(ours)(np.stack([A, -A]))[0], expected, 1e-10)
    check_grads(ours, (A,), 2)


def test_the_order_of_elements_is_kept() -> None:
    """Composition of affine maps: associative, and not commutative."""

    def compose(m: Any) -> Any:
        def combine(f: Any, g: Any) -> Any:
            return f[0] * g[0], f[1] * g[0] + g[1]

        return lambda a, b: m.reduce((a, b), (1.0, 0.0), combine, (1,))

    for count in (1, 2, 3, 7, 8):
        a, b = RNG.normal(size=(2, count)), RNG.normal(size=(2, count))
        # JAX takes any computation for a commutative one when it derives several operands.
        held(compose, a, b, slopes=False)
        check_grads(compose(lax), (a, b), 2)


def test_the_largest_element_and_its_place() -> None:
    def largest(m: Any) -> Any:
        def combine(a: Any, b: Any) -> Any:
            first = m.bitwise_or(
                m.gt(a["x"], b["x"]), m.bitwise_and(m.eq(a["x"], b["x"]), m.lt(a["i"], b["i"]))
            )
            return {"x": m.select(first, a["x"], b["x"]), "i": m.select(first, a["i"], b["i"])}

        start = {"x": -np.inf, "i": -1}
        return lambda x, i: m.reduce({"x": x, "i": i}, start, combine, (0,))

    x = RNG.integers(0, 4, size=(6, 3)).astype(float)
    held(largest, x, np.broadcast_to(np.arange(6)[:, None], (6, 3)).copy(), slopes=False)


def test_nothing_to_reduce_gives_the_start() -> None:
    for f in (lax.add, lambda a, b: a + b + 0.0 * a * b):
        same(lax.reduce(np.ones((0, 2)), 1.5, f, (0,)), np.full(2, 1.5))


@pytest.mark.parametrize("name", ["reduce_and", "reduce_or", "reduce_xor"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64"])
@pytest.mark.parametrize("axes", [(0,), (1, 2), ()])
def test_reductions_of_bits(name: str, dtype: str, axes: tuple[int, ...]) -> None:
    x = (INTS > 80) if dtype == "bool" else INTS.astype(dtype)
    held(lambda m: lambda v: getattr(m, name)(v, axes), x, slopes=False)
    if axes:
        held(
            lambda m: lambda v: getattr(m, name)(v, axes), x[:0, :, :0], slopes=False, mapped=False
        )


# ---- transforms ----------------------------------------------------------------------------------

Z = RNG.normal(size=(2, 3, 5)) + 1j * RNG.normal(size=(2, 3, 5))


@pytest.mark.parametrize("lengths", [(5,), (3, 5), (2, 3, 5)])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_fourier_transforms(kind: str, lengths: tuple[int, ...]) -> None:
    x = Z.real if kind == "RFFT" else Z
    if kind == "IRFFT":
        lengths = (*lengths[:-1], 9)
    held(lambda m: lambda v: m.fft(v, getattr(m.FftType, kind), lengths), x)
    same(lax.fft(x, kind, lengths), jlax.fft(x, kind, lengths))
    narrow = x.astype(np.float32 if kind == "RFFT" else np.complex64)
    same(lax.fft(narrow, kind, lengths), np.asarray(jlax.fft(narrow, kind, lengths)), 1e-4)


# ---- kernels by position, shapes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "options"),
    [
        (None, {}),
        (("NHWC", "HWIO", "NHWC"), {}),
        (("NHWC", "OIHW", "HWNC"), {"lhs_dilation": (2, 1), "padding": ((1, 0), (2, 1))}),
        (None, {"rhs_dilation": (1, 2)}),
    ],
)
def test_a_kernel_for_each_position(letters: Any, options: Any) -> None:
    options = dict(options)
    strides, window = (1, 2), (2, 3)
    padding = options.pop("padding", "SAME")
    x = RNG.normal(size=(2, 3, 5, 6))
    numbers = lax.conv_dimension_numbers(x.shape, (1, 1, 1, 1), letters)
    x = np.transpose(x, np.argsort(numbers.lhs_spec))
    patches = lax.conv_general_dilated_patches(
        x, window, strides, padding, dimension_numbers=letters, **options
    )
    _, features, *places = np.transpose(patches, numbers.out_spec).shape
    w = np.transpose(RNG.normal(size=(4, features, *places)), np.argsort(numbers.rhs_spec))
    held(
        lambda m: (
            lambda a, b: m.conv_general_dilated_local(
                a, b, strides, padding, window, dimension_numbers=letters, **options
            )
        ),
        x,
        w,
    )


def test_shapes_of_convolutions() -> None:
    images, kernel = (2, 3, 8, 9), (4, 3, 3, 2)
    letters = ("NCHW", "OIHW", "NCHW")
    for padding in ("SAME", "VALID", ((1, 0), (2, 2))):
        assert lax.conv_general_shape_tuple(images, kernel, (2, 1), padding, letters) == tuple(
            map(int, jlax.conv_general_shape_tuple(images, kernel, (2, 1), padding, letters))
        )
    pads = ((0, 0), (1, 1))
    assert lax.conv_shape_tuple(images, kernel, (1, 2), pads) == tuple(
        map(int, jlax.conv_shape_tuple(images, kernel, (1, 2), pads))
    )
    wanted = jlax.conv_transpose_shape_tuple(
        images, (3, 4, 3, 2), (2, 2), "SAME", ("NCHW", "IOHW", "NCHW")
    )
    got = lax.conv_transpose_shape_tuple(
        images, (3, 4, 3, 2), (2, 2), "SAME", ("NCHW", "IOHW", "NCHW")
    )
    assert got == tuple(map(int, wanted))
    for options in ({}, {"base_dilation": (2, 1)}, {"window_dilation": (1, 3)}):
        arguments = ((7, 9), (2, 3), (1, 2), ((0, 1), (1, 1)))
        got = lax.reduce_window_shape_tuple(*arguments, **options)
        assert got == tuple(map(int, jlax.reduce_window_shape_tuple(*arguments, **options)))
    for letters in (("NHWC", "HWIO", "NHWC"), ("NCW", "OIW", "WNC"), ("HNWC", "WIHO", "NHCW")):
        assert lax.conv_general_permutations(letters) == jlax.conv_general_permutations(letters)


# ---- groups of rows, stacks, ranks ---------------------------------------------------------------


def test_products_of_groups_of_rows() -> None:
    x, w, sizes = RNG.normal(size=(7, 3)), RNG.normal(size=(3, 3, 2)), np.array([2, 0, 4])
    ours, theirs = (lambda a, b, m=m: m.ragged_dot(a, b, sizes) for m in (lax, jlax))
    expected = np.asarray(theirs(x, w))
    same(ours(x, w), expected)
    same(fgrad.jit(ours)(x, w), expected)
    same(fgrad.vmap(ours)(np.stack([x, -x]), np.stack([w, w])), np.stack([expected, -expected]))
    weights = RNG.normal(size=expected.shape)
    for a, b in zip(
        fgrad.vjp(ours, x, w)[1](weights), jax.vjp(theirs, x, w)[1](weights), strict=True
    ):
        same(a, b)
    check_grads(ours, (x, w), 2)
    many = fgrad.vmap(lambda s: lax.ragged_dot(x, w, s))(np.array([[2, 0, 4], [1, 1, 1]]))
    same(many[1], np.asarray(jlax.ragged_dot(x, w, np.array([1, 1, 1]))))
    assert lax.ragged_dot(x, w, sizes, preferred_element_type=np.float32).dtype == np.float32


def test_stacks_and_ranks() -> None:
    for axis in (0, 1, -1):
        held(lambda m, axis=axis: lambda x: m.stack([x, 2.0 * x], axis), A)
        held(lambda m, axis=axis: lambda x: m.unstack(x, axis), A)
    held(lambda m: lambda x: m.broadcast_to_rank(x, 5), A)
    assert lax.broadcast_to_rank(A, 2).shape == A.shape
    held(lambda m: lambda x: m.broadcast_like(x, np.zeros((2, 3, 4, 5))), A)
    same(lax.empty((2, 3), np.float32), jlax.empty((2, 3), np.float32))
    for x in (1.0, 2, True, np.float32(1), A, np.int8, "int16"):
        assert lax.dtype(x) == jlax.dtype(x)


# ---- what platforms ask for ----------------------------------------------------------------------


def test_barriers_keep_values_and_slopes() -> None:
    tree = {"a": A, "b": (1.0, INTS)}
    got = lax.optimization_barrier(tree)
    for a, b in zip(fgrad.tree.leaves(got), fgrad.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(a, b)
    held(lambda m: lambda x: m.optimization_barrier(x) * 2.0, A)
    laid_out = lambda x: lax.with_sharding_constraint({"x": x}, fgrad.P("data"))["x"] * 2.0  # noqa: E731
    same(fgrad.jit(laid_out)(A), 2.0 * A)
    check_grads(laid_out, (A,), 2)


def test_the_function_for_this_platform() -> None:
    f = lambda x: lax.platform_dependent(x, cpu=fnp.sin, tpu=fnp.cos)  # noqa: E731
    assert float(f(0.0)) == 0.0
    assert float(fgrad.grad(fgrad.jit(f))(0.0)) == 1.0
    assert lax.platform_dependent(1.0, 2.0, cuda=min, default=max) == 2.0


@pytest.mark.parametrize("name", ["approx_max_k", "approx_min_k"])
def test_approximate_extrema_are_exact(name: str) -> None:
    for axis in (-1, 0, 1):
        held(lambda m, axis=axis: lambda x: getattr(m, name)(x, 2, axis)[0], A)
        for a, b in zip(
            getattr(lax, name)(A, 2, axis), getattr(jlax, name)(A, 2, axis), strict=True
        ):
            same(a, b)
    for a, b in zip(
        getattr(lax, name)(A, 2, 1, aggregate_to_topk=False),
        getattr(jlax, name)(A, 2, 1, aggregate_to_topk=False),
        strict=True,
    ):
        same(a, b)


def test_random_numbers_without_a_key() -> None:
    draw = fgrad.jit(lambda a, b: lax.rng_uniform(a, b, (1000,)))
    first, second = draw(2.0, 5.0), draw(2.0, 5.0)
    assert not np.array_equal(first, second)
    assert first.min() >= 2.0
    assert first.max() < 5.0
    assert abs(float(first.mean()) - 3.5) < 6 * 3 / np.sqrt(12 * 1000)
    assert draw(np.float32(0), np.float32(1)).dtype == np.float32
    whole = lax.rng_uniform(0, 3, (200,))
    assert whole.dtype == np.int64
    assert set(np.asarray(whole).tolist()) == {0, 1, 2}
    rows = fgrad.vmap(lambda b: lax.rng_uniform(0.0, b, (3,)))(np.array([1.0, 10.0]))
    assert rows.shape == (2, 3)
    with pytest.raises(NonDifferentiableError):
        fgrad.grad(lambda b: lax.rng_uniform(0.0, b, ()))(1.0)


def test_values_along_named_axes() -> None:
    x = RNG.normal(size=(4, 4, 2))
    got = fgrad.vmap(lambda v: lax.pswapaxes(v, "i", 0), axis_name="i")(x)
    same(got, np.swapaxes(x, 0, 1))
    same(got, jax.vmap(lambda v: jlax.pswapaxes(v, "i", 0), axis_name="i")(x))
    for to in ("varying", "reduced", "unreduced"):
        f = fgrad.vmap(lambda v, to=to: lax.pcast(v, "i", to=to), axis_name="i")
        same(f(x), x)
    same(fgrad.vmap(lambda v: lax.pvary({"v": v}, "i")["v"], axis_name="i")(x), x)
    with pytest.raises(UnboundAxisError, match="pcast"):
        lax.pcast(x, "i", to="varying")
    with pytest.raises(ArgumentError, match="pcast: to is 'fixed'"):
        fgrad.vmap(lambda v: lax.pcast(v, "i", to="fixed"), axis_name="i")(x)


def test_options_of_other_machines_are_taken() -> None:
    presets = (lax.DotAlgorithmPreset.BF16_BF16_F32, lax.Precision.HIGH, None)
    for precision in presets:
        same(lax.dot(A[0], A[0].T, precision=precision), A[0] @ A[0].T)
    names = {p.name for p in lax.DotAlgorithmPreset}
    assert names == {n for n in dir(jlax.DotAlgorithmPreset) if n[0].isupper()}
    assert {m.name for m in lax.AccuracyMode} <= set(dir(jlax.AccuracyMode))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: lax.bitcast_convert_type(np.ones((2, 3), np.int8), np.float32),
            ShapeError,
            r"4 elements of dtype int8 make one of float32.*not shape \(2, 3\)",
        ),
        (
            lambda: lax.bitcast_convert_type(np.array([True]), np.uint8),
            DTypeError,
            "takes integers and floats, got bool for uint8",
        ),
        (lambda: lax.bitcast_convert_type(A, complex), DTypeError, "got float64 for complex128"),
        (lambda: lax.reduce_precision(INTS, 5, 2), DTypeError, "reduce_precision: takes floats"),
        (lambda: lax.reduce_precision(A, 0, 2), ArgumentError, "exponent_bits is 0"),
        (
            lambda: lax.mulhi(INTS, INTS.astype(np.int8)),
            DTypeError,
            "of one dtype, got int64 and int8",
        ),
        (lambda: lax.clz(A), DTypeError, "clz: takes integers, got float64"),
        (lambda: lax.reduce_xor(A, (0,)), DTypeError, "reduce_xor: takes booleans or integers"),
        (lambda: lax.reduce_and(INTS, (3,)), AxisError, "reduce_and: axis 3"),
        (lambda: lax.reduce(A, (0.0, 1.0), lax.add, (0,)), ArgumentError, "1 operands and 2 init"),
        (lambda: lax.reduce(A, np.float32(0), lax.add, (0,)), DTypeError, "init_value float32"),
        (lambda: lax.reduce(A, A, lax.add, (0,)), ShapeError, "give operands of one shape"),
        (
            lambda: lax.reduce(A, 0.0, lambda a, b: (a, b), (0,)),
            ArgumentError,
            "must return 1 results, one for each operand, got 2",
        ),
        (lambda: lax.fft(A, "FFT", (4,)), ShapeError, r"for fft_lengths \(4,\) the last axes"),
        (lambda: lax.fft(Z, "RFFT", (5,)), DTypeError, "RFFT takes floats, got complex128"),
        (lambda: lax.fft(A, "DCT", (5,)), ArgumentError, "fft_type is 'DCT'"),
        (lambda: lax.fft(1.0, "FFT", (5,)), ArgumentError, r"for an array of shape \(\)"),
        (
            lambda: lax.conv_general_dilated_local(
                np.ones((1, 1, 4)), np.ones((1, 3, 3)), (1,), "VALID", (2,)
            ),
            ShapeError,
            "the kernels have 3 features in",
        ),
        (lambda: lax.conv_general_permutations(("NC",)), ArgumentError, "three strings"),
        (
            lambda: lax.reduce_window_shape_tuple((3,), (2, 2), (1,), "SAME"),
            ShapeError,
            "needs 1 numbers",
        ),
        (lambda: lax.ragged_dot(A, A, INTS), ShapeError, r"expected \(m, k\), \(g, k, n\)"),
        (
            lambda: lax.ragged_dot(np.ones((2, 3)), np.ones((1, 3, 2)), np.ones(1)),
            DTypeError,
            "group_sizes have dtype float64",
        ),
        (
            lambda: lax.ragged_dot(A[0], A, INTS[:, 0, 0], group_offset=1),
            ArgumentError,
            "group_offset must be None",
        ),
        (lambda: lax.stack([]), ArgumentError, "stack: need at least one array"),
        (lambda: lax.stack([A, INTS]), DTypeError, "stack: arrays of dtypes float64 and int64"),
        (lambda: lax.unstack(A, 3), AxisError, "unstack: axis 3"),
        (
            lambda: lax.platform_dependent(1.0, tpu=abs),
            ArgumentError,
            "there are functions for tpu",
        ),
        (lambda: lax.approx_max_k(A, 9), ArgumentError, "k is 9, but axis -1 has 5"),
        (lambda: lax.rng_uniform(A, 1.0, (2,)), ShapeError, "give scalars"),
        (lambda: lax.rng_uniform(0.0, 1j, (2,)), DTypeError, "give real numbers"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: type[FgradError], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "VALID", ((1, 2), (0, 3))])
def test_kinds_of_padding(padding: Any) -> None:
    for shape, window, strides in [((5, 8), (2, 3), (1, 2)), ((7, 4), (3, 2), (2, 3))]:
        got = lax.padtype_to_pads(shape, window, strides, padding)
        if isinstance(padding, str):
            expected = jlax.padtype_to_pads(shape, window, strides, padding)
        else:
            expected = padding
        assert [tuple(map(int, pair)) for pair in got] == [tuple(map(int, p)) for p in expected]


def test_the_value_of_one_example() -> None:
    x = RNG.normal(size=(4, 3))
    f = fgrad.vmap(lambda v: lax.pbroadcast(v, "i", 2), axis_name="i")
    same(f(x), np.broadcast_to(x[2], x.shape))
    same(fgrad.jit(f)(x), np.broadcast_to(x[2], x.shape))
    weights = RNG.normal(size=x.shape)
    slopes = fgrad.vjp(f, x)[1](weights)[0]
    same(slopes, np.where(np.arange(4)[:, None] == 2, weights.sum(0), 0.0))


def test_no_name_of_lax_escapes() -> None:
    """Every name of the namespace occurs in a test: as a function that is called, or in a table."""
    folder = Path(__file__).parent
    pages = [*folder.glob("test_*.py"), *(folder / "support").glob("*.py")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    called = set(re.findall(r"\b(?:lax|m|jlax)\.(\w+)", text))
    listed = {word for line in re.findall(r'"([\w ]+)"', text) for word in line.split()}
    types = {name for name in lax.__all__ if name[0].isupper()}
    assert sorted(set(lax.__all__) - called - listed - types) == []
