"""``fgrad.image`` against JAX, under all transforms."""

from __future__ import annotations

from typing import Any

import jax.image
import numpy as np
import pytest
from support.against_jax import holds_against_jax
from support.modules import jax

import fgrad
from fgrad import image
from fgrad.errors import ArgumentError, ShapeError
from fgrad.test_util import check_grads

PICTURE = np.random.default_rng(2).normal(size=(4, 6, 2))
METHODS = ("nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_new_sizes_are_those_of_jax(method: str, antialias: bool) -> None:
    def both(module: Any) -> Any:
        return lambda x: [
            module.resize(x, shape, method, antialias)
            for shape in ((7, 3, 2), (4, 9, 2), (2, 2, 2))
        ]

    holds_against_jax(both(image), both(jax.image), (PICTURE,), rtol=1e-9)


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3"])
def test_stretched_and_moved_images_are_those_of_jax(method: str) -> None:
    scale, move = np.array([1.7, 0.55]), np.array([0.3, -0.4])

    def both(module: Any) -> Any:
        return lambda x, s, t: module.scale_and_translate(x, (5, 6, 2), (0, 1), s, t, method)

    holds_against_jax(both(image), both(jax.image), (PICTURE, scale, move), rtol=1e-9, order=1)


def test_dtypes_and_names() -> None:
    whole = np.arange(6).reshape(2, 3)
    assert image.resize(whole, (4, 3), "nearest").dtype == np.int64
    assert image.resize(whole, (4, 3), "bilinear").dtype == np.float64
    assert image.resize(PICTURE.astype(np.float32), (2, 3, 2), "cubic").dtype == np.float32
    assert image.ResizeMethod.from_string("bicubic") is image.ResizeMethod.CUBIC
    assert {m.name for m in jax.image.ResizeMethod} == {m.name for m in image.ResizeMethod}
    np.testing.assert_array_equal(image.resize(PICTURE, PICTURE.shape, "cubic"), PICTURE)
    check_grads(lambda x: image.resize(x, (2, 2, 2), image.ResizeMethod.LANCZOS3), (PICTURE,), 1)
    constant = image.resize(np.full((5, 5), 3.0), (3, 8), "lanczos5")
    np.testing.assert_allclose(constant, 3.0, rtol=1e-13)


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match=r"resize: method is 'x'"):
        image.resize(PICTURE, (2, 2, 2), "x")
    with pytest.raises(ShapeError, match=r"resize: shape \(2, 2\) has 2 axes"):
        image.resize(PICTURE, (2, 2), "linear")
    with pytest.raises(ArgumentError, match=r"'nearest' is not supported"):
        image.scale_and_translate(PICTURE, (4, 6, 2), (0,), np.ones(1), np.zeros(1), "nearest")
    with pytest.raises(ShapeError, match=r"scale has shape \(2,\)"):
        image.scale_and_translate(PICTURE, (4, 6, 2), (0,), np.ones(2), np.zeros(1), "linear")
    with pytest.raises(ShapeError, match=r"changes axis 1"):
        image.scale_and_translate(PICTURE, (4, 5, 2), (0,), np.ones(1), np.zeros(1), "linear")
    assert fgrad.image is image
