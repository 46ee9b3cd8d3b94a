"""What a program costs, counted from its jaxpr: operations, transcendental functions, bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad.avals import Aval
from fgrad.ir.jaxpr import Jaxpr, Literal, Var, sub_jaxprs
from fgrad.primitives.contraction import DotGeneral
from fgrad.primitives.convolution import Convolve
from fgrad.primitives.cumulative import Cummax, Cummin, Cumprod, Cumsum
from fgrad.primitives.families import Convert, Elementwise, Sum, Ufunc
from fgrad.primitives.fft import Fourier, InverseRealFourier, RealFourier
from fgrad.primitives.reduction import Max, Min, Prod
from fgrad.primitives.windows import OverlapAdd

#: Ufuncs that take one operation, or about as long as one, for each element.
_SIMPLE = frozenset(
    (
        np.add,
        np.subtract,
        np.multiply,
        np.true_divide,
        np.floor_divide,
        np.remainder,
        np.fmod,
        np.negative,
        np.positive,
        np.square,
        np.reciprocal,
        np.sqrt,
        np.abs,
        np.fabs,
        np.sign,
        np.signbit,
        np.copysign,
        np.floor,
        np.ceil,
        np.trunc,
        np.rint,
        np.maximum,
        np.minimum,
        np.fmax,
        np.fmin,
        np.equal,
        np.not_equal,
        np.less,
        np.less_equal,
        np.greater,
        np.greater_equal,
        np.logical_and,
        np.logical_or,
        np.logical_xor,
        np.logical_not,
        np.isnan,
        np.isinf,
        np.isfinite,
        np.bitwise_and,
        np.bitwise_or,
        np.bitwise_xor,
        np.invert,
        np.left_shift,
        np.right_shift,
        np.bitwise_count,
    )
)


class MemoryStats(NamedTuple):
    """Bytes that a compiled function needs, by what for.

    Attributes
    ----------
    argument_size_in_bytes, output_size_in_bytes : int
        Of its arguments and results.
    alias_size_in_bytes : int
        Of results that lie in the memory of arguments: none.
    temp_size_in_bytes : int
        The most that intermediate values take at one time. An upper bound: where the compiled code computes
        in blocks, or in place, it is less.
    generated_code_size_in_bytes : int
        Of the NumPy code.
    peak_memory_in_bytes : int
        The sum of arguments, constants, results and intermediate values.
    """

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int
    peak_memory_in_bytes: int


class _Count:
    def __init__(self) -> None:
        self.flops = self.transcendentals = self.bytes = 0

    def add(self, other: _Count, times: int = 1) -> None:
        self.flops += other.flops * times
        self.transcendentals += other.transcendentals * times
        self.bytes += other.bytes * times


def cost_analysis(jaxpr: Jaxpr) -> dict[str, float]:
    """Operations, transcendental functions and bytes read and written, of one run of a program."""
    count = _counted(jaxpr)
    return {
        "flops": float(count.flops),
        "transcendentals": float(count.transcendentals),
        "bytes accessed": float(count.bytes),
    }


def _counted(jaxpr: Jaxpr) -> _Count:
    total = _Count()
    for eqn in jaxpr.eqns:
        bodies = sub_jaxprs(eqn.primitive)
        if bodies:
            # Of branches, the dearest counts; a loop of unknown length counts once.
            parts = [_counted(body) for body in bodies]
            if type(eqn.primitive).__name__ == "Cond":
                total.add(max(parts, key=lambda part: (part.flops, part.bytes)))
            else:
                for part in parts:
                    total.add(part, int(getattr(eqn.primitive, "length", 1)))
            continue
        ins, outs = [a.aval for a in eqn.inputs], [v.aval for v in eqn.outputs]
        total.flops += _flops(eqn.primitive, ins, outs)
        if _transcends(eqn.primitive):
            total.transcendentals += outs[0].size
        if not eqn.primitive.view:
            total.bytes += sum(aval.nbytes for aval in (*ins, *outs))
    return total


def _transcends(primitive: Any) -> bool:
    return isinstance(primitive, Ufunc) and not _is_simple(primitive)


def _is_simple(primitive: Any) -> bool:
    return bool(primitive.function in _SIMPLE or primitive.view)


def _flops(primitive: Any, ins: Sequence[Aval], outs: Sequence[Aval]) -> int:
    rule = _RULES.get(type(primitive))
    if rule is not None:
        return int(rule(primitive, ins, outs))
    if isinstance(primitive, Elementwise) and not primitive.view and not _transcends(primitive):
        return outs[0].size
    return 0


def _product(primitive: Any, ins: Sequence[Aval], outs: Sequence[Aval]) -> int:
    summed: int = math.prod([ins[0].shape[a] for a in primitive.left_contract])
    return 2 * outs[0].size * summed


def _convolution(primitive: Any, ins: Sequence[Aval], outs: Sequence[Aval]) -> int:
    return 2 * outs[0].size * min(ins[0].shape[-1], ins[1].shape[-1])


def _reduction(primitive: Any, ins: Sequence[Aval], outs: Sequence[Aval]) -> int:
    return max(0, ins[0].size - outs[0].size)


def _each(primitive: Any, ins: Sequence[Aval], outs: Sequence[Aval]) -> int:
    return ins[0].size


def _fourier(primitive: Any, ins: Sequence[Aval], outs: Sequence[Aval]) -> int:
    # The usual count for the fast transform of n points, 5 n log2 n, of which real ones need half.
    length = max(ins[0].shape[-1], outs[0].shape[-1])
    rows = outs[0].size // max(1, outs[0].shape[-1])
    points = 5 * rows * length * math.log2(max(2, length))
    return int(points if isinstance(primitive, Fourier) else points / 2)


_RULES: dict[type, Callable[[Any, Sequence[Aval], Sequence[Aval]], int]] = {
    Convert: lambda primitive, ins, outs: 0,
    DotGeneral: _product,
    Convolve: _convolution,
    OverlapAdd: _each,
    **dict.fromkeys((Sum, Prod, Max, Min), _reduction),
    **dict.fromkeys((Cumsum, Cumprod, Cummax, Cummin), _each),
    **dict.fromkeys((Fourier, RealFourier, InverseRealFourier), _fourier),
}


def memory_analysis(jaxpr: Jaxpr, source: str) -> MemoryStats:
    """The memory that a program needs, without that of what is computed in blocks or in place."""
    arguments = sum(a.nbytes for a in jaxpr.in_avals)
    results = sum(a.nbytes for a in jaxpr.out_avals)
    consts = sum(c.nbytes for c in jaxpr.consts if isinstance(c, np.ndarray))
    temporary = _peak(jaxpr)
    return MemoryStats(
        arguments,
        results,
        0,
        temporary,
        len(source.encode()),
        arguments + results + consts + temporary,
    )


def _peak(jaxpr: Jaxpr) -> int:
    """The most bytes of intermediate values that live at one time."""
    owner: dict[Var, Var] = {}
    last: dict[Var, int] = {}
    outside = {*jaxpr.invars, *jaxpr.constvars}
    for index, eqn in enumerate(jaxpr.eqns):
        for atom in eqn.inputs:
            if type(atom) is Var:
                last[owner.get(atom, atom)] = index
        if eqn.primitive.view and eqn.inputs and type(eqn.inputs[0]) is Var:
            owner[eqn.outputs[0]] = owner.get(eqn.inputs[0], eqn.inputs[0])
    for result in jaxpr.outvars:
        if not isinstance(result, Literal):
            # Counted as a result.
            outside.add(owner.get(result, result))
    alive: dict[Var, int] = {}
    most = 0
    for index, eqn in enumerate(jaxpr.eqns):
        for var in eqn.outputs:
            if var not in owner and var not in outside:
                alive[var] = var.aval.nbytes
        inner = max([_peak(body) for body in sub_jaxprs(eqn.primitive)], default=0)
        most = max(most, sum(alive.values()) + inner)
        for var in [v for v in alive if last.get(v, index) <= index]:
            del alive[var]
    return most
