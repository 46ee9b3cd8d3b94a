"""Functions of numbers under the names of ``jax.lax``. Operands broadcast and promote as in `fgrad.numpy`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.array import Array
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.lax.types import RoundingMethod
from fgrad.numpy._support import ArrayLike, operand, shape_of, static_int, wrap
from fgrad.primitives import elementwise as p
from fgrad.primitives import special
from fgrad.primitives.activations import clamp as clamp_primitive
from fgrad.primitives.random_samplers import gamma_draw_slope

Unary = Callable[..., Array]
Binary = Callable[[ArrayLike, ArrayLike], Array]


def _describe(
    function: Any, name: str, summary: str, arguments: str, sample: str, slope: str
) -> None:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "fgrad.lax"
    function.__doc__ = f"""{summary}

    Parameters
    ----------
    {arguments} : array_like
        Numbers, arrays or traced arrays, broadcast together.

    Returns
    -------
    Array
        {slope}

    Examples
    --------
    >>> from fgrad import lax
    >>> lax.{name}({sample}).shape
    ()
    """


def _slope_text(differentiable: bool) -> str:
    return (
        "Differentiable in both modes."
        if differentiable
        else "Its derivative is zero wherever it exists."
    )


def _unary(name: str, apply: Callable[[Any], Any], summary: str, sample: str = "0.5") -> Unary:
    def function(x: ArrayLike, *, accuracy: Any = None) -> Array:
        return wrap(apply(operand(x, name)))  # type: ignore[no-any-return]

    _describe(
        function, name, summary, "x", sample, _slope_text(getattr(apply, "differentiable", True))
    )
    return function


def _binary(
    name: str, apply: Callable[[Any, Any], Any], summary: str, sample: str = "0.5, 2.0"
) -> Binary:
    def function(x: ArrayLike, y: ArrayLike) -> Array:
        return wrap(apply(operand(x, name), operand(y, name)))  # type: ignore[no-any-return]

    _describe(
        function, name, summary, "x, y", sample, _slope_text(getattr(apply, "differentiable", True))
    )
    return function


def _kind(x: Any) -> str:
    return aval_of(x).dtype.kind


# ---- arithmetic ----------------------------------------------------------------------------------


def _quotient(x: Any, y: Any) -> Any:
    if _kind(x) in "biu" and _kind(y) in "biu":
        # Truncated, as hardware divides, where // floors.
        return p.floor_divide(p.sub(x, p.fmod(x, y)), y)
    return p.div(x, y)


def _conjugate(x: Any) -> Any:
    return p.conj(x if _kind(x) == "c" else p.complex_(x, 0.0))


add = _binary("add", p.add, "Sum.")
sub = _binary("sub", p.sub, "Difference.")
mul = _binary("mul", p.mul, "Product.")
div = _binary("div", _quotient, "Quotient; that of integers is truncated towards zero.")
rem = _binary("rem", p.fmod, "Remainder of a truncated division, with the sign of the dividend.")
neg = _unary("neg", p.neg, "The number with the opposite sign.")
abs = _unary("abs", p.abs_, "Magnitude.")
sign = _unary("sign", p.sign, "-1, 0 or 1 by sign; complex numbers are scaled to length one.")
square = _unary("square", p.square, "Square.")
sqrt = _unary("sqrt", p.sqrt, "Square root.")
rsqrt = _unary("rsqrt", lambda x: p.div(1.0, p.sqrt(x)), "One over the square root.")
cbrt = _unary("cbrt", p.cbrt, "Cube root.")
reciprocal = _unary("reciprocal", lambda x: p.div(1.0, x), "One over the number.")
pow = _binary("pow", p.power, "Power.")
max = _binary("max", p.maximum, "The larger of two; NaN wins, ties share the slope evenly.")
min = _binary("min", p.minimum, "The smaller of two; NaN wins, ties share the slope evenly.")
nextafter = _binary("nextafter", p.nextafter, "The next float after x towards y.")
floor = _unary("floor", p.floor, "Largest integer not above.")
ceil = _unary("ceil", p.ceil, "Smallest integer not below.")
real = _unary("real", p.real, "Real part.", "1.0 + 2.0j")
imag = _unary("imag", p.imag, "Imaginary part.", "1.0 + 2.0j")
conj = _unary("conj", _conjugate, "Complex conjugate, complex also for real numbers.")
complex = _binary("complex", p.complex_, "The complex number with these real and imaginary parts.")


def integer_pow(x: ArrayLike, y: int) -> Array:
    """A power with a Python integer as the exponent.

    Parameters
    ----------
    x : array_like
    y : int

    Returns
    -------
    Array
        Differentiable to every order; ``x**0`` is constant, also at 0.

    Examples
    --------
    >>> from fgrad import lax
    >>> float(lax.integer_pow(2.0, -2))
    0.25
    """
    return wrap(p.IntegerPower(static_int(y, "integer_pow: y"))(operand(x, "integer_pow")))  # type: ignore[no-any-return]


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Nearest integer.

    Parameters
    ----------
    x : array_like of float
    rounding_method : RoundingMethod
        Where halves go: away from zero, or to the even neighbour.

    Returns
    -------
    Array
        Its derivative is zero wherever it exists.

    Examples
    --------
    >>> from fgrad import lax
    >>> float(lax.round(2.5)), float(lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN))
    (3.0, 2.0)
    """
    inside = operand(x, "round")
    aval = aval_of(inside)
    if aval.dtype.kind != "f":
        raise DTypeError(f"round: takes floats, got {aval.dtype}; convert it first")
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return wrap(p.rint(inside))  # type: ignore[no-any-return]
    # The float just below one half: a half itself would lift 0.49999999999999994 to 1.
    half = float(np.nextafter(aval.dtype.type(0.5), aval.dtype.type(0.0)))
    return wrap(p.trunc(p.add(inside, p.copysign(half, inside))))  # type: ignore[no-any-return]


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """``x`` limited to the interval from ``min`` to ``max``.

    Parameters
    ----------
    min, x, max : array_like

    Returns
    -------
    Array
        Differentiable towards all three; at a limit, the slopes are 0.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.clamp(0.0, np.array([-1.0, 0.5, 2.0]), 1.0)
    Array([0. , 0.5, 1. ], dtype=float64)
    """
    return wrap(clamp_primitive(operand(min, "clamp"), operand(x, "clamp"), operand(max, "clamp")))  # type: ignore[no-any-return]


# ---- exponentials, logarithms, trigonometry ------------------------------------------------------

exp = _unary("exp", p.exp, "Exponential.")
exp2 = _unary("exp2", p.exp2, "Power of two.")
expm1 = _unary("expm1", p.expm1, "``exp(x) - 1``, accurate near 0.")
log = _unary("log", p.log, "Natural logarithm.")
log1p = _unary("log1p", p.log1p, "``log(1 + x)``, accurate near 0.")
logistic = _unary("logistic", p.logistic, "``1 / (1 + exp(-x))``, without overflow.")
sin = _unary("sin", p.sin, "Sine.")
cos = _unary("cos", p.cos, "Cosine.")
tan = _unary("tan", p.tan, "Tangent.")
asin = _unary("asin", p.arcsin, "Inverse sine.")
acos = _unary("acos", p.arccos, "Inverse cosine.")
atan = _unary("atan", p.arctan, "Inverse tangent.")
atan2 = _binary("atan2", p.arctan2, "Angle of the point (y, x), in the right quadrant.")
sinh = _unary("sinh", p.sinh, "Hyperbolic sine.")
cosh = _unary("cosh", p.cosh, "Hyperbolic cosine.")
tanh = _unary("tanh", p.tanh, "Hyperbolic tangent.")
asinh = _unary("asinh", p.arcsinh, "Inverse hyperbolic sine.")
acosh = _unary("acosh", p.arccosh, "Inverse hyperbolic cosine.", "2.0")
atanh = _unary("atanh", p.arctanh, "Inverse hyperbolic tangent.")

# ---- special functions ---------------------------------------------------------------------------

erf = _unary("erf", special.erf, "Error function.")
erfc = _unary("erfc", special.erfc, "One minus the error function, accurate in its tail.")
erf_inv = _unary("erf_inv", special.erfinv, "Inverse of the error function.")
lgamma = _unary("lgamma", special.gammaln, "Logarithm of the magnitude of the gamma function.")
digamma = _unary("digamma", special.digamma, "Derivative of the logarithm of the gamma function.")
polygamma = _binary("polygamma", special.polygamma, "The m-th derivative of `digamma`.", "1, 2.0")
zeta = _binary(
    "zeta", special.zeta, "Hurwitz zeta function, the sum of ``(k + q)**-x``.", "2.0, 1.0"
)
igamma = _binary("igamma", special.gammainc, "Regularised lower incomplete gamma function.")
igammac = _binary("igammac", special.gammaincc, "Regularised upper incomplete gamma function.")
igamma_grad_a = _binary(
    "igamma_grad_a", special.gammainc_by_a, "Derivative of `igamma` towards its first argument."
)
bessel_i0e = _unary(
    "bessel_i0e", special.i0e, "Modified Bessel function of order 0, scaled by ``exp(-|x|)``."
)
bessel_i1e = _unary(
    "bessel_i1e", special.i1e, "Modified Bessel function of order 1, scaled by ``exp(-|x|)``."
)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Regularised incomplete beta function.

    Parameters
    ----------
    a, b, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        Differentiable towards x.

    Raises
    ------
    NonDifferentiableError
        If differentiated towards a or b.

    Examples
    --------
    >>> from fgrad import lax
    >>> float(lax.betainc(1.0, 1.0, 0.5))
    0.5
    """
    return wrap(  # type: ignore[no-any-return]
        special.betainc(operand(a, "betainc"), operand(b, "betainc"), operand(x, "betainc"))
    )


random_gamma_grad = _binary(
    "random_gamma_grad",
    gamma_draw_slope,
    "The slope of a draw y of the gamma distribution of shape x towards the shape.",
    "2.0, 1.5",
)

# ---- comparison, choice, bits --------------------------------------------------------------------

eq = _binary("eq", p.equal, "Whether two numbers are equal.")
ne = _binary("ne", p.not_equal, "Whether two numbers differ.")
lt = _binary("lt", p.less, "Whether x is less than y.")
le = _binary("le", p.less_equal, "Whether x is at most y.")
gt = _binary("gt", p.greater, "Whether x is greater than y.")
ge = _binary("ge", p.greater_equal, "Whether x is at least y.")
is_finite = _unary("is_finite", p.isfinite, "Whether a number is neither infinite nor NaN.")


def _bits(apply: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(apply, assigned=())
    def checked(*xs: Any) -> Any:
        for x in xs:
            if _kind(x) not in "biu":
                raise DTypeError(
                    f"{name}: takes integers or booleans, got {aval_of(x).dtype}; convert it first"
                )
        return apply(*xs)

    checked.differentiable = False  # type: ignore[attr-defined]
    return checked


def _logical_shift(x: Any, y: Any) -> Any:
    dtype = aval_of(x).dtype
    if dtype.kind != "i":
        return p.right_shift(x, y)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return p.convert(
        p.right_shift(p.convert(x, unsigned), p.convert(y, unsigned)), dtype, aval_of(x).weak
    )


def _count_ones(x: Any) -> Any:
    # NumPy counts the bits of the magnitude of a negative number.
    dtype = aval_of(x).dtype
    plain = p.convert(x, np.dtype(f"u{dtype.itemsize}")) if dtype.kind == "i" else x
    return p.convert(p.bitwise_count(plain), dtype, aval_of(x).weak)


bitwise_and = _binary(
    "bitwise_and", _bits(p.bitwise_and, "bitwise_and"), "Bits set in both.", "6, 3"
)
bitwise_or = _binary("bitwise_or", _bits(p.bitwise_or, "bitwise_or"), "Bits set in either.", "6, 3")
bitwise_xor = _binary(
    "bitwise_xor", _bits(p.bitwise_xor, "bitwise_xor"), "Bits set in one only.", "6, 3"
)
bitwise_not = _unary("bitwise_not", _bits(p.invert, "bitwise_not"), "All bits flipped.", "6")
shift_left = _binary("shift_left", _bits(p.left_shift, "shift_left"), "Bits moved up.", "6, 1")
shift_right_arithmetic = _binary(
    "shift_right_arithmetic",
    _bits(p.right_shift, "shift_right_arithmetic"),
    "Bits moved down; the sign is kept.",
    "-6, 1",
)
shift_right_logical = _binary(
    "shift_right_logical",
    _bits(_logical_shift, "shift_right_logical"),
    "Bits moved down; zeros come in.",
    "6, 1",
)
population_count = _unary(
    "population_count", _bits(_count_ones, "population_count"), "How many bits are set.", "6"
)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Elements of one array where a condition holds, else those of another.

    Parameters
    ----------
    pred : array_like of bool
        A scalar, or an array of the shape of the others.
    on_true, on_false : array_like
        Of one shape.

    Returns
    -------
    Array
        Differentiable; the branch not taken has slope zero.

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.select(np.array([True, False]), np.zeros(2), np.ones(2))
    Array([0., 1.], dtype=float64)
    """
    condition, a, b = (
        operand(pred, "select"),
        operand(on_true, "select"),
        operand(on_false, "select"),
    )
    if shape_of(a) != shape_of(b) or shape_of(condition) not in ((), shape_of(a)):
        raise ShapeError(
            f"select: the condition has shape {shape_of(condition)}, the cases {shape_of(a)} and "
            f"{shape_of(b)}; they must agree, or use fnp.where, which broadcasts"
        )
    return wrap(p.select(condition, a, b))  # type: ignore[no-any-return]


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Elements of the case that an integer names.

    Parameters
    ----------
    which : array_like of int or bool
        A scalar, or an array of the shape of the cases: 0 for the first case.
    *cases : array_like
        Of one shape.

    Returns
    -------
    Array
        Differentiable; cases not taken have slope zero. A number beyond the cases takes the last
        one.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        If shapes differ, `which` has another dtype, or there is no case.

    Examples
    --------
    >>> from fgrad import lax
    >>> import numpy as np
    >>> lax.select_n(np.array([0, 1]), np.zeros(2), np.ones(2))
    Array([0., 1.], dtype=float64)
    """
    index = operand(which, "select_n")
    if not cases:
        raise ArgumentError("select_n: give at least one case")
    if aval_of(index).dtype.kind not in "biu":
        raise DTypeError(
            f"select_n: which has dtype {aval_of(index).dtype}, expected integers or booleans"
        )
    values = [operand(case, "select_n") for case in cases]
    shapes = {shape_of(v) for v in values}
    if len(shapes) > 1 or shape_of(index) not in ((), shape_of(values[0])):
        listed = ", ".join(str(shape_of(v)) for v in values)
        raise ShapeError(
            f"select_n: which has shape {shape_of(index)}, the cases {listed}; they must agree"
        )
    answer = values[-1]
    for number, case in reversed(list(enumerate(values[:-1]))):
        taken = (
            p.logical_not(index)
            if aval_of(index).dtype == dtypes.BOOL
            else p.less_equal(index, number)
        )
        answer = p.select(taken, case, answer)
    return wrap(answer)  # type: ignore[no-any-return]
