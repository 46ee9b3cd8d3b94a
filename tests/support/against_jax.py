"""One function of fgrad held against JAX's, under all transforms."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from support.modules import jax

import fgrad
from fgrad.test_util import check_grads

Function = Callable[..., Any]


def leaves(result: Any) -> list[Any]:
    return [x for x in jax.tree_util.tree_leaves(result) if not isinstance(x, str)]


def is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def close(got: Any, want: Any, rtol: float, what: str) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    scale = np.abs(want[np.isfinite(want)]).max(initial=0.0) if want.dtype.kind in "fc" else 0.0
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale, err_msg=what)


def noise(rng: np.random.Generator, like: Any) -> Any:
    like = np.asarray(like)
    values = rng.normal(size=like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * rng.normal(size=like.shape)
    return np.asarray(values, like.dtype)


def holds_against_jax(
    ours: Function,
    theirs: Function | None,
    args: Sequence[Any],
    *,
    moving: Sequence[int] | None = None,
    rtol: float = 1e-10,
    order: int = 2,
    scale: float = 0.97,
    tolerance: float | None = None,
    dtypes: bool = True,
    jax_derivatives: bool = True,
) -> None:
    """Value, dtype, jvp and vjp by JAX; ``jit`` and ``vmap`` by the function itself; ``order`` by differences.

    `moving` numbers the arguments that have derivatives: by default all arrays of floats. Examples
    for ``vmap`` are the arguments and `scale` times them. Without `theirs`, values are not compared.
    """
    rng = np.random.default_rng(zlib.crc32(repr([np.shape(a) for a in args]).encode()))
    moved = [n for n, a in enumerate(args) if is_float(a)] if moving is None else list(moving)

    def restricted(function: Function) -> Function:
        def run(*xs: Any) -> list[Any]:
            full = list(args)
            for n, x in zip(moved, xs, strict=True):
                full[n] = x
            found = leaves(function(*full))
            return [x for x in found if np.dtype(x.dtype).kind in "fc"]

        return run

    answer = ours(*args)
    got = leaves(answer)
    assert all(isinstance(x, fgrad.Array) for x in got)
    xs = [args[n] for n in moved]
    floating = restricted(ours)(*xs) if moved else []
    tangents = [noise(rng, x) for x in xs]
    cotangents = [noise(rng, x) for x in floating]
    if theirs is not None:

        def everything(xs: Any) -> Any:
            full = list(args)
            for n, x in zip(moved, xs, strict=True):
                full[n] = x
            values = theirs(*full)
            if not (moved and order and jax_derivatives):
                return values, None, None
            out, pushed = jax.jvp(restricted(theirs), tuple(xs), tuple(tangents))
            matched = [np.asarray(c).astype(o.dtype) for c, o in zip(cotangents, out, strict=True)]
            return values, pushed, jax.vjp(restricted(theirs), *xs)[1](matched)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want, pushed, pulled = jax.jit(everything)(xs)
        expected = leaves(want)
        assert len(expected) == len(got)
        for n, (left, right) in enumerate(zip(got, expected, strict=True)):
            close(left, right, rtol, f"result {n}")
            if dtypes:
                assert left.dtype == right.dtype, (
                    f"result {n}: {left.dtype}, expected {right.dtype}"
                )
    arrays = [n for n, a in enumerate(args) if isinstance(a, np.ndarray)]

    def of_arrays(*xs: Any) -> Any:
        full = list(args)
        for n, x in zip(arrays, xs, strict=True):
            full[n] = x
        return leaves(ours(*full))

    compiled = fgrad.jit(of_arrays)(*[args[n] for n in arrays])
    for left, right in zip(compiled, got, strict=True):
        close(left, right, 1e-12, "under jit")
        assert left.dtype == right.dtype
    if not moved:
        return
    other = [np.asarray(x * scale, x.dtype) for x in xs]
    for mapped in {tuple(range(len(xs))), (0,), (len(xs) - 1,)}:
        axes = tuple(0 if n in mapped else None for n in range(len(xs)))
        stacked = [
            np.stack([x, o]) if n in mapped else x
            for n, (x, o) in enumerate(zip(xs, other, strict=True))
        ]
        rows = fgrad.vmap(restricted(ours), in_axes=axes)(*stacked)
        second = restricted(ours)(
            *[o if n in mapped else x for n, (x, o) in enumerate(zip(xs, other, strict=True))]
        )
        for row, one, two in zip(rows, floating, second, strict=True):
            close(row, np.stack([one, two]), 1e-10, f"under vmap of {mapped}")
    if not order:
        return
    if theirs is not None and jax_derivatives:
        _, by_jvp = fgrad.jvp(restricted(ours), tuple(xs), tuple(tangents))
        by_vjp = fgrad.vjp(restricted(ours), *xs)[1](cotangents)
        for left, right in zip(by_jvp, pushed, strict=True):
            close(left, right, 100 * rtol, "tangent")
        for left, right in zip(by_vjp, pulled, strict=True):
            close(left, right, 100 * rtol, "cotangent")
    if all(x.dtype.itemsize >= 8 for x in xs):
        check_grads(restricted(ours), tuple(xs), order, atol=tolerance, rtol=tolerance)
