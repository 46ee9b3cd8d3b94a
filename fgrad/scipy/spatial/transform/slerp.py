"""Rotations between rotations."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import numpy as fnp
from fgrad import tree_util
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.scipy.spatial.transform.quaternions import from_rotvec, product
from fgrad.scipy.spatial.transform.rotation import Rotation
from fgrad.source_info import guard_methods
from fgrad.tracing import concrete


class Slerp:
    """Rotations as time goes by, at an even speed between given ones. A pytree.

    Parameters
    ----------
    times : array_like
        Ascending, at least two. The order of traced ones is not checked.
    rotations : Rotation
        As many.

    Raises
    ------
    ShapeError
        If there are not as many rotations as times, or fewer than two.
    ArgumentError
        If times do not ascend.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy.spatial.transform import Rotation, Slerp
    >>> turn = Slerp(np.array([0.0, 2.0]), Rotation.from_euler("x", np.array([0.0, 1.0])))
    >>> turn(np.array([0.0, 1.0])).as_rotvec().round(12)
    Array([[0. , 0. , 0. ],
           [0.5, 0. , 0. ]], dtype=float64)
    """

    __slots__ = ("rotations", "rotvecs", "times")

    def __init__(self, times: ArrayLike, rotations: Rotation) -> None:
        given: Any = fnp.asarray(times) * 1.0
        if rotations.single or given.shape != (len(rotations),) or given.shape[0] < 2:
            count = "one rotation" if rotations.single else f"{len(rotations)} rotations"
            raise ShapeError(
                f"Slerp: times have shape {given.shape} for {count}; give vectors of at least two"
            )
        known = concrete(given)
        if known is not None and not (np.diff(np.asarray(known)) > 0).all():
            raise ArgumentError("Slerp: times do not ascend; sort them, and drop repeated ones")
        self.times = given
        self.rotations = rotations[:-1]
        self.rotvecs = (rotations[:-1].inv() * rotations[1:]).as_rotvec()

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """The same as the class, under the name that JAX gives it."""
        return cls(times, rotations)

    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at times, of any shape; before the first and after the last one they go on."""
        at: Any = fnp.asarray(times) * 1.0
        last = self.times.shape[0] - 2
        place = fnp.clip(fnp.searchsorted(self.times, at) - 1, 0, last)
        share = (at - self.times[place]) / (self.times[place + 1] - self.times[place])
        turned = from_rotvec(self.rotvecs[place] * share[..., None])
        return Rotation(product(self.rotations.quat[place], turned))


def _restored(_: Any, children: Any) -> Slerp:
    slerp = object.__new__(Slerp)
    slerp.times, slerp.rotations, slerp.rotvecs = children
    return slerp


tree_util.register_pytree_node(
    Slerp, lambda s: ((s.times, s.rotations, s.rotvecs), None), _restored
)
guard_methods(Slerp)
