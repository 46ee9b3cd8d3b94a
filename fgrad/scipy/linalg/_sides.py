"""Right-hand sides as users give them: vectors, or matrices in the last two axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, operand
from fgrad.numpy.linalg._operands import floats
from fgrad.primitives.contraction import promoted
from fgrad.primitives.families import reshape


def solved(
    name: str, a: Any, b: ArrayLike, solve: Callable[[Any, Any], Any], argument: str = "b"
) -> Any:
    """The result of `solve` on matrices of one dtype; a vector gives a vector."""
    side = floats(operand(b, name, argument), name, argument)
    shape, n = aval_of(side).shape, aval_of(a).shape[-2]
    vector = len(shape) == 1
    if not shape or shape[0 if vector else -2] != n:
        raise ShapeError(
            f"{name}: matrices of shape {aval_of(a).shape} and {argument} of shape {shape} do not fit; give "
            f"{argument} the shape ({n},) or (..., {n}, k)"
        )
    if vector:
        side = reshape(side, (n, 1))
    left, right = promoted(name, a, side)
    answer = solve(left, right)
    return reshape(answer, aval_of(answer).shape[:-1]) if vector else answer


def transposition(trans: Any, name: str) -> int:
    """0, 1 or 2 for a matrix, its transpose or its adjoint."""
    known = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2, "n": 0, "t": 1, "c": 2}
    if not isinstance(trans, (int, str)) or trans not in known:
        raise ArgumentError(
            f"{name}: trans is {trans!r}; give 0 or 'N' for the matrix itself, 1 or 'T' for its transpose, 2 or "
            "'C' for its adjoint"
        )
    return known[trans]
