"""The source of clusters: a function that computes a range of blocks, and the statements that run it.

Within a block, what lies between operands and results is written into few buffers: an equation writes over
an operand that dies with it, or into a buffer that nothing needs any longer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fgrad.blocks import run_blocks
from fgrad.compiler.fuse import COMBINED_BY, Fused
from fgrad.compiler.plan import same_bits_in_place
from fgrad.ir.jaxpr import Eqn, Var
from fgrad.ir.uses import view_owners
from fgrad.primitives.families import Reshape, absorbing_product

#: What the buffers, operands and results of a block may take together: the cache of one core.
CACHE = 1 << 20
# Smaller blocks cost more calls than they save trips to memory.
_LEAST_ELEMENTS = 1 << 14
# Work for less than this many nanoseconds is not worth waking threads for.
_WORTH_THREADS = 250_000
# Nanoseconds for an element of eight bytes.
_CHEAP, _DEAR = 0.4, 5.0
ARITHMETIC = {
    np.add,
    np.subtract,
    np.multiply,
    np.true_divide,
    np.maximum,
    np.minimum,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    np.equal,
    np.not_equal,
}
_CHEAP_FUNCTIONS = ARITHMETIC | {
    np.negative,
    np.absolute,
    np.sqrt,
    np.square,
    np.logical_and,
    np.logical_or,
    np.logical_not,
}


class _Kind(NamedTuple):
    """What a buffer can hold: blocks of arrays of this shape, cut along this axis."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    axis: int | None


class _Buffers:
    """Which array each value of a block is computed in."""

    def __init__(self, emit: Any, primitive: Fused) -> None:
        self.primitive = primitive
        body = primitive.body
        #: Where each value has the axis.
        self.axes: dict[Any, int | None] = dict(zip(body.invars, primitive.in_axes, strict=True))
        for eqn, axis in zip(body.eqns, primitive.made_axes, strict=True):
            self.axes[eqn.outputs[0]] = axis
        escapes = set(body.outvars)
        owners = view_owners(body.eqns)
        last = {owners.get(a, a): i for i, eqn in enumerate(body.eqns) for a in eqn.inputs}
        #: The number of the buffer that holds a value, and what each buffer is like.
        self.number: dict[Any, int] = {}
        self.kinds: list[_Kind] = []
        free: dict[_Kind, list[int]] = {}
        for index, eqn in enumerate(body.eqns):
            (out,) = eqn.outputs
            kind = _Kind(out.aval.shape, out.aval.dtype, self.axes[out])
            dying = {
                owner
                for atom in eqn.inputs
                if (owner := owners.get(atom, atom)) in self.number and last[owner] == index
            }
            # In place only where elements meet their own kind: a stretched operand is read many times.
            same = {v for v in dying if self.kinds[self.number[v]] == kind}
            if not same_bits_in_place(out.aval, primitive.size):
                same = set()
            for var in same:
                free.setdefault(kind, []).append(self.number[var])
            if out not in escapes and writes_into(emit, eqn):
                waiting = free.setdefault(kind, [])
                if waiting:
                    self.number[out] = waiting.pop()
                else:
                    self.number[out] = len(self.kinds)
                    self.kinds.append(kind)
            for var in dying - same:
                free.setdefault(self.kinds[self.number[var]], []).append(self.number[var])


def writes_into(emit: Any, eqn: Eqn) -> bool:
    """Whether an equation can be told where to put its result."""
    primitive = eqn.primitive
    if primitive is absorbing_product:
        return emit.guards is not None
    emit.operands = [atom.aval for atom in eqn.inputs]
    return bool(primitive.lower_into(emit, "out", *["x"] * len(eqn.inputs)))


def rows_per_block(primitive: Fused, buffers: list[_Kind]) -> int:
    """How much of the axis makes a block. It depends on shapes alone, and so do all results."""
    size = primitive.size
    body = primitive.body
    avals = [*body.in_avals, *body.out_avals]
    row_bytes = sum(aval.size * aval.dtype.itemsize // size for aval in avals)
    row_bytes += sum(math.prod(k.shape) * k.dtype.itemsize // size for k in buffers)
    row_elements = max(max(eqn.outputs[0].aval.size // size for eqn in body.eqns), 1)
    rows = max(CACHE // max(row_bytes, 1), _LEAST_ELEMENTS // row_elements, 1)
    # Shares of equal size: threads end together.
    count = max(-(-size // rows), 1)
    count += count % 2 if count > 1 else 0
    rows = -(-size // count)
    # Blocks that begin at multiples of a cache line are read and written without a seam.
    return rows if rows < 1024 else -(-rows // 64) * 64


def _cost(primitive: Fused) -> float:
    total = 0.0
    for eqn in primitive.body.eqns:
        aval = (eqn.inputs[0] if eqn.inputs else eqn.outputs[0]).aval
        aval = max(aval, eqn.outputs[0].aval, key=lambda a: a.size)
        function = getattr(eqn.primitive, "function", None)
        cheap = function is None or function in _CHEAP_FUNCTIONS
        if type(eqn.primitive) is not Reshape:
            total += aval.size * aval.dtype.itemsize / 8 * (_CHEAP if cheap else _DEAR)
    return total


def blocked(emit: Any, eqn: Eqn, indent: str) -> list[str]:
    """The statements that run a cluster; its kernel joins `emit.kernels`."""
    primitive: Fused = eqn.primitive
    body = primitive.body
    buffers = _Buffers(emit, primitive)
    rows = rows_per_block(primitive, buffers.kinds)
    count = -(-primitive.size // rows)
    uneven = primitive.size % rows != 0
    operands = [emit.var(v) for v in eqn.inputs]
    lines, results, after = [], [], []
    for var in eqn.outputs:
        position = emit.overwritten(var)
        if position is not None:
            # The kernel knows the operand already.
            emit.rename(var, operands[position])
            results.append("")
            continue
        name = emit.var(var)
        if buffers.axes[var] is not None:
            lines.append(f"{name} = {_empty(emit, var.aval.shape, var.aval.dtype)}")
            results.append(name)
        else:
            parts = emit.unused(f"{name}_of_blocks")
            lines.append(f"{parts} = [None] * {count}")
            results.append(parts)
            maker = next(e.primitive for e in body.eqns if e.outputs[0] is var)
            combine = f"np.{COMBINED_BY[type(maker)].__name__}.reduce({parts}, axis=0)"
            after.append(f"{name} = {combine}  # {emit.kind(var.aval)}")
    kernel = emit.unused(f"{emit.name}_blocks")
    # Two operands of a branch may be one variable of the program around it.
    arguments = ", ".join(dict.fromkeys([*operands, *filter(None, results)]))
    if _cost(primitive) >= _WORTH_THREADS and count > 1:
        run = f"{emit.constant(run_blocks, 'run_blocks')}({kernel}, {count}, {arguments})"
    else:
        run = f"{kernel}(0, {count}, {arguments})"
    guards = emit.guards or ()
    looks = any(buffers.axes[v] is not None for e in body.eqns for v in e.outputs if v in guards)
    lines.append(f"if {run}: return None" if looks else run)
    emit.kernels.append(
        _kernel(emit, eqn, kernel, buffers, operands, results, rows if count > 1 else 0, uneven)
    )
    return [indent + line for line in (*lines, *after)]


def _kernel(
    emit: Any,
    eqn: Eqn,
    name: str,
    buffers: _Buffers,
    operands: list[str],
    results: list[str],
    rows: int,
    uneven: bool,
) -> str:
    primitive: Fused = eqn.primitive
    body = primitive.body
    size = primitive.size
    length = rows or size
    outside = {v: emit.var(v) for v in (*eqn.inputs, *eqn.outputs)}
    start, stop, block = (emit.unused(hint) for hint in ("start", "stop", "block"))
    first, last = emit.unused("first"), emit.unused("last")
    shape = "x".join(
        map(str, max((e.outputs[0].aval for e in body.eqns), key=lambda a: a.size).shape)
    )
    parameters = dict.fromkeys([first, last, *operands, *filter(None, results)])
    head = [
        f"def {name}({', '.join(parameters)}):",
        f"    # {shape} elements, {length} of {size} at a time",
    ]
    pieces: list[str] = []
    stores = []
    for of_shape, dtype, axis in buffers.kinds:
        store = emit.unused("buffer")
        stores.append(store)
        assert axis is not None
        block_shape = (*of_shape[:axis], length, *of_shape[axis + 1 :])
        head.append(f"    {store} = {_empty(emit, block_shape, dtype)}")
        if uneven:
            inner = emit.unused("part")
            pieces.append(f"{inner} = {store}[{':, ' * axis}:{stop} - {start}]")
            stores[-1] = inner
    for var, axis in zip(eqn.inputs, primitive.in_axes, strict=True):
        if axis is not None:
            emit.rename(var, emit.unused(f"{outside[var]}_block"))
            pieces.append(f"{emit.var(var)} = {outside[var]}[{':, ' * axis}{start}:{stop}]")
    targets: dict[Var, str] = {}
    for var, result in zip(eqn.outputs, results, strict=True):
        axis = buffers.axes[var]
        if not result:
            targets[var] = emit.var(eqn.inputs[emit.overwritten(var)])
            emit.rename(var, targets[var])
        elif axis is not None:
            emit.rename(var, emit.unused(f"{result}_block"))
            targets[var] = emit.var(var)
            pieces.append(f"{targets[var]} = {result}[{':, ' * axis}{start}:{stop}]")
        else:
            targets[var] = f"{result}[{block}]"
    for var, number in buffers.number.items():
        emit.rename(var, stores[number])
    loop = [
        f"    for {block} in range({first}, {last}):",
        f"        {start} = {block} * {length}",
        f"        {stop} = {f'min({start} + {length}, {size})' if uneven else f'{start} + {length}'}",
        *[f"        {piece}" for piece in pieces],
    ]
    silent = False
    place = None
    indent = "        "
    for member in body.eqns:
        if member.silent != silent:
            silent = member.silent
            indent = "            " if silent else "        "
            if silent:
                loop.append("        with np.errstate(all='ignore'):  # derivatives never warn")
            place = None
        if member.source is not None and (here := emit.place(member.source)) != place:
            place = here
            loop.append(f"{indent}# {place}")
        (out,) = member.outputs
        loop.append(indent + _statement(emit, member, buffers, targets.get(out)))
        if emit.guards is not None and out in emit.guards and buffers.axes[out] is not None:
            loop.append(f"{indent}if {emit.found_nan(out, silent)}: return True")
    for var, outer in outside.items():
        emit.rename(var, outer)
    return "\n".join([*head, *loop])


def _statement(emit: Any, eqn: Eqn, buffers: _Buffers, target: str | None) -> str:
    (out,) = eqn.outputs
    partial = buffers.axes[out] is None
    if not partial and (out in buffers.number or target is not None):
        statement = emit.statement_into(eqn, emit.var(out))
        if statement is not None:
            return f"{statement}  # {emit.kind(out.aval)}"
    if type(eqn.primitive) is Reshape:
        # The last block may be shorter: its length along the axis is what is left over.
        shape = [*out.aval.shape]
        shape[buffers.axes[out]] = -1  # type: ignore[index]
        expression = f"{emit.atom(eqn.inputs[0])}.reshape({', '.join(map(str, shape))})"
    else:
        emit.in_block = True
        expression = emit.expression(eqn)
        emit.in_block = False
    if partial:
        return f"{target} = {expression}"
    if target is not None:
        return f"{target}[...] = {expression}  # {emit.kind(out.aval)}"
    return f"{emit.var(out)} = {expression}  # {emit.kind(out.aval)}"


def _empty(emit: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    text = str(shape[0]) if len(shape) == 1 else str(shape)
    return f"np.empty({text}, {emit.dtype(dtype)})"
