"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fgrad.numpy as fnp
from fgrad.array import Array
from fgrad.errors import ArgumentError, ShapeError
from fgrad.nn.normalization import logsumexp, softmax
from fgrad.numpy._support import ArrayLike

#: What an element that must not be attended to scores: exponentials of it vanish, and nothing overflows.
_SHARE_OF_LOWEST = 0.7


def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:
    """``softmax(query @ key.T * scale + bias) @ value`` for each head (Vaswani et al., 2017).

    Parameters
    ----------
    query : array_like of shape (B, T, N, H) or (T, N, H)
        Batch, positions, heads, features of a head.
    key, value : array_like of shape (B, S, K, H) or (S, K, H)
        K divides N: each group of N / K query heads shares a head of keys and values.
    bias : array_like, optional
        Added to the scores; broadcast to (B, N, T, S).
    mask : array_like of bool, optional
        Where it is true, the query position attends to the key position; broadcast to (B, N, T, S).
    scale : float, optional
        By default ``1 / sqrt(H)``.
    is_causal : bool
        Whether a position attends only to itself and those before it.
    query_seq_lengths, key_value_seq_lengths : array_like of int of shape (B,), optional
        How many positions of each sequence there are; the rest is padding. Padded queries give zeros.
    local_window_size : int or (int, int), optional
        How many positions before and after itself a position attends to.
    implementation : str, optional
        Accepted for compatibility.
    return_residual : bool
        Whether to return the logarithm of the sum of exponentials of the scores as well.

    Returns
    -------
    Array
        Of the shape of `query`; with `return_residual` a pair with an array of shape (B, T, N) or (T, N).
        Differentiable.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> q = k = np.zeros((3, 1, 2))
    >>> v = np.arange(6.0).reshape(3, 1, 2)
    >>> fgrad.nn.dot_product_attention(q, k, v, is_causal=True)[:, 0]
    Array([[0., 1.],
           [1., 2.],
           [2., 3.]], dtype=float64)
    """
    q: Any = fnp.asarray(query)
    k: Any = fnp.asarray(key)
    v: Any = fnp.asarray(value)
    single = q.ndim == 3
    if single:
        q, k, v = (x[None] if x.ndim == 3 else x for x in (q, k, v))
    fits = q.ndim == k.ndim == v.ndim == 4 and k.shape == v.shape
    fits = fits and (q.shape[0], q.shape[3]) == (k.shape[0], k.shape[3])
    if not fits or not k.shape[2] or q.shape[2] % k.shape[2]:
        raise ShapeError(
            f"dot_product_attention: query, key and value have shapes {fnp.shape(query)}, {fnp.shape(key)} and "
            f"{fnp.shape(value)}; expected (B, T, N, H), (B, S, K, H) and (B, S, K, H) where K divides N, or the same "
            "without B"
        )
    batch, targets, heads, features = q.shape
    sources, shared = k.shape[1], k.shape[2]
    group = heads // shared
    factor = 1.0 / math.sqrt(features) if scale is None else scale
    grouped = q.reshape(batch, targets, shared, group, features)
    scores: Any = fnp.einsum("btkgh,bskh->bkgts", grouped, k)
    scores = scores.reshape(batch, heads, targets, sources) * factor
    if scores.dtype == np.float16:
        scores = scores.astype(np.float32)
    if bias is not None:
        scores = scores + _four_axes(bias, "bias")
    allowed = _allowed(
        targets,
        sources,
        mask,
        is_causal,
        query_seq_lengths,
        key_value_seq_lengths,
        local_window_size,
    )
    if allowed is not None:
        lowest = -_SHARE_OF_LOWEST * float(np.finfo(scores.dtype).max)
        scores = fnp.where(allowed, scores, scores.dtype.type(lowest))
    shares = softmax(scores, axis=-1).astype(v.dtype)
    split = shares.reshape(batch, shared, group, targets, sources)
    out: Any = fnp.einsum("bkgts,bskh->btkgh", split, v).reshape(batch, targets, heads, features)
    if query_seq_lengths is not None:
        real = fnp.arange(targets)[None] < fnp.asarray(query_seq_lengths)[:, None]
        out = fnp.where(real[:, :, None, None], out, out.dtype.type(0))
    out = out.astype(q.dtype)
    if not return_residual:
        return out[0] if single else out  # type: ignore[no-any-return]
    residual: Any = fnp.moveaxis(logsumexp(scores, axis=-1), 1, 2)
    pair: tuple[Array, Array] = (out[0], residual[0]) if single else (out, residual)
    return pair


def _four_axes(x: ArrayLike, name: str) -> Any:
    array = fnp.asarray(x)
    if array.ndim not in (3, 4):
        raise ShapeError(
            f"dot_product_attention: {name} has shape {array.shape}; give one that broadcasts to (B, N, T, S)"
        )
    return array if array.ndim == 4 else array[None]


def _allowed(
    targets: int,
    sources: int,
    mask: Any,
    is_causal: bool,
    query_lengths: Any,
    key_lengths: Any,
    window: Any,
) -> Any:
    """Which query position attends to which key position; None where all do."""
    rows, columns = np.arange(targets)[:, None], np.arange(sources)[None]
    parts: list[Any] = []
    if mask is not None:
        given = _four_axes(mask, "mask")
        if given.dtype != np.bool_:
            raise ArgumentError(
                f"dot_product_attention: mask has dtype {given.dtype}; give booleans, and numbers as bias"
            )
        parts.append(given)
    if is_causal:
        parts.append((columns <= rows)[None, None])
    if window is not None:
        before, after = (window, window) if isinstance(window, int) else window
        parts.append(((columns >= rows - before) & (columns <= rows + after))[None, None])
    if query_lengths is not None:
        parts.append(
            (np.arange(targets)[None] < fnp.asarray(query_lengths)[:, None])[:, None, :, None]
        )
    if key_lengths is not None:
        parts.append((np.arange(sources)[None] < fnp.asarray(key_lengths)[:, None])[:, None, None])
    allowed: Any = None
    for part in parts:
        allowed = part if allowed is None else fnp.logical_and(allowed, part)
    return allowed
