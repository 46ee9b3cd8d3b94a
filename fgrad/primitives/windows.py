"""Windows that slide over the trailing axes of an array, and the sum of overlapping windows.

Each is the transpose of the other. Windows are a view: a convolution is a product with them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fgrad.avals import Aval, Shape
from fgrad.errors import ShapeError
from fgrad.parameters import parameters
from fgrad.primitives.families import Linear


def window_counts(sizes: Shape, window: Shape, strides: Shape, dilation: Shape) -> Shape:
    """How many windows fit along each axis."""
    return tuple(
        [
            max(0, (n - (w - 1) * d - 1) // s + 1)
            for n, w, s, d in zip(sizes, window, strides, dilation, strict=True)
        ]
    )


@parameters
class Windows(Linear):
    """Every `strides`-th window, whose elements lie `dilation` apart.   a[*b, *s] -> a[*b, *n, *window]"""

    window: Shape
    strides: Shape
    dilation: Shape
    view = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        count = len(self.window)
        if len(x.shape) < count:
            raise ShapeError(
                f"windows of shape {self.window} need {count} axes, the array has shape {x.shape}"
            )
        lead = len(x.shape) - count
        counts = window_counts(x.shape[lead:], self.window, self.strides, self.dilation)
        return Aval((*x.shape[:lead], *counts, *self.window), x.dtype)

    def impl(self, x: Any) -> Any:
        lead = x.ndim - len(self.window)
        counts = window_counts(x.shape[lead:], self.window, self.strides, self.dilation)
        inner = x.strides[lead:]
        steps = (
            *x.strides[:lead],
            *[n * s for n, s in zip(inner, self.strides, strict=True)],
            *[n * d for n, d in zip(inner, self.dilation, strict=True)],
        )
        shape = (*x.shape[:lead], *counts, *self.window)
        return np.lib.stride_tricks.as_strided(x, shape, steps, writeable=False)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        sizes = args[0].shape[len(args[0].shape) - len(self.window) :]
        return (OverlapAdd(sizes, self.window, self.strides, self.dilation)(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True


@parameters
class OverlapAdd(Linear):
    """Add windows up where they lie: the transpose of `Windows`.   a[*b, *n, *window] -> a[*b, *sizes]"""

    sizes: Shape
    window: Shape
    strides: Shape
    dilation: Shape

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        lead = len(x.shape) - 2 * len(self.window)
        return Aval((*x.shape[:lead], *self.sizes), x.dtype)

    def impl(self, x: Any) -> Any:
        count = len(self.window)
        if not count:
            return np.array(x)
        lead = x.ndim - 2 * count
        counts = x.shape[lead : lead + count]
        # Its axes lie in memory as those of the windows do.
        order = sorted(range(lead + count), key=lambda axis: -abs(x.strides[axis]))
        # Where as many elements of a window as one step has lie side by side in it and in the sum, and
        # other axes within them, they are added at once.
        stride, wide, apart = self.strides[-1], self.window[-1], self.dilation[-1]
        within = order[order.index(lead + count - 1) + 1 :]
        inner = math.prod([x.shape[axis] for axis in within]) * x.itemsize
        step = stride if apart == 1 and within and x.strides[-1] == inner else 1
        reach = (counts[-1] - 1) * (stride // step) + (wide - 1) * apart // step + 1
        steps = max(reach, -(-self.sizes[-1] // step))
        shape = (*x.shape[:lead], *self.sizes[:-1], steps * step)
        memory = np.zeros([shape[axis] for axis in order], x.dtype)
        total = memory.transpose([order.index(axis) for axis in range(lead + count)])
        if math.prod(counts):
            split = total.reshape((*shape[:-1], steps, step))
            spans = [range(n) for n in self.window[:-1]]
            for *place, start in itertools.product(*spans, range(0, wide, step)):
                target: list[Any] = [
                    slice(k * d, k * d + (n - 1) * s + 1, s)
                    for k, d, n, s in zip(
                        place, self.dilation[:-1], counts[:-1], self.strides[:-1], strict=True
                    )
                ]
                stop = min(start + step, wide)
                first = start * apart // step
                target.append(
                    slice(first, first + (counts[-1] - 1) * (stride // step) + 1, stride // step)
                )
                split[(..., *target, slice(0, stop - start))] += x[
                    (..., *place, slice(start, stop))
                ]
        return total[..., : self.sizes[-1]]

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (Windows(self.window, self.strides, self.dilation)(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True
