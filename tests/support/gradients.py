"""Gradients by central differences, and a comparison that lets neither shape nor dtype differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.matrices import difference


def close(got: Any, want: Any, rtol: float = 1e-7, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol, atol, strict=True)


def near(got: Any, want: Any) -> None:
    """`close`, with room for the rounding of differences."""
    close(got, want, 1e-6, 1e-7)


def gradients(f: Callable[..., Any], *operands: Any) -> list[Any]:
    """The gradient of a real scalar function towards each operand, as `grad` defines it.

    Towards a complex operand it is the slope along the real axis, less i times that along the
    imaginary one.
    """
    found = []
    for position, operand in enumerate(operands):
        x = np.asarray(operand)

        def along(direction: Any, position: int = position) -> Any:
            still = [np.zeros(np.shape(other)) for other in operands]
            still[position] = direction
            return difference(f, [*map(np.asarray, operands)], still)[0]

        gradient = np.zeros_like(x)
        for index in np.ndindex(*x.shape):
            unit = np.zeros_like(x)
            unit[index] = 1.0
            gradient[index] = along(unit)
            if x.dtype.kind == "c":
                gradient[index] -= 1j * along(1j * unit)
        found.append(gradient)
    return found


def gradient(f: Callable[..., Any], operand: Any) -> Any:
    return gradients(f, operand)[0]
