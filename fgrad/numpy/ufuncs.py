"""Functions of numbers, applied elementwise: NumPy's ufuncs and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import aval_of
from fgrad.errors import ArgumentError, InPlaceError, ShapeError
from fgrad.numpy._direct import called, on_one_array, on_two_arrays
from fgrad.numpy._support import (
    Array,
    ArrayLike,
    dtype_of,
    fit,
    operand,
    refuse_out,
    static_int,
    wrap,
)
from fgrad.numpy.types import finfo
from fgrad.primitives import elementwise as p
from fgrad.primitives import special
from fgrad.primitives.families import Elementwise
from fgrad.primitives.promotion import common_dtype
from fgrad.source_info import here

_NUMBERS = (float, int)
Unary = Callable[[ArrayLike], Array]
Binary = Callable[[ArrayLike, ArrayLike], Array]

_DIFFERENTIABILITY = {
    True: "Differentiable in both modes.",
    False: "Its derivative is zero wherever it exists.",
}


def _describe(
    function: Any, name: str, summary: str, primitive: Any, parameters: str, sample: str
) -> None:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "fgrad.numpy"
    function.primitive = primitive
    function.__doc__ = f"""{summary}

    Parameters
    ----------
    {parameters} : array_like
        Numbers, arrays or traced arrays, broadcast together.

    Returns
    -------
    Array
        Of the dtype that ``np.{name}`` gives. {_DIFFERENTIABILITY[primitive.differentiable]}

    Raises
    ------
    ShapeError, DTypeError
        If shapes do not broadcast, or the function is not defined for the dtypes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.{name}({sample}).shape
    ()
    """


def _unary(name: str, primitive: Elementwise, summary: str, sample: str = "0.5") -> Unary:
    def applied(x: ArrayLike, /) -> Array:
        return wrap(primitive(operand(x, name)))  # type: ignore[no-any-return]

    function = on_one_array(primitive.compute, applied)
    _describe(function, name, summary, primitive, "x", sample)
    return function


def _binary(name: str, primitive: Elementwise, summary: str, sample: str = "0.5, 2.0") -> Binary:
    def applied(x: ArrayLike, y: ArrayLike, /) -> Array:
        return wrap(primitive(operand(x, name), operand(y, name)))  # type: ignore[no-any-return]

    function = on_two_arrays(primitive.compute, applied)
    _describe(function, name, summary, primitive, "x, y", sample)
    return function


# ---- arithmetic ------------------------------------------------------------------------------

add = _binary("add", p.add, "Sum of two arrays, elementwise.")
subtract = _binary("subtract", p.sub, "Difference of two arrays, elementwise.")
multiply = _binary("multiply", p.mul, "Product of two arrays, elementwise.")
divide = _binary(
    "divide", p.div, "Quotient of two arrays, elementwise; integers are divided as floats."
)
true_divide = _binary("true_divide", p.div, "Quotient of two arrays, elementwise, as `divide`.")
floor_divide = _binary("floor_divide", p.floor_divide, "Largest integer not above the quotient.")
remainder = _binary(
    "remainder", p.remainder, "Remainder of a floored division, with the divisor's sign."
)
mod = _binary("mod", p.remainder, "Remainder of a floored division, as `remainder`.")
fmod = _binary("fmod", p.fmod, "Remainder of a truncated division, with the dividend's sign.")
negative = _unary("negative", p.neg, "Numbers with the opposite sign.")
positive = _unary("positive", p.positive, "A copy of the numbers.")
square = _unary("square", p.square, "Squares.")
reciprocal = _unary("reciprocal", p.reciprocal, "Reciprocals; those of integers are truncated.")
sqrt = _unary("sqrt", p.sqrt, "Non-negative square roots.")
cbrt = _unary("cbrt", p.cbrt, "Cube roots.")
gcd = _binary("gcd", p.gcd, "Greatest common divisors.", "4, 6")
lcm = _binary("lcm", p.lcm, "Lowest common multiples.", "4, 6")


def raised(x: Any, y: Any) -> Any:
    """``x ** y`` of inside values; a Python integer exponent becomes a product."""
    if type(y) is int and dtype_of(x) != dtypes.BOOL:
        return p.integer_power(y)(x)
    return p.power(x, y)


def raised_of_arrays(x: Any, y: Any) -> Any:
    """What `raised` gives for arrays of known numbers."""
    if type(y) is not int:
        return np.power(x, y)
    if x.dtype == dtypes.BOOL:
        raise TypeError("booleans are raised to powers by another primitive")
    return p.integer_power(y).compute(x)


_power = on_two_arrays(
    raised_of_arrays, lambda x, y: wrap(raised(operand(x, "power"), operand(y, "power")))
)


def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Powers, elementwise.

    Parameters
    ----------
    x, y : array_like
        Bases and exponents, broadcast together. A Python integer exponent is applied by products.

    Returns
    -------
    Array
        Of the dtype that ``np.power`` gives. Differentiable in both modes; ``x**0`` is constant, also at 0,
        and ``0**y`` has slope 0 in y.

    Raises
    ------
    DTypeError
        If integers are raised to a negative Python integer.

    Examples
    --------
    >>> import fgrad, fgrad.numpy as fnp
    >>> float(fgrad.grad(lambda x: fnp.power(x, 3))(2.0))
    12.0
    """
    return _power(x, y)  # type: ignore[no-any-return]


power.primitive = p.power  # type: ignore[attr-defined]


def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Powers, elementwise, in float64 or complex128.

    Parameters
    ----------
    x, y : array_like
        Bases and exponents, broadcast together.

    Returns
    -------
    Array
        Differentiable in both modes.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.float_power(2, -1)
    Array(0.5, dtype=float64)
    """
    first, second = operand(x, "float_power"), operand(y, "float_power")
    avals = aval_of(first), aval_of(second)
    wide = (
        dtypes.COMPLEX128 if "c" in (avals[0].dtype.kind, avals[1].dtype.kind) else dtypes.FLOAT64
    )
    wide = dtypes.canonical(wide)
    fit("float_power", first, second)
    return wrap(p.power(p.convert(first, wide), p.convert(second, wide)))  # type: ignore[no-any-return]


# ---- exponentials, logarithms, trigonometry -----------------------------------------------------

exp = _unary("exp", p.exp, "Exponentials.")
exp2 = _unary("exp2", p.exp2, "Powers of two.")
expm1 = _unary("expm1", p.expm1, "``exp(x) - 1``, accurate near 0.")
log = _unary("log", p.log, "Natural logarithms.")
log2 = _unary("log2", p.log2, "Logarithms to base 2.")
log10 = _unary("log10", p.log10, "Logarithms to base 10.")
log1p = _unary("log1p", p.log1p, "``log(1 + x)``, accurate near 0.")
logaddexp = _binary("logaddexp", p.logaddexp, "``log(exp(x) + exp(y))`` without overflow.")
logaddexp2 = _binary("logaddexp2", p.logaddexp2, "``log2(2**x + 2**y)`` without overflow.")
sin = _unary("sin", p.sin, "Sines of angles in radians.")
cos = _unary("cos", p.cos, "Cosines of angles in radians.")
tan = _unary("tan", p.tan, "Tangents of angles in radians.")
arcsin = _unary("arcsin", p.arcsin, "Inverse sines, in radians.")
arccos = _unary("arccos", p.arccos, "Inverse cosines, in radians.")
arctan = _unary("arctan", p.arctan, "Inverse tangents, in radians.")
arctan2 = _binary(
    "arctan2", p.arctan2, "Angles of the points (y, x), in radians, in the right quadrant."
)
sinh = _unary("sinh", p.sinh, "Hyperbolic sines.")
cosh = _unary("cosh", p.cosh, "Hyperbolic cosines.")
tanh = _unary("tanh", p.tanh, "Hyperbolic tangents.")
arcsinh = _unary("arcsinh", p.arcsinh, "Inverse hyperbolic sines.")
arccosh = _unary("arccosh", p.arccosh, "Inverse hyperbolic cosines.", "2.0")
arctanh = _unary("arctanh", p.arctanh, "Inverse hyperbolic tangents.")
asin = _unary("asin", p.arcsin, "Inverse sines, in radians.")
acos = _unary("acos", p.arccos, "Inverse cosines, in radians.")
atan = _unary("atan", p.arctan, "Inverse tangents, in radians.")
atan2 = _binary(
    "atan2", p.arctan2, "Angles of the points (y, x), in radians, in the right quadrant."
)
asinh = _unary("asinh", p.arcsinh, "Inverse hyperbolic sines.")
acosh = _unary("acosh", p.arccosh, "Inverse hyperbolic cosines.", "2.0")
atanh = _unary("atanh", p.arctanh, "Inverse hyperbolic tangents.")
hypot = _binary("hypot", p.hypot, "Lengths of the legs' hypotenuse, without overflow.")
deg2rad = _unary("deg2rad", p.deg2rad, "Degrees as radians.")
rad2deg = _unary("rad2deg", p.rad2deg, "Radians as degrees.")
radians = _unary("radians", p.deg2rad, "Degrees as radians.")
degrees = _unary("degrees", p.rad2deg, "Radians as degrees.")
i0 = _unary("i0", special.i0, "Modified Bessel function of the first kind, of order 0.")
sinc = _unary("sinc", p.Sinc(), "``sin(pi x) / (pi x)``, with value 1 and smooth at 0.")

# ---- signs, rounding, choice ------------------------------------------------------------------

abs = _unary("abs", p.abs_, "Magnitudes; the slope of a real number at 0 is 1, as in JAX.")
absolute = _unary(
    "absolute", p.abs_, "Magnitudes; the slope of a real number at 0 is 1, as in JAX."
)
fabs = _unary("fabs", p.fabs, "Magnitudes of real numbers, as floats.")
sign = _unary("sign", p.sign, "-1, 0 or 1 by sign; complex numbers are scaled to length one.")
signbit = _unary("signbit", p.signbit, "Whether the sign bit is set, also of zeros.")
copysign = _binary("copysign", p.copysign, "The magnitudes of x with the signs of y.")
heaviside = _binary("heaviside", p.heaviside, "0 below zero, 1 above, and y at zero.")
nextafter = _binary("nextafter", p.nextafter, "The next float after x towards y.")
spacing = _unary("spacing", p.spacing, "Distances to the next larger float.")
floor = _unary("floor", p.floor, "Largest integers not above.")
ceil = _unary("ceil", p.ceil, "Smallest integers not below.")
trunc = _unary("trunc", p.trunc, "Integers nearest towards zero.")
rint = _unary("rint", p.rint, "Nearest integers, halves to even.")
maximum = _binary("maximum", p.maximum, "The larger of two; NaN wins, ties share the slope evenly.")
minimum = _binary(
    "minimum", p.minimum, "The smaller of two; NaN wins, ties share the slope evenly."
)
fmax = _binary("fmax", p.fmax, "The larger of two, ignoring NaN.")
fmin = _binary("fmin", p.fmin, "The smaller of two, ignoring NaN.")

# ---- comparison, logic, bits ------------------------------------------------------------------

equal = _binary("equal", p.equal, "Whether x == y.")
not_equal = _binary("not_equal", p.not_equal, "Whether x != y.")
less = _binary("less", p.less, "Whether x < y.")
less_equal = _binary("less_equal", p.less_equal, "Whether x <= y.")
greater = _binary("greater", p.greater, "Whether x > y.")
greater_equal = _binary("greater_equal", p.greater_equal, "Whether x >= y.")
logical_and = _binary("logical_and", p.logical_and, "Whether both are true.")
logical_or = _binary("logical_or", p.logical_or, "Whether either is true.")
logical_xor = _binary("logical_xor", p.logical_xor, "Whether exactly one is true.")
logical_not = _unary("logical_not", p.logical_not, "Whether it is not true.")
isnan = _unary("isnan", p.isnan, "Whether it is NaN.")
isinf = _unary("isinf", p.isinf, "Whether it is infinite.")
isfinite = _unary("isfinite", p.isfinite, "Whether it is neither infinite nor NaN.")
bitwise_and = _binary("bitwise_and", p.bitwise_and, "Bits set in both.", "6, 3")
bitwise_or = _binary("bitwise_or", p.bitwise_or, "Bits set in either.", "6, 3")
bitwise_xor = _binary("bitwise_xor", p.bitwise_xor, "Bits set in exactly one.", "6, 3")
bitwise_not = _unary("bitwise_not", p.invert, "All bits inverted.", "6")
bitwise_invert = _unary("bitwise_invert", p.invert, "All bits inverted.", "6")
invert = _unary("invert", p.invert, "All bits inverted.", "6")
left_shift = _binary("left_shift", p.left_shift, "Bits shifted to the left.", "6, 3")
right_shift = _binary("right_shift", p.right_shift, "Bits shifted to the right.", "6, 3")
bitwise_left_shift = _binary(
    "bitwise_left_shift", p.left_shift, "Bits shifted to the left.", "6, 3"
)
bitwise_right_shift = _binary(
    "bitwise_right_shift", p.right_shift, "Bits shifted to the right.", "6, 3"
)
bitwise_count = _unary(
    "bitwise_count", p.bitwise_count, "How many bits the magnitude has set.", "6"
)

# ---- complex numbers --------------------------------------------------------------------------

real = _unary("real", p.real, "Real parts.")
imag = _unary("imag", p.imag, "Imaginary parts; zeros for real numbers.")


def conjugate(x: ArrayLike, /) -> Array:
    """Complex conjugates.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        Of the dtype of x. Differentiable in both modes; the cotangent is conjugated.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> complex(fnp.conjugate(1 + 2j))
    (1-2j)
    """
    return wrap(p.conj(operand(x, "conjugate")))  # type: ignore[no-any-return]


conj = conjugate


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Angles of complex numbers.

    Parameters
    ----------
    z : array_like
    deg : bool
        Whether to answer in degrees instead of radians.

    Returns
    -------
    Array
        Real. Differentiable in both modes, but at 0.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.angle(1j, deg=True))
    90.0
    """
    x = p.cast_to_float(operand(z, "angle"))
    radians_ = p.arctan2(p.imag(x), p.real(x))
    return wrap(p.rad2deg(radians_) if deg else radians_)  # type: ignore[no-any-return]


def iscomplex(x: ArrayLike) -> Array:
    """Whether the imaginary part is not zero.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.iscomplex(1j).item()
    True
    """
    return wrap(p.not_equal(p.imag(operand(x, "iscomplex")), 0))  # type: ignore[no-any-return]


def isreal(x: ArrayLike) -> Array:
    """Whether the imaginary part is zero.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.isreal(1j).item()
    False
    """
    return wrap(p.equal(p.imag(operand(x, "isreal")), 0))  # type: ignore[no-any-return]


def isneginf(x: ArrayLike, /) -> Array:
    """Whether it is negative infinity.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.isneginf(-fnp.inf).item()
    True
    """
    inside = operand(x, "isneginf")
    return wrap(p.logical_and(p.isinf(inside), p.signbit(inside)))  # type: ignore[no-any-return]


def isposinf(x: ArrayLike, /) -> Array:
    """Whether it is positive infinity.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array of bool

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.isposinf(fnp.inf).item()
    True
    """
    inside = operand(x, "isposinf")
    return wrap(p.logical_and(p.isinf(inside), p.logical_not(p.signbit(inside))))  # type: ignore[no-any-return]


# ---- rounding to decimals, selection -------------------------------------------------------------


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Round to a number of decimals, halves to even.

    Parameters
    ----------
    a : array_like
    decimals : int
        May be negative, for tens and hundreds.

    Returns
    -------
    Array
        Of the dtype of a. Its derivative is zero wherever it exists.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.round(2.567, 1))
    2.6
    """
    refuse_out(out, "round")
    x = operand(a, "round")
    if aval_of(x).dtype == dtypes.BOOL:
        x = p.convert(x, np.dtype(np.float16))
    return wrap(p.Round(static_int(decimals, "round: decimals"))(x))  # type: ignore[no-any-return]


around = round


def fix(x: ArrayLike, out: None = None) -> Array:
    """Integers nearest towards zero.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        Its derivative is zero wherever it exists.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.fix(-1.5))
    -1.0
    """
    refuse_out(out, "fix")
    return wrap(p.trunc(operand(x, "fix")))  # type: ignore[no-any-return]


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """`where` of inside values."""
    if dtype_of(condition) != dtypes.BOOL:
        condition = p.not_equal(condition, 0)
    return p.select(condition, x, y)


def _between(values: Any, low: Any, high: Any) -> Any:
    if values.dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    # NumPy's clip takes longer, and differs in the signs of zeros.
    return np.minimum(high, np.maximum(low, values))


def clip(
    arr: ArrayLike | None = None,
    /,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    a: ArrayLike | None = None,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
    out: None = None,
) -> Array:
    """Limit numbers to an interval.

    Parameters
    ----------
    arr : array_like
    min, max : array_like, optional
        The limits, also spelled ``a_min`` and ``a_max``; None means no limit.

    Returns
    -------
    Array
        Differentiable in both modes; at a limit, the slope is one half.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> fnp.clip(fnp.arange(4.0), 1.0, 2.0)
    Array([1., 1., 2., 2.], dtype=float64)
    """
    if a is a_min is a_max is out is None and type(min) in _NUMBERS and type(max) in _NUMBERS:
        answer = called(_between, arr, min, max)
        if answer is not None:
            return answer
    refuse_out(out, "clip")
    x = operand(a if arr is None else arr, "clip")
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if dtype_of(x).kind == "c":
        raise ArgumentError("clip: complex numbers have no order; clip real and imaginary parts")
    if dtypes.kind_of(dtype_of(x)) in "iu" and not aval_of(x).weak:
        # Numbers beyond the dtype are no limits.
        ends = dtypes.integer_limits(dtype_of(x))
        low = None if type(low) is int and low <= ends.min else low
        high = None if type(high) is int and high >= ends.max else high
    limits = [None if limit is None else operand(limit, "clip") for limit in (low, high)]
    if low is None and high is None:
        return wrap(p.positive(x))  # type: ignore[no-any-return]
    if low is not None and high is not None:
        first, second = aval_of(limits[0]), aval_of(limits[1])
        if first.weak != second.weak and not aval_of(x).weak:
            # A Python number takes the dtype to which the arrays promote together.
            x = p.convert(x, common_dtype([aval_of(x), first, second]))
    try:
        result = x if low is None else p.maximum(limits[0], x)
        return wrap(result if high is None else p.minimum(limits[1], result))  # type: ignore[no-any-return]
    except ShapeError:
        fit("clip", x, *[limit for limit in limits if limit is not None])
        raise


def ldexp(x: ArrayLike, n: ArrayLike, /) -> Array:
    """``x * 2**n``.

    Parameters
    ----------
    x : array_like of float
    n : array_like of int

    Returns
    -------
    Array
        Differentiable towards x.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.ldexp(1.5, 2))
    6.0
    """
    return wrap(p.ldexp(operand(x, "ldexp"), operand(n, "ldexp")))  # type: ignore[no-any-return]


def divmod(x: ArrayLike, y: ArrayLike, /) -> tuple[Array, Array]:
    """Floored quotients and remainders.

    Parameters
    ----------
    x, y : array_like

    Returns
    -------
    tuple of Array
        ``floor_divide(x, y)`` and ``remainder(x, y)``.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [int(n) for n in fnp.divmod(7, 2)]
    [3, 1]
    """
    first, second = operand(x, "divmod"), operand(y, "divmod")
    fit("divmod", first, second)
    return wrap(p.floor_divide(first, second)), wrap(p.remainder(first, second))


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Fractional and integral parts, both with the sign of x.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    tuple of Array
        The fractional part is differentiable; the integral one has derivative zero.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> [float(n) for n in fnp.modf(-2.5)]
    [-0.5, -2.0]
    """
    refuse_out(out, "modf")
    inside = p.cast_to_float(operand(x, "modf"))
    whole = p.trunc(inside)
    fraction = p.select(p.isinf(inside), 0.0, p.sub(inside, whole))
    return wrap(p.copysign(p.abs_(fraction), inside)), wrap(whole)


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Replace NaN and infinities by numbers.

    Parameters
    ----------
    x : array_like
    copy : bool
        The result is always a new array; False is refused where `x` would have to change.
    nan, posinf, neginf : array_like
        The replacements; None means the largest and the smallest finite number.

    Returns
    -------
    Array
        Of the dtype of x. Differentiable; the slope is zero where a number was replaced.

    Raises
    ------
    InPlaceError
        If `copy` is False: arrays do not change in place.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> float(fnp.nan_to_num(fnp.nan))
    0.0
    """
    if not copy:
        raise InPlaceError(
            f"nan_to_num with copy=False would change its argument, and arrays do not change in place ({here()}); "
            "use the result, x = fnp.nan_to_num(x)"
        )
    inside = operand(x, "nan_to_num")
    aval = aval_of(inside)
    if not dtypes.is_inexact(aval.dtype):
        return wrap(p.positive(inside) if aval.dtype != dtypes.BOOL else inside)  # type: ignore[no-any-return]
    if aval.dtype.kind == "c":
        parts = [
            nan_to_num(wrap(part(inside)), copy, nan, posinf, neginf) for part in (p.real, p.imag)
        ]
        return wrap(p.complex_(*[operand(part, "nan_to_num") for part in parts]))  # type: ignore[no-any-return]
    info = finfo(aval.dtype)
    high = float(info.max) if posinf is None else operand(posinf, "nan_to_num")
    low = float(info.min) if neginf is None else operand(neginf, "nan_to_num")
    number = operand(nan, "nan_to_num")
    fit("nan_to_num", inside, number, high, low)
    out = p.select(p.isnan(inside), number, inside)
    out = p.select(p.equal(inside, np.inf), high, out)
    out = p.select(p.equal(inside, -np.inf), low, out)
    return wrap(p.convert(out, aval.dtype, aval.weak))  # type: ignore[no-any-return]
