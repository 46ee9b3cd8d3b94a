"""Values, slopes and dtypes where differentiation libraries are known to go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.gradients import close, gradient, gradients, near
from support.matrices import seeded
from support.modules import beyond_jax, error_class, fgrad, fnp

Shape = tuple[int, ...]

# ---- contractions and broadcasting -----------------------------------------------------------


def test_einsum_sums_back_to_an_operand_that_it_stretched() -> None:
    x, y = np.array([1.5, -2.0, 0.5]), np.array([3.0])

    def f(a: Any, b: Any) -> Any:
        return fnp.einsum("k,k->", a, b)

    close(f(x, y), np.einsum("k,k->", x, y))
    by_x, by_y = fgrad.grad(f, argnums=(0, 1))(x, y)
    close(by_x, np.full(3, 3.0))
    close(by_y, np.array([x.sum()]))


@pytest.mark.parametrize(
    ("subscripts", "shape"),
    [("pqr->q", (2, 3, 4)), ("iij->j", (3, 3, 2)), ("ii->i", (3, 3)), ("ab->", (2, 3))],
)
def test_einsum_of_one_operand_with_summed_or_repeated_labels(
    subscripts: str, shape: Shape
) -> None:
    x = seeded(subscripts).normal(size=shape)

    def loss(xp: Any) -> Callable[[Any], Any]:
        return lambda a: xp.sum(xp.einsum(subscripts, a) ** 3)

    near(fgrad.grad(loss(fnp))(x), gradient(loss(np), x))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((4,), (4,)),
        ((4,), (4, 2)),
        ((3, 4), (4,)),
        ((4,), (5, 4, 2)),
        ((5, 3, 4), (4,)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((3, 4), (2, 4, 1)),
    ],
)
def test_matmul_of_unlike_ranks(left: Shape, right: Shape) -> None:
    rng = seeded(f"matmul {left} {right}")
    a, b = rng.normal(size=left), rng.normal(size=right)
    product = np.matmul(a, b)
    weights = rng.normal(size=product.shape)

    def loss(xp: Any) -> Callable[[Any, Any], Any]:
        return lambda p, q: xp.sum(xp.matmul(p, q) * weights)

    for got, want in zip(
        fgrad.grad(loss(fnp), (0, 1))(a, b), gradients(loss(np), a, b), strict=True
    ):
        near(got, want)
    # A bilinear function along its own operands moves by twice its value.
    close(fgrad.jvp(loss(fnp), (a, b), (a, b))[1], 2 * (product * weights).sum())


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [
        ("kron", (2,), (3,)),
        ("kron", (2, 2), (3,)),
        ("outer", (2, 2), (3,)),
        ("inner", (2, 3), (4, 3)),
        ("inner", (3,), (2, 3)),
        ("dot", (), (3,)),
        ("dot", (2, 3), (4, 3, 2)),
        ("vdot", (2, 2), (4,)),
        ("cross", (2, 3), (3,)),
    ],
)
def test_products_of_unlike_ranks(name: str, left: Shape, right: Shape) -> None:
    rng = seeded(f"{name} {left} {right}")
    a, b = np.asarray(rng.normal(size=left)), rng.normal(size=right)
    weights = rng.normal(size=np.shape(getattr(np, name)(a, b)))

    def loss(xp: Any) -> Callable[[Any, Any], Any]:
        return lambda p, q: xp.sum(getattr(xp, name)(p, q) * weights)

    for got, want in zip(
        fgrad.grad(loss(fnp), (0, 1))(a, b), gradients(loss(np), a, b), strict=True
    ):
        near(got, want)


ELEMENTWISE = (
    "add",
    "arctan2",
    "divide",
    "hypot",
    "logaddexp",
    "maximum",
    "multiply",
    "power",
)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize(
    ("small", "large"), [((), (2, 3)), ((1,), (2, 3)), ((2, 1), (1, 3)), ((3,), (2, 3))]
)
def test_gradients_have_the_shapes_of_operands_that_were_stretched(
    name: str, small: Shape, large: Shape
) -> None:
    rng = seeded(f"{name} {small} {large}")
    # The ranges do not meet: maximum has a kink where its operands are equal.
    a, b = np.asarray(1.0 + rng.random(small)), 2.5 + rng.random(large)

    def loss(xp: Any) -> Callable[[Any, Any], Any]:
        return lambda p, q: xp.sum(getattr(xp, name)(p, q))

    for x, y in ((a, b), (b, a)):
        for got, want in zip(
            fgrad.grad(loss(fnp), (0, 1))(x, y), gradients(loss(np), x, y), strict=True
        ):
            near(got, want)


@pytest.mark.parametrize(
    ("name", "shape", "arguments"),
    [
        ("broadcast_to", (3,), ((2, 3),)),
        ("broadcast_to", (2, 1), ((4, 2, 3),)),
        ("broadcast_to", (), ((2,),)),
        ("tile", (3,), ((2, 2),)),
        ("repeat", (3,), (2,)),
        ("reshape", (6,), ((2, -1),)),
        ("roll", (5,), (2,)),
        ("atleast_2d", (3,), ()),
    ],
)
def test_copied_and_moved_entries_collect_their_gradients(
    name: str, shape: Shape, arguments: tuple[Any, ...]
) -> None:
    rng = seeded(f"{name} {shape}")
    x = np.asarray(rng.random(shape) + 0.5)
    weights = rng.random(getattr(np, name)(x, *arguments).shape)

    def loss(xp: Any) -> Callable[[Any], Any]:
        return lambda a: xp.sum(getattr(xp, name)(a, *arguments) ** 2 * weights)

    near(fgrad.grad(loss(fnp))(x), gradient(loss(np), x))


def test_products_over_an_axis_of_size_zero_have_empty_gradients() -> None:
    a, b = np.zeros((3, 0)), np.zeros((0, 2))
    by_a, by_b = fgrad.grad(lambda p, q: fnp.sum(p @ q + 1.0), (0, 1))(a, b)
    close(by_a, a)
    close(by_b, b)


def test_empty_selections_have_gradients() -> None:
    none = np.zeros((0,), int)

    def f(v: Any) -> Any:
        return fnp.prod(fnp.take(v, none)) * v[1]

    x = np.array([2.0, 3.0, 5.0])
    close(f(fnp.asarray(x)), 3.0)
    close(fgrad.grad(f)(x), np.array([0.0, 1.0, 0.0]))
    close(fgrad.jacrev(lambda u: fnp.zeros(0).at[none].add(u))(np.zeros(0)), np.zeros((0, 0)))


# ---- complex numbers -------------------------------------------------------------------------


def modulus(xp: Any) -> Callable[[Any], Any]:
    return lambda w: xp.abs(w)


def root_of_squares(xp: Any) -> Callable[[Any], Any]:
    return lambda w: xp.sqrt(xp.real(w) ** 2 + xp.imag(w) ** 2)


@pytest.mark.parametrize("spelling", [modulus, root_of_squares])
def test_the_gradient_of_the_modulus_does_not_depend_on_its_spelling(spelling: Any) -> None:
    z = np.array(-0.7 + 2.4j)
    close(fgrad.grad(spelling(fnp))(z), z.conj() / np.abs(z))
    near(fgrad.grad(spelling(fnp))(z), gradient(spelling(np), z))


HOLOMORPHIC = {
    "sin": np.cos,
    "exp": np.exp,
    "tanh": lambda z: 1.0 / np.cosh(z) ** 2,
    "sqrt": lambda z: 0.5 / np.sqrt(z),
    "log": lambda z: 1.0 / z,
}


@pytest.mark.parametrize("name", HOLOMORPHIC)
@pytest.mark.parametrize("transform", ["grad", "jacfwd", "jacrev"])
def test_holomorphic_functions_have_one_derivative_in_all_modes(transform: str, name: str) -> None:
    z = np.array(0.4 + 0.9j)
    derivative = getattr(fgrad, transform)(getattr(fnp, name), holomorphic=True)
    close(derivative(z), HOLOMORPHIC[name](z))


# ---- not-a-number and infinity ---------------------------------------------------------------


def test_a_where_around_a_guarded_branch_has_clean_slopes() -> None:
    def f(x: Any) -> Any:
        inside = x > 1
        return fnp.where(inside, fnp.sqrt(fnp.where(inside, x, 1.0)), x)

    for x, slope in ((0.0, 1.0), (-2.0, 1.0), (4.0, 0.25)):
        close(fgrad.grad(f)(x), slope)
        close(fgrad.jvp(f, (x,), (1.0,))[1], slope)


def left_of_a_root(x: Any) -> Any:
    return fnp.where(x > -1.0, 3.0 * x, fnp.sqrt(x))


@beyond_jax("a zero cotangent times an infinite slope is not-a-number")
@pytest.mark.parametrize("transform", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("x", [0.0, -0.5])
def test_a_where_has_the_slope_of_the_branch_that_it_chose(transform: Any, x: float) -> None:
    with np.errstate(invalid="ignore"):  # the other branch is computed, and has no value
        close(transform(fgrad.grad(left_of_a_root))(x), 3.0)


@beyond_jax("a zero cotangent times an infinite slope is not-a-number")
@pytest.mark.parametrize("transform", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
def test_a_mapped_where_has_the_slope_of_the_branch_of_each_row(transform: Any) -> None:
    xs = np.array([0.0, -0.5])
    with np.errstate(invalid="ignore"):
        close(transform(fgrad.vmap(fgrad.grad(left_of_a_root)))(xs), np.full(2, 3.0))


@pytest.mark.parametrize("transform", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
def test_slopes_of_a_power_whose_base_is_zero(transform: Any) -> None:
    slopes = transform(fgrad.grad(lambda a, b: fnp.power(a, b), (0, 1)))
    for exponent, by_base in ((1.0, 1.0), (2.0, 0.0), (3.0, 0.0)):
        close(slopes(0.0, exponent)[0], by_base)
    for exponent in (0.5, 1.0, 2.0):
        close(slopes(0.0, exponent)[1], 0.0)


@beyond_jax("the slope is 0 * 0**-1, which is not-a-number")
def test_a_power_whose_exponent_is_zero_does_not_move_with_its_base() -> None:
    close(fgrad.grad(fnp.power)(0.0, 0.0), 0.0)
    bases, exponents = np.array([0.0, 3.0]), np.zeros(2)
    close(fgrad.jvp(lambda a: fnp.power(a, exponents), (bases,), (np.ones(2),))[1], np.zeros(2))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4])
def test_all_derivatives_of_an_integer_power_at_zero(exponent: int) -> None:
    def derivative(x: Any) -> Any:
        return x**exponent

    factorial = 1.0
    for order in range(1, exponent + 2):
        derivative = fgrad.grad(derivative)
        factorial *= order
        close(derivative(0.0), factorial if order == exponent else 0.0)


@beyond_jax("the slope of the norm at zero is not-a-number")
def test_the_square_of_the_norm_is_flat_at_zero() -> None:
    close(fgrad.grad(lambda v: fnp.linalg.norm(v) ** 2)(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize(
    ("a", "b", "slopes"),
    [
        (-np.inf, 1.0, (0.0, 1.0)),
        (1.0, -np.inf, (1.0, 0.0)),
        (0.0, 0.0, (0.5, 0.5)),
        (1000.0, -1000.0, (1.0, 0.0)),
    ],
)
def test_logaddexp_far_from_the_middle(a: float, b: float, slopes: tuple[float, float]) -> None:
    close(fnp.logaddexp(a, b), np.logaddexp(a, b))
    for got, want in zip(fgrad.grad(fnp.logaddexp, (0, 1))(a, b), slopes, strict=True):
        close(got, want)
    close(fgrad.jvp(fnp.logaddexp, (a, b), (1.0, 1.0))[1], 1.0)


@beyond_jax("the slopes at infinity are not-a-number, or add to more than one")
@pytest.mark.parametrize("x", [-np.inf, np.inf])
def test_slopes_of_logaddexp_at_infinity_add_to_one(x: float) -> None:
    def f(u: Any) -> Any:
        return fnp.logaddexp(u, u)

    close(f(x), x)
    close(fgrad.grad(f)(x), 1.0)
    by_first, by_second = fgrad.grad(fnp.logaddexp, (0, 1))(np.inf, 1.0)
    close(by_first, 1.0)
    close(by_second, 0.0)


@pytest.mark.parametrize("name", ["max", "min"])
def test_tied_extrema_share_one_unit_of_gradient_in_both_modes(name: str) -> None:
    x = np.array([[1.0, 5.0, 5.0], [2.0, 2.0, 2.0], [0.0, 0.0, 9.0]])
    best = x == getattr(np, name)(x, axis=1, keepdims=True)

    def f(a: Any) -> Any:
        return getattr(fnp, name)(a, axis=1)

    shares = np.asarray(fgrad.grad(lambda a: fnp.sum(f(a)))(x))
    assert (shares >= 0).all()
    assert (shares[~best] == 0).all()
    close(shares.sum(axis=1), np.ones(3))
    tangent = seeded(name).normal(size=(3, 3))
    close(fgrad.jvp(f, (x,), (tangent,))[1], (shares * tangent).sum(axis=1))


@pytest.mark.parametrize(
    ("x", "slopes"),
    [
        ([2.0, 0.0, 3.0, 4.0], [1.0, 32.0, 0.0, 0.0]),
        ([0.0, 2.0, 3.0], [9.0, 0.0, 0.0]),
        ([2.0, 0.0, 0.0, 3.0], [1.0, 2.0, 0.0, 0.0]),
        ([0.0], [1.0]),
    ],
)
@pytest.mark.parametrize("transform", ["grad", "jacfwd"])
def test_cumulative_products_have_slopes_past_zeros(
    transform: str, x: list[float], slopes: list[float]
) -> None:
    derivative = getattr(fgrad, transform)(lambda a: fnp.sum(fnp.cumprod(a)))
    close(derivative(np.array(x)), np.array(slopes))


def test_sinc_bends_at_zero() -> None:
    # The series of sinc begins with 1 - (pi x)**2 / 6.
    curvature = -(np.pi**2) / 3
    second = fgrad.grad(fgrad.grad(fnp.sinc))
    close(fgrad.grad(fnp.sinc)(0.0), 0.0)
    close(second(0.0), curvature)
    close(fgrad.jacfwd(fgrad.jacfwd(fnp.sinc))(0.0), curvature)
    close(fgrad.vmap(second)(np.array([0.0, 0.5]))[0], curvature)


# ---- dtypes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x", [2, np.int32(2), np.array([1, 2]), True], ids=["int", "int32", "int64 array", "bool"]
)
def test_integers_have_no_gradient_unless_asked_for(x: Any) -> None:
    kind = error_class("DifferentiationTypeError", TypeError)
    with pytest.raises(kind, match=r"int|bool"):
        fgrad.grad(lambda v: fnp.sum(fnp.tanh(v)))(x)


IN_SINGLE_PRECISION: dict[str, Callable[[Any], Any]] = {
    "Python numbers": lambda x: fnp.sum(0.5 * x**2 + 3 * x - 1 / (2.0 + x * x)),
    "integers": lambda x: fnp.sum(x * 3 // 1 * 0.5 + x / 2),
    "mean": lambda x: fnp.mean(x * x),
    "var": lambda x: fnp.var(x),
    "std": lambda x: fnp.std(x),
    "power": lambda x: fnp.sum(x**1.5),
    "where": lambda x: fnp.sum(fnp.where(x > 1, x, 0.0)),
    "clip": lambda x: fnp.sum(fnp.clip(x, 0.5, 1.5)),
    "softplus": lambda x: fnp.sum(fnp.logaddexp(x, 0.0)),
}


@pytest.mark.parametrize("name", IN_SINGLE_PRECISION)
def test_single_precision_stays_single(name: str) -> None:
    f = IN_SINGLE_PRECISION[name]
    x = np.array([0.7, 1.2, 2.1], np.float32)
    value, slopes = fgrad.value_and_grad(f)(x)
    results = {
        "value": value,
        "grad": slopes,
        "jit": fgrad.jit(f)(x),
        "jvp": fgrad.jvp(f, (x,), (x,))[1],
        "vmap": fgrad.vmap(f)(np.stack([x, x])),
        "hessian": fgrad.hessian(f)(x),
    }
    assert {key: str(found.dtype) for key, found in results.items()} == dict.fromkeys(
        results, "float32"
    )


SMALL, OTHER = np.array([3, 250], np.uint8), np.array([5, 10], np.uint8)
SIGNED = np.array([-4, -3, 3, 4])
INTEGER_ARITHMETIC: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any]] = {
    "unsigned difference wraps": (lambda a, b: a - b, (SMALL, OTHER), SMALL - OTHER),
    "a Python int takes the dtype": (lambda a: a + 10, (SMALL,), SMALL + np.uint8(10)),
    "division rounds down": (lambda a: a // 2, (SIGNED,), np.array([-2, -2, 1, 2])),
    "remainder has the divisor's sign": (lambda a: a % 3, (SIGNED,), np.array([2, 0, 0, 1])),
    "running sum": (lambda a: fnp.cumsum(a), (np.array([1, 2]),), np.array([1, 3])),
    "logical and": (lambda a: a & True, (np.array([True, False]),), np.array([True, False])),
}


@pytest.mark.parametrize("transform", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("name", INTEGER_ARITHMETIC)
def test_integer_arithmetic_is_that_of_numpy(name: str, transform: Any) -> None:
    function, operands, want = INTEGER_ARITHMETIC[name]
    got = np.asarray(transform(function)(*map(fnp.asarray, operands)))
    np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize("transform", [lambda f: f, fgrad.jit], ids=["plain", "jit"])
def test_integers_become_floats_where_they_must(transform: Any) -> None:
    mean = transform(fnp.mean)(np.array([250, 254], np.uint8))
    assert mean.dtype.kind == "f"
    assert float(mean) == 252.0  # the sum does not wrap
    scaled = transform(lambda a: a * 2.5)(fnp.asarray(SMALL))
    assert scaled.dtype.kind == "f"
    np.testing.assert_array_equal(np.asarray(scaled), [7.5, 625.0])
    assert int(transform(fnp.sum)(np.array([True, True]))) == 2
