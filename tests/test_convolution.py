"""Convolutions and windows against JAX: values, derivatives, batches, every layout."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fgrad
import fgrad.numpy as fnp
from fgrad import errors, lax

jax.config.update("jax_enable_x64", True)

rng = np.random.default_rng(11)


def close(got: Any, want: Any, rtol: float = 1e-12) -> None:
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


#: Shapes of images and kernel, and the other arguments.
CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((2, 3, 7), (4, 3, 3), {"window_strides": (1,), "padding": "VALID"}),
    "1d same": ((2, 3, 7), (4, 3, 4), {"window_strides": (2,), "padding": "SAME"}),
    "1d same lower": ((2, 3, 8), (4, 3, 4), {"window_strides": (3,), "padding": "SAME_LOWER"}),
    "2d": ((2, 3, 6, 5), (4, 3, 3, 2), {"window_strides": (1, 2), "padding": "SAME"}),
    "2d numbers": (
        (2, 3, 6, 5),
        (4, 3, 3, 2),
        {"window_strides": (2, 1), "padding": [(1, 2), (0, 3)]},
    ),
    "negative padding": (
        (1, 1, 7, 6),
        (1, 1, 2, 2),
        {"window_strides": (1, 1), "padding": [(-1, 0), (2, -2)]},
    ),
    "rhs dilation": (
        (2, 3, 8, 8),
        (4, 3, 3, 2),
        {"window_strides": (1, 2), "padding": "SAME", "rhs_dilation": (2, 3)},
    ),
    "lhs dilation": (
        (2, 3, 4, 5),
        (4, 3, 3, 2),
        {"window_strides": (2, 1), "padding": [(2, 1), (1, 1)], "lhs_dilation": (2, 3)},
    ),
    "channels last": (
        (2, 6, 5, 3),
        (3, 2, 3, 4),
        {
            "window_strides": (1, 1),
            "padding": "SAME",
            "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        },
    ),
    "odd layout": (
        (3, 6, 2, 5),
        (2, 3, 4, 3),
        {
            "window_strides": (1, 1),
            "padding": "VALID",
            "dimension_numbers": ("CHNW", "WIOH", "WNHC"),
        },
    ),
    "groups": (
        (2, 6, 5, 5),
        (4, 3, 2, 2),
        {"window_strides": (1, 1), "padding": "VALID", "feature_group_count": 2},
    ),
    "depthwise": (
        (2, 5, 5, 3),
        (3, 3, 1, 6),
        {
            "window_strides": (2, 2),
            "padding": "SAME",
            "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
            "feature_group_count": 3,
        },
    ),
    "batch groups": (
        (4, 3, 5, 5),
        (6, 3, 2, 2),
        {"window_strides": (1, 1), "padding": "VALID", "batch_group_count": 2},
    ),
    "3d": ((1, 2, 4, 5, 3), (3, 2, 2, 3, 2), {"window_strides": (1, 2, 1), "padding": "SAME"}),
    "no spatial axes": ((2, 3), (4, 3), {"window_strides": (), "padding": []}),
    "kernel larger": ((1, 1, 2), (1, 1, 3), {"window_strides": (1,), "padding": "VALID"}),
    "everything": (
        (2, 4, 5, 4),
        (2, 3, 2, 6),
        {
            "window_strides": (2, 1),
            "padding": [(1, 2), (3, 0)],
            "lhs_dilation": (1, 2),
            "rhs_dilation": (2, 1),
            "dimension_numbers": ("NHWC", "HWIO", "NCHW"),
            "feature_group_count": 2,
        },
    ),
}
CONVOLUTIONS["everything"] = ((2, 5, 4, 4), (2, 3, 2, 6), CONVOLUTIONS["everything"][2])


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_agrees_with_jax(name: str) -> None:
    image_shape, kernel_shape, options = CONVOLUTIONS[name]
    x, w = rng.normal(size=image_shape), rng.normal(size=kernel_shape)

    def ours(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, **options)

    def theirs(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, **options)

    want, pull = jax.vjp(theirs, jnp.asarray(x), jnp.asarray(w))
    got = ours(x, w)
    close(got, want)
    close(fgrad.jit(ours)(x, w), want)
    ct = rng.normal(size=want.shape)
    for a, b in zip(fgrad.vjp(ours, x, w)[1](ct), pull(jnp.asarray(ct)), strict=True):
        close(a, b)
    tx, tw = rng.normal(size=x.shape), rng.normal(size=w.shape)
    close(fgrad.jvp(ours, (x, w), (tx, tw))[1], jax.jvp(theirs, (x, w), (tx, tw))[1])
    batch = np.stack([x, tx])
    close(fgrad.vmap(ours, (0, None))(batch, w), jax.vmap(theirs, (0, None))(batch, w))
    kernels = np.stack([w, tw], axis=1)
    close(fgrad.vmap(ours, (None, 1))(x, kernels), jax.vmap(theirs, (None, 1))(x, kernels))


def test_second_derivatives() -> None:
    x, w = rng.normal(size=(1, 2, 5, 5)), rng.normal(size=(3, 2, 2, 2))

    def loss(lib: Any, xp: Any) -> Any:
        return lambda w: xp.sum(
            xp.tanh(lib.lax.conv_general_dilated(xp.asarray(x), w, (2, 1), "SAME")) ** 2
        )

    got = fgrad.grad(lambda w: fnp.sum(fgrad.grad(loss(fgrad, fnp))(w) ** 2))(w)
    want = jax.grad(lambda w: jnp.sum(jax.grad(loss(jax, jnp))(w) ** 2))(jnp.asarray(w))
    close(got, want, 1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int32])
def test_dtypes(dtype: Any) -> None:
    x = (10 * rng.normal(size=(1, 2, 6))).astype(dtype)
    w = (10 * rng.normal(size=(3, 2, 3))).astype(dtype)
    got = lax.conv_general_dilated(x, w, (1,), "SAME")
    close(
        got,
        jax.lax.conv_general_dilated(x, w, (1,), "SAME"),
        1e-4 if dtype == np.float32 else 1e-12,
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2), (0, 1)]])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("options", [{}, {"rhs_dilation": (2, 1)}, {"transpose_kernel": True}])
def test_conv_transpose(padding: Any, strides: Any, options: Any) -> None:
    x = rng.normal(size=(2, 4, 5, 3))
    w = rng.normal(size=(3, 2, 4, 3) if options.get("transpose_kernel") else (3, 2, 3, 4))
    got = lax.conv_transpose(x, w, strides, padding, **options)
    close(got, jax.lax.conv_transpose(x, w, strides, padding, **options))


@pytest.mark.parametrize("consistent", [False, True])
def test_conv_transpose_is_the_transpose(consistent: bool) -> None:
    x, w = rng.normal(size=(1, 7, 2)), rng.normal(size=(3, 2, 4))
    layout = ("NHC", "HIO", "NHC")
    forward = lambda x: lax.conv_general_dilated(x, w, (2,), [(1, 1)], dimension_numbers=layout)  # noqa: E731
    y, pull = fgrad.vjp(forward, x)
    ct = rng.normal(size=y.shape)
    padding = [(1, 1)]
    got = lax.conv_transpose(
        ct, w, (2,), padding, transpose_kernel=True, use_consistent_padding=consistent
    )
    if consistent:
        close(got, pull(ct)[0])
    close(
        got,
        jax.lax.conv_transpose(
            ct, w, (2,), padding, transpose_kernel=True, use_consistent_padding=consistent
        ),
    )


def test_other_forms() -> None:
    x, w = rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(4, 3, 3, 2))
    close(lax.conv(x, w, (1, 2), "SAME"), jax.lax.conv(x, w, (1, 2), "SAME"))
    args = (x, w, (1, 2), [(1, 0), (2, 2)], (2, 1), (1, 2))
    close(lax.conv_with_general_padding(*args), jax.lax.conv_with_general_padding(*args))
    pads = [(1, 2), (0, 1)]
    for options in ({}, {"rhs_dilation": (1, 2)}, {"lhs_dilation": (2, 1)}):
        got = lax.conv_general_dilated_patches(x, (3, 2), (2, 1), pads, **options)
        close(got, jax.lax.conv_general_dilated_patches(x, (3, 2), (2, 1), pads, **options))
    last = np.moveaxis(x, 1, -1)
    layout = ("NHWC", "OIHW", "NHWC")
    close(
        lax.conv_general_dilated_patches(last, (3, 2), (1, 1), "VALID", dimension_numbers=layout),
        jax.lax.conv_general_dilated_patches(
            last, (3, 2), (1, 1), "VALID", dimension_numbers=layout
        ),
    )
    numbers = lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), ("NHWC", "HWIO", "NCHW"))
    want = jax.lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), ("NHWC", "HWIO", "NCHW"))
    assert tuple(numbers) == (want.lhs_spec, want.rhs_spec, want.out_spec)


POOLS: dict[str, Any] = {
    "max": ("max", -np.inf),
    "min": ("min", np.inf),
    "add": ("add", 0.0),
    "add from 1": ("add", 1.0),
    "mul": ("mul", 1.0),
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize(
    "options",
    [
        {"window_dimensions": (1, 2, 2, 1), "window_strides": (1, 2, 2, 1)},
        {"window_dimensions": (1, 3, 2, 1), "window_strides": (1, 2, 1, 1), "padding": "SAME"},
        {"window_dimensions": (1, 2, 2, 1), "window_dilation": (1, 2, 3, 1)},
        {"window_dimensions": (2, 2, 1, 1), "padding": [(1, 0), (0, 1), (0, 0), (0, 0)]},
    ],
)
def test_pooling(name: str, options: dict[str, Any]) -> None:
    operation, start = POOLS[name]
    # Small integers, so that windows have ties.
    x = rng.integers(-2, 3, size=(2, 6, 5, 3)).astype(float)

    def pool(lib: Any) -> Any:
        return lambda x: lib.lax.reduce_window(x, start, getattr(lib.lax, operation), **options)

    want = pool(jax)(jnp.asarray(x))
    close(pool(fgrad)(x), want)
    close(fgrad.jit(pool(fgrad))(x), want)
    close(fgrad.vmap(pool(fgrad))(np.stack([x, -x])), jax.vmap(pool(jax))(np.stack([x, -x])))
    if operation == "mul" or start == 1.0 or "window_dilation" in options:
        return  # JAX has no reverse mode of these
    weights = rng.normal(size=want.shape)
    got = fgrad.grad(lambda x: fnp.sum(pool(fgrad)(x) * weights))(x)
    close(got, jax.grad(lambda x: jnp.sum(pool(jax)(x) * weights))(jnp.asarray(x)))


def test_a_product_over_windows_has_a_gradient() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    gradient = fgrad.grad(lambda x: fnp.sum(lax.reduce_window(x, 1.0, lax.mul, (2,))))(x)
    np.testing.assert_array_equal(gradient, [2.0, 4.0, 6.0, 3.0])


def test_any_computation() -> None:
    x = rng.normal(size=(5, 4))
    function = lambda a, b: fnp.hypot(a, b)  # noqa: E731
    got = lax.reduce_window(x, 0.0, function, (2, 2), (1, 2))
    squares = lax.reduce_window(x * x, 0.0, lax.add, (2, 2), (1, 2))
    close(got, np.sqrt(squares))


def test_windows_are_views() -> None:
    from fgrad.primitives.windows import Windows

    x = np.arange(1e6).reshape(1000, 1000)
    assert np.shares_memory(Windows((3, 3), (1, 1), (1, 1)).impl(x), x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lax.conv_general_dilated(np.ones((1, 3, 5)), np.ones((1, 2, 2)), (1,), "SAME"),
            r"images have 3 features, the kernel takes 2 in 1 group;",
        ),
        (
            lambda: lax.conv_general_dilated(
                np.ones((1, 3, 5)), np.ones((1, 3, 2)), (1, 1), "SAME"
            ),
            r"window_strides is \(1, 1\); give a positive number for each of 1 spatial axes",
        ),
        (
            lambda: lax.conv_general_dilated(np.ones((1, 3, 5)), np.ones((1, 3, 2)), (1,), "FULL"),
            r"padding is 'FULL'; give 'SAME'",
        ),
        (
            lambda: lax.conv_general_dilated(
                np.ones((1, 3, 5)),
                np.ones((1, 3, 2)),
                (1,),
                "SAME",
                dimension_numbers=("NCX", "OIH", "NCH"),
            ),
            r"'NCX' must name 3 axes by N, C and the letters of the spatial axes 'H'",
        ),
        (
            lambda: lax.conv_general_dilated(
                np.ones((1, 4, 5)), np.ones((3, 2, 2)), (1,), "SAME", feature_group_count=2
            ),
            r"3 features out.*cannot be cut into 2 equal groups",
        ),
        (
            lambda: lax.conv_general_dilated(
                np.ones((1, 3, 5)), np.ones((1, 3, 2, 2)), (1,), "SAME"
            ),
            r"images of 3 axes and a kernel of 4",
        ),
        (
            lambda: lax.reduce_window(np.ones((3, 4)), 0.0, lax.add, (2,)),
            r"window_dimensions \(2,\) for an array of shape \(3, 4\)",
        ),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(errors.FgradError, match=message):
        call()
