"""What programs say to other compilers and machines, under the names of ``jax.lax``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import Array
from fgrad.avals import ShapeDtypeStruct, aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike, static_shape, wrap
from fgrad.numpy._support import operand as _operand
from fgrad.primitives import elementwise as p
from fgrad.primitives.promotion import common_dtype
from fgrad.transforms.callback import io_callback


def optimization_barrier(operand: Any, /) -> Any:
    """The same values. Compiled functions compute in the order of the program, so that there is nothing to hold.

    Parameters
    ----------
    operand : array_like, or tree of them

    Returns
    -------
    Array, or tree of Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.optimization_barrier((np.ones(2), 1.0))[0]
    Array([1., 1.], dtype=float64)
    """
    return _tree.map(lambda x: wrap(_operand(x, "optimization_barrier")), operand)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The same values: all devices share one memory, where an array lies in any layout.

    Parameters
    ----------
    x : array_like, or tree of them
    shardings : Sharding, PartitionSpec, or tree of them
        Accepted for compatibility, without effect.

    Returns
    -------
    Array, or tree of Array
        Differentiable.

    Examples
    --------
    >>> from fgrad import P, lax
    >>> import numpy as np
    >>> lax.with_sharding_constraint(np.ones(2), P("data"))
    Array([1., 1.], dtype=float64)
    """
    return _tree.map(lambda leaf: wrap(_operand(leaf, "with_sharding_constraint")), x)


def platform_dependent(
    *args: Any,
    default: Callable[..., Any] | None = None,
    **per_platform: Callable[..., Any],
) -> Any:
    """Call the function that is meant for this platform: that for "cpu", or the default one.

    Parameters
    ----------
    *args
        Its arguments.
    default : callable, optional
        The function where none is given for the platform.
    **per_platform : callable
        Functions by platform, such as ``cpu`` and ``tpu``.

    Returns
    -------
    object
        What the function returns.

    Raises
    ------
    ArgumentError
        If there is neither a function for the CPU nor a default one.

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.platform_dependent(2.0, tpu=lambda x: -x, default=lambda x: x + 1.0)
    3.0
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        raise ArgumentError(
            f"platform_dependent: there are functions for {', '.join(per_platform) or 'no platform'}, but the "
            "platform is cpu; give one for cpu, or default"
        )
    return chosen(*args)


_generator = np.random.default_rng()


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Random numbers without a key: others in each call, in compiled functions too.

    ``fgrad.random.uniform`` is the function to use: its numbers can be had again.

    Parameters
    ----------
    a, b : array_like
        Scalars: the bounds, of which `b` is excluded.
    shape : sequence of int

    Returns
    -------
    Array
        Of the dtype of the bounds. Not differentiable. Under ``vmap``, each example has numbers of its own.

    Raises
    ------
    ShapeError, DTypeError
        If a bound is not a scalar, or not a real number.

    Examples
    --------
    >>> from fgrad import lax
    >>> x = lax.rng_uniform(2.0, 3.0, (4,))
    >>> bool(((2.0 <= x) & (x < 3.0)).all())
    True
    """
    name = "rng_uniform"
    bounds = [_operand(bound, name) for bound in (a, b)]
    avals = [aval_of(bound) for bound in bounds]
    if any(aval.shape for aval in avals):
        raise ShapeError(
            f"{name}: the bounds have shapes {avals[0].shape} and {avals[1].shape}; give scalars"
        )
    dtype = common_dtype(avals)
    if dtype.kind not in "iuf":
        raise DTypeError(f"{name}: the bounds have dtype {dtype}; give real numbers")
    sizes = static_shape(tuple(shape), f"{name}: shape")

    def draw(low: Any, high: Any) -> Any:
        if dtype.kind == "f":
            return _generator.uniform(low, high, sizes).astype(dtype)
        return _generator.integers(low, high, sizes, dtype)

    low, high = [wrap(p.convert(bound, dtype)) for bound in bounds]
    return io_callback(draw, ShapeDtypeStruct(sizes, dtype), low, high)  # type: ignore[no-any-return]
