"""Iterative solvers of linear systems, with implicit derivatives: the iterations are not differentiated."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fgrad import lax, tree
from fgrad import numpy as fnp
from fgrad.errors import ArgumentError, ShapeError
from fgrad.flatten_util import ravel_pytree

__all__ = ["bicgstab", "cg", "gmres"]

Operator = Callable[[Any], Any]


def _operator(a: Any, name: str, argument: str) -> Operator:
    if callable(a):
        return a
    matrix: Any = fnp.asarray(a)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(
            f"{name}: {argument} has shape {matrix.shape}; give a square matrix or a function"
        )
    return lambda x: matrix @ x


def _inner(x: Any, y: Any) -> Any:
    return fnp.sum(fnp.conj(x) * y)


Iteration = Callable[[Operator, Any, Any, Any, int, Operator], Any]


def _solve(
    name: str,
    iteration: Iteration,
    A: Any,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    maxiter: Any,
    M: Any,
    symmetric: bool,
) -> tuple[Any, None]:
    operator = _operator(A, name, "A")
    inverse = (lambda x: x) if M is None else _operator(M, name, "M")
    flat, unravel = ravel_pytree(tree.map(lambda leaf: fnp.asarray(leaf) * 1.0, b))
    side: Any = flat
    limit = 10 * side.size if maxiter is None else maxiter
    if x0 is None:
        start: Any = fnp.zeros_like(side)
    else:
        start = ravel_pytree(x0)[0]
        if start.shape != side.shape:
            raise ArgumentError(
                f"{name}: x0 has {start.size} elements and b has {side.size}; give trees of one structure"
            )
        start = lax.stop_gradient(start.astype(side.dtype))

    def on_vectors(function: Operator) -> Operator:
        return lambda v: ravel_pytree(function(unravel(v)))[0]

    def run(matvec: Operator, right: Any) -> Any:
        size = fnp.sqrt(fnp.real(_inner(right, right)))
        threshold = fnp.maximum(tol * size, atol)
        return iteration(matvec, right, start, threshold, limit, on_vectors(inverse))

    matvec = on_vectors(operator)
    found = lax.custom_linear_solve(
        matvec, side, run, transpose_solve=None if symmetric else run, symmetric=symmetric
    )
    return unravel(found), None


def _conjugate_gradients(
    matvec: Operator, b: Any, x0: Any, threshold: Any, limit: Any, inverse: Operator
) -> Any:
    residual = b - matvec(x0)
    direction = inverse(residual)
    gamma = _inner(residual, direction)

    def going(state: Any) -> Any:
        _, r, _, _, k = state
        return (fnp.sqrt(fnp.real(_inner(r, r))) > threshold) & (k < limit)

    def step(state: Any) -> Any:
        x, r, p, gamma, k = state
        moved = matvec(p)
        alpha = gamma / _inner(p, moved)
        x, r = x + alpha * p, r - alpha * moved
        z = inverse(r)
        new = _inner(r, z)
        return x, r, z + (new / gamma) * p, new, k + 1

    return lax.while_loop(going, step, (x0, residual, direction, gamma, 0))[0]


def _stabilised(
    matvec: Operator, b: Any, x0: Any, threshold: Any, limit: Any, inverse: Operator
) -> Any:
    residual = b - matvec(x0)
    one = fnp.ones((), residual.dtype)
    zero = fnp.zeros_like(residual)

    def going(state: Any) -> Any:
        r, failed, k = state[1], state[-2], state[-1]
        return (fnp.sqrt(fnp.real(_inner(r, r))) > threshold) & (k < limit) & ~failed

    def step(state: Any) -> Any:
        x, r, rho, alpha, omega, v, p, _, k = state
        new = _inner(residual, r)
        p = r + (new / rho) * (alpha / omega) * (p - omega * v)
        turned = inverse(p)
        v = matvec(turned)
        alpha = new / _inner(residual, v)
        half = r - alpha * v
        other = inverse(half)
        t = matvec(other)
        length = _inner(t, t)
        # Where nothing is left of the residual, the second step is none.
        omega = fnp.where(length == 0, 0.0, _inner(t, half) / fnp.where(length == 0, 1.0, length))
        x = x + alpha * turned + omega * other
        failed = (new == 0) | (omega == 0)
        return x, half - omega * t, new, alpha, omega, v, p, failed, k + 1

    state = (x0, residual, one, one, one, zero, zero, fnp.asarray(False), 0)
    return lax.while_loop(going, step, state)[0]


def _minimal_residual(restart: int) -> Iteration:
    def iteration(
        matvec: Operator, b: Any, x0: Any, threshold: Any, limit: Any, inverse: Operator
    ) -> Any:
        n = b.shape[0]
        m = min(restart, n)

        def residual_of(x: Any) -> Any:
            return inverse(b - matvec(x))

        def arnoldi(j: Any, state: Any) -> Any:
            basis, entries = state
            w = inverse(matvec(basis[j]))
            # Twice, since once loses orthogonality.
            first = fnp.conj(basis) @ w
            w = w - first @ basis
            second = fnp.conj(basis) @ w
            w = w - second @ basis
            length = fnp.sqrt(fnp.real(_inner(w, w)))
            small = length <= 1e-300
            basis = basis.at[j + 1].set(fnp.where(small, 0.0, w / fnp.where(small, 1.0, length)))
            column = (first + second).at[j + 1].add(length)
            return basis, entries.at[:, j].set(column)

        def going(state: Any) -> Any:
            x, k = state
            r = b - matvec(x)
            return (fnp.sqrt(fnp.real(_inner(r, r))) > threshold) & (k < limit)

        def cycle(state: Any) -> Any:
            x, k = state
            r = residual_of(x)
            length = fnp.sqrt(fnp.real(_inner(r, r)))
            basis: Any = fnp.zeros((m + 1, n), b.dtype)
            basis = basis.at[0].set(r / length)
            entries: Any = fnp.zeros((m + 1, m), b.dtype)
            basis, entries = lax.fori_loop(0, m, arnoldi, (basis, entries))
            side: Any = fnp.zeros((m + 1,), b.dtype)
            side = side.at[0].set(length)
            weights = fnp.linalg.lstsq(entries, side)[0]
            return x + weights @ basis[:m], k + 1

        return lax.while_loop(going, cycle, (x0, 0))[0]

    return iteration


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve ``A @ x = b`` by conjugate gradients.

    Parameters
    ----------
    A : callable or array_like
        The operator, from a tree like `b` to one more, or a matrix. It is Hermitian and positive
        definite, and so is M.
    b : tree of array_like
        The right-hand side.
    x0 : tree of array_like, optional
        Where to begin; by default at 0.
    tol, atol : float
        The residual is to be at most ``max(tol * norm(b), atol)``.
    maxiter : int, optional
        How many iterations at most; by default ten times the size of `b`.
    M : callable or array_like, optional
        An approximate inverse of A.

    Returns
    -------
    tuple
        The solution, of the structure of `b`, and None. Differentiable in both modes towards `b` and
        what A captures; each derivative is one more solve by the same method.

    Raises
    ------
    ShapeError
        If A is an array but no square matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy.sparse import linalg
    >>> x, _ = linalg.cg(np.diag([2.0, 4.0]), np.array([2.0, 2.0]), tol=1e-10)
    >>> x.round(9)
    Array([1. , 0.5], dtype=float64)
    """
    return _solve("cg", _conjugate_gradients, A, b, x0, tol, atol, maxiter, M, True)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve ``A @ x = b`` by stabilised biconjugate gradients.

    Parameters
    ----------
    A : callable or array_like
        The operator, from a tree like `b` to one more, or a matrix.
    b : tree of array_like
        The right-hand side.
    x0 : tree of array_like, optional
        Where to begin; by default at 0.
    tol, atol : float
        The residual is to be at most ``max(tol * norm(b), atol)``.
    maxiter : int, optional
        How many iterations at most; by default ten times the size of `b`.
    M : callable or array_like, optional
        An approximate inverse of A.

    Returns
    -------
    tuple
        The solution, of the structure of `b`, and None. Differentiable in both modes towards `b` and
        what A captures; each derivative is one more solve by the same method.

    Raises
    ------
    ShapeError
        If A is an array but no square matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy.sparse import linalg
    >>> x, _ = linalg.bicgstab(np.diag([2.0, 4.0]), np.array([2.0, 2.0]), tol=1e-10)
    >>> x.round(9)
    Array([1. , 0.5], dtype=float64)
    """
    return _solve("bicgstab", _stabilised, A, b, x0, tol, atol, maxiter, M, False)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, None]:
    """Solve ``A @ x = b`` by minimal residuals, with restarts.

    Parameters
    ----------
    A : callable or array_like
        The operator, from a tree like `b` to one more, or a matrix.
    b : tree of array_like
        The right-hand side.
    x0 : tree of array_like, optional
        Where to begin; by default at 0.
    tol, atol : float
        The residual is to be at most ``max(tol * norm(b), atol)``.
    restart : int
        How many directions are kept.
    maxiter : int, optional
        How many restarts at most; by default ten times the size of `b`.
    M : callable or array_like, optional
        An approximate inverse of A.
    solve_method : {'batched', 'incremental'}
        Accepted; of no effect.

    Returns
    -------
    tuple
        The solution, of the structure of `b`, and None. Differentiable in both modes towards `b` and
        what A captures; each derivative is one more solve by the same method.

    Raises
    ------
    ShapeError
        If A is an array but no square matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from fgrad.scipy.sparse import linalg
    >>> x, _ = linalg.gmres(np.diag([2.0, 4.0]), np.array([2.0, 2.0]), tol=1e-10)
    >>> x.round(9)
    Array([1. , 0.5], dtype=float64)
    """
    if solve_method not in ("batched", "incremental"):
        raise ArgumentError(
            f"gmres: solve_method is {solve_method!r}; give 'batched' or 'incremental'"
        )
    method = _minimal_residual(int(restart))
    return _solve("gmres", method, A, b, x0, tol, atol, maxiter, M, False)
