"""Options that programs for accelerators pass along."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple


class Precision(enum.Enum):
    """How exactly products are computed: accepted everywhere; here they always have full precision."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


class RoundingMethod(enum.Enum):
    """How `round` treats halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class DotAlgorithm(NamedTuple):
    """How a machine should compute products: accepted everywhere; here they always have full precision."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Names of such ways: accepted everywhere; here products always have full precision."""

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15


#: Whatever the argument ``precision`` takes.
PrecisionLike = Precision | DotAlgorithm | DotAlgorithmPreset | str | tuple[Any, Any] | None


class AccuracyMode(enum.Enum):
    """How exactly functions are computed: they are always as exact as NumPy's."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance(NamedTuple):
    """Errors that functions may have: they are always as exact as NumPy's."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0
