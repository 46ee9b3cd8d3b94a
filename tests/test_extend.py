"""Primitives declared by users: the fused product of the documentation, and every family."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad import extend
from fgrad.errors import ArgumentError, DTypeError, MissingRuleError, ShapeError
from fgrad.test_util import check_grads

# ---- the fused product ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Matmul(extend.Bilinear):
    """``op(a) @ op(b)``, where each of the two may be transposed on the way."""

    transpose_a: bool = False
    transpose_b: bool = False

    def abstract_eval(self, a: extend.Aval, b: extend.Aval) -> extend.Aval:
        rows, inner = a.shape[::-1] if self.transpose_a else a.shape
        second, columns = b.shape[::-1] if self.transpose_b else b.shape
        if inner != second:
            raise ShapeError(f"matmul: {inner} columns do not fit {second} rows")
        return extend.Aval((rows, columns), np.result_type(a.dtype, b.dtype))

    def impl(self, a: Any, b: Any) -> Any:
        return np.dot(a.T if self.transpose_a else a, b.T if self.transpose_b else b)

    def transpose_left(self, ct: Any, a: extend.Aval, b: Any) -> Any:
        if self.transpose_a:
            return matmul(b, ct, self.transpose_b, True)
        return matmul(ct, b, False, not self.transpose_b)

    def transpose_right(self, ct: Any, a: Any, b: extend.Aval) -> Any:
        if self.transpose_b:
            return matmul(ct, a, True, self.transpose_a)
        return matmul(a, ct, not self.transpose_a, False)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, bool]:
        a, b = args
        left = fnp.swapaxes(a, -1, -2) if self.transpose_a else a
        right = fnp.swapaxes(b, -1, -2) if self.transpose_b else b
        return left @ right, True


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    return Matmul(transpose_a, transpose_b).bind(a, b)


RNG = np.random.default_rng(0)
FLAGS = list(itertools.product((False, True), repeat=2))
DTYPES = [np.float64, np.complex128]


def operands(transpose_a: bool, transpose_b: bool, dtype: Any = np.float64) -> tuple[Any, Any]:
    def matrix(m: int, n: int) -> Any:
        return (
            RNG.normal(size=(m, n))
            + (1j * RNG.normal(size=(m, n)) if dtype == np.complex128 else 0)
        ).astype(dtype)

    return matrix(*((3, 2) if transpose_a else (2, 3))), matrix(
        *((4, 3) if transpose_b else (3, 4))
    )


def plain(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return (a.T if transpose_a else a) @ (b.T if transpose_b else b)


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_fused_product_under_each_transform(
    transpose_a: bool, transpose_b: bool, dtype: Any
) -> None:
    a, b = operands(transpose_a, transpose_b, dtype)
    f = lambda x, y: matmul(x, y, transpose_a, transpose_b)  # noqa: E731
    g = lambda x, y: plain(x, y, transpose_a, transpose_b)  # noqa: E731
    np.testing.assert_allclose(f(a, b), g(a, b), rtol=1e-14)
    np.testing.assert_allclose(fgrad.jit(f)(a, b), g(a, b), rtol=1e-14)
    check_grads(f, (a, b), 2)
    check_grads(fgrad.jit(f), (a, b), 2)
    ct = np.asarray(g(a, b)) * 0.5 + 1
    expected = jax.vjp(g, a, b)[1](ct)
    for transformed in (f, fgrad.jit(f)):
        for got, want in zip(fgrad.vjp(transformed, a, b)[1](ct), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13)
    tangents = (np.cos(a), np.sin(b))
    np.testing.assert_allclose(
        fgrad.jvp(f, (a, b), tangents)[1], g(tangents[0], b) + g(a, tangents[1]), rtol=1e-13
    )


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (1, 2)])
def test_fused_product_batched(transpose_a: bool, transpose_b: bool, in_axes: Any) -> None:
    pairs = [operands(transpose_a, transpose_b) for _ in range(3)]
    axes = zip(in_axes, range(2), strict=True)
    args = [
        pairs[0][i] if axis is None else np.stack([p[i] for p in pairs], axis) for axis, i in axes
    ]
    rows = [
        tuple(pairs[0 if axis is None else n][i] for i, axis in enumerate(in_axes))
        for n in range(3)
    ]
    f = lambda x, y: matmul(x, y, transpose_a, transpose_b)  # noqa: E731
    loss = lambda x, y: fnp.sin(f(x, y)).sum()  # noqa: E731
    got = fgrad.vmap(f, in_axes)(*args)
    np.testing.assert_allclose(
        got, np.stack([plain(*row, transpose_a, transpose_b) for row in rows]), rtol=1e-13
    )
    gradients = fgrad.vmap(fgrad.grad(loss, argnums=(0, 1)), in_axes)(*args)
    expected = [fgrad.grad(loss, argnums=(0, 1))(*row) for row in rows]
    for i in range(2):
        np.testing.assert_allclose(gradients[i], np.stack([e[i] for e in expected]), rtol=1e-12)


@pytest.fixture
def dots(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The matrices that `np.dot` is called with."""
    calls: list[tuple[Any, Any]] = []
    dot = np.dot

    def recording(a: Any, b: Any, *args: Any) -> Any:
        if np.ndim(a) == 2:
            calls.append((a, b))
        return dot(a, b, *args)

    monkeypatch.setattr(np, "dot", recording)
    return calls


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_no_transposed_copy_is_made(
    transpose_a: bool, transpose_b: bool, order: Any, dots: list[tuple[Any, Any]]
) -> None:
    a, b = (np.array(x, order=order) for x in operands(transpose_a, transpose_b))
    # A pullback outlives its call: it keeps copies of what somebody could write to.
    a.flags.writeable = b.flags.writeable = False
    value, pullback = fgrad.vjp(lambda x, y: matmul(x, y, transpose_a, transpose_b), a, b)
    ct = np.array(np.ones(value.shape), order=order)
    del dots[:]
    pullback(ct)
    # Two products, one for each operand; each takes its factors as they lie in memory.
    by_a, by_b = (
        {n for f in factors for n, x in enumerate((a, b, ct)) if np.shares_memory(f, x)}
        for factors in dots
    )
    assert (by_a, by_b) == ({1, 2}, {0, 2})


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
def test_compiled_gradient_makes_no_transposed_copy(
    transpose_a: bool, transpose_b: bool, dots: list[tuple[Any, Any]]
) -> None:
    a, b = operands(transpose_a, transpose_b)
    gradient = fgrad.jit(
        fgrad.grad(lambda x, y: (matmul(x, y, transpose_a, transpose_b) ** 2).sum(), argnums=(0, 1))
    )
    gradient(a, b)
    del dots[:]
    got = gradient(a, b)
    assert len(dots) == 3  # the product and its two gradients
    shared = [
        {n for f in factors for n, x in enumerate((a, b)) if np.shares_memory(f, x)}
        for factors in dots
    ]
    assert sorted(map(sorted, shared)) == [[0], [0, 1], [1]]
    # The other factor is the cotangent, in its own layout or read the other way round.
    assert all(x.flags.c_contiguous or x.flags.f_contiguous for factors in dots for x in factors)
    product = 2 * plain(a, b, transpose_a, transpose_b)
    left, right = (a.T if transpose_a else a), (b.T if transpose_b else b)
    by_a, by_b = product @ right.T, left.T @ product
    np.testing.assert_allclose(got[0], by_a.T if transpose_a else by_a)
    np.testing.assert_allclose(got[1], by_b.T if transpose_b else by_b)


def test_its_parameters_show_compare_and_pickle() -> None:
    text = str(fgrad.make_jaxpr(lambda a, b: matmul(a, b, True))(np.ones((3, 2)), np.ones((3, 4))))
    assert "matmul" in text
    assert "transpose_a=True" in text
    assert Matmul(True) == Matmul(True, False) != Matmul(False)
    assert pickle.loads(pickle.dumps(Matmul(True))) == Matmul(True)
    # Equal applications are computed once.
    twice = fgrad.jit(lambda a, b: matmul(a, b) + matmul(a, b)).lower(
        np.ones((2, 2)), np.ones((2, 2))
    )
    assert twice.source.count("matmul(") == 1
    with pytest.raises(ShapeError, match="3 columns do not fit 2 rows"):
        matmul(np.ones((2, 3)), np.ones((2, 3)))


# ---- the other families --------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Roll(extend.Linear):
    shift: int

    def abstract_eval(self, x: extend.Aval) -> extend.Aval:
        return x

    def impl(self, x: Any) -> Any:
        return np.roll(x, self.shift)

    def transpose(self, ct: Any, needs: Sequence[bool], x: extend.Aval) -> Any:
        return Roll(-self.shift).bind(ct)


class Polar(extend.General):
    """Radius and angle: two results."""

    multiple_results = True

    def abstract_eval(self, x: extend.Aval, y: extend.Aval) -> list[extend.Aval]:
        return [x, x]

    def impl(self, x: Any, y: Any) -> Any:
        return np.hypot(x, y), np.arctan2(y, x)

    def jvp(self, answer: Any, primals: Any, tangents: Any) -> Any:
        (r, _), (x, y), (dx, dy) = answer, primals, tangents
        return (x * dx + y * dy) / r, (x * dy - y * dx) / r**2

    def vjp(self, ct: Any, needs: Any, answer: Any, *args: Any) -> Any:
        raise NotImplementedError


class Norm(extend.General):
    def abstract_eval(self, x: extend.Aval) -> extend.Aval:
        return extend.Aval((), x.dtype)

    def impl(self, x: Any) -> Any:
        return np.sqrt(np.dot(x, x))

    def jvp(self, answer: Any, primals: Any, tangents: Any) -> Any:
        return primals[0] @ tangents[0] / answer

    def vjp(self, ct: Any, needs: Any, answer: Any, x: Any) -> Any:
        return ct * x / answer


class Dot(extend.General):
    """With two operands, of which one may have no tangent."""

    def abstract_eval(self, x: extend.Aval, y: extend.Aval) -> extend.Aval:
        return extend.Aval((), x.dtype)

    def impl(self, x: Any, y: Any) -> Any:
        return x @ y

    def jvp(self, answer: Any, primals: Any, tangents: Any) -> Any:
        return primals[0] @ tangents[1] + tangents[0] @ primals[1]

    def reads(self, needs: Sequence[bool]) -> tuple[bool, Sequence[bool]]:
        return False, (needs[1], needs[0])

    def vjp(self, ct: Any, needs: Any, answer: Any, x: Any, y: Any) -> Any:
        return (ct * y if needs[0] else None, ct * x if needs[1] else None)


class Rank(extend.NonDifferentiable):
    def abstract_eval(self, x: extend.Aval) -> extend.Aval:
        return extend.Aval(x.shape, np.dtype(np.int64))

    def impl(self, x: Any) -> Any:
        return np.argsort(np.argsort(x)).astype(np.int64)


X = np.array([0.3, -1.2, 2.0])


def test_linear_primitive() -> None:
    f = lambda x: Roll(1).bind(x) ** 2  # noqa: E731
    check_grads(f, (X,), 2)
    np.testing.assert_array_equal(Roll(1).bind(X), np.roll(X, 1))
    np.testing.assert_array_equal(fgrad.jit(f)(X), np.roll(X, 1) ** 2)
    many = np.stack([X, 2 * X])
    # Without a batching rule of its own, it runs example by example.
    np.testing.assert_array_equal(fgrad.vmap(Roll(1).bind)(many), np.roll(many, 1, axis=1))
    jacobian = fgrad.vmap(fgrad.jacrev(f))(many)
    np.testing.assert_allclose(jacobian[1], fgrad.jacfwd(f)(many[1]))
    with pytest.raises(ArgumentError, match=r"no examples.*roll.*batch"):
        fgrad.vmap(Roll(1).bind)(np.zeros((0, 3)))


def test_general_primitive() -> None:
    norm = Norm().bind
    check_grads(norm, (X,), 2)
    check_grads(lambda x: fgrad.jit(norm)(x) * x, (X,), 2)
    many = np.stack([X, 2 * X])
    np.testing.assert_allclose(
        fgrad.vmap(fgrad.grad(norm))(many), many / np.linalg.norm(many, axis=1)[:, None]
    )


def test_a_tangent_that_is_zero_comes_as_zeros() -> None:
    dot = Dot().bind
    check_grads(dot, (X, X[::-1]), 2)
    check_grads(lambda x: dot(x, X), (X,), 2)
    np.testing.assert_array_equal(fgrad.grad(dot, argnums=1)(X, 2 * X), X)


def test_multiple_results() -> None:
    polar = Polar().bind
    radius, angle = polar(3.0, 4.0)
    assert (float(radius), float(angle)) == (5.0, np.arctan2(4.0, 3.0))
    check_grads(
        lambda x, y: polar(x, y), (np.array([3.0, 1.0]), np.array([4.0, 0.5])), 2, modes=["fwd"]
    )
    compiled = fgrad.jit(polar)(X, X)
    np.testing.assert_array_equal(compiled[1], np.arctan2(X, X))
    np.testing.assert_array_equal(fgrad.vmap(polar)(X, X)[0], np.hypot(X, X))


def test_primitive_without_derivative() -> None:
    rank = Rank().bind
    np.testing.assert_array_equal(fgrad.grad(lambda x: (rank(x) * x).sum())(X), [1.0, 0.0, 2.0])
    np.testing.assert_array_equal(fgrad.jit(rank)(X), [1, 0, 2])


def test_elementwise_function() -> None:
    softsign = extend.elementwise(
        "test_softsign", lambda x: x / (1 + np.abs(x)), [lambda y, x: 1 / (1 + fnp.abs(x)) ** 2]
    )
    check_grads(softsign, (X,), 2)
    np.testing.assert_allclose(fgrad.jit(softsign)(X), X / (1 + np.abs(X)))
    np.testing.assert_allclose(fgrad.vmap(softsign)(X), softsign(X))
    assert softsign(0.5).weak_type
    assert softsign(X.astype(np.float32)).dtype == np.float32
    assert softsign(3).dtype == np.float64
    weighted = extend.elementwise(
        "test_axpy", lambda a, x, y: a * x + y, [lambda z, a, x, y: x, lambda z, a, x, y: a, 1.0]
    )
    check_grads(weighted, (2.0, X, X.reshape(3, 1)), 2)
    step = extend.elementwise("test_step", np.floor, None)
    np.testing.assert_array_equal(fgrad.grad(lambda x: (step(x) * x).sum())(X), np.floor(X))
    compare = extend.elementwise("test_over", np.greater, None)
    assert compare(X, 0.0).dtype == bool
    # A cotangent of zero absorbs the slope, as everywhere.
    root = extend.elementwise("test_root", np.sqrt, [lambda y, x: 0.5 / y])
    np.testing.assert_array_equal(
        fgrad.grad(lambda x: fnp.where(x > 0, root(x), 0.0).sum())(np.array([0.0, 4.0])), [0, 0.25]
    )


def test_results_share_no_memory_with_operands() -> None:
    class Same(extend.Linear):
        def abstract_eval(self, x: extend.Aval) -> extend.Aval:
            return x

        def impl(self, x: Any) -> Any:
            return x

        def transpose(self, ct: Any, needs: Any, x: Any) -> Any:
            return ct

    x = np.array([1.0, 2.0])
    y = Same().bind(x)
    compiled = fgrad.jit(Same().bind)(x)
    x[0] = 5.0
    np.testing.assert_array_equal(y, [1.0, 2.0])
    np.testing.assert_array_equal(compiled, [1.0, 2.0])
    identity = extend.elementwise("test_identity", lambda v: v, [1.0])
    z = identity(x)
    x[0] = 7.0
    np.testing.assert_array_equal(z, [5.0, 2.0])


def test_a_cotangent_is_brought_to_its_operand() -> None:
    class Stretch(extend.General):
        """x + y for a scalar y, with a rule that forgets to sum."""

        def abstract_eval(self, x: extend.Aval, y: extend.Aval) -> extend.Aval:
            return x

        def impl(self, x: Any, y: Any) -> Any:
            return x + y

        def jvp(self, answer: Any, primals: Any, tangents: Any) -> Any:
            return tangents[0] + tangents[1]

        def vjp(self, ct: Any, needs: Any, answer: Any, x: Any, y: Any) -> Any:
            return ct, ct

    check_grads(Stretch().bind, (X, 2.0), 2)
    assert (
        fgrad.grad(lambda y: Stretch().bind(X.astype(np.float32), y).sum())(np.float32(1.0)).dtype
        == np.float32
    )


# ---- what is wrong is said -----------------------------------------------------------------------


def test_missing_rules() -> None:
    with pytest.raises(MissingRuleError, match="Half is declared without impl, transpose"):

        class Half(extend.Linear):
            def abstract_eval(self, x: extend.Aval) -> extend.Aval:
                return x

    with pytest.raises(MissingRuleError, match="Other is declared without transpose_right"):

        class Other(extend.Bilinear):
            def abstract_eval(self, x: extend.Aval, y: extend.Aval) -> extend.Aval:
                return x

            def impl(self, x: Any, y: Any) -> Any:
                return x * y

            def transpose_left(self, ct: Any, x: Any, y: Any) -> Any:
                return ct * y


def _wrong(**rules: Any) -> Any:
    base = {
        "abstract_eval": lambda self, x: x,
        "impl": lambda self, x: 2 * x,
        "transpose": lambda self, ct, needs, x: 2 * ct,
    }
    return type("Wrong", (extend.Linear,), {**base, **rules})()


def test_wrong_rules() -> None:
    with pytest.raises(ShapeError, match=r"impl of wrong.*\(2,\).*abstract_eval says shape \(3,\)"):
        _wrong(impl=lambda self, x: x[:2]).bind(X)
    with pytest.raises(DTypeError, match=r"impl of wrong.*dtype float32.*dtype float64"):
        _wrong(impl=lambda self, x: x.astype(np.float32)).bind(X)
    with pytest.raises(ArgumentError, match=r"abstract_eval of wrong returned \(3,\)"):
        _wrong(abstract_eval=lambda self, x: x.shape).bind(X)
    short = _wrong(transpose=lambda self, ct, needs, x: ct[:2])
    with pytest.raises(ShapeError, match=r"cotangent 0 of wrong has shape \(2,\), expected \(3,\)"):
        fgrad.grad(lambda x: short.bind(x).sum())(X)
    many = _wrong(transpose=lambda self, ct, needs, x: (ct, ct))
    with pytest.raises(ArgumentError, match="2 cotangents, expected one for each of its 1"):
        fgrad.grad(lambda x: many.bind(x).sum())(X)


def test_unhashable_and_taken_names() -> None:
    @dataclasses.dataclass
    class Mutable(extend.NonDifferentiable):
        n: int

        def abstract_eval(self, x: extend.Aval) -> extend.Aval:
            return x

        def impl(self, x: Any) -> Any:
            return x * self.n

    with pytest.raises(ArgumentError, match=r"mutable cannot be hashed.*frozen=True"):
        Mutable(2).bind(X)
    with pytest.raises(ArgumentError, match="'sin' is a primitive of fgrad"):
        extend.elementwise("sin", np.sin, [1.0])
    with pytest.raises(ArgumentError, match="give arity="):
        extend.elementwise("test_no_arity", lambda x: x, None)
    twice = extend.elementwise("test_twice", lambda x: 2 * x, [2.0])
    with pytest.raises(ArgumentError, match="test_twice takes 1 arguments, got 2"):
        twice(1.0, 2.0)
    with pytest.raises(ShapeError, match=r"test_flat.*shape \(\).*\(3,\)"):
        extend.elementwise("test_flat", np.sum, None, arity=1)(X)
