"""Exponential, trigonometric and hypergeometric integrals, zeta."""

from __future__ import annotations

from fgrad.array import Array, wrap
from fgrad.numpy._support import ArrayLike, operand
from fgrad.primitives import special, special_integrals
from fgrad.primitives.elementwise import cast_to_float


def exp1(x: ArrayLike) -> Array:
    """Exponential integral, of ``exp(-x * t) / t`` for t from 1 on.

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
    >>> f"{float(special.exp1(0.5)):.9g}"
    '0.559773595'
    """
    return wrap(special.exp1(operand(x, "exp1")))  # type: ignore[no-any-return]


def expi(x: ArrayLike) -> Array:
    """Exponential integral, of ``exp(t) / t`` for t up to x.

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
    >>> f"{float(special.expi(0.5)):.9g}"
    '0.454219905'
    """
    return wrap(special.expi(operand(x, "expi")))  # type: ignore[no-any-return]


def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Exponential integral, of ``exp(-x * t) / t**n`` for t from 1 on.

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
    >>> f"{float(special.expn(2, 0.5)):.9g}"
    '0.326643862'
    """
    return wrap(special.expn(operand(n, "expn", "n"), operand(x, "expn", "x")))  # type: ignore[no-any-return]


def hyp0f1(v: ArrayLike, x: ArrayLike) -> Array:
    """Confluent hypergeometric limit function 0F1.

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
    >>> f"{float(special.hyp0f1(1.5, 0.5)):.9g}"
    '1.36829887'
    """
    return wrap(special.hyp0f1(operand(v, "hyp0f1", "v"), operand(x, "hyp0f1", "x")))  # type: ignore[no-any-return]


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Confluent hypergeometric function 1F1.

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
    >>> f"{float(special.hyp1f1(1.0, 2.0, 0.5)):.9g}"
    '1.29744254'
    """
    return wrap(  # type: ignore[no-any-return]
        special.hyp1f1(
            operand(a, "hyp1f1", "a"), operand(b, "hyp1f1", "b"), operand(x, "hyp1f1", "x")
        )
    )


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's hypergeometric function 2F1.

    Parameters
    ----------
    a, b, c, x : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order towards the last argument; towards a, b or c there is an
        error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.hyp2f1(1.0, 1.0, 2.0, 0.5)):.9g}"
    '1.38629436'
    """
    return wrap(  # type: ignore[no-any-return]
        special.hyp2f1(
            operand(a, "hyp2f1", "a"),
            operand(b, "hyp2f1", "b"),
            operand(c, "hyp2f1", "c"),
            operand(x, "hyp2f1", "x"),
        )
    )


def spence(x: ArrayLike) -> Array:
    """Spence's function, the dilogarithm of ``1 - x``.

    It is the integral of ``log(t) / (1 - t)`` for t from 1 to x.

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
    >>> f"{float(special.spence(0.5)):.9g}"
    '0.582240526'
    """
    return wrap(special_integrals.spence(operand(x, "spence")))  # type: ignore[no-any-return]


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz's zeta function, the sum of ``(k + q)**-x`` over all k from 0 on.

    Parameters
    ----------
    x : array_like
        Above 1.
    q : array_like, optional
        By default 1, which makes it Riemann's zeta function.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64. Differentiable to every
        order towards q; towards x there is an error that says that no derivative is known.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.zeta(2.0)):.9g}"
    '1.64493407'
    """
    shift = 1.0 if q is None else operand(q, "zeta", "q")
    return wrap(special.zeta(operand(x, "zeta", "x"), shift))  # type: ignore[no-any-return]


def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Fresnel's integrals of ``sin(pi t**2 / 2)`` and ``cos(pi t**2 / 2)`` from 0 to x.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    tuple of Array
        In the dtype of x; integers count as float64. Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> [round(float(part), 6) for part in special.fresnel(1.0)]
    [0.438259, 0.779893]
    """
    inside = cast_to_float(operand(x, "fresnel"))
    return wrap(special_integrals.fresnel_sine(inside)), wrap(
        special_integrals.fresnel_cosine(inside)
    )


def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of ``sin(t) / t`` from 0 to x, and of ``cos(t) / t`` from infinity to x.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    tuple of Array
        In the dtype of x; integers count as float64. Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> [round(float(part), 6) for part in special.sici(1.0)]
    [0.946083, 0.337404]
    """
    inside = cast_to_float(operand(x, "sici"))
    return wrap(special_integrals.sine_integral(inside)), wrap(
        special_integrals.cosine_integral(inside)
    )
