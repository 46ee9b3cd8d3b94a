"""Special functions: values are SciPy's, slopes those of mathematics, at the edges too."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from support import samples
from support.modules import jax

import fgrad
import fgrad.random
import fgrad.scipy.special  # both declare primitives that the tables of these tests name
from fgrad.array import value, wrap
from fgrad.errors import DTypeError, NonDifferentiableError
from fgrad.primitives import special
from fgrad.primitives.families import SINGLETONS
from fgrad.primitives.incomplete_gamma import gammainc_slope
from fgrad.primitives.incomplete_gamma_curvature import gammainc_curvature
from fgrad.test_util import check_grads

NAMES = sorted(
    name
    for name, primitive in vars(special).items()
    if isinstance(primitive, special.SpecialFunction)
)


def on_arrays(name: str) -> Callable[..., Any]:
    """The primitive as a function of arrays."""
    primitive = SINGLETONS[name]
    return lambda *xs: wrap(primitive(*[value(x) for x in xs]))


def operands(name: str, seed: int = 0, dtype: str = "float64", count: int = 50) -> list[Any]:
    rng = np.random.default_rng(seed)
    primitive = SINGLETONS[name]
    domains = samples.DOMAINS.get(name, (samples.normal,) * primitive.arity)
    xs = [domain(rng, (count,)).astype(dtype) for domain in domains]
    for n in samples.ORDERS.get(name, ()):
        xs[n] = rng.integers(0, 4, size=count)
    return xs


def scipy_function(name: str) -> Callable[..., Any]:
    return getattr(sp, getattr(special, name).scipy_name, None)  # type: ignore[return-value]


# ---- values, types, laziness -------------------------------------------------------------------


def test_scipy_is_imported_when_first_needed() -> None:
    program = (
        "import sys, fgrad\n"
        "assert 'scipy.special' not in sys.modules, 'import fgrad imports scipy'\n"
        "f = lambda x: fgrad.lax.erf(x)\n"
        "fgrad.make_jaxpr(fgrad.grad(f))(1.0)\n"
        "assert 'scipy.special' not in sys.modules, 'tracing imports scipy'\n"
        "fgrad.grad(f)(1.0), f(1.0)\n"
        "assert 'scipy.special' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [n for n in NAMES if scipy_function(n) is not None])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_are_those_of_scipy(name: str, dtype: str) -> None:
    xs = operands(name, dtype=dtype)
    cast = [x.astype(dtype) for x in xs]
    got = on_arrays(name)(*cast)
    if name == "wofz":
        # SciPy has no real loop, and takes the widest one.
        expected = sp.wofz(cast[0].astype(np.result_type(dtype, np.complex64)))
    else:
        expected = scipy_function(name)(*(xs if name == "polygamma" else cast))
    assert got.dtype == np.result_type(dtype, np.complex64 if name == "wofz" else dtype)
    if name == "polygamma":
        # SciPy's own promotes to float64.
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_functions_compute_the_same(name: str) -> None:
    xs = operands(name)
    np.testing.assert_array_equal(fgrad.jit(on_arrays(name))(*xs), on_arrays(name)(*xs))


def test_result_dtypes() -> None:
    erf, xlogy = on_arrays("erf"), on_arrays("xlogy")
    for dtype, expected in (
        ("float16", "float16"),
        ("float32", "float32"),
        ("complex64", "complex64"),
        ("complex128", "complex128"),
        ("int8", "float64"),
        ("bool", "float64"),
    ):
        assert erf(np.ones(2, dtype)).dtype == expected
    assert erf(0.5).weak_type
    assert erf(1).weak_type
    assert erf(1).dtype == np.float64
    assert not erf(np.float64(0.5)).weak_type
    assert xlogy(2.0, np.ones(2, np.float32)).dtype == np.float32
    assert xlogy(np.float64(2.0), np.ones(2, np.float32)).dtype == np.float64
    assert on_arrays("polygamma")(1, np.ones(2, np.float32)).dtype == np.float32
    assert on_arrays("jv")(1, np.ones(2, np.complex64)).dtype == np.complex64
    with pytest.raises(DTypeError, match=r"erfinv.*argument 0 is complex.*complex128"):
        on_arrays("erfinv")(1j)
    with pytest.raises(DTypeError, match=r"jv.*argument 0 is complex"):
        on_arrays("jv")(1j, 1.0)


@pytest.mark.parametrize("name", sorted(special.SCIPY_UFUNCS))
def test_scipys_own_ufuncs_keep_scipys_dtypes(name: str) -> None:
    ufunc = getattr(sp, name)
    function = special.SCIPY_UFUNCS[name]
    kinds: list[Any] = [np.float64, np.float32, np.float16, np.int64, np.int8]
    for kind in kinds:
        xs: list[Any] = [kind(1)] * ufunc.nin
        with np.errstate(all="ignore"):
            expected = ufunc(*xs)
            got = function(*xs)
        assert got.dtype == expected.dtype, kind
        # expit is SciPy's in a shape of its own: the last bit may differ.
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(expected.dtype).eps)
    if ufunc.nin == 2:
        mixed = [1.0, np.ones(2, np.float32)]
        assert function(*mixed).dtype == ufunc(*mixed).dtype


def test_primitives_pickle_by_name() -> None:
    assert pickle.loads(pickle.dumps(special.erf)) is special.erf


def test_float16_is_computed_in_float32() -> None:
    x = np.linspace(-2, 2, 9, dtype=np.float16)
    expected = sp.erf(x.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(on_arrays("erf")(x), expected)


# ---- derivatives ---------------------------------------------------------------------------------


def known(name: str, xs: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The function of the operands towards which slopes are known, and these."""
    fixed = {*samples.ORDERS.get(name, ()), *samples.UNKNOWN.get(name, ())}
    moving = [n for n in range(len(xs)) if n not in fixed]

    def function(*moved: Any) -> Any:
        full = list(xs)
        for n, x in zip(moving, moved, strict=True):
            full[n] = x
        return on_arrays(name)(*full)

    return function, [xs[n] for n in moving]


SMOOTH = [name for name in NAMES if getattr(special, name).differentiable]


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_against_differences(name: str) -> None:
    function, xs = known(name, operands(name, seed=1, count=6))
    order = samples.REAL_ORDER.get(name, 2)
    loose = 1e-5 if "inv" in name or name == "hyp2f1" else None
    check_grads(function, tuple(xs), order, atol=loose, rtol=loose)


@pytest.mark.parametrize(
    "name", ["erf", "erfc", "erfi", "erfcx", "dawsn", "wofz", "ndtr", "gamma", "loggamma"]
)
def test_complex_derivatives_against_differences(name: str) -> None:
    rng = np.random.default_rng(2)
    z = rng.uniform(0.4, 1.5, size=5) + 1j * rng.normal(size=5)
    check_grads(on_arrays(name), (z,), 1)


@pytest.mark.parametrize("name", sorted({*samples.UNKNOWN, *samples.ORDERS}))
def test_unknown_slopes_say_so(name: str) -> None:
    xs = [np.asarray(x, np.float64) for x in operands(name, count=3)]
    for n in (*samples.UNKNOWN.get(name, ()), *samples.ORDERS.get(name, ())):

        def towards(x: Any, n: int = n) -> Any:
            return on_arrays(name)(*xs[:n], x, *xs[n + 1 :]).sum()

        with pytest.raises(NonDifferentiableError, match=r"no derivative towards|is not known"):
            fgrad.grad(towards)(xs[n])
        with pytest.raises(NonDifferentiableError, match=r"no derivative towards|is not known"):
            fgrad.jvp(towards, (xs[n],), (np.ones(3),))


def slope(name: str, *xs: Any, argnum: int = 0, order: int = 1) -> float:
    function = on_arrays(name)
    for _ in range(order):
        function = fgrad.grad(function, argnums=argnum)
    return float(function(*xs))


INF = float("inf")


@pytest.mark.parametrize(
    ("name", "xs", "argnum", "order", "expected"),
    [
        # tails and ends
        ("log_ndtr", (-1e8,), 0, 1, 1e8),
        ("log_ndtr", (-INF,), 0, 1, INF),
        ("log_ndtr", (INF,), 0, 1, 0.0),
        ("log_ndtr", (10.0,), 0, 1, float(mpmath.npdf(10) / mpmath.ncdf(10))),
        ("log_ndtr", (-20.0,), 0, 1, float(mpmath.npdf(-20) / mpmath.ncdf(-20))),
        ("erf", (INF,), 0, 1, 0.0),
        ("erfinv", (1.0,), 0, 1, INF),
        ("log_expit", (-INF,), 0, 1, 1.0),
        ("log_expit", (INF,), 0, 1, 0.0),
        ("log_expit", (-1000.0,), 0, 1, 1.0),
        ("logit", (0.0,), 0, 1, INF),
        # the origin of Bessel functions, where f(x)/x would be 0/0
        ("i1", (0.0,), 0, 1, 0.5),
        ("i1", (0.0,), 0, 2, 0.0),
        ("i1", (0.0,), 0, 3, 0.375),
        ("i0", (0.0,), 0, 2, 0.5),
        ("j1", (0.0,), 0, 1, 0.5),
        ("j0", (0.0,), 0, 2, -0.5),
        ("j0", (0.0,), 0, 4, 0.375),
        ("i0e", (0.0,), 0, 1, 0.0),
        # poles and their mirror images
        ("rgamma", (0.0,), 0, 1, 1.0),
        ("rgamma", (-2.0,), 0, 1, 2.0),
        ("rgamma", (-3.0,), 0, 1, -6.0),
        ("rgamma", (-2.0,), 0, 2, float(mpmath.diff(mpmath.rgamma, -2, 2))),
        ("gammaln", (-0.5,), 0, 1, float(mpmath.psi(0, -0.5))),
        ("digamma", (-0.5,), 0, 1, float(mpmath.psi(1, mpmath.mpf(-0.5)))),
        # products with a logarithm at zero
        ("xlogy", (0.0, 0.0), 1, 1, 0.0),
        ("xlogy", (0.0, 2.0), 0, 1, float(np.log(2.0))),
        ("xlogy", (2.0, 0.0), 1, 1, INF),
        ("xlog1py", (0.0, -1.0), 1, 1, 0.0),
        ("entr", (0.0,), 0, 1, INF),
        ("rel_entr", (0.0, 0.0), 1, 1, 0.0),
        ("rel_entr", (0.0, 2.0), 1, 1, 0.0),
        ("kl_div", (0.0, 0.0), 1, 1, 1.0),
        ("kl_div", (0.0, 2.0), 1, 1, 1.0),
        # densities at the end of their interval
        ("gammainc", (1.0, 0.0), 1, 1, 1.0),
        ("gammainc", (2.0, 0.0), 1, 1, 0.0),
        ("gammainc", (2.0, 0.0), 1, 2, 1.0),
        ("gammainc", (3.0, 0.0), 1, 3, 1.0),
        ("gammainc", (0.5, 0.0), 1, 1, INF),
        ("gammainc", (2.0, INF), 1, 1, 0.0),
        ("gammainc", (2.0, 0.0), 0, 1, 0.0),
        ("betainc", (1.0, 1.0, 0.0), 2, 1, 1.0),
        ("betainc", (2.0, 1.0, 0.0), 2, 1, 0.0),
        ("betainc", (2.0, 1.0, 0.0), 2, 2, 2.0),
        ("betainc", (1.0, 2.0, 1.0), 2, 1, 0.0),
        ("expn", (0, 2.0), 1, 1, float(mpmath.diff(lambda x: mpmath.expint(0, x), 2))),
        ("expn", (1, 2.0), 1, 1, float(-mpmath.expint(0, 2))),
        ("polygamma", (0, 2.0), 1, 1, float(mpmath.psi(1, 2))),
        ("polygamma", (2, 2.0), 1, 1, float(mpmath.psi(3, 2))),
    ],
)
def test_slopes_at_edges(name: str, xs: Any, argnum: int, order: int, expected: float) -> None:
    got = slope(name, *xs, argnum=argnum, order=order)
    assert got == pytest.approx(expected, rel=2e-12, abs=1e-13)


def test_mixed_derivative_of_xlogy_at_zero() -> None:
    # d/dx (x / y) = 1 / y, also where the slope x / y is zero.
    inner = fgrad.grad(on_arrays("xlogy"), argnums=1)
    assert float(fgrad.grad(inner)(0.0, 2.0)) == 0.5
    assert float(fgrad.grad(fgrad.grad(on_arrays("xlogy")), argnums=1)(0.0, 2.0)) == 0.5


def tail_slope(a: float, x: float) -> float:
    """``d/da P(a, x)`` by differences of the small one of P and Q in 40 digits."""
    ends = (0, x) if x < a else (x, mpmath.inf)
    sign = 1 if x < a else -1
    with mpmath.workdps(40):
        step = mpmath.mpf(10) ** -12
        return float(
            sign * mpmath.diff(lambda t: mpmath.gammainc(t, *ends, regularized=True), a, h=step)
        )


@pytest.mark.parametrize("a", [1e-6, 0.3, 1.0, 2.5, 57.3, 900.0, 1200.0, 5e3])
def test_slope_of_the_incomplete_gamma_function_towards_a(a: float) -> None:
    spread = np.sqrt(a) if a > 1 else 1.0
    for x in (0.8 * a, a, a + 0.5 * spread, a + 6 * spread):
        assert float(gammainc_slope(a, x)) == pytest.approx(tail_slope(a, x), rel=5e-10, abs=1e-280)


def tail_curvature(a: float, x: float) -> float:
    """``d^2/da^2 P(a, x)`` by differences of the small one of P and Q in 60 digits."""
    ends = (0, x) if x < a else (x, mpmath.inf)
    sign = 1 if x < a else -1
    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -12 * a
        return float(
            sign * mpmath.diff(lambda t: mpmath.gammainc(t, *ends, regularized=True), a, 2, h=step)
        )


@pytest.mark.parametrize("a", [1e-6, 0.3, 1.0, 2.5, 57.3, 900.0, 1200.0, 5e3])
def test_second_derivative_of_the_incomplete_gamma_function_towards_a(a: float) -> None:
    spread = np.sqrt(a) if a > 1 else 1.0
    for x in (1e-3 * a, 0.8 * a, a, a + 0.5 * spread, a + 6 * spread):
        expected = tail_curvature(a, x)
        # Relative to the scale of P, since the derivative passes through zero.
        scale = 1e-11 * min(1.0, abs(tail_slope(a, x)) / spread)
        got = float(gammainc_curvature(a, x))
        assert got == pytest.approx(expected, rel=5e-10, abs=scale + 1e-280)


@pytest.mark.parametrize("function", [gammainc_slope, gammainc_curvature])
def test_slope_towards_a_does_not_depend_on_its_neighbours(function: Callable[..., Any]) -> None:
    a = np.array([0.3, 5.0, 900.0, 2e3])
    x = np.array([2.0, 0.01, 950.0, 2e3])
    together = function(a, x)
    alone = [float(function(*pair)) for pair in zip(a, x, strict=True)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("function", [gammainc_slope, gammainc_curvature])
def test_slope_towards_a_at_its_ends_and_outside(function: Callable[..., Any]) -> None:
    got = function([1.0, 1.0, -1.0, 1.0, np.inf], [0.0, np.inf, 1.0, -1.0, 1.0])
    np.testing.assert_array_equal(got, [0.0, 0.0, np.nan, np.nan, np.nan])


JAX_NAMES = {
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "gammaln": "gammaln",
    "digamma": "digamma",
    "gamma": "gamma",
    "betaln": "betaln",
    "ndtr": "ndtr",
    "ndtri": "ndtri",
    "log_ndtr": "log_ndtr",
    "logit": "logit",
    "i0": "i0",
    "i0e": "i0e",
    "i1": "i1",
    "i1e": "i1e",
    "xlogy": "xlogy",
    "xlog1py": "xlog1py",
    "entr": "entr",
    "rel_entr": "rel_entr",
    "kl_div": "kl_div",
    "gammainc": "gammainc",
    "gammaincc": "gammaincc",
}


@pytest.mark.parametrize("name", sorted(JAX_NAMES))
def test_values_and_slopes_are_those_of_jax(name: str) -> None:
    theirs = getattr(jax.scipy.special, JAX_NAMES[name])
    xs = operands(name, seed=4, count=8)
    tangents = [np.random.default_rng(5).normal(size=8) for _ in xs]
    ours = fgrad.jvp(on_arrays(name), tuple(xs), tuple(tangents))
    wanted = jax.jvp(theirs, tuple(xs), tuple(tangents))
    for got, expected in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9)


# ---- SciPy's functions on traced values --------------------------------------------------------------


def test_scipys_own_ufuncs_take_traced_values() -> None:
    x = np.array([0.3, 1.2])
    assert float(fgrad.grad(sp.erf)(0.5)) == pytest.approx(2 / np.sqrt(np.pi) * np.exp(-0.25))
    np.testing.assert_array_equal(fgrad.jit(sp.gammaln)(x), sp.gammaln(x))
    np.testing.assert_array_equal(fgrad.vmap(lambda v: sp.jv(2, v))(x), sp.jv(2, x))
    np.testing.assert_allclose(
        fgrad.grad(lambda v: sp.xlogy(v, 2 * v).sum())(x), np.log(2 * x) + 1, rtol=1e-14
    )
    assert fgrad.jit(sp.expit)(x.astype(np.float32)).dtype == np.float32
    # Eager, traced and SciPy's own agree in the dtype, also where SciPy widens.
    half = np.ones(2, np.float16)
    assert fgrad.jit(sp.erf)(half).dtype == sp.erf(half).dtype


@pytest.mark.parametrize("order", [1, 2, 3])
def test_polygamma_of_small_orders_to_the_last_digits(order: int) -> None:
    rng = np.random.default_rng(order)
    x = np.concatenate([10.0 ** rng.uniform(-8, 8, 60), rng.uniform(0.1, 30.0, 60)])
    with mpmath.workdps(30):
        want = [float(mpmath.psi(order, mpmath.mpf(float(v)))) for v in x]
    got = on_arrays("polygamma")(float(order), x)
    np.testing.assert_allclose(got, want, rtol=3e-15)
    edges = np.array([np.inf, 1e-200, np.nan])
    limits = [0.0, (-1.0) ** (order + 1) * np.inf, np.nan]
    np.testing.assert_array_equal(on_arrays("polygamma")(float(order), edges), limits)
