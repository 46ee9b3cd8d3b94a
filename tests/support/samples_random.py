"""Makers of examples for the primitives that draw random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.draws import Draw, NotApplicable, Sample, number, numbers, uniform
from support.samples import positive, sample, share

from fgrad.primitives import random, random_ranges, random_samplers


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


# ---- samplers ------------------------------------------------------------------------------------


def keys_and_numbers(d: Draw, shape: tuple[int, ...], dtype: Any, *domains: Any) -> Any:
    """A batch of keys, and parameters for `shape` draws of each."""
    lead, width = d.shape(most=1), random.KEY_WORDS[implementation(d)]

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        words = rng.integers(0, 2**32, size=(*lead, width), dtype=np.uint32)
        return words, *(numbers(rng, (*lead, *shape), dtype, domain) for domain in domains)

    return values


@sample("RandomGamma")
def _random_gamma(d: Draw) -> Sample:
    shape, dtype = d.shape(most=2), of_dtype(d, "float64", "float32", "float16")
    primitive = random_samplers.RandomGamma(shape, d.boolean())
    values = keys_and_numbers(d, shape, dtype, positive)
    # The derivative is that of the quantile function: no difference of draws shows it.
    return Sample(primitive, values, smooth=False, order=2)


@sample("RandomPoisson")
def _random_poisson(d: Draw) -> Sample:
    shape, dtype = d.shape(most=2), of_dtype(d, "float64", "float32")
    counts = np.dtype(d.choice(("int64", "int32", "uint8")))
    values = keys_and_numbers(d, shape, dtype, uniform(0.0, 9.0))
    return Sample(random_samplers.RandomPoisson(shape, counts), values)


@sample("RandomBinomial")
def _random_binomial(d: Draw) -> Sample:
    shape, dtype = d.shape(most=2), of_dtype(d, "float64", "float32")
    values = keys_and_numbers(d, shape, dtype, uniform(0.0, 20.0), share)
    return Sample(random_samplers.RandomBinomial(shape), values)


@sample("RandomMultinomial")
def _random_multinomial(d: Draw) -> Sample:
    shape, dtype = d.shape(most=1), of_dtype(d, "float64", "float32")
    lead, width = d.shape(most=1), random.KEY_WORDS[implementation(d)]
    categories = 0 if d.size == "empty" and 0 not in (*lead, *shape) else 3

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        words = rng.integers(0, 2**32, size=(*lead, width), dtype=np.uint32)
        trials = numbers(rng, (*lead, *shape), dtype, uniform(0.0, 20.0))
        return words, trials, numbers(rng, (*lead, *shape, categories), dtype, share)

    return Sample(random_samplers.RandomMultinomial((*shape, categories)), values)
