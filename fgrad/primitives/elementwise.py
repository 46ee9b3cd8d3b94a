"""Functions of scalars: arithmetic, comparison, exponentials, trigonometry, rounding, selection.

A slope that may be infinite or NaN where the cotangent is zero needs no care here: the family
multiplies with the absorbing product. A slope that would be NaN where the derivative exists does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgrad import dtypes
from fgrad.avals import Aval, aval_of, broadcast_shapes
from fgrad.config import switches
from fgrad.errors import DTypeError
from fgrad.parameters import parameters
from fgrad.primitives.elementwise_functions import (
    FEW,
    log_of_sum_of_exponentials,
    logistic_of_floats,
    step_of_numbers,
)
from fgrad.primitives.families import (
    NEG_ONE,
    ONE,
    ZERO,
    Convert,
    Elementwise,
    Linear,
    NonDifferentiable,
    Partial,
    Ufunc,
    absorbing_product,
    add,
    align_ranks,
    broadcast_to,
    conversion,
    elementwise,
    has_nan,
    match_aval,
    mul,
    neg,
    unguarded,
    zeros_of,
)
from fgrad.primitives.promotion import common_dtype

ndarray = np.ndarray
_PYTHON = frozenset((float, int, bool, complex))

__all__ = [
    "NEG_ONE",
    "ONE",
    "Convert",
    "absorbing_product",
    "add",
    "has_nan",
    "mul",
    "neg",
    "unguarded",
    "zeros_of",
]


def _is_complex(x: Any) -> bool:
    return aval_of(x).dtype.kind == "c"


# ---- arithmetic ------------------------------------------------------------------------------

sub: Ufunc = elementwise("sub", np.subtract, [ONE, NEG_ONE], keeps_nan=True)


class Div(Ufunc, abstract=True):
    """``x / y``."""

    def vjp(self, ct: Any, needs: Sequence[bool], answer: Any, *args: Any) -> Sequence[Any]:
        x, y = args
        stretched = needs[1] and aval_of(y).size < aval_of(answer).size
        if not stretched or aval_of(ct).dtype.itemsize < 4:
            return super().vjp(ct, needs, answer, *args)
        # One quotient serves both operands of a division of rows, as in softmax: that towards y is -z
        # times that towards x. Of short floats, it might underflow.
        towards_x = absorbing_product(ct, reciprocal_of(y))
        towards_y = neg(match_aval(absorbing_product(towards_x, answer), aval_of(y)))
        return match_aval(towards_x, aval_of(x)) if needs[0] else None, towards_y


div: Ufunc = Div(
    "div",
    np.true_divide,
    [lambda z, x, y: reciprocal_of(y), lambda z, x, y: neg(div(z, y))],
    keeps_nan=True,
)
square: Ufunc = elementwise("square", np.square, [lambda z, x: mul(2.0, x)])
reciprocal: Ufunc = elementwise("reciprocal", np.reciprocal, [lambda z, x: neg(square(z))])
sqrt: Ufunc = elementwise("sqrt", np.sqrt, [lambda z, x: div(0.5, z)])
# Powers, and no quotient: at 0 its slope is an infinity over an infinity.
cbrt: Ufunc = elementwise("cbrt", np.cbrt, [lambda z, x: mul(1.0 / 3.0, IntegerPower(-2)(z))])
floor_divide: Ufunc = elementwise("floor_divide", np.floor_divide, None)
remainder: Ufunc = elementwise(
    "remainder", np.remainder, [ONE, lambda z, x, y: neg(floor(div(x, y)))]
)
fmod: Ufunc = elementwise("fmod", np.fmod, [ONE, lambda z, x, y: neg(trunc(div(x, y)))])


def reciprocal_of(y: Any) -> Any:
    return div(1.0, y)


def _power_base_slope(z: Any, x: Any, y: Any) -> Any:
    # x**0 is constant, also at 0 where its textbook slope is 0 * 0**-1.
    is_zero = equal(y, 0.0)
    return select(is_zero, 0.0, mul(y, power(x, select(is_zero, 1.0, sub(y, 1.0)))))


def _power_exponent_slope(z: Any, x: Any, y: Any) -> Any:
    own = aval_of(z)
    if own.dtype.kind == "c" and aval_of(x).dtype.kind != "c":
        # A negative real base has a logarithm then.
        x = convert(x, own.dtype, own.weak)
    # 0**y is 0 for every y > 0: its slope is 0, where log gives -inf.
    return mul(z, log(select(equal(x, 0.0), 1.0, x)))


power: Ufunc = elementwise("power", np.power, [_power_base_slope, _power_exponent_slope])


@parameters
class IntegerPower(Elementwise):
    """``x ** n`` for a Python integer n, by products where n is small.   a[*s] -> a[*s]"""

    n: int

    @property
    def name(self) -> str:
        return "integer_power"

    @property
    def partials(self) -> Sequence[Partial]:  # type: ignore[override]
        n = self.n
        if n == 0:
            return (ZERO,)
        if n == 1:
            return (ONE,)
        if n == 2:
            return (lambda z, x: mul(2.0, x),)
        return (lambda z, x: mul(float(n), IntegerPower(n - 1)(x)),)

    def _refuse_integers(self, dtype: np.dtype[Any]) -> None:
        if dtype.kind in "iu" and self.n < 0:
            raise DTypeError(
                f"integers to the negative power {self.n} are not integers; convert to float first, as in "
                f"x.astype(float) ** {self.n}"
            )

    def result_dtype(self, avals: Sequence[Aval]) -> np.dtype[Any]:
        (x,) = avals
        self._refuse_integers(x.dtype)
        if x.dtype == dtypes.BOOL:
            return dtypes.INT64 if x.weak else np.dtype(np.int8)
        return x.dtype

    def compute(self, *values: Any) -> Any:
        (x,) = values
        n = self.n
        if (type(x) is bool) if type(x) in _PYTHON else x.dtype == dtypes.BOOL:
            x = np.asarray(x, np.int64 if type(x) is bool else np.int8)[()]
        if n == 2:
            return np.square(x)
        if n == 1:
            return np.positive(x)
        if n == 3:
            return np.multiply(np.square(x), x)
        if n == 4:
            return np.square(np.square(x))
        dtype = aval_of(x).dtype
        # NumPy's reciprocal of an integer is cut to an integer.
        self._refuse_integers(dtype)
        if n == -1:
            return np.reciprocal(x)
        return np.power(x, n if dtype.kind in "iu" else float(n))

    def lower(self, emit: Any, *names: str) -> str:
        (x,) = names
        simple = {2: f"np.square({x})", 1: f"np.positive({x})", -1: f"np.reciprocal({x})"}
        simple |= {3: f"np.multiply(np.square({x}), {x})", 4: f"np.square(np.square({x}))"}
        return simple.get(self.n) or f"{emit.constant(self.compute, f'power_{self.n}')}({x})"

    def lower_into(self, emit: Any, target: str, *names: str) -> str | None:
        return f"np.square({names[0]}, out={target})" if self.n == 2 else None


#: The primitive of this exponent, made once.
integer_power = functools.lru_cache(256)(IntegerPower)


# ---- exponentials and logarithms --------------------------------------------------------------

exp: Ufunc = elementwise("exp", np.exp, [lambda z, x: z])
exp2: Ufunc = elementwise("exp2", np.exp2, [lambda z, x: mul(z, math.log(2.0))])
expm1: Ufunc = elementwise("expm1", np.expm1, [lambda z, x: add(z, 1.0)])
log: Ufunc = elementwise("log", np.log, [lambda z, x: reciprocal_of(x)])
log2: Ufunc = elementwise("log2", np.log2, [lambda z, x: div(1.0 / math.log(2.0), x)])
log10: Ufunc = elementwise("log10", np.log10, [lambda z, x: div(1.0 / math.log(10.0), x)])
log1p: Ufunc = elementwise("log1p", np.log1p, [lambda z, x: reciprocal_of(add(x, 1.0))])


def _logistic(x: Any) -> Any:
    x = np.asarray(x, exp.result_dtype([aval_of(x)]))
    if x.dtype.kind == "f":
        return logistic_of_floats(x)[()]
    # One exponential that cannot overflow, for either sign.
    negative = np.less(np.real(x), 0)
    with np.errstate(under="ignore"):
        small = np.exp(np.where(negative, x, -x))
    return (np.where(negative, small, 1.0) / (1.0 + small))[()]


class Logistic(Ufunc, abstract=True):
    """``1 / (1 + exp(-x))``."""

    def lower(self, emit: Any, *names: str) -> str:
        (aval,) = emit.operands
        if not (aval.shape and aval.dtype.kind == "f"):
            return super().lower(emit, *names)
        return f"{emit.constant(logistic_of_floats, 'logistic')}({names[0]})"

    def lower_into(self, emit: Any, target: str, *names: str) -> str | None:
        if emit.operands[0].dtype.kind != "f":
            return None
        return f"{emit.constant(logistic_of_floats, 'logistic')}({names[0]}, {target})"


logistic: Ufunc = Logistic(
    "logistic", _logistic, [lambda z, x: mul(z, logistic(neg(x)))], np.exp, "logistic"
)


def _logaddexp_slopes(base: float) -> list[Callable[..., Any]]:
    def difference(a: Any, b: Any) -> Any:
        gap = sub(a, b)
        if any(type(x) in (float, int) and math.isfinite(x) for x in (a, b)):
            return gap
        # Equal infinities differ by 0, as their finite neighbours do.
        return select(logical_and(isinf(a), equal(a, b)), 0.0, gap)

    scale = math.log(base)

    def scaled(x: Any) -> Any:
        return x if base == math.e else mul(x, scale)

    return [
        lambda z, a, b: logistic(scaled(difference(a, b))),
        lambda z, a, b: logistic(scaled(difference(b, a))),
    ]


def _logaddexp(a: Any, b: Any) -> Any:
    if max(np.size(a), np.size(b)) >= FEW and _are_wide_floats([aval_of(a), aval_of(b)]):
        return log_of_sum_of_exponentials(a, b)
    return np.logaddexp(a, b)


def _are_wide_floats(avals: Sequence[Aval]) -> bool:
    return all([a.weak or a.dtype.char in "fd" for a in avals]) and any([a.shape for a in avals])


class LogAddExp(Ufunc, abstract=True):
    """``log(exp(a) + exp(b))``."""

    def _vectorised(self, emit: Any) -> str | None:
        avals = emit.operands
        # The longer operand decides, and not the size of a block.
        if max([a.size for a in avals]) < FEW or not _are_wide_floats(avals):
            return None
        return emit.constant(log_of_sum_of_exponentials, "logaddexp")  # type: ignore[no-any-return]

    def lower(self, emit: Any, *names: str) -> str:
        function = self._vectorised(emit)
        if function is None:
            return super().lower(emit, *names)
        return f"{function}({', '.join(names)})"

    def lower_into(self, emit: Any, target: str, *names: str) -> str | None:
        function = self._vectorised(emit)
        if function is None:
            return None
        return f"{function}({', '.join(names)}, {target})"


logaddexp: Ufunc = LogAddExp(
    "logaddexp", _logaddexp, _logaddexp_slopes(math.e), np.logaddexp, "np.logaddexp"
)
logaddexp2: Ufunc = elementwise("logaddexp2", np.logaddexp2, _logaddexp_slopes(2.0))


# ---- trigonometric, hyperbolic, inverses ------------------------------------------------------

sin: Ufunc = elementwise("sin", np.sin, [lambda z, x: cos(x)])
cos: Ufunc = elementwise("cos", np.cos, [lambda z, x: neg(sin(x))])
tan: Ufunc = elementwise("tan", np.tan, [lambda z, x: add(1.0, square(z))])
arcsin: Ufunc = elementwise(
    "arcsin", np.arcsin, [lambda z, x: reciprocal_of(sqrt(_one_minus_square(x)))]
)
arccos: Ufunc = elementwise(
    "arccos", np.arccos, [lambda z, x: div(-1.0, sqrt(_one_minus_square(x)))]
)
arctan: Ufunc = elementwise("arctan", np.arctan, [lambda z, x: reciprocal_of(add(1.0, square(x)))])
sinh: Ufunc = elementwise("sinh", np.sinh, [lambda z, x: cosh(x)])
cosh: Ufunc = elementwise("cosh", np.cosh, [lambda z, x: sinh(x)])
tanh: Ufunc = elementwise("tanh", np.tanh, [lambda z, x: _one_minus_square(z)])
arcsinh: Ufunc = elementwise(
    "arcsinh", np.arcsinh, [lambda z, x: reciprocal_of(sqrt(add(square(x), 1.0)))]
)
arccosh: Ufunc = elementwise(
    "arccosh", np.arccosh, [lambda z, x: reciprocal_of(mul(sqrt(sub(x, 1.0)), sqrt(add(x, 1.0))))]
)
arctanh: Ufunc = elementwise(
    "arctanh", np.arctanh, [lambda z, x: reciprocal_of(_one_minus_square(x))]
)
arctan2: Ufunc = elementwise(
    "arctan2",
    np.arctan2,
    [
        lambda z, y, x: div(x, add(square(x), square(y))),
        lambda z, y, x: neg(div(y, add(square(x), square(y)))),
    ],
)
hypot: Ufunc = elementwise(
    "hypot",
    np.hypot,
    [lambda z, x, y: _cosine(x, z), lambda z, x, y: _cosine(y, z)],
)
deg2rad: Ufunc = elementwise("deg2rad", np.deg2rad, [lambda z, x: math.pi / 180.0])
rad2deg: Ufunc = elementwise("rad2deg", np.rad2deg, [lambda z, x: 180.0 / math.pi])


def _cosine(side: Any, length: Any) -> Any:
    # At the origin, where a length has no slope: 0, as for a norm.
    return select(equal(length, 0.0), 0.0, div(side, length))


def _one_minus_square(x: Any) -> Any:
    # As a product, which keeps its relative accuracy as x nears 1.
    return mul(sub(1.0, x), add(1.0, x))


@parameters
class Sinc(Elementwise):
    """The order-th derivative of ``sin(pi x) / (pi x)``.   f[*s] -> f[*s]

    With t = pi x and f_k the k-th derivative of sin(t)/t, differentiating t f_0 = sin t k times gives
    t f_k + k f_{k-1} = sin(t + k pi/2). The recurrence is stable where the
    magnitude of t exceeds k; below, the power series
    of f_k is summed.
    """

    order: int = 0

    @property
    def name(self) -> str:
        return "sinc"

    @property
    def partials(self) -> Sequence[Partial]:  # type: ignore[override]
        following = Sinc(self.order + 1)
        return (lambda z, x: following(x),)

    def result_dtype(self, avals: Sequence[Aval]) -> np.dtype[Any]:
        (x,) = avals
        # NumPy multiplies by pi first, which makes integers of any size float64.
        return x.dtype if dtypes.is_inexact(x.dtype) else dtypes.float_for(x.dtype)

    def compute(self, *values: Any) -> Any:
        (x,) = values
        dtype = self.result_dtype([aval_of(x)])
        wide = np.complex128 if dtype.kind == "c" else np.float64
        t = np.pi * np.asarray(x, wide)
        order = self.order
        radius = max(1.0, float(order))
        near = np.abs(t) <= radius
        far = np.where(near, radius + 1.0, t)
        derivative = np.sin(far) / far
        for k in range(1, order + 1):
            derivative = (np.sin(far + k * np.pi / 2) - k * derivative) / far
        small = np.where(near, t, 0.0)
        series = np.zeros_like(small)
        # f_k(t) = sum over n with 2n >= k of (-1)^n t^(2n-k) / ((2n+1) (2n-k)!)
        n = (order + 1) // 2
        term = (-1.0) ** n * small ** (2 * n - order)
        for step in range(24 + order):
            m = n + step
            series = series + term / (2 * m + 1)
            term = -term * small * small / ((2 * m + 1 - order) * (2 * m + 2 - order))
        return (np.pi**order * np.where(near, series, derivative)).astype(dtype)[()]


# ---- sign, magnitude, rounding ------------------------------------------------------------------


def _abs_slope(z: Any, x: Any) -> Any:
    if not _is_complex(x):
        number = aval_of(x).dtype.type
        return select(greater_equal(x, 0.0), number(1), number(-1))
    return select(equal(z, 0.0), 0.0, div(conj(x), z))


abs_: Ufunc = elementwise("abs", np.abs, [_abs_slope], source="np.abs")
fabs: Ufunc = elementwise("fabs", np.fabs, [_abs_slope])
sign: Ufunc = elementwise("sign", np.sign, None)
signbit: Ufunc = elementwise("signbit", np.signbit, None)
copysign: Ufunc = elementwise(
    "copysign",
    np.copysign,
    [lambda z, x, y: mul(_abs_slope(z, x), copysign(1.0, mul(y, 1.0))), ZERO],
)
heaviside: Ufunc = elementwise(
    "heaviside", np.heaviside, [ZERO, lambda z, x, y: Convert(aval_of(y).dtype)(equal(x, 0.0))]
)
nextafter: Ufunc = elementwise("nextafter", np.nextafter, [ONE, ZERO])
spacing: Ufunc = elementwise("spacing", np.spacing, None)
ldexp: Ufunc = elementwise("ldexp", np.ldexp, [lambda z, x, n: exp2(n), ZERO])
floor: Ufunc = elementwise("floor", np.floor, None)
ceil: Ufunc = elementwise("ceil", np.ceil, None)
trunc: Ufunc = elementwise("trunc", np.trunc, None)
rint: Ufunc = elementwise("rint", np.rint, None)
positive: Ufunc = elementwise("positive", np.positive, [ONE])


# ---- choice -----------------------------------------------------------------------------------


def _step(a: Any, b: Any) -> Any:
    return step_of_numbers(a, b, step.result_dtype([aval_of(a), aval_of(b)]))


class Step(Ufunc, abstract=True):
    """1 where ``a > b``, 1/2 where they are equal, else 0."""

    def lower(self, emit: Any, *names: str) -> str:
        avals = emit.operands
        if all([aval.weak for aval in avals]):
            return super().lower(emit, *names)
        dtype = emit.dtype(self.result_dtype(avals))
        return f"{emit.constant(step_of_numbers, 'step')}({', '.join(names)}, {dtype})"

    def lower_into(self, emit: Any, target: str, *names: str) -> str | None:
        function = emit.constant(step_of_numbers, "step")
        dtype = emit.dtype(self.result_dtype(emit.operands))
        return f"{function}({', '.join(names)}, {dtype}, {target})"


#: The slope of the larger of two numbers towards the first: ties split evenly, so that the slopes add to one.
step: Ufunc = Step("step", _step, [ZERO, ZERO], np.true_divide, "step")


def _tie_slopes(wins: Callable[..., Any], holds: Callable[..., Any]) -> list[Callable[..., Any]]:
    # What wins also holds, and what ties just holds.
    def slope(z: Any, a: Any, b: Any) -> Any:
        to_slope = Convert(aval_of(z).dtype)
        return mul(0.5, add(to_slope(wins(a, b)), to_slope(holds(a, b))))

    return [lambda z, a, b: slope(z, a, b), lambda z, a, b: slope(z, b, a)]


def _or_alone(compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: logical_or(compare(a, b), isnan(b))


maximum: Ufunc = elementwise(
    "maximum", np.maximum, [lambda z, a, b: step(a, b), lambda z, a, b: step(b, a)]
)
minimum: Ufunc = elementwise(
    "minimum", np.minimum, [lambda z, a, b: step(b, a), lambda z, a, b: step(a, b)]
)
fmax: Ufunc = elementwise(
    "fmax",
    np.fmax,
    _tie_slopes(_or_alone(lambda a, b: greater(a, b)), _or_alone(lambda a, b: greater_equal(a, b))),
)
fmin: Ufunc = elementwise(
    "fmin",
    np.fmin,
    _tie_slopes(_or_alone(lambda a, b: less(a, b)), _or_alone(lambda a, b: less_equal(a, b))),
)


@parameters
class Select(Linear):
    """``a`` where the condition holds, else ``b``; linear in a and b.   a[*s] a[*s] bool[*s] -> a[*s]"""

    linear_operands = 2
    promotes = True

    def abstract_eval(self, a: Aval, b: Aval, condition: Aval) -> Aval:  # type: ignore[override]
        from_shapes = _select_shape(a, b, condition)
        return Aval(from_shapes, common_dtype((a, b)), a.weak and b.weak and not from_shapes)

    def impl(self, a: Any, b: Any, condition: Any) -> Any:
        if (
            type(condition) is ndarray
            and condition.dtype == dtypes.BOOL
            and (_are_alike(a, b) or _keeps_dtype(a, b) or _keeps_dtype(b, a))
        ):
            try:
                return np.where(condition, a, b)
            except ValueError:
                # The shapes are at fault, which is said below in better words.
                pass
        if (
            isinstance(condition, (bool, np.bool_))
            and type(a) is type(b) is np.float64
            and switches.enable_x64
        ):
            return a if condition else b
        a_aval, b_aval, c_aval = aval_of(a), aval_of(b), aval_of(condition)
        shape = _select_shape(a_aval, b_aval, c_aval)
        dtype = common_dtype((a_aval, b_aval))
        if not shape:
            chosen = a if condition else b
            if a_aval.weak and b_aval.weak:
                return dtypes.python_type(dtype)(chosen)
            return dtype.type(chosen)
        if a_aval.dtype != dtype or a_aval.weak:
            a = _cast(a, dtype)
        if b_aval.dtype != dtype or b_aval.weak:
            b = _cast(b, dtype)
        return np.where(condition, a, b)

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        a, b, condition = args
        zero = dtypes.python_type(aval_of(ct).dtype)(0)
        return (
            match_aval(select(condition, ct, zero), a) if needs[0] else None,
            match_aval(select(condition, zero, ct), b) if needs[1] else None,
        )

    def jvp(self, answer: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (ta, tb), condition = tangents[:2], primals[2]
        if ta is None and tb is None:
            return None
        out = aval_of(answer)
        zero = dtypes.python_type(out.dtype)(0)
        return match_aval(
            select(condition, zero if ta is None else ta, zero if tb is None else tb), out
        )

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(*align_ranks(args, mapped)), True

    def lower(self, emit: Any, *names: str) -> str:
        a, b, condition = names
        if not any(operand.shape for operand in emit.operands):
            return f"{emit.constant(self.impl, 'select')}({a}, {b}, {condition})"
        return f"np.where({condition}, {a}, {b})"


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype) if isinstance(x, np.ndarray) else dtype.type(x)


def _are_alike(a: Any, b: Any) -> bool:
    """Whether both are arrays of one dtype."""
    return type(a) is ndarray and type(b) is ndarray and bool(a.dtype == b.dtype)


def _keeps_dtype(a: Any, b: Any) -> bool:
    """Whether `a` is an array of floats, which keep their dtype beside the Python number `b`."""
    return (type(b) is float or type(b) is int) and type(a) is ndarray and a.dtype.kind in "fc"


def select_of_arrays(condition: Any, a: Any, b: Any) -> Any:
    """What `select` gives for arrays of known numbers."""
    if condition.dtype != dtypes.BOOL or not (
        _are_alike(a, b) or _keeps_dtype(a, b) or _keeps_dtype(b, a)
    ):
        raise TypeError("operands are to be converted")
    return np.where(condition, a, b)


def _select_shape(a: Aval, b: Aval, condition: Aval) -> tuple[int, ...]:
    if condition.dtype != dtypes.BOOL:
        raise DTypeError(
            f"where: the condition has dtype {condition.dtype}, expected bool; compare it first"
        )
    return broadcast_shapes("where", condition.shape, a.shape, b.shape)


_select = Select()


def select(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where `condition` holds, else ``b``."""
    return _select(a, b, condition)


@parameters
class Round(NonDifferentiable):
    """Round to a number of decimals, halves to even.   a[*s] -> a[*s]"""

    decimals: int

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x.with_dtype(np.dtype(np.float16)) if x.dtype == dtypes.BOOL and not x.weak else x

    def impl(self, x: Any) -> Any:
        if aval_of(x).dtype == dtypes.BOOL and type(x) is not bool:
            x = x.astype(np.float16)
        answer = np.round(x, self.decimals)
        if aval_of(x).weak:
            return type(x)(answer)
        return answer.view() if answer is x and type(x) is np.ndarray else answer

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if emit.operands[0].dtype == dtypes.BOOL:
            return super().lower(emit, *names)
        return f"np.round({names[0]}, {self.decimals})"


# ---- comparison, logic, bits --------------------------------------------------------------------

equal: Ufunc = elementwise("equal", np.equal, None)
not_equal: Ufunc = elementwise("not_equal", np.not_equal, None)
less: Ufunc = elementwise("less", np.less, None)
less_equal: Ufunc = elementwise("less_equal", np.less_equal, None)
greater: Ufunc = elementwise("greater", np.greater, None)
greater_equal: Ufunc = elementwise("greater_equal", np.greater_equal, None)
logical_and: Ufunc = elementwise("logical_and", np.logical_and, None)
logical_or: Ufunc = elementwise("logical_or", np.logical_or, None)
logical_xor: Ufunc = elementwise("logical_xor", np.logical_xor, None)
logical_not: Ufunc = elementwise("logical_not", np.logical_not, None)
isnan: Ufunc = elementwise("isnan", np.isnan, None)
isinf: Ufunc = elementwise("isinf", np.isinf, None)
isfinite: Ufunc = elementwise("isfinite", np.isfinite, None)
bitwise_and: Ufunc = elementwise("bitwise_and", np.bitwise_and, None)
bitwise_or: Ufunc = elementwise("bitwise_or", np.bitwise_or, None)
bitwise_xor: Ufunc = elementwise("bitwise_xor", np.bitwise_xor, None)
invert: Ufunc = elementwise("invert", np.invert, None)
left_shift: Ufunc = elementwise("left_shift", np.left_shift, None)
right_shift: Ufunc = elementwise("right_shift", np.right_shift, None)
bitwise_count: Ufunc = elementwise("bitwise_count", np.bitwise_count, None)
gcd: Ufunc = elementwise("gcd", np.gcd, None)
lcm: Ufunc = elementwise("lcm", np.lcm, None)


# ---- complex numbers ---------------------------------------------------------------------------


def _real_dtype(avals: Sequence[Aval]) -> np.dtype[Any]:
    return np.zeros((), avals[0].dtype).real.dtype


def _complex_dtype(avals: Sequence[Aval]) -> np.dtype[Any]:
    if any(a.dtype.kind == "c" for a in avals):
        raise DTypeError("complex: real and imaginary parts must be real numbers, got complex ones")
    return np.result_type(common_dtype(avals), np.complex64)


def _real(x: Any) -> Any:
    if type(x) is np.ndarray and x.dtype.kind != "c":
        return x.view()
    # A Python bool has an int as its real part.
    return np.real(x) if type(x) is not bool else x


def _imag(x: Any) -> Any:
    # NumPy's imaginary part of a real array is a writable array of zeros of its own.
    return np.imag(x) if type(x) is not bool else False


def _make_complex(x: Any, y: Any) -> Any:
    dtype = _complex_dtype([aval_of(x), aval_of(y)])
    answer = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), dtype)
    answer.real = x
    answer.imag = y
    return answer[()]


real: Ufunc = elementwise("real", _real, [ONE], typed_like=_real_dtype, source="np.real", view=True)
imag: Ufunc = elementwise(
    "imag",
    _imag,
    [lambda z, x: -1j if _is_complex(x) else 0.0],
    typed_like=_real_dtype,
    source="np.imag",
    view=True,
)
complex_: Ufunc = elementwise(
    "complex",
    _make_complex,
    [ONE, lambda z, x, y: 1j],
    typed_like=_complex_dtype,
    source="make_complex",
)


@parameters
class Conj(Linear):
    """Complex conjugate.   c[*s] -> c[*s]"""

    view = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return Aval(x.shape, x.dtype if x.dtype != dtypes.BOOL else dtypes.BOOL, x.weak)

    def impl(self, x: Any) -> Any:
        if aval_of(x).dtype.kind != "c":
            return x.view() if type(x) is np.ndarray else x
        return x.conjugate()

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (self(ct),)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        if emit.operands[0].dtype.kind != "c":
            # NumPy's ufunc has no loop for booleans and answers in int8.
            return super().lower(emit, *names)
        return f"np.conjugate({names[0]})"


conj = Conj()


@parameters
class StopGradient(Linear):
    """The identity, with derivative zero at every level.   a[*s] -> a[*s]"""

    differentiable = False
    view = True

    def abstract_eval(self, x: Aval) -> Aval:  # type: ignore[override]
        return x

    def impl(self, x: Any) -> Any:
        return x.view() if type(x) is np.ndarray else x

    def transpose(self, ct: Any, needs: Sequence[bool], *args: Any) -> Sequence[Any]:
        return (None,)

    def batch(self, size: int, args: Sequence[Any], mapped: Sequence[bool]) -> tuple[Any, Any]:
        return self(args[0]), True

    def lower(self, emit: Any, *names: str) -> str:
        return names[0]


stop_gradient = StopGradient()


def convert(x: Any, dtype: np.dtype[Any], weak: bool = False) -> Any:
    """`x` in another dtype, or itself if it has it; a weak value becomes strong unless `weak`."""
    if not weak and (type(x) is dtype.type or (type(x) is ndarray and x.dtype == dtype)):
        return x
    own = aval_of(x)
    if own.dtype == dtype and own.weak == weak:
        return x
    return conversion(dtype, weak)(x)


def cast_to_float(x: Any) -> Any:
    """Integers and booleans as NumPy's float of them; inexact values as they are."""
    if type(x) is ndarray and x.dtype.kind in "fc":
        return x
    own = aval_of(x)
    if dtypes.is_inexact(own.dtype):
        return x
    return conversion(dtypes.float_for(own.dtype), own.weak)(x)


def broadcast_together(name: str, *xs: Any) -> list[Any]:
    """All of `xs` stretched to their common shape."""
    shape = broadcast_shapes(name, *[aval_of(x).shape for x in xs])
    return [broadcast_to(x, shape) for x in xs]
