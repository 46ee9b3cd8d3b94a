"""Derivatives of primitives."""

from fgrad.compat.primitives import (
    UndefinedPrimal,
    Zero,
    defjvp,
    deflinear,
    deflinear2,
    instantiate_zeros,
    is_undefined_primal,
    primitive_jvps,
    primitive_transposes,
)
from fgrad.transforms.jvp import JVPTracer

__all__ = [
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "defjvp",
    "deflinear",
    "deflinear2",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
]
