"""Draws of shapes, dtypes and numbers, from hypothesis or from a seed, under wishes of the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

DTYPES = tuple(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 float32 float64 complex64 complex128".split()
)
FLOATS = ("float64", "float32", "float16")
INEXACT = ("float64", "complex128", "float32", "complex64")

Values = Callable[[np.random.Generator], tuple[Any, ...]]


class NotApplicable(Exception):
    """The primitive has no application of the kind that a test asks for."""


@dataclass
class Sample:
    """An application of a primitive: fresh operands of one type come from each generator."""

    primitive: Any
    values: Values
    #: Differences of the values approach the derivative.
    smooth: bool = True
    #: Other ways to compute it give the same bits.
    exact: bool = True
    #: How much larger rounding and truncation errors are than those of one operation.
    slack: float = 1.0
    #: The highest derivative that is known.
    order: int = 2
    operands: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.operands = self.values(np.random.default_rng(5))


class Draw:
    """Where the makers of samples get their choices from.

    ``size`` is a wish for shapes: "any", "scalar", "one", "empty"; ``dtype`` one for the dtype of
    the main operands.
    """

    def __init__(
        self, integer: Callable[[int, int], int], size: str = "any", dtype: str | None = None
    ):
        self.integer = integer
        self.size = size
        self.forced = dtype

    def boolean(self) -> bool:
        return bool(self.integer(0, 1))

    def choice(self, items: Sequence[Any]) -> Any:
        return items[self.integer(0, len(items) - 1)]

    def subset(self, items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(item for item in items if self.boolean())

    def permutation(self, items: Sequence[Any]) -> list[Any]:
        rest = list(items)
        return [rest.pop(self.integer(0, len(rest) - 1)) for _ in range(len(rest))]

    def shape(self, least: int = 0, most: int = 3, nonempty: bool = False) -> tuple[int, ...]:
        """A shape with `least` to `most` axes."""
        if self.size == "scalar":
            if least:
                raise NotApplicable
            return ()
        if self.size == "one":
            return (1,) * max(least, min(most, 2))
        if self.size == "empty":
            if nonempty or not most:
                raise NotApplicable
            rank = self.integer(max(least, 1), most)
            shape = [self.integer(0, 3) for _ in range(rank)]
            shape[self.integer(0, rank - 1)] = 0
            return tuple(shape)
        return tuple(self.integer(1, 4) for _ in range(self.integer(least, most)))

    def dtype(self, usual: Sequence[str] = FLOATS[:2]) -> np.dtype[Any]:
        """The wanted dtype, or one of the usual ones: float64 most often."""
        if self.forced is not None:
            return np.dtype(self.forced)
        return np.dtype("float64" if self.boolean() else self.choice(usual))

    def stretched(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to this one."""
        kept = shape[self.integer(0, len(shape)) :] if self.boolean() else shape
        return tuple(1 if n != 0 and self.integer(0, 3) == 0 else n for n in kept)


def from_hypothesis(data: st.DataObject, **wishes: Any) -> Draw:
    return Draw(lambda low, high: data.draw(st.integers(low, high)), **wishes)


def from_seed(seed: int, **wishes: Any) -> Draw:
    rng = np.random.default_rng(seed)
    return Draw(lambda low, high: int(rng.integers(low, high + 1)), **wishes)


# ---- numbers -------------------------------------------------------------------------------------

Domain = Callable[[np.random.Generator, tuple[int, ...]], Any]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.normal(size=shape)


def uniform(low: float, high: float) -> Domain:
    return lambda rng, shape: rng.uniform(low, high, size=shape)


def either_sign(low: float, high: float) -> Domain:
    """Magnitudes between two bounds, with both signs."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return rng.uniform(low, high, size=shape) * rng.choice([-1.0, 1.0], size=shape)

    return draw


def spaced(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Different numbers, none near to another or to zero."""
    count = int(np.prod(shape, dtype=int))
    places = rng.permutation(2 * count + 6)[:count] - count - 2.5
    return (places * 0.35).reshape(shape)


def number(x: Any, dtype: Any) -> Any:
    """An array of a dtype as the library holds it: a NumPy scalar if it is 0-d."""
    return np.asarray(x).astype(dtype)[()]


def numbers(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, domain: Domain = normal
) -> Any:
    """Random numbers of a dtype; `domain` gives the real and the imaginary part of floats."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return number(rng.integers(0, 2, size=shape), dtype)
    if dtype.kind == "u":
        return number(rng.integers(1, 7, size=shape), dtype)
    if dtype.kind == "i":
        return number(rng.integers(1, 7, size=shape) * rng.choice([-1, 1], size=shape), dtype)
    values = domain(rng, shape)
    if dtype.kind == "c":
        values = values + 0.5j * domain(rng, shape)
    return number(values, dtype)
