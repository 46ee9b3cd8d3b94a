"""Logarithms, logistic functions, entropies, and the transforms of Box and Cox."""

from __future__ import annotations

from fgrad.array import Array, wrap
from fgrad.numpy._support import ArrayLike, operand
from fgrad.primitives import elementwise, power_transforms, special


def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """``x * log(y)``, and 0 where x is 0.

    Parameters
    ----------
    x, y : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.xlogy(2.0, 3.0)):.9g}"
    '2.19722458'
    """
    return wrap(special.xlogy(operand(x, "xlogy", "x"), operand(y, "xlogy", "y")))  # type: ignore[no-any-return]


def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """``x * log1p(y)``, and 0 where x is 0.

    Parameters
    ----------
    x, y : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.xlog1py(2.0, 1e-20)):.9g}"
    '2e-20'
    """
    return wrap(special.xlog1py(operand(x, "xlog1py", "x"), operand(y, "xlog1py", "y")))  # type: ignore[no-any-return]


def entr(x: ArrayLike) -> Array:
    """``-x * log(x)``: 0 at 0, -inf for negative numbers.

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
    >>> f"{float(special.entr(0.5)):.9g}"
    '0.34657359'
    """
    return wrap(special.entr(operand(x, "entr")))  # type: ignore[no-any-return]


def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """``p * log(p / q)``: 0 where p is 0 and q is not negative, else inf out of the domain.

    Parameters
    ----------
    p, q : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.rel_entr(0.5, 0.25)):.9g}"
    '0.34657359'
    """
    return wrap(special.rel_entr(operand(p, "rel_entr", "p"), operand(q, "rel_entr", "q")))  # type: ignore[no-any-return]


def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """``p * log(p / q) - p + q``, which is convex.

    Parameters
    ----------
    p, q : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.kl_div(0.5, 0.25)):.9g}"
    '0.0965735903'
    """
    return wrap(special.kl_div(operand(p, "kl_div", "p"), operand(q, "kl_div", "q")))  # type: ignore[no-any-return]


def logit(x: ArrayLike) -> Array:
    """``log(x / (1 - x))``, the inverse of `expit`.

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
    >>> f"{float(special.logit(0.75)):.9g}"
    '1.09861229'
    """
    return wrap(special.logit(operand(x, "logit")))  # type: ignore[no-any-return]


def log_expit(x: ArrayLike) -> Array:
    """Logarithm of `expit`, accurate for large numbers of either sign.

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
    >>> f"{float(special.log_expit(-800.0)):.9g}"
    '-800'
    """
    return wrap(special.log_expit(operand(x, "log_expit")))  # type: ignore[no-any-return]


def expit(x: ArrayLike) -> Array:
    """``1 / (1 + exp(-x))``, without overflow.

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
    >>> f"{float(special.expit(0.0)):.9g}"
    '0.5'
    """
    return wrap(elementwise.logistic(operand(x, "expit")))  # type: ignore[no-any-return]


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """``(x**lmbda - 1) / lmbda``, and ``log(x)`` where lmbda is 0.

    Parameters
    ----------
    x, lmbda : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.boxcox(2.0, 0.5)):.9g}"
    '0.828427125'
    """
    return wrap(  # type: ignore[no-any-return]
        power_transforms.boxcox(operand(x, "boxcox", "x"), operand(lmbda, "boxcox", "lmbda"))
    )


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """``((1 + x)**lmbda - 1) / lmbda``, and ``log1p(x)`` where lmbda is 0.

    Parameters
    ----------
    x, lmbda : array_like
        Broadcast together.

    Returns
    -------
    Array
        In the dtype that the arguments promote to; integers count as float64.
        Differentiable to every order.

    Examples
    --------
    >>> from fgrad.scipy import special
    >>> f"{float(special.boxcox1p(1e-20, 0.5)):.9g}"
    '1e-20'
    """
    return wrap(  # type: ignore[no-any-return]
        power_transforms.boxcox1p(operand(x, "boxcox1p", "x"), operand(lmbda, "boxcox1p", "lmbda"))
    )
