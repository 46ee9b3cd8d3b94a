"""The class of rotations."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad import random, tree_util
from fgrad.array import Array
from fgrad.errors import ArgumentError, NonArrayError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.scipy.spatial.transform import euler, quaternions
from fgrad.source_info import guard_methods
from fgrad.tracing import concrete


def _numbers(x: Any, name: str, *ends: int) -> Any:
    """An array of floats whose shape ends so."""
    array: Any = fnp.asarray(x)
    if array.shape[-len(ends) :] != ends:
        what = ", ".join(map(str, ends))
        raise ShapeError(f"Rotation.{name}: got shape {array.shape}; give (..., {what})")
    return array if fnp.issubdtype(array.dtype, fnp.inexact) else array * 1.0


class Rotation:
    """One rotation in three dimensions, or an array of them. A pytree, whose leaf is `quat`.

    Make rotations by `from_quat`, `from_matrix`, `from_rotvec`, `from_mrp`, `from_euler`, `identity`,
    `random` and `concatenate`. ``p * q`` is the rotation q followed by p. All forms are differentiable
    in both modes, to all orders, at no rotation too; angles about axes are not where the first and the
    last axis fall together.

    Parameters
    ----------
    quat : Array
        Quaternions of length one, of shape (..., 4), with the real part last; they are not checked.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy.spatial.transform import Rotation
    >>> quarter = Rotation.from_euler("z", 90, degrees=True)
    >>> quarter.apply(np.array([1.0, 2.0, 3.0])).round(12)
    Array([-2.,  1.,  3.], dtype=float64)
    >>> (quarter * quarter).as_rotvec(degrees=True).round(12) + 0.0
    Array([  0.,   0., 180.], dtype=float64)
    """

    __slots__ = ("quat",)

    def __init__(self, quat: Any) -> None:
        self.quat = quat

    # ---- made of other forms ---------------------------------------------------------------------

    @classmethod
    def from_quat(cls, quat: ArrayLike, *, scalar_first: bool = False) -> Rotation:
        """Rotations of quaternions (..., 4), which are brought to length one."""
        x = _numbers(quat, "from_quat", 4)
        known = concrete(x)
        if known is not None and not np.any(np.asarray(known), axis=-1).all():
            raise ArgumentError("Rotation.from_quat: a quaternion is zero; give others")
        x = fnp.roll(x, -1, axis=-1) if scalar_first else x
        return cls(quaternions.normalized(x))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """Rotations of orthogonal matrices (..., 3, 3) of determinant 1, which are not checked."""
        return cls(quaternions.from_matrix(_numbers(matrix, "from_matrix", 3, 3)))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """Rotations of vectors (..., 3) along the axis, as long as the angle."""
        x = _numbers(rotvec, "from_rotvec", 3)
        return cls(quaternions.from_rotvec(fnp.radians(x) if degrees else x))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """Rotations of modified Rodrigues parameters (..., 3)."""
        return cls(quaternions.from_mrp(_numbers(mrp, "from_mrp", 3)))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """Rotations about axes one after the other.

        `seq` has up to three letters of "xyz", for axes that stay, or of "XYZ", for axes that turn;
        `angles` has as many along its last axis, or is a number for one letter.
        """
        return cls(euler.from_euler(seq, angles, degrees))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """No rotation, or `num` of them."""
        one = fnp.asarray(np.array([0.0, 0.0, 0.0, 1.0]), dtype)
        return cls(one if num is None else fnp.broadcast_to(one, (num, 4)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """A rotation by chance, or `num` of them, all equally likely."""
        return cls(
            quaternions.normalized(random.normal(random_key, (*(() if num is None else (num,)), 4)))
        )

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """The rotations of several, in one array."""
        for r in rotations:
            if not isinstance(r, Rotation):
                raise NonArrayError(
                    f"Rotation.concatenate: got a {type(r).__name__}; give rotations"
                )
        return cls(fnp.concatenate([fnp.reshape(r.quat, (-1, 4)) for r in rotations]))

    # ---- in other forms --------------------------------------------------------------------------

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions (..., 4); of both signs, the one with a positive real part if `canonical`."""
        x: Any = quaternions.canonical(self.quat) if canonical else fnp.asarray(self.quat)
        return fnp.roll(x, 1, axis=-1) if scalar_first else x

    def as_matrix(self) -> Array:
        """Orthogonal matrices (..., 3, 3)."""
        return quaternions.to_matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors (..., 3) along the axis, as long as the angle."""
        x: Any = quaternions.to_rotvec(self.quat)
        return fnp.degrees(x) if degrees else x

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters (..., 3)."""
        return quaternions.to_mrp(self.quat)

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles (..., 3) about three axes, as `from_euler` takes them.

        Where the first and the last axis fall together, the last angle is 0.
        """
        return euler.to_euler(self.quat, seq, degrees)

    def magnitude(self) -> Array:
        """Angles between 0 and pi."""
        return quaternions.magnitude(self.quat)

    # ---- what they do ----------------------------------------------------------------------------

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Turn vectors (..., 3), or turn them back."""
        x = _numbers(vectors, "apply", 3)
        matrix: Any = self.as_matrix()
        matrix = fnp.swapaxes(matrix, -1, -2) if inverse else matrix
        try:
            np.broadcast_shapes(matrix.shape[:-2], x.shape[:-1])
        except ValueError:
            raise ShapeError(
                f"Rotation.apply: {matrix.shape[:-2]} rotations and vectors of shape {x.shape} do not broadcast"
            ) from None
        return (matrix @ x[..., None])[..., 0]

    def inv(self) -> Rotation:
        """The rotations back."""
        return Rotation(quaternions.inverse(self.quat))

    def __mul__(self, other: Rotation) -> Rotation:
        """The rotations of `other`, followed by these."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(quaternions.normalized(quaternions.product(self.quat, other.quat)))

    def mean(self, weights: ArrayLike | None = None) -> Rotation:
        """The rotation that is nearest to all, weighted, in the squares of their distances as matrices."""
        quat = fnp.reshape(self.quat, (-1, 4))
        share: Any = fnp.ones(len(quat), quat.dtype) if weights is None else fnp.asarray(weights)
        if share.shape != (len(quat),):
            raise ShapeError(
                f"Rotation.mean: weights have shape {share.shape} for {len(quat)} rotations; give one each"
            )
        total = (share * quat.T) @ quat
        return Rotation(fnp.linalg.eigh(total)[1][:, -1])

    # ---- arrays of them --------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """Whether this is one rotation, and no array."""
        return fnp.ndim(self.quat) == 1

    def __len__(self) -> int:
        if self.single:
            raise NonArrayError(
                "a single rotation has no len(); use rotation.single to tell them apart"
            )
        return int(self.quat.shape[0])

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise NonArrayError(
                "a single rotation cannot be indexed; use rotation.single to tell them apart"
            )
        return Rotation(self.quat[indexer])

    def __repr__(self) -> str:
        return f"Rotation({self.quat!r})"


tree_util.register_pytree_with_keys(
    Rotation,
    lambda r: (((tree_util.GetAttrKey("quat"), r.quat),), None),
    lambda _, children: Rotation(*children),
)
guard_methods(Rotation)
