"""A scan whose reverse mode keeps few carries: halves of halves, each computed again when it is needed.

The first half of the steps is computed again once its gradient is due, and so is the first half of that, down
to blocks of a few steps. So the carries that are kept at a time grow with the logarithm of the number of steps,
and each step runs once more for each halving.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import _tree
from fgrad.array import wrap
from fgrad.avals import aval_of
from fgrad.primitives.families import reshape
from fgrad.primitives.shape import Concatenate, static_index
from fgrad.transforms._arguments import output_values
from fgrad.transforms.checkpoint import checkpoint

#: So many steps are not halved: what their derivatives read is kept.
BLOCK = 8

Step = Callable[[Any, Any], Any]
#: From a function, a first carry, rows, their number, and whether to begin with the last.
Scan = Callable[[Step, Any, Any, int, bool], Any]


def scan_by_halves(scan: Scan, f: Step, init: Any, xs: Any, steps: int, reverse: bool) -> Any:
    """The last carry and the results of `steps` steps, in blocks whose numbers are powers of two."""
    blocks, rest = divmod(steps, BLOCK)
    sizes = [BLOCK << k for k in reversed(range(blocks.bit_length())) if blocks >> k & 1]
    if rest:
        sizes.append(rest)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    parts = list(zip(starts, sizes, strict=True))
    carry, found = init, []
    for start, size in reversed(parts) if reverse else parts:
        rows = _tree.map(lambda x, start=start, size=size: _rows(x, start, size), xs)

        def run(carry: Any, rows: Any, size: int = size) -> Any:
            return _halved(scan, f, carry, rows, size, reverse)

        carry, ys = checkpoint(run)(carry, rows)
        found.append(ys)
    if reverse:
        found.reverse()
    return carry, found[0] if len(found) == 1 else _tree.map(_joined, found[0], *found[1:])


def _halved(scan: Scan, f: Step, carry: Any, rows: Any, size: int, reverse: bool) -> Any:
    if size <= BLOCK:
        return scan(f, carry, rows, size, reverse)
    half = size // 2
    halves = _tree.map(lambda x: _shaped(x, (2, half, *x.shape[1:])), rows)

    def run(carry: Any, rows: Any) -> Any:
        return _halved(scan, f, carry, rows, half, reverse)

    carry, ys = scan(checkpoint(run), carry, halves, 2, reverse)
    return carry, _tree.map(lambda y: _shaped(y, (size, *y.shape[2:])), ys)


def _inside(*xs: Any) -> list[Any]:
    return output_values(xs, "scan", scan_by_halves, xs)


def _rows(x: Any, start: int, size: int) -> Any:
    (inside,) = _inside(x)
    return wrap(static_index(inside, (slice(start, start + size, 1),)))


def _shaped(x: Any, shape: tuple[int, ...]) -> Any:
    (inside,) = _inside(x)
    return wrap(inside if aval_of(inside).shape == shape else reshape(inside, shape))


def _joined(*parts: Any) -> Any:
    return wrap(Concatenate(0)(*_inside(*parts)))
