"""The oracles that a function of ``fgrad.numpy`` is held against: NumPy, JAX, and differences."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from support.modules import jax, jnp
from support.rows import operand, operands_of

STEP = 1e-5


class NumPy:
    """NumPy with the few arguments that only JAX has."""

    linalg = np.linalg
    fft = np.fft

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def repeat(a: Any, repeats: Any, axis: Any = None, total_repeat_length: Any = None) -> Any:
        return np.repeat(a, repeats, axis)[..., :total_repeat_length]

    @staticmethod
    def bincount(x: Any, weights: Any = None, minlength: int = 0, length: Any = None) -> Any:
        counts = np.bincount(x, weights, max(minlength, length or 0))
        return counts if length is None else counts[:length]

    @staticmethod
    def roots(p: Any, strip_zeros: bool = True) -> Any:
        return np.roots(p)

    def fill_diagonal(self, a: Any, val: Any, wrap: bool = False, *, inplace: bool) -> Any:
        return changed(np.fill_diagonal, a, val, wrap)

    def put(self, a: Any, ind: Any, v: Any, *, inplace: bool) -> Any:
        return changed(np.put, a, ind, v)

    def put_along_axis(self, a: Any, indices: Any, v: Any, axis: int, *, inplace: bool) -> Any:
        return changed(np.put_along_axis, a, indices, v, axis)

    def putmask(self, a: Any, mask: Any, values: Any, *, inplace: bool) -> Any:
        return changed(np.putmask, a, mask, values)

    def copyto(self, a: Any, src: Any, *, where: Any = True, inplace: bool) -> Any:
        return changed(np.copyto, a, src, where=where)

    def place(self, a: Any, mask: Any, vals: Any, *, inplace: bool) -> Any:
        return changed(np.place, a, mask, vals)


def changed(function: Callable[..., Any], array: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function of NumPy leaves in the array that it writes to."""
    copy = np.array(array)
    function(copy, *args, **kwargs)
    return copy


NUMPY = NumPy()


def leaves_of(result: Any) -> list[Any]:
    """The leaves of a result; the named tuples of linear algebra count as tuples."""
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in leaves_of(item)]
    return [result]


def is_inexact(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


class Call:
    """An expression of the table with its operands, tangents and cotangents."""

    def __init__(self, expression: str):
        self.expression = expression
        self.names = operands_of(expression)
        self.rng = np.random.default_rng(zlib.crc32(expression.encode()))
        self.operands = [operand(name, self.rng) for name in self.names]
        self.moving = [n for n, x in enumerate(self.operands) if is_inexact(x)]
        self.want = leaves_of(self.numpy(*self.operands))
        self.tangents = [self.noise(self.operands[n]) for n in self.moving]
        # Not-a-number does not move.
        for n, tangent in zip(self.moving, self.tangents, strict=True):
            tangent[~np.isfinite(self.operands[n])] = 0.0
        self.cotangents = [self.noise(x) for x in self.want if is_inexact(x)]
        self.narrow = any(
            np.asarray(x).dtype in (np.float32, np.complex64)
            for x in (*self.operands, *self.want)
            if not isinstance(x, str)
        )

    def noise(self, like: Any) -> np.ndarray[Any, Any]:
        like = np.asarray(like)
        values = self.rng.normal(size=like.shape)
        if like.dtype.kind == "c":
            values = values + 1j * self.rng.normal(size=like.shape)
        return np.array(values, like.dtype)

    def on(self, module: Any) -> Callable[..., Any]:
        """The expression as a function of its operands."""
        code = compile(self.expression, "<row>", "eval")

        def function(*operands: Any) -> Any:
            names = dict(zip(self.names, operands, strict=True))
            return eval(code, {"xp": module, "np": np, **names})

        return function

    def numpy(self, *operands: Any) -> Any:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.on(NUMPY)(*operands)

    def inexact(self, function: Callable[..., Any]) -> Callable[..., list[Any]]:
        """The inexact leaves as a function of the inexact operands."""

        def restricted(*moved: Any) -> list[Any]:
            operands: list[Any] = [*self.operands]
            for n, value in zip(self.moving, moved, strict=True):
                operands[n] = value
            leaves = leaves_of(function(*operands))
            return [leaf for leaf, want in zip(leaves, self.want, strict=True) if is_inexact(want)]

        return restricted

    def subsets(self) -> Iterator[tuple[int, ...]]:
        places = range(len(self.operands))
        for count in range(1, len(self.operands) + 1):
            yield from combinations(places, count)

    def rows(self, mapped: tuple[int, ...]) -> tuple[list[Any], list[list[Any]]]:
        """Operands stacked for ``vmap``, and NumPy's results for each row."""
        other = [operand(name, self.rng) for name in self.names]
        first = list(self.operands)
        second = [other[n] if n in mapped else x for n, x in enumerate(first)]
        stacked = [np.stack([x, other[n]]) if n in mapped else x for n, x in enumerate(first)]
        return stacked, [leaves_of(self.numpy(*first)), leaves_of(self.numpy(*second))]

    # ---- derivatives by JAX

    def derivatives(self, lib: Any, function: Callable[..., Any], arrays: Any) -> Callable[[], Any]:
        """(tangents, cotangents, second derivative) by a module, as a function to run or to jit."""
        restricted = self.inexact(function)

        def run(primals: Any, tangents: Any, cotangents: Any) -> Any:
            out, pushed = lib.jvp(restricted, tuple(primals), tuple(tangents))
            matched = [
                arrays(ct).astype(leaf.dtype) for ct, leaf in zip(cotangents, out, strict=True)
            ]

            def pulled(*moved: Any) -> Any:
                return lib.vjp(restricted, *moved)[1](matched)

            first = pulled(*primals)
            _, second = lib.jvp(pulled, tuple(primals), tuple(tangents))
            return pushed, first, second

        return run

    def by_jax(self) -> Any:
        run = self.derivatives(jax, self.on(jnp), jnp.asarray)
        primals = [jnp.asarray(self.operands[n]) for n in self.moving]
        return jax.jit(run)(primals, self.tangents, self.cotangents)

    # ---- derivatives by differences

    def wide(self) -> list[np.ndarray[Any, Any]]:
        return [
            x.astype("complex128" if x.dtype.kind == "c" else "float64")
            for x in (self.operands[n] for n in self.moving)
        ]

    def tangent_by_differences(self) -> list[np.ndarray[Any, Any]]:
        """The directional derivative of NumPy's function, in 64 bits."""
        restricted = self.inexact(self.numpy)
        return central(restricted, self.wide(), self.tangents)

    def second_by_differences(self, pulled: Callable[..., Any]) -> list[np.ndarray[Any, Any]]:
        """The directional derivative of a pullback."""
        return central(pulled, self.wide(), self.tangents)


def central(
    function: Callable[..., Any], primals: list[Any], tangents: list[Any]
) -> list[np.ndarray[Any, Any]]:
    ahead = function(*(x + STEP * t for x, t in zip(primals, tangents, strict=True)))
    behind = function(*(x - STEP * t for x, t in zip(primals, tangents, strict=True)))
    with np.errstate(all="ignore"):
        return [
            (np.asarray(a) - np.asarray(b)) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)
        ]


def inner(left: list[Any], right: list[Any]) -> float:
    """The pairing of cotangents with tangents: no conjugation, as in JAX."""
    pairs = zip(left, right, strict=True)
    return float(sum(np.real(np.sum(np.asarray(a) * np.asarray(b))) for a, b in pairs))
