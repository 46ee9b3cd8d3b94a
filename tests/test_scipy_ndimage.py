"""Sampling of images against JAX and SciPy, under all transforms."""

from __future__ import annotations

from typing import Any

import jax.scipy.ndimage
import numpy as np
import pytest
from support.against_jax import holds_against_jax
from support.modules import jax

from fgrad.errors import ArgumentError, ShapeError
from fgrad.scipy import ndimage

RNG = np.random.default_rng(4)
IMAGE = RNG.normal(size=(4, 5))
ROWS, COLUMNS = RNG.uniform(-4.3, 8.2, 6), RNG.uniform(-5.4, 9.7, 6)


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_samples_are_those_of_jax(mode: str, order: int) -> None:
    def sampled(module: Any) -> Any:
        return lambda x, r, c: module.map_coordinates(x, [r, c], order, mode=mode, cval=1.5)

    holds_against_jax(
        sampled(ndimage), sampled(jax.scipy.ndimage), (IMAGE, ROWS, COLUMNS), scale=0.999
    )


def test_integers_are_rounded() -> None:
    image = np.array([0, 10, 21])
    got = ndimage.map_coordinates(image, [np.array([0.26, 1.5])], 1)
    assert got.dtype == np.int64
    expected = jax.scipy.ndimage.map_coordinates(image, [np.array([0.26, 1.5])], 1)
    np.testing.assert_array_equal(got, expected)
    narrow = ndimage.map_coordinates(IMAGE.astype(np.float32), [ROWS, COLUMNS], 1)
    assert narrow.dtype == np.float32


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match=r"map_coordinates: order is 3; give 0 or 1"):
        ndimage.map_coordinates(IMAGE, [ROWS, COLUMNS], 3)
    with pytest.raises(ArgumentError, match=r"map_coordinates: mode is 'x'"):
        ndimage.map_coordinates(IMAGE, [ROWS, COLUMNS], 1, mode="x")
    with pytest.raises(ShapeError, match=r"got 1 arrays of coordinates"):
        ndimage.map_coordinates(IMAGE, [ROWS], 1)
