"""Creation, shapes, joining, padding, products and their kin: random calls against NumPy, under every transform.

The table of `test_oracle_numpy` calls each function a few times; here are the arguments that it cannot list:
random subscripts, widths, axes and dtypes, empty and 0-d operands, ends and errors.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fgrad
import fgrad.numpy as fnp
from fgrad import errors

STEP = 1e-6
#: For tests that choose among many functions or forms.
MORE = settings(max_examples=4 * settings().max_examples)
Arrays = list[np.ndarray[Any, Any]]


def leaves_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def same(got: Any, want: Any, rtol: float = 1e-9) -> None:
    """Equal number of leaves, shapes, dtypes and values."""
    got, want = leaves_of(got), leaves_of(want)
    assert len(got) == len(want)
    for left, right in zip(got, want, strict=True):
        left, right = np.asarray(left), np.asarray(right)
        assert left.shape == right.shape
        assert left.dtype == right.dtype
        rtol = max(rtol, 50 * float(np.finfo(right.dtype).eps) if right.dtype.kind in "fc" else 0)
        scale = np.abs(right[np.isfinite(right)]).max(initial=0.0)
        np.testing.assert_allclose(left, right, rtol=rtol, atol=rtol * scale)


def noise(rng: np.random.Generator, like: Any) -> Any:
    like = np.asarray(like)
    values = rng.normal(size=like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * rng.normal(size=like.shape)
    return np.asarray(values, like.dtype)


def pairing(left: list[Any], right: list[Any]) -> float:
    """Cotangents paired with tangents, without conjugation."""
    pairs = zip(left, right, strict=True)
    return float(sum(np.real(np.sum(np.asarray(a) * np.asarray(b))) for a, b in pairs))


def agree(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    *xs: Any,
    smooth: bool = True,
    traced: bool = True,
    rtol: float = 1e-9,
) -> None:
    """`ours` is `theirs`: eager, compiled, batched, and its derivatives are by differences."""
    want = theirs(*xs)
    got = ours(*xs)
    same(got, want, rtol)
    assert all(isinstance(leaf, fgrad.Array) for leaf in leaves_of(got))
    if not traced:
        return
    same(fgrad.jit(ours)(*xs), want, rtol)
    rng = np.random.default_rng(3)
    others = [noise(rng, x) if np.asarray(x).dtype.kind in "fc" else x for x in xs]
    stacked = [np.stack([x, other]) for x, other in zip(xs, others, strict=True)]
    rows = zip(leaves_of(want), leaves_of(theirs(*others)), strict=True)
    same(fgrad.vmap(ours)(*stacked), [np.stack(pair) for pair in rows], rtol)
    if not smooth or any(np.asarray(x).dtype not in (np.float64, np.complex128) for x in xs):
        return
    tangents = [noise(rng, x) for x in xs]
    _, pushed = fgrad.jvp(lambda *v: leaves_of(ours(*v)), tuple(xs), tuple(tangents))
    ahead = leaves_of(theirs(*[x + STEP * t for x, t in zip(xs, tangents, strict=True)]))
    behind = leaves_of(theirs(*[x - STEP * t for x, t in zip(xs, tangents, strict=True)]))
    for got_tangent, a, b in zip(pushed, ahead, behind, strict=True):
        slope = (np.asarray(a) - np.asarray(b)) / (2 * STEP)
        np.testing.assert_allclose(
            got_tangent, slope, rtol=1e-5, atol=1e-6 * (1 + np.abs(slope).max(initial=0.0))
        )
    outs, pullback = fgrad.vjp(lambda *v: leaves_of(ours(*v)), *xs)
    cotangents = [noise(rng, out) for out in outs]
    pulled = pullback(cotangents)
    for ct, x in zip(pulled, xs, strict=True):
        assert (ct.shape, ct.dtype) == (np.shape(x), np.asarray(x).dtype)
    left, right = pairing(cotangents, pushed), pairing(list(pulled), tangents)
    np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-8)


def drawn(data: Any, rank: int, low: int = 0, high: int = 3) -> tuple[int, ...]:
    return tuple(data.draw(st.integers(low, high)) for _ in range(rank))


def numbers(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "biu":
        return rng.integers(0, 5, shape).astype(dtype)
    return noise(rng, np.empty(shape, dtype))


DTYPES = st.sampled_from(["float64", "float64", "complex128", "float32", "int64", "int8", "bool"])


# ---- einsum ----------------------------------------------------------------------------------


@st.composite
def contractions(draw: Any) -> tuple[str, list[tuple[int, ...]]]:
    """Valid subscripts with shapes: repeated labels, labels of one operand, size one, the ellipsis."""
    sizes = {label: draw(st.integers(1, 3)) for label in "abcd"}
    dots = drawn_dots = draw(st.lists(st.integers(1, 3), max_size=2))
    terms, shapes = [], []
    any_dots = False
    for _ in range(draw(st.integers(1, 4))):
        labels = draw(st.lists(st.sampled_from("abcd"), max_size=3))
        stretched = {label: draw(st.integers(0, 9)) == 0 for label in labels}
        shape = [1 if stretched[label] else sizes[label] for label in labels]
        term = "".join(labels)
        if draw(st.booleans()) and drawn_dots:
            any_dots = True
            place = draw(st.integers(0, len(labels)))
            hidden = dots[draw(st.integers(0, len(dots))) :]
            term = term[:place] + "..." + term[place:]
            shape[place:place] = hidden
        terms.append(term)
        shapes.append(tuple(shape))
    subscripts = ",".join(terms)
    if draw(st.integers(0, 3)):
        used = sorted(set(subscripts) - set(",."))
        output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        text = "".join(output)
        if any_dots:
            place = draw(st.integers(0, len(text)))
            text = text[:place] + "..." + text[place:]
        subscripts += "->" + text
    return subscripts, shapes


@MORE
@given(contractions(), st.sampled_from(["float64", "float64", "complex128"]), st.data())
def test_einsum_of_random_subscripts(case: Any, dtype: str, data: Any) -> None:
    subscripts, shapes = case
    xs = [numbers(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    optimize = data.draw(st.sampled_from(["auto", False, True, "optimal"]))
    agree(
        lambda *v: fnp.einsum(subscripts, *v, optimize=optimize),
        lambda *v: np.einsum(subscripts, *v),
        *xs,
    )


@MORE
@given(contractions(), DTYPES)
def test_einsum_keeps_the_dtype(case: Any, dtype: str) -> None:
    subscripts, shapes = case
    xs = [numbers(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    same(fnp.einsum(subscripts, *xs), np.einsum(subscripts, *xs), 1e-4)


def test_einsum_takes_axis_numbers() -> None:
    x, y = numbers((2, 3)), numbers((3, 4), seed=1)
    agree(
        lambda a, b: fnp.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        x,
        y,
    )
    agree(lambda a: fnp.einsum(a, [5, 3]), lambda a: np.einsum(a, [5, 3]), x)
    agree(
        lambda a: fnp.einsum(a, [..., 3], [3, ...]), lambda a: np.einsum(a, [..., 3], [3, ...]), x
    )


def test_einsum_of_numbers_and_many_labels() -> None:
    assert float(fnp.einsum(",,->", 2.0, 3.0, 4.0)) == 24.0
    assert fnp.einsum(",->", 2.0, 3.0).weak_type
    x = numbers((1,) * 30)
    letters = "abcdefghijklmnopqrstuvwxyzABCD"
    same(fnp.einsum(f"{letters},{letters}->", x, x), np.sum(x * x))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "words"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], ["'j'", "3 and 4", "(2, 3)", "(4, 5)"]),
        ("ij->i", [(2,)], ["'ij'", "names 2 axes", "operand 0 has 1"]),
        ("ij,jk", [(2, 3)], ["2 operands", "1 were given"]),
        ("i->ii", [(2,)], ["twice", "'i'"]),
        ("i->j", [(2,)], ["'j'", "no operand has"]),
        ("ii->i", [(2, 3)], ["repeats 'i'", "2 and 3"]),
        ("i!->i", [(2,)], ["letters"]),
        ("...->", [(2,)], ["lacks the '...'"]),
        ("i..->i", [(2, 2)], ["not a list of labels"]),
    ],
)
def test_einsum_says_what_is_wrong(subscripts: str, shapes: Any, words: list[str]) -> None:
    xs = [np.ones(shape) for shape in shapes]
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        fnp.einsum(subscripts, *xs)
    assert isinstance(caught.value, errors.FgradError)
    for word in words:
        assert word in str(caught.value)


# ---- padding ---------------------------------------------------------------------------------

MODES: dict[str, list[dict[str, Any]]] = {
    "constant": [{}, {"constant_values": 2.5}, {"constant_values": (1.0, -2.0)}],
    "edge": [{}],
    "linear_ramp": [{}, {"end_values": 3.0}, {"end_values": ((1.0, 2.0),)}],
    "maximum": [{}, {"stat_length": 2}],
    "mean": [{}, {"stat_length": ((1, 2),)}],
    "median": [{}, {"stat_length": 2}],
    "minimum": [{}, {"stat_length": 1}],
    "reflect": [{}, {"reflect_type": "odd"}],
    "symmetric": [{}, {"reflect_type": "odd"}],
    "wrap": [{}],
}


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data())
def test_pad_by_random_widths(mode: str, data: Any) -> None:
    shape = drawn(data, data.draw(st.integers(1, 3)), 1, 4)
    widths = [drawn(data, 2, 0, 9 if len(shape) == 1 else 4) for _ in shape]
    keywords = data.draw(st.sampled_from(MODES[mode]))
    agree(
        lambda x: fnp.pad(x, widths, mode, **keywords),
        lambda x: np.pad(x, widths, mode, **keywords),
        numbers(shape),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8"])
def test_pad_keeps_the_dtype(mode: str, dtype: str) -> None:
    x = numbers((2, 3), dtype)
    for keywords in MODES[mode]:
        if np.dtype(dtype).kind == "u" and keywords.get("constant_values") == (1.0, -2.0):
            continue
        same(fnp.pad(x, 2, mode, **keywords), np.pad(x, 2, mode, **keywords), 1e-5)


def test_pad_takes_widths_in_every_form() -> None:
    x = numbers((2, 3))
    for widths in (1, (1, 2), ((1, 2),), ((0, 1), (2, 0)), np.array([1, 2]), {1: 2}, {0: (1, 0)}):
        same(fnp.pad(x, widths), np.pad(x, widths))
    for values in (
        1.5,
        (1.5, 2.5),
        ((1.5, 2.5),),
        ((1.0, 2.0), (3.0, 4.0)),
        np.array([[1.0], [2.0]]),
    ):
        same(fnp.pad(x, 1, constant_values=values), np.pad(x, 1, constant_values=values))
    same(fnp.pad(np.zeros((0, 2)), 1), np.pad(np.zeros((0, 2)), 1))


def test_pad_differentiates_its_values() -> None:
    def total(v: Any, ends: Any) -> Any:
        return fnp.sum(fnp.pad(v, (2, 3), constant_values=ends) ** 2)

    x = numbers((2,))
    np.testing.assert_allclose(
        fgrad.grad(lambda v: total(x, (v, 2.0 * v)))(1.5), 2 * 2 * 1.5 + 3 * 8 * 1.5
    )
    got = fgrad.jit(fgrad.grad(lambda v: fnp.sum(fnp.pad(x, 2, "linear_ramp", end_values=v))))(1.0)
    np.testing.assert_allclose(got, 2 * (1.0 + 0.5))


def test_pad_by_a_function() -> None:
    def ends(line: Any, widths: Any, axis: int, keywords: Any) -> Any:
        value = keywords["value"]
        return line.at[: widths[0]].set(value).at[line.shape[0] - widths[1] :].set(2 * value)

    def ends_in_place(line: Any, widths: Any, axis: int, keywords: Any) -> None:
        line[: widths[0]] = keywords["value"]
        line[line.shape[0] - widths[1] :] = 2 * keywords["value"]

    x = numbers((2, 3))
    same(fnp.pad(x, 1, ends, value=4.0), np.pad(x, 1, ends_in_place, value=4.0))
    with pytest.raises(errors.ArgumentError, match="return the padded line"):
        fnp.pad(x, 1, lambda *_: None)


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((-1,), {}, "not negative"),
        ((1, "mirror"), {}, "mode is 'mirror'"),
        ((1, "edge"), {"constant_values": 1}, "constant_values"),
        ((((1, 1),) * 3,), {}, "3 pairs for an array with 2 axes"),
        ((1, "mean"), {"stat_length": 0}, "positive"),
    ],
)
def test_pad_says_what_is_wrong(arguments: Any, keywords: Any, words: str) -> None:
    with pytest.raises(errors.ArgumentError, match=re.escape(words)):
        fnp.pad(np.ones((2, 3)), *arguments, **keywords)


# ---- shapes ------------------------------------------------------------------------------------


@given(st.data(), DTYPES)
def test_reshape_in_both_orders(data: Any, dtype: str) -> None:
    shape = drawn(data, data.draw(st.integers(0, 4)), 0, 3)
    size = int(np.prod(shape))
    divisors = [n for n in range(1, size + 1) if size % n == 0] or [3]
    first = data.draw(st.sampled_from(divisors))
    target: Any = data.draw(
        st.sampled_from([(-1, first), (first, -1, 1), -1, (first, size // first), np.array([-1])])
    )
    order = data.draw(st.sampled_from("CF"))
    x = numbers(shape, dtype)
    agree(
        lambda v: fnp.reshape(v, target, order=order),
        lambda v: np.reshape(v, target, order=order),
        x,
    )
    agree(lambda v: fnp.ravel(v, order), lambda v: np.ravel(v, order), x)


@MORE
@given(st.data())
def test_axes_move_as_in_numpy(data: Any) -> None:
    rank = data.draw(st.integers(1, 4))
    x = numbers(drawn(data, rank, 0, 3))
    axes = data.draw(st.permutations(range(rank)))
    count = data.draw(st.integers(1, rank))
    signed = [a - rank if data.draw(st.booleans()) else a for a in axes]
    places = data.draw(st.permutations(range(rank)))[:count]
    start = data.draw(st.integers(-rank, rank))
    calls = (
        lambda xp, v: xp.transpose(v, signed),
        lambda xp, v: xp.moveaxis(v, signed[:count], places),
        lambda xp, v: xp.swapaxes(v, signed[0], signed[-1]),
        lambda xp, v: xp.rollaxis(v, signed[0], start),
        lambda xp, v: xp.flip(v, tuple(signed[:count])),
        lambda xp, v: xp.expand_dims(v, tuple(places)),
        lambda xp, v: xp.atleast_3d(v),
    )
    call = data.draw(st.sampled_from(calls))
    agree(lambda v: call(fnp, v), lambda v: call(np, v), x)


@MORE
@given(st.data())
def test_reordering_and_repeating(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = drawn(data, rank, 0, 4)
    x = numbers(shape)
    axis = data.draw(st.integers(-rank, rank - 1))
    shifts = data.draw(st.integers(-9, 9))
    counts = [data.draw(st.integers(0, 3)) for _ in range(shape[axis])]
    reps = drawn(data, data.draw(st.integers(0, 4)), 0, 3)
    target = drawn(data, 2, 0, 5)
    cuts = sorted(drawn(data, 2, 0, 5))
    pieces = data.draw(st.integers(1, 4))
    calls = (
        lambda xp, v: xp.roll(v, shifts, axis),
        lambda xp, v: xp.roll(v, shifts),
        lambda xp, v: xp.roll(v, (1, shifts), (axis, axis)),
        lambda xp, v: xp.repeat(v, np.array(counts, int), axis),
        lambda xp, v: xp.repeat(v, pieces, axis),
        lambda xp, v: xp.repeat(v, 2),
        lambda xp, v: xp.tile(v, reps),
        lambda xp, v: xp.resize(v, target),
        lambda xp, v: xp.split(v, cuts, axis),
        lambda xp, v: xp.array_split(v, pieces, axis),
        lambda xp, v: xp.unstack(v, axis=axis),
    )
    call = data.draw(st.sampled_from(calls))
    agree(lambda v: call(fnp, v), lambda v: call(np, v), x)


def test_roll_and_repeat_by_unknown_numbers() -> None:
    x = numbers((3, 4))
    for shift in (-5, 0, 3):
        got = fgrad.jit(lambda v, n: fnp.roll(v, n, axis=1))(x, shift)
        same(got, np.roll(x, shift, axis=1))
    counts = np.array([2, 0, 3])
    repeat = fgrad.jit(lambda v, n: fnp.repeat(v, n, axis=0, total_repeat_length=5))
    same(repeat(x, counts), np.repeat(x, counts, axis=0))
    # What is missing is filled with the last element, what is beyond is cut.
    same(repeat(x, np.array([1, 0, 1])), x[[0, 2, 2, 2, 2]])
    same(repeat(x, np.array([4, 4, 4])), np.repeat(x, 4, axis=0)[:5])
    same(
        fnp.repeat(x, 2, axis=0, total_repeat_length=7),
        np.repeat(x, 2, axis=0)[[0, 1, 2, 3, 4, 5, 5]],
    )
    with pytest.raises(errors.ArgumentError, match="total_repeat_length"):
        fgrad.jit(lambda v, n: fnp.repeat(v, n))(x, 2)


@given(st.data())
def test_joining(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = list(drawn(data, rank, 1, 3))
    axis = data.draw(st.integers(-rank, rank - 1))
    xs = []
    for seed in range(data.draw(st.integers(1, 3))):
        shape[axis] = data.draw(st.integers(0, 3))
        xs.append(numbers(tuple(shape), data.draw(DTYPES), seed))
    agree(lambda *v: fnp.concatenate(v, axis), lambda *v: np.concatenate(v, axis), *xs, rtol=1e-6)
    agree(lambda *v: fnp.concatenate(v, None), lambda *v: np.concatenate(v, None), *xs, rtol=1e-6)
    ys = [numbers(tuple(shape), dtype, 7) for dtype in ("float64", data.draw(DTYPES))]
    name = data.draw(st.sampled_from(["stack", "vstack", "hstack", "dstack", "column_stack"]))
    ours, theirs = getattr(fnp, name), getattr(np, name)
    agree(lambda *v: ours(v), lambda *v: theirs(v), *ys, rtol=1e-6)
    agree(lambda *v: fnp.stack(v, axis), lambda *v: np.stack(v, axis), *ys, rtol=1e-6)
    agree(lambda *v: fnp.append(*v), lambda *v: np.append(*v), *ys, rtol=1e-6)


def test_joining_the_rows_of_one_array() -> None:
    x = numbers((3, 2, 2))
    for name in ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"):
        agree(getattr(fnp, name), getattr(np, name), x)


def test_block() -> None:
    a, b, c = numbers((2, 2)), numbers((2, 1), seed=1), numbers((1, 3), seed=2)
    agree(
        lambda *v: fnp.block([[v[0], v[1]], [v[2]]]),
        lambda *v: np.block([[v[0], v[1]], [v[2]]]),
        a,
        b,
        c,
    )
    agree(lambda v: fnp.block(v), lambda v: np.block(v), a)
    agree(lambda v: fnp.block([v, 2.0]), lambda v: np.block([v, 2.0]), c[0])
    for wrong in ([], [[a], b], ([a],)):
        with pytest.raises(errors.ArgumentError):
            fnp.block(wrong)


@MORE
@given(st.data())
def test_insert_and_delete(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = drawn(data, rank, 1, 4)
    axis = data.draw(st.sampled_from([None, *range(-rank, rank)]))
    size = int(np.prod(shape)) if axis is None else shape[axis]
    one = data.draw(st.integers(-size, size - 1))
    several = data.draw(st.lists(st.integers(-size, size - 1), max_size=3))
    mask = np.array([data.draw(st.booleans()) for _ in range(size)])
    x = numbers(shape)
    objects = (
        one,
        several,
        np.array(several, int),
        mask,
        slice(one, None, 2),
        slice(None, None, -2),
    )
    obj = data.draw(st.sampled_from(objects))
    agree(lambda v: fnp.delete(v, obj, axis), lambda v: np.delete(v, obj, axis), x)
    agree(
        lambda v, w: fnp.insert(v, obj, w, axis),
        lambda v, w: np.insert(v, obj, w, axis),
        x,
        np.array(1.5),
    )
    got = fgrad.jit(lambda v, i: fnp.delete(v, i, axis))(x, one)
    same(got, np.delete(x, one, axis))


def test_insert_rows() -> None:
    x = numbers((3, 2))
    for obj, values, axis in (
        (1, numbers((2,)), 0),
        (1, numbers((3,)), 1),
        ([1], numbers((3, 2)), 1),
        ([0, 3], numbers((2, 2)), 0),
        (1, numbers((4, 2)), 0),
    ):
        agree(
            lambda v, w, o=obj, a=axis: fnp.insert(v, o, w, a),
            lambda v, w, o=obj, a=axis: np.insert(v, o, w, a),
            x,
            values,
        )
    same(fnp.insert(np.arange(3), 1, 2.7), np.insert(np.arange(3), 1, 2.7))


def test_trim_zeros() -> None:
    x = np.array([[0, 0, 0], [0, 1, 2], [0, 0, 0]])
    for arguments in (
        (x,),
        (x, "f"),
        (x, "fb", 0),
        (np.zeros(3),),
        (np.array([0.0, 1.0, 0.0]), "b"),
    ):
        same(fnp.trim_zeros(*arguments), np.trim_zeros(*arguments))


# ---- triangles and diagonals -------------------------------------------------------------------


@MORE
@given(st.data(), DTYPES)
def test_diagonals(data: Any, dtype: str) -> None:
    shape = drawn(data, data.draw(st.integers(2, 4)), 0, 4)
    k = data.draw(st.integers(-5, 5))
    first, second = data.draw(st.permutations(range(len(shape))))[:2]
    x = numbers(shape, dtype)
    calls = (
        lambda xp, v: xp.tril(v, k),
        lambda xp, v: xp.triu(v, k),
        lambda xp, v: xp.trace(v, k, first, second),
        lambda xp, v: xp.diagonal(v, k, first, second),
        lambda xp, v: xp.diagflat(v, k),
        lambda xp, v: xp.diag(xp.ravel(v), k),
    )
    call = data.draw(st.sampled_from(calls))
    agree(lambda v: call(fnp, v), lambda v: call(np, v), x, rtol=1e-5)
    same(fnp.tri(*shape[:2], k, dtype), np.tri(*shape[:2], k, dtype))
    same(fnp.eye(*shape[:2], k, dtype), np.eye(*shape[:2], k, dtype))


# ---- products ------------------------------------------------------------------------------------


@MORE
@given(st.data())
def test_products_of_random_ranks(data: Any) -> None:
    n, k, m = drawn(data, 3, 0, 3)
    batch = drawn(data, data.draw(st.integers(0, 2)), 1, 3)
    cut = data.draw(st.integers(0, len(batch)))
    other = tuple(1 if data.draw(st.booleans()) else size for size in batch[cut:])
    dtype = data.draw(st.sampled_from(["float64", "complex128"]))
    x, y = numbers((*batch, n, k), dtype), numbers((*other, k, m), dtype, 1)
    v, w = numbers((*batch, k), dtype, 2), numbers((*other, k), dtype, 3)
    cases = (
        (lambda xp, a, b: xp.matmul(a, b), (x, y)),
        (lambda xp, a, b: xp.dot(a, b), (x, y)),
        (lambda xp, a, b: xp.vecdot(a, b), (v, w)),
        (lambda xp, a, b: xp.matvec(a, b), (x, w)),
        (lambda xp, a, b: xp.vecmat(a, b), (v, y)),
        (lambda xp, a, b: xp.inner(a, b), (x, w)),
        (lambda xp, a, b: xp.tensordot(a, b, 1), (x, numbers((k, m), dtype, 4))),
        (
            lambda xp, a, b: xp.tensordot(a, b, ([-1, 0], [1, 0])),
            (x, numbers((x.shape[0], k, 2), dtype, 4)),
        ),
        (lambda xp, a, b: xp.tensordot(a, b, 0), (v, w)),
        (lambda xp, a, b: xp.outer(a, b), (v, w)),
        (lambda xp, a, b: xp.kron(a, b), (x, w)),
        (lambda xp, a, b: xp.vdot(a, b), (v, v + 1)),
    )
    call, operands = data.draw(st.sampled_from(cases))
    agree(lambda a, b: call(fnp, a, b), lambda a, b: call(np, a, b), *operands)


@given(st.data())
def test_cross(data: Any) -> None:
    batch = drawn(data, data.draw(st.integers(0, 2)), 1, 3)
    x, y = numbers((*batch, 3)), numbers((3,), seed=1)
    agree(fnp.cross, np.cross, x, y)
    rank = len(batch) + 1
    axes = [data.draw(st.integers(-rank, rank - 1)) for _ in range(2)]
    u, v = np.moveaxis(x, -1, axes[0]), np.moveaxis(x + numbers((3,)), -1, axes[1])
    where = data.draw(st.integers(-rank, rank - 1))
    agree(
        lambda a, b: fnp.cross(a, b, *axes, where), lambda a, b: np.cross(a, b, *axes, where), u, v
    )


def test_cross_of_two_components() -> None:
    x, y, z = numbers((4, 2)), numbers((4, 2), seed=1), numbers((4, 3), seed=2)
    flat = np.zeros((4, 1))
    same(fnp.cross(x, y), np.cross(np.hstack([x, flat]), np.hstack([y, flat]))[:, 2])
    same(fnp.cross(x, z), np.cross(np.hstack([x, flat]), z))
    same(fnp.cross(z, x), np.cross(z, np.hstack([x, flat])))


def test_products_in_a_preferred_dtype() -> None:
    x = np.full(4, 100, np.int8)
    assert int(fnp.dot(x, x, preferred_element_type=np.int32)) == 40_000
    assert fnp.dot(x, x, preferred_element_type=np.int32).dtype == np.int32
    y = numbers((2, 2), "float32")
    for product in (fnp.matmul, fnp.dot, fnp.inner, fnp.tensordot, fnp.vdot):
        assert (
            product(y, y, preferred_element_type="float64", precision="highest").dtype == np.float64
        )
    assert fnp.einsum("ij,jk", y, y, preferred_element_type="float64").dtype == np.float64
    assert fnp.matmul(y, y.astype(float), preferred_element_type="float32").dtype == np.float32


@pytest.mark.parametrize(
    ("function", "shapes", "words"),
    [
        (fnp.matmul, [(2, 3), (4, 5)], ["matmul", "(2, 3)", "(4, 5)"]),
        (fnp.matmul, [(2, 2, 3), (3, 3, 5)], ["matmul", "(2,)", "(3,)"]),
        (fnp.matmul, [(), (3,)], ["matmul", "scalar"]),
        (fnp.dot, [(2, 3), (4, 5)], ["dot", "(2, 3)", "(4, 5)"]),
        (fnp.inner, [(2, 3), (4,)], ["inner", "3 and 4"]),
        (fnp.vdot, [(2, 3), (4,)], ["vdot", "(2, 3)", "(4,)"]),
        (fnp.vecdot, [(2, 3), (4,)], ["vecdot", "(2, 3)", "(4,)"]),
        (fnp.vecdot, [(2, 3), (5, 3)], ["vecdot", "(2, 3)", "(5, 3)"]),
        (fnp.matvec, [(2, 3), (4,)], ["matvec", "(2, 3)", "(4,)"]),
        (fnp.vecmat, [(2,), (4, 3)], ["vecmat", "(2,)", "(4, 3)"]),
        (fnp.tensordot, [(2, 3), (4, 5)], ["tensordot", "(2, 3)", "(4, 5)"]),
        (fnp.cross, [(2, 4), (4,)], ["cross", "4 components"]),
    ],
)
def test_products_name_the_shapes(function: Any, shapes: Any, words: list[str]) -> None:
    xs = [np.ones(shape) for shape in shapes]
    for run in (function, fgrad.jit(function)):
        with pytest.raises(errors.ShapeError) as caught:
            run(*xs)
        for word in words:
            assert word in str(caught.value)


# ---- convolution, differences, interpolation -----------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64", "float32"])
def test_convolve_and_correlate_of_all_sizes(mode: str, dtype: str) -> None:
    for m in range(1, 6):
        for n in range(1, 6):
            x, y = numbers((m,), dtype), numbers((n,), dtype, 1)
            small = dtype == "float64" and m in (2, 5) and n in (1, 3)
            agree(
                lambda a, b: fnp.convolve(a, b, mode),
                lambda a, b: np.convolve(a, b, mode),
                x,
                y,
                traced=small,
                rtol=1e-5,
            )
            agree(
                lambda a, b: fnp.correlate(a, b, mode),
                lambda a, b: np.correlate(a, b, mode),
                x,
                y,
                traced=small,
                rtol=1e-5,
            )


def test_convolution_of_batches() -> None:
    x, y = numbers((3, 5)), numbers((4, 2), seed=1)
    table = fgrad.vmap(fgrad.vmap(fnp.convolve, (None, 0)), (0, None))(x, y)
    want = np.array([[np.convolve(a, b) for b in y] for a in x])
    same(table, want)
    gradient = fgrad.grad(
        lambda a: fnp.sum(fgrad.vmap(fgrad.vmap(fnp.convolve, (None, 0)), (0, None))(a, y) ** 2)
    )(x)
    by_rows = [
        fgrad.grad(lambda a: sum(fnp.sum(fnp.convolve(a, b) ** 2) for b in y))(row) for row in x
    ]
    np.testing.assert_allclose(gradient, np.array(by_rows), rtol=1e-10)


@given(st.data())
def test_diff_and_trapezoid(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = drawn(data, rank, 1, 5)
    axis = data.draw(st.integers(-rank, rank - 1))
    x = numbers(shape)
    n = data.draw(st.integers(0, 3))
    agree(lambda v: fnp.diff(v, n, axis), lambda v: np.diff(v, n, axis), x)
    agree(
        lambda v: fnp.diff(v, axis=axis, prepend=0.5, append=v),
        lambda v: np.diff(v, axis=axis, prepend=0.5, append=v),
        x,
    )
    places = np.cumsum(np.arange(1.0, shape[axis] + 1))
    agree(
        lambda v, t: fnp.trapezoid(v, t, axis=axis),
        lambda v, t: np.trapezoid(v, t, axis=axis),
        x,
        places,
    )
    agree(lambda v: fnp.trapezoid(v, v, axis=axis), lambda v: np.trapezoid(v, v, axis=axis), x)


@given(st.data())
def test_gradient_of_samples(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = drawn(data, rank, 3, 5)
    order = data.draw(st.sampled_from([1, 2]))
    x = numbers(shape)
    uneven = [np.cumsum(1.0 + np.arange(size) % 3) for size in shape]
    agree(
        lambda v: fnp.gradient(v, edge_order=order), lambda v: np.gradient(v, edge_order=order), x
    )
    agree(
        lambda v: fnp.gradient(v, *uneven, edge_order=order),
        lambda v: np.gradient(v, *uneven, edge_order=order),
        x,
    )
    agree(
        lambda v: fnp.gradient(v, 0.5, axis=-1, edge_order=order),
        lambda v: np.gradient(v, 0.5, axis=-1, edge_order=order),
        x,
    )
    same(fnp.gradient(np.arange(5) ** 2), np.gradient(np.arange(5) ** 2))


def test_interp_at_and_beyond_the_ends() -> None:
    xp, fp = np.array([0.0, 1.0, 1.0, 3.0]), np.array([1.0, 2.0, 5.0, -1.0])
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, np.nan, np.inf, -np.inf])
    same(fnp.interp(x, xp, fp), np.interp(x, xp, fp))
    same(fnp.interp(x, xp, fp, -7.0, 9.0), np.interp(x, xp, fp, -7.0, 9.0))
    same(fnp.interp(x[:-3], xp[:1], fp[:1]), np.interp(x[:-3], xp[:1], fp[:1]))
    angles, values = np.array([300.0, 20.0, 100.0]), np.array([1.0, 2.0, 5.0])
    at = np.array([0.0, 50.0, 359.0, -30.0, 400.0])
    same(fnp.interp(at, angles, values, period=360.0), np.interp(at, angles, values, period=360.0))
    inner = np.array([0.25, 2.5])
    knots = np.array([-3.0, 1.0, 4.0])
    agree(
        lambda t, f: fnp.interp(t, knots, f),
        lambda t, f: np.interp(t, knots, f),
        inner,
        numbers((3,)),
    )
    slope = fgrad.grad(lambda k: fnp.sum(fnp.interp(inner, k, fp[:3])))(knots)
    ahead = [np.interp(inner, knots + STEP * e, fp[:3]).sum() for e in np.eye(3)]
    behind = [np.interp(inner, knots - STEP * e, fp[:3]).sum() for e in np.eye(3)]
    np.testing.assert_allclose(slope, (np.array(ahead) - behind) / (2 * STEP), rtol=1e-6, atol=1e-8)


@given(st.data())
def test_covariances(data: Any) -> None:
    shape = (data.draw(st.integers(3, 4)), data.draw(st.integers(3, 5)))
    x = numbers(shape, data.draw(st.sampled_from(["float64", "complex128"])))
    keywords: dict[str, Any] = {
        "rowvar": data.draw(st.booleans()),
        "bias": data.draw(st.booleans()),
        "ddof": data.draw(st.sampled_from([None, 0])),
    }
    observations = shape[1] if keywords["rowvar"] or shape[0] == 1 else shape[0]
    if data.draw(st.booleans()):
        keywords["aweights"] = np.arange(1.0, observations + 1)
    if data.draw(st.booleans()):
        keywords["fweights"] = np.arange(1, observations + 1)
    if data.draw(st.booleans()):
        agree(lambda v: fnp.cov(v, **keywords), lambda v: np.cov(v, **keywords), x)
    else:
        rowvar = keywords["rowvar"]
        agree(lambda v: fnp.corrcoef(v, rowvar=rowvar), lambda v: np.corrcoef(v, rowvar=rowvar), x)


def test_covariance_of_two_arrays() -> None:
    x, y = numbers((2, 4)), numbers((4,), seed=1)
    agree(fnp.cov, np.cov, x, y)
    agree(fnp.corrcoef, np.corrcoef, x, y)
    with pytest.raises(errors.ShapeError, match="4 observations"):
        fnp.cov(x, y[:3])


# ---- functions of functions ----------------------------------------------------------------------


@given(st.data())
def test_apply_along_every_axis(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = drawn(data, rank, 1, 3)
    axis = data.draw(st.integers(-rank, rank - 1))
    x = numbers(shape)
    for call in (
        lambda xp, v: xp.sum(v * v),
        lambda xp, v: v[::-1] * 2.0,
        lambda xp, v: xp.outer(v, v[:1]),
    ):
        agree(
            lambda v, call=call: fnp.apply_along_axis(lambda line: call(fnp, line), axis, v),
            lambda v, call=call: np.apply_along_axis(lambda line: call(np, line), axis, v),
            x,
        )


def test_vectorize_by_signature() -> None:
    x, y = numbers((4, 1, 3, 2)), numbers((5, 2), seed=1)
    product = fnp.vectorize(lambda a, b: fnp.dot(a, b), signature="(m,n),(n)->(m)")
    want = np.vectorize(np.dot, signature="(m,n),(n)->(m)")
    agree(product, want, x, y)
    scaled = fnp.vectorize(lambda a, b, scale: a * b * scale, excluded={2})
    same(scaled(numbers((3, 1)), numbers((2,)), 2.0), numbers((3, 1)) * numbers((2,)) * 2.0)
    named = fnp.vectorize(lambda a, b=1.0: a + b)
    same(named(numbers((3, 1)), b=numbers((2,))), numbers((3, 1)) + numbers((2,)))

    @fnp.vectorize(signature="(n)->(),()")
    def ends(v: Any) -> Any:
        return v[0], v[-1]

    same(ends(x), (x[..., 0], x[..., -1]))
    assert fnp.vectorize(lambda v: v, otypes=["float32"])(1.0).dtype == np.float32
    same(fnp.vectorize(lambda v: v * 2.0)(np.zeros((0, 2))), np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("signature", "shapes", "words"),
    [
        ("(n),(n)->()", [(3,), (4,)], "core axis n has size 4, expected 3"),
        ("(m,n)->()", [(3,)], "core axes ('m', 'n')"),
        ("(n)->(n)", [(3,), (3,)], "has 1 arguments"),
        ("(n->()", [(3,)], "not a signature"),
        ("(n),(n)->(n)", [(2, 3), (4, 3)], "cannot be broadcast together"),
    ],
)
def test_vectorize_says_what_is_wrong(signature: str, shapes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        fnp.vectorize(lambda *v: v[0], signature=signature)(*[np.ones(shape) for shape in shapes])


# ---- creation ------------------------------------------------------------------------------------


@given(st.data(), DTYPES)
def test_constants_of_random_shapes(data: Any, dtype: str) -> None:
    shape = drawn(data, data.draw(st.integers(0, 3)), 0, 3)
    x = numbers(shape, dtype)
    for name in ("zeros", "ones"):
        same(getattr(fnp, name)(shape, dtype), getattr(np, name)(shape, dtype))
        same(getattr(fnp, name)(shape), getattr(np, name)(shape))
        same(getattr(fnp, name + "_like")(x), getattr(np, name + "_like")(x))
        same(getattr(fnp, name + "_like")(x, "float32"), getattr(np, name + "_like")(x, "float32"))
        same(
            getattr(fnp, name + "_like")(x, shape=(2,)), getattr(np, name + "_like")(x, shape=(2,))
        )
    for fill in (2, 2.5, -0.0, np.nan, True, np.float32(1.5)):
        same(fnp.full(shape, fill), np.full(shape, fill))
        if np.dtype(dtype).kind in "fc":
            same(fnp.full_like(x, fill), np.full_like(x, fill))
    assert np.all(np.signbit(fnp.full(3, -0.0)))
    assert fgrad.jit(lambda: (fnp.full(3, -0.0), fnp.full(3, 0.0)))()[0].tolist() == [-0.0] * 3


def test_large_creations_are_made_by_the_compiled_function() -> None:
    def made() -> Any:
        return [
            fnp.zeros((64, 64)),
            fnp.full((64, 64), 2.5),
            fnp.arange(5000),
            fnp.arange(0.0, 500.0, 0.1),
            fnp.arange(9000, 0, -2, dtype="float32"),
            fnp.eye(64, k=1),
            fnp.tri(64, 70, -1),
            fnp.linspace(0.0, 1.0, 3000),
            fnp.logspace(0.0, 1.0, 3000),
            fnp.indices((40, 50)),
        ]

    lowered = fgrad.jit(made).lower()
    jaxpr = lowered.jaxpr
    assert sum(np.size(const) for const in jaxpr.consts) < 1000
    want = [
        np.zeros((64, 64)),
        np.full((64, 64), 2.5),
        np.arange(5000),
        np.arange(0.0, 500.0, 0.1),
        np.arange(9000, 0, -2, dtype="float32"),
        np.eye(64, k=1),
        np.tri(64, 70, -1),
        np.linspace(0.0, 1.0, 3000),
        np.logspace(0.0, 1.0, 3000),
        np.indices((40, 50)),
    ]
    same(fgrad.jit(made)(), want, 1e-12)
    same(made(), want, 1e-12)


@given(
    st.floats(-50, 50), st.floats(-50, 50), st.integers(0, 12), st.booleans(), st.integers(-1, 1)
)
def test_spacing_is_numpys(start: float, stop: float, num: int, endpoint: bool, axis: int) -> None:
    keywords: dict[str, Any] = {"num": num, "endpoint": endpoint}
    got, want = fnp.linspace(start, stop, **keywords), np.linspace(start, stop, **keywords)
    np.testing.assert_array_equal(got, want)
    traced = fgrad.jit(lambda a, b: fnp.linspace(a, b, **keywords))(start, stop)
    same(traced, want)
    if endpoint and num > 1:
        assert traced[0] == start
        assert traced[-1] == stop
    ends = np.array([start, stop])
    agree(
        lambda a: fnp.linspace(a, 2.0, axis=axis, **keywords),
        lambda a: np.linspace(a, 2.0, axis=axis, **keywords),
        ends,
    )
    same(
        fnp.linspace(start, stop, dtype=int, **keywords),
        np.linspace(start, stop, dtype=int, **keywords),
    )
    step = np.linspace(start, stop, retstep=True, **keywords)[1]
    same(fnp.linspace(start, stop, retstep=True, **keywords)[1], step)
    with np.errstate(all="ignore"):
        same(
            fnp.logspace(start / 10, stop / 10, **keywords),
            np.logspace(start / 10, stop / 10, **keywords),
        )
        same(
            fnp.geomspace(abs(start) + 1, abs(stop) + 1, **keywords),
            np.geomspace(abs(start) + 1, abs(stop) + 1, **keywords),
        )


def test_spacing_keeps_float32() -> None:
    x = np.float32(0.5)
    for got in (
        fnp.linspace(x, 1.0, 4),
        fnp.logspace(x, 1.0, 4),
        fnp.geomspace(x, 1.0, 4),
        fnp.arange(x),
    ):
        assert got.dtype == np.float32
    assert fgrad.jit(lambda v: fnp.linspace(v, 1.0, 4))(x).dtype == np.float32


def test_geomspace_ends_signs_and_spirals() -> None:
    for ends in ((-1.0, -8.0), (1.0 + 0j, 8j), (2.0, 3.0)):
        same(fnp.geomspace(*ends, 4), np.geomspace(*ends, 4))
    got = fgrad.jit(lambda a, b: fnp.geomspace(a, b, 5))(0.1, 0.7)
    assert (got[0], got[-1]) == (0.1, 0.7)
    agree(
        lambda a, b: fnp.geomspace(1 + a * a, 2 + b * b, 3),
        lambda a, b: np.geomspace(1 + a * a, 2 + b * b, 3),
        *np.array([1.5, 7.0]),
    )
    with pytest.raises(errors.ArgumentError, match="an end is 0"):
        fnp.geomspace(0.0, 1.0)


@pytest.mark.parametrize(
    "arguments",
    [
        (4,),
        (4.0,),
        (1, 7, 2),
        (5, 1, -1),
        (0.0, 1.0, 0.1),
        (3, 3),
        (2, 1),
        (np.int64(3),),
        (-1.5, 2),
    ],
)
def test_arange(arguments: Any) -> None:
    same(fnp.arange(*arguments), np.arange(*arguments))
    for dtype in ("float32", "int32", "complex128"):
        same(fnp.arange(*arguments, dtype=dtype), np.arange(*arguments, dtype=dtype))


def test_arange_needs_known_numbers() -> None:
    with pytest.raises(
        errors.ConcretizationTypeError, match="arange: stop must be known while tracing"
    ):
        fgrad.jit(fnp.arange)(3)
    with pytest.raises(errors.DerivativeCutError, match=re.escape("fnp.arange")):
        fgrad.grad(lambda x: fnp.arange(0.0, x).sum())(3.0)
    with pytest.raises(errors.ArgumentError, match="step is 0"):
        fnp.arange(0, 3, 0)


def test_sizes_must_be_known() -> None:
    for function in (
        fnp.zeros,
        fnp.eye,
        lambda n: fnp.full(n, 1.0),
        lambda n: fnp.linspace(0.0, 1.0, n),
    ):
        with pytest.raises(errors.TracerIntegerConversionError, match="static_argnums"):
            fgrad.jit(function)(3)
    with pytest.raises(errors.ShapeError, match="negative"):
        fnp.zeros(-1)


NESTED: list[tuple[Any, Any]] = [
    ([1, 2.5], "float64"),
    ([[1, 2], [3, 4]], "int64"),
    ([True, 2], "int64"),
    ([], "float64"),
    ([np.float32(1), 1.0], "float32"),
    ([np.ones(2, "float32"), [1.0, 2.0]], "float32"),
    ([np.int8(1), 2], "int8"),
    ([np.float32(1), np.float64(2)], "float64"),
    (((1, 2j),), "complex128"),
    (range(3), "int64"),
]


@pytest.mark.parametrize(("data", "dtype"), NESTED)
def test_nested_data(data: Any, dtype: str) -> None:
    for made in (fnp.array, fnp.asarray):
        got = made(data)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, np.array(data))


def test_nested_data_has_one_dtype_traced_or_not() -> None:
    def made(x: Any) -> Any:
        return fnp.array([[x, 1.0], [0.0, 2 * x]])

    for x in (1.5, np.float32(1.5), np.complex64(2j), 3, np.int8(3)):
        want = made(x)
        same(fgrad.jit(made)(x), want)
        same(fgrad.vmap(made)(np.array([x]))[0], want) if isinstance(x, np.generic) else None
    same(
        fgrad.jit(lambda v: fnp.asarray([v, [1.0, 2.0]]))(numbers((2,), "float32")),
        np.array([numbers((2,), "float32"), [1, 2]], "float32"),
    )
    with pytest.raises(errors.ShapeError):
        fnp.array([[1.0, 2.0], [3.0]])
    with pytest.raises(errors.ShapeError):
        fgrad.jit(lambda v: fnp.array([v, [1.0]]))(1.0)


def test_a_python_number_stays_weak() -> None:
    for made in (fnp.array, fnp.asarray, fnp.zeros_like, fnp.ones_like, fnp.copy):
        assert made(2.0).weak_type
        assert fgrad.jit(made)(2.0).weak_type
        assert not made(np.float64(2.0)).weak_type
    assert not fnp.array(2.0, float).weak_type
    assert fnp.full_like(2.0, 3).dtype == np.float64


@pytest.mark.parametrize(
    "made", [fnp.array, fnp.asarray, fnp.copy, lambda x: fnp.array(x, copy=False)]
)
def test_results_never_share_memory_that_can_be_written_to(made: Any) -> None:
    x = np.arange(4.0)
    for data in (x, x[::2], x.reshape(2, 2), memoryview(x), np.ma.getdata(x)):
        before = np.array(data)
        got = made(data)
        x += 1.0
        np.testing.assert_array_equal(got, before)
    for got in (
        fnp.reshape(x, (2, 2)),
        fnp.broadcast_to(x, (2, 4)),
        fnp.diag(x.reshape(2, 2)),
        *fnp.split(x, 2),
    ):
        before = np.array(got)
        x += 1.0
        np.testing.assert_array_equal(got, before)
        assert not got.flags.writeable
    frozen = fnp.arange(3.0)
    assert np.shares_memory(made(frozen), frozen)


def test_asarray_may_refuse_to_copy() -> None:
    x = fnp.arange(3.0)
    assert np.shares_memory(fnp.asarray(x, copy=False), x)
    for data, dtype in ((np.arange(3.0), None), ([1, 2], None), (x, "float32")):
        with pytest.raises(ValueError, match="copy=False"):
            fnp.asarray(data, dtype, copy=False)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ("text", errors.NonArrayError, "string"),
        (["a", "b"], errors.NonArrayError, "string"),
        (None, errors.NonArrayError, "None"),
        (np.array([1, None], object), errors.UnsupportedArrayError, "object"),
        (np.array(["2020-01-01"], "M8[D]"), errors.UnsupportedArrayError, "datetime64"),
        (np.ma.masked_array([1.0], [True]), errors.UnsupportedArrayError, "masked"),
        ({"a": 1}, errors.NonArrayError, "dict"),
    ],
)
def test_data_that_is_no_array(data: Any, error: type, words: str) -> None:
    for made in (fnp.array, fnp.asarray):
        with pytest.raises(error, match=words):
            made(data)


def test_grids_and_brackets() -> None:
    for key in (
        slice(3),
        slice(0, 1, 3j),
        (slice(0, 2), slice(1, 4)),
        (slice(0, 1, 0.25), slice(0, 4, 2j)),
    ):
        same(fnp.mgrid[key], np.mgrid[key])
        same(fnp.ogrid[key], np.ogrid[key])
    x = numbers((3,))
    square = numbers((2, 2))
    for key in (
        (x, 1.5, 0.0),
        slice(0, 4),
        (slice(0, 1, 3j), x),
        ("1,2,0", x, x),
        ("0,2,-1", x, x),
        ("-1", square, square),
        (np.float32(1.0), 2.0),
    ):
        same(fnp.r_[key], np.r_[key])
    for key in ((x, x), (square, square), (slice(3), x)):
        same(fnp.c_[key], np.c_[key])
    got = fgrad.grad(lambda v: fnp.sum(fnp.r_[v, 2.0 * v, 1.0] ** 2))(1.5)
    np.testing.assert_allclose(got, 2 * 1.5 * 5)
    assert fnp.s_[1:, ...] == np.s_[1:, ...]
    assert fnp.index_exp[0] == np.index_exp[0]


def test_files_buffers_and_other_libraries(tmp_path: Any) -> None:
    x = fnp.arange(6.0).reshape(2, 3)
    file = io.BytesIO()
    fnp.save(file, x)
    file.seek(0)
    same(fnp.load(file), x)
    fnp.savez(tmp_path / "arrays.npz", x=x)
    with fnp.load(tmp_path / "arrays.npz") as archive:
        same(fnp.asarray(archive["x"]), x)
    writable = bytearray(b"\x01\x02")
    got = fnp.frombuffer(writable, "uint8")
    writable[0] = 9
    assert got.tolist() == [1, 2]
    same(fnp.from_dlpack(np.arange(3.0)), np.arange(3.0))
    same(fnp.fromiter(range(3), float), np.arange(3.0))
    same(fnp.fromstring("1,2", sep=","), np.array([1.0, 2.0]))
    for made in (got, fnp.from_dlpack(np.arange(3.0)), fnp.fromiter(range(3), float)):
        assert isinstance(made, fgrad.Array)
        assert not made.flags.writeable


# ---- dtypes --------------------------------------------------------------------------------------


def test_scalar_types_are_numpys_and_make_arrays() -> None:
    for name in (
        "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
        "float16 float32 float64 complex64 complex128"
    ).split():
        ours, theirs = getattr(fnp, name), getattr(np, name)
        assert ours == theirs
        assert theirs == ours
        assert hash(ours) == hash(theirs)
        assert np.dtype(theirs) == ours
        assert np.dtype(ours) == np.dtype(theirs)
        assert np.zeros(2, ours).dtype == theirs
        assert isinstance(theirs(1), ours)
        assert pickle.loads(pickle.dumps(ours)) == ours
        same(ours([1, 0]), np.array([1, 0], theirs))
        assert not ours(1).weak_type
        assert fgrad.jit(lambda v, t=ours: t(v))(1.5).dtype == theirs
        assert fnp.issubdtype(ours, np.generic)
    assert fnp.bool is fnp.bool_
    assert {fnp.float32: 1}[np.float32] == 1


def test_questions_about_dtypes() -> None:
    x = np.ones(2, "float32")
    assert fnp.result_type(x, 2.0) == np.float32
    assert fnp.result_type(fnp.asarray(2.0), x) == np.float32
    assert fnp.result_type(2, 3.0) == np.float64
    assert fgrad.jit(lambda a, b: fnp.zeros(2, fnp.result_type(a, b)))(x, 1.0).dtype == np.float32
    assert fnp.finfo(x.dtype).eps == np.finfo("float32").eps
    assert fgrad.jit(lambda v: v + fnp.finfo(v).eps)(x).dtype == np.float32
    assert fnp.iinfo("int8").max == 127
    assert fnp.can_cast(x, "float64")
    assert fnp.isscalar(2.0)
    assert fgrad.jit(lambda v: fnp.zeros(3) if fnp.isscalar(v) else v)(1.0).shape == (3,)
    assert fnp.iscomplexobj([1j, 2])
    assert not fnp.iscomplexobj("text")
    for wrong in (
        "floot",
        np.dtype("M8[D]"),
        np.longdouble if np.longdouble is not np.float64 else "U3",
    ):
        with pytest.raises(errors.DTypeError):
            fnp.zeros(2, wrong)


def test_32_bit_mode() -> None:
    fgrad.config.update("fgrad_enable_x64", False)
    try:
        made = [
            fnp.zeros(2),
            fnp.ones(2, "float64"),
            fnp.arange(3.0),
            fnp.linspace(0.0, 1.0, 3),
            fnp.asarray([1.0, 2.0]),
            fnp.eye(2),
            fnp.concatenate([np.arange(3), np.ones(2, "float32")]),
            fnp.einsum("i,i->i", np.ones(2), np.ones(2)),
            fnp.pad(np.ones(2), 1, "mean"),
            fnp.gradient(np.arange(4.0)),
            fnp.interp(0.5, np.arange(3.0), np.arange(3.0)),
            fnp.cov(np.ones((2, 3))),
        ]
        assert {x.dtype.name for x in made} == {"float32"}
        assert {x.dtype.name for x in (fnp.arange(3), fnp.asarray(1), fnp.indices((2,)))} == {
            "int32"
        }
        assert fnp.result_type("float64", "int32") == np.float32
    finally:
        fgrad.config.update("fgrad_enable_x64", True)


# ---- comparison ----------------------------------------------------------------------------------


@given(
    st.lists(
        st.sampled_from([0.0, 1.0, 1.0 + 1e-9, np.nan, np.inf, -np.inf]), min_size=2, max_size=6
    )
)
def test_closeness(values: list[float]) -> None:
    x, y = np.array(values), np.array(values[::-1])
    for equal_nan in (False, True):
        same(fnp.isclose(x, y, equal_nan=equal_nan), np.isclose(x, y, equal_nan=equal_nan))
        assert bool(fnp.allclose(x, y, equal_nan=equal_nan)) == np.allclose(
            x, y, equal_nan=equal_nan
        )
        assert bool(fnp.array_equal(x, y, equal_nan)) == np.array_equal(x, y, equal_nan)
    assert bool(fnp.array_equiv(x, y[None])) == np.array_equiv(x, y[None])


def test_closeness_of_other_dtypes() -> None:
    for x, y in (
        (np.array([True, False]), np.array([1.0, 0.0])),
        (np.arange(3), np.arange(3)),
        (1j, 1j),
    ):
        assert np.asarray(fnp.isclose(x, y)).all()
        assert bool(fnp.array_equal(x, y, equal_nan=True))
    assert not bool(fnp.array_equal([1, 2], [1, 2, 3]))
    assert not bool(fnp.array_equiv([1, 2], [1, 2, 3]))


# ---- errors of shapes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: fnp.reshape(x, (4, 2)), ["reshape", "(2, 3)", "(4, 2)"]),
        (lambda x: fnp.reshape(x, (-1, 4)), ["reshape", "(2, 3)", "(-1, 4)"]),
        (lambda x: fnp.reshape(x, (-1, -1)), ["two sizes are -1"]),
        (lambda x: fnp.transpose(x, (0, 0)), ["transpose", "(0, 0)", "permutation"]),
        (lambda x: fnp.transpose(x, (0, 2)), ["transpose", "axis 2", "2 axes"]),
        (lambda x: fnp.swapaxes(x, 0, 5), ["swapaxes", "axis 5"]),
        (lambda x: fnp.moveaxis(x, (0, 0), (0, 1)), ["moveaxis", "twice"]),
        (lambda x: fnp.squeeze(x, 0), ["squeeze", "axis 0", "size 2"]),
        (lambda x: fnp.expand_dims(x, (0, 0)), ["expand_dims", "twice"]),
        (lambda x: fnp.broadcast_to(x, (3, 3)), ["broadcast_to", "(2, 3)", "(3, 3)"]),
        (lambda x: fnp.concatenate([x, x.T]), ["concatenate", "(2, 3)", "(3, 2)"]),
        (lambda x: fnp.concatenate([x, x[0]]), ["concatenate", "(2, 3)", "(3,)"]),
        (lambda x: fnp.concatenate([x[0, 0]]), ["concatenate", "fnp.stack"]),
        (lambda x: fnp.concatenate([]), ["concatenate", "at least one"]),
        (lambda x: fnp.stack([x, x.T]), ["stack", "(2, 3)", "(3, 2)"]),
        (lambda x: fnp.split(x, 4, axis=1), ["split", "3 elements", "4 equal pieces"]),
        (lambda x: fnp.delete(x, 7, axis=1), ["delete", "position 7", "size 3"]),
        (lambda x: fnp.insert(x, 7, 0.0, axis=1), ["insert", "position 7", "size 3"]),
        (lambda x: fnp.ravel(x, "K"), ["ravel", "order='K'", "memory"]),
        (lambda x: fnp.diag(x[None]), ["diag", "(1, 2, 3)"]),
        (lambda x: fnp.diff(x[0, 0]), ["diff", "no neighbours"]),
        (lambda x: fnp.gradient(x[:1]), ["gradient", "1 samples"]),
        (lambda x: fnp.convolve(x, x), ["convolve", "(2, 3)"]),
        (lambda x: fnp.interp(1.0, x[0], x[1, :2]), ["interp", "(3,)", "(2,)"]),
        (lambda x: fnp.rot90(x, axes=(0, 0)), ["rot90", "plane"]),
        (lambda x: fnp.roll(x, (1, 2, 3), (0, 1)), ["roll", "3 shifts for 2 axes"]),
        (lambda x: fnp.repeat(x, [1, 2], axis=1), ["repeat", "(2,)", "3 elements"]),
        (lambda x: fnp.matrix_transpose(x[0]), ["matrix_transpose", "(3,)"]),
        (lambda x: fnp.meshgrid(x), ["meshgrid", "(2, 3)"]),
    ],
)
def test_errors_say_what_was_given(call: Any, words: list[str]) -> None:
    for run in (call, fgrad.jit(call)):
        with pytest.raises((ValueError, IndexError)) as caught:
            run(fnp.ones((2, 3)))
        assert isinstance(caught.value, errors.FgradError)
        for word in words:
            assert word in str(caught.value)
