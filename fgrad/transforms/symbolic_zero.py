"""Zeros that rules of users see as such, where they ask for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgrad import _tree
from fgrad.array import value, wrap
from fgrad.avals import Aval, aval_of
from fgrad.dtypes import float0, is_inexact
from fgrad.primitives.families import zeros_of


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, in a rule with ``symbolic_zeros=True``.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        The dtype of what it is the derivative of; ``float0`` for integers and booleans.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval if is_inexact(aval.dtype) else Aval(aval.shape, np.dtype(float0))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    @staticmethod
    def from_primal_value(x: Any) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(aval_of(value(x)))

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


class CustomVJPPrimal:
    """An argument of a forward rule with ``symbolic_zeros=True``.

    Attributes
    ----------
    value : array
        The value itself.
    perturbed : bool
        Whether a derivative is asked for with respect to it.
    """

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of a tree of `CustomVJPPrimal`, as a forward rule with symbolic zeros gets it.

    Parameters
    ----------
    tree : tree of CustomVJPPrimal

    Returns
    -------
    tree
        The arrays.
    """
    return _tree.map(lambda leaf: leaf.value if type(leaf) is CustomVJPPrimal else leaf, tree)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangents of values.

    Parameters
    ----------
    val : tree of arrays
    symbolic_zeros : bool
        Whether they are `SymbolicZero` rather than arrays.

    Returns
    -------
    tree of arrays or SymbolicZero
        Of dtype ``float0`` for integers and booleans.
    """

    def zero_of(leaf: Any) -> Any:
        zero = SymbolicZero.from_primal_value(leaf)
        if symbolic_zeros:
            return zero
        exact = not is_inexact(aval_of(value(leaf)).dtype)
        return wrap(np.zeros(zero.shape, zero.dtype) if exact else zeros_of(zero.aval))

    return _tree.map(zero_of, val)
