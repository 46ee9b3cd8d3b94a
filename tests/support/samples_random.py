"""Makers of examples for the primitives that draw random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.draws import Draw, NotApplicable, Sample, number, numbers, uniform
from support.samples import sample, share

from fgrad.primitives import random, random_ranges


def keys(d: Draw, implementation: str) -> Any:
    shape = d.shape(most=2)
    width = random.KEY_WORDS[implementation]
    return lambda rng: (rng.integers(0, 2**32, size=(*shape, width), dtype=np.uint32),)


def of_dtype(d: Draw, *names: str) -> np.dtype[Any]:
    """One of the dtypes that the primitive is for."""
    if d.forced is None:
        return np.dtype(d.choice(names))
    if d.forced not in names:
        raise NotApplicable
    return np.dtype(d.forced)


def implementation(d: Draw) -> str:
    return str(d.choice((random.THREEFRY, random.PHILOX)))


@sample("RandomBits")
def _random_bits(d: Draw) -> Sample:
    name = implementation(d)
    return Sample(
        random.RandomBits(name, d.shape(most=2), d.choice((8, 16, 32, 64))), keys(d, name)
    )


@sample("RandomUnits")
def _random_units(d: Draw) -> Sample:
    name, dtype = implementation(d), of_dtype(d, "float64", "float32", "float16")
    return Sample(random.RandomUnits(name, d.shape(most=2), dtype), keys(d, name))


@sample("RandomNormals")
def _random_normals(d: Draw) -> Sample:
    name, dtype = implementation(d), of_dtype(d, "float64", "float32", "float16")
    return Sample(random.RandomNormals(name, d.shape(most=2), dtype), keys(d, name))


@sample("SplitKey")
def _split_key(d: Draw) -> Sample:
    name = implementation(d)
    return Sample(random.SplitKey(name, d.shape(most=2)), keys(d, name))


@sample("FoldIn")
def _fold_in(d: Draw) -> Sample:
    name = implementation(d)
    shape, width = d.shape(most=2), random.KEY_WORDS[name]

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        words = rng.integers(0, 2**32, size=(*shape, width), dtype=np.uint32)
        return words, number(rng.integers(0, 2**32, size=shape, dtype=np.uint32), np.uint32)

    return Sample(random.FoldIn(name), values)


@sample("SeedKey")
def _seed_key(d: Draw) -> Sample:
    shape, dtype = d.shape(), of_dtype(d, "int64", "int32", "uint32", "int8", "uint64", "bool")
    return Sample(random.SeedKey(implementation(d)), lambda rng: (numbers(rng, shape, dtype),))


@sample("BitsBetween")
def _bits_between(d: Draw) -> Sample:
    dtype = of_dtype(d, "int64", "int32", "uint64", "uint32")
    bits = np.dtype(f"u{dtype.itemsize}")
    shape = d.shape()
    shapes = [shape, shape, *(d.stretched(shape) for _ in range(3))]

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        top = np.iinfo(bits).max
        words = [number(rng.integers(0, top, size=s, dtype=bits), bits) for s in shapes[:2]]
        bounds = [numbers(rng, s, dtype) for s in shapes[2:4]]
        return *words, *bounds, numbers(rng, shapes[4], bool)

    return Sample(random_ranges.BitsBetween(), values)


@sample("UnitsBetween")
def _units_between(d: Draw) -> Sample:
    dtype = of_dtype(d, "float64", "float32", "float16")
    shape = d.shape()
    shapes = [shape, d.stretched(shape), d.stretched(shape)]
    domains = (share, uniform(-3.0, -1.0), uniform(0.5, 2.0))

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(
            numbers(rng, s, dtype, domain) for s, domain in zip(shapes, domains, strict=True)
        )

    return Sample(random_ranges.UnitsBetween(), values)
