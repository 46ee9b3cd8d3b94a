"""Fourier transforms beyond the oracle's table: lengths, axes, norms, dtypes, transposes, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.modules import jax, jnp

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, AxisError, DTypeError, ShapeError

NORMS = (None, "backward", "ortho", "forward")
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY_AXES = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
OF_REAL_NUMBERS = frozenset(("rfft", "ihfft", "rfftn", "rfft2"))
RNG = np.random.default_rng(3)


def numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    values = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.normal(size=shape)
    if np.dtype(dtype).kind in "biu":
        values = values > 0
    return np.asarray(values, dtype)


def agree(got: Any, want: Any, given: Any = None) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    narrow = want.dtype in (np.float16, np.float32, np.complex64)
    tolerance = 1e-2 if want.dtype == np.float16 else 1e-5 if narrow else 1e-12
    if given == np.float16:
        # NumPy scales by a factor in half precision, which fgrad does not.
        tolerance = max(tolerance, float(np.finfo(np.float16).eps))
    scale = np.abs(want).max(initial=1.0)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


@given(data=st.data())
def test_one_axis_agrees_with_numpy(tally: Any, data: st.DataObject) -> None:
    tally.require(20)
    name = data.draw(st.sampled_from(ONE_AXIS))
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = data.draw(st.one_of(st.none(), st.integers(1, 9)))
    norm = data.draw(st.sampled_from(NORMS))
    dtypes = ["float64", "float32", "int32", "bool"]
    dtypes += [] if name in OF_REAL_NUMBERS else ["complex64", "complex128", "float16"]
    x = numbers(shape, data.draw(st.sampled_from(dtypes)))
    if n is None and name in ("irfft", "hfft") and shape[axis] == 1:
        with pytest.raises(ArgumentError):
            getattr(fnp.fft, name)(x, n, axis, norm)
        return
    want = getattr(np.fft, name)(x, n, axis, norm)
    agree(getattr(fnp.fft, name)(x, n, axis, norm), want, x.dtype)
    agree(fgrad.jit(lambda a: getattr(fnp.fft, name)(a, n, axis, norm))(x), want, x.dtype)
    stacked = fgrad.vmap(lambda a: getattr(fnp.fft, name)(a, n, axis, norm), in_axes=-1)(
        np.stack([x, x], -1)
    )
    agree(stacked[1], want, x.dtype)
    tally.count()


@given(data=st.data())
def test_many_axes_agree_with_numpy(tally: Any, data: st.DataObject) -> None:
    tally.require(20)
    name = data.draw(st.sampled_from(MANY_AXES))
    shape = tuple(data.draw(st.lists(st.integers(2, 5), min_size=2, max_size=3)))
    rank = len(shape)
    order = data.draw(st.permutations(range(-rank, 0)))
    axes = tuple(order[: 2 if name.endswith("2") else data.draw(st.integers(1, rank))])
    s = None
    if data.draw(st.booleans()):
        s = tuple(data.draw(st.integers(1, 6)) for _ in axes)
    norm = data.draw(st.sampled_from(NORMS))
    dtypes = ["float64", "float32"] + ([] if name in OF_REAL_NUMBERS else ["complex128"])
    x = numbers(shape, data.draw(st.sampled_from(dtypes)))
    want = getattr(np.fft, name)(x, s, axes, norm)
    agree(getattr(fnp.fft, name)(x, s, axes, norm), want)
    agree(fgrad.jit(lambda a: getattr(fnp.fft, name)(a, s, axes, norm))(x), want)
    tally.count()


def test_lengths_without_axes_and_whole_axes() -> None:
    x = numbers((3, 4, 5), "float64")
    agree(fnp.fft.fftn(x, (4, 6)), np.fft.fftn(x, (4, 6), axes=(-2, -1)))
    agree(fnp.fft.fftn(x, (-1, 6), axes=(0, 2)), np.fft.fftn(x, (3, 6), axes=(0, 2)))
    agree(fnp.fft.fftn(x, axes=(0, 0)), np.fft.fftn(x, axes=(0, 0)))
    agree(fnp.fft.fft(np.zeros((0, 3))), np.fft.fft(np.zeros((0, 3))))


@pytest.mark.parametrize("name", ONE_AXIS)
@pytest.mark.parametrize("n", [1, 5, 6])
def test_gradients_agree_with_jax_for_odd_and_even_lengths(name: str, n: int) -> None:
    x = numbers((5,), "float64" if name in OF_REAL_NUMBERS else "complex128")
    for norm in NORMS[1:]:
        out, pull = fgrad.vjp(lambda a, m=norm: getattr(fnp.fft, name)(a, n, norm=m), x)
        ct = numbers(out.shape, out.dtype)
        _, pull_jax = jax.vjp(lambda a, m=norm: getattr(jnp.fft, name)(a, n, norm=m), x)
        agree(pull(ct)[0], np.asarray(pull_jax(ct)[0]))


def test_the_transposes_hold_the_inner_product() -> None:
    for name, shape in itertools.product(MANY_AXES, [(2, 3), (3, 4)]):
        x = numbers(shape, "float64" if name in OF_REAL_NUMBERS else "complex128")
        transform = getattr(fnp.fft, name)
        out, pull = fgrad.vjp(transform, x)
        ct, t = numbers(out.shape, out.dtype), numbers(x.shape, x.dtype)
        _, pushed = fgrad.jvp(transform, (x,), (t,))
        left, right = np.sum(ct * pushed).real, np.sum(pull(ct)[0] * t).real
        np.testing.assert_allclose(left, right, rtol=1e-12)


def test_the_functions_of_numpy_take_traced_values() -> None:
    x = numbers((8,), "float64")

    def power(module: Any, a: Any) -> Any:
        spectrum = np.fft.fftshift(module.fft.rfft(a, norm="ortho"))
        return np.sum(np.abs(spectrum) ** 2 * np.arange(5.0))

    agree(fgrad.grad(lambda a: power(np, a))(x), fgrad.grad(lambda a: power(fnp, a))(x))
    agree(fgrad.jit(lambda a: np.fft.irfft(np.fft.rfft(a)))(x), x)


def test_the_distance_of_samples_has_a_derivative() -> None:
    slope = fgrad.jacfwd(lambda d: fnp.fft.fftfreq(5, d))(0.5)
    np.testing.assert_allclose(slope, -np.fft.fftfreq(5, 0.5) / 0.5)
    assert fnp.fft.rfftfreq(4, dtype="float32").dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: fnp.fft.fft(np.ones(3), 0), ArgumentError, "fft: 0 numbers"),
        (lambda: fnp.fft.fft(np.ones(3), norm="full"), ArgumentError, "'backward', 'ortho' or"),
        (lambda: fnp.fft.fft(np.ones(3), axis=1), AxisError, "fft: axis 1"),
        (lambda: fnp.fft.fft(2.0), ShapeError, "fft: a has no axis"),
        (lambda: fnp.fft.rfft(np.ones(3) * 1j), DTypeError, "rfft: a is complex.*use fft"),
        (lambda: fnp.fft.ihfft(np.ones(3) * 1j), DTypeError, "ihfft: a is complex.*use ifft"),
        (lambda: fnp.fft.rfft2(np.ones((3, 3)) * 1j), DTypeError, "rfft2: a is complex.*use fft2"),
        (lambda: fnp.fft.fftn(np.ones((3, 3)), (2,), (0, 1)), ShapeError, "1 lengths for 2 axes"),
        (lambda: fnp.fft.fftn(np.ones(3), (2, 2)), ShapeError, "2 lengths for the 1 axes"),
        (lambda: fnp.fft.rfftn(np.ones(3), axes=()), AxisError, "rfftn: no axis"),
        (lambda: fnp.fft.fftfreq(0), ArgumentError, "fftfreq: 0 numbers"),
        (lambda: fnp.fft.fftfreq(4, np.ones(2)), ShapeError, "fftfreq: d has shape"),
    ],
)
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
