"""Operations of ``lax``: values, dtypes and slopes are those of ``jax.lax``."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.modules import jax

import fgrad
from fgrad import lax
from fgrad.errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    IndexOutOfRangeError,
    NonDifferentiableError,
    ShapeError,
)
from fgrad.test_util import check_grads

jlax = jax.lax
RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 3))
B = RNG.normal(size=(2, 3))
P = RNG.uniform(0.2, 0.9, size=(2, 3))
Z = A + 1j * B
I = np.array([[-7, 5, 2], [4, -3, 9]])  # noqa: E741
J = np.array([[2, -2, 3], [3, 2, -4]])
U = np.array([3, 200, 7], np.uint8)
BOOL = np.array([[True, False, True], [False, True, True]])

#: Operands of each function of numbers.
ELEMENTWISE: dict[str, list[tuple[Any, ...]]] = {
    name: [(A,)]
    for name in (
        "abs asinh atan cbrt ceil cos cosh digamma erf erfc exp exp2 expm1 floor is_finite "
        "lgamma logistic neg "
        "reciprocal sign sin sinh square tan tanh bessel_i0e bessel_i1e"
    ).split()
} | {name: [(P,)] for name in "acos asin atanh erf_inv log log1p rsqrt sqrt".split()}
ELEMENTWISE["acosh"] = [(P + 1,)]
ELEMENTWISE |= {
    name: [(A, B)]
    for name in "add atan2 div eq ge gt le lt max min mul ne nextafter rem sub complex".split()
}
ELEMENTWISE |= {
    "pow": [(P, A)],
    "igamma": [(P, P + 1)],
    "igammac": [(P, P + 1)],
    "zeta": [(P + 2, P)],
}
ELEMENTWISE["betainc"] = [(P, P + 1, P)]
ELEMENTWISE["polygamma"] = [(np.full((2, 3), 2.0), P)]
ELEMENTWISE["igamma_grad_a"] = [(P, P + 1)]
for _name in "bitwise_and bitwise_or bitwise_xor".split():
    ELEMENTWISE[_name] = [(I, J), (BOOL, BOOL[::-1])]
for _name in "shift_left shift_right_arithmetic shift_right_logical".split():
    ELEMENTWISE[_name] = [
        (I, np.abs(J)),
        (I.astype(np.int32), np.abs(J).astype(np.int32)),
        (U, U % 8),
    ]
ELEMENTWISE["bitwise_not"] = [(I,), (BOOL,)]
ELEMENTWISE["population_count"] = [(I,), (U,), (I.astype(np.int8),)]
for _name in "div rem".split():
    ELEMENTWISE[_name] += [(I, J), (U, U[::-1])]
for _name in "real imag conj".split():
    ELEMENTWISE[_name] = [(Z,)]
ELEMENTWISE["conj"] += [(A,)]
ELEMENTWISE["exp"] += [(Z,), (A.astype(np.float32),)]
ELEMENTWISE["sign"] += [(I,)]
CASES = [(name, n) for name, cases in ELEMENTWISE.items() for n in range(len(cases))]


#: Functions that JAX has no derivative of.
NO_JAX_RULE = ("igamma_grad_a", "nextafter", "zeta")


def same(got: Any, expected: Any, rtol: float = 1e-11) -> None:
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-13)


@pytest.mark.parametrize(("name", "n"), CASES)
def test_elementwise(name: str, n: int) -> None:
    ours, theirs = getattr(lax, name), getattr(jlax, name)
    xs = ELEMENTWISE[name][n]
    # JAX's series for these have fewer digits.
    rtol = {
        "igamma_grad_a": 1e-6,
        "zeta": 1e-9,
        "polygamma": 1e-9,
        "bessel_i0e": 1e-9,
        "bessel_i1e": 1e-9,
    }.get(name, 1e-10)
    if xs[0].dtype == np.float32:
        rtol = 1e-6
    same(ours(*xs), theirs(*xs), rtol)
    same(fgrad.jit(ours)(*xs), theirs(*xs), rtol)
    same(fgrad.vmap(ours)(*xs), theirs(*xs), rtol)
    inexact = [x.dtype.kind in "fc" for x in xs]
    if not all(inexact) or np.asarray(ours(*xs)).dtype.kind not in "fc" or name in NO_JAX_RULE:
        return
    still = {"polygamma": 1, "betainc": 2}.get(name, 0)
    head, moved = xs[:still], xs[still:]
    tangents = tuple(np.cos(np.arange(6.0).reshape(2, 3)).astype(x.dtype) for x in moved)
    got = fgrad.jvp(lambda *v: ours(*head, *v), moved, tangents)[1]
    expected = jax.jvp(lambda *v: theirs(*head, *v), moved, tangents)[1]
    same(got, expected, max(rtol, 1e-7))


def test_rounding() -> None:
    x = np.array([-2.5, -1.5, -0.5, 0.49999999999999994, 0.5, 1.5, 2.5, 1e30, np.nan])
    same(lax.round(x), jlax.round(x))
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    same(lax.round(x, even), jlax.round(x, jlax.RoundingMethod.TO_NEAREST_EVEN))
    same(lax.round(x.astype(np.float32)), jlax.round(x.astype(np.float32)))
    with pytest.raises(DTypeError, match="round: takes floats, got int64"):
        lax.round(I)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_integer_pow(n: int) -> None:
    same(lax.integer_pow(P, n), jlax.integer_pow(P, n))
    check_grads(lambda x: lax.integer_pow(x, n), (P,), 2)
    with pytest.raises(ArgumentError, match="integer_pow: y"):
        lax.integer_pow(P, 0.5)


def test_clamp() -> None:
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan])
    same(lax.clamp(0.0, x, 1.0), jlax.clamp(0.0, x, 1.0))
    low, high = np.zeros(6), np.ones(6)
    for argnum in range(3):
        got = fgrad.jacfwd(lax.clamp, argnums=argnum)(low, x, high)
        same(got, jax.jacfwd(jlax.clamp, argnums=argnum)(low, x, high))
    # Where the limits cross, the upper one holds.
    assert [float(g) for g in fgrad.grad(lax.clamp, argnums=(0, 1, 2))(3.0, 0.0, 1.0)] == [
        0.0,
        0.0,
        1.0,
    ]
    with np.errstate(all="raise"):
        assert "np.minimum(np.maximum(" in fgrad.jit(lax.clamp).lower(0.0, x, 1.0).source


def test_select() -> None:
    same(lax.select(BOOL, A, B), jlax.select(BOOL, A, B))
    same(lax.select(np.True_, A, B), A)
    which = np.array([[0, 1, 2], [2, 1, 0]])
    same(lax.select_n(which, A, B, P), jlax.select_n(which, A, B, P))
    same(lax.select_n(BOOL, A, B), jlax.select_n(BOOL, A, B))
    check_grads(lambda x, y: lax.select_n(which, x, y, P), (A, B), 2)
    with pytest.raises(
        ShapeError, match=r"select: the condition has shape \(2, 3\), the cases \(2, 3\) and \(3,\)"
    ):
        lax.select(BOOL, A, B[0])
    with pytest.raises(ShapeError, match=r"select_n: which has shape \(2, 3\)"):
        lax.select_n(which, A[0], B[0])
    with pytest.raises(DTypeError, match="which has dtype float64"):
        lax.select_n(A, A, B)
    with pytest.raises(ArgumentError, match="at least one case"):
        lax.select_n(which)


def test_bits_of_floats_are_refused() -> None:
    with pytest.raises(DTypeError, match="bitwise_and: takes integers or booleans, got float64"):
        lax.bitwise_and(A, I)


def test_unknown_slope() -> None:
    with pytest.raises(NonDifferentiableError, match="betainc: no derivative towards a"):
        fgrad.grad(lambda a: lax.betainc(a, 1.0, 0.5))(2.0)


# ---- shapes --------------------------------------------------------------------------------------

SHAPES: list[tuple[str, Callable[[Any], Callable[[Any], Any]]]] = [
    ("reshape", lambda m: lambda x: m.reshape(x, (3, 2))),
    ("reshape with an order", lambda m: lambda x: m.reshape(x, (6,), dimensions=(1, 0))),
    ("transpose", lambda m: lambda x: m.transpose(x, (1, 0))),
    ("broadcast", lambda m: lambda x: m.broadcast(x, (4, 1))),
    ("broadcast_in_dim", lambda m: lambda x: m.broadcast_in_dim(x, (2, 4, 3), (0, 2))),
    ("expand_dims", lambda m: lambda x: m.expand_dims(x, (0, -1))),
    ("squeeze", lambda m: lambda x: m.squeeze(m.expand_dims(x, (1,)), (1,))),
    ("collapse", lambda m: lambda x: m.collapse(m.broadcast(x, (2,)), 1, 3)),
    ("convert", lambda m: lambda x: m.convert_element_type(x, np.float32)),
    ("concatenate", lambda m: lambda x: m.concatenate([x, 2 * x], 1)),
    ("split", lambda m: lambda x: m.split(x, (1, 2), axis=1)[1]),
    ("tile", lambda m: lambda x: m.tile(x, (2, 3))),
    ("pad", lambda m: lambda x: m.pad(x, 0.5, [(1, 0, 2), (-1, 2, 0)])),
    ("pad with zeros", lambda m: lambda x: m.pad(x, 0.0, [(0, 1, 0), (2, -1, 1)])),
    ("rev", lambda m: lambda x: m.rev(x, (0, 1))),
    ("slice", lambda m: lambda x: m.slice(x, (0, 1), (2, 3), (1, 2))),
    ("slice_in_dim", lambda m: lambda x: m.slice_in_dim(x, -2, None, axis=1)),
    ("index_in_dim", lambda m: lambda x: m.index_in_dim(x, -1, axis=1, keepdims=False)),
    ("full_like", lambda m: lambda x: m.full_like(x, 2.5) * x),
    ("reduce_sum", lambda m: lambda x: m.reduce_sum(x, (0,))),
    ("reduce_prod", lambda m: lambda x: m.reduce_prod(x, (0, 1))),
    ("reduce_max", lambda m: lambda x: m.reduce_max(x, (1,))),
    ("reduce_min", lambda m: lambda x: m.reduce_min(x, (1,))),
    ("cumsum", lambda m: lambda x: m.cumsum(x, 1, reverse=True)),
    ("cumprod", lambda m: lambda x: m.cumprod(x, 1)),
    ("cummax", lambda m: lambda x: m.cummax(x, 1)),
    ("cummin", lambda m: lambda x: m.cummin(x, 0, reverse=True)),
    ("cumlogsumexp", lambda m: lambda x: m.cumlogsumexp(x, 1)),
    ("sort", lambda m: lambda x: m.sort(x, dimension=1)),
    ("sort_key_val", lambda m: lambda x: m.sort_key_val(x, 2 * x, dimension=0)[1]),
    ("top_k", lambda m: lambda x: m.top_k(x, 2)[0]),
    ("dot", lambda m: lambda x: m.dot(x, B.T)),
    ("dot_general", lambda m: lambda x: m.dot_general(x, B, (((1,), (1,)), ((0,), (0,))))),
    (
        "batch_matmul",
        lambda m: lambda x: m.batch_matmul(m.broadcast(x, (2,)), m.broadcast(B.T * 1.0, (2,))),
    ),
    ("dynamic_slice", lambda m: lambda x: m.dynamic_slice(x, (np.int64(1), np.int64(-2)), (1, 2))),
    ("dynamic_slice_in_dim", lambda m: lambda x: m.dynamic_slice_in_dim(x, np.int32(7), 2, axis=1)),
    (
        "dynamic_index_in_dim",
        lambda m: lambda x: m.dynamic_index_in_dim(x, 1, axis=1, keepdims=False),
    ),
    ("dynamic_update_slice", lambda m: lambda x: m.dynamic_update_slice(x, 2 * x[:1, :2], (1, 1))),
    (
        "dynamic_update_slice_in_dim",
        lambda m: lambda x: m.dynamic_update_slice_in_dim(x, x[:, :1], 2, axis=1),
    ),
    (
        "dynamic_update_index_in_dim",
        lambda m: lambda x: m.dynamic_update_index_in_dim(x, x[0] * 3, 1, axis=0),
    ),
]


@pytest.mark.parametrize(("name", "make"), SHAPES, ids=[name for name, _ in SHAPES])
def test_arrays(name: str, make: Any) -> None:
    ours, theirs = make(lax), make(jlax)
    x = A.astype(np.float64)
    expected = np.asarray(theirs(jax.numpy.asarray(x)))
    same(ours(x), expected)
    same(fgrad.jit(ours)(x), expected)
    many = np.stack([x, 2 * x, -x])
    same(fgrad.vmap(ours)(many), np.stack([np.asarray(ours(row)) for row in many]), 1e-9)
    if name == "convert":
        return
    check_grads(ours, (x,), 2)
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
    got = fgrad.vjp(ours, x)[1](weights)[0]
    same(got, jax.vjp(theirs, jax.numpy.asarray(x))[1](weights)[0], 1e-9)


def test_reductions_keep_dtypes() -> None:
    small = np.arange(1, 7, dtype=np.int8).reshape(2, 3)
    for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"):
        same(getattr(lax, name)(small, (0,)), getattr(jlax, name)(small, (0,)))
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        same(getattr(lax, name)(small, 1), getattr(jlax, name)(small, 1))
    for name in ("reduce_and", "reduce_or"):
        same(getattr(lax, name)(BOOL, (1,)), getattr(jlax, name)(BOOL, (1,)))
    for name, dtype in itertools.product(("argmax", "argmin"), (np.int32, np.uint8)):
        same(getattr(lax, name)(A, 1, dtype), getattr(jlax, name)(A, 1, dtype))
    with pytest.raises(DTypeError, match="index_dtype is float64"):
        lax.argmax(A, 0, float)


def test_sorting_several_arrays() -> None:
    keys, others = np.array([2, 1, 2, 1, 0]), np.array([0.5, 2.0, 0.25, 1.0, 3.0])
    values = np.arange(5)
    for num_keys in (1, 2):
        got = lax.sort((keys, others, values), num_keys=num_keys)
        expected = jlax.sort((keys, others, values), num_keys=num_keys)
        assert isinstance(got, tuple)
        for a, b in zip(got, expected, strict=True):
            same(a, b)
    with pytest.raises(ArgumentError, match="num_keys is 4 for 3 arrays"):
        lax.sort((keys, others, values), num_keys=4)
    with pytest.raises(
        ShapeError, match=r"sort: all arrays must have one shape.*\(5,\) and \(2,\)"
    ):
        lax.sort((keys, others[:2]))


def test_top_k() -> None:
    x = np.array([[1.0, np.nan, 3.0, 3.0], [0.0, -1.0, 5.0, 5.0]])
    for ours, theirs in zip(lax.top_k(x, 3), jlax.top_k(x, 3), strict=True):
        same(ours, theirs)
    for ours, theirs in zip(lax.top_k(x, 1, axis=0), jlax.top_k(x, 1, axis=0), strict=True):
        same(ours, theirs)
    with pytest.raises(ArgumentError, match="k is 5, but axis -1 has 4"):
        lax.top_k(x, 5)


@pytest.mark.parametrize("start", [-9, -2, -1, 0, 1, 3, 9])
@pytest.mark.parametrize("kind", [int, np.int32, np.int64])
def test_positions_are_moved_inside(start: int, kind: Any) -> None:
    x, update = np.arange(5.0), np.array([7.0, 8.0])
    same(lax.dynamic_slice(x, (kind(start),), (2,)), jlax.dynamic_slice(x, (start,), (2,)))
    same(
        lax.dynamic_update_slice(x, update, (kind(start),)),
        jlax.dynamic_update_slice(x, update, (start,)),
    )
    at = kind(start)
    same(
        fgrad.jit(lambda i: lax.dynamic_slice(x, (i,), (2,)))(at),
        jlax.dynamic_slice(x, (start,), (2,)),
    )
    same(
        fgrad.jit(lambda i: lax.dynamic_update_slice(x, update, (i,)))(at),
        jlax.dynamic_update_slice(x, update, (start,)),
    )
    starts = np.array([start, 0, 1])
    same(
        fgrad.vmap(lambda i: lax.dynamic_slice_in_dim(x, i, 2))(starts),
        np.stack([lax.dynamic_slice_in_dim(x, int(i), 2) for i in starts]),
    )
    same(
        fgrad.vmap(lambda i: lax.dynamic_update_slice_in_dim(x, update, i, 0))(starts),
        np.stack([lax.dynamic_update_slice_in_dim(x, update, int(i), 0) for i in starts]),
    )


def test_blocks_of_matrices() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for sizes in itertools.product((1, 2), (2, 3), (1, 4)):
        for starts in ((0, 0, 0), (1, 1, 3), (5, -1, 2)):
            block = -np.ones(sizes)
            dynamic = fgrad.jit(lambda v, i, sizes=sizes: lax.dynamic_slice(v, i, sizes))
            same(dynamic(x, np.array(starts)), jlax.dynamic_slice(x, starts, sizes))
            update = fgrad.jit(lambda v, b, i: lax.dynamic_update_slice(v, b, i))
            same(update(x, block, np.array(starts)), jlax.dynamic_update_slice(x, block, starts))
    check_grads(
        lambda v, b: lax.dynamic_update_slice(v, b, (1, np.int64(0), 1)), (x, np.ones((1, 2, 2))), 2
    )


def test_creation() -> None:
    same(lax.iota(np.int32, 4), jlax.iota(np.int32, 4))
    same(lax.iota(float, 4), jlax.iota(float, 4))
    same(lax.broadcasted_iota(np.int64, (2, 3), 1), jlax.broadcasted_iota(np.int64, (2, 3), 1))
    same(lax.full((2,), 3), np.full(2, 3))
    same(lax.full((2,), 3, np.float32), np.full(2, 3, np.float32))
    same(lax.full_like(I, 2.0), np.full((2, 3), 2))
    same(lax.full_like(A, 1, dtype=bool, shape=(4,)), np.ones(4, bool))
    assert float(fgrad.grad(lambda v: lax.full((3,), v).sum())(2.0)) == 3.0
    assert lax.broadcast_shapes((2, 1), (3,), ()) == (2, 3)


def test_products_of_small_integers() -> None:
    x, y = np.full((2, 3), 100, np.int8), np.full((3, 2), 2, np.int8)
    got = lax.dot(x, y, preferred_element_type=np.int32)
    same(got, jlax.dot(x, y, preferred_element_type=np.int32))
    assert lax.dot(A, B[0], precision=lax.Precision.HIGHEST).shape == (2,)


def test_stop_gradient() -> None:
    assert float(fgrad.grad(lambda x: x * lax.stop_gradient(x))(3.0)) == 3.0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: lax.reshape(A, (4,)), ShapeError, r"reshape: an array of shape \(2, 3\).*\(4,\)"),
        (lambda: lax.transpose(A, (0, 0)), AxisError, "transpose: .* names an axis twice"),
        (lambda: lax.transpose(A, (0,)), AxisError, "1 entries for 2 axes"),
        (lambda: lax.squeeze(A, (0,)), ShapeError, r"squeeze: axis 0 of shape \(2, 3\) has size 2"),
        (
            lambda: lax.broadcast_in_dim(A, (2, 4), (0, 1)),
            ShapeError,
            r"axis 1 of the operand, of shape \(2, 3\)",
        ),
        (lambda: lax.broadcast_in_dim(A, (3, 2), (1, 0)), AxisError, "ascending"),
        (lambda: lax.concatenate([], 0), ArgumentError, "at least one array"),
        (lambda: lax.concatenate([A, B[0]], 0), ShapeError, r"\(2, 3\), \(3,\)"),
        (
            lambda: lax.split(A, (1, 1), 1),
            ShapeError,
            r"split: sizes \(1, 1\) add up to 2, but axis 1 has 3",
        ),
        (lambda: lax.tile(A, (2,)), ArgumentError, "1 entries for 2 axes"),
        (lambda: lax.pad(A, B, [(0, 0, 0)] * 2), ShapeError, r"padding_value has shape \(2, 3\)"),
        (lambda: lax.pad(A, 0.0, [(0, 0, 0)]), ArgumentError, "for each of 2 axes"),
        (lambda: lax.slice(A, (0, 1), (2, 4)), IndexOutOfRangeError, r"within shape \(2, 3\)"),
        (lambda: lax.slice(A, (0,), (2,)), ArgumentError, "one number for each of 2 axes"),
        (lambda: lax.slice_in_dim(A, 0, 1, stride=0), ArgumentError, "stride is 0"),
        (
            lambda: lax.index_in_dim(A, 3, axis=1),
            IndexOutOfRangeError,
            "index 3 is out of range for axis 1, which has 3",
        ),
        (lambda: lax.dynamic_slice(A, (0,), (1, 1)), ArgumentError, "1 start indices for 2 axes"),
        (
            lambda: lax.dynamic_slice(A, (0, 0), (3, 1)),
            ShapeError,
            r"\(3, 1\) does not fit into shape \(2, 3\)",
        ),
        (
            lambda: lax.dynamic_slice(A, (0, 0.5), (1, 1)),
            DTypeError,
            "start index has dtype float64",
        ),
        (
            lambda: lax.dynamic_slice(A, (0, I), (1, 1)),
            ShapeError,
            r"start index has shape \(2, 3\)",
        ),
        (
            lambda: lax.dynamic_update_slice(A, B[0], (0, 0)),
            ShapeError,
            r"the update has shape \(3,\), the array \(2, 3\)",
        ),
        (
            lambda: lax.dynamic_update_slice(A, B.astype(np.float32), (0, 0)),
            DTypeError,
            "float32, the array float64",
        ),
        (lambda: lax.dot(A, B), ShapeError, r"dot: shapes \(2, 3\) and \(2, 3\)"),
        (lambda: lax.dot_general(A, B, (((0, 1), (0,)), ((), ()))), ArgumentError, "no partner"),
        (
            lambda: lax.dot_general(A, B, (((0,), (0,)), ((0,), (0,)))),
            ArgumentError,
            "an axis twice",
        ),
        (
            lambda: lax.batch_matmul(A[0], B),
            ShapeError,
            r"batch_matmul: shapes \(3,\) and \(2, 3\)",
        ),
        (lambda: lax.reduce_sum(A, (2,)), AxisError, "reduce_sum: axis 2"),
        (lambda: lax.rev(A, (5,)), AxisError, "rev: axis 5"),
    ],
)
def test_bad_arguments_are_named(
    call: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()
