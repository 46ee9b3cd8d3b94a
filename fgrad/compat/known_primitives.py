"""The primitives of ``jax.lax`` that programs look for in what they have recorded, as those of fgrad."""

from __future__ import annotations

from typing import Any

from fgrad.array import value, wrap
from fgrad.primitives import families
from fgrad.primitives.elementwise import conj
from fgrad.tracing import Primitive

__all__ = ["known_primitive"]

# Where the names differ.
_NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "and": "bitwise_and",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "eq": "equal",
    "erf_inv": "erfinv",
    "ge": "greater_equal",
    "gt": "greater",
    "integer_pow": "power",
    "le": "less_equal",
    "lgamma": "gammaln",
    "lt": "less",
    "max": "maximum",
    "min": "minimum",
    "ne": "not_equal",
    "not": "invert",
    "or": "bitwise_or",
    "pow": "power",
    "rem": "fmod",
    "round": "rint",
    "xor": "bitwise_xor",
}


class KnownPrimitive:
    """A primitive of fgrad, to which it is equal, as programs for JAX use one."""

    multiple_results = False

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive

    @property
    def name(self) -> str:
        """The name in fgrad's programs."""
        return self.primitive.name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        found = other.primitive if isinstance(other, KnownPrimitive) else other
        return found is self.primitive

    def __hash__(self) -> int:
        return hash(self.primitive)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply it to arrays, numbers or traced values; there are no parameters to heed."""
        return wrap(self.primitive(*[value(x, f"{self.name}: an argument") for x in args]))


def known_primitive(name: str) -> KnownPrimitive:
    """The primitive that ``jax.lax`` has under a name such as ``tanh_p``.

    Raises
    ------
    AttributeError
        If fgrad computes this in another way than by one primitive.
    """
    short = name.removesuffix("_p")
    found = conj if short == "conj" else families.SINGLETONS.get(_NAMES.get(short, short))
    if found is None or not name.endswith("_p"):
        raise AttributeError(f"module 'jax.lax' has no attribute {name!r}")
    return KnownPrimitive(found)
