"""The quantile function of the normal distribution, for numbers that are spread evenly over (-1, 1).

Rational functions stand for it, fitted at Chebyshev points in forty digits: around zero, z/u as one of
the distance of u**2 from the end of the middle; towards the ends, z as one of the root of
``-log(1 - abs(u))``. They are within 2e-16 of z in float64, and within 5e-8 in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fgrad.blocks import aligned_rows

NDArray = np.ndarray[Any, Any]


class _Fit(NamedTuple):
    """A quotient of polynomials in x - origin; coefficients in rising order, the last ones first to run."""

    origin: NDArray
    numerator: list[NDArray]
    denominator: list[NDArray]


class _Quantile(NamedTuple):
    """The middle, up to which the first fit holds, and a fit from each further root on."""

    middle: NDArray
    centre: _Fit
    tails: list[tuple[float, _Fit]]


def _fit(
    dtype: Any, origin: float, numerator: Sequence[float], denominator: Sequence[float]
) -> _Fit:
    def constants(coefficients: Sequence[float]) -> list[NDArray]:
        return [np.array(c, dtype) for c in reversed(coefficients)]

    return _Fit(np.array(origin, dtype), constants(numerator), constants(denominator))


# fmt: off
_DOUBLE = _Quantile(
    np.array(0.8),
    _fit(
        np.float64, 0.64,
        (1.6019394569307503, 12.380565812277988, 36.22280088653781, 50.168940727643125,
         33.648547934934165, 9.994023510793722, 1.0210217631943077, 0.016006080150937),
        (1.0, 8.336679132951618, 26.8095377629561, 41.9452740859303,
         33.15978753491853, 12.486765305700818, 1.8801683603090493, 0.07164341520285614),
    ),
    [
        (0.0, _fit(
            np.float64, 1.25,
            (1.2546347373303888, 4.6808751433606846, 7.4172878175470185, 6.467510400787521,
             3.3438037505018796, 1.024547216841418, 0.1754754575663495, 0.014698754553501364,
             0.0004290282998507618),
            (1.0, 2.580832550984602, 2.880452134680734, 1.7450006423774063,
             0.6005996259298145, 0.11229420707005137, 0.01001717658030219, 0.0003033470150115046),
        )),
        (3.3, _fit(
            np.float64, 3.25,
            (4.207089246337945, 5.280150084655318, 2.627415219816212, 0.6531373226662799,
             0.08356321347005884, 0.0050311246721386075, 0.00010448274566725673),
            (1.0, 0.9057788071874163, 0.3099249401438561, 0.04849489375399711,
             0.0033179392369136985, 7.387753495756057e-05),
        )),
    ],
)
_SINGLE = _Quantile(
    np.array(0.85, np.float32),
    _fit(
        np.float32, 0.7225,
        (1.6935663742008982, 7.2960589436045655, 7.764743550104852, 1.658901511863549),
        (1.0, 5.0594107195100415, 7.007665784278173, 2.520435766002766, 0.09692600838047534),
    ),
    [
        (0.0, _fit(
            np.float32, 1.375,
            (1.4360876219241858, 3.1638958720654577, 2.486266575940456, 0.7982147114334319,
             0.08037949171068658),
            (1.0, 1.1869891008140292, 0.488063714740714, 0.056799024509783164),
        )),
    ],
)
# fmt: on


def _polynomial(coefficients: list[NDArray], x: NDArray, value: NDArray) -> NDArray:
    """Write the polynomial of these coefficients, the highest first, to `value`."""
    np.multiply(x, coefficients[0], value)
    for coefficient in coefficients[1:-1]:
        np.add(value, coefficient, value)
        np.multiply(value, x, value)
    return np.add(value, coefficients[-1], value)


def _quotient(fit: _Fit, x: NDArray, value: NDArray, scratch: NDArray) -> NDArray:
    _polynomial(fit.numerator, x, value)
    return np.divide(value, _polynomial(fit.denominator, x, scratch), value)


def _magnitudes(quantile: _Quantile, far: NDArray) -> NDArray:
    """The magnitudes of the quantiles of numbers beyond the middle."""
    roots: NDArray = np.sqrt(-np.log(1 - np.abs(far)))
    magnitudes, scratch = np.empty_like(roots), np.empty_like(roots)
    for n, (start, fit) in enumerate(quantile.tails):
        if not n:
            _quotient(fit, roots - fit.origin, magnitudes, scratch)
            continue
        (chosen,) = np.nonzero(roots > start)
        x = roots[chosen] - fit.origin
        magnitudes[chosen] = _quotient(fit, x, np.empty_like(x), np.empty_like(x))
    return magnitudes


def quantile_writer(dtype: np.dtype[Any], size: int) -> Callable[[NDArray, NDArray], None]:
    """A function that writes, for each u of a flat array, the z that a normal number exceeds with chance
    (1 - u) / 2 to another array.

    It takes up to `size` numbers of the dtype, for which it keeps room: each thread needs its own.
    """
    if dtype.itemsize == 2:
        wide = np.empty(size, np.float32)
        write_wide = quantile_writer(wide.dtype, size)

        def write_narrow(block: NDArray, out: NDArray) -> None:
            own = wide[: block.size]
            np.copyto(own, block)
            write_wide(own, own)
            np.copyto(out, own, casting="same_kind")

        return write_narrow
    quantile = _DOUBLE if dtype == np.float64 else _SINGLE
    end = quantile.middle * quantile.middle
    zero = np.zeros((), dtype)
    rows = aligned_rows(3, size, dtype)

    def write(block: NDArray, out: NDArray) -> None:
        squares, value, scratch = [row[: block.size] for row in rows]
        np.multiply(block, block, squares)
        (places,) = np.nonzero(squares > end)
        far = block[places]
        np.subtract(quantile.centre.origin, squares, squares)
        # Where the middle ends, the fit may have a pole, and is replaced below.
        np.maximum(squares, zero, out=squares)
        np.multiply(block, _quotient(quantile.centre, squares, value, scratch), out)
        out[places] = np.copysign(_magnitudes(quantile, far), far)

    return write
