"""The gamma and beta functions and what is made of them."""

from __future__ import annotations

import math

from fgrad.array import Array, wrap
from fgrad.errors import ArgumentError
from fgrad.numpy._support import ArrayLike, operand, static_int
from fgrad.primitives import special
from fgrad.primitives.elementwise import cast_to_float, sub
from fgrad.primitives.families import add


def gamma(x: ArrayLike) -> Array:
    """Gamma function.

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
    >>> f"{float(special.gamma(5.0)):.9g}"
    '24'
    """
    return wrap(special.gamma(operand(x, "gamma")))  # type: ignore[no-any-return]


def gammaln(x: ArrayLike) -> Array:
    """Logarithm of the magnitude of `gamma`.

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
    >>> f"{float(special.gammaln(100.0)):.9g}"
    '359.134205'
    """
    return wrap(special.gammaln(operand(x, "gammaln")))  # type: ignore[no-any-return]


def loggamma(x: ArrayLike) -> Array:
    """Logarithm of `gamma`: its principal branch for complex numbers, NaN for negative ones.

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
    >>> f"{float(special.loggamma(100.0)):.9g}"
    '359.134205'
    """
    return wrap(special.loggamma(operand(x, "loggamma")))  # type: ignore[no-any-return]


def rgamma(x: ArrayLike) -> Array:
    """One over `gamma`, which is 0 at its poles.

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
    >>> f"{float(special.rgamma(-2.0)):.9g}"
    '0'
    """
    return wrap(special.rgamma(operand(x, "rgamma")))  # type: ignore[no-any-return]


def gammasgn(x: ArrayLike) -> Array:
    """Sign of `gamma`.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Its derivative is zero wherever it exists.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.gammasgn(-0.5)):.9g}"
    '-1'
    """
    return wrap(special.gammasgn(operand(x, "gammasgn")))  # type: ignore[no-any-return]


def digamma(x: ArrayLike) -> Array:
    """Slope of the logarithm of `gamma`.

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
    >>> f"{float(special.digamma(1.0)):.9g}"
    '-0.577215665'
    """
    return wrap(special.digamma(operand(x, "digamma")))  # type: ignore[no-any-return]


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The slope of order n of `digamma`, for integers n.

    Parameters
    ----------
    n, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards n there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.polygamma(1, 1.0)):.9g}"
    '1.64493407'
    """
    return wrap(special.polygamma(operand(n, "polygamma", "n"), operand(x, "polygamma", "x")))  # type: ignore[no-any-return]


def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Beta function ``gamma(a) * gamma(b) / gamma(a + b)``.

    Parameters
    ----------
    a, b : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.beta(2.0, 3.0)):.9g}"
    '0.0833333333'
    """
    return wrap(special.beta(operand(a, "beta", "a"), operand(b, "beta", "b")))  # type: ignore[no-any-return]


def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Logarithm of the magnitude of `beta`.

    Parameters
    ----------
    a, b : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.betaln(200.0, 300.0)):.9g}"
    '-337.980113'
    """
    return wrap(special.betaln(operand(a, "betaln", "a"), operand(b, "betaln", "b")))  # type: ignore[no-any-return]


def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Rising factorial ``gamma(z + m) / gamma(z)``.

    Parameters
    ----------
    z, m : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.poch(2.0, 3.0)):.9g}"
    '24'
    """
    return wrap(special.poch(operand(z, "poch", "z"), operand(m, "poch", "m")))  # type: ignore[no-any-return]


def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularised lower incomplete gamma function.

    Parameters
    ----------
    a, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to the first order towards `a`, to every order towards `x`.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.gammainc(2.0, 1.5)):.9g}"
    '0.4421746'
    """
    return wrap(special.gammainc(operand(a, "gammainc", "a"), operand(x, "gammainc", "x")))  # type: ignore[no-any-return]


def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularised upper incomplete gamma function, ``1 - gammainc(a, x)``.

    Parameters
    ----------
    a, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to the first order towards `a`, to every order towards `x`.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.gammaincc(2.0, 30.0)):.9g}"
    '2.90086312e-12'
    """
    return wrap(special.gammaincc(operand(a, "gammaincc", "a"), operand(x, "gammaincc", "x")))  # type: ignore[no-any-return]


def gammaincinv(a: ArrayLike, y: ArrayLike) -> Array:
    """Inverse of `gammainc` towards its second argument.

    Parameters
    ----------
    a, y : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.gammaincinv(2.0, 0.5)):.9g}"
    '1.67834699'
    """
    return wrap(special.gammaincinv(operand(a, "gammaincinv", "a"), operand(y, "gammaincinv", "y")))  # type: ignore[no-any-return]


def gammainccinv(a: ArrayLike, y: ArrayLike) -> Array:
    """Inverse of `gammaincc` towards its second argument.

    Parameters
    ----------
    a, y : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.gammainccinv(2.0, 1e-10)):.9g}"
    '26.3339816'
    """
    return wrap(  # type: ignore[no-any-return]
        special.gammainccinv(operand(a, "gammainccinv", "a"), operand(y, "gammainccinv", "y"))
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
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards a or b there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.betainc(2.0, 3.0, 0.5)):.9g}"
    '0.6875'
    """
    return wrap(  # type: ignore[no-any-return]
        special.betainc(
            operand(a, "betainc", "a"), operand(b, "betainc", "b"), operand(x, "betainc", "x")
        )
    )


def betaincinv(a: ArrayLike, b: ArrayLike, y: ArrayLike) -> Array:
    """Inverse of `betainc` towards its last argument.

    Parameters
    ----------
    a, b, y : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards a or b there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.betaincinv(2.0, 3.0, 0.5)):.9g}"
    '0.385727568'
    """
    return wrap(  # type: ignore[no-any-return]
        special.betaincinv(
            operand(a, "betaincinv", "a"),
            operand(b, "betaincinv", "b"),
            operand(y, "betaincinv", "y"),
        )
    )


def multigammaln(a: ArrayLike, d: int) -> Array:
    """Logarithm of the gamma function of dimension d, for ``a > (d - 1) / 2``.

    Parameters
    ----------
    a : array_like
    d : int
        The dimension, at least 1.

    Returns
    -------
    Array
        Of the shape of a. Differentiable to every order.

    Raises
    ------
    ArgumentError
        If d is below 1.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.multigammaln(2.5, 2)):.9g}"
    '0.857047813'
    """
    count = static_int(d, "multigammaln: d")
    if count < 1:
        raise ArgumentError(f"multigammaln: d is {count}; give a dimension of at least 1")
    x = cast_to_float(operand(a, "multigammaln", "a"))
    total = special.gammaln(x)
    for i in range(1, count):
        total = add(total, special.gammaln(sub(x, 0.5 * i)))
    constant = 0.25 * count * (count - 1) * math.log(math.pi)
    return wrap(add(total, constant))  # type: ignore[no-any-return]
