"""Options that programs for accelerators pass along."""

from __future__ import annotations

import enum


class Precision(enum.Enum):
    """How exactly products are computed: accepted everywhere; here they always have full precision."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


class RoundingMethod(enum.Enum):
    """How `round` treats halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1
