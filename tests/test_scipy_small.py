"""Cosine transforms, interpolation on grids and codes of vectors against JAX and SciPy, under all transforms."""

from __future__ import annotations

from typing import Any

import jax.scipy.cluster.vq
import jax.scipy.fft
import jax.scipy.interpolate
import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.interpolate
from support.against_jax import holds_against_jax
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgumentError, AxisError, DTypeError, ShapeError
from fgrad.scipy import cluster, fft, interpolate
from fgrad.test_util import check_grads

RNG = np.random.default_rng(17)
CUBE = RNG.normal(size=(3, 5, 4))


def test_every_public_name_of_jax_is_there() -> None:
    assert {"dct", "idct", "dctn", "idctn"} == set(fft.__all__)
    for ours, theirs in (
        (fft, jax.scipy.fft),
        (cluster.vq, jax.scipy.cluster.vq),
        (interpolate, jax.scipy.interpolate),
    ):
        assert {n for n in dir(theirs) if n[0] != "_"} <= set(ours.__all__)


# ---- cosine transforms ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
def test_cosine_transforms_are_those_of_jax(name: str) -> None:
    plane = CUBE[0]
    lengths: Any = {"s": (3, 6)} if name.endswith("n") else {"n": 3, "axis": 0}

    def several(module: Any) -> Any:
        f = getattr(module, name)
        return lambda x: [f(x), f(x, norm="ortho"), f(x, **lengths)]

    holds_against_jax(several(fft), several(jax.scipy.fft), (plane,))
    narrow = getattr(fft, name)(plane.astype(np.float32))
    assert narrow.dtype == getattr(jax.scipy.fft, name)(plane.astype(np.float32)).dtype
    assert getattr(fft, name)(np.arange(4)).dtype == np.float64


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_all_kinds_of_cosine_transforms_are_those_of_scipy(kind: int, norm: str | None) -> None:
    for x in (CUBE, CUBE + 1j * CUBE[::-1]):
        for axis, n in ((-1, None), (0, 5), (1, 3)):
            for name in ("dct", "idct"):
                got = getattr(fft, name)(x, kind, n, axis, norm)
                expected = getattr(scipy.fft, name)(x, kind, n, axis, norm)
                np.testing.assert_allclose(got, expected, atol=1e-12)
        for s, axes in ((None, None), (None, (0, 2)), ((4, 2), None), ((3, 6), (2, 0))):
            for name in ("dctn", "idctn"):
                got = getattr(fft, name)(x, kind, s, axes, norm)
                expected = getattr(scipy.fft, name)(x, kind, s, axes, norm)
                np.testing.assert_allclose(got, expected, atol=1e-12)
    assert fft.dct(np.ones((0, 3)), kind, norm=norm).shape == (0, 3)
    holds_against_jax(
        lambda x: [fft.dct(x, kind, axis=0, norm=norm), fft.idctn(x, kind, norm=norm)],
        None,
        (CUBE[0],),
    )


def test_refusals_of_cosine_transforms() -> None:
    with pytest.raises(ArgumentError, match=r"dct: type is 5; give 1, 2, 3 or 4"):
        fft.dct(CUBE, 5)
    with pytest.raises(ArgumentError, match=r"idctn: norm is 'x'"):
        fft.idctn(CUBE, norm="x")
    with pytest.raises(ShapeError, match=r"dct: x has no axis"):
        fft.dct(1.0)
    with pytest.raises(ShapeError, match=r"at least 2 points for type 1"):
        fft.dct(np.ones((2, 1)), 1)
    with pytest.raises(ShapeError, match=r"idct: 0 points along axis 0; give at least one point"):
        fft.idct(np.ones(3), n=0)
    with pytest.raises(ShapeError, match=r"dctn: s has 2 lengths for 1 axes"):
        fft.dctn(CUBE, s=(2, 2), axes=(0,))
    with pytest.raises(AxisError, match=r"name an axis twice"):
        fft.dctn(CUBE, axes=(0, 0))


# ---- interpolation -------------------------------------------------------------------------------

POINTS = (np.array([0.0, 0.7, 1.0, 2.5]), np.array([-1.0, 0.5, 2.0]))
VALUES = RNG.normal(size=(4, 3))
XI = np.array([[0.3, 0.1], [0.8, -0.9], [2.2, 1.7], [1.3, 0.6]])


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_interpolation_is_that_of_jax(method: str) -> None:
    for values in (VALUES, RNG.normal(size=(4, 3, 2))):

        def at(module: Any) -> Any:
            return lambda first, second, v, x: module.RegularGridInterpolator(
                (first, second), v, method
            )(x)

        holds_against_jax(at(interpolate), at(jax.scipy.interpolate), (*POINTS, values, XI))


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_interpolation_is_that_of_scipy(method: str) -> None:
    outside = np.array([[-0.5, 0.1], [0.3, 9.0], [2.5, 2.0], [0.0, -1.0], [np.nan, 0.1]])
    grids: list[Any] = [(POINTS, VALUES), ((POINTS[0][::-1], POINTS[1]), VALUES)]
    grids += [(POINTS[:1], VALUES[:, 0]), (POINTS, np.arange(12).reshape(4, 3))]
    for points, values in grids:
        for fill in (np.nan, 7.0, None):
            ours = interpolate.RegularGridInterpolator(points, values, method, fill_value=fill)
            theirs = scipy.interpolate.RegularGridInterpolator(
                points, values, method, bounds_error=False, fill_value=fill
            )
            for xi in (XI, outside, XI[0], XI.reshape(2, 2, 2)):
                at = xi[..., : len(points)]
                np.testing.assert_allclose(ours(at), theirs(at), rtol=1e-12, atol=1e-14)
    pair = (XI[:, :1], XI[:, 1])
    flat = interpolate.RegularGridInterpolator(POINTS, VALUES)
    wide = scipy.interpolate.RegularGridInterpolator(POINTS, VALUES)
    np.testing.assert_allclose(flat(pair), wide(pair), rtol=1e-12)
    np.testing.assert_array_equal(flat(XI, "nearest"), wide(XI, "nearest"))
    narrow = [p.astype(np.float32) for p in POINTS]
    single = interpolate.RegularGridInterpolator(narrow, VALUES.astype(np.float32))
    assert single(XI.astype(np.float32)).dtype == np.float32


def test_slopes_at_the_edges_of_a_grid_are_finite() -> None:
    f = interpolate.RegularGridInterpolator(POINTS, VALUES)
    slopes = fgrad.grad(lambda x: fnp.nansum(f(x)))(np.array([[9.0, 0.0], [0.0, -1.0]]))
    np.testing.assert_array_equal(slopes[0], 0.0)
    expected = [(VALUES[1, 0] - VALUES[0, 0]) / 0.7, (VALUES[0, 1] - VALUES[0, 0]) / 1.5]
    np.testing.assert_allclose(slopes[1], expected, rtol=1e-12)


def test_refusals_of_interpolation() -> None:
    make = interpolate.RegularGridInterpolator
    with pytest.raises(ArgumentError, match=r"method is 'cubic'; give 'linear' or 'nearest'"):
        make(POINTS, VALUES, "cubic")
    with pytest.raises(ShapeError, match=r"points along axis 1 have shape \(4,\)"):
        make((POINTS[0], POINTS[0]), VALUES)
    with pytest.raises(ShapeError, match=r"3 arrays of points for values of shape"):
        make((*POINTS, POINTS[0]), VALUES)
    with pytest.raises(ArgumentError, match=r"along axis 0 neither ascend nor descend"):
        make((np.array([0.0, 1.0, 1.0, 2.0]), POINTS[1]), VALUES)
    with pytest.raises(ShapeError, match=r"coordinates have shape \(3,\) for a grid of 2 axes"):
        make(POINTS, VALUES)(np.zeros(3))
    strict = make(POINTS, VALUES, bounds_error=True)
    with pytest.raises(ArgumentError, match=r"1 coordinates along axis 1 lie outside of the grid"):
        strict(np.array([0.1, 5.0]))
    with pytest.raises(ArgumentError, match=r"bounds_error=True needs the coordinates"):
        fgrad.jit(strict)(XI)
    np.testing.assert_allclose(strict(XI), make(POINTS, VALUES)(XI))
    assert fgrad.grad(lambda x: strict(x).sum())(XI).shape == XI.shape


# ---- codes ---------------------------------------------------------------------------------------


def test_codes_are_those_of_jax_and_scipy() -> None:
    book = RNG.normal(size=(4, 2))
    for obs, codes in ((CUBE[..., :2].reshape(-1, 2), book), (CUBE[0, 0], book[:, 0])):
        holds_against_jax(cluster.vq.vq, jax.scipy.cluster.vq.vq, (obs, codes))
        for got, expected in zip(
            cluster.vq.vq(obs, codes), scipy.cluster.vq.vq(obs, codes), strict=True
        ):
            np.testing.assert_allclose(got, expected, rtol=1e-12)
    found, distances = cluster.vq.vq(np.array([[1, 2]]), np.array([[1, 2], [1, 2]]))
    assert (found.tolist(), distances.tolist(), distances.dtype) == ([0], [0.0], np.float64)


def test_many_codes_are_compared_one_after_the_other() -> None:
    obs, book = RNG.normal(size=(2000, 8)), RNG.normal(size=(70, 8))
    for f in (cluster.vq.vq, fgrad.jit(cluster.vq.vq)):
        for got, expected in zip(f(obs, book), scipy.cluster.vq.vq(obs, book), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_distance_of_zero_has_slope_zero() -> None:
    obs = np.array([[1.0, 2.0], [0.0, 1.0]])
    slope = fgrad.grad(lambda x: cluster.vq.vq(x, obs[:1])[1].sum())(obs)
    np.testing.assert_allclose(slope, [[0.0, 0.0], [-np.sqrt(0.5), -np.sqrt(0.5)]])


def test_refusals_of_codes() -> None:
    with pytest.raises(ShapeError, match=r"vq: obs has shape \(3, 2\) and code_book \(4, 3\)"):
        cluster.vq.vq(np.ones((3, 2)), np.ones((4, 3)))
    with pytest.raises(ShapeError, match=r"give at least one code"):
        cluster.vq.vq(np.ones((3, 2)), np.ones((0, 2)))
    with pytest.raises(DTypeError, match=r"vq: obs is complex"):
        cluster.vq.vq(np.ones((3, 2)) * 1j, np.ones((4, 2)))


def test_k_means_descends() -> None:
    """What `vq` is for: the centres move down the mean distance to the nearest one."""
    points = np.concatenate([RNG.normal(size=(30, 2)) + c for c in (-4.0, 4.0)])
    centres: Any = np.array([[-1.0, 0.0], [1.0, 0.0]])

    def loss(c: Any) -> Any:
        return fnp.mean(cluster.vq.vq(points, c)[1] ** 2)

    for _ in range(30):
        centres = centres - 0.5 * fgrad.grad(loss)(centres)
    np.testing.assert_allclose(
        np.sort(np.asarray(centres)[:, 0]),
        [points[:30, 0].mean(), points[30:, 0].mean()],
        atol=1e-6,
    )
    check_grads(loss, (np.asarray(centres),), order=2)
