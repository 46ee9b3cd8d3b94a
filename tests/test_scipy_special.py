"""``fgrad.scipy.special`` against JAX and SciPy, under all transforms and at extremes."""

from __future__ import annotations

from typing import Any

import jax.scipy.special
import mpmath
import numpy as np
import pytest
import scipy.special as sp
from support.against_jax import holds_against_jax
from support.modules import jax

import fgrad
from fgrad.errors import ArgumentError, DTypeError, NonDifferentiableError, ShapeError
from fgrad.scipy import special

RNG = np.random.default_rng(7)
REAL = np.array([-2.3, -0.6, 0.4, 1.7])
POSITIVE = np.array([0.35, 0.8, 1.6, 2.9])
OTHER = np.array([1.9, 0.7, 1.2, 0.45])
ABOVE = np.array([3.2, 4.1, 5.6, 2.7])
SHARE = np.array([0.12, 0.4, 0.55, 0.83])
ORDER = np.array([1, 0, 2, 3])
MATRIX = RNG.normal(size=(2, 4))

# name: arguments, and those that move if not all floats do; None where derivatives do not exist
CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("erf", "erfc", "erfcx", "dawsn", "ndtr", "log_ndtr", "expit"), (REAL,)),
    **dict.fromkeys(("i0", "i1", "i0e", "i1e", "fresnel", "sici_positive"), (POSITIVE,)),
    "erfinv": (SHARE,),
    "ndtri": (SHARE,),
    "logit": (SHARE,),
    "owens_t": (REAL, OTHER),
    **dict.fromkeys(
        ("gamma", "gammaln", "digamma", "entr", "exp1", "expi", "spence", "loggamma"), (POSITIVE,)
    ),
    "gammasgn": (REAL,),
    "polygamma": (ORDER, POSITIVE),
    "zeta": (ABOVE, POSITIVE),
    **dict.fromkeys(
        ("beta", "betaln", "poch", "gammainc", "gammaincc", "xlogy", "xlog1py"), (POSITIVE, OTHER)
    ),
    **dict.fromkeys(("rel_entr", "kl_div", "boxcox", "boxcox1p"), (POSITIVE, OTHER)),
    "betainc": (POSITIVE, OTHER, SHARE),
    "expn": (ORDER + 1, POSITIVE),
    "hyp1f1": (POSITIVE, OTHER, REAL),
    "hyp2f1": (POSITIVE, OTHER, ABOVE, SHARE),
    "multigammaln": (ABOVE, 3),
    "comb": (ABOVE, SHARE),
    "factorial": (POSITIVE,),
    "bernoulli": (6,),
    "bessel_jn": (POSITIVE,),
    "softmax": (MATRIX,),
    "log_softmax": (MATRIX,),
    "logsumexp": (MATRIX,),
    "wofz": (REAL + 1j * POSITIVE,),
}
KEYWORDS: dict[str, dict[str, Any]] = {
    "bessel_jn": {"v": 3},
    "softmax": {"axis": 1},
    "log_softmax": {"axis": (0, 1)},
}
# Arguments without a derivative are kept where they are.
MOVING = {
    "polygamma": [1],
    "zeta": [1],
    "betainc": [2],
    "expn": [1],
    "hyp1f1": [2],
    "hyp2f1": [3],
    "gammasgn": [],
}
# JAX's own values have so many digits.
ROUGH = {
    "bernoulli": 1e-5,
    "expi": 1e-7,
    "exp1": 1e-9,
    "wofz": 1e-8,
    "spence": 1e-8,
    "dawsn": 1e-8,
    "erfcx": 1e-9,
}
# Where JAX has no rule, or a wrong one; differences speak alone.
JAX_CANNOT = {"loggamma", "wofz", "spence"}
# Functions of SciPy that JAX does not have: they are compared with SciPy.
SCIPY_ONLY: dict[str, tuple[Any, ...]] = {
    "erfi": (REAL,),
    "erfcinv": (SHARE,),
    "ndtri_exp": (-POSITIVE,),
    "rgamma": (REAL,),
    "gammaincinv": (POSITIVE, SHARE),
    "gammainccinv": (POSITIVE, SHARE),
    "betaincinv": (POSITIVE, OTHER, SHARE),
    "log_expit": (REAL,),
    "hyp0f1": (POSITIVE, REAL),
    **dict.fromkeys(("j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"), (POSITIVE,)),
    **dict.fromkeys(("iv", "ive", "jv", "yv", "kv", "kve"), (ORDER, POSITIVE)),
}
SCIPY_MOVING = {
    "betaincinv": [2],
    "hyp0f1": [1],
}


def function_of(module: Any, name: str) -> Any:
    keywords = KEYWORDS.get(name, {})
    found = getattr(module, name.removesuffix("_positive"))
    return (lambda *args: found(*args, **keywords)) if keywords else found


@pytest.mark.parametrize("name", CALLS)
def test_a_function_agrees_with_jax(name: str) -> None:
    holds_against_jax(
        function_of(special, name),
        function_of(jax.scipy.special, name),
        CALLS[name],
        moving=MOVING.get(name),
        rtol=ROUGH.get(name, 1e-10),
        jax_derivatives=name not in JAX_CANNOT,
    )


@pytest.mark.parametrize("name", SCIPY_ONLY)
def test_a_function_agrees_with_scipy(name: str) -> None:
    args = SCIPY_ONLY[name]
    got = getattr(special, name)(*args)
    np.testing.assert_allclose(got, getattr(sp, name)(*args), rtol=1e-13)
    assert got.dtype == np.float64
    holds_against_jax(getattr(special, name), None, args, moving=SCIPY_MOVING.get(name))


def test_every_public_function_is_compared() -> None:
    compared = {name.removesuffix("_positive") for name in (*CALLS, *SCIPY_ONLY)}
    compared |= {"sph_harm_y", "lpmn", "lpmn_values"}
    assert set(special.__all__) == compared
    assert {n for n in dir(jax.scipy.special) if n[0] != "_"} <= set(special.__all__)


@pytest.mark.parametrize("name", sorted({*CALLS, *SCIPY_ONLY} - {"bernoulli", "wofz"}))
def test_float32_stays_float32(name: str) -> None:
    args = CALLS.get(name) or SCIPY_ONLY[name]
    narrow = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in args]
    function = function_of(special, name)
    for leaf in fgrad.tree.leaves(
        (function(*narrow), fgrad.jit(lambda x: function(x, *narrow[1:]))(narrow[0]))
    ):
        assert leaf.dtype == np.float32


# ---- spherical harmonics -------------------------------------------------------------------------


def test_spherical_harmonics() -> None:
    n, m = np.array([3, 3, 2, 1, 0]), np.array([2, -3, 0, 1, 0])
    theta, phi = np.array([0.4, 1.3, 0.0, np.pi, 2.0]), np.array([0.5, 4.0, 1.0, 2.0, 3.0])
    holds_against_jax(
        lambda t, p: special.sph_harm_y(n, m, t, p),
        None,
        (theta[[0, 1, 4]][[0, 1, 2, 0, 1]], phi),
    )
    got = special.sph_harm_y(n, m, theta, phi)
    reference = [
        complex(mpmath.spherharm(*map(float, row))) for row in zip(n, m, theta, phi, strict=True)
    ]
    np.testing.assert_allclose(got, reference, atol=1e-14)
    for theirs in (jax.scipy.special.sph_harm_y(n, m, theta, phi, n_max=3),):
        np.testing.assert_allclose(got, theirs, atol=1e-6)
    assert complex(special.sph_harm_y(1, 2, 0.3, 0.2)) == 0
    # At the poles the slope exists, though cot(theta) does not.
    slope = fgrad.grad(lambda t: special.sph_harm_y(1, 1, t, 0.0).real)(0.0)
    assert float(slope) == pytest.approx(-np.sqrt(3 / (8 * np.pi)), rel=1e-14)
    with pytest.raises(DTypeError, match=r"sph_harm_y: n has dtype float64, expected integers"):
        special.sph_harm_y(1.5, 0, 0.1, 0.1)


# ---- extremes ------------------------------------------------------------------------------------


def slope(function: Any, *args: float, argnum: int = 0) -> float:
    return float(fgrad.grad(function, argnum)(*args))


def test_logsumexp_with_factors_and_signs() -> None:
    a = np.array([[1000.0, 999.0, -np.inf], [0.1, 0.2, 0.3]])
    b = np.array([[1.0, -0.5, 0.0], [1.0, 2.0, -3.0]])
    got, sign = special.logsumexp(a, axis=1, b=b, return_sign=True, keepdims=True)
    expected, expected_sign = sp.logsumexp(a, axis=1, b=b, return_sign=True, keepdims=True)
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    np.testing.assert_array_equal(sign, expected_sign)
    assert sign.dtype == np.float64
    finite = a[1]

    def magnitude(module: Any) -> Any:
        return lambda x, w: module.logsumexp(x, b=w, return_sign=True)[0]

    ours = fgrad.grad(magnitude(special), (0, 1))(finite, b[1])
    theirs = jax.grad(magnitude(jax.scipy.special), (0, 1))(finite, b[1])
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)
    assert float(special.logsumexp(np.full(3, -np.inf))) == -np.inf


def test_extreme_values_are_those_of_scipy() -> None:
    for x in (1e-300, 1e-10, 0.5, 30.0, 1e10, 1e300):
        for name in (
            "erfcx",
            "gammaln",
            "log_ndtr",
            "i0e",
            "i1e",
            "k0e",
            "exp1",
            "digamma",
            "spence",
        ):
            got, expected = (
                getattr(special, name)(x),
                getattr(sp, "psi" if name == "digamma" else name)(x),
            )
            np.testing.assert_allclose(got, expected, rtol=1e-13, err_msg=f"{name}({x})")
    np.testing.assert_array_equal(special.gammaln(np.array([0.0, -1.0, -2.0])), np.inf)
    np.testing.assert_array_equal(special.rgamma(np.array([0.0, -1.0, -2.0])), 0.0)
    np.testing.assert_array_equal(special.xlogy(np.zeros(2), np.array([0.0, 1.0])), 0.0)
    np.testing.assert_array_equal(special.entr(np.array([0.0, -1.0])), [0.0, -np.inf])
    np.testing.assert_array_equal(special.ndtri(np.array([0.0, 1.0])), [-np.inf, np.inf])


def test_slopes_at_extremes() -> None:
    assert slope(special.spence, 1.0) == -1.0
    assert slope(fgrad.grad(special.spence), 1.0) == pytest.approx(0.5, rel=1e-12)
    assert slope(lambda x: special.sici(x)[0], 0.0) == 1.0
    assert slope(fgrad.grad(fgrad.grad(lambda x: special.sici(x)[0])), 0.0) == pytest.approx(-1 / 3)
    assert slope(lambda x: special.sici(x)[0], 1e6) == pytest.approx(np.sin(1e6) / 1e6, rel=1e-12)
    assert slope(special.log_ndtr, -1e10) == pytest.approx(1e10, rel=1e-12)
    assert slope(special.log_ndtr, 40.0) == 0.0
    assert slope(special.rgamma, -2.0) == pytest.approx(2.0, rel=1e-12)
    assert slope(special.xlogy, 0.0, 0.0, argnum=1) == 0.0
    assert slope(special.owens_t, 1e200, 0.5) == 0.0
    assert slope(special.boxcox, 2.0, 0.0, argnum=1) == pytest.approx(
        np.log(2.0) ** 2 / 2, rel=1e-14
    )
    assert slope(special.boxcox, 0.0, 2.0, argnum=1) == 0.25
    assert slope(special.expn, 0, 0.7, argnum=1) == pytest.approx(
        -np.exp(-0.7) * 1.7 / 0.49, rel=1e-14
    )
    assert slope(special.boxcox1p, 1e-20, 0.5) == 1.0
    assert slope(special.factorial, -1.5) == 0.0
    assert slope(special.comb, 3.0, 4.0) == 0.0
    exact = float(mpmath.diff(lambda n: mpmath.binomial(n, 2.5), 6.25))
    assert slope(special.comb, 6.25, 2.5) == pytest.approx(exact, rel=1e-12)


def test_counts_are_those_of_scipy() -> None:
    n = np.array([5.0, 3.0, -1.0, 100.0])
    k = np.array([2.0, 4.0, 1.0, 50.0])
    np.testing.assert_allclose(special.comb(n, k), sp.comb(n, k), rtol=1e-14)
    np.testing.assert_allclose(
        special.comb(np.array([5, 3]), np.array([2, 4]), repetition=True),
        sp.comb(np.array([5, 3]), np.array([2, 4]), repetition=True),
        rtol=1e-14,
    )
    np.testing.assert_allclose(
        special.factorial(np.array([-1, 0, 5, 170])), sp.factorial(np.array([-1, 0, 5, 170]))
    )
    assert special.comb(5, 2).dtype == np.float64
    assert [len(special.bernoulli(k)) for k in (0, 1, 2, 9)] == [1, 2, 3, 10]
    exact = [float(mpmath.bernoulli(k)) for k in range(31)]
    np.testing.assert_allclose(special.bernoulli(30), [1.0, -0.5, *exact[2:]], rtol=1e-15)
    assert float(special.bernoulli(300)[-1]) == -np.inf
    assert float(special.zeta(2.0)) == pytest.approx(np.pi**2 / 6, rel=1e-14)


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match=r"factorial: exact=True"):
        special.factorial(3, exact=True)
    with pytest.raises(ArgumentError, match=r"bernoulli: n is -1"):
        special.bernoulli(-1)
    with pytest.raises(ArgumentError, match=r"multigammaln: d is 0"):
        special.multigammaln(3.0, 0)
    with pytest.raises(ArgumentError, match=r"bessel_jn: v is -1"):
        special.bessel_jn(1.0, v=-1)
    with pytest.raises(NonDifferentiableError, match=r"betainc: no derivative towards a"):
        fgrad.grad(special.betainc)(1.0, 2.0, 0.5)
    with pytest.raises(DTypeError, match="erfinv"):
        special.erfinv(1j)


@pytest.mark.parametrize(("m", "n"), [(0, 0), (3, 3), (2, 5), (5, 2), (4, 60)])
def test_associated_legendre_functions(m: int, n: int) -> None:
    """Those of SciPy, with and without the scale of spherical harmonics, and their slopes."""
    z = np.array([-0.9, -0.2, 0.0, 0.3, 0.77, 0.999])
    tables = sp.assoc_legendre_p_all(n, m, z, diff_n=1)[:, :, : m + 1].swapaxes(1, 2)
    scaled = sp.sph_legendre_p_all(n, m, np.arccos(z))[0, :, : m + 1].swapaxes(0, 1)

    def close(got: Any, expected: Any) -> None:
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())

    close(special.lpmn_values(m, n, z, False), tables[0])
    close(special.lpmn_values(m, n, z, True), scaled)
    for got, expected in zip(special.lpmn(m, n, z), tables, strict=True):
        close(got, expected)
    if n > 10:
        return
    for normalized in (False, True):
        holds_against_jax(lambda x, s=normalized: special.lpmn_values(m, n, x, s), None, (z[:-1],))
    holds_against_jax(lambda x: special.lpmn(m, n, x), None, (z[:-1],))


def test_ends_and_refusals_of_legendre_functions() -> None:
    ends = np.array([-1.0, 1.0])
    # At the ends, orders above 0 vanish, and the second has the slope -/+ 6 there.
    values, slopes = special.lpmn(2, 2, ends)
    np.testing.assert_array_equal(values[1:], 0.0)
    np.testing.assert_array_equal(values[0], [[1.0, 1.0], [-1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(slopes[2, 2], [6.0, -6.0])
    assert special.lpmn_values(2, 2, ends.astype(np.float32), True).dtype == np.float32
    with pytest.raises(ArgumentError, match=r"lpmn_values: m is -1 and n is 2"):
        special.lpmn_values(-1, 2, ends, True)
    with pytest.raises(ShapeError, match=r"lpmn: z has shape \(1, 2\)"):
        special.lpmn(1, 2, ends[None])
    with pytest.raises(DTypeError, match=r"lpmn: z is complex"):
        special.lpmn(1, 2, ends * 1j)
