"""Rotations as quaternions of length one, with the real part last, and in the other forms.

Where a form has a hole, as the axis of no rotation at all, a series takes its place, so that slopes
are right there too.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

from fgrad import numpy as fnp

# Below this square of an angle, three terms of a series are exact.
_SMALL = 1e-4


def normalized(quat: Any) -> Any:
    """Quaternions of length one."""
    return quat / fnp.linalg.norm(quat, axis=-1, keepdims=True)


def product(first: Any, second: Any) -> Any:
    """The rotation `first` after `second`."""
    u, v = first[..., :3], second[..., :3]
    p, q = first[..., 3:], second[..., 3:]
    shape = fnp.broadcast_shapes(u.shape, v.shape)
    crossed: Any = fnp.cross(fnp.broadcast_to(u, shape), fnp.broadcast_to(v, shape))
    vector = p * v + q * u + crossed
    return fnp.concatenate([vector, p * q - fnp.sum(u * v, axis=-1, keepdims=True)], axis=-1)


def inverse(quat: Any) -> Any:
    """The rotation back."""
    return fnp.concatenate([-quat[..., :3], quat[..., 3:]], axis=-1)


def to_matrix(quat: Any) -> Any:
    """Of shape (..., 3, 3)."""
    x, y, z, w = (quat[..., i] for i in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return fnp.stack([fnp.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(matrix: Any) -> Any:
    """By the largest of the four elements, by which the others are divided."""
    m = [[matrix[..., i, j] for j in range(3)] for i in range(3)]
    trace = m[0][0] + m[1][1] + m[2][2]
    forms = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None, None, None, m[k][j] - m[j][k]]
        parts[i] = 1 - trace + 2 * m[i][i]
        parts[j], parts[k] = m[j][i] + m[i][j], m[k][i] + m[i][k]
        forms.append(fnp.stack(parts, axis=-1))
    turned = [m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]]
    forms.append(fnp.stack([*turned, 1 + trace], axis=-1))
    choice = fnp.argmax(fnp.stack([m[0][0], m[1][1], m[2][2], trace], axis=-1), axis=-1)
    picked = forms[3]
    for n in range(3):
        picked = fnp.where((choice == n)[..., None], forms[n], picked)
    return normalized(picked)


def from_rotvec(rotvec: Any) -> Any:
    """Of vectors along the axis, as long as the angle."""
    square = fnp.sum(rotvec * rotvec, axis=-1, keepdims=True)
    small = square < _SMALL
    angle = fnp.sqrt(fnp.where(small, 1.0, square))
    near = 0.5 - square / 48 + square**2 / 3840 - square**3 / 645120
    scale = fnp.where(small, near, fnp.sin(angle / 2) / angle)
    near = 1 - square / 8 + square**2 / 384 - square**3 / 46080
    return fnp.concatenate([scale * rotvec, fnp.where(small, near, fnp.cos(angle / 2))], axis=-1)


def to_rotvec(quat: Any) -> Any:
    """Vectors along the axis, as long as the angle, which is at most pi."""
    quat = fnp.where(quat[..., 3:] < 0, -quat, quat)
    vector, w = quat[..., :3], quat[..., 3:]
    square = fnp.sum(vector * vector, axis=-1, keepdims=True)
    small = square < _SMALL
    length = fnp.sqrt(fnp.where(small, 1.0, square))
    # 2 atan(length / w) / length.
    known = fnp.where(small, w, 1.0)
    ratio = fnp.where(small, square, 0.0) / known**2
    near = 2 / known * (1 - ratio / 3 + ratio**2 / 5 - ratio**3 / 7)
    return vector * fnp.where(small, near, 2 * fnp.arctan2(length, w) / length)


def magnitude(quat: Any) -> Any:
    """Angles between 0 and pi."""
    return 2 * fnp.arctan2(fnp.linalg.norm(quat[..., :3], axis=-1), fnp.abs(quat[..., 3]))


def from_mrp(mrp: Any) -> Any:
    """Of modified Rodrigues parameters: along the axis, as long as the tangent of a quarter angle."""
    square = fnp.sum(mrp * mrp, axis=-1, keepdims=True)
    return fnp.concatenate([2 * mrp, 1 - square], axis=-1) / (1 + square)


def to_mrp(quat: Any) -> Any:
    """Modified Rodrigues parameters, of length at most one."""
    quat = fnp.where(quat[..., 3:] < 0, -quat, quat)
    return quat[..., :3] / (1 + quat[..., 3:])


def canonical(quat: Any) -> Any:
    """Of both signs, which stand for one rotation, the one whose last element that is not 0 is positive."""
    negative: Any = False
    equal: Any = True
    for place in (3, 0, 1, 2):
        part = quat[..., place]
        negative = negative | (equal & (part < 0))
        equal = equal & (part == 0)
    return fnp.where(fnp.asarray(negative)[..., None], -quat, quat)
