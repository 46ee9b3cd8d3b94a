"""Special functions where arguments are extreme: values by SciPy, slopes by many digits."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fgrad
from fgrad.scipy import special

UNARY = (
    "erf erfc erfcx erfi dawsn ndtr log_ndtr expit i0 i1 i0e i1e erfinv erfcinv ndtri ndtri_exp logit gamma "
    "gammaln digamma entr exp1 expi spence loggamma gammasgn rgamma log_expit j0 j1 y0 y1 k0 k1 k0e k1e factorial"
).split()
BINARY = "beta betaln poch gammainc gammaincc xlogy xlog1py rel_entr kl_div boxcox".split()
#: Each has several numbers.
EXAMPLES = max(1, settings.default.max_examples // 5)
NAMES = {"digamma": "psi", "dawsn": "dawsn"}

_MAGNITUDES = st.one_of(
    st.floats(1e-300, 1e300),
    st.builds(lambda e, m: m * 10.0**e, st.integers(-300, 299), st.floats(1.0, 9.99)),
    st.floats(1e-3, 1e3),
    st.sampled_from([0.0, 5e-324, 0.5, 1.0, 170.6, 171.7, 709.8, 1e16, np.inf]),
    st.integers(0, 200).map(float),
)
NUMBERS = st.one_of(_MAGNITUDES, _MAGNITUDES.map(lambda x: -x), st.just(np.nan))


def agree(got: Any, want: Any, what: str) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, what
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-307, err_msg=what)


@functools.cache
def forms(name: str) -> dict[str, Any]:
    """The function under transforms, each made once."""
    ours = getattr(special, name)
    tried = {"jit": fgrad.jit(ours), "vmap": fgrad.vmap(ours)}
    # The slopes of these towards one argument are sums that take long far out.
    if name not in ("gammainc", "gammaincc", "boxcox"):
        tried["jvp"] = lambda *args: fgrad.jvp(ours, args, tuple(map(np.ones_like, args)))[0]
    return tried


def holds(name: str, args: tuple[Any, ...]) -> None:
    ours = getattr(special, name)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        want = getattr(sp, NAMES.get(name, name))(*args)
        got = ours(*args)
        agree(got, want, f"{name}{args}")
        for transform, form in forms(name).items():
            agree(form(*args), got, f"{name}{args} under {transform}")


@pytest.mark.parametrize("name", UNARY)
@given(xs=st.lists(NUMBERS, min_size=7, max_size=7))
@example(xs=[0.0, -0.0, -1.0, -2.0, -171.0, np.inf, -np.inf])
@settings(max_examples=EXAMPLES)
def test_functions_of_one_number(name: str, xs: list[float]) -> None:
    holds(name, (np.array(xs),))


@pytest.mark.parametrize("name", BINARY)
@given(xs=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=5, max_size=5))
@example(xs=[(0.0, 0.0), (-1.0, 2.0), (2.0, -1.0), (1e-300, 1e300), (1e300, 1e-300)])
@settings(max_examples=EXAMPLES)
def test_functions_of_two_numbers(name: str, xs: list[tuple[float, float]]) -> None:
    holds(name, tuple(np.array(xs).T))


# ---- slopes --------------------------------------------------------------------------------------


def _erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _dawsn(x: Any) -> Any:
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


def _scaled(order: int) -> Callable[[Any], Any]:
    return lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(order, x)


def _of_neighbours(order: int) -> Callable[[Any], Any]:
    below, own, above = (_scaled(order + step) for step in (-1, 0, 1))
    return lambda x: (below(x) + above(x)) / 2 - mpmath.sign(x) * own(x)


SLOPES: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "erfcx": (
        lambda x: 2 * x * _erfcx(x) - 2 / mpmath.sqrt(mpmath.pi),
        (-3.0, 0.4, 30.0, 99.9, 100.1, 1e3, 1e4),
    ),
    "dawsn": (lambda x: 1 - 2 * x * _dawsn(x), (0.4, -30.0, 99.9, -100.1, 130.0)),
    "i0e": (_of_neighbours(0), (0.3, -8.0, 600.0, 9.9e4, -1.01e5, 1e10)),
    "i1e": (_of_neighbours(1), (0.3, -8.0, 600.0, 9.9e4, -1.01e5, 1e10)),
    "digamma": (
        lambda x: mpmath.psi(1, x),
        (1e-150, 0.3, -7.5, -1e-9, -1000.3, 20.0, 1e16, 1e160, 1e300),
    ),
    "log_ndtr": (
        lambda x: mpmath.npdf(x) / (mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
        (-1e3, -30.0, -1.0, 5.0),
    ),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_keep_their_digits_far_out(name: str) -> None:
    exact, points = SLOPES[name]
    for x in points:
        with mpmath.workdps(80):
            want = float(exact(mpmath.mpf(x)))
        for found in (fgrad.grad, lambda f: fgrad.jit(fgrad.grad(f)), fgrad.jacfwd):
            got = float(found(getattr(special, name))(x))
            assert got == pytest.approx(want, rel=2e-9, abs=0), x


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "i0e", "i1e"])
def test_slopes_vanish_where_the_function_does(name: str) -> None:
    function = getattr(special, name)
    for x in (1e30, 1e160, 1e300, np.inf):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            slope = float(fgrad.grad(function)(x))
            bend = float(fgrad.grad(fgrad.grad(function))(x))
        assert -1e-30 <= slope <= 0.0
        assert 0.0 <= bend <= 1e-30


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "i0e", "i1e"])
@pytest.mark.parametrize("x", [0.7, 60.0, 140.0, 3e5])
def test_second_slopes_are_those_of_the_slopes(name: str, x: float) -> None:
    function = getattr(special, name)
    # Far from the origin these fall as a power: a step in proportion to x is small.
    h = 1e-4 * x
    slope = fgrad.grad(function)
    want = (8 * (slope(x + h) - slope(x - h)) - (slope(x + 2 * h) - slope(x - 2 * h))) / (12 * h)
    assert float(fgrad.grad(slope)(x)) == pytest.approx(float(want), rel=1e-6)


def test_the_slope_of_digamma_far_on_the_left() -> None:
    # By reflection it is pi**2 / sin(pi x)**2 there, but for 1e-12.
    slope = float(fgrad.grad(special.digamma)(-1e12 + 0.5))
    assert slope == pytest.approx(np.pi**2, rel=1e-11)
