"""Bessel functions and modified ones."""

from __future__ import annotations

from fgrad.array import Array, wrap
from fgrad.errors import ArgumentError
from fgrad.numpy._support import ArrayLike, operand, stacked, static_int
from fgrad.primitives import special
from fgrad.primitives.elementwise import cast_to_float


def i0(x: ArrayLike) -> Array:
    """Modified Bessel function of the first kind, of order 0.

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
    >>> f"{float(special.i0(1.0)):.9g}"
    '1.26606588'
    """
    return wrap(special.i0(operand(x, "i0")))  # type: ignore[no-any-return]


def i0e(x: ArrayLike) -> Array:
    """`i0` times ``exp(-abs(x))``.

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
    >>> f"{float(special.i0e(800.0)):.9g}"
    '0.014106945'
    """
    return wrap(special.i0e(operand(x, "i0e")))  # type: ignore[no-any-return]


def i1(x: ArrayLike) -> Array:
    """Modified Bessel function of the first kind, of order 1.

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
    >>> f"{float(special.i1(1.0)):.9g}"
    '0.565159104'
    """
    return wrap(special.i1(operand(x, "i1")))  # type: ignore[no-any-return]


def i1e(x: ArrayLike) -> Array:
    """`i1` times ``exp(-abs(x))``.

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
    >>> f"{float(special.i1e(800.0)):.9g}"
    '0.0140981254'
    """
    return wrap(special.i1e(operand(x, "i1e")))  # type: ignore[no-any-return]


def iv(v: ArrayLike, x: ArrayLike) -> Array:
    """Modified Bessel function of the first kind, of order v.

    Parameters
    ----------
    v, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards v there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.iv(0.5, 1.0)):.9g}"
    '0.937674888'
    """
    return wrap(special.iv(operand(v, "iv", "v"), operand(x, "iv", "x")))  # type: ignore[no-any-return]


def ive(v: ArrayLike, x: ArrayLike) -> Array:
    """`iv` times ``exp(-abs(x))``.

    Parameters
    ----------
    v, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards v there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.ive(0.5, 800.0)):.9g}"
    '0.0141047396'
    """
    return wrap(special.ive(operand(v, "ive", "v"), operand(x, "ive", "x")))  # type: ignore[no-any-return]


def j0(x: ArrayLike) -> Array:
    """Bessel function of the first kind, of order 0.

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
    >>> f"{float(special.j0(1.0)):.9g}"
    '0.765197687'
    """
    return wrap(special.j0(operand(x, "j0")))  # type: ignore[no-any-return]


def j1(x: ArrayLike) -> Array:
    """Bessel function of the first kind, of order 1.

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
    >>> f"{float(special.j1(1.0)):.9g}"
    '0.440050586'
    """
    return wrap(special.j1(operand(x, "j1")))  # type: ignore[no-any-return]


def jv(v: ArrayLike, x: ArrayLike) -> Array:
    """Bessel function of the first kind, of order v.

    Parameters
    ----------
    v, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards v there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.jv(0.5, 1.0)):.9g}"
    '0.671396707'
    """
    return wrap(special.jv(operand(v, "jv", "v"), operand(x, "jv", "x")))  # type: ignore[no-any-return]


def y0(x: ArrayLike) -> Array:
    """Bessel function of the second kind, of order 0.

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
    >>> f"{float(special.y0(1.0)):.9g}"
    '0.0882569642'
    """
    return wrap(special.y0(operand(x, "y0")))  # type: ignore[no-any-return]


def y1(x: ArrayLike) -> Array:
    """Bessel function of the second kind, of order 1.

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
    >>> f"{float(special.y1(1.0)):.9g}"
    '-0.781212821'
    """
    return wrap(special.y1(operand(x, "y1")))  # type: ignore[no-any-return]


def yv(v: ArrayLike, x: ArrayLike) -> Array:
    """Bessel function of the second kind, of order v.

    Parameters
    ----------
    v, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards v there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.yv(0.5, 1.0)):.9g}"
    '-0.431098868'
    """
    return wrap(special.yv(operand(v, "yv", "v"), operand(x, "yv", "x")))  # type: ignore[no-any-return]


def k0(x: ArrayLike) -> Array:
    """Modified Bessel function of the second kind, of order 0.

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
    >>> f"{float(special.k0(1.0)):.9g}"
    '0.421024438'
    """
    return wrap(special.k0(operand(x, "k0")))  # type: ignore[no-any-return]


def k0e(x: ArrayLike) -> Array:
    """`k0` times ``exp(x)``.

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
    >>> f"{float(special.k0e(800.0)):.9g}"
    '0.0443044275'
    """
    return wrap(special.k0e(operand(x, "k0e")))  # type: ignore[no-any-return]


def k1(x: ArrayLike) -> Array:
    """Modified Bessel function of the second kind, of order 1.

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
    >>> f"{float(special.k1(1.0)):.9g}"
    '0.60190723'
    """
    return wrap(special.k1(operand(x, "k1")))  # type: ignore[no-any-return]


def k1e(x: ArrayLike) -> Array:
    """`k1` times ``exp(x)``.

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
    >>> f"{float(special.k1e(800.0)):.9g}"
    '0.0443321091'
    """
    return wrap(special.k1e(operand(x, "k1e")))  # type: ignore[no-any-return]


def kv(v: ArrayLike, x: ArrayLike) -> Array:
    """Modified Bessel function of the second kind, of order v.

    Parameters
    ----------
    v, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards v there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.kv(0.5, 1.0)):.9g}"
    '0.461068504'
    """
    return wrap(special.kv(operand(v, "kv", "v"), operand(x, "kv", "x")))  # type: ignore[no-any-return]


def kve(v: ArrayLike, x: ArrayLike) -> Array:
    """`kv` times ``exp(x)``.

    Parameters
    ----------
    v, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards v there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.kve(0.5, 800.0)):.9g}"
    '0.0443113463'
    """
    return wrap(special.kve(operand(v, "kve", "v"), operand(x, "kve", "x")))  # type: ignore[no-any-return]


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Bessel functions of the first kind, of all orders from 0 to v.

    Parameters
    ----------
    z : array_like
    v : int
        The highest order.
    n_iter : int
        Accepted; of no effect, since the results are exact to rounding.

    Returns
    -------
    Array
        Of shape ``(v + 1, *z.shape)``. Differentiable to every order.

    Raises
    ------
    ArgumentError
        If v is negative.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> special.bessel_jn(0.0, v=2)
    Array([1., 0., 0.], dtype=float64)
    """
    highest = static_int(v, "bessel_jn: v")
    if highest < 0:
        raise ArgumentError(f"bessel_jn: v is {highest}; give an order of at least 0")
    x = cast_to_float(operand(z, "bessel_jn", "z"))
    orders = [special.jv(float(n), x) for n in range(highest + 1)]
    return wrap(stacked(orders, 0, "bessel_jn"))  # type: ignore[no-any-return]
