"""Abstract values: the shape, dtype and weakness of an array, without its elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.config import switches
from fgrad.errors import ShapeError

Shape = tuple[int, ...]


class Aval:
    """Shape, dtype and weakness of a value.

    A weak value is 0-d and stands for a Python number: it takes the dtype of what it meets.
    """

    __slots__ = ("dtype", "shape", "weak")

    def __init__(self, shape: Shape, dtype: np.dtype[Any], weak: bool = False) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak = weak

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        return self.weak

    @property
    def aval(self) -> Aval:
        return self

    @property
    def sharding(self) -> None:
        """Nothing: a type says nothing of devices."""

    def with_shape(self, shape: Shape) -> Aval:
        """The same dtype with another shape; weakness is kept by 0-d values only."""
        return Aval(shape, self.dtype, self.weak and not shape)

    def with_dtype(self, dtype: np.dtype[Any]) -> Aval:
        return Aval(self.shape, dtype)

    def fits(self, other: Aval) -> bool:
        """Whether shape and dtype agree; weakness may be lost where examples form a batch."""
        return self.shape == other.shape and self.dtype == other.dtype

    def strong(self) -> Aval:
        return Aval(self.shape, self.dtype)

    def to_tangent_aval(self) -> Aval:
        """The type of tangents: that of the value, or float0 for integers and booleans."""
        return self if dtypes.is_inexact(self.dtype) else Aval(self.shape, dtypes.float0)

    # Another name that JAX has for it.
    at_least_vspace = to_tangent_aval

    def strip_weak_type(self) -> Aval:
        """The type of an array, where the value stands for a Python number."""
        return self.strong()

    def update(self, **changes: Any) -> Aval:
        """A type that differs in ``shape``, ``dtype`` or ``weak_type``."""
        shape = tuple(changes.get("shape", self.shape))
        weak = changes.get("weak_type", self.weak)
        return Aval(shape, np.dtype(changes.get("dtype", self.dtype)), bool(weak) and not shape)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Aval)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak == other.weak
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak))

    def __reduce__(self) -> tuple[Any, ...]:
        return Aval, (self.shape, self.dtype, self.weak)

    def __str__(self) -> str:
        return short_dtype(self.dtype) + ("~" if self.weak else "") + shape_text(self.shape)

    def __repr__(self) -> str:
        return f"Aval({self})"


def short_dtype(dtype: np.dtype[Any]) -> str:
    """A dtype as jaxprs print it: f32, i64, c128, bool."""
    if dtype == dtypes.float0:
        return "float0"
    if dtype.kind in "iufc":
        return f"{dtype.kind}{8 * dtype.itemsize}"
    return dtype.name


def shape_text(shape: Shape) -> str:
    return "[" + ",".join(map(str, shape)) + "]"


_WEAK_64 = {kind: Aval((), dtype, True) for kind, dtype in dtypes.PYTHON_DTYPES.items()}
_WEAK_32 = {
    kind: Aval((), dtypes._TO_32.get(d, d), True) for kind, d in dtypes.PYTHON_DTYPES.items()
}
WEAK_FLOAT = _WEAK_64[float]


def weak_aval(kind: type) -> Aval:
    """The aval of a Python scalar of type `kind`."""
    return (_WEAK_64 if switches.enable_x64 else _WEAK_32)[kind]


def aval_of(value: Any) -> Aval:
    """The aval of an internal value: array, NumPy or Python scalar, tracer, or an aval itself."""
    kind = type(value)
    if kind is np.ndarray:
        return Aval(value.shape, value.dtype)
    if kind in _WEAK_64:
        return weak_aval(kind)
    aval = getattr(value, "aval", None)
    if aval is not None:
        return aval  # type: ignore[no-any-return]
    return Aval(value.shape, value.dtype)


def broadcast_shapes(name: str, *shapes: Shape) -> Shape:
    """The common shape of operands of the operation `name`.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    """
    first = shapes[0]
    for shape in shapes:
        if shape != first:
            break
    else:
        return first
    shapes = tuple(shape for shape in shapes if shape)
    if len(shapes) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(map(str, shapes))
        raise ShapeError(
            f"{name}: operands of shapes {listed} cannot be broadcast together"
        ) from None


class ShapeDtypeStruct:
    """The shape and dtype of an array that need not exist.

    Parameters
    ----------
    shape : sequence of int
    dtype : dtype-like
    weak_type : bool
        Whether it stands for a Python number.
    sharding : Sharding, optional
        Kept, and without effect.

    Examples
    --------
    >>> import fgrad, numpy as np
    >>> fgrad.eval_shape(lambda x: x.T, fgrad.ShapeDtypeStruct((2, 3), np.float32))
    ShapeDtypeStruct(shape=(3, 2), dtype=float32)
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(
        self, shape: Any, dtype: Any, *, weak_type: bool = False, sharding: Any = None
    ) -> None:
        self.shape: Shape = tuple(int(size) for size in shape)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.weak_type = weak_type
        self.sharding = sharding

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def aval(self) -> Aval:
        """The same, as an aval."""
        return Aval(self.shape, self.dtype, self.weak_type)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d ShapeDtypeStruct")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{weak})"
