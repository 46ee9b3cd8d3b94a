"""Padding: more elements at the ends of axes, made in one of NumPy's ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array, wrap
from fgrad.avals import Aval, aval_of
from fgrad.errors import ArgumentError, ShapeError
from fgrad.numpy._support import ArrayLike, normal_axis, operand, static_int
from fgrad.numpy.averages import mean
from fgrad.numpy.creation import imported
from fgrad.numpy.mapping import apply_along_axis
from fgrad.numpy.quantiles import median
from fgrad.numpy.ranges import spaced
from fgrad.numpy.reductions import max as largest
from fgrad.numpy.reductions import min as smallest
from fgrad.numpy.reordering import along, taken
from fgrad.primitives import elementwise as p
from fgrad.primitives.families import broadcast_to, reshape, shape_of, zeros_of
from fgrad.primitives.shape import Concatenate, Pad, static_index
from fgrad.primitives.shape import flip as flipped

Widths = tuple[int, int]

_OPTIONS = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
}


def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """Put elements before and behind those of an array.

    Parameters
    ----------
    array : array_like
    pad_width : int, pair, sequence of pairs, or dict
        How many before and behind, for all axes or for each; a dict gives them for some axes.
    mode : str or callable
        'constant', 'edge', 'linear_ramp', 'maximum', 'mean', 'median', 'minimum', 'reflect', 'symmetric',
        'wrap' or 'empty', which gives zeros. A function takes a padded line, the widths, the axis and the
        other keyword arguments, and returns the line with its ends filled in.
    constant_values, end_values : array_like
        For 'constant' and 'linear_ramp': for all axes, or pairs as in `pad_width`. They may be traced.
    stat_length : int or sequence
        For the statistics: how many elements they are taken of.
    reflect_type : {'even', 'odd'}
        For 'reflect' and 'symmetric': 'odd' also reflects values, about those at the ends.

    Returns
    -------
    Array
        Differentiable in both modes.

    Raises
    ------
    ArgumentError
        If a width is negative, or the mode or an argument of it is unknown.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.pad(fnp.arange(3), (1, 2), mode="edge")
    Array([0, 0, 1, 2, 2, 2], dtype=int64)
    """
    x = operand(array, "pad")
    rank = len(shape_of(x))
    widths = _widths(pad_width, rank)
    if callable(mode):
        return wrap(_by_function(x, widths, mode, kwargs))  # type: ignore[no-any-return]
    if mode not in _OPTIONS:
        raise ArgumentError(
            f"pad: mode is {mode!r}; give one of {', '.join(_OPTIONS)}, or a function"
        )
    unknown = set(kwargs) - _OPTIONS[mode]
    if unknown:
        allowed = ", ".join(_OPTIONS[mode]) or "no further arguments"
        raise ArgumentError(
            f"pad: mode {mode!r} does not take {', '.join(sorted(unknown))}; it takes {allowed}"
        )
    if mode == "empty" or (mode == "constant" and "constant_values" not in kwargs):
        return wrap(_with_zeros(x, widths))  # type: ignore[no-any-return]
    options = _axis_options(mode, kwargs, rank, aval_of(x))
    original = shape_of(x)
    for axis, (before, behind) in enumerate(widths):
        if not before and not behind:
            continue
        if not original[axis] and mode not in ("constant", "linear_ramp"):
            raise ShapeError(
                f"pad: axis {axis} of shape {original} is empty, so that mode {mode!r} has nothing to pad "
                "with; use 'constant'"
            )
        left, right = _MODES[mode](x, axis, (before, behind), options[axis])
        pieces = [piece for piece, width in ((left, before), (x, 1), (right, behind)) if width]
        x = Concatenate(axis)(*[p.convert(piece, aval_of(x).dtype) for piece in pieces])
    return wrap(x)  # type: ignore[no-any-return]


# ---- arguments -----------------------------------------------------------------------------------


def _widths(pad_width: Any, rank: int) -> list[Widths]:
    if isinstance(pad_width, dict):
        found = [(0, 0)] * rank
        for axis, width in pad_width.items():
            found[normal_axis(axis, rank, "pad")] = _pair(width, "pad_width")
    else:
        found = [_pair(pair, "pad_width") for pair in _per_axis(pad_width, rank, "pad_width")]
    for pair in found:
        if min(pair) < 0:
            raise ArgumentError(
                f"pad: pad_width has {min(pair)}; give widths that are not negative"
            )
    return found


def _pair(width: Any, what: str) -> Widths:
    items = (
        list(width) if isinstance(width, (list, tuple, np.ndarray)) and np.ndim(width) else [width]
    )
    if len(items) not in (1, 2):
        raise ArgumentError(f"pad: {what} has {len(items)} entries for one axis; give one or two")
    before, behind = items * (3 - len(items)) if len(items) == 1 else items
    return static_int(before, f"pad: {what}"), static_int(behind, f"pad: {what}")


def _per_axis(given: Any, rank: int, what: str) -> list[Any]:
    """One pair for each axis, from what is broadcast to a shape of (rank, 2)."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, (list, tuple)):
        return [(given, given)] * rank
    rows = list(given)
    if not any(isinstance(row, (list, tuple)) or getattr(row, "ndim", False) for row in rows):
        if len(rows) == 1:
            return [(rows[0], rows[0])] * rank
        if len(rows) == 2:
            return [tuple(rows)] * rank
        raise ArgumentError(
            f"pad: {what} {given} has {len(rows)} entries; give one, a pair, or a pair per axis"
        )
    if len(rows) == 1:
        rows = rows * rank
    if len(rows) != rank:
        raise ArgumentError(
            f"pad: {what} has {len(rows)} pairs for an array with {rank} axes; give one per axis"
        )
    pairs = []
    for row in rows:
        entries = (
            list(row) if isinstance(row, (list, tuple)) or getattr(row, "ndim", False) else [row]
        )
        if len(entries) not in (1, 2):
            raise ArgumentError(
                f"pad: {what} has {len(entries)} entries for one axis; give one or two"
            )
        pairs.append((entries[0], entries[-1]))
    return pairs


def _axis_options(mode: str, kwargs: dict[str, Any], rank: int, aval: Aval) -> list[Any]:
    """What the mode needs for each axis."""
    if mode in ("constant", "linear_ramp"):
        given = kwargs.get("constant_values" if mode == "constant" else "end_values", 0)
        pairs = _value_pairs(given, rank, "constant_values" if mode == "constant" else "end_values")
        return [[p.convert(imported(v, "pad"), aval.dtype) for v in pair] for pair in pairs]
    if mode in ("reflect", "symmetric"):
        kind = kwargs.get("reflect_type", "even")
        if kind not in ("even", "odd"):
            raise ArgumentError(f"pad: reflect_type is {kind!r}; give 'even' or 'odd'")
        return [kind == "odd"] * rank
    if mode in _STATISTICS:
        length = kwargs.get("stat_length")
        if length is None:
            return [(None, None)] * rank
        pairs = [_pair(pair, "stat_length") for pair in _per_axis(length, rank, "stat_length")]
        if any(min(pair) < 1 for pair in pairs):
            raise ArgumentError(f"pad: stat_length is {length}; give positive lengths")
        return pairs
    return [None] * rank


def _value_pairs(given: Any, rank: int, what: str) -> list[Any]:
    if isinstance(given, (list, tuple)):
        return _per_axis(given, rank, what)
    inside = operand(given, "pad")
    shape = shape_of(inside)
    if len(shape) > 2:
        raise ShapeError(
            f"pad: {what} has shape {shape}; give a number, a pair, or a pair per axis"
        )
    table = broadcast_to(inside, (rank, 2))
    return [[static_index(table, (axis, side)) for side in (0, 1)] for axis in range(rank)]


# ---- the modes: what goes before and behind, along one axis -------------------------------------


def _with_zeros(x: Any, widths: list[Widths]) -> Any:
    if not any(map(any, widths)):
        return x
    low, high = tuple(pair[0] for pair in widths), tuple(pair[1] for pair in widths)
    return Pad(low, high, (0,) * len(widths))(x)


def _sized(x: Any, axis: int, width: int) -> tuple[int, ...]:
    shape = shape_of(x)
    return (*shape[:axis], width, *shape[axis + 1 :])


def _constant(x: Any, axis: int, widths: Widths, values: Any) -> list[Any]:
    return [
        broadcast_to(v, _sized(x, axis, width)) for v, width in zip(values, widths, strict=True)
    ]


def _ends(x: Any, axis: int) -> tuple[Any, Any]:
    size = shape_of(x)[axis]
    first = static_index(x, along(axis, slice(0, 1)))
    return first, static_index(x, along(axis, slice(size - 1, size)))


def _edge(x: Any, axis: int, widths: Widths, option: Any) -> list[Any]:
    return [
        broadcast_to(end, _sized(x, axis, width))
        for end, width in zip(_ends(x, axis), widths, strict=True)
    ]


def _linear_ramp(x: Any, axis: int, widths: Widths, values: Any) -> list[Any]:
    ramps = []
    dtype = aval_of(x).dtype
    ends = _ends(x, axis) if shape_of(x)[axis] else (zeros_of(Aval(_sized(x, axis, 1), dtype)),) * 2
    for side, (end, value, width) in enumerate(zip(ends, values, widths, strict=True)):
        line = reshape(end, tuple(n for i, n in enumerate(shape_of(end)) if i != axis))
        ramp, _ = spaced(value, line, width, False, dtype, axis)
        ramps.append(flipped(ramp, (axis,)) if side else ramp)
    return ramps


_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": largest,
    "mean": mean,
    "median": median,
    "minimum": smallest,
}


def _statistic(name: str) -> Callable[..., list[Any]]:
    function = _STATISTICS[name]

    def pads(x: Any, axis: int, widths: Widths, lengths: Any) -> list[Any]:
        size = shape_of(x)[axis]
        integers = dtypes.kind_of(aval_of(x).dtype) in "iu"
        found = []
        for side, (length, width) in enumerate(zip(lengths, widths, strict=True)):
            count = size if length is None else min(length, size)
            chunk = slice(size - count, size) if side else slice(0, count)
            value = operand(
                function(static_index(x, along(axis, chunk)), axis=axis, keepdims=True), name
            )
            found.append(broadcast_to(p.rint(value) if integers else value, _sized(x, axis, width)))
        return found

    return pads


def _wrap(x: Any, axis: int, widths: Widths, option: Any) -> list[Any]:
    size = shape_of(x)[axis]
    before, behind = widths
    return [
        _at(x, axis, np.arange(-before, 0) % size),
        _at(x, axis, np.arange(size, size + behind) % size),
    ]


def _mirror(include_edge: bool) -> Callable[..., list[Any]]:
    def pads(x: Any, axis: int, widths: Widths, odd: bool) -> list[Any]:
        size = shape_of(x)[axis]
        if size == 1 and not include_edge:
            return _edge(x, axis, widths, None)
        before, behind = widths
        return [
            _reflected(x, axis, positions, include_edge, odd)
            for positions in (np.arange(-before, 0), np.arange(size, size + behind))
        ]

    return pads


def _reflected(x: Any, axis: int, positions: Any, include_edge: bool, odd: bool) -> Any:
    """The extension of a line by reflections about its ends, at positions outside of it."""
    size = shape_of(x)[axis]
    period = 2 * size if include_edge else 2 * (size - 1)
    turns, places = np.divmod(positions, period)
    beyond = places >= size
    places = np.where(beyond, period - places - (1 if include_edge else 0), places)
    if not odd:
        return _at(x, axis, places)
    if aval_of(x).dtype == dtypes.BOOL:
        # Booleans have no differences.
        turned = _reflected(p.convert(x, dtypes.INT32), axis, positions, include_edge, odd)
        return p.convert(turned, dtypes.BOOL)
    even = _at(x, axis, places)
    # Each period adds twice the rise from end to end; its second half is turned about the last value.
    first, last = _ends(x, axis)
    line = along(axis, slice(None)), (1,) * (len(shape_of(x)) - axis - 1)

    def weights(numbers: Any) -> Any:
        dtype = aval_of(x).dtype
        lined = np.asarray(numbers).astype(dtype)
        lined.setflags(write=False)
        return reshape(lined, (*lined.shape, *line[1]))

    signed = p.mul(weights(np.where(beyond, -1, 1)), even)
    rise = p.mul(weights(2 * turns), p.sub(last, first))
    return p.add(p.add(signed, p.mul(weights(np.where(beyond, 2, 0)), last)), rise)


def _at(x: Any, axis: int, positions: Any) -> Any:
    """Elements at known positions; one run up or down is a slice, which is a view."""
    if not len(positions):
        return static_index(x, along(axis, slice(0, 0)))
    steps = np.diff(positions)
    first, last = int(positions[0]), int(positions[-1])
    if np.all(steps == 1):
        return static_index(x, along(axis, slice(first, last + 1)))
    if np.all(steps == -1):
        return static_index(x, along(axis, slice(first, last - 1 if last else None, -1)))
    positions = np.ascontiguousarray(positions)
    positions.setflags(write=False)
    return taken(x, positions, axis)


_MODES: dict[str, Callable[..., Any]] = {
    "constant": _constant,
    "edge": _edge,
    "linear_ramp": _linear_ramp,
    **{name: _statistic(name) for name in _STATISTICS},
    "reflect": _mirror(include_edge=False),
    "symmetric": _mirror(include_edge=True),
    "wrap": _wrap,
}


def _by_function(x: Any, widths: list[Widths], function: Any, kwargs: dict[str, Any]) -> Any:
    padded = wrap(_with_zeros(x, widths))

    for axis, pair in enumerate(widths):

        def filled(line: Any, pair: Widths = pair, axis: int = axis) -> Any:
            result = function(line, pair, axis, kwargs)
            if result is None:
                raise ArgumentError(
                    "pad: the function given as mode returned nothing; arrays do not change, so return the "
                    "padded line, as made by line.at[...].set(...)"
                )
            return result

        padded = apply_along_axis(filled, axis, padded)
    return operand(padded, "pad")
