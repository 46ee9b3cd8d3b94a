"""The choice of a method, and what all of them take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fgrad import numpy as fnp
from fgrad.errors import ArgumentError, DTypeError, ShapeError
from fgrad.numpy._support import ArrayLike
from fgrad.scipy.optimize.bfgs import bfgs
from fgrad.scipy.optimize.lbfgs import lbfgs
from fgrad.scipy.optimize.results import OptimizeResults
from fgrad.transforms.grad import value_and_grad

_METHODS: dict[str, Callable[..., OptimizeResults]] = {
    "bfgs": bfgs,
    "l-bfgs": lbfgs,
    "l-bfgs-experimental-do-not-rely-on-this": lbfgs,
}


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Find a local minimum of a function of a vector.

    Parameters
    ----------
    fun : callable
        From a vector, and `args`, to a number. It is differentiated.
    x0 : array_like
        Where to begin, of one axis.
    args : tuple
        Further arguments of `fun`.
    method : {'BFGS', 'L-BFGS'}
        Quasi-Newton steps with an approximate inverse Hessian, after Broyden, Fletcher, Goldfarb and
        Shanno, or of the last few steps alone, for long vectors. The name that JAX gives the latter,
        ``'l-bfgs-experimental-do-not-rely-on-this'``, does too.
    tol : float, optional
        Another name of the option ``gtol``, and of ``ftol`` where there is one.
    options : dict, optional
        ``gtol``, the greatest norm of the gradient that counts as zero, by default 1e-5; ``norm``, the
        order of that norm, by default inf; ``maxiter``. BFGS has ``line_search_maxiter`` beside. L-BFGS
        has ``maxcor``, how many steps it remembers, by default 10; ``ftol``, the relative decrease that
        counts as none, by default 2.2e-9; ``maxfun``, ``maxgrad`` and ``maxls``, limits of evaluations
        and of those in a step.

    Returns
    -------
    OptimizeResults
        Of L-BFGS, `hess_inv` is None.

    Raises
    ------
    ShapeError, DTypeError
        If `x0` is not a vector of real numbers, or `fun` does not return a real number.
    ArgumentError
        If the method or an option is unknown.

    Examples
    --------
    >>> import fgrad.numpy as fnp
    >>> from fgrad.scipy import optimize
    >>> found = optimize.minimize(lambda x: fnp.sum((x - 1.0) ** 2), fnp.zeros(2), method="BFGS")
    >>> found.x.round(6), bool(found.success)
    (Array([1., 1.], dtype=float64), True)
    """
    run = _METHODS.get(method.lower() if isinstance(method, str) else method)
    if run is None:
        raise ArgumentError(
            f"minimize: method is {method!r}; give 'BFGS' or 'L-BFGS', or call scipy.optimize.minimize with "
            "jac=fgrad.grad(fun)"
        )
    given = dict(options or {})
    if tol is not None:
        given.setdefault("gtol", tol)
        if run is lbfgs:
            given.setdefault("ftol", tol)
    x: Any = fnp.asarray(x0) * 1.0
    if x.ndim != 1:
        raise ShapeError(f"minimize: x0 has shape {x.shape}; give a vector")
    if fnp.iscomplexobj(x):
        raise DTypeError(
            "minimize: x0 is complex; give real numbers, such as real and imaginary parts"
        )
    both = value_and_grad(lambda v: fun(v, *args))

    def evaluate(v: Any) -> tuple[Any, Any]:
        value, gradient = both(v)
        return fnp.asarray(value).astype(x.dtype), gradient

    return run(evaluate, x, given)
