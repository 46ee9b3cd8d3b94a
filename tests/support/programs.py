"""Random whole programs, as Python source that runs on any module with JAX's names.

A program is straight-line code over a pool of values. It is generated as text, so a failing one
prints as a script that a developer runs as it stands. The generator knows the shape and the dtype
of each value; it writes only operations on which NumPy's and JAX's promotion agree (an integer
never meets a 32-bit float), and only forms that are smooth and bounded on the whole real line, so
that two correct implementations agree to rounding. Kinks stay (``abs``, ``maximum``, ``sort``):
random inputs meet them with probability zero, and at exact ties the convention is JAX's.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple

import numpy as np

REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INEXACT = REAL + COMPLEX
NARROW = ("float32", "complex64")


class Value(NamedTuple):
    """A value that generated code may use: how it is written, and its type."""

    source: str
    shape: tuple[int, ...]
    dtype: str
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def promote(*values: Value) -> tuple[str, bool] | None:
    """The dtype and weakness of an operation, or None where NumPy and JAX promote differently."""
    strong = [value for value in values if not value.weak]
    if not strong:
        return "float64", True
    dtypes = {value.dtype for value in strong}
    integral = any(dtype in ("int64", "int32", "bool") for dtype in dtypes)
    if integral and (dtypes & set(NARROW) or len(strong) < len(values)):
        return None
    return str(np.result_type(*sorted(dtypes))), False


class Line(NamedTuple):
    """A statement: the name that it defines, and its text."""

    name: str
    source: str


class Builder:
    """Writes the statements of one function body; a nested function is a child `Builder`."""

    def __init__(self, random: Random, prefix: str, outer: tuple[Value, ...] = ()):
        self.random = random
        self.prefix = prefix
        self.pool: list[Value] = list(outer)
        self.lines: list[Line] = []
        self.children = 0

    def pick(self, options: Any) -> Any:
        return self.random.choice(list(options))

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def flag(self) -> bool:
        return self.random.random() < 0.5

    def number(self) -> str:
        return str(self.pick((0.5, -0.75, 1.25, 2.0, -1.5)))

    def choose(self, fitting: list[Value]) -> Value | None:
        """One of the values; every other time one of the newest, so that programs grow deep."""
        if not fitting:
            return None
        return self.random.choice(fitting[-3:] if self.flag() else fitting)

    def operand(self, dtypes: tuple[str, ...] = REAL, min_ndim: int = 0) -> Value | None:
        return self.choose([v for v in self.pool if v.dtype in dtypes and v.ndim >= min_ndim])

    def partner(self, value: Value, dtypes: tuple[str, ...] = REAL) -> Value | None:
        """A second operand that broadcasts with the first to at most 24 elements."""
        fitting = []
        for other in self.pool:
            if other.dtype in dtypes and promote(value, other) is not None:
                shape = broadcast(value.shape, other.shape)
                if shape is not None and int(np.prod(shape)) <= 24 and len(shape) <= 3:
                    fitting.append(other)
        return self.choose(fitting)

    def assign(self, source: str, shape: tuple[int, ...], dtype: str, weak: bool = False) -> Value:
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(Line(name, f"{name} = {source}"))
        value = Value(name, tuple(shape), dtype, weak)
        self.pool.append(value)
        return value

    def define(self, name: str, parameters: str, body: list[Line], result: str) -> None:
        """A nested function: one statement, to be dropped or kept as a whole."""
        lines = [*needed(body, result), f"return {result}"]
        inner = textwrap.indent("\n".join(lines), "    ")
        self.lines.append(Line(name, f"def {name}({parameters}):\n{inner}"))


def needed(lines: list[Line] | tuple[Line, ...], result: str) -> list[str]:
    """The text of the statements that a result reads, directly or through others."""
    kept: list[str] = []
    text = result
    for line in reversed(lines):
        if re.search(rf"\b{line.name}\b", text):
            kept.append(line.source)
            text = f"{text} {line.source}"
    return kept[::-1]


def broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        return None


Operation = Callable[[Builder], Value | None]
OPERATIONS: list[tuple[str, Operation]] = []


def operation(weight: int = 1) -> Callable[[Operation], Operation]:
    """Register an operation; it returns None where the pool has no operands for it."""

    def register(function: Operation) -> Operation:
        OPERATIONS.extend([(function.__name__, function)] * weight)
        return function

    return register


UNARY = (
    "xp.sin({0})",
    "xp.cos({0})",
    "xp.tanh({0})",
    "xp.exp(xp.sin({0}))",
    "xp.log({0} * {0} + 1.0)",
    "xp.sqrt({0} * {0} + 0.5)",
    "xp.square(xp.tanh({0}))",
    "xp.reciprocal(2.0 + xp.cos({0}))",
    "xp.expm1(xp.sin({0}))",
    "xp.log1p(xp.square(xp.sin({0})))",
    "xp.arctan({0})",
    "xp.sinh(xp.tanh({0}))",
    "xp.cosh(xp.sin({0}))",
    "xp.arcsin(0.7 * xp.sin({0}))",
    "xp.arccos(0.6 * xp.cos({0}))",
    "xp.arcsinh({0})",
    "xp.arctanh(0.5 * xp.sin({0}))",
    "xp.exp2(xp.sin({0}))",
    "xp.log2(3.0 + xp.sin({0}))",
    "xp.abs({0})",
    "xp.negative({0})",
    "-{0}",
    "abs({0} + 0.25)",
    "xp.sign({0}) * {0}",
    "xp.floor({0}) + {0}",
    "1.0 / (1.0 + xp.exp(-{0}))",
    "(xp.tanh({0}) + 0.1) ** 2",
    "xp.power(xp.sin({0}), 3)",
    "(1.5 + {0} * {0}) ** -0.5",
    "2.0 ** xp.tanh({0})",
    "1.0 - {0}",
    "{0} / 3",
    "2 * {0}",
    "xp.clip({0}, -0.8, 0.9)",
    "xp.where({0} > 0.1, {0}, 0.3 * {0})",
    "xp.maximum({0}, 0.0)",
    "xp.mod({0}, 1.75)",
    "lib.lax.stop_gradient({0}) * {0}",
)


@operation(weight=6)
def unary(b: Builder) -> Value | None:
    x = b.operand()
    if x is None:
        return None
    return b.assign(b.pick(UNARY).format(x.source), x.shape, x.dtype, x.weak)


COMPLEX_UNARY = (
    "xp.sin({0})",
    "xp.exp(1j * xp.real({0})) * {0}",
    "xp.conj({0})",
    "{0} * {0}",
    "xp.sqrt({0} * xp.conj({0}) + (2.0 + 0.5j))",
    "xp.tanh(0.3 * {0})",
    "(0.5 - 1j) * {0}",
    "{0} / (3.0 + xp.real({0}) ** 2)",
)
COMPLEX_TO_REAL = (
    "xp.real({0})",
    "xp.imag({0})",
    "xp.real({0} * xp.conj({0}))",
    "xp.abs({0} + (4.0 + 1j))",
    "xp.angle({0} * xp.conj({0}) + (2.0 + 0.5j))",
    "{0}.real * {0}.imag",
)


@operation(weight=2)
def complex_unary(b: Builder) -> Value | None:
    z = b.operand(COMPLEX)
    if z is None:
        return None
    if b.flag():
        return b.assign(b.pick(COMPLEX_UNARY).format(z.source), z.shape, z.dtype)
    real = "float32" if z.dtype == "complex64" else "float64"
    return b.assign(b.pick(COMPLEX_TO_REAL).format(z.source), z.shape, real)


@operation()
def real_to_complex(b: Builder) -> Value | None:
    x = b.operand()
    if x is None or x.weak:
        return None
    kind = "complex64" if x.dtype == "float32" else "complex128"
    form = b.pick(("1j * {0} + {0}", "xp.exp(1j * {0})", f"({{0}} + 0.5).astype('{kind}') * 1j"))
    return b.assign(form.format(x.source), x.shape, kind)


BINARY = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} / (1.5 + {1} * {1})",
    "xp.add({0}, {1})",
    "xp.multiply({0}, xp.sin({1}))",
    "xp.maximum({0}, {1})",
    "xp.minimum({0}, {1})",
    "xp.hypot({0}, 1.0 + {1} * {1})",
    "xp.arctan2({0}, 1.5 + xp.sin({1}))",
    "(1.2 + xp.cos({0})) ** xp.tanh({1})",
    "xp.power(1.5 + xp.sin({0}), {1} * 0.3)",
    "xp.where({0} > {1}, {0}, xp.sin({1}))",
    "xp.logaddexp({0}, {1})",
    "xp.clip({0}, -0.5, 1.0 + {1} * {1})",
    "xp.true_divide({0}, 2.0 + xp.cos({1}))",
)
COMPLEX_BINARY = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "{0} / ({1} * xp.conj({1}) + (1.5 + 1j))",
    "xp.where(xp.real({0}) > xp.real({1}), {0}, {1})",
)


@operation(weight=6)
def binary(b: Builder) -> Value | None:
    x = b.operand()
    y = b.partner(x) if x is not None else None
    if x is None or y is None:
        return None
    promoted = promote(x, y)
    shape = broadcast(x.shape, y.shape)
    assert promoted is not None
    assert shape is not None
    return b.assign(b.pick(BINARY).format(x.source, y.source), shape, *promoted)


@operation()
def complex_binary(b: Builder) -> Value | None:
    x = b.operand(COMPLEX)
    y = b.partner(x, INEXACT) if x is not None else None
    if x is None or y is None:
        return None
    promoted = promote(x, y)
    shape = broadcast(x.shape, y.shape)
    assert promoted is not None
    assert shape is not None
    forms = COMPLEX_BINARY if y.dtype in COMPLEX else COMPLEX_BINARY[:3]
    source = b.pick(forms).format(x.source, y.source)
    return b.assign(source, shape, *promoted)


@operation()
def integers_and_masks(b: Builder) -> Value | None:
    kind = b.pick(("compare", "select", "count", "arg", "arithmetic", "cast", "round"))
    if kind == "arithmetic":
        i = b.operand(("int64",))
        if i is None:
            return None
        form = b.pick(("{0} * 2 + 1", "xp.remainder({0}, 3)", "{0} // 2", "xp.abs({0} - 3)"))
        return b.assign(form.format(i.source), i.shape, "int64")
    if kind == "cast":
        i = b.operand(("int64", "bool"))
        if i is None:
            return None
        dtype = b.pick(REAL)
        return b.assign(f"0.5 * {i.source}.astype('{dtype}')", i.shape, dtype)
    x = b.operand()
    if x is None or x.weak:
        return None
    if kind == "round":
        return b.assign(f"xp.round(2.0 * {x.source}) + {x.source}", x.shape, x.dtype)
    if kind == "arg":
        if x.ndim == 0:
            return None
        axis = b.integer(-x.ndim, x.ndim - 1)
        call = b.pick(("argmax", "argmin", "argsort"))
        shape = x.shape if call == "argsort" else without(x.shape, (axis,))
        return b.assign(f"xp.{call}({x.source}, axis={axis})", shape, "int64")
    if kind == "count":
        axis, shape = some_axes(b, x)
        return b.assign(f"xp.sum({x.source} > 0.2, axis={axis})", shape, "int64")
    y = b.partner(x)
    if y is None or y.weak:
        return None
    shape = broadcast(x.shape, y.shape)
    promoted = promote(x, y)
    assert promoted is not None
    assert shape is not None
    test = b.pick(("{0} > {1}", "xp.logical_and({0} > 0.1, {1} < 0.5)", "~({0} <= {1})"))
    mask = test.format(x.source, y.source)
    if kind == "compare":
        return b.assign(mask, shape, "bool")
    return b.assign(
        f"xp.where({mask}, {x.source} * {y.source}, {x.source} - {y.source})", shape, *promoted
    )


def without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    gone = {axis % len(shape) for axis in axes}
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


def some_axes(b: Builder, x: Value) -> tuple[str, tuple[int, ...]]:
    """The source of an axis argument, and the shape that is left."""
    if x.ndim == 0 or b.flag():
        return "None", ()
    if x.ndim > 1 and b.flag():
        axes = (0, x.ndim - 1)
        return b.pick((str(axes), str((-1, 0)))), without(x.shape, axes)
    axis = b.integer(-x.ndim, x.ndim - 1)
    return str(axis), without(x.shape, (axis,))


REDUCTIONS = (
    "xp.sum({0}, axis={1})",
    "xp.mean({0}, axis={1})",
    "{0}.sum(axis={1})",
    "{0}.mean({1})",
    "xp.max({0}, axis={1})",
    "xp.min({0}, axis={1})",
    "xp.prod(1.0 + 0.3 * xp.sin({0}), axis={1})",
    "xp.var({0}, axis={1})",
    "xp.sqrt(xp.var({0}, axis={1}) + 0.1)",
    "xp.log(xp.sum(xp.exp(xp.tanh({0})), axis={1}))",
)


@operation(weight=3)
def reduction(b: Builder) -> Value | None:
    x = b.operand(INEXACT)
    if x is None or x.weak:
        return None
    axis, shape = some_axes(b, x)
    if x.dtype in COMPLEX:
        form = b.pick(REDUCTIONS[:4])
    else:
        form = b.pick(REDUCTIONS)
    if axis not in ("None",) and b.flag() and form.startswith("xp.sum"):
        axes = axis if axis.startswith("(") else f"({axis},)"
        gone = {int(a) % x.ndim for a in axes.strip("()").split(",") if a.strip()}
        kept = tuple(1 if a in gone else n for a, n in enumerate(x.shape))
        return b.assign(f"xp.sum({x.source}, axis={axis}, keepdims=True)", kept, x.dtype)
    return b.assign(form.format(x.source, axis), shape, x.dtype)


@operation(weight=2)
def scan_or_sort(b: Builder) -> Value | None:
    x = b.operand(min_ndim=1)
    if x is None:
        return None
    axis = b.integer(-x.ndim, x.ndim - 1)
    form = b.pick(
        (
            "xp.cumsum({0}, axis={1})",
            "xp.cumprod(1.0 + 0.2 * xp.sin({0}), axis={1})",
            "xp.sort({0}, axis={1})",
            "xp.take_along_axis({0}, xp.argsort({0}, axis={1}), axis={1})",
            "xp.flip({0}, axis={1})",
            "xp.roll({0}, 1, axis={1})",
            "xp.concatenate([{0}[:0], {0}])",
        )
    )
    return b.assign(form.format(x.source, axis), x.shape, x.dtype)


@operation(weight=4)
def reshaping(b: Builder) -> Value | None:
    x = b.operand(INEXACT)
    if x is None or x.weak:
        return None
    s, shape = x.source, x.shape
    options = [
        (f"xp.ravel({s})", (x.size,)),
        (f"{s}.T", shape[::-1]),
        (f"xp.expand_dims({s}, -1)", (*shape, 1)),
        (f"xp.reshape({s}, (1, -1))", (1, x.size)),
        (f"xp.squeeze(xp.expand_dims({s}, 0), axis=0)", shape),
    ]
    if x.size * 2 <= 24 and x.ndim < 3:
        options += [
            (f"xp.broadcast_to({s}, (2,) + {shape})", (2, *shape)),
            (f"xp.stack([{s}, 0.5 * {s}], axis=-1)", (*shape, 2)),
        ]
    if x.ndim >= 1:
        options += [
            (f"{s}[..., ::-1]", shape),
            (f"{s}[0]", shape[1:]),
            (f"{s}[-1]", shape[1:]),
            (f"{s}[None, ..., 0]", (1, *shape[:-1])),
        ]
        if shape[0] >= 2:
            options += [
                (f"{s}[1:]", (shape[0] - 1, *shape[1:])),
                (f"xp.diff({s}, axis=0)", (shape[0] - 1, *shape[1:])),
                (f"{s}[np.array([1, 0])]", (2, *shape[1:])),
                (f"{s}[np.arange({shape[0]}) != 1]", (shape[0] - 1, *shape[1:])),
                (f"xp.take({s}, np.array([[1], [0]]), axis=0)", (2, 1, *shape[1:])),
            ]
        if x.size <= 12:
            double = (2 * shape[0], *shape[1:])
            options += [
                (f"xp.concatenate([{s}, 2.0 * {s}], axis=0)", double),
                (f"xp.repeat({s}, 2, axis=0)", double),
                (f"xp.tile({s}, 2)", (*shape[:-1], 2 * shape[-1])),
            ]
    if x.ndim == 1 and x.size <= 3:
        options += [
            (f"xp.pad({s}, (1, 0))", (x.size + 1,)),
            (f"xp.diag({s})", (x.size, x.size)),
        ]
    if x.ndim == 2:
        options += [
            (f"xp.transpose({s}, (1, 0))", shape[::-1]),
            (f"xp.swapaxes({s}, 0, 1)", shape[::-1]),
            (f"xp.moveaxis({s}, 0, -1)", shape[::-1]),
            (f"xp.tril({s})", shape),
            (f"xp.triu({s}, 1)", shape),
            (f"xp.diagonal({s})", (min(shape),)),
            (f"xp.trace({s})", ()),
            (f"{s}[:, np.array([0, -1])]", (shape[0], 2)),
            (f"{s}[np.array([0, 0, 1]) % {shape[0]}, np.array([0, -1, 0])]", (3,)),
        ]
    source, result = b.pick(options)
    if len(result) > 3 or np.prod(result) > 24 or np.prod(result) == 0:
        return None
    return b.assign(source, result, x.dtype)


@operation(weight=2)
def dynamic_index(b: Builder) -> Value | None:
    """Indices that a transform may trace, always in bounds."""
    x, i = b.operand(INEXACT, min_ndim=1), b.operand(("int64",))
    if x is None or i is None or len(i.shape) + x.ndim - 1 > 3 or i.size * x.size > 48:
        return None
    index = f"xp.abs({i.source}) % {x.shape[0]}"
    shape = (*i.shape, *x.shape[1:])
    form = b.pick(("{0}[{1}]", "xp.take({0}, {1}, axis=0)"))
    return b.assign(form.format(f"xp.asarray({x.source})", index), shape, x.dtype)


@operation(weight=2)
def at_update(b: Builder) -> Value | None:
    x = b.operand(INEXACT, min_ndim=1)
    if x is None:
        return None
    y = b.operand((x.dtype,))
    scalar = f"xp.sum({y.source})" if y is not None and not y.weak else b.number()
    # No ellipsis: XLA 0.10 ends the process on the reverse of an update of the whole array.
    indices = ["0", "-1", "np.array([0, 0])", "slice(None, None, 2)"]
    indices += [] if x.ndim < 2 else ["(slice(None), 0)", "(0, -1)", "(slice(None), np.array([0]))"]
    index = b.pick(indices)
    methods = ["add"] if index == "np.array([0, 0])" else ["set", "add"]
    source = f"xp.asarray({x.source}).at[{index}].{b.pick(methods)}({scalar})"
    return b.assign(source, x.shape, x.dtype)


@operation(weight=4)
def contraction(b: Builder) -> Value | None:
    kinds = REAL if b.flag() else INEXACT
    x = b.operand(kinds, min_ndim=1)
    if x is None or x.ndim > 2:
        return None
    candidates = []
    for y in b.pool:
        promoted = promote(x, y)
        if y.dtype not in kinds or y.weak or y.ndim not in (1, 2) or promoted is None:
            continue
        for form, shape in contractions(x, y):
            if np.prod(shape) <= 16 and len(shape) <= 3:
                candidates.append((form.format(x.source, y.source), shape, promoted[0]))
    if not candidates:
        return None
    source, shape, dtype = b.pick(candidates)
    return b.assign(f"xp.tanh(0.5 * {source})" if dtype in REAL else source, shape, dtype)


def contractions(x: Value, y: Value) -> list[tuple[str, tuple[int, ...]]]:
    found: list[tuple[str, tuple[int, ...]]] = []
    if x.shape[-1] == y.shape[0]:
        shape = (*x.shape[:-1], *y.shape[1:])
        found += [("({0} @ {1})", shape), ("xp.dot({0}, {1})", shape)]
        found += [("xp.matmul({0}, {1})", shape), ("xp.tensordot({0}, {1}, axes=1)", shape)]
    if x.shape[-1] == y.shape[-1]:
        found.append(("xp.inner({0}, {1})", (*x.shape[:-1], *y.shape[:-1])))
    if x.shape == y.shape:
        found += [("xp.vdot({0}, {1})", ()), ("xp.einsum('...i,...i', {0}, {1})", x.shape[:-1])]
    if x.ndim == y.ndim == 2:
        if x.shape[0] == y.shape[0]:
            found += [("xp.einsum('ki,kj->ij', {0}, {1})", (x.shape[1], y.shape[1]))]
            found += [("({0}.T @ {1})", (x.shape[1], y.shape[1]))]
        if x.shape[1] == y.shape[1]:
            found += [("xp.einsum('ik,jk->ji', {0}, {1})", (y.shape[0], x.shape[0]))]
            found += [("({0} @ {1}.T)", (x.shape[0], y.shape[0]))]
        if x.shape[0] == y.shape[1]:
            found += [("xp.einsum('ki,jk', {0}, {1})", (x.shape[1], y.shape[0]))]
    if x.ndim == y.ndim == 1:
        found += [("xp.outer({0}, {1})", (x.size, y.size))]
        found += [("xp.einsum('i,j->', {0}, {1})", ())]
    return found


@operation()
def mix_with_constant(b: Builder) -> Value | None:
    """A NumPy array that the program closes over, on the left of a traced value."""
    x = b.operand(("float64", "complex128"))
    if x is None or x.weak or x.shape[-1:] not in ((3,), (2,)):
        return None
    form = b.pick(("K{1} * {0}", "K{1} - {0}", "{0} / K{1}", "np.sin(K{1}) + {0}"))
    return b.assign(form.format(x.source, x.shape[-1]), x.shape, x.dtype)


def nested_body(b: Builder, params: list[Value], statements: int) -> tuple[list[Line], Value]:
    """Statements over the parameters and over everything visible outside: a closure."""
    b.children += 1
    child = Builder(b.random, f"{b.prefix}{b.children}_", tuple(b.pool))
    child.pool += params
    child.assign(f"{params[0].source} * 1.5", params[0].shape, params[0].dtype, params[0].weak)
    for _ in range(statements):
        statement(child, nested=False)
    own = [v for v in child.pool[len(b.pool) + len(params) :] if v.dtype in REAL]
    return child.lines, own[-1] if b.flag() else b.pick(own)


@operation(weight=3)
def nested_transform(b: Builder) -> Value | None:
    """A call of a transformed local function, which closes over the values around it."""
    kind = b.pick(("jit", "checkpoint", "vmap", "grad", "jvp", "vjp"))
    x = b.operand(min_ndim=1 if kind == "vmap" else 0)
    if x is None or (x.weak and kind != "grad"):
        return None
    name = f"f{b.prefix}{len(b.lines)}"
    p = f"p_{b.prefix}{len(b.lines)}"
    axis = b.integer(-x.ndim, x.ndim - 1) if kind == "vmap" else 0
    inside = without(x.shape, (axis,)) if kind == "vmap" else x.shape
    y = b.operand(REAL)
    params = [Value(p, inside, x.dtype, x.weak)]
    parameters, arguments = p, x.source
    if y is not None and not y.weak and kind in ("jit", "checkpoint", "vmap"):
        params.append(Value(p + "q", y.shape, y.dtype))
        parameters, arguments = f"{p}, {p}q", f"{x.source}, {y.source}"
    body, result = nested_body(b, params, b.integer(1, 4))
    if kind == "grad":
        b.define(name, parameters, body, f"xp.sum(xp.sin({result.source}))")
        return b.assign(f"lib.grad({name})({x.source})", x.shape, x.dtype, x.weak)
    b.define(name, parameters, body, result.source)
    if kind in ("jit", "checkpoint"):
        return b.assign(f"lib.{kind}({name})({arguments})", result.shape, result.dtype, result.weak)
    if kind == "vmap":
        in_axes = f"({axis}, None)" if len(params) == 2 else str(axis)
        size = x.shape[axis]
        if result.size * size > 24 or result.ndim > 2:
            return None
        return b.assign(
            f"lib.vmap({name}, in_axes={in_axes})({arguments})",
            (size, *result.shape),
            result.dtype,
        )
    if result.weak:
        return None
    if kind == "jvp":
        return b.assign(
            f"sum(lib.jvp({name}, ({x.source},), (0.5 * {x.source} + 0.25,)))",
            result.shape,
            result.dtype,
        )
    return b.assign(f"pull(lib, {name}, {x.source})[0]", x.shape, x.dtype)


@operation()
def known_branch(b: Builder) -> Value | None:
    """Python control flow on values that every transform knows."""
    x = b.operand(min_ndim=1)
    if x is None:
        return None
    return b.assign(
        f"sum(xp.sin(row * {b.number()}) for row in xp.asarray({x.source}))",
        x.shape[1:],
        x.dtype,
    )


def statement(b: Builder, nested: bool = True) -> Value:
    """Append one statement that fits; the drawn operation may not, and then a simpler one does."""
    name, chosen = b.pick(OPERATIONS)
    made = None if name == "nested_transform" and not nested else chosen(b)
    return made if made is not None else unary(b) or complex_unary(b)  # type: ignore[return-value]


class Argument(NamedTuple):
    """One argument: its name, the source of its value, the leaves that the body may use."""

    name: str
    source: str
    leaves: tuple[Value, ...]

    @property
    def inexact(self) -> bool:
        return all(leaf.dtype in INEXACT for leaf in self.leaves)

    @property
    def weak(self) -> bool:
        return any(leaf.weak for leaf in self.leaves)


def leaf(source: str, shape: tuple[int, ...], dtype: str) -> tuple[str, Value]:
    made = f"make(rng, {shape}, '{dtype}')"
    return made, Value(source, shape, dtype)


def array(name: str, shape: tuple[int, ...], dtype: str) -> Argument:
    made, value = leaf(name, shape, dtype)
    return Argument(name, made, (value,))


def tree(name: str, form: str, *leaves: tuple[str, tuple[int, ...], str]) -> Argument:
    """``form`` holds one ``{}`` per leaf."""
    made = [leaf(name + path, shape, dtype) for path, shape, dtype in leaves]
    return Argument(name, form.format(*(m for m, _ in made)), tuple(v for _, v in made))


SIGNATURES: tuple[tuple[Argument, ...], ...] = (
    (
        array("a", (2, 3), "float64"),
        array("b", (3,), "float64"),
        Argument("s", "0.625", (Value("s", (), "float64", True),)),
        array("i", (2,), "int64"),
    ),
    (
        tree(
            "w",
            "{{'w': {0}, 'b': {1}, 'none': None}}",
            ("['w']", (3, 2), "float64"),
            ("['b']", (2,), "float32"),
        ),
        array("x", (2, 3), "float32"),
        array("m", (3,), "bool"),
    ),
    (
        array("z", (2, 2), "complex128"),
        tree(
            "t",
            "({0}, [{1}, {2}])",
            ("[0]", (2,), "float64"),
            ("[1][0]", (2, 2), "float64"),
            ("[1][1]", (3,), "complex64"),
        ),
        array("k", (), "int64"),
    ),
)


@dataclass(frozen=True)
class Program:
    """A generated function: its parameters, its statements and its result, all of them text."""

    arguments: tuple[Argument, ...]
    lines: tuple[Line, ...]
    result: str
    seed: int

    @property
    def source(self) -> str:
        names = ", ".join(argument.name for argument in self.arguments)
        body = "\n".join([*needed(self.lines, self.result), f"return {self.result}"])
        return f"def program({names}):\n{textwrap.indent(body, '    ')}\n"

    @property
    def narrow(self) -> bool:
        """Whether floats of 32 bits take part."""
        body = self.source.partition(":")[2]
        leaves = [leaf for argument in self.arguments for leaf in argument.leaves]
        return bool(re.search("float32|complex64", body)) or any(
            leaf.dtype in NARROW and re.search(rf"\b{re.escape(leaf.source)}(?!\w)", body)
            for leaf in leaves
        )

    def prefixes(self) -> Iterator[Program]:
        """Programs that return a single intermediate value, in the order of the statements."""
        for line in self.lines:
            if line.source.startswith(line.name):
                yield replace(self, result=line.name)

    def __repr__(self) -> str:
        return self.source


RESULTS = ("{0}", "({0}, {1})", "{{'u': {0}, 'a': [{1}, {2}]}}", "[{0}, None, ({1}, {0})]")


def unread(b: Builder, values: list[Value]) -> list[Value]:
    """The values that no statement reads, so that little of a program is dead; or all of them."""
    text = " ".join(line.source.split("=", 1)[-1] for line in b.lines)
    return [v for v in values if not re.search(rf"\b{v.source}\b", text)] or values


def random_program(random: Random, min_size: int = 6, max_size: int = 20) -> Program:
    """A whole program over one of three signatures."""
    arguments = random.choice(SIGNATURES)
    b = Builder(random, "v")
    for argument in arguments:
        b.pool += argument.leaves
    given = len(b.pool)
    for _ in range(random.randint(min_size, max_size)):
        statement(b)
    made = b.pool[given:]
    inexact = [v for v in made if v.dtype in INEXACT]
    chosen = [
        inexact[-1],
        *random.sample(unread(b, inexact), 1),
        *random.sample(unread(b, made), 1),
    ]
    result = b.pick(RESULTS).format(*(v.source for v in chosen))
    return Program(arguments, tuple(b.lines), result, random.randint(0, 9999))
