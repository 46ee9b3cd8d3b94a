"""Makers of examples for primitives of whole arrays: shapes, contraction, reductions, indexing, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.draws import INEXACT, Draw, NotApplicable, Sample, number, numbers, spaced
from support.samples import away, positive, sample

from fgrad.avals import Aval
from fgrad.ir.jaxpr import Eqn, Jaxpr, Var
from fgrad.primitives import (
    bitcast,
    bits,
    contraction,
    convolution,
    cosine_transform,
    cumulative,
    dynamic_blocks,
    families,
    fft,
    indexing,
    norms,
    reduction,
    scatter,
    sorting,
    triangles,
)
from fgrad.primitives import elementwise as p
from fgrad.primitives import shape as s
from fgrad.primitives.naming import NameResult
from fgrad.primitives.windows import OverlapAdd, Windows, window_counts
from fgrad.transforms.call import Call, Checkpointed

Shape = tuple[int, ...]


def plain(d: Draw, primitive: Any, shape: Shape, dtype: Any, **options: Any) -> Sample:
    return Sample(primitive, lambda rng: (numbers(rng, shape, dtype),), **options)


def axes_of(d: Draw, shape: Shape) -> Shape:
    return d.subset(range(len(shape)))


def axis_of(d: Draw, shape: Shape) -> int:
    return int(d.integer(0, len(shape) - 1))


# ---- shapes --------------------------------------------------------------------------------------


@sample("Reshape")
def _reshape(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    return plain(d, families.Reshape(tuple(d.permutation((*shape, 1)))), shape, dtype)


@sample("BroadcastTo")
def _broadcast_to(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    return plain(d, families.BroadcastTo(shape), d.stretched(shape), dtype)


@sample("NameResult")
def _name_result(d: Draw) -> Sample:
    return plain(d, NameResult("middle"), d.shape(), d.dtype(INEXACT))


@sample("Transpose")
def _transpose(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    return plain(d, s.Transpose(tuple(d.permutation(range(len(shape))))), shape, dtype)


@sample("Concatenate")
def _concatenate(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(INEXACT)
    axis = axis_of(d, shape)
    sizes = [shape[axis], *[d.integer(0, 3) for _ in range(d.integer(0, 2))]]
    shapes = [(*shape[:axis], n, *shape[axis + 1 :]) for n in sizes]
    return Sample(s.Concatenate(axis), lambda rng: tuple(numbers(rng, t, dtype) for t in shapes))


@sample("Pad")
def _pad(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    interior = tuple(d.integer(0, 2) for _ in shape)
    whole = [n + max(n - 1, 0) * gap for n, gap in zip(shape, interior, strict=True)]
    low = tuple(d.integer(-n // 2, 2) for n in whole)
    high = tuple(d.integer(-n // 2, 2) for n in whole)
    cut = [n + a + b < 0 for n, a, b in zip(whole, low, high, strict=True)]
    low = tuple(0 if gone else a for a, gone in zip(low, cut, strict=True))
    return plain(d, s.Pad(low, high, interior), shape, dtype)


def _windows(d: Draw) -> tuple[Shape, tuple[Shape, Shape, Shape]]:
    """A shape, and windows over its trailing axes: their shape, steps and dilation."""
    shape = d.shape()
    count = d.integer(0, len(shape))
    parts = [tuple(d.integer(1, 3) for _ in range(count)) for _ in range(3)]
    return shape, (parts[0], parts[1], parts[2])


@sample("Windows")
def _windows_of(d: Draw) -> Sample:
    shape, options = _windows(d)
    return plain(d, Windows(*options), shape, d.dtype(INEXACT))


@sample("OverlapAdd")
def _overlap_add(d: Draw) -> Sample:
    shape, (window, strides, dilation) = _windows(d)
    lead = len(shape) - len(window)
    counts = window_counts(shape[lead:], window, strides, dilation)
    whole = (*shape[:lead], *counts, *window)
    return plain(
        d, OverlapAdd(shape[lead:], window, strides, dilation), whole, d.dtype(INEXACT), slack=10.0
    )


def _static_items(d: Draw, shape: Shape) -> tuple[Any, ...]:
    items: list[Any] = []
    for n in shape:
        kind = d.integer(0, 3)
        if kind == 0 and n:
            items.append(d.integer(0, n - 1))
        elif kind == 1 and n:
            start = d.integer(0, n - 1)
            items.append(slice(start, None, -d.integer(1, 2)))
        else:
            start = d.integer(0, n)
            items.append(slice(start, d.integer(start, n), d.integer(1, 2)))
        if d.integer(0, 3) == 0:
            items.append(None)
    return tuple(items)


@sample("StaticIndex")
def _static_index(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    return plain(d, s.StaticIndex(_static_items(d, shape)), shape, dtype)


@sample("Embed")
def _embed(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    index = _static_items(d, shape)
    return plain(d, s.Embed(index, shape), s.index_shape(index, shape), dtype)


@sample("StaticUpdate")
def _static_update(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    index = _static_items(d, shape)
    part = s.index_shape(index, shape)
    primitive = indexing.StaticUpdate(index, d.choice(("set", "add")))
    return Sample(primitive, lambda rng: (numbers(rng, shape, dtype), numbers(rng, part, dtype)))


@sample("Full")
def _full(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    fill: Any = d.choice((0, 1, 2)) if dtype.kind in "biu" else d.choice((0.0, 1.5, -2.0))
    return Sample(families.Full(shape, fill, dtype), lambda rng: ())


@sample("Iota")
def _iota(d: Draw) -> Sample:
    (size,) = d.shape(least=1, most=1)
    dtype = d.dtype(("int64", "int32", "float32"))
    start, step = (0, 1) if dtype.kind == "b" else (d.integer(0, 3), d.integer(1, 3))
    return Sample(
        s.Iota(min(size, 2) if dtype.kind == "b" else size, dtype, start, step), lambda rng: ()
    )


@sample("Eye")
def _eye(d: Draw) -> Sample:
    rows, columns = d.shape(least=2, most=2)
    return Sample(s.Eye(rows, columns, d.integer(-2, 2), d.dtype()), lambda rng: ())


@sample("Tri")
def _tri(d: Draw) -> Sample:
    rows, columns = d.shape(least=2, most=2)
    return Sample(triangles.Tri(rows, columns, d.integer(-2, 2)), lambda rng: ())


# ---- contraction ---------------------------------------------------------------------------------


@sample("DotGeneral")
def _dot_general(d: Draw) -> Sample:
    batch, contracted = d.shape(most=2), d.shape(most=2)
    left_free, right_free = d.shape(most=1), d.shape(most=1)
    dtype = d.dtype(INEXACT)

    def operand(free: Shape) -> tuple[Shape, Shape, Shape]:
        sizes = (*batch, *contracted, *free)
        order = d.permutation(range(len(sizes)))
        shape = tuple(sizes[i] for i in order)
        place = [order.index(i) for i in range(len(sizes))]
        pairs = len(batch), len(batch) + len(contracted)
        return shape, tuple(place[pairs[0] : pairs[1]]), tuple(place[: pairs[0]])

    left, left_contract, left_batch = operand(left_free)
    right, right_contract, right_batch = operand(right_free)
    primitive = contraction.DotGeneral(left_contract, right_contract, left_batch, right_batch)
    return Sample(
        primitive,
        lambda rng: (numbers(rng, left, dtype), numbers(rng, right, dtype)),
        exact=False,
        slack=16.0,
    )


@sample("Convolve")
def _convolve(d: Draw) -> Sample:
    batch = d.shape(most=2)
    left, right = ((*d.stretched(batch), d.integer(1, 4)) for _ in range(2))
    dtype, valid = d.dtype(INEXACT), d.boolean() and left[-1] >= right[-1]
    return Sample(
        convolution.Convolve(valid),
        lambda rng: (numbers(rng, left, dtype), numbers(rng, right, dtype)),
        exact=False,
        slack=8.0,
    )


# ---- reductions ----------------------------------------------------------------------------------


@sample("Sum")
def _sum(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    return plain(d, families.Sum(axes_of(d, shape)), shape, dtype, exact=False, slack=8.0)


@sample("Prod")
def _prod(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    primitive = reduction.Prod(axes_of(d, shape))
    return plain(d, primitive, shape, dtype, exact=False, slack=1000.0)


def _extremum(d: Draw, kind: Any) -> Sample:
    shape, dtype = d.shape(), d.dtype()
    axes = axes_of(d, shape)
    if any(shape[axis] == 0 for axis in axes):
        axes = ()
    return Sample(kind(axes), lambda rng: (numbers(rng, shape, dtype, spaced),))


@sample("Max")
def _max(d: Draw) -> Sample:
    return _extremum(d, reduction.Max)


@sample("Min")
def _min(d: Draw) -> Sample:
    return _extremum(d, reduction.Min)


def _place(d: Draw, kind: Any) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(("float32", "int64"))
    full = [axis for axis, n in enumerate(shape) if n]
    if not full:
        raise NotApplicable
    return plain(d, kind(d.choice(full)), shape, dtype)


@sample("Argmax")
def _argmax(d: Draw) -> Sample:
    return _place(d, reduction.Argmax)


@sample("Argmin")
def _argmin(d: Draw) -> Sample:
    return _place(d, reduction.Argmin)


@sample("Any_")
def _any(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(("bool", "int64"))
    return plain(d, reduction.Any_(axes_of(d, shape)), shape, dtype)


@sample("All")
def _all(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(("bool", "int64"))
    return plain(d, reduction.All(axes_of(d, shape)), shape, dtype)


@sample("LogSumExp")
def _logsumexp(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    if dtype.kind not in "fc":
        raise NotApplicable
    axes = axes_of(d, shape)
    # The sum of nothing has the logarithm -inf, which has no differences.
    finite = all(shape[axis] for axis in axes)
    primitive = reduction.LogSumExp(axes)
    return plain(d, primitive, shape, dtype, smooth=finite, exact=False, slack=50.0)


@sample("EuclideanNorm")
def _norm(d: Draw) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    if dtype.kind not in "fc":
        raise NotApplicable
    axes = axes_of(d, shape)
    return Sample(
        norms.EuclideanNorm(axes),
        lambda rng: (numbers(rng, shape, dtype, away),),
        exact=False,
        slack=20.0,
    )


# ---- running reductions --------------------------------------------------------------------------


def _running(d: Draw, kind: Any, domain: Any, dtypes: Any = INEXACT, **options: Any) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(dtypes)
    primitive = kind(axis_of(d, shape), d.boolean())
    return Sample(primitive, lambda rng: (numbers(rng, shape, dtype, domain),), **options)


@sample("Cumsum")
def _cumsum(d: Draw) -> Sample:
    return _running(d, cumulative.Cumsum, away, exact=False, slack=8.0)


@sample("Cumprod")
def _cumprod(d: Draw) -> Sample:
    return _running(d, cumulative.Cumprod, away, exact=False, slack=1000.0)


@sample("Cummax")
def _cummax(d: Draw) -> Sample:
    return _running(d, cumulative.Cummax, spaced, ("float64", "float32"))


@sample("Cummin")
def _cummin(d: Draw) -> Sample:
    return _running(d, cumulative.Cummin, spaced, ("float64", "float32"))


@sample("Cumlogsumexp")
def _cumlogsumexp(d: Draw) -> Sample:
    if d.forced and np.dtype(d.forced).kind != "f":
        raise NotApplicable
    return _running(
        d, cumulative.Cumlogsumexp, away, ("float64", "float32"), exact=False, slack=50.0
    )


@sample("LinearRecurrence")
def _linear_recurrence(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(INEXACT)
    if dtype.kind not in "fc":
        raise NotApplicable
    primitive = cumulative.LinearRecurrence(axis_of(d, shape), d.boolean())
    return Sample(
        primitive,
        lambda rng: (numbers(rng, shape, dtype), numbers(rng, shape, dtype)),
        exact=False,
        slack=100.0,
    )


# ---- indexing ------------------------------------------------------------------------------------


class _Places:
    """Indexed axes of a shape, index operands for them, and the shape of what they select."""

    def __init__(self, d: Draw, unique: bool) -> None:
        self.shape = d.shape(least=1, nonempty=True)
        self.axes = tuple(d.permutation(range(len(self.shape)))[: d.integer(1, len(self.shape))])
        sizes = [self.shape[axis] for axis in self.axes]
        # Different positions: along one axis the index is a permutation, or a part of it.
        self.count = d.integer(1, min(sizes)) if unique else d.integer(0, 4)
        rank = d.integer(1, 2)
        self.index_shape: Shape = (
            (self.count,) if unique or rank == 1 else (self.count, d.integer(1, 3))
        )
        if not unique and d.integer(0, 3) == 0:
            self.index_shape = ()
        rest = [n for axis, n in enumerate(self.shape) if axis not in self.axes]
        self.place = d.integer(0, len(rest))
        self.selected = (*rest[: self.place], *self.index_shape, *rest[self.place :])
        self.unique = unique
        self.sizes = sizes
        self.negative = d.boolean()

    def indices(self, rng: np.random.Generator, beyond: int = 0) -> tuple[Any, ...]:
        found = []
        for size in self.sizes:
            if self.unique:
                index = rng.permutation(size)[: self.count]
            else:
                index = rng.integers(0, size + beyond, size=self.index_shape)
            if self.negative:
                index = np.where(index % 2 == 0, index, index - size)
            found.append(number(index, np.int64))
        return tuple(found)


_MODES = ("raise", "clip", "wrap", "fill", "promise_in_bounds")


@sample("Gather")
def _gather(d: Draw) -> Sample:
    places, dtype, mode = _Places(d, False), d.dtype(INEXACT), d.choice(_MODES)
    beyond = 2 if mode in ("clip", "wrap", "fill") else 0
    primitive = indexing.Gather(places.axes, mode, None, places.place)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return (numbers(rng, places.shape, dtype), *places.indices(rng, beyond))

    # NaN is what a missing element is: no number to take differences of.
    return Sample(primitive, values, smooth=mode != "fill")


def _block(d: Draw) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Any]:
    """A shape, axes of it, the sizes of a block along these, and a maker of its positions."""
    shape = d.shape(1)
    axes = d.subset(range(len(shape))) or (len(shape) - 1,)
    sizes = tuple([d.integer(0, shape[axis]) for axis in axes])
    kind = d.choice((np.int64, np.int32, np.uint8, int))

    def starts(rng: np.random.Generator) -> list[Any]:
        room = [shape[axis] - size for axis, size in zip(axes, sizes, strict=True)]
        return [kind(rng.integers(0, n + 1)) for n in room]

    return shape, axes, sizes, starts


@sample("BlockStart")
def _block_start(d: Draw) -> Sample:
    shape, dtype = d.shape(), np.dtype(d.choice(("int64", "int32", "int8", "uint8", "uint64")))
    size = d.integer(0, 9)
    primitive = dynamic_blocks.BlockStart(size, d.integer(0, size), d.boolean())
    low = 0 if dtype.kind == "u" else -12

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return (np.asarray(rng.integers(low, 13, shape)).astype(dtype)[()],)

    return Sample(primitive, values)


@sample("DynamicSlice")
def _dynamic_slice(d: Draw) -> Sample:
    shape, axes, sizes, starts = _block(d)
    dtype = d.dtype(INEXACT)
    primitive = dynamic_blocks.DynamicSlice(axes, sizes)
    return Sample(primitive, lambda rng: (numbers(rng, shape, dtype), *starts(rng)))


@sample("DynamicEmbed")
def _dynamic_embed(d: Draw) -> Sample:
    shape, axes, sizes, starts = _block(d)
    dtype = d.dtype(INEXACT)
    part = dynamic_blocks.block_shape(shape, axes, sizes)
    primitive = dynamic_blocks.DynamicEmbed(axes, shape)
    return Sample(primitive, lambda rng: (numbers(rng, part, dtype), *starts(rng)))


@sample("DynamicUpdate")
def _dynamic_update(d: Draw) -> Sample:
    shape, axes, sizes, starts = _block(d)
    dtype = d.dtype(INEXACT)
    part = dynamic_blocks.block_shape(shape, axes, sizes)
    return Sample(
        dynamic_blocks.DynamicUpdate(axes),
        lambda rng: (numbers(rng, shape, dtype), numbers(rng, part, dtype), *starts(rng)),
    )


@sample("AddAt")
def _add_at(d: Draw) -> Sample:
    places, dtype, mode = _Places(d, False), d.dtype(INEXACT), d.choice(_MODES)
    beyond = 2 if mode in ("clip", "wrap", "fill") else 0
    primitive = indexing.AddAt(places.axes, places.shape, mode, places.place)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return (numbers(rng, places.selected, dtype), *places.indices(rng, beyond))

    return Sample(primitive, values, exact=False, slack=8.0)


def _scatter(d: Draw, kind: Any, domain: Any, dtypes: Any = INEXACT, **options: Any) -> Sample:
    unique = d.boolean()
    places, dtype, mode = _Places(d, unique), d.dtype(dtypes), d.choice(_MODES)
    beyond = 2 if mode in ("clip", "wrap", "fill") and not unique else 0
    primitive = kind(places.axes, mode, places.place, unique)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        sizes = [int(np.prod(t, dtype=int)) for t in (places.shape, places.selected)]
        pool = domain(rng, (sum(sizes),))
        if dtype.kind == "c":
            pool = pool + 0.5j * domain(rng, (sum(sizes),))
        if dtype.kind in "biu":
            pool = np.abs(np.rint(pool))
        x, updates = (
            pool[: sizes[0]].reshape(places.shape),
            pool[sizes[0] :].reshape(places.selected),
        )
        return (number(x, dtype), number(updates, dtype), *places.indices(rng, beyond))

    return Sample(primitive, values, **options)


@sample("ScatterSet")
def _scatter_set(d: Draw) -> Sample:
    return _scatter(d, scatter.ScatterSet, away)


@sample("ScatterAdd")
def _scatter_add(d: Draw) -> Sample:
    return _scatter(d, scatter.ScatterAdd, away, exact=False, slack=8.0)


@sample("ScatterMultiply")
def _scatter_multiply(d: Draw) -> Sample:
    return _scatter(d, scatter.ScatterMultiply, away, exact=False, slack=1000.0)


@sample("ScatterMin")
def _scatter_min(d: Draw) -> Sample:
    return _scatter(d, scatter.ScatterMin, spaced, ("float64", "float32"))


@sample("ScatterMax")
def _scatter_max(d: Draw) -> Sample:
    return _scatter(d, scatter.ScatterMax, spaced, ("float64", "float32"))


@sample("ProductOfOthers")
def _product_of_others(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(INEXACT)
    groups = d.integer(1, 3)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return numbers(rng, shape, dtype, away), rng.integers(0, groups, size=shape[:1])

    return Sample(scatter.ProductOfOthers(groups), values, exact=False, slack=1000.0)


@sample("StableOrder")
def _stable_order(d: Draw) -> Sample:
    shape = d.shape(least=1)
    return Sample(scatter.StableOrder(), lambda rng: (rng.integers(0, 3, size=shape),))


# ---- sorting -------------------------------------------------------------------------------------


@sample("Sort")
def _sort(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype()
    primitive = sorting.Sort(axis_of(d, shape), d.boolean())
    return Sample(primitive, lambda rng: (numbers(rng, shape, dtype, spaced),))


@sample("Permute")
def _permute(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype()
    axis = axis_of(d, shape)

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        x = numbers(rng, shape, dtype)
        return x, np.argsort(rng.random(shape), axis=axis)

    return Sample(sorting.Permute(axis, d.boolean()), values)


@sample("Argsort")
def _argsort(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(("int64", "float32"))
    return plain(d, sorting.Argsort(axis_of(d, shape), d.boolean()), shape, dtype)


@sample("Argpartition")
def _argpartition(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(("int64", "float32"))
    axis = axis_of(d, shape)
    if not shape[axis]:
        raise NotApplicable
    return plain(d, sorting.Argpartition(axis, (d.integer(0, shape[axis] - 1),)), shape, dtype)


@sample("Lexsort")
def _lexsort(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(("int64", "float32"))
    count = d.integer(1, 3)
    return Sample(
        sorting.Lexsort(axis_of(d, shape)),
        lambda rng: tuple(numbers(rng, shape, dtype) for _ in range(count)),
    )


@sample("Searchsorted")
def _searchsorted(d: Draw) -> Sample:
    (size,), shape, dtype = d.shape(1, 1), d.shape(), d.dtype(("int64", "float32"))

    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return np.sort(numbers(rng, (size,), dtype)), numbers(rng, shape, dtype)

    return Sample(sorting.Searchsorted(d.choice(("left", "right"))), values)


@sample("Nonzero")
def _nonzero(d: Draw) -> Sample:
    shape = d.shape(least=1)
    return plain(d, sorting.Nonzero(d.integer(0, 6)), shape, bool)


@sample("Bincount")
def _bincount(d: Draw) -> Sample:
    shape = d.shape(least=1)
    return Sample(sorting.Bincount(d.integer(0, 5)), lambda rng: (rng.integers(-1, 7, size=shape),))


@sample("Unique")
def _unique(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1, most=2), d.dtype(("int64", "float32"))
    return plain(d, sorting.Unique(d.integer(0, 5)), shape, dtype)


# ---- whole programs ------------------------------------------------------------------------------


def _program(shape: Shape, dtype: Any) -> Jaxpr:
    """``sin(x) * y, sum(x * y)``"""
    aval = Aval(shape, np.dtype(dtype))
    x, y = Var(aval), Var(aval)
    wave, product, both = Var(aval), Var(aval), Var(aval)
    total_of = families.Sum(tuple(range(len(shape))))
    total = Var(total_of.abstract_eval(aval))
    eqns = [
        Eqn(p.sin, (x,), (wave,)),
        Eqn(families.mul, (wave, y), (product,)),
        Eqn(families.mul, (x, y), (both,)),
        Eqn(total_of, (both,), (total,)),
    ]
    return Jaxpr([], [], [x, y], eqns, [product, total], "sample")


def _call(d: Draw, kind: Any) -> Sample:
    shape, dtype = d.shape(), d.dtype(INEXACT)
    if dtype.kind not in "fc" or dtype == np.float16:
        raise NotApplicable
    program = _program(shape, dtype)
    return Sample(
        kind(program),
        lambda rng: (numbers(rng, shape, dtype, positive), numbers(rng, shape, dtype)),
        # A program has one type: differences are taken of those in 64 bits.
        smooth=dtype.name in ("float64", "complex128"),
        exact=False,
        slack=20.0,
    )


@sample("Call")
def _plain_call(d: Draw) -> Sample:
    return _call(d, Call)


@sample("Checkpointed")
def _checkpointed(d: Draw) -> Sample:
    return _call(d, Checkpointed)


# ---- Fourier transforms --------------------------------------------------------------------------


def _norm(d: Draw) -> str:
    return str(d.choice(("backward", "ortho", "forward")))


def _lines(d: Draw, complex_too: bool) -> tuple[Shape, int, Any]:
    """A shape, an axis of it that is not empty, and a dtype that NumPy transforms."""
    shape = d.shape(least=1)
    axis = axis_of(d, shape)
    dtype = d.dtype(INEXACT if complex_too else ("float64", "float32"))
    if not shape[axis] or dtype not in (INEXACT if complex_too else ("float64", "float32")):
        raise NotApplicable
    return shape, axis, dtype


@sample("Fourier")
def _fourier(d: Draw) -> Sample:
    shape, axis, dtype = _lines(d, True)
    axes = (axis, *(n for n in axes_of(d, shape) if n != axis and shape[n]))
    return plain(d, fft.Fourier(axes, d.boolean(), _norm(d)), shape, dtype, exact=False, slack=8.0)


@sample("RealFourier")
def _real_fourier(d: Draw) -> Sample:
    shape, axis, dtype = _lines(d, False)
    return plain(d, fft.RealFourier(axis, _norm(d)), shape, dtype, exact=False, slack=8.0)


@sample("InverseRealFourier")
def _inverse_real_fourier(d: Draw) -> Sample:
    shape, axis, dtype = _lines(d, True)
    length = max(1, 2 * (shape[axis] - 1) + d.integer(0, 1))
    transform = fft.InverseRealFourier(axis, length, _norm(d))
    return plain(d, transform, shape, dtype, exact=False, slack=8.0)


@sample("Cosines")
def _cosines(d: Draw) -> Sample:
    shape, axis, dtype = _lines(d, True)
    kind = d.integer(1, 4)
    if kind == 1 and shape[axis] < 2:
        raise NotApplicable
    transform = cosine_transform.Cosines(kind, axis)
    return plain(d, transform, shape, dtype, exact=False, slack=8.0)


# ---- packed bits ---------------------------------------------------------------------------------


@sample("PackBits")
def _pack_bits(d: Draw) -> Sample:
    shape, dtype = d.shape(least=1), d.dtype(("bool", "int64", "uint8"))
    if dtype.kind not in "biu":
        dtype = np.dtype("int64")
    return plain(d, bits.PackBits(axis_of(d, shape), d.boolean()), shape, dtype)


@sample("Bitcast")
def _bitcast(d: Draw) -> Sample:
    new = np.dtype(d.choice(("int32", "uint8", "float64")))
    dtype = d.dtype(("int64", "float32", "int16"))
    if dtype.kind not in "iuf":
        dtype = np.dtype("int64")
    ratio = new.itemsize // dtype.itemsize
    shape = (*d.shape(most=2), ratio) if ratio > 1 else d.shape()
    return plain(d, bitcast.Bitcast(new), shape, dtype)


@sample("ReducePrecision")
def _reduce_precision(d: Draw) -> Sample:
    # With as many bits as any dtype has it changes nothing, and is linear then.
    shape, dtype = d.shape(), d.dtype()
    if dtype.kind != "f":
        raise NotApplicable
    return plain(d, bitcast.ReducePrecision(11, 52), shape, dtype)


@sample("UnpackBits")
def _unpack_bits(d: Draw) -> Sample:
    shape = d.shape(least=1)
    unpack = bits.UnpackBits(axis_of(d, shape), d.integer(0, 20), d.boolean())
    return plain(d, unpack, shape, "uint8")
