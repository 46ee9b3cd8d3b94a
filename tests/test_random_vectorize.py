"""Functions that `vectorize` maps over arrays of random keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.modules import jax

import fgrad
from fgrad import random

VECTORIZED: dict[str, tuple[Any, str | None, tuple[Any, ...]]] = {
    "a number": (lambda r, k: r.uniform(k, (), "float32"), None, ()),
    "a scale": (
        lambda r, k, s: r.normal(k, (4,), "float32") * s,
        "(),()->(n)",
        (np.array([1.0, 2.0, 3.0], np.float32),),
    ),
    "new keys": (lambda r, k: r.key_data(r.split(k, 2)), "()->(n,w)", ()),
    "rows of keys": (lambda r, k: r.uniform(k[1], (2,), "float32"), "(m)->(k)", ()),
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_vectorized_functions_take_keys(name: str) -> None:
    f, signature, rest = VECTORIZED[name]
    made = []
    for module, numpy in ((fgrad, fgrad.numpy), (jax, jax.numpy)):
        draws = module.random
        g = numpy.vectorize(lambda *xs, r=draws: f(r, *xs), signature=signature)
        keys = draws.split(draws.key(0), (2, 3))
        made.append([np.asarray(g(keys, *rest)), np.asarray(module.jit(g)(keys, *rest))])
        if signature is None:
            made[-1].append(np.asarray(g(draws.key(3))))
    for ours, theirs in zip(*made, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_vectorized_functions_return_keys() -> None:
    keys = random.split(random.key(0, impl="philox"), 3)
    folded = fgrad.numpy.vectorize(random.fold_in)(keys, np.arange(2)[:, None])
    assert folded.shape == (2, 3)
    assert folded[1, 2] == random.fold_in(keys[2], 1)
    halves = fgrad.numpy.vectorize(random.split, signature="()->(n)")(keys)
    assert halves.shape == (3, 2)
    assert halves[1, 0] == random.split(keys[1])[0]
    with pytest.raises(fgrad.errors.ShapeError, match="core axis m"):
        fgrad.numpy.vectorize(lambda a, b: a, signature="(m),(m)->()")(keys, np.ones(4))
    with pytest.raises(fgrad.errors.ArgumentError, match="2 arguments"):
        fgrad.numpy.vectorize(lambda a, b: a, signature="(),()->()")(keys)
