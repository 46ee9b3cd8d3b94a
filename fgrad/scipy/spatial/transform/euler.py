"""Rotations about axes one after the other."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import itertools
import math
from typing import Any

from fgrad import numpy as fnp
from fgrad.errors import ArgumentError, ShapeError
from fgrad.scipy.spatial.transform.quaternions import product

# Nearer to a pole than this, first and last angle cannot be told apart.
_POLE = 1e-7


def axes_of(seq: Any, name: str, least: int = 1) -> tuple[bool, list[int]]:
    """Whether axes turn with the body, and their numbers."""
    lower = isinstance(seq, str) and seq.lower()
    if not lower or not least <= len(seq) <= 3 or seq not in (lower, seq.upper()):
        wanted = "three letters" if least == 3 else "one to three letters"
        raise ArgumentError(
            f"{name}: seq is {seq!r}; give {wanted} of 'xyz', for axes that stay, or of 'XYZ', for axes that turn"
        )
    if set(lower) - set("xyz"):
        raise ArgumentError(f"{name}: seq is {seq!r}; give letters of 'xyz' or of 'XYZ'")
    if any(a == b for a, b in itertools.pairwise(lower)):
        raise ArgumentError(
            f"{name}: seq is {seq!r}; give an axis that differs from the one before"
        )
    return bool(seq != lower), ["xyz".index(c) for c in lower]


def from_euler(seq: Any, angles: Any, degrees: bool) -> Any:
    """The quaternions of angles along the last axis."""
    turning, axes = axes_of(seq, "Rotation.from_euler")
    given: Any = fnp.asarray(angles) * 1.0
    if len(axes) == 1 and (not given.ndim or given.shape[-1] != 1):
        given = given[..., None]
    if not given.ndim or given.shape[-1] != len(axes):
        raise ShapeError(
            f"Rotation.from_euler: angles have shape {given.shape} for seq={seq!r}; give {len(axes)} along the last"
        )
    half = (fnp.radians(given) if degrees else given) / 2
    result: Any = None
    for place, axis in enumerate(axes):
        sine, cosine = fnp.sin(half[..., place]), fnp.cos(half[..., place])
        none = fnp.zeros_like(sine)
        one = fnp.stack([*[sine if n == axis else none for n in range(3)], cosine], axis=-1)
        if result is None:
            result = one
        else:
            result = product(result, one) if turning else product(one, result)
    return result


def to_euler(quat: Any, seq: Any, degrees: bool) -> Any:
    """Three angles along the last axis, after Bernardes and Viollet."""
    turning, axes = axes_of(seq, "Rotation.as_euler", least=3)
    i, j, k = reversed(axes) if turning else axes
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    # Whether the axes are an even permutation.
    sign = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = quat[..., i], quat[..., j], sign * quat[..., k], quat[..., 3]
    a, b, c, d = (w, x, y, z) if symmetric else (w - y, x + z, y + w, z - x)
    middle = 2 * fnp.arctan2(fnp.hypot(c, d), fnp.hypot(a, b))
    low, high = fnp.abs(middle) <= _POLE, fnp.abs(middle - math.pi) <= _POLE
    half_sum, half_difference = fnp.arctan2(b, a), fnp.arctan2(d, c)
    first, last = half_sum - half_difference, half_sum + half_difference
    if turning:
        first, last = last, first
    pole = fnp.where(low, 2 * half_sum, 2 * half_difference * (1 if turning else -1))
    first = fnp.where(low | high, pole, first)
    last = fnp.where(low | high, 0.0, last)
    if not symmetric:
        first, last = (first * sign, last) if turning else (first, last * sign)
        middle = middle - math.pi / 2
    found = fnp.stack([first, middle, last], axis=-1)
    found = fnp.where(found > math.pi, found - 2 * math.pi, found)
    found = fnp.where(found < -math.pi, found + 2 * math.pi, found)
    return fnp.degrees(found) if degrees else found
