"""Error functions, the normal distribution, and kin."""

from __future__ import annotations

from fgrad.array import Array, wrap
from fgrad.numpy._support import ArrayLike, operand
from fgrad.primitives import special, special_integrals


def erf(x: ArrayLike) -> Array:
    """Error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.erf(0.5)):.9g}"
    '0.520499878'
    """
    return wrap(special.erf(operand(x, "erf")))  # type: ignore[no-any-return]


def erfc(x: ArrayLike) -> Array:
    """``1 - erf(x)``, accurate where it is small.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.erfc(5.0)):.9g}"
    '1.53745979e-12'
    """
    return wrap(special.erfc(operand(x, "erfc")))  # type: ignore[no-any-return]


def erfcx(x: ArrayLike) -> Array:
    """``exp(x**2) * erfc(x)``, which does not underflow.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.erfcx(50.0)):.9g}"
    '0.0112815363'
    """
    return wrap(special.erfcx(operand(x, "erfcx")))  # type: ignore[no-any-return]


def erfi(x: ArrayLike) -> Array:
    """``-1j * erf(1j * x)``, the error function of imaginary numbers.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.erfi(0.5)):.9g}"
    '0.614952095'
    """
    return wrap(special.erfi(operand(x, "erfi")))  # type: ignore[no-any-return]


def erfinv(x: ArrayLike) -> Array:
    """Inverse of `erf`, infinite at -1 and 1.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.erfinv(0.5)):.9g}"
    '0.476936276'
    """
    return wrap(special.erfinv(operand(x, "erfinv")))  # type: ignore[no-any-return]


def erfcinv(x: ArrayLike) -> Array:
    """Inverse of `erfc`, accurate for small x.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.erfcinv(1e-20)):.9g}"
    '6.60158062'
    """
    return wrap(special.erfcinv(operand(x, "erfcinv")))  # type: ignore[no-any-return]


def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to x.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.dawsn(0.5)):.9g}"
    '0.424436384'
    """
    return wrap(special.dawsn(operand(x, "dawsn")))  # type: ignore[no-any-return]


def wofz(z: ArrayLike) -> Array:
    """Faddeeva function ``exp(-z**2) * erfc(-1j * z)``, complex also for real numbers.

    Parameters
    ----------
    z : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> complex(special.wofz(1j).round(4))
    (0.4276+0j)
    """
    return wrap(special.wofz(operand(z, "wofz")))  # type: ignore[no-any-return]


def ndtr(x: ArrayLike) -> Array:
    """Distribution function of the standard normal distribution.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.ndtr(-1.0)):.9g}"
    '0.158655254'
    """
    return wrap(special.ndtr(operand(x, "ndtr")))  # type: ignore[no-any-return]


def ndtri(p: ArrayLike) -> Array:
    """Quantiles of the standard normal distribution, infinite at 0 and 1.

    Parameters
    ----------
    p : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.ndtri(0.975)):.9g}"
    '1.95996398'
    """
    return wrap(special.ndtri(operand(p, "ndtri")))  # type: ignore[no-any-return]


def ndtri_exp(y: ArrayLike) -> Array:
    """Quantiles of the standard normal distribution, of probabilities ``exp(y)``.

    Parameters
    ----------
    y : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.ndtri_exp(-1e3)):.9g}"
    '-44.6157477'
    """
    return wrap(special.ndtri_exp(operand(y, "ndtri_exp")))  # type: ignore[no-any-return]


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function.

    It is the probability that ``x > h`` and ``0 < y < a * x`` for independent standard normal x, y.

    Parameters
    ----------
    h, a : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.owens_t(0.5, 1.0)):.9g}"
    '0.106671063'
    """
    return wrap(special_integrals.owens_t(operand(h, "owens_t", "h"), operand(a, "owens_t", "a")))  # type: ignore[no-any-return]


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Logarithm of `ndtr`, accurate in the far tail.

    Parameters
    ----------
    x : array_like
    series_order : int
        Accepted; of no effect, since the result is exact to rounding.

    Returns
    -------
    Array
        In the dtype of x; integers count as float64. Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.log_ndtr(-100.0)):.9g}"
    '-5005.52421'
    """
    return wrap(special.log_ndtr(operand(x, "log_ndtr")))  # type: ignore[no-any-return]
