"""Keys and draws: the bits are JAX's, under every transform; refusals are in the user's words."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.modules import jax
from support.refusals import refusal

import fgrad
import fgrad.numpy as fnp
from fgrad import errors, random

FLOATS = ("float32", "float64", "float16")
SHAPES = ((), (2, 3))


def set_wide(wide: bool) -> None:
    jax.config.update("jax_enable_x64", wide)
    fgrad.config.update("fgrad_enable_x64", wide)


@pytest.fixture(params=[True, False], ids=["x64", "x32"])
def wide(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Both libraries with 64-bit types, or without."""
    set_wide(request.param)
    yield request.param
    set_wide(True)


@pytest.fixture(autouse=True)
def flags_as_before() -> Iterator[None]:
    yield
    fgrad.config.update("debug_key_reuse", False)
    fgrad.config.update("default_prng_impl", "threefry2x32")


def words(keys: Any) -> np.ndarray[Any, Any]:
    """The words of the keys of either library."""
    of_fgrad = isinstance(keys, random.PRNGKeyArray)
    return np.asarray(random.key_data(keys) if of_fgrad else jax.random.key_data(keys))


def same(got: Any, expected: Any) -> None:
    """Equal in dtype, shape and every bit."""
    a, b = np.asarray(got), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)


def near(got: Any, expected: Any, units: float = 64.0) -> None:
    """Equal but for the rounding of elementary functions."""
    a, b = np.asarray(got), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    eps = float(np.finfo(b.dtype).eps) * (8 if b.dtype in (np.float64, np.complex128) else 1)
    np.testing.assert_allclose(a, b, rtol=units * eps, atol=units * eps)


def both(name: str, *args: Any, seed: int = 5, **keywords: Any) -> tuple[Any, Any]:
    """The draw of fgrad and of JAX, from keys of one seed."""
    ours = getattr(random, name)(random.key(seed), *args, **keywords)
    theirs = getattr(jax.random, name)(jax.random.key(seed), *args, **keywords)
    return ours, theirs


# ---- keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 42, -1, -(2**31), 2**32 + 5, -(2**40), 2**63 - 1, True])
def test_the_key_of_a_seed(wide: bool, seed: int) -> None:
    same(words(random.key(seed)), words(jax.random.key(seed)))
    same(random.PRNGKey(seed), jax.random.PRNGKey(seed))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64"])
def test_the_key_of_a_seed_that_is_an_array(wide: bool, dtype: str) -> None:
    seed = np.array(3 if dtype == "uint32" else -3, dtype)
    same(words(random.key(seed)), words(jax.random.key(seed)))
    same(words(fgrad.jit(random.key)(seed)), words(jax.random.key(seed)))


def test_seeds_are_mapped_over() -> None:
    seeds = np.array([0, -7, 2**40])
    expected = np.stack([words(jax.random.key(int(seed))) for seed in seeds])
    same(words(fgrad.vmap(random.key)(seeds)), expected)
    same(fgrad.vmap(random.PRNGKey)(seeds), expected)


@pytest.mark.parametrize("num", [1, 300, (2, 3), (0,), ()])
def test_split(num: Any) -> None:
    ours, theirs = both("split", num)
    assert ours.shape == theirs.shape
    same(words(ours), words(theirs))
    same(random.split(random.PRNGKey(5), num), jax.random.split(jax.random.PRNGKey(5), num))


@pytest.mark.parametrize("data", [0, 1, 2**31, 2**32 - 1])
def test_fold_in(data: int) -> None:
    ours, theirs = both("fold_in", data)
    same(words(ours), words(theirs))
    legacy = random.fold_in(random.PRNGKey(5), data)
    same(legacy, words(theirs))


def test_fold_in_of_unknown_numbers_and_keys() -> None:
    key, steps = random.key(5), np.arange(4)
    expected = np.stack([words(jax.random.fold_in(jax.random.key(5), n)) for n in range(4)])
    same(words(fgrad.vmap(lambda n: random.fold_in(key, n))(steps)), expected)
    same(words(fgrad.jit(fgrad.vmap(lambda n: random.fold_in(key, n)))(steps)), expected)
    keys = random.split(key, 4)
    each = np.stack([words(random.fold_in(keys[n], n)) for n in range(4)])
    same(words(fgrad.vmap(random.fold_in)(keys, steps)), each)
    same(
        words(random.fold_in(key, np.int32(-3))),
        words(jax.random.fold_in(jax.random.key(5), np.int32(-3))),
    )


def test_typed_keys_look_like_arrays() -> None:
    keys = random.split(random.key(0), (2, 3))
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((2, 3), 2, 6, 2)
    assert (keys.itemsize, keys.nbytes) == (8, 48)
    assert str(keys.dtype) == "key<fry>"
    assert keys.dtype == random.key(1).dtype == random.key_dtype()
    assert fnp.issubdtype(keys.dtype, fgrad.dtypes.prng_key)
    assert fnp.issubdtype(keys.dtype, fgrad.dtypes.extended)
    assert not fnp.issubdtype(keys.dtype, np.integer)
    assert not fnp.issubdtype(np.uint32, fgrad.dtypes.prng_key)
    data = words(keys)
    same(words(keys[1, 2]), data[1, 2])
    same(words(keys[1]), data[1])
    same(words(keys[:, -1]), data[:, -1])
    same(words(keys[..., 0]), data[:, 0])
    same(words(keys[None]), data[None])
    same(words(keys[np.array([1, 0, 1])]), data[[1, 0, 1]])
    same(words(keys[keys == keys[0, 0]]), data[:1, 0])
    same(words(keys.reshape(3, 2)), data.reshape(3, 2, 2))
    same(words(keys.reshape((6,))), data.reshape(6, 2))
    same(words(keys.ravel()), data.reshape(6, 2))
    same(words(keys[:1].squeeze()), data[0])
    same(words(keys[:1].squeeze(0)), data[0])
    same(words(keys.T), data.transpose(1, 0, 2))
    same(words(keys.at[0, 1].set(keys[1, 1])[0, 1]), data[1, 1])
    same(words(keys.at[0, 1].set(keys[1, 1])[0, 0]), data[0, 0])
    rows = [words(row) for row in keys]
    same(np.stack(rows), data)
    first, second = random.split(random.key(0))
    same(np.stack([words(first), words(second)]), words(random.split(random.key(0))))


def test_keys_compare_copy_and_pickle() -> None:
    keys = random.split(random.key(0), 3)
    same(keys == keys[1], np.array([False, True, False]))
    same(keys != keys[1], np.array([True, False, True]))
    for other in (
        copy.copy(keys),
        copy.deepcopy(keys),
        pickle.loads(pickle.dumps(keys)),
        keys.copy(),
    ):
        assert other.dtype == keys.dtype
        same(words(other), words(keys))
    assert pickle.loads(pickle.dumps(keys.dtype)) == keys.dtype
    assert "shape=(3,), dtype=key<fry>" in repr(keys)


def test_keys_go_through_the_words_and_back() -> None:
    keys = random.split(random.key(3), 4)
    again = random.wrap_key_data(random.key_data(keys))
    same(words(again), words(keys))
    assert random.key_impl(keys) == random.key_impl(random.PRNGKey(0)) == "threefry2x32"
    assert random.key_impl(random.key(0, impl="philox")) == "philox"
    assert random.key_impl(random.PRNGKey(0, impl="philox")) == "philox"
    assert random.key(0, dtype=random.key_dtype("philox")).dtype == random.key_dtype("philox")
    fgrad.config.update("jax_default_prng_impl", "philox")
    assert random.key_impl(random.key(0)) == "philox"
    assert random.key(0).dtype != keys.dtype


def test_keys_go_through_transforms() -> None:
    keys = random.split(random.key(0), 3)
    swapped = fgrad.jit(lambda ks: {"last": ks[-1], "all": ks[::-1]})(keys)
    same(words(swapped["all"]), words(keys)[::-1])
    same(words(swapped["last"]), words(keys)[-1])
    mapped = fgrad.vmap(lambda k: random.split(k, 2))(keys)
    assert mapped.shape == (3, 2)
    same(words(mapped), np.stack([words(random.split(k)) for k in keys]))
    assert fgrad.tree.leaves(keys)[0].shape == (3, 2)
    out = fgrad.eval_shape(lambda k: random.split(k, 5), random.key(0))
    assert out.shape == (5,)


def test_keys_go_through_loops_and_branches() -> None:
    def step(key: Any, x: Any) -> Any:
        key, subkey = random.split(key)
        return key, x + random.normal(subkey)

    last, draws = fgrad.lax.scan(step, random.key(0), np.zeros(3))
    key, expected = random.key(0), []
    for _ in range(3):
        key, x = step(key, 0.0)
        expected.append(float(x))
    same(words(last), words(key))
    same(draws, np.array(expected))
    keys = random.split(random.key(1), 3)
    mapped = fgrad.lax.scan(lambda total, k: (total, random.uniform(k)), 0.0, keys)[1]
    same(mapped, np.stack([np.asarray(random.uniform(k)) for k in keys]))
    chosen = fgrad.jit(
        lambda p, k: fgrad.lax.cond(p, lambda k: k, lambda k: random.fold_in(k, 1), k)
    )
    same(words(chosen(True, keys[0])), words(keys[0]))
    same(words(chosen(False, keys[0])), words(random.fold_in(keys[0], 1)))
    noise = fgrad.lax.fori_loop(
        0, 3, lambda i, x: x + random.normal(random.fold_in(keys[0], i)), 0.0
    )
    total = sum(float(random.normal(random.fold_in(keys[0], i))) for i in range(3))
    np.testing.assert_allclose(noise, total, rtol=1e-15)
    slope = fgrad.grad(lambda a: fgrad.checkpoint(lambda a: a * random.normal(keys[0]))(a))(2.0)
    np.testing.assert_allclose(slope, float(random.normal(keys[0])))


# ---- the bits of JAX -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_bits(dtype: str) -> None:
    for shape in SHAPES:
        same(*both("bits", shape, dtype))


def test_bits_of_the_usual_dtype(wide: bool) -> None:
    same(*both("bits", (2, 3)))
    assert random.bits(random.key(0), (), "uint64").dtype == (np.uint64 if wide else np.uint32)


@pytest.mark.parametrize("shape", [(20_000,), (3, 7001)])
def test_bits_of_many_blocks(shape: tuple[int, ...]) -> None:
    same(*both("bits", shape, "uint32"))
    same(*both("bits", shape, "uint64"))


def test_the_counter_has_two_words() -> None:
    from fgrad.primitives import threefry

    key = np.array([[3, 4]], np.uint32)
    low = np.array([7], np.uint32)
    pairs = [(0, 7), (5, 7)]
    for high, counter in pairs:
        x0, x1 = threefry.encrypt(key[:, 0], key[:, 1], np.array([high], np.uint32), low)
        assert (int(x0[0]), int(x1[0])) == threefry.encrypt_words(3, 4, high, counter)


def test_the_published_answers_of_threefry() -> None:
    # Known answers that come with the paper's implementation, for Threefry-2x32 of 20 rounds.
    from fgrad.primitives.threefry import encrypt_words

    ones = 0xFFFFFFFF
    assert encrypt_words(0, 0, 0, 0) == (0x6B200159, 0x99BA4EFE)
    assert encrypt_words(ones, ones, ones, ones) == (0x1CB996FC, 0xBB002BE7)
    assert encrypt_words(0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3) == (0xC4923A9C, 0x483DF7A0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform(dtype: str) -> None:
    for shape in SHAPES:
        same(*both("uniform", shape, dtype))
    # An exact width, and a range that starts at zero.
    for low, high in ((-1.0, 1.0), (0.0, 0.1)):
        same(*both("uniform", (20_000,), dtype, low, high))
    low, high = np.array([0.1, -2.0, 3.0]), np.array([[1.0], [5.0]])
    near(*both("uniform", (2, 3), dtype, low, high), units=1)


def test_uniform_of_the_usual_dtype(wide: bool) -> None:
    same(*both("uniform", (2, 3)))


BOUNDS = ((-3.0, 7.3), (1.1, 1.7))
REFERENCE = f"""
import sys, jax, numpy as np
jax.config.update("jax_enable_x64", True)
key = jax.random.key(5)
draws = [
    np.asarray(jax.random.uniform(key, (20_000,), dtype, *bounds), float)
    for dtype in ("float32", "float64") for bounds in {BOUNDS}
]
np.save(sys.argv[1], draws)
"""


def test_uniform_between_bounds_is_rounded_once_as_in_optimised_code(tmp_path: Path) -> None:
    """XLA's optimiser, which other tests do without, fuses the product and the sum."""
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    file = tmp_path / "draws.npy"
    subprocess.run([sys.executable, "-c", REFERENCE, str(file)], env=environment, check=True)
    expected = iter(np.load(file))
    for dtype in ("float32", "float64"):
        for low, high in BOUNDS:
            got = random.uniform(random.key(5), (20_000,), dtype, low, high)
            same(np.asarray(got, float), next(expected))


def test_uniform_between_bounds_is_rounded_once() -> None:
    units = np.asarray(random.uniform(random.key(9), (300,)))
    low, high = 0.1, 3.7
    exact = [Fraction(low) + Fraction(u) * Fraction(high - low) for u in units]
    same(random.uniform(random.key(9), (300,), None, low, high), [float(x) for x in exact])
    many = random.uniform(random.key(9), (300,), None, np.full(300, low), high)
    same(many, [float(x) for x in exact])


RANGES = [(0, 10), (-5, 300), (3, 3), (7, 2), (-1000, 2**31 - 1), (0, 2**31 - 1)]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", None])
def test_randint(dtype: str | None) -> None:
    for low, high in RANGES:
        same(*both("randint", (50,), low, high, dtype))
    low = np.array([0, -3, 200], np.int32)
    high = np.array([[100], [70000], [2**31 - 1]], np.int32)
    same(*both("randint", (3, 3), low, high, dtype))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_randint_of_wide_ranges(dtype: str) -> None:
    for low, high in [(-(2**31), 2**31), (-(2**63), 2**63 - 1), (0, 2**32), (5, 2**63 - 1)]:
        same(*both("randint", (50,), low, high, dtype))
    high = np.array([2**31, 2**32, 10, -5, 2**62])
    same(*both("randint", (5,), 0, high, dtype))


def test_randint_of_the_whole_range_ends_where_its_dtype_does() -> None:
    draws = np.asarray(random.randint(random.key(0), (4000,), -128, 128, "int8"))
    assert draws.min() == -128
    assert draws.max() == 127
    whole = np.asarray(random.randint(random.key(0), (50,), 0, 2**64, "uint64"))
    same(whole, random.bits(random.split(random.key(0))[1], (50,), "uint64"))


def test_bernoulli_and_rademacher() -> None:
    for mode in ("low", "high"):
        same(*both("bernoulli", 0.3, (100,), mode))
    same(*both("bernoulli", np.array([0.1, 0.9], np.float32)))
    same(*both("bernoulli", np.array([0.1, 0.9]), (3, 2)))
    same(*both("rademacher", (100,)))
    same(*both("rademacher", (100,), "float32"))


MATRIX = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "args",
    [(10,), (0,), (3000,), (MATRIX,), (MATRIX, 1), (MATRIX, 1, True), (MATRIX, -2, True)],
    ids=lambda args: "-".join(str(np.shape(a) or a) for a in args),
)
def test_permutation(args: tuple[Any, ...]) -> None:
    same(*both("permutation", *args))


WEIGHTS = np.random.default_rng(0).random(100)


@pytest.mark.parametrize(
    ("args", "keywords"),
    [
        ((10, (20,)), {}),
        ((MATRIX, (2, 2)), {}),
        ((MATRIX, (2, 2)), {"axis": 1}),
        ((MATRIX, (2,)), {"replace": False}),
        ((MATRIX, (2,)), {"replace": False, "axis": 1}),
        ((100, (2, 3)), {"replace": False}),
        ((100, (50, 2)), {"p": WEIGHTS}),
        ((100, (50,)), {"p": WEIGHTS, "replace": False}),
        ((100, (50,)), {"p": WEIGHTS, "replace": False, "mode": "high"}),
        ((WEIGHTS, ()), {"p": WEIGHTS}),
        ((WEIGHTS.reshape(1, 100), (3, 2)), {"p": WEIGHTS, "axis": 1}),
        ((WEIGHTS, (0,)), {}),
    ],
    ids=map(str, range(12)),
)
def test_choice(args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    same(*both("choice", *args, **keywords))


LOGITS = np.log(np.random.default_rng(1).random((4, 5)))


@pytest.mark.parametrize("axis", [0, -1])
def test_categorical(axis: int) -> None:
    rows = (5,) if axis == 0 else (4,)
    same(*both("categorical", LOGITS, axis))
    same(*both("categorical", LOGITS, axis, (3, 2, *rows)))
    same(*both("categorical", LOGITS, axis, (3, *rows), replace=False))
    same(*both("categorical", LOGITS, axis, mode="high"))
    same(*both("categorical", LOGITS[:1], 1, (7,)))


PLAIN = ("normal", "exponential", "laplace", "cauchy", "logistic", "gumbel", "maxwell")


@pytest.mark.parametrize("name", PLAIN)
def test_numbers_without_parameters(name: str) -> None:
    for dtype in ("float32", None):
        near(*both(name, (200,), dtype))


@pytest.mark.parametrize("name", ["normal", "exponential", "gumbel"])
def test_numbers_of_float16(name: str) -> None:
    got, expected = both(name, (200,), "float16")
    assert got.dtype == np.float16
    # JAX computes in float32 and rounds once.
    np.testing.assert_allclose(np.float32(got), np.float32(expected), rtol=1e-2, atol=1e-2)


WITH_PARAMETERS: list[tuple[str, tuple[Any, ...]]] = [
    ("truncated_normal", (-1.0, 2.0)),
    ("truncated_normal", (np.array([-1.0, 0.5]), np.array([[2.0], [0.7]]))),
    ("rayleigh", (2.0,)),
    ("pareto", (np.array([2.0, 0.5]),)),
    ("triangular", (0.0, 0.5, 2.0)),
    ("lognormal", (np.array([0.5, 2.0]),)),
]


@pytest.mark.parametrize(("name", "args"), WITH_PARAMETERS)
def test_numbers_with_parameters(name: str, args: tuple[Any, ...]) -> None:
    shape = (6, *np.broadcast_shapes(*map(np.shape, args)))
    near(*both(name, *args, shape))
    narrow_args = [np.float32(a) for a in args]
    near(*both(name, *narrow_args, shape, "float32"))


def test_more_numbers_with_parameters() -> None:
    near(*both("weibull_min", 2.0, 1.5, (20,)))
    near(*both("weibull_min", np.array([2.0, 1.0]), 0.5, (3, 2)))
    near(*both("double_sided_maxwell", 0.5, 2.0, (20,)))
    near(*both("gumbel", (200,), None, "high"))
    near(*both("normal", (20,), "complex64"))


@pytest.fixture
def narrow() -> Iterator[None]:
    """Both libraries without 64-bit types."""
    set_wide(False)
    yield
    set_wide(True)


def test_without_64_bit_types(narrow: None) -> None:
    for low, high in RANGES:
        same(*both("randint", (50,), low, high))
    same(*both("bernoulli", 0.3, (100,)))
    same(*both("permutation", 10))
    same(*both("choice", 100, (50, 2), p=WEIGHTS))
    same(*both("categorical", LOGITS))
    near(*both("normal", (200,)))


# ---- transforms ----------------------------------------------------------------------------------

DRAWS: dict[str, Callable[[Any], Any]] = {
    "bits": lambda k: random.bits(k, (5,)),
    "split": lambda k: random.key_data(random.split(k, 3)),
    "fold_in": lambda k: random.key_data(random.fold_in(k, 9)),
    "uniform": lambda k: random.uniform(k, (5,)),
    "uniform_between": lambda k: random.uniform(k, (5,), minval=-3.0, maxval=7.3),
    "float32": lambda k: random.normal(k, (5,), "float32"),
    "scalar": lambda k: random.normal(k),
    "empty": lambda k: random.normal(k, (0, 3)),
    "normal": lambda k: random.normal(k, (2, 3)),
    "randint": lambda k: random.randint(k, (5,), 0, 1000),
    "permutation": lambda k: random.permutation(k, 6),
    "choice": lambda k: random.choice(k, 6, (4,), p=WEIGHTS[:6]),
    "bernoulli": lambda k: random.bernoulli(k, 0.4, (5,)),
    "categorical": lambda k: random.categorical(k, LOGITS),
    "truncated_normal": lambda k: random.truncated_normal(k, -1.0, 1.0, (5,)),
}


@pytest.mark.parametrize("impl", ["threefry2x32", "philox"])
@pytest.mark.parametrize("name", DRAWS)
def test_maps_and_compiled_functions_draw_the_same(name: str, impl: str) -> None:
    draw = DRAWS[name]
    keys = random.split(random.key(3, impl=impl), 4)
    loop = np.stack([np.asarray(draw(key)) for key in keys])
    same(fgrad.vmap(draw)(keys), loop)
    same(fgrad.jit(fgrad.vmap(draw))(keys), loop)
    same(fgrad.vmap(fgrad.jit(draw))(keys), loop)
    same(fgrad.jit(draw)(keys[1]), loop[1])
    same(draw(random.key_data(keys)[1]), loop[1])
    same(fgrad.vmap(fgrad.vmap(draw))(keys.reshape(2, 2)), loop.reshape(2, 2, *loop.shape[1:]))
    same(draw(keys[1]), loop[1])


def test_a_map_over_many_keys_with_few_draws_and_over_few_keys_with_many() -> None:
    for count, size in ((5000, 7), (3, 9000)):
        keys = random.split(random.key(3), count)
        mapped = np.asarray(fgrad.vmap(lambda k, n=size: random.bits(k, (n,), "uint32"))(keys))
        for n in (0, 1, count - 1):
            same(mapped[n], random.bits(keys[n], (size,), "uint32"))


def test_compiled_functions_draw_from_unknown_keys_anew() -> None:
    f = fgrad.jit(lambda k: random.normal(k, (3,)))
    for seed in (0, 1):
        same(f(random.key(seed)), random.normal(random.key(seed), (3,)))


def test_large_draws_of_known_keys_are_no_constants_of_compiled_functions() -> None:
    key = random.key(0)
    program = fgrad.make_jaxpr(lambda: random.normal(key, (5000,)))()
    assert "random_normals" in str(program)
    same(fgrad.jit(lambda: random.normal(key, (5000,)))(), random.normal(key, (5000,)))


def test_draws_do_not_depend_on_the_past() -> None:
    before = random.normal(random.key(0), (3,))
    random.normal(random.key(1), (100,))
    same(random.normal(random.key(0), (3,)), before)


# ---- derivatives ---------------------------------------------------------------------------------


def test_derivatives_towards_parameters_are_jaxs() -> None:
    cases: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("uniform", lambda r, k, a, b: r.uniform(k, (4,), None, a, b), (-1.0, 2.5)),
        ("normal", lambda r, k, a, b: a + b * r.normal(k, (4,)), (-1.0, 2.5)),
        ("truncated", lambda r, k, a, b: r.truncated_normal(k, a, b, (4,)), (-1.0, 2.5)),
        ("rayleigh", lambda r, k, a: r.rayleigh(k, a, (4,)), (1.5,)),
        ("weibull", lambda r, k, a, b: r.weibull_min(k, a, b, (4,)), (1.5, 0.7)),
        ("lognormal", lambda r, k, a: r.lognormal(k, a, (4,)), (1.5,)),
        ("triangular", lambda r, k, a, b, c: r.triangular(k, a, b, c, (4,)), (0.0, 0.5, 2.0)),
    ]
    for name, f, args in cases:
        places = tuple(range(len(args)))
        ours = fgrad.grad(lambda *xs, f=f: (f(random, random.key(2), *xs) ** 2).sum(), places)(
            *args
        )
        theirs = jax.grad(
            lambda *xs, f=f: (f(jax.random, jax.random.key(2), *xs) ** 2).sum(), places
        )(*args)
        np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=1e-9, err_msg=name)


def test_permuted_and_chosen_elements_have_derivatives() -> None:
    x = np.array([1.0, 2.0, 3.0])
    weights = np.array([1.0, 10.0, 100.0])
    order = np.asarray(random.permutation(random.key(1), 3))
    slope = fgrad.grad(lambda x: (weights * random.permutation(random.key(1), x)).sum())(x)
    expected = np.zeros(3)
    expected[order] = weights
    same(slope, expected)
    picks = np.asarray(random.choice(random.key(1), 3, (5,)))
    counts = fgrad.grad(lambda x: random.choice(random.key(1), x, (5,)).sum())(x)
    same(counts, np.bincount(picks, minlength=3).astype(float))


def test_a_crossed_range_has_the_derivative_of_its_lower_bound() -> None:
    slopes = fgrad.grad(lambda a, b: random.uniform(random.key(0), (3,), None, a, b).sum(), (0, 1))(
        2.0, 1.0
    )
    assert [float(s) for s in slopes] == [3.0, 0.0]


# ---- philox --------------------------------------------------------------------------------------


def test_philox_draws_are_numpys() -> None:
    key = random.key(11, impl="philox")
    w = words(key).astype(np.uint64)
    pair = w[0::2] << np.uint64(32) | w[1::2]
    source = np.random.Generator(np.random.Philox(key=pair, counter=0))
    same(random.uniform(key, (1000,)), source.random(1000))
    source = np.random.Generator(np.random.Philox(key=pair, counter=0))
    same(random.normal(key, (1000,), "float32"), source.standard_normal(1000, np.float32))


@pytest.mark.parametrize("dtype", FLOATS)
def test_philox_numbers_have_their_distribution(dtype: str) -> None:
    from scipy import stats

    keys = random.split(random.key(4, impl="philox"), 3)
    units = np.asarray(random.uniform(keys[0], (20_000,), dtype), float)
    assert units.min() >= 0.0
    assert units.max() < 1.0
    assert stats.kstest(units, "uniform").pvalue > 1e-4
    assert (
        stats.kstest(np.asarray(random.normal(keys[1], (20_000,), dtype), float), "norm").pvalue
        > 1e-4
    )
    counts = np.bincount(np.asarray(random.randint(keys[2], (20_000,), 0, 10)), minlength=10)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_philox_keys_do_not_meet() -> None:
    key = random.key(0, impl="philox")
    made = [words(key), *words(random.split(key, 50))]
    made += [words(random.fold_in(key, n)) for n in range(50)]
    made += [words(random.key(n, impl="philox")) for n in range(1, 50)]
    assert len({tuple(w.tolist()) for w in made}) == len(made)


# ---- initializers --------------------------------------------------------------------------------

INITIALIZERS: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...], str]] = [
    ("glorot_uniform", (), {}, (3, 4), "float64"),
    ("glorot_normal", (), {"in_axis": 0, "out_axis": 2}, (3, 4, 5), "float32"),
    ("xavier_uniform", (), {}, (3, 4), "float32"),
    ("xavier_normal", (), {}, (3, 4), "float64"),
    ("lecun_uniform", (), {}, (3, 4), "float32"),
    ("lecun_normal", (), {}, (3, 4), "float64"),
    ("he_uniform", (), {}, (3, 4), "float32"),
    ("he_normal", (), {}, (3, 4), "float64"),
    ("kaiming_uniform", (), {}, (3, 4), "float32"),
    ("kaiming_normal", (), {}, (3, 4), "float64"),
    ("variance_scaling", (2.0, "fan_out", "normal"), {"batch_axis": 0}, (3, 4, 5), "float64"),
    ("variance_scaling", (2.0, "fan_avg", "uniform"), {}, (3, 4, 5), "float64"),
    ("variance_scaling", (2.0, "fan_geo_avg", "truncated_normal"), {}, (3, 4), "float64"),
    ("variance_scaling", (2.0, "fan_in", "normal"), {}, (3, 4), "complex128"),
    ("variance_scaling", (2.0, "fan_in", "uniform"), {}, (3, 4), "complex128"),
    ("variance_scaling", (2.0, "fan_in", "truncated_normal"), {}, (3, 4), "complex128"),
    ("uniform", (0.5,), {}, (3, 4), "float32"),
    ("normal", (0.5,), {}, (3, 4), "float64"),
    ("truncated_normal", (0.5,), {"lower": -1.0, "upper": 3.0}, (3, 4), "float64"),
    ("orthogonal", (2.0,), {}, (2, 3, 4), "float64"),
    ("orthogonal", (2.0,), {"column_axis": 0}, (4, 3), "float64"),
    ("delta_orthogonal", (2.0,), {}, (3, 4, 4, 5), "float64"),
]


@pytest.mark.parametrize("case", range(len(INITIALIZERS)))
def test_initializers_give_jaxs_numbers(case: int) -> None:
    name, args, keywords, shape, dtype = INITIALIZERS[case]
    ours = getattr(fgrad.nn.initializers, name)(*args, **keywords)
    theirs = getattr(jax.nn.initializers, name)(*args, **keywords)
    expected = theirs(jax.random.key(3), shape, dtype)
    near(ours(random.key(3), shape, dtype), expected)
    near(ours(random.PRNGKey(3), shape, dtype), expected)
    usual = getattr(fgrad.nn.initializers, name)(*args, **keywords, dtype=dtype)
    near(fgrad.jit(usual, static_argnums=1)(random.key(3), shape), expected)


# ---- refusals ------------------------------------------------------------------------------------

KEY = random.key(0)
KEYS = random.split(KEY, 3)
INIT = fgrad.nn.initializers

refused = [
    (lambda: random.normal(0), errors.NonArrayError, "normal", "key is 0"),
    (lambda: random.normal(None), errors.NonArrayError, "normal", "random.key(seed)"),
    (lambda: random.normal([0, 1]), errors.NonArrayError, "normal", "a list of 2 items"),
    (lambda: random.normal(np.zeros(2)), errors.DTypeError, "float64", "uint32"),
    (lambda: random.normal(np.zeros(3, np.uint32)), errors.ShapeError, "(3,)", "two words"),
    (lambda: random.normal(KEYS), errors.ShapeError, "(3,)", "fgrad.vmap"),
    (lambda: fgrad.vmap(random.normal)(KEY), errors.ShapeError, "mapped over", "split"),
    (lambda: random.split(KEYS), errors.ShapeError, "split", "(3,)"),
    (lambda: random.split(KEY, -1), errors.ShapeError, "num", "negative"),
    (lambda: random.fold_in(KEY, 1.5), errors.DTypeError, "fold_in", "1.5"),
    (lambda: random.fold_in(KEY, -1), errors.ArgumentError, "fold_in", "-1"),
    (lambda: random.fold_in(KEY, np.arange(3)), errors.ShapeError, "(3,)", "vmap"),
    (lambda: random.fold_in(KEYS, 1), errors.ShapeError, "fold_in", "(3,)"),
    (lambda: random.key(1.5), errors.DTypeError, "seed", "1.5"),
    (lambda: random.key(2**64), errors.ArgumentError, "seed", "64 bits"),
    (lambda: random.key(np.arange(2)), errors.ShapeError, "seed", "(2,)"),
    (lambda: random.key(KEY), errors.DTypeError, "key", "seed"),
    (lambda: random.key(0, impl="mersenne"), errors.ArgumentError, "mersenne", "philox"),
    (lambda: random.wrap_key_data(np.zeros((3, 3), np.uint32)), errors.ShapeError, "(3, 3)", "2"),
    (lambda: random.wrap_key_data(np.zeros(2)), errors.DTypeError, "float64", "uint32"),
    (lambda: random.uniform(KEY, (), "int32"), errors.DTypeError, "uniform", "int32"),
    (lambda: random.uniform(KEY, None), errors.ShapeError, "shape is None", "()"),
    (lambda: random.uniform(KEY, (2,), minval=np.zeros(3)), errors.ShapeError, "minval", "(3,)"),
    (lambda: random.bits(KEY, (), "int32"), errors.DTypeError, "bits", "int32"),
    (lambda: random.randint(KEY, (), 0, 5, "float32"), errors.DTypeError, "randint", "float32"),
    (lambda: random.bernoulli(KEY, 1), errors.DTypeError, "bernoulli", "1.0"),
    (lambda: random.bernoulli(KEY, 0.5, (), "middle"), errors.ArgumentError, "middle", "'low'"),
    (lambda: random.choice(KEY, 3, (5,), False), errors.ArgumentError, "5 of 3", "replace=True"),
    (lambda: random.choice(KEY, 3, (5,), p=np.ones(4)), errors.ShapeError, "(4,)", "3"),
    (lambda: random.choice(KEY, 2, p=np.array([1, -1])), errors.ArgumentError, "p", "-1"),
    (lambda: random.choice(KEY, 0, (5,)), errors.ArgumentError, "choice", "no elements"),
    (lambda: random.choice(KEY, 2.5), errors.DTypeError, "choice", "2.5"),
    (lambda: random.permutation(KEY, 2.5), errors.DTypeError, "permutation", "integer"),
    (lambda: random.permutation(KEY, np.ones(3), 1), errors.AxisError, "permutation", "1"),
    (lambda: random.categorical(KEY, np.arange(3)), errors.DTypeError, "logits", "int64"),
    (lambda: random.categorical(KEY, np.zeros((2, 3)), shape=(3,)), errors.ShapeError, "(2,)", "(3,)"),
    (lambda: random.categorical(KEY, np.zeros(3), shape=(4,), replace=False), errors.ArgumentError, "4", "3"),
    (lambda: random.rayleigh(KEY, -1.0), errors.ArgumentError, "scale", "-1"),
    (lambda: random.pareto(KEY, 0.0), errors.ArgumentError, "b", "greater than 0"),
    (lambda: random.lognormal(KEY, np.ones(3), (2,)), errors.ShapeError, "sigma", "(3,)"),
    (lambda: random.triangular(KEY, 0.0, 3.0, 2.0), errors.ArgumentError, "right - mode", "-1"),
    (lambda: INIT.glorot_normal()(KEY, (3,)), errors.ShapeError, "two axes", "(3,)"),
    (lambda: INIT.normal()(KEY, (3,), "int32"), errors.DTypeError, "normal", "int32"),
    (lambda: INIT.variance_scaling(1.0, "fan", "normal"), errors.ArgumentError, "'fan'", "fan_in"),
    (lambda: INIT.orthogonal()(KEY, (3,)), errors.ShapeError, "orthogonal", "(3,)"),
    (lambda: INIT.delta_orthogonal()(KEY, (3, 3, 2)), errors.ShapeError, "last axis", "(3, 3, 2)"),
    (lambda: len(KEY), errors.ShapeError, "single key", "split"),
    (lambda: iter(KEY), errors.ShapeError, "unpacked", "split"),
    (lambda: KEYS[0, 1], errors.ShapeError, "(3,)", "key_data"),
    (lambda: np.asarray(KEY), errors.DTypeError, "key_data", "numbers"),
    (lambda: fnp.add(KEY, 1), errors.DTypeError, "key_data", "numbers"),
    (lambda: random.PRNGKeyArray(), errors.ArgumentError, "fgrad.random.key", "split"),
    (lambda: KEYS.at[0].set(3), errors.DTypeError, "key<fry>", "3"),
    (lambda: KEY == random.key(0, impl="philox"), errors.DTypeError, "key<philox>", "key<fry>"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(refused)))
def test_refusals_are_in_the_users_words(case: int) -> None:
    run, kind, *parts = refused[case]
    refusal(kind, run, *parts, file=__file__)


# ---- reuse ---------------------------------------------------------------------------------------


def test_reuse_of_a_key_is_reported() -> None:
    fgrad.config.update("jax_debug_key_reuse", True)
    key = random.key(0)
    random.normal(key)
    with pytest.raises(errors.KeyReuseError, match=r"by normal at test_random.py"):
        random.uniform(key)
    with pytest.raises(errors.KeyReuseError):
        random.split(key)
    random.normal(random.clone(key))
    keys = random.split(random.key(1), 3)
    random.normal(keys[0])
    random.normal(keys[1])
    with pytest.raises(errors.KeyReuseError):
        random.normal(keys[0])
    with pytest.raises(errors.KeyReuseError):
        random.normal(keys[-3])
    key = random.key(2)
    for step in range(3):
        random.normal(random.fold_in(key, step))


def test_reuse_inside_of_transformed_functions_is_reported() -> None:
    fgrad.config.update("fgrad_debug_key_reuse", True)

    def twice(key: Any) -> Any:
        return random.normal(key) + random.normal(key)

    for f in (fgrad.jit(twice), lambda key: fgrad.vmap(twice)(random.split(key))):
        with pytest.raises(errors.KeyReuseError):
            f(random.key(0))


def test_other_bits_than_those_of_the_partitionable_form_are_refused() -> None:
    fgrad.config.update("jax_threefry_partitionable", True)
    with pytest.raises(errors.ConfigError, match="threefry_partitionable"):
        fgrad.config.update("jax_threefry_partitionable", False)


def test_without_the_flag_keys_may_be_used_again() -> None:
    key = random.key(0)
    same(random.normal(key), random.normal(key))


# ---- bfloat16 ------------------------------------------------------------------------------------


def test_draws_of_bfloat16() -> None:
    for name in ("uniform", "exponential", "cauchy", "gumbel", "logistic"):
        ours, theirs = both(name, (200,), "bfloat16")
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(
            np.asarray(ours, float), np.asarray(theirs, float), rtol=0.02, atol=0.02
        )
    same(*both("uniform", (200,), "bfloat16"))
    ours, theirs = both("normal", (200,), "bfloat16")
    np.testing.assert_allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=0.01)
    units = np.asarray(random.uniform(random.key(0, impl="philox"), (9000,), "bfloat16"), float)
    assert units.max() < 1.0
    assert abs(units.mean() - 0.5) < 0.02
    weights = fgrad.nn.initializers.normal(0.1)(random.key(0), (3, 4), "bfloat16")
    assert weights.dtype == ours.dtype
    with pytest.raises(errors.DTypeError, match="float8"):
        random.normal(random.key(0), (3,), "float8_e4m3fn")


def test_a_compiled_function_follows_the_default_implementation() -> None:
    f = fgrad.jit(lambda seed: fgrad.random.key_data(fgrad.random.key(seed)))
    threefry = f(3)
    assert threefry.shape == (2,)
    fgrad.config.update("fgrad_default_prng_impl", "philox")
    try:
        np.testing.assert_array_equal(f(3), fgrad.random.key_data(fgrad.random.key(3)))
        assert "default_prng_impl has changed" in f.explain_misses()[-1]
    finally:
        fgrad.config.update("fgrad_default_prng_impl", "threefry2x32")
    np.testing.assert_array_equal(f(3), threefry)
    assert f.cache_info().misses == 2
